// SPDX-License-Identifier: MIT
/* libFuzzer target: an ONNX file through import, passes, lowering and emission. */
#include <stddef.h>
#include <stdint.h>
#include "npu_compiler.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npu_compile_result *result = NULL;

	npu_compile_onnx(data, size, NULL, NULL, &result);
	npu_compile_result_free(result);
	return 0;
}
