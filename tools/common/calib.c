// SPDX-License-Identifier: MIT
/* .npy files as calibration samples. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "npu_isa.h"
#include "tools/common/calib.h"

#define MAX_SAMPLES	100000

static const int device_type[NPU_NPY_TYPES] = {
	[NPU_NPY_F32] = NPU_F32, [NPU_NPY_F16] = NPU_F16,   [NPU_NPY_F64] = NPU_F32,
	[NPU_NPY_I64] = NPU_I64, [NPU_NPY_I32] = NPU_I32,   [NPU_NPY_I8] = NPU_I8,
	[NPU_NPY_U8] = NPU_U8,	 [NPU_NPY_BOOL] = NPU_BOOL,
};

static int out_of_memory(struct npu_error *why)
{
	return npu_error_set(why, -ENOMEM, "out of memory");
}

/* NumPy computes in f64 unless told otherwise; models do not. */
static int narrow(struct npu_npy *a)
{
	const double *from = a->data;
	float *to;

	if (a->type != NPU_NPY_F64)
		return 0;
	to = malloc((a->count ? a->count : 1) * sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < a->count; i++)
		to[i] = (float)from[i];
	free(a->data);
	a->data = to;
	a->type = NPU_NPY_F32;
	return 0;
}

static bool names_input(const struct npu_calib_sample *s, const char *name)
{
	for (unsigned int i = 0; i < s->num_tensors; i++)
		if (!*name || !*s->tensors[i].name || !strcmp(s->tensors[i].name, name))
			return true;
	return false;
}

static int add_sample(struct calib_set *set, struct npu_error *why)
{
	struct npu_calib_sample *s = realloc(set->sample, (set->num_samples + 1) * sizeof(*s));

	if (!s)
		return out_of_memory(why);
	set->sample = s;
	s[set->num_samples++] = (struct npu_calib_sample){ NULL, 0 };
	return 0;
}

/* Room for one more file, loaded from @path. */
static int add_file(struct calib_set *set, const char *path, const char *name,
		    struct npu_error *why)
{
	struct npu_npy *file = realloc(set->file, (set->num_files + 1) * sizeof(*file));
	char **names, **paths;
	int err;

	if (!file)
		return out_of_memory(why);
	set->file = file;
	names = realloc(set->name, (set->num_files + 1) * sizeof(*names));
	if (!names)
		return out_of_memory(why);
	set->name = names;
	paths = realloc(set->path, (set->num_files + 1) * sizeof(*paths));
	if (!paths)
		return out_of_memory(why);
	set->path = paths;
	err = npu_npy_read(path, &file[set->num_files], why);
	if (err)
		return err;
	names[set->num_files] = strdup(name);
	paths[set->num_files] = strdup(path);
	set->num_files++;
	if (!names[set->num_files - 1] || !paths[set->num_files - 1] ||
	    narrow(&file[set->num_files - 1]))
		return out_of_memory(why);
	/* of 8 at most, and one that counts samples */
	if (file[set->num_files - 1].rank > 9 || !device_type[file[set->num_files - 1].type])
		return npu_error_set(why, -ENOTSUP, "%s: rank %d of %s is no input of a model",
				     path, file[set->num_files - 1].rank,
				     npu_npy_type_name(file[set->num_files - 1].type));
	return 0;
}

/* Input @name (NULL: the only one) of sample @index, which is the last. */
static int add_tensor(struct calib_set *set, const char *path, const char *name,
		      struct npu_error *why)
{
	struct npu_calib_sample *s = &set->sample[set->num_samples - 1];
	struct npu_calib_tensor *t;
	const struct npu_npy *a;
	int err = add_file(set, path, name ? name : "", why);

	if (err)
		return err;
	t = realloc((void *)(uintptr_t)s->tensors, (s->num_tensors + 1) * sizeof(*t));
	if (!t)
		return out_of_memory(why);
	a = &set->file[set->num_files - 1];
	/* dims points into the array of files, which may move: filled in at the end */
	t[s->num_tensors++] = (struct npu_calib_tensor){ .name = set->name[set->num_files - 1],
							 .dtype = device_type[a->type],
							 .rank = a->rank,
							 .data = a->data,
							 .source = set->path[set->num_files - 1] };
	s->tensors = t;
	return 0;
}

static void set_dims(struct calib_set *set)
{
	unsigned int file = 0;

	for (unsigned int i = 0; i < set->num_samples; i++)
		for (unsigned int k = 0; k < set->sample[i].num_tensors; k++)
			((struct npu_calib_tensor *)(uintptr_t)set->sample[i].tensors)[k].dims =
				set->file[file++].dims;
}

static bool ends_in_npy(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, ".npy");
}

static char *path_in(const char *dir, const char *name)
{
	char *path = malloc(strlen(dir) + strlen(name) + 2);

	if (path)
		sprintf(path, "%s/%s", dir, name);
	return path;
}

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* A file that a folder has: opening a FIFO among them would wait for ever. */
static int check_listed(const char *path, struct npu_error *why)
{
	struct stat st;

	if (stat(path, &st))
		return npu_error_set(why, -errno, "%s: %s", path, strerror(errno));
	return S_ISREG(st.st_mode) ? 0 : npu_error_set(why, -EINVAL, "%s: not a regular file", path);
}

/* Every DIR/<input>.npy of one sample. */
static int add_sample_folder(struct calib_set *set, const char *dir, struct npu_error *why)
{
	struct dirent **entry;
	int n = scandir(dir, &entry, visible, alphasort), err = 0;

	if (n < 0)
		return npu_error_set(why, -errno, "%s: %s", dir, strerror(errno));
	err = add_sample(set, why);
	for (int i = 0; i < n; i++) {
		char *file = entry[i]->d_name, *path = path_in(dir, file);

		err = err ? err : path ? 0 : out_of_memory(why);
		if (!err && ends_in_npy(file)) {
			file[strlen(file) - 4] = 0;
			err = check_listed(path, why) ?: add_tensor(set, path, file, why);
		}
		free(path);
		free(entry[i]);
	}
	free(entry);
	if (!err && !set->sample[set->num_samples - 1].num_tensors)
		err = npu_error_set(why, -ENOENT, "%s: no <input>.npy in this folder", dir);
	return err;
}

static int add_folder(struct calib_set *set, const char *dir, struct npu_error *why)
{
	unsigned int before = set->num_samples;
	struct dirent **entry;
	int n = scandir(dir, &entry, visible, alphasort), err = 0;

	if (n < 0)
		return npu_error_set(why, -errno, "%s: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		char *path = path_in(dir, entry[i]->d_name);
		struct stat st;

		err = err ? err : path ? 0 : out_of_memory(why);
		if (!err && set->num_samples >= MAX_SAMPLES)
			err = npu_error_set(why, -E2BIG, "%s: more than %d samples", dir,
					    MAX_SAMPLES);
		else if (!err && ends_in_npy(entry[i]->d_name))
			err = check_listed(path, why) ?: add_sample(set, why) ?:
								 add_tensor(set, path, NULL, why);
		else if (!err && !stat(path, &st) && S_ISDIR(st.st_mode))
			err = add_sample_folder(set, path, why);
		free(path);
		free(entry[i]);
	}
	free(entry);
	if (!err && set->num_samples == before)
		err = npu_error_set(why, -ENOENT, "%s: no .npy file and no folder of them in it",
				    dir);
	return err;
}

static int add_path(struct calib_set *set, const char *path, struct npu_error *why)
{
	const char *equals = strchr(path, '=');
	char name[NAME_MAX + 1];
	struct stat st;
	int err;

	if (!stat(path, &st)) {
		equals = NULL;		/* a file that is there, whatever its name */
		if (S_ISDIR(st.st_mode))
			return add_folder(set, path, why);
	}
	if (!*(equals ? equals + 1 : path))
		return npu_error_set(why, -EINVAL, "calibration '%s': no file is named", path);
	snprintf(name, sizeof(name), "%.*s", equals ? (int)(equals - path) : 0, path);
	if (!set->num_samples || names_input(&set->sample[set->num_samples - 1], name)) {
		err = add_sample(set, why);
		if (err)
			return err;
	}
	return add_tensor(set, equals ? equals + 1 : path, equals ? name : NULL, why);
}

int calib_load(struct calib_set *set, const char *const *path, unsigned int count,
	       struct npu_error *why)
{
	int err = 0;

	memset(set, 0, sizeof(*set));
	for (unsigned int i = 0; i < count && !err; i++)
		err = add_path(set, path[i], why);
	set_dims(set);
	return err;
}

void calib_free(struct calib_set *set)
{
	for (unsigned int i = 0; i < set->num_samples; i++)
		free((void *)(uintptr_t)set->sample[i].tensors);
	for (unsigned int i = 0; i < set->num_files; i++) {
		npu_npy_free(&set->file[i]);
		free(set->name[i]);
		free(set->path[i]);
	}
	free(set->sample);
	free(set->file);
	free(set->name);
	free(set->path);
	memset(set, 0, sizeof(*set));
}

/* ---- options --------------------------------------------------------------------------------- */

static int parse_number(const char *s, double low, double high, double *value)
{
	char *end;

	errno = 0;
	*value = strtod(s, &end);
	return errno || end == s || *end || !(*value >= low && *value <= high) ? -EINVAL : 0;
}

static int calib_parse_method(const char *text, enum npu_calib_method *method, double *percentile)
{
	size_t len = strcspn(text, "=");

	for (int i = 0; i < NPU_NUM_CALIB_METHODS; i++) {
		const char *name = npu_calib_method_name((enum npu_calib_method)i);

		if (strlen(name) != len || strncmp(text, name, len))
			continue;
		*method = (enum npu_calib_method)i;
		if (!text[len])
			return 0;
		return i == NPU_CALIB_PERCENTILE ?
			       parse_number(text + len + 1, 50, 100, percentile) :
			       -EINVAL;
	}
	return -EINVAL;
}

static int calib_parse_budget(const char *text, enum npu_quant_budget *budget, double *value)
{
	bool accuracy = !strncmp(text, "accuracy=", 9);

	if (!accuracy && strncmp(text, "speed=", 6))
		return -EINVAL;
	*budget = accuracy ? NPU_BUDGET_ACCURACY : NPU_BUDGET_SPEED;
	return parse_number(text + (accuracy ? 9 : 6), 0, 1, value);
}

#define CALIB_METHODS	"auto, minmax, percentile[=50..100], mse or kl"
#define CALIB_BUDGETS	"accuracy=0..1 or speed=0..1"

int calib_take_method(const struct option_table *table, const char *name, const char *arg,
		      struct npu_quant_options *q)
{
	return calib_parse_method(arg, &q->method, &q->percentile) ?
		       option_refuse(table, name, arg, CALIB_METHODS) : 0;
}

int calib_take_budget(const struct option_table *table, const char *name, const char *arg,
		      struct npu_quant_options *q)
{
	return calib_parse_budget(arg, &q->budget, &q->budget_value) ?
		       option_refuse(table, name, arg, CALIB_BUDGETS) : 0;
}
