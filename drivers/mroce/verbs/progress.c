// SPDX-License-Identifier: GPL-2.0
/*
 * Completion of send requests: what the engine has finished, in the order of posting, and
 * what ends a queue pair. Any context with interrupts on; the callers' half lock is
 * not held. A completion's slot is given back to the program before it is told.
 */
#include "qp.h"

#define GONE_DELAY_MAX NSEC_PER_SEC

/*
 * Those that the peer is told of are counted where they are found, and so is what it says of a
 * whole connection or stream: once, not for each request.
 */
void mroce_qp_count_error(struct mroce_qp *qp, enum mroce_reason reason)
{
	if (reason == MROCE_REASON_ERR_PEER_RESET || reason == MROCE_REASON_ERR_REFUSED)
		return;
	if (reason >= MROCE_REASON_ERR_RETRY && reason <= MROCE_REASON_ERR_CQ) {
		mroce_count(qp->dev, (enum mroce_counter)reason, 1);
		mroce_qp_count(qp, reason, 1);
	}
}

void mroce_sq_cqe(struct mroce_qp *qp, const struct mroce_send *s, u8 status,
		  enum mroce_reason reason)
{
	const struct mroce_cqe cqe = {
		.wr_id = s->wr_id,
		.status = status,
		.opcode = mroce_wc_opcode(s->opcode),
		.byte_len = s->length,
		.qpn = qp->ib->qp_num,
		.vendor_err = reason,
	};

	mroce_qp_count_error(qp, reason);

	mroce_cq_add(qp->scq, &cqe, status != IB_WC_SUCCESS);
}

/* The oldest request is complete: its slot is the program's again. */
void mroce_sq_release(struct mroce_qp *qp)
{
	struct mroce_sq *sq = &qp->sq;
	struct mroce_send *s = mroce_sq_send(sq, sq->done);

	if (s->kah) {
		mroce_ah_put(s->kah);
		s->kah = NULL;
	}
	/* pairs with the acquire in post_send */
	smp_store_release(&sq->done, sq->done + 1);
	if (qp->user)
		/* and with the provider's: the slot is free before the completion shows */
		smp_store_release(&sq->ring.head->consumer, sq->done);
}

/* The READ is through, and the key of its memory dies with it. */
static void read_inv(struct mroce_qp *qp, struct mroce_send *s)
{
	s->reason = mroce_mr_invalidate(qp->dev, qp->ib->pd, qp->ib->qp_num, s->reg_key, false);
	if (s->reason)
		s->status = IB_WC_LOC_PROT_ERR;
}

void mroce_sq_retire(struct mroce_qp *qp)
{
	struct mroce_sq *sq = &qp->sq;

	lockdep_assert_held(&qp->lock);
	/* not before nobody copies into a READ's buffers any more: the flush comes by here */
	if (qp->state == IB_QPS_ERR && !qp->quiet)
		return;
	while (sq->done != sq->fetched) {
		struct mroce_send s = *mroce_sq_send(sq, sq->done);

		if (!s.complete)
			break;
		if (s.invalidates && s.status == IB_WC_SUCCESS)
			read_inv(qp, &s);
		mroce_sq_release(qp);
		if (s.status != IB_WC_SUCCESS) {
			mroce_sq_cqe(qp, &s, s.status, s.reason);
			mroce_sq_error_locked(qp, s.reason);
			return;
		}
		if (s.flags & MROCE_WQE_SIGNALED)
			mroce_sq_cqe(qp, &s, IB_WC_SUCCESS, MROCE_REASON_NONE);
	}
	if (qp->state == IB_QPS_SQD && !qp->sqd_told && sq->done == sq->fetched) {
		qp->sqd_told = true;
		if (qp->attr.en_sqd_async_notify)
			mroce_qp_raise(qp, MROCE_QPE_DRAINED);
	}
}

static u8 status_of(enum mroce_reason reason, u8 nack)
{
	switch (nack) {
	case MROCE_N_NONE:
		break;
	case MROCE_N_RNR:
		return IB_WC_RNR_RETRY_EXC_ERR;
	case MROCE_N_ACCESS:
		return IB_WC_REM_ACCESS_ERR;
	case MROCE_N_LENGTH:
		return IB_WC_REM_INV_REQ_ERR;
	case MROCE_N_OPERATION:
		return IB_WC_REM_OP_ERR;
	default:
		return IB_WC_RETRY_EXC_ERR;
	}
	switch (reason) {
	case MROCE_REASON_ERR_RNR_RETRY:
		return IB_WC_RNR_RETRY_EXC_ERR;
	case MROCE_REASON_ERR_RETRY:
	case MROCE_REASON_ERR_PEER_RESET:
	case MROCE_REASON_ERR_REFUSED:
	case MROCE_REASON_NAK_GONE:
		return IB_WC_RETRY_EXC_ERR;
	case MROCE_REASON_NAK_ACCESS:
	case MROCE_REASON_ERR_LOCAL_KEY:
		return IB_WC_LOC_PROT_ERR;
	case MROCE_REASON_ERR_LOCAL_LENGTH:
		return IB_WC_LOC_LEN_ERR;
	case MROCE_REASON_ERR_LOCAL_OP:
		return IB_WC_LOC_QP_OP_ERR;
	case MROCE_REASON_ERR_FLUSHED:
	case MROCE_REASON_RX_STATE:
		return IB_WC_WR_FLUSH_ERR;
	default:
		return IB_WC_GENERAL_ERR;
	}
}

static enum mroce_reason reason_of(enum mroce_reason reason, u8 nack)
{
	static const u16 nacks[MROCE_N_MAX] = {
		[MROCE_N_RNR] = MROCE_REASON_NAK_RNR,
		[MROCE_N_ACCESS] = MROCE_REASON_NAK_ACCESS,
		[MROCE_N_LENGTH] = MROCE_REASON_NAK_LENGTH,
		[MROCE_N_GONE] = MROCE_REASON_NAK_GONE,
		[MROCE_N_OPERATION] = MROCE_REASON_NAK_OPERATION,
	};

	return nack < MROCE_N_MAX && nacks[nack] ? nacks[nack] : reason;
}

/*
 * The engine has given up: the request at the head is at fault, or none if all are complete. It
 * completes when what comes in is no longer copied into its buffers, which are its owner's then.
 */
static void fail_head(struct mroce_qp *qp, enum mroce_reason reason, u8 nack)
{
	struct mroce_sq *sq = &qp->sq;

	if (sq->done != sq->fetched) {
		struct mroce_send *s = mroce_sq_send(sq, sq->done);

		s->complete = true;
		s->status = status_of(reason, nack);
		s->reason = reason_of(reason, nack);
	} else {
		mroce_qp_raise(qp, MROCE_QPE_FATAL);
	}
	mroce_qp_error_locked(qp, reason_of(reason, nack));
}

/*
 * A peer that is gone says so at once, but programs are used to a peer that falls silent: one that
 * exits with messages to it under way does not expect to see them fail first. So they fail when
 * silence would have made them fail, or a little earlier.
 */
static void fail_later(struct mroce_qp *qp)
{
	u64 wait = qp->req.timeout;

	if (!wait || wait > GONE_DELAY_MAX)
		wait = GONE_DELAY_MAX;
	queue_delayed_work(mroce_wq, &qp->gone, nsecs_to_jiffies(wait));
}

void mroce_qp_gone_work(struct work_struct *work)
{
	struct mroce_qp *qp = container_of(to_delayed_work(work), struct mroce_qp, gone);

	spin_lock_bh(&qp->lock);
	if (mroce_qp_receives(qp) && qp->peer_closed)
		fail_head(qp, MROCE_REASON_NAK_GONE, MROCE_N_GONE);
	spin_unlock_bh(&qp->lock);
}

static void progress_requests(struct mroce_qp *qp)
{
	struct mroce_txs *txs = &qp->req;
	enum mroce_reason reason;
	struct mroce_msg *m;
	bool failed;
	u8 nack;

	spin_lock(&qp->txh->lock);
	if (!txs->tx) {
		spin_unlock(&qp->txh->lock);
		return;
	}
	while ((m = mroce_txs_complete(txs)))
		mroce_sq_send(&qp->sq, m->wr)->complete = true;
	failed = mroce_txs_is_failed(txs);
	reason = txs->fail_reason;
	nack = txs->fail_nack;
	spin_unlock(&qp->txh->lock);

	mroce_sq_retire(qp);
	if (!failed || !mroce_qp_receives(qp))
		return;
	if (nack == MROCE_N_GONE) {
		qp->peer_closed = true;
		fail_later(qp);
	} else {
		fail_head(qp, reason, nack);
	}
}

static void progress_responses(struct mroce_qp *qp)
{
	struct mroce_txs *txs = &qp->resp;
	enum mroce_reason reason;
	bool failed;

	spin_lock(&qp->txh->lock);
	if (!txs->tx) {
		spin_unlock(&qp->txh->lock);
		return;
	}
	while (mroce_txs_complete(txs))
		;
	failed = mroce_txs_is_failed(txs);
	reason = reason_of(txs->fail_reason, txs->fail_nack);
	spin_unlock(&qp->txh->lock);

	/* what ended the whole half has ended requests, too, which have a status of their own */
	if (failed)
		progress_requests(qp);
	/* a requester that has gone does not want its answers, which is no fault of ours */
	if (failed && reason != MROCE_REASON_NAK_GONE && mroce_qp_receives(qp)) {
		mroce_qp_raise(qp, reason == MROCE_REASON_NAK_ACCESS ? MROCE_QPE_ACCESS
								     : MROCE_QPE_FATAL);
		mroce_qp_error_locked(qp, reason);
	}
}

void mroce_qp_progress(struct mroce_txs *txs)
{
	enum { BATCH = 64 };
	struct mroce_qp *qp = mroce_qp_of(txs);
	unsigned int more = 0;

	spin_lock_bh(&qp->lock);
	if (qp->txh) {
		if (txs->response)
			progress_responses(qp);
		else
			progress_requests(qp);
		if (qp->sq.waiting) {
			more = mroce_sq_advance(qp, BATCH);
			if (more && qp->txh)
				mroce_xmit_soon(qp->txh);
		}
	}
	spin_unlock_bh(&qp->lock);
	if (more == BATCH)
		mroce_qp_kick(qp, MROCE_DOORBELL_SQ);
	mroce_qp_put(qp);
}
