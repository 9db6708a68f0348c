/* SPDX-License-Identifier: MIT */
/* The protocol without its transport: packets from bytes, and what each is answered. */
#ifndef RV32_GDB_CMD_H
#define RV32_GDB_CMD_H

#include "rv32.h"

#define RV32_GDB_PACKET	4096u		/* longest content of a packet, both ways */

enum rv32_gdb_input { RV32_GDB_MORE, RV32_GDB_GOT, RV32_GDB_BAD, RV32_GDB_INTERRUPT };

/* What has arrived of a packet. Zero it. */
struct rv32_gdb_reader {
	enum { RV32_GDB_IDLE, RV32_GDB_CONTENT, RV32_GDB_SUM1, RV32_GDB_SUM2 } state;
	char data[RV32_GDB_PACKET + 1];	/* terminated when GOT; may contain zeroes */
	size_t size;			/* larger than RV32_GDB_PACKET: it was too long */
	uint8_t sum;
	char digit;
};

/*
 * One byte. GOT: reader->data is a packet with a good sum. BAD: one with a bad sum, or too long; it
 * is to be refused with '-'.
 */
enum rv32_gdb_input rv32_gdb_feed(struct rv32_gdb_reader *reader, char byte);

/* What is to be done after a command; all but RESUME and STEP are answered with @reply. */
enum rv32_gdb_action {
	RV32_GDB_REPLY,
	RV32_GDB_RESUME,
	RV32_GDB_STEP,
	RV32_GDB_DETACH,
	RV32_GDB_KILL
};

struct rv32_gdb_session {
	struct rv32 *core;
	bool no_ack;			/* asked for; counts from the next packet on */
};

/*
 * Carry out the command in @packet, of @size characters and terminated; @reply has room for
 * RV32_GDB_PACKET + 1 characters and gets a terminated string. The caller has the hart to itself.
 */
enum rv32_gdb_action rv32_gdb_command(struct rv32_gdb_session *session, const char *packet,
				      size_t size, char *reply);

#endif
