/* SPDX-License-Identifier: MIT */
/*
 * Engine internal: what CONV, CONV_TRANSPOSE and MATMUL do with an accumulator on its way to
 * memory. Kernels that have a common epilogue in registers (struct npu_epi_fast) do it themselves;
 * everything else goes through a tile of f32 or i32 accumulators and npu_epi_fn.
 */
#ifndef NPU_EPILOGUE_H
#define NPU_EPILOGUE_H

#include "npu_op.h"

/* One load of data as a real number, and q(), in the plainest form. */
float npu_elem_load(const struct npu_operand *op, const void *p);
void npu_elem_store(const struct npu_operand *op, void *p, float v);

struct npu_epi {
	/*
	 * One entry per output channel, contiguous, readable in whole panels of 16; NULL: absent.
	 */
	const float *bias, *scale, *slope;
	const npu_s32 *ibias;
	const npu_u8 *table;		/* 256 entries; NULL: absent */
	npu_u32 act, act2, join;
	float alpha, beta, post_mul, post_add, alpha2, beta2;
	bool post;			/* post_mul and post_add are not 1 and 0 */
	bool raw;			/* the i32 accumulator itself is stored */
	bool tame;			/* sums that never become NaN on their way */
	const struct npu_operand *out;
	const struct npu_operand *res;	/* NULL: absent */
	ptrdiff_t out_chan;		/* bytes from one output channel to the next */
	ptrdiff_t res_chan;		/* the same of the residual, 0 when it is broadcast */
};

/* Pixels whose outputs lie at a constant distance. */
struct npu_epi_place {
	char *out;			/* of the first pixel, output channel 0 */
	const char *res;
	ptrdiff_t out_step, res_step;	/* bytes from pixel to pixel */
};

/*
 * Finish @rows pixels x channels [o, o + n): @acc[r * ld + i] is the accumulator of pixel r,
 * channel o + i; it is overwritten. With npu_epi.scale or raw it holds i32.
 */
typedef void (*npu_epi_fn)(const struct npu_epi *e, float *acc, size_t ld, unsigned int rows,
			   npu_u32 o, unsigned int n, const struct npu_epi_place *place);
void npu_epi_portable(const struct npu_epi *e, float *acc, size_t ld, unsigned int rows, npu_u32 o,
		      unsigned int n, const struct npu_epi_place *place);
void npu_epi_avx2(const struct npu_epi *e, float *acc, size_t ld, unsigned int rows, npu_u32 o,
		  unsigned int n, const struct npu_epi_place *place);
void npu_epi_avx512(const struct npu_epi *e, float *acc, size_t ld, unsigned int rows, npu_u32 o,
		    unsigned int n, const struct npu_epi_place *place);
npu_epi_fn npu_epi_select(enum npu_simd simd);

/*
 * Read the epilogue of an instruction whose slots from @first_slot and parameters from @first_param
 * are EPILOGUE_SLOTS and EPILOGUE_PARAMS. The vectors are packed into @mem, which has
 * npu_epi_bytes(outputs) bytes.
 */
size_t npu_epi_bytes(npu_u32 outputs);
void npu_epi_init(struct npu_epi *e, const struct npu_exec *x, unsigned int first_slot,
		  unsigned int first_param, bool integer, void *mem);

/* Stride of the residual along dim @d of out, 0 when it is broadcast there. */
ptrdiff_t npu_epi_res_stride(const struct npu_epi *e, unsigned int d);

#endif
