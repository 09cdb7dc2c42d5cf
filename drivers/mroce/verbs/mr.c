// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions: registration, keys, and when one may be used. Registration runs in
 * process context; lookup, fast registration and invalidation in any with bottom halves
 * off. A window (mw.c) is a region without memory of its own.
 *
 * A copier takes a reference and then looks at the state; who invalidates changes the
 * state and then waits for the references, so that one of the two sees the other. That
 * wait spins: references are held over the copies of one packet, or of a run of small ones, with
 * bottom halves off, so never by something that waits for this processor (rule 9).
 */
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_umem.h>

#include "found.h"
#include "objects.h"

#define MROCE_ACCESS_REMOTE	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_FLUSH_GLOBAL | \
				 IB_ACCESS_FLUSH_PERSISTENT)
#define MROCE_ACCESS_KNOWN	(IB_ACCESS_LOCAL_WRITE | MROCE_ACCESS_REMOTE | \
				 IB_ACCESS_MW_BIND | IB_ACCESS_HUGETLB | IB_ZERO_BASED | \
				 IB_ACCESS_RELAXED_ORDERING)
#define MROCE_MR_LIMIT		XA_LIMIT(1, (1 << 24) - 1)

MROCE_DEFINE_FINDER(mrs);

/* ---- allocation ---- */

static atomic_t *mr_count(struct mroce_dev *dev, enum mroce_window window)
{
	return window ? &dev->mws : &dev->mrs;
}

struct mroce_mr *mroce_mr_alloc(struct ib_pd *pd, int access, enum mroce_window window)
{
	struct mroce_dev *dev = to_mdev(pd->device);
	atomic_t *count = mr_count(dev, window);
	struct mroce_mr *mr;
	u32 index;
	int err;

	if (!mroce_take(count, window ? MROCE_MAX_MW : MROCE_MAX_MR))
		return ERR_PTR(-ENOMEM);

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		err = -ENOMEM;
		goto give;
	}
	mr->dev = dev;
	mr->pd = pd;
	mr->access = access;
	mr->window = window;
	mr->shift = PAGE_SHIFT;
	refcount_set(&mr->refs, 1);
	init_completion(&mr->unused);

	/* FREE until its creator is done */
	err = xa_alloc_cyclic(&dev->mr_xa, &index, mr, MROCE_MR_LIMIT, &dev->mr_next, GFP_KERNEL);
	if (err < 0)
		goto free;

	mr->key = index << MROCE_KEY_BITS | get_random_u8();
	mr->ib.lkey = mr->key;
	mr->ib.rkey = mr->key;
	return mr;

free:
	kfree(mr);
give:
	atomic_dec(count);
	return ERR_PTR(err);
}

/* One that waits for another would be waited for in vain, so the state lets one in at a time. */
void mroce_mr_quiesce(struct mroce_mr *mr, bool held)
{
	/* pairs with the full barrier in mroce_mr_get() */
	smp_mb();
	while (refcount_read(&mr->refs) > 1 + held)
		cpu_relax();
}

void mroce_mr_free(struct mroce_mr *mr)
{
	struct mroce_dev *dev = mr->dev;

	WRITE_ONCE(mr->state, MROCE_MR_DEAD);
	xa_erase(&dev->mr_xa, mr->key >> MROCE_KEY_BITS);
	mroce_found_erased(&mrs);
	mroce_mr_put(mr);
	wait_for_completion(&mr->unused);

	/* a window's memory is its region's */
	if (mr->window) {
		mroce_mw_unbind(mr);
	} else {
		ib_umem_release(mr->umem);
		mroce_dmabuf_put(mr->dmabuf);
		kvfree(mr->base);
	}
	atomic_dec(mr_count(dev, mr->window));
	kfree_rcu(mr, rcu);
}

static void *alloc_base(size_t npages)
{
	size_t size = array_size(npages, sizeof(void *));

	/* of a region of a terabyte it is larger than kvmalloc() gives */
	if (size > SZ_32K)
		return __vmalloc(size, GFP_KERNEL_ACCOUNT);
	return kmalloc(size, GFP_KERNEL_ACCOUNT);
}

/* ---- registration ---- */

struct ib_mr *mroce_get_dma_mr(struct ib_pd *pd, int access)
{
	struct mroce_mr *mr = mroce_mr_alloc(pd, access, MROCE_REGION);

	if (IS_ERR(mr))
		return ERR_CAST(mr);

	mr->dma = true;
	mr->length = U64_MAX;
	/* pairs with mroce_mr_get() */
	smp_store_release(&mr->state, MROCE_MR_VALID);
	return &mr->ib;
}

/* The program's pages as addresses: there is no high memory on 64 bits. */
static int map_umem(struct mroce_mr *mr)
{
	struct sg_page_iter iter;
	size_t n = 0;

	mr->max_pages = ib_umem_num_pages(mr->umem);
	mr->base = alloc_base(mr->max_pages);
	if (!mr->base)
		return -ENOMEM;

	for_each_sgtable_page(&mr->umem->sgt_append.sgt, &iter, 0) {
		if (WARN_ON(n == mr->max_pages))
			return -EINVAL;
		mr->base[n++] = page_address(sg_page_iter_page(&iter));
	}
	if (WARN_ON(n != mr->max_pages))
		return -EINVAL;
	mr->npages = n;
	mr->offset = ib_umem_offset(mr->umem);
	return 0;
}

/* Does all of the program's memory outlast its power? */
static bool umem_persists(const struct ib_umem *umem)
{
	struct scatterlist *sg;
	int i;

	if (!IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API))
		return false;
	for_each_sgtable_sg(&umem->sgt_append.sgt, sg, i)
		if (region_intersects(page_to_phys(sg_page(sg)) + sg->offset, sg->length,
				      IORESOURCE_MEM, IORES_DESC_PERSISTENT_MEMORY) !=
		    REGION_INTERSECTS)
			return false;
	return true;
}

int mroce_mr_check_access(int *access)
{
	/* optional ones that are not known have no effect */
	*access &= ~(IB_ACCESS_OPTIONAL & ~MROCE_ACCESS_KNOWN);
	return *access & ~MROCE_ACCESS_KNOWN ? -EOPNOTSUPP : 0;
}

struct ib_mr *mroce_mr_ready(struct mroce_mr *mr, u64 iova, u64 length)
{
	mr->iova = iova;
	mr->length = length;
	mr->ib.iova = iova;
	mr->ib.length = length;
	/* pairs with mroce_mr_get() */
	smp_store_release(&mr->state, MROCE_MR_VALID);
	return &mr->ib;
}

static struct ib_mr *reg_user(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access)
{
	struct mroce_mr *mr;
	int err;

	err = mroce_mr_check_access(&access);
	if (err)
		return ERR_PTR(err);
	if (access & IB_ZERO_BASED)
		iova = 0;
	if (!length || length > MROCE_MAX_MR_SIZE || iova + length < iova)
		return ERR_PTR(-EINVAL);

	mr = mroce_mr_alloc(pd, access, MROCE_REGION);
	if (IS_ERR(mr))
		return ERR_CAST(mr);

	mr->umem = mroce_umem_get(pd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		mr->umem = NULL;
		goto free;
	}
	err = map_umem(mr);
	if (err)
		goto free;
	/* whichever key its bytes come by: another region of the same memory may have the right */
	mr->persistent = umem_persists(mr->umem);
	if (access & IB_ACCESS_FLUSH_PERSISTENT && !mr->persistent) {
		err = -EINVAL;
		goto free;
	}

	return mroce_mr_ready(mr, iova, length);

free:
	mroce_mr_free(mr);
	return ERR_PTR(err);
}

struct ib_mr *mroce_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				MROCE_DMAH_ARG struct ib_udata *udata)
{
	if (mroce_dmah_refused())
		return ERR_PTR(-EOPNOTSUPP);
	return reg_user(pd, start, length, iova, access);
}

/* None is bound to it, and none will be. */
static bool forbid_windows(struct mroce_mr *mr)
{
	return !atomic_cmpxchg(&mr->windows, 0, -1);
}

static void allow_windows(struct mroce_mr *mr)
{
	atomic_set(&mr->windows, 0);
}

/* @new is in its place, and the core destroys it; or an error, and it remains */
static struct ib_mr *replaced(struct mroce_mr *mr, struct ib_mr *new)
{
	if (IS_ERR(new))
		allow_windows(mr);
	return new;
}

/*
 * Rights and domain change in place, and the keys stay. Other memory or addresses, or a right to
 * write to pages that are not pinned for it, makes a new region, of which the core then destroys
 * the old one.
 */
struct ib_mr *mroce_rereg_user_mr(struct ib_mr *ib, int flags, u64 start, u64 length, u64 iova,
				  int access, struct ib_pd *pd, struct ib_udata *udata)
{
	struct mroce_mr *mr = to_mmr(ib);
	int err;

	if (flags & ~(IB_MR_REREG_TRANS | IB_MR_REREG_PD | IB_MR_REREG_ACCESS))
		return ERR_PTR(-EOPNOTSUPP);

	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	if (!(flags & IB_MR_REREG_PD))
		pd = mr->pd;
	err = mroce_mr_check_access(&access);
	if (err)
		return ERR_PTR(err);

	if (!forbid_windows(mr))
		return ERR_PTR(-EBUSY);
	if (flags & IB_MR_REREG_TRANS)
		return replaced(mr, reg_user(pd, start, length, iova, access));
	if (mr->dmabuf && access & (IB_ZERO_BASED | IB_ACCESS_MW_BIND))
		return replaced(mr, ERR_PTR(-EINVAL));
	/* what was zero-based, and is no longer, has no other address than its memory's */
	if ((access ^ mr->access) & IB_ZERO_BASED)
		return replaced(mr, reg_user(pd, mr->umem->address, mr->length, mr->umem->address,
					     access));
	if (access & IB_ACCESS_FLUSH_PERSISTENT && !mr->persistent)
		return replaced(mr, ERR_PTR(-EINVAL));
	if (ib_access_writable(access) && mr->umem && !mr->umem->writable)
		return replaced(mr, reg_user(pd, mr->umem->address, mr->length, mr->iova, access));

	if (cmpxchg(&mr->state, MROCE_MR_VALID, MROCE_MR_BUSY) != MROCE_MR_VALID)
		return replaced(mr, ERR_PTR(-EBUSY));
	mroce_mr_quiesce(mr, false);
	mr->access = access;
	mr->pd = pd;
	/* pairs with mroce_mr_get() */
	smp_store_release(&mr->state, MROCE_MR_VALID);
	allow_windows(mr);
	return NULL;
}

int mroce_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct mroce_mr *mr = to_mmr(ib);

	/* forbidden already: another took its place */
	if (!forbid_windows(mr) && atomic_read(&mr->windows) > 0)
		return -EBUSY;
	mroce_mr_free(mr);
	return 0;
}

struct ib_mr *mroce_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg)
{
	struct mroce_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_sg || max_sg > MROCE_MAX_FRMR_PAGES)
		return ERR_PTR(-EINVAL);

	mr = mroce_mr_alloc(pd, 0, MROCE_REGION);
	if (IS_ERR(mr))
		return ERR_CAST(mr);

	mr->fast = true;
	mr->max_pages = max_sg;
	mr->base = alloc_base(max_sg);
	if (!mr->base) {
		mroce_mr_free(mr);
		return ERR_PTR(-ENOMEM);
	}
	return &mr->ib;
}

static int set_page(struct ib_mr *ib, u64 addr)
{
	struct mroce_mr *mr = to_mmr(ib);

	if (mr->npages == mr->max_pages)
		return -ENOMEM;
	/* DMA addresses are the kernel's own (ib_register_device() without a DMA device) */
	mr->base[mr->npages++] = (void *)(uintptr_t)addr;
	return 0;
}

int mroce_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int nents, unsigned int *offset)
{
	struct mroce_mr *mr = to_mmr(ib);

	if (!is_power_of_2(ib->page_size))
		return -EINVAL;
	mr->npages = 0;
	mr->shift = ilog2(ib->page_size);
	return ib_sg_to_pages(ib, sg, nents, offset, set_page);
}

/* ---- use ---- */

static __always_inline struct mroce_mr *mr_lookup(struct mroce_dev *dev, u32 key)
{
	struct mroce_mr *mr = mroce_find(&mrs, &dev->mr_xa, key >> MROCE_KEY_BITS);

	return mr && refcount_inc_not_zero(&mr->refs) ? mr : NULL;
}

struct mroce_mr *mroce_mr_lookup(struct mroce_dev *dev, u32 key)
{
	return mr_lookup(dev, key);
}

/* Local keys are of regions; a window of type 2 is for one queue pair. */
static bool window_admits(const struct mroce_mr *mw, u32 qpn)
{
	return qpn && (mw->window == MROCE_WINDOW_1 || mw->qpn == qpn);
}

u64 mroce_mr_start(struct mroce_dev *dev, u32 key)
{
	struct mroce_mr *mr = mr_lookup(dev, key);
	u64 iova;

	if (!mr)
		return 0;
	iova = READ_ONCE(mr->iova);
	mroce_mr_put(mr);
	return iova;
}

static __always_inline struct mroce_mr *mr_get(struct mroce_dev *dev, struct ib_pd *pd, u32 qpn,
					       u32 key, int access, u64 addr, u64 len,
					       enum mroce_reason *reason)
{
	struct mroce_mr *mr = mr_lookup(dev, key);

	if (unlikely(!mr))
		goto refuse;

	/* pairs with the barrier in mroce_mr_quiesce() */
	smp_mb__after_atomic();
	/* pairs with the store that makes it valid: the fields are as they were then */
	if (unlikely(smp_load_acquire(&mr->state) != MROCE_MR_VALID))
		goto put;
	if (unlikely(mr->key != key || mr->pd != pd || (mr->access & access) != access))
		goto put;
	if (unlikely(mr->window) && !window_admits(mr, qpn))
		goto put;
	if (unlikely(!mroce_mr_covers(mr, addr, len)))
		goto put;
	return mr;

put:
	mroce_mr_put(mr);
refuse:
	*reason = access & MROCE_ACCESS_REMOTE ? MROCE_REASON_NAK_ACCESS :
						 MROCE_REASON_ERR_LOCAL_KEY;
	return NULL;
}

struct mroce_mr *mroce_mr_get(struct mroce_dev *dev, struct ib_pd *pd, u32 key, int access,
			      u64 addr, u64 len, enum mroce_reason *reason)
{
	return mr_get(dev, pd, 0, key, access, addr, len, reason);
}

struct mroce_mr *mroce_mr_get_remote(struct mroce_dev *dev, struct ib_pd *pd, u32 qpn, u32 key,
				     int access, u64 addr, u64 len, enum mroce_reason *reason)
{
	return mr_get(dev, pd, qpn, key, access, addr, len, reason);
}

struct mroce_mr *mroce_mr_get_xrc(struct mroce_dev *dev, struct mroce_xrcd *xrcd, u32 qpn, u32 key,
				  int access, u64 addr, u64 len, enum mroce_reason *reason)
{
	struct mroce_mr *mr = mr_lookup(dev, key);
	struct ib_pd *pd;

	*reason = MROCE_REASON_NAK_ACCESS;
	if (!mr)
		return NULL;
	pd = READ_ONCE(mr->pd);
	mroce_mr_put(mr);
	mr = mr_get(dev, pd, qpn, key, access, addr, len, reason);
	if (!mr)
		return NULL;
	/* a domain outlives its regions */
	if (xa_load(&xrcd->pds, to_mpd(pd)->pdn))
		return mr;
	mroce_mr_put(mr);
	*reason = MROCE_REASON_NAK_ACCESS;
	return NULL;
}

void mroce_mr_put(struct mroce_mr *mr)
{
	if (unlikely(refcount_dec_and_test(&mr->refs)))
		complete(&mr->unused);
}

enum mroce_reason mroce_mr_fast_register(struct mroce_dev *dev, struct ib_pd *pd, struct ib_mr *ib,
					 u32 key, int access)
{
	struct mroce_mr *mr = to_mmr(ib);

	if (!mr->fast || mr->pd != pd || (key ^ mr->key) >> MROCE_KEY_BITS || !mr->npages ||
	    mroce_mr_check_access(&access) || access & IB_ACCESS_FLUSH_PERSISTENT)
		return MROCE_REASON_ERR_LOCAL_KEY;
	if (cmpxchg(&mr->state, MROCE_MR_FREE, MROCE_MR_BUSY) != MROCE_MR_FREE)
		return MROCE_REASON_ERR_LOCAL_KEY;

	mr->key = key;
	mr->access = access;
	mr->iova = ib->iova;
	mr->length = ib->length;
	mr->offset = ib->iova & (ib->page_size - 1);
	/* pairs with mroce_mr_get() */
	smp_store_release(&mr->state, MROCE_MR_VALID);
	return MROCE_REASON_NONE;
}

static bool may_invalidate(const struct mroce_mr *mr, struct ib_pd *pd, u32 qpn, u32 key,
			   bool remote)
{
	if (mr->key != key || mr->pd != pd)
		return false;
	if (mr->window)
		return mr->window == MROCE_WINDOW_2 && mr->qpn == qpn;
	return mr->fast && (!remote || mr->access & MROCE_ACCESS_REMOTE);
}

enum mroce_reason mroce_mr_invalidate(struct mroce_dev *dev, struct ib_pd *pd, u32 qpn, u32 key,
				      bool remote)
{
	enum mroce_reason reason = remote ? MROCE_REASON_NAK_ACCESS : MROCE_REASON_ERR_LOCAL_KEY;
	struct mroce_mr *mr = mroce_mr_lookup(dev, key);

	if (!mr)
		return reason;

	/* as in mroce_mr_get() */
	smp_mb__after_atomic();
	if (!may_invalidate(mr, pd, qpn, key, remote))
		goto put;
	if (!mr->window && !forbid_windows(mr))
		goto put;
	if (cmpxchg(&mr->state, MROCE_MR_VALID, MROCE_MR_BUSY) != MROCE_MR_VALID)
		goto allow;
	/* again: it may have become another key's meanwhile */
	if (may_invalidate(mr, pd, qpn, key, remote)) {
		mroce_mr_quiesce(mr, true);
		if (mr->window)
			mroce_mw_unbind(mr);
		reason = MROCE_REASON_NONE;
	}
	/* not if it is being deregistered */
	cmpxchg_release(&mr->state, MROCE_MR_BUSY, reason ? MROCE_MR_VALID : MROCE_MR_FREE);
allow:
	if (!mr->window)
		allow_windows(mr);
put:
	mroce_mr_put(mr);
	return reason;
}
