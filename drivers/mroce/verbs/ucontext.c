// SPDX-License-Identifier: GPL-2.0
/*
 * A program that has the device open: the version handshake with its provider, the
 * module reference that it holds (rule 41), and the mapping of rings. Process context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/module.h>
#include <rdma/uverbs_ioctl.h>

#include "objects.h"

int mroce_respond(struct ib_udata *udata, void *resp, size_t len)
{
	if (udata->outlen < len)
		return -EINVAL;
	return ib_copy_to_udata(udata, resp, len);
}

struct ib_ucontext *mroce_udata_ucontext(struct ib_udata *udata)
{
	struct mroce_ucontext *uctx = rdma_udata_to_drv_context(udata, struct mroce_ucontext, ib);

	return uctx ? &uctx->ib : NULL;
}

/* EPROTONOSUPPORT would say it better, but of that the core warns, with a trace. */
int mroce_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata)
{
	struct mroce_ucontext *uctx = container_of(ib, struct mroce_ucontext, ib);
	struct mroce_alloc_ucontext_resp resp = {};
	struct mroce_alloc_ucontext_req req;
	int err;

	if (udata->inlen < sizeof(req)) {
		ibdev_warn(ib->device, "%s: not a provider of this device\n", current->comm);
		return -EOPNOTSUPP;
	}
	err = ib_copy_from_udata(&req, udata, sizeof(req));
	if (err)
		return err;

	if (req.abi_min > MROCE_ABI_VERSION || req.abi_max < MROCE_ABI_VERSION) {
		ibdev_warn(ib->device,
			   "%s: provider speaks ABI versions %u to %u, the module %u: update %s\n",
			   current->comm, req.abi_min, req.abi_max, MROCE_ABI_VERSION,
			   req.abi_min > MROCE_ABI_VERSION ? "the module" : "rdma-core's provider");
		return -EOPNOTSUPP;
	}

	/* so that rmmod is refused; with disassociate_ucontext the core takes none */
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;

	uctx->abi = MROCE_ABI_VERSION;
	resp.abi = uctx->abi;
	resp.caps = MROCE_CAP_SRQ_RESIZE | (mroce_has_placement() ? MROCE_CAP_PLACEMENT : 0);
	err = mroce_respond(udata, &resp, sizeof(resp));
	if (err)
		module_put(THIS_MODULE);
	return err;
}

/* Also when the device is taken away under the program, which may then run on without us. */
void mroce_dealloc_ucontext(struct ib_ucontext *ib)
{
	module_put(THIS_MODULE);
}

int mroce_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int err;

	entry = rdma_user_mmap_entry_get(ib, vma);
	if (!entry)
		return -EINVAL;

	err = mroce_kring_mmap(entry, vma);
	/* not the core's, which would follow the VMA: it has all its pages, for good */
	if (!err)
		vma->vm_ops = NULL;
	rdma_user_mmap_entry_put(entry);
	return err;
}
