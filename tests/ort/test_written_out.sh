#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Operators that the compiler writes out as several nodes, random ones in f32, beside ONNX Runtime.
. tests/tap.sh

scripts/models.sh ort || exit 1

mkdir "$tap_tmp/cases"
tap_run "random models of every operator compile for the NPU and run" \
	"$NPU_BUILD/tests/compiler/test_written_out" --write "$tap_tmp/cases" 100
out=$(node tests/ort/ort_cases.js "$tap_tmp/cases" --floats 2e-5 2>&1)
tap_result $? "they give what ONNX Runtime gives" || true
tap_diag "$out"
tap_done
