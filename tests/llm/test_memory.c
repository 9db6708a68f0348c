// SPDX-License-Identifier: MIT
/*
 * What npu_llm_memory() says before a model is loaded, against what is there when a step of the
 * largest lengths has run and the cache is full: in process by how much more of this process is
 * resident, on the driver's device (NPU_TEST_DEVICE, with the job files of folder NPU_TEST_JOBS) by
 * what the kernel counts for its file. Each model is measured in a process of its own that has run
 * another one before, so that code, heap and stacks of the engine are there already. And once in a
 * process that has run none: all that is resident then against the model and what it says of the
 * process.
 */
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/tmp.h"
#include "model_file.h"
#include "npu_llm.h"
#include "shared.h"
#include "tap.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define PERCENT		2.0
#define SMALL_KIB	4096	/* below it, what threads' heaps happen to hold is more than that */
#define HEAPS_KIB	256
#define CODE_KIB	384	/* which pages of libraries are read in is the kernel's choice */

struct result {
	double predicted, measured;	/* KiB */
	struct npu_llm_memory memory;
	char why[256];
};

/* ---- what there is ---- */

static double number_of(const char *path, const char *key)
{
	FILE *f = fopen(path, "r");
	double v = -1;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			v = atof(line + strlen(key));
	if (f)
		fclose(f);
	return v;
}

/* KiB of the buffers that the driver counts for this process. */
static double driver_kib(void)
{
	DIR *d = opendir("/proc/self/fdinfo");
	double sum = 0, v;
	struct dirent *e;
	char path[512];

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%.250s", e->d_name);
		v = number_of(path, "drm-total-memory:");
		sum += v > 0 ? v : 0;
	}
	if (d)
		closedir(d);
	return sum;
}

static double now_kib(const char *device)
{
	malloc_trim(0);
	/* to the page: the counters of status are some pages off on each processor */
	return device ? driver_kib() : number_of("/proc/self/smaps_rollup", "Rss:");
}

/* ---- a model at its largest ---- */

static bool largest_step(struct npu_llm_batch *b, const struct npu_llm_info *i,
			 struct npu_llm_session **s, const int32_t *text, struct npu_error *err)
{
	uint32_t rows = i->max_rows / i->max_sequences, logits = i->max_logits, k, n;

	for (k = 0; k < i->max_sequences; k++) {
		n = k ? rows : i->max_rows - rows * (i->max_sequences - 1);
		n = n < i->context ? n : i->context;
		if (npu_llm_batch_add(b, s[k], text, n,
				      n <= logits ? NPU_LLM_WANT_ALL : NPU_LLM_WANT_NONE, err) < 0)
			return false;
		logits -= n <= logits ? n : 0;
	}
	return !npu_llm_batch_run(b, err);
}

static bool fill(struct npu_llm_batch *b, const struct npu_llm_info *i, struct npu_llm_session *s,
		 const int32_t *text, struct npu_error *err)
{
	uint32_t left, n;

	while ((left = i->context - npu_llm_session_length(s))) {
		n = left < i->max_rows ? left : i->max_rows;
		npu_llm_batch_clear(b);
		if (npu_llm_batch_add(b, s, text, n, NPU_LLM_WANT_NONE, err) < 0 ||
		    npu_llm_batch_run(b, err))
			return false;
	}
	return true;
}

/* Run the model full; *@kib: what is there then. The host's part fills no cache on a device. */
static bool use(const char *path, const char *device, double *kib, struct npu_error *err)
{
	struct npu_llm_options opt = NPU_INIT(opt);
	struct npu_llm_info i = NPU_INIT(i);
	struct npu_llm_session **s = NULL;
	struct npu_llm_batch *b = NULL;
	struct npu_llm *llm = NULL;
	int32_t *text = NULL;
	uint32_t k;
	bool ok;

	opt.device = device ? device : "sim:threads=2";
	ok = !npu_llm_open(path, &opt, &llm, err) && !npu_llm_info(llm, &i) &&
	     !npu_llm_batch_create(llm, &b, err);
	if (ok) {
		s = calloc(i.max_sequences, sizeof(*s));
		text = calloc(i.max_rows, sizeof(*text));
		for (k = 0; k < i.max_rows; k++)
			text[k] = (int32_t)(k * 7 % i.vocab);
		for (k = 0; k < i.max_sequences && ok; k++)
			ok = !npu_llm_session_create(llm, &s[k], err);
	}
	ok = ok && largest_step(b, &i, s, text, err);
	for (k = 0; ok && !device && k < i.max_sequences; k++)
		ok = fill(b, &i, s[k], text, err);
	npu_llm_info(llm, &i);
	if (ok && !device && i.free_blocks)
		ok = !snprintf(err->text, sizeof(err->text), "%u blocks are free", i.free_blocks);
	*kib = now_kib(device);
	npu_llm_batch_destroy(b);
	for (k = 0; s && k < i.max_sequences; k++)
		npu_llm_session_destroy(s[k]);
	npu_llm_close(llm);
	free(s);
	free(text);
	return ok;
}

static bool predict(const char *path, const char *device, struct npu_llm_memory *m,
		    struct npu_error *err)
{
	struct npu_llm_options opt = NPU_INIT(opt);
	struct npu_llm_session *s;
	struct npu_llm *llm;
	bool ok;

	opt.device = device ? device : "sim:threads=2";
	opt.flags = NPU_LLM_LOOK;
	if (npu_llm_open(path, &opt, &llm, err))
		return false;
	*m = (struct npu_llm_memory)NPU_INIT(*m);
	ok = !npu_llm_memory(llm, m) && npu_llm_session_create(llm, &s, NULL) == -EINVAL;
	npu_llm_close(llm);
	return ok;
}

static void measure(const char *path, const char *warm, const char *device, struct result *r)
{
	struct npu_error err = { .text = "" };
	double before, after;
	bool whole;

	if ((warm && !use(warm, device, &before, &err)) || !predict(path, device, &r->memory, &err))
		goto out;
	usleep(100000);		/* threads of the device before are gone */
	whole = !warm && !device;
	before = whole ? 0 : now_kib(device);
	if (!use(path, device, &after, &err))
		goto out;
	r->predicted = (double)(r->memory.total - (device ? r->memory.host : 0) +
				(whole ? r->memory.process : 0)) / 1024;
	r->measured = after - before;
out:
	snprintf(r->why, sizeof(r->why), "%.250s", err.text);
}

/* In a process of its own, whose heap has seen nothing else. */
static void measure_apart(const char *path, const char *warm, const char *device, struct result *r)
{
	int fd[2];
	pid_t pid;

	memset(r, 0, sizeof(*r));
	if (pipe(fd) || (pid = fork()) < 0) {
		snprintf(r->why, sizeof(r->why), "no process: %s", strerror(errno));
		return;
	}
	if (!pid) {
		measure(path, warm, device, r);
		_exit(write(fd[1], r, sizeof(*r)) != sizeof(*r));
	}
	close(fd[1]);
	if (read(fd[0], r, sizeof(*r)) != sizeof(*r))
		snprintf(r->why, sizeof(r->why), "it ended");
	close(fd[0]);
	waitpid(pid, NULL, 0);
}

static int by_measured(const void *a, const void *b)
{
	const struct result *x = a, *y = b;

	return (x->measured > y->measured) - (x->measured < y->measured);
}

static bool is_off(const struct result *r, double slack)
{
	if (r->predicted < SMALL_KIB)
		slack += HEAPS_KIB;
	return *r->why || fabs(r->measured - r->predicted) > r->predicted * PERCENT / 100 + slack;
}

/*
 * Of three, the one in the middle, where the first is off: which of a heap's arenas a thread takes
 * depends on who runs at that moment, and small models are as small as that.
 */
static void check(const char *what, const char *path, const char *warm, const char *device)
{
	double off, slack = warm || device ? 0 : CODE_KIB;
	struct result tries[3], r;
	const struct npu_llm_memory *m = &r.memory;

	measure_apart(path, warm, device, &tries[0]);
	r = tries[0];
	if (is_off(&r, slack)) {
		measure_apart(path, warm, device, &tries[1]);
		measure_apart(path, warm, device, &tries[2]);
		qsort(tries, 3, sizeof(tries[0]), by_measured);
		r = tries[1];
	}
	off = r.predicted > 0 ? 100 * (r.measured / r.predicted - 1) : 100;
	tap_ok(!is_off(&r, slack),
	       "%s: %.0f KiB predicted (weights %.0f, cache %.0f, scratch %.0f, rest %.0f, process %.0f), %.0f measured: %+.2f %%%s%s",
	       what, r.predicted, (double)m->weights / 1024, (double)m->kv / 1024,
	       (double)m->scratch / 1024, (double)(m->program + (device ? 0 : m->host)) / 1024,
	       (double)(warm || device ? 0 : m->process) / 1024, r.measured, off,
	       *r.why ? ", " : "", r.why);
}

/* ---- models ---- */

/* In a process of its own: what the compiler leaves on the heap would be taken for nothing. */
static bool compile(const char *gguf, const char *npu, const struct npu_llm_compile_options *opt)
{
	struct npu_error err = { .text = "" };
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		if (npu_llm_compile(gguf, npu, opt, NULL, &err))
			tap_diag("%s", err.text);
		_exit(*err.text != 0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static bool write_model(const struct model_spec *spec, const char *path)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid)
		_exit(!model_write(spec, path));
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static const struct file_case {
	const char *file;		/* in the tree, or of the shared models */
	uint32_t context, batch, chunk, kv;
} files[] = {
	{ "models/kjv/kjv-Q8_0.gguf", 512, 16, 512, NPU_LLM_KV_F16 },
	{ "models/kjv/kjv-Q8_0.gguf", 256, 32, 64, NPU_LLM_KV_I8 },
	{ "kjv/kjv-f16.gguf", 512, 8, 512, NPU_LLM_KV_F16 },
	{ "kjv/kjv-Q4_0.gguf", 384, 24, 256, NPU_LLM_KV_F32 },
	{ "kjv/kjv-Q4_K_M.gguf", 512, 16, 128, NPU_LLM_KV_F16 },
	{ "stories260K-f32.gguf", 512, 64, 512, NPU_LLM_KV_F16 },
	{ "stories260K-Q8_0.gguf", 256, 100, 1024, NPU_LLM_KV_F32 },
	/* small ones */
	{ "kjv/kjv-Q4_0.gguf", 512, 4, 128, NPU_LLM_KV_I8 },
	{ "kjv/kjv-Q4_K_M.gguf", 256, 2, 64, NPU_LLM_KV_F16 },
	{ "stories260K-f32.gguf", 512, 8, 256, NPU_LLM_KV_F16 },
	{ "stories260K-Q8_0.gguf", 512, 4, 256, NPU_LLM_KV_F16 },
};

static const struct random_case {
	const char *arch;
	uint32_t dim, layers, vocab, type, context, batch, chunk, kv;
} randoms[] = {
	{ "llama", 256, 6, 8000, FILE_F16, 512, 4, 200, NPU_LLM_KV_F16 },
	{ "qwen3", 256, 4, 6000, FILE_Q4_0, 1024, 4, 512, NPU_LLM_KV_F32 },
	{ "gemma3", 192, 7, 5000, FILE_Q8_0, 512, 16, 300, NPU_LLM_KV_I8 },
	{ "phi3", 320, 3, 4000, FILE_F32, 256, 64, 256, NPU_LLM_KV_F16 },
};

static void check_files(const char *warm)
{
	unsigned int i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const struct file_case *f = &files[i];
		const char *gguf = strncmp(f->file, "models/", 7) ? shared_path(f->file) : f->file;
		struct npu_llm_compile_options opt = NPU_INIT(opt);
		char what[160], npu[512];

		opt.context = f->context;
		opt.batch = f->batch;
		opt.chunk = f->chunk;
		opt.kv = f->kv;
		snprintf(npu, sizeof(npu), "%s", tmp_path("file.npu"));
		snprintf(what, sizeof(what), "%s, context %u, batch %u, chunk %u, %s cache", f->file, f->context,
			 f->batch, f->chunk, npu_llm_kv_name(f->kv));
		if (access(gguf, R_OK)) {
			tap_skip(what, "it is not there");
			continue;
		}
		if (!tap_ok(compile(gguf, npu, &opt), "%s", what))
			continue;
		check("it", npu, warm, NULL);
		check("with the whole process", npu, NULL, NULL);
	}
}

static void check_randoms(const char *warm)
{
	unsigned int i;

	for (i = 0; i < sizeof(randoms) / sizeof(randoms[0]); i++) {
		const struct random_case *r = &randoms[i];
		struct model_spec spec = model_spec_of(r->arch);
		struct npu_llm_compile_options opt = NPU_INIT(opt);
		char what[160], npu[512], gguf[512];

		spec.dim = r->dim;
		spec.layers = r->layers;
		spec.vocab = r->vocab;
		spec.type = r->type;
		spec.context = opt.context = r->context;
		spec.heads = 8;
		spec.kv_heads = 4;
		spec.head_dim = 32;
		spec.ff = 3 * r->dim;
		opt.batch = r->batch;
		opt.chunk = r->chunk;
		opt.kv = r->kv;
		snprintf(npu, sizeof(npu), "%s", tmp_path("random.npu"));
		snprintf(gguf, sizeof(gguf), "%s", tmp_path("random.gguf"));
		snprintf(what, sizeof(what),
			 "random %s of %u x %u, context %u, batch %u, chunk %u, %s cache", r->arch,
			 r->layers, r->dim, r->context, r->batch, r->chunk, npu_llm_kv_name(r->kv));
		if (!write_model(&spec, gguf) || !compile(gguf, npu, &opt))
			tap_ok(0, "%s: compiled", what);
		else
			check(what, npu, warm, NULL);
	}
}

/* On the driver's device: the job files of a folder. */
static void check_folder(const char *folder, const char *device)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	char path[512];
	int n = 0;

	while (d && (e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (len < 4 || strcmp(e->d_name + len - 4, ".npu"))
			continue;
		snprintf(path, sizeof(path), "%.200s/%.250s", folder, e->d_name);
		check(e->d_name, path, NULL, device);
		n++;
	}
	if (d)
		closedir(d);
	tap_ok(n, "%d models of %s", n, folder);
}

int main(void)
{
	struct npu_llm_compile_options opt = NPU_INIT(opt);
	const char *folder = getenv("NPU_TEST_JOBS");
	char warm[512];

	if (folder) {
		check_folder(folder, getenv("NPU_TEST_DEVICE"));
		return tap_done();
	}
	if (SANITIZED) {
		tap_skip("memory", "a sanitizer has its own");
		return tap_done();
	}
	snprintf(warm, sizeof(warm), "%s", tmp_path("warm.npu"));
	opt.context = opt.chunk = 64;
	opt.batch = 2;
	if (tap_ok(compile("models/kjv/kjv-Q8_0.gguf", warm, &opt), "a first model")) {
		check_files(warm);
		check_randoms(warm);
	}
	return tap_done();
}
