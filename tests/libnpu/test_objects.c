// SPDX-License-Identifier: MIT
/*
 * Buffers that are larger than an object of the driver's (fake_drm.h, whose objects never lie side
 * by side): one range for the host and for the device, given back as a whole, and a language model
 * whose weights and cache are several objects each.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "common/tmp.h"
#include "fake_drm.h"
#include "npu_llm.h"
#include "tap.h"

#define OBJECT	(64u << 10)
#define BYTES	(4 * OBJECT + 5000)	/* five objects */
#define STEPS	20

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static struct npu_error err;
static int fd;

static struct npu_device *open_device(const char *options)
{
	struct npu_device *dev = NULL;
	char uri[64];

	snprintf(uri, sizeof(uri), "drm:fd=%d%s", fd, options);
	if (npu_device_open(uri, NULL, &dev, &err))
		dev = NULL;
	return dev;
}

static void test_options(void)
{
	struct npu_device_options opt = NPU_INIT(opt);
	struct npu_device_info info = NPU_INIT(info);
	static const struct { const char *text; uint64_t want; } sizes[] = {
		{ "", 1 << 30 }, { ",max-object=5000", 4096 }, { ",max-object=0x10000", OBJECT },
		{ ",max-object=5000000", 4 << 20 },
	};
	static const char *const mistakes[] = {
		",max-object=0", ",max-object=4095", ",max-object=x", ",max-object", ",threads=1",
	};
	struct npu_device *dev;
	char uri[64];
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		dev = open_device(sizes[i].text);
		tap_ok(dev && !npu_device_info(dev, &info, &err) &&
			       info.max_object == sizes[i].want,
		       "drm:fd=N%s: objects of %llu bytes at most", sizes[i].text,
		       (unsigned long long)sizes[i].want);
		npu_device_close(dev);
	}
	snprintf(uri, sizeof(uri), "drm:fd=%d", fd);
	opt.max_object = 3 << 20;
	tap_ok(!npu_device_open(uri, &opt, &dev, &err) && !npu_device_info(dev, &info, &err) &&
	       info.max_object == 2 << 20, "from the program: whole large pages");
	npu_device_close(dev);
	for (i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		dev = open_device(mistakes[i]);
		tap_ok(!dev && err.code == -EINVAL, "drm:fd=N%s: %s", mistakes[i], err.text);
	}
	tap_ok(npu_device_open("drm:max-object=4096", NULL, &dev, &err) == -EINVAL, "no node: %s",
	       err.text);
}

static void test_buffer(struct npu_device *dev)
{
	unsigned char *map, *want = malloc(BYTES), *got = malloc(BYTES);
	unsigned int before = fake_drm_live(), i;
	struct npu_buffer *buf;
	int out, bad = 0;

	for (i = 0; i < BYTES; i++)
		want[i] = (unsigned char)(i * 7 + i / 251);
	if (!tap_ok(!npu_buffer_create(dev, BYTES, 0, &buf, &err), "a buffer of five objects"))
		exit(tap_done());
	tap_ok(fake_drm_live() - before == 10 && fake_drm_largest() == OBJECT,
	       "is five buffers of the driver's, each mapped, none above the limit");
	bad = npu_buffer_map(buf, (void **)&map, &err);
	for (i = 0; i < BYTES && !bad; i++)
		bad = map[i];
	tap_ok(!bad, "zero at first, to the last byte");
	for (i = 0; i + 3000 < BYTES && !bad; i += 3000)
		bad = npu_buffer_write(buf, i, want + i, 3000, &err);
	bad = bad || npu_buffer_write(buf, i, want + i, BYTES - i, &err) ||
	      npu_buffer_read(buf, 0, got, BYTES, &err) || memcmp(got, want, BYTES);
	tap_ok(!bad, "written in pieces, read as a whole");
	bad = npu_buffer_read(buf, OBJECT - 1, got, 2 * OBJECT + 2, &err) ||
	      memcmp(got, want + OBJECT - 1, 2 * OBJECT + 2);
	tap_ok(!bad, "a range that begins and ends inside");
	tap_ok(npu_buffer_sync(buf, BYTES - 1, 2, NPU_SYNC_TO_DEVICE, &err) == -EINVAL,
	       "beyond: %s", err.text);
	tap_ok(npu_buffer_export_dmabuf(buf, &out, &err) == -ENOTSUP &&
		       strstr(err.text, "5 objects"),
	       "not a dma-buf: %s", err.text);
	npu_buffer_put(buf);
	tap_ok(fake_drm_live() == before, "all are given back");
	fake_drm.fail_create = 4;
	tap_ok(npu_buffer_create(dev, BYTES, 0, &buf, &err) == -ENOMEM && fake_drm_live() == before,
	       "no memory for the fourth: %s; nothing is left of the three", err.text);
	free(want);
	free(got);
}

/* Greedy tokens of the job on a device. */
static bool generate(const char *path, const char *uri, int32_t out[STEPS], unsigned int *objects)
{
	struct npu_llm_options opt = NPU_INIT(opt);
	struct npu_llm_info info = NPU_INIT(info);
	struct npu_llm_session *s = NULL;
	struct npu_llm *llm = NULL;
	const float *logits = NULL;
	unsigned int before = fake_drm_live(), i, k;
	int ret;

	opt.device = uri;
	ret = npu_llm_open(path, &opt, &llm, &err);
	*objects = fake_drm_live() - before;
	ret = ret ?: npu_llm_info(llm, &info);
	ret = ret ?: npu_llm_session_create(llm, &s, &err);
	ret = ret ?: npu_llm_prefill(s, (int32_t[]){ 5, 300, 41, 7, 1234 }, 5, &logits, &err);
	for (i = 0; i < STEPS && !ret; i++) {
		for (k = 1, out[i] = 0; k < info.vocab; k++)
			if (logits[k] > logits[out[i]])
				out[i] = (int32_t)k;
		ret = npu_llm_decode(s, out[i], &logits, &err);
	}
	npu_llm_session_destroy(s);
	npu_llm_close(llm);
	return !ret;
}

static void test_model(void)
{
	struct npu_llm_compile_options opt = NPU_INIT(opt);
	struct npu_llm_compile_summary sum = NPU_INIT(sum);
	int32_t whole[STEPS], split[STEPS], sim[STEPS];
	unsigned int few = 0, many = 0, none, i, want;
	const char *path = tmp_path("kjv.npu");
	uint64_t object = 1 << 20;
	bool same = true;
	char uri[64];

	opt.context = 64;
	opt.batch = 64;
	opt.chunk = 64;
	if (npu_llm_compile("models/kjv/kjv-Q8_0.gguf", path, &opt, &sum, &err)) {
		tap_ok(false, "compile: %s", err.text);
		return;
	}
	want = (unsigned int)((sum.weights - 1) / object + (sum.pool - 1) / object);
	snprintf(uri, sizeof(uri), "drm:fd=%d", fd);
	if (!tap_ok(generate(path, "sim", sim, &none) && generate(path, uri, whole, &few),
		    "one object each"))
		tap_diag("%s", err.text);
	snprintf(uri, sizeof(uri), "drm:fd=%d,max-object=%llu", fd, (unsigned long long)object);
	if (!tap_ok(generate(path, uri, split, &many), "objects of 1 MiB"))
		tap_diag("%s", err.text);
	tap_ok(want >= 8 && many - few == 2 * want,
	       "%.1f MiB of weights and %.1f MiB of cache: %u objects more, each mapped",
	       (double)sum.weights / (1 << 20), (double)sum.pool / (1 << 20), (many - few) / 2);
	for (i = 0; i < STEPS; i++)
		same = same && split[i] == sim[i] && whole[i] == sim[i];
	tap_ok(same, "the same %d tokens as in process: %d %d %d ...", STEPS, sim[0], sim[1],
	       sim[2]);
}

/* Addresses that this process has mapped. */
static uint64_t address_bytes(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * Under ulimit -v: said before the weights and the cache are made. A sanitizer has its own
 * addresses.
 */
static void test_too_little(void)
{
	struct npu_llm_compile_options opt = NPU_INIT(opt);
	struct npu_llm_options look = NPU_INIT(look);
	struct npu_llm_memory m = NPU_INIT(m);
	unsigned int before = fake_drm_live(), made;
	const char *path = tmp_path("pool.npu");
	struct rlimit old, limit;
	struct npu_llm *llm;
	char uri[64];

	opt.context = 64;
	opt.pool = 100000;
	snprintf(uri, sizeof(uri), "drm:fd=%d", fd);
	look.device = uri;
	look.pool = opt.pool;
	look.flags = NPU_LLM_LOOK;
	if (npu_llm_compile("models/kjv/kjv-Q8_0.gguf", path, &opt, NULL, &err) ||
	    npu_llm_open(path, &look, &llm, &err) || npu_llm_memory(llm, &m)) {
		tap_ok(false, "a large pool: %s", err.text);
		return;
	}
	tap_ok(m.kv > 250 << 20 && m.total > m.kv + m.weights, "a model that needs %llu MiB",
	       (unsigned long long)(m.total >> 20));
	npu_llm_close(llm);
	getrlimit(RLIMIT_AS, &old);
	limit = old;
	limit.rlim_cur = (rlim_t)address_bytes() + (100u << 20);
	look.flags = 0;
	made = fake_drm_buffers();
	if (SANITIZED || setrlimit(RLIMIT_AS, &limit)) {
		tap_skip("too little memory", "no limit can be set");
		return;
	}
	tap_ok(npu_llm_open(path, &look, &llm, &err) == -ENOMEM && strstr(err.text, "needs 3") &&
	       strstr(err.text, "(ulimit -v)"), "too little memory: %s", err.text);
	tap_ok(fake_drm_buffers() - made == 1 && fake_drm_live() == before,
	       "nothing was made but a buffer for the instructions, and that is gone");
	setrlimit(RLIMIT_AS, &old);
	tap_ok(!npu_llm_open(path, &look, &llm, &err), "and without the limit it opens");
	npu_llm_close(llm);
}

int main(void)
{
	struct npu_device *dev;

	fd = fake_drm_open();
	test_options();
	dev = open_device(",max-object=65536");
	test_buffer(dev);
	npu_device_close(dev);
	test_model();
	test_too_little();
	tap_ok(fake_drm_live() == 0, "everything is given back: %u objects are left",
	       fake_drm_live());
	fake_drm_close(fd);
	return tap_done();
}
