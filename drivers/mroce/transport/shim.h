/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the engine uses of the kernel. Built in the kernel (the module, KUnit) this
 * includes its headers; built in userspace (fuzzers, tools) shim_user.h gives the
 * same names a meaning, so that the engine's sources are compiled unchanged.
 */
#ifndef MROCE_TRANSPORT_SHIM_H
#define MROCE_TRANSPORT_SHIM_H

#ifdef __KERNEL__
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include "shim_user.h"
#endif

#endif
