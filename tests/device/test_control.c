// SPDX-License-Identifier: MIT
/* The control socket, the table of faults, and options that can not be. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "fixture.h"
#include "tap.h"

static struct fixture f;

static bool refused(const char *command)
{
	const char *text = fixture_control(&f, command);

	return text && !strncmp(text, "{\"ok\":false,\"error\":\"", 21);
}

static bool accepted(const char *command)
{
	const char *text = fixture_control(&f, command);

	return text && !strncmp(text, "{\"ok\":true", 10);
}

static void command_test(void)
{
	tap_ok(accepted("help") && strstr(fixture_control(&f, "help"), "\"arm\":"), "help");
	tap_ok(accepted("status") && fixture_number(&f, "status", "engines") == 1, "status");
	tap_ok(accepted("counters") && fixture_number(&f, "counters", "connections") == 0,
	       "counters");
	tap_ok(accepted("  faults\t"), "faults, with blanks around");
	tap_ok(refused("") && refused("nonsense") && refused("STATUS") && refused("status now") &&
	       refused("a b c d e f g"), "what is no command");
	tap_ok(refused("arm") && refused("arm nothing") && refused("arm hang 0") &&
		       refused("arm hang -1") && refused("arm hang 1x") &&
		       refused("arm hang 99999999999999999999") && refused("arm hang 1 2"),
	       "arm with arguments that can not be");
	tap_ok(refused("disarm") && refused("disarm nothing"), "disarm as well");
	npu_vdev_fault_take(f.dev, NPU_VDEV_FAULT_HANG);
	tap_ok(!npu_vdev_fault_armed(f.dev, NPU_VDEV_FAULT_HANG), "and nothing is armed");
}

static unsigned int taken(enum npu_vdev_fault id, unsigned int asked)
{
	unsigned int n = 0;

	while (asked--)
		n += npu_vdev_fault_take(f.dev, id);
	return n;
}

static void arm_test(void)
{
	static const char *const names[] = {
#define X(name, kind, text, what) text,
		NPU_VDEV_FAULTS(X)
#undef X
	};
	unsigned int i, good = 0;
	char command[80];

	for (i = 0; i < NPU_VDEV_NUM_FAULTS; i++) {
		bool lasts = i == NPU_VDEV_FAULT_REMOVAL;

		snprintf(command, sizeof(command), "arm %s 3", names[i]);
		good += accepted(command) && npu_vdev_fault_armed(f.dev, i) &&
			taken(i, 10) == (lasts ? 10 : 3);
	}
	tap_ok(good == NPU_VDEV_NUM_FAULTS, "each of %u is taken as often as armed", i);
	tap_ok(accepted("arm hang") && taken(NPU_VDEV_FAULT_HANG, 10) == 1,
	       "once without a number");
	tap_ok(accepted("arm hang forever") && taken(NPU_VDEV_FAULT_HANG, 1000) == 1000,
	       "for ever");
	tap_ok(accepted("disarm hang") && taken(NPU_VDEV_FAULT_HANG, 10) == 0, "until disarmed");
	accepted("arm slow-job 5");
	tap_ok(accepted("disarm all") && taken(NPU_VDEV_FAULT_SLOW_JOB, 10) == 0 &&
	       !npu_vdev_fault_armed(f.dev, NPU_VDEV_FAULT_REMOVAL), "all at once");
	tap_ok(strstr(fixture_control(&f, "faults"),
		      "{\"name\":\"hang\",\"kind\":\"fault\",\"armed\":0,\"taken\":1004,") != NULL,
	       "how often is told");
}

/* A raw connection. */
static int ctl_connect(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strncpy(a.sun_path, f.control, sizeof(a.sun_path) - 1);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void client_test(void)
{
	char buf[70000];
	int fd[8], i, lines = 0;
	ssize_t n;

	fd[0] = ctl_connect();
	send(fd[0], "irq\ni", 5, MSG_NOSIGNAL);
	usleep(10000);
	send(fd[0], "rq\nirq\n", 7, MSG_NOSIGNAL);
	while (lines < 3 && (n = recv(fd[0], buf, sizeof(buf), 0)) > 0)
		for (i = 0; i < n; i++)
			lines += buf[i] == '\n';
	tap_ok(lines == 3 && fixture_number(&f, "counters", "irqs-raised") == 3,
	       "three commands in pieces of other sizes");
	memset(buf, 'x', 300);
	send(fd[0], buf, 300, MSG_NOSIGNAL);
	tap_ok(recv(fd[0], buf, sizeof(buf), 0) <= 0, "a line without an end is cut off");
	close(fd[0]);
	for (i = 0; i < 8; i++)
		fd[i] = ctl_connect();
	usleep(20000);
	tap_ok(recv(fd[7], buf, 1, 0) <= 0, "a fifth client is sent away");
	for (i = 0; i < 8; i++)
		close(fd[i]);
	usleep(20000);
	tap_ok(accepted("status"), "later there is room");
	/* One that asks and takes no answers. */
	fd[0] = ctl_connect();
	for (i = 0; i < 5000 && send(fd[0], "faults\n", 7, MSG_NOSIGNAL | MSG_DONTWAIT) > 0; i++)
		;
	tap_ok(accepted("status"), "nobody is held up by one that takes no answers");
	close(fd[0]);
}

static int try(void (*change)(struct npu_vdev_options *o), char *why)
{
	struct npu_vdev_options o = { .config = NPU_VDEV_CONFIG_DEFAULT, .socket = "/tmp/never",
				      .log_fd = -1 };
	struct npu_vdev *dev = NULL;
	int ret;

	change(&o);
	why[0] = 0;
	ret = npu_vdev_open(&o, &probe_core, &dev, why, 256);
	if (!ret)
		npu_vdev_close(dev);
	return ret;
}

static void engines0(struct npu_vdev_options *o)
{
	o->config.engines = 0;
}

static void queues257(struct npu_vdev_options *o)
{
	o->config.queues = 257;
}

static void sram100(struct npu_vdev_options *o)
{
	o->config.sram_size = 5000;
}

static void no_socket(struct npu_vdev_options *o)
{
	o->socket = NULL;
}

static void no_folder(struct npu_vdev_options *o)
{
	o->socket = "/proc/nonexistent/folder/s";
}

static void long_path(struct npu_vdev_options *o)
{
	static char path[200];

	memset(path, 'a', sizeof(path) - 1);
	o->socket = path;
}

static void same_socket(struct npu_vdev_options *o)
{
	o->socket = f.socket;
}

static void plain_file(struct npu_vdev_options *o)
{
	o->socket = f.log_path;
}

static void bad_control(struct npu_vdev_options *o)
{
	static char path[100];

	snprintf(path, sizeof(path), "%.90s.other", f.socket);
	o->socket = path;
	o->control = "/proc/nonexistent/c";
}

static void option_test(void)
{
	char why[256], path[100];

	tap_ok(try(engines0, why) == -EINVAL && strstr(why, "engines is 0"), "%s", why);
	tap_ok(try(queues257, why) == -EINVAL && strstr(why, "queues is 257"), "%s", why);
	tap_ok(try(sram100, why) == -EINVAL && strstr(why, "sram_size"), "%s", why);
	tap_ok(try(no_socket, why) == -EINVAL && *why, "%s", why);
	tap_ok(try(no_folder, why) == -ENOENT && strstr(why, "/proc/nonexistent"), "%s", why);
	tap_ok(try(long_path, why) == -ENAMETOOLONG && strstr(why, "199 bytes"),
	       "a path of 199 bytes");
	tap_ok(try(same_socket, why) == -EADDRINUSE && accepted("status"),
	       "a socket that is in use");
	tap_ok(try(plain_file, why) == -EEXIST && !access(f.log_path, F_OK),
	       "a file that is no socket");
	tap_ok(try(bad_control, why) == -ENOENT, "a control socket that can not be");
	snprintf(path, sizeof(path), "%.90s.other", f.socket);
	tap_ok(access(path, F_OK), "leaves no other socket behind");
}

static void log_test(void)
{
	static char text[1 << 20];
	unsigned int i, lines = 0;
	ssize_t n, k;

	for (i = 0; i < 1000; i++)
		npu_vdev_log(f.dev, "line %u\n\033[31m%0600d", i, 5);
	n = pread(f.log_fd, text, sizeof(text) - 1, 0);
	for (k = 0; k < n; k++)
		lines += text[k] == '\n';
	tap_ok(lines > 10 && lines <= 450, "%u lines of 1000 in the log", lines);
	tap_ok(!memchr(text, '\033', n), "without control characters");
	tap_ok(fixture_number(&f, "counters", "log-lines-lost") >= 600, "the others are counted");
}

int main(void)
{
	if (!tap_ok(fixture_thread(&f, NULL), "a device"))
		return tap_done();
	command_test();
	arm_test();
	client_test();
	option_test();
	log_test();
	fixture_end(&f);
	return tap_done();
}
