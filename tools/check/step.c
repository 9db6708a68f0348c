// SPDX-License-Identifier: MIT
/*
 * One instruction, twice. The oracle goes first and writes into the job's own memory, since its
 * inputs are there; its outputs are taken away, what was there before is put back, and the engine
 * computes the same.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "npu_host.h"
#include "tools/check/machine.h"
#include "tools/vnpu/oracle/oracle.h"

#define MAX_THREADS	64u

/* The bytes of one output: as they were before, and as the oracle left them. */
struct saved {
	unsigned char *live;		/* in the job's memory; NULL: no output */
	unsigned char *before, *want;
	npu_u64 bytes;
};

/* Types that only host steps have. */
static double host_value(unsigned int dtype, const unsigned char *at)
{
	union { double d; int16_t i16; uint16_t u16; uint32_t u32; uint64_t u64; } v = { 0 };

	memcpy(&v, at, npu_host_dtype_size(dtype));
	switch (dtype) {
	case NPU_HOST_F64: return v.d;
	case NPU_HOST_I16: return v.i16;
	case NPU_HOST_U16: return v.u16;
	case NPU_HOST_U32: return v.u32;
	default: return (double)v.u64;
	}
}

double check_value(const struct npu_operand *op, const unsigned char *at)
{
	struct oracle_view v = { op, (unsigned char *)(uintptr_t)at };

	if (op->dtype >= NPU_HOST_F64)
		return host_value(op->dtype, at);

	return oracle_is_real(v) ? oracle_load_real(v, at) : (double)oracle_load_int(v, at);
}

static bool is_output(const struct npu_insn *insn, unsigned int slot)
{
	return insn->desc->slots[slot].dir != NPU_DIR_IN && insn->operand[slot].dtype != NPU_NONE;
}

static void saved_free(struct saved *saved, unsigned int n)
{
	for (unsigned int s = 0; s < n; s++) {
		free(saved[s].before);
		free(saved[s].want);
	}
}

static int saved_take(struct check_machine *m, struct saved *saved, struct npu_error *err)
{
	for (unsigned int s = 0; s < m->insn.desc->num_slots; s++) {
		const struct npu_operand *op = &m->insn.operand[s];

		if (!is_output(&m->insn, s))
			continue;
		if (npu_insn_operand_extent(&m->insn, s, &saved[s].bytes))
			return npu_error_set(err, -EINVAL, "operand '%s' has no extent",
					     m->insn.desc->slots[s].name);
		saved[s].before = malloc(saved[s].bytes + 1);
		saved[s].want = malloc(saved[s].bytes + 1);
		if (!saved[s].before || !saved[s].want)
			return npu_error_set(err, -ENOMEM, "no memory for the output '%s'",
					     m->insn.desc->slots[s].name);
		saved[s].live = check_machine_region(m, op->region) + op->offset;
		memcpy(saved[s].before, saved[s].live, saved[s].bytes);
	}
	return 0;
}

/* Outputs may interleave: all of the oracle's are taken before anything is put back. */
static void saved_swap(const struct saved *saved, unsigned int n)
{
	unsigned int s;

	for (s = 0; s < n; s++)
		if (saved[s].live)
			memcpy(saved[s].want, saved[s].live, saved[s].bytes);
	for (s = 0; s < n; s++)
		if (saved[s].live)
			memcpy(saved[s].live, saved[s].before, saved[s].bytes);
}

struct phase {
	const struct npu_insn *insn;
	struct oracle_memory mem;
	pthread_t thread;
	bool running;
	int ret;
};

static void *phase_run(void *arg)
{
	struct phase *p = arg;

	p->ret = oracle_execute(p->insn, &p->mem);
	return NULL;
}

/* By the oracle, in threads where outputs are independent of each other. */
static int oracle_compute(struct check_machine *m, const struct check_how *how)
{
	npu_u64 step = how->step ? how->step : 1;
	unsigned int n = oracle_can_sample(&m->insn) && how->threads ? how->threads : 1, i;
	struct phase phase[MAX_THREADS];
	int ret = 0;

	n = n > MAX_THREADS ? MAX_THREADS : n;
	for (i = 0; i < n; i++) {
		phase[i] = (struct phase){ .insn = &m->insn };
		for (unsigned int r = 0; r < m->program->num_regions; r++) {
			phase[i].mem.region[r] = check_machine_region(m, r);
			phase[i].mem.size[r] = m->size[r];
		}
		phase[i].mem.step = step * n;
		phase[i].mem.phase = step * i;
		phase[i].running = i && !pthread_create(&phase[i].thread, NULL, phase_run,
							&phase[i]);
	}
	for (i = 0; i < n; i++) {
		if (phase[i].running)
			pthread_join(phase[i].thread, NULL);
		else
			phase_run(&phase[i]);
		ret = phase[i].ret ? phase[i].ret : ret;
	}
	return ret;
}

/* What a value may be off by when the formula is a polynomial that the oracle does not share. */
static double tolerance(const struct npu_operand *op, double largest)
{
	double step = op->dtype == NPU_F16 ? 1.0 / 1024 : op->dtype == NPU_BF16 ? 1.0 / 128 : 0;

	if (op->dtype == NPU_I8 || op->dtype == NPU_U8 || op->dtype == NPU_I32)
		return op->scale != 0 ? 1.001 * op->scale : 1;
	return largest * (step + 2e-5);
}

static bool same_bits(const struct npu_operand *op, const unsigned char *got,
		      const unsigned char *want)
{
	if (!memcmp(got, want, npu_dtype_bits(op->dtype) / 8))
		return true;
	return npu_dtype_is_float(op->dtype) && isnan(check_value(op, got)) &&
	       isnan(check_value(op, want));
}

static void note_bad(struct check_result *r, unsigned int slot, const struct npu_operand *op,
		     const npu_u32 *index, double got, double want)
{
	if (r->bad++)
		return;
	r->slot = slot;
	r->rank = op->rank;
	memcpy(r->at, index, sizeof(r->at));
	r->got = got;
	r->want = want;
}

static double largest_of(const struct npu_operand *op, const unsigned char *base, npu_u64 step)
{
	struct oracle_view v = { op, (unsigned char *)(uintptr_t)base };
	npu_u32 index[NPU_MAX_RANK] = { 0 };
	double largest = 1e-30, x;
	npu_u64 n = 0;

	do {
		if (n++ % step)
			continue;
		x = fabs(check_value(op, oracle_at(v, index)));
		largest = x > largest && isfinite(x) ? x : largest;
	} while (oracle_next(index, op->dim, op->rank));
	return largest;
}

static void compare(const struct npu_insn *insn, unsigned int slot, npu_u64 step,
		    const struct saved *saved, struct check_result *r)
{
	const struct npu_operand *op = &insn->operand[slot];
	struct oracle_view got = { op, saved->live }, want = { op, saved->want };
	double largest = largest_of(op, saved->want, step), limit = tolerance(op, largest);
	npu_u32 index[NPU_MAX_RANK] = { 0 };
	npu_u64 n = 0;

	do {
		const unsigned char *g = oracle_at(got, index), *w = oracle_at(want, index);
		double a, b;

		r->elements++;
		if (n++ % step)
			continue;
		r->compared++;
		if (same_bits(op, g, w))
			continue;
		a = check_value(op, g);
		b = check_value(op, w);
		if (!(fabs(a - b) <= r->worst))
			r->worst = fabs(a - b);
		if (r->exact || !(fabs(a - b) <= limit))
			note_bad(r, slot, op, index, a, b);
	} while (oracle_next(index, op->dim, op->rank));
	r->largest = largest > r->largest ? largest : r->largest;
}

static int engine_step(struct check_machine *m, struct npu_error *err)
{
	atomic_bool stop = false;

	switch (npu_engine_run(m->engine, &m->state, 0, &stop, NULL)) {
	case NPU_RUN_DONE:
	case NPU_RUN_YIELD:
		return 0;
	default:
		return npu_error_set(err, -EIO, "%s", m->state.fault_text);
	}
}

static int host_step(struct check_machine *m, struct check_result *r, struct npu_error *err)
{
	int ret;

	*r = (struct check_result){ .index = m->done, .tag = m->current.tag, .ok = true };
	ret = check_host_step(m, err);
	m->done++;
	return ret ? ret : 1;
}

/* The instruction is in m->insn; @known: what the oracle says of it. */
static int step_beside(struct check_machine *m, const struct check_how *how,
		       struct check_result *r, int *known, struct npu_error *err)
{
	struct saved saved[NPU_MAX_OPERANDS] = { { NULL, NULL, NULL, 0 } };
	npu_u64 step = how->step && oracle_can_sample(&m->insn) ? how->step : 1;
	int ret = saved_take(m, saved, err);

	if (ret)
		goto out;
	*known = oracle_compute(m, how);
	saved_swap(saved, m->insn.desc->num_slots);
	ret = engine_step(m, err);
	for (unsigned int s = 0; !ret && !*known && s < m->insn.desc->num_slots; s++)
		if (is_output(&m->insn, s))
			compare(&m->insn, s, step, &saved[s], r);
out:
	saved_free(saved, m->insn.desc->num_slots);
	return ret;
}

int check_step(struct check_machine *m, const struct check_how *how, struct check_result *r,
	       struct npu_error *err)
{
	int next = check_machine_next(m, err), known = 0, ret;

	if (next == 2)
		return host_step(m, r, err);
	if (next != 1)
		return next;
	*r = (struct check_result){ .index = m->done++, .tag = m->insn.header->tag,
				    .desc = m->insn.desc, .exact = oracle_is_exact(&m->insn) };
	ret = step_beside(m, how, r, &known, err);
	if (ret)
		return ret;
	r->ok = !known && !r->bad;
	if (known == -ENOTSUP)
		return npu_error_set(err, -ENOTSUP, "the oracle does not know this form of %s",
				     m->insn.desc->mnemonic);
	return known ? npu_error_set(err, known, "the oracle refuses what the engine did") : 1;
}
