# SPDX-License-Identifier: MIT
# The instruction reference is generated from the table that the code is made of, and committed.

GEN_ISA_OBJ	:= $(call obj,Documentation/gen_isa.c)
$(call obj,Documentation/gen_isa.c Documentation/gen_isa_main.c): EXTRA_CFLAGS += -IDocumentation

$(BUILD)/gen-isa: $(GEN_ISA_OBJ) $(call obj,Documentation/gen_isa_main.c $(wildcard uapi/*.c))
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^

GEN_OPERATORS_OBJ := $(call obj,Documentation/gen_operators.c)
$(call obj,$(wildcard Documentation/gen_operators*.c)): EXTRA_CFLAGS += -IDocumentation
$(call obj,$(wildcard Documentation/gen_operators*.c)): | $(ONNX_PB).h

$(BUILD)/gen-operators: $(GEN_OPERATORS_OBJ) $(call obj,Documentation/gen_operators_main.c) \
		$(BUILD)/libnpu.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBNPU_LIBS)

$(BUILD)/tests/compiler/test_operators_doc: $(GEN_OPERATORS_OBJ)
$(call obj,tests/compiler/test_operators_doc.c): EXTRA_CFLAGS += -IDocumentation

## make docs		the generated parts of Documentation/
.PHONY: docs
docs: $(BUILD)/gen-isa $(BUILD)/gen-operators
	$(call say,GEN,Documentation/hardware/instructions.md)
	$(Q)$(BUILD)/gen-isa >$(BUILD)/instructions.md
	$(Q)mv $(BUILD)/instructions.md Documentation/hardware/instructions.md
	$(call say,GEN,Documentation/operators.md)
	$(Q)$(BUILD)/gen-operators >$(BUILD)/operators.md
	$(Q)mv $(BUILD)/operators.md Documentation/operators.md

# The test that holds the page against the table prints it by the same code.
$(BUILD)/tests/isa/test_docs: $(GEN_ISA_OBJ)
$(call obj,tests/isa/test_docs.c): EXTRA_CFLAGS += -IDocumentation

## make conformance	write Documentation/conformance: what became of each of ONNX's tests
.PHONY: conformance
conformance: $(BUILD)/tests/compiler/test_onnx_node
	-@scripts/models.sh onnx-tests
	$(call say,GEN,Documentation/conformance)
	$(Q)$(BUILD)/tests/compiler/test_onnx_node --write Documentation/conformance
