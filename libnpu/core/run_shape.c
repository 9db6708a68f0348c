// SPDX-License-Identifier: MIT
/* From the shapes that a user gives to a program and its scalars. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "core/object.h"

enum match { MATCH_FULL, MATCH_OPEN, MATCH_NOT };

struct solve {
	const struct npu_jobfile_program *prog;
	bool known[NPU_MAX_SCALARS];
	npu_u32 scalar[NPU_MAX_SCALARS];
	npu_u32 teacher[NPU_MAX_SCALARS];	/* name whose shape told a known scalar; ~0: none */
	int conflict;			/* the scalar that two shapes tell differently, or -1 */
	char why[256];			/* for MATCH_OPEN and MATCH_NOT */
};

/* "1x3x(32..960 in steps of 32)x640" */
static void describe_shape(const struct npu_jobfile_program *prog,
			   const struct npu_jobfile_tensor *t, char *out, size_t size)
{
	npu_u32 lower[NPU_MAX_SCALARS], upper[NPU_MAX_SCALARS], d;
	npu_u64 lo = 0, hi = 0;
	size_t n = 0;

	npu_jobfile_bounds(prog, false, lower);
	npu_jobfile_bounds(prog, true, upper);
	out[0] = 0;
	for (d = 0; d < t->rank && n < size; d++) {
		npu_jobfile_eval(&t->dim[d], lower, &lo);
		npu_jobfile_eval(&t->dim[d], upper, &hi);
		n += snprintf(out + n, size - n, "%s", d ? "x" : "");
		if (n >= size)
			break;
		if (lo == hi)
			n += snprintf(out + n, size - n, "%llu", (unsigned long long)lo);
		else if (t->dim[d].factor[0] > 1 && !t->dim[d].factor[1])
			n += snprintf(out + n, size - n, "(%llu..%llu in steps of %lld)",
				      (unsigned long long)lo, (unsigned long long)hi,
				      (long long)t->dim[d].factor[0]);
		else
			n += snprintf(out + n, size - n, "(%llu..%llu)", (unsigned long long)lo,
				      (unsigned long long)hi);
	}
	if (!t->rank)
		snprintf(out, size, "a single value (rank 0)");
}

static void describe_given(const struct npu_run_slot *slot, char *out, size_t size)
{
	size_t n = 0;
	npu_u32 d;

	snprintf(out, size, "a single value (rank 0)");
	for (d = 0; d < slot->rank && n < size; d++)
		n += snprintf(out + n, size - n, "%s%lld", d ? "x" : "", (long long)slot->dim[d]);
}

/* The one symbol that @dim is a linear function of, or -1: fixed, or not as simple. */
static int only_symbol(const struct npu_jobfile_program *prog, const struct npu_jobfile_expr *dim,
		       npu_s64 *factor)
{
	int i, sym = -1;

	for (i = 0; i < NPU_JOBFILE_TERMS; i++) {
		if (!dim->factor[i])
			continue;
		if (sym >= 0 || prog->symbols[dim->sym[i]].kind != NPU_SYMBOL_FREE)
			return -1;
		sym = dim->sym[i];
		*factor = dim->factor[i];
	}
	return sym;
}

/*
 * Learn a scalar from one dim of name @name. False: no scalar of the symbol gives this dim, or
 * (s->conflict) another shape said otherwise.
 */
static bool learn(struct solve *s, const struct npu_jobfile_expr *dim, int64_t given, npu_u32 name)
{
	npu_s64 factor = 0, rest;
	const struct npu_jobfile_symbol *sym;
	int i = only_symbol(s->prog, dim, &factor);

	if (i < 0)
		return true;
	sym = &s->prog->symbols[i];
	if (__builtin_sub_overflow(given, dim->base, &rest) || rest < 0 || rest % factor ||
	    rest / factor < sym->min / sym->step || rest / factor > sym->max / sym->step)
		return false;
	if (s->known[i]) {
		if (s->scalar[i] == (npu_u64)(rest / factor))
			return true;
		s->conflict = i;
		return false;
	}
	s->known[i] = true;
	s->teacher[i] = name;
	s->scalar[i] = rest / factor;
	return true;
}

/* Symbols that are products of known ones; factors come before their product. */
static void derive(struct solve *s)
{
	const struct npu_jobfile_symbol *sym = s->prog->symbols;
	npu_u32 i;

	npu_jobfile_derive(s->prog, s->scalar);
	for (i = 0; i < s->prog->num_symbols; i++)
		if (sym[i].kind == NPU_SYMBOL_PRODUCT)
			s->known[i] = s->known[sym[i].a] && s->known[sym[i].b];
}

static bool dims_known(const struct solve *s, const struct npu_jobfile_expr *dim)
{
	int i;

	for (i = 0; i < NPU_JOBFILE_TERMS; i++)
		if (dim->factor[i] && !s->known[dim->sym[i]])
			return false;
	return true;
}

/* Two shapes that can be had, but not together. */
static enum match disagree(struct solve *s, const struct npu_run *run,
			   const struct npu_jobfile_tensor *t, const struct npu_run_slot *slot)
{
	npu_u32 other = s->teacher[s->conflict];
	char given[60], others[60];

	describe_given(slot, given, sizeof(given));
	describe_given(&run->slot[other], others, sizeof(others));
	snprintf(s->why, sizeof(s->why),
		 "'%.32s' is %s and '%.32s' is %s: they do not agree on length '%.24s'",
		 run->job->names[other].name, others, t->name, given,
		 s->prog->symbols[s->conflict].name);
	return MATCH_NOT;
}

static enum match mismatch(struct solve *s, const struct npu_run *run,
			   const struct npu_jobfile_tensor *t, const struct npu_run_slot *slot)
{
	char want[120], given[60];

	if (s->conflict >= 0 && s->teacher[s->conflict] != ~0u)
		return disagree(s, run, t, slot);

	describe_shape(s->prog, t, want, sizeof(want));
	describe_given(slot, given, sizeof(given));
	snprintf(s->why, sizeof(s->why), "'%.48s' can not be %s, want %s", t->name, given, want);
	return MATCH_NOT;
}

/* Everything that the dim depends on is known: is it what was given? */
static enum match check_dim(struct solve *s, const struct npu_jobfile_tensor *t, npu_u32 d,
			    const struct npu_run_slot *slot)
{
	char given[60];
	npu_u64 value = 0;

	if (!dims_known(s, &t->dim[d]))
		return MATCH_FULL;
	if (!npu_jobfile_eval(&t->dim[d], s->scalar, &value) && value == (npu_u64)slot->dim[d])
		return MATCH_FULL;
	describe_given(slot, given, sizeof(given));
	snprintf(s->why, sizeof(s->why),
		 "'%.48s' is %s, but the other shapes make its dim %u %llu", t->name, given, d,
		 (unsigned long long)value);
	return MATCH_NOT;
}

/*
 * The shapes given (@only: that of one name, ~0: all) against one program's tensors: first what
 * single dims tell, then whether all agree.
 */
static enum match match_shapes(const struct npu_run *run, unsigned int program, npu_u32 only,
			       struct solve *s)
{
	const struct npu_job *job = run->job;
	npu_u32 n, d, tensor, pass;

	for (pass = 0; pass < 2; pass++) {
		for (n = 0; n < job->num_names; n++) {
			const struct npu_run_slot *slot = &run->slot[n];
			const struct npu_jobfile_tensor *t;

			if (!slot->has_shape || (only != ~0u && only != n))
				continue;
			tensor = job->names[n].tensor[program];
			if (tensor == ~0u) {
				snprintf(s->why, sizeof(s->why), "it has no '%.64s'",
					 job->names[n].name);
				return MATCH_NOT;
			}
			t = &s->prog->tensors[tensor];
			if (slot->rank != t->rank)
				return mismatch(s, run, t, slot);
			for (d = 0; d < t->rank; d++) {
				if (!pass && !learn(s, &t->dim[d], slot->dim[d], n))
					return mismatch(s, run, t, slot);
				if (!pass && npu_jobfile_is_fixed(&t->dim[d]) &&
				    t->dim[d].base != slot->dim[d])
					return mismatch(s, run, t, slot);
				if (pass && check_dim(s, t, d, slot) != MATCH_FULL)
					return MATCH_NOT;
			}
		}
		if (!pass)
			derive(s);
	}
	return MATCH_FULL;
}

/* An input whose shape would tell symbol @sym, for the text. */
static enum match missing(struct solve *s, npu_u32 sym)
{
	const struct npu_jobfile_program *prog = s->prog;
	npu_u32 t, d;
	npu_s64 factor;
	char want[120];

	snprintf(s->why, sizeof(s->why), "symbol '%.64s' does not follow from any shape",
		 prog->symbols[sym].name);
	for (t = 0; t < prog->num_tensors; t++) {
		if (prog->tensors[t].role != NPU_TENSOR_INPUT &&
		    prog->tensors[t].role != NPU_TENSOR_STATE)
			continue;
		for (d = 0; d < prog->tensors[t].rank; d++) {
			if (only_symbol(prog, &prog->tensors[t].dim[d], &factor) != (int)sym)
				continue;
			describe_shape(prog, &prog->tensors[t], want, sizeof(want));
			snprintf(s->why, sizeof(s->why),
				 "the shape of input '%.64s' is not given: %s",
				 prog->tensors[t].name, want);
			return MATCH_OPEN;
		}
	}
	return MATCH_OPEN;
}

static enum match refuse_stride(struct solve *s, const char *name, npu_u64 given, npu_u64 min,
				npu_u64 max)
{
	int n = snprintf(s->why, sizeof(s->why),
			 "'%.48s' can not have rows %llu bytes apart, %s %llu", name,
			 (unsigned long long)given,
			 min == max ? "the job was compiled for" : "want",
			 (unsigned long long)min);

	if (min != max)
		snprintf(s->why + n, sizeof(s->why) - n, " .. %llu", (unsigned long long)max);
	return MATCH_NOT;
}

/* The strides given (@only: that of one name, ~0: all) against those that the program takes. */
static enum match match_strides(const struct npu_run *run, unsigned int program, npu_u32 only,
				struct solve *s)
{
	const struct npu_job *job = run->job;
	npu_u64 min, max, given;
	npu_u32 n, tensor;
	int sym;

	for (n = 0; n < job->num_names; n++) {
		const struct npu_jobfile_tensor *t;

		given = run->slot[n].stride;
		tensor = job->names[n].tensor[program];
		if (!given || (only != ~0u && only != n) || tensor == ~0u)
			continue;
		t = &s->prog->tensors[tensor];
		npu_jobfile_plane_bounds(s->prog, t, &min, &max);
		sym = npu_jobfile_stride_symbol(s->prog, t);
		if (given < min || given > max ||
		    (sym >= 0 && given % s->prog->symbols[sym].step)) {
			return refuse_stride(s, t->name, given, min, max);
		}
		if (sym >= 0)
			s->scalar[sym] = (npu_u32)(given / s->prog->symbols[sym].step);
	}
	return MATCH_FULL;
}

static enum match match_program(const struct npu_run *run, unsigned int program, npu_u32 only,
				struct solve *s)
{
	const struct npu_jobfile_symbol *sym;
	enum match match;
	npu_u32 i;

	*s = (struct solve){ .prog = &run->job->file->programs[program], .conflict = -1 };
	memset(s->teacher, 0xff, sizeof(s->teacher));
	sym = s->prog->symbols;
	for (i = 0; i < s->prog->num_symbols; i++) {
		if (sym[i].kind != NPU_SYMBOL_STRIDE &&
		    (sym[i].kind != NPU_SYMBOL_FREE || sym[i].min != sym[i].max))
			continue;
		s->known[i] = true;
		s->scalar[i] = sym[i].min / sym[i].step;
	}
	match = match_strides(run, program, only, s);
	if (match == MATCH_FULL)
		match = match_shapes(run, program, only, s);
	if (match != MATCH_FULL)
		return match;
	for (i = 0; i < s->prog->num_symbols; i++)
		if (sym[i].kind == NPU_SYMBOL_FREE && !s->known[i])
			return missing(s, i);
	npu_jobfile_derive(s->prog, s->scalar);
	return MATCH_FULL;
}

/*
 * The scalars that no symbol stands for are set by the stream itself; they begin at their lowest.
 */
static void add_stream_scalars(struct npu_run *run)
{
	const struct npu_jobfile_program *prog = &run->job->file->programs[run->program];
	struct npu_stream_header header;
	npu_u32 i;

	if (!prog->stream)
		return;		/* each stream of several has its own, set at its submit */
	memcpy(&header, prog->stream, sizeof(header));
	for (i = prog->num_symbols; i < header.num_scalars; i++)
		run->scalar[i] = header.scalar[i].min;
}

static int refuse(const struct npu_run *run, const char *why, struct npu_error *err)
{
	npu_u32 n = run->job->file->num_programs;

	if (n == 1)
		return npu_error_set(err, -EINVAL, "%s: %s", run->job->path, why);
	return npu_error_set(err, -EINVAL,
			     "%s: none of its %u programs takes these shapes; the first: %s",
			     run->job->path, n, why);
}

int npu_run_choose(struct npu_run *run, struct npu_error *err)
{
	char why[256] = "", open[256] = "";
	struct solve s;
	npu_u32 i;

	for (i = 0; i < run->job->file->num_programs && !run->resolved; i++) {
		switch (match_program(run, i, ~0u, &s)) {
		case MATCH_FULL:
			run->program = i;
			memcpy(run->scalar, s.scalar, sizeof(run->scalar));
			add_stream_scalars(run);
			run->resolved = true;
			break;
		case MATCH_OPEN:
			if (!*open)
				memcpy(open, s.why, sizeof(open));
			break;
		case MATCH_NOT:
			if (!*why)
				memcpy(why, s.why, sizeof(why));
			break;
		}
	}
	if (run->resolved)
		return 0;
	if (*open)
		return npu_error_set(err, -EINVAL, "%s: %s", run->job->path, open);
	return refuse(run, why, err);
}

/*
 * The first program that takes the shapes, or that of @only alone; @why: the first reason if none.
 */
static bool any_program(const struct npu_run *run, npu_u32 only, char why[256])
{
	struct solve s;
	npu_u32 i;

	*why = 0;
	for (i = 0; i < run->job->file->num_programs; i++) {
		if (match_program(run, i, only, &s) != MATCH_NOT)
			return true;
		if (!*why)
			memcpy(why, s.why, sizeof(s.why));
	}
	return false;
}

int npu_run_check_shape(struct npu_run *run, npu_u32 name, struct npu_error *err)
{
	char why[256];

	return any_program(run, name, why) ? 0 : refuse(run, why, err);
}
