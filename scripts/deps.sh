#!/bin/bash
# SPDX-License-Identifier: MIT
#
# deps.sh LEVEL: see that everything a level needs is on this machine, and install what is missing.
#
# LEVEL is build (library and tools), demo, check, guest, firmware, fuzz or tidy; each of the others
# includes build. With apt the missing packages are installed (through sudo when not root). Anywhere
# else, or with NPU_NO_INSTALL=1, they are listed with what each is for, and the exit status is 1.
# Everything is probed by file, never by package database: what was built by hand counts, and it
# takes a few milliseconds.
set -u

# levels : Debian package : probe : what it is needed for. Probes: cmd=program, hdr=header,
# file=path (a pattern). Alternatives are separated by '|'. CC replaces gcc when it is set.
table()
{
	cat <<-'EOF'
	build:gcc:cmd=CC:compiling
	build:libc6-dev:hdr=stdio.h:compiling
	build:make:cmd=make:building
	build:protobuf-c-compiler:cmd=protoc-c:generating the ONNX reader
	build:libprotobuf-c-dev:hdr=protobuf-c/protobuf-c.h:the ONNX reader
	build:libonnx-dev:hdr=onnx/onnx.proto|onnx/onnx-ml.proto:onnx.proto, the description of the ONNX format
	build:libdrm-dev:hdr=libdrm/drm.h:talking to the kernel driver
	build:zlib1g-dev:hdr=zlib.h:check sums of job files
	build:libpng-dev:hdr=png.h:PNG pictures in the tools
	build:libjpeg-dev:hdr=jpeglib.h:JPEG pictures in the tools
	build:libcjson-dev:hdr=cjson/cJSON.h:JSON in the tools
	build:libmicrohttpd-dev:hdr=microhttpd.h:the HTTP server of npu-llm
	demo,check:npm:cmd=npm:fetching the models
	demo,check:nodejs:cmd=node:running ONNX Runtime, the reference
	demo,check:ca-certificates:file=/etc/ssl/certs/ca-certificates.crt|/etc/pki/tls/certs/ca-bundle.crt:fetching the models
	demo,check,guest:dpkg:cmd=dpkg-deb:unpacking the sample pictures, and the guest
	demo,check,guest:debian-archive-keyring:file=/usr/share/keyrings/debian-archive-keyring.gpg|/usr/share/keyrings/debian-archive-keyring.pgp:checking the origin of sample pictures and guest
	guest:apt:cmd=apt-get:fetching the guest
	check,guest:util-linux:cmd=unshare:building modules in the guest's root
	check:perl:cmd=prove:running the tests
	check:pkg-config:cmd=pkg-config:testing that a program can link to libnpu
	check,firmware:clang:cmd=clang:compiling the firmware
	check,firmware:lld:cmd=ld.lld:linking the firmware
	check:qemu-user:cmd=qemu-riscv32:the reference of the management processor
	check:llvm:cmd=llvm-mc:which encodings are instructions of the management processor
	check:gdb-multiarch:cmd=gdb-multiarch:debugging the firmware
	check:libfreetype-dev:hdr=freetype2/ft2build.h:rendering the pages that accuracy is measured on
	fuzz:clang:cmd=clang:the libFuzzer targets
	fuzz:libclang-rt-dev:file=/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a|/usr/lib*/clang/*/lib/*/libclang_rt.fuzzer*.a:libFuzzer itself
	tidy:clang-tidy:cmd=clang-tidy:static analysis
	EOF
}

die()
{
	printf 'deps.sh: %s\n' "$*" >&2
	exit 1
}

have_header()
{
	local dir

	for dir in /usr/include /usr/local/include /usr/include/*-linux-gnu* \
		${CPATH:+${CPATH//:/ }}; do
		[ -e "$dir/$1" ] && return 0
	done
	return 1
}

# probe SPEC: is one of the alternatives here?
probe()
{
	local kind=${1%%=*} alt alts

	IFS='|' read -ra alts <<<"${1#*=}"
	for alt in "${alts[@]}"; do
		case $kind in
		cmd)	[ "$alt" = CC ] && alt=${CC:-gcc} && alt=${alt%% *}
			command -v "$alt" >/dev/null && return 0 ;;
		hdr)	have_header "$alt" && return 0 ;;
		file)	compgen -G "$alt" >/dev/null && return 0 ;;
		esac
	done
	return 1
}

# Fill missing[] with the packages of level $1 and missing_text with one line for each.
find_missing()
{
	local levels package spec why

	missing=()
	missing_text=
	while IFS=: read -r levels package spec why; do
		case ,$levels, in
		*,build,*|*",$1,"*)
			probe "$spec" && continue
			missing+=("$package")
			missing_text+=$(printf '  %-24s %s' "$package" "$why")$'\n' ;;
		esac
	done < <(table)
}

# Any package list at all? A minimal image comes without, and then apt-get knows no package.
have_lists()
{
	compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null
}

list_missing()
{
	printf 'Missing on this machine (names of the Debian packages):\n%s' "$missing_text" >&2
}

install_missing()
{
	local sudo=() apt

	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null && sudo -v || {
			list_missing
			die "not root, and sudo does not work; as root: apt-get install ${missing[*]}"
		}
		sudo=(sudo)
	fi
	printf 'Installing what is missing:\n%s' "$missing_text" >&2
	apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
	if ! have_lists || ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" \
		</dev/null; then
		# Either there were no lists or they are too old to name files that still exist.
		"${apt[@]}" update </dev/null || die "apt-get update failed"
		"${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null ||
			die "apt-get could not install: ${missing[*]}"
	fi
}

level=${1:-}
case $level in
build|demo|check|guest|firmware|fuzz|tidy) ;;
*)	die "usage: deps.sh build|demo|check|guest|firmware|fuzz|tidy" ;;
esac

find_missing "$level"
[ ${#missing[@]} = 0 ] && exit 0

if [ -n "${NPU_NO_INSTALL:-}" ] || ! command -v apt-get >/dev/null; then
	list_missing
	exit 1
fi
install_missing >&2
find_missing "$level"
[ ${#missing[@]} = 0 ] || die "installed, but still not found:"$'\n'"$missing_text"
