// SPDX-License-Identifier: GPL-2.0
/*
 * The simulated network itself, without the engine: packets that are thrown at a link come out as
 * its rate, queue, marks and faults say. What other suites measure rests on this.
 */
#include <kunit/test.h>
#include "suites.h"
#include "scenario.h"

#define BYTES  1000 /* of a packet on the wire */

/* a network that hosts throw packets at; what arrives is counted by the link down of host 0 */
static struct sim *net(struct kunit *test, const struct sim_topo *topo, u32 hosts, u64 seed)
{
	struct sim_cfg cfg = { .topo = topo, .hosts = hosts, .seed = seed, .npaths = 16 };
	struct sim *s = scenario_new(test, &cfg);

	sim_link_watch(sim_link(s, 0, SIM_DOWN, 0));
	return s;
}

/*
 * Probes of a connection that nobody has: the network carries them as any packet that is ECT, the
 * receiver drops them.
 */
static void throw(struct sim *s, u16 from, u16 to, u8 path, u8 epoch)
{
	struct mroce_control c = {
		.base.version = MROCE_WIRE_VERSION,
		.base.type = MROCE_T_PROBE,
		.base.path = path,
		.base.epoch = epoch,
		.op = MROCE_C_PROBE,
	};
	u8 hdr[MROCE_HEADER_MAX];
	struct sim_packet *p;

	p = sim_packet_new(s, from, to, hdr, mroce_build_control(hdr, &c));
	if (!p)
		return;
	memcpy(p->hdr, hdr, p->len);
	p->numbered = true;
	p->payload = BYTES - SIM_WIRE_OVERHEAD - p->len;
	sim_send(s, p);
}

struct thrower {
	u32 left, spread;
	u64 gap;
};

static void throw_on(struct sim *s, void *arg)
{
	struct thrower *t = arg;

	if (!t->left)
		return;
	t->left--;
	throw(s, 1, 0, t->spread ? t->left % t->spread : 0, 0);
	sim_at(s, s->now + t->gap, throw_on, t);
}

/* @n packets from host 1 to host 0, one every @gap ns */
static void throw_many(struct sim *s, u32 n, u64 gap)
{
	struct thrower t = { .left = n, .gap = gap };

	sim_at(s, s->now, throw_on, &t);
	sim_run(s, MROCE_NEVER);
}

/* A burst leaves a link one packet after the other at its rate, in order, after its delay. */
static void rate_and_delay(struct kunit *test)
{
	static const struct sim_topo topo = { .up = { .rate = 125000000, .delay = 50000 } };
	struct sim *s = net(test, &topo, 2, 1);
	struct sim_link *down = sim_link(s, 0, SIM_DOWN, 0);
	u64 start = s->now;
	u32 i;

	for (i = 0; i < 100; i++)
		throw(s, 1, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, sim_link_queue(s, sim_link(s, 0, SIM_UP, 1)), 100 * BYTES);
	sim_run(s, MROCE_NEVER);
	KUNIT_ASSERT_EQ(test, down->arrivals, 100);
	/* 8 µs a packet */
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, down->arrival[i].at, start + 50000 + (i + 1) * 8000);
	KUNIT_EXPECT_EQ(test, sim_link(s, 0, SIM_UP, 1)->stats.max_queue, 100 * BYTES);
	/* it falls from 100 packets to none in 800 µs */
	KUNIT_EXPECT_EQ(test, div_u64(sim_link(s, 0, SIM_UP, 1)->stats.area, 800000),
			100 * BYTES / 2);
	scenario_end(test, s);
}

/* 100 Gb/s: 80 ns for 1000 bytes, also after a million of them. */
static void fast_link(struct kunit *test)
{
	static const struct sim_topo topo = { .down = { .rate = 12500000000ULL } };
	struct sim *s = net(test, &topo, 2, 1);
	u64 start = s->now;
	u32 i;

	sim_link(s, 0, SIM_DOWN, 0)->watched = false;
	for (i = 0; i < 10000; i++)
		throw(s, 1, 0, 0, 0);
	sim_run(s, MROCE_NEVER);
	KUNIT_EXPECT_EQ(test, s->now - start, 10000 * 80);
	scenario_end(test, s);
}

/* What does not fit is dropped, and from the threshold on packets are marked. */
static void queue_and_marks(struct kunit *test)
{
	static const struct sim_topo topo = {
		.down = { .rate = 125000000, .limit = 50 * BYTES, .mark = 20 * BYTES },
	};
	struct sim *s = net(test, &topo, 2, 1);
	struct sim_link *down = sim_link(s, 0, SIM_DOWN, 0);
	u32 i;

	for (i = 0; i < 80; i++)
		throw(s, 1, 0, 0, 0);
	sim_run(s, MROCE_NEVER);
	KUNIT_EXPECT_EQ(test, down->stats.packets, 50);
	KUNIT_EXPECT_EQ(test, down->stats.tail_drops, 30);
	KUNIT_EXPECT_EQ(test, down->stats.marked, 50 - 21);
	for (i = 0; i < 80; i++)
		KUNIT_EXPECT_EQ(test, down->arrival[i].flags,
				i < 21 ? 0 :
				i < 50 ? SIM_ARRIVAL_MARKED : SIM_ARRIVAL_DROPPED);
	scenario_end(test, s);
}

/* Marks vanish behind a router that bleaches, and come without reason from one that lies. */
static void false_marks(struct kunit *test)
{
	static const struct sim_topo bleached = {
		.up = { .rate = 125000000, .mark = 1 },
		.down = { .rate = 62500000, .mark = 1 },
	};
	static const struct sim_topo lying = { .up = { .false_mark = 300000 } };
	struct sim_wire bleach = bleached.up;
	struct sim *s;
	u32 i;

	bleach.bleach = true;
	s = net(test, &bleached, 2, 1);
	sim_plane_wire(s, 0, SIM_UP, &bleach);
	for (i = 0; i < 10; i++)
		throw(s, 1, 0, 0, 0);
	sim_run(s, MROCE_NEVER);
	KUNIT_EXPECT_EQ(test, sim_link(s, 0, SIM_UP, 1)->stats.marked, 9);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, sim_link(s, 0, SIM_DOWN, 0)->arrival[i].flags, 0);
	scenario_end(test, s);

	s = net(test, &lying, 2, 1);
	throw_many(s, 10000, 1000);
	KUNIT_EXPECT_GE(test, sim_link(s, 0, SIM_UP, 1)->stats.marked, 2800);
	KUNIT_EXPECT_LE(test, sim_link(s, 0, SIM_UP, 1)->stats.marked, 3200);
	scenario_end(test, s);
}

/* The share that is lost is the one asked for, alone and in bursts, and bursts are so long. */
static void loss(struct kunit *test)
{
	static const struct {
		u32 loss, burst, low, high, runs_low, runs_high;
	} cases[] = {
		{ 10000, 0, 160, 240, 150, 240 },
		{ 100000, 1, 1850, 2150, 1600, 2000 },
		{ 100000, 10, 1600, 2400, 150, 250 },
	};
	struct sim_topo topo = {};
	struct sim_link *up, *down;
	struct sim *s;
	u32 i, k, runs;
	u64 before;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		topo.up.loss = cases[i].loss;
		topo.up.burst = cases[i].burst;
		s = net(test, &topo, 2, 5);
		throw_many(s, 20000, 1000);
		up = sim_link(s, 0, SIM_UP, 1);
		down = sim_link(s, 0, SIM_DOWN, 0);
		KUNIT_EXPECT_GE(test, up->stats.lost, cases[i].low);
		KUNIT_EXPECT_LE(test, up->stats.lost, cases[i].high);
		KUNIT_ASSERT_EQ(test, down->arrivals, 20000 - up->stats.lost);
		before = down->arrival[0].at;
		for (k = 1, runs = 0; k < down->arrivals; k++) {
			runs += down->arrival[k].at - before > 1000;
			before = down->arrival[k].at;
		}
		KUNIT_EXPECT_GE(test, runs, cases[i].runs_low);
		KUNIT_EXPECT_LE(test, runs, cases[i].runs_high);
		scenario_end(test, s);
	}
}

/* Some come twice, some late, some early. */
static void dup_and_reorder(struct kunit *test)
{
	static const struct sim_topo twice = { .up = { .delay = 10000, .dup = 100000 } };
	static const struct sim_topo early = { .up = { .delay = 100000, .early = 250000 } };
	struct sim *s = net(test, &twice, 2, 3);
	u64 start;
	u32 i;

	throw_many(s, 10000, 1000);
	KUNIT_EXPECT_GE(test, sim_link(s, 0, SIM_DOWN, 0)->arrivals, 10900);
	KUNIT_EXPECT_LE(test, sim_link(s, 0, SIM_DOWN, 0)->arrivals, 11100);
	scenario_end(test, s);

	s = net(test, &early, 2, 3);
	start = s->now;
	throw_many(s, 10000, 1000);
	KUNIT_EXPECT_EQ(test, sim_link(s, 0, SIM_DOWN, 0)->arrivals, 10000);
	KUNIT_EXPECT_GE(test, s->stats.reordered, 2400);
	KUNIT_EXPECT_LE(test, s->stats.reordered, 2600);
	/* of 100 that were sent meanwhile these came before the first one that is not early */
	for (i = 0; sim_link(s, 0, SIM_DOWN, 0)->arrival[i].at < start + 100000; i++)
		;
	KUNIT_EXPECT_GE(test, i, 10);
	KUNIT_EXPECT_LE(test, i, 40);
	scenario_end(test, s);
}

/* A policer passes its bucket, then its rate. */
static void policer(struct kunit *test)
{
	static const struct sim_topo topo = {
		.up = { .police = 12500000, .bucket = 20 * BYTES },
	};
	struct sim *s = net(test, &topo, 2, 1);

	/* 1 Gb/s into 100 Mb/s, for 8 ms: 20 packets and 100 more */
	throw_many(s, 1000, 8000);
	KUNIT_EXPECT_GE(test, sim_link(s, 0, SIM_UP, 1)->stats.packets, 119);
	KUNIT_EXPECT_LE(test, sim_link(s, 0, SIM_UP, 1)->stats.packets, 120);
	KUNIT_EXPECT_EQ(test, sim_link(s, 0, SIM_UP, 1)->stats.policed,
			1000 - sim_link(s, 0, SIM_UP, 1)->stats.packets);
	scenario_end(test, s);
}

/* Paths and epochs are spread over the spines, each always to the same one. */
static void ecmp(struct kunit *test)
{
	static const struct sim_topo topo = { .leaves = 2, .spines = 8 };
	struct sim *s = net(test, &topo, 40, 9);
	u32 i, path, epoch;

	for (i = 0; i < 20; i++)
		for (path = 0; path < 16; path++)
			for (epoch = 0; epoch < 4; epoch++) {
				throw(s, 2 * i + 1, 0, path, epoch);
				throw(s, 2 * i + 1, 0, path, epoch);
			}
	sim_run(s, MROCE_NEVER);
	for (i = 0; i < 8; i++) {
		struct sim_link *l = sim_link(s, 0, SIM_TRUNK, sim_trunk(&topo, 1, i));

		/* 2560 packets, 320 to each, in pairs */
		KUNIT_EXPECT_GE(test, l->stats.packets, 240);
		KUNIT_EXPECT_LE(test, l->stats.packets, 400);
		KUNIT_EXPECT_EQ(test, l->stats.packets % 2, 0);
		KUNIT_EXPECT_EQ(test, l->stats.packets,
				sim_link(s, 0, SIM_FAN, sim_trunk(&topo, 0, i))->stats.packets);
	}
	scenario_end(test, s);
}

/* Hosts of one leaf do not meet a spine; planes share nothing. */
static void planes_and_leaves(struct kunit *test)
{
	static const struct sim_topo topo = { .planes = 4, .leaves = 2, .spines = 1 };
	struct sim *s = net(test, &topo, 4, 9);
	u32 i;

	for (i = 0; i < 16; i++)
		throw(s, 2, 0, i, 0);
	sim_run(s, MROCE_NEVER);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, sim_link(s, i, SIM_UP, 2)->stats.packets, 4);
		KUNIT_EXPECT_EQ(test, sim_link(s, i, SIM_DOWN, 0)->stats.packets, 4);
		KUNIT_EXPECT_EQ(test, sim_link(s, i, SIM_TRUNK, 0)->stats.packets, 0);
		KUNIT_EXPECT_EQ(test, sim_link(s, i, SIM_TRUNK, 1)->stats.packets, 0);
	}
	scenario_end(test, s);
}

/* What is on a link when it is cut is lost, and what comes until it heals. */
static void cut(struct kunit *test)
{
	static const struct sim_topo topo = { .up = { .delay = 10000 } };
	struct sim *s = net(test, &topo, 2, 1);
	u64 start = s->now;

	sim_host_cut(s, start + 100500, 1, 0, true, false);
	sim_host_cut(s, start + 200500, 1, 0, false, false);
	throw_many(s, 300, 1000);
	/* sent in [90.5, 200.5] µs: 110 of them */
	KUNIT_EXPECT_EQ(test, sim_link(s, 0, SIM_DOWN, 0)->arrivals, 300 - 110);
	KUNIT_EXPECT_EQ(test, sim_link(s, 0, SIM_UP, 1)->stats.cut, 110);
	scenario_end(test, s);
}

static struct kunit_case cases[] = { KUNIT_CASE(rate_and_delay),
				     KUNIT_CASE(fast_link),
				     KUNIT_CASE(queue_and_marks),
				     KUNIT_CASE(false_marks),
				     KUNIT_CASE(loss),
				     KUNIT_CASE(dup_and_reorder),
				     KUNIT_CASE(policer),
				     KUNIT_CASE(ecmp),
				     KUNIT_CASE(planes_and_leaves),
				     KUNIT_CASE(cut),
				     {} };

struct kunit_suite mroce_net_suite = {
	.name = "mroce_net",
	.test_cases = cases,
};
