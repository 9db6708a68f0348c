// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that misbehaves when told to, so that tests can see that it is noticed:
 * insmod npu_splat.ko kind=warn|oops|leak|error|refcount. Without a kind it does nothing.
 */
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/string.h>

static char *kind = "";
module_param(kind, charp, 0);
MODULE_PARM_DESC(kind, "what to do wrong: warn, oops, leak, error or refcount");

static void splat_oops(void)
{
	/* A local that the compiler cannot follow: it would make this a trap of its own kind. */
	volatile int *nowhere = NULL;

	OPTIMIZER_HIDE_VAR(nowhere);
	*nowhere = 0;
}

static void splat_refcount(void)
{
	refcount_t count = REFCOUNT_INIT(1);

	refcount_dec(&count);
}

static int __init splat_init(void)
{
	if (!strcmp(kind, "warn"))
		WARN(1, "npu_splat was told to\n");
	else if (!strcmp(kind, "oops"))
		splat_oops();
	else if (!strcmp(kind, "leak"))
		pr_info("npu_splat: 3 objects leaked\n");
	else if (!strcmp(kind, "error"))
		pr_err("npu_splat: an error\n");
	else if (!strcmp(kind, "refcount"))
		splat_refcount();
	else if (*kind)
		return -EINVAL;
	return 0;
}

static void __exit splat_exit(void)
{
}

module_init(splat_init);
module_exit(splat_exit);
MODULE_DESCRIPTION("Misbehaves on demand, for tests of the tests");
MODULE_LICENSE("GPL");
