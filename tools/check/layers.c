// SPDX-License-Identifier: MIT
#include "tools/check/layers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "npu_host.h"
#include "tools/vnpu/oracle/oracle.h"

/* A tensor with more elements than this is compared by a part of them. */
#define CAPTURE_MAX	(1u << 21)

/* ---- what a layer made ----------------------------------------------------------------------- */

static int capture_take(struct check_capture *c, const struct npu_operand *op,
			const unsigned char *base, double unit)
{
	struct oracle_view v = { op, (unsigned char *)(uintptr_t)base };
	npu_u32 index[NPU_MAX_RANK] = { 0 };
	npu_u64 n = 0, kept = 0;

	c->rank = op->rank;
	memcpy(c->dim, op->dim, sizeof(c->dim));
	c->elements = 1;
	for (unsigned int d = 0; d < op->rank; d++)
		c->elements *= op->dim[d];
	/* Odd, so that it does not keep to some of the channels. */
	c->step = ((c->elements + CAPTURE_MAX - 1) / CAPTURE_MAX) | 1;
	c->value = malloc((c->elements / c->step + 1) * sizeof(*c->value));
	if (!c->value)
		return -ENOMEM;
	if (!c->elements)
		return 0;
	do {
		if (n++ % c->step == 0)
			c->value[kept++] = (float)(unit * check_value(op, oracle_at(v, index)));
	} while (oracle_next(index, op->dim, op->rank));
	return 0;
}

static int layer_capture(struct check_layer *layer, const struct check_machine *m,
			 const struct npu_operand *op)
{
	/* An operand counts steps where the compiler has divided by the scale of the result. */
	double unit = layer->quantized && op->scale == 1 && layer->scale > 0 ? layer->scale : 1;
	struct check_capture *grown;

	grown = realloc(layer->capture, (layer->num_captures + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	layer->capture = grown;
	memset(&grown[layer->num_captures], 0, sizeof(*grown));
	return capture_take(&grown[layer->num_captures++], op,
			    check_machine_region(m, op->region) + op->offset, unit);
}

/* ---- running --------------------------------------------------------------------------------- */

static struct check_layer *layer_of(struct check_layers *l, const struct npu_jobfile_debug *d,
				    npu_u32 insn)
{
	const char *node = d ? d->node : "", *tensor = d ? d->tensor : "";
	struct check_layer *last = l->num ? &l->layer[l->num - 1] : NULL, *grown;

	if (last && !strcmp(last->node, node) && !strcmp(last->tensor, tensor))
		return last;
	grown = realloc(l->layer, (l->num + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	l->layer = grown;
	last = &grown[l->num++];
	*last = (struct check_layer){ .node = node, .op = d ? d->op : "", .tensor = tensor,
				      .first = insn, .fp32 = { .match = CHECK_ALONE } };
	return last;
}

static void layer_note(struct check_layers *l, struct check_layer *layer,
		       const struct check_result *r, bool known, bool sampled)
{
	double relative = r->largest > 0 ? r->worst / r->largest : 0;

	layer->insns++;
	layer->mnemonic = r->desc ? r->desc->mnemonic : "host";
	layer->elements += r->elements;
	layer->compared += r->compared;
	l->insns++;
	l->elements += r->elements;
	l->compared += r->compared;
	if (sampled) {
		l->sampled += r->compared;
		l->sampled_of += r->elements;
	}
	if (!r->desc)
		layer->host++;
	else if (!known)
		layer->unknown++;
	else if (!r->ok)
		layer->differ++;
	else if (r->worst == 0)
		layer->same++;
	else
		layer->within++;
	if (r->desc && known && r->ok && relative > layer->worst)
		layer->worst = relative;
	if (known && !r->ok && !layer->bad.desc)
		layer->bad = *r;
}

/* What the instruction or host step made, as the debug map says; false: nothing that it names. */
static bool made_operand(const struct check_machine *m, const struct check_result *r,
			 const struct npu_jobfile_debug *d, struct npu_operand *op)
{
	if (!d || d->slot == ~0u)
		return false;
	if (!r->desc) {
		const struct npu_jobfile_step *s = &m->current;

		return d->slot < s->num_out && s->out[d->slot] != NPU_JOBFILE_ABSENT &&
		       check_machine_tensor(m, s->out[d->slot], op);
	}
	/* Counters of clipped values go with the node, but are not what it makes. */
	if (r->desc->code == NPU_OP_COUNT)
		return false;
	if (d->slot >= r->desc->num_slots || r->desc->slots[d->slot].dir == NPU_DIR_IN ||
	    m->insn.operand[d->slot].dtype == NPU_NONE)
		return false;
	*op = m->insn.operand[d->slot];
	return true;
}

static int after_step(struct check_machine *m, const struct check_result *r, bool known,
		      bool capture, struct check_layers *l)
{
	const struct npu_jobfile_debug *d = npu_jobfile_debug_find(m->program, r->tag);
	struct check_layer *layer = layer_of(l, d, r->index);
	struct npu_operand op;

	if (!layer)
		return -ENOMEM;
	layer_note(l, layer, r, known, r->desc && oracle_can_sample(&m->insn));
	if (r->desc)
		l->macs += npu_insn_macs(&m->insn);
	if (!made_operand(m, r, d, &op))
		return 0;
	layer->dtype = op.dtype;
	layer->quantized = op.scale != 0;
	layer->scale = d->scale;
	return capture ? layer_capture(layer, m, &op) : 0;
}

int check_layers_run(struct check_machine *m, const struct check_how *how, bool capture,
		     void (*progress)(void *arg, npu_u32 insns), void *arg,
		     struct check_layers *out, struct npu_error *err)
{
	struct check_result r = { 0 };
	int ret;

	*out = (struct check_layers){ 0 };
	for (;;) {
		ret = check_step(m, how, &r, err);
		if (!ret || (ret < 0 && ret != -ENOTSUP))
			return ret;
		if (after_step(m, &r, ret > 0, capture, out))
			return npu_error_set(err, -ENOMEM, "no memory for what layers make");
		if (progress)
			progress(arg, r.index + 1);
	}
}

void check_layers_free(struct check_layers *l)
{
	for (size_t i = 0; i < l->num; i++) {
		for (unsigned int c = 0; c < l->layer[i].num_captures; c++)
			free(l->layer[i].capture[c].value);
		free(l->layer[i].capture);
	}
	free(l->layer);
	*l = (struct check_layers){ 0 };
}

bool check_is_real(unsigned int dtype)
{
	return npu_dtype_is_float(dtype) || dtype == NPU_HOST_F64;
}

/* ---- against another job --------------------------------------------------------------------- */

void check_difference_add(struct check_difference *d, struct check_dot *dot, double got,
			  double want)
{
	double off = fabs(got - want);

	d->compared++;
	if (got == want || (isnan(got) && isnan(want))) {
		off = 0;
	} else {
		d->differ++;
		if (!isfinite(got) || !isfinite(want)) {
			d->invalid++;
			return;
		}
	}
	if (!isfinite(want))
		return;
	d->worst = off > d->worst ? off : d->worst;
	d->largest = fabs(want) > d->largest ? fabs(want) : d->largest;
	dot->ab += got * want;
	dot->aa += got * got;
	dot->bb += want * want;
}

void check_difference_end(struct check_difference *d, const struct check_dot *dot)
{
	if (dot->aa > 0 && dot->bb > 0)
		d->cosine = fmin(1, dot->ab / sqrt(dot->aa) / sqrt(dot->bb));
	else
		d->cosine = dot->aa == dot->bb ? 1 : 0;
}

/* Products of the dims from each dim on, rising, without repetition. Returns how many. */
static unsigned int suffixes(const struct check_capture *c, npu_u64 out[NPU_MAX_RANK])
{
	npu_u64 product = 1;
	unsigned int n = 0;

	for (unsigned int d = c->rank; d-- > 0; ) {
		if (c->dim[d] == 1)
			continue;
		product *= c->dim[d];
		out[n++] = product;
	}
	return n;
}

/*
 * Are the elements in the same order? They are when the dims are the same, or when one job has only
 * joined dims that lie behind one another.
 */
static bool same_order(const struct check_capture *a, const struct check_capture *b)
{
	npu_u64 sa[NPU_MAX_RANK], sb[NPU_MAX_RANK];
	unsigned int na = suffixes(a, sa), nb = suffixes(b, sb), i = 0, k = 0, both = 0;

	while (i < na && k < nb) {
		if (sa[i] == sb[k]) {
			both++;
			i++;
			k++;
		} else if (sa[i] < sb[k]) {
			i++;
		} else {
			k++;
		}
	}
	return a->elements == b->elements && (both == na || both == nb);
}

static void compare_captures(struct check_difference *d, struct check_dot *dot,
			     const struct check_capture *got, const struct check_capture *want)
{
	npu_u64 n = (got->elements + got->step - 1) / got->step;

	for (npu_u64 i = 0; i < n; i++)
		check_difference_add(d, dot, got->value[i], want->value[i]);
}

static void layer_compare(struct check_layer *layer, const struct check_layer *ref)
{
	struct check_difference *d = &layer->fp32;
	struct check_dot dot = { 0, 0, 0 };
	unsigned int n = layer->num_captures, from = 0, skip = 0, i;

	*d = (struct check_difference){ .match = CHECK_RESHAPED };
	/* Where one job needs more instructions, the last one is what the layer is about. */
	if (n != ref->num_captures) {
		from = n - 1;
		skip = ref->num_captures - 1;
	}
	for (i = from; i < n; i++)
		if (!same_order(&layer->capture[i], &ref->capture[i - from + skip]))
			return;
	d->match = check_is_real(layer->dtype) || layer->quantized ? CHECK_COMPARED :
								     CHECK_INTEGER;
	for (i = from; i < n; i++)
		compare_captures(d, &dot, &layer->capture[i], &ref->capture[i - from + skip]);
	check_difference_end(d, &dot);
}

/*
 * A model that ONNX Runtime has quantized has these behind the names of the tensors it came from.
 * Returns the length of the name without them.
 */
static size_t stem(const char *name)
{
	static const char *const tails[] = { "_QuantizeLinear_Output", "_DequantizeLinear_Output",
					     "_quantized" };
	size_t n = strlen(name), len;

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		len = strlen(tails[i]);
		if (n > len && !strcmp(name + n - len, tails[i]))
			return n - len;
	}
	return n;
}

static bool same_tensor(const char *a, const char *b)
{
	size_t n = stem(a);

	return n == stem(b) && !memcmp(a, b, n);
}

void check_layers_compare(struct check_layers *l, const struct check_layers *ref)
{
	size_t i, k;

	for (i = 0; i < l->num; i++) {
		struct check_layer *layer = &l->layer[i];

		if (!layer->num_captures || !*layer->tensor)
			continue;
		layer->fp32.match = CHECK_ABSENT;
		for (k = ref->num; k-- > 0; )
			if (ref->layer[k].num_captures &&
			    same_tensor(ref->layer[k].tensor, layer->tensor))
				break;
		if (k < ref->num)
			layer_compare(layer, &ref->layer[k]);
	}
}
