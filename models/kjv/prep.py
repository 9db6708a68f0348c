# SPDX-License-Identifier: MIT
# raw.txt (bible -f 'Gen1:1-Rev22:21', one "Ref text" verse per line) -> train.txt, val.txt: one
# chapter per line, no references
import random, re, sys
src, out = sys.argv[1:3]
chap = {}
for line in open(src, encoding='utf-8'):
    ref, text = line.split(' ', 1)
    chap.setdefault(ref.split(':')[0], []).append(re.sub(r'\s+', ' ', text).strip())
names = list(chap)
val, size = set(), 0
order = names[:]
random.Random(7).shuffle(order)
total = sum(len(v) + 1 for c in chap.values() for v in c)
# whole chapters, never the first of the Bible (it serves as a prompt)
for n in order:
    if size >= 0.02 * total: break
    if n == names[0]: continue
    val.add(n); size += sum(len(v) + 1 for v in chap[n])
for name, keep in (('train', [n for n in names if n not in val]),
                   ('val', [n for n in names if n in val])):
    with open(f'{out}/{name}.txt', 'w', encoding='utf-8') as f:
        for n in keep: f.write(' '.join(chap[n]) + '\n')
    print(name, len(keep), 'chapters', ' '.join(keep) if name == 'val' else '')
