/* SPDX-License-Identifier: MIT */
/*
 * Which tensors of a canonical graph are 8-bit when given layers are int8, and the change of the
 * graph that says so, which can be taken back.
 *
 * A layer is a convolution or matrix product with constant weights. In int8 it reads u8 codes with
 * a zero point, has i8 weights with one scale per output channel and an i32 bias. A tensor that an
 * int8 layer reads lies in memory as codes, and all its other readers read the codes too, unless
 * one of them is a layer that stays float: then the tensor stays float and the int8 layer reads a
 * copy in 8 bits. Tensors that are the same values in another order or choice (Reshape, Slice,
 * Concat, max pooling, ...) form a group with one quantization, so that nothing is converted
 * between them.
 */
#ifndef NPU_QUANT_SCHEME_H
#define NPU_QUANT_SCHEME_H

#include "compiler/graph.h"
#include "quant/histogram.h"

/*
 * Samples are cut into parts, each a run of neighbours in the list (which are often alike: crops of
 * one picture, frames of a film), so that ranges can be tried on samples that they are not from.
 */
#define NPU_CALIB_PARTS		4
#define NPU_CALIB_ALL_PARTS	NPU_CALIB_PARTS

/* What ranges are taken from, and how. */
struct npu_qsetting {
	enum npu_calib_method method;	/* NPU_CALIB_AUTO: of each tensor the one chosen for it */
	unsigned int left_out;		/* part that is not looked at; NPU_CALIB_ALL_PARTS: none */
};

#define NPU_NUM_LEFT_OUT	(NPU_CALIB_PARTS + 1)

/* What calibration knows of a tensor, by name: graphs of different shapes share it. */
struct npu_qstat {
	const char *name;
	struct npu_histogram h[NPU_CALIB_PARTS];
	/* of its group, once chosen */
	struct npu_qrange range[NPU_NUM_CALIB_METHODS][NPU_NUM_LEFT_OUT];
	enum npu_calib_method method;
};

struct npu_qstats {
	struct npu_qstat *stat;		/* sorted by name */
	unsigned int num;
	unsigned int parts;		/* that there are; 1: nothing can be left out */
};

struct npu_qstat *npu_qstats_find(const struct npu_qstats *s, const char *name);

/* Means of a layer's input channels, as floats and as codes, of what is not left out. */
struct npu_qmeans {
	size_t channels;
	uint64_t count[NPU_NUM_LEFT_OUT];	/* values of each channel */
	double *plain[NPU_NUM_LEFT_OUT];
	double *coded[NPU_NUM_CALIB_METHODS][NPU_NUM_LEFT_OUT];	/* NULL: not looked at */
};

/* A layer, in the order of the graph that calibration ran. */
struct npu_qlayer {
	const char *name;		/* of its node */
	const char *op;
	uint64_t macs;
	bool fixed_float;		/* stays float whatever the budget */
	const char *why;		/* ... because */
	bool int8;			/* the choice */
	bool tried;			/* as int8 after all, by the search */
	enum npu_calib_method method;	/* chosen for its input */
	struct npu_qmeans *means;	/* NULL: its bias is not corrected */
	float *weight_scale;		/* by output channel, NULL: not looked for yet */
	size_t weight_channels;
};

struct npu_qlayers {
	struct npu_qlayer *layer;
	unsigned int num;
	struct npu_arena *arena;	/* of ->weight_scale */
	struct npu_qsetting now;	/* of the ranges, and what the means are to be of */
};

struct npu_qgroup;
struct npu_qundo;
struct npu_qcached;

/* A graph, looked at. */
struct npu_scheme {
	struct npu_graph *g;
	struct npu_arena arena;
	struct npu_gnode **node;	/* of each layer, NULL: the graph has none of this name */
	unsigned int num_layers;
	unsigned int num_tensors; /* when it was looked at; what is added later is in no group */
	unsigned int *group_of;		/* by tensor id: id of the group's representative */
	struct npu_qgroup *group;	/* by that id */
	struct npu_gtensor **watch;	/* tensors whose values decide a range */
	unsigned int num_watch;
	struct npu_qcached *cache;	/* by layer: weights and biases made before */
	struct npu_gnode **copy;	/* by tensor id: the node of its 8-bit copy, or NULL */
	struct npu_qundo *undo;		/* what apply did */
};

/*
 * npu_scheme_layers - list the layers of @g; names live in @arena
 *
 * Returns 0 or -ENOMEM.
 */
int npu_scheme_layers(const struct npu_graph *g, struct npu_arena *arena, struct npu_qlayers *out);

/*
 * npu_scheme_init - look at @g, whose layers are @layers (by name)
 *
 * @g must outlive the scheme. Returns 0 or -ENOMEM; npu_scheme_fini() in any case.
 */
int npu_scheme_init(struct npu_scheme *s, struct npu_graph *g, const struct npu_qlayers *layers);
void npu_scheme_fini(struct npu_scheme *s);

/*
 * npu_scheme_ranges - choose the ranges of all groups by @method, with each part left out and with
 * none, and note them in @stats
 *
 * npu_scheme_take_ranges - let those of setting @now hold, also for the same model at another shape
 *
 * Return 0 or -ENOMEM.
 */
int npu_scheme_ranges(struct npu_scheme *s, struct npu_qstats *stats, enum npu_calib_method method,
		      double percentile);
int npu_scheme_take_ranges(struct npu_scheme *s, const struct npu_qstats *stats,
			   struct npu_qsetting now);

/*
 * npu_scheme_methods - choose min-max or mse for every tensor
 * @error: by layer, of each method
 *
 * Layers that read the same group decide together. What is clipped can not come back, and other
 * data may have more of it: to clip has to halve the error.
 */
void npu_scheme_methods(const struct npu_scheme *s, struct npu_qstats *stats,
			struct npu_qlayers *layers, double (*error)[NPU_NUM_CALIB_METHODS]);

/*
 * npu_scheme_apply - make the layers with layer->int8 so; the ranges are those of layers->now
 *
 * The graph stays canonical. Returns 0 or a negative errno (text in @diag, or -ENOMEM); then, too,
 * npu_scheme_restore() gives the float graph back.
 */
int npu_scheme_apply(struct npu_scheme *s, const struct npu_qlayers *layers, struct npu_diag *diag);
int npu_scheme_restore(struct npu_scheme *s, struct npu_diag *diag);

/* The codes that the input of a layer gets, NULL when calibration saw nothing of it. */
const struct npu_gquant *npu_scheme_quant(const struct npu_scheme *s, const struct npu_gtensor *t);

/*
 * The range of codes of @t, an activation of the graph or the 8-bit copy of one; false when it has
 * none. It does not matter whether it is in 8 bits now.
 */
bool npu_scheme_range(const struct npu_scheme *s, const struct npu_gtensor *t,
		      struct npu_qrange *range);

#endif
