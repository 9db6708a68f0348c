/* SPDX-License-Identifier: MIT */
#ifndef TESTS_GUEST_SHARE_UNBIND_H
#define TESTS_GUEST_SHARE_UNBIND_H

/* The device is taken from its driver while memory is shared, both ways, and given back to it. */
void test_unbind(const char *uri);

#endif
