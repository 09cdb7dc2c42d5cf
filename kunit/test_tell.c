// SPDX-License-Identifier: GPL-2.0
/*
 * What its host tells a sending half, at any time: other planes to announce, a path to ask about,
 * carriers that go and come, packets that were undeliverable.
 */
#include "suites.h"
#include "tx_env.h"

static bool pick_hello(struct tx_env *env)
{
	return tx_pick(env) && env->x.kind == MROCE_XMIT_HELLO;
}

/* Other planes go in a HELLO with a nonce of its own, and the half stays open meanwhile. */
static void announced(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_hello more = env->hello, ack;

	tx_open(test, 0);
	more.nplanes = 2;
	more.serial = 7;
	more.nonce = 0x9999;
	more.plane[1].addr[15] = 3;
	env->tx.hello.flags = MROCE_H_RESTART;
	mroce_tx_announce(&env->tx, &more, env->now);
	KUNIT_ASSERT_TRUE(test, pick_hello(env));
	KUNIT_EXPECT_EQ(test, env->x.hello.nplanes, 2);
	KUNIT_EXPECT_EQ(test, env->x.hello.serial, 7);
	KUNIT_EXPECT_EQ(test, env->x.hello.nonce, 0x9999);
	KUNIT_EXPECT_EQ(test, env->x.hello.plane[1].addr[15], 3);
	KUNIT_EXPECT_EQ(test, env->x.hello.own_id, ENV_OWN_ID);
	/* no RESET raised it */
	KUNIT_EXPECT_EQ(test, env->x.hello.flags & MROCE_H_RESTART, 0);
	KUNIT_EXPECT_EQ(test, env->tx.state, MROCE_TX_OPEN);

	/* the next change goes with the HELLO that is unanswered, under its nonce */
	more.serial = 8;
	more.nonce = 0xaaaa;
	mroce_tx_announce(&env->tx, &more, env->now);
	env->now += 2 * MROCE_MSEC;
	KUNIT_ASSERT_TRUE(test, pick_hello(env));
	KUNIT_EXPECT_EQ(test, env->x.hello.serial, 8);
	KUNIT_EXPECT_EQ(test, env->x.hello.nonce, 0x9999);

	ack = env->hello_ack;
	ack.nonce = 0x9999;
	KUNIT_EXPECT_EQ(test, mroce_tx_hello_ack(&env->tx, &ack, env->now), 0);
	env->now += 200 * MROCE_MSEC;
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
}

/* A half that is not connected, or dead, says nothing. */
static void nobody_to_tell(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_tx *idle = kunit_kzalloc(test, sizeof(*idle), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, idle);
	KUNIT_ASSERT_EQ(test, mroce_tx_init(idle, 1, 1, ENV_PSIZE), 0);
	mroce_tx_announce(idle, &env->hello, env->now);
	KUNIT_EXPECT_FALSE(test, mroce_tx_any(idle));
	KUNIT_EXPECT_EQ(test, mroce_tx_pick(idle, env->now, &env->x), 0);
	mroce_tx_free(idle);

	tx_open(test, 0);
	mroce_tx_kill(&env->tx, MROCE_REASON_ERR_PEER_RESET);
	mroce_tx_kill(&env->tx, MROCE_REASON_ERR_REFUSED);
	KUNIT_EXPECT_EQ(test, env->tx.dead_reason, MROCE_REASON_ERR_PEER_RESET);
	mroce_tx_announce(&env->tx, &env->hello, env->now);
	KUNIT_EXPECT_FALSE(test, env->tx.hello_wanted);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
}

/* A path is asked about by one PROBE, unless what is on its way there asks already. */
static void asked(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_tx *tx = &env->tx;

	tx_open(test, 0);
	KUNIT_EXPECT_FALSE(test, mroce_tx_path_ask(tx, tx->npaths));
	KUNIT_ASSERT_TRUE(test, mroce_tx_path_ask(tx, 2));
	KUNIT_EXPECT_TRUE(test, mroce_tx_path_ask(tx, 2));
	KUNIT_ASSERT_TRUE(test, tx_pick(env));
	KUNIT_EXPECT_EQ(test, env->x.kind, MROCE_XMIT_PROBE);
	KUNIT_EXPECT_EQ(test, env->x.path, 2);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
	KUNIT_EXPECT_FALSE(test, mroce_tx_path_ask(tx, 2));
	tx_ack_new(env, 2, env->x.control.base.number);
	KUNIT_EXPECT_EQ(test, tx_ack(env), MROCE_REASON_NONE);
	KUNIT_EXPECT_TRUE(test, mroce_tx_path_ask(tx, 2));
	/* without a carrier it is not sent, and not asked for */
	mroce_tx_plane_down(tx, 0, env->now);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
	KUNIT_EXPECT_FALSE(test, mroce_tx_path_ask(tx, 2));
}

/* The carrier goes while a path has failed already: it is not probed before that is back. */
static void failed_path_is_down(struct kunit *test)
{
	struct tx_env *env = test->priv;
	struct mroce_txpath *p;
	u32 probes = 0;
	u8 path;

	tx_open(test, 0);
	tx_post(env, 0, MROCE_OP_WRITE, 4 * ENV_PSIZE);
	KUNIT_ASSERT_TRUE(test, tx_pick_data(env));
	path = env->x.path;
	p = &env->tx.path[path];
	/* of a number that is not on its way nobody can tell */
	KUNIT_EXPECT_FALSE(test, mroce_tx_path_unreachable(&env->tx, path, p->next, env->now));
	KUNIT_EXPECT_TRUE(test, mroce_tx_path_unreachable(&env->tx, path, p->next - 1, env->now));
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_FAILED);
	env->now = p->probe_at;
	mroce_tx_timer(&env->tx, env->now);
	while (tx_pick(env))
		probes += env->x.kind == MROCE_XMIT_PROBE && env->x.path == path;
	KUNIT_EXPECT_NE(test, probes, 0);
	/* that a probe did not come through either is nothing new */
	KUNIT_EXPECT_TRUE(test, mroce_tx_path_unreachable(&env->tx, path, p->next - 1, env->now));
	KUNIT_EXPECT_EQ(test, p->state, MROCE_PATH_PROBING);

	mroce_tx_plane_down(&env->tx, 0, env->now);
	KUNIT_EXPECT_EQ(test, p->probe_at, MROCE_NEVER);
	KUNIT_EXPECT_EQ(test, p->inflight, 0);
	mroce_tx_plane_down(&env->tx, 0, env->now);
	mroce_tx_plane_up(&env->tx, 3, env->now);
	env->now += 1000 * MROCE_MSEC;
	mroce_tx_timer(&env->tx, env->now);
	KUNIT_EXPECT_FALSE(test, tx_pick(env));
	mroce_tx_plane_up(&env->tx, 0, env->now);
	KUNIT_EXPECT_TRUE(test, tx_pick(env));
}

static struct kunit_case cases[] = { KUNIT_CASE(announced),
				     KUNIT_CASE(nobody_to_tell),
				     KUNIT_CASE(asked),
				     KUNIT_CASE(failed_path_is_down),
				     {} };

struct kunit_suite mroce_tell_suite = {
	.name = "mroce_tell",
	.init = tx_env_init,
	.exit = tx_env_exit,
	.test_cases = cases,
};
