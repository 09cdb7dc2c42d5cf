/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What mroce_exporter.ko and the programs that ask it for DMA buffers share.
 */
#ifndef MROCE_EXPORTER_H
#define MROCE_EXPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define EXPORT_MAX	1048576

enum export_kind {
	EXPORT_STATIC,		/* it stays where it is */
	EXPORT_MOVING,		/* unless it is pinned it may move */
	EXPORT_UNMAPPED,	/* the kernel has no mapping of it */
	EXPORT_REGISTERS,	/* its mapping is no memory */
};

struct export_buffer {
	__u32 kind;
	__u32 size;
};

/* returns the buffer's file */
#define EXPORT_BUFFER	_IOW('m', 0, struct export_buffer)

#endif
