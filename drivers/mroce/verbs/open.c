// SPDX-License-Identifier: GPL-2.0
/*
 * How an RC queue pair and its peer's find each other: the sending half is attached and a
 * stream id drawn at RTR, OPEN is said from RTS on, the receiving half is known from the
 * peer's OPEN, or from the first response of a peer that never opens. Also
 * what the peer's CLOSE and CREDIT do. An attachment to a receiving half is made under qp->lock
 * in a state that receives; leaving these states comes before detaching.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <net/inet_ecn.h>

#include "qp.h"

#define LOG_PACKETS  12 /* windows (rule 5) */
#define LOG_MESSAGES 10
#define LOG_SRQ	     6

/* ---- RTR, RTS and the way back ---- */

int mroce_qp_check_address(struct mroce_qp *qp, const struct ib_qp_attr *attr,
			   struct in6_addr *saddr, struct in6_addr *daddr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&attr->ah_attr);
	struct ib_device *ib = qp->ib->device;

	if (!grh->sgid_attr) {
		ibdev_info_ratelimited(ib, "QP 0x%x: to RTR without a source GID (sgid_index %u)\n",
				       qp->ib->qp_num, grh->sgid_index);
		return -EINVAL;
	}
	memcpy(saddr, grh->sgid_attr->gid.raw, sizeof(*saddr));
	memcpy(daddr, grh->dgid.raw, sizeof(*daddr));
	if (ipv6_addr_any(daddr)) {
		ibdev_info_ratelimited(ib, "QP 0x%x: to RTR without a destination GID (dgid)\n",
				       qp->ib->qp_num);
		return -EINVAL;
	}
	if (mroce_addr_group(daddr)) {
		ibdev_info_ratelimited(ib, "QP 0x%x: destination GID %pI6c is a group\n",
				       qp->ib->qp_num, daddr);
		return -EINVAL;
	}
	if (mroce_addr_v4(saddr) != mroce_addr_v4(daddr)) {
		ibdev_info_ratelimited(ib, "QP 0x%x: GIDs %pI6c (own) and %pI6c of two families\n",
				       qp->ib->qp_num, saddr, daddr);
		return -EINVAL;
	}
	return 0;
}

void mroce_qp_route(struct mroce_qp *qp, const struct ib_qp_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&attr->ah_attr);

	qp->req.tclass = grh->traffic_class & ~INET_ECN_MASK;
	qp->req.hop_limit = grh->hop_limit;
	qp->resp.tclass = qp->req.tclass;
	qp->resp.hop_limit = qp->req.hop_limit;
}

u64 mroce_qp_timeout(const struct ib_qp_attr *attr)
{
	return attr->timeout ? (4096ULL << attr->timeout) * (attr->retry_cnt + 1) : 0;
}

static void init_streams(struct mroce_qp *qp, const struct ib_qp_attr *attr, u32 id)
{
	mroce_txs_init(&qp->req, false, id, qp->req_msg, qp->sq.entries);
	mroce_txs_init(&qp->resp, true, id, qp->responder ? qp->responder->msg : NULL,
		       qp->resp_mask + 1);
	mroce_qp_route(qp, attr);
	mroce_qp_tune_streams(qp);
	mroce_rxs_init(&qp->rreq, false, id, attr->rq_psn, LOG_PACKETS,
		       mroce_qp_binds(qp) ? LOG_SRQ : LOG_MESSAGES);
	mroce_rxs_init(&qp->rresp, true, id, 0, LOG_PACKETS, LOG_MESSAGES);
	qp->rreq.reads_max = max_t(u32, attr->max_dest_rd_atomic, 1);
	qp->rreq.rnr_timer = attr->min_rnr_timer;
	if (mroce_qp_has_rq(qp))
		qp->rreq.credit = mroce_rq_limit(&qp->rq);
	qp->req.floor = &qp->rresp.base;
	qp->answers = 0;
	qp->bound.next = 0;
	qp->bound.done = 0;
	qp->peer_closed = false;
	qp->placed = attr->rq_psn;
	qp->by_responder = false;
	qp->close_told = false;
	qp->established = false;
	qp->quiet = false;
	qp->rx_error.set = false;
}

int mroce_qp_connect(struct mroce_qp *qp, const struct ib_qp_attr *attr)
{
	struct mroce_dev *dev = qp->dev;
	struct in6_addr saddr, daddr;
	struct mroce_txhalf *h;
	bool dead;
	int ret;
	u32 id;

	ret = mroce_qp_check_address(qp, attr, &saddr, &daddr);
	if (ret)
		return ret;
	h = mroce_txhalf_attach(dev, &saddr, &daddr);
	if (IS_ERR(h)) {
		ibdev_info_ratelimited(&dev->ib, "QP 0x%x: no connection to %pI6c: error %ld\n",
				       qp->ib->qp_num, &daddr, PTR_ERR(h));
		return PTR_ERR(h);
	}
	ret = mroce_responder_prepare(qp, attr->max_dest_rd_atomic);
	if (ret)
		goto err_half;
	ret = xa_alloc_cyclic(&dev->stream_xa, &id, qp->handle, XA_LIMIT(1, U32_MAX),
			      &dev->stream_next, GFP_KERNEL);
	if (ret < 0)
		goto err_responder;

	spin_lock_bh(&qp->lock);
	init_streams(qp, attr, id);
	qp->stream = id;
	qp->saddr = saddr;
	qp->daddr = daddr;
	spin_lock(&h->lock);
	dead = h->gone || h->tx.state == MROCE_TX_DEAD;
	if (!dead) {
		mroce_txs_attach(&qp->resp, &h->tx, 0);
		qp->txh = h;
		qp->state = IB_QPS_RTR;
	}
	spin_unlock(&h->lock);
	spin_unlock_bh(&qp->lock);
	if (!dead)
		return 0;

	ret = -ECONNABORTED;
	mroce_qp_stream_erase(dev, id);
	qp->stream = 0;
err_responder:
	mroce_responder_free(qp);
err_half:
	mroce_txhalf_detach(h);
	return ret;
}

void mroce_qp_start(struct mroce_qp *qp)
{
	const struct ib_qp_attr *attr = &qp->attr;
	struct mroce_txs *req = &qp->req;
	struct mroce_txhalf *h = qp->txh;
	struct mroce_open open = {
		.own_qpn = qp->ib->qp_num,
		.peer_qpn = attr->dest_qp_num,
		.psn = attr->sq_psn,
		.stream = qp->stream,
		.log_packets = LOG_PACKETS,
		.log_messages = LOG_MESSAGES,
		.kind = mroce_qp_is_xrc(qp) ? MROCE_OPEN_XRC : MROCE_OPEN_RC,
	};

	spin_lock_bh(&qp->lock);
	if (qp->xrcd) {
		/* it only answers */
		if (qp->state == IB_QPS_RTR)
			qp->state = IB_QPS_RTS;
	} else if (qp->state == IB_QPS_RTR) {
		spin_lock(&h->lock);
		req->reads_max = max_t(u8, attr->max_rd_atomic, 1);
		req->rnr_retry = attr->rnr_retry;
		req->rnr_left = attr->rnr_retry;
		req->timeout = mroce_qp_timeout(attr);
		mroce_txs_attach(req, &h->tx, attr->sq_psn);
		mroce_txs_open(req, &open, ktime_get_ns());
		spin_unlock(&h->lock);
		qp->state = IB_QPS_RTS;
	}
	spin_unlock_bh(&qp->lock);
	mroce_xmit(h);
}

void mroce_qp_say_close(struct mroce_qp *qp)
{
	u32 peer = qp->resp.peer_id ? qp->resp.peer_id : qp->req.peer_id;
	struct mroce_txhalf *h = qp->txh;

	lockdep_assert_held(mroce_qp_mutex(qp));
	if (!h || !peer || qp->close_told)
		return;
	qp->close_told = true;
	spin_lock_bh(&h->lock);
	/* without room the peer finds out when its next packet is refused */
	mroce_tx_control(&h->tx, MROCE_C_CLOSE, peer, qp->placed);
	spin_unlock_bh(&h->lock);
	mroce_xmit(h);
}

/* The answer that says why the peer's queue pair fails is worth a round trip or two. */
static void await_refusal(struct mroce_qp *qp)
{
	unsigned long until = jiffies + msecs_to_jiffies(50);
	struct mroce_txhalf *h = qp->txh;
	bool told;

	do {
		spin_lock_bh(&h->lock);
		told = !qp->resp.tx || qp->resp.failed || qp->resp.msn_una == qp->resp.msn_end;
		spin_unlock_bh(&h->lock);
		if (told)
			return;
		usleep_range(500, 1000);
	} while (time_before(jiffies, until));
}

void mroce_qp_disconnect(struct mroce_qp *qp)
{
	struct mroce_txhalf *h;

	lockdep_assert_held(mroce_qp_mutex(qp));
	if (!qp->txh) {
		mroce_qp_quiesce(qp, true);
		return;
	}
	if (qp->by_responder)
		await_refusal(qp);
	mroce_qp_quiesce(qp, true);
	mroce_qp_say_close(qp);
	cancel_delayed_work_sync(&qp->gone);
	mroce_qp_stream_erase(qp->dev, qp->stream);
	spin_lock_bh(&qp->lock);
	h = qp->txh;
	qp->txh = NULL;
	qp->stream = 0;
	spin_unlock_bh(&qp->lock);
	mroce_txhalf_detach(h);
	mroce_responder_free(qp);
}

/* ---- the peer appears ---- */

static void attach(struct mroce_rxs *rxs, struct mroce_rxhalf *h, u32 peer_id)
{
	if (!rxs->rx && !rxs->dead)
		mroce_rxs_attach(rxs, &h->rx, peer_id);
}

/* qp->lock is held: the peer's instance if it is known, and its stream id */
static u64 peer_of(struct mroce_qp *qp, u32 *peer_id)
{
	struct mroce_txhalf *h = qp->txh;
	u64 instance;

	spin_lock(&h->lock);
	instance = h->tx.state == MROCE_TX_OPEN ? h->tx.instance : 0;
	*peer_id = qp->req.peer_id;
	spin_unlock(&h->lock);
	return instance;
}

/*
 * Is the half's sender at the address that the application gave? By another address it is
 * the peer if its instance is known to be there: whoever has talked to the peer knows the number.
 */
static bool at_peer(struct mroce_qp *qp, const struct mroce_rxhalf *h, u64 instance)
{
	lockdep_assert_held(&qp->lock);
	return ipv6_addr_equal(&h->saddr, &qp->daddr) ||
	       (instance && instance == h->rx.instance &&
		mroce_peer_at(qp->dev, &h->daddr, &h->saddr, instance));
}

bool mroce_qp_on_half(struct mroce_qp *qp, struct mroce_rxhalf *h)
{
	bool same, good;
	u64 instance;
	u32 peer_id;

	spin_lock_bh(&qp->lock);
	same = qp->rxh == h;
	if (!qp->rxh && mroce_qp_receives(qp)) {
		instance = peer_of(qp, &peer_id);
		good = peer_id && instance && instance == h->rx.instance &&
		       at_peer(qp, h, instance);
		spin_lock(&h->lock);
		if (good && !h->gone) {
			attach(&qp->rresp, h, peer_id);
			qp->rxh = mroce_rxhalf_hold(h);
			same = true;
		}
		spin_unlock(&h->lock);
	}
	spin_unlock_bh(&qp->lock);
	return same;
}

static bool accept(struct mroce_qp *qp, struct mroce_rxhalf *h, const struct mroce_open *open)
{
	u64 instance;
	u32 peer_id;
	bool good;

	if (!mroce_qp_receives(qp) || qp->attr.dest_qp_num != open->own_qpn || !open->stream)
		return false;
	if (qp->attr.rq_psn != open->psn) {
		mroce_drop(qp->dev, MROCE_REASON_NAK_NOT_READY);
		return false;
	}
	if (qp->rxh && qp->rxh != h)
		return false;
	instance = peer_of(qp, &peer_id);
	if (!at_peer(qp, h, instance))
		return false;
	spin_lock(&h->lock);
	good = !h->gone &&
	       (!qp->rreq.rx || qp->rreq.peer_id == open->stream) &&
	       (!qp->rresp.rx || qp->rresp.peer_id == open->stream);
	if (good) {
		attach(&qp->rreq, h, open->stream);
		attach(&qp->rresp, h, open->stream);
		if (!qp->rxh)
			qp->rxh = mroce_rxhalf_hold(h);
	}
	spin_unlock(&h->lock);
	if (!good)
		return false;

	spin_lock(&qp->txh->lock);
	mroce_txs_opened(&qp->resp, open->stream, open->log_packets, open->log_messages);
	spin_unlock(&qp->txh->lock);
	return true;
}

void mroce_qp_opened(struct mroce_dev *dev, struct mroce_rxhalf *h, const struct mroce_open *open,
		     struct mroce_open *reply)
{
	struct mroce_qp *qp = mroce_qp_by_qpn(dev, open->peer_qpn);
	u32 credit = MROCE_CREDIT_NONE;

	reply->own_qpn = open->peer_qpn;
	reply->peer_qpn = open->own_qpn;
	reply->to = open->stream;
	reply->attempt = open->attempt;
	reply->status = MROCE_OPEN_NOT_READY;
	if (!qp)
		return;
	if (!mroce_qp_is_rc(qp)) {
		mroce_drop(dev, MROCE_REASON_NAK_NOT_READY);
		goto put;
	}
	/* an initiator is never opened */
	if (qp->ib->qp_type == IB_QPT_XRC_INI ||
	    open->kind != (qp->xrcd ? MROCE_OPEN_XRC : MROCE_OPEN_RC)) {
		reply->status = MROCE_OPEN_REFUSED;
		goto put;
	}
	if (mroce_qp_has_rq(qp))
		credit = mroce_rq_limit(&qp->rq);
	spin_lock_bh(&qp->lock);
	if (accept(qp, h, open)) {
		reply->status = MROCE_OPEN_ACCEPT;
		reply->stream = qp->stream;
		reply->log_packets = LOG_PACKETS;
		reply->log_messages = mroce_qp_binds(qp) ? LOG_SRQ : LOG_MESSAGES;
		/* none at all would leave a READ waiting for ever: let it come and be refused */
		reply->reads = max_t(u8, qp->attr.max_dest_rd_atomic, 1);
		reply->credit = credit;
		if (mroce_qp_has_rq(qp)) {
			spin_lock(&h->lock);
			mroce_rxs_credit(&qp->rreq, credit);
			spin_unlock(&h->lock);
		}
	}
	spin_unlock_bh(&qp->lock);
put:
	mroce_qp_put(qp);
}

void mroce_qp_open_reply(struct mroce_dev *dev, struct mroce_txhalf *h,
			 const struct mroce_open *reply)
{
	struct mroce_qp *qp = mroce_qp_by_stream(dev, reply->to);
	bool opened = false, refused = false;

	if (!qp)
		return;
	spin_lock_bh(&h->lock);
	if (qp->req.tx == &h->tx && qp->req.state == MROCE_TXS_OPENING) {
		mroce_txs_open_reply(&qp->req, reply, ktime_get_ns());
		opened = qp->req.state == MROCE_TXS_OPEN;
		refused = qp->req.state == MROCE_TXS_FAILED;
	}
	spin_unlock_bh(&h->lock);
	if (opened)
		mroce_count(dev, MROCE_CNT_STREAMS_OPENED, 1);
	if (refused)
		mroce_drop(dev, MROCE_REASON_ERR_REFUSED);
	mroce_qp_put(qp);
}

/* ---- what the peer says later ---- */

static void closed(struct mroce_qp *qp, struct mroce_txhalf *h, u32 placed)
{
	spin_lock_bh(&h->lock);
	if (qp->req.tx == &h->tx)
		mroce_txs_closed(&qp->req, placed, ktime_get_ns());
	spin_unlock_bh(&h->lock);
	mroce_txhalf_settle(h);
}

static void credited(struct mroce_qp *qp, struct mroce_txhalf *h, u32 credit)
{
	spin_lock_bh(&h->lock);
	if (qp->req.tx == &h->tx)
		mroce_txs_credit(&qp->req, credit, ktime_get_ns());
	spin_unlock_bh(&h->lock);
	mroce_xmit(h);
}

void mroce_qp_control(struct mroce_dev *dev, struct mroce_rxhalf *from,
		      const struct mroce_control *c)
{
	struct mroce_qp *qp = mroce_qp_by_stream(dev, c->stream);
	struct mroce_txhalf *h = NULL;

	if (!qp)
		return;
	if (mroce_qp_on_half(qp, from)) {
		spin_lock_bh(&qp->lock);
		if (qp->txh)
			h = mroce_txhalf_hold(qp->txh);
		spin_unlock_bh(&qp->lock);
	}
	if (h) {
		if (c->op == MROCE_C_CLOSE)
			closed(qp, h, c->value);
		else if (c->op == MROCE_C_CREDIT)
			credited(qp, h, c->value);
		mroce_txhalf_put(h);
	}
	mroce_qp_put(qp);
}

/* ---- credit ---- */

static struct mroce_txhalf *tell_credit(struct mroce_qp *qp, bool wanted, u32 credit)
{
	struct mroce_txhalf *h = qp->txh;

	lockdep_assert_held(&qp->lock);
	if (!wanted || !h || !qp->resp.peer_id)
		return NULL;
	spin_lock(&h->lock);
	/* without room the sender's timer does it */
	mroce_tx_control(&h->tx, MROCE_C_CREDIT, qp->resp.peer_id, credit);
	spin_unlock(&h->lock);
	return mroce_txhalf_hold(h);
}

void mroce_qp_credit(struct mroce_qp *qp)
{
	struct mroce_txhalf *h = NULL;
	bool wanted = false;
	u32 credit;

	if (!mroce_qp_is_rc(qp) || !mroce_qp_has_rq(qp))
		return;
	credit = mroce_rq_limit(&qp->rq);
	spin_lock_bh(&qp->lock);
	if (mroce_qp_receives(qp) && qp->rxh) {
		spin_lock(&qp->rxh->lock);
		wanted = mroce_rxs_credit(&qp->rreq, credit);
		spin_unlock(&qp->rxh->lock);
		h = tell_credit(qp, wanted, credit);
	}
	spin_unlock_bh(&qp->lock);
	if (h) {
		mroce_xmit_soon(h);
		mroce_txhalf_put(h);
	}
}

/* qp->lock is held: @qp waits no longer. What was held for that is the caller's. */
static struct mroce_srq *stop_waiting(struct mroce_qp *qp, bool *listed)
{
	struct mroce_srq *srq = qp->waits_on;
	unsigned long flags;

	lockdep_assert_held(&qp->lock);
	*listed = false;
	if (!srq)
		return NULL;
	spin_lock_irqsave(&srq->waiters_lock, flags);
	*listed = !list_empty(&qp->waiter.node);
	list_del_init(&qp->waiter.node);
	spin_unlock_irqrestore(&srq->waiters_lock, flags);
	qp->waits_on = NULL;
	return srq;
}

static void waited(struct mroce_qp *qp, struct mroce_srq *srq, bool listed)
{
	if (srq)
		mroce_srq_put(srq);
	if (listed)
		mroce_qp_put(qp);
}

/*
 * With a reference while it waits, and one to what it waits for; leaving the states that receive
 * comes before the last unwait.
 */
void mroce_qp_srq_wait(struct mroce_qp *qp, struct mroce_srq *srq)
{
	struct mroce_srq *other = NULL;
	bool listed = false;
	unsigned long flags;

	spin_lock_bh(&qp->lock);
	/* XRC: the message that is in the way is of another than the one before */
	if (qp->waits_on != srq)
		other = stop_waiting(qp, &listed);
	/* under the lock that who waits is taken from an SRQ with that goes */
	if (mroce_qp_receives(qp) && !READ_ONCE(srq->gone)) {
		if (!qp->waits_on)
			qp->waits_on = mroce_srq_hold(srq);
		spin_lock_irqsave(&srq->waiters_lock, flags);
		if (list_empty(&qp->waiter.node)) {
			mroce_qp_hold(qp);
			list_add_tail(&qp->waiter.node, &srq->waiters);
		}
		spin_unlock_irqrestore(&srq->waiters_lock, flags);
	}
	spin_unlock_bh(&qp->lock);
	waited(qp, other, listed);

	mroce_rq_ask_doorbell(&srq->rq);
	/* posted before the flag was there to be seen: nobody else will tell */
	if (mroce_srq_avail(srq))
		queue_work(mroce_wq, &srq->wake_work);
}

void mroce_qp_srq_unwait(struct mroce_qp *qp, const struct mroce_srq *srq)
{
	struct mroce_srq *held = NULL;
	bool listed = false;

	/* under the lock that whoever begins to wait has looked under whether it goes */
	spin_lock_bh(&qp->lock);
	if (!srq || qp->waits_on == srq)
		held = stop_waiting(qp, &listed);
	spin_unlock_bh(&qp->lock);
	waited(qp, held, listed);
}

/* One that was taken from the list; it may wait again by now. */
static void wake(struct mroce_srq *srq, struct mroce_qp *qp)
{
	struct mroce_srq *held = NULL;
	struct mroce_txhalf *h;
	bool listed = false;

	spin_lock_bh(&qp->lock);
	if (qp->waits_on == srq && list_empty(&qp->waiter.node))
		held = stop_waiting(qp, &listed);
	h = tell_credit(qp, mroce_qp_receives(qp), 0);
	spin_unlock_bh(&qp->lock);
	waited(qp, held, listed);
	if (h) {
		mroce_xmit_soon(h);
		mroce_txhalf_put(h);
	}
	mroce_qp_put(qp);
}

void mroce_srq_wake(struct mroce_srq *srq)
{
	u32 n = mroce_srq_avail(srq);
	struct mroce_srq_waiter *w;

	/* as many as there are buffers: the others would only be refused again */
	while (n-- && (w = mroce_srq_next_waiter(srq)))
		wake(srq, container_of(w, struct mroce_qp, waiter));
}
