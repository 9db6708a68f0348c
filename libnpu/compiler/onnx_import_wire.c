// SPDX-License-Identifier: MIT
/*
 * A look at the encoded model before protobuf-c unpacks it: the unpacker recurses without a limit,
 * so a small hostile file could overrun the stack, and it does not say where a file is damaged.
 */
#include <errno.h>

#include "compiler/onnx_import.h"

struct wire {
	const uint8_t *start;
	struct npu_diag *diag;
};

static int wire_varint(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
	unsigned int shift;

	*v = 0;
	for (shift = 0; shift < 64; shift += 7) {
		if (*p == end)
			return -EINVAL;
		*v |= (uint64_t)(**p & 0x7f) << shift;
		if (!(*(*p)++ & 0x80))
			return 0;
	}
	return -EINVAL;
}

static int wire_bad(const struct wire *w, const uint8_t *at, const char *msg, uint64_t field,
		    const char *what)
{
	return npu_diag_add(w->diag, -EINVAL, NULL,
			    "not a valid ONNX file: byte %zu, %s field %llu: %s",
			    (size_t)(at - w->start), msg, (unsigned long long)field, what);
}

static int wire_walk(const struct wire *w, const uint8_t *p, const uint8_t *end,
		     const ProtobufCMessageDescriptor *desc, unsigned int depth)
{
	const ProtobufCFieldDescriptor *field;
	const uint8_t *at;
	uint64_t key, len;
	int err;

	if (depth > NPU_ONNX_DEPTH_MAX)
		return wire_bad(w, p, desc->short_name, 0, "messages are nested too deeply");
	while (p < end) {
		at = p;
		if (wire_varint(&p, end, &key) || key >> 3 == 0 || key >> 32)
			return wire_bad(w, at, desc->short_name, 0, "bad field key");
		switch (key & 7) {
		case 0:
			if (wire_varint(&p, end, &len))
				return wire_bad(w, at, desc->short_name, key >> 3, "bad number");
			continue;
		case 1:
		case 5:
			len = (key & 7) == 1 ? 8 : 4;
			if ((uint64_t)(end - p) < len)
				return wire_bad(w, at, desc->short_name, key >> 3,
						"file ends inside the field");
			p += len;
			continue;
		case 2:
			break;
		default:
			return wire_bad(w, at, desc->short_name, key >> 3, "unknown wire type");
		}
		if (wire_varint(&p, end, &len) || len > (uint64_t)(end - p))
			return wire_bad(w, at, desc->short_name, key >> 3,
					"file ends inside the field");
		field = protobuf_c_message_descriptor_get_field(desc, (unsigned int)(key >> 3));
		if (field && field->type == PROTOBUF_C_TYPE_MESSAGE) {
			err = wire_walk(w, p, p + len, field->descriptor, depth + 1);
			if (err)
				return err;
		}
		p += len;
	}
	return 0;
}

int npu_onnx_check_wire(const uint8_t *data, size_t size, const ProtobufCMessageDescriptor *desc,
			struct npu_diag *diag)
{
	const struct wire w = { data, diag };

	return wire_walk(&w, data, data + size, desc, 0);
}
