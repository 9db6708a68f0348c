// SPDX-License-Identifier: MIT
/* Drafts by a small model of the same vocabulary. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "llm/speculate.h"
#include "llm/vocab.h"

struct npu_llm_drafter {
	struct npu_llm *llm;
	struct npu_llm_session *s;
};

/* ---- one vocabulary ---- */

static int tokenizer_of(struct npu_llm *llm, struct npu_tokenizer **t, struct npu_error *err)
{
	size_t size;
	const void *data = npu_llm_metadata(llm, &size);
	int ret = npu_tokenizer_parse(data, size, llm->job->path, t, err);

	return ret ? npu_error_prefix(err, ret, "both models need a vocabulary") : 0;
}

static int compare(const struct npu_tokenizer *a, const char *a_name, const struct npu_tokenizer *b,
		   const char *b_name, struct npu_error *err)
{
	const struct vocab_string *x, *y;
	uint32_t i;

	if (a->num_tokens != b->num_tokens)
		return npu_error_set(err, -EINVAL,
				     "%s can not draft for %s: its vocabulary has %u tokens, the other one %u",
				     b_name, a_name, b->num_tokens, a->num_tokens);
	for (i = 0; i < a->num_tokens; i++) {
		x = vocab_token(a, i);
		y = vocab_token(b, i);
		if (x->size != y->size || memcmp(x->text, y->text, x->size))
			return npu_error_set(err, -EINVAL,
					     "%s can not draft for %s: its token %u is '%.*s', the other one's '%.*s'",
					     b_name, a_name, i, (int)y->size, y->text, (int)x->size,
					     x->text);
	}
	return 0;
}

static int check_vocabulary(struct npu_llm *llm, struct npu_llm *small, struct npu_error *err)
{
	struct npu_tokenizer *a = NULL, *b = NULL;
	int ret;

	/* What a model computes can be more or less than its tokenizer's tokens. */
	if (small->info.vocab != llm->info.vocab)
		return npu_error_set(err, -EINVAL,
				     "%s can not draft for %s: its vocabulary has %u tokens, the other one %u",
				     small->job->path, llm->job->path, small->info.vocab,
				     llm->info.vocab);
	ret = tokenizer_of(llm, &a, err);
	ret = ret ?: tokenizer_of(small, &b, err);
	ret = ret ?: compare(a, llm->job->path, b, small->job->path, err);
	npu_tokenizer_close(a);
	npu_tokenizer_close(b);
	return ret;
}

/* ---- drafts ---- */

int npu_llm_drafter_create(struct npu_llm *llm, struct npu_llm *small,
			   struct npu_llm_drafter **drafter, struct npu_error *err)
{
	struct npu_llm_drafter *d;
	int ret = check_vocabulary(llm, small, err);

	if (ret)
		return ret;
	d = calloc(1, sizeof(*d));
	if (!d)
		return npu_error_set(err, -ENOMEM, "no memory for a speculator");
	ret = npu_llm_session_create(small, &d->s, err);
	if (ret) {
		free(d);
		return ret;
	}
	d->llm = small;
	*drafter = d;
	return 0;
}

void npu_llm_drafter_destroy(struct npu_llm_drafter *d)
{
	if (!d)
		return;
	npu_llm_session_destroy(d->s);	/* it has the reference to the model */
	free(d);
}

/* Cut the session back to what it has in common with @tokens, but for the last one. */
static size_t meet(struct npu_llm_drafter *d, const int32_t *tokens, size_t num)
{
	const int32_t *have = npu_llm_session_tokens(d->s);
	uint32_t len = npu_llm_session_length(d->s), same = 0;

	while (same < len && same + 1 < num && have[same] == tokens[same])
		same++;
	npu_llm_session_truncate(d->s, same, NULL);
	return same;
}

int npu_llm_drafter_draft(struct npu_llm_drafter *d, const int32_t *tokens, size_t num,
			  uint32_t max, int32_t *draft, bool *fresh, struct npu_error *err)
{
	uint32_t context = d->llm->info.context, i;
	const float *logits;
	size_t same;
	int ret;

	if (!num || !max || num > context)
		return 0;
	same = meet(d, tokens, num);
	*fresh = same < 2;	/* texts begin with the same token */
	/* The last token of a draft does not go into the session. */
	max = max - 1 < context - num ? max : (uint32_t)(context - num) + 1;
	for (i = 0; i < max; i++) {
		ret = i ? npu_llm_decode(d->s, draft[i - 1], &logits, err) :
			  npu_llm_prefill(d->s, tokens + same, num - same, &logits, err);
		if (ret == -ENOSPC || ret == -E2BIG)
			break;
		if (ret)
			return ret;
		draft[i] = npu_llm_batch_argmax(d->s->own, 0, 0);
	}
	return (int)i;
}
