// SPDX-License-Identifier: GPL-2.0
/* The engine under test: its source, compiled into this module with a counting allocator. */
#define SIM_COUNT_ALLOCATIONS
#include "../alloc.h"
#include "../../drivers/mroce/transport/tx_pause.c"
