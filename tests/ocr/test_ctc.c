// SPDX-License-Identifier: MIT
#include "tap.h"

#include <errno.h>
#include <math.h>

#include "tools/npu-ocr/ocr.h"

#define CLASSES	6	/* blank, a, b, two-byte letter, three-byte letter, space */

static const char keys[] = "a\nb\n\xc3\xa4\n\xe6\x96\x87\n";

/*
 * One letter a step: '_' blank, 'a', 'b', 'u' (2 bytes), 'k' (3 bytes), ' '. The best class gets
 * 0.9.
 */
static void fill(float *prob, const char *steps)
{
	static const char letters[] = "_abuk ";
	size_t t, c;

	for (t = 0; steps[t]; t++)
		for (c = 0; c < CLASSES; c++)
			prob[t * CLASSES + c] = letters[c] == steps[t] ? 0.9f : 0.02f;
	/* Noise must not look like a hidden space. */
	for (t = 0; steps[t]; t++)
		if (steps[t] != ' ')
			prob[t * CLASSES + CLASSES - 1] = 0.001f;
}

static void check(const struct ocr_dict *dict, const char *steps, const char *expect)
{
	float prob[64 * CLASSES], confidence = -1;
	char *text = NULL;
	int err;

	fill(prob, steps);
	err = ocr_ctc_decode(dict, prob, strlen(steps), CLASSES, &text, &confidence, NULL);
	tap_ok(!err && !strcmp(text, expect) && fabsf(confidence - (*expect ? 0.9f : 0)) < 1e-6f,
	       "\"%s\" reads \"%s\" (got \"%s\", %.3f)", steps, expect, text ? text : "",
	       (double)confidence);
	free(text);
}

/*
 * Oracle: go through all paths of blank/space over a gap and add up those that have exactly one run
 * of spaces. The decoder must put a space exactly when that sum is more than 0.06 of the all-blank
 * path.
 */
static double gap_odds(const float *space, const float *blank, int n)
{
	double one = 0, none = 1;
	int mask, i;

	for (i = 0; i < n; i++)
		none *= (double)blank[i];
	for (mask = 1; mask < 1 << n; mask++) {
		double p = 1;
		int runs = 0;

		for (i = 0; i < n; i++) {
			p *= (double)(mask >> i & 1 ? space[i] : blank[i]);
			runs += (mask >> i & 1) && !(i && (mask >> (i - 1) & 1));
		}
		if (runs == 1)
			one += p;
	}
	return one / none;
}

static void test_gaps(const struct ocr_dict *dict)
{
	int i, k, n, wrong = 0, with = 0, cases = 2000;
	uint32_t seed = 1;

	for (i = 0; i < cases; i++) {
		float prob[10 * CLASSES] = { 0 }, space[8], blank[8], confidence;
		char *text;
		double odds;

		seed = seed * 1664525u + 1013904223u;
		n = 1 + (int)(seed >> 24) % 8;
		prob[1] = prob[(n + 1) * CLASSES + 2] = 1;
		for (k = 0; k < n; k++) {
			seed = seed * 1664525u + 1013904223u;
			space[k] = (float)(seed >> 16) / 65536.0f * (i % 3 ? 0.025f : 0.45f);
			blank[k] = 1 - space[k];
			prob[(k + 1) * CLASSES] = blank[k];
			prob[(k + 1) * CLASSES + CLASSES - 1] = space[k];
		}
		odds = gap_odds(space, blank, n);
		if (fabs(odds - 0.06) < 1e-5)
			continue;
		if (ocr_ctc_decode(dict, prob, (size_t)n + 2, CLASSES, &text, &confidence, NULL))
			abort();
		wrong += strcmp(text, odds > 0.06 ? "a b" : "ab") != 0;
		with += odds > 0.06;
		free(text);
	}
	tap_ok(!wrong, "%d gaps: a space where all paths together say so (%d times), %d wrong",
	       cases, with, wrong);
	tap_ok(with > cases / 10 && with < cases * 9 / 10, "both outcomes were met");
}

static void test_dict(void)
{
	struct npu_error why = { 0 };
	struct ocr_dict dict;

	tap_ok(!ocr_dict_parse(&dict, "x\r\ny\r\nz", 7, "d", &why) && dict.count == 5 &&
		       !strcmp(dict.entry[0], "") && !strcmp(dict.entry[1], "x") &&
		       !strcmp(dict.entry[3], "z") && !strcmp(dict.entry[4], " "),
	       "a dictionary with CRLF and no newline at the end");
	ocr_dict_free(&dict);
	tap_ok(ocr_dict_parse(&dict, "", 0, "empty.txt", &why) == -EBADMSG &&
		       strstr(why.text, "empty.txt"),
	       "an empty dictionary is refused: %s", why.text);
	tap_ok(ocr_dict_load(&dict, "/proc/nonexistent/keys", &why) == -ENOENT &&
		       strstr(why.text, "/proc/nonexistent/keys"),
	       "a missing one is named: %s", why.text);
}

int main(void)
{
	struct npu_error why = { 0 };
	struct ocr_dict dict;
	float prob[CLASSES] = { 0 }, confidence;
	char *text;

	tap_ok(!ocr_dict_parse(&dict, keys, sizeof(keys) - 1, "keys", NULL) &&
		       dict.count == CLASSES,
	       "the dictionary has a blank before and a space behind");
	check(&dict, "_aa_ab__b_", "aabb");
	check(&dict, "aaaa", "a");
	check(&dict, "a_a", "aa");
	check(&dict, "____", "");
	check(&dict, "u_k_u", "\xc3\xa4\xe6\x96\x87\xc3\xa4");
	check(&dict, "a b", "a b");
	check(&dict, "a_ _b", "a b");
	check(&dict, "aba", "aba");
	/* Spaces at the ends are trimmed; their steps count in the confidence. */
	check(&dict, " a ", "a");
	tap_ok(!ocr_ctc_decode(&dict, prob, 0, CLASSES, &text, &confidence, NULL) && !*text &&
		       confidence == 0,
	       "no steps give no text");
	free(text);
	tap_ok(ocr_ctc_decode(&dict, prob, 1, CLASSES - 1, &text, &confidence, &why) == -EINVAL,
	       "another number of classes is refused: %s", why.text);
	test_gaps(&dict);
	test_dict();
	ocr_dict_free(&dict);
	return tap_done();
}
