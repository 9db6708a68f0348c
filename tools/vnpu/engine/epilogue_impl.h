/* SPDX-License-Identifier: MIT */
/*
 * The epilogue of a tile, included by one file per instruction set that defines EPI_FN. Written as loops over one row's
 * channels, which the compiler vectorises.
 */
#include "epilogue.h"
#include "npu_act.h"

#define EPI_MAX_ROW	64

static void epi_load_residual(const struct npu_epi *e, const char *p, unsigned int n, float *restrict r)
{
	unsigned int i;

	if (e->res_chan == 0) {
		float v = npu_elem_load(e->res, p);

		for (i = 0; i < n; i++)
			r[i] = v;
	} else if (e->res->dtype == NPU_F16 && e->res_chan == 2) {
		npu_u16 h[EPI_MAX_ROW];

		memcpy(h, p, n * sizeof(*h));
		for (i = 0; i < n; i++)
			r[i] = npu_f16_to_f32(h[i]);
	} else if (e->res->dtype == NPU_F32 && e->res_chan == 4) {
		memcpy(r, p, n * sizeof(*r));
	} else {
		for (i = 0; i < n; i++)
			r[i] = npu_elem_load(e->res, p + e->res_chan * (ptrdiff_t)i);
	}
}

static void epi_store(const struct npu_epi *e, char *p, unsigned int n, const float *restrict v)
{
	npu_u16 h[EPI_MAX_ROW];
	float f[EPI_MAX_ROW];
	unsigned int i;

	if (e->out->dtype == NPU_F16 && e->out_chan == 2) {
		for (i = 0; i < n; i++)
			h[i] = npu_f32_to_f16(v[i]);
		memcpy(p, h, n * sizeof(*h));
	} else if (e->out->dtype == NPU_F32 && e->out_chan == 4) {
		for (i = 0; i < n; i++)
			f[i] = npu_canon_f32(v[i]);
		memcpy(p, f, n * sizeof(*f));
	} else {
		for (i = 0; i < n; i++)
			npu_elem_store(e->out, p + e->out_chan * (ptrdiff_t)i, v[i]);
	}
	if (e->table) {
		for (i = 0; i < n; i++) {
			unsigned char *c = (unsigned char *)p + e->out_chan * (ptrdiff_t)i;

			*c = e->table[*c];
		}
	}
}

/* Integer accumulators become reals; false when they were stored as they are. */
static bool epi_from_int(const struct npu_epi *e, float *v, npu_u32 o, unsigned int n, char *out)
{
	npu_u32 a[EPI_MAX_ROW];
	unsigned int i;

	memcpy(a, v, n * sizeof(*a));
	if (e->ibias)
		for (i = 0; i < n; i++)
			a[i] += (npu_u32)e->ibias[o + i];
	if (e->raw) {
		for (i = 0; i < n; i++)
			memcpy(out + e->out_chan * (ptrdiff_t)i, &a[i], 4);
		return false;
	}
	for (i = 0; i < n; i++)
		v[i] = (float)(npu_s32)a[i];
	if (e->scale)
		for (i = 0; i < n; i++)
			v[i] *= e->scale[o + i];
	return true;
}

static void epi_row(const struct npu_epi *e, float *restrict v, npu_u32 o, unsigned int n, char *out, const char *res)
{
	float r[EPI_MAX_ROW];
	unsigned int i;

	if ((e->scale || e->raw) && !epi_from_int(e, v, o, n, out))
		return;
	if (e->bias)
		for (i = 0; i < n; i++)
			v[i] += e->bias[o + i];
	npu_act_block(v, n, e->act, e->alpha, e->beta, e->slope ? e->slope + o : NULL);
	if (e->post)
		for (i = 0; i < n; i++)
			v[i] = npu_fma_f32(v[i], e->post_mul, e->post_add);
	if (e->res) {
		epi_load_residual(e, res, n, r);
		if (e->join == NPU_JOIN_ADD)
			for (i = 0; i < n; i++)
				v[i] += r[i];
		else
			for (i = 0; i < n; i++)
				v[i] *= r[i];
	}
	npu_act_block(v, n, e->act2, e->alpha2, e->beta2, NULL);
	epi_store(e, out, n, v);
}

void EPI_FN(const struct npu_epi *e, float *acc, size_t ld, unsigned int rows, npu_u32 o, unsigned int n,
	    const struct npu_epi_place *place)
{
	const char *res = place->res ? place->res + (ptrdiff_t)o * e->res_chan : NULL;
	char *out = place->out + (ptrdiff_t)o * e->out_chan;
	unsigned int r, i, w;

	for (r = 0; r < rows; r++) {
		for (i = 0; i < n; i += w) {
			w = n - i < EPI_MAX_ROW ? n - i : EPI_MAX_ROW;
			epi_row(e, acc + r * ld + i, o + i, w, out + (ptrdiff_t)i * e->out_chan,
				res ? res + (ptrdiff_t)i * e->res_chan : NULL);
		}
		out += place->out_step;
		if (res)
			res += place->res_step;
	}
}
