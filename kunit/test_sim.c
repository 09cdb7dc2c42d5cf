// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios over the simulated network: loss, duplication, reordering, packet sizes, mixes of
 * operations, many streams. Every run asserts the invariants of sim_check.c; what a case says
 * beyond that is how the run must end. Goodput is printed for each.
 */
#include <kunit/test.h>
#include "suites.h"
#include "scenario.h"

#define MSEC 1000000ULL
#define SEC  1000000000ULL

struct scenario {
	const char *name;
	struct sim_cfg cfg;
	struct sim_load load;
	u32 pairs; /* queue pairs; each next pair of hosts takes one in turn */
	u32 hosts; /* senders; all send to host 0; 0: one */
	bool both; /* both ends post requests */
	bool bulk;
	u32 least; /* goodput in percent of the link, at least */
};

#define NET(...)  .cfg = { __VA_ARGS__ }
#define LOAD(...) .load = { __VA_ARGS__ }
/* goodput at full load: Writes of 64 KiB, nothing but packets tracked */
#define BULK(...) .load = { __VA_ARGS__ }, .bulk = true

static u64 otherwise(u64 given, u64 value)
{
	return given ? given : value;
}

/*
 * What a scenario does not say: 1 Gb/s, 100 µs round trip, a megabyte of queue; a mix of all
 * operations.
 */
static void net_defaults(struct sim_cfg *c)
{
	c->seed = otherwise(c->seed, 7);
	c->rate = otherwise(c->rate, 125000000);
	c->delay = otherwise(c->delay, 50000);
	c->limit = otherwise(c->limit, 1 << 20);
	c->copy = otherwise(c->copy, 100);
	c->step = otherwise(c->step, 400);
	c->payload = otherwise(c->payload, 4096);
	c->train = otherwise(c->train, 61440);
	c->npaths = otherwise(c->npaths, 4);
	c->cpus = otherwise(c->cpus, 2);
	c->late = otherwise(c->late, 300000);
}

static void load_defaults(struct sim_load *l, bool bulk)
{
	l->count = otherwise(l->count, bulk ? 800 : 400);
	l->ops = otherwise(l->ops, bulk ? SIM_WRITE : SIM_ALL);
	l->len_max = otherwise(l->len_max, bulk ? 65536 : 20000);
	l->len_min = otherwise(l->len_min, bulk ? 65536 : 0);
	l->depth = otherwise(l->depth, bulk ? 64 : 16);
	l->timeout = otherwise(l->timeout, 4 * SEC);
	l->rnr_retry = otherwise(l->rnr_retry, 7);
	l->buffers = otherwise(l->buffers, 32);
	l->buffer_len = otherwise(l->buffer_len, 20000);
	l->repost = otherwise(l->repost, 1000);
	l->fence = otherwise(l->fence, bulk ? 0 : 20000);
	l->mixed = !bulk;
	l->relaxed |= bulk && !l->strict;
}

static const struct scenario scenarios[] = {
	{ "all operations", NET(), LOAD() },
	{ "all operations, trains whole", NET(.whole = true), LOAD() },
	{ "all operations, trains joined again", NET(.gro = true, .copy = 2000), LOAD() },
	{ "all operations, both ways", NET(), LOAD(), .both = true },
	{ "loss 0.1%", NET(.loss = 1000, .ack_loss = 1000), LOAD(), .both = true },
	{ "loss 1%", NET(.loss = 10000, .ack_loss = 10000), LOAD(), .both = true },
	{ "loss 5%", NET(.loss = 50000, .ack_loss = 50000), LOAD(), .both = true },
	{ "loss 10%", NET(.loss = 100000, .ack_loss = 100000), LOAD(), .both = true },
	{ "loss 10%, trains whole", NET(.loss = 100000, .ack_loss = 100000, .whole = true), LOAD(),
	  .both = true },
	{ "loss 30%", NET(.loss = 300000, .ack_loss = 300000), LOAD(.count = 200), .both = true },
	{ "bursts of 20, loss 5%", NET(.loss = 50000, .burst = 20), LOAD(), .both = true },
	{ "ACK loss 50%", NET(.ack_loss = 500000), LOAD(), .both = true },
	{ "duplication 20%", NET(.dup = 200000), LOAD(), .both = true },
	{ "reordering 20%", NET(.reorder = 200000), LOAD(), .both = true },
	{ "reordering 20%, strict", NET(.reorder = 200000),
	  LOAD(.ops = SIM_WRITE | SIM_SEND, .len_max = 60000, .buffer_len = 60000) },
	{ "reordering 20%, relaxed", NET(.reorder = 200000),
	  LOAD(.ops = SIM_WRITE, .len_max = 60000, .relaxed = true) },
	{ "everything at once",
	  NET(.loss = 50000, .ack_loss = 100000, .dup = 50000, .reorder = 100000, .spray = true,
	      .cpus = 4, .step = 3000, .local_drop = 10000),
	  LOAD(.count = 800), .both = true },
	{ "everything, trains joined",
	  NET(.loss = 20000, .dup = 50000, .reorder = 50000, .spray = true, .cpus = 4, .step = 3000,
	      .gro = true, .copy = 4000),
	  LOAD(.count = 800), .both = true },
	{ "everything, trains whole",
	  NET(.loss = 20000, .dup = 50000, .reorder = 50000, .spray = true, .cpus = 4, .step = 3000,
	      .whole = true, .copy = 4000),
	  LOAD(.count = 800), .both = true },
	{ "slow copies on any processor",
	  NET(.spray = true, .cpus = 4, .copy = 20000, .step = 20000, .whole = true), LOAD(),
	  .both = true },
	{ "overlapping Writes, loss 10%", NET(.loss = 100000),
	  LOAD(.ops = SIM_WRITE, .overlap = true, .len_max = 12000) },
	{ "overlapping Writes and ATOMIC_WRITEs, loss 10%", NET(.loss = 100000, .reorder = 100000),
	  LOAD(.ops = SIM_WRITE | SIM_ATOMIC_WRITE, .overlap = true, .len_max = 12000) },
	{ "overlapping Writes and ATOMIC_WRITEs, many outstanding", NET(.loss = 20000),
	  LOAD(.ops = SIM_WRITE | SIM_ATOMIC_WRITE, .overlap = true, .len_max = 600,
	       .depth = 128) },
	{ "Writes, FLUSHes and ATOMIC_WRITEs, loss 5%", NET(.loss = 50000, .ack_loss = 100000),
	  LOAD(.ops = SIM_WRITE | SIM_FLUSH | SIM_ATOMIC_WRITE, .reads = 4), .both = true },
	{ "overlapping Writes, relaxed", NET(.loss = 100000, .reorder = 100000, .spray = true),
	  LOAD(.ops = SIM_WRITE, .overlap = true, .len_max = 12000, .relaxed = true) },
	{ "short hold limit", NET(.loss = 50000, .reorder = 100000, .hold_limit = 2),
	  LOAD(.ops = SIM_WRITE, .len_max = 9000), .both = true },
	{ "1 byte a packet", NET(.payload = 1, .train = 16, .loss = 10000),
	  LOAD(.count = 100, .len_max = 40, .buffer_len = 40) },
	{ "1024 bytes a packet", NET(.payload = 1024, .loss = 20000), LOAD() },
	{ "odd packets of 1399", NET(.payload = 1399, .loss = 20000), LOAD() },
	{ "8 KiB a packet", NET(.payload = 8192, .loss = 20000),
	  LOAD(.len_max = 100000, .buffer_len = 100000, .count = 150) },
	{ "strict packet by packet", NET(.train = 1, .loss = 10000), LOAD() },
	{ "1 path", NET(.npaths = 1, .loss = 20000), LOAD() },
	{ "16 paths", NET(.npaths = 16, .loss = 20000), LOAD(), .both = true },
	{ "empty and short messages", NET(.loss = 20000),
	  LOAD(.len_max = 3, .count = 1000, .depth = 64) },
	{ "receive buffers short: RNR", NET(.loss = 10000),
	  LOAD(.ops = SIM_SEND | SIM_SEND_IMM | SIM_SEND_INV | SIM_WRITE_IMM, .buffers = 3,
	       .repost = 200000) },
	{ "receive buffers short, no credit (SRQ)", NET(.loss = 10000),
	  LOAD(.ops = SIM_SEND | SIM_WRITE_IMM | SIM_WRITE, .buffers = 3, .repost = 200000,
	       .srq = true, .rnr_timer = 1) },
	{ "one receive buffer", NET(),
	  LOAD(.ops = SIM_SEND, .buffers = 1, .repost = 50000, .count = 100) },
	{ "Reads, 1 outstanding", NET(.loss = 10000), LOAD(.ops = SIM_READ, .reads = 1),
	  .both = true },
	{ "Reads and atomics, 4 outstanding", NET(.loss = 50000, .ack_loss = 200000),
	  LOAD(.ops = SIM_READ | SIM_CAS | SIM_ADD, .reads = 4), .both = true },
	{ "fences everywhere", NET(.loss = 10000), LOAD(.fence = 500000) },
	{ "windows of 64 packets", NET(.loss = 20000),
	  LOAD(.log_packets = 6, .len_max = 200000, .buffer_len = 200000, .count = 100) },
	{ "windows of 4 messages", NET(.loss = 20000), LOAD(.log_messages = 2), .both = true },
	{ "10 ms paths", NET(.delay = 5000000, .loss = 10000), LOAD(.depth = 64), .both = true },
	{ "16 queue pairs, one connection", NET(.loss = 10000), LOAD(.count = 60), .pairs = 16,
	  .both = true },
	{ "4 hosts to one", NET(.loss = 1000), LOAD(.count = 100), .hosts = 4, .pairs = 8,
	  .both = true },
	{ "a host to itself", NET(.loss = 10000), LOAD(), .hosts = 99, .both = true },
	{ "marks", NET(.mark = 100000, .npaths = 4), LOAD(.depth = 64), .pairs = 4 },
	{ "bulk, loss 0", NET(.light = true), BULK(), .least = 95 },
	{ "bulk, loss 0.1%", NET(.light = true, .loss = 1000), BULK(), .least = 94 },
	{ "bulk, loss 1%", NET(.light = true, .loss = 10000), BULK(), .least = 93 },
	{ "bulk, loss 5%", NET(.light = true, .loss = 50000), BULK(), .least = 88 },
	{ "bulk, loss 10%", NET(.light = true, .loss = 100000), BULK(), .least = 82 },
	{ "bulk, loss 1%, strict", NET(.light = true, .loss = 10000), BULK(.strict = true),
	  .least = 92 },
	{ "bulk, loss 1%, 2 ms", NET(.light = true, .loss = 10000, .delay = 1000000),
	  BULK(.depth = 256), .least = 88 },
	{ "bulk Reads, loss 1%", NET(.light = true, .loss = 10000),
	  BULK(.ops = SIM_READ, .reads = 32), .least = 90 },
	{ "bulk, reordering 5%", NET(.light = true, .reorder = 50000, .late = 100000), BULK(),
	  .least = 92 },
	{ "bulk, 16 paths, loss 1%", NET(.light = true, .loss = 10000, .npaths = 16), BULK(),
	  .least = 91 },
	{ "bulk, 4 senders to one", NET(.light = true), BULK(.count = 200), .hosts = 4, .pairs = 4,
	  .least = 92 },
	{ "bulk, 4 senders to one, marks", NET(.light = true, .mark = 60000), BULK(.count = 200),
	  .hosts = 4, .pairs = 4, .least = 92 },
};

static void describe(const struct scenario *sc, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", sc->name);
}

KUNIT_ARRAY_PARAM(scenarios, scenarios, describe);

/* bytes that crossed the busiest link for programs, in percent of what it could carry */
static u32 goodput(struct sim *s, u64 *kib)
{
	u64 first = MROCE_NEVER, last = 0, bytes = 0;
	u32 i;

	for (i = 0; i < s->nqps; i++) {
		struct sim_qp *qp = s->qp[i];

		if (!qp->load.count || !qp->rts)
			continue;
		bytes += qp->bytes_done;
		first = min(first, qp->first_post);
		last = max(last, qp->last_done);
	}
	if (last <= first)
		return 0;
	*kib = div64_u64(bytes * 1000000, last - first) * 1000 / 1024;
	return s->cfg.rate ? div64_u64(div64_u64(bytes * 1000000, last - first) * 1000 * 100,
				       s->cfg.rate)
			   : 0;
}

static void run(struct kunit *test)
{
	const struct scenario *sc = test->param_value;
	struct sim_load load = sc->load, answer;
	struct sim_cfg cfg = sc->cfg;
	struct sim *s;
	u32 i, percent, senders = sc->hosts ? sc->hosts : 1;
	u64 start, kib = 0;

	net_defaults(&cfg);
	load_defaults(&load, sc->bulk);
	answer = load;
	if (!sc->both)
		answer.count = 0;
	s = scenario_new(test, &cfg);
	start = s->now;
	for (i = 0; i < max(sc->pairs, 1U); i++)
		sim_connect(s, senders == 99 ? 0 : 1 + i % senders, &load, 0, &answer);
	if (!sim_run_all(s, s->now + 120 * SEC))
		scenario_stuck(test, s);
	scenario_all_completed(test, s);
	percent = goodput(s, &kib);
	kunit_info(test,
		   "%-40s %6llu KiB/s %3u%%  %6llu ms  packets %llu lost %llu dup %llu held %llu refused %llu\n",
		   sc->name, (unsigned long long)kib, percent,
		   (unsigned long long)div_u64(s->now - start, 1000000),
		   (unsigned long long)s->stats.packets,
		   (unsigned long long)(s->stats.lost + s->stats.tail_drops),
		   (unsigned long long)s->stats.duplicates, (unsigned long long)s->stats.held,
		   (unsigned long long)s->stats.refused);
	KUNIT_EXPECT_GE(test, percent, sc->least);
	scenario_end(test, s);
}

/* The same seed gives the same run. */
static void repeatable(struct kunit *test)
{
	const struct scenario *sc = &scenarios[16];
	struct sim_load load = sc->load;
	struct sim_cfg cfg = sc->cfg;
	u64 end[2], packets[2];
	struct sim *s;
	u32 i;

	net_defaults(&cfg);
	load_defaults(&load, false);
	for (i = 0; i < 2; i++) {
		s = scenario_new(test, &cfg);
		sim_connect(s, 1, &load, 0, &load);
		sim_run_all(s, s->now + 60 * SEC);
		end[i] = s->now;
		packets[i] = s->stats.packets;
		scenario_end(test, s);
	}
	KUNIT_EXPECT_EQ(test, end[0], end[1]);
	KUNIT_EXPECT_EQ(test, packets[0], packets[1]);
}

/* Many short runs, each with a network of its own. */
static void random_networks(struct kunit *test)
{
	u64 seed;

	for (seed = SCENARIO_FIRST; seed <= SCENARIO_SEEDS; seed++) {
		struct sim_cfg cfg = { .seed = seed };
		struct sim_load a = {}, b;
		struct sim *s;
		u32 pairs;

		net_defaults(&cfg);
		load_defaults(&a, false);
		s = scenario_new(test, &cfg);
		scenario_randomise(s, &a);
		b = a;
		scenario_randomise_load(s, &b);
		pairs = 1 + sim_below(s, 3);
		while (pairs--)
			sim_connect(s, 1 + sim_below(s, 2), &a, 0, &b);
		if (!sim_run_all(s, s->now + 200 * SEC)) {
			kunit_info(test, "seed %llu\n", (unsigned long long)seed);
			scenario_stuck(test, s);
			scenario_end(test, s);
			return;
		}
		scenario_all_completed(test, s);
		scenario_end(test, s);
	}
}

static struct kunit_case cases[] = { KUNIT_CASE_PARAM(run, scenarios_gen_params),
				     KUNIT_CASE(repeatable),
				     KUNIT_CASE(random_networks),
				     {} };

struct kunit_suite mroce_sim_suite = {
	.name = "mroce_sim",
	.test_cases = cases,
};
