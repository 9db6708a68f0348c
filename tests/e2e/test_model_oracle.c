// SPDX-License-Identifier: MIT
/*
 * Real models, instruction by instruction: the engine yields after each one, the oracle computes
 * the same instruction from the memory the engine had before it, and what both stored is compared.
 * Then the whole job is run without stopping by every instruction set and thread count, and must
 * leave the same bytes in every region.
 */
#include <stdlib.h>
#include <string.h>
#include "../tap.h"
#include "core/jobfile.h"
#include "npu_compiler.h"
#include "npu_engine.h"
#include "npu_isa_desc.h"
#include "tools/vnpu/oracle/oracle.h"
#include "common/file.h"

/* A job in memory with all its regions; SRAM is the engine state's. */
struct machine {
	const struct npu_jobfile_program *program;
	npu_u32 scalar[NPU_MAX_SCALARS];
	unsigned char *mem[NPU_MAX_REGIONS];
	npu_u64 size[NPU_MAX_REGIONS];
	struct npu_region table[NPU_MAX_REGIONS];
};

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

static void machine_free(struct machine *m)
{
	for (npu_u32 r = 0; r < m->program->num_regions; r++)
		free(m->mem[r]);
}

static int machine_init(struct machine *m, const struct npu_jobfile *job, npu_u32 scalar)
{
	const struct npu_jobfile_program *p = &job->programs[0];

	memset(m, 0, sizeof(*m));
	m->program = p;
	for (npu_u32 s = 0; s < p->num_symbols; s++)
		m->scalar[s] = scalar;
	npu_jobfile_derive(p, m->scalar);
	for (npu_u32 r = 0; r < p->num_regions; r++) {
		const struct npu_jobfile_region *region = &p->regions[r];

		if (npu_jobfile_eval(&region->size, m->scalar, &m->size[r]))
			return -1;
		m->table[r] = (struct npu_region){ .size = m->size[r], .access = region->access };
		m->mem[r] = aligned_alloc(4096, (m->size[r] + 4096) & ~4095ull);
		if (!m->mem[r])
			return -1;
		memset(m->mem[r], 0, m->size[r]);
		if (region->role == NPU_REGION_WEIGHTS)
			memcpy(m->mem[r], (const char *)job->weights + region->offset, m->size[r]);
		if (region->role == NPU_REGION_INPUT)
			fill_input(m->mem[r], m->size[r]);
		if (region->role != NPU_REGION_SRAM)
			m->table[r].base = (npu_u64)(uintptr_t)m->mem[r];
	}
	return 0;
}

static void start(struct npu_engine *e, struct npu_engine_state *state, const struct machine *m)
{
	memset(state, 0, sizeof(*state));
	state->stream = m->program->stream;
	state->stream_size = m->program->stream_size;
	state->num_regions = m->program->num_regions;
	state->regions = m->table;
	memcpy(state->scalar, m->scalar, sizeof(state->scalar));
	npu_engine_state_init(e, state);
}

static int decode(const struct machine *m, npu_u32 offset, npu_u32 *words, struct npu_insn *insn)
{
	const struct npu_insn_header *h = (const void *)((const char *)m->program->stream + offset);
	struct npu_isa_error err;

	memcpy(words, h, h->words * 4u);
	return npu_insn_decode(words, h->words, insn, &err) ||
	       npu_insn_apply_terms(words, m->scalar, &err) || npu_insn_check(insn, &err);
}

/*
 * Compare one output; where polynomials are involved within the tolerance of the formula's steps.
 */
static int compare(const struct npu_insn *insn, unsigned int slot, unsigned char **got,
		   unsigned char **want)
{
	const struct npu_operand *op = &insn->operand[slot];
	struct oracle_view g = { op, got[op->region] + op->offset },
			   w = { op, want[op->region] + op->offset };
	npu_u32 index[NPU_MAX_RANK] = { 0 };
	bool exact = oracle_is_exact(insn);
	double largest = 1e-30, worst = 0, step = op->dtype == NPU_F16 ? 1.0 / 1024 : 0;

	do {
		double a = oracle_load_real(g, oracle_at(g, index)),
		       b = oracle_load_real(w, oracle_at(w, index));

		largest = b > largest ? b : -b > largest ? -b : largest;
		worst = a - b > worst ? a - b : b - a > worst ? b - a : worst;
	} while (oracle_next(index, op->dim, op->rank));
	seen.exact += exact;
	seen.close += !exact;
	if (!exact && worst / largest > seen.worst)
		seen.worst = worst / largest;
	if (exact ? worst == 0 : worst <= largest * (step + 2e-5))
		return 1;
	tap_diag("instruction %u, %s, tag %u: differs by %g of %g", seen.insns,
		 insn->desc->mnemonic, insn->header->tag, worst, largest);
	return 0;
}

/* Step through the job. Returns 1 when every instruction agrees. */
static int step_through(struct npu_engine *e, struct machine *m)
{
	npu_u32 words[4096] __attribute__((aligned(8)));
	struct oracle_memory before = { 0 };
	struct npu_engine_state state;
	enum npu_run_result r = NPU_RUN_YIELD;
	atomic_bool stop = false;
	int ok = 1;

	for (npu_u32 i = 0; i < m->program->num_regions; i++)
		before.region[i] = malloc(m->size[i] + 1);
	start(e, &state, m);
	while (ok && r == NPU_RUN_YIELD) {
		unsigned char *now[NPU_MAX_REGIONS];
		struct npu_insn insn;

		for (npu_u32 i = 0; i < m->program->num_regions; i++) {
			now[i] = m->program->regions[i].role == NPU_REGION_SRAM ? state.sram :
										  m->mem[i];
			memcpy(before.region[i], now[i], m->size[i]);
		}
		ok = !decode(m, state.offset, words, &insn) && !oracle_execute(&insn, &before);
		r = npu_engine_run(e, &state, 0, &stop, NULL);
		if (r == NPU_RUN_FAULT)
			tap_diag("instruction %u: %s", seen.insns, state.fault_text);
		for (unsigned int s = 0; ok && r != NPU_RUN_FAULT && s < insn.desc->num_slots; s++)
			if (insn.desc->slots[s].dir != NPU_DIR_IN && insn.operand[s].dtype)
				ok = compare(&insn, s, now, before.region);
		seen.insns++;
	}
	npu_engine_state_fini(&state);
	for (npu_u32 i = 0; i < m->program->num_regions; i++)
		free(before.region[i]);
	return ok && r == NPU_RUN_DONE;
}

/* The same job in one go with another configuration: outputs must hold the same bytes. */
static int run_whole(const struct npu_jobfile *job, const struct machine *stepped, npu_u32 scalar,
		     enum npu_simd simd, unsigned int threads)
{
	struct npu_engine_config config = { .threads = threads, .simd = simd };
	struct npu_engine_state state;
	struct npu_engine *e;
	atomic_bool stop = false;
	struct machine m;
	int ok;

	if (npu_engine_create(&config, &e))
		return -1;
	ok = !machine_init(&m, job, scalar);
	if (ok) {
		start(e, &state, &m);
		ok = npu_engine_run(e, &state, UINT64_MAX, &stop, NULL) == NPU_RUN_DONE;
		npu_engine_state_fini(&state);
	}
	for (npu_u32 i = 0; ok && i < m.program->num_regions; i++)
		if (m.program->regions[i].role == NPU_REGION_OUTPUT ||
		    m.program->regions[i].role == NPU_REGION_SCRATCH)
			ok = !memcmp(m.mem[i], stepped->mem[i], m.size[i]);
	machine_free(&m);
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
	struct machine m = { 0 };
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
	    machine_init(&m, job, scalar)) {
		tap_ok(0, "%s: %s", model, err.text);
		goto out;
	}
	memset(&seen, 0, sizeof(seen));
	agrees = step_through(e, &m);
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
	if (m.program)
		machine_free(&m);
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
