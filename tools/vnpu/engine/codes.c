// SPDX-License-Identifier: MIT
#include "codes.h"

#define TILE_BYTES	16384u

void npu_codes_table_values(const struct npu_codes_table *t, float value[256])
{
	npu_u8 code[256];
	int i;

	for (i = 0; i < 256; i++)
		code[i] = (npu_u8)i;
	t->vec->load(value, &t->it->op[1].elem,
		     &(struct npu_patch){ .p = (char *)code, .col = 1, .rows = 1, .cols = 256 });
}

void npu_codes_table_set(struct npu_codes_table *t, const float value[256])
{
	t->vec->store(value, &t->it->op[0].elem,
		      &(struct npu_patch){ .p = (char *)t->out, .col = 1, .rows = 1, .cols = 256 });
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct npu_codes_table *t = arg;
	struct npu_tile tile;
	npu_u32 r, i;

	for (; begin < end; begin++) {
		const struct npu_patch *d = &tile.patch[0], *s = &tile.patch[1];

		npu_iter_tile(t->it, begin, &tile);
		for (r = 0; r < d->rows; r++) {
			npu_u8 *dst = (npu_u8 *)d->p + (npu_s64)r * d->row;
			const npu_u8 *src = (const npu_u8 *)s->p + (npu_s64)r * s->row;

			if (d->col == 1 && s->col == 1) {
				t->vec->look_up(dst, src, d->cols, t->out);
				continue;
			}
			for (i = 0; i < d->cols; i++)
				dst[(npu_s64)i * d->col] = t->out[src[(npu_s64)i * s->col]];
		}
	}
}

int npu_codes_table_run(struct npu_exec *x, struct npu_codes_table *t)
{
	npu_u64 row = t->it->dim[t->it->rank - 1];

	npu_iter_cut(t->it, row < TILE_BYTES ? TILE_BYTES / (npu_u32)row : 1, TILE_BYTES);
	npu_exec_path(x, NPU_PATH_CODES_TABLE);
	return npu_exec_parallel(x, t->it->num_tiles, 50 + (double)t->it->rows * t->it->cols * 0.2,
				 run, t);
}
