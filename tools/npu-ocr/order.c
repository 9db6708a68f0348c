// SPDX-License-Identifier: MIT
/*
 * Reading order: top to bottom, and left to right on a line, also on pages that lie on their side
 * or head.
 */
#include "ocr.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct order_key {
	struct ocr_quad quad;		/* as seen when the page is upright */
	size_t index;
};

static int key_cmp(const void *va, const void *vb)
{
	const struct order_key *a = va, *b = vb;

	if (a->quad.p[0].y != b->quad.p[0].y)
		return a->quad.p[0].y < b->quad.p[0].y ? -1 : 1;
	if (a->quad.p[0].x != b->quad.p[0].x)
		return a->quad.p[0].x < b->quad.p[0].x ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static double height(const struct ocr_quad *q)
{
	return hypot(q->p[0].x - q->p[3].x, q->p[0].y - q->p[3].y);
}

/*
 * On one line when the tops differ by less than half a letter. (The reference takes 10 pixels for
 * every size.)
 */
static int same_line(const struct ocr_quad *a, const struct ocr_quad *b)
{
	return fabs(a->p[0].y - b->p[0].y) < fmin(height(a), height(b)) / 2;
}

static void keys_sort(struct order_key *key, size_t count)
{
	struct order_key t;
	size_t i, j;

	qsort(key, count, sizeof(*key), key_cmp);
	for (i = 1; i < count; i++)
		for (j = i; j > 0; j--) {
			if (!same_line(&key[j - 1].quad, &key[j].quad) ||
			    key[j].quad.p[0].x >= key[j - 1].quad.p[0].x)
				break;
			t = key[j];
			key[j] = key[j - 1];
			key[j - 1] = t;
		}
}

int ocr_boxes_sort(struct ocr_boxes *boxes, struct npu_error *why)
{
	struct order_key *key;
	struct ocr_box *sorted;
	size_t i;

	if (boxes->count < 2)
		return 0;
	key = malloc(boxes->count * sizeof(*key));
	sorted = malloc(boxes->count * sizeof(*sorted));
	if (!key || !sorted) {
		free(key);
		free(sorted);
		return npu_error_set(why, -ENOMEM, "no memory to sort %zu boxes", boxes->count);
	}
	for (i = 0; i < boxes->count; i++)
		key[i] = (struct order_key){ boxes->box[i].quad, i };
	keys_sort(key, boxes->count);
	for (i = 0; i < boxes->count; i++)
		sorted[i] = boxes->box[key[i].index];
	free(key);
	free(boxes->box);
	boxes->box = sorted;
	boxes->room = boxes->count;
	return 0;
}

/* Quarter turns counter-clockwise that make most of the lines upright. */
static int page_turns(const struct ocr_lines *lines)
{
	size_t votes[4] = { 0 }, i;
	int best = 0, k;

	for (i = 0; i < lines->count; i++)
		votes[(lines->line[i].turned ? 1 : 0) + (lines->line[i].flipped ? 2 : 0)]++;
	for (k = 1; k < 4; k++)
		if (votes[k] > votes[best])
			best = k;
	return best;
}

static struct ocr_quad quad_turn(struct ocr_quad quad, int quarters)
{
	int i;

	for (; quarters; quarters--)
		for (i = 0; i < 4; i++)
			quad.p[i] = (struct npu_point){ quad.p[i].y, -quad.p[i].x };
	ocr_quad_order(&quad);
	return quad;
}

int ocr_lines_sort(struct ocr_lines *lines, struct npu_error *why)
{
	int turns = page_turns(lines);
	struct ocr_line *sorted;
	struct order_key *key;
	size_t i;

	if (!turns || lines->count < 2)		/* boxes were in order already */
		return 0;
	key = malloc(lines->count * sizeof(*key));
	sorted = malloc(lines->count * sizeof(*sorted));
	if (!key || !sorted) {
		free(key);
		free(sorted);
		return npu_error_set(why, -ENOMEM, "no memory to sort %zu lines", lines->count);
	}
	for (i = 0; i < lines->count; i++)
		key[i] = (struct order_key){ quad_turn(lines->line[i].box.quad, turns), i };
	keys_sort(key, lines->count);
	for (i = 0; i < lines->count; i++)
		sorted[i] = lines->line[key[i].index];
	free(key);
	free(lines->line);
	lines->line = sorted;
	return 0;
}
