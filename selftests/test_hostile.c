// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program whose jobs run while another thread of it changes their instructions, lengths and
 * indices. Between the pages that it has are holes; where they are another program has pages with
 * a secret, and behind each of its own lies one that it has not mapped. None of them may change,
 * the secret may not come out, and the other program's jobs go on.
 *
 * NPU_FUZZ_SEED repeats a run, as far as threads repeat.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <npu_isa.h>
#include <npu_isa_desc.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_sys.h"
#include "npu_test.h"

#define WAIT		60

/* Windows of the address space: pages with a hole behind every one; that of code has one. */
#define PAGES		16u
#define WINDOW_SIZE	(PAGES * NPU_PAGE)
#define CODE_PAGES	(PAGES - 1)
#define VA_CODE		0x10000000ull
#define VA_DATA		0x20000000ull
#define VA_INDEX	0x28000000ull
#define VA_OUT		0x30000000ull

/*
 * Rows that gather picks; all are within the first page of data. Behind the picks lies the length
 * of a copy.
 */
#define COLUMNS		32u
#define ROWS		(NPU_PAGE / COLUMNS)
#define PICKS		64u
#define ROUNDS		40u

#define CANARY		0xc5
#define SECRET		0x5ec2e7a1u

struct gather_insn {
	struct npu_insn_header header;
	struct npu_operand operand[NPU_GATHER_NUM_SLOTS];
	uint32_t param[NPU_GATHER_NUM_PARAMS];
};

struct copy_insn {
	struct npu_insn_header header;
	struct npu_operand operand[NPU_COPY_NUM_SLOTS];
};

struct load_insn {
	struct npu_insn_header header;
	struct npu_operand operand[NPU_LOAD_SCALAR_NUM_SLOTS];
	uint32_t param[NPU_LOAD_SCALAR_NUM_PARAMS];
	uint32_t fill[NPU_LOAD_SCALAR_NUM_PARAMS % 2];
};

/* As many bytes as scalar 0 says. */
struct length_insn {
	struct npu_insn_header header;
	struct npu_operand operand[NPU_COPY_NUM_SLOTS];
	struct npu_term term[NPU_COPY_NUM_SLOTS];
};

struct stream {
	struct npu_stream_header header;
	struct {
		struct gather_insn gather;
		struct copy_insn copy;
		struct load_insn load;
		struct length_insn length;
	} round[ROUNDS];
	struct npu_insn_header end;
};

enum { DATA, INDEX, OUT, NUM_REGIONS };

FIXTURE(hostile) {
	struct npu_dev bad, good;
	struct npu_buf code, data, index, out;	/* of the hostile program */
	struct npu_buf secret, copied;		/* of the other one */
	struct drm_npu_region regions[NUM_REGIONS];
	struct stream stream;			/* as it should be */
	atomic_bool quit;
	uint32_t seed;
};

static uint32_t rnd(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* There is one behind each @run pages. */
static bool is_hole(uint32_t page, uint32_t run)
{
	return page % (run + 1) == run;
}

/* Pages of a buffer are mapped where they are in the buffer: those in holes, or the others. */
static int map_pages(struct npu_dev *dev, struct npu_buf *buf, uint64_t va, uint32_t run,
		     bool holes, uint32_t flags)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < PAGES && !ret; i++)
		if (is_hole(i, run) == holes)
			ret = npu_bind(dev->fd, dev->vm, buf->handle, (uint64_t)i * NPU_PAGE,
				       va + (uint64_t)i * NPU_PAGE, NPU_PAGE, flags);
	return ret;
}

static int make_window(struct npu_dev *dev, struct npu_buf *buf, uint64_t va, uint32_t run,
		       uint32_t flags)
{
	uint32_t i;
	int ret = npu_buf_create(dev->fd, WINDOW_SIZE, 0, 0, buf);

	for (i = 0; i < PAGES && !ret; i++)
		if (is_hole(i, run))
			memset(buf->cpu + i * NPU_PAGE, CANARY, NPU_PAGE);
	return ret ? ret : map_pages(dev, buf, va, run, false, flags);
}

static uint32_t dead_canaries(const struct npu_buf *buf, uint32_t run)
{
	uint32_t i, dead = 0;

	for (i = 0; i < PAGES; i++) {
		const uint8_t *page = buf->cpu + i * NPU_PAGE;

		if (is_hole(i, run))
			dead += page[0] != CANARY || memcmp(page, page + 1, NPU_PAGE - 1);
	}
	return dead;
}

static void fill_operand(struct npu_operand *operand, uint32_t region, uint32_t dtype)
{
	operand->region = region;
	operand->dtype = dtype;
}

static void fill_gather(struct gather_insn *insn)
{
	struct npu_operand *op = insn->operand;

	insn->header.opcode = NPU_OP_GATHER;
	insn->header.words = sizeof(*insn) / 4;
	insn->header.num_operands = NPU_GATHER_NUM_SLOTS;
	insn->header.num_params = NPU_GATHER_NUM_PARAMS;
	fill_operand(&op[NPU_GATHER_OUT], OUT, NPU_U8);
	fill_operand(&op[NPU_GATHER_IN], DATA, NPU_U8);
	fill_operand(&op[NPU_GATHER_INDEX], INDEX, NPU_I32);
	op[NPU_GATHER_OUT].rank = 3;
	op[NPU_GATHER_OUT].dim[0] = 1;
	op[NPU_GATHER_OUT].dim[1] = PICKS;
	op[NPU_GATHER_OUT].dim[2] = COLUMNS;
	op[NPU_GATHER_OUT].stride[0] = PICKS * COLUMNS;
	op[NPU_GATHER_OUT].stride[1] = COLUMNS;
	op[NPU_GATHER_OUT].stride[2] = 1;
	op[NPU_GATHER_IN] = op[NPU_GATHER_OUT];
	op[NPU_GATHER_IN].region = DATA;
	op[NPU_GATHER_IN].dim[1] = ROWS;
	op[NPU_GATHER_IN].stride[0] = ROWS * COLUMNS;
	op[NPU_GATHER_INDEX].rank = 1;
	op[NPU_GATHER_INDEX].dim[0] = PICKS;
	op[NPU_GATHER_INDEX].stride[0] = 4;
}

static void fill_copy(struct copy_insn *insn, uint32_t page)
{
	struct npu_operand *op = insn->operand;

	insn->header.opcode = NPU_OP_COPY;
	insn->header.words = sizeof(*insn) / 4;
	insn->header.num_operands = NPU_COPY_NUM_SLOTS;
	fill_operand(&op[NPU_COPY_OUT], OUT, NPU_U8);
	fill_operand(&op[NPU_COPY_IN], DATA, NPU_U8);
	op[NPU_COPY_OUT].rank = op[NPU_COPY_IN].rank = 1;
	op[NPU_COPY_OUT].dim[0] = op[NPU_COPY_IN].dim[0] = NPU_PAGE;
	op[NPU_COPY_OUT].stride[0] = op[NPU_COPY_IN].stride[0] = 1;
	op[NPU_COPY_OUT].offset = op[NPU_COPY_IN].offset = 2 * page * NPU_PAGE;
}

static void fill_load(struct load_insn *insn)
{
	struct npu_operand *in = &insn->operand[NPU_LOAD_SCALAR_IN];

	insn->header.opcode = NPU_OP_LOAD_SCALAR;
	insn->header.words = sizeof(*insn) / 4;
	insn->header.num_operands = NPU_LOAD_SCALAR_NUM_SLOTS;
	insn->header.num_params = NPU_LOAD_SCALAR_NUM_PARAMS;
	fill_operand(in, INDEX, NPU_I32);
	in->offset = PICKS * 4;
	insn->param[NPU_LOAD_SCALAR_P_MIN] = 1;
	insn->param[NPU_LOAD_SCALAR_P_MAX] = NPU_PAGE;
}

static void fill_length(struct length_insn *insn, uint32_t page)
{
	struct npu_operand *op = insn->operand;
	uint32_t i;

	insn->header.opcode = NPU_OP_COPY;
	insn->header.words = sizeof(*insn) / 4;
	insn->header.num_operands = NPU_COPY_NUM_SLOTS;
	insn->header.num_terms = NPU_COPY_NUM_SLOTS;
	fill_operand(&op[NPU_COPY_OUT], OUT, NPU_U8);
	fill_operand(&op[NPU_COPY_IN], DATA, NPU_U8);
	for (i = 0; i < NPU_COPY_NUM_SLOTS; i++) {
		op[i].rank = 1;
		op[i].stride[0] = 1;
		op[i].offset = 2 * page * NPU_PAGE;
		insn->term[i] = (struct npu_term) {
			.word = (offsetof(struct length_insn, operand[i].dim)) / 4, .factor = 1,
		};
	}
}

static void make_stream(struct stream *s)
{
	uint32_t i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < ROUNDS; i++) {
		fill_gather(&s->round[i].gather);
		fill_copy(&s->round[i].copy, i % (PAGES / 2 - 1) + 1);
		fill_load(&s->round[i].load);
		fill_length(&s->round[i].length, i % (PAGES / 2));
	}
	s->end.opcode = NPU_OP_END;
	s->end.words = sizeof(s->end) / 4;
	s->header.magic = NPU_STREAM_MAGIC;
	s->header.isa_major = NPU_ISA_MAJOR;
	s->header.size = sizeof(*s);
	s->header.num_insns = 4 * ROUNDS + 1;
	s->header.num_regions = NUM_REGIONS;
	s->header.num_scalars = 1;
	s->header.scalar[0].min = 1;
	s->header.scalar[0].max = NPU_PAGE;
}

static void set_regions(struct drm_npu_region *regions)
{
	regions[DATA] = (struct drm_npu_region) {
		.base = VA_DATA, .size = WINDOW_SIZE, .access = DRM_NPU_ACCESS_READ,
	};
	regions[INDEX] = (struct drm_npu_region) {
		.base = VA_INDEX, .size = WINDOW_SIZE, .access = DRM_NPU_ACCESS_READ,
	};
	regions[OUT] = (struct drm_npu_region) {
		.base = VA_OUT, .size = WINDOW_SIZE,
		.access = DRM_NPU_ACCESS_READ | DRM_NPU_ACCESS_WRITE,
	};
}

/* Where the one program has holes in its windows the other one has its secret. */
static int hide_secret(struct npu_dev *dev, struct npu_buf *secret)
{
	static const uint64_t windows[] = { VA_DATA, VA_INDEX, VA_OUT };
	uint32_t i, *words;
	int ret = npu_buf_create(dev->fd, WINDOW_SIZE, 0, 0, secret);

	if (ret)
		return ret;
	words = (uint32_t *)secret->cpu;
	for (i = 0; i < WINDOW_SIZE / 4; i++)
		words[i] = SECRET;
	for (i = 0; i < 3 && !ret; i++)
		ret = map_pages(dev, secret, windows[i], 1, true, 0);
	return ret;
}

FIXTURE_SETUP(hostile)
{
	const char *seed = getenv("NPU_FUZZ_SEED");
	int ret = npu_dev_open(&self->bad);

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_dev_open(&self->good));
	/* Its own stream would be where the hostile one's is. */
	ASSERT_EQ(0, npu_unbind(self->bad.fd, self->bad.vm, NPU_VA_STREAM, self->bad.stream.size));
	ASSERT_LE(sizeof(self->stream), CODE_PAGES * NPU_PAGE);
	ASSERT_EQ(0, make_window(&self->bad, &self->code, VA_CODE, CODE_PAGES,
				 DRM_NPU_VM_BIND_OP_EXEC));
	ASSERT_EQ(0, make_window(&self->bad, &self->data, VA_DATA, 1, 0));
	ASSERT_EQ(0, make_window(&self->bad, &self->index, VA_INDEX, 1,
				 DRM_NPU_VM_BIND_OP_READONLY));
	ASSERT_EQ(0, make_window(&self->bad, &self->out, VA_OUT, 1, 0));
	ASSERT_EQ(0, hide_secret(&self->good, &self->secret));
	ASSERT_EQ(0, npu_buf_create(self->good.fd, NPU_PAGE, 0, 0, &self->copied));
	ASSERT_EQ(0, npu_bind(self->good.fd, self->good.vm, self->copied.handle, 0, NPU_VA_OUT,
			      NPU_PAGE, 0));
	make_stream(&self->stream);
	set_regions(self->regions);
	self->seed = seed ? strtoul(seed, NULL, 0) : time(NULL) & 0xffff;
	TH_LOG("NPU_FUZZ_SEED=%u", self->seed);
}

FIXTURE_TEARDOWN(hostile)
{
	npu_dev_close(&self->bad);
	npu_dev_close(&self->good);
}

/* One word of the stream, one index and the length become another. */
static void spoil(FIXTURE_DATA(hostile) *self, uint32_t *seed)
{
	static const uint32_t odd[] = { 0, 1, 2, 0x7fffffff, 0x80000000, ~0u, 4096, 0x10000 };
	volatile uint32_t *stream = (volatile uint32_t *)self->code.cpu;
	volatile uint32_t *index = (volatile uint32_t *)self->index.cpu;
	const uint32_t *good = (const uint32_t *)&self->stream;
	uint32_t words = sizeof(self->stream) / 4, at = rnd(seed) % words;

	switch (rnd(seed) % 4) {
	case 0:
		stream[at] = good[at] ^ 1u << rnd(seed) % 32;
		break;
	case 1:
		stream[at] = odd[rnd(seed) % 8];
		break;
	case 2:
		stream[at] = good[rnd(seed) % words];
		break;
	default:
		stream[at] = good[at] + (rnd(seed) % 64 - 32) * NPU_PAGE / 2;
	}
	/* As a rule only for a moment: between two looks at it. */
	if (rnd(seed) % 16)
		stream[at] = good[at];
	at = rnd(seed) % PICKS;
	index[at] = rnd(seed) % 16 ? rnd(seed) % ROWS : rnd(seed) - (1u << 23);
	if (rnd(seed) % 16)
		index[at] = rnd(seed) % ROWS;
	index[PICKS] = rnd(seed) % 4 ? rnd(seed) % NPU_PAGE + 1 : rnd(seed) % (4 * NPU_PAGE);
	if (rnd(seed) % 16)
		index[PICKS] = rnd(seed) % NPU_PAGE + 1;
}

/* Or no job would ever get done. */
static void mend(FIXTURE_DATA(hostile) *self)
{
	volatile uint32_t *index = (volatile uint32_t *)self->index.cpu;
	uint32_t i;

	memcpy(self->code.cpu, &self->stream, sizeof(self->stream));
	for (i = 0; i < PICKS; i++)
		index[i] = i % ROWS;
	index[PICKS] = NPU_PAGE;
}

static void *spoiler(void *arg)
{
	FIXTURE_DATA(hostile) *self = arg;
	uint32_t seed = self->seed;

	while (!atomic_load(&self->quit)) {
		spoil(self, &seed);
		if (rnd(&seed) % 64)
			continue;
		if (rnd(&seed) % 4)
			mend(self);
		usleep(100);
	}
	return NULL;
}

static int run_bad(FIXTURE_DATA(hostile) *self)
{
	uint64_t length = 1;
	struct drm_npu_job job = {
		.stream = VA_CODE, .stream_size = sizeof(self->stream),
		.regions = DRM_NPU_OBJ_ARRAY(NUM_REGIONS, self->regions),
		.scalars = DRM_NPU_OBJ_ARRAY(1, &length),
	};
	int ret = npu_job_run(self->bad.fd, self->bad.queue, &job, WAIT);

	if (!ret)
		return ret;
	/* The queue is dead behind a job that ended badly. */
	npu_queue_destroy(self->bad.fd, self->bad.queue);
	if (npu_queue_create(self->bad.fd, self->bad.vm, 1, 0, &self->bad.queue))
		return -ENODEV;
	return ret;
}

/* The other program reads its secret, which also brings its translations into the TLB. */
static void expect_good(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, uint32_t i)
{
	const struct npu_copy copy = {
		.in = VA_DATA + (uint64_t)(2 * (i % (PAGES / 2)) + 1) * NPU_PAGE, .out = NPU_VA_OUT,
		.size = NPU_PAGE,
	};

	memset(self->copied.cpu, 0, NPU_PAGE);
	ASSERT_EQ(0, npu_copy_run(&self->good, &copy, WAIT));
	ASSERT_EQ(0, memcmp(self->copied.cpu, self->secret.cpu, NPU_PAGE));
}

static bool has_secret(const struct npu_buf *buf)
{
	const uint32_t secret = SECRET;

	return memmem(buf->cpu, buf->size, &secret, sizeof(secret));
}

TEST_F_TIMEOUT(hostile, streams_that_change_while_they_run, 300)
{
	uint32_t i, done = 0, faulted = 0, other = 0;
	uint64_t end = npu_now_ns() + (npu_sys_long() ? 60 : 4) * 1000000000ull;
	pthread_t thread;
	int ret;

	npu_expect_log("npu .*(makes no progress|takes too long)");
	mend(self);
	ASSERT_EQ(0, run_bad(self));
	ASSERT_EQ(0, pthread_create(&thread, NULL, spoiler, self));
	for (i = 0; npu_now_ns() < end; i++) {
		ret = run_bad(self);
		done += !ret;
		faulted += ret == -EIO;
		other += ret && ret != -EIO;
		/* One instruction may take its time, and then it is ended. */
		ASSERT_TRUE(!ret || ret == -EIO || ret == -ETIME);
		expect_good(_metadata, self, i);
	}
	atomic_store(&self->quit, true);
	pthread_join(thread, NULL);
	TH_LOG("%u jobs ended well, %u faulted, %u took too long", done, faulted, other);
	EXPECT_LT(0, done);
	EXPECT_LT(0, faulted);
	EXPECT_EQ(0, dead_canaries(&self->code, CODE_PAGES));
	EXPECT_EQ(0, dead_canaries(&self->data, 1));
	EXPECT_EQ(0, dead_canaries(&self->index, 1));
	EXPECT_EQ(0, dead_canaries(&self->out, 1));
	EXPECT_FALSE(has_secret(&self->data));
	EXPECT_FALSE(has_secret(&self->out));
	for (i = 0; i < WINDOW_SIZE / 4; i++)
		ASSERT_EQ(SECRET, ((uint32_t *)self->secret.cpu)[i]);
	mend(self);
	EXPECT_EQ(0, run_bad(self));
}

TEST_HARNESS_MAIN
