// SPDX-License-Identifier: GPL-2.0
/*
 * Regions of other devices' memory (DMA buffers). The processor copies, so what counts is the
 * exporter's mapping of it into the kernel; there is no DMA, and no list of pages that could be
 * relied on. An attachment is there to pin the buffer, of an exporter that may move it. Process
 * context.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/iosys-map.h>

#include "objects.h"

MODULE_INFO(import_ns, "DMA_BUF");

/* a pinned buffer does not move; exporters want the method all the same */
static void moved(struct dma_buf_attachment *attach)
{
}

static const struct dma_buf_attach_ops attach_ops = {
	.mroce_op_buffer_moved = moved,
};

/**
 * struct mroce_dmabuf - a buffer that a region is made of
 * @buf: referenced
 * @attach: pinned; NULL if its exporter does not move it
 * @map: all of it, in the kernel
 */
struct mroce_dmabuf {
	struct dma_buf *buf;
	struct dma_buf_attachment *attach;
	struct iosys_map map;
};

static int pin(struct mroce_dmabuf *d, struct ib_device *ib)
{
	int err;

	/* before 6.14 others would map it for DMA at once, which the device cannot do */
	if (!d->buf->ops->pin)
		return 0;
	d->attach = dma_buf_dynamic_attach(d->buf, &ib->dev, &attach_ops, d);
	if (IS_ERR(d->attach))
		return PTR_ERR(d->attach);
	dma_resv_lock(d->buf->resv, NULL);
	err = dma_buf_pin(d->attach);
	dma_resv_unlock(d->buf->resv);
	if (err)
		dma_buf_detach(d->buf, d->attach);
	return err;
}

static void unpin(struct mroce_dmabuf *d)
{
	if (!d->attach)
		return;
	dma_resv_lock(d->buf->resv, NULL);
	dma_buf_unpin(d->attach);
	dma_resv_unlock(d->buf->resv);
	dma_buf_detach(d->buf, d->attach);
}

static int map_buffer(struct mroce_dmabuf *d)
{
	int err;

	if (!d->buf->ops->vmap)
		return -EOPNOTSUPP;
	err = mroce_dma_buf_vmap(d->buf, &d->map);
	if (err)
		return err;
	/* a device's registers are not copied to as memory is */
	err = d->map.is_iomem ? -EOPNOTSUPP : 0;
	if (!err)
		err = dma_buf_begin_cpu_access(d->buf, DMA_BIDIRECTIONAL);
	if (err)
		mroce_dma_buf_vunmap(d->buf, &d->map);
	return err;
}

static struct mroce_dmabuf *get_buffer(struct ib_device *ib, int fd, u64 offset, u64 length)
{
	struct mroce_dmabuf *d;
	int err;

	d = kzalloc(sizeof(*d), GFP_KERNEL_ACCOUNT);
	if (!d)
		return ERR_PTR(-ENOMEM);
	d->buf = dma_buf_get(fd);
	if (IS_ERR(d->buf)) {
		err = PTR_ERR(d->buf);
		goto free;
	}
	err = -EINVAL;
	if (offset > d->buf->size || length > d->buf->size - offset)
		goto put;
	err = pin(d, ib);
	if (err)
		goto put;
	err = map_buffer(d);
	if (err)
		goto unpin;
	return d;

unpin:
	unpin(d);
put:
	dma_buf_put(d->buf);
free:
	kfree(d);
	return ERR_PTR(err);
}

void mroce_dmabuf_put(struct mroce_dmabuf *d)
{
	if (!d)
		return;
	dma_buf_end_cpu_access(d->buf, DMA_BIDIRECTIONAL);
	mroce_dma_buf_vunmap(d->buf, &d->map);
	unpin(d);
	dma_buf_put(d->buf);
	kfree(d);
}

static struct ib_mr *reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				int access)
{
	struct mroce_mr *mr;
	int err;

	err = mroce_mr_check_access(&access);
	if (err)
		return ERR_PTR(err);
	if (!length || length > MROCE_MAX_MR_SIZE || iova + length < iova ||
	    access & (IB_ZERO_BASED | IB_ACCESS_FLUSH_PERSISTENT))
		return ERR_PTR(-EINVAL);

	mr = mroce_mr_alloc(pd, access, MROCE_REGION);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->dmabuf = get_buffer(pd->device, fd, offset, length);
	if (IS_ERR(mr->dmabuf)) {
		err = PTR_ERR(mr->dmabuf);
		mr->dmabuf = NULL;
		goto free;
	}
	/* its addresses follow each other: one step is enough for all */
	err = -ENOMEM;
	mr->base = kmalloc(sizeof(*mr->base), GFP_KERNEL_ACCOUNT);
	if (!mr->base)
		goto free;
	mr->base[0] = mr->dmabuf->map.vaddr + offset;
	mr->shift = MROCE_ONE_STEP;
	mr->npages = 1;
	mr->copied = true;
	return mroce_mr_ready(mr, iova, length);

free:
	mroce_mr_free(mr);
	return ERR_PTR(err);
}

struct ib_mr *mroce_reg_dmabuf_udata(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				     int access, MROCE_DMAH_ARG struct ib_udata *udata)
{
	if (mroce_dmah_refused())
		return ERR_PTR(-EOPNOTSUPP);
	return reg_dmabuf(pd, offset, length, iova, fd, access);
}

struct ib_mr *mroce_reg_dmabuf_attrs(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				     int access, MROCE_DMAH_ARG struct uverbs_attr_bundle *attrs)
{
	if (mroce_dmah_refused())
		return ERR_PTR(-EOPNOTSUPP);
	return reg_dmabuf(pd, offset, length, iova, fd, access);
}
