/* SPDX-License-Identifier: MIT */
/*
 * Engine internal: kernels run with round to nearest even and with subnormals, whatever the program
 * that links us has set (-ffast-math turns subnormals off for the whole process).
 */
#ifndef NPU_FPENV_H
#define NPU_FPENV_H

#if defined(__x86_64__)
#include <xmmintrin.h>

typedef unsigned int npu_fpenv;

static inline npu_fpenv npu_fpenv_enter(void)
{
	npu_fpenv old = _mm_getcsr();

	_mm_setcsr(0x1f80);
	return old;
}

static inline void npu_fpenv_leave(npu_fpenv old)
{
	_mm_setcsr(old);
}
#elif defined(__aarch64__)
typedef unsigned long npu_fpenv;

static inline npu_fpenv npu_fpenv_enter(void)
{
	npu_fpenv old;

	__asm__ volatile("mrs %0, fpcr" : "=r"(old));
	__asm__ volatile("msr fpcr, %0" : : "r"(0ul));
	return old;
}

static inline void npu_fpenv_leave(npu_fpenv old)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(old));
}
#else
#include <fenv.h>

typedef int npu_fpenv;

static inline npu_fpenv npu_fpenv_enter(void)
{
	npu_fpenv old = fegetround();

	fesetround(FE_TONEAREST);
	return old;
}

static inline void npu_fpenv_leave(npu_fpenv old)
{
	fesetround(old);
}
#endif

#endif
