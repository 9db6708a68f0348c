/* SPDX-License-Identifier: MIT */
/* Small command streams, put together word by word. */
#ifndef TESTS_DEVCORE_STREAM_H
#define TESTS_DEVCORE_STREAM_H

#include "npu_isa_desc.h"

#define STREAM_WORDS	8192

struct stream {
	npu_u32 words[STREAM_WORDS];
	npu_u32 used;			/* words */
};

void stream_begin(struct stream *s, unsigned int num_regions);
void stream_end(struct stream *s);
npu_u32 stream_bytes(const struct stream *s);
/* @n bytes from offset @from of region @in to offset @to of region @out. */
void stream_copy(struct stream *s, unsigned int out, npu_u64 to, unsigned int in, npu_u64 from,
		 npu_u32 n);
/* out [n][n] = a [n][n] x b [n][n] of f32, at offset 0 of their regions. */
void stream_matmul(struct stream *s, unsigned int out, unsigned int a, unsigned int b, npu_u32 n);
/* out [n][cols] = rows of data [rows][cols] by idx [n] i32; bytes. */
void stream_gather(struct stream *s, unsigned int out, unsigned int data, unsigned int idx,
		   npu_u32 n, npu_u32 rows, npu_u32 cols);

#endif
