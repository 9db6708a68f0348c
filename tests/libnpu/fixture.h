/* SPDX-License-Identifier: MIT */
/* Small streams and job files made by hand, without the compiler or the operator builders. */
#ifndef TESTS_LIBNPU_FIXTURE_H
#define TESTS_LIBNPU_FIXTURE_H

#include "core/jobfile.h"
#include "npu_isa_desc.h"

/* A stream under construction; aborts the test when memory runs out. */
struct asm_stream {
	npu_u32 *words;
	size_t num_words, room;
	npu_u32 num_insns;
};

void asm_begin(struct asm_stream *s);
void asm_insn(struct asm_stream *s, unsigned int opcode, const struct npu_operand *ops,
	      const npu_u32 *params, const struct npu_term *terms, unsigned int num_terms,
	      npu_u32 tag);
/* Append END and fill in the header; @bounds has min and max of each scalar. */
void asm_end(struct asm_stream *s, unsigned int num_regions, unsigned int num_scalars,
	     const npu_u32 (*bounds)[2]);
size_t asm_size(const struct asm_stream *s);
void asm_free(struct asm_stream *s);

/* Rows x cols of f32, dense. */
struct npu_operand asm_f32(unsigned int region, npu_u64 offset, npu_u32 rows, npu_u32 cols);
npu_u32 asm_float(float f);
void asm_ewise2(struct asm_stream *s, unsigned int func, unsigned int act,
		const struct npu_operand *out, const struct npu_operand *a,
		const struct npu_operand *b, const struct npu_term *terms, unsigned int num_terms,
		npu_u32 tag);

/*
 * The tiny model: y = relu(x * w + x), x and y [n, 4] f32, w [4], n = 1 .. 16 rows as a symbol; x *
 * w lies in SRAM. Its regions: 0 weights, 1 scratch (unused), 2 SRAM, 3 x, 4 y.
 */
#define TINY_COLS	4
#define TINY_ROWS	16
extern const float tiny_w[TINY_COLS];
float tiny_ref(float x, unsigned int col);

struct fixture {
	struct asm_stream stream;
	struct npu_jobfile_symbol symbols[2];
	struct npu_jobfile_region regions[8];
	struct npu_jobfile_tensor tensors[8];
	struct npu_jobfile_debug debug[4];
	struct npu_jobfile_program programs[2];
	struct npu_jobfile_record records[2];
	float weights[1024];
	struct npu_jobfile job;
	/* of host_make() */
	struct asm_stream second;
	struct npu_jobfile_step steps[4];
	npu_u32 args[8];
	struct npu_jobfile_image images[2];	/* of frame_make() */
};

void tiny_make(struct fixture *f);
/* A run of that job with one row, whose input is @x; the caller's to destroy. */
struct npu_run *tiny_run(struct npu_job *job, const float x[TINY_COLS]);
/* y = rows of table[8][4] chosen by idx [3] i32 (an input): a bad index faults at run time. */
void gather_make(struct fixture *f);
/* The same with the table at byte @at of @weights, @size bytes of zeros that the caller keeps. */
void gather_far_make(struct fixture *f, char *weights, npu_u64 size, npu_u64 at);
/* The same behind a host step: nz = NonZero(idx), i64, an output. */
void gather_host_make(struct fixture *f);
/*
 * @insns matrix products of 256 x 256 x 256 in scratch: input x [1] f32 is copied to y at the end.
 */
void slow_make(struct fixture *f, unsigned int insns);
/*
 * Host steps between two streams, rows as in the tiny model: t = relu(x * w) on the device;
 * "where" = NonZero(t), whose length depends on the data; u = test.Scale(t), an operator of the
 * application's (fixture_ops); y = u + x on the device. Regions as in the tiny model, 5 is "where".
 */
void host_make(struct fixture *f);
/*
 * Camera frames, copied as they are: "cam" is NV12 of 8 x 4 pixels, planes "cam" [4][8] and
 * "cam.uv" [2][8], rows any 8 .. 64 bytes apart; "rgb" is RGB24 of 4 x 2 pixels, rows 16 bytes
 * apart. Outputs "y", "uv" and "p" are dense. Regions and tensors: 0 .. 2 the planes, 3 .. 5 the
 * outputs.
 */
void frame_make(struct fixture *f);
#define FIXTURE_OPS	1
extern const struct npu_host_op fixture_ops[FIXTURE_OPS];
#define FIXTURE_FACTOR	2.5
/* Called by test.Scale, when set: its argument is the rows. */
extern void (*fixture_scale_hook)(int64_t rows);
extern int fixture_scale_status;	/* what test.Scale returns instead of computing, when set */
/* How often its job was cancelled behind the hook. */
extern unsigned int fixture_scale_stops;
void fixture_free(struct fixture *f);

/* The bytes; aborts when the writer refuses. */
void *fixture_encode(const struct fixture *f, size_t *size);

/* A job in memory, loaded on @dev; aborts on error. */
struct npu_job *fixture_load(struct npu_device *dev, const struct fixture *f, const char *name);

#endif
