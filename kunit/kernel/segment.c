// SPDX-License-Identifier: GPL-2.0
/* The network layer under test: its source, compiled into this module. */
#include "../../drivers/mroce/net/segment.c"
