// SPDX-License-Identifier: GPL-2.0
/*
 * The sender's congestion control, round trip by round trip: windows, what cuts them, pacing, the
 * receiver's share. The network is a few numbers: round-trip time, marks and losses of each path.
 */
#include "suites.h"
#include "tx_env.h"

#define COST	  (ENV_PSIZE + MROCE_OVERHEAD)
#define MAX_PATHS 16
#define RTT	  (100 * MROCE_USEC)
#define SEC	  (1000 * MROCE_MSEC)

/* what a path's receiver has counted */
struct counts {
	u32 packets, ce, acked;
};

static struct counts counts[MAX_PATHS];
static u32 share, allowance, burst;

static void begin(struct kunit *test, u8 npaths, u32 train)
{
	u32 i;

	memset(counts, 0, sizeof(counts));
	share = 0;
	allowance = 0;
	burst = 0;
	tx_env_restart(test, npaths, train * ENV_PSIZE);
	for (i = 0; i < ENV_STREAMS; i++)
		tx_open(test, i);
	for (i = 0; i < npaths; i++) {
		struct tx_env *env = test->priv;

		counts[i].acked = env->tx.path[i].next - 1;
		counts[i].packets = counts[i].acked;
	}
}

/* always something to send: four streams of 256 packets each */
static void feed(struct tx_env *env)
{
	u32 i;

	for (i = 0; i < ENV_STREAMS; i++) {
		tx_complete(env, i);
		while (tx_post(env, i, MROCE_OP_WRITE, 64 * ENV_PSIZE))
			;
	}
}

/*
 * Acknowledges all that is in flight, at the time that it is: of each path every @lose-th packet is
 * missing (0: none), and every @mark-th of the others marked; and @burst that follow each other.
 */
static void answer(struct tx_env *env, u64 rtt, u32 lose, u32 mark)
{
	u32 i, n;

	for (i = 0; i < env->tx.npaths; i++) {
		struct mroce_txpath *p = &env->tx.path[i];
		struct counts *c = &counts[i];
		u32 from = c->acked + 1, to = p->next - 1;

		if (mroce_seq_before(to, from))
			continue;
		tx_ack_new(env, i, to);
		for (n = from; n != to + 1; n++) {
			if ((lose && n % lose == 0 && n != to) ||
			    (n - from >= 2 && n - from < 2 + burst)) {
				tx_ack_miss(env, n);
				continue;
			}
			c->packets++;
			if (mark && n % mark == 0)
				c->ce++;
		}
		c->acked = to;
		env->ack.packets = c->packets;
		env->ack.bytes = c->packets * ENV_PSIZE;
		env->ack.ce = c->ce;
		env->ack.echo = (u32)((env->now - rtt) >> MROCE_STAMP_SHIFT);
		env->ack.share = share;
		env->ack.allowance = allowance;
		tx_ack(env);
	}
}

/* One round trip of a sender that always has data; returns the packets that it sent. */
static u32 turn(struct tx_env *env, u64 rtt, u32 lose, u32 mark)
{
	u32 n;

	feed(env);
	n = tx_pick_all(env);
	env->now += rtt;
	answer(env, rtt, lose, mark);
	return n;
}

static u32 window(struct tx_env *env)
{
	return env->tx.plane[0].window;
}

static void set_windows(struct tx_env *env, u32 each, bool startup)
{
	u32 i;

	for (i = 0; i < env->tx.npaths; i++) {
		struct mroce_txpath *p = &env->tx.path[i];

		mroce_cc_window(&env->tx, p, each);
		p->ssthresh = startup ? U32_MAX / 2 : each;
		p->round_cwnd = each;
	}
}

/* ---- planes ---- */

static void check_sums(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 window[MROCE_MAX_PLANES] = { 0 }, inflight[MROCE_MAX_PLANES] = { 0 }, i;

	for (i = 0; i < env->tx.npaths; i++) {
		struct mroce_txpath *p = &env->tx.path[i];

		if (p->state != MROCE_PATH_ACTIVE)
			continue;
		window[p->plane] += p->cwnd;
		inflight[p->plane] += p->inflight;
	}
	for (i = 0; i < MROCE_MAX_PLANES; i++) {
		KUNIT_EXPECT_EQ(test, env->tx.plane[i].window, window[i]);
		KUNIT_EXPECT_EQ(test, env->tx.plane[i].inflight, inflight[i]);
	}
}

/* Paths are split over planes in turn, and a plane's sums are those of its ACTIVE paths. */
static void planes_share_paths(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	begin(test, 8, 10);
	feed(env);
	tx_pick_all(env);
	check_sums(test);
	mroce_tx_planes(&env->tx, 3);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, env->tx.path[i].plane, i % 3);
	check_sums(test);
	env->now += RTT;
	answer(env, RTT, 0, 3);
	check_sums(test);
	mroce_tx_plane_down(&env->tx, 1, env->now);
	KUNIT_EXPECT_EQ(test, env->tx.plane[1].window, 0);
	turn(env, RTT, 7, 0);
	check_sums(test);
	mroce_tx_plane_up(&env->tx, 1, env->now);
	turn(env, RTT, 0, 0);
	KUNIT_EXPECT_GT(test, env->tx.plane[1].window, 0);
	check_sums(test);
	mroce_tx_path_move(&env->tx, 0, 2, false, env->now);
	check_sums(test);
	mroce_tx_planes(&env->tx, 1);
	check_sums(test);
}

/* ---- growth (rule 18) ---- */

/* Start-up doubles the connection's window each round trip, until the first mark. */
static void start_up_doubles(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 before, i;

	begin(test, 4, 10);
	for (i = 0; i < 3; i++) {
		before = window(env);
		turn(env, RTT, 0, 0);
		KUNIT_EXPECT_GE(test, window(env), before * 18 / 10);
		KUNIT_EXPECT_LE(test, window(env), before * 2);
	}
	turn(env, RTT, 0, 10);
	before = window(env);
	turn(env, RTT, 0, 0);
	KUNIT_EXPECT_LE(test, window(env), before + 2 * COST);
}

/* A packet a round trip for the connection, however many paths it has. */
static void growth_is_the_connections(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 before, i, k;

	for (k = 1; k <= 16; k *= 4) {
		begin(test, k, 10);
		set_windows(env, 160 * COST / k, false);
		turn(env, RTT, 0, 0);
		before = window(env);
		for (i = 0; i < 10; i++)
			turn(env, RTT, 0, 0);
		KUNIT_EXPECT_GE(test, window(env) - before, 8 * COST);
		KUNIT_EXPECT_LE(test, window(env) - before, 11 * COST);
	}
}

/* On long round trips it is a packet each 250 µs, or 10 ms would take minutes. */
static void long_round_trips_grow_faster(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 before;

	begin(test, 4, 10);
	set_windows(env, 160 * COST, false);
	env->tx.plane[0].base = 10 * MROCE_MSEC;
	for (before = 0; before < 4; before++)
		env->tx.path[before].srtt = 10 * MROCE_MSEC;
	turn(env, 10 * MROCE_MSEC, 0, 0);
	turn(env, 10 * MROCE_MSEC, 0, 0);
	before = window(env);
	turn(env, 10 * MROCE_MSEC, 0, 0);
	KUNIT_EXPECT_GE(test, window(env) - before, 35 * COST);
	KUNIT_EXPECT_LE(test, window(env) - before, 42 * COST);
}

/* Not where that is much of the window: no sign of congestion would keep up with it. */
static void slow_links_do_not_outgrow_their_queue(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 before, i;

	begin(test, 1, 10);
	set_windows(env, 8 * COST, false);
	env->tx.plane[0].base = 10 * MROCE_MSEC;
	env->tx.path[0].srtt = 10 * MROCE_MSEC;
	turn(env, 10 * MROCE_MSEC, 0, 0);
	before = window(env);
	turn(env, 10 * MROCE_MSEC, 0, 0);
	KUNIT_EXPECT_GE(test, window(env) - before, COST * 9 / 10);
	KUNIT_EXPECT_LE(test, window(env) - before, 2 * COST);
	/* and not at all where delay says that there is one */
	for (i = 0; i < 16; i++)
		turn(env, 25 * MROCE_MSEC, 0, 0);
	before = window(env);
	for (i = 0; i < 4; i++)
		turn(env, 25 * MROCE_MSEC, 0, 0);
	KUNIT_EXPECT_LT(test, window(env), before);
}

/* What the program does not fill does not grow, and falls to what is used. */
static void only_full_windows_grow(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 before, i;

	begin(test, 1, 10);
	before = window(env);
	for (i = 0; i < 20; i++) {
		tx_post(env, 0, MROCE_OP_WRITE, 10 * ENV_PSIZE);
		tx_pick_all(env);
		env->now += RTT;
		answer(env, RTT, 0, 0);
		tx_complete(env, 0);
	}
	KUNIT_EXPECT_LE(test, window(env), before);
}

/* Rule 17: in flight is at most twice what the last round trip delivered, and a train. */
static void twice_what_was_delivered(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	begin(test, 1, 10);
	set_windows(env, 600 * COST, true);
	for (i = 0; i < 2; i++) {
		tx_post(env, 0, MROCE_OP_WRITE, 50 * ENV_PSIZE);
		tx_pick_all(env);
		env->now += RTT;
		answer(env, RTT, 0, 0);
		tx_complete(env, 0);
	}
	KUNIT_EXPECT_LE(test, window(env),
			2 * 50 * COST + 10 * ENV_PSIZE + MROCE_TRAIN_MAX * MROCE_OVERHEAD);
	/* no sign of congestion: it may double again */
	KUNIT_EXPECT_LT(test, env->tx.path[0].cwnd, env->tx.path[0].ssthresh);
}

/* ---- what cuts (rules 17 and 34) ---- */

/* Half a packet for each marked one, and no more than half in a round trip. */
static void marks_take_half_a_packet(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 before;

	begin(test, 1, 10);
	set_windows(env, 100 * COST, false);
	turn(env, RTT, 0, 0);
	before = window(env);
	turn(env, RTT, 0, 10); /* 10 packets */
	KUNIT_EXPECT_LE(test, window(env), before - 4 * COST);
	KUNIT_EXPECT_GE(test, window(env), before - 6 * COST);
	before = window(env);
	turn(env, RTT, 0, 1);
	KUNIT_EXPECT_LE(test, window(env), before - before * 4 / 10);
	KUNIT_EXPECT_GE(test, window(env), before / 2);
}

/* Above 1 ms a round trip's packets are all marked before the first mark is heard of: an eighth. */
static void long_round_trips_are_cut_less(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 before;

	begin(test, 1, 10);
	set_windows(env, 100 * COST, false);
	env->tx.plane[0].base = 5 * MROCE_MSEC;
	env->tx.path[0].srtt = 5 * MROCE_MSEC;
	turn(env, 5 * MROCE_MSEC, 0, 50);
	before = window(env);
	turn(env, 5 * MROCE_MSEC, 0, 1);
	KUNIT_EXPECT_LT(test, window(env), before);
	KUNIT_EXPECT_GE(test, window(env), before - before / 8);
}

/* The same where windows are less than a train: what is not the path's own is its peers'. */
static void marks_count_on_lent_windows(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 before, i;

	begin(test, 16, 20);
	set_windows(env, 2 * COST, false);
	before = window(env);
	for (i = 0; i < 3; i++)
		turn(env, RTT, 0, 1);
	KUNIT_EXPECT_LE(test, window(env), before / 4);
	check_sums(test);
}

/*
 * Delay governs where no marks are seen, by an eighth a round trip; marks alone where they are,
 * until ten seconds of load went without.
 */
static void marks_or_delay_govern(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 before, i;

	begin(test, 1, 10);
	set_windows(env, 100 * COST, false);
	for (i = 0; i < 3; i++)
		turn(env, RTT, 0, 0);
	KUNIT_EXPECT_FALSE(test, mroce_cc_by_marks(&env->tx.path[0]));
	/* 1 ms is always allowed */
	for (i = 0; i < 30; i++)
		turn(env, MROCE_MSEC, 0, 0);
	KUNIT_EXPECT_GE(test, window(env), 100 * COST);
	for (i = 0; i < 20; i++)
		turn(env, 2 * MROCE_MSEC, 0, 0);
	before = window(env);
	turn(env, 2 * MROCE_MSEC, 0, 0);
	KUNIT_EXPECT_LE(test, window(env), before - before / 8 + 8 * COST);
	KUNIT_EXPECT_GE(test, window(env), before - before / 8);

	/* a mark now and then */
	turn(env, 2 * MROCE_MSEC, 0, 50);
	set_windows(env, 100 * COST, false);
	KUNIT_EXPECT_TRUE(test, mroce_cc_by_marks(&env->tx.path[0]));
	for (i = 0; i < 20; i++)
		turn(env, 2 * MROCE_MSEC, 0, 0);
	KUNIT_EXPECT_GE(test, window(env), 100 * COST);

	/* idle time is no load */
	env->now += 60 * SEC;
	turn(env, 2 * MROCE_MSEC, 0, 0);
	KUNIT_EXPECT_TRUE(test, mroce_cc_by_marks(&env->tx.path[0]));
	for (i = 0; i < 5100; i++)
		turn(env, 2 * MROCE_MSEC, 0, 0);
	KUNIT_EXPECT_FALSE(test, mroce_cc_by_marks(&env->tx.path[0]));
}

/*
 * A busy host, or packets that overtake each other, make some round trips long without a queue:
 * what all of the last ones have in common is a queue.
 */
static void unsteady_round_trips(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	begin(test, 1, 10);
	set_windows(env, 100 * COST, false);
	for (i = 0; i < 80; i++)
		turn(env, i % 4 ? 3 * MROCE_MSEC : RTT, 0, 0);
	KUNIT_EXPECT_GE(test, window(env), 100 * COST);
	for (i = 0; i < 40; i++)
		turn(env, 3 * MROCE_MSEC, 0, 0);
	KUNIT_EXPECT_LT(test, window(env), 80 * COST);
}

/* Where packets overtake each other the least round trip is that of few. */
static void overtaking_is_allowed_for(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u32 i, k;

	for (k = 0; k < 2; k++) {
		begin(test, 1, 10);
		set_windows(env, 100 * COST, false);
		p = &env->tx.path[0];
		for (i = 0; i < 160; i++) {
			p->threshold = k;
			p->threshold_at = env->now;
			turn(env, i % 16 ? (1 + i % 2) * 2 * MROCE_MSEC : RTT, 0, 0);
		}
		KUNIT_EXPECT_EQ(test, window(env) >= 100 * COST, k);
	}
}

/* A path that is new finds the queue that others have made: their base is its own too. */
static void base_is_the_planes(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 before, i;

	begin(test, 2, 10);
	turn(env, RTT, 0, 0);
	KUNIT_EXPECT_LE(test, env->tx.plane[0].base, RTT);
	mroce_path_epoch(&env->tx, &env->tx.path[1], env->now);
	counts[1] = (struct counts){ 0 };
	set_windows(env, 50 * COST, false);
	turn(env, 5 * MROCE_MSEC, 0, 0);
	KUNIT_EXPECT_LE(test, env->tx.plane[0].base, RTT);
	before = env->tx.path[1].cwnd;
	for (i = 0; i < 24; i++)
		turn(env, 5 * MROCE_MSEC, 0, 0);
	KUNIT_EXPECT_LE(test, env->tx.path[1].cwnd, before * 3 / 4);
}

/* A base that is old is seen again without a queue. Windows are afterwards what they were. */
static void base_is_seen_again(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_tx_plane *pl = &env->tx.plane[0];
	u32 i, before;

	begin(test, 2, 10);
	turn(env, 5 * MROCE_MSEC, 0, 0);
	pl->base = 4 * MROCE_MSEC;
	set_windows(env, 50 * COST, false);
	env->now = (div64_u64(env->now, 10 * SEC) + 1) * 10 * SEC;
	/* a round trip that is no proof of anything, with all windows in flight */
	turn(env, 7 * MROCE_MSEC, 0, 0);
	KUNIT_EXPECT_EQ(test, pl->base, 4 * MROCE_MSEC);
	before = window(env);
	/* what is in flight is waited for; then a packet at a time */
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, turn(env, 5 * MROCE_MSEC - i * RTT, 0, 0), 1);
		KUNIT_EXPECT_TRUE(test, env->x.data.flags & MROCE_F_ACKREQ);
	}
	KUNIT_EXPECT_GE(test, pl->base, 5 * MROCE_MSEC - 2 * RTT - 100);
	KUNIT_EXPECT_LE(test, pl->base, 5 * MROCE_MSEC - 2 * RTT);
	KUNIT_EXPECT_GE(test, window(env), before);
	feed(env);
	KUNIT_EXPECT_GT(test, tx_pick_all(env), 50);
}

/* While it is, what is lost holds it up no longer than a few probe timeouts. */
static void seeing_again_ends(struct kunit *test)
{
	struct tx_env *env = test->priv;

	begin(test, 1, 10);
	turn(env, RTT, 0, 0);
	set_windows(env, 50 * COST, false);
	env->now = (div64_u64(env->now, 10 * SEC) + 1) * 10 * SEC;
	feed(env);
	tx_pick_all(env);
	env->now += MROCE_MSEC;
	tx_ack_new(env, 0, counts[0].acked + 1);
	env->ack.packets = counts[0].packets + 1;
	env->ack.echo = (u32)((env->now - MROCE_MSEC) >> MROCE_STAMP_SHIFT);
	tx_ack(env);
	feed(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 0);
	KUNIT_EXPECT_LE(test, env->tx.timer, env->now + 20 * MROCE_MSEC);
	env->now += 20 * MROCE_MSEC;
	KUNIT_EXPECT_GT(test, tx_pick_all(env), 0);
	KUNIT_EXPECT_EQ(test, env->tx.plane[0].drain_until, 0);
}

/* Losses below 1/8 leave the window, more leave what was delivered. */
static void heavy_loss(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 before, i;

	begin(test, 1, 1);
	set_windows(env, 100 * COST, false);
	turn(env, RTT, 0, 0);
	for (i = 0; i < 10; i++)
		turn(env, RTT, 10, 0);
	KUNIT_EXPECT_GE(test, window(env), 100 * COST);
	before = window(env);
	turn(env, RTT, 4, 0);
	turn(env, RTT, 4, 0);
	KUNIT_EXPECT_LE(test, window(env), before * 80 / 100);
	KUNIT_EXPECT_GE(test, window(env), before * 50 / 100);
	/* what a train loses in one piece is one event */
	begin(test, 1, 8);
	set_windows(env, 24 * COST, false);
	turn(env, RTT, 0, 0);
	before = window(env);
	burst = 5;
	turn(env, RTT, 0, 0);
	KUNIT_EXPECT_GE(test, window(env), before);
}

/* Windows too small for a judgement of one round trip are judged over several. */
static void heavy_loss_of_small_windows(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	begin(test, 1, 1);
	set_windows(env, 6 * COST, false);
	for (i = 0; i < 20; i++)
		turn(env, RTT, 2, 0);
	KUNIT_EXPECT_LE(test, window(env), 3 * COST);
}

/* Many paths with little each: what all of them lose ends growth, until it is old. */
static void loss_of_all(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 before, i;

	begin(test, 1, 1);
	set_windows(env, 20 * COST, false);
	turn(env, RTT, 0, 0);
	before = window(env);
	for (i = 0; i < 5; i++)
		turn(env, RTT, 0, 0);
	KUNIT_EXPECT_GE(test, window(env), before + 4 * COST);
	/* by other paths: none of it is this one's */
	env->tx.recent = 1000;
	env->tx.recent_lost = 140;
	before = window(env);
	for (i = 0; i < 2; i++)
		turn(env, RTT, 0, 0);
	KUNIT_EXPECT_EQ(test, window(env), before);
	for (i = 0; i < 10; i++)
		turn(env, RTT, 0, 0);
	KUNIT_EXPECT_LT(test, env->tx.recent_lost * 8, env->tx.recent);
	KUNIT_EXPECT_GE(test, window(env), before + 4 * COST);
}

/* A network that marks everything has nothing to say: delay governs, and start-up goes on. */
static void all_marked(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, before;

	/* where there is a queue the marks may mean it */
	begin(test, 1, 4);
	turn(env, RTT, 0, 0);
	mroce_cc_epoch(&env->tx.path[0]);
	counts[0].packets = 0;
	for (i = 0; i < 60; i++) {
		turn(env, 5 * RTT, 0, 1);
		env->now += 100 * MROCE_MSEC;
	}
	KUNIT_EXPECT_EQ(test, env->tx.path[0].ecn, MROCE_ECN_TESTING);

	begin(test, 1, 4);
	mroce_cc_epoch(&env->tx.path[0]);
	counts[0].packets = 0;
	for (i = 0; i < 200; i++) {
		turn(env, RTT, 0, 1);
		/* below a packet, a round trip is not enough for the next */
		env->now += 100 * MROCE_MSEC;
		if (env->tx.path[0].ecn == MROCE_ECN_IGNORED)
			break;
	}
	KUNIT_ASSERT_EQ(test, env->tx.path[0].ecn, MROCE_ECN_IGNORED);
	before = window(env);
	for (i = 0; i < 40; i++)
		turn(env, RTT, 0, 1);
	KUNIT_EXPECT_GE(test, window(env), before + 20 * COST);
	KUNIT_EXPECT_FALSE(test, mroce_cc_by_marks(&env->tx.path[0]));
	/* a new epoch is another route */
	mroce_path_restart(&env->tx, &env->tx.path[0], env->now);
	KUNIT_EXPECT_EQ(test, env->tx.path[0].ecn, MROCE_ECN_TESTING);
}

/* Nothing ever came of packets that are ECT: they go as Not-ECT. */
static void ect_is_dropped(struct kunit *test)
{
	struct tx_env *env = test->priv;
	bool seen = false;
	u32 i;

	tx_env_restart(test, 1, 10 * ENV_PSIZE);
	tx_open_half(test);
	mroce_txs_open(&env->req[0], &(struct mroce_open){ .own_qpn = 1, .stream = ENV_OWN(0) },
		       env->now);
	for (i = 0; i < 100 && env->tx.path[0].ecn != MROCE_ECN_OFF; i++) {
		while (tx_pick(env))
			if (env->x.kind != MROCE_XMIT_HELLO)
				KUNIT_EXPECT_TRUE(test, env->x.ect);
		tx_timer(env, SEC);
	}
	KUNIT_ASSERT_EQ(test, env->tx.path[0].ecn, MROCE_ECN_OFF);
	for (i = 0; i < 10; i++) {
		while (tx_pick(env)) {
			KUNIT_EXPECT_FALSE(test, env->x.ect);
			seen = true;
		}
		tx_timer(env, SEC);
	}
	KUNIT_EXPECT_TRUE(test, seen);
}

/* ---- the floor and pacing (rule 19) ---- */

/* However often it is cut, a connection keeps one packet, not one a path, in flight. */
static void floor_is_the_connections(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, paths = 0, n;

	begin(test, 16, 20);
	for (i = 0; i < 40; i++) {
		turn(env, RTT, 0, 1);
		env->now += 100 * MROCE_MSEC;
	}
	KUNIT_EXPECT_LT(test, window(env), COST);
	for (i = 0; i < 64; i++) {
		feed(env);
		n = tx_pick_all(env);
		KUNIT_EXPECT_EQ(test, n, 1);
		paths |= BIT(env->x.path);
		env->now += 100 * MROCE_MSEC;
		answer(env, RTT, 0, 1);
	}
	/* and they take turns */
	KUNIT_EXPECT_EQ(test, paths, 0xffff);
}

/* Below one packet a round trip the window is a rate; it grows by a part of itself. */
static void below_a_packet_is_a_rate(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u64 wait;

	begin(test, 4, 20);
	turn(env, RTT, 0, 3);
	set_windows(env, COST / 32, false); /* an eighth of a packet in all */
	env->paced = true;
	env->now += 100 * MROCE_MSEC;
	feed(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 1);
	env->now += RTT;
	answer(env, RTT, 0, 0);
	feed(env);
	env->tx.timer = MROCE_NEVER;
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 0);
	wait = env->tx.timer - env->now;
	KUNIT_EXPECT_GE(test, wait, 2 * RTT);
	KUNIT_EXPECT_LE(test, wait, 8 * RTT);
	env->now = env->tx.timer;
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 1);
	KUNIT_EXPECT_LE(test, window(env), COST / 2);
}

/* A window that opens at once leaves two trains at a time, or 1 ms of its rate. */
static void bursts_are_bounded(struct kunit *test)
{
	struct tx_env *env = test->priv;

	begin(test, 1, 10);
	turn(env, 10 * MROCE_MSEC, 0, 0);
	set_windows(env, 200 * COST, false);
	env->paced = true;
	env->now += 100 * MROCE_MSEC;
	feed(env);
	env->tx.timer = MROCE_NEVER;
	/* twice 200 packets in 10 ms: 40 in 1 ms, but two trains are 20 */
	KUNIT_EXPECT_LE(test, tx_pick_all(env), 40);
	KUNIT_EXPECT_LE(test, env->tx.timer, env->now + MROCE_MSEC);
	env->now = env->tx.timer;
	KUNIT_EXPECT_GT(test, tx_pick_all(env), 0);
}

/* ---- the receiver's share ---- */

/* Sends for @ms as the timers say, with the ACKs a round trip later; returns the bytes. */
static u64 run(struct tx_env *env, u32 ms)
{
	u64 until = env->now + ms * MROCE_MSEC, bytes = 0, ack_at = env->now + RTT;

	while (env->now < until) {
		feed(env);
		while (tx_pick_data(env))
			bytes += env->x.bytes + env->x.count * MROCE_OVERHEAD;
		env->now = min3(ack_at, max(env->tx.timer, env->now + 1), until);
		if (env->now >= env->tx.timer)
			mroce_tx_timer(&env->tx, env->now);
		if (env->now >= ack_at) {
			answer(env, RTT, 0, 0);
			ack_at = env->now + RTT;
		}
	}
	return bytes;
}

/* The share is the rate, whatever the windows; without one they alone count. */
static void share_caps_the_rate(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u64 bytes;

	begin(test, 4, 10);
	set_windows(env, 60 * COST, false);
	env->paced = true;
	turn(env, RTT, 0, 0);
	run(env, 1);
	KUNIT_EXPECT_TRUE(test, env->x.data.flags & MROCE_F_HELD_BACK);
	share = 100 << 10; /* 100 MiB/s, of 2.7 GB/s that the windows would give */
	turn(env, RTT, 0, 0);
	bytes = run(env, 20);
	KUNIT_EXPECT_GE(test, bytes, (20 * 104857600ULL / 1000) * 95 / 100);
	KUNIT_EXPECT_LE(test, bytes, (20 * 104857600ULL / 1000) * 103 / 100 + 40 * COST);
	/* it was not the window: no growth, and the packets do not say so */
	KUNIT_EXPECT_FALSE(test, env->x.data.flags & MROCE_F_HELD_BACK);
	KUNIT_EXPECT_LE(test, window(env), 260 * COST);
	share = 0;
	turn(env, RTT, 0, 0);
	bytes = run(env, 20);
	KUNIT_EXPECT_GE(test, bytes, 2 * (20 * 104857600ULL / 1000));
	KUNIT_EXPECT_TRUE(test, env->x.data.flags & MROCE_F_HELD_BACK);
}

/* A share below a packet a round trip is kept too. */
static void tiny_share(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u64 bytes;

	begin(test, 4, 10);
	env->paced = true;
	share = 1024; /* 1 MiB/s: a packet in 1.07 ms */
	turn(env, RTT, 0, 0);
	run(env, 20);
	bytes = run(env, 200);
	KUNIT_EXPECT_GE(test, bytes, 180 * COST);
	KUNIT_EXPECT_LE(test, bytes, 200 * COST);
}

/* The first share sets the windows of start-up at once. */
static void first_share_sets_the_window(struct kunit *test)
{
	struct tx_env *env = test->priv;

	begin(test, 4, 10);
	turn(env, RTT, 0, 0);
	share = 5 << 20; /* 5 GiB/s × 100 µs = 536 KB */
	turn(env, RTT, 0, 0);
	KUNIT_EXPECT_GE(test, window(env), 500000);
}

/* Silence ends a share; then the allowance is all that may go before the next ACK. */
static void share_expires(struct kunit *test)
{
	struct tx_env *env = test->priv;

	begin(test, 4, 10);
	share = 1 << 20;
	allowance = 5 * COST;
	turn(env, RTT, 0, 0);
	feed(env);
	/* within the time the share holds */
	env->now += 200 * MROCE_USEC;
	KUNIT_EXPECT_GT(test, tx_pick_all(env), 20);
	env->now += RTT;
	answer(env, RTT, 0, 0);
	env->now += 300 * MROCE_USEC;
	feed(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 5);
	KUNIT_EXPECT_TRUE(test, env->x.data.flags & MROCE_F_ACKREQ);
	env->now += RTT;
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 0);
	answer(env, RTT, 0, 0);
	KUNIT_EXPECT_GT(test, tx_pick_all(env), 20);
}

/* Until anything is heard 64 KiB may go, over all paths together. */
static void first_flight(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	begin(test, 16, 10);
	env->tx.plane[0].heard = false;
	set_windows(env, 100 * COST, true);
	feed(env);
	i = tx_pick_all(env);
	KUNIT_EXPECT_LE(test, i, 65536 / COST + 1);
	KUNIT_EXPECT_GE(test, i, 65536 / COST - 1);
}

/* Rule 53: each probe timeout without an ACK halves the share, once for all paths. */
static void share_halves(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	begin(test, 4, 10);
	share = 1 << 20;
	allowance = 40 * COST;
	for (i = 0; i < 5; i++)
		turn(env, RTT, 0, 0);
	feed(env);
	tx_pick_all(env);
	KUNIT_EXPECT_EQ(test, env->tx.plane[0].share, 1 << 20);
	while (env->tx.path[3].timeouts < 1)
		KUNIT_ASSERT_TRUE(test, tx_timer(env, 2 * MROCE_MSEC));
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, env->tx.path[i].timeouts, 1);
	KUNIT_EXPECT_EQ(test, env->tx.plane[0].share, 1 << 19);
}

static struct kunit_case cases[] = { KUNIT_CASE(planes_share_paths),
				     KUNIT_CASE(start_up_doubles),
				     KUNIT_CASE(growth_is_the_connections),
				     KUNIT_CASE(long_round_trips_grow_faster),
				     KUNIT_CASE(slow_links_do_not_outgrow_their_queue),
				     KUNIT_CASE(only_full_windows_grow),
				     KUNIT_CASE(twice_what_was_delivered),
				     KUNIT_CASE(marks_take_half_a_packet),
				     KUNIT_CASE(long_round_trips_are_cut_less),
				     KUNIT_CASE(marks_count_on_lent_windows),
				     KUNIT_CASE(marks_or_delay_govern),
				     KUNIT_CASE(unsteady_round_trips),
				     KUNIT_CASE(overtaking_is_allowed_for),
				     KUNIT_CASE(base_is_the_planes),
				     KUNIT_CASE(base_is_seen_again),
				     KUNIT_CASE(seeing_again_ends),
				     KUNIT_CASE(heavy_loss),
				     KUNIT_CASE(heavy_loss_of_small_windows),
				     KUNIT_CASE(loss_of_all),
				     KUNIT_CASE(all_marked),
				     KUNIT_CASE(ect_is_dropped),
				     KUNIT_CASE(floor_is_the_connections),
				     KUNIT_CASE(below_a_packet_is_a_rate),
				     KUNIT_CASE(bursts_are_bounded),
				     KUNIT_CASE(share_caps_the_rate),
				     KUNIT_CASE(tiny_share),
				     KUNIT_CASE(first_share_sets_the_window),
				     KUNIT_CASE(share_expires),
				     KUNIT_CASE(first_flight),
				     KUNIT_CASE(share_halves),
				     {} };

struct kunit_suite mroce_cc_suite = {
	.name = "mroce_cc",
	.init = tx_env_init,
	.exit = tx_env_exit,
	.test_cases = cases,
};
