// SPDX-License-Identifier: GPL-2.0-only
/* Half of the contexts and queues for one user, all of them for the administrator. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/slab.h>

#include "npu_device.h"
#include "npu_limits.h"

void npu_limits_init(struct npu_device *npu)
{
	mutex_init(&npu->limits.lock);
	INIT_LIST_HEAD(&npu->limits.users);
}

/* For the current process. */
u32 npu_limits_max(const struct npu_device *npu, enum npu_limit what)
{
	/* Context 0 is the kernel's. */
	u32 all = what == NPU_LIMIT_VMS ? npu->caps.num_contexts - 1 : npu->caps.num_queues;

	return ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE) ? all : DIV_ROUND_UP(all, 2);
}

/**
 * npu_user_find() - the record of a user
 * @npu: device
 * @uid: who
 *
 * Return: it, with a reference; or NULL without memory.
 */
struct npu_user *npu_user_find(struct npu_device *npu, kuid_t uid)
{
	struct npu_user *user;

	guard(mutex)(&npu->limits.lock);
	list_for_each_entry(user, &npu->limits.users, node) {
		if (uid_eq(user->uid, uid)) {
			user->refs++;
			return user;
		}
	}

	user = kzalloc_obj(*user);
	if (!user)
		return NULL;

	user->uid = uid;
	user->refs = 1;
	list_add(&user->node, &npu->limits.users);

	return user;
}

struct npu_user *npu_user_get(struct npu_device *npu, struct npu_user *user)
{
	guard(mutex)(&npu->limits.lock);
	user->refs++;

	return user;
}

void npu_user_put(struct npu_device *npu, struct npu_user *user)
{
	guard(mutex)(&npu->limits.lock);
	if (--user->refs)
		return;

	list_del(&user->node);
	kfree(user);
}

/**
 * npu_user_charge() - count one more
 * @npu: device
 * @user: whose
 * @what: of what
 *
 * Return: 0, or -ENOSPC when the user has enough.
 */
int npu_user_charge(struct npu_device *npu, struct npu_user *user, enum npu_limit what)
{
	u32 max = npu_limits_max(npu, what);

	guard(mutex)(&npu->limits.lock);
	if (user->used[what] >= max)
		return -ENOSPC;

	user->used[what]++;

	return 0;
}

void npu_user_uncharge(struct npu_device *npu, struct npu_user *user, enum npu_limit what)
{
	guard(mutex)(&npu->limits.lock);
	user->used[what]--;
}
