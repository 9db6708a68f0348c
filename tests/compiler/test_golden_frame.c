// SPDX-License-Identifier: MIT
/*
 * Where the data of tests/data/golden-1.3-frame come from: the frame is frame_noise() with seed 42,
 * the output the negated picture that frame_picture() makes of it by the formulas of
 * Documentation/camera.md. test_golden_frame --write FOLDER makes both anew; tests/libnpu/
 * test_golden.c runs the job, y = -x with the option of frame_spec.
 */
#include <stdio.h>
#include <string.h>

#include "frame_case.h"
#include "tap.h"
#include "tools/common/npy.h"

enum { SEED = 42, WIDTH = 24, HEIGHT = 18, BYTES = WIDTH * HEIGHT * 3 / 2, ROWS = 12, COLS = 20 };

static const struct frame_spec spec = {
	.format = "nv12", .width = WIDTH, .height = HEIGHT, .crop = { 3, 1, 20, 17 },
	.fit = "letterbox", .pad = { 114, 100, 90 }, .matrix = "bt709", .range = "limited",
	.bgr = true, .norm = true, .scale = 1.0 / 255, .mean = { 0.406, 0.456, 0.485 },
	.std = { 0.225, 0.224, 0.229 },
};

static uint8_t frame[BYTES];
static float out[3][ROWS][COLS];

static const struct array {
	const char *name;
	struct npu_npy npy;
} arrays[] = {
	{ "golden-1.3-frame.in.npy",
	  { .type = NPU_NPY_U8, .rank = 1, .dims = { BYTES }, .data = frame } },
	{ "golden-1.3-frame.out.npy",
	  { .type = NPU_NPY_F32, .rank = 4, .dims = { 1, 3, ROWS, COLS }, .data = out } },
};

static void make(void)
{
	static float picture[ROWS][COLS][3];

	frame_noise(frame, sizeof(frame), SEED);
	frame_picture(&spec, frame, ROWS, COLS, false, &picture[0][0][0]);
	for (int c = 0; c < 3; c++)
		for (int y = 0; y < ROWS; y++)
			for (int x = 0; x < COLS; x++)
				out[c][y][x] = -picture[y][x][c];
}

static int write_to(const char *folder)
{
	struct npu_error why;
	char path[4096];

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, arrays[i].name);
		if (npu_npy_write(path, &arrays[i].npy, &why)) {
			fprintf(stderr, "%s: %s\n", path, why.text);
			return 1;
		}
	}
	return 0;
}

static void compare(const struct array *a, size_t bytes)
{
	struct npu_error why = { .text = "" };
	struct npu_npy got = { 0 };
	char path[128];

	snprintf(path, sizeof(path), "tests/data/%s", a->name);
	npu_npy_read(path, &got, &why);
	tap_ok(got.data && got.type == a->npy.type && got.rank == a->npy.rank &&
	       !memcmp(got.dims, a->npy.dims, sizeof(got.dims[0]) * (size_t)got.rank) &&
	       !memcmp(got.data, a->npy.data, bytes),
	       "%s is what the formulas give %s", a->name, why.text);
	npu_npy_free(&got);
}

int main(int argc, char **argv)
{
	make();
	if (argc == 3 && !strcmp(argv[1], "--write"))
		return write_to(argv[2]);
	compare(&arrays[0], sizeof(frame));
	compare(&arrays[1], sizeof(out));
	return tap_done();
}
