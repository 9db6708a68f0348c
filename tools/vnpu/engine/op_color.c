// SPDX-License-Identifier: MIT
/* COLOR: the three components of a stretch of pixels, then three rows of the matrix. */
#include "iter.h"

#define PIXELS	256u

struct color {
	const struct npu_vec *vec;
	const struct npu_operand *out, *in, *chroma;
	struct npu_elem oe;
	char *op;
	const unsigned char *ip, *cp;
	float m[18];		/* offset 3, matrix 9, mul 3, add 3 */
	unsigned int format;
};

/* Three components of pixels [x0, x0 + n) of row y of image b. */
static void fetch(const struct color *w, npu_s64 b, npu_s64 y, npu_s64 x0, npu_u32 n,
		  float v[3][PIXELS])
{
	const npu_s64 *s = w->in->stride, *c = w->chroma->stride;
	const unsigned char *p = w->ip + b * s[0] + y * s[1], *q;
	npu_u32 i, k;

	for (i = 0; i < n; i++) {
		npu_s64 x = x0 + i;

		switch (w->format) {
		case NPU_COLOR_NV12:
			q = w->cp + b * c[0] + y / 2 * c[1] + x / 2 * c[2];
			v[0][i] = p[x * s[2]];
			v[1][i] = q[0];
			v[2][i] = q[c[3]];
			break;
		case NPU_COLOR_YUYV:
			v[0][i] = p[x * s[2]];
			v[1][i] = p[(x & ~1ll) * s[2] + s[3]];
			v[2][i] = p[(x | 1) * s[2] + s[3]];
			break;
		default:
			for (k = 0; k < 3; k++)
				v[w->format == NPU_COLOR_BGR24 ? 2 - k : k][i] =
					p[x * s[2] + k * s[3]];
		}
	}
}

static void stretch(const struct color *w, npu_s64 b, npu_s64 y, npu_s64 x0, npu_u32 n)
{
	const npu_s64 *os = w->out->stride;
	float v[3][PIXELS], r[PIXELS];
	unsigned int i, k;

	fetch(w, b, y, x0, n, v);
	for (k = 0; k < 3; k++)
		w->vec->add(v[k], n, -w->m[k]);
	for (i = 0; i < 3; i++) {
		memset(r, 0, n * sizeof(*r));
		for (k = 0; k < 3; k++)
			w->vec->axpy(r, v[k], n, w->m[3 + 3 * i + k]);
		w->vec->muladd(r, n, w->m[12 + i], w->m[15 + i]);
		w->vec->store(r, &w->oe,
			      &(struct npu_patch){ .p = w->op + b * os[0] + y * os[1] + x0 * os[2] +
							i * os[3],
						   .col = os[2],
						   .rows = 1,
						   .cols = n });
	}
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct color *w = arg;
	npu_u64 h = w->out->dim[1], per_row = (w->out->dim[2] + PIXELS - 1) / PIXELS;

	for (; begin < end; begin++) {
		npu_u64 x0 = begin % per_row * PIXELS, row = begin / per_row,
			left = w->out->dim[2] - x0;

		stretch(w, (npu_s64)(row / h), (npu_s64)(row % h), (npu_s64)x0,
			left < PIXELS ? (npu_u32)left : PIXELS);
	}
}

int npu_op_color(struct npu_exec *x)
{
	const struct npu_operand *m = &x->operand[NPU_COLOR_MATRIX];
	struct color w = {
		.vec = npu_vec_get(x->simd),
		.out = &x->operand[NPU_COLOR_OUT],
		.in = &x->operand[NPU_COLOR_IN],
		.chroma = &x->operand[NPU_COLOR_CHROMA],
		.oe = npu_elem_of(&x->operand[NPU_COLOR_OUT]),
		.op = x->ptr[NPU_COLOR_OUT],
		.ip = x->ptr[NPU_COLOR_IN],
		.cp = x->ptr[NPU_COLOR_CHROMA],
		.format = x->param[NPU_COLOR_P_FORMAT],
	};
	npu_u64 per_row = (w.out->dim[2] + PIXELS - 1) / PIXELS;
	int i;

	for (i = 0; i < 18; i++)
		memcpy(&w.m[i], (char *)x->ptr[NPU_COLOR_MATRIX] + i * m->stride[0], sizeof(float));
	return npu_exec_parallel(x, (npu_u64)w.out->dim[0] * w.out->dim[1] * per_row, PIXELS * 4.0,
				 run, &w);
}
