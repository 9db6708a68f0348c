#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# probe.sh OUTPUT COMPILER FLAGS...: find out by compiling what the kernel has, and write a header
# of HAVE_* for driver/npu_compat.h. Called by driver/Kbuild with the flags of a module.
set -u

output=$1
shift
snippet=$output.probe.c
trap 'rm -f "$snippet"' EXIT

# Does the snippet on standard input compile?
compiles()
{
	cat > "$snippet"
	"$@" -Wno-missing-prototypes -Wno-missing-variable-declarations -fsyntax-only "$snippet" \
		2> "$output.probe.log"
}

have()
{
	name=$1
	shift
	if compiles "$@"; then
		echo "#define HAVE_$name 1"
	else
		echo "/* HAVE_$name is not there */"
	fi
}

# With a broken compiler or kernel each probe would say no.
if ! echo '#include <drm/drm_drv.h>' | compiles "$@"; then
	cat "$output.probe.log" >&2
	echo "probe.sh: nothing compiles against this kernel" >&2
	exit 1
fi

{
	echo '/* Made by scripts/probe.sh. */'

	# The string compiles everywhere, and means something else where this does, too.
	have IMPORT_NS_TOKEN "$@" <<-'END'
	#include <linux/module.h>
	MODULE_IMPORT_NS(DMA_BUF);
	END

	have DRIVER_GEM_GPUVA "$@" <<-'END'
	#include <drm/drm_drv.h>
	int features = DRIVER_GEM_GPUVA;
	END

	have DRM_DRIVER_DATE "$@" <<-'END'
	#include <drm/drm_drv.h>
	const struct drm_driver driver = { .date = "date" };
	END

	have GPUVM_BO_OBTAIN_LOCKED "$@" <<-'END'
	#include <drm/drm_gpuvm.h>
	void *f(void) { return drm_gpuvm_bo_obtain_locked; }
	END

	have GPUVM_MAP_REQ "$@" <<-'END'
	#include <drm/drm_gpuvm.h>
	struct drm_gpuvm_map_req req;
	END

	have GEM_HUGE_MNT "$@" <<-'END'
	#include <drm/drm_gem.h>
	int f(struct drm_device *drm) { return drm_gem_huge_mnt_create(drm, "within_size"); }
	END
} > "$output.tmp"
rm -f "$output.probe.log"
mv "$output.tmp" "$output"
