// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completions: both polling interfaces, overflow, resize, purge, and the end of
 * the device.
 */
#include <errno.h>
#include <string.h>

#include "fake.h"

static int poll_ids(struct ibv_cq *cq, uint64_t *ids, int num)
{
	struct ibv_wc wc[32];
	int i, n = ops->poll_cq(cq, num, wc);

	for (i = 0; i < n; i++)
		ids[i] = wc[i].wr_id;
	return n;
}

static void test_poll(void)
{
	struct ibv_context *context = fake_open();
	struct ibv_cq *cq;
	struct ibv_wc wc[8];
	uint64_t next = 0, i;
	int n;

	fake.first_index = UINT32_MAX - 20;
	cq = make_cq(context, 16);
	CHECK(ops->poll_cq(cq, 8, wc) == 0);
	CHECK(ops->poll_cq(cq, 0, wc) == 0);
	for (i = 0; i < 100;) {
		for (n = 0; n < 13; n++)
			CHECK(fake_complete(&fake.cq, i++, 17));
		while (next < i) {
			n = ops->poll_cq(cq, 5, wc);
			CHECK(n == (i - next < 5 ? (int)(i - next) : 5));
			CHECK(wc[0].wr_id == next && wc[0].qp_num == 17);
			CHECK(wc[0].status == IBV_WC_SUCCESS &&
			      wc[0].opcode == IBV_WC_RECV);
			CHECK(wc[0].imm_data == (uint32_t)~next &&
			      wc[0].byte_len == next);
			CHECK(wc[0].wc_flags == IBV_WC_WITH_IMM);
			next += n;
		}
		CHECK(ops->poll_cq(cq, 5, wc) == 0);
	}
	CHECK(!ops->destroy_cq(cq));
	fake_close(context);
}

static void test_poll_ex(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_poll_cq_attr poll = {};
	struct ibv_context *context = fake_open();
	struct ibv_cq_ex *cq;
	uint64_t i;

	attr.wc_flags |= IBV_WC_EX_WITH_CVLAN;
	errno = 0;
	CHECK(!ops->create_cq_ex(context, &attr) && errno == EOPNOTSUPP);
	attr.wc_flags &= ~(uint64_t)IBV_WC_EX_WITH_CVLAN;
	fake.cq_entries = 4;
	cq = ops->create_cq_ex(context, &attr);
	CHECK(cq && !cq->read_completion_wallclock_ns);

	CHECK(cq->start_poll(cq, &poll) == ENOENT);
	poll.comp_mask = 1;
	CHECK(cq->start_poll(cq, &poll) == EINVAL);
	poll.comp_mask = 0;

	for (i = 0; i < 4; i++)
		CHECK(fake_complete(&fake.cq, i, 17));
	CHECK(!fake_complete(&fake.cq, 4, 17));
	CHECK(!cq->start_poll(cq, &poll));
	CHECK(cq->wr_id == 0 && cq->status == IBV_WC_SUCCESS);
	/* what is being read is not the module's yet */
	CHECK(!fake_complete(&fake.cq, 4, 17));
	for (i = 1; i < 50; i++) {
		CHECK(!cq->next_poll(cq));
		CHECK(cq->wr_id == i);
		CHECK(cq->read_completion_ts(cq) == i + 1);
		CHECK(cq->read_byte_len(cq) == i && cq->read_qp_num(cq) == 17);
		CHECK(cq->read_opcode(cq) == IBV_WC_RECV);
		CHECK(cq->read_wc_flags(cq) == IBV_WC_WITH_IMM);
		/* but what was read before it is */
		CHECK(fake_complete(&fake.cq, i + 3, 17));
		CHECK(!fake_complete(&fake.cq, 99, 17));
	}
	cq->end_poll(cq);
	for (; i < 53; i++) {
		CHECK(!cq->start_poll(cq, &poll));
		CHECK(cq->wr_id == i);
		cq->end_poll(cq);
	}
	CHECK(cq->start_poll(cq, &poll) == ENOENT);
	CHECK(!ops->destroy_cq(ibv_cq_ex_to_cq(cq)));
	fake_close(context);
}

static void test_overflow(void)
{
	struct ibv_context *context = fake_open();
	struct ibv_cq *cq = make_cq(context, 4);
	uint64_t ids[8];
	int i;

	for (i = 0; i < 4; i++)
		CHECK(fake_complete(&fake.cq, i, 17));
	CHECK(!fake_complete(&fake.cq, 4, 17));
	fake.cq.ring->flags |= MROCE_RING_OVERFLOW;
	/* first what was not lost */
	CHECK(poll_ids(cq, ids, 3) == 3);
	CHECK(poll_ids(cq, ids, 3) == 1 && ids[0] == 3);
	CHECK(poll_ids(cq, ids, 3) == -EOVERFLOW);
	CHECK(poll_ids(cq, ids, 3) == -EOVERFLOW);
	CHECK(!ops->destroy_cq(cq));
	fake_close(context);
}

static void test_resize(void)
{
	struct ibv_context *context = fake_open();
	struct ibv_cq *cq = make_cq(context, 8);
	uint64_t ids[32], next = 3, i;

	for (i = 0; i < 8; i++)
		CHECK(fake_complete(&fake.cq, i, 17));
	CHECK(poll_ids(cq, ids, 3) == 3);

	fake.resize_err = EINVAL;
	CHECK(ops->resize_cq(cq, 16) == EINVAL);
	CHECK(ops->resize_cq(cq, 0) == EINVAL);
	fake.resize_err = 0;
	fake.first_index = UINT32_MAX - 2;
	CHECK(!ops->resize_cq(cq, 32));
	CHECK(cq->cqe == 32);
	for (; i < 20; i++)
		CHECK(fake_complete(&fake.cq, i, 17));
	while (next < 20) {
		CHECK(poll_ids(cq, ids, 1) == 1);
		CHECK(ids[0] == next++);
	}
	CHECK(poll_ids(cq, ids, 1) == 0);

	/* smaller again, and then a ring that cannot be mapped: an error, no crash */
	CHECK(fake_complete(&fake.cq, 20, 17));
	CHECK(!ops->resize_cq(cq, 4));
	CHECK(poll_ids(cq, ids, 4) == 1 && ids[0] == 20);
	fake.bad_ring = true;
	CHECK(ops->resize_cq(cq, 8) == EINVAL);
	CHECK(poll_ids(cq, ids, 4) == -ENOMEM);
	mroce_purge_cq(to_mcq(cq), 17);
	CHECK(!ops->destroy_cq(cq));
	fake_close(context);
}

/* completions of a destroyed or reset queue pair are dropped, the others kept in order */
static void test_purge(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_context *context = fake_open();
	struct ibv_pd *pd = ops->alloc_pd(context);
	uint64_t ids[16], keep[16];
	unsigned int pattern;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int i, n, kept;

	fake.first_index = UINT32_MAX - 3;
	for (pattern = 0; pattern < 256; pattern++) {
		cq = make_cq(context, 8);
		qp = make_qp(pd, cq, NULL, IBV_QPT_RC);
		make_ready(qp);
		for (i = 0, kept = 0; i < 8; i++) {
			bool mine = pattern & (1u << i);

			CHECK(fake_complete(&fake.cq, i,
					    mine ? qp->qp_num : 3));
			if (!mine)
				keep[kept++] = i;
		}
		if (pattern & 1)
			CHECK(!ops->modify_qp(qp, &attr, IBV_QP_STATE));
		CHECK(!ops->destroy_qp(qp));
		n = poll_ids(cq, ids, 16);
		CHECK(n == kept && !memcmp(ids, keep, n * sizeof(ids[0])));
		/* and there is room for as many as before */
		for (i = 0; i < 8; i++)
			CHECK(fake_complete(&fake.cq, i, 3));
		CHECK(!fake_complete(&fake.cq, i, 3));
		CHECK(!ops->destroy_cq(cq));
	}
	CHECK(!ops->dealloc_pd(pd));
	fake_close(context);
}

static void post(struct ibv_qp *qp, uint64_t send_id, uint64_t recv_id)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = send_id,
		.opcode = IBV_WR_SEND,
	};
	struct ibv_recv_wr *rbad, rwr = { .wr_id = recv_id };

	CHECK(!ops->post_send(qp, &wr, &bad));
	if (recv_id)
		CHECK(!ops->post_recv(qp, &rwr, &rbad));
}

static void test_gone(void)
{
	struct ibv_context *context = fake_open();
	struct ibv_pd *pd = ops->alloc_pd(context);
	struct ibv_cq *cq = make_cq(context, 16);
	struct fake_ring cq_ring = fake.cq, sq_a;
	struct ibv_srq_init_attr attr = {};
	struct ibv_srq *srq = ops->create_srq(pd, &attr);
	struct ibv_recv_wr *rbad, rwr = { .wr_id = 999 };
	struct ibv_qp *a, *b;
	uint64_t wr_id, seen = 0;
	struct ibv_wc wc[32];
	int i, n;

	a = make_qp(pd, cq, NULL, IBV_QPT_RC);
	make_ready(a);
	sq_a = fake.sq;
	b = make_qp(pd, cq, srq, IBV_QPT_RC);
	make_ready(b);
	for (i = 0; i < 6; i++) {
		post(a, 1 + i, 11 + i);
		post(b, 21 + i, 0);
	}
	CHECK(!ops->post_srq_recv(srq, &rwr, &rbad));

	/* two were completed before the device went */
	for (i = 0; i < 2; i++) {
		CHECK(fake_complete(&cq_ring, 1 + i, a->qp_num));
		CHECK(fake_consume(&sq_a, &wr_id));
	}
	CHECK(ops->poll_cq(cq, 1, wc) == 1 && wc[0].wr_id == 1);

	/* EIO alone completes nothing: the module may still write */
	fake.doorbell_err = EIO;
	post(a, 7, 0);
	CHECK(ops->poll_cq(cq, 32, wc) == 1 && wc[0].wr_id == 2);
	CHECK(ops->poll_cq(cq, 32, wc) == 0);

	/* what it wrote last comes first, whatever the flag says */
	CHECK(fake_complete(&cq_ring, 3, a->qp_num));
	CHECK(fake_consume(&sq_a, &wr_id));
	mroce_store(&cq_ring.ring->flags, MROCE_RING_GONE);
	CHECK(ops->poll_cq(cq, 1, wc) == 1);
	CHECK(wc[0].wr_id == 3 && wc[0].status == IBV_WC_SUCCESS);

	while ((n = ops->poll_cq(cq, 5, wc)) > 0) {
		for (i = 0; i < n; i++) {
			CHECK(wc[i].status == IBV_WC_WR_FLUSH_ERR);
			CHECK(wc[i].qp_num == (wc[i].wr_id < 20 ? a->qp_num :
								  b->qp_num));
			CHECK(!(seen & (1ull << wc[i].wr_id)));
			seen |= 1ull << wc[i].wr_id;
		}
	}
	CHECK(n == 0);
	CHECK(seen == (0xf0ull | 0x3full << 11 | 0x3full << 21));

	/* a ring's worth and more can still be posted, and comes back */
	for (i = 0; i < 20; i++) {
		post(a, 40, 41);
		CHECK(ops->poll_cq(cq, 5, wc) == 2);
		CHECK(wc[0].wr_id == 40 && wc[1].wr_id == 41);
	}
	CHECK(!ops->destroy_qp(a));
	post(b, 50, 0);
	CHECK(!ops->destroy_qp(b));
	CHECK(ops->poll_cq(cq, 5, wc) == 0);
	CHECK(!ops->destroy_srq(srq));
	CHECK(!ops->destroy_cq(cq));
	CHECK(!ops->dealloc_pd(pd));
	CHECK(!fake.live);
	fake_close(context);
}

static void test_gone_ex(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4 };
	struct ibv_poll_cq_attr poll = {};
	struct ibv_context *context = fake_open();
	struct ibv_pd *pd = ops->alloc_pd(context);
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;

	cq = ops->create_cq_ex(context, &attr);
	qp = make_qp(pd, ibv_cq_ex_to_cq(cq), NULL, IBV_QPT_UC);
	make_ready(qp);
	post(qp, 1, 2);
	fake.cq.ring->flags = MROCE_RING_GONE;
	CHECK(!cq->start_poll(cq, &poll));
	CHECK(cq->wr_id == 1 && cq->status == IBV_WC_WR_FLUSH_ERR);
	CHECK(cq->read_opcode(cq) == IBV_WC_SEND);
	CHECK(!cq->next_poll(cq));
	CHECK(cq->wr_id == 2 && cq->read_opcode(cq) == IBV_WC_RECV);
	CHECK(cq->next_poll(cq) == ENOENT);
	cq->end_poll(cq);
	CHECK(!ops->destroy_qp(qp));
	CHECK(!ops->destroy_cq(ibv_cq_ex_to_cq(cq)));
	CHECK(!ops->dealloc_pd(pd));
	fake_close(context);
}

#define ROUNDS 3000

static void *complete_and_go(void *arg)
{
	struct ibv_qp *qp = arg;
	uint64_t wr_id;

	CHECK(fake_complete(&fake.cq, 1, qp->qp_num));
	CHECK(fake_consume(&fake.sq, &wr_id));
	mroce_store(&fake.cq.ring->flags, MROCE_RING_GONE);
	return NULL;
}

/* the last completion and the flag appear while the program polls: order is kept */
static void test_gone_race(void)
{
	struct ibv_context *context = fake_open();
	struct ibv_pd *pd = ops->alloc_pd(context);
	uint64_t ids[4];
	pthread_t thread;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int i, n;

	for (i = 0; i < ROUNDS; i++) {
		cq = make_cq(context, 4);
		qp = make_qp(pd, cq, NULL, IBV_QPT_RC);
		make_ready(qp);
		post(qp, 1, 0);
		post(qp, 2, 0);
		CHECK(!pthread_create(&thread, NULL, complete_and_go, qp));
		for (n = 0; n < 2;)
			n += poll_ids(cq, ids + n, 1);
		CHECK(ids[0] == 1 && ids[1] == 2);
		CHECK(poll_ids(cq, ids, 1) == 0);
		pthread_join(thread, NULL);
		CHECK(!ops->destroy_qp(qp));
		CHECK(!ops->destroy_cq(cq));
		fake_forget_rings();
	}
	CHECK(!ops->dealloc_pd(pd));
	fake_close(context);
}

#define MANY 400000
#define POLLERS 2

static atomic_int taken;
static atomic_uchar seen_by_poller[MANY + 1];

static void *poll_many(void *arg)
{
	struct ibv_wc wc[4];
	uint64_t last = 0;
	int i, n;

	while (taken < MANY) {
		n = ops->poll_cq(arg, 2, wc);
		for (i = 0; i < n; i++) {
			/* whole, once, and later than all that this thread saw */
			if (wc[i].wr_id > MANY ||
			    seen_by_poller[wc[i].wr_id]++ ||
			    wc[i].byte_len != (uint32_t)wc[i].wr_id ||
			    wc[i].imm_data != ~(uint32_t)wc[i].wr_id ||
			    wc[i].wr_id <= last)
				abort();
			last = wc[i].wr_id;
		}
		taken += n;
	}
	return NULL;
}

/* the module writes while several threads poll */
static void test_pollers(void)
{
	struct ibv_context *context = fake_open();
	struct ibv_cq *cq = make_cq(context, 4096);
	pthread_t thread[POLLERS];
	uint64_t i;

	taken = 0;
	for (i = 0; i < POLLERS; i++)
		CHECK(!pthread_create(&thread[i], NULL, poll_many, cq));
	for (i = 1; i <= MANY;) {
		if (fake_complete(&fake.cq, i, 17))
			i++;
		else
			sched_yield();
	}
	for (i = 0; i < POLLERS; i++)
		pthread_join(thread[i], NULL);
	CHECK(taken == MANY);
	CHECK(!ops->destroy_cq(cq));
	fake_close(context);
}

const struct test cq_tests[] = {
	{ "poll", test_poll },
	{ "poll-ex", test_poll_ex },
	{ "overflow", test_overflow },
	{ "resize", test_resize },
	{ "purge", test_purge },
	{ "gone", test_gone },
	{ "gone-ex", test_gone_ex },
	{ "gone-race", test_gone_race },
	{ "pollers", test_pollers },
	{},
};
