// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving side of a stream: claimed, held and placed; who may land what, and when it may be
 * told; messages and the cursor; refusals and credit.
 */
#include "suites.h"
#include "rx_env.h"

#define NONE MROCE_REASON_NONE

/* ---- claimed and placed ---- */

static void placed_moves_the_base(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	KUNIT_EXPECT_EQ(test,
			rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 3000, 0, 3), 3),
			NONE);
	KUNIT_EXPECT_EQ(test, op.claimed, 7);
	KUNIT_EXPECT_TRUE(test, op.inorder);
	KUNIT_EXPECT_EQ(test, env->req.copiers, 1);
	KUNIT_EXPECT_FALSE(test, mroce_rxs_begin(&env->req));
	mroce_rxs_placed(&env->req, &op, 1);
	KUNIT_EXPECT_EQ(test, env->req.base, 101);
	mroce_rxs_placed(&env->req, &op, 4);
	KUNIT_EXPECT_EQ(test, env->req.base, 101);
	mroce_rxs_placed(&env->req, &op, 2);
	KUNIT_EXPECT_EQ(test, env->req.base, 103);
	KUNIT_EXPECT_EQ(test, op.claimed, 0);
	KUNIT_EXPECT_EQ(test, op.bits, 7);
	rx_finish(env, &op);
	KUNIT_EXPECT_EQ(test, env->req.copiers, 0);
}

/*
 * A packet that meets a number being copied is dropped with its bit clear: it is no duplicate yet.
 */
static void meets_a_claimed_number(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop slow, op;

	rx_claim(test, &slow, 0, rx_data(env, MROCE_OP_SEND, 0, 0, 500, 0, 1), 1);
	KUNIT_EXPECT_EQ(test,
			rx_claim(test, &op, 1, rx_data(env, MROCE_OP_SEND, 0, 0, 500, 0, 1), 1),
			MROCE_REASON_RX_CLAIMED);
	KUNIT_EXPECT_EQ(test, op.claimed, 0);
	KUNIT_EXPECT_EQ(test, op.bits, 0);
	KUNIT_EXPECT_FALSE(test, op.duplicate);
	rx_finish(env, &op);
	rx_no_more_acks(env);
	KUNIT_EXPECT_FALSE(test, rx_reported(env, 1) && env->ack.base.path == 1);
	mroce_rxs_placed(&env->req, &slow, 1);
	rx_finish(env, &slow);
	KUNIT_EXPECT_EQ(test,
			rx_claim(test, &op, 1, rx_data(env, MROCE_OP_SEND, 0, 0, 500, 0, 1), 1),
			NONE);
	KUNIT_EXPECT_TRUE(test, op.duplicate);
	KUNIT_EXPECT_EQ(test, op.bits, 1);
	rx_finish(env, &op);
}

/* Of a train only what is new is copied. */
static void train_over_known_packets(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop slow, op;

	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 8000, 1, 2), 2);
	rx_claim(test, &slow, 1, rx_data(env, MROCE_OP_WRITE, 0, 0, 8000, 5, 1), 1);
	KUNIT_EXPECT_EQ(test,
			rx_claim(test, &op, 2, rx_data(env, MROCE_OP_WRITE, 0, 0, 8000, 0, 8), 8),
			NONE);
	KUNIT_EXPECT_EQ(test, op.claimed, 0xd9); /* all but 1, 2 (placed) and 5 (claimed) */
	KUNIT_EXPECT_EQ(test, op.bits, 0x06);
	KUNIT_EXPECT_FALSE(test, op.inorder);
	mroce_rxs_placed(&env->req, &op, op.claimed);
	KUNIT_EXPECT_EQ(test, op.bits, 0xdf);
	KUNIT_EXPECT_EQ(test, env->req.base, 105);
	rx_finish(env, &op);
	mroce_rxs_placed(&env->req, &slow, 1);
	KUNIT_EXPECT_EQ(test, env->req.base, 108);
	rx_finish(env, &slow);
}

/* A failed copy un-claims: as if it had been lost, and the next transmission is taken. */
static void unclaim_as_lost(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 3000, 0, 3), 3);
	mroce_rxs_placed(&env->req, &op, 1);
	mroce_rxs_unclaim(&env->req, &op, 6, MROCE_N_NONE, 0);
	KUNIT_EXPECT_EQ(test, op.bits, 1);
	rx_finish(env, &op);
	rx_no_more_acks(env);
	KUNIT_EXPECT_NULL(test, rx_record(env, MROCE_R_NACK));
	KUNIT_EXPECT_EQ(test,
			rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 3000, 1, 2), 2),
			NONE);
	KUNIT_EXPECT_EQ(test, op.claimed, 3);
	mroce_rxs_placed(&env->req, &op, 3);
	rx_finish(env, &op);
	KUNIT_EXPECT_EQ(test, env->req.base, 103);
}

/* numbers over the wrap, round and round the window */
static void numbers_wrap(struct kunit *test)
{
	struct rx_env *env = test->priv;
	u32 i;

	rx_env_restart(env, -70, 6, 6);
	for (i = 0; i < 300; i++) {
		if (i % 2) /* by pairs, the later first */
			rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, i - 1, i - 1, 10, 0, 1), 1);
		else
			rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, i + 1, i + 1, 10, 0, 1), 1);
		while (mroce_rxs_begin(&env->req))
			while (mroce_rxs_message(&env->req))
				;
	}
	KUNIT_EXPECT_EQ(test, env->req.base, 230);
	KUNIT_EXPECT_EQ(test, env->req.msn, 300);
}

static void beyond_the_window(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	rx_env_restart(env, -10, 6, 10);
	/* the window's last number is taken */
	KUNIT_EXPECT_EQ(test,
			rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 63, 63, 10, 0, 1), 1),
			NONE);
	KUNIT_EXPECT_EQ(test, op.claimed, 1);
	mroce_rxs_placed(&env->req, &op, 1);
	rx_finish(env, &op);
	KUNIT_EXPECT_EQ(test,
			rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 64, 64, 10, 0, 1), 1),
			NONE);
	KUNIT_EXPECT_EQ(test, op.claimed, 0);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_WINDOW);
	rx_finish(env, &op);
	/* of a train that crosses it, what lies inside */
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 60, 60, 10000, 0, 10), 10);
	KUNIT_EXPECT_EQ(test, op.claimed & ~7ULL, 0);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_WINDOW);
	mroce_rxs_unclaim(&env->req, &op, op.claimed, MROCE_N_NONE, 0);
	rx_finish(env, &op);
}

static void dead_stream(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	env->req.dead = true;
	KUNIT_EXPECT_EQ(test,
			rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 10, 0, 1), 1),
			MROCE_REASON_RX_STATE);
	KUNIT_EXPECT_EQ(test, op.claimed, 0);
	rx_finish(env, &op);
	KUNIT_EXPECT_EQ(test, env->req.copiers, 0);
}

/* ---- held ---- */

/*
 * Write @msn of 3 packets from number @first on without its @missing packet; its last one is held
 * in @held
 */
static void write_with_a_hole(struct kunit *test, u32 msn, u32 first, u32 missing,
			      struct mroce_held *held)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;
	u32 i;

	for (i = 0; i < 3; i++) {
		if (i == missing)
			continue;
		KUNIT_EXPECT_EQ(test,
				rx_claim(test, &op, 0,
					 rx_data(env, MROCE_OP_WRITE, msn, first, 3000, i, 1), 1),
				NONE);
		if (i == 2) {
			KUNIT_ASSERT_TRUE(test, mroce_rxs_hold(&env->req, &op, 0, held));
			KUNIT_EXPECT_EQ(test, op.bits,
					1); /* held counts as placed for the bitmap */
		} else {
			mroce_rxs_placed(&env->req, &op, 1);
		}
		KUNIT_EXPECT_NULL(test, mroce_rxs_land(&env->req, &op));
		rx_finish(env, &op);
	}
}

static void held_until_the_hole_closes(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_held held, *h;
	struct mroce_rxop op;

	write_with_a_hole(test, 0, 0, 1, &held);
	KUNIT_EXPECT_EQ(test, env->req.base, 101);
	KUNIT_EXPECT_FALSE(test, mroce_rxs_begin(&env->req));
	/* again while it is held: a duplicate */
	rx_claim(test, &op, 1, rx_data(env, MROCE_OP_WRITE, 0, 0, 3000, 2, 1), 1);
	KUNIT_EXPECT_TRUE(test, op.duplicate);
	KUNIT_EXPECT_EQ(test, op.bits, 1);
	rx_finish(env, &op);

	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 3000, 1, 1), 1);
	mroce_rxs_placed(&env->req, &op, 1);
	h = mroce_rxs_land(&env->req, &op);
	KUNIT_ASSERT_PTR_EQ(test, h, &held);
	KUNIT_EXPECT_EQ(test, env->req.base, 102);
	KUNIT_EXPECT_FALSE(test, mroce_rxs_begin(&env->req));
	mroce_rxs_landed(&env->req, &op, held.spn, MROCE_N_NONE);
	KUNIT_EXPECT_EQ(test, env->req.base, 103);
	KUNIT_EXPECT_NULL(test, mroce_rxs_land(&env->req, &op));
	rx_finish(env, &op);
	KUNIT_EXPECT_TRUE(test, mroce_rxs_begin(&env->req));
	KUNIT_EXPECT_NOT_NULL(test, mroce_rxs_message(&env->req));
	KUNIT_EXPECT_NULL(test, mroce_rxs_message(&env->req));
}

/* At the base there is nothing to wait for; also if the base moved after the claim. */
static void not_held_at_the_base(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop last;
	struct mroce_held held;

	rx_claim(test, &last, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 3000, 2, 1), 1);
	KUNIT_EXPECT_FALSE(test, last.inorder);
	rx_take(test, 1, rx_data(env, MROCE_OP_WRITE, 0, 0, 3000, 0, 2), 2);
	KUNIT_EXPECT_FALSE(test, mroce_rxs_hold(&env->req, &last, 0, &held));
	KUNIT_EXPECT_EQ(test, last.claimed, 1);
	mroce_rxs_placed(&env->req, &last, 1);
	rx_finish(env, &last);
	KUNIT_EXPECT_EQ(test, env->req.base, 103);
}

/* Held packets land in the order of their numbers, whatever the order in which they came. */
static void held_land_in_order(struct kunit *test)
{
	static const u32 order[] = { 5, 2, 4, 1, 3 };
	struct rx_env *env = test->priv;
	struct mroce_held held[6], *h;
	struct mroce_rxop op;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, order[i], order[i], 10, 0, 1),
			 1);
		KUNIT_ASSERT_TRUE(test, mroce_rxs_hold(&env->req, &op, 0, &held[order[i]]));
		rx_finish(env, &op);
	}
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 10, 0, 1), 1);
	mroce_rxs_placed(&env->req, &op, 1);
	for (i = 1; i < 6; i++) {
		h = mroce_rxs_land(&env->req, &op);
		KUNIT_ASSERT_PTR_EQ(test, h, &held[i]);
		mroce_rxs_landed(&env->req, &op, h->spn, MROCE_N_NONE);
	}
	KUNIT_EXPECT_NULL(test, mroce_rxs_land(&env->req, &op));
	rx_finish(env, &op);
	KUNIT_EXPECT_EQ(test, env->req.base, 106);
}

/*
 * Who closed the hole lands what it released; nobody else may, for its own number must not be told
 * before.
 */
static void the_closer_lands(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop closer, other;
	struct mroce_held held;

	write_with_a_hole(test, 0, 0, 1, &held);
	rx_claim(test, &other, 1, rx_data(env, MROCE_OP_WRITE, 1, 3, 3000, 0, 1), 1);
	rx_claim(test, &closer, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 3000, 1, 1), 1);
	mroce_rxs_placed(&env->req, &closer, 1);
	mroce_rxs_placed(&env->req, &other, 1);
	KUNIT_EXPECT_NULL(test, mroce_rxs_land(&env->req, &other));
	rx_finish(env, &other);
	KUNIT_EXPECT_PTR_EQ(test, mroce_rxs_land(&env->req, &closer), &held);
	mroce_rxs_landed(&env->req, &closer, held.spn, MROCE_N_NONE);
	KUNIT_EXPECT_NULL(test, mroce_rxs_land(&env->req, &closer));
	rx_finish(env, &closer);
	KUNIT_EXPECT_EQ(test, env->req.base, 104);
}

/*
 * While held packets land, nothing tells that the hole before them is closed: no ACK, duplicate,
 * RELEASE or message.
 */
static void silence_while_landing(struct kunit *test)
{
	struct rx_env *env = test->priv;
	const struct mroce_record_news *release;
	struct mroce_rxop closer, again, early;
	u32 number, released = 0;
	struct mroce_held held;
	bool reported = false;

	rx_take(test, 2, rx_data(env, MROCE_OP_READ, 0, 0, 100, 0, 1), 1);
	write_with_a_hole(test, 1, 1, 1, &held);
	/* a duplicate from before wants a RELEASE */
	rx_claim(test, &early, 3, rx_data(env, MROCE_OP_READ, 0, 0, 100, 0, 1), 1);
	KUNIT_EXPECT_TRUE(test, early.duplicate);
	rx_finish(env, &early);
	number = env->number[0];
	rx_claim(test, &closer, 0, rx_data(env, MROCE_OP_WRITE, 1, 1, 3000, 1, 1), 1);
	mroce_rxs_placed(&env->req, &closer, 1);
	KUNIT_ASSERT_NOT_NULL(test, mroce_rxs_land(&env->req, &closer));

	rx_claim(test, &again, 1, rx_data(env, MROCE_OP_WRITE, 1, 1, 3000, 1, 1), 1);
	KUNIT_EXPECT_FALSE(test, again.duplicate);
	KUNIT_EXPECT_EQ(test, again.bits, 0);
	rx_finish(env, &again);
	KUNIT_EXPECT_FALSE(test, mroce_rxs_begin(&env->req));
	while (rx_ack(env)) {
		KUNIT_EXPECT_NULL(test, rx_record(env, MROCE_R_RELEASE));
		KUNIT_EXPECT_FALSE(test, env->ack.base.path == 0 && rx_reported(env, number));
	}
	mroce_rxs_landed(&env->req, &closer, held.spn, MROCE_N_NONE);
	KUNIT_EXPECT_NULL(test, mroce_rxs_land(&env->req, &closer));
	rx_finish(env, &closer);
	env->now += MROCE_ACK_DELAY;
	mroce_rx_timer(&env->rx, env->now);
	while (rx_ack(env)) {
		reported |= env->ack.base.path == 0 && rx_reported(env, number);
		release = rx_record(env, MROCE_R_RELEASE);
		if (release)
			released = release->spn;
	}
	KUNIT_EXPECT_TRUE(test, reported);
	KUNIT_EXPECT_EQ(test, released, 104);
	KUNIT_EXPECT_TRUE(test, mroce_rxs_begin(&env->req));
}

/* One that cannot land any more (its key is gone) ends the stream there. */
static void cannot_land(struct kunit *test)
{
	struct rx_env *env = test->priv;
	const struct mroce_record_news *r;
	struct mroce_held held;
	struct mroce_rxop op;

	write_with_a_hole(test, 0, 0, 1, &held);
	rx_no_more_acks(env);
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 3000, 1, 1), 1);
	mroce_rxs_placed(&env->req, &op, 1);
	KUNIT_ASSERT_NOT_NULL(test, mroce_rxs_land(&env->req, &op));
	mroce_rxs_landed(&env->req, &op, held.spn, MROCE_N_ACCESS);
	KUNIT_EXPECT_NULL(test, mroce_rxs_land(&env->req, &op));
	rx_finish(env, &op);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	r = rx_record(env, MROCE_R_NACK);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->reason, MROCE_N_ACCESS);
	KUNIT_EXPECT_EQ(test, r->spn, held.spn);
	KUNIT_EXPECT_EQ(test, r->value, 0);
	KUNIT_EXPECT_FALSE(test, mroce_rxs_begin(&env->req));
	/* nor is anything later taken */
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 1, 3, 30, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_ACCESS);
	rx_finish(env, &op);
}

static void held_when_the_stream_ends(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_held held;
	LIST_HEAD(list);

	write_with_a_hole(test, 0, 0, 1, &held);
	mroce_rxs_detach(&env->req, env->now, &list);
	KUNIT_EXPECT_PTR_EQ(test, list.next, &held.node);
	KUNIT_EXPECT_PTR_EQ(test, held.node.next, &list);
}

/* ---- messages ---- */

static void messages_in_order(struct kunit *test)
{
	struct rx_env *env = test->priv;
	const struct mroce_desc *d;
	u32 i;

	/* the second and the third are whole before the first */
	rx_take(test, 0, rx_data(env, MROCE_OP_SEND_IMM, 1, 2, 500, 0, 1), 1);
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 2, 3, 2500, 1, 2), 2);
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 2, 3, 2500, 0, 1), 1);
	KUNIT_EXPECT_FALSE(test, mroce_rxs_begin(&env->req));
	rx_take(test, 1, rx_data(env, MROCE_OP_SEND, 0, 0, 1500, 1, 1), 1);
	KUNIT_EXPECT_FALSE(test, mroce_rxs_begin(&env->req));
	rx_take(test, 1, rx_data(env, MROCE_OP_SEND, 0, 0, 1500, 0, 1), 1);
	KUNIT_EXPECT_TRUE(test, mroce_rxs_begin(&env->req));
	KUNIT_EXPECT_FALSE(test, mroce_rxs_begin(&env->req)); /* one at a time */
	for (i = 0; i < 3; i++) {
		d = mroce_rxs_message(&env->req);
		KUNIT_ASSERT_NOT_NULL(test, d);
		KUNIT_EXPECT_EQ(test, d->msn, i);
		KUNIT_EXPECT_EQ(test, d->rsn, i);
		/* of the first byte, from any packet */
		KUNIT_EXPECT_EQ(test, d->addr, i == 2 ? 0x30000 : 0);
	}
	KUNIT_EXPECT_NULL(test, mroce_rxs_message(&env->req));
	KUNIT_EXPECT_FALSE(test, env->req.running);
}

/* The ring of messages grows, and keeps what it holds. */
static void many_messages_ahead(struct kunit *test)
{
	struct rx_env *env = test->priv;
	const struct mroce_desc *d;
	u32 i;

	rx_env_restart(env, 7, 12, 10);
	for (i = 999; i; i -= 3)
		rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, i, i, 100 + i % 50, 0, 1), 1);
	for (i = 0; i < 1000; i++)
		if (i % 3 || !i)
			rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, i, i, 100 + i % 50, 0, 1), 1);
	KUNIT_ASSERT_TRUE(test, mroce_rxs_begin(&env->req));
	for (i = 0; (d = mroce_rxs_message(&env->req)); i++) {
		KUNIT_EXPECT_EQ(test, d->msn, i);
		KUNIT_EXPECT_EQ(test, d->length, 100 + i % 50);
	}
	KUNIT_EXPECT_EQ(test, i, 1000);
}

static void message_window(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	rx_env_restart(env, 0, 8, 2);
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 3, 3, 10, 0, 1), 1);
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 4, 4, 10, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_WINDOW);
	rx_finish(env, &op);
	/* the cursor opens it */
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 10, 0, 1), 1);
	KUNIT_ASSERT_TRUE(test, mroce_rxs_begin(&env->req));
	KUNIT_EXPECT_NOT_NULL(test, mroce_rxs_message(&env->req));
	KUNIT_EXPECT_NULL(test, mroce_rxs_message(&env->req));
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 4, 4, 10, 0, 1), 1);
}

static void malformed(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_data d;
	struct mroce_rxop op;
	u32 i;

	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 4000, 0, 1), 1);
	for (i = 0; i < 7; i++) {
		d = rx_data(env, MROCE_OP_WRITE, 0, 0, 4000, 1, 1);
		switch (i) {
		case 0:
			d.length = 5000;
			break;
		case 1:
			d.rkey++;
			break;
		case 2:
			d.addr += 8;
			break;
		case 3:
			d.opcode = MROCE_OP_WRITE_IMM;
			break;
		case 4:
			d.spn++; /* the same message from another number on */
			break;
		case 5:
			d.psize = 500;
			break;
		case 6:
			/* as many packets, of another size */
			d.psize = 1100;
			d.offset = 1100;
			d.addr += 100;
			break;
		}
		KUNIT_EXPECT_EQ_MSG(test, rx_claim(test, &op, 0, d, 1), MROCE_REASON_RX_MALFORMED,
				    "case %u", i);
		KUNIT_EXPECT_EQ(test, op.claimed, 0);
		rx_finish(env, &op);
	}
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 4000, 1, 3), 3);
	KUNIT_ASSERT_TRUE(test, mroce_rxs_begin(&env->req));
	KUNIT_EXPECT_NOT_NULL(test, mroce_rxs_message(&env->req));
	KUNIT_EXPECT_NULL(test, mroce_rxs_message(&env->req));
	/* a new number of a message that the cursor has passed */
	KUNIT_EXPECT_EQ(test,
			rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 4, 10, 0, 1), 1),
			MROCE_REASON_RX_MALFORMED);
	rx_finish(env, &op);
}

static void reads_are_limited(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	env->req.reads_max = 2;
	rx_take(test, 0, rx_data(env, MROCE_OP_READ, 1, 1, 100, 0, 1), 1);
	rx_take(test, 0, rx_data(env, MROCE_OP_FETCH_ADD, 2, 2, 8, 0, 1), 1);
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_READ, 3, 3, 100, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_READS);
	KUNIT_EXPECT_EQ(test, op.claimed, 0);
	rx_finish(env, &op);
	/* a Write is none */
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 100, 0, 1), 1);
	KUNIT_ASSERT_TRUE(test, mroce_rxs_begin(&env->req));
	while (mroce_rxs_message(&env->req))
		;
	rx_take(test, 0, rx_data(env, MROCE_OP_READ, 3, 3, 100, 0, 1), 1);
}

/* those behind it wait for it, so their number must not keep it out */
static void first_read_is_taken(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	env->req.reads_max = 2;
	rx_take(test, 0, rx_data(env, MROCE_OP_READ, 1, 1, 100, 0, 1), 1);
	rx_take(test, 0, rx_data(env, MROCE_OP_READ, 2, 2, 100, 0, 1), 1);
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_READ, 3, 3, 100, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_READS);
	rx_finish(env, &op);
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_READ, 0, 0, 100, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_NONE);
	KUNIT_EXPECT_EQ(test, op.claimed, 1);
	mroce_rxs_placed(&env->req, &op, op.claimed);
	rx_finish(env, &op);
}

/* ---- credit and refusals ---- */

static void credit(struct kunit *test)
{
	struct rx_env *env = test->priv;
	const struct mroce_record_news *r;
	struct mroce_rxop op;

	KUNIT_EXPECT_FALSE(test, mroce_rxs_credit(&env->req, 1));
	env->req.rnr_timer = 14;
	rx_take(test, 0, rx_data(env, MROCE_OP_SEND, 0, 0, 100, 0, 1), 1);
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_SEND, 1, 1, 100, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_RNR);
	rx_finish(env, &op);
	rx_no_more_acks(env);
	r = rx_record(env, MROCE_R_NACK);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->reason, MROCE_N_RNR);
	KUNIT_EXPECT_EQ(test, r->timer, 14);
	KUNIT_EXPECT_EQ(test, r->spn, 101);
	KUNIT_EXPECT_EQ(test, r->number, 2);
	r = rx_record(env, MROCE_R_CREDIT);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->value, 1);
	/*
	 * what follows is refused as well, though it needs no buffer: it would complete out of
	 * order
	 */
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 2, 2, 100, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_RNR);
	rx_finish(env, &op);
	/* the sender was refused: it must be told, once */
	KUNIT_EXPECT_TRUE(test, mroce_rxs_credit(&env->req, 3));
	KUNIT_EXPECT_FALSE(test, mroce_rxs_credit(&env->req, 4));
	KUNIT_EXPECT_FALSE(test, mroce_rxs_credit(&env->req, 2)); /* it never goes back */
	KUNIT_EXPECT_EQ(test, env->req.credit, 4);
	rx_take(test, 0, rx_data(env, MROCE_OP_SEND, 1, 1, 100, 0, 1), 1);
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 2, 2, 100, 0, 1), 1);
}

/* FAULT and MEMORY: refused for a time, then taken. */
static void refused_for_a_time(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 1, 1, 100, 0, 1), 1);
	mroce_rxs_unclaim(&env->req, &op, 1, MROCE_N_FAULT, 5);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_FAULT);
	rx_finish(env, &op);
	rx_no_more_acks(env);
	KUNIT_ASSERT_NOT_NULL(test, rx_record(env, MROCE_R_NACK));
	KUNIT_EXPECT_EQ(test, rx_record(env, MROCE_R_NACK)->timer, 5);
	/* earlier messages are taken meanwhile */
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 100, 0, 1), 1);
	env->now += 4 * MROCE_MSEC;
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 1, 1, 100, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_FAULT);
	rx_finish(env, &op);
	env->now += MROCE_MSEC;
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 1, 1, 100, 0, 1), 1);
}

/* Without credit, as of an SRQ, only the message that found no buffer may try again. */
static void refused_without_credit(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;
	u32 i;

	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_SEND, 0, 0, 100, 0, 1), 1);
	mroce_rxs_unclaim(&env->req, &op, 1, MROCE_N_RNR, 5);
	rx_finish(env, &op);
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_SEND, 1, 1, 100, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_RNR);
	rx_finish(env, &op);
	for (i = 0; i < 2; i++) {
		rx_take(test, 0, rx_data(env, MROCE_OP_SEND, i, i, 100, 0, 1), 1);
		KUNIT_EXPECT_EQ(test, env->req.base, env->psn + i + 1);
	}
}

static void refused_for_ever(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 1, 1, 100, 0, 1), 1);
	mroce_rxs_unclaim(&env->req, &op, 1, MROCE_N_ACCESS, 0);
	rx_finish(env, &op);
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 100, 0, 1), 1);
	env->now += 10000 * MROCE_MSEC;
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 1, 1, 100, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_ACCESS);
	rx_finish(env, &op);
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_SEND, 2, 2, 100, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_ACCESS);
	rx_finish(env, &op);
	KUNIT_ASSERT_TRUE(test, mroce_rxs_begin(&env->req));
	KUNIT_EXPECT_NOT_NULL(test, mroce_rxs_message(&env->req));
	KUNIT_EXPECT_NULL(test, mroce_rxs_message(&env->req));
}

/*
 * The hold limit: what is refused for it is taken again; and never the packet at the lowest hole.
 */
static void refused_for_the_hold_limit(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 2, 2, 100, 0, 1), 1);
	mroce_rxs_unclaim(&env->req, &op, 1, MROCE_N_HOLD, 0);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_HOLD);
	rx_finish(env, &op);
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 3, 3, 100, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_HOLD);
	rx_finish(env, &op);
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 100, 0, 1), 1);
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 1, 1, 100, 0, 1), 1);
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 2, 2, 100, 0, 1), 1);
	rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 3, 3, 100, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, env->req.base, 104);
}

/* An error that the cursor finds: nothing from there on is handed over or taken. */
static void refused_at_the_cursor(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;
	u32 i;

	for (i = 0; i < 3; i++)
		rx_take(test, 0, rx_data(env, MROCE_OP_READ, i, i, 100, 0, 1), 1);
	KUNIT_ASSERT_TRUE(test, mroce_rxs_begin(&env->req));
	KUNIT_EXPECT_NOT_NULL(test, mroce_rxs_message(&env->req));
	mroce_rxs_refuse(&env->req, 1, MROCE_N_ACCESS);
	KUNIT_EXPECT_NULL(test, mroce_rxs_message(&env->req));
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_READ, 3, 3, 100, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_ACCESS);
	rx_finish(env, &op);
}

/* Memory for the stream's state: refused until there is some. */
static void no_memory(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;
	u32 n;

	for (n = 0; n < 2; n++) {
		rx_env_restart(env, 5, 8, 6);
		sim_alloc_fail_after(n);
		rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 100, 0, 1), 1);
		sim_alloc_fail_after(-1);
		KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_MEMORY);
		KUNIT_EXPECT_EQ(test, op.claimed, 0);
		rx_finish(env, &op);
		env->now += 100 * MROCE_MSEC;
		rx_take(test, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 100, 0, 1), 1);
	}
}

/* The two spaces have nothing to do with each other. */
static void spaces(struct kunit *test)
{
	struct rx_env *env = test->priv;
	const struct mroce_desc *d;
	struct mroce_rxop op;

	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 100, 0, 1), 1);
	mroce_rxs_unclaim(&env->req, &op, 1, MROCE_N_ACCESS, 0);
	rx_finish(env, &op);
	rx_take(test, 0, rx_data(env, MROCE_OP_READ_RESP, 0, 0, 2500, 0, 3), 3);
	KUNIT_EXPECT_EQ(test, env->resp.base, 3);
	KUNIT_EXPECT_EQ(test, env->req.base, 100);
	KUNIT_ASSERT_TRUE(test, mroce_rxs_begin(&env->resp));
	d = mroce_rxs_message(&env->resp);
	KUNIT_ASSERT_NOT_NULL(test, d);
	KUNIT_EXPECT_EQ(test, d->opcode, MROCE_OP_READ_RESP);
	KUNIT_EXPECT_NULL(test, mroce_rxs_message(&env->resp));
}

/* Some of a response has arrived when its source goes: an error takes the place of the rest. */
static void error_in_place_of_a_response(struct kunit *test)
{
	struct rx_env *env = test->priv;
	const struct mroce_desc *d;
	struct mroce_data e;

	rx_take(test, 0, rx_data(env, MROCE_OP_READ_RESP, 0, 0, 2500, 0, 2), 2);
	e = rx_data(env, MROCE_OP_READ_RESP, 0, 0, 2500, 2, 1);
	e.opcode = MROCE_OP_ERROR_RESP;
	e.imm = MROCE_N_ACCESS;
	e.offset = 0;
	e.length = 0;
	rx_take(test, 0, e, 1);
	KUNIT_ASSERT_TRUE(test, mroce_rxs_begin(&env->resp));
	d = mroce_rxs_message(&env->resp);
	KUNIT_ASSERT_NOT_NULL(test, d);
	KUNIT_EXPECT_EQ(test, d->opcode, MROCE_OP_ERROR_RESP);
	KUNIT_EXPECT_EQ(test, d->imm, MROCE_N_ACCESS);
}

/* The rest of that response, late: it does not count, and its sender says the error again. */
static void response_behind_an_error(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_data e = rx_data(env, MROCE_OP_READ_RESP, 0, 0, 2500, 1, 1);
	struct mroce_rxop op;

	e.opcode = MROCE_OP_ERROR_RESP;
	e.imm = MROCE_N_ACCESS;
	e.offset = 0;
	e.length = 0;
	rx_take(test, 0, e, 1);
	KUNIT_EXPECT_EQ(test,
			rx_claim(test, &op, 0, rx_data(env, MROCE_OP_READ_RESP, 0, 0, 2500, 0, 1),
				 1),
			MROCE_REASON_RX_MALFORMED);
	KUNIT_EXPECT_EQ(test, op.claimed, 0);
	rx_finish(env, &op);
	e.spn--;
	rx_take(test, 0, e, 1);
	KUNIT_EXPECT_TRUE(test, mroce_rxs_begin(&env->resp));
	KUNIT_EXPECT_NOT_NULL(test, mroce_rxs_message(&env->resp));
}

/*
 * A hostile peer gives a number of one message to another: the first looks whole, and its bytes
 * were never written. It does not complete, and nothing does from there on.
 */
static void number_of_two_messages(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	rx_take(test, 0, rx_data(env, MROCE_OP_SEND, 0, 0, 500, 0, 1), 1);
	rx_take(test, 0, rx_data(env, MROCE_OP_SEND, 1, 1, 3000, 0, 1), 1);
	rx_take(test, 0, rx_data(env, MROCE_OP_SEND, 2, 2, 500, 0, 1), 1);
	rx_take(test, 0, rx_data(env, MROCE_OP_SEND, 1, 1, 3000, 2, 1), 1);
	KUNIT_EXPECT_EQ(test, env->req.base, 104);
	KUNIT_ASSERT_TRUE(test, mroce_rxs_begin(&env->req));
	KUNIT_EXPECT_NOT_NULL(test, mroce_rxs_message(&env->req));
	KUNIT_EXPECT_NULL(test, mroce_rxs_message(&env->req));
	KUNIT_EXPECT_FALSE(test, mroce_rxs_begin(&env->req));
	KUNIT_EXPECT_TRUE(test, env->req.refusing);
	KUNIT_EXPECT_EQ(test, env->req.refuse_msn, 1);
	KUNIT_EXPECT_EQ(test,
			rx_claim(test, &op, 0, rx_data(env, MROCE_OP_SEND, 3, 4, 500, 0, 1), 1),
			NONE);
	KUNIT_EXPECT_EQ(test, op.refused, MROCE_N_LENGTH);
	rx_finish(env, &op);
}

/* Held packets count when they are held, once. */
static void held_packets_count(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_held held;
	struct mroce_rxop op;

	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 3000, 2, 1), 1);
	KUNIT_ASSERT_TRUE(test, mroce_rxs_hold(&env->req, &op, 0, &held));
	rx_finish(env, &op);
	rx_claim(test, &op, 0, rx_data(env, MROCE_OP_WRITE, 0, 0, 3000, 0, 2), 2);
	mroce_rxs_placed(&env->req, &op, op.claimed);
	KUNIT_ASSERT_PTR_EQ(test, mroce_rxs_land(&env->req, &op), &held);
	mroce_rxs_landed(&env->req, &op, held.spn, MROCE_N_NONE);
	rx_finish(env, &op);
	KUNIT_ASSERT_TRUE(test, mroce_rxs_begin(&env->req));
	KUNIT_EXPECT_NOT_NULL(test, mroce_rxs_message(&env->req));
}

static struct kunit_case cases[] = { KUNIT_CASE(placed_moves_the_base),
				     KUNIT_CASE(meets_a_claimed_number),
				     KUNIT_CASE(train_over_known_packets),
				     KUNIT_CASE(unclaim_as_lost),
				     KUNIT_CASE(numbers_wrap),
				     KUNIT_CASE(beyond_the_window),
				     KUNIT_CASE(dead_stream),
				     KUNIT_CASE(held_until_the_hole_closes),
				     KUNIT_CASE(not_held_at_the_base),
				     KUNIT_CASE(held_land_in_order),
				     KUNIT_CASE(the_closer_lands),
				     KUNIT_CASE(silence_while_landing),
				     KUNIT_CASE(cannot_land),
				     KUNIT_CASE(held_when_the_stream_ends),
				     KUNIT_CASE(messages_in_order),
				     KUNIT_CASE(many_messages_ahead),
				     KUNIT_CASE(message_window),
				     KUNIT_CASE(malformed),
				     KUNIT_CASE(reads_are_limited),
				     KUNIT_CASE(first_read_is_taken),
				     KUNIT_CASE(credit),
				     KUNIT_CASE(refused_for_a_time),
				     KUNIT_CASE(refused_without_credit),
				     KUNIT_CASE(refused_for_ever),
				     KUNIT_CASE(refused_for_the_hold_limit),
				     KUNIT_CASE(refused_at_the_cursor),
				     KUNIT_CASE(no_memory),
				     KUNIT_CASE(spaces),
				     KUNIT_CASE(error_in_place_of_a_response),
				     KUNIT_CASE(response_behind_an_error),
				     KUNIT_CASE(number_of_two_messages),
				     KUNIT_CASE(held_packets_count),
				     {} };

struct kunit_suite mroce_rx_stream_suite = {
	.name = "mroce_rx_stream",
	.init = rx_env_init,
	.exit = rx_env_exit,
	.test_cases = cases,
};
