// SPDX-License-Identifier: MIT
#include "fake_drm.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>
#include "drm/npu_drm.h"
#include "npu_engine.h"
#include "npu_hw.h"
#include "npu_isa_desc.h"

#define ROOM		(1ull << 32)	/* of memory for buffers, sparse */
#define SPACE		(1ull << 33)	/* of the device's addresses that are looked at */
#define MAX_OBJS	256
#define PAGE		4096ull

struct fake_drm_switches fake_drm = { .major = 1, .isa = 1, .name = "npu" };
unsigned int fake_drm_jobs, fake_drm_waits;
static unsigned int calls, kernel_waits, early_asks;

struct bo { uint64_t offset, size; bool live, traced; };
struct map { uint64_t va, size; uint32_t bo, flags; bool live; };
struct syncobj { uint64_t done, last; bool live; };	/* its fences, numbered */

struct job {
	struct job *next;
	uint64_t id, stream, trace;
	uint32_t stream_size, num_regions, num_ops;
	struct npu_region region[NPU_MAX_REGIONS];
	npu_u32 scalar[NPU_MAX_SCALARS];
	struct drm_npu_sync_op op[64];
	struct drm_npu_job_get_result result;
	atomic_bool stop;		/* cancelled, or its queue is gone */
};

struct queue {
	bool live, dead, quit;
	uint32_t state;
	uint64_t submitted;
	struct job *jobs, *next;	/* all ever, and the first that has not ended */
	pthread_t thread;
};

static struct {
	int fd;
	ino_t ino;
	char *space;			/* as the device sees memory: its addresses from here on */
	uint64_t brk, largest;
	unsigned int num_made;
	bool vm;
	struct bo bo[MAX_OBJS];
	struct map map[MAX_OBJS];
	struct syncobj sync[MAX_OBJS];
	struct queue queue[MAX_OBJS];
	struct npu_engine *engine;
} f;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects f and the counters */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int fake_drm_open(void)
{
	struct npu_engine_config config = { .threads = 1 };
	struct stat st;

	memset(&f, 0, sizeof(f));
	f.fd = memfd_create("fake-npu", MFD_CLOEXEC);
	if (f.fd < 0 || ftruncate(f.fd, (off_t)ROOM) || fstat(f.fd, &st) ||
	    npu_engine_create(&config, &f.engine))
		abort();
	f.ino = st.st_ino;
	f.space = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (f.space == MAP_FAILED)
		abort();
	return f.fd;
}

void fake_drm_close(int fd)
{
	npu_engine_destroy(f.engine);
	munmap(f.space, SPACE);
	close(fd);
	f.ino = 0;
}

unsigned int fake_drm_live(void)
{
	unsigned int i, n;

	pthread_mutex_lock(&lock);
	for (i = 0, n = f.vm; i < MAX_OBJS; i++)
		n += f.bo[i].live + f.map[i].live + f.sync[i].live + f.queue[i].live;
	pthread_mutex_unlock(&lock);
	return n;
}

uint64_t fake_drm_largest(void)
{
	uint64_t size;

	pthread_mutex_lock(&lock);
	size = f.largest;
	pthread_mutex_unlock(&lock);
	return size;
}

unsigned int fake_drm_buffers(void)
{
	unsigned int n;

	pthread_mutex_lock(&lock);
	n = f.num_made;
	pthread_mutex_unlock(&lock);
	return n;
}

unsigned int fake_drm_calls(void)
{
	unsigned int n;

	pthread_mutex_lock(&lock);
	n = calls;
	pthread_mutex_unlock(&lock);
	return n;
}

unsigned int fake_drm_kernel_waits(void)
{
	unsigned int n;

	pthread_mutex_lock(&lock);
	n = kernel_waits;
	pthread_mutex_unlock(&lock);
	return n;
}

unsigned int fake_drm_early_asks(void)
{
	unsigned int n;

	pthread_mutex_lock(&lock);
	n = early_asks;
	pthread_mutex_unlock(&lock);
	return n;
}

void fake_drm_set(bool *flag, bool value)
{
	pthread_mutex_lock(&lock);
	*flag = value;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void fake_drm_set_job_us(unsigned int us)
{
	pthread_mutex_lock(&lock);
	fake_drm.job_us = us;
	pthread_mutex_unlock(&lock);
}

/* ---- memory ---- */

static int bo_create(struct drm_npu_bo_create *a)
{
	unsigned int i;

	if (!a->size || a->flags & ~DRM_NPU_BO_NO_MMAP || a->pad || a->exclusive_vm_id > 1)
		return EINVAL;
	if (fake_drm.fail_create && !--fake_drm.fail_create)
		return ENOMEM;
	a->size = (a->size + PAGE - 1) / PAGE * PAGE;
	for (i = 1; i < MAX_OBJS && f.bo[i].live; i++)
		;
	if (i == MAX_OBJS || a->size + PAGE > ROOM - f.brk)
		return ENOMEM;
	f.bo[i] = (struct bo){ f.brk, a->size, true, false };
	f.brk += a->size + PAGE;	/* no two objects lie side by side */
	if (a->size > f.largest)
		f.largest = a->size;
	f.num_made++;
	a->handle = i;
	return 0;
}

static struct bo *bo_find(uint32_t handle)
{
	return handle && handle < MAX_OBJS && f.bo[handle].live ? &f.bo[handle] : NULL;
}

static int vm_map(const struct drm_npu_vm_bind_op *op)
{
	const struct bo *bo = bo_find(op->bo_handle);
	unsigned int i;

	if (!bo)
		return ENOENT;
	if (op->bo_offset > bo->size || op->size > bo->size - op->bo_offset)
		return EINVAL;
	for (i = 0; i < MAX_OBJS; i++)
		if (f.map[i].live && op->va < f.map[i].va + f.map[i].size &&
		    f.map[i].va < op->va + op->size)
			return EINVAL;	/* the backend never maps over something */
	for (i = 0; i < MAX_OBJS && f.map[i].live; i++)
		;
	if (i == MAX_OBJS || op->va > SPACE || op->size > SPACE - op->va)
		return ENOMEM;
	if (mmap(f.space + op->va, op->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, f.fd,
		 (off_t)(bo->offset + op->bo_offset)) == MAP_FAILED)
		return errno;
	f.map[i] = (struct map){ op->va, op->size, op->bo_handle, op->flags, true };
	return 0;
}

/* Mappings go as a whole. */
static int vm_unmap(const struct drm_npu_vm_bind_op *op)
{
	unsigned int i;

	if (op->bo_handle || op->bo_offset || op->va > SPACE || op->size > SPACE - op->va)
		return EINVAL;
	for (i = 0; i < MAX_OBJS; i++) {
		struct map *m = &f.map[i];

		if (!m->live || m->va + m->size <= op->va || op->va + op->size <= m->va)
			continue;
		if (m->va < op->va || m->va + m->size > op->va + op->size)
			return EINVAL;
		m->live = false;
	}
	if (mmap(f.space + op->va, op->size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return errno;
	return 0;
}

static int vm_bind(struct drm_npu_vm_bind *a)
{
	const struct drm_npu_vm_bind_op *op = (const void *)(uintptr_t)a->ops.array;

	if (a->vm_id != 1 || a->flags || a->pad || a->ops.count != 1 ||
	    a->ops.stride != sizeof(*op))
		return EINVAL;
	if (!op->size || op->size % PAGE || op->va % PAGE || op->bo_offset % PAGE)
		return EINVAL;
	if ((op->flags & DRM_NPU_VM_BIND_OP_TYPE_MASK) == DRM_NPU_VM_BIND_OP_TYPE_MAP)
		return vm_map(op);
	return vm_unmap(op);
}

/* The mapping that @va lies in, if the access is allowed there. */
static const struct map *map_at(uint64_t va, npu_u32 access)
{
	unsigned int i;

	for (i = 0; i < MAX_OBJS; i++) {
		const struct map *m = &f.map[i];

		if (!m->live || va < m->va || va - m->va >= m->size)
			continue;
		/* EXEC mappings are for fetching and for nothing else. */
		if (!(m->flags & DRM_NPU_VM_BIND_OP_EXEC) != !(access & NPU_ACCESS_EXEC) ||
		    (access & NPU_ACCESS_WRITE && m->flags & DRM_NPU_VM_BIND_OP_READONLY))
			return NULL;
		return m;
	}
	return NULL;
}

/* As the device's MMU: mappings that touch are one range. */
static void *resolve(void *ctx, npu_u64 va, npu_u64 size, npu_u32 access, npu_u64 *bad)
{
	npu_u64 at = va;

	pthread_mutex_lock(&lock);
	while (at - va < size) {
		const struct map *m = map_at(at, access);

		if (!m)
			break;
		at = m->va + m->size;
	}
	pthread_mutex_unlock(&lock);
	if (at - va >= size)
		return f.space + va;
	*bad = at;
	return NULL;
}

static void release(void *ctx, npu_u64 va, npu_u64 size)
{
}

/* ---- jobs ---- */

static bool waits_over(const struct job *j)
{
	uint32_t i;

	for (i = 0; i < j->num_ops; i++)
		if (j->op[i].flags & DRM_NPU_SYNC_OP_WAIT &&
		    f.sync[j->op[i].handle].done < j->op[i].timeline_value)
			return false;
	return true;
}

/* It is told later: who asks meanwhile hears that the job has not ended. */
static void run_engine(struct job *j, unsigned int us, struct drm_npu_job_get_result *res)
{
	struct npu_engine_state state = {
		.stream_size = j->stream_size,
		.num_regions = j->num_regions,
		.regions = j->region,
		.space = { .resolve = resolve, .release = release },
	};
	npu_u64 bad;

	state.stream = resolve(NULL, j->stream, j->stream_size, NPU_ACCESS_EXEC, &bad);
	memcpy(state.scalar, j->scalar, sizeof(state.scalar));
	res->started_ns = now();
	usleep(us);
	res->slices = 1;
	res->status = DRM_NPU_JOB_FAULTED;
	if (state.stream && !npu_engine_state_init(f.engine, &state)) {
		switch (npu_engine_run(f.engine, &state, UINT64_MAX, &j->stop, NULL)) {
		case NPU_RUN_DONE:
			res->status = DRM_NPU_JOB_DONE;
			break;
		case NPU_RUN_FAULT:
			break;
		default:
			res->status = DRM_NPU_JOB_CANCELED;
		}
		res->insns = state.insn;
		npu_engine_state_fini(&state);
	}
	memcpy(&res->fault, &state.fault, sizeof(res->fault));
	res->ended_ns = now();
	res->busy_ns = res->ended_ns - res->started_ns;
}

/* Called with the lock. */
static void run_job(struct queue *q, struct job *j)
{
	struct drm_npu_job_get_result result = { 0 };
	const struct map *trace;
	unsigned int us;
	uint32_t i;

	while (!q->dead && ((fake_drm.hang && !atomic_load(&j->stop)) || !waits_over(j)))
		pthread_cond_wait(&changed, &lock);
	if (q->dead || atomic_load(&j->stop))
		j->result.status = DRM_NPU_JOB_CANCELED;
	else if (fake_drm.time_out)
		j->result.status = DRM_NPU_JOB_TIMEDOUT;
	else if (fake_drm.lose)
		j->result.status = DRM_NPU_JOB_INNOCENT;
	else {
		us = fake_drm.job_us;
		pthread_mutex_unlock(&lock);
		run_engine(j, us, &result);
		pthread_mutex_lock(&lock);
		j->result = result;
	}
	if (j->result.status == DRM_NPU_JOB_FAULTED || j->result.status == DRM_NPU_JOB_TIMEDOUT)
		q->dead = true;
	trace = j->trace ? map_at(j->trace, NPU_ACCESS_WRITE) : NULL;
	if (trace)
		f.bo[trace->bo].traced = true;
	for (i = 0; i < j->num_ops; i++)
		if (j->op[i].flags & DRM_NPU_SYNC_OP_SIGNAL)
			f.sync[j->op[i].handle].done = j->op[i].timeline_value;
	pthread_cond_broadcast(&changed);
}

static void *queue_thread(void *arg)
{
	struct queue *q = arg;

	pthread_mutex_lock(&lock);
	for (;;) {
		while (!q->next && !q->quit)
			pthread_cond_wait(&changed, &lock);
		if (!q->next)
			break;
		run_job(q, q->next);
		q->next = q->next->next;
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int queue_create(struct drm_npu_queue_create *a)
{
	unsigned int i;

	if (a->vm_id != 1 || a->flags || a->pad || a->priority > DRM_NPU_PRIORITY_REALTIME)
		return EINVAL;
	if (fake_drm.no_nice && a->priority > DRM_NPU_PRIORITY_NORMAL)
		return EACCES;
	for (i = 1; i < MAX_OBJS && f.queue[i].live; i++)
		;
	if (i == MAX_OBJS)
		return ENOSPC;
	memset(&f.queue[i], 0, sizeof(f.queue[i]));
	f.queue[i].live = true;
	a->id = i;
	if (pthread_create(&f.queue[i].thread, NULL, queue_thread, &f.queue[i]))
		abort();
	return 0;
}

static struct queue *queue_find(uint32_t id)
{
	return id && id < MAX_OBJS && f.queue[id].live ? &f.queue[id] : NULL;
}

static int queue_destroy(struct drm_npu_queue_destroy *a)
{
	struct queue *q = queue_find(a->id);
	struct job *j;

	if (!q)
		return ENOENT;
	q->dead = q->quit = true;
	for (j = q->jobs; j; j = j->next)
		atomic_store(&j->stop, true);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(q->thread, NULL);
	pthread_mutex_lock(&lock);
	q->live = false;
	while ((j = q->jobs)) {
		q->jobs = j->next;
		free(j);
	}
	return 0;
}

static int read_syncs(const struct drm_npu_job *in, struct job *j)
{
	const struct drm_npu_sync_op *op = (const void *)(uintptr_t)in->syncs.array;
	uint32_t i, kind;

	if (in->syncs.stride != sizeof(*op) || in->syncs.count > 64)
		return EINVAL;
	for (i = 0; i < in->syncs.count; i++) {
		kind = op[i].flags & (DRM_NPU_SYNC_OP_WAIT | DRM_NPU_SYNC_OP_SIGNAL);
		if (op[i].flags & DRM_NPU_SYNC_OP_TIMELINE || op[i].timeline_value ||
		    op[i].flags > 7 ||
		    (kind != DRM_NPU_SYNC_OP_WAIT && kind != DRM_NPU_SYNC_OP_SIGNAL))
			return EINVAL;
		if (op[i].handle >= MAX_OBJS || !f.sync[op[i].handle].live)
			return ENOENT;
		if (kind == DRM_NPU_SYNC_OP_WAIT && !f.sync[op[i].handle].last)
			return EINVAL;	/* of no submit */
		/* The backend replaces no fence that somebody may still ask for. */
		if (kind == DRM_NPU_SYNC_OP_SIGNAL &&
		    f.sync[op[i].handle].done < f.sync[op[i].handle].last)
			return EINVAL;
		j->op[i] = op[i];
		j->op[i].timeline_value = f.sync[op[i].handle].last;
	}
	j->num_ops = i;
	for (i = 0; i < j->num_ops; i++)
		if (op[i].flags & DRM_NPU_SYNC_OP_SIGNAL)
			j->op[i].timeline_value = ++f.sync[op[i].handle].last;
	fake_drm_waits += !waits_over(j);
	return 0;
}

static int read_job(const struct drm_npu_job *in, struct job *j)
{
	const uint64_t *scalar = (const void *)(uintptr_t)in->scalars.array;
	uint32_t i;

	if (in->flags & ~3u || in->pad || in->stream % 8 || !in->flags != !in->trace ||
	    in->regions.count > NPU_MAX_REGIONS ||
	    in->regions.stride != sizeof(struct npu_region) ||
	    in->scalars.count > NPU_MAX_SCALARS || in->scalars.stride != sizeof(*scalar))
		return EINVAL;
	j->stream = in->stream;
	j->trace = in->trace;
	j->stream_size = in->stream_size;
	j->num_regions = in->regions.count;
	memcpy(j->region, (const void *)(uintptr_t)in->regions.array,
	       in->regions.count * sizeof(struct npu_region));
	for (i = 0; i < in->scalars.count; i++) {
		if (scalar[i] >> 32)
			return EINVAL;
		j->scalar[i] = (npu_u32)scalar[i];
	}
	return read_syncs(in, j);
}

static int submit(struct drm_npu_submit *a)
{
	struct drm_npu_job *in = (void *)(uintptr_t)a->jobs.array;
	struct queue *q = queue_find(a->queue_id);
	struct job *j, **at;
	int ret;

	if (!q || a->flags || a->pad || a->jobs.count != 1 || a->jobs.stride != sizeof(*in))
		return q ? EINVAL : ENOENT;
	if (q->dead)
		return EIO;
	j = calloc(1, sizeof(*j));
	ret = read_job(in, j);
	if (ret) {
		free(j);
		return ret;
	}
	j->id = in->id = ++q->submitted;
	for (at = &q->jobs; *at; at = &(*at)->next)
		;
	*at = j;
	if (!q->next)
		q->next = j;
	a->done = 1;
	fake_drm_jobs++;
	pthread_cond_broadcast(&changed);
	return 0;
}

static int get_result(struct drm_npu_job_get_result *a)
{
	struct queue *q = queue_find(a->queue_id);
	struct job *j;

	if (fake_drm.no_result)
		return ENOMEM;
	for (j = q ? q->jobs : NULL; j; j = j->next) {
		if (j->id != a->job_id)
			continue;
		j->result.queue_id = a->queue_id;
		j->result.job_id = a->job_id;
		*a = j->result;
		early_asks += a->status == DRM_NPU_JOB_PENDING;
		return 0;
	}
	return ENOENT;
}

static int job_cancel(const struct drm_npu_job_cancel *a)
{
	struct queue *q = queue_find(a->queue_id);
	struct job *j;

	if (fake_drm.no_cancel || a->flags)
		return EINVAL;
	for (j = q ? q->jobs : NULL; j; j = j->next) {
		if (j->id != a->job_id)
			continue;
		atomic_store(&j->stop, true);
		pthread_cond_broadcast(&changed);
		return 0;
	}
	return ENOENT;
}

/* ---- syncobjs, as far as they are used ---- */

static int sync_create(struct drm_syncobj_create *a)
{
	unsigned int i;

	for (i = 1; i < MAX_OBJS && f.sync[i].live; i++)
		;
	if (i == MAX_OBJS || a->flags)
		return ENOMEM;
	f.sync[i] = (struct syncobj){ .live = true };
	a->handle = i;
	return 0;
}

static int sync_wait(struct drm_syncobj_wait *a)
{
	const uint32_t *handle = (const void *)(uintptr_t)a->handles;
	struct timespec until = { .tv_sec = (time_t)(a->timeout_nsec / 1000000000),
				  .tv_nsec = (long)(a->timeout_nsec % 1000000000) };
	uint64_t fence;

	kernel_waits++;
	if (a->count_handles != 1 || *handle >= MAX_OBJS || !f.sync[*handle].live)
		return ENOENT;
	fence = f.sync[*handle].last;
	if (!fence || a->flags)
		return EINVAL;
	if (fake_drm.wait_error)
		return fake_drm.wait_error;
	while (f.sync[*handle].done < fence && !fake_drm.gone)
		if (pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until))
			return ETIME;
	return f.sync[*handle].done < fence ? ENODEV : 0;
}

/* ---- everything else ---- */

static int version(struct drm_version *v)
{
	v->version_major = fake_drm.major;
	v->version_minor = 0;
	v->version_patchlevel = 0;
	if (v->name)
		memcpy(v->name, fake_drm.name, strlen(fake_drm.name));
	if (v->date)
		memcpy(v->date, "0", 1);
	if (v->desc)
		memcpy(v->desc, "f", 1);
	v->name_len = strlen(fake_drm.name);
	v->date_len = v->desc_len = 1;
	return 0;
}

static int dev_query(struct drm_npu_dev_query *a)
{
	struct drm_npu_npu_info npu = { .hw_version = 0x10000,
					.isa_version = fake_drm.isa << 16 | NPU_ISA_MINOR,
					.num_engines = 1, .mac_rows = 32, .mac_columns = 16,
					.sram_size = 2 << 20, .dtypes = 0xfe, .epoch = 1 };
	struct drm_npu_fw_info fw = { .abi = 1, .abi_min = 1, .abi_max = 1, .version = "7.8.9" };
	struct drm_npu_mmu_info mmu = { .va_bits = 48,
					.page_sizes = 0x201000,
					.user_va_end = 1ull << 40 };
	struct drm_npu_queue_info queues = { .max_queues = 64, .max_depth = 64, .priorities = 3,
					     .max_regions = 256, .max_scalars = 16, .max_jobs = 64,
					     .timeout_ms = 2000, .limit_ms = 10000 };
	struct drm_npu_timestamp_info ts = { .frequency = 1000000000,
					     .device = now(),
					     .cpu_ns = now() };
	const struct { const void *p; uint32_t size; } what[] = {
		{ &npu, sizeof(npu) }, { &fw, sizeof(fw) }, { &mmu, sizeof(mmu) },
		{ &queues, sizeof(queues) }, { &ts, sizeof(ts) },
	};
	unsigned int op;

	for (op = 0; op < 256; op++)
		if (npu_op_desc(op) && npu_engine_supports(f.engine, op))
			npu.opcodes[op / 64] |= 1ull << op % 64;
	if (a->type >= sizeof(what) / sizeof(what[0]))
		return EINVAL;
	memcpy((void *)(uintptr_t)a->pointer, what[a->type].p,
	       a->size < what[a->type].size ? a->size : what[a->type].size);
	return 0;
}

/* What the device has recorded comes to memory. */
static int bounce_trace(const struct bo *bo)
{
	const struct {
		struct npu_hw_trace head;
		struct npu_hw_trace_record record;
	} trace = {
		.head = { .count = 1 },
		.record = { .kind = NPU_TRACE_PROFILE, .ns = FAKE_DRM_TRACE_NS },
	};

	return pwrite(f.fd, &trace, sizeof(trace), (off_t)bo->offset) == sizeof(trace) ? 0 : EIO;
}

static int bo_sync(const struct drm_npu_bo_sync *a)
{
	const struct drm_npu_bo_sync_op *op = (const void *)(uintptr_t)a->ops.array;
	const struct bo *bo = bo_find(op->handle);

	if (!bo)
		return ENOENT;
	if (op->type > 1 || op->offset > bo->size || op->size > bo->size - op->offset)
		return EINVAL;
	return bo->traced && op->type == DRM_NPU_BO_SYNC_FROM_DEVICE ? bounce_trace(bo) : 0;
}

static int answer(unsigned long request, void *arg)
{
	struct drm_npu_bo_mmap_offset *off = arg;

	switch (request) {
	case DRM_IOCTL_VERSION:
		return version(arg);
	case DRM_IOCTL_NPU_DEV_QUERY:
		return dev_query(arg);
	case DRM_IOCTL_NPU_VM_CREATE:
		((struct drm_npu_vm_create *)arg)->id = 1;
		((struct drm_npu_vm_create *)arg)->user_va_range = 1ull << 40;
		f.vm = true;
		return 0;
	case DRM_IOCTL_NPU_VM_DESTROY:
		f.vm = false;
		return 0;
	case DRM_IOCTL_NPU_VM_BIND:
		return vm_bind(arg);
	case DRM_IOCTL_NPU_BO_CREATE:
		return bo_create(arg);
	case DRM_IOCTL_NPU_BO_MMAP_OFFSET:
		if (!bo_find(off->handle))
			return ENOENT;
		off->offset = f.bo[off->handle].offset;
		return 0;
	case DRM_IOCTL_NPU_BO_SYNC:
		return bo_sync(arg);
	case DRM_IOCTL_NPU_BO_SET_LABEL:
		return 0;
	case DRM_IOCTL_GEM_CLOSE:
		if (!bo_find(((struct drm_gem_close *)arg)->handle))
			return EINVAL;
		f.bo[((struct drm_gem_close *)arg)->handle].live = false;
		return 0;
	case DRM_IOCTL_NPU_QUEUE_CREATE:
		return queue_create(arg);
	case DRM_IOCTL_NPU_QUEUE_DESTROY:
		return queue_destroy(arg);
	case DRM_IOCTL_NPU_SUBMIT:
		return submit(arg);
	case DRM_IOCTL_NPU_JOB_GET_RESULT:
		return get_result(arg);
	case DRM_IOCTL_NPU_JOB_CANCEL:
		return job_cancel(arg);
	case DRM_IOCTL_SYNCOBJ_CREATE:
		return sync_create(arg);
	case DRM_IOCTL_SYNCOBJ_DESTROY:
		f.sync[((struct drm_syncobj_destroy *)arg)->handle % MAX_OBJS].live = false;
		return 0;
	case DRM_IOCTL_SYNCOBJ_WAIT:
		return sync_wait(arg);
	default:
		return ENOTTY;
	}
}

/* Questions for the clock, and for a job that has not ended. */
static bool comes_with_time(unsigned long request, const void *arg, int ret)
{
	const struct drm_npu_job_get_result *result = arg;

	return request == DRM_IOCTL_NPU_DEV_QUERY ||
	       (request == DRM_IOCTL_NPU_JOB_GET_RESULT && !ret &&
		result->status == DRM_NPU_JOB_PENDING);
}

/* In place of libdrm's, for libdrm itself, too; other files get the real ioctl. */
__attribute__((visibility("default")))
int drmIoctl(int fd, unsigned long request, void *arg)
{
	struct stat st;
	int ret;

	if (fstat(fd, &st) || !f.ino || st.st_ino != f.ino)
		return ioctl(fd, request, arg);
	pthread_mutex_lock(&lock);
	/* What takes things back works to the end, as it does in the kernel's close. */
	ret = fake_drm.gone && request != DRM_IOCTL_NPU_QUEUE_DESTROY ? ENODEV :
									answer(request, arg);
	calls += !comes_with_time(request, arg, ret);
	pthread_mutex_unlock(&lock);
	errno = ret;
	return ret ? -1 : 0;
}
