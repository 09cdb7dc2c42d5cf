// SPDX-License-Identifier: GPL-2.0
/*
 * The sending half and what is lost: gaps, each bit of the bitmap, numbers that wrap,
 * acknowledgements that are lost, late or false, the end of a burst, paths that fail.
 */
#include "suites.h"
#include "tx_env.h"

/* one path and packet by packet: every number by itself */
static void single(struct kunit *test, u8 npaths)
{
	struct tx_env *env = test->priv;

	tx_env_restart(test, npaths, ENV_PSIZE);
	tx_open(test, 0);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
}

/* sends @n single-packet Writes; returns the number of the first on path 0 */
static u32 send_writes(struct kunit *test, u32 n)
{
	struct tx_env *env = test->priv;
	u32 first = env->tx.path[0].next;

	/* the window is another test's matter */
	mroce_cc_window(&env->tx, &env->tx.path[0], 1 << 20);
	while (n--) {
		KUNIT_ASSERT_NOT_NULL(test, tx_post(env, 0, MROCE_OP_WRITE, 100));
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	}
	return first;
}

/*
 * A gap is a loss, at once: the missing packet alone goes again, at once, on its path, under a
 * fresh number.
 */
static void gap_is_resent_at_once(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 first;

	single(test, 1);
	first = send_writes(test, 5);
	tx_ack_new(env, 0, first + 3);
	tx_ack_miss(env, first + 1);
	KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_NONE);
	KUNIT_ASSERT_TRUE(test, tx_pick(env));
	KUNIT_EXPECT_EQ(test, env->x.kind, MROCE_XMIT_DATA);
	KUNIT_EXPECT_TRUE(test, env->x.resend);
	KUNIT_EXPECT_EQ(test, env->x.data.spn, ENV_PSN + 1);
	KUNIT_EXPECT_EQ(test, env->x.data.base.number, first + 5);
	KUNIT_EXPECT_EQ(test, env->x.data.msn, 1);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
	/* the retransmission is lost too: again a gap */
	send_writes(test, 1);
	tx_ack_new(env, 0, first + 6);
	tx_ack_miss(env, first + 5);
	tx_ack(env);
	KUNIT_ASSERT_TRUE(test, tx_pick(env));
	KUNIT_EXPECT_EQ(test, env->x.data.spn, ENV_PSN + 1);
	KUNIT_EXPECT_EQ(test, env->x.data.base.number, first + 7);
	tx_ack_new(env, 0, first + 7);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 5);
	KUNIT_EXPECT_EQ(test, env->tx.path[0].inflight, 0);
	KUNIT_EXPECT_EQ(test, env->tx.stats.lost, 2);
	KUNIT_EXPECT_EQ(test, env->tx.stats.resent, 2);
}

/* With several paths it goes on the one that lost it. */
static void resent_on_the_path_that_lost_it(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, spn[4], number[4];

	single(test, 4);
	for (i = 0; i < 12; i++) {
		tx_post(env, 0, MROCE_OP_WRITE, 100);
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
		if (i < 4) {
			spn[env->x.path] = env->x.data.spn;
			number[env->x.path] = env->x.data.base.number;
		}
	}
	for (i = 0; i < 4; i++) {
		tx_ack_new(env, i, env->tx.path[i].next - 1);
		tx_ack_miss(env, number[i]);
		tx_ack(env);
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
		KUNIT_EXPECT_EQ(test, env->x.path, i);
		KUNIT_EXPECT_EQ(test, env->x.data.spn, spn[i]);
	}
}

/* neighbours that were lost together travel together */
static void lost_train(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 first;

	tx_env_restart(test, 1, 10 * ENV_PSIZE);
	tx_open(test, 0);
	first = env->tx.path[0].next;
	tx_post(env, 0, MROCE_OP_WRITE, 10000);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.count, 10);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	tx_ack_new(env, 0, first + 10);
	tx_ack_miss(env, first + 2);
	tx_ack_miss(env, first + 3);
	tx_ack_miss(env, first + 4);
	tx_ack_miss(env, first + 9);
	tx_ack(env);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.count, 3);
	KUNIT_EXPECT_EQ(test, env->x.data.spn, ENV_PSN + 2);
	KUNIT_EXPECT_EQ(test, env->x.data.offset, 2000);
	KUNIT_EXPECT_EQ(test, env->x.data.addr, 0x10000 + 2000);
	KUNIT_EXPECT_EQ(test, env->x.bytes, 3000);
	KUNIT_EXPECT_FALSE(test, env->x.data.flags & (MROCE_F_FIRST | MROCE_F_LAST));
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.count, 1);
	KUNIT_EXPECT_EQ(test, env->x.data.spn, ENV_PSN + 9);
	KUNIT_EXPECT_TRUE(test, env->x.data.flags & MROCE_F_LAST);
	KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
}

/* Each bit of the bitmap means its number: one missing at every distance. */
static void each_bit(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 hole, i, first, done;

	single(test, 1);
	for (hole = 1; hole < 60; hole++) {
		first = send_writes(test, 60);
		tx_ack_new(env, 0, first + 59);
		tx_ack_miss(env, first + 59 - hole);
		tx_ack(env);
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
		KUNIT_EXPECT_EQ(test, env->x.data.spn, ENV_PSN + (hole - 1) * 60 + 59 - hole);
		KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
		KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 59 - hole);
		env->now += 100 * MROCE_USEC;
		tx_ack_new(env, 0, first + 60);
		tx_ack(env);
		KUNIT_EXPECT_EQ(test, tx_complete(env, 0), hole + 1);
	}
	/* further down: trains of 60 fill the bitmap of 256 */
	tx_env_restart(test, 1, 60 * ENV_PSIZE);
	tx_open(test, 0);
	for (hole = 1; hole < 256; hole++) {
		u32 start = env->req[0].nxt;

		mroce_cc_window(&env->tx, &env->tx.path[0], 1 << 20);
		first = env->tx.path[0].next;
		tx_post(env, 0, MROCE_OP_WRITE, 256 * ENV_PSIZE);
		KUNIT_ASSERT_EQ(test, tx_pick_all(env), 256);
		tx_ack_new(env, 0, first + 255);
		tx_ack_miss(env, first + 255 - hole);
		tx_ack(env);
		mroce_cc_window(&env->tx, &env->tx.path[0], 1 << 20);
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
		KUNIT_EXPECT_EQ(test, env->x.data.spn, start + 255 - hole);
		KUNIT_EXPECT_EQ(test, env->x.count, 1);
		tx_ack_new(env, 0, first + 256);
		tx_ack(env);
		for (i = 0, done = 0; i < 3; i++)
			done += tx_complete(env, 0);
		KUNIT_EXPECT_EQ(test, done, 1);
	}
}

/* all number spaces over their wrap: path numbers, stream numbers, message numbers */
static void numbers_wrap(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u32 i, first, done = 0;

	single(test, 1);
	p = &env->tx.path[0];
	p->next = -50;
	p->high = -51;
	p->round_end = -50;
	env->req[0].una = -30;
	env->req[0].nxt = -30;
	env->req[0].end = -30;
	env->req[0].lost_from = -30;
	env->req[0].msn_una = -20;
	env->req[0].msn_nxt = -20;
	env->req[0].msn_end = -20;
	for (i = 0; i < 20; i++) {
		first = send_writes(test, 10);
		KUNIT_EXPECT_EQ(test, env->x.data.base.number, first + 9);
		KUNIT_EXPECT_EQ(test, env->x.data.spn, (u32)-30 + i * 10 + 9);
		tx_ack_new(env, 0, first + 9);
		env->ack.packets = i * 11 + 12;
		env->ack.bytes = env->ack.packets * 100;
		tx_ack_miss(env, first + 4);
		KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_NONE);
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
		KUNIT_EXPECT_EQ(test, env->x.data.spn, (u32)-30 + i * 10 + 4);
		KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
		tx_ack_new(env, 0, first + 10);
		env->ack.packets = i * 11 + 13;
		tx_ack(env);
		done += tx_complete(env, 0);
	}
	KUNIT_EXPECT_EQ(test, done, 200);
	KUNIT_EXPECT_EQ(test, env->req[0].msn_una, 180);
	KUNIT_EXPECT_EQ(test, p->inflight, 0);
	KUNIT_EXPECT_EQ(test, p->head, p->tail);
}

/* What fell out of the bitmap unreported is lost; in a PARTIAL ACK a clear bit means nothing. */
static void beyond_the_bitmap(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 first;

	tx_env_restart(test, 1, 60 * ENV_PSIZE);
	tx_open(test, 0);
	mroce_cc_window(&env->tx, &env->tx.path[0], 1 << 20);
	env->req[0].window = 256;
	first = env->tx.path[0].next;
	tx_post(env, 0, MROCE_OP_WRITE, 200 * ENV_PSIZE);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 200);
	/* anchored at the 50th, with only that bit */
	tx_ack_new(env, 0, first + 199);
	env->ack.anchor = first + 49;
	env->ack.flags = MROCE_A_PARTIAL;
	memset(env->ack.bitmap, 0, sizeof(env->ack.bitmap));
	env->ack.bitmap[0] = 1;
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, env->req[0].out, 199);
	KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
	/* a leap of the path's numbers: 1 to 50 are below the bitmap */
	env->tx.path[0].next += 105;
	tx_ack_new(env, 0, first + 49 + 255);
	tx_ack(env);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.data.spn, ENV_PSN);
	KUNIT_EXPECT_EQ(test, env->x.count, 49);
	/* they were no gaps: that they had arrived after all is no news of overtaking */
	tx_ack_new(env, 0, first + 49 + 255);
	env->ack.anchor = first + 48;
	env->ack.flags = MROCE_A_PARTIAL;
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, env->tx.path[0].threshold, 0);
}

/* Everything in an ACK is cumulative: all but the last may be lost. */
static void lost_acks(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 first, i;

	single(test, 1);
	first = send_writes(test, 40);
	tx_ack_new(env, 0, first + 39);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 40);
	/* and the earlier ones may come after it, in any order */
	first = send_writes(test, 30);
	tx_ack_new(env, 0, first + 29);
	tx_ack_miss(env, first + 7);
	tx_ack(env);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	for (i = 0; i < 28; i += 3) {
		tx_ack_new(env, 0, first + 28 - i);
		if (28 - i >= 7)
			tx_ack_miss(env, first + 7);
		KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_NONE);
	}
	KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 7);
	tx_ack_new(env, 0, first + 30);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 23);
}

/* A NACK counts if it names any number of any transmission on record, wherever in the ring. */
static void nack_names_a_transmission(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 sent = 0, k, i;

	/* one number before the first and one behind the last too */
	for (k = 0; k < sent + 2 || !k; k++) {
		struct mroce_txpath *p;
		u32 first = -12;

		tx_env_restart(test, 1, 10 * ENV_PSIZE);
		tx_open(test, 0);
		p = &env->tx.path[0];
		mroce_cc_window(&env->tx, p, 1 << 20);
		p->next = first;
		p->high = first - 1;
		p->head = -5;
		p->tail = -5;
		for (sent = 0, i = 0; i < 13; i++) {
			tx_post(env, 0, MROCE_OP_WRITE, (i % 5 + 1) * ENV_PSIZE);
			KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
			sent += env->x.count;
		}
		KUNIT_ASSERT_EQ(test, p->tail - p->head, 13);
		tx_ack_new(env, 0, p->next - 1);
		memset(env->ack.bitmap, 0, sizeof(env->ack.bitmap));
		env->ack.flags = MROCE_A_PARTIAL;
		tx_ack_nack(env, 0, MROCE_N_ACCESS, 0, ENV_PSN, first + k - 1);
		KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_NONE);
		KUNIT_EXPECT_EQ(test, env->req[0].failed, k >= 1 && k <= sent);
	}
	KUNIT_EXPECT_EQ(test, k, sent + 2);
}

/* ACKs that speak of what never was change nothing. */
static void false_acks(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 first, out;

	single(test, 2);
	first = send_writes(test, 10);
	(void)first;
	out = env->req[0].out;
	tx_ack_new(env, 0, env->tx.path[0].next);
	KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_RX_NUMBER);
	tx_ack_new(env, 0, env->tx.path[0].next + 100000);
	KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_RX_NUMBER);
	tx_ack_new(env, 0, env->tx.path[0].next - 1);
	env->ack.anchor++;
	KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_RX_NUMBER);
	tx_ack_new(env, 0, env->tx.path[0].next - 1);
	env->ack.base.epoch++;
	KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_RX_PATH);
	tx_ack_new(env, 0, 1);
	env->ack.base.path = 2;
	KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_RX_PATH);
	env->ack.base.path = 255;
	KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_RX_PATH);
	KUNIT_EXPECT_EQ(test, env->req[0].out, out);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 0);
	/* nor do records of unknown streams or numbers */
	tx_ack_new(env, 1, env->tx.path[1].next - 1);
	memset(env->ack.bitmap, 0, sizeof(env->ack.bitmap));
	env->ack.flags = MROCE_A_PARTIAL;
	tx_ack_nack(env, 9, MROCE_N_ACCESS, 0, ENV_PSN, env->tx.path[1].next - 1);
	tx_ack_nack(env, 0, MROCE_N_ACCESS, 0, ENV_PSN + 77, env->tx.path[1].next - 1);
	tx_ack_nack(env, 0, MROCE_N_ACCESS, 0, ENV_PSN - 1, env->tx.path[1].next - 1);
	tx_ack_nack(env, 0, MROCE_N_ACCESS, 0, ENV_PSN, env->tx.path[1].next + 5);
	env->ack.record[env->ack.nrecords++] = (struct mroce_record_news){ .kind = MROCE_R_RELEASE,
									   .stream = ENV_OWN(0),
									   .spn = ENV_PSN + 77 };
	tx_ack(env);
	KUNIT_EXPECT_FALSE(test, env->req[0].failed);
	KUNIT_EXPECT_EQ(test, env->req[0].out, out);
	KUNIT_EXPECT_EQ(test, env->req[0].una, ENV_PSN);
}

/* An ACK is good for one sample of the round trip, by its echo. */
static void round_trip(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, first;

	single(test, 1);
	env->tx.path[0].srtt = 0;
	for (i = 0; i < 50; i++) {
		first = send_writes(test, 1);
		env->now += 800 * MROCE_USEC;
		tx_ack_new(env, 0, first);
		env->ack.echo = (u32)((env->now - 700 * MROCE_USEC) >> MROCE_STAMP_SHIFT);
		env->ack.delay = (200 * MROCE_USEC) >> MROCE_STAMP_SHIFT;
		tx_ack(env);
		tx_complete(env, 0);
	}
	KUNIT_EXPECT_GE(test, env->tx.path[0].srtt, 499 * MROCE_USEC);
	KUNIT_EXPECT_LE(test, env->tx.path[0].srtt, 501 * MROCE_USEC);
	KUNIT_EXPECT_LE(test, env->tx.plane[0].base, 501 * MROCE_USEC);
	KUNIT_EXPECT_LE(test, env->tx.path[0].rttvar, 10 * MROCE_USEC);
}

/* ---- the end of a burst ---- */

/*
 * The last packets are lost: nothing comes after them. The timeout probes, and sends the oldest
 * again elsewhere.
 */
static void tail_loss(struct kunit *test)
{
	struct tx_env *env = test->priv;
	bool probe = false, data = false;
	u8 path, other = 0;
	u64 sent;

	single(test, 2);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	path = env->x.path;
	sent = env->now;
	while (!env->tx.stats.probe_timeouts)
		KUNIT_ASSERT_TRUE(test, tx_timer(env, 1000 * MROCE_MSEC));
	KUNIT_EXPECT_GE(test, env->now - sent, MROCE_PTO_FLOOR);
	while (tx_pick(env)) {
		if (env->x.kind == MROCE_XMIT_PROBE) {
			KUNIT_EXPECT_EQ(test, env->x.path, path);
			KUNIT_EXPECT_TRUE(test, env->x.control.flags & MROCE_F_ACKREQ);
			probe = true;
		}
		if (env->x.kind == MROCE_XMIT_DATA) {
			KUNIT_EXPECT_EQ(test, env->x.data.spn, ENV_PSN);
			KUNIT_EXPECT_NE(test, env->x.path, path);
			other = env->x.path;
			data = true;
		}
	}
	KUNIT_EXPECT_TRUE(test, probe);
	KUNIT_EXPECT_TRUE(test, data);
	KUNIT_EXPECT_EQ(test, env->tx.path[path].state, MROCE_PATH_SUSPECT);
	/* the other path delivers; the first is well again upon any ACK */
	tx_ack_new(env, other, env->tx.path[other].next - 1);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
	tx_ack_new(env, path, env->tx.path[path].next - 1);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, env->tx.path[path].state, MROCE_PATH_ACTIVE);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
	KUNIT_EXPECT_EQ(test, env->tx.path[path].inflight, 0);
}

/* Timeouts double, up to the cap, and nobody fails while nobody is heard. */
static void timeouts_double(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u64 last = 0, gap, most = 0;
	u32 i, n = 0;

	single(test, 2);
	env->req[0].timeout = 0;
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	tx_pick_all(env);
	for (i = 0; i < 200; i++) {
		u64 before = env->tx.stats.probe_timeouts;

		if (!tx_timer(env, 2000 * MROCE_MSEC))
			break;
		while (tx_pick(env))
			;
		if (env->tx.stats.probe_timeouts == before)
			continue;
		gap = last ? env->now - last : 0;
		most = max(most, gap);
		last = env->now;
		n++;
	}
	KUNIT_EXPECT_GE(test, n, 8);
	KUNIT_EXPECT_GE(test, most, 200 * MROCE_MSEC);
	KUNIT_EXPECT_LE(test, most, 500 * MROCE_MSEC);
	KUNIT_EXPECT_NE(test, env->tx.path[0].state, MROCE_PATH_FAILED);
	KUNIT_EXPECT_NE(test, env->tx.path[1].state, MROCE_PATH_FAILED);
}

/*
 * One path is silent while the other delivers: it fails after three timeouts, is probed, and comes
 * back.
 */
static void path_fails_and_heals(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *bad, *good;
	u32 i, probes = 0;
	u64 failed_at = 0;

	single(test, 2);
	bad = &env->tx.path[0];
	good = &env->tx.path[1];
	for (i = 0; i < 3000; i++) {
		if (env->req[0].msn_end - env->req[0].msn_una < 30)
			tx_post(env, 0, MROCE_OP_WRITE, 100);
		while (tx_pick(env))
			if (failed_at && env->x.path == 0) {
				KUNIT_EXPECT_EQ(test, env->x.kind, MROCE_XMIT_PROBE);
				probes++;
			}
		env->now += 100 * MROCE_USEC;
		if (good->head != good->tail) {
			tx_ack_new(env, 1, good->next - 1);
			tx_ack(env);
			tx_complete(env, 0);
		}
		if (env->tx.timer <= env->now)
			mroce_tx_timer(&env->tx, env->now);
		if (bad->state == MROCE_PATH_FAILED && !failed_at)
			failed_at = env->now;
	}
	KUNIT_ASSERT_NE(test, failed_at, 0);
	KUNIT_EXPECT_EQ(test, bad->state, MROCE_PATH_PROBING);
	KUNIT_EXPECT_EQ(test, good->state, MROCE_PATH_ACTIVE);
	/* three every 10 ms, doubling: within 250 ms four or five rounds */
	KUNIT_EXPECT_GE(test, probes, 9);
	KUNIT_EXPECT_LE(test, probes, 18);
	/* everything went by the other path */
	KUNIT_EXPECT_GE(test, env->req[0].msn_una, 2000);
	tx_ack_new(env, 0, bad->next - 1);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, bad->state, MROCE_PATH_ACTIVE);
	for (i = 0; i < 4; i++)
		tx_post(env, 0, MROCE_OP_WRITE, 100);
	for (i = 0; tx_pick_data(env);)
		i |= BIT(env->x.path);
	KUNIT_EXPECT_EQ(test, i, 3);
}

/* A run that lies in two words of the bitmap, part of which was acknowledged before. */
static void runs_overlap(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txs *txs = &env->req[0];
	u32 word, i;

	single(test, 1);
	mroce_cc_window(&env->tx, &env->tx.path[0], 1 << 20);
	tx_post(env, 0, MROCE_OP_WRITE, 200 * ENV_PSIZE);
	KUNIT_ASSERT_EQ(test, tx_pick_all(env), 200);
	word = round_up(txs->una + 1, 64) + 64;
	mroce_txs_acked_run(txs, word, 4, env->now);
	KUNIT_EXPECT_EQ(test, txs->nacked, 4);
	mroce_txs_acked_run(txs, word - 4, 6, env->now);
	KUNIT_EXPECT_EQ(test, txs->nacked, 8);
	for (i = 0; i < 12; i++)
		KUNIT_EXPECT_EQ(test, test_bit((word - 6 + i) & txs->wmask, txs->acked),
				i >= 2 && i < 10);
	while (mroce_seq_before(txs->una, word - 4))
		mroce_txs_acked_run(txs, txs->una, min(64U, word - 4 - txs->una), env->now);
	KUNIT_EXPECT_EQ(test, txs->una, word + 4);
	KUNIT_EXPECT_EQ(test, txs->nacked, 0);
}

/* ---- reordering ---- */

/*
 * What was taken as lost arrives after all: that raises the path's threshold, and then a small gap
 * is waited for.
 */
static void threshold(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u32 first;

	single(test, 1);
	p = &env->tx.path[0];
	first = send_writes(test, 3);
	tx_ack_new(env, 0, first + 2);
	tx_ack_miss(env, first);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 1);
	KUNIT_EXPECT_EQ(test, p->threshold, 0);
	/* that it was sent twice may be a lost ACK's doing */
	tx_ack_new(env, 0, first + 3);
	env->ack.flags |= MROCE_A_DUPLICATE;
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, p->threshold, 0);
	tx_ack_new(env, 0, first + 3);
	tx_ack_late(env, first);
	tx_ack(env);
	KUNIT_EXPECT_GT(test, p->threshold, 0);
	KUNIT_EXPECT_EQ(test, env->tx.stats.spurious, 1);
	/* once */
	p->threshold_at = env->now;
	first = p->threshold;
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, p->threshold, first);
	tx_complete(env, 0);
	/* now one packet may overtake */
	first = send_writes(test, 2);
	tx_ack_new(env, 0, first + 1);
	tx_ack_miss(env, first);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 0);
	tx_ack_new(env, 0, first + 1);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 2);
	/* more than that is a loss */
	first = send_writes(test, 40);
	tx_ack_new(env, 0, first + 39);
	tx_ack_miss(env, first);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 1);
	tx_ack_new(env, 0, first + 40);
	tx_ack(env);
	tx_complete(env, 0);
	/* it is bounded, and time lowers it */
	for (first = 0; first < 30; first++) {
		tx_ack_new(env, 0, p->next - 1);
		p->gap = p->next - 1 - first;
		p->gaps = 1;
		tx_ack(env);
	}
	KUNIT_EXPECT_EQ(test, p->threshold, 128);
	for (first = 0; first < 20; first++) {
		env->now += 1100 * MROCE_MSEC;
		tx_ack_new(env, 0, p->next - 1);
		tx_ack(env);
	}
	KUNIT_EXPECT_EQ(test, p->threshold, 0);
}

/* Several are taken as lost, at any distance; each of them tells when it arrives. */
static void each_late_one_tells(struct kunit *test)
{
	static const u8 lost[] = { 0, 1, 3, 40, 66 }, raised[] = { 0, 2, 4, 8, 16 };
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u32 first, i;

	single(test, 1);
	p = &env->tx.path[0];
	first = send_writes(test, 42);
	tx_ack_new(env, 0, first + 41);
	for (i = 0; i < 4; i++)
		tx_ack_miss(env, first + lost[i]);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 4);
	p->next = first + 66;
	send_writes(test, 2);
	tx_ack_new(env, 0, first + 67);
	tx_ack_miss(env, first + 66);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, env->tx.stats.lost, 5);
	for (i = 0; i < ARRAY_SIZE(lost); i++) {
		tx_ack_new(env, 0, first + 67);
		/* the oldest two are more than 63 before the newest: they are forgotten */
		tx_ack_late(env, first + lost[i]);
		tx_ack(env);
		KUNIT_EXPECT_EQ(test, p->threshold, i < 2 ? 0 : raised[i - 1]);
	}
	KUNIT_EXPECT_EQ(test, env->tx.stats.spurious, 3);

	/* one that is below every bitmap by then is told of by a PARTIAL ACK */
	tx_env_restart(test, 1, ENV_PSIZE);
	tx_open(test, 0);
	p = &env->tx.path[0];
	first = send_writes(test, 2);
	tx_ack_new(env, 0, first + 1);
	tx_ack_miss(env, first);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 1);
	tx_ack_new(env, 0, first + 2);
	tx_ack(env);
	p->next += 300;
	tx_ack_new(env, 0, p->next - 1);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, p->threshold, 0);
	env->ack.anchor = first;
	env->ack.flags = MROCE_A_PARTIAL;
	memset(env->ack.bitmap, 0, sizeof(env->ack.bitmap));
	env->ack.bitmap[0] = 1;
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, p->threshold, 2);

	/* what was lost more than half of all numbers ago is ahead, and forgotten */
	first = send_writes(test, 2);
	p->gap = first - 0x90000000;
	p->gaps = 1;
	tx_ack_new(env, 0, first + 1);
	tx_ack_miss(env, first);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 0);
	send_writes(test, 2);
	tx_ack_new(env, 0, first + 3);
	tx_ack_miss(env, first);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, p->gap, first);
	KUNIT_EXPECT_EQ(test, p->gaps, 1);
}

/* A gap below the threshold that nothing fills is a loss after a while, without a timeout. */
static void threshold_has_a_time_bound(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u32 first;

	single(test, 1);
	p = &env->tx.path[0];
	p->threshold = 100;
	p->threshold_at = env->now;
	p->srtt = 400 * MROCE_USEC;
	first = send_writes(test, 5);
	env->now += 300 * MROCE_USEC;
	tx_ack_new(env, 0, first + 3);
	tx_ack_miss(env, first + 1);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 0);
	env->now += 400 * MROCE_USEC;
	tx_ack_new(env, 0, first + 4);
	tx_ack_miss(env, first + 1);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 1);
	KUNIT_EXPECT_EQ(test, env->tx.stats.probe_timeouts, 0);
}

/* ---- the window ---- */

static void window_bounds_what_is_on_its_way(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u32 i;

	tx_env_restart(test, 1, 10 * ENV_PSIZE);
	tx_open(test, 0);
	p = &env->tx.path[0];
	for (i = 0; i < 20; i++)
		tx_post(env, 0, MROCE_OP_WRITE, 10000);
	tx_pick_all(env);
	KUNIT_EXPECT_LE(test, p->inflight, p->cwnd + ENV_PSIZE + MROCE_OVERHEAD);
	KUNIT_EXPECT_EQ(test, env->tx.plane[0].full_at, env->now);
	KUNIT_EXPECT_GT(test, env->tx.backlog, 0);
}

/* Of messages that share datagrams a lost datagram is one event, however many they are. */
static void lost_together(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, first = 0, n = 0;

	single(test, 1);
	for (i = 0; i < 12; i++)
		tx_post(env, 0, MROCE_OP_SEND, 10);
	/* three datagrams of four */
	while (mroce_tx_pick(&env->tx, env->now, &env->x)) {
		if (!n++)
			first = env->x.data.base.number;
		for (i = 1; i < 4 && mroce_tx_pick_more(&env->tx, 100, env->now, &env->x); i++)
			n++;
		mroce_tx_sent(&env->tx, &env->x, 0, MROCE_REASON_NONE);
	}
	KUNIT_ASSERT_EQ(test, n, 12);
	tx_ack_new(env, 0, first + 11);
	for (i = 0; i < 8; i++)
		tx_ack_miss(env, first + i);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, env->tx.stats.lost, 8);
	KUNIT_EXPECT_EQ(test, env->tx.path[0].loss.lost, 8);
	KUNIT_EXPECT_EQ(test, env->tx.path[0].loss.events, 2);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 8);
}

/* Marks cut the window; a host's own queue that overflows halves it; loss alone leaves it. */
static void what_cuts_the_window(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u32 first, before;

	single(test, 1);
	p = &env->tx.path[0];
	first = send_writes(test, 10);
	mroce_cc_window(&env->tx, p, 60000);
	p->round_cwnd = 60000;
	p->round_end = p->next + 100; /* this round trip does not end here */
	before = p->cwnd;
	tx_ack_new(env, 0, first + 4);
	tx_ack_miss(env, first + 2);
	tx_ack(env);
	KUNIT_EXPECT_GE(test, p->cwnd, before);
	before = p->cwnd;
	tx_ack_new(env, 0, first + 7);
	env->ack.ce = 2;
	tx_ack(env);
	KUNIT_EXPECT_LT(test, p->cwnd, before);
	KUNIT_EXPECT_GE(test, p->cwnd, before / 2);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	KUNIT_ASSERT_EQ(test, mroce_tx_pick(&env->tx, env->now, &env->x), 1);
	mroce_tx_sent(&env->tx, &env->x, -ENOBUFS, MROCE_REASON_NONE);
	/* half of what it was, with what the marks have cost already */
	KUNIT_EXPECT_EQ(test, p->cwnd, 30000);
}

/* One packet at a time, each given up by a timeout, which the receiver gets late, or never. */
static void give_up(struct kunit *test, u32 packets, bool late, u32 times)
{
	struct tx_env *env = test->priv;
	u32 i, first, arrived, cost = ENV_PSIZE + MROCE_OVERHEAD;
	struct mroce_txpath *p;
	u64 before;

	single(test, 1);
	p = &env->tx.path[0];
	arrived = p->next - 1;
	mroce_cc_window(&env->tx, p, packets * cost);
	p->ssthresh = packets * cost;
	for (i = 0; i < times; i++) {
		first = p->next;
		tx_post(env, 0, MROCE_OP_WRITE, ENV_PSIZE);
		KUNIT_ASSERT_EQ(test, tx_pick_all(env), 1);
		before = env->tx.stats.probe_timeouts;
		while (env->tx.stats.probe_timeouts == before)
			KUNIT_ASSERT_TRUE(test, tx_timer(env, 1000 * MROCE_MSEC));
		while (tx_pick(env))
			;
		env->now += 100 * MROCE_USEC;
		tx_ack_new(env, 0, p->next - 1);
		arrived += p->next - first;
		if (!late) {
			tx_ack_miss(env, first);
			arrived--;
		}
		env->ack.packets = arrived;
		env->ack.bytes = arrived * ENV_PSIZE;
		tx_ack(env);
		KUNIT_ASSERT_EQ(test, tx_complete(env, 0), 1);
	}
}

/* A window of a packet shows no gap. What a timeout gave up was lost if it is missing. */
static void timeouts_are_losses(struct kunit *test)
{
	struct tx_env *env = test->priv;

	give_up(test, 1, false, 40);
	KUNIT_EXPECT_LT(test, env->tx.plane[0].window, ENV_PSIZE + MROCE_OVERHEAD);
	KUNIT_EXPECT_GT(test, env->tx.recent_lost * 8, env->tx.recent);
	give_up(test, 1, true, 24);
	KUNIT_EXPECT_GE(test, env->tx.plane[0].window, ENV_PSIZE + MROCE_OVERHEAD);
	KUNIT_EXPECT_EQ(test, env->tx.recent_lost, 0);
	/* where there is room for several, gaps tell, and the last of a burst is no sign */
	give_up(test, 8, false, 24);
	KUNIT_EXPECT_EQ(test, env->tx.recent_lost, 0);
	/* nor is what the first flights lose, before there is a window that fits */
	give_up(test, 1, false, 3);
	KUNIT_EXPECT_EQ(test, env->tx.recent_lost, 0);
}

static struct kunit_case cases[] = { KUNIT_CASE(gap_is_resent_at_once),
				     KUNIT_CASE(resent_on_the_path_that_lost_it),
				     KUNIT_CASE(lost_train),
				     KUNIT_CASE(each_bit),
				     KUNIT_CASE(numbers_wrap),
				     KUNIT_CASE(beyond_the_bitmap),
				     KUNIT_CASE(lost_acks),
				     KUNIT_CASE(nack_names_a_transmission),
				     KUNIT_CASE(false_acks),
				     KUNIT_CASE(round_trip),
				     KUNIT_CASE(tail_loss),
				     KUNIT_CASE(timeouts_double),
				     KUNIT_CASE(path_fails_and_heals),
				     KUNIT_CASE(runs_overlap),
				     KUNIT_CASE(threshold),
				     KUNIT_CASE(each_late_one_tells),
				     KUNIT_CASE(threshold_has_a_time_bound),
				     KUNIT_CASE(lost_together),
				     KUNIT_CASE(window_bounds_what_is_on_its_way),
				     KUNIT_CASE(what_cuts_the_window),
				     KUNIT_CASE(timeouts_are_losses),
				     {} };

struct kunit_suite mroce_tx_loss_suite = {
	.name = "mroce_tx_loss",
	.init = tx_env_init,
	.exit = tx_env_exit,
	.test_cases = cases,
};
