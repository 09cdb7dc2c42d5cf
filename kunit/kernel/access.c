// SPDX-License-Identifier: GPL-2.0
/*
 * Copies to and from regions under test: the source, compiled into this module, with a memcpy()
 * that promises as little as the real one, and is watched.
 */
#include "../../drivers/mroce/verbs/verbs.h"
#include "test_access.h"

#undef memcpy
#define memcpy mroce_test_memcpy

#include "../../drivers/mroce/verbs/access.c"
