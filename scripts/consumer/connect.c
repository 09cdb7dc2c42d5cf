// SPDX-License-Identifier: GPL-2.0
/*
 * Requests and their completions, and two queue pairs of the device that are connected to each
 * other. Process context, but for request_done(), which the CQ's context calls.
 */
#include <linux/etherdevice.h>
#include <linux/jiffies.h>
#include <rdma/ib_verbs.h>

#include "consumer.h"

/* ---- requests ---- */

static void request_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct request *r = container_of(wc->wr_cqe, struct request, cqe);

	r->wc = *wc;
	complete(&r->done);
}

void request_init(struct request *r)
{
	r->cqe.done = request_done;
	init_completion(&r->done);
}

int await(struct request *r, enum ib_wc_status want)
{
	if (!wait_for_completion_timeout(&r->done, 30 * HZ))
		return failed("a request does not complete");
	if (r->wc.status != want)
		return failed("a request completes with \"%s\" (vendor_err %u), not with \"%s\"",
			      ib_wc_status_msg(r->wc.status), r->wc.vendor_err,
			      ib_wc_status_msg(want));
	return 0;
}

int perform(struct consumer *c, struct ib_qp *qp, struct ib_send_wr *wr, enum ib_wc_status want)
{
	static const u8 opcodes[] = {
		[IB_WR_SEND] = IB_WC_SEND,
		[IB_WR_SEND_WITH_IMM] = IB_WC_SEND,
		[IB_WR_SEND_WITH_INV] = IB_WC_SEND,
		[IB_WR_RDMA_WRITE] = IB_WC_RDMA_WRITE,
		[IB_WR_RDMA_WRITE_WITH_IMM] = IB_WC_RDMA_WRITE,
		[IB_WR_RDMA_READ] = IB_WC_RDMA_READ,
		[IB_WR_RDMA_READ_WITH_INV] = IB_WC_RDMA_READ,
		[IB_WR_ATOMIC_CMP_AND_SWP] = IB_WC_COMP_SWAP,
		[IB_WR_ATOMIC_FETCH_AND_ADD] = IB_WC_FETCH_ADD,
		[IB_WR_LOCAL_INV] = IB_WC_LOCAL_INV,
		[IB_WR_REG_MR] = IB_WC_REG_MR,
	};
	struct request *r = &c->send;
	int err;

	request_init(r);
	wr->wr_cqe = &r->cqe;
	wr->send_flags |= IB_SEND_SIGNALED;
	err = ib_post_send(qp, wr, NULL);
	if (err)
		return failed("opcode %d is not taken: error %d", wr->opcode, err);
	err = await(r, want);
	if (err)
		return err;
	if (r->wc.qp != qp)
		return failed("the completion of opcode %d is another queue pair's", wr->opcode);
	/* of one that failed it is not defined */
	if (want == IB_WC_SUCCESS && r->wc.opcode != opcodes[wr->opcode])
		return failed("opcode %d completes as %d", wr->opcode, r->wc.opcode);
	return 0;
}

int post_recv(struct ib_qp *qp, struct request *r, struct ib_sge *sge, int num_sge)
{
	struct ib_recv_wr wr = { .wr_cqe = &r->cqe, .sg_list = sge, .num_sge = num_sge };
	int err;

	request_init(r);
	err = ib_post_recv(qp, &wr, NULL);
	return err ? failed("a receive request is not taken: error %d", err) : 0;
}

/* ---- queue pairs ---- */

struct ib_qp *create_qp(struct consumer *c, struct ib_cq *cq)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = CONSUMER_DEPTH,
			.max_recv_wr = CONSUMER_DEPTH,
			.max_send_sge = CONSUMER_SGE,
			.max_recv_sge = CONSUMER_SGE,
		},
	};

	return ib_create_qp(c->pd, &init);
}

static int to_init(struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC,
	};

	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			    IB_QP_ACCESS_FLAGS);
}

static int to_rtr(struct consumer *c, struct ib_qp *qp, u32 peer)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_4096,
		.dest_qp_num = peer,
		.rq_psn = peer,
		.max_dest_rd_atomic = CONSUMER_READS,
		.min_rnr_timer = 1,
	};

	attr.ah_attr.type = rdma_ah_find_type(c->dev, 1);
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_grh(&attr.ah_attr, &c->gid, 0, c->gid_index, 64, 0);
	ether_addr_copy(attr.ah_attr.roce.dmac, c->dmac);
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			    IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
}

static int to_rts(struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.sq_psn = qp->qp_num,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = CONSUMER_READS,
	};

	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC);
}

int connect_pair(struct consumer *c, struct ib_qp *const qp[2])
{
	struct ib_qp_attr reset = { .qp_state = IB_QPS_RESET };
	int err = 0, i;

	for (i = 0; i < 2 && !err; i++) {
		err = ib_modify_qp(qp[i], &reset, IB_QP_STATE);
		if (!err)
			err = to_init(qp[i]);
	}
	for (i = 0; i < 2 && !err; i++)
		err = to_rtr(c, qp[i], qp[!i]->qp_num);
	for (i = 0; i < 2 && !err; i++)
		err = to_rts(qp[i]);
	return err ? failed("queue pairs do not connect: error %d", err) : 0;
}

int create_pair(struct consumer *c, struct ib_cq *cq0, struct ib_cq *cq1, struct ib_qp *qp[2])
{
	int err;

	qp[0] = create_qp(c, cq0);
	qp[1] = create_qp(c, cq1);
	if (IS_ERR(qp[0]) || IS_ERR(qp[1]))
		err = failed("no queue pairs");
	else
		err = connect_pair(c, qp);
	if (err)
		destroy_pair(qp);
	return err;
}

void destroy_pair(struct ib_qp *qp[2])
{
	int i;

	for (i = 0; i < 2; i++) {
		if (!IS_ERR_OR_NULL(qp[i]))
			ib_destroy_qp(qp[i]);
		qp[i] = NULL;
	}
}
