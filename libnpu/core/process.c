// SPDX-License-Identifier: MIT
/*
 * Which process this is. Objects are no use in a child of the one that made them, which every call
 * has to find out, so that asking the kernel each time would be a good part of a submit. It is
 * asked once: the answer is kept in a page that is empty again in a child.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core/object.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic(pid_t) *kept;		/* NULL: there is no such page, and the kernel is asked */

static void page_make(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	/* An emulator of system calls that takes any advice wipes nothing. */
	if (!madvise(page, size, -1) || madvise(page, size, MADV_WIPEONFORK)) {
		munmap(page, size);
		return;
	}
	kept = page;
}

pid_t npu_process(void)
{
	pid_t pid;

	pthread_once(&once, page_make);
	if (!kept)
		return getpid();
	pid = atomic_load_explicit(kept, memory_order_relaxed);
	if (!pid) {
		pid = getpid();
		atomic_store_explicit(kept, pid, memory_order_relaxed);
	}
	return pid;
}
