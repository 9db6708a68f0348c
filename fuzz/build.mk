# SPDX-License-Identifier: MIT
# libFuzzer targets, built by clang with AddressSanitizer and UBSan: fuzz/fuzz_<noun>.c each, linked
# with the files in FUZZ_<noun>_SRC, or with FUZZ_<noun>_LIBS and the whole library where that is not set.

FUZZ_CC		?= clang
FUZZ_SECONDS	?= 60
FUZZ		= $(BUILD)/fuzz
FUZZ_MAKE	= $(MAKE) --no-print-directory BUILD=$(FUZZ)/obj CC=$(FUZZ_CC) SAN=address,undefined \
		  CFLAGS='-O1 -g -fsanitize=fuzzer-no-link'

FUZZ_NAMES	:= $(patsubst fuzz/fuzz_%.c,%,$(wildcard fuzz/fuzz_*.c))
FUZZ_rv32_SRC	:= $(wildcard tools/vnpu/device/rv32*.c)
FUZZ_vfu_LIBS	:= $(BUILD)/libvdev.a
FUZZ_vfu_LDLIBS	:= -lcjson
FUZZ_gdb_SRC	:= $(FUZZ_rv32_SRC)
FUZZ_device_LIBS := $(call obj,$(addprefix tests/devcore/,fake_vdev.c guest.c small.c stream.c)) $(BUILD)/libvdev.a
$(BUILD)/obj/fuzz/fuzz_device.o: EXTRA_CFLAGS += -Itests -Itools/vnpu/device
FUZZ_gguf_SRC	:= libnpu/llm/gguf.c libnpu/llm/gguf_read.c libnpu/llm/gguf_types.c libnpu/core/error.c
FUZZ_tokenizer_SRC := tests/llm/gguf_make.c $(FUZZ_gguf_SRC) libnpu/core/struct.c $(addprefix libnpu/llm/, \
		   bpe.c detokenize.c encode_bpe.c encode_spm.c encode_wpm.c encoder.c pretokenizer.c \
		   tokenizer.c unicode.c unicode_table.c vocab.c vocab_map.c)
FUZZ_stream_SRC	:= tests/isa/run_stream.c $(call src,uapi) $(ENGINE_SRC)

# One level down everything is compiled for the fuzzer; up here the user calls it.
# FUZZ_NAMES="stream" picks.
.PHONY: fuzz fuzz-programs
fuzz-programs: $(addprefix $(BUILD)/fuzz_,$(FUZZ_NAMES)) $(BUILD)/make-seeds

define fuzz-rule
$(BUILD)/fuzz_$1: $(call obj,fuzz/fuzz_$1.c $(FUZZ_$1_SRC)) $(if $(FUZZ_$1_SRC),,$(FUZZ_$1_LIBS) $(BUILD)/libnpu.a)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) -fsanitize=fuzzer,address,undefined -pthread -o $$@ $$^ $(FUZZ_$1_LDLIBS) $$(LIBNPU_LIBS)
endef
$(foreach f,$(FUZZ_NAMES),$(eval $(call fuzz-rule,$f)))

$(BUILD)/make-seeds: $(call obj,fuzz/make_seeds.c tests/isa/sample.c $(call src,uapi))
	$(call say,LD,$@)
	$(Q)$(CC) -fsanitize=address,undefined -o $@ $^

## make fuzz		run the fuzzers, FUZZ_SECONDS each; what they find stays in BUILD/fuzz/<name>
fuzz:
	$(FUZZ_MAKE) fuzz-programs
	@mkdir -p $(foreach f,$(FUZZ_NAMES),$(FUZZ)/$f $(FUZZ)/$f-seeds)
	$(if $(filter stream,$(FUZZ_NAMES)),$(FUZZ)/obj/make-seeds $(FUZZ)/stream-seeds)
	@for f in jobfile run; do test ! -d $(FUZZ)/$$f-seeds || cp tests/data/*.npu $(FUZZ)/$$f-seeds; done
	@for f in $(FUZZ_NAMES); do \
		$(FUZZ)/obj/fuzz_$$f -max_total_time=$(FUZZ_SECONDS) -timeout=20 -max_len=16384 \
			-artifact_prefix=$(FUZZ)/$$f/ $(FUZZ)/$$f $(FUZZ)/$$f-seeds || exit 1; done
