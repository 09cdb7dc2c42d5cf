// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registration with libibverbs, the context and its version handshake, and the
 * queries that concern the device as a whole; also the mapping of rings.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "mroce.h"

static const struct verbs_match_ent mroce_match[] = {
	VERBS_DRIVER_ID(MROCE_DRIVER_ID),
	{},
};

int mroce_map_ring(int fd, const struct mroce_ring_info *info,
		   size_t min_stride, struct mroce_map *map)
{
	uint64_t need = MROCE_RING_HEADER +
			(uint64_t)info->entries * info->stride;
	void *area;

	if (!info->entries || (info->entries & (info->entries - 1)) ||
	    info->stride < min_stride || info->stride % sizeof(uint64_t) ||
	    info->length < need)
		return EINVAL;

	area = mmap(NULL, info->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    info->offset);
	if (area == MAP_FAILED)
		return errno;

	map->ring = area;
	map->slots = (uint8_t *)area + MROCE_RING_HEADER;
	map->length = info->length;
	map->mask = info->entries - 1;
	map->stride = info->stride;
	return 0;
}

void mroce_unmap_ring(struct mroce_map *map)
{
	if (map->ring)
		munmap(map->ring, map->length);
	map->ring = NULL;
}

static int mroce_query_device_ex(struct ibv_context *context,
				 const struct ibv_query_device_ex_input *input,
				 struct ibv_device_attr_ex *attr,
				 size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t version;
	int ret;

	ret = ibv_cmd_query_device_any(context, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;

	version = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(version >> 32) & 0xffff,
		 (unsigned int)(version >> 16) & 0xffff,
		 (unsigned int)version & 0xffff);

	/* the ABI gives completions in ns of CLOCK_MONOTONIC_RAW; unit: kHz */
	if (attr_size >= offsetof(struct ibv_device_attr_ex, hca_core_clock) +
				 sizeof(attr->hca_core_clock)) {
		attr->completion_timestamp_mask = UINT64_MAX;
		attr->hca_core_clock = 1000000;
	}
	return 0;
}

static int mroce_query_port(struct ibv_context *context, uint8_t port,
			    struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd = {};

	return ibv_cmd_query_port(context, port, attr, &cmd, sizeof(cmd));
}

static int mroce_query_rt_values(struct ibv_context *context,
				 struct ibv_values_ex *values)
{
	if (!check_comp_mask(values->comp_mask, IBV_VALUES_MASK_RAW_CLOCK))
		return EOPNOTSUPP;

	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK &&
	    clock_gettime(CLOCK_MONOTONIC_RAW, &values->raw_clock))
		return errno;
	return 0;
}

static void mroce_free_context(struct ibv_context *context)
{
	struct mroce_context *ctx = to_mctx(context);

	pthread_mutex_destroy(&ctx->qp_mutex);
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static const struct verbs_context_ops mroce_context_ops = {
	.advise_mr = ibv_cmd_advise_mr,
	.alloc_mw = mroce_alloc_mw,
	.alloc_parent_domain = mroce_alloc_parent_domain,
	.alloc_pd = mroce_alloc_pd,
	.alloc_td = mroce_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = mroce_bind_mw,
	.close_xrcd = mroce_close_xrcd,
	.create_ah = mroce_create_ah,
	.create_cq = mroce_create_cq,
	.create_cq_ex = mroce_create_cq_ex,
	.create_qp = mroce_create_qp,
	.create_qp_ex = mroce_create_qp_ex,
	.create_srq = mroce_create_srq,
	.create_srq_ex = mroce_create_srq_ex,
	.dealloc_mw = mroce_dealloc_mw,
	.dealloc_pd = mroce_dealloc_pd,
	.dealloc_td = mroce_dealloc_td,
	.dereg_mr = mroce_dereg_mr,
	.destroy_ah = mroce_destroy_ah,
	.destroy_cq = mroce_destroy_cq,
	.destroy_qp = mroce_destroy_qp,
	.destroy_srq = mroce_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = mroce_free_context,
	.get_srq_num = mroce_get_srq_num,
	.modify_cq = mroce_modify_cq,
	.modify_qp = mroce_modify_qp,
	.modify_srq = mroce_modify_srq,
	.open_qp = mroce_open_qp,
	.open_xrcd = mroce_open_xrcd,
	.poll_cq = mroce_poll_cq,
	.post_recv = mroce_post_recv,
	.post_send = mroce_post_send,
	.post_srq_recv = mroce_post_srq_recv,
	.query_device_ex = mroce_query_device_ex,
	.query_port = mroce_query_port,
	.query_qp = mroce_query_qp,
	.query_qp_data_in_order = mroce_query_qp_data_in_order,
	.query_rt_values = mroce_query_rt_values,
	.query_srq = mroce_query_srq,
	.reg_dmabuf_mr = mroce_reg_dmabuf_mr,
	.reg_mr = mroce_reg_mr,
	.req_notify_cq = ibv_cmd_req_notify_cq,
	.rereg_mr = mroce_rereg_mr,
	.resize_cq = mroce_resize_cq,
};

static int mroce_get_context(struct mroce_context *ctx)
{
	struct umroce_get_context cmd = {};
	struct umroce_get_context_resp resp = {};
	int ret;

	cmd.abi_min = MROCE_ABI_VERSION;
	cmd.abi_max = MROCE_ABI_VERSION;
#ifdef MROCE_GET_CONTEXT_FD_ARR
	ret = ibv_cmd_get_context(&ctx->vctx, &cmd.ibv_cmd, sizeof(cmd), NULL,
				  &resp.ibv_resp, sizeof(resp));
#else
	ret = ibv_cmd_get_context(&ctx->vctx, &cmd.ibv_cmd, sizeof(cmd),
				  &resp.ibv_resp, sizeof(resp));
#endif
	if (!ret && resp.abi != MROCE_ABI_VERSION)
		ret = EOPNOTSUPP;
	ctx->caps = resp.caps;
	if (ret == EOPNOTSUPP)
		verbs_err(&ctx->vctx,
			  "the mroce module does not speak ABI version %u; update the module or this provider\n",
			  MROCE_ABI_VERSION);
	return ret;
}

static struct verbs_context *mroce_alloc_context(struct ibv_device *device,
						 int cmd_fd, void *private_data)
{
	struct mroce_context *ctx;
	int ret;

	ctx = verbs_init_and_alloc_context(device, cmd_fd, ctx, vctx,
					   MROCE_DRIVER_ID);
	if (!ctx)
		return NULL;

	list_head_init(&ctx->qps);
	pthread_mutex_init(&ctx->qp_mutex, NULL);

	ret = mroce_get_context(ctx);
	if (ret) {
		mroce_free_context(&ctx->vctx.context);
		errno = ret;
		return NULL;
	}

	verbs_set_ops(&ctx->vctx, &mroce_context_ops);
	return &ctx->vctx;
}

static struct verbs_device *mroce_alloc_device(struct verbs_sysfs_dev *sysfs)
{
	struct mroce_device *dev;

	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return NULL;

	return &dev->vdev;
}

static void mroce_uninit_device(struct verbs_device *vdev)
{
	free(to_mdev(&vdev->device));
}

static const struct verbs_device_ops mroce_dev_ops = {
	.name = "mroce",
	.match_min_abi_version = MROCE_UVERBS_ABI,
	.match_max_abi_version = MROCE_UVERBS_ABI,
	.match_table = mroce_match,
	.alloc_device = mroce_alloc_device,
	.uninit_device = mroce_uninit_device,
	.alloc_context = mroce_alloc_context,
};
PROVIDER_DRIVER(mroce, mroce_dev_ops);
