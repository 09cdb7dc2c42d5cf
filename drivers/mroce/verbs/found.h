/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What this processor has looked up in an xarray, which is as deep as its keys are large, while the
 * same few are asked for all the time. A slot is good as long as nothing was erased since, of any
 * device: who erases counts that up afterwards (mroce_found_erased()) and frees what was found
 * only when the last reference is gone and a grace period is over.
 *
 * Bottom halves off, which is as good as rcu_read_lock() here and keeps everybody else from this
 * processor's slots; so never in hard interrupts.
 */
#ifndef MROCE_VERBS_FOUND_H
#define MROCE_VERBS_FOUND_H

#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/xarray.h>

#define MROCE_FOUND_BITS	3

/**
 * struct mroce_found - one result
 * @xa: array, of one device
 * @entry: what was found
 * @index: there
 * @erased: the count before the look-up
 */
struct mroce_found {
	struct xarray *xa;
	void *entry;
	unsigned long index;
	s64 erased;
};

/* of a kind of object; @erased never wraps, or what was found long ago would be found again */
struct mroce_finder {
	struct mroce_found __percpu *found;
	atomic64_t erased ____cacheline_aligned_in_smp;
};

#define MROCE_DEFINE_FINDER(name)						\
	static DEFINE_PER_CPU(struct mroce_found, name##_found[1 << MROCE_FOUND_BITS]);	\
	static struct mroce_finder name = { .found = name##_found, .erased = ATOMIC64_INIT(0) }

static inline void *mroce_find(struct mroce_finder *finder, struct xarray *xa, unsigned long index)
{
	/* both ends of a connection may be on one host, and their keys equal */
	u32 slot = (index ^ hash_ptr(xa, MROCE_FOUND_BITS)) % (1U << MROCE_FOUND_BITS);
	struct mroce_found *f = this_cpu_ptr(finder->found) + slot;
	/* pairs with the release in mroce_found_erased(): what was erased is not found any more */
	s64 erased = atomic64_read_acquire(&finder->erased);
	void *entry;

	RCU_LOCKDEP_WARN(!rcu_read_lock_bh_held(), "looked up with bottom halves on");
	if (likely(f->index == index && f->xa == xa && f->erased == erased))
		return f->entry;
	entry = xa_load(xa, index);
	if (entry)
		*f = (struct mroce_found){
			.xa = xa,
			.entry = entry,
			.index = index,
			.erased = erased,
		};
	return entry;
}

/* after xa_erase(), before the wait for whoever still saw the old value */
static inline void mroce_found_erased(struct mroce_finder *finder)
{
	atomic64_inc_return_release(&finder->erased);
}

#endif
