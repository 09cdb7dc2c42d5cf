// SPDX-License-Identifier: GPL-2.0
/*
 * modify_qp and query_qp: the state table (the core's), what each attribute may be, and what the
 * transitions do. Process context, under its mutex; the state itself also under qp->lock.
 */
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "qp.h"

#define PSN_MASK 0xffffffU
#define QPN_MASK 0xffffffU
#define ACCESS_FLAGS                                                              \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
	 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND | IB_ACCESS_FLUSH_GLOBAL |   \
	 IB_ACCESS_FLUSH_PERSISTENT | IB_ACCESS_OPTIONAL)

/* one row an attribute: the range that it must be in */
static int bad(struct mroce_qp *qp, const char *what, u32 value, u32 most)
{
	ibdev_dbg(&qp->dev->ib, "QP 0x%x: %s is %u, must be at most %u\n", qp->ib->qp_num, what,
		  value, most);
	return -EINVAL;
}

static int check_attr(struct mroce_qp *qp, const struct ib_qp_attr *a, int mask)
{
	if (mask & IB_QP_CAP || mask & IB_QP_ALT_PATH || mask & IB_QP_RATE_LIMIT)
		return -EOPNOTSUPP;
	if (mask & IB_QP_PORT && a->port_num != 1)
		return bad(qp, "port_num", a->port_num, 1);
	if (mask & IB_QP_PKEY_INDEX && a->pkey_index)
		return bad(qp, "pkey_index", a->pkey_index, 0);
	if (mask & IB_QP_ACCESS_FLAGS && a->qp_access_flags & ~ACCESS_FLAGS)
		return bad(qp, "qp_access_flags", a->qp_access_flags, ACCESS_FLAGS);
	if (mask & IB_QP_PATH_MTU && (a->path_mtu < IB_MTU_256 || a->path_mtu > IB_MTU_4096))
		return bad(qp, "path_mtu", a->path_mtu, IB_MTU_4096);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC && a->max_rd_atomic > MROCE_MAX_RD_ATOMIC)
		return bad(qp, "max_rd_atomic", a->max_rd_atomic, MROCE_MAX_RD_ATOMIC);
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC && a->max_dest_rd_atomic > MROCE_MAX_RD_ATOMIC)
		return bad(qp, "max_dest_rd_atomic", a->max_dest_rd_atomic, MROCE_MAX_RD_ATOMIC);
	if (mask & IB_QP_MIN_RNR_TIMER && a->min_rnr_timer > 31)
		return bad(qp, "min_rnr_timer", a->min_rnr_timer, 31);
	if (mask & IB_QP_TIMEOUT && a->timeout > 31)
		return bad(qp, "timeout", a->timeout, 31);
	if (mask & IB_QP_RETRY_CNT && a->retry_cnt > 7)
		return bad(qp, "retry_cnt", a->retry_cnt, 7);
	if (mask & IB_QP_RNR_RETRY && a->rnr_retry > 7)
		return bad(qp, "rnr_retry", a->rnr_retry, 7);
	if (mask & IB_QP_DEST_QPN && (a->dest_qp_num & ~QPN_MASK))
		return bad(qp, "dest_qp_num", a->dest_qp_num, QPN_MASK);
	if (mask & IB_QP_PATH_MIG_STATE && a->path_mig_state != IB_MIG_MIGRATED)
		return -EOPNOTSUPP;
	return 0;
}

/* what is set survives in @to; pointers of the core's are not kept */
static void merge(struct ib_qp_attr *to, const struct ib_qp_attr *a, int mask)
{
	if (mask & IB_QP_PORT)
		to->port_num = a->port_num;
	if (mask & IB_QP_PKEY_INDEX)
		to->pkey_index = a->pkey_index;
	if (mask & IB_QP_ACCESS_FLAGS)
		to->qp_access_flags = a->qp_access_flags;
	if (mask & IB_QP_QKEY)
		to->qkey = a->qkey;
	if (mask & IB_QP_AV)
		to->ah_attr = a->ah_attr;
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = a->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = a->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = a->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = a->rnr_retry;
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = a->rq_psn & PSN_MASK;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = a->sq_psn & PSN_MASK;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = a->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = a->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = a->min_rnr_timer;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = a->dest_qp_num;
	if (mask & IB_QP_PATH_MIG_STATE)
		to->path_mig_state = a->path_mig_state;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		to->en_sqd_async_notify = a->en_sqd_async_notify;
}

/* @from: as it was found. An error state that was entered meanwhile is not left by that. */
static void set_state(struct mroce_qp *qp, enum ib_qp_state from, enum ib_qp_state state)
{
	spin_lock_bh(&qp->lock);
	if (state == IB_QPS_RESET ||
	    (qp->state != IB_QPS_ERR && (qp->state != IB_QPS_SQE || from == IB_QPS_SQE)))
		WRITE_ONCE(qp->state, state);
	if (state == IB_QPS_SQD) {
		qp->sqd_told = false;
		mroce_sq_retire(qp);
	}
	spin_unlock_bh(&qp->lock);
}

/* What is queued is discarded, and the queue pair is as it was created. */
static void reset(struct mroce_qp *qp)
{
	struct mroce_sq *sq = &qp->sq;
	u32 posted;

	set_state(qp, qp->state, IB_QPS_RESET);
	/* one that runs sees the state; what it still does is waited for */
	mroce_qp_disconnect(qp);
	/* so is a kernel user's post that has not seen it */
	spin_lock_irq(&sq->post_lock);
	spin_unlock_irq(&sq->post_lock);
	spin_lock_bh(&qp->ud_lock);
	spin_lock(&qp->lock);
	posted = mroce_sq_posted(qp);
	if (qp->user)
		posted = READ_ONCE(sq->ring.head->producer);
	while (sq->done != posted && !qp->user)
		mroce_sq_release(qp);
	sq->fetched = posted;
	sq->done = posted;
	if (qp->user)
		/* pairs with the provider's acquire */
		smp_store_release(&sq->ring.head->consumer, posted);
	sq->stopped = false;
	sq->waiting = false;
	qp->by_responder = false;
	qp->quiet = false;
	qp->error = MROCE_REASON_NONE;
	qp->attr = (struct ib_qp_attr){.cap = qp->attr.cap};
	mroce_qp_tune_default(qp);
	spin_unlock(&qp->lock);
	if (mroce_qp_has_rq(qp))
		mroce_rq_reset(&qp->rq);
	spin_unlock_bh(&qp->ud_lock);
}

static int transition(struct mroce_qp *qp, enum ib_qp_state from, enum ib_qp_state to,
		      const struct ib_qp_attr *attr)
{
	int ret;

	switch (to) {
	case IB_QPS_RESET:
		if (from != IB_QPS_RESET)
			reset(qp);
		return 0;
	case IB_QPS_ERR:
		if (from == IB_QPS_RESET)
			set_state(qp, from, IB_QPS_ERR);
		else
			mroce_qp_error(qp, MROCE_REASON_ERR_FLUSHED);
		return 0;
	case IB_QPS_RTR:
		ret = 0;
		if (mroce_qp_is_rc(qp))
			ret = mroce_qp_connect(qp, attr);
		else if (mroce_qp_is_uc(qp))
			ret = mroce_uc_connect(qp, attr);
		if (ret)
			return ret;
		break;
	default:
		break;
	}
	spin_lock_bh(&qp->lock);
	qp->attr = *attr;
	WRITE_ONCE(qp->rreq.rnr_timer, attr->min_rnr_timer);
	spin_unlock_bh(&qp->lock);
	if (to == IB_QPS_RTS && from == IB_QPS_SQE)
		mroce_sq_recover(qp);
	if (to == IB_QPS_RTS && from == IB_QPS_RTR && mroce_qp_is_uc(qp))
		mroce_uc_begin(qp, attr->sq_psn);
	if (to == IB_QPS_RTS && from == IB_QPS_RTR && mroce_qp_is_rc(qp))
		mroce_qp_start(qp);
	else if (to != from && (to != IB_QPS_RTR || !mroce_qp_is_rc(qp)))
		set_state(qp, from, to);
	/* requests that waited in the ring */
	if (to == IB_QPS_RTS && from != IB_QPS_RTS)
		mroce_qp_run(qp, MROCE_DOORBELL_SQ);
	return 0;
}

int mroce_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	enum ib_qp_state from, to;
	struct ib_qp_attr new;
	int ret;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	mutex_lock(mroce_qp_mutex(qp));
	from = READ_ONCE(qp->state);
	to = mask & IB_QP_STATE ? attr->qp_state : from;
	ret = -EINVAL;
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != from)
		goto unlock;
	/* the core sets it where a program names an address in SQD, and does not allow it of UC */
	if (from == IB_QPS_SQD && to == from && mask & IB_QP_AV && mroce_qp_is_uc(qp) &&
	    attr->port_num == 1)
		mask &= ~IB_QP_PORT;
	if (!ib_modify_qp_is_ok(from, to, ibqp->qp_type, mask)) {
		ibdev_dbg(ibqp->device,
			  "QP 0x%x: from state %d to %d with attributes 0x%x is not allowed\n",
			  ibqp->qp_num, from, to, mask);
		goto unlock;
	}
	ret = check_attr(qp, attr, mask);
	if (ret)
		goto unlock;
	new = qp->attr;
	merge(&new, attr, mask);
	if (from == IB_QPS_SQD && to == IB_QPS_SQD)
		ret = mroce_qp_change(qp, &new, mask);
	if (!ret)
		ret = transition(qp, from, to, &new);
unlock:
	mutex_unlock(mroce_qp_mutex(qp));
	return ret;
}

int mroce_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	struct mroce_ib_qp *core = container_of(ibqp, struct mroce_ib_qp, ib);
	struct mroce_qp *qp;

	mutex_lock(&core->mutex);
	qp = core->qp;
	if (!qp) {
		mutex_unlock(&core->mutex);
		return -EAGAIN;		/* a list of queue pairs leaves it out */
	}
	spin_lock_bh(&qp->lock);
	*attr = qp->attr;
	/* the core's, which was good for as long as modify_qp ran */
	attr->ah_attr.grh.sgid_attr = NULL;
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	attr->sq_draining = qp->state == IB_QPS_SQD && qp->sq.done != qp->sq.fetched;
	spin_unlock_bh(&qp->lock);

	*init = (struct ib_qp_init_attr){
		.event_handler = ibqp->event_handler,
		.qp_context = ibqp->qp_context,
		.send_cq = ibqp->send_cq,
		.recv_cq = ibqp->recv_cq,
		.srq = ibqp->srq,
		.cap = attr->cap,
		.sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.qp_type = ibqp->qp_type,
		.port_num = 1,
	};
	mutex_unlock(&core->mutex);
	return 0;
}
