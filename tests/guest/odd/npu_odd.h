/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* What npu_odd.ko does: dma-bufs as no decent exporter has them, and fences on demand. */
#ifndef NPU_ODD_H
#define NPU_ODD_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* What is odd about a dma-buf. */
enum npu_odd_kind {
	NPU_ODD_NOTHING,
	NPU_ODD_EMPTY,		/* of 0 bytes */
	NPU_ODD_UNALIGNED,	/* its size is not one of pages */
	NPU_ODD_PIECES,		/* its pieces do not begin and end at pages */
	NPU_ODD_SHORT,		/* less is mapped than it has */
	NPU_ODD_REFUSED,	/* attaching is refused with EPERM */
	NPU_ODD_REVOKED,	/* mapping is refused with ENODEV */
	NPU_ODD_NO_MMAP,	/* not for the CPU */
	NPU_ODD_PINNED,		/* moves unless it is pinned */
	NPU_ODD_REVOCABLE,	/* only for importers that it may be taken from at any time */
	NPU_ODD_BOUNCED_ONCE,	/* the importer's device was copied for before, elsewhere */
	NPU_ODD_KINDS
};

/**
 * struct npu_odd_export - argument of NPU_ODD_EXPORT
 * @kind: enum npu_odd_kind
 * @pages: how much memory
 * @flags: O_ACCMODE and O_CLOEXEC of the descriptor
 * @fd: out
 */
struct npu_odd_export {
	__u32 kind;
	__u32 pages;
	__u32 flags;
	__s32 fd;
};

/**
 * struct npu_odd_count - argument of NPU_ODD_COUNT: what there is of each, of all files
 * @bufs: dma-bufs
 * @attachments: importers
 * @mappings: of them
 * @pins: of them, now
 * @pinned: how often one was pinned
 * @fences: that have not been freed
 */
struct npu_odd_count {
	__u32 bufs;
	__u32 attachments;
	__u32 mappings;
	__u32 pins;
	__u32 pinned;
	__u32 fences;
};

#define NPU_ODD_EXPORT	_IOWR('o', 1, struct npu_odd_export)
#define NPU_ODD_COUNT	_IOR('o', 2, struct npu_odd_count)
/*
 * A sync_file of a new fence, in the int; the file's fence from now on, and only its end ends it.
 */
#define NPU_ODD_FENCE	_IOR('o', 3, __s32)
/*
 * The file's fence signals, with the error in the int (0 or a negative errno). Closing does so,
 * too.
 */
#define NPU_ODD_SIGNAL	_IOW('o', 4, __s32)
/*
 * The memory of the dma-buf in the int, one of NPU_ODD_PINNED, moves: importers are told, and what
 * it was copied from is overwritten and freed. EBUSY while it is pinned. The host has to map it
 * again.
 */
#define NPU_ODD_MOVE	_IOW('o', 5, __s32)

#endif
