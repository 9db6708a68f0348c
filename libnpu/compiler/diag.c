// SPDX-License-Identifier: MIT
/* Findings of the compiler, collected so that a user sees all of them at once. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/graph.h"
#include "core/error.h"

static struct npu_diag_entry *diag_push(struct npu_diag *diag)
{
	struct npu_diag_entry *grown;
	unsigned int capacity;

	if (diag->count >= NPU_DIAG_MAX)
		return NULL;
	if (diag->count == diag->capacity) {
		capacity = diag->capacity ? 2 * diag->capacity : 16;
		grown = realloc(diag->entry, capacity * sizeof(*grown));
		if (!grown)
			return NULL;
		diag->entry = grown;
		diag->capacity = capacity;
	}
	return &diag->entry[diag->count++];
}

/* Model names are untrusted bytes. */
static const char *diag_clean(struct npu_diag *diag, const char *s)
{
	char *copy = npu_arena_strndup(&diag->arena, s ? s : "", s ? strnlen(s, 200) : 0);

	if (!copy)
		return "";
	npu_text_clean(copy);
	return copy;
}

static int diag_vadd(struct npu_diag *diag, enum npu_diag_level level, int err, const char *node,
		     const char *op, const char *attr, const char *fmt, va_list ap)
{
	struct npu_diag_entry *e;
	char text[1024];

	if (!diag)
		return err;
	if (level == NPU_DIAG_ERROR)
		diag->errors++;
	e = diag_push(diag);
	if (!e)
		return err;
	vsnprintf(text, sizeof(text), fmt, ap);
	npu_text_clean(text);
	e->sources = NULL;
	e->num_sources = 0;
	e->level = level;
	e->err = err;
	e->node = diag_clean(diag, node);
	e->op = diag_clean(diag, op);
	e->attr = diag_clean(diag, attr);
	e->text = npu_arena_strdup(&diag->arena, text);
	if (!e->text)
		e->text = "out of memory";
	return err;
}

static void diag_sources(struct npu_diag *diag, struct npu_diag_entry *e,
			 const struct npu_gnode *node)
{
	const char **list = npu_arena_array(&diag->arena, node->num_sources + 1, sizeof(*list));

	for (unsigned int i = 0; list && i < node->num_sources; i++) {
		list[i] = npu_arena_strdup(&diag->arena, node->sources[i]);
		if (!list[i])
			return;
	}
	e->sources = list;
	e->num_sources = list ? node->num_sources : 0;
}

int npu_diag_add(struct npu_diag *diag, int err, const char *attr, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_vadd(diag, NPU_DIAG_ERROR, err, NULL, NULL, attr, fmt, ap);
	va_end(ap);
	return err;
}

int npu_diag_node(struct npu_diag *diag, int err, const struct npu_gnode *node, const char *attr,
		  const char *fmt, ...)
{
	const char *name = node->num_sources ? node->sources[node->num_sources - 1] : node->name;
	va_list ap;

	va_start(ap, fmt);
	diag_vadd(diag, NPU_DIAG_ERROR, err, name, npu_gnode_op_name(node), attr, fmt, ap);
	va_end(ap);
	if (diag && diag->count && diag->count < NPU_DIAG_MAX)
		diag_sources(diag, &diag->entry[diag->count - 1], node);
	return err;
}

int npu_diag_named(struct npu_diag *diag, enum npu_diag_level level, int err, const char *node,
		   const char *op, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_vadd(diag, level, err, node, op, NULL, fmt, ap);
	va_end(ap);
	return err;
}

static void diag_print(FILE *f, const struct npu_diag *diag, const struct npu_diag_entry *e)
{
	static const char *const level[] = { "", "warning: ", "note: " };

	if (diag->path)
		fprintf(f, "%s: ", diag->path);
	fputs(level[e->level], f);
	if (*e->node || *e->op)
		fprintf(f, "node '%s' (%s): ", e->node, *e->op ? e->op : "?");
	if (*e->attr)
		fprintf(f, "%s: ", e->attr);
	fprintf(f, "%s\n", e->text);
}

const char *npu_diag_text(struct npu_diag *diag)
{
	size_t size = 0;
	unsigned int i;
	FILE *f;

	free(diag->text);
	diag->text = NULL;
	f = open_memstream(&diag->text, &size);
	if (!f)
		return "out of memory";
	for (i = 0; i < diag->count; i++)
		diag_print(f, diag, &diag->entry[i]);
	if (diag->count == NPU_DIAG_MAX)
		fprintf(f, "... (further messages were dropped; %u errors in all)\n", diag->errors);
	if (fclose(f))
		return "out of memory";
	return diag->text;
}

void npu_diag_fini(struct npu_diag *diag)
{
	npu_arena_fini(&diag->arena);
	free(diag->entry);
	free(diag->text);
	memset(diag, 0, sizeof(*diag));
}
