// SPDX-License-Identifier: GPL-2.0
/*
 * What a stream may choose of its own: planes, how many paths, its weight in the turns, and how
 * much of it goes at once. What it has chosen holds back nobody else, and not itself when it fails.
 */
#include "suites.h"
#include "tx_env.h"

#define EVERY U8_MAX

/* four paths with large windows, on two planes: even ones on the first */
static void two_planes(struct kunit *test, u32 streams)
{
	struct tx_env *env = test->priv;
	u32 i;

	for (i = 0; i < streams; i++) {
		tx_open(test, i);
		env->req[i].window = 4096;
		env->req[i].timeout = 0;
	}
	mroce_tx_planes(&env->tx, 2);
	/* both have been heard of: no idle allowance is in the way */
	for (i = 0; i < 2; i++) {
		env->tx.plane[i].heard = true;
		env->tx.plane[i].share_until = MROCE_NEVER;
	}
	for (i = 0; i < 4; i++)
		mroce_cc_window(&env->tx, &env->tx.path[i], 1 << 20);
}

static void write(struct tx_env *env, u32 i, u32 n, u32 bytes)
{
	while (n--)
		tx_post(env, i, MROCE_OP_WRITE, bytes);
}

/* Bytes by weight, as long as all of them have something to send. */
static void weights(struct kunit *test)
{
	static const u8 weight[] = { 1, 2, 5 };
	struct tx_env *env = test->priv;
	u64 bytes[3] = {}, total = 0;
	u32 i;

	two_planes(test, 3);
	for (i = 0; i < 3; i++) {
		mroce_txs_tune(&env->req[i], EVERY, 0, weight[i], 0);
		write(env, i, ENV_MSGS, 60000);
	}
	while (total < 3000000) {
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
		bytes[env->x.txs - env->req] += env->x.bytes;
		total += env->x.bytes;
	}
	for (i = 1; i < 3; i++) {
		KUNIT_EXPECT_GE(test, bytes[i] * 10, bytes[0] * weight[i] * 8);
		KUNIT_EXPECT_LE(test, bytes[i] * 10, bytes[0] * weight[i] * 12);
	}
}

/* Each stream on its planes only; one without a choice on all. */
static void planes(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, used[3] = {};

	two_planes(test, 3);
	mroce_txs_tune(&env->req[0], BIT(0), 0, 1, 0);
	mroce_txs_tune(&env->req[1], BIT(1), 0, 1, 0);
	for (i = 0; i < 3; i++)
		write(env, i, 10, 20000);
	while (tx_pick_data(env))
		used[env->x.txs - env->req] |= BIT(env->x.plane);
	KUNIT_EXPECT_EQ(test, used[0], BIT(0));
	KUNIT_EXPECT_EQ(test, used[1], BIT(1));
	KUNIT_EXPECT_EQ(test, used[2], BIT(0) | BIT(1));
}

/* Planes are chosen by the names that the caller gave them. */
static void plane_names(struct kunit *test)
{
	struct tx_env *env = test->priv;

	two_planes(test, 1);
	env->tx.plane[0].slot = 5;
	env->tx.plane[1].slot = 0;
	mroce_txs_tune(&env->req[0], BIT(5), 0, 1, 0);
	write(env, 0, 10, 20000);
	while (tx_pick_data(env))
		KUNIT_EXPECT_EQ(test, env->x.plane, 0);
	/* also of a plane that was empty, and gets its first path */
	env->tx.plane[4].slot = 6;
	env->tx.nplanes = 5;
	mroce_tx_path_move(&env->tx, 3, 4, false, env->now);
	KUNIT_EXPECT_EQ(test, env->tx.plane[4].slot, 6);
}

/* A stream whose planes are full is passed over, and goes on once they have room. */
static void full_plane(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, sent[2] = {};

	two_planes(test, 3);
	for (i = 0; i < 4; i += 2)
		mroce_cc_window(&env->tx, &env->tx.path[i], 2 * (ENV_PSIZE + MROCE_OVERHEAD));
	mroce_txs_tune(&env->req[0], BIT(0), 0, 1, 0);
	mroce_txs_tune(&env->req[1], BIT(1), 0, 1, 0);
	write(env, 0, 4, 20000);
	write(env, 1, 4, 20000);
	while (tx_pick_data(env))
		sent[env->x.txs - env->req] += env->x.count;
	KUNIT_EXPECT_EQ(test, sent[1], 80);
	KUNIT_EXPECT_GT(test, sent[0], 0);
	KUNIT_EXPECT_LT(test, sent[0], 40);
	/* another that does not choose is not held back either */
	write(env, 2, 4, 20000);
	while (tx_pick_data(env))
		if (env->x.txs == &env->req[2])
			KUNIT_EXPECT_EQ(test, env->x.plane, 1);
	KUNIT_EXPECT_EQ(test, env->req[2].nxt - env->req[2].una, 80);
	for (i = 0; i < 200 && sent[0] < 80; i++) {
		u32 k;

		env->now += 100 * MROCE_USEC;
		for (k = 0; k < 4; k++) {
			if (env->tx.path[k].next == 1)
				continue;
			tx_ack_new(env, k, env->tx.path[k].next - 1);
			tx_ack(env);
		}
		while (tx_pick_data(env)) {
			KUNIT_EXPECT_EQ(test, env->x.plane, 0);
			sent[0] += env->x.count;
		}
	}
	KUNIT_EXPECT_EQ(test, sent[0], 80);
}

/* A response that its choice holds back does not hold back requests. */
static void full_plane_of_a_response(struct kunit *test)
{
	struct tx_env *env = test->priv;

	two_planes(test, 1);
	mroce_txs_tune(&env->resp, BIT(0), 0, 1, 0);
	mroce_cc_window(&env->tx, &env->tx.path[0], ENV_PSIZE);
	mroce_cc_window(&env->tx, &env->tx.path[2], ENV_PSIZE);
	tx_post(env, 0, MROCE_OP_READ_RESP, 50000);
	write(env, 0, 2, 20000);
	while (tx_pick_data(env))
		;
	KUNIT_EXPECT_TRUE(test, mroce_txs_more(&env->resp));
	KUNIT_EXPECT_EQ(test, env->req[0].nxt - env->req[0].una, 40);
}

/* When all that it has chosen fails, it goes by what there is; and back again. */
static void chosen_plane_fails(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 n = 0;

	two_planes(test, 1);
	mroce_txs_tune(&env->req[0], BIT(0), 0, 1, 0);
	mroce_tx_plane_down(&env->tx, 0, env->now);
	write(env, 0, 4, 20000);
	while (tx_pick_data(env)) {
		KUNIT_EXPECT_EQ(test, env->x.plane, 1);
		n += env->x.count;
	}
	KUNIT_EXPECT_EQ(test, n, 80);
	/* a plane that there is not: no more than one that has failed */
	mroce_txs_tune(&env->req[0], BIT(7), 0, 1, 0);
	write(env, 0, 4, 20000);
	n = 0;
	while (tx_pick_data(env))
		n += env->x.count;
	KUNIT_EXPECT_EQ(test, n, 80);
}

/* An answer that is late is no reason to leave what it has chosen, as long as others answer. */
static void chosen_plane_is_late(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, n = 0;

	two_planes(test, 1);
	mroce_txs_tune(&env->req[0], BIT(0), 0, 1, 0);
	write(env, 0, 4, 20000);
	tx_pick_all(env);
	for (i = 0; i < 4; i += 2) {
		struct mroce_txpath *p = &env->tx.path[i];

		KUNIT_ASSERT_NE(test, p->probe_at, MROCE_NEVER);
		env->now = max(env->now, p->probe_at);
		mroce_tx_timer(&env->tx, env->now);
		KUNIT_ASSERT_EQ(test, p->state, MROCE_PATH_SUSPECT);
	}
	while (tx_pick(env))
		;
	write(env, 0, 4, 20000);
	KUNIT_EXPECT_FALSE(test, tx_pick_data(env));
	tx_ack_new(env, 0, env->tx.path[0].next - 1);
	tx_ack(env);
	KUNIT_ASSERT_EQ(test, env->tx.path[0].state, MROCE_PATH_ACTIVE);
	while (tx_pick_data(env)) {
		KUNIT_EXPECT_EQ(test, env->x.path, 0);
		n += env->x.count;
	}
	KUNIT_EXPECT_GE(test, n, 80);
}

/* So many paths, not the same ones for all streams. */
static void few_paths(struct kunit *test)
{
	struct tx_env *env = test->priv;
	u32 i, used[4] = {};

	two_planes(test, 4);
	for (i = 0; i < 4; i++) {
		mroce_txs_tune(&env->req[i], EVERY, i < 2 ? 1 : i, 1, 0);
		write(env, i, 10, 20000);
	}
	while (tx_pick_data(env))
		used[env->x.txs - env->req] |= BIT(env->x.path);
	KUNIT_EXPECT_EQ(test, hweight32(used[0]), 1);
	KUNIT_EXPECT_EQ(test, hweight32(used[1]), 1);
	KUNIT_EXPECT_NE(test, used[0], used[1]);
	KUNIT_EXPECT_EQ(test, hweight32(used[2]), 2);
	KUNIT_EXPECT_EQ(test, hweight32(used[3]), 3);
	/* of those on its planes */
	for (i = 0; i < 4; i++) {
		mroce_txs_tune(&env->req[i], BIT(1), 1, 1, 0);
		write(env, i, 10, 20000);
		used[i] = 0;
	}
	while (tx_pick_data(env)) {
		KUNIT_EXPECT_EQ(test, env->x.plane, 1);
		used[env->x.txs - env->req] |= BIT(env->x.path);
	}
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, hweight32(used[i]), 1);
}

/* At most so much at once, a packet at least, never more than the half sends. */
static void bursts(struct kunit *test)
{
	static const struct {
		u32 train, count;
	} cases[] = { { 0, 10 }, { 1, 1 }, { 3 * ENV_PSIZE, 3 }, { 1 << 20, 10 } };
	struct tx_env *env = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		tx_env_restart(test, 4, 10 * ENV_PSIZE);
		two_planes(test, 1);
		mroce_txs_tune(&env->req[0], EVERY, 0, 1, cases[i].train);
		write(env, 0, 1, 60000);
		KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
		KUNIT_EXPECT_EQ(test, env->x.count, cases[i].count);
	}
}

/* A datagram goes by one path, so it takes only messages of streams that go by it. */
static void small_messages(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_xmit *x = &env->x;

	two_planes(test, 2);
	mroce_txs_tune(&env->req[0], BIT(0), 0, 1, 0);
	mroce_txs_tune(&env->req[1], BIT(1), 0, 1, 0);
	tx_pick_all(env);
	write(env, 0, 1, 100);
	write(env, 1, 1, 100);
	KUNIT_ASSERT_EQ(test, mroce_tx_pick(&env->tx, env->now, x), 1);
	KUNIT_EXPECT_EQ(test, x->plane, 0);
	KUNIT_EXPECT_EQ(test, mroce_tx_pick_more(&env->tx, 900, env->now, x), 0);
	mroce_txs_tune(&env->req[1], EVERY, 0, 1, 0);
	KUNIT_EXPECT_EQ(test, mroce_tx_pick_more(&env->tx, 900, env->now, x), 1);
	mroce_tx_sent(&env->tx, x, 0, MROCE_REASON_NONE);
}

static struct kunit_case cases[] = { KUNIT_CASE(weights),
				     KUNIT_CASE(planes),
				     KUNIT_CASE(plane_names),
				     KUNIT_CASE(full_plane),
				     KUNIT_CASE(full_plane_of_a_response),
				     KUNIT_CASE(chosen_plane_fails),
				     KUNIT_CASE(chosen_plane_is_late),
				     KUNIT_CASE(few_paths),
				     KUNIT_CASE(bursts),
				     KUNIT_CASE(small_messages),
				     {} };

struct kunit_suite mroce_tune_suite = {
	.name = "mroce_tune",
	.init = tx_env_init,
	.exit = tx_env_exit,
	.test_cases = cases,
};
