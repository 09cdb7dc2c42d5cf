/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tests of mroce-verbs: windows.c, placement.c, pma.c, datagrams.c, uc.c,
 * queues.c, states.c, dmabuf.c, rights.c, xrc.c, polled.c.
 */
#ifndef MROCE_VERBS_H
#define MROCE_VERBS_H

#include "harness.h"

void test_window_2(void);
void test_window_2_atomic(void);
void test_window_2_invalidate(void);
void test_window_2_zero_based(void);
void test_window_2_bad_binds(void);
void test_window_1(void);
void test_rereg(void);
void test_window_uc(void);
void test_atomic_write(void);
void test_flush(void);
void test_placement_lossy(void);
void test_placement_absent(void);
void test_flush_unknown(void);
void test_pma(void);
void test_ud_sge(void);
void test_ud_copied(void);
void test_group(void);
void test_group_receive(void);
void test_group_send(void);
void test_uc(void);
void test_uc_refused(void);
void test_uc_srq(void);
void test_uc_lossy(void);
void test_sqd(void);
void test_srq_resize(void);
void test_srq_limit(void);
void test_cq_resize(void);
void test_cq_moderate(void);
void test_sqd_address(void);
void test_sqd_reads(void);
void test_sqe(void);
void test_dmabuf(void);
void test_rights(void);
void test_xrc(void);
void test_xrc_lossy(void);
void test_polled(void);

#endif
