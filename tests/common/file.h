/* SPDX-License-Identifier: MIT */
#ifndef TEST_FILE_H
#define TEST_FILE_H

#include <stddef.h>

/* A whole file and a zero behind it, to be freed by the caller; NULL when it can not be read. */
void *test_read_file(const char *path, size_t *size);

#endif
