// SPDX-License-Identifier: MIT
/*
 * What npu-run prints of a device, on the stand-in for the kernel driver and in process: the
 * driver's version is the one that the driver tells, and a device that is no processor has neither
 * threads nor an instruction set of a processor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "common/file.h"
#include "common/tmp.h"
#include "npu_isa_desc.h"
#include "../libnpu/fake_drm.h"
#include "tools/npu-run/run.h"

#define JOB	"tests/data/golden-1.0-mnist.npu"

#define TEXT_OF(x)	#x
#define TEXT(x)		TEXT_OF(x)
#define ISA	"instruction set " TEXT(NPU_ISA_MAJOR) "." TEXT(NPU_ISA_MINOR)

static int run_in_child(char *const *args)
{
	struct options opt;
	struct session s = { .opt = &opt };
	int ret, argc = 0;

	while (args[argc])
		argc++;
	ret = options_parse(&opt, argc, (char **)(uintptr_t)args);
	if (!ret && opt.doctor)
		return doctor_run(&opt);
	if (!ret)
		ret = session_open(&s);
	if (!ret && opt.info)
		ret = info_print(&s);
	if (!ret && opt.bench)
		ret = inputs_fill(&s) || bench_run(&s);
	session_close(&s);
	return ret;
}

/* npu-run with @option on the device; *@out is what it printed, the caller's to free. */
static bool run(char *device, char *option, char **out)
{
	char *args[] = { "npu-run", JOB, option, "--device", device, NULL };
	const char *path = tmp_path("out");
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		int fd = !strcmp(device, "drm:fd=9") ? fake_drm_open() : -1, ret;

		if (!freopen(path, "w", stdout) || dup2(1, 2) < 0 || (fd >= 0 && dup2(fd, 9) < 0))
			_exit(99);
		ret = run_in_child(args);
		fflush(stdout);
		_exit(ret);
	}
	waitpid(pid, &status, 0);
	*out = test_read_file(path, &(size_t){ 0 });
	return WIFEXITED(status) && !WEXITSTATUS(status) && *out;
}

/* The rest of the line in which @start is; "" when there is none. */
static const char *line_from(char *text, const char *start)
{
	char *at = text ? strstr(text, start) : NULL;

	if (at)
		at[strcspn(at, "\n")] = 0;
	return at ? at : "";
}

static void test_lines(void)
{
	/* Beginning and end of the line, on the driver and in process. */
	static const struct { char *device, *option; const char *start, *end; } cases[] = {
		{ "drm:fd=9", "--info", "device: NPU v1", ISA ", SRAM 2.0 MiB" },
		{ "drm:fd=9", "--doctor", "device          drm:fd=9: NPU v1",
		  ISA ", on-chip memory 2.0 MiB" },
		{ "drm:fd=9", "--bench=2", "first run", " ms; drm:fd=9" },
		{ "sim:threads=3,simd=portable", "--info", "device: NPU v1",
		  ISA ", 3 threads, portable, SRAM 2.0 MiB" },
		{ "sim:threads=3,simd=portable", "--doctor", "device          sim",
		  ISA ", 3 threads, portable, on-chip memory 2.0 MiB" },
		{ "sim:threads=3,simd=portable", "--bench=2", "first run",
		  "simd=portable, 3 threads, portable" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *out = NULL;
		bool ok = run(cases[i].device, cases[i].option, &out);
		const char *line = line_from(out, cases[i].start);
		size_t have = strlen(line), want = strlen(cases[i].end);

		tap_ok(ok && have >= want && !strcmp(line + have - want, cases[i].end),
		       "%s on %s ends in '%s'", cases[i].option, cases[i].device, cases[i].end);
		if (!ok || have < want || strcmp(line + have - want, cases[i].end))
			tap_diag("%s", *line ? line : out ? out : "nothing");
		free(out);
	}
}

static void test_version(void)
{
	char *out = NULL;
	bool ok = run("drm:fd=9", "--doctor", &out);
	const char *line = line_from(out, "kernel driver ");

	tap_ok(ok && !strcmp(line, "kernel driver   npu 1.0.0"), "--doctor: '%s'", line);
	free(out);
	ok = run("sim", "--doctor", &out);
	line = line_from(out, "kernel driver ");
	tap_ok(ok && *line && !strstr(line, "npu 1."), "in process no version of it: '%s'", line);
	free(out);
}

int main(void)
{
	test_lines();
	test_version();
	return tap_done();
}
