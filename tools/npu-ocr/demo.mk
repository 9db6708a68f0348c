# SPDX-License-Identifier: MIT
# `make demo`, less the installing of packages: build npu-ocr, fetch the models, read the sample picture.

DEMO_PICTURE	?= $(NPU_MODELS)/imageTextN.png

.PHONY: demo-run
demo-run: $(BUILD)/npu-ocr
	$(Q)scripts/models.sh ocr text
	@mkdir -p $(BUILD)/demo
	$(Q)$(BUILD)/npu-ocr --annotate $(BUILD)/demo/annotated.png $(DEMO_PICTURE)
	@echo "The annotated picture is $(BUILD)/demo/annotated.png"

# The tests of the pipeline's parts use them without main() and without a network.
OCR_TEST_OBJ	:= $(call obj,$(filter-out %/main.c %/net_npu.c %/net_cache.c,$(wildcard tools/npu-ocr/*.c)))
$(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/ocr/test_*.c)): $(OCR_TEST_OBJ)
