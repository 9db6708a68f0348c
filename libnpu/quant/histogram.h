/* SPDX-License-Identifier: MIT */
/*
 * How the values of a tensor are distributed over the calibration samples, and the range that an
 * 8-bit code should cover.
 *
 * Bins are [k, k + 1) * 2^exp with one exp for all, the smallest at which the data fit into
 * NPU_HISTOGRAM_BINS of them. A value that does not fit doubles the width of every bin, which is
 * exact, so the result depends on the values alone and not on their order. Pure: no global state,
 * one thread per histogram.
 */
#ifndef NPU_QUANT_HISTOGRAM_H
#define NPU_QUANT_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "npu_compiler.h"

#define NPU_HISTOGRAM_BINS	2048

struct npu_histogram {
	uint64_t count;		/* finite values */
	uint64_t zeros;		/* of them exactly 0, which every range represents exactly */
	uint64_t not_finite;	/* NaN and infinite values, in no bin */
	float min, max;		/* of the finite ones; 0 when there are none */
	int exp;
	int64_t first;		/* k of bin[0] */
	uint64_t bin[NPU_HISTOGRAM_BINS];
};

/* Add @count values. A histogram starts zeroed. */
void npu_histogram_add(struct npu_histogram *h, const float *value, size_t count);

/* Add all that @from has seen to @to. */
void npu_histogram_merge(struct npu_histogram *to, const struct npu_histogram *from);

/* Share of the finite values outside of [lo, hi], to the accuracy of a bin. */
double npu_histogram_outside(const struct npu_histogram *h, float lo, float hi);

/* Values that codes stand for: real = (code - zero_point) * scale. */
struct npu_qrange {
	float lo, hi;		/* lo <= 0 <= hi: zero is always exact */
};

/*
 * npu_range_choose - the range of @h by @method
 * @percentile: for NPU_CALIB_PERCENTILE, 50..100: up to 100 - percentile percent of the values may
 *	lie below the range and as many above it
 *
 * NPU_CALIB_AUTO is not one here. A histogram without values gives [0, 0].
 */
struct npu_qrange npu_range_choose(const struct npu_histogram *h, enum npu_calib_method method,
				   double percentile);

/*
 * Scale and zero point of the 256 codes from @code_lo (0 for u8, -128 for i8) that cover the range.
 * The scale is positive, normal and finite also for [0, 0].
 */
void npu_range_code(struct npu_qrange r, int code_lo, float *scale, int32_t *zero_point);

#endif
