// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rules of uapi/drm/npu_drm.h that hold for every ioctl, tried on each by a table: padding,
 * flags, pointers, sizes, and what is not an ioctl. Points 1 to 4, 6 and 8 to 10 of the list of
 * selftests.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "kselftest_harness.h"
#include "npu_test.h"

#define POISON	0xaa

/* A member of an argument, in bytes. */
struct member {
	unsigned int offset, size;
};

#define MEMBER(type, name) \
	{ offsetof(struct drm_npu_##type, name), sizeof(((struct drm_npu_##type *)0)->name) }
#define NO_MEMBER	{ 0, 0 }

/*
 * Every ioctl, with the members that must be zero today (pad) and those whose bits have no meaning
 * yet (flags; @known have one).
 */
struct call {
	const char *name;
	unsigned long request;
	unsigned int size;
	struct member pad, flags;
	unsigned int known;
};

#define CALL(nr, type, pad, flags, known) \
	{ #nr, DRM_IOCTL_NPU_##nr, sizeof(struct drm_npu_##type), pad, flags, known }

static const struct call calls[] = {
	CALL(DEV_QUERY, dev_query, NO_MEMBER, NO_MEMBER, 0),
	CALL(VM_CREATE, vm_create, NO_MEMBER, MEMBER(vm_create, flags), 0),
	CALL(VM_DESTROY, vm_destroy, MEMBER(vm_destroy, pad), NO_MEMBER, 0),
	CALL(VM_BIND, vm_bind, MEMBER(vm_bind, pad), MEMBER(vm_bind, flags), 0),
	CALL(VM_GET_STATE, vm_get_state, NO_MEMBER, NO_MEMBER, 0),
	CALL(BO_CREATE, bo_create, MEMBER(bo_create, pad), MEMBER(bo_create, flags),
	     DRM_NPU_BO_NO_MMAP),
	CALL(BO_MMAP_OFFSET, bo_mmap_offset, MEMBER(bo_mmap_offset, pad), NO_MEMBER, 0),
	CALL(BO_SYNC, bo_sync, NO_MEMBER, NO_MEMBER, 0),
	CALL(BO_QUERY_INFO, bo_query_info, MEMBER(bo_query_info, pad), NO_MEMBER, 0),
	CALL(BO_SET_LABEL, bo_set_label, MEMBER(bo_set_label, pad), NO_MEMBER, 0),
	CALL(QUEUE_CREATE, queue_create, MEMBER(queue_create, pad), MEMBER(queue_create, flags), 0),
	CALL(QUEUE_DESTROY, queue_destroy, MEMBER(queue_destroy, pad), NO_MEMBER, 0),
	CALL(QUEUE_GET_STATE, queue_get_state, MEMBER(queue_get_state, pad), NO_MEMBER, 0),
	CALL(SUBMIT, submit, MEMBER(submit, pad), MEMBER(submit, flags), 0),
	CALL(JOB_GET_RESULT, job_get_result, NO_MEMBER, NO_MEMBER, 0),
	CALL(JOB_CANCEL, job_cancel, NO_MEMBER, MEMBER(job_cancel, flags), 0),
};

#define NUM_CALLS	(sizeof(calls) / sizeof(calls[0]))
#define MAX_ARG		256

FIXTURE(npu)
{
	int fd;
	__u32 vm, bo, queue;
	unsigned char arg[MAX_ARG];
};

FIXTURE_SETUP(npu)
{
	struct drm_npu_vm_create vm = { 0 };
	struct drm_npu_bo_create bo = { .size = 4096 };
	struct drm_npu_queue_create queue = { .priority = DRM_NPU_PRIORITY_NORMAL };

	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPU_VM_CREATE, &vm));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPU_BO_CREATE, &bo));
	queue.vm_id = vm.id;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &queue));
	self->vm = vm.id;
	self->bo = bo.handle;
	self->queue = queue.id;
}

FIXTURE_TEARDOWN(npu)
{
	if (self->fd >= 0)
		close(self->fd);
}

/* Fill self->arg with an argument that the call would take, so that one change decides. */
static void good_arg(FIXTURE_DATA(npu) *self, unsigned long request)
{
	void *arg = self->arg;

	memset(arg, 0, MAX_ARG);
	switch (request) {
	case DRM_IOCTL_NPU_VM_DESTROY:
	case DRM_IOCTL_NPU_VM_BIND:
	case DRM_IOCTL_NPU_VM_GET_STATE:
	case DRM_IOCTL_NPU_QUEUE_CREATE:
		*(__u32 *)arg = self->vm;
		break;
	case DRM_IOCTL_NPU_BO_CREATE:
		((struct drm_npu_bo_create *)arg)->size = 4096;
		break;
	case DRM_IOCTL_NPU_BO_MMAP_OFFSET:
	case DRM_IOCTL_NPU_BO_QUERY_INFO:
	case DRM_IOCTL_NPU_BO_SET_LABEL:
		*(__u32 *)arg = self->bo;
		break;
	case DRM_IOCTL_NPU_QUEUE_DESTROY:
	case DRM_IOCTL_NPU_QUEUE_GET_STATE:
	case DRM_IOCTL_NPU_SUBMIT:
	case DRM_IOCTL_NPU_JOB_GET_RESULT:
	case DRM_IOCTL_NPU_JOB_CANCEL:
		*(__u32 *)arg = self->queue;
		break;
	}
}

/* Every bit of a member, one at a time, is refused. */
static void refuse_bits(struct __test_metadata *_metadata, FIXTURE_DATA(npu) *self,
			const struct call *call, struct member member, unsigned int known)
{
	unsigned int bit;

	for (bit = 0; bit < 8 * member.size; bit++) {
		if (bit < 32 && known & 1u << bit)
			continue;
		good_arg(self, call->request);
		self->arg[member.offset + bit / 8] |= 1 << bit % 8;
		EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, call->request, self->arg))
			TH_LOG("%s: bit %u of the member at %u", call->name, bit, member.offset);
	}
}

TEST_F(npu, padding_must_be_zero)
{
	unsigned int i;

	for (i = 0; i < NUM_CALLS; i++)
		refuse_bits(_metadata, self, &calls[i], calls[i].pad, 0);
}

TEST_F(npu, unknown_flags_are_refused)
{
	unsigned int i;

	for (i = 0; i < NUM_CALLS; i++)
		refuse_bits(_metadata, self, &calls[i], calls[i].flags, calls[i].known);
}

TEST_F(npu, bad_ids_are_not_found)
{
	static const __u32 bad[] = { 0, 1000, 1u << 31, ~0u };
	unsigned int i, k;

	for (i = 0; i < NUM_CALLS; i++) {
		good_arg(self, calls[i].request);
		/* The first member names an object in all that have one. */
		if (!*(__u32 *)self->arg || calls[i].request == DRM_IOCTL_NPU_BO_CREATE)
			continue;
		for (k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
			int ret;

			good_arg(self, calls[i].request);
			*(__u32 *)self->arg = bad[k];
			ret = npu_ioctl(self->fd, calls[i].request, self->arg);
			EXPECT_TRUE(ret == -ENOENT || ret == -EINVAL)
				TH_LOG("%s: id %u gives %d", calls[i].name, bad[k], ret);
		}
	}
}

/* 3: ids of what was, for as long as nobody else has been given them. */
TEST_F(npu, freed_ids_are_not_found)
{
	struct drm_npu_queue_destroy queue = { .id = self->queue };
	struct drm_npu_vm_destroy vm = { .id = self->vm };
	struct drm_gem_close bo = { .handle = self->bo };
	unsigned int i;

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &queue));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_GEM_CLOSE, &bo));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPU_VM_DESTROY, &vm));
	for (i = 0; i < NUM_CALLS; i++) {
		good_arg(self, calls[i].request);
		/* The first member names an object in all that have one. */
		if (!*(__u32 *)self->arg || calls[i].request == DRM_IOCTL_NPU_BO_CREATE)
			continue;
		EXPECT_EQ(-ENOENT, npu_ioctl(self->fd, calls[i].request, self->arg))
			TH_LOG("%s", calls[i].name);
	}
}

TEST_F(npu, bad_pointers_fault)
{
	void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	ASSERT_NE(MAP_FAILED, hole);
	for (i = 0; i < NUM_CALLS; i++) {
		EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, calls[i].request, NULL))
			TH_LOG("%s: NULL", calls[i].name);
		EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, calls[i].request, hole))
			TH_LOG("%s: a page without access", calls[i].name);
	}
}

TEST_F(npu, not_an_ioctl)
{
	unsigned long after = DRM_IOCTL_NPU_JOB_CANCEL + 1;
	unsigned int nr;

	for (nr = DRM_COMMAND_BASE + NUM_CALLS; nr < DRM_COMMAND_END; nr++) {
		int ret = npu_ioctl(self->fd, _IOC(_IOC_READ | _IOC_WRITE, 'd', nr, 64), self->arg);

		EXPECT_TRUE(ret == -EINVAL || ret == -ENOTTY)
			TH_LOG("number %#x gives %d", nr, ret);
	}
	EXPECT_GT(0, npu_ioctl(self->fd, after, self->arg));
}

/*
 * A program that is older knows less of the structure, a newer one more: zero there changes
 * nothing.
 */
TEST_F(npu, longer_and_shorter_arguments)
{
	struct drm_npu_vm_create vm = { 0 };
	struct drm_npu_bo_create bo = { .size = 4096 };
	struct {
		struct drm_npu_bo_create bo;
		__u64 more[4];
	} longer = { .bo.size = 4096 };

	ASSERT_EQ(0, npu_ioctl_sized(self->fd, DRM_IOCTL_NPU_BO_CREATE, sizeof(longer), &longer));
	EXPECT_NE(0u, longer.bo.handle);
	/*
	 * Without its last word this is a call that nobody could have made; it must not reach
	 * beyond.
	 */
	EXPECT_EQ(0, npu_ioctl_sized(self->fd, DRM_IOCTL_NPU_BO_CREATE, sizeof(bo) - 4, &bo));
	EXPECT_EQ(0u, bo.pad);
	EXPECT_EQ(0, npu_ioctl_sized(self->fd, DRM_IOCTL_NPU_VM_CREATE, 8, &vm));
	EXPECT_EQ(0ull, vm.user_va_range);
}

TEST_F(npu, sizes_of_buffers)
{
	static const struct {
		__u64 size;
		int ret;
		__u64 rounded;
	} cases[] = {
		{ 0, -EINVAL, 0 },
		{ 1, 0, 4096 },
		{ 4095, 0, 4096 },
		{ 4097, 0, 8192 },
		{ ~0ull, -EINVAL, 0 },
		{ ~0ull - 4095, -EINVAL, 0 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct drm_npu_bo_create bo = { .size = cases[i].size };
		int ret = npu_ioctl(self->fd, DRM_IOCTL_NPU_BO_CREATE, &bo);

		/* What no machine has may be refused as too much, too. */
		EXPECT_TRUE(ret == cases[i].ret || (cases[i].ret && ret == -ENOMEM))
			TH_LOG("size %#llx gives %d", cases[i].size, ret);
		if (!cases[i].ret)
			EXPECT_EQ(cases[i].rounded, bo.size);
	}
}

static const struct {
	__u32 type, size;
} queries[] = {
	{ DRM_NPU_DEV_QUERY_NPU_INFO, sizeof(struct drm_npu_npu_info) },
	{ DRM_NPU_DEV_QUERY_FW_INFO, sizeof(struct drm_npu_fw_info) },
	{ DRM_NPU_DEV_QUERY_MMU_INFO, sizeof(struct drm_npu_mmu_info) },
	{ DRM_NPU_DEV_QUERY_QUEUE_INFO, sizeof(struct drm_npu_queue_info) },
	{ DRM_NPU_DEV_QUERY_TIMESTAMP, sizeof(struct drm_npu_timestamp_info) },
};

#define NUM_QUERIES	(sizeof(queries) / sizeof(queries[0]))

TEST_F(npu, queries_keep_to_the_size)
{
	unsigned char buf[MAX_ARG];
	unsigned int i, k;
	__u32 size;

	for (i = 0; i < NUM_QUERIES; i++) {
		for (size = 0; size <= queries[i].size + 16; size++) {
			struct drm_npu_dev_query query = { .type = queries[i].type, .size = size,
							   .pointer = (uintptr_t)buf };

			memset(buf, POISON, sizeof(buf));
			ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPU_DEV_QUERY, &query))
				TH_LOG("query %u of size %u", queries[i].type, size);
			ASSERT_EQ(queries[i].size, query.size);
			/*
			 * What the driver does not know is zeroed, what the program did not give is
			 * left.
			 */
			for (k = queries[i].size; k < size; k++)
				ASSERT_EQ(0, buf[k]);
			for (k = size; k < sizeof(buf); k++)
				ASSERT_EQ(POISON, buf[k])
					TH_LOG("query %u of size %u writes byte %u",
					       queries[i].type, size, k);
		}
	}
}

TEST_F(npu, queries_without_a_buffer_tell_the_size)
{
	struct drm_npu_dev_query query = { .type = NUM_QUERIES };
	unsigned int i;

	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPU_DEV_QUERY, &query));
	for (i = 0; i < NUM_QUERIES; i++) {
		query = (struct drm_npu_dev_query){ .type = queries[i].type };
		EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPU_DEV_QUERY, &query));
		EXPECT_EQ(queries[i].size, query.size);
		query.pointer = 8;
		query.size = 4097;
		EXPECT_EQ(-E2BIG, npu_ioctl(self->fd, DRM_IOCTL_NPU_DEV_QUERY, &query));
		query.size = queries[i].size;
		EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, DRM_IOCTL_NPU_DEV_QUERY, &query));
	}
}

TEST_F(npu, padding_of_answers_is_zero)
{
	struct drm_npu_npu_info info;
	struct drm_npu_dev_query query = { .type = DRM_NPU_DEV_QUERY_NPU_INFO, .size = sizeof(info),
					   .pointer = (uintptr_t)&info };

	memset(&info, POISON, sizeof(info));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPU_DEV_QUERY, &query));
	EXPECT_EQ(0u, info.pad);
	EXPECT_EQ(0u, info.pad2);
	EXPECT_LE(1u, info.num_engines);
	EXPECT_NE(0u, info.sram_size);
	EXPECT_NE(0ull, info.opcodes[0]);
}

/* 5: an array of structures, by that of VM_BIND; each op takes a range away that is not there. */
TEST_F(npu, arrays_of_structures)
{
	struct {
		struct drm_npu_vm_bind_op op;
		__u64 tail[2];
	} longer[3];
	struct drm_npu_vm_bind_op ops[3];
	const struct {
		struct drm_npu_obj_array array;
		int ret;
	} cases[] = {
		{ { sizeof(ops[0]), 3, (uintptr_t)ops }, 0 },
		{ { sizeof(longer[0]), 3, (uintptr_t)longer }, 0 },
		{ { 0, 3, (uintptr_t)ops }, -EINVAL },
		{ { sizeof(ops[0]) - 8, 3, (uintptr_t)ops }, -EINVAL },
		{ { sizeof(ops[0]) + 4, 3, (uintptr_t)ops }, -EINVAL },
		{ { 4096 + 8, 3, (uintptr_t)ops }, -E2BIG },
		{ { 0xfffffff8, 3, (uintptr_t)ops }, -E2BIG },
		{ { sizeof(ops[0]), 3, 0 }, -EFAULT },
		{ { sizeof(ops[0]), 3, 4096 }, -EFAULT },
		{ { sizeof(ops[0]), 3, -(__u64)sizeof(ops[0]) }, -EFAULT },
		{ { sizeof(ops[0]), 0xffffffff, (uintptr_t)ops }, -EINVAL },
	};
	struct drm_npu_vm_bind bind = { .vm_id = self->vm };
	unsigned int i;

	memset(longer, 0, sizeof(longer));
	memset(ops, 0, sizeof(ops));
	for (i = 0; i < 3; i++) {
		ops[i].flags = DRM_NPU_VM_BIND_OP_TYPE_UNMAP;
		ops[i].va = 0x10000 * i;
		ops[i].size = 4096;
		longer[i].op = ops[i];
	}
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bind.ops = cases[i].array;
		EXPECT_EQ(cases[i].ret, npu_ioctl(self->fd, DRM_IOCTL_NPU_VM_BIND, &bind))
			TH_LOG("case %u", i);
	}
	/* What this driver does not know must be zero, in the last one, too. */
	longer[2].tail[1] = 1ull << 63;
	bind.ops = cases[1].array;
	EXPECT_EQ(-E2BIG, npu_ioctl(self->fd, DRM_IOCTL_NPU_VM_BIND, &bind));
}

TEST_HARNESS_MAIN
