/* SPDX-License-Identifier: MIT */
/*
 * Language models in float64, written as plainly as can be: one sequence, one token at a time, no
 * tables. What the compiled models are held against.
 */
#ifndef TESTS_LLM_REFERENCE_H
#define TESTS_LLM_REFERENCE_H

#include "llm/gguf.h"

/*
 * Where something is rounded on the way; all false: nowhere, but for the weights in the file.
 *
 * @codes is the rule of Documentation/language-models.md, "What eight bits cost", in its own
 * arithmetic: that of f32. With @half_cache it is what a compiled model does, less the rounding of
 * each result to f32. The last four together are the arithmetic of llama.cpp on a processor (0.7.0,
 * flash attention, fewer than 64 rows at once) in all but that.
 */
struct reference_how {
	bool long_context;	/* more than the file's original context */
	bool single;		/* each result to f32 */
	uint64_t chance;	/* not 0, with single: up or down by chance, of this seed */
	/* activations: f16 beside F16, else codes of 8 bits by groups of a block of the weight */
	bool codes;
	bool half_cache;	/* keys and values f16 */
	bool half_query;	/* queries too */
	/* weighted values are summed in f16, one position after the other */
	bool half_sum;
};

/*
 * A value that a rule takes to one of few: a code, or an f16 of a scale or of the cache. Results
 * that are rounded to f32 on the way put it up to @reach elsewhere; when that is beyond an edge,
 * the rule is kept with either result, and @both is set.
 */
struct reference_choice {
	double value, reach;
	bool both;
};

struct reference;

/*
 * A sequence of at most @max tokens; NULL when the model has something that is not known here,
 * which is printed. @g stays the caller's.
 */
struct reference *reference_open(const struct npu_gguf *g, const struct reference_how *how,
				 int max);
void reference_close(struct reference *r);
int reference_vocab(const struct reference *r);

/* As when it was opened, but with @how. */
void reference_restart(struct reference *r, const struct reference_how *how);

/* Logits [vocab] after one token more, valid until the next call; NULL as above. */
const double *reference_step(struct reference *r, int32_t token);

/* As before the last step. */
void reference_back(struct reference *r);

/* Choices of the last step, in the order of the model, valid until the next one. */
const struct reference_choice *reference_choices(const struct reference *r, int *num);

/* How many of them have @both set. */
int reference_near(const struct reference *r);

/* Logits [num][vocab] after each of @num tokens, from malloc(); NULL as above. */
double *reference_logits(const struct npu_gguf *g, const int32_t *tokens, int num,
			 const struct reference_how *how, int *vocab);

#endif
