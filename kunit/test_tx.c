// SPDX-License-Identifier: GPL-2.0
/*
 * The sending half as a whole: handshake, RESET, opening of streams, control messages, turns.
 */
#include "suites.h"
#include "tx_env.h"

/* ---- HELLO ---- */

static void hello_is_repeated(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u64 wait = MROCE_MSEC, last = env->now;
	u32 i, early = 0;

	KUNIT_ASSERT_TRUE(test, tx_pick(env));
	KUNIT_EXPECT_EQ(test, env->x.hello.own_id, ENV_OWN_ID);
	KUNIT_EXPECT_EQ(test, env->x.hello.base.type, MROCE_T_HELLO);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
	for (i = 0; i < 12; i++) {
		KUNIT_ASSERT_TRUE(test, tx_timer(env, 200 * MROCE_MSEC));
		KUNIT_EXPECT_LE(test, env->now - last, wait);
		KUNIT_EXPECT_GE(test, env->now - last, wait * 3 / 4);
		early += env->now - last < wait;
		KUNIT_ASSERT_TRUE(test, tx_pick(env));
		KUNIT_EXPECT_EQ(test, env->x.kind, MROCE_XMIT_HELLO);
		KUNIT_EXPECT_FALSE(test, tx_pick(env));
		last = env->now;
		wait = min(wait * 2, 100 * MROCE_MSEC);
	}
	/* by chance, or all that begin at once would meet in one queue again and again */
	KUNIT_EXPECT_NE(test, early, 0);
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &env->hello_ack, env->now), 0);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
	KUNIT_EXPECT_EQ(test, env->tx.peer_id, ENV_PEER_ID);
	KUNIT_EXPECT_EQ(test, env->tx.instance, ENV_INSTANCE);
}

static void hello_answers_that_are_not_ours(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_hello bad;

	tx_pick(env);
	bad = env->hello_ack;
	bad.base.id++;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &bad, env->now), -ENOENT);
	bad = env->hello_ack;
	bad.nonce++;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &bad, env->now), -ENOENT);
	bad.flags = MROCE_H_REFUSED;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &bad, env->now), -ENOENT);
	bad = env->hello_ack;
	bad.own_id = 0;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &bad, env->now), -ENOENT);
	bad = env->hello_ack;
	bad.npaths = 0;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &bad, env->now), -ENOENT);
	KUNIT_EXPECT_EQ(test, env->tx.state, MROCE_TX_HELLO);
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &env->hello_ack, env->now), 0);
	/* a second answer changes nothing */
	bad = env->hello_ack;
	bad.instance++;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &bad, env->now), -ENOENT);
	KUNIT_EXPECT_EQ(test, env->tx.state, MROCE_TX_OPEN);
}

static void hello_with_cookie(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_hello c = env->hello_ack;

	tx_pick(env);
	c.flags = MROCE_H_COOKIE;
	memset(c.cookie, 0x77, sizeof(c.cookie));
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &c, env->now), 1);
	KUNIT_ASSERT_TRUE(test, tx_pick(env));
	KUNIT_EXPECT_MEMEQ(test, env->x.hello.cookie, c.cookie, sizeof(c.cookie));
	/* the same cookie again asks for no further HELLO: a storm would follow */
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &c, env->now), -ENOENT);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &env->hello_ack, env->now), 0);
}

static void hello_refused(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_hello c = env->hello_ack;

	tx_pick(env);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	c.flags = MROCE_H_REFUSED;
	c.reason = MROCE_REFUSED_LIMIT;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &c, env->now), -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, env->tx.state, MROCE_TX_DEAD);
	KUNIT_EXPECT_TRUE(test, mroce_txs_is_failed(&env->req[0]));
	KUNIT_EXPECT_EQ(test, env->req[0].fail_reason, MROCE_REASON_ERR_REFUSED);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
	KUNIT_EXPECT_NOT_NULL(test, mroce_tx_done(&env->tx));
}

/* Packets smaller than the least are a refusal, not an agreement; an open half ignores it. */
static void hello_with_tiny_packets(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_hello c;

	env->tx.hello.max_payload = 8192;
	tx_pick(env);
	c = env->hello_ack;
	c.max_payload = MROCE_PAYLOAD_MIN;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &c, env->now), 0);
	KUNIT_EXPECT_EQ(test, env->tx.max_payload, MROCE_PAYLOAD_MIN);
	env->tx.hello_wanted = true;
	c.max_payload--;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &c, env->now), -ENOENT);
	KUNIT_EXPECT_EQ(test, env->tx.state, MROCE_TX_OPEN);

	tx_env_restart(test, 4, ENV_PSIZE);
	env->tx.hello.max_payload = 8192;
	tx_pick(env);
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &c, env->now), -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, env->tx.state, MROCE_TX_DEAD);
	KUNIT_EXPECT_EQ(test, env->tx.dead_reason, MROCE_REASON_ERR_REFUSED);
}

/* The smaller of both, of everything. */
static void agreement(struct kunit *test)
{
	struct tx_env *env = test->priv;

	tx_pick(env);
	env->hello_ack.npaths = 2;
	env->tx.hello.max_payload = 8192;
	env->hello_ack.max_payload = 1600;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &env->hello_ack, env->now), 0);
	KUNIT_EXPECT_EQ(test, env->tx.npaths, 2);
	KUNIT_EXPECT_EQ(test, env->tx.max_payload, 1600);
}

/* ---- RESET ---- */

static struct mroce_reset reset_of(struct tx_env *env, u8 path, u32 number)
{
	return (struct mroce_reset){
		.base = { .type = MROCE_T_RESET,
			  .id = env->tx.peer_id,
			  .path = path,
			  .number = number },
		.type = MROCE_T_DATA,
	};
}

/* Only a RESET with our id and a number outstanding is looked into; it ends nothing by itself. */
static void reset_is_verified(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_reset r;
	u8 path;
	u32 number;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	path = env->x.path;
	number = env->x.data.base.number;

	r = reset_of(env, path, number + 1);
	KUNIT_EXPECT_FALSE(test, mroce_tx_reset(&env->tx, &r, 0x99, env->now));
	r = reset_of(env, path, number - 1);
	KUNIT_EXPECT_FALSE(test, mroce_tx_reset(&env->tx, &r, 0x99, env->now));
	r = reset_of(env, (path + 1) % 4, number);
	KUNIT_EXPECT_FALSE(test, mroce_tx_reset(&env->tx, &r, 0x99, env->now));
	r = reset_of(env, 200, number);
	KUNIT_EXPECT_FALSE(test, mroce_tx_reset(&env->tx, &r, 0x99, env->now));
	r = reset_of(env, path, number);
	r.base.id++;
	KUNIT_EXPECT_FALSE(test, mroce_tx_reset(&env->tx, &r, 0x99, env->now));
	KUNIT_EXPECT_FALSE(test, tx_pick(env));

	r = reset_of(env, path, number);
	KUNIT_EXPECT_TRUE(test, mroce_tx_reset(&env->tx, &r, 0x99, env->now));
	KUNIT_EXPECT_EQ(test, env->tx.state, MROCE_TX_OPEN);
	KUNIT_ASSERT_TRUE(test, tx_pick(env));
	KUNIT_EXPECT_EQ(test, env->x.kind, MROCE_XMIT_HELLO);
	KUNIT_EXPECT_EQ(test, env->x.hello.nonce, 0x99);
	KUNIT_EXPECT_TRUE(test, env->x.hello.flags & MROCE_H_RESTART);
	/* one at a time */
	KUNIT_EXPECT_FALSE(test, mroce_tx_reset(&env->tx, &r, 0x98, env->now));
	/* an answer to the first HELLO, with its nonce, ends nothing */
	env->hello_ack.instance++;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &env->hello_ack, env->now), -ENOENT);
	/* nor does a refusal */
	env->hello_ack.nonce = 0x99;
	env->hello_ack.flags = MROCE_H_REFUSED;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &env->hello_ack, env->now), -ENOENT);
	env->hello_ack.flags = 0;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &env->hello_ack, env->now), -ESTALE);
	KUNIT_EXPECT_EQ(test, env->tx.state, MROCE_TX_DEAD);
	KUNIT_EXPECT_EQ(test, env->req[0].fail_reason, MROCE_REASON_ERR_PEER_RESET);
}

/* The same instance with the half still there: nothing has happened. */
static void reset_was_a_lie(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_reset r;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	tx_pick_data(env);
	r = reset_of(env, env->x.path, env->x.data.base.number);
	mroce_tx_reset(&env->tx, &r, 0x99, env->now);
	tx_pick(env);
	env->hello_ack.nonce = 0x99;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &env->hello_ack, env->now), 0);
	KUNIT_EXPECT_EQ(test, env->tx.path[0].epoch, 0);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
}

/*
 * The same instance, another half: it was forgotten when idle. Paths start again, and what was on
 * its way goes again.
 */
static void receiving_half_was_forgotten(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_reset r;
	u32 spn;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	tx_pick_data(env);
	spn = env->x.data.spn;
	r = reset_of(env, env->x.path, env->x.data.base.number);
	mroce_tx_reset(&env->tx, &r, 0x99, env->now);
	tx_pick(env);
	env->hello_ack.nonce = 0x99;
	env->hello_ack.own_id = 0x8888;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &env->hello_ack, env->now), 0);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.data.spn, spn);
	KUNIT_EXPECT_EQ(test, env->x.data.base.id, 0x8888);
	KUNIT_EXPECT_EQ(test, env->x.data.base.epoch, 1);
	KUNIT_EXPECT_EQ(test, env->x.data.base.number, 1);
}

/* ---- OPEN ---- */

static void open_is_repeated(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_open open = { .own_qpn = 1,
				   .peer_qpn = 2,
				   .psn = ENV_PSN,
				   .stream = ENV_OWN(0) },
			  reply;
	u32 opens = 0, numbers = 0;
	u64 start;

	tx_open_half(test);
	start = env->now;
	env->req[0].timeout = 0;
	mroce_txs_open(&env->req[0], &open, env->now);
	tx_post(env, 0, MROCE_OP_SEND, 10);
	while (env->now < start + 1000 * MROCE_MSEC) {
		while (tx_pick(env)) {
			if (env->x.kind == MROCE_XMIT_OPEN) {
				opens++;
				numbers |= env->x.open.base.number;
				KUNIT_EXPECT_EQ(test, env->x.open.attempt, opens);
				KUNIT_EXPECT_EQ(test, env->x.open.stream, ENV_OWN(0));
			}
			KUNIT_EXPECT_NE(test, env->x.kind, MROCE_XMIT_DATA);
		}
		if (!tx_timer(env, 1000 * MROCE_MSEC))
			break;
	}
	/* 1, 2, 4 … 64, then every 100 ms: about 16 in the first second */
	KUNIT_EXPECT_GE(test, opens, 12);
	KUNIT_EXPECT_LE(test, opens, 40);
	reply = env->x.open;
	reply = (struct mroce_open){ .to = ENV_OWN(0),
				     .stream = 99,
				     .log_packets = 8,
				     .log_messages = 6,
				     .reads = 2,
				     .credit = MROCE_CREDIT_NONE };
	/* no attempt, or one that was not made yet */
	mroce_txs_open_reply(&env->req[0], &reply, env->now);
	KUNIT_EXPECT_EQ(test, env->req[0].state, MROCE_TXS_OPENING);
	reply.attempt = opens + 1;
	mroce_txs_open_reply(&env->req[0], &reply, env->now);
	KUNIT_EXPECT_EQ(test, env->req[0].state, MROCE_TXS_OPENING);
	/* the answer to an earlier one will do: it took longer than the pause */
	reply.attempt = 2;
	reply.to++;
	mroce_txs_open_reply(&env->req[0], &reply, env->now);
	KUNIT_EXPECT_EQ(test, env->req[0].state, MROCE_TXS_OPENING);
	reply.to--;
	mroce_txs_open_reply(&env->req[0], &reply, env->now);
	KUNIT_EXPECT_EQ(test, env->req[0].state, MROCE_TXS_OPEN);
	KUNIT_EXPECT_EQ(test, env->req[0].reads_max, 2);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.data.stream, 99);
	KUNIT_EXPECT_EQ(test, env->x.data.spn, ENV_PSN);
}

static void open_not_ready(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_open open = {
		.own_qpn = 1, .peer_qpn = 2, .psn = ENV_PSN, .stream = ENV_OWN(0)
	};
	struct mroce_open reply = { .to = ENV_OWN(0), .status = MROCE_OPEN_NOT_READY };
	u64 start;

	tx_open_half(test);
	start = env->now;
	env->req[0].timeout = 500 * MROCE_MSEC;
	mroce_txs_open(&env->req[0], &open, env->now);
	tx_post(env, 0, MROCE_OP_SEND, 10);
	/* NOT READY counts as progress for a second, and not for ever */
	while (!env->req[0].failed && env->now < start + 10000 * MROCE_MSEC) {
		while (tx_pick(env)) {
			if (env->x.kind != MROCE_XMIT_OPEN)
				continue;
			tx_ack_new(env, env->x.path, env->x.open.base.number);
			tx_ack(env);
			reply.attempt = env->x.open.attempt;
			mroce_txs_open_reply(&env->req[0], &reply, env->now);
		}
		if (!tx_timer(env, 1000 * MROCE_MSEC))
			break;
	}
	KUNIT_EXPECT_TRUE(test, env->req[0].failed);
	KUNIT_EXPECT_EQ(test, env->req[0].fail_reason, MROCE_REASON_ERR_RETRY);
	KUNIT_EXPECT_GE(test, env->now - start, 1400 * MROCE_MSEC);
	KUNIT_EXPECT_LE(test, env->now - start, 2000 * MROCE_MSEC);
}

/* Only the answer to the latest attempt says that the peer is not ready. */
static void late_not_ready(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_open open = {
		.own_qpn = 1, .peer_qpn = 2, .psn = ENV_PSN, .stream = ENV_OWN(0)
	};
	struct mroce_open reply = {
		.to = ENV_OWN(0), .status = MROCE_OPEN_NOT_READY, .attempt = 1
	};

	tx_open_half(test);
	mroce_txs_open(&env->req[0], &open, env->now);
	KUNIT_ASSERT_TRUE(test, tx_pick(env));
	do
		KUNIT_ASSERT_TRUE(test, tx_timer(env, 10 * MROCE_MSEC));
	while (!tx_pick(env) || env->x.kind != MROCE_XMIT_OPEN);
	KUNIT_ASSERT_EQ(test, env->x.open.attempt, 2);
	mroce_txs_open_reply(&env->req[0], &reply, env->now);
	KUNIT_EXPECT_EQ(test, env->req[0].not_ready_at, 0);
	reply.attempt = 2;
	mroce_txs_open_reply(&env->req[0], &reply, env->now);
	KUNIT_EXPECT_EQ(test, env->req[0].not_ready_at, env->now);
}

static void open_refused(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_open open = {
		.own_qpn = 1, .peer_qpn = 2, .psn = ENV_PSN, .stream = ENV_OWN(0)
	};
	struct mroce_open reply = {
		.to = ENV_OWN(0), .status = MROCE_OPEN_REFUSED, .attempt = 1
	};

	tx_open_half(test);
	mroce_txs_open(&env->req[0], &open, env->now);
	tx_pick(env);
	mroce_txs_open_reply(&env->req[0], &reply, env->now);
	KUNIT_EXPECT_TRUE(test, mroce_txs_is_failed(&env->req[0]));
	KUNIT_EXPECT_EQ(test, env->req[0].fail_reason, MROCE_REASON_ERR_REFUSED);
	KUNIT_EXPECT_PTR_EQ(test, mroce_tx_done(&env->tx), &env->req[0]);
}

/* ---- the end of a half ---- */

static void killed(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 n = 0;

	tx_open(test, 0);
	tx_open(test, 1);
	tx_post(env, 0, MROCE_OP_WRITE, 5000);
	tx_post(env, 1, MROCE_OP_WRITE, 100);
	tx_pick(env);
	mroce_tx_kill(&env->tx, MROCE_REASON_ERR_PEER_RESET);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
	while (mroce_tx_done(&env->tx))
		n++;
	KUNIT_EXPECT_EQ(test, n, ENV_STREAMS + 1);
	KUNIT_EXPECT_TRUE(test, mroce_txs_is_failed(&env->req[0]));
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 0);
	/* what attaches now fails at once */
	mroce_txs_detach(&env->req[3]);
	mroce_txs_init(&env->req[3], false, ENV_OWN(3), env->msgs[3], ENV_MSGS);
	mroce_txs_attach(&env->req[3], &env->tx, 0);
	KUNIT_EXPECT_TRUE(test, mroce_txs_is_failed(&env->req[3]));
}

/* ---- control ---- */

/* Rule 36: a stream that was stopped is worth waiting for until its packets are answered for. */
static void awaited_after_failure(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txs *txs = &env->req[0];
	struct mroce_txpath *p;
	u64 sent_at;
	u32 number;

	tx_open(test, 0);
	tx_open(test, 1);
	tx_post(env, 0, MROCE_OP_WRITE, 100);
	KUNIT_EXPECT_EQ(test, mroce_txs_awaited(txs), 0);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	p = &env->tx.path[env->x.path];
	number = env->x.data.base.number;
	sent_at = env->now;
	env->now += MROCE_MSEC / 2;
	mroce_txs_fail(txs, txs->msn_una, MROCE_REASON_ERR_FLUSHED, MROCE_N_NONE);
	KUNIT_EXPECT_EQ(test, mroce_txs_awaited(txs), sent_at + 2 * mroce_path_pto(&env->tx, p));
	KUNIT_EXPECT_GT(test, mroce_txs_awaited(txs), env->now);
	/* whatever others have on their way */
	KUNIT_EXPECT_EQ(test, mroce_txs_awaited(&env->req[1]), 0);

	tx_ack_new(env, env->x.path, number);
	KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_NONE);
	KUNIT_EXPECT_EQ(test, mroce_txs_awaited(txs), 0);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 0);
	KUNIT_EXPECT_FALSE(test, tx_pick_data(env));

	/* one that has not answered for long is not waited for, nor one that is gone */
	tx_post(env, 1, MROCE_OP_WRITE, 100);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	mroce_txs_fail(&env->req[1], env->req[1].msn_una, MROCE_REASON_ERR_FLUSHED, MROCE_N_NONE);
	p = &env->tx.path[env->x.path];
	env->now += 2 * mroce_path_pto(&env->tx, p);
	KUNIT_EXPECT_GT(test, mroce_txs_awaited(&env->req[1]), 0);
	KUNIT_EXPECT_LE(test, mroce_txs_awaited(&env->req[1]), env->now);
	mroce_tx_kill(&env->tx, MROCE_REASON_ERR_PEER_RESET);
	KUNIT_EXPECT_EQ(test, mroce_txs_awaited(&env->req[1]), 0);
}

static void control_is_reliable(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 number, tries;
	u8 path;

	tx_open(test, 0);
	KUNIT_EXPECT_EQ(test, mroce_tx_control(&env->tx, MROCE_C_CREDIT, 7, 100), 0);
	/* a newer one takes the place of one that waits */
	KUNIT_EXPECT_EQ(test, mroce_tx_control(&env->tx, MROCE_C_CREDIT, 7, 105), 0);
	KUNIT_EXPECT_EQ(test, mroce_tx_control(&env->tx, MROCE_C_CLOSE, 7, 1), 0);
	KUNIT_ASSERT_TRUE(test, tx_pick(env));
	KUNIT_EXPECT_EQ(test, env->x.kind, MROCE_XMIT_CONTROL);
	KUNIT_EXPECT_EQ(test, env->x.control.value, 105);
	KUNIT_EXPECT_EQ(test, env->x.control.base.type, MROCE_T_CONTROL);
	KUNIT_EXPECT_TRUE(test, env->x.control.flags & MROCE_F_ACKREQ);
	path = env->x.path;
	number = env->x.control.base.number;
	KUNIT_ASSERT_TRUE(test, tx_pick(env));
	KUNIT_EXPECT_EQ(test, env->x.control.op, MROCE_C_CLOSE);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
	/* the CLOSE is acknowledged, the CREDIT is not */
	tx_ack_new(env, env->x.path, env->x.control.base.number);
	if (env->x.path == path)
		tx_ack_miss(env, number);
	KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_NONE);
	for (tries = 0; tries < 10; tries++) {
		if (tx_pick(env) && env->x.kind == MROCE_XMIT_CONTROL)
			break;
		tx_timer(env, 1000 * MROCE_MSEC);
	}
	KUNIT_EXPECT_EQ(test, env->x.kind, MROCE_XMIT_CONTROL);
	KUNIT_EXPECT_EQ(test, env->x.control.value, 105);
	tx_ack_new(env, env->x.path, env->x.control.base.number);
	tx_ack(env);
	for (tries = 0; tries < MROCE_MAX_CTL; tries++)
		KUNIT_EXPECT_FALSE(test, env->tx.ctl[tries].used);
}

static void control_is_bounded(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	tx_open(test, 0);
	for (i = 0; i < MROCE_MAX_CTL; i++)
		KUNIT_EXPECT_EQ(test, mroce_tx_control(&env->tx, MROCE_C_CLOSE, i, 0), 0);
	KUNIT_EXPECT_EQ(test, mroce_tx_control(&env->tx, MROCE_C_CLOSE, i, 0), -ENOSPC);
	for (i = 0; i < MROCE_MAX_CTL; i++) {
		KUNIT_ASSERT_TRUE(test, tx_pick(env));
		KUNIT_EXPECT_EQ(test, env->x.control.stream, i);
	}
	/* on its way is not yet delivered */
	KUNIT_EXPECT_EQ(test, mroce_tx_control(&env->tx, MROCE_C_CLOSE, i, 0), -ENOSPC);
}

/* ---- turns ---- */

/* Each stream gets the same bytes, whatever the size of its messages. */
static void streams_take_turns(struct kunit *test)
{
	static const u32 size[] = { 100, 10000, 25000, 60000 };
	struct tx_env *env = test->priv;
	u64 bytes[4] = {}, total = 0;
	u32 i, number[4] = {};

	/* a turn is of some 60 KB */
	for (i = 0; i < 2; i++)
		tx_open(test, i);
	for (i = 0; i < 4; i++)
		mroce_cc_window(&env->tx, &env->tx.path[i], 1 << 20);
	for (i = 0; i < 2; i++)
		tx_post(env, i, MROCE_OP_WRITE, 150000);
	for (i = 0; i < 13; i++) {
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
		bytes[env->x.txs - env->req] += env->x.bytes;
	}
	KUNIT_EXPECT_GE(test, bytes[0], 50000);
	KUNIT_EXPECT_GE(test, bytes[1], 50000);
	memset(bytes, 0, sizeof(bytes));

	tx_env_restart(test, 4, 10 * ENV_PSIZE);
	for (i = 0; i < 4; i++)
		tx_open(test, i);
	while (total < 4000000) {
		for (i = 0; i < 4; i++)
			while (env->req[i].msn_end - env->req[i].msn_una < ENV_MSGS)
				tx_post(env, i, MROCE_OP_WRITE, size[i]);
		if (tx_pick_data(env)) {
			i = env->x.txs - env->req;
			bytes[i] += env->x.bytes + env->x.count * MROCE_OVERHEAD;
			total += env->x.bytes;
			number[env->x.path] = env->x.data.base.number + env->x.count - 1;
			continue;
		}
		env->now += 100 * MROCE_USEC;
		for (i = 0; i < 4; i++) {
			tx_ack_new(env, i, number[i] ? number[i] : env->tx.path[i].next - 1);
			tx_ack(env);
		}
		for (i = 0; i < 4; i++)
			tx_complete(env, i);
	}
	/*
	 * the stream of 100 bytes is bounded by its ring of messages and its window; the others are
	 * alike
	 */
	for (i = 2; i < 4; i++) {
		KUNIT_EXPECT_GE(test, bytes[i] * 100, bytes[1] * 70);
		KUNIT_EXPECT_LE(test, bytes[i] * 100, bytes[1] * 140);
	}
	KUNIT_EXPECT_GT(test, bytes[0], 0);
}

/* Responses never wait behind requests. */
static void responses_first(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i;

	tx_open(test, 0);
	for (i = 0; i < 10; i++)
		tx_post(env, 0, MROCE_OP_WRITE, 5000);
	tx_post(env, 0, MROCE_OP_READ_RESP, 3000);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_TRUE(test, env->x.txs->response);
	KUNIT_EXPECT_TRUE(test, env->x.data.flags & MROCE_F_RESPONSE);
	KUNIT_EXPECT_EQ(test, env->x.count, 3);
	KUNIT_EXPECT_EQ(test, env->x.data.spn, 0);
	KUNIT_EXPECT_EQ(test, env->x.data.addr, 0); /* the source is nobody's business */
	KUNIT_EXPECT_EQ(test, env->x.data.rkey, 0);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_FALSE(test, env->x.txs->response);
}

/* All paths are used, each up to its window, one train at a time. */
static void paths_take_turns(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, used = 0, last = 99;

	tx_open(test, 0);
	for (i = 0; i < 4; i++)
		mroce_cc_window(&env->tx, &env->tx.path[i], 30000);
	for (i = 0; i < 8; i++)
		tx_post(env, 0, MROCE_OP_WRITE, 30000);
	for (i = 0; i < 8; i++) {
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
		KUNIT_EXPECT_GE(test, env->x.bytes, 8000);
		KUNIT_EXPECT_LE(test, env->x.bytes, 10000);
		KUNIT_EXPECT_NE(test, env->x.path, last);
		last = env->x.path;
		used |= BIT(env->x.path);
	}
	KUNIT_EXPECT_EQ(test, used, 15);
	while (tx_pick_data(env))
		;
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_LE(test, env->tx.path[i].inflight,
				env->tx.path[i].cwnd + 10 * (ENV_PSIZE + MROCE_OVERHEAD));
}

/* Packet by packet a window is rounded up to whole ones, as long as the plane's is kept. */
static void windows_round_up(struct kunit *test)
{
	const u32 cost = ENV_PSIZE + MROCE_OVERHEAD;
	struct tx_env *env = test->priv;
	u32 train, i;

	for (train = 1; train <= 10; train += 9) {
		tx_env_restart(test, 4, train * ENV_PSIZE);
		tx_open(test, 0);
		for (i = 0; i < 4; i++)
			mroce_cc_window(&env->tx, &env->tx.path[i], cost + cost / 2);
		for (i = 0; i < 8; i++)
			tx_post(env, 0, MROCE_OP_WRITE, ENV_PSIZE);
		KUNIT_EXPECT_EQ(test, tx_pick_all(env), train == 1 ? 6 : 4);
		for (i = 0; i < 4; i++)
			KUNIT_EXPECT_LE(test, env->tx.path[i].inflight, 2 * cost);
	}
}

/* A path whose answer is late gets one packet more, once in that time. */
static void late_answer(struct kunit *test)
{
	const u32 cost = ENV_PSIZE + MROCE_OVERHEAD;
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u32 i, lent;

	tx_env_restart(test, 2, 10 * ENV_PSIZE);
	tx_open(test, 0);
	p = &env->tx.path[0];
	mroce_cc_window(&env->tx, p, cost);
	mroce_cc_window(&env->tx, &env->tx.path[1], 100 * cost);
	for (i = 0; i < 2; i++)
		tx_post(env, 0, MROCE_OP_WRITE, ENV_PSIZE);
	KUNIT_ASSERT_EQ(test, tx_pick_all(env), 2);
	KUNIT_ASSERT_EQ(test, p->inflight, cost);
	p->srtt = 400 * MROCE_USEC;
	for (i = 0; i < 2; i++) {
		/* 5/4 round trips, and what an ACK may be kept back unless it is asked for */
		p->asked = i;
		env->now += i ? 490 * MROCE_USEC : 690 * MROCE_USEC;
		for (lent = 0; lent < 3; lent++)
			tx_post(env, 0, MROCE_OP_WRITE, 3 * ENV_PSIZE);
		tx_pick_all(env);
		KUNIT_EXPECT_EQ(test, p->inflight, (i + 1) * cost);
		p->asked = i;
		env->now += 20 * MROCE_USEC;
		for (lent = 0; lent < 3; lent++)
			tx_post(env, 0, MROCE_OP_WRITE, 3 * ENV_PSIZE);
		tx_pick_all(env);
		KUNIT_EXPECT_EQ(test, p->inflight, (i + 2) * cost);
	}
	/* not more than the windows of the plane hold together, and none that was not timed yet */
	env->now += MROCE_MSEC;
	p->srtt = 0;
	tx_post(env, 0, MROCE_OP_WRITE, 3 * ENV_PSIZE);
	tx_pick_all(env);
	KUNIT_EXPECT_EQ(test, p->inflight, 3 * cost);
	p->srtt = 400 * MROCE_USEC;
	mroce_cc_window(&env->tx, &env->tx.path[1], cost);
	tx_post(env, 0, MROCE_OP_WRITE, 3 * ENV_PSIZE);
	KUNIT_EXPECT_EQ(test, tx_pick_all(env), 0);
}

/* One packet behind a train goes where that went; of other streams, or more, it goes on. */
static void a_message_ends_where_it_was(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, path;

	tx_env_restart(test, 4, 10 * ENV_PSIZE);
	tx_open(test, 0);
	for (i = 0; i < 4; i++)
		mroce_cc_window(&env->tx, &env->tx.path[i], 8 * (ENV_PSIZE + MROCE_OVERHEAD));
	tx_post(env, 0, MROCE_OP_WRITE, 10 * ENV_PSIZE + 1);
	tx_post(env, 0, MROCE_OP_WRITE, ENV_PSIZE);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.count, 10);
	path = env->x.path;
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.bytes, 1);
	KUNIT_EXPECT_EQ(test, env->x.path, path);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_NE(test, env->x.path, path);

	/* more than one */
	tx_env_restart(test, 4, 10 * ENV_PSIZE);
	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 12 * ENV_PSIZE);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.count, 10);
	path = env->x.path;
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.count, 2);
	KUNIT_EXPECT_NE(test, env->x.path, path);

	/* all windows together have no room: the sum is kept */
	tx_env_restart(test, 4, 10 * ENV_PSIZE);
	tx_open(test, 0);
	for (i = 0; i < 4; i++)
		mroce_cc_window(&env->tx, &env->tx.path[i], 10 * (ENV_PSIZE + MROCE_OVERHEAD) / 4);
	tx_post(env, 0, MROCE_OP_WRITE, 10 * ENV_PSIZE + 1);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.count, 10);
	KUNIT_EXPECT_FALSE(test, tx_pick_data(env));

	/* nor is the plane's pace disregarded, or that its queue is to drain */
	tx_env_restart(test, 4, 10 * ENV_PSIZE);
	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 10 * ENV_PSIZE + 1);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	path = env->x.path;
	env->tx.plane[0].drain_until = env->now + MROCE_MSEC;
	KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
	env->tx.plane[0].drain_until = 0;
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_EQ(test, env->x.path, path);

	/* trains of one packet: each by another path */
	tx_env_restart(test, 4, ENV_PSIZE);
	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 2 * ENV_PSIZE);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	path = env->x.path;
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_NE(test, env->x.path, path);
}

/* The last packet asks for an ACK when nothing follows it. */
static void asks_when_dry(struct kunit *test)
{
	struct tx_env *env = test->priv;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 500);
	tx_post(env, 0, MROCE_OP_WRITE, 500);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_FALSE(test, env->x.data.flags & MROCE_F_ACKREQ);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_TRUE(test, env->x.data.flags & MROCE_F_ACKREQ);
}

/*
 * Nobody waits for the ACK of a request that is answered, of a response, or of what its poster does
 * not wait for: they come when the receiver's delay is over.
 */
static void asks_for_nobody(struct kunit *test)
{
	struct mroce_post lazy = { .opcode = MROCE_OP_WRITE, .length = 500, .lazy = true };
	struct tx_env *env = test->priv;
	bool asked = false;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_READ, 500);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_FALSE(test, env->x.data.flags & MROCE_F_ACKREQ);
	tx_post(env, 0, MROCE_OP_READ_RESP, 500);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_FALSE(test, env->x.data.flags & MROCE_F_ACKREQ);
	KUNIT_ASSERT_NOT_NULL(test, mroce_txs_post(&env->req[0], &lazy, env->now));
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_FALSE(test, env->x.data.flags & MROCE_F_ACKREQ);
	/* but when nothing more can be sent before one comes, whoever sends last asks */
	lazy.length = 200 * ENV_PSIZE;
	KUNIT_ASSERT_NOT_NULL(test, mroce_txs_post(&env->req[0], &lazy, env->now));
	while (tx_pick_data(env))
		asked = env->x.data.flags & MROCE_F_ACKREQ;
	KUNIT_EXPECT_GT(test, env->tx.backlog, 0);
	KUNIT_EXPECT_TRUE(test, asked);
}

static void backlog(struct kunit *test)
{
	struct tx_env *env = test->priv;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 20000);
	tx_post(env, 0, MROCE_OP_WRITE, 5000);
	KUNIT_EXPECT_EQ(test, env->tx.backlog, 25000);
	tx_pick_data(env);
	KUNIT_EXPECT_EQ(test, env->x.data.backlog,
			15); /* KiB that remain behind this train, rounded up */
	KUNIT_EXPECT_EQ(test, env->tx.backlog, 15000);
	tx_pick_all(env);
	KUNIT_EXPECT_EQ(test, env->tx.backlog, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 7000);
	mroce_txs_detach(&env->req[0]);
	KUNIT_EXPECT_EQ(test, env->tx.backlog, 0);
}

static void no_memory(struct kunit *test)
{
	struct mroce_tx *tx = kunit_kzalloc(test, sizeof(*tx), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, tx);
	sim_alloc_fail_after(0);
	KUNIT_EXPECT_EQ(test, mroce_tx_init(tx, 1, 16, 1000), -ENOMEM);
	mroce_tx_free(tx);
}

/* ---- small messages ---- */

/* What is ready goes along: next numbers of the same path, each on record. */
static void small_messages_share(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_xmit *x = &env->x;
	struct mroce_msg *first;
	u32 number, path;

	tx_open(test, 0);
	tx_open(test, 1);
	tx_pick_all(env); /* nothing: no stream is ready */
	first = tx_post(env, 0, MROCE_OP_SEND, 100);
	tx_post(env, 0, MROCE_OP_READ, 5000);
	tx_post(env, 1, MROCE_OP_WRITE, ENV_PSIZE);
	KUNIT_ASSERT_EQ(test, mroce_tx_pick(&env->tx, env->now, x), 1);
	KUNIT_EXPECT_TRUE(test, x->more);
	KUNIT_EXPECT_FALSE(test, x->joined);
	number = x->data.base.number;
	path = x->path;
	KUNIT_EXPECT_EQ(test, first->busy, 1);
	KUNIT_ASSERT_EQ(test, mroce_tx_pick_more(&env->tx, 100, env->now, x), 1);
	KUNIT_EXPECT_EQ(test, first->busy, 0);
	KUNIT_EXPECT_EQ(test, env->req[0].busy, 1);
	KUNIT_EXPECT_TRUE(test, x->joined);
	KUNIT_EXPECT_EQ(test, x->data.opcode, MROCE_OP_READ);
	KUNIT_EXPECT_EQ(test, x->path, path);
	KUNIT_EXPECT_EQ(test, x->data.base.number, number + 1);
	/* too large for what is left; then of another stream */
	KUNIT_EXPECT_EQ(test, mroce_tx_pick_more(&env->tx, ENV_PSIZE - 1, env->now, x), 0);
	KUNIT_EXPECT_EQ(test, x->data.opcode, MROCE_OP_READ);
	KUNIT_ASSERT_EQ(test, mroce_tx_pick_more(&env->tx, ENV_PSIZE, env->now, x), 1);
	KUNIT_EXPECT_PTR_EQ(test, x->txs, &env->req[1]);
	KUNIT_EXPECT_EQ(test, x->data.base.number, number + 2);
	KUNIT_EXPECT_FALSE(test, x->more);
	KUNIT_EXPECT_EQ(test, mroce_tx_pick_more(&env->tx, ENV_PSIZE, env->now, x), 0);
	mroce_tx_sent(&env->tx, x, 0, MROCE_REASON_NONE);
	KUNIT_EXPECT_EQ(test, env->req[0].busy + env->req[1].busy, 0);
	tx_ack_new(env, path, number + 2);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 1), 1);
}

/* One record for those of one size, and one that is shorter; each is lost by itself. */
static void small_messages_are_one_record(struct kunit *test)
{
	static const u16 sizes[] = { 100, 100, 100, 50, 100 };
	struct tx_env *env = test->priv;
	struct mroce_xmit *x = &env->x;
	struct mroce_txpath *p;
	u32 i, number, before;

	tx_open(test, 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		tx_post(env, 0, MROCE_OP_SEND, sizes[i]);
	KUNIT_ASSERT_EQ(test, mroce_tx_pick(&env->tx, env->now, x), 1);
	p = &env->tx.path[x->path];
	number = x->data.base.number;
	before = p->tail;
	for (i = 1; i < ARRAY_SIZE(sizes); i++)
		KUNIT_ASSERT_EQ(test, mroce_tx_pick_more(&env->tx, 1000, env->now, x), 1);
	mroce_tx_sent(&env->tx, x, 0, MROCE_REASON_NONE);
	KUNIT_EXPECT_EQ(test, p->tail - before, 1);
	KUNIT_EXPECT_EQ(test, p->sent[(before - 1) & p->mask].count, 4);
	KUNIT_EXPECT_EQ(test, p->sent[before & p->mask].count, 1);

	tx_ack_new(env, p->index, number + 4);
	tx_ack_miss(env, number + 1);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, p->inflight, 0);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 1);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_EXPECT_TRUE(test, x->resend);
	KUNIT_EXPECT_EQ(test, x->count, 1);
	KUNIT_EXPECT_EQ(test, x->data.msn, 1);
	tx_ack_new(env, x->path, x->data.base.number);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, tx_complete(env, 0), 4);
}

/* What is sent again is on record as that, and what goes with it for the first time is not. */
static void a_resend_shares_no_record(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_xmit *x = &env->x;
	struct mroce_txpath *p;
	u32 number, before;

	tx_env_restart(test, 1, 10 * ENV_PSIZE);
	tx_open(test, 0);
	tx_open(test, 1);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	p = &env->tx.path[x->path];
	number = x->data.base.number;
	tx_post(env, 1, MROCE_OP_SEND, 100);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	KUNIT_ASSERT_EQ(test, x->path, p->index);
	tx_post(env, 0, MROCE_OP_SEND, 100);
	tx_ack_new(env, p->index, number + 1);
	tx_ack_miss(env, number);
	tx_ack(env);

	before = p->tail;
	KUNIT_ASSERT_EQ(test, mroce_tx_pick(&env->tx, env->now, x), 1);
	KUNIT_ASSERT_PTR_EQ(test, &env->tx.path[x->path], p);
	KUNIT_EXPECT_TRUE(test, x->resend);
	KUNIT_ASSERT_EQ(test, mroce_tx_pick_more(&env->tx, 1000, env->now, x), 1);
	mroce_tx_sent(&env->tx, x, 0, MROCE_REASON_NONE);
	KUNIT_ASSERT_EQ(test, p->tail - before, 2);
	KUNIT_EXPECT_TRUE(test, p->sent[before & p->mask].resend);
	KUNIT_EXPECT_FALSE(test, p->sent[(before + 1) & p->mask].resend);
}

/* A first message, and one of 10 bytes that would go with it: on stream @i. */
static void begin(struct kunit *test, u32 i)
{
	struct tx_env *env = test->priv;

	tx_post(env, 0, MROCE_OP_SEND, 10);
	KUNIT_ASSERT_EQ(test, mroce_tx_pick(&env->tx, env->now, &env->x), 1);
	tx_post(env, i, MROCE_OP_SEND, 10);
}

static int join(struct tx_env *env)
{
	int more = mroce_tx_pick_more(&env->tx, 1000, env->now, &env->x);

	mroce_tx_sent(&env->tx, &env->x, 0, MROCE_REASON_NONE);
	tx_pick_all(env);
	return more;
}

/*
 * What a path was given for a datagram is all that it takes, as of a train: more than its own
 * window, not more than its plane has room for.
 */
static void what_a_path_gave(struct kunit *test)
{
	struct tx_env *env = test->priv;
	const u32 cost = 100 + MROCE_OVERHEAD, most = 12;
	struct mroce_tx_plane *pl = &env->tx.plane[0];
	u32 i, n;

	tx_env_restart(test, 4, 10 * ENV_PSIZE);
	tx_open(test, 0);
	tx_pick_all(env);
	for (i = 0; i < 4; i++)
		mroce_cc_window(&env->tx, &env->tx.path[i], most * cost / 4);
	KUNIT_ASSERT_EQ(test, pl->window, most * cost);
	for (i = 0; i < 2 * most; i++)
		tx_post(env, 0, MROCE_OP_SEND, 100);
	KUNIT_ASSERT_EQ(test, mroce_tx_pick(&env->tx, env->now, &env->x), 1);
	/* what the plane has more of by then is for others */
	pl->window *= 2;
	for (n = 1; mroce_tx_pick_more(&env->tx, ENV_PSIZE, env->now, &env->x); n++)
		;
	mroce_tx_sent(&env->tx, &env->x, 0, MROCE_REASON_NONE);
	KUNIT_EXPECT_EQ(test, n, most);
	KUNIT_EXPECT_EQ(test, env->tx.path[env->x.path].inflight, most * cost);
	pl->window /= 2;
	KUNIT_EXPECT_EQ(test, mroce_tx_pick(&env->tx, env->now, &env->x), 0);
}

/* What must not go along: another class, what was lost, what has no room. Control goes first. */
static void what_does_not_share(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_tx_plane *pl = &env->tx.plane[0];
	struct mroce_txpath *p;
	u32 window;

	tx_env_restart(test, 1, 10 * ENV_PSIZE);
	tx_open(test, 0);
	tx_open(test, 1);
	p = &env->tx.path[0];
	begin(test, 1);
	KUNIT_EXPECT_EQ(test, join(env), 1);
	env->req[1].tclass = 32;
	begin(test, 1);
	KUNIT_EXPECT_EQ(test, join(env), 0);
	env->req[1].tclass = 0;
	begin(test, 1);
	mroce_tx_control(&env->tx, MROCE_C_CREDIT, 1, 1);
	KUNIT_EXPECT_EQ(test, join(env), 0);
	begin(test, 1);
	window = pl->window;
	pl->window = pl->inflight;
	KUNIT_EXPECT_EQ(test, mroce_tx_pick_more(&env->tx, 1000, env->now, &env->x), 0);
	pl->window = window;
	KUNIT_EXPECT_EQ(test, join(env), 1);
	/* lost ones may be long, and have been sent before */
	begin(test, 0);
	mroce_txs_lost(&env->req[0], env->x.data.spn);
	KUNIT_EXPECT_EQ(test, join(env), 0);
	/* two packets */
	tx_post(env, 0, MROCE_OP_SEND, ENV_PSIZE + 1);
	KUNIT_ASSERT_EQ(test, mroce_tx_pick(&env->tx, env->now, &env->x), 1);
	KUNIT_EXPECT_FALSE(test, env->x.more);
	mroce_tx_sent(&env->tx, &env->x, 0, MROCE_REASON_NONE);
	tx_pick_all(env);
	/* one packet, but the path passes less by now: as IP fragments, alone */
	p->size = 500;
	tx_post(env, 0, MROCE_OP_SEND, 600);
	tx_post(env, 0, MROCE_OP_SEND, 10);
	KUNIT_ASSERT_EQ(test, mroce_tx_pick(&env->tx, env->now, &env->x), 1);
	KUNIT_EXPECT_TRUE(test, env->x.fragment);
	KUNIT_EXPECT_FALSE(test, env->x.more);
	mroce_tx_sent(&env->tx, &env->x, 0, MROCE_REASON_NONE);
}

static struct kunit_case cases[] = { KUNIT_CASE(hello_is_repeated),
				     KUNIT_CASE(hello_answers_that_are_not_ours),
				     KUNIT_CASE(hello_with_cookie),
				     KUNIT_CASE(hello_refused),
				     KUNIT_CASE(hello_with_tiny_packets),
				     KUNIT_CASE(agreement),
				     KUNIT_CASE(reset_is_verified),
				     KUNIT_CASE(reset_was_a_lie),
				     KUNIT_CASE(receiving_half_was_forgotten),
				     KUNIT_CASE(open_is_repeated),
				     KUNIT_CASE(open_not_ready),
				     KUNIT_CASE(late_not_ready),
				     KUNIT_CASE(open_refused),
				     KUNIT_CASE(killed),
				     KUNIT_CASE(awaited_after_failure),
				     KUNIT_CASE(control_is_reliable),
				     KUNIT_CASE(control_is_bounded),
				     KUNIT_CASE(streams_take_turns),
				     KUNIT_CASE(responses_first),
				     KUNIT_CASE(paths_take_turns),
				     KUNIT_CASE(windows_round_up),
				     KUNIT_CASE(late_answer),
				     KUNIT_CASE(a_message_ends_where_it_was),
				     KUNIT_CASE(asks_when_dry),
				     KUNIT_CASE(asks_for_nobody),
				     KUNIT_CASE(backlog),
				     KUNIT_CASE(no_memory),
				     KUNIT_CASE(small_messages_share),
				     KUNIT_CASE(small_messages_are_one_record),
				     KUNIT_CASE(a_resend_shares_no_record),
				     KUNIT_CASE(what_a_path_gave),
				     KUNIT_CASE(what_does_not_share),
				     {} };

struct kunit_suite mroce_tx_suite = {
	.name = "mroce_tx",
	.init = tx_env_init,
	.exit = tx_env_exit,
	.test_cases = cases,
};
