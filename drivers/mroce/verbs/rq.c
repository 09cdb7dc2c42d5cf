// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues, of queue pairs and inside SRQs: taking requests from the ring, once
 * each, and posting for kernel users. Receive numbers count from 0 with each life of the
 * queue pair, the ring's indices run on: @base is the index of number 0. Any context;
 * rq->lock is taken with interrupts off, and nothing inside it.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "verbs.h"

int mroce_rq_alloc(struct mroce_rq *rq, struct ib_ucontext *ucontext, u32 wr, u32 sge, bool shared,
		   struct mroce_ring_info *info)
{
	u32 entries = roundup_pow_of_two(max(wr, 1U));
	u32 stride = round_up(sizeof(struct mroce_rq_wqe) + sge * sizeof(struct mroce_sge), 64);
	int err;

	spin_lock_init(&rq->lock);
	rq->base = 0;
	rq->fetched = 0;
	rq->done = 0;
	rq->flags = 0;
	rq->entries = entries;
	rq->max_sge = sge;
	rq->recv_size = sizeof(struct mroce_recv) + sge * sizeof(struct mroce_sge);

	rq->recvs = NULL;
	if (!shared) {
		rq->recvs = kvcalloc(entries, rq->recv_size, GFP_KERNEL_ACCOUNT);
		if (!rq->recvs)
			return -ENOMEM;
	}

	err = mroce_kring_alloc(&rq->ring, ucontext, entries, stride, info);
	if (err) {
		kvfree(rq->recvs);
		rq->recvs = NULL;
	}
	return err;
}

/* Without effect on one that was never allocated. */
void mroce_rq_free(struct mroce_rq *rq)
{
	mroce_kring_free(&rq->ring);
	kvfree(rq->recvs);
	rq->recvs = NULL;
}

/* ---- posting, for kernel users ---- */

static void fill_slot(struct mroce_rq *rq, u32 index, const struct ib_recv_wr *wr)
{
	struct mroce_rq_wqe *wqe = mroce_kring_slot(&rq->ring, index);
	struct mroce_sge *sge = (struct mroce_sge *)(wqe + 1);
	int i;

	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		sge[i].addr = wr->sg_list[i].addr;
		sge[i].length = wr->sg_list[i].length;
		sge[i].lkey = wr->sg_list[i].lkey;
	}
}

int mroce_rq_post(struct mroce_rq *rq, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct mroce_ring *head = rq->ring.head;
	unsigned long flags;
	u32 producer;
	int err = 0;

	spin_lock_irqsave(&rq->lock, flags);
	producer = head->producer;
	for (; wr; wr = wr->next) {
		if (producer - head->consumer >= rq->entries) {
			err = -ENOMEM;
			break;
		}
		if (wr->num_sge < 0 || wr->num_sge > rq->max_sge) {
			err = -EINVAL;
			break;
		}
		fill_slot(rq, producer++, wr);
	}
	/* pairs with mroce_kring_filled() */
	smp_store_release(&head->producer, producer);
	spin_unlock_irqrestore(&rq->lock, flags);

	if (err)
		*bad = wr;
	return err;
}

/* ---- taking ---- */

/* Whatever the program writes to its ring, what was taken counts as posted. */
static u32 rq_limit(const struct mroce_rq *rq)
{
	u32 limit = rq->done + mroce_kring_filled(&rq->ring, rq->base + rq->done);

	return (s32)(limit - rq->fetched) > 0 ? limit : rq->fetched;
}

u32 mroce_rq_limit(struct mroce_rq *rq)
{
	unsigned long flags;
	u32 limit;

	spin_lock_irqsave(&rq->lock, flags);
	limit = rq_limit(rq);
	spin_unlock_irqrestore(&rq->lock, flags);
	return limit;
}

/* Reads a slot once, then checks what was read. */
void mroce_rq_fetch(const struct mroce_rq *rq, u32 index, struct mroce_recv *recv)
{
	const struct mroce_rq_wqe *wqe = mroce_kring_slot(&rq->ring, index);
	const struct mroce_sge *sge = (const struct mroce_sge *)(wqe + 1);
	u32 i, num_sge;

	recv->wr_id = READ_ONCE(wqe->wr_id);
	recv->length = 0;
	num_sge = READ_ONCE(wqe->num_sge);
	if (num_sge > rq->max_sge)
		num_sge = 0;
	recv->num_sge = num_sge;
	for (i = 0; i < num_sge; i++) {
		recv->sge[i].addr = READ_ONCE(sge[i].addr);
		recv->sge[i].length = READ_ONCE(sge[i].length);
		recv->sge[i].lkey = READ_ONCE(sge[i].lkey);
		recv->length += recv->sge[i].length;
	}
}

static struct mroce_recv *rq_slot(const struct mroce_rq *rq, u32 rsn)
{
	return rq->recvs + (size_t)(rsn & (rq->entries - 1)) * rq->recv_size;
}

struct mroce_recv *mroce_rq_recv(struct mroce_rq *rq, u32 rsn)
{
	enum { BATCH = 16 };
	struct mroce_recv *recv = NULL;
	unsigned long flags;
	unsigned int n;
	bool more;

	/* a peer may name the last of many: with interrupts off only so many are read at a time */
	do {
		more = false;
		spin_lock_irqsave(&rq->lock, flags);
		if ((s32)(rsn - rq->done) >= 0 && (s32)(rsn - rq_limit(rq)) < 0) {
			for (n = 0; (s32)(rsn - rq->fetched) >= 0 && n < BATCH; n++) {
				mroce_rq_fetch(rq, rq->base + rq->fetched,
					       rq_slot(rq, rq->fetched));
				rq->fetched++;
			}
			more = (s32)(rsn - rq->fetched) >= 0;
			if (!more)
				recv = rq_slot(rq, rsn);
		}
		spin_unlock_irqrestore(&rq->lock, flags);
	} while (more);
	return recv;
}

/* rq->lock is held */
static void rq_pass(struct mroce_rq *rq, u32 rsn)
{
	rq->done = rsn;
	if ((s32)(rsn - rq->fetched) > 0)
		rq->fetched = rsn;
	/* pairs with the program's load: the slot is its own again */
	smp_store_release(&rq->ring.head->consumer, rq->base + rsn);
}

bool mroce_rq_complete(struct mroce_rq *rq, u32 rsn, u64 *wr_id)
{
	unsigned long flags;
	bool good;

	spin_lock_irqsave(&rq->lock, flags);
	/* taken already, when it was filled */
	good = rsn == rq->done && (s32)(rsn - rq->fetched) < 0;
	if (good) {
		*wr_id = rq_slot(rq, rsn)->wr_id;
		rq_pass(rq, rsn + 1);
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	return good;
}

void mroce_rq_advance(struct mroce_rq *rq, u32 rsn)
{
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	if ((s32)(rsn - rq->done) > 0)
		rq_pass(rq, rsn);
	spin_unlock_irqrestore(&rq->lock, flags);
}

void mroce_rq_reset(struct mroce_rq *rq)
{
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	rq->base = READ_ONCE(rq->ring.head->producer);
	rq->fetched = 0;
	rq->done = 0;
	rq->flags = 0;
	WRITE_ONCE(rq->ring.head->flags, 0);
	/* as in mroce_rq_advance() */
	smp_store_release(&rq->ring.head->consumer, rq->base);
	spin_unlock_irqrestore(&rq->lock, flags);
}

/* ---- the doorbell flag ---- */

static void set_flag(struct mroce_rq *rq, u32 flags)
{
	unsigned long irq;

	spin_lock_irqsave(&rq->lock, irq);
	rq->flags = flags;
	WRITE_ONCE(rq->ring.head->flags, flags);
	spin_unlock_irqrestore(&rq->lock, irq);
}

void mroce_rq_ask_doorbell(struct mroce_rq *rq)
{
	set_flag(rq, MROCE_RING_NEED_DOORBELL);
	/* pairs with the program's between post and flag: one of us sees the other's store */
	smp_mb();
}

bool mroce_rq_want_doorbell(struct mroce_rq *rq, u32 rsn)
{
	mroce_rq_ask_doorbell(rq);
	return (s32)(rsn - mroce_rq_limit(rq)) < 0;
}

void mroce_rq_doorbell_seen(struct mroce_rq *rq)
{
	set_flag(rq, 0);
	/* what was posted when the flag was still seen, our caller's look at the ring sees */
	smp_mb();
}

bool mroce_rq_doorbell_wanted(const struct mroce_rq *rq)
{
	/* pairs with mroce_rq_ask_doorbell() */
	smp_mb();
	return READ_ONCE(rq->flags) & MROCE_RING_NEED_DOORBELL;
}
