// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: creation with the mapping of both rings, state changes, the
 * doorbell. The context's list of queue pairs is what a CQ walks when the device
 * is gone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/cmd_ioctl.h>

#include "mroce.h"

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* what a slot can carry is what the module answered, and what fits the stride */
static int map_queue(struct ibv_context *context,
		     const struct mroce_ring_info *info, size_t header,
		     uint32_t max_wr, struct mroce_queue *queue)
{
	int ret;

	if (!info->length)
		return 0;

	ret = mroce_map_ring(context->cmd_fd, info, header, &queue->map);
	if (ret)
		return ret;

	queue->prod = mroce_load(&queue->map.ring->producer);
	queue->cons = mroce_load(&queue->map.ring->consumer);
	queue->limit = min_u32(max_wr, info->entries);
	return 0;
}

static int map_rings(struct mroce_qp *qp, struct ibv_context *context,
		     const struct mroce_create_qp_resp *resp,
		     const struct ibv_qp_cap *cap, bool has_srq)
{
	uint32_t room;
	int ret;

	ret = map_queue(context, &resp->sq, sizeof(struct mroce_sq_wqe),
			cap->max_send_wr, &qp->sq);
	if (ret)
		return ret;

	if (qp->sq.map.ring) {
		room = qp->sq.map.stride - sizeof(struct mroce_sq_wqe);
		qp->sq.max_sge = min_u32(cap->max_send_sge,
					 room / sizeof(struct mroce_sge));
		qp->sq.max_inline = min_u32(cap->max_inline_data, room);
	}

	if (has_srq)
		return 0;

	ret = map_queue(context, &resp->rq, sizeof(struct mroce_rq_wqe),
			cap->max_recv_wr, &qp->rq);
	if (ret)
		return ret;

	if (qp->rq.map.ring) {
		room = qp->rq.map.stride - sizeof(struct mroce_rq_wqe);
		qp->rq.max_sge = min_u32(cap->max_recv_sge,
					 room / sizeof(struct mroce_sge));
	}
	return 0;
}

static void unmap_rings(struct mroce_qp *qp)
{
	mroce_unmap_ring(&qp->sq.map);
	mroce_unmap_ring(&qp->rq.map);
}

/*
 * Say that @vqp has builders. struct ibv_qp_ex grew within one plug-in ABI (by
 * wr_atomic_write and wr_flush), so an older libibverbs looks for the flag where a
 * newer one has such a pointer. False: one that it does not know is there.
 */
static bool set_extended(struct verbs_qp *vqp)
{
	char *flag = (char *)&vqp->comp_mask;
	int slots;

	vqp->comp_mask |= VERBS_QP_EX;
	for (slots = 0; slots < 4 && !ibv_qp_to_qp_ex(&vqp->qp); slots++) {
		flag -= sizeof(void *);
		if (*(void **)flag)
			return false;
		*(uint32_t *)flag = VERBS_QP_EX;
	}
	return true;
}

/*
 * For programs that know nothing of it: MROCE_POLL, microseconds, has the kernel look at their
 * send rings (mroce(7)). It is a wish: without, they ring doorbells.
 */
static void poll_if_wanted(struct mroce_qp *qp)
{
	DECLARE_COMMAND_BUFFER(cmdb, UVERBS_OBJECT_QP, MROCE_METHOD_QP_TUNE, 2);
	const char *wanted = getenv("MROCE_POLL");
	struct mroce_qp_tuning tuning = { .mask = MROCE_TUNE_POLL };
	unsigned long us;
	char *end;
	int err = EINVAL;

	if (!wanted || !qp->sq.map.ring)
		return;
	us = strtoul(wanted, &end, 10);
	if (end != wanted && !*end && us <= MROCE_TUNE_POLL_MAX) {
		tuning.poll = us;
		fill_attr_in_obj(cmdb, MROCE_ATTR_QP_TUNE_HANDLE,
				 qp->vqp.qp.handle);
		fill_attr_in(cmdb, MROCE_ATTR_QP_TUNE_TUNING, &tuning,
			     sizeof(tuning));
		err = execute_ioctl(qp->vqp.qp.context, cmdb);
	}
	if (err)
		verbs_warn(verbs_get_ctx(qp->vqp.qp.context),
			   "MROCE_POLL=%s: no polling: %s\n", wanted,
			   strerror(err));
}

struct ibv_qp *mroce_create_qp_ex(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *attr)
{
	struct mroce_context *ctx = to_mctx(context);
	struct umroce_create_qp_resp resp = {};
	struct ibv_qp_init_attr_ex core = *attr;
	struct umroce_create_qp cmd = {};
	struct mroce_qp *qp;
	bool single, target;
	int ret;

	if (!check_comp_mask(attr->comp_mask,
			     IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) ||
	    ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	     attr->create_flags)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	target = attr->qp_type == IBV_QPT_XRC_RECV;
	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD &&
	    attr->qp_type != IBV_QPT_XRC_SEND && !target) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (target ? !(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) ||
		     !attr->xrcd ||
		     attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS :
		     !(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		errno = EINVAL;
		return NULL;
	}

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;

	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		ret = mroce_init_send_ops(qp, attr->qp_type,
					  attr->send_ops_flags, ctx->caps);
		if (!ret && !set_extended(&qp->vqp))
			ret = EOPNOTSUPP;
		if (ret)
			goto err_free;
	}

	/* it takes no flags, not even none */
	core.comp_mask &= ~IBV_QP_INIT_ATTR_CREATE_FLAGS;
	ret = ibv_cmd_create_qp_ex(context, &qp->vqp, &core, &cmd.ibv_cmd,
				   sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_free;

	attr->cap = core.cap;
	ret = map_rings(qp, context, &resp.drv_payload, &core.cap,
			attr->srq != NULL);
	if (ret)
		goto err_destroy;

	/* again: the command clears it */
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		set_extended(&qp->vqp);
	qp->signal_all = attr->sq_sig_all;
	single = !target && mroce_pd_single_threaded(attr->pd);
	mroce_lock_init(&qp->sq_lock, single);
	mroce_lock_init(&qp->rq_lock, single);

	pthread_mutex_lock(&ctx->qp_mutex);
	list_add_tail(&ctx->qps, &qp->entry);
	pthread_mutex_unlock(&ctx->qp_mutex);
	poll_if_wanted(qp);
	return &qp->vqp.qp;

err_destroy:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
	unmap_rings(qp);
err_free:
	free(qp);
	errno = ret;
	return NULL;
}

struct ibv_qp *mroce_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp;

	qp = mroce_create_qp_ex(pd->context, &attr_ex);
	if (qp)
		attr->cap = attr_ex.cap;
	return qp;
}

/* a target has no queues: there is nothing to map, whoever has created it */
struct ibv_qp *mroce_open_qp(struct ibv_context *context,
			     struct ibv_qp_open_attr *attr)
{
	struct mroce_context *ctx = to_mctx(context);
	struct ib_uverbs_create_qp_resp resp = {};
	struct ibv_open_qp cmd = {};
	struct mroce_qp *qp;
	int ret;

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;

	ret = ibv_cmd_open_qp(context, &qp->vqp, sizeof(qp->vqp), attr, &cmd,
			      sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(qp);
		errno = ret;
		return NULL;
	}

	mroce_lock_init(&qp->sq_lock, false);
	mroce_lock_init(&qp->rq_lock, false);
	pthread_mutex_lock(&ctx->qp_mutex);
	list_add_tail(&ctx->qps, &qp->entry);
	pthread_mutex_unlock(&ctx->qp_mutex);
	return &qp->vqp.qp;
}

struct ibv_xrcd *mroce_open_xrcd(struct ibv_context *context,
				 struct ibv_xrcd_init_attr *attr)
{
	struct ib_uverbs_open_xrcd_resp resp = {};
	struct ibv_open_xrcd cmd = {};
	struct verbs_xrcd *xrcd;
	int ret;

	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return NULL;

	ret = ibv_cmd_open_xrcd(context, xrcd, sizeof(*xrcd), attr, &cmd,
				sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(xrcd);
		errno = ret;
		return NULL;
	}
	return &xrcd->xrcd;
}

int mroce_close_xrcd(struct ibv_xrcd *ibxrcd)
{
	struct verbs_xrcd *xrcd = container_of(ibxrcd, struct verbs_xrcd, xrcd);
	int ret;

	ret = ibv_cmd_close_xrcd(xrcd);
	if (ret)
		return ret;

	free(xrcd);
	return 0;
}

int mroce_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd = {};

	return ibv_cmd_query_qp(ibqp, attr, mask, init_attr, &cmd,
				sizeof(cmd));
}

/* neither queue may hold a completion of @qp once this returns */
static void purge_completions(struct mroce_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	if (ibqp->send_cq)
		mroce_purge_cq(to_mcq(ibqp->send_cq), ibqp->qp_num);
	if (ibqp->recv_cq && ibqp->recv_cq != ibqp->send_cq)
		mroce_purge_cq(to_mcq(ibqp->recv_cq), ibqp->qp_num);
}

int mroce_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	struct ibv_modify_qp cmd = {};
	int ret;

	ret = ibv_cmd_modify_qp(ibqp, attr, mask, &cmd, sizeof(cmd));
	if (ret)
		return ret;

	/* the module has discarded both rings up to their producers */
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET)
		purge_completions(qp);
	return 0;
}

int mroce_destroy_qp(struct ibv_qp *ibqp)
{
	struct mroce_context *ctx = to_mctx(ibqp->context);
	struct mroce_qp *qp = to_mqp(ibqp);
	int ret;

	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret)
		return ret;

	pthread_mutex_lock(&ctx->qp_mutex);
	list_del(&qp->entry);
	pthread_mutex_unlock(&ctx->qp_mutex);

	purge_completions(qp);
	unmap_rings(qp);
	mroce_lock_destroy(&qp->sq_lock);
	mroce_lock_destroy(&qp->rq_lock);
	free(qp);
	return 0;
}

/*
 * A flag in the first packet of a long Write may become visible before data in
 * later ones, and nothing orders whole messages of relaxed memory: no promise.
 */
int mroce_query_qp_data_in_order(struct ibv_qp *ibqp, enum ibv_wr_opcode op,
				 uint32_t flags)
{
	return 0;
}

/*
 * EIO means that the device was removed. The requests are in the ring and will be
 * completed as flushed when the CQ is polled, so posting them has succeeded.
 */
int mroce_qp_doorbell(struct mroce_qp *qp, uint32_t flags)
{
	DECLARE_COMMAND_BUFFER(cmdb, UVERBS_OBJECT_QP,
			       MROCE_METHOD_QP_DOORBELL, 2);
	int ret;

	fill_attr_in_obj(cmdb, MROCE_ATTR_QP_DOORBELL_HANDLE,
			 qp->vqp.qp.handle);
	fill_attr_in_uint32(cmdb, MROCE_ATTR_QP_DOORBELL_FLAGS, flags);

	ret = execute_ioctl(qp->vqp.qp.context, cmdb);
	return ret == EIO ? 0 : ret;
}
