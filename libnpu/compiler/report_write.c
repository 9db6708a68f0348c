// SPDX-License-Identifier: MIT
/* The report as a table for people and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/report.h"
#include "core/error.h"
#include "quant/quant.h"

/* Longest node name in the table; longer ones keep their end, which is what tells them apart. */
#define NAME_WIDTH	40

static const char *short_name(const char *name, char *buf, size_t size)
{
	size_t len = strlen(name);

	if (len <= NAME_WIDTH)
		return name;
	snprintf(buf, size, "..%s", name + len - (NAME_WIDTH - 2));
	return buf;
}

static void write_row(FILE *f, const struct npu_placement *p)
{
	char buf[NAME_WIDTH + 8], into[NAME_WIDTH + 8];

	fprintf(f, "%-*s %-20s %-8s", NAME_WIDTH, short_name(p->node, buf, sizeof(buf)), p->op,
		npu_place_name(p->place));
	if (p->place == NPU_PLACE_FUSED)
		fprintf(f, " into %s", short_name(p->into, into, sizeof(into)));
	else if (*p->insns)
		fprintf(f, " %-16s %-5s %8.2f %8.1f %8.1f", p->insns, p->type,
			(double)p->macs / 1e6, (double)p->bytes_read / 1024,
			(double)p->bytes_written / 1024);
	if (*p->reason)
		fprintf(f, "  (%s)", p->reason);
	fputc('\n', f);
}

static void write_line(struct npu_report *r)
{
	const struct npu_compile_summary *s = &r->summary;
	unsigned int on = s->nodes - s->count[NPU_PLACE_REFUSED] - s->count[NPU_PLACE_UNKNOWN] -
			  s->count[NPU_PLACE_HOST];
	char macs[64] = "no MACs";

	r->line[0] = 0;
	if (!s->nodes || s->count[NPU_PLACE_UNKNOWN] || s->count[NPU_PLACE_REFUSED])
		return;
	if (s->macs)
		snprintf(macs, sizeof(macs), "%.1f %% of %.1f million MACs",
			 100.0 * (double)s->npu_macs / (double)s->macs, (double)s->macs / 1e6);
	snprintf(r->line, sizeof(r->line),
		 "%u of %u operators on the NPU, %s, %" PRIu64 " bytes moved for host steps", on,
		 s->nodes, macs, s->host_bytes);
}

static void write_totals(FILE *f, const struct npu_report *r)
{
	const struct npu_compile_summary *s = &r->summary;

	if (!s->nodes) {
		fputs("nothing was compiled: the model could not be read\n", f);
		return;
	}
	if (s->count[NPU_PLACE_UNKNOWN]) {
		fprintf(f, "nothing was compiled: %u operators refused, %u not looked at\n",
			s->count[NPU_PLACE_REFUSED], s->count[NPU_PLACE_UNKNOWN]);
		return;
	}
	if (*r->line)
		fprintf(f, "%s\n", r->line);
	fprintf(f,
		"  %u with instructions of their own, %u fused, %u views, %u folded, %u on the host, %u refused\n",
		s->count[NPU_PLACE_NPU], s->count[NPU_PLACE_FUSED], s->count[NPU_PLACE_VIEW],
		s->count[NPU_PLACE_FOLDED], s->count[NPU_PLACE_HOST], s->count[NPU_PLACE_REFUSED]);
	fprintf(f, "%u instructions in the first of %u program%s; %u copies (%.1f KiB)\n", s->insns,
		s->programs, s->programs == 1 ? "" : "s", s->copies, (double)s->copy_bytes / 1024);
	fprintf(f,
		"memory: weights %.1f KiB, activations %.1f KiB (no plan can do with less than %.1f), on-chip %.1f KiB\n",
		(double)s->weight_bytes / 1024, (double)s->scratch_bytes / 1024,
		(double)s->scratch_lower / 1024, (double)s->sram_bytes / 1024);
	if (s->f32_steep)
		fprintf(f,
			"%u activation%s f32: an output comes out of an exponential (--all-f16 overrides)\n",
			s->f32_steep, s->f32_steep == 1 ? " stays" : "s stay");
	if (s->f32_weights)
		fprintf(f, "%u weight%s f32: f16 would overflow or lose too much\n", s->f32_weights,
			s->f32_weights == 1 ? " stays" : "s stay");
}

static void write_text(FILE *f, const struct npu_report *r)
{
	fprintf(f, "%-*s %-20s %-8s %-16s %-5s %8s %8s %8s\n", NAME_WIDTH, "node", "operator",
		"where", "instructions", "type", "M MACs", "KiB in", "KiB out");
	for (unsigned int i = 0; i < r->num_model; i++)
		write_row(f, &r->placement[i]);
	fputc('\n', f);
	if (r->quant) {
		npu_quant_write_text(r->quant, f);
		fputc('\n', f);
	}
	write_totals(f, r);
}

/* Names are bytes from a model: what is not plain ASCII and not part of valid UTF-8 becomes '?'. */
static size_t utf8_length(const unsigned char *s)
{
	size_t n = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)))
		return 0;
	if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)))
		return 0;
	return n;
}

void npu_json_string(FILE *f, const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	fputc('"', f);
	while (*p) {
		size_t n = *p < 0x80 ? 1 : utf8_length(p);

		if (*p == '"' || *p == '\\')
			fprintf(f, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			fprintf(f, "\\u%04x", *p);
		else if (!n)
			fputc('?', f);
		else
			fwrite(p, 1, n, f);
		p += n ? n : 1;
	}
	fputc('"', f);
}

static void json_field(FILE *f, const char *key, const char *value)
{
	fprintf(f, "\"%s\": ", key);
	npu_json_string(f, value);
}

static void json_node(FILE *f, const struct npu_placement *p)
{
	fputs("    { ", f);
	json_field(f, "node", p->node);
	fputs(", ", f);
	json_field(f, "op", p->op);
	fprintf(f, ", \"place\": \"%s\"", npu_place_name(p->place));
	if (*p->into) {
		fputs(", ", f);
		json_field(f, "into", p->into);
	}
	if (p->num_insns) {
		fputs(", ", f);
		json_field(f, "instructions", p->insns);
		fprintf(f,
			", \"count\": %u, \"type\": \"%s\", \"macs\": %" PRIu64
			", \"bytes_read\": %" PRIu64 ", \"bytes_written\": %" PRIu64,
			p->num_insns, p->type, p->macs, p->bytes_read, p->bytes_written);
	}
	if (*p->reason) {
		fputs(", ", f);
		json_field(f, "reason", p->reason);
	}
	fputs(" }", f);
}

static void write_json(FILE *f, const struct npu_report *r)
{
	const struct npu_compile_summary *s = &r->summary;

	fputs("{\n  ", f);
	json_field(f, "model", r->model_name);
	fputs(",\n  ", f);
	json_field(f, "summary", r->line);
	fprintf(f, ",\n  \"precision\": \"%s\",\n",
		r->precision == NPU_PRECISION_F16 ? "f16" : "f32");
	fprintf(f,
		"  \"nodes\": %u, \"npu\": %u, \"fused\": %u, \"views\": %u, \"folded\": %u, \"refused\": %u, "
		"\"unknown\": %u, \"host\": %u,\n",
		s->nodes, s->count[NPU_PLACE_NPU], s->count[NPU_PLACE_FUSED],
		s->count[NPU_PLACE_VIEW], s->count[NPU_PLACE_FOLDED], s->count[NPU_PLACE_REFUSED],
		s->count[NPU_PLACE_UNKNOWN], s->count[NPU_PLACE_HOST]);
	fprintf(f,
		"  \"macs\": %" PRIu64 ", \"npu_macs\": %" PRIu64 ", \"host_bytes\": %" PRIu64
		",\n",
		s->macs, s->npu_macs, s->host_bytes);
	fprintf(f,
		"  \"programs\": %u, \"instructions\": %u, \"copies\": %u, \"copy_bytes\": %" PRIu64
		",\n",
		s->programs, s->insns, s->copies, s->copy_bytes);
	fprintf(f,
		"  \"weight_bytes\": %" PRIu64 ", \"scratch_bytes\": %" PRIu64
		", \"scratch_lower_bytes\": %" PRIu64 ", \"sram_bytes\": %" PRIu64
		", \"f32_weights\": %u, \"f32_steep\": %u,\n",
		s->weight_bytes, s->scratch_bytes, s->scratch_lower, s->sram_bytes, s->f32_weights,
		s->f32_steep);
	if (r->quant) {
		fputs("  \"quantization\": ", f);
		npu_quant_write_json(r->quant, f);
		fputs(",\n", f);
	}
	fputs("  \"placement\": [\n", f);
	for (unsigned int i = 0; i < r->num_model; i++) {
		json_node(f, &r->placement[i]);
		fputs(i + 1 < r->num_model ? ",\n" : "\n", f);
	}
	fputs("  ]\n}\n", f);
}

static int to_memory(char **out, void (*write)(FILE *f, const struct npu_report *r),
		     const struct npu_report *r)
{
	size_t size;
	FILE *f;

	free(*out);
	*out = NULL;
	f = open_memstream(out, &size);
	if (!f)
		return -ENOMEM;
	write(f, r);
	if (fclose(f)) {
		free(*out);
		*out = NULL;
		return -ENOMEM;
	}
	npu_text_clean_lines(*out);	/* names of nodes and operators are the model's */
	return 0;
}

int npu_report_write(struct npu_report *r)
{
	int err;

	write_line(r);
	err = to_memory(&r->text, write_text, r);

	return err ? err : to_memory(&r->json, write_json, r);
}
