/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Verbs objects but the queue pair (verbs/qp.h): protection domains, regions,
 * completion queues, shared receive queues, address handles, mapped rings. Each has
 * a file of its own; this is what they offer each other and the queue pair.
 */
#ifndef MROCE_VERBS_VERBS_H
#define MROCE_VERBS_VERBS_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <rdma/uverbs_ioctl.h>

#include "../mroce.h"

/* ---- rings (ring.c): memory shared with a program; the module's own for kernel users ---- */

/**
 * struct mroce_kring - the module's side of a ring
 * @head: first page: struct mroce_ring; vmalloc memory
 * @slots: first slot, at MROCE_RING_HEADER
 * @entries: power of two
 * @stride: bytes a slot
 * @user: the program may scribble on it: bound every index, read every field once
 * @entry: the core's mmap entry (user rings)
 */
struct mroce_kring {
	struct mroce_ring *head;
	void *slots;
	u32 entries, stride;
	bool user;
	struct mroce_mmap_entry *entry;
};

/* Allocates; with @ucontext also makes it mappable and fills @info. Process context. */
int mroce_kring_alloc(struct mroce_kring *ring, struct ib_ucontext *ucontext, u32 entries,
		      u32 stride, struct mroce_ring_info *info);
void mroce_kring_free(struct mroce_kring *ring);
static inline void *mroce_kring_slot(const struct mroce_kring *ring, u32 index)
{
	return ring->slots + (size_t)(index & (ring->entries - 1)) * ring->stride;
}

/* slots that the program has filled beyond @consumer, never more than @entries whatever it wrote */
u32 mroce_kring_filled(const struct mroce_kring *ring, u32 consumer);

/* ---- protection domains (verbs/pd.c) ---- */

struct mroce_pd {
	struct ib_pd ib;
	u32 pdn;
};

static inline struct mroce_pd *to_mpd(struct ib_pd *ib)
{
	return container_of(ib, struct mroce_pd, ib);
}

/* ---- XRC domains (verbs/xrc.c) ---- */

/**
 * struct mroce_xrcd - a domain of XRC targets and of the SRQs that they deliver to
 * @pds: protection domains of these SRQs, by number: how many are of each
 * @mutex: changes of @pds
 */
struct mroce_xrcd {
	struct ib_xrcd ib;
	struct xarray pds;
	struct mutex mutex; /* changes of @pds */
};

static inline struct mroce_xrcd *to_mxrcd(struct ib_xrcd *ib)
{
	return container_of(ib, struct mroce_xrcd, ib);
}

/* an SRQ of the protection domain has come, or goes */
int mroce_xrcd_add(struct mroce_xrcd *xrcd, struct mroce_pd *pd);
void mroce_xrcd_del(struct mroce_xrcd *xrcd, struct mroce_pd *pd);

/* ---- memory regions (verbs/mr.c, verbs/access.c), windows (verbs/mw.c) ---- */

#define MROCE_ONE_STEP	62 /* shift of a region whose addresses follow each other */
#define MROCE_KEY_BITS	8 /* that change in a key; the rest is its index */

enum mroce_window { MROCE_REGION, MROCE_WINDOW_1, MROCE_WINDOW_2 };

/*
 * FREE: fast-register or window, and invalid; BUSY: its fields change; DEAD: being deregistered
 */
enum mroce_mr_state { MROCE_MR_FREE, MROCE_MR_BUSY, MROCE_MR_VALID, MROCE_MR_DEAD };

/**
 * struct mroce_mr - a region, or a window
 * @pd: domain
 * @key: current lkey and rkey: index << 8 and the low byte that changes
 * @access: IB_ACCESS_*
 * @state: enum mroce_mr_state
 * @window: which of them
 * @dma: all of kernel memory, addresses are its own
 * @fast: for fast registration; others cannot be invalidated
 * @persistent: what is copied to it outlasts the host's power before it counts as placed
 * @iova: address of the first byte as the program names it
 * @length: bytes
 * @base: kernel address of each step of 1 << @shift bytes; NULL if @dma
 * @offset: of @iova in the first step
 * @npages: steps in use, of @max_pages
 * @umem: the program's memory, pinned; of a window: its region's
 * @dmabuf: another device's
 * @copied: its pages are not ours to refer to from packets
 * @region: of a window: what it is bound to, NULL if it is FREE
 * @qpn: of a window of type 2: the queue pair that it is for
 * @windows: of a region: bound to it; negative: none may be
 * @refs: 1 while registered, 1 a copy in progress; held only with bottom halves off (rule 9)
 */
struct mroce_mr {
	struct ib_mr ib;
	struct mroce_dev *dev;
	struct ib_pd *pd;
	struct rcu_head rcu;
	u32 key;
	int access;
	int state;
	enum mroce_window window;
	bool dma, fast, persistent, copied;
	u8 shift;
	u64 iova, length;
	u32 offset;
	u32 npages, max_pages;
	void **base;
	struct ib_umem *umem;
	struct mroce_dmabuf *dmabuf;
	struct mroce_mr *region;
	u32 qpn;
	atomic_t windows;
	refcount_t refs;
	struct completion unused;
};

static inline struct mroce_mr *to_mmr(struct ib_mr *ib)
{
	return container_of(ib, struct mroce_mr, ib);
}

struct mroce_mw {
	struct ib_mw ib;
	struct mroce_mr *mr;
};

static inline struct mroce_mw *to_mmw(struct ib_mw *ib)
{
	return container_of(ib, struct mroce_mw, ib);
}

/* a bind request */
struct mroce_bind {
	u32 rkey, lkey; /* the window's new key; of the region */
	u64 addr, length; /* 0: unbind */
	int access;
};

/* of a kind, FREE, with the first reference; ERR_PTR() */
struct mroce_mr *mroce_mr_alloc(struct ib_pd *pd, int access, enum mroce_window window);
/* -EOPNOTSUPP: there are rights in it that are not known; those that are optional are taken out */
int mroce_mr_check_access(int *access);
/* It has its memory: from now on its keys are good. */
struct ib_mr *mroce_mr_ready(struct mroce_mr *mr, u64 iova, u64 length);
/* It ends, after the last copy. Sleeps. */
void mroce_mr_free(struct mroce_mr *mr);
/* dmabuf.c: unmapped and let go; NULL is none */
void mroce_dmabuf_put(struct mroce_dmabuf *d);
/* whatever its state; a reference. Bottom halves off until it is put. */
struct mroce_mr *mroce_mr_lookup(struct mroce_dev *dev, u32 key);
/*
 * Spins until nobody copies; the state lets nobody start to. @held: the caller has a reference of
 * its own, and the state is BUSY by its doing.
 */
void mroce_mr_quiesce(struct mroce_mr *mr, bool held);
/* Nobody uses the window. */
void mroce_mw_unbind(struct mroce_mr *mw);
/* Executed in the send queue of @qpn; waits for copies under way. NONE, or why not. */
enum mroce_reason mroce_mw_bind(struct mroce_dev *dev, struct ib_pd *pd, u32 qpn,
				const struct mroce_bind *b);

/**
 * mroce_mr_get() - the region behind a local key, if it allows this
 * @access: every IB_ACCESS_* bit that is needed (0: local read)
 * @addr, @len: must lie within the region; with len 0 callers do not ask at all
 *
 * Bottom halves off until mroce_mr_put(). NULL, and *@reason, if anything does not fit.
 */
struct mroce_mr *mroce_mr_get(struct mroce_dev *dev, struct ib_pd *pd, u32 key, int access,
			      u64 addr, u64 len, enum mroce_reason *reason);
/* the same for a peer of queue pair @qpn, who may name a window; @access: IB_ACCESS_REMOTE_* */
struct mroce_mr *mroce_mr_get_remote(struct mroce_dev *dev, struct ib_pd *pd, u32 qpn, u32 key,
				     int access, u64 addr, u64 len, enum mroce_reason *reason);
void mroce_mr_put(struct mroce_mr *mr);
/* the same of whichever domain has an SRQ in @xrcd */
struct mroce_mr *mroce_mr_get_xrc(struct mroce_dev *dev, struct mroce_xrcd *xrcd, u32 qpn, u32 key,
				  int access, u64 addr, u64 len, enum mroce_reason *reason);
/* where the region behind a key begins, if there is one; mroce_mr_get_remote() judges the key */
u64 mroce_mr_start(struct mroce_dev *dev, u32 key);

/* is this in it too? */
static inline bool mroce_mr_covers(const struct mroce_mr *mr, u64 addr, u64 len)
{
	return addr >= mr->iova && len <= mr->length && addr - mr->iova <= mr->length - len;
}

/* packets may land as they come */
static inline bool mroce_mr_relaxed(const struct mroce_mr *mr)
{
	return mr->access & IB_ACCESS_RELAXED_ORDERING;
}

/*
 * Copies between a region and packets; range checked by mroce_mr_get(). The skb forms start
 * @skb_off bytes into it and walk frag_list. With @last the final aligned word (8 bytes; less if
 * the end or the length is not that aligned) is stored last, by one store after smp_wmb() (rule 1).
 */
void mroce_mr_from_skb(struct mroce_mr *mr, u64 addr, const struct sk_buff *skb,
		       unsigned int skb_off, unsigned int len, bool last);
void mroce_mr_write(struct mroce_mr *mr, u64 addr, const void *src, unsigned int len);
void mroce_mr_write_last(struct mroce_mr *mr, u64 addr, const void *src, unsigned int len);
void mroce_mr_read(struct mroce_mr *mr, u64 addr, void *dst, unsigned int len);
/* pages of [addr, addr + len) become fragments of @skb; errors are mroce_packet_add()'s */
int mroce_mr_to_skb(struct mroce_mr *mr, u64 addr, unsigned int len, struct sk_buff *skb);
/*
 * MROCE_OP_CMP_SWAP, _FETCH_ADD or _ATOMIC_WRITE (of @compare_add) on 8 aligned bytes, atomic
 * against the host's own; @old: value before, but of the last. -EINVAL: unaligned.
 */
int mroce_mr_atomic(struct mroce_mr *mr, u64 addr, u8 opcode, u64 compare_add, u64 swap, u64 *old);

/*
 * Executed in the send queue, or at the cursor, of @qpn: REG_MR, LOCAL_INV, remote invalidation.
 * NONE or a reason. Invalidation waits for copies under way; the caller holds no region.
 */
enum mroce_reason mroce_mr_fast_register(struct mroce_dev *dev, struct ib_pd *pd, struct ib_mr *mr,
					 u32 key, int access);
enum mroce_reason mroce_mr_invalidate(struct mroce_dev *dev, struct ib_pd *pd, u32 qpn, u32 key,
				      bool remote);

/* SGE lists: struct mroce_sge as in the rings (kernel users' ib_sge has the same layout) */
u64 mroce_sge_total(const struct mroce_sge *sge, unsigned int n);
/*
 * Message bytes [offset, offset + len) of an SGE list, region by region: from an skb into them
 * (@access IB_ACCESS_LOCAL_WRITE), or as fragments. Looks each key up. Reason NONE, or why not.
 * mroce_sge_to_skb(): *@done bytes were appended; fewer than @len without a reason: the skb takes
 * no more (mroce_packet_add()).
 */
enum mroce_reason mroce_sge_from_skb(struct mroce_dev *dev, struct ib_pd *pd,
				     const struct mroce_sge *sge, unsigned int n, u64 offset,
				     const struct sk_buff *skb, unsigned int skb_off,
				     unsigned int len, bool last);
enum mroce_reason mroce_sge_write(struct mroce_dev *dev, struct ib_pd *pd,
				  const struct mroce_sge *sge, unsigned int n, u64 offset,
				  const void *src, unsigned int len);
enum mroce_reason mroce_sge_read(struct mroce_dev *dev, struct ib_pd *pd,
				 const struct mroce_sge *sge, unsigned int n, u64 offset,
				 void *dst, unsigned int len);
enum mroce_reason mroce_sge_to_skb(struct mroce_dev *dev, struct ib_pd *pd,
				   const struct mroce_sge *sge, unsigned int n, u64 offset,
				   unsigned int len, struct sk_buff *skb, unsigned int *done);
/* every key, range and right of the list; used when a request is taken from its ring */
enum mroce_reason mroce_sge_check(struct mroce_dev *dev, struct ib_pd *pd,
				  const struct mroce_sge *sge, unsigned int n, int access);

/* ---- completion queues (verbs/cq.c) ---- */

struct mroce_cq {
	struct ib_cq ib;
	struct mroce_kring ring;
	spinlock_t lock;		/* irqsave: ring, notify state */
	u32 producer;			/* the module's own copy */
	u8 armed;			/* IB_CQ_SOLICITED, IB_CQ_NEXT_COMP or 0 */
	bool overflow;
	u16 count, period;		/* moderation: completions, microseconds; 0: none */
	u32 untold;			/* completions that its handler is still to be told of */
	struct hrtimer late;		/* softirq; runs while there are such */
	struct tasklet_struct notifier;	/* the only caller of comp_handler (rule 39) */
	struct work_struct error_work;	/* after an overflow */
	struct mutex resize;
};

static inline struct mroce_cq *to_mcq(struct ib_cq *ib)
{
	return container_of(ib, struct mroce_cq, ib);
}

/*
 * Appends a completion (timestamp filled in); -ENOSPC: overflow, the CQ is in error and its event
 * is scheduled. Any context.
 */
int mroce_cq_add(struct mroce_cq *cq, const struct mroce_cqe *cqe, bool solicited);

/*
 * Does its owner wait for the next completion: has it taken all that are there, or asked to be
 * woken? A hint, out of date at once. Any context.
 */
bool mroce_cq_awaited(struct mroce_cq *cq);

/* ---- receive queues (verbs/rq.c): of a queue pair, and inside an SRQ ---- */

/* a receive request, read once from its ring and kept in the module until its completion */
struct mroce_recv {
	u64 wr_id;
	u32 num_sge;
	u64 length;			/* sum of the SGEs */
	struct mroce_sge sge[];
};

/**
 * struct mroce_rq - a receive queue
 * @ring: of struct mroce_rq_wqe slots
 * @lock: irqsave
 * @base: ring index of receive number 0
 * @fetched: requests read from the ring so far; of an SRQ, taken (published as the ring's consumer)
 * @done: requests completed so far (queue pairs; published as the ring's consumer)
 * @flags: MROCE_RING_* as the ring last got them from us
 * @recvs: @entries kernel copies of @recv_size bytes, by number & (@entries - 1); NULL in SRQs
 * @max_sge: at most in a request
 */
struct mroce_rq {
	struct mroce_kring ring;
	spinlock_t lock;		/* irqsave; nothing inside */
	u32 base, fetched, done, flags;
	u32 entries, max_sge, recv_size;
	void *recvs;
};

int mroce_rq_alloc(struct mroce_rq *rq, struct ib_ucontext *ucontext, u32 wr, u32 sge, bool shared,
		   struct mroce_ring_info *info);
void mroce_rq_free(struct mroce_rq *rq);
/* for kernel users */
int mroce_rq_post(struct mroce_rq *rq, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
/* receive numbers below the returned one have a buffer: what the program has posted, bounded */
u32 mroce_rq_limit(struct mroce_rq *rq);
/*
 * The request of receive number @rsn, read from the ring as needed; it stays there until
 * mroce_rq_advance() passes it. A malformed slot gives num_sge 0 and length 0. NULL: not in
 * [done, limit).
 */
struct mroce_recv *mroce_rq_recv(struct mroce_rq *rq, u32 rsn);
/* The next one, if that is @rsn and it was taken already: completes it. False: it is not. */
bool mroce_rq_complete(struct mroce_rq *rq, u32 rsn, u64 *wr_id);
/* requests below @rsn are complete */
void mroce_rq_advance(struct mroce_rq *rq, u32 rsn);
/*
 * A sender waits: ask the program for a doorbell, then look again. True if there is a buffer for
 * @rsn after all.
 */
bool mroce_rq_want_doorbell(struct mroce_rq *rq, u32 rsn);
void mroce_rq_doorbell_seen(struct mroce_rq *rq);
/* after a kernel user's post: a sender waits, so what a doorbell does is to be done */
bool mroce_rq_doorbell_wanted(const struct mroce_rq *rq);
/* the queue pair goes to RESET: what is queued is discarded, receive numbers start at 0 again */
void mroce_rq_reset(struct mroce_rq *rq);
/* for SRQs: one slot by ring index, read once and checked (under rq->lock); the flag alone */
void mroce_rq_fetch(const struct mroce_rq *rq, u32 index, struct mroce_recv *recv);
void mroce_rq_ask_doorbell(struct mroce_rq *rq);

/* ---- shared receive queues (verbs/srq.c) ---- */

struct mroce_srq {
	struct ib_srq ib;
	struct mroce_rq rq;
	u32 srqn;
	u32 limit;			/* 0: not armed */
	refcount_t refs;
	struct completion unused;
	spinlock_t waiters_lock;	/* irqsave */
	struct list_head waiters;	/* struct mroce_srq_waiter: streams that want a buffer */
	struct list_head given;		/* struct mroce_given, @ngiven of them; under rq.lock */
	u32 ngiven;
	struct work_struct event_work, wake_work;
	struct mutex resize;		/* one at a time */
	struct mroce_xrcd *xrcd;	/* of type XRC; else NULL */
	bool gone;			/* XRC: no buffer is bound any more */
};

struct mroce_srq_waiter {
	struct list_head node;
	void (*wake)(struct mroce_srq_waiter *w);	/* softirq or process, no lock held */
};

static inline struct mroce_srq *to_msrq(struct ib_srq *ib)
{
	return container_of(ib, struct mroce_srq, ib);
}

/*
 * Takes the next request out of the SRQ into @recv (max_sge SGEs of room). False: empty. Raises
 * the limit event. Any context.
 */
bool mroce_srq_take(struct mroce_srq *srq, struct mroce_recv *recv);
/* gives a taken, untouched request back (its stream died): taken again before the ring's */
void mroce_srq_give(struct mroce_srq *srq, const struct mroce_recv *recv);
/* requests that could be taken now */
u32 mroce_srq_avail(struct mroce_srq *srq);
/*
 * @w->node is initialised. A buffer that is there by now wakes it from a work item. Any context,
 * locks may be held.
 */
void mroce_srq_wait(struct mroce_srq *srq, struct mroce_srq_waiter *w);
void mroce_srq_unwait(struct mroce_srq *srq, struct mroce_srq_waiter *w);
/* takes the longest waiter off the list, for mroce_srq_wake(); NULL */
struct mroce_srq_waiter *mroce_srq_next_waiter(struct mroce_srq *srq);
struct mroce_srq *mroce_srq_hold(struct mroce_srq *srq);
/* with a reference; NULL: there is none of that number */
struct mroce_srq *mroce_srq_find(struct mroce_dev *dev, u32 srqn);
void mroce_srq_put(struct mroce_srq *srq);

/* ---- address handles (verbs/ah.c) ---- */

struct mroce_ah {
	struct ib_ah ib;
	u32 ahn;
	struct ib_pd *pd;
	struct mroce_flow flow;
	refcount_t refs;
	struct completion unused;
};

static inline struct mroce_ah *to_mah(struct ib_ah *ib)
{
	return container_of(ib, struct mroce_ah, ib);
}

/* by number, of this domain; a reference (rule: destroy waits for it) */
struct mroce_ah *mroce_ah_get(struct mroce_dev *dev, struct ib_pd *pd, u32 ahn);
void mroce_ah_put(struct mroce_ah *ah);
/* the netdev of a GID, 0: none */
int mroce_gid_ifindex(const struct ib_gid_attr *attr);
/* a source port at random: the network's hash chooses a path by it */
__be16 mroce_path_port(void);

/* ---- provided by verbs/qp.c, used by device.c and cq.c ---- */
/*
 * The queue pair of a completion, or NULL if it is destroyed; no
 * reference: who polls does not destroy it meanwhile.
 */
struct ib_qp *mroce_qp_of_completion(struct mroce_dev *dev, u32 qpn);
extern const struct ib_device_ops mroce_qp_ops;
extern const struct uapi_definition mroce_qp_uapi[];
/* CQ overflow or device removal: queue pairs of @cq (or all) to the error state; process context */
void mroce_qps_error(struct mroce_dev *dev, struct mroce_cq *cq, enum mroce_reason reason);
/* an SRQ of type XRC goes: none waits for it or uses its buffers any more, once it has flushed */
void mroce_qps_leave(struct mroce_dev *dev, struct mroce_srq *srq);
/* an SRQ doorbell came */
void mroce_srq_wake(struct mroce_srq *srq);

#endif
