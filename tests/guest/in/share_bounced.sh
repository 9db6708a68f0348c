#!/bin/sh
# SPDX-License-Identifier: MIT
exec "${0%/*}/share.sh" /dev/accel/accel0 bounced
