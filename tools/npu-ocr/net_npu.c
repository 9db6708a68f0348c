// SPDX-License-Identifier: MIT
/* The networks on libnpu: compiled once, kept as job files, run one submit at a time. */
#include "net.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "net_cache.h"
#include "net_calib.h"
#include "npu.h"
#include "npu_compiler.h"
#include "placement.h"
#include "tools/common/file.h"

#define MODEL_FILE_MAX	((size_t)1 << 30)

struct ocr_runtime {
	struct npu_device *dev;
	struct npu_queue *queue;
	char *cache, *calib;
	bool quiet;
	enum ocr_precision precision;
	char name[200];
};

struct ocr_net {
	struct ocr_runtime *rt;
	struct npu_job *job;
	struct npu_run *run;
	char name[16], input[128], output[128];
	struct ocr_placement placement;
	float *out;
	size_t room;			/* bytes behind @out */
};

const char *ocr_precision_name(enum ocr_precision precision)
{
	static const char *const names[OCR_PRECISIONS] = { [OCR_F16] = "f16",
							   [OCR_F32] = "f32",
							   [OCR_INT8] = "int8" };

	return precision < OCR_PRECISIONS ? names[precision] : NULL;
}

int ocr_runtime_open(struct ocr_runtime **out, const struct ocr_runtime_options *opt,
		     struct npu_error *why)
{
	struct npu_device_options dev_opt = NPU_INIT(dev_opt);
	struct npu_device_info info = NPU_INIT(info);
	struct ocr_runtime *rt;
	int err;

	*out = NULL;
	rt = calloc(1, sizeof(*rt));
	if (!rt || !(rt->cache = strdup(opt->cache)) ||
	    (opt->calib && !(rt->calib = strdup(opt->calib)))) {
		ocr_runtime_close(rt);
		return npu_error_set(why, -ENOMEM, "no memory");
	}
	rt->quiet = opt->quiet;
	rt->precision = opt->precision;
	dev_opt.threads = (uint32_t)opt->threads;
	err = npu_device_open(opt->device, &dev_opt, &rt->dev, why);
	if (!err)
		err = npu_queue_create(rt->dev, NULL, &rt->queue, why);
	if (!err)
		err = npu_device_info(rt->dev, &info, why);
	if (err) {
		ocr_runtime_close(rt);
		return npu_error_prefix(why, err, "device");
	}
	snprintf(rt->name, sizeof(rt->name), "%s (%s%s%s)", info.name, info.uri,
		 *info.simd ? ", " : "", info.simd);
	*out = rt;
	return 0;
}

void ocr_runtime_close(struct ocr_runtime *rt)
{
	if (!rt)
		return;
	npu_queue_destroy(rt->queue);
	npu_device_close(rt->dev);
	free(rt->cache);
	free(rt->calib);
	free(rt);
}

const char *ocr_runtime_name(const struct ocr_runtime *rt)
{
	return rt->name;
}

/* "x=1x3x{H=32..1280:32}x{W=32..1280:32}" as the compiler wants it. */
static void shape_text(const struct ocr_net_spec *spec, char *text, size_t size)
{
	static const char letter[4] = "NCHW";
	size_t n = (size_t)snprintf(text, size, "x=");
	int i;

	for (i = 0; i < 4 && n < size; i++) {
		const struct ocr_range *r = &spec->dims[i];

		if (r->min == r->max)
			n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? "x" : "",
					      (long long)r->min);
		else
			n += (size_t)snprintf(text + n, size - n, "%s{%c=%lld..%lld:%lld}",
					      i ? "x" : "", letter[i], (long long)r->min,
					      (long long)r->max, (long long)r->step);
	}
}

struct progress {
	const char *name;
	int live, percent;		/* a terminal is rewritten, a log gets one line */
};

static int show_progress(void *arg, const char *stage, double fraction)
{
	struct progress *p = arg;
	int percent = (int)(fraction * 100);

	if (!p->live || percent == p->percent)
		return 0;
	p->percent = percent;
	fprintf(stderr, "\rnpu-ocr: compiling %s: %3d %% %-24s", p->name, percent, stage);
	fflush(stderr);
	return 0;
}

/* The first message is the one that matters; all of them would not fit. */
static int compile_why(struct npu_error *why, const char *path, int err,
		       const struct npu_compile_result *res)
{
	const char *text = res ? npu_compile_messages(res) : "";
	int n = (int)strcspn(text, "\n");

	if (n)		/* it begins with the path */
		return npu_error_set(why, err, "%.*s", n, text);
	return npu_error_set(why, err, "%s: %s", path, strerror(-err));
}

/* The names of the one input and of the first output, which must both be f32. */
static int net_names(struct ocr_net *net, struct npu_error *why)
{
	struct npu_tensor_info info = NPU_INIT(info);
	unsigned int i;

	for (i = 0; !npu_job_tensor(net->job, 0, i, &info); i++) {
		char *name = info.role == NPU_TENSOR_INPUT ? net->input :
			     info.role == NPU_TENSOR_OUTPUT ? net->output : NULL;

		if (!name || *name)
			continue;
		if (info.dtype != NPU_F32 || strlen(info.name) >= sizeof(net->input))
			return npu_error_set(why, -EINVAL,
					     "%s: tensor %s is not f32, or its name is too long",
					     net->name, info.name);
		memcpy(name, info.name, strlen(info.name) + 1);
	}
	if (!*net->input || !*net->output)
		return npu_error_set(why, -EINVAL, "%s: the job has no input or no output",
				     net->name);
	return 0;
}

/* The job was loaded, or @err and @why say why not. */
static int net_opened(struct ocr_net *net, int err, struct npu_error *why)
{
	struct npu_job_info info = NPU_INIT(info);

	if (!err)
		err = npu_run_create(net->job, &net->run, why);
	if (err)
		return npu_error_prefix(why, err, "%s", net->name);
	err = net_names(net, why);
	if (!err && !npu_job_info(net->job, &info))
		ocr_placement_parse(info.report, &net->placement);
	return err;
}

static int net_load(struct ocr_net *net, const char *path, struct npu_error *why)
{
	return net_opened(net, npu_job_load(net->rt->dev, path, 0, &net->job, why), why);
}

static int net_load_memory(struct ocr_net *net, const void *job, size_t size,
			   struct npu_error *why)
{
	int ret = npu_job_load_memory(net->rt->dev, job, size, net->name, 0, &net->job,
				      why);

	return net_opened(net, ret, why);
}

static void net_unload(struct ocr_net *net)
{
	npu_run_destroy(net->run);
	npu_job_unload(net->job);
	net->run = NULL;
	net->job = NULL;
	*net->input = *net->output = 0;
}

/*
 * Keep the job for the next time and load it. A folder that can not be written costs a second at
 * each start and no more.
 */
static int net_keep(struct ocr_net *net, const struct npu_compile_result *res, const char *path,
		    double seconds, struct npu_error *why)
{
	const struct ocr_runtime *rt = net->rt;
	size_t size;
	const void *job = npu_compile_job(res, &size);
	int kept = !npu_file_mkdirs(rt->cache, why) && !npu_file_write(path, job, size, why);

	if (!kept)
		fprintf(stderr, "npu-ocr: warning: the compiled %s is not kept: %s\n", net->name,
			why->text);
	else if (!rt->quiet)
		fprintf(stderr, "npu-ocr: compiled %s in %.1f s to %s\n", net->name, seconds,
			path);
	return kept ? net_load(net, path, why) : net_load_memory(net, job, size, why);
}

static int net_compile(struct ocr_net *net, const struct ocr_net_spec *spec, const char *shape,
		       const struct ocr_calib *calib, const uint8_t *model, size_t len,
		       const char *path, struct npu_error *why)
{
	const struct ocr_runtime *rt = net->rt;
	struct progress progress = { spec->name, !rt->quiet && isatty(STDERR_FILENO), -1 };
	struct npu_compile_result *res = NULL;
	struct npu_quant_options quant;
	struct npu_compile_options opt;
	const char *shapes[] = { shape };
	struct timespec t0, t1;
	int err;

	npu_compile_options_init(&opt);
	opt.shapes = shapes;
	opt.num_shapes = 1;
	opt.precision = rt->precision == OCR_F32 ? NPU_PRECISION_F32 : NPU_PRECISION_F16;
	if (calib) {
		npu_quant_options_init(&quant);
		quant.budget = NPU_BUDGET_SPEED;
		quant.budget_value = OCR_INT8_SHARE;
		quant.samples = calib->samples;
		quant.num_samples = (unsigned int)calib->dir.count;
		opt.quant = &quant;
	}
	opt.progress = show_progress;
	opt.progress_arg = &progress;
	clock_gettime(CLOCK_MONOTONIC, &t0);
	err = npu_compile_onnx(model, len, spec->model, &opt, &res);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	if (progress.live)
		fputs("\r\033[K", stderr);
	if (err)
		compile_why(why, spec->model, err, res);
	else
		err = net_keep(net, res, path,
			       (double)(t1.tv_sec - t0.tv_sec) +
				       (double)(t1.tv_nsec - t0.tv_nsec) * 1e-9, why);
	npu_compile_result_free(res);
	return err;
}

/* A job of the user's own has to take the shapes that the pipeline will ask for. */
static int net_check_shapes(const struct ocr_net *net, const struct ocr_net_spec *spec,
			    struct npu_error *why)
{
	int64_t dims[4];
	int i, largest, err;

	for (largest = 0; largest < 2; largest++) {
		for (i = 0; i < 4; i++)
			dims[i] = largest ? spec->dims[i].max : spec->dims[i].min;
		err = npu_run_set_shape(net->run, net->input, 4, dims, why);
		if (err)
			return npu_error_prefix(why, err, "job for %s", net->name);
	}
	return 0;
}

/* From the cache, or compiled into it. */
static int net_from_model(struct ocr_net *net, const struct ocr_net_spec *spec, int *compiled,
			  struct npu_error *why)
{
	struct ocr_runtime *rt = net->rt;
	const char *variant = ocr_precision_name(rt->precision);
	char path[PATH_MAX], shape[128];
	struct ocr_calib calib = { 0 };
	uint8_t *model = NULL;
	size_t len;
	int err;

	shape_text(spec, shape, sizeof(shape));
	err = npu_file_read(spec->model, MODEL_FILE_MAX, &model, &len, why);
	if (!err && rt->precision == OCR_INT8) {
		err = ocr_calib_load(&calib, rt->calib, spec->name, why);
		variant = calib.variant;
	}
	if (!err)
		err = ocr_cache_path(rt->cache, spec, shape, variant, model, len, path,
				     sizeof(path), why);
	/* A file that does not load (cut short, of a newer format) is made anew. */
	if (!err && (access(path, R_OK) || net_load(net, path, why))) {
		net_unload(net);
		*compiled = 1;
		err = net_compile(net, spec, shape, calib.dir.count ? &calib : NULL, model, len,
				  path, why);
	}
	ocr_calib_free(&calib);
	free(model);
	return err;
}

int ocr_net_open(struct ocr_runtime *rt, const struct ocr_net_spec *spec, struct ocr_net **out,
		 int *compiled, struct npu_error *why)
{
	struct ocr_net *net;
	int err;

	*out = NULL;
	*compiled = 0;
	net = calloc(1, sizeof(*net));
	if (!net)
		return npu_error_set(why, -ENOMEM, "%s: no memory", spec->name);
	net->rt = rt;
	snprintf(net->name, sizeof(net->name), "%s", spec->name);
	if (spec->job) {
		err = net_load(net, spec->job, why);
		if (!err)
			err = net_check_shapes(net, spec, why);
	} else {
		err = net_from_model(net, spec, compiled, why);
	}
	if (err)
		ocr_net_close(net);
	else
		*out = net;
	return err;
}

void ocr_net_close(struct ocr_net *net)
{
	if (!net)
		return;
	net_unload(net);
	free(net->out);
	free(net);
}

static int net_submit(struct ocr_net *net, struct npu_error *why)
{
	struct npu_fence *fence = NULL;
	int err;

	err = npu_queue_submit(net->rt->queue, net->run, NULL, &fence, why);
	if (err)
		return err;
	err = npu_fence_wait(fence, NPU_FOREVER, why);
	npu_fence_put(fence);
	return err;
}

static int net_read(struct ocr_net *net, int64_t out_dims[OCR_NET_RANK_MAX], int *out_rank,
		    struct npu_error *why)
{
	unsigned int rank, i;
	size_t count = 1;
	float *out;
	int err;

	err = npu_run_get_shape(net->run, net->output, &rank, out_dims, why);
	if (err)
		return err;
	for (i = 0; i < rank; i++)
		count *= (size_t)out_dims[i];
	if (count * sizeof(float) > net->room) {
		out = realloc(net->out, count * sizeof(float));
		if (!out)
			return npu_error_set(why, -ENOMEM, "no memory for %zu results", count);
		net->out = out;
		net->room = count * sizeof(float);
	}
	*out_rank = (int)rank;
	return npu_run_read(net->run, net->output, net->out, count * sizeof(float), why);
}

int ocr_net_run(struct ocr_net *net, const float *in, const int64_t dims[4], const float **out,
		int64_t out_dims[OCR_NET_RANK_MAX], int *out_rank, struct npu_error *why)
{
	size_t bytes = (size_t)(dims[0] * dims[1] * dims[2] * dims[3]) * sizeof(float);
	int err;

	err = npu_run_set_shape(net->run, net->input, 4, dims, why);
	if (!err)
		err = npu_run_write(net->run, net->input, in, bytes, why);
	if (!err)
		err = net_submit(net, why);
	if (!err)
		err = net_read(net, out_dims, out_rank, why);
	*out = net->out;
	return err ? npu_error_prefix(why, err, "%s", net->name) : 0;
}

void ocr_net_placement(const struct ocr_net *net, struct ocr_placement *placement)
{
	*placement = net->placement;
}
