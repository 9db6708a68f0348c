# SPDX-License-Identifier: MIT
# libFuzzer targets, built by clang with AddressSanitizer and UBSan: fuzz/fuzz_<noun>.c each, linked
# with the files in FUZZ_<noun>_SRC, or with FUZZ_<noun>_LIBS and the whole library where that is
# not set.

FUZZ_CC		?= clang
FUZZ_SECONDS	?= 60
FUZZ		= $(BUILD)/fuzz
FUZZ_MAKE	= $(MAKE) --no-print-directory BUILD=$(FUZZ)/obj CC=$(FUZZ_CC) \
		  SAN=address,undefined \
		  CFLAGS='-O1 -g -fsanitize=fuzzer-no-link'

FUZZ_NAMES	:= $(patsubst fuzz/fuzz_%.c,%,$(wildcard fuzz/fuzz_*.c))
FUZZ_rv32_SRC	:= $(wildcard tools/vnpu/device/rv32*.c)
FUZZ_vfu_LIBS	:= $(BUILD)/libvdev.a
FUZZ_vfu_LDLIBS	:= -lcjson
FUZZ_gdb_SRC	:= $(FUZZ_rv32_SRC)
FUZZ_device_LIBS := $(call obj,$(addprefix tests/devcore/,fake_vdev.c guest.c small.c stream.c)) \
		    $(BUILD)/libvdev.a
$(BUILD)/obj/fuzz/fuzz_device.o: EXTRA_CFLAGS += -Itests -Itools/vnpu/device
FUZZ_gguf_LIBS	:= $(BUILD)/libnpu.a
MADE_VOCAB	:= fuzz/made_vocab.c tests/llm/gguf_make.c
FUZZ_tokenizer_LIBS := $(call obj,$(MADE_VOCAB))
FUZZ_firmware_LIBS := $(call obj,$(addprefix tests/firmware/mock,.c _driver.c _hart.c)) \
		      $(BUILD)/libfw.a \
		   $(BUILD)/libvdev.a
$(call obj,fuzz/fuzz_firmware.c): EXTRA_CFLAGS += -Itests/firmware -Ifirmware -DFW_HOST
# A model of each operator, of package libonnx-testdata.
FUZZ_ONNX	?= /usr/share/libonnx-testdata/data/node
# The one with metadata is a whole model.
FUZZ_jobfile_MAX	:= 262144
FUZZ_run_MAX	:= 262144
FUZZ_stream_SRC	:= tests/isa/run_stream.c $(call src,uapi) $(ENGINE_SRC)

# One level down everything is compiled for the fuzzer; up here the user calls it.
# FUZZ_NAMES="stream" picks.
.PHONY: fuzz fuzz-programs
fuzz-programs: $(addprefix $(BUILD)/fuzz_,$(FUZZ_NAMES)) $(BUILD)/make-seeds

define fuzz-rule
$(BUILD)/fuzz_$1: $(call obj,fuzz/fuzz_$1.c $(FUZZ_$1_SRC)) \
		$(if $(FUZZ_$1_SRC),,$(FUZZ_$1_LIBS) $(BUILD)/libnpu.a)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) -fsanitize=fuzzer,address,undefined -pthread -o $$@ $$^ $(FUZZ_$1_LDLIBS) \
		$$(LIBNPU_LIBS)
endef
$(foreach f,$(FUZZ_NAMES),$(eval $(call fuzz-rule,$f)))

$(BUILD)/make-seeds: $(call obj,fuzz/make_seeds.c tests/isa/sample.c $(MADE_VOCAB)) \
		$(BUILD)/libnpu.a
	$(call say,LD,$@)
	$(Q)$(CC) -fsanitize=address,undefined -pthread -o $@ $^ $(LIBNPU_LIBS)

## make fuzz		run the fuzzers, FUZZ_SECONDS each; what they find stays in BUILD/fuzz/<name>
fuzz:
	$(FUZZ_MAKE) fuzz-programs
	@mkdir -p $(foreach f,$(FUZZ_NAMES),$(FUZZ)/$f $(FUZZ)/$f-seeds)
	@for f in $(filter stream gguf,$(FUZZ_NAMES)); do \
		$(FUZZ)/obj/make-seeds $$f $(FUZZ)/$$f-seeds || exit 1; done
	@for m in $(if $(filter onnx,$(FUZZ_NAMES)),$(wildcard $(FUZZ_ONNX)/*/model.onnx)); do \
		cp $$m $(FUZZ)/onnx-seeds/$$(basename $$(dirname $$m)).onnx || exit 1; done
	@for f in jobfile run; do \
		test ! -d $(FUZZ)/$$f-seeds || cp tests/data/*.npu $(FUZZ)/$$f-seeds; done
	@$(foreach f,$(FUZZ_NAMES),$(FUZZ)/obj/fuzz_$f -max_total_time=$(FUZZ_SECONDS) -timeout=20 \
		-max_len=$(or $(FUZZ_$f_MAX),16384) -artifact_prefix=$(FUZZ)/$f/ \
		$(FUZZ)/$f $(FUZZ)/$f-seeds &&) true
