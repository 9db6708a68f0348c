/* SPDX-License-Identifier: MIT */
/*
 * A vfio-user client for tests, written from the protocol's description with literal offsets: it
 * shares nothing with the server.
 */
#ifndef TEST_DEVICE_CLIENT_H
#define TEST_DEVICE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	C_VERSION = 1, C_DMA_MAP = 2, C_DMA_UNMAP = 3, C_GET_INFO = 4, C_GET_REGION_INFO = 5,
	C_GET_REGION_IO_FDS = 6, C_GET_IRQ_INFO = 7, C_SET_IRQS = 8, C_REGION_READ = 9,
	C_REGION_WRITE = 10, C_DMA_READ = 11, C_DMA_WRITE = 12, C_RESET = 13, C_DIRTY = 14,
	C_WRITE_MULTI = 15
};

#define C_REPLY		1u
#define C_NO_REPLY	0x10u
#define C_ERROR		0x20u
#define C_MAX		70000

struct client {
	int fd;
	uint16_t id;
	int timeout_ms;			/* of an answer; 5000 at first */
};

/* What came in: header fields and payload. */
struct incoming {
	uint16_t id, command;
	uint32_t size, flags, error;
	uint8_t payload[C_MAX];
};

void put16(uint8_t *p, uint16_t v);
void put32(uint8_t *p, uint32_t v);
void put64(uint8_t *p, uint64_t v);
uint16_t get16(const uint8_t *p);
uint32_t get32(const uint8_t *p);
uint64_t get64(const uint8_t *p);

/* Connect, again for up to two seconds while nobody listens. False: could not. */
bool client_connect(struct client *c, const char *path);
void client_close(struct client *c);

/* Bytes as they are, with files. False: the other end is gone. */
bool client_send_raw(struct client *c, const void *buf, size_t n, const int *fds, int nfds);
/* One message. 1; 0: nothing came within the timeout; -1: the other end is gone. */
int client_receive(struct client *c, struct incoming *in);
/* Send a request with @flags (C_NO_REPLY or 0), its id in c->id. */
bool client_send(struct client *c, uint16_t command, uint32_t flags, const void *payload, size_t n,
		 const int *fds, int nfds);

#define CLIENT_GONE	(-1)		/* no answer, or not to this request */

/* Send a request and wait for its answer: its error, 0 without one. */
int client_call(struct client *c, uint16_t command, const void *payload, size_t n, const int *fds,
		int nfds, struct incoming *in);

/* Connect and agree on the version. */
bool client_open(struct client *c, const char *path);
int client_version(struct client *c, uint16_t major, uint16_t minor, const char *json,
		   struct incoming *in);

/* All return the error of the answer or CLIENT_GONE. */
int client_read(struct client *c, uint32_t region, uint64_t offset, void *buf, uint32_t n);
int client_write(struct client *c, uint32_t region, uint64_t offset, const void *buf, uint32_t n);
bool client_post(struct client *c, uint32_t region, uint64_t offset, const void *buf, uint32_t n);
uint32_t client_read32(struct client *c, uint32_t region, uint64_t offset);
int client_write32(struct client *c, uint32_t region, uint64_t offset, uint32_t v);
int client_map(struct client *c, int fd, uint64_t offset, uint64_t iova, uint64_t size,
	       uint32_t flags);
int client_unmap(struct client *c, uint64_t iova, uint64_t size, uint32_t flags);
int client_set_irqs(struct client *c, uint32_t flags, uint32_t index, uint32_t start,
		    uint32_t count, const int *fds, int nfds);

#endif
