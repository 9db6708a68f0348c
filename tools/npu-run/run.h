/* SPDX-License-Identifier: MIT */
/* npu-run: what its files share. */
#ifndef NPU_RUN_TOOL_H
#define NPU_RUN_TOOL_H

#include "npu.h"
#include "npu_compiler.h"
#include "tools/common/npy.h"

#define MAX_ITEMS	64

/* A camera leaves bytes behind a frame, up to whole pages: so many more a file may have. */
#define FRAME_SLACK	((size_t)1 << 20)

/* NAME=VALUE of --input, --output and --shape. */
struct item {
	char *name;
	char *value;
	uint64_t bytes;			/* what @value is with --stride */
};

enum format { FORMAT_NONE, FORMAT_TEXT, FORMAT_JSON };
enum fit { FIT_STRETCH, FIT_PAD };
enum sort { SORT_ORDER, SORT_TIME, SORT_MACS, SORT_BYTES };

struct options {
	const char *model;		/* models[0] */
	char **models;
	unsigned int num_models;	/* one, but with --doctor */
	enum format doctor;
	const char *trace;		/* file to write */
	unsigned int trace_runs;
	const char *root;		/* --doctor looks at another file system */
	const char *device;
	unsigned int threads;
	struct item input[MAX_ITEMS], output[MAX_ITEMS], shape[MAX_ITEMS];
	struct item dmabuf[MAX_ITEMS], stride[MAX_ITEMS];
	unsigned int num_input, num_output, num_shape, num_dmabuf, num_stride;
	unsigned int top;
	unsigned int bench;		/* runs; 0: none */
	bool info, profile, json, disasm, digest, report;
	enum sort sort;
	enum format check;
	const char *against;		/* --check of a job file: the model it came from */
	struct npu_compile_options compile;	/* --check of a model */
	const char *for_model;		/* one of the options for these, when there is any */
	const char *for_picture;	/* one of those that only pictures need, the same */
	bool int8;			/* the same in int8, with these */
	struct npu_quant_options quant;
	const char *calib[MAX_ITEMS];
	unsigned int num_calib;
	double max_error, min_cosine;	/* limits of --check; negative: by the types in use */
	unsigned int check_work;	/* million MACs for the oracle; 0: all */
	bool check_all;
	uint64_t seed;			/* of what is made up; 0: not given */
	/* Pictures: (pixel * scale - mean[c]) / std[c]. */
	float mean[3], std[3], scale;
	bool bgr;
	enum fit fit;
};

/* What a model is run with. */
struct session {
	const struct options *opt;
	struct npu_device *dev;
	struct npu_queue *queue;
	struct npu_job *job;
	struct npu_run *run;
	double load_ms;
	bool random;			/* an input was made up so */
	struct npu_error err;
};

/* Is the model run, or are only things said of the file? */
bool options_run(const struct options *opt);
/* Returns 0, or 2 after a message (usage), or -1 when there is nothing more to do (--help). */
int options_parse(struct options *opt, int argc, char **argv);

/*
 * Print to standard output. Names from files go through here: control characters other than a new
 * line are replaced.
 */
__attribute__((format(printf, 1, 2)))
void say(const char *fmt, ...);

/* Print "npu-run: ..." in the same way to standard error and return 1, the exit status. */
__attribute__((format(printf, 1, 2)))
int fail(const char *fmt, ...);

/* The whole of --check, session included. Returns 0, or 1 after a message. */
int check_run(struct session *s);
/* The whole of --doctor. Returns 0, or 1 when something is wrong. */
int doctor_run(const struct options *opt);

/* Device, job, queue and run; 0, or 1 after a message. session_close() in either case. */
int session_open(struct session *s);
void session_close(struct session *s);

/* These return 0, or 1 after a message. */
int inputs_fill(struct session *s);
int dmabufs_bind(struct session *s);	/* --input-dmabuf; when the shapes are known */
/* The most bytes that input @name, or the frame, has in memory; 0: there is none of the name. */
size_t input_extent(struct session *s, const char *name);
int outputs_write(struct session *s);
int info_print(struct session *s);
int disasm_print(struct session *s);
int profile_run(struct session *s);
int trace_run(struct session *s);
int digest_run(struct session *s);
int bench_run(struct session *s);

/*
 * Clipped values of the last run (clip.c): a warning when there are clearly more than calibration
 * saw, a line for --info, and which records these are.
 */
void clip_warn(struct session *s);
void clip_info_print(struct session *s);
bool clip_record(const char *key);

/* Submit once and wait; @flags NPU_SUBMIT_*. *@fence (may be NULL) is the caller's. */
int session_submit(struct session *s, uint32_t flags, struct npu_fence **fence);

/*
 * Tensor @index of the program that the shapes chose; its dims at these lengths in min_dim. Returns
 * false past the end.
 */
bool session_tensor(struct session *s, unsigned int index, struct npu_tensor_info *info);

/* The frame of that name in the first program that has it. */
bool find_frame(struct session *s, const char *name, struct npu_image_info *img);

/* Does --input-dmabuf name this tensor, or image? */
bool dmabuf_given(const struct session *s, const char *name);

size_t dtype_size(unsigned int dtype);
const char *dtype_name(unsigned int dtype);
/* "1x3x640x640" */
const char *dims_text(unsigned int rank, const int64_t *dims, char buf[128]);
/* "12.3 MiB" */
const char *bytes_text(uint64_t bytes, char buf[32]);
/* ", 2 threads, avx2": what a device tells of the processor that it is; "" when it is none. */
const char *engine_text(const struct npu_device_info *dev, char buf[64]);
double now_ms(void);
struct cJSON;
/* Print @root (NULL: no memory) to standard output and delete it. 0, or 1 after a message. */
int json_print(struct cJSON *root);

/* One element of a tensor as a number. */
double element(unsigned int dtype, const void *data, size_t index);
/* Of an f32, f16 or u8 tensor; bytes are rounded (half away from zero) and clamped. */
void element_store(unsigned int dtype, void *data, size_t index, float value);

#endif
