// SPDX-License-Identifier: MIT
/*
 * npu-run --check finds what it is for. Two errors are made: one value of the oracle is another (as
 * if the engine had it wrong), and a job's weights are not the model's. Each must end in exit
 * status 1 and in the name of the layer.
 *
 * This file stands in for tools/vnpu/oracle/oracle.c: its oracle_execute() is the same table for
 * the opcodes of mnist, and can be told to be wrong.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/tmp.h"
#include "../tap.h"
#include "common/file.h"
#include "core/jobfile.h"
#include "npu_compiler.h"
#include "tools/common/file.h"
#include "tools/npu-run/run.h"
#include "tools/vnpu/oracle/oracle.h"


/* ---- the oracle, with a switch --------------------------------------------------------------- */

/* Be wrong at the @wrong_at-th CONV with an f16 result, counted from 1; 0: never. */
static unsigned int wrong_at;
static atomic_uint convs;		/* the oracle runs in several threads */

int oracle_execute(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	const struct npu_operand *out = &insn->operand[0];
	int ret = -ENOTSUP;

	switch (insn->desc->code) {
	case NPU_OP_END: return 0;
	case NPU_OP_CONV: ret = oracle_conv(insn, mem); break;
	case NPU_OP_MATMUL: ret = oracle_matmul(insn, mem); break;
	case NPU_OP_POOL: ret = oracle_pool(insn, mem); break;
	case NPU_OP_COPY: ret = oracle_copy(insn, mem); break;
	}
	if (insn->desc->code == NPU_OP_CONV && out->dtype == NPU_F16 &&
	    atomic_fetch_add(&convs, 1) + 1 == wrong_at)
		mem->region[out->region][out->offset + 2 * out->stride[3]] ^= 1;
	return ret;
}

bool oracle_is_exact(const struct npu_insn *insn)
{
	return true;
}

bool oracle_can_sample(const struct npu_insn *insn)
{
	return insn->desc->code == NPU_OP_CONV || insn->desc->code == NPU_OP_MATMUL;
}

/* ---- npu-run in a child ---------------------------------------------------------------------- */

/* Exit status; what it printed, both streams, in *@out (the caller's to free). */
static int run(char **out, char *const *args)
{
	const char *path = tmp_path("out");
	int status, argc = 0;
	pid_t pid;

	while (args[argc])
		argc++;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct options opt;
		struct session s = { .opt = &opt };
		int ret;

		if (!freopen(path, "w", stdout) || dup2(1, 2) < 0)
			_exit(99);
		ret = options_parse(&opt, argc, (char **)(uintptr_t)args);
		if (!ret)
			ret = check_run(&s);
		session_close(&s);
		fflush(stdout);
		_exit(ret);
	}
	waitpid(pid, &status, 0);
	*out = test_read_file(path, &(size_t){ 0 });
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_says(const char *what, int want, const char *text, char *const *args)
{
	char *out = NULL;
	int status = run(&out, args);

	if (!tap_ok(status == want, "%s: exit status %d", what, want))
		tap_diag("status %d", status);
	if (!tap_ok(out && strstr(out, text), "it says: %s", text))
		tap_diag("%s", out ? out : "");
	free(out);
}

/* ---- a job that is not the model any more ---------------------------------------------------- */

/* The weight operand of the instructions that @node stands for. */
static bool find_weight(const struct npu_jobfile *job, const char *node, npu_u64 *offset,
			npu_u64 *bytes)
{
	const struct npu_jobfile_program *p = &job->programs[0];
	npu_u32 at = sizeof(struct npu_stream_header);
	struct npu_insn insn;

	while (at < p->stream_size &&
	       !npu_insn_decode((const npu_u32 *)((const char *)p->stream + at),
				(p->stream_size - at) / 4, &insn, NULL)) {
		const struct npu_jobfile_debug *d =
			npu_jobfile_debug_find(p, insn.header->tag);

		if (d && insn.desc->code == NPU_OP_CONV && strstr(d->node, node)) {
			*offset = insn.operand[NPU_CONV_WEIGHT].offset;
			return !npu_insn_operand_extent(&insn, NPU_CONV_WEIGHT, bytes);
		}
		at += insn.header->words * 4u;
	}
	return false;
}

/* Compile @model, turn the sign of @node's weights, write it to @path. */
static bool make_corrupt(const char *model, const char *node, const char *path)
{
	struct npu_compile_result *result = NULL;
	struct npu_jobfile *job = NULL, copy;
	npu_u64 offset = 0, bytes = 0;
	unsigned char *weights = NULL;
	size_t size;
	void *onnx = test_read_file(model, &size);
	const void *data;
	bool ok;

	ok = onnx && !npu_compile_onnx(onnx, size, model, NULL, &result);
	data = ok ? npu_compile_job(result, &size) : NULL;
	ok = ok && !npu_jobfile_parse(data, size, 0, &job, NULL) &&
	     find_weight(job, node, &offset, &bytes);
	if (ok) {
		copy = *job;
		weights = malloc(job->weights_size);
		memcpy(weights, job->weights, job->weights_size);
		for (npu_u64 i = 1; i < bytes; i += 2)
			weights[offset + i] ^= 0x80;
		copy.weights = weights;
		ok = !npu_jobfile_save(&copy, path, NULL);
	}
	free(weights);
	npu_jobfile_free(job);
	npu_compile_result_free(result);
	free(onnx);
	return ok;
}

int main(void)
{
	const char *models = getenv("NPU_MODELS") ? getenv("NPU_MODELS") : "build/models";
	char model[512], bad[4096];

	snprintf(model, sizeof(model), "%s/mnist-8.onnx", models);
	if (access(model, R_OK)) {
		tap_skip("npu-run --check",
			 "there is no mnist-8.onnx; scripts/models.sh fetches it");
		return tap_done();
	}
	snprintf(bad, sizeof(bad), "%s", tmp_path("bad.npu"));

	check_says("a good model", 0, "mnist-8.onnx: good",
		   (char *[]){ "npu-run", "--check", model, NULL });
	/* Two CONVs of f16 in the job; none in the reference. */
	wrong_at = 2;
	check_says("one bit of one value differs", 1,
		   "layer 'Convolution110 + Plus112 + ReLU114' (Conv), instruction 2 (conv): 'out' [0,0,0,2]",
		   (char *[]){ "npu-run", "--check", "--threads=1", model, NULL });
	wrong_at = 3;
	check_says("no third one", 0, "mnist-8.onnx: good",
		   (char *[]){ "npu-run", "--check", "--threads=1", model, NULL });
	wrong_at = 0;

	tap_ok(make_corrupt(model, "Convolution110", bad), "a job with other weights in a layer");
	check_says("by itself it is computed as it says", 0, "bad.npu: good",
		   (char *[]){ "npu-run", "--check", bad, NULL });
	check_says("against the model it is not", 1,
		   "layer 'Convolution110 + Plus112 + ReLU114' (Conv) is the first that is off",
		   (char *[]){ "npu-run", "--check", bad, "--against", model, NULL });
	check_says("the output, too", 1, "output 'Plus214_Output_0' is off",
		   (char *[]){ "npu-run", "--check", bad, "--against", model, NULL });
	check_says("limits can be given", 1, "want 1;",
		   (char *[]){ "npu-run", "--check", model, "--min-cosine", "1", "--max-error",
			       "0", NULL });
	return tap_done();
}
