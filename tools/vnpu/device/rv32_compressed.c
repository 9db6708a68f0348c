// SPDX-License-Identifier: MIT
/*
 * The C extension: each 16-bit instruction stands for one of 32 bits. Reserved encodings, those of
 * RV64 and RV128 and those of the floating-point extensions have none; hints expand to instructions
 * that write x0.
 */
#include "rv32_priv.h"

enum { X0, RA, SP };
enum {
	OP_LOAD = 0x03,
	OP_IMM = 0x13,
	OP_STORE = 0x23,
	OP_REG = 0x33,
	OP_LUI = 0x37,
	OP_BRANCH = 0x63,
	OP_JALR = 0x67,
	OP_JAL = 0x6f
};

static uint32_t bits(uint32_t raw, unsigned int high, unsigned int low)
{
	return raw >> low & ((2u << (high - low)) - 1);
}

/* Bit @from of @raw, at @to. */
static uint32_t bit_to(uint32_t raw, unsigned int from, unsigned int to)
{
	return (raw >> from & 1) << to;
}

static uint32_t type_r(uint32_t funct7, uint32_t rs2, uint32_t rs1, uint32_t funct3, uint32_t rd)
{
	return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | OP_REG;
}

static uint32_t type_i(uint32_t imm, uint32_t rs1, uint32_t funct3, uint32_t rd, uint32_t opcode)
{
	return imm << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}

static uint32_t store_word(uint32_t imm, uint32_t rs2, uint32_t rs1)
{
	return bits(imm, 11, 5) << 25 | rs2 << 20 | rs1 << 15 | 2 << 12 | bits(imm, 4, 0) << 7 |
	       OP_STORE;
}

/* The three-bit register fields, x8 to x15. */
static uint32_t reg_high(uint32_t raw)
{
	return 8 + bits(raw, 9, 7);
}

static uint32_t reg_low(uint32_t raw)
{
	return 8 + bits(raw, 4, 2);
}

/* The immediate of bits 12 and 6:2, signed. */
static uint32_t imm6(uint32_t raw)
{
	return (bit_to(raw, 12, 5) | bits(raw, 6, 2)) - bit_to(raw, 12, 6);
}

/* c.lw and c.sw. */
static uint32_t offset_word(uint32_t raw)
{
	return bit_to(raw, 5, 6) | bits(raw, 12, 10) << 3 | bit_to(raw, 6, 2);
}

static uint32_t jump(uint32_t raw, uint32_t rd)
{
	uint32_t to = bit_to(raw, 8, 10) | bits(raw, 10, 9) << 8 | bit_to(raw, 6, 7) |
		      bit_to(raw, 7, 6) | bit_to(raw, 2, 5) | bit_to(raw, 11, 4) |
		      bits(raw, 5, 3) << 1;
	uint32_t sign = bits(raw, 12, 12);

	/* Bit 11 and all above it are the sign. */
	return sign << 31 | bits(to, 10, 1) << 21 | sign << 20 | (sign ? 0xffu : 0) << 12 |
	       rd << 7 | OP_JAL;
}

static uint32_t branch(uint32_t raw, uint32_t funct3)
{
	uint32_t to = bits(raw, 6, 5) << 6 | bit_to(raw, 2, 5) | bits(raw, 11, 10) << 3 |
		      bits(raw, 4, 3) << 1;
	uint32_t sign = bits(raw, 12, 12);

	return sign << 31 | sign << 30 | sign << 29 | sign << 28 | bits(to, 7, 5) << 25 |
	       reg_high(raw) << 15 | funct3 << 12 | bits(to, 4, 1) << 8 | sign << 7 | OP_BRANCH;
}

static uint32_t expand_q0(uint32_t raw)
{
	uint32_t imm;

	switch (bits(raw, 15, 13)) {
	case 0: /* c.addi4spn */
		imm = bits(raw, 10, 7) << 6 | bits(raw, 12, 11) << 4 | bit_to(raw, 5, 3) |
		      bit_to(raw, 6, 2);
		return imm ? type_i(imm, SP, 0, reg_low(raw), OP_IMM) : 0;
	case 2: /* c.lw */
		return type_i(offset_word(raw), reg_high(raw), 2, reg_low(raw), OP_LOAD);
	case 6: /* c.sw */
		return store_word(offset_word(raw), reg_low(raw), reg_high(raw));
	default:
		return 0;
	}
}

/* c.addi16sp and c.lui: an immediate of 0 is reserved. */
static uint32_t expand_lui(uint32_t raw)
{
	uint32_t rd = bits(raw, 11, 7), imm;

	if (!imm6(raw))
		return 0;
	if (rd != SP)
		return imm6(raw) << 12 | rd << 7 | OP_LUI;
	imm = (bits(raw, 4, 3) << 7 | bit_to(raw, 5, 6) | bit_to(raw, 2, 5) | bit_to(raw, 6, 4)) -
	      bit_to(raw, 12, 9);
	return type_i(imm, SP, 0, SP, OP_IMM);
}

static uint32_t expand_arithmetic(uint32_t raw)
{
	static const struct {
		uint8_t funct7, funct3;
	} reg[4] = { { 0x20, 0 }, { 0, 4 }, { 0, 6 }, { 0, 7 } };	/* sub, xor, or, and */
	uint32_t rd = reg_high(raw), kind = bits(raw, 11, 10), pick = bits(raw, 6, 5);

	if (kind == 2) /* c.andi */
		return type_i(imm6(raw), rd, 7, rd, OP_IMM);
	if (bits(raw, 12, 12)) /* a shift by 32 and more, or a 32-bit operation of RV64 */
		return 0;
	if (kind < 2) /* c.srli, c.srai */
		return type_i(bits(raw, 6, 2) | kind << 10, rd, 5, rd, OP_IMM);
	return type_r(reg[pick].funct7, reg_low(raw), rd, reg[pick].funct3, rd);
}

static uint32_t expand_q1(uint32_t raw)
{
	uint32_t rd = bits(raw, 11, 7);

	switch (bits(raw, 15, 13)) {
	case 0: /* c.addi, c.nop */
		return type_i(imm6(raw), rd, 0, rd, OP_IMM);
	case 1: /* c.jal */
		return jump(raw, RA);
	case 2: /* c.li */
		return type_i(imm6(raw), X0, 0, rd, OP_IMM);
	case 3:
		return expand_lui(raw);
	case 4:
		return expand_arithmetic(raw);
	case 5: /* c.j */
		return jump(raw, X0);
	case 6: /* c.beqz */
		return branch(raw, 0);
	default: /* c.bnez */
		return branch(raw, 1);
	}
}

/* c.jr, c.mv, c.ebreak, c.jalr, c.add. */
static uint32_t expand_register(uint32_t raw)
{
	uint32_t rd = bits(raw, 11, 7), rs2 = bits(raw, 6, 2), link = bits(raw, 12, 12);

	if (rs2)
		return type_r(0, rs2, link ? rd : X0, 0, rd);
	if (rd)
		return type_i(0, rd, 0, link ? RA : X0, OP_JALR);
	return link ? 0x00100073 : 0;
}

static uint32_t expand_q2(uint32_t raw)
{
	uint32_t rd = bits(raw, 11, 7), rs2 = bits(raw, 6, 2);

	switch (bits(raw, 15, 13)) {
	case 0: /* c.slli */
		return bits(raw, 12, 12) ? 0 : type_i(bits(raw, 6, 2), rd, 1, rd, OP_IMM);
	case 2: /* c.lwsp */
		return rd ? type_i(bits(raw, 3, 2) << 6 | bit_to(raw, 12, 5) | bits(raw, 6, 4) << 2,
				   SP, 2, rd, OP_LOAD) : 0;
	case 4:
		return expand_register(raw);
	case 6: /* c.swsp */
		return store_word(bits(raw, 8, 7) << 6 | bits(raw, 12, 9) << 2, rs2, SP);
	default:
		return 0;
	}
}

uint32_t rv32_expand(uint16_t raw)
{
	switch (raw & 3) {
	case 0:
		return expand_q0(raw);
	case 1:
		return expand_q1(raw);
	default:
		return expand_q2(raw);
	}
}
