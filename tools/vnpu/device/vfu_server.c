// SPDX-License-Identifier: MIT
/*
 * The worker's loop: one thread that takes messages apart, has them carried out and answers. It
 * waits in ppoll() alone.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>
#include "pci_config.h"
#include "vdev_priv.h"

/* ---- moving bytes ---- */

/* Files that came with what was received. Those that have no place are closed. */
static npu_u32 control_take(struct vdev_shared *sh, struct msghdr *mh, npu_u32 num)
{
	struct cmsghdr *c;
	npu_u32 i, n;
	int fd;

	for (c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (num < VFU_MAX_FDS)
				sh->fds[num++] = fd;
			else
				close(fd);
		}
	}
	return num;
}

void vdev_transfer_settle_in(struct vdev_shared *sh)
{
	struct vdev_transfer *rx = &sh->rx;

	if (!rx->open)
		return;
	if (rx->mm.msg_len) {
		sh->num_fds = control_take(sh, &rx->mm.msg_hdr, rx->base_fds);
		rx->len = rx->base + rx->mm.msg_len;
	}
	rx->open = false;
}

void vdev_transfer_settle_out(struct vdev_shared *sh)
{
	struct vdev_transfer *tx = &sh->tx;

	if (!tx->open)
		return;
	tx->done = tx->base + tx->mm.msg_len;
	tx->open = false;
}

static void transfer_open(struct vdev_transfer *t, npu_u32 from, npu_u32 to)
{
	t->iov.iov_base = t->buf + from;
	t->iov.iov_len = to - from;
	t->base = from;
	memset(&t->mm, 0, sizeof(t->mm));
	t->mm.msg_hdr.msg_iov = &t->iov;
	t->mm.msg_hdr.msg_iovlen = 1;
}

/* Fill rx up to @want bytes. 1: they are here, 0: not yet, -1: the client is gone. */
static int receive(struct npu_vdev *dev, npu_u32 want)
{
	struct vdev_shared *sh = dev->sh;
	struct vdev_transfer *rx = &sh->rx;
	int n;

	while (rx->len < want) {
		transfer_open(rx, rx->len, want);
		rx->base_fds = sh->num_fds;
		rx->mm.msg_hdr.msg_control = rx->control;
		rx->mm.msg_hdr.msg_controllen = sizeof(rx->control);
		memset(rx->control, 0, sizeof(struct cmsghdr));
		rx->open = true;
		n = recvmmsg(sh->conn, &rx->mm, 1, MSG_DONTWAIT | MSG_CMSG_CLOEXEC, NULL);
		if (n < 0)
			rx->mm.msg_len = 0;
		vdev_transfer_settle_in(sh);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		if (!rx->mm.msg_len)
			return -1;
	}
	return 1;
}

/* Send what is in tx. 1: all is on its way, 0: not yet, -1: the client is gone. */
static int transmit(struct npu_vdev *dev)
{
	struct vdev_shared *sh = dev->sh;
	struct vdev_transfer *tx = &sh->tx;
	int n;

	while (tx->done < tx->len) {
		transfer_open(tx, tx->done, tx->len);
		tx->open = true;
		n = sendmmsg(sh->conn, &tx->mm, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			tx->mm.msg_len = 0;
		vdev_transfer_settle_out(sh);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
	}
	tx->len = 0;
	tx->done = 0;
	return 1;
}

/* ---- the connection ---- */

/* Take what there is to be read out of a socket that is shut down, then close it. */
static void socket_drain(int fd)
{
	npu_u8 buf[4096];
	ssize_t n;

	shutdown(fd, SHUT_RDWR);
	do {
		n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
	} while (n > 0 || (n < 0 && errno == EINTR));
	close(fd);
}

static void fds_close(struct vdev_shared *sh)
{
	npu_u32 i, n = sh->num_fds;

	sh->num_fds = 0;
	for (i = 0; i < n; i++)
		if (sh->fds[i] >= 0)
			close(sh->fds[i]);
}

void vdev_connection_end(struct vdev_shared *sh)
{
	int fd = sh->conn;

	fds_close(sh);
	sh->negotiated = false;
	sh->stage = VDEV_RECEIVING;
	sh->retries = 0;
	sh->rx.len = sh->tx.len = sh->tx.done = 0;
	sh->conn = -1;
	if (fd >= 0)
		socket_drain(fd);
}

/* No DMA is left. */
static void connection_closed(struct npu_vdev *dev)
{
	vdev_irq_disconnect(dev);
	vdev_report_clear(dev);
	vdev_dma_clear(dev);
	vdev_connection_end(dev->sh);
	dev->closing = false;
	dev->next_waits = false;
	npu_vdev_log(dev, "client gone");
}

static void connection_close(struct npu_vdev *dev)
{
	if (dev->closing)
		return;
	dev->closing = true;
	vdev_reset(dev, NPU_VDEV_RESET_DISCONNECT);
	vdev_barrier_start(dev, 0, UINT64_MAX, connection_closed);
}

/* Whether the client has closed its end; what it sent before may still be there. */
static bool connection_hung_up(const struct npu_vdev *dev)
{
	struct pollfd p = { .fd = dev->sh->conn };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

static void connection_accept(struct npu_vdev *dev)
{
	int fd;

	dev->next_waits = dev->sh->conn >= 0 && connection_hung_up(dev);
	if (dev->next_waits)
		return;
	fd = accept4(dev->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	if (dev->sh->conn >= 0) {
		vdev_count(dev, VDEV_COUNT_REFUSED);
		npu_vdev_log(dev, "a second client was refused");
		socket_drain(fd);
		return;
	}
	vdev_count(dev, VDEV_COUNT_CONNECTIONS);
	npu_vdev_log(dev, "client connected");
	dev->sh->conn = fd;
	vdev_reset(dev, NPU_VDEV_RESET_CONNECT);
}

/* ---- barriers ---- */

void vdev_barrier_start(struct npu_vdev *dev, npu_u64 first, npu_u64 last,
			void (*done)(struct npu_vdev *dev))
{
	struct vdev_barrier *b = &dev->barrier;

	if (!b->active)
		*b = (struct vdev_barrier){ .active = true, .first = first, .last = last,
					    .start_us = vdev_now_us() };
	b->first = first < b->first ? first : b->first;
	b->last = last > b->last ? last : b->last;
	if (done)
		b->done = done;
	dev->barrier_waits = true;
}

/* Whether no access is left; pins are looked at first, as one may leave a translation behind. */
static bool barrier_passed(struct npu_vdev *dev)
{
	const struct vdev_barrier *b = &dev->barrier;
	bool pinned = vdev_dma_pinned(dev, b->first, b->last);

	return !dev->ops->dma_unmap(dev->core, b->first, b->last) && !pinned;
}

/* So often a barrier is looked at, a millisecond apart, when its time is up. */
#define MAX_LATE_LOOKS	100

/* True when none is active any more. */
static bool barrier_poll(struct npu_vdev *dev)
{
	struct vdev_barrier *b = &dev->barrier;
	npu_u64 waited;

	if (!b->active)
		return true;
	waited = vdev_now_us() - b->start_us;
	if (!barrier_passed(dev)) {
		/* Looks count as well as time, which passes while a whole machine is paused. */
		if (waited < NPU_VDEV_STUCK_MS * 1000 || ++b->late_looks < MAX_LATE_LOOKS)
			return false;
		/* The end of the process ends every access of it. */
		npu_vdev_log(dev, "DMA to %#llx..%#llx does not end, the worker gives up",
			     (unsigned long long)b->first, (unsigned long long)b->last);
		abort();
	}
	if (waited >= 1000)
		vdev_count(dev, VDEV_COUNT_BARRIERS);
	if (waited > dev->sh->counter[VDEV_COUNT_BARRIER_US])
		dev->sh->counter[VDEV_COUNT_BARRIER_US] = waited;
	b->active = false;
	dev->barrier_waits = false;
	if (b->done)
		b->done(dev);
	return true;
}

/* ---- messages ---- */

static void message_header(const struct vdev_shared *sh, struct vfu_header *hdr)
{
	memcpy(hdr, sh->rx.buf, sizeof(*hdr));
}

/* The message in rx is done with; the reply in tx, if there is one, is complete. */
static void message_finish(struct npu_vdev *dev)
{
	struct vdev_shared *sh = dev->sh;

	fds_close(sh);
	sh->retries = 0;
	sh->rx.len = 0;
	sh->stage = VDEV_RECEIVING;
}

/* Put the reply's header in front of @size bytes in tx, and commit it. */
static void reply_commit(struct npu_vdev *dev, int err, npu_u32 size)
{
	struct vdev_transfer *tx = &dev->sh->tx;
	struct vfu_header hdr;

	message_header(dev->sh, &hdr);
	if (hdr.flags & VFU_FLAG_NO_REPLY)
		return;
	hdr.flags = VFU_FLAG_REPLY | (err ? VFU_FLAG_ERROR : 0);
	hdr.error = err;
	hdr.size = sizeof(hdr) + (err ? 0 : size);
	memcpy(tx->buf, &hdr, sizeof(hdr));
	tx->len = hdr.size;
}

static void message_handle(struct npu_vdev *dev)
{
	struct vdev_shared *sh = dev->sh;
	struct vfu_header hdr;
	npu_u32 size = 0;
	int err;

	message_header(sh, &hdr);
	vdev_count(dev, VDEV_COUNT_MESSAGES);
	sh->stage = VDEV_HANDLING;
	if ((hdr.flags & VFU_FLAG_TYPE) == VFU_FLAG_REPLY) {
		vdev_report_reply(dev, &hdr);
		message_finish(dev);
		return;
	}
	if (hdr.flags & VFU_FLAG_TYPE)
		err = EINVAL;
	else
		err = vdev_message_handle(dev, &hdr, sh->rx.buf + sizeof(hdr),
					  hdr.size - sizeof(hdr), sh->tx.buf + sizeof(hdr), &size);
	dev->reply_error = err;
	dev->reply_size = size;
}

/* The whole message. 1: it is here, 0: not yet, -1: the connection is of no more use. */
static int message_receive(struct npu_vdev *dev)
{
	struct vfu_header hdr;
	int ret = receive(dev, sizeof(hdr));

	if (ret <= 0)
		return ret;
	message_header(dev->sh, &hdr);
	if (hdr.size < sizeof(hdr) || hdr.size > VFU_MAX_MESSAGE) {
		npu_vdev_log(dev, "a message of %u bytes, it must have %zu to %zu", hdr.size,
			     sizeof(hdr), VFU_MAX_MESSAGE);
		return -1;
	}
	return receive(dev, hdr.size);
}

/* So many messages before others (control, second clients) get their turn. */
#define MESSAGES_IN_A_ROW	64

/* Go on with the client as far as nothing has to be waited for. */
static void connection_serve(struct npu_vdev *dev)
{
	struct vdev_shared *sh = dev->sh;
	int i, ret = 0;

	for (i = 0; i < MESSAGES_IN_A_ROW; i++) {
		if (!barrier_poll(dev) || sh->conn < 0 || dev->closing)
			return;
		if (sh->stage == VDEV_HANDLING) {
			reply_commit(dev, dev->reply_error, dev->reply_size);
			message_finish(dev);
		}
		if (sh->tx.len) {
			ret = transmit(dev);
			if (ret <= 0)
				break;
		}
		vdev_report_next(dev);
		if (sh->tx.len)
			continue;
		ret = message_receive(dev);
		if (ret <= 0)
			break;
		message_handle(dev);
	}
	if (ret < 0) {
		connection_close(dev);
		barrier_poll(dev);
	} else if (i == MESSAGES_IN_A_ROW) {
		vdev_kick(dev);
	}
}

static bool is_repeatable(npu_u16 command)
{
	return command != VFU_REGION_READ && command != VFU_REGION_WRITE &&
	       command != VFU_WRITE_MULTI;
}

/*
 * A worker died. What the client asked for is carried out again where that does no harm (mapping
 * memory must not fail), once; else it fails.
 */
void vdev_resume(struct npu_vdev *dev)
{
	struct vdev_shared *sh = dev->sh;
	struct vfu_header hdr;

	if (sh->conn < 0) {
		vdev_dma_clear(dev);
		vdev_irq_disconnect(dev);
		vdev_connection_end(sh);
		return;
	}
	vdev_dma_bus_master(dev, pci_config_bus_master(sh->config));
	dev->ops->bus_master(dev->core, dev->dma.bus_master);
	dev->ops->reset(dev->core, NPU_VDEV_RESET_RESTART);
	if (!sh->tx.len)
		sh->tx.done = 0;
	if (sh->stage != VDEV_HANDLING)
		return;
	message_header(sh, &hdr);
	if (sh->tx.len) {
		message_finish(dev);
	} else if (is_repeatable(hdr.command) && !sh->retries++) {
		if (hdr.command == VFU_VERSION)
			sh->negotiated = false;
		message_handle(dev);
	} else {
		npu_vdev_log(dev, "command %u, during which the worker died, fails", hdr.command);
		dev->reply_error = EIO;
	}
}

/* ---- the loop ---- */

enum { POLL_STOP, POLL_KICK, POLL_LISTENER, POLL_CTL_LISTENER, POLL_CONN, POLL_CTL,
       POLL_NUM = POLL_CTL + VDEV_MAX_CTL };

static void poll_fill(const struct npu_vdev *dev, struct pollfd *p)
{
	const struct vdev_shared *sh = dev->sh;
	bool waits = dev->barrier.active;
	int i;

	for (i = 0; i < POLL_NUM; i++)
		p[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	p[POLL_STOP].fd = dev->stop_fd;
	p[POLL_KICK].fd = dev->kick_fd;
	p[POLL_LISTENER].fd = dev->closing || dev->next_waits ? -1 : dev->listener;
	p[POLL_CTL_LISTENER].fd = dev->ctl_listener;
	/* While DMA has to end first nothing more is taken from the client. */
	p[POLL_CONN].fd = waits || dev->closing ? -1 : sh->conn;
	p[POLL_CONN].events = sh->tx.len ? POLLOUT : POLLIN;
	for (i = 0; i < (int)VDEV_MAX_CTL; i++)
		p[POLL_CTL + i].fd = dev->ctl[i].fd;
}

/* How long to wait, in us; -1: for ever. */
static npu_s64 poll_timeout(struct npu_vdev *dev)
{
	npu_s64 us = vdev_irq_update(dev);

	if (dev->barrier.active && (us < 0 || us > 1000))
		us = 1000;
	return us;
}

static void poll_serve(struct npu_vdev *dev, const struct pollfd *p)
{
	npu_u64 n;
	int i;

	/* Only resets the eventfd. */
	if (p[POLL_KICK].revents && read(dev->kick_fd, &n, sizeof(n)) < 0)
		n = 0;
	for (i = 0; i < (int)VDEV_MAX_CTL; i++)
		if (p[POLL_CTL + i].revents)
			vdev_ctl_input(dev, &dev->ctl[i]);
	if (p[POLL_CTL_LISTENER].revents)
		vdev_ctl_accept(dev);
	/* The client that is here first: its end makes room for the next one. */
	connection_serve(dev);
	if (p[POLL_LISTENER].revents && !dev->closing) {
		connection_accept(dev);
		connection_serve(dev);
	}
}

/* The client's connection ends as if it had gone; DMA has NPU_VDEV_STUCK_MS to end. */
static void connection_stop(struct npu_vdev *dev)
{
	if (dev->sh->conn >= 0)
		connection_close(dev);
	while (!barrier_poll(dev))
		usleep(200);
}

void vdev_loop(struct npu_vdev *dev)
{
	struct pollfd p[POLL_NUM];
	struct timespec ts;
	npu_s64 us;

	connection_serve(dev);
	for (;;) {
		us = poll_timeout(dev);
		ts = (struct timespec){ us / 1000000, us % 1000000 * 1000 };
		poll_fill(dev, p);
		dev->sh->busy_since = 0;
		if (ppoll(p, POLL_NUM, us < 0 ? NULL : &ts, NULL) < 0 && errno != EINTR)
			break;
		if (p[POLL_STOP].revents)
			break;
		dev->sh->busy_since = vdev_now_us() / 1000;
		poll_serve(dev, p);
	}
	connection_stop(dev);
}
