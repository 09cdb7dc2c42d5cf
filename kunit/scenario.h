/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What simulated test cases share: making a run, saying why it hangs, ending it.
 */
#ifndef MROCE_KUNIT_SCENARIO_H
#define MROCE_KUNIT_SCENARIO_H

#include <kunit/test.h>
#include "sim.h"

/* runs of the random case; more in userspace, where they are quick */
#ifdef __KERNEL__
#define SCENARIO_FIRST 1
#define SCENARIO_SEEDS 20
#else
#define SCENARIO_FIRST (getenv("SEED") ? (u64)atoi(getenv("SEED")) : 1)
#define SCENARIO_SEEDS (getenv("SEEDS") ? (u64)atoi(getenv("SEEDS")) : 300)
#endif

struct sim *scenario_new(struct kunit *test, const struct sim_cfg *cfg);
/* Takes the run apart; the case fails if an invariant was broken. */
void scenario_end(struct kunit *test, struct sim *s);
/* Says what each queue pair waits for; the case fails. */
void scenario_stuck(struct kunit *test, struct sim *s);
/* Every program got all of its completions, and no queue pair failed. */
void scenario_all_completed(struct kunit *test, struct sim *s);
/* Another network and another load, drawn from the run's seed. */
void scenario_randomise(struct sim *s, struct sim_load *load);
void scenario_randomise_load(struct sim *s, struct sim_load *load);

#endif
