// SPDX-License-Identifier: GPL-2.0
/*
 * The tracepoints' bodies, made from trace.h by the kernel's macros.
 */
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include "trace.h"
