/* SPDX-License-Identifier: MIT */
#ifndef TEST_TMP_H
#define TEST_TMP_H

/*
 * A new folder for the files of a test in $TMPDIR, or in /tmp; it is removed with all that is in it
 * when the program ends. Without one the test can not go on: ends the program. One per program, the
 * same at every call.
 */
const char *tmp_folder(void);
/* The file @name in it, which need not be there; good until eight more were asked for. */
const char *tmp_path(const char *name);

#endif
