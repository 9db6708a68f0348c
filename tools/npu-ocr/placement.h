/* SPDX-License-Identifier: MIT */
#ifndef OCR_PLACEMENT_H
#define OCR_PLACEMENT_H

#include "net.h"

/*
 * Take the totals out of the compiler's report that a job file carries (JSON). Operators that were
 * folded at compile time are not counted, since nothing runs them. A report that cannot be read
 * leaves zeros.
 */
void ocr_placement_parse(const char *json, struct ocr_placement *placement);

#endif
