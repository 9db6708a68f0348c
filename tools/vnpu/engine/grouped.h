/* SPDX-License-Identifier: MIT */
/*
 * Engine internal: codes in groups, as weights of MATMUL and as rows of GATHER.
 *
 * What the two have in common with DYN_QUANT, which makes the rows, is here too.
 *
 * The matrix kernels multiply unsigned codes of a panel with signed ones of rows, exactly in i32.
 * Zero points are not subtracted from the codes: a sum starts from -zero * (sum of the row's codes
 * in the group), which is computed once for each row. A codebook's values are shifted by 128 to be
 * unsigned, and have that for a zero point.
 */
#ifndef NPU_GROUPED_H_ENGINE
#define NPU_GROUPED_H_ENGINE

#include "gemm.h"
#include "npu_op.h"

/* K by N codes with their scales. Of GATHER, K is the inner dim and N the rows. */
struct npu_codes_groups {
	const struct npu_operand *codes, *scale, *min, *super;
	const char *codes_ptr, *scale_ptr, *min_ptr, *super_ptr; /* min, super NULL: absent */
	npu_s64 k, n, groups, supers;
	npu_s64 group, per_super;	/* k in a group, groups in a second-level one */
	unsigned int bits, kdim, ndim;	/* which dims of scale and min are K and N */
	npu_s32 zero;			/* 128 with a codebook */
	bool has_book;
	npu_u8 book[16];		/* values + 128 */
	const struct npu_gemm *gemm;	/* its loads */
};

/* Slots of an instruction. */
struct npu_codes_slots {
	unsigned int codes, scale, min, super, book, group, super_param;
	bool transposed;		/* N before K in the dims */
};

void npu_codes_init(struct npu_codes_groups *g, const struct npu_exec *x,
		    const struct npu_codes_slots *s);
/* Code of position @k of output @n, a codebook looked up; K and N as above. */
unsigned int npu_codes_get(const struct npu_codes_groups *g, npu_s64 k, npu_s64 n);
/* Scale and minimum (0 when there is none) of one group of one output. */
float npu_codes_scale(const struct npu_codes_groups *g, npu_s64 group, npu_s64 n);
float npu_codes_min(const struct npu_codes_groups *g, npu_s64 group, npu_s64 n);
/* The same of all groups of panel @panel: [groups][16], 0 for outputs beyond the last. */
void npu_codes_panel_scales(const struct npu_codes_groups *g, npu_s64 panel, float *scale,
			    float *min);

/* How the kernels see the codes of a panel. */
enum npu_gq_kind { GQ_U4, GQ_BOOK, GQ_U5, GQ_U6, GQ_U8, GQ_NUM_KINDS };
enum npu_gq_kind npu_codes_kind(const struct npu_codes_groups *g);

#define GQ_QUAD		64		/* codes, and bytes once they are one each */
#define GQ_MAX_ROWS	12
#define GQ_FEW_ROWS	4		/* codes are unpacked on the way up to here */

/* One panel of 16 outputs times some rows. */
struct npu_gq_tile {
	const npu_u8 *a;		/* i8 codes; whole quads are read */
	ptrdiff_t lda;
	const npu_u8 *w;		/* as they lie, or one byte each */
	ptrdiff_t ahead;		/* from there to what is fetched meanwhile; 0: nothing */
	const npu_u8 *book;
	npu_s64 groups, quads, last;	/* quads of a group, and of the last one */
	const float *scale, *min;	/* [groups][16]; min NULL: none */
	/* of the first row's first group, those of the next row @step further on */
	const npu_s32 *start;		/* -zero * sum */
	const float *a_scale, *a_sum;	/* a_sum is read with @min only */
	ptrdiff_t step;
	float *c;			/* row r, output j at c[r * ldc + j] */
	ptrdiff_t ldc;
};

typedef void (*npu_gq_fn)(const struct npu_gq_tile *t);

struct npu_gq {
	/* By number of rows; NULL: take fewer. Codes as they lie, and one byte each. */
	npu_gq_fn few[GQ_NUM_KINDS][GQ_FEW_ROWS + 1];
	npu_gq_fn many[GQ_NUM_KINDS][GQ_MAX_ROWS + 1];
	/* @quads quads to one byte for each code */
	void (*unpack[GQ_NUM_KINDS])(npu_u8 *dst, const npu_u8 *src, npu_s64 quads,
				     const npu_u8 *book);
	/* sums of @n codes of a row, @group at a time; the last may be short */
	void (*sums)(npu_s32 *sum, const npu_u8 *a, npu_s64 n, npu_s64 group);
	/* dst[i] = f32(src[i]) * super[i / (16 * per)][i % 16] for [groups][16] factors */
	void (*two_level)(float *dst, const npu_u8 *src, bool is_signed, const float *super,
			  npu_s64 groups, npu_s64 per);
	/* codes of DYN_QUANT, and their scale; when that is not finite, no codes */
	float (*quantize)(npu_u8 *dst, const float *x, npu_s64 n);
	/* [k][16] weights of one group from its codes, one byte each; @min NULL: none */
	void (*dequant)(float *dst, const npu_u8 *codes, npu_s64 k, npu_s32 zero,
			const float *scale, const float *min);
	double ns;		/* an estimate of the time of one product, for the size of chunks */
	enum npu_path path;
};

const struct npu_gq *npu_gq_select(enum npu_simd simd, bool vnni);
extern const struct npu_gq npu_gq_portable, npu_gq_avx2, npu_gq_avxvnni, npu_gq_avx512,
	npu_gq_avx512vnni;

#endif
