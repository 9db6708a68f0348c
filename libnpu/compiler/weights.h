/* SPDX-License-Identifier: MIT */
/*
 * The weight section that all programs of a job share. Equal blobs are stored once, in order of
 * first use. One compilation, one thread.
 */
#ifndef NPU_COMPILER_WEIGHTS_H
#define NPU_COMPILER_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPU_WEIGHT_ALIGN	64u

struct npu_weights {
	uint8_t *data;
	size_t size, capacity;
	struct npu_weight_blob *blob;
	unsigned int num_blobs, max_blobs;
	unsigned int *slot;		/* hash table of blob index + 1 */
	unsigned int num_slots;
	unsigned int f32_kept;		/* weights that f16 would have damaged */
};

/*
 * Put @size bytes into the section, or find them there; *@offset is a multiple of NPU_WEIGHT_ALIGN.
 * @data may be what npu_weights_reserve() gave. Returns 0, -ENOMEM or -EFBIG.
 */
int npu_weights_add(struct npu_weights *w, const void *data, size_t size, uint64_t *offset);

/*
 * Room for @size bytes at the end of the section, zeroed, to be written by the caller and handed to
 * npu_weights_add() next: packing needs no second copy. NULL: no memory.
 */
void *npu_weights_reserve(struct npu_weights *w, size_t size);

void npu_weights_fini(struct npu_weights *w);

#endif
