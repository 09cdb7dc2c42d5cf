// SPDX-License-Identifier: GPL-2.0
/*
 * The error state: it is entered from any context with interrupts on, and a work item then
 * waits until nothing touches the program's buffers, lets go of the connection and
 * completes what is queued as flushed, again for everything posted later. Asynchronous
 * events have a work item of their own: never from a call chain that may hold locks.
 */
#include <linux/delay.h>
#include <linux/ktime.h>

#include "qp.h"

#define FLUSH_WAIT_MAX (100 * MROCE_MSEC) /* for packets in flight */

/* ---- events ---- */

void mroce_qp_raise(struct mroce_qp *qp, enum mroce_qp_event event)
{
	set_bit(event, &qp->events);
	queue_work(mroce_wq, &qp->event);
}

void mroce_qp_event_work(struct work_struct *work)
{
	static const enum ib_event_type types[MROCE_QPE_MAX] = {
		[MROCE_QPE_FATAL] = IB_EVENT_QP_FATAL,
		[MROCE_QPE_ACCESS] = IB_EVENT_QP_ACCESS_ERR,
		[MROCE_QPE_REQUEST] = IB_EVENT_QP_REQ_ERR,
		[MROCE_QPE_EST] = IB_EVENT_COMM_EST,
		[MROCE_QPE_DRAINED] = IB_EVENT_SQ_DRAINED,
		[MROCE_QPE_LAST_WQE] = IB_EVENT_QP_LAST_WQE_REACHED,
	};
	struct mroce_qp *qp = container_of(work, struct mroce_qp, event);
	struct ib_event event = {.device = qp->ib->device, .element.qp = qp->ib};
	unsigned int i;

	for (i = 0; i < MROCE_QPE_MAX; i++) {
		if (!test_and_clear_bit(i, &qp->events) || !qp->ib->event_handler)
			continue;
		event.event = types[i];
		qp->ib->event_handler(&event, qp->ib->qp_context);
	}
}

/* ---- into the state ---- */

void mroce_qp_flush_soon(struct mroce_qp *qp)
{
	queue_work(mroce_wq, &qp->flush);
}

void mroce_qp_error_locked(struct mroce_qp *qp, enum mroce_reason reason)
{
	lockdep_assert_held(&qp->lock);
	if (qp->state == IB_QPS_RESET || qp->state == IB_QPS_ERR)
		return;
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	qp->error = reason;
	qp->quiet = false;
	if (qp->rxh) {
		spin_lock(&qp->rxh->lock);
		qp->rresp.dead = true;
		/* else it repeats its refusal, and takes nothing but that */
		if (!qp->by_responder)
			qp->rreq.dead = true;
		spin_unlock(&qp->rxh->lock);
	}
	mroce_qp_flush_soon(qp);
}

void mroce_qp_error(struct mroce_qp *qp, enum mroce_reason reason)
{
	spin_lock_bh(&qp->lock);
	mroce_qp_error_locked(qp, reason);
	spin_unlock_bh(&qp->lock);
}

void mroce_sq_error_locked(struct mroce_qp *qp, enum mroce_reason reason)
{
	lockdep_assert_held(&qp->lock);
	if (mroce_qp_is_rc(qp)) {
		mroce_qp_error_locked(qp, reason);
	} else if (qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD) {
		WRITE_ONCE(qp->state, IB_QPS_SQE);
		mroce_qp_flush_soon(qp);
	}
}

/* ---- out of the engine ---- */

static bool in_use(const struct mroce_rxs *rxs)
{
	return rxs->copiers || rxs->running || rxs->landing;
}

static void stop_receiving(struct mroce_qp *qp, struct mroce_rxhalf *h, bool requests)
{
	struct mroce_packet *p, *next;
	LIST_HEAD(held);

	spin_lock_bh(&h->lock);
	qp->rresp.dead = true;
	if (requests)
		qp->rreq.dead = true;
	while (in_use(&qp->rreq) || in_use(&qp->rresp)) {
		spin_unlock_bh(&h->lock);
		usleep_range(20, 100);
		spin_lock_bh(&h->lock);
	}
	qp->placed = qp->rreq.base;
	mroce_rxs_detach(&qp->rresp, ktime_get_ns(), &held);
	if (requests)
		mroce_rxs_detach(&qp->rreq, ktime_get_ns(), &held);
	spin_unlock_bh(&h->lock);

	list_for_each_entry_safe(p, next, &held, held.node)
		mroce_packet_free(qp->dev, p);
}

/* Nothing new of it is transmitted from here on; what is being built may be. */
static void stop_sending(struct mroce_qp *qp, struct mroce_txs *txs)
{
	struct mroce_txhalf *h = qp->txh;
	struct mroce_msg *m;

	spin_lock_bh(&qp->lock);
	spin_lock(&h->lock);
	if (txs->tx) {
		/* what the peer has acknowledged is complete, whatever happened since */
		while ((m = mroce_txs_complete(txs)))
			if (!txs->response)
				mroce_sq_send(&qp->sq, m->wr)->complete = true;
		mroce_txs_fail(txs, txs->msn_una, MROCE_REASON_ERR_FLUSHED, MROCE_N_NONE);
		while (txs->busy) {
			spin_unlock(&h->lock);
			spin_unlock_bh(&qp->lock);
			usleep_range(20, 100);
			spin_lock_bh(&qp->lock);
			spin_lock(&h->lock);
		}
	}
	spin_unlock(&h->lock);
	spin_unlock_bh(&qp->lock);
}

/*
 * Pages of a stopped stream are on their way for as long as it has packets that are neither
 * acknowledged nor known to be lost, as in a queue of this host (rule 36). Their owner may use them
 * again when the flush is over, so it waits a little; never for a peer that does not answer.
 */
static void await_packets(struct mroce_qp *qp, const struct mroce_txs *txs, u64 give_up)
{
	struct mroce_txhalf *h = qp->txh;
	u64 until;

	do {
		spin_lock_bh(&h->lock);
		until = h->gone || READ_ONCE(qp->dev->gone) ? 0 : mroce_txs_awaited(txs);
		spin_unlock_bh(&h->lock);
		if (ktime_get_ns() >= min(until, give_up))
			return;
		usleep_range(50, 200);
	} while (true);
}

static void leave_half(struct mroce_qp *qp, struct mroce_txs *txs)
{
	spin_lock_bh(&qp->lock);
	spin_lock(&qp->txh->lock);
	mroce_txs_detach(txs);
	spin_unlock(&qp->txh->lock);
	spin_unlock_bh(&qp->lock);
}

static void finish_sending(struct mroce_qp *qp, bool responses)
{
	u64 give_up = ktime_get_ns() + FLUSH_WAIT_MAX;

	stop_sending(qp, &qp->req);
	if (responses)
		stop_sending(qp, &qp->resp);
	await_packets(qp, &qp->req, give_up);
	leave_half(qp, &qp->req);
	if (!responses)
		return;
	await_packets(qp, &qp->resp, give_up);
	leave_half(qp, &qp->resp);
}

/* Buffers of the SRQ that were bound and never completed, newest first. */
static void give_back(struct mroce_qp *qp)
{
	struct mroce_bound *b = &qp->bound;

	spin_lock_bh(&b->lock);
	while (b->next != b->done)
		mroce_srq_give(qp->srq, b->recvs + (--b->next & (MROCE_SRQ_AHEAD - 1)) * b->size);
	spin_unlock_bh(&b->lock);
}

/* Datagrams are built from their requests outside of the lock. */
void mroce_qp_await_builders(struct mroce_qp *qp)
{
	spin_lock_bh(&qp->lock);
	while (qp->sq.building) {
		spin_unlock_bh(&qp->lock);
		usleep_range(20, 100);
		spin_lock_bh(&qp->lock);
	}
	spin_unlock_bh(&qp->lock);
}

void mroce_qp_quiesce(struct mroce_qp *qp, bool all)
{
	/* the state forbids that it be set now */
	struct mroce_rxhalf *h = qp->rxh;
	bool requests = all || !qp->by_responder;

	lockdep_assert_held(mroce_qp_mutex(qp));
	mroce_qp_await_builders(qp);
	if (mroce_qp_is_uc(qp))
		mroce_uc_disconnect(qp);
	if (!qp->txh)
		return;
	if (h)
		stop_receiving(qp, h, requests);
	finish_sending(qp, requests);
	if (mroce_qp_binds(qp))
		mroce_qp_srq_unwait(qp, NULL);
	if (qp->srq)
		give_back(qp);
	if (qp->xrcd)
		mroce_xrc_give_back(qp);
	if (h && requests) {
		spin_lock_bh(&qp->lock);
		qp->rxh = NULL;
		spin_unlock_bh(&qp->lock);
		mroce_rxhalf_put(h);
	}
}

/* ---- flushing ---- */

static bool flush_sends(struct mroce_qp *qp, unsigned int budget)
{
	struct mroce_sq *sq = &qp->sq;
	bool more;
	u32 posted;

	spin_lock_bh(&qp->lock);
	mroce_sq_retire(qp);
	posted = mroce_sq_posted(qp);
	while (sq->done != posted && budget--) {
		struct mroce_send s;

		if (sq->done == sq->fetched) {
			if (qp->user)
				mroce_wqe_fetch(qp, mroce_kring_slot(&sq->ring, sq->fetched),
						mroce_sq_send(sq, sq->fetched));
			sq->fetched++;
		}
		s = *mroce_sq_send(sq, sq->done);
		mroce_sq_release(qp);
		s.length = 0;
		mroce_sq_cqe(qp, &s, IB_WC_WR_FLUSH_ERR, MROCE_REASON_ERR_FLUSHED);
	}
	more = sq->done != posted;
	spin_unlock_bh(&qp->lock);
	return more;
}

static bool flush_recvs(struct mroce_qp *qp, unsigned int budget)
{
	struct mroce_rq *rq = &qp->rq;
	const struct mroce_cqe cqe = {.status = IB_WC_WR_FLUSH_ERR,
				      .opcode = IB_WC_RECV,
				      .vendor_err = MROCE_REASON_ERR_FLUSHED};
	struct mroce_recv *recv;
	u32 rsn;

	while (budget--) {
		u64 wr_id;

		rsn = READ_ONCE(rq->done);
		recv = mroce_rq_recv(rq, rsn);
		if (!recv) {
			/* what is posted from now on comes with a doorbell */
			if (mroce_rq_want_doorbell(rq, rsn))
				continue;
			return false;
		}
		wr_id = recv->wr_id;
		mroce_rq_advance(rq, rsn + 1);
		mroce_rq_cqe(qp, wr_id, &cqe, true);
	}
	return true;
}

void mroce_sq_recover(struct mroce_qp *qp)
{
	enum { BATCH = 64 };
	u32 left;

	lockdep_assert_held(mroce_qp_mutex(qp));
	mroce_qp_await_builders(qp);
	spin_lock_bh(&qp->lock);
	left = mroce_sq_posted(qp) - qp->sq.done;
	spin_unlock_bh(&qp->lock);
	/* what is posted later waits for the state to come */
	for (; left; left -= min_t(u32, left, BATCH)) {
		flush_sends(qp, min_t(u32, left, BATCH));
		cond_resched();
	}
	spin_lock_bh(&qp->lock);
	qp->sq.stopped = false;
	spin_unlock_bh(&qp->lock);
}

void mroce_qp_flush_work(struct work_struct *work)
{
	enum { BATCH = 64, ROUNDS = 256 };
	struct mroce_qp *qp = container_of(work, struct mroce_qp, flush);
	unsigned int rounds = 0;
	enum ib_qp_state state;
	bool more;

	mutex_lock(mroce_qp_mutex(qp));
	/* whoever changes it to ERR meanwhile starts this again */
	state = READ_ONCE(qp->state);
	if (state != IB_QPS_ERR && state != IB_QPS_SQE)
		goto unlock;
	if (state == IB_QPS_SQE) {
		mroce_qp_await_builders(qp);
	} else if (!qp->quiet) {
		mroce_qp_quiesce(qp, false);
		/* a refusal says more than that the peer is gone: let it arrive */
		if (!qp->by_responder)
			mroce_qp_say_close(qp);
		qp->quiet = true;
		if (qp->srq)
			mroce_qp_raise(qp, MROCE_QPE_LAST_WQE);
	}
	do {
		more = flush_sends(qp, BATCH);
		if (mroce_qp_has_rq(qp) && state == IB_QPS_ERR) {
			/* datagrams are received under it */
			spin_lock_bh(&qp->ud_lock);
			more |= flush_recvs(qp, BATCH);
			spin_unlock_bh(&qp->ud_lock);
		}
		cond_resched();
	} while (more && ++rounds < ROUNDS);
	/* a program may post for as long as it likes; the mutex is for others too */
	if (more)
		mroce_qp_flush_soon(qp);
unlock:
	mutex_unlock(mroce_qp_mutex(qp));
}
