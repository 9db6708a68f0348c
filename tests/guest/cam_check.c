// SPDX-License-Identifier: MIT
/*
 * What a model sees of a camera's frames, against a conversion of the same frames that is written
 * from the formulas.
 *
 *	cam_check model WxH OUT.onnx: a model whose output y is its input [1, 3, H, W], negated
 *	cam_check frames FORMAT WxH STRIDE DIR COUNT: frames and outputs that npu-cam --dump left
 *
 * Prints which frame is wrong where; exit status 1 then, 2 when something is missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/onnx_lines.h"
#include "tools/common/frame_ref.h"

static void *read_file(const char *dir, unsigned int frame, const char *name, size_t *size)
{
	char path[512];
	char *data = NULL;
	long n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u-%s", dir, frame, name);
	f = fopen(path, "rb");
	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	data = malloc(n + 1);
	*size = data ? fread(data, 1, n, f) : 0;
	fclose(f);
	return data;
}

/*
 * The planes without gaps: plane @k is in memory of its own when there is a file for it, else
 * behind the one before it, with the same stride.
 */
static uint8_t *dense_frame(const struct frame_spec *s, const char *dir, unsigned int frame,
			    size_t stride)
{
	uint8_t *out = malloc(frame_bytes(s)), *to = out, *file = NULL, *more;
	size_t size = 0, at = 0, row, rows, r, more_size;
	char name[16];
	int k;

	for (k = 0; k < frame_planes(s); k++) {
		snprintf(name, sizeof(name), "plane%d", k);
		more = read_file(dir, frame, name, &more_size);
		if (more) {
			free(file);
			file = more;
			size = more_size;
			at = 0;
		}
		frame_plane(s, k, &row, &rows);
		for (r = 0; r < rows; r++, at += stride, to += row) {
			if (!file || at + row > size) {
				fprintf(stderr, "frame %u: plane %d has too few bytes: %zu\n", frame, k, size);
				exit(2);
			}
			memcpy(to, file + at, row);
		}
	}
	free(file);
	return out;
}

static int check_frame(const struct frame_spec *s, const char *dir, unsigned int frame,
		       size_t stride)
{
	size_t pixels = (size_t)s->width * s->height, size = 0, i, c, wrong = 0;
	uint8_t *dense = dense_frame(s, dir, frame, stride);
	float *want = malloc(pixels * 3 * sizeof(*want)), *got = read_file(dir, frame, "y", &size);

	if (!got || size != pixels * 3 * sizeof(*got)) {
		fprintf(stderr, "frame %u: an output of %zu bytes\n", frame, size);
		exit(2);
	}
	frame_picture(s, dense, s->height, s->width, false, want);
	for (i = 0; i < pixels; i++) {
		for (c = 0; c < 3; c++) {
			float is = -got[c * pixels + i], should = want[i * 3 + c];

			if (!memcmp(&is, &should, sizeof(is)))
				continue;
			if (!wrong++)
				printf("frame %u, pixel %zu %zu, channel %zu: %g, not %g\n", frame,
				       i % s->width, i / s->width, c, is, should);
		}
	}
	free(dense);
	free(want);
	free(got);
	return wrong != 0;
}

/* A picture of one colour would be right however its pixels lie. */
static int is_flat(const struct frame_spec *s, const char *dir, size_t stride)
{
	uint8_t *dense = dense_frame(s, dir, 0, stride);
	size_t n = frame_bytes(s);
	int flat = !memcmp(dense, dense + 1, n - 1);

	free(dense);
	return flat;
}

static int write_model(int width, int height, const char *path)
{
	struct ob b;
	size_t size;
	uint8_t *data;
	FILE *f;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 3, height, width));
	ob_node(&b, "n: y = Neg(x)");
	ob_output(&b, "y");
	data = ob_finish(&b, &size);
	f = fopen(path, "wb");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f)) {
		perror(path);
		return 2;
	}
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	struct frame_spec spec;
	unsigned int i, count;
	int width, height, bad = 0;
	size_t stride;

	if (argc == 4 && !strcmp(argv[1], "model") && sscanf(argv[2], "%dx%d", &width, &height) == 2)
		return write_model(width, height, argv[3]);
	if (argc != 7 || strcmp(argv[1], "frames") || sscanf(argv[3], "%dx%d", &width, &height) != 2) {
		fprintf(stderr, "usage: cam_check model WxH OUT.onnx, or cam_check frames FORMAT WxH STRIDE DIR COUNT\n");
		return 2;
	}
	frame_default(&spec, argv[2], width, height);
	stride = strtoul(argv[4], NULL, 10);
	count = strtoul(argv[6], NULL, 10);
	for (i = 0; i < count; i++)
		bad |= check_frame(&spec, argv[5], i, stride);
	if (is_flat(&spec, argv[5], stride)) {
		printf("the picture is of one colour\n");
		bad = 1;
	}
	return bad;
}
