// SPDX-License-Identifier: GPL-2.0
/*
 * Trials of a few hosts over the simulated network: goodput under loss, planes, queues that mark,
 * incast, what a cut plane costs. The engine's targets as far as it reaches them, with room for
 * what another seed changes. More and larger ones: make -C kunit scenarios.
 */
#include <kunit/test.h>
#include "suites.h"
#include "scenario_net.h"

#define RTT   (100 * USEC)
#define PSIZE 4096
#define WIRE  (PSIZE + sizeof(struct mroce_wire_data) + SIM_WIRE_OVERHEAD)

static struct trial *begin(struct kunit *test, const struct trial_cfg *c)
{
	struct trial *t = trial_new(c);

	KUNIT_ASSERT_NOT_NULL(test, t);
	return t;
}

static void end(struct kunit *test, struct trial *t)
{
	u64 seed = t->c.sim.seed;
	char why[200];

	if (!trial_end(t, why, sizeof(why)))
		KUNIT_FAIL(test, "seed %llu: %s", (unsigned long long)seed, why);
}

static void run(struct kunit *test, const struct trial_cfg *c, struct trial_result *r)
{
	struct trial *t = begin(test, c);

	trial_run(t, r);
	end(test, t);
}

static u32 percent(u64 part, u64 whole)
{
	return whole ? div64_u64(part * 100, whole) : 0;
}

/* one sender, one receiver, 1 Gb/s */
static struct trial_cfg one_sender(void)
{
	struct sim_wire wire = { .rate = GBIT(1), .delay = RTT / 4, .limit = 4 << 20 };

	return (struct trial_cfg){
		.topo = { .up = wire, .down = wire },
		.senders = 1,
		.warm = 20 * MSEC,
		.time = 100 * MSEC,
		.neck = SIM_UP,
		.neck_i = 1,
	};
}

/* Packets that are lost at random cost little more than themselves. */
static void loss(struct kunit *test)
{
	static const struct {
		u32 ppm, least;
	} cases[] = { { 1000, 98 }, { 10000, 96 }, { 50000, 90 }, { 100000, 82 } };
	struct trial_cfg c = one_sender();
	struct trial_result base, r;
	u32 i;

	run(test, &c, &base);
	KUNIT_EXPECT_GE(test, base.use, 980000);
	KUNIT_EXPECT_EQ(test, base.resent, 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		c.topo.up.loss = cases[i].ppm;
		c.topo.up.ack_loss = cases[i].ppm;
		c.topo.down.loss = 0;
		run(test, &c, &r);
		kunit_info(test, "%u ppm lost: %u%% of goodput, resent %u ppm\n", cases[i].ppm,
			   percent(r.goodput, base.goodput), r.resent);
		KUNIT_EXPECT_GE(test, percent(r.goodput, base.goodput), cases[i].least);
		/* resent is what was lost, and not much more */
		KUNIT_EXPECT_LE(test, r.resent, cases[i].ppm * 3 / 2 + 5000);
	}
}

/* 1 ms of delay that a quarter of the packets skip. */
static void reordering(struct kunit *test)
{
	struct trial_cfg c = one_sender();
	struct trial_result base, r;

	c.topo.up.delay += MSEC;
	c.topo.up.limit = 4 << 20;
	run(test, &c, &base);
	c.topo.up.early = 250000;
	run(test, &c, &r);
	KUNIT_EXPECT_GE(test, percent(r.goodput, base.goodput), 55);
}

/* Two planes carry twice as much, unequal ones their sum. */
static void planes(struct kunit *test)
{
	static const struct sim_wire plane = { .rate = MBIT(200), .delay = RTT / 4,
					       .limit = 1 << 20 };
	static const struct sim_wire slow = { .rate = MBIT(50), .delay = 5 * RTT,
					      .limit = 1 << 20 };
	struct trial_cfg c = one_sender();
	struct trial_result r;
	struct trial *t;
	u32 n;

	c.topo = (struct sim_topo){ .up = plane, .down = plane };
	c.warm = 50 * MSEC;
	for (n = 1; n <= 4; n *= 2) {
		c.topo.planes = n;
		t = begin(test, &c);
		trial_run(t, &r);
		KUNIT_EXPECT_GE(test,
				percent(r.goodput, trial_payload_rate(t, n * MBIT(200))), 97);
		end(test, t);
	}
	c.topo.planes = 2;
	c.warm = 200 * MSEC;
	t = begin(test, &c);
	sim_plane_wire(t->s, 1, SIM_UP, &slow);
	sim_plane_wire(t->s, 1, SIM_DOWN, &slow);
	trial_run(t, &r);
	KUNIT_EXPECT_GE(test, percent(r.goodput, trial_payload_rate(t, MBIT(250))), 95);
	end(test, t);
}

/* One of four planes is cut and heals; from 20 ms on the other three carry what they can. */
static void cut(struct kunit *test)
{
	static const struct sim_wire plane = { .rate = MBIT(200), .delay = RTT / 4,
					       .limit = 1 << 20 };
	struct trial_cfg c = one_sender();
	struct trial_result r;
	struct trial *t;

	c.topo = (struct sim_topo){ .planes = 4, .up = plane, .down = plane };
	c.warm = 0;
	c.time = 2 * SEC;
	c.load.stop = 2 * SEC;
	t = begin(test, &c);
	trial_until(t, 50 * MSEC);
	sim_host_cut(t->s, t->s->now, 1, 2, true, false);
	trial_until(t, 70 * MSEC);
	trial_begin(t);
	trial_until(t, 120 * MSEC);
	trial_measure(t, &r);
	KUNIT_EXPECT_GE(test, percent(r.goodput, trial_payload_rate(t, MBIT(600))), 95);
	sim_host_cut(t->s, t->s->now, 1, 2, false, false);
	trial_until(t, 1620 * MSEC);
	trial_begin(t);
	trial_until(t, 1670 * MSEC);
	trial_measure(t, &r);
	KUNIT_EXPECT_GE(test, percent(r.goodput, trial_payload_rate(t, MBIT(800))), 95);
	end(test, t);
}

/* A path on a router that marks: its queue stays short, and its link full. */
static void marks(struct kunit *test)
{
	struct trial_cfg c = {
		.topo = {
			.leaves = 2,
			.up = { .rate = GBIT(4), .delay = RTT / 8 },
			.down = { .rate = GBIT(4), .delay = RTT / 8 },
			.trunk = {
				.rate = GBIT(1),
				.delay = RTT / 4,
				.mark = 12500 / 5 + 2 * WIRE,
				.limit = 1 << 20,
			},
		},
		.pattern = TRIAL_PAIRS,
		.sim = { .npaths = 1 },
		.senders = 1,
		.warm = 50 * MSEC,
		.time = 100 * MSEC,
		.neck = SIM_TRUNK,
		.neck_i = 1,
	};
	struct trial_result r;

	run(test, &c, &r);
	KUNIT_EXPECT_GE(test, r.use, 950000);
	KUNIT_EXPECT_LE(test, r.mean_queue, 2 * c.topo.trunk.mark);
	KUNIT_EXPECT_GE(test, r.marks, 100);
	KUNIT_EXPECT_EQ(test, r.drops, 0);
}

/* Many begin at once, far more than the queue takes: all of it arrives in the end. */
static void incast(struct kunit *test)
{
	static const struct sim_wire up = { .rate = GBIT(10), .delay = 5 * USEC };
	static const struct sim_wire down = { .rate = GBIT(10), .delay = 5 * USEC,
					      .limit = 200000 };
	struct trial_cfg c = {
		.topo = { .up = up, .down = down },
		.load = { .count = 4, .len_max = 32768, .depth = 4 },
		.senders = 32,
		.time = 100 * MSEC,
		.neck = SIM_DOWN,
		.watch = true,
	};
	struct trial_settled settled;
	struct trial_result r;
	struct trial *t = begin(test, &c);
	u32 i;

	trial_run(t, &r);
	trial_settle(t, 100, SIM_MILLION / 20, t->start, t->s->now, &settled);
	kunit_info(test, "%llu packets for %u, %u of them dropped, settled after %lld us\n",
		   (unsigned long long)r.packets, 32 * 4 * 8, settled.dropped,
		   settled.at == MROCE_NEVER ? -1LL :
		   (long long)div_u64(settled.at - settled.first, 1000));
	KUNIT_EXPECT_EQ(test, r.messages, 32 * 4);
	for (i = 0; i < t->n; i++)
		KUNIT_EXPECT_EQ(test, t->sender[i].qp->completed, 4);
	end(test, t);
}

/* Each of 4 hosts to each of 4 others over two planes: all get the same. */
static void mesh(struct kunit *test)
{
	static const struct sim_wire wire = { .rate = MBIT(200), .delay = 10 * USEC,
					      .limit = 1 << 20, .mark = 64 << 10 };
	struct trial_cfg c = {
		.topo = { .planes = 2, .up = wire, .down = wire },
		.load = { .len_max = 8192, .depth = 8, .log_packets = 8 },
		.pattern = TRIAL_MESH,
		.sim = { .payload = 1376, .npaths = 8 },
		.senders = 4,
		.warm = 50 * MSEC,
		.time = 100 * MSEC,
		.neck = SIM_DOWN,
		.neck_i = 4,
	};
	struct trial_result r;
	struct trial *t = begin(test, &c);

	trial_run(t, &r);
	KUNIT_EXPECT_EQ(test, t->n, 16);
	KUNIT_EXPECT_GE(test, percent(r.goodput, trial_payload_rate(t, 8 * MBIT(200))), 90);
	KUNIT_EXPECT_GE(test, r.jain, 950000);
	end(test, t);
}

/* The same seed gives the same run, another seed another. */
static void repeatable(struct kunit *test)
{
	struct trial_cfg c = one_sender();
	struct trial_result r[3];
	u32 i;

	c.topo.up.loss = 20000;
	c.topo.up.burst = 5;
	c.topo.planes = 2;
	for (i = 0; i < 3; i++) {
		c.sim.seed = i < 2 ? 5 : 6;
		run(test, &c, &r[i]);
	}
	KUNIT_EXPECT_MEMEQ(test, &r[0], &r[1], sizeof(r[0]));
	KUNIT_EXPECT_NE(test, r[0].lost, r[2].lost);
}

/* What is measured is right: a load whose every packet is known. */
static void measured(struct kunit *test)
{
	struct trial_cfg c = one_sender();
	static const u64 even[] = { 7, 7, 7, 7 }, one[] = { 0, 0, 3000000000, 0 };
	struct trial_result r;
	struct trial *t;

	KUNIT_EXPECT_EQ(test, trial_jain(even, 4), 1000000);
	KUNIT_EXPECT_EQ(test, trial_jain(one, 4), 250000);

	/* 100 Mb/s of messages of one packet, over a link of 1 Gb/s */
	c.load.len_max = PSIZE;
	c.load.pace = MBIT(100);
	c.neck = SIM_DOWN;
	c.neck_i = 0;
	c.watch = true;
	t = begin(test, &c);
	trial_run(t, &r);
	/* 100 ms: 305 packets */
	KUNIT_EXPECT_GE(test, r.messages, 304);
	KUNIT_EXPECT_LE(test, r.messages, 306);
	KUNIT_EXPECT_EQ(test, div64_u64(r.goodput + MBIT(1) / 2, MBIT(1)), 100);
	KUNIT_EXPECT_EQ(test, div_u64(r.use + 500, 1000), 103);
	KUNIT_EXPECT_EQ(test, r.max_queue, WIRE);
	/* up and down, the second time only as long as it takes, and the ACK's way */
	KUNIT_EXPECT_GE(test, r.p50, RTT + 2 * WIRE * 8);
	KUNIT_EXPECT_LE(test, r.p99, (RTT + 2 * WIRE * 8) * 5 / 4);
	end(test, t);
}

static struct kunit_case cases[] = { KUNIT_CASE(measured),
				     KUNIT_CASE(repeatable),
				     KUNIT_CASE(loss),
				     KUNIT_CASE(reordering),
				     KUNIT_CASE(planes),
				     KUNIT_CASE(cut),
				     KUNIT_CASE(marks),
				     KUNIT_CASE(incast),
				     KUNIT_CASE(mesh),
				     {} };

struct kunit_suite mroce_scale_suite = {
	.name = "mroce_scale",
	.test_cases = cases,
};
