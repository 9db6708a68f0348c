/* SPDX-License-Identifier: MIT */
/*
 * The seam between the pipeline and what runs its networks. The pipeline knows float tensors with
 * run-time lengths; how a network is compiled, cached and run is behind it. One net is used by one
 * thread at a time.
 */
#ifndef OCR_NET_H
#define OCR_NET_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define OCR_NET_RANK_MAX	8

struct ocr_net;
struct ocr_runtime;

/*
 * A dimension of the input that is chosen per run: @min, @min + @step, ... up to @max. min == max
 * is a constant.
 */
struct ocr_range {
	int64_t min, max, step;
};

struct ocr_net_spec {
	const char *name;		/* "det": names the job file, dumps and messages */
	const char *model;		/* path of the ONNX file */
	const char *job;		/* path of a job file to be taken in its place, or NULL */
	struct ocr_range dims[4];	/* of the one input, NCHW */
};

/* What networks are compiled for. */
enum ocr_precision {
	OCR_F16,
	OCR_F32,			/* slower, nearer to the model */
	OCR_INT8,			/* needs samples to calibrate with */
	OCR_PRECISIONS
};

/* "f16", "f32", "int8"; NULL past the end */
const char *ocr_precision_name(enum ocr_precision precision);

struct ocr_runtime_options {
	const char *device;		/* NULL: the first device there is, or in process */
	const char *cache;		/* directory for compiled job files */
	int threads;			/* 0: all CPUs */
	bool quiet;			/* no progress lines while compiling */
	enum ocr_precision precision;
	/*
	 * for OCR_INT8: the folder with a folder of samples (.npy) for each network, named like it
	 */
	const char *calib;
};

/* How a network was placed; MACs are those of one run at the largest lengths. */
struct ocr_placement {
	uint64_t nodes, nodes_npu;
	uint64_t macs, macs_npu;
};

int ocr_runtime_open(struct ocr_runtime **rt, const struct ocr_runtime_options *opt,
		     struct npu_error *why);
/* All nets of the runtime must be closed before. NULL is fine. */
void ocr_runtime_close(struct ocr_runtime *rt);
/* A few words on what runs the networks, for the user. Valid as long as @rt. */
const char *ocr_runtime_name(const struct ocr_runtime *rt);

/*
 * Load the compiled network from spec->job or from the cache, or compile it and put it there.
 * @compiled tells which. A job that does not take the spec's smallest and largest shapes is refused
 * (-EINVAL).
 */
int ocr_net_open(struct ocr_runtime *rt, const struct ocr_net_spec *spec, struct ocr_net **net,
		 int *compiled, struct npu_error *why);
void ocr_net_close(struct ocr_net *net);

/*
 * Run on @in of shape @dims (inside the spec's ranges, -EINVAL otherwise). @out and @out_dims are
 * set to the first output, which belongs to the net and is valid until its next run or close.
 */
int ocr_net_run(struct ocr_net *net, const float *in, const int64_t dims[4], const float **out,
		int64_t out_dims[OCR_NET_RANK_MAX], int *out_rank, struct npu_error *why);

void ocr_net_placement(const struct ocr_net *net, struct ocr_placement *placement);

#endif
