// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Objects that are only a handle here: protection, thread and parent domains,
 * memory regions and windows, address handles. Any thread, no locks; a domain
 * counts those that refer to it and is busy until they are gone.
 */
#include <errno.h>
#include <stdlib.h>

#include <infiniband/cmd_ioctl.h>

#include "mroce.h"

struct ibv_pd *mroce_alloc_pd(struct ibv_context *context)
{
	struct umroce_alloc_pd_resp resp = {};
	struct ibv_alloc_pd cmd = {};
	struct mroce_pd *pd;
	int ret;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	ret = ibv_cmd_alloc_pd(context, &pd->pd, &cmd, sizeof(cmd),
			       &resp.ibv_resp, sizeof(resp));
	if (ret) {
		free(pd);
		errno = ret;
		return NULL;
	}

	atomic_init(&pd->refs, 0);
	return &pd->pd;
}

int mroce_dealloc_pd(struct ibv_pd *ibpd)
{
	struct mroce_pd *pd = to_mpd(ibpd);
	int ret;

	if (atomic_load(&pd->refs))
		return EBUSY;

	if (pd->parent) {
		if (pd->td)
			atomic_fetch_sub(&pd->td->refs, 1);
		atomic_fetch_sub(&pd->parent->refs, 1);
	} else {
		ret = ibv_cmd_dealloc_pd(ibpd);
		if (ret)
			return ret;
	}

	free(pd);
	return 0;
}

struct ibv_td *mroce_alloc_td(struct ibv_context *context,
			      struct ibv_td_init_attr *attr)
{
	struct mroce_td *td;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}

	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;

	td->td.context = context;
	atomic_init(&td->refs, 0);
	return &td->td;
}

int mroce_dealloc_td(struct ibv_td *ibtd)
{
	struct mroce_td *td = to_mtd(ibtd);

	if (atomic_load(&td->refs))
		return EBUSY;

	free(td);
	return 0;
}

struct ibv_pd *
mroce_alloc_parent_domain(struct ibv_context *context,
			  struct ibv_parent_domain_init_attr *attr)
{
	struct mroce_pd *pd;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;

	/* rings are the module's memory: there is nothing to allocate for */
	if (!check_comp_mask(attr->comp_mask,
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	pd->parent = to_mpd(attr->pd);
	pd->pd.context = context;
	pd->pd.handle = attr->pd->handle;
	atomic_init(&pd->refs, 0);
	atomic_fetch_add(&pd->parent->refs, 1);
	if (attr->td) {
		pd->td = to_mtd(attr->td);
		atomic_fetch_add(&pd->td->refs, 1);
	}
	return &pd->pd;
}

/* one thread at a time uses what is created on it: that is the caller's promise */
bool mroce_pd_single_threaded(struct ibv_pd *pd)
{
	return pd && to_mpd(pd)->td;
}

struct ibv_mr *mroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	ret = ibv_cmd_reg_mr(pd, addr, length, hca_va, access, vmr, &cmd,
			     sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	return &vmr->ibv_mr;
}

/*
 * The attributes are the kernel's and stable; ibv_cmd_reg_dmabuf_mr() has not the
 * same arguments in all trees of one private ABI, so it cannot be called by a
 * provider that is to run under each of them.
 */
struct ibv_mr *mroce_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				   size_t length, uint64_t iova, int fd,
				   int access)
{
	DECLARE_COMMAND_BUFFER(cmdb, UVERBS_OBJECT_MR,
			       UVERBS_METHOD_REG_DMABUF_MR, 9);
	struct ib_uverbs_attr *handle;
	uint32_t lkey, rkey;
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	handle = fill_attr_out_obj(cmdb, UVERBS_ATTR_REG_DMABUF_MR_HANDLE);
	fill_attr_in_obj(cmdb, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd->handle);
	fill_attr_in_uint64(cmdb, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, offset);
	fill_attr_in_uint64(cmdb, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, length);
	fill_attr_in_uint64(cmdb, UVERBS_ATTR_REG_DMABUF_MR_IOVA, iova);
	fill_attr_in_uint32(cmdb, UVERBS_ATTR_REG_DMABUF_MR_FD, fd);
	fill_attr_in_uint32(cmdb, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS,
			    access);
	fill_attr_out_ptr(cmdb, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &lkey);
	fill_attr_out_ptr(cmdb, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &rkey);

	ret = execute_ioctl(pd->context, cmdb);
	if (ret) {
		/* how the core says that a device has no such method */
		errno = ret == EPROTONOSUPPORT ? EOPNOTSUPP : ret;
		free(vmr);
		return NULL;
	}

	vmr->mr_type = IBV_MR_TYPE_DMABUF_MR;
	vmr->ibv_mr.context = pd->context;
	vmr->ibv_mr.pd = pd;
	vmr->ibv_mr.addr = (void *)(uintptr_t)offset;
	vmr->ibv_mr.length = length;
	vmr->ibv_mr.lkey = lkey;
	vmr->ibv_mr.rkey = rkey;
	vmr->ibv_mr.handle =
		read_attr_obj(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, handle);
	return &vmr->ibv_mr;
}

int mroce_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		   void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	return ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
				access, pd, &cmd, sizeof(cmd), &resp,
				sizeof(resp));
}

int mroce_dereg_mr(struct verbs_mr *vmr)
{
	int ret;

	ret = ibv_cmd_dereg_mr(vmr);
	if (ret)
		return ret;

	free(vmr);
	return 0;
}

struct ibv_mw *mroce_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct ibv_mw *mw;
	int ret;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;

	ret = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(mw);
		errno = ret;
		return NULL;
	}
	return mw;
}

int mroce_dealloc_mw(struct ibv_mw *mw)
{
	int ret;

	ret = ibv_cmd_dealloc_mw(mw);
	if (ret)
		return ret;

	free(mw);
	return 0;
}

struct ibv_ah *mroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct umroce_create_ah_resp resp = {};
	struct mroce_ah *ah;
	int ret;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;

	ret = ibv_cmd_create_ah(pd, &ah->ah, attr, &resp.ibv_resp,
				sizeof(resp));
	if (ret) {
		free(ah);
		errno = ret;
		return NULL;
	}

	ah->num = resp.ah;
	return &ah->ah;
}

int mroce_destroy_ah(struct ibv_ah *ibah)
{
	int ret;

	ret = ibv_cmd_destroy_ah(ibah);
	if (ret)
		return ret;

	free(to_mah(ibah));
	return 0;
}
