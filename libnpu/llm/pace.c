// SPDX-License-Identifier: MIT
/* How long drafts are, and when none is made. */
#include "llm/speculate.h"

#define MAX_PAUSE	15	/* steps without a draft after a failure */
#define LOSS		0.03125	/* of the time that drafts may cost in the long run */
#define MAX_PURSE	4	/* steps' time that drafts have saved, to be lost again */

void npu_llm_pace_init(struct npu_llm_pace *p)
{
	*p = (struct npu_llm_pace){ .length = 1, .purse = 1 };
}

void npu_llm_pace_earn(struct npu_llm_pace *p, double steps)
{
	p->purse = p->purse + steps < MAX_PURSE ? p->purse + steps : MAX_PURSE;
}

uint32_t npu_llm_pace_next(struct npu_llm_pace *p, uint32_t max)
{
	npu_llm_pace_earn(p, LOSS);
	if (p->wait) {
		p->wait--;
		return 0;
	}
	if (p->purse < 0)
		return 0;
	return p->length < max ? p->length : max;
}

void npu_llm_pace_judge(struct npu_llm_pace *p, uint32_t drafted, uint32_t accepted, uint32_t max)
{
	if (!accepted) {	/* longer waits up to a bound while drafts are of no use */
		p->pause = p->pause < MAX_PAUSE ? 2 * p->pause + 1 : MAX_PAUSE;
		p->wait = p->pause;
		p->length = p->length / 2 ? p->length / 2 : 1;
		return;
	}
	p->pause = 0;
	if (accepted < drafted)
		p->length = accepted + 1;
	else if (accepted >= p->length)
		p->length *= 2;
	p->length = p->length < max ? p->length : max;
}
