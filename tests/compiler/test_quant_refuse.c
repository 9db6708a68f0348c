// SPDX-License-Identifier: MIT
/* What can be wrong about scales and zero points: the node is named, and so is what was expected.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "npu_compiler.h"
#include "tap.h"

/* ONNX element types */
enum { F32 = 1, U8 = 2, I8 = 3, I32 = 6, I16 = 5, U4 = 21 };

struct defect {
	const char *what;
	const char *line;	/* the node 'bad', from x (f32) and c (u8), to y */
	const char *says;
	int zero_type;
	int count;		/* scales */
	float scale[3];
	int zeros;		/* zero points */
};

static const struct defect defects[] = {
	{ "zero scale",
	  "bad: y = QuantizeLinear(x, s, z)",
	  "expected a finite number above 0",
	  U8,
	  1,
	  { 0 },
	  1 },
	{ "negative scale", "bad: y = QuantizeLinear(x, s, z)", "is -0.5", U8, 1, { -0.5f }, 1 },
	{ "NaN scale", "bad: y = DequantizeLinear(c, s, z)", "nan", U8, 1, { NAN }, 1 },
	{ "infinite scale", "bad: y = DequantizeLinear(c, s, z)", "inf", U8, 1, { INFINITY }, 1 },
	{ "a zero among scales",
	  "bad: y = DequantizeLinear(c, s, z) axis=1",
	  "scale 2",
	  U8,
	  3,
	  { 1, 1, 0 },
	  3 },
	{ "type of the zero point",
	  "bad: y = DequantizeLinear(c, s, z)",
	  "type i8, expected that of the codes, u8",
	  I8,
	  1,
	  { 1 },
	  1 },
	{ "zero point of 16 bits",
	  "bad: y = QuantizeLinear(x, s, z)",
	  "i8 and u8",
	  I16,
	  1,
	  { 1 },
	  1 },
	{ "too many zero points",
	  "bad: y = DequantizeLinear(c, s, z)",
	  "3 entries, expected one per scale, 1",
	  U8,
	  1,
	  { 1 },
	  3 },
	{ "too few zero points",
	  "bad: y = QuantizeLinear(x, s, z) axis=1",
	  "1 entries, expected one per scale, 3",
	  U8,
	  3,
	  { 1, 1, 1 },
	  1 },
	{ "axis out of range",
	  "bad: y = QuantizeLinear(x, s, z) axis=4",
	  "axis",
	  U8,
	  3,
	  { 1, 1, 1 },
	  3 },
	{ "axis of another length",
	  "bad: y = QuantizeLinear(x, s, z) axis=0",
	  "one value per entry of axis 0",
	  U8,
	  3,
	  { 1, 1, 1 },
	  3 },
	{ "blocks",
	  "bad: y = DequantizeLinear(c, s, z) axis=1 block_size=2",
	  "blocks of 2",
	  U8,
	  1,
	  { 1 },
	  1 },
	{ "floats dequantized",
	  "bad: y = DequantizeLinear(x, s)",
	  "i8, u8 and i32",
	  U8,
	  1,
	  { 1 },
	  1 },
	{ "an operand's scale",
	  "bad: y = QLinearConv(c, s, z, w, one, z, one, z)",
	  "expected a finite number above 0",
	  U8,
	  1,
	  { 0 },
	  1 },
	{ "the result's scale",
	  "bad: y = QLinearMatMul(c, one, z, v, one, z, s, z)",
	  "expected a finite number above 0",
	  U8,
	  1,
	  { -1 },
	  1 },
	{ "a scale of QLinearAdd",
	  "bad: y = com.microsoft.QLinearAdd(c, s, z, c, one, z, one, z)",
	  "nan",
	  U8,
	  1,
	  { NAN },
	  1 },
	{ "inputs of QLinearConcat",
	  "bad: y = com.microsoft.QLinearConcat(one, z, c, one)",
	  "two and three",
	  U8,
	  1,
	  { 1 },
	  1 },
	{ "an absent scale",
	  "bad: y = com.microsoft.QLinearMul(c, , z, c, one, z, one, z)",
	  "input 1 is required but absent",
	  U8,
	  1,
	  { 1 },
	  1 },
	{ "channels last",
	  "bad: y = com.microsoft.QLinearGlobalAveragePool(c, s, z, one, z) channels_last=1",
	  "channels_last",
	  U8,
	  1,
	  { 1 },
	  1 },
	{ "zero points by row",
	  "bad: y = MatMulInteger(c, v, z, z)",
	  "one for all",
	  U8,
	  1,
	  { 1 },
	  3 },
	{ "a product of scales",
	  "bad: y = QLinearConv(c, s, z, w, s, z, one, z)",
	  "out of range",
	  U8,
	  1,
	  { 1e-30f },
	  1 },
};

static void test_defect(const struct defect *d)
{
	static const uint8_t codes[81] = { 1, 2, 3 };
	static const uint8_t zero[6] = { 1, 2, 3 };
	struct npu_compile_result *result = NULL;
	const float one = 1;
	const char *text;
	struct ob b;
	uint8_t *model;
	size_t size;
	int err;

	ob_init(&b, strstr(d->line, "block") ? 21 : 13);
	ob_input(&b, "x", F32, 3, OB_DIMS(2, 3, 3));
	ob_input(&b, "c", U8, strstr(d->line, "w,") ? 4 : 3, OB_DIMS(2, 3, 3, 3));
	ob_const(&b, "s", F32, d->count > 1, OB_DIMS(d->count), d->scale, 4 * (size_t)d->count);
	ob_const(&b, "z", d->zero_type, d->zeros > 1, OB_DIMS(d->zeros), zero,
		 (size_t)d->zeros * (d->zero_type == I16 ? 2 : 1));
	ob_const(&b, "one", F32, 0, NULL, &one, 4);
	ob_const(&b, "w", U8, 4, OB_DIMS(3, 3, 3, 3), codes, 81);
	ob_const(&b, "v", U8, 2, OB_DIMS(3, 3), codes, 9);
	ob_node(&b, "fine: r = Relu(x)");
	ob_node(&b, d->line);
	ob_output(&b, "y");
	ob_output(&b, "r");
	model = ob_finish(&b, &size);
	err = npu_compile_onnx(model, size, NULL, NULL, &result);
	text = result ? npu_compile_messages(result) : "";
	if (!tap_ok(err < 0 && strstr(text, "'bad'") && strstr(text, d->says) &&
			    !strstr(text, "'fine'"),
		    "%s: refused, with the node's name and '%s'", d->what, d->says))
		tap_diag("%d: %s", err, text);
	npu_compile_result_free(result);
	free(model);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(defects) / sizeof(defects[0]); i++)
		test_defect(&defects[i]);
	return tap_done();
}
