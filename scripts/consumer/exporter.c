// SPDX-License-Identifier: GPL-2.0
/*
 * Exports DMA buffers of each kind that an importer may meet, for few kernels have another exporter
 * that a test could use: /dev/mroce_exporter, whose only ioctl makes a buffer and returns its file.
 * It counts what importers hold; programs see the bytes by mmap().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/iosys-map.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "exporter.h"

MODULE_INFO(import_ns, "DMA_BUF");
MODULE_DESCRIPTION("exports DMA buffers for tests");
MODULE_AUTHOR("The mroce authors");
MODULE_LICENSE("GPL");

static int pins, maps, accesses, buffers;
module_param(pins, int, 0444);
MODULE_PARM_DESC(pins, "buffers that importers have pinned");
module_param(maps, int, 0444);
MODULE_PARM_DESC(maps, "buffers that importers have mapped");
module_param(accesses, int, 0444);
MODULE_PARM_DESC(accesses, "buffers that a processor has access to");
module_param(buffers, int, 0444);
MODULE_PARM_DESC(buffers, "buffers that there are");

static DEFINE_MUTEX(lock); /* of the counts */

static void count(int *what, int n)
{
	mutex_lock(&lock);
	*what += n;
	mutex_unlock(&lock);
}

static int attach(struct dma_buf *buf, struct dma_buf_attachment *a)
{
	/* nobody has to do DMA */
	return a->importer_ops ? 0 : -EOPNOTSUPP;
}

static int pin(struct dma_buf_attachment *a)
{
	count(&pins, 1);
	return 0;
}

static void unpin(struct dma_buf_attachment *a)
{
	count(&pins, -1);
}

static struct sg_table *map_dma(struct dma_buf_attachment *a, enum dma_data_direction dir)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void unmap_dma(struct dma_buf_attachment *a, struct sg_table *table,
		      enum dma_data_direction dir)
{
}

static int map(struct dma_buf *buf, struct iosys_map *to)
{
	iosys_map_set_vaddr(to, buf->priv);
	count(&maps, 1);
	return 0;
}

static int map_registers(struct dma_buf *buf, struct iosys_map *to)
{
	iosys_map_set_vaddr_iomem(to, (void __iomem __force *)buf->priv);
	count(&maps, 1);
	return 0;
}

static void unmap(struct dma_buf *buf, struct iosys_map *from)
{
	count(&maps, -1);
}

static int begin(struct dma_buf *buf, enum dma_data_direction dir)
{
	count(&accesses, 1);
	return 0;
}

static int end(struct dma_buf *buf, enum dma_data_direction dir)
{
	count(&accesses, -1);
	return 0;
}

static int map_user(struct dma_buf *buf, struct vm_area_struct *vma)
{
	return remap_vmalloc_range(vma, buf->priv, vma->vm_pgoff);
}

static void release(struct dma_buf *buf)
{
	vfree(buf->priv);
	count(&buffers, -1);
}

#define COMMON .attach = attach, .map_dma_buf = map_dma, .unmap_dma_buf = unmap_dma,	\
	.mmap = map_user, .release = release, .begin_cpu_access = begin, .end_cpu_access = end

static const struct dma_buf_ops kinds[] = {
	[EXPORT_STATIC] = { COMMON, .vmap = map, .vunmap = unmap },
	[EXPORT_MOVING] = { COMMON, .vmap = map, .vunmap = unmap, .pin = pin, .unpin = unpin },
	[EXPORT_UNMAPPED] = { COMMON, .pin = pin, .unpin = unpin },
	[EXPORT_REGISTERS] = {
		COMMON, .vmap = map_registers, .vunmap = unmap, .pin = pin, .unpin = unpin,
	},
};

static long export_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct export_buffer what;
	struct dma_buf *buf;
	int fd;

	if (cmd != EXPORT_BUFFER)
		return -ENOTTY;
	if (copy_from_user(&what, (void __user *)arg, sizeof(what)))
		return -EFAULT;
	if (what.kind >= ARRAY_SIZE(kinds) || !what.size || what.size > EXPORT_MAX)
		return -EINVAL;
	info.ops = &kinds[what.kind];
	info.size = PAGE_ALIGN(what.size);
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = vmalloc_user(info.size);
	if (!info.priv)
		return -ENOMEM;
	buf = dma_buf_export(&info);
	if (IS_ERR(buf)) {
		vfree(info.priv);
		return PTR_ERR(buf);
	}
	count(&buffers, 1);
	fd = dma_buf_fd(buf, O_CLOEXEC);
	if (fd < 0)
		dma_buf_put(buf);
	return fd;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = export_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "mroce_exporter",
	.fops = &operations,
};

module_misc_device(device);
