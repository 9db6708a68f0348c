// SPDX-License-Identifier: MIT
/* Whether constants survive as f16. */
#include <math.h>

#include "compiler/half.h"
#include "npu_half.h"

void npu_half_fit_add(struct npu_half_fit *fit, float f)
{
	float back;

	f = fabsf(f);
	if (isinf(f))
		return;	/* kept as it is */
	if (!(f < 65520.0f)) {
		fit->overflow = true;
		return;
	}
	fit->top = f > fit->top ? f : fit->top;
	if (f >= 0x1p-14f)
		return;
	back = fabsf(npu_half_widen(npu_half_narrow(f)) - f);
	fit->lost = back > fit->lost ? back : fit->lost;
}
