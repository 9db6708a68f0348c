/* SPDX-License-Identifier: GPL-2.0-only */
/* What one user may have of the device, so that others can use it, too. */
#ifndef NPU_LIMITS_H
#define NPU_LIMITS_H

#include <linux/list.h>
#include <linux/uidgid.h>

struct npu_device;

/**
 * enum npu_limit - what is counted
 * @NPU_LIMIT_VMS: address spaces
 * @NPU_LIMIT_QUEUES: queues
 * @NPU_NUM_LIMITS: how many there are
 */
enum npu_limit {
	NPU_LIMIT_VMS,
	NPU_LIMIT_QUEUES,
	NPU_NUM_LIMITS
};

/**
 * struct npu_user - a user, all processes together
 * @node: in npu_device.limits.users
 * @uid: who
 * @refs: files, VMs and queues
 * @used: what the user has
 *
 * All members are protected by npu_device.limits.lock.
 */
struct npu_user {
	struct list_head node;
	kuid_t uid;
	u32 refs;
	u32 used[NPU_NUM_LIMITS];
};

void npu_limits_init(struct npu_device *npu);
u32 npu_limits_max(const struct npu_device *npu, enum npu_limit what);

struct npu_user *npu_user_find(struct npu_device *npu, kuid_t uid);
struct npu_user *npu_user_get(struct npu_device *npu, struct npu_user *user);
void npu_user_put(struct npu_device *npu, struct npu_user *user);
int npu_user_charge(struct npu_device *npu, struct npu_user *user, enum npu_limit what);
void npu_user_uncharge(struct npu_device *npu, struct npu_user *user, enum npu_limit what);

#endif
