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
	const char *load, *save;	/* files of a session, or NULL */
	uint32_t forks;			/* texts from one prompt */
	const char *perplexity;		/* file to measure on, or NULL */
	const char *bench;		/* "pp512,tg128", or NULL */
	const char *stop[MAX_STOPS];
	unsigned int num_stop;
	uint32_t num;			/* tokens to generate; 0: up to the context */
	uint32_t context;		/* of windows of the perplexity */
	uint32_t pool, threads, repeat;
	uint64_t kv_budget;		/* bytes on the NPU at once; 0: all */
	bool chat, quiet, ignore_end, no_prompt;
	bool speculate;
	const char *speculate_model;	/* that drafts, or NULL */
	uint32_t draft;			/* tokens of a draft at most, 0: by default */
	bool serve, info;
	uint32_t port, queue, client_timeout;	/* of the server; waiting requests; seconds */
	uint32_t prefixes;		/* texts that ended whose cache is kept */
	struct npu_llm_sampler_options sampler;
};

/* Returns 0 to go on, 1 when all is done, -EINVAL on a mistake that was reported. */
int options_parse(struct options *o, int argc, char **argv);

/* A model with its tokenizer. */
struct model {
	struct npu_llm *llm;
	struct npu_llm *small;		/* that drafts, or NULL */
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

/* ---- reply.c ---- */

/* Zeroed at first, but for stop and num_stop. */
struct reply {
	const char *const *stop;	/* none of them is empty */
	unsigned int num_stop;
	bool stopped;			/* one of them came; the text ends before it */
	struct npu_token_stream stream;
	char *text;			/* not terminated */
	size_t size, room;
	size_t ready;			/* bytes of it that no stop string can take back */
};

/* The text of @token: 1 when that completes a stop string, 0, or a negative errno. */
int reply_put(struct reply *r, const struct model *m, int32_t token, struct npu_error *err);
/* No token comes any more: what was held back is ready, too. */
void reply_end(struct reply *r);
/* The text begins anew. */
void reply_restart(struct reply *r);
void reply_free(struct reply *r);

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
	struct npu_llm_speculator *speculator;	/* or NULL */
	struct reply reply;
	FILE *out;
	size_t shown;			/* bytes of the reply */
	uint32_t num, max;		/* tokens of the reply; max 0: up to the context */
	int ending;			/* enum ending or an error: why there is no next token */
	int32_t last;			/* token of the text that was not run, or -1 */
	uint32_t begin;			/* tokens of the session before the reply */
	bool begun;			/* there was text before it */
	struct npu_error *err;
	double choosing;		/* seconds */
	struct stats stats;
};

enum ending { END_NONE, END_LENGTH, END_TOKEN, END_STOP, END_CONTEXT, END_INTERRUPT };

/*
 * Prefill @ids and generate up to @max tokens (0: up to the context), written to g->out as they
 * come. Returns an ending or a negative errno.
 */
int generate(struct generation *g, const int32_t *ids, size_t num, uint32_t max,
	     struct npu_error *err);
/* The reply begins anew. */
void generate_restart(struct generation *g);
void stats_print(const struct generation *g);
double seconds(void);

/* ---- session.c ---- */

/* *@s: the session in file @path; the caller destroys it. An error names the file. */
int session_load(const struct model *m, const char *path, struct npu_llm_session **s,
		 struct npu_error *err);
/*
 * Write the session of @g to file @path, with its text as it was shown, as far as the context has
 * room: without a stop string, and with the text's last token.
 */
int session_save(struct generation *g, const char *path, struct npu_error *err);

/* ---- the modes ---- */

int run_text(const struct model *m, const struct options *o, struct npu_error *err);
int run_chat(const struct model *m, const struct options *o, struct npu_error *err);
int run_perplexity(const struct model *m, const struct options *o, struct npu_error *err);
int run_bench(const struct model *m, const struct options *o, struct npu_error *err);
int run_info(const struct model *m, struct npu_error *err);
int run_serve(const struct model *m, const struct options *o, struct npu_error *err);

#endif
