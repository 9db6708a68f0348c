// SPDX-License-Identifier: MIT
/* What a job file says of itself. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include "core/jobfile.h"
#include "run.h"

static void print_dims(const struct npu_tensor_info *t, char buf[256])
{
	size_t n = 0;
	unsigned int d;

	buf[0] = 0;
	for (d = 0; d < t->rank && n < 256; d++) {
		const char *x = d ? "x" : "";

		if (t->min_dim[d] == t->max_dim[d])
			n += snprintf(buf + n, 256 - n, "%s%lld", x, (long long)t->min_dim[d]);
		else
			n += snprintf(buf + n, 256 - n, "%s(%lld..%lld)", x,
				      (long long)t->min_dim[d], (long long)t->max_dim[d]);
	}
	if (!t->rank)
		snprintf(buf, 256, "scalar");
}

/* The line that the compiler ended with: what is on the NPU, and what moves for the host. */
static void print_placement(const char *report)
{
	cJSON *root = cJSON_Parse(report);
	const cJSON *line = cJSON_GetObjectItemCaseSensitive(root, "summary");

	if (cJSON_IsString(line) && *line->valuestring)
		say("%s\n", line->valuestring);
	cJSON_Delete(root);
}

/* "NV12", with what is no letter or digit left out. */
static const char *fourcc_text(uint32_t fourcc, char text[5])
{
	unsigned int n = 0;

	for (; fourcc; fourcc >>= 8)
		if ((fourcc & 0xff) > ' ' && (fourcc & 0xff) < 0x7f)
			text[n++] = (char)(fourcc & 0xff);
	text[n] = 0;
	return text;
}

/* Frames of a camera; their planes stand among the inputs. */
static void print_images(struct session *s, unsigned int p)
{
	struct npu_image_info img = NPU_INIT(img);
	struct npu_plane_info plane = NPU_INIT(plane);
	unsigned int i, k;
	char text[5];

	for (i = 0; !npu_job_image(s->job, p, i, &img); i++) {
		say("  frame    %-24s %s, %u x %u pixels in %llu bytes: %s\n", img.name,
		    fourcc_text(img.fourcc, text), img.width, img.height,
		    (unsigned long long)img.bytes, img.spec);
		for (k = 0; !npu_job_plane(s->job, p, i, k, &plane); k++)
			say("  plane    %-24s %u rows of %u bytes from byte %llu on, %u%s%.0u bytes apart\n",
			    plane.name, plane.rows, plane.row_bytes,
			    (unsigned long long)plane.offset, plane.stride,
			    plane.max_stride > plane.stride ? ".." : "",
			    plane.max_stride > plane.stride ? plane.max_stride : 0);
	}
}

static void print_program(struct session *s, unsigned int p, const struct npu_program_info *prog)
{
	static const char *const roles[] = { "input", "output", "state", "internal" };
	struct npu_symbol_info sym = NPU_INIT(sym);
	struct npu_tensor_info t = NPU_INIT(t);
	char dims[256], a[32], b[32];
	unsigned int i;

	say("program %u%s%s: %u instructions, %u host steps (%llu bytes), %.1f MMACs, scratch %s, SRAM %s at the largest lengths\n",
	    p, *prog->name ? " " : "", prog->name, prog->num_insns, prog->num_host_steps,
	    (unsigned long long)prog->host_bytes, prog->macs / 1e6, bytes_text(prog->scratch, a),
	    bytes_text(prog->sram, b));
	for (i = 0; i < prog->num_symbols; i++)
		if (!npu_job_symbol(s->job, p, i, &sym) && !sym.derived && !sym.stride)
			say("  length   %-24s %u..%u in steps of %u\n", sym.name, sym.min,
			    sym.max, sym.step);
	print_images(s, p);
	for (i = 0; i < prog->num_tensors; i++) {
		if (npu_job_tensor(s->job, p, i, &t) || t.role == NPU_TENSOR_INTERNAL ||
		    !strcmp(t.name, NPU_CLIP_TENSOR))
			continue;
		print_dims(&t, dims);
		say("  %-8s %-24s %s %s", roles[t.role], t.name, dtype_name(t.dtype), dims);
		if (t.bounded)
			say(" at most: the data decide");
		if (t.scale != 0)
			say(", quantized: %.9g * (code - %d)", t.scale, t.zero_point);
		say("\n");
	}
}

int info_print(struct session *s)
{
	struct npu_job_info job = NPU_INIT(job);
	struct npu_device_info dev = NPU_INIT(dev);
	struct npu_program_info prog = NPU_INIT(prog);
	const char *key, *value;
	char buf[64];
	unsigned int i;

	if (npu_job_info(s->job, &job) || npu_device_info(s->dev, &dev, &s->err))
		return fail("this npu-run and its library do not fit together");
	say("%s: %s\n", job.name, bytes_text(job.file_size, buf));
	say("format %u.%u, instruction set %u.%u, needs libnpu >= %u.%u\n", job.format_major,
	    job.format_minor, job.isa_major, job.isa_minor, job.runtime_major,
	    job.runtime_minor);
	say("made by %s\n", job.compiler);
	say("digest %s\n", job.digest);
	for (i = 0; !npu_job_record(s->job, i, &key, &value); i++)
		if (!clip_record(key))
			say("  %-24s %s\n", key, value);
	clip_info_print(s);
	print_placement(job.report);
	for (i = 0; !npu_job_program(s->job, i, &prog); i++)
		print_program(s, i, &prog);
	say("memory: weights %s (mapped)", bytes_text(job.weights, buf));
	say(", scratch %s", bytes_text(job.scratch, buf));
	say(", inputs %s", bytes_text(job.input, buf));
	say(", outputs %s", bytes_text(job.output, buf));
	if (job.state)
		say(", state %s", bytes_text(job.state, buf));
	say(", SRAM %s", bytes_text(job.sram, buf));
	say(", instructions %s\n", bytes_text(job.streams, buf));
	say("device: %s (%s), libnpu %s, instruction set %u.%u%s", dev.name, dev.uri,
	    npu_version(), dev.isa_major, dev.isa_minor, engine_text(&dev, buf));
	say(", SRAM %s\n", bytes_text(dev.sram_size, buf));
	return 0;
}

/* The first offset of a program, which 0 stands for; before a stream there is a header. */
static uint32_t first_offset(struct session *s, unsigned int program)
{
	uint32_t offset = 0;
	char line[8] = "";

	npu_job_disassemble(s->job, program, &offset, line, sizeof(line));
	return strncmp(line, "host ", 5) ? sizeof(struct npu_stream_header) : 0;
}

int disasm_print(struct session *s)
{
	struct npu_program_info prog = NPU_INIT(prog);
	uint32_t offset, at;
	char line[4096];
	unsigned int p;

	for (p = 0; !npu_job_program(s->job, p, &prog); p++) {
		say("program %u %s\n", p, prog.name);
		for (offset = at = first_offset(s, p);
		     !npu_job_disassemble(s->job, p, &offset, line, sizeof(line)); at = offset)
			say("%8u  %s\n", at, line);
	}
	return 0;
}
