// SPDX-License-Identifier: MIT
/* The life of a job's state: its header and scalars are checked once, before anything runs. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "run.h"

static void fault_reset(struct npu_engine_state *state, enum npu_fault_code code)
{
	memset(&state->fault, 0, sizeof(state->fault));
	state->fault.code = code;
	state->fault.insn = state->insn;
	state->fault.stream_offset = state->offset;
	state->fault.operand = ~0u;
	state->fault.field = ~0u;
}

int npu_state_fault(struct npu_engine_state *state, enum npu_fault_code code, const char *fmt, ...)
{
	va_list ap;

	fault_reset(state, code);
	va_start(ap, fmt);
	vsnprintf(state->fault_text, sizeof(state->fault_text), fmt, ap);
	va_end(ap);
	return -EFAULT;
}

int npu_state_fault_isa(struct npu_engine_state *state, const struct npu_isa_error *err)
{
	state->fault = err->fault;
	state->fault.insn = state->insn;
	state->fault.stream_offset = state->offset;
	memcpy(state->fault_text, err->text, sizeof(state->fault_text));
	state->fault_text[sizeof(state->fault_text) - 1] = 0;
	return -EFAULT;
}

static int header_check(struct npu_engine_state *state, const struct npu_stream_header *h)
{
	struct npu_isa_error err = { 0 };

	if (npu_stream_check_header(h, state->stream_size, &err))
		return npu_state_fault_isa(state, &err);
	if (h->num_regions > state->num_regions)
		return npu_state_fault(state, NPU_FAULT_REGION,
				       "stream names %u regions, the region table has %u",
				       h->num_regions, state->num_regions);
	return 0;
}

static int scalars_check(struct npu_engine_state *state, const struct npu_stream_header *h)
{
	unsigned int i;

	for (i = 0; i < h->num_scalars; i++) {
		if (state->scalar[i] >= h->scalar[i].min && state->scalar[i] <= h->scalar[i].max)
			continue;
		npu_state_fault(state, NPU_FAULT_SCALAR, "scalar %u is %u, expected %u to %u", i,
				state->scalar[i], h->scalar[i].min, h->scalar[i].max);
		state->fault.field = i;
		state->fault.value = state->scalar[i];
		return -EFAULT;
	}
	return 0;
}

int npu_engine_state_init(struct npu_engine *engine, struct npu_engine_state *state)
{
	struct npu_state_priv *priv;
	int ret = -ENOMEM;

	if (!engine->config.parallel_for && engine->pid != getpid())
		return -ECHILD;
	priv = calloc(1, sizeof(*priv));
	if (!priv)
		return -ENOMEM;
	state->offset = sizeof(struct npu_stream_header);
	state->insn = 0;
	state->started = false;
	state->resumable = true;
	state->engine = engine;
	state->priv = NULL;
	fault_reset(state, NPU_FAULT_NONE);
	state->fault_text[0] = 0;

	if ((!state->stream && !state->space.fetch) || state->stream_size < sizeof(priv->header)) {
		npu_state_fault(state, NPU_FAULT_STREAM,
				"stream has %u bytes, its header alone needs %zu",
				state->stream_size, sizeof(priv->header));
		ret = -EINVAL;
		goto err_priv;
	}
	if (npu_stream_copy(state, 0, &priv->header, sizeof(priv->header)) ||
	    header_check(state, &priv->header) || scalars_check(state, &priv->header)) {
		ret = -EINVAL;
		goto err_priv;
	}
	if (!state->sram) {
		priv->block = npu_sram_get(engine);
		if (!priv->block)
			goto err_priv;
		state->sram = priv->block->mem;
		state->sram_size = engine->config.sram_size;
		state->sram_used = 0;
	}
	state->num_regions_named = priv->header.num_regions;
	state->priv = priv;
	return 0;

err_priv:
	free(priv);
	return ret;
}

void npu_engine_state_fini(struct npu_engine_state *state)
{
	struct npu_state_priv *priv = state->priv;

	if (!priv)
		return;
	if (priv->block) {
		priv->block->used = state->sram_used;
		npu_sram_put(state->engine, priv->block);
		state->sram = NULL;
	}
	free(priv);
	state->priv = NULL;
}
