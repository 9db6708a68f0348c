/* SPDX-License-Identifier: MIT */
/* Shared by the files of the ONNX importer; not used outside of them. */
#ifndef NPU_COMPILER_ONNX_IMPORT_H
#define NPU_COMPILER_ONNX_IMPORT_H

#include <protobuf-c/protobuf-c.h>

#include "compiler/graph.h"
#include "onnx.pb-c.h"

#define NPU_ONNX_OPSET_MIN	1
#define NPU_ONNX_OPSET_MAX	25
#define NPU_ONNX_DEPTH_MAX	48	/* nested messages; a subgraph in a subgraph takes six */

/* What constant data points into; freed with the graph. */
struct npu_onnx_map {
	struct npu_onnx_map *next;
	char *location;
	void *data;
	size_t size;
};

struct npu_onnx_source {
	Onnx__ModelProto *model;
	struct npu_onnx_map *maps;
	char *folder;	/* of the model file, NULL when external data is not allowed */
};

struct npu_onnx_ctx {
	struct npu_graph *g;
	struct npu_onnx_source *src;
	struct npu_diag *diag;
	const struct npu_host_config *host;
};

/**
 * npu_onnx_check_wire - walk the encoded message before it is unpacked: truncation, nesting depth
 */
int npu_onnx_check_wire(const uint8_t *data, size_t size, const ProtobufCMessageDescriptor *desc,
			struct npu_diag *diag);

/** npu_onnx_tensor - fill @t (type, shape, data) from a TensorProto; @where names it in messages */
int npu_onnx_tensor(struct npu_onnx_ctx *ctx, const Onnx__TensorProto *proto, struct npu_gtensor *t,
		    const char *where);

enum npu_gtype npu_onnx_type(int data_type);
const char *npu_onnx_type_name(int data_type);

/** npu_onnx_attrs - check a node's attributes against the operator table and copy them */
int npu_onnx_attrs(struct npu_onnx_ctx *ctx, const Onnx__NodeProto *proto, struct npu_gnode *n);

/**
 * npu_onnx_external - bytes of a tensor stored outside of the model file, or NULL with a message
 */
const void *npu_onnx_external(struct npu_onnx_ctx *ctx, const Onnx__TensorProto *proto,
			      const char *where, size_t want);
void npu_onnx_unmap(struct npu_onnx_source *src);

#endif
