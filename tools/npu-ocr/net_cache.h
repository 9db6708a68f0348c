/* SPDX-License-Identifier: MIT */
/*
 * Where a compiled network is kept: a file whose name says everything that its content depends on.
 */
#ifndef OCR_NET_CACHE_H
#define OCR_NET_CACHE_H

#include "net.h"

/*
 * The job file for the model bytes @model compiled for @spec: DIR/NAME-KEY.npu, where KEY digests
 * the model, the shapes, @variant (the precision and all that goes with it) and the build of this
 * program (which holds the compiler). -ENAMETOOLONG when it does not fit into @size.
 */
int ocr_cache_path(const char *dir, const struct ocr_net_spec *spec, const char *shape,
		   const char *variant, const void *model, size_t len, char *path, size_t size,
		   struct npu_error *why);

#endif
