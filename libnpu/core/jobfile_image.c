// SPDX-License-Identifier: MIT
/* Inputs that are camera frames: the rules for their planes, and how they are read from a file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "core/jobfile_read.h"
#include "npu_isa_desc.h"

int npu_jobfile_stride_symbol(const struct npu_jobfile_program *prog,
			      const struct npu_jobfile_tensor *t)
{
	const struct npu_jobfile_expr *e = &t->stride[0];
	int i, sym = -1;

	if (t->rank != 2 || t->flags & NPU_JOBFILE_DENSE || e->base)
		return -1;
	for (i = 0; i < NPU_JOBFILE_TERMS; i++) {
		if (!e->factor[i])
			continue;
		if (sym >= 0 || prog->symbols[e->sym[i]].kind != NPU_SYMBOL_STRIDE ||
		    e->factor[i] != prog->symbols[e->sym[i]].step)
			return -1;
		sym = e->sym[i];
	}
	return sym;
}

void npu_jobfile_plane_bounds(const struct npu_jobfile_program *prog,
			      const struct npu_jobfile_tensor *t, npu_u64 *min, npu_u64 *max)
{
	int sym = npu_jobfile_stride_symbol(prog, t);

	if (sym >= 0) {
		*min = prog->symbols[sym].min;
		*max = prog->symbols[sym].max;
	} else {
		*min = *max = t->flags & NPU_JOBFILE_DENSE ? t->dim[1].base : t->stride[0].base;
	}
}

struct check {
	const struct npu_jobfile_program *prog;
	npu_u32 index;			/* of prog */
	bool taken[NPU_MAX_REGIONS];	/* by a plane of an image */
	bool told[NPU_MAX_SCALARS];	/* the symbol is the stride of an input */
	struct npu_error *err;
};

#undef REFUSE
#define REFUSE(c, fmt, ...) \
	npu_error_set((c)->err, -EINVAL, "program %u: " fmt, (c)->index, ##__VA_ARGS__)

/* A user can set a stride only by the tensor that has it. */
static int check_strides(struct check *c)
{
	npu_u32 i;
	int sym;

	for (i = 0; i < c->prog->num_tensors; i++) {
		if (c->prog->tensors[i].role != NPU_TENSOR_INPUT)
			continue;
		sym = npu_jobfile_stride_symbol(c->prog, &c->prog->tensors[i]);
		if (sym < 0)
			continue;
		if (c->told[sym])
			return REFUSE(c, "symbol '%s' is the stride of '%s' and of another input",
				      c->prog->symbols[sym].name, c->prog->tensors[i].name);
		c->told[sym] = true;
	}
	for (i = 0; i < c->prog->num_symbols; i++)
		if (c->prog->symbols[i].kind == NPU_SYMBOL_STRIDE && !c->told[i])
			return REFUSE(c, "symbol '%s' is a stride, but of no input",
				      c->prog->symbols[i].name);
	return 0;
}

/* The tensors have been checked by themselves. */
static int check_plane(struct check *c, const struct npu_jobfile_image *img, npu_u32 k)
{
	const struct npu_jobfile_tensor *t;
	npu_u64 min, max;

	if (img->plane[k] >= c->prog->num_tensors)
		return REFUSE(c, "image '%s': plane %u is tensor %u, there are %u", img->name, k,
			      img->plane[k], c->prog->num_tensors);
	t = &c->prog->tensors[img->plane[k]];
	if (t->role != NPU_TENSOR_INPUT || t->dtype != NPU_U8 || t->rank != 2 ||
	    !npu_jobfile_is_fixed(&t->dim[0]) || !npu_jobfile_is_fixed(&t->dim[1]) ||
	    !npu_jobfile_is_fixed(&t->offset) || t->offset.base)
		return REFUSE(
			c,
			"image '%s': plane %u, tensor '%s', is not an input u8 [rows][bytes] at the start of its region",
			img->name, k, t->name);
	npu_jobfile_plane_bounds(c->prog, t, &min, &max);
	if (!(t->flags & NPU_JOBFILE_DENSE) &&
	    (min < (npu_u64)t->dim[1].base || !npu_jobfile_is_fixed(&t->stride[1]) ||
	     t->stride[1].base != 1 ||
	     (!npu_jobfile_is_fixed(&t->stride[0]) && npu_jobfile_stride_symbol(c->prog, t) < 0)))
		return REFUSE(
			c,
			"image '%s': plane %u, tensor '%s', has strides that are not those of rows of bytes",
			img->name, k, t->name);
	if (c->taken[t->region])
		return REFUSE(c, "image '%s': plane %u, tensor '%s', is another plane, too",
			      img->name, k, t->name);
	c->taken[t->region] = true;
	return 0;
}

static int check_image(struct check *c, npu_u32 i)
{
	const struct npu_jobfile_image *img = &c->prog->images[i];
	npu_u32 k;

	if (!img->name || !*img->name)
		return REFUSE(c, "image %u has no name", i);
	for (k = 0; k < i; k++)
		if (!strcmp(img->name, c->prog->images[k].name))
			return REFUSE(c, "two images are named '%s'", img->name);
	if (!img->fourcc || !img->width || !img->height || img->width > NPU_MAX_DIM ||
	    img->height > NPU_MAX_DIM)
		return REFUSE(c, "image '%s': format 0x%x of %u x %u pixels", img->name,
			      img->fourcc, img->width, img->height);
	if (!img->num_planes || img->num_planes > NPU_JOBFILE_PLANES)
		return REFUSE(c, "image '%s' has %u planes, want 1 .. %u", img->name,
			      img->num_planes, NPU_JOBFILE_PLANES);
	for (k = 0; k < img->num_planes; k++)
		if (check_plane(c, img, k))
			return -EINVAL;
	return 0;
}

int npu_jobfile_check_images(const struct npu_jobfile_program *prog, npu_u32 index,
			     struct npu_error *err)
{
	struct check c = { .prog = prog, .index = index, .err = err };
	npu_u32 i;

	if (check_strides(&c))
		return -EINVAL;
	/* each has a region of its own, so more could not be right */
	if (prog->num_images > NPU_MAX_REGIONS)
		return REFUSE(&c, "%u images, the limit is %u", prog->num_images, NPU_MAX_REGIONS);
	for (i = 0; i < prog->num_images; i++)
		if (check_image(&c, i))
			return -EINVAL;
	return 0;
}

#undef REFUSE
#define REFUSE(r, ...)	npu_error_set((r)->err, -EINVAL, __VA_ARGS__)

/* Record @i, which goes to its program behind the images that this has already. */
static int read_image(struct reader *r, npu_u32 i, npu_u32 *program)
{
	const struct npu_jf_image *in = npu_jf_record_at(r, NPU_JF_IMAGES, i);
	struct npu_jobfile_image *img = &r->out->images[i];
	struct npu_jobfile_program *p;
	npu_u32 k;

	if (in->program >= r->table[NPU_JF_PROGRAMS].count || in->program < *program)
		return REFUSE(
			r, "section IMAGES, record %u: program %u, there are %u, in rising order",
			i, in->program, r->table[NPU_JF_PROGRAMS].count);
	*program = in->program;
	*img = (struct npu_jobfile_image){ .fourcc = in->fourcc, .width = in->width,
					   .height = in->height, .num_planes = in->num_planes };
	for (k = 0; k < NPU_JOBFILE_PLANES; k++)
		img->plane[k] = in->plane[k];
	if (npu_jf_string(r, in->name, NPU_JF_IMAGES, i, &img->name) ||
	    npu_jf_string(r, in->spec, NPU_JF_IMAGES, i, &img->spec))
		return -EINVAL;
	p = &r->out->programs[in->program];
	if (!p->num_images)
		p->images = img;
	p->num_images++;
	return 0;
}

int npu_jf_read_images(struct reader *r)
{
	npu_u32 n = r->table[NPU_JF_IMAGES].count, program = 0, i;

	r->out->images = npu_jf_array(r, n, sizeof(*r->out->images));
	if (!r->out->images)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (read_image(r, i, &program))
			return -EINVAL;
	return 0;
}
