/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The suites, each in files test_*.c of its own.
 */
#ifndef MROCE_KUNIT_SUITES_H
#define MROCE_KUNIT_SUITES_H

#include <kunit/test.h>

#ifndef KUNIT_EXPECT_MEMEQ /* before 6.3 */
#define KUNIT_EXPECT_MEMEQ(test, l, r, n) KUNIT_EXPECT_TRUE(test, !memcmp(l, r, n))
#endif

extern struct kunit_suite mroce_packet_suite, mroce_malformed_suite;
extern struct kunit_suite mroce_rx_suite, mroce_rx_stream_suite, mroce_run_suite;
extern struct kunit_suite mroce_tx_suite, mroce_tx_loss_suite, mroce_tx_stream_suite;
extern struct kunit_suite mroce_path_suite, mroce_path_sim_suite;
extern struct kunit_suite mroce_crowd_suite, mroce_crowd_sim_suite;
extern struct kunit_suite mroce_cc_suite, mroce_share_suite, mroce_share_half_suite;
extern struct kunit_suite mroce_net_suite, mroce_sim_suite, mroce_sim_faults_suite;
extern struct kunit_suite mroce_scale_suite, mroce_hostile_suite, mroce_uc_suite;
extern struct kunit_suite mroce_tune_suite, mroce_tell_suite;

#endif
