# SPDX-License-Identifier: MIT
# The tests here use the parts of npu-ocr without its main() and without a network.

OCR_TEST_OBJ	:= $(call obj,$(filter-out %/main.c %/net_npu.c %/net_cache.c,$(wildcard tools/npu-ocr/*.c)))

$(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/ocr/test_*.c)): $(OCR_TEST_OBJ)
