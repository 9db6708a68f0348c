/* SPDX-License-Identifier: MIT */
/*
 * A model's job as the in-process device runs it - stream, regions before and after, scalars,
 * digests - and the same job in a guest's memory.
 */
#ifndef TESTS_DEVCORE_CAPTURE_H
#define TESTS_DEVCORE_CAPTURE_H

#include "guest.h"
#include "npu.h"

struct capture {
	struct npu_device *dev;
	struct npu_queue *queue;
	struct npu_job *job;
	struct npu_run *run;
	void *stream;
	npu_u32 stream_size, num_regions;
	struct npu_region region[NPU_MAX_REGIONS];
	npu_u32 scalar[NPU_MAX_SCALARS];
	unsigned char *before[NPU_MAX_REGIONS], *after[NPU_MAX_REGIONS];
	struct npu_insn_digest *digest;
	size_t num_digests;
};

/*
 * Compile @model of the model folder (@shape as npu-compile takes it, or NULL), run it once on
 * @threads threads. False, with a line of why and nothing left behind, when that can not be.
 */
bool capture_init(struct capture *c, const char *model, const char *shape, unsigned int threads);
void capture_fini(struct capture *c);

/* In a guest: the stream at an address of its own, regions one behind the other. */
struct replay {
	const struct capture *c;
	npu_u32 context, queue;
	npu_u64 stream;
	struct npu_region region[NPU_MAX_REGIONS];
	npu_u64 end;			/* first address that is not used */
	struct guest_job job;
};

/*
 * PAGES_SCATTERED: 4 KiB each, anywhere; PAGES_ROW: in a row; PAGES_DRIVER: as the driver gives
 * them, 2 MiB each for what is so large, scattered ones for the rest.
 */
enum replay_pages { PAGES_SCATTERED, PAGES_ROW, PAGES_DRIVER };

void replay_init(struct guest *g, struct replay *r, const struct capture *c, npu_u32 context,
		 npu_u32 queue, enum replay_pages pages);
/* Memory as before the job; the descriptor too, with this id. */
void replay_reset(struct guest *g, struct replay *r, npu_u64 job_id);
/* Is every region as the in-process device left it? */
bool replay_same(struct guest *g, const struct replay *r);

#endif
