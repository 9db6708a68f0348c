// SPDX-License-Identifier: MIT
/*
 * The HTTP side of a server: connections, routes, and how it begins and ends. libmicrohttpd runs
 * all of this in one thread; a connection whose answer is not there yet is suspended, and the
 * thread that runs the model resumes it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/tcp.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>
#include "core/error.h"
#include "serve.h"

#define BODY_LIMIT	(4u << 20)	/* bytes of a request */
#define BODY_IGNORED	(64u << 20)	/* read and thrown away, so that the answer is heard */
#define UPLOAD_LIMIT	(64u << 20)	/* bytes of all requests that are not complete */
#define MAX_CONNECTIONS	4096u
#define SEND_BUFFER	(16 << 10)	/* what the kernel keeps for a slow reader */
#define DRAIN_SECONDS	30		/* for requests that are under way when the server ends */
#define LINGER_SECONDS	5		/* for their last bytes */

/* An HTTP request. */
struct exchange {
	struct server *s;
	struct MHD_Connection *conn;
	char *body;			/* terminated */
	size_t size, room;
	uint64_t ignored;		/* bytes beyond BODY_LIMIT, or that nobody had room for */
	bool crowded;			/* the latter: others have UPLOAD_LIMIT */
	struct request *request;	/* or NULL */
};

static void drop_body(struct exchange *x)
{
	x->s->uploads -= x->room;
	free(x->body);
	x->body = NULL;
	x->size = x->room = 0;
}

/* ---- answers ---- */

/* @text is from malloc() and taken over; NULL: there was no memory for it. */
static enum MHD_Result respond(struct exchange *x, unsigned int status, const char *type,
			       char *text, size_t size, const char *allow)
{
	struct MHD_Response *resp = NULL;
	enum MHD_Result ret;

	if (text)
		resp = MHD_create_response_from_buffer_with_free_callback(size, text, free);
	if (!resp) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(resp, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (allow)
		MHD_add_response_header(resp, MHD_HTTP_HEADER_ALLOW, allow);
	if (status == MHD_HTTP_TOO_MANY_REQUESTS || status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(resp, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	ret = MHD_queue_response(x->conn, status, resp);
	MHD_destroy_response(resp);
	return ret;
}

static enum MHD_Result respond_json(struct exchange *x, unsigned int status, char *text,
				    size_t size)
{
	return respond(x, status, "application/json", text, size, NULL);
}

static enum MHD_Result respond_error(struct exchange *x, const struct api_error *e,
				     const char *allow)
{
	size_t size = 0;
	char *text = api_error_text(e, &size);

	return respond(x, e->status, "application/json", text, size, allow);
}

/* What a stream has for its client, or it sleeps until there is something. */
static ssize_t read_stream(void *exchange, uint64_t pos, char *buf, size_t max)
{
	struct exchange *x = exchange;
	struct request *r = x->request;
	size_t n;
	ssize_t ret;

	(void)pos;
	pthread_mutex_lock(&x->s->lock);
	n = r->out_size < max ? r->out_size : max;
	ret = (ssize_t)n;
	if (n) {
		memcpy(buf, r->out, n);
		memmove(r->out, r->out + n, r->out_size - n);
		r->out_size -= n;
		if (r->stalled != 0)
			pthread_cond_signal(&x->s->work);
	} else if (r->outcome == OUT_NONE) {
		r->suspended = true;
		MHD_suspend_connection(x->conn);
	} else {
		ret = r->outcome == OUT_GONE ? MHD_CONTENT_READER_END_WITH_ERROR :
					       MHD_CONTENT_READER_END_OF_STREAM;
	}
	pthread_mutex_unlock(&x->s->lock);
	return ret;
}

static enum MHD_Result begin_stream(struct exchange *x)
{
	struct MHD_Response *resp;
	enum MHD_Result ret;

	resp = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream, x, NULL);
	if (!resp)
		return MHD_NO;
	MHD_add_response_header(resp, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
	MHD_add_response_header(resp, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	ret = MHD_queue_response(x->conn, MHD_HTTP_OK, resp);
	MHD_destroy_response(resp);
	return ret;
}

/* The whole text at once: this is called again when the connection is resumed. */
static enum MHD_Result answer(struct exchange *x)
{
	struct api_error e = { .type = "" };
	struct request *r = x->request;
	size_t size = 0;
	char *text;

	pthread_mutex_lock(&x->s->lock);
	if (r->outcome == OUT_NONE) {
		r->suspended = true;
		MHD_suspend_connection(x->conn);
		pthread_mutex_unlock(&x->s->lock);
		return MHD_YES;
	}
	pthread_mutex_unlock(&x->s->lock);
	if (r->outcome == OUT_GONE)
		return MHD_NO;
	if (r->outcome == OUT_STOP || r->outcome == OUT_LENGTH) {
		text = api_answer(x->s, r, &size);
		return respond_json(x, MHD_HTTP_OK, text, size);
	}
	api_outcome_error(r, &e);
	return respond_error(x, &e, NULL);
}

/* ---- routes ---- */

static bool is_json(struct exchange *x)
{
	const char *type = MHD_lookup_connection_value(x->conn, MHD_HEADER_KIND,
						       MHD_HTTP_HEADER_CONTENT_TYPE);
	size_t len = strlen("application/json");

	return type && !strncasecmp(type, "application/json", len) &&
	       (!type[len] || strchr("; \t", type[len]));
}

static enum MHD_Result post(struct exchange *x, enum request_kind kind)
{
	struct api_error e = { .type = "" };
	struct request *r = NULL;
	int ret;

	if (x->crowded)
		ret = api_fail(&e, 503, "", "requests that are not complete have %u MiB already",
			       UPLOAD_LIMIT >> 20);
	else if (x->ignored)
		ret = api_fail(&e, 413, "", "the body has more than %u bytes", BODY_LIMIT);
	else if (!is_json(x))
		ret = api_fail(&e, 415, "", "the Content-Type is not application/json");
	else
		ret = api_parse(x->s, kind, x->body ? x->body : "", x->size, &r, &e);
	drop_body(x);		/* the request may wait for long */
	if (ret)
		return respond_error(x, &e, NULL);
	r->conn = x->conn;
	r->fd = MHD_get_connection_info(x->conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	ret = serve_submit(x->s, r);
	if (ret) {
		request_destroy(r);
		if (ret == -EBUSY)
			api_fail(&e, 429, "", "%u requests run or wait already",
				 x->s->width + x->s->o->queue);
		else
			api_fail(&e, 503, "", "the server ends");
		return respond_error(x, &e, NULL);
	}
	x->request = r;
	return r->stream ? begin_stream(x) : answer(x);
}

static enum MHD_Result post_completion(struct exchange *x, const char *rest)
{
	(void)rest;
	return post(x, REQUEST_COMPLETION);
}

static enum MHD_Result post_chat(struct exchange *x, const char *rest)
{
	(void)rest;
	return post(x, REQUEST_CHAT);
}

static enum MHD_Result get_models(struct exchange *x, const char *rest)
{
	size_t size = 0;
	char *text = api_models(x->s, true, &size);

	(void)rest;
	return respond_json(x, MHD_HTTP_OK, text, size);
}

static enum MHD_Result get_model(struct exchange *x, const char *name)
{
	struct api_error e = { .type = "" };
	size_t size = 0;
	char *text;

	if (strcmp(name, x->s->name)) {
		api_no_model(&e, x->s, "model", name);
		return respond_error(x, &e, NULL);
	}
	text = api_models(x->s, false, &size);
	return respond_json(x, MHD_HTTP_OK, text, size);
}

static enum MHD_Result get_health(struct exchange *x, const char *rest)
{
	struct server *s = x->s;
	const char *what;
	char *text;

	(void)rest;
	pthread_mutex_lock(&s->lock);
	what = s->broken ? "the device is gone" : s->draining ? "ends" : "ok";
	pthread_mutex_unlock(&s->lock);
	if (asprintf(&text, "{\"status\":\"%s\"}\n", what) < 0)
		return MHD_NO;
	return respond_json(x, strcmp(what, "ok") ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK,
			    text, strlen(text));
}

static enum MHD_Result get_metrics(struct exchange *x, const char *rest)
{
	size_t size = 0;
	char *text = api_metrics(x->s, &size);

	(void)rest;
	return respond(x, MHD_HTTP_OK, "text/plain; version=0.0.4", text, size, NULL);
}

/* A path that ends with a slash stands for all that begin so; the handler gets the @rest. */
static const struct route {
	const char *path, *method, *allow;
	enum MHD_Result (*handle)(struct exchange *x, const char *rest);
} routes[] = {
	{ "/v1/completions", "POST", "POST", post_completion },
	{ "/v1/chat/completions", "POST", "POST", post_chat },
	{ "/v1/models", "GET", "GET, HEAD", get_models },
	{ "/v1/models/", "GET", "GET, HEAD", get_model },
	{ "/health", "GET", "GET, HEAD", get_health },
	{ "/metrics", "GET", "GET, HEAD", get_metrics },
};

static enum MHD_Result dispatch(struct exchange *x, const char *path, const char *method)
{
	struct api_error e = { .type = "" };
	size_t i, len;

	if (!strcmp(method, "HEAD"))	/* the library leaves the body away */
		method = "GET";
	for (i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		len = strlen(routes[i].path);
		if (strncmp(path, routes[i].path, len) ||
		    (path[len] && routes[i].path[len - 1] != '/'))
			continue;
		if (!strcmp(method, routes[i].method))
			return routes[i].handle(x, path + len);
		api_fail(&e, 405, "", "%s takes %s", path, routes[i].allow);
		return respond_error(x, &e, routes[i].allow);
	}
	api_fail(&e, 404, "", "there is no %s", path);
	return respond_error(x, &e, NULL);
}

/* ---- libmicrohttpd's callbacks ---- */

static bool take_body(struct exchange *x, const char *data, size_t size)
{
	size_t room;
	char *p;

	if (x->ignored || size > BODY_LIMIT - x->size) {
		drop_body(x);
		x->ignored += size;
		return x->ignored <= BODY_IGNORED;
	}
	if (x->room < x->size + size + 1) {
		room = 2 * (x->size + size) + 1;
		if (room - x->room > UPLOAD_LIMIT - x->s->uploads) {
			drop_body(x);
			x->crowded = true;
			x->ignored = size;
			return true;
		}
		p = realloc(x->body, room);
		if (!p)
			return false;
		x->body = p;
		x->s->uploads += room - x->room;
		x->room = room;
	}
	memcpy(x->body + x->size, data, size);
	x->size += size;
	x->body[x->size] = 0;
	return true;
}

/* Headers are there. A body that is too large by far is not even read. */
static enum MHD_Result begin(struct server *s, struct MHD_Connection *conn, void **ctx)
{
	const char *length = MHD_lookup_connection_value(conn, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_CONTENT_LENGTH);
	struct exchange *x = calloc(1, sizeof(*x));
	struct api_error e = { .type = "" };

	if (!x)
		return MHD_NO;
	x->s = s;
	x->conn = conn;
	*ctx = x;
	pthread_mutex_lock(&s->lock);
	s->exchanges++;
	pthread_mutex_unlock(&s->lock);
	if (!length || strtoull(length, NULL, 10) <= BODY_IGNORED)
		return MHD_YES;
	api_fail(&e, 413, "", "the body has more than %u bytes", BODY_LIMIT);
	return respond_error(x, &e, NULL);
}

static enum MHD_Result handle(void *server, struct MHD_Connection *conn, const char *path,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **ctx)
{
	struct exchange *x = *ctx;

	(void)version;
	if (!x)
		return begin(server, conn, ctx);
	if (*size) {
		if (!take_body(x, data, *size))
			return MHD_NO;
		*size = 0;
		return MHD_YES;
	}
	return x->request ? answer(x) : dispatch(x, path, method);
}

/* An exchange is over, with its answer or without. */
static void completed(void *server, struct MHD_Connection *conn, void **ctx,
		      enum MHD_RequestTerminationCode code)
{
	struct server *s = server;
	struct exchange *x = *ctx;

	(void)conn, (void)code;
	if (!x)
		return;
	*ctx = NULL;
	if (x->request)
		serve_detach(s, x->request);
	drop_body(x);
	free(x);
	pthread_mutex_lock(&s->lock);
	if (!--s->exchanges)
		pthread_cond_broadcast(&s->idle);
	pthread_mutex_unlock(&s->lock);
}

static void connected(void *server, struct MHD_Connection *conn, void **ctx,
		      enum MHD_ConnectionNotificationCode code)
{
	struct server *s = server;
	int fd = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	int size = SEND_BUFFER, on = 1;
	bool begins = code == MHD_CONNECTION_NOTIFY_STARTED;

	(void)ctx;
	if (begins) {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	}
	pthread_mutex_lock(&s->lock);
	s->metrics.connections += begins ? 1 : -1;
	pthread_mutex_unlock(&s->lock);
}

/* ---- begin and end ---- */

static sem_t signalled;
static volatile sig_atomic_t signals;

/* The first asks for a clean end, the second ends at once. */
static void on_signal(int sig)
{
	if (signals++)
		_exit(128 + sig);
	sem_post(&signalled);
}

static int catch_signals(struct npu_error *err)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	int ret = 0;

	signal(SIGPIPE, SIG_IGN);
	if (sem_init(&signalled, 0, 0) || sigaction(SIGINT, &sa, NULL) ||
	    sigaction(SIGTERM, &sa, NULL))
		ret = npu_error_set(err, -errno, "signals can not be caught: %s", strerror(errno));
	return ret;
}

/* A socket that listens on loopback, with the port that it has in @port. */
static int listen_on(uint32_t *port, int *fd, struct npu_error *err)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons((uint16_t)*port) };
	socklen_t len = sizeof(addr);
	int on = 1, ret;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd >= 0 && !setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    !bind(*fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(*fd, 1024) &&
	    !getsockname(*fd, (struct sockaddr *)&addr, &len)) {
		*port = ntohs(addr.sin_port);
		return 0;
	}
	ret = npu_error_set(err, -errno, "port %u: %s", *port, strerror(errno));
	if (*fd >= 0)
		close(*fd);
	return ret;
}

/* Connections at once: as many as there can be open files, less what the rest needs. */
static unsigned int connection_limit(void)
{
	struct rlimit lim;
	rlim_t want = MAX_CONNECTIONS + 128;

	if (getrlimit(RLIMIT_NOFILE, &lim))
		return 256;
	if (lim.rlim_cur < want) {
		lim.rlim_cur = lim.rlim_max < want ? lim.rlim_max : want;
		setrlimit(RLIMIT_NOFILE, &lim);
		getrlimit(RLIMIT_NOFILE, &lim);
	}
	if (lim.rlim_cur >= want)
		return MAX_CONNECTIONS;
	return lim.rlim_cur > 256 ? (unsigned int)lim.rlim_cur - 128 : 128;
}

static int start_http(struct server *s, struct MHD_Daemon **daemon, struct npu_error *err)
{
	uint32_t port = s->o->port;
	int fd, ret = listen_on(&port, &fd, err);

	if (ret)
		return ret;
	*daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0,
				   NULL, NULL, handle, s, MHD_OPTION_LISTEN_SOCKET, fd,
				   MHD_OPTION_NOTIFY_COMPLETED, completed, s,
				   MHD_OPTION_NOTIFY_CONNECTION, connected, s,
				   MHD_OPTION_CONNECTION_LIMIT, connection_limit(),
				   MHD_OPTION_CONNECTION_TIMEOUT, s->o->client_timeout,
				   MHD_OPTION_END);
	if (!*daemon) {
		close(fd);
		return npu_error_set(err, -EIO, "the HTTP server does not start");
	}
	printf("%s: http://127.0.0.1:%u/v1\n", s->name, port);
	fflush(stdout);
	return 0;
}

/* Wait until *@count is 0, for @secs at most. Called with s->lock. */
static bool wait_for_none(struct server *s, const uint32_t *count, int secs)
{
	struct timespec t;
	int ret = 0;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += secs;
	while (*count && !ret)
		ret = pthread_cond_timedwait(&s->idle, &s->lock, &t);
	return !*count;
}

/* Requests that are there get their answers, if that does not take too long; new ones do not. */
static void drain(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->draining = true;
	if (!wait_for_none(s, &s->num_requests, DRAIN_SECONDS)) {
		s->abandon = true;
		pthread_cond_signal(&s->work);
		pthread_mutex_unlock(&s->lock);
		npu_llm_cancel(s->m->llm);
		pthread_mutex_lock(&s->lock);
		wait_for_none(s, &s->num_requests, DRAIN_SECONDS);
	}
	wait_for_none(s, &s->exchanges, LINGER_SECONDS);
	pthread_mutex_unlock(&s->lock);
}

static void end_thread(struct server *s, pthread_t thread)
{
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	pthread_join(thread, NULL);
}

static int serve(struct server *s, struct npu_error *err)
{
	struct MHD_Daemon *daemon;
	pthread_t thread;
	int fd, ret = catch_signals(err);

	if (ret)
		return ret;
	ret = -pthread_create(&thread, NULL, serve_batch_thread, s);
	if (ret)
		return npu_error_set(err, ret, "no thread: %s", strerror(-ret));
	ret = start_http(s, &daemon, err);
	if (!ret) {
		while (sem_wait(&signalled) && errno == EINTR)
			;
		fd = MHD_quiesce_daemon(daemon);
		if (fd >= 0)
			close(fd);
		drain(s);
		MHD_stop_daemon(daemon);
	}
	end_thread(s, thread);
	return ret;
}

/* The model's name: that of its file. */
static char *model_name(const char *path)
{
	const char *base = strrchr(path, '/');
	char *name = strdup(base ? base + 1 : path);
	size_t len = name ? strlen(name) : 0;

	if (len > 4 && !strcmp(name + len - 4, ".npu"))
		name[len - 4] = 0;
	return name;
}

static int server_init(struct server *s, const struct model *m, const struct options *o,
		       struct npu_error *err)
{
	const struct npu_llm_info *info = &m->info;
	uint64_t cache = (uint64_t)info->npu_blocks * info->block;	/* at most num_blocks */
	pthread_condattr_t attr;
	int form = o->form ? npu_chat_form_find(o->form) : NPU_CHAT_AUTO;

	*s = (struct server){ .m = m, .o = o, .created = time(NULL) };
	if (form < 0)
		return npu_error_set(err, -EINVAL, "there is no chat template '%s'", o->form);
	s->form = (enum npu_chat_form)form;
	s->limit = cache < info->context ? (uint32_t)cache : info->context;
	s->width = info->max_sequences < info->max_logits ? info->max_sequences : info->max_logits;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->work, &attr);
	pthread_cond_init(&s->idle, &attr);
	pthread_condattr_destroy(&attr);
	s->name = model_name(o->model);
	s->chosen = calloc(s->width, sizeof(struct request *));
	s->sessions = calloc(s->width + 1, sizeof(*s->sessions));
	s->kept = calloc(o->prefixes + 1, sizeof(*s->kept));
	if (!s->name || !s->chosen || !s->sessions || !s->kept)
		return npu_error_set(err, -ENOMEM, "no memory for a server");
	return npu_llm_batch_create(m->llm, &s->batch, err);
}

int run_serve(const struct model *m, const struct options *o, struct npu_error *err)
{
	struct npu_llm_sampler *sampler = NULL;
	struct server s;
	int ret = npu_llm_sampler_create(&o->sampler, &sampler, err);	/* defaults of requests */

	npu_llm_sampler_destroy(sampler);
	if (ret)
		return ret;
	ret = server_init(&s, m, o, err);
	ret = ret ?: serve(&s, err);
	npu_llm_batch_destroy(s.batch);
	prefix_free(&s);
	free(s.chosen);
	free(s.sessions);
	free(s.name);
	return ret;
}
