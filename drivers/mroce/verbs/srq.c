// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues: buffers that streams take in turn, those that a dead stream
 * gives back, the limit event, and who waits for a buffer. Creation and destruction in
 * process context, the rest in any. Locks, both with interrupts off: waiters_lock, and
 * inside it rq.lock (ring, given-back buffers, limit).
 */
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "objects.h"

#define UVERBS_MODULE_NAME mroce
#include <rdma/uverbs_named_ioctl.h>

/**
 * struct mroce_given - a buffer that was taken and given back untouched
 * @node: in srq->given
 * @recv: with room for its SGEs
 */
struct mroce_given {
	struct list_head node;
	struct mroce_recv recv;
};

static size_t recv_bytes(const struct mroce_recv *recv)
{
	return sizeof(*recv) + recv->num_sge * sizeof(recv->sge[0]);
}

/* ---- events and wakers ---- */

static void srq_event(struct work_struct *work)
{
	struct mroce_srq *srq = container_of(work, struct mroce_srq, event_work);
	struct ib_event event = {
		.device = srq->ib.device,
		.element.srq = &srq->ib,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
	};

	if (srq->ib.event_handler)
		srq->ib.event_handler(&event, srq->ib.srq_context);
}

/*
 * Buffers were posted. The flag stays up for as long as somebody waits, for fewer may have been
 * posted than wait; under the lock, so that a new waiter raises it after we take it down.
 */
static void wake_waiters(struct mroce_srq *srq)
{
	unsigned long flags;

	mroce_srq_wake(srq);

	spin_lock_irqsave(&srq->waiters_lock, flags);
	if (list_empty(&srq->waiters))
		mroce_rq_doorbell_seen(&srq->rq);
	spin_unlock_irqrestore(&srq->waiters_lock, flags);
}

static void srq_wake(struct work_struct *work)
{
	wake_waiters(container_of(work, struct mroce_srq, wake_work));
}

static u32 srq_avail(const struct mroce_srq *srq)
{
	lockdep_assert_held(&srq->rq.lock);
	return srq->ngiven + mroce_kring_filled(&srq->rq.ring, srq->rq.fetched);
}

/* One event each time that it is armed. */
static void check_limit(struct mroce_srq *srq)
{
	if (!srq->limit || srq_avail(srq) >= srq->limit)
		return;
	srq->limit = 0;
	queue_work(mroce_wq, &srq->event_work);
}

/* ---- taking and giving back ---- */

bool mroce_srq_take(struct mroce_srq *srq, struct mroce_recv *recv)
{
	struct mroce_rq *rq = &srq->rq;
	struct mroce_given *given;
	unsigned long flags;
	bool taken = true;

	spin_lock_irqsave(&rq->lock, flags);
	given = list_first_entry_or_null(&srq->given, struct mroce_given, node);
	if (given) {
		list_del(&given->node);
		srq->ngiven--;
		memcpy(recv, &given->recv, recv_bytes(&given->recv));
	} else if (mroce_kring_filled(&rq->ring, rq->fetched)) {
		mroce_rq_fetch(rq, rq->fetched++, recv);
		/* pairs with the program's load: the slot is its own again */
		smp_store_release(&rq->ring.head->consumer, rq->fetched);
	} else {
		taken = false;
	}
	if (taken)
		check_limit(srq);
	spin_unlock_irqrestore(&rq->lock, flags);
	kfree(given);
	return taken;
}

/* The last one given back is the first taken: streams give theirs back from the newest. */
void mroce_srq_give(struct mroce_srq *srq, const struct mroce_recv *recv)
{
	struct mroce_given *given;
	unsigned long flags;

	given = kmalloc(sizeof(*given) + recv->num_sge * sizeof(recv->sge[0]),
			GFP_ATOMIC | __GFP_NOWARN);
	if (!given) {
		/* the program does not get this buffer back before it destroys the SRQ */
		mroce_drop(to_mdev(srq->ib.device), MROCE_REASON_RX_NOMEM);
		return;
	}
	/* in two parts: to the compiler a structure ends where its flexible array begins */
	given->recv = *recv;
	memcpy(given->recv.sge, recv->sge, recv->num_sge * sizeof(recv->sge[0]));

	spin_lock_irqsave(&srq->rq.lock, flags);
	list_add(&given->node, &srq->given);
	srq->ngiven++;
	spin_unlock_irqrestore(&srq->rq.lock, flags);

	if (mroce_rq_doorbell_wanted(&srq->rq))
		queue_work(mroce_wq, &srq->wake_work);
}

u32 mroce_srq_avail(struct mroce_srq *srq)
{
	unsigned long flags;
	u32 avail;

	spin_lock_irqsave(&srq->rq.lock, flags);
	avail = srq_avail(srq);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	return avail;
}

/* ---- waiting for a buffer ---- */

void mroce_srq_wait(struct mroce_srq *srq, struct mroce_srq_waiter *w)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->waiters_lock, flags);
	if (list_empty(&w->node))
		list_add_tail(&w->node, &srq->waiters);
	spin_unlock_irqrestore(&srq->waiters_lock, flags);

	mroce_rq_ask_doorbell(&srq->rq);
	/* posted before the flag was there to be seen: nobody else will tell */
	if (mroce_srq_avail(srq))
		queue_work(mroce_wq, &srq->wake_work);
}

void mroce_srq_unwait(struct mroce_srq *srq, struct mroce_srq_waiter *w)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->waiters_lock, flags);
	list_del_init(&w->node);
	spin_unlock_irqrestore(&srq->waiters_lock, flags);
}

struct mroce_srq_waiter *mroce_srq_next_waiter(struct mroce_srq *srq)
{
	struct mroce_srq_waiter *w;
	unsigned long flags;

	spin_lock_irqsave(&srq->waiters_lock, flags);
	w = list_first_entry_or_null(&srq->waiters, struct mroce_srq_waiter, node);
	if (w)
		list_del_init(&w->node);
	spin_unlock_irqrestore(&srq->waiters_lock, flags);
	return w;
}

struct mroce_srq *mroce_srq_hold(struct mroce_srq *srq)
{
	refcount_inc(&srq->refs);
	return srq;
}

struct mroce_srq *mroce_srq_find(struct mroce_dev *dev, u32 srqn)
{
	struct mroce_srq *srq;

	xa_lock_bh(&dev->srq_xa);
	srq = xa_load(&dev->srq_xa, srqn);
	if (srq && !refcount_inc_not_zero(&srq->refs))
		srq = NULL;
	xa_unlock_bh(&dev->srq_xa);
	return srq;
}

void mroce_srq_put(struct mroce_srq *srq)
{
	if (refcount_dec_and_test(&srq->refs))
		complete(&srq->unused);
}

/* ---- Verbs ---- */

static void free_given(struct mroce_srq *srq)
{
	struct mroce_given *given, *next;

	list_for_each_entry_safe(given, next, &srq->given, node)
		kfree(given);
}

/* Nobody finds it by its number, and nobody has a reference. */
static void leave(struct mroce_srq *srq)
{
	struct mroce_dev *dev = to_mdev(srq->ib.device);

	xa_erase_bh(&dev->srq_xa, srq->srqn);
	if (srq->xrcd) {
		WRITE_ONCE(srq->gone, true);
		mroce_qps_leave(dev, srq);
	}
	mroce_srq_put(srq);
	wait_for_completion(&srq->unused);
	cancel_work_sync(&srq->event_work);
	cancel_work_sync(&srq->wake_work);
}

int mroce_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct ib_ucontext *uctx = udata ? mroce_udata_ucontext(udata) : NULL;
	struct mroce_dev *dev = to_mdev(ib->device);
	struct mroce_create_srq_resp resp = {};
	struct mroce_srq *srq = to_msrq(ib);
	struct ib_srq_attr *attr = &init->attr;
	int err;

	/* kernel users have no request that would name one of type XRC */
	if (init->srq_type != IB_SRQT_BASIC && (init->srq_type != IB_SRQT_XRC || !udata))
		return -EOPNOTSUPP;
	if (!attr->max_wr || attr->max_wr > MROCE_MAX_SRQ_WR || attr->max_sge > MROCE_MAX_SGE ||
	    attr->srq_limit > attr->max_wr)
		return -EINVAL;
	if (!mroce_take(&dev->srqs, MROCE_MAX_SRQ))
		return -ENOMEM;

	refcount_set(&srq->refs, 1);
	init_completion(&srq->unused);
	spin_lock_init(&srq->waiters_lock);
	mutex_init(&srq->resize);
	INIT_LIST_HEAD(&srq->waiters);
	INIT_LIST_HEAD(&srq->given);
	INIT_WORK(&srq->event_work, srq_event);
	INIT_WORK(&srq->wake_work, srq_wake);
	srq->limit = attr->srq_limit;

	err = mroce_rq_alloc(&srq->rq, uctx, attr->max_wr, max(attr->max_sge, 1U), true, &resp.rq);
	if (err)
		goto give;
	attr->max_wr = srq->rq.entries;
	attr->max_sge = srq->rq.max_sge;

	if (init->srq_type == IB_SRQT_XRC) {
		srq->xrcd = to_mxrcd(init->ext.xrc.xrcd);
		err = mroce_xrcd_add(srq->xrcd, to_mpd(ib->pd));
		if (err)
			goto free_rq;
	}
	err = xa_alloc_cyclic_bh(&dev->srq_xa, &srq->srqn, srq, XA_LIMIT(1, 0xffffff),
				 &dev->srqn_next, GFP_KERNEL);
	if (err < 0)
		goto leave_domain;
	if (srq->xrcd)
		ib->ext.xrc.srq_num = srq->srqn;

	if (udata) {
		resp.srqn = srq->srqn;
		err = mroce_respond(udata, &resp, sizeof(resp));
		if (err)
			goto erase;
	}
	return 0;

erase:
	/* an initiator may have found it by its number */
	leave(srq);
leave_domain:
	if (srq->xrcd)
		mroce_xrcd_del(srq->xrcd, to_mpd(ib->pd));
free_rq:
	mroce_rq_free(&srq->rq);
give:
	atomic_dec(&dev->srqs);
	return err;
}

static void copy_slots(const struct mroce_rq *rq, struct mroce_kring *to, u32 from, u32 end)
{
	for (; from != end; from++)
		memcpy(mroce_kring_slot(to, from), mroce_kring_slot(&rq->ring, from), to->stride);
}

/*
 * Copies what is posted and takes the new ring in place of the old one. Most is copied without the
 * lock: a slot that was not read is not written again, and of one that is read meanwhile the copy
 * is not looked at.
 */
static int move_slots(struct mroce_srq *srq, struct mroce_kring *ring)
{
	enum { BATCH = 64 };
	struct mroce_rq *rq = &srq->rq;
	u32 from, end, now, n;
	int err = -EINVAL;

	spin_lock_irq(&rq->lock);
	from = rq->fetched;
	end = from + mroce_kring_filled(&rq->ring, from);
	spin_unlock_irq(&rq->lock);
	if (end - from > ring->entries)
		return err;
	while (from != end) {
		n = min_t(u32, end - from, BATCH);
		copy_slots(rq, ring, from, from + n);
		from += n;
		cond_resched();
	}

	spin_lock_irq(&rq->lock);
	now = rq->fetched + mroce_kring_filled(&rq->ring, rq->fetched);
	/* whoever posts meanwhile knows better than to post much */
	if (now - rq->fetched <= ring->entries && now - end <= BATCH &&
	    srq->limit <= ring->entries) {
		copy_slots(rq, ring, end, now);
		ring->head->producer = now;
		ring->head->consumer = rq->fetched;
		ring->head->flags = rq->flags;
		swap(rq->ring, *ring);
		rq->entries = rq->ring.entries;
		err = 0;
	}
	spin_unlock_irq(&rq->lock);
	return err;
}

/* @attrs: of a program, which is told where its new ring is */
static int resize(struct mroce_srq *srq, u32 wr, struct ib_ucontext *uctx,
		  struct uverbs_attr_bundle *attrs)
{
	struct mroce_ring_info info = {};
	struct mroce_kring ring = {};
	int err;

	if (!wr || wr > MROCE_MAX_SRQ_WR)
		return -EINVAL;

	mutex_lock(&srq->resize);
	err = mroce_kring_alloc(&ring, uctx, roundup_pow_of_two(wr), srq->rq.ring.stride, &info);
	if (!err && attrs)
		err = uverbs_copy_to(attrs, MROCE_ATTR_SRQ_RESIZE_RING, &info, sizeof(info));
	if (!err)
		err = move_slots(srq, &ring);
	/* the old one, or the new one that they do not fit into */
	mroce_kring_free(&ring);
	mutex_unlock(&srq->resize);
	return err;
}

int mroce_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		     struct ib_udata *udata)
{
	struct mroce_srq *srq = to_msrq(ib);
	unsigned long flags;
	int err;

	/* a program's ring is mapped: it has a method of its own */
	if (mask & ~(IB_SRQ_LIMIT | IB_SRQ_MAX_WR) || (mask & IB_SRQ_MAX_WR && udata))
		return -EOPNOTSUPP;
	if (mask & IB_SRQ_MAX_WR) {
		err = resize(srq, attr->max_wr, NULL, NULL);
		if (err)
			return err;
	}
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > READ_ONCE(srq->rq.entries))
		return -EINVAL;

	spin_lock_irqsave(&srq->rq.lock, flags);
	srq->limit = attr->srq_limit;
	/* fewer already: it would never fall below */
	check_limit(srq);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	return 0;
}

int mroce_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	struct mroce_srq *srq = to_msrq(ib);

	attr->max_wr = READ_ONCE(srq->rq.entries);
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

int mroce_destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	struct mroce_dev *dev = to_mdev(ib->device);
	struct mroce_srq *srq = to_msrq(ib);

	leave(srq);
	if (srq->xrcd)
		mroce_xrcd_del(srq->xrcd, to_mpd(ib->pd));
	mutex_destroy(&srq->resize);
	free_given(srq);
	mroce_rq_free(&srq->rq);
	atomic_dec(&dev->srqs);
	return 0;
}

int mroce_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad)
{
	struct mroce_srq *srq = to_msrq(ib);
	int err;

	/* a program fills its ring itself, and the slots are its to scribble on */
	if (srq->rq.ring.user) {
		*bad = wr;
		return -EINVAL;
	}

	err = mroce_rq_post(&srq->rq, wr, bad);
	/* the caller may hold locks or have interrupts off */
	if (mroce_rq_doorbell_wanted(&srq->rq))
		queue_work(mroce_wq, &srq->wake_work);
	return err;
}

/* ---- methods of programs ---- */

static int UVERBS_HANDLER(MROCE_METHOD_SRQ_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	struct ib_srq *ib = uverbs_attr_get_obj(attrs, MROCE_ATTR_SRQ_DOORBELL_HANDLE);

	if (IS_ERR(ib))
		return PTR_ERR(ib);
	wake_waiters(to_msrq(ib));
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(MROCE_METHOD_SRQ_DOORBELL,
			    UVERBS_ATTR_IDR(MROCE_ATTR_SRQ_DOORBELL_HANDLE, UVERBS_OBJECT_SRQ,
					    UVERBS_ACCESS_READ, UA_MANDATORY));

static int UVERBS_HANDLER(MROCE_METHOD_SRQ_RESIZE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_srq *ib = uverbs_attr_get_obj(attrs, MROCE_ATTR_SRQ_RESIZE_HANDLE);
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	u32 wr;
	int err;

	if (IS_ERR(ib))
		return PTR_ERR(ib);
	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uverbs_copy_from(&wr, attrs, MROCE_ATTR_SRQ_RESIZE_WR);
	return err ?: resize(to_msrq(ib), wr, uctx, attrs);
}

/* for doorbells it is not locked: they would fail meanwhile */
DECLARE_UVERBS_NAMED_METHOD(MROCE_METHOD_SRQ_RESIZE,
			    UVERBS_ATTR_IDR(MROCE_ATTR_SRQ_RESIZE_HANDLE, UVERBS_OBJECT_SRQ,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MROCE_ATTR_SRQ_RESIZE_WR, UVERBS_ATTR_TYPE(u32),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MROCE_ATTR_SRQ_RESIZE_RING,
						UVERBS_ATTR_TYPE(struct mroce_ring_info),
						UA_MANDATORY));

ADD_UVERBS_METHODS(mroce_srq_methods, UVERBS_OBJECT_SRQ, &UVERBS_METHOD(MROCE_METHOD_SRQ_DOORBELL),
		   &UVERBS_METHOD(MROCE_METHOD_SRQ_RESIZE));

const struct uapi_definition mroce_srq_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_SRQ, &mroce_srq_methods),
	{},
};
