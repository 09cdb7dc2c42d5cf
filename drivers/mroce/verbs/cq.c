// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: appending from any context, polling for kernel users (programs
 * poll the mapped ring), notification, resizing with what is in it, and overflow.
 * cq->lock, taken with interrupts off, is the innermost of all; no handler is called under
 * it: completion handlers run in the CQ's tasklet, never two of one CQ at once (rule 39),
 * at once or, moderated, when some completions are there or a timer ends; the error event in a work
 * item.
 */
#include <linux/ktime.h>
#include <rdma/uverbs_ioctl.h>

#include "objects.h"
#include "qp.h"

/* ---- handlers ---- */

static void cq_notify(struct tasklet_struct *t)
{
	struct mroce_cq *cq = from_tasklet(cq, t, notifier);

	mroce_count(to_mdev(cq->ib.device), MROCE_CNT_CQ_NOTIFIED, 1);
	if (cq->ib.comp_handler)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

/* After an overflow. The event comes first: it says why the queue pairs are in error. */
static void cq_error(struct work_struct *work)
{
	struct mroce_cq *cq = container_of(work, struct mroce_cq, error_work);
	struct ib_event event = {
		.device = cq->ib.device,
		.element.cq = &cq->ib,
		.event = IB_EVENT_CQ_ERR,
	};

	mroce_count(to_mdev(cq->ib.device), (enum mroce_counter)MROCE_REASON_ERR_CQ, 1);
	if (cq->ib.event_handler)
		cq->ib.event_handler(&event, cq->ib.cq_context);
	mroce_qps_error(to_mdev(cq->ib.device), cq, MROCE_REASON_ERR_CQ);
}

/* ---- appending ---- */

static bool wakes(const struct mroce_cq *cq, const struct mroce_cqe *cqe, bool solicited)
{
	return cq->armed == IB_CQ_NEXT_COMP ||
	       (cq->armed == IB_CQ_SOLICITED && (solicited || cqe->status != IB_WC_SUCCESS));
}

/*
 * With moderation the handler waits for a number of completions that concern it, or for the time
 * that the first of them may wait. True: it is to be called now, and asks again for the next time.
 */
static bool tell(struct mroce_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (++cq->untold < cq->count) {
		if (cq->untold == 1)
			hrtimer_start(&cq->late, ns_to_ktime(cq->period * NSEC_PER_USEC),
				      HRTIMER_MODE_REL_SOFT);
		return false;
	}
	cq->untold = 0;
	cq->armed = 0;
	return true;
}

static enum hrtimer_restart cq_late(struct hrtimer *timer)
{
	struct mroce_cq *cq = container_of(timer, struct mroce_cq, late);
	unsigned long flags;
	bool wake;

	spin_lock_irqsave(&cq->lock, flags);
	wake = cq->untold;
	/* a full number was told of, and the first one since has started it again */
	if (wake && hrtimer_is_queued(timer))
		wake = false;
	if (wake) {
		cq->untold = 0;
		cq->armed = 0;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (wake)
		tasklet_schedule(&cq->notifier);
	return HRTIMER_NORESTART;
}

int mroce_modify_cq(struct ib_cq *ib, u16 count, u16 period)
{
	struct mroce_cq *cq = to_mcq(ib);
	bool wake = false;

	/* one of them alone would make no difference, or wait for ever */
	if (count < 2 || !period) {
		count = 0;
		period = 0;
	}
	spin_lock_irq(&cq->lock);
	cq->count = count;
	cq->period = period;
	if (cq->untold) {
		/* who waits under the old terms waits no longer */
		wake = true;
		cq->untold = 0;
		cq->armed = 0;
	}
	spin_unlock_irq(&cq->lock);
	if (wake)
		tasklet_schedule(&cq->notifier);
	return 0;
}

/* Nothing is appended any more, so that what the program polls has no hole. */
static void overrun(struct mroce_cq *cq)
{
	struct mroce_ring *head = cq->ring.head;

	if (cq->overflow)
		return;
	WRITE_ONCE(cq->overflow, true);
	/* after the last completion: a program that sees it and an empty ring has seen all */
	smp_store_release(&head->flags, MROCE_RING_OVERFLOW);
	queue_work(mroce_wq, &cq->error_work);
}

int mroce_cq_add(struct mroce_cq *cq, const struct mroce_cqe *cqe, bool solicited)
{
	struct mroce_cqe *slot;
	bool wake = false;
	unsigned long flags;
	u32 used;
	int err = 0;

	spin_lock_irqsave(&cq->lock, flags);
	/* pairs with the poller's store. A program that writes nonsense overruns its own CQ. */
	used = cq->producer - smp_load_acquire(&cq->ring.head->consumer);
	if (unlikely(used >= cq->ring.entries || cq->overflow)) {
		overrun(cq);
		err = -ENOSPC;
		goto unlock;
	}

	slot = mroce_kring_slot(&cq->ring, cq->producer);
	*slot = *cqe;
	/* kernel users have no use for it */
	if (cq->ring.user)
		slot->timestamp = ktime_get_raw_fast_ns();
	if (solicited)
		slot->flags |= MROCE_CQE_SOLICITED;
	cq->producer++;
	/* pairs with the poller's load */
	smp_store_release(&cq->ring.head->producer, cq->producer);

	wake = cq->armed && wakes(cq, cqe, solicited) && tell(cq);
unlock:
	spin_unlock_irqrestore(&cq->lock, flags);

	if (wake)
		tasklet_schedule(&cq->notifier);
	return err;
}

bool mroce_cq_awaited(struct mroce_cq *cq)
{
	unsigned long flags;
	bool awaited;

	spin_lock_irqsave(&cq->lock, flags);
	awaited = cq->armed || cq->producer == READ_ONCE(cq->ring.head->consumer);
	spin_unlock_irqrestore(&cq->lock, flags);
	return awaited;
}

/* ---- polling, for kernel users ---- */

/* False: its queue pair is gone, and with it whoever could want it. */
static bool fill_wc(struct mroce_dev *dev, const struct mroce_cqe *cqe, struct ib_wc *wc)
{
	struct ib_qp *qp = mroce_qp_of_completion(dev, cqe->qpn);

	if (!qp)
		return false;

	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->qp = qp;
	wc->src_qp = cqe->src_qp;
	wc->port_num = 1;
	if (cqe->flags & MROCE_CQE_GRH)
		wc->wc_flags |= IB_WC_GRH;
	if (cqe->flags & MROCE_CQE_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = (__force __be32)cqe->imm;
	} else if (cqe->flags & MROCE_CQE_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->imm;
	}
	return true;
}

int mroce_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc)
{
	struct mroce_dev *dev = to_mdev(ib->device);
	struct mroce_cq *cq = to_mcq(ib);
	struct mroce_ring *head;
	unsigned long flags;
	u32 consumer;
	int n = 0;

	/* the program's own: its consumer index is not ours to move */
	if (cq->ring.user)
		return -EINVAL;

	spin_lock_irqsave(&cq->lock, flags);
	head = cq->ring.head;
	for (consumer = head->consumer; n < num && consumer != cq->producer; consumer++)
		if (fill_wc(dev, mroce_kring_slot(&cq->ring, consumer), wc + n))
			n++;
	head->consumer = consumer;
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

int mroce_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags notify)
{
	struct mroce_cq *cq = to_mcq(ib);
	unsigned long flags;
	int missed = 0;

	spin_lock_irqsave(&cq->lock, flags);
	/* the wider of what was asked for and not delivered yet */
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = notify & IB_CQ_SOLICITED_MASK;
	if (notify & IB_CQ_REPORT_MISSED_EVENTS)
		missed = cq->producer != READ_ONCE(cq->ring.head->consumer);
	spin_unlock_irqrestore(&cq->lock, flags);
	return missed;
}

/* ---- creation, resizing, destruction ---- */

int mroce_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr, struct ib_udata *udata)
{
	struct ib_ucontext *uctx = udata ? mroce_udata_ucontext(udata) : NULL;
	struct mroce_dev *dev = to_mdev(ib->device);
	struct mroce_create_cq_resp resp = {};
	struct mroce_cq *cq = to_mcq(ib);
	int err;

	/* every completion has its timestamp; an overrun is never ignored */
	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > MROCE_MAX_CQE)
		return -EINVAL;
	if (!mroce_take(&dev->cqs, MROCE_MAX_CQ))
		return -ENOMEM;

	err = mroce_kring_alloc(&cq->ring, uctx, roundup_pow_of_two(attr->cqe),
				sizeof(struct mroce_cqe), &resp.cq);
	if (err)
		goto give;

	if (udata) {
		err = mroce_respond(udata, &resp, sizeof(resp));
		if (err)
			goto free_ring;
	}

	spin_lock_init(&cq->lock);
	mutex_init(&cq->resize);
	tasklet_setup(&cq->notifier, cq_notify);
	mroce_hrtimer_setup(&cq->late, cq_late, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	INIT_WORK(&cq->error_work, cq_error);
	cq->ib.cqe = cq->ring.entries;
	return 0;

free_ring:
	mroce_kring_free(&cq->ring);
give:
	atomic_dec(&dev->cqs);
	return err;
}

int mroce_create_cq_attrs(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
			  struct uverbs_attr_bundle *attrs)
{
	return mroce_create_cq(ib, attr, attrs ? &attrs->driver_udata : NULL);
}

static void copy_entries(struct mroce_cq *cq, struct mroce_kring *to, u32 from, u32 end)
{
	for (; from != end; from++)
		memcpy(mroce_kring_slot(to, from), mroce_kring_slot(&cq->ring, from),
		       sizeof(struct mroce_cqe));
}

/*
 * Moves what is not polled to @to, at its old indices too, and makes that the CQ's ring; @to is
 * then the old one. A completion is not written again before it is polled, so all but the last are
 * copied without the lock. Each round copies some: a program that moves its index back again and
 * again is told to try later, others are done long before.
 */
static int move_entries(struct mroce_cq *cq, struct mroce_kring *to)
{
	enum { BATCH = 64, ROUNDS = 4 * MROCE_MAX_CQE / BATCH };
	u32 from = READ_ONCE(cq->ring.head->consumer), consumer, rounds;
	int err = -EAGAIN;

	for (rounds = 0; err == -EAGAIN && rounds < ROUNDS; rounds++) {
		spin_lock_irq(&cq->lock);
		/* pairs with the poller's store: it is done with what lies before */
		consumer = smp_load_acquire(&cq->ring.head->consumer);
		/* polled beyond it meanwhile, or a program has moved its index back */
		if (from - consumer > cq->producer - consumer)
			from = consumer;
		if (cq->producer - consumer > min(cq->ring.entries, to->entries)) {
			err = -EINVAL;
		} else if (cq->producer - from <= BATCH) {
			copy_entries(cq, to, from, cq->producer);
			to->head->consumer = consumer;
			to->head->producer = cq->producer;
			to->head->flags = cq->overflow ? MROCE_RING_OVERFLOW : 0;
			swap(cq->ring, *to);
			cq->ib.cqe = cq->ring.entries;
			err = 0;
		}
		spin_unlock_irq(&cq->lock);
		if (err == -EAGAIN) {
			copy_entries(cq, to, from, from + BATCH);
			from += BATCH;
			cond_resched();
		}
	}
	return err;
}

int mroce_resize_cq(struct ib_cq *ib, mroce_cqe_count cqe, struct ib_udata *udata)
{
	struct ib_ucontext *uctx = udata ? mroce_udata_ucontext(udata) : NULL;
	struct mroce_resize_cq_resp resp = {};
	struct mroce_cq *cq = to_mcq(ib);
	struct mroce_kring ring = {};
	int err;

	if (cqe < 1 || cqe > MROCE_MAX_CQE)
		return -EINVAL;

	mutex_lock(&cq->resize);
	err = mroce_kring_alloc(&ring, uctx, roundup_pow_of_two(cqe), sizeof(struct mroce_cqe),
				&resp.cq);
	if (err)
		goto unlock;
	if (udata) {
		err = mroce_respond(udata, &resp, sizeof(resp));
		if (err)
			goto free_ring;
	}

	err = move_entries(cq, &ring);
	/* the old one, or the new one that it does not fit into */
free_ring:
	mroce_kring_free(&ring);
unlock:
	mutex_unlock(&cq->resize);
	return err;
}

/* No queue pair completes here any more: nothing is appended, and no handler is started. */
int mroce_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct mroce_dev *dev = to_mdev(ib->device);
	struct mroce_cq *cq = to_mcq(ib);
	struct mroce_ring *head = cq->ring.head;

	hrtimer_cancel(&cq->late);
	tasklet_kill(&cq->notifier);
	cancel_work_sync(&cq->error_work);

	if (cq->ring.user)
		/* the last store, if it is the device that goes and the program reads on */
		smp_store_release(&head->flags, head->flags | MROCE_RING_GONE);
	mroce_kring_free(&cq->ring);
	mutex_destroy(&cq->resize);
	atomic_dec(&dev->cqs);
	return 0;
}
