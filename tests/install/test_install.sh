#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What `make install` puts in place is all that a program needs: headers, library and libnpu.pc, and
# the exported names are npu_* only.
. tests/tap.sh

root=$tap_tmp/root
tap_run "make install" make --no-print-directory BUILD="$NPU_BUILD" DESTDIR="$root" \
	PREFIX=/opt/npu install
export PKG_CONFIG_PATH=$root/opt/npu/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
flags=$(pkg-config --cflags --libs libnpu)
tap_like "$flags" "-I$root/opt/npu/include/npu .*-lnpu" "pkg-config names headers and library"
version=$(pkg-config --modversion libnpu)
for tool in npu-compile npu-llm npu-ocr npu-run npu-vdev; do
	tap_is "$("$NPU_BUILD/$tool" --version)" "$tool $version, libnpu $version" \
		"libnpu.pc and $tool have one version"
done

# Each header stands alone, in C and in C++ where there is a compiler for it.
for header in "$root"/opt/npu/include/npu/npu*.h; do
	name=${header##*/}
	# a header may have macros only
	printf '#include <%s>\nextern int declaration;\n' "$name" >"$tap_tmp/one.c"
	tap_run "<$name> compiles alone, pedantic C11" ${CC:-gcc} -std=c11 -Wall -Wextra \
		-pedantic-errors -Werror \
		$(pkg-config --cflags libnpu) -fsyntax-only "$tap_tmp/one.c"
	if [[ $name != npu_isa* ]] && command -v g++ >/dev/null; then
		tap_run "<$name> compiles as C++" g++ -Wall -Wextra \
			-Werror $(pkg-config --cflags libnpu) \
			-fsyntax-only -x c++ "$tap_tmp/one.c"
	fi
done

cat >"$tap_tmp/use.c" <<'EOF'
#include <npu.h>
#include <stdio.h>

int main(void)
{
	struct npu_device *dev;
	struct npu_error why;
	int err = npu_device_open("sim:threads=1", NULL, &dev, &why);

	printf("open: %d\n", err);
	if (!err)
		npu_device_close(dev);
	return !!err;
}
EOF
tap_run "a program links to the shared library" ${CC:-gcc} -o "$tap_tmp/use" "$tap_tmp/use.c" $flags
tap_is "$(LD_LIBRARY_PATH=$root/opt/npu/lib "$tap_tmp/use" 2>&1)" "open: 0" \
	"and opens the in-process device"
tap_run "a program links to the static library" ${CC:-gcc} -o "$tap_tmp/use-static" \
	"$tap_tmp/use.c" \
	$(pkg-config --static --cflags --libs libnpu | sed 's/-lnpu\b/-l:libnpu.a/')
tap_is "$("$tap_tmp/use-static" 2>&1)" "open: 0" "and does the same"

names=$(nm -D --defined-only "$root/opt/npu/lib/libnpu.so" | awk '$2 != "A" { print $3 }')
tap_like "$names" 'npu_' "the shared library exports names"
tap_is "$(grep -v '^npu_' <<<"$names")" "" "all of them in its name space"
tap_is "$(readelf -S "$root"/opt/npu/bin/npu-run "$root/opt/npu/lib/"libnpu.{so.0,a} | grep -c '\.debug_')" 0 \
	"no debug information is installed"
tap_like "$(readelf -d "$root/opt/npu/lib/libnpu.so" | grep SONAME)" '\[libnpu\.so\.0\]' \
	"its soname is libnpu.so.0"

# npu-qemu finds its scripts beside itself, and looks for the guest in the cache.
tap_like "$("$root/opt/npu/bin/npu-qemu" --help 2>&1)" "--iommu KIND" "npu-qemu is installed"
cat >"$tap_tmp/qemu" <<'EOF'
#!/bin/sh
echo 'name "vfio-user-pci"'
EOF
chmod +x "$tap_tmp/qemu"
tap_like "$(env -u NPU_BUILD -u NPU_GUEST -u XDG_CACHE_HOME HOME="$tap_tmp/home" "$root/opt/npu/bin/npu-qemu" --npus 0 \
	--qemu "$tap_tmp/qemu" 2>&1)" "no guest in $tap_tmp/home/.cache/npu/guest" "which looks for the guest in the cache folder"
tap_done
