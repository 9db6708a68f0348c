// SPDX-License-Identifier: MIT
/*
 * The log: lines of text in a ring in kernel memory, which goes on over restarts of the firmware. A
 * line is made in the MCU's own memory first, so that a reader never sees half a number.
 */
#include "fw.h"

#define LINE	160u

struct line {
	npu_u32 length;
	char text[LINE];
};

static const char *const level_name[] = { "error", "warning", "info", "debug" };

static void put(struct line *line, char c)
{
	/* One place stays for the newline. */
	if (line->length < LINE - 1)
		line->text[line->length++] = c;
}

static void put_text(struct line *line, const char *s)
{
	while (*s)
		put(line, *s++);
}

static void put_number(struct line *line, npu_u64 n, npu_u32 base, npu_u32 width, char fill)
{
	char digits[20];
	npu_u32 count = 0, digit;

	do {
		n = fw_div(n, base, &digit);
		digits[count++] = "0123456789abcdef"[digit];
	} while (n);
	while (width-- > count)
		put(line, fill);
	while (count)
		put(line, digits[--count]);
}

/* %c %s %u %d %x with width, 0 and ll; all that is used. */
static void put_format(struct line *line, const char *fmt, va_list *ap)
{
	npu_u32 width, lls;
	npu_u64 n;
	char fill;

	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			put(line, *fmt);
			continue;
		}
		fill = *++fmt == '0' ? '0' : ' ';
		for (width = 0; *fmt >= '0' && *fmt <= '9'; fmt++)
			width = width * 10 + (npu_u32)(*fmt - '0');
		for (lls = 0; *fmt == 'l'; fmt++)
			lls++;
		switch (*fmt) {
		case 'c':
			put(line, (char)va_arg(*ap, int));
			break;
		case 's':
			put_text(line, va_arg(*ap, const char *));
			break;
		case 'u':
		case 'x':
			n = lls == 2 ? va_arg(*ap, unsigned long long) : va_arg(*ap, unsigned int);
			put_number(line, n, *fmt == 'x' ? 16 : 10, width, fill);
			break;
		case '\0':
			return;
		default:
			put(line, *fmt);
		}
	}
}

static void put_head(struct line *line, enum npu_fw_log_level level)
{
	npu_u32 ns, us;
	npu_u64 s = fw_div(fw_now(), 1000000000, &ns);

	us = (npu_u32)fw_div(ns, 1000, &ns);
	put(line, '[');
	put_number(line, s, 10, 0, ' ');
	put(line, '.');
	put_number(line, us, 10, 6, '0');
	put_text(line, "] ");
	put_text(line, level_name[level]);
	put_text(line, ": ");
}

/* In two pieces where the ring ends; head last, so that what it counts is there. */
static void write_line(struct fw *fw, const struct line *line)
{
	npu_u32 data = fw->config.log + offsetof(struct npu_fw_log, data);
	npu_u32 at = fw->log_head & fw->log_mask, first = fw->log_mask + 1 - at;

	if (first > line->length)
		first = line->length;
	fw_copy_bytes_to(data + at, line->text, first);
	fw_copy_bytes_to(data, line->text + first, line->length - first);
	fw->log_head += line->length;
	fw_store(fw->config.log + offsetof(struct npu_fw_log, head), fw->log_head);
}

void fw_log(struct fw *fw, enum npu_fw_log_level level, const char *fmt, ...)
{
	struct line line;
	va_list ap;

	if (!fw->log_ready || level > fw->config.log_level)
		return;
	line.length = 0;
	put_head(&line, level);
	va_start(ap, fmt);
	put_format(&line, fmt, &ap);
	va_end(ap);
	line.text[line.length++] = '\n';
	write_line(fw, &line);
}

/* Magic and size are what the configuration says; what an earlier firmware wrote stays. */
void fw_log_init(struct fw *fw)
{
	npu_u32 log = fw->config.log, size = fw->config.log_size - sizeof(struct npu_fw_log);

	if (!fw_load(log + offsetof(struct npu_fw_log, head), &fw->log_head))
		return;
	fw_store(log + offsetof(struct npu_fw_log, size), size);
	fw_store(log + offsetof(struct npu_fw_log, magic), NPU_FW_LOG_MAGIC);
	fw->log_mask = size - 1;
	fw->log_ready = true;
}
