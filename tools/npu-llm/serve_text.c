// SPDX-License-Identifier: MIT
/* What a server says: answers, events of streams, errors, metrics. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/unicode.h"
#include "serve.h"

#define ESCAPED_MAX	6	/* bytes that one of a string becomes at most */
#define CHUNK_REST	128	/* of an event beside its head and its text */

/*
 * The next character of a string as JSON has it, and how many bytes of @text that was. Paths, and
 * what was cut off, may have bytes that are no UTF-8.
 */
static size_t escape(char out[ESCAPED_MAX + 1], const char *text, size_t size, unsigned int *n)
{
	/* U+FFFD, without an end. */
	static const char replacement[] = { '\xef', '\xbf', '\xbd' };
	unsigned char c = (unsigned char)*text;

	if (unicode_decode(text, size, n) == UNICODE_BAD) {
		memcpy(out, replacement, sizeof(replacement));
		return sizeof(replacement);
	}
	if (c == '"' || c == '\\') {
		out[0] = '\\';
		out[1] = (char)c;
		return 2;
	}
	if (c < 0x20 || c == 0x7f)
		return (size_t)snprintf(out, ESCAPED_MAX + 1, "\\u%04x", c);
	memcpy(out, text, *n);
	return *n;
}

/* A string with its quotation marks. */
static void put_string(FILE *f, const char *text, size_t size)
{
	char out[ESCAPED_MAX + 1];
	unsigned int n;
	size_t i;

	putc('"', f);
	for (i = 0; i < size; i += n)
		fwrite(out, 1, escape(out, text + i, size - i, &n), f);
	putc('"', f);
}

static void put_text(FILE *f, const char *text)
{
	put_string(f, text, strlen(text));
}

/* The text that was written to @f, unless there was no memory for it. */
static char *close_text(FILE *f, char **text)
{
	bool failed = ferror(f);

	if (fclose(f) || failed) {
		free(*text);
		return NULL;
	}
	return *text;
}

static const char *finish_reason(enum outcome outcome)
{
	return outcome == OUT_LENGTH ? "\"length\"" : outcome == OUT_STOP ? "\"stop\"" : "null";
}

/* The members that all answers begin with, up to "choices". */
static void put_head(FILE *f, const struct server *s, const struct request *r, bool chunk)
{
	fputs("{\"id\":", f);
	put_text(f, r->id);
	fprintf(f, ",\"object\":\"%s\",\"created\":%lld,\"model\":",
		r->kind == REQUEST_COMPLETION ? "text_completion" :
		chunk ? "chat.completion.chunk" : "chat.completion", (long long)r->created);
	put_text(f, s->name);
}

static void put_usage(FILE *f, const struct request *r)
{
	fprintf(f, ",\"usage\":{\"prompt_tokens\":%u,\"completion_tokens\":%u,\"total_tokens\":%u,\"prompt_tokens_details\":{\"cached_tokens\":%u}}",
		r->num_prompt, r->num - r->num_prompt, r->num, r->reused);
}

char *api_answer(const struct server *s, const struct request *r, size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);

	if (!f)
		return NULL;
	put_head(f, s, r, false);
	fputs(r->kind == REQUEST_CHAT ?
	      ",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":" :
	      ",\"choices\":[{\"index\":0,\"text\":", f);
	put_string(f, r->reply.text ? r->reply.text : "", r->reply.ready);
	fprintf(f, "%s,\"logprobs\":null,\"finish_reason\":%s}]",
		r->kind == REQUEST_CHAT ? "}" : "", finish_reason(r->outcome));
	put_usage(f, r);
	fputs("}\n", f);
	return close_text(f, &text);
}

/* ---- events of a stream: one for each token, so they are put together from pieces ---- */

static int out_reserve(struct request *r, size_t more)
{
	size_t room = 2 * (r->out_size + more);
	char *p;

	if (r->out_room - r->out_size >= more)
		return 0;
	p = realloc(r->out, room);
	if (!p)
		return -ENOMEM;
	r->out = p;
	r->out_room = room;
	return 0;
}

static void out_put(struct request *r, const char *data, size_t size)
{
	memcpy(r->out + r->out_size, data, size);
	r->out_size += size;
}

static void out_text(struct request *r, const char *text)
{
	out_put(r, text, strlen(text));
}

/* What all events of a request begin with. */
static int make_head(const struct server *s, struct request *r)
{
	FILE *f = open_memstream(&r->head, &r->head_size);

	if (!f)
		return -ENOMEM;
	fputs("data: ", f);
	put_head(f, s, r, true);
	fputs(",\"choices\":[{\"index\":0,", f);
	r->head = close_text(f, &r->head);
	return r->head ? 0 : -ENOMEM;
}

int api_chunk(const struct server *s, struct request *r, const char *text, size_t num)
{
	bool chat = r->kind == REQUEST_CHAT;
	size_t i;
	unsigned int n;

	if ((!r->head && make_head(s, r)) ||
	    out_reserve(r, r->head_size + ESCAPED_MAX * num + CHUNK_REST))
		return -ENOMEM;
	out_put(r, r->head, r->head_size);
	out_text(r, !chat   ? "\"text\":\"" :
		    r->sent ? "\"delta\":{\"content\":\"" :
			      "\"delta\":{\"role\":\"assistant\",\"content\":\"");
	for (i = 0; i < num; i += n)
		r->out_size += escape(r->out + r->out_size, text + i, num - i, &n);
	out_text(r, chat ? "\"},\"logprobs\":null,\"finish_reason\":" :
			   "\",\"logprobs\":null,\"finish_reason\":");
	out_text(r, finish_reason(r->outcome));
	out_text(r, "}]}\n\n");
	return 0;
}

static void put_error(FILE *f, const struct api_error *e)
{
	fputs("{\"error\":{\"message\":", f);
	put_text(f, e->why.text);
	fputs(",\"type\":", f);
	put_text(f, e->type);
	fputs(",\"param\":", f);
	if (*e->param)
		put_text(f, e->param);
	else
		fputs("null", f);
	fputs(",\"code\":", f);
	if (e->code)
		put_text(f, e->code);
	else
		fputs("null", f);
	fputs("}}", f);
}

char *api_error_text(const struct api_error *e, size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);

	if (!f)
		return NULL;
	put_error(f, e);
	putc('\n', f);
	return close_text(f, &text);
}

void api_outcome_error(const struct request *r, struct api_error *e)
{
	switch (r->outcome) {
	case OUT_SHUTDOWN:
		api_fail(e, 503, "", "the server ends");
		break;
	case OUT_SLOW:
		api_fail(e, 408, "", "the client reads too slowly");
		break;
	default:
		api_fail(e, 500, "", "%s", r->why.text);
	}
}

int api_stream_end(const struct server *s, struct request *r)
{
	bool whole = r->outcome == OUT_STOP || r->outcome == OUT_LENGTH;
	struct api_error e = { .type = "" };
	char *text = NULL;
	size_t size = 0;
	FILE *f;
	int ret;

	if (whole && api_chunk(s, r, "", 0))
		return -ENOMEM;
	f = open_memstream(&text, &size);
	if (!f)
		return -ENOMEM;
	if (!whole) {
		api_outcome_error(r, &e);
		fputs("data: ", f);
		put_error(f, &e);
		fputs("\n\n", f);
	}
	if (r->usage_wanted) {
		fputs("data: ", f);
		put_head(f, s, r, true);
		fputs(",\"choices\":[]", f);
		put_usage(f, r);
		fputs("}\n\n", f);
	}
	fputs("data: [DONE]\n\n", f);
	text = close_text(f, &text);
	ret = text ? out_reserve(r, size) : -ENOMEM;
	if (!ret)
		out_put(r, text, size);
	free(text);
	return ret;
}

static void put_model(FILE *f, const struct server *s)
{
	fputs("{\"id\":", f);
	put_text(f, s->name);
	fprintf(f, ",\"object\":\"model\",\"created\":%lld,\"owned_by\":\"npu-llm\"}",
		(long long)s->created);
}

char *api_models(const struct server *s, bool list, size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);

	if (!f)
		return NULL;
	fputs(list ? "{\"object\":\"list\",\"data\":[" : "", f);
	put_model(f, s);
	fputs(list ? "]}\n" : "\n", f);
	return close_text(f, &text);
}

/* ---- metrics ---- */

static void put_metric(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP npu_llm_%s %s\n# TYPE npu_llm_%s %s\n", name, help, name, type);
}

/* X(value, name, type, help): the KV cache. */
#define CACHE_METRICS(X) \
	X(info.num_blocks, "kv_blocks", "gauge", "Blocks of the KV cache.") \
	X(info.num_blocks - info.free_blocks, "kv_blocks_used", "gauge", "That sequences have.") \
	X(info.npu_blocks, "kv_blocks_npu", "gauge", "Blocks that the NPU holds at once.") \
	X(info.host_blocks, "kv_blocks_host", "gauge", "Used ones that are not on the NPU now.") \
	X(info.kv_host, "kv_host_bytes", "gauge", "Memory of the host that blocks have.") \
	X(info.blocks_out, "kv_blocks_out_total", "counter", "Blocks that left the NPU.") \
	X(info.blocks_in, "kv_blocks_in_total", "counter", "Blocks that came back.") \
	X(info.bytes_out, "kv_bytes_out_total", "counter", "Copied of those that left.") \
	X(info.bytes_in, "kv_bytes_in_total", "counter", "Copied of those that came back.")

static void put_cache(FILE *f, const struct server *s)
{
	struct npu_llm_info info = NPU_INIT(info);

	npu_llm_info(s->m->llm, &info);
#define X(value, name, type, help) \
	put_metric(f, name, type, help); \
	fprintf(f, "npu_llm_" name " %llu\n", (unsigned long long)(value));
	CACHE_METRICS(X)
#undef X
}

char *api_metrics(struct server *s, size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);
	struct metrics m;
	unsigned int i;

	if (!f)
		return NULL;
	pthread_mutex_lock(&s->lock);
	m = s->metrics;
	pthread_mutex_unlock(&s->lock);
	put_metric(f, "requests_total", "counter", "Requests that ended, and how.");
	for (i = OUT_NONE + 1; i < NUM_OUTCOMES; i++)
		fprintf(f, "npu_llm_requests_total{outcome=\"%s\"} %llu\n", outcome_names[i],
			(unsigned long long)m.outcomes[i]);
#define X(field, name, type, help) \
	put_metric(f, name, type, help); \
	fprintf(f, "npu_llm_" name " %llu\n", (unsigned long long)m.field);
	SERVE_METRICS(X)
#undef X
	put_metric(f, "first_token_seconds", "summary", "From a request to its first token.");
	fprintf(f, "npu_llm_first_token_seconds_sum %.6f\nnpu_llm_first_token_seconds_count %llu\n",
		m.first_sum, (unsigned long long)m.first_num);
	put_cache(f, s);
	return close_text(f, &text);
}
