// SPDX-License-Identifier: GPL-2.0
/*
 * From the send ring to the engine: requests are read, checked, executed if they are local,
 * and posted as messages if they are not, in order. qp->lock is held; the half's lock
 * is taken once a batch. What is posted leaves after both were dropped.
 */
#include <linux/ktime.h>

#include "qp.h"

u32 mroce_sq_posted(struct mroce_qp *qp)
{
	struct mroce_sq *sq = &qp->sq;

	if (!qp->user)
		/* pairs with the release in post_send */
		return smp_load_acquire(&sq->posted);
	/* a program may claim what it likes: what is not complete keeps its slot */
	return sq->fetched + min(mroce_kring_filled(&sq->ring, sq->fetched),
				 sq->entries - (sq->fetched - sq->done));
}

/* False: the request must wait for those before it. */
static bool may_run(const struct mroce_sq *sq, const struct mroce_send *s)
{
	/*
	 * A key that dies under an earlier request would turn that one into an error: the copies
	 * of a message are made when it is sent, and made again when it is lost.
	 */
	if (s->opcode == MROCE_WQE_LOCAL_INV ||
	    (s->flags & MROCE_WQE_FENCE &&
	     (s->opcode == MROCE_SEND_REG_MR || s->opcode == MROCE_WQE_BIND_MW)))
		return sq->fetched == sq->done;
	return true;
}

void mroce_sq_run_local(struct mroce_qp *qp, struct mroce_send *s)
{
	enum mroce_reason reason;

	if (s->opcode == MROCE_SEND_REG_MR)
		reason = mroce_mr_fast_register(qp->dev, qp->ib->pd, s->reg_mr, s->reg_key,
						s->reg_access);
	else if (s->opcode == MROCE_WQE_BIND_MW)
		reason = mroce_mw_bind(qp->dev, qp->ib->pd, qp->ib->qp_num, &s->bind);
	else
		reason = mroce_mr_invalidate(qp->dev, qp->ib->pd, qp->ib->qp_num, s->imm, false);
	s->complete = true;
	if (reason) {
		s->status = s->opcode == MROCE_WQE_BIND_MW ? IB_WC_MW_BIND_ERR : IB_WC_LOC_PROT_ERR;
		s->reason = reason;
	}
}

/* @awaited: somebody waits for a completion, and so for the answer to what makes one. */
static void post(struct mroce_qp *qp, struct mroce_send *s, u32 index, bool awaited, u64 now)
{
	const struct mroce_post p = {
		.addr = s->remote_addr,
		.length = s->length,
		.rkey = s->rkey,
		.imm = s->imm,
		.wr = index,
		.opcode = s->opcode,
		.flags = s->flags & MROCE_WQE_SOLICITED ? MROCE_F_SOLICITED : 0,
		.fence = s->flags & MROCE_WQE_FENCE,
		.lazy = !awaited || !(s->flags & MROCE_WQE_SIGNALED),
	};
	struct mroce_msg *m;

	if (mroce_opinfo[s->opcode].answered)
		s->answer = qp->answers++;
	m = mroce_txs_post(&qp->req, &p, now);
	/*
	 * its ring has as many slots as ours: no room means a stream that is gone, and so an error
	 * to come
	 */
	if (m)
		s->msn = m->msn;
}

unsigned int mroce_sq_fetch(struct mroce_qp *qp, unsigned int budget)
{
	struct mroce_sq *sq = &qp->sq;
	u32 posted, first, i;
	bool wire = false, awaited;
	u64 now;

	lockdep_assert_held(&qp->lock);
	sq->waiting = false;
	if (qp->state != IB_QPS_RTS || sq->stopped)
		return 0;
	posted = mroce_sq_posted(qp);
	first = sq->fetched;
	while (sq->fetched != posted && sq->fetched - first < budget) {
		struct mroce_send *s = mroce_sq_send(sq, sq->fetched);
		bool good;

		if (qp->user)
			good = mroce_wqe_fetch(qp, mroce_kring_slot(&sq->ring, sq->fetched), s);
		else
			good = mroce_send_check(qp, s);
		if (good && !may_run(sq, s)) {
			sq->waiting = true;
			break;
		}
		if (sq->sig_all)
			s->flags |= MROCE_WQE_SIGNALED;
		sq->fetched++;
		if (good && !s->wire)
			mroce_sq_run_local(qp, s);
		wire |= s->wire;
		if (!good || s->status != IB_WC_SUCCESS) {
			sq->stopped = true;
			break;
		}
	}
	if (wire) {
		awaited = mroce_cq_awaited(qp->scq);
		now = ktime_get_ns();
		spin_lock(&qp->txh->lock);
		for (i = first; i != sq->fetched; i++)
			if (mroce_sq_send(sq, i)->wire)
				post(qp, mroce_sq_send(sq, i), i, awaited, now);
		spin_unlock(&qp->txh->lock);
	}
	return sq->fetched - first;
}

unsigned int mroce_sq_advance(struct mroce_qp *qp, unsigned int budget)
{
	struct mroce_sq *sq = &qp->sq;
	unsigned int n = 0;

	do {
		n += mroce_sq_fetch(qp, budget - n);
		mroce_sq_retire(qp);
	} while (sq->waiting && sq->fetched == sq->done && n < budget);
	return n;
}
