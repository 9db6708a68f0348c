// SPDX-License-Identifier: MIT
/*
 * The figures of npu-cam's summary: exact of a few frames, and of a stream that does not end as
 * good without more memory.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/file.h"
#include "common/tmp.h"
#include "tap.h"
#include "tools/npu-cam/cam.h"

/* A frame whose job took @us from when it was there. */
static void add(struct stats *stats, unsigned int us)
{
	const struct stamps at = { .there = 5000, .dequeued = 5000, .given = 5000,
				   .done = 5000 + 1000ull * us };

	stats_add(stats, &at);
}

/* What the summary says of "total"; -1: nothing. */
static bool summary(struct stats *stats, double *median, double *p90, double *max)
{
	static const struct options opt = { .camera = "" };
	struct stream *s = calloc(1, sizeof(*s));
	const char *path = tmp_path("summary");
	int out = dup(STDOUT_FILENO);
	char *text, *total;
	size_t size;
	bool ok;

	s->opt = &opt;
	s->stats = stats;
	fflush(stdout);
	ok = freopen(path, "w", stdout) && !report_summary(s) && !fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	free(s);
	text = test_read_file(path, &size);
	total = text ? strstr(text, "\"total\":{\"median\":") : NULL;
	ok = ok && total &&
	     sscanf(total, "\"total\":{\"median\":%lf,\"p90\":%lf,\"max\":%lf}", median, p90,
		    max) == 3;
	free(text);
	return ok;
}

static void check_few(void)
{
	static const unsigned int us[] = { 7, 3, 11, 5, 2, 13, 1, 9, 8, 4 };
	struct stats *stats = stats_new();
	double median = 0, p90 = 0, max = 0;
	unsigned int i;
	bool ok;

	for (i = 0; i < 10; i++)
		add(stats, us[i]);
	ok = summary(stats, &median, &p90, &max);
	tap_ok(ok && median == 7 && p90 == 13 && max == 13, "ten frames: %g, %g, %g", median, p90,
	       max);
	stats_free(stats);
}

static size_t heap(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* 0 .. 999 us in an order that has no period of two, and one frame that took long. */
static void check_many(void)
{
	struct stats *stats = stats_new();
	double median = 0, p90 = 0, max = 0;
	size_t before = heap();
	unsigned int i, x = 1;
	bool ok;

	for (i = 0; i < 3000000; i++) {
		x = x * 1664525u + 1013904223u;
		add(stats, i == 2222223 ? 5000 : (x >> 16) % 1000);
	}
	tap_ok(heap() == before, "three million frames take no more memory than one");
	ok = summary(stats, &median, &p90, &max);
	tap_ok(ok && median > 480 && median < 520 && p90 > 880 && p90 < 920 && max == 5000,
	       "their figures: %g, %g, %g", median, p90, max);
	stats_free(stats);
}

int main(void)
{
	check_few();
	check_many();
	return tap_done();
}
