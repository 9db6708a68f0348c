// SPDX-License-Identifier: MIT
/*
 * Indices in memory: a bad one faults with its own value, slot and nothing written outside; the
 * lowest one is reported whatever the number of threads.
 */
#include "tap.h"
#include "insn.h"

static struct npu_engine *engine[2];

static struct test_tensor make(unsigned int dtype, unsigned int rank, const uint32_t *dim)
{
	struct test_rng rng = { 0 };

	return test_tensor_make(&rng, dtype, rank, dim, TEST_DENSE);
}
#define DIMS(...)	(const uint32_t[]){ __VA_ARGS__ }

static void put_i32(struct test_tensor *t, uint32_t i, int32_t v)
{
	memcpy(t->mem + (size_t)i * 4, &v, sizeof(v));
}

/* Runs on one and on two threads. */
static void expect(const char *what, unsigned int opcode, struct test_tensor *const *slots,
		   const uint32_t *params, unsigned int slot, int64_t value)
{
	struct npu_fault f = { 0 };
	char text[256] = "";
	unsigned int i;
	int ok = 1;

	for (i = 0; i < 2 && ok; i++) {
		ok = test_insn_run(engine[i], opcode, slots, params, &f, text) == NPU_RUN_FAULT &&
		     f.code == NPU_FAULT_INDEX && f.operand == slot && f.value == value && text[0];
		if (!ok)
			tap_diag("%u threads: fault %u, slot %u, value %lld: %s", i + 1, f.code,
				 f.operand, (long long)f.value, text);
	}
	tap_ok(ok, "%s: %lld", what, (long long)value);
}

static void check_rows(void)
{
	struct test_tensor out = make(NPU_F32, 3, DIMS(1, 3000, 40)),
			   in = make(NPU_F32, 3, DIMS(1, 10, 40));
	struct test_tensor index = make(NPU_I32, 1, DIMS(3000));

	put_i32(&index, 2900, 77);
	put_i32(&index, 1234, 10);
	expect("gather: the first of two", NPU_OP_GATHER,
	       (struct test_tensor *[16]){ &out, &in, &index }, DIMS(0, 0), NPU_GATHER_INDEX, 10);
	put_i32(&index, 1234, -11);
	expect("gather: too far from the end", NPU_OP_GATHER,
	       (struct test_tensor *[16]){ &out, &in, &index }, DIMS(0, 0), NPU_GATHER_INDEX, -11);
	put_i32(&index, 1234, -1);
	put_i32(&index, 2900, INT32_MIN);
	expect("scatter: -1 skips a row, others do not", NPU_OP_SCATTER,
	       (struct test_tensor *[16]){ &in, &out, &index }, DIMS(NPU_SCATTER_NONE, 1),
	       NPU_SCATTER_INDEX, INT32_MIN);
	test_tensor_free(&out);
	test_tensor_free(&in);
	test_tensor_free(&index);
}

static void check_elements(void)
{
	struct test_tensor data = make(NPU_F16, 2, DIMS(200, 50)),
			   part = make(NPU_F16, 2, DIMS(7000, 50));
	struct test_tensor index = make(NPU_I64, 2, DIMS(7000, 50));
	int64_t bad = 1ll << 40, worse = -201;

	memcpy(index.mem + 8ull * 311111, &bad, sizeof(bad));
	memcpy(index.mem + 8ull * 7777, &worse, sizeof(worse));
	expect("gather_elements: the first of two", NPU_OP_GATHER_ELEMENTS,
	       (struct test_tensor *[16]){ &part, &data, &index }, DIMS(0),
	       NPU_GATHER_ELEMENTS_INDEX, worse);
	memset(index.mem + 8ull * 7777, 0, 8);
	expect("scatter_elements: beyond 32 bits", NPU_OP_SCATTER_ELEMENTS,
	       (struct test_tensor *[16]){ &data, &part, &index }, DIMS(0, NPU_SCATTER_ADD),
	       NPU_SCATTER_ELEMENTS_INDEX, bad);
	test_tensor_free(&data);
	test_tensor_free(&part);
	test_tensor_free(&index);
}

static void check_rope(void)
{
	struct test_tensor x = make(NPU_F32, 3, DIMS(500, 4, 64)),
			   y = make(NPU_F32, 3, DIMS(500, 4, 64));
	struct test_tensor pos = make(NPU_I32, 1, DIMS(500)), c = make(NPU_F32, 2, DIMS(100, 32)),
			   s = make(NPU_F32, 2, DIMS(100, 32));
	struct test_tensor *slots[16] = { &y, &x, &pos, NULL, &c, &s };
	uint32_t params[] = { 64, 0, test_f32(10000), test_f32(1), test_f32(1) };

	put_i32(&pos, 400, 100);
	expect("rope: position behind the table", NPU_OP_ROPE, slots, params, NPU_ROPE_POSITIONS,
	       100);
	put_i32(&pos, 10, -1);
	expect("rope: negative position", NPU_OP_ROPE, slots, params, NPU_ROPE_POSITIONS, -1);
	test_tensor_free(&x);
	test_tensor_free(&y);
	test_tensor_free(&pos);
	test_tensor_free(&c);
	test_tensor_free(&s);
}

static void check_attention(void)
{
	struct test_tensor q = make(NPU_F32, 3, DIMS(6, 2, 16)),
			   out = make(NPU_F32, 3, DIMS(6, 2, 16));
	struct test_tensor k = make(NPU_F32, 4, DIMS(4, 8, 2, 16)),
			   v = make(NPU_F32, 4, DIMS(4, 8, 2, 16));
	struct test_tensor start = make(NPU_I32, 1, DIMS(4)), len = make(NPU_I32, 1, DIMS(3)),
			   table = make(NPU_I32, 2, DIMS(3, 2));
	struct test_tensor *slots[16] = { &out, &q, &k, &v, NULL, NULL, &start, &len, &table };
	uint32_t params[] = { 3, test_f32(1), 1, 0, 0 };

	put_i32(&start, 1, 2);
	put_i32(&start, 2, 1);
	put_i32(&start, 3, 6);
	expect("attention: q_start falls", NPU_OP_ATTENTION, slots, params, NPU_ATTENTION_Q_START,
	       1);
	put_i32(&start, 2, 4);
	put_i32(&len, 1, 17);
	expect("attention: length beyond the cache", NPU_OP_ATTENTION, slots, params,
	       NPU_ATTENTION_KV_LEN, 17);
	put_i32(&len, 1, 9);
	put_i32(&table, 3, 4);
	put_i32(&table, 1, 99);
	expect("attention: block outside, entries that are not needed do not count",
	       NPU_OP_ATTENTION, slots, params, NPU_ATTENTION_BLOCK_TABLE, 4);
	put_i32(&table, 3, 3);
	tap_ok(test_insn_run(engine[1], NPU_OP_ATTENTION, slots, params, NULL, NULL) ==
		       NPU_RUN_DONE,
	       "attention runs when all are right");
	test_tensor_free(&q);
	test_tensor_free(&out);
	test_tensor_free(&k);
	test_tensor_free(&v);
	test_tensor_free(&start);
	test_tensor_free(&len);
	test_tensor_free(&table);
}

static void check_crop(void)
{
	struct test_tensor out = make(NPU_F32, 4, DIMS(3, 2, 2, 4)),
			   in = make(NPU_F32, 4, DIMS(2, 5, 5, 4));
	struct test_tensor boxes = make(NPU_F32, 2, DIMS(3, 4)), batch = make(NPU_I32, 1, DIMS(3));
	uint32_t fill = 0;

	put_i32(&batch, 2, 2);
	expect("crop_resize: image outside", NPU_OP_CROP_RESIZE,
	       (struct test_tensor *[16]){ &out, &in, &boxes, &batch }, &fill,
	       NPU_CROP_RESIZE_BATCH, 2);
	test_tensor_free(&out);
	test_tensor_free(&in);
	test_tensor_free(&boxes);
	test_tensor_free(&batch);
}

/*
 * W - 1 has no float of its own: the one it is rounded to is the index of an element behind the
 * last.
 */
static void check_crop_wide(void)
{
	const uint32_t wide = (1u << 24) + 4, fill = test_f32(-5);
	struct test_tensor out = make(NPU_F32, 4, DIMS(1, 1, 1, 1)),
			   in = make(NPU_U8, 4, DIMS(1, 1, wide + 12, 1));
	struct test_tensor boxes = make(NPU_F32, 2, DIMS(1, 4));
	float got, box[4] = { 0.5f, (float)wide, 0.5f, (float)wide };

	memset(in.mem, 77, in.size);
	memcpy(boxes.mem, box, sizeof(box));
	in.op.dim[2] = wide;
	tap_ok(test_insn_run(engine[0], NPU_OP_CROP_RESIZE,
			     (struct test_tensor *[16]){ &out, &in, &boxes }, &fill, NULL,
			     NULL) == NPU_RUN_DONE,
	       "crop_resize: behind a wide image");
	memcpy(&got, out.mem, sizeof(got));
	tap_ok(got == -5.0f, "crop_resize: reads nothing from there (%g)", (double)got);
	test_tensor_free(&out);
	test_tensor_free(&in);
	test_tensor_free(&boxes);
}

int main(void)
{
	struct npu_engine_config config = { .threads = 1 };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		config.threads = i + 1;
		if (npu_engine_create(&config, &engine[i])) {
			printf("Bail out! no engine\n");
			return 1;
		}
	}
	check_rows();
	check_elements();
	check_rope();
	check_attention();
	check_crop();
	check_crop_wide();
	for (i = 0; i < 2; i++)
		npu_engine_destroy(engine[i]);
	return tap_done();
}
