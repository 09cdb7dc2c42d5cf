// SPDX-License-Identifier: GPL-2.0
/*
 * What may change while a queue pair's send queue is drained (SQD): its address vector, its limits
 * of READs and atomics at both ends, its time-outs. The peer goes on asking meanwhile. Under the
 * mutex, in process context; the state may become ERR at any time.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <net/inet_ecn.h>
#include <rdma/ib_cache.h>

#include "qp.h"

#define MEET_WAIT	(2 * HZ) /* for the device at a new address to say which it is */

/* Which device is at the half's address, or 0. It is asked when the half is made. */
static u64 instance_at(struct mroce_txhalf *h)
{
	unsigned long until = jiffies + MEET_WAIT;
	u64 instance;
	bool wait;

	for (;;) {
		spin_lock_bh(&h->lock);
		instance = h->tx.state == MROCE_TX_OPEN ? h->tx.instance : 0;
		wait = !instance && !h->gone && h->tx.state != MROCE_TX_DEAD;
		spin_unlock_bh(&h->lock);
		if (!wait || time_after(jiffies, until) || fatal_signal_pending(current))
			return instance;
		usleep_range(200, 1000);
	}
}

/*
 * A stream belongs to a connection, and that to two devices, whatever their addresses: a new one
 * has to be of the same peer.
 */
static int meet(struct mroce_qp *qp, const struct in6_addr *saddr, const struct in6_addr *daddr)
{
	u64 there, peer = instance_at(qp->txh);
	struct mroce_txhalf *h;

	if (!peer)
		return -EHOSTUNREACH;
	h = mroce_txhalf_attach(qp->dev, saddr, daddr);
	if (IS_ERR(h))
		return PTR_ERR(h);
	there = instance_at(h);
	mroce_txhalf_detach(h);
	if (!there)
		return -EHOSTUNREACH;
	if (there == peer)
		return 0;
	ibdev_info_ratelimited(&qp->dev->ib, "QP 0x%x: its peer is not at %pI6c\n", qp->ib->qp_num,
			       daddr);
	return -EINVAL;
}

static int change_address(struct mroce_qp *qp, const struct ib_qp_attr *attr)
{
	struct in6_addr saddr, daddr;
	int ret;

	ret = mroce_qp_check_address(qp, attr, &saddr, &daddr);
	if (ret)
		return ret;
	if (mroce_qp_is_uc(qp)) {
		mroce_uc_route(qp, attr, &saddr, &daddr);
		return 0;
	}
	if (!ipv6_addr_equal(&saddr, &qp->saddr) || !ipv6_addr_equal(&daddr, &qp->daddr)) {
		ret = meet(qp, &saddr, &daddr);
		if (ret)
			return ret;
	}
	spin_lock_bh(&qp->lock);
	qp->saddr = saddr;
	qp->daddr = daddr;
	spin_lock(&qp->txh->lock);
	mroce_qp_route(qp, attr);
	spin_unlock(&qp->txh->lock);
	spin_unlock_bh(&qp->lock);
	return 0;
}

/* What the requests of this side obey; what is under way is not counted anew. */
static void change_requests(struct mroce_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct mroce_txs *req = &qp->req;

	spin_lock_bh(&qp->lock);
	spin_lock(&qp->txh->lock);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		req->reads_max = max_t(u8, attr->max_rd_atomic, 1);
	if (mask & (IB_QP_TIMEOUT | IB_QP_RETRY_CNT))
		req->timeout = mroce_qp_timeout(attr);
	if (mask & IB_QP_RNR_RETRY) {
		req->rnr_retry = attr->rnr_retry;
		req->rnr_left = attr->rnr_retry;
	}
	spin_unlock(&qp->txh->lock);
	spin_unlock_bh(&qp->lock);
}

int mroce_qp_change(struct mroce_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	int ret = 0;

	lockdep_assert_held(mroce_qp_mutex(qp));
	/* of a connection that its end has let go of there is nothing to change */
	if (mroce_qp_is_rc(qp) && !qp->txh)
		return -EINVAL;
	if (mask & IB_QP_AV)
		ret = change_address(qp, attr);
	if (!ret && mask & IB_QP_MAX_DEST_RD_ATOMIC)
		ret = mroce_responder_limit(qp, attr->max_dest_rd_atomic);
	if (!ret && mroce_qp_is_rc(qp))
		change_requests(qp, attr, mask);
	return ret;
}
