// SPDX-License-Identifier: MIT
/* Requests and answers of OpenAI's API as JSON. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "core/error.h"
#include "llm/unicode.h"
#include "serve.h"

#define COMPLETION_TOKENS	16	/* of a completion that does not say how many it wants */
/* Bytes of a stop string: behind each token the text is held against all of its beginnings. */
#define STOP_BYTES		256
/* Values of a body beside a prompt's tokens. */
#define OTHER_VALUES		(64u << 10)

int api_fail(struct api_error *e, unsigned int status, const char *param, const char *fmt, ...)
{
	char text[sizeof(e->why.text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	npu_error_set(&e->why, -EINVAL, "%s", text);
	snprintf(e->param, sizeof(e->param), "%s", param);
	e->status = status;
	e->type = status == 429 ? "rate_limit_error" : status >= 500 ? "server_error" :
		  "invalid_request_error";
	e->code = status == 429 ? "queue_full" : NULL;
	return -EINVAL;
}

int api_no_model(struct api_error *e, const struct server *s, const char *param, const char *name)
{
	api_fail(e, 404, param, "there is no model '%.100s', only '%.100s'", name, s->name);
	e->code = "model_not_found";
	return -EINVAL;
}

/* ---- fields ---- */

struct parser {
	struct server *s;
	struct request *r;
	struct npu_llm_sampler_options sampler;
	const cJSON *prompt, *messages;
	bool seeded;
	struct api_error *e;
};

struct field {
	const char *name;
	unsigned int kinds;		/* that have it: 1 << enum request_kind */
	int (*take)(struct parser *p, const struct field *f, const cJSON *v);
	double min, max;
	size_t offset;			/* of what it goes to */
};

static int refuse(struct parser *p, const struct field *f, const char *what)
{
	return api_fail(p->e, 400, f->name, "%s: %s", f->name, what);
}

static int number(struct parser *p, const struct field *f, const cJSON *v)
{
	if (cJSON_IsNumber(v) && v->valuedouble >= f->min && v->valuedouble <= f->max)
		return 0;
	return api_fail(p->e, 400, f->name, "%s: expected a number from %g to %.17g", f->name,
			f->min, f->max);
}

static int whole(struct parser *p, const struct field *f, const cJSON *v)
{
	int ret = number(p, f, v);

	return ret ?: v->valuedouble == floor(v->valuedouble) ? 0 :
	       refuse(p, f, "expected a whole number");
}

static int take_real(struct parser *p, const struct field *f, const cJSON *v)
{
	int ret = number(p, f, v);

	if (!ret)
		*(float *)((char *)&p->sampler + f->offset) = (float)v->valuedouble;
	return ret;
}

static int take_top_k(struct parser *p, const struct field *f, const cJSON *v)
{
	int ret = whole(p, f, v);

	if (!ret)
		p->sampler.top_k = (uint32_t)v->valuedouble;
	return ret;
}

static int take_seed(struct parser *p, const struct field *f, const cJSON *v)
{
	int ret = whole(p, f, v);

	if (ret)
		return ret;
	p->sampler.seed = (uint64_t)(int64_t)v->valuedouble;
	p->seeded = true;
	return 0;
}

static int take_tokens(struct parser *p, const struct field *f, const cJSON *v)
{
	int ret = whole(p, f, v);

	if (!ret)
		p->r->max_tokens = (uint32_t)v->valuedouble;
	return ret;
}

static int take_flag(struct parser *p, const struct field *f, const cJSON *v)
{
	if (!cJSON_IsBool(v))
		return refuse(p, f, "expected true or false");
	*(bool *)((char *)p->r + f->offset) = cJSON_IsTrue(v);
	return 0;
}

/* What has one value only: 1, 0, false, or what means the same. */
static int take_only(struct parser *p, const struct field *f, const cJSON *v)
{
	if (cJSON_IsNumber(v) && v->valuedouble >= f->min && v->valuedouble <= f->max)
		return 0;
	if (cJSON_IsFalse(v) && f->min <= 0)
		return 0;
	return api_fail(p->e, 400, f->name, "%s is not supported (other than %g)", f->name, f->min);
}

static int take_nothing(struct parser *p, const struct field *f, const cJSON *v)
{
	if ((cJSON_IsArray(v) || cJSON_IsObject(v)) && !v->child)
		return 0;
	return api_fail(p->e, 400, f->name, "%s is not supported", f->name);
}

static int ignore(struct parser *p, const struct field *f, const cJSON *v)
{
	(void)p, (void)f, (void)v;
	return 0;
}

static int take_format(struct parser *p, const struct field *f, const cJSON *v)
{
	const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(v, "type"));

	if (type && !strcmp(type, "text"))
		return 0;
	return refuse(p, f, "only {\"type\": \"text\"} is supported");
}

static int take_stream_options(struct parser *p, const struct field *f, const cJSON *v)
{
	const cJSON *usage = cJSON_GetObjectItemCaseSensitive(v, "include_usage");

	if (!cJSON_IsObject(v) || (usage && !cJSON_IsBool(usage)))
		return refuse(p, f, "expected an object with include_usage true or false");
	p->r->usage_wanted = cJSON_IsTrue(usage);
	return 0;
}

static int take_model(struct parser *p, const struct field *f, const cJSON *v)
{
	if (!cJSON_IsString(v))
		return refuse(p, f, "expected a string");
	if (!strcmp(v->valuestring, p->s->name))
		return 0;
	return api_no_model(p->e, p->s, f->name, v->valuestring);
}

static int add_stop(struct parser *p, const struct field *f, const cJSON *v)
{
	struct request *r = p->r;

	if (!cJSON_IsString(v) || !*v->valuestring)
		return refuse(p, f, "expected a string that is not empty, or a list of such");
	if (strlen(v->valuestring) > STOP_BYTES)
		return api_fail(p->e, 400, f->name, "%s: a string of %zu bytes, expected at most %d",
				f->name, strlen(v->valuestring), STOP_BYTES);
	if (r->reply.num_stop == MAX_STOPS)
		return api_fail(p->e, 400, f->name, "%s: more than %d strings", f->name, MAX_STOPS);
	r->stops[r->reply.num_stop] = strdup(v->valuestring);
	if (!r->stops[r->reply.num_stop])
		return api_fail(p->e, 500, f->name, "no memory");
	r->reply.num_stop++;
	return 0;
}

static int take_stop(struct parser *p, const struct field *f, const cJSON *v)
{
	const cJSON *one;
	int ret = 0;

	if (!cJSON_IsArray(v))
		return add_stop(p, f, v);
	cJSON_ArrayForEach(one, v) {
		ret = add_stop(p, f, one);
		if (ret)
			break;
	}
	return ret;
}

static int take_prompt(struct parser *p, const struct field *f, const cJSON *v)
{
	if (cJSON_IsArray(v) && cJSON_IsString(v->child)) {
		if (v->child->next)
			return refuse(p, f, "one prompt at a time");
		v = v->child;
	}
	if (!cJSON_IsString(v) && !(cJSON_IsArray(v) && cJSON_IsNumber(v->child)))
		return refuse(p, f, "expected a string or a list of token ids");
	p->prompt = v;
	return 0;
}

static int take_messages(struct parser *p, const struct field *f, const cJSON *v)
{
	if (!cJSON_IsArray(v) || !v->child)
		return refuse(p, f, "expected a list of messages");
	p->messages = v;
	return 0;
}

#define BOTH	(1u << REQUEST_COMPLETION | 1u << REQUEST_CHAT)
#define TEXT	(1u << REQUEST_COMPLETION)
#define CHAT	(1u << REQUEST_CHAT)
#define SAMPLER(field)	offsetof(struct npu_llm_sampler_options, field)
#define SEED_MAX	9007199254740992.0	/* whole numbers up to it are exact in JSON */

/* All that a request may have; null is the same as nothing. */
static const struct field fields[] = {
	{ "model", BOTH, take_model, 0, 0, 0 },
	{ "prompt", TEXT, take_prompt, 0, 0, 0 },
	{ "messages", CHAT, take_messages, 0, 0, 0 },
	{ "max_tokens", BOTH, take_tokens, 1, 1 << 30, 0 },
	{ "max_completion_tokens", CHAT, take_tokens, 1, 1 << 30, 0 },
	{ "temperature", BOTH, take_real, 0, 100, SAMPLER(temperature) },
	{ "top_p", BOTH, take_real, 1e-6, 1, SAMPLER(top_p) },
	{ "min_p", BOTH, take_real, 0, 1, SAMPLER(min_p) },
	{ "top_k", BOTH, take_top_k, 0, 1 << 30, 0 },
	{ "repetition_penalty", BOTH, take_real, 1e-3, 1000, SAMPLER(repeat_penalty) },
	{ "repeat_penalty", BOTH, take_real, 1e-3, 1000, SAMPLER(repeat_penalty) },
	{ "seed", BOTH, take_seed, -SEED_MAX, SEED_MAX, 0 },
	{ "stop", BOTH, take_stop, 0, 0, 0 },
	{ "stream", BOTH, take_flag, 0, 0, offsetof(struct request, stream) },
	{ "stream_options", BOTH, take_stream_options, 0, 0, 0 },
	{ "ignore_eos", BOTH, take_flag, 0, 0, offsetof(struct request, ignore_end) },
	{ "speculate", BOTH, take_flag, 0, 0, offsetof(struct request, speculate) },
	{ "n", BOTH, take_only, 1, 1, 0 },
	{ "best_of", TEXT, take_only, 1, 1, 0 },
	{ "echo", TEXT, take_only, 0, 0, 0 },
	{ "logprobs", BOTH, take_only, 0, 0, 0 },
	{ "top_logprobs", CHAT, take_only, 0, 0, 0 },
	{ "presence_penalty", BOTH, take_only, 0, 0, 0 },
	{ "frequency_penalty", BOTH, take_only, 0, 0, 0 },
	{ "logit_bias", BOTH, take_nothing, 0, 0, 0 },
	{ "suffix", TEXT, take_nothing, 0, 0, 0 },
	{ "tools", CHAT, take_nothing, 0, 0, 0 },
	{ "tool_choice", CHAT, take_nothing, 0, 0, 0 },
	{ "functions", CHAT, take_nothing, 0, 0, 0 },
	{ "function_call", CHAT, take_nothing, 0, 0, 0 },
	{ "response_format", BOTH, take_format, 0, 0, 0 },
	{ "user", BOTH, ignore, 0, 0, 0 },
	{ "metadata", BOTH, ignore, 0, 0, 0 },
	{ "store", BOTH, ignore, 0, 0, 0 },
};

static int take_field(struct parser *p, const cJSON *v)
{
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].kinds & 1u << p->r->kind && !strcmp(v->string, fields[i].name))
			return cJSON_IsNull(v) ? 0 : fields[i].take(p, &fields[i], v);
	return api_fail(p->e, 400, v->string, "there is no field '%.100s'", v->string);
}

/* ---- the prompt ---- */

/* A failure of the tokenizer; a chat form that is missing is for the server's owner to choose. */
static int tokens_fail(struct parser *p, const char *param, int ret, const struct npu_error *why)
{
	const char *hint = ret == -ENOENT || ret == -ENOTSUP ?
				   " (npu-llm --serve --chat-template NAME chooses a form)" : "";

	return api_fail(p->e, ret == -ENOMEM ? 500 : 400, param, "%s: %s%s", param, why->text,
			hint);
}

static int too_long(struct parser *p, const char *param, const char *what, size_t num)
{
	api_fail(p->e, 400, param, "%s: %s%zu tokens, the context has %u", param, what, num,
		 p->s->limit);
	p->e->code = "context_length_exceeded";
	return -EINVAL;
}

/* A text of @size bytes that can not fit is not even encoded, which takes many times its size. */
static int check_text(struct parser *p, const char *param, size_t size)
{
	uint32_t most = p->s->m->vocab.max_piece;
	size_t least = most ? size / most : 0;

	return least > p->s->limit ? too_long(p, param, "at least ", least) : 0;
}

static int prompt_ids(struct parser *p, int32_t **ids, size_t *num)
{
	uint32_t vocab = p->s->m->info.vocab;
	const cJSON *v;

	*num = (size_t)cJSON_GetArraySize(p->prompt);
	*ids = malloc(*num * sizeof(**ids));
	if (!*ids)
		return api_fail(p->e, 500, "prompt", "no memory for %zu tokens", *num);
	*num = 0;
	cJSON_ArrayForEach(v, p->prompt) {
		if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0 && v->valuedouble < vocab) ||
		    v->valuedouble != floor(v->valuedouble))
			return api_fail(p->e, 400, "prompt",
					"prompt: element %zu is no token, 0 .. %u", *num,
					vocab - 1);
		(*ids)[(*num)++] = (int32_t)v->valuedouble;
	}
	return 0;
}

static int encode_prompt(struct parser *p, int32_t **ids, size_t *num)
{
	struct npu_error why = { .text = "" };
	const char *text;
	int ret;

	p->r->reply.stream.begun = true;	/* a space at the beginning is text */
	if (cJSON_IsArray(p->prompt))
		return prompt_ids(p, ids, num);
	text = p->prompt->valuestring;
	p->r->reply.stream.begun = *text != 0;
	if (check_text(p, "prompt", strlen(text)))
		return -EINVAL;
	ret = model_encode(p->s->m, text, strlen(text), NPU_TOKENIZE_ADD | NPU_TOKENIZE_SPECIAL,
			   ids, num, &why);
	return ret ? tokens_fail(p, "prompt", ret, &why) : 0;
}

/* The text of a message, to be freed: a string, or parts that are text. */
static char *content(const cJSON *message)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(message, "content"), *part;
	const char *type, *text;
	char *all = NULL;
	size_t size;
	FILE *f;

	if (cJSON_IsString(v))
		return strdup(v->valuestring);
	f = cJSON_IsArray(v) ? open_memstream(&all, &size) : NULL;
	if (!f)
		return NULL;
	cJSON_ArrayForEach(part, v) {
		type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(part, "type"));
		text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(part, "text"));
		if (!type || strcmp(type, "text") || !text) {
			fclose(f);
			free(all);
			return NULL;
		}
		fputs(text, f);
	}
	fclose(f);
	return all;
}

static int read_message(struct parser *p, const cJSON *v, size_t i, struct npu_chat_message *m)
{
	m->role = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(v, "role"));
	if (!m->role)
		return api_fail(p->e, 400, "messages", "messages[%zu].role: expected a string", i);
	m->content = content(v);
	if (!m->content)
		return api_fail(p->e, 400, "messages",
				"messages[%zu].content: expected a string, or parts of type text",
				i);
	return 0;
}

static int encode_messages(struct parser *p, const struct npu_chat_message *messages, size_t n,
			   int32_t **ids, size_t *num)
{
	const struct npu_tokenizer *t = p->s->m->tok;
	struct npu_error why = { .text = "" };
	int ret = npu_tokenizer_encode_chat(t, p->s->form, messages, n, true, NULL, 0, num, &why);

	if (!ret || ret == -ENOSPC) {
		*ids = malloc((*num + 1) * sizeof(**ids));
		if (!*ids)
			return api_fail(p->e, 500, "messages", "no memory for %zu tokens", *num);
		ret = npu_tokenizer_encode_chat(t, p->s->form, messages, n, true, *ids, *num, num,
						&why);
	}
	return ret ? tokens_fail(p, "messages", ret, &why) : 0;
}

static int encode_chat(struct parser *p, int32_t **ids, size_t *num)
{
	size_t n = (size_t)cJSON_GetArraySize(p->messages), i = 0;
	struct npu_chat_message *messages = calloc(n, sizeof(*messages));
	size_t bytes = 0;
	const cJSON *v;
	int ret = 0;

	if (!messages)
		return api_fail(p->e, 500, "messages", "no memory for %zu messages", n);
	cJSON_ArrayForEach(v, p->messages) {
		ret = read_message(p, v, i, &messages[i]);
		if (ret)
			break;
		bytes += strlen(messages[i++].content);
	}
	ret = ret ?: check_text(p, "messages", bytes);
	ret = ret ?: encode_messages(p, messages, n, ids, num);
	for (i = 0; i < n; i++)
		free((char *)messages[i].content);
	free(messages);
	return ret;
}

/* Room for what comes behind the prompt, which may go one token beyond what the cache holds. */
static int set_prompt(struct parser *p, int32_t *ids, size_t num)
{
	const char *param = p->r->kind == REQUEST_CHAT ? "messages" : "prompt";
	uint32_t limit = p->s->limit, most;
	struct request *r = p->r;
	int32_t *q;

	r->ids = ids;
	if (!num)
		return api_fail(p->e, 400, param,
				"%s: empty, and this model begins with no token of its own", param);
	if (num > limit)
		return too_long(p, param, "", num);
	most = limit + 1 - (uint32_t)num;
	if (!r->max_tokens)
		r->max_tokens = r->kind == REQUEST_CHAT ? most : COMPLETION_TOKENS;
	r->max_tokens = r->max_tokens < most ? r->max_tokens : most;
	r->num = r->num_prompt = r->run = (uint32_t)num;
	q = realloc(ids, (num + r->max_tokens) * sizeof(*ids));
	if (!q)
		return api_fail(p->e, 500, param, "no memory for %zu tokens", num);
	r->ids = q;
	return 0;
}

/* ---- a request ---- */

/*
 * Bytes that are no UTF-8, characters that C's strings can not have, and more values than a request
 * has any use for: each takes many times its bytes when it is parsed.
 */
static int check_body(const struct server *s, const char *body, size_t size, struct api_error *e)
{
	size_t i, slashes = 0, values = 0, most = OTHER_VALUES + (size_t)s->limit;
	bool in_string = false;
	unsigned int length;

	for (i = 0; i < size; i += length) {
		if (unicode_decode(body + i, size - i, &length) == UNICODE_BAD && length == 1)
			return api_fail(e, 400, "", "the body is not UTF-8 at byte %zu", i);
		if (!body[i] || (slashes % 2 && size - i >= 5 && !memcmp(body + i, "u0000", 5)))
			return api_fail(e, 400, "", "the body has a NUL character at byte %zu", i);
		in_string ^= body[i] == '"' && !(slashes % 2);
		values += !in_string && (body[i] == '[' || body[i] == '{' || body[i] == ',');
		if (values > most)
			return api_fail(e, 400, "", "the body has more than %zu values", most);
		slashes = body[i] == '\\' ? slashes + 1 : 0;
	}
	return 0;
}

static int take_fields(struct parser *p, const cJSON *json)
{
	const cJSON *v;
	int ret = 0;

	if (!cJSON_IsObject(json))
		return api_fail(p->e, 400, "", "the body is not a JSON object");
	cJSON_ArrayForEach(v, json) {
		ret = take_field(p, v);
		if (ret)
			return ret;
	}
	if (p->r->kind == REQUEST_CHAT && !p->messages)
		return api_fail(p->e, 400, "messages", "messages is missing");
	if (p->r->kind == REQUEST_COMPLETION && !p->prompt)
		return api_fail(p->e, 400, "prompt", "prompt is missing");
	return 0;
}

static int take_request(struct parser *p, const cJSON *json)
{
	struct npu_llm_speculator_options options = NPU_INIT(options);
	struct npu_error why = { .text = "" };
	int32_t *ids = NULL;
	size_t num = 0;
	int ret = take_fields(p, json);

	if (ret)
		return ret;
	ret = p->messages ? encode_chat(p, &ids, &num) : encode_prompt(p, &ids, &num);
	if (ret) {
		free(ids);
		return ret;
	}
	ret = set_prompt(p, ids, num);
	if (ret)
		return ret;
	if (!p->seeded && getrandom(&p->sampler.seed, sizeof(p->sampler.seed), 0) < 0)
		p->sampler.seed = (uint64_t)p->r->created;
	ret = npu_llm_sampler_create(&p->sampler, &p->r->sampler, &why);
	if (!ret && p->r->speculate) {
		options.max_draft = p->s->o->draft;
		ret = npu_llm_speculator_create(p->s->m->llm, &options, &p->r->speculator, &why);
	}
	return ret ? api_fail(p->e, ret == -EINVAL ? 400 : 500, "", "%s", why.text) : 0;
}

static struct request *create(struct server *s, enum request_kind kind)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->kind = kind;
	r->created = time(NULL);
	r->ignore_end = s->o->ignore_end;
	r->speculate = s->o->speculate;
	r->reply.stop = (const char *const *)r->stops;
	pthread_mutex_lock(&s->lock);
	snprintf(r->id, sizeof(r->id), "%s-%llx-%llu", kind == REQUEST_CHAT ? "chatcmpl" : "cmpl",
		 (unsigned long long)s->created, (unsigned long long)++s->serial);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int api_parse(struct server *s, enum request_kind kind, const char *body, size_t size,
	      struct request **request, struct api_error *e)
{
	struct parser p = { .s = s, .sampler = s->o->sampler, .e = e };
	const char *end = body;
	cJSON *json;
	int ret = check_body(s, body, size, e);

	if (ret)
		return ret;
	p.r = create(s, kind);
	json = cJSON_ParseWithLengthOpts(body, size + 1, &end, true);
	if (!p.r)
		ret = api_fail(e, 500, "", "no memory for a request");
	else if (!json)
		ret = api_fail(e, 400, "", "the body is not JSON at byte %td", end - body);
	else
		ret = take_request(&p, json);
	cJSON_Delete(json);
	if (ret) {
		request_destroy(p.r);
		return ret;
	}
	*request = p.r;
	return 0;
}
