// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios of changing and unequal demand at one receiver, of switches with several spines, and of
 * thousands of connections over several planes.
 */
#include "scenarios.h"

#define RATE  GBIT(100)
#define RTT   (10 * USEC)
#define PSIZE 4096
#define WIRE  (PSIZE + sizeof(struct mroce_wire_data) + SIM_WIRE_OVERHEAD)

static struct trial_cfg star(u32 n)
{
	struct sim_wire wire = { .rate = RATE, .delay = RTT / 4 };

	return (struct trial_cfg){
		.topo = { .up = wire, .down = wire },
		.load = { .depth = 16 },
		.pattern = TRIAL_STAR,
		.senders = n,
		.sim = { .payload = PSIZE },
		.warm = 5 * MSEC,
		.time = 20 * MSEC,
		.neck = SIM_DOWN,
		.neck_i = 0,
		.watch = true,
	};
}

/*
 * The share of windows of @ns beyond 10% of the capacity, percent. After each edge of the wave,
 * every half @period, so long is left out; a window of a whole period has both edges in it.
 */
static double oscillation(struct trial *t, u64 period, u64 ns)
{
	u64 from = t->start + t->c.warm, end = from + t->c.time, half = period / 2;
	u32 packets = bdp(RATE, ns) / WIRE;
	double windows = 0, off = 0;
	struct trial_settled s;

	if (ns >= half) {
		trial_settle(t, packets, SIM_MILLION / 10, from, end, &s);
		return s.off / 10000.0;
	}
	for (; from < end; from += half) {
		trial_settle(t, packets, SIM_MILLION / 10, from + ns, from + half, &s);
		windows += s.windows;
		off += s.off / 1000000.0 * s.windows;
	}
	return windows ? 100 * off / windows : 100;
}

/* every second sender is on for half of a period, off for the other */
static void square(const struct scenario *sc)
{
	u64 period = sc->arg;
	struct trial_cfg c = star(16);
	struct trial_result r;
	struct trial *t;

	/* little is outstanding when a sender stops, or the wave would have no edges */
	c.load.len_max = 8192;
	c.load.depth = 8;
	c.two = true;
	c.load2 = c.load;
	c.load2.on = period / 2;
	c.load2.off = period / 2;
	c.warm = DIV_ROUND_UP(c.warm, period) * period;
	c.time = max(2 * period, DIV_ROUND_UP(3 * MSEC, period) * period);
	c.topo.down.mark = bdp(RATE, RTT) / 5 + 2 * WIRE;
	c.topo.down.limit = 16 << 20;
	t = scenario_trial(&c);
	trial_run(t, &r);
	scenario_report(t, "on and off", &r);
	scenario_least("use of the link over whole periods", r.use / 10000.0, 95, "%");
	scenario_most("windows beyond 10%",
		      oscillation(t, period, period < MSEC ? period : 100 * USEC), 1, "%");
	scenario_series(t, "wave", t->start + c.warm, t->start + c.warm + c.time, 1000);
	scenario_finish(t);
}

/* every second sender wants half of an even share, the others all they can get */
static void limited(const struct scenario *sc)
{
	u32 n = sc->arg, i;
	struct trial_cfg c = star(n);
	u64 pace = trial_payload_rate(&(struct trial){ .c = c }, RATE) / n / 2, greedy[64], sum = 0;
	struct trial_result r;
	struct trial *t;

	c.two = true;
	c.load2 = c.load;
	c.load2.pace = pace;
	c.topo.down.mark = bdp(RATE, RTT) / 5 + 2 * WIRE;
	c.topo.down.limit = 16 << 20;
	t = scenario_trial(&c);
	trial_run(t, &r);
	scenario_report(t, "half modest", &r);
	for (i = 0; i < n; i++) {
		u64 landed = t->sender[i].qp->peer->landed - t->sender[i].landed;

		if (i % 2)
			sum += landed;
		else
			greedy[i / 2] = landed;
	}
	scenario_least("use of the link", r.use / 10000.0, 95, "%");
	scenario_least("what the modest get, of what they want",
		       100.0 * sum / (n / 2) / (pace * (r.ns / 1000000000.0)), 95, "%");
	scenario_least("Jain's index of the greedy", trial_jain(greedy, n / 2) / 1000000.0, 0.98,
		       "");
	scenario_finish(t);
}

/*
 * The share of windows of @ns in which the senders with a weight bring more than 10% more or less
 * than @part of what arrives, percent.
 */
static double unsteady(struct trial *t, double part, u64 ns)
{
	u64 from = t->start + t->c.warm, end = from + t->c.time, heavy = 0, all = 0;
	struct sim_link *l = trial_neck(t, 0);
	double windows = 0, off = 0;
	u32 i;

	for (i = 0; i < l->arrivals && l->arrival[i].at < end; i++) {
		struct sim_arrival *a = &l->arrival[i];

		if (a->at < from || a->flags & SIM_ARRIVAL_ACK)
			continue;
		if (a->at >= from + ns) {
			windows++;
			off += heavy < 0.9 * part * all || heavy > 1.1 * part * all;
			heavy = 0;
			all = 0;
			from += ns;
		}
		all += a->bytes;
		heavy += t->c.sim.weight[a->from] > 1 ? a->bytes : 0;
	}
	return windows ? 100 * off / windows : 100;
}

/* @arg senders, every second one of weight @arg2 */
static void weighted(const struct scenario *sc)
{
	u64 landed[2] = {}, least[2] = { U64_MAX, U64_MAX }, most[2] = {};
	u32 n = sc->arg, weight = sc->arg2, i;
	double part = weight / (weight + 1.0);
	struct trial_cfg c = star(n);
	struct trial_result r;
	u8 weights[65];
	struct trial *t;

	for (i = 0; i <= n; i++)
		weights[i] = i % 2 ? 1 : weight;
	/* more than an epoch's worth outstanding, or demand is what there is to divide by */
	c.load.depth = 2048 / n;
	c.sim.weight = weights;
	c.topo.down.mark = bdp(RATE, RTT) / 5 + 2 * WIRE;
	c.topo.down.limit = 16 << 20;
	t = scenario_trial(&c);
	trial_run(t, &r);
	scenario_report(t, "two weights", &r);
	for (i = 0; i < n; i++) {
		u64 one = t->sender[i].qp->peer->landed - t->sender[i].landed;

		/* sender i is host i + 1 */
		landed[i % 2] += one;
		least[i % 2] = min(least[i % 2], one);
		most[i % 2] = max(most[i % 2], one);
	}
	scenario_least("use of the link", r.use / 10000.0, 95, "%");
	scenario_least("arrivals of the heavy, in those of the light",
		       (double)landed[1] / landed[0], 0.9 * weight, "x");
	scenario_most("arrivals of the heavy, in those of the light",
		      (double)landed[1] / landed[0], 1.1 * weight, "x");
	for (i = 0; i < 2; i++)
		scenario_least(i ? "least of the heavy, of the most" :
				   "least of the light, of the most",
			       100.0 * least[i] / most[i], 90, "%");
	scenario_most("windows in which the heavy are beyond 10%",
		      unsteady(t, part, 500 * USEC), 0, "%");
	scenario_most("windows beyond 10% of the link", oscillation(t, MSEC, 100 * USEC), 0, "%");
	scenario_finish(t);
}

/* 64 devices to 64 others, each to each: 4,096 connections over @arg planes of 200 Mb/s */
static struct trial_cfg mesh(u32 side, u32 nplanes)
{
	struct sim_wire wire = {
		.rate = MBIT(200),
		.delay = 10 * USEC,
		.limit = 1 << 20,
		.mark = 64 << 10,
	};

	return (struct trial_cfg){
		.topo = { .planes = nplanes, .up = wire, .down = wire },
		.load = {
			.len_max = 8192,
			.depth = 8,
			.log_packets = 8,
			.log_messages = 6,
		},
		.pattern = TRIAL_MESH,
		.senders = side,
		.sim = { .payload = 1376, .npaths = 16 },
		.warm = 300 * MSEC,
		.time = 500 * MSEC,
		.neck = SIM_DOWN,
		.neck_i = side,
	};
}

static void many_connections(const struct scenario *sc)
{
	struct trial_cfg c = mesh(sc->arg2, sc->arg);
	u64 one = sc->arg2 * trial_payload_rate(&(struct trial){ .c = c }, MBIT(200));
	struct trial_result r;

	scenario_run(&c, "planes", &r);
	scenario_least("goodput, in planes", (double)r.goodput / one, 0.95 * sc->arg, "x");
	scenario_least("slowest connection, of an even share",
		       100.0 * r.least / (r.goodput / (sc->arg2 * sc->arg2)), 10, "%");
	scenario_least("Jain's index", r.jain / 1000000.0, 0.95, "");
}

/* 8 hosts of one leaf to 8 of another over @arg spines that together are as fast as the hosts */
static void spines(const struct scenario *sc)
{
	u64 rate = GBIT(10), inner = 8 * rate / sc->arg, rtt = 20 * USEC;
	struct trial_cfg c = star(8);
	struct sim_wire host = { .rate = rate, .delay = rtt / 8, .limit = 4 << 20 };
	struct sim_wire spine = { .rate = inner, .delay = rtt / 8, .limit = 4 << 20 };
	struct trial_result r;

	host.mark = bdp(rate, rtt) / 5 + 2 * WIRE;
	spine.mark = bdp(inner, rtt) / 5 + 2 * WIRE;
	c.topo = (struct sim_topo){ .leaves = 2, .spines = sc->arg, .up = host, .down = host,
				    .trunk = spine, .fan = spine };
	c.pattern = TRIAL_PAIRS;
	c.warm = 20 * MSEC;
	c.time = 50 * MSEC;
	c.neck = SIM_TRUNK;
	c.neck_i = sc->arg; /* the first of the senders' leaf */
	c.watch = false;
	scenario_run(&c, "spines", &r);
	scenario_least("goodput, of what the hosts' links carry",
		       100.0 * r.goodput / trial_payload_rate(&(struct trial){ .c = c }, 8 * rate),
		       85, "%");
	scenario_least("Jain's index", r.jain / 1000000.0, 0.95, "");
}

const struct scenario load_scenarios[] = {
	{ "square-200us", "8 of 16 senders on and off, period 200 us", square, 200 * USEC },
	{ "square-1ms", "the same, period 1 ms", square, MSEC },
	{ "square-100ms", "the same, period 100 ms", square, 100 * MSEC },
	{ "demand-limited", "8 of 16 senders want half of their share", limited, 16 },
	{ "weights-2", "2 senders, one of weight 3", weighted, 2, 3 },
	{ "weights-16", "16 senders, 8 of weight 4", weighted, 16, 4 },
	{ "weights-64", "64 senders, 32 of weight 10", weighted, 64, 10 },
	{ "spines-4", "8 pairs over 4 spines, 16 paths each", spines, 4 },
	{ "spines-8", "8 pairs over 8 spines, 16 paths each", spines, 8 },
	{ "mesh-8x8-4planes", "64 connections over 4 planes of 200 Mb/s, 8 KiB", many_connections,
	  4, 8 },
	{ "mesh-64x64-4planes", "4,096 connections over 4 planes of 200 Mb/s, 8 KiB",
	  many_connections, 4, 64 },
	{ "mesh-64x64-8planes", "4,096 connections over 8 planes of 200 Mb/s, 8 KiB",
	  many_connections, 8, 64 },
	{},
};
