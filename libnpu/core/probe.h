/* SPDX-License-Identifier: MIT */
/*
 * Looking at the machine without opening anything: what stands at /dev/accel, and whether it can be
 * used. Pure functions of the file system below @root ("" is the real one; tests and npu-run
 * --doctor --root use others). Thread safe.
 */
#ifndef NPU_CORE_PROBE_H
#define NPU_CORE_PROBE_H

#include <stdbool.h>
#include "npu.h"

#define NPU_PROBE_NODES	64u		/* of /dev/accel that are looked for */

/* Whether node accel@n is there. */
bool npu_probe_node_exists(const char *root, unsigned int n);

/* The kernel's name for what drives accel@n, "unknown" when it does not say. */
void npu_probe_driver(const char *root, unsigned int n, char *name, size_t size);

/*
 * An accel node that no backend claimed: uri and name, and in status and reason what is in the way.
 */
void npu_probe_node(const char *root, unsigned int n, struct npu_device_candidate *out);

#endif
