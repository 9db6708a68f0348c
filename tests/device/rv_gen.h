/* SPDX-License-Identifier: MIT */
/*
 * Random programs for a RISC-V user-mode emulator and for the hart: an ELF image whose data part,
 * after the program has run, says what every register and a scratch memory held after each of many
 * short random sequences.
 */
#ifndef RV_GEN_H
#define RV_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RV_GEN_BASE	0x00100000u	/* where the image is loaded, ELF header included */
#define RV_GEN_CASES	100u
#define RV_GEN_LENGTH	40u		/* at least so many instructions each */

/*
 * A case's data. The base register points at memory[]; 64 bytes in front of it are used, too.
 */
struct rv_gen_case {
	uint32_t below[16];
	uint32_t memory[32];
	uint32_t before[32];		/* registers when it starts and when it ends; x0 and the */
	uint32_t after[32];		/* base register are not among them */
};

/* Instructions by form, so that a test can say how often each was tried. */
#define RV_GEN_KINDS(X) \
	X(op) X(mul_div) X(op_imm) X(shift_imm) X(lui) X(auipc) X(load) X(store) X(branch) X(jal) \
	X(jalr) X(loop) X(c_imm) X(c_lui) X(c_addi16sp) X(c_addi4spn) X(c_alu) X(c_alui) X(c_slli) \
	X(c_mv_add) X(c_lw_sw) X(c_lwsp_swsp) X(c_jump) X(c_branch) X(c_jr_jalr) X(fence)

enum rv_gen_kind {
#define X(name) RV_GEN_##name,
	RV_GEN_KINDS(X)
#undef X
	RV_GEN_NUM_KINDS
};

extern const char *const rv_gen_kind_name[RV_GEN_NUM_KINDS];

struct rv_gen {
	uint8_t image[1 << 20];
	size_t size;			/* of the image */
	uint32_t entry;			/* addresses */
	uint32_t exit;			/* of the first system call */
	uint32_t data;			/* of struct rv_gen_case[RV_GEN_CASES] */
	unsigned int count[RV_GEN_NUM_KINDS];
	bool no_fence;			/* set by the caller: leave FENCE and FENCE.I out */
	/* The generator's own. */
	uint64_t rng;
	uint32_t at;
	int base, counter;
};

/* The program of @seed. Adds to gen->count. */
void rv_gen_make(struct rv_gen *gen, uint64_t seed);

#endif
