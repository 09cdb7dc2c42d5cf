// SPDX-License-Identifier: GPL-2.0
/*
 * Things that mroce-probe tries: datagrams with what comes along with them, groups, the statuses
 * that errors have, and asynchronous events.
 */
#include <unistd.h>

#include "datagrams.h"
#include "probe.h"

/* ---- datagrams ---- */

/* the receive's completion of one that the queue pair has sent to itself */
static struct ibv_wc to_itself(struct ud *u, size_t length)
{
	struct ibv_wc wc, receive = {};
	int i;

	fill(length);
	receive_at(u, 0, length);
	post_to(u, &gid, u->qp->qp_num, length);
	for (i = 0; i < 2; i++) {
		wc = next_completion(u->cq);
		if (wc.status)
			no_because("completion: %s", ibv_wc_status_str(wc.status));
		if (wc.opcode == IBV_WC_RECV)
			receive = wc;
	}
	return receive;
}

static void create_ah(void)
{
	struct ibv_ah_attr attr = self();

	must(error_of(ibv_destroy_ah(made(ibv_create_ah(pd, &attr), "ibv_create_ah"))), "ibv_destroy_ah");
}

static void ah_without_grh(void)
{
	struct ibv_ah_attr attr = { .dlid = 1, .port_num = 1 };

	if (ibv_create_ah(pd, &attr))
		die("accepted");
	if (errno == EOPNOTSUPP)
		no(errno, "ibv_create_ah");
}

static void grh(void)
{
	struct ud u = make_ud(QKEY);
	struct ibv_wc wc = to_itself(&u, 1000);
	const uint8_t *ip = FAR;

	if (!(wc.wc_flags & IBV_WC_GRH))
		die("the completion tells of no GRH");
	/* an IPv4 header is in the second half */
	if (over_ipv4() && (memcmp(ip + 32, gid.raw + 12, 4) || memcmp(ip + 36, gid.raw + 12, 4)))
		die("addresses %u.%u.%u.%u to %u.%u.%u.%u", ip[32], ip[33], ip[34], ip[35], ip[36],
		    ip[37], ip[38], ip[39]);
	if (!over_ipv4() && (memcmp(ip + 8, &gid, 16) || memcmp(ip + 24, &gid, 16)))
		die("other addresses");
}

static void source(void)
{
	struct ud u = make_ud(QKEY);
	struct ibv_wc wc = to_itself(&u, 1000);

	if (wc.src_qp != u.qp->qp_num || wc.qp_num != u.qp->qp_num)
		die("from queue pair %u to %u, not %u", wc.src_qp, wc.qp_num, u.qp->qp_num);
}

/* an answer's way */
static void ah_from_wc(uint64_t create)
{
	struct ud u = make_ud(QKEY);
	struct ibv_wc wc = to_itself(&u, 1000);
	struct ibv_ah_attr attr = {};

	if (create) {
		made(ibv_create_ah_from_wc(pd, &wc, (struct ibv_grh *)FAR, 1), "ibv_create_ah_from_wc");
		return;
	}
	must(error_of(ibv_init_ah_from_wc(ctx, 1, &wc, (struct ibv_grh *)FAR, &attr)),
	     "ibv_init_ah_from_wc");
	if (!attr.is_global || memcmp(&attr.grh.dgid, &gid, sizeof(gid)))
		die("another GID");
}

static void as_long_as_the_mtu(void)
{
	struct ud u = make_ud(QKEY);
	size_t length = 128 << port.active_mtu;

	to_itself(&u, length);
	got(0, length, "a datagram");
}

static void wrong_qkey(void)
{
	struct ud out = make_ud(QKEY), in = make_ud(QKEY + 1);
	struct ibv_wc wc;

	receive_at(&in, 0, 1000);
	send_to(&out, &gid, in.qp->qp_num, 1000, false);
	usleep(200000);
	if (ibv_poll_cq(in.cq, 1, &wc))
		die("it came");
}

static void attach(void)
{
	struct ud u = make_ud(QKEY);
	union ibv_gid group = group_of(1);

	must(error_of(ibv_attach_mcast(u.qp, &group, 0)), "ibv_attach_mcast");
	must(error_of(ibv_detach_mcast(u.qp, &group, 0)), "ibv_detach_mcast");
}

static void to_group(void)
{
	struct ud out = make_ud(QKEY), in[2];
	union ibv_gid group = group_of(1);
	int i;

	for (i = 0; i < 2; i++) {
		in[i] = make_ud(QKEY);
		must(error_of(ibv_attach_mcast(in[i].qp, &group, 0)), "ibv_attach_mcast");
		receive_at(&in[i], i * 4000, 1000);
	}
	fill(8000);
	send_to(&out, &group, 0xffffff, 1000, false);
	for (i = 0; i < 2; i++) {
		completes(in[i].cq, 1, IBV_WC_SUCCESS);
		got(i * 4000, 1000, "to a group");
	}
}

static const struct item datagrams_items[] = {
	TRY("ibv_create_ah", create_ah), TRY("ibv_create_ah, without a GRH, refused", ah_without_grh),
	TRY("a GRH at the receiver", grh), TRY("src_qp", source),
	TRY_WITH("ibv_init_ah_from_wc", ah_from_wc, false),
	TRY_WITH("ibv_create_ah_from_wc", ah_from_wc, true), TRY("as long as active_mtu", as_long_as_the_mtu),
	TRY("with another Q_Key, dropped", wrong_qkey), TRY("ibv_attach_mcast", attach),
	TRY("to a group, on this host", to_group),
};

GROUP(datagrams, "datagrams");

/* ---- statuses of errors ---- */

/* what a request has come to; iWARP promises less than InfiniBand */
static void status_is(struct ibv_cq *cq, enum ibv_wc_status want)
{
	struct ibv_wc wc;

	do {
		wc = next_completion(cq);
	} while (wc.status != want && wc.status == IBV_WC_WR_FLUSH_ERR);
	if (wc.status == want)
		return;
	if (iwarp())
		no_because("%s instead", ibv_wc_status_str(wc.status));
	die("%s instead", ibv_wc_status_str(wc.status));
}

static void request(struct pair *p, enum ibv_wr_opcode opcode, uint32_t lkey, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)memory, 1000, lkey };
	struct ibv_send_wr wr = {
		.opcode = opcode, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)FAR, rkey },
	}, *bad;

	must(error_of(ibv_post_send(p->qp[0], &wr, &bad)), "ibv_post_send");
}

static void bad_lkey(void)
{
	struct pair p = pair_of(IBV_QPT_RC);

	request(&p, IBV_WR_RDMA_WRITE, mr->lkey ^ 0x5500, mr->rkey);
	status_is(p.cq, IBV_WC_LOC_PROT_ERR);
}

static void bad_rkey(uint64_t opcode)
{
	struct pair p = pair_of(IBV_QPT_RC);

	request(&p, opcode, mr->lkey, mr->rkey ^ 0x5500);
	status_is(p.cq, IBV_WC_REM_ACCESS_ERR);
}

/* one pair whose ends have queues of their own; it does not try for ever if @retries is not 7 */
static struct pair apart(struct ibv_cq **receiver, struct ibv_srq *srq, unsigned int retries)
{
	struct pair p;
	int i;

	p.cq = made(ibv_create_cq(ctx, 16, NULL, NULL, 0), "ibv_create_cq");
	*receiver = made(ibv_create_cq(ctx, 16, NULL, NULL, 0), "ibv_create_cq");
	for (i = 0; i < 2; i++) {
		struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
					  .max_recv_sge = 1 };

		p.qp[i] = made(create_qp(i ? *receiver : p.cq, i ? srq : NULL, &cap), "ibv_create_qp");
	}
	if (retries == 7) {
		connect_pair(&p, 1);
		return p;
	}
	for (i = 0; i < 2; i++)
		must(error_of(to_init(p.qp[i], 1, 0)), "to INIT");
	for (i = 0; i < 2; i++) {
		struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .max_rd_atomic = 1, .timeout = 14,
					 .retry_cnt = retries, .rnr_retry = retries };

		must(error_of(to_rtr(p.qp[i], p.qp[!i], 1)), "to RTR");
		must(error_of(ibv_modify_qp(p.qp[i], &a, IBV_QP_STATE | IBV_QP_SQ_PSN |
					    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					    IBV_QP_MAX_QP_RD_ATOMIC)), "to RTS");
	}
	return p;
}

static void too_short(uint64_t at_receiver)
{
	struct ibv_cq *receiver;
	struct pair p = apart(&receiver, NULL, 7);
	struct ibv_sge to = { (uintptr_t)FAR, 999, mr->lkey };

	must(error_of(post_recv(p.qp[1], NULL, &to, 1)), "ibv_post_recv");
	request(&p, IBV_WR_SEND, mr->lkey, 0);
	if (at_receiver)
		status_is(receiver, IBV_WC_LOC_LEN_ERR);
	else
		status_is(p.cq, IBV_WC_REM_INV_REQ_ERR);
}

static void not_ready(void)
{
	struct ibv_cq *receiver;
	struct pair p;

	if (iwarp())
		untried("iWARP knows no RNR");
	p = apart(&receiver, NULL, 1);
	request(&p, IBV_WR_SEND, mr->lkey, 0);
	status_is(p.cq, IBV_WC_RNR_RETRY_EXC_ERR);
}

static void peer_gone(void)
{
	struct ibv_cq *receiver;
	struct pair p;

	if (iwarp())
		untried("iWARP notices by TCP");
	p = apart(&receiver, NULL, 1);
	must(error_of(ibv_destroy_qp(p.qp[1])), "ibv_destroy_qp");
	request(&p, IBV_WR_RDMA_WRITE, mr->lkey, mr->rkey);
	status_is(p.cq, IBV_WC_RETRY_EXC_ERR);
}

/* what waits when the state changes, and what is posted after it */
static void flushed(uint64_t receives)
{
	struct ibv_sge to = { (uintptr_t)FAR, 1000, mr->lkey };
	struct ibv_cq *receiver;
	struct pair p = apart(&receiver, NULL, 7);
	int i;

	/* on iWARP a Send does not wait for a receive */
	for (i = iwarp() && !receives; i < 2; i++) {
		if (i)
			must(error_of(modify(p.qp[!!receives], IBV_QPS_ERR)), "to ERR");
		if (receives)
			must(error_of(post_recv(p.qp[1], NULL, &to, 1)), "ibv_post_recv");
		else
			request(&p, IBV_WR_SEND, mr->lkey, 0);
	}
	completes(receives ? receiver : p.cq, iwarp() && !receives ? 1 : 2, IBV_WC_WR_FLUSH_ERR);
}

static void bad_bind(void)
{
	struct ibv_mw *mw = made(ibv_alloc_mw(pd, IBV_MW_TYPE_2), "ibv_alloc_mw");
	struct pair p = pair_of(IBV_QPT_RC);
	/* of a region without the right */
	struct ibv_mw_bind_info info = { .mr = mr, .addr = (uintptr_t)FAR, .length = 100,
					 .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };

	bind_2(&p, mw, info, IBV_WC_MW_BIND_ERR);
}

static const struct item error_statuses_items[] = {
	TRY("LOC_PROT_ERR: a wrong lkey", bad_lkey),
	TRY_WITH("REM_ACCESS_ERR: a Write with a wrong rkey", bad_rkey, IBV_WR_RDMA_WRITE),
	TRY_WITH("REM_ACCESS_ERR: a Read with a wrong rkey", bad_rkey, IBV_WR_RDMA_READ),
	TRY_WITH("REM_INV_REQ_ERR: the receive is too short", too_short, false),
	TRY_WITH("LOC_LEN_ERR: at the receiver", too_short, true),
	TRY("RNR_RETRY_EXC_ERR: no receive", not_ready),
	TRY("RETRY_EXC_ERR: the peer is gone", peer_gone),
	TRY_WITH("WR_FLUSH_ERR: requests in ERR", flushed, false),
	TRY_WITH("WR_FLUSH_ERR: receives in ERR", flushed, true),
	TRY("MW_BIND_ERR: a region without MW_BIND", bad_bind),
};

GROUP(error_statuses, "completions in error");

/* ---- asynchronous events ---- */

static void comes(enum ibv_event_type type)
{
	if (!event(type, patience * 1000))
		no_because("it did not come");
}

/* the first packet comes before the receiver is in RTS */
static void comm_est(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
				  .max_recv_sge = 1 };
	struct pair p;
	int i;

	if (iwarp())
		untried("iWARP connects by rdma_cm only");
	p.cq = made(ibv_create_cq(ctx, 16, NULL, NULL, 0), "ibv_create_cq");
	for (i = 0; i < 2; i++) {
		p.qp[i] = made(create_qp(p.cq, NULL, &cap), "ibv_create_qp");
		must(error_of(to_init(p.qp[i], 1, 0)), "to INIT");
	}
	for (i = 0; i < 2; i++)
		must(error_of(to_rtr(p.qp[i], p.qp[!i], 1)), "to RTR");
	must(error_of(to_rts(p.qp[0], 1)), "to RTS");
	request(&p, IBV_WR_RDMA_WRITE, mr->lkey, mr->rkey);
	comes(IBV_EVENT_COMM_EST);
}

static void sq_drained(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct pair p = pair_of(IBV_QPT_RC);

	must(error_of(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY)), "to SQD");
	comes(IBV_EVENT_SQ_DRAINED);
}

static void srq_limit(void)
{
	struct ibv_srq *srq = make_srq(8);
	struct ibv_sge to = { (uintptr_t)FAR, 1000, mr->lkey };
	struct ibv_srq_attr attr = { .srq_limit = 4 };
	struct ibv_cq *receiver;
	struct pair p = apart(&receiver, srq, 7);
	int i;

	for (i = 0; i < 4; i++)
		must(error_of(post_recv(NULL, srq, &to, 1)), "ibv_post_srq_recv");
	must(error_of(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT)), "ibv_modify_srq");
	request(&p, IBV_WR_SEND, mr->lkey, 0);
	comes(IBV_EVENT_SRQ_LIMIT_REACHED);
}

static void last_wqe(void)
{
	struct ibv_cq *receiver;
	struct pair p = apart(&receiver, make_srq(8), 7);

	must(error_of(modify(p.qp[1], IBV_QPS_ERR)), "to ERR");
	comes(IBV_EVENT_QP_LAST_WQE_REACHED);
}

/* more completions than there is room for */
static void cq_err(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 256, .max_recv_wr = 1, .max_send_sge = 1,
				  .max_recv_sge = 1 };
	struct pair p = connected(&cap, NULL, 1, 1);
	int i;

	if (p.cq->cqe >= 255)
		untried("the smallest queue has %d entries", p.cq->cqe);
	for (i = 0; i <= p.cq->cqe + 1; i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };

		must(error_of(post_send(p.qp[0], &wr)), "ibv_post_send");
	}
	comes(IBV_EVENT_CQ_ERR);
}

static void access_err(void)
{
	struct ibv_cq *receiver;
	struct pair p = apart(&receiver, NULL, 7);

	request(&p, IBV_WR_RDMA_WRITE, mr->lkey, mr->rkey ^ 0x5500);
	comes(IBV_EVENT_QP_ACCESS_ERR);
}

static const struct item async_events_items[] = {
	TRY("COMM_EST", comm_est), TRY("SQ_DRAINED", sq_drained), TRY("SRQ_LIMIT_REACHED", srq_limit),
	TRY("QP_LAST_WQE_REACHED", last_wqe), TRY("CQ_ERR", cq_err),
	TRY("QP_ACCESS_ERR: a Write with a wrong rkey", access_err),
};

GROUP(async_events, "asynchronous events");
