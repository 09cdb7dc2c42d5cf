// SPDX-License-Identifier: GPL-2.0
/*
 * The suites of this module. Those of the engine run in userspace as well.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include "suites.h"

kunit_test_suites(&mroce_packet_suite, &mroce_malformed_suite, &mroce_rx_suite,
		  &mroce_rx_stream_suite, &mroce_run_suite, &mroce_tx_suite,
		  &mroce_tx_loss_suite, &mroce_tx_stream_suite, &mroce_path_suite,
		  &mroce_path_sim_suite, &mroce_crowd_suite, &mroce_crowd_sim_suite,
		  &mroce_cc_suite, &mroce_share_suite,
		  &mroce_share_half_suite, &mroce_net_suite, &mroce_sim_suite,
		  &mroce_sim_faults_suite, &mroce_scale_suite, &mroce_hostile_suite,
		  &mroce_uc_suite, &mroce_tune_suite, &mroce_tell_suite);

MODULE_DESCRIPTION("Tests of the MetaRoCE protocol engine");
MODULE_LICENSE("GPL");
