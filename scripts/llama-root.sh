#!/bin/bash
# SPDX-License-Identifier: MIT
#
# llama-root.sh: unpack build/llama-root, the llama.cpp tools of Debian sid with the libraries that
# they need: what language models are held against in tests and benchmarks.
# llama-root.sh run PROGRAM ARGUMENT...: one of them (llama-tokenize, llama-perplexity,
# llama-completion, llama-quantize, llama-bench ...) on this machine's files.
#
# The packages are unpacked and never configured, as by guest-root.sh: no root, no chroot and no
# mounts are needed. Sid moves: whoever compares figures gives the version, `llama-root.sh version`.
# A root that is complete is left alone. NPU_LLAMA names another folder, NPU_DEBIAN_MIRROR another
# mirror. The exit status is 2 where the root cannot be made (no apt, no mirror), so that a test can
# say that it skips.
set -u
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/apt-lib.sh"

packages=(llama.cpp-tools llama.cpp-tools-extra libggml0-backend-blas libopenblas0-pthread)
# Grows when the same packages make another root.
recipe=1
# Left out of each package: what these programs have no use for.
leave_out=(usr/share/{doc,info,locale,man,lintian,bash-completion,zsh,fish,perl,perl5,icu} \
	usr/lib/debug)

llama_root=${NPU_LLAMA:-$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../build/llama-root}
lib=usr/lib/x86_64-linux-gnu

say()
{
	printf '%s\n' "llama-root: $*" >&2
}

die()
{
	say "$*"
	exit 2
}

fetch()
{
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
		die "apt-get and dpkg-deb are needed to fetch llama.cpp"
	[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] ||
		die "llama.cpp is fetched for amd64 only"
	apt_setup "$apt" sid
	say "reading the package lists of Debian sid"
	apt-get -q -o APT::Update::Error-Mode=any update >"$log" 2>&1 ||
		die "apt-get update failed for Debian sid:"$'\n'"$(tail -n 5 "$log")"
	say "fetching ${packages[*]}"
	apt-get -q -y --download-only install "${packages[@]}" >"$log" 2>&1 ||
		die "apt-get could not fetch the packages:"$'\n'"$(grep -v '^Get:' "$log" | tail -n 20)"
}

unpack()
{
	local dir archive option=()

	for dir in "${leave_out[@]}"; do
		option+=(--exclude="./$dir")
	done
	rm -rf --one-file-system "$new"
	mkdir -p "$new/usr"/{bin,sbin,lib,lib64}
	for dir in bin sbin lib lib64; do
		ln -s "usr/$dir" "$new/$dir"
	done
	for archive in "$apt"/cache/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$archive" | tar -x -C "$new" -m --no-same-owner \
			--no-same-permissions --keep-directory-symlink "${option[@]}" ||
			die "$archive could not be unpacked (no space left?)"
	done
}

# What configuring the packages would have done. llama.cpp looks for its back ends beside the
# program that runs, which is the dynamic linker here.
finish()
{
	local backend

	for backend in "$new/$lib"/ggml/backends*/libggml-cpu*.so; do
		ln -sf "${backend#"$new/$lib/"}" "$new/$lib/"
	done
	basename -a "$apt"/cache/archives/llama.cpp-tools_*.deb | cut -d_ -f2 |
		sed 's/%3a/:/' >"$new/.version"
}

run()
{
	local program=$llama_root/usr/bin/$1 dir=$llama_root/$lib blas

	[ -x "$program" ] || die "no program $1 in $llama_root"
	blas=$(echo "$dir"/ggml/backends*/libggml-blas.so)
	[ -z "${NPU_LLAMA_BLAS:-}" ] || export GGML_BACKEND_PATH=$blas
	"$dir/ld-linux-x86-64.so.2" --argv0 "$1" \
		--library-path "$dir:$dir/llama:$dir/openblas-pthread" "$program" "${@:2}"
}

make_root()
{
	mkdir -p "$llama_root.work" || exit 2
	exec 9>"$llama_root.work/.lock"
	flock -n 9 || { say "waiting for another llama-root.sh"; flock 9; }
	[ "$(cat "$llama_root/.packages" 2>/dev/null)" = "recipe-$recipe ${packages[*]}" ] && return
	apt=$(cd "$llama_root.work" && pwd)/apt
	new=$llama_root.work/root
	log=$llama_root.work/log
	fetch
	say "unpacking"
	unpack
	finish
	llama_root=$new run llama-tokenize --help >/dev/null 2>"$log" ||
		die "llama-tokenize does not run:"$'\n'"$(tail -n 5 "$log")"
	echo "recipe-$recipe ${packages[*]}" >"$new/.packages"
	rm -rf --one-file-system "$llama_root"
	mv "$new" "$llama_root" || exit 2
	rm -rf --one-file-system "$llama_root.work/apt" "$log"
	say "$llama_root has llama.cpp $(cat "$llama_root/.version")"
}

case ${1:-} in
'')	make_root ;;
run)	[ $# -gt 1 ] || die "usage: llama-root.sh run PROGRAM ARGUMENT..."
	make_root && run "${@:2}" ;;
version) make_root && cat "$llama_root/.version" ;;
*)	die "usage: llama-root.sh [run PROGRAM ARGUMENT... | version]" ;;
esac
