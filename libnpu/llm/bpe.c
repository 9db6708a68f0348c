// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/bpe.h"
#include "llm/unicode.h"

#define MERGES_KEY	"tokenizer.ggml.merges"
#define MAX_MERGES	(1u << 24)

/* Bytes that are printed as they are; the others are moved behind 255, in order. */
static bool is_plain(unsigned int c)
{
	return (c >= 0x21 && c <= 0x7e) || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff);
}

uint32_t bpe_char(uint8_t byte)
{
	if (is_plain(byte))
		return byte;
	if (byte <= 0x20)
		return 0x100 + byte;
	return byte == 0xad ? 0x143 : 0x121 + byte - 0x7f;
}

int bpe_byte(uint32_t c)
{
	if (c < 0x100)
		return is_plain(c) ? (int)c : -1;
	if (c <= 0x120)
		return (int)c - 0x100;
	if (c < 0x143)
		return (int)c - 0x121 + 0x7f;
	return c == 0x143 ? 0xad : -1;
}

static uint32_t slot_of(const struct bpe_merges *m, uint32_t left, uint32_t right)
{
	uint64_t h = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15ull;
	uint32_t i = (uint32_t)(h >> 32) & m->mask;

	while (m->slots[i].result != VOCAB_NONE &&
	       (m->slots[i].left != left || m->slots[i].right != right))
		i = (i + 1) & m->mask;
	return i;
}

const struct bpe_merge *bpe_find(const struct bpe_merges *m, uint32_t left, uint32_t right)
{
	const struct bpe_merge *slot = &m->slots[slot_of(m, left, right)];

	return slot->result == VOCAB_NONE ? NULL : slot;
}

/* The number of a string of a merge, which need not be a token. */
static uint32_t intern(struct npu_tokenizer *t, const char *text, size_t size)
{
	uint32_t id = vocab_find(&t->map, text, size);
	struct vocab_extra *extra;

	if (id != VOCAB_NONE)
		return id;
	extra = malloc(sizeof(*extra) + size);
	if (!extra)
		return VOCAB_NONE;
	memcpy(extra->text, text, size);
	extra->next = t->extras;
	t->extras = extra;
	return vocab_add(&t->map, extra->text, size);
}

static int add_merge(struct npu_tokenizer *t, uint32_t rank, struct npu_gguf_string s,
		     struct npu_error *err)
{
	char both[2 * VOCAB_MAX_TOKEN];
	const char *space;
	struct bpe_merge m = { .rank = rank };
	struct bpe_merge *slot;
	size_t n;

	if (s.size > sizeof(both))
		return npu_error_set(err, -EINVAL, "merge %u has %llu bytes, want at most %zu",
				     rank, (unsigned long long)s.size, sizeof(both));
	/* The first part may begin with a space. */
	space = s.size < 3 ? NULL : memchr(s.data + 1, ' ', s.size - 2);
	if (!space)
		return npu_error_set(err, -EINVAL,
				     "merge %u is not two texts with a space between: '%.*s'", rank,
				     (int)s.size, s.data);
	n = space - s.data;
	memcpy(both, s.data, n);
	memcpy(both + n, space + 1, s.size - n - 1);
	m.left = intern(t, both, n);
	m.right = intern(t, both + n, s.size - n - 1);
	m.result = intern(t, both, s.size - 1);
	if (m.left == VOCAB_NONE || m.right == VOCAB_NONE || m.result == VOCAB_NONE)
		return npu_error_set(err, -ENOMEM, "no memory for the merges");
	slot = &t->merges->slots[slot_of(t->merges, m.left, m.right)];
	if (slot->result == VOCAB_NONE)		/* of two that are the same the first counts */
		*slot = m;
	return 0;
}

static int make_table(struct npu_tokenizer *t, uint64_t num, struct npu_error *err)
{
	struct bpe_merges *m = calloc(1, sizeof(*m));
	uint32_t size = 16, i;

	while (size < 2 * num)
		size *= 2;
	if (m)
		m->slots = malloc(size * sizeof(*m->slots));
	if (!m || !m->slots) {
		free(m);
		return npu_error_set(err, -ENOMEM, "no memory for the merges");
	}
	m->mask = size - 1;
	for (i = 0; i < size; i++)
		m->slots[i].result = VOCAB_NONE;
	t->merges = m;
	return 0;
}

int bpe_read(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err)
{
	struct npu_gguf_array a;
	uint64_t at = 0;
	uint32_t i;
	char text[4];
	int ret = npu_gguf_get_array(g, MERGES_KEY, NPU_GGUF_STRING, &a, err);

	if (ret)
		return ret;
	if (a.count > MAX_MERGES)
		return npu_error_set(err, -EINVAL,
				     "%s: key '" MERGES_KEY "': %llu merges, want at most %u",
				     npu_gguf_path(g), (unsigned long long)a.count, MAX_MERGES);
	ret = make_table(t, a.count, err);
	for (i = 0; i < a.count && !ret; i++)
		ret = add_merge(t, i, npu_gguf_array_next(&a, &at), err);
	for (i = 0; i < 256 && !ret; i++)
		t->merges->bytes[i] = vocab_find(&t->map, text,
						 unicode_encode(bpe_char(i), text));
	return ret ? npu_error_prefix(err, ret, "%s: key '" MERGES_KEY "'", npu_gguf_path(g)) : 0;
}

void bpe_free(struct bpe_merges *m)
{
	if (m)
		free(m->slots);
	free(m);
}
