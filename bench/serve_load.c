// SPDX-License-Identifier: MIT
/*
 * serve_load PORT CLIENTS TOKENS whole|stream: as many clients of npu-llm --serve ask at once for
 * that many tokens each. Prints the tokens that all got together, the seconds until the last one
 * had his, and the seconds of processor time of this program: it is on the same machine, so it does
 * as little with an answer as can be.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_CLIENTS	1024
#define END_BYTES	1024		/* of an answer that are kept: its usage lies there */
#define STATUS		"HTTP/1.1 200 "

struct client {
	int fd;
	size_t got;			/* bytes of the answer */
	char status[sizeof(STATUS)], end[END_BYTES + 1];
	size_t kept;
};

static int fail(const char *what)
{
	fprintf(stderr, "serve_load: %s: %s\n", what, strerror(errno));
	return 1;
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Ask; what is read later does not block. */
static int ask(struct client *c, int port, const char *request)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	size_t size = strlen(request);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fail("connect");
	if (write(c->fd, request, size) != (ssize_t)size)
		return fail("write");
	return 0;
}

static void keep(struct client *c, const char *data, size_t n)
{
	size_t head = sizeof(STATUS) - 1, more = c->got < head ? head - c->got : 0;

	memcpy(c->status + c->got * !!more, data, more < n ? more : n);
	c->got += n;
	if (n > END_BYTES) {
		data += n - END_BYTES;
		n = END_BYTES;
	}
	if (c->kept + n > END_BYTES) {
		memmove(c->end, c->end + c->kept + n - END_BYTES, END_BYTES - n);
		c->kept = END_BYTES - n;
	}
	memcpy(c->end + c->kept, data, n);
	c->kept += n;
}

/* Tokens of an answer that is there, or -1. */
static long tokens_of(struct client *c)
{
	static const char name[] = "\"completion_tokens\":";
	const char *p;

	c->end[c->kept] = 0;
	p = strstr(c->end, name);
	if (strcmp(c->status, STATUS) || !p) {
		fprintf(stderr, "serve_load: an answer ends with: %s\n", c->end);
		return -1;
	}
	return strtol(p + strlen(name), NULL, 10);
}

/* Read until all have their answers; the tokens of all, or -1. */
static long read_all(int epoll, struct client *clients, int num)
{
	static char buf[1 << 16];
	struct epoll_event ev[MAX_CLIENTS];
	long all = 0, one;
	ssize_t n;
	int i, ready;

	for (i = 0; i < num; i++) {
		ev[0] = (struct epoll_event){ .events = EPOLLIN, .data.ptr = &clients[i] };
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].fd, &ev[0]))
			return -fail("epoll");
	}
	while (num) {
		ready = epoll_wait(epoll, ev, MAX_CLIENTS, -1);
		for (i = 0; i < ready; i++) {
			struct client *c = ev[i].data.ptr;

			n = read(c->fd, buf, sizeof(buf));
			if (n < 0)
				return -fail("read");
			keep(c, buf, (size_t)n);
			if (n)
				continue;
			one = tokens_of(c);
			if (one < 0)
				return -1;
			all += one;
			close(c->fd);
			num--;
		}
	}
	return all;
}

int main(int argc, char **argv)
{
	static struct client clients[MAX_CLIENTS];
	int num = argc == 5 ? atoi(argv[2]) : 0, epoll = epoll_create1(EPOLL_CLOEXEC), i;
	char body[300], request[600];
	double began;
	long got;

	if (num < 1 || num > MAX_CLIENTS || epoll < 0) {
		fprintf(stderr, "usage: serve_load PORT CLIENTS TOKENS whole|stream\n");
		return 2;
	}
	snprintf(body, sizeof(body),
		 "{\"prompt\":\"And he said\",\"max_tokens\":%d,\"temperature\":0,\"ignore_eos\":true%s}",
		 atoi(argv[3]), strcmp(argv[4], "stream") ? "" :
		 ",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
	snprintf(request, sizeof(request),
		 "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		 strlen(body), body);
	began = seconds(CLOCK_MONOTONIC);
	for (i = 0; i < num; i++)
		if (ask(&clients[i], atoi(argv[1]), request))
			return 1;
	got = read_all(epoll, clients, num);
	if (got < 0)
		return 1;
	printf("%ld %.6f %.6f\n", got, seconds(CLOCK_MONOTONIC) - began,
	       seconds(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
