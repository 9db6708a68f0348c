/* SPDX-License-Identifier: MIT */
/*
 * libnpu: language models. A GGUF file becomes a job file once; sessions then generate from it.
 *
 *	npu_llm_compile("model.gguf", "model.npu", NULL, &err);
 *
 *	npu_llm_open("model.npu", NULL, &llm, &err);
 *	npu_llm_session_create(llm, &s, &err);
 *	npu_llm_next(s, tokens, num, sampler, &token, &err);
 *	for (...)
 *		npu_llm_next(s, &token, 1, sampler, &token, &err);
 *
 * The weights stay as quantized as the file has them; the KV cache is a pool of blocks on the NPU
 * that sessions share; one program runs prefill, decode and both mixed, for any number of rows. A
 * sequence's logits are the same bits alone, in any batch, with any neighbours, however its prompt
 * was cut into chunks, forked, saved and loaded, and with any number of threads.
 *
 * Errors are those of npu.h: 0 or a negative errno, with the reason in words. A token is an id of
 * the model's vocabulary, 0 .. vocab - 1.
 *
 * Threads. A model may be used by many threads at once; runs of its batches are put one behind the
 * other. A session, a batch and a sampler belong to one thread at a time.
 */
#ifndef NPU_LLM_H
#define NPU_LLM_H

#include "npu.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- compiling ---- */

/* What weights of a float model become; quantized ones are kept bit for bit whatever this says. */
enum npu_llm_quant {
	NPU_LLM_QUANT_KEEP,		/* all weights as they are in the file */
	NPU_LLM_QUANT_F16,
	NPU_LLM_QUANT_W8G32,		/* 8 bits, a scale for each 32 weights of a row */
	NPU_LLM_QUANT_W8,		/* 8 bits, the longest groups there are */
	NPU_LLM_QUANT_W4G32,		/* 4 bits; embedding and output are W8G32 then */
	NPU_LLM_QUANT_W4G64,
	NPU_LLM_QUANT_W4G128,
	NPU_LLM_NUM_QUANTS
};

/* Activations beside weights of codes. */
enum npu_llm_activation {
	NPU_LLM_ACT_AUTO,		/* int8 beside rows of 256 weights and more, else f32 */
	NPU_LLM_ACT_I8,			/* 8 bits by groups, products summed exactly: fast */
	NPU_LLM_ACT_F32,		/* only the weights are rounded */
	NPU_LLM_NUM_ACTS
};

enum npu_llm_kv { NPU_LLM_KV_F16, NPU_LLM_KV_I8, NPU_LLM_KV_F32, NPU_LLM_NUM_KVS };

/* "keep", "f16", "w8g32", ...; "f16", "int8", "f32"; "auto", "int8", "f32"; NULL beyond the end. */
const char *npu_llm_quant_name(enum npu_llm_quant quant);
const char *npu_llm_kv_name(enum npu_llm_kv kv);
const char *npu_llm_activation_name(enum npu_llm_activation act);

struct npu_llm_compile_options {
	uint32_t size;			/* sizeof, see NPU_INIT() */
	uint32_t quant;			/* enum npu_llm_quant */
	uint32_t kv;			/* enum npu_llm_kv */
	uint32_t context;		/* positions of a sequence; 0: as trained, at most 4096 */
	uint32_t batch;			/* sequences of a step at most; 0: 16 */
	uint32_t chunk;			/* rows (tokens) of a step at most; 0: 512 */
	/*
	 * Positions that the cache of all sequences can have together, up to what one instruction
	 * reaches (8 GiB); 0: batch * context, or that.
	 */
	uint32_t pool;
	uint32_t activations;		/* enum npu_llm_activation */
};

/* What became of a model, for people. */
struct npu_llm_compile_summary {
	uint32_t size;
	uint32_t chunk;			/* as used: less than asked for when that was too much */
	uint32_t insns;
	uint32_t reserved;
	uint64_t parameters;		/* weights of the model */
	uint64_t weights;		/* bytes of the weight section */
	uint64_t scratch;		/* bytes at the largest lengths */
	uint64_t kv_per_token;		/* bytes */
	uint64_t pool;			/* bytes of the cache at its largest */
};

/*
 * Compile the GGUF file at @path to a job file at @out. @options and @summary may be NULL. The file
 * is mapped while it is read. Errors: what the file system said, -EBADMSG (not a GGUF file,
 * damaged), -ENOTSUP (architecture, tensor type, RoPE scaling ..., by name), -EINVAL (the file or
 * the options contradict themselves), -E2BIG (the pool that was asked for, with what it may have),
 * -ENOMEM. Thread safe.
 */
int npu_llm_compile(const char *path, const char *out,
		    const struct npu_llm_compile_options *options,
		    struct npu_llm_compile_summary *summary, struct npu_error *err);

/* ---- models ---- */

struct npu_llm;
struct npu_llm_session;
struct npu_llm_batch;
struct npu_llm_sampler;

struct npu_llm_options {
	uint32_t size;
	/*
	 * Positions that all sessions have together at most; 0: as many as the job allows and half
	 * of the free memory holds.
	 */
	uint32_t pool;
	const char *device;		/* for npu_device_open(); NULL: the first there is */
	const struct npu_device_options *device_options;	/* or NULL */
	uint32_t flags;			/* NPU_LLM_LOOK */
	uint32_t reserved;
	/*
	 * Bytes of the cache that are on the NPU at once; 0: all of it. With less than all, blocks
	 * of the sessions that were not run for the longest time move to memory of the host, and
	 * back when these are run again, with the same bits. pool may then be larger than the job
	 * allows.
	 */
	uint64_t kv_budget;
};

/*
 * Read the file's tables and nothing else: npu_llm_info(), npu_llm_memory() and npu_llm_metadata()
 * tell what there is to know; there are no sessions, and no memory is too little.
 */
#define NPU_LLM_LOOK	1u

struct npu_llm_info {
	uint32_t size;
	uint32_t vocab;
	uint32_t context;		/* positions of a session at most */
	uint32_t max_sequences;		/* of a batch */
	uint32_t max_rows;		/* tokens of one run of a batch */
	uint32_t max_logits;		/* rows with logits of one run */
	uint32_t block;			/* positions of a block of the cache */
	uint32_t num_blocks, free_blocks;	/* of all sessions */
	uint32_t num_layers, kv_heads, head_dim;
	uint64_t weights;		/* bytes */
	uint64_t kv;			/* bytes of the cache on the NPU */
	uint64_t kv_per_token;
	uint64_t scratch;		/* bytes at the largest lengths, see npu_llm_memory() */
	const char *kv_type;		/* "f16" */
	const char *name;		/* of the model, "" */
	const char *arch;
	const char *device;		/* its name */
	uint32_t npu_blocks;		/* blocks that the NPU holds at once */
	uint32_t host_blocks;		/* that sessions have and which are not on the NPU now */
	uint64_t kv_host;		/* bytes of the host's memory for blocks, copies included */
	/*
	 * What moved to the host, and back. A block of which the host has a copy leaves without one
	 * byte: it counts in blocks_out all the same.
	 */
	uint64_t blocks_out, blocks_in;
	uint64_t bytes_out, bytes_in;
};

/*
 * Open a compiled model. Too little memory for weights and pool is said here, before anything is
 * loaded. Errors: as npu_device_open() and npu_job_load(); -EINVAL (the job is no language model; a
 * budget that is less than a block), -ENOMEM.
 */
int npu_llm_open(const char *path, const struct npu_llm_options *options, struct npu_llm **llm,
		 struct npu_error *err);

/* Drops the caller's reference; sessions and batches keep the model. */
void npu_llm_close(struct npu_llm *llm);

/* Returns 0 or -EINVAL (size). The strings are the model's. */
int npu_llm_info(struct npu_llm *llm, struct npu_llm_info *info);

/*
 * What a model takes of memory, worked out from its file. Bytes; those of the device are of the
 * pages that its buffers have. The batch that the logits belong to is counted once.
 */
struct npu_llm_memory {
	uint32_t size;
	/* in: lengths of the step that needs most, 0: the largest there may be; out: as used */
	uint32_t rows;			/* tokens */
	uint32_t sequences;
	uint32_t logits;		/* rows with logits */
	uint64_t weights;
	uint64_t kv;			/* the cache on the NPU, as large as it is */
	uint64_t scratch;		/* inputs and outputs included */
	uint64_t program;		/* instructions */
	uint64_t host;			/* of this process beside these: tables and metadata */
	uint64_t total;
	uint64_t available;		/* now, before or after opening; UINT64_MAX: not known */
	uint64_t kv_host;		/* with a KV budget, what the host has for blocks */
	/*
	 * What this process has beside the total: resident now, and code that a first run reads in.
	 * So it is right before the model has run; 0: not known.
	 */
	uint64_t process;
};

/* Returns 0 or -EINVAL (size). Thread safe. */
int npu_llm_memory(const struct npu_llm *llm, struct npu_llm_memory *memory);

/* The metadata that came with the model: a GGUF file without tensors. */
const void *npu_llm_metadata(const struct npu_llm *llm, size_t *size);

/*
 * Stop the run that is under way, if any: it returns -ECANCELED, and its sessions are as before it.
 * May be called from any thread and from a signal handler's thread, not from a handler itself.
 */
void npu_llm_cancel(struct npu_llm *llm);

/* ---- sessions ---- */

/* A sequence: its tokens and their keys and values. Empty at first. -ENOMEM. */
int npu_llm_session_create(struct npu_llm *llm, struct npu_llm_session **session,
			   struct npu_error *err);
void npu_llm_session_destroy(struct npu_llm_session *s);

/* Tokens that are in the cache, and them; valid until the session is used again. */
uint32_t npu_llm_session_length(const struct npu_llm_session *s);
const int32_t *npu_llm_session_tokens(const struct npu_llm_session *s);

/*
 * A session with the same tokens, which shares the memory of what is common; blocks are copied when
 * one of the two writes to them. -ENOMEM.
 */
int npu_llm_session_fork(const struct npu_llm_session *s, struct npu_llm_session **copy,
			 struct npu_error *err);

/*
 * Blocks of the cache that @num sessions (NULL: one that has none) have together, each counted once
 * however many share it, in *@all; in *@own those of them that no other session has, which would be
 * free without these. Sessions of @llm that no other thread uses now.
 */
void npu_llm_sessions_blocks(struct npu_llm *llm, struct npu_llm_session *const *sessions,
			     uint32_t num, uint32_t *all, uint32_t *own);

/* Forget all tokens from @length on. -EINVAL when there are fewer. */
int npu_llm_session_truncate(struct npu_llm_session *s, uint32_t length, struct npu_error *err);

/*
 * The state as bytes: a header with version, the job's digest and a check sum, tokens, keys and
 * values. *@data is freed by the caller with free(). Loading checks all of it: -EBADMSG (damaged),
 * -EINVAL (of another model or job file), -ENOSPC (the pool is full), -ENOMEM.
 */
int npu_llm_session_save(const struct npu_llm_session *s, void **data, size_t *size,
			 struct npu_error *err);
int npu_llm_session_load(struct npu_llm *llm, const void *data, size_t size,
			 struct npu_llm_session **session, struct npu_error *err);

/*
 * Append tokens, in as many runs as it takes; *@logits (or NULL) are those after the last one,
 * vocab floats, valid until the session is used again. Errors: -EINVAL (a token, none, more than
 * the context holds), and those of npu_llm_batch_run(); the session then has the tokens of the runs
 * that were done (npu_llm_session_length()).
 */
int npu_llm_prefill(struct npu_llm_session *s, const int32_t *tokens, size_t num,
		    const float **logits, struct npu_error *err);
int npu_llm_decode(struct npu_llm_session *s, int32_t token, const float **logits,
		   struct npu_error *err);

/*
 * npu_llm_prefill() and the choice of *@next by npu_llm_batch_sample(), with the session's tokens
 * as the recent ones. -EINVAL also when no logit is a number.
 */
int npu_llm_next(struct npu_llm_session *s, const int32_t *tokens, size_t num,
		 struct npu_llm_sampler *sampler, int32_t *next, struct npu_error *err);

/* ---- batches ---- */

/* Which rows of an entry give logits. */
enum npu_llm_want { NPU_LLM_WANT_NONE, NPU_LLM_WANT_LAST, NPU_LLM_WANT_ALL };

/*
 * A batch is one step of several sessions: prompts, single tokens, or both mixed. Empty it, add
 * entries, run, read, and begin again: sequences join and leave between runs. -ENOMEM.
 */
int npu_llm_batch_create(struct npu_llm *llm, struct npu_llm_batch **batch, struct npu_error *err);
void npu_llm_batch_destroy(struct npu_llm_batch *b);
void npu_llm_batch_clear(struct npu_llm_batch *b);

/*
 * Tokens to append to @session, which must stay until the batch is cleared. Returns the entry's
 * index, or -EINVAL (a token; no tokens; the session is in the batch already or of another model;
 * beyond the context), -E2BIG (more rows, sequences or logits than one run takes: run what is
 * there first).
 */
int npu_llm_batch_add(struct npu_llm_batch *b, struct npu_llm_session *session,
		      const int32_t *tokens, uint32_t num, enum npu_llm_want want,
		      struct npu_error *err);

/*
 * Run it. On success all sessions have their tokens; on an error none has, and nothing of what they
 * had is lost. Errors: -EINVAL (empty, or a session has changed since it was added), -E2BIG (the
 * blocks of its sessions are more than the KV budget: run fewer of them at once), -ENOSPC (the pool
 * has too few free blocks), -ENOMEM (also of the host, for blocks that are to leave the NPU),
 * -ECANCELED, and what npu_fence_wait() returns.
 */
int npu_llm_batch_run(struct npu_llm_batch *b, struct npu_error *err);

/*
 * Logits of row @row of entry @entry, counted from 0 over the rows that were wanted, vocab floats;
 * the token with the largest one, the first of equals. Valid until the batch runs or is cleared.
 * NULL and -1: there is no such row, or the batch has not run.
 */
const float *npu_llm_batch_logits(struct npu_llm_batch *b, unsigned int entry, unsigned int row);
int32_t npu_llm_batch_argmax(const struct npu_llm_batch *b, unsigned int entry, unsigned int row);

/* ---- sampling ---- */

struct npu_llm_sampler_options {
	uint32_t size;
	uint32_t top_k;			/* keep the k largest; 0: all */
	uint64_t seed;
	float temperature;		/* 0: greedy */
	float top_p;			/* keep the fewest with this probability together; 1: all */
	float min_p;			/* keep those with this share of the largest; 0: all */
	float repeat_penalty;		/* 1: none */
	uint32_t repeat_last;		/* tokens that it looks back at */
	uint32_t reserved;
};

/* Temperature 0.8, top-k 40, top-p 0.95, min-p 0.05, no penalty, the last 64 tokens, seed 0. */
void npu_llm_sampler_options_init(struct npu_llm_sampler_options *options);

/* -EINVAL names the option that is out of its range. -ENOMEM. */
int npu_llm_sampler_create(const struct npu_llm_sampler_options *options,
			   struct npu_llm_sampler **sampler, struct npu_error *err);
void npu_llm_sampler_destroy(struct npu_llm_sampler *sampler);

/*
 * Choose the next token. @recent: the tokens before it, oldest first, for the penalty. In this
 * order: penalty (a positive logit divided, a negative multiplied), greedy when the temperature is
 * 0; else top-k, top-p and min-p on the probabilities at temperature 1, then temperature. Equal
 * logits keep the order of their ids. The same seed gives the same tokens on every machine. Returns
 * a token, -EINVAL (no logit is a number) or -ENOMEM.
 */
int32_t npu_llm_sample(struct npu_llm_sampler *sampler, const float *logits, uint32_t vocab,
		       const int32_t *recent, size_t num_recent);

/*
 * The same from a row of a batch (as npu_llm_batch_logits() counts them), with the same result.
 * When the sampler looks at the largest logits only (top-k of at most 64, or greedy, and no
 * penalty) the NPU finds these from the batch's next run on, and the others do not cross to the
 * host. Returns a token, -EINVAL (no such row; no logit is a number) or -ENOMEM.
 */
int32_t npu_llm_batch_sample(struct npu_llm_batch *b, unsigned int entry, unsigned int row,
			     struct npu_llm_sampler *sampler, const int32_t *recent,
			     size_t num_recent);

/* ---- speculation ---- */

/*
 * Several tokens in one run. A speculator drafts what might come next: by look-up of the last
 * tokens in what came before them, and by a small model of the same vocabulary when there is one.
 * The model runs the draft as rows of one step, and as much of it is kept as agrees with what is
 * chosen from the model's own logits. As those are the same bits in any batch, what comes out is
 * what comes out without drafts, token for token, sampled ones too. How long drafts are depends on
 * how the last ones did: up to max_draft while all of them are right, none for some steps when
 * nothing was, or when steps with drafts turn out to take more time for a token than those without.
 *
 *	npu_llm_next(s, tokens, num, sampler, &token, &err);
 *	while (token >= 0)
 *		if (npu_llm_speculate(speculator, s, token, choose, arg, &token, &err))
 *			break;
 *
 * A speculator serves one sequence at a time, and belongs to one thread at a time. It keeps nothing
 * of a session, which may be cut back, forked or replaced between two calls.
 */
struct npu_llm_speculator;

/* Where drafts come from. */
enum npu_llm_draft { NPU_LLM_DRAFT_LOOKUP, NPU_LLM_DRAFT_MODEL, NPU_LLM_NUM_DRAFTS };

struct npu_llm_speculator_options {
	uint32_t size;
	uint32_t max_draft;		/* tokens of a draft at most; 0: 16 */
	uint32_t min_match;		/* tokens that have to come again for a look-up; 0: 2 */
	uint32_t untimed;		/* 1: drafts are made whatever time they cost; else 0 */
	struct npu_llm *model;		/* a small one that drafts, too, or NULL; it is kept */
};

/* What it did since it was created. */
struct npu_llm_speculator_stats {
	uint32_t size;
	uint32_t reserved;
	/* Tokens, by enum npu_llm_draft; those behind the end of a sequence are not counted. */
	uint64_t drafted[NPU_LLM_NUM_DRAFTS], accepted[NPU_LLM_NUM_DRAFTS];
	/* Of npu_llm_speculate() after the first: steps, each of one token more than it accepts. */
	uint64_t steps, plain_steps;	/* all, and those without a draft */
	double seconds, plain_seconds;	/* of them, less what choose took */
};

/*
 * @options may be NULL. Errors: -EINVAL (the small model's vocabulary is another one: the first
 * token that differs is named; an option), what npu_tokenizer_parse() returns for models without a
 * vocabulary, -ENOMEM.
 */
int npu_llm_speculator_create(struct npu_llm *llm,
			      const struct npu_llm_speculator_options *options,
			      struct npu_llm_speculator **speculator, struct npu_error *err);
/* Ignores NULL. */
void npu_llm_speculator_destroy(struct npu_llm_speculator *sp);

/*
 * The token after the @num ones at @tokens, or a negative number to end here; row @row of entry 0
 * of @b is for npu_llm_batch_sample() or npu_llm_batch_logits(). It is called once for each token,
 * in order, as in a loop over npu_llm_decode(). It must not use the session.
 */
typedef int32_t npu_llm_choose(void *arg, struct npu_llm_batch *b, unsigned int row,
			       const int32_t *tokens, size_t num);

/*
 * Append @token to @s, as npu_llm_decode() does, and behind it as much of a draft as @choose agrees
 * with. *@next is what @choose returned last, which is not in the session. Errors: those of
 * npu_llm_decode(), the session is then as before; errors of the small model, but that its context
 * or cache is full, which just means no draft.
 */
int npu_llm_speculate(struct npu_llm_speculator *sp, struct npu_llm_session *s, int32_t token,
		      npu_llm_choose *choose, void *arg, int32_t *next, struct npu_error *err);

/*
 * The same in two parts, for batches of several sessions: a draft of at most @max tokens to add to
 * a batch behind the last of @tokens, with NPU_LLM_WANT_ALL, their number or an error of the small
 * model; and, when it has run, how many of them were accepted out of @drafted: all, or those up to
 * where the sequence ended. The caller cuts the session back.
 */
int npu_llm_speculator_draft(struct npu_llm_speculator *sp, const int32_t *tokens, size_t num,
			     uint32_t max, int32_t *draft, struct npu_error *err);
void npu_llm_speculator_report(struct npu_llm_speculator *sp, uint32_t drafted, uint32_t accepted);

/* Returns 0 or -EINVAL (size). */
int npu_llm_speculator_stats(const struct npu_llm_speculator *sp,
			     struct npu_llm_speculator_stats *stats);

/* ---- tokenizers ---- */

/*
 * Text to tokens and back, as a GGUF file describes it: SentencePiece ("llama"), byte-level BPE
 * ("gpt2") with the pre-tokenizer that the file names, WordPiece ("bert"). A tokenizer does not
 * change once it is open and may be used by many threads.
 *
 *	npu_tokenizer_open("model.gguf", &t, &err);
 *	npu_tokenizer_encode(t, text, size, NPU_TOKENIZE_ADD, ids, room, &num, &err);
 *	npu_tokenizer_decode(t, ids, num, 0, out, out_room, &out_size, &err);
 *
 * Sizes are in bytes. Text is UTF-8; bytes that are none are kept as they are where the vocabulary
 * has bytes.
 */
struct npu_tokenizer;

/*
 * The tokenizer of the GGUF file at @path, or of @size bytes at @data of such a file
 * (npu_llm_metadata()), which are not needed any longer afterwards and which @name stands for in
 * errors. Errors: those of opening a file; -EINVAL (damaged, or the vocabulary contradicts itself:
 * key, token and reason are named), -ENOTSUP (a kind of tokenizer or pre-tokenizer that is not
 * known, by name), -ENOENT (no vocabulary), -ENOMEM.
 */
int npu_tokenizer_open(const char *path, struct npu_tokenizer **tokenizer, struct npu_error *err);
int npu_tokenizer_parse(const void *data, size_t size, const char *name,
			struct npu_tokenizer **tokenizer, struct npu_error *err);
/* Ignores NULL. */
void npu_tokenizer_close(struct npu_tokenizer *t);

struct npu_tokenizer_info {
	uint32_t size;			/* sizeof, see NPU_INIT() */
	uint32_t vocab;			/* ids are 0 .. vocab - 1 */
	/* Ids of special tokens, -1 where there is none. */
	int32_t bos, eos, eot, unk, sep, pad, mask;
	uint32_t max_piece;		/* bytes of the longest token's text */
	bool add_bos, add_eos;		/* what NPU_TOKENIZE_ADD adds */
	bool add_space;			/* text begins with a space that is not there (SPM) */
	bool has_chat;			/* the file has a chat template */
	const char *model;		/* "llama", "gpt2", "bert"; the tokenizer's */
	const char *pre;		/* pre-tokenizer, "" */
	const char *chat_template;	/* the file's, "" */
};

/* Returns 0 or -EINVAL (size). The strings are the tokenizer's. */
int npu_tokenizer_info(const struct npu_tokenizer *t, struct npu_tokenizer_info *info);

enum npu_token_attr {
	NPU_TOKEN_UNKNOWN = 1 << 0,	/* stands for what has no token */
	NPU_TOKEN_UNUSED = 1 << 1,
	NPU_TOKEN_NORMAL = 1 << 2,
	NPU_TOKEN_CONTROL = 1 << 3,	/* not text: begin, end, role ... */
	NPU_TOKEN_USER = 1 << 4,	/* text that is never split, found before anything else */
	NPU_TOKEN_BYTE = 1 << 5,	/* one byte that has no better token */
	NPU_TOKEN_END = 1 << 6,		/* generation ends with it */
};

/* Bits of enum npu_token_attr; 0 for an id that is none. */
unsigned int npu_tokenizer_attr(const struct npu_tokenizer *t, int32_t id);

/* The id whose text in the vocabulary is exactly @text, or -ENOENT. */
int32_t npu_tokenizer_find(const struct npu_tokenizer *t, const char *text);

enum {
	/* Add what the file asks for at the ends: BOS, EOS, [CLS] and [SEP]. */
	NPU_TOKENIZE_ADD = 1 << 0,
	/* The text of control tokens in the text means them; without it, it is just text. */
	NPU_TOKENIZE_SPECIAL = 1 << 1,
	/* The text goes on from other text: no space is added at its beginning. Not with _ADD. */
	NPU_TOKENIZE_MORE = 1 << 2,
};

/*
 * Tokens of @size bytes at @text, fewer than 2^31. *@num is their number even if @room is too
 * small, which is -ENOSPC and leaves *@ids undefined; @ids may be NULL with a @room of 0. A token
 * takes at least one byte but for those that NPU_TOKENIZE_ADD adds (two) and a space at the
 * beginning of each piece of text. Errors: -EINVAL (a byte for which the vocabulary has no token;
 * flags), -ENOMEM.
 */
int npu_tokenizer_encode(const struct npu_tokenizer *t, const char *text, size_t size,
			 unsigned int flags, int32_t *ids, size_t room, size_t *num,
			 struct npu_error *err);

enum {
	/* Control tokens are written as their text; without it they are left out. */
	NPU_DETOKENIZE_SPECIAL = 1 << 0,
	/* @ids go on from text before them: a space at the beginning is part of the text. */
	NPU_DETOKENIZE_MORE = 1 << 1,
};

/*
 * Text of @num tokens. *@size is its size even if @room is too small (-ENOSPC, *@text undefined);
 * nothing terminates it. It may end amid a character when the tokens do. -EINVAL: an id that is
 * none.
 */
int npu_tokenizer_decode(const struct npu_tokenizer *t, const int32_t *ids, size_t num,
			 unsigned int flags, char *text, size_t room, size_t *size,
			 struct npu_error *err);

/*
 * Text token by token, whole characters only: bytes of one that is not complete yet are held back.
 * Begin with a zeroed struct; set begun when text comes before the first token.
 */
struct npu_token_stream {
	bool begun;
	uint8_t num_held;
	char held[3];
};

/* What one call of npu_token_stream_put() can give: max_piece and what was held, replaced. */
#define NPU_TOKEN_STREAM_ROOM(max_piece)	(3 * ((size_t)(max_piece) + 3))

/*
 * Text that @id completes, with flags as above; *@size may be 0. Bytes that can not become UTF-8
 * are replaced by U+FFFD. Errors: -EINVAL (an id that is none), -ENOSPC (@room is less than
 * NPU_TOKEN_STREAM_ROOM(max_piece)); nothing has changed then.
 */
int npu_token_stream_put(const struct npu_tokenizer *t, struct npu_token_stream *s, int32_t id,
			 unsigned int flags, char *text, size_t room, size_t *size,
			 struct npu_error *err);
/* The end: U+FFFD for what is still held, at most 3 bytes at @text; returns how many. */
size_t npu_token_stream_end(struct npu_token_stream *s, char text[3]);

/* ---- chat ---- */

/* Forms of a conversation; NPU_CHAT_AUTO is the one that the file's template has. */
enum npu_chat_form {
	NPU_CHAT_AUTO,
	NPU_CHAT_CHATML,
	NPU_CHAT_LLAMA2,
	NPU_CHAT_LLAMA2_SYS,
	NPU_CHAT_LLAMA2_SYS_BOS,
	NPU_CHAT_LLAMA2_SYS_STRIP,
	NPU_CHAT_LLAMA3,
	NPU_CHAT_LLAMA4,
	NPU_CHAT_MISTRAL_V1,
	NPU_CHAT_MISTRAL_V3,
	NPU_CHAT_MISTRAL_V3_TEKKEN,
	NPU_CHAT_MISTRAL_V7,
	NPU_CHAT_GEMMA,
	NPU_CHAT_PHI3,
	NPU_CHAT_PHI4,
	NPU_CHAT_ZEPHYR,
	NPU_CHAT_FALCON3,
	NPU_CHAT_VICUNA,
	NPU_CHAT_DEEPSEEK3,
	NPU_CHAT_GRANITE,
	NPU_CHAT_COMMAND_R,
	NPU_CHAT_NUM_FORMS
};

/* "auto", "chatml", "llama2", ...; NULL beyond the end. And back: the form, or -ENOENT. */
const char *npu_chat_form_name(unsigned int form);
int npu_chat_form_find(const char *name);

/*
 * The form of a chat template (Jinja), known by what is in its text as templates are not run here;
 * -ENOTSUP when it has none of the marks, with the beginning of it as the reason; -ENOENT for an
 * empty one.
 */
int npu_chat_form_detect(const char *chat_template, struct npu_error *err);

struct npu_chat_message {
	const char *role;		/* "system", "user", "assistant" */
	const char *content;
};

/*
 * The text of @num messages in @form; with @answer it ends where the assistant's answer begins.
 * *@size is its size even if @room is too small (-ENOSPC, *@text undefined). For a model it is to
 * be encoded with NPU_TOKENIZE_SPECIAL | NPU_TOKENIZE_ADD, and then text in a message that looks
 * like a control token becomes one: npu_tokenizer_encode_chat() is for what strangers wrote.
 * Errors: -ENOTSUP and -ENOENT
 * (NPU_CHAT_AUTO with a template that is not recognized, or none: the caller may then choose a
 * form), -EINVAL (no such form; a role that it does not have, which is named).
 */
int npu_tokenizer_chat(const struct npu_tokenizer *t, enum npu_chat_form form,
		       const struct npu_chat_message *messages, size_t num, bool answer,
		       char *text, size_t room, size_t *size, struct npu_error *err);

/*
 * The same to tokens. Only what the form writes has control tokens; in the messages' contents such
 * a text is text, so that nobody can end his turn or speak for another by writing it. *@num_ids is
 * their number even if @room is too small (-ENOSPC). Errors: of both steps.
 */
int npu_tokenizer_encode_chat(const struct npu_tokenizer *t, enum npu_chat_form form,
			      const struct npu_chat_message *messages, size_t num, bool answer,
			      int32_t *ids, size_t room, size_t *num_ids, struct npu_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
