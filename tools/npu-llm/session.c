// SPDX-License-Identifier: MIT
/*
 * A text's session in a file: the text as it was shown. The last token is in it, too, which nothing
 * had to be run for, so a session that is loaded has it run again when nothing follows; a stop
 * string is not, though tokens of it were run.
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

/*
 * Of the reply's @num tokens at @ids: how many have nothing of the stop string, in *@keep, and the
 * bytes of text that these are.
 */
static int tokens_before_stop(const struct generation *g, const int32_t *ids, uint32_t num,
			      uint32_t *keep, size_t *bytes, struct npu_error *err)
{
	size_t room = NPU_TOKEN_STREAM_ROOM(g->m->vocab.max_piece), at = 0, n = 0;
	struct npu_token_stream stream = { .begun = g->begun };
	char *text = malloc(room);
	uint32_t i;
	int ret = 0;

	if (!text)
		return npu_error_set(err, -ENOMEM, "no memory for %zu bytes of text", room);
	for (i = 0; !ret && at <= g->reply.size; i++, at += n) {
		if (!stream.num_held) {
			*keep = i;
			*bytes = at;
		}
		if (i == num)
			break;
		ret = npu_token_stream_put(g->m->tok, &stream, ids[i], 0, text, room, &n, err);
	}
	free(text);
	return ret;
}

/*
 * The session ends where the text does: what a token of the stop string has before it is text, too.
 */
static int cut_stop(struct generation *g, struct npu_error *err)
{
	uint32_t length = npu_llm_session_length(g->s), keep = 0;
	size_t bytes = 0, num, room;
	int32_t *ids = NULL;
	int ret;

	g->last = -1;
	ret = tokens_before_stop(g, npu_llm_session_tokens(g->s) + g->begin, length - g->begin,
				 &keep, &bytes, err);
	length = g->begin + keep;
	ret = ret ?: npu_llm_session_truncate(g->s, length, err);
	if (ret || bytes == g->reply.size)
		return ret;
	ret = model_encode(g->m, g->reply.text + bytes, g->reply.size - bytes,
			   keep || g->begun ? NPU_TOKENIZE_MORE : 0, &ids, &num, err);
	room = g->m->info.context - length;
	num = !ret && num < room ? num : room;
	if (!ret && num)
		ret = npu_llm_prefill(g->s, ids, num, NULL, err);
	free(ids);
	return ret;
}

int session_save(struct generation *g, const char *path, struct npu_error *err)
{
	void *data;
	size_t size;
	int ret = g->reply.stopped ? cut_stop(g, err) : 0;

	if (g->last >= 0 && npu_llm_session_length(g->s) < g->m->info.context)
		ret = npu_llm_prefill(g->s, &g->last, 1, NULL, err);
	ret = ret ?: npu_llm_session_save(g->s, &data, &size, err);
	if (ret)
		return npu_error_prefix(err, ret, "%s is not written", path);
	ret = npu_file_write(path, data, size, err);
	free(data);
	return ret;
}
