// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "llm.h"
#include "tools/common/option_table.h"

#define OPTIONS	struct options
#define WHOLE	(1u << 30)		/* the largest number of things */

static option_take_fn take_stop, take_greedy, take_budget;

static const struct option_row rows[] = {
	OPT_TEXT('p', "prompt", "TEXT", prompt,
		 "text to go on from (without one: from the model's first token)"),
	OPT_TEXT(0, "file", "FILE", file, "the same from a file"),
	OPT_NUMBER('n', "tokens", "N", num, 0, WHOLE,
		   "tokens to generate (default 128; 0: until the context is full)"),
	OPT_CALL(0, "stop", "TEXT", take_stop, "end where TEXT would come; may be repeated"),
	OPT_FLAG(0, "ignore-end", ignore_end, "go on after the model's end token"),
	OPT_FLAG(0, "no-prompt", no_prompt, "print the new text alone"),
	OPT_TEXT(0, "save-session", "FILE", save,
		 "keep the text's tokens, keys and values when it ends"),
	OPT_TEXT(0, "load-session", "FILE", load,
		 "go on from there, with the prompt behind it if there is one (in a chat: what\n"
		 "it has in common with it is not run again); the same job file only"),
	OPT_NUMBER(0, "forks", "N", forks, 1, 1u << 16,
		   "N texts from one prompt, which is run once; seeds count up from --seed"),
	OPT_LINE(""),
	OPT_FLAG(0, "chat", chat, "talk: a line is a turn, Ctrl-C stops an answer, Ctrl-D ends"),
	OPT_TEXT(0, "system", "TEXT", system, "what the model is told first"),
	OPT_TEXT(0, "chat-template", "NAME", form,
		 "chatml, llama3, gemma, ... (default: the one in the model)"),
	OPT_LINE(""),
	OPT_CALL(0, "greedy", NULL, take_greedy,
		 "always the most probable token; the same as --temp 0"),
	OPT_REAL(0, "temp", "T", sampler.temperature, "temperature (default 0.8)"),
	OPT_NUMBER(0, "top-k", "K", sampler.top_k, 0, WHOLE,
		   "of the K most probable (default 40; 0: of all)"),
	OPT_REAL(0, "top-p", "P", sampler.top_p,
		 "of the fewest that have probability P together (default 0.95; 1: all)"),
	OPT_REAL(0, "min-p", "P", sampler.min_p,
		 "of those with at least P times the largest probability (default 0.05)"),
	OPT_REAL(0, "repeat-penalty", "X", sampler.repeat_penalty,
		 "for tokens that came before (default 1: none)"),
	OPT_NUMBER(0, "repeat-last", "N", sampler.repeat_last, 0, WHOLE,
		   "among the last N (default 64)"),
	OPT_NUMBER(0, "seed", "N", sampler.seed, 0, UINT64_MAX,
		   "the same seed gives the same text (default 0)"),
	OPT_LINE(""),
	OPT_FLAG(0, "speculate", speculate,
		 "draft what may come, from what came before: the same tokens, sooner"),
	OPT_TEXT(0, "speculate-model", "FILE", speculate_model,
		 "a small model that drafts, too; its vocabulary is MODEL's"),
	OPT_NUMBER(0, "draft", "N", draft, 1, 1u << 16,
		   "tokens of a draft at most (default 16)"),
	OPT_LINE(""),
	OPT_TEXT(0, "perplexity", "FILE", perplexity,
		 "how well the model expects the text of FILE"),
	OPT_NUMBER('c', "context", "N", context, 0, WHOLE,
		   "tokens of its windows (default: what the model was compiled for)"),
	OPT_TEXT(0, "bench", "LIST", bench,
		 "tokens a second of prompts (ppN) and single tokens (tgN)"),
	OPT_NUMBER('r', "repeat", "N", repeat, 1, WHOLE,
		   "how often each is measured (default 5)"),
	OPT_LINE(""),
	OPT_NUMBER(0, "serve", "PORT", port, 0, 65535,
		   "answer OpenAI's HTTP requests on 127.0.0.1 (0: a free port, which is\n"
		   "printed); sampling options above are for what a request leaves out,\n"
		   "--speculate is for all"),
	OPT_NUMBER(0, "queue", "N", queue, 0, 100000,
		   "requests that may wait while a full batch runs (default 64)"),
	OPT_NUMBER(0, "prefixes", "N", prefixes, 0, 10000,
		   "texts that ended and stay in the cache while there is room, for requests\n"
		   "that begin like them (default 32; 0: none, nothing is shared)"),
	OPT_NUMBER(0, "client-timeout", "S", client_timeout, 1, 86400,
		   "seconds after which an idle client, or one that reads too slowly, is\n"
		   "dropped (default 60)"),
	OPT_LINE(""),
	OPT_FLAG(0, "info", info,
		 "what the model is, and the memory that it will take; loads nothing"),
	OPT_LINE(""),
	OPT_TEXT(0, "device", "URI", device,
		 "sim, sim:threads=2, /dev/accel/accel0, ... (default: the first)"),
	OPT_NUMBER('t', "threads", "N", threads, 0, WHOLE, "of the engine in process"),
	OPT_NUMBER(0, "pool", "N", pool, 0, WHOLE,
		   "tokens that the KV cache has room for (default: as compiled, if it fits)"),
	OPT_CALL(0, "kv-budget", "SIZE", take_budget,
		 "bytes of it on the NPU at once (512K, 64M, 2G); what was not used for the\n"
		 "longest time is in the host's memory (default: all on the NPU)"),
	OPT_FLAG('q', "quiet", quiet, "no statistics"),
};

/* Those of one use do nothing in another. */
static const struct option_rule rules[] = {
	{ "context", OPTION_NEEDS, "perplexity" },
	{ "repeat", OPTION_NEEDS, "bench" },
	{ "queue", OPTION_NEEDS, "serve" },
	{ "prefixes", OPTION_NEEDS, "serve" },
	{ "client-timeout", OPTION_NEEDS, "serve" },
	{ "system", OPTION_NEEDS, "chat" },
	{ "chat-template", OPTION_NEEDS, "chat|serve" },
	{ "stop", OPTION_NOT_WITH, "perplexity|bench|serve|info" },
};

static const struct option_table table = {
	.program = "npu-llm",
	.head = "usage: npu-llm MODEL.npu [-p TEXT | --file FILE | --chat] [options]\n"
		"       npu-llm MODEL.npu --perplexity FILE | --bench LIST | --serve PORT | --info\n"
		"\n"
		"Generate text with a language model that npu-compile made from a GGUF file.\n"
		"\n",
	.row = rows,
	.num = sizeof(rows) / sizeof(rows[0]),
	.rule = rules,
	.num_rules = sizeof(rules) / sizeof(rules[0]),
	.column = 27,
};

static int take_greedy(void *options, const char *name, char *arg)
{
	((struct options *)options)->sampler.temperature = 0;
	return 0;
}

static int take_stop(void *options, const char *name, char *arg)
{
	struct options *o = options;

	if (!*arg)
		return option_refuse(&table, name, "\"\"", "a text");
	return option_append(&table, name, arg, o->stop, MAX_STOPS, &o->num_stop);
}

/* Bytes, with K, M or G behind them for powers of 1024. */
static int take_budget(void *options, const char *name, char *arg)
{
	static const char units[] = "KMG";
	const char *unit;
	uint64_t *v = &((struct options *)options)->kv_budget, scale = 1;
	char *end;

	errno = 0;
	*v = strtoull(arg, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit)
		scale <<= 10 * (unit - units + 1);
	if (!errno && *arg >= '0' && *arg <= '9' && !end[unit != NULL] && *v &&
	    !__builtin_mul_overflow(*v, scale, v))
		return 0;
	return option_refuse(&table, name, arg, "bytes, as in 512K, 64M or 2G");
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
	if (o->draft && !o->speculate)
		return "--draft is of --speculate";
	if (o->speculate && (o->perplexity || o->bench || o->info))
		return "--speculate is for a text, a chat or a server";
	if (o->speculate_model && o->serve)
		return "--speculate-model is for a text or a chat: a server drafts by look-up";
	if (modes > 1)
		return "one of --prompt, --file, --chat, --perplexity, --bench, --serve and --info";
	return session_mistake(o);
}

int options_parse(struct options *o, int argc, char **argv)
{
	bool seen[sizeof(rows) / sizeof(rows[0])] = { false };
	const char *why;
	int ret;

	*o = (struct options){ .num = 128, .repeat = 5, .queue = 64, .client_timeout = 60,
				.prefixes = 32 };
	npu_llm_sampler_options_init(&o->sampler);
	ret = options_take(&table, o, argc, argv, seen);
	if (ret)
		return ret;
	o->serve = options_seen(&table, seen, "serve");
	o->speculate |= o->speculate_model != NULL;
	why = mistake(o, argc - optind);
	if (why) {
		fprintf(stderr, "npu-llm: %s\nTry 'npu-llm --help'.\n", why);
		return -EINVAL;
	}
	o->model = argv[optind];
	return 0;
}
