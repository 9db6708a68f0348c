// SPDX-License-Identifier: MIT
/* Every error that npu.h names is returned, with a reason in words. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "tap.h"

static struct npu_error err;
static struct npu_device *dev, *other;
static struct npu_queue *queue;
static struct npu_job *tiny, *gather;

/* @call is made once, with a text that was cleared before. */
#define ERROR(want, part, call)                                                        \
	do {                                                                           \
		int ret_;                                                              \
		memset(&err, 0, sizeof(err));                                          \
		ret_ = (call);                                                         \
		tap_ok(ret_ == (want) && err.code == (want) && strstr(err.text, part), \
		       "%s: %d %s", #call, ret_, err.text);                            \
	} while (0)

static void test_device(void)
{
	struct npu_device_options opt = NPU_INIT(opt);
	struct npu_device_info info = NPU_INIT(info), zero = { 0 };
	struct npu_device_candidate c = NPU_INIT(c);
	struct {
		struct npu_device_options opt;
		uint64_t more;
	} newer = { .opt.size = sizeof(newer) };
	struct npu_device *d;
	uint32_t words[8] = { 0xee };

	ERROR(-ENODEV, "/dev/accel/accel63", npu_device_open("/dev/accel/accel63", NULL, &d, &err));
	tap_ok(!d, "a failed open gives NULL");
	ERROR(-ENODEV, "'tpu'", npu_device_open("tpu", NULL, &d, &err));
	ERROR(-EINVAL, "dev is NULL", npu_device_open("sim", NULL, NULL, &err));
	ERROR(-EINVAL, "'speed'", npu_device_open("sim:speed=9", NULL, &d, &err));
	ERROR(-EINVAL, "no value", npu_device_open("sim:threads", NULL, &d, &err));
	ERROR(-EINVAL, "threads=0", npu_device_open("sim:threads=0", NULL, &d, &err));
	ERROR(-EINVAL, "1 to 256", npu_device_open("sim:threads=257", NULL, &d, &err));
	ERROR(-EINVAL, "threads=x", npu_device_open("sim:threads=x", NULL, &d, &err));
	ERROR(-EINVAL, "sram=17", npu_device_open("sim:sram=17", NULL, &d, &err));
	ERROR(-EINVAL, "simd=mmx", npu_device_open("sim:simd=mmx", NULL, &d, &err));
	opt.threads = 5000;
	ERROR(-EINVAL, "5000", npu_device_open("sim", &opt, &d, &err));
	opt.threads = 0;
	opt.sram_size = 1;
	ERROR(-EINVAL, "sram_size", npu_device_open("sim", &opt, &d, &err));
	opt.sram_size = 0;
	opt.size = 0;
	ERROR(-EINVAL, "size is 0", npu_device_open("sim", &opt, &d, &err));
	newer.more = 1;
	ERROR(-EINVAL, "npu_device_options", npu_device_open("sim", &newer.opt, &d, &err));
	newer.more = 0;
	tap_ok(!npu_device_open("sim:threads=1", &newer.opt, &d, &err),
	       "a longer struct with zeros at its end is fine");
	npu_device_close(d);
	ERROR(-EINVAL, "info->size", npu_device_info(dev, &zero, &err));
	tap_ok(!npu_device_info(dev, &info, &err) && !strcmp(info.backend, "sim") &&
		       info.sram_size == 2 << 20 && info.num_priorities == 3,
	       "device info");
	tap_ok(!npu_device_candidate(0, &c) && *c.uri, "candidate 0: %s", c.uri);
	tap_ok(npu_device_candidate(1000, &c) == -ENOENT, "there are not 1000");
	c.size = 0;
	tap_ok(npu_device_candidate(0, &c) == -EINVAL && npu_device_candidate(0, NULL) == -EINVAL,
	       "candidate without size");
	ERROR(-EINVAL, "0xee", npu_device_supports(dev, words, 8, &err));
	ERROR(-EINVAL, "words", npu_device_supports(dev, NULL, 0, &err));
	ERROR(-ENOTSUP, "9.0", npu_abi_check(9, 0, &err));
	ERROR(-ENOTSUP, "0.99", npu_abi_check(0, 99, &err));
	tap_ok(!npu_abi_check(NPU_ABI_MAJOR, NPU_ABI_MINOR, &err) && *npu_version(), "version %s",
	       npu_version());
	npu_device_close(NULL);
}

static void test_buffer(void)
{
	struct npu_device_info info = NPU_INIT(info);
	_Alignas(64) char mem[64] = "";
	struct npu_buffer *b;
	void *p;
	int fd;

	npu_device_info(dev, &info, &err);
	ERROR(-EINVAL, "0 bytes", npu_buffer_create(dev, 0, 0, &b, &err));
	ERROR(-EINVAL, "flags", npu_buffer_create(dev, 1, 8, &b, &err));
	ERROR(-EINVAL, "NULL", npu_buffer_create(dev, 1, 0, NULL, &err));
	ERROR(-E2BIG, "at most", npu_buffer_create(dev, info.max_buffer + 1, 0, &b, &err));
	ERROR(-EINVAL, "ptr is NULL",
	      npu_buffer_import_host(dev, NULL, 64, 0, NULL, NULL, &b, &err));
	ERROR(-EINVAL, "multiple of",
	      npu_buffer_import_host(dev, mem + 1, 8, 0, NULL, NULL, &b, &err));
	ERROR(-EINVAL, "flags", npu_buffer_import_host(dev, mem, 64, 2, NULL, NULL, &b, &err));
	ERROR(-EBADF, "not open", npu_buffer_import_dmabuf(dev, -1, &b, &err));
	ERROR(-EINVAL, "not a dma-buf", npu_buffer_import_dmabuf(dev, 0, &b, &err));
	npu_buffer_import_host(dev, mem, 64, NPU_BUFFER_READ_ONLY, NULL, NULL, &b, &err);
	ERROR(-ENOTSUP, "dma-buf", npu_buffer_export_dmabuf(b, &fd, &err));
	ERROR(-EACCES, "read only", npu_buffer_write(b, 0, mem, 4, &err));
	ERROR(-EINVAL, "64", npu_buffer_read(b, 60, mem, 5, &err));
	ERROR(-EINVAL, "64", npu_buffer_read(b, UINT64_MAX, mem, 1, &err));
	ERROR(-EINVAL, "data is NULL", npu_buffer_read(b, 0, NULL, 1, &err));
	ERROR(-EINVAL, "64", npu_buffer_sync(b, 1, 64, NPU_SYNC_TO_DEVICE, &err));
	ERROR(-EINVAL, "direction", npu_buffer_sync(b, 0, 64, (enum npu_sync)7, &err));
	ERROR(-EINVAL, "NULL", npu_buffer_map(b, NULL, &err));
	tap_ok(!npu_buffer_map(b, &p, &err) && p == mem && npu_buffer_size(b) == 64,
	       "map gives the imported memory");
	npu_buffer_put(b);
	npu_buffer_put(NULL);
}

static void test_job(void)
{
	struct npu_debug_info debug = NPU_INIT(debug);
	struct npu_tensor_info tensor = NPU_INIT(tensor);
	struct npu_region_info region = NPU_INIT(region);
	struct npu_symbol_info symbol = NPU_INIT(symbol);
	struct npu_program_info prog = NPU_INIT(prog);
	struct npu_job_info info = NPU_INIT(info);
	const char *key, *value;
	struct npu_device *small;
	struct fixture f;
	uint32_t offset = 4;
	struct npu_job *j;
	char line[64];
	size_t size;
	void *data;

	ERROR(-ENOENT, "/proc/nonexistent.npu", npu_job_load(dev, "/proc/nonexistent.npu", 0, &j, &err));
	ERROR(-ENOENT, "a?[2J?b??.npu", npu_job_load(dev, "a\033[2J\nb\302\233.npu", 0, &j, &err));
	ERROR(-EINVAL, "regular", npu_job_load(dev, "/", 0, &j, &err));
	ERROR(-EBADMSG, "0 bytes", npu_job_load(dev, "/proc/self/status", 0, &j, &err));
	ERROR(-EINVAL, "path", npu_job_load(dev, NULL, 0, &j, &err));
	ERROR(-EINVAL, "flags", npu_job_load(dev, "x", 64, &j, &err));
	ERROR(-EINVAL, "NULL", npu_job_load(dev, "x", 0, NULL, &err));
	ERROR(-EINVAL, "data is NULL", npu_job_load_memory(dev, NULL, 5, "m", 0, &j, &err));
	ERROR(-EBADMSG, "(memory)", npu_job_load_memory(dev, NULL, 0, NULL, 0, &j, &err));
	tiny_make(&f);
	f.regions[2].size = NPU_JOBFILE_CONST(1 << 20);
	data = fixture_encode(&f, &size);
	npu_device_open("sim:threads=1,sram=8192", NULL, &small, &err);
	ERROR(-ENOTSUP, "on-chip", npu_job_load_memory(small, data, size, "m", 0, &j, &err));
	npu_device_close(small);
	free(data);
	fixture_free(&f);

	tap_ok(!npu_job_info(tiny, &info) && info.num_programs == 1 && info.weights == 4096 &&
		       info.sram == 320 && info.input == 256 && info.scratch == 1280 &&
		       !strcmp(info.compiler, "fixture 1"),
	       "job info");
	tap_ok(!npu_job_program(tiny, 0, &prog) && prog.num_insns == 3 && prog.bytes == 1552,
	       "program info");
	tap_ok(!npu_job_symbol(tiny, 0, 0, &symbol) && symbol.max == 16 &&
		       !strcmp(symbol.name, "rows"),
	       "symbol info");
	tap_ok(!npu_job_region(tiny, 0, 3, &region) && region.min_bytes == 16 &&
		       region.max_bytes == 256,
	       "region info");
	tap_ok(!npu_job_tensor(tiny, 0, 1, &tensor) && tensor.min_dim[0] == 1 &&
		       tensor.max_dim[0] == 16 && tensor.symbol[0] == 0 && tensor.symbol[1] == -1 &&
		       !strcmp(tensor.node, "Relu_2"),
	       "tensor info");
	tap_ok(!npu_job_debug(tiny, 0, 11, &debug) && !strcmp(debug.op, "Add + Relu"),
	       "debug info");
	tap_ok(!npu_job_record(tiny, 0, &key, &value) && !strcmp(key, "model"), "record");
	tap_ok(npu_job_program(tiny, 1, &prog) == -ENOENT &&
		       npu_job_symbol(tiny, 0, 1, &symbol) == -ENOENT &&
		       npu_job_region(tiny, 0, 5, &region) == -ENOENT &&
		       npu_job_tensor(tiny, 0, 2, &tensor) == -ENOENT &&
		       npu_job_debug(tiny, 0, 12, &debug) == -ENOENT &&
		       npu_job_record(tiny, 2, &key, &value) == -ENOENT,
	       "each query past its end: -ENOENT");
	info.size = prog.size = symbol.size = region.size = tensor.size = debug.size = 0;
	tap_ok(npu_job_info(tiny, &info) == -EINVAL && npu_job_program(tiny, 0, &prog) == -EINVAL &&
		       npu_job_symbol(tiny, 0, 0, &symbol) == -EINVAL &&
		       npu_job_region(tiny, 0, 0, &region) == -EINVAL &&
		       npu_job_tensor(tiny, 0, 0, &tensor) == -EINVAL &&
		       npu_job_debug(tiny, 0, 10, &debug) == -EINVAL,
	       "each query without a size: -EINVAL");
	tap_ok(npu_job_disassemble(tiny, 0, &offset, line, sizeof(line)) == -EINVAL,
	       "not an instruction's offset");
	offset = 0;
	tap_ok(!npu_job_disassemble(tiny, 0, &offset, line, sizeof(line)) &&
		       !strncmp(line, "ewise2", 6) && offset == 624,
	       "disassemble");
	offset = 1120;
	tap_ok(npu_job_disassemble(tiny, 0, &offset, line, sizeof(line)) == -ENOENT,
	       "past the end");
	npu_job_unload(NULL);
}

/* Programs that have no name in common: their product would be the cost of loading. */
static void test_names(void)
{
	static struct npu_jobfile_program programs[600];
	static struct npu_jobfile_tensor tensors[600][2];
	static char names[600][2][8];
	struct npu_jobfile job;
	struct fixture f;
	struct npu_job *j;
	unsigned int i, k;
	size_t size;
	void *data;

	tiny_make(&f);
	for (i = 0; i < 600; i++) {
		for (k = 0; k < 2; k++) {
			snprintf(names[i][k], sizeof(names[i][k]), "%c%u", "xy"[k], i);
			tensors[i][k] = f.tensors[k];
			tensors[i][k].name = names[i][k];
		}
		programs[i] = f.programs[0];
		programs[i].tensors = tensors[i];
	}
	job = f.job;
	job.programs = programs;
	for (i = 512; i <= 513; i++) {
		job.num_programs = i;
		if (npu_jobfile_encode(&job, &data, &size, &err)) {
			tap_ok(0, "writer: %s", err.text);
			break;
		}
		if (i == 512)
			tap_ok(!npu_job_load_memory(dev, data, size, "m", 0, &j, &err),
			       "1024 different names");
		else
			ERROR(-EINVAL, "1024 different",
			      npu_job_load_memory(dev, data, size, "m", 0, &j, &err));
		npu_job_unload(j);
		free(data);
	}
	fixture_free(&f);
}

static void test_run(void)
{
	struct npu_buffer *small, *ro, *foreign, *buf;
	int64_t bad[2] = { 17, 4 }, good[2] = { 2, 4 }, dims[8];
	struct npu_queue *foreign_queue;
	_Alignas(64) float mem[64] = { 0 };
	unsigned int rank, program;
	struct npu_fence *fence;
	struct npu_run *run;
	uint64_t bytes;

	npu_buffer_create(dev, 16, 0, &small, &err);
	npu_buffer_create(other, 4096, 0, &foreign, &err);
	npu_queue_create(other, NULL, &foreign_queue, &err);
	npu_buffer_import_host(dev, mem, sizeof(mem), NPU_BUFFER_READ_ONLY, NULL, NULL, &ro, &err);
	ERROR(-EINVAL, "NULL", npu_run_create(tiny, NULL, &err));
	npu_run_create(tiny, &run, &err);
	ERROR(-ENOENT, "'x', 'y'", npu_run_set_shape(run, "z", 2, good, &err));
	ERROR(-EINVAL, "(1..16)x4", npu_run_set_shape(run, "x", 2, bad, &err));
	ERROR(-EINVAL, "(1..16)x4", npu_run_set_shape(run, "x", 1, bad, &err));
	ERROR(-EINVAL, "rank 99", npu_run_set_shape(run, "x", 99, bad, &err));
	ERROR(-EINVAL, "'x' is not given", npu_run_get_shape(run, "y", &rank, dims, &err));
	ERROR(-EINVAL, "'x' is not given", npu_run_program(run, &program, NULL, &err));
	ERROR(-EINVAL, "'x' is not given", npu_queue_submit(queue, run, NULL, &fence, &err));
	tap_ok(!fence, "a failed submit gives NULL");
	ERROR(-EINVAL, "'x' is not given", npu_run_write(run, "x", mem, 32, &err));
	tap_ok(!npu_run_set_shape(run, "x", 2, good, &err), "a good shape");
	tap_ok(!npu_run_get_shape(run, "y", &rank, dims, &err) && rank == 2 && dims[0] == 2 &&
		       dims[1] == 4,
	       "y follows");
	ERROR(-EINVAL, "NULL", npu_run_get_shape(run, "y", NULL, dims, &err));
	ERROR(-EINVAL, "NULL", npu_run_tensor_size(run, "y", NULL, &err));
	ERROR(-ENOENT, "(NULL)", npu_run_tensor_size(run, NULL, &bytes, &err));
	ERROR(-EINVAL, "f32 2x4, 32 bytes, not 33", npu_run_write(run, "x", mem, 33, &err));
	ERROR(-EINVAL, "32 bytes", npu_run_write(run, "x", NULL, 32, &err));
	ERROR(-ENODATA, "'y'", npu_run_read(run, "y", mem, 32, &err));
	ERROR(-EINVAL, "another device", npu_run_bind(run, "x", foreign, 0, &err));
	ERROR(-EACCES, "'y'", npu_run_bind(run, "y", ro, 0, &err));
	ERROR(-EINVAL, "byte 17", npu_run_bind(run, "x", small, 17, &err));
	ERROR(-EINVAL, "buf is NULL", npu_run_buffer(run, "x", NULL, NULL, &err));
	npu_run_bind(run, "x", small, 0, &err);
	ERROR(-EINVAL, "'x' needs 32 bytes", npu_queue_submit(queue, run, NULL, &fence, &err));
	npu_run_bind(run, "x", ro, 4, &err);
	ERROR(-EINVAL, "multiple of 16", npu_queue_submit(queue, run, NULL, &fence, &err));
	npu_run_bind(run, "x", ro, 0, &err);
	ERROR(-EACCES, "'x'", npu_run_write(run, "x", mem, 32, &err));
	ERROR(-EINVAL, "different devices",
	      npu_queue_submit(foreign_queue, run, NULL, &fence, &err));
	tap_ok(!npu_queue_submit(queue, run, NULL, NULL, &err) &&
		       !npu_queue_wait(queue, NPU_FOREVER, &err),
	       "then it runs");
	tap_ok(!npu_run_bind(run, "x", NULL, 0, &err) &&
		       !npu_run_buffer(run, "x", &buf, &bytes, &err) && buf != ro,
	       "a binding is taken back");
	tap_ok(!npu_run_reset_state(run, &err), "there is no state to reset");
	npu_run_destroy(run);
	npu_run_destroy(NULL);
	npu_buffer_put(small);
	npu_buffer_put(ro);
	npu_buffer_put(foreign);
	npu_queue_destroy(foreign_queue);
}

static void test_submit(void)
{
	struct npu_submit_options opt = NPU_INIT(opt);
	struct npu_queue_options qopt = { .size = sizeof(qopt), .priority = 3 };
	struct npu_fence_times times = { 0 };
	const struct npu_insn_digest *dig;
	struct npu_fence *none[1] = { NULL }, *fence;
	struct npu_queue *q;
	struct npu_run *run;
	size_t n;

	ERROR(-EINVAL, "priority 3", npu_queue_create(dev, &qopt, &q, &err));
	ERROR(-EINVAL, "NULL", npu_queue_create(dev, NULL, NULL, &err));
	npu_run_create(gather, &run, &err);
	opt.flags = 0x100;
	ERROR(-EINVAL, "flags 0x100", npu_queue_submit(queue, run, &opt, NULL, &err));
	opt.flags = 0;
	opt.num_wait = 1;
	ERROR(-EINVAL, "wait is NULL", npu_queue_submit(queue, run, &opt, NULL, &err));
	opt.wait = none;
	ERROR(-EINVAL, "wait[0] is NULL", npu_queue_submit(queue, run, &opt, NULL, &err));
	opt.size = 2;
	ERROR(-EINVAL, "size is 2", npu_queue_submit(queue, run, &opt, NULL, &err));
	npu_queue_submit(queue, run, NULL, &fence, &err);
	npu_fence_wait(fence, NPU_FOREVER, &err);
	tap_ok(npu_fence_times(fence, &times) == -EINVAL && npu_fence_times(fence, NULL) == -EINVAL,
	       "times without size");
	tap_ok(npu_fence_digests(fence, &dig, &n) == -ENOENT, "no digests");
	npu_fence_put(fence);
	npu_fence_put(NULL);
	npu_queue_destroy(NULL);
	npu_run_destroy(run);
}

static void test_stream(void)
{
	struct npu_operand y = asm_f32(0, 0, 1, 4), x = asm_f32(1, 0, 0, 4);
	struct npu_term term = { .word = (sizeof(struct npu_insn_header) +
					  sizeof(struct npu_operand) +
					  offsetof(struct npu_operand, dim)) /
					 4,
				 .factor = 1 };
	struct npu_operand ops[NPU_COPY_NUM_SLOTS] = { y, x };
	static const npu_u32 bounds[1][2] = { { 1, 4 } };
	struct npu_stream_region regions[2] = { { .access = NPU_ACCESS_WRITE },
						{ .access = NPU_ACCESS_READ } };
	struct npu_stream_submit sub = NPU_INIT(sub);
	_Alignas(64) float mem[16] = { 1, 2, 3, 4 };
	float out[4] = { 0 };
	struct npu_buffer *in, *res, *foreign;
	struct npu_fence *fence;
	struct asm_stream s;

	npu_buffer_import_host(dev, mem, sizeof(mem), NPU_BUFFER_READ_ONLY, NULL, NULL, &in, &err);
	npu_buffer_create(dev, 16, 0, &res, &err);
	npu_buffer_create(other, 16, 0, &foreign, &err);
	asm_begin(&s);
	asm_insn(&s, NPU_OP_COPY, ops, NULL, &term, 1, 5);
	asm_end(&s, 2, 1, bounds);
	sub.regions = regions;
	sub.num_regions = 2;
	ERROR(-EINVAL, "submit is NULL", npu_queue_submit_stream(queue, NULL, NULL, &fence, &err));
	ERROR(-EINVAL, "0 bytes", npu_queue_submit_stream(queue, &sub, NULL, &fence, &err));
	sub.stream = s.words;
	sub.stream_size = asm_size(&s);
	ERROR(-EINVAL, "region 0: buf is NULL",
	      (regions[0].bytes = 16, npu_queue_submit_stream(queue, &sub, NULL, &fence, &err)));
	regions[0].buf = foreign;
	ERROR(-EINVAL, "another device", npu_queue_submit_stream(queue, &sub, NULL, &fence, &err));
	regions[0].buf = in;
	ERROR(-EACCES, "read only", npu_queue_submit_stream(queue, &sub, NULL, &fence, &err));
	regions[0].buf = res;
	regions[0].offset = 8;
	ERROR(-EINVAL, "16", npu_queue_submit_stream(queue, &sub, NULL, &fence, &err));
	regions[0].offset = 0;
	regions[0].access |= NPU_ACCESS_SRAM;
	ERROR(-EINVAL, "on-chip", npu_queue_submit_stream(queue, &sub, NULL, &fence, &err));
	regions[0].access = 0x80;
	ERROR(-EINVAL, "0x80", npu_queue_submit_stream(queue, &sub, NULL, &fence, &err));
	regions[0].access = NPU_ACCESS_WRITE;
	regions[1].buf = in;
	regions[1].bytes = sizeof(mem);
	ERROR(-EINVAL, "scalar 0 is 0", npu_queue_submit_stream(queue, &sub, NULL, &fence, &err));
	sub.scalar[0] = 2;
	ERROR(-EINVAL, "instruction 0", npu_queue_submit_stream(queue, &sub, NULL, &fence, &err));
	sub.num_regions = 1;
	sub.scalar[0] = 1;
	ERROR(-EINVAL, "region", npu_queue_submit_stream(queue, &sub, NULL, &fence, &err));
	sub.num_regions = 257;
	ERROR(-EINVAL, "257 regions", npu_queue_submit_stream(queue, &sub, NULL, &fence, &err));
	sub.num_regions = 2;
	tap_ok(!npu_queue_submit_stream(queue, &sub, NULL, &fence, &err) &&
		       !npu_fence_wait(fence, NPU_FOREVER, &err) &&
		       !npu_buffer_read(res, 0, out, 16, &err) && !memcmp(out, mem, 16),
	       "the good one runs: %s", err.text);
	npu_fence_put(fence);
	/* Not verified: the engine refuses by itself. */
	sub.scalar[0] = 2;
	{
		struct npu_submit_options opt = { .size = sizeof(opt),
						  .flags = NPU_SUBMIT_NO_VERIFY };

		tap_ok(!npu_queue_submit_stream(queue, &sub, &opt, &fence, &err),
		       "a bad one, not verified, is taken");
		ERROR(-EIO, "stream: instruction 0 (copy)",
		      npu_fence_wait(fence, NPU_FOREVER, &err));
		npu_fence_put(fence);
	}
	asm_free(&s);
	npu_buffer_put(in);
	npu_buffer_put(res);
	npu_buffer_put(foreign);
}

static struct npu_fence *in_flight;

static int child(void)
{
	struct npu_buffer *b;
	struct npu_queue *q;
	struct npu_device *own;
	struct npu_run *run;
	struct npu_job *j;
	int good = 1;

	good &= npu_buffer_create(dev, 16, 0, &b, &err) == -ENODEV && strstr(err.text, "fork");
	good &= npu_queue_create(dev, NULL, &q, &err) == -ENODEV;
	good &= npu_run_create(tiny, &run, &err) == -ENODEV;
	good &= npu_job_load(dev, "x", 0, &j, &err) == -ENODEV;
	good &= npu_queue_wait(queue, NPU_FOREVER, &err) == -ENODEV;
	good &= npu_queue_cancel(queue, &err) == -ENODEV;
	good &= npu_fence_status(in_flight) == -EINPROGRESS;
	good &= npu_fence_wait(in_flight, NPU_FOREVER, &err) == -ENODEV && strstr(err.text, "fork");
	npu_fence_cancel(in_flight);
	npu_fence_put(in_flight);
	npu_job_unload(tiny);
	npu_queue_destroy(queue);
	npu_device_close(dev);
#ifndef __SANITIZE_THREAD__	/* which can not start threads after a fork */
	good &= !npu_device_open("sim:threads=2", NULL, &own, &err) &&
		!npu_queue_create(own, NULL, &q, &err) && !npu_queue_wait(q, NPU_FOREVER, &err);
#else
	(void)own;
#endif
	return good ? 0 : 1;
}

static void test_fork(void)
{
	struct fixture slow;
	struct npu_run *run;
	struct npu_job *job;
	int status = -1;
	pid_t pid;

	slow_make(&slow, 50000);
	job = fixture_load(dev, &slow, "slow.npu");
	npu_run_create(job, &run, &err);
	npu_queue_submit(queue, run, NULL, &in_flight, &err);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(child());
	waitpid(pid, &status, 0);
	tap_ok(WIFEXITED(status) && !WEXITSTATUS(status),
	       "a forked child is told -ENODEV, and can open a device of its own");
	npu_fence_cancel(in_flight);
	tap_ok(npu_fence_wait(in_flight, NPU_FOREVER, NULL) == -ECANCELED,
	       "the parent's job is its own");
	npu_fence_put(in_flight);
	npu_run_destroy(run);
	npu_job_unload(job);
	fixture_free(&slow);
}

/* Weights used where the caller has them, without a copy. */
static void test_borrow(void)
{
	float x[4] = { 1, 2, 3, 4 }, y[4] = { 0 };
	struct npu_fence *fence;
	struct npu_run *run;
	struct npu_job *j;
	struct fixture f;
	void *data, *page;
	size_t size;

	tiny_make(&f);
	data = fixture_encode(&f, &size);
	page = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	memcpy(page, data, size);
	tap_ok(!npu_job_load_memory(dev, page, size, "b.npu", NPU_JOB_BORROW, &j, &err), "borrow");
	/* w[0] lies 256 bytes into the weights, the last page of the file. */
	((float *)((char *)page + size - 4096 + 256))[0] = 9;
	npu_run_create(j, &run, &err);
	npu_run_set_shape(run, "x", 2, (int64_t[]){ 1, 4 }, &err);
	npu_run_write(run, "x", x, 16, &err);
	npu_queue_submit(queue, run, NULL, &fence, &err);
	npu_fence_wait(fence, NPU_FOREVER, &err);
	tap_ok(!npu_run_read(run, "y", y, 16, &err) && y[0] == 10,
	       "the caller's bytes are used: %g", y[0]);
	npu_fence_put(fence);
	npu_run_destroy(run);
	npu_job_unload(j);
	memcpy((char *)page + 8, data, 8);
	tap_ok(npu_job_load_memory(dev, (char *)data + 8, size - 8, "b.npu", NPU_JOB_BORROW, &j,
				   &err) == -EBADMSG,
	       "memory that is not aligned is copied, and looked at");
	free(page);
	free(data);
	fixture_free(&f);
}

/* No address space for a buffer or a thread's stack. */
static void test_memory(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	tap_diag("limited memory is not tried: the sanitizer needs address space");
#else
	struct rlimit old, limit;
	struct npu_device *fresh;
	struct npu_buffer *b;
	struct npu_queue *q;

	npu_device_open("sim:threads=1", NULL, &fresh, &err);
	getrlimit(RLIMIT_AS, &old);
	limit = (struct rlimit){ 1 << 20, old.rlim_max };
	setrlimit(RLIMIT_AS, &limit);
	ERROR(-ENOMEM, "buffer of 67108864", npu_buffer_create(dev, 64 << 20, 0, &b, &err));
	ERROR(-EAGAIN, "thread", npu_queue_create(fresh, NULL, &q, &err));
	setrlimit(RLIMIT_AS, &old);
	tap_ok(!npu_queue_create(fresh, NULL, &q, &err), "with memory it works");
	npu_queue_destroy(q);
	npu_device_close(fresh);
#endif
}

int main(void)
{
	struct fixture f, g;

	if (!tap_ok(!npu_device_open(NULL, NULL, &dev, &err) ||
			    !npu_device_open("sim", NULL, &dev, &err),
		    "open"))
		return tap_done();
	npu_device_open("sim:threads=1", NULL, &other, &err);
	npu_queue_create(dev, NULL, &queue, &err);
	tiny_make(&f);
	gather_make(&g);
	tiny = fixture_load(dev, &f, "tiny.npu");
	gather = fixture_load(dev, &g, "gather.npu");
	test_device();
	test_buffer();
	test_job();
	test_names();
	test_run();
	test_submit();
	test_stream();
	test_borrow();
	test_memory();
	test_fork();
	npu_queue_destroy(queue);
	npu_job_unload(tiny);
	npu_job_unload(gather);
	npu_device_close(dev);
	npu_device_close(other);
	fixture_free(&f);
	fixture_free(&g);
	return tap_done();
}
