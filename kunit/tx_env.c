// SPDX-License-Identifier: GPL-2.0
/*
 * A sending half for tests. See tx_env.h.
 */
#include "tx_env.h"

static void start(struct kunit *test, u8 npaths, u32 train)
{
	struct tx_env *env = test->priv;
	u32 i;

	KUNIT_ASSERT_EQ(test, mroce_tx_init(&env->tx, ENV_OWN_ID, npaths, train), 0);
	env->hello = (struct mroce_hello){
		.instance = 0x1234,
		.half = 1,
		.nonce = 0x5678,
		.max_payload = ENV_PSIZE,
		.version_min = 1,
		.version_max = 1,
		.npaths = npaths,
		.nplanes = 1,
	};
	env->hello_ack = env->hello;
	env->hello_ack.base = (struct mroce_base){ .type = MROCE_T_HELLO_ACK, .id = ENV_OWN_ID };
	env->hello_ack.own_id = ENV_PEER_ID;
	env->hello_ack.instance = ENV_INSTANCE;
	for (i = 0; i < ENV_STREAMS; i++) {
		mroce_txs_init(&env->req[i], false, ENV_OWN(i), env->msgs[i], ENV_MSGS);
		mroce_txs_attach(&env->req[i], &env->tx, ENV_PSN);
		env->req[i].reads_max = 4;
		env->req[i].timeout = ENV_TIMEOUT;
		env->req[i].floor = &env->floor;
	}
	mroce_txs_init(&env->resp, true, ENV_OWN(0), env->resps, ENV_MSGS);
	mroce_txs_attach(&env->resp, &env->tx, 0);
	mroce_tx_connect(&env->tx, &env->hello, env->now);
}

int tx_env_init(struct kunit *test)
{
	struct tx_env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);

	if (!env)
		return -ENOMEM;
	test->priv = env;
	env->now = 7000000000ULL;
	start(test, 4, 10 * ENV_PSIZE);
	return 0;
}

static void stop(struct tx_env *env)
{
	u32 i;

	for (i = 0; i < ENV_STREAMS; i++)
		mroce_txs_detach(&env->req[i]);
	mroce_txs_detach(&env->resp);
	mroce_tx_free(&env->tx);
}

void tx_env_exit(struct kunit *test)
{
	struct tx_env *env = test->priv;

	sim_alloc_fail_after(-1);
	if (!env)
		return;
	stop(env);
	KUNIT_EXPECT_EQ(test, sim_allocated(), 0);
}

void tx_env_restart(struct kunit *test, u8 npaths, u32 train)
{
	stop(test->priv);
	start(test, npaths, train);
}

void tx_open_half(struct kunit *test)
{
	struct tx_env *env = test->priv;

	KUNIT_ASSERT_TRUE(test, tx_pick(env));
	KUNIT_ASSERT_EQ(test, env->x.kind, MROCE_XMIT_HELLO);
	/* the answer takes a while, but no sample shall be taken of it */
	env->now += 2 * MROCE_MSEC;
	tx_pick(env);
	KUNIT_ASSERT_EQ(test, mroce_tx_hello_ack(&env->tx, &env->hello_ack, env->now), 0);
	KUNIT_ASSERT_EQ(test, env->tx.state, MROCE_TX_OPEN);
}

void tx_open(struct kunit *test, u32 i)
{
	struct tx_env *env = test->priv;
	struct mroce_open open = { .own_qpn = 1 + i,
				   .peer_qpn = 11 + i,
				   .psn = ENV_PSN,
				   .stream = ENV_OWN(i),
				   .log_packets = 8,
				   .log_messages = 6,
				   .reads = 4 };
	struct mroce_open reply;

	if (env->tx.state == MROCE_TX_HELLO)
		tx_open_half(test);
	mroce_txs_open(&env->req[i], &open, env->now);
	KUNIT_ASSERT_TRUE(test, tx_pick(env));
	KUNIT_ASSERT_EQ(test, env->x.kind, MROCE_XMIT_OPEN);
	tx_ack_new(env, env->x.path, env->x.open.base.number);
	KUNIT_ASSERT_EQ(test, tx_ack(env), MROCE_REASON_NONE);
	reply = env->x.open;
	reply.base.type = MROCE_T_OPEN_REPLY;
	reply.to = reply.stream;
	reply.stream = ENV_PEER(i);
	reply.credit = MROCE_CREDIT_NONE;
	reply.status = MROCE_OPEN_ACCEPT;
	mroce_txs_open_reply(&env->req[i], &reply, env->now);
	KUNIT_ASSERT_EQ(test, env->req[i].state, MROCE_TXS_OPEN);
	if (!i)
		mroce_txs_opened(&env->resp, ENV_PEER(0), 8, 6);
}

bool tx_pick(struct tx_env *env)
{
	u32 i;

	/* time stands still in most cases: pacing would end them */
	for (i = 0; !env->paced && i < env->tx.nplanes; i++)
		env->tx.plane[i].leaves_at = 0;
	if (!mroce_tx_pick(&env->tx, env->now, &env->x))
		return false;
	mroce_tx_sent(&env->tx, &env->x, 0, MROCE_REASON_NONE);
	return true;
}

bool tx_pick_data(struct tx_env *env)
{
	while (tx_pick(env))
		if (env->x.kind == MROCE_XMIT_DATA)
			return true;
	return false;
}

u32 tx_pick_all(struct tx_env *env)
{
	u32 n = 0;

	while (tx_pick_data(env))
		n += env->x.count;
	return n;
}

struct mroce_msg *tx_post(struct tx_env *env, u32 i, u8 opcode, u32 bytes)
{
	struct mroce_txs *txs = mroce_opinfo[opcode].response ? &env->resp : &env->req[i];
	struct mroce_post post = { .opcode = opcode,
				   .length = bytes,
				   .addr = 0x10000 * (txs->msn_end + 1),
				   .rkey = 5,
				   .wr = txs->msn_end };

	return mroce_txs_post(txs, &post, env->now);
}

struct mroce_ack *tx_ack_new(struct tx_env *env, u8 path, u32 high)
{
	struct mroce_txpath *p = &env->tx.path[path];
	u32 i;

	memset(&env->ack, 0, sizeof(env->ack));
	env->ack.base = (struct mroce_base){ .type = MROCE_T_ACK,
					     .path = path,
					     .epoch = p->epoch,
					     .number = high,
					     .id = ENV_OWN_ID };
	env->ack.anchor = high;
	env->ack.packets = high;
	env->ack.bytes = high * ENV_PSIZE;
	env->ack.echo = (u32)((env->now - 100 * MROCE_USEC) >> MROCE_STAMP_SHIFT);
	memset(env->ack.bitmap, 0xff, sizeof(env->ack.bitmap));
	for (i = 0; i < 64; i++)
		if (p->gaps & BIT_ULL(i) && high - (p->gap - i) < MROCE_BITMAP_BITS)
			tx_ack_miss(env, p->gap - i);
	return &env->ack;
}

void tx_ack_late(struct tx_env *env, u32 number)
{
	u32 below = env->ack.anchor - number;

	env->ack.bitmap[below / 64] |= BIT_ULL(below % 64);
}

void tx_ack_miss(struct tx_env *env, u32 number)
{
	u32 below = env->ack.anchor - number;

	env->ack.bitmap[below / 64] &= ~BIT_ULL(below % 64);
}

void tx_ack_nack(struct tx_env *env, u32 i, u8 reason, u8 timer, u32 spn, u32 number)
{
	struct mroce_record_news *r = &env->ack.record[env->ack.nrecords++];

	*r = (struct mroce_record_news){
		.kind = MROCE_R_NACK,
		.reason = reason,
		.timer = timer,
		.stream = ENV_OWN(i),
		.spn = spn,
		.number = number,
	};
}

enum mroce_reason tx_ack(struct tx_env *env)
{
	return mroce_tx_ack(&env->tx, &env->ack, env->now);
}

bool tx_timer(struct tx_env *env, u64 limit)
{
	if (env->tx.timer > env->now + limit)
		return false;
	env->now = max(env->now, env->tx.timer);
	mroce_tx_timer(&env->tx, env->now);
	return true;
}

u32 tx_complete(struct tx_env *env, u32 i)
{
	u32 n = 0;

	while (mroce_txs_complete(&env->req[i]))
		n++;
	return n;
}
