// SPDX-License-Identifier: GPL-2.0
/*
 * What goes wrong over the simulated network, and how it must end: refusals, a peer that is silent
 * or goes away, failing paths, memory that runs out.
 */
#include <kunit/test.h>
#include "suites.h"
#include "scenario.h"

#define MSEC 1000000ULL
#define SEC  1000000000ULL

static const struct sim_cfg net = {
	.seed = 11,
	.rate = 125000000,
	.delay = 50000,
	.copy = 100,
	.step = 400,
	.payload = 4096,
	.train = 61440,
	.npaths = 4,
	.cpus = 2,
	.late = 300000,
};

static const struct sim_load mix = {
	.count = 200,
	.ops = SIM_ALL,
	.len_max = 20000,
	.depth = 16,
	.mixed = true,
	.timeout = SEC,
	.rnr_retry = 7,
	.buffers = 32,
	.buffer_len = 20000,
	.repost = 1000,
	.reads = 8,
};

struct fault {
	const char *name;
	u8 nack;
	bool fatal;
};

static const struct fault faults[] = {
	{ "RNR", MROCE_N_RNR, false },	    { "MEMORY", MROCE_N_MEMORY, false },
	{ "FAULT", MROCE_N_FAULT, false },  { "NOT_READY", MROCE_N_NOT_READY, false },
	{ "ACCESS", MROCE_N_ACCESS, true }, { "LENGTH", MROCE_N_LENGTH, true },
};

static void describe(const struct fault *f, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", f->name);
}

KUNIT_ARRAY_PARAM(faults, faults, describe);

/*
 * One message is refused: for a while, or for ever. All before it completes, and after a fatal
 * refusal nothing.
 */
static void refused(struct kunit *test)
{
	const struct fault *f = test->param_value;
	struct sim_cfg cfg = net;
	struct sim_load a = mix, b = mix;
	struct sim_qp *qp;
	struct sim *s;
	u32 loss;

	for (loss = 0; loss <= 100000; loss += 50000) {
		cfg.loss = loss;
		b.count = 0;
		a.bad = true;
		a.bad_msn = 77;
		a.bad_nack = f->nack;
		s = scenario_new(test, &cfg);
		qp = sim_connect(s, 1, &a, 0, &b);
		if (!sim_run_all(s, s->now + 20 * SEC))
			scenario_stuck(test, s);
		if (f->fatal) {
			KUNIT_EXPECT_EQ(test, qp->state, SIM_QP_ERROR);
			KUNIT_EXPECT_EQ(test, qp->completed, 77);
			KUNIT_EXPECT_EQ(test, qp->fail_nack, f->nack);
		} else {
			scenario_all_completed(test, s);
			KUNIT_EXPECT_GE(test, s->stats.refused, 1);
		}
		scenario_end(test, s);
	}
}

/* The error is found at the cursor and travels as a response. */
static void refused_at_cursor(struct kunit *test)
{
	struct sim_cfg cfg = net;
	struct sim_load a = mix, b = mix;
	struct sim_qp *qp;
	struct sim *s;

	cfg.loss = 50000;
	b.count = 0;
	a.ops = SIM_READ | SIM_ADD;
	a.bad = true;
	a.bad_msn = 33;
	a.bad_nack = MROCE_N_OPERATION;
	s = scenario_new(test, &cfg);
	qp = sim_connect(s, 1, &a, 0, &b);
	if (!sim_run_all(s, s->now + 20 * SEC))
		scenario_stuck(test, s);
	KUNIT_EXPECT_EQ(test, qp->state, SIM_QP_ERROR);
	KUNIT_EXPECT_EQ(test, qp->completed, 33);
	KUNIT_EXPECT_EQ(test, qp->fail_nack, MROCE_N_OPERATION);
	scenario_end(test, s);
}

/* No buffer ever: the request fails after rnr_retry episodes, with credit as without. */
static void rnr_exhausted(struct kunit *test)
{
	struct sim_load a = mix, b = mix;
	struct sim_qp *qp;
	struct sim *s;
	u32 srq;

	for (srq = 0; srq < 2; srq++) {
		a.ops = SIM_SEND;
		a.rnr_retry = 3;
		b.count = 0;
		b.buffers = 0;
		b.srq = srq;
		b.rnr_timer = 10;
		s = scenario_new(test, &net);
		qp = sim_connect(s, 1, &a, 0, &b);
		if (!sim_run_all(s, s->now + 20 * SEC))
			scenario_stuck(test, s);
		KUNIT_EXPECT_EQ(test, qp->state, SIM_QP_ERROR);
		KUNIT_EXPECT_EQ(test, qp->completed, 0);
		KUNIT_EXPECT_EQ(test, qp->fail_reason, MROCE_REASON_ERR_RNR_RETRY);
		scenario_end(test, s);
	}
}

typedef bool (*filter_fn)(struct sim *s, struct sim_packet *p, const struct mroce_base *b);

static bool drop_all(struct sim *s, struct sim_packet *p, const struct mroce_base *b)
{
	return true;
}

static bool drop_data(struct sim *s, struct sim_packet *p, const struct mroce_base *b)
{
	return b->type == MROCE_T_DATA || b->type == MROCE_T_PROBE;
}

static bool drop_open_reply(struct sim *s, struct sim_packet *p, const struct mroce_base *b)
{
	return b->type == MROCE_T_OPEN_REPLY;
}

/* A peer that does not answer, at any stage: the deadline ends it, neither early nor late. */
static void silent_peer(struct kunit *test)
{
	static const filter_fn filters[] = { drop_all, drop_data, drop_open_reply };
	struct sim_load a = mix, b = mix;
	struct sim_qp *qp;
	struct sim *s;
	u64 start;
	u32 i;

	b.count = 0;
	for (i = 0; i < ARRAY_SIZE(filters); i++) {
		s = scenario_new(test, &net);
		s->filter = filters[i];
		qp = sim_connect(s, 1, &a, 0, &b);
		start = s->now;
		if (!sim_run_all(s, s->now + 20 * SEC))
			scenario_stuck(test, s);
		KUNIT_EXPECT_EQ(test, qp->fail_reason, MROCE_REASON_ERR_RETRY);
		/* HELLO has 16 s to find its way, if that is not beyond four timeouts */
		KUNIT_EXPECT_GE(test, s->now - start, i ? SEC : 4 * SEC);
		KUNIT_EXPECT_LE(test, s->now - start, i ? 3 * SEC : 5 * SEC);
		scenario_end(test, s);
	}
}

/* It falls silent in the middle of things. */
static void peer_falls_silent(struct kunit *test)
{
	struct sim_load a = mix, b = mix;
	struct sim_qp *qp;
	struct sim *s;

	b.count = 0;
	a.count = 1000;
	s = scenario_new(test, &net);
	qp = sim_connect(s, 1, &a, 0, &b);
	sim_run(s, s->now + 5 * MSEC);
	KUNIT_EXPECT_GE(test, qp->completed, 10);
	s->filter = drop_all;
	if (!sim_run_all(s, s->now + 20 * SEC))
		scenario_stuck(test, s);
	KUNIT_EXPECT_EQ(test, qp->fail_reason, MROCE_REASON_ERR_RETRY);
	scenario_end(test, s);
}

/* timeout 0 never ends; when the peer is heard again, all completes */
static void silence_without_deadline(struct kunit *test)
{
	struct sim_load a = mix, b = mix;
	struct sim_qp *qp;
	struct sim *s;

	b.count = 0;
	a.timeout = 0;
	s = scenario_new(test, &net);
	qp = sim_connect(s, 1, &a, 0, &b);
	sim_run(s, s->now + 3 * MSEC);
	s->filter = drop_all;
	sim_run(s, s->now + 60 * SEC);
	KUNIT_EXPECT_EQ(test, qp->state, SIM_QP_RTS);
	KUNIT_EXPECT_LT(test, qp->completed, 200);
	s->filter = NULL;
	if (!sim_run_all(s, s->now + 5 * SEC))
		scenario_stuck(test, s);
	scenario_all_completed(test, s);
	scenario_end(test, s);
}

static bool drop_bad_paths(struct sim *s, struct sim_packet *p, const struct mroce_base *b)
{
	return b->type != MROCE_T_HELLO && b->type != MROCE_T_HELLO_ACK &&
	       *(u64 *)s->filter_arg & BIT_ULL(b->path);
}

/*
 * Paths that fail: traffic leaves them by itself within milliseconds, and comes back when they
 * heal.
 */
static void failing_paths(struct kunit *test)
{
	struct sim_load a = mix, b = mix;
	struct mroce_tx *tx;
	struct sim_qp *qp;
	struct sim *s;
	u64 bad = 0, mark;
	u32 before;

	b.count = 0;
	a.count = 20000;
	a.ops = SIM_WRITE;
	a.len_max = 16384;
	s = scenario_new(test, &net);
	s->filter = drop_bad_paths;
	s->filter_arg = &bad;
	qp = sim_connect(s, 1, &a, 0, &b);
	sim_run(s, s->now + 20 * MSEC);
	before = qp->completed;
	bad = BIT_ULL(1) | BIT_ULL(3);
	sim_run(s, s->now + 40 * MSEC);
	tx = &qp->txh->tx;
	KUNIT_EXPECT_EQ(test, tx->path[1].state, MROCE_PATH_PROBING);
	KUNIT_EXPECT_EQ(test, tx->path[3].state, MROCE_PATH_PROBING);
	KUNIT_EXPECT_EQ(test, tx->stats.path_failed, 2);
	KUNIT_EXPECT_EQ(test, tx->path[0].state, MROCE_PATH_ACTIVE);
	KUNIT_EXPECT_EQ(test, tx->path[2].state, MROCE_PATH_ACTIVE);
	mark = qp->completed;
	sim_run(s, s->now + 20 * MSEC);
	/* the same rate as with all paths, for the link is the bottleneck */
	KUNIT_EXPECT_GE(test, (qp->completed - mark) * 10, before * 8);
	bad = 0;
	sim_run(s, s->now + 200 * MSEC);
	KUNIT_EXPECT_EQ(test, tx->path[1].state, MROCE_PATH_ACTIVE);
	KUNIT_EXPECT_EQ(test, tx->path[3].state, MROCE_PATH_ACTIVE);
	mark = tx->path[1].bytes;
	sim_run(s, s->now + 20 * MSEC);
	KUNIT_EXPECT_GT(test, tx->path[1].bytes, mark);
	KUNIT_EXPECT_LE(test, qp->max_latency, 40 * MSEC);
	scenario_end(test, s);
}

/* Uniform loss fails no path, however heavy. */
static void loss_fails_no_path(struct kunit *test)
{
	struct sim_cfg cfg = net;
	struct sim_load a = mix, b = mix;
	struct sim_qp *qp;
	struct sim *s;
	u32 i, k;

	cfg.loss = 100000;
	cfg.ack_loss = 100000;
	b.count = 0;
	a.count = 3000;
	s = scenario_new(test, &cfg);
	qp = sim_connect(s, 1, &a, 0, &b);
	for (k = 0; k < 200; k++) {
		sim_run(s, s->now + MSEC);
		for (i = 0; i < 4; i++)
			KUNIT_EXPECT_NE(test, qp->txh->tx.path[i].state, MROCE_PATH_FAILED);
	}
	KUNIT_EXPECT_EQ(test, qp->txh->tx.stats.path_failed, 0);
	KUNIT_EXPECT_EQ(test, qp->txh->tx.stats.path_shrunk, 0);
	scenario_end(test, s);
}

/*
 * The receiver destroys its queue pair upon the last message: the sender still completes all
 * (tombstones, rule 4).
 */
static void closed_upon_the_last_message(struct kunit *test)
{
	struct sim_cfg cfg = net;
	struct sim_load a = mix, b = mix;
	struct sim_qp *qp;
	struct sim *s;
	u64 seed;

	for (seed = 1; seed <= 20; seed++) {
		cfg.seed = seed;
		cfg.loss = 30000;
		cfg.ack_loss = 300000;
		cfg.reorder = 100000;
		a.count = 40;
		a.ops = SIM_SEND | SIM_WRITE;
		b.count = 0;
		b.close = 40;
		s = scenario_new(test, &cfg);
		qp = sim_connect(s, 1, &a, 0, &b);
		if (!sim_run_all(s, s->now + 20 * SEC))
			scenario_stuck(test, s);
		if (qp->completed != 40)
			KUNIT_FAIL(test, "seed %llu: %u of 40 completed, nack %u",
				   (unsigned long long)seed, qp->completed, qp->fail_nack);
		scenario_end(test, s);
	}
}

/*
 * It destroys it with messages on their way: the sender fails soon, and nothing of the old stream
 * touches memory.
 */
static void closed_amidst_messages(struct kunit *test)
{
	struct sim_cfg cfg = net;
	struct sim_load a = mix, b = mix;
	struct sim_qp *qp;
	struct sim *s;
	u64 seed, start;
	u32 late = 0;

	for (seed = 1; seed <= 20; seed++) {
		cfg.seed = seed;
		cfg.loss = 30000;
		cfg.reorder = 100000;
		cfg.spray = true;
		b.close = 50 + seed;
		b.count = 100;
		s = scenario_new(test, &cfg);
		qp = sim_connect(s, 1, &a, 0, &b);
		start = s->now;
		if (!sim_run_all(s, s->now + 20 * SEC))
			scenario_stuck(test, s);
		KUNIT_EXPECT_EQ(test, qp->state, SIM_QP_ERROR);
		late += s->now - start > 500 * MSEC;
		scenario_end(test, s);
	}
	/* else by its deadline, if what would have told it was lost with its repetitions */
	KUNIT_EXPECT_LE(test, late, 1);
}

/* The engine's allocations fail, each at its turn, for a while: all completes afterwards. */
static void memory_runs_out(struct kunit *test)
{
	struct sim_load a = mix, b = mix;
	struct sim *s;
	long n;

	a.count = 100;
	b.count = 100;
	/* the halves themselves: the first two allocations */
	for (n = 0; n < 24; n++) {
		s = scenario_new(test, &net);
		sim_connect(s, 1, &a, 0, &b);
		sim_alloc_fail_after(n);
		sim_run(s, s->now + 30 * MSEC);
		sim_alloc_fail_after(-1);
		if (!sim_run_all(s, s->now + 20 * SEC))
			scenario_stuck(test, s);
		if (s->qp[0]->completed != a.count || s->qp[1]->completed != b.count)
			kunit_info(test, "memory ran out after %ld allocations\n", n);
		scenario_all_completed(test, s);
		scenario_end(test, s);
	}
}

/* Originals that are later than everything: the buffers are in new use when they come. */
static void very_late_originals(struct kunit *test)
{
	struct sim_cfg cfg = net;
	struct sim_load a = mix, b = mix;
	struct sim *s;

	cfg.reorder = 30000;
	cfg.late = 30000000;
	cfg.loss = 10000;
	a.count = 1500;
	a.ops = SIM_SEND | SIM_WRITE | SIM_READ;
	a.depth = 4;
	b.buffers = 4;
	b.count = 0;
	s = scenario_new(test, &cfg);
	sim_connect(s, 1, &a, 0, &b);
	if (!sim_run_all(s, s->now + 60 * SEC))
		scenario_stuck(test, s);
	scenario_all_completed(test, s);
	KUNIT_EXPECT_GE(test, s->stats.duplicates, 10);
	scenario_end(test, s);
}

/* The handshake under loss, and with the acceptor not ready at first. */
static void hard_handshake(struct kunit *test)
{
	struct sim_cfg cfg = net;
	struct sim_load a = mix, b = mix;
	struct sim *s;
	u64 seed;

	for (seed = 1; seed <= 20; seed++) {
		cfg.seed = seed;
		cfg.loss = 600000;
		cfg.ack_loss = 600000;
		a.count = 5;
		a.timeout = 4 * SEC;
		b = a;
		s = scenario_new(test, &cfg);
		sim_connect(s, 1, &a, 0, &b);
		if (!sim_run_all(s, s->now + 30 * SEC))
			scenario_stuck(test, s);
		scenario_all_completed(test, s);
		scenario_end(test, s);
	}
}

static struct kunit_case cases[] = { KUNIT_CASE_PARAM(refused, faults_gen_params),
				     KUNIT_CASE(refused_at_cursor),
				     KUNIT_CASE(rnr_exhausted),
				     KUNIT_CASE(silent_peer),
				     KUNIT_CASE(peer_falls_silent),
				     KUNIT_CASE(silence_without_deadline),
				     KUNIT_CASE(failing_paths),
				     KUNIT_CASE(loss_fails_no_path),
				     KUNIT_CASE(closed_upon_the_last_message),
				     KUNIT_CASE(closed_amidst_messages),
				     KUNIT_CASE(memory_runs_out),
				     KUNIT_CASE(very_late_originals),
				     KUNIT_CASE(hard_handshake),
				     {} };

struct kunit_suite mroce_sim_faults_suite = {
	.name = "mroce_sim_faults",
	.test_cases = cases,
};
