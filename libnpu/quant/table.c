// SPDX-License-Identifier: MIT
/* The table of choices. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compiler/report.h"
#include "quant/quant_priv.h"

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static const struct npu_gtensor *layer_input(const struct npu_quant *q, unsigned int k)
{
	const struct npu_gnode *n = q->calib.instance[0].scheme.node[k];

	return n ? n->inputs[0] : NULL;
}

static struct npu_qrange layer_range(const struct npu_quant *q, unsigned int k)
{
	const struct npu_gtensor *t = layer_input(q, k);
	struct npu_qrange r = { 0, 0 };

	if (t)
		npu_scheme_range(&q->calib.instance[0].scheme, t, &r);
	return r;
}

static void write_error(FILE *f, double v)
{
	if (isfinite(v))
		fprintf(f, " %9.2e", v);
	else
		fprintf(f, " %9s", "-");
}

static void write_layer(FILE *f, const struct npu_quant *q, unsigned int k)
{
	const struct npu_qlayer *l = &q->calib.layers.layer[k];
	const struct npu_sensitivity *s = &q->search.layer[k];
	struct npu_qrange r = layer_range(q, k);
	size_t len = strlen(l->name);

	fprintf(f, "%s%-*s %-13s %9.2f %5.1f %-5s", len > 40 ? ".." : "", len > 40 ? 38 : 40,
		len > 40 ? l->name + len - 38 : l->name, l->op, (double)l->macs / 1e6,
		percent(l->macs, q->search.macs), l->int8 ? "int8" : "float");
	if (l->fixed_float) {
		fprintf(f, "  (%s)\n", l->why);
		return;
	}
	write_error(f, s->alone);
	write_error(f, s->spared);
	write_error(f, s->inside);
	fprintf(f, "  %.4g..%.4g %s\n", (double)r.lo, (double)r.hi,
		npu_calib_method_name(l->method));
}

void npu_quant_write_text(const struct npu_quant *q, FILE *f)
{
	const struct npu_search *s = &q->search;

	if (!q->chosen)
		return;
	fprintf(f, "int8: ranges by %s; budget %s\n", npu_quant_method_text(q),
		npu_quant_budget_text(q));
	fprintf(f, "%-40s %-13s %9s %5s %-5s %9s %9s %9s  %s\n", "layer", "operator", "MMACs", "%",
		"type", "alone", "spared", "inside", "range of its input");
	for (unsigned int k = 0; k < q->calib.layers.num; k++)
		write_layer(f, q, k);
	fprintf(f,
		"%.1f %% of %.1f million MACs in int8; cosine of the outputs to float %.5f over %u "
		"samples, worst %.5f (%.5f with all layers int8)",
		percent(s->int8_macs, s->macs), (double)s->macs / 1e6, s->chosen.pooled,
		q->measure.num_samples, s->chosen.cosine, s->all_int8.pooled);
	if (s->chosen.agree < 1 || s->all_int8.agree < 1)
		fprintf(f, "; %.2f %% of maxima at the same place (%.2f)", 100 * s->chosen.agree,
			100 * s->all_int8.agree);
	fprintf(f,
		"\n  alone: 1 - cosine of the outputs (or half of the worst sample's) with only this "
		"layer int8; spared: by how much it is less "
		"with only this layer float; inside: 1 - cosine of the layer's own result in "
		"the job\n");
}

static void json_number(FILE *f, const char *key, double v)
{
	if (isfinite(v))
		fprintf(f, ", \"%s\": %.9g", key, v);
}

static void json_layer(FILE *f, const struct npu_quant *q, unsigned int k)
{
	const struct npu_qlayer *l = &q->calib.layers.layer[k];
	const struct npu_sensitivity *s = &q->search.layer[k];
	struct npu_qrange r = layer_range(q, k);

	fputs("      { \"node\": ", f);
	npu_json_string(f, l->name);
	fprintf(f, ", \"op\": \"%s\", \"macs\": %" PRIu64 ", \"type\": \"%s\"", l->op, l->macs,
		l->int8 ? "int8" : "float");
	if (l->fixed_float) {
		fputs(", \"reason\": ", f);
		npu_json_string(f, l->why);
	} else {
		json_number(f, "alone", s->alone);
		json_number(f, "spared", s->spared);
		json_number(f, "inside", s->inside);
		json_number(f, "low", (double)r.lo);
		json_number(f, "high", (double)r.hi);
		fprintf(f, ", \"method\": \"%s\"", npu_calib_method_name(l->method));
	}
	fputs(" }", f);
}

void npu_quant_write_json(const struct npu_quant *q, FILE *f)
{
	const struct npu_search *s = &q->search;

	if (!q->chosen) {
		fputs("null", f);
		return;
	}
	fputs("{\n    \"method\": ", f);
	npu_json_string(f, npu_quant_method_text(q));
	fputs(", \"budget\": ", f);
	npu_json_string(f, npu_quant_budget_text(q));
	fprintf(f, ",\n    \"macs\": %" PRIu64 ", \"int8_macs\": %" PRIu64 ", \"compared\": %u",
		s->macs, s->int8_macs, q->measure.num_samples);
	json_number(f, "cosine", s->chosen.pooled);
	json_number(f, "cosine_worst", s->chosen.cosine);
	json_number(f, "agree", s->chosen.agree);
	json_number(f, "cosine_all_int8", s->all_int8.pooled);
	fputs(",\n    \"layers\": [\n", f);
	for (unsigned int k = 0; k < q->calib.layers.num; k++) {
		json_layer(f, q, k);
		fputs(k + 1 < q->calib.layers.num ? ",\n" : "\n", f);
	}
	fputs("    ]\n  }", f);
}
