/* SPDX-License-Identifier: MIT */
/* Whole files: read with a limit, written so that a reader sees the old file or the new one. */
#ifndef TOOLS_FILE_H
#define TOOLS_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/*
 * Read the file @path into a buffer from malloc() (the caller frees it). One byte more than @len is
 * allocated and zero, so that text can be used as a string. Pipes and devices work as well as
 * regular files. Errors: -EFBIG when it is longer than @limit bytes, -ENOMEM, or what open() and
 * read() said.
 */
int npu_file_read(const char *path, size_t limit, uint8_t **data, size_t *len,
		  struct npu_error *why);

/*
 * The same with a limit that follows from what the file is: @limit is called once with the first
 * bytes, NPU_FILE_HEAD or more unless the file is shorter.
 */
#define NPU_FILE_HEAD	16u
int npu_file_read_by_head(const char *path,
			  size_t (*limit)(void *ctx, const uint8_t *head, size_t len), void *ctx,
			  uint8_t **data, size_t *len, struct npu_error *why);

/*
 * Write @len bytes to @path through a temporary file in the same directory and a rename, so that a
 * crash or a second writer never leaves half a file behind. The mode is 0644 less the umask. What a
 * symbolic link points to is replaced, not the link; a pipe or a device is written to directly.
 */
int npu_file_write(const char *path, const void *data, size_t len, struct npu_error *why);

/* Make the directory @path and its parents (0755 less the umask); one that exists is no error. */
int npu_file_mkdirs(const char *path, struct npu_error *why);

#endif
