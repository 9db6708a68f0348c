/* SPDX-License-Identifier: MIT */
/* Where text goes: what does not fit is counted. */
#ifndef NPU_LLM_WRITER_H
#define NPU_LLM_WRITER_H

#include <string.h>

struct writer {
	char *text;
	size_t size, room;
};

static inline void writer_put(struct writer *w, const char *text, size_t size)
{
	size_t room = w->size < w->room ? w->room - w->size : 0;

	if (room)
		memcpy(w->text + w->size, text, size < room ? size : room);
	w->size += size;
}

#endif
