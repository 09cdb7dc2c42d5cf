// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: creation with both queues, destruction, the device's tables of them, and
 * the doorbell. The tables hold handles, which outlive the queue pair by an RCU grace
 * period: a lookup under RCU takes a reference or fails, and destroy_qp waits for the
 * references, not for RCU.
 */
#include <linux/module.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "qp.h"
#include "found.h"
#include "objects.h"

#define UVERBS_MODULE_NAME mroce_qp
#include <rdma/uverbs_named_ioctl.h>

#define QPN_FIRST 16 /* the first ones are the specification's */
#define QPN_LAST  0xfffffe

static struct kmem_cache *qp_cache;
MROCE_DEFINE_FINDER(streams);

int mroce_qps_init(void)
{
	qp_cache = KMEM_CACHE(mroce_qp, 0);
	return qp_cache ? 0 : -ENOMEM;
}

void mroce_qps_exit(void)
{
	kmem_cache_destroy(qp_cache);
}

/* ---- references and lookups ---- */

void mroce_qp_hold(struct mroce_qp *qp)
{
	refcount_inc(&qp->handle->refs);
}

void mroce_qp_put(struct mroce_qp *qp)
{
	if (refcount_dec_and_test(&qp->handle->refs))
		complete(&qp->unused);
}

struct mroce_qp *mroce_qp_by_handle(struct mroce_qp_handle *handle)
{
	return refcount_inc_not_zero(&handle->refs) ? to_mqp(handle->ib) : NULL;
}

/* softirq, or under a half's lock */
struct mroce_qp *mroce_qp_by_stream(struct mroce_dev *dev, u32 id)
{
	struct mroce_qp_handle *handle = mroce_find(&streams, &dev->stream_xa, id);

	return handle ? mroce_qp_by_handle(handle) : NULL;
}

void mroce_qp_stream_erase(struct mroce_dev *dev, u32 id)
{
	xa_erase(&dev->stream_xa, id);
	mroce_found_erased(&streams);
}

struct mroce_qp *mroce_qp_by_qpn(struct mroce_dev *dev, u32 qpn)
{
	struct mroce_qp_handle *handle = xa_load(&dev->qp_xa, qpn);

	return handle ? mroce_qp_by_handle(handle) : NULL;
}

struct ib_qp *mroce_qp_of_completion(struct mroce_dev *dev, u32 qpn)
{
	struct mroce_qp_handle *handle;
	struct ib_qp *qp = NULL;

	rcu_read_lock();
	handle = xa_load(&dev->qp_xa, qpn);
	if (handle)
		qp = handle->ib;
	rcu_read_unlock();
	return qp;
}

void mroce_qp_pin(struct mroce_txs *txs)
{
	mroce_qp_hold(mroce_qp_of(txs));
}

void mroce_qp_unpin(struct mroce_txs *txs)
{
	mroce_qp_put(mroce_qp_of(txs));
}

struct mroce_txs *mroce_qp_find_txs(struct mroce_dev *dev, struct mroce_tx *tx, u32 own_id,
				    bool response)
{
	struct mroce_qp *qp = mroce_qp_by_stream(dev, own_id);
	struct mroce_txs *txs;

	if (!qp)
		return NULL;
	txs = response ? &qp->resp : &qp->req;
	/*
	 * attached to this half, it stays so (and the queue pair stays) while the half's lock is
	 * held
	 */
	if (txs->tx != tx)
		txs = NULL;
	mroce_qp_put(qp);
	return txs;
}

struct mroce_qp *mroce_qp_next(struct mroce_dev *dev, u32 *qpn)
{
	struct mroce_qp_handle *handle;
	unsigned long at = *qpn;
	struct mroce_qp *qp;

	do {
		rcu_read_lock();
		handle = xa_find(&dev->qp_xa, &at, QPN_LAST, XA_PRESENT);
		qp = handle ? mroce_qp_by_handle(handle) : NULL;
		rcu_read_unlock();
		*qpn = at++;
	} while (handle && !qp);
	return qp;
}

void mroce_qps_error(struct mroce_dev *dev, struct mroce_cq *cq, enum mroce_reason reason)
{
	struct mroce_qp *qp;
	u32 qpn = 0;

	for (; (qp = mroce_qp_next(dev, &qpn)); qpn++) {
		if (!cq || qp->scq == cq || qp->rcq == cq ||
		    (qp->xrcd && mroce_xrc_completes_to(qp, cq))) {
			mroce_qp_error(qp, reason);
			/* of the device's end the device tells, and no route outlives it */
			if (cq)
				mroce_qp_raise(qp, MROCE_QPE_FATAL);
			else
				mroce_flow_drop(&qp->uc.flow);
		}
		mroce_qp_put(qp);
		cond_resched();
	}
}

void mroce_qps_leave(struct mroce_dev *dev, struct mroce_srq *srq)
{
	struct mroce_qp *qp;
	u32 qpn = 0;

	for (; (qp = mroce_qp_next(dev, &qpn)); qpn++) {
		mroce_xrc_leave(qp, srq);
		mroce_qp_put(qp);
		cond_resched();
	}
}

/* ---- the doorbell ---- */

/* Whoever sets an error state later than we look here flushes what is there by then. */
static bool is_to_flush(struct mroce_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	return unlikely(qp->state == IB_QPS_ERR || qp->state == IB_QPS_SQE) &&
	       mroce_sq_posted(qp) != qp->sq.fetched;
}

void mroce_qp_run(struct mroce_qp *qp, unsigned int doorbells)
{
	enum { BATCH = 64 };
	struct mroce_txhalf *h;
	unsigned int n, runs = 0;
	bool flush = false;

	if (doorbells & MROCE_DOORBELL_RQ) {
		if (mroce_qp_has_rq(qp))
			mroce_rq_doorbell_seen(&qp->rq);
		if (READ_ONCE(qp->state) == IB_QPS_ERR)
			mroce_qp_flush_soon(qp);
		else
			mroce_qp_credit(qp);
	}
	if (!(doorbells & MROCE_DOORBELL_SQ))
		return;
	do {
		if (!mroce_qp_is_rc(qp)) {
			n = mroce_ud_run(qp, BATCH);
			spin_lock_bh(&qp->lock);
			flush = is_to_flush(qp);
			spin_unlock_bh(&qp->lock);
		} else {
			h = NULL;
			spin_lock_bh(&qp->lock);
			n = mroce_sq_advance(qp, BATCH);
			if (n && qp->txh)
				h = mroce_txhalf_hold(qp->txh);
			flush = is_to_flush(qp);
			spin_unlock_bh(&qp->lock);
			if (h) {
				mroce_xmit(h);
				mroce_txhalf_put(h);
			}
		}
		/* a tasklet gives way to other softirqs (rule 40) */
		if (n == BATCH && in_softirq() && ++runs == 4) {
			mroce_qp_kick(qp, MROCE_DOORBELL_SQ);
			return;
		}
		/* a program may post for as long as it likes */
		if (!in_softirq())
			cond_resched();
	} while (n == BATCH);
	if (flush)
		mroce_qp_flush_soon(qp);
}

static void run_tasklet(struct tasklet_struct *t)
{
	struct mroce_qp *qp = from_tasklet(qp, t, sq.run);

	mroce_qp_run(qp, xchg(&qp->sq.kicks, 0));
}

void mroce_qp_kick(struct mroce_qp *qp, unsigned int doorbells)
{
	unsigned long old = READ_ONCE(qp->sq.kicks);

	while (!try_cmpxchg(&qp->sq.kicks, &old, old | doorbells))
		;
	tasklet_schedule(&qp->sq.run);
}

static int UVERBS_HANDLER(MROCE_METHOD_QP_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, MROCE_ATTR_QP_DOORBELL_HANDLE);
	u32 doorbells;
	int ret;

	ret = uverbs_get_flags32(&doorbells, attrs, MROCE_ATTR_QP_DOORBELL_FLAGS,
				 MROCE_DOORBELL_SQ | MROCE_DOORBELL_RQ);
	if (ret)
		return ret;
	if (ibqp->real_qp)
		ibqp = ibqp->real_qp;
	mroce_qp_run(to_mqp(ibqp), doorbells);
	mroce_qp_poll_wake(to_mqp(ibqp));
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(MROCE_METHOD_QP_DOORBELL,
			    UVERBS_ATTR_IDR(MROCE_ATTR_QP_DOORBELL_HANDLE, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_FLAGS_IN(MROCE_ATTR_QP_DOORBELL_FLAGS, u32, UA_MANDATORY));

ADD_UVERBS_METHODS(mroce_qp_doorbell, UVERBS_OBJECT_QP, &UVERBS_METHOD(MROCE_METHOD_QP_DOORBELL));

const struct uapi_definition mroce_qp_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &mroce_qp_doorbell),
	{}
};

static int mroce_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			   const struct ib_recv_wr **bad)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	int ret;

	if (qp->user || !mroce_qp_has_rq(qp) || READ_ONCE(qp->state) == IB_QPS_RESET) {
		*bad = wr;
		return -EINVAL;
	}
	ret = mroce_rq_post(&qp->rq, wr, bad);
	if (mroce_rq_doorbell_wanted(&qp->rq) || READ_ONCE(qp->state) == IB_QPS_ERR)
		mroce_qp_kick(qp, MROCE_DOORBELL_RQ);
	return ret;
}

/* ---- creation ---- */

static int check_init(struct mroce_dev *dev, const struct ib_qp_init_attr *init, bool user)
{
	const struct ib_qp_cap *cap = &init->cap;

	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UD:
		break;
	case IB_QPT_UC:
		/* a message is cut in the caller, of any length: not for a tasklet */
		if (!user)
			return -EOPNOTSUPP;
		break;
	case IB_QPT_GSI:
		if (user)
			return -EPERM;
		break;
	case IB_QPT_XRC_INI:
		/* kernel users have no request that names an SRQ */
		if (!user)
			return -EOPNOTSUPP;
		break;
	case IB_QPT_XRC_TGT:
		/* the core's, whoever has asked for it */
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (init->create_flags || init->rwq_ind_tbl)
		return -EOPNOTSUPP;
	if (init->qp_type == IB_QPT_XRC_TGT)
		return init->xrcd ? 0 : -EINVAL;
	if (!init->send_cq || (!init->recv_cq && init->qp_type != IB_QPT_XRC_INI))
		return -EINVAL;
	if (cap->max_send_wr > MROCE_MAX_QP_WR || cap->max_send_sge > MROCE_MAX_SGE ||
	    cap->max_inline_data > MROCE_MAX_INLINE)
		return -EINVAL;
	if (!init->srq && (cap->max_recv_wr > MROCE_MAX_QP_WR || cap->max_recv_sge > MROCE_MAX_SGE))
		return -EINVAL;
	return 0;
}

static int create_sq(struct mroce_qp *qp, struct ib_ucontext *ucontext,
		     const struct ib_qp_init_attr *init, struct mroce_ring_info *info)
{
	struct mroce_sq *sq = &qp->sq;
	u32 data, stride;
	size_t size;
	int ret;

	sq->max_wr = max(init->cap.max_send_wr, 1U);
	sq->max_sge = init->cap.max_send_sge;
	sq->entries = roundup_pow_of_two(sq->max_wr);
	sq->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	data = max_t(u32, sq->max_sge * sizeof(struct mroce_sge), init->cap.max_inline_data);
	stride = ALIGN(sizeof(struct mroce_sq_wqe) + data, 64);
	/* the slots' room is there: programs that send a few bytes inline do not all ask for it */
	sq->max_inline = min_t(u32, stride - sizeof(struct mroce_sq_wqe), MROCE_MAX_INLINE);
	data = max(data, sq->max_inline);
	sq->send_size = ALIGN(sizeof(struct mroce_send) + data, 8);
	size = array_size(sq->entries, sq->send_size + sizeof(*qp->req_msg));
	/* by the page, not by the power of two; a short one is no page */
	if (size <= PAGE_SIZE / 2)
		sq->sends = kzalloc(size, GFP_KERNEL_ACCOUNT);
	else
		sq->sends = __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!sq->sends)
		return -ENOMEM;
	qp->req_msg = sq->sends + array_size(sq->entries, sq->send_size);
	if (!ucontext)
		return 0;
	ret = mroce_kring_alloc(&sq->ring, ucontext, sq->entries, stride, info);
	if (ret) {
		kvfree(sq->sends);
		sq->sends = NULL;
	}
	return ret;
}

static void free_sq(struct mroce_qp *qp)
{
	if (qp->user)
		mroce_kring_free(&qp->sq.ring);
	kvfree(qp->sq.sends);
}

static int create_rq(struct mroce_qp *qp, struct ib_ucontext *ucontext,
		     struct ib_qp_init_attr *init, struct mroce_ring_info *info)
{
	struct mroce_bound *b = &qp->bound;

	if (mroce_qp_has_rq(qp))
		return mroce_rq_alloc(&qp->rq, ucontext, max(init->cap.max_recv_wr, 1U),
				      init->cap.max_recv_sge, false, info);
	if (!mroce_qp_binds(qp))
		return 0;

	if (qp->xrcd) {
		b->from = kcalloc(MROCE_SRQ_AHEAD, sizeof(*b->from), GFP_KERNEL_ACCOUNT);
		b->size = ALIGN(struct_size_t(struct mroce_recv, sge, MROCE_MAX_SGE), 8);
		b->recvs = b->from ? kvcalloc(MROCE_SRQ_AHEAD, b->size, GFP_KERNEL_ACCOUNT) : NULL;
		if (!b->recvs)
			kfree(b->from);
		return b->recvs ? 0 : -ENOMEM;
	}
	b->size = ALIGN(struct_size_t(struct mroce_recv, sge, qp->srq->rq.max_sge), 8);
	b->ahead = clamp_t(u32, qp->srq->rq.entries / 8, 1, MROCE_SRQ_AHEAD);
	b->recvs = kvcalloc(MROCE_SRQ_AHEAD, b->size, GFP_KERNEL_ACCOUNT);
	return b->recvs ? 0 : -ENOMEM;
}

static void free_rq(struct mroce_qp *qp)
{
	if (mroce_qp_has_rq(qp)) {
		mroce_rq_free(&qp->rq);
	} else {
		kfree(qp->bound.from);
		kvfree(qp->bound.recvs);
	}
}

static int enter_tables(struct mroce_qp *qp)
{
	struct mroce_dev *dev = qp->dev;
	struct mroce_qp_handle *handle;
	u32 qpn;
	int ret;

	handle = kzalloc(sizeof(*handle), GFP_KERNEL_ACCOUNT);
	if (!handle)
		return -ENOMEM;
	refcount_set(&handle->refs, 1);
	handle->ib = qp->ib;
	qp->handle = handle;
	if (qp->ib->qp_type == IB_QPT_GSI) {
		qpn = MROCE_GSI_QPN;
		qp->ib->qp_num = qpn;
		ret = xa_insert(&dev->qp_xa, qpn, handle, GFP_KERNEL);
	} else {
		/* found by its number only once the number is set */
		ret = xa_alloc_cyclic(&dev->qp_xa, &qpn, NULL, XA_LIMIT(QPN_FIRST, QPN_LAST),
				      &dev->qpn_next, GFP_KERNEL);
		if (ret >= 0) {
			qp->ib->qp_num = qpn;
			ret = xa_err(xa_store(&dev->qp_xa, qpn, handle, GFP_KERNEL));
			if (ret)
				xa_erase(&dev->qp_xa, qpn);
		}
	}
	if (ret < 0) {
		kfree(handle);
		return ret;
	}
	return 0;
}

static void leave_tables(struct mroce_qp *qp)
{
	xa_erase(&qp->dev->qp_xa, qp->ib->qp_num);
	mroce_qp_put(qp);
	wait_for_completion(&qp->unused);
	kfree_rcu(qp->handle, rcu);
}

static int mroce_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mroce_dev *dev = to_mdev(ibqp->device);
	struct ib_ucontext *ucontext = udata ? mroce_udata_ucontext(udata) : NULL;
	struct mroce_create_qp_resp resp = {};
	struct mroce_ib_qp *core;
	struct mroce_qp *qp;
	int ret;

	ret = check_init(dev, init, udata);
	if (ret)
		return ret;
	if (init->qp_type == IB_QPT_XRC_TGT)
		init->cap = (struct ib_qp_cap){};
	if (!mroce_take(&dev->qps, MROCE_MAX_QP))
		return -ENOMEM;
	qp = kmem_cache_zalloc(qp_cache, GFP_KERNEL_ACCOUNT);
	if (!qp) {
		ret = -ENOMEM;
		goto err_count;
	}

	core = container_of(ibqp, struct mroce_ib_qp, ib);
	core->qp = qp;
	qp->ib = ibqp;
	qp->dev = dev;
	qp->user = udata;
	/* XRC: an initiator completes no receives, a target each to its SRQ's queue */
	qp->scq = init->send_cq ? to_mcq(init->send_cq) : NULL;
	qp->rcq = init->recv_cq ? to_mcq(init->recv_cq) : NULL;
	qp->xrcd = init->qp_type == IB_QPT_XRC_TGT ? to_mxrcd(init->xrcd) : NULL;
	qp->srq = init->srq ? to_msrq(init->srq) : NULL;
	qp->state = IB_QPS_RESET;
	mroce_qp_tune_default(qp);
	/* before any caller of ours looks at it; the core sets it too, in its own time */
	qp->ib->qp_type = init->qp_type;
	spin_lock_init(&qp->lock);
	spin_lock_init(&qp->ud_lock);
	spin_lock_init(&qp->bound.lock);
	spin_lock_init(&qp->sq.post_lock);
	mutex_init(&core->mutex);
	mroce_flow_init(&qp->uc.flow, &in6addr_any, &in6addr_any, 0, 0);
	init_completion(&qp->unused);
	init_waitqueue_head(&qp->poll_wait);
	INIT_WORK(&qp->flush, mroce_qp_flush_work);
	INIT_WORK(&qp->event, mroce_qp_event_work);
	INIT_DELAYED_WORK(&qp->gone, mroce_qp_gone_work);
	INIT_LIST_HEAD(&qp->waiter.node);
	tasklet_setup(&qp->sq.run, run_tasklet);

	/*
	 * a kernel user's queue pair keeps the module (rule 41); ib_mad's GSI goes with the device
	 */
	if (!udata && init->qp_type != IB_QPT_GSI) {
		if (!try_module_get(THIS_MODULE)) {
			ret = -ENODEV;
			goto err_free;
		}
		qp->holds_module = true;
	}
	if (!mroce_qp_is_rc(qp) && qp->srq) {
		qp->ud_recv = kzalloc(struct_size(qp->ud_recv, sge, qp->srq->rq.max_sge),
				      GFP_KERNEL_ACCOUNT);
		if (!qp->ud_recv) {
			ret = -ENOMEM;
			goto err_module;
		}
	}
	ret = create_sq(qp, ucontext, init, &resp.sq);
	if (ret)
		goto err_ud;
	ret = create_rq(qp, ucontext, init, &resp.rq);
	if (ret)
		goto err_sq;
	ret = enter_tables(qp);
	if (ret)
		goto err_rq;
	if (udata) {
		ret = mroce_respond(udata, &resp, sizeof(resp));
		if (ret)
			goto err_tables;
	}
	if (qp->srq)
		mroce_srq_hold(qp->srq);
	init->cap.max_send_wr = qp->sq.max_wr;
	init->cap.max_inline_data = qp->sq.max_inline;
	qp->attr.cap = init->cap;
	return 0;

err_tables:
	leave_tables(qp);
err_rq:
	free_rq(qp);
err_sq:
	free_sq(qp);
err_ud:
	kfree(qp->ud_recv);
err_module:
	if (qp->holds_module)
		module_put(THIS_MODULE);
err_free:
	kmem_cache_free(qp_cache, qp);
err_count:
	atomic_dec(&dev->qps);
	return ret;
}

static void put_address_handles(struct mroce_qp *qp)
{
	u32 i;

	if (qp->user || !mroce_qp_is_ud(qp))
		return;
	for (i = qp->sq.done; i != qp->sq.posted; i++)
		if (mroce_sq_send(&qp->sq, i)->kah)
			mroce_ah_put(mroce_sq_send(&qp->sq, i)->kah);
}

static int mroce_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	struct mroce_dev *dev = qp->dev;

	mutex_lock(mroce_qp_mutex(qp));
	mroce_qp_poll_end(qp);
	spin_lock_bh(&qp->lock);
	qp->state = IB_QPS_RESET;
	spin_unlock_bh(&qp->lock);
	mroce_qp_disconnect(qp);
	mutex_unlock(mroce_qp_mutex(qp));

	leave_tables(qp);
	/* nobody refers to it now, so nobody starts these again, but they each other */
	tasklet_kill(&qp->sq.run);
	cancel_delayed_work_sync(&qp->gone);
	cancel_work_sync(&qp->flush);
	cancel_work_sync(&qp->event);

	put_address_handles(qp);
	free_rq(qp);
	free_sq(qp);
	kfree(qp->ud_recv);
	if (qp->srq)
		mroce_srq_put(qp->srq);
	atomic_dec(&dev->qps);
	if (qp->holds_module)
		module_put(THIS_MODULE);
	mutex_lock(mroce_qp_mutex(qp));
	container_of(ibqp, struct mroce_ib_qp, ib)->qp = NULL;
	mutex_unlock(mroce_qp_mutex(qp));
	kmem_cache_free(qp_cache, qp);
	return 0;
}

const struct ib_device_ops mroce_qp_ops = {
	.attach_mcast = mroce_attach_mcast,
	.create_qp = mroce_create_qp,
	.destroy_qp = mroce_destroy_qp,
	.detach_mcast = mroce_detach_mcast,
	.modify_qp = mroce_modify_qp,
	.post_recv = mroce_post_recv,
	.post_send = mroce_post_send,
	.query_qp = mroce_query_qp,
	INIT_RDMA_OBJ_SIZE(ib_qp, mroce_ib_qp, ib),
};
