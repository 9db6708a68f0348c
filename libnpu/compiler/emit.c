// SPDX-License-Identifier: MIT
/* Instructions are written with a stream builder, which checks each one as the device will. */
#include <errno.h>
#include <string.h>

#include "compiler/camera.h"
#include "compiler/emit.h"
#include "compiler/host_place.h"

struct scalars {
	struct npu_lower *l;
	unsigned int num;	/* symbols first, then products */
	struct { int16_t a, b; } product[NPU_MAX_SCALARS];
};

/* The scalar that stands for s[a] * s[b] (b < 0: for s[a]), or -ENOSPC. */
static int scalar_of(struct scalars *sc, int16_t a, int16_t b)
{
	unsigned int syms = sc->l->g->num_syms;

	if (b < 0)
		return a;
	for (unsigned int i = syms; i < sc->num; i++)
		if (sc->product[i].a == a && sc->product[i].b == b)
			return (int)i;
	if (sc->num == NPU_MAX_SCALARS)
		return -ENOSPC;
	sc->product[sc->num].a = a;
	sc->product[sc->num].b = b;
	return (int)sc->num++;
}

static int collect_poly(struct scalars *sc, const struct npu_poly *p)
{
	for (unsigned int i = 0; i < p->num_terms; i++) {
		int s = scalar_of(sc, p->term[i].a, p->term[i].b);

		if (s < 0)
			return s;
	}
	return 0;
}

static bool is_one(struct npu_dim d)
{
	return d.sym == NPU_DIM_CONST && d.base == 1;
}

static bool has_product(const struct npu_poly *p)
{
	for (unsigned int i = 0; i < p->num_terms; i++)
		if (p->term[i].b >= 0)
			return true;
	return false;
}

/*
 * Bytes of a dense tensor as a polynomial; the bound where that is not possible. An output whose
 * planes vary in two lengths is padded (see npu_lview_dense()), so that its size is the bound, too.
 */
static void dense_size(const struct npu_gtensor *t, bool padded, uint64_t bound,
		       struct npu_poly *out)
{
	if (padded) {
		*out = npu_poly_const((int64_t)bound);
		return;
	}
	*out = npu_poly_const((int64_t)npu_gtype_size(t->type));
	for (int i = 0; i < t->rank; i++)
		if (npu_poly_mul_dim(out, t->dim[i], out)) {
			*out = npu_poly_const((int64_t)bound);
			return;
		}
	if (out->num_terms > NPU_JOBFILE_TERMS)
		*out = npu_poly_const((int64_t)bound);
}

/* The view of a model output; true when a stride is padded to its bound. */
static bool output_view(const struct npu_lower *l, const struct npu_gtensor *t, struct npu_lview *v)
{
	bool padded = false;

	npu_lview_of(t, npu_lower_user_dtype(l, t), v);
	if (npu_lview_dense(l, v, NULL, false))
		padded = true;
	for (int i = 0; i < v->rank; i++)
		padded |= has_product(&v->stride[i]);
	npu_lview_dense(l, v, NULL, true);
	return padded;
}

/* Model input or output @i, inputs first, and its buffer. */
static const struct npu_gtensor *io_tensor(const struct npu_lower *l, unsigned int i,
					   const struct npu_lbuf **buf)
{
	unsigned int n = l->g->num_inputs;

	*buf = i < n ? l->input_buf[i] : l->output_buf[i - n];
	return i < n ? l->g->inputs[i] : l->g->outputs[i - n];
}

static int collect_scalars(struct scalars *sc)
{
	struct npu_lower *l = sc->l;
	int err = 0;

	sc->num = l->g->num_syms;
	if (sc->num > NPU_MAX_SCALARS)
		return -ENOSPC;
	for (unsigned int i = 0; i < l->g->num_inputs + l->g->num_outputs && !err; i++) {
		const struct npu_lbuf *b;
		const struct npu_gtensor *t = io_tensor(l, i, &b);
		struct npu_lview v;
		struct npu_poly p;

		dense_size(t, i >= l->g->num_inputs && output_view(l, t, &v), b->size, &p);
		err = collect_poly(sc, &p);
	}
	if (err)
		return err;
	for (unsigned int i = 0; i < l->num_insns; i++)
		for (unsigned int s = 0; s < l->insns[i]->desc->num_slots; s++) {
			const struct npu_lview *v = l->insns[i]->operand[s];

			if (!v)
				continue;
			err = collect_poly(sc, &v->offset);
			for (int d = 0; d < v->rank && !err; d++)
				if (!is_one(v->dim[d]))
					err = collect_poly(sc, &v->stride[d]);
			if (err)
				return err;
		}
	return 0;
}

/* ---- operands -------------------------------------------------------------------------------- */

static int poly_len(struct scalars *sc, const struct npu_poly *p, struct npu_len *out)
{
	*out = npu_len(p->base);
	if (p->num_terms > NPU_LEN_TERMS)
		return -ERANGE;
	for (unsigned int i = 0; i < p->num_terms; i++) {
		int s = scalar_of(sc, p->term[i].a, p->term[i].b);

		if (s < 0 || p->term[i].factor > INT32_MAX || p->term[i].factor < INT32_MIN)
			return -ERANGE;
		out->term[i].factor = (int32_t)p->term[i].factor;
		out->term[i].scalar = (uint32_t)s;
	}
	return 0;
}

static int dim_len(struct scalars *sc, struct npu_dim d, struct npu_len *out)
{
	struct npu_poly p = npu_poly_dim(d);

	return poly_len(sc, &p, out);
}

static unsigned int region_of(const struct npu_lower *l, const struct npu_lbuf *b)
{
	switch (b->kind) {
	case NPU_LBUF_WEIGHT:
		return NPU_REGION_ID_WEIGHTS;
	case NPU_LBUF_INPUT:
		return NPU_REGION_ID_IO + b->index;
	case NPU_LBUF_OUTPUT:
		return NPU_REGION_ID_IO + l->g->num_inputs + b->index;
	case NPU_LBUF_STATE:
		return NPU_REGION_ID_IO + l->g->num_inputs + l->g->num_outputs;
	default:
		return b->on_chip ? NPU_REGION_ID_SRAM : NPU_REGION_ID_SCRATCH;
	}
}

static int view_tensor(struct scalars *sc, const struct npu_lview *v, struct npu_tensor *t)
{
	struct npu_poly offset = v->offset;
	int err = 0;

	memset(t, 0, sizeof(*t));
	t->dtype = v->dtype;
	t->layout = v->layout;
	t->region = region_of(sc->l, v->buf);
	t->rank = (unsigned int)v->rank;
	t->scale = v->scale;
	t->zero_point = v->zero_point;
	if (__builtin_add_overflow(offset.base, (int64_t)v->buf->offset, &offset.base))
		return -ERANGE;
	err = poly_len(sc, &offset, &t->offset);
	for (int i = 0; i < v->rank && !err; i++) {
		err = dim_len(sc, v->dim[i], &t->dim[i]);
		if (!err && v->layout == NPU_LAYOUT_STRIDED && !is_one(v->dim[i]))
			err = poly_len(sc, &v->stride[i], &t->stride[i]);
	}
	return err;
}

static int emit_error(struct npu_lower *l, const struct npu_linsn *insn, int err, const char *text)
{
	if (err == -ENOMEM)
		return err;
	if (insn->node)
		return npu_diag_node(l->diag, err, insn->node, insn->desc->mnemonic, "%s", text);
	return npu_diag_add(l->diag, err, insn->desc->mnemonic, "%s", text);
}

static int emit_insn(struct scalars *sc, struct npu_stream_builder *b, const struct npu_linsn *insn)
{
	const struct npu_tensor *operand[NPU_MAX_OPERANDS] = { NULL };
	struct npu_tensor tensor[NPU_MAX_OPERANDS];
	struct npu_param_len len[NPU_MAX_PARAMS];
	unsigned int num_lens = 0;
	int err;

	for (unsigned int s = 0; s < insn->desc->num_slots; s++) {
		if (!insn->operand[s])
			continue;
		if (view_tensor(sc, insn->operand[s], &tensor[s]))
			return emit_error(sc->l, insn, -EOPNOTSUPP,
					  "its strides need too many products of run-time lengths");
		operand[s] = &tensor[s];
	}
	for (unsigned int p = 0; p < insn->desc->num_params; p++) {
		if (insn->len[p].sym < 0)
			continue;
		len[num_lens].index = p;
		err = dim_len(sc, insn->len[p], &len[num_lens].len);
		if (err)
			return emit_error(sc->l, insn, err, "a run-time length is too large");
		num_lens++;
	}
	err = npu_stream_emit_tensors(b, (enum npu_opcode)insn->desc->code, operand, insn->param,
				      len, num_lens, insn->tag);
	return err ? emit_error(sc->l, insn, err, npu_stream_error(b)) : 0;
}

static int declare_scalars(struct scalars *sc, struct npu_stream_builder *b)
{
	const struct npu_symbol *sym = sc->l->g->syms;
	unsigned int n = sc->l->g->num_syms;

	for (unsigned int i = 0; i < sc->num; i++) {
		int64_t lo, hi;
		int err;

		if (i < n) {
			lo = sym[i].smin;
			hi = sym[i].smax;
		} else if (__builtin_mul_overflow(sym[sc->product[i].a].smin,
						  sym[sc->product[i].b].smin, &lo) ||
			   __builtin_mul_overflow(sym[sc->product[i].a].smax,
						  sym[sc->product[i].b].smax, &hi)) {
			return -ERANGE;
		}
		if (hi > (int64_t)UINT32_MAX)
			return -ERANGE;
		err = npu_stream_scalar(b, (uint32_t)lo, (uint32_t)hi);
		if (err < 0)
			return err;
	}
	return 0;
}

/* ---- the description ------------------------------------------------------------------------- */

static int describe_symbols(struct scalars *sc, struct npu_jobfile_program *p)
{
	struct npu_jobfile_symbol *s = npu_arena_array(sc->l->arena, sc->num + 1, sizeof(*s));
	const struct npu_symbol *sym = sc->l->g->syms;

	if (!s)
		return -ENOMEM;
	for (unsigned int i = 0; i < sc->num; i++) {
		if (i < sc->l->g->num_syms) {
			s[i] = (struct npu_jobfile_symbol){ .name = sym[i].name,
							    .kind = sym[i].stride ?
								    NPU_SYMBOL_STRIDE :
								    NPU_SYMBOL_FREE,
							    .min = (npu_u32)sym[i].min,
							    .max = (npu_u32)sym[i].max,
							    .step = (npu_u32)sym[i].step };
			continue;
		}
		s[i].kind = NPU_SYMBOL_PRODUCT;
		s[i].a = (npu_u8)sc->product[i].a;
		s[i].b = (npu_u8)sc->product[i].b;
		s[i].name = npu_arena_printf(sc->l->arena, "%s*%s", sym[s[i].a].name,
					     sym[s[i].b].name);
		if (!s[i].name)
			return -ENOMEM;
	}
	p->symbols = s;
	p->num_symbols = sc->num;
	return 0;
}

static int poly_expr(struct scalars *sc, const struct npu_poly *p, struct npu_jobfile_expr *e)
{
	*e = NPU_JOBFILE_CONST(p->base);
	for (unsigned int i = 0; i < p->num_terms; i++) {
		int s = scalar_of(sc, p->term[i].a, p->term[i].b);

		if (s < 0 || i >= NPU_JOBFILE_TERMS)
			return -ERANGE;
		e->factor[i] = p->term[i].factor;
		e->sym[i] = (npu_u8)s;
	}
	return 0;
}

/* A plane of a frame begins at any byte, and its last row ends with its bytes. */
static int describe_plane(struct scalars *sc, const struct npu_gtensor *t,
			  struct npu_jobfile_region *r, struct npu_jobfile_tensor *out)
{
	struct npu_poly pitch = npu_poly_dim(t->pitch), size;
	int err = npu_poly_scale(&pitch, t->dim[0].base - 1, &size);

	if (err)
		return err;
	size.base += t->dim[1].base;
	r->align = 1;
	out->flags = 0;
	out->stride[1] = NPU_JOBFILE_CONST(1);
	err = poly_expr(sc, &size, &r->size);
	return err ? err : poly_expr(sc, &pitch, &out->stride[0]);
}

/* Inputs and outputs: regions of their own, dense at every length but for planes of frames. */
static int describe_io(struct scalars *sc, struct npu_jobfile_region *regions,
		       struct npu_jobfile_tensor *tensors)
{
	struct npu_lower *l = sc->l;
	int err = 0;

	for (unsigned int i = 0; i < l->g->num_inputs + l->g->num_outputs && !err; i++) {
		bool in = i < l->g->num_inputs;
		const struct npu_lbuf *b;
		const struct npu_gtensor *t = io_tensor(l, i, &b);
		const char *name = in ? t->name : l->output_name[i - l->g->num_inputs];
		const struct npu_gnode *node =
			in ? (t->num_consumers ? t->consumer[0] : NULL) : t->producer;
		struct npu_jobfile_region *r = &regions[NPU_REGION_ID_IO + i];
		bool padded;
		struct npu_lview v;
		struct npu_poly size;

		*r = (struct npu_jobfile_region){
			.name = name,
			.role = in ? NPU_REGION_INPUT : NPU_REGION_OUTPUT,
			.access = in ? NPU_ACCESS_READ : NPU_ACCESS_READ | NPU_ACCESS_WRITE,
			.align = NPU_PLAN_ALIGN,
		};
		padded = output_view(l, t, &v) && !in;
		dense_size(t, padded, b->size, &size);
		err = poly_expr(sc, &size, &r->size);
		tensors[i] = (struct npu_jobfile_tensor){
			.name = name,
			.node = node ? node->name : "",
			.role = in ? NPU_TENSOR_INPUT : NPU_TENSOR_OUTPUT,
			.dtype = npu_lower_dtype(l, t) == NPU_NONE ? npu_host_dtype_of(t->type) :
								     v.dtype,
			.rank = (npu_u32)t->rank,
			.region = NPU_REGION_ID_IO + i,
			.flags = padded		   ? 0 :
				 t->bounded && !in ? NPU_JOBFILE_DENSE | NPU_JOBFILE_BOUNDED :
						     NPU_JOBFILE_DENSE,
			.scale = v.scale,
			.zero_point = v.zero_point,
		};
		for (int d = 0; d < t->rank && !err; d++) {
			struct npu_poly p = npu_poly_dim(t->dim[d]);

			err = poly_expr(sc, &p, &tensors[i].dim[d]);
			if (!err && padded)
				err = poly_expr(sc, &v.stride[d], &tensors[i].stride[d]);
		}
		if (!err && in && (t->pitch.base || t->pitch.factor))
			err = describe_plane(sc, t, r, &tensors[i]);
	}
	return err;
}

/* Frames of a camera; their planes are inputs. */
static int describe_images(struct npu_lower *l, struct npu_jobfile_program *p)
{
	struct npu_jobfile_image *img = npu_arena_array(l->arena, l->g->num_images + 1,
							sizeof(*img));

	if (!img)
		return -ENOMEM;
	for (unsigned int i = 0; i < l->g->num_images; i++) {
		const struct npu_gimage *g = &l->g->images[i];

		img[i] = (struct npu_jobfile_image){ .name = g->name,
						     .spec = g->camera->spec,
						     .fourcc = g->camera->format->fourcc,
						     .width = g->camera->width,
						     .height = g->camera->height,
						     .num_planes = g->num_planes };
		for (unsigned int k = 0; k < g->num_planes; k++)
			while (l->g->inputs[img[i].plane[k]] != g->plane[k])
				img[i].plane[k]++;
	}
	p->images = img;
	p->num_images = l->g->num_images;
	return 0;
}

/* The counters of clipped values: one state tensor, and a name for each row of it. */
static void describe_clips(const struct npu_lower *l, struct npu_jobfile_region *r,
			   unsigned int region, struct npu_jobfile_tensor *t)
{
	*r = (struct npu_jobfile_region){ .name = l->clip_buf->name,
					  .role = NPU_REGION_STATE,
					  .access = NPU_ACCESS_READ | NPU_ACCESS_WRITE,
					  .size = NPU_JOBFILE_CONST((int64_t)l->clip_buf->size),
					  .align = NPU_PLAN_ALIGN };
	*t = (struct npu_jobfile_tensor){ .name = NPU_CLIP_TENSOR,
					  .node = "",
					  .role = NPU_TENSOR_STATE,
					  .dtype = NPU_I64,
					  .rank = 2,
					  .region = region,
					  .dim = { NPU_JOBFILE_CONST(l->max_clips),
						   NPU_JOBFILE_CONST(3) },
					  .flags = NPU_JOBFILE_DENSE };
	for (unsigned int i = 0; i < l->num_clips; i++)
		t[1 + i] =
			(struct npu_jobfile_tensor){ .name = l->clip[i].name,
						     .node = l->clip[i].node->name,
						     .role = NPU_TENSOR_INTERNAL,
						     .dtype = NPU_I64,
						     .rank = 1,
						     .region = region,
						     .dim = { NPU_JOBFILE_CONST(3) },
						     .offset = NPU_JOBFILE_CONST(24 * (int64_t)i),
						     .flags = NPU_JOBFILE_DENSE,
						     .scale = l->clip[i].t->quant->scale,
						     .zero_point = l->clip[i].t->quant->zero };
}

static unsigned int count_host_args(const struct npu_lower *l)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < l->num_insns; i++)
		if (l->insns[i]->host)
			n += l->insns[i]->host->num_in + l->insns[i]->host->num_out;
	return n;
}

static int describe_memory(struct scalars *sc, const struct npu_plan *plan, uint64_t weights_size,
			   struct npu_jobfile_program *p)
{
	unsigned int io = sc->l->g->num_inputs + sc->l->g->num_outputs, clips = sc->l->num_clips;
	struct npu_jobfile_region *r = npu_arena_array(sc->l->arena, NPU_REGION_ID_IO + io + 1,
						       sizeof(*r));
	struct npu_jobfile_tensor *t =
		npu_arena_array(sc->l->arena, io + clips + count_host_args(sc->l) + 1, sizeof(*t));

	if (!r || !t)
		return -ENOMEM;
	r[NPU_REGION_ID_WEIGHTS] =
		(struct npu_jobfile_region){ .name = "weights",
					     .role = NPU_REGION_WEIGHTS,
					     .access = NPU_ACCESS_READ,
					     .size = NPU_JOBFILE_CONST((int64_t)weights_size),
					     .align = NPU_PLAN_ALIGN };
	r[NPU_REGION_ID_SCRATCH] =
		(struct npu_jobfile_region){ .name = "scratch",
					     .role = NPU_REGION_SCRATCH,
					     .access = NPU_ACCESS_READ | NPU_ACCESS_WRITE,
					     .size = NPU_JOBFILE_CONST((int64_t)plan->scratch),
					     .align = NPU_PLAN_ALIGN };
	r[NPU_REGION_ID_SRAM] = (struct npu_jobfile_region){
		.name = "sram",
		.role = NPU_REGION_SRAM,
		.access = NPU_ACCESS_READ | NPU_ACCESS_WRITE | NPU_ACCESS_SRAM,
		.size = NPU_JOBFILE_CONST((int64_t)plan->sram),
		.align = NPU_PLAN_ALIGN
	};
	p->regions = r;
	p->num_regions = NPU_REGION_ID_IO + io;
	p->tensors = t;
	p->num_tensors = io;
	if (sc->l->clip_buf) {
		describe_clips(sc->l, &r[p->num_regions], p->num_regions, &t[io]);
		p->num_regions++;
		p->num_tensors += 1 + clips;
	}
	return describe_io(sc, r, t);
}

void npu_emit_traffic(const struct npu_lower *l, const struct npu_linsn *insn, uint64_t *read,
		      uint64_t *written)
{
	const struct npu_lhost *h = insn->host;

	*read = *written = 0;
	for (unsigned int i = 0; h && i < h->num_in + h->num_out; i++) {
		uint64_t bytes =
			h->arg[i].present ? (uint64_t)npu_lview_bytes(l, &h->arg[i].view) : 0;

		*(i < h->num_in ? read : written) += bytes;
	}
	for (unsigned int s = 0; s < insn->desc->num_slots; s++) {
		uint64_t bytes = insn->operand[s] ? (uint64_t)npu_lview_bytes(l, insn->operand[s]) :
						    0;

		if (insn->desc->slots[s].dir != NPU_DIR_OUT)
			*read += bytes;
		if (insn->desc->slots[s].dir != NPU_DIR_IN)
			*written += bytes;
	}
}

static uint64_t host_macs(const struct npu_lower *l, const struct npu_gnode *n)
{
	int64_t high[NPU_GRAPH_MAX_SYMS] = { 0 };

	for (unsigned int i = 0; i < l->g->num_syms; i++)
		high[i] = l->g->syms[i].smax;
	return (uint64_t)npu_gnode_macs(n, high);
}

/*
 * Multiply-accumulates at the bound. The last dimensions of a weight, or the last of a, are what is
 * summed over.
 */
static uint64_t insn_macs(const struct npu_lower *l, const struct npu_linsn *insn)
{
	const struct npu_lview *k;
	int64_t macs = 1;
	int from;

	if (insn->host)
		return host_macs(l, insn->host->node);
	switch (insn->desc->code) {
	case NPU_OP_CONV:
	case NPU_OP_CONV_TRANSPOSE:
		k = insn->operand[NPU_CONV_WEIGHT];
		from = 1;
		break;
	case NPU_OP_MATMUL:
		k = insn->operand[NPU_MATMUL_A];
		from = k->rank - 1;
		break;
	default:
		return 0;
	}
	/* Of a transposed convolution all taps are applied at every input. */
	for (int i = 0; i < insn->operand[0]->rank; i++) {
		bool input = insn->desc->code == NPU_OP_CONV_TRANSPOSE && i < 3;

		macs *= npu_dim_high(l->g,
				     insn->operand[input ? NPU_CONV_TRANSPOSE_IN : 0]->dim[i]);
	}
	for (int i = from; i < k->rank; i++)
		macs *= npu_dim_high(l->g, k->dim[i]);
	return (uint64_t)macs;
}

static const char *join_sources(struct npu_lower *l, const struct npu_gnode *n)
{
	const char *s = n->num_sources ? n->sources[0] : n->name;

	for (unsigned int i = 1; i < n->num_sources && s; i++)
		s = npu_arena_printf(l->arena, "%s + %s", s, n->sources[i]);
	return s;
}

static int describe_debug(struct npu_lower *l, struct npu_jobfile_program *p)
{
	struct npu_jobfile_debug *d = npu_arena_array(l->arena, l->num_insns + 1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	for (unsigned int i = 0; i < l->num_insns; i++) {
		const struct npu_linsn *insn = l->insns[i];
		const struct npu_gnode *n = insn->node;
		uint64_t read, written;

		npu_emit_traffic(l, insn, &read, &written);
		d[i].tag = insn->tag;
		d[i].slot = 0;	/* results come first in every opcode */
		d[i].node = n ? join_sources(l, n) : "";
		d[i].op = !n ? "" : n->host ? n->host->name : npu_gnode_info(n)->name;
		d[i].tensor = n && n->outputs[0] ? n->outputs[0]->name : "";
		if (n && n->outputs[0] && n->outputs[0]->quant)
			d[i].scale = n->outputs[0]->quant->scale;
		d[i].macs = insn_macs(l, insn);
		d[i].bytes = read + written;
		if (!d[i].node)
			return -ENOMEM;
	}
	p->debug = d;
	p->num_debug = l->num_insns;
	return 0;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool same_expr(const struct npu_jobfile_expr *a, const struct npu_jobfile_expr *b)
{
	bool same = a->base == b->base;

	for (int i = 0; i < NPU_JOBFILE_TERMS; i++)
		same &= a->factor[i] == b->factor[i] && a->sym[i] == b->sym[i];
	return same;
}

static bool same_tensor(const struct npu_jobfile_tensor *a, const struct npu_jobfile_tensor *b)
{
	bool same = a->region == b->region && a->dtype == b->dtype && a->rank == b->rank &&
		    a->flags == b->flags && same_expr(&a->offset, &b->offset);

	for (npu_u32 d = 0; d < a->rank && same; d++)
		same = same_expr(&a->dim[d], &b->dim[d]);
	return same;
}

/*
 * Argument @arg as a tensor of the program: the model's input or output that it is, or a new one.
 */
static int describe_arg(struct scalars *sc, struct npu_jobfile_program *p,
			struct npu_jobfile_tensor *tensors, const struct npu_lharg *arg,
			npu_u32 *index)
{
	const struct npu_lbuf *b = arg->view.buf;
	struct npu_jobfile_tensor t = {
		.name = *arg->t->name ? arg->t->name : "?",
		.node = arg->t->producer ? arg->t->producer->name : "",
		.role = NPU_TENSOR_INTERNAL,
		.dtype = arg->dtype,
		.rank = (npu_u32)arg->view.rank,
		.region = region_of(sc->l, b),
		.offset = NPU_JOBFILE_CONST(arg->view.offset.base + (int64_t)b->offset),
		.flags = arg->t->bounded ? NPU_JOBFILE_DENSE | NPU_JOBFILE_BOUNDED :
					   NPU_JOBFILE_DENSE,
	};
	int err = 0;

	for (int d = 0; d < arg->view.rank && !err; d++) {
		struct npu_poly dim = npu_poly_dim(arg->view.dim[d]);

		err = poly_expr(sc, &dim, &t.dim[d]);
	}
	/* Tensors are few, and those of users come first. */
	for (*index = 0; *index < p->num_tensors; ++*index) {
		const struct npu_jobfile_tensor *u = &tensors[*index];

		if (same_tensor(u, &t) &&
		    (u->role != NPU_TENSOR_INTERNAL || !strcmp(u->name, t.name)))
			return err;
	}
	tensors[p->num_tensors++] = t;
	return err;
}

static int describe_attrs(struct npu_lower *l, const struct npu_gnode *n,
			  struct npu_jobfile_step *step)
{
	struct npu_host_attr *a = npu_arena_array(l->arena, n->num_attrs + 1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	for (unsigned int i = 0; i < n->num_attrs; i++)
		step->num_attr += npu_host_attr_of(&a[step->num_attr], &n->attrs[i]);
	step->attr = a;
	return 0;
}

static int emit_host(struct scalars *sc, struct npu_jobfile_program *p,
		     const struct npu_linsn *insn, struct npu_jobfile_step *step)
{
	const struct npu_lhost *h = insn->host;
	struct npu_jobfile_tensor *tensors = (struct npu_jobfile_tensor *)p->tensors;
	npu_u32 *args = npu_arena_array(sc->l->arena, h->num_in + h->num_out + 1, sizeof(*args));
	int err = args ? 0 : -ENOMEM;

	*step = (struct npu_jobfile_step){ .kind = NPU_STEP_HOST,
					   .domain = h->node->host->domain,
					   .op = h->node->host->name,
					   .node = join_sources(sc->l, h->node),
					   .opset = (npu_u32)h->node->opset,
					   .tag = insn->tag,
					   .num_in = h->num_in,
					   .num_out = h->num_out,
					   .in = args };
	if (!step->node)
		return -ENOMEM;
	for (unsigned int i = 0; i < h->num_in + h->num_out && !err; i++) {
		args[i] = NPU_JOBFILE_ABSENT;
		if (h->arg[i].present)
			err = describe_arg(sc, p, tensors, &h->arg[i], &args[i]);
	}
	step->out = args + h->num_in;
	return err ? err : describe_attrs(sc->l, h->node, step);
}

/* The instructions from @first to the next host step, as a stream. */
static int emit_stream(struct scalars *sc, struct npu_emitted *out, unsigned int *first,
		       struct npu_jobfile_step *step)
{
	struct npu_stream_builder **b = &out->builder[out->num_builders];
	struct npu_lower *l = sc->l;
	size_t size;
	int err = npu_stream_create(out->program.num_regions, b);

	if (err)
		return err;
	out->num_builders++;
	err = declare_scalars(sc, *b);
	if (err)
		return npu_diag_add(l->diag, err, "shape",
				    "a run-time length or a product of two is too large");
	for (; *first < l->num_insns && !l->insns[*first]->host; ++*first) {
		int e = emit_insn(sc, *b, l->insns[*first]);

		if (e == -ENOMEM)
			return e;
		err = e ? e : err;	/* go on: all that is wrong is reported */
	}
	if (err)
		return err;
	*step = (struct npu_jobfile_step){ .kind = NPU_STEP_STREAM };
	err = npu_stream_finish(*b, &step->stream, &size);
	step->stream_size = (npu_u32)size;
	return err ? npu_diag_add(l->diag, err, "stream", "%s", npu_stream_error(*b)) : 0;
}

static int emit_steps(struct scalars *sc, struct npu_emitted *out)
{
	struct npu_jobfile_program *p = &out->program;
	struct npu_lower *l = sc->l;
	struct npu_jobfile_step *steps =
		npu_arena_array(l->arena, l->num_insns + 1, sizeof(*steps));
	unsigned int at = 0, n = 0;
	int err = 0, first = 0;

	out->builder = npu_arena_array(l->arena, l->num_insns + 1, sizeof(*out->builder));
	if (!steps || !out->builder)
		return -ENOMEM;
	do {
		if (at < l->num_insns && l->insns[at]->host)
			err = emit_host(sc, p, l->insns[at++], &steps[n++]);
		else
			err = emit_stream(sc, out, &at, &steps[n++]);
		if (err == -ENOMEM)
			return err;
		/* go on: all that is wrong is reported */
		while (err && at < l->num_insns && !l->insns[at]->host)
			at++;
		first = first ? first : err;
	} while (at < l->num_insns);
	if (n == 1 && steps[0].kind == NPU_STEP_STREAM) {
		p->stream = steps[0].stream;
		p->stream_size = steps[0].stream_size;
	} else {
		p->steps = steps;
		p->num_steps = n;
	}
	return first;
}

int npu_emit_program(struct npu_lower *l, const struct npu_plan *plan, uint64_t weights_size,
		     const char *name, struct npu_emitted *out)
{
	struct scalars sc = { .l = l };
	struct npu_jobfile_program *p = &out->program;
	int err = collect_scalars(&sc);

	memset(out, 0, sizeof(*out));
	if (err)
		return npu_diag_add(l->diag, -EOPNOTSUPP, "shape",
				    "more than %d run-time lengths and products of them",
				    NPU_MAX_SCALARS);
	p->name = name;
	err = describe_symbols(&sc, p);
	if (!err)
		err = describe_memory(&sc, plan, weights_size, p);
	if (!err)
		err = describe_images(l, p);
	if (!err)
		err = describe_debug(l, p);
	return err ? err : emit_steps(&sc, out);
}

void npu_emit_free(struct npu_emitted *e)
{
	for (unsigned int i = 0; i < e->num_builders; i++)
		npu_stream_destroy(e->builder[i]);
	memset(e, 0, sizeof(*e));
}
