/* SPDX-License-Identifier: MIT */
/*
 * The server. One thread of libmicrohttpd does all of HTTP; one thread of ours runs the model, and
 * makes one batch after the other of whatever requests there are.
 */
#ifndef NPU_LLM_SERVE_H
#define NPU_LLM_SERVE_H

#include <pthread.h>
#include <time.h>
#include "llm.h"

/* Drafts fill a step up to so many rows: behind that a row costs about what it brings. */
#define DRAFT_ROWS	16

struct MHD_Connection;

/* ---- requests ---- */

enum request_kind { REQUEST_COMPLETION, REQUEST_CHAT };

/* How a request ended; their names are those of the metrics. */
enum outcome {
	OUT_NONE,		/* it has not yet */
	OUT_STOP,		/* end token or stop string */
	OUT_LENGTH,		/* as many tokens as were asked for, or fit */
	OUT_GONE,		/* the client went away */
	OUT_SLOW,		/* the client did not read what it got */
	OUT_SHUTDOWN,		/* the server ended first */
	OUT_ERROR,		/* the model could not run */
	NUM_OUTCOMES
};

/*
 * A request has two owners: its connection and the list of the thread that runs the model. What is
 * not marked is written before the request is in the list, and by that thread from then on.
 */
struct request {
	unsigned int refs;		/* s->lock */
	struct request *next;		/* s->lock; in the list, oldest first */

	/* What was asked for. */
	enum request_kind kind;
	bool stream, usage_wanted;	/* usage: in an event at the end of the stream */
	bool speculate;			/* drafts by look-up */
	uint32_t max_tokens;
	char *stops[MAX_STOPS];
	char id[40];
	int64_t created;		/* seconds since 1970 */

	/* The sequence: the prompt, and behind it what was generated. */
	int32_t *ids;			/* [room] */
	uint32_t num, num_prompt, room;
	struct npu_llm_session *session;	/* may lack tokens at its end: they are to be run */
	struct npu_llm_sampler *sampler;
	struct npu_llm_speculator *speculator;	/* or NULL */
	struct reply reply;
	uint32_t planned;		/* rows in the step that is being made */
	int32_t rows[DRAFT_ROWS];	/* its token, and behind it what was drafted */
	uint32_t drafted, accepted;	/* of that step */
	int entry;			/* in the batch */
	uint32_t run;			/* num after the last step */
	bool ignore_end;
	enum outcome ending;		/* as the step that was just run has it */
	struct npu_error why;		/* of OUT_ERROR */
	bool started;			/* had a row in some step */
	bool settled;			/* has room in the cache, until that is taken from it */
	uint32_t reused;		/* tokens of the prompt that were in the cache already */
	size_t sent;			/* bytes of the reply that went into out */
	double arrived;			/* seconds: when */
	double stalled;			/* since when its client does not read, or 0 */
	double waited;			/* for the client before that, in all */

	/* Under s->lock: what the connection's thread and ours tell each other. */
	enum outcome outcome;
	struct MHD_Connection *conn;	/* NULL: it is gone */
	int fd;				/* its socket; valid while it is suspended */
	bool suspended;
	char *out;			/* of a stream, what the client has not got yet */
	size_t out_size, out_room;
	char *head;			/* what its events begin with; NULL: there was none yet */
	size_t head_size;
};

/* ---- the server ---- */

/* X(field, name, type, help): what /metrics says beside the outcomes. */
#define SERVE_METRICS(X) \
	X(prompt_tokens, "prompt_tokens_total", "counter", "Tokens of prompts that were run.") \
	X(tokens, "generated_tokens_total", "counter", "Tokens that were generated.") \
	X(steps, "steps_total", "counter", "Batches that were run.") \
	X(rows, "rows_total", "counter", "Tokens of all batches, once more run ones included.") \
	X(drafted, "drafted_tokens_total", "counter", "Tokens that were drafted.") \
	X(accepted, "accepted_tokens_total", "counter", "Drafted tokens that were right.") \
	X(reused, "reused_tokens_total", "counter", "Tokens that other requests had in the cache.") \
	X(preempted, "preemptions_total", "counter", "Caches given to older requests.") \
	X(refused, "refused_total", "counter", "Requests refused because the queue was full.") \
	X(batch, "batch_size", "gauge", "Sequences of the last batch.") \
	X(running, "requests_running", "gauge", "Requests that have begun.") \
	X(queued, "requests_queued", "gauge", "Requests that wait to begin.") \
	X(kept, "prefixes_kept", "gauge", "Texts that ended and are in the cache.") \
	X(stalled, "requests_stalled", "gauge", "Requests that wait for their client to read.") \
	X(connections, "connections", "gauge", "Open connections.")

struct metrics {
#define X(field, name, type, help) uint64_t field;
	SERVE_METRICS(X)
#undef X
	uint64_t outcomes[NUM_OUTCOMES];
	double first_sum;		/* seconds from arrival to the first token */
	uint64_t first_num;
};

struct server {
	const struct model *m;
	const struct options *o;
	char *name;			/* of the model */
	enum npu_chat_form form;
	int64_t created;
	uint32_t limit;			/* tokens of a sequence: context, or the cache on the NPU */
	uint32_t width;			/* sequences of a batch */
	struct npu_llm_batch *batch;	/* of the thread that runs the model */
	struct request **chosen;	/* [width], the same */
	struct npu_llm_session **sessions;	/* [width + 1], the same */
	struct npu_llm_session **kept;	/* [o->prefixes], the same; the one of use last is last */
	uint32_t num_kept;
	size_t uploads;			/* bytes of bodies; of libmicrohttpd's thread */

	/* Protects all below, and what struct request says. Taken before libmicrohttpd's locks. */
	pthread_mutex_t lock;
	pthread_cond_t work;		/* for the thread that runs the model */
	pthread_cond_t idle;		/* the list, or the last exchange, is gone */
	struct request *list;
	uint32_t num_requests;		/* of the list */
	uint32_t exchanges;		/* HTTP requests under way */
	uint64_t serial;		/* of ids */
	bool draining;			/* no new requests */
	bool abandon;			/* those that are there end now */
	bool stop;			/* the thread is to end */
	bool broken;			/* the device is gone */
	struct metrics metrics;
};

extern const char *const outcome_names[NUM_OUTCOMES];

/* ---- serve_batch.c ---- */

/* The thread; @server is a struct server. */
void *serve_batch_thread(void *server);
/* Into the list. 0, -EBUSY (the queue is full) or -ESHUTDOWN. */
int serve_submit(struct server *s, struct request *r);
/* The connection lets go of its request, which ends if it has not. */
void serve_detach(struct server *s, struct request *r);
void request_destroy(struct request *r);

/* ---- serve_prefix.c ---- */

/* @r, of which the cache has nothing, begins with what others have of its tokens. */
void prefix_begin(struct server *s, struct request *r);
/* The session of a request that ended, or NULL; it is taken over. */
void prefix_keep(struct server *s, struct npu_llm_session *session);
/* Let go of the one that was of use longest ago; false: there is none. */
bool prefix_drop(struct server *s);
/* Blocks of the cache that would be free without the kept ones. */
uint32_t prefix_blocks(struct server *s);
void prefix_free(struct server *s);

/* ---- serve_api.c ---- */

/* An error as clients get it: "invalid_request_error" and so on, @param may be "". */
struct api_error {
	unsigned int status;
	const char *type, *code;
	char param[64];
	struct npu_error why;
};

/* A request from @size bytes of JSON; 0, or @e says what is wrong with it. */
int api_parse(struct server *s, enum request_kind kind, const char *body, size_t size,
	      struct request **request, struct api_error *e);
/* There is no model of that @name: 404; @param is the field that says so, or "". */
int api_no_model(struct api_error *e, const struct server *s, const char *param, const char *name);
/* ---- serve_text.c ---- */

/* Texts, to be freed; NULL without memory. */
char *api_error_text(const struct api_error *e, size_t *size);
char *api_answer(const struct server *s, const struct request *r, size_t *size);
/* The list of models, or the one alone. */
char *api_models(const struct server *s, bool list, size_t *size);
/*
 * Events of a stream to r->out, with s->lock: @num bytes of new text; the end, with an error if
 * that was the reason. 0 or -ENOMEM.
 */
int api_chunk(const struct server *s, struct request *r, const char *text, size_t num);
int api_stream_end(const struct server *s, struct request *r);
char *api_metrics(struct server *s, size_t *size);
/* What a request that ended without an answer is told. */
void api_outcome_error(const struct request *r, struct api_error *e);
__attribute__((format(printf, 4, 5)))
int api_fail(struct api_error *e, unsigned int status, const char *param, const char *fmt, ...);

#endif
