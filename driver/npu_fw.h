/* SPDX-License-Identifier: GPL-2.0-only */
/* The firmware: its image, its start, and the rings through which it is spoken to. */
#ifndef NPU_FW_H
#define NPU_FW_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "../uapi/npu_hw.h"

struct npu_device;
struct npu_kbo;
struct seq_file;

/* Sizes of the rings. The message ring holds more than the firmware can have to say at a time. */
#define NPU_FW_CTL_ENTRIES	64u
#define NPU_FW_MSG_ENTRIES	1024u
#define NPU_FW_LOG_DATA		SZ_64K

/*
 * An answer to a control message. The firmware gives it at once; it may be kept from it as long as
 * its heartbeat may stand still, because a reset that was not needed costs others their jobs.
 */
#define NPU_FW_CTL_MS		4000
/* Ending jobs takes it about a millisecond, unless an engine does not stop. */
#define NPU_FW_ABORT_MS		1000

/**
 * struct npu_fw_range_copy - one range of the image, checked
 * @offset: in the file
 * @file_size: bytes to copy
 * @address: in the TCM
 * @mem_size: bytes in the TCM
 */
struct npu_fw_range_copy {
	u32 offset;
	u32 file_size;
	u32 address;
	u32 mem_size;
};

/**
 * struct npu_fw - the firmware
 */
struct npu_fw {
	/** @image: copy of the file that the device loads from, zeros behind it */
	void *image;

	/** @image_dma: its address */
	dma_addr_t image_dma;

	/** @image_alloc: its size, zeros included */
	size_t image_alloc;

	/** @header: of the image, checked */
	struct npu_fw_image header;

	/** @ranges: of the image, checked */
	struct npu_fw_range_copy ranges[NPU_FW_MAX_RANGES];

	/** @abi: in use */
	u32 abi;

	/** @config: struct npu_fw_config */
	struct npu_kbo *config;

	/** @ctl: struct npu_fw_ctl[NPU_FW_CTL_ENTRIES], and their struct npu_fw_index behind */
	struct npu_kbo *ctl;

	/** @msg: struct npu_fw_msg[NPU_FW_MSG_ENTRIES], and their struct npu_fw_index behind */
	struct npu_kbo *msg;

	/** @log: struct npu_fw_log and NPU_FW_LOG_DATA bytes of text */
	struct npu_kbo *log;

	/** @state: struct npu_fw_queue_state of each queue */
	struct npu_kbo *state;

	/** @info: struct npu_fw_info, and struct npu_hw_result of each engine behind */
	struct npu_kbo *info;

	/** @ctl_lock: one control message at a time; protects @ctl_seq and @ctl_tail */
	struct mutex ctl_lock;

	/** @ctl_seq: of the last control message */
	u32 ctl_seq;

	/** @ctl_tail: control messages written */
	u32 ctl_tail;

	/**
	 * @ctl_wait: seq of the one whose answer is waited for, 0: none. Under npu_device.irq.lock
	 */
	u32 ctl_wait;

	/** @ctl_answer: the answer. Under npu_device.irq.lock until @ctl_done */
	struct npu_fw_msg ctl_answer;

	/** @ctl_done: it has come */
	struct completion ctl_done;

	/** @msg_head: messages read. Under npu_device.irq.lock */
	u32 msg_head;

	/** @log_level: enum npu_fw_log_level */
	u32 log_level;
};

int npu_fw_init(struct npu_device *npu);
void npu_fw_fini(struct npu_device *npu);
int npu_fw_boot(struct npu_device *npu);
void npu_fw_halt(struct npu_device *npu);

int npu_fw_image_load(struct npu_device *npu);
void npu_fw_image_unload(struct npu_device *npu);
int npu_fw_image_copy(struct npu_device *npu);

void npu_fw_ctl_start(struct npu_device *npu);
int npu_fw_ctl(struct npu_device *npu, struct npu_fw_ctl *cmd, unsigned int timeout_ms);
void npu_fw_process_messages(struct npu_device *npu);
bool npu_fw_has_messages(struct npu_device *npu);
const char *npu_fw_status_text(u32 status);
const char *npu_fw_boot_text(u32 status);

struct npu_fw_info *npu_fw_info(struct npu_device *npu);
struct npu_fw_queue_state *npu_fw_queue_state(struct npu_device *npu, u32 queue);
size_t npu_fw_log_read(struct npu_device *npu, char *buf, size_t size);

#endif
