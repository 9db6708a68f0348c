/* SPDX-License-Identifier: MIT */
/*
 * Entry, traps, and the accesses to kernel memory. The loader has zeroed .bss; interrupts stay off
 * and only end wfi.
 */
#define TRAP_SIZE	(36 * 4)

	.section .text.start, "ax"
	.globl	fw_start
fw_start:
	la	t0, trap_entry
	csrw	mtvec, t0
	la	t0, fw_trap_stack_top
	csrw	mscratch, t0
	csrw	mstatus, zero
	/* Timer and external interrupt wake. */
	li	t0, 0x880
	csrw	mie, t0
	la	sp, fw_stack_top
	j	fw_main

/*
 * The firmware's own stack may be what is wrong, so traps have another. An access to kernel memory
 * by the functions below that faults returns false; all else is a crash.
 */
	.align	2
trap_entry:
	csrrw	sp, mscratch, sp
	addi	sp, sp, -TRAP_SIZE
	sw	t0, 5 * 4(sp)
	sw	t1, 6 * 4(sp)
	csrr	t0, mepc
	la	t1, copy_begin
	bltu	t0, t1, crash
	la	t1, copy_end
	bgeu	t0, t1, crash
	la	t1, copy_failed
	csrw	mepc, t1
	lw	t0, 5 * 4(sp)
	lw	t1, 6 * 4(sp)
	addi	sp, sp, TRAP_SIZE
	csrrw	sp, mscratch, sp
	mret

crash:
	.irp	n, 1, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
	sw	x\n, \n * 4(sp)
	.endr
	.irp	n, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	sw	x\n, \n * 4(sp)
	.endr
	sw	zero, 0(sp)
	csrr	t0, mscratch
	sw	t0, 2 * 4(sp)
	csrr	t0, mcause
	sw	t0, 32 * 4(sp)
	csrr	t0, mepc
	sw	t0, 33 * 4(sp)
	csrr	t0, mtval
	sw	t0, 34 * 4(sp)
	csrr	t0, mstatus
	sw	t0, 35 * 4(sp)
	/* Another trap finds the same stack: what it overwrites is of no use any more. */
	la	t0, fw_trap_stack_top
	csrw	mscratch, t0
	mv	a0, sp
	j	fw_panic

	.text
	.align	2
copy_begin:
/* bool fw_load(npu_u32 addr, npu_u32 *value) */
	.globl	fw_load
fw_load:
	lw	t0, 0(a0)
	sw	t0, 0(a1)
	li	a0, 1
	ret

/* bool fw_store(npu_u32 addr, npu_u32 value) */
	.globl	fw_store
fw_store:
	sw	a1, 0(a0)
	li	a0, 1
	ret

/*
 * bool fw_copy_from(void *to, npu_u32 addr, npu_u32 words)
 * bool fw_copy_to(npu_u32 addr, const void *from, npu_u32 words)
 * What differs is only which of the two may fault. Four words at a time, then what is left.
 */
	.globl	fw_copy_from
	.globl	fw_copy_to
fw_copy_from:
fw_copy_to:
	andi	a3, a2, 3
	srli	a2, a2, 2
	beqz	a2, 2f
1:	lw	t0, 0(a1)
	sw	t0, 0(a0)
	lw	t0, 4(a1)
	sw	t0, 4(a0)
	lw	t0, 8(a1)
	sw	t0, 8(a0)
	lw	t0, 12(a1)
	sw	t0, 12(a0)
	addi	a1, a1, 16
	addi	a0, a0, 16
	addi	a2, a2, -1
	bnez	a2, 1b
2:	beqz	a3, 4f
3:	lw	t0, 0(a1)
	sw	t0, 0(a0)
	addi	a1, a1, 4
	addi	a0, a0, 4
	addi	a3, a3, -1
	bnez	a3, 3b
4:	li	a0, 1
	ret

/* bool fw_copy_bytes_to(npu_u32 addr, const void *from, npu_u32 bytes) */
	.globl	fw_copy_bytes_to
fw_copy_bytes_to:
	beqz	a2, 2f
	add	a2, a2, a0
1:	lbu	t0, 0(a1)
	addi	a1, a1, 1
	sb	t0, 0(a0)
	addi	a0, a0, 1
	bne	a0, a2, 1b
2:	li	a0, 1
	ret
copy_end:

copy_failed:
	li	a0, 0
	ret
