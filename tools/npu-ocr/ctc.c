// SPDX-License-Identifier: MIT
#include "ocr.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/file.h"

#define DICT_FILE_MAX	(4u << 20)

void ocr_dict_free(struct ocr_dict *dict)
{
	free(dict->entry);
	free(dict->text);
	memset(dict, 0, sizeof(*dict));
}

int ocr_dict_parse(struct ocr_dict *dict, const char *text, size_t len, const char *name,
		   struct npu_error *why)
{
	size_t i, lines = 0;
	char *p, *end;

	memset(dict, 0, sizeof(*dict));
	for (i = 0; i < len; i++)
		lines += text[i] == '\n';
	dict->text = malloc(len + 1);
	/* The blank, an unfinished last line, and the space that the file leaves out. */
	dict->entry = malloc((lines + 3) * sizeof(*dict->entry));
	if (!dict->text || !dict->entry) {
		ocr_dict_free(dict);
		return npu_error_set(why, -ENOMEM, "%s: no memory for %zu characters", name,
				     lines);
	}
	memcpy(dict->text, text, len);
	dict->text[len] = 0;
	dict->entry[dict->count++] = "";
	for (p = dict->text; p < dict->text + len; p = end + 1) {
		end = memchr(p, '\n', (size_t)(dict->text + len - p));
		if (!end)
			end = dict->text + len;
		*end = 0;
		if (end > p && end[-1] == '\r')
			end[-1] = 0;
		dict->entry[dict->count++] = p;
	}
	dict->entry[dict->count++] = " ";
	if (dict->count > 2)
		return 0;
	ocr_dict_free(dict);
	return npu_error_set(why, -EBADMSG, "%s: no characters; one a line is expected", name);
}

int ocr_dict_load(struct ocr_dict *dict, const char *path, struct npu_error *why)
{
	uint8_t *text;
	size_t len;
	int err;

	memset(dict, 0, sizeof(*dict));
	err = npu_file_read(path, DICT_FILE_MAX, &text, &len, why);
	if (err)
		return err;
	err = ocr_dict_parse(dict, (const char *)text, len, path, why);
	free(text);
	return err;
}

static size_t arg_max(const float *v, size_t n)
{
	size_t i, best = 0;

	for (i = 1; i < n; i++)
		if (v[i] > v[best])
			best = i;
	return best;
}

/*
 * The best class of each step is not the best text: a space spreads its probability over several
 * steps, loses to the blank at each of them, and yet is likelier as a whole. So for the blanks
 * between two characters the sum over all ways to place one space among them is weighed against no
 * space. Both are relative to "all blank", so that long gaps do not underflow.
 */
struct ctc_gap {
	double inside;		/* ways in which the space goes on at this step */
	double behind;		/* ways in which it has ended */
};

/*
 * A space is taken from these odds on. Measured on eleven scalings of a straight and of a slanted
 * page: of 1592 spaces in print 7 have less (314 have less than even odds), of 7609 gaps inside
 * words none has more than 0.032.
 */
#define CTC_SPACE_ODDS	0.06

static void gap_step(struct ctc_gap *gap, double blank, double space)
{
	gap->behind += gap->inside;
	gap->inside = (gap->inside + 1) * space / fmax(blank, 1e-30);
}

struct ctc_text {
	char *text;
	size_t used, kept;
	double sum;
};

static void text_put(struct ctc_text *out, const char *entry)
{
	size_t n = strlen(entry);

	memcpy(out->text + out->used, entry, n);
	out->used += n;
}

static int ends_in_space(const struct ctc_text *out)
{
	return !out->used || out->text[out->used - 1] == ' ';
}

int ocr_ctc_decode(const struct ocr_dict *dict, const float *prob, size_t steps, size_t classes,
		   char **text, float *confidence, struct npu_error *why)
{
	size_t t, last = 0, best, room = 1;
	struct ctc_text out = { 0 };
	struct ctc_gap gap = { 0 };

	if (classes != dict->count)
		return npu_error_set(why, -EINVAL, "%zu classes for a dictionary of %zu", classes,
				     dict->count);
	for (t = 0; t < classes; t++)
		room = strlen(dict->entry[t]) > room ? strlen(dict->entry[t]) : room;
	/* One more a step for the spaces. */
	if (__builtin_mul_overflow(room + 1, steps, &room) || !(out.text = malloc(room + 1)))
		return npu_error_set(why, -ENOMEM, "no memory for %zu characters", steps);
	for (t = 0; t < steps; t++, last = best) {
		const float *p = prob + t * classes;

		best = arg_max(p, classes);
		if (!best) {
			gap_step(&gap, (double)p[0], (double)p[classes - 1]);
			continue;
		}
		if (best != last) {
			int space = best == classes - 1;

			if (!space && !ends_in_space(&out) &&
			    gap.inside + gap.behind > CTC_SPACE_ODDS)
				text_put(&out, " ");
			if (!space || out.used)		/* a line does not begin with one */
				text_put(&out, dict->entry[best]);
			out.sum += (double)p[best];
			out.kept++;
		}
		gap = (struct ctc_gap){ 0 };
	}
	while (out.used && out.text[out.used - 1] == ' ')
		out.used--;
	out.text[out.used] = 0;
	*text = out.text;
	*confidence = out.kept ? (float)(out.sum / (double)out.kept) : 0;
	return 0;
}
