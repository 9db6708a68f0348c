// SPDX-License-Identifier: MIT
/* Bytes to description: host steps, their arguments and attributes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/jobfile_read.h"

static int copy_data(struct reader *r)
{
	const struct table *t = &r->table[NPU_JF_HOSTDATA];

	/* malloc() aligns for every type; lists begin at multiples of 8. */
	r->out->host_data = malloc(t->size + 8);
	/* A string is four bytes of the data, and no two lists share bytes. */
	r->out->host_strings = calloc(t->size / sizeof(npu_u32) + 1, sizeof(char *));
	if (!r->out->host_data || !r->out->host_strings)
		return npu_error_set(r->err, -ENOMEM, "no memory for the tables of the job file");
	if (t->size)
		memcpy(r->out->host_data, t->data, t->size);
	return 0;
}

static int read_args(struct reader *r)
{
	npu_u32 n = r->table[NPU_JF_HOSTARGS].count, i;

	r->out->args = npu_jf_array(r, n, sizeof(*r->out->args));
	if (!r->out->args)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		r->out->args[i] =
			((const struct npu_jf_arg *)npu_jf_record_at(r, NPU_JF_HOSTARGS, i))
				->tensor;
	return 0;
}

/* The bytes of a list of @count elements of @size; NULL with a reason. */
static const npu_u8 *list_at(struct reader *r, npu_u32 i, const struct npu_jf_attr *in, size_t size)
{
	const struct table *t = &r->table[NPU_JF_HOSTDATA];
	npu_u64 bytes = in->count * (npu_u64)size;

	if (in->value % 8 || in->value > t->size || bytes > t->size - in->value) {
		REFUSE(r,
		       "section HOSTATTRS, record %u: a list of %llu bytes at %llu, section HOSTDATA has %llu",
		       i, ULL(bytes), ULL(in->value), ULL(t->size));
		return NULL;
	}
	r->owned[NPU_JF_HOSTDATA] += bytes;
	if (r->owned[NPU_JF_HOSTDATA] > t->size) {
		REFUSE(r, "section HOSTATTRS, record %u: its list is another attribute's, too", i);
		return NULL;
	}
	return r->out->host_data + in->value;
}

static int read_strings(struct reader *r, npu_u32 i, const npu_u8 *list, struct npu_host_attr *a,
			npu_u32 *used)
{
	const char **s = r->out->host_strings + *used;
	npu_u32 k, offset;

	for (k = 0; k < a->count; k++) {
		memcpy(&offset, list + k * sizeof(offset), sizeof(offset));
		if (npu_jf_string(r, offset, NPU_JF_HOSTATTRS, i, &s[k]))
			return -EINVAL;
	}
	a->strings = s;
	*used += a->count;
	return 0;
}

static int read_attr(struct reader *r, npu_u32 i, npu_u32 *used_strings)
{
	static const npu_u8 size[NPU_NUM_HOST_ATTRS] = { [NPU_HOST_INTS] = 8, [NPU_HOST_FLOATS] = 4,
							 [NPU_HOST_STRINGS] = 4 };
	const struct npu_jf_attr *in = npu_jf_record_at(r, NPU_JF_HOSTATTRS, i);
	struct npu_host_attr *a = &r->out->attrs[i];
	const npu_u8 *list = NULL;

	*a = (struct npu_host_attr){ .kind = in->kind, .count = in->count };
	if (npu_jf_string(r, in->name, NPU_JF_HOSTATTRS, i, &a->name))
		return -EINVAL;
	if (in->kind >= NPU_NUM_HOST_ATTRS)
		return REFUSE(r,
			      "section HOSTATTRS, record %u: attribute '%s' is of unknown kind %u",
			      i, a->name, in->kind);
	if (size[in->kind]) {
		list = list_at(r, i, in, size[in->kind]);
		if (!list)
			return -EINVAL;
	} else if (in->count != 1) {
		return REFUSE(r,
			      "section HOSTATTRS, record %u: attribute '%s' has %u values, want 1",
			      i, a->name, in->count);
	}
	switch (in->kind) {
	case NPU_HOST_INT:
		a->i = (int64_t)in->value;
		return 0;
	case NPU_HOST_FLOAT:
		memcpy(&a->f, &in->value, sizeof(a->f));
		return 0;
	case NPU_HOST_STRING:
		if (in->value > UINT32_MAX)
			return npu_jf_string(r, UINT32_MAX, NPU_JF_HOSTATTRS, i, &a->s);
		return npu_jf_string(r, (npu_u32)in->value, NPU_JF_HOSTATTRS, i, &a->s);
	case NPU_HOST_INTS:
		a->ints = (const int64_t *)(const void *)list;
		return 0;
	case NPU_HOST_FLOATS:
		a->floats = (const float *)(const void *)list;
		return 0;
	default:
		return read_strings(r, i, list, a, used_strings);
	}
}

int npu_jf_read_host(struct reader *r)
{
	npu_u32 n = r->table[NPU_JF_HOSTATTRS].count, used = 0, i;
	int ret = copy_data(r);

	if (!ret)
		ret = read_args(r);
	if (ret)
		return ret;
	r->out->attrs = npu_jf_array(r, n, sizeof(*r->out->attrs));
	if (!r->out->attrs)
		return -ENOMEM;
	for (i = 0; i < n && !ret; i++)
		ret = read_attr(r, i, &used);
	return ret;
}

int npu_jf_read_host_step(struct reader *r, npu_u32 i, npu_u64 index, struct npu_jobfile_step *step)
{
	const struct npu_jf_host *in;
	npu_u32 at = (npu_u32)index;

	if (index >= r->table[NPU_JF_HOSTSTEPS].count)
		return REFUSE(r, "program %u: host step %llu of section HOSTSTEPS, which has %u", i,
			      ULL(index), r->table[NPU_JF_HOSTSTEPS].count);
	in = npu_jf_record_at(r, NPU_JF_HOSTSTEPS, at);
	if (npu_jf_string(r, in->domain, NPU_JF_HOSTSTEPS, at, &step->domain) ||
	    npu_jf_string(r, in->op, NPU_JF_HOSTSTEPS, at, &step->op) ||
	    npu_jf_string(r, in->node, NPU_JF_HOSTSTEPS, at, &step->node))
		return -EINVAL;
	if (in->num_in > NPU_JF_MAX_ARGS || in->num_out > NPU_JF_MAX_ARGS)
		return REFUSE(
			r,
			"program %u: host step '%s' has %u inputs and %u outputs, the limit is %u",
			i, step->node, in->num_in, in->num_out, NPU_JF_MAX_ARGS);
	if (npu_jf_take_range(r, i, NPU_JF_HOSTSTEPS, at, 1) ||
	    npu_jf_take_range(r, i, NPU_JF_HOSTARGS, in->first_arg, in->num_in + in->num_out) ||
	    npu_jf_take_range(r, i, NPU_JF_HOSTATTRS, in->first_attr, in->num_attr))
		return -EINVAL;
	step->opset = in->opset;
	step->tag = in->tag;
	step->num_in = in->num_in;
	step->num_out = in->num_out;
	step->num_attr = in->num_attr;
	step->in = r->out->args + in->first_arg;
	step->out = step->in + in->num_in;
	step->attr = r->out->attrs + in->first_attr;
	return 0;
}
