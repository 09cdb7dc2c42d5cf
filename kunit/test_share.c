// SPDX-License-Identifier: GPL-2.0
/*
 * A receiver's shares (RULES.md 20, 21, 53): members whose packets and ACKs are made by hand, and a
 * receiving half's part of it.
 */
#include "suites.h"
#include "rx_env.h"

#define GBIT	 122070U /* KiB/s */
#define CAPACITY (100 * GBIT)
#define PACKET	 4216
#define USEC	 1000ULL
#define MANY	 4096

struct share_env {
	struct mroce_share share;
	struct mroce_share_member *m;
	u64 now;
};

static int share_init(struct kunit *test)
{
	struct share_env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);
	u32 i;

	if (!env)
		return -ENOMEM;
	env->m = kvcalloc(MANY, sizeof(*env->m), GFP_KERNEL);
	if (!env->m)
		return -ENOMEM;
	test->priv = env;
	env->now = 5000000000ULL;
	mroce_share_init(&env->share);
	mroce_share_rtt(&env->share, 20 * USEC);
	mroce_share_capacity(&env->share, CAPACITY);
	for (i = 0; i < MANY; i++)
		mroce_share_connect(&env->share, &env->m[i], NULL, 1);
	return 0;
}

static void share_exit(struct kunit *test)
{
	struct share_env *env = test->priv;
	u32 i;

	if (!env)
		return;
	for (i = 0; i < MANY; i++)
		mroce_share_disconnect(&env->share, &env->m[i]);
	KUNIT_EXPECT_EQ(test, env->share.active, 0);
	KUNIT_EXPECT_EQ(test, env->share.weight, 0);
	KUNIT_EXPECT_EQ(test, env->share.hungry, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&env->share.members));
	kvfree(env->m);
}

/* A packet of member @i with this backlog, and its ACK. */
static u32 hear(struct share_env *env, u32 i, u32 backlog)
{
	struct mroce_share_member *m = &env->m[i];

	mroce_share_count(m, PACKET, env->now);
	mroce_share_says(m, backlog, false);
	if (mroce_share_stale(&env->share, m, env->now))
		mroce_share_update(&env->share, m, PACKET, env->now);
	return m->told;
}

/*
 * Members [0, n) send at their shares for a while, each at most @most KiB/s (0: all of its share),
 * and are told unasked what there is to tell.
 */
static void send_for(struct share_env *env, u32 n, u64 ns, const u32 *most)
{
	u64 until = env->now + ns, step = 5 * USEC;
	u32 i, rate, k;

	for (; env->now < until; env->now += step) {
		for (i = 0; i < n; i++) {
			struct mroce_share_member *m = &env->m[i];

			rate = most && most[i] ? min(most[i], m->told) : m->told;
			mroce_share_count(m, (u32)div_u64((u64)rate * step, 976562), env->now);
			mroce_share_says(m, 10000, most && most[i] && most[i] < m->told);
			if (mroce_share_stale(&env->share, m, env->now))
				mroce_share_update(&env->share, m, PACKET, env->now);
		}
		for (k = 0; k < 4; k++)
			if (!mroce_share_tell(&env->share, env->now))
				break;
	}
}

static u64 sum(struct share_env *env, u32 n)
{
	u64 told = 0;
	u32 i;

	for (i = 0; i < n; i++)
		told += env->m[i].told;
	return told;
}

/* Whoever is alone may have everything. */
static void alone(struct kunit *test)
{
	struct share_env *env = test->priv;

	KUNIT_EXPECT_EQ(test, hear(env, 0, 1000), CAPACITY);
	send_for(env, 1, 2000 * USEC, NULL);
	KUNIT_EXPECT_EQ(test, env->m[0].told, CAPACITY);
	KUNIT_EXPECT_EQ(test, env->share.active, 1);
}

/* Without a known capacity nobody is limited. */
static void unknown_capacity(struct kunit *test)
{
	struct share_env *env = test->priv;

	hear(env, 0, 1000);
	mroce_share_capacity(&env->share, 0);
	KUNIT_EXPECT_EQ(test, hear(env, 0, 1000), 0);
	KUNIT_EXPECT_EQ(test, hear(env, 1, 1000), 0);
	KUNIT_EXPECT_EQ(test, mroce_share_allowance(&env->share), 0);
	KUNIT_EXPECT_FALSE(test, mroce_share_stale(&env->share, &env->m[1], env->now));
}

/*
 * Rule 21: what is announced and may still be in use is never more than the capacity and a least
 * share for each; a newcomer gets its part when the others have heard of theirs.
 */
static void joining(struct kunit *test)
{
	struct share_env *env = test->priv;
	u32 i, first;

	hear(env, 0, 1000);
	first = hear(env, 1, 1000);
	KUNIT_EXPECT_GT(test, first, 0);
	KUNIT_EXPECT_LE(test, first, CAPACITY / 8);
	/* the first hears of it with its next packet; that counts until a round trip has passed */
	KUNIT_EXPECT_LE(test, hear(env, 0, 1000), CAPACITY / 2);
	KUNIT_EXPECT_LE(test, hear(env, 1, 1000), CAPACITY / 8);
	env->now += 26 * USEC;
	KUNIT_EXPECT_GE(test, hear(env, 1, 1000), CAPACITY * 4 / 10);
	KUNIT_EXPECT_LE(test, sum(env, 2), CAPACITY);
	for (i = 2; i < 64; i++) {
		hear(env, i, 1000);
		KUNIT_EXPECT_LE(test, env->m[i].told, CAPACITY / 8);
	}
	send_for(env, 64, 200 * USEC, NULL);
	KUNIT_EXPECT_LE(test, sum(env, 64), CAPACITY);
	for (i = 0; i < 64; i++) {
		KUNIT_EXPECT_GE(test, env->m[i].told, CAPACITY / 64 * 8 / 10);
		KUNIT_EXPECT_LE(test, env->m[i].told, CAPACITY / 64);
	}
}

/* Thousands at once: each gets its part, and the sum is kept. */
static void thousands(struct kunit *test)
{
	struct share_env *env = test->priv;
	u32 i;

	for (i = 0; i < MANY; i++)
		hear(env, i, 1000);
	send_for(env, MANY, 2000 * USEC, NULL);
	KUNIT_EXPECT_LE(test, sum(env, MANY), CAPACITY + CAPACITY / 16);
	KUNIT_EXPECT_GE(test, sum(env, MANY), CAPACITY * 9ULL / 10);
	for (i = 0; i < MANY; i += 7)
		KUNIT_EXPECT_GE(test, env->m[i].told, CAPACITY / MANY / 2);
	KUNIT_EXPECT_EQ(test, env->share.active, MANY);
}

/* Max-min with demand: who wants less gets that and a little more, the others divide the rest. */
static void demand(struct kunit *test)
{
	struct share_env *env = test->priv;
	u32 most[8] = { 2 * GBIT, 2 * GBIT, 2 * GBIT, 2 * GBIT }, i;

	for (i = 0; i < 8; i++)
		hear(env, i, 10000);
	send_for(env, 8, 20000 * USEC, most);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_GE(test, env->m[i].told, 2 * GBIT);
		KUNIT_EXPECT_LE(test, env->m[i].told, 4 * GBIT);
	}
	for (i = 4; i < 8; i++)
		KUNIT_EXPECT_GE(test, env->m[i].told, 19 * GBIT);
	KUNIT_EXPECT_LE(test, sum(env, 8), CAPACITY);
	/* they want more: the share in use grows, by a quarter an epoch */
	memset(most, 0, sizeof(most));
	send_for(env, 8, 20000 * USEC, most);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_GE(test, env->m[i].told, CAPACITY / 8 * 8 / 10);
}

static void weights(struct kunit *test)
{
	struct share_env *env = test->priv;

	mroce_share_weigh(&env->share, &env->m[1], 3);
	hear(env, 0, 10000);
	hear(env, 1, 10000);
	send_for(env, 2, 2000 * USEC, NULL);
	KUNIT_EXPECT_GE(test, env->m[1].told, CAPACITY * 7 / 10);
	KUNIT_EXPECT_GE(test, env->m[0].told, CAPACITY * 2 / 10);
}

/* A weight counts at once, also of who sends, or wants less than it may have, or is silent. */
static void weights_change(struct kunit *test)
{
	u32 most[3] = { 0, 0, 2 * GBIT };
	struct share_env *env = test->priv;
	u32 i;

	for (i = 0; i < 3; i++)
		hear(env, i, 10000);
	send_for(env, 3, 20000 * USEC, most);
	KUNIT_EXPECT_GE(test, env->m[1].told, CAPACITY * 45 / 100);
	KUNIT_EXPECT_LE(test, env->m[1].told, CAPACITY / 2);
	mroce_share_weigh(&env->share, &env->m[1], 4);
	mroce_share_weigh(&env->share, &env->m[2], 2);
	mroce_share_weigh(&env->share, &env->m[3], 100);
	KUNIT_EXPECT_EQ(test, env->share.weight, 7);
	send_for(env, 3, 20000 * USEC, most);
	KUNIT_EXPECT_GE(test, env->m[1].told, CAPACITY * 7 / 10);
	KUNIT_EXPECT_GE(test, env->m[0].told, CAPACITY * 17 / 100);
	KUNIT_EXPECT_LE(test, env->m[2].told, 4 * GBIT);
	KUNIT_EXPECT_LE(test, sum(env, 3), CAPACITY);
	/* none is 1 again */
	mroce_share_weigh(&env->share, &env->m[1], 0);
	send_for(env, 3, 20000 * USEC, most);
	KUNIT_EXPECT_GE(test, env->m[0].told, CAPACITY * 40 / 100);
	KUNIT_EXPECT_GE(test, env->m[1].told, CAPACITY * 40 / 100);
}

/* No backlog, no share: others have it; and silence ends a sender after its time. */
static void leaving(struct kunit *test)
{
	struct share_env *env = test->priv;
	u32 i;

	for (i = 0; i < 4; i++)
		hear(env, i, 10000);
	send_for(env, 4, 1000 * USEC, NULL);
	hear(env, 3, 0);
	KUNIT_EXPECT_EQ(test, env->share.active, 3);
	/* what it used counts until it is measured anew */
	send_for(env, 3, 800 * USEC, NULL);
	KUNIT_EXPECT_GE(test, hear(env, 0, 10000), CAPACITY / 3 * 9 / 10);
	/* the last two say nothing any more */
	send_for(env, 1, 100 * USEC, NULL);
	KUNIT_EXPECT_EQ(test, env->share.active, 3);
	send_for(env, 1, 1000 * USEC, NULL);
	KUNIT_EXPECT_EQ(test, env->share.active, 1);
	KUNIT_EXPECT_EQ(test, hear(env, 0, 10000), CAPACITY);
}

/* At a small share three packets' time is longer than 250 µs, and silence is no sign before. */
static void slow_senders_live_longer(struct kunit *test)
{
	struct share_env *env = test->priv;
	u32 i;

	mroce_share_capacity(&env->share, 2000); /* 2 MB/s: a packet of each in 4 ms */
	for (i = 0; i < 2; i++)
		hear(env, i, 10000);
	send_for(env, 2, 50000 * USEC, NULL);
	send_for(env, 1, 5000 * USEC, NULL);
	KUNIT_EXPECT_EQ(test, env->share.active, 2);
	send_for(env, 1, 20000 * USEC, NULL);
	KUNIT_EXPECT_EQ(test, env->share.active, 1);
}

/* What is told to those with nothing to send does not add up to more than there is. */
static void idle_senders(struct kunit *test)
{
	struct share_env *env = test->priv;
	u32 i;

	for (i = 0; i < 64; i++)
		hear(env, i, 0);
	KUNIT_EXPECT_EQ(test, env->share.active, 0);
	KUNIT_EXPECT_LE(test, sum(env, 64), CAPACITY);
	/* and what they may send from idle fits into a round trip, a packet each at least */
	KUNIT_EXPECT_EQ(test, mroce_share_allowance(&env->share), PACKET);
	for (i = 8; i < MANY; i++)
		mroce_share_disconnect(&env->share, &env->m[i]);
	KUNIT_EXPECT_GE(test, mroce_share_allowance(&env->share), 28 * 1024);
	KUNIT_EXPECT_LE(test, mroce_share_allowance(&env->share), 33 * 1024);
	for (i = 1; i < 8; i++)
		mroce_share_disconnect(&env->share, &env->m[i]);
	KUNIT_EXPECT_EQ(test, mroce_share_allowance(&env->share), 65536);
	for (i = 1; i < MANY; i++)
		mroce_share_connect(&env->share, &env->m[i], NULL, 1);
}

/* Reductions are told unasked; raises too, to each once in a round trip. */
static void told_unasked(struct kunit *test)
{
	struct share_env *env = test->priv;
	u32 i, told = 0;

	hear(env, 0, 10000);
	hear(env, 1, 10000);
	/* the first keeps silent: it is found, and told */
	KUNIT_EXPECT_PTR_EQ(test, mroce_share_tell(&env->share, env->now), &env->m[0]);
	KUNIT_EXPECT_LE(test, env->m[0].told, CAPACITY / 2);
	KUNIT_EXPECT_NULL(test, mroce_share_tell(&env->share, env->now));
	/* when that has been heard the second gets its part */
	env->now += 26 * USEC;
	KUNIT_EXPECT_PTR_EQ(test, mroce_share_tell(&env->share, env->now), &env->m[1]);
	KUNIT_EXPECT_GE(test, env->m[1].told, CAPACITY / 3);
	env->share.announced -= env->m[1].told / 2;
	env->m[1].told -= env->m[1].told / 2;
	for (i = 0; i < 10; i++)
		told += !!mroce_share_tell(&env->share, env->now);
	KUNIT_EXPECT_EQ(test, told, 0);
	env->now += 26 * USEC;
	KUNIT_EXPECT_PTR_EQ(test, mroce_share_tell(&env->share, env->now), &env->m[1]);
}

static struct kunit_case share_cases[] = { KUNIT_CASE(alone),
					   KUNIT_CASE(unknown_capacity),
					   KUNIT_CASE(joining),
					   KUNIT_CASE(thousands),
					   KUNIT_CASE(demand),
					   KUNIT_CASE(weights),
					   KUNIT_CASE(weights_change),
					   KUNIT_CASE(leaving),
					   KUNIT_CASE(slow_senders_live_longer),
					   KUNIT_CASE(idle_senders),
					   KUNIT_CASE(told_unasked),
					   {} };

struct kunit_suite mroce_share_suite = {
	.name = "mroce_share",
	.init = share_init,
	.exit = share_exit,
	.test_cases = share_cases,
};

/* ---- the half ---- */

static struct mroce_share half_share;

static void grant(struct mroce_rx *rx, u8 plane, u64 now)
{
	mroce_share_update(&half_share, &rx->member[plane], rx->packet, now);
	rx->share = rx->member[plane].told;
	rx->allowance = mroce_share_allowance(&half_share);
	rx->active = half_share.active;
}

/* What data packets say is counted, and ACKs tell the share. */
static void half_tells(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_data d;

	mroce_share_init(&half_share);
	mroce_share_capacity(&half_share, GBIT);
	mroce_share_connect(&half_share, &env->rx.member[0], &env->rx, 1);
	env->rx.grant = grant;
	d = rx_data(env, MROCE_OP_WRITE, 0, 0, 1000, 0, 1);
	d.backlog = 7;
	d.flags |= MROCE_F_HELD_BACK | MROCE_F_ACKREQ;
	rx_take(test, 0, d, 1);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->ack.share, GBIT);
	KUNIT_EXPECT_EQ(test, env->ack.active, 1);
	KUNIT_EXPECT_GT(test, env->ack.allowance, 0);
	KUNIT_EXPECT_TRUE(test, env->rx.member[0].held_back);
	KUNIT_EXPECT_EQ(test, env->rx.member[0].backlog, 7);
	/* a probe says nothing of the backlog */
	rx_probe(env, 0, env->number[0]++, MROCE_F_ACKREQ, false);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->rx.member[0].backlog, 7);
	KUNIT_EXPECT_EQ(test, env->ack.active, 1);
	/* asked for or not */
	KUNIT_EXPECT_FALSE(test, rx_ack(env));
	mroce_rx_tell(&env->rx, 0);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_EQ(test, env->ack.base.path, 0);
	mroce_share_disconnect(&half_share, &env->rx.member[0]);
}

/* A train that came uncut was marked once; of others each packet counts (rule 34). */
static void a_train_is_one_mark(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;
	u32 i;

	for (i = 0; i < 2; i++) {
		struct mroce_data d =
			rx_data(env, MROCE_OP_WRITE, i, 4 * i, 4000, 0, 4);

		d.flags |= MROCE_F_ACKREQ;
		KUNIT_ASSERT_EQ(test, rx_claim(test, &op, 0, d, 4), MROCE_REASON_NONE);
		op.ce = true;
		op.whole = i;
		mroce_rxs_placed(&env->req, &op, op.claimed);
		rx_finish(env, &op);
		KUNIT_ASSERT_TRUE(test, rx_ack(env));
		KUNIT_EXPECT_EQ(test, env->ack.ce, i ? 5 : 4);
		KUNIT_EXPECT_EQ(test, env->ack.packets, 4 * i + 4);
	}
	KUNIT_EXPECT_EQ(test, env->rx.stats.ce, 8);
}

static struct kunit_case half_cases[] = { KUNIT_CASE(half_tells),
					  KUNIT_CASE(a_train_is_one_mark),
					  {} };

struct kunit_suite mroce_share_half_suite = {
	.name = "mroce_share_half",
	.init = rx_env_init,
	.exit = rx_env_exit,
	.test_cases = half_cases,
};
