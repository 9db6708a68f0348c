# SPDX-License-Identifier: MIT
# One program per tools/npu-<name>/ directory, linked statically against libnpu; tools/common/ is
# shared by them.

TOOLS		:= $(notdir $(patsubst %/main.c,%,$(wildcard tools/npu-*/main.c)))
TOOL_COMMON_OBJ	:= $(call obj,$(call src,tools/common))
TOOL_LIBS	:= -lpng -ljpeg -lcjson -ldl

## make tools		npu-compile, npu-run, npu-cam, npu-llm, npu-ocr, npu-vdev
.PHONY: tools
tools: $(addprefix $(BUILD)/,$(TOOLS))
all: tools

# Stepping through a job beside the oracle: npu-run --check, and the tests of whole models.
CHECK_LIBS	:= $(BUILD)/libcheck.a $(BUILD)/liboracle.a
tool-libs-npu-run := $(CHECK_LIBS)
tool-libs-npu-vdev := $(BUILD)/libvdev.a
tool-link-npu-llm := -lmicrohttpd

define tool-rule
$(BUILD)/$1: $(call obj,$(call src,tools/$1)) $(TOOL_COMMON_OBJ) $(tool-libs-$1) $(BUILD)/libnpu.a
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(ALL_LDFLAGS) -o $$@ $$^ $$(tool-link-$1) $$(TOOL_LIBS) $$(LIBNPU_LIBS)
endef
$(foreach t,$(TOOLS),$(eval $(call tool-rule,$t)))

# The plain reference of every opcode: for tests and for checking a model layer by layer, never in
# the library.
$(BUILD)/liboracle.a: $(call obj,$(call src,tools/vnpu/oracle))
$(BUILD)/libcheck.a: $(call obj,$(call src,tools/check))
$(BUILD)/liboracle.a $(BUILD)/libcheck.a:
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^

# The virtual device, less the engine (which is in libnpu.a).
VDEV_SRC	:= $(call src,tools/vnpu/device)
$(BUILD)/libvdev.a: $(call obj,$(VDEV_SRC))
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^
