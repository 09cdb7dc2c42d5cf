// SPDX-License-Identifier: GPL-2.0
/*
 * mroce-verbs DEVICE GID-INDEX TEST: Verbs that no common program uses. mroce-verbs --list prints
 * the tests. Exit status 0 if all is as it should be; else it says what is not.
 */
#include "verbs.h"

static const struct test tests[] = {
	{ "window_2", test_window_2 }, { "window_2_atomic", test_window_2_atomic },
	{ "window_2_invalidate", test_window_2_invalidate },
	{ "window_2_zero_based", test_window_2_zero_based },
	{ "window_2_bad_binds", test_window_2_bad_binds }, { "window_1", test_window_1 },
	{ "window_uc", test_window_uc },
	{ "atomic_write", test_atomic_write }, { "flush", test_flush },
	{ "placement_lossy", test_placement_lossy }, { "placement_absent", test_placement_absent },
	{ "flush_unknown", test_flush_unknown },
	{ "pma", test_pma },
	{ "rereg", test_rereg }, { "ud_sge", test_ud_sge }, { "ud_copied", test_ud_copied },
	{ "group", test_group },
	{ "uc", test_uc }, { "uc_refused", test_uc_refused }, { "uc_srq", test_uc_srq },
	{ "uc_lossy", test_uc_lossy },
	{ "sqd", test_sqd }, { "srq_resize", test_srq_resize }, { "srq_limit", test_srq_limit },
	{ "cq_resize", test_cq_resize }, { "cq_moderate", test_cq_moderate },
	{ "sqd_address", test_sqd_address }, { "sqd_reads", test_sqd_reads }, { "sqe", test_sqe },
	{ "dmabuf", test_dmabuf }, { "rights", test_rights },
	{ "polled", test_polled },
	{ "xrc", test_xrc }, { "xrc_lossy", test_xrc_lossy },
	{ "group_receive", test_group_receive }, { "group_send", test_group_send },
};

int main(int argc, char **argv)
{
	return run_test(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
