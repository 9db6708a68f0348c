// SPDX-License-Identifier: MIT
#include "igemm.h"

/* The widest tile that keeps as many accumulators busy as there are rows for. */
unsigned int npu_igemm_panels(const struct npu_igemm *g, npu_s64 left, npu_s64 rows)
{
	npu_s64 panels = (left + NPU_PANEL - 1) / NPU_PANEL;
	bool half = g->rows[0] && (left - 1) % NPU_PANEL < NPU_PANEL / 2;

	if (half && panels <= 2)
		return panels == 1 ? 0 : 1;
	if (panels >= 4 && g->rows[4] && rows <= g->rows[4])
		return 4;
	/* an odd number as three and twos */
	if (panels >= 3 && panels % 2 && g->rows[3])
		return 3;
	if (panels >= 2 && g->rows[2] && (rows <= g->rows[2] || g->rows[2] > g->rows[1] / 2))
		return 2;
	return 1;
}

unsigned int npu_igemm_tile_rows(const struct npu_igemm *g, unsigned int panels, npu_s64 left)
{
	unsigned int most = g->rows[panels], tiles, rows;

	if (left >= 2 * most)
		return most;
	tiles = ((unsigned int)left + most - 1) / most;
	rows = ((unsigned int)left + tiles - 1) / tiles;
	while (!g->fn[panels][rows])
		rows++;
	while (rows > left || !g->fn[panels][rows])
		rows--;
	return rows;
}

npu_s32 *npu_igemm_shift_zeros(npu_s32 *zero, npu_s64 n, npu_u8 flip)
{
	npu_s32 any = 0;
	npu_s64 i;

	for (i = 0; i < n; i++) {
		zero[i] -= flip;
		any |= zero[i];
	}
	return any ? zero : NULL;
}
