# SPDX-License-Identifier: MIT
# libnpu.so and libnpu.a: the runtime, the operator builders, the compiler and, for the sim backend,
# the engine.

ENGINE_SRC	:= $(call src,tools/vnpu/engine)
LIBNPU_SRC	:= $(call src,uapi $(addprefix libnpu/,core host kernels compiler quant llm)) \
		   $(ENGINE_SRC)
ONNX_PROTO	?= $(firstword $(wildcard $(addprefix /usr/include/onnx/,onnx.proto onnx-ml.proto)))
ONNX_PB		:= $(BUILD)/gen/onnx.pb-c
LIBNPU_OBJ	:= $(call obj,$(LIBNPU_SRC)) $(BUILD)/obj/gen/onnx.pb-c.o
LIBNPU_LIBS	:= -lprotobuf-c -ldrm -lz -lm

## make lib		libnpu.so, libnpu.a and libnpu.pc
.PHONY: lib
lib: $(BUILD)/libnpu.a $(BUILD)/libnpu.so
all: lib

$(ONNX_PB).c $(ONNX_PB).h &: $(ONNX_PROTO)
	@mkdir -p $(@D)
	$(call say,GEN,$(ONNX_PB).c)
	@cp $< $(BUILD)/gen/onnx.proto
	$(Q)protoc-c --proto_path=$(BUILD)/gen --c_out=$(BUILD)/gen onnx.proto

$(BUILD)/obj/gen/onnx.pb-c.o: $(ONNX_PB).c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(filter-out -Werror -Wmissing-prototypes,$(ALL_CFLAGS)) -c -o $@ $<

$(call obj,$(wildcard libnpu/compiler/*.c)): | $(ONNX_PB).h

# The drm backend: libdrm and the kernel's own drm.h.
$(call obj,$(wildcard libnpu/core/*.c tests/libnpu/*.c)): \
		EXTRA_CFLAGS += -isystem /usr/include/libdrm

$(BUILD)/libnpu.a: $(LIBNPU_OBJ)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^

$(BUILD)/libnpu.so.0: $(LIBNPU_OBJ) libnpu/libnpu.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libnpu.so.0 -Wl,--version-script=libnpu/libnpu.map \
		$(if $(SAN),,-Wl,-z,defs) $(ALL_LDFLAGS) \
		-o $@ $(LIBNPU_OBJ) $(LIBNPU_LIBS)

$(BUILD)/libnpu.so: $(BUILD)/libnpu.so.0
	@ln -sf libnpu.so.0 $@
