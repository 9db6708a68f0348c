// SPDX-License-Identifier: MIT
/*
 * Merging of neighbours, the best first: what SPM (by score) and BPE (by rank) have in common. All
 * candidates are in a heap; one whose symbols have changed since is skipped.
 */
#include <errno.h>
#include <stdlib.h>
#include "core/error.h"
#include "llm/tokenizer.h"

void *encoder_grow(struct encoder *e, void *array, size_t *room, size_t need, size_t size)
{
	size_t want = *room ? *room : 64;
	void *grown;

	if (need <= *room)
		return array;
	while (want < need)
		want *= 2;
	grown = reallocarray(array, want, size);
	if (!grown)
		npu_error_set(e->err, -ENOMEM, "no memory for the tokens of a text");
	else
		*room = want;
	return grown;
}

int encoder_push(struct encoder *e, int32_t id)
{
	struct token_list *l = &e->out;
	int32_t *ids = encoder_grow(e, l->ids, &l->room, l->num + 1, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	l->ids = ids;
	ids[l->num++] = id;
	return 0;
}

int encoder_push_byte(struct encoder *e, uint8_t byte, uint32_t id)
{
	if (id < e->t->num_tokens)
		return encoder_push(e, id);
	if (e->t->unk >= 0)
		return encoder_push(e, e->t->unk);
	return npu_error_set(e->err, -EINVAL, "the vocabulary has no token for byte 0x%02x", byte);
}

int encoder_add(struct encoder *e, uint32_t at, uint32_t size, uint32_t id)
{
	uint32_t n = e->num_symbols;
	struct symbol *s = encoder_grow(e, e->symbols, &e->room_symbols, (size_t)n + 1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	e->symbols = s;
	s[n] = (struct symbol){ at, size, id, n ? n - 1 : VOCAB_NONE, VOCAB_NONE };
	if (n)
		s[n - 1].next = n;
	e->num_symbols = n + 1;
	return 0;
}

static void sift_up(struct candidate *heap, size_t i)
{
	struct candidate c = heap[i];

	for (; i && c.key < heap[(i - 1) / 2].key; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = c;
}

static void sift_down(struct candidate *heap, size_t num)
{
	struct candidate c = heap[0];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < num; i = child) {
		if (child + 1 < num && heap[child + 1].key < heap[child].key)
			child++;
		if (c.key <= heap[child].key)
			break;
		heap[i] = heap[child];
	}
	heap[i] = c;
}

static int consider(struct encoder *e, uint32_t left, uint32_t right)
{
	const struct symbol *l, *r;
	struct candidate c, *heap;
	uint32_t key;

	if (left == VOCAB_NONE || right == VOCAB_NONE)
		return 0;
	l = &e->symbols[left];
	r = &e->symbols[right];
	c.result = e->merge(e, l, r, &key);
	if (c.result == VOCAB_NONE)
		return 0;
	/* Of equals the first in the text. */
	c.key = (uint64_t)key << 32 | left;
	c.left = left;
	c.right = right;
	c.left_size = l->size;
	c.right_size = r->size;
	heap = encoder_grow(e, e->heap, &e->room_heap, e->num_heap + 1, sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	e->heap = heap;
	heap[e->num_heap] = c;
	sift_up(heap, e->num_heap++);
	return 0;
}

static int join(struct encoder *e, const struct candidate *c)
{
	struct symbol *l = &e->symbols[c->left], *r = &e->symbols[c->right];

	/* Sizes only grow until a symbol is gone, so the same size is the same symbol. */
	if (l->size != c->left_size || r->size != c->right_size)
		return 0;
	l->size += r->size;
	l->id = c->result;
	l->next = r->next;
	r->size = 0;
	if (r->next != VOCAB_NONE)
		e->symbols[r->next].prev = c->left;
	return consider(e, l->prev, c->left) || consider(e, c->left, l->next) ? -ENOMEM : 0;
}

int encoder_merge(struct encoder *e)
{
	struct candidate best;
	uint32_t i;

	e->num_heap = 0;
	for (i = 1; i < e->num_symbols; i++)
		if (consider(e, i - 1, i))
			return -ENOMEM;
	while (e->num_heap) {
		best = e->heap[0];
		e->heap[0] = e->heap[--e->num_heap];
		if (e->num_heap)
			sift_down(e->heap, e->num_heap);
		if (join(e, &best))
			return -ENOMEM;
	}
	return 0;
}
