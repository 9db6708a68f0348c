/* SPDX-License-Identifier: MIT */
#ifndef TESTS_GUEST_SHARE_GIVE_H
#define TESTS_GUEST_SHARE_GIVE_H

/*
 * SOURCE OFFSET FILE PROGRAM...: run the program with descriptor 9, a dma-buf of a row of
 * sources[], which has the file's bytes at OFFSET and 0xee elsewhere. Returns only when it can not:
 * the exit status.
 */
int share_give(char **words);

#endif
