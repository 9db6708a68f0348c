// SPDX-License-Identifier: MIT
/*
 * The hart beside QEMU's user-mode emulator: random sequences of arithmetic, multiplication and
 * division, compressed forms, branches, jumps, loads and stores. The same ELF image runs in both,
 * and every register and the memory must be the same after each sequence. Which 16-bit encodings
 * are instructions at all is compared with LLVM's disassembler, for all of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/tmp.h"
#include "rv_gen.h"
#include "tap.h"
#include "tools/vnpu/device/rv32.h"

#define DATA_SIZE	(RV_GEN_CASES * sizeof(struct rv_gen_case))

static struct rv_gen gen;

static bool read_all(int fd, void *data, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = read(fd, (char *)data + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* Run @argv and take @size bytes of its output. */
static bool output_of(char *const argv[], void *data, size_t size)
{
	int fd[2], status = -1;
	bool good;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return false;
	pid = fork();
	if (!pid) {
		dup2(fd[1], 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(fd[1]);
	good = pid > 0 && read_all(fd[0], data, size);
	close(fd[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return good && status == 0;
}

static bool run_qemu(struct rv_gen_case *cases)
{
	const char *path = tmp_path("program");
	char *argv[] = { "qemu-riscv32", (char *)path, NULL };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	bool good;

	if (fd < 0)
		return false;
	good = write(fd, gen.image, gen.size) == (ssize_t)gen.size;
	close(fd);
	return good && output_of(argv, cases, DATA_SIZE);
}

static bool run_hart(struct rv_gen_case *cases, uint64_t *instructions)
{
	struct rv32_config config = { .tcm = gen.image, .tcm_base = RV_GEN_BASE,
				      .tcm_size = sizeof(gen.image), .reset_pc = gen.entry };
	struct rv32 *core;
	bool good;

	if (rv32_create(&config, &core))
		return false;
	rv32_break_add(core, gen.exit);
	good = rv32_run(core, 10000000, NULL) == RV32_STOP_BREAK &&
	       rv32_reg(core, RV32_REG_PC) == gen.exit;
	if (!good)
		tap_diag("hart ended at %#x, mcause and mtval tell why",
			 rv32_reg(core, RV32_REG_PC));
	memcpy(cases, gen.image + (gen.data - RV_GEN_BASE), DATA_SIZE);
	*instructions += rv32_instructions(core);
	rv32_destroy(core);
	return good;
}

static unsigned int compare(const struct rv_gen_case *want, const struct rv_gen_case *got,
			    uint64_t seed)
{
	const uint32_t *w, *g;
	unsigned int i, j, bad = 0;

	for (i = 0; i < RV_GEN_CASES; i++) {
		w = (const uint32_t *)(want + i);
		g = (const uint32_t *)(got + i);
		for (j = 0; j < sizeof(*want) / 4 && w[j] == g[j]; j++)
			;
		if (j == sizeof(*want) / 4)
			continue;
		if (!bad++)
			tap_diag("seed %llu case %u word %u: %#x, qemu has %#x",
				 (unsigned long long)seed, i, j, g[j], w[j]);
	}
	return bad;
}

static void test_random(void)
{
	static struct rv_gen_case want[RV_GEN_CASES], got[RV_GEN_CASES];
	unsigned int programs = tap_cases(50), i, bad = 0, failed = 0;
	uint64_t instructions = 0;

	for (i = 0; i < programs && !failed; i++) {
		rv_gen_make(&gen, i + 1);
		if (!run_qemu(want) || !run_hart(got, &instructions))
			failed++;
		else
			bad += compare(want, got, i + 1);
	}
	tap_ok(!failed, "programs run to their end in qemu-riscv32 and in the hart");
	tap_ok(!bad, "%u sequences leave the registers and memory that qemu-riscv32 has",
	       i * RV_GEN_CASES);
	tap_diag("%llu instructions executed", (unsigned long long)instructions);
	for (i = 0; i < RV_GEN_NUM_KINDS; i++) {
		if (!gen.count[i])
			tap_diag("never generated: %s", rv_gen_kind_name[i]);
		bad |= !gen.count[i];
	}
	tap_ok(!bad, "every form was generated");
	for (i = 0; i + 1 < RV_GEN_NUM_KINDS; i += 2)
		tap_diag("%-12s %6u   %-12s %6u", rv_gen_kind_name[i], gen.count[i],
			 rv_gen_kind_name[i + 1], gen.count[i + 1]);
}

/* What one instruction does on a hart whose memory holds nothing else. */
static bool hart_takes(struct rv32 *core, uint8_t *memory, uint32_t insn)
{
	uint32_t cause = 0;

	memcpy(memory, &insn, 4);
	rv32_reset(core, 0);
	rv32_catch_ebreak(core, true);
	rv32_run(core, 1, NULL);
	rv32_csr(core, 0x342, &cause);
	return cause != RV32_CAUSE_ILLEGAL;
}

/*
 * One line per encoding: each is disassembled behind a marker of its own, and what LLVM cannot make
 * sense of leaves the marker alone.
 */
static bool llvm_takes(const char *features, const uint32_t *insn, unsigned int size,
		       unsigned int count, bool *takes)
{
	const char *in = tmp_path("encodings");
	char command[600], line[600];
	unsigned int i, at = 0, n;
	FILE *f = fopen(in, "w");

	if (!f)
		return false;
	for (i = 0; i < count; i++) {
		for (n = 0; n < size; n++)
			fprintf(f, "0x%02x ", insn[i] >> 8 * n & 0xff);
		fputc('\n', f);
	}
	fclose(f);
	snprintf(command, sizeof(command),
		 "llvm-mc --disassemble --triple=riscv32 --mattr=%s '%.400s' 2>&1 >/dev/null",
		 features, in);
	for (i = 0; i < count; i++)
		takes[i] = true;
	f = popen(command, "r");
	while (f && fgets(line, sizeof(line), f)) {
		/* FILE:LINE:COLUMN: warning: invalid instruction encoding */
		if (strstr(line, "invalid instruction encoding") &&
		    sscanf(line + strlen(in), ":%u:", &at) == 1 && at && at <= count)
			takes[at - 1] = false;
	}
	return f && !pclose(f);
}

/*
 * LLVM knows an instruction with the all-zero encoding, which the specification promises to be
 * none, and decodes shifts by 32 and more and c.lui of 0, which it reserves.
 */
static bool is_llvm_own(uint32_t insn)
{
	if ((insn & 3) == 3)
		return (insn & 0x307f) == 0x1013 && insn >> 25 & 1;
	return !insn || (insn & 0xf003) == 0x1002 || (insn & 0xf803) == 0x9001 ||
	       (insn & 0xf07f) == 0x6001;
}

static void test_compressed_legality(void)
{
	static uint32_t insn[3 << 14];
	static bool takes[3 << 14];
	static uint8_t memory[64] __attribute__((aligned(4)));
	struct rv32_config config = { .tcm = memory, .tcm_size = sizeof(memory) };
	unsigned int i, n = 0, bad = 0, legal = 0;
	struct rv32 *core;

	for (i = 0; i < 1u << 16; i++) {
		if ((i & 3) != 3)
			insn[n++] = i;
	}
	if (!tap_ok(llvm_takes("+c,+m", insn, 2, n, takes), "llvm-mc disassembles") ||
	    rv32_create(&config, &core))
		return;
	for (i = 0; i < n; i++) {
		takes[i] = takes[i] && !is_llvm_own(insn[i]);
		legal += takes[i];
		if (hart_takes(core, memory, insn[i]) != takes[i] && bad++ < 5)
			tap_diag("%#06x: LLVM says %s", insn[i], takes[i] ? "legal" : "illegal");
	}
	rv32_destroy(core);
	tap_ok(!bad, "all %u 16-bit encodings: the %u that LLVM knows are taken, the others trap",
	       n, legal);
}

/*
 * All of what selects a 32-bit instruction, with registers at random. Opcodes that belong to other
 * extensions, custom and reserved ones trap, whatever LLVM makes of them; which registers SYSTEM
 * has is up to the hart, and on the forms of FENCE LLVM is stricter than the specification.
 */
static bool is_integer_opcode(unsigned int opcode)
{
	static const uint8_t integer[] = { 0x00, 0x04, 0x05, 0x08, 0x0c, 0x0d, 0x18, 0x19, 0x1b };

	return memchr(integer, (int)opcode, sizeof(integer));
}

static void test_legality(void)
{
	enum { COUNT = 0x20 * 8 * 0x80 };
	static uint32_t insn[COUNT];
	static bool takes[COUNT];
	static uint8_t memory[64] __attribute__((aligned(4)));
	struct rv32_config config = { .tcm = memory, .tcm_size = sizeof(memory) };
	unsigned int i, bad = 0, n = 0, legal = 0, opcode;
	struct rv32 *core;

	srand(1);
	for (i = 0; i < COUNT; i++) {
		opcode = i & 0x1f;
		if (opcode == 0x1c || opcode == 0x03)
			continue;
		insn[n++] = (i >> 8) << 25 | ((uint32_t)rand() & 0x01ff8000) | (i >> 5 & 7) << 12 |
			    ((uint32_t)rand() & 0xf80) | opcode << 2 | 3;
	}
	if (!tap_ok(llvm_takes("+c,+m", insn, 4, n, takes), "llvm-mc disassembles") ||
	    rv32_create(&config, &core))
		return;
	for (i = 0; i < n; i++) {
		takes[i] =
			takes[i] && !is_llvm_own(insn[i]) && is_integer_opcode(insn[i] >> 2 & 31);
		legal += takes[i];
		if (hart_takes(core, memory, insn[i]) != takes[i] && bad++ < 5)
			tap_diag("%#010x: LLVM says %s", insn[i], takes[i] ? "legal" : "illegal");
	}
	rv32_destroy(core);
	tap_ok(!bad, "%u encodings of 32 bits: the %u that LLVM knows are taken, the others trap",
	       n, legal);
}

/* A program over and over. Told, never judged: machines differ. */
static void tell_speed(void)
{
	struct rv32_config config = { .tcm = gen.image, .tcm_base = RV_GEN_BASE,
				      .tcm_size = sizeof(gen.image), .reset_pc = gen.entry };
	struct timespec from, to;
	struct rv32 *core;
	double s;

	gen.no_fence = true;
	rv_gen_make(&gen, 1);
	if (rv32_create(&config, &core))
		return;
	rv32_break_add(core, gen.exit);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	while (rv32_instructions(core) < 50000000) {
		rv32_set_reg(core, RV32_REG_PC, gen.entry);
		if (rv32_run(core, 10000000, NULL) != RV32_STOP_BREAK)
			break;
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	s = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
	tap_diag("%.0f million instructions per second",
		 1e-6 * (double)rv32_instructions(core) / s);
	rv32_destroy(core);
}

int main(void)
{
	test_random();
	test_compressed_legality();
	test_legality();
	tell_speed();
	return tap_done();
}
