// SPDX-License-Identifier: MIT
/* Where the three networks and the dictionary are, and in which shapes they run. */
#include "ocr.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char det_file[] = "ch_PP-OCRv4_det_infer.onnx",
		  rec_file[] = "ch_PP-OCRv4_rec_infer.onnx";
static const char cls_file[] = "ch_ppocr_mobile_v2.0_cls_infer.onnx",
		  keys_file[] = "ppocr_keys_v1.txt";

int ocr_models_find(char *dir, size_t size, struct npu_error *why)
{
	const char *places[] = { getenv("NPU_MODELS"), "build/models", "/usr/share/npu/models" };
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!places[i] ||
		    snprintf(path, sizeof(path), "%s/%s", places[i], det_file) >= PATH_MAX ||
		    access(path, R_OK) || (size_t)snprintf(dir, size, "%s", places[i]) >= size)
			continue;
		return 0;
	}
	return npu_error_set(
		why, -ENOENT,
		"no models: %s is not in $NPU_MODELS, build/models or "
		"/usr/share/npu/models. `scripts/models.sh ocr` fetches it, or name a folder with --models",
		det_file);
}

static int net_open(struct ocr_runtime *rt, const char *dir, const char *name, const char *file,
		    const char *job, struct ocr_range h, struct ocr_range w, struct ocr_net **net,
		    struct npu_error *why)
{
	struct ocr_net_spec spec = { .name = name,
				     .job = job,
				     .dims = { { 1, 1, 1 }, { 3, 3, 1 }, h, w } };
	char path[PATH_MAX];
	int compiled;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= PATH_MAX)
		return npu_error_set(why, -ENAMETOOLONG, "%s: the name is too long", dir);
	spec.model = path;
	return ocr_net_open(rt, &spec, net, &compiled, why);
}

int ocr_models_open(struct ocr *ocr, struct ocr_runtime *rt, const char *dir,
		    const struct ocr_options *opt, struct npu_error *why)
{
	static const struct ocr_range page = { 32, 1280, 32 }, line = { 16, 3200, 8 };
	static const struct ocr_range h48 = { 48, 48, 1 }, w192 = { 192, 192, 1 };
	char keys[PATH_MAX];
	int err;

	ocr->opt = *opt;
	if (snprintf(keys, sizeof(keys), "%s/%s", dir, keys_file) >= PATH_MAX)
		return npu_error_set(why, -ENAMETOOLONG, "%s: the name is too long", dir);
	err = ocr_dict_load(&ocr->dict, keys, why);
	if (!err)
		err = net_open(rt, dir, "det", det_file, opt->det_job, page, page, &ocr->det, why);
	if (!err && opt->classify)
		err = net_open(rt, dir, "cls", cls_file, opt->cls_job, h48, w192, &ocr->cls, why);
	if (!err)
		err = net_open(rt, dir, "rec", rec_file, opt->rec_job, h48, line, &ocr->rec, why);
	if (err)
		ocr_models_close(ocr);
	return err;
}

void ocr_models_close(struct ocr *ocr)
{
	ocr_net_close(ocr->det);
	ocr_net_close(ocr->cls);
	ocr_net_close(ocr->rec);
	ocr_dict_free(&ocr->dict);
	ocr->det = ocr->cls = ocr->rec = NULL;
}
