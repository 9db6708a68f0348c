// SPDX-License-Identifier: MIT
/*
 * --doctor: a job file against library and device. Its header is read apart from the rest, since
 * what a newer file says of itself is known even when the library refuses it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/jobfile_format.h"
#include "doctor.h"
#include "npu_isa_desc.h"
#include "tools/common/file.h"

#define FILE_MAX	((size_t)8 << 30)

struct view {
	const struct doctor *d;
	const char *path;
	struct npu_jf_header h;
	bool job;			/* it begins as one; @h is filled in */
	int code;			/* what loading said */
	struct npu_error err;
};

/* What can be wrong with a file, in the order in which it is looked for. */
struct rule {
	bool (*applies)(const struct view *v);
	void (*what)(const struct view *v, char *text, size_t size);
	const char *advice;
	void (*advise)(const struct view *v, char *text, size_t size);	/* instead of @advice */
};

static bool is_unreadable(const struct view *v)
{
	return v->code == -ENOENT || v->code == -EACCES || v->code == -EISDIR;
}

static bool is_no_job(const struct view *v)
{
	return !v->job;
}

static bool is_newer(const struct view *v)
{
	unsigned int major, minor;

	npu_runtime_version(&major, &minor);
	return v->h.major > NPU_JOBFILE_MAJOR || v->h.runtime_major > major ||
	       (v->h.runtime_major == major && v->h.runtime_minor > minor) ||
	       v->h.isa_major > NPU_ISA_MAJOR ||
	       (v->h.isa_major == NPU_ISA_MAJOR && v->h.isa_minor > NPU_ISA_MINOR);
}

static void say_newer(const struct view *v, char *text, size_t size)
{
	snprintf(text, size,
		 "made by a newer compiler (%.63s; format %u.%u, instruction set %u.%u, needs libnpu >= %u.%u) than this library (libnpu %s; formats to %u.%u, instruction set %u.%u)",
		 v->h.compiler, v->h.major, v->h.minor, v->h.isa_major, v->h.isa_minor,
		 v->h.runtime_major, v->h.runtime_minor, npu_version(), NPU_JOBFILE_MAJOR,
		 NPU_JOBFILE_MINOR, NPU_ISA_MAJOR, NPU_ISA_MINOR);
}

static void advise_newer(const struct view *v, char *text, size_t size)
{
	snprintf(text, size,
		 "compile the model again with this npu-compile, or install libnpu %u.%u or newer",
		 v->h.runtime_major, v->h.runtime_minor);
}

/* Opcodes that the file uses and the device does not have. */
static unsigned int missing_opcodes(const struct view *v, char *text, size_t size)
{
	unsigned int n = 0;
	size_t len = 0;

	*text = 0;
	for (unsigned int op = 0; op < 256; op++) {
		const struct npu_op_desc *desc = npu_op_desc(op);

		if (!(v->h.opcodes[op / 64] >> op % 64 & 1) ||
		    (v->d->info.opcodes[op / 64] >> op % 64 & 1))
			continue;
		if (len < size)
			len += snprintf(text + len, size - len, "%s%s (0x%02x)", n ? ", " : "",
					desc ? desc->mnemonic : "opcode", op);
		n++;
	}
	return n;
}

static bool lacks_opcode(const struct view *v)
{
	char text[8];

	return v->d->dev && missing_opcodes(v, text, sizeof(text));
}

static void say_opcode(const struct view *v, char *text, size_t size)
{
	char list[256];

	missing_opcodes(v, list, sizeof(list));
	snprintf(text, size, "needs instructions that device '%s' does not have: %s",
		 v->d->info.uri, list);
}

static bool lacks_sram(const struct view *v)
{
	return v->d->dev && v->h.sram_size > v->d->info.sram_size;
}

static void say_sram(const struct view *v, char *text, size_t size)
{
	char a[32], b[32];

	snprintf(text, size, "needs %s of on-chip memory, device '%s' has %s",
		 bytes_text(v->h.sram_size, a), v->d->info.uri,
		 bytes_text(v->d->info.sram_size, b));
}

static bool lacks_host_op(const struct view *v)
{
	return v->code == -ENOTSUP && strstr(v->err.text, "host operator");
}

static bool is_damaged(const struct view *v)
{
	return v->code == -EBADMSG;
}

static bool is_refused(const struct view *v)
{
	return v->code;
}

static void say_error(const struct view *v, char *text, size_t size)
{
	size_t n = strlen(v->path);
	const char *t = v->err.text;

	/* The topic is the path already. */
	if (!strncmp(t, v->path, n) && t[n] == ':')
		t += n + 2;
	snprintf(text, size, "%s", t);
}

static const struct rule rules[] = {
	{ is_unreadable, say_error, "check the name, and that you may read the file", NULL },
	{ is_no_job, say_error, "give a job file; npu-compile makes one from an ONNX model", NULL },
	{ is_newer, say_newer, NULL, advise_newer },
	{ lacks_opcode, say_opcode,
	  "compile the model again with this npu-compile, or choose a device that has them (npu-run --devices)",
	  NULL },
	{ lacks_sram, say_sram,
	  "choose a device with more (sim:sram=BYTES), or compile the model with --no-sram", NULL },
	{ lacks_host_op, say_error,
	  "compile the model again with this npu-compile: it takes only operators that this library has",
	  NULL },
	{ is_damaged, say_error,
	  "the file is damaged: copy it again (in binary mode), or compile the model again", NULL },
	{ is_refused, say_error, "compile the model again with this npu-compile", NULL },
};

static void read_header(struct view *v)
{
	struct npu_error why = { 0 };
	size_t size = 0;
	uint8_t *data = NULL;

	v->code = npu_file_read(v->path, FILE_MAX, &data, &size, &why);
	if (v->code) {
		v->err = why;
		return;
	}
	v->job = size >= sizeof(v->h) && !memcmp(data, NPU_JF_MAGIC, 8);
	if (v->job)
		memcpy(&v->h, data, sizeof(v->h));
	v->h.compiler[sizeof(v->h.compiler) - 1] = 0;
	free(data);
}

/* By the device when there is one, since that is what has to run it. */
static void try_load(struct view *v)
{
	struct npu_job *job;

	if (!v->d->dev)
		return;
	v->code = npu_job_load(v->d->dev, v->path, NPU_JOB_CHECK_DIGEST, &job, &v->err);
	if (!v->code)
		npu_job_unload(job);
}

void doctor_file(struct doctor *d, const char *path)
{
	struct view v = { .d = d, .path = path };
	char text[768], advice[512];

	read_header(&v);
	if (!v.code)
		try_load(&v);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (!rules[i].applies(&v))
			continue;
		rules[i].what(&v, text, sizeof(text));
		snprintf(advice, sizeof(advice), "%s", rules[i].advice ? rules[i].advice : "");
		if (rules[i].advise)
			rules[i].advise(&v, advice, sizeof(advice));
		doctor_say(d, STATE_WRONG, path, advice, "%s", text);
		return;
	}
	doctor_say(d, STATE_GOOD, path, NULL,
		   "format %u.%u, instruction set %u.%u, needs libnpu >= %u.%u, made by %s: %s",
		   v.h.major, v.h.minor, v.h.isa_major, v.h.isa_minor, v.h.runtime_major,
		   v.h.runtime_minor, v.h.compiler,
		   d->dev ? "loads" : "not loaded, there is no device");
}
