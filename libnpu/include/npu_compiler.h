/* SPDX-License-Identifier: MIT */
/*
 * The model compiler: an ONNX model in, a job file (.npu) and a placement report out.
 *
 * Everything here may be called from several threads at once as long as each works on its own
 * result. There is no global state, nothing is printed except where the caller gave a FILE, and a
 * bad model never ends the process.
 */
#ifndef NPU_COMPILER_H
#define NPU_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifndef NPU_API
#define NPU_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How activations and weights lie in memory. Products are accumulated in f32 either way.
 *
 * F16: all that an output which comes out of an exponential (sigmoid, softmax, exp, tanh) depends
 * on stays f32, because eleven bits in front of one cost hundredths at every edge of the result;
 * the rest is f16. all_f16 overrides that.
 */
struct npu_host_op;

enum npu_precision {
	NPU_PRECISION_F16,
	NPU_PRECISION_F32,
};

/* How the range of an 8-bit activation is chosen from the values that calibration saw. */
enum npu_calib_method {
	/* MINMAX or MSE, for each tensor what keeps outputs closer on samples it is not from */
	NPU_CALIB_AUTO,
	NPU_CALIB_MINMAX,	/* all of them */
	NPU_CALIB_PERCENTILE,	/* all but a share at either end */
	NPU_CALIB_MSE,		/* least mean square of the error */
	NPU_CALIB_KL,		/* least divergence of the distribution (entropy) */
	NPU_NUM_CALIB_METHODS
};

/* "auto", "minmax", "percentile", "mse", "kl" */
NPU_API const char *npu_calib_method_name(enum npu_calib_method method);

/**
 * struct npu_calib_tensor - one input of a calibration sample, or of several
 * @name: of the model input; NULL or "": the model has one input, this is it
 * @dtype: enum npu_dtype of npu_isa.h: the input's type in the model (NPU_F32 for f32)
 * @rank, @dims: shape, which has to agree with the model's; where the model leaves a dimension
 *	open, samples may differ in it, and from what is compiled. A stack of samples has one
 *	dimension more in front, or its first one where that of the input is 1 as it is compiled;
 *	all tensors of the sample have to hold equally many then
 * @data: dense, row major
 * @source: where it is from (a file), for messages; may be NULL
 */
struct npu_calib_tensor {
	const char *name;
	int dtype;
	int rank;
	const int64_t *dims;
	const void *data;
	const char *source;
};

/* A value for every input of the model, or a stack of them. */
struct npu_calib_sample {
	const struct npu_calib_tensor *tensors;
	unsigned int num_tensors;
};

enum npu_quant_budget {
	NPU_BUDGET_DEFAULT,	/* ACCURACY 0.99 */
	NPU_BUDGET_ACCURACY,	/* fewest MACs in float with every output this close */
	NPU_BUDGET_SPEED,	/* at least this share of MACs in int8, as close as can be */
};

/**
 * struct npu_quant_options - how to make an int8 job; fill in with npu_quant_options_init() first
 * @size: sizeof(struct npu_quant_options), set by npu_quant_options_init()
 * @samples, @num_samples: what calibration runs, at least one; everything they point to is needed
 *	during the call only. Typical data: 8 to 100 samples, those in stacks counted one by one
 * @method, @percentile: see enum npu_calib_method; percentile in percent (99.99)
 * @budget, @budget_value: 0..1; the closeness of outputs is the cosine between the int8 job's and
 *	the float model's, over all samples that are compared; an accuracy also asks that none of
 *	them alone is off by more than twice as much
 * @max_compared: how many of the samples are used for the comparison of outputs, evenly spread;
 *	0: 16
 * @float_nodes, @num_float_nodes: names of model nodes that stay float whatever the budget
 * @no_clip_count: leave out the counters of clipped values
 */
struct npu_quant_options {
	size_t size;
	const struct npu_calib_sample *samples;
	unsigned int num_samples;
	enum npu_calib_method method;
	double percentile;
	enum npu_quant_budget budget;
	double budget_value;
	unsigned int max_compared;
	const char *const *float_nodes;
	unsigned int num_float_nodes;
	bool no_clip_count;
};

NPU_API void npu_quant_options_init(struct npu_quant_options *options);

/**
 * struct npu_compile_options - what to make; fill in with npu_compile_options_init() first
 * @size: sizeof(struct npu_compile_options), set by npu_compile_options_init()
 * @precision: type of activations and weights
 * @shapes: shapes of model inputs as text, NULL when the model states all of them.
 *	"name=1x3x640x640" is exact; "name=1x3x{H=32..1280:32}x{W=32..1280:32}" is a bounded range:
 *	each {symbol=min..max:step} becomes a length that every run chooses (":step" is 1 when left
 *	out, a symbol used twice is the same length, "symbol=" may be left out for a length of its
 *	own). Naming the same input again starts the next variant: one job file with a program per
 *	variant over the same weights; inputs that a variant does not name keep the shape of the one
 *	before. A rank-0 input is "name=scalar".
 * @num_shapes: entries of @shapes
 * @dump_pass: print the graph (or the plan) after this pass to @dump; "all": after each; NULL:
 *	never
 * @skip_passes: optional passes to leave out, comma-separated (debugging); NULL: none
 * @dump: where to dump to; NULL: nowhere
 * @progress: called now and then from the compiling thread with the stage's name and 0..1;
 *	returning nonzero cancels the compilation, which then ends with -ECANCELED. May be NULL.
 * @progress_arg: handed to @progress
 * @no_sram: keep every activation in the scratch region (debugging)
 * @all_f16: f16 also for what a steep result is made of (see enum npu_precision)
 * @quant: convolutions and matrix products with constant weights in int8 as far as the budget
 *	allows, calibrated with the samples given; @precision is for the rest. NULL: nothing in int8
 *	that is not so in the model
 * @fail_on_host: refuse nodes that would run on the host, all of them by name
 * @host_ops, @num_host_ops: operators of the application's, see npu_host.h; the device that runs
 *	the job must be opened with them, too. Needed until the compilation ends.
 * @input_formats, @num_input_formats: inputs that come as frames of a camera, as text:
 *	"[input=]format:WIDTHxHEIGHT[,key=value...]", e.g. "nv12:1280x720,fit=letterbox"; the job
 *	takes the camera's bytes (npu_job_image()) and converts, crops, scales and normalises them
 *	itself. With "crop=box" the part of the frame is an input of the job, too: "input.box", f32
 *	[N, 4]. npu_compile_input_format_help() lists formats and keys. Not with int8's calibration
 *	samples, which stay the model's tensors
 */
struct npu_compile_options {
	size_t size;
	enum npu_precision precision;
	const char *const *shapes;
	unsigned int num_shapes;
	const char *dump_pass;
	const char *skip_passes;
	FILE *dump;
	int (*progress)(void *arg, const char *stage, double fraction);
	void *progress_arg;
	bool no_sram;
	bool all_f16;
	const struct npu_quant_options *quant;
	bool fail_on_host;
	const struct npu_host_op *host_ops;
	unsigned int num_host_ops;
	const char *const *input_formats;
	unsigned int num_input_formats;
};

/*
 * Row @i of what an input format may say: a format (*@value is NULL) or a key and its values, with
 * one line of help. False past the last one.
 */
NPU_API bool npu_compile_input_format_help(unsigned int i, const char **name, const char **value,
					   const char **help);

NPU_API void npu_compile_options_init(struct npu_compile_options *options);

/* Where a node of the model ended. */
enum npu_place {
	NPU_PLACE_NPU,		/* instructions of its own */
	NPU_PLACE_FUSED,	/* part of another node's instruction */
	NPU_PLACE_FOLDED,	/* computed at compile time */
	NPU_PLACE_VIEW,		/* changes addresses only: costs nothing */
	NPU_PLACE_REFUSED,	/* the model does not compile because of it */
	NPU_PLACE_UNKNOWN,	/* compiling ended before it was placed */
	NPU_PLACE_HOST,		/* a step of the schedule that the CPU runs: the reason says why */
	NPU_NUM_PLACES
};

/* "npu", "fused", "folded", "view", "refused", "unknown", "host" */
NPU_API const char *npu_place_name(enum npu_place place);

/**
 * struct npu_placement - one node of the model in the report
 * @node, @op: name and ONNX operator in the model
 * @place: where it ended
 * @into: for NPU_PLACE_FUSED the name of the node whose instruction does it, else ""
 * @insns: mnemonics of its instructions, comma-separated, or ""
 * @type: element type of the result, "" when it has none
 * @num_insns: how many instructions it has
 * @macs: multiply-accumulates at the upper bound of every run-time length
 * @bytes_read, @bytes_written: of its instructions, at the upper bound
 * @reason: why it was refused, folded, copied, kept in f32, ...; "" when there is nothing to say
 */
struct npu_placement {
	const char *node;
	const char *op;
	enum npu_place place;
	const char *into;
	const char *insns;
	const char *type;
	unsigned int num_insns;
	uint64_t macs;
	uint64_t bytes_read;
	uint64_t bytes_written;
	const char *reason;
};

/**
 * struct npu_compile_summary - totals over the first program, at the upper bound of every run-time
 * length
 * @nodes: nodes of the model; @count: how many of them ended in each enum npu_place
 * @macs: multiply-accumulates of the model; @npu_macs: of them on the NPU
 * @programs, @insns: programs in the job file, instructions of the first
 * @host_bytes: what host steps read and write
 * @copies, @copy_bytes: COPY instructions (layout conversions and moves) and the bytes they write
 * @weight_bytes: the weight section
 * @scratch_bytes, @scratch_lower: planned size of the activations outside of on-chip memory, and
 *	the most that is alive at any one instruction, below which no plan can go
 * @sram_bytes: on-chip memory used
 * @f32_weights: weights that an f16 job keeps in f32 because f16 would lose too much
 * @f32_steep: activations that an f16 job keeps in f32 because a steep result is made of them
 */
struct npu_compile_summary {
	unsigned int nodes;
	unsigned int count[NPU_NUM_PLACES];
	uint64_t macs, npu_macs;
	unsigned int programs, insns;
	unsigned int copies;
	uint64_t copy_bytes;
	uint64_t weight_bytes;
	uint64_t scratch_bytes, scratch_lower;
	uint64_t sram_bytes;
	unsigned int f32_weights;
	unsigned int f32_steep;
	uint64_t host_bytes;
};

struct npu_compile_result;

/**
 * npu_compile_onnx - compile an ONNX model
 * @model, @model_size: the file's contents, needed during the call only
 * @path: for messages, and its folder is where external weights are looked for; NULL: from memory,
 *	external weights are refused
 * @options: NULL: the defaults (f16, shapes from the model)
 * @result: set on success and on failure (then it carries the messages and the refused nodes), to
 *	be freed with npu_compile_result_free(). NULL only with -ENOMEM and -EINVAL for a NULL
 *	argument.
 *
 * The same model and options give the same bytes. Returns 0 or a negative errno: -EINVAL the file
 * is not a valid model or an option is wrong, -EOPNOTSUPP nodes are refused (all of them are in the
 * report), -ECANCELED, -ENOMEM.
 */
NPU_API int npu_compile_onnx(const void *model, size_t model_size, const char *path,
			     const struct npu_compile_options *options,
			     struct npu_compile_result **result);
NPU_API void npu_compile_result_free(struct npu_compile_result *result);

/* The job file's bytes, owned by @result; NULL and 0 when compilation failed. */
NPU_API const void *npu_compile_job(const struct npu_compile_result *result, size_t *size);

/*
 * All messages, one per line, errors first by position in the model; "" when there are none. Owned
 * by @result.
 */
NPU_API const char *npu_compile_messages(const struct npu_compile_result *result);

/* The report: as a table for people, and as JSON. Owned by @result, never NULL. */
NPU_API const char *npu_compile_report_text(const struct npu_compile_result *result);
NPU_API const char *npu_compile_report_json(const struct npu_compile_result *result);

/* The same as data. Node @i in the order of the model, NULL past the end. Owned by @result. */
NPU_API const struct npu_placement *npu_compile_placement(const struct npu_compile_result *result,
							  unsigned int i);
NPU_API const struct npu_compile_summary *npu_compile_summary(
	const struct npu_compile_result *result);

/*
 * Where the work ended, in one line without its end: "12 of 14 operators on the NPU, 98.1 % of 5.2
 * million MACs, 4096 bytes moved for host steps". It is in the job's report, too. "" when nothing
 * was compiled. Owned by @result.
 */
NPU_API const char *npu_compile_summary_text(const struct npu_compile_result *result);

/* Name and one-line description of compiler pass @i, in the order they run; NULL past the end. */
NPU_API const char *npu_compile_pass_name(unsigned int i);
NPU_API const char *npu_compile_pass_help(unsigned int i);

/**
 * struct npu_op_support - what becomes of one ONNX operator
 * @op: its name; @domain: "" for ai.onnx; @since: the first operator set that has it
 * @supported: on the NPU; else on the host, when @host is not "", or refused by name
 * @insns: the instructions that it becomes, or how it disappears ("folded", "view"); "": neither
 * @limits: what restricts it on the NPU, in words; "" when nothing does beyond ranks and types
 * @host: the element types that the host does it for, when the NPU does not; "": none
 * @host_since, @host_limits: of the host; 0 and ""
 * @why_not: why it is refused, "" when there is nothing to say but that nobody has it
 */
struct npu_op_support {
	const char *op;
	const char *domain;
	int since;
	bool supported;
	const char *insns;
	const char *limits;
	const char *host;
	unsigned int host_since;
	const char *host_limits;
	const char *why_not;
};

/*
 * Row @i of the list of all operators, in the order of domains and names: what the tables say that
 * the compiler decides by. False past the end.
 */
NPU_API bool npu_compile_op_support(unsigned int i, struct npu_op_support *support);

#ifdef __cplusplus
}
#endif

#endif
