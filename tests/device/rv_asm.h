/* SPDX-License-Identifier: MIT */
/*
 * A small assembler for RV32IMC: functions that give encodings, written from the tables of the
 * specification and independent of the decoder. Immediates are taken as they are meant and must be
 * in range.
 */
#ifndef RV_ASM_H
#define RV_ASM_H

#include <stdint.h>

/* Field of @width bits of @v from bit @from, placed at bit @to. */
static inline uint32_t rv_put(uint32_t v, int from, int width, int to)
{
	return ((v >> from) & ((1u << width) - 1)) << to;
}

static inline uint32_t rv_r(int funct7, int rs2, int rs1, int funct3, int rd)
{
	return rv_put(funct7, 0, 7, 25) | rv_put(rs2, 0, 5, 20) | rv_put(rs1, 0, 5, 15) |
	       rv_put(funct3, 0, 3, 12) | rv_put(rd, 0, 5, 7) | 0x33;
}

static inline uint32_t rv_i(int imm, int rs1, int funct3, int rd, int opcode)
{
	return rv_put(imm, 0, 12, 20) | rv_put(rs1, 0, 5, 15) | rv_put(funct3, 0, 3, 12) |
	       rv_put(rd, 0, 5, 7) | (uint32_t)opcode;
}

static inline uint32_t rv_s(int imm, int rs2, int rs1, int funct3)
{
	return rv_put(imm, 5, 7, 25) | rv_put(rs2, 0, 5, 20) | rv_put(rs1, 0, 5, 15) |
	       rv_put(funct3, 0, 3, 12) | rv_put(imm, 0, 5, 7) | 0x23;
}

static inline uint32_t rv_b(int imm, int rs2, int rs1, int funct3)
{
	return rv_put(imm, 12, 1, 31) | rv_put(imm, 5, 6, 25) | rv_put(rs2, 0, 5, 20) |
	       rv_put(rs1, 0, 5, 15) | rv_put(funct3, 0, 3, 12) | rv_put(imm, 1, 4, 8) |
	       rv_put(imm, 11, 1, 7) | 0x63;
}

static inline uint32_t rv_u(uint32_t upper, int rd, int opcode)
{
	return (upper & 0xfffff000) | rv_put(rd, 0, 5, 7) | (uint32_t)opcode;
}

static inline uint32_t rv_lui(uint32_t upper, int rd)
{
	return rv_u(upper, rd, 0x37);
}

static inline uint32_t rv_auipc(uint32_t upper, int rd)
{
	return rv_u(upper, rd, 0x17);
}

static inline uint32_t rv_jal(int imm, int rd)
{
	return rv_put(imm, 20, 1, 31) | rv_put(imm, 1, 10, 21) | rv_put(imm, 11, 1, 20) |
	       rv_put(imm, 12, 8, 12) | rv_put(rd, 0, 5, 7) | 0x6f;
}

static inline uint32_t rv_jalr(int imm, int rs1, int rd)
{
	return rv_i(imm, rs1, 0, rd, 0x67);
}

static inline uint32_t rv_addi(int imm, int rs1, int rd)
{
	return rv_i(imm, rs1, 0, rd, 0x13);
}

static inline uint32_t rv_lw(int imm, int rs1, int rd)
{
	return rv_i(imm, rs1, 2, rd, 0x03);
}

static inline uint32_t rv_sw(int imm, int rs2, int rs1)
{
	return rv_s(imm, rs2, rs1, 2);
}

/* The upper part for lui, so that adding the low 12 bits as a signed number gives @v. */
static inline uint32_t rv_hi(uint32_t v)
{
	return (v + 0x800) & 0xfffff000;
}

static inline int rv_lo(uint32_t v)
{
	return (int)(v & 0xfff) - (v & 0x800 ? 0x1000 : 0);
}

enum { RV_CSRRW = 1, RV_CSRRS, RV_CSRRC, RV_CSRRWI = 5, RV_CSRRSI, RV_CSRRCI };

static inline uint32_t rv_csr(int how, int csr, int rs1, int rd)
{
	return rv_i(csr, rs1, how, rd, 0x73);
}

#define RV_ECALL	0x00000073u
#define RV_EBREAK	0x00100073u
#define RV_MRET		0x30200073u
#define RV_WFI		0x10500073u
#define RV_FENCE	0x0ff0000fu
#define RV_FENCE_I	0x0000100fu
#define RV_NOP		0x00000013u

/* Compressed. Registers of three bits are given as x8 to x15. */
static inline uint32_t rv_ci(int funct3, int imm, int rd, int quadrant)
{
	return rv_put(funct3, 0, 3, 13) | rv_put(imm, 5, 1, 12) | rv_put(rd, 0, 5, 7) |
	       rv_put(imm, 0, 5, 2) | (uint32_t)quadrant;
}

static inline uint32_t rv_c_addi(int imm, int rd) { return rv_ci(0, imm, rd, 1); }
static inline uint32_t rv_c_li(int imm, int rd) { return rv_ci(2, imm, rd, 1); }
static inline uint32_t rv_c_lui(int imm, int rd) { return rv_ci(3, imm, rd, 1); }
static inline uint32_t rv_c_slli(int imm, int rd) { return rv_ci(0, imm, rd, 2); }
static inline uint32_t rv_c_mv(int rs2, int rd) { return rv_ci(4, rs2, rd, 2); }
static inline uint32_t rv_c_add(int rs2, int rd) { return rv_ci(4, rs2 | 32, rd, 2); }
static inline uint32_t rv_c_jr(int rs1) { return rv_ci(4, 0, rs1, 2); }
static inline uint32_t rv_c_jalr(int rs1) { return rv_ci(4, 32, rs1, 2); }
#define RV_C_EBREAK	0x9002u
#define RV_C_NOP	0x0001u

static inline uint32_t rv_c_addi16sp(int imm)
{
	return 0x6101 | rv_put(imm, 9, 1, 12) | rv_put(imm, 4, 1, 6) | rv_put(imm, 6, 1, 5) |
	       rv_put(imm, 7, 2, 3) | rv_put(imm, 5, 1, 2);
}

static inline uint32_t rv_c_addi4spn(int imm, int rd)
{
	return rv_put(imm, 4, 2, 11) | rv_put(imm, 6, 4, 7) | rv_put(imm, 2, 1, 6) |
	       rv_put(imm, 3, 1, 5) | rv_put(rd - 8, 0, 3, 2);
}

/* c.lw with @store 0, c.sw with 1; @reg is what is loaded or stored. */
static inline uint32_t rv_c_lw(int store, int imm, int rs1, int reg)
{
	return (store ? 0xc000u : 0x4000u) | rv_put(imm, 3, 3, 10) | rv_put(rs1 - 8, 0, 3, 7) |
	       rv_put(imm, 2, 1, 6) | rv_put(imm, 6, 1, 5) | rv_put(reg - 8, 0, 3, 2);
}

static inline uint32_t rv_c_lwsp(int imm, int rd)
{
	return 0x4002 | rv_put(imm, 5, 1, 12) | rv_put(rd, 0, 5, 7) | rv_put(imm, 2, 3, 4) |
	       rv_put(imm, 6, 2, 2);
}

static inline uint32_t rv_c_swsp(int imm, int rs2)
{
	return 0xc002 | rv_put(imm, 2, 4, 9) | rv_put(imm, 6, 2, 7) | rv_put(rs2, 0, 5, 2);
}

/* @kind: 0 srli, 1 srai, 2 andi. */
static inline uint32_t rv_c_alui(int kind, int imm, int rd)
{
	return 0x8001 | rv_put(imm, 5, 1, 12) | rv_put(kind, 0, 2, 10) | rv_put(rd - 8, 0, 3, 7) |
	       rv_put(imm, 0, 5, 2);
}

/* @kind: 0 sub, 1 xor, 2 or, 3 and. */
static inline uint32_t rv_c_alu(int kind, int rs2, int rd)
{
	return 0x8c01 | rv_put(rd - 8, 0, 3, 7) | rv_put(kind, 0, 2, 5) | rv_put(rs2 - 8, 0, 3, 2);
}

/* c.j, and with @link c.jal. */
static inline uint32_t rv_c_j(int link, int imm)
{
	return (link ? 0x2001u : 0xa001u) | rv_put(imm, 11, 1, 12) | rv_put(imm, 4, 1, 11) |
	       rv_put(imm, 8, 2, 9) | rv_put(imm, 10, 1, 8) | rv_put(imm, 6, 1, 7) |
	       rv_put(imm, 7, 1, 6) | rv_put(imm, 1, 3, 3) | rv_put(imm, 5, 1, 2);
}

/* c.beqz, and with @ne c.bnez. */
static inline uint32_t rv_c_b(int ne, int imm, int rs1)
{
	return (ne ? 0xe001u : 0xc001u) | rv_put(imm, 8, 1, 12) | rv_put(imm, 3, 2, 10) |
	       rv_put(rs1 - 8, 0, 3, 7) | rv_put(imm, 6, 2, 5) | rv_put(imm, 1, 2, 3) |
	       rv_put(imm, 5, 1, 2);
}

#endif
