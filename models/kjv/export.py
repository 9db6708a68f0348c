# SPDX-License-Identifier: MIT
# python3 export.py CKPT.pt kjv.model OUT.gguf f16|f32
# torch checkpoint + sentencepiece model -> GGUF, "llama" architecture
import sys, numpy as np, torch, gguf, sentencepiece as spm
ck, tk, out, ft = sys.argv[1:5]
s = torch.load(ck, map_location='cpu', weights_only=True); c, w = s['c'], s['m']
p = spm.SentencePieceProcessor(); p.Load(tk)
g = gguf.GGUFWriter(out, 'llama'); h = c['dim'] // c['heads']; K = gguf.TokenType
g.add_name('KJV tiny llama')
g.add_description('Llama-architecture model trained from scratch '
                  'on the King James Version (public domain text)')
g.add_context_length(c['ctx']); g.add_embedding_length(c['dim']); g.add_block_count(c['layers'])
g.add_feed_forward_length(c['ffn'])
g.add_head_count(c['heads']); g.add_head_count_kv(c['kv']); g.add_layer_norm_rms_eps(c['eps'])
g.add_rope_dimension_count(h); g.add_rope_freq_base(c['base']); g.add_vocab_size(c['vocab'])
g.add_file_type(gguf.LlamaFileType.MOSTLY_F16 if ft == 'f16' else gguf.LlamaFileType.ALL_F32)
n = c['vocab']
kind = lambda i: (K.UNKNOWN if i == 0 else K.CONTROL if i < 3 else
                  K.BYTE if p.IsByte(i) else K.NORMAL)
g.add_tokenizer_model('llama'); g.add_tokenizer_pre('default')
g.add_token_list([p.IdToPiece(i).encode() for i in range(n)])
g.add_token_scores([float(p.GetScore(i)) for i in range(n)])
g.add_token_types([kind(i) for i in range(n)])
g.add_bos_token_id(1); g.add_eos_token_id(2); g.add_unk_token_id(0)
g.add_add_bos_token(True); g.add_add_eos_token(False); g.add_add_space_prefix(True)
# torch [out, in] row-major is GGUF's layout; names differ only by "blk.N."
for k, v in w.items():
    a = v.float().numpy()
    kept = np.float16 if ft == 'f16' and a.ndim == 2 else np.float32
    g.add_tensor(k, np.ascontiguousarray(a.astype(kept)))
g.write_header_to_file(); g.write_kv_data_to_file(); g.write_tensors_to_file(); g.close()
