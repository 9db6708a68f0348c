// SPDX-License-Identifier: MIT
/* The real image on the hart. It is loaded as the driver would: header, ranges, checksum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "mock.h"
#include "tools/vnpu/device/rv32.h"

#define TCM_SIZE	(256u << 10)
#define BUDGET		20000000u

static int bus_load(void *ctx, uint32_t addr, unsigned int size, uint32_t *value)
{
	struct mock *m = ctx;
	npu_u32 at = addr - NPU_MCU_KERNEL;

	mock_access(m);
	if (addr >= NPU_MCU_KERNEL) {
		if (at >= MOCK_MEMORY)
			return -1;
		*value = 0;
		memcpy(value, m->memory + at, size);
		return 0;
	}
	return size == 4 && mock_reg_read(m, addr - NPU_MCU_MMIO, value) ? 0 : -1;
}

static void set_lines(struct mock *m)
{
	rv32_irq(m->core, RV32_IRQ_EXTERNAL, mock_external(m));
	rv32_irq(m->core, RV32_IRQ_TIMER, m->now >= m->timer);
}

static int bus_store(void *ctx, uint32_t addr, unsigned int size, uint32_t value)
{
	struct mock *m = ctx;
	npu_u32 at = addr - NPU_MCU_KERNEL;

	mock_access(m);
	if (addr >= NPU_MCU_KERNEL) {
		if (at >= MOCK_MEMORY)
			return -1;
		memcpy(m->memory + at, &value, size);
		return 0;
	}
	if (size != 4 || !mock_reg_write(m, addr - NPU_MCU_MMIO, value))
		return -1;
	set_lines(m);
	return 0;
}

static void run_hart(struct mock *m)
{
	unsigned int turns = 0;

	/* A line may have come up behind the last look at them. */
	do {
		set_lines(m);
		if (rv32_run(m->core, BUDGET, NULL) != RV32_STOP_WAIT || turns++ > 10000) {
			m->bad_access++;
			break;
		}
	} while (mock_external(m));
	m->instructions = rv32_instructions(m->core);
}

static size_t read_image(const char *name, npu_u8 *image, size_t size)
{
	const char *build = getenv("NPU_BUILD");
	char path[512];
	size_t got;
	FILE *f;

	snprintf(path, sizeof(path), "%s/firmware/%s", build ? build : "build", name);
	f = fopen(path, "rb");
	if (!f)
		return 0;
	got = fread(image, 1, size, f);
	fclose(f);
	return got;
}

static bool header_ok(npu_u8 *image, size_t size)
{
	struct npu_fw_image *h = (void *)image;
	npu_u32 crc = h->crc;

	if (size < sizeof(*h) || h->magic != NPU_FW_IMAGE_MAGIC || h->image_size != size ||
	    h->header_size != sizeof(*h) || h->num_ranges > NPU_FW_MAX_RANGES)
		return false;
	h->crc = 0;
	h->crc = (npu_u32)crc32(0, image, (npu_u32)size);
	return h->crc == crc && h->tcm_size <= TCM_SIZE;
}

bool mock_hart_init(struct mock *m, const char *name)
{
	static npu_u8 image[NPU_FW_MAX_IMAGE] __attribute__((aligned(8)));
	const struct npu_fw_image *h = (void *)image;
	const struct npu_fw_range *range = (void *)(h + 1);
	struct rv32_config config = { .bus = { bus_load, bus_store, NULL, m },
				      .tcm_size = TCM_SIZE };
	npu_u32 i;

	if (!header_ok(image, read_image(name, image, sizeof(image))))
		return false;
	/* What is in no range is garbage: the firmware must not count on zeroes. */
	m->tcm = malloc(TCM_SIZE);
	memset(m->tcm, 0xa5, TCM_SIZE);
	for (i = 0; i < h->num_ranges; i++) {
		memset(m->tcm + range[i].load_address, 0, range[i].mem_size);
		memcpy(m->tcm + range[i].load_address, image + range[i].file_offset,
		       range[i].file_size);
	}
	config.tcm = m->tcm;
	config.reset_pc = h->entry;
	m->run = run_hart;
	return !rv32_create(&config, &m->core);
}

void mock_hart_fini(struct mock *m)
{
	rv32_destroy(m->core);
	free(m->tcm);
	m->core = NULL;
	m->tcm = NULL;
}
