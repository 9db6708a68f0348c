// SPDX-License-Identifier: MIT
/*
 * The real firmware in the device's core: loaded and booted through registers as the driver does
 * it, jobs through rings, results in the user's memory. The jobs are matrix products, which are
 * computed here, too.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "../common/tmp.h"
#include "../tap.h"
#include "guest.h"
#include "stream.h"

#define IMAGE		"npu_fw.bin"
#define ENTRIES		16u
#define SIDE		256u
#define BYTES		(SIDE * SIDE * 4)
#define STREAM		0x10000000ull
#define OPERAND(n)	(0x20000000ull + (n) * 0x1000000ull)
#define WAIT_MS		20000

enum { CTL_CREATE = 2, CTL_ABORT = 4 };
enum { OK, FAULTED, ABORTED };

struct ring {
	npu_u32 base, index, tail, seen;
};

/* The driver. */
static struct {
	struct guest g;
	struct ring ctl, msg;
	npu_u32 config, info, queue_state, seq;
	struct queue {
		struct ring ring;
		struct guest_job job;
		struct stream stream;
		npu_u32 context;
		npu_u64 last;
	} queue[8];
} d;

static void ring_alloc(struct ring *r, npu_u32 entries, npu_u32 size)
{
	r->base = kernel_alloc(&d.g, entries * size);
	r->index = kernel_alloc(&d.g, 128);
	r->tail = 0;
	r->seen = 0;
	memset(kernel_at(&d.g, r->index), 0, 128);
}

static void ring_push(struct ring *r, npu_u32 entries, const void *entry, npu_u32 size)
{
	memcpy(kernel_at(&d.g, r->base + r->tail % entries * size), entry, size);
	__atomic_store_n((npu_u32 *)(void *)kernel_at(&d.g, r->index), ++r->tail, __ATOMIC_RELEASE);
}

/* ---- boot ---- */

static void copy_to_tcm(npu_u64 src, npu_u32 dst, npu_u32 size)
{
	if (!size)
		return;
	reg_write64(&d.g, NPU_REG_FW_SRC, src);
	reg_write(&d.g, NPU_REG_FW_DST, dst);
	reg_write(&d.g, NPU_REG_FW_SIZE, size);
	reg_write(&d.g, NPU_REG_FW_COPY, 1);
	while (reg_read(&d.g, NPU_REG_FW_COPY) == NPU_FW_COPY_BUSY)
		usleep(100);
	if (reg_read(&d.g, NPU_REG_FW_COPY) != NPU_FW_COPY_DONE)
		tap_ok(0, "copied to the processor's memory");
}

/* The entry; ~0: the image cannot be read. */
static npu_u32 load_image(void)
{
	const char *build = getenv("NPU_BUILD");
	npu_u32 page = guest_alloc(&d.g, NPU_FW_MAX_IMAGE / 4096), zeros = guest_alloc(&d.g, 32), i;
	struct npu_fw_image *image = (void *)guest_page(&d.g, page);
	struct npu_fw_range *range = (void *)(image + 1);
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/firmware/" IMAGE, build ? build : "build");
	f = fopen(path, "rb");
	if (!f || fread(image, 1, NPU_FW_MAX_IMAGE, f) < sizeof(*image) ||
	    image->magic != NPU_FW_IMAGE_MAGIC)
		return ~0u;
	fclose(f);
	for (i = 0; i < image->num_ranges; i++) {
		copy_to_tcm(page_iova(page) + range[i].file_offset, range[i].load_address,
			    range[i].file_size);
		copy_to_tcm(page_iova(zeros), range[i].load_address + range[i].file_size,
			    range[i].mem_size - range[i].file_size);
	}
	return image->entry;
}

static void configure(npu_u32 slice_us)
{
	struct npu_fw_config c = { .magic = NPU_FW_CONFIG_MAGIC, .size = sizeof(c), .abi = 1,
				   .num_queues = 64, .ctl_entries = ENTRIES, .msg_entries = 64,
				   .log_size = 16 + 16384, .slice_us = slice_us, .age_us = 50000,
				   .heartbeat_us = 2000, .log_level = NPU_FW_LOG_INFO };

	ring_alloc(&d.ctl, ENTRIES, sizeof(struct npu_fw_ctl));
	ring_alloc(&d.msg, 64, sizeof(struct npu_fw_msg));
	c.ctl_ring = d.ctl.base;
	c.ctl_index = d.ctl.index;
	c.msg_ring = d.msg.base;
	c.msg_index = d.msg.index;
	c.log = kernel_alloc(&d.g, c.log_size);
	c.queue_state = d.queue_state = kernel_alloc(&d.g, 64 * 64);
	c.info = d.info = kernel_alloc(&d.g, 256);
	c.results = kernel_alloc(&d.g, 8 * 96);
	memset(kernel_at(&d.g, d.info), 0, 256);
	d.config = kernel_alloc(&d.g, sizeof(c));
	memcpy(kernel_at(&d.g, d.config), &c, sizeof(c));
	reg_write(&d.g, NPU_REG_FW_CONFIG, d.config);
}

static npu_u32 wait_boot(void)
{
	unsigned int ms;

	for (ms = 0; ms < WAIT_MS && reg_read(&d.g, NPU_REG_BOOT_STATUS) < NPU_FW_BOOT_READY; ms++)
		usleep(1000);
	return reg_read(&d.g, NPU_REG_BOOT_STATUS);
}

static bool boot(npu_u32 slice_us)
{
	npu_u32 entry = load_image();

	configure(slice_us);
	reg_write(&d.g, NPU_REG_MCU_ENTRY, entry);
	reg_write(&d.g, NPU_REG_MCU_CTRL, 1);
	return entry != ~0u && wait_boot() == NPU_FW_BOOT_READY;
}

/* ---- messages ---- */

static bool has_message(void)
{
	npu_u32 *index = (void *)kernel_at(&d.g, d.msg.index);

	return __atomic_load_n(index, __ATOMIC_ACQUIRE) != d.msg.seen;
}

/* The next message; false: none within a while. */
static bool message(struct npu_fw_msg *msg)
{
	npu_u32 *index = (void *)kernel_at(&d.g, d.msg.index);
	unsigned int n;

	for (n = 0; n < WAIT_MS * 10 && !has_message(); n++)
		usleep(100);
	if (!has_message())
		return false;
	memcpy(msg, kernel_at(&d.g, d.msg.base + d.msg.seen % 64 * sizeof(*msg)), sizeof(*msg));
	__atomic_store_n(index + 16, ++d.msg.seen, __ATOMIC_RELEASE);
	return true;
}

static void ctl_post(struct npu_fw_ctl *ctl)
{
	ctl->seq = ++d.seq;
	ring_push(&d.ctl, ENTRIES, ctl, sizeof(*ctl));
	reg_write(&d.g, NPU_REG_DOORBELL_CTL, 1);
}

static npu_u32 ctl(struct npu_fw_ctl *c)
{
	struct npu_fw_msg msg;

	ctl_post(c);
	return message(&msg) && msg.type == NPU_FW_MSG_CTL && msg.seq == d.seq ? msg.status : ~0u;
}

static const float *operand(unsigned int n)
{
	static float copy[SIDE * SIDE];

	guest_copy(&d.g, d.queue[1].context, OPERAND(n), copy, BYTES, false);
	return copy;
}

/*
 * A queue with a context of its own and a job of @count products: 2 = 0 x 1 in f32, whole numbers
 * small enough to be exact.
 */
static npu_u32 queue_create(unsigned int q, npu_u32 priority, unsigned int count)
{
	struct npu_fw_ctl c = { .cmd = CTL_CREATE, .queue = q, .job_id = 1, .priority = priority,
				.entries = ENTRIES };
	struct queue *queue = &d.queue[q];
	struct npu_region region[3];
	static float values[SIDE * SIDE];
	unsigned int i, n;

	queue->context = q;
	queue->last = 0;
	guest_context(&d.g, q);
	reg_write(&d.g, NPU_REG_QUEUE(q), q | NPU_QUEUE_VALID);
	stream_begin(&queue->stream, 3);
	for (i = 0; i < count; i++)
		stream_matmul(&queue->stream, 2, 0, 1, SIDE);
	stream_end(&queue->stream);
	guest_map(&d.g, q, STREAM, stream_bytes(&queue->stream), P_X, true);
	guest_copy(&d.g, q, STREAM, queue->stream.words, stream_bytes(&queue->stream), true);
	for (n = 0; n < 3; n++) {
		guest_map(&d.g, q, OPERAND(n), BYTES, n < 2 ? P_R : P_R | P_W, true);
		for (i = 0; i < SIDE * SIDE; i++)
			values[i] = n == 2 ? -1 : (float)((i * 7 + n * 3 + q) % 9) - 4;
		guest_copy(&d.g, q, OPERAND(n), values, BYTES, true);
		region[n] = (struct npu_region){ OPERAND(n), BYTES, n < 2 ? 1 : 3, 0 };
	}
	job_alloc(&d.g, &queue->job);
	job_fill(&d.g, &queue->job, 1, STREAM, stream_bytes(&queue->stream), region, 3);
	ring_alloc(&queue->ring, ENTRIES, 128);
	c.ring = queue->ring.base;
	c.index = queue->ring.index;
	c.save = queue->job.save;
	return ctl(&c);
}

static void submit(unsigned int q)
{
	struct queue *queue = &d.queue[q];
	unsigned char *desc = kernel_at(&d.g, queue->job.desc);

	put64(desc, 0, ++queue->last);
	ring_push(&queue->ring, ENTRIES, desc, 128);
	reg_write(&d.g, NPU_REG_DOORBELL(q), 1);
}

static bool product_is_right(unsigned int q)
{
	static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
	unsigned int i, j, k;
	double sum;

	guest_copy(&d.g, q, OPERAND(0), a, BYTES, false);
	guest_copy(&d.g, q, OPERAND(1), b, BYTES, false);
	guest_copy(&d.g, q, OPERAND(2), c, BYTES, false);
	for (i = 0; i < SIDE; i++) {
		for (j = 0; j < SIDE; j++) {
			for (k = 0, sum = 0; k < SIDE; k++)
				sum += (double)a[i * SIDE + k] * b[k * SIDE + j];
			if (sum != c[i * SIDE + j])
				return false;
		}
	}
	return true;
}

/* ---- tests ---- */

static void test_jobs(void)
{
	npu_u64 mcu, walks;
	struct npu_fw_msg msg;
	npu_u32 i, bad = 0, jobs[3] = { 0 };

	if (!tap_ok(boot(1000), "boots"))
		return;
	tap_ok(!strcmp((char *)kernel_at(&d.g, d.info) + 8, NPU_VERSION), "and says its version");
	tap_ok(queue_create(1, NPU_FW_PRIORITY_NORMAL, 1) == OK &&
	       queue_create(2, NPU_FW_PRIORITY_HIGH, 1) == OK, "two queues");
	mcu = reg_read64(&d.g, NPU_REG_COUNTER(NPU_COUNTER_MCU_INSNS));
	walks = reg_read64(&d.g, NPU_REG_COUNTER(NPU_COUNTER_PAGE_WALKS));
	for (i = 0; i < 10; i++) {
		submit(1);
		submit(2);
	}
	for (i = 0; i < 20; i++) {
		if (!message(&msg) || msg.type != NPU_FW_MSG_JOB || msg.status != OK ||
		    msg.queue > 2 || msg.job_id != ++jobs[msg.queue] || msg.insns != 2 ||
		    !msg.busy_ns)
			bad++;
	}
	tap_ok(!bad && jobs[1] == 10 && jobs[2] == 10, "20 jobs, in order");
	tap_ok(operand(2)[0] != -1 && product_is_right(1) && product_is_right(2),
	       "with the right results");
	mcu = reg_read64(&d.g, NPU_REG_COUNTER(NPU_COUNTER_MCU_INSNS)) - mcu;
	walks = reg_read64(&d.g, NPU_REG_COUNTER(NPU_COUNTER_PAGE_WALKS)) - walks;
	tap_ok(mcu > 1000 && walks > 20,
	       "%llu instructions of the processor and %llu page walks for them",
	       (unsigned long long)mcu, (unsigned long long)walks);
}

static int by_size(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1 : 1;
}

/* Told, never judged. */
static void tell_latency(void)
{
	enum { TIMES = 200 };
	static double us[TIMES];
	struct npu_fw_msg msg;
	struct timespec from, to;
	unsigned int i;
	npu_u64 insns;

	if (queue_create(7, NPU_FW_PRIORITY_HIGH, 0) != OK)
		return;
	insns = reg_read64(&d.g, NPU_REG_COUNTER(NPU_COUNTER_MCU_INSNS));
	for (i = 0; i < TIMES; i++) {
		clock_gettime(CLOCK_MONOTONIC, &from);
		submit(7);
		while (!has_message())
			sched_yield();
		clock_gettime(CLOCK_MONOTONIC, &to);
		message(&msg);
		us[i] = 1e6 * (double)(to.tv_sec - from.tv_sec) +
			1e-3 * (double)(to.tv_nsec - from.tv_nsec);
	}
	insns = reg_read64(&d.g, NPU_REG_COUNTER(NPU_COUNTER_MCU_INSNS)) - insns;
	qsort(us, TIMES, sizeof(us[0]), by_size);
	tap_diag("a job that does nothing: %.0f us from doorbell to message (median), "
		 "%llu instructions", us[TIMES / 2], (unsigned long long)insns / TIMES);
}

/* Two queues on one engine, in slices shorter than a job. */
static void test_slices(void)
{
	npu_u64 saves = reg_read64(&d.g, NPU_REG_COUNTER(NPU_COUNTER_SAVES));
	struct npu_fw_msg msg;
	npu_u32 i, bad = 0, slices = 0;
	struct npu_fw_ctl c = { .cmd = NPU_FW_CTL_SLICE, .arg = 500 };

	tap_ok(ctl(&c) == OK, "slices of 500 us");
	tap_ok(queue_create(3, NPU_FW_PRIORITY_NORMAL, 20) == OK &&
	       queue_create(4, NPU_FW_PRIORITY_NORMAL, 20) == OK, "two queues of long jobs");
	for (i = 0; i < 3; i++) {
		submit(3);
		submit(4);
	}
	for (i = 0; i < 6; i++) {
		bad += !message(&msg) || msg.status != OK || msg.insns != 21;
		slices += msg.slices;
	}
	saves = reg_read64(&d.g, NPU_REG_COUNTER(NPU_COUNTER_SAVES)) - saves;
	tap_ok(!bad && product_is_right(3) && product_is_right(4),
	       "6 jobs in %u slices, results right", slices);
	tap_ok(saves > 0, "saved and restored %llu times", (unsigned long long)saves);
}

static npu_u32 busy_us(unsigned int q)
{
	struct npu_fw_queue_state *state = (void *)kernel_at(&d.g, d.queue_state);

	return __atomic_load_n(&state[q].busy_us, __ATOMIC_ACQUIRE);
}

static void test_abort(void)
{
	struct npu_fw_ctl c = { .cmd = CTL_ABORT, .queue = 5 };
	struct npu_fw_msg msg;
	npu_u32 busy, i;

	tap_ok(queue_create(5, NPU_FW_PRIORITY_NORMAL, 1) == OK, "a queue whose first job hangs");
	d.g.dev->armed[NPU_VDEV_FAULT_HANG] = 1;
	/* Nothing but the firmware's timer, set anew for the job, reminds it. */
	usleep(20000);
	submit(5);
	usleep(3000);
	busy = busy_us(5);
	for (i = 0; i < WAIT_MS && busy_us(5) == busy; i++)
		usleep(1000);
	tap_ok(busy_us(5) > busy, "while it hangs the firmware says how long: %u us, %u us", busy,
	       busy_us(5));
	submit(5);
	submit(5);
	c.job_id = 2;
	ctl_post(&c);
	tap_ok(message(&msg) && msg.queue == 5 && msg.job_id == 1 && msg.status == ABORTED &&
	       message(&msg) && msg.queue == 5 && msg.job_id == 2 && msg.status == ABORTED &&
	       message(&msg) && msg.type == NPU_FW_MSG_CTL && msg.status == OK,
	       "two of three are aborted, then the order is answered");
	tap_ok(message(&msg) && msg.job_id == 3 && msg.status == OK && product_is_right(5),
	       "the third is done");
}

static void test_fault(void)
{
	struct npu_fw_msg msg;

	tap_ok(queue_create(6, NPU_FW_PRIORITY_NORMAL, 1) == OK, "a queue");
	*table_entry(&d.g, 6, OPERAND(1) + 8192, 0) = 0;
	tap_ok(guest_invalidate(&d.g, 6, OPERAND(1), BYTES), "a page goes away");
	submit(6);
	tap_ok(message(&msg) && msg.queue == 6 && msg.status == FAULTED &&
	       msg.fault.address == OPERAND(1) + 8192 && msg.fault.operand != ~0u,
	       "its job faults there");
	submit(1);
	tap_ok(message(&msg) && msg.queue == 1 && msg.status == OK, "the other queue's is done");
	submit(6);
	tap_ok(message(&msg) && msg.queue == 6 && msg.status == FAULTED && msg.job_id == 2,
	       "and again");
}

/* ---- a debugger ---- */

static int dial(npu_u32 port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval patience = { .tv_sec = 10 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ? -1 : fd;
}

/* Send a packet without acknowledgements; the answer's content. */
static const char *ask(int fd, const char *content)
{
	static char answer[600];
	char packet[600];
	unsigned char sum = 0;
	size_t n, i;

	for (i = 0; content[i]; i++)
		sum += (unsigned char)content[i];
	n = (size_t)snprintf(packet, sizeof(packet), "$%s#%02x", content, sum);
	if (write(fd, packet, n) != (ssize_t)n)
		return "";
	for (n = 0; n + 1 < sizeof(answer) && read(fd, answer + n, 1) == 1; n++)
		if (n >= 2 && answer[n - 2] == '#')
			break;
	answer[n < 2 ? 0 : n - 2] = '\0';
	return strchr(answer, '$') ? strchr(answer, '$') + 1 : answer;
}

static void test_debugger(npu_u32 port)
{
	struct npu_fw_msg msg;
	int fd = dial(port);

	if (!tap_ok(fd >= 0, "a debugger comes"))
		return;
	tap_ok(!strcmp(ask(fd, "QStartNoAckMode"), "OK") && !strcmp(ask(fd, "?"), "S05"),
	       "and holds the hart");
	submit(1);
	usleep(20000);
	tap_ok(get32(kernel_at(&d.g, d.msg.index), 0) == d.msg.seen,
	       "a doorbell is not heard meanwhile");
	/* misa; kernel memory by way of the MMU. */
	tap_ok(!strcmp(ask(fd, "p22"), "04110040"), "reads a register");
	tap_ok(!strcmp(ask(fd, "m80000000,4") + 8, ""), "reads kernel memory");
	ask(fd, "D");
	close(fd);
	tap_ok(message(&msg) && msg.queue == 1 && msg.status == OK,
	       "it goes away: the job is done");

	fd = dial(port);
	tap_ok(fd >= 0 && !strcmp(ask(fd, "QStartNoAckMode"), "OK"), "it comes again");
	reg_write(&d.g, NPU_REG_RESET, NPU_RESET_DEVICE);
	tap_ok(wait_ready(&d.g), "the device is reset while it holds the hart");
	guest_restart(&d.g);
	configure(1000);
	reg_write(&d.g, NPU_REG_MCU_ENTRY, load_image());
	reg_write(&d.g, NPU_REG_MCU_CTRL, 1);
	usleep(20000);
	tap_ok(reg_read(&d.g, NPU_REG_BOOT_STATUS) == NPU_FW_BOOT_NONE,
	       "started: not a step before it says so");
	tap_ok(!strcmp(ask(fd, "p20"), "10000000"), "the pc is at the entry");
	tap_ok(!strcmp(ask(fd, "s"), "S05") && !strcmp(ask(fd, "p20"), "14000000"), "a step");
	ask(fd, "D");
	tap_ok(wait_boot() == NPU_FW_BOOT_READY, "let go: it boots");
	fd = dial(port);
	tap_ok(fd >= 0 && !strcmp(ask(fd, "?"), "S05"),
	       "it holds the hart when the device goes away");
}

/* Whether gdb has ended; what it said is in @out. */
static bool gdb_output(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(out, 1, size - 1, f) : 0;

	if (f)
		fclose(f);
	out[n] = '\0';
	return strstr(out, "gdb has ended");
}

/* What Documentation/hardware/mcu.md shows: symbols, a breakpoint in C, its callers. */
static void test_gdb(npu_u32 port)
{
	static const char *const want[] = { "fw_queue_job_end (fw=", "in fw_turn (fw=",
					    "in fw_main ()", "id is 1", "mcause", NULL };
	const char *build = getenv("NPU_BUILD"), *path = tmp_path("gdb");
	char command[2048], out[8192];
	struct npu_fw_msg msg;
	int i;

	if (system("command -v gdb-multiarch >/dev/null 2>&1")) {
		tap_skip("gdb", "gdb-multiarch is not installed");
		return;
	}
	snprintf(command, sizeof(command),
		 "(timeout 60 gdb-multiarch -nx -batch %s/firmware/npu_fw.elf "
		 "-ex 'target remote :%u' -ex 'break fw_queue_job_end' -ex 'continue' "
		 "-ex 'backtrace' -ex 'printf \"id is %%d\\n\", queue->id' "
		 "-ex 'info registers csr' -ex 'delete' -ex 'detach' </dev/null; "
		 "echo gdb has ended) >'%.500s' 2>&1 &",
		 build ? build : "build", port, path);
	if (system(command))
		tap_ok(0, "gdb is started");
	/* The first jobs may be done before it is there. */
	for (i = 0; i < 600 && !gdb_output(path, out, sizeof(out)); i++) {
		submit(1);
		usleep(100000);
		if (!message(&msg))
			break;
	}
	for (i = 0; want[i]; i++) {
		if (!tap_ok(!!strstr(out, want[i]), "gdb shows '%s'", want[i]))
			tap_diag("%s", out);
	}
	submit(1);
	tap_ok(message(&msg) && msg.status == OK, "when it has gone jobs are done");
}

/* A job of queue 1 that only a reset of its engine ends. */
static void hang_hard(void)
{
	unsigned int ms;

	d.g.dev->armed[NPU_VDEV_FAULT_HANG_HARD] = 1;
	submit(1);
	for (ms = 0; ms < WAIT_MS && d.g.dev->armed[NPU_VDEV_FAULT_HANG_HARD]; ms++)
		usleep(1000);
}

/* The engine of queue 1 as the driver finds it; the job's end is told. */
static bool reset_engine(struct npu_fw_msg *msg)
{
	struct npu_fw_queue_state *state = (void *)kernel_at(&d.g, d.queue_state);

	reg_write(&d.g, NPU_REG_RESET,
		  NPU_RESET_ENGINE(__atomic_load_n(&state[1].engine, __ATOMIC_ACQUIRE)));
	return message(msg) && msg->queue == 1 && msg->status == NPU_FW_ENGINE_RESET;
}

static void test_hang_beside_work(void)
{
	unsigned int i, bad = 0;
	struct npu_fw_msg msg;

	hang_hard();
	for (i = 0; i < 8; i++)
		submit(2);
	for (i = 0; i < 8; i++)
		bad += !message(&msg) || msg.queue != 2 || msg.status != OK;
	tap_ok(!bad && product_is_right(2), "one engine hangs, the other one goes on: %u wrong",
	       bad);
	tap_ok(reset_engine(&msg), "a reset of its engine ends it");
	submit(1);
	tap_ok(message(&msg) && msg.queue == 1 && msg.status == OK && product_is_right(1),
	       "and the next job is done");
}

/* The job of the other engine is under way when the reset comes. */
static void test_reset_beside_work(void)
{
	struct npu_fw_ctl c = { .cmd = NPU_FW_CTL_SLICE };
	struct npu_fw_msg msg;
	unsigned int ms;

	tap_ok(ctl(&c) == OK && queue_create(3, NPU_FW_PRIORITY_NORMAL, 10) == OK,
	       "a queue of slow jobs, in one slice each");
	hang_hard();
	d.g.dev->armed[NPU_VDEV_FAULT_SLOW_JOB] = 1;
	submit(3);
	for (ms = 0; ms < WAIT_MS && !busy_us(3); ms++)
		usleep(1000);
	tap_ok(reset_engine(&msg), "one engine is reset beside the work of the other");
	tap_ok(message(&msg) && msg.queue == 3 && msg.status == OK && msg.insns == 11 &&
	       msg.slices == 1 && product_is_right(3), "whose job is not touched");
}

/* With every engine at a job that hangs the firmware hears what it is told. */
static void test_engines(void)
{
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;
	struct npu_fw_ctl ping = { .cmd = NPU_FW_CTL_PING }, c = { .cmd = CTL_ABORT, .job_id = 1 };
	unsigned int q, ended = 0;
	struct npu_fw_msg msg;

	config.threads = 1;
	config.engines = 2;
	config.sram_size = 128 << 10;
	memset(&d, 0, sizeof(d));
	guest_init(&d.g, &config);
	tap_ok(boot(1000), "boots with two engines");
	d.g.dev->armed[NPU_VDEV_FAULT_HANG] = 2;
	for (q = 1; q <= 2; q++) {
		if (queue_create(q, NPU_FW_PRIORITY_NORMAL, 1) != OK)
			tap_ok(0, "a queue");
		submit(q);
		submit(q);
	}
	usleep(3000);
	tap_ok(ctl(&ping) == OK, "both at a job that hangs: a command is heard");
	for (q = 1; q <= 2; q++) {
		c.queue = q;
		ctl_post(&c);
	}
	/* Of each queue the aborted job, the answer, and the job behind it. */
	for (q = 0; q < 6 && message(&msg); q++)
		ended += msg.type == NPU_FW_MSG_CTL ||
			 msg.status == (msg.job_id == 1 ? ABORTED : OK);
	tap_ok(ended == 6 && product_is_right(1) && product_is_right(2),
	       "both are aborted, those behind them done");
	test_hang_beside_work();
	test_reset_beside_work();
	guest_fini(&d.g);
}

int main(void)
{
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;

	config.threads = 1;
	config.fw_gdb_port = 20000 + (npu_u32)getpid() % 20000;
	guest_init(&d.g, &config);
	test_jobs();
	tell_latency();
	test_slices();
	test_abort();
	test_fault();
	test_gdb(config.fw_gdb_port);
	test_debugger(config.fw_gdb_port);
	guest_fini(&d.g);
	test_engines();
	return tap_done();
}
