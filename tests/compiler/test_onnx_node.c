// SPDX-License-Identifier: MIT
/*
 * ONNX's own conformance tests: every model of libonnx-testdata is compiled, run and compared with
 * the values that ship with it, for f32 and for f16. The tests give weights, shapes and axes as
 * inputs, where real models have constants: each is compiled as it is, and with all inputs but the
 * first, and all but the second, as initializers; whatever of these compiles must be right.
 *
 * What became of each test is written down in Documentation/conformance, one line a test, and this
 * program fails when a line is no longer true: a change shows. Tests of a single operator of the
 * sets in operator_sets.c have to be on the NPU. `make conformance` (--write FOLDER) writes the
 * files anew. With names as arguments only the tests whose name contains one of them are run, and
 * the reasons for refusals are shown.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_case.h"
#include "operator_sets.h"
#include "tap.h"
#include "tools/common/file.h"

static const char *const groups[] = { "node", "pytorch-converted", "pytorch-operator", "simple" };

/* Tests that have to pass over all groups; a floor under the lists, which may be written anew. */
#define AT_LEAST	940
/* Those of a single operator of the sets. */
#define SETS_AT_LEAST	450

/* Tests whose data are wrong, which newer versions of them correct, and in what. */
static const struct {
	const char *name, *why;
} wrong_data[] = {
	/* scale * size - 1, while both others take the size of the result - 1 */
	{ "test_resize_downsample_scales_cubic_align_corners",
	  "its values contradict the operator's text and ONNX Runtime" },
	{ "test_resize_downsample_scales_linear_align_corners",
	  "its values contradict the operator's text and ONNX Runtime" },
	{ "test_cast_FLOAT_to_BFLOAT16", "its values are cut off, not rounded" },
	{ "test_castlike_FLOAT_to_BFLOAT16", "its values are cut off, not rounded" },
	{ "test_castlike_FLOAT_to_BFLOAT16_expanded", "its values are cut off, not rounded" },
	{ "test_castlike_BFLOAT16_to_FLOAT", "'like' is 3x4 in the model and 1 in the data" },
	{ "test_castlike_BFLOAT16_to_FLOAT_expanded",
	  "'like' is 3x4 in the model and 1 in the data" },
};

enum outcome { ON_NPU, WITH_HOST, FOLDED, REFUSED, NOT_COMPARED, FAILED, NUM_OUTCOMES };

static const char *const outcome_text[] = { "npu",     "host",	       "folded",
					    "refused", "not compared", "FAILED" };

struct verdict {
	enum outcome outcome;
	bool constants;		/* only with the other inputs constant */
	char why[400];
};

static bool verbose;
static const char *write_dir;
static enum npu_precision precision;

/* How far float results may be off: absolute, and relative. */
static const double tolerance[] = { [NPU_PRECISION_F16] = 4e-3, [NPU_PRECISION_F32] = 1e-4 };

static void compare(const char *name, const void *job, size_t size, const struct named_array *in,
		    int num_in, const struct onnx_case *c, struct verdict *v)
{
	struct named_array got[CASE_IO_MAX];
	struct runner r;
	int n = runner_open(&r, job, size);

	if (!n)
		n = runner_run(&r, in, num_in, got, CASE_IO_MAX);
	if (n < 0) {
		tap_ok(0, "%s runs: %s", name, r.why);
		v->outcome = FAILED;
	}
	for (int i = 0; i < c->num_want && n >= 0; i++) {
		char text[300] = "";
		int k = 0;

		while (k < n && strcmp(got[k].name, c->want[i].name))
			k++;
		if (k < n && onnx_case_same(&got[k].arr, &c->want[i].arr, tolerance[precision],
					    precision == NPU_PRECISION_F16, text, sizeof(text)))
			continue;
		tap_ok(0, "%s output %s: %s", name, c->want[i].name, k < n ? text : "missing");
		v->outcome = FAILED;
	}
	for (int i = 0; i < n; i++)
		npu_npy_free(&got[i].arr);
	runner_close(&r);
}

/* Operators that run on the host, each once; "" when none does. */
static void host_operators(const struct npu_compile_result *result, char *text, size_t size)
{
	const struct npu_placement *p;

	*text = 0;
	for (unsigned int i = 0; (p = npu_compile_placement(result, i)) != NULL; i++)
		if (!strcmp(npu_place_name(p->place), "host") && !strstr(text, p->op))
			snprintf(text + strlen(text), size - strlen(text), "%s%s",
				 *text ? ", " : "", p->op);
}

/* The first message, without the model's name. */
static void first_message(const char *name, const char *messages, char *text, size_t size)
{
	size_t skip = strlen(name);

	if (!strncmp(messages, name, skip) && !strncmp(messages + skip, ": ", 2))
		messages += skip + 2;
	snprintf(text, size, "%.*s", (int)strcspn(messages, "\n"), messages);
}

static void compile_and_run(const char *name, const uint8_t *model, size_t size,
			    const struct named_array *in, int num_in, const struct onnx_case *c,
			    struct verdict *v)
{
	struct npu_compile_options options;
	struct npu_compile_result *result;
	size_t job_size;
	const void *job;
	int err;

	npu_compile_options_init(&options);
	options.precision = precision;
	err = npu_compile_onnx(model, size, name, &options, &result);
	v->outcome = REFUSED;
	first_message(name, npu_compile_messages(result), v->why, sizeof(v->why));
	if (err && !*v->why) {
		tap_ok(0, "%s is refused with a reason", name);
		v->outcome = FAILED;
	}
	if (err && verbose)
		tap_diag("%s", npu_compile_messages(result));
	if (!err) {
		host_operators(result, v->why, sizeof(v->why));
		v->outcome = *c->incomparable ? NOT_COMPARED : *v->why ? WITH_HOST : ON_NPU;
		if (*c->incomparable)
			snprintf(v->why, sizeof(v->why), "%s", c->incomparable);
		job = npu_compile_job(result, &job_size);
		if (!*c->incomparable)
			compare(name, job, job_size, in, num_in, c, v);
	}
	npu_compile_result_free(result);
}

/* The best of the forms, but any failure is one. */
static struct verdict check_forms(const char *name, const struct onnx_case *c)
{
	struct verdict best = { .outcome = REFUSED }, v = best;

	compile_and_run(name, c->data, c->size, c->in, c->num_in, c, &best);
	/* keep -1: all of them, which only folding can be the answer to */
	for (int form = 0; form < 3 && !*c->incomparable; form++) {
		int keep = form < 2 ? form : -1;
		size_t size;
		uint8_t *model = form < 2 || best.outcome == REFUSED ?
					 onnx_case_constants(c, keep, &size) :
					 NULL;

		if (!model)
			continue;
		compile_and_run(name, model, size, c->in + (keep < 0 ? 0 : keep), keep >= 0, c, &v);
		free(model);
		v.constants = true;
		if (keep < 0 && v.outcome <= WITH_HOST)
			v.outcome = FOLDED;
		/* The reason of a refusal with constants says more than "must be a constant". */
		if (v.outcome == FAILED || v.outcome < best.outcome ||
		    (best.outcome == REFUSED && v.outcome == REFUSED && !form))
			best = v;
		if (best.outcome == FAILED)
			break;
	}
	return best;
}

static bool check_test(const char *dir, const char *name, struct verdict *v)
{
	struct onnx_case c;
	bool found = onnx_case_read(&c, dir);

	for (size_t i = 0; i < sizeof(wrong_data) / sizeof(wrong_data[0]); i++)
		if (!strcmp(name, wrong_data[i].name))
			snprintf(c.incomparable, sizeof(c.incomparable), "%s", wrong_data[i].why);
	if (found && c.model) {
		*v = check_forms(name, &c);
		operator_sets_note(name, &c, v->why, v->outcome == ON_NPU || v->outcome == FOLDED);
	}
	onnx_case_free(&c);
	return found && c.model;
}

static bool wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strstr(name, argv[i]))
			return true;
	return argc < 2;
}

struct list {
	char *text;
	size_t size, max;
	int count[NUM_OUTCOMES];
};

static void list_add(struct list *l, const char *name, const struct verdict *v)
{
	char line[700];
	size_t n;

	bool reason = v->outcome != ON_NPU && v->outcome != FOLDED;

	n = (size_t)snprintf(line, sizeof(line), "%s: %s%s%s%s\n", name, outcome_text[v->outcome],
			     v->constants && v->outcome <= WITH_HOST ? ", other inputs constant" :
								       "",
			     reason ? ": " : "", reason ? v->why : "");
	l->count[v->outcome]++;
	if (l->size + n + 1 > l->max) {
		l->max = 2 * l->max + n + 4096;
		l->text = realloc(l->text, l->max);
	}
	if (!l->text)
		exit(1);
	memcpy(l->text + l->size, line, n + 1);
	l->size += n;
}

/* What the file in Documentation/conformance has to be. */
static char *list_file(const struct list *l, const char *group)
{
	char *text = malloc(l->size + 800);

	if (!text)
		exit(1);
	snprintf(text, l->size + 800,
		 "# libonnx-testdata, %s, compiled for f32: what became of each test. Written by "
		 "`make conformance`.\n"
		 "# npu: all of it on the NPU; host: with steps on the host, by these operators;\n"
		 "# folded: with all inputs constant it is computed when compiling, else it is refused;\n"
		 "# \"other inputs constant\": only so, as real models have them.\n"
		 "# %d tests: %d npu, %d host, %d folded, %d refused, %d not compared\n%s",
		 group,
		 l->count[0] + l->count[1] + l->count[2] + l->count[3] + l->count[4] + l->count[5],
		 l->count[ON_NPU], l->count[WITH_HOST], l->count[FOLDED], l->count[REFUSED],
		 l->count[NOT_COMPARED], l->text ? l->text : "");
	return text;
}

static void show_difference(const char *now, const char *then)
{
	int shown = 0;

	while ((*now || *then) && shown < 20) {
		size_t a = strcspn(now, "\n"), b = strcspn(then, "\n");

		if (a != b || memcmp(now, then, a)) {
			tap_diag("is   %.*s", (int)a, now);
			tap_diag("file %.*s", (int)b, then);
			shown++;
		}
		now += a + !!now[a];
		then += b + !!then[b];
	}
}

/* Write @text to <name>.txt of the folder, or compare it with what is there. */
static void check_file(const char *name, const char *text)
{
	const char *dir = write_dir ? write_dir : "Documentation/conformance";
	struct npu_error why = { 0 };
	uint8_t *then = NULL;
	size_t size = 0;
	char path[600];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.txt", dir, name);
	if (write_dir) {
		f = fopen(path, "w");
		tap_ok(f && fputs(text, f) >= 0 && !fclose(f), "%s is written", path);
	} else if (npu_file_read(path, 1 << 24, &then, &size, &why)) {
		tap_ok(0, "%s can be read: run the tests from the top of the tree", path);
	} else {
		bool same = size == strlen(text) && !memcmp(then, text, size);

		tap_ok(same, "%s is what happens today; else `make conformance`", path);
		then = realloc(then, size + 1);
		if (!same && then) {
			then[size] = 0;
			show_difference(text, (const char *)then);
		}
	}
	free(then);
}

static void check_list(const struct list *l, const char *group)
{
	char *text = list_file(l, group);

	check_file(group, text);
	free(text);
}

static void check_sets(const char *type)
{
	char *text = operator_sets_file();

	tap_diag("in the operator sets: %d cases, %d on the NPU", operator_sets_cases(),
		 operator_sets_cases() - operator_sets_elsewhere());
	tap_ok(operator_sets_cases() >= SETS_AT_LEAST && !operator_sets_elsewhere(),
	       "every test of an operator of the sets is on the NPU in %s: %d of %d are not", type,
	       operator_sets_elsewhere(), operator_sets_cases());
	if (precision == NPU_PRECISION_F32)
		check_file("operator-sets", text);
	free(text);
}

static void run_group(const char *group, int argc, char **argv, int *total)
{
	const char *models = getenv("NPU_MODELS");
	struct list list = { 0 };
	struct dirent **entry;
	char base[300], dir[600];
	int n;

	snprintf(base, sizeof(base), "%s/onnx-tests/%s", models ? models : "build/models", group);
	n = scandir(base, &entry, NULL, alphasort);
	if (n < 0) {
		snprintf(base, sizeof(base), "/usr/share/libonnx-testdata/data/%s", group);
		n = scandir(base, &entry, NULL, alphasort);
	}
	if (n < 0) {
		tap_skip(group, "no test data; scripts/models.sh onnx-tests fetches them");
		return;
	}
	for (int i = 0; i < n; i++) {
		struct verdict v = { .outcome = REFUSED };

		snprintf(dir, sizeof(dir), "%s/%s", base, entry[i]->d_name);
		if (*entry[i]->d_name != '.' && wanted(entry[i]->d_name, argc, argv) &&
		    check_test(dir, entry[i]->d_name, &v))
			list_add(&list, entry[i]->d_name, &v);
		free(entry[i]);
	}
	free(entry);
	for (int i = 0; i < NUM_OUTCOMES; i++)
		total[i] += list.count[i];
	if (verbose && list.text)
		fputs(list.text, stderr);
	else if (precision == NPU_PRECISION_F32)
		check_list(&list, group);
	free(list.text);
}

static void run_all(int argc, char **argv)
{
	const char *type = precision == NPU_PRECISION_F16 ? "f16" : "f32";
	int total[NUM_OUTCOMES] = { 0 };

	operator_sets_reset();
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		run_group(groups[g], argc, argv, total);
	tap_diag("%s: %d tests pass on the NPU, %d with host steps, %d folded, %d refused, "
		 "%d not compared, %d failed", type, total[ON_NPU], total[WITH_HOST], total[FOLDED],
		 total[REFUSED], total[NOT_COMPARED], total[FAILED]);
	if (argc < 2 && total[ON_NPU])
		tap_ok(total[ON_NPU] + total[WITH_HOST] >= AT_LEAST,
		       "%d conformance tests of ONNX pass in %s, at least %d are expected",
		       total[ON_NPU] + total[WITH_HOST], type, AT_LEAST);
	if (argc < 2 && total[ON_NPU])
		check_sets(type);
	tap_ok(!total[FAILED], "nothing that compiles for %s is computed wrongly", type);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--write")) {
		write_dir = argv[2];
		argc = 1;
	}
	verbose = argc > 1;
	precision = NPU_PRECISION_F32;
	run_all(argc, argv);
	precision = NPU_PRECISION_F16;
	if (!write_dir)
		run_all(argc, argv);
	return tap_done();
}
