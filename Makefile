# SPDX-License-Identifier: MIT
#
# The two commands a user needs are `make demo` and `make check`; both install what is missing.
# Their rules are in scripts/setup.mk and tests/build.mk.
# `make` alone builds the library and the tools; `make help` lists the rest.

# $(BUILD) may be anywhere; a sanitizer has one of its own.
BUILD	?= build
ifeq ($(origin CC),default)
CC	:= gcc
endif
SAN	?=
VERSION	:= 0.1.0

.PHONY: all
all:

# Before anything is asked of the compiler: it may be one of the packages that are missing.
include scripts/setup.mk

ARCH	:= $(shell $(CC) -dumpmachine | cut -d- -f1)

OPT	?= $(if $(SAN),-O1,-O2)
# Kernels are many unrolled variants of one loop: whole debug information, and under a sanitizer the
# checks of each variable's scope, would take the compiler longer than all the rest. Checks of
# memory stay.
KERNEL_OPT ?= $(if $(SAN),-O1,-O3) -g1
ifneq ($(findstring address,$(SAN)),)
KERNEL_OPT += -fno-sanitize-address-use-after-scope \
	      $(if $(findstring clang,$(CC)),,--param asan-stack=0)
endif
# All of UBSan beside ASan is minutes for a file of clang's; what stays out of it here, ASan sees in
# its own way.
ifneq ($(and $(findstring clang,$(CC)),$(findstring undefined,$(SAN))),)
KERNEL_OPT += -fno-sanitize=alignment,null,object-size,pointer-overflow
endif
CFLAGS	?= $(OPT) -g
WARN	:= -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	   -Wno-unused-parameter
# Results are the same bits everywhere: contraction would fuse where the written formula does not.
NUMERIC	:= -ffp-contract=off -fno-math-errno -fno-trapping-math
INC	:= -Iuapi -Itools/vnpu/engine -Ilibnpu/include -Ilibnpu -I$(BUILD)/gen -I.
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -DNPU_VERSION='"$(VERSION)"' -pthread -fPIC \
	     -fvisibility=hidden $(WARN) $(NUMERIC) $(INC) \
	     $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
	     $(CFLAGS)
ALL_LDFLAGS = -pthread $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)

# Kernel files that are compiled for one instruction set only; run-time dispatch picks among them.
ISA_FLAGS_avx2	 := $(KERNEL_OPT) -mavx2 -mfma -mf16c -mprefer-vector-width=256
ISA_FLAGS_avx512 := $(KERNEL_OPT) -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c -mavx2 \
		     -mprefer-vector-width=512
ISA_FLAGS_avxvnni := $(ISA_FLAGS_avx2) -mavxvnni
ISA_FLAGS_avx512vnni := $(ISA_FLAGS_avx512) -mavx512vnni
ISA_FLAGS_portable := $(KERNEL_OPT)
ifneq ($(ARCH),x86_64)
skip-isa	:= %_avx2.c %_avx512.c %_avxvnni.c %_avx512vnni.c
endif
isa-flags	= $(ISA_FLAGS_$(lastword $(subst _, ,$(basename $(notdir $1)))))

# Commands are shown in short; V=1 shows them in full.
V	?= 0
ifeq ($(V),0)
Q	:= @
say	= @printf '  %-5s %s\n' $1 $2
endif

src		= $(filter-out $(skip-isa),$(wildcard $(addsuffix /*.c,$1)))
obj		= $(patsubst %.c,$(BUILD)/obj/%.o,$1)

include libnpu/build.mk
include tools/build.mk
include firmware/build.mk
include tests/build.mk
include bench/build.mk
include scripts/guest.mk
include driver/build.mk
include $(wildcard fuzz/build.mk)
include Documentation/build.mk

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(call isa-flags,$<) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<

-include $(shell test -d $(BUILD)/obj && find $(BUILD)/obj -name '*.d')

## make clean		remove what was built, but not what was fetched (make distclean)
.PHONY: clean distclean help
clean:
	test ! -d $(BUILD) || find $(BUILD) -mindepth 1 -maxdepth 1 ! -name models ! -name guest \
		! -name 'llama-root*' \
		-exec rm -rf --one-file-system {} +
	test ! -d $(BUILD)/guest || find $(BUILD)/guest -mindepth 1 -maxdepth 1 ! -name root \
		! -name kselftest -exec rm -rf --one-file-system {} +

distclean:
	rm -rf --one-file-system $(BUILD)

help:
	@sed -n 's/^##  *//p' $(MAKEFILE_LIST)
