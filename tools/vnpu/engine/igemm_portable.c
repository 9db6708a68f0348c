// SPDX-License-Identifier: MIT
#include "igemm.h"

typedef struct {
	npu_s32 sum[NPU_PANEL];
} vi;
typedef struct {
	npu_s32 x[4];
} vq;
typedef struct {
	signed char w[NPU_PANEL * 4];
} vw;

#define PANEL_VECS	1
#define PRELOAD_ROWS	0

static vi vi_zero(void)
{
	return (vi){ { 0 } };
}

static vq vq_bcast(const char *p)
{
	const npu_u8 *u = (const npu_u8 *)p;

	return (vq){ { u[0], u[1], u[2], u[3] } };
}

static vw vw_flip(npu_u8 flip)
{
	vw w;

	memset(&w, flip, sizeof(w));
	return w;
}

static vw vw_load(const char *p, vw flip)
{
	unsigned int i;
	vw w;

	for (i = 0; i < sizeof(w.w); i++)
		w.w[i] = (signed char)(p[i] ^ flip.w[i]);
	return w;
}

/* The sum of four products fits; over all of K it may wrap before the zero points are taken off. */
static vi vi_dot(vi acc, vq q, vw w)
{
	unsigned int j;

	for (j = 0; j < NPU_PANEL; j++)
		acc.sum[j] = (npu_s32)((npu_u32)acc.sum[j] +
				       (npu_u32)(q.x[0] * w.w[4 * j] + q.x[1] * w.w[4 * j + 1] +
						 q.x[2] * w.w[4 * j + 2] +
						 q.x[3] * w.w[4 * j + 3]));
	return acc;
}

static void panel_store(npu_s32 *c, const vi *acc)
{
	memcpy(c, acc->sum, sizeof(acc->sum));
}

#include "igemm_impl.h"

ITILE_FN(1, 1)
ITILE_FN(2, 1)
ITILE_FN(4, 1)

const struct npu_igemm npu_igemm_portable = {
	.rows = { [1] = 4 },
	.fn = { ITILE_ROW(1, 1), ITILE_ROW(2, 1), ITILE_ROW(4, 1) },
	IGEMM_COMMON,
	.ns = 0.4,
	.path = NPU_PATH_IGEMM_PORTABLE,
};
