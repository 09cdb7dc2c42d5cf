// SPDX-License-Identifier: GPL-2.0
/*
 * A receiving half for tests. See rx_env.h.
 */
#include "rx_env.h"

int rx_env_init(struct kunit *test)
{
	struct rx_env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);
	struct mroce_hello hello = { .own_id = 0xaaaa, .instance = 0xbbbb, .half = 3 };

	if (!env)
		return -ENOMEM;
	test->priv = env;
	env->now = 5000000000ULL;
	if (mroce_rx_init(&env->rx, 0xcccc, &hello, ENV_PATHS))
		return -ENOMEM;
	rx_env_restart(env, 100, 8, 6);
	return 0;
}

static void detach(struct rx_env *env)
{
	LIST_HEAD(held);

	env->req.copiers = 0;
	env->resp.copiers = 0;
	mroce_rxs_detach(&env->req, env->now, &held);
	INIT_LIST_HEAD(&held);
	mroce_rxs_detach(&env->resp, env->now, &held);
}

void rx_env_exit(struct kunit *test)
{
	struct rx_env *env = test->priv;

	sim_alloc_fail_after(-1);
	if (!env)
		return;
	detach(env);
	mroce_rx_free(&env->rx);
	KUNIT_EXPECT_EQ(test, sim_allocated(), 0);
}

void rx_env_restart(struct rx_env *env, u32 psn, u8 log_packets, u8 log_messages)
{
	u32 i;

	if (env->req.rx)
		detach(env);
	mroce_rx_shrink(&env->rx, U64_MAX);
	env->psn = psn;
	mroce_rxs_init(&env->req, false, ENV_STREAM, psn, log_packets, log_messages);
	mroce_rxs_init(&env->resp, true, ENV_STREAM, 0, log_packets, log_messages);
	mroce_rxs_attach(&env->req, &env->rx, ENV_PEER);
	mroce_rxs_attach(&env->resp, &env->rx, ENV_PEER);
	for (i = 0; i < ENV_PATHS; i++)
		env->number[i] = env->rx.path[i].high + 1;
}

struct mroce_data rx_data(struct rx_env *env, u8 opcode, u32 msn, u32 first, u32 bytes, u32 index,
			  u32 count)
{
	u32 packets = mroce_packets(opcode, bytes, ENV_PSIZE);
	struct mroce_data d = {
		.base = { .type = MROCE_T_DATA },
		.stream = ENV_STREAM,
		.spn = env->psn + first + index,
		.msn = msn,
		.rsn = msn,
		.offset = index * ENV_PSIZE,
		.length = bytes,
		.addr = 0x10000 * (msn + 1) + index * ENV_PSIZE,
		.rkey = 77,
		.opcode = opcode,
		.psize = ENV_PSIZE,
	};

	if (mroce_opinfo[opcode].place)
		d.addr = 0;
	if (mroce_opinfo[opcode].response) {
		d.flags |= MROCE_F_RESPONSE;
		d.spn -= env->psn;
		d.addr = 0;
	}
	if (!index)
		d.flags |= MROCE_F_FIRST;
	if (index + count == packets)
		d.flags |= MROCE_F_LAST;
	return d;
}

enum mroce_reason rx_claim(struct kunit *test, struct mroce_rxop *op, u32 path, struct mroce_data d,
			   u32 count)
{
	struct rx_env *env = test->priv;
	enum mroce_reason reason;

	d.base.path = path;
	d.base.number = env->number[path];
	env->number[path] += count;
	d.stamp = (u32)(env->now >> MROCE_STAMP_SHIFT);
	reason = mroce_rx_arrive(&env->rx, &d, count, count * ENV_PSIZE, false, env->now, op);
	KUNIT_ASSERT_EQ(test, reason, MROCE_REASON_NONE);
	return mroce_rxs_claim(d.flags & MROCE_F_RESPONSE ? &env->resp : &env->req, op);
}

void rx_finish(struct rx_env *env, struct mroce_rxop *op)
{
	mroce_rx_finish(&env->rx, op->data.flags & MROCE_F_RESPONSE ? &env->resp : &env->req, op);
}

void rx_take(struct kunit *test, u32 path, struct mroce_data d, u32 count)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	KUNIT_EXPECT_EQ(test, rx_claim(test, &op, path, d, count), MROCE_REASON_NONE);
	mroce_rxs_placed(d.flags & MROCE_F_RESPONSE ? &env->resp : &env->req, &op, op.claimed);
	rx_finish(env, &op);
}

void rx_probe(struct rx_env *env, u32 path, u32 number, u8 flags, bool ce)
{
	struct mroce_data d = { .base = { .type = MROCE_T_PROBE, .path = path, .number = number },
				.flags = flags };
	struct mroce_rxop op;

	d.stamp = (u32)(env->now >> MROCE_STAMP_SHIFT);
	if (mroce_rx_arrive(&env->rx, &d, 1, 0, ce, env->now, &op) != MROCE_REASON_NONE)
		return;
	op.bits = 1;
	mroce_rx_finish(&env->rx, NULL, &op);
}

bool rx_ack(struct rx_env *env)
{
	return mroce_rx_ack(&env->rx, env->now, &env->ack);
}

void rx_no_more_acks(struct rx_env *env)
{
	while (rx_ack(env))
		;
}

bool rx_reported(const struct rx_env *env, u32 number)
{
	u32 below = env->ack.anchor - number;

	return below < MROCE_BITMAP_BITS && env->ack.bitmap[below / 64] & BIT_ULL(below % 64);
}

const struct mroce_record_news *rx_record(const struct rx_env *env, u8 kind)
{
	u32 i;

	for (i = 0; i < env->ack.nrecords; i++)
		if (env->ack.record[i].kind == kind)
			return &env->ack.record[i];
	return NULL;
}
