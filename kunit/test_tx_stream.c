// SPDX-License-Identifier: GPL-2.0
/*
 * Streams of the sending half: order of completion, limits, refusals and the pauses that they mean,
 * the deadline, ordered Writes, responses, and the end.
 */
#include "suites.h"
#include "tx_env.h"

static void acknowledge_all(struct tx_env *env)
{
	u32 i;

	for (i = 0; i < env->tx.npaths; i++)
		if (env->tx.path[i].head != env->tx.path[i].tail) {
			tx_ack_new(env, i, env->tx.path[i].next - 1);
			tx_ack(env);
		}
}

/*
 * An ACK of the transmission in env->x that carries @reason for its first packet, whose bits are
 * clear.
 */
static void refuse(struct tx_env *env, u8 reason, u8 timer)
{
	u32 i, number = env->x.data.base.number;

	tx_ack_new(env, env->x.path, number + env->x.count - 1);
	for (i = 0; i < env->x.count; i++)
		tx_ack_miss(env, number + i);
	tx_ack_nack(env, 0, reason, timer, env->x.data.spn, number);
	tx_ack(env);
}

/* ---- messages ---- */

static void header_fields(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_post post = { .opcode = MROCE_OP_WRITE_IMM,
				   .length = 2500,
				   .addr = 0x7000,
				   .rkey = 0x55,
				   .imm = 0x66,
				   .wr = 3,
				   .flags = MROCE_F_SOLICITED };
	struct mroce_data *d = &env->x.data;

	tx_open(test, 0);
	env->floor = 0x1234;
	tx_post(env, 0, MROCE_OP_SEND, 10);
	mroce_txs_post(&env->req[0], &post, env->now);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, d->rsn, 0);
	KUNIT_EXPECT_EQ(test, d->flags & (MROCE_F_FIRST | MROCE_F_LAST),
			MROCE_F_FIRST | MROCE_F_LAST);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.count, 3);
	KUNIT_EXPECT_EQ(test, env->x.bytes, 2500);
	KUNIT_EXPECT_EQ(test, env->x.msg->wr, 3);
	KUNIT_EXPECT_EQ(test, d->base.id, ENV_PEER_ID);
	KUNIT_EXPECT_EQ(test, d->stream, ENV_PEER(0));
	KUNIT_EXPECT_EQ(test, d->spn, ENV_PSN + 1);
	KUNIT_EXPECT_EQ(test, d->msn, 1);
	KUNIT_EXPECT_EQ(test, d->rsn, 1);
	KUNIT_EXPECT_EQ(test, d->offset, 0);
	KUNIT_EXPECT_EQ(test, d->length, 2500);
	KUNIT_EXPECT_EQ(test, d->addr, 0x7000);
	KUNIT_EXPECT_EQ(test, d->rkey, 0x55);
	KUNIT_EXPECT_EQ(test, d->imm, 0x66);
	KUNIT_EXPECT_EQ(test, d->psize, ENV_PSIZE);
	KUNIT_EXPECT_EQ(test, d->floor, 0x1234);
	KUNIT_EXPECT_EQ(test, d->stamp, (u32)(env->now >> MROCE_STAMP_SHIFT));
	KUNIT_EXPECT_TRUE(test, d->flags & MROCE_F_SOLICITED);
	KUNIT_EXPECT_TRUE(test, d->flags & MROCE_F_FIRST && d->flags & MROCE_F_LAST);
	KUNIT_EXPECT_FALSE(test, d->flags & MROCE_F_RESPONSE);
}

static void completions_in_order(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, first, msn = 0;
	struct mroce_msg *m;

	tx_env_restart(test, 1, ENV_PSIZE);
	tx_open(test, 0);
	mroce_cc_window(&env->tx, &env->tx.path[0], 100000);
	first = env->tx.path[0].next;
	for (i = 0; i < 6; i++)
		tx_post(env, 0, MROCE_OP_SEND, 2000);
	KUNIT_ASSERT_EQ(test, tx_pick_all(env), 12);
	/* all but number 1, the second packet of message 0 */
	tx_ack_new(env, 0, first + 11);
	tx_ack_miss(env, first + 1);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 0);
	KUNIT_EXPECT_NULL(test, mroce_tx_done(&env->tx));
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	tx_ack_new(env, 0, first + 12);
	tx_ack(env);
	KUNIT_EXPECT_PTR_EQ(test, mroce_tx_done(&env->tx), &env->req[0]);
	KUNIT_EXPECT_NULL(test, mroce_tx_done(&env->tx));
	while ((m = mroce_txs_complete(&env->req[0])))
		KUNIT_EXPECT_EQ(test, m->msn, msn++);
	KUNIT_EXPECT_EQ(test, msn, 6);
}

/* A message does not complete while one of its transmissions is being built from its memory. */
static void busy_messages_wait(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_xmit *x = &env->x;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	KUNIT_ASSERT_EQ(test, mroce_tx_pick(&env->tx, env->now, x), 1);
	KUNIT_EXPECT_EQ(test, env->req[0].busy, 1);
	tx_ack_new(env, x->path, x->data.base.number);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 0);
	KUNIT_EXPECT_NULL(test, mroce_tx_done(&env->tx));
	mroce_tx_sent(&env->tx, x, 0, MROCE_REASON_NONE);
	KUNIT_EXPECT_PTR_EQ(test, mroce_tx_done(&env->tx), &env->req[0]);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
}

/* A message that cannot be built fails its stream there; what was before it completes. */
static void cannot_be_built(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 number;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	number = env->x.data.base.number;
	tx_ack_new(env, env->x.path, number);
	KUNIT_ASSERT_EQ(test, mroce_tx_pick(&env->tx, env->now, &env->x), 1);
	mroce_tx_sent(&env->tx, &env->x, -EFAULT, MROCE_REASON_ERR_LOCAL_KEY);
	KUNIT_EXPECT_FALSE(test, mroce_txs_is_failed(&env->req[0]));
	KUNIT_EXPECT_FALSE(test, tx_pick_data(env)); /* nothing after it is sent */
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
	KUNIT_EXPECT_TRUE(test, mroce_txs_is_failed(&env->req[0]));
	KUNIT_EXPECT_EQ(test, env->req[0].fail_msn, 1);
	KUNIT_EXPECT_EQ(test, env->req[0].fail_reason, MROCE_REASON_ERR_LOCAL_KEY);
}

static void ring_is_full(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	tx_open(test, 0);
	for (i = 0; i < ENV_MSGS; i++)
		KUNIT_ASSERT_NOT_NULL(test, tx_post(env, 0, MROCE_OP_SEND, 10));
	KUNIT_EXPECT_NULL(test, tx_post(env, 0, MROCE_OP_SEND, 10));
	KUNIT_EXPECT_EQ(test, env->req[0].msn_end, ENV_MSGS);
	tx_pick_data(env);
	acknowledge_all(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
	KUNIT_EXPECT_NOT_NULL(test, tx_post(env, 0, MROCE_OP_SEND, 10));
	KUNIT_EXPECT_NULL(test, mroce_txs_msg(&env->req[0], 0));
	KUNIT_EXPECT_NOT_NULL(test, mroce_txs_msg(&env->req[0], 1));
	KUNIT_EXPECT_NOT_NULL(test, mroce_txs_msg(&env->req[0], ENV_MSGS));
	KUNIT_EXPECT_NULL(test, mroce_txs_msg(&env->req[0], ENV_MSGS + 1));
}

/* ---- limits ---- */

static void packet_window(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, n;

	tx_open(test, 0);
	for (i = 0; i < 4; i++)
		mroce_cc_window(&env->tx, &env->tx.path[i], 1 << 20);
	tx_post(env, 0, MROCE_OP_WRITE, 400000);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 256); /* 2^8 were agreed */
	/* it moves with the lowest number that is not acknowledged */
	n = env->req[0].una;
	tx_ack_new(env, 0, env->tx.path[0].next - 1);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), env->req[0].una - n);
	acknowledge_all(env);
	tx_pick_all(env);
	acknowledge_all(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
}

/* What traffic took is given back when there has been none for a while, and taken again. */
static void memory_comes_back(struct kunit *test)
{
	struct tx_env *env = test->priv;
	long idle, before = sim_allocated();
	u32 round;

	tx_open(test, 0);
	tx_pick_all(env);
	acknowledge_all(env);
	for (round = 0; round < 2; round++) {
		env->now += 2000 * MROCE_MSEC;
		mroce_tx_shrink(&env->tx, env->now);
		idle = sim_allocated();
		KUNIT_EXPECT_EQ(test, idle, before);
		tx_post(env, 0, MROCE_OP_WRITE, 40000);
		KUNIT_EXPECT_GT(test, tx_pick_all(env), 0);
		KUNIT_EXPECT_GT(test, sim_allocated(), idle);

		/* not what is on its way */
		env->now += 2000 * MROCE_MSEC;
		mroce_tx_shrink(&env->tx, env->now);
		KUNIT_EXPECT_NOT_NULL(test, env->req[0].acked);
		acknowledge_all(env);
		while (tx_pick_all(env))
			acknowledge_all(env);
		mroce_tx_shrink(&env->tx, env->now);
		KUNIT_EXPECT_NOT_NULL(test, env->req[0].acked);
		KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);

		/* and not at once */
		tx_post(env, 0, MROCE_OP_WRITE, 100);
		KUNIT_EXPECT_GT(test, tx_pick_all(env), 0);
		acknowledge_all(env);
		KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
		mroce_tx_shrink(&env->tx, env->now);
		KUNIT_EXPECT_GT(test, sim_allocated(), idle);
	}
}

static void message_window(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	tx_open(test, 0);
	env->req[0].window_msgs = 4;
	for (i = 0; i < 10; i++)
		tx_post(env, 0, MROCE_OP_SEND, 10);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 4);
	acknowledge_all(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 0);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 4);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 4);
}

/* A larger ring has what was under way, and room for more at once. */
static void larger_ring(struct kunit *test)
{
	struct mroce_msg *msgs = kunit_kzalloc(test, 2 * ENV_MSGS * sizeof(*msgs), GFP_KERNEL);
	struct tx_env *env = test->priv;
	struct mroce_txs *txs = &env->req[0];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, msgs);
	tx_open(test, 0);
	txs->window_msgs = ENV_MSGS;
	for (i = 0; i < ENV_MSGS; i++)
		tx_post(env, 0, MROCE_OP_SEND, i);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), ENV_MSGS);
	mroce_txs_move(txs, msgs, 2 * ENV_MSGS);
	for (i = 0; i < ENV_MSGS; i++) {
		KUNIT_EXPECT_EQ(test, msgs[(txs->msn_una + i) % (2 * ENV_MSGS)].length, i);
		KUNIT_ASSERT_NOT_NULL(test, tx_post(env, 0, MROCE_OP_SEND, 10));
	}
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), ENV_MSGS);
	acknowledge_all(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 2 * ENV_MSGS);
}

static void reads_are_limited(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	tx_open(test, 0);
	for (i = 0; i < 7; i++)
		tx_post(env, 0, i % 2 ? MROCE_OP_FETCH_ADD : MROCE_OP_READ, 8);
	tx_post(env, 0, MROCE_OP_WRITE, 10);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 4);
	acknowledge_all(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 0); /* acknowledged is not answered */
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 0);
	KUNIT_EXPECT_TRUE(test, mroce_txs_responded(&env->req[0], 0, MROCE_N_NONE, env->now));
	/* once; and 5 was not sent yet */
	KUNIT_EXPECT_FALSE(test, mroce_txs_responded(&env->req[0], 0, MROCE_N_NONE, env->now));
	KUNIT_EXPECT_FALSE(test, mroce_txs_responded(&env->req[0], 5, MROCE_N_NONE, env->now));
	KUNIT_EXPECT_FALSE(test, mroce_txs_responded(&env->req[0], 77, MROCE_N_NONE, env->now));
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 1);
	/* the third is answered before the second: it completes after it */
	mroce_txs_responded(&env->req[0], 2, MROCE_N_NONE, env->now);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 0);
	mroce_txs_responded(&env->req[0], 1, MROCE_N_NONE, env->now);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 2);
	tx_pick_all(env);
	acknowledge_all(env);
	for (i = 3; i < 7; i++)
		mroce_txs_responded(&env->req[0], i, MROCE_N_NONE, env->now);
	tx_pick_all(env);
	acknowledge_all(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 5);
}

static void fence_waits(struct kunit *test)
{
	struct mroce_post post = {
		.opcode = MROCE_OP_WRITE, .length = 10, .addr = 1 << 20, .fence = true
	};
	struct tx_env *env = test->priv;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_READ, 100);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	mroce_txs_post(&env->req[0], &post, env->now);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 2);
	acknowledge_all(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 0);
	mroce_txs_responded(&env->req[0], 0, MROCE_N_NONE, env->now);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 2);
}

/*
 * An atomic is carried out at the peer's cursor, a Write as it comes: one to the same bytes waits,
 * others do not.
 */
static void write_waits_for_atomic(struct kunit *test)
{
	static const u8 atomics[] = {
		MROCE_OP_ATOMIC_WRITE, MROCE_OP_CMP_SWAP, MROCE_OP_FETCH_ADD,
	};
	struct mroce_post post = { .length = 8, .addr = 1 << 20 };
	struct tx_env *env = test->priv;
	u32 i, n, msn = 0;

	tx_open(test, 0);
	for (i = 0; i < ARRAY_SIZE(atomics); i++) {
		post.opcode = atomics[i];
		post.addr = 1 << 20;
		mroce_txs_post(&env->req[0], &post, env->now);
		post.opcode = MROCE_OP_WRITE;
		post.addr += 8;
		mroce_txs_post(&env->req[0], &post, env->now);
		post.addr -= 1;
		mroce_txs_post(&env->req[0], &post, env->now);
		KUNIT_EXPECT_EQ(test, tx_pick_all(env), 2);
		acknowledge_all(env);
		KUNIT_EXPECT_EQ(test, tx_pick_all(env), 0);
		mroce_txs_responded(&env->req[0], msn, MROCE_N_NONE, env->now);
		KUNIT_EXPECT_EQ(test, tx_pick_all(env), 1);
		acknowledge_all(env);
		KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 3);
		msn += 3;
	}
	/* behind so many that not each is looked at */
	post.opcode = MROCE_OP_ATOMIC_WRITE;
	post.addr = 1 << 20;
	mroce_txs_post(&env->req[0], &post, env->now);
	post.opcode = MROCE_OP_WRITE;
	for (n = 0; n < 20; n++) {
		post.addr += 8;
		mroce_txs_post(&env->req[0], &post, env->now);
	}
	post.addr = 1 << 20;
	mroce_txs_post(&env->req[0], &post, env->now);
	KUNIT_EXPECT_LE(test, tx_pick_all(env), 21);
	acknowledge_all(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 0);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 0);
	mroce_txs_responded(&env->req[0], msn, MROCE_N_NONE, env->now);
	KUNIT_EXPECT_GT(test, tx_pick_all(env), 0);
}

/* ---- credit and RNR ---- */

/* Without credit one packet asks, when nothing else is on its way. */
static void without_credit(struct kunit *test)
{
	struct tx_env *env = test->priv;

	tx_open(test, 0);
	env->req[0].credit = 2;
	tx_post(env, 0, MROCE_OP_SEND, 3000);
	tx_post(env, 0, MROCE_OP_SEND, 3000);
	tx_post(env, 0, MROCE_OP_SEND, 3000);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 6);
	acknowledge_all(env);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 1);
	KUNIT_EXPECT_EQ(test, env->x.data.offset, 0);
	KUNIT_EXPECT_EQ(test, env->x.data.rsn, 2);
	/* credit lets the rest go */
	mroce_txs_credit(&env->req[0], 3, env->now);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 2);
	/* it never goes back */
	mroce_txs_credit(&env->req[0], 1, env->now);
	KUNIT_EXPECT_EQ(test, env->req[0].credit, 3);
	/* a Write needs none */
	tx_post(env, 0, MROCE_OP_WRITE, 3000);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 3);
}

static void rnr_pauses(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u64 paused;

	tx_open(test, 0);
	env->req[0].rnr_retry = 2;
	env->req[0].rnr_left = 2;
	tx_post(env, 0, MROCE_OP_SEND, 100);
	tx_pick_data(env);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	refuse(env, MROCE_N_RNR, 14); /* 1.28 ms */
	KUNIT_EXPECT_TRUE(test, env->req[0].paused);
	/* neither the refused nor what follows is sent, and it is no loss */
	KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->tx.stats.lost, 0);
	paused = env->now;
	while (env->req[0].paused)
		KUNIT_ASSERT_TRUE(test, tx_timer(env, 100 * MROCE_MSEC));
	KUNIT_EXPECT_EQ(test, env->now - paused, 1280 * MROCE_USEC);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.data.spn, ENV_PSN);
	KUNIT_EXPECT_EQ(test, env->req[0].rnr_left, 1);
	/* credit ends a pause at once */
	refuse(env, MROCE_N_RNR, 0); /* 655 ms */
	KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
	env->req[0].credit = 0;
	mroce_txs_credit(&env->req[0], 2, env->now);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 2);
	acknowledge_all(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 2);
	/* success gives the retries back */
	KUNIT_EXPECT_EQ(test, env->req[0].rnr_left, 2);
}

/*
 * rnr_retry counts episodes, not NACKs: those of the same flight, or about transmissions from
 * before the last pause ended, do not count.
 */
static void rnr_episodes(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_xmit *x = kunit_kzalloc(test, 4 * sizeof(*x), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, x);
	tx_open(test, 0);
	env->req[0].rnr_retry = 2;
	env->req[0].rnr_left = 2;
	for (i = 0; i < 4; i++)
		tx_post(env, 0, MROCE_OP_SEND, 100);
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
		x[i] = env->x;
	}
	for (i = 1; i < 4; i++) {
		env->x = x[i];
		refuse(env, MROCE_N_RNR, 1);
	}
	KUNIT_EXPECT_EQ(test, env->req[0].rnr_left, 1);
	env->now += MROCE_MSEC;
	mroce_tx_timer(&env->tx, env->now);
	KUNIT_EXPECT_FALSE(test, env->req[0].paused);
	/* late news of the very first */
	env->x = x[0];
	refuse(env, MROCE_N_RNR, 1);
	KUNIT_EXPECT_EQ(test, env->req[0].rnr_left, 1);
	KUNIT_EXPECT_FALSE(test, env->req[0].paused);
	for (i = 0; i < 2; i++) {
		while (!tx_pick_data(env))
			KUNIT_ASSERT_TRUE(test, tx_timer(env, 100 * MROCE_MSEC));
		KUNIT_EXPECT_FALSE(test, env->req[0].failed);
		refuse(env, MROCE_N_RNR, 1);
		env->now += MROCE_MSEC;
		mroce_tx_timer(&env->tx, env->now);
	}
	KUNIT_EXPECT_TRUE(test, env->req[0].failed);
	KUNIT_EXPECT_EQ(test, env->req[0].fail_reason, MROCE_REASON_ERR_RNR_RETRY);
}

/* Streams are not looked through at every timer, but when one of them asked for it. */
static void resumes_in_time(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u64 paused;

	tx_open(test, 0);
	tx_open(test, 1);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	mroce_tx_timer(&env->tx, env->now);
	env->now += MROCE_MSEC / 2;
	refuse(env, MROCE_N_RNR, 14); /* 1.28 ms */
	paused = env->now;
	/* something else has its timer meanwhile */
	mroce_tx_timer(&env->tx, env->now + MROCE_MSEC / 2);
	KUNIT_EXPECT_TRUE(test, env->req[0].paused);
	KUNIT_EXPECT_EQ(test, env->tx.timer, paused + 1280 * MROCE_USEC);
	KUNIT_ASSERT_TRUE(test, tx_timer(env, 2 * MROCE_MSEC));
	KUNIT_EXPECT_FALSE(test, env->req[0].paused);
	KUNIT_EXPECT_TRUE(test, tx_pick_data(env));
}

static void rnr_without_limit(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	tx_open(test, 0);
	env->req[0].rnr_retry = 7;
	env->req[0].rnr_left = 7;
	tx_post(env, 0, MROCE_OP_SEND, 100);
	for (i = 0; i < 50; i++) {
		while (!tx_pick_data(env))
			KUNIT_ASSERT_TRUE(test, tx_timer(env, 100 * MROCE_MSEC));
		refuse(env, MROCE_N_RNR, 3);
		KUNIT_ASSERT_FALSE(test, env->req[0].failed);
	}
	while (!tx_pick_data(env))
		tx_timer(env, 100 * MROCE_MSEC);
	acknowledge_all(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
}

/* ---- the refusal table ---- */

struct refusal {
	u8 reason;
	bool fatal, floor; /* floor: may go again as soon as the lowest hole moves */
};

static const struct refusal refusals[] = {
	{ MROCE_N_HOLD, false, true },	  { MROCE_N_WINDOW, false, true },
	{ MROCE_N_READS, false, true },	  { MROCE_N_NOT_READY, false, false },
	{ MROCE_N_MEMORY, false, false }, { MROCE_N_FAULT, false, false },
	{ MROCE_N_ACCESS, true, false },  { MROCE_N_LENGTH, true, false },
	{ MROCE_N_GONE, true, false },	  { MROCE_N_OPERATION, true, false },
};

static void describe(const struct refusal *r, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "reason %u", r->reason);
}

KUNIT_ARRAY_PARAM(refusals, refusals, describe);

static void refusal_table(struct kunit *test)
{
	const struct refusal *r = test->param_value;
	struct tx_env *env = test->priv;
	struct mroce_xmit first;
	u64 paused;

	tx_env_restart(test, 2, ENV_PSIZE);
	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	first = env->x;
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	refuse(env, r->reason, 3);
	KUNIT_EXPECT_EQ(test, env->tx.stats.lost, 0);
	if (r->fatal) {
		KUNIT_EXPECT_TRUE(test, env->req[0].failed);
		KUNIT_EXPECT_EQ(test, env->req[0].fail_msn, 1);
		KUNIT_EXPECT_EQ(test, env->req[0].fail_nack, r->reason);
		KUNIT_EXPECT_FALSE(test, mroce_txs_is_failed(&env->req[0]));
		KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
		tx_ack_new(env, first.path, first.data.base.number);
		tx_ack(env);
		KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
		KUNIT_EXPECT_TRUE(test, mroce_txs_is_failed(&env->req[0]));
		KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 0);
		return;
	}
	KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
	paused = env->now;
	if (r->floor) {
		tx_ack_new(env, first.path, first.data.base.number);
		tx_ack(env);
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
		KUNIT_EXPECT_EQ(test, env->x.data.msn, 1);
		return;
	}
	while (env->req[0].paused)
		KUNIT_ASSERT_TRUE(test, tx_timer(env, 100 * MROCE_MSEC));
	KUNIT_EXPECT_EQ(test, env->now - paused, 3 * MROCE_MSEC);
	while (tx_pick_data(env) && env->x.data.msn != 1)
		;
	KUNIT_EXPECT_EQ(test, env->x.data.msn, 1);
	/* and the next wait is twice as long */
	refuse(env, r->reason, 3);
	paused = env->now;
	while (env->req[0].paused)
		KUNIT_ASSERT_TRUE(test, tx_timer(env, 100 * MROCE_MSEC));
	KUNIT_EXPECT_EQ(test, env->now - paused, 6 * MROCE_MSEC);
}

/* The NACKs of one flight are one refusal: the wait doubles once, not for each. */
static void one_flight_one_doubling(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_xmit *x = kunit_kzalloc(test, 8 * sizeof(*x), GFP_KERNEL);
	struct mroce_record_news r = {
		.kind = MROCE_R_NACK, .reason = MROCE_N_MEMORY, .timer = 10, .spn = ENV_PSN
	};
	u64 sent_at;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, x);
	tx_env_restart(test, 1, ENV_PSIZE);
	tx_open(test, 0);
	mroce_cc_window(&env->tx, &env->tx.path[0], 100000);
	for (i = 0; i < 8; i++) {
		tx_post(env, 0, MROCE_OP_WRITE, 100);
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
		x[i] = env->x;
	}
	for (i = 0; i < 8; i++) {
		env->x = x[i];
		refuse(env, MROCE_N_MEMORY, 10);
	}
	KUNIT_EXPECT_TRUE(test, env->req[0].paused);
	KUNIT_EXPECT_LE(test, env->req[0].resume_at - env->now, 10 * MROCE_MSEC);
	KUNIT_EXPECT_EQ(test, env->req[0].pause_spn, ENV_PSN);
	/* what was sent before it resumed is old news */
	sent_at = env->now;
	env->now += 10 * MROCE_MSEC;
	mroce_tx_timer(&env->tx, env->now);
	KUNIT_ASSERT_FALSE(test, env->req[0].paused);
	mroce_txs_nack(&env->req[0], &r, sent_at, env->now);
	KUNIT_EXPECT_FALSE(test, env->req[0].paused);
	r.spn = ENV_PSN + 4;
	mroce_txs_nack(&env->req[0], &r, env->now, env->now);
	KUNIT_EXPECT_TRUE(test, env->req[0].paused);
	KUNIT_EXPECT_EQ(test, env->req[0].pause_spn, ENV_PSN + 4);
	/* an earlier one of the same flight: it is what waits, and no longer */
	sent_at = env->req[0].resume_at;
	r.spn = ENV_PSN + 2;
	mroce_txs_nack(&env->req[0], &r, env->now, env->now);
	KUNIT_EXPECT_EQ(test, env->req[0].pause_spn, ENV_PSN + 2);
	KUNIT_EXPECT_EQ(test, env->req[0].resume_at, sent_at);
}

/* ---- the deadline ---- */

static u64 run_until_failure(struct kunit *test, u64 limit)
{
	struct tx_env *env = test->priv;
	u64 start = env->now;

	while (!env->req[0].failed && env->now < start + limit) {
		while (tx_pick(env))
			;
		if (!tx_timer(env, limit))
			break;
	}
	return env->now - start;
}

static void deadline(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u64 took;
	u32 i;

	tx_open(test, 0);
	tx_open(test, 1);
	env->req[0].timeout = 1500 * MROCE_MSEC;
	tx_post(env, 0, MROCE_OP_SEND, 100);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	took = run_until_failure(test, 10000 * MROCE_MSEC);
	KUNIT_EXPECT_TRUE(test, mroce_txs_is_failed(&env->req[0]));
	KUNIT_EXPECT_EQ(test, env->req[0].fail_reason, MROCE_REASON_ERR_RETRY);
	KUNIT_EXPECT_EQ(test, env->req[0].fail_msn, 0);
	KUNIT_EXPECT_GE(test, took, 1500 * MROCE_MSEC);
	KUNIT_EXPECT_LE(test, took, 2100 * MROCE_MSEC);
	/* seen late it counts when it was seen four times, with time for answers between */
	tx_post(env, 1, MROCE_OP_SEND, 100);
	tx_pick_all(env);
	env->now += 60000 * MROCE_MSEC;
	for (i = 0; i < 4; i++) {
		mroce_tx_timer(&env->tx, env->now);
		KUNIT_EXPECT_EQ(test, env->req[1].failed, i == 3);
		mroce_tx_timer(&env->tx, env->now);
		KUNIT_EXPECT_EQ(test, env->req[1].failed, i == 3);
		env->now += 10 * MROCE_MSEC;
	}
}

static void deadline_has_a_floor(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u64 took;

	tx_open(test, 0);
	env->req[0].timeout = 1000;
	tx_post(env, 0, MROCE_OP_SEND, 100);
	took = run_until_failure(test, 10000 * MROCE_MSEC);
	KUNIT_EXPECT_TRUE(test, env->req[0].failed);
	KUNIT_EXPECT_GE(test, took, MROCE_DEADLINE_FLOOR);
	KUNIT_EXPECT_LE(test, took, 2 * MROCE_DEADLINE_FLOOR);
}

static void deadline_0_is_none(struct kunit *test)
{
	struct tx_env *env = test->priv;

	tx_open(test, 0);
	env->req[0].timeout = 0;
	tx_post(env, 0, MROCE_OP_SEND, 100);
	KUNIT_EXPECT_GE(test, run_until_failure(test, 100000 * MROCE_MSEC), 100000 * MROCE_MSEC);
	KUNIT_EXPECT_FALSE(test, env->req[0].failed);
}

/* A connection that has just been answered has as long for its OPEN as it had for its HELLO. */
static void hello_and_open_are_two(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_open open = { .own_qpn = 1, .peer_qpn = 11, .psn = ENV_PSN,
				   .stream = ENV_OWN(0), .log_packets = 8, .log_messages = 6 };
	u64 took;

	env->req[0].timeout = 1000 * MROCE_MSEC;
	mroce_txs_open(&env->req[0], &open, env->now);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	took = run_until_failure(test, 800 * MROCE_MSEC);
	KUNIT_ASSERT_FALSE(test, env->req[0].failed);
	KUNIT_EXPECT_GE(test, took, 700 * MROCE_MSEC);
	KUNIT_ASSERT_EQ(test, mroce_tx_hello_ack(&env->tx, &env->hello_ack, env->now), 0);
	took = run_until_failure(test, 10000 * MROCE_MSEC);
	KUNIT_EXPECT_TRUE(test, env->req[0].failed);
	KUNIT_EXPECT_GE(test, took, 1000 * MROCE_MSEC);
}

/* An awaited response is unanswered too; a pause is not. */
static void what_the_deadline_counts(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u64 took;

	tx_open(test, 0);
	env->req[0].timeout = 500 * MROCE_MSEC;
	tx_post(env, 0, MROCE_OP_READ, 100);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	/* 2 s of RNR first, in pauses of 655 ms */
	for (took = 0; took < 3; took++) {
		refuse(env, MROCE_N_RNR, 0);
		while (env->req[0].paused)
			KUNIT_ASSERT_TRUE(test, tx_timer(env, 1000 * MROCE_MSEC));
		KUNIT_ASSERT_FALSE(test, env->req[0].failed);
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	}
	acknowledge_all(env);
	took = run_until_failure(test, 10000 * MROCE_MSEC);
	KUNIT_EXPECT_TRUE(test, env->req[0].failed);
	KUNIT_EXPECT_GE(test, took, 500 * MROCE_MSEC);
	KUNIT_EXPECT_LE(test, took, 1500 * MROCE_MSEC);
}

/* While packets of its response land a READ is answered, however long the response is. */
static void a_long_read(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	tx_open(test, 0);
	env->req[0].timeout = 700 * MROCE_MSEC;
	tx_post(env, 0, MROCE_OP_READ, 1 << 20);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	acknowledge_all(env);
	for (i = 0; i < 50; i++) {
		env->now += 200 * MROCE_MSEC;
		mroce_tx_timer(&env->tx, env->now);
		KUNIT_ASSERT_FALSE(test, env->req[0].failed);
		env->floor++;
	}
	KUNIT_EXPECT_LE(test, run_until_failure(test, 10000 * MROCE_MSEC), 3000 * MROCE_MSEC);
	KUNIT_EXPECT_TRUE(test, env->req[0].failed);
}

/* Nothing outstanding: nothing expires, however long it takes. */
static void idle_stream(struct kunit *test)
{
	struct tx_env *env = test->priv;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	tx_pick_all(env);
	acknowledge_all(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
	env->now += 60000 * MROCE_MSEC;
	mroce_tx_timer(&env->tx, env->now);
	KUNIT_EXPECT_EQ(test, env->tx.timer, MROCE_NEVER);
	KUNIT_EXPECT_FALSE(test, env->req[0].failed);
	/* and a new request has its full time */
	tx_post(env, 0, MROCE_OP_SEND, 100);
	tx_pick_all(env);
	mroce_tx_timer(&env->tx, env->now);
	KUNIT_EXPECT_FALSE(test, env->req[0].failed);
}

/* ---- ordered Writes (rule 49) ---- */

static u8 flags_of_write(struct tx_env *env, u64 addr, u32 length)
{
	struct mroce_post post = { .opcode = MROCE_OP_WRITE, .length = length, .addr = addr };

	return mroce_txs_post(&env->req[0], &post, env->now)->flags & MROCE_F_ORDERED;
}

static void ordered_writes(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, n = 0;

	tx_open(test, 0);
	KUNIT_EXPECT_EQ(test, flags_of_write(env, 1000, 100), 0);
	KUNIT_EXPECT_EQ(test, flags_of_write(env, 1100, 100), 0); /* behind it */
	KUNIT_EXPECT_EQ(test, flags_of_write(env, 900, 100), 0); /* before it */
	KUNIT_EXPECT_EQ(test, flags_of_write(env, 1050, 0), 0); /* nothing */
	KUNIT_EXPECT_NE(test, flags_of_write(env, 999, 2), 0);
	KUNIT_EXPECT_NE(test, flags_of_write(env, 1199, 1), 0);
	KUNIT_EXPECT_EQ(test, flags_of_write(env, 1200, 10), 0);
	KUNIT_EXPECT_NE(test, flags_of_write(env, 0, 100000), 0);
	KUNIT_EXPECT_NE(test, flags_of_write(env, 50000, 8), 0); /* in that one */
	for (i = 0; i < 9; i++) {
		n += tx_pick_all(env);
		acknowledge_all(env);
	}
	tx_complete(env, 0);
	/* all is complete: no overlap any more */
	KUNIT_EXPECT_EQ(test, flags_of_write(env, 1000, 100), 0);
	/* beyond 16 outstanding it may say yes too often, never no wrongly */
	for (i = 0; i < 30; i++)
		flags_of_write(env, 10000 + i * 1000, 100);
	KUNIT_EXPECT_NE(test, flags_of_write(env, 10050, 100), 0);
	KUNIT_EXPECT_NE(test, flags_of_write(env, 39050, 100), 0);
	KUNIT_EXPECT_EQ(test, flags_of_write(env, 100000, 100), 0);
	KUNIT_EXPECT_NE(test, flags_of_write(env, 100099, 1), 0);
}

/*
 * Beyond 16 outstanding a Write among bytes of an atomic waits for it, and one that comes when the
 * last atomic has been carried out does not, although the stream was never idle since.
 */
static void only_atomics_fence(struct kunit *test)
{
	struct mroce_post post = { .opcode = MROCE_OP_WRITE, .length = 100, .addr = 5000 };
	struct mroce_post atomic = { .opcode = MROCE_OP_FETCH_ADD, .length = 8, .addr = 3000 };
	struct tx_env *env = test->priv;
	u32 i;

	tx_open(test, 0);
	mroce_txs_post(&env->req[0], &atomic, env->now);
	for (i = 0; i < 20; i++)
		flags_of_write(env, 10000 + i * 1000, 100);
	KUNIT_EXPECT_TRUE(test, mroce_txs_post(&env->req[0], &post, env->now)->note &
					MROCE_MSG_FENCE);
	for (i = 0; i < 3; i++) {
		tx_pick_all(env);
		acknowledge_all(env);
	}
	mroce_txs_responded(&env->req[0], 0, MROCE_N_NONE, env->now);
	KUNIT_EXPECT_GE(test, tx_complete(env, 0), 1);
	for (i = 0; i < 20; i++)
		flags_of_write(env, 10000 + i * 1000, 100);
	KUNIT_EXPECT_FALSE(test, mroce_txs_post(&env->req[0], &post, env->now)->note &
					 MROCE_MSG_FENCE);
}

/* The flag is on every packet of it. */
static void ordered_on_every_packet(struct kunit *test)
{
	struct tx_env *env = test->priv;

	tx_env_restart(test, 4, ENV_PSIZE);
	tx_open(test, 0);
	flags_of_write(env, 0, 3000);
	flags_of_write(env, 0, 3000);
	while (tx_pick_data(env))
		KUNIT_EXPECT_EQ(test, !!(env->x.data.flags & MROCE_F_ORDERED),
				env->x.data.msn == 1);
}

/* ---- responses, releases, the end ---- */

static void responses(struct kunit *test)
{
	struct tx_env *env = test->priv;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_READ_RESP, 2500);
	tx_post(env, 0, MROCE_OP_ATOMIC_RESP, 8);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.count, 3);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.data.spn, 3);
	KUNIT_EXPECT_EQ(test, env->x.bytes, 8);
	KUNIT_EXPECT_NULL(test, mroce_txs_complete(&env->resp));
	/* the requester's floor says that it has the first */
	mroce_txs_released(&env->resp, 3, env->now);
	KUNIT_EXPECT_NOT_NULL(test, mroce_txs_complete(&env->resp));
	KUNIT_EXPECT_NULL(test, mroce_txs_complete(&env->resp));
	/* nonsense is ignored */
	mroce_txs_released(&env->resp, 50, env->now);
	mroce_txs_released(&env->resp, -50, env->now);
	mroce_txs_released(&env->resp, env->resp.una + BIT(31), env->now);
	KUNIT_EXPECT_NULL(test, mroce_txs_complete(&env->resp));
	acknowledge_all(env);
	KUNIT_EXPECT_NOT_NULL(test, mroce_txs_complete(&env->resp));
}

/* The error that a responder found at its cursor. */
static void error_response(struct kunit *test)
{
	struct tx_env *env = test->priv;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 10);
	tx_post(env, 0, MROCE_OP_READ, 100);
	tx_post(env, 0, MROCE_OP_WRITE, 10);
	tx_pick_all(env);
	KUNIT_EXPECT_TRUE(test, mroce_txs_responded(&env->req[0], 1, MROCE_N_ACCESS, env->now));
	/* that the cursor over there was at 1 says that 0 is placed */
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
	KUNIT_EXPECT_TRUE(test, mroce_txs_is_failed(&env->req[0]));
	KUNIT_EXPECT_EQ(test, env->req[0].fail_nack, MROCE_N_ACCESS);
}

/*
 * The requester is gone: nobody waits for what it has asked for, and that is no failure of the
 * responder.
 */
static void response_to_nobody(struct kunit *test)
{
	struct tx_env *env = test->priv;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_READ_RESP, 2500);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	tx_ack_new(env, env->x.path, env->x.data.base.number + 2);
	memset(env->ack.bitmap, 0, sizeof(env->ack.bitmap));
	tx_ack_nack(env, 0, MROCE_N_GONE, 0, 0, env->x.data.base.number);
	env->ack.record[0].flags = MROCE_R_RESPONSE;
	KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_NONE);
	KUNIT_EXPECT_FALSE(test, env->resp.failed);
	KUNIT_EXPECT_NOT_NULL(test, mroce_txs_complete(&env->resp));
	KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
}

static void release_record(struct kunit *test)
{
	struct tx_env *env = test->priv;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	tx_pick_all(env);
	tx_ack_new(env, 3, 0);
	env->ack.record[env->ack.nrecords++] = (struct mroce_record_news){
		.kind = MROCE_R_RELEASE,
		.stream = ENV_OWN(0),
		.spn = ENV_PSN + 1,
	};
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
	/* in the other space it says nothing of requests */
	env->ack.record[0].flags = MROCE_R_RESPONSE;
	env->ack.record[0].spn++;
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 0);
}

/* The peer closes: what it had placed completes, the rest fails; and an idle stream just stays. */
static void closed(struct kunit *test)
{
	struct tx_env *env = test->priv;

	tx_open(test, 0);
	mroce_txs_closed(&env->req[0], ENV_PSN, env->now);
	KUNIT_EXPECT_FALSE(test, env->req[0].failed);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	tx_pick_all(env);
	mroce_txs_closed(&env->req[0], ENV_PSN + 2, env->now);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 2);
	KUNIT_EXPECT_TRUE(test, mroce_txs_is_failed(&env->req[0]));
	KUNIT_EXPECT_EQ(test, env->req[0].fail_msn, 2);
	KUNIT_EXPECT_EQ(test, env->req[0].fail_nack, MROCE_N_GONE);
}

/* Detached with everything on its way: later ACKs find nothing of it. */
static void detached(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	tx_open(test, 0);
	tx_open(test, 1);
	for (i = 0; i < 5; i++) {
		tx_post(env, 0, MROCE_OP_WRITE, 5000);
		tx_post(env, 1, MROCE_OP_WRITE, 5000);
	}
	tx_pick_all(env);
	mroce_txs_detach(&env->req[0]);
	mroce_txs_detach(&env->req[0]);
	acknowledge_all(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 1), 5);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, env->tx.path[i].inflight, 0);
	KUNIT_EXPECT_NULL(test, tx_post(env, 0, MROCE_OP_WRITE, 10));
}

/* A stream without credit asks again when the last needless repetition of it is settled. */
static void wakes_after_a_repetition(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_xmit old;

	tx_env_restart(test, 2, ENV_PSIZE);
	tx_open(test, 0);
	env->req[0].credit = 1;
	tx_post(env, 0, MROCE_OP_SEND, 100);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	old = env->x;
	while (!env->tx.stats.probe_timeouts)
		KUNIT_ASSERT_TRUE(test, tx_timer(env, 1000 * MROCE_MSEC));
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_TRUE(test, env->x.resend);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	/* the number is released by a record; its second transmission is still out */
	tx_ack_new(env, old.path, old.data.base.number - 1);
	env->ack.record[env->ack.nrecords++] = (struct mroce_record_news){
		.kind = MROCE_R_RELEASE,
		.stream = ENV_OWN(0),
		.spn = ENV_PSN + 1,
	};
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
	while (tx_pick(env))
		KUNIT_EXPECT_NE(test, env->x.kind, MROCE_XMIT_DATA);
	acknowledge_all(env);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.data.msn, 1);
}

/* Memory for the bitmaps or the records runs out: the timer tries again. */
static void no_memory(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 n;

	for (n = 0; n < 2; n++) {
		tx_env_restart(test, 4, 10 * ENV_PSIZE);
		tx_open(test, 0);
		tx_post(env, 0, MROCE_OP_WRITE, 5000);
		sim_alloc_fail_after(n);
		KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
		sim_alloc_fail_after(-1);
		while (!tx_pick_data(env))
			KUNIT_ASSERT_TRUE(test, tx_timer(env, 100 * MROCE_MSEC));
		KUNIT_EXPECT_EQ(test, env->x.count, 5);
	}
}

static struct kunit_case cases[] = { KUNIT_CASE(header_fields),
				     KUNIT_CASE(completions_in_order),
				     KUNIT_CASE(busy_messages_wait),
				     KUNIT_CASE(cannot_be_built),
				     KUNIT_CASE(ring_is_full),
				     KUNIT_CASE(packet_window),
				     KUNIT_CASE(memory_comes_back),
				     KUNIT_CASE(message_window),
				     KUNIT_CASE(larger_ring),
				     KUNIT_CASE(reads_are_limited),
				     KUNIT_CASE(fence_waits), KUNIT_CASE(write_waits_for_atomic),
				     KUNIT_CASE(without_credit),
				     KUNIT_CASE(rnr_pauses),
				     KUNIT_CASE(rnr_episodes),
				     KUNIT_CASE(resumes_in_time),
				     KUNIT_CASE(rnr_without_limit),
				     KUNIT_CASE_PARAM(refusal_table, refusals_gen_params),
				     KUNIT_CASE(one_flight_one_doubling),
				     KUNIT_CASE(deadline),
				     KUNIT_CASE(deadline_has_a_floor),
				     KUNIT_CASE(deadline_0_is_none),
				     KUNIT_CASE(hello_and_open_are_two),
				     KUNIT_CASE(what_the_deadline_counts),
				     KUNIT_CASE(a_long_read),
				     KUNIT_CASE(idle_stream),
				     KUNIT_CASE(ordered_writes),
				     KUNIT_CASE(only_atomics_fence),
				     KUNIT_CASE(ordered_on_every_packet),
				     KUNIT_CASE(responses),
				     KUNIT_CASE(error_response),
				     KUNIT_CASE(response_to_nobody),
				     KUNIT_CASE(release_record),
				     KUNIT_CASE(closed),
				     KUNIT_CASE(detached),
				     KUNIT_CASE(wakes_after_a_repetition),
				     KUNIT_CASE(no_memory),
				     {} };

struct kunit_suite mroce_tx_stream_suite = {
	.name = "mroce_tx_stream",
	.init = tx_env_init,
	.exit = tx_env_exit,
	.test_cases = cases,
};
