// SPDX-License-Identifier: MIT
/*
 * Drafts by look-up in the tokens so far. The search goes over them from the end, which is some
 * microseconds for some thousand tokens, and needs no index that cuts and forks would have to keep.
 */
#include "llm/speculate.h"

/* How many tokens before @end are those before @num. */
static uint32_t common(const int32_t *tokens, size_t num, size_t end)
{
	uint32_t n = 0;

	while (n < NPU_LLM_LOOKUP_MATCH && n < end && tokens[end - 1 - n] == tokens[num - 1 - n])
		n++;
	return n;
}

uint32_t npu_llm_lookup(const int32_t *tokens, size_t num, uint32_t min_match, uint32_t max,
			int32_t *draft, uint32_t *match)
{
	size_t end, from = 0, at;
	uint32_t best = 0, n, i;

	for (end = num; end-- > 1 && best < NPU_LLM_LOOKUP_MATCH;) {
		n = common(tokens, num, end);
		if (n > best) {
			best = n;
			from = end;
		}
	}
	*match = best;
	if (!best || best < min_match)
		return 0;
	for (i = 0; i < max; i++) {
		at = from + i;
		draft[i] = at < num ? tokens[at] : draft[at - num];
	}
	return max;
}
