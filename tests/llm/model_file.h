/* SPDX-License-Identifier: MIT */
/* Writes GGUF files of small language models with random weights. */
#ifndef TESTS_LLM_MODEL_FILE_H
#define TESTS_LLM_MODEL_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* ggml's numbers of the types that are written here. */
enum {
	FILE_F32 = 0, FILE_F16 = 1, FILE_Q4_0 = 2, FILE_Q4_1 = 3, FILE_Q5_0 = 6, FILE_Q5_1 = 7,
	FILE_Q8_0 = 8, FILE_Q4_K = 12, FILE_Q5_K = 13, FILE_Q6_K = 14, FILE_IQ4_NL = 20,
	FILE_BF16 = 30,
};

struct model_spec {
	const char *arch;
	uint32_t dim, layers, heads, kv_heads, head_dim, ff, vocab, context;
	uint32_t rope_dims;		/* 0: head_dim */
	uint32_t window;		/* 0: no key */
	uint32_t type;			/* of matrices */
	bool bias;			/* of q, k and v */
	bool untied;			/* an output matrix of its own */
	bool rope_freqs;		/* a tensor of divisors of the frequencies */
	const char *scaling;		/* rope.scaling.type, or NULL */
	float factor;			/* of it */
	uint32_t original;		/* context before it, 0: no key */
	bool tokenizer;			/* with a vocabulary of single letters and pairs of them */
	uint64_t seed;
	/* To be refused: a key and a tensor more than there should be, one tensor less. */
	const char *extra_key, *extra_tensor, *leave_out;
	uint32_t wrong_ff;		/* rows that ffn_down's input has instead */
};

/* A model of small true shape of an architecture, in F32. */
struct model_spec model_spec_of(const char *arch);

/* Write it; true when that worked. */
bool model_write(const struct model_spec *s, const char *path);

#endif
