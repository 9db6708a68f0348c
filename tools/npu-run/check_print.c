// SPDX-License-Identifier: MIT
/* --check: the table, the same as JSON, and the sentences. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "npu_host.h"

static const char *const match_names[] = {
	[CHECK_COMPARED] = "compared",
	[CHECK_INTEGER] = "integer",
	[CHECK_ABSENT] = "fused or absent in f32",
	[CHECK_RESHAPED] = "of another form in f32",
	[CHECK_ALONE] = "",
};

static const char *bits_of(const struct check_layer *l)
{
	return l->differ    ? "DIFFERS"
	       : l->host    ? "host"
	       : l->unknown ? "unknown"
	       : l->within  ? "within"
			    : "same";
}

static const char *type_name(unsigned int dtype)
{
	return dtype ? npu_host_dtype_name(dtype) : "";
}

static double relative(const struct check_difference *d)
{
	return d->largest > 0 ? d->worst / d->largest : d->worst;
}

static void print_difference(const struct check_report *r, const struct check_difference *d)
{
	switch (d->match) {
	case CHECK_COMPARED:
		say(" %9.2e %9.2e %9.6f%s", d->worst, relative(d), d->cosine,
		    check_within(r, d) ? "  " : " !");
		return;
	case CHECK_INTEGER:
		say(" %10llu of %-10llu differ ", (unsigned long long)d->differ,
		    (unsigned long long)d->compared);
		return;
	default:
		say(" %-31s", match_names[d->match]);
	}
}

static void print_layer(const struct check_report *r, size_t i)
{
	const struct check_layer *l = &r->job.layer[i];

	say("%4zu %-7s %-4s", i, bits_of(l),
	    type_name(l->dtype));
	if (r->reference)
		print_difference(r, &l->fp32);
	say(" %s (%s)", *l->node ? l->node : l->mnemonic, *l->op ? l->op : l->mnemonic);
	if (l->insns > 1)
		say(" *%u", l->insns);
	say("\n");
}

struct totals {
	npu_u64 same, within, differ, unknown, host;
	double worst;
};

static struct totals count(const struct check_layers *l)
{
	struct totals t = { 0 };

	for (size_t i = 0; i < l->num; i++) {
		t.same += l->layer[i].same;
		t.within += l->layer[i].within;
		t.differ += l->layer[i].differ;
		t.unknown += l->layer[i].unknown;
		t.host += l->layer[i].host;
		t.worst = l->layer[i].worst > t.worst ? l->layer[i].worst : t.worst;
	}
	return t;
}

static void print_arithmetic(const char *what, const struct check_layers *l)
{
	struct totals t = count(l);

	say("%s: %llu instructions, %llu the same bits as the oracle", what,
	    (unsigned long long)(l->insns - t.host), (unsigned long long)t.same);
	if (t.within)
		say(", %llu within %.1e (functions that are polynomials)",
		    (unsigned long long)t.within, t.worst);
	if (t.unknown)
		say(", %llu that the oracle does not know", (unsigned long long)t.unknown);
	if (t.differ)
		say(", %llu DIFFER", (unsigned long long)t.differ);
	if (t.host)
		say("; %llu steps on the host, which nobody else computes",
		    (unsigned long long)t.host);
	say("; %llu of %llu values compared", (unsigned long long)l->compared,
	    (unsigned long long)l->elements);
	if (l->sampled < l->sampled_of)
		say(" (of convolutions and products %.1f %%, evenly spread; --check-work all takes all)",
		    100.0 * l->sampled / l->sampled_of);
	say("\n");
}

static const struct check_layer *worst_layer(const struct check_report *r)
{
	const struct check_layer *worst = NULL;

	for (size_t i = 0; i < r->job.num; i++) {
		const struct check_layer *l = &r->job.layer[i];

		if (l->fp32.match == CHECK_COMPARED &&
		    (!worst || l->fp32.cosine < worst->fp32.cosine))
			worst = l;
	}
	return worst;
}

static void print_reference(const struct check_report *r)
{
	const struct check_layer *worst = worst_layer(r);
	size_t compared = 0;

	for (size_t i = 0; i < r->job.num; i++)
		compared += r->job.layer[i].fp32.match == CHECK_COMPARED;
	say("against f32: %zu of %zu layers compared, limits %.3g of the largest value and cosine %.6g (%s)\n",
	    compared, r->job.num, r->max_error, r->min_cosine, r->type);
	if (worst)
		say("worst layer: %s, cosine %.6f, %.2e of its largest value %.3g\n",
		    worst->node, worst->fp32.cosine, relative(&worst->fp32),
		    worst->fp32.largest);
	for (unsigned int i = 0; i < r->num_outputs; i++) {
		say("output %-24s", r->output[i].name);
		print_difference(r, &r->output[i].fp32);
		say("\n");
	}
}

void check_print_text(const struct check_report *r)
{
	say("%4s %-7s %-4s", "#", "bits", "type");
	if (r->reference)
		say(" %9s %9s %9s  ", "worst", "of max", "cosine");
	say(" layer\n");
	for (size_t i = 0; i < r->job.num; i++)
		print_layer(r, i);
	print_arithmetic("same arithmetic", &r->job);
	if (r->reference) {
		print_arithmetic("the model in f32", &r->ref);
		print_reference(r);
	}
	say("%s: %s, %.1f s\n", r->opt->model, r->ok ? "good" : "NOT GOOD", r->seconds);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_difference(const struct check_report *r, cJSON *o,
			    const struct check_difference *d)
{
	cJSON *f = cJSON_AddObjectToObject(o, "fp32");

	if (d->match == CHECK_ALONE) {
		cJSON_AddStringToObject(f, "match", "none");
		return;
	}
	cJSON_AddStringToObject(f, "match", match_names[d->match]);
	if (d->match != CHECK_COMPARED && d->match != CHECK_INTEGER)
		return;
	cJSON_AddNumberToObject(f, "compared", d->compared);
	cJSON_AddNumberToObject(f, "differ", d->differ);
	cJSON_AddNumberToObject(f, "invalid", d->invalid);
	cJSON_AddNumberToObject(f, "worst", d->worst);
	cJSON_AddNumberToObject(f, "largest", d->largest);
	cJSON_AddNumberToObject(f, "relative", relative(d));
	cJSON_AddNumberToObject(f, "cosine", d->cosine);
	cJSON_AddBoolToObject(f, "good", check_within(r, d));
}

static void json_arithmetic(cJSON *root, const char *name, const struct check_layers *l)
{
	cJSON *o = cJSON_AddObjectToObject(root, name);
	struct totals t = count(l);

	cJSON_AddNumberToObject(o, "instructions", l->insns - t.host);
	cJSON_AddNumberToObject(o, "host_steps", t.host);
	cJSON_AddNumberToObject(o, "same", t.same);
	cJSON_AddNumberToObject(o, "within", t.within);
	cJSON_AddNumberToObject(o, "differ", t.differ);
	cJSON_AddNumberToObject(o, "unknown", t.unknown);
	cJSON_AddNumberToObject(o, "values", l->elements);
	cJSON_AddNumberToObject(o, "compared", l->compared);
	cJSON_AddNumberToObject(o, "macs", l->macs);
}

static void json_bad(cJSON *o, const struct check_result *bad)
{
	cJSON *b = cJSON_AddObjectToObject(o, "bad"), *at;

	cJSON_AddNumberToObject(b, "instruction", bad->index);
	cJSON_AddStringToObject(b, "opcode", bad->desc->mnemonic);
	cJSON_AddStringToObject(b, "operand", bad->desc->slots[bad->slot].name);
	at = cJSON_AddArrayToObject(b, "at");
	for (unsigned int d = 0; d < bad->rank; d++)
		cJSON_AddItemToArray(at, cJSON_CreateNumber(bad->at[d]));
	cJSON_AddNumberToObject(b, "got", bad->got);
	cJSON_AddNumberToObject(b, "want", bad->want);
	cJSON_AddNumberToObject(b, "values", bad->bad);
}

static cJSON *json_layer(const struct check_report *r, const struct check_layer *l)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "node", l->node);
	cJSON_AddStringToObject(o, "op", l->op);
	cJSON_AddStringToObject(o, "tensor", l->tensor);
	cJSON_AddStringToObject(o, "type", type_name(l->dtype));
	cJSON_AddNumberToObject(o, "first", l->first);
	cJSON_AddNumberToObject(o, "instructions", l->insns);
	cJSON_AddStringToObject(o, "bits", bits_of(l));
	if (l->bad.desc)
		json_bad(o, &l->bad);
	if (r->reference)
		json_difference(r, o, &l->fp32);
	return o;
}

/* The name of layer @i, or null. */
static void json_name(cJSON *root, const char *key, const struct check_layers *l, long i)
{
	if (i < 0)
		cJSON_AddNullToObject(root, key);
	else
		cJSON_AddStringToObject(root, key, l->layer[i].node);
}

int check_print_json(const struct check_report *r)
{
	cJSON *root = cJSON_CreateObject(), *list, *o;

	cJSON_AddStringToObject(root, "model", r->opt->model);
	cJSON_AddStringToObject(root, "type", r->type);
	cJSON_AddBoolToObject(root, "good", r->ok);
	cJSON_AddNumberToObject(root, "seconds", r->seconds);
	cJSON_AddNumberToObject(root, "seed", r->opt->seed);
	cJSON_AddNumberToObject(root, "sample_step", r->step);
	json_arithmetic(root, "arithmetic", &r->job);
	json_name(root, "first_differs", &r->job, r->first_differs);
	if (r->reference) {
		json_arithmetic(root, "reference", &r->ref);
		cJSON_AddNumberToObject(root, "max_error", r->max_error);
		cJSON_AddNumberToObject(root, "min_cosine", r->min_cosine);
		json_name(root, "first_bad", &r->job, r->first_bad);
	}
	list = cJSON_AddArrayToObject(root, "layers");
	for (size_t i = 0; i < r->job.num; i++)
		cJSON_AddItemToArray(list, json_layer(r, &r->job.layer[i]));
	list = cJSON_AddArrayToObject(root, "outputs");
	for (unsigned int i = 0; i < r->num_outputs; i++) {
		o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "name", r->output[i].name);
		json_difference(r, o, &r->output[i].fp32);
		cJSON_AddItemToArray(list, o);
	}
	return json_print(root);
}

/* ---- what was wrong -------------------------------------------------------------------------- */

static void reason_differs(const char *what, const struct check_layer *l)
{
	const struct check_result *b = &l->bad;
	char at[128] = "";
	size_t n = 0;

	for (unsigned int d = 0; d < b->rank && n < sizeof(at); d++)
		n += snprintf(at + n, sizeof(at) - n, "%s%u", d ? "," : "", b->at[d]);
	fail("%slayer '%s' (%s), instruction %u (%s): '%s' [%s] is %.9g, the oracle has %.9g; %llu of %llu compared values differ",
	     what, l->node, l->op, b->index, b->desc->mnemonic, b->desc->slots[b->slot].name, at,
	     b->got, b->want, (unsigned long long)b->bad, (unsigned long long)b->compared);
}

void check_print_reasons(const struct check_report *r)
{
	if (r->ref_differs >= 0)
		reason_differs("the model in f32, ", &r->ref.layer[r->ref_differs]);
	if (r->first_differs >= 0)
		reason_differs("", &r->job.layer[r->first_differs]);
	if (r->first_bad >= 0) {
		const struct check_layer *l = &r->job.layer[r->first_bad];

		fail("layer '%s' (%s) is the first that is off: cosine %.6f to f32, want %.6g; %.3g of its largest value, at most %.3g; %llu values are not finite on one side",
		     l->node, l->op, l->fp32.cosine, r->min_cosine, relative(&l->fp32),
		     r->max_error, (unsigned long long)l->fp32.invalid);
	}
	for (unsigned int i = 0; i < r->num_outputs; i++)
		if (!check_within(r, &r->output[i].fp32) ||
		    r->output[i].fp32.match == CHECK_ABSENT ||
		    r->output[i].fp32.match == CHECK_RESHAPED)
			fail("output '%s' is off: cosine %.6f to f32 (%s)", r->output[i].name,
			     r->output[i].fp32.cosine, match_names[r->output[i].fp32.match]);
}
