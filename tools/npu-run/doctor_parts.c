// SPDX-License-Identifier: MIT
/* --doctor: the parts that are software of this tree, and the machine below them. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/jobfile.h"
#include "core/probe.h"
#include "doctor.h"
#include "npu_host.h"
#include "npu_isa_desc.h"

#define LIBRARY	"libnpu.so.0"

/* ---- software -------------------------------------------------------------------------------- */

void doctor_library(struct doctor *d)
{
	/* Linked into npu-run, so that the two always fit. */
	doctor_say(d, STATE_GOOD, "libnpu", NULL, "%s, interface %u.%u", npu_version(),
		   NPU_ABI_MAJOR, NPU_ABI_MINOR);
}

/*
 * The library that a program would get which was built against these headers. npu-run has one of
 * its own, so this is about others.
 */
void doctor_shared_library(struct doctor *d)
{
	void *lib = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
	int (*check)(unsigned int major, unsigned int minor, struct npu_error *err);
	const char *(*version)(void);
	struct npu_error err = { 0 };

	if (!lib) {
		doctor_say(d, STATE_NONE, LIBRARY, NULL,
			   "not in the loader's path (only programs that link to it need it)");
		return;
	}
	*(void **)&check = dlsym(lib, "npu_abi_check");
	*(void **)&version = dlsym(lib, "npu_version");
	if (!check || !version)
		doctor_say(d, STATE_WRONG, LIBRARY,
			   "remove it from the loader's path, or install libnpu (make install) before it",
			   "the loader finds a library of that name that is not libnpu");
	else if (check(NPU_ABI_MAJOR, NPU_ABI_MINOR, &err))
		doctor_say(d, STATE_WRONG, LIBRARY,
			   "install the library of these tools (make install), or put its folder first in LD_LIBRARY_PATH",
			   "the loader finds libnpu %s, which is too old for programs built with the headers of %s: %s",
			   version(), NPU_VERSION, err.text);
	else
		doctor_say(d, STATE_GOOD, LIBRARY, NULL, "%s, interface %u.%u or newer", version(),
			   NPU_ABI_MAJOR, NPU_ABI_MINOR);
	dlclose(lib);
}

void doctor_compiler(struct doctor *d)
{
	struct npu_op_support s;
	unsigned int n = 0, npu = 0, host = 0;

	for (unsigned int i = 0; npu_compile_op_support(i, &s); i++) {
		n += !*s.domain;
		npu += !*s.domain && s.supported;
		host += !*s.domain && !s.supported && *s.host;
	}
	doctor_say(d, STATE_GOOD, "compiler", NULL,
		   "%s (in libnpu), of %u operators of ai.onnx %u on the NPU, %u on the host",
		   npu_version(), n, npu, host);
}

void doctor_instructions(struct doctor *d)
{
	unsigned int n = 0;

	for (unsigned int op = 0; op < 256; op++)
		n += npu_op_desc(op) != NULL;
	doctor_say(d, STATE_GOOD, "instructions", NULL, "%u.%u, %u opcodes", NPU_ISA_MAJOR,
		   NPU_ISA_MINOR, n);
}

void doctor_formats(struct doctor *d)
{
	doctor_say(d, STATE_GOOD, "job files", NULL, "formats %u.0 to %u.%u", NPU_JOBFILE_MAJOR,
		   NPU_JOBFILE_MAJOR, NPU_JOBFILE_MINOR);
}

void doctor_host_ops(struct doctor *d)
{
	unsigned int n = 0;

	while (npu_host_op(n))
		n++;
	doctor_say(d, STATE_GOOD, "host operators", NULL, "%u", n);
}

/* ---- the machine ----------------------------------------------------------------------------- */

static bool exists(const struct doctor *d, const char *path)
{
	char full[4096];

	snprintf(full, sizeof(full), "%.3000s%s", d->root, path);
	return !access(full, F_OK);
}

/* Is there a node that the driver of this NPU made? */
static bool has_node(const struct doctor *d)
{
	char driver[64];

	for (unsigned int n = 0; n < NPU_PROBE_NODES; n++) {
		if (!npu_probe_node_exists(d->root, n))
			continue;
		npu_probe_driver(d->root, n, driver, sizeof(driver));
		if (!strcmp(driver, "npu"))
			return true;
	}
	return false;
}

void doctor_driver(struct doctor *d)
{
	/* Its version it tells through a device; one that is built in may not be in /sys/module. */
	if (*d->info.driver)
		doctor_say(d, STATE_GOOD, "kernel driver", NULL, "npu %s", d->info.driver);
	else if (!exists(d, "/sys/module/npu"))
		doctor_say(d, STATE_NONE, "kernel driver", NULL,
			   "not loaded (there is no /sys/module/npu)");
	else if (!has_node(d))
		doctor_say(d, STATE_WRONG, "kernel driver",
			   "let the kernel look for it again (echo 1 > /sys/bus/pci/rescan; then dmesg says why not), or unload the module (rmmod npu)",
			   "npu is loaded, but it has no device in /dev/accel");
	else
		doctor_say(d, STATE_GOOD, "kernel driver", NULL,
			   "npu is loaded (its version is known when the device is one of it)");
}

void doctor_firmware(struct doctor *d)
{
	static const char file[] = "/lib/firmware/npu/npu_fw.bin";

	if (*d->info.firmware)
		doctor_say(d, STATE_GOOD, "firmware", NULL, "%s", d->info.firmware);
	else if (!exists(d, "/sys/module/npu"))
		doctor_say(d, STATE_NONE, "firmware", NULL,
			   "not loaded (there is no driver that would do it; %s is %s)", file,
			   exists(d, file) ? "there" : "not there");
	else
		doctor_say(d, STATE_NONE, "firmware", NULL, *d->info.driver ?
			   "the driver does not tell its version" :
			   "its version is known when the device is one of the driver");
}

void doctor_nodes(struct doctor *d)
{
	struct npu_device_candidate c;
	char advice[512], driver[64];
	unsigned int n, seen = 0;

	for (n = 0; n < NPU_PROBE_NODES; n++) {
		if (!npu_probe_node_exists(d->root, n))
			continue;
		seen++;
		c = (struct npu_device_candidate)NPU_INIT(c);
		npu_probe_node(d->root, n, &c);
		snprintf(advice, sizeof(advice),
			 "%.200s (usermod -aG GROUP USER)", strstr(c.reason, "add the user") ?
			 strstr(c.reason, "add the user") : "add the user to its group");
		npu_probe_driver(d->root, n, driver, sizeof(driver));
		/* Accelerators of other makers are none of our business. */
		if (c.status == -EACCES && (!strcmp(driver, "npu") || !strcmp(driver, "unknown")))
			doctor_say(d, STATE_WRONG, "/dev/accel", advice, "%s: %s", c.name,
				   c.reason);
		else
			doctor_say(d, STATE_GOOD, "/dev/accel", NULL, "%s: %s%s%s", c.uri, c.name,
				   c.status ? "; " : "", c.reason);
	}
	if (!seen)
		doctor_say(d, STATE_NONE, "/dev/accel", NULL, "%s",
			   exists(d, "/dev/accel") ? "the folder is empty" :
						     "there is no such folder: no accelerator has a driver");
}

void doctor_device(struct doctor *d)
{
	struct npu_device_options opt = { .size = sizeof(opt), .threads = d->opt->threads };
	struct npu_error err = { 0 };
	char sram[32], engine[64];

	if (npu_device_open(d->opt->device, &opt, &d->dev, &err) ||
	    npu_device_info(d->dev, &d->info, &err)) {
		doctor_say(d, STATE_WRONG, "device",
			   "leave out --device, or give one that 'npu-run --devices' calls usable",
			   "%s", err.text);
		return;
	}
	doctor_say(d, STATE_GOOD, "device", NULL,
		   "%s: %s, instruction set %u.%u%s, on-chip memory %s", d->info.uri, d->info.name,
		   d->info.isa_major, d->info.isa_minor, engine_text(&d->info, engine),
		   bytes_text(d->info.sram_size, sram));
}

/* What kernels may use, as /proc/cpuinfo spells it. */
static const char *const features[] = {
	"avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512vl", "avx512dq",
	"avx512_vnni", "asimd", "asimddp",
};

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; (p = strstr(p, word)); p += n)
		if ((p == text || p[-1] == ' ' || p[-1] == '\t') &&
		    (!p[n] || p[n] == ' ' || p[n] == '\n'))
			return true;
	return false;
}

void doctor_processor(struct doctor *d)
{
	char line[8192], found[512] = "", path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%.3000s/proc/cpuinfo", d->root);
	f = fopen(path, "re");
	while (f && !*found && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "flags", 5) && strncmp(line, "Features", 8))
			continue;
		for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
			if (has_word(line, features[i]))
				snprintf(found + strlen(found), sizeof(found) - strlen(found),
					 " %s", features[i]);
	}
	if (f)
		fclose(f);
	doctor_say(d, STATE_GOOD, "processor", NULL, "%s; kernels in use: %s",
		   *found ? found + 1 : "no vector features that kernels know",
		   *d->info.simd ? d->info.simd : "none");
}
