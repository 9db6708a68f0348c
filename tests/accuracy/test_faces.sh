#!/bin/bash
# SPDX-License-Identifier: MIT
exec node tests/accuracy/faces_tap.js
