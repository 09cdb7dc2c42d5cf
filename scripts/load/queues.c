// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of mroce-verbs: queues that drain, change their size, run low, and how their events are moderated.
 */
#include <poll.h>
#include <time.h>
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

/* ---- moderation ---- */

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

static void write_and_poll(struct pair *p, unsigned int n)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_wc wc;

	while (n--) {
		must(post_send(p->qp[0], &wr), "a Write");
		while (!ibv_poll_cq(p->cq, 1, &wc))
			;
		if (wc.status)
			die("%s", ibv_wc_status_str(wc.status));
	}
}

static bool told(struct ibv_comp_channel *channel, int ms)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&fd, 1, ms) != 1)
		return false;
	must(ibv_get_cq_event(channel, &cq, &context) ? errno : 0, "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	return true;
}

/*
 * @few completions, fewer than it takes, are not told of before the period is over: whether that was
 * seen, for the machine may have taken longer than that over them.
 */
static bool stays_silent(struct pair *p, struct ibv_comp_channel *channel, unsigned int few,
			 unsigned int period)
{
	uint64_t start = now_us();
	bool early;

	must(ibv_req_notify_cq(p->cq, 0), "ibv_req_notify_cq");
	write_and_poll(p, few);
	early = told(channel, 0);
	if (now_us() - start >= period) {
		if (!early && !told(channel, 20000))
			die("%u completions were never told of", few);
		return false;
	}
	if (early)
		die("told of %u completions before the period was over", few);
	return true;
}

/* An event for a number of completions, for fewer after a period, and for each as before. */
void test_cq_moderate(void)
{
	enum { COUNT = 8, PERIOD = 60000 };
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE };
	struct ibv_comp_channel *channel = made(ibv_create_comp_channel(ctx), "ibv_create_comp_channel");
	struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
				  .max_recv_sge = 1 };
	struct ibv_device_attr_ex ex;
	struct pair p;
	uint64_t start;
	int i;

	must(ibv_query_device_ex(ctx, NULL, &ex), "ibv_query_device_ex");
	if (ex.cq_mod_caps.max_cq_count < COUNT || ex.cq_mod_caps.max_cq_period < PERIOD)
		die("at most %u completions, %u us", ex.cq_mod_caps.max_cq_count,
		    ex.cq_mod_caps.max_cq_period);
	p.cq = made(ibv_create_cq(ctx, 64, NULL, channel, 0), "ibv_create_cq");
	for (i = 0; i < 2; i++)
		p.qp[i] = made(create_qp(p.cq, NULL, &cap), "ibv_create_qp");
	connect_pair(&p, 1);
	attr.moderate.cq_count = COUNT;
	attr.moderate.cq_period = PERIOD;
	must(ibv_modify_cq(p.cq, &attr), "ibv_modify_cq");

	while (!stays_silent(&p, channel, COUNT - 1, PERIOD))
		;
	/* the last one of the number; a timer that never ends would be seen below */
	write_and_poll(&p, 1);
	if (!told(channel, 20000))
		die("%d completions were not told of", COUNT);
	write_and_poll(&p, COUNT);
	if (told(channel, 100))
		die("an event that was not asked for");

	start = now_us();
	must(ibv_req_notify_cq(p.cq, 0), "ibv_req_notify_cq");
	write_and_poll(&p, 1);
	if (!told(channel, 20000))
		die("a completion was not told of");
	if (now_us() - start < PERIOD)
		die("a completion was told of before the period was over");

	/* who waits is not forgotten when the terms change; afterwards each is told of */
	while (!stays_silent(&p, channel, 1, PERIOD))
		;
	attr.moderate.cq_count = 0;
	must(ibv_modify_cq(p.cq, &attr), "ibv_modify_cq, to 0");
	if (!told(channel, 20000))
		die("a completion was forgotten");
	attr.moderate.cq_count = COUNT;
	attr.moderate.cq_period = 0;
	must(ibv_modify_cq(p.cq, &attr), "ibv_modify_cq, no period");
	must(ibv_req_notify_cq(p.cq, 0), "ibv_req_notify_cq");
	write_and_poll(&p, 1);
	if (!told(channel, 20000))
		die("without a period a completion waits for others");
	disconnect(&p);
}
