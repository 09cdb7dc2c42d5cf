// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios of incast: N hosts begin to send to one at the same time, strangers or connected
 * before. What counts is how soon arrivals match the receiver's link, without loss, and fairly.
 */
#include "scenarios.h"

#define RATE  GBIT(100)
#define RTT   (10 * USEC)
#define PSIZE 4096
#define WIRE  (PSIZE + sizeof(struct mroce_wire_data) + SIM_WIRE_OVERHEAD)

/* the time in which everybody's first packet gets through, and one round trip */
static u64 settle_time(u32 n)
{
	return RTT + n * WIRE * SEC / RATE;
}

/* what may arrive of one sender before it has heard anything */
static u64 first_flight(u32 n)
{
	return clamp(bdp(RATE, RTT) / n, (u64)WIRE, 65536ULL);
}

static struct trial_cfg star(u32 n, bool connected)
{
	u64 t = settle_time(n), start = connected ? 50 * MSEC : 0;
	u64 least = 30 * n * WIRE * SEC / RATE;
	struct sim_wire up = { .rate = RATE, .delay = RTT / 4 };
	struct sim_wire down = { .rate = RATE, .delay = RTT / 4 };

	down.limit = bdp(RATE, RTT) + n * first_flight(n);
	return (struct trial_cfg){
		.topo = { .up = up, .down = down },
		.load = { .depth = n < 64 ? 16 : 4, .start = start },
		.pattern = TRIAL_STAR,
		.senders = n,
		.sim = { .payload = PSIZE },
		.warm = start + 2 * t + (connected ? 0 : 2 * RTT),
		.time = max(max(least, 8 * t), 20 * RTT),
		.neck = SIM_DOWN,
		.neck_i = 0,
		.watch = true,
	};
}

/* what the receiver grants to all its senders together, of its link; 0: it grants nothing */
static double shares(struct trial *t)
{
	struct sim_rxh *r;
	u64 sum = 0;

	list_for_each_entry(r, &t->s->host[0].rxhs, node)
		sum += r->rx.share;
	return sum * 1024.0 / RATE;
}

/*
 * When arrivals have come to the capacity, judged over windows of so many packets: the fewer, the
 * more the chance of who meets whom counts.
 */
static void settling(struct trial *t, const struct scenario *sc, u32 packets)
{
	u64 unit = settle_time(sc->arg), end = t->start + t->c.warm + t->c.time, t0;
	struct trial_settled all, later;
	char what[80];
	double in_t;

	trial_settle(t, packets, SIM_MILLION / 20, t->start + t->c.load.start, end, &all);
	trial_settle(t, packets, SIM_MILLION / 20, t->start + t->c.warm, end, &later);
	t0 = sc->arg2 ? t->start + t->c.load.start : all.first - RTT / 2;
	in_t = all.at > t0 ? (double)(all.at - t0) / unit : 0;
	scenario_note("windows of %u packets beyond 5%% after 2 T: %.2f%%; worst last: %.0f%%",
		      packets, later.off / 10000.0, later.worst / 10000.0);
	snprintf(what, sizeof(what), "settled, in T, windows of %u packets", packets);
	scenario_most(what, all.at == MROCE_NEVER ? 1000 : in_t, 2, "T");
}

/* @arg: senders; @arg2: they are connected */
static void incast(const struct scenario *sc)
{
	struct trial_cfg c = star(sc->arg, sc->arg2);
	struct trial *t = scenario_trial(&c);
	struct trial_settled settled;
	struct trial_result r;
	double early;

	trial_until(t, c.warm);
	early = shares(t);
	trial_begin(t);
	trial_until(t, c.warm + c.time);
	trial_measure(t, &r);
	scenario_report(t, "all at once", &r);
	scenario_note("T is %.1f us; shares announced at the end: %.2f of the link",
		      settle_time(sc->arg) / 1000.0, shares(t));
	scenario_least("shares announced after 2 T, of the link", 100 * early, 95, "%");
	scenario_most("shares announced after 2 T, of the link", 100 * early, 105, "%");
	settling(t, sc, 100);
	if (sc->arg > 100)
		settling(t, sc, sc->arg);
	scenario_least("use of the link after 2 T", r.use / 10000.0, 95, "%");
	if (sc->arg > 1)
		scenario_least("Jain's index after 2 T", r.jain / 1000000.0, 0.98, "");
	trial_settle(t, 100, 0, t->start + c.load.start, t->start + c.warm + c.time, &settled);
	scenario_most("drops since the start", settled.dropped, 0, "packets");
	scenario_series(t, "arrivals", c.load.start + t->start, t->start + c.warm + c.time, 400);
	scenario_finish(t);
}

#define FROM_IDLE "to one at 100 Gb/s, 10 us, from idle"
#define CONNECTED "the same, connected before and idle"

const struct scenario incast_scenarios[] = {
	{ "incast-1-idle", "1 sender " FROM_IDLE, incast, 1, 0 },
	{ "incast-1-connected", CONNECTED, incast, 1, 1 },
	{ "incast-2-idle", "2 senders " FROM_IDLE, incast, 2, 0 },
	{ "incast-2-connected", CONNECTED, incast, 2, 1 },
	{ "incast-8-idle", "8 senders " FROM_IDLE, incast, 8, 0 },
	{ "incast-8-connected", CONNECTED, incast, 8, 1 },
	{ "incast-64-idle", "64 senders " FROM_IDLE, incast, 64, 0 },
	{ "incast-64-connected", CONNECTED, incast, 64, 1 },
	{ "incast-512-idle", "512 senders " FROM_IDLE, incast, 512, 0 },
	{ "incast-512-connected", CONNECTED, incast, 512, 1 },
	{ "incast-4096-idle", "4,096 senders " FROM_IDLE, incast, 4096, 0 },
	{ "incast-4096-connected", CONNECTED, incast, 4096, 1 },
	{},
};
