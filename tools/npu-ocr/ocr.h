/* SPDX-License-Identifier: MIT */
/*
 * npu-ocr: the text in a picture with PP-OCRv4. Detection (DB) finds boxes, a classifier turns
 * lines that are upside down, a CTC recogniser reads them. The steps and their constants are those
 * of PaddleOCR's reference pipeline; everything between the three networks runs on the CPU and
 * lives in one file a noun.
 *
 * All functions return 0 or a negative errno with a reason. Structs are owned by the caller unless
 * said otherwise.
 */
#ifndef OCR_H
#define OCR_H

#include <stddef.h>
#include <stdint.h>

#include "tools/common/image.h"
#include "core/error.h"

#include "net.h"

/* A text box: corners clockwise from the text's top left, in pixels of the picture. */
struct ocr_quad {
	struct npu_point p[4];
};

struct ocr_box {
	struct ocr_quad quad;
	float score;			/* mean text probability inside, 0..1 */
};

struct ocr_boxes {
	struct ocr_box *box;
	size_t count, room;
};

struct ocr_line {
	struct ocr_box box;
	/* it ran down the page: its crop was turned by 90 degrees */
	int turned;
	int flipped;			/* it was read upside down, after the turn */
	float flip_prob;		/* what the classifier says for that, 0..1 */
	char *text;			/* UTF-8, from malloc() */
	float confidence;		/* mean probability of the characters kept, 0..1 */
};

struct ocr_lines {
	struct ocr_line *line;
	size_t count;
};

/* Seconds spent in each stage, and how often the networks ran. */
struct ocr_times {
	double start, load, detect, boxes, crop, classify, recognize, annotate;
};

struct ocr_options {
	int det_limit;			/* longest side that detection sees, pixels */
	int classify;			/* use the direction classifier */
	int rec_min_width;		/* narrower lines are padded to this, pixels */
	float drop_score;		/* lines read with less confidence are dropped */
	const char *dump;		/* directory for every tensor and crop, or NULL */
	/*
	 * directory for what each network is given, as calibration wants it: NET/PICTURE-NNN.npy;
	 * or NULL
	 */
	const char *calib_out;
	const char *picture;		/* name of the picture without folders, for calib_out */
	/* a job file that was compiled before, in place of the model; or NULL */
	const char *det_job, *cls_job, *rec_job;
};

struct ocr_dict {
	char **entry;			/* entry[0] is the CTC blank "" */
	size_t count;
	char *text;			/* what the entries point into */
};

struct ocr {
	struct ocr_net *det, *cls, *rec;
	struct ocr_dict dict;
	struct ocr_options opt;
	struct ocr_times times;
};

/* Defaults of the reference pipeline. */
void ocr_options_default(struct ocr_options *opt);

/*
 * Read everything: picture in, lines out (free with ocr_lines_free). No line found is not an error.
 */
int ocr_read(struct ocr *ocr, const struct npu_image *img, struct ocr_lines *lines,
	     struct npu_error *why);
void ocr_lines_free(struct ocr_lines *lines);
double ocr_now(void);

/* models.c */
/*
 * Write the first folder that has the models to @dir: $NPU_MODELS, build/models,
 * /usr/share/npu/models.
 */
int ocr_models_find(char *dir, size_t size, struct npu_error *why);
/* Open the networks and the dictionary of @dir; @ocr must be zero. On error nothing stays open. */
int ocr_models_open(struct ocr *ocr, struct ocr_runtime *rt, const char *dir,
		    const struct ocr_options *opt, struct npu_error *why);
/* Close what ocr_models_open() opened; fine on a zero struct. */
void ocr_models_close(struct ocr *ocr);

/* detect.c: the picture's text boxes, in reading order. */
int ocr_detect(struct ocr *ocr, const struct npu_image *img, struct ocr_boxes *boxes,
	       struct npu_error *why);

/*
 * The size a picture is brought to for detection, and of the pieces that the network sees of it;
 * multiples of 32.
 */
struct ocr_detect_plan {
	int width, height;
	int piece_width, piece_height;		/* one piece when equal to width and height */
};

/*
 * As in the reference, no side gets beyond @limit. But a strip (a panorama, a long screenshot)
 * would become too small to read so: what counts there is 2.25 times the short side, and the
 * network sees it in overlapping pieces.
 */
void ocr_detect_plan(int width, int height, int limit, struct ocr_detect_plan *plan);
/* Where the piece after the one at @at begins; @length when it was the last. */
int ocr_detect_next(int at, int length, int piece);

/* dbpost.c: boxes from a map of text probabilities. */
struct ocr_db_options {
	float bin_thresh;		/* a pixel is text above this */
	float box_thresh;		/* a box needs this mean probability */
	float unclip;			/* area * unclip / perimeter is how far a box grows */
	float min_side;			/* shorter sides are noise, map pixels */
};
void ocr_db_options_default(struct ocr_db_options *opt);

/*
 * @prob is [height][width], values 0..1. Boxes are scaled to a picture of @img_width x @img_height
 *	and appended to
 * @boxes unordered. @opt NULL means the defaults.
 */
int ocr_db_boxes(const float *prob, int width, int height, int img_width, int img_height,
		 const struct ocr_db_options *opt, struct ocr_boxes *boxes, struct npu_error *why);
int ocr_boxes_add(struct ocr_boxes *boxes, const struct ocr_box *box);
void ocr_boxes_free(struct ocr_boxes *boxes);

/* minrect.c: plane geometry on convex outlines. */
struct ocr_rect {
	struct npu_point p[4];		/* top left, top right, bottom right, bottom left */
	double short_side;
};

/*
 * The convex hull of @n points, clockwise as seen on a screen, written over @pts (which are sorted
 * on the way); returns how many, 0 when there is no memory. Points on an edge are dropped.
 */
size_t ocr_hull(struct npu_point *pts, size_t n);

/* The rectangle of least area around a hull of @n >= 1 points. */
void ocr_min_rect(const struct npu_point *hull, size_t n, struct ocr_rect *rect);

/*
 * Grow a convex quad by @distance with round corners. @out has room for @room points; returns how
 * many were written, 0 when the quad has no area or they do not fit.
 */
size_t ocr_unclip(const struct npu_point quad[4], double distance, struct npu_point *out,
		  size_t room);

/* crop.c */
/* Name the corners by place: top left, top right, bottom right, bottom left. */
void ocr_quad_order(struct ocr_quad *quad);
/*
 * Corners clockwise from the top left, clipped to the picture; 0 when too little is left to be
 * text.
 */
int ocr_quad_clean(struct ocr_quad *quad, int img_width, int img_height);
/*
 * The box's pixels as an upright picture; one that is much taller than wide is turned on its side
 * (@turned).
 */
int ocr_crop(const struct npu_image *img, const struct ocr_quad *quad, struct npu_image *crop,
	     int *turned, struct npu_error *why);

/* order.c */
/* Top to bottom, and left to right within a line. */
int ocr_boxes_sort(struct ocr_boxes *boxes, struct npu_error *why);
/* The same as seen by a reader who turns the page so that most lines are upright. */
int ocr_lines_sort(struct ocr_lines *lines, struct npu_error *why);

/* classify.c: the probability that a crop is upside down. @index names dumps. */
int ocr_classify(struct ocr *ocr, const struct npu_image *crop, size_t index, float *prob,
		 struct npu_error *why);

/* recognize.c: read a crop into line->text and line->confidence. @name and @index name dumps. */
int ocr_recognize(struct ocr *ocr, const struct npu_image *crop, struct ocr_line *line,
		  const char *name, size_t index, struct npu_error *why);
/* The width of the recogniser's input for a crop, and how much of it the resized crop fills. */
void ocr_recognize_width(int width, int height, int min_width, int *net_width, int *text_width);

/* ctc.c: the dictionary and the decoding of a recogniser's output. */
int ocr_dict_load(struct ocr_dict *dict, const char *path, struct npu_error *why);
int ocr_dict_parse(struct ocr_dict *dict, const char *text, size_t len, const char *name,
		   struct npu_error *why);
void ocr_dict_free(struct ocr_dict *dict);
/*
 * CTC over @prob [steps][classes] (probabilities): the best class of each step, repeats merged,
 * blanks dropped, and a space where the blanks between two characters hide one (see ctc.c). @text
 * is malloc()ed; @confidence is the mean over the kept steps, 0 when there is none. classes must
 * equal dict->count (-EINVAL).
 */
int ocr_ctc_decode(const struct ocr_dict *dict, const float *prob, size_t steps, size_t classes,
		   char **text, float *confidence, struct npu_error *why);

/* annotate.c: the picture with boxes and numbers, and a panel with the text beside it. */
int ocr_annotate(const struct npu_image *img, const struct ocr_lines *lines, const char *path,
		 struct npu_error *why);

/*
 * dump.c: files for tests that feed another runtime with the same tensors. A NULL opt.dump makes
 * them no-ops; what is "in" goes to opt.calib_out as well.
 */
int ocr_dump_tensor(const struct ocr *ocr, const char *net, long index, const char *what,
		    const float *data, const int64_t *dims, int rank, struct npu_error *why);
int ocr_dump_image(const struct ocr *ocr, const char *name, long index, const struct npu_image *img,
		   struct npu_error *why);

#endif
