// SPDX-License-Identifier: MIT
/* Jobs: a job file made ready for a device. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/object.h"
#include "host/host.h"
#include "npu_isa_desc.h"

/* Who owns job->data. */
enum npu_job_data { JOB_DATA_BORROWED, JOB_DATA_HEAP, JOB_DATA_MAPPED };

/*
 * Names over all programs. Those of one model's programs are the same ones; a file whose programs
 * have nothing in common would cost their product in time and memory.
 */
#define MAX_NAMES	1024u

#define JOB_FLAGS	(NPU_JOB_BORROW | NPU_JOB_SKIP_WEIGHTS_CRC | NPU_JOB_CHECK_DIGEST)

struct npu_job *npu_job_get(struct npu_job *job)
{
	npu_ref_take(&job->refs);
	return job;
}

static void free_data(struct npu_job *job)
{
	if (job->data_kind == JOB_DATA_HEAP)
		free(job->data);
	else if (job->data_kind == JOB_DATA_MAPPED)
		munmap(job->data, job->data_size);
}

static void free_programs(struct npu_job *job)
{
	npu_u32 i, k;

	for (i = 0; job->programs && i < job->file->num_programs; i++) {
		for (k = 0; k < job->programs[i].num_steps; k++)
			npu_code_put(job->programs[i].steps[k].code);
		free(job->programs[i].steps);
	}
	free(job->programs);
}

static void free_job(struct npu_job *job)
{
	npu_u32 i;

	free_programs(job);
	for (i = 0; i < job->num_names; i++)
		free(job->names[i].tensor);
	free(job->names);
	npu_buffer_put(job->weights);
	npu_jobfile_free(job->file);
	free_data(job);
	free(job->path);
	npu_device_put(job->dev);
	free(job);
}

void npu_job_put(struct npu_job *job)
{
	if (job && npu_ref_drop(&job->refs))
		free_job(job);
}

void npu_job_unload(struct npu_job *job)
{
	if (job && npu_device_is_ours(job->dev))
		npu_job_put(job);
}

static npu_u32 name_index(const struct npu_job *job, const char *name)
{
	npu_u32 i;

	for (i = 0; i < job->num_names; i++)
		if (!strcmp(job->names[i].name, name))
			return i;
	return ~0u;
}

int npu_job_find_name(const struct npu_job *job, const char *name, npu_u32 *index,
		      struct npu_error *err)
{
	char list[256] = "";
	size_t n = 0;
	npu_u32 i;

	*index = name ? name_index(job, name) : ~0u;
	if (*index != ~0u)
		return 0;
	for (i = 0; i < job->num_names && n < sizeof(list); i++)
		n += snprintf(list + n, sizeof(list) - n, "%s'%s'", i ? ", " : "",
			      job->names[i].name);
	return npu_error_set(err, -ENOENT,
			     "%s: there is no input, output or state '%s'; there are %s", job->path,
			     name ? name : "(NULL)", list);
}

static int add_name(struct npu_job *job, const char *name, npu_u32 program, npu_u32 tensor)
{
	npu_u32 i = name_index(job, name), k, n = job->file->num_programs;
	struct npu_job_name *names;

	if (i == ~0u) {
		if (job->num_names == MAX_NAMES)
			return -EINVAL;
		names = realloc(job->names, (job->num_names + 1) * sizeof(*names));
		if (!names)
			return -ENOMEM;
		job->names = names;
		names[job->num_names] = (struct npu_job_name){ name, malloc(n * sizeof(npu_u32)) };
		if (!names[job->num_names].tensor)
			return -ENOMEM;
		i = job->num_names++;
		for (k = 0; k < n; k++)
			names[i].tensor[k] = ~0u;
	}
	job->names[i].tensor[program] = tensor;
	return 0;
}

static int collect_names(struct npu_job *job, struct npu_error *err)
{
	npu_u32 p, t;
	int ret = 0;

	for (p = 0; p < job->file->num_programs && !ret; p++) {
		const struct npu_jobfile_program *prog = &job->file->programs[p];

		for (t = 0; t < prog->num_tensors && !ret; t++)
			if (prog->tensors[t].role != NPU_TENSOR_INTERNAL)
				ret = add_name(job, prog->tensors[t].name, p, t);
	}
	if (ret == -EINVAL)
		return npu_error_set(err, ret,
				     "%s: its programs have more than %u different inputs and outputs",
				     job->path, MAX_NAMES);
	return ret ? npu_error_set(err, ret, "%s: no memory", job->path) : 0;
}

static int check_device(const struct npu_job *job, struct npu_error *err)
{
	const struct npu_device_info *info = &job->dev->info;
	const struct npu_op_desc *desc;
	npu_u64 lacking;
	int i, op;

	for (i = 0; i < 4; i++) {
		lacking = job->file->opcodes[i] & ~info->opcodes[i];
		if (!lacking)
			continue;
		op = 64 * i + __builtin_ctzll(lacking);
		desc = npu_op_desc(op);
		return npu_error_set(
			err, -ENOTSUP,
			"%s: uses the opcode %s (0x%x), which device '%s' does not have", job->path,
			desc ? desc->mnemonic : "unknown", op, info->uri);
	}
	if (job->file->sram_size > info->sram_size)
		return npu_error_set(err, -ENOTSUP,
				     "%s: needs %llu bytes of on-chip memory, device '%s' has %llu",
				     job->path, (unsigned long long)job->file->sram_size, info->uri,
				     (unsigned long long)info->sram_size);
	return 0;
}

/* The operator of a host step, from the device's own table or libnpu's. */
static int find_host_op(const struct npu_job *job, struct npu_job_step *step, struct npu_error *err)
{
	const char *domain = step->desc.domain;

	step->op = npu_host_op_find_in(job->dev->host_ops, job->dev->num_host_ops, domain,
				       step->desc.op);
	if (!step->op)
		return npu_error_set(err, -ENOTSUP,
				     "%s: node '%s' needs the host operator %s%s%s, which this libnpu (%s) does not have and the application did not give",
				     job->path, step->desc.node, domain, *domain ? "." : "",
				     step->desc.op, NPU_VERSION);
	if (step->op->since > step->desc.opset && step->desc.opset)
		return npu_error_set(err, -ENOTSUP,
				     "%s: node '%s' needs the host operator %s of operator set %u, this libnpu has it from %u on",
				     job->path, step->desc.node, step->desc.op, step->desc.opset,
				     step->op->since);
	return 0;
}

/* A host step, and the tensors that it speaks of. */
struct arguments {
	const struct npu_jobfile_program *prog;
	const struct npu_jobfile_step *step;
};

static const struct npu_jobfile_tensor *input_of(const struct arguments *a, npu_u32 i)
{
	npu_u32 index = a->step->in[i];

	return index == NPU_JOBFILE_ABSENT ? NULL : &a->prog->tensors[index];
}

static uint32_t input_dtype(const void *ctx, uint32_t i)
{
	const struct npu_jobfile_tensor *t = input_of(ctx, i);

	return t ? t->dtype : 0;
}

static int check_host_types(const struct npu_job *job, const struct npu_jobfile_program *prog,
			    const struct npu_job_step *step, struct npu_error *err)
{
	const struct arguments args = { prog, &step->desc };
	const struct npu_jobfile_tensor *x, *y;
	npu_u32 a, b;

	if (npu_host_same_types(step->op, step->desc.num_in, input_dtype, &args, &a, &b))
		return 0;
	x = input_of(&args, a);
	y = input_of(&args, b);
	return npu_error_set(err, -EINVAL,
			     "%s: node '%s' (%s) on the host: inputs '%s' (%s) and '%s' (%s) "
			     "have to be of one type",
			     job->path, step->desc.node, step->desc.op, x->name,
			     npu_host_dtype_name(x->dtype), y->name, npu_host_dtype_name(y->dtype));
}

static int prepare_step(struct npu_job *job, const struct npu_jobfile_program *prog,
			struct npu_job_program *p, struct npu_error *err)
{
	struct npu_job_step *step = &p->steps[p->num_steps], *before;
	struct npu_stream_header header;
	int ret;

	if (p->num_steps) {
		before = step - 1;
		step->offset = before->offset + npu_jobfile_step_span(&before->desc);
		step->first_insn = before->first_insn + 1;
		if (before->code) {
			memcpy(&header, before->desc.stream, sizeof(header));
			step->first_insn = before->first_insn + header.num_insns;
		}
	}
	if (step->desc.kind == NPU_STEP_HOST) {
		ret = find_host_op(job, step, err);
		if (!ret)
			ret = check_host_types(job, prog, step, err);
		p->has_host = true;
	} else {
		ret = npu_code_create(job->dev, step->desc.stream, step->desc.stream_size,
				      &step->code, err);
	}
	p->num_steps += !ret;
	return ret;
}

static int prepare_program(struct npu_job *job, npu_u32 i, struct npu_error *err)
{
	const struct npu_jobfile_program *prog = &job->file->programs[i];
	struct npu_job_program *p = &job->programs[i];
	npu_u32 k;
	int ret = 0;

	p->steps = calloc(prog->num_steps + 1, sizeof(*p->steps));
	if (!p->steps)
		return npu_error_set(err, -ENOMEM, "%s: no memory", job->path);
	for (k = 0; !ret && npu_jobfile_step_at(prog, k, &p->steps[k].desc); k++)
		ret = prepare_step(job, prog, p, err);
	return ret;
}

static int prepare(struct npu_job *job, struct npu_error *err)
{
	struct npu_jobfile *file = job->file;
	npu_u32 i;
	int ret;

	ret = check_device(job, err);
	if (!ret)
		ret = collect_names(job, err);
	if (ret)
		return ret;
	job->programs = calloc(file->num_programs, sizeof(*job->programs));
	if (!job->programs)
		return npu_error_set(err, -ENOMEM, "%s: no memory", job->path);
	for (i = 0; i < file->num_programs && !ret; i++)
		ret = prepare_program(job, i, err);
	return ret;
}

/*
 * The bytes stay as long as the job, which all work keeps alive: no call when the buffer goes.
 */
int npu_job_place_weights(struct npu_job *job, uint32_t flags, struct npu_error *err)
{
	const struct npu_jobfile *file = job->file;
	int ret = flags & NPU_JOB_SKIP_WEIGHTS_CRC ? 0 : npu_jobfile_check_weights(file, err);

	if (ret)
		return npu_error_prefix(err, ret, "%s", job->path);
	if (!file->weights_size)
		return 0;
	return npu_buffer_import_host(job->dev, (void *)(uintptr_t)file->weights,
				      file->weights_size, NPU_BUFFER_READ_ONLY, NULL, NULL,
				      &job->weights, err);
}

/* Take @data over (freed on error, too) and make a job of it; @whole: its weights too. */
static int load(struct npu_device *dev, void *data, size_t size, enum npu_job_data kind,
		const char *path, uint32_t flags, bool whole, struct npu_job **out,
		struct npu_error *err)
{
	struct npu_job *job = calloc(1, sizeof(*job));
	int ret;

	if (!job) {
		struct npu_job tmp = { .data = data, .data_size = size, .data_kind = kind };

		free_data(&tmp);
		return npu_error_set(err, -ENOMEM, "%s: no memory", path);
	}
	atomic_init(&job->refs, 1);
	job->dev = npu_device_get(dev);
	job->data = data;
	job->data_size = size;
	job->data_kind = kind;
	job->path = strdup(path);
	ret = job->path ? 0 : npu_error_set(err, -ENOMEM, "%s: no memory", path);
	if (!ret) {
		ret = npu_jobfile_parse(data, size, NPU_JOBFILE_SKIP_WEIGHTS_CRC, &job->file, err);
		if (!ret && flags & NPU_JOB_CHECK_DIGEST)
			ret = npu_jobfile_check_digest(data, size, err);
		if (ret)
			npu_error_prefix(err, ret, "%s", path);
	}
	if (!ret)
		ret = prepare(job, err);
	if (!ret && whole)
		ret = npu_job_place_weights(job, flags, err);
	if (ret) {
		free_job(job);
		return ret;
	}
	*out = job;
	return 0;
}

static int map_file(const char *path, void **data, size_t *size, struct npu_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = 0;
	struct stat st;

	if (fd < 0)
		return npu_error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st))
		ret = npu_error_set(err, -errno, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		ret = npu_error_set(err, -EINVAL, "%s: not a regular file", path);
	else if (!st.st_size)
		ret = npu_error_set(err, -EBADMSG, "%s: not a job file: 0 bytes, a header has more",
				    path);
	if (!ret) {
		*size = st.st_size;
		*data = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (*data == MAP_FAILED)
			ret = npu_error_set(err, -errno, "%s: can not be mapped: %s", path,
					    strerror(errno));
	}
	close(fd);
	return ret;
}

static int check_load(const struct npu_device *dev, struct npu_job **job, uint32_t flags,
		      struct npu_error *err)
{
	if (!job)
		return npu_error_set(err, -EINVAL, "npu_job_load: job is NULL");
	*job = NULL;
	if (flags & ~JOB_FLAGS)
		return npu_error_set(err, -EINVAL, "npu_job_load: flags 0x%x are not known",
				     flags & ~JOB_FLAGS);
	return npu_device_check(dev, err);
}

static int load_path(struct npu_device *dev, const char *path, uint32_t flags, bool whole,
		     struct npu_job **job, struct npu_error *err)
{
	void *data = NULL;
	size_t size = 0;
	int ret;

	ret = check_load(dev, job, flags, err);
	if (!ret && !path)
		ret = npu_error_set(err, -EINVAL, "npu_job_load: path is NULL");
	if (!ret)
		ret = map_file(path, &data, &size, err);
	return ret ? ret : load(dev, data, size, JOB_DATA_MAPPED, path, flags, whole, job, err);
}

int npu_job_load(struct npu_device *dev, const char *path, uint32_t flags, struct npu_job **job,
		 struct npu_error *err)
{
	return load_path(dev, path, flags, true, job, err);
}

int npu_job_open(struct npu_device *dev, const char *path, struct npu_job **job,
		 struct npu_error *err)
{
	return load_path(dev, path, 0, false, job, err);
}

int npu_job_load_memory(struct npu_device *dev, const void *data, size_t size, const char *name,
			uint32_t flags, struct npu_job **job, struct npu_error *err)
{
	void *copy;
	int ret;

	ret = check_load(dev, job, flags, err);
	if (ret)
		return ret;
	if (!name)
		name = "(memory)";
	if (!data && size)
		return npu_error_set(err, -EINVAL, "%s: data is NULL", name);
	/* Weights want a page's alignment, which a copy has. */
	if (flags & NPU_JOB_BORROW && data && !((uintptr_t)data % NPU_JOBFILE_PAGE))
		return load(dev, (void *)(uintptr_t)data, size, JOB_DATA_BORROWED, name, flags,
			    true, job, err);
	if (posix_memalign(&copy, NPU_JOBFILE_PAGE, size ? size : 1))
		return npu_error_set(err, -ENOMEM, "%s: no memory for %zu bytes", name, size);
	if (size)
		memcpy(copy, data, size);
	return load(dev, copy, size, JOB_DATA_HEAP, name, flags, true, job, err);
}
