// SPDX-License-Identifier: MIT
/*
 * Differentiable binarization's post-processing: connected groups of text pixels become rotated
 * rectangles, those that are likely enough grow back to the text's full height.
 *
 * The reference walks contours; all that it takes from one is its convex hull. So groups are built
 * here from runs of pixels in a row, and the ends of the runs go into the hull. Like the reference,
 * the rim of a hole in a group is an outline of its own.
 */
#include "ocr.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNCLIP_POINTS	4096

struct db_run {
	int y, x0, x1;		/* both ends inside */
	uint32_t parent;	/* union-find over the runs */
};

struct db_runs {
	struct db_run *run;
	size_t count, room;
};

struct db_points {
	struct npu_point *at;
	size_t count, room;
};

struct db_map {
	const float *prob;
	int width, height, img_width, img_height;
	struct ocr_db_options opt;
	struct ocr_boxes *boxes;
};

void ocr_db_options_default(struct ocr_db_options *opt)
{
	*opt = (struct ocr_db_options){
		.bin_thresh = 0.3f, .box_thresh = 0.6f, .unclip = 1.5f, .min_side = 3
	};
}

static int grow(void **array, size_t *room, size_t want, size_t size)
{
	size_t n = *room ? *room : 256, bytes;
	void *p;

	if (want <= *room)
		return 0;
	while (n < want)
		if (__builtin_mul_overflow(n, 2, &n))
			return -ENOMEM;
	if (__builtin_mul_overflow(n, size, &bytes))
		return -ENOMEM;
	p = realloc(*array, bytes);
	if (!p)
		return -ENOMEM;
	*array = p;
	*room = n;
	return 0;
}

int ocr_boxes_add(struct ocr_boxes *boxes, const struct ocr_box *box)
{
	if (grow((void **)&boxes->box, &boxes->room, boxes->count + 1, sizeof(*box)))
		return -ENOMEM;
	boxes->box[boxes->count++] = *box;
	return 0;
}

void ocr_boxes_free(struct ocr_boxes *boxes)
{
	free(boxes->box);
	memset(boxes, 0, sizeof(*boxes));
}

static int points_add(struct db_points *pts, int x, int y)
{
	if (grow((void **)&pts->at, &pts->room, pts->count + 1, sizeof(*pts->at)))
		return -ENOMEM;
	pts->at[pts->count++] = (struct npu_point){ x, y };
	return 0;
}

static uint32_t run_root(struct db_run *run, uint32_t i)
{
	while (run[i].parent != i) {
		run[i].parent = run[run[i].parent].parent;
		i = run[i].parent;
	}
	return i;
}

static void run_join(struct db_run *run, uint32_t a, uint32_t b)
{
	a = run_root(run, a);
	b = run_root(run, b);
	if (a < b)
		run[b].parent = a;
	else
		run[a].parent = b;
}

static int is_text(const struct db_map *map, int x, int y)
{
	return x >= 0 && y >= 0 && x < map->width && y < map->height &&
	       map->prob[(size_t)y * (size_t)map->width + (size_t)x] > map->opt.bin_thresh;
}

/*
 * Cut every row into runs of text (@text 1) or of background (0) and join runs that touch the row
 * above: text also over corners (@text is also the reach), background over sides only.
 */
static int runs_make(const struct db_map *map, int text, struct db_runs *runs)
{
	size_t above = 0, here = 0, i;
	int x, y, x0;

	for (y = 0; y < map->height; y++) {
		above = here;
		here = runs->count;
		for (x = 0; x < map->width; x++) {
			if (is_text(map, x, y) != text)
				continue;
			for (x0 = x; x + 1 < map->width && is_text(map, x + 1, y) == text; x++)
				;
			if (grow((void **)&runs->run, &runs->room, runs->count + 1,
				 sizeof(*runs->run)))
				return -ENOMEM;
			runs->run[runs->count] = (struct db_run){ y, x0, x, (uint32_t)runs->count };
			runs->count++;
		}
		for (i = here; i < runs->count; i++) {
			while (above < here && runs->run[above].x1 + text < runs->run[i].x0)
				above++;
			for (size_t j = above;
			     j < here && runs->run[j].x0 <= runs->run[i].x1 + text; j++)
				run_join(runs->run, (uint32_t)i, (uint32_t)j);
		}
	}
	return 0;
}

/*
 * Columns that row @y of the quad covers, edges included, clipped to the map; 0 when none. The
 * outline takes in every pixel that an edge passes, so each row looks half a pixel up and down.
 */
static int quad_span(const struct npu_point q[4], int y, int width, int *x0, int *x1)
{
	double lo = INFINITY, hi = -INFINITY;
	int i;

	for (i = 0; i < 4; i++) {
		struct npu_point a = q[i], b = q[(i + 1) % 4];
		double t0 = 0, t1 = 1, dy = b.y - a.y;

		if (dy != 0) {
			double ta = (y - 0.5 - a.y) / dy, tb = (y + 0.5 - a.y) / dy;

			t0 = fmax(t0, fmin(ta, tb));
			t1 = fmin(t1, fmax(ta, tb));
		} else if (a.y != y) {
			continue;
		}
		if (t0 > t1)
			continue;
		lo = fmin(lo, fmin(a.x + t0 * (b.x - a.x), a.x + t1 * (b.x - a.x)));
		hi = fmax(hi, fmax(a.x + t0 * (b.x - a.x), a.x + t1 * (b.x - a.x)));
	}
	if (lo > hi)
		return 0;
	*x0 = (int)fmax(floor(lo + 0.5), 0);
	*x1 = (int)fmin(floor(hi + 0.5), width - 1);
	return *x0 <= *x1;
}

/*
 * Mean probability inside the quad; its corners are cut to whole pixels first, as in the reference.
 */
static float quad_score(const struct db_map *map, const struct npu_point quad[4])
{
	double sum = 0, xmin = INFINITY, ymin = INFINITY, ymax = -INFINITY;
	struct npu_point q[4];
	size_t n = 0;
	int i, x, y, x0, x1;

	for (i = 0; i < 4; i++) {
		xmin = fmin(xmin, quad[i].x);
		ymin = fmin(ymin, quad[i].y);
	}
	xmin = fmin(fmax(floor(xmin), 0), map->width - 1);
	ymin = fmin(fmax(floor(ymin), 0), map->height - 1);
	for (i = 0; i < 4; i++) {
		q[i].x = xmin + trunc(quad[i].x - xmin);
		q[i].y = ymin + trunc(quad[i].y - ymin);
		ymax = fmax(ymax, q[i].y);
	}
	for (y = (int)ymin; y <= fmin(ymax, map->height - 1); y++) {
		const float *row = map->prob + (size_t)y * (size_t)map->width;

		if (!quad_span(q, y, map->width, &x0, &x1))
			continue;
		for (x = x0; x <= x1; x++)
			sum += row[x];
		n += (size_t)(x1 - x0 + 1);
	}
	return n ? (float)(sum / (double)n) : 0;
}

/*
 * Grow the rectangle by its area * ratio / perimeter; 1 when there is one, 0 when nothing is left,
 * or -ENOMEM.
 */
static int rect_unclip(const struct ocr_rect *rect, double ratio, struct ocr_rect *out)
{
	struct npu_point pts[UNCLIP_POINTS];
	double area = 0, length = 0;
	size_t n;
	int i;

	for (i = 0; i < 4; i++) {
		struct npu_point a = rect->p[i], b = rect->p[(i + 1) % 4];

		area += a.x * b.y - b.x * a.y;
		length += hypot(b.x - a.x, b.y - a.y);
	}
	area = fabs(area) / 2;
	if (!(length > 0))
		return 0;
	n = ocr_unclip(rect->p, area * ratio / length, pts, UNCLIP_POINTS);
	if (!n)
		return 0;
	n = ocr_hull(pts, n);
	if (!n)
		return -ENOMEM;
	ocr_min_rect(pts, n, out);
	return 1;
}

static double to_image(double v, int from, int to)
{
	return fmin(fmax(rint(v / from * to), 0), to);
}

/* From the outline of one group to a box, or to nothing when it is too small or too unlikely. */
static int outline_box(const struct db_map *map, struct db_points *pts)
{
	struct ocr_rect rect, grown;
	struct ocr_box box;
	size_t n;
	int i, err;

	n = ocr_hull(pts->at, pts->count);
	if (!n)
		return -ENOMEM;
	ocr_min_rect(pts->at, n, &rect);
	if (rect.short_side < map->opt.min_side)
		return 0;
	box.score = quad_score(map, rect.p);
	if (box.score < map->opt.box_thresh)
		return 0;
	err = rect_unclip(&rect, map->opt.unclip, &grown);
	if (err <= 0 || grown.short_side < map->opt.min_side + 2)
		return err < 0 ? err : 0;
	for (i = 0; i < 4; i++) {
		box.quad.p[i].x = to_image(grown.p[i].x, map->width, map->img_width);
		box.quad.p[i].y = to_image(grown.p[i].y, map->height, map->img_height);
	}
	if (!ocr_quad_clean(&box.quad, map->img_width, map->img_height))
		return 0;
	return ocr_boxes_add(map->boxes, &box);
}

/* Ends of a run of text, or the text pixels beside, above and below a run of background. */
static int run_outline(const struct db_map *map, const struct db_run *run, int text,
		       struct db_points *pts)
{
	int grow_by = text ? 0 : 1, dy, x, err;

	err = points_add(pts, run->x0 - grow_by, run->y);
	if (!err)
		err = points_add(pts, run->x1 + grow_by, run->y);
	for (dy = -1; !text && !err && dy <= 1; dy += 2)
		for (x = run->x0; !err && x <= run->x1; x++)
			if (is_text(map, x, run->y + dy))
				err = points_add(pts, x, run->y + dy);
	return err;
}

struct db_order {
	uint32_t root, run;
};

static int order_cmp(const void *va, const void *vb)
{
	const struct db_order *a = va, *b = vb;

	if (a->root != b->root)
		return a->root < b->root ? -1 : 1;
	return a->run < b->run ? -1 : a->run > b->run;
}

static int on_border(const struct db_map *map, const struct db_run *run)
{
	return !run->x0 || !run->y || run->x1 == map->width - 1 || run->y == map->height - 1;
}

static int groups_boxes(const struct db_map *map, int text)
{
	struct db_runs runs = { 0 };
	struct db_points pts = { 0 };
	struct db_order *order = NULL;
	size_t i, j;
	int err, open;

	err = runs_make(map, text, &runs);
	if (err || !runs.count)
		goto out;
	order = malloc(runs.count * sizeof(*order));
	if (!order) {
		err = -ENOMEM;
		goto out;
	}
	for (i = 0; i < runs.count; i++)
		order[i] = (struct db_order){ run_root(runs.run, (uint32_t)i), (uint32_t)i };
	qsort(order, runs.count, sizeof(*order), order_cmp);
	for (i = 0; !err && i < runs.count; i = j) {
		pts.count = 0;
		open = 0;
		for (j = i; j < runs.count && order[j].root == order[i].root; j++)
			open |= !text && on_border(map, &runs.run[order[j].run]);
		if (open)	/* background that reaches the edge is no hole */
			continue;
		for (j = i; !err && j < runs.count && order[j].root == order[i].root; j++)
			err = run_outline(map, &runs.run[order[j].run], text, &pts);
		if (!err)
			err = outline_box(map, &pts);
	}
out:
	free(order);
	free(pts.at);
	free(runs.run);
	return err;
}

int ocr_db_boxes(const float *prob, int width, int height, int img_width, int img_height,
		 const struct ocr_db_options *opt, struct ocr_boxes *boxes, struct npu_error *why)
{
	struct db_map map = {
		.prob = prob, .width = width, .height = height,
		.img_width = img_width, .img_height = img_height, .boxes = boxes,
	};
	int err;

	if (width < 1 || height < 1 || (int64_t)width * height > INT32_MAX)
		return npu_error_set(
			why, -EINVAL,
			"text map of %d x %d: at least 1 x 1 and below 2^31 is expected", width,
			height);
	if (opt)
		map.opt = *opt;
	else
		ocr_db_options_default(&map.opt);
	err = groups_boxes(&map, 1);
	if (!err)
		err = groups_boxes(&map, 0);
	return err ? npu_error_set(why, err, "no memory for the outlines of the text map") : 0;
}
