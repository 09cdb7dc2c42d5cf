// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: vmalloc memory that the module and a program (or a kernel user) share. A
 * program's ring belongs to the core's mmap entry, for an mmap() may be running when the
 * object goes; a VMA has references to the pages, so that nothing of the module is needed
 * for as long as it stands (rule 41). Process context, but for mroce_kring_filled().
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "objects.h"

/**
 * struct mroce_mmap_entry - a program's ring as the core keeps it
 * @rdma: the core's
 * @memory: vmalloc memory, charged to the program
 */
struct mroce_mmap_entry {
	struct rdma_user_mmap_entry rdma;
	void *memory;
};

static_assert(sizeof(struct mroce_ring) == MROCE_RING_HEADER);
static_assert(sizeof(struct mroce_cqe) == 64);

static struct mroce_mmap_entry *to_entry(struct rdma_user_mmap_entry *rdma)
{
	return container_of(rdma, struct mroce_mmap_entry, rdma);
}

/* the last reference is gone: of the object, and of every mmap() that was under way */
void mroce_mmap_free(struct rdma_user_mmap_entry *rdma)
{
	struct mroce_mmap_entry *entry = to_entry(rdma);

	vfree(entry->memory);
	kfree(entry);
}

int mroce_kring_mmap(struct rdma_user_mmap_entry *rdma, struct vm_area_struct *vma)
{
	void *memory = to_entry(rdma)->memory;
	unsigned long at;
	int err;

	/* remap_vmalloc_range() wants memory of vmalloc_user(), which is charged to nobody */
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	for (at = vma->vm_start; at < vma->vm_end; at += PAGE_SIZE, memory += PAGE_SIZE) {
		err = vm_insert_page(vma, at, vmalloc_to_page(memory));
		if (err)
			return err;
	}
	return 0;
}

int mroce_kring_alloc(struct mroce_kring *ring, struct ib_ucontext *ucontext, u32 entries,
		      u32 stride, struct mroce_ring_info *info)
{
	size_t size = PAGE_ALIGN(MROCE_RING_HEADER + (size_t)entries * stride);
	struct mroce_mmap_entry *entry = NULL;
	void *memory;
	int err;

	if (WARN_ON(!is_power_of_2(entries) || size > U32_MAX))
		return -EINVAL;

	memory = __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!memory)
		return -ENOMEM;

	if (ucontext) {
		entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
		if (!entry) {
			err = -ENOMEM;
			goto free_memory;
		}
		entry->memory = memory;
		err = rdma_user_mmap_entry_insert(ucontext, &entry->rdma, size);
		if (err)
			goto free_entry;

		*info = (struct mroce_ring_info) {
			.offset = rdma_user_mmap_get_offset(&entry->rdma),
			.length = size,
			.entries = entries,
			.stride = stride,
		};
	}

	ring->head = memory;
	ring->slots = memory + MROCE_RING_HEADER;
	ring->entries = entries;
	ring->stride = stride;
	ring->user = ucontext;
	ring->entry = entry;
	return 0;

free_entry:
	kfree(entry);
free_memory:
	vfree(memory);
	return err;
}

/* Without effect on a ring that is not there. */
void mroce_kring_free(struct mroce_kring *ring)
{
	if (ring->entry)
		rdma_user_mmap_entry_remove(&ring->entry->rdma);
	else
		vfree(ring->head);
	memset(ring, 0, sizeof(*ring));
}

u32 mroce_kring_filled(const struct mroce_kring *ring, u32 consumer)
{
	u32 filled;

	/* pairs with the program's store of a request that it has filled */
	filled = smp_load_acquire(&ring->head->producer) - consumer;
	return min(filled, ring->entries);
}
