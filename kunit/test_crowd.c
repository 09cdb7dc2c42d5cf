// SPDX-License-Identifier: GPL-2.0
/*
 * Where most of what is sent is lost, for there are many, and after everything was lost for a
 * while: how much is asked beside data, how long a deadline is, and how fast all is as before.
 */
#include "suites.h"
#include "scenario.h"
#include "tx_env.h"

#define MSEC  1000000ULL
#define SEC   1000000000ULL
#define LARGE 8192

/* Two streams by one path, packets as large as they can be. */
static struct mroce_txpath *one_path(struct kunit *test)
{
	struct tx_env *env = test->priv;

	tx_env_restart(test, 1, LARGE);
	env->tx.hello.max_payload = LARGE;
	env->hello_ack.max_payload = LARGE;
	tx_open(test, 0);
	tx_open(test, 1);
	env->now += SEC;
	return &env->tx.path[0];
}

/*
 * Large packets are lost in a row again and again, and full-size probes pass: the half asks less
 * and less often, 100 ms apart at first.
 */
static void size_is_asked_rarely(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, n, asked = 0, first = 0;
	struct mroce_txpath *p;

	p = one_path(test);
	for (i = 0; i < 1000; i++) {
		u32 missing[64];

		mroce_cc_window(&env->tx, p, 8 * LARGE);
		tx_complete(env, 0);
		tx_complete(env, 1);
		while (tx_post(env, 0, MROCE_OP_WRITE, LARGE))
			;
		tx_post(env, 1, MROCE_OP_WRITE, 100);
		for (n = 0; n < ARRAY_SIZE(missing) && tx_pick(env);) {
			if (env->x.kind == MROCE_XMIT_PROBE && env->x.control.length == LARGE)
				asked++;
			if (env->x.kind == MROCE_XMIT_DATA && env->x.bytes == LARGE)
				missing[n++] = env->x.data.base.number;
		}
		/* each fourth time all arrive */
		if (i % 4 == 3)
			n = 0;
		tx_ack_new(env, 0, p->next - 1);
		env->ack.packets = p->packets + (p->next - 1 - p->high) - n;
		while (n)
			tx_ack_miss(env, missing[--n]);
		env->now += 20 * MSEC;
		KUNIT_ASSERT_EQ(test, tx_ack(env), MROCE_REASON_NONE);
		if (i == 24)
			first = asked;
	}
	KUNIT_EXPECT_FALSE(test, env->req[0].failed);
	KUNIT_EXPECT_EQ(test, p->size, LARGE);
	/* twice in the first half of a second, and in 20 seconds not many times that */
	KUNIT_EXPECT_GE(test, first, 2);
	KUNIT_EXPECT_LE(test, asked, 12);
}

/* A real black hole is found at once all the same: no loss explains so long a row. */
static void black_hole_after_loss(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	DECLARE_BITMAP(lost, 1024) = { 0 };
	u32 i, n, number;

	p = one_path(test);
	env->tx.size_wait = 10 * SEC;
	env->tx.size_next = env->now + 9 * SEC;
	env->tx.recent_sent = 1000;
	env->tx.recent_gone = 100;
	for (i = 0; i < 100 && p->size == LARGE; i++) {
		mroce_cc_window(&env->tx, p, 8 * LARGE);
		while (tx_post(env, 0, MROCE_OP_WRITE, LARGE))
			;
		tx_post(env, 1, MROCE_OP_WRITE, 100);
		while (tx_pick(env)) {
			if (env->x.kind == MROCE_XMIT_PROBE && env->x.control.length == LARGE)
				__set_bit(env->x.control.base.number, lost);
			if (env->x.kind == MROCE_XMIT_DATA && env->x.bytes == LARGE)
				__set_bit(env->x.data.base.number, lost);
		}
		KUNIT_ASSERT_LE(test, p->next, 1024);
		tx_ack_new(env, 0, p->next - 1);
		for (number = 1, n = 0; number < p->next; number++) {
			if (!test_bit(number, lost))
				continue;
			n++;
			if (p->next - number < MROCE_BITMAP_BITS)
				tx_ack_miss(env, number);
		}
		env->ack.packets = p->next - 1 - n;
		env->now += 20 * MSEC;
		KUNIT_ASSERT_EQ(test, tx_ack(env), MROCE_REASON_NONE);
		tx_complete(env, 1);
	}
	KUNIT_EXPECT_EQ(test, p->size, 1264);
	KUNIT_EXPECT_LT(test, i, 60);
}

/* Counts that cannot be are believed as far as they can be; what was late comes off again. */
static void false_counts(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u32 i;

	tx_env_restart(test, 1, ENV_PSIZE);
	tx_open(test, 0);
	p = &env->tx.path[0];
	for (i = 0; i < 4; i++) {
		tx_post(env, 0, MROCE_OP_WRITE, 100);
		tx_pick_all(env);
		tx_ack_new(env, 0, p->next - 1);
		env->ack.packets -= i % 2 ? 0x40000000 : 0;
		tx_ack(env);
		KUNIT_EXPECT_LE(test, env->tx.recent_gone, env->tx.recent_sent);
	}
	tx_env_restart(test, 1, ENV_PSIZE);
	tx_open(test, 0);
	p = &env->tx.path[0];
	for (i = 0; i < 2; i++)
		tx_post(env, 0, MROCE_OP_WRITE, 100);
	tx_pick_all(env);
	tx_ack_new(env, 0, p->next - 1);
	tx_ack_miss(env, p->next - 2);
	env->ack.packets--;
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, env->tx.recent_gone, 1);
	tx_ack_new(env, 0, env->ack.base.number);
	tx_ack(env);
	KUNIT_EXPECT_EQ(test, env->tx.recent_gone, 0);
}

/* What @part of 16 packets is missing: by receivers' counts, for the probes that time-outs send. */
static u64 deadline_of(struct kunit *test, u32 part)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u64 start;

	tx_env_restart(test, 1, ENV_PSIZE);
	tx_open(test, 0);
	p = &env->tx.path[0];
	KUNIT_ASSERT_NOT_NULL(test, tx_post(env, 0, MROCE_OP_WRITE, 100));
	while (p->next - p->high <= 16) {
		while (tx_pick(env))
			;
		KUNIT_ASSERT_TRUE(test, tx_timer(env, SEC));
	}
	tx_ack_new(env, 0, p->next - 1);
	memset(env->ack.bitmap, 0, sizeof(env->ack.bitmap));
	env->ack.flags = MROCE_A_PARTIAL;
	env->ack.packets = p->packets + (p->next - 1 - p->high) * (16 - part) / 16;
	KUNIT_ASSERT_EQ(test, tx_ack(env), MROCE_REASON_NONE);
	start = env->now;
	while (!env->req[0].failed) {
		while (tx_pick(env))
			;
		KUNIT_ASSERT_TRUE(test, tx_timer(env, 10 * SEC));
	}
	KUNIT_EXPECT_EQ(test, env->req[0].fail_reason, MROCE_REASON_ERR_RETRY);
	return env->now - start;
}

/* Answers to probes are none to a stream of which each packet is lost, whenever one looks. */
static void probes_are_no_answer(struct kunit *test)
{
	bool is_data[MROCE_BITMAP_BITS] = {};
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u64 start;
	u32 i, k;

	tx_env_restart(test, 1, ENV_PSIZE);
	tx_open(test, 0);
	p = &env->tx.path[0];
	KUNIT_ASSERT_NOT_NULL(test, tx_post(env, 0, MROCE_OP_WRITE, 100));
	start = env->now;
	for (i = 0; i < 2000 && !env->req[0].failed; i++) {
		bool probed = false;

		while (tx_pick(env)) {
			probed |= env->x.kind == MROCE_XMIT_PROBE;
			is_data[(p->next - 1) % MROCE_BITMAP_BITS] =
				env->x.kind == MROCE_XMIT_DATA;
		}
		if (probed) {
			tx_ack_new(env, 0, p->next - 1);
			for (k = 0; k < MROCE_BITMAP_BITS; k++)
				if (is_data[(p->next - 1 - k) % MROCE_BITMAP_BITS])
					tx_ack_miss(env, p->next - 1 - k);
			env->ack.packets = p->packets + 1;
			tx_ack(env);
		}
		env->now += 10 * MROCE_MSEC;
		mroce_tx_timer(&env->tx, env->now);
	}
	KUNIT_EXPECT_EQ(test, env->req[0].fail_reason, MROCE_REASON_ERR_RETRY);
	KUNIT_EXPECT_LE(test, env->now - env->tx.last_ack, SEC);
	KUNIT_EXPECT_GE(test, env->now - start, env->req[0].timeout);
	KUNIT_EXPECT_LE(test, env->now - start, 5 * env->req[0].timeout);
}

/* Where more than a quarter is lost a deadline is four times what was asked for. */
static void deadlines_under_loss(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u64 asked = env->req[0].timeout;

	KUNIT_EXPECT_LE(test, deadline_of(test, 2), 2 * asked);
	KUNIT_EXPECT_GE(test, deadline_of(test, 8), 3 * asked);
	KUNIT_EXPECT_LE(test, deadline_of(test, 8), 5 * asked);
}

/* from when on, and until when, the network drops everything */
static u64 outage[2];

static bool during_outage(struct sim *s, struct sim_packet *p, const struct mroce_base *b)
{
	return s->now >= outage[0] && s->now < outage[1];
}

/*
 * Nothing arrives for a while, as long as several round trips. That is no congestion: half a second
 * later as much is delivered as before.
 */
static void outages(struct kunit *test)
{
	static const struct sim_load writes = {
		.count = 1500,
		.ops = BIT(MROCE_OP_WRITE),
		.len_max = 60000,
		.depth = 64,
		.timeout = 8 * SEC,
	};
	static const struct sim_load none = { .buffers = 32, .buffer_len = 64 };
	static const struct {
		u64 delay, length;
		u8 npaths;
	} cases[] = {
		{ 5 * MSEC, 60 * MSEC, 4 },
		{ 5 * MSEC, 200 * MSEC, 4 },
		{ 5 * MSEC, 200 * MSEC, 1 },
		{ MSEC / 2, 100 * MSEC, 16 },
	};
	struct sim_cfg net = {
		.seed = 5,
		.rate = 12500000,
		.copy = 100,
		.step = 400,
		.payload = 1376,
		.train = 16384,
		.cpus = 2,
	};
	u64 before, after;
	struct sim_qp *qp;
	struct sim *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		net.delay = cases[i].delay;
		net.npaths = cases[i].npaths;
		s = scenario_new(test, &net);
		s->filter = during_outage;
		qp = sim_connect(s, 0, &writes, 1, &none);
		outage[0] = s->now + SEC;
		outage[1] = outage[0] + cases[i].length;
		sim_run(s, outage[0] - 300 * MSEC);
		before = qp->peer->landed;
		sim_run(s, outage[0]);
		before = qp->peer->landed - before;
		sim_run(s, outage[1] + 500 * MSEC);
		after = qp->peer->landed;
		sim_run(s, outage[1] + 800 * MSEC);
		after = qp->peer->landed - after;
		KUNIT_EXPECT_GT(test, after * 10, before * 9);
		if (!sim_run_all(s, s->now + 20 * SEC))
			scenario_stuck(test, s);
		scenario_end(test, s);
	}
}

static struct kunit_case cases[] = { KUNIT_CASE(size_is_asked_rarely),
				     KUNIT_CASE(black_hole_after_loss), KUNIT_CASE(false_counts),
				     KUNIT_CASE(deadlines_under_loss),
				     KUNIT_CASE(probes_are_no_answer), {} };

struct kunit_suite mroce_crowd_suite = {
	.name = "mroce_crowd",
	.init = tx_env_init,
	.exit = tx_env_exit,
	.test_cases = cases,
};

static struct kunit_case sim_cases[] = { KUNIT_CASE(outages), {} };

struct kunit_suite mroce_crowd_sim_suite = {
	.name = "mroce_crowd_sim",
	.test_cases = sim_cases,
};
