// SPDX-License-Identifier: MIT
#include <string.h>
#include "llm/pretokenizer.h"
#include "llm/unicode.h"

/* ---- parts of the rules ---- */

static bool is(const struct pre_text *t, size_t at, size_t end, unsigned int groups)
{
	return at < end && t->group[at] & groups;
}

/* Characters from @at on that are in @groups. */
static size_t run(const struct pre_text *t, size_t at, size_t end, unsigned int groups)
{
	size_t i = at;

	while (is(t, i, end, groups))
		i++;
	return i - at;
}

/* Those that are in none of them. */
static size_t run_other(const struct pre_text *t, size_t at, size_t end, unsigned int groups)
{
	size_t i = at;

	while (i < end && !(t->group[i] & groups))
		i++;
	return i - at;
}

static bool is_newline(uint32_t c)
{
	return c == '\r' || c == '\n';
}

static uint32_t fold(uint32_t c, bool any_case)
{
	return any_case && c - 'A' < 26 ? c + 32 : c;
}

/* 's 't 'm 'd 're 've 'll */
static size_t contraction(const struct pre_text *t, size_t at, size_t end, bool any_case)
{
	uint32_t a, b;

	if (at + 1 >= end || t->c[at] != '\'')
		return 0;
	a = fold(t->c[at + 1], any_case);
	if (a == 's' || a == 't' || a == 'm' || a == 'd')
		return 2;
	if (at + 2 >= end)
		return 0;
	b = fold(t->c[at + 2], any_case);
	return ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

/* A run of @groups, a space before it being part of it. */
static size_t spaced_run(const struct pre_text *t, size_t at, size_t end, unsigned int groups)
{
	size_t space = t->c[at] == ' ', n = run(t, at + space, end, groups);

	return n ? space + n : 0;
}

/* The same of characters in none of @groups. */
static size_t spaced_other(const struct pre_text *t, size_t at, size_t end, unsigned int groups)
{
	size_t space = t->c[at] == ' ', n = run_other(t, at + space, end, groups);

	return n ? space + n : 0;
}

/* White space; the last of it goes with the word behind it. */
static size_t spaces(const struct pre_text *t, size_t at, size_t end)
{
	size_t n = run(t, at, end, UC_SPACE);

	return n > 1 && at + n < end ? n - 1 : n;
}

/* White space up to the last line's end in it. */
static size_t lines(const struct pre_text *t, size_t at, size_t end)
{
	size_t n = run(t, at, end, UC_SPACE);

	while (n && !is_newline(t->c[at + n - 1]))
		n--;
	return n;
}

static bool is_cjk_or_kana(uint32_t c)
{
	return (c >= 0x4e00 && c <= 0x9fa5) || (c >= 0x3040 && c <= 0x30ff);
}

/* Letters with one character before them that is neither of @not_before nor the end of a line. */
static size_t prefixed_letters(const struct pre_text *t, size_t at, size_t end,
			       unsigned int letters, unsigned int not_before)
{
	size_t before = !(t->group[at] & not_before) && !is_newline(t->c[at]), n;

	n = run(t, at + before, end, letters);
	if (n)
		return before + n;
	return before ? run(t, at, end, letters) : 0;
}

/* ---- GPT-2 and what is built on it ---- */

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
static size_t gpt2(const struct pre_text *t, size_t at, size_t end)
{
	size_t n = contraction(t, at, end, false);

	if (!n)
		n = spaced_run(t, at, end, UC_L);
	if (!n)
		n = spaced_run(t, at, end, UC_N);
	if (!n)
		n = spaced_other(t, at, end, UC_SPACE | UC_L | UC_N);
	return n ? n : spaces(t, at, end);
}

static size_t number(const struct pre_text *t, size_t at, size_t end)
{
	return is(t, at, end, UC_N);
}

static size_t numbers(const struct pre_text *t, size_t at, size_t end)
{
	return run(t, at, end, UC_N);
}

/* \p{N}{1,3} */
static size_t numbers_3(const struct pre_text *t, size_t at, size_t end)
{
	return run(t, at, at + 3 < end ? at + 3 : end, UC_N);
}

/* [0-9][0-9][0-9] */
static size_t digits_3(const struct pre_text *t, size_t at, size_t end)
{
	size_t i;

	for (i = 0; i < 3; i++)
		if (at + i >= end || t->c[at + i] - '0' > 9)
			return 0;
	return 3;
}

static size_t punctuation(const struct pre_text *t, size_t at, size_t end, const char *more)
{
	size_t i = at;

	while (i < end && (t->group[i] & UC_P ||
			   (t->c[i] && t->c[i] < 0x80 && strchr(more, (int)t->c[i]))))
		i++;
	return i - at;
}

/* [\p{P}\$\+<=>\^~\|]+ */
static size_t punctuation_default(const struct pre_text *t, size_t at, size_t end)
{
	return punctuation(t, at, end, "$+<=>^~|");
}

static size_t punctuation_falcon(const struct pre_text *t, size_t at, size_t end)
{
	return punctuation(t, at, end, "$+<=>^~|`");
}

/* ---- Llama 3, Qwen 2 and their relatives ---- */

struct rules {
	unsigned int letters, digits;
	bool contractions, lines_after;
};

/*
 * (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
 * \s*[\r\n]+|\s+(?!\S)|\s+
 */
static size_t by_rules(const struct pre_text *t, size_t at, size_t end, const struct rules *r)
{
	size_t n = r->contractions ? contraction(t, at, end, true) : 0;

	if (!n)
		n = prefixed_letters(t, at, end, r->letters, UC_L | UC_N);
	if (!n)
		n = run(t, at, at + r->digits < end ? at + r->digits : end, UC_N);
	if (n)
		return n;
	n = spaced_other(t, at, end, UC_SPACE | r->letters | UC_N);
	while (n && r->lines_after && at + n < end && is_newline(t->c[at + n]))
		n++;
	if (!n)
		n = lines(t, at, end);
	return n ? n : spaces(t, at, end);
}

static size_t llama3(const struct pre_text *t, size_t at, size_t end)
{
	static const struct rules rules = { UC_L, 3, true, true };

	return by_rules(t, at, end, &rules);
}

static size_t qwen2(const struct pre_text *t, size_t at, size_t end)
{
	static const struct rules rules = { UC_L, 1, true, true };

	return by_rules(t, at, end, &rules);
}

static size_t qwen35(const struct pre_text *t, size_t at, size_t end)
{
	static const struct rules rules = { UC_L | UC_M, 1, true, true };

	return by_rules(t, at, end, &rules);
}

static size_t seed_coder(const struct pre_text *t, size_t at, size_t end)
{
	static const struct rules rules = { UC_L, 1, true, false };

	return by_rules(t, at, end, &rules);
}

/* ---- words of upper case, then lower case: Tekken, GPT-4o ---- */

#define UPPER	(UC_LU | UC_LT | UC_LM | UC_LO | UC_M)
#define LOWER	(UC_LL | UC_LM | UC_LO | UC_M)

/* UPPER*LOWER+: as many as there are of the first that leave one for the second. */
static size_t upper_lower(const struct pre_text *t, size_t at, size_t end)
{
	size_t i = at + run(t, at, end, UPPER);

	while (!is(t, i, end, LOWER)) {
		if (i == at)
			return 0;
		i--;
	}
	return i - at + run(t, i, end, LOWER);
}

/* UPPER+LOWER* */
static size_t upper(const struct pre_text *t, size_t at, size_t end)
{
	size_t n = run(t, at, end, UPPER);

	return n ? n + run(t, at + n, end, LOWER) : 0;
}

/* Each of the two with one character before it if it can be, and the first rather. */
static size_t cased_word(const struct pre_text *t, size_t at, size_t end)
{
	size_t before = !(t->group[at] & (UC_L | UC_N)) && !is_newline(t->c[at]), n;

	n = before ? upper_lower(t, at + 1, end) : 0;
	if (n)
		return n + 1;
	n = upper_lower(t, at, end);
	if (n)
		return n;
	n = before ? upper(t, at + 1, end) : 0;
	return n ? n + 1 : upper(t, at, end);
}

static size_t after_word(const struct pre_text *t, size_t at, size_t end, unsigned int digits)
{
	size_t n = run(t, at, at + digits < end ? at + digits : end, UC_N);

	if (n)
		return n;
	n = spaced_other(t, at, end, UC_SPACE | UC_L | UC_N);
	while (n && at + n < end && (is_newline(t->c[at + n]) || t->c[at + n] == '/'))
		n++;
	if (!n)
		n = lines(t, at, end);
	return n ? n : spaces(t, at, end);
}

static size_t tekken(const struct pre_text *t, size_t at, size_t end)
{
	size_t n = cased_word(t, at, end);

	return n ? n : after_word(t, at, end, 1);
}

static size_t gpt4o(const struct pre_text *t, size_t at, size_t end)
{
	size_t n = cased_word(t, at, end);

	return n ? n + contraction(t, at + n, end, true) : after_word(t, at, end, 3);
}

/* ---- DeepSeek ---- */

/* [一-龥぀-ゟ゠-ヿ]+ */
static size_t cjk_or_kana(const struct pre_text *t, size_t at, size_t end)
{
	size_t i = at;

	while (i < end && is_cjk_or_kana(t->c[i]))
		i++;
	return i - at;
}

static bool is_ascii_letter(uint32_t c)
{
	return (c | 32) - 'a' < 26;
}

/*
 * [ASCII punctuation][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|
 * \s*[\r\n]+|\s+(?!\S)|\s+
 */
static size_t deepseek3(const struct pre_text *t, size_t at, size_t end)
{
	size_t n = 1;

	if (t->c[at] < 0x80 && t->group[at] & (UC_P | UC_S)) {
		while (at + n < end && is_ascii_letter(t->c[at + n]))
			n++;
		if (n > 1)
			return n;
	}
	n = prefixed_letters(t, at, end, UC_L | UC_M, UC_L | UC_P | UC_S);
	if (n)
		return n;
	n = spaced_run(t, at, end, UC_P | UC_S);
	while (n && at + n < end && is_newline(t->c[at + n]))
		n++;
	if (!n)
		n = lines(t, at, end);
	return n ? n : spaces(t, at, end);
}

/* ---- BLOOM ---- */

/* A space and what is no space nor one of (|.,!?…。，、।۔) */
static size_t bloom(const struct pre_text *t, size_t at, size_t end)
{
	static const uint32_t stops[] = { '(',	  '|',	  '.',	  ',',	  '!',	 '?',	')',
					  0x2026, 0x3002, 0xff0c, 0x3001, 0x964, 0x6d4, 0x60c };
	size_t space = t->c[at] == ' ', i, k;

	for (i = at + space; i < end && !(t->group[i] & UC_SPACE); i++) {
		for (k = 0; k < sizeof(stops) / sizeof(*stops); k++)
			if (t->c[i] == stops[k])
				break;
		if (k < sizeof(stops) / sizeof(*stops))
			break;
	}
	return i > at + space ? i - at : 0;
}

/* ---- the table ---- */

static const struct pretokenizer table[] = {
	{ "default", { punctuation_default, gpt2, numbers, digits_3 }, false, false },
	{ "gpt-2", { gpt2 }, false, false },
	{ "phi-2", { gpt2 }, false, false },
	{ "mpt", { gpt2 }, false, false },
	{ "olmo", { gpt2 }, false, false },
	{ "jais", { gpt2 }, false, false },
	{ "exaone4", { gpt2 }, false, false },
	{ "trillion", { gpt2 }, false, false },
	{ "gigachat", { gpt2 }, false, false },
	{ "modern-bert", { gpt2 }, false, false },
	{ "roberta-bpe", { gpt2 }, false, false },
	{ "falcon", { punctuation_falcon, gpt2, digits_3 }, false, false },
	{ "starcoder", { number, gpt2 }, false, false },
	{ "refact", { number, gpt2 }, false, false },
	{ "command-r", { number, gpt2 }, false, false },
	{ "smollm", { number, gpt2 }, false, false },
	{ "codeshell", { number, gpt2 }, false, false },
	{ "exaone", { number, gpt2 }, false, false },
	{ "minerva-7b", { number, gpt2 }, false, false },
	{ "llama3", { llama3 }, true, true },
	{ "llama-v3", { llama3 }, true, true },
	{ "llama-bpe", { llama3 }, true, true },
	{ "falcon3", { llama3 }, true, true },
	{ "falcon-h1", { llama3 }, true, true },
	{ "pixtral", { llama3 }, true, true },
	{ "lfm2", { llama3 }, true, true },
	{ "dbrx", { llama3 }, false, false },
	{ "smaug-bpe", { llama3 }, false, false },
	{ "chatglm-bpe", { llama3 }, false, false },
	{ "glm4", { llama3 }, false, false },
	{ "qwen2", { qwen2 }, false, false },
	{ "deepseek-r1-qwen", { qwen2 }, false, false },
	{ "stablelm2", { qwen2 }, false, false },
	{ "hunyuan", { qwen2 }, false, false },
	{ "megrez", { qwen2 }, false, false },
	{ "grok-2", { qwen2 }, false, false },
	{ "qwen35", { qwen35 }, false, false },
	{ "seed-coder", { seed_coder }, false, false },
	{ "tekken", { tekken }, true, true },
	{ "gpt-4o", { gpt4o }, false, false },
	{ "llama4", { gpt4o }, false, false },
	{ "deepseek-v3", { numbers_3, cjk_or_kana, deepseek3 }, false, false },
	{ "hunyuan-dense", { numbers_3, cjk_or_kana, deepseek3 }, false, false },
	{ "bloom", { bloom }, false, false },
	{ "poro-chat", { bloom }, false, false },
	{ "gpt3-finnish", { bloom }, false, false },
	{ "viking", { bloom, number }, false, false },
};

#define NUM	(sizeof(table) / sizeof(table[0]))

const struct pretokenizer *pretokenizer_at(size_t i)
{
	return i < NUM ? &table[i] : NULL;
}

const struct pretokenizer *pretokenizer_find(const char *name)
{
	size_t i;

	if (!*name)
		return &table[0];
	for (i = 0; i < NUM; i++)
		if (!strcmp(name, table[i].name))
			return &table[i];
	return NULL;
}

/* What lies between two words that match is a word too. */
static void cut_piece(pre_match match, const struct pre_text *t, size_t at, size_t end,
		      uint8_t *cut)
{
	size_t n;

	while (at < end) {
		n = match(t, at, end);
		if (!n) {
			at++;
			continue;
		}
		cut[at] = 1;
		at += n;
		if (at < end)
			cut[at] = 1;
	}
}

void pretokenizer_cut(const struct pretokenizer *pre, const struct pre_text *t, size_t num,
		      uint8_t *cut)
{
	size_t stage, at, end;

	if (!num)
		return;
	cut[0] = 1;
	for (stage = 0; stage < 4 && pre->stages[stage]; stage++) {
		for (at = 0; at < num; at = end) {
			for (end = at + 1; end < num && !cut[end]; end++)
				;
			cut_piece(pre->stages[stage], t, at, end, cut);
		}
	}
}
