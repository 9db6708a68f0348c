/* SPDX-License-Identifier: MIT */
/*
 * vfio-user on the wire, protocol 0.x: what a server of a PCI device needs of it. Messages are in
 * the byte order of the host; every one begins with struct vfu_header.
 */
#ifndef NPU_VFU_PROTO_H
#define NPU_VFU_PROTO_H

#include "npu_isa.h"

#define VFU_MAJOR		0
#define VFU_MINOR		0

#define VFU_COMMANDS(X)						\
	X(VERSION, 1)		X(DMA_MAP, 2)			\
	X(DMA_UNMAP, 3)		X(GET_INFO, 4)			\
	X(GET_REGION_INFO, 5)	X(GET_REGION_IO_FDS, 6)		\
	X(GET_IRQ_INFO, 7)	X(SET_IRQS, 8)			\
	X(REGION_READ, 9)	X(REGION_WRITE, 10)		\
	X(DMA_READ, 11)		X(DMA_WRITE, 12)		\
	X(RESET, 13)		X(DIRTY_PAGES, 14)		\
	X(WRITE_MULTI, 15)

enum vfu_command {
#define X(name, number) VFU_##name = number,
	VFU_COMMANDS(X)
#undef X
	VFU_NUM_COMMANDS
};

#define VFU_FLAG_TYPE		0x0fu
#define VFU_FLAG_REPLY		0x01u	/* of VFU_FLAG_TYPE; else it is a request, 0 */
#define VFU_FLAG_NO_REPLY	0x10u
#define VFU_FLAG_ERROR		0x20u

struct vfu_header {
	npu_u16 id;
	npu_u16 command;
	npu_u32 size;			/* of the message, header included */
	npu_u32 flags;
	npu_u32 error;			/* errno, with VFU_FLAG_ERROR */
};

/* A JSON text with its NUL may follow. */
struct vfu_version {
	npu_u16 major;
	npu_u16 minor;
};

#define VFU_MAP_READ		1u
#define VFU_MAP_WRITE		2u

struct vfu_dma_map {
	npu_u32 argsz;
	npu_u32 flags;
	npu_u64 offset;			/* in the file that comes with it, if one does */
	npu_u64 iova;
	npu_u64 size;
};

#define VFU_UNMAP_ALL		2u

struct vfu_dma_unmap {
	npu_u32 argsz;
	npu_u32 flags;
	npu_u64 iova;
	npu_u64 size;
};

#define VFU_DEVICE_RESET	1u
#define VFU_DEVICE_PCI		2u

struct vfu_device_info {
	npu_u32 argsz;
	npu_u32 flags;
	npu_u32 num_regions;
	npu_u32 num_irqs;
};

#define VFU_REGION_BAR0		0u
#define VFU_REGION_CONFIG	7u
#define VFU_NUM_REGIONS		9u	/* six BARs, ROM, config space, VGA */

#define VFU_REGION_CAN_READ	1u
#define VFU_REGION_CAN_WRITE	2u

struct vfu_region_info {
	npu_u32 argsz;
	npu_u32 flags;
	npu_u32 index;
	npu_u32 cap_offset;
	npu_u64 size;
	npu_u64 offset;
};

#define VFU_IRQ_MSI		1u
#define VFU_IRQ_ERR		3u
#define VFU_NUM_IRQS		5u	/* INTx, MSI, MSI-X, ERR, REQ */

#define VFU_IRQ_EVENTFD		1u
#define VFU_IRQ_MASKABLE	2u

struct vfu_irq_info {
	npu_u32 argsz;
	npu_u32 flags;
	npu_u32 index;
	npu_u32 count;
};

/* One of the first three, one of the last three. */
#define VFU_SET_NONE		0x01u
#define VFU_SET_BOOL		0x02u
#define VFU_SET_EVENTFD		0x04u
#define VFU_SET_DATA		0x07u
#define VFU_SET_MASK		0x08u
#define VFU_SET_UNMASK		0x10u
#define VFU_SET_TRIGGER		0x20u
#define VFU_SET_ACTION		0x38u

/* With VFU_SET_BOOL a byte per vector follows; files come beside the message. */
struct vfu_set_irqs {
	npu_u32 argsz;
	npu_u32 flags;
	npu_u32 index;
	npu_u32 start;
	npu_u32 count;
};

/* Data follows in requests to write and in replies to read. */
struct vfu_region_rw {
	npu_u64 offset;
	npu_u32 region;
	npu_u32 count;
};

#define VFU_MULTI_BYTES		8u

struct vfu_write_one {
	npu_u64 offset;
	npu_u32 region;
	npu_u32 count;			/* up to VFU_MULTI_BYTES */
	npu_u8 data[VFU_MULTI_BYTES];
};

/* Followed by @count of struct vfu_write_one. */
struct vfu_write_multi {
	npu_u64 count;
};

/* From server to client; QEMU 11.1 has a @count of 64 bits. Data as in struct vfu_region_rw. */
struct vfu_dma_rw {
	npu_u64 iova;
	npu_u64 count;
};

/* What this server takes. QEMU refuses more than 16 files and more than 65535 mappings. */
#define VFU_MAX_FDS		16u
#define VFU_MAX_DATA		65536u
#define VFU_MAX_DMA_MAPS	65535u
#define VFU_PAGE_SIZE		4096u
#define VFU_MAX_MESSAGE		(sizeof(struct vfu_header) + sizeof(struct vfu_region_rw) + \
				 VFU_MAX_DATA)

#endif
