# SPDX-License-Identifier: MIT
# The instruction reference is generated from the table that the code is made of, and committed.

GEN_ISA_OBJ	:= $(call obj,Documentation/gen_isa.c)
$(call obj,Documentation/gen_isa.c Documentation/gen_isa_main.c): EXTRA_CFLAGS += -IDocumentation

$(BUILD)/gen-isa: $(GEN_ISA_OBJ) $(call obj,Documentation/gen_isa_main.c $(wildcard uapi/*.c))
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^

## make docs		the generated parts of Documentation/
.PHONY: docs
docs: $(BUILD)/gen-isa
	$(call say,GEN,Documentation/hardware/instructions.md)
	$(Q)$(BUILD)/gen-isa >$(BUILD)/instructions.md
	$(Q)mv $(BUILD)/instructions.md Documentation/hardware/instructions.md

# The test that holds the page against the table prints it by the same code.
$(BUILD)/tests/isa/test_docs: $(GEN_ISA_OBJ)
$(call obj,tests/isa/test_docs.c): EXTRA_CFLAGS += -IDocumentation

## make conformance	write Documentation/conformance: what became of each of ONNX's tests
.PHONY: conformance
conformance: $(BUILD)/tests/compiler/test_onnx_node check-models
	$(call say,GEN,Documentation/conformance)
	$(Q)$(BUILD)/tests/compiler/test_onnx_node --write Documentation/conformance
