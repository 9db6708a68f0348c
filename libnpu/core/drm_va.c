// SPDX-License-Identifier: MIT
/* The drm backend: which addresses of the device's are free. First fit over a sorted list. */
#include <errno.h>
#include <stdlib.h>
#include "core/drm.h"

/* Cut [va, va + size) out of *@at. */
static int take(struct drm_range **at, uint64_t va, uint64_t size)
{
	struct drm_range *r = *at, *rest;
	uint64_t end = r->start + r->size;

	if (va > r->start && va + size < end) {
		rest = malloc(sizeof(*rest));
		if (!rest)
			return -ENOMEM;
		*rest = (struct drm_range){ r->next, va + size, end - (va + size) };
		r->next = rest;
		r->size = va - r->start;
	} else if (va > r->start) {
		r->size = va - r->start;
	} else if (va + size < end) {
		r->start = va + size;
		r->size = end - r->start;
	} else {
		*at = r->next;
		free(r);
	}
	return 0;
}

int drm_va_alloc(struct drm_device *drm, uint64_t size, uint64_t *va)
{
	uint64_t align = size >= DRM_LARGE ? DRM_LARGE : DRM_PAGE, skip;
	struct drm_range **at;
	int ret = -ENOSPC;

	pthread_mutex_lock(&drm->lock);
	for (at = &drm->free; *at; at = &(*at)->next) {
		skip = -(*at)->start % align;
		if (skip > (*at)->size || (*at)->size - skip < size)
			continue;
		*va = (*at)->start + skip;
		ret = take(at, *va, size);
		break;
	}
	pthread_mutex_unlock(&drm->lock);
	return ret;
}

/* Without memory for the list the addresses are lost, which harms nobody. */
void drm_va_free(struct drm_device *drm, uint64_t va, uint64_t size)
{
	struct drm_range **at, *r, *next;

	pthread_mutex_lock(&drm->lock);
	for (at = &drm->free; *at && (*at)->start + (*at)->size < va; at = &(*at)->next)
		;
	if (*at && (*at)->start + (*at)->size == va) {
		r = *at;
		r->size += size;
	} else {
		r = malloc(sizeof(*r));
		if (!r)
			goto out;
		*r = (struct drm_range){ *at, va, size };
		*at = r;
	}
	next = r->next;
	if (next && r->start + r->size == next->start) {
		r->size += next->size;
		r->next = next->next;
		free(next);
	}
out:
	pthread_mutex_unlock(&drm->lock);
}

void drm_va_fini(struct drm_device *drm)
{
	struct drm_range *r;

	while ((r = drm->free)) {
		drm->free = r->next;
		free(r);
	}
}
