// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device is pulled out of its slot while programs have it open: their calls end with -ENODEV,
 * their mappings stay harmless, and the device works again when it is back. Needs a host that does
 * it: part of points 61 to 63 of the list of selftests.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_test.h"

#define PATIENCE_MS	10000

FIXTURE(removal)
{
	int fd;
	bool pulled;
};

FIXTURE_SETUP(removal)
{
	self->pulled = false;
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_GE(self->fd, 0);
	if (npu_host("sync", NULL, 0))
		SKIP(return, "there is no host that pulls the device");
}

/* The device is put back whatever happened: the next test needs it. */
FIXTURE_TEARDOWN(removal)
{
	if (self->fd >= 0)
		close(self->fd);
	if (self->pulled)
		npu_host("plug 0", NULL, 0);
}

static int query(int fd)
{
	struct drm_npu_mmu_info info;
	struct drm_npu_dev_query query = { .type = DRM_NPU_DEV_QUERY_MMU_INFO, .size = sizeof(info),
					   .pointer = (uintptr_t)&info };

	return npu_ioctl(fd, DRM_IOCTL_NPU_DEV_QUERY, &query);
}

/* Open the device as soon as it is there again. */
static int open_again(void)
{
	int ms, fd = -ENODEV;

	for (ms = 0; ms < PATIENCE_MS; ms += 50) {
		fd = npu_open();
		if (fd >= 0)
			break;
		usleep(50000);
	}
	return fd;
}

/* A mapped buffer of one page, with a pattern in it. */
static unsigned char *make_mapping(int fd)
{
	struct drm_npu_bo_create bo = { .size = 4096 };
	struct drm_npu_bo_mmap_offset map = { 0 };
	unsigned char *page;

	if (npu_ioctl(fd, DRM_IOCTL_NPU_BO_CREATE, &bo))
		return NULL;
	map.handle = bo.handle;
	if (npu_ioctl(fd, DRM_IOCTL_NPU_BO_MMAP_OFFSET, &map))
		return NULL;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, map.offset);
	if (page == MAP_FAILED)
		return NULL;
	memset(page, 0x5a, 4096);
	return page;
}

TEST_F_TIMEOUT(removal, open_files_see_that_it_is_gone, 60)
{
	struct drm_npu_bo_create bo = { .size = 4096 };
	struct drm_npu_vm_create vm = { 0 };
	char answer[64];
	int fd;

	ASSERT_EQ(0, query(self->fd));
	ASSERT_NE(NULL, make_mapping(self->fd));
	self->pulled = true;
	ASSERT_EQ(0, npu_host("unplug 0", answer, sizeof(answer)))
		TH_LOG("%s", answer);
	EXPECT_EQ(-ENODEV, query(self->fd));
	EXPECT_EQ(-ENODEV, npu_ioctl(self->fd, DRM_IOCTL_NPU_BO_CREATE, &bo));
	EXPECT_EQ(-ENODEV, npu_ioctl(self->fd, DRM_IOCTL_NPU_VM_CREATE, &vm));

	ASSERT_EQ(0, npu_host("plug 0", answer, sizeof(answer)))
		TH_LOG("%s", answer);
	self->pulled = false;
	fd = open_again();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, query(fd));
	/* What was opened before stays dead, and does not reach the new one. */
	EXPECT_EQ(-ENODEV, query(self->fd));
	close(fd);
}

TEST_F_TIMEOUT(removal, files_closed_in_between, 60)
{
	int fd;

	self->pulled = true;
	ASSERT_EQ(0, npu_host("unplug 0", NULL, 0));
	close(self->fd);
	self->fd = -1;
	ASSERT_EQ(0, npu_host("plug 0", NULL, 0));
	self->pulled = false;
	fd = open_again();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, query(fd));
	close(fd);
}

/* It was off when it went, which only a start of it can tell. */
TEST_F_TIMEOUT(removal, gone_while_it_was_off, 60)
{
	struct npu_copy copy = { .in = NPU_VA_STREAM, .out = NPU_VA_IN, .size = NPU_PAGE };
	struct npu_dev dev;
	char pci[PATH_MAX];
	int i, fd;

	ASSERT_EQ(0, npu_dev_open(&dev));
	ASSERT_EQ(0, npu_pci_folder(dev.fd, pci, sizeof(pci)));
	ASSERT_EQ(0, npu_write_file(pci, "power/autosuspend_delay_ms", "100"));
	for (i = 0; i < 100 && !npu_file_says(pci, "power/runtime_status", "suspended"); i++)
		usleep(100000);
	ASSERT_TRUE(npu_file_says(pci, "power/runtime_status", "suspended"));
	npu_expect_log("npu");
	ASSERT_EQ(0, npu_host("vdev 0 arm surprise-removal forever", NULL, 0));
	EXPECT_EQ(-ENODEV, npu_copy_submit(&dev, &copy, 0, NULL));
	EXPECT_EQ(-ENODEV, npu_copy_submit(&dev, &copy, 0, NULL));
	self->pulled = true;
	EXPECT_EQ(0, npu_host("vdev 0 disarm surprise-removal", NULL, 0));
	ASSERT_EQ(0, npu_host("unplug 0", NULL, 0));
	EXPECT_EQ(-ENODEV, query(dev.fd));
	npu_dev_close(&dev);
	ASSERT_EQ(0, npu_host("plug 0", NULL, 0));
	self->pulled = false;
	fd = open_again();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, query(fd));
	close(fd);
}

TEST_HARNESS_MAIN
