// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that requests name, and patterns in it. Process context.
 *
 * Buffers stay mapped in both directions, and are not handed to and fro between processor and
 * device: the devices that are tested have no DMA of their own.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "consumer.h"

int buffer_alloc(struct consumer *c, struct buffer *b, unsigned int len)
{
	b->va = kzalloc(len, GFP_KERNEL);
	if (!b->va)
		return -ENOMEM;
	b->len = len;
	b->dma = ib_dma_map_single(c->dev, b->va, len, DMA_BIDIRECTIONAL);
	if (!ib_dma_mapping_error(c->dev, b->dma))
		return 0;
	kfree(b->va);
	b->va = NULL;
	return -ENOMEM;
}

void buffer_free(struct consumer *c, struct buffer *b)
{
	if (!b->va)
		return;
	ib_dma_unmap_single(c->dev, b->dma, b->len, DMA_BIDIRECTIONAL);
	kfree(b->va);
	b->va = NULL;
}

int region_alloc(struct consumer *c, struct region *r, unsigned int pages)
{
	unsigned int i;

	*r = (struct region){ .len = pages * PAGE_SIZE, .pages = pages };
	r->va = vzalloc(r->len);
	r->sg = kcalloc(pages, sizeof(*r->sg), GFP_KERNEL);
	if (!r->va || !r->sg)
		goto free;
	sg_init_table(r->sg, pages);
	for (i = 0; i < pages; i++)
		sg_set_page(r->sg + i, vmalloc_to_page(r->va + i * PAGE_SIZE), PAGE_SIZE, 0);
	if (ib_dma_map_sg(c->dev, r->sg, pages, DMA_BIDIRECTIONAL) == pages)
		return 0;
free:
	kfree(r->sg);
	vfree(r->va);
	*r = (struct region){};
	return -ENOMEM;
}

void region_free(struct consumer *c, struct region *r)
{
	if (!r->sg)
		return;
	if (r->mr)
		ib_dereg_mr(r->mr);
	ib_dma_unmap_sg(c->dev, r->sg, r->pages, DMA_BIDIRECTIONAL);
	kfree(r->sg);
	vfree(r->va);
	*r = (struct region){};
}

int region_map(struct consumer *c, struct region *r)
{
	int n;

	r->mr = ib_alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, r->pages);
	if (IS_ERR(r->mr)) {
		n = PTR_ERR(r->mr);
		r->mr = NULL;
		return failed("no region: error %d", n);
	}
	n = ib_map_mr_sg(r->mr, r->sg, r->pages, NULL, PAGE_SIZE);
	return n == r->pages ? 0 : failed("%d of %u pages are mapped", n, r->pages);
}

int region_dereg(struct region *r)
{
	int err = ib_dereg_mr(r->mr);

	if (err)
		return failed("a region is not deregistered: error %d", err);
	r->mr = NULL;
	return 0;
}

int region_register(struct consumer *c, struct ib_qp *qp, struct region *r, int access)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.mr = r->mr,
		.access = access,
	};

	ib_update_fast_reg_key(r->mr, ib_inc_rkey(r->mr->rkey));
	wr.key = r->mr->rkey;
	return perform(c, qp, &wr.wr, IB_WC_SUCCESS);
}

int region_invalidate(struct consumer *c, struct ib_qp *qp, u32 key, enum ib_wc_status want)
{
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = key };

	return perform(c, qp, &wr, want);
}

/* ---- patterns ---- */

void paint(u8 *p, unsigned int len, unsigned int seed)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		p[i] = seed * 101 + i + (i >> 8) * 7;
}

int compare(const char *what, const u8 *have, const u8 *want, unsigned int len)
{
	unsigned int i;

	if (!memcmp(have, want, len))
		return 0;
	for (i = 0; have[i] == want[i]; i++)
		;
	return failed("%s: byte %u of %u is 0x%02x, not 0x%02x", what, i, len, have[i], want[i]);
}
