// SPDX-License-Identifier: MIT
/*
 * The debugger's stub: spoken to by hand, with good and with malformed packets, and by gdb itself
 * where it is installed. Expected are the protocol's published examples and what the program's own
 * instructions say.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "rv_asm.h"
#include "common/tmp.h"
#include "tap.h"
#include "tools/vnpu/device/rv32.h"
#include "tools/vnpu/device/rv32_gdb.h"
#include "tools/vnpu/device/rv32_gdb_cmd.h"

#define SIZE	0x1000u

/* A thread that runs a hart as the device does. */
static struct {
	uint8_t memory[SIZE] __attribute__((aligned(4)));
	struct rv32 *core;
	struct rv32_gdb *gdb;
	atomic_bool stop, quit, reset;
	pthread_t thread;
	/* Protects nothing but the sleep: what is waited for is atomic, or the stub's. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	char path[100];
} hart = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };

static void kick(void *ctx)
{
	atomic_store(&hart.stop, true);
	pthread_mutex_lock(&hart.lock);
	pthread_cond_signal(&hart.wake);
	pthread_mutex_unlock(&hart.lock);
}

static void *run(void *arg)
{
	enum rv32_stop why = RV32_STOP_BUDGET;
	uint64_t n;

	while (!atomic_load(&hart.quit)) {
		if (atomic_exchange(&hart.reset, false))
			rv32_reset(hart.core, 0);
		n = rv32_gdb_gate(hart.gdb, why, 10000);
		atomic_store(&hart.stop, false);
		why = n ? rv32_run(hart.core, n, &hart.stop) : RV32_STOP_BUDGET;
		pthread_mutex_lock(&hart.lock);
		while (why == RV32_STOP_WAIT && !rv32_runnable(hart.core) &&
		       !rv32_gdb_holds(hart.gdb) && !atomic_load(&hart.quit))
			pthread_cond_wait(&hart.wake, &hart.lock);
		pthread_mutex_unlock(&hart.lock);
	}
	return NULL;
}

/*
 * 0: x6 counts up by one in a loop of three instructions; 0x10: wfi; 0x20: ebreak in between.
 */
static void start(uint32_t pc)
{
	struct rv32_config config = { .tcm = hart.memory, .tcm_size = SIZE, .reset_pc = pc };
	static const uint32_t code[] = { 0x00130313 /* addi x6, x6, 1 */, RV_NOP, 0 /* jal */, 0,
					 RV_WFI, 0, 0, 0, RV_NOP, RV_EBREAK, RV_NOP, 0 };
	struct rv32_gdb_config gdb = { .kick = kick };
	uint32_t jump;
	char address[120];

	memset(hart.memory, 0, SIZE);
	memcpy(hart.memory, code, sizeof(code));
	jump = rv_jal(-8, 0);
	memcpy(hart.memory + 8, &jump, 4);
	memcpy(hart.memory + 0x14, &jump, 4);
	jump = rv_jal(0, 0);
	memcpy(hart.memory + 0x2c, &jump, 4);
	memcpy(hart.memory + 0x100, "hello", 6);
	if (rv32_create(&config, &hart.core))
		abort();
	snprintf(hart.path, sizeof(hart.path), "%.80s", tmp_path("gdb"));
	unlink(hart.path);
	snprintf(address, sizeof(address), "unix:%s", hart.path);
	gdb.core = hart.core;
	gdb.address = address;
	if (rv32_gdb_start(&gdb, &hart.gdb))
		abort();
	atomic_store(&hart.quit, false);
	pthread_create(&hart.thread, NULL, run, NULL);
}

static void finish(void)
{
	atomic_store(&hart.quit, true);
	kick(NULL);
	rv32_gdb_release(hart.gdb);
	pthread_join(hart.thread, NULL);
	rv32_gdb_stop(hart.gdb);
	rv32_destroy(hart.core);
}

static int dial(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(addr.sun_path, hart.path, sizeof(hart.path));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		abort();
	return fd;
}

static void say(int fd, const char *text, size_t size)
{
	if (write(fd, text, size) != (ssize_t)size)
		abort();
}

static void say_packet(int fd, const char *content)
{
	char packet[5000];
	uint8_t sum = 0;
	size_t i;

	for (i = 0; content[i]; i++)
		sum += (uint8_t)content[i];
	snprintf(packet, sizeof(packet), "$%s#%02x", content, sum);
	say(fd, packet, strlen(packet));
}

/* Up to the end of a packet, or what came within @ms. */
static const char *hear(int fd, int ms)
{
	static char text[6000];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t size = 0;

	while (size + 1 < sizeof(text) && poll(&p, 1, ms) > 0 && read(fd, text + size, 1) == 1) {
		size++;
		if (size >= 3 && text[size - 3] == '#')
			break;
	}
	text[size] = '\0';
	return text;
}

static void expect(int fd, const char *command, const char *answer)
{
	const char *got;

	say_packet(fd, command);
	got = hear(fd, 5000);
	if (!tap_ok(!strcmp(got, answer), "'%.40s' is answered by '%.40s'", command, answer))
		tap_diag("got '%s'", got);
}

static void test_protocol(void)
{
	int fd;

	start(0);
	fd = dial();
	expect(fd, "?", "+$S05#b8");
	expect(fd, "qAttached", "+$1#31");
	expect(fd, "m100,6", "+$68656c6c6f00#07");
	expect(fd, "mfffffff0,4", "+$E0e#da");
	expect(fd, "mffc,8", "+$00000000#80");
	expect(fd, "M104,2:6121", "+$OK#9a");
	expect(fd, "m100,6", "+$68656c6c6121#d5");
	expect(fd, "P6=78563412", "+$OK#9a");
	expect(fd, "p6", "+$78563412#a4");
	/* x0 does not change, the pc loses its last bit, a register that is not there. */
	expect(fd, "P0=01000000", "+$OK#9a");
	expect(fd, "p0", "+$00000000#80");
	expect(fd, "P20=05000000", "+$OK#9a");
	expect(fd, "p20", "+$04000000#84");
	expect(fd, "p1000", "+$E16#ac");
	/* misa, by its number in the description, which can not be written. */
	expect(fd, "p22", "+$04110040#8a");
	expect(fd, "vMustReplyEmpty", "+$#00");
	expect(fd, "QStartNoAckMode", "+$OK#9a");
	expect(fd, "qC", "$QC1#c5");
	close(fd);
	finish();
}

/* Does it execute, within some seconds? */
static bool runs_on(void)
{
	uint64_t before = rv32_instructions(hart.core);
	int ms;

	for (ms = 0; ms < 10000; ms++) {
		if (rv32_instructions(hart.core) - before > 1000)
			return true;
		usleep(1000);
	}
	return false;
}

static void test_run(void)
{
	int fd;

	start(0);
	fd = dial();
	expect(fd, "QStartNoAckMode", "+$OK#9a");
	expect(fd, "P20=00000000", "$OK#9a");
	expect(fd, "P6=00000000", "$OK#9a");
	expect(fd, "s", "$S05#b8");
	expect(fd, "p20", "$04000000#84");
	expect(fd, "p6", "$01000000#81");
	expect(fd, "vCont;s:1", "$S05#b8");
	expect(fd, "p20", "$08000000#88");
	/* Around the loop to the breakpoint, and around again. */
	expect(fd, "Z0,4,4", "$OK#9a");
	expect(fd, "Z0,4,4", "$OK#9a");
	expect(fd, "c", "$S05#b8");
	expect(fd, "p20", "$04000000#84");
	expect(fd, "p6", "$02000000#82");
	expect(fd, "vCont;c", "$S05#b8");
	expect(fd, "p6", "$03000000#83");
	expect(fd, "z0,4,4", "$OK#9a");
	say_packet(fd, "c");
	tap_ok(!*hear(fd, 50), "without breakpoints it runs");
	say(fd, "\003", 1);
	tap_ok(!strcmp(hear(fd, 5000), "$S05#b8"), "until it is interrupted");
	expect(fd, "c20", "$S05#b8");
	expect(fd, "p20", "$24000000#86");
	expect(fd, "P20=10000000", "$OK#9a");
	say_packet(fd, "c");
	tap_ok(!*hear(fd, 50), "it sleeps in wfi");
	say(fd, "\003", 1);
	tap_ok(!strcmp(hear(fd, 5000), "$S05#b8"), "and is interrupted there, too");
	expect(fd, "P20=00000000", "$OK#9a");
	expect(fd, "Z1,8,4", "$OK#9a");
	expect(fd, "D", "$OK#9a");
	close(fd);
	/* Detached: it runs, and the breakpoint has gone. */
	tap_ok(runs_on(), "detached: it runs on");
	fd = dial();
	expect(fd, "?", "+$S05#b8");
	close(fd);
	tap_ok(runs_on(), "hung up on: it runs on");
	finish();
}

/* The device resets the hart while the debugger has it, and ends while it has. */
static void test_release(void)
{
	int fd;

	start(0);
	fd = dial();
	expect(fd, "P6=78563412", "+$OK#9a");
	atomic_store(&hart.reset, true);
	rv32_gdb_release(hart.gdb);
	usleep(20000);
	expect(fd, "p6", "+$00000000#80");
	expect(fd, "s", "+$S05#b8");
	finish();
	tap_ok(!*hear(fd, 1000), "the device goes away under the debugger");
	close(fd);
}

/* The thread that comes to the gate behind the release is the one that was to be let through. */
static void test_early_release(void)
{
	int fd;

	start(0);
	atomic_store(&hart.quit, true);
	kick(NULL);
	pthread_join(hart.thread, NULL);
	fd = dial();
	while (!rv32_gdb_holds(hart.gdb))
		usleep(1000);
	rv32_gdb_release(hart.gdb);
	alarm(60);
	tap_ok(!rv32_gdb_gate(hart.gdb, RV32_STOP_BUDGET, 7) && rv32_gdb_holds(hart.gdb),
	       "a release in front of the gate counts: nothing is run, nobody is held");
	alarm(0);
	rv32_gdb_stop(hart.gdb);
	rv32_destroy(hart.core);
	close(fd);
}

static void test_malformed(void)
{
	static char longest[RV32_GDB_PACKET * 2 + 1];
	static const char *const bad[] = { "$g#00",  "$g#zz", "$m1#", "#",   "##",
					   "$$$#24", "}",     "+-+-", "$#0", "$m0,4#fd$" };
	static const char *const odd[] = { "m",
					   "m,",
					   "m0",
					   "m0,",
					   "mx,4",
					   "m100000000,4",
					   "m0,100000000",
					   "M",
					   "M0,4",
					   "M0,4:",
					   "M0,4:0102",
					   "M0,4:0102030x",
					   "M0,ffffffff:",
					   "P",
					   "P6",
					   "P6=",
					   "P6=123",
					   "P6=1234567",
					   "Pffffffff=00000000",
					   "p",
					   "G",
					   "G00",
					   "Z0",
					   "Z0,",
					   "Z0,1,4",
					   "Z0,0",
					   "z",
					   "Z0,zz,4",
					   "qXfer:features:read:target.xml:",
					   "qXfer:features:read:target.xml:0",
					   "qXfer:features:read:target.xml:ffffffff,10" };
	unsigned int i;
	int fd;

	start(0);
	fd = dial();
	expect(fd, "QStartNoAckMode", "+$OK#9a");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		say(fd, bad[i], strlen(bad[i]));
		say(fd, "\0\377\n", 3);
	}
	hear(fd, 100);
	expect(fd, "qC", "$QC1#c5");
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		say_packet(fd, odd[i]);
		if (hear(fd, 5000)[1] != 'E')
			tap_ok(0, "'%s' is no error", odd[i]);
	}
	tap_ok(1, "%u commands with something wrong are errors", i);
	memset(longest, '0', sizeof(longest) - 1);
	longest[0] = 'M';
	for (i = 0; i < 3; i++) {
		say(fd, "$", 1);
		say(fd, longest, sizeof(longest) - 1);
		say(fd, "#00", 3);
	}
	expect(fd, "qC", "$QC1#c5");
	say(fd, "$M0,800:", 8);
	close(fd);
	fd = dial();
	expect(fd, "qC", "+$QC1#c5");
	say(fd, "$qC#00", 6);
	tap_ok(!strcmp(hear(fd, 300), "-"), "a bad sum is refused");
	close(fd);
	finish();
}

static void test_start(void)
{
	static const char *const bad[] = {
		"", "0", "65536", "-1", "12x", "unix:", "unix:/proc/nowhere/at/all"
	};
	struct rv32_gdb_config config = { .kick = kick };
	struct rv32_gdb *gdb;
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		config.address = bad[i];
		tap_ok(rv32_gdb_start(&config, &gdb) < 0, "address '%s' is refused", bad[i]);
	}
	tap_ok(rv32_gdb_gate(NULL, RV32_STOP_BUDGET, 7) == 7 && !rv32_gdb_holds(NULL),
	       "without a stub the gate is open");
}

static void test_gdb(void)
{
	static const char *const want[] = {
		"pc=0x4",  "t1=0x55", "hello",	       "misa=0x40001104", "stopped at 0x4",
		"t1=0x56", "at 0x8",  "word=0x130313", "ebreak at 0x24",  NULL
	};
	char command[2048], out[8192];
	unsigned int i;
	size_t n;
	FILE *f;

	if (system("command -v gdb-multiarch >/dev/null 2>&1")) {
		tap_skip("gdb", "gdb-multiarch is not installed");
		return;
	}
	start(0);
	snprintf(command, sizeof(command),
		 "timeout 60 gdb-multiarch -nx -batch -ex 'set confirm off' "
		 "-ex 'set architecture riscv:rv32' -ex 'target remote %s' -ex 'set $t1=0x54' "
		 "-ex 'set $pc=0' -ex 'stepi' -ex 'printf \"pc=%%#x t1=%%#x\\n\", $pc, $t1' "
		 "-ex 'printf \"%%s\\n\", (char *)0x100' -ex 'printf \"misa=%%#x\\n\", $misa' "
		 "-ex 'hbreak *4' -ex 'continue' "
		 "-ex 'printf \"stopped at %%#x t1=%%#x\\n\", $pc, $t1' -ex 'stepi' "
		 "-ex 'printf \"at %%#x\\n\", $pc' -ex 'printf \"word=%%#x\\n\", *(int *)0' "
		 "-ex 'delete' -ex 'set $pc=0x20' -ex 'continue' "
		 "-ex 'printf \"ebreak at %%#x\\n\", $pc' -ex 'detach' </dev/null 2>&1",
		 hart.path);
	f = popen(command, "r");
	n = f ? fread(out, 1, sizeof(out) - 1, f) : 0;
	out[n] = '\0';
	tap_ok(f && !pclose(f), "gdb ran to its end");
	for (i = 0; want[i]; i++) {
		if (!tap_ok(!!strstr(out, want[i]), "gdb shows %s", want[i]))
			tap_diag("%s", out);
	}
	finish();
}

int main(void)
{
	test_protocol();
	test_run();
	test_release();
	test_early_release();
	test_malformed();
	test_start();
	test_gdb();
	return tap_done();
}
