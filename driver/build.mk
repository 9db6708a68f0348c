# SPDX-License-Identifier: GPL-2.0-only
# The kernel driver; Kbuild does the work, scripts/modules.sh calls it.

## make modules		npu.ko for the kernels of the guest (KDIR=/lib/modules/$(uname -r)/build: for one here)
.PHONY: modules
modules: $(if $(KDIR),,guest-root)
	$(Q)NPU_BUILD=$(abspath $(BUILD)) KDIR=$(KDIR) scripts/modules.sh $(if $(Q),-s) -j$(shell nproc) $(if $(W),W=$(W)) $(if $(C),C=$(C))

## make lint		driver/, uapi/ and selftests/ by sparse, W=1, checkpatch.pl and coccinelle (LINT="checkpatch 7.3" picks)
.PHONY: lint
lint: guest-root
	$(Q)scripts/lint.sh $(LINT)
