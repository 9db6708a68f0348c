// SPDX-License-Identifier: MIT
/* The control socket: commands as lines of words, each answered with one line of JSON. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>
#include "pci_config.h"
#include "vdev_priv.h"

static const struct { const char *name, *kind, *text; } faults[] = {
#define X(name, kind, text, what) { text, #kind, what },
	NPU_VDEV_FAULTS(X)
#undef X
};

static const char *const counter_name[] = {
#define X(name, text, what) text,
	VDEV_COUNTERS(X)
#undef X
};

static cJSON *answer_error(const char *text)
{
	cJSON *j = cJSON_CreateObject();

	cJSON_AddBoolToObject(j, "ok", false);
	cJSON_AddStringToObject(j, "error", text);
	return j;
}

static cJSON *answer_ok(void)
{
	cJSON *j = cJSON_CreateObject();

	cJSON_AddBoolToObject(j, "ok", true);
	return j;
}

static cJSON *cmd_status(struct npu_vdev *dev, char **arg)
{
	const struct npu_vdev_config *c = &dev->opt.config;
	const struct vdev_shared *sh = dev->sh;
	cJSON *j = answer_ok();

	cJSON_AddBoolToObject(j, "client", sh->conn >= 0);
	cJSON_AddNumberToObject(j, "worker", dev->worker);
	cJSON_AddBoolToObject(j, "memory", pci_config_memory(sh->config));
	cJSON_AddBoolToObject(j, "bus_master", dev->dma.bus_master);
	cJSON_AddBoolToObject(j, "interrupt", sh->irq_fd >= 0);
	cJSON_AddBoolToObject(j, "interrupt_pending", sh->irq_pending);
	cJSON_AddBoolToObject(j, "removed", vdev_removed(dev));
	cJSON_AddBoolToObject(j, "echo", c->echo);
	cJSON_AddNumberToObject(j, "engines", c->engines);
	cJSON_AddNumberToObject(j, "queues", c->queues);
	cJSON_AddNumberToObject(j, "restarts", sh->counter[VDEV_COUNT_RESTARTS]);
	return j;
}

static cJSON *cmd_counters(struct npu_vdev *dev, char **arg)
{
	cJSON *j = answer_ok(), *list = cJSON_AddObjectToObject(j, "counters");
	int i;

	for (i = 0; i < VDEV_NUM_COUNTERS; i++)
		cJSON_AddNumberToObject(list, counter_name[i], dev->sh->counter[i]);
	return j;
}

static cJSON *cmd_faults(struct npu_vdev *dev, char **arg)
{
	cJSON *j = answer_ok(), *list = cJSON_AddArrayToObject(j, "faults"), *f;
	int i;

	for (i = 0; i < NPU_VDEV_NUM_FAULTS; i++) {
		f = cJSON_CreateObject();
		cJSON_AddStringToObject(f, "name", faults[i].name);
		cJSON_AddStringToObject(f, "kind", faults[i].kind[0] == 'F' ? "fault" : "mutant");
		cJSON_AddNumberToObject(f, "armed", dev->sh->armed[i]);
		cJSON_AddNumberToObject(f, "taken", dev->sh->taken[i]);
		cJSON_AddStringToObject(f, "text", faults[i].text);
		cJSON_AddItemToArray(list, f);
	}
	return j;
}

static int fault_find(const char *name)
{
	int i;

	for (i = 0; i < NPU_VDEV_NUM_FAULTS; i++)
		if (!strcmp(faults[i].name, name))
			return i;
	return -1;
}

static cJSON *cmd_arm(struct npu_vdev *dev, char **arg)
{
	int id = fault_find(arg[0]);
	char *end = arg[1];
	long n = 1;

	if (id < 0)
		return answer_error("no such fault; the command 'faults' lists them");
	if (arg[1] && !strcmp(arg[1], "forever")) {
		n = -1;
	} else if (arg[1]) {
		n = strtol(arg[1], &end, 10);
		if (*end || n < 1 || n > 1000000)
			return answer_error("how often: 1 to 1000000, or 'forever'");
	}
	/* It does not go away by being asked about. */
	if (id == NPU_VDEV_FAULT_REMOVAL)
		n = -1;
	dev->sh->armed[id] = n;
	return answer_ok();
}

static cJSON *cmd_disarm(struct npu_vdev *dev, char **arg)
{
	int id = fault_find(arg[0]), i;

	if (id < 0 && strcmp(arg[0], "all"))
		return answer_error("no such fault; the command 'faults' lists them");
	for (i = 0; i < NPU_VDEV_NUM_FAULTS; i++)
		if (id < 0 || i == id)
			dev->sh->armed[i] = 0;
	return answer_ok();
}

static cJSON *cmd_irq(struct npu_vdev *dev, char **arg)
{
	npu_vdev_irq_raise(dev);
	return answer_ok();
}

static cJSON *cmd_kill(struct npu_vdev *dev, char **arg)
{
	kill(getpid(), SIGKILL);
	return answer_ok();
}

static cJSON *cmd_help(struct npu_vdev *dev, char **arg);

static const struct command {
	const char *name;
	int min, max;			/* of arguments */
	cJSON *(*run)(struct npu_vdev *dev, char **arg);
	const char *text;
} commands[] = {
	{ "help", 0, 0, cmd_help, "the commands" },
	{ "status", 0, 0, cmd_status, "client, interrupt, bus mastering, worker" },
	{ "counters", 0, 0, cmd_counters, "what the transport has counted" },
	{ "faults", 0, 0, cmd_faults, "faults and mutants: how often armed, how often taken" },
	{ "arm", 1, 2, cmd_arm, "NAME [COUNT|forever]: the next COUNT occurrences (1)" },
	{ "disarm", 1, 1, cmd_disarm, "NAME|all" },
	{ "irq", 0, 0, cmd_irq, "raise the interrupt without a cause" },
	{ "kill", 0, 0, cmd_kill, "SIGKILL to the worker; there is no answer" },
};

static cJSON *cmd_help(struct npu_vdev *dev, char **arg)
{
	cJSON *j = answer_ok(), *list = cJSON_AddObjectToObject(j, "commands");
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		cJSON_AddStringToObject(list, commands[i].name, commands[i].text);
	return j;
}

#define MAX_WORDS	4

static cJSON *line_run(struct npu_vdev *dev, char *line)
{
	char *word[MAX_WORDS + 1] = { NULL }, *save = NULL;
	int n = 0;
	size_t i;

	for (char *w = strtok_r(line, " \t\r", &save); w; w = strtok_r(NULL, " \t\r", &save)) {
		if (n == MAX_WORDS)
			return answer_error("too many words");
		word[n++] = w;
	}
	for (i = 0; n && i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(commands[i].name, word[0]))
			continue;
		if (n - 1 < commands[i].min || n - 1 > commands[i].max)
			return answer_error(commands[i].text);
		return commands[i].run(dev, word + 1);
	}
	return answer_error("no such command; 'help' lists them");
}

void vdev_ctl_init(struct npu_vdev *dev)
{
	int i;

	for (i = 0; i < (int)VDEV_MAX_CTL; i++)
		dev->ctl[i].fd = -1;
}

void vdev_ctl_accept(struct npu_vdev *dev)
{
	int fd = accept4(dev->ctl_listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), i;

	for (i = 0; fd >= 0 && i < (int)VDEV_MAX_CTL; i++) {
		if (dev->ctl[i].fd >= 0)
			continue;
		dev->ctl[i] = (struct vdev_ctl_client){ .fd = fd };
		return;
	}
	if (fd >= 0)
		close(fd);
}

static void client_close(struct vdev_ctl_client *c)
{
	close(c->fd);
	c->fd = -1;
}

/* The answer goes out at once or the client does: the loop does not wait for it. */
static void client_answer(struct npu_vdev *dev, struct vdev_ctl_client *c)
{
	cJSON *j = line_run(dev, c->line);
	char *text = cJSON_PrintUnformatted(j);
	size_t n = text ? strlen(text) : 0;

	if (n)
		text[n] = '\n';
	if (!n || send(c->fd, text, n + 1, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n + 1)
		client_close(c);
	cJSON_free(text);
	cJSON_Delete(j);
}

void vdev_ctl_input(struct npu_vdev *dev, struct vdev_ctl_client *c)
{
	ssize_t n = recv(c->fd, c->line + c->len, sizeof(c->line) - c->len, MSG_DONTWAIT);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_close(c);
		return;
	}
	c->len += n;
	while (c->fd >= 0 && (end = memchr(c->line, '\n', c->len))) {
		*end = 0;
		client_answer(dev, c);
		c->len -= end + 1 - c->line;
		memmove(c->line, end + 1, c->len);
	}
	if (c->fd >= 0 && c->len == sizeof(c->line))
		client_close(c);
}

/* ---- the other end ---- */

static int control_connect(const char *path, char *why, size_t size)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = 10 };
	int fd, ret = -ENAMETOOLONG;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		snprintf(why, size, "socket path '%s' is too long", path);
		return ret;
	}
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		return fd;
	}
	ret = -errno;
	snprintf(why, size, "control socket %s: %s", path, strerror(-ret));
	if (fd >= 0)
		close(fd);
	return ret;
}

int npu_vdev_control(const char *path, const char *command, FILE *out, char *why, size_t size)
{
	char line[VDEV_CTL_LINE + 1], *answer = NULL;
	int fd, ret, n = snprintf(line, sizeof(line), "%s\n", command);
	size_t room = 0;
	FILE *in;

	if (n >= (int)VDEV_CTL_LINE || strchr(command, '\n')) {
		snprintf(why, size, "the command is too long, or more than one line");
		return -EINVAL;
	}
	fd = control_connect(path, why, size);
	if (fd < 0)
		return fd;
	in = fdopen(fd, "r");
	if (!in) {
		close(fd);
		return -ENOMEM;
	}
	if (send(fd, line, n, MSG_NOSIGNAL) != n || getline(&answer, &room, in) <= 0) {
		snprintf(why, size, "control socket %s: no answer", path);
		ret = -EIO;
	} else {
		fputs(answer, out);
		ret = strncmp(answer, "{\"ok\":true", 10) ? 1 : 0;
	}
	free(answer);
	fclose(in);
	return ret;
}
