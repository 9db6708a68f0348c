#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# unicode_table.py FOLDER >unicode_table.c: what the tokenizers need of Unicode, from UnicodeData.txt
# in FOLDER (Debian package unicode-data, /usr/share/unicode). Run by hand when Unicode moves; the
# result is part of the tree.
import re
import sys

GROUPS = dict(Lu='LU', Ll='LL', Lt='LT', Lm='LM', Lo='LO', Mn='MN', Mc='MC', Me='MC', Nd='N', Nl='N', No='N',
              Zs='Z', Zl='Z', Zp='Z')
LAST = 0x10ffff
HANGUL = range(0xac00, 0xac00 + 11172)

folder = sys.argv[1]
group = ['C'] * (LAST + 1)          # what is not assigned is like a control character
parts, lower = {}, {}
first = None
for line in open(folder + '/UnicodeData.txt', encoding='ascii'):
    field = line.rstrip('\n').split(';')
    code, name, category = int(field[0], 16), field[1], field[2]
    begin = first if name.endswith(', Last>') else code
    first = code if name.endswith(', First>') else None
    for c in range(begin, code + 1):
        group[c] = GROUPS.get(category, category[0])
    if field[5] and not field[5].startswith('<'):
        parts[code] = [int(c, 16) for c in field[5].split()]
    if field[13]:
        lower[code] = int(field[13], 16)


def decompose(c):
    return sum((decompose(p) for p in parts[c]), []) if c in parts else [c]


base = {}
for c in parts:
    left = [p for p in decompose(c) if group[p] != 'MN']
    assert len(left) <= 3 and c not in HANGUL, hex(c)
    if group[c] != 'MN':            # a mark is dropped as it is
        base[c] = left

version = re.search(r'[0-9.]+[0-9]', open(folder + '/PropList.txt', encoding='utf-8').readline()).group()
print(f'''// SPDX-License-Identifier: MIT
/* Made by unicode_table.py from Unicode {version}; not to be edited. */
#include "llm/unicode.h"

/* Each range goes to the next one's first character. */
const struct unicode_range unicode_ranges[] = {{''')
ranges = [(c, group[c]) for c in range(LAST + 1) if c == 0 or group[c] != group[c - 1]]


def rows(items, width):
    for i in range(0, len(items), width):
        print('\t' + ' '.join(items[i:i + width]))


rows([f'{{ 0x{c:x}, UC_{g} }},' for c, g in ranges], 4)
print(f'''}};
const unsigned int unicode_num_ranges = {len(ranges)};

/* What is left of a character's canonical decomposition without its marks (Mn). */
const struct unicode_base unicode_bases[] = {{''')
rows([f'{{ 0x{c:x}, {{ {", ".join(f"0x{p:x}" for p in b)} }} }},' for c, b in sorted(base.items())], 2)
print(f'''}};
const unsigned int unicode_num_bases = {len(base)};

/* Simple lower case. */
const struct unicode_pair unicode_lowers[] = {{''')
rows([f'{{ 0x{c:x}, 0x{l:x} }},' for c, l in sorted(lower.items())], 4)
print(f'''}};
const unsigned int unicode_num_lowers = {len(lower)};''')
