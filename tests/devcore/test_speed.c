// SPDX-License-Identifier: MIT
/*
 * A model's job through the MMU beside the same job in process, on the same number of threads: only
 * translation may be added. The best of several runs each, as others use the machine, too.
 */
#include "../tap.h"
#include "capture.h"
#include "small.h"

#define THREADS	2u
#define RUNS	25u
#define MAX_RATIO 1.15

static npu_u64 best(npu_u64 a, npu_u64 b)
{
	return b && b < a ? b : a;
}

static void compare(struct guest *g, struct capture *c, const char *what, npu_u32 context,
		    bool scatter)
{
	npu_u64 sim = UINT64_MAX, device = UINT64_MAX, walks, hits;
	struct replay r;
	unsigned int i, round;
	npu_u32 state = DONE;

	replay_init(g, &r, c, context, context, scatter);
	/* A machine that is busy elsewhere spoils a round, hardly four. */
	for (round = 0; round < 4 && (!round || device > sim * MAX_RATIO); round++) {
		for (i = 0; i < RUNS && state == DONE; i++) {
			sim = best(sim, capture_again(c));
			state = job_run(g, 0, context, &r.job);
			device = best(device, get64(kernel_at(g, r.job.result), 8));
			unit_cmd(g, 0, CMD_RELEASE);
		}
	}
	walks = reg_read64(g, 0x5010);
	hits = reg_read64(g, 0x5008);
	tap_ok(state == DONE && device <= sim * MAX_RATIO,
	       "%s: %.3f ms in process, %.3f ms on the device, ratio %.3f (%llu walks, %llu hits)", what,
	       sim / 1e6, device / 1e6, (double)device / sim, (unsigned long long)walks,
	       (unsigned long long)hits);
}

int main(void)
{
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;
	struct capture c;
	struct guest g;

	if (tap_short()) {
		tap_skip("speed", "a sanitizer is at work");
		return tap_done();
	}
	config.threads = THREADS;
	guest_init(&g, &config);
	if (tap_ok(capture_init(&c, "cls", "x=1x3x48x192", THREADS), "cls in process")) {
		compare(&g, &c, "cls, pages in a row", 5, false);
		compare(&g, &c, "cls, scattered pages", 6, true);
		capture_fini(&c);
	}
	if (tap_ok(capture_init(&c, "rec", "x=1x3x48x320", THREADS), "rec in process")) {
		compare(&g, &c, "rec, scattered pages", 7, true);
		capture_fini(&c);
	}
	guest_fini(&g);
	return tap_done();
}
