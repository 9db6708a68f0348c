// SPDX-License-Identifier: MIT
/* Inputs: shapes first, of all of them, then the data. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "npu_half.h"
#include "run.h"
#include "tools/common/file.h"
#include "tools/common/image.h"

#define NPY_HEADER_MAX		((size_t)1 << 20)

enum kind { KIND_NPY, KIND_IMAGE, KIND_RAW, KIND_ZEROS, KIND_RANDOM };

/* One --input, as it was read. */
struct source {
	const struct item *item;
	enum kind kind;
	struct npu_npy npy;
	struct npu_image image;
	uint8_t *raw;
	size_t raw_size;
};

static int parse_dims(const char *text, unsigned int *rank, int64_t *dims)
{
	char *end;

	*rank = 0;
	if (!strcmp(text, "scalar"))
		return 0;
	do {
		if (*rank == NPU_TENSOR_MAX_RANK)
			return -1;
		dims[*rank] = strtoll(text, &end, 10);
		if (*text < '0' || *text > '9' || dims[(*rank)++] < 1)
			return -1;
		text = end + 1;
	} while (*end == 'x' || *end == ',');
	return *end ? -1 : 0;
}

static int set_given_shapes(struct session *s)
{
	int64_t dims[NPU_TENSOR_MAX_RANK];
	struct npu_image_info img;
	unsigned int i, rank;

	for (i = 0; i < s->opt->num_shape; i++) {
		const struct item *item = &s->opt->shape[i];

		/* For the compiler are ranges, and what an input is that takes frames. */
		if (s->opt->check && (strchr(item->value, '{') || find_frame(s, item->name, &img)))
			continue;
		if (parse_dims(item->value, &rank, dims))
			return fail("--shape %s=%s: want dims like 1x3x64x64", item->name,
				    item->value);
		if (npu_run_set_shape(s->run, item->name, rank, dims, &s->err))
			return fail("--shape: %s", s->err.text);
	}
	return 0;
}

/* What a file is shows in its first bytes, not in its name. */
static enum kind kind_of(const uint8_t *data, size_t len)
{
	if (len >= 6 && !memcmp(data, "\x93NUMPY", 6))
		return KIND_NPY;
	if (len >= 8 && !memcmp(data, "\x89PNG\r\n\x1a\n", 8))
		return KIND_IMAGE;
	if (len >= 3 && !memcmp(data, "\xff\xd8\xff", 3))
		return KIND_IMAGE;
	return KIND_RAW;
}

bool find_frame(struct session *s, const char *name, struct npu_image_info *img)
{
	struct npu_program_info prog = NPU_INIT(prog);
	unsigned int p, i;

	for (p = 0; !npu_job_program(s->job, p, &prog); p++)
		for (i = 0; ; i++) {
			*img = (struct npu_image_info)NPU_INIT(*img);
			if (npu_job_image(s->job, p, i, img))
				break;
			if (!strcmp(img->name, name))
				return true;
		}
	return false;
}

/* Whether tensor @index of @program is a plane of a frame, and which. */
static bool plane_of(struct session *s, unsigned int program, unsigned int index,
		     struct npu_image_info *img, unsigned int *plane)
{
	struct npu_plane_info info = NPU_INIT(info);
	unsigned int i;

	for (i = 0; ; i++) {
		*img = (struct npu_image_info)NPU_INIT(*img);
		if (npu_job_image(s->job, program, i, img))
			return false;
		for (*plane = 0; !npu_job_plane(s->job, program, i, *plane, &info); ++*plane)
			if (info.tensor == index)
				return true;
	}
}

/* The most bytes that a tensor has in any program, 0: there is none of the name. */
static size_t largest_bytes(struct session *s, const char *name)
{
	struct npu_image_info img;
	struct npu_tensor_info t;
	size_t most = find_frame(s, name, &img) ? img.bytes : 0, bytes;

	for (unsigned int p = 0; ; p++) {
		for (unsigned int i = 0; ; i++) {
			t = (struct npu_tensor_info)NPU_INIT(t);
			if (npu_job_tensor(s->job, p, i, &t)) {
				if (!i)
					return most;
				break;
			}
			if (t.role == NPU_TENSOR_INTERNAL || strcmp(t.name, name))
				continue;
			bytes = dtype_size(t.dtype);
			for (unsigned int d = 0; d < t.rank; d++)
				bytes *= t.max_dim[d];
			most = bytes > most ? bytes : most;
		}
	}
}

static const struct item *given_stride(const struct session *s, const char *name)
{
	unsigned int i;

	for (i = 0; i < s->opt->num_stride; i++)
		if (!strcmp(s->opt->stride[i].name, name))
			return &s->opt->stride[i];
	return NULL;
}

/* Apart are rows of bytes only: an array or a picture has no room between them. */
static int check_stride(const struct source *src, const struct item *stride)
{
	static const char *const what[] = {
		[KIND_NPY] = "an array", [KIND_IMAGE] = "a picture",
		[KIND_ZEROS] = "made up", [KIND_RANDOM] = "made up",
	};

	if (!stride || src->kind == KIND_RAW)
		return 0;
	return fail("--stride %s=%s: it is for the bytes of a frame, and %s is %s", stride->name,
		    stride->value, src->item->value, what[src->kind]);
}

/* Of the frame of that name in @program. */
static unsigned int frame_index(struct session *s, unsigned int program, const char *name)
{
	struct npu_image_info img = NPU_INIT(img);
	unsigned int i;

	for (i = 0; !npu_job_image(s->job, program, i, &img) && strcmp(img.name, name); i++)
		;
	return i;
}

/* What a file has at most of a frame in such rows, and of what a camera leaves behind it. */
static size_t strided_bytes(struct session *s, const struct item *item)
{
	struct npu_program_info prog = NPU_INIT(prog);
	struct npu_plane_info plane = NPU_INIT(plane);
	unsigned int p, k, index;
	uint64_t rows;
	size_t most = 0;

	for (p = 0; !npu_job_program(s->job, p, &prog); p++) {
		index = frame_index(s, p, item->name);
		for (k = 0, rows = 0; !npu_job_plane(s->job, p, index, k, &plane); k++)
			rows += plane.rows;
		most = rows * item->bytes > most ? rows * item->bytes : most;
	}
	return most + FRAME_SLACK;
}

/* Planes one behind the other, their rows as far apart as the job takes them. */
size_t input_extent(struct session *s, const char *name)
{
	struct npu_program_info prog = NPU_INIT(prog);
	struct npu_plane_info plane = NPU_INIT(plane);
	struct npu_image_info img = NPU_INIT(img);
	unsigned int p, i, k;
	size_t most = 0, bytes;

	for (p = 0; !npu_job_program(s->job, p, &prog); p++)
		for (i = 0; !npu_job_image(s->job, p, i, &img); i++) {
			if (strcmp(img.name, name))
				continue;
			for (k = 0, bytes = 0; !npu_job_plane(s->job, p, i, k, &plane); k++)
				bytes += (size_t)plane.rows * plane.max_stride;
			most = bytes > most ? bytes : most;
		}
	bytes = largest_bytes(s, name);
	return bytes > most ? bytes : most;
}

/* What is read of a file: no more than the tensor can take, since a device has no end. */
static size_t source_limit(void *ctx, const uint8_t *head, size_t len)
{
	size_t bytes = *(const size_t *)ctx;

	switch (kind_of(head, len)) {
	case KIND_NPY: return bytes + NPY_HEADER_MAX;
	case KIND_IMAGE: return NPU_IMAGE_FILE_MAX;
	default: return bytes;
	}
}

static int source_read(struct session *s, struct source *src, const struct item *item)
{
	const struct item *stride = given_stride(s, item->name);
	size_t most = stride ? strided_bytes(s, stride) : largest_bytes(s, item->name);
	struct npu_error why;
	int err;

	src->item = item;
	if (!strcmp(item->value, "zeros") || !strcmp(item->value, "random")) {
		src->kind = item->value[0] == 'z' ? KIND_ZEROS : KIND_RANDOM;
		return check_stride(src, stride);
	}
	err = npu_file_read_by_head(item->value, source_limit, &most, &src->raw, &src->raw_size,
				    &why);
	if (err == -EFBIG)
		return fail("--input %s: %s is longer than the tensor, which has at most %zu bytes",
			    item->name, item->value, most);
	if (err)
		return fail("--input %s: %s", item->name, why.text);
	src->kind = kind_of(src->raw, src->raw_size);
	if (check_stride(src, stride))
		return 1;
	if (src->kind == KIND_NPY &&
	    npu_npy_parse(src->raw, src->raw_size, item->value, &src->npy, &why))
		return fail("--input %s: %s", item->name, why.text);
	if (src->kind == KIND_IMAGE &&
	    npu_image_decode(src->raw, src->raw_size, item->value, &src->image, &why))
		return fail("--input %s: %s", item->name, why.text);
	return 0;
}

static void source_free(struct source *src)
{
	npu_npy_free(&src->npy);
	npu_image_free(&src->image);
	free(src->raw);
}

/*
 * The tensor's record in the first program that has it: its bounds are all that is known before the
 * shapes are.
 */
static bool find_tensor(struct session *s, const char *name, unsigned int *program,
			struct npu_tensor_info *t)
{
	unsigned int i;

	for (*program = 0; ; ++*program) {
		for (i = 0; ; i++) {
			int ret;

			*t = (struct npu_tensor_info)NPU_INIT(*t);
			ret = npu_job_tensor(s->job, *program, i, t);
			if (ret && !i)
				return false;
			if (ret)
				break;
			if (t->role != NPU_TENSOR_INTERNAL && !strcmp(t->name, name))
				return true;
		}
	}
}

/* The length that @dim can have and that is nearest to @want. */
static int64_t nearest(struct session *s, unsigned int program, const struct npu_tensor_info *t,
		       unsigned int dim, int64_t want)
{
	struct npu_symbol_info sym = NPU_INIT(sym);
	int64_t lo = t->min_dim[dim], hi = t->max_dim[dim], steps, step;

	if (lo == hi || t->symbol[dim] < 0 || npu_job_symbol(s->job, program, t->symbol[dim], &sym))
		return lo;
	steps = (sym.max - sym.min) / sym.step;
	step = steps ? (hi - lo) / steps : 1;
	if (step < 1)
		step = 1;
	want = want < lo ? lo : want > hi ? hi : want;
	return lo + (want - lo + step / 2) / step * step;
}

/*
 * Where the channels of a picture are: 1 for NCHW, 3 for NHWC, 0 when the tensor can not take one.
 */
static unsigned int channel_axis(const struct npu_tensor_info *t)
{
	if (t->rank != 4 || t->min_dim[0] > 1)
		return 0;
	if (t->min_dim[1] == t->max_dim[1] && (t->min_dim[1] == 3 || t->min_dim[1] == 1))
		return 1;
	if (t->min_dim[3] == t->max_dim[3] && (t->min_dim[3] == 3 || t->min_dim[3] == 1))
		return 3;
	return 0;
}

static int set_source_shape(struct session *s, const struct source *src)
{
	struct npu_image_info img;
	struct npu_tensor_info t;
	int64_t dims[NPU_TENSOR_MAX_RANK];
	unsigned int i, program, axis;

	if (find_frame(s, src->item->name, &img)) {
		if (src->kind != KIND_NPY && src->kind != KIND_IMAGE)
			return 0;
		return fail("--input %s: %s is not the bytes of a frame, which is %s", img.name,
			    src->item->value, img.spec);
	}
	for (i = 0; i < s->opt->num_shape; i++)
		if (!strcmp(s->opt->shape[i].name, src->item->name) &&
		    !(s->opt->check && strchr(s->opt->shape[i].value, '{')))
			return 0;
	if (!find_tensor(s, src->item->name, &program, &t))
		return 1;	/* check_names() has looked */
	if (src->kind == KIND_NPY) {
		if (src->npy.rank > NPU_TENSOR_MAX_RANK)
			return fail("--input %s: %s has rank %d", src->item->name, src->item->value,
				    src->npy.rank);
		if (npu_run_set_shape(s->run, src->item->name, src->npy.rank, src->npy.dims,
				      &s->err))
			return fail("--input %s: %s", src->item->name, s->err.text);
	} else if (src->kind == KIND_IMAGE) {
		axis = channel_axis(&t);
		if (!axis)
			return fail(
				"--input %s: a picture needs a tensor [1, 3, H, W] or [1, H, W, 3] (or 1 channel)",
				src->item->name);
		dims[0] = 1;
		dims[axis] = t.min_dim[axis];
		dims[axis == 1 ? 2 : 1] =
			nearest(s, program, &t, axis == 1 ? 2 : 1, src->image.height);
		dims[axis == 1 ? 3 : 2] =
			nearest(s, program, &t, axis == 1 ? 3 : 2, src->image.width);
		if (npu_run_set_shape(s->run, src->item->name, 4, dims, &s->err))
			return fail("--input %s: %s", src->item->name, s->err.text);
	}
	return 0;
}

static const char *npy_dtype(enum npu_npy_type type)
{
	return npu_npy_type_name(type);
}

/* The picture as rows x cols pixels. */
static int fit_image(const struct options *opt, const struct npu_image *src, int rows, int cols,
		     struct npu_image *out, struct npu_error *why)
{
	double ratio;
	struct npu_image small = { 0 };
	int w = cols, h = rows, y, ret;

	if (opt->fit == FIT_STRETCH)
		return npu_image_resize(src, cols, rows, out, why);
	ratio = fmin((double)cols / src->width, (double)rows / src->height);
	w = fmax(1, fmin(cols, round(src->width * ratio)));
	h = fmax(1, fmin(rows, round(src->height * ratio)));
	ret = npu_image_resize(src, w, h, &small, why);
	if (!ret)
		ret = npu_image_alloc(out, cols, rows, 0, why);
	for (y = 0; !ret && y < h; y++)
		memcpy(out->rgb + (size_t)y * cols * 3, small.rgb + (size_t)y * w * 3,
		       (size_t)w * 3);
	npu_image_free(&small);
	return ret;
}

static void image_to_tensor(const struct options *opt, const struct npu_image *img,
			    unsigned int dtype, unsigned int axis, unsigned int channels,
			    void *data)
{
	size_t plane = (size_t)img->width * img->height, i;
	unsigned int c;

	for (i = 0; i < plane; i++) {
		const uint8_t *p = img->rgb + 3 * i;

		for (c = 0; c < channels; c++) {
			float v = channels == 1 ? 0.299f * p[0] + 0.587f * p[1] + 0.114f * p[2]
						: p[opt->bgr ? 2 - c : c];

			/* Bytes go in as they are. */
			if (dtype != NPU_U8)
				v = (v * opt->scale - opt->mean[c]) / opt->std[c];
			element_store(dtype, data, axis == 1 ? c * plane + i : i * channels + c, v);
		}
	}
}

static int image_fill(struct session *s, const struct source *src, const struct npu_tensor_info *t,
		      void *data)
{
	const struct options *opt = s->opt;
	unsigned int axis = channel_axis(t);
	int rows, cols;
	struct npu_image fitted = { 0 };
	struct npu_error why;

	if (!axis || (t->dtype != NPU_F32 && t->dtype != NPU_F16 && t->dtype != NPU_U8))
		return fail(
			"--input %s: a picture needs an f32, f16 or u8 tensor [1, 3, H, W] or [1, H, W, 3]",
			t->name);
	rows = t->min_dim[axis == 1 ? 2 : 1];
	cols = t->min_dim[axis == 1 ? 3 : 2];
	if (fit_image(opt, &src->image, rows, cols, &fitted, &why))
		return fail("--input %s: %s", t->name, why.text);
	image_to_tensor(opt, &fitted, t->dtype, axis, t->min_dim[axis], data);
	npu_image_free(&fitted);
	fprintf(stderr, "input %s: %s, %dx%d pixels %s to %dx%d, %s", t->name, src->item->value,
		src->image.width, src->image.height,
		opt->fit == FIT_PAD ? "fitted and padded" : "stretched", cols, rows,
		t->min_dim[axis] == 1 ? "grey"
		: opt->bgr	      ? "BGR"
				      : "RGB");
	if (t->dtype == NPU_U8)
		fprintf(stderr, ", bytes as they are\n");
	else
		fprintf(stderr, ", (pixel * %.9g - [%g %g %g]) / [%g %g %g]\n", opt->scale,
			opt->mean[0], opt->mean[1], opt->mean[2], opt->std[0], opt->std[1],
			opt->std[2]);
	return 0;
}

/* The same numbers on every machine: floats in [-1, 1), bytes, small whole numbers. */
static void make_up(const struct npu_tensor_info *t, size_t count, enum kind kind, uint64_t seed,
		    void *data)
{
	uint64_t state = 88172645463325252u ^ seed * 0x9e3779b97f4a7c15u;
	size_t i;

	memset(data, 0, count * dtype_size(t->dtype));
	for (i = 0; kind == KIND_RANDOM && i < count; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		if (t->dtype == NPU_F32)
			((float *)data)[i] = (int32_t)(state >> 32) / 2147483648.0f;
		else if (t->dtype == NPU_F16)
			((uint16_t *)data)[i] =
				npu_half_narrow((int32_t)(state >> 32) / 2147483648.0f);
		else if (t->dtype == NPU_I8 || t->dtype == NPU_U8)
			((uint8_t *)data)[i] = state >> 32;
		else if (t->dtype == NPU_BOOL)
			((uint8_t *)data)[i] = state >> 32 & 1;
	}
}

static int npy_fill(const struct source *src, const struct npu_tensor_info *t, size_t bytes,
		    void *data)
{
	size_t have = src->npy.count * npu_npy_type_size(src->npy.type);

	if (strcmp(npy_dtype(src->npy.type), dtype_name(t->dtype)))
		return fail("--input %s: %s holds %s, the tensor is %s", t->name, src->item->value,
			    npy_dtype(src->npy.type), dtype_name(t->dtype));
	if (have != bytes)
		return fail("--input %s: %s has %zu elements, the shape has %zu", t->name,
			    src->item->value, src->npy.count, bytes / dtype_size(t->dtype));
	memcpy(data, src->npy.data, bytes);
	return 0;
}

static int fill_one(struct session *s, const struct source *src, const struct npu_tensor_info *t)
{
	size_t count = 1;
	unsigned int d;
	char dims[128];
	void *data;
	int ret = 0;

	for (d = 0; d < t->rank; d++)
		count *= t->min_dim[d];
	data = malloc(count * dtype_size(t->dtype));
	if (!data)
		return fail("no memory for input '%s'", t->name);
	s->random = s->random || !src || src->kind == KIND_RANDOM;
	if (!src || src->kind >= KIND_ZEROS)
		make_up(t, count, src ? src->kind : KIND_RANDOM, s->opt->seed, data);
	else if (src->kind == KIND_NPY)
		ret = npy_fill(src, t, count * dtype_size(t->dtype), data);
	else if (src->kind == KIND_IMAGE)
		ret = image_fill(s, src, t, data);
	else if (src->raw_size == count * dtype_size(t->dtype))
		memcpy(data, src->raw, src->raw_size);
	else
		ret = fail("--input %s: %s has %zu bytes, %s %s needs %zu", t->name,
			   src->item->value, src->raw_size, dtype_name(t->dtype),
			   dims_text(t->rank, t->min_dim, dims), count * dtype_size(t->dtype));
	if (!ret && npu_run_write(s->run, t->name, data, count * dtype_size(t->dtype), &s->err))
		ret = fail("%s", s->err.text);
	free(data);
	return ret;
}

/*
 * A camera leaves its frame in rows that are further apart, and bytes behind it: what is between
 * them goes. *@frame, of *@size bytes, is the caller's to free, on error too.
 */
static int pack_frame(struct session *s, const struct source *src, unsigned int program,
		      const struct npu_image_info *img, uint64_t stride, uint8_t **frame,
		      size_t *size)
{
	struct npu_plane_info plane = NPU_INIT(plane);
	unsigned int index = frame_index(s, program, img->name), k;
	size_t at = 0, row;
	uint8_t *out = malloc(img->bytes + 1);

	if (!out)
		return fail("no memory for a frame");
	*frame = out;
	for (k = 0; !npu_job_plane(s->job, program, index, k, &plane); k++)
		for (row = 0; row < plane.rows; row++, at += stride, out += plane.row_bytes) {
			if (stride < plane.row_bytes || at + plane.row_bytes > src->raw_size)
				return fail(
					"--stride %s=%llu: rows have %u bytes, and %s ends in row %zu of plane %u",
					img->name, (unsigned long long)stride, plane.row_bytes,
					src->item->value, row, k);
			memcpy(out, src->raw + at, plane.row_bytes);
		}
	*size = (size_t)(out - *frame);
	return 0;
}

static int frame_fill(struct session *s, const struct source *src, unsigned int program,
		      const struct npu_image_info *img)
{
	const struct item *item = given_stride(s, img->name);
	uint8_t *frame = NULL;
	size_t size = src->raw_size;
	int ret = 0;

	if (item)
		ret = pack_frame(s, src, program, img, item->bytes, &frame, &size);
	if (!ret &&
	    npu_run_write_image(s->run, img->name, item ? frame : src->raw, size, &s->err))
		ret = fail("--input %s: %s: %s", img->name, src->item->value, s->err.text);
	free(frame);
	return ret;
}

static unsigned int find_source(const struct source *src, unsigned int n, const char *name)
{
	unsigned int k;

	for (k = 0; k < n && strcmp(src[k].item->name, name); k++)
		;
	return k;
}

static int fill_all(struct session *s, const struct source *src, unsigned int n)
{
	bool may_make_up = s->opt->bench || s->opt->profile || s->opt->digest || s->opt->check ||
			   s->opt->trace, is_plane;
	unsigned int i, k, program, plane = 0;
	struct npu_image_info img;
	struct npu_tensor_info t;
	char dims[128];

	if (npu_run_program(s->run, &program, NULL, &s->err))
		return fail("%s%s", s->err.text,
			    strstr(s->err.text, "not given") ? "; give it with --shape" : "");
	for (i = 0; session_tensor(s, i, &t); i++) {
		if (t.role == NPU_TENSOR_OUTPUT || t.role == NPU_TENSOR_INTERNAL)
			continue;
		is_plane = plane_of(s, program, i, &img, &plane);
		if (dmabuf_given(s, t.name) || (is_plane && dmabuf_given(s, img.name)))
			continue;
		k = find_source(src, n, t.name);
		if (k == n && is_plane)
			k = find_source(src, n, img.name);
		if (k < n && is_plane && src[k].kind == KIND_RAW &&
		    !strcmp(src[k].item->name, img.name)) {
			if (!plane && frame_fill(s, &src[k], program, &img))
				return 1;
			continue;	/* all planes at once */
		}
		if (k == n && t.role == NPU_TENSOR_STATE)
			continue;	/* begins as zeros */
		if (k == n && !may_make_up)
			return fail(
				"input '%s' (%s %s) has no data: --input %s=FILE, or =zeros, =random",
				t.name, dtype_name(t.dtype), dims_text(t.rank, t.min_dim, dims),
				t.name);
		if (k == n)
			fprintf(stderr, "input %s: %s %s, made up (random, seed %llu)\n", t.name,
				dtype_name(t.dtype), dims_text(t.rank, t.min_dim, dims),
				(unsigned long long)s->opt->seed);
		if (fill_one(s, k < n ? &src[k] : NULL, &t))
			return 1;
	}
	return 0;
}

static int check_once(const char *option, const struct item *items, unsigned int num)
{
	unsigned int i, k;

	for (i = 0; i < num; i++)
		for (k = 0; k < i; k++)
			if (!strcmp(items[k].name, items[i].name))
				return fail("--%s %s is given twice: %s and %s", option,
					    items[i].name, items[k].value, items[i].value);
	return 0;
}

/* Whether --input-dmabuf gives a frame, of which @name is a plane. */
static bool in_given_frame(struct session *s, const char *name)
{
	struct npu_program_info prog = NPU_INIT(prog);
	struct npu_plane_info plane = NPU_INIT(plane);
	struct npu_image_info img = NPU_INIT(img);
	unsigned int p, i, k;

	for (p = 0; !npu_job_program(s->job, p, &prog); p++)
		for (i = 0; !npu_job_image(s->job, p, i, &img); i++)
			for (k = 0; !npu_job_plane(s->job, p, i, k, &plane); k++)
				if (!strcmp(plane.name, name) && dmabuf_given(s, img.name))
					return true;
	return false;
}

static int check_input(struct session *s, const char *name)
{
	struct npu_tensor_info t;
	unsigned int program;

	if (!find_tensor(s, name, &program, &t)) {
		npu_run_set_shape(s->run, name, 0, NULL, &s->err);
		return fail("--input: %s", s->err.text);
	}
	if (t.role == NPU_TENSOR_OUTPUT)
		return fail("--input %s: that is an output of the model", name);
	if (dmabuf_given(s, name) || in_given_frame(s, name))
		return fail("--input %s: it is given by --input-dmabuf, too", name);
	return 0;
}

/* A name twice, or one that can not be given data: nothing is ignored. */
static int check_names(struct session *s)
{
	const struct options *opt = s->opt;
	struct npu_image_info img;
	unsigned int i, k;

	if (check_once("input", opt->input, opt->num_input) ||
	    check_once("input-dmabuf", opt->dmabuf, opt->num_dmabuf) ||
	    check_once("stride", opt->stride, opt->num_stride) ||
	    check_once("output", opt->output, opt->num_output) ||
	    (!opt->check && check_once("shape", opt->shape, opt->num_shape)))
		return 1;
	for (i = 0; i < opt->num_input; i++)
		if (check_input(s, opt->input[i].name))
			return 1;
	for (i = 0; i < opt->num_stride; i++) {
		const char *name = opt->stride[i].name;

		for (k = 0; k < opt->num_input && strcmp(opt->input[k].name, name); k++)
			;
		if (k == opt->num_input || !find_frame(s, name, &img))
			return fail("--stride %s: there is no --input %s that is a camera's frame",
				    name, name);
	}
	return 0;
}

/* Options for data that turn out not to be there would do nothing. */
static int check_used(const struct session *s, const struct source *src, unsigned int n)
{
	unsigned int i;

	if (s->opt->seed && !s->random)
		return fail("--seed: no input is made up as random data");
	for (i = 0; i < n && src[i].kind != KIND_IMAGE; i++)
		;
	if (s->opt->for_picture && i == n)
		return fail("--%s is for pictures, and no --input is one", s->opt->for_picture);
	return 0;
}

int inputs_fill(struct session *s)
{
	unsigned int n = s->opt->num_input, i;
	struct source *src = calloc(n + 1, sizeof(*src));
	int ret;

	if (!src)
		return fail("no memory");
	ret = check_names(s);
	if (!ret)
		ret = set_given_shapes(s);
	for (i = 0; i < n && !ret; i++)
		ret = source_read(s, &src[i], &s->opt->input[i]);
	for (i = 0; i < n && !ret; i++)
		ret = set_source_shape(s, &src[i]);
	if (!ret)
		ret = dmabufs_bind(s);
	if (!ret)
		ret = fill_all(s, src, n);
	if (!ret)
		ret = check_used(s, src, n);
	for (i = 0; i < n; i++)
		source_free(&src[i]);
	free(src);
	return ret;
}
