// SPDX-License-Identifier: GPL-2.0
/*
 * Paths of a sending half: what makes them suspect, what makes them fail, what a failed one does,
 * how it comes back, and what size it passes. First call by call, then over the simulated network.
 */
#include "suites.h"
#include "scenario.h"
#include "tx_env.h"

#define MSEC MROCE_MSEC

/* ---- call by call ---- */

static void single(struct kunit *test, u8 npaths)
{
	struct tx_env *env = test->priv;

	tx_env_restart(test, npaths, ENV_PSIZE);
	tx_open(test, 0);
	env->req[0].timeout = 0;
	env->req[0].window = 256;
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
}

/* Packets of @psize, every one by itself. */
static void large(struct kunit *test, u8 npaths, u16 psize)
{
	struct tx_env *env = test->priv;

	tx_env_restart(test, npaths, psize);
	env->tx.hello.max_payload = psize;
	env->hello_ack.max_payload = psize;
	tx_open(test, 0);
	env->req[0].timeout = 0;
	KUNIT_EXPECT_EQ(test, env->tx.agreed, psize);
}

static void ack_path(struct tx_env *env, u8 path)
{
	struct mroce_txpath *p = &env->tx.path[path];

	if (p->next == 1)
		return;
	tx_ack_new(env, path, p->next - 1);
	tx_ack(env);
}

/* posts until @path has something in flight; the others' is acknowledged */
static void load(struct kunit *test, u8 path)
{
	struct tx_env *env = test->priv;
	u32 i, k;

	for (i = 0; i < 512; i++) {
		tx_complete(env, 0);
		tx_post(env, 0, MROCE_OP_WRITE, 100);
		tx_pick_all(env);
		for (k = 0; k < env->tx.npaths; k++)
			if (k != path)
				ack_path(env, k);
		if (env->tx.path[path].inflight)
			return;
	}
	KUNIT_FAIL(test, "path %u gets no data", path);
}

/* The next timer of this path; what it sends is sent. Probes go to @probes, by padding. */
static u32 next_timeout(struct kunit *test, u8 path, u16 *length, u32 max)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p = &env->tx.path[path];
	u64 at = p->probe_at;
	u32 n = 0;

	KUNIT_ASSERT_NE(test, at, MROCE_NEVER);
	env->now = max(env->now, at);
	mroce_tx_timer(&env->tx, env->now);
	while (tx_pick(env))
		if (env->x.kind == MROCE_XMIT_PROBE && env->x.path == path && n < max)
			length[n++] = env->x.control.length;
	return n;
}

static void suspect(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u16 length[8];
	u32 i, old;

	single(test, 2);
	p = &env->tx.path[0];
	load(test, 0);
	old = p->next - 1;
	KUNIT_EXPECT_EQ(test, next_timeout(test, 0, length, 8), 2);
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_SUSPECT);
	/* no new data, while another path is usable */
	for (i = 0; i < 5; i++) {
		tx_post(env, 0, MROCE_OP_WRITE, 100);
		while (tx_pick_data(env))
			KUNIT_EXPECT_EQ(test, env->x.path, 1);
		ack_path(env, 1);
	}
	KUNIT_EXPECT_EQ(test, env->tx.stats.path_suspect, 1);
	/* any ACK will do, also one that says nothing new */
	p->high = p->next - 1;
	for (i = p->head; i != p->tail; i++)
		if (p->sent[i & p->mask].number <= old)
			p->sent[i & p->mask].open = 0;
	tx_ack_new(env, 0, old);
	KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_NONE);
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_ACTIVE);
	KUNIT_EXPECT_GT(test, p->timeouts, 0);
	KUNIT_EXPECT_EQ(test, env->tx.stats.path_recovered, 0);
}

/* When all are SUSPECT the best stays usable; what is down never is. */
static void all_suspect(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u16 length[8];
	u32 i;

	single(test, 3);
	for (i = 0; i < 3; i++)
		load(test, i);
	for (i = 0; i < 3; i++)
		tx_post(env, 0, MROCE_OP_WRITE, 100);
	tx_pick_all(env);
	next_timeout(test, 0, length, 8);
	next_timeout(test, 1, length, 8);
	next_timeout(test, 2, length, 8);
	next_timeout(test, 0, length, 8);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, env->tx.path[i].state, MROCE_PATH_SUSPECT);
	env->tx.path[1].timeouts = 2;
	env->tx.path[2].timeouts = 1;
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.path, 2);
	mroce_tx_plane_down(&env->tx, 0, env->now);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
	mroce_tx_plane_up(&env->tx, 0, env->now);
	KUNIT_EXPECT_TRUE(test, tx_pick_data(env));
}

/* Round trips longer than the cap of the doubling: nothing is asked before they are over. */
static void long_round_trips(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u16 length[8];
	u64 sent;
	u32 i;

	single(test, 1);
	p = &env->tx.path[0];
	p->srtt = 800 * MSEC;
	p->rttvar = 0;
	load(test, 0);
	for (i = 0; i < 3; i++) {
		sent = env->now;
		/* the second in a row leaves a window of a packet, and then one probe is enough */
		KUNIT_EXPECT_EQ(test, next_timeout(test, 0, length, 8), i < 2 ? 2 : 1);
		KUNIT_EXPECT_GE(test, env->now - sent, 800 * MSEC);
		KUNIT_EXPECT_LE(test, env->now - sent, 801 * MSEC);
	}
}

/*
 * A path that is used now and then does not know what its peers have seen meanwhile: it waits as
 * long as they did. What another plane takes is not its matter.
 */
static void peers_round_trips(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u64 alone;
	u32 i;

	single(test, 4);
	mroce_tx_planes(&env->tx, 2);
	for (i = 0; i < 100; i++)
		mroce_path_rtt(&env->tx, &env->tx.path[0], 200 * MROCE_USEC);
	alone = mroce_path_patience(&env->tx, &env->tx.path[0]);
	for (i = 0; i < 100; i++)
		mroce_path_rtt(&env->tx, &env->tx.path[1], 20 * MSEC);
	KUNIT_EXPECT_EQ(test, mroce_path_patience(&env->tx, &env->tx.path[0]), alone);
	for (i = 0; i < 100; i++)
		mroce_path_rtt(&env->tx, &env->tx.path[2], 5 * MSEC);
	KUNIT_EXPECT_GE(test, mroce_path_patience(&env->tx, &env->tx.path[0]), 5 * MSEC);
	KUNIT_EXPECT_LE(test, mroce_path_patience(&env->tx, &env->tx.path[0]), 6 * MSEC);
	/* it is not slow for that: only an answer of its own says what its own round trip is */
	KUNIT_EXPECT_LE(test, env->tx.path[0].srtt, 210 * MROCE_USEC);
	/* without a path in it a plane says nothing */
	mroce_tx_plane_down(&env->tx, 0, env->now);
	KUNIT_EXPECT_EQ(test, mroce_path_patience(&env->tx, &env->tx.path[0]), alone);
}

/* What asks for its ACK does not wait for one that is kept back; but a host may be busy. */
static void asked_for(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;

	single(test, 1);
	p = &env->tx.path[0];
	tx_post(env, 0, MROCE_OP_WRITE, 100)->note |= MROCE_MSG_LAZY;
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_ASSERT_FALSE(test, env->x.data.flags & MROCE_F_ACKREQ);
	p->srtt = 5 * MSEC;
	p->rttvar = 100 * MROCE_USEC;
	env->tx.plane[0].srtt = (struct mroce_srtt){ 0 };
	mroce_path_arm(&env->tx, p);
	KUNIT_EXPECT_EQ(test, p->probe_at, env->now + 5600 * MROCE_USEC);
	/* the one behind it asks, for both */
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_ASSERT_TRUE(test, env->x.data.flags & MROCE_F_ACKREQ);
	KUNIT_EXPECT_EQ(test, p->probe_at, env->now + 5400 * MROCE_USEC);
	p->rttvar = 0;
	KUNIT_EXPECT_EQ(test, mroce_path_pto(&env->tx, p), 5200 * MROCE_USEC);
	p->srtt = 10 * MROCE_USEC;
	KUNIT_EXPECT_EQ(test, mroce_path_pto(&env->tx, p), MSEC);
}

/* Data that go by a SUSPECT path, for none is ACTIVE, leave its round as long as it is. */
static void data_shorten_no_round(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u16 length[8];

	single(test, 1);
	p = &env->tx.path[0];
	load(test, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 100)->note |= MROCE_MSG_LAZY;
	env->now += 100 * MROCE_USEC;
	KUNIT_ASSERT_EQ(test, tx_pick_all(env), 1);
	KUNIT_ASSERT_FALSE(test, p->asked);
	next_timeout(test, 0, length, 8);
	KUNIT_ASSERT_EQ(test, p->state, MROCE_PATH_SUSPECT);
	/* the oldest went again */
	KUNIT_ASSERT_TRUE(test, p->asked);
	KUNIT_EXPECT_EQ(test, p->probe_at, env->now + mroce_path_pto(&env->tx, p));
}

/*
 * When everything is silent one path asks at a time, not always the same; the first answer
 * makes the others ask for themselves.
 */
static void one_asks_for_all(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, asked = 0, rounds = 0, probes = 0;
	u64 at = 0, gap = 0;

	single(test, 8);
	for (i = 0; i < 8; i++)
		env->tx.path[i].srtt = MSEC;
	for (i = 0; i < 16; i++)
		tx_post(env, 0, MROCE_OP_WRITE, 100);
	tx_pick_all(env);
	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_NE(test, env->tx.path[i].inflight, 0);
	while (rounds < 12) {
		u32 before = probes;

		KUNIT_ASSERT_TRUE(test, tx_timer(env, 1000 * MSEC));
		while (tx_pick(env)) {
			if (env->x.kind != MROCE_XMIT_PROBE)
				continue;
			asked |= BIT(env->x.path);
			probes++;
		}
		if (probes == before)
			continue;
		KUNIT_EXPECT_EQ(test, probes - before, rounds < 2 ? 2 : 1);
		if (rounds++)
			KUNIT_EXPECT_GE(test, env->now - at, min(gap, 100 * MSEC));
		gap = rounds > 1 ? env->now - at : 0;
		at = env->now;
	}
	KUNIT_EXPECT_GE(test, hweight32(asked), 6);
	KUNIT_EXPECT_GE(test, gap, 64 * MSEC);
	ack_path(env, 3);
	for (i = 0; i < 8; i++)
		if (env->tx.path[i].state == MROCE_PATH_SUSPECT)
			KUNIT_EXPECT_LE(test, env->tx.path[i].probe_at,
					env->now + mroce_path_patience(&env->tx, &env->tx.path[3]));
}

/* Of two paths the other one delivers, until @n transmissions of @p are unanswered. */
static void unanswered(struct kunit *test, struct mroce_txpath *p, u32 n)
{
	struct tx_env *env = test->priv;
	u32 i;

	for (i = 0; i < 2 * n || p->unanswered < n; i++) {
		env->now += 1000;
		tx_post(env, 0, MROCE_OP_WRITE, 100);
		tx_pick_all(env);
		ack_path(env, 1);
		tx_complete(env, 0);
		KUNIT_ASSERT_TRUE(test, i < 100);
	}
}

/*
 * Three timeouts and silence are not enough: others must deliver meanwhile, and the loss that is
 * seen must not explain it.
 */
static void what_fails(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 loss, timeouts[3], i;
	struct mroce_txpath *p;
	u16 length[8];
	u64 quiet;

	for (loss = 0; loss < 3; loss++) {
		single(test, 2);
		p = &env->tx.path[0];
		load(test, 0);
		quiet = p->quiet_since;
		for (i = 1; i < 40; i++) {
			env->tx.recent_sent = 1000;
			env->tx.recent_gone = loss * 100;
			next_timeout(test, 0, length, 8);
			if (p->state == MROCE_PATH_FAILED)
				break;
			KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_SUSPECT);
			tx_post(env, 0, MROCE_OP_WRITE, 100);
			tx_pick_all(env);
			ack_path(env, 1);
			tx_complete(env, 0);
		}
		timeouts[loss] = i;
		KUNIT_EXPECT_GE(test, env->now - quiet, 5 * MSEC);
		KUNIT_EXPECT_EQ(test, p->inflight, 0);
		KUNIT_EXPECT_EQ(test, p->head, p->tail);
	}
	/* 1 + 2 + 2 transmissions without loss; 9 and 14 (of 0.2 and 0.4) with it */
	KUNIT_EXPECT_EQ(test, timeouts[0], 3);
	KUNIT_EXPECT_EQ(test, timeouts[1], 5);
	KUNIT_EXPECT_EQ(test, timeouts[2], 9);
	/* two are not enough, however much is unanswered */
	single(test, 2);
	p = &env->tx.path[0];
	p->srtt = 10 * MSEC;
	load(test, 0);
	unanswered(test, p, 10);
	for (i = 1; i <= 3; i++) {
		next_timeout(test, 0, length, 8);
		KUNIT_EXPECT_EQ(test, p->state, i < 3 ? MROCE_PATH_SUSPECT : MROCE_PATH_FAILED);
	}
	/* nor are three within 5 ms, which the doubling of timeouts alone would not allow */
	single(test, 2);
	p = &env->tx.path[0];
	load(test, 0);
	unanswered(test, p, 10);
	p->timeouts = 2;
	p->probe_at = p->quiet_since + 4 * MSEC;
	KUNIT_ASSERT_GE(test, p->probe_at, env->now + MSEC);
	next_timeout(test, 0, length, 8);
	KUNIT_EXPECT_EQ(test, p->timeouts, 3);
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_SUSPECT);
	next_timeout(test, 0, length, 8);
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_FAILED);
	/* nobody delivers what was sent after the silence began */
	single(test, 2);
	load(test, 0);
	for (i = 0; i < 12; i++)
		next_timeout(test, 0, length, 8);
	KUNIT_EXPECT_EQ(test, env->tx.path[0].state, MROCE_PATH_SUSPECT);
}

/* brings @path into FAILED; the others deliver */
static void fail(struct kunit *test, u8 path)
{
	struct tx_env *env = test->priv;
	u16 length[8];
	u32 i, k;

	load(test, path);
	for (i = 0; i < 10 && env->tx.path[path].state != MROCE_PATH_FAILED; i++) {
		next_timeout(test, path, length, 8);
		tx_post(env, 0, MROCE_OP_WRITE, 100);
		tx_pick_all(env);
		for (k = 0; k < env->tx.npaths; k++)
			if (k != path)
				ack_path(env, k);
		tx_complete(env, 0);
	}
	KUNIT_ASSERT_EQ(test, env->tx.path[path].state, MROCE_PATH_FAILED);
}

/* Everything unacknowledged leaves a path when it fails, and travels again by the others. */
static void evacuation(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, n = 0;

	single(test, 2);
	mroce_cc_window(&env->tx, &env->tx.path[0], 1 << 20);
	for (i = 0; i < 20; i++)
		tx_post(env, 0, MROCE_OP_WRITE, 100);
	tx_pick_all(env);
	KUNIT_EXPECT_GT(test, env->tx.path[0].inflight, 1000);
	ack_path(env, 1);
	mroce_tx_plane_down(&env->tx, 0, env->now); /* both, so that nothing else sends */
	KUNIT_EXPECT_EQ(test, env->tx.path[0].inflight, 0);
	KUNIT_EXPECT_EQ(test, env->tx.stats.path_failed, 2);
	env->tx.path[1].down = false;
	mroce_cc_window(&env->tx, &env->tx.path[1], 1 << 20);
	while (tx_pick_data(env)) {
		KUNIT_EXPECT_EQ(test, env->x.path, 1);
		KUNIT_EXPECT_TRUE(test, env->x.resend);
		n++;
	}
	KUNIT_EXPECT_EQ(test, n, 10);
	ack_path(env, 1);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 20);
}

/*
 * Probes: three a round, as large as packets may be but for one; 10 ms, doubling to 500 ms; another
 * source port after four rounds.
 */
static void probing(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u64 wait = 10 * MSEC, before;
	struct mroce_txpath *p;
	u16 length[8];
	u32 i, epoch;

	large(test, 2, 8192);
	p = &env->tx.path[0];
	fail(test, 0);
	p->marks_seen = true;
	p->srtt = 5 * MSEC;
	epoch = p->epoch;
	for (i = 0; i < 12; i++) {
		before = env->now;
		KUNIT_EXPECT_EQ(test, next_timeout(test, 0, length, 8), 3);
		KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_PROBING);
		KUNIT_EXPECT_EQ(test, length[0], 8192);
		KUNIT_EXPECT_EQ(test, length[1], 8192);
		KUNIT_EXPECT_EQ(test, length[2], 1264);
		KUNIT_EXPECT_EQ(test, p->inflight, 3 * MROCE_OVERHEAD);
		KUNIT_EXPECT_EQ(test, env->now - before, wait);
		if (i)
			wait = min(2 * wait, 500 * MSEC);
		KUNIT_EXPECT_EQ(test, p->epoch, epoch + i / 4);
		if (i == 4) {
			KUNIT_EXPECT_EQ(test, p->next, 4);
			KUNIT_EXPECT_EQ(test, p->srtt, 0);
			KUNIT_EXPECT_FALSE(test, p->marks_seen);
		}
	}
	KUNIT_EXPECT_EQ(test, env->tx.stats.path_redrawn, 2);
	/* an answer of the port before is none of this epoch */
	tx_ack_new(env, 0, 3);
	env->ack.base.epoch--;
	KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_RX_PATH);
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_PROBING);
	mroce_cc_window(&env->tx, p, 5000);
	ack_path(env, 0);
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_ACTIVE);
	KUNIT_EXPECT_GT(test, p->cwnd, 5000);
	KUNIT_EXPECT_EQ(test, env->tx.stats.path_recovered, 1);
	load(test, 0);
}

/* An 8-bit epoch must stay comparable with the last that the receiver has seen. */
static void epochs_are_bounded(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u16 length[8];
	u32 i;

	single(test, 2);
	p = &env->tx.path[0];
	fail(test, 0);
	for (i = 0; i < 1000; i++)
		next_timeout(test, 0, length, 8);
	KUNIT_EXPECT_EQ(test, p->epoch, 100);
	ack_path(env, 0);
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_ACTIVE);
	fail(test, 0);
	for (i = 0; i < 8; i++)
		next_timeout(test, 0, length, 8);
	KUNIT_EXPECT_EQ(test, p->epoch, 101);
}

/* After the first answer the others of the plane are asked at the pace of round trips. */
static void others_follow(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u16 length[8];
	u64 healed;
	u32 i, k;

	single(test, 6);
	env->tx.nplanes = 2;
	for (i = 3; i < 6; i++) {
		mroce_plane_leave(&env->tx, &env->tx.path[i]);
		env->tx.path[i].plane = 1;
		mroce_plane_join(&env->tx, &env->tx.path[i]);
		load(test, i);
	}
	mroce_tx_plane_down(&env->tx, 1, env->now);
	for (i = 0; i < 6; i++) {
		struct mroce_txpath *p = &env->tx.path[i];

		KUNIT_EXPECT_EQ(test, p->state, i < 3 ? MROCE_PATH_ACTIVE : MROCE_PATH_FAILED);
		if (i >= 3)
			KUNIT_EXPECT_EQ(test, p->probe_at, MROCE_NEVER);
	}
	env->now += 1000 * MSEC;
	mroce_tx_timer(&env->tx, env->now);
	while (tx_pick(env))
		KUNIT_EXPECT_LT(test, env->x.path, 3);
	/* at once, when the carrier is back */
	mroce_tx_plane_up(&env->tx, 1, env->now);
	for (k = 0, i = 0; tx_pick(env);) {
		KUNIT_EXPECT_EQ(test, env->x.kind, MROCE_XMIT_PROBE);
		i |= BIT(env->x.path);
		k++;
	}
	KUNIT_EXPECT_EQ(test, i, BIT(3));
	KUNIT_EXPECT_EQ(test, k, 3);
	env->now += 300 * MROCE_USEC;
	ack_path(env, 3);
	KUNIT_EXPECT_EQ(test, env->tx.path[3].state, MROCE_PATH_ACTIVE);
	healed = env->now;
	for (i = 4; i < 6; i++) {
		KUNIT_EXPECT_EQ(test, next_timeout(test, i, length, 8), 3);
		KUNIT_EXPECT_LE(test, env->now - healed, (i - 3) * MSEC);
		ack_path(env, i);
		KUNIT_EXPECT_EQ(test, env->tx.path[i].state, MROCE_PATH_ACTIVE);
	}
	KUNIT_EXPECT_EQ(test, env->tx.stats.path_recovered, 3);
	KUNIT_EXPECT_NE(test, env->tx.changed & BIT(5), 0);
}

/*
 * Of a plane that nothing is known of one path asks at a time, with one small PROBE, each in its
 * turn; the first answer makes all of them ACTIVE. Once it was in use a round is as of any path
 * that failed, and still that of one path.
 */
static void dark_plane(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_tx *tx = &env->tx;
	u64 wait = 10 * MSEC, before;
	u32 i, k, asked = 4;

	large(test, 8, 8192);
	for (i = 4; i < 8; i++)
		mroce_tx_path_move(tx, i, 1, false, env->now);
	for (k = 0; k < 12; k++) {
		KUNIT_ASSERT_TRUE(test, tx_pick(env));
		KUNIT_EXPECT_EQ(test, env->x.kind, MROCE_XMIT_PROBE);
		KUNIT_EXPECT_EQ(test, env->x.path, asked);
		KUNIT_EXPECT_EQ(test, env->x.control.length, 0);
		KUNIT_EXPECT_FALSE(test, tx_pick(env));
		for (i = 4; i < 8; i++)
			KUNIT_EXPECT_EQ(test, tx->path[i].state, MROCE_PATH_PROBING);
		before = env->now;
		for (env->now += wait - 1; k < 11; env->now++) {
			mroce_tx_timer(tx, env->now);
			if (env->now == before + wait)
				break;
			KUNIT_EXPECT_FALSE(test, tx_pick(env));
		}
		wait = min(2 * wait, 500 * MSEC);
		asked = asked == 7 ? 4 : asked + 1;
	}
	ack_path(env, 7);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
	for (i = 4; i < 8; i++)
		KUNIT_EXPECT_EQ(test, tx->path[i].state, MROCE_PATH_ACTIVE);
	KUNIT_EXPECT_EQ(test, tx->plane[1].npaths, 4);
	/* what the others have asked is not forgotten */
	for (i = 4; i < 7; i++) {
		KUNIT_EXPECT_NE(test, tx->path[i].inflight, 0);
		KUNIT_EXPECT_NE(test, tx->path[i].probe_at, MROCE_NEVER);
	}

	mroce_tx_plane_down(tx, 1, env->now);
	mroce_tx_plane_up(tx, 1, env->now);
	for (wait = 10 * MSEC, k = 0; k < 8; k++, wait = min(2 * wait, 500 * MSEC)) {
		for (i = 0; i < 3; i++) {
			KUNIT_ASSERT_TRUE(test, tx_pick(env));
			KUNIT_EXPECT_EQ(test, env->x.path, 4 + k % 4);
			KUNIT_EXPECT_EQ(test, env->x.control.length, i < 2 ? 8192 : 1264);
		}
		KUNIT_EXPECT_FALSE(test, tx_pick(env));
		env->now += wait;
		mroce_tx_timer(tx, env->now);
	}
}

/* What is posted when every plane is down is never transmitted, and still has its deadline. */
static void severed(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txs *txs = &env->req[0];
	u32 i;

	single(test, 2);
	txs->timeout = 600 * MSEC;
	mroce_tx_plane_down(&env->tx, 0, env->now);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	KUNIT_EXPECT_EQ(test, tx_pick(env), 0);
	for (i = 0; i < 60; i++) {
		env->now += 10 * MSEC;
		mroce_tx_timer(&env->tx, env->now);
		KUNIT_EXPECT_EQ(test, tx_pick(env), 0);
	}
	KUNIT_EXPECT_FALSE(test, txs->failed);
	for (i = 0; i < 400 && !txs->failed; i++) {
		env->now += 10 * MSEC;
		mroce_tx_timer(&env->tx, env->now);
	}
	KUNIT_EXPECT_TRUE(test, txs->failed);
	KUNIT_EXPECT_EQ(test, txs->fail_reason, MROCE_REASON_ERR_RETRY);
}

/* A path that goes to another plane starts a new epoch there, and carries data when it answered. */
static void moves(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u32 i;

	single(test, 2);
	p = &env->tx.path[0];
	load(test, 0);
	mroce_tx_path_move(&env->tx, 0, 3, false, env->now);
	KUNIT_EXPECT_EQ(test, p->plane, 3);
	KUNIT_EXPECT_EQ(test, p->epoch, 1);
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_PROBING);
	KUNIT_EXPECT_EQ(test, p->inflight, 0);
	for (i = 0; i < 8; i++)
		tx_post(env, 0, MROCE_OP_WRITE, 100);
	while (tx_pick(env)) {
		KUNIT_EXPECT_EQ(test, env->x.path, env->x.kind == MROCE_XMIT_DATA);
		KUNIT_EXPECT_EQ(test, env->x.plane, env->x.kind == MROCE_XMIT_DATA ? 0 : 3);
	}
	ack_path(env, 1);
	ack_path(env, 0);
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_ACTIVE);
	tx_complete(env, 0);
	load(test, 0);
	/* without a carrier there it waits for one */
	mroce_tx_path_move(&env->tx, 0, 4, true, env->now);
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_FAILED);
	KUNIT_EXPECT_EQ(test, p->probe_at, MROCE_NEVER);
	mroce_tx_plane_up(&env->tx, 4, env->now);
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_PROBING);
}

/* What a path lost twice goes by another one. */
static void second_loss(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, first, spn;

	single(test, 2);
	for (i = 0; i < 6; i++)
		tx_post(env, 0, MROCE_OP_WRITE, 100);
	first = env->tx.path[0].next;
	tx_pick_all(env);
	spn = env->tx.path[0].sent[env->tx.path[0].head & env->tx.path[0].mask].spn;
	tx_ack_new(env, 0, first + 2);
	tx_ack_miss(env, first);
	tx_ack(env);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.data.spn, spn);
	KUNIT_EXPECT_EQ(test, env->x.path, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	tx_pick_all(env);
	tx_ack_new(env, 0, env->tx.path[0].next - 1);
	tx_ack_miss(env, first + 3);
	tx_ack(env);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.data.spn, spn);
	KUNIT_EXPECT_EQ(test, env->x.path, 1);
}

static void no_route(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;

	single(test, 2);
	p = &env->tx.path[0];
	load(test, 0);
	KUNIT_EXPECT_FALSE(test, mroce_tx_path_unreachable(&env->tx, 0, p->next, env->now));
	KUNIT_EXPECT_FALSE(test, mroce_tx_path_unreachable(&env->tx, 0, 0, env->now));
	KUNIT_EXPECT_FALSE(test, mroce_tx_path_unreachable(&env->tx, 9, p->next - 1, env->now));
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_ACTIVE);
	KUNIT_EXPECT_TRUE(test, mroce_tx_path_unreachable(&env->tx, 0, p->next - 1, env->now));
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_FAILED);
	/* the last one is only asked */
	p = &env->tx.path[1];
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	tx_pick_all(env);
	KUNIT_EXPECT_TRUE(test, mroce_tx_path_unreachable(&env->tx, 1, p->next - 1, env->now));
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_ACTIVE);
	KUNIT_ASSERT_TRUE(test, tx_pick(env));
	KUNIT_EXPECT_EQ(test, env->x.kind, MROCE_XMIT_PROBE);
}

static u32 bytes_of(const struct mroce_sent *s)
{
	return s->kind == MROCE_XMIT_PROBE ? s->psize : s->last;
}

/* the answer of a path that passes no more than @most bytes of payload */
static void answer(struct tx_env *env, u8 path, u32 most)
{
	struct mroce_txpath *p = &env->tx.path[path];
	u32 i, high = 0;

	for (i = p->head; i != p->tail; i++)
		if (p->sent[i & p->mask].open && bytes_of(&p->sent[i & p->mask]) <= most)
			high = p->sent[i & p->mask].number;
	if (high <= p->high)
		return; /* nothing reaches the other end */
	tx_ack_new(env, path, high);
	for (i = p->head; i != p->tail; i++) {
		struct mroce_sent *s = &p->sent[i & p->mask];

		if (s->open && s->number < high && bytes_of(s) > most)
			tx_ack_miss(env, s->number);
	}
	tx_ack(env);
}

/*
 * Only small packets pass, and nobody says so: messages are cut smaller from now on, what was cut
 * already goes as fragments, and full size is tried again later.
 */
static void black_hole(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u32 i, k, fragments = 0;
	u16 length[8];

	large(test, 1, 8192);
	p = &env->tx.path[0];
	env->now += 10 * MSEC;
	for (i = 0; i < 6; i++)
		tx_post(env, 0, MROCE_OP_WRITE, 8192);
	for (i = 0; i < 200 && p->size == 8192; i++) {
		while (tx_pick(env))
			KUNIT_EXPECT_FALSE(test, env->x.fragment);
		k = p->high;
		answer(env, 0, 4000);
		if (k == p->high)
			next_timeout(test, 0, length, 0);
		env->now += 100 * MROCE_USEC;
	}
	KUNIT_EXPECT_EQ(test, p->size, 1264);
	KUNIT_EXPECT_EQ(test, env->tx.max_payload, 1264);
	KUNIT_EXPECT_EQ(test, env->tx.stats.path_shrunk, 1);
	KUNIT_EXPECT_LT(test, i, 60);
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_ACTIVE);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 0);
	mroce_cc_window(&env->tx, p, 1 << 17); /* the window is another test's matter */
	while (tx_pick(env)) {
		if (env->x.kind != MROCE_XMIT_DATA || env->x.data.psize == 1264)
			continue;
		KUNIT_EXPECT_TRUE(test, env->x.fragment);
		KUNIT_EXPECT_EQ(test, env->x.count, 1);
		KUNIT_EXPECT_EQ(test, env->x.passes, 1264);
		fragments++;
	}
	KUNIT_EXPECT_GT(test, fragments, 0);
	for (i = 0; i < 20; i++) {
		ack_path(env, 0);
		tx_pick_all(env);
	}
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 6);
	tx_post(env, 0, MROCE_OP_WRITE, 8192);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.data.psize, 1264);
	KUNIT_EXPECT_FALSE(test, env->x.fragment);
	while (tx_pick_all(env))
		ack_path(env, 0);
	ack_path(env, 0);
	/* not yet well after 10 s, but after 20 */
	for (i = 0; i < 2; i++) {
		env->now += 10001 * MSEC;
		tx_complete(env, 0);
		tx_post(env, 0, MROCE_OP_WRITE, 100);
		for (k = 0; tx_pick(env);)
			if (env->x.kind == MROCE_XMIT_PROBE && env->x.control.length == 8192)
				k++;
		KUNIT_EXPECT_EQ(test, k, 1);
		answer(env, 0, i ? 8192 : 4000);
		KUNIT_EXPECT_EQ(test, p->size, i ? 8192 : 1264);
	}
	KUNIT_EXPECT_EQ(test, env->tx.max_payload, 8192);
}

/* What was cut before a path's size fell goes as fragments, which are sent one packet at a time. */
static void fragments_go_alone(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	tx_open(test, 0);
	env->tx.train = 2 * ENV_PSIZE;
	tx_post(env, 0, MROCE_OP_WRITE, 6 * ENV_PSIZE);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.count, 2);
	for (i = 0; i < 4; i++)
		mroce_tx_path_size(&env->tx, i, ENV_PSIZE / 2, env->now);
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
		KUNIT_EXPECT_EQ(test, env->x.count, 1);
		KUNIT_EXPECT_EQ(test, env->x.data.psize, ENV_PSIZE);
		KUNIT_EXPECT_TRUE(test, env->x.fragment);
	}
	KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
}

/* One path of a plane that does: it takes another source port, and messages stay as they are. */
static void black_hole_of_one_path(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u16 length[8];
	u32 i, k;

	large(test, 2, 8192);
	p = &env->tx.path[0];
	env->now += 10 * MSEC;
	for (i = 0; i < 400 && !p->epoch; i++) {
		tx_complete(env, 0);
		tx_post(env, 0, MROCE_OP_WRITE, 8192);
		while (tx_pick(env))
			;
		k = p->high;
		answer(env, 0, 4000);
		ack_path(env, 1);
		env->now += 100 * MROCE_USEC;
		if (k == p->high && p->probe_at != MROCE_NEVER && p->probe_at > env->now)
			next_timeout(test, 0, length, 0);
		else
			mroce_tx_timer(&env->tx, env->now);
	}
	KUNIT_EXPECT_EQ(test, p->epoch, 1);
	KUNIT_EXPECT_EQ(test, env->tx.max_payload, 8192);
	KUNIT_EXPECT_EQ(test, env->tx.stats.path_shrunk, 0);
	KUNIT_EXPECT_EQ(test, env->tx.stats.path_failed, 1);
	/* the ACK that told spoke of the old port: the new one has to answer first */
	KUNIT_EXPECT_NE(test, p->state, MROCE_PATH_ACTIVE);
	KUNIT_EXPECT_EQ(test, p->high, 0);
	KUNIT_EXPECT_EQ(test, p->packets, 0);
	KUNIT_EXPECT_GT(test, next_timeout(test, 0, length, 8), 0);
	ack_path(env, 0);
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_ACTIVE);
	KUNIT_EXPECT_EQ(test, p->size, 8192);
}

/* ---- over the simulated network ---- */

static const struct sim_cfg net = {
	.seed = 5,
	.rate = 125000000,
	.delay = 50000,
	.copy = 100,
	.step = 400,
	.payload = 8192,
	.train = 57344,
	.npaths = 4,
	.cpus = 2,
	.late = 300000,
};

static const struct sim_load bulk = {
	.count = 2000,
	.ops = SIM_ALL,
	.len_max = 30000,
	.depth = 16,
	.mixed = true,
	.timeout = 4000 * MSEC,
	.rnr_retry = 7,
	.buffers = 32,
	.buffer_len = 30000,
	.repost = 1000,
	.reads = 8,
};

/* paths of @bad pass nothing larger than 4,000 bytes, in either direction */
static bool drop_large(struct sim *s, struct sim_packet *p, const struct mroce_base *b)
{
	return p->payload > 4000 && !p->fragment && *(u64 *)s->filter_arg & BIT_ULL(b->path);
}

static void sim_black_hole(struct kunit *test)
{
	static const u64 paths[] = { ~0ULL, BIT_ULL(2) };
	struct sim_load a = bulk, b = bulk;
	struct mroce_tx *tx;
	struct sim *s;
	u64 bad, start;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		bad = 0;
		s = scenario_new(test, &net);
		s->filter = drop_large;
		s->filter_arg = &bad;
		sim_connect(s, 1, &a, 0, &b);
		sim_run(s, s->now + 10 * MSEC);
		bad = paths[i];
		start = s->now;
		if (!sim_run_all(s, s->now + 4000 * MSEC))
			scenario_stuck(test, s);
		scenario_all_completed(test, s);
		tx = &s->qp[0]->txh->tx;
		KUNIT_EXPECT_EQ(test, tx->max_payload, i ? 8192 : 1264);
		if (i)
			KUNIT_EXPECT_GT(test, tx->stats.path_redrawn, 0);
		kunit_info(test, "%llu ms\n", (unsigned long long)((s->now - start) / MSEC));
		scenario_end(test, s);
	}
}

/* Half of the paths on a plane that loses its carrier and gets it again, with traffic both ways. */
static void sim_plane_cut(struct kunit *test)
{
	struct sim_load a = bulk, b = bulk;
	struct mroce_tx *tx;
	struct sim_txh *t;
	struct sim *s;
	u32 i;

	s = scenario_new(test, &net);
	sim_connect(s, 1, &a, 0, &b);
	sim_run(s, s->now + 5 * MSEC);
	t = s->qp[0]->txh;
	tx = &t->tx;
	mroce_tx_path_move(tx, 1, 1, false, s->now);
	mroce_tx_path_move(tx, 3, 1, false, s->now);
	sim_xmit(t);
	sim_run(s, s->now + 10 * MSEC);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, tx->path[i].state, MROCE_PATH_ACTIVE);
	mroce_tx_plane_down(tx, 1, s->now);
	sim_xmit(t);
	sim_run(s, s->now + 10 * MSEC);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, tx->path[i].state,
				i & 1 ? MROCE_PATH_FAILED : MROCE_PATH_ACTIVE);
	mroce_tx_plane_up(tx, 1, s->now);
	sim_xmit(t);
	sim_run(s, s->now + 10 * MSEC);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, tx->path[i].state, MROCE_PATH_ACTIVE);
	if (!sim_run_all(s, s->now + 4000 * MSEC))
		scenario_stuck(test, s);
	scenario_all_completed(test, s);
	scenario_end(test, s);
}

static struct kunit_case cases[] = { KUNIT_CASE(suspect),
				     KUNIT_CASE(all_suspect),
				     KUNIT_CASE(long_round_trips),
				     KUNIT_CASE(peers_round_trips),
				     KUNIT_CASE(asked_for),
				     KUNIT_CASE(data_shorten_no_round),
				     KUNIT_CASE(one_asks_for_all),
				     KUNIT_CASE(what_fails),
				     KUNIT_CASE(evacuation),
				     KUNIT_CASE(probing),
				     KUNIT_CASE(epochs_are_bounded),
				     KUNIT_CASE(others_follow),
				     KUNIT_CASE(dark_plane),
				     KUNIT_CASE(severed),
				     KUNIT_CASE(moves),
				     KUNIT_CASE(second_loss),
				     KUNIT_CASE(no_route),
				     KUNIT_CASE(black_hole),
				     KUNIT_CASE(fragments_go_alone),
				     KUNIT_CASE(black_hole_of_one_path),
				     {} };

struct kunit_suite mroce_path_suite = {
	.name = "mroce_path",
	.init = tx_env_init,
	.exit = tx_env_exit,
	.test_cases = cases,
};

static struct kunit_case sim_cases[] = { KUNIT_CASE(sim_black_hole),
					 KUNIT_CASE(sim_plane_cut),
					 {} };

struct kunit_suite mroce_path_sim_suite = {
	.name = "mroce_path_sim",
	.test_cases = sim_cases,
};
