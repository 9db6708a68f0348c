// SPDX-License-Identifier: MIT
/*
 * All nodes that the NPU can not do are named in one go, at whatever stage each of them is found.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/onnx_lines.h"
#include "npu_compiler.h"
#include "tap.h"

/*
 * Compile a model of these nodes and look for every name of @want (separated by spaces) in what it
 * says.
 */
static void expect(const char *what, const char *const *lines, bool fail_on_host, const char *want,
		   const char *not_named)
{
	struct npu_compile_options o;
	struct npu_compile_result *result = NULL;
	char name[32], quoted[40];
	const char *text;
	struct ob b;
	size_t size;
	void *model;
	int err, all = 1;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 4, 8, 8));
	for (; *lines; lines++)
		ob_node(&b, *lines);
	ob_output(&b, "y");
	model = ob_finish(&b, &size);
	npu_compile_options_init(&o);
	o.fail_on_host = fail_on_host;
	err = npu_compile_onnx(model, size, NULL, &o, &result);
	tap_ok(err == -EOPNOTSUPP, "%s: refused (%d)", what, err);
	text = result ? npu_compile_messages(result) : "";
	while (sscanf(want, "%31s", name) == 1) {
		snprintf(quoted, sizeof(quoted), "'%s'", name);
		all &= strstr(text, quoted) != NULL;
		want += strspn(want, " ") + strlen(name);
	}
	if (!tap_ok(all, "%s: all of them are named", what))
		tap_diag("%s", text);
	snprintf(quoted, sizeof(quoted), "'%s'", not_named);
	tap_ok(!strstr(text, quoted), "%s: a node that is fine is not", what);
	npu_compile_result_free(result);
	free(model);
}

int main(void)
{
	static const char *const unknown[] = { "fine: a = Relu(x)",
					       "first: b = NoSuchOperator(a)",
					       "second: c = LpPool(b) kernel_shape=[2,2]",
					       "third: d = NonZero(c)",
					       "fourth: y = AlsoUnknown(d)",
					       NULL };
	static const char *const shape[] = { "fine: a = Relu(x)",
					     "k = Cast(a) to=7",
					     "k1 = ReduceMax(k) axes=[1,2,3] keepdims=0",
					     "first: b = Expand(a, k1)",
					     "second: c = Reshape(a, k1)",
					     "third: d = Tile(a, k1)",
					     "y = Concat(b, c, d) axis=0",
					     NULL };
	static const char *const lowered[] = {
		"fine: a = Relu(x)",
		"first: b = MaxPool(a) kernel_shape=[1,1] strides=[5000,1]",
		"second: c = AveragePool(b) kernel_shape=[1,1] strides=[1,5000]",
		"third: d = AveragePool(a) kernel_shape=[1,1] strides=[5000,1]",
		"join: y = Concat(c, d) axis=3",
		NULL
	};

	expect("operators that do not exist", unknown, false, "first fourth", "second");
	expect("results without a shape", shape, false, "first second third", "fine");
	expect("attributes and operators", lowered, true, "first second third", "fine");
	return tap_done();
}
