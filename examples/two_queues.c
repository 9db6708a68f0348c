// SPDX-License-Identifier: MIT
/*
 * Run a job file from two threads on two queues:
 *	cc two_queues.c $(pkg-config --cflags --libs libnpu) -pthread -o two_queues
 *	./two_queues model.npu
 */
#include <npu.h>
#include <pthread.h>
#include <stdio.h>

struct worker {
	struct npu_device *dev;
	struct npu_job *job;
	int id;
};

static void *work(void *arg)
{
	struct npu_tensor_info t = NPU_INIT(t);
	struct npu_queue *queue = NULL;
	struct npu_run *run = NULL;
	struct npu_fence *fence[8] = { NULL };
	struct worker *w = arg;
	struct npu_error err;
	int i, n = 0;

	if (npu_queue_create(w->dev, NULL, &queue, &err))
		goto out;
	for (n = 0; n < 8; n++) {
		/* One run per submit in flight; it may be dropped once submitted. */
		if (npu_run_create(w->job, &run, &err))
			goto out;
		/*
		 * The largest shapes; inputs begin as zeros. npu_run_write() fills them,
		 * npu_run_bind() shares memory.
		 */
		for (i = 0; !npu_job_tensor(w->job, 0, i, &t); i++)
			if (t.role == NPU_TENSOR_INPUT &&
			    npu_run_set_shape(run, t.name, t.rank, t.max_dim, &err))
				goto out;
		if (npu_queue_submit(queue, run, NULL, &fence[n], &err))
			goto out;
		npu_run_destroy(run);
		run = NULL;
	}
	for (i = 0; i < n; i++)
		if (npu_fence_wait(fence[i], npu_deadline_after(10000000000u), &err))
			goto out;
	printf("thread %d: %d runs done\n", w->id, n);
	w = NULL;
out:
	if (w)
		fprintf(stderr, "thread %d: %s\n", w->id, err.text);
	for (i = 0; i < 8; i++)
		npu_fence_put(fence[i]);
	npu_run_destroy(run);
	npu_queue_destroy(queue);
	return w;
}

int main(int argc, char **argv)
{
	struct worker w[2] = { { .id = 0 }, { .id = 1 } };
	struct npu_device *dev = NULL;
	struct npu_job *job = NULL;
	pthread_t thread[2];
	struct npu_error err;
	void *failed[2];
	int i;

	if (npu_device_open(NULL, NULL, &dev, &err) ||
	    npu_job_load(dev, argc > 1 ? argv[1] : "model.npu", 0, &job, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (i = 0; i < 2; i++) {
		w[i].dev = dev;
		w[i].job = job;
		pthread_create(&thread[i], NULL, work, &w[i]);
	}
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], &failed[i]);
	npu_job_unload(job);
	npu_device_close(dev);
	return failed[0] || failed[1];
}
