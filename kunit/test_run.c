// SPDX-License-Identifier: GPL-2.0
/*
 * Runs of small messages in one datagram: which headers make one, that it is taken as one
 * operation, what of it is refused, and when its messages are to be taken one by one instead.
 */
#include "suites.h"
#include "rx_env.h"

#define HEADER sizeof(struct mroce_wire_data)
#define RUN    4

static const u32 lengths[RUN] = { 100, 700, 0, 300 };

/* header of message @i of a run that begins at the psn */
static struct mroce_data message(struct rx_env *env, u8 opcode, u32 i)
{
	struct mroce_data d = rx_data(env, opcode, i, i, lengths[i], 0, 1);

	d.base.version = MROCE_WIRE_VERSION;
	d.base.id = 0xcccc;
	d.base.number = 1 + i;
	d.imm = 1000 + i;
	if (!mroce_opinfo[opcode].receive)
		d.rsn = 0;
	return d;
}

/* ---- headers ---- */

static void headers(struct kunit *test)
{
	static const u8 opcodes[] = { MROCE_OP_SEND, MROCE_OP_SEND_IMM, MROCE_OP_WRITE,
				      MROCE_OP_WRITE_IMM };
	struct rx_env *env = test->priv;
	struct mroce_data d, e;
	struct mroce_small m;
	u8 wire[HEADER];
	u32 i, o;

	for (o = 0; o < ARRAY_SIZE(opcodes); o++) {
		d = message(env, opcodes[o], 0);
		d.flags |= MROCE_F_SOLICITED;
		KUNIT_ASSERT_TRUE(test, mroce_begins_run(&d, &m));
		KUNIT_EXPECT_EQ(test, m.length, lengths[0]);
		KUNIT_EXPECT_EQ(test, m.addr, d.addr);
		KUNIT_EXPECT_TRUE(test, m.flags & MROCE_F_SOLICITED);
		for (i = 1; i < RUN; i++) {
			e = message(env, opcodes[o], i);
			e.backlog = 50 - i;
			e.floor = i;
			e.flags |= i == 2 ? MROCE_F_ACKREQ | MROCE_F_HELD_BACK : 0;
			mroce_build_data(wire, &e);
			KUNIT_ASSERT_TRUE(test, mroce_joins_run(wire, lengths[i], i, &d, &m));
			KUNIT_EXPECT_EQ(test, m.addr, e.addr);
			KUNIT_EXPECT_EQ(test, m.length, e.length);
			KUNIT_EXPECT_EQ(test, m.rkey, e.rkey);
			KUNIT_EXPECT_EQ(test, m.imm, e.imm);
			KUNIT_EXPECT_EQ(test, m.flags, e.flags);
			KUNIT_EXPECT_EQ(test, d.backlog, e.backlog);
			KUNIT_EXPECT_EQ(test, d.floor, e.floor);
		}
		/* of any of them; the rest is the first's */
		KUNIT_EXPECT_TRUE(test, d.flags & MROCE_F_ACKREQ);
		KUNIT_EXPECT_TRUE(test, d.flags & MROCE_F_HELD_BACK);
		KUNIT_EXPECT_EQ(test, d.base.number, 1);
		KUNIT_EXPECT_EQ(test, d.length, lengths[0]);
	}
}

static void what_begins_none(struct kunit *test)
{
	static const u8 opcodes[] = { MROCE_OP_SEND_INV, MROCE_OP_READ, MROCE_OP_CMP_SWAP,
				      MROCE_OP_READ_RESP, MROCE_OP_ERROR_RESP };
	static const u8 without[] = { MROCE_F_FIRST, MROCE_F_LAST };
	struct rx_env *env = test->priv;
	struct mroce_small m;
	struct mroce_data d;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		d = message(env, opcodes[i], 0);
		KUNIT_EXPECT_FALSE(test, mroce_begins_run(&d, &m));
	}
	for (i = 0; i < ARRAY_SIZE(without); i++) {
		d = message(env, MROCE_OP_WRITE, 0);
		d.flags &= ~without[i];
		KUNIT_EXPECT_FALSE(test, mroce_begins_run(&d, &m));
	}
	d = message(env, MROCE_OP_WRITE, 0);
	d.flags |= MROCE_F_CRC;
	KUNIT_EXPECT_FALSE(test, mroce_begins_run(&d, &m));
}

/* Each field that must follow from the first header, with one bit of it changed. */
static void what_ends_it(struct kunit *test)
{
	static const struct {
		size_t at;
		u8 bit;
	} fields[] = {
#define FIELD(name, bit) { offsetofend(struct mroce_wire_data, name) - 1, bit }
		FIELD(base.version, 1), FIELD(base.type, 1), FIELD(base.path, 1),
		FIELD(base.epoch, 1), FIELD(base.number, 1), FIELD(base.id, 1),
		FIELD(stream, 1), FIELD(spn, 1), FIELD(msn, 1), FIELD(rsn, 1), FIELD(offset, 1),
		FIELD(opcode, 2), FIELD(psize, 1), FIELD(stamp, 1),
		FIELD(flags, MROCE_F_FIRST), FIELD(flags, MROCE_F_LAST),
		FIELD(flags, MROCE_F_RESPONSE), FIELD(flags, MROCE_F_CRC),
#undef FIELD
	};
	struct rx_env *env = test->priv;
	struct mroce_data first = message(env, MROCE_OP_SEND, 0), d, e;
	struct mroce_small m;
	u8 wire[HEADER];
	u32 i;

	e = message(env, MROCE_OP_SEND, 1);
	mroce_build_data(wire, &e);
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		d = first;
		wire[fields[i].at] ^= fields[i].bit;
		KUNIT_EXPECT_FALSE(test, mroce_joins_run(wire, 700, 1, &d, &m));
		wire[fields[i].at] ^= fields[i].bit;
		KUNIT_EXPECT_MEMEQ(test, &d, &first, sizeof(d));
		KUNIT_EXPECT_TRUE(test, mroce_joins_run(wire, 700, 1, &d, &m));
	}
	d = first;
	/* beyond the datagram, and more than a packet */
	KUNIT_EXPECT_FALSE(test, mroce_joins_run(wire, 699, 1, &d, &m));
	e.length = ENV_PSIZE + 1;
	mroce_build_data(wire, &e);
	KUNIT_EXPECT_FALSE(test, mroce_joins_run(wire, 5000, 1, &d, &m));
}

/* ---- taking it ---- */

/* A run of Sends, or Writes, that begins with message @first: arrived, and claimed if it can be. */
static bool claim(struct kunit *test, u8 opcode, u32 first, u32 n, struct mroce_rxop *op,
		  struct mroce_small *run, bool ce)
{
	struct rx_env *env = test->priv;
	struct mroce_data d, e;
	u32 i, bytes = 0;

	for (i = 0; i < n; i++) {
		e = message(env, opcode, first + i);
		KUNIT_ASSERT_TRUE(test, mroce_begins_run(&e, &run[i]));
		bytes += e.length;
		if (!i)
			d = e;
	}
	KUNIT_ASSERT_EQ(test, mroce_rx_arrive(&env->rx, &d, n, bytes, ce, env->now, op),
			MROCE_REASON_NONE);
	if (mroce_rxs_claim_run(&env->req, op, run))
		return true;
	mroce_rx_withdraw(op);
	return false;
}

static void taken_as_one(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_small run[RUN];
	const struct mroce_desc *d;
	struct mroce_rxop op;
	u32 i;

	KUNIT_ASSERT_TRUE(test, claim(test, MROCE_OP_SEND_IMM, 0, RUN, &op, run, true));
	KUNIT_EXPECT_EQ(test, op.claimed, 0xf);
	KUNIT_EXPECT_TRUE(test, op.inorder);
	KUNIT_EXPECT_EQ(test, env->req.copiers, 1);
	KUNIT_EXPECT_FALSE(test, mroce_rxs_begin(&env->req));
	mroce_rxs_placed(&env->req, &op, op.claimed);
	rx_finish(env, &op);
	KUNIT_EXPECT_EQ(test, env->req.copiers, 0);
	KUNIT_EXPECT_EQ(test, env->req.base, env->psn + RUN);

	KUNIT_ASSERT_TRUE(test, mroce_rxs_begin(&env->req));
	for (i = 0; i < RUN; i++) {
		d = mroce_rxs_message(&env->req);
		KUNIT_ASSERT_NOT_NULL(test, d);
		KUNIT_EXPECT_EQ(test, d->msn, i);
		KUNIT_EXPECT_EQ(test, d->rsn, i);
		KUNIT_EXPECT_EQ(test, d->length, lengths[i]);
		KUNIT_EXPECT_EQ(test, d->imm, 1000 + i);
	}
	KUNIT_EXPECT_NULL(test, mroce_rxs_message(&env->req));

	/* four packets in one datagram with one mark, the largest of 700 bytes */
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	for (i = 0; i < RUN; i++)
		KUNIT_EXPECT_TRUE(test, rx_reported(env, 1 + i));
	KUNIT_EXPECT_EQ(test, env->ack.packets, RUN);
	KUNIT_EXPECT_EQ(test, env->ack.bytes, 1100);
	KUNIT_EXPECT_EQ(test, env->ack.ce, 1);
	KUNIT_EXPECT_EQ(test, env->rx.packet, 700 + MROCE_OVERHEAD);
}

/* What comes again later is known by what the run said of it. */
static void described(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_small run[RUN];
	struct mroce_rxop op;

	KUNIT_ASSERT_TRUE(test, claim(test, MROCE_OP_WRITE, 0, RUN, &op, run, false));
	mroce_rxs_placed(&env->req, &op, 1);
	mroce_rxs_unclaim(&env->req, &op, op.claimed, MROCE_N_NONE, 0);
	rx_finish(env, &op);
	KUNIT_EXPECT_EQ(test, env->req.base, env->psn + 1);
	env->number[0] = 5;
	KUNIT_EXPECT_EQ(test, rx_claim(test, &op, 0, message(env, MROCE_OP_WRITE, 1), 1),
			MROCE_REASON_NONE);
	KUNIT_EXPECT_EQ(test, op.claimed, 1);
	mroce_rxs_placed(&env->req, &op, op.claimed);
	rx_finish(env, &op);
	KUNIT_EXPECT_EQ(test, rx_claim(test, &op, 0,
				       rx_data(env, MROCE_OP_WRITE, 2, 2, 1, 0, 1), 1),
			MROCE_REASON_RX_MALFORMED);
	rx_finish(env, &op);
}

/* A NACK names the message at fault, and nothing from there on is taken. */
static void refused_for(struct kunit *test, u8 nack)
{
	struct rx_env *env = test->priv;
	const struct mroce_record_news *r;
	struct mroce_small run[RUN];
	struct mroce_rxop op;

	KUNIT_ASSERT_TRUE(test, claim(test, MROCE_OP_SEND, 0, RUN, &op, run, false));
	mroce_rxs_placed(&env->req, &op, 3);
	mroce_rxs_unclaim(&env->req, &op, op.claimed, nack, 9);
	rx_finish(env, &op);
	KUNIT_EXPECT_EQ(test, env->req.base, env->psn + 2);
	KUNIT_EXPECT_TRUE(test, env->req.refusing);
	KUNIT_EXPECT_EQ(test, env->req.refuse_msn, 2);
	KUNIT_EXPECT_EQ(test, env->req.refuse_rsn, 2);
	KUNIT_EXPECT_EQ(test, env->req.refuse_spn, env->psn + 2);
	KUNIT_ASSERT_TRUE(test, rx_ack(env));
	KUNIT_EXPECT_TRUE(test, rx_reported(env, 2));
	KUNIT_EXPECT_FALSE(test, rx_reported(env, 3));
	KUNIT_EXPECT_FALSE(test, rx_reported(env, 4));
	r = rx_record(env, MROCE_R_NACK);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->reason, nack);
	KUNIT_EXPECT_EQ(test, r->spn, env->psn + 2);
	KUNIT_EXPECT_EQ(test, r->number, 3);
	KUNIT_EXPECT_EQ(test, r->value, 2);
}

static void refused_for_a_time(struct kunit *test)
{
	refused_for(test, MROCE_N_RNR);
}

static void refused_for_ever(struct kunit *test)
{
	refused_for(test, MROCE_N_LENGTH);
}

/* Of a Write that consumes nothing there is no receive number to count. */
static void receive_numbers(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_small run[RUN];
	const struct mroce_desc *d;
	struct mroce_rxop op;

	KUNIT_ASSERT_TRUE(test, claim(test, MROCE_OP_WRITE, 0, 2, &op, run, false));
	KUNIT_EXPECT_EQ(test, mroce_rxop_msn(&op, 1), 1);
	KUNIT_EXPECT_EQ(test, mroce_rxop_rsn(&op, 1), 0);
	mroce_rxs_placed(&env->req, &op, op.claimed);
	rx_finish(env, &op);
	KUNIT_ASSERT_TRUE(test, mroce_rxs_begin(&env->req));
	KUNIT_ASSERT_NOT_NULL(test, mroce_rxs_message(&env->req));
	d = mroce_rxs_message(&env->req);
	KUNIT_ASSERT_NOT_NULL(test, d);
	KUNIT_EXPECT_EQ(test, d->rsn, 0);
	KUNIT_EXPECT_EQ(test, d->addr, run[1].addr);
}

/* ---- one by one ---- */

static void a_hole_before_it(struct kunit *test)
{
	rx_env_restart(test->priv, 100, 8, 6);
}

static void a_known_number(struct kunit *test)
{
	/* of a message that is none of these */
	rx_take(test, 1, rx_data(test->priv, MROCE_OP_SEND, 9, 2, 100, 0, 1), 1);
}

static void a_description(struct kunit *test)
{
	struct rx_env *env = test->priv;
	struct mroce_rxop op;

	rx_claim(test, &op, 1, message(env, MROCE_OP_SEND, 3), 1);
	mroce_rxs_unclaim(&env->req, &op, op.claimed, MROCE_N_NONE, 0);
	rx_finish(env, &op);
}

static void too_little_credit(struct kunit *test)
{
	struct rx_env *env = test->priv;

	mroce_rxs_credit(&env->req, RUN - 1);
}

static void a_small_window(struct kunit *test)
{
	rx_env_restart(test->priv, 100, 8, 1);
}

static void a_refusal(struct kunit *test)
{
	struct rx_env *env = test->priv;

	mroce_rxs_refuse(&env->req, 2, MROCE_N_OPERATION);
}

static void a_dead_stream(struct kunit *test)
{
	struct rx_env *env = test->priv;

	env->req.dead = true;
}

static void no_memory(struct kunit *test)
{
	sim_alloc_fail_after(0);
}

static void little_memory(struct kunit *test)
{
	sim_alloc_fail_after(1);
}

static void one_by_one(struct kunit *test)
{
	static const struct {
		void (*prepare)(struct kunit *test);
		u32 first;
	} cases[] = {
		{ a_hole_before_it, 1 }, { a_known_number }, { a_description },
		{ too_little_credit }, { a_small_window }, { a_refusal }, { a_dead_stream },
		{ no_memory }, { little_memory },
	};
	struct rx_env *env = test->priv;
	struct mroce_small run[RUN];
	struct mroce_rxop op;
	u32 i, n, base;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		rx_env_restart(env, 100, 8, 6);
		cases[i].prepare(test);
		rx_no_more_acks(env);
		n = RUN - cases[i].first;
		base = env->req.base;
		KUNIT_EXPECT_FALSE(test, claim(test, MROCE_OP_SEND, cases[i].first, n, &op, run,
					       false));
		sim_alloc_fail_after(-1);
		KUNIT_EXPECT_EQ(test, env->req.copiers, 0);
		KUNIT_EXPECT_EQ(test, env->req.base, base);
		KUNIT_EXPECT_TRUE(test, list_empty(&env->rx.path[0].pending));
		KUNIT_EXPECT_EQ(test, env->rx.path[0].packets, 0);
	}
	/* and then they are */
	rx_env_restart(env, 100, 8, 6);
	rx_take(test, 0, message(env, MROCE_OP_SEND, 0), 1);
	KUNIT_EXPECT_EQ(test, env->req.base, env->psn + 1);
}

static struct kunit_case cases[] = { KUNIT_CASE(headers),
				     KUNIT_CASE(what_begins_none),
				     KUNIT_CASE(what_ends_it),
				     KUNIT_CASE(taken_as_one),
				     KUNIT_CASE(described),
				     KUNIT_CASE(refused_for_a_time),
				     KUNIT_CASE(refused_for_ever),
				     KUNIT_CASE(receive_numbers),
				     KUNIT_CASE(one_by_one),
				     {} };

struct kunit_suite mroce_run_suite = {
	.name = "mroce_run",
	.init = rx_env_init,
	.exit = rx_env_exit,
	.test_cases = cases,
};
