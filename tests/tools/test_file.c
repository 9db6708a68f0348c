// SPDX-License-Identifier: MIT
/* Writing files: replaced as a whole, links and devices left what they are. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/jobfile.h"
#include "tap.h"
#include "tools/common/file.h"

static char dir[] = "/tmp/npu-file-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[4][128];
	static int next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

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

	tap_ok(!npu_file_write(in_dir("file"), "old", 3, &why) && holds(in_dir("file"), "old"), "a new file");
	tap_ok(!symlink("file", in_dir("link")), "a link to it");
	tap_ok(!npu_file_write(in_dir("link"), "newer", 5, &why), "write through the link");
	tap_ok(!lstat(in_dir("link"), &st) && S_ISLNK(st.st_mode), "the link is still a link");
	tap_ok(holds(in_dir("file"), "newer"), "the file has the new text");
}

static void *read_fifo(void *arg)
{
	char *got = arg;
	int fd = open(in_dir("fifo"), O_RDONLY);

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

	tap_ok(!mkfifo(in_dir("fifo"), 0600), "a pipe");
	pthread_create(&reader, NULL, read_fifo, got);
	tap_ok(!npu_file_write(in_dir("fifo"), "through", 7, &why), "write to it");
	pthread_join(reader, NULL);
	tap_ok(!strcmp(got, "through"), "its reader got the text: '%s'", got);
	tap_ok(!stat(in_dir("fifo"), &st) && S_ISFIFO(st.st_mode), "it is still a pipe");
	tap_ok(npu_file_write(dir, "x", 1, &why) < 0 && strstr(why.text, dir), "a directory: %s", why.text);
}

static void test_job(void)
{
	struct npu_jobfile job = { 0 };
	struct npu_error err = { 0 };
	struct stat st;

	/* Refused before anything is written: the device stays. */
	tap_ok(npu_jobfile_save(&job, in_dir("fifo"), &err) < 0, "an empty job: %s", err.text);
	tap_ok(!stat(in_dir("fifo"), &st) && S_ISFIFO(st.st_mode), "and the pipe is still there");
}

int main(void)
{
	if (!tap_ok(mkdtemp(dir) != NULL, "a directory of our own"))
		return tap_done();
	test_link();
	test_special();
	test_job();
	unlink(in_dir("fifo"));
	unlink(in_dir("link"));
	unlink(in_dir("file"));
	tap_ok(!rmdir(dir), "nothing else was left there");
	return tap_done();
}
