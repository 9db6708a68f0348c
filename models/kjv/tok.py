# SPDX-License-Identifier: MIT
# sentencepiece BPE with byte fallback, in the form llama.cpp's "llama" (SPM) tokenizer reproduces
# exactly
import sys, sentencepiece as spm
train, prefix, vocab = sys.argv[1], sys.argv[2], int(sys.argv[3])
spm.SentencePieceTrainer.train(input=train, model_prefix=prefix, vocab_size=vocab,
    model_type='bpe', byte_fallback=True, character_coverage=1.0,
    normalization_rule_name='identity', remove_extra_whitespaces=False, add_dummy_prefix=True,
    split_digits=True, max_sentence_length=1 << 20, unk_id=0, bos_id=1, eos_id=2, pad_id=-1,
    num_threads=2, minloglevel=1)
