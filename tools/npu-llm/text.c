// SPDX-License-Identifier: MIT
/* A text goes on, and a chat. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/error.h"
#include "llm.h"
#include "tools/common/file.h"

#define PROMPT_LIMIT	(64u << 20)

static int open_speculator(struct generation *g, struct npu_error *err)
{
	struct npu_llm_speculator_options opt = NPU_INIT(opt);

	if (!g->o->speculate)
		return 0;
	opt.max_draft = g->o->draft;
	opt.model = g->m->small;
	return npu_llm_speculator_create(g->m->llm, &opt, &g->speculator, err);
}

static int open_generation(struct generation *g, const struct model *m, const struct options *o,
			   struct npu_error *err)
{
	int ret;

	*g = (struct generation){ .m = m, .o = o, .last = -1, .out = stdout };
	g->reply.stop = o->stop;
	g->reply.num_stop = o->num_stop;
	ret = npu_llm_sampler_create(&o->sampler, &g->sampler, err);
	ret = ret ?: open_speculator(g, err);
	if (!ret && o->load)
		return session_load(m, o->load, &g->s, err);
	return ret ?: npu_llm_session_create(m->llm, &g->s, err);
}

static void close_generation(struct generation *g)
{
	npu_llm_session_destroy(g->s);
	npu_llm_speculator_destroy(g->speculator);
	npu_llm_sampler_destroy(g->sampler);
	reply_free(&g->reply);
}

/* The prompt's bytes, to be freed. */
static int read_prompt(const struct options *o, char **text, size_t *size, struct npu_error *err)
{
	const char *prompt = o->prompt ? o->prompt : "";
	uint8_t *data = NULL;
	int ret;

	if (o->file) {
		ret = npu_file_read(o->file, PROMPT_LIMIT, &data, size, err);
		*text = (char *)data;
		return ret;
	}
	*text = strdup(prompt);
	*size = strlen(prompt);
	return *text ? 0 : npu_error_set(err, -ENOMEM, "no memory for the prompt");
}

/* The last token of what was loaded, taken back to be run again. */
static int last_token(struct generation *g, int32_t **ids, size_t *num, struct npu_error *err)
{
	uint32_t length = npu_llm_session_length(g->s);

	*ids = malloc(sizeof(**ids));
	if (!*ids)
		return npu_error_set(err, -ENOMEM, "no memory for a token");
	**ids = npu_llm_session_tokens(g->s)[length - 1];
	*num = 1;
	return npu_llm_session_truncate(g->s, length - 1, err);
}

/* Whether what comes next goes on from text, not from nothing or a token that is none. */
static bool is_behind_text(const struct generation *g)
{
	uint32_t length = npu_llm_session_length(g->s);

	return length && !(npu_tokenizer_attr(g->m->tok, npu_llm_session_tokens(g->s)[length - 1]) &
			   (NPU_TOKEN_CONTROL | NPU_TOKEN_UNKNOWN));
}

static int prompt_tokens(struct generation *g, const char *text, size_t size, int32_t **ids,
			 size_t *num, struct npu_error *err)
{
	bool begins = !npu_llm_session_length(g->s);
	unsigned int flags = NPU_TOKENIZE_SPECIAL;
	int ret;

	if (!begins && !size)
		return last_token(g, ids, num, err);
	flags |= begins ? NPU_TOKENIZE_ADD : is_behind_text(g) ? NPU_TOKENIZE_MORE : 0;
	ret = model_encode(g->m, text, size, flags, ids, num, err);
	if (!ret && !*num)
		return npu_error_set(err, -EINVAL,
				     "the prompt is empty, and this model begins with no token of its own");
	return ret;
}

static int text_go_on(struct generation *g, const char *prompt, size_t size, const int32_t *ids,
		      size_t num, struct npu_error *err)
{
	int ret;

	if (!g->o->no_prompt) {
		fwrite(prompt, 1, size, stdout);
		fflush(stdout);
	}
	generate_restart(g);
	g->reply.stream.begun = size > 0 || npu_llm_session_length(g->s) > 0;
	ret = generate(g, ids, num, g->o->num, err);
	fputc('\n', stdout);
	return ret;
}

/* All but the prompt's last token are run once, and each text goes on from a fork of that. */
static int text_forks(struct generation *g, const char *prompt, size_t size, const int32_t *ids,
		      size_t num, struct npu_error *err)
{
	struct npu_llm_sampler_options opt = g->o->sampler;
	struct npu_llm_session *base = g->s;
	int ret = num > 1 ? npu_llm_prefill(base, ids, num - 1, NULL, err) : 0;
	uint32_t i;

	for (i = 0; i < g->o->forks && ret >= 0 && ret != END_INTERRUPT; i++, opt.seed++) {
		npu_llm_sampler_destroy(g->sampler);
		g->sampler = NULL;
		ret = npu_llm_sampler_create(&opt, &g->sampler, err);
		ret = ret ?: npu_llm_session_fork(base, &g->s, err);
		if (ret)
			break;
		if (i)
			puts("---");
		ret = text_go_on(g, prompt, size, ids + num - 1, 1, err);
		npu_llm_session_destroy(g->s);
		g->s = base;
	}
	return ret;
}

int run_text(const struct model *m, const struct options *o, struct npu_error *err)
{
	struct generation g;
	int32_t *ids = NULL;
	char *text = NULL;
	size_t size = 0, num = 0;
	int ret = open_generation(&g, m, o, err);

	ret = ret ?: read_prompt(o, &text, &size, err);
	ret = ret ?: prompt_tokens(&g, text, size, &ids, &num, err);
	if (!ret && o->forks > 1)
		ret = text_forks(&g, text, size, ids, num, err);
	else if (!ret)
		ret = text_go_on(&g, text, size, ids, num, err);
	if (ret >= 0 && o->save)
		ret = session_save(&g, o->save, err);
	if (ret >= 0 && !o->quiet)
		stats_print(&g);
	free(text);
	free(ids);
	close_generation(&g);
	return ret;
}

/* ---- chat ---- */

struct chat {
	struct generation g;
	enum npu_chat_form form;
	struct npu_chat_message *messages;
	size_t num, room;
};

/* @text is taken over. */
static int add_message(struct chat *c, const char *role, char *text, struct npu_error *err)
{
	struct npu_chat_message *p = c->messages;

	if (text && c->num == c->room) {
		p = realloc(p, (c->room * 2 + 8) * sizeof(*p));
		if (p) {
			c->messages = p;
			c->room = c->room * 2 + 8;
		}
	}
	if (!text || !p) {
		free(text);
		return npu_error_set(err, -ENOMEM, "no memory for a message");
	}
	c->messages[c->num++] = (struct npu_chat_message){ role, text };
	return 0;
}

/* The conversation so far as tokens, to be freed. */
static int chat_tokens(const struct chat *c, int32_t **ids, size_t *num, struct npu_error *err)
{
	const struct npu_tokenizer *t = c->g.m->tok;
	int ret = npu_tokenizer_encode_chat(t, c->form, c->messages, c->num, true, NULL, 0, num,
					    err);

	if (ret && ret != -ENOSPC)
		return ret;
	*ids = malloc((*num + 1) * sizeof(**ids));
	if (!*ids)
		return npu_error_set(err, -ENOMEM, "no memory for a chat of %zu tokens", *num);
	return npu_tokenizer_encode_chat(t, c->form, c->messages, c->num, true, *ids, *num, num,
					 err);
}

/* What the conversation has in common with what is in the cache stays there. */
static int answer(struct chat *c, struct npu_error *err)
{
	struct npu_llm_session *s = c->g.s;
	const struct reply *r = &c->g.reply;
	const int32_t *have = npu_llm_session_tokens(s);
	uint32_t same = 0, len = npu_llm_session_length(s);
	int32_t *ids = NULL;
	size_t num = 0;
	int ret = chat_tokens(c, &ids, &num, err);

	while (!ret && same < len && same + 1 < num && have[same] == ids[same])
		same++;
	ret = ret ?: npu_llm_session_truncate(s, same, err);
	generate_restart(&c->g);
	ret = ret ?: generate(&c->g, ids + same, num - same, c->g.o->num, err);
	free(ids);
	if (ret < 0)
		return ret;
	return add_message(c, "assistant", strndup(r->text ? r->text : "", r->size), err);
}

static int chat_turns(struct chat *c, struct npu_error *err)
{
	bool tty = isatty(STDIN_FILENO);
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int ret = 0;

	while (!ret) {
		interrupt_clear();
		if (tty)
			fputs("> ", stderr);
		n = getline(&line, &room, stdin);
		if (n < 0)
			break;
		line[n && line[n - 1] == '\n' ? n - 1 : n] = 0;
		if (!*line)
			continue;
		ret = add_message(c, "user", strdup(line), err);
		ret = ret ?: answer(c, err);
		fputc('\n', stdout);
	}
	free(line);
	return ret;
}

int run_chat(const struct model *m, const struct options *o, struct npu_error *err)
{
	struct chat c = { .form = NPU_CHAT_AUTO };
	int ret = open_generation(&c.g, m, o, err), form;

	if (!ret && o->form) {
		form = npu_chat_form_find(o->form);
		c.form = form < 0 ? 0 : (enum npu_chat_form)form;
		if (form < 0)
			ret = npu_error_set(err, -EINVAL, "there is no chat template '%s'", o->form);
	} else if (!ret) {
		form = npu_chat_form_detect(m->vocab.chat_template, err);
		ret = form < 0 ? npu_error_prefix(err, form, "chat (--chat-template NAME chooses a form)") : 0;
	}
	if (!ret && o->system)
		ret = add_message(&c, "system", strdup(o->system), err);
	ret = ret ?: chat_turns(&c, err);
	if (!ret && o->save)
		ret = session_save(&c.g, o->save, err);
	if (!ret && !o->quiet)
		stats_print(&c.g);
	while (c.num)
		free((char *)c.messages[--c.num].content);
	free(c.messages);
	close_generation(&c.g);
	return ret;
}
