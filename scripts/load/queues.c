// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of mroce-verbs: queues that drain, change their size, run low.
 */
#include <unistd.h>

#include "verbs.h"

static struct pair rc_pair(struct ibv_srq *srq, int cqe)
{
	struct ibv_qp_cap cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1,
				  .max_recv_sge = 1 };

	return connected(&cap, srq, cqe, 4);
}

void test_sqd(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct pair p = rc_pair(NULL, 64);
	struct ibv_qp_init_attr init;

	/* without a buffer at the peer it is under way for as long as one likes */
	must(post_send(p.qp[0], &wr), "a send");
	must(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), "to SQD");
	must(post_send(p.qp[0], &wr), "a send in SQD");
	must(ibv_query_qp(p.qp[0], &a, IBV_QP_STATE, &init), "ibv_query_qp");
	if (a.qp_state != IBV_QPS_SQD || !a.sq_draining)
		die("state %d, sq_draining %d", a.qp_state, a.sq_draining);
	if (event(IBV_EVENT_SQ_DRAINED, 200))
		die("drained with a request under way");
	must(post_recv(p.qp[1], NULL, NULL, 0), "a receive");
	must(post_recv(p.qp[1], NULL, NULL, 0), "a receive");
	if (!event(IBV_EVENT_SQ_DRAINED, 20000))
		die("SQ_DRAINED did not come");
	completes(p.cq, 2, IBV_WC_SUCCESS);
	must(ibv_query_qp(p.qp[0], &a, IBV_QP_STATE, &init), "ibv_query_qp");
	if (a.qp_state != IBV_QPS_SQD || a.sq_draining)
		die("drained, state %d, sq_draining %d", a.qp_state, a.sq_draining);
	/* nothing leaves in this state, and what may be changed is changed */
	usleep(100000);
	completes(p.cq, 0, IBV_WC_SUCCESS);
	a.max_rd_atomic = 1;
	must(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC), "SQD to SQD");
	a.ah_attr = self();
	refused(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_AV), EOPNOTSUPP);
	must(modify(p.qp[0], IBV_QPS_RTS), "back to RTS");
	completes(p.cq, 2, IBV_WC_SUCCESS);
	if (event(IBV_EVENT_SQ_DRAINED, 0))
		die("drained twice");
	disconnect(&p);
}

static void take_receives(struct pair *p, uint64_t first, int n)
{
	struct ibv_send_wr wr = { .wr_id = UINT64_MAX, .opcode = IBV_WR_SEND };
	struct ibv_wc wc;
	int i;

	for (i = 0; i < n; i++) {
		bool sent = false, received = false;

		must(post_send(p->qp[0], &wr), "a send");
		while (!sent || !received) {
			if (!ibv_poll_cq(p->cq, 1, &wc))
				continue;
			if (wc.status)
				die("%s", ibv_wc_status_str(wc.status));
			if (wc.wr_id == UINT64_MAX) {
				sent = true;
				continue;
			}
			received = true;
			if (wc.wr_id != first + i)
				die("receive %llu, should be %llu", (unsigned long long)wc.wr_id,
				    (unsigned long long)first + i);
		}
	}
}

static int srq_recvs(struct ibv_srq *srq, uint64_t first, int n)
{
	struct ibv_recv_wr wr = { .wr_id = first }, *bad;
	int i, err = 0;

	for (i = 0; i < n && !err; i++, wr.wr_id++)
		err = ibv_post_srq_recv(srq, &wr, &bad);
	return err;
}

static int srq_resize(struct ibv_srq *srq, uint32_t wr)
{
	struct ibv_srq_attr attr = { .max_wr = wr };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
}

void test_srq_resize(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq *srq = made(ibv_create_srq(pd, &init), "ibv_create_srq");
	struct pair p = rc_pair(srq, 256);
	struct ibv_srq_attr attr;

	must(srq_recvs(srq, 0, 8), "8 receives");
	refused(srq_recvs(srq, 8, 1), ENOMEM);
	take_receives(&p, 0, 3);
	must(srq_recvs(srq, 8, 3), "3 in their place");
	/* what is queued moves, its order stays */
	must(srq_resize(srq, 64), "to 64");
	must(ibv_query_srq(srq, &attr), "ibv_query_srq");
	if (attr.max_wr != 64)
		die("max_wr is %u", attr.max_wr);
	take_receives(&p, 3, 2);
	must(srq_recvs(srq, 11, 50), "50 receives");
	take_receives(&p, 5, 50);
	/* 6 are left, and one or more are bound ahead */
	refused(srq_resize(srq, 2), EINVAL);
	refused(srq_resize(srq, 0), EINVAL);
	refused(srq_resize(srq, dev.max_srq_wr + 1), EINVAL);
	must(srq_resize(srq, 8), "to 8");
	take_receives(&p, 55, 6);
	must(srq_recvs(srq, 61, 8), "8 receives");
	refused(srq_recvs(srq, 69, 1), ENOMEM);
	take_receives(&p, 61, 8);
	disconnect(&p);
	must(ibv_destroy_srq(srq), "ibv_destroy_srq");
}

void test_srq_limit(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 64, .max_sge = 1 } };
	struct ibv_srq *srq = made(ibv_create_srq(pd, &init), "ibv_create_srq");
	struct ibv_srq_attr attr = { .srq_limit = 8 };
	struct pair p = rc_pair(srq, 256);

	must(srq_recvs(srq, 0, 20), "receives");
	must(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), "to arm the limit");
	if (event(IBV_EVENT_SRQ_LIMIT_REACHED, 100))
		die("20 are not fewer than 8");
	take_receives(&p, 0, 13);
	if (!event(IBV_EVENT_SRQ_LIMIT_REACHED, 20000))
		die("SRQ_LIMIT_REACHED did not come");
	must(ibv_query_srq(srq, &attr), "ibv_query_srq");
	if (attr.srq_limit)
		die("armed with %u after the event", attr.srq_limit);
	take_receives(&p, 13, 2);
	if (event(IBV_EVENT_SRQ_LIMIT_REACHED, 100))
		die("an event that was not armed");
	disconnect(&p);
	must(ibv_destroy_srq(srq), "ibv_destroy_srq");
}

/* entries that were not polled survive, in their order, larger and smaller */
void test_cq_resize(void)
{
	struct pair p = rc_pair(NULL, 32);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE }, last = wr;
	struct ibv_wc wc;
	uint64_t i;

	for (i = 0; i < 20; i++) {
		wr.wr_id = i;
		must(post_send(p.qp[0], &wr), "a Write");
	}
	for (i = 0; i < 5; i++) {
		while (!ibv_poll_cq(p.cq, 1, &wc))
			;
		if (wc.status || wc.wr_id != i)
			die("completion %llu", (unsigned long long)wc.wr_id);
	}
	must(ibv_resize_cq(p.cq, 200), "to 200");
	/* so that all have come */
	last.wr_id = 20;
	must(post_send(p.qp[0], &last), "a Write");
	usleep(200000);
	refused(ibv_resize_cq(p.cq, 8), EINVAL);
	must(ibv_resize_cq(p.cq, 16), "to 16");
	for (; i <= 20; i++) {
		while (!ibv_poll_cq(p.cq, 1, &wc))
			;
		if (wc.status || wc.wr_id != i)
			die("completion %llu, should be %llu", (unsigned long long)wc.wr_id,
			    (unsigned long long)i);
	}
	completes(p.cq, 0, IBV_WC_SUCCESS);
	disconnect(&p);
}
