// SPDX-License-Identifier: MIT
/* What a model is, and what it will take of memory: from the file's tables, nothing is loaded. */
#include <stdio.h>
#include "core/error.h"
#include "llm.h"

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

int run_info(const struct model *m, struct npu_error *err)
{
	struct npu_llm_memory most = NPU_INIT(most), one = NPU_INIT(one);
	const struct npu_llm_info *i = &m->info;
	int ret;

	one.sequences = one.logits = 1;
	ret = npu_llm_memory(m->llm, &most);
	ret = ret ?: npu_llm_memory(m->llm, &one);
	if (ret)
		return npu_error_set(err, ret, "this npu-llm and its library do not fit together");
	printf("%s%s%s: %u layers, vocabulary of %u, context of %u; device: %s\n", i->arch, *i->name ? " " : "",
	       i->name, i->num_layers, i->vocab, i->context, i->device);
	printf("a step: at most %u tokens of %u sequences, %u rows with logits\n", i->max_rows,
	       i->max_sequences, i->max_logits);
	printf("memory in MiB, at the largest step (of one text at a time):\n");
	printf("  weights    %10.2f\n", mib(most.weights));
	printf("  KV cache   %10.2f  %u tokens, %.2f KiB each, %s\n", mib(most.kv),
	       i->npu_blocks * i->block, (double)i->kv_per_token / 1024, i->kv_type);
	if (i->npu_blocks < i->num_blocks)
		printf("  of the host%9.2f  at most, for %llu tokens of all texts\n", mib(most.kv_host),
		       (unsigned long long)i->num_blocks * i->block);
	printf("  scratch    %10.2f  (%.2f) inputs and outputs included\n", mib(most.scratch), mib(one.scratch));
	printf("  program    %10.2f  and tables of the host %.2f\n", mib(most.program), mib(most.host));
	printf("  in all     %10.2f  (%.2f)\n", mib(most.total), mib(one.total));
	if (most.process)
		printf("  beside it  %10.2f  code, libraries and heap of this program\n", mib(most.process));
	if (most.available == UINT64_MAX)
		printf("  available     unknown\n");
	else
		printf("  available  %10.2f%s\n", mib(most.available),
		       most.total > most.available ? "  too little" : "");
	return 0;
}
