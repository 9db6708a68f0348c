#!/bin/bash
# SPDX-License-Identifier: MIT
#
# On a machine without a compiler the first `make` installs one, and must then build the same files
# as any later one. Here the compiler is "npu-cc", and an apt-get of the test's puts it in place.
. tests/tap.sh

cc=${CC:-gcc}
cc=$(command -v "${cc%% *}")
mkdir "$tap_tmp/bin"
printf '#!/bin/sh\n[ "$1" = -v ] || exec "$@"\n' >"$tap_tmp/bin/sudo"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$cc" >"$tap_tmp/cc"
cat >"$tap_tmp/bin/apt-get" <<EOF
#!/bin/sh
case " \$* " in *" install "*" gcc "*) cp "$tap_tmp/cc" "$tap_tmp/bin/npu-cc" ;; esac
EOF
chmod +x "$tap_tmp/cc" "$tap_tmp/bin/"*

# members COMPILER: what libnpu.a is made of. -q makes nothing, but it does install.
members()
{
	MAKEFLAGS= MAKELEVEL= NPU_NO_INSTALL= PATH="$tap_tmp/bin:$PATH" make -qp \
		--no-print-directory CC="$1" \
		BUILD="$tap_tmp/build" lib 2>/dev/null | grep "^$tap_tmp/build/libnpu.a: " |
		tr ' ' '\n'
}

first=$(members npu-cc)
[ -x "$tap_tmp/bin/npu-cc" ]
tap_result $? "the compiler is installed by the first make"
later=$(members "$cc")
tap_like "$(wc -l <<<"$later")" '^[1-9][0-9]{2}$' "a later make knows what the library is made of"
tap_is "$(diff <(echo "$first") <(echo "$later"))" "" "and the first one knows the same"
case $("$cc" -dumpmachine) in
x86_64*) tap_is "$(grep -c '_avx512\.o$' <<<"$first" | sed 's/[1-9][0-9]*/some/')" some \
	"AVX-512 is in it on x86-64" ;;
esac
tap_done
