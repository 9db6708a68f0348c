// SPDX-License-Identifier: MIT
/*
 * guest_bench: what bench/guest.js runs in the guest, and for comparison on the host.
 *
 *	guest_bench noop ROUNDS COUNT		empty jobs, and those of npu_floor.ko in turn
 *	guest_bench flight ROUNDS COUNT DEPTH	empty jobs, serially and DEPTH in flight
 *	guest_bench trace COUNT			empty jobs, with their times on all clocks
 *	guest_bench recover FAULT ROUNDS	from a fault to the next good job
 *	guest_bench model URI FILE ROUNDS COUNT	a job file
 *	guest_bench stream URI ROUNDS COUNT	a copy of 64 MiB
 *
 * A device other than "sim" in the last two has the host run the same in process after each round.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "guest_bench.h"

#define MAX_PORTS	64

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void print_us(const char *name, const uint64_t *values, unsigned int count)
{
	unsigned int i;

	printf("\"%s\":[", name);
	for (i = 0; i < count; i++)
		printf("%s%.1f", i ? "," : "", (double)values[i] / 1000);
	printf("]");
}

int fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "guest_bench: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	return 1;
}

/* The serial port that QEMU calls npu.host. */
static int open_host(void)
{
	char path[64], name[32];
	FILE *file;
	int i;

	for (i = 0; i < MAX_PORTS; i++) {
		snprintf(path, sizeof(path), "/sys/class/virtio-ports/vport%dp%d/name", i / 16,
			 i % 16);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (!fgets(name, sizeof(name), file))
			*name = 0;
		fclose(file);
		snprintf(path, sizeof(path), "/dev/vport%dp%d", i / 16, i % 16);
		if (!strcmp(name, "npu.host\n"))
			return open(path, O_RDWR | O_CLOEXEC);
	}
	errno = ENODEV;
	return -1;
}

/* The answer is a line "STATUS TEXT". */
int host(const char *request, char *answer)
{
	size_t len = 0;
	ssize_t got;
	int fd = open_host();

	if (fd < 0)
		return fail("the port to the host: %s", strerror(errno)), -1;
	dprintf(fd, "%s\n", request);
	do {
		got = read(fd, answer + len, HOST_LINE - 1 - len);
		len += got > 0 ? got : 0;
	} while (got > 0 && len < HOST_LINE - 1 && answer[len - 1] != '\n');
	close(fd);
	answer[len] = 0;
	answer[strcspn(answer, "\n")] = 0;
	if (strncmp(answer, "0 ", 2))
		return fail("host: %s: %s", request, answer), -1;
	memmove(answer, answer + 2, strlen(answer + 2) + 1);
	return 0;
}

static unsigned int number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || !*text || !value || value > 4096) {
		fail("'%s': a number from 1 to 4096 was expected", text);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, HOST_LINE);
	if (!strcmp(what, "noop") && argc == 4)
		return bench_noop(number(argv[2]), number(argv[3]));
	if (!strcmp(what, "flight") && argc == 5)
		return bench_flight(number(argv[2]), number(argv[3]), number(argv[4]));
	if (!strcmp(what, "trace") && argc == 3)
		return bench_trace(number(argv[2]));
	if (!strcmp(what, "recover") && argc == 4)
		return bench_recover(argv[2], number(argv[3]));
	if (!strcmp(what, "model") && argc == 6)
		return bench_model(argv[2], argv[3], number(argv[4]), number(argv[5]));
	if (!strcmp(what, "stream") && argc == 5)
		return bench_stream(argv[2], number(argv[3]), number(argv[4]));
	fail("usage: see the head of bench/guest/main.c");
	return 2;
}
