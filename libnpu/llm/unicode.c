// SPDX-License-Identifier: MIT
#include <string.h>
#include "llm/unicode.h"

#define HANGUL_FIRST	0xac00u
#define HANGUL_COUNT	11172u
#define HANGUL_VOWELS	21u
#define HANGUL_TAILS	28u

static bool is_space(uint32_t c)
{
	return (c >= 0x9 && c <= 0xd) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
	       (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
	       c == 0x205f || c == 0x3000;
}

unsigned int unicode_class(uint32_t c)
{
	unsigned int lo = 0, hi = unicode_num_ranges, mid;

	if (c - 'a' < 26)
		return UC_LL;
	while (hi - lo > 1) {
		mid = (lo + hi) / 2;
		if (c < unicode_ranges[mid].first)
			hi = mid;
		else
			lo = mid;
	}
	return unicode_ranges[lo].group | (is_space(c) ? UC_SPACE : 0);
}

uint32_t unicode_lower(uint32_t c)
{
	unsigned int lo = 0, hi = unicode_num_lowers, mid;

	if (c < 0x80)
		return c - 'A' < 26 ? c + 32 : c;
	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (unicode_lowers[mid].from == c)
			return unicode_lowers[mid].to;
		if (c < unicode_lowers[mid].from)
			hi = mid;
		else
			lo = mid + 1;
	}
	return c;
}

static unsigned int hangul_base(uint32_t c, uint32_t out[3])
{
	uint32_t i = c - HANGUL_FIRST, tail = i % HANGUL_TAILS;

	out[0] = 0x1100 + i / (HANGUL_VOWELS * HANGUL_TAILS);
	out[1] = 0x1161 + i / HANGUL_TAILS % HANGUL_VOWELS;
	out[2] = 0x11a7 + tail;
	return tail ? 3 : 2;
}

unsigned int unicode_base(uint32_t c, uint32_t out[3])
{
	unsigned int lo = 0, hi = unicode_num_bases, mid;

	out[0] = c;
	if (c < 0x80)
		return 1;
	if (c - HANGUL_FIRST < HANGUL_COUNT)
		return hangul_base(c, out);
	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (unicode_bases[mid].from == c) {
			memcpy(out, unicode_bases[mid].to, sizeof(unicode_bases[mid].to));
			return out[2] ? 3 : out[1] ? 2 : 1;
		}
		if (c < unicode_bases[mid].from)
			hi = mid;
		else
			lo = mid + 1;
	}
	return !(unicode_class(c) & UC_MN);
}

unsigned int unicode_length(uint8_t byte)
{
	return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

uint32_t unicode_decode(const char *text, size_t size, unsigned int *length)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	const uint8_t *p = (const uint8_t *)text;
	unsigned int n = unicode_length(p[0]), i;
	uint32_t c = n == 1 ? p[0] : p[0] & (0x7fu >> n);

	*length = 1;
	if (p[0] < 0x80)
		return p[0];
	if (p[0] < 0xc0 || p[0] > 0xf4 || n > size)
		return UNICODE_BAD;
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return UNICODE_BAD;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return UNICODE_BAD;
	*length = n;
	return c;
}

unsigned int unicode_encode(uint32_t c, char out[4])
{
	unsigned int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, i;
	static const uint8_t lead[5] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (i = n - 1; i; i--) {
		out[i] = (char)(0x80 | (c & 0x3f));
		c >>= 6;
	}
	out[0] = (char)(lead[n] | c);
	return n;
}
