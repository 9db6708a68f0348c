/* SPDX-License-Identifier: MIT */
/* ONNX Runtime on a model, for tests. */
#ifndef ORT_RUN_H
#define ORT_RUN_H

#include "run_job.h"

/* False: there is none, NPU_ORT does not say where. */
bool ort_is_there(void);
/*
 * Run the model in the file @model on @in, up to 20 arrays. Outputs are @folder/<name>.npy
 * ('/' as '_'), inputs @folder/in_<name>.npy. 0 or -1.
 */
int ort_run(const char *model, const struct named_array *in, int num_in, const char *folder);
/*
 * The output @name of the last run in @folder; free with npu_npy_free(). 0, or what reading it
 * said.
 */
int ort_output(const char *folder, const char *name, struct npu_npy *out, struct npu_error *why);

#endif
