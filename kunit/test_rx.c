// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving half: paths' numbers, bitmaps and counts; when an ACK is due and what it says;
 * tombstones.
 */
#include "suites.h"
#include "rx_env.h"

/* ---- when ---- */

static void in_order_waits(struct kunit *test)
{
	struct rx_env *env = test->priv;
	u32 i;

	for (i = 1; i < 32; i++)
		rx_probe(env, 0, i, 0, false);
	KUNIT_EXPECT_FALSE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->rx.timer, env->now + MROCE_ACK_DELAY);
	/* the 32nd */
	rx_probe(env, 0, 32, 0, false);
	KUNIT_EXPECT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->ack.base.number, 32);
	KUNIT_EXPECT_EQ(test, env->ack.packets, 32);
	KUNIT_EXPECT_FALSE(test, rx_ack(env));
}

static void delay_ends(struct kunit *test)
{
	struct rx_env *env = test->priv;

	rx_probe(env, 2, 1, 0, false);
	env->now += MROCE_ACK_DELAY - 1;
	mroce_rx_timer(&env->rx, env->now);
	KUNIT_EXPECT_FALSE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->rx.timer, env->now + 1);
	env->now++;
	mroce_rx_timer(&env->rx, env->now);
	KUNIT_EXPECT_EQ(test, env->rx.timer, MROCE_NEVER);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->ack.base.path, 2);
	KUNIT_EXPECT_EQ(test, env->ack.delay, MROCE_ACK_DELAY >> MROCE_STAMP_SHIFT);
	KUNIT_EXPECT_EQ(test, env->ack.base.id, 0xaaaa);
}

/* Copied longer than what came later: its ACK does not wait for that one's time. */
static void delay_counts_from_arrival(struct kunit *test)
{
	struct rx_env *env = test->priv;
	u64 first = env->now;
	struct mroce_rxop op;

	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_SEND, 0, 0, 2 * ENV_PSIZE, 0, 1), 1);
	env->now += 1000;
	rx_take(test, 1, rx_data(env, MROCE_OP_SEND, 0, 0, 2 * ENV_PSIZE, 1, 1), 1);
	mroce_rxs_placed(&env->req, &op, op.claimed);
	rx_finish(env, &op);
	KUNIT_EXPECT_FALSE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->rx.timer, first + MROCE_ACK_DELAY);
	env->now = env->rx.timer;
	mroce_rx_timer(&env->rx, env->now);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->ack.base.path, 0);
}

/* What waits goes along with what cannot, the oldest first, and that last. */
static void in_order_of_arrival(struct kunit *test)
{
	static const u8 expected[] = { 3, 0, 2, 1 };
	struct rx_env *env = test->priv;
	u32 i;

	rx_probe(env, 3, 1, 0, false);
	env->now += 10;
	rx_probe(env, 1, 1, 0, false);
	rx_probe(env, 0, 1, 0, false);
	rx_probe(env, 2, 1, 0, false);
	KUNIT_EXPECT_FALSE(test, rx_ack(env));
	rx_probe(env, 1, 2, MROCE_F_ACKREQ, false);
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		KUNIT_ASSERT_TRUE(test, rx_ack(env));
		KUNIT_EXPECT_EQ(test, env->ack.base.path, expected[i]);
	}
	KUNIT_EXPECT_FALSE(test, rx_ack(env));
	/* the next delay is that of a path that waits now */
	rx_probe(env, 0, 2, 0, false);
	mroce_rx_timer(&env->rx, env->now);
	KUNIT_EXPECT_EQ(test, env->rx.timer, env->now + MROCE_ACK_DELAY);
}

static void hole_is_told_at_once(struct kunit *test)
{
	struct rx_env *env = test->priv;

	rx_probe(env, 0, 1, 0, false);
	KUNIT_EXPECT_FALSE(test, rx_ack(env));
	rx_probe(env, 0, 3, 0, false);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_TRUE(test, rx_reported(env, 1));
	KUNIT_EXPECT_FALSE(test, rx_reported(env, 2));
	KUNIT_EXPECT_TRUE(test, rx_reported(env, 3));
	/* a further packet is no further news; the one that fills the hole is */
	rx_probe(env, 0, 4, 0, false);
	KUNIT_EXPECT_FALSE(test, rx_ack(env));
	rx_probe(env, 0, 2, 0, false);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_TRUE(test, rx_reported(env, 2));
	KUNIT_EXPECT_EQ(test, env->ack.base.number, 4);
}

/* a path's first packets may be the ones lost: numbers start at 1 */
static void first_packets_lost(struct kunit *test)
{
	struct rx_env *env = test->priv;

	rx_probe(env, 1, 3, 0, false);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_FALSE(test, rx_reported(env, 1));
	KUNIT_EXPECT_TRUE(test, rx_reported(env, 3));
}

static void request_is_answered_at_once(struct kunit *test)
{
	struct rx_env *env = test->priv;

	rx_probe(env, 0, 1, MROCE_F_ACKREQ, false);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->ack.anchor, 1);
}

static void change_of_mark_is_told_at_once(struct kunit *test)
{
	struct rx_env *env = test->priv;

	rx_probe(env, 0, 1, 0, false);
	KUNIT_EXPECT_FALSE(test, rx_ack(env));
	rx_probe(env, 0, 2, 0, true);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->ack.ce, 1);
	rx_probe(env, 0, 3, 0, true);
	KUNIT_EXPECT_FALSE(test, rx_ack(env));
	rx_probe(env, 0, 4, 0, false);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->ack.ce, 2);
	KUNIT_EXPECT_EQ(test, env->ack.packets, 4);
}

/* Of packets that came in one datagram the first has the mark, and no edge lies between them. */
static void one_mark_a_datagram(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_data d = { .base = { .type = MROCE_T_PROBE, .number = 1 } };
	struct mroce_rxop op;
	u32 i;

	for (i = 0; i < 3; i++, d.base.number++) {
		KUNIT_ASSERT_EQ(test, mroce_rx_arrive(&env->rx, &d, 1, 0, true, env->now, &op),
				MROCE_REASON_NONE);
		op.joined = i;
		op.bits = 1;
		mroce_rx_finish(&env->rx, NULL, &op);
		KUNIT_EXPECT_EQ(test, rx_ack(env), !i);
	}
	rx_probe(env, 0, 4, MROCE_F_ACKREQ, true);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->ack.ce, 2);
	KUNIT_EXPECT_EQ(test, env->ack.packets, 4);
}

/* one train at most: with trains of 60 an ACK for each, not two */
static void trains(struct kunit *test)
{
	struct rx_env *env = test->priv;
	u32 i, acks = 0;

	for (i = 0; i < 4; i++) {
		rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, i, i * 60, 60000, 0, 60), 60);
		while (rx_ack(env)) {
			acks++;
			KUNIT_EXPECT_EQ(test, env->ack.base.number, (i + 1) * 60);
		}
	}
	KUNIT_EXPECT_EQ(test, acks, 4);
	KUNIT_EXPECT_EQ(test, env->ack.bytes, 240000);
}

/* ---- what ---- */

/* every position of the bitmap: one hole, at each distance below the highest */
static void each_bit(struct kunit *test)
{
	struct rx_env *env = test->priv;
	u32 hole, i, start = 1;

	for (hole = 1; hole < 256; hole++) {
		for (i = 0; i <= 256; i++)
			if (i != 256 - hole)
				rx_probe(env, 0, start + i, i == 256 ? MROCE_F_ACKREQ : 0, false);
		while (rx_ack(env))
			;
		for (i = 0; i < 256; i++) {
			bool missing = i == hole;

			if (rx_reported(env, start + 256 - i) == missing)
				KUNIT_FAIL(test, "hole at %u, number %u below the highest", hole,
					   i);
		}
		KUNIT_EXPECT_EQ(test, env->ack.base.number, start + 256);
		start += 257;
		/* far away, so that the old hole is out of the bitmap */
	}
}

/* leaps of the highest number by anything up to beyond the bitmap */
static void leaps(struct kunit *test)
{
	struct rx_env *env = test->priv;
	u32 by, i, number = 1;

	for (by = 1; by < 400; by++) {
		rx_probe(env, 0, number, 0, false);
		rx_probe(env, 0, number + by, MROCE_F_ACKREQ, false);
		rx_no_more_acks(env);
		KUNIT_EXPECT_EQ(test, env->ack.base.number, number + by);
		for (i = 1; i < min(by, 256U); i++)
			if (rx_reported(env, number + by - i))
				KUNIT_FAIL(test, "leap by %u: %u below is reported", by, i);
		KUNIT_EXPECT_EQ(test, rx_reported(env, number), by < 256);
		number += by + 1;
	}
}

static void numbers_wrap(struct kunit *test)
{
	struct rx_env *env = test->priv;
	u32 i;

	env->rx.path[0].high = -4;
	env->rx.path[0].reported = -4;
	env->rx.path[0].any = true;
	for (i = -3; i != 5; i++)
		if (i != U32_MAX && i != 2)
			rx_probe(env, 0, i, 0, false);
	rx_no_more_acks(env);
	KUNIT_EXPECT_EQ(test, env->ack.base.number, 4);
	rx_probe(env, 0, 5, MROCE_F_ACKREQ, false);
	rx_no_more_acks(env);
	KUNIT_EXPECT_EQ(test, env->ack.base.number, 5);
	for (i = -3; i != 6; i++)
		KUNIT_EXPECT_EQ(test, rx_reported(env, i), i != U32_MAX && i != 2);
}

/* beyond the bitmap: a PARTIAL ACK that says this one number */
static void partial(struct kunit *test)
{
	struct rx_env *env = test->priv;
	u32 i;

	rx_probe(env, 0, 1, 0, false);
	for (i = 3; i < 300; i++)
		rx_probe(env, 0, i, 0, false);
	rx_no_more_acks(env);
	rx_probe(env, 0, 2, 0, false);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_TRUE(test, env->ack.flags & MROCE_A_PARTIAL);
	KUNIT_EXPECT_EQ(test, env->ack.anchor, 2);
	KUNIT_EXPECT_EQ(test, env->ack.base.number, 299);
	KUNIT_EXPECT_TRUE(test, rx_reported(env, 2));
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_FALSE(test, env->ack.flags & MROCE_A_PARTIAL);
	KUNIT_EXPECT_EQ(test, env->ack.anchor, 299);
	KUNIT_EXPECT_FALSE(test, rx_ack(env));
}

/* Numbers whose copy is running stop the highest that is told; the last copier tells the rest. */
static void pending_numbers(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop slow, op;

	KUNIT_EXPECT_EQ(test,
			rx_claim(test, &slow, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 3000, 0, 3), 3),
			MROCE_REASON_NONE);
	KUNIT_EXPECT_EQ(test,
			rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 1, 3, 500, 0, 1), 1),
			MROCE_REASON_NONE);
	mroce_rxs_placed(&env->req, &op, 1);
	rx_finish(env, &op);
	/*
	 * number 4 is there and looks like a hole of three; an ACK may leave, but says nothing of
	 * them
	 */
	while (rx_ack(env)) {
		KUNIT_EXPECT_EQ(test, env->ack.base.number, 0);
		KUNIT_EXPECT_FALSE(test, rx_reported(env, 4));
	}
	mroce_rxs_placed(&env->req, &slow, 7);
	rx_finish(env, &slow);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	rx_no_more_acks(env);
	KUNIT_EXPECT_EQ(test, env->ack.base.number, 4);
	KUNIT_EXPECT_EQ(test, env->ack.bitmap[0] & 0xf, 0xf);
}

/* What was reported stays reported, though a late packet below it is being copied. */
static void pending_below_the_reported(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop late;

	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 500, 0, 1), 1);
	env->number[0]++; /* 2 is missing */
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 2, 2, 500, 0, 1), 1);
	rx_no_more_acks(env);
	KUNIT_EXPECT_EQ(test, env->ack.base.number, 3);
	env->number[0] = 2;
	rx_claim(test, &late, 0, rx_data(env, MROCE_OP_WRITE, 1, 1, 500, 0, 1), 1);
	rx_probe(env, 0, 4, MROCE_F_ACKREQ, false);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->ack.base.number, 4);
	KUNIT_EXPECT_FALSE(test, rx_reported(env, 2));
	mroce_rxs_placed(&env->req, &late, 1);
	rx_finish(env, &late);
	rx_no_more_acks(env);
	KUNIT_EXPECT_TRUE(test, rx_reported(env, 2));
}

static void stamps(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_data d = { .base = { .type = MROCE_T_PROBE, .number = 2 },
				.stamp = 1000,
				.flags = MROCE_F_ACKREQ };
	struct mroce_rxop op;

	mroce_rx_arrive(&env->rx, &d, 1, 0, false, env->now, &op);
	mroce_rx_finish(&env->rx, NULL, &op);
	/* an older one that comes later */
	d.base.number = 1;
	d.stamp = 900;
	mroce_rx_arrive(&env->rx, &d, 1, 0, false, env->now + 1600, &op);
	mroce_rx_finish(&env->rx, NULL, &op);
	env->now += 3200;
	rx_no_more_acks(env);
	KUNIT_EXPECT_EQ(test, env->ack.echo, 1000);
	KUNIT_EXPECT_EQ(test, env->ack.delay, 200);
}

static void paths_and_epochs(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_data d = { .base = { .type = MROCE_T_PROBE, .path = ENV_PATHS, .number = 1 } };
	struct mroce_rxop op, slow;

	KUNIT_EXPECT_EQ(test, mroce_rx_arrive(&env->rx, &d, 1, 0, false, env->now, &op),
			MROCE_REASON_RX_PATH);
	rx_probe(env, 1, 1, 0, false);
	rx_probe(env, 1, 2, 0, false);
	/* a new epoch starts afresh */
	d.base.path = 1;
	d.base.epoch = 1;
	d.flags = MROCE_F_ACKREQ;
	KUNIT_EXPECT_EQ(test, mroce_rx_arrive(&env->rx, &d, 1, 0, false, env->now, &op),
			MROCE_REASON_NONE);
	op.bits = 1;
	mroce_rx_finish(&env->rx, NULL, &op);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->ack.base.epoch, 1);
	KUNIT_EXPECT_EQ(test, env->ack.base.number, 1);
	KUNIT_EXPECT_EQ(test, env->ack.packets, 1);
	/* the old one is over */
	d.base.epoch = 0;
	d.base.number = 3;
	KUNIT_EXPECT_EQ(test, mroce_rx_arrive(&env->rx, &d, 1, 0, false, env->now, &op),
			MROCE_REASON_RX_PATH);
	/* none begins under a copy's feet */
	KUNIT_EXPECT_EQ(test,
			mroce_rx_arrive(&env->rx,
					&(struct mroce_data){
						.base = { .path = 1, .epoch = 1, .number = 2 } },
					1, 0, false, env->now, &slow),
			MROCE_REASON_NONE);
	d.base.epoch = 2;
	KUNIT_EXPECT_EQ(test, mroce_rx_arrive(&env->rx, &d, 1, 0, false, env->now, &op),
			MROCE_REASON_RX_PATH);
	mroce_rx_finish(&env->rx, NULL, &slow);
}

/* Refused packets count as received on the path, and their bits stay clear. */
static void counts_include_refused(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 300, 1000, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_WINDOW);
	rx_finish(env, &op);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->ack.packets, 1);
	KUNIT_EXPECT_EQ(test, env->ack.bytes, 1000);
	KUNIT_EXPECT_FALSE(test, rx_reported(env, 1));
	KUNIT_ASSERT_NOT_NULL(test, rx_record(env, MROCE_R_NACK));
	KUNIT_EXPECT_EQ(test, rx_record(env, MROCE_R_NACK)->number, 1);
	KUNIT_EXPECT_EQ(test, rx_record(env, MROCE_R_NACK)->spn, 400);
	KUNIT_EXPECT_EQ(test, rx_record(env, MROCE_R_NACK)->stream, ENV_PEER);
}

/*
 * A NACK goes with an ACK of the path that it is about, once, and the lowest of a stream stands for
 * all.
 */
static void nacks(struct kunit *test)
{
	struct rx_env *env = test->priv;
	const struct mroce_record_news *r;
	struct mroce_rxop op;

	rx_claim(test, &op, 1, rx_data(env, MROCE_OP_WRITE, 5, 310, 1000, 0, 1), 1);
	rx_finish(env, &op);
	rx_claim(test, &op, 1, rx_data(env, MROCE_OP_WRITE, 4, 305, 1000, 0, 1), 1);
	rx_finish(env, &op);
	rx_claim(test, &op, 1, rx_data(env, MROCE_OP_WRITE, 6, 320, 1000, 0, 1), 1);
	rx_finish(env, &op);
	rx_probe(env, 0, 1, MROCE_F_ACKREQ, false);
	while (rx_ack(env)) {
		r = rx_record(env, MROCE_R_NACK);
		if (env->ack.base.path != 1) {
			KUNIT_EXPECT_NULL(test, r);
			continue;
		}
		KUNIT_ASSERT_NOT_NULL(test, r);
		KUNIT_EXPECT_EQ(test, r->spn, 405);
		KUNIT_EXPECT_EQ(test, r->value, 4);
		KUNIT_EXPECT_EQ(test, r->number, 2);
		KUNIT_EXPECT_EQ(test, env->ack.nrecords, 1);
	}
	rx_probe(env, 1, 10, MROCE_F_ACKREQ, false);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_NULL(test, rx_record(env, MROCE_R_NACK));
}

/* Of one stream's two spaces each has a refusal of its own. */
static void nacks_of_both_spaces(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;
	u32 i, flags = 0;

	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 4, 305, 1000, 0, 1), 1);
	rx_finish(env, &op);
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_READ_RESP, 4, 500, 1000, 0, 1), 1);
	rx_finish(env, &op);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_ASSERT_EQ(test, env->ack.nrecords, 2);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, env->ack.record[i].kind, MROCE_R_NACK);
		flags |= BIT(env->ack.record[i].flags);
	}
	KUNIT_EXPECT_EQ(test, flags, BIT(0) | BIT(MROCE_R_RESPONSE));
}

/* What streams have to tell and does not fit is in the next ACK. */
static void many_records(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxs *many = kunit_kzalloc(test, 20 * sizeof(*many), GFP_KERNEL);
	u32 i, k, told = 0;
	LIST_HEAD(held);

	KUNIT_ASSERT_NOT_NULL(test, many);
	for (i = 0; i < 20; i++) {
		mroce_rxs_init(&many[i], false, 1000 + i, 0, 6, 6);
		mroce_rxs_attach(&many[i], &env->rx, 2000 + i);
		mroce_rxs_credit(&many[i], 5);
	}
	for (k = 0; k < 2; k++) {
		rx_probe(env, 0, k + 1, MROCE_F_ACKREQ, false);
		KUNIT_ASSERT_TRUE(test, rx_ack(env));
		KUNIT_EXPECT_LE(test, env->ack.nrecords, MROCE_MAX_RECORDS);
		for (i = 0; i < env->ack.nrecords; i++)
			told |= BIT(env->ack.record[i].stream - 2000);
	}
	KUNIT_EXPECT_EQ(test, told, BIT(20) - 1);
	for (i = 0; i < 20; i++)
		mroce_rxs_detach(&many[i], env->now, &held);
}

/*
 * A duplicate brings the stream's lowest unplaced number, and the flag; a packet that the network
 * repeated is no sign of a wrong loss.
 */
static void duplicates(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 500, 0, 1), 1);
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 1, 1, 500, 0, 1), 1);
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 500, 0, 1), 1);
	KUNIT_EXPECT_TRUE(test, op.duplicate);
	KUNIT_EXPECT_EQ(test, op.claimed, 0);
	KUNIT_EXPECT_EQ(test, op.bits, 1);
	rx_finish(env, &op);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_TRUE(test, env->ack.flags & MROCE_A_DUPLICATE);
	KUNIT_EXPECT_TRUE(test, rx_reported(env, 3));
	KUNIT_ASSERT_NOT_NULL(test, rx_record(env, MROCE_R_RELEASE));
	KUNIT_EXPECT_EQ(test, rx_record(env, MROCE_R_RELEASE)->spn, 102);
	/* the same path number again */
	env->number[0] = 2;
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 1, 1, 500, 0, 1), 1);
	rx_finish(env, &op);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_FALSE(test, env->ack.flags & MROCE_A_DUPLICATE);
}

static void share_is_told(struct kunit *test)
{
	struct rx_env *env = test->priv;

	env->rx.share = 12345;
	env->rx.allowance = 678;
	env->rx.active = 9;
	rx_probe(env, 0, 1, MROCE_F_ACKREQ, false);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->ack.share, 12345);
	KUNIT_EXPECT_EQ(test, env->ack.allowance, 678);
	KUNIT_EXPECT_EQ(test, env->ack.active, 9);
}

/* ---- tombstones ---- */

static void tombstones(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_data d;
	struct mroce_rxop op;
	LIST_HEAD(held);

	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 5000, 0, 5), 5);
	rx_no_more_acks(env);
	mroce_rxs_detach(&env->req, env->now, &held);
	env->now += 2 * MROCE_TOMB_LIFE / 3;

	/* what was placed is a duplicate; the rest is GONE */
	d = rx_data(env, MROCE_OP_WRITE, 0, 0, 9000, 3, 4);
	d.base.number = 6;
	KUNIT_ASSERT_EQ(test, mroce_rx_arrive(&env->rx, &d, 4, 4000, false, env->now, &op),
			MROCE_REASON_NONE);
	KUNIT_EXPECT_TRUE(test, mroce_rx_unknown(&env->rx, &op));
	KUNIT_EXPECT_EQ(test, op.bits, 3);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_GONE);
	mroce_rx_finish(&env->rx, NULL, &op);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_TRUE(test, rx_reported(env, 6) && rx_reported(env, 7));
	KUNIT_EXPECT_FALSE(test, rx_reported(env, 8) || rx_reported(env, 9));
	KUNIT_ASSERT_NOT_NULL(test, rx_record(env, MROCE_R_NACK));
	KUNIT_EXPECT_EQ(test, rx_record(env, MROCE_R_NACK)->reason, MROCE_N_GONE);
	KUNIT_EXPECT_EQ(test, rx_record(env, MROCE_R_NACK)->spn, 105);
	KUNIT_EXPECT_EQ(test, rx_record(env, MROCE_R_NACK)->stream, ENV_PEER);

	/* other streams, the other space, and afterwards: nothing is known */
	d.base.number = 10;
	d.stream++;
	mroce_rx_arrive(&env->rx, &d, 4, 4000, false, env->now, &op);
	KUNIT_EXPECT_FALSE(test, mroce_rx_unknown(&env->rx, &op));
	mroce_rx_finish(&env->rx, NULL, &op);
	d.base.number = 14;
	d.stream--;
	d.flags |= MROCE_F_RESPONSE;
	mroce_rx_arrive(&env->rx, &d, 4, 4000, false, env->now, &op);
	KUNIT_EXPECT_FALSE(test, mroce_rx_unknown(&env->rx, &op));
	mroce_rx_finish(&env->rx, NULL, &op);
	env->now += MROCE_TOMB_LIFE;
	d.base.number = 18;
	d.flags &= ~MROCE_F_RESPONSE;
	mroce_rx_arrive(&env->rx, &d, 4, 4000, false, env->now, &op);
	KUNIT_EXPECT_FALSE(test, mroce_rx_unknown(&env->rx, &op));
	mroce_rx_finish(&env->rx, NULL, &op);
}

/* Bounded: the oldest goes first. */
static void tombstones_are_bounded(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxs s;
	struct mroce_data d;
	struct mroce_rxop op;
	LIST_HEAD(held);
	u32 i;

	for (i = 0; i < MROCE_MAX_TOMBS + 1; i++) {
		mroce_rxs_init(&s, false, 1000 + i, 0, 6, 6);
		mroce_rxs_attach(&s, &env->rx, 1);
		mroce_rxs_detach(&s, env->now, &held);
	}
	for (i = 0; i < MROCE_MAX_TOMBS + 1; i++) {
		d = rx_data(env, MROCE_OP_WRITE, 0, 0, 900, 0, 1);
		d.stream = 1000 + i;
		d.base.number = i + 1;
		mroce_rx_arrive(&env->rx, &d, 1, 900, false, env->now, &op);
		KUNIT_EXPECT_EQ(test, mroce_rx_unknown(&env->rx, &op), i > 0);
		mroce_rx_finish(&env->rx, NULL, &op);
	}
}

/* They are memory for as long as the last is good; without memory there are none. */
static void tombstones_go(struct kunit *test)
{
	struct rx_env *env = test->priv;
	long before = sim_allocated();
	struct mroce_data d;
	struct mroce_rxop op;
	struct mroce_rxs s;
	LIST_HEAD(held);
	u32 i;

	for (i = 0; i < 2; i++) {
		mroce_rxs_init(&s, false, 1000 + i, 0, 6, 6);
		mroce_rxs_attach(&s, &env->rx, 1);
		mroce_rxs_detach(&s, env->now, &held);
		env->now += MROCE_TOMB_LIFE / 2;
	}
	env->now += MROCE_TOMB_LIFE / 2 - 1;
	mroce_rx_shrink(&env->rx, env->now);
	KUNIT_EXPECT_EQ(test, sim_allocated(), before + 1);
	d = rx_data(env, MROCE_OP_WRITE, 0, 0, 900, 0, 1);
	d.stream = 1001;
	mroce_rx_arrive(&env->rx, &d, 1, 900, false, env->now, &op);
	KUNIT_EXPECT_TRUE(test, mroce_rx_unknown(&env->rx, &op));
	mroce_rx_finish(&env->rx, NULL, &op);
	mroce_rx_shrink(&env->rx, ++env->now);
	KUNIT_EXPECT_EQ(test, sim_allocated(), before);

	sim_alloc_fail_after(0);
	mroce_rxs_init(&s, false, 1001, 0, 6, 6);
	mroce_rxs_attach(&s, &env->rx, 1);
	mroce_rxs_detach(&s, env->now, &held);
	sim_alloc_fail_after(-1);
	d.base.number++;
	mroce_rx_arrive(&env->rx, &d, 1, 900, false, env->now, &op);
	KUNIT_EXPECT_FALSE(test, mroce_rx_unknown(&env->rx, &op));
	mroce_rx_finish(&env->rx, NULL, &op);
}

static void no_memory(struct kunit *test)
{
	struct mroce_rx *rx = kunit_kzalloc(test, sizeof(*rx), GFP_KERNEL);
	struct mroce_hello hello = {};

	KUNIT_ASSERT_NOT_NULL(test, rx);
	sim_alloc_fail_after(0);
	KUNIT_EXPECT_EQ(test, mroce_rx_init(rx, 1, &hello, 16), -ENOMEM);
	mroce_rx_free(rx);
}

static struct kunit_case cases[] = { KUNIT_CASE(in_order_waits),
				     KUNIT_CASE(delay_ends),
				     KUNIT_CASE(delay_counts_from_arrival),
				     KUNIT_CASE(in_order_of_arrival),
				     KUNIT_CASE(hole_is_told_at_once),
				     KUNIT_CASE(first_packets_lost),
				     KUNIT_CASE(request_is_answered_at_once),
				     KUNIT_CASE(change_of_mark_is_told_at_once),
				     KUNIT_CASE(one_mark_a_datagram),
				     KUNIT_CASE(trains),
				     KUNIT_CASE(each_bit),
				     KUNIT_CASE(leaps),
				     KUNIT_CASE(numbers_wrap),
				     KUNIT_CASE(partial),
				     KUNIT_CASE(pending_numbers),
				     KUNIT_CASE(pending_below_the_reported),
				     KUNIT_CASE(stamps),
				     KUNIT_CASE(paths_and_epochs),
				     KUNIT_CASE(counts_include_refused),
				     KUNIT_CASE(nacks),
				     KUNIT_CASE(nacks_of_both_spaces),
				     KUNIT_CASE(many_records),
				     KUNIT_CASE(duplicates),
				     KUNIT_CASE(share_is_told),
				     KUNIT_CASE(tombstones),
				     KUNIT_CASE(tombstones_are_bounded),
				     KUNIT_CASE(tombstones_go),
				     KUNIT_CASE(no_memory),
				     {} };

struct kunit_suite mroce_rx_suite = {
	.name = "mroce_rx",
	.init = rx_env_init,
	.exit = rx_env_exit,
	.test_cases = cases,
};
