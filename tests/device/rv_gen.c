// SPDX-License-Identifier: MIT
#include <elf.h>
#include <string.h>
#include "rv_asm.h"
#include "rv_gen.h"

#define TEXT	(RV_GEN_BASE + 0x1000)
#define DATA	(RV_GEN_BASE + 0x80000)

const char *const rv_gen_kind_name[RV_GEN_NUM_KINDS] = {
#define X(name) #name,
	RV_GEN_KINDS(X)
#undef X
};

static uint32_t rnd(struct rv_gen *g, uint32_t below)
{
	g->rng ^= g->rng << 13;
	g->rng ^= g->rng >> 7;
	g->rng ^= g->rng << 17;
	return (uint32_t)(g->rng >> 32) % below;
}

/* Numbers at which something changes come often. */
static uint32_t rnd_value(struct rv_gen *g)
{
	static const uint32_t special[] = { 0,		1,	    2,		31,
					    32,		0x7f,	    0x80,	0xff,
					    0x7fff,	0x8000,	    0xffff,	0x7fffffff,
					    0x80000000, 0x80000001, 0xfffffffe, 0xffffffff,
					    0xffff8000, 0xffffff80, 0x10000 };

	if (rnd(g, 2))
		return special[rnd(g, sizeof(special) / sizeof(special[0]))];
	return rnd(g, 0x10000) << 16 | rnd(g, 0x10000);
}

static int rnd_signed(struct rv_gen *g, unsigned int bits)
{
	return (int)rnd(g, 1u << bits) - (1 << (bits - 1));
}

static void emit32(struct rv_gen *g, uint32_t insn)
{
	memcpy(g->image + (g->at - RV_GEN_BASE), &insn, 4);
	g->at += 4;
}

static void emit16(struct rv_gen *g, uint32_t insn)
{
	uint16_t half = (uint16_t)insn;

	memcpy(g->image + (g->at - RV_GEN_BASE), &half, 2);
	g->at += 2;
}

/* A register to write: neither the base register nor the counter of a loop that runs. */
static int rnd_rd(struct rv_gen *g)
{
	int rd;

	do
		rd = (int)rnd(g, 32);
	while (rd == g->base || (rd && rd == g->counter));
	return rd;
}

/* One of x8 to x15, or -1 when there is none that may be written. */
static int rnd_rd3(struct rv_gen *g)
{
	int rd;

	do
		rd = 8 + (int)rnd(g, 8);
	while (rd == g->base || rd == g->counter);
	return rd;
}

static int rnd_rs(struct rv_gen *g)
{
	return (int)rnd(g, 32);
}

static void emit_alu(struct rv_gen *g, enum rv_gen_kind kind)
{
	static const uint8_t plain[] = { 0, 1, 2, 3, 4, 5, 6, 7, 0 | 8, 5 | 8 };
	unsigned int pick = plain[rnd(g, 10)];

	switch (kind) {
	case RV_GEN_op:
		emit32(g, rv_r(pick & 8 ? 0x20 : 0, rnd_rs(g), rnd_rs(g), pick & 7, rnd_rd(g)));
		break;
	case RV_GEN_mul_div:
		emit32(g, rv_r(1, rnd_rs(g), rnd_rs(g), (int)rnd(g, 8), rnd_rd(g)));
		break;
	case RV_GEN_op_imm:
		emit32(g, rv_i(rnd_signed(g, 12), rnd_rs(g), (int[]){ 0, 2, 3, 4, 6, 7 }[rnd(g, 6)],
			       rnd_rd(g), 0x13));
		break;
	default: /* slli, srli, srai */
		pick = rnd(g, 3);
		emit32(g, rv_i((int)rnd(g, 32) | (pick == 2 ? 0x400 : 0), rnd_rs(g), pick ? 5 : 1,
			       rnd_rd(g), 0x13));
	}
}

static void emit_memory(struct rv_gen *g, bool store)
{
	unsigned int size = rnd(g, 3), funct3 = size;
	int offset = (int)(rnd(g, 192u >> size) << size) - 64;

	if (store) {
		emit32(g, rv_s(offset, rnd_rs(g), g->base, (int)size));
		return;
	}
	if (size < 2 && rnd(g, 2))
		funct3 += 4;
	emit32(g, rv_i(offset, g->base, (int)funct3, rnd_rd(g), 0x03));
}

static void emit_c_memory(struct rv_gen *g, enum rv_gen_kind *kind)
{
	int offset = 4 * (int)rnd(g, 32), rd;
	bool store = rnd(g, 2);

	if (g->base == 2) {
		*kind = RV_GEN_c_lwsp_swsp;
		do
			rd = rnd_rd(g);
		while (!rd);
		emit16(g, store ? rv_c_swsp(offset, rnd_rs(g)) : rv_c_lwsp(offset, rd));
	} else if (g->base >= 8 && g->base < 16) {
		*kind = RV_GEN_c_lw_sw;
		emit16(g, rv_c_lw(store, offset, g->base, rnd_rd3(g)));
	} else {
		*kind = RV_GEN_store;
		emit_memory(g, true);
	}
}

static int rnd_nonzero(struct rv_gen *g, unsigned int bits)
{
	int v;

	do
		v = rnd_signed(g, bits);
	while (!v);
	return v;
}

static void emit_c_register(struct rv_gen *g, enum rv_gen_kind kind)
{
	int rs2 = 1 + (int)rnd(g, 31), shift = (int)rnd(g, 32), rd = rnd_rd(g);
	unsigned int pick;

	switch (kind) {
	case RV_GEN_c_imm:
		emit16(g,
		       rnd(g, 2) ? rv_c_addi(rnd_signed(g, 6), rd) : rv_c_li(rnd_signed(g, 6), rd));
		break;
	case RV_GEN_c_lui:
		while (rd == 2)
			rd = rnd_rd(g);
		emit16(g, rv_c_lui(rnd_nonzero(g, 6), rd));
		break;
	case RV_GEN_c_alu:
		emit16(g, rv_c_alu((int)rnd(g, 4), 8 + (int)rnd(g, 8), rnd_rd3(g)));
		break;
	case RV_GEN_c_alui:
		pick = rnd(g, 3);
		emit16(g, rv_c_alui((int)pick, pick == 2 ? rnd_signed(g, 6) : shift, rnd_rd3(g)));
		break;
	case RV_GEN_c_slli:
		emit16(g, rv_c_slli(shift, rd));
		break;
	default:
		emit16(g, rnd(g, 2) ? rv_c_mv(rs2, rd) : rv_c_add(rs2, rd));
	}
}

static void emit_c_sp(struct rv_gen *g, enum rv_gen_kind *kind)
{
	if (g->base == 2 || g->counter == 2 || *kind == RV_GEN_c_addi4spn) {
		*kind = RV_GEN_c_addi4spn;
		emit16(g, rv_c_addi4spn(4 * (1 + (int)rnd(g, 255)), rnd_rd3(g)));
	} else {
		emit16(g, rv_c_addi16sp(16 * rnd_nonzero(g, 6)));
	}
}

/* What goes straight on. */
static void emit_straight(struct rv_gen *g)
{
	static const uint8_t kinds[] = {
		RV_GEN_op, RV_GEN_op, RV_GEN_mul_div, RV_GEN_mul_div, RV_GEN_mul_div, RV_GEN_op_imm,
		RV_GEN_op_imm, RV_GEN_shift_imm, RV_GEN_lui, RV_GEN_auipc, RV_GEN_load, RV_GEN_load,
		RV_GEN_store, RV_GEN_store, RV_GEN_c_imm, RV_GEN_c_lui, RV_GEN_c_addi16sp,
		RV_GEN_c_addi4spn, RV_GEN_c_alu, RV_GEN_c_alui, RV_GEN_c_slli, RV_GEN_c_mv_add,
		RV_GEN_c_lw_sw, RV_GEN_c_lw_sw, RV_GEN_fence };
	enum rv_gen_kind kind = kinds[rnd(g, sizeof(kinds))];

	switch (kind) {
	case RV_GEN_op:
	case RV_GEN_mul_div:
	case RV_GEN_op_imm:
	case RV_GEN_shift_imm:
		emit_alu(g, kind);
		break;
	case RV_GEN_lui:
		emit32(g, rv_lui(rnd(g, 1u << 20) << 12, rnd_rd(g)));
		break;
	case RV_GEN_auipc:
		emit32(g, rv_auipc(rnd(g, 1u << 20) << 12, rnd_rd(g)));
		break;
	case RV_GEN_load:
	case RV_GEN_store:
		emit_memory(g, kind == RV_GEN_store);
		break;
	case RV_GEN_c_addi16sp:
	case RV_GEN_c_addi4spn:
		emit_c_sp(g, &kind);
		break;
	case RV_GEN_c_lw_sw:
		emit_c_memory(g, &kind);
		break;
	case RV_GEN_fence:
		if (!g->no_fence)
			emit32(g, rnd(g, 2) ? RV_FENCE : RV_FENCE_I);
		break;
	default:
		emit_c_register(g, kind);
	}
	g->count[kind]++;
}

static void emit_some(struct rv_gen *g, unsigned int most)
{
	unsigned int n = rnd(g, most + 1);

	while (n--)
		emit_straight(g);
}

static void patch16(struct rv_gen *g, uint32_t at, uint32_t insn)
{
	uint32_t end = g->at;

	g->at = at;
	emit16(g, insn);
	g->at = end;
}

static void patch32(struct rv_gen *g, uint32_t at, uint32_t insn)
{
	uint32_t end = g->at;

	g->at = at;
	emit32(g, insn);
	g->at = end;
}

/* Over a few instructions, which may or must be left out. */
static void emit_forward(struct rv_gen *g, enum rv_gen_kind kind)
{
	static const uint8_t conditions[] = { 0, 1, 4, 5, 6, 7 };
	bool compressed = kind == RV_GEN_c_jump || kind == RV_GEN_c_branch;
	int rs1 = rnd_rs(g), rs2 = rnd_rs(g), rd = rnd_rd(g), link, distance;
	int condition = conditions[rnd(g, 6)];
	uint32_t at = g->at;

	/* c.jal writes x1. */
	link = g->base != 1 && rnd(g, 2);
	g->at += compressed ? 2 : 4;
	emit_some(g, 6);
	distance = (int)(g->at - at);
	if (kind == RV_GEN_branch)
		patch32(g, at, rv_b(distance, rs2, rs1, condition));
	else if (kind == RV_GEN_jal)
		patch32(g, at, rv_jal(distance, rd));
	else if (kind == RV_GEN_c_jump)
		patch16(g, at, rv_c_j(link, distance));
	else
		patch16(g, at, rv_c_b(link, distance, 8 + rs1 % 8));
}

/* A jump through a register to an odd address, of which the last bit does not count. */
static void emit_indirect(struct rv_gen *g, enum rv_gen_kind kind)
{
	int link = g->base != 1 && rnd(g, 2), rd = rnd_rd(g), via;
	uint32_t at = g->at;

	do
		via = rnd_rd(g);
	while (!via);
	g->at += kind == RV_GEN_jalr ? 8 : 10;
	emit_some(g, 4);
	patch32(g, at, rv_auipc(0, via));
	if (kind == RV_GEN_jalr) {
		patch32(g, at + 4, rv_jalr((int)(g->at - at) | (int)rnd(g, 2), via, rd));
		return;
	}
	patch32(g, at + 4, rv_addi((int)(g->at - at) | (int)rnd(g, 2), via, via));
	patch16(g, at + 8, link ? rv_c_jalr(via) : rv_c_jr(via));
}

/* A loop of two to six rounds; the branch back is compressed where the counter allows. */
static void emit_loop(struct rv_gen *g)
{
	int counter;
	uint32_t top;

	do
		counter = rnd_rd(g);
	while (!counter || counter == 2);
	emit32(g, rv_addi(2 + (int)rnd(g, 5), 0, counter));
	g->counter = counter;
	top = g->at;
	emit_some(g, 4);
	emit16(g, rv_c_addi(-1, counter));
	if (counter >= 8 && counter < 16)
		emit16(g, rv_c_b(1, (int)(top - g->at), counter));
	else
		emit32(g, rv_b((int)(top - g->at), 0, counter, 1));
	g->counter = 0;
}

static void emit_any(struct rv_gen *g)
{
	static const uint8_t kinds[] = { RV_GEN_branch, RV_GEN_branch, RV_GEN_jal, RV_GEN_jalr,
					 RV_GEN_loop, RV_GEN_c_jump, RV_GEN_c_branch,
					 RV_GEN_c_jr_jalr };
	enum rv_gen_kind kind = kinds[rnd(g, sizeof(kinds))];

	if (rnd(g, 4)) {
		emit_straight(g);
		return;
	}
	g->count[kind]++;
	if (kind == RV_GEN_loop)
		emit_loop(g);
	else if (kind == RV_GEN_jalr || kind == RV_GEN_c_jr_jalr)
		emit_indirect(g, kind);
	else
		emit_forward(g, kind);
}

/* Half of the bases are those that compressed loads and stores can use. */
static int rnd_base(struct rv_gen *g)
{
	switch (rnd(g, 4)) {
	case 0:
		return 2;
	case 1:
		return 8 + (int)rnd(g, 8);
	default:
		return 1 + (int)rnd(g, 31);
	}
}

static void make_case(struct rv_gen *g, unsigned int index)
{
	uint32_t data = DATA + index * sizeof(struct rv_gen_case);
	uint32_t memory = data + offsetof(struct rv_gen_case, memory);
	struct rv_gen_case *c = (void *)(g->image + (data - RV_GEN_BASE));
	int before =
		(int)(offsetof(struct rv_gen_case, before) - offsetof(struct rv_gen_case, memory));
	int after =
		(int)(offsetof(struct rv_gen_case, after) - offsetof(struct rv_gen_case, memory));
	unsigned int i;
	int r;

	for (i = 0; i < sizeof(*c) / 4; i++)
		((uint32_t *)(void *)c)[i] = rnd_value(g);
	g->base = rnd_base(g);
	emit32(g, rv_lui(rv_hi(memory), g->base));
	emit32(g, rv_addi(rv_lo(memory), g->base, g->base));
	for (r = 1; r < 32; r++) {
		if (r != g->base)
			emit32(g, rv_lw(before + 4 * r, g->base, r));
	}
	for (i = 0; i < RV_GEN_LENGTH; i++)
		emit_any(g);
	for (r = 1; r < 32; r++) {
		if (r != g->base)
			emit32(g, rv_sw(after + 4 * r, r, g->base));
	}
}

/* write(1, data, size) and exit(0), in Linux' numbers. */
static void make_exit(struct rv_gen *g)
{
	uint32_t size = RV_GEN_CASES * sizeof(struct rv_gen_case);

	emit32(g, rv_addi(1, 0, 10));
	emit32(g, rv_lui(rv_hi(DATA), 11));
	emit32(g, rv_addi(rv_lo(DATA), 11, 11));
	emit32(g, rv_lui(rv_hi(size), 12));
	emit32(g, rv_addi(rv_lo(size), 12, 12));
	emit32(g, rv_addi(64, 0, 17));
	g->exit = g->at;
	emit32(g, RV_ECALL);
	emit32(g, rv_addi(0, 0, 10));
	emit32(g, rv_addi(93, 0, 17));
	emit32(g, RV_ECALL);
}

static void make_header(struct rv_gen *g)
{
	Elf32_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_EXEC, .e_machine = EM_RISCV, .e_version = EV_CURRENT,
			  .e_entry = TEXT, .e_phoff = sizeof(eh), .e_flags = EF_RISCV_RVC,
			  .e_ehsize = sizeof(eh), .e_phentsize = sizeof(Elf32_Phdr), .e_phnum = 1 };
	Elf32_Phdr ph = { .p_type = PT_LOAD, .p_vaddr = RV_GEN_BASE, .p_paddr = RV_GEN_BASE,
			  .p_filesz = (Elf32_Word)g->size, .p_memsz = (Elf32_Word)g->size,
			  .p_flags = PF_R | PF_W | PF_X, .p_align = 0x1000 };

	memcpy(g->image, &eh, sizeof(eh));
	memcpy(g->image + sizeof(eh), &ph, sizeof(ph));
}

void rv_gen_make(struct rv_gen *g, uint64_t seed)
{
	unsigned int i;

	memset(g->image, 0, sizeof(g->image));
	g->rng = seed * 0x9e3779b97f4a7c15ull | 1;
	g->counter = 0;
	g->entry = TEXT;
	g->data = DATA;
	g->at = TEXT;
	for (i = 0; i < RV_GEN_CASES; i++)
		make_case(g, i);
	make_exit(g);
	g->size = DATA - RV_GEN_BASE + RV_GEN_CASES * sizeof(struct rv_gen_case);
	make_header(g);
}
