#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest, whose kernel is told to copy all that devices read or write (swiotlb=force), but has an IOMMU,
# behind which it does not: frames are the camera's own, and no word about copies.
. "${0%/*}/ktap.sh"
. "${0%/*}/camera_lib.sh"

load_camera vmalloc
dump forced yuyv 640x480 $single
ktap_is "$(sed -n 's/.*"copied_bytes":\([0-9]*\).*/\1/p' $tmp/out)" 0 no_byte_is_copied
ktap_is "$(counter bounced-imports)" 0 nothing_is_bounced
unload_camera
ktap_done
