// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows: keys for a part of a region, bound to it by a send request and good until the
 * next one, an invalidation or the end of the window. A window is a struct mroce_mr without
 * memory of its own: bound, it has its region's pages and a range and rights of its own, so that
 * whoever copies needs not know. A region stays for as long as windows are bound to it.
 *
 * Type 1 is rebound at any time, and used by any queue pair of its domain. Type 2 (2B) is bound
 * when it is free, and used by the queue pair that bound it alone.
 *
 * Creation and destruction in process context; binding with bottom halves off.
 */
#include <linux/slab.h>

#include "objects.h"

#define MW_REMOTE	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)
/* that the pages can be written to here goes without saying, but programs do say it */
#define MW_KNOWN	(MW_REMOTE | IB_ACCESS_LOCAL_WRITE | IB_ZERO_BASED)

int mroce_alloc_mw(struct ib_mw *ib, struct ib_udata *udata)
{
	struct mroce_mw *mw = to_mmw(ib);
	struct mroce_mr *mr;

	if (ib->type != IB_MW_TYPE_1 && ib->type != IB_MW_TYPE_2)
		return -EINVAL;

	mr = mroce_mr_alloc(ib->pd, 0,
			    ib->type == IB_MW_TYPE_1 ? MROCE_WINDOW_1 : MROCE_WINDOW_2);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mw->mr = mr;
	ib->rkey = mr->key;
	return 0;
}

int mroce_dealloc_mw(struct ib_mw *ib)
{
	mroce_mr_free(to_mmw(ib)->mr);
	return 0;
}

void mroce_mw_unbind(struct mroce_mr *mw)
{
	if (mw->region)
		atomic_dec(&mw->region->windows);
	mw->region = NULL;
	mw->base = NULL;
	mw->umem = NULL;
	mw->persistent = false;
	mw->copied = false;
	mw->length = 0;
	mw->access = 0;
}

/* The region for the window, which it does not go without from here on; NULL: it is not allowed. */
static struct mroce_mr *take_region(struct mroce_dev *dev, struct ib_pd *pd,
				    const struct mroce_bind *b)
{
	struct mroce_mr *mr = mroce_mr_lookup(dev, b->lkey);
	bool taken = false;

	if (!mr)
		return NULL;
	/* as in mroce_mr_get() */
	smp_mb__after_atomic();
	/* the same */
	if (smp_load_acquire(&mr->state) != MROCE_MR_VALID)
		goto put;
	if (mr->key != b->lkey || mr->pd != pd || mr->window || mr->dma ||
	    !(mr->access & IB_ACCESS_MW_BIND))
		goto put;
	if (b->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(mr->access & IB_ACCESS_LOCAL_WRITE))
		goto put;
	if (b->addr < mr->iova || b->length > mr->length ||
	    b->addr - mr->iova > mr->length - b->length)
		goto put;
	/* negative: it is about to change or go */
	taken = atomic_inc_unless_negative(&mr->windows);
put:
	mroce_mr_put(mr);
	return taken ? mr : NULL;
}

/* The window is ours to change (BUSY), or cannot be bound now. */
static bool take_window(struct mroce_mr *mw)
{
	if (cmpxchg(&mw->state, MROCE_MR_FREE, MROCE_MR_BUSY) == MROCE_MR_FREE)
		return true;
	return mw->window == MROCE_WINDOW_1 &&
	       cmpxchg(&mw->state, MROCE_MR_VALID, MROCE_MR_BUSY) == MROCE_MR_VALID;
}

static void set_window(struct mroce_mr *mw, struct mroce_mr *mr, u32 qpn,
		       const struct mroce_bind *b)
{
	u64 offset = b->addr - mr->iova + mr->offset;

	mw->region = mr;
	mw->qpn = qpn;
	mw->access = (b->access & MW_REMOTE) | (mr->access & IB_ACCESS_RELAXED_ORDERING);
	mw->iova = b->access & IB_ZERO_BASED ? 0 : b->addr;
	mw->length = b->length;
	mw->shift = mr->shift;
	mw->base = mr->base + (offset >> mr->shift);
	mw->offset = offset & ((1ULL << mr->shift) - 1);
	mw->umem = mr->umem;
	mw->persistent = mr->persistent;
	mw->copied = mr->copied;
}

static bool may_bind(const struct mroce_mr *mw, struct ib_pd *pd, const struct mroce_bind *b)
{
	if (!mw->window || mw->pd != pd || (mw->key ^ b->rkey) >> MROCE_KEY_BITS ||
	    b->access & ~MW_KNOWN)
		return false;
	if (mw->window == MROCE_WINDOW_1)
		return !(b->access & IB_ZERO_BASED);
	/* it is unbound by invalidation */
	return b->length;
}

enum mroce_reason mroce_mw_bind(struct mroce_dev *dev, struct ib_pd *pd, u32 qpn,
				const struct mroce_bind *b)
{
	struct mroce_mr *mw = mroce_mr_lookup(dev, b->rkey), *mr = NULL;
	enum mroce_reason reason = MROCE_REASON_ERR_LOCAL_KEY;

	if (!mw)
		return reason;
	if (!may_bind(mw, pd, b))
		goto put;
	if (b->length) {
		mr = take_region(dev, pd, b);
		if (!mr)
			goto put;
	}
	if (!take_window(mw)) {
		if (mr)
			atomic_dec(&mr->windows);
		goto put;
	}

	mroce_mr_quiesce(mw, true);
	mroce_mw_unbind(mw);
	mw->key = b->rkey;
	if (mr)
		set_window(mw, mr, qpn, b);
	/* pairs with mroce_mr_get(); not if it is being deallocated */
	cmpxchg_release(&mw->state, MROCE_MR_BUSY, mr ? MROCE_MR_VALID : MROCE_MR_FREE);
	reason = MROCE_REASON_NONE;
put:
	mroce_mr_put(mw);
	return reason;
}
