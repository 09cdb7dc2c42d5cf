// SPDX-License-Identifier: GPL-2.0
/*
 * Moving bytes between memory regions and packets, and atomics: the one copy that a
 * byte costs here. The caller has a reference to the region (mroce_mr_get()), which has
 * checked the range, or passes an SGE list, whose keys are looked up here. Bottom halves
 * off, no lock.
 */
#include <linux/atomic.h>
#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/skbuff.h>

#include "verbs.h"

/*
 * Where @addr lies, and how far memory runs on from there: *@len is lowered to that. Steps
 * that follow each other in memory too count as one.
 */
static void *mr_at(const struct mroce_mr *mr, u64 addr, unsigned int *len)
{
	u64 off = addr - mr->iova + mr->offset;
	size_t step = (size_t)1 << mr->shift;
	size_t i, in, run;

	if (mr->dma)
		return (void *)(uintptr_t)addr;

	i = off >> mr->shift;
	in = off & (step - 1);
	run = step - in;
	while (run < *len && mr->base[i + 1] == mr->base[i] + step) {
		i++;
		run += step;
	}
	if (run < *len)
		*len = run;
	return mr->base[off >> mr->shift] + in;
}

/*
 * FLUSH to what persists needs nothing done then: each copy is written back behind itself, by the
 * processor that made it, before its packet counts as placed.
 */
static noinline void write_back(const struct mroce_mr *mr, u64 addr, unsigned int len)
{
	while (len) {
		unsigned int run = len;

		arch_wb_cache_pmem(mr_at(mr, addr, &run), run);
		addr += run;
		len -= run;
	}
	pmem_wmb();
}

/* ---- out of a packet ---- */

/**
 * struct skb_walk - bytes of an skb in order: linear part, fragments, then each of frag_list
 * @skb: that is being walked
 * @more: next of frag_list
 * @frag: next fragment
 * @p: next byte
 * @len: bytes that follow it
 */
struct skb_walk {
	const struct sk_buff *skb;
	const struct sk_buff *more;
	int frag;
	const u8 *p;
	unsigned int len;
};

/* The next skb of a train that GRO has built, from its linear part on; false at the end. */
static noinline bool walk_on(struct skb_walk *w)
{
	do {
		w->skb = w->more;
		if (!w->skb)
			return false;
		w->more = w->skb->next;
		w->frag = 0;
	} while (!skb_headlen(w->skb) && !skb_shinfo(w->skb)->nr_frags);
	w->p = w->skb->data;
	w->len = skb_headlen(w->skb);
	return true;
}

/* The next run of bytes, which may be empty; false at the end. */
static __always_inline bool walk_next(struct skb_walk *w)
{
	const struct skb_shared_info *info = skb_shinfo(w->skb);
	const skb_frag_t *frag = &info->frags[w->frag];

	if (unlikely(w->frag >= info->nr_frags))
		return walk_on(w);
	w->p = skb_frag_address(frag);
	w->len = skb_frag_size(frag);
	w->frag++;
	return true;
}

/* Leaves @w at byte @off: false if the skb is shorter. */
static bool walk_start(struct skb_walk *w, const struct sk_buff *skb, unsigned int off)
{
	w->skb = skb;
	w->more = skb_shinfo(skb)->frag_list;
	w->frag = 0;
	w->p = skb->data;
	w->len = skb_headlen(skb);

	while (off >= w->len) {
		off -= w->len;
		if (!walk_next(w))
			return false;
	}
	w->p += off;
	w->len -= off;
	return true;
}

/* Copies on; the caller knows that there are as many. */
static void walk_copy(struct skb_walk *w, u8 *dst, unsigned int len)
{
	const u8 *p = w->p;
	unsigned int left = w->len;

	while (len > left) {
		memcpy(dst, p, left);
		dst += left;
		len -= left;
		if (!walk_next(w))
			return;
		p = w->p;
		left = w->len;
	}
	memcpy(dst, p, len);
	w->p = p + len;
	w->len = left - len;
}

static void walk_to_mr(struct skb_walk *w, struct mroce_mr *mr, u64 addr, unsigned int len)
{
	while (len) {
		unsigned int run = len;
		void *dst = mr_at(mr, addr, &run);

		walk_copy(w, dst, run);
		addr += run;
		len -= run;
	}
}

/*
 * Bytes at the end of [@addr, @addr + @len) that one aligned store can write: a program polls
 * the last word, or byte, of a buffer, and memcpy() promises no order (rule 1). Aligned, it crosses
 * no page and no cache line, where one store would be two.
 */
static unsigned int unit_before(uintptr_t end, unsigned int len)
{
	unsigned int unit = 8;

	while (unit > len || end & (unit - 1))
		unit >>= 1;
	return unit;
}

static unsigned int tail_of(const struct mroce_mr *mr, u64 addr, unsigned int len)
{
	unsigned int run = 1;

	return unit_before((uintptr_t)mr_at(mr, addr + len - 1, &run) + 1, len);
}

/* @word begins with the @unit bytes */
static void store_word(void *dst, const u64 *word, unsigned int unit)
{
	/* pairs with the program's, between its look at the last word and its use of the rest */
	smp_wmb();
	switch (unit) {
	case 8:
		WRITE_ONCE(*(u64 *)dst, *word);
		break;
	case 4:
		WRITE_ONCE(*(u32 *)dst, *(const u32 *)word);
		break;
	case 2:
		WRITE_ONCE(*(u16 *)dst, *(const u16 *)word);
		break;
	default:
		WRITE_ONCE(*(u8 *)dst, *(const u8 *)word);
	}
}

static void store_tail(struct mroce_mr *mr, u64 addr, const u64 *word, unsigned int unit)
{
	unsigned int run = unit;

	store_word(mr_at(mr, addr, &run), word, unit);
}

static __always_inline void mr_from_skb(struct mroce_mr *mr, u64 addr, const struct sk_buff *skb,
					unsigned int skb_off, unsigned int len, bool last)
{
	unsigned int tail = 0, run = len;
	struct skb_walk w;
	u64 word;
	u8 *dst;

	if (!len || WARN_ON_ONCE(!walk_start(&w, skb, skb_off)))
		return;

	/* in one piece, as small messages nearly always are: one look at the region will do */
	dst = mr_at(mr, addr, &run);
	if (run == len) {
		if (last)
			tail = unit_before((uintptr_t)dst + len, len);
		walk_copy(&w, dst, len - tail);
		if (tail) {
			walk_copy(&w, (u8 *)&word, tail);
			store_word(dst + len - tail, &word, tail);
		}
		return;
	}
	if (last)
		tail = tail_of(mr, addr, len);
	walk_to_mr(&w, mr, addr, len - tail);
	if (!tail)
		return;
	walk_copy(&w, (u8 *)&word, tail);
	store_tail(mr, addr + len - tail, &word, tail);
}

void mroce_mr_from_skb(struct mroce_mr *mr, u64 addr, const struct sk_buff *skb,
		       unsigned int skb_off, unsigned int len, bool last)
{
	mr_from_skb(mr, addr, skb, skb_off, len, last);
	if (unlikely(mr->persistent))
		write_back(mr, addr, len);
}

/* ---- from and to the kernel's memory ---- */

static void mr_write(struct mroce_mr *mr, u64 addr, const void *src, unsigned int len)
{
	while (len) {
		unsigned int run = len;
		void *dst = mr_at(mr, addr, &run);

		memcpy(dst, src, run);
		src += run;
		addr += run;
		len -= run;
	}
}

void mroce_mr_write(struct mroce_mr *mr, u64 addr, const void *src, unsigned int len)
{
	mr_write(mr, addr, src, len);
	if (mr->persistent)
		write_back(mr, addr, len);
}

/* as mroce_mr_from_skb() with @last */
void mroce_mr_write_last(struct mroce_mr *mr, u64 addr, const void *src, unsigned int len)
{
	unsigned int tail = len ? tail_of(mr, addr, len) : 0;
	u64 word;

	mr_write(mr, addr, src, len - tail);
	if (tail) {
		memcpy(&word, src + len - tail, tail);
		store_tail(mr, addr + len - tail, &word, tail);
	}
	if (mr->persistent)
		write_back(mr, addr, len);
}

void mroce_mr_read(struct mroce_mr *mr, u64 addr, void *dst, unsigned int len)
{
	while (len) {
		unsigned int run = len;
		const void *src = mr_at(mr, addr, &run);

		memcpy(dst, src, run);
		dst += run;
		addr += run;
		len -= run;
	}
}

/* ---- into a packet ---- */

/*
 * The pages of registered user memory are pinned and counted, so they may become fragments as
 * they are: the way of nearly every byte, so without a call a page, which its steps are.
 */
static int user_to_skb(struct mroce_mr *mr, u64 addr, unsigned int len, struct sk_buff *skb,
		       unsigned int *done)
{
	struct skb_shared_info *info = skb_shinfo(skb);
	u64 off = addr - mr->iova + mr->offset;
	void **base = mr->base + (off >> PAGE_SHIFT);
	unsigned int nr = info->nr_frags, in = offset_in_page(off), added = 0;
	skb_frag_t *frag = NULL;
	/* where @frag ends, if the one reference that it has holds on; to where that is */
	void *next = NULL, *end = NULL;

	for (; added < len; base++, in = 0) {
		unsigned int n = min_t(unsigned int, len - added, PAGE_SIZE - in);
		void *p = *base + in;

		if (next && p == next) {
			skb_frag_size_add(frag, n);
		} else {
			struct page *page = virt_to_page(p);
			struct folio *folio = page_folio(page);

			if (unlikely(nr == MAX_SKB_FRAGS))
				break;
			folio_get(folio);
			skb_fill_page_desc_noacc(skb, nr, page, in, n);
			frag = &info->frags[nr++];
			end = NULL;
			if (unlikely(folio_test_large(folio)))
				end = folio_address(folio) + folio_size(folio);
		}
		added += n;
		next = p + n < end ? p + n : NULL;
	}
	/* whoever needs stable bytes (a sum in software, a cipher) copies them first */
	info->flags |= SKBFL_SHARED_FRAG;
	skb->len += added;
	skb->data_len += added;
	skb->truesize += added;
	*done += added;
	return added == len ? 0 : -EMSGSIZE;
}

static int mr_to_skb(struct mroce_mr *mr, u64 addr, unsigned int len, struct sk_buff *skb,
		     unsigned int *done)
{
	if (mr->umem && len)
		return user_to_skb(mr, addr, len, skb, done);
	while (len) {
		unsigned int n = len;
		void *p = mr_at(mr, addr, &n);
		struct folio *folio;
		struct page *page;
		int err;

		if (mr->copied) {
			err = mroce_packet_copy(skb, p, n, done);
			if (err)
				return err;
			addr += n;
			len -= n;
			continue;
		}
		page = virt_to_page(p);
		folio = page_folio(page);
		/* a fragment has one reference, so it ends with what that one is to */
		n = min_t(size_t, n, folio_size(folio) - offset_in_folio(folio, p));
		err = mroce_packet_add(skb, page, offset_in_page(p), n, true);
		if (err)
			return err;
		*done += n;
		addr += n;
		len -= n;
	}
	return 0;
}

int mroce_mr_to_skb(struct mroce_mr *mr, u64 addr, unsigned int len, struct sk_buff *skb)
{
	unsigned int done = 0;

	return mr_to_skb(mr, addr, len, skb, &done);
}

/* ---- atomics ---- */

int mroce_mr_atomic(struct mroce_mr *mr, u64 addr, u8 opcode, u64 compare_add, u64 swap, u64 *old)
{
	unsigned int run = sizeof(u64);
	void *p = mr_at(mr, addr, &run);

	if (run < sizeof(u64) || (uintptr_t)p & (sizeof(u64) - 1) || addr & (sizeof(u64) - 1))
		return -EINVAL;

	switch (opcode) {
	case MROCE_OP_CMP_SWAP:
		*old = cmpxchg((u64 *)p, compare_add, swap);
		break;
	case MROCE_OP_FETCH_ADD:
		*old = atomic64_fetch_add(compare_add, (atomic64_t *)p);
		break;
	case MROCE_OP_ATOMIC_WRITE:
		/* pairs with the program's, between its look at the word and its use of the rest */
		smp_store_release((u64 *)p, compare_add);
		break;
	default:
		return -EINVAL;
	}
	if (mr->persistent)
		write_back(mr, addr, sizeof(u64));
	return 0;
}

/* ---- SGE lists ---- */

/**
 * struct sge_walk - the pieces of an SGE list that a range of a message touches
 * @sge: first that is left
 * @n: that are left
 * @skip: bytes of @sge[0] to pass over
 * @left: bytes of the range that are left
 */
struct sge_walk {
	const struct mroce_sge *sge;
	unsigned int n;
	u64 skip;
	unsigned int left;
};

/* The region of the next piece, at *@addr, *@len bytes. NULL: the range is through, or *@reason. */
static struct mroce_mr *sge_next(struct sge_walk *w, struct mroce_dev *dev, struct ib_pd *pd,
				 int access, u64 *addr, unsigned int *len,
				 enum mroce_reason *reason)
{
	struct mroce_mr *mr;

	*reason = MROCE_REASON_NONE;
	if (!w->left)
		return NULL;

	while (w->n && w->skip >= w->sge->length) {
		w->skip -= w->sge->length;
		w->sge++;
		w->n--;
	}
	if (!w->n) {
		*reason = MROCE_REASON_ERR_LOCAL_LENGTH;
		return NULL;
	}

	*addr = w->sge->addr + w->skip;
	*len = min_t(u64, w->left, w->sge->length - w->skip);
	mr = mroce_mr_get(dev, pd, w->sge->lkey, access, *addr, *len, reason);
	if (!mr)
		return NULL;
	w->skip += *len;
	w->left -= *len;
	return mr;
}

u64 mroce_sge_total(const struct mroce_sge *sge, unsigned int n)
{
	u64 total = 0;

	while (n--)
		total += sge++->length;
	return total;
}

enum mroce_reason mroce_sge_from_skb(struct mroce_dev *dev, struct ib_pd *pd,
				     const struct mroce_sge *sge, unsigned int n, u64 offset,
				     const struct sk_buff *skb, unsigned int skb_off,
				     unsigned int len, bool last)
{
	struct sge_walk w = { .sge = sge, .n = n, .skip = offset, .left = len };
	enum mroce_reason reason;
	struct mroce_mr *mr;
	unsigned int run;
	u64 addr;

	while ((mr = sge_next(&w, dev, pd, IB_ACCESS_LOCAL_WRITE, &addr, &run, &reason))) {
		mroce_mr_from_skb(mr, addr, skb, skb_off, run, last && !w.left);
		mroce_mr_put(mr);
		skb_off += run;
	}
	return reason;
}

enum mroce_reason mroce_sge_write(struct mroce_dev *dev, struct ib_pd *pd,
				  const struct mroce_sge *sge, unsigned int n, u64 offset,
				  const void *src, unsigned int len)
{
	struct sge_walk w = { .sge = sge, .n = n, .skip = offset, .left = len };
	enum mroce_reason reason;
	struct mroce_mr *mr;
	unsigned int run;
	u64 addr;

	while ((mr = sge_next(&w, dev, pd, IB_ACCESS_LOCAL_WRITE, &addr, &run, &reason))) {
		mroce_mr_write(mr, addr, src, run);
		mroce_mr_put(mr);
		src += run;
	}
	return reason;
}

enum mroce_reason mroce_sge_read(struct mroce_dev *dev, struct ib_pd *pd,
				 const struct mroce_sge *sge, unsigned int n, u64 offset, void *dst,
				 unsigned int len)
{
	struct sge_walk w = { .sge = sge, .n = n, .skip = offset, .left = len };
	enum mroce_reason reason;
	struct mroce_mr *mr;
	unsigned int run;
	u64 addr;

	while ((mr = sge_next(&w, dev, pd, 0, &addr, &run, &reason))) {
		mroce_mr_read(mr, addr, dst, run);
		mroce_mr_put(mr);
		dst += run;
	}
	return reason;
}

enum mroce_reason mroce_sge_to_skb(struct mroce_dev *dev, struct ib_pd *pd,
				   const struct mroce_sge *sge, unsigned int n, u64 offset,
				   unsigned int len, struct sk_buff *skb, unsigned int *done)
{
	struct sge_walk w = { .sge = sge, .n = n, .skip = offset, .left = len };
	enum mroce_reason reason;
	struct mroce_mr *mr;
	unsigned int run;
	u64 addr;
	int err;

	*done = 0;
	while ((mr = sge_next(&w, dev, pd, 0, &addr, &run, &reason))) {
		err = mr_to_skb(mr, addr, run, skb, done);
		mroce_mr_put(mr);
		if (err)
			return MROCE_REASON_NONE;
	}
	return reason;
}

enum mroce_reason mroce_sge_check(struct mroce_dev *dev, struct ib_pd *pd,
				  const struct mroce_sge *sge, unsigned int n, int access)
{
	enum mroce_reason reason;
	struct mroce_mr *mr;

	for (; n; n--, sge++) {
		if (!sge->length)
			continue;
		mr = mroce_mr_get(dev, pd, sge->lkey, access, sge->addr, sge->length, &reason);
		if (!mr)
			return reason;
		mroce_mr_put(mr);
	}
	return MROCE_REASON_NONE;
}
