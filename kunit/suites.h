/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The suites, each in files test_*.c of its own.
 */
#ifndef MROCE_KUNIT_SUITES_H
#define MROCE_KUNIT_SUITES_H

#include <kunit/test.h>

extern struct kunit_suite mroce_sim_suite, mroce_sim_faults_suite;

#endif
