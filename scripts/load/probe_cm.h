/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MROCE_PROBE_CM_H
#define MROCE_PROBE_CM_H

#include "harness.h"

/* by rdma_cm, of which iWARP has need; they are in INIT */
void cm_join(struct pair *p, const char *address);

#endif
