#!/bin/bash
# SPDX-License-Identifier: MIT
exec node tests/accuracy/ocr_tap.js
