# SPDX-License-Identifier: MIT
# The guest that the driver is built for and tried in: see Documentation/guest.md.

# What is fetched for it lives outside $(BUILD): a sanitizer's build uses the same.
NPU_GUEST	?= $(CURDIR)/build/guest
export NPU_GUEST

## make guest-root	unpack Debian 13 with QEMU, two kernels and their compiler (WITH=sparse,... adds packages)
.PHONY: guest-root
guest-root:
	@scripts/guest-root.sh $(if $(WITH),--with $(WITH))

# A script, so it is linked to.
$(BUILD)/npu-qemu: tools/npu-qemu/npu-qemu
	@mkdir -p $(@D)
	@ln -sfn $(abspath $<) $@
all: $(BUILD)/npu-qemu

## make guest		a guest with a virtual NPU and a shell (GUEST='--iommu intel --share .' has options)
.PHONY: guest
guest: all firmware modules
	@$(BUILD)/npu-qemu $(GUEST)

# A guest that cannot be had fails or skips its own tests, not all the others'.
.PHONY: check-guest
check-guest: firmware $(BUILD)/tests/guest/wrong_firmware \
		$(addprefix $(BUILD)/tests/llm/test_,sessions memory offload)
	-@scripts/guest-root.sh && scripts/modules.sh -s >/dev/null

## make selftests	build the kernel driver's selftests for the guest
.PHONY: selftests
selftests: guest-root
	@scripts/guest-selftests.sh
