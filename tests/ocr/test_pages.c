// SPDX-License-Identifier: MIT
/*
 * Pages from picture to text on the NPU: the lines against what is printed on them, and every
 * network against ONNX Runtime fp32 on the same pixels (tests/ocr/ort_dump.js), read by the same
 * decoder.
 */
#include "common/tmp.h"
#include "tap.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <unistd.h>

#include "tools/common/file.h"
#include "tools/common/npy.h"
#include "tools/npu-ocr/ocr.h"

/* What is printed in imageTextN.png and, slanted by some ten degrees, in imageTextR.png. */
static const char *const printed[] = {
	"technical details are too complex to cover in the book itself.",
	"In teaching our courses, we have found it useful for the students to attempt a number of",
	"small implementation projects, which often build on one another, in order to get them used to",
	"working with real-world images and the challenges that these present. The students are then",
	"asked to choose an individual topic for each of their small-group, final projects. (Sometimes",
	"these projects even turn into conference papers!) The exercises at the end of each chapter",
	"contain numerous suggestions for smaller mid-term projects, as well as more open-ended",
	"problems whose solutions are still active research topics. Wherever possible, I encourage",
	"students to try their algorithms on their own personal photographs, since this better motivates",
	"them, often leads to creative variants on the problems, and better acquaints them with the",
	"variety and complexity of real-world imagery.",
	"In formulating and solving computer vision problems, I have often found it useful to draw",
	"inspiration from three high-level approaches:",
};

#define PRINTED		(sizeof(printed) / sizeof(printed[0]))

struct page {
	const char *picture;
	int quarters;			/* turned counter-clockwise */
	/* x, y, width, height of the original; width 0 is all of it */
	int cut[4];
	double scale;
	size_t lines;			/* at least so many are found, */
	size_t exact;			/* and so many of them are as printed */
	int compare;			/* hold the networks against ONNX Runtime */
	int lengthy;			/* only in the long run */
};

/*
 * The sanitizers make the engine some ten times slower; a part of a page goes through all the code
 * there is.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define QUICK	1
#else
#define QUICK	0
#endif

static const struct page pages[] = {
	{ "imageTextN.png", 0, { 0 }, 1, 13, 13, 1, 0 },
	{ "imageTextR.png", 0, { 0 }, 1, 13, 12, 1, 0 },
	{ "imageTextN.png", 2, { 0 }, 1, 13, 12, 0, 0 },
	{ "imageTextR.png", 2, { 0 }, 1, 13, 12, 0, 1 },
	{ "imageTextN.png", 0, { 20, 104, 520, 62 }, 1.25, 3, 3, 1, 0 },
	/* lower than the 32 of a step */
	{ "imageTextN.png", 0, { 20, 105, 530, 24 }, 1, 1, 1, 1, 0 },
	{ "imageTextR.png", 0, { 0, 120, 556, 120 }, 0.8, 2, 0, 1, 1 },
	{ "imageTextN.png", 0, { 0 }, 1.4, 13, 10, 1, 1 },
	{ "imageTextN.png", 1, { 0 }, 1, 11, 11, 0, 1 },
	{ "imageTextR.png", 0, { 0 }, 0.85, 13, 11, 1, 1 },
};

static struct ocr_runtime *rt;
static char cache[1100], dump[1100];

static int page_load(const struct page *p, const char *models, struct npu_image *img,
		     struct npu_error *why)
{
	struct npu_image a = { 0 }, b = { 0 };
	char path[PATH_MAX + 32];
	int err;

	snprintf(path, sizeof(path), "%s/%s", models, p->picture);
	err = npu_image_load(path, &a, why);
	if (!err && p->cut[2]) {
		err = npu_image_cut(&a, p->cut[0], p->cut[1], p->cut[2], p->cut[3], &b, why);
		npu_image_free(&a);
		a = b;
	}
	if (!err)
		err = npu_image_resize(&a, (int)(a.width * p->scale), (int)(a.height * p->scale),
				       &b, why);
	if (!err)
		err = npu_image_rotate(&b, p->quarters, img, why);
	npu_image_free(&a);
	npu_image_free(&b);
	return err;
}

/* How many lines are as printed, each printed line counted once and in order of reading. */
static size_t count_exact(const struct ocr_lines *lines)
{
	size_t i, k = 0, n = 0, j;

	for (i = 0; i < lines->count; i++)
		for (j = k; j < PRINTED; j++)
			if (!strcmp(lines->line[i].text, printed[j])) {
				n++;
				k = j + 1;
				break;
			}
	return n;
}

static void empty_dump(void)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d = opendir(dump);

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' &&
		    snprintf(path, sizeof(path), "%s/%s", dump, e->d_name) < PATH_MAX)
			unlink(path);
	if (d)
		closedir(d);
}

struct agreement {
	size_t tensors, texts, letters_same, spaces, spaces_differ, boxes, boxes_same;
	double det, cls, rec;		/* worst |difference| */
};

/* Boxes of both maps; one of ours agrees when one of theirs has all corners within 2 pixels. */
static void compare_boxes(const struct npu_npy *ours, const struct npu_npy *theirs,
			  struct agreement *a)
{
	int h = (int)ours->dims[2], w = (int)ours->dims[3], k;
	struct ocr_boxes x = { 0 }, y = { 0 };
	size_t i, j;

	if (ocr_db_boxes(ours->data, w, h, w, h, NULL, &x, NULL) ||
	    ocr_db_boxes(theirs->data, w, h, w, h, NULL, &y, NULL))
		abort();
	a->boxes += x.count > y.count ? x.count : y.count;
	for (i = 0; i < x.count; i++)
		for (j = 0; j < y.count; j++) {
			double worst = 0;

			for (k = 0; k < 4; k++)
				worst = fmax(worst,
					     fmax(fabs(x.box[i].quad.p[k].x - y.box[j].quad.p[k].x),
						  fabs(x.box[i].quad.p[k].y -
						       y.box[j].quad.p[k].y)));
			if (worst <= 2) {
				a->boxes_same++;
				break;
			}
		}
	ocr_boxes_free(&x);
	ocr_boxes_free(&y);
}

/*
 * Equal but for spaces? Counts the places with a space in @x and those where only one of the two
 * has it.
 */
static int same_letters(const char *x, const char *y, struct agreement *a)
{
	for (;; x++, y++) {
		size_t nx = strspn(x, " "), ny = strspn(y, " ");

		a->spaces += nx > 0;
		a->spaces_differ += nx != ny;
		x += nx;
		y += ny;
		if (*x != *y || !*x)
			return *x == *y;
	}
}

static void compare_texts(const struct ocr_dict *dict, const struct npu_npy *ours,
			  const struct npu_npy *theirs, const char *name, struct agreement *a)
{
	char *x = NULL, *y = NULL;
	float cx, cy;

	if (ocr_ctc_decode(dict, ours->data, (size_t)ours->dims[1], (size_t)ours->dims[2], &x, &cx,
			   NULL) ||
	    ocr_ctc_decode(dict, theirs->data, (size_t)theirs->dims[1], (size_t)theirs->dims[2], &y,
			   &cy, NULL))
		abort();
	a->texts++;
	a->letters_same += (size_t)same_letters(x, y, a);
	if (strcmp(x, y))
		tap_diag("%s: NPU '%s' %.4f, ONNX Runtime '%s' %.4f", name, x, (double)cx, y,
			 (double)cy);
	free(x);
	free(y);
}

static int compare_file(const struct ocr_dict *dict, const char *name, struct agreement *a)
{
	char path[PATH_MAX];
	struct npu_npy ours = { 0 }, theirs = { 0 };
	double worst = 0;
	int err, i, n = (int)strlen(name) - 8;
	size_t k;

	snprintf(path, sizeof(path), "%s/%s", dump, name);
	err = npu_npy_read(path, &ours, NULL);
	snprintf(path, sizeof(path), "%s/%.*s.ort.npy", dump, n, name);
	if (!err)
		err = npu_npy_read(path, &theirs, NULL);
	for (i = 0; !err && i < ours.rank; i++)
		err = ours.rank != theirs.rank || ours.dims[i] != theirs.dims[i];
	for (k = 0; !err && k < ours.count; k++)
		worst = fmax(worst, fabs((double)((float *)ours.data)[k] -
					 (double)((float *)theirs.data)[k]));
	a->tensors++;
	if (!err && !strncmp(name, "det", 3)) {
		compare_boxes(&ours, &theirs, a);
		a->det = fmax(a->det, worst);
	} else if (!err && !strncmp(name, "rec", 3)) {
		compare_texts(dict, &ours, &theirs, name, a);
		a->rec = fmax(a->rec, worst);
	} else {
		a->cls = fmax(a->cls, worst);
	}
	npu_npy_free(&ours);
	npu_npy_free(&theirs);
	return err;
}

static void compare(const struct ocr_dict *dict, const char *what)
{
	struct agreement a = { 0 };
	char command[PATH_MAX];
	struct dirent *e;
	int err = 0;
	DIR *d;

	snprintf(command, sizeof(command), "node tests/ocr/ort_dump.js %s", dump);
	if (!tap_ok(!system(command), "%s: ONNX Runtime on the same tensors", what))
		return;
	d = opendir(dump);
	while (d && (e = readdir(d)))
		if (strlen(e->d_name) > 8 && !strcmp(e->d_name + strlen(e->d_name) - 8, ".out.npy"))
			err |= compare_file(dict, e->d_name, &a);
	if (d)
		closedir(d);
	tap_ok(!err && a.tensors >= 3, "%s: %zu tensors have ONNX Runtime's shapes", what,
	       a.tensors);
	tap_diag("%s: largest difference det %.2g, cls %.2g, rec %.2g", what, a.det, a.cls, a.rec);
	tap_ok(a.boxes_same == a.boxes, "%s: %zu of %zu boxes as from ONNX Runtime's map", what,
	       a.boxes_same, a.boxes);
	tap_ok(a.letters_same == a.texts, "%s: %zu of %zu texts have the letters of ONNX Runtime's",
	       what, a.letters_same, a.texts);
	/* A space is there or not by a threshold on odds, which f16 may just cross. */
	tap_ok(a.spaces_differ * 50 <= a.spaces, "%s: and its spaces, %zu of %zu are different",
	       what, a.spaces_differ, a.spaces);
}

static void test_page(struct ocr *ocr, const struct page *p, const char *models)
{
	struct npu_error why = { 0 };
	struct ocr_lines lines = { 0 };
	struct npu_image img = { 0 };
	size_t exact = 0, i;
	char what[128];
	int err;

	snprintf(what, sizeof(what), "%s %dx%d at %.2f turned by %d", p->picture, p->cut[2],
		 p->cut[3], p->scale, p->quarters * 90);
	empty_dump();
	ocr->opt.dump = p->compare ? dump : NULL;
	err = page_load(p, models, &img, &why);
	if (!err)
		err = ocr_read(ocr, &img, &lines, &why);
	if (!err)
		exact = count_exact(&lines);
	tap_ok(!err && lines.count >= p->lines && exact >= p->exact,
	       "%s: %zu lines, %zu as printed, %zu expected %s", what, lines.count, exact, p->exact,
	       why.text);
	for (i = 0; !err && exact < p->exact && i < lines.count; i++)
		tap_diag("%.4f %s", (double)lines.line[i].confidence, lines.line[i].text);
	if (!err && p->compare)
		compare(&ocr->dict, what);
	ocr_lines_free(&lines);
	npu_image_free(&img);
}

/* Pictures without text, down to one pixel, give no lines and no error. */
static void test_blank(struct ocr *ocr)
{
	static const int sizes[][2] = { { 1, 1 }, { 5, 5 }, { 1, 40 }, { 2000, 3 }, { 33, 65 } };
	struct npu_error why = { 0 };
	struct ocr_lines lines;
	struct npu_image img;
	size_t i;
	int err;

	ocr->opt.dump = NULL;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		npu_image_alloc(&img, sizes[i][0], sizes[i][1], 255, NULL);
		err = ocr_read(ocr, &img, &lines, &why);
		tap_ok(!err && !lines.count, "%d x %d white pixels have no text %s", img.width,
		       img.height, why.text);
		ocr_lines_free(&lines);
		npu_image_free(&img);
	}
}

int main(void)
{
	struct ocr_runtime_options rt_opt = { .device = "sim", .cache = cache, .quiet = 1 };
	struct npu_error why = { 0 };
	struct ocr_options opt;
	char models[PATH_MAX];
	struct ocr ocr = { 0 };
	size_t i;
	int err;

	snprintf(cache, sizeof(cache), "%.1000s", tmp_path("cache"));
	snprintf(dump, sizeof(dump), "%.1000s", tmp_path("dump"));
	err = npu_file_mkdirs(dump, &why);
	ocr_options_default(&opt);
	if (!err)
		err = ocr_models_find(models, sizeof(models), &why);
	if (!err)
		err = ocr_runtime_open(&rt, &rt_opt, &why);
	if (!err)
		err = ocr_models_open(&ocr, rt, models, &opt, &why);
	if (tap_ok(!err, "compile and load det, cls and rec %s", why.text)) {
		test_blank(&ocr);
		for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
			if (tap_long() ||
			    (QUICK ? pages[i].cut[2] && !pages[i].lengthy : !pages[i].lengthy))
				test_page(&ocr, &pages[i], models);
	}
	ocr_models_close(&ocr);
	ocr_runtime_close(rt);
	return tap_done();
}
