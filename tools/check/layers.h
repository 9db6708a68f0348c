/* SPDX-License-Identifier: MIT */
/*
 * A whole job layer by layer: what each layer made, whether its instructions gave the oracle's
 * bits, and how far it is from the same layer of another job (the model in f32).
 *
 * A layer is what the job's debug map says: the instructions in a row that stand for one node of
 * the model, or several fused ones.
 */
#ifndef TOOLS_CHECK_LAYERS_H
#define TOOLS_CHECK_LAYERS_H

#include "tools/check/machine.h"

/* What one instruction made, as numbers in the row-major order of its operand. */
struct check_capture {
	npu_u32 rank, dim[NPU_MAX_RANK];
	npu_u64 elements, step;		/* every step-th of them is kept */
	float *value;			/* ceil(elements / step) of them */
};

/* Why a layer has no numbers against the other job. */
enum check_match {
	CHECK_COMPARED,
	CHECK_INTEGER,			/* indices and masks: only how many differ */
	CHECK_ABSENT,			/* the other job does not make this tensor */
	CHECK_RESHAPED,			/* it makes it in another form */
	CHECK_ALONE			/* there is no other job, or the layer makes no tensor */
};

struct check_difference {
	enum check_match match;
	npu_u64 compared;
	npu_u64 differ;			/* that are not equal */
	npu_u64 invalid;		/* NaN or infinite on one side only */
	double worst, largest;		/* absolute; of the other job's values */
	double cosine;
};

struct check_layer {
	const char *node, *op, *tensor;	/* the job's */
	npu_u32 first, insns;
	const char *mnemonic;		/* of the last instruction */
	npu_u32 dtype;			/* of what it makes */
	bool quantized;
	float scale;			/* of its codes, by the debug map; 0: as the operand says */
	/* Instructions by what the oracle said. */
	npu_u32 same, within, differ, unknown;
	npu_u32 host;			/* steps on the host, of which the oracle says nothing */
	npu_u64 elements, compared;
	double worst;			/* of those within, relative to the largest */
	struct check_result bad;	/* the first that differs; bad.desc is NULL without one */
	struct check_capture *capture;
	unsigned int num_captures;
	struct check_difference fp32;
};

struct check_layers {
	struct check_layer *layer;
	size_t num;
	npu_u64 insns, macs;
	npu_u64 elements, compared;	/* by the oracle, of all instructions */
	npu_u64 sampled, sampled_of;	/* of those of convolutions and products */
};

/*
 * Execute what is left of @m beside the oracle. @capture: keep what layers make, to compare.
 * @progress (may be NULL) is called with instructions done. Returns 0 or what check_step() failed
 * with, with a text; what an instruction the oracle does not know is no failure. The strings are
 * the job's, the rest is freed by check_layers_free() in either case.
 */
int check_layers_run(struct check_machine *m, const struct check_how *how, bool capture,
		     void (*progress)(void *arg, npu_u32 insns), void *arg,
		     struct check_layers *out, struct npu_error *err);
void check_layers_free(struct check_layers *l);

/* Fill in the fp32 of every layer of @l by the layers of @ref, matched by tensor. */
void check_layers_compare(struct check_layers *l, const struct check_layers *ref);

/* f16, bf16, f32, and f64 of host steps. */
bool check_is_real(unsigned int dtype);

/* Compare @n values; *@d is added to, finish with check_difference_end(). */
struct check_dot { double ab, aa, bb; };
void check_difference_add(struct check_difference *d, struct check_dot *dot, double got,
			  double want);
void check_difference_end(struct check_difference *d, const struct check_dot *dot);

#endif
