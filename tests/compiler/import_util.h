/* SPDX-License-Identifier: MIT */
/* What the tests of importer and passes do again and again. */
#ifndef TESTS_IMPORT_UTIL_H
#define TESTS_IMPORT_UTIL_H

#include "interp.h"
#include "common/onnx_lines.h"

/*
 * Finish @b and import it; NULL with @diag filled when it is refused. @path as for
 * npu_onnx_import().
 */
struct npu_graph *import_built(struct ob *b, const char *path, struct npu_diag *diag);

/*
 * True when the one error in @diag, or any of them, mentions all of the words (NULL ends the list).
 */
bool diag_says(struct npu_diag *diag, ...);

unsigned int count_op(const struct npu_graph *g, enum npu_gop op);
/* in epilogues and on their own */
unsigned int count_act(const struct npu_graph *g, enum npu_act_kind kind);
const struct npu_gnode *first_op(const struct npu_graph *g, enum npu_gop op);

/* A pseudo-random value for graph input @i at @scalars. */
struct value random_input(const struct npu_graph *g, unsigned int i, const int64_t *scalars);

#endif
