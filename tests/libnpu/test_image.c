// SPDX-License-Identifier: MIT
/* Camera frames as inputs: what a job tells of them, and planes at any place and stride. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/run.h"
#include "fixture.h"
#include "tap.h"

static struct npu_error err;

static void test_info(const struct npu_job *job)
{
	struct npu_image_info img = NPU_INIT(img);
	struct npu_plane_info plane = NPU_INIT(plane);
	struct npu_symbol_info sym = NPU_INIT(sym);

	tap_ok(!npu_job_image(job, 0, 0, &img) && !strcmp(img.name, "cam") &&
	       !strcmp(img.spec, "nv12:8x4") && !memcmp(&img.fourcc, "NV12", 4) && img.width == 8 &&
	       img.height == 4 && img.num_planes == 2 && img.bytes == 48, "an image and its size");
	tap_ok(!npu_job_plane(job, 0, 0, 1, &plane) && !strcmp(plane.name, "cam.uv") &&
	       plane.tensor == 1 && plane.rows == 2 && plane.row_bytes == 8 && plane.stride == 8 &&
	       plane.max_stride == 64 && plane.offset == 32, "its second plane");
	tap_ok(!npu_job_image(job, 0, 1, &img) && img.bytes == 32 && img.num_planes == 1 &&
	       !npu_job_plane(job, 0, 1, 0, &plane) && plane.stride == 16 &&
	       plane.max_stride == 16 && plane.row_bytes == 12, "one with a stride of its own");
	tap_ok(npu_job_image(job, 0, 2, &img) == -ENOENT &&
		       npu_job_image(job, 1, 0, &img) == -ENOENT &&
		       npu_job_plane(job, 0, 0, 2, &plane) == -ENOENT,
	       "no more than these");
	img.size = 0;
	tap_ok(npu_job_image(job, 0, 0, &img) == -EINVAL &&
		       npu_job_image(job, 0, 0, NULL) == -EINVAL,
	       "the struct's size is looked at");
	tap_ok(!npu_job_symbol(job, 0, 0, &sym) && sym.stride && !sym.derived && sym.min == 8,
	       "its symbol is a stride");
}

/* The bytes of the frames: luma, chroma, RGB. */
static unsigned char byte_at(unsigned int plane, unsigned int row, unsigned int i)
{
	return (unsigned char)(plane * 101 + row * 13 + i * 3 + 1);
}

static const unsigned int rows[3] = { 4, 2, 2 }, bytes[3] = { 8, 8, 12 };

/* Plane @p at @at with rows @stride apart; what lies between stays. */
static void fill(unsigned int p, unsigned char *at, size_t stride)
{
	unsigned int r, i;

	for (r = 0; r < rows[p]; r++)
		for (i = 0; i < bytes[p]; i++)
			at[r * stride + i] = byte_at(p, r, i);
}

/* Outputs @first .. @last are the planes. */
static bool planes_are_right(struct npu_queue *queue, struct npu_run *run, unsigned int first,
			     unsigned int last)
{
	static const char *const out[3] = { "y", "uv", "p" };
	unsigned char got[32];
	unsigned int p, r, i;

	if (run_and_wait(queue, run, &err)) {
		tap_diag("%s", err.text);
		return false;
	}
	for (p = first; p <= last; p++) {
		if (npu_run_read(run, out[p], got, rows[p] * bytes[p], &err))
			return false;
		for (r = 0; r < rows[p]; r++)
			for (i = 0; i < bytes[p]; i++)
				if (got[r * bytes[p] + i] != byte_at(p, r, i))
					return false;
	}
	return true;
}

static void test_write(struct npu_queue *queue, struct npu_run *run)
{
	unsigned char frame[48], rgb[32] = { 0 };

	fill(0, frame, 8);
	fill(1, frame + 32, 8);
	fill(2, rgb, 12);
	tap_ok(!npu_run_write_image(run, "cam", frame, sizeof(frame), &err) &&
	       !npu_run_write_image(run, "rgb", rgb, 24, &err) &&
	       planes_are_right(queue, run, 0, 2), "frames without gaps are written");
	fill(2, rgb, 16);
	tap_ok(!npu_run_write_image(run, "rgb", rgb, 32, &err) &&
	       planes_are_right(queue, run, 2, 2), "one with the job's stride is, too");
	tap_ok(!npu_run_set_stride(run, "cam", 23, &err) &&
	       !npu_run_write_image(run, "cam", frame, sizeof(frame), &err) &&
	       planes_are_right(queue, run, 0, 1), "into rows that are 23 bytes apart, too");
	tap_ok(!npu_run_set_stride(run, "cam", 0, &err), "the stride is the job's again");
	tap_ok(npu_run_write_image(run, "cam", frame, 47, &err) == -EINVAL &&
	       strstr(err.text, "'cam' is a frame nv12:8x4 of 48 bytes, not 47"), "%s", err.text);
	tap_ok(npu_run_write_image(run, "dog", frame, 48, &err) == -ENOENT &&
	       strstr(err.text, "'dog'") && strstr(err.text, "'cam', 'rgb'"), "%s", err.text);
}

/* Every stride and some odd offsets, both planes in one buffer. */
static void test_bind(struct npu_device *dev, struct npu_queue *queue, struct npu_run *run)
{
	struct npu_buffer *buf;
	unsigned int stride, good = 0, all = 0, offset;
	unsigned char *map;
	void *p;

	if (!tap_ok(!npu_buffer_create(dev, 4096, 0, &buf, &err) && !npu_buffer_map(buf, &p, &err),
		    "a buffer"))
		return;
	map = p;
	for (stride = 8; stride <= 64; stride += 7)
		for (offset = 0; offset < 40; offset += 13, all++) {
			memset(map, 0xee, 4096);
			fill(0, map + offset, stride);
			fill(1, map + offset + 4 * stride, stride);
			good += !npu_run_bind_image(run, "cam", buf, offset, stride, &err) &&
				planes_are_right(queue, run, 0, 1);
		}
	tap_ok(good == all, "%u of %u strides and offsets are right", good, all);
	/* the last row ends where the buffer ends: what follows it is not needed */
	fill(0, map, 64);
	fill(1, map + 4096 - 72, 64);
	tap_ok(!npu_run_set_stride(run, "cam", 64, &err) &&
	       !npu_run_set_stride(run, "cam.uv", 64, &err) &&
	       !npu_run_bind(run, "cam", buf, 0, &err) &&
	       !npu_run_bind(run, "cam.uv", buf, 4096 - 72, &err) &&
	       planes_are_right(queue, run, 0, 1), "planes at places of their own, up to the end");
	tap_ok(!npu_run_bind(run, "cam.uv", buf, 4096 - 71, &err) &&
		       run_and_wait(queue, run, &err) == -EINVAL &&
		       strstr(err.text, "'cam.uv' needs 72 bytes"),
	       "%s", err.text);
	tap_ok(!npu_run_bind_image(run, "cam", NULL, 0, 0, &err), "the bindings are taken back");
	npu_buffer_put(buf);
}

/* Its second plane can not lie there, so its first one stays where it was, with its stride. */
static void test_all_or_nothing(struct npu_device *dev, struct npu_queue *queue,
				struct npu_run *run)
{
	struct npu_buffer *good, *small, *at;
	unsigned char *map;
	uint64_t offset;
	void *p;

	if (!tap_ok(!npu_buffer_create(dev, 4096, 0, &good, &err) &&
		    !npu_buffer_map(good, &p, &err) &&
		    !npu_buffer_create(dev, 100, 0, &small, &err), "two buffers"))
		return;
	map = p;
	fill(0, map + 7, 23);
	fill(1, map + 7 + 4 * 23, 23);
	tap_ok(!npu_run_bind_image(run, "cam", good, 7, 23, &err) &&
	       planes_are_right(queue, run, 0, 1), "an image is bound");
	tap_ok(npu_run_bind_image(run, "cam", small, 0, 30, &err) == -EINVAL &&
	       strstr(err.text, "'cam.uv' bound at byte 120 of a buffer that has 100"), "%s",
	       err.text);
	tap_ok(!npu_run_buffer(run, "cam", &at, &offset, &err) && at == good && offset == 7 &&
	       !npu_run_buffer(run, "cam.uv", &at, &offset, &err) && at == good &&
	       offset == 7 + 4 * 23, "both planes are where they were");
	tap_ok(npu_run_read(run, "y", map, 32, &err) == 0, "what was computed of it still counts");
	fill(0, map + 7, 23);
	tap_ok(planes_are_right(queue, run, 0, 1), "with the stride they had");
	tap_ok(npu_run_bind_image(run, "cam", good, 0, 65, &err) == -EINVAL &&
	       planes_are_right(queue, run, 0, 1), "so they are when the stride is refused: %s",
	       err.text);
	tap_ok(!npu_run_bind_image(run, "cam", NULL, 0, 0, &err), "the bindings are taken back");
	npu_buffer_put(good);
	npu_buffer_put(small);
}

static void test_refused(struct npu_run *run)
{
	tap_ok(npu_run_set_stride(run, "cam", 7, &err) == -EINVAL &&
		       strstr(err.text, "'cam' can not have rows 7 bytes apart, want 8 .. 64"),
	       "%s", err.text);
	tap_ok(npu_run_set_stride(run, "cam.uv", 65, &err) == -EINVAL &&
	       strstr(err.text, "'cam.uv' can not have rows 65"), "%s", err.text);
	tap_ok(npu_run_set_stride(run, "rgb", 12, &err) == -EINVAL &&
	       strstr(err.text, "compiled for 16"), "%s", err.text);
	tap_ok(!npu_run_set_stride(run, "rgb", 16, &err), "the one it was compiled for is taken");
	tap_ok(npu_run_set_stride(run, "y", 8, &err) == -EINVAL && strstr(err.text, "not a plane"),
	       "%s", err.text);
	tap_ok(npu_run_set_stride(run, "z", 8, &err) == -ENOENT && strstr(err.text, "'z'"), "%s",
	       err.text);
}

/* A file whose first plane has the room that the stride of the second one makes. */
static void test_hostile(struct npu_device *dev)
{
	static const unsigned char frame[48];
	struct npu_run *run = NULL;
	struct npu_job *job;
	struct fixture f;

	frame_make(&f);
	f.regions[0].size.sym[0] = 1;
	job = fixture_load(dev, &f, "hostile.npu");
	if (tap_ok(!npu_run_create(job, &run, &err) &&
		   !npu_run_set_stride(run, "cam", 64, &err), "a plane in another's region: %s",
		   err.text))
		tap_ok(npu_run_write_image(run, "cam", frame, sizeof(frame), &err) == -EINVAL &&
		       strstr(err.text, "'cam' has no valid shape and place"), "%s", err.text);
	tap_ok(!npu_run_set_stride(run, "cam.uv", 64, &err) &&
	       !npu_run_write_image(run, "cam", frame, sizeof(frame), &err),
	       "it is written where there is room");
	npu_run_destroy(run);
	npu_job_unload(job);
	fixture_free(&f);
}

int main(void)
{
	struct npu_device *dev;
	struct npu_queue *queue;
	struct npu_job *job;
	struct npu_run *run;
	struct fixture f;

	if (!tap_ok(!npu_device_open("sim", NULL, &dev, &err) &&
		    !npu_queue_create(dev, NULL, &queue, &err), "open"))
		return tap_done();
	frame_make(&f);
	job = fixture_load(dev, &f, "frame.npu");
	test_info(job);
	if (tap_ok(!npu_run_create(job, &run, &err), "a run")) {
		test_write(queue, run);
		test_bind(dev, queue, run);
		test_all_or_nothing(dev, queue, run);
		test_refused(run);
		npu_run_destroy(run);
	}
	npu_job_unload(job);
	fixture_free(&f);
	test_hostile(dev);
	npu_queue_destroy(queue);
	npu_device_close(dev);
	return tap_done();
}
