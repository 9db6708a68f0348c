// SPDX-License-Identifier: MIT
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../tap.h"
#include "harness.h"
#include "npu_engine.h"
#include "tools/vnpu/oracle/oracle.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

/* Whether version @d of the opcode can say all that the case does. */
static int can_say(const struct tcase *c, const struct npu_op_desc *d)
{
	const struct npu_op_desc *newest = npu_op_desc(c->opcode);
	unsigned int i;

	for (i = d->num_slots; i < newest->num_slots; i++)
		if (c->operand[i].dtype)
			return 0;
	for (i = d->num_params; i < newest->num_params; i++)
		if (c->param[i])
			return 0;
	return 1;
}

/* What later versions added is left off in half of the cases that could. */
static const struct npu_op_desc *encoded_desc(const struct tcase *c)
{
	for (unsigned int minor = 0; c->size[0] % 2 == 0 && minor < NPU_ISA_MINOR; minor++) {
		const struct npu_op_desc *d = npu_op_desc_at(c->opcode, minor);

		if (d && can_say(c, d))
			return d;
	}
	return npu_op_desc(c->opcode);
}

/* The stream: header, the instruction, END. */
static unsigned char *encode(const struct tcase *c, npu_u32 *size)
{
	const struct npu_op_desc *desc = encoded_desc(c);
	npu_u32 bytes = 16 + desc->num_slots * (npu_u32)sizeof(struct npu_operand) +
			desc->num_params * 4u;
	struct npu_insn_header h = {
		.opcode = c->opcode,
		.num_operands = desc->num_slots,
		.num_params = desc->num_params,
	};
	struct npu_stream_header sh = {
		.magic = NPU_STREAM_MAGIC, .isa_major = NPU_ISA_MAJOR, .isa_minor = NPU_ISA_MINOR,
		.num_insns = 2, .num_regions = NPU_MAX_OPERANDS,
	};
	unsigned char *s, *at;

	bytes = (bytes + 7) & ~7u;
	h.words = bytes / 4;
	*size = (npu_u32)sizeof(sh) + bytes + 16;
	sh.size = *size;
	s = aligned_alloc(64, (*size + 63) & ~63u);
	memset(s, 0, *size);
	memcpy(s, &sh, sizeof(sh));
	at = s + sizeof(sh);
	memcpy(at, &h, sizeof(h));
	memcpy(at + 16, c->operand, desc->num_slots * sizeof(struct npu_operand));
	memcpy(at + 16 + desc->num_slots * sizeof(struct npu_operand), c->param,
	       desc->num_params * 4u);
	h = (struct npu_insn_header){ .opcode = NPU_OP_END, .words = 4 };
	memcpy(at + bytes, &h, sizeof(h));
	return s;
}

static atomic_bool stop_flag;
static atomic_ullong stop_at;		/* milliseconds; 0: never */
static atomic_bool watchdog_ends;
static pthread_t watchdog;

static unsigned long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000;
}

/* A changed stream may ask for minutes of work within its bounds: the stop flag ends it. */
static void *watch(void *arg)
{
	(void)arg;
	while (!watchdog_ends) {
		unsigned long long at = stop_at;

		if (at && now_ms() >= at)
			stop_flag = true;
		usleep(5000);
	}
	return NULL;
}

/* The last four are tried with codes only: the float kernels are those of other sets. */
#define NUM_CONFIGS	10
#define NUM_FLOAT_CONFIGS	6
static struct npu_engine *engines[NUM_CONFIGS];
static int engines_tried;

static void make_engines(void)
{
	static const enum npu_simd simd[] = { NPU_SIMD_PORTABLE, NPU_SIMD_AVX2, NPU_SIMD_AVX512,
					      NPU_SIMD_AVX_VNNI, NPU_SIMD_AVX512_VNNI };

	if (engines_tried)
		return;
	engines_tried = 1;
	pthread_create(&watchdog, NULL, watch, NULL);
	for (int i = 0; i < NUM_CONFIGS; i++) {
		struct npu_engine_config config = { .threads = 1 + i % 2, .simd = simd[i / 2] };

		if (npu_engine_create(&config, &engines[i]))
			engines[i] = NULL;
		else
			tap_diag("engine %d: %s, %d thread(s)", i, npu_engine_simd_name(engines[i]),
				 1 + i % 2);
	}
}

static void copy_regions(const struct tcase *c, unsigned char **to)
{
	for (int i = 0; i < NPU_MAX_OPERANDS; i++) {
		to[i] = NULL;
		if (!c->data[i])
			continue;
		to[i] = aligned_alloc(64, (c->size[i] + 63) & ~63ull);
		memcpy(to[i], c->data[i], c->size[i]);
	}
}

static void free_regions(unsigned char **r)
{
	for (int i = 0; i < NPU_MAX_OPERANDS; i++)
		free(r[i]);
}

/*
 * Under AddressSanitizer the bytes around every region may not even be read while the engine runs:
 * a tensor may end where the memory of its region ends.
 */
static void forbid_guards(const struct tcase *c, unsigned char **mem, int forbid)
{
#ifdef __SANITIZE_ADDRESS__
	for (int i = 0; i < NPU_MAX_OPERANDS; i++) {
		npu_u64 allocated = (c->size[i] + 63) & ~63ull, end = c->size[i] - CASE_GUARD;

		if (!mem[i])
			continue;
		__asan_unpoison_memory_region(mem[i], allocated);
		if (forbid) {
			__asan_poison_memory_region(mem[i], CASE_GUARD);
			__asan_poison_memory_region(mem[i] + end, allocated - end);
		}
	}
#else
	(void)c, (void)mem, (void)forbid;
#endif
}

static enum npu_run_result run_engine(struct npu_engine *e, const struct tcase *c,
				      const void *stream, npu_u32 size, unsigned char **mem,
				      struct npu_fault *fault, char *text)
{
	struct npu_region regions[NPU_MAX_OPERANDS] = { 0 };
	struct npu_engine_state state = {
		.stream = stream,
		.stream_size = size,
		.num_regions = NPU_MAX_OPERANDS,
		.regions = regions,
	};
	enum npu_run_result r = NPU_RUN_FAULT;

	for (int i = 0; i < NPU_MAX_OPERANDS; i++) {
		regions[i].base = (npu_u64)(uintptr_t)mem[i];
		regions[i].size = c->size[i];
		regions[i].access = NPU_ACCESS_READ | NPU_ACCESS_WRITE;
	}
	if (!npu_engine_state_init(e, &state))
		r = npu_engine_run(e, &state, UINT64_MAX, &stop_flag, NULL);
	*fault = state.fault;
	memcpy(text, state.fault_text, sizeof(state.fault_text));
	npu_engine_state_fini(&state);
	return r;
}

/*
 * Mutations. A stream with some bytes changed is shown to the verifier and to the engine: what the
 * verifier accepts the engine must run to its end, but for a bad index in memory.
 */
static struct {
	unsigned int refused, ran, index, stopped, stricter, wrong;
} mutations;

static int static_fault(unsigned int code)
{
	return code != NPU_FAULT_INDEX && code != NPU_FAULT_NONE;
}

static void change(unsigned char *at, npu_u32 size)
{
	npu_u32 i = rng_below(size);

	switch (rng_below(4)) {
	case 0:
		at[i] ^= 1u << rng_below(8);
		break;
	case 1:
		at[i] = rng() & 0xff;
		break;
	case 2:
		at[i & ~3u] = rng_below(4);
		break;
	default:
		memset(at + (i & ~3u), rng_chance(2) ? 0xff : 0, 4);
	}
}

static void mutate(const struct tcase *c, unsigned char *stream, npu_u32 size, struct npu_engine *e)
{
	npu_u32 head = sizeof(struct npu_stream_header);
	struct npu_region regions[NPU_MAX_OPERANDS] = { 0 };
	unsigned char *mem[NPU_MAX_OPERANDS];
	struct npu_isa_error err;
	enum npu_run_result r;
	struct npu_fault fault;
	char text[256];
	int refused;

	for (unsigned int i = 1 + rng_below(3); i--;)
		if (rng_chance(12))
			change(stream, head);
		else
			change(stream + head, size - head);
	copy_regions(c, mem);
	for (int i = 0; i < NPU_MAX_OPERANDS; i++) {
		regions[i].base = (npu_u64)(uintptr_t)mem[i];
		regions[i].size = c->size[i];
		regions[i].access = NPU_ACCESS_READ | NPU_ACCESS_WRITE;
	}
	refused = npu_stream_verify(stream, size, regions, NPU_MAX_OPERANDS, 2u << 20, &err);
	stop_flag = false;
	stop_at = now_ms() + 100;
	r = run_engine(e, c, stream, size, mem, &fault, text);
	stop_at = 0;
	mutations.refused += refused && r == NPU_RUN_FAULT;
	mutations.ran += !refused && r == NPU_RUN_DONE;
	mutations.index += !refused && r == NPU_RUN_FAULT && fault.code == NPU_FAULT_INDEX;
	mutations.stopped += !refused && r == NPU_RUN_STOPPED;
	/*
	 * The verifier sees the whole stream and may know better: a count of instructions that is
	 * wrong, say.
	 */
	mutations.stricter += refused && r != NPU_RUN_FAULT;
	if (!refused && r == NPU_RUN_FAULT && static_fault(fault.code)) {
		if (mutations.wrong++ < 5) {
			tap_diag("%s, mutated: the verifier accepts it",
				 npu_op_desc(c->opcode)->mnemonic);
			tap_diag("engine: result %d, fault %u: %s", r, fault.code, text);
		}
	}
	free_regions(mem);
}

static void describe(const struct tcase *c)
{
	const struct npu_op_desc *desc = npu_op_desc(c->opcode);
	npu_u32 size;
	unsigned char *s = encode(c, &size);
	struct npu_isa_error err;
	struct npu_insn insn;
	char text[2048];

	if (!npu_insn_decode((const npu_u32 *)(s + sizeof(struct npu_stream_header)), size / 4,
			     &insn, &err)) {
		npu_insn_disassemble(&insn, text, sizeof(text));
		tap_diag("%s", text);
	} else {
		tap_diag("%s: %s", desc->mnemonic, err.text);
	}
	free(s);
}

/* Largest magnitude in the oracle's output, for relative errors. */
static double magnitude(struct oracle_view v)
{
	npu_u32 index[NPU_MAX_RANK] = { 0 };
	double m = 0;

	do {
		double x = fabs((double)oracle_load_real(v, oracle_at(v, index)));

		if (isfinite(x) && x > m)
			m = x;
	} while (oracle_next(index, v.op->dim, v.op->rank));
	return m;
}

static double step_of(const struct npu_operand *op)
{
	switch (op->dtype) {
	case NPU_F16:
		return 1.0 / 1024;
	case NPU_BF16:
		return 1.0 / 128;
	default:
		return 0;
	}
}

static int close_enough(const struct tcase *c, const struct npu_operand *op, double got,
			double want, double largest)
{
	double tolerance = c->tolerance * largest + fabs(want) * (step_of(op) + c->tolerance) +
			   1e-6;

	if (isnan(want) || isinf(want) || isnan(got) || isinf(got)) {
		/* A value on the edge of overflow may round to either side. */
		if (isnan(want) || isnan(got))
			return isnan(want) && isnan(got);
		return want == got ||
		       (op->dtype == NPU_F16 && fabs(got) >= 65000 && fabs(want) >= 65000) ||
		       (fabs(got) > 3.3e38 && fabs(want) > 3.3e38);
	}
	if (op->dtype == NPU_F16)
		tolerance += 6e-8;
	if (op->scale != 0)
		tolerance += op->scale * 1.001;
	else if (op->dtype == NPU_I8 || op->dtype == NPU_U8 || op->dtype == NPU_I32 ||
		 op->dtype == NPU_BOOL)
		tolerance += 1;
	return fabs(got - want) <= tolerance;
}

/* How many codes the oracle stored, and how many of them at the ends of their range. */
static unsigned long long codes_stored, codes_clipped;

static void count_codes(const struct npu_operand *op, const unsigned char *p)
{
	unsigned char lo = op->dtype == NPU_I8 ? 0x80 : 0;

	if (op->dtype != NPU_I8 && op->dtype != NPU_U8)
		return;
	codes_stored++;
	codes_clipped += *p == lo || *p == (lo ^ 0xff);
}

static int compare_slot(const struct tcase *c, unsigned int slot, int exact, unsigned char *got,
			unsigned char *want)
{
	const struct npu_operand *op = &c->operand[slot];
	struct oracle_view g = { op, got + op->offset }, w = { op, want + op->offset };
	npu_u64 size = npu_dtype_bits(op->dtype) / 8;
	npu_u32 index[NPU_MAX_RANK] = { 0 };
	double largest = exact ? 0 : magnitude(w);

	do {
		unsigned char *pg = oracle_at(g, index), *pw = oracle_at(w, index);

		count_codes(op, pw);
		if (!memcmp(pg, pw, size))
			continue;
		if (exact || !close_enough(c, op, oracle_load_real(g, pg), oracle_load_real(w, pw),
					   largest)) {
			tap_diag("slot %u at [%u %u %u %u %u %u]: engine %.9g, oracle %.9g (%s)",
				 slot, index[0], index[1], index[2], index[3], index[4], index[5],
				 oracle_load_real(g, pg), oracle_load_real(w, pw),
				 exact ? "exact" : "tolerance");
			return 0;
		}
		memcpy(pg, pw, size);	/* so that the bytes around can be compared */
	} while (oracle_next(index, op->dim, op->rank));
	if (memcmp(got, want, c->size[slot])) {
		tap_diag("slot %u: bytes outside of the tensor were changed", slot);
		return 0;
	}
	return 1;
}

static int compare(const struct tcase *c, int exact, unsigned char **got, unsigned char **want)
{
	const struct npu_op_desc *desc = npu_op_desc(c->opcode);

	for (unsigned int i = 0; i < desc->num_slots; i++) {
		if (!c->data[i] || c->operand[i].dtype == NPU_NONE)
			continue;
		if (desc->slots[i].dir != NPU_DIR_IN) {
			if (!compare_slot(c, i, exact, got[c->operand[i].region],
					  want[c->operand[i].region]))
				return 0;
		} else if (c->operand[i].region == i && c->operand[0].region != i &&
			   memcmp(got[i], want[i], c->size[i])) {
			tap_diag("input slot %u was changed", i);
			return 0;
		}
	}
	return 1;
}

static int run_oracle(const struct tcase *c, unsigned char *stream, npu_u32 size,
		      unsigned char **mem, int *exact)
{
	struct oracle_memory m = { 0 };
	struct npu_isa_error err;
	struct npu_insn insn;
	int ret = npu_insn_decode((const npu_u32 *)(stream + sizeof(struct npu_stream_header)),
				  (size - sizeof(struct npu_stream_header)) / 4, &insn, &err);

	if (!ret)
		ret = npu_insn_check(&insn, &err);
	if (ret) {
		tap_diag("the test made a bad instruction: %s", err.text);
		return ret;
	}
	for (int i = 0; i < NPU_MAX_OPERANDS; i++) {
		m.region[i] = mem[i];
		m.size[i] = c->size[i];
	}
	*exact = oracle_is_exact(&insn);
	return oracle_execute(&insn, &m);
}

/* The one with the most SIMD and threads that this host has. */
static struct npu_engine *last_engine(void)
{
	int i = NUM_CONFIGS - 1;

	while (i > 0 && !engines[i])
		i--;
	return engines[i];
}

/* Whether sums of products of codes are what is tried. */
static int has_codes(const struct tcase *c)
{
	return (c->opcode == NPU_OP_CONV || c->opcode == NPU_OP_CONV_TRANSPOSE ||
		c->opcode == NPU_OP_MATMUL) &&
	       (c->operand[1].dtype == NPU_I8 || c->operand[1].dtype == NPU_U8);
}

int case_run(struct tcase *c)
{
	unsigned char *want[NPU_MAX_OPERANDS], *first[NPU_MAX_OPERANDS] = { 0 };
	npu_u32 size;
	unsigned char *stream = encode(c, &size);
	int exact = 1, ok, ret, configs = has_codes(c) ? NUM_CONFIGS : NUM_FLOAT_CONFIGS;

	make_engines();
	stop_flag = false;
	copy_regions(c, want);
	ret = run_oracle(c, stream, size, want, &exact);
	ok = c->want_fault ? ret == -ERANGE : !ret;
	if (!ok)
		tap_diag("oracle returned %d", ret);
	for (int i = 0; ok && i < configs; i++) {
		unsigned char *got[NPU_MAX_OPERANDS];
		enum npu_run_result r;
		struct npu_fault fault;
		char text[256];

		if (!engines[i])
			continue;
		copy_regions(c, got);
		forbid_guards(c, got, 1);
		r = run_engine(engines[i], c, stream, size, got, &fault, text);
		forbid_guards(c, got, 0);
		if (c->want_fault) {
			ok = r == NPU_RUN_FAULT && (int)fault.code == c->want_fault;
		} else if (r != NPU_RUN_DONE) {
			tap_diag("engine %d: result %d: %s", i, r, text);
			ok = 0;
		} else if (!first[0]) {
			memcpy(first, got, sizeof(first));
			copy_regions(c, got);
			for (int s = 0; s < NPU_MAX_OPERANDS; s++)
				if (first[s])
					memcpy(got[s], first[s], c->size[s]);
			ok = compare(c, exact, got, want);
		} else {
			ok = compare(c, 1, got, first);
		}
		if (!ok)
			tap_diag("engine %d (%s)", i, npu_engine_simd_name(engines[i]));
		free_regions(got);
	}
	if (!ok)
		describe(c);
	for (int i = 0; i < 3 && engines[0]; i++) {
		free(stream);
		stream = encode(c, &size);
		stop_flag = false;
		mutate(c, stream, size, last_engine());
	}
	free_regions(first);
	free_regions(want);
	free(stream);
	return ok;
}

void harness_report(void)
{
	struct npu_engine_counters k;

	watchdog_ends = true;
	pthread_join(watchdog, NULL);
	tap_ok(!mutations.wrong,
	       "verifier and engine agree on changed streams: %u refused by both, %u by the verifier only, %u ran, %u bad index, "
	       "%u stopped",
	       mutations.refused, mutations.stricter, mutations.ran, mutations.index,
	       mutations.stopped);
	if (codes_stored)
		printf("# of %llu codes compared %llu are the lowest or the highest of their type\n",
		       codes_stored, codes_clipped);
	for (int i = 0; i < NUM_CONFIGS; i++) {
		if (!engines[i])
			continue;
		npu_engine_counters(engines[i], &k);
		printf("# %s: %llu instructions;", npu_engine_simd_name(engines[i]),
		       (unsigned long long)k.insns);
		for (unsigned int p = 0; npu_engine_path_name(p); p++)
			if (k.path[p])
				printf(" %s %llu", npu_engine_path_name(p),
				       (unsigned long long)k.path[p]);
		printf("\n");
		npu_engine_destroy(engines[i]);
	}
}

void harness_many(const char *name, unsigned int n, void (*make)(struct tcase *c))
{
	unsigned int good = 0, bad = 0;
	struct tcase c;

	n = tap_cases(n);
	for (unsigned int i = 0; i < n && bad < 3; i++) {
		make(&c);
		if (case_run(&c))
			good++;
		else
			bad++;
		case_free(&c);
	}
	tap_ok(!bad, "%s: %u random cases agree", name, good);
}
