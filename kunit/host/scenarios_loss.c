// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios of loss and reordering: goodput beside that of the same network without.
 */
#include "scenarios.h"

#define RATE GBIT(1)

/* one sender at a link of 1 Gb/s; both ends' links have a megabyte of queue, or a round trip */
static struct trial_cfg one_sender(u64 rtt)
{
	struct sim_wire wire = {
		.rate = RATE,
		.delay = rtt / 4,
		.limit = max(2 * bdp(RATE, rtt), 1ULL << 20),
	};

	return (struct trial_cfg){
		.topo = { .up = wire, .down = wire },
		.load = { .depth = rtt > MSEC ? 256 : 64 },
		.pattern = TRIAL_STAR,
		.senders = 1,
		.warm = max(100 * MSEC, 100 * rtt),
		.time = max(SEC, 200 * rtt),
		.neck = SIM_UP,
		.neck_i = 1,
	};
}

static void set_loss(struct sim_wire *w, u32 ppm, u32 burst)
{
	w->loss = ppm;
	w->ack_loss = ppm;
	w->burst = burst;
}

/* what is lost at random on the way, each way, while goodput without loss is 100% */
static void lossy(const struct trial_cfg *c, u32 ppm, u32 burst, double target)
{
	struct trial_cfg with = *c;
	struct trial_result base, r;
	double share;

	scenario_run(c, "lossless", &base);
	set_loss(&with.topo.up, ppm, burst);
	scenario_run(&with, "lossy", &r);
	share = 100.0 * r.goodput / base.goodput;
	scenario_least("goodput, of that without loss", share, target, "%");
	scenario_most("resent beyond what was lost",
		      100.0 * r.resent / SIM_MILLION - 100.0 * ppm / SIM_MILLION, 1, "%");
}

static void loss(const struct scenario *sc)
{
	static const struct {
		u32 ppm;
		double target;
	} targets[] = { { 1000, 99 }, { 10000, 97 }, { 50000, 92 }, { 100000, 85 } };
	struct trial_cfg c = one_sender(sc->arg2);
	double target = sc->arg2 >= 10 * MSEC ? 95 : 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(targets) && !target; i++)
		if (targets[i].ppm == sc->arg)
			target = targets[i].target;
	lossy(&c, sc->arg, 0, target);
}

static void lossless(const struct scenario *sc)
{
	struct trial_cfg c = one_sender(sc->arg2);
	struct trial_result r;
	struct trial *t = scenario_trial(&c);
	double most = trial_payload_rate(t, RATE);

	trial_run(t, &r);
	scenario_report(t, "lossless", &r);
	scenario_finish(t);
	scenario_least("goodput, of what the link carries", 100.0 * r.goodput / most, 95, "%");
	scenario_most("resent", r.resent / 10000.0, 0.01, "%");
}

static void bursts(const struct scenario *sc)
{
	struct trial_cfg c = one_sender(sc->arg2);

	lossy(&c, sc->arg, 10, 95);
}

/* as netem does it: all are 1 ms late but 25%, which are early */
static void reorder(const struct scenario *sc)
{
	struct trial_cfg c = one_sender(100 * USEC), with;
	struct trial_result base, r;

	c.topo.up.delay += sc->arg2;
	with = c;
	with.topo.up.early = sc->arg;
	scenario_run(&c, "in order", &base);
	scenario_run(&with, "reordered", &r);
	scenario_least("goodput, of that in order", 100.0 * r.goodput / base.goodput, 95, "%");
	scenario_most("resent", r.resent / 10000.0, 1, "%");
}

static void duplicates(const struct scenario *sc)
{
	struct trial_cfg c = one_sender(sc->arg2), with = c;
	struct trial_result base, r;

	with.topo.up.dup = sc->arg;
	scenario_run(&c, "once", &base);
	scenario_run(&with, "some twice", &r);
	scenario_least("goodput, of that without", 100.0 * r.goodput / base.goodput, 98, "%");
	scenario_most("resent", r.resent / 10000.0, 0.1, "%");
}

const struct scenario loss_scenarios[] = {
	{ "loss-0", "64 KiB Writes, 1 Gb/s, 100 us, no loss", lossless, 0, 100 * USEC },
	{ "loss-0.1", "0.1% loss each way", loss, 1000, 100 * USEC },
	{ "loss-1", "1% loss each way", loss, 10000, 100 * USEC },
	{ "loss-5", "5% loss each way", loss, 50000, 100 * USEC },
	{ "loss-10", "10% loss each way", loss, 100000, 100 * USEC },
	{ "loss-1-10ms", "1% loss each way, round trip of 10 ms", loss, 10000, 10 * MSEC },
	{ "loss-bursts", "1% loss in bursts of 10", bursts, 10000, 100 * USEC },
	{ "reorder-25", "1 ms of delay, 25% early", reorder, 250000, MSEC },
	{ "duplicate-1", "1% come twice", duplicates, 10000, 100 * USEC },
	{},
};
