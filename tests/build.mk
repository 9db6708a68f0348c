# SPDX-License-Identifier: MIT
# Every tests/<area>/test_<noun>.c is a TAP program; the other .c files of its area are linked to
# it, and so is the tool of that name, tools/npu-<area>, less its main.c.

TEST_SRC	:= $(wildcard tests/*/test_*.c)
TEST_BIN	:= $(patsubst tests/%.c,$(BUILD)/tests/%,$(TEST_SRC))
TEST_SCRIPTS	:= $(sort $(wildcard tests/*/test_*.sh))
.SECONDARY:

$(BUILD)/obj/tests/%.o: EXTRA_CFLAGS += -Itests

# What an area links beside the library and its tool.
area-libs-device := $(BUILD)/libvdev.a
area-libs-devcore := $(BUILD)/libvdev.a
$(BUILD)/obj/tests/devcore/%.o: EXTRA_CFLAGS += -Itools/vnpu/device
area-libs-firmware := $(BUILD)/libfw.a $(BUILD)/libvdev.a

# The firmware's sources, built for the host.
$(BUILD)/libfw.a: $(call obj,$(filter-out %/entry.c,$(FW_SRC)))
	@rm -f $@
	$(Q)$(AR) rcs $@ $^
$(call obj,$(FW_SRC) $(wildcard tests/firmware/*.c)): EXTRA_CFLAGS += -DFW_HOST -Ifirmware
# The real image runs on the hart; the sanitizers' programs use this build's.
$(BUILD)/tests/firmware/test_image $(BUILD)/tests/devcore/test_firmware: | $(if $(SAN),,firmware)

# As an archive: a test may stand in for a part of the tool by defining its functions.
define tool-archive-rule
$(BUILD)/tests/$1.a: $(call obj,$(filter-out %/main.c,$(call src,tools/$1)))
	@mkdir -p $$(@D); rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^
endef
$(foreach t,$(TOOLS),$(eval $(call tool-archive-rule,$t)))
tool-archive	= $(patsubst %,$(BUILD)/tests/%.a,$(filter npu-$(patsubst %/,%,$1),$(TOOLS)))

define test-rule
$(BUILD)/tests/$1: $(BUILD)/obj/tests/$1.o \
		$(call obj,$(filter-out tests/$(dir $1)test_%,$(wildcard tests/$(dir $1)*.c))) \
		$(call obj,$(wildcard tests/common/*.c)) $(call tool-archive,$(dir $1)) \
		$(TOOL_COMMON_OBJ) \
		$(area-libs-$(patsubst %/,%,$(dir $1))) $(CHECK_LIBS) $(BUILD)/libnpu.a
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(ALL_LDFLAGS) -o $$@ $$(filter %.o %.a,$$^) $$(TOOL_LIBS) $$(LIBNPU_LIBS)
endef
$(foreach t,$(patsubst tests/%.c,%,$(TEST_SRC)),$(eval $(call test-rule,$t)))

# npu-run on the driver's stand-in.
$(BUILD)/tests/run/test_device: $(call obj,tests/libnpu/fake_drm.c)

# Firmware files with something wrong, for the guest.
$(BUILD)/tests/guest/wrong_firmware: $(BUILD)/obj/tests/guest/wrong_firmware.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lz

# What runs in the guest beside the tools: memory and fences of other devices, through libnpu.
GUEST_SHARE_OBJ	:= $(patsubst %,$(BUILD)/obj/tests/guest/%.o, \
		   share share_fences share_give share_odd share_sources share_unbind sum)
$(GUEST_SHARE_OBJ): EXTRA_CFLAGS += -isystem /usr/include/libdrm
check-guest: $(BUILD)/tests/guest/share
$(BUILD)/tests/guest/share: $(GUEST_SHARE_OBJ) $(BUILD)/libnpu.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBNPU_LIBS)

# A camera's frames, converted once more.
check-guest: $(BUILD)/tests/guest/cam_check
$(BUILD)/tests/guest/cam_check: $(call obj,tests/guest/cam_check.c \
		tools/common/frame_ref.c tests/common/onnx_lines.c)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lm

# The example of two models on one frame, for the guest and for what ONNX Runtime makes of it.
PIPELINE_BIN	:= $(addprefix $(BUILD)/tests/e2e/,pipeline select_box)
check-guest: $(PIPELINE_BIN)
$(BUILD)/tests/e2e/pipeline: $(call obj,$(wildcard examples/pipeline/*.c)) $(BUILD)/libnpu.a
$(BUILD)/tests/e2e/select_box: $(call obj,examples/select_box.c)
$(PIPELINE_BIN):
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBNPU_LIBS) -lm

# What accuracy is measured on: pages with known text, drawn by FreeType, and pictures as tensors.
ACCURACY_BIN	:= $(addprefix $(BUILD)/tests/accuracy/,render_pages picture_npy)
$(ACCURACY_BIN): $(BUILD)/tests/accuracy/%: $(BUILD)/obj/tests/accuracy/%.o $(TOOL_COMMON_OBJ) \
		$(BUILD)/libnpu.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(if $(findstring pages,$@),-lfreetype) $(TOOL_LIBS) \
		$(LIBNPU_LIBS)
$(call obj,tests/accuracy/render_pages.c): EXTRA_CFLAGS += -isystem /usr/include/freetype2

## make accuracy		measure every model in every precision, write Documentation/accuracy.md
.PHONY: accuracy
accuracy: tools $(ACCURACY_BIN)
	node tests/accuracy/table.js Documentation/accuracy.md

# A test of the compiler may read ONNX files by itself.
$(call obj,$(wildcard tests/*/*.c)): | $(ONNX_PB).h

.PHONY: tests
tests: $(TEST_BIN)

# What a run consists of. TESTS picks by prefix: make check TESTS="engine compiler/test_import".
TESTS		?=
pick-pattern	= $(if $(strip $(TESTS)),$(addprefix tests/,$(addsuffix %,$(TESTS))),tests/%)
pick		= $(filter $(pick-pattern),$(TEST_SRC:.c=) $(TEST_SCRIPTS))
RUN_BIN		= $(patsubst tests/%,$(BUILD)/tests/%,$(filter-out %.sh,$(pick)))
RUN_SCRIPTS	= $(filter %.sh,$(pick))

# Two more builds, for memory errors and undefined behaviour, and for data races. Each runs the
# programs that its list picks; `make check` runs those of CHECK_LEGS at its end. There oracle and
# e2e try a part of their cases (NPU_TEST_SHORT); ocr's pages, minutes of the same loops, are left
# out, and so are the language models whose logits and texts are compared.
# One name a line, in order: two changes that each add one do not meet.
ASAN_TESTS	?= $(or $(TESTS), \
		compiler \
		devcore \
		device \
		e2e \
		engine \
		firmware \
		host \
		isa \
		libnpu \
		llm/test_chat \
		llm/test_ggml \
		llm/test_gguf \
		llm/test_golden \
		llm/test_lookup \
		llm/test_offload \
		llm/test_refuse \
		llm/test_sample \
		llm/test_sessions \
		llm/test_speculate \
		llm/test_tokenizer \
		llm/test_vocab \
		mutate \
		ocr/test_ctc \
		ocr/test_dbpost \
		ocr/test_image \
		ocr/test_layout \
		ocr/test_npy \
		ocr/test_warp \
		oracle \
		run \
		)
TSAN_TESTS	?= $(or $(TESTS), \
		devcore/test_crew \
		devcore/test_firmware \
		devcore/test_mmu \
		devcore/test_mutants \
		devcore/test_regs \
		devcore/test_unit \
		device/test_config \
		device/test_control \
		device/test_dma \
		device/test_irq \
		device/test_proto \
		device/test_report \
		device/test_rv32_gdb \
		engine/test_run \
		libnpu/test_cancel \
		libnpu/test_drm \
		libnpu/test_ends \
		libnpu/test_poll \
		libnpu/test_fence \
		libnpu/test_host_steps \
		libnpu/test_run \
		libnpu/test_share \
		libnpu/test_thread \
		llm/test_offload \
		llm/test_sessions \
		oracle/test_grouped \
		oracle/test_matmul \
		run/test_check \
		)
CHECK_LEGS	?= asan tsan
leg-asan	= BUILD=$(BUILD)/asan SAN=address,undefined TESTS='$(ASAN_TESTS)'
leg-tsan	= BUILD=$(BUILD)/tsan SAN=thread TESTS='$(TSAN_TESTS)'
leg-build	= $(MAKE) --no-print-directory $(leg-$1) build-run
leg-programs	= $(filter-out %.sh,$(shell $(MAKE) -s --no-print-directory $(leg-$1) list-run))

# Reports are readable and end the program; a leak is an error.
export ASAN_OPTIONS	?= detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS	?= print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS	?= halt_on_error=1:second_deadlock_stack=1:die_after_fork=0
# Where a script finds the tools, the models (NPU_MODELS) and ONNX Runtime (NPU_ORT).
export NPU_BUILD	= $(abspath $(BUILD))

# 50 times each of what takes a device away, with three guests, are an hour and more.
RUN		= perl tests/run.pl -j $(JOBS) $(if $(filter-out 0,$(NPU_TEST_LONG)),-t 14400) \
		  -l $(BUILD)/test-log
JOBS		?= 2

.PHONY: list-run build-run check check-long check-asan check-tsan check-models tidy
list-run:
	@echo $(RUN_BIN) $(RUN_SCRIPTS)

build-run: $(RUN_BIN) $(if $(filter tests/firmware/%.sh,$(pick)),firmware) \
		$(if $(filter tests/accuracy/%,$(pick)),$(ACCURACY_BIN)) \
		$(if $(filter tests/e2e/%.sh,$(pick)),$(PIPELINE_BIN) \
			$(BUILD)/tests/accuracy/picture_npy)

# A model that cannot be had fails its own test, not all the others'.
check-models:
	-@scripts/models.sh all

## make check		every test; the last line is "N passed, N failed"
check: all build-run check-models $(if $(filter tests/guest/%,$(pick)),check-guest) \
		$(CHECK_LEGS:%=build-%)
	@$(RUN) $(RUN_BIN) $(RUN_SCRIPTS) $(foreach l,$(CHECK_LEGS),$(call leg-programs,$l))

# One after the other, after the plain build: each has as many jobs as there are processors.
.PHONY: build-asan build-tsan
build-asan: | all build-run
build-tsan: | $(filter build-asan,$(CHECK_LEGS:%=build-%))
build-asan build-tsan: build-%:
	+@$(call leg-build,$*)

## make check-long	the same with the full counts
check-long:
	+@NPU_TEST_LONG=1 $(MAKE) --no-print-directory check

## make check-asan	the test programs under AddressSanitizer and UBSan (ASAN_TESTS picks)
## make check-tsan	the test programs under ThreadSanitizer (TSAN_TESTS picks)
check-asan check-tsan: check-%: check-models firmware
	+@$(call leg-build,$*)
	@$(RUN) $(call leg-programs,$*)

## make check-clang	compile everything with clang, whose warnings are other ones
.PHONY: check-clang
check-clang:
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/clang CC=clang all build-run

## make tidy		clang-tidy over the library, the tools, the tests and all that is built beside
TIDY_SRC	= $(filter %.c,$(LIBNPU_SRC) $(VDEV_SRC) $(filter-out %/entry.c,$(FW_SRC)) \
		  $(call src,firmware/pack tools/common tools/check $(addprefix tools/,$(TOOLS))) \
		  $(wildcard tests/*/*.c bench/*.c fuzz/*.c examples/*.c examples/*/*.c \
			     Documentation/*.c))
# As one build has them: the firmware's sources for the host, headers of every area.
TIDY_FLAGS	= $(filter-out $(WARN),$(ALL_CFLAGS)) -Itests -IDocumentation -Itools/vnpu/device \
		  -Itests/devcore -Itests/firmware \
		  -Ifirmware -DFW_HOST \
		  $(addprefix -isystem /usr/include/,libdrm freetype2)
# Files of one instruction set have its flags; what is found in one part does not keep the next from
# being looked at.
tidy-isas	= avx2 avx512 avxvnni avx512vnni
tidy-part	= printf '%s\n' $1 | \
		  xargs -r -P $(JOBS) -I{} clang-tidy --quiet {} -- $(TIDY_FLAGS) $2 || bad=1
tidy: $(ONNX_PB).h
	@bad=0; \
	$(call tidy-part,$(filter-out $(tidy-isas:%=\%_%.c),$(TIDY_SRC))); \
	$(foreach i,$(tidy-isas),$(call tidy-part,$(filter %_$i.c,$(TIDY_SRC)), \
		$(filter -m%,$(ISA_FLAGS_$i)));) \
	exit $$bad
