// SPDX-License-Identifier: MIT
/*
 * A text's session in a file. All tokens of the text are in it, the last one too, which nothing had
 * to be run for; so a session that is loaded has its last token run again when nothing follows it.
 */
#include <errno.h>
#include <stdlib.h>
#include "core/error.h"
#include "llm.h"
#include "tools/common/file.h"

/* More than the state of a full context has, so that no other file is read whole. */
static size_t state_limit(const struct model *m)
{
	uint64_t positions = (uint64_t)m->info.context + m->info.block, bytes;

	if (__builtin_mul_overflow(positions, m->info.kv_per_token + sizeof(int32_t), &bytes) ||
	    bytes > SIZE_MAX / 2)
		return SIZE_MAX / 2;
	return (size_t)bytes + 4096;
}

int session_load(const struct model *m, const char *path, struct npu_llm_session **s,
		 struct npu_error *err)
{
	uint8_t *data = NULL;
	size_t size;
	int ret = npu_file_read(path, state_limit(m), &data, &size, err);

	if (ret)
		return ret;
	ret = npu_llm_session_load(m->llm, data, size, s, err);
	free(data);
	return ret ? npu_error_prefix(err, ret, "%s", path) : 0;
}

int session_save(struct generation *g, const char *path, struct npu_error *err)
{
	uint32_t length = npu_llm_session_length(g->s);
	void *data;
	size_t size;
	int ret = 0;

	if (g->last >= 0 && length < g->m->info.context)
		ret = npu_llm_prefill(g->s, &g->last, 1, NULL, err);
	ret = ret ?: npu_llm_session_save(g->s, &data, &size, err);
	if (ret)
		return npu_error_prefix(err, ret, "%s is not written", path);
	ret = npu_file_write(path, data, size, err);
	free(data);
	return ret;
}
