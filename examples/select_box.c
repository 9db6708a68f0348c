// SPDX-License-Identifier: MIT
/*
 * Write the model that picks the surest box of BlazeFace, for the NPU to run between a detector and
 * what looks at the face:
 *	cc select_box.c -lm -o select_box
 *	./select_box 128 1280x720 1.2 select.onnx
 *	npu-compile select.onnx --precision f32 --fail-on-host
 * Inputs are the detector's four outputs, by their names. Output "score", 0 to 1, is that of the
 * box; "box", [1, 4], is y0, x0, y1, x1 in pixels of the frame: a square, the given factor as wide
 * as the face, as far as it lies in the frame, of 8 pixels at least. Frames are WIDTHxHEIGHT and
 * were fitted to the detector's input, of 128 or 256 pixels each way, by fit=letterbox.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST	8		/* pixels */
#define ANCHORS	896
#define ROW	16		/* numbers of a box: x, y, width, height, and six points */

/* ---- protobuf -------------------------------------------------------------------------------- */

struct msg {
	uint8_t *data;
	size_t size;
};

static void put(struct msg *m, const void *data, size_t size)
{
	m->data = realloc(m->data, m->size + size);
	if (!m->data && m->size + size)
		abort();
	if (size)
		memcpy(m->data + m->size, data, size);
	m->size += size;
}

static void put_varint(struct msg *m, uint64_t v)
{
	uint8_t b;

	do {
		b = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		put(m, &b, 1);
		v >>= 7;
	} while (v);
}

static void put_int(struct msg *m, unsigned int field, int64_t v)
{
	put_varint(m, field << 3);
	put_varint(m, (uint64_t)v);
}

static void put_bytes(struct msg *m, unsigned int field, const void *data, size_t size)
{
	put_varint(m, field << 3 | 2);
	put_varint(m, size);
	put(m, data, size);
}

static void put_text(struct msg *m, unsigned int field, const char *s)
{
	put_bytes(m, field, s, strlen(s));
}

/* @part, which is empty then, as a field of @m. */
static void put_msg(struct msg *m, unsigned int field, struct msg *part)
{
	put_bytes(m, field, part->data, part->size);
	free(part->data);
	*part = (struct msg){ 0 };
}

/* ---- ONNX ------------------------------------------------------------------------------------ */

enum { F32 = 1, I64 = 7 };	/* TensorProto.DataType */
enum { INT = 2, INTS = 7 };	/* AttributeProto.AttributeType */

static void add_const(struct msg *graph, const char *name, int type, int64_t rows, int64_t cols,
		      const void *data)
{
	struct msg t = { 0 };
	size_t count = (size_t)((rows ? rows : 1) * cols);

	if (rows)
		put_int(&t, 1, rows);
	put_int(&t, 1, cols);
	put_int(&t, 2, type);
	put_text(&t, 8, name);
	put_bytes(&t, 9, data, count * (type == F32 ? sizeof(float) : sizeof(int64_t)));
	put_msg(graph, 5, &t);
}

/* @field: 11 input, 12 output; the shape is [1, @rows, @cols], or [1, @cols] with 0 rows. */
static void add_value(struct msg *graph, unsigned int field, const char *name, int64_t rows,
		      int64_t cols)
{
	const int64_t dims[3] = { 1, rows, cols };
	struct msg dim = { 0 }, shape = { 0 }, tensor = { 0 }, type = { 0 }, value = { 0 };

	for (int i = 0; i < 3; i++) {
		if (!dims[i])
			continue;
		put_int(&dim, 1, dims[i]);
		put_msg(&shape, 1, &dim);
	}
	put_int(&tensor, 1, F32);
	put_msg(&tensor, 2, &shape);
	put_msg(&type, 1, &tensor);
	put_text(&value, 1, name);
	put_msg(&value, 2, &type);
	put_msg(graph, field, &value);
}

static void add_attr(struct msg *node, const char *name, int type, int64_t v)
{
	struct msg a = { 0 };

	put_text(&a, 1, name);
	put_int(&a, type == INTS ? 8 : 3, v);
	put_int(&a, 20, type);
	put_msg(node, 5, &a);
}

/* @in and @out are names separated by blanks; @axis below 0: the operator has none. */
static void add_node(struct msg *graph, const char *op, const char *in, const char *out, int axis)
{
	const char *list[2] = { in, out };
	struct msg n = { 0 };

	for (unsigned int k = 0; k < 2; k++)
		for (const char *s = list[k]; *s; s += strspn(s, " ")) {
			size_t len = strcspn(s, " ");

			put_bytes(&n, k + 1, s, len);
			s += len;
		}
	put_text(&n, 3, out);
	put_text(&n, 4, op);
	if (!strcmp(op, "ReduceMax"))
		add_attr(&n, "axes", INTS, axis);
	else if (axis >= 0)
		add_attr(&n, "axis", INT, axis);
	if (!strcmp(op, "ArgMax"))
		add_attr(&n, "keepdims", INT, 0);
	put_msg(graph, 1, &n);
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Where the frame lies in the detector's input, and pixels of the frame in one of the input. */
struct fit {
	double x, y, sx, sy;
};

static struct fit letterbox(int size, int width, int height)
{
	double ratio = fmin((double)size / width, (double)size / height);
	double w = fmax(1, fmin(size, round(width * ratio)));
	double h = fmax(1, fmin(size, round(height * ratio)));

	return (struct fit){ floor((size - w) / 2), floor((size - h) / 2), width / w, height / h };
}

/*
 * Centres y, x of anchors in pixels of the frame: 2 in each of 16 x 16 cells, 6 in each of 8 x 8.
 */
static void add_anchors(struct msg *graph, int size, const struct fit *f)
{
	static const int grid[2] = { 16, 8 }, in_cell[2] = { 2, 6 };
	float a[ANCHORS][4] = { { 0 } };
	int n = 0;

	for (int k = 0; k < 2; k++)
		for (int i = 0; i < grid[k] * grid[k] * in_cell[k]; i++, n++) {
			int cell = i / in_cell[k], row = cell / grid[k];
			double y = (row + 0.5) / grid[k] * size;
			double x = (cell % grid[k] + 0.5) / grid[k] * size;

			a[n][0] = (float)((y - f->y) * f->sy);
			a[n][1] = (float)((x - f->x) * f->sx);
		}
	add_const(graph, "anchors", F32, ANCHORS, 4, a);
}

static void add_constants(struct msg *graph, int size, int width, int height, double factor)
{
	const struct fit f = letterbox(size, width, height);
	const float end[2] = { (float)height, (float)width };
	const float last[2] = { (float)(height - LEAST), (float)(width - LEAST) };
	const float half = (float)(factor / 2), zero = 0, least = LEAST;
	const int64_t row[2] = { 1, ROW }, four[2] = { 1, 4 }, two[2] = { 2, 2 };
	/* x, y, width, height of a row to y, x, height, width of the frame */
	float to_frame[ROW][4] = { { 0 } };

	to_frame[1][0] = to_frame[3][2] = (float)f.sy;
	to_frame[0][1] = to_frame[2][3] = (float)f.sx;
	add_anchors(graph, size, &f);
	add_const(graph, "to_frame", F32, ROW, 4, to_frame);
	add_const(graph, "half", F32, 0, 1, &half);
	add_const(graph, "zero", F32, 0, 1, &zero);
	add_const(graph, "least", F32, 0, 1, &least);
	add_const(graph, "end", F32, 1, 2, end);
	add_const(graph, "last", F32, 1, 2, last);
	add_const(graph, "row_shape", I64, 0, 2, row);
	add_const(graph, "four", I64, 0, 2, four);
	add_const(graph, "two", I64, 0, 2, two);
}

static void add_nodes(struct msg *graph)
{
	static const struct {
		const char *op, *in, *out;
		int axis;
	} nodes[] = {
		/* the surest of all, and its row */
		{ "Concat", "Identity:0 Identity_1:0", "scores", 1 },
		{ "Concat", "Identity_2:0 Identity_3:0", "rows", 1 },
		{ "ArgMax", "scores", "best", 1 },
		{ "ReduceMax", "scores", "top", 1 },
		{ "Sigmoid", "top", "score", -1 },
		{ "Gather", "rows best", "its_row", 1 },
		{ "Reshape", "its_row row_shape", "row", -1 },
		{ "Gather", "anchors best", "its_anchor", 0 },
		{ "Reshape", "its_anchor four", "anchor", -1 },
		/* in the frame */
		{ "MatMul", "row to_frame", "from_anchor", -1 },
		{ "Add", "from_anchor anchor", "face", -1 },
		{ "Split", "face two", "centre size", 1 },
		/* a square around it */
		{ "ReduceMax", "size", "side", 1 },
		{ "Mul", "side half", "reach", -1 },
		{ "Sub", "centre reach", "begin", -1 },
		{ "Add", "centre reach", "finish", -1 },
		/* as far as there are pixels */
		{ "Max", "begin zero", "begin_in", -1 },
		{ "Min", "begin_in last", "box_begin", -1 },
		{ "Add", "box_begin least", "finish_least", -1 },
		{ "Min", "finish end", "finish_in", -1 },
		{ "Max", "finish_in finish_least", "box_end", -1 },
		{ "Concat", "box_begin box_end", "box", 1 },
	};

	for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++)
		add_node(graph, nodes[i].op, nodes[i].in, nodes[i].out, nodes[i].axis);
}

static struct msg make_model(int size, int width, int height, double factor)
{
	struct msg graph = { 0 }, opset = { 0 }, model = { 0 };

	add_nodes(&graph);
	put_text(&graph, 2, "select_box");
	add_constants(&graph, size, width, height, factor);
	add_value(&graph, 11, "Identity:0", 512, 1);
	add_value(&graph, 11, "Identity_1:0", 384, 1);
	add_value(&graph, 11, "Identity_2:0", 512, ROW);
	add_value(&graph, 11, "Identity_3:0", 384, ROW);
	add_value(&graph, 12, "score", 1, 1);
	add_value(&graph, 12, "box", 0, 4);
	put_int(&model, 1, 8);
	put_text(&model, 2, "select_box");
	put_msg(&model, 7, &graph);
	put_text(&opset, 1, "");
	put_int(&opset, 2, 13);
	put_msg(&model, 8, &opset);
	return model;
}

int main(int argc, char **argv)
{
	int size = argc == 5 ? atoi(argv[1]) : 0, width = 0, height = 0;
	double factor = argc == 5 ? atof(argv[3]) : 0;
	struct msg model;
	bool good;
	FILE *f;

	if ((size != 128 && size != 256) || sscanf(argv[2], "%dx%d", &width, &height) != 2 ||
	    width < LEAST || height < LEAST || !(factor > 0 && factor < 10)) {
		fprintf(stderr, "usage: select_box 128|256 WIDTHxHEIGHT FACTOR OUT.onnx\n");
		return 1;
	}
	model = make_model(size, width, height, factor);
	f = fopen(argv[4], "wb");
	good = f && fwrite(model.data, 1, model.size, f) == model.size;
	if ((f && fclose(f)) || !good)
		perror(argv[4]);
	free(model.data);
	return !good;
}
