/* SPDX-License-Identifier: MIT */
/*
 * The options of a tool as one table: what --help says of each, and what it sets. -h, --help, -V
 * and --version are in every one.
 */
#ifndef NPU_OPTION_TABLE_H
#define NPU_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
	OPTION_LINE,			/* none: a line of the help */
	OPTION_FLAG,			/* a bool, which becomes true */
	OPTION_TEXT,			/* a const char *, which becomes the argument */
	OPTION_NUMBER,			/* an integer of 4 or 8 bytes, from min to max */
	OPTION_REAL,			/* a float */
	OPTION_WORD,			/* an int: which of those in arg, '|' between them */
	OPTION_CALL,			/* take() */
};

/*
 * What an option does that no other kind does: @arg is its argument, or NULL, and @name its own.
 * Returns 0 to go on, OPTIONS_DONE, or -EINVAL after a message.
 */
typedef int option_take_fn(void *options, const char *name, char *arg);

struct option_row {
	enum option_kind kind;
	char letter;			/* of -x; 0: none */
	const char *name;		/* of --name */
	const char *arg;		/* as the help has it; "[=N]" may be left out; NULL: none */
	const char *help;		/* lines, '\n' between them */
	size_t offset, size;		/* of what is set in the tool's struct */
	uint64_t min, max;
	option_take_fn *take;
};

/* What an option has to do with others, without which, or beside which, it would do nothing. */
enum option_relation {
	OPTION_NEEDS,			/* one of them */
	OPTION_NOT_WITH,		/* any of them */
	OPTION_ONLY_WITH,		/* with none but them */
};

struct option_rule {
	const char *option;
	enum option_relation relation;
	const char *others;		/* names, '|' between them */
};

struct option_table {
	const char *program;
	const char *head;		/* of the help: how it is called, and what for */
	const struct option_row *row;	/* [num] */
	unsigned int num;
	const struct option_rule *rule;	/* [num_rules]; the first that is broken is told */
	unsigned int num_rules;
	unsigned int column;		/* where the help of a row begins */
	void (*tail)(void);		/* prints what comes behind it all, or NULL */
	bool words_end;			/* the first word that is no option ends them */
};

/* Rows; OPTIONS is the tool's struct. */
#define OPTION_FIELD(field)	offsetof(OPTIONS, field), sizeof(((OPTIONS *)0)->field)
#define OPT_LINE(help)		{ OPTION_LINE, 0, NULL, NULL, help, 0, 0, 0, 0, NULL }
#define OPT_FLAG(letter, name, field, help) \
	{ OPTION_FLAG, letter, name, NULL, help, OPTION_FIELD(field), 0, 0, NULL }
#define OPT_TEXT(letter, name, arg, field, help) \
	{ OPTION_TEXT, letter, name, arg, help, OPTION_FIELD(field), 0, 0, NULL }
#define OPT_NUMBER(letter, name, arg, field, min, max, help) \
	{ OPTION_NUMBER, letter, name, arg, help, OPTION_FIELD(field), min, max, NULL }
#define OPT_REAL(letter, name, arg, field, help) \
	{ OPTION_REAL, letter, name, arg, help, OPTION_FIELD(field), 0, 0, NULL }
#define OPT_WORD(letter, name, words, field, help) \
	{ OPTION_WORD, letter, name, words, help, OPTION_FIELD(field), 0, 0, NULL }
#define OPT_CALL(letter, name, arg, take, help) \
	{ OPTION_CALL, letter, name, arg, help, 0, 0, 0, 0, take }

/* All is done, as after --help: the program ends well. */
#define OPTIONS_DONE	1

/*
 * Set what @argv says in *@options, in its order; what is left begins at argv[optind]. @seen[num]:
 * which rows were there. Returns 0, OPTIONS_DONE, or -EINVAL after a message on stderr: an option
 * that is not known, an argument that is refused, options that do not go together.
 */
int options_take(const struct option_table *t, void *options, int argc, char **argv, bool *seen);
/* Whether the option of that @name was there; it is one of the table's. */
bool options_seen(const struct option_table *t, const bool *seen, const char *name);
void options_help(const struct option_table *t);

/* "PROGRAM: --NAME ARG: expected WHAT" on stderr; returns -EINVAL. */
int option_refuse(const struct option_table *t, const char *name, const char *arg,
		  const char *what);
/* The number that @arg is, from @min to @max; 0, or -EINVAL after a message. */
int option_number(const struct option_table *t, const char *name, const char *arg, uint64_t min,
		  uint64_t max, uint64_t *value);
/* Behind the @num words at @list, of which there may be @max. */
int option_append(const struct option_table *t, const char *name, const char *arg,
		  const char **list, unsigned int max, unsigned int *num);

#endif
