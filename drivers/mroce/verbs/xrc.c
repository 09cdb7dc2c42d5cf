// SPDX-License-Identifier: GPL-2.0
/*
 * XRC: a target queue pair has no queues of its own. Each message to it names the SRQ that its
 * buffer comes from, one of the target's domain; the SRQ has the completion queue, and the
 * protection domain of the buffer. Of keys, those of every domain count that has an SRQ there: an
 * initiator may name any of them.
 *
 * Buffers are bound in the order of receive numbers: of a message that comes before an earlier
 * one it is not known what that will take (rule 10). It comes again when the hole is filled.
 */
#include "objects.h"
#include "qp.h"

/* ---- domains ---- */

int mroce_alloc_xrcd(struct ib_xrcd *ib, struct ib_udata *udata)
{
	struct mroce_xrcd *xrcd = to_mxrcd(ib);

	if (!mroce_take(&to_mdev(ib->device)->xrcds, MROCE_MAX_XRCD))
		return -ENOMEM;
	xa_init_flags(&xrcd->pds, XA_FLAGS_ACCOUNT);
	mutex_init(&xrcd->mutex);
	return 0;
}

int mroce_dealloc_xrcd(struct ib_xrcd *ib, struct ib_udata *udata)
{
	struct mroce_xrcd *xrcd = to_mxrcd(ib);

	xa_destroy(&xrcd->pds);
	mutex_destroy(&xrcd->mutex);
	atomic_dec(&to_mdev(ib->device)->xrcds);
	return 0;
}

static unsigned long pd_count(struct mroce_xrcd *xrcd, const struct mroce_pd *pd)
{
	void *entry = xa_load(&xrcd->pds, pd->pdn);

	return entry ? xa_to_value(entry) : 0;
}

int mroce_xrcd_add(struct mroce_xrcd *xrcd, struct mroce_pd *pd)
{
	int err;

	mutex_lock(&xrcd->mutex);
	err = xa_err(xa_store(&xrcd->pds, pd->pdn, xa_mk_value(pd_count(xrcd, pd) + 1),
			      GFP_KERNEL));
	mutex_unlock(&xrcd->mutex);
	return err;
}

void mroce_xrcd_del(struct mroce_xrcd *xrcd, struct mroce_pd *pd)
{
	unsigned long n;

	mutex_lock(&xrcd->mutex);
	n = pd_count(xrcd, pd) - 1;
	/* in place of another value: nothing is allocated */
	if (n)
		xa_store(&xrcd->pds, pd->pdn, xa_mk_value(n), GFP_KERNEL);
	else
		xa_erase(&xrcd->pds, pd->pdn);
	mutex_unlock(&xrcd->mutex);
}

/* ---- on the wire ---- */

void mroce_xrc_name(struct mroce_xmit *x, u32 srqn)
{
	const struct mroce_opinfo *info = &mroce_opinfo[x->data.opcode];

	/* a Write has a key there, and does not say which responses have landed: others do */
	if (info->place)
		x->data.rkey = srqn;
	else if (info->receive)
		x->data.floor = srqn;
}

/* ---- buffers, by receive number ---- */

static u32 slot_of(u32 rsn)
{
	return rsn & (MROCE_SRQ_AHEAD - 1);
}

static struct mroce_recv *recv_of(struct mroce_bound *b, u32 rsn)
{
	return b->recvs + slot_of(rsn) * b->size;
}

static bool is_bound(const struct mroce_bound *b, u32 rsn)
{
	return rsn - b->done < b->next - b->done;
}

static u8 bind_next(struct mroce_qp *qp, u32 rsn, u32 srqn)
{
	struct mroce_bound *b = &qp->bound;
	struct mroce_srq *srq;
	u8 nack = MROCE_N_LENGTH;
	u32 ahead;

	lockdep_assert_held(&b->lock);
	if (rsn != b->next)
		return MROCE_N_HOLD;
	srq = mroce_srq_find(qp->dev, srqn);
	if (!srq)
		return nack;
	/* under the lock that mroce_xrc_leave() takes after it is set */
	if (srq->xrcd != qp->xrcd || READ_ONCE(srq->gone))
		goto put;
	/* what completed there would be lost */
	nack = MROCE_N_OPERATION;
	if (READ_ONCE(to_mcq(srq->ib.ext.cq)->overflow))
		goto put;
	ahead = clamp_t(u32, READ_ONCE(srq->rq.entries) / 8, 1, MROCE_SRQ_AHEAD);
	nack = MROCE_N_HOLD;
	if (b->next - b->done >= ahead)
		goto put;
	nack = MROCE_N_RNR;
	if (!mroce_srq_take(srq, recv_of(b, rsn)))
		goto put;
	b->from[slot_of(rsn)] = srq;
	b->next++;
	return MROCE_N_NONE;

put:
	mroce_srq_put(srq);
	return nack;
}

struct mroce_recv *mroce_xrc_bind(struct mroce_qp *qp, u32 rsn, u32 srqn, u8 *nack)
{
	struct mroce_bound *b = &qp->bound;
	struct mroce_recv *recv = NULL;

	spin_lock_bh(&b->lock);
	if (mroce_seq_diff(rsn, b->next) >= 0)
		*nack = bind_next(qp, rsn, srqn);
	else if (!is_bound(b, rsn) || b->from[slot_of(rsn)]->srqn != srqn)
		*nack = MROCE_N_LENGTH;
	if (!*nack)
		recv = recv_of(b, rsn);
	spin_unlock_bh(&b->lock);
	return recv;
}

struct ib_pd *mroce_xrc_pd(struct mroce_qp *qp, u32 rsn)
{
	struct mroce_bound *b = &qp->bound;
	struct ib_pd *pd = NULL;

	spin_lock_bh(&b->lock);
	if (is_bound(b, rsn))
		pd = b->from[slot_of(rsn)]->ib.pd;
	spin_unlock_bh(&b->lock);
	return pd;
}

bool mroce_xrc_complete(struct mroce_qp *qp, u32 rsn, const struct mroce_cqe *from, bool solicited)
{
	struct mroce_bound *b = &qp->bound;
	struct mroce_cqe cqe = *from;
	struct mroce_srq *srq = NULL;
	struct mroce_cq *cq;

	spin_lock_bh(&b->lock);
	if (rsn == b->done && is_bound(b, rsn)) {
		srq = b->from[slot_of(rsn)];
		cqe.wr_id = recv_of(b, rsn)->wr_id;
		b->done++;
	}
	spin_unlock_bh(&b->lock);
	if (!srq)
		return false;
	/* as long as the SRQ is there */
	cq = to_mcq(srq->ib.ext.cq);
	cqe.qpn = qp->ib->qp_num;
	mroce_qp_count_error(qp, cqe.vendor_err);
	mroce_cq_add(cq, &cqe, solicited);
	mroce_srq_put(srq);
	return true;
}

void mroce_xrc_give_back(struct mroce_qp *qp)
{
	struct mroce_bound *b = &qp->bound;

	spin_lock_bh(&b->lock);
	while (b->next != b->done) {
		struct mroce_srq *srq = b->from[slot_of(--b->next)];

		mroce_srq_give(srq, recv_of(b, b->next));
		mroce_srq_put(srq);
	}
	spin_unlock_bh(&b->lock);
}

/* ---- the SRQ ---- */

void mroce_xrc_wait(struct mroce_qp *qp, u32 srqn)
{
	struct mroce_srq *srq = mroce_srq_find(qp->dev, srqn);

	if (!srq)
		return;
	if (srq->xrcd == qp->xrcd)
		mroce_qp_srq_wait(qp, srq);
	mroce_srq_put(srq);
}

/* Has it bound a buffer of @srq, or of one with @cq? */
static bool uses(struct mroce_qp *qp, const struct mroce_srq *srq, const struct mroce_cq *cq)
{
	struct mroce_bound *b = &qp->bound;
	bool found = false;
	u32 rsn;

	spin_lock_bh(&b->lock);
	for (rsn = b->done; rsn != b->next; rsn++) {
		const struct mroce_srq *from = b->from[slot_of(rsn)];

		found |= from == srq || to_mcq(from->ib.ext.cq) == cq;
	}
	spin_unlock_bh(&b->lock);
	return found;
}

bool mroce_xrc_completes_to(struct mroce_qp *qp, const struct mroce_cq *cq)
{
	return uses(qp, NULL, cq);
}

void mroce_xrc_leave(struct mroce_qp *qp, struct mroce_srq *srq)
{
	if (qp->xrcd != srq->xrcd)
		return;
	mroce_qp_srq_unwait(qp, srq);
	if (!uses(qp, srq, NULL))
		return;
	/* a message is half in a buffer that goes: its end gives the buffer back */
	mroce_qp_error(qp, MROCE_REASON_ERR_FLUSHED);
	mroce_qp_raise(qp, MROCE_QPE_FATAL);
}
