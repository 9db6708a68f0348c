// SPDX-License-Identifier: MIT
/*
 * Real models, instruction by instruction: the oracle computes each one from the memory the engine
 * has before it, and what both stored is compared (tools/check). Then the whole job is run without
 * stopping by every instruction set and thread count, and must leave the same bytes in every
 * region.
 */
#include <stdlib.h>
#include <string.h>
#include "../tap.h"
#include "npu_compiler.h"
#include "tools/check/machine.h"
#include "common/file.h"

static struct {
	unsigned int insns, exact, close;
	double worst;
} seen;

static void fill_input(unsigned char *mem, npu_u64 size)
{
	uint32_t state = 12345;
	float v;

	for (npu_u64 i = 0; i + 4 <= size; i += 4) {
		state = state * 1664525 + 1013904223;
		v = (float)(int32_t)state / 2147483648.0f;
		memcpy(mem + i, &v, 4);
	}
}

static int machine_init(struct check_machine *m, const struct npu_jobfile *job, npu_u32 scalar,
			struct npu_engine *e, struct npu_error *err)
{
	npu_u32 scalars[NPU_MAX_SCALARS] = { 0 };
	int ret;

	for (npu_u32 s = 0; s < job->programs[0].num_symbols; s++)
		scalars[s] = scalar;
	ret = check_machine_init(m, job, 0, scalars, e, err);
	for (npu_u32 r = 0; !ret && r < m->program->num_regions; r++)
		if (m->program->regions[r].role == NPU_REGION_INPUT)
			fill_input(m->mem[r], m->size[r]);
	return ret;
}

/* Step through the job. Returns 1 when every instruction agrees. */
static int step_through(struct check_machine *m)
{
	struct check_how how = { .threads = 2 };
	struct check_result r;
	struct npu_error err = { 0 };
	int ret;

	while ((ret = check_step(m, &how, &r, &err)) > 0) {
		seen.insns++;
		seen.exact += r.exact;
		seen.close += !r.exact;
		if (!r.exact && r.largest > 0 && r.worst / r.largest > seen.worst)
			seen.worst = r.worst / r.largest;
		if (r.ok)
			continue;
		tap_diag("instruction %u, %s, tag %u: differs by %g of %g", r.index,
			 r.desc->mnemonic, r.tag, r.worst, r.largest);
		return 0;
	}
	if (ret)
		tap_diag("instruction %u: %s", m->done, err.text);
	return !ret;
}

/* The same job in one go with another configuration: outputs must hold the same bytes. */
static int run_whole(const struct npu_jobfile *job, const struct check_machine *stepped,
		     npu_u32 scalar, enum npu_simd simd, unsigned int threads)
{
	struct npu_engine_config config = { .threads = threads, .simd = simd };
	struct npu_engine *e;
	atomic_bool stop = false;
	struct check_machine m = { 0 };
	int ok;

	if (npu_engine_create(&config, &e))
		return -1;
	ok = !machine_init(&m, job, scalar, e, NULL) && check_machine_next(&m, NULL) == 1 &&
	     npu_engine_run(e, &m.state, UINT64_MAX, &stop, NULL) == NPU_RUN_DONE;
	for (npu_u32 i = 0; ok && i < m.program->num_regions; i++)
		if (m.program->regions[i].role == NPU_REGION_OUTPUT ||
		    m.program->regions[i].role == NPU_REGION_SCRATCH)
			ok = !memcmp(m.mem[i], stepped->mem[i], m.size[i]);
	check_machine_fini(&m);
	npu_engine_destroy(e);
	return ok;
}

static void check_model(const char *model, const char *shape, npu_u32 scalar,
			enum npu_precision precision)
{
	static const struct {
		const char *name;
		enum npu_simd simd;
	} sets[] = { { "portable", NPU_SIMD_PORTABLE },
		     { "avx2", NPU_SIMD_AVX2 },
		     { "avx512", NPU_SIMD_AVX512 } };
	const char *type = precision == NPU_PRECISION_F16 ? "f16" : "f32";
	struct npu_engine_config config = { .threads = 2 };
	struct npu_compile_options options;
	struct npu_compile_result *result = NULL;
	struct npu_jobfile *job = NULL;
	struct npu_engine *e = NULL;
	struct check_machine m = { 0 };
	struct npu_error err = { 0 };
	int agrees;
	char path[512];
	const void *data;
	size_t size;
	void *onnx;

	snprintf(path, sizeof(path), "%s/%s.onnx",
		 getenv("NPU_MODELS") ? getenv("NPU_MODELS") : "build/models", model);
	onnx = test_read_file(path, &size);
	if (!tap_ok(onnx != NULL, "%s: read", path))
		return;
	npu_compile_options_init(&options);
	options.precision = precision;
	options.shapes = &shape;
	options.num_shapes = shape != NULL;
	if (npu_compile_onnx(onnx, size, path, &options, &result)) {
		tap_ok(0, "%s: %s", model, result ? npu_compile_messages(result) : "out of memory");
		goto out;
	}
	data = npu_compile_job(result, &size);
	if (npu_jobfile_parse(data, size, 0, &job, &err) || npu_engine_create(&config, &e) ||
	    machine_init(&m, job, scalar, e, &err)) {
		tap_ok(0, "%s: %s", model, err.text);
		goto out;
	}
	memset(&seen, 0, sizeof(seen));
	agrees = step_through(&m);
	tap_ok(agrees, "%s %s: %u instructions, %u bit-equal with the oracle, %u within %.2g",
	       model, type, seen.insns, seen.exact, seen.close, seen.worst);
	for (unsigned int s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) {
		for (unsigned int threads = 1; threads <= 2; threads++) {
			int same = run_whole(job, &m, scalar, sets[s].simd, threads);

			if (same < 0)
				tap_skip(model, "not on this processor");
			else
				tap_ok(same, "%s %s: same bytes in one go, %s, %u threads", model,
				       type, sets[s].name, threads);
		}
	}
out:
	check_machine_fini(&m);
	npu_engine_destroy(e);
	npu_jobfile_free(job);
	npu_compile_result_free(result);
	free(onnx);
}

int main(void)
{
	check_model("mnist-8", NULL, 0, NPU_PRECISION_F16);
	check_model("blazeface_front", NULL, 0, NPU_PRECISION_F16);
	check_model("cls", "x=1x3x48x192", 0, NPU_PRECISION_F16);
	if (tap_short())
		return tap_done();
	check_model("cls", "x=1x3x48x192", 0, NPU_PRECISION_F32);
	check_model("rec", "x=1x3x48x{W=16..320:8}", 4, NPU_PRECISION_F16);
	check_model("det", "x=1x3x{H=32..640:32}x{W=32..640:32}", 2, NPU_PRECISION_F16);
	if (tap_long()) {
		check_model("blazeface_back", NULL, 0, NPU_PRECISION_F16);
		check_model("fr_detect", NULL, 0, NPU_PRECISION_F16);
		check_model("fr_feature", NULL, 0, NPU_PRECISION_F32);
		check_model("fr_landmark", NULL, 0, NPU_PRECISION_F16);
	}
	return tap_done();
}
