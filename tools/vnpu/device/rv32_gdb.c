// SPDX-License-Identifier: MIT
/* The stub's thread, its socket, and the gate. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "rv32_gdb.h"
#include "rv32_gdb_cmd.h"

/* Whose the hart is. */
enum owner {
	RUNS,			/* the hart's thread */
	WANTED,			/* the debugger wants it */
	HELD,			/* the debugger has it, the hart's thread is at the gate */
	STEPS,			/* the hart's thread for one instruction, then the debugger again */
};

struct rv32_gdb {
	struct rv32_gdb_config config;
	char path[108];			/* of the socket, to be removed; empty: none */
	int listen_fd;
	int event_fd;			/* the hart came to be HELD, or quit */
	pthread_t thread;

	/* Protects what follows. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum owner owner;
	bool at_gate;			/* the hart's thread is in rv32_gdb_gate() */
	bool in_use;			/* the stub's thread uses the hart: the gate stays shut */
	unsigned int releases;
	unsigned int releases_seen;	/* when a thread left the gate last */
	bool quit;
	int fd;				/* the debugger's; -1: there is none */

	/* The thread's. */
	struct rv32_gdb_reader reader;
	struct rv32_gdb_session session;
};

static void notify(struct rv32_gdb *gdb)
{
	uint64_t one = 1;

	if (write(gdb->event_fd, &one, sizeof(one)) < 0)
		return;		/* it is readable already */
}

/* ---- the gate ---- */

uint64_t rv32_gdb_gate(struct rv32_gdb *gdb, enum rv32_stop why, uint64_t budget)
{
	if (!gdb)
		return budget;
	pthread_mutex_lock(&gdb->lock);
	if (gdb->owner == WANTED || gdb->owner == STEPS ||
	    (gdb->owner == RUNS && why == RV32_STOP_BREAK && gdb->fd >= 0)) {
		gdb->owner = HELD;
		notify(gdb);
	}
	gdb->at_gate = true;
	pthread_cond_broadcast(&gdb->changed);
	while (gdb->in_use || (gdb->owner == HELD && gdb->releases == gdb->releases_seen))
		pthread_cond_wait(&gdb->changed, &gdb->lock);
	gdb->at_gate = false;
	/* One that came before this thread did counts, too: it may be just what it came for. */
	gdb->releases_seen = gdb->releases;
	if (gdb->owner == HELD)
		budget = 0;
	else if (gdb->owner == STEPS)
		budget = 1;
	pthread_mutex_unlock(&gdb->lock);
	return budget;
}

bool rv32_gdb_holds(struct rv32_gdb *gdb)
{
	bool holds;

	if (!gdb)
		return false;
	pthread_mutex_lock(&gdb->lock);
	holds = gdb->owner != RUNS;
	pthread_mutex_unlock(&gdb->lock);
	return holds;
}

void rv32_gdb_release(struct rv32_gdb *gdb)
{
	if (!gdb)
		return;
	pthread_mutex_lock(&gdb->lock);
	gdb->releases++;
	pthread_cond_broadcast(&gdb->changed);
	pthread_mutex_unlock(&gdb->lock);
}

static void set_owner(struct rv32_gdb *gdb, enum owner owner)
{
	pthread_mutex_lock(&gdb->lock);
	gdb->owner = owner;
	pthread_cond_broadcast(&gdb->changed);
	pthread_mutex_unlock(&gdb->lock);
	if (owner == WANTED)
		gdb->config.kick(gdb->config.ctx);
}

static bool is_held(struct rv32_gdb *gdb)
{
	bool held;

	pthread_mutex_lock(&gdb->lock);
	held = gdb->owner == HELD;
	pthread_mutex_unlock(&gdb->lock);
	return held;
}

/*
 * To use a hart that is HELD. Its thread may have been released from the gate, to halt or reset the
 * hart, and comes back. False: quit.
 */
static bool hart_take(struct rv32_gdb *gdb)
{
	bool got;

	pthread_mutex_lock(&gdb->lock);
	while (!(gdb->at_gate && gdb->releases == gdb->releases_seen) && !gdb->quit)
		pthread_cond_wait(&gdb->changed, &gdb->lock);
	got = !gdb->quit;
	gdb->in_use = got;
	pthread_mutex_unlock(&gdb->lock);
	return got;
}

static void hart_give(struct rv32_gdb *gdb)
{
	pthread_mutex_lock(&gdb->lock);
	gdb->in_use = false;
	pthread_cond_broadcast(&gdb->changed);
	pthread_mutex_unlock(&gdb->lock);
}

static bool has_quit(struct rv32_gdb *gdb)
{
	bool quit;

	pthread_mutex_lock(&gdb->lock);
	quit = gdb->quit;
	pthread_mutex_unlock(&gdb->lock);
	return quit;
}

/* ---- the socket ---- */

static bool send_all(struct rv32_gdb *gdb, const char *data, size_t size)
{
	ssize_t n;

	while (size) {
		n = send(gdb->fd, data, size, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

static bool send_packet(struct rv32_gdb *gdb, const char *content)
{
	char packet[RV32_GDB_PACKET + 8];
	size_t size = strlen(content), i;
	uint8_t sum = 0;

	for (i = 0; i < size; i++)
		sum += (uint8_t)content[i];
	snprintf(packet, sizeof(packet), "$%s#%02x", content, sum);
	return send_all(gdb, packet, size + 4);
}

/* False: the connection is over. */
static bool execute(struct rv32_gdb *gdb)
{
	char reply[RV32_GDB_PACKET + 1];
	enum rv32_gdb_action action;

	if (!hart_take(gdb))
		return false;
	action = rv32_gdb_command(&gdb->session, gdb->reader.data, gdb->reader.size, reply);
	hart_give(gdb);
	switch (action) {
	case RV32_GDB_RESUME:
		set_owner(gdb, RUNS);
		return true;
	case RV32_GDB_STEP:
		set_owner(gdb, STEPS);
		return true;
	case RV32_GDB_DETACH:
		send_packet(gdb, reply);
		return false;
	case RV32_GDB_KILL:
		return false;
	default:
		return send_packet(gdb, reply);
	}
}

static bool handle_byte(struct rv32_gdb *gdb, char byte)
{
	bool no_ack = gdb->session.no_ack;

	switch (rv32_gdb_feed(&gdb->reader, byte)) {
	case RV32_GDB_GOT:
		if (!no_ack && !send_all(gdb, "+", 1))
			return false;
		/* While the hart runs there is nothing that could be asked of it. */
		return !is_held(gdb) || execute(gdb);
	case RV32_GDB_BAD:
		return no_ack || send_all(gdb, "-", 1);
	case RV32_GDB_INTERRUPT:
		if (!is_held(gdb))
			set_owner(gdb, WANTED);
		return true;
	default:
		return true;
	}
}

static bool handle_input(struct rv32_gdb *gdb)
{
	char data[512];
	ssize_t n = recv(gdb->fd, data, sizeof(data), 0), i;

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	for (i = 0; i < n; i++) {
		if (!handle_byte(gdb, data[i]))
			return false;
	}
	return true;
}

/* Wait for @fd or an event. False: quit. */
static bool wait_for(struct rv32_gdb *gdb, int fd, bool *input, bool *event)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
				{ .fd = gdb->event_fd, .events = POLLIN } };
	uint64_t count;

	if (has_quit(gdb))
		return false;
	while (poll(fds, 2, -1) < 0)
		;
	*input = fds[0].revents;
	*event = fds[1].revents && read(gdb->event_fd, &count, sizeof(count)) > 0;
	return !has_quit(gdb);
}

/* Get the hart. False: quit. */
static bool hart_hold(struct rv32_gdb *gdb)
{
	bool input, event;
	uint64_t count;

	if (!is_held(gdb))
		set_owner(gdb, WANTED);
	while (!is_held(gdb)) {
		if (!wait_for(gdb, -1, &input, &event))
			return false;
	}
	/* Nobody is to be told. */
	return read(gdb->event_fd, &count, sizeof(count)) > 0 || !has_quit(gdb);
}

/* The hart is held; when it comes to be held again, that is news. */
static void serve(struct rv32_gdb *gdb)
{
	bool input, event;

	while (wait_for(gdb, gdb->fd, &input, &event)) {
		if (event && is_held(gdb) && !send_packet(gdb, "S05"))
			break;
		if (input && !handle_input(gdb))
			break;
	}
}

static void set_fd(struct rv32_gdb *gdb, int fd)
{
	pthread_mutex_lock(&gdb->lock);
	gdb->fd = fd;
	pthread_mutex_unlock(&gdb->lock);
}

static void connection(struct rv32_gdb *gdb, int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	memset(&gdb->reader, 0, sizeof(gdb->reader));
	gdb->session = (struct rv32_gdb_session){ .core = gdb->config.core };
	set_fd(gdb, fd);
	if (hart_hold(gdb) && hart_take(gdb)) {
		rv32_catch_ebreak(gdb->config.core, true);
		hart_give(gdb);
		serve(gdb);
	}
	/* What the debugger has left is taken away with the hart in hand. */
	if (hart_hold(gdb) && hart_take(gdb)) {
		rv32_break_clear(gdb->config.core);
		rv32_catch_ebreak(gdb->config.core, false);
		hart_give(gdb);
	}
	set_fd(gdb, -1);
	set_owner(gdb, RUNS);
	close(fd);
}

static void *gdb_run(void *arg)
{
	struct rv32_gdb *gdb = arg;
	bool input, event;
	int fd;

	while (wait_for(gdb, gdb->listen_fd, &input, &event)) {
		if (!input)
			continue;
		fd = accept4(gdb->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			connection(gdb, fd);
	}
	return NULL;
}

/* ---- life ---- */

static int listen_unix(struct rv32_gdb *gdb, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (!*path || strlen(path) >= sizeof(addr.sun_path))
		return -EINVAL;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	gdb->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (gdb->listen_fd < 0 || bind(gdb->listen_fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	memcpy(gdb->path, path, strlen(path) + 1);
	return listen(gdb->listen_fd, 1) ? -errno : 0;
}

static int listen_tcp(struct rv32_gdb *gdb, const char *port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char *end;
	unsigned long n = strtoul(port, &end, 10);
	int one = 1;

	if (!*port || *end || n < 1 || n > 65535)
		return -EINVAL;
	addr.sin_port = htons((uint16_t)n);
	gdb->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (gdb->listen_fd < 0)
		return -errno;
	setsockopt(gdb->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(gdb->listen_fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(gdb->listen_fd, 1))
		return -errno;
	return 0;
}

static void gdb_free(struct rv32_gdb *gdb)
{
	if (gdb->listen_fd >= 0)
		close(gdb->listen_fd);
	if (gdb->event_fd >= 0)
		close(gdb->event_fd);
	if (gdb->path[0])
		unlink(gdb->path);
	pthread_cond_destroy(&gdb->changed);
	pthread_mutex_destroy(&gdb->lock);
	free(gdb);
}

int rv32_gdb_start(const struct rv32_gdb_config *config, struct rv32_gdb **gdb_ret)
{
	struct rv32_gdb *gdb = calloc(1, sizeof(*gdb));
	int ret;

	if (!gdb)
		return -ENOMEM;
	gdb->config = *config;
	gdb->fd = -1;
	gdb->listen_fd = -1;
	pthread_mutex_init(&gdb->lock, NULL);
	pthread_cond_init(&gdb->changed, NULL);
	gdb->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (gdb->event_fd < 0)
		ret = -errno;
	else if (!strncmp(config->address, "unix:", 5))
		ret = listen_unix(gdb, config->address + 5);
	else
		ret = listen_tcp(gdb, config->address);
	gdb->config.address = NULL;
	if (!ret)
		ret = -pthread_create(&gdb->thread, NULL, gdb_run, gdb);
	if (ret) {
		gdb_free(gdb);
		return ret;
	}
	*gdb_ret = gdb;
	return 0;
}

void rv32_gdb_stop(struct rv32_gdb *gdb)
{
	if (!gdb)
		return;
	pthread_mutex_lock(&gdb->lock);
	gdb->quit = true;
	pthread_cond_broadcast(&gdb->changed);
	pthread_mutex_unlock(&gdb->lock);
	notify(gdb);
	pthread_join(gdb->thread, NULL);
	gdb_free(gdb);
}
