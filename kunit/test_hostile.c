// SPDX-License-Identifier: GPL-2.0
/*
 * A sender of packets with the right ids and anything else wrong: copies of what passes by, with
 * some fields changed, to both ends of connections in use. What it makes of the connections is its
 * affair; but the engine stays whole, every program comes to an end, and nothing is left.
 */
#include <kunit/test.h>
#include "suites.h"
#include "scenario.h"

#define MSEC 1000000ULL
#define SEC  1000000000ULL

/* a field's value, changed: to a limit, a neighbour, somewhere near, or anything */
static u64 odd(struct sim *s, u64 was, u32 bytes)
{
	switch (sim_below(s, 8)) {
	case 0:
		return 0;
	case 1:
		return U64_MAX;
	case 2:
		return was + 1;
	case 3:
		return was - 1;
	case 4:
		return was ^ BIT_ULL(sim_below(s, 8 * bytes));
	case 5:
		return was + sim_below(s, 5000);
	case 6:
		return was - sim_below(s, 5000);
	default:
		return sim_random(s);
	}
}

static void change(struct sim *s, u8 *p, u32 len)
{
	u32 n = 1 + sim_below(s, 3), size, at, i;
	u64 v;

	while (n--) {
		size = 1U << sim_below(s, 4);
		at = sim_below(s, len) & ~(size - 1);
		/* version, type and id are right, or it would not be looked at */
		if (at + size > len || at < 2 || (at < 16 && at + size > 8))
			continue;
		for (v = 0, i = 0; i < size; i++)
			v = v << 8 | p[at + i];
		v = odd(s, v, size);
		for (i = size; i--; v >>= 8)
			p[at + i] = v;
	}
}

/* how many packets a million are followed by a changed copy */
static bool forge(struct sim *s, struct sim_packet *p, const struct mroce_base *b)
{
	u32 ppm = *(u32 *)s->filter_arg;
	struct sim_packet *copy;

	if (!sim_chance(s, ppm) || b->type == MROCE_T_HELLO || b->type == MROCE_T_HELLO_ACK)
		return false;
	copy = sim_packet_copy(s, p);
	if (!copy)
		return false;
	change(s, copy->hdr, copy->len);
	if (sim_chance(s, 100000))
		copy->payload = sim_below(s, 9000);
	sim_net_send(s, copy);
	return false;
}

static void forged_packets(struct kunit *test)
{
	u64 seed;

	for (seed = SCENARIO_FIRST; seed <= SCENARIO_SEEDS; seed++) {
		struct sim_cfg cfg = {
			.seed = seed,
			.rate = 125000000,
			.delay = 50000,
			.limit = 1 << 20,
			.copy = 100,
			.step = 400,
			.payload = 1024,
			.train = 16384,
			.npaths = 4,
			.cpus = 2,
			.late = 300000,
			.audit = 16,
		};
		struct sim_load load = {
			.timeout = SEC,
			.rnr_retry = 3,
			.rnr_timer = 1,
			.buffers = 32,
			.repost = 1000,
			.mixed = true,
		};
		u32 ppm, pairs, i;
		struct sim *s;

		s = scenario_new(test, &cfg);
		s->hostile = true;
		ppm = 200 + sim_below(s, 20000);
		s->filter = forge;
		s->filter_arg = &ppm;
		scenario_randomise_load(s, &load);
		load.buffer_len = load.len_max;
		pairs = 1 + sim_below(s, 3);
		for (i = 0; i < pairs; i++)
			sim_connect(s, 1, &load, 0, &load);
		if (!sim_run_all(s, s->now + 60 * SEC)) {
			scenario_stuck(test, s);
			scenario_end(test, s);
			return;
		}
		scenario_end(test, s);
	}
}

static struct kunit_case cases[] = { KUNIT_CASE(forged_packets), {} };

struct kunit_suite mroce_hostile_suite = {
	.name = "mroce_hostile",
	.test_cases = cases,
};
