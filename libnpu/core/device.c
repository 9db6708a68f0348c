// SPDX-License-Identifier: MIT
/* Devices: finding, opening, asking. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "core/object.h"
#include "core/probe.h"
#include "npu_isa_desc.h"

/* In the order in which a device is looked for. */
static const struct npu_backend_ops *const backends[] = { &npu_backend_drm, &npu_backend_sim };

#define NUM_BACKENDS	(sizeof(backends) / sizeof(backends[0]))

uint64_t npu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + ts.tv_nsec;
}

uint64_t npu_deadline_after(uint64_t ns)
{
	uint64_t deadline;

	return __builtin_add_overflow(npu_now(), ns, &deadline) ? NPU_FOREVER : deadline;
}

const char *npu_version(void)
{
	return NPU_VERSION;
}

int npu_abi_check(unsigned int major, unsigned int minor, struct npu_error *err)
{
	if (major == NPU_ABI_MAJOR && minor <= NPU_ABI_MINOR)
		return 0;
	return npu_error_set(
		err, -ENOTSUP,
		"the program needs libnpu's interface %u.%u, this is %u.%u (libnpu %s)", major,
		minor, NPU_ABI_MAJOR, NPU_ABI_MINOR, NPU_VERSION);
}

bool npu_device_is_ours(const struct npu_device *dev)
{
	return dev->pid == npu_process();
}

int npu_device_check(const struct npu_device *dev, struct npu_error *err)
{
	if (npu_device_is_ours(dev))
		return 0;
	return npu_error_set(
		err, -ENODEV,
		"device '%s' was opened by process %ld, before fork(); open it again in this one",
		dev->info.uri, (long)dev->pid);
}

struct npu_device *npu_device_get(struct npu_device *dev)
{
	npu_ref_take(&dev->refs);
	return dev;
}

void npu_device_put(struct npu_device *dev)
{
	if (npu_ref_drop(&dev->refs))
		dev->ops->close(dev);
}

void npu_device_free(struct npu_device *dev)
{
	free(dev);
}

void npu_device_close(struct npu_device *dev)
{
	if (dev && npu_device_is_ours(dev))
		npu_device_put(dev);
}

static int candidate_at(unsigned int index, struct npu_device_candidate *out)
{
	unsigned int n, b, k;
	int ret;

	for (n = 0; n < NPU_PROBE_NODES; n++) {
		if (!npu_probe_node_exists("", n))
			continue;
		if (!index--) {
			npu_probe_node("", n, out);
			if (!out->status)
				npu_drm_probe(out);
			return 0;
		}
	}
	for (b = 0; b < NUM_BACKENDS; b++) {
		for (k = 0; ; k++) {
			ret = backends[b]->candidate(k, out);
			if (ret)
				break;
			if (!index--)
				return 0;
		}
	}
	return -ENOENT;
}

int npu_device_candidate(unsigned int index, struct npu_device_candidate *out)
{
	struct npu_device_candidate c = NPU_INIT(c);
	int ret;

	if (!out)
		return -EINVAL;
	ret = candidate_at(index, &c);
	return ret ? ret : npu_struct_write(out, out->size, &c, sizeof(c));
}

static const struct npu_backend_ops *backend_for(const char *uri, struct npu_error *err)
{
	unsigned int n;
	size_t b;

	for (b = 0; b < NUM_BACKENDS; b++)
		if (backends[b]->match(uri))
			return backends[b];
	if (sscanf(uri, "/dev/accel/accel%u", &n) == 1 && npu_probe_node_exists("", n)) {
		struct npu_device_candidate c = NPU_INIT(c);

		npu_probe_node("", n, &c);
		npu_error_set(err, c.status, "device '%s': %s", uri, c.reason);
		return NULL;
	}
	npu_error_set(
		err, -ENODEV,
		"there is no device '%s'; \"sim\" runs in process, without a name the best one is taken",
		uri);
	return NULL;
}

static int open_one(const char *uri, const struct npu_device_options *options,
		    struct npu_device **dev, struct npu_error *err)
{
	struct npu_error own = { .code = -ENODEV };
	const struct npu_backend_ops *ops = backend_for(uri, &own);
	struct npu_device *d;
	int ret;

	if (!ops)
		return npu_error_set(err, own.code, "%s", own.text);
	d = calloc(1, sizeof(*d));
	if (!d)
		return npu_error_set(err, -ENOMEM, "no memory for a device");
	atomic_init(&d->refs, 1);
	d->pid = npu_process();
	d->ops = ops;
	d->host_ops = options->host_ops;
	d->num_host_ops = options->num_host_ops;
	d->info.size = sizeof(d->info);
	snprintf(d->info.backend, sizeof(d->info.backend), "%s", ops->name);
	snprintf(d->info.uri, sizeof(d->info.uri), "%s", uri);
	ret = ops->open(d, uri, options, err);
	if (ret) {
		free(d);
		return ret;
	}
	*dev = d;
	return 0;
}

static int check_host_ops(const struct npu_device_options *opt, struct npu_error *err)
{
	uint32_t i;

	if (opt->num_host_ops && !opt->host_ops)
		return npu_error_set(err, -EINVAL,
				     "npu_device_options: host_ops is NULL with num_host_ops %u",
				     opt->num_host_ops);
	for (i = 0; i < opt->num_host_ops; i++)
		if (!opt->host_ops[i].domain || !opt->host_ops[i].name || !opt->host_ops[i].run ||
		    !opt->host_ops[i].types)
			return npu_error_set(err, -EINVAL,
					     "npu_device_options: host_ops[%u] needs domain, name, types and run",
					     i);
	return 0;
}

int npu_device_open(const char *uri, const struct npu_device_options *options,
		    struct npu_device **dev, struct npu_error *err)
{
	struct npu_device_options opt = { 0 };
	struct npu_device_candidate c;
	unsigned int i;
	int ret;

	if (!dev)
		return npu_error_set(err, -EINVAL, "npu_device_open: dev is NULL");
	*dev = NULL;
	if (options) {
		ret = npu_struct_read(&opt, sizeof(opt), options, options->size,
				      "npu_device_options", err);
		if (!ret)
			ret = check_host_ops(&opt, err);
		if (ret)
			return ret;
	}
	if (uri)
		return open_one(uri, &opt, dev, err);
	for (i = 0; c = (struct npu_device_candidate)NPU_INIT(c), !candidate_at(i, &c); i++)
		if (!c.status)
			return open_one(c.uri, &opt, dev, err);
	return npu_error_set(err, -ENODEV, "there is no device that can be used");
}

int npu_device_info(const struct npu_device *dev, struct npu_device_info *info,
		    struct npu_error *err)
{
	if (!info || npu_struct_write(info, info->size, &dev->info, sizeof(dev->info)))
		return npu_error_set(err, -EINVAL,
				     "npu_device_info: set info->size to sizeof (NPU_INIT)");
	return 0;
}

int npu_device_supports(const struct npu_device *dev, const uint32_t *words, size_t num_words,
			struct npu_error *err)
{
	const npu_u32 scalar[NPU_MAX_SCALARS] = { 0 };
	struct npu_isa_error isa = { 0 };
	struct npu_insn insn;
	npu_u32 *copy;
	int ret = -EINVAL;

	if (!words || !num_words || num_words > UINT16_MAX)
		return npu_error_set(
			err, -EINVAL,
			"npu_device_supports: an instruction has 4 .. 65535 words, not %zu",
			num_words);
	copy = malloc(num_words * sizeof(*copy));
	if (!copy)
		return npu_error_set(err, -ENOMEM, "no memory for an instruction");
	memcpy(copy, words, num_words * sizeof(*copy));
	if (npu_insn_decode(copy, num_words, &insn, &isa) ||
	    npu_insn_apply_terms(copy, scalar, &isa) || npu_insn_check(&insn, &isa))
		npu_error_set(err, ret, "%s", isa.text);
	else if (!(dev->info.opcodes[insn.desc->code / 64 % 4] >> insn.desc->code % 64 & 1))
		ret = npu_error_set(err, -ENOTSUP, "device '%s' does not have the opcode %s",
				    dev->info.uri, insn.desc->mnemonic);
	else
		ret = 0;
	free(copy);
	return ret;
}
