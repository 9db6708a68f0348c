// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "core/error.h"

/*
 * Texts carry names from files and command lines, which may hold anything: no terminal is driven by
 * them, and the text stays one line. C0, DEL and, as UTF-8, C1.
 */
static void clean(char *text, unsigned char keep)
{
	unsigned char *p;

	for (p = (unsigned char *)text; *p; p++) {
		if ((*p < 0x20 && *p != keep) || *p == 0x7f)
			*p = '?';
		else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			p[0] = p[1] = '?';
	}
}

void npu_text_clean(char *text)
{
	clean(text, 0);
}

void npu_text_clean_lines(char *text)
{
	clean(text, '\n');
}

int npu_error_set(struct npu_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	npu_text_clean(err->text);
	return code;
}

int npu_error_prefix(struct npu_error *err, int code, const char *fmt, ...)
{
	char rest[sizeof(err->text)];
	va_list ap;
	size_t n;

	if (!err)
		return code;
	memcpy(rest, err->text, sizeof(rest));
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	n = strlen(err->text);
	snprintf(err->text + n, sizeof(err->text) - n, ": %s", rest);
	npu_text_clean(err->text);
	return code;
}
