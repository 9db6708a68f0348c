/* SPDX-License-Identifier: MIT */
/* libnpu: language models. */
#ifndef NPU_LLM_H
#define NPU_LLM_H

#include "npu.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- tokenizers ---- */

/*
 * Text to tokens and back, as a GGUF file describes it: SentencePiece ("llama"), byte-level BPE
 * ("gpt2") with the pre-tokenizer that the file names, WordPiece ("bert"). A tokenizer does not
 * change once it is open and may be used by many threads.
 *
 *	npu_tokenizer_open("model.gguf", &t, &err);
 *	npu_tokenizer_encode(t, text, size, NPU_TOKENIZE_ADD, ids, room, &num, &err);
 *	npu_tokenizer_decode(t, ids, num, 0, out, out_room, &out_size, &err);
 *
 * Sizes are in bytes. Text is UTF-8; bytes that are none are kept as they are where the vocabulary
 * has bytes.
 */
struct npu_tokenizer;

/*
 * The tokenizer of the GGUF file at @path, or of @size bytes at @data of such a file
 * (npu_llm_metadata()), which are not needed any longer afterwards and which @name stands for in
 * errors. Errors: those of opening a file; -EINVAL (damaged, or the vocabulary contradicts itself:
 * key, token and reason are named), -ENOTSUP (a kind of tokenizer or pre-tokenizer that is not
 * known, by name), -ENOENT (no vocabulary), -ENOMEM.
 */
int npu_tokenizer_open(const char *path, struct npu_tokenizer **tokenizer, struct npu_error *err);
int npu_tokenizer_parse(const void *data, size_t size, const char *name,
			struct npu_tokenizer **tokenizer, struct npu_error *err);
/* Ignores NULL. */
void npu_tokenizer_close(struct npu_tokenizer *t);

struct npu_tokenizer_info {
	uint32_t size;			/* sizeof, see NPU_INIT() */
	uint32_t vocab;			/* ids are 0 .. vocab - 1 */
	/* Ids of special tokens, -1 where there is none. */
	int32_t bos, eos, eot, unk, sep, pad, mask;
	uint32_t max_piece;		/* bytes of the longest token's text */
	bool add_bos, add_eos;		/* what NPU_TOKENIZE_ADD adds */
	bool add_space;			/* text begins with a space that is not there (SPM) */
	bool has_chat;			/* the file has a chat template */
	const char *model;		/* "llama", "gpt2", "bert"; the tokenizer's */
	const char *pre;		/* pre-tokenizer, "" */
	const char *chat_template;	/* the file's, "" */
};

/* Returns 0 or -EINVAL (size). The strings are the tokenizer's. */
int npu_tokenizer_info(const struct npu_tokenizer *t, struct npu_tokenizer_info *info);

enum npu_token_attr {
	NPU_TOKEN_UNKNOWN = 1 << 0,	/* stands for what has no token */
	NPU_TOKEN_UNUSED = 1 << 1,
	NPU_TOKEN_NORMAL = 1 << 2,
	NPU_TOKEN_CONTROL = 1 << 3,	/* not text: begin, end, role ... */
	NPU_TOKEN_USER = 1 << 4,	/* text that is never split, found before anything else */
	NPU_TOKEN_BYTE = 1 << 5,	/* one byte that has no better token */
	NPU_TOKEN_END = 1 << 6,		/* generation ends with it */
};

/* Bits of enum npu_token_attr; 0 for an id that is none. */
unsigned int npu_tokenizer_attr(const struct npu_tokenizer *t, int32_t id);

/* The id whose text in the vocabulary is exactly @text, or -ENOENT. */
int32_t npu_tokenizer_find(const struct npu_tokenizer *t, const char *text);

enum {
	/* Add what the file asks for at the ends: BOS, EOS, [CLS] and [SEP]. */
	NPU_TOKENIZE_ADD = 1 << 0,
	/* The text of control tokens in the text means them; without it, it is just text. */
	NPU_TOKENIZE_SPECIAL = 1 << 1,
};

/*
 * Tokens of @size bytes at @text, fewer than 2^31. *@num is their number even if @room is too
 * small, which is -ENOSPC and leaves *@ids undefined; @ids may be NULL with a @room of 0. A token
 * takes at least one byte but for those that NPU_TOKENIZE_ADD adds (two) and a space at the
 * beginning of each piece of text. Errors: -EINVAL (a byte for which the vocabulary has no token;
 * flags), -ENOMEM.
 */
int npu_tokenizer_encode(const struct npu_tokenizer *t, const char *text, size_t size,
			 unsigned int flags, int32_t *ids, size_t room, size_t *num,
			 struct npu_error *err);

enum {
	/* Control tokens are written as their text; without it they are left out. */
	NPU_DETOKENIZE_SPECIAL = 1 << 0,
	/* @ids go on from text before them: a space at the beginning is part of the text. */
	NPU_DETOKENIZE_MORE = 1 << 1,
};

/*
 * Text of @num tokens. *@size is its size even if @room is too small (-ENOSPC, *@text undefined);
 * nothing terminates it. It may end amid a character when the tokens do. -EINVAL: an id that is
 * none.
 */
int npu_tokenizer_decode(const struct npu_tokenizer *t, const int32_t *ids, size_t num,
			 unsigned int flags, char *text, size_t room, size_t *size,
			 struct npu_error *err);

/*
 * Text token by token, whole characters only: bytes of one that is not complete yet are held back.
 * Begin with a zeroed struct; set begun when text comes before the first token.
 */
struct npu_token_stream {
	bool begun;
	uint8_t num_held;
	char held[3];
};

/* What one call of npu_token_stream_put() can give: max_piece and what was held, replaced. */
#define NPU_TOKEN_STREAM_ROOM(max_piece)	(3 * ((size_t)(max_piece) + 3))

/*
 * Text that @id completes, with flags as above; *@size may be 0. Bytes that can not become UTF-8
 * are replaced by U+FFFD. Errors: -EINVAL (an id that is none), -ENOSPC (@room is less than
 * NPU_TOKEN_STREAM_ROOM(max_piece)); nothing has changed then.
 */
int npu_token_stream_put(const struct npu_tokenizer *t, struct npu_token_stream *s, int32_t id,
			 unsigned int flags, char *text, size_t room, size_t *size,
			 struct npu_error *err);
/* The end: U+FFFD for what is still held, at most 3 bytes at @text; returns how many. */
size_t npu_token_stream_end(struct npu_token_stream *s, char text[3]);

/* ---- chat ---- */

/* Forms of a conversation; NPU_CHAT_AUTO is the one that the file's template has. */
enum npu_chat_form {
	NPU_CHAT_AUTO,
	NPU_CHAT_CHATML,
	NPU_CHAT_LLAMA2,
	NPU_CHAT_LLAMA2_SYS,
	NPU_CHAT_LLAMA2_SYS_BOS,
	NPU_CHAT_LLAMA2_SYS_STRIP,
	NPU_CHAT_LLAMA3,
	NPU_CHAT_LLAMA4,
	NPU_CHAT_MISTRAL_V1,
	NPU_CHAT_MISTRAL_V3,
	NPU_CHAT_MISTRAL_V3_TEKKEN,
	NPU_CHAT_MISTRAL_V7,
	NPU_CHAT_GEMMA,
	NPU_CHAT_PHI3,
	NPU_CHAT_PHI4,
	NPU_CHAT_ZEPHYR,
	NPU_CHAT_FALCON3,
	NPU_CHAT_VICUNA,
	NPU_CHAT_DEEPSEEK3,
	NPU_CHAT_GRANITE,
	NPU_CHAT_COMMAND_R,
	NPU_CHAT_NUM_FORMS
};

/* "auto", "chatml", "llama2", ...; NULL beyond the end. And back: the form, or -ENOENT. */
const char *npu_chat_form_name(unsigned int form);
int npu_chat_form_find(const char *name);

/*
 * The form of a chat template (Jinja), known by what is in its text as templates are not run here;
 * -ENOTSUP when it has none of the marks, with the beginning of it as the reason; -ENOENT for an
 * empty one.
 */
int npu_chat_form_detect(const char *chat_template, struct npu_error *err);

struct npu_chat_message {
	const char *role;		/* "system", "user", "assistant" */
	const char *content;
};

/*
 * The text of @num messages in @form; with @answer it ends where the assistant's answer begins.
 * *@size is its size even if @room is too small (-ENOSPC, *@text undefined). Encode it with
 * NPU_TOKENIZE_SPECIAL | NPU_TOKENIZE_ADD. Content is taken as it is: text that looks like a
 * control token becomes one, so leave it out of what a stranger wrote. Errors: -ENOTSUP and -ENOENT
 * (NPU_CHAT_AUTO with a template that is not recognized, or none: the caller may then choose a
 * form), -EINVAL (no such form; a role that it does not have, which is named).
 */
int npu_tokenizer_chat(const struct npu_tokenizer *t, enum npu_chat_form form,
		       const struct npu_chat_message *messages, size_t num, bool answer,
		       char *text, size_t room, size_t *size, struct npu_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
