// SPDX-License-Identifier: MIT
/*
 * Conversations to text. A model's file has its form as a Jinja template; there is no interpreter
 * here, the form is known by marks that the template has in its text, as llama.cpp knows them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/tokenizer.h"
#include "llm/writer.h"

/* DeepSeek's signs: full-width bars, and lower blocks for spaces. */
#define DS(text)	"<\xef\xbd\x9c" text "\xef\xbd\x9c>"
#define DS_END		DS("end\xe2\x96\x81of\xe2\x96\x81sentence")

struct chat {
	struct writer w;
	uint8_t *content;		/* a bit for each byte that is a message's, or NULL */
	const struct npu_chat_message *messages;
	size_t num;
	bool answer;
	struct npu_error *err;
};

static void put_string(struct writer *w, const char *text)
{
	writer_put(w, text, strlen(text));
}

/* What a message says. */
static void put_content(struct chat *c, const char *text, bool trims)
{
	size_t size, i;

	while (trims && isspace((uint8_t)*text))
		text++;
	size = strlen(text);
	while (trims && size && isspace((uint8_t)text[size - 1]))
		size--;
	for (i = c->w.size; c->content && i < c->w.size + size; i++)
		c->content[i / 8] |= 1u << i % 8;
	writer_put(&c->w, text, size);
}

/* ---- forms that treat each message by itself ---- */

/*
 * Texts around a message: '%' in them is its role. A role that has no text of its own is refused.
 */
struct simple {
	const char *before, *after;	/* any role that has no other */
	const char *before_system, *after_system;
	const char *before_answer, *after_answer;
	const char *answer;		/* at the end, where the answer begins */
	bool trims;
};

static void put_role(struct writer *w, const char *text, const char *role)
{
	const char *mark = strchr(text, '%');

	if (!mark) {
		put_string(w, text);
		return;
	}
	writer_put(w, text, mark - text);
	put_string(w, role);
	put_string(w, mark + 1);
}

static void put_simple(struct chat *c, const struct simple *s)
{
	const struct npu_chat_message *m;
	const char *before, *after;
	size_t i;

	for (i = 0; i < c->num; i++) {
		m = &c->messages[i];
		before = s->before;
		after = s->after;
		if (s->before_system && !strcmp(m->role, "system")) {
			before = s->before_system;
			after = s->after_system;
		} else if (s->before_answer && !strcmp(m->role, "assistant")) {
			before = s->before_answer;
			after = s->after_answer;
		}
		put_role(&c->w, before, m->role);
		put_content(c, m->content, s->trims);
		put_string(&c->w, after);
	}
	if (c->answer)
		put_string(&c->w, s->answer);
}

/* ---- forms that look at what was before ---- */

static void put_llama2(struct chat *c, bool sys, bool bos, bool trims)
{
	bool inside = true;
	size_t i;

	put_string(&c->w, "[INST] ");
	for (i = 0; i < c->num; i++) {
		const struct npu_chat_message *m = &c->messages[i];
		bool system = !strcmp(m->role, "system");

		if (!inside)
			put_string(&c->w, bos ? "<s>[INST] " : "[INST] ");
		inside = strcmp(m->role, "assistant");
		if (system && sys)
			put_string(&c->w, "<<SYS>>\n");
		put_content(c, m->content, trims);
		if (system)
			put_string(&c->w, sys ? "\n<</SYS>>\n\n" : "\n");
		else
			put_string(&c->w, inside ? " [/INST]" : "</s>");
	}
}

/* @lead and @trail: spaces around the signs, which differ from version to version. */
static void put_mistral(struct chat *c, const char *lead, const char *trail, bool trims)
{
	bool inside = false;
	size_t i;

	for (i = 0; i < c->num; i++) {
		const struct npu_chat_message *m = &c->messages[i];

		if (!inside) {
			put_string(&c->w, lead);
			put_string(&c->w, "[INST]");
			put_string(&c->w, trail);
			inside = true;
		}
		if (!strcmp(m->role, "assistant")) {
			put_string(&c->w, trail);
			put_content(c, m->content, trims);
			put_string(&c->w, "</s>");
			inside = false;
		} else {
			put_content(c, m->content, false);
			put_string(&c->w, strcmp(m->role, "system") ? lead : "\n\n");
			if (strcmp(m->role, "system"))
				put_string(&c->w, "[/INST]");
		}
	}
}

/* There is no system role: its text goes before the next message of the user. */
static void put_gemma(struct chat *c)
{
	size_t i, k, first = 0;

	for (i = 0; i < c->num; i++) {
		const struct npu_chat_message *m = &c->messages[i];
		bool model = !strcmp(m->role, "assistant");

		if (!strcmp(m->role, "system"))
			continue;
		put_role(&c->w, "<start_of_turn>%\n", model ? "model" : m->role);
		for (k = first; !model && k < i; k++) {
			if (strcmp(c->messages[k].role, "system"))
				continue;
			put_content(c, c->messages[k].content, true);
			put_string(&c->w, "\n\n");
		}
		if (!model)
			first = i;
		put_content(c, m->content, true);
		put_string(&c->w, "<end_of_turn>\n");
	}
	if (c->answer)
		put_string(&c->w, "<start_of_turn>model\n");
}

/* ---- the table ---- */

static const struct form {
	const char *name;
	struct simple simple;		/* unless before is NULL */
} forms[NPU_CHAT_NUM_FORMS] = {
	[NPU_CHAT_AUTO] = { "auto", { 0 } },
	[NPU_CHAT_CHATML] = { "chatml", { .before = "<|im_start|>%\n",
					  .after = "<|im_end|>\n",
					  .answer = "<|im_start|>assistant\n" } },
	[NPU_CHAT_LLAMA2] = { "llama2", { 0 } },
	[NPU_CHAT_LLAMA2_SYS] = { "llama2-sys", { 0 } },
	[NPU_CHAT_LLAMA2_SYS_BOS] = { "llama2-sys-bos", { 0 } },
	[NPU_CHAT_LLAMA2_SYS_STRIP] = { "llama2-sys-strip", { 0 } },
	[NPU_CHAT_LLAMA3] = { "llama3",
			      { .before = "<|start_header_id|>%<|end_header_id|>\n\n",
				.after = "<|eot_id|>",
				.answer = "<|start_header_id|>assistant<|end_header_id|>\n\n",
				.trims = true } },
	[NPU_CHAT_LLAMA4] = { "llama4", { .before = "<|header_start|>%<|header_end|>\n\n",
					  .after = "<|eot|>",
					  .answer = "<|header_start|>assistant<|header_end|>\n\n",
					  .trims = true } },
	[NPU_CHAT_MISTRAL_V1] = { "mistral-v1", { 0 } },
	[NPU_CHAT_MISTRAL_V3] = { "mistral-v3", { 0 } },
	[NPU_CHAT_MISTRAL_V3_TEKKEN] = { "mistral-v3-tekken", { 0 } },
	[NPU_CHAT_MISTRAL_V7] = { "mistral-v7", { .before = "[INST] ",
						  .after = "[/INST]",
						  .before_system = "[SYSTEM_PROMPT] ",
						  .after_system = "[/SYSTEM_PROMPT]",
						  .before_answer = " ",
						  .after_answer = "</s>",
						  .answer = "" } },
	[NPU_CHAT_GEMMA] = { "gemma", { 0 } },
	[NPU_CHAT_PHI3] = { "phi3", { .before = "<|%|>\n",
				      .after = "<|end|>\n",
				      .answer = "<|assistant|>\n" } },
	[NPU_CHAT_PHI4] = { "phi4", { .before = "<|im_start|>%<|im_sep|>",
				      .after = "<|im_end|>",
				      .answer = "<|im_start|>assistant<|im_sep|>" } },
	[NPU_CHAT_ZEPHYR] = { "zephyr", { .before = "<|%|>\n",
					  .after = "<|endoftext|>\n",
					  .answer = "<|assistant|>\n" } },
	[NPU_CHAT_FALCON3] = { "falcon3", { .before = "<|%|>\n",
					    .after = "\n",
					    .answer = "<|assistant|>\n" } },
	[NPU_CHAT_VICUNA] = { "vicuna", { .before = "USER: ",
					  .after = "\n",
					  .before_system = "",
					  .after_system = "\n\n",
					  .before_answer = "ASSISTANT: ",
					  .after_answer = "</s>\n",
					  .answer = "ASSISTANT:" } },
	[NPU_CHAT_DEEPSEEK3] = { "deepseek3", { .before = DS("User"),
						.after = "",
						.before_system = "",
						.after_system = "\n\n",
						.before_answer = DS("Assistant"),
						.after_answer = DS_END,
						.answer = DS("Assistant") } },
	[NPU_CHAT_GRANITE] = { "granite",
			       { .before = "<|start_of_role|>%<|end_of_role|>",
				 .after = "<|end_of_text|>\n",
				 .answer = "<|start_of_role|>assistant<|end_of_role|>\n" } },
	[NPU_CHAT_COMMAND_R] = { "command-r",
				 { .before = "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>",
				   .after = "<|END_OF_TURN_TOKEN|>",
				   .before_system = "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>",
				   .after_system = "<|END_OF_TURN_TOKEN|>",
				   .before_answer = "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
				   .after_answer = "<|END_OF_TURN_TOKEN|>",
				   .answer = "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
				   .trims = true } },
};

const char *npu_chat_form_name(unsigned int form)
{
	return form < NPU_CHAT_NUM_FORMS ? forms[form].name : NULL;
}

int npu_chat_form_find(const char *name)
{
	int i;

	for (i = 0; name && i < NPU_CHAT_NUM_FORMS; i++)
		if (!strcmp(name, forms[i].name))
			return i;
	return -ENOENT;
}

/* ---- what a template is ---- */

static int detect_inst(const char *text)
{
	if (strstr(text, "[SYSTEM_PROMPT]"))
		return NPU_CHAT_MISTRAL_V7;
	if (strstr(text, "' [INST] ' + system_message") || strstr(text, "[AVAILABLE_TOOLS]")) {
		if (strstr(text, " [INST]"))
			return NPU_CHAT_MISTRAL_V1;
		return strstr(text, "\"[INST]\"") ? NPU_CHAT_MISTRAL_V3_TEKKEN
						  : NPU_CHAT_MISTRAL_V3;
	}
	if (strstr(text, "content.strip()"))
		return NPU_CHAT_LLAMA2_SYS_STRIP;
	if (strstr(text, "bos_token + '[INST]"))
		return NPU_CHAT_LLAMA2_SYS_BOS;
	return strstr(text, "<<SYS>>") ? NPU_CHAT_LLAMA2_SYS : NPU_CHAT_LLAMA2;
}

/* In this order: all marks in the text, and the one that must not be, or NULL, is not. */
static const struct mark {
	const char *marks[3], *without;
	int form;
} marks[] = {
	{ { "<|im_start|>", "<|im_sep|>" }, NULL, NPU_CHAT_PHI4 },
	{ { "<|im_start|>" }, "<end_of_utterance>", NPU_CHAT_CHATML },
	{ { "<|assistant|>", "<|end|>" }, "[INST]", NPU_CHAT_PHI3 },
	{ { "<|assistant|>", "<|user|>", "</s>" }, "[gMASK]", NPU_CHAT_FALCON3 },
	{ { "<|user|>", "<|endoftext|>" }, "[gMASK]", NPU_CHAT_ZEPHYR },
	{ { "<start_of_turn>" }, NULL, NPU_CHAT_GEMMA },
	{ { "USER: ", "ASSISTANT: " }, "SYSTEM: ", NPU_CHAT_VICUNA },
	{ { "<|START_OF_TURN_TOKEN|>", "<|USER_TOKEN|>" }, NULL, NPU_CHAT_COMMAND_R },
	{ { "<|start_header_id|>", "<|end_header_id|>" }, NULL, NPU_CHAT_LLAMA3 },
	{ { DS("Assistant"), DS("User"), DS_END }, NULL, NPU_CHAT_DEEPSEEK3 },
	{ { "<|start_of_role|>" }, NULL, NPU_CHAT_GRANITE },
	{ { "<|header_start|>", "<|header_end|>" }, NULL, NPU_CHAT_LLAMA4 },
};

int npu_chat_form_detect(const char *text, struct npu_error *err)
{
	const struct mark *m;
	size_t i, k;

	if (!text || !*text)
		return npu_error_set(err, -ENOENT, "there is no chat template");
	for (i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		m = &marks[i];
		for (k = 0; k < 3 && m->marks[k] && strstr(text, m->marks[k]); k++)
			;
		if ((k == 3 || !m->marks[k]) && !(m->without && strstr(text, m->without)))
			return m->form;
		/* Between ChatML and the others. */
		if (i == 1 && strstr(text, "[INST]"))
			return detect_inst(text);
	}
	return npu_error_set(err, -ENOTSUP,
			     "the chat template is of no form that is known: '%.200s'", text);
}

static int check(const struct chat *c)
{
	static const char *const roles[] = { "system", "user", "assistant" };
	size_t i, k;

	for (i = 0; i < c->num; i++) {
		if (!c->messages[i].role || !c->messages[i].content)
			return npu_error_set(c->err, -EINVAL,
					     "message %zu has no role or no content", i);
		for (k = 0; k < 3 && strcmp(c->messages[i].role, roles[k]); k++)
			;
		if (k == 3)
			return npu_error_set(c->err, -EINVAL,
					     "message %zu has role '%s', want system, user or assistant",
					     i, c->messages[i].role);
	}
	return 0;
}

static void put_chat(struct chat *c, int form)
{
	switch (form) {
	case NPU_CHAT_LLAMA2:
		put_llama2(c, false, false, false);
		break;
	case NPU_CHAT_LLAMA2_SYS:
		put_llama2(c, true, false, false);
		break;
	case NPU_CHAT_LLAMA2_SYS_BOS:
		put_llama2(c, true, true, false);
		break;
	case NPU_CHAT_LLAMA2_SYS_STRIP:
		put_llama2(c, true, false, true);
		break;
	case NPU_CHAT_MISTRAL_V1:
		put_mistral(c, " ", " ", false);
		break;
	case NPU_CHAT_MISTRAL_V3:
		put_mistral(c, "", " ", true);
		break;
	case NPU_CHAT_MISTRAL_V3_TEKKEN:
		put_mistral(c, "", "", false);
		break;
	case NPU_CHAT_GEMMA:
		put_gemma(c);
		break;
	default:
		put_simple(c, &forms[form].simple);
		break;
	}
}

/* The form that is meant, when all else is in order too. */
static int check_call(const struct npu_tokenizer *t, const struct chat *c, int form)
{
	int known = form;

	if (!c->messages && c->num)
		return npu_error_set(c->err, -EINVAL, "a chat of %zu messages: NULL argument",
				     c->num);
	if ((unsigned int)form >= NPU_CHAT_NUM_FORMS)
		return npu_error_set(c->err, -EINVAL, "form %d of a chat is not known", form);
	if (form == NPU_CHAT_AUTO)
		known = npu_chat_form_detect(t->chat_template, c->err);
	return known < 0 ? known : check(c) ? -EINVAL : known;
}

int npu_tokenizer_chat(const struct npu_tokenizer *t, enum npu_chat_form form,
		       const struct npu_chat_message *messages, size_t num, bool answer,
		       char *text, size_t room, size_t *size, struct npu_error *err)
{
	struct chat c = { .w = { .text = text, .room = room }, .messages = messages, .num = num,
			  .answer = answer, .err = err };
	int known = check_call(t, &c, form);

	if ((!text && room) || !size)
		return npu_error_set(err, -EINVAL, "npu_tokenizer_chat: NULL argument");
	if (known < 0)
		return known;
	put_chat(&c, known);
	*size = c.w.size;
	if (c.w.size > room)
		return npu_error_set(err, -ENOSPC, "%zu bytes of text, there is room for %zu",
				     c.w.size, room);
	return 0;
}

int npu_tokenizer_encode_chat(const struct npu_tokenizer *t, enum npu_chat_form form,
			      const struct npu_chat_message *messages, size_t num, bool answer,
			      int32_t *ids, size_t room, size_t *num_ids, struct npu_error *err)
{
	struct chat c = { .messages = messages, .num = num, .answer = answer, .err = err };
	int known = check_call(t, &c, form), ret;

	if (known < 0)
		return known;
	if ((!ids && room) || !num_ids)
		return npu_error_set(err, -EINVAL, "npu_tokenizer_encode_chat: NULL argument");
	/* Once for the size, then for the text. */
	put_chat(&c, known);
	c.w.room = c.w.size;
	c.w.size = 0;
	c.w.text = malloc(c.w.room + 1);
	c.content = calloc(c.w.room / 8 + 1, 1);
	if (!c.w.text || !c.content) {
		ret = npu_error_set(err, -ENOMEM, "no memory for a chat of %zu bytes", c.w.room);
	} else {
		put_chat(&c, known);
		ret = tokenizer_encode(t, c.w.text, c.w.size,
				       NPU_TOKENIZE_ADD | NPU_TOKENIZE_SPECIAL, c.content, ids,
				       room, num_ids, err);
	}
	free(c.w.text);
	free(c.content);
	return ret;
}
