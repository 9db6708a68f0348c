// SPDX-License-Identifier: MIT
#include "ort_run.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_IN	32

bool ort_is_there(void)
{
	return getenv("NPU_ORT") != NULL;
}

static int spawn(char **argv)
{
	posix_spawn_file_actions_t actions;
	int status = -1;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, "node", &actions, NULL, argv, environ) ||
	    waitpid(pid, &status, 0) < 0)
		status = -1;
	posix_spawn_file_actions_destroy(&actions);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -1;
}

int ort_run(const char *model, const struct named_array *in, int num_in, const char *folder)
{
	char *argv[10 + 2 * MAX_IN] = { "node", "tests/ort/ort_run.js", (char *)model,
					"--out", (char *)folder, "--threads", "2" };
	char spec[MAX_IN][PATH_MAX];
	struct npu_error why;
	int n = 7;

	if (num_in > MAX_IN)
		return -1;
	for (int i = 0; i < num_in; i++) {
		snprintf(spec[i], sizeof(spec[i]), "%.200s=%.3000s/in_%.200s.npy", in[i].name,
			 folder, in[i].name);
		for (char *p = strchr(spec[i], '=') + strlen(folder) + 2; *p; p++)
			if (*p == '/')
				*p = '_';
		if (npu_npy_write(strchr(spec[i], '=') + 1, &in[i].arr, &why)) {
			fprintf(stderr, "%s\n", why.text);
			return -1;
		}
		argv[n++] = "--in";
		argv[n++] = spec[i];
	}
	return spawn(argv);
}

int ort_output(const char *folder, const char *name, struct npu_npy *out, struct npu_error *why)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.3000s/%.255s.npy", folder, name);
	for (char *p = path + strlen(folder) + 1; *p; p++)
		if (*p == '/')
			*p = '_';
	return npu_npy_read(path, out, why);
}
