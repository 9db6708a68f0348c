// SPDX-License-Identifier: MIT
/*
 * Small files that ask for much: operators that the compiler writes out with tables, over sizes for
 * which the tables would fill the memory. They have to go to the host, or be refused by name, at no
 * cost. And tuples of indices that do not fit the data.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/onnx_lines.h"
#include "npu_compiler.h"
#include "tap.h"

#define MAX_RANK	5
#define MAX_GROWTH	(512l << 10)	/* KiB of memory, with a sanitizer's own */

struct large {
	const char *what, *line;
	int64_t x[MAX_RANK + 1];	/* 0 ends */
	int64_t index[MAX_RANK + 1];	/* input i, as many int64 */
	int64_t weight[MAX_RANK + 1];	/* constant w */
};

static const struct large cases[] = {
	{ "a window of 32768 at 32768 places",
	  "bad: y = LpPool(x) kernel_shape=[32768] pads=[32767,32767]",
	  { 1, 1, 16 }, { 0 }, { 0 } },
	{ "a window of 16 million",
	  "bad: y = LpPool(x) kernel_shape=[16777216] pads=[16777215,16777215]",
	  { 1, 1, 16 }, { 0 }, { 0 } },
	{ "a window of 4096 x 4096",
	  "bad: y = LpPool(x) kernel_shape=[4096,4096] pads=[4095,4095,4095,4095]",
	  { 1, 64, 16, 16 }, { 0 }, { 0 } },
	{ "Indices over 32768 places",
	  "bad: m, y = MaxPool(x) kernel_shape=[32768] pads=[32767,32767]",
	  { 1, 1, 16 }, { 0 }, { 0 } },
	{ "Indices in a billion planes", "bad: m, y = MaxPool(x) kernel_shape=[1,1]",
	  { 32768, 32768, 1, 1 }, { 0 }, { 0 } },
	{ "a convolution over a depth of 8192 at a million places",
	  "bad: y = Conv(x, w) pads=[1048576,1,1,1048576,1,1]", { 1, 1, 16, 4, 4 }, { 0 },
	  { 1, 1, 8192, 3, 3 } },
	{ "a transposed convolution over a depth of 32768", "bad: y = ConvTranspose(x, w)",
	  { 1, 1, 4, 2, 2 }, { 0 }, { 1, 1, 32768, 2, 2 } },
	{ "a table of 128 million rows", "bad: y = GatherND(x, i)",
	  { 1 << 27, 2 }, { 3, 2 }, { 0 } },
	{ "a batch of 128 million", "bad: y = GatherND(x, i) batch_dims=1", { 1 << 27, 2 },
	  { 1 << 27, 1 }, { 0 } },
	{ "a crop to 1600 x 1600 x 1600",
	  "bad: y = Resize(x, roi, , sizes) coordinate_transformation_mode='tf_crop_and_resize'",
	  { 1, 1, 2, 2, 2 }, { 0 }, { 0 } },
};

static int rank_of(const int64_t *dims)
{
	int rank = 0;

	while (rank < MAX_RANK && dims[rank])
		rank++;
	return rank;
}

static long memory(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* Compile @c's model; *@result is freed by the caller. */
static int compile(const struct large *c, struct npu_compile_result **result)
{
	const float roi[10] = { -0.5f, -0.5f, -0.5f, -0.5f, -0.5f, 1.5f, 1.5f, 1.5f, 1.5f, 1.5f };
	uint8_t *model;
	struct ob b;
	size_t size;
	int err;

	ob_init(&b, 19);
	ob_input(&b, "x", 1, rank_of(c->x), c->x);
	if (*c->index)
		ob_input(&b, "i", 7, rank_of(c->index), c->index);
	if (*c->weight)
		free(ob_random(&b, "w", rank_of(c->weight), c->weight));
	ob_const(&b, "roi", 1, 1, OB_DIMS(10), roi, sizeof(roi));
	ob_ints(&b, "sizes", 5, OB_DIMS(1, 1, 1600, 1600, 1600));
	ob_node(&b, c->line);
	ob_output(&b, "y");
	model = ob_finish(&b, &size);
	err = npu_compile_onnx(model, size, NULL, NULL, result);
	free(model);
	return err;
}

static void test_large(const struct large *c)
{
	struct npu_compile_result *result = NULL;
	const struct npu_placement *place;
	long before = memory(), grown;
	const char *text;
	int err = compile(c, &result);

	grown = memory() - before;
	text = result ? npu_compile_messages(result) : "";
	place = err ? NULL : npu_compile_placement(result, 0);
	tap_ok(err ? err != -ENOMEM && strstr(text, "'bad'") :
		     place && place->place == NPU_PLACE_HOST,
	       "%s: %s (%d) %.*s", c->what, err ? "refused" : "on the host", err,
	       (int)strcspn(text, "\n"), text);
	tap_ok(grown < MAX_GROWTH, "%s: %ld MiB more memory", c->what, grown >> 10);
	npu_compile_result_free(result);
}

/* ---- tuples ---------------------------------------------------------------------------------- */

static void refused(const char *what, const char *line, const char *want, int updates_rank,
		    const int64_t *updates)
{
	static const int64_t tuple[] = { 0, 1, 2, 1, -2, 3, 0, 4 };
	struct npu_compile_result *result = NULL;
	const char *text;
	uint8_t *model;
	struct ob b;
	size_t size;
	int err;

	ob_init(&b, 18);
	ob_input(&b, "x", 1, 3, OB_DIMS(2, 4, 5));
	ob_input(&b, "i", 7, 3, OB_DIMS(3, 2, 1));
	ob_input(&b, "u", 1, updates_rank, updates);
	ob_const(&b, "k", 7, 2, OB_DIMS(4, 2), tuple, sizeof(tuple));
	ob_node(&b, line);
	ob_output(&b, "y");
	model = ob_finish(&b, &size);
	err = npu_compile_onnx(model, size, NULL, NULL, &result);
	text = result ? npu_compile_messages(result) : "";
	tap_ok(err == -EINVAL && strstr(text, "'bad'") && strstr(text, want), "%s (%d): %.*s", what,
	       err, (int)strcspn(text, "\n"), text);
	npu_compile_result_free(result);
	free(model);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		test_large(&cases[i]);
	refused("GatherND over batches of 2 and of 3", "bad: y = GatherND(x, i) batch_dims=1",
		"batch_dims", 1, OB_DIMS(1));
	refused("GatherND beyond the data", "bad: y = GatherND(x, k)",
		"element 2 is 2, expected -2 to 1", 1, OB_DIMS(1));
	refused("ScatterND beyond the data", "bad: y = ScatterND(x, k, u)",
		"element 2 is 2, expected -2 to 1", 2, OB_DIMS(4, 5));
	refused("updates of another rank", "bad: y = ScatterND(x, k, u)",
		"have rank 1, expected 2", 1, OB_DIMS(20));
	refused("as many updates in another shape", "bad: y = ScatterND(x, k, u)",
		"dimension 0 of updates", 2, OB_DIMS(5, 4));
	refused("rows of another length", "bad: y = ScatterND(x, k, u)",
		"dimension 1 of updates", 2, OB_DIMS(4, 4));
	return tap_done();
}
