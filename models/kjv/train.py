# SPDX-License-Identifier: MIT
# Trains a small Llama-architecture model on one text, on the CPU, under a wall-time limit.
#   python3 train.py DATA_DIR OUT.pt [minutes=60] [layers=6] [batch=8] [lr=2e-3] ...
# with any key of C or T. DATA_DIR holds train.txt, val.txt and kjv.model (tok.py). The schedule
# follows elapsed time, so it always ends on time.
import math, os, sys, time
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
import sentencepiece as spm

C = dict(vocab=2048, dim=256, layers=6, heads=8, kv=4, ffn=768, ctx=512, eps=1e-5, base=10000.0)
# short: share of the time at ctx/2 and 2*batch (attention is dear)
T = dict(minutes=60.0, batch=4, lr=2e-3, wd=0.1, warm=0.02, drop=0.05, seed=1, short=0.6)

# rotates adjacent pairs (2i, 2i+1), llama.cpp's "norm" RoPE
def rope(x, cos, sin):
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

class Norm(nn.Module):
    def __init__(s, n, eps): super().__init__(); s.weight = nn.Parameter(torch.ones(n)); s.eps = eps
    def forward(s, x): return F.rms_norm(x, x.shape[-1:], s.weight, s.eps)

class Block(nn.Module):
    def __init__(s, c, drop):
        super().__init__(); d, h = c['dim'], c['dim'] // c['heads']
        lin = lambda i, o: nn.Linear(i, o, bias=False)
        s.c, s.h, s.drop = c, h, drop
        s.attn_norm, s.ffn_norm = Norm(d, c['eps']), Norm(d, c['eps'])
        s.attn_q, s.attn_k = lin(d, d), lin(d, c['kv'] * h)
        s.attn_v, s.attn_output = lin(d, c['kv'] * h), lin(d, d)
        s.ffn_gate, s.ffn_up, s.ffn_down = lin(d, c['ffn']), lin(d, c['ffn']), lin(c['ffn'], d)
    def forward(s, x, cos, sin):
        B, N, _ = x.shape; y = s.attn_norm(x)
        q, k, v = (f(y).view(B, N, -1, s.h).transpose(1, 2) for f in (s.attn_q, s.attn_k, s.attn_v))
        q, k = rope(q, cos, sin), rope(k, cos, sin)
        g = s.c['heads'] // s.c['kv']
        if g > 1: k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(B, N, -1)
        x = x + F.dropout(s.attn_output(y), s.drop, s.training)
        y = s.ffn_norm(x)
        return x + F.dropout(s.ffn_down(F.silu(s.ffn_gate(y)) * s.ffn_up(y)), s.drop, s.training)

class Llama(nn.Module):
    def __init__(s, c, drop=0.0):
        super().__init__(); s.c = c
        s.token_embd = nn.Embedding(c['vocab'], c['dim'])          # tied with the output head
        s.blk = nn.ModuleList(Block(c, drop) for _ in range(c['layers']))
        s.output_norm = Norm(c['dim'], c['eps'])
        h = c['dim'] // c['heads']
        a = torch.outer(torch.arange(c['ctx']).float(),
                        c['base'] ** (-torch.arange(0, h, 2).float() / h))
        s.register_buffer('cos', a.cos(), False); s.register_buffer('sin', a.sin(), False)
        for n, p in s.named_parameters():
            if p.dim() == 2:
                last = n.endswith(('attn_output.weight', 'ffn_down.weight'))
                nn.init.normal_(p, 0, 0.02 / math.sqrt(2 * c['layers']) if last else 0.02)
    def forward(s, ids, y=None):
        x = s.token_embd(ids); N = ids.shape[1]
        for b in s.blk: x = b(x, s.cos[:N], s.sin[:N])
        z = F.linear(s.output_norm(x), s.token_embd.weight)
        return z if y is None else F.cross_entropy(z.flatten(0, 1), y.flatten())

def tokens(d, name):
    p = spm.SentencePieceProcessor(); p.Load(f'{d}/kjv.model')
    return np.array(p.EncodeAsIds(open(f'{d}/{name}.txt', encoding='utf-8').read()), np.int64)

@torch.no_grad()
# windows as llama-perplexity takes them, but every position counts
def evaluate(m, ids, n=10**9):
    m.eval(); L = m.c['ctx']; s = k = 0
    for i in range(0, min(len(ids) - L, n * L), L):
        w = torch.from_numpy(ids[i:i + L + 1].copy())[None]; x = w[:, :-1].clone(); x[:, 0] = 1
        s += m(x, w[:, 1:]).item(); k += 1
    m.train(); return s / k

def main():
    d, out = sys.argv[1:3]
    for a in sys.argv[3:]:
        k, v = a.split('='); D = C if k in C else T; D[k] = type(D[k])(float(v))
    torch.set_num_threads(2); torch.manual_seed(T['seed']); torch.set_flush_denormal(True)
    tr, va = tokens(d, 'train'), tokens(d, 'val'); L, B = C['ctx'] // 2, T['batch'] * 2
    m = Llama(C, T['drop'])
    print(C, T, 'parameters', sum(p.numel() for p in m.parameters()), 'tokens', len(tr), len(va),
          flush=True)
    P = list(m.parameters())
    opt = torch.optim.AdamW([dict(params=[p for p in P if p.dim() == 2]),
                             dict(params=[p for p in P if p.dim() == 1], weight_decay=0.0)],
                            lr=T['lr'], betas=(0.9, 0.95), weight_decay=T['wd'], fused=True)
    rng = np.random.default_rng(T['seed']); order = []
    t0 = last = time.time(); step = 0; ema = None
    while True:
        t = (time.time() - t0) / 60 / T['minutes']
        if t >= 1: break
        if t >= T['short'] and L < C['ctx']: L, B, order = C['ctx'], T['batch'], []
        lr = T['lr'] * (min(1, t / T['warm']) if t < T['warm'] else
                        0.02 + 0.98 * 0.5 *
                        (1 + math.cos(math.pi * (t - T['warm']) / (1 - T['warm']))))
        for g in opt.param_groups: g['lr'] = max(lr, 1e-6)
        if len(order) < B:                    # an epoch: all windows at a fresh random phase
            order = list(rng.permutation(np.arange(rng.integers(L), len(tr) - L, L)))
        w = torch.from_numpy(np.stack([tr[i:i + L + 1] for i in (order.pop() for _ in range(B))]))
        x = w[:, :-1].clone(); x[:, 0] = 1   # BOS
        loss = m(x, w[:, 1:]); opt.zero_grad(); loss.backward()
        nn.utils.clip_grad_norm_(P, 1.0); opt.step()
        step += 1; l = loss.item(); ema = l if ema is None else 0.98 * ema + 0.02 * l
        if step % 100 == 0:
            now = time.time(); k = step * B * L
            print(f'step {step} epoch {k / len(tr):.2f} min {(now - t0) / 60:.1f} loss {ema:.4f} '
                  f'lr {lr:.5f} tok/s {100 * B * L / (now - last):.0f}'
                  + (f' val {evaluate(m, va, 15):.4f}' if step % 400 == 0 else ''), flush=True)
            last = time.time()
            if step % 400 == 0:
                torch.save(dict(c=C, t=T, step=step, m=m.state_dict()), out + '.tmp')
                os.replace(out + '.tmp', out)
    torch.save(dict(c=C, t=T, step=step, m=m.state_dict()), out)
    print(f'done: {step} steps, {step * B * L} tokens, {step * B * L / len(tr):.2f} epochs, '
          f'{(time.time() - t0) / 60:.1f} min, train loss (running) {ema:.4f}, '
          f'train (first 60 windows, eval mode) {evaluate(m, tr, 60):.4f}, '
          f'val {evaluate(m, va):.4f}', flush=True)

if __name__ == '__main__': main()
