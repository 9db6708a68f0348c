#!/bin/sh
# SPDX-License-Identifier: MIT
exec "${0%/*}/share.sh" sim
