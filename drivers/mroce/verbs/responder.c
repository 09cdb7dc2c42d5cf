// SPDX-License-Identifier: GPL-2.0
/*
 * The cursor of a stream: what happens when a message is whole and all before it are. Receive
 * completions, invalidation, reads, flushes and atomics of the peer; the end of our own. One
 * processor at a time runs it, softirq, no lock held but where a field is touched; while it runs
 * neither half goes away.
 */
#include <linux/ktime.h>

#include "qp.h"

/* ---- receive buffers ---- */

static struct mroce_recv *bound_slot(struct mroce_bound *b, u32 rsn)
{
	return b->recvs + (rsn & (MROCE_SRQ_AHEAD - 1)) * b->size;
}

/* All earlier unseen messages get a buffer first, or the head could starve (rule 10). */
static struct mroce_recv *bind_buffer(struct mroce_qp *qp, u32 rsn, u8 *nack)
{
	struct mroce_bound *b = &qp->bound;
	struct mroce_recv *recv = NULL;

	spin_lock_bh(&b->lock);
	while (mroce_seq_diff(rsn, b->next) >= 0) {
		if (b->next - b->done >= b->ahead) {
			*nack = MROCE_N_HOLD;
			goto out;
		}
		if (!mroce_srq_take(qp->srq, bound_slot(b, b->next))) {
			*nack = MROCE_N_RNR;
			goto out;
		}
		b->next++;
	}
	if (mroce_seq_diff(rsn, b->done) >= 0)
		recv = bound_slot(b, rsn);
	else
		*nack = MROCE_N_LENGTH;
out:
	spin_unlock_bh(&b->lock);
	return recv;
}

struct mroce_recv *mroce_qp_recv(struct mroce_qp *qp, u32 rsn, u32 srqn, u8 *nack)
{
	struct mroce_recv *recv;

	if (unlikely(qp->xrcd))
		return mroce_xrc_bind(qp, rsn, srqn, nack);
	if (qp->srq)
		return bind_buffer(qp, rsn, nack);
	recv = mroce_rq_recv(&qp->rq, rsn);
	if (!recv)
		*nack = MROCE_N_RNR;
	return recv;
}

static void recv_done(struct mroce_qp *qp, u32 rsn)
{
	struct mroce_bound *b = &qp->bound;

	if (!qp->srq) {
		mroce_rq_advance(&qp->rq, rsn + 1);
		return;
	}
	spin_lock_bh(&b->lock);
	b->done = rsn + 1;
	spin_unlock_bh(&b->lock);
}

void mroce_rq_cqe(struct mroce_qp *qp, u64 wr_id, const struct mroce_cqe *from, bool solicited)
{
	struct mroce_cqe cqe = *from;

	cqe.wr_id = wr_id;
	cqe.qpn = qp->ib->qp_num;
	mroce_qp_count_error(qp, cqe.vendor_err);
	mroce_cq_add(qp->rcq, &cqe, solicited);
}

/* The receive request of number @rsn completes; its buffer is the program's from here on. */
static bool complete_recv(struct mroce_qp *qp, u32 rsn, const struct mroce_cqe *cqe, bool solicited)
{
	struct mroce_recv *recv;
	u64 wr_id;
	u8 nack;

	if (unlikely(qp->xrcd))
		return mroce_xrc_complete(qp, rsn, cqe, solicited);
	/* nearly always, and with one look */
	if (!qp->srq && mroce_rq_complete(&qp->rq, rsn, &wr_id)) {
		mroce_rq_cqe(qp, wr_id, cqe, solicited);
		return true;
	}
	/*
	 * At the cursor they follow each other. What a peer leaves out would be lost, and may be of
	 * an SRQ that others live on.
	 */
	if (rsn != (qp->srq ? READ_ONCE(qp->bound.done) : READ_ONCE(qp->rq.done)))
		return false;
	recv = mroce_qp_recv(qp, rsn, 0, &nack);
	if (!recv)
		return false;
	wr_id = recv->wr_id;
	recv_done(qp, rsn);
	mroce_rq_cqe(qp, wr_id, cqe, solicited);
	return true;
}

/* ---- refusals ---- */

/* what the queue pair and the region must allow; 0: the message is malformed */
static int rights_of(u8 opcode, u32 imm)
{
	switch (opcode) {
	case MROCE_OP_READ:
		return IB_ACCESS_REMOTE_READ;
	case MROCE_OP_ATOMIC_WRITE:
		return IB_ACCESS_REMOTE_WRITE;
	case MROCE_OP_FLUSH:
		if (imm & ~(MROCE_FLUSH_GLOBAL | MROCE_FLUSH_PERSISTENT | MROCE_FLUSH_REGION))
			return 0;
		return (imm & MROCE_FLUSH_GLOBAL ? IB_ACCESS_FLUSH_GLOBAL : 0) |
		       (imm & MROCE_FLUSH_PERSISTENT ? IB_ACCESS_FLUSH_PERSISTENT : 0);
	default:
		return IB_ACCESS_REMOTE_ATOMIC;
	}
}

u8 mroce_qp_admit(struct mroce_qp *qp, u8 opcode, u64 addr, u32 rkey, u32 length, u32 imm)
{
	int access = rights_of(opcode, imm);
	enum mroce_reason reason;
	struct mroce_mr *mr;

	if (!access || (qp->attr.qp_access_flags & access) != access ||
	    !qp->attr.max_dest_rd_atomic)
		return MROCE_N_LENGTH;
	if (mroce_opinfo[opcode].fixed) {
		if (addr & 7)
			return MROCE_N_LENGTH;
		length = sizeof(u64);
	} else if (length > (opcode == MROCE_OP_READ ? MROCE_MAX_MSG : MROCE_MAX_FLUSH)) {
		return MROCE_N_LENGTH;
	}
	if (opcode == MROCE_OP_FLUSH && imm & MROCE_FLUSH_REGION) {
		addr = mroce_mr_start(qp->dev, rkey);
		length = 0;
	}
	if (!length && opcode == MROCE_OP_READ)
		return MROCE_N_NONE;
	mr = mroce_qp_mr_get(qp, rkey, access, addr, length, &reason);
	if (!mr)
		return MROCE_N_ACCESS;
	mroce_mr_put(mr);
	return MROCE_N_NONE;
}

/* One more response; false: the peer has more reads open than it may. */
static bool respond(struct mroce_qp *qp, const struct mroce_desc *d, u8 opcode, u32 imm, u64 result)
{
	bool reads = d->opcode == MROCE_OP_READ;
	const struct mroce_post p = {
		.addr = d->addr,
		.rkey = d->rkey,
		.length = opcode == MROCE_OP_READ_RESP && reads ? d->length : 0,
		.imm = imm,
		.rsn = d->msn,
		.opcode = opcode,
	};
	struct mroce_msg *m;

	/* a READ has brought it along; of a refusal without it the peer learns by CLOSE */
	if (!mroce_qp_may_respond(qp))
		return false;
	spin_lock(&qp->txh->lock);
	m = mroce_txs_post(&qp->resp, &p, ktime_get_ns());
	if (m)
		qp->responder->results[m->msn & qp->resp_mask] = result;
	spin_unlock(&qp->txh->lock);
	return m;
}

/*
 * An error found at the cursor: the packets were acknowledged, so it travels as a response, and
 * nothing from this message on is taken. @status: of the receive request, if one is at fault.
 */
static void refuse_message(struct mroce_qp *qp, struct mroce_rxhalf *h, const struct mroce_desc *d,
			   u8 nack, u8 status, enum mroce_reason reason)
{
	respond(qp, d, MROCE_OP_ERROR_RESP, nack, 0);
	spin_lock(&h->lock);
	mroce_rxs_refuse(&qp->rreq, d->msn, nack);
	qp->rx_error = (struct mroce_rx_error){
		.set = true,
		.status = status,
		.nack = nack,
		.reason = reason,
		.msn = d->msn,
		.rsn = d->rsn,
	};
	spin_unlock(&h->lock);
}

/*
 * The cursor has come to a message that is refused for ever: that is the end of the queue pair
 * on this side too.
 */
static void end_by_responder(struct mroce_qp *qp, struct mroce_rxhalf *h)
{
	struct mroce_rx_error e;
	bool first = false;

	spin_lock(&h->lock);
	e = qp->rx_error;
	if (!e.set)
		e.nack = qp->rreq.refuse_reason;
	spin_unlock(&h->lock);

	spin_lock_bh(&qp->lock);
	if (mroce_qp_receives(qp)) {
		const struct mroce_cqe cqe = {
			.status = e.status,
			.opcode = IB_WC_RECV,
			.vendor_err = e.reason,
		};

		first = true;
		qp->by_responder = true;
		if (e.set && e.status)
			complete_recv(qp, e.rsn, &cqe, true);
		mroce_qp_error_locked(qp, e.set ? e.reason : MROCE_REASON_NAK_ACCESS);
	}
	spin_unlock_bh(&qp->lock);
	if (first && !(e.set && e.status))
		mroce_qp_raise(qp, e.nack == MROCE_N_ACCESS ? MROCE_QPE_ACCESS : MROCE_QPE_REQUEST);
}

/* ---- requests ---- */

static void take_message(struct mroce_qp *qp, struct mroce_rxhalf *h, const struct mroce_desc *d)
{
	const struct mroce_opinfo *info = &mroce_opinfo[d->opcode];
	struct mroce_cqe cqe = {.opcode = info->place ? IB_WC_RECV : IB_WC_RECV_RDMA_WITH_IMM};
	enum mroce_reason reason;

	if (!info->receive)
		return;
	cqe.byte_len = d->length;
	if (info->imm) {
		cqe.flags |= MROCE_CQE_IMM;
		cqe.imm = (__force u32)cpu_to_be32(d->imm);
	}
	if (info->inv) {
		reason = mroce_mr_invalidate(qp->dev, mroce_qp_recv_pd(qp, d->rsn), qp->ib->qp_num,
					     d->imm, true);
		if (reason) {
			refuse_message(qp, h, d, MROCE_N_OPERATION, IB_WC_LOC_PROT_ERR, reason);
			return;
		}
		cqe.flags |= MROCE_CQE_INV;
		cqe.imm = d->imm;
	}
	if (d->flags & MROCE_F_SOLICITED)
		cqe.flags |= MROCE_CQE_SOLICITED;
	if (!complete_recv(qp, d->rsn, &cqe, d->flags & MROCE_F_SOLICITED))
		refuse_message(qp, h, d, MROCE_N_LENGTH, IB_WC_SUCCESS, MROCE_REASON_RX_MALFORMED);
}

static bool take_operand(struct mroce_qp *qp, struct mroce_rxhalf *h, u32 msn,
			 struct mroce_operand *operand)
{
	bool found = false;
	u32 i;

	spin_lock(&h->lock);
	for (i = 0; i < qp->responder->room && !found; i++) {
		struct mroce_operand *o = &qp->responder->operands[i];

		found = o->used && o->msn == msn;
		if (found) {
			*operand = *o;
			o->used = false;
		}
	}
	spin_unlock(&h->lock);
	return found;
}

static u8 run_atomic(struct mroce_qp *qp, struct mroce_rxhalf *h, const struct mroce_desc *d,
		     u64 *old)
{
	int access = rights_of(d->opcode, d->imm);
	struct mroce_operand o;
	enum mroce_reason reason;
	struct mroce_mr *mr;
	int err;

	if (!take_operand(qp, h, d->msn, &o))
		return MROCE_N_OPERATION;
	mr = mroce_qp_mr_get(qp, d->rkey, access, d->addr, sizeof(u64), &reason);
	if (!mr)
		return MROCE_N_ACCESS;
	err = mroce_mr_atomic(mr, d->addr, d->opcode, o.compare_add, o.swap, old);
	mroce_mr_put(mr);
	return err ? MROCE_N_LENGTH : MROCE_N_NONE;
}

static void answer(struct mroce_qp *qp, struct mroce_rxhalf *h, const struct mroce_desc *d)
{
	const struct mroce_opinfo *info = &mroce_opinfo[d->opcode];
	u64 old = 0;
	u8 nack;

	nack = mroce_qp_admit(qp, d->opcode, d->addr, d->rkey, d->length, d->imm);
	if (!nack && info->fixed)
		nack = run_atomic(qp, h, d, &old);
	/* what came before has landed, and what persists was written back then */
	if (d->opcode == MROCE_OP_FLUSH)
		/* there are machines on which others may still not see what this processor does */
		smp_mb();
	if (nack)
		refuse_message(qp, h, d, nack, IB_WC_SUCCESS,
			       nack == MROCE_N_ACCESS ? MROCE_REASON_NAK_ACCESS
						      : MROCE_REASON_NAK_OPERATION);
	else if (!respond(qp, d, info->answered, 0, old))
		refuse_message(qp, h, d, MROCE_N_LENGTH, IB_WC_SUCCESS, MROCE_REASON_NAK_READS);
}

/* ---- responses ---- */

static void answered(struct mroce_qp *qp, const struct mroce_desc *d)
{
	struct mroce_txs *req = &qp->req;
	u64 now = ktime_get_ns();
	u8 nack = MROCE_N_NONE;
	bool idle = false;

	if (d->opcode == MROCE_OP_ERROR_RESP)
		nack = clamp_t(u32, d->imm, MROCE_N_ACCESS, MROCE_N_MAX - 1);
	spin_lock(&qp->txh->lock);
	if (!mroce_txs_responded(req, d->rsn, nack, now) && nack) {
		/* a message that is complete here failed there (rule 9) */
		idle = req->msn_una == req->msn_end;
		mroce_txs_fail(req, mroce_txs_msg(req, d->rsn) ? d->rsn : req->msn_una,
			       MROCE_REASON_NONE, nack);
	}
	spin_unlock(&qp->txh->lock);
	if (idle)
		mroce_qp_raise(qp, MROCE_QPE_FATAL);
}

/* ---- the cursor ---- */

/* half->lock is held */
static bool at_refusal(const struct mroce_rxs *rxs)
{
	return !rxs->response && rxs->refusing && rxs->refuse_reason >= MROCE_N_ACCESS &&
	       !rxs->running && mroce_seq_diff(rxs->msn, rxs->refuse_msn) >= 0;
}

/* Nothing happens at the cursor when it passes a Write. */
static bool is_silent(const struct mroce_rxs *rxs, const struct mroce_desc *d)
{
	return !rxs->response && !mroce_opinfo[d->opcode].receive &&
	       !mroce_opinfo[d->opcode].answered;
}

/*
 * The next message that is whole, or whether the cursor is where the stream ends. Nobody takes the
 * stream from its half while its cursor runs.
 */
static void cursor_next(struct mroce_cursor *c, struct mroce_rxs *rxs)
{
	enum { AT_ONCE = 64 };	/* while the half's lock is held */
	const struct mroce_desc *d;
	unsigned int n = 0;

	do
		d = mroce_rxs_message(rxs);
	while (d && is_silent(rxs, d) && ++n < AT_ONCE);
	c->message = d;
	if (d)
		c->desc = *d;
	else
		c->end = !rxs->dead && at_refusal(rxs);
}

void mroce_cursor_begin(struct mroce_cursor *c, struct mroce_rxhalf *h, struct mroce_rxs *rxs)
{
	lockdep_assert_held(&h->lock);
	c->message = false;
	c->end = false;
	if (rxs->rx != &h->rx || rxs->dead)
		return;
	if (mroce_rxs_begin(rxs))
		cursor_next(c, rxs);
	else
		c->end = at_refusal(rxs);
}

void mroce_cursor_run(struct mroce_cursor *c, struct mroce_qp *qp, struct mroce_rxhalf *h,
		      struct mroce_rxs *rxs)
{
	const struct mroce_desc *d = &c->desc;
	struct mroce_txhalf *th = NULL;

	while (c->message) {
		/* whatever may end in a response */
		if (!th && (rxs->response || mroce_opinfo[d->opcode].answered ||
			    mroce_opinfo[d->opcode].inv))
			th = mroce_txhalf_hold(qp->txh);
		if (rxs->response)
			answered(qp, d);
		else if (mroce_opinfo[d->opcode].answered)
			answer(qp, h, d);
		else
			take_message(qp, h, d);
		spin_lock(&h->lock);
		cursor_next(c, rxs);
		spin_unlock(&h->lock);
	}
	if (c->end)
		end_by_responder(qp, h);
	if (th) {
		mroce_txhalf_settle(th);
		mroce_xmit(th);
		mroce_txhalf_put(th);
	}
}
