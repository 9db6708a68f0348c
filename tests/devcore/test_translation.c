// SPDX-License-Identifier: MIT
/*
 * A model's job through the MMU beside the same job in process, on one thread: what is added is
 * translation, which walks tables once a page and copies nothing. How long both take is told, but
 * no test: the sum over instructions of the best time of each, from the records of both, as others
 * use the machine, too. Small pages all over the place are slower for a reason that has nothing to
 * do with the device: the host reads them so. The driver gives large buffers large pages.
 */
#include <string.h>
#include "../tap.h"
#include "capture.h"
#include "small.h"

#define RUNS		12u
#define HITS_PER_WALK	16u	/* at least: each run but the first finds its pages known */
#define MAX_INSNS	4096u
#define TRACE_VA	0x100000000000ull
#define TRACE_BYTES	(16u + 40u * MAX_INSNS)

static npu_u64 sim[MAX_INSNS], device[MAX_INSNS];

static void best(npu_u64 *a, npu_u64 b)
{
	if (b < *a)
		*a = b;
}

static npu_u32 run_sim(struct capture *c)
{
	struct npu_submit_options options = NPU_INIT(options);
	const struct npu_insn_profile *p;
	struct npu_fence *fence = NULL;
	struct npu_error err;
	size_t n = 0, i;

	options.flags = NPU_SUBMIT_PROFILE;
	if (!npu_queue_submit(c->queue, c->run, &options, &fence, &err) &&
	    !npu_fence_wait(fence, NPU_FOREVER, &err) && !npu_fence_profile(fence, &p, &n))
		for (i = 0; i < n && i < MAX_INSNS; i++)
			best(&sim[i], p[i].ns);
	npu_fence_put(fence);
	return (npu_u32)n;
}

static bool run_device(struct guest *g, struct replay *r, npu_u32 n)
{
	unsigned char rec[40];
	npu_u32 i;

	if (job_run(g, 0, r->queue, &r->job) != DONE)
		return false;
	unit_cmd(g, 0, CMD_RELEASE);
	for (i = 0; i < n && i < MAX_INSNS; i++) {
		guest_copy(g, r->context, TRACE_VA + 16 + 40 * i, rec, 40, false);
		best(&device[i], get64(rec, 32));
	}
	return true;
}

static double sum_ms(const npu_u64 *ns, npu_u32 n)
{
	npu_u64 sum = 0;
	npu_u32 i;

	for (i = 0; i < n; i++)
		sum += ns[i];
	return (double)sum / 1e6;
}

static void compare(struct guest *g, struct capture *c, const char *what, npu_u32 context,
		    enum replay_pages pages)
{
	npu_u64 walks = reg_read64(g, 0x5010), hits = reg_read64(g, 0x5008);
	struct replay r;
	unsigned int i;
	npu_u32 n = 0;
	bool ok = true;

	memset(sim, 0xff, sizeof(sim));
	memset(device, 0xff, sizeof(device));
	replay_init(g, &r, c, context, context, pages);
	guest_map(g, context, TRACE_VA, TRACE_BYTES, P_R | P_W, false);
	put32(kernel_at(g, r.job.desc), 28, 1);
	put64(kernel_at(g, r.job.desc), 32, TRACE_VA);
	put32(kernel_at(g, r.job.desc), 40, TRACE_BYTES);
	for (i = 0; i < RUNS && ok; i++) {
		n = run_sim(c);
		ok = n && n <= MAX_INSNS && run_device(g, &r, n);
	}
	walks = reg_read64(g, 0x5010) - walks;
	hits = reg_read64(g, 0x5008) - hits;
	tap_ok(ok, "%s: %u instructions, %u runs", what, n, RUNS);
	tap_ok(walks && hits >= HITS_PER_WALK * walks, "%s: %llu walks, %llu hits", what,
	       (unsigned long long)walks, (unsigned long long)hits);
	tap_ok(!reg_read64(g, 0x5058), "%s: no byte is copied", what);
	if (ok)
		tap_diag("%.3f ms in process, %.3f ms on the device, ratio %.3f", sum_ms(sim, n),
			 sum_ms(device, n), sum_ms(device, n) / sum_ms(sim, n));
}

int main(void)
{
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;
	struct capture c;
	struct guest g;

	if (tap_short()) {
		tap_skip("translation", "a sanitizer is at work");
		return tap_done();
	}
	config.threads = 1;
	guest_init(&g, &config);
	if (tap_ok(capture_init(&c, "cls", "x=1x3x48x192", 1), "cls in process")) {
		compare(&g, &c, "cls, pages in a row", 5, PAGES_ROW);
		compare(&g, &c, "cls, scattered pages", 6, PAGES_SCATTERED);
		capture_fini(&c);
	}
	if (tap_ok(capture_init(&c, "rec", "x=1x3x48x320", 1), "rec in process")) {
		compare(&g, &c, "rec, pages of the driver's", 7, PAGES_DRIVER);
		capture_fini(&c);
	}
	guest_fini(&g);
	return tap_done();
}
