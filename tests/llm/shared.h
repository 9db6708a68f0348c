/* SPDX-License-Identifier: MIT */
#ifndef TEST_LLM_SHARED_H
#define TEST_LLM_SHARED_H

/*
 * Where @name of the models that are not in the tree would be: in NPU_SHARED_MODELS, or in
 * ../shared/models. It need not be there; good until the next call.
 */
const char *shared_path(const char *name);

#endif
