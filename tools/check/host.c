// SPDX-License-Identifier: MIT
/* A step on the host, on the machine's memory: what libnpu/core/host_step.c does for a run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "host/host.h"
#include "tools/check/machine.h"

static const struct npu_host_op *find_op(const struct npu_jobfile_step *step)
{
	const struct npu_host_op *op;

	for (unsigned int i = 0; (op = npu_host_op(i)); i++)
		if (!strcmp(op->domain, step->domain) && !strcmp(op->name, step->op))
			return op;
	return NULL;
}

static bool open_tensor(const struct check_machine *m, npu_u32 index, struct npu_host_tensor *out)
{
	const struct npu_jobfile_tensor *t;
	struct npu_operand op;

	*out = (struct npu_host_tensor){ .name = "" };
	if (index == NPU_JOBFILE_ABSENT)
		return true;
	t = &m->program->tensors[index];
	if (!check_machine_tensor(m, index, &op))
		return false;
	out->name = t->name;
	out->dtype = t->dtype;
	out->rank = t->rank;
	memcpy(out->dim, m->dims[index], sizeof(out->dim));
	out->data = check_machine_region(m, t->region) + op.offset;
	out->present = true;
	return true;
}

static int call_op(struct check_machine *m, const struct npu_host_op *op,
		   struct npu_host_tensor *args, struct npu_error *err)
{
	const struct npu_jobfile_step *s = &m->current;
	struct npu_host_call call = { .op = op, .opset = s->opset, .num_in = s->num_in,
				      .num_out = s->num_out, .num_attr = s->num_attr,
				      .node = s->node, .attr = s->attr, .in = args,
				      .out = args + s->num_in };
	npu_u32 i;
	int ret;

	for (i = 0; i < s->num_in; i++)
		if (!open_tensor(m, s->in[i], &args[i]))
			return npu_error_set(err, -EINVAL, "node '%s': an input has no place",
					     s->node);
	for (i = 0; i < s->num_out; i++)
		if (!open_tensor(m, s->out[i], &args[s->num_in + i]))
			return npu_error_set(err, -EINVAL, "node '%s': an output has no place",
					     s->node);
	ret = npu_host_check_places(&call, err);
	if (!ret)
		ret = op->run(&call, err);
	for (i = 0; i < s->num_out && !ret; i++)
		if (s->out[i] != NPU_JOBFILE_ABSENT)
			memcpy(m->dims[s->out[i]], call.out[i].dim, sizeof(call.out[i].dim));
	return ret > 0 ? -EINVAL : ret;
}

int check_host_step(struct check_machine *m, struct npu_error *err)
{
	const struct npu_jobfile_step *s = &m->current;
	const struct npu_host_op *op = find_op(s);
	struct npu_host_tensor *args;
	int ret;

	if (!op)
		return npu_error_set(
			err, -ENOTSUP,
			"node '%s' needs host operator %s, which this libnpu does not have",
			s->node, s->op);
	args = calloc((size_t)s->num_in + s->num_out + 1, sizeof(*args));
	if (!args)
		return npu_error_set(err, -ENOMEM, "node '%s': no memory for its arguments",
				     s->node);
	ret = call_op(m, op, args, err);
	free(args);
	m->step++;
	return ret;
}
