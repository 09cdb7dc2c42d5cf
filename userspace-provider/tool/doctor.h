/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef MROCE_TOOL_DOCTOR_H
#define MROCE_TOOL_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

/* Do programs that use libibverbs find the device? If not, @reason says why. */
bool verbs_has(const char *device, char *reason, size_t size);

#endif
