# SPDX-License-Identifier: MIT
# Benchmarks: printed for people, never part of the tests. bench/bench_*.c are programs of their
# own.

BENCH_BIN	:= $(patsubst bench/%.c,$(BUILD)/bench/%,$(wildcard bench/bench_*.c))

$(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(BUILD)/libnpu.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBNPU_LIBS)

$(BUILD)/bench/bench_int8: $(BUILD)/obj/tests/isa/sample.o

# Language models of random weights come from the tests' generator.
$(BUILD)/obj/bench/llm_model.o: EXTRA_CFLAGS += -Itests
$(BUILD)/bench/llm_model: $(addprefix $(BUILD)/obj/tests/llm/,model_file.o gguf_make.o)

## make bench-llm		language models beside llama.cpp (THREADS=1,2 ROUNDS=3)
.PHONY: bench-llm
bench-llm: tools $(BUILD)/bench/llm_model $(BUILD)/bench/bench_read
	@NPU_BUILD=$(abspath $(BUILD)) bench/llm.sh "$(THREADS)" "$(ROUNDS)"

# What drafts gain with the model of the tree, or MODEL.
$(BUILD)/bench/speculate: $(BUILD)/obj/tools/common/file.o

## make bench-speculate	npu-llm --speculate against plain decoding (MODEL=x.npu TEXT=x.txt SMALL=y.npu)
.PHONY: bench-speculate
bench-speculate: $(BUILD)/bench/speculate $(if $(MODEL),,$(BUILD)/kjv.npu)
	@$< $(or $(MODEL),$(BUILD)/kjv.npu) $(or $(TEXT),models/kjv/val.txt) $(SMALL)

## make bench-kv		moving blocks of the KV cache between NPU and host beside memcpy()
.PHONY: bench-kv
bench-kv: tools $(BUILD)/kjv.npu $(BUILD)/bench/llm_model $(BUILD)/bench/kv_offload
	@$(BUILD)/bench/llm_model $(BUILD)/bench/kv.gguf
	@$(BUILD)/npu-compile -q $(BUILD)/bench/kv.gguf --quant w4g32 -o $(BUILD)/bench/kv.npu
	@rm $(BUILD)/bench/kv.gguf
	@for m in $(BUILD)/kjv.npu $(BUILD)/bench/kv.npu; do \
		$(BUILD)/bench/kv_offload $$m || exit 1; done

## make bench-serve	npu-llm --serve: what clients get together, by their number (MODEL=x.npu ROUNDS=5 SERVE=--speculate)
.PHONY: bench-serve
bench-serve: tools $(BUILD)/bench/serve_load $(if $(MODEL),,$(BUILD)/kjv.npu)
	@bench/serve.pl $(BUILD)/npu-llm $(BUILD)/bench/serve_load $(or $(MODEL),$(BUILD)/kjv.npu) $(or $(ROUNDS),5) $(SERVE)

## make bench-camera	camera frames to model inputs beside the memory that they touch
.PHONY: bench-camera
bench-camera: $(BUILD)/bench/bench_camera
	@$<

.PHONY: bench bench-kernels bench-models
bench-models:
	scripts/models.sh ocr faces text accuracy ort

## make bench		this stack and ONNX Runtime side by side, compile times, start of npu-ocr
bench: tools bench-models $(ACCURACY_BIN)
	NPU_BUILD=$(abspath $(BUILD)) node bench/models.js

## make bench-kernels	the kernels by themselves against the machine's peak
bench-kernels: $(BENCH_BIN)
	@for b in $(BENCH_BIN); do echo "== $$b"; $$b || exit 1; done
	@echo "== $(BUILD)/bench/bench_gemm -d i8"; $(BUILD)/bench/bench_gemm -d i8

# What runs in the guest, and on the host beside it.
GUEST_BENCH_OBJ	:= $(call obj,$(filter-out %/npu_floor.c,$(wildcard bench/guest/*.c)))
$(GUEST_BENCH_OBJ): EXTRA_CFLAGS += -I/usr/include/libdrm
$(BUILD)/bench/guest_bench: $(GUEST_BENCH_OBJ) $(BUILD)/libnpu.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBNPU_LIBS)

## make bench-guest	the driver in a guest: latency, throughput, large pages, models, recovery
.PHONY: bench-guest
bench-guest: tools firmware modules $(BUILD)/npu-qemu $(BUILD)/bench/guest_bench
	@scripts/models.sh ocr faces
	@scripts/modules.sh --source bench/guest -s
	@NPU_BUILD=$(abspath $(BUILD)) node bench/guest.js $(BENCH)
