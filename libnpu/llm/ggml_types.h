/* SPDX-License-Identifier: MIT */
/*
 * Tensor types of GGUF files that the NPU multiplies with as they are: their blocks, taken apart
 * bit for bit into the operands of a grouped MATMUL, or to f32. And the project's own quantizers of
 * float rows.
 *
 * A weight is a matrix [rows][cols] of the file, cols along the input; rows become the columns of
 * MATMUL's b, [cols][rows]. All its operands lie in one piece of memory, struct npu_weight_place
 * says where. Everything here is pure and thread safe.
 */
#ifndef NPU_LLM_GGML_TYPES_H
#define NPU_LLM_GGML_TYPES_H

#include "npu_kernels.h"

/*
 * X(name, ggml's number, elements of a block, bytes of a block). Floats have blocks of one.
 */
#define NPU_GGML_TYPES(X)		\
	X(F32,		0,  1,	 4)	\
	X(F16,		1,  1,	 2)	\
	X(Q4_0,		2,  32,	 18)	\
	X(Q4_1,		3,  32,	 20)	\
	X(Q5_0,		6,  32,	 22)	\
	X(Q5_1,		7,  32,	 24)	\
	X(Q8_0,		8,  32,	 34)	\
	X(Q4_K,		12, 256, 144)	\
	X(Q5_K,		13, 256, 176)	\
	X(Q6_K,		14, 256, 210)	\
	X(IQ4_NL,	20, 32,	 18)	\
	X(BF16,		30, 1,	 2)

enum npu_ggml_type {
#define X(name, number, block, bytes) NPU_GGML_##name = number,
	NPU_GGML_TYPES(X)
#undef X
};

/* How a weight is stored: which operands it has and what MATMUL and GATHER are told of them. */
struct npu_weight_format {
	enum npu_dtype dtype;		/* of the codes, or of floats */
	/* parameters of the instruction; group 0: floats in PANEL16 */
	uint32_t group, super;
	int32_t zero;			/* zero point of the codes */
	enum npu_dtype scale, min, super_scale;	/* types; NPU_NONE: absent */
	const int8_t *book;		/* 16 values of the codes, or NULL */
};

struct npu_ggml_traits {
	const char *name;		/* "Q4_K" */
	uint32_t type;			/* ggml's number */
	uint32_t block, bytes;		/* elements and bytes of a block */
	struct npu_weight_format format;
};

/* NULL for a type that is not in the list above. */
const struct npu_ggml_traits *npu_ggml_traits(uint32_t type);

/* ---- one weight's memory --------------------------------------------------------------------- */

/* Offsets in bytes, multiples of 64; those of absent operands mean nothing. */
struct npu_weight_place {
	struct npu_weight_format format;
	uint32_t rows, cols;
	size_t codes, scale, min, super_scale, book;
	size_t size;			/* of all */
};

/*
 * Lay out a weight of @rows and @cols. Returns 0, -EINVAL (a zero size, or a format that no
 * instruction takes) or -EOVERFLOW.
 */
int npu_weight_place(const struct npu_weight_format *format, uint32_t rows, uint32_t cols,
		     struct npu_weight_place *place);

/* Operands: of MATMUL, b [cols][rows]; absent ones have dtype NPU_NONE. */
struct npu_weight_tensors {
	struct npu_tensor b, scale, min, super_scale, book;
};

/*
 * The tensors of a weight that lies at @offset of @region. For GATHER, @gather, b is
 * [1][rows][cols] and the memory the same.
 */
int npu_weight_tensors(const struct npu_weight_place *place, bool gather, unsigned int region,
		       uint64_t offset, struct npu_weight_tensors *tensors);

/* Point the arguments of the instruction at @tensors, which must outlive them. */
void npu_weight_matmul(const struct npu_weight_place *place,
		       const struct npu_weight_tensors *tensors, struct npu_matmul_args *args);
void npu_weight_gather(const struct npu_weight_place *place,
		       const struct npu_weight_tensors *tensors, struct npu_gather_args *args);

/* ---- from ggml's blocks ---------------------------------------------------------------------- */

/*
 * The layout of a matrix of a file: npu_weight_place() of the type's format. -ENOTSUP: a type that
 * is not known here; -EINVAL: cols that are no whole number of blocks.
 */
int npu_ggml_place(uint32_t type, uint32_t rows, uint32_t cols, struct npu_weight_place *place);

/*
 * Take a matrix of @src_size bytes apart into @dst, of @dst_size = place->size bytes: nothing is
 * rounded. @place is that of npu_ggml_place(); of a float type also one of another float format,
 * which rounds to nearest even. Returns 0, or what npu_ggml_place() returns, or -EINVAL for sizes
 * that do not fit; then nothing is written.
 */
int npu_ggml_pack(uint32_t type, const struct npu_weight_place *place, const void *src,
		  size_t src_size, void *dst, size_t dst_size);

/*
 * @count elements, whole blocks of them, to f32: the values that MATMUL and GATHER see. Returns 0,
 * -ENOTSUP, or -EINVAL (@count is no whole number of blocks, or @src_size too small).
 */
int npu_ggml_dequantize(uint32_t type, const void *src, size_t src_size, float *dst, size_t count);

/* ---- from floats ----------------------------------------------------------------------------- */

/* X(name, text, bits, group, minimum too). group 0: one for the whole row. */
#define NPU_WEIGHT_QUANTS(X)			\
	X(W4G32,  "w4g32",  4, 32,  false)	\
	X(W4G64,  "w4g64",  4, 64,  true)	\
	X(W4G128, "w4g128", 4, 128, true)	\
	X(W8G32,  "w8g32",  8, 32,  false)	\
	X(W8,	  "w8",	    8, 0,   false)

enum npu_weight_quant {
#define X(name, text, bits, group, min) NPU_WEIGHT_##name,
	NPU_WEIGHT_QUANTS(X)
#undef X
	NPU_NUM_WEIGHT_QUANTS
};

const char *npu_weight_quant_name(unsigned int quant);	/* NULL past the end */

/* As npu_ggml_place(), with any number of cols. */
int npu_weight_quant_place(enum npu_weight_quant quant, uint32_t rows, uint32_t cols,
			   struct npu_weight_place *place);

/*
 * Quantize rows [@first, @first + @count) of a weight into @dst (place->size bytes, zeros before
 * the first call); @src is @count rows of @cols floats. Scales, and minimums with 4 bits in groups
 * of 64 and more, are those of the least squared error that a search finds. @first is a multiple of
 * 16, so that threads can share a matrix. Returns 0, -EINVAL (sizes), -ERANGE (a value that is not
 * finite or too large for f16 scales) or -ENOMEM.
 */
int npu_weight_quantize_rows(const struct npu_weight_place *place, uint32_t first, uint32_t count,
			const float *src, void *dst, size_t dst_size);

#endif
