// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios of planes: several networks side by side, equal, unequal, and cut while in use.
 */
#include "scenarios.h"

#define RATE MBIT(200)
#define RTT  (100 * USEC)

static struct sim_wire plane_wire(u64 rate, u64 rtt)
{
	return (struct sim_wire){
		.rate = rate,
		.delay = rtt / 4,
		.limit = max(2 * bdp(rate, rtt), 256ULL << 10),
	};
}

static struct trial_cfg planes(u32 n)
{
	return (struct trial_cfg){
		.topo = {
			.planes = n,
			.up = plane_wire(RATE, RTT),
			.down = plane_wire(RATE, RTT),
		},
		.load = { .depth = 128 },
		.senders = 1,
		.warm = 200 * MSEC,
		.time = SEC,
		.neck = SIM_UP,
		.neck_i = 1,
	};
}

static void equal(const struct scenario *sc)
{
	struct trial_cfg one = planes(1), many = planes(sc->arg);
	struct trial_result base, r;

	scenario_run(&one, "1 plane", &base);
	scenario_run(&many, "planes", &r);
	scenario_least("goodput, in planes", (double)r.goodput / base.goodput, 0.97 * sc->arg,
		       "x");
}

static void unequal(const struct scenario *sc)
{
	struct sim_wire fast = plane_wire(MBIT(400), sc->arg);
	struct sim_wire slow = plane_wire(MBIT(100), sc->arg2);
	struct trial_cfg c = planes(2);
	struct trial_result r;
	struct trial *t;
	u32 kind;

	c.warm = SEC;
	c.time = 2 * SEC;
	t = scenario_trial(&c);
	for (kind = SIM_UP; kind <= SIM_DOWN; kind++) {
		sim_plane_wire(t->s, 0, kind, &fast);
		sim_plane_wire(t->s, 1, kind, &slow);
	}
	trial_run(t, &r);
	scenario_report(t, "400 + 100 Mb/s", &r);
	scenario_least("goodput, of the sum",
		       100.0 * r.goodput / trial_payload_rate(t, MBIT(500)), 95, "%");
	scenario_finish(t);
}

/* goodput from now on for @ns */
static double rate_for(struct trial *t, u64 ns)
{
	struct trial_result r;

	trial_begin(t);
	trial_until(t, t->s->now - t->start + ns);
	trial_measure(t, &r);
	return r.goodput;
}

/* ms until goodput stays at @least for 20 ms, in steps of 5 ms; -1: not within @limit */
static double ms_until(struct trial *t, double least, u64 limit)
{
	u64 begin = t->s->now, good = 0, step = 5 * MSEC;

	while (t->s->now < begin + limit && !t->s->failed) {
		if (rate_for(t, step) >= least)
			good++;
		else
			good = 0;
		if (good == 4)
			return (t->s->now - begin - 4 * step) / 1000000.0;
	}
	return -1;
}

static void cut_one(const struct scenario *sc)
{
	struct trial_cfg c = planes(4);
	struct trial_result r;
	struct trial *t;
	double four, ms, three;

	c.warm = 0;
	c.time = 5 * SEC;
	t = scenario_trial(&c);
	trial_until(t, 200 * MSEC);
	four = rate_for(t, 200 * MSEC);
	sim_host_cut(t->s, t->s->now, 1, 2, true, sc->arg);
	ms = ms_until(t, four * 0.75 * 0.95, SEC);
	scenario_most("ms until 95% of three planes", ms < 0 ? 1000 : ms, 20, "ms");
	three = rate_for(t, 200 * MSEC);
	scenario_least("goodput on three planes, of 3/4", 100 * three / (four * 0.75), 95, "%");
	sim_host_cut(t->s, t->s->now, 1, 2, false, sc->arg);
	ms = ms_until(t, four * 0.95, 3 * SEC);
	scenario_most("ms until 95% of four planes", ms < 0 ? 3000 : ms, 1500, "ms");
	trial_begin(t);
	trial_until(t, t->s->now - t->start + 200 * MSEC);
	trial_measure(t, &r);
	scenario_report(t, "healed", &r);
	scenario_finish(t);
}

const struct scenario plane_scenarios[] = {
	{ "planes-1", "one plane of 200 Mb/s", equal, 1 },
	{ "planes-2", "2 planes of 200 Mb/s", equal, 2 },
	{ "planes-4", "4 planes of 200 Mb/s", equal, 4 },
	{ "planes-8", "8 planes of 200 Mb/s", equal, 8 },
	{ "planes-unequal", "400 Mb/s at 0.1 ms and 100 Mb/s at 5 ms", unequal, 100 * USEC,
	  5 * MSEC },
	{ "planes-unequal-far", "400 Mb/s at 5 ms and 100 Mb/s at 0.1 ms", unequal, 5 * MSEC,
	  100 * USEC },
	{ "planes-cut", "one of 4 planes is cut in mid-transfer and heals", cut_one, 0 },
	{ "planes-cut-carrier", "the same, and the host sees its carrier go", cut_one, 1 },
	{},
};
