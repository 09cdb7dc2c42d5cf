// SPDX-License-Identifier: GPL-2.0
/*
 * Mistakes of a kernel user: each is refused with an errno, or completes with the status that
 * InfiniBand has for it, and does no harm to what comes next. Process context.
 */
#include <linux/slab.h>

#include "consumer.h"

#define SIZE	4096

/**
 * struct bad - queue pairs that mistakes are made with
 * @c: device
 * @cq: of both
 * @qp: connected
 * @buf: memory
 * @recv: receive request of the second one
 */
struct bad {
	struct consumer *c;
	struct ib_cq *cq;
	struct ib_qp *qp[2];
	struct buffer buf;
	struct request recv;
};

static int expect(const char *what, int have, int want)
{
	return have == want ? 0 : failed("%s: %d, not %d", what, have, want);
}

static struct ib_sge all_of(const struct bad *b)
{
	return (struct ib_sge){
		.addr = b->buf.dma,
		.length = SIZE,
		.lkey = b->c->pd->local_dma_lkey,
	};
}

/* ---- objects ---- */

static int cq_of(struct bad *b, unsigned int cqe)
{
	struct ib_cq_init_attr attr = { .cqe = cqe };
	struct ib_cq *cq = ib_create_cq(b->c->dev, NULL, NULL, NULL, &attr);

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ib_destroy_cq(cq);
	return 0;
}

static int qp_of(struct bad *b, u32 max_send_wr, u32 max_recv_wr, u32 max_send_sge)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.send_cq = b->cq,
		.recv_cq = b->cq,
		.cap = {
			.max_send_wr = max_send_wr,
			.max_recv_wr = max_recv_wr,
			.max_send_sge = max_send_sge,
			.max_recv_sge = 1,
		},
	};
	struct ib_qp *qp = ib_create_qp(b->c->pd, &init);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	ib_destroy_qp(qp);
	return 0;
}

static int mr_of(struct bad *b, u32 pages)
{
	struct ib_mr *mr = ib_alloc_mr(b->c->pd, IB_MR_TYPE_MEM_REG, pages);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	ib_dereg_mr(mr);
	return 0;
}

/* what the device says that it can, and one more */
static int limits(struct bad *b)
{
	const struct ib_device_attr *a = &b->c->dev->attrs;
	int err;

	err = expect("CQ of max_cqe", cq_of(b, a->max_cqe), 0);
	err = err ?: expect("CQ above max_cqe", cq_of(b, a->max_cqe + 1), -EINVAL);
	err = err ?: expect("max_qp_wr", qp_of(b, a->max_qp_wr, a->max_qp_wr, 1), 0);
	err = err ?: expect("max_send_wr too large", qp_of(b, a->max_qp_wr + 1, 1, 1), -EINVAL);
	err = err ?: expect("max_recv_wr too large", qp_of(b, 1, a->max_qp_wr + 1, 1), -EINVAL);
	err = err ?: expect("max_send_sge too large", qp_of(b, 1, 1, a->max_send_sge + 1), -EINVAL);
	err = err ?: expect("region of max_fast_reg_page_list_len",
			    mr_of(b, a->max_fast_reg_page_list_len), 0);
	return err ?: expect("region above max_fast_reg_page_list_len",
			     mr_of(b, a->max_fast_reg_page_list_len + 1), -EINVAL);
}

/* ---- requests that are not taken ---- */

/* A good request, the bad one and another good one: the first is taken, and the second is named. */
static int second_refused(struct bad *b, const char *what, struct ib_send_wr *wr, int want)
{
	struct ib_send_wr first = { .opcode = IB_WR_SEND, .next = wr }, third = first;
	const struct ib_send_wr *bad = NULL;
	int err = post_recv(b->qp[1], &b->recv, NULL, 0);

	if (err)
		return err;
	third.next = NULL;
	wr->next = &third;
	err = expect(what, ib_post_send(b->qp[0], &first, &bad), want);
	if (err)
		return err;
	if (bad != wr)
		return failed("%s: another request is named", what);
	return await(&b->recv, IB_WC_SUCCESS);
}

static int send_requests(struct bad *b)
{
	struct ib_sge sge[CONSUMER_SGE + 1] = { all_of(b) };
	struct ib_send_wr many = { .sg_list = sge, .num_sge = CONSUMER_SGE + 1 };
	struct ib_send_wr minus = { .sg_list = sge, .num_sge = -1 };
	struct ib_send_wr unknown = { .opcode = 99 };
	struct ib_send_wr flags = { .send_flags = 1 << 14 };
	struct ib_send_wr large = { .sg_list = sge, .num_sge = 1, .send_flags = IB_SEND_INLINE };
	int err;

	err = second_refused(b, "too many SGEs", &many, -EINVAL);
	err = err ?: second_refused(b, "fewer SGEs than none", &minus, -EINVAL);
	err = err ?: second_refused(b, "an unknown opcode", &unknown, -EINVAL);
	err = err ?: second_refused(b, "unknown flags", &flags, -EINVAL);
	return err ?: second_refused(b, "too much inline", &large, -EINVAL);
}

static int recv_requests(struct bad *b)
{
	struct ib_sge sge[CONSUMER_SGE + 1] = { all_of(b) };
	struct ib_recv_wr many = { .sg_list = sge, .num_sge = CONSUMER_SGE + 1 };
	struct ib_recv_wr first = { .wr_cqe = &b->recv.cqe, .next = &many };
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	const struct ib_recv_wr *bad = NULL;
	int err;

	request_init(&b->recv);
	err = expect("receive, too many SGEs", ib_post_recv(b->qp[1], &first, &bad), -EINVAL);
	if (!err && bad != &many)
		err = failed("another receive request is named");
	err = err ?: perform(b->c, b->qp[0], &send, IB_WC_SUCCESS);
	return err ?: await(&b->recv, IB_WC_SUCCESS);
}

/* Nobody has posted for them to receive, so they stay. */
static int full_queues(struct bad *b)
{
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	struct ib_recv_wr recv = { .wr_cqe = &b->recv.cqe };
	int i, err = 0;

	request_init(&b->recv);
	request_init(&b->c->send);
	send.wr_cqe = &b->c->send.cqe;
	for (i = 0; i < CONSUMER_DEPTH && !err; i++) {
		err = expect("a send queue with room", ib_post_send(b->qp[0], &send, NULL), 0);
		err = err ?: expect("a receive queue with room",
				    ib_post_recv(b->qp[0], &recv, NULL), 0);
	}
	err = err ?: expect("a full send queue", ib_post_send(b->qp[0], &send, NULL), -ENOMEM);
	err = err ?: expect("a full receive queue", ib_post_recv(b->qp[0], &recv, NULL), -ENOMEM);
	return err ?: connect_pair(b->c, b->qp);
}

static int states(struct bad *b)
{
	struct ib_qp_attr rts = { .qp_state = IB_QPS_RTS };
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	struct ib_recv_wr recv = {};
	struct ib_qp *qp = create_qp(b->c, b->cq);
	int err;

	if (IS_ERR(qp))
		return failed("no queue pair: error %ld", PTR_ERR(qp));
	err = expect("send in RESET", ib_post_send(qp, &send, NULL), -EINVAL);
	err = err ?: expect("receive in RESET", ib_post_recv(qp, &recv, NULL), -EINVAL);
	err = err ?: expect("from RESET to RTS", ib_modify_qp(qp, &rts, IB_QP_STATE), -EINVAL);
	ib_destroy_qp(qp);
	return err;
}

/* ---- requests that complete in error ---- */

/* The queue pair is in error then: what follows is flushed. */
static int fails(struct bad *b, struct ib_send_wr *wr, enum ib_wc_status want)
{
	struct ib_send_wr next = { .opcode = IB_WR_SEND };
	int err;

	err = perform(b->c, b->qp[0], wr, want);
	err = err ?: perform(b->c, b->qp[0], &next, IB_WC_WR_FLUSH_ERR);
	return err ?: connect_pair(b->c, b->qp);
}

static int completions(struct bad *b)
{
	struct ib_sge sge = all_of(b), wrong = sge;
	struct ib_send_wr send = { .opcode = IB_WR_SEND, .sg_list = &wrong, .num_sge = 1 };
	struct ib_rdma_wr write = {
		.wr = { .opcode = IB_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = b->buf.dma,
	};
	struct ib_rdma_wr read = write;
	struct ib_atomic_wr atomic = {
		.wr = { .opcode = IB_WR_ATOMIC_FETCH_AND_ADD, .sg_list = &sge, .num_sge = 1 },
	};
	int err;

	read.wr.opcode = IB_WR_RDMA_READ;
	wrong.lkey ^= 0x100;
	err = fails(b, &send, IB_WC_LOC_PROT_ERR);
	/* the domain's local key is no remote one */
	write.rkey = sge.lkey;
	err = err ?: fails(b, &write.wr, IB_WC_REM_ACCESS_ERR);
	read.rkey = wrong.lkey;
	err = err ?: fails(b, &read.wr, IB_WC_REM_ACCESS_ERR);
	/* its result has eight bytes */
	err = err ?: fails(b, &atomic.wr, IB_WC_LOC_LEN_ERR);
	err = err ?: region_invalidate(b->c, b->qp[0], wrong.lkey, IB_WC_LOC_PROT_ERR);
	return err ?: connect_pair(b->c, b->qp);
}

/* One that is too short for the message: both ends are told. */
static int short_buffer(struct bad *b)
{
	struct ib_sge sge = all_of(b), less = sge;
	struct ib_send_wr send = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	int err;

	less.length--;
	err = post_recv(b->qp[1], &b->recv, &less, 1);
	err = err ?: perform(b->c, b->qp[0], &send, IB_WC_REM_INV_REQ_ERR);
	err = err ?: await(&b->recv, IB_WC_LOC_LEN_ERR);
	return err ?: connect_pair(b->c, b->qp);
}

static int works(struct bad *b)
{
	struct ib_sge sge = all_of(b);
	struct ib_send_wr send = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	int err = post_recv(b->qp[1], &b->recv, &sge, 1);

	err = err ?: perform(b->c, b->qp[0], &send, IB_WC_SUCCESS);
	return err ?: await(&b->recv, IB_WC_SUCCESS);
}

int consumer_bad(struct consumer *c)
{
	struct bad *b = kzalloc(sizeof(*b), GFP_KERNEL);
	int err;

	if (!b)
		return -ENOMEM;
	b->c = c;
	b->cq = ib_alloc_cq(c->dev, NULL, 4 * CONSUMER_DEPTH, 0, IB_POLL_WORKQUEUE);
	if (IS_ERR(b->cq)) {
		err = failed("no completion queue: error %ld", PTR_ERR(b->cq));
		goto free;
	}
	err = buffer_alloc(c, &b->buf, SIZE);
	err = err ?: create_pair(c, b->cq, b->cq, b->qp);
	err = err ?: limits(b);
	err = err ?: send_requests(b);
	err = err ?: recv_requests(b);
	err = err ?: full_queues(b);
	err = err ?: states(b);
	err = err ?: completions(b);
	err = err ?: short_buffer(b);
	err = err ?: works(b);
	destroy_pair(b->qp);
	ib_free_cq(b->cq);
	buffer_free(c, &b->buf);
free:
	kfree(b);
	return err;
}
