// SPDX-License-Identifier: MIT
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "npu.h"
#include "tools/common/option_table.h"

#define FIRST_LONG	256		/* what getopt_long() calls row 0 */
#define MAX_ROWS	96

static const struct option_row always[] = {
	OPT_CALL('h', "help", NULL, NULL, "this text"),
	OPT_CALL('V', "version", NULL, NULL, "version of the program and the library"),
};
#define NUM_ALWAYS	2u

static const struct option_row *row_at(const struct option_table *t, unsigned int i)
{
	return i < t->num ? &t->row[i] : &always[i - t->num];
}

/* It may come without its argument. */
static bool is_optional(const struct option_row *r)
{
	return r->arg && !strncmp(r->arg, "[=", 2);
}

/* ---- help ---- */

static void print_row(const struct option_table *t, const struct option_row *r)
{
	const char *line = r->help, *end;
	int at = printf(r->letter ? "  -%c, " : "      ", r->letter);

	at += printf("--%s", r->name);
	if (r->arg)
		at += printf("%s%s", is_optional(r) ? "" : " ", r->arg);
	if (at >= (int)t->column) {
		putchar('\n');
		at = 0;
	}
	for (; line; line = end ? end + 1 : NULL, at = 0) {
		end = strchr(line, '\n');
		printf("%*s%.*s\n", (int)t->column - at, "",
		       end ? (int)(end - line) : (int)strlen(line), line);
	}
}

void options_help(const struct option_table *t)
{
	unsigned int i;

	fputs(t->head, stdout);
	for (i = 0; i < t->num + NUM_ALWAYS; i++)
		if (row_at(t, i)->kind == OPTION_LINE)
			puts(row_at(t, i)->help);
		else
			print_row(t, row_at(t, i));
	if (t->tail)
		t->tail();
}

/* ---- arguments ---- */

int option_refuse(const struct option_table *t, const char *name, const char *arg,
		  const char *what)
{
	fprintf(stderr, "%s: --%s %s: expected %s\n", t->program, name, arg, what);
	return -EINVAL;
}

int option_number(const struct option_table *t, const char *name, const char *arg, uint64_t min,
		  uint64_t max, uint64_t *value)
{
	bool is_number, above;
	char what[80], *end;

	errno = 0;
	*value = strtoull(arg, &end, 10);
	is_number = *arg >= '0' && *arg <= '9' && !*end;
	above = is_number && (errno == ERANGE || *value > max);
	if (is_number && !above && *value >= min)
		return 0;
	/* That a field has 32 bits is of interest to whom they are too few. */
	if (max == UINT32_MAX && !above)
		snprintf(what, sizeof(what), "a number from %llu on", (unsigned long long)min);
	else
		snprintf(what, sizeof(what), "a number from %llu to %llu", (unsigned long long)min,
			 (unsigned long long)max);
	return option_refuse(t, name, arg, what);
}

int option_append(const struct option_table *t, const char *name, const char *arg,
		  const char **list, unsigned int max, unsigned int *num)
{
	if (*num < max) {
		list[(*num)++] = arg;
		return 0;
	}
	fprintf(stderr, "%s: more than %u --%s options\n", t->program, max, name);
	return -EINVAL;
}

static int set_number(const struct option_table *t, const struct option_row *r, const char *arg,
		      void *field)
{
	uint64_t value;
	uint32_t small;
	int ret = option_number(t, r->name, arg, r->min, r->max, &value);

	assert(r->size == sizeof(value) || (r->size == sizeof(small) && r->max <= UINT32_MAX));
	if (ret)
		return ret;
	small = (uint32_t)value;
	memcpy(field, r->size == sizeof(small) ? (void *)&small : &value, r->size);
	return 0;
}

static int set_real(const struct option_table *t, const struct option_row *r, const char *arg,
		    float *field)
{
	char *end;

	errno = 0;
	*field = strtof(arg, &end);
	return !errno && end != arg && !*end && isfinite(*field) ? 0 :
	       option_refuse(t, r->name, arg, "a number");
}

static int set_word(const struct option_table *t, const struct option_row *r, const char *arg,
		    int *field)
{
	size_t len = strlen(arg), n;
	const char *word = r->arg;
	int i;

	for (i = 0; *word; i++, word += n + (word[n] == '|')) {
		n = strcspn(word, "|");
		if (n != len || memcmp(word, arg, n))
			continue;
		*field = i;
		return 0;
	}
	return option_refuse(t, r->name, arg, r->arg);
}

static int apply(const struct option_table *t, const struct option_row *r, void *options, char *arg)
{
	void *field = (char *)options + r->offset;

	switch (r->kind) {
	case OPTION_FLAG: *(bool *)field = true; return 0;
	case OPTION_TEXT: *(const char **)field = arg; return 0;
	case OPTION_NUMBER: return set_number(t, r, arg, field);
	case OPTION_REAL: return set_real(t, r, arg, field);
	case OPTION_WORD: return set_word(t, r, arg, field);
	default: break;
	}
	if (r->take)
		return r->take(options, r->name, arg);
	if (r == &always[0])
		options_help(t);
	else
		printf("%s %s, libnpu %s\n", t->program, NPU_VERSION, npu_version());
	return OPTIONS_DONE;
}

/* ---- getopt's own tables ---- */

/* Which row it is that getopt_long() calls @c. */
static unsigned int row_of(const struct option_table *t, int c)
{
	unsigned int i;

	for (i = 0; c < FIRST_LONG && row_at(t, i)->letter != c; i++)
		;
	return c < FIRST_LONG ? i : (unsigned int)c - FIRST_LONG;
}

/* @letters: '+', two bytes for each row, and the end. */
static void make_tables(const struct option_table *t, struct option *names, char *letters)
{
	const struct option_row *r;
	unsigned int i;

	if (t->words_end)
		*letters++ = '+';
	for (i = 0; i < t->num + NUM_ALWAYS; i++) {
		r = row_at(t, i);
		if (r->name)
			*names++ = (struct option){ r->name, is_optional(r) ? optional_argument :
						    r->arg ? required_argument : no_argument,
						    NULL, FIRST_LONG + (int)i };
		if (r->letter)
			*letters++ = r->letter;
		if (r->letter && r->arg)
			*letters++ = ':';
	}
	*names = (struct option){ 0 };
	*letters = 0;
}

/* ---- what goes together ---- */

/* Is @name one of the words of @others? */
static bool is_among(const char *others, const char *name)
{
	size_t len = strlen(name), n;

	for (; *others; others += n + (others[n] == '|')) {
		n = strcspn(others, "|");
		if (n == len && !memcmp(others, name, n))
			return true;
	}
	return false;
}

static int refuse_alone(const struct option_table *t, const struct option_rule *rule)
{
	const char *p = rule->others, *between = " needs";
	size_t n;

	fprintf(stderr, "%s: --%s", t->program, rule->option);
	for (; *p; p += n + (p[n] == '|'), between = p[strcspn(p, "|")] ? "," : " or") {
		n = strcspn(p, "|");
		fprintf(stderr, "%s --%.*s", between, (int)n, p);
	}
	fprintf(stderr, "\nTry '%s --help'.\n", t->program);
	return -EINVAL;
}

static int check_rule(const struct option_table *t, const struct option_rule *rule,
		      const bool *seen)
{
	bool listed, found = false;
	unsigned int i;

	if (!options_seen(t, seen, rule->option))
		return 0;
	for (i = 0; i < t->num; i++) {
		if (!seen[i] || !t->row[i].name || !strcmp(t->row[i].name, rule->option))
			continue;
		listed = is_among(rule->others, t->row[i].name);
		found = found || listed;
		if (rule->relation == OPTION_NEEDS ||
		    listed != (rule->relation == OPTION_NOT_WITH))
			continue;
		fprintf(stderr, "%s: --%s does not go with --%s\nTry '%s --help'.\n", t->program,
			t->row[i].name, rule->option, t->program);
		return -EINVAL;
	}
	return found || rule->relation != OPTION_NEEDS ? 0 : refuse_alone(t, rule);
}

int options_take(const struct option_table *t, void *options, int argc, char **argv, bool *seen)
{
	struct option names[MAX_ROWS + 1];
	char letters[2 * MAX_ROWS + 2];
	unsigned int i;
	int c, ret;

	assert(t->num + NUM_ALWAYS <= MAX_ROWS);
	make_tables(t, names, letters);
	while ((c = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		if (c == '?') {
			fprintf(stderr, "Try '%s --help'.\n", t->program);
			return -EINVAL;
		}
		i = row_of(t, c);
		ret = apply(t, row_at(t, i), options, optarg);
		if (ret)
			return ret;
		seen[i] = true;
	}
	for (i = 0, ret = 0; i < t->num_rules && !ret; i++)
		ret = check_rule(t, &t->rule[i], seen);
	return ret;
}

bool options_seen(const struct option_table *t, const bool *seen, const char *name)
{
	unsigned int i;

	for (i = 0; i < t->num; i++)
		if (t->row[i].name && !strcmp(t->row[i].name, name))
			return seen[i];
	assert(!"an option of the table");
	return false;
}
