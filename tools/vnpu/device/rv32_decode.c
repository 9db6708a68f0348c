// SPDX-License-Identifier: MIT
#include "rv32_priv.h"

/* Bits @low to @high of @raw. */
static uint32_t bits(uint32_t raw, unsigned int high, unsigned int low)
{
	return raw >> low & ((2u << (high - low)) - 1);
}

/* The @width low bits of @value as a signed number. */
static uint32_t sign_extend(uint32_t value, unsigned int width)
{
	uint32_t sign = 1u << (width - 1);

	return (value ^ sign) - sign;
}

static uint32_t imm_i(uint32_t raw)
{
	return sign_extend(bits(raw, 31, 20), 12);
}

static uint32_t imm_s(uint32_t raw)
{
	return sign_extend(bits(raw, 31, 25) << 5 | bits(raw, 11, 7), 12);
}

static uint32_t imm_b(uint32_t raw)
{
	return sign_extend(bits(raw, 31, 31) << 12 | bits(raw, 7, 7) << 11 |
			   bits(raw, 30, 25) << 5 | bits(raw, 11, 8) << 1, 13);
}

static uint32_t imm_j(uint32_t raw)
{
	return sign_extend(bits(raw, 31, 31) << 20 | bits(raw, 19, 12) << 12 |
			   bits(raw, 20, 20) << 11 | bits(raw, 30, 21) << 1, 21);
}

static uint8_t decode_op(uint32_t raw)
{
	static const uint8_t base[8] = { RV32_ADD, RV32_SLL, RV32_SLT, RV32_SLTU,
					 RV32_XOR, RV32_SRL, RV32_OR,  RV32_AND };
	static const uint8_t mul[8] = { RV32_MUL, RV32_MULH, RV32_MULHSU, RV32_MULHU, RV32_DIV,
					RV32_DIVU, RV32_REM, RV32_REMU };
	uint32_t funct3 = bits(raw, 14, 12);

	switch (bits(raw, 31, 25)) {
	case 0x00:
		return base[funct3];
	case 0x01:
		return mul[funct3];
	case 0x20:
		return funct3 == 0 ? RV32_SUB : funct3 == 5 ? RV32_SRA : RV32_ILLEGAL;
	default:
		return RV32_ILLEGAL;
	}
}

static uint8_t decode_op_imm(uint32_t raw, uint32_t *imm)
{
	static const uint8_t ops[8] = { RV32_ADD, RV32_SLL, RV32_SLT, RV32_SLTU, RV32_XOR, RV32_SRL,
					RV32_OR, RV32_AND };
	uint32_t funct3 = bits(raw, 14, 12), funct7 = bits(raw, 31, 25);

	*imm = imm_i(raw);
	if (funct3 != 1 && funct3 != 5)
		return ops[funct3];
	*imm = bits(raw, 24, 20);
	if (funct7 == 0x20 && funct3 == 5)
		return RV32_SRA;
	return funct7 ? RV32_ILLEGAL : ops[funct3];
}

/* FENCE's other forms and hints are no different from the full one. */
static uint8_t decode_fence(uint32_t raw)
{
	switch (bits(raw, 14, 12)) {
	case 0:
		return RV32_FENCE;
	case 1:
		return RV32_FENCE_I;
	default:
		return RV32_ILLEGAL;
	}
}

static uint8_t decode_system(uint32_t raw)
{
	switch (raw) {
	case 0x00000073:
		return RV32_ECALL;
	case 0x00100073:
		return RV32_EBREAK;
	case 0x30200073:
		return RV32_MRET;
	case 0x10500073:
		return RV32_WFI;
	default:
		return bits(raw, 13, 12) ? RV32_CSR : RV32_ILLEGAL;
	}
}

/* Operands that a form does not have are x0 and 0, and a result that it does not have is x0. */
static void decode_known(uint32_t raw, uint32_t pc, struct rv32_insn *insn)
{
	static const uint8_t branch[8] = { RV32_BEQ, RV32_BNE, RV32_ILLEGAL, RV32_ILLEGAL, RV32_BLT,
					   RV32_BGE, RV32_BLTU, RV32_BGEU };
	static const uint8_t load[8] = { RV32_LB,  RV32_LH,  RV32_LW,	   RV32_ILLEGAL,
					 RV32_LBU, RV32_LHU, RV32_ILLEGAL, RV32_ILLEGAL };
	static const uint8_t store[8] = { RV32_SB, RV32_SH, RV32_SW, RV32_ILLEGAL, RV32_ILLEGAL,
					  RV32_ILLEGAL, RV32_ILLEGAL, RV32_ILLEGAL };
	uint32_t funct3 = bits(raw, 14, 12), rd = bits(raw, 11, 7), rs1 = bits(raw, 19, 15);
	uint32_t rs2 = bits(raw, 24, 20);

#define INSN(o, d, s1, s2, i) \
	*insn = (struct rv32_insn){ .op = (o), .rd = (d), .rs1 = (s1), .rs2 = (s2), .imm = (i) }
	switch (bits(raw, 6, 0)) {
	case 0x03: INSN(load[funct3], rd, rs1, 0, imm_i(raw)); break;
	case 0x0f: INSN(decode_fence(raw), 0, 0, 0, 0); break;
	case 0x13: INSN(0, rd, rs1, 0, 0); insn->op = decode_op_imm(raw, &insn->imm); break;
	case 0x17: INSN(RV32_ADD, rd, 0, 0, pc + (raw & 0xfffff000)); break;
	case 0x23: INSN(store[funct3], 0, rs1, rs2, imm_s(raw)); break;
	case 0x33: INSN(decode_op(raw), rd, rs1, rs2, 0); break;
	case 0x37: INSN(RV32_ADD, rd, 0, 0, raw & 0xfffff000); break;
	case 0x63: INSN(branch[funct3], 0, rs1, rs2, imm_b(raw)); break;
	case 0x67: INSN(funct3 ? RV32_ILLEGAL : RV32_JALR, rd, rs1, 0, imm_i(raw)); break;
	case 0x6f: INSN(RV32_JAL, rd, 0, 0, imm_j(raw)); break;
	case 0x73: INSN(decode_system(raw), rd, rs1, funct3, bits(raw, 31, 20)); break;
	default:   INSN(RV32_ILLEGAL, 0, 0, 0, 0); break;
	}
#undef INSN
	if (!insn->rd)
		insn->rd = RV32_NOWHERE;
}

void rv32_decode(uint32_t raw, uint32_t pc, struct rv32_insn *insn)
{
	uint32_t full = raw;

	if ((raw & 3) != 3)
		full = rv32_expand((uint16_t)raw);
	decode_known(full, pc, insn);
	insn->length = (raw & 3) == 3 ? 4 : 2;
	if (insn->op == RV32_ILLEGAL)
		insn->imm = insn->length == 4 ? raw : raw & 0xffff;
}
