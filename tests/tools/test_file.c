// SPDX-License-Identifier: MIT
/* Writing files: replaced as a whole, links and devices left what they are. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/tmp.h"
#include "core/jobfile.h"
#include "tap.h"
#include "tools/common/file.h"

static int holds(const char *path, const char *text)
{
	struct npu_error why;
	uint8_t *data;
	size_t len;
	int same;

	if (npu_file_read(path, 1000, &data, &len, &why))
		return 0;
	same = len == strlen(text) && !memcmp(data, text, len);
	free(data);
	return same;
}

static void test_link(void)
{
	struct npu_error why;
	struct stat st;

	tap_ok(!npu_file_write(tmp_path("file"), "old", 3, &why) && holds(tmp_path("file"), "old"),
	       "a new file");
	tap_ok(!symlink("file", tmp_path("link")), "a link to it");
	tap_ok(!npu_file_write(tmp_path("link"), "newer", 5, &why), "write through the link");
	tap_ok(!lstat(tmp_path("link"), &st) && S_ISLNK(st.st_mode), "the link is still a link");
	tap_ok(holds(tmp_path("file"), "newer"), "the file has the new text");
}

static void *read_fifo(void *arg)
{
	char *got = arg;
	int fd = open(tmp_path("fifo"), O_RDONLY);

	while (fd >= 0 && read(fd, got + strlen(got), 60 - strlen(got)) > 0)
		;
	close(fd);
	return NULL;
}

/* A pipe stands for every file that is not a regular one, such as /dev/null. */
static void test_special(void)
{
	char got[64] = "";
	struct npu_error why;
	pthread_t reader;
	struct stat st;

	tap_ok(!mkfifo(tmp_path("fifo"), 0600), "a pipe");
	pthread_create(&reader, NULL, read_fifo, got);
	tap_ok(!npu_file_write(tmp_path("fifo"), "through", 7, &why), "write to it");
	pthread_join(reader, NULL);
	tap_ok(!strcmp(got, "through"), "its reader got the text: '%s'", got);
	tap_ok(!stat(tmp_path("fifo"), &st) && S_ISFIFO(st.st_mode), "it is still a pipe");
	tap_ok(npu_file_write(tmp_folder(), "x", 1, &why) < 0 && strstr(why.text, tmp_folder()),
	       "a directory: %s", why.text);
}

static void test_job(void)
{
	struct npu_jobfile job = { 0 };
	struct npu_error err = { 0 };
	struct stat st;

	/* Refused before anything is written: the device stays. */
	tap_ok(npu_jobfile_save(&job, tmp_path("fifo"), &err) < 0, "an empty job: %s", err.text);
	tap_ok(!stat(tmp_path("fifo"), &st) && S_ISFIFO(st.st_mode), "and the pipe is still there");
}

int main(void)
{
	test_link();
	test_special();
	test_job();
	unlink(tmp_path("fifo"));
	unlink(tmp_path("link"));
	unlink(tmp_path("file"));
	tap_ok(!rmdir(tmp_folder()), "nothing else was left there");
	return tap_done();
}
