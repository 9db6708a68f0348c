// SPDX-License-Identifier: MIT
/* npu-vdev: the virtual NPU for a QEMU to attach to, and the client of its control socket. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/vnpu/device/vdev_counters.h"
#include "tools/vnpu/device/vdev_serve.h"

static const char usage[] =
"usage: npu-vdev --socket PATH [options]\n"
"       npu-vdev --ctl PATH COMMAND [ARGUMENT...]\n"
"       npu-vdev --list faults|counters\n"
"\n"
"A virtual NPU. A QEMU that has vfio-user-pci (10.1 or newer) attaches to it with\n"
"  -device '{\"driver\":\"vfio-user-pci\",\"socket\":{\"type\":\"unix\",\"path\":\"PATH\"}}'\n"
"and guest memory that is shared: -object memory-backend-memfd,id=mem,size=1G,share=on and\n"
"-machine memory-backend=mem. Ends on SIGTERM and SIGINT.\n"
"\n"
"  -s, --socket PATH      where QEMU connects\n"
"  -c, --control PATH     a control socket: faults, counters ('npu-vdev --ctl PATH help')\n"
"  -e, --engines N        default 1\n"
"  -t, --threads N        CPU threads of all engines together; default: one per CPU\n"
"      --mac RxC          size of the MAC array that the device states, default 64x64\n"
"      --sram SIZE        on-chip memory of an engine, default 2M; K, M and G are understood\n"
"      --queues N         default 64\n"
"      --simd NAME        instruction set of the host: auto, portable, avx2, avx512, ...\n"
"      --fw-gdb PORT      a gdb stub for the firmware's processor on this port of 127.0.0.1\n"
"      --irq-gap US       at least so long between two interrupts, default 0\n"
"      --echo             answer each doorbell at once, with no processor and no engines behind\n"
"      --no-supervisor    in one process: a crash ends it, for debuggers\n"
"      --log FILE         default: standard error; 'none'\n"
"\n"
"      --ctl PATH COMMAND send a command to a running npu-vdev and print the answer, a line of\n"
"                         JSON; exit status 1 when it was refused\n"
"      --list WHAT        what the control socket arms ('faults') or shows ('counters')\n"
"  -h, --help             this text\n"
"  -V, --version          version\n";

enum {
	OPT_MAC = 256, OPT_SRAM, OPT_QUEUES, OPT_SIMD, OPT_GDB, OPT_GAP, OPT_ECHO, OPT_ONE, OPT_LOG,
	OPT_CTL, OPT_LIST
};

static const struct option longs[] = {
	{ "socket", required_argument, NULL, 's' },
	{ "control", required_argument, NULL, 'c' },
	{ "engines", required_argument, NULL, 'e' },
	{ "threads", required_argument, NULL, 't' },
	{ "mac", required_argument, NULL, OPT_MAC },
	{ "sram", required_argument, NULL, OPT_SRAM },
	{ "queues", required_argument, NULL, OPT_QUEUES },
	{ "simd", required_argument, NULL, OPT_SIMD },
	{ "fw-gdb", required_argument, NULL, OPT_GDB },
	{ "irq-gap", required_argument, NULL, OPT_GAP },
	{ "echo", no_argument, NULL, OPT_ECHO },
	{ "no-supervisor", no_argument, NULL, OPT_ONE },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "ctl", required_argument, NULL, OPT_CTL },
	{ "list", required_argument, NULL, OPT_LIST },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

struct options {
	struct npu_vdev_options vdev;
	const char *ctl;
	bool one_process;
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
	v = strtoull(text, end, 0);
	*out = v;
	return !errno && v <= UINT32_MAX;
}

static int number(const char *option, const char *text, npu_u32 *out)
{
	char *end;

	if (number_parse(text, &end, out) && !*end)
		return 0;
	return fail("--%s: '%s' is not a number", option, text);
}

static int size_parse(const char *text, npu_u32 *out)
{
	static const char units[] = "KMG";
	const char *unit;
	npu_u64 v;
	char *end;

	if (!number_parse(text, &end, out))
		return fail("--sram: '%s' is not a size", text, NULL);
	v = *out;
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		v <<= 10 * (unit - units + 1);
		end++;
	}
	*out = v;
	if (*end || v > UINT32_MAX)
		return fail("--sram: '%s' is not a size below 4G", text, NULL);
	return 0;
}

static int mac_parse(const char *text, struct npu_vdev_config *c)
{
	char *end;

	if (number_parse(text, &end, &c->mac_rows) && *end == 'x' &&
	    number_parse(end + 1, &end, &c->mac_cols) && !*end)
		return 0;
	return fail("--mac: '%s' is not of the form 64x64", text, NULL);
}

static int simd_parse(const char *text, struct npu_vdev_config *c)
{
	npu_u32 i;

	for (i = 0; npu_simd_name(i); i++) {
		if (strcmp(npu_simd_name(i), text))
			continue;
		c->simd = i;
		return 0;
	}
	return fail("--simd: '%s' is not an instruction set that is known", text, NULL);
}

static int log_open(const char *path, int *fd)
{
	if (!strcmp(path, "none")) {
		*fd = -1;
		return 0;
	}
	*fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	return *fd < 0 ? fail("--log: %s: %s", path, strerror(errno)) : 0;
}

/* The tables of Documentation/virtual-device.md. */
static int list_print(const char *what)
{
#define X(name, kind, text, what) \
	printf("| `%s` | %s | %s |\n", text, #kind[0] == 'F' ? "fault" : "mutant", what);
	if (!strcmp(what, "faults")) {
		puts("| name | kind | what it does |\n| --- | --- | --- |");
		NPU_VDEV_FAULTS(X)
		return -1;
	}
#undef X
#define X(name, text, what) printf("| `%s` | %s |\n", text, what);
	if (!strcmp(what, "counters")) {
		puts("| name | what it counts |\n| --- | --- |");
		VDEV_COUNTERS(X)
		return -1;
	}
#undef X
	return fail("--list: '%s' is neither 'faults' nor 'counters'", what, NULL);
}

/* 0; 2: a wrong argument, it has been said; -1: done. */
static int option_apply(struct options *o, int c)
{
	struct npu_vdev_config *config = &o->vdev.config;

	switch (c) {
	case 's':
		o->vdev.socket = optarg;
		return 0;
	case 'c':
		o->vdev.control = optarg;
		return 0;
	case 'e':
		return number("engines", optarg, &config->engines);
	case 't':
		return number("threads", optarg, &config->threads);
	case OPT_MAC:
		return mac_parse(optarg, config);
	case OPT_SRAM:
		return size_parse(optarg, &config->sram_size);
	case OPT_QUEUES:
		return number("queues", optarg, &config->queues);
	case OPT_SIMD:
		return simd_parse(optarg, config);
	case OPT_GDB:
		return number("fw-gdb", optarg, &config->fw_gdb_port);
	case OPT_GAP:
		return number("irq-gap", optarg, &config->irq_gap_us);
	case OPT_ECHO:
		config->echo = true;
		return 0;
	case OPT_ONE:
		o->one_process = true;
		return 0;
	case OPT_LOG:
		return log_open(optarg, &o->vdev.log_fd);
	case OPT_CTL:
		o->ctl = optarg;
		return 0;
	case OPT_LIST:
		return list_print(optarg);
	case 'h':
		fputs(usage, stdout);
		return -1;
	case 'V':
		puts("npu-vdev " NPU_VERSION);
		return -1;
	}
	fputs("npu-vdev: see 'npu-vdev --help'\n", stderr);
	return 2;
}

/* As option_apply(). The words of a command are left to argv[optind]. */
static int options_parse(struct options *o, int argc, char **argv)
{
	int c, ret;

	*o = (struct options){ .vdev = { .config = NPU_VDEV_CONFIG_DEFAULT,
					 .log_fd = STDERR_FILENO } };
	while ((c = getopt_long(argc, argv, "+s:c:e:t:hV", longs, NULL)) >= 0) {
		ret = option_apply(o, c);
		if (ret)
			return ret;
	}
	if (o->ctl && optind == argc)
		return fail("--ctl %s: which command? 'help' lists them", o->ctl, NULL);
	if (!o->ctl && optind < argc)
		return fail("what is '%s'? Nothing but options was expected", argv[optind], NULL);
	if (!o->ctl && !o->vdev.socket)
		return fail("--socket PATH is missing; see 'npu-vdev --help'", NULL, NULL);
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
