// SPDX-License-Identifier: MIT
/* What the types are, and where a weight's operands lie. */
#include <errno.h>
#include <string.h>
#include "llm/ggml_types.h"

#define ALIGN	((size_t)64)

static const int8_t iq4_nl_values[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
					  1,	13,   25,  38,	53,  69,  89,  113 };

#define ONE_LEVEL(bits, at, ...)						\
	{ .dtype = NPU_U##bits, .group = 32, .zero = at, .scale = NPU_F16, __VA_ARGS__ }
#define TWO_LEVELS(bits)							\
	{ .dtype = NPU_U##bits, .group = 32, .super = 256, .scale = NPU_U8,	\
	  .min = NPU_U8, .super_scale = NPU_F16 }
#define FORMAT_F32	{ .dtype = NPU_F32 }
#define FORMAT_F16	{ .dtype = NPU_F16 }
#define FORMAT_BF16	{ .dtype = NPU_BF16 }
#define FORMAT_Q4_0	ONE_LEVEL(4, 8)
#define FORMAT_Q4_1	ONE_LEVEL(4, 0, .min = NPU_F16)
#define FORMAT_Q5_0	ONE_LEVEL(5, 16)
#define FORMAT_Q5_1	ONE_LEVEL(5, 0, .min = NPU_F16)
#define FORMAT_Q8_0	ONE_LEVEL(8, 128)
#define FORMAT_Q4_K	TWO_LEVELS(4)
#define FORMAT_Q5_K	TWO_LEVELS(5)
#define FORMAT_Q6_K								\
	{ .dtype = NPU_U6, .group = 16, .super = 256, .zero = 32,		\
	  .scale = NPU_I8, .super_scale = NPU_F16 }
#define FORMAT_IQ4_NL	ONE_LEVEL(4, 0, .book = iq4_nl_values)

static const struct npu_ggml_traits traits[] = {
#define X(name, number, block, bytes) { #name, number, block, bytes, FORMAT_##name },
	NPU_GGML_TYPES(X)
#undef X
};

const struct npu_ggml_traits *npu_ggml_traits(uint32_t type)
{
	unsigned int i;

	for (i = 0; i < sizeof(traits) / sizeof(traits[0]); i++)
		if (traits[i].type == type)
			return &traits[i];
	return NULL;
}

/* The next piece of @bytes behind what there is; @at becomes its offset. */
static int place_add(struct npu_weight_place *p, size_t *at, uint64_t bytes)
{
	*at = p->size;
	if (__builtin_add_overflow(p->size, bytes, &p->size) || p->size > SIZE_MAX / 2)
		return -EOVERFLOW;
	p->size = (p->size + ALIGN - 1) & ~(ALIGN - 1);
	return 0;
}

/* Factors of @count groups in panels; @matrices of them. */
static int place_factors(struct npu_weight_place *p, size_t *at, enum npu_dtype type,
			 uint64_t count, unsigned int matrices)
{
	uint64_t panels = ((uint64_t)p->rows + NPU_PANEL - 1) / NPU_PANEL, bytes;

	if (type == NPU_NONE)
		return 0;
	if (__builtin_mul_overflow(panels * (npu_dtype_bits(type) / 8 * NPU_PANEL * matrices),
				   count, &bytes))
		return -EOVERFLOW;
	return place_add(p, at, bytes);
}

static uint64_t div_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

int npu_weight_place(const struct npu_weight_format *f, uint32_t rows, uint32_t cols,
		     struct npu_weight_place *p)
{
	struct npu_pack_shape shape;
	size_t bytes;
	int ret;

	memset(p, 0, sizeof(*p));
	p->format = *f;
	p->rows = rows;
	p->cols = cols;
	npu_pack_nk(&shape, 1, rows, cols);
	ret = npu_pack_size(f->group ? NPU_LAYOUT_GROUPED16 : NPU_LAYOUT_PANEL16, f->dtype, &shape,
			    &bytes);
	if (ret || !f->group)
		return ret ? ret : place_add(p, &p->codes, bytes);
	if (f->super ? f->super_scale == NPU_NONE || f->super % f->group :
		       f->super_scale != NPU_NONE)
		return -EINVAL;
	return place_add(p, &p->codes, bytes) ?:
	       place_factors(p, &p->scale, f->scale, div_up(cols, f->group), 1) ?:
	       place_factors(p, &p->min, f->min, div_up(cols, f->group), 1) ?:
	       place_factors(p, &p->super_scale, f->super_scale,
			     f->super ? div_up(cols, f->super) : 0,
			     f->min == NPU_NONE ? 1 : 2) ?:
	       (f->book ? place_add(p, &p->book, 16) : 0);
}

/* Factors as [2 if @both][count][rows], or with the last two the other way round. */
static int factors_tensor(const struct npu_weight_place *p, struct npu_tensor *t,
			  enum npu_dtype type, bool gather, bool both, uint32_t per,
			  unsigned int region, uint64_t offset)
{
	uint32_t dim[3] = { 2, (uint32_t)div_up(p->cols, per), p->rows };

	if (gather) {
		dim[1] = p->rows;
		dim[2] = (uint32_t)div_up(p->cols, per);
	}
	return npu_tensor_weight(t, region, offset, type, NPU_LAYOUT_PANEL16, both ? 3 : 2,
				 dim + !both);
}

int npu_weight_tensors(const struct npu_weight_place *p, bool gather, unsigned int region,
		       uint64_t offset, struct npu_weight_tensors *t)
{
	const struct npu_weight_format *f = &p->format;
	const uint32_t kn[2] = { p->cols, p->rows }, nk[3] = { 1, p->rows, p->cols }, book = 16;
	enum npu_layout layout = f->group ? NPU_LAYOUT_GROUPED16 : NPU_LAYOUT_PANEL16;
	int ret;

	memset(t, 0, sizeof(*t));
	/* GATHER takes plain rows at strides only */
	if (gather && !f->group)
		return -EINVAL;
	ret = npu_tensor_weight(&t->b, region, offset + p->codes, f->dtype, layout, gather ? 3 : 2,
				gather ? nk : kn);
	t->b.zero_point = f->zero;
	if (f->scale != NPU_NONE)
		ret = ret ?: factors_tensor(p, &t->scale, f->scale, gather, false, f->group, region,
					    offset + p->scale);
	if (f->min != NPU_NONE)
		ret = ret ?: factors_tensor(p, &t->min, f->min, gather, false, f->group, region,
					    offset + p->min);
	if (f->super)
		ret = ret ?: factors_tensor(p, &t->super_scale, f->super_scale, gather,
					    f->min != NPU_NONE, f->super, region,
					    offset + p->super_scale);
	if (f->book)
		ret = ret ?: npu_tensor_fixed(&t->book, region, offset + p->book, NPU_I8, 1, &book);
	return ret;
}

static const struct npu_tensor *present(const struct npu_tensor *t)
{
	return t->dtype == NPU_NONE ? NULL : t;
}

void npu_weight_matmul(const struct npu_weight_place *p, const struct npu_weight_tensors *t,
		       struct npu_matmul_args *args)
{
	args->b = &t->b;
	args->group_scale = present(&t->scale);
	args->group_min = present(&t->min);
	args->super_scale = present(&t->super_scale);
	args->codebook = present(&t->book);
	args->group = p->format.group;
	args->super = p->format.super;
}

void npu_weight_gather(const struct npu_weight_place *p, const struct npu_weight_tensors *t,
		       struct npu_gather_args *args)
{
	args->in = &t->b;
	args->group_scale = present(&t->scale);
	args->group_min = present(&t->min);
	args->super_scale = present(&t->super_scale);
	args->codebook = present(&t->book);
	args->group = p->format.group;
	args->super = p->format.super;
}
