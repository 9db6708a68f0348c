# SPDX-License-Identifier: MIT
# libFuzzer targets, built by clang in one go with AddressSanitizer and UBSan: fuzz/fuzz_<noun>.c each, with FUZZ_<noun>_SRC beside it.

FUZZ_CC		?= clang
FUZZ_SECONDS	?= 60
FUZZ		= $(BUILD)/fuzz
FUZZ_FLAGS	= -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -Wno-error
FUZZ_MAKE	= $(MAKE) --no-print-directory BUILD=$(FUZZ)/obj CC=$(FUZZ_CC) CFLAGS='$(FUZZ_FLAGS)'

FUZZ_NAMES	:= $(patsubst fuzz/fuzz_%.c,%,$(wildcard fuzz/fuzz_*.c))
FUZZ_stream_SRC	:= tests/isa/run_stream.c $(call src,uapi) $(ENGINE_SRC)

# One level down everything is compiled with FUZZ_FLAGS; up here the user calls it.
.PHONY: fuzz fuzz-programs
fuzz-programs: $(addprefix $(BUILD)/fuzz_,$(FUZZ_NAMES)) $(BUILD)/make-seeds

define fuzz-rule
$(BUILD)/fuzz_$1: $(call obj,fuzz/fuzz_$1.c $(FUZZ_$1_SRC))
	$$(call say,LD,$$@)
	$$(Q)$$(CC) -fsanitize=fuzzer,address,undefined -pthread -o $$@ $$^ -lm
endef
$(foreach f,$(FUZZ_NAMES),$(eval $(call fuzz-rule,$f)))

$(BUILD)/make-seeds: $(call obj,fuzz/make_seeds.c tests/isa/sample.c $(call src,uapi))
	$(call say,LD,$@)
	$(Q)$(CC) -fsanitize=address,undefined -o $@ $^

## make fuzz		run the fuzzers, FUZZ_SECONDS each; what they find stays in BUILD/fuzz/<name>
fuzz:
	$(FUZZ_MAKE) fuzz-programs
	@mkdir -p $(foreach f,$(FUZZ_NAMES),$(FUZZ)/$f $(FUZZ)/$f-seeds)
	$(FUZZ)/obj/make-seeds $(FUZZ)/stream-seeds
	@for f in $(FUZZ_NAMES); do \
		$(FUZZ)/obj/fuzz_$$f -max_total_time=$(FUZZ_SECONDS) -timeout=20 -max_len=16384 \
			-artifact_prefix=$(FUZZ)/$$f/ $(FUZZ)/$$f $(FUZZ)/$$f-seeds || exit 1; done
