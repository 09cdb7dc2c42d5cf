/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scenario runner: named scenarios run trials over the simulated network (scenario_net.h),
 * report what was measured, and compare it with what is wanted. Userspace only.
 */
#ifndef MROCE_HOST_SCENARIOS_H
#define MROCE_HOST_SCENARIOS_H

#include "../scenario_net.h"

/**
 * struct scenario - one name that can be run
 * @title: what it is about, for people
 * @run: does it; @arg, @arg2: its parameters
 */
struct scenario {
	const char *name, *title;
	void (*run)(const struct scenario *sc);
	u64 arg, arg2;
};

extern const struct scenario loss_scenarios[], plane_scenarios[], queue_scenarios[],
	incast_scenarios[], load_scenarios[];

extern u64 scenario_seed;

/* Makes a trial with the seed that was asked for; ends the scenario if there is no memory. */
struct trial *scenario_trial(const struct trial_cfg *c);
/* Runs one to its end, reports it as @run of the scenario, and takes it apart. */
void scenario_run(const struct trial_cfg *c, const char *run, struct trial_result *r);
/* A line of the table and of the CSV. */
void scenario_report(const struct trial *t, const char *run, const struct trial_result *r);
/* The rate and queue of the watched bottleneck over time, in @bins, into a CSV of its own. */
void scenario_series(struct trial *t, const char *run, u64 from, u64 to, u32 bins);
/* Takes a trial apart; a broken invariant is told and ends the scenario. */
void scenario_finish(struct trial *t);

/* What was measured beside what is wanted, and whether it is reached. */
void scenario_least(const char *what, double measured, double target, const char *unit);
void scenario_most(const char *what, double measured, double target, const char *unit);
void scenario_note(const char *fmt, ...) __printf(1, 2);

/* bytes of link capacity over a round trip */
static inline u64 bdp(u64 rate, u64 rtt)
{
	return rate * rtt / SEC;
}

#endif
