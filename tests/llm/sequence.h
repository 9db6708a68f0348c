/* SPDX-License-Identifier: MIT */
/* What tests of sessions share: a small compiled model, and a text that sequences are made from. */
#ifndef TESTS_LLM_SEQUENCE_H
#define TESTS_LLM_SEQUENCE_H

#include <stdbool.h>
#include <string.h>
#include "npu_llm.h"

#define NUM	75		/* tokens of the text: two blocks of the cache and a part */

extern int32_t text[NUM];
extern uint32_t vocab;		/* of the model that was written last */

/*
 * Write a model of random weights and compile it, for a context of 128, 6 sequences and 64 rows of
 * a step. @type: of tests/llm/model_file.h. False: it is said why.
 */
bool write_job(const char *arch, enum npu_llm_kv kv, uint32_t type);
/* Open it; @pool positions (0: as compiled), @budget bytes on the NPU (0: all). */
struct npu_llm *open_llm(const char *device, uint32_t pool, uint64_t budget);
struct npu_llm_session *new_session(struct npu_llm *llm);

/* Logits after text[from..to) in pieces of @piece, in @out. */
bool feed(struct npu_llm_session *s, int from, int to, int piece, float *out);
/* The bits of two rows of logits. */
bool same(const float *a, const float *b);

#endif
