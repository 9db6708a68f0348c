/* SPDX-License-Identifier: MIT */
/* What the files of npu-llm share. */
#ifndef NPU_LLM_TOOL_H
#define NPU_LLM_TOOL_H

#include <stdatomic.h>
#include <stdio.h>
#include "npu_llm.h"

#define MAX_STOPS 16

struct options {
	const char *model, *device;
	const char *prompt, *file;	/* of text to go on from */
	const char *system, *form;	/* of a chat */
	const char *perplexity;		/* file to measure on, or NULL */
	const char *bench;		/* "pp512,tg128", or NULL */
	const char *stop[MAX_STOPS];
	unsigned int num_stop;
	uint32_t num;			/* tokens to generate; 0: up to the context */
	uint32_t context;		/* of windows of the perplexity */
	uint32_t pool, threads, repeat;
	bool chat, quiet, ignore_end, no_prompt;
	struct npu_llm_sampler_options sampler;
};

/* Returns 0 to go on, 1 when all is done, -EINVAL on a mistake that was reported. */
int options_parse(struct options *o, int argc, char **argv);

/* A model with its tokenizer. */
struct model {
	struct npu_llm *llm;
	struct npu_llm_info info;
	struct npu_tokenizer *tok;
	struct npu_tokenizer_info vocab;
};

/* Tokens of a text, to be freed by the caller. */
int model_encode(const struct model *m, const char *text, size_t size, unsigned int flags,
		 int32_t **ids, size_t *num, struct npu_error *err);

/* ---- interrupt.c: Ctrl-C ---- */

/*
 * From now on Ctrl-C stops the run of @llm and is remembered; a second one before that was looked
 * at ends the program. Threads that were started before do not get the signal if it was blocked
 * then.
 */
int interrupt_begin(struct npu_llm *llm, struct npu_error *err);
void interrupt_end(void);
/* Whether it was pressed since the last interrupt_clear(). */
bool interrupt_pending(void);
void interrupt_clear(void);
/* For while threads are started: block it, and let it through again. */
void interrupt_block(bool on);

/* ---- generate.c ---- */

struct stats {
	uint64_t prompt_tokens, tokens;	/* decoded: after the first */
	double prefill, first, decode;	/* seconds; first: from the start to the first token */
};

struct generation {
	const struct model *m;
	const struct options *o;
	struct npu_llm_session *s;
	struct npu_llm_sampler *sampler;
	struct npu_token_stream stream;
	unsigned int decode_flags;
	FILE *out;
	char *text;			/* generated so far, for stop strings and chats */
	size_t size, room;
	size_t shown;			/* of it */
	struct stats stats;
};

enum ending { END_LENGTH, END_TOKEN, END_STOP, END_CONTEXT, END_INTERRUPT };

/*
 * Prefill @ids and generate up to @max tokens (0: up to the context), written to g->out as they
 * come. Returns an ending or a negative errno.
 */
int generate(struct generation *g, const int32_t *ids, size_t num, uint32_t max,
	     struct npu_error *err);
/* g->text begins anew. */
void generate_restart(struct generation *g);
void stats_print(const struct model *m, const struct stats *s);
double seconds(void);

/* ---- the modes ---- */

int run_text(const struct model *m, const struct options *o, struct npu_error *err);
int run_chat(const struct model *m, const struct options *o, struct npu_error *err);
int run_perplexity(const struct model *m, const struct options *o, struct npu_error *err);
int run_bench(const struct model *m, const struct options *o, struct npu_error *err);

#endif
