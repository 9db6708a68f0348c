// SPDX-License-Identifier: MIT
/*
 * bench_read [-t threads] [-m MiB] [-n sweeps]: how fast memory can be read, which is what bounds
 * the decoding of one sequence: every thread sums up a part of a buffer that no cache holds.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS	64
#define MAX_SWEEPS	1000

typedef uint64_t vec __attribute__((vector_size(64), aligned(64)));

struct part {
	const vec *data;
	size_t num;
	vec sum;
};

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* As wide as the processor reads: more instructions would be measured, too. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void vecs_sum(vec *sum, const vec *data, size_t num)
{
	vec a = { 0 }, b = a, c = a, d = a;

	for (; num >= 4; num -= 4, data += 4) {
		a += data[0];
		b += data[1];
		c += data[2];
		d += data[3];
	}
	*sum = a + b + c + d;
}

static void *part_read(void *arg)
{
	struct part *p = arg;

	vecs_sum(&p->sum, p->data, p->num);
	return NULL;
}

/*
 * One sweep over all parts, the first by the caller: seconds. One thread is measured by what it
 * runs alone, so that nothing but memory makes a difference.
 */
static double sweep(struct part *parts, unsigned int threads)
{
	pthread_t id[MAX_THREADS];
	clockid_t clock = threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
	double start = seconds(clock);
	unsigned int i;

	for (i = 1; i < threads; i++)
		if (pthread_create(&id[i], NULL, part_read, &parts[i]))
			abort();
	part_read(&parts[0]);
	for (i = 1; i < threads; i++)
		pthread_join(id[i], NULL);
	return seconds(clock) - start;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(void *data, size_t bytes, unsigned int threads, unsigned int sweeps)
{
	struct part parts[MAX_THREADS];
	double took[MAX_SWEEPS];
	size_t num = bytes / sizeof(vec) / threads;
	unsigned int i;

	for (i = 0; i < threads; i++)
		parts[i] = (struct part){ .data = (const vec *)data + i * num, .num = num };
	for (i = 0; i < sweeps; i++)
		took[i] = sweep(parts, threads);
	qsort(took, sweeps, sizeof(*took), compare);
	printf("read, %u threads: %.2f GB/s (median of %u; best %.2f)\n", threads,
	       (double)bytes / took[sweeps / 2] / 1e9, sweeps, (double)bytes / took[0] / 1e9);
}

int main(int argc, char **argv)
{
	unsigned int threads = 0, sweeps = 9;
	size_t mib = 256, bytes;
	void *data;
	int c;

	while ((c = getopt(argc, argv, "t:m:n:")) > 0) {
		unsigned long v = optarg ? strtoul(optarg, NULL, 10) : 0;

		if (c == 't' && v && v <= MAX_THREADS)
			threads = (unsigned int)v;
		else if (c == 'm' && v && v <= 65536)
			mib = v;
		else if (c == 'n' && v && v <= MAX_SWEEPS)
			sweeps = (unsigned int)v;
		else {
			fprintf(stderr, "usage: bench_read [-t threads] [-m MiB] [-n sweeps]\n");
			return 1;
		}
	}
	bytes = mib << 20;
	data = aligned_alloc(4096, bytes);
	if (!data) {
		fprintf(stderr, "bench_read: %s\n", strerror(ENOMEM));
		return 1;
	}
	memset(data, 1, bytes);
	for (c = threads ? (int)threads : 1; c <= (threads ? (int)threads : 2); c++)
		measure(data, bytes, (unsigned int)c, sweeps);
	free(data);
	return 0;
}
