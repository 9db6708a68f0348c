// SPDX-License-Identifier: MIT
/* A table of options: what each kind sets, what is refused, and the help that is made of it. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/tmp.h"
#include "tap.h"
#include "tools/common/option_table.h"

struct values {
	bool flag;
	const char *text;
	uint32_t small, whole;
	uint64_t large;
	float real;
	int word;
	char taken[64];
};

#define OPTIONS	struct values

static option_take_fn take;

static const struct option_row rows[] = {
	OPT_FLAG('f', "flag", flag, "a flag"),
	OPT_TEXT('t', "text", "TEXT", text, "a text\nof two lines"),
	OPT_LINE("between"),
	OPT_NUMBER('n', "number", "N", small, 3, 70000, "a number"),
	OPT_NUMBER(0, "whole", "N", whole, 1, UINT32_MAX, "a whole one"),
	OPT_NUMBER(0, "large", "N", large, 0, UINT64_MAX, "a large one"),
	OPT_REAL(0, "real", "X", real, "a real one"),
	OPT_WORD('w', "word", "one|three|on", word, "a word"),
	OPT_CALL(0, "maybe", "[=N]", take, "with or without"),
	OPT_CALL(0, "a-very-long-name", "[NAME=]VALUE", take, "that leaves no room"),
};

static const struct option_rule rules[] = {
	{ "maybe", OPTION_NEEDS, "flag" },
	{ "real", OPTION_NEEDS, "text|number|large" },
	{ "large", OPTION_NEEDS, "text|number" },
	{ "word", OPTION_NOT_WITH, "text|number" },
	{ "a-very-long-name", OPTION_ONLY_WITH, "flag|text" },
};

static struct option_table table = {
	.program = "prog", .head = "usage: prog\n", .row = rows,
	.num = sizeof(rows) / sizeof(rows[0]), .column = 20,
};

static bool seen[sizeof(rows) / sizeof(rows[0])];
static struct values v;

static int take(void *options, const char *name, char *arg)
{
	struct values *o = options;

	snprintf(o->taken, sizeof(o->taken), "%s %s", name, arg ? arg : "-");
	return arg && !strcmp(arg, "end") ? OPTIONS_DONE : 0;
}

/* @words: the command line. What was printed, on stdout and stderr, in @said. */
static int parse(const char *words, char *said, size_t room)
{
	static char copy[256];		/* what was set points into it */
	char *argv[16] = { "prog" }, *save = NULL;
	int argc = 1, ret, out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), fd;
	ssize_t n;

	snprintf(copy, sizeof(copy), "%s", words);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	fd = open(tmp_path("said"), O_RDWR | O_CREAT | O_TRUNC, 0600);
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	v = (struct values){ .word = -1 };
	memset(seen, 0, sizeof(seen));
	optind = 0;			/* getopt() begins anew */
	ret = options_take(&table, &v, argc, argv, seen);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	n = pread(fd, said, room - 1, 0);
	said[n > 0 ? n : 0] = 0;
	close(fd);
	return ret;
}

static void test_values(void)
{
	char said[4096];
	int ret = parse("-f --text a -n 70000 --whole 4294967295 --large 18446744073709551615 "
			"--real -1.5e3 x --word=on --maybe y", said, sizeof(said));

	tap_ok(!ret && v.flag && !strcmp(v.text, "a") && v.small == 70000 &&
	       v.whole == UINT32_MAX && v.large == UINT64_MAX && v.real == -1500 && v.word == 2 &&
	       !strcmp(v.taken, "maybe -"), "each kind sets its own: %s", said);
	tap_ok(options_seen(&table, seen, "flag") && options_seen(&table, seen, "word") &&
	       !options_seen(&table, seen, "a-very-long-name"), "what was there is known");
	ret = parse("--maybe=3 -n3 -w three -- --flag", said, sizeof(said));
	tap_ok(!ret && !strcmp(v.taken, "maybe 3") && v.small == 3 && v.word == 1 && !v.flag &&
	       optind == 6, "an argument behind '=', of a letter, and what is no option");
	ret = parse("word -f", said, sizeof(said));
	tap_ok(!ret && v.flag && optind == 2, "options behind a word");
	table.words_end = true;
	ret = parse("-n 5 word -f", said, sizeof(said));
	tap_ok(!ret && v.small == 5 && !v.flag && optind == 3, "a word that ends them");
	table.words_end = false;
	ret = parse("-f --maybe=end -n 5", said, sizeof(said));
	tap_ok(ret == OPTIONS_DONE && v.flag && !v.small, "one that ends all");
	tap_ok(!parse("", said, sizeof(said)) && v.word == -1 && !v.text && !*said, "none");
}

static void test_refused(void)
{
	static const struct { const char *words, *says; } cases[] = {
		{ "-n 2", "prog: --number 2: expected a number from 3 to 70000" },
		{ "-n 70001", "a number from 3 to 70000" },
		{ "-n -4", "a number from 3 to 70000" },
		{ "-n +4", "a number from 3 to 70000" },
		{ "-n 4x", "a number from 3 to 70000" },
		{ "-n 0x10", "a number from 3 to 70000" },
		{ "--number=", "a number from 3 to 70000" },
		{ "--whole 0", "prog: --whole 0: expected a number from 1 on" },
		{ "--whole -1", "a number from 1 on" },
		{ "--whole 4294967296x", "a number from 1 on" },
		{ "--whole 4294967296", "a number from 1 to 4294967295" },
		{ "--whole 18446744073709551616", "a number from 1 to 4294967295" },
		{ "--large 18446744073709551616", "a number from 0 to 18446744073709551615" },
		{ "--real 1.5s", "prog: --real 1.5s: expected a number" },
		{ "--real 1e999", "expected a number" },
		{ "--real nan", "expected a number" },
		{ "--real -inf", "expected a number" },
		{ "--word o", "prog: --word o: expected one|three|on" },
		{ "--word one|three", "expected one|three|on" },
		{ "--word=", "expected one|three|on" },
		{ "--flag=1", "Try 'prog --help'" },
		{ "--text", "Try 'prog --help'" },
		{ "--none", "Try 'prog --help'" },
		{ "-x", "Try 'prog --help'" },
	};
	char said[4096];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ret = parse(cases[i].words, said, sizeof(said));

		tap_ok(ret == -EINVAL && strstr(said, cases[i].says), "%s: %.*s", cases[i].words,
		       (int)strcspn(said, "\n"), said);
	}
}

static void test_rules(void)
{
	static const struct { const char *words, *says; } cases[] = {
		{ "--maybe", "prog: --maybe needs --flag\n" },
		{ "--real 1 -f", "prog: --real needs --text, --number or --large\n" },
		{ "--large 1 --maybe -f", "prog: --large needs --text or --number\n" },
		{ "--text a -w on", "prog: --text does not go with --word\n" },
		{ "-w on -f -n 4", "prog: --number does not go with --word\n" },
		{ "-w on --a-very-long-name b", "prog: --word does not go with --a-very-long-name\n" },
		{ "--maybe -f", "" },
		{ "--real 1 --large 1 -n 3", "" },
		{ "-w on -f", "" },
		{ "--a-very-long-name b -f -t a", "" },
		{ "--maybe --help", "usage: prog\n" },
	};
	char said[4096];

	table.rule = rules;
	table.num_rules = sizeof(rules) / sizeof(rules[0]);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool broken = !strncmp(cases[i].says, "prog: ", 6);
		int ret = parse(cases[i].words, said, sizeof(said));

		tap_ok((ret == -EINVAL) == broken &&
		       !strncmp(said, cases[i].says, strlen(cases[i].says)) &&
		       (*cases[i].says || !*said) &&
		       (!broken || strstr(said, "\nTry 'prog --help'.\n")),
		       "%s: %.*s", cases[i].words, (int)strcspn(said, "\n"), said);
	}
	table.num_rules = 0;
}

static void test_append(void)
{
	const char *list[2];
	unsigned int num = 0;

	tap_ok(!option_append(&table, "x", "a", list, 2, &num) &&
	       !option_append(&table, "x", "b", list, 2, &num) &&
	       option_append(&table, "x", "c", list, 2, &num) == -EINVAL && num == 2 &&
	       !strcmp(list[1], "b"), "no more words than there is room for");
}

static void test_help(void)
{
	static const char want[] =
		"usage: prog\n"
		"  -f, --flag        a flag\n"
		"  -t, --text TEXT   a text\n"
		"                    of two lines\n"
		"between\n"
		"  -n, --number N    a number\n"
		"      --whole N     a whole one\n"
		"      --large N     a large one\n"
		"      --real X      a real one\n"
		"  -w, --word one|three|on\n"
		"                    a word\n"
		"      --maybe[=N]   with or without\n"
		"      --a-very-long-name [NAME=]VALUE\n"
		"                    that leaves no room\n"
		"  -h, --help        this text\n"
		"  -V, --version     version of the program and the library\n";
	char said[4096];

	tap_ok(parse("--help", said, sizeof(said)) == OPTIONS_DONE && !strcmp(said, want),
	       "--help:\n%s", said);
	tap_ok(parse("-f -V -n 1", said, sizeof(said)) == OPTIONS_DONE &&
	       !strncmp(said, "prog " NPU_VERSION ", libnpu ", strlen("prog " NPU_VERSION ", libnpu ")),
	       "--version: %s", said);
}

int main(void)
{
	test_values();
	test_refused();
	test_rules();
	test_append();
	test_help();
	return tap_done();
}
