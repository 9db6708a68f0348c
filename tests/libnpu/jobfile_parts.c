// SPDX-License-Identifier: MIT
/* Job files with host steps, and with images: every check behind their sections. */
#include <errno.h>
#include <string.h>
#include "jobfile_case.h"
#include "tap.h"

/* Changes to the file of host_make(). */
#define HOST(f, i)	JF_RECORD(f, NPU_JF_HOSTSTEPS, i, struct npu_jf_host)
#define ARG(f, i)	JF_RECORD(f, NPU_JF_HOSTARGS, i, struct npu_jf_arg)
#define ATTR(f, i)	JF_RECORD(f, NPU_JF_HOSTATTRS, i, struct npu_jf_attr)
#define TENSOR(f, i)	JF_RECORD(f, NPU_JF_TENSORS, i, struct npu_jf_tensor)

static void h_op(unsigned char *f, size_t n) { HOST(f, 0)->op = HOST(f, 0)->node; }
static void h_domain(unsigned char *f, size_t n) { HOST(f, 0)->domain = HOST(f, 1)->domain; }
static void h_opset(unsigned char *f, size_t n) { HOST(f, 0)->opset = 8; }
static void h_no_op(unsigned char *f, size_t n) { HOST(f, 0)->op = 0; }
static void h_string(unsigned char *f, size_t n) { HOST(f, 1)->node = 1u << 30; }
static void h_arg(unsigned char *f, size_t n) { ARG(f, 0)->tensor = 5; }
static void h_args(unsigned char *f, size_t n) { HOST(f, 1)->first_arg = 3; }
static void h_args_many(unsigned char *f, size_t n) { HOST(f, 1)->num_in = 0xffffffff; }
static void h_args_shared(unsigned char *f, size_t n)
{
	HOST(f, 1)->num_in = 2;
	HOST(f, 1)->first_arg = 0;
}
static void h_no_out(unsigned char *f, size_t n)
{
	HOST(f, 0)->num_in = 2;
	HOST(f, 0)->num_out = 0;
}
static void h_attrs(unsigned char *f, size_t n) { HOST(f, 1)->num_attr = 7; }
static void h_kind(unsigned char *f, size_t n) { ATTR(f, 0)->kind = NPU_NUM_HOST_ATTRS; }
static void h_name(unsigned char *f, size_t n) { ATTR(f, 0)->name = 0; }
static void h_count(unsigned char *f, size_t n) { ATTR(f, 0)->count = 2; }
static void h_list(unsigned char *f, size_t n) { ATTR(f, 3)->count = 1u << 30; }
static void h_list_place(unsigned char *f, size_t n) { ATTR(f, 3)->value = 4; }
static void h_list_shared(unsigned char *f, size_t n)
{
	ATTR(f, 4)->count = 6;
	ATTR(f, 4)->value = 0;
}
static void h_strings(unsigned char *f, size_t n)
{
	npu_u32 *string = (void *)(f + jobfile_section(f, NPU_JF_HOSTDATA)->offset +
				   ATTR(f, 5)->value);

	*string = 1u << 30;
}
static void h_dense(unsigned char *f, size_t n)
{
	struct npu_jf_tensor *t = TENSOR(f, 3);

	t->flags = 0;
	t->stride[0].base = 16;
	t->stride[1].base = 4;
}
static void h_align(unsigned char *f, size_t n) { TENSOR(f, 3)->offset.base = 72; }
static void h_read_only(unsigned char *f, size_t n) { ARG(f, 3)->tensor = 0; }
static void h_overlap(unsigned char *f, size_t n) { TENSOR(f, 4)->offset.base = 256; }
static void h_bounded_in(unsigned char *f, size_t n) { TENSOR(f, 0)->flags |= NPU_JOBFILE_BOUNDED; }
static void h_type(unsigned char *f, size_t n) { TENSOR(f, 4)->dtype = NPU_HOST_DTYPES_END; }
static void h_twice(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_SCHEDULE, 2, struct npu_jf_step)->offset = 0;
	HOST(f, 0)->num_attr = 4;
}

static const struct jobfile_change host_changes[] = {
	{ "an operator that nobody has", h_op, -ENOTSUP, "needs the host operator NonZero_1" },
	{ "a domain that nobody has", h_domain, -ENOTSUP, "needs the host operator test.NonZero" },
	{ "an operator set before the operator's", h_opset, -ENOTSUP, "operator set 8" },
	{ "no operator", h_no_op, -EINVAL, "no operator" },
	{ "a string out of range", h_string, -EINVAL, "HOSTSTEPS, record 1" },
	{ "a tensor out of range", h_arg, -EINVAL, "tensor 5" },
	{ "arguments out of range", h_args, -EINVAL, "HOSTARGS" },
	{ "more arguments than there may be", h_args_many, -EINVAL, "4294967295 inputs" },
	{ "another step's arguments", h_args_shared, -EINVAL, "HOSTARGS are another" },
	{ "a step without a result", h_no_out, -EINVAL, "no output" },
	{ "attributes out of range", h_attrs, -EINVAL, "HOSTATTRS" },
	{ "an unknown kind of attribute", h_kind, -EINVAL, "unknown kind 6" },
	{ "an attribute without a name", h_name, -EINVAL, "no name" },
	{ "two values of a number", h_count, -EINVAL, "2 values" },
	{ "a list beyond its section", h_list, -EINVAL, "HOSTDATA has" },
	{ "a list that is not aligned", h_list_place, -EINVAL, "HOSTDATA has" },
	{ "a list of two attributes", h_list_shared, -EINVAL, "another attribute" },
	{ "a string of a list out of range", h_strings, -EINVAL, "HOSTATTRS, record 5" },
	{ "a host tensor with gaps", h_dense, -EINVAL, "not dense" },
	{ "a host tensor at an odd place", h_align, -EINVAL, "multiple of 64" },
	{ "a result in an input", h_read_only, -EINVAL, "region 3 with access" },
	{ "a result over its argument", h_overlap, -EINVAL, "overlaps" },
	{ "an input whose dims the data give", h_bounded_in, -EINVAL, "not a result" },
	{ "a type that nobody has", h_type, -EINVAL, "type 69" },
	{ "one host step twice", h_twice, -EINVAL, "HOSTATTRS are another" },
};

/* A file with host steps: format 1.1, and every check behind its sections. */
void jobfile_check_host(struct jobfile_env *e, const struct fixture *f)
{
	tap_ok(JF_HEADER(e->good)->minor == 1 && !jobfile_try(e, e->good, e->size),
	       "a file with host steps is of format 1.1 and loads");
	JOBFILE_CHANGES(e, host_changes);
}

/* Files with images: format 1.3. */
static void i_program(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_IMAGES, 1, struct npu_jf_image)->program = 1;
}

static void i_name(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_IMAGES, 1, struct npu_jf_image)->name = 0;
}

static void i_twice(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_IMAGES, 1, struct npu_jf_image)->name =
		JF_RECORD(f, NPU_JF_IMAGES, 0, struct npu_jf_image)->name;
}

static void i_spec(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_IMAGES, 1, struct npu_jf_image)->spec = 1 << 30;
}

static void i_width(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_IMAGES, 0, struct npu_jf_image)->width = 0;
}

static void i_planes(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_IMAGES, 0, struct npu_jf_image)->num_planes = 4;
}

static void i_plane(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_IMAGES, 0, struct npu_jf_image)->plane[1] = 6;
}

static void i_output(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_IMAGES, 0, struct npu_jf_image)->plane[1] = 4;
}

static void i_shared(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_IMAGES, 1, struct npu_jf_image)->plane[0] = 1;
}

static void i_stride(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_TENSORS, 2, struct npu_jf_tensor)->stride[1].base = 0;
}

static void i_narrow(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_TENSORS, 2, struct npu_jf_tensor)->stride[0].base = 11;
}

static void i_one_symbol(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_TENSORS, 1, struct npu_jf_tensor)->stride[0].sym[0] = 0;
}

static void i_no_input(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_TENSORS, 1, struct npu_jf_tensor)->stride[0] =
		(struct npu_jf_expr){ .base = 8 };
}

static void i_kind(unsigned char *f, size_t size)
{
	JF_RECORD(f, NPU_JF_SYMBOLS, 0, struct npu_jf_symbol)->kind = 3;
}

static void i_features(unsigned char *f, size_t size)
{
	JF_HEADER(f)->features = 0;
}

static const struct jobfile_change image_changes[] = {
	{ "an image of no program", i_program, -EINVAL, "IMAGES, record 1: program 1" },
	{ "an image without a name", i_name, -EINVAL, "no name" },
	{ "two images of one name", i_twice, -EINVAL, "two images are named 'cam'" },
	{ "a string of an image out of range", i_spec, -EINVAL, "IMAGES, record 1" },
	{ "an image without pixels", i_width, -EINVAL, "0 x 4" },
	{ "too many planes", i_planes, -EINVAL, "4 planes, want 1 .. 3" },
	{ "a plane that is not there", i_plane, -EINVAL, "tensor 6, there are 6" },
	{ "a plane that is an output", i_output, -EINVAL, "plane 1, tensor 'uv', is not an input" },
	{ "a plane of two images", i_shared, -EINVAL, "another plane" },
	{ "bytes that are no row", i_stride, -EINVAL, "rows of bytes" },
	{ "rows that overlap", i_narrow, -EINVAL, "rows of bytes" },
	{ "a stride of two inputs", i_one_symbol, -EINVAL, "of another input" },
	{ "a stride of no input", i_no_input, -EINVAL, "of no input" },
	{ "an unknown kind of symbol", i_kind, -EINVAL, "unknown kind 3" },
	{ "strides that the header does not tell of", i_features, -EINVAL, "features" },
};

static void compare_images(struct jobfile_env *e, const struct fixture *f)
{
	const struct npu_jobfile_image *a = f->images, *b;
	struct npu_jobfile *back;
	int i;

	if (!tap_ok(!npu_jobfile_parse(e->good, e->size, 0, &back, &e->err), "parse"))
		return;
	b = back->programs[0].images;
	tap_ok(back->programs[0].num_images == 2, "two images come back");
	for (i = 0; i < 2; i++)
		tap_ok(!strcmp(a[i].name, b[i].name) && !strcmp(a[i].spec, b[i].spec) &&
		       a[i].fourcc == b[i].fourcc && a[i].width == b[i].width &&
		       a[i].height == b[i].height && a[i].num_planes == b[i].num_planes &&
		       !memcmp(a[i].plane, b[i].plane, a[i].num_planes * sizeof(*a[i].plane)),
		       "image %d is what it was", i);
	npu_jobfile_free(back);
}

void jobfile_check_images(struct jobfile_env *e, const struct fixture *f)
{
	tap_ok(JF_HEADER(e->good)->minor == 3 &&
		       JF_HEADER(e->good)->features == NPU_JF_FEATURE_STRIDES &&
		       !jobfile_try(e, e->good, e->size),
	       "a file with images is of format 1.3 and loads %s", e->err.text);
	compare_images(e, f);
	JOBFILE_CHANGES(e, image_changes);
}
