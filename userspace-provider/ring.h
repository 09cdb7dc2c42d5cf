/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rings shared with the module: mapping, indices, room. The peer of every index
 * here is the kernel, so the ordering that matters is acquire and release between
 * processors, also on arm64; no device reads these rings and udma barriers have no
 * place. A queue's caller holds its lock, except where a function says otherwise.
 */
#ifndef MROCE_PROVIDER_RING_H
#define MROCE_PROVIDER_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/mroce-abi.h>

/* one mapped ring, of either direction */
struct mroce_map {
	struct mroce_ring *ring;
	uint8_t *slots;
	size_t length;
	uint32_t mask;		/* entries - 1 */
	uint32_t stride;
};

/*
 * A ring that the program fills: send, receive, shared receive. @prod runs ahead
 * of the ring's producer while requests are being built; @cons is the last value
 * seen of the ring's consumer, read again only when there seems to be no room.
 */
struct mroce_queue {
	struct mroce_map map;
	uint32_t prod;
	uint32_t cons;
	uint32_t limit;		/* requests that may be outstanding */
	uint32_t max_sge;
	uint32_t max_inline;	/* bytes; send ring only */
};

static inline uint32_t mroce_load(const __u32 *index)
{
	return atomic_load_explicit((const _Atomic(__u32) *)index,
				    memory_order_acquire);
}

static inline void mroce_store(__u32 *index, uint32_t value)
{
	atomic_store_explicit((_Atomic(__u32) *)index, value,
			      memory_order_release);
}

static inline void *mroce_slot(const struct mroce_map *map, uint32_t index)
{
	return map->slots + (size_t)(index & map->mask) * map->stride;
}

/* 0, or EINVAL if what the module returned cannot be a ring of such slots */
int mroce_map_ring(int fd, const struct mroce_ring_info *info,
		   size_t min_stride, struct mroce_map *map);
void mroce_unmap_ring(struct mroce_map *map);

static inline bool mroce_queue_full(struct mroce_queue *queue)
{
	if (queue->prod - queue->cons < queue->limit)
		return false;
	if (!queue->map.ring)
		return true;
	queue->cons = mroce_load(&queue->map.ring->consumer);
	return queue->prod - queue->cons >= queue->limit;
}

/* make everything up to @prod visible to the module */
static inline void mroce_queue_publish(struct mroce_queue *queue)
{
	mroce_store(&queue->map.ring->producer, queue->prod);
}

/* forget what was built since the last publish */
static inline void mroce_queue_rollback(struct mroce_queue *queue)
{
	if (queue->map.ring)
		queue->prod = queue->map.ring->producer;
}

/*
 * After a publish of a receive ring: does a sender wait for this buffer? The
 * fence pairs with the module's between setting the flag and its last look at
 * the producer: one of the two sees the other's store.
 */
static inline bool mroce_queue_wants_doorbell(const struct mroce_queue *queue)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(
		       (const _Atomic(__u32) *)&queue->map.ring->flags,
		       memory_order_relaxed) & MROCE_RING_NEED_DOORBELL;
}

/*
 * After a publish of a send ring: does the module look at it by itself? Most have nobody who does,
 * and those need no fence.
 */
static inline bool mroce_queue_polled(const struct mroce_queue *queue)
{
	const _Atomic(__u32) *flags =
		(const _Atomic(__u32) *)&queue->map.ring->flags;

	if (!(atomic_load_explicit(flags, memory_order_relaxed) &
	      MROCE_RING_POLLED))
		return false;
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(flags, memory_order_relaxed) &
	       MROCE_RING_POLLED;
}

/*
 * Once the module has let go of the ring (MROCE_RING_GONE): take the oldest
 * published request from it. The consumer is then the provider's to advance,
 * under the lock of the CQ that the queue completes to, so that no lock of the
 * queue is needed (a program may poll between wr_start and wr_complete).
 */
static inline bool mroce_queue_flush(struct mroce_queue *queue, uint64_t *wr_id)
{
	struct mroce_ring *ring = queue->map.ring;
	uint32_t cons;

	if (!ring)
		return false;
	cons = mroce_load(&ring->consumer);
	if (cons == mroce_load(&ring->producer))
		return false;

	/* both kinds of slot begin with it */
	*wr_id = *(const uint64_t *)mroce_slot(&queue->map, cons);
	mroce_store(&ring->consumer, cons + 1);
	return true;
}

#endif
