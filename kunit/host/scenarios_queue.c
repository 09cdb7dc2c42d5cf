// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios of one bottleneck in the network: routers that mark, deep and short queues, policers,
 * routers that bleach or mark falsely.
 */
#include "scenarios.h"

#define RATE  GBIT(1)
#define SLOW  MBIT(200)
#define PSIZE 4096
#define WIRE  (PSIZE + sizeof(struct mroce_wire_data) + SIM_WIRE_OVERHEAD)

/* @n pairs over one link of @rate between routers; hosts' links are four times as fast, or more */
static struct trial_cfg dumbbell_of(u64 rate, u32 n, u64 rtt)
{
	struct sim_wire host = { .rate = 4 * RATE, .delay = rtt / 8 };
	struct sim_wire neck = { .rate = rate, .delay = rtt / 4 };

	return (struct trial_cfg){
		.topo = {
			.leaves = 2,
			.spines = 1,
			.up = host,
			.down = host,
			.trunk = neck,
			.fan = { .rate = 4 * RATE },
		},
		.load = { .depth = rtt > MSEC ? 256 : 64 },
		.pattern = TRIAL_PAIRS,
		.senders = n,
		.sim = { .payload = PSIZE },
		.warm = max(200 * MSEC, 200 * rtt),
		.time = max(500 * MSEC, 200 * rtt),
		.neck = SIM_TRUNK,
		.neck_i = 1, /* from the senders' leaf */
		.watch = true,
	};
}

static struct trial_cfg dumbbell(u32 n, u64 rtt)
{
	return dumbbell_of(RATE, n, rtt);
}

static void run_neck(const struct trial_cfg *c, const char *run, struct trial_result *r)
{
	struct trial *t = scenario_trial(c);

	trial_run(t, r);
	scenario_report(t, run, r);
	scenario_series(t, run, t->start, t->s->now, 1000);
	scenario_finish(t);
}

static u32 mark_at(u64 rtt)
{
	return bdp(RATE, rtt) / 5 + 2 * WIRE;
}

/* A router that marks: full use, by a short queue. */
static void run_marked(struct trial_cfg *c, u64 rtt, struct trial_result *r)
{
	c->topo.trunk.mark = mark_at(rtt);
	c->topo.trunk.limit = 2 * bdp(RATE, rtt) + (1 << 20);
	run_neck(c, "marks", r);
	scenario_least("use of the link", r->use / 10000.0, 95, "%");
	scenario_most("mean queue, in thresholds", (double)r->mean_queue / c->topo.trunk.mark, 2,
		      "x");
	scenario_most("drops", r->drops, 0, "packets");
}

/* Nothing marks: use of @rate, and not too much of it lost. */
static void run_unmarked(struct trial_cfg *c, const char *run, const char *what, u64 rate)
{
	struct trial_result r;

	run_neck(c, run, &r);
	scenario_least(what, (double)r.use * RATE / rate / 10000, 90, "%");
	scenario_most("loss", 100.0 * r.drops / (r.packets + r.drops), 15, "%");
}

/* @arg: paths; @arg2: round trip */
static void ecn(const struct scenario *sc)
{
	struct trial_cfg c = dumbbell(1, sc->arg2);
	struct trial_result r;

	c.sim.npaths = sc->arg;
	run_marked(&c, sc->arg2, &r);
}

static void ecn_shared(const struct scenario *sc)
{
	struct trial_cfg c = dumbbell(sc->arg, sc->arg2);
	struct trial_result r;

	run_marked(&c, sc->arg2, &r);
	scenario_least("Jain's index", r.jain / 1000000.0, 0.95, "");
}

static void deep(const struct scenario *sc)
{
	struct trial_cfg c = dumbbell(1, sc->arg2);
	u64 most = sc->arg2 + max(sc->arg2, MSEC) * 3 / 2;
	struct trial_result r;

	c.topo.trunk.limit = 64 << 20;
	run_neck(&c, "no marks", &r);
	scenario_least("use of the link", r.use / 10000.0, 90, "%");
	scenario_most("round trip with the mean queue",
		      (sc->arg2 + r.mean_queue * 1e9 / RATE) / 1000000.0, most / 1000000.0, "ms");
}

/* @arg: senders over a slow link; the queue drops what is beyond a megabyte */
static void deep_slow(const struct scenario *sc)
{
	struct trial_cfg c = dumbbell_of(SLOW, sc->arg, sc->arg2);
	u64 most = sc->arg2 + max(sc->arg2, MSEC) * 3 / 2;
	struct trial_result r;

	c.topo.trunk.limit = 1 << 20;
	/* the base expires several times */
	c.warm = 25 * SEC;
	c.time = 25 * SEC;
	run_neck(&c, "no marks", &r);
	scenario_least("use of the link", r.use / 10000.0, 90, "%");
	scenario_most("round trip with the mean queue",
		      (sc->arg2 + r.mean_queue * 1e9 / SLOW) / 1000000.0, most / 1000000.0, "ms");
	scenario_most("drops", r.drops, 0, "packets");
	scenario_least("Jain's index", r.jain / 1000000.0, 0.95, "");
}

static void shallow(const struct scenario *sc)
{
	struct trial_cfg c = dumbbell(1, sc->arg2);

	c.topo.trunk.limit = bdp(RATE, sc->arg);
	run_unmarked(&c, "100 us", "use of the link", RATE);
}

static void policed(const struct scenario *sc)
{
	struct trial_cfg c = dumbbell(1, sc->arg2);

	c.topo.trunk.police = RATE / 2;
	c.topo.trunk.bucket = bdp(RATE / 2, 5 * MSEC);
	run_unmarked(&c, "policed", "use of what the policer passes", RATE / 2);
}

static void bleached(const struct scenario *sc)
{
	struct trial_cfg c = dumbbell(1, sc->arg2);

	c.topo.up.bleach = true;
	c.topo.trunk.mark = mark_at(sc->arg2);
	c.topo.trunk.limit = 4 << 20;
	run_unmarked(&c, "bleached", "use of the link", RATE);
}

static void false_marks(const struct scenario *sc)
{
	struct trial_cfg c = dumbbell(1, sc->arg2);
	struct trial_result r;

	c.topo.down.false_mark = sc->arg;
	c.topo.trunk.limit = 4 << 20;
	run_neck(&c, "false marks", &r);
	scenario_note("a router that marks all the time takes its part; what counts is progress");
	scenario_least("use of the link", r.use / 10000.0, 20, "%");
}

/*
 * As many connections of 16 paths as @arg over 8 planes of which each carries @arg2 bytes a second,
 * through a deep queue that does not mark: of each connection less than a packet in a round trip.
 */
static void crowd_before(const struct scenario *sc, u32 limit)
{
	struct sim_wire host = { .rate = GBIT(1), .delay = 10 * USEC };
	struct sim_wire neck = { .rate = sc->arg2, .delay = 30 * USEC, .limit = limit };
	struct trial_cfg c = {
		.topo = {
			.planes = 8,
			.leaves = 2,
			.spines = 1,
			.up = host,
			.down = host,
			.trunk = neck,
			.fan = host,
		},
		.load = { .len_max = 8192, .depth = 16, .timeout = SEC },
		.pattern = TRIAL_PAIRS,
		.senders = sc->arg,
		.sim = { .payload = 1376, .npaths = 16 },
		.warm = 10 * SEC,
		.time = 10 * SEC,
		.neck = SIM_TRUNK,
		.neck_i = 1, /* from the senders' leaf */
	};
	struct trial *t = scenario_trial(&c);
	u32 i, failed = 0, idle = 0;
	struct trial_result r;

	trial_run(t, &r);
	scenario_report(t, "crowd", &r);
	for (i = 0; i < t->n; i++) {
		failed += t->sender[i].qp->state == SIM_QP_ERROR;
		idle += t->sender[i].qp->peer->landed == t->sender[i].landed;
	}
	scenario_most("queue pairs that failed", failed, 0, "");
	scenario_most("queue pairs without progress", idle, 0, "");
	scenario_most("probe timeouts, of packets", 100.0 * r.probe_timeouts / r.packets, 5, "%");
	scenario_least("goodput, of what the link carries",
		       100.0 * r.goodput / trial_payload_rate(t, 8 * sc->arg2), 90, "%");
	scenario_finish(t);
}

static void crowd(const struct scenario *sc)
{
	crowd_before(sc, 1 << 20);
}

/* The queue has 42 ms, as a megabyte has at 200 Mb/s: a sixth of a packet of each connection. */
static void crowd_short(const struct scenario *sc)
{
	crowd_before(sc, div64_u64((u64)(1 << 20) * sc->arg2, MBIT(200)));
}

const struct scenario queue_scenarios[] = {
	{ "ecn-1path-0.1ms", "marks at 0.2 BDP + 2, 1 path, 0.1 ms", ecn, 1, 100 * USEC },
	{ "ecn-16paths-0.1ms", "the same, 16 paths", ecn, 16, 100 * USEC },
	{ "ecn-1path-10ms", "1 path, 10 ms", ecn, 1, 10 * MSEC },
	{ "ecn-16paths-10ms", "16 paths, 10 ms", ecn, 16, 10 * MSEC },
	{ "ecn-4senders", "marks, 4 pairs over one link, 0.1 ms", ecn_shared, 4, 100 * USEC },
	{ "ecn-16senders", "marks, 16 pairs over one link, 0.1 ms", ecn_shared, 16, 100 * USEC },
	{ "deep-0.1ms", "64 MiB of queue, no marks, 0.1 ms", deep, 0, 100 * USEC },
	{ "deep-10ms", "64 MiB of queue, no marks, 10 ms", deep, 0, 10 * MSEC },
	{ "deep-slow-0.1ms", "1 MiB of queue at 200 Mb/s, no marks, 0.1 ms", deep_slow, 1,
	  100 * USEC },
	{ "deep-slow-10ms", "the same, 10 ms", deep_slow, 1, 10 * MSEC },
	{ "deep-slow-4senders", "the same, 4 pairs, 10 ms", deep_slow, 4, 10 * MSEC },
	{ "short-0.1ms", "queue of 100 us, no marks, 0.1 ms", shallow, 100 * USEC, 100 * USEC },
	{ "short-10ms", "queue of 100 us, no marks, 10 ms", shallow, 100 * USEC, 10 * MSEC },
	{ "policer-0.1ms", "a policer of 500 Mb/s, 0.1 ms", policed, 0, 100 * USEC },
	{ "policer-10ms", "a policer of 500 Mb/s, 10 ms", policed, 0, 10 * MSEC },
	{ "bleached", "a router in front bleaches what the next one marks", bleached, 0,
	  100 * USEC },
	{ "crowd-64", "64 connections, 8 planes of 11 Mb/s, 1 MiB of queue, no marks", crowd, 64,
	  MBIT(11) },
	{ "crowd-256", "256 connections over the same", crowd, 256, MBIT(11) },
	{ "crowd-1024", "1,024 connections, 8 planes of 40 Mb/s, queues of fewer packets",
	  crowd, 1024, MBIT(40) },
	{ "crowd-short-196", "196 connections, 8 planes of 10 Mb/s, queues of 42 ms",
	  crowd_short, 196, MBIT(10) },
	{ "crowd-short-784", "784 connections, 8 planes of 40 Mb/s, queues of 42 ms",
	  crowd_short, 784, MBIT(40) },
	{ "false-marks", "a router marks 5% without reason", false_marks, 50000, 100 * USEC },
	{},
};
