/* SPDX-License-Identifier: MIT */
/*
 * Small GGUF files: a vocabulary of each kind (SPM, WPM, and BPE with each pre-tokenizer), and a
 * tensor.
 */
#ifndef FUZZ_MADE_VOCAB_H
#define FUZZ_MADE_VOCAB_H

#include <stddef.h>

/* How many kinds there are, and the file of one: the caller's. */
unsigned int made_vocab_kinds(void);
void *made_vocab(unsigned int kind, size_t *size);

#endif
