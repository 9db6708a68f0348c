// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "llm.h"

static const char usage[] =
"usage: npu-llm MODEL.npu [-p TEXT | --file FILE | --chat] [options]\n"
"       npu-llm MODEL.npu --perplexity FILE | --bench pp512,tg128 | --serve PORT | --info\n"
"\n"
"Generate text with a language model that npu-compile made from a GGUF file.\n"
"\n"
"  -p, --prompt TEXT        text to go on from (without one: from the model's first token)\n"
"      --file FILE          the same from a file\n"
"  -n, --tokens N           tokens to generate (default 128; 0: until the context is full)\n"
"      --stop TEXT          end where TEXT would come; may be repeated\n"
"      --ignore-end         go on after the model's end token\n"
"      --no-prompt          print the new text alone\n"
"      --save-session FILE  keep the text's tokens, keys and values when it ends\n"
"      --load-session FILE  go on from there, with the prompt behind it if there is one (in a chat:\n"
"                           what it has in common with it is not run again); the same job file only\n"
"      --forks N            N texts from one prompt, which is run once; seeds count up from --seed\n"
"\n"
"      --chat               talk: a line is a turn, Ctrl-C stops an answer, Ctrl-D ends\n"
"      --system TEXT        what the model is told first\n"
"      --chat-template NAME chatml, llama3, gemma, ... (default: the one in the model)\n"
"\n"
"      --greedy             always the most probable token; the same as --temp 0\n"
"      --temp T             temperature (default 0.8)\n"
"      --top-k K            of the K most probable (default 40; 0: of all)\n"
"      --top-p P            of the fewest that have probability P together (default 0.95; 1: all)\n"
"      --min-p P            of those with at least P times the largest probability (default 0.05)\n"
"      --repeat-penalty X   for tokens that came before (default 1: none)\n"
"      --repeat-last N      among the last N (default 64)\n"
"      --seed N             the same seed gives the same text (default 0)\n"
"\n"
"      --speculate          draft what may come, from what came before: the same tokens, sooner\n"
"      --speculate-model FILE  a small model that drafts, too; its vocabulary is MODEL's\n"
"      --draft N            tokens of a draft at most (default 16)\n"
"\n"
"      --perplexity FILE    how well the model expects the text of FILE\n"
"  -c, --context N          tokens of its windows (default: what the model was compiled for)\n"
"      --bench LIST         tokens a second of prompts (ppN) and single tokens (tgN)\n"
"  -r, --repeat N           how often each is measured (default 5)\n"
"\n"
"      --serve PORT         answer OpenAI's HTTP requests on 127.0.0.1 (0: a free port, which is\n"
"                           printed); sampling options above are for what a request leaves\n"
"                           out, --speculate is for all\n"
"      --queue N            requests that may wait while a full batch runs (default 64)\n"
"      --prefixes N         texts that ended and stay in the cache while there is room, for requests\n"
"                           that begin like them (default 32; 0: none, nothing is shared)\n"
"      --client-timeout S   seconds after which an idle client, or one that reads too slowly,\n"
"                           is dropped (default 60)\n"
"\n"
"      --info               what the model is, and the memory that it will take; loads nothing\n"
"\n"
"      --device URI         sim, sim:threads=2, /dev/accel/accel0, ... (default: the first)\n"
"  -t, --threads N          of the engine in process\n"
"      --pool N             tokens that the KV cache has room for (default: as compiled, if it fits)\n"
"      --kv-budget SIZE     bytes of it on the NPU at once (512K, 64M, 2G); what was not used for\n"
"                           the longest time is in the host's memory (default: all on the NPU)\n"
"  -q, --quiet              no statistics\n"
"      --version, -h, --help\n";

enum {
	OPT_FILE = 256, OPT_STOP, OPT_IGNORE_END, OPT_NO_PROMPT, OPT_CHAT, OPT_SYSTEM, OPT_FORM,
	OPT_GREEDY, OPT_TEMP, OPT_TOP_K, OPT_TOP_P, OPT_MIN_P, OPT_PENALTY, OPT_LAST, OPT_SEED,
	OPT_SPECULATE, OPT_SMALL, OPT_DRAFT, OPT_PERPLEXITY, OPT_BENCH, OPT_SERVE, OPT_QUEUE, OPT_PREFIXES,
	OPT_TIMEOUT, OPT_SAVE, OPT_LOAD, OPT_FORKS, OPT_INFO, OPT_DEVICE, OPT_POOL, OPT_KV_BUDGET, OPT_VERSION,
};

static const struct option long_options[] = {
	{ "prompt", required_argument, NULL, 'p' },
	{ "file", required_argument, NULL, OPT_FILE },
	{ "tokens", required_argument, NULL, 'n' },
	{ "stop", required_argument, NULL, OPT_STOP },
	{ "ignore-end", no_argument, NULL, OPT_IGNORE_END },
	{ "no-prompt", no_argument, NULL, OPT_NO_PROMPT },
	{ "save-session", required_argument, NULL, OPT_SAVE },
	{ "load-session", required_argument, NULL, OPT_LOAD },
	{ "forks", required_argument, NULL, OPT_FORKS },
	{ "chat", no_argument, NULL, OPT_CHAT },
	{ "system", required_argument, NULL, OPT_SYSTEM },
	{ "chat-template", required_argument, NULL, OPT_FORM },
	{ "greedy", no_argument, NULL, OPT_GREEDY },
	{ "temp", required_argument, NULL, OPT_TEMP },
	{ "top-k", required_argument, NULL, OPT_TOP_K },
	{ "top-p", required_argument, NULL, OPT_TOP_P },
	{ "min-p", required_argument, NULL, OPT_MIN_P },
	{ "repeat-penalty", required_argument, NULL, OPT_PENALTY },
	{ "repeat-last", required_argument, NULL, OPT_LAST },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "speculate", no_argument, NULL, OPT_SPECULATE },
	{ "speculate-model", required_argument, NULL, OPT_SMALL },
	{ "draft", required_argument, NULL, OPT_DRAFT },
	{ "perplexity", required_argument, NULL, OPT_PERPLEXITY },
	{ "context", required_argument, NULL, 'c' },
	{ "bench", required_argument, NULL, OPT_BENCH },
	{ "repeat", required_argument, NULL, 'r' },
	{ "serve", required_argument, NULL, OPT_SERVE },
	{ "queue", required_argument, NULL, OPT_QUEUE },
	{ "prefixes", required_argument, NULL, OPT_PREFIXES },
	{ "client-timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "info", no_argument, NULL, OPT_INFO },
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "threads", required_argument, NULL, 't' },
	{ "pool", required_argument, NULL, OPT_POOL },
	{ "kv-budget", required_argument, NULL, OPT_KV_BUDGET },
	{ "quiet", no_argument, NULL, 'q' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int number(const char *name, uint64_t max, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(optarg, &end, 10);
	if (!errno && end != optarg && !*end && *optarg != '-' && *v <= max)
		return 0;
	fprintf(stderr, "npu-llm: %s %s: expected a number from 0 to %llu\n", name, optarg,
		(unsigned long long)max);
	return -EINVAL;
}

static int number32(const char *name, uint32_t *v)
{
	uint64_t n;
	int ret = number(name, 1u << 30, &n);

	*v = ret ? 0 : (uint32_t)n;
	return ret;
}

/* Bytes, with K, M or G behind them for powers of 1024. */
static int bytes(const char *name, uint64_t *v)
{
	static const char units[] = "KMG";
	const char *unit;
	uint64_t scale = 1;
	char *end;

	errno = 0;
	*v = strtoull(optarg, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit)
		scale <<= 10 * (unit - units + 1);
	if (!errno && *optarg >= '0' && *optarg <= '9' && !end[unit != NULL] && *v &&
	    !__builtin_mul_overflow(*v, scale, v))
		return 0;
	fprintf(stderr, "npu-llm: %s %s: expected bytes, as in 512K, 64M or 2G\n", name, optarg);
	return -EINVAL;
}

static int real(const char *name, float *v)
{
	char *end;

	errno = 0;
	*v = strtof(optarg, &end);
	if (!errno && end != optarg && !*end)
		return 0;
	fprintf(stderr, "npu-llm: %s %s: expected a number\n", name, optarg);
	return -EINVAL;
}

/* -ENOENT: none of these. */
static int take_sampling(struct npu_llm_sampler_options *s, int c)
{
	switch (c) {
	case OPT_GREEDY:
		s->temperature = 0;
		return 0;
	case OPT_TEMP:
		return real("--temp", &s->temperature);
	case OPT_TOP_K:
		return number32("--top-k", &s->top_k);
	case OPT_TOP_P:
		return real("--top-p", &s->top_p);
	case OPT_MIN_P:
		return real("--min-p", &s->min_p);
	case OPT_PENALTY:
		return real("--repeat-penalty", &s->repeat_penalty);
	case OPT_LAST:
		return number32("--repeat-last", &s->repeat_last);
	case OPT_SEED:
		return number("--seed", UINT64_MAX, &s->seed);
	default:
		return -ENOENT;
	}
}

static int take_stop(struct options *o)
{
	if (*optarg && o->num_stop < MAX_STOPS) {
		o->stop[o->num_stop++] = optarg;
		return 0;
	}
	fprintf(stderr, *optarg ? "npu-llm: more than %d --stop options\n" :
				  "npu-llm: --stop is empty\n", MAX_STOPS);
	return -EINVAL;
}

/* What the text is made from. */
static int take_text(struct options *o, int c)
{
	switch (c) {
	case 'p':
		o->prompt = optarg;
		return 0;
	case OPT_FILE:
		o->file = optarg;
		return 0;
	case 'n':
		return number32("--tokens", &o->num);
	case OPT_STOP:
		return take_stop(o);
	case OPT_IGNORE_END:
		o->ignore_end = true;
		return 0;
	case OPT_NO_PROMPT:
		o->no_prompt = true;
		return 0;
	case OPT_CHAT:
		o->chat = true;
		return 0;
	case OPT_SYSTEM:
		o->system = optarg;
		return 0;
	case OPT_FORM:
		o->form = optarg;
		return 0;
	default:
		return take_sampling(&o->sampler, c);
	}
}

/* A whole number from @min to @max. */
static int ranged(const char *name, uint64_t min, uint64_t max, uint32_t *v)
{
	uint64_t n;
	int ret = number(name, max, &n);

	if (!ret && n < min) {
		fprintf(stderr, "npu-llm: %s %s: expected %llu or more\n", name, optarg,
			(unsigned long long)min);
		ret = -EINVAL;
	}
	*v = ret ? 0 : (uint32_t)n;
	return ret;
}

/* Where a session comes from and goes to; -ENOENT: none of these. */
static int take_session(struct options *o, int c)
{
	switch (c) {
	case OPT_SAVE:
		o->save = optarg;
		return 0;
	case OPT_LOAD:
		o->load = optarg;
		return 0;
	case OPT_FORKS:
		return ranged("--forks", 1, 1u << 16, &o->forks);
	default:
		return -ENOENT;
	}
}

/* How drafts are made; -ENOENT: none of these. */
static int take_speculation(struct options *o, int c)
{
	switch (c) {
	case OPT_SMALL:
		o->speculate_model = optarg;
		o->speculate = true;
		return 0;
	case OPT_SPECULATE:
		o->speculate = true;
		return 0;
	case OPT_DRAFT:
		return ranged("--draft", 1, 1u << 16, &o->draft);
	default:
		return -ENOENT;
	}
}

/* What a server is; -ENOENT: none of these. */
static int take_serve(struct options *o, int c)
{
	switch (c) {
	case OPT_SERVE:
		o->serve = true;
		return ranged("--serve", 0, 65535, &o->port);
	case OPT_QUEUE:
		return ranged("--queue", 0, 100000, &o->queue);
	case OPT_PREFIXES:
		return ranged("--prefixes", 0, 10000, &o->prefixes);
	case OPT_TIMEOUT:
		return ranged("--client-timeout", 1, 86400, &o->client_timeout);
	default:
		return -ENOENT;
	}
}

static int take_option(struct options *o, int c)
{
	int ret = take_text(o, c);

	if (ret == -ENOENT)
		ret = take_session(o, c);
	if (ret == -ENOENT)
		ret = take_serve(o, c);
	if (ret == -ENOENT)
		ret = take_speculation(o, c);
	if (ret != -ENOENT)
		return ret;
	switch (c) {
	case OPT_PERPLEXITY:
		o->perplexity = optarg;
		return 0;
	case 'c':
		return number32("--context", &o->context);
	case OPT_BENCH:
		o->bench = optarg;
		return 0;
	case 'r':
		return number32("--repeat", &o->repeat);
	case OPT_INFO:
		o->info = true;
		return 0;
	case OPT_DEVICE:
		o->device = optarg;
		return 0;
	case 't':
		return number32("--threads", &o->threads);
	case OPT_POOL:
		return number32("--pool", &o->pool);
	case OPT_KV_BUDGET:
		return bytes("--kv-budget", &o->kv_budget);
	case 'q':
		o->quiet = true;
		return 0;
	case OPT_VERSION:
		puts("npu-llm " NPU_VERSION);
		return 1;
	case 'h':
		fputs(usage, stdout);
		return 1;
	default:
		fputs("Try 'npu-llm --help'.\n", stderr);
		return -EINVAL;
	}
}

/* The same of what sessions are kept and forked for. */
static const char *session_mistake(const struct options *o)
{
	bool other = o->perplexity || o->bench || o->serve || o->info;

	if ((o->load || o->save) && other)
		return "--load-session and --save-session are for a text or a chat";
	if (o->forks && (o->chat || other))
		return "--forks is for a text";
	if (o->forks > 1 && o->save)
		return "--save-session keeps one text, --forks makes several";
	return NULL;
}

/* What is wrong with them together, or NULL. */
static const char *mistake(const struct options *o, int num_models)
{
	int modes = (o->prompt != NULL) + (o->file != NULL) + o->chat + (o->perplexity != NULL) +
		    (o->bench != NULL) + o->serve + o->info;

	if (num_models != 1)
		return "expected one model";
	if (!o->repeat)
		return "--repeat 0: expected 1 or more";
	if (o->draft && !o->speculate)
		return "--draft is of --speculate";
	if (o->speculate && (o->perplexity || o->bench || o->info))
		return "--speculate is for a text, a chat or a server";
	if (o->speculate_model && o->serve)
		return "--speculate-model is for a text or a chat: a server drafts by look-up";
	return modes > 1 ? "one of --prompt, --file, --chat, --perplexity, --bench, --serve and --info" :
			   session_mistake(o);
}

int options_parse(struct options *o, int argc, char **argv)
{
	const char *why;
	int c, ret;

	*o = (struct options){ .num = 128, .repeat = 5, .queue = 64, .client_timeout = 60,
				.prefixes = 32 };
	npu_llm_sampler_options_init(&o->sampler);
	while ((c = getopt_long(argc, argv, "p:n:c:r:t:qh", long_options, NULL)) != -1) {
		ret = take_option(o, c);
		if (ret)
			return ret;
	}
	why = mistake(o, argc - optind);
	if (why) {
		fprintf(stderr, "npu-llm: %s\nTry 'npu-llm --help'.\n", why);
		return -EINVAL;
	}
	o->model = argv[optind];
	return 0;
}
