// SPDX-License-Identifier: MIT
/* Guest memory: mapping, unmapping, look-ups against a plain table of pages, barriers. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fixture.h"
#include "tap.h"

#define PAGE	4096ull
#define RW	3u

static struct fixture f;
static struct client c;

/* Whether all of [iova, iova + size) can be accessed, and what its first byte is. */
static int look(npu_u64 iova, npu_u64 size, npu_u32 access, int *byte)
{
	struct npu_vdev_run runs[64];
	struct npu_vdev_pin pin;
	int n = npu_vdev_dma_acquire(f.dev, iova, size, access, &pin, runs, 64, NULL);

	if (n < 0)
		return n;
	if (byte)
		*byte = *(npu_u8 *)runs[0].host;
	npu_vdev_dma_release(f.dev, &pin);
	return n;
}

static void map_test(int mem)
{
	int byte = -1;
	npu_u64 bad = 0;
	npu_u8 buf[3 * PAGE];

	tap_ok(look(0x100000, 1, 1, NULL) == -EFAULT, "nothing is mapped at first");
	tap_ok(!client_map(&c, mem, 2 * PAGE, 0x100000, 4 * PAGE, RW), "four pages are mapped");
	tap_ok(look(0x100000, 4 * PAGE, 3, &byte) == 1 && byte == 2, "one run, the right page");
	tap_ok(look(0x100000, 4 * PAGE + 1, 1, NULL) == -EFAULT &&
	       look(0xfffff, 2, 1, NULL) == -EFAULT, "not a byte more on either side");
	tap_ok(client_map(&c, mem, 0, 0x101000, PAGE, RW) == EEXIST &&
	       client_map(&c, mem, 0, 0xff000, 2 * PAGE, RW) == EEXIST &&
	       client_map(&c, mem, 0, 0xff000, 8 * PAGE, RW) == EEXIST, "an overlap is refused");
	tap_ok(!client_map(&c, mem, 2 * PAGE, 0x100000, 4 * PAGE, RW), "the same again is not");
	tap_ok(!client_map(&c, mem, 6 * PAGE, 0x104000, PAGE, RW) &&
		       look(0x100000, 5 * PAGE, 3, NULL) == 1,
	       "what follows in memory as in DMA addresses is one run");
	tap_ok(!client_map(&c, mem, 0, 0x105000, PAGE, 1) && look(0x100000, 6 * PAGE, 1, NULL) == 2,
	       "what does not is two");
	tap_ok(look(0x105000, 1, 2, NULL) == -EACCES, "a read-only page is not written");
	tap_ok(npu_vdev_dma_read(f.dev, 0x104800, buf, PAGE, NULL) == 0 && buf[0] == 6 &&
	       buf[PAGE - 1] == 0, "a copy across two runs");
	memset(buf, 0x5a, sizeof(buf));
	tap_ok(npu_vdev_dma_write(f.dev, 0x104fff, buf, 2, &bad) == -EACCES && bad == 0x105000 &&
	       !npu_vdev_dma_read(f.dev, 0x104fff, buf, 1, NULL) && buf[0] == 6,
	       "a write that can not end has not begun");
	tap_ok(npu_vdev_dma_read(f.dev, UINT64_MAX, buf, 2, NULL) == -EINVAL &&
		       npu_vdev_dma_read(f.dev, 0x100000, buf, 0, NULL) == -EINVAL,
	       "wrapping and empty ranges");
	tap_ok(!client_unmap(&c, 0x100000, 6 * PAGE, 0) && look(0x100000, 1, 1, NULL) == -EFAULT,
	       "three mappings are unmapped at once");
	tap_ok(!client_unmap(&c, 0x100000, 6 * PAGE, 0), "and once more, which is no error");
}

static void word_test(int mem)
{
	npu_u32 v32 = 0;
	npu_u64 v64 = 0, bad = 0;

	client_map(&c, mem, 0, 0x200000, PAGE, RW);
	tap_ok(!npu_vdev_dma_store32(f.dev, 0x200010, 0x01020304, NULL) &&
	       !npu_vdev_dma_load32(f.dev, 0x200010, &v32, NULL) && v32 == 0x01020304 &&
	       !npu_vdev_dma_load64(f.dev, 0x200010, &v64, NULL) && v64 == 0x01020304,
	       "words are stored and loaded");
	tap_ok(npu_vdev_dma_load32(f.dev, 0x200002, &v32, &bad) == -EINVAL && bad == 0x200002 &&
	       npu_vdev_dma_load64(f.dev, 0x201000, &v64, &bad) == -EFAULT && bad == 0x201000,
	       "aligned, and where memory is");
	client_unmap(&c, 0x200000, PAGE, 0);
}

static void bad_map_test(int mem)
{
	int pipes[2], small = memory_make(PAGE, 0), ro, two[2] = { mem, mem }, byte;
	uint8_t p[32] = { 0 };
	char path[64];

	tap_ok(client_map(&c, mem, 0, 0x100000, 0, RW) == EINVAL, "a size of zero");
	tap_ok(client_map(&c, mem, 0, -PAGE, 2 * PAGE, RW) == EINVAL, "a range that wraps");
	tap_ok(client_map(&c, mem, 0, 0x100800, PAGE, RW) == EINVAL &&
	       client_map(&c, mem, 0, 0x100000, 100, RW) == EINVAL &&
	       client_map(&c, mem, 8, 0x100000, PAGE, RW) == EINVAL, "what is not whole pages");
	tap_ok(client_map(&c, mem, 0, 0x100000, PAGE, 0) == EINVAL &&
	       client_map(&c, mem, 0, 0x100000, PAGE, 7) == EINVAL, "no rights, unknown rights");
	tap_ok(client_map(&c, small, PAGE, 0x100000, PAGE, RW) == EINVAL &&
		       client_map(&c, small, 0, 0x100000, 2 * PAGE, RW) == EINVAL &&
		       client_map(&c, small, -PAGE, 0x100000, 2 * PAGE, RW) == EINVAL,
	       "beyond the end of the file");
	put32(p, 32);
	put32(p + 4, RW);
	put64(p + 16, 0x100000);
	put64(p + 24, PAGE);
	tap_ok(client_call(&c, C_DMA_MAP, p, 32, two, 2, NULL) == EINVAL, "two files");
	if (pipe(pipes))
		return;
	tap_ok(client_map(&c, pipes[0], 0, 0x100000, PAGE, RW) == EINVAL, "a pipe");
	close(pipes[0]);
	close(pipes[1]);
	/* One that we have not seen with more rights. */
	close(small);
	small = memory_make(PAGE, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", small);
	ro = open(path, O_RDONLY | O_CLOEXEC);
	close(small);
	tap_ok(client_map(&c, ro, 0, 0x100000, PAGE, RW) == EACCES &&
		       !client_map(&c, ro, 0, 0x100000, PAGE, 1),
	       "a file that is open for reading is mapped for reading");
	tap_ok(look(0x100000, PAGE, 1, &byte) == 1 && look(0x100000, PAGE, 2, NULL) == -EACCES,
	       "and read");
	close(ro);
	client_unmap(&c, 0x100000, PAGE, 0);
	tap_ok(!client_map(&c, -1, 0, 0xfe000000, 16 * PAGE, RW) &&
		       look(0xfe000000, 4, 1, NULL) == -ENXIO,
	       "without a file it is known but not reached");
	tap_ok(!client_map(&c, mem, 0, -PAGE, PAGE, RW) && look(-PAGE, PAGE, 3, &byte) == 1 &&
		       byte == 0,
	       "the last page of all addresses");
	tap_ok(client_unmap(&c, 0x1000, 0, 0) == EINVAL &&
		       client_unmap(&c, -PAGE, 2 * PAGE, 0) == EINVAL &&
		       client_unmap(&c, 1, PAGE, 0) == EINVAL &&
		       client_unmap(&c, 0, PAGE, 1) == EINVAL &&
		       client_unmap(&c, PAGE, PAGE, 2) == EINVAL,
	       "bad requests to unmap");
	tap_ok(!client_unmap(&c, 0, 0, 2) && look(-PAGE, PAGE, 3, NULL) == -EFAULT &&
	       look(0xfe000000, 4, 1, NULL) == -EFAULT, "unmap all");
}

/* ---- random mapping and unmapping beside an array of pages ---- */

#define SPACE	256u

struct page {
	bool mapped;
	npu_u8 byte, rights;
};

static unsigned int seed = 1;

static unsigned int rnd(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

/* What the table should say of [at, at + n): the error or 0. */
static int expected(const struct page *model, unsigned int at, unsigned int n, npu_u32 access)
{
	for (; n; n--, at++) {
		if (!model[at].mapped)
			return -EFAULT;
		if ((model[at].rights & access) != access)
			return -EACCES;
	}
	return 0;
}

static bool step(struct page *model, int mem)
{
	unsigned int at = rnd(SPACE), n = 1 + rnd(SPACE - at < 24 ? SPACE - at : 24), i,
		     off = rnd(64), rights;
	npu_u64 iova = 0x40000000 + at * PAGE;
	bool any = false;

	if (rnd(3) == 0) {
		for (i = 0; i < n; i++)
			model[at + i].mapped = false;
		return client_unmap(&c, iova, n * PAGE, 0) == 0;
	}
	rights = 1 + rnd(3);
	for (i = 0; i < n; i++)
		any |= model[at + i].mapped;
	for (i = 0; i < n && !any; i++)
		model[at + i] = (struct page){ true, off + i, rights };
	/* Where exactly the same is mapped already both answers are right. */
	i = client_map(&c, mem, off * PAGE, iova, n * PAGE, rights);
	return any ? i == EEXIST || i == 0 : i == 0;
}

static bool check(const struct page *model)
{
	unsigned int at = rnd(SPACE), n = 1 + rnd(SPACE - at), access = 1 + rnd(3), i;
	struct npu_vdev_run runs[SPACE];
	struct npu_vdev_pin pin;
	npu_u64 done = 0, k;
	int ret = npu_vdev_dma_acquire(f.dev, 0x40000000 + at * PAGE, n * PAGE, access, &pin, runs,
				       SPACE, NULL);
	bool good =
		ret < 0 ? ret == expected(model, at, n, access) : !expected(model, at, n, access);

	for (i = 0; ret > 0 && i < (unsigned int)ret; i++)
		for (k = 0; k < runs[i].size; k += PAGE, done++)
			good &= ((npu_u8 *)runs[i].host)[k] == model[at + done].byte &&
				runs[i].writable == !!(model[at + done].rights & 2);
	if (ret > 0)
		npu_vdev_dma_release(f.dev, &pin);
	return good && (ret < 0 || done == n);
}

static bool counted(const struct page *model)
{
	npu_u64 bytes = 0;
	unsigned int i;

	for (i = 0; i < SPACE; i++)
		bytes += model[i].mapped ? PAGE : 0;
	return (npu_u64)fixture_number(&f, "counters", "dma-live-bytes") == bytes;
}

static void random_test(int mem)
{
	static struct page model[SPACE];
	unsigned int i, k, bad = 0, wrong = 0, uncounted = 0, n = tap_cases(2000);

	for (i = 0; i < n; i++) {
		bad += !step(model, mem);
		uncounted += !counted(model);
		for (k = 0; k < 10; k++)
			wrong += !check(model);
	}
	tap_ok(!bad, "%u random requests, %u not answered as they should be", n, bad);
	tap_ok(!wrong, "%u look-ups, %u other than the plain table", 10 * n, wrong);
	tap_ok(!uncounted, "dma-live-bytes is what is mapped, but for %u times", uncounted);
	client_unmap(&c, 0, 0, 2);
}

/* As many mappings as a scattered guest makes. */
static void many_test(int mem)
{
	unsigned int i, n = tap_short() ? 8000 : 70000, bad = 0;
	int byte;

	for (i = 0; i < n; i++)
		bad += client_map(&c, mem, (i % 64) * PAGE,
				  0x100000000 + 2ull * (i * 7919ull % n) * PAGE, PAGE, RW) != 0;
	tap_ok(!bad, "%u scattered mappings", n);
	for (i = bad = 0; i < n; i++)
		bad += look(0x100000000 + 2ull * (i * 7919ull % n) * PAGE, PAGE, 3, &byte) != 1 ||
		       byte != (int)(i % 64);
	tap_ok(!bad && fixture_number(&f, "counters", "dma-live") == n, "are all found");
	tap_ok(!client_unmap(&c, 0, 0, 2) && fixture_number(&f, "counters", "dma-live") == 0,
	       "and go with one request");
}

/* More files than there are places: those without a mapping make room. */
static void files_test(void)
{
	unsigned int i, bad = 0;
	int fd, byte = -1;

	for (i = 0; i < 200; i++) {
		fd = memory_make(PAGE, i);
		bad += client_map(&c, fd, 0, 0x1000, PAGE, RW) || look(0x1000, 1, 3, &byte) != 1 ||
		       byte != (int)(npu_u8)i || client_unmap(&c, 0x1000, PAGE, 0);
		close(fd);
	}
	tap_ok(!bad, "200 files, one after the other");
	for (i = 0; i < 80 && !bad; i++) {
		fd = memory_make(PAGE, i);
		bad = client_map(&c, fd, 0, (1 + i) * PAGE, PAGE, RW);
		close(fd);
	}
	tap_ok(bad == ENFILE && i == 65, "64 at once");
	client_unmap(&c, 0, 0, 2);
}

/* ---- barriers ---- */

struct holder {
	npu_u64 iova;
	unsigned int us;
	atomic_bool held, done;
};

static void *hold(void *arg)
{
	struct holder *h = arg;
	struct npu_vdev_run run;
	struct npu_vdev_pin pin;

	if (npu_vdev_dma_acquire(f.dev, h->iova, PAGE, 3, &pin, &run, 1, NULL) != 1)
		return NULL;
	h->held = true;
	usleep(h->us);
	memset(run.host, 0x77, 64);
	h->done = true;
	npu_vdev_dma_release(f.dev, &pin);
	return NULL;
}

static pthread_t hold_start(struct holder *h, npu_u64 iova, unsigned int us)
{
	pthread_t t;

	*h = (struct holder){ .iova = iova, .us = us };
	pthread_create(&t, NULL, hold, h);
	while (!h->held)
		usleep(100);
	return t;
}

static void barrier_test(int mem)
{
	struct holder h;
	pthread_t t;
	uint16_t off = 2;

	client_map(&c, mem, 0, 0x10000, 4 * PAGE, RW);
	client_map(&c, mem, 4 * PAGE, 0x20000, PAGE, RW);
	t = hold_start(&h, 0x11000, 200000);
	tap_ok(!client_unmap(&c, 0x20000, PAGE, 0) && !h.done, "another range is unmapped at once");
	tap_ok(!client_unmap(&c, 0x12000, PAGE, 0) && !h.done,
	       "another page of the same mapping as well");
	tap_ok(!client_unmap(&c, 0x11000, PAGE, 0) && h.done,
	       "the one that is accessed when that has ended");
	pthread_join(t, NULL);
	t = hold_start(&h, 0x10000, 100000);
	client_write(&c, 7, 4, &off, 2);
	tap_ok(h.done, "bus mastering is off when the access has ended");
	pthread_join(t, NULL);
	client_enable(&c);
	t = hold_start(&h, 0x10000, 100000);
	client_call(&c, C_RESET, NULL, 0, NULL, 0, NULL);
	tap_ok(h.done, "so is a reset");
	pthread_join(t, NULL);
	client_enable(&c);
	t = hold_start(&h, 0x10000, 100000);
	tap_ok(fixture_number(&f, "status", "engines") == 1 && !h.done,
	       "the loop goes round meanwhile");
	client_close(&c);
	tap_ok(client_open(&c, f.socket) && h.done, "the next client is served when it has ended");
	pthread_join(t, NULL);
	client_enable(&c);
	tap_ok(look(0x10000, 1, 1, NULL) == -EFAULT, "and finds nothing mapped");
	client_map(&c, mem, 0, 0x10000, PAGE, RW);
	probe.num_unmaps = 0;
	probe.busy = 20;
	tap_ok(!client_unmap(&c, 0x10000, PAGE, 0) && probe.num_unmaps == 21,
	       "a core that is busy is asked until it is not");
}

static void bus_master_test(int mem)
{
	uint16_t memory = 2;
	unsigned int n;

	client_map(&c, mem, 0, 0x10000, PAGE, RW);
	tap_ok(look(0x10000, 1, 1, NULL) == 1, "with bus mastering");
	client_write(&c, 7, 4, &memory, 2);
	tap_ok(look(0x10000, 1, 1, NULL) == -EPERM, "without");
	fixture_control(&f, "arm ignore-bus-master 2");
	for (n = 0; look(0x10000, 1, 1, NULL) == 1; n++)
		;
	tap_ok(n == 2 && look(0x10000, 1, 1, NULL) == -EPERM, "the mutant, twice");
	client_enable(&c);
	client_unmap(&c, 0x10000, PAGE, 0);
}

/* ---- look-ups from many threads while the table changes ---- */

static atomic_bool stop;
static atomic_uint stale, found;

static void *reader(void *arg)
{
	struct npu_vdev_run runs[4];
	struct npu_vdev_pin pin;
	unsigned int s = (unsigned int)(size_t)arg, i;
	int n;

	while (!stop) {
		s = s * 1103515245 + 12345;
		n = npu_vdev_dma_acquire(f.dev, 0x40000000 + (s >> 16) % 32 * PAGE, 2 * PAGE, 1,
					 &pin, runs, 4, NULL);
		if (n < 0)
			continue;
		/* Page p of the file holds p: at address p it is always the same one. */
		for (i = 0; i < (unsigned int)n; i++)
			stale += *(volatile npu_u8 *)runs[i].host != runs[i].offset / PAGE;
		found++;
		npu_vdev_dma_release(f.dev, &pin);
	}
	return NULL;
}

static void thread_test(int mem)
{
	pthread_t t[4];
	unsigned int i, bad = 0, n = tap_cases(4000);
	size_t k;

	for (k = 0; k < 4; k++)
		pthread_create(&t[k], NULL, reader, (void *)(k + 1));
	for (i = 0; i < n; i++) {
		unsigned int at = rnd(32), len = 1 + rnd(32 - at);

		bad += client_unmap(&c, 0x40000000 + at * PAGE, len * PAGE, 0) != 0;
		bad += client_map(&c, mem, at * PAGE, 0x40000000 + at * PAGE, len * PAGE, RW) != 0;
	}
	stop = true;
	for (k = 0; k < 4; k++)
		pthread_join(t[k], NULL);
	tap_ok(!bad && !stale, "%u changes beside four threads, %u wrong pages in %u look-ups", n,
	       stale, found);
	client_unmap(&c, 0, 0, 2);
}

int main(void)
{
	int mem = memory_make(128 * PAGE, 0);

	if (!tap_ok(fixture_thread(&f, NULL) && client_open(&c, f.socket), "a device and a client"))
		return tap_done();
	client_enable(&c);
	map_test(mem);
	word_test(memory_make(PAGE, 0));
	bad_map_test(mem);
	random_test(mem);
	many_test(mem);
	files_test();
	thread_test(mem);
	barrier_test(mem);
	bus_master_test(mem);
	client_close(&c);
	fixture_end(&f);
	return tap_done();
}
