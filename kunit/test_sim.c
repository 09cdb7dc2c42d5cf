// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios over the simulated network. Every run asserts the invariants of sim_check.c; what a
 * case says beyond that is how the run must end.
 */
#include <kunit/test.h>
#include "suites.h"
#include "sim.h"

static void first(struct kunit *test)
{
	struct sim_cfg cfg = {
		.seed = 1, .rate = 125000000, .delay = 20000, .copy = 100, .step = 500, .payload = 4096, .train = 61440, .npaths = 4, .cpus = 2,
	};
	struct sim_load a = { .count = 300, .ops = SIM_ALL, .len_max = 20000, .depth = 16, .timeout = 2000000000, .rnr_retry = 7 };
	struct sim_load b = { .buffers = 32, .buffer_len = 20000, .repost = 1000 };
	struct sim *s;
	char why[200] = "";
	bool done;

	s = sim_new(&cfg);
	sim_connect(s, 0, &a, 1, &b);
	done = sim_run_all(s, s->now + 10000000000ULL);
	kunit_info(test, "done %u completed %u now %llu packets %llu %s", done, s->qp[0]->completed, s->now, s->stats.packets, s->why);
	KUNIT_EXPECT_TRUE(test, done);
	if (!sim_end(s, why, sizeof(why)))
		KUNIT_FAIL(test, "%s", why);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(first),
	{}
};

struct kunit_suite mroce_sim_suite = {
	.name = "mroce_sim",
	.test_cases = cases,
};
