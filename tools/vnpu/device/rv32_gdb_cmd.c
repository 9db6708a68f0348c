// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "rv32_gdb_cmd.h"

#define ERR_SYNTAX	"E16"
#define ERR_ADDRESS	"E0e"

/* ---- packets ---- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static enum rv32_gdb_input finish(struct rv32_gdb_reader *r, char byte)
{
	int high = hex_digit(r->digit), low = hex_digit(byte);

	r->state = RV32_GDB_IDLE;
	if (r->size > RV32_GDB_PACKET || high < 0 || low < 0 || high * 16 + low != r->sum)
		return RV32_GDB_BAD;
	r->data[r->size] = '\0';
	return RV32_GDB_GOT;
}

enum rv32_gdb_input rv32_gdb_feed(struct rv32_gdb_reader *r, char byte)
{
	if (r->state == RV32_GDB_IDLE && byte == '\003')
		return RV32_GDB_INTERRUPT;
	/* A dollar begins a packet wherever it stands: what was before it got lost. */
	if (byte == '$') {
		r->state = RV32_GDB_CONTENT;
		r->size = 0;
		r->sum = 0;
		return RV32_GDB_MORE;
	}
	switch (r->state) {
	case RV32_GDB_CONTENT:
		if (byte == '#') {
			r->state = RV32_GDB_SUM1;
			break;
		}
		r->sum += (uint8_t)byte;
		if (r->size < RV32_GDB_PACKET)
			r->data[r->size] = byte;
		if (r->size <= RV32_GDB_PACKET)
			r->size++;
		break;
	case RV32_GDB_SUM1:
		r->digit = byte;
		r->state = RV32_GDB_SUM2;
		break;
	case RV32_GDB_SUM2:
		return finish(r, byte);
	default:
		break;
	}
	return RV32_GDB_MORE;
}

/* ---- reading arguments ---- */

struct cursor {
	const char *at, *end;
};

static bool take(struct cursor *c, char what)
{
	if (c->at == c->end || *c->at != what)
		return false;
	c->at++;
	return true;
}

/* A hexadecimal number of 32 bits, at least one digit. */
static bool take_hex(struct cursor *c, uint32_t *value)
{
	const char *begin = c->at;
	int digit;

	for (*value = 0; c->at < c->end && (digit = hex_digit(*c->at)) >= 0; c->at++) {
		if (*value >> 28)
			return false;
		*value = *value << 4 | (uint32_t)digit;
	}
	return c->at > begin;
}

static bool take_byte(struct cursor *c, uint8_t *value)
{
	int high, low;

	if (c->end - c->at < 2)
		return false;
	high = hex_digit(c->at[0]);
	low = hex_digit(c->at[1]);
	if (high < 0 || low < 0)
		return false;
	*value = (uint8_t)(high * 16 + low);
	c->at += 2;
	return true;
}

/* A register's value: bytes, lowest first. */
static bool take_word(struct cursor *c, uint32_t *value)
{
	uint8_t byte;
	int i;

	for (i = 0, *value = 0; i < 4; i++) {
		if (!take_byte(c, &byte))
			return false;
		*value |= (uint32_t)byte << 8 * i;
	}
	return true;
}

static char *put_bytes(char *to, const uint8_t *bytes, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		*to++ = "0123456789abcdef"[bytes[i] >> 4];
		*to++ = "0123456789abcdef"[bytes[i] & 15];
	}
	*to = '\0';
	return to;
}

static char *put_word(char *to, uint32_t value)
{
	uint8_t bytes[4] = { (uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
			     (uint8_t)(value >> 24) };

	return put_bytes(to, bytes, 4);
}

/* ---- registers ---- */

/* Those behind x0 to x31 and pc, in the order of their numbers here. */
#define CSRS(X) \
	X(mstatus, 0x300) X(misa, 0x301) X(mie, 0x304) X(mtvec, 0x305) X(mcountinhibit, 0x320) \
	X(mscratch, 0x340) X(mepc, 0x341) X(mcause, 0x342) X(mtval, 0x343) X(mip, 0x344) \
	X(mcycle, 0xb00) X(minstret, 0xb02) X(mcycleh, 0xb80) X(minstreth, 0xb82) X(mhartid, 0xf14)

static const uint16_t csr_number[] = {
#define X(name, number) number,
	CSRS(X)
#undef X
};

#define FIRST_CSR	(RV32_REG_PC + 1)
#define NUM_REGS	(FIRST_CSR + sizeof(csr_number) / sizeof(csr_number[0]))

static bool get_reg(struct rv32 *core, uint32_t reg, uint32_t *value)
{
	if (reg >= NUM_REGS)
		return false;
	if (reg >= FIRST_CSR)
		return rv32_csr(core, csr_number[reg - FIRST_CSR], value);
	*value = rv32_reg(core, reg);
	return true;
}

static bool set_reg(struct rv32 *core, uint32_t reg, uint32_t value)
{
	if (reg >= NUM_REGS)
		return false;
	if (reg >= FIRST_CSR)
		return rv32_set_csr(core, csr_number[reg - FIRST_CSR], value);
	rv32_set_reg(core, reg, value);
	return true;
}

static const char target_xml[] =
	"<?xml version=\"1.0\"?>"
	"<!DOCTYPE target SYSTEM \"gdb-target.dtd\">"
	"<target version=\"1.0\"><architecture>riscv:rv32</architecture>"
	"<feature name=\"org.gnu.gdb.riscv.cpu\">"
#define REG(name, type) "<reg name=\"" name "\" bitsize=\"32\" type=\"" type "\"/>"
#define INT(name) REG(name, "int")
#define PTR(name) REG(name, "data_ptr")
	INT("zero") REG("ra", "code_ptr") PTR("sp") PTR("gp") PTR("tp") INT("t0") INT("t1")
	INT("t2") PTR("fp") INT("s1") INT("a0") INT("a1") INT("a2") INT("a3") INT("a4") INT("a5")
	INT("a6") INT("a7") INT("s2") INT("s3") INT("s4") INT("s5") INT("s6") INT("s7") INT("s8")
	INT("s9") INT("s10") INT("s11") INT("t3") INT("t4") INT("t5") INT("t6")
	REG("pc", "code_ptr")
	"</feature><feature name=\"org.gnu.gdb.riscv.csr\">"
#define X(name, number) "<reg name=\"" #name "\" bitsize=\"32\" group=\"csr\"/>"
	CSRS(X)
#undef X
	"</feature></target>";

static enum rv32_gdb_action answer(char *reply, const char *text)
{
	memcpy(reply, text, strlen(text) + 1);
	return RV32_GDB_REPLY;
}

static enum rv32_gdb_action read_regs(struct rv32 *core, char *reply)
{
	uint32_t reg;

	for (reg = 0; reg <= RV32_REG_PC; reg++)
		reply = put_word(reply, rv32_reg(core, reg));
	return RV32_GDB_REPLY;
}

static enum rv32_gdb_action write_regs(struct rv32 *core, struct cursor *c, char *reply)
{
	uint32_t value[RV32_REG_PC + 1], reg;

	for (reg = 0; reg <= RV32_REG_PC; reg++) {
		if (!take_word(c, &value[reg]))
			return answer(reply, ERR_SYNTAX);
	}
	for (reg = 0; reg <= RV32_REG_PC; reg++)
		rv32_set_reg(core, reg, value[reg]);
	return answer(reply, "OK");
}

static enum rv32_gdb_action read_reg(struct rv32 *core, struct cursor *c, char *reply)
{
	uint32_t reg, value;

	if (!take_hex(c, &reg) || !get_reg(core, reg, &value))
		return answer(reply, ERR_SYNTAX);
	put_word(reply, value);
	return RV32_GDB_REPLY;
}

static enum rv32_gdb_action write_reg(struct rv32 *core, struct cursor *c, char *reply)
{
	uint32_t reg, value;

	if (!take_hex(c, &reg) || !take(c, '=') || !take_word(c, &value) ||
	    !set_reg(core, reg, value))
		return answer(reply, ERR_SYNTAX);
	return answer(reply, "OK");
}

/* ---- memory ---- */

static enum rv32_gdb_action read_memory(struct rv32 *core, struct cursor *c, char *reply)
{
	uint8_t data[RV32_GDB_PACKET / 2];
	uint32_t addr, size;
	size_t got;

	if (!take_hex(c, &addr) || !take(c, ',') || !take_hex(c, &size))
		return answer(reply, ERR_SYNTAX);
	got = rv32_peek(core, addr, data, size < sizeof(data) ? size : sizeof(data));
	if (!got && size)
		return answer(reply, ERR_ADDRESS);
	put_bytes(reply, data, got);
	return RV32_GDB_REPLY;
}

static enum rv32_gdb_action write_memory(struct rv32 *core, struct cursor *c, char *reply)
{
	uint8_t data[RV32_GDB_PACKET / 2];
	uint32_t addr, size, i;

	if (!take_hex(c, &addr) || !take(c, ',') || !take_hex(c, &size) || !take(c, ':') ||
	    size > sizeof(data))
		return answer(reply, ERR_SYNTAX);
	for (i = 0; i < size; i++) {
		if (!take_byte(c, &data[i]))
			return answer(reply, ERR_SYNTAX);
	}
	return answer(reply, rv32_poke(core, addr, data, size) == size ? "OK" : ERR_ADDRESS);
}

/* Z and z: software and hardware breakpoints are the same thing here. */
static enum rv32_gdb_action breakpoint(struct rv32 *core, struct cursor *c, bool add, char *reply)
{
	uint32_t type, addr, kind;
	int ret;

	if (!take_hex(c, &type) || !take(c, ',') || !take_hex(c, &addr) || !take(c, ',') ||
	    !take_hex(c, &kind))
		return answer(reply, ERR_SYNTAX);
	if (type > 1)
		return answer(reply, "");
	if (addr & 1)
		return answer(reply, ERR_ADDRESS);
	/* Twice is as good as once, by the protocol. */
	ret = add ? rv32_break_add(core, addr) : rv32_break_remove(core, addr);
	return answer(reply, ret == -ENOSPC ? "E1c" : "OK");
}

/* ---- the rest ---- */

static bool begins(const char *packet, const char *with)
{
	return !strncmp(packet, with, strlen(with));
}

/* qXfer:features:read:target.xml:OFFSET,LENGTH */
static enum rv32_gdb_action read_target(struct cursor *c, char *reply)
{
	uint32_t offset, length, left = sizeof(target_xml) - 1;

	if (!take_hex(c, &offset) || !take(c, ',') || !take_hex(c, &length) || offset > left)
		return answer(reply, ERR_SYNTAX);
	left -= offset;
	if (length > RV32_GDB_PACKET - 1)
		length = RV32_GDB_PACKET - 1;
	reply[0] = length < left ? 'm' : 'l';
	if (length > left)
		length = left;
	memcpy(reply + 1, target_xml + offset, length);
	reply[1 + length] = '\0';
	return RV32_GDB_REPLY;
}

static enum rv32_gdb_action query(struct rv32_gdb_session *s, const char *packet, size_t size,
				  char *reply)
{
	static const char target[] = "qXfer:features:read:target.xml:";
	struct cursor c = { packet + sizeof(target) - 1, packet + size };

	if (begins(packet, "qSupported")) {
		snprintf(reply, RV32_GDB_PACKET,
			 "PacketSize=%x;qXfer:features:read+;QStartNoAckMode+;vContSupported+",
			 RV32_GDB_PACKET);
		return RV32_GDB_REPLY;
	}
	if (begins(packet, target))
		return read_target(&c, reply);
	if (!strcmp(packet, "QStartNoAckMode")) {
		s->no_ack = true;
		return answer(reply, "OK");
	}
	if (begins(packet, "qAttached"))
		return answer(reply, "1");
	if (!strcmp(packet, "qC"))
		return answer(reply, "QC1");
	if (!strcmp(packet, "qfThreadInfo"))
		return answer(reply, "m1");
	if (!strcmp(packet, "qsThreadInfo"))
		return answer(reply, "l");
	return answer(reply, "");
}

/* c and s, from another address if there is one. */
static enum rv32_gdb_action resume(struct rv32 *core, struct cursor *c, enum rv32_gdb_action how)
{
	uint32_t addr;

	if (take_hex(c, &addr))
		rv32_set_reg(core, RV32_REG_PC, addr);
	return how;
}

/* There is one thread: the first action is the one that counts. */
static enum rv32_gdb_action vcont(const char *packet, char *reply)
{
	if (!strcmp(packet, "vCont?"))
		return answer(reply, "vCont;c;C;s;S");
	if (begins(packet, "vCont;c") || begins(packet, "vCont;C"))
		return RV32_GDB_RESUME;
	if (begins(packet, "vCont;s") || begins(packet, "vCont;S"))
		return RV32_GDB_STEP;
	return answer(reply, "");
}

enum rv32_gdb_action rv32_gdb_command(struct rv32_gdb_session *s, const char *packet, size_t size,
				      char *reply)
{
	struct cursor c = { packet + (size > 0), packet + size };

	reply[0] = '\0';
	switch (packet[0]) {
	case '?':
		return answer(reply, "S05");
	case 'g':
		return read_regs(s->core, reply);
	case 'G':
		return write_regs(s->core, &c, reply);
	case 'p':
		return read_reg(s->core, &c, reply);
	case 'P':
		return write_reg(s->core, &c, reply);
	case 'm':
		return read_memory(s->core, &c, reply);
	case 'M':
		return write_memory(s->core, &c, reply);
	case 'Z':
	case 'z':
		return breakpoint(s->core, &c, packet[0] == 'Z', reply);
	case 'c':
		return resume(s->core, &c, RV32_GDB_RESUME);
	case 's':
		return resume(s->core, &c, RV32_GDB_STEP);
	case 'v':
		return vcont(packet, reply);
	case 'q':
	case 'Q':
		return query(s, packet, size, reply);
	case 'H':
	case 'T':
		return answer(reply, "OK");
	case 'D':
		answer(reply, "OK");
		return RV32_GDB_DETACH;
	case 'k':
		return RV32_GDB_KILL;
	default:
		return RV32_GDB_REPLY;
	}
}
