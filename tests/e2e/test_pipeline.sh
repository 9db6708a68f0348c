#!/bin/bash
# SPDX-License-Identifier: MIT
exec node tests/e2e/pipeline_tap.js
