# SPDX-License-Identifier: GPL-2.0-only
# The kernel driver; Kbuild does the work, scripts/modules.sh calls it.

## make modules		npu.ko for the kernels of the guest (KDIR=/lib/modules/$(uname -r)/build: for one here)
.PHONY: modules
modules: $(if $(KDIR),,guest-root)
	$(Q)NPU_BUILD=$(abspath $(BUILD)) KDIR=$(KDIR) scripts/modules.sh $(if $(Q),-s) -j$(shell nproc) $(if $(W),W=$(W)) $(if $(C),C=$(C))
