// SPDX-License-Identifier: MIT
/*
 * The ONNX importer: what it accepts, and that everything it refuses is refused with a reason that
 * names the place.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/tmp.h"
#include "import_util.h"
#include "tap.h"

static void start(struct ob *b, int opset)
{
	ob_init(b, opset);
	ob_input(b, "x", 1, 4, OB_DIMS(1, 3, 8, 8));
}

/* Import one node whose result is the output; the words must be in the reason. */
static void refused(const char *what, int opset, const char *line, const char *a, const char *w)
{
	struct npu_diag diag = { 0 };
	struct npu_graph *g;
	struct ob b;

	start(&b, opset);
	ob_node(&b, line);
	ob_output(&b, "y");
	g = import_built(&b, NULL, &diag);
	if (!tap_ok(!g && diag_says(&diag, a, w, NULL), "refused: %s", what))
		tap_diag("%s", npu_diag_text(&diag));
	npu_graph_free(g);
	npu_diag_fini(&diag);
}

static void test_good(void)
{
	struct npu_diag diag = { 0 };
	const struct npu_gnode *n;
	struct npu_graph *g;
	struct ob b;
	size_t count;

	start(&b, 11);
	free(ob_random(&b, "w", 4, OB_DIMS(4, 3, 3, 3)));
	ob_node(&b, "r: y = Relu(c)");	/* out of order on purpose */
	ob_node(&b,
		"k: c = Conv(x, w, ) kernel_shape=[3,3] pads=[1,2,3,4] group=1 auto_pad='NOTSET'");
	ob_output(&b, "y");
	g = import_built(&b, NULL, &diag);
	if (!tap_ok(g != NULL && !diag.errors, "a good model imports"))
		tap_diag("%s", npu_diag_text(&diag));
	if (!g)
		return;
	n = g->nodes[0];
	tap_ok(g->num_nodes == 2 && n->op == NPU_GOP_Conv && g->nodes[1]->op == NPU_GOP_Relu,
	       "nodes are put into execution order");
	tap_ok(!strcmp(n->name, "k") && n->num_sources == 1 && !strcmp(n->sources[0], "k"),
	       "the node keeps its name");
	tap_ok(n->num_inputs == 3 && !n->inputs[2], "an empty name is an absent input");
	tap_ok(npu_gnode_ints(n, "pads", &count) && count == 4 &&
		       npu_gnode_ints(n, "pads", &count)[3] == 4 &&
		       npu_gnode_int(n, "group", 0) == 1 &&
		       !strcmp(npu_gnode_string(n, "auto_pad", ""), "NOTSET"),
	       "attributes arrive with type and value");
	tap_ok(npu_gtensor_is_const(n->inputs[1]) && n->inputs[1]->rank == 4 &&
		       n->inputs[1]->dim[0].base == 4 && n->inputs[1]->type == NPU_GT_F32,
	       "constants have data, type and shape");
	npu_graph_free(g);
	npu_diag_fini(&diag);
}

static void test_refusals(void)
{
	refused("unknown operator", 13, "n7: y = Frobnicate(x)", "n7", "Frobnicate");
	refused("unknown domain", 13, "n7: y = my.domain.Relu(x)", "n7", "my.domain");
	refused("an internal operator", 13, "n7: y = npu.Activation(x)", "n7", "Activation");
	refused("unknown attribute", 13, "n7: y = Relu(x) speed=3", "speed", "unknown attribute");
	refused("attribute of another type", 13, "n7: y = LeakyRelu(x) alpha=3", "alpha",
		"expected a float");
	refused("attribute given twice", 13, "n7: y = LeakyRelu(x) alpha=.5 alpha=.5", "alpha",
		"twice");
	refused("too many inputs", 13, "n7: y = Relu(x, x)", "n7", "2 inputs");
	refused("too few inputs", 13, "n7: y = Add(x)", "n7", "1 inputs");
	refused("too many outputs", 13, "n7: y, z = Relu(x)", "n7", "2 outputs");
	refused("required input absent", 13, "n7: y = Add(x, )", "n7", "input 1 is required");
	refused("input from nowhere", 13, "n7: y = Add(x, ghost)", "n7", "ghost");
	refused("a node that reads its own result", 13, "n7: y = Add(x, y)", "n7", "cycle");
	refused("output that shadows an input", 13, "n7: x = Relu(x)", "n7", "already produced");
	refused("output that nobody makes", 13, "n7: z = Relu(x)", "graph.output", "'y'");
	refused("operator newer than the model's set", 11, "n7: y = HardSwish(x)",
		"since operator set 14", "imports 11");
	refused("no operator set", 0, "n7: y = Relu(x)", "n7", "imports no operator set");
	refused("operator set too new", 999, "n7: y = Relu(x)", "operator set 999", "1 to");
}

static void test_all_reported(void)
{
	struct npu_diag diag = { 0 };
	struct npu_graph *g;
	struct ob b;

	start(&b, 13);
	ob_node(&b, "first: a = Foo(x)");
	ob_node(&b, "second: c = Relu(x) slope=1.0");
	ob_node(&b, "third: d = Bar(c)");
	ob_node(&b, "y = Add(a, d)");
	ob_output(&b, "y");
	g = import_built(&b, "model.onnx", &diag);
	tap_ok(!g && diag.errors == 3 &&
		       diag_says(&diag, "first", "Foo", "second", "slope", "third", "Bar",
				 "model.onnx: ", NULL),
	       "all refused nodes are reported in one go, with the file's name");
	npu_diag_fini(&diag);
}

static void test_cycle(void)
{
	struct npu_diag diag = { 0 };
	struct npu_graph *g;
	struct ob b;

	start(&b, 13);
	ob_node(&b, "p: a = Add(x, c)");
	ob_node(&b, "q: y = Relu(a)");
	ob_node(&b, "r: c = Relu(y)");
	ob_output(&b, "y");
	g = import_built(&b, NULL, &diag);
	tap_ok(!g && diag_says(&diag, "cycle", NULL), "a cycle of three nodes is found");
	npu_diag_fini(&diag);
}

/* A chain much longer than any stack frame would like. */
static void test_long_chain(void)
{
	struct npu_diag diag = { 0 };
	struct npu_graph *g;
	char line[64];
	struct ob b;
	int i;

	start(&b, 13);
	for (i = 50000; i > 0; i--) {
		snprintf(line, sizeof(line), "t%d = Relu(t%d)", i, i - 1);
		ob_node(&b, line);
	}
	ob_node(&b, "t0 = Relu(x)");
	ob_output(&b, "t50000");
	g = import_built(&b, NULL, &diag);
	tap_ok(g && g->num_nodes == 50001 && !npu_graph_optimize(g, NULL, &diag),
	       "50001 nodes in reverse order import and optimize");
	npu_graph_free(g);
	npu_diag_fini(&diag);
}

static struct npu_graph *import_bytes(const void *data, size_t size, struct npu_diag *diag)
{
	return npu_onnx_import(data, size, NULL, diag);
}

static void test_damaged(void)
{
	static const uint8_t junk[] = { 0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f, 1 };
	struct ob_buf nest = { 0 }, next;
	struct npu_diag diag = { 0 };
	struct npu_graph *g;
	unsigned int i, wrong = 0;
	uint8_t *data, *copy;
	size_t size, k;
	struct ob b;

	g = import_bytes("", 0, &diag);
	tap_ok(!g && diag_says(&diag, "no graph", NULL), "an empty file is no model");
	npu_diag_fini(&diag);
	g = import_bytes("just some text that is no model", 31, &diag);
	tap_ok(!g && diag_says(&diag, "not a valid ONNX file", NULL), "a text file is no model");
	npu_diag_fini(&diag);
	g = import_bytes(junk, sizeof(junk), &diag);
	tap_ok(!g && diag_says(&diag, "file ends inside the field", "byte 0", NULL),
	       "a length beyond the end is found");
	npu_diag_fini(&diag);

	/* graph { node { attribute { g { node { attribute { g ... } } } } } }, 3000 levels */
	for (i = 0; i < 1000; i++) {
		next = (struct ob_buf){ 0 };
		ob_sub(&next, 6, &nest);	/* AttributeProto.g */
		nest = next;
		next = (struct ob_buf){ 0 };
		ob_sub(&next, 5, &nest);	/* NodeProto.attribute */
		nest = next;
		next = (struct ob_buf){ 0 };
		ob_sub(&next, 1, &nest);	/* GraphProto.node */
		nest = next;
	}
	next = (struct ob_buf){ 0 };
	ob_sub(&next, 7, &nest);
	g = import_bytes(next.data, next.size, &diag);
	tap_ok(!g && diag_says(&diag, "nested too deeply", NULL),
	       "3000 levels of graphs in attributes are refused");
	npu_diag_fini(&diag);
	free(next.data);

	start(&b, 13);
	free(ob_random(&b, "w", 4, OB_DIMS(2, 3, 3, 3)));
	ob_node(&b, "y = Conv(x, w) pads=[1,1,1,1]");
	ob_output(&b, "y");
	data = ob_finish(&b, &size);
	copy = malloc(size);
	for (k = 0; copy && k < size; k++) {
		/* exact allocation, so that a sanitizer sees a read past the end */
		uint8_t *cut = malloc(k ? k : 1);

		if (cut)
			memcpy(cut, data, k);
		g = cut ? import_bytes(cut, k, &diag) : NULL;
		wrong += !g != (diag.errors > 0);
		npu_graph_free(g);
		npu_diag_fini(&diag);
		free(cut);
	}
	tap_ok(!wrong, "each of %zu truncations gives a graph or a reason", size);
	for (wrong = 0, k = 0; copy && k < 8 * size; k++) {
		memcpy(copy, data, size);
		copy[k / 8] ^= (uint8_t)(1u << (k % 8));
		g = import_bytes(copy, size, &diag);
		wrong += !g != (diag.errors > 0);
		if (g) {
			npu_graph_optimize(g, NULL, &diag);
			npu_graph_free(g);
		}
		npu_diag_fini(&diag);
	}
	tap_ok(!wrong, "each of %zu single bit errors gives a graph or a reason", 8 * size);
	free(copy);
	free(data);
}

static void constant(const char *what, int type, int rank, const int64_t *dims, size_t bytes,
		     const char *reason)
{
	static const uint8_t zeros[64];
	struct npu_diag diag = { 0 };
	struct npu_graph *g;
	struct ob b;

	start(&b, 13);
	ob_const(&b, "bad", type, rank, dims, zeros, bytes);
	ob_node(&b, "y = Relu(x)");
	ob_output(&b, "y");
	g = import_built(&b, NULL, &diag);
	if (!tap_ok(!g && diag_says(&diag, "bad", reason, NULL), "refused constant: %s", what))
		tap_diag("%s", npu_diag_text(&diag));
	npu_graph_free(g);
	npu_diag_fini(&diag);
}

static void test_constants(void)
{
	constant("data shorter than its shape", 1, 1, OB_DIMS(4), 12, "raw_data holds 12 bytes");
	constant("data longer than its shape", 1, 1, OB_DIMS(4), 20, "raw_data holds 20 bytes");
	constant("negative dimension", 1, 1, OB_DIMS(-4), 0, "dims[0] = -4");
	constant("element count overflows", 1, 2, OB_DIMS(1ll << 62, 1ll << 62), 0, "dims[1]");
	constant("byte count overflows", 11, 1, OB_DIMS(1ll << 61), 0, "too large");
	constant("element type of 4 bits", 22, 1, OB_DIMS(4), 2, "int4");
	constant("no such element type", 99, 1, OB_DIMS(4), 2, "99");
	constant("rank 9", 1, 9, OB_DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1), 4, "rank 9");
}

/*
 * Values in the typed lists instead of raw bytes: float_data 4, int32_data 5 (also for i8),
 * int64_data 7, packed.
 */
static void test_typed(void)
{
	static const uint8_t f32[] = { 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0 },
			     i8[] = { 5, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 },
			     i64[] = { 7, 9 };
	struct { int type, field; const uint8_t *data; size_t size; double want[2]; } c[] = {
		{ 1, 4, f32, sizeof(f32), { 1, -2 } },
		{ 3, 5, i8, sizeof(i8), { 5, -2 } },
		{ 7, 7, i64, sizeof(i64), { 7, 9 } },
	};
	struct npu_diag diag = { 0 };
	unsigned int i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct ob_buf t = { 0 };
		const struct npu_gtensor *k;
		struct npu_graph *g;
		struct ob b;

		start(&b, 13);
		ob_int(&t, 1, 2);
		ob_int(&t, 2, c[i].type);
		ob_bytes(&t, (unsigned int)c[i].field, c[i].data, c[i].size);
		ob_string(&t, 8, "k");
		ob_sub(&b.graph, 5, &t);
		ob_node(&b, "y = Relu(x)");
		ob_output(&b, "y");
		g = import_built(&b, NULL, &diag);
		k = g ? npu_graph_find_tensor(g, "k") : NULL;
		tap_ok(k && k->data && npu_gtensor_elem(k, 0) == c[i].want[0] &&
			       npu_gtensor_elem(k, 1) == c[i].want[1],
		       "typed data of type %d", c[i].type);
		npu_graph_free(g);
		npu_diag_fini(&diag);
	}
}

/* Constant w of 4 floats in a file beside the model. */
static struct npu_graph *import_external(const char *model, const char *location,
					 const char *offset, struct npu_diag *diag)
{
	const char *keys[2] = { "location", "offset" }, *values[2] = { location, offset };
	struct ob_buf t = { 0 };
	struct ob b;
	int i;

	start(&b, 13);
	ob_int(&t, 1, 4);
	ob_int(&t, 2, 1);
	ob_string(&t, 8, "w");
	for (i = 0; i < 2; i++) {
		struct ob_buf e = { 0 };

		ob_string(&e, 1, keys[i]);
		ob_string(&e, 2, values[i]);
		ob_sub(&t, 13, &e);
	}
	ob_int(&t, 14, 1);
	ob_sub(&b.graph, 5, &t);
	ob_node(&b, "y = Relu(x)");
	ob_output(&b, "y");
	return import_built(&b, model, diag);
}

static void external_refused(const char *model, const char *location, const char *offset,
			     const char *reason)
{
	struct npu_diag diag = { 0 };
	struct npu_graph *g = import_external(model, location, offset, &diag);

	if (!tap_ok(!g && diag_says(&diag, reason, NULL), "external data '%s' at %s: %s", location,
		    offset, reason))
		tap_diag("%s", npu_diag_text(&diag));
	npu_graph_free(g);
	npu_diag_fini(&diag);
}

static void test_external(void)
{
	static const float v[5] = { 1, 2, 3, 4, 5 };
	const char *model = tmp_path("m/model.onnx");
	const struct npu_gtensor *w;
	struct npu_diag diag = { 0 };
	struct npu_graph *g;
	FILE *f;

	mkdir(tmp_path("m"), 0700);
	f = fopen(tmp_path("m/w.bin"), "wb");
	if (f) {
		fwrite(v, 1, sizeof(v), f);
		fclose(f);
	}
	f = fopen(tmp_path("secret"), "wb");
	if (f) {
		fwrite(v, 1, sizeof(v), f);
		fclose(f);
	}
	if (symlink("../secret", tmp_path("m/link")))
		tap_diag("no symbolic links here");
	mkfifo(tmp_path("m/fifo"), 0600);

	g = import_external(model, "w.bin", "4", &diag);
	w = g ? npu_graph_find_tensor(g, "w") : NULL;
	tap_ok(w && npu_gtensor_elem(w, 0) == 2 && npu_gtensor_elem(w, 3) == 5,
	       "external data is read at its offset");
	npu_graph_free(g);
	npu_diag_fini(&diag);
	external_refused(model, "../secret", "0", "inside the model's folder");
	external_refused(model, "/etc/passwd", "0", "inside the model's folder");
	external_refused(model, "./w.bin", "0", "inside the model's folder");
	external_refused(model, "link", "0", "symbolic links");
	external_refused(model, "fifo", "0", "not a regular file");
	external_refused(model, "missing", "0", "No such file");
	external_refused(model, "w.bin", "8", "needs 16 from offset 8");
	external_refused(model, "w.bin", "18446744073709551615", "needs 16 from offset");
	external_refused(model, "w.bin", "-4", "expected a location");
	external_refused(NULL, "w.bin", "0", "not read from a file");
}

static void test_bind(void)
{
	struct npu_diag diag = { 0 };
	struct npu_graph *g;
	struct npu_dim d[4];
	struct ob b;
	int i, sym;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 3, -1, -1));
	ob_node(&b, "y = Relu(x)");
	ob_output(&b, "y");
	g = import_built(&b, NULL, &diag);
	if (!g)
		return;
	tap_ok(npu_graph_optimize(g, NULL, &diag) && diag.errors == 2 &&
		       diag_says(&diag, "x: dimension 2", "x: dimension 3", NULL),
	       "unbound dimensions are named");
	npu_diag_fini(&diag);
	for (i = 0; i < 4; i++)
		d[i] = npu_dim_const(3);
	tap_ok(npu_graph_bind_shape(g, "z", d, 4, &diag) &&
		       diag_says(&diag, "no input of this name", NULL),
	       "a shape for an unknown input is refused");
	npu_diag_fini(&diag);
	tap_ok(npu_graph_bind_shape(g, "x", d, 4, &diag) &&
		       diag_says(&diag, "the model fixes it to 1", NULL),
	       "a shape against the model's is refused");
	npu_diag_fini(&diag);
	tap_ok(npu_graph_bind_shape(g, "x", d, 3, &diag) && diag_says(&diag, "rank", NULL),
	       "a wrong rank is refused");
	npu_diag_fini(&diag);
	tap_ok(npu_graph_symbol_add(g, "W", 5, 16, 8, &diag) < 0 &&
		       npu_graph_symbol_add(g, "W", 16, 8, 8, &diag) < 0 &&
		       npu_graph_symbol_add(g, "W", 0, 8, 8, &diag) < 0,
	       "bad bounds of a symbol are refused");
	npu_diag_fini(&diag);
	sym = npu_graph_symbol_add(g, "W", 8, 64, 8, &diag);
	d[0] = npu_dim_const(1);
	d[3] = npu_graph_symbol_dim(g, sym);
	tap_ok(sym == 0 && !npu_graph_bind_shape(g, "x", d, 4, &diag) &&
		       !npu_graph_optimize(g, NULL, &diag) &&
		       npu_dim_equal(g->outputs[0]->dim[3], d[3]),
	       "a symbol reaches the output");
	npu_graph_free(g);
	npu_diag_fini(&diag);
}

int main(void)
{
	test_good();
	test_refusals();
	test_all_reported();
	test_cycle();
	test_long_chain();
	test_damaged();
	test_constants();
	test_typed();
	test_external();
	test_bind();
	return tap_done();
}
