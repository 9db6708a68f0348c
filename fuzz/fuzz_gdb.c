// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: what a debugger sends to the stub of the management processor, byte by byte. A
 * good packet is carried out; so that there are many, '~' in the input ends a packet with the sum
 * that it needs.
 */
#include <stdlib.h>
#include <string.h>
#include "tools/vnpu/device/rv32_gdb_cmd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory[4096] __attribute__((aligned(4)));
static struct rv32_gdb_reader reader;
static struct rv32_gdb_session session;

static void execute(void)
{
	char reply[RV32_GDB_PACKET + 1];

	switch (rv32_gdb_command(&session, reader.data, reader.size, reply)) {
	case RV32_GDB_RESUME:
		rv32_run(session.core, 100, NULL);
		break;
	case RV32_GDB_STEP:
		rv32_run(session.core, 1, NULL);
		break;
	default:
		if (strlen(reply) > RV32_GDB_PACKET)
			abort();
	}
}

static void feed(char byte)
{
	if (rv32_gdb_feed(&reader, byte) == RV32_GDB_GOT)
		execute();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rv32_config config = { .tcm = memory, .tcm_size = sizeof(memory) };
	size_t i;

	memset(memory, 0, sizeof(memory));
	memset(&reader, 0, sizeof(reader));
	memset(&session, 0, sizeof(session));
	if (rv32_create(&config, &session.core))
		abort();
	for (i = 0; i < size; i++) {
		if (data[i] == '~' && reader.state == RV32_GDB_CONTENT) {
			feed('#');
			feed("0123456789abcdef"[reader.sum >> 4]);
			feed("0123456789abcdef"[reader.sum & 15]);
		} else {
			feed((char)data[i]);
		}
	}
	rv32_destroy(session.core);
	return 0;
}
