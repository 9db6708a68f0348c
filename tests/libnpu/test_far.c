// SPDX-License-Identifier: MIT
/*
 * A job whose weights have more than 32 bits of bytes: written, loaded and read from near their
 * end. The file has 4.5 GiB, so this is of the full counts only.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common/tmp.h"
#include "fixture.h"
#include "tap.h"

#define BYTES	((9ull << 29) + 4096)
#define AT	((9ull << 29) + 64)

int main(void)
{
	const char *want = getenv("NPU_TEST_LONG");
	const int32_t rows[3] = { 7, 0, 3 };
	struct npu_error err = { .text = "" };
	struct npu_device *dev = NULL;
	struct npu_queue *queue = NULL;
	struct npu_fence *fence = NULL;
	struct npu_run *run = NULL;
	struct npu_job *job = NULL;
	struct fixture f;
	float y[12] = { 0 };
	char *weights;
	int i, ret;

	if (!want || !strcmp(want, "0")) {
		tap_skip("4.5 GiB of weights", "NPU_TEST_LONG is not set");
		return tap_done();
	}
	/* Pages that are only read are one and the same. */
	weights = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!tap_ok(weights != MAP_FAILED, "addresses for 4.5 GiB"))
		return tap_done();
	madvise(weights, BYTES, MADV_NOHUGEPAGE);
	gather_far_make(&f, weights, BYTES, AT);
	tap_ok(!npu_jobfile_save(&f.job, tmp_path("far.npu"), &err),
	       "a file of 4.5 GiB is written %s", err.text);
	fixture_free(&f);
	munmap(weights, BYTES);
	ret = npu_device_open("sim:threads=1", NULL, &dev, &err);
	ret = ret ?: npu_job_load(dev, tmp_path("far.npu"), 0, &job, &err);
	tap_ok(!ret, "and loaded, its sum is right %s", err.text);
	ret = ret ?: npu_run_create(job, &run, &err);
	ret = ret ?: npu_run_write(run, "idx", rows, sizeof(rows), &err);
	ret = ret ?: npu_queue_create(dev, NULL, &queue, &err);
	ret = ret ?: npu_queue_submit(queue, run, NULL, &fence, &err);
	ret = ret ?: npu_fence_wait(fence, NPU_FOREVER, &err);
	ret = ret ?: npu_run_read(run, "y", y, sizeof(y), &err);
	for (i = 0; i < 12 && !ret; i++) {
		const int32_t row = rows[i / 4] * 4 + i % 4;

		ret = y[i] != (float)row;
	}
	tap_ok(!ret, "rows from byte %llu on are the right ones %s", AT, err.text);
	npu_fence_put(fence);
	npu_queue_destroy(queue);
	npu_run_destroy(run);
	npu_job_unload(job);
	npu_device_close(dev);
	unlink(tmp_path("far.npu"));
	return tap_done();
}
