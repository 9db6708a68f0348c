// SPDX-License-Identifier: MIT
/* npu-vdev: the virtual NPU for a QEMU to attach to, and the client of its control socket. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/common/option_table.h"
#include "tools/vnpu/device/vdev_counters.h"
#include "tools/vnpu/device/vdev_serve.h"

struct options {
	struct npu_vdev_options vdev;
	const char *ctl;
	bool one_process;
};

#define OPTIONS	struct options

static option_take_fn take_mac, take_sram, take_simd, take_log, take_list;

/* A member of the device's configuration, with its range. */
#define DEVICE_NUMBER(letter, name, arg, field, help) \
	OPT_NUMBER(letter, name, arg, vdev.config.field, NPU_VDEV_MIN_##field, \
		   NPU_VDEV_MAX_##field, help)

static const struct option_row rows[] = {
	OPT_TEXT('s', "socket", "PATH", vdev.socket, "where QEMU connects"),
	OPT_TEXT('c', "control", "PATH", vdev.control,
		 "a control socket: faults, counters ('npu-vdev --ctl PATH help')"),
	DEVICE_NUMBER('e', "engines", "N", engines, "default 1"),
	DEVICE_NUMBER('t', "threads", "N", threads,
		      "CPU threads that work for an engine: its own and N - 1 that all\n"
		      "engines share; default: one per CPU"),
	OPT_CALL(0, "mac", "RxC", take_mac,
		 "size of the MAC array that the device states, default 64x64"),
	OPT_CALL(0, "sram", "SIZE", take_sram,
		 "on-chip memory of an engine, default 2M; K, M and G are understood"),
	DEVICE_NUMBER(0, "queues", "N", queues, "default 64"),
	OPT_CALL(0, "simd", "NAME", take_simd,
		 "instruction set of the host: auto, portable, avx2, avx512, ..."),
	DEVICE_NUMBER(0, "fw-gdb", "PORT", fw_gdb_port,
		      "a gdb stub for the firmware's processor on this port of 127.0.0.1"),
	DEVICE_NUMBER(0, "irq-gap", "US", irq_gap_us,
		      "at least so long between two interrupts, default 0"),
	OPT_FLAG(0, "echo", vdev.config.echo,
		 "answer each doorbell at once, with no processor and no engines behind"),
	OPT_FLAG(0, "no-supervisor", one_process,
		 "in one process: a crash ends it, for debuggers"),
	OPT_CALL(0, "log", "FILE", take_log, "default: standard error; 'none'"),
	OPT_LINE(""),
	OPT_TEXT(0, "ctl", "PATH", ctl,
		 "send the command behind it to a running npu-vdev and print the answer, a line\n"
		 "of JSON; exit status 1 when it was refused"),
	OPT_CALL(0, "list", "WHAT", take_list,
		 "what the control socket arms ('faults') or shows ('counters')"),
};

static const struct option_table table = {
	.program = "npu-vdev",
	.head = "usage: npu-vdev --socket PATH [options]\n"
		"       npu-vdev --ctl PATH COMMAND [ARGUMENT...]\n"
		"       npu-vdev --list faults|counters\n"
		"\n"
		"A virtual NPU. A QEMU that has vfio-user-pci (10.1 or newer) attaches to it with\n"
		"  -device '{\"driver\":\"vfio-user-pci\",\"socket\":{\"type\":\"unix\",\"path\":\"PATH\"}}'\n"
		"and guest memory that is shared: -object memory-backend-memfd,id=mem,size=1G,share=on\n"
		"and -machine memory-backend=mem. Ends on SIGTERM and SIGINT.\n"
		"\n",
	.row = rows,
	.num = sizeof(rows) / sizeof(rows[0]),
	.column = 25,
	.words_end = true,
};

static int fail(const char *fmt, const char *a, const char *b)
{
	fputs("npu-vdev: ", stderr);
	fprintf(stderr, fmt, a, b);
	fputc('\n', stderr);
	return 2;
}

/* A whole number with nothing behind it; false when it is none, or not below 2^32. */
static bool number_parse(const char *text, char **end, npu_u32 *out)
{
	unsigned long long v;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoull(text, end, 10);
	*out = v;
	return !errno && v <= UINT32_MAX;
}

static int take_sram(void *options, const char *name, char *text)
{
	npu_u32 *out = &((struct options *)options)->vdev.config.sram_size;
	static const char units[] = "KMG";
	const char *unit;
	npu_u64 v;
	char *end;

	if (!number_parse(text, &end, out))
		return option_refuse(&table, name, text, "a size");
	v = *out;
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		v <<= 10 * (unit - units + 1);
		end++;
	}
	*out = v;
	return *end || v > UINT32_MAX ? option_refuse(&table, name, text, "a size below 4G") : 0;
}

static int take_mac(void *options, const char *name, char *text)
{
	struct npu_vdev_config *c = &((struct options *)options)->vdev.config;
	char *end;

	if (number_parse(text, &end, &c->mac_rows) && *end == 'x' &&
	    number_parse(end + 1, &end, &c->mac_cols) && !*end)
		return 0;
	return option_refuse(&table, name, text, "two numbers as in 64x64");
}

static int take_simd(void *options, const char *name, char *text)
{
	struct npu_vdev_config *c = &((struct options *)options)->vdev.config;
	npu_u32 i;

	for (i = 0; npu_simd_name(i); i++) {
		if (strcmp(npu_simd_name(i), text))
			continue;
		c->simd = i;
		return 0;
	}
	return option_refuse(&table, name, text, "an instruction set that is known");
}

static int take_log(void *options, const char *name, char *path)
{
	int *fd = &((struct options *)options)->vdev.log_fd;

	if (!strcmp(path, "none")) {
		*fd = -1;
		return 0;
	}
	*fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (*fd >= 0)
		return 0;
	fail("--log: %s: %s", path, strerror(errno));
	return -EINVAL;
}

/* The tables of Documentation/virtual-device.md. */
static int take_list(void *options, const char *name, char *what)
{
#define X(name, kind, text, what) \
	printf("| `%s` | %s | %s |\n", text, #kind[0] == 'F' ? "fault" : "mutant", what);
	if (!strcmp(what, "faults")) {
		puts("| name | kind | what it does |\n| --- | --- | --- |");
		NPU_VDEV_FAULTS(X)
		return OPTIONS_DONE;
	}
#undef X
#define X(name, text, what) printf("| `%s` | %s |\n", text, what);
	if (!strcmp(what, "counters")) {
		puts("| name | what it counts |\n| --- | --- |");
		VDEV_COUNTERS(X)
		return OPTIONS_DONE;
	}
#undef X
	return option_refuse(&table, name, what, "faults or counters");
}

/*
 * 0; 2: a wrong argument, it has been said; -1: done. The words of a command are left to
 * argv[optind].
 */
static int options_parse(struct options *o, int argc, char **argv)
{
	bool seen[sizeof(rows) / sizeof(rows[0])] = { false };
	char why[128];
	int ret;

	*o = (struct options){ .vdev = { .config = NPU_VDEV_CONFIG_DEFAULT,
					 .log_fd = STDERR_FILENO } };
	ret = options_take(&table, o, argc, argv, seen);
	if (ret)
		return ret < 0 ? 2 : -1;
	if (o->ctl && optind == argc)
		return fail("--ctl %s: which command? 'help' lists them", o->ctl, NULL);
	if (!o->ctl && optind < argc)
		return fail("what is '%s'? Nothing but options was expected", argv[optind], NULL);
	if (!o->ctl && !o->vdev.socket)
		return fail("--socket PATH is missing; see 'npu-vdev --help'", NULL, NULL);
	if (!o->ctl && npu_vdev_config_check(&o->vdev.config, why, sizeof(why)))
		return fail("%s", why, NULL);
	return 0;
}

static int control(const char *path, char **words)
{
	char line[256] = "", why[256];
	size_t n = 0;
	int ret;

	for (; *words; words++) {
		n += snprintf(line + n, sizeof(line) - n, "%s%s", n ? " " : "", *words);
		if (n >= sizeof(line))
			return fail("--ctl %s: the command is too long", path, NULL);
	}
	ret = npu_vdev_control(path, line, stdout, why, sizeof(why));
	if (ret < 0)
		return fail("%s", why, NULL);
	return ret;
}

static struct npu_vdev *device;

static void on_signal(int number)
{
	npu_vdev_stop(device);
}

static int serve(const struct options *o)
{
	struct sigaction sa = { .sa_handler = on_signal };
	char why[256];
	int ret = npu_vdev_open(&o->vdev, NULL, &device, why, sizeof(why));

	if (ret) {
		fail("%s", why, NULL);
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	ret = o->one_process ? npu_vdev_run(device, why, sizeof(why)) :
			       npu_vdev_supervise(device, why, sizeof(why));
	npu_vdev_close(device);
	if (ret)
		fail("%s", why, NULL);
	return ret ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct options o;
	int ret = options_parse(&o, argc, argv);

	if (ret)
		return ret < 0 ? 0 : ret;
	return o.ctl ? control(o.ctl, argv + optind) : serve(&o);
}
