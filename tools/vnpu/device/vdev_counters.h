/* SPDX-License-Identifier: MIT */
/* What the transport counts, the only list: X(name, its name on the control socket, what it is). */
#ifndef NPU_VDEV_COUNTERS_H
#define NPU_VDEV_COUNTERS_H

#define VDEV_COUNTERS(X)									\
	X(MESSAGES,	"messages",		"messages from clients")			\
	X(ERRORS,	"errors",		"of them answered with an error")		\
	X(READS,	"register-reads",	"reads of BAR0")				\
	X(WRITES,	"register-writes",	"writes of BAR0")				\
	X(POSTED,	"posted-writes",	"of them without a reply")			\
	X(BAD_ACCESS,	"bad-accesses",		"accesses to BAR0 of a wrong size or alignment") \
	X(CONFIG,	"config-accesses",	"accesses to the config space")			\
	X(MAPS,		"dma-maps",		"mappings made")				\
	X(UNMAPS,	"dma-unmaps",		"requests to unmap")				\
	X(LIVE,		"dma-live",		"mappings there are")				\
	X(LIVE_BYTES,	"dma-live-bytes",	"bytes of them")				\
	X(BARRIERS,	"barriers",		"unmappings and resets that had to wait")	\
	X(BARRIER_US,	"barrier-max-us",	"the longest such wait")			\
	X(DMA_FAULTS,	"dma-faults",		"accesses to guest memory that were refused")	\
	X(REPORTS,	"iommu-reports",	"of them shown to the guest's IOMMU")		\
	X(REPORTS_BAD,	"iommu-reports-done",	"of those, refused as they should be") \
	X(REPORTS_LOST,	"iommu-reports-lost",	"not shown as there were too many")		\
	X(IRQ_RAISED,	"irqs-raised",		"interrupts raised by the core")		\
	X(IRQ_SENT,	"irqs-sent",		"interrupts that went to the client")		\
	X(IRQ_LOST,	"irqs-lost",		"interrupts lost by the fault of that name")	\
	X(CONNECTIONS,	"connections",		"clients that were served")			\
	X(REFUSED,	"connections-refused",	"clients that came while there was one")	\
	X(RESETS,	"resets",		"resets of every kind, less restarts")		\
	X(RESTARTS,	"worker-restarts",	"workers that died")				\
	X(LOG_LOST,	"log-lines-lost",	"lines of the log left out, too many a second")

enum vdev_counter {
#define X(name, text, what) VDEV_COUNT_##name,
	VDEV_COUNTERS(X)
#undef X
	VDEV_NUM_COUNTERS
};

#endif
