# SPDX-License-Identifier: MIT
# The management firmware, for RISC-V by clang and lld, and its packer. The same source gives the
# same bytes wherever it is built.

FW_CC		?= clang
FW_FLAGS	:= --target=riscv32-unknown-elf -march=rv32imc -mabi=ilp32 -mno-relax \
		   -Iuapi -Ifirmware -ffreestanding -ffunction-sections -fdata-sections -O2 -g \
		   -fdebug-compilation-dir=. -ffile-prefix-map=$(CURDIR)=. \
		   -DNPU_VERSION='"$(VERSION)"' -MMD -MP
FW_CFLAGS	:= -std=gnu11 -fno-strict-aliasing $(WARN)
FW_SRC		:= $(call src,firmware)
FW		:= $(BUILD)/firmware

# Firmware that is wrong on purpose, for the tests that must notice.
FW_MUTANTS	:= reverse_priority lost_bell lost_end
fw-flags-reverse_priority := -DNPU_FW_MUTANT_REVERSE_PRIORITY
fw-flags-lost_bell := -DNPU_FW_MUTANT_LOST_BELL
fw-flags-lost_end := -DNPU_FW_MUTANT_LOST_END

## make firmware		the image for the management processor, build/firmware/npu_fw.bin
.PHONY: firmware
firmware: $(FW)/npu_fw.bin $(FW_MUTANTS:%=$(FW)/mutant-%.bin)

# $1: name of the image, $2: its flags
define firmware-rule
$(FW)/$1/%.o: firmware/%.c
	@mkdir -p $$(@D)
	$$(call say,FWCC,$$@)
	$$(Q)$$(FW_CC) $$(FW_FLAGS) $$(FW_CFLAGS) $2 -c -o $$@ $$<

$(FW)/$1/%.o: firmware/%.S
	@mkdir -p $$(@D)
	$$(call say,FWAS,$$@)
	$$(Q)$$(FW_CC) $$(FW_FLAGS) -c -o $$@ $$<

$(FW)/$1.elf: $(patsubst firmware/%.c,$(FW)/$1/%.o,$(FW_SRC)) $(FW)/$1/start.o firmware/fw.ld
	$$(call say,FWLD,$$@)
	$$(Q)ld.lld --build-id=sha1 --gc-sections --fatal-warnings -T firmware/fw.ld -o $$@ \
		$$(filter %.o,$$^)

$(FW)/$1.bin: $(FW)/$1.elf $(BUILD)/npu-fw-pack
	$$(call say,PACK,$$@)
	$$(Q)$(BUILD)/npu-fw-pack --version $(VERSION) $$< $$@
endef
$(eval $(call firmware-rule,npu_fw,))
$(foreach m,$(FW_MUTANTS),$(eval $(call firmware-rule,mutant-$m,$(fw-flags-$m))))

$(BUILD)/npu-fw-pack: $(call obj,$(call src,firmware/pack))
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lz

-include $(wildcard $(FW)/*/*.d)
