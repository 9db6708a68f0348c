/* SPDX-License-Identifier: MIT */
/*
 * The epilogue of a tile, included by one file per instruction set behind its vf_*.h and with
 * EPI_FN defined. There is a fast form for what networks mostly have (float output, dense channels,
 * activations made of a few operations), and a general one of loops over a row's channels.
 */
#include "epilogue.h"
#include "npu_act.h"

#define EPI_MAX_ROW	64

static void epi_load_residual(const struct npu_epi *e, const char *p, unsigned int n,
			      float *restrict r)
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

static void epi_row(const struct npu_epi *e, float *restrict v, npu_u32 o, unsigned int n,
		    char *out, const char *res)
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

#define EPI_INLINE static inline __attribute__((always_inline))

/* Activations of a few operations. RELU6 is a clip. */
EPI_INLINE bool act_is_simple(npu_u32 act)
{
	return act == NPU_ACT_NONE || act == NPU_ACT_RELU || act == NPU_ACT_CLIP ||
	       act == NPU_ACT_LEAKY_RELU || act == NPU_ACT_PRELU || act == NPU_ACT_HARD_SIGMOID ||
	       act == NPU_ACT_HARD_SWISH;
}

EPI_INLINE vf act_clip(vf v, vf lo, vf hi)
{
	return vf_min(hi, vf_max(lo, v));
}

/* @a and @b: alpha and beta, or the slopes in a. */
EPI_INLINE vf act_simple(vf v, npu_u32 act, vf a, vf b)
{
	switch (act) {
	case NPU_ACT_RELU:
		return vf_max(vf_zero(), v);
	case NPU_ACT_CLIP:
		return act_clip(v, a, b);
	case NPU_ACT_LEAKY_RELU:
	case NPU_ACT_PRELU:
		return vf_if_neg(v, vf_mul(v, a));
	case NPU_ACT_HARD_SIGMOID:
		return act_clip(vf_fma(v, a, b), vf_zero(), vf_set1(1.0f));
	case NPU_ACT_HARD_SWISH:
		return vf_mul(v, act_clip(vf_fma(v, a, b), vf_zero(), vf_set1(1.0f)));
	default:
		return v;
	}
}

/* One instruction's epilogue with everything decided that does not change from tile to tile. */
struct fast {
	npu_u32 act, act2;
	float a, b, a2, b2;
	const float *bias, *slope;
	bool tail;			/* post, join or act2 */
	bool in_place;			/* results go back to the tile, as f32 */
	bool integer;			/* the tile has sums; codes come out */
	/* codes: divided by this unless it is 1, and what the lowest and the highest stand for */
	float q_scale, q_lo, q_hi;
	float res_scale;		/* of a residual of codes */
	npu_s32 res_zero;
};

EPI_INLINE bool is_code(npu_u32 dtype)
{
	return dtype == NPU_I8 || dtype == NPU_U8;
}

/* What a store of codes needs, in registers: memory that codes are written to may be anything. */
struct codes {
	vf scale, lo, hi;
	bool divide, may_be_nan, is_signed;
	npu_s32 zero;
};

EPI_INLINE struct codes codes_of(const struct npu_epi *e, const struct fast *f)
{
	return (struct codes){ .scale = vf_set1(f->q_scale),
			       .lo = vf_set1(f->q_lo),
			       .hi = vf_set1(f->q_hi),
			       .divide = f->q_scale != 1.0f,
			       .may_be_nan = !e->tame,
			       .is_signed = e->out->dtype == NPU_I8,
			       .zero = e->out->zero_point };
}

/* numerics.md's q(). */
EPI_INLINE void codes_store(const struct codes *c, char *p, vf v, unsigned int n)
{
	if (c->may_be_nan)
		v = vf_nan_to_0(v);
	if (c->divide)
		v = vf_div(v, c->scale);
	/* The bounds are whole numbers, so rounding may come after them. */
	v = vf_min(vf_max(v, c->lo), c->hi);
	vf_store_codes((unsigned char *)p, v, c->zero, n);
}

#ifdef VF_CODES4
EPI_INLINE void codes_store4(const struct codes *c, char *p, ptrdiff_t step, vf *v)
{
	unsigned int i;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		if (c->may_be_nan)
			v[i] = vf_nan_to_0(v[i]);
		if (c->divide)
			v[i] = vf_div(v[i], c->scale);
	}
	vf_store_codes4((unsigned char *)p, step, v, c->hi, c->zero, c->is_signed);
}
#endif

EPI_INLINE vf residual_load(const struct npu_epi *e, const struct fast *f, const char *res,
			    unsigned int n)
{
	if (e->res_chan == 0)
		return vf_set1(npu_elem_load(e->res, res));
	if (e->res->dtype == NPU_F16)
		return n == VL ? vf_f16((const npu_u16 *)res) :
				 vf_f16_part((const npu_u16 *)res, n);
	if (is_code(e->res->dtype))
		return vf_mul(vf_codes((const unsigned char *)res, e->res->dtype == NPU_I8,
				       f->res_zero, n),
			      vf_set1(f->res_scale));
	return n == VL ? vf_load((const float *)res) : vf_load_part((const float *)res, n);
}

EPI_INLINE vf fast_tail(const struct npu_epi *e, const struct fast *f, vf v, const char *res,
			unsigned int n)
{
	vf r;

	if (e->post)
		v = vf_fma(v, vf_set1(e->post_mul), vf_set1(e->post_add));
	if (e->res) {
		r = residual_load(e, f, res, n);
		v = e->join == NPU_JOIN_ADD ? vf_add(v, r) : vf_mul(v, r);
	}
	return act_simple(v, f->act2, vf_set1(f->a2), vf_set1(f->b2));
}

/* What is the same for all rows of a column, in registers. */
struct column {
	vf a, b, bias, scale;
	vn ibias;
	bool has_bias, from_sum;
};

EPI_INLINE vf column_value(const struct npu_epi *e, const struct fast *f, const struct column *k,
			   const float *acc, const char *res, unsigned int n, npu_u32 act,
			   bool tail)
{
	vf v;

	if (k->from_sum)
		v = vf_mul(vf_from_sum(acc, k->ibias), k->scale);
	else
		v = vf_load(acc);
	if (k->has_bias)
		v = vf_add(v, k->bias);
	v = act_simple(v, act, k->a, k->b);
	return tail ? fast_tail(e, f, v, res, n) : v;
}

/*
 * The vector of channels [o, o + n) of all rows; act, tail and the output's type are constants
 * where this is expanded.
 */
EPI_INLINE void fast_column(const struct npu_epi *e, const struct fast *f, float *acc, size_t ld,
			    unsigned int rows, npu_u32 o, unsigned int n, char *out,
			    ptrdiff_t out_step, const char *res, ptrdiff_t res_step, npu_u32 act,
			    bool tail, npu_u32 type)
{
	bool in_place = f->in_place, from_sum = type == NPU_I8 && f->integer;
	struct codes codes = codes_of(e, f);
	const struct column k = {
		.a = f->slope ? vf_load(f->slope + o) : vf_set1(f->a),
		.b = vf_set1(f->b),
		.bias = f->bias ? vf_load(f->bias + o) : vf_zero(),
		.has_bias = f->bias,
		.from_sum = from_sum,
		.scale = from_sum ? vf_load(e->scale + o) : vf_zero(),
		.ibias = from_sum && e->ibias ? vn_load(e->ibias + o) : vn_zero(),
	};
	unsigned int r = 0;
	vf v;

#ifdef VF_CODES4
	for (; type == NPU_I8 && n == VL && !in_place && r + 4 <= rows; r += 4) {
		vf four[4];
		unsigned int i;

#pragma GCC unroll 4
		for (i = 0; i < 4; i++, acc += ld) {
			four[i] = column_value(e, f, &k, acc, res, n, act, tail);
			res = tail && res ? res + res_step : res;
		}
		codes_store4(&codes, out, out_step, four);
		out += 4 * out_step;
	}
#endif
	for (; r < rows; r++, acc += ld, out += out_step) {
		v = column_value(e, f, &k, acc, res, n, act, tail);
		res = tail && res ? res + res_step : res;
		if (in_place) {
			/* The next row may begin right behind. */
			if (n == VL)
				vf_store(acc, v);
			else
				vf_store_part(acc, v, n);
			continue;
		}
		if (type == NPU_I8) {
			codes_store(&codes, out, v, n);
			continue;
		}
		v = vf_canon(v);
		if (type == NPU_F16) {
			if (n == VL)
				vf_store_f16((npu_u16 *)out, v);
			else
				vf_store_f16_part((npu_u16 *)out, v, n);
		} else {
			if (n == VL)
				vf_store((float *)out, v);
			else
				vf_store_part((float *)out, v, n);
		}
	}
}

EPI_INLINE void fast_tile(const struct npu_epi *e, const struct fast *f, float *acc, size_t ld,
			  unsigned int rows, npu_u32 o, unsigned int n,
			  const struct npu_epi_place *place, npu_u32 act, bool tail, npu_u32 type)
{
	const unsigned int size = type == NPU_I8 ? 1 : type == NPU_F16 ? 2 : 4;
	char *out = place->out + (ptrdiff_t)o * e->out_chan;
	const char *res = place->res ? place->res + (ptrdiff_t)o * e->res_chan : NULL;
	unsigned int i;

	for (i = 0; i + VL <= n; i += VL)
		fast_column(e, f, acc + i, ld, rows, o + i, VL, out + i * size, place->out_step,
			    res ? res + (ptrdiff_t)i * e->res_chan : NULL, place->res_step, act,
			    tail, type);
	if (i < n)
		fast_column(e, f, acc + i, ld, rows, o + i, n - i, out + i * size, place->out_step,
			    res ? res + (ptrdiff_t)i * e->res_chan : NULL, place->res_step, act,
			    tail, type);
}

/* NPU_I8 stands for both types of codes. */
#define FAST_CASE(name)										\
	case NPU_ACT_##name:									\
		if (f->tail && is_code(e->out->dtype))						\
			fast_tile(e, f, acc, ld, rows, o, n, place, NPU_ACT_##name, true, NPU_I8); \
		else if (is_code(e->out->dtype))						\
			fast_tile(e, f, acc, ld, rows, o, n, place, NPU_ACT_##name, false,	\
				  NPU_I8);							\
		else if (f->tail && e->out->dtype == NPU_F16)					\
			fast_tile(e, f, acc, ld, rows, o, n, place, NPU_ACT_##name, true,	\
				  NPU_F16);							\
		else if (f->tail)								\
			fast_tile(e, f, acc, ld, rows, o, n, place, NPU_ACT_##name, true,	\
				  NPU_F32);							\
		else if (e->out->dtype == NPU_F16)						\
			fast_tile(e, f, acc, ld, rows, o, n, place, NPU_ACT_##name, false,	\
				  NPU_F16);							\
		else										\
			fast_tile(e, f, acc, ld, rows, o, n, place, NPU_ACT_##name, false,	\
				  NPU_F32);							\
		return

static void fast_run(const struct npu_epi *e, const struct fast *f, float *acc, size_t ld,
		     unsigned int rows, npu_u32 o, unsigned int n,
		     const struct npu_epi_place *place)
{
	switch (f->act) {
	FAST_CASE(NONE);
	FAST_CASE(RELU);
	FAST_CASE(CLIP);
	FAST_CASE(LEAKY_RELU);
	FAST_CASE(PRELU);
	FAST_CASE(HARD_SIGMOID);
	FAST_CASE(HARD_SWISH);
	}
}

static npu_u32 clip_of_relu6(npu_u32 act, float *a, float *b)
{
	if (act != NPU_ACT_RELU6)
		return act;
	*a = 0.0f;
	*b = 6.0f;
	return NPU_ACT_CLIP;
}

/*
 * Rows of a tile are contiguous vectors, so an activation of many operations runs over all of them
 * in one loop.
 */
static void tile_act(float *acc, size_t ld, unsigned int rows, unsigned int n, npu_u32 act, float a,
		     float b)
{
	unsigned int r;

	if (ld == n) {
		npu_act_block(acc, ld * rows, act, a, b, NULL);
		return;
	}
	for (r = 0; r < rows; r++)
		npu_act_block(acc + r * ld, n, act, a, b, NULL);
}

/* Sums become real values where they are. */
static void sums_to_real(const struct npu_epi *e, float *acc, size_t ld, unsigned int rows,
			 npu_u32 o, unsigned int n)
{
	unsigned int r, i;
	vf v;

	for (i = 0; i < n; i += VL) {
		vf scale = vf_load(e->scale + o + i);
		vn ibias = e->ibias ? vn_load(e->ibias + o + i) : vn_zero();

		for (r = 0; r < rows; r++) {
			v = vf_mul(vf_from_sum(acc + r * ld + i, ibias), scale);
			if (n - i >= VL)
				vf_store(acc + r * ld + i, v);
			else
				vf_store_part(acc + r * ld + i, v, n - i);
		}
	}
}

static void fast_quant(const struct npu_epi *e, struct fast *f)
{
	npu_s32 lo = e->out->dtype == NPU_I8 ? -128 : 0;

	if (is_code(e->out->dtype)) {
		f->q_scale = e->out->scale;
		f->q_lo = (float)(lo - e->out->zero_point);
		f->q_hi = (float)(lo + 255 - e->out->zero_point);
	}
	if (e->res && is_code(e->res->dtype)) {
		f->res_scale = e->res->scale != 0.0f ? e->res->scale : 1.0f;
		f->res_zero = e->res->scale != 0.0f ? e->res->zero_point : 0;
	}
}

static void table_map(const struct npu_epi *e, unsigned int rows, npu_u32 o, unsigned int n,
		      const struct npu_epi_place *place)
{
	unsigned char *p = (unsigned char *)place->out + (ptrdiff_t)o * e->out_chan;
	unsigned int r, i;

	for (r = 0; r < rows; r++, p += place->out_step)
		for (i = 0; i < n; i++)
			p[i] = e->table[p[i]];
}

static void fast_epilogue(const struct npu_epi *e, float *acc, size_t ld, unsigned int rows,
			  npu_u32 o, unsigned int n, const struct npu_epi_place *place)
{
	struct fast f = { .a = e->alpha,
			  .b = e->beta,
			  .a2 = e->alpha2,
			  .b2 = e->beta2,
			  .bias = e->bias,
			  .slope = e->slope };
	bool act2_done;
	npu_u32 act2;

	f.act = clip_of_relu6(e->act, &f.a, &f.b);
	act2 = clip_of_relu6(e->act2, &f.a2, &f.b2);
	fast_quant(e, &f);
	if (e->scale) {
		f.integer = is_code(e->out->dtype) && act_is_simple(f.act) && act_is_simple(act2);
		if (!f.integer)
			sums_to_real(e, acc, ld, rows, o, n);
	}
	if (!act_is_simple(f.act)) {
		f.in_place = true;
		f.act = NPU_ACT_NONE;
		if (f.bias)
			fast_run(e, &f, acc, ld, rows, o, n, place);
		tile_act(acc, ld, rows, n, e->act, e->alpha, e->beta);
		f.in_place = false;
		f.bias = NULL;
	}
	f.tail = e->post || e->res || act2;
	act2_done = !act_is_simple(act2);
	if (act2_done) {
		f.in_place = true;
		fast_run(e, &f, acc, ld, rows, o, n, place);
		tile_act(acc, ld, rows, n, act2, e->alpha2, e->beta2);
		f = (struct fast){ 0 };
		fast_quant(e, &f);
	}
	f.act2 = act2_done ? NPU_ACT_NONE : act2;
	fast_run(e, &f, acc, ld, rows, o, n, place);
	if (e->table)
		table_map(e, rows, o, n, place);
}

#define COLUMN_MAX	64

static void column_store(const struct npu_epi *e, char *out, ptrdiff_t step,
			 const float *restrict v, unsigned int n)
{
	unsigned char c[COLUMN_MAX];
	npu_u16 h[COLUMN_MAX];
	float f[COLUMN_MAX];
	struct fast q = { 0 };
	struct codes codes;
	unsigned int i;

	if (is_code(e->out->dtype)) {
		fast_quant(e, &q);
		codes = codes_of(e, &q);
		/* v is of whole vectors */
		for (i = 0; i < n; i += VL)
			codes_store(&codes, (char *)c + i, vf_load(v + i), VL);
		for (i = 0; i < n; i++, out += step)
			*(unsigned char *)out = e->table ? e->table[c[i]] : c[i];
		return;
	}
	if (e->out->dtype == NPU_F16) {
		for (i = 0; i < n; i++)
			h[i] = npu_f32_to_f16(v[i]);
		if (step == sizeof(*h))
			memcpy(out, h, n * sizeof(*h));
		else
			for (i = 0; i < n; i++, out += step)
				memcpy(out, &h[i], sizeof(*h));
		return;
	}
	for (i = 0; i < n; i++)
		f[i] = npu_canon_f32(v[i]);
	if (step == sizeof(*f))
		memcpy(out, f, n * sizeof(*f));
	else
		for (i = 0; i < n; i++, out += step)
			memcpy(out, &f[i], sizeof(*f));
}

/* Sums become real values where they are. */
static void column_sums_to_real(float *v, unsigned int n, npu_s32 bias, float scale)
{
	npu_u32 sum[COLUMN_MAX];
	unsigned int i;

	memcpy(sum, v, n * sizeof(*sum));
	for (i = 0; i < n; i++)
		v[i] = (float)(npu_s32)(sum[i] + (npu_u32)bias) * scale;
}

/* One channel of @n pixels. */
static void column(const struct npu_epi *e, const float *acc, size_t ld, unsigned int n, npu_u32 o,
		   char *out, ptrdiff_t out_step, const char *res, ptrdiff_t res_step)
{
	float v[COLUMN_MAX] = { 0 }, s[COLUMN_MAX] = { 0 };
	unsigned int i;

	for (i = 0; i < n; i++)
		v[i] = acc[i * ld];
	if (e->scale)
		column_sums_to_real(v, n, e->ibias ? e->ibias[o] : 0, e->scale[o]);
	if (e->bias)
		for (i = 0; i < n; i++)
			v[i] += e->bias[o];
	if (e->slope)
		for (i = 0; i < n; i++)
			s[i] = e->slope[o];
	npu_act_block(v, n, e->act, e->alpha, e->beta, s);
	if (e->post)
		for (i = 0; i < n; i++)
			v[i] = npu_fma_f32(v[i], e->post_mul, e->post_add);
	if (e->res) {
		for (i = 0; i < n; i++, res += res_step)
			s[i] = npu_elem_load(e->res, res);
		if (e->join == NPU_JOIN_ADD)
			for (i = 0; i < n; i++)
				v[i] += s[i];
		else
			for (i = 0; i < n; i++)
				v[i] *= s[i];
	}
	npu_act_block(v, n, e->act2, e->alpha2, e->beta2, NULL);
	column_store(e, out, out_step, v, n);
}

/* Few channels, or channels far apart (planar output): vectors lie along the pixels. */
static void column_epilogue(const struct npu_epi *e, const float *acc, size_t ld, unsigned int rows,
			    npu_u32 o, unsigned int n, const struct npu_epi_place *place)
{
	unsigned int r, w, j;

	for (r = 0; r < rows; r += w) {
		w = rows - r < COLUMN_MAX ? rows - r : COLUMN_MAX;
		for (j = 0; j < n; j++)
			column(e, acc + r * ld + j, ld, w, o + j,
			       place->out + (ptrdiff_t)(o + j) * e->out_chan +
				       (ptrdiff_t)r * place->out_step,
			       place->out_step,
			       place->res ? place->res + (ptrdiff_t)(o + j) * e->res_chan +
						    (ptrdiff_t)r * place->res_step :
					    NULL,
			       place->res_step);
	}
}

/* Real outputs of a float accumulator, or of sums that have a scale. */
static bool is_real_out(const struct npu_epi *e)
{
	if (e->raw)
		return false;
	return e->out->dtype == NPU_F16 || e->out->dtype == NPU_F32 ||
	       (e->scale && is_code(e->out->dtype) && e->out->scale != 0.0f);
}

static bool is_fast(const struct npu_epi *e)
{
	npu_s64 size = is_code(e->out->dtype) ? 1 : e->out->dtype == NPU_F16 ? 2 : 4;

	if (e->out_chan != size)
		return false;
	if (!e->res || e->res_chan == 0)
		return true;
	return (e->res->dtype == NPU_F16 && e->res_chan == 2) ||
	       (e->res->dtype == NPU_F32 && e->res_chan == 4) ||
	       (is_code(e->res->dtype) && e->res_chan == 1);
}

/* The sums themselves, dense. */
static void raw_epilogue(const struct npu_epi *e, const float *acc, size_t ld, unsigned int rows,
			 npu_u32 o, unsigned int n, char *out, ptrdiff_t out_step)
{
	npu_u32 sum[EPI_MAX_ROW];
	unsigned int r, i, j, w;

	for (r = 0; r < rows; r++, out += out_step)
		for (i = 0; i < n; i += w) {
			w = n - i < EPI_MAX_ROW ? n - i : EPI_MAX_ROW;
			memcpy(sum, acc + r * ld + i, w * sizeof(*sum));
			for (j = 0; e->ibias && j < w; j++)
				sum[j] += (npu_u32)e->ibias[o + i + j];
			memcpy(out + (size_t)i * 4, sum, w * sizeof(*sum));
		}
}

void EPI_FN(const struct npu_epi *e, float *acc, size_t ld, unsigned int rows, npu_u32 o,
	    unsigned int n, const struct npu_epi_place *place)
{
	const char *res = place->res ? place->res + (ptrdiff_t)o * e->res_chan : NULL;
	char *out = place->out + (ptrdiff_t)o * e->out_chan;
	unsigned int r, i, w;

	if (e->raw && e->out_chan == 4)
		return raw_epilogue(e, acc, ld, rows, o, n, out, place->out_step);
	if (is_real_out(e)) {
		bool columns = (n <= 4 && rows > 4) || (!is_fast(e) && rows > 1);

		if (columns)
			return column_epilogue(e, acc, ld, rows, o, n, place);
		if (is_fast(e))
			return fast_epilogue(e, acc, ld, rows, o, n, place);
	}
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
