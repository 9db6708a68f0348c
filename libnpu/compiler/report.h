/* SPDX-License-Identifier: MIT */
/* The placement report: where every node of the model ended, and totals. */
#ifndef NPU_COMPILER_REPORT_H
#define NPU_COMPILER_REPORT_H

#include "compiler/lower.h"
#include "compiler/plan.h"

/* A node as the model has it, noted before the graph is rewritten. */
struct npu_model_node {
	const char *name, *op, *domain;
};

/* A name and the node (of the model, or of the final graph) that has it. */
struct npu_report_name {
	const char *name;
	unsigned int node;
};

/* Sorted by name, then node: models have many nodes. */
struct npu_report_index {
	struct npu_report_name *entry;
	unsigned int num;
};

struct npu_report {
	struct npu_arena *arena;	/* of the strings and arrays below */
	const struct npu_model_node *model;
	unsigned int num_model;
	struct npu_report_index by_name;	/* of model */
	struct npu_placement *placement;	/* one per model node */
	struct npu_compile_summary summary;
	const char *model_name;			/* of the file, "" when unknown */
	enum npu_precision precision;
	const struct npu_quant *quant;		/* what was chosen, or NULL; until it is written */
	char *text, *json;			/* malloc'ed */
	char line[160];				/* the totals that matter most; "" when refused */
};

/* @s as a JSON string, whatever bytes it has. */
void npu_json_string(FILE *f, const char *s);

/* The model's first node of that name, or NULL. */
const struct npu_model_node *npu_report_model_node(const struct npu_report *r, const char *name);

/* Note the nodes of a freshly imported graph. Returns 0 or -ENOMEM. */
int npu_report_note_model(struct npu_report *r, const struct npu_graph *g);

/*
 * Work out placements and totals. @l: the first program, may be NULL (nothing was lowered); @plan:
 * NULL when it was refused; nodes that
 * @diag reports errors for are refused. Returns 0 or -ENOMEM.
 */
int npu_report_fill(struct npu_report *r, const struct npu_lower *l, const struct npu_plan *plan,
		    const struct npu_diag *diag);

/* Write text and json. Returns 0 or -ENOMEM. */
int npu_report_write(struct npu_report *r);
void npu_report_free(struct npu_report *r);

#endif
