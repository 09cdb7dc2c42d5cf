// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting receives, to the ring of a queue pair or to a shared one, and the SRQ
 * itself. A ring's lock covers filling and publishing; the doorbell, which is
 * needed only while a sender waits for a buffer, is rung after it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/cmd_ioctl.h>

#include "mroce.h"

/*
 * Fill slots with the list and publish them. Returns 0, or why @bad_wr was not
 * taken; those before it were. @doorbell: a sender waits for what was published.
 */
static int fill_ring(struct mroce_queue *rq, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr, bool *doorbell)
{
	uint32_t start = rq->prod;
	struct mroce_rq_wqe *wqe;
	int ret = 0;

	for (; wr; wr = wr->next) {
		if (mroce_queue_full(rq)) {
			ret = ENOMEM;
			break;
		}
		if (wr->num_sge < 0 || (uint32_t)wr->num_sge > rq->max_sge) {
			ret = EINVAL;
			break;
		}
		wqe = mroce_slot(&rq->map, rq->prod);
		wqe->wr_id = wr->wr_id;
		wqe->num_sge = wr->num_sge;
		wqe->reserved = 0;
		if (wr->num_sge)
			memcpy(wqe + 1, wr->sg_list,
			       wr->num_sge * sizeof(struct mroce_sge));
		rq->prod++;
	}

	if (ret)
		*bad_wr = wr;
	*doorbell = false;
	if (rq->prod != start) {
		mroce_queue_publish(rq);
		*doorbell = mroce_queue_wants_doorbell(rq);
	}
	return ret;
}

int mroce_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	struct ibv_recv_wr *first = wr;
	bool doorbell;
	int ret;

	if (ibqp->srq || ibqp->state == IBV_QPS_RESET) {
		*bad_wr = wr;
		return EINVAL;
	}

	mroce_lock(&qp->rq_lock);
	ret = fill_ring(&qp->rq, wr, bad_wr, &doorbell);
	mroce_unlock(&qp->rq_lock);

	if (doorbell) {
		int err = mroce_qp_doorbell(qp, MROCE_DOORBELL_RQ);

		if (err && !ret) {
			*bad_wr = first;
			ret = err;
		}
	}
	return ret;
}

static int srq_doorbell(struct mroce_srq *srq)
{
	DECLARE_COMMAND_BUFFER(cmdb, UVERBS_OBJECT_SRQ,
			       MROCE_METHOD_SRQ_DOORBELL, 1);
	int ret;

	fill_attr_in_obj(cmdb, MROCE_ATTR_SRQ_DOORBELL_HANDLE,
			 srq->vsrq.srq.handle);

	ret = execute_ioctl(srq->vsrq.srq.context, cmdb);
	return ret == EIO ? 0 : ret;
}

int mroce_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	struct mroce_srq *srq = to_msrq(ibsrq);
	struct ibv_recv_wr *first = wr;
	bool doorbell;
	int ret;

	mroce_lock(&srq->lock);
	ret = fill_ring(&srq->rq, wr, bad_wr, &doorbell);
	mroce_unlock(&srq->lock);

	if (doorbell) {
		int err = srq_doorbell(srq);

		if (err && !ret) {
			*bad_wr = first;
			ret = err;
		}
	}
	return ret;
}

static int map_srq(struct mroce_srq *srq, const struct mroce_ring_info *info,
		   const struct ibv_srq_attr *attr)
{
	struct mroce_queue *rq = &srq->rq;
	uint32_t room;
	int ret;

	ret = mroce_map_ring(srq->vsrq.srq.context->cmd_fd, info,
			     sizeof(struct mroce_rq_wqe), &rq->map);
	if (ret)
		return ret;

	room = rq->map.stride - sizeof(struct mroce_rq_wqe);
	rq->prod = mroce_load(&rq->map.ring->producer);
	rq->cons = mroce_load(&rq->map.ring->consumer);
	rq->limit = attr->max_wr < info->entries ? attr->max_wr :
						   info->entries;
	rq->max_sge = room / sizeof(struct mroce_sge);
	if (attr->max_sge < rq->max_sge)
		rq->max_sge = attr->max_sge;
	return 0;
}

/* What there is to do of an SRQ of either type. @ret: what came of its creation. */
static struct ibv_srq *created(struct mroce_srq *srq, int ret,
			       const struct mroce_create_srq_resp *resp,
			       struct ibv_pd *pd, struct ibv_srq_attr *attr)
{
	if (ret)
		goto err_free;

	ret = map_srq(srq, &resp->rq, attr);
	if (ret)
		goto err_destroy;

	srq->vsrq.srq_num = resp->srqn;
	mroce_lock_init(&srq->lock, mroce_pd_single_threaded(pd));
	return &srq->vsrq.srq;

err_destroy:
	ibv_cmd_destroy_srq(&srq->vsrq.srq);
err_free:
	free(srq);
	errno = ret;
	return NULL;
}

struct ibv_srq *mroce_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr)
{
	struct umroce_create_srq_resp resp = {};
	struct umroce_create_srq cmd = {};
	struct mroce_srq *srq;
	int ret;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;

	/* @attr receives the sizes that the module chose */
	ret = ibv_cmd_create_srq(pd, &srq->vsrq.srq, attr, &cmd.ibv_cmd,
				 sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	srq->vsrq.srq_type = IBV_SRQT_BASIC;
	return created(srq, ret, &resp.drv_payload, pd, &attr->attr);
}

/* basic ones come by mroce_create_srq() */
struct ibv_srq *mroce_create_srq_ex(struct ibv_context *context,
				    struct ibv_srq_init_attr_ex *attr)
{
	struct umroce_create_srq_ex_resp resp = {};
	struct umroce_create_srq_ex cmd = {};
	struct mroce_srq *srq;
	int ret;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) ||
	    attr->srq_type != IBV_SRQT_XRC ||
	    !check_comp_mask(attr->comp_mask, IBV_SRQ_INIT_ATTR_TYPE |
					      IBV_SRQ_INIT_ATTR_PD |
					      IBV_SRQ_INIT_ATTR_XRCD |
					      IBV_SRQ_INIT_ATTR_CQ)) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;

	ret = ibv_cmd_create_srq_ex(context, &srq->vsrq, attr, &cmd.ibv_cmd,
				    sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	return created(srq, ret, &resp.drv_payload, attr->pd, &attr->attr);
}

int mroce_get_srq_num(struct ibv_srq *ibsrq, uint32_t *num)
{
	struct mroce_srq *srq = to_msrq(ibsrq);

	if (srq->vsrq.srq_type != IBV_SRQT_XRC)
		return EOPNOTSUPP;
	*num = srq->vsrq.srq_num;
	return 0;
}

/* under the lock of the ring: nothing is posted until the new one is there */
static int resize_ring(struct mroce_srq *srq, uint32_t max_wr)
{
	struct ibv_context *context = srq->vsrq.srq.context;
	DECLARE_COMMAND_BUFFER(cmdb, UVERBS_OBJECT_SRQ,
			       MROCE_METHOD_SRQ_RESIZE, 3);
	struct mroce_ring_info info = {};
	struct mroce_map map = {};
	int ret;

	fill_attr_in_obj(cmdb, MROCE_ATTR_SRQ_RESIZE_HANDLE,
			 srq->vsrq.srq.handle);
	fill_attr_in_uint32(cmdb, MROCE_ATTR_SRQ_RESIZE_WR, max_wr);
	fill_attr_out_ptr(cmdb, MROCE_ATTR_SRQ_RESIZE_RING, &info);
	ret = execute_ioctl(context, cmdb);
	if (ret)
		return ret;

	ret = mroce_map_ring(context->cmd_fd, &info,
			     sizeof(struct mroce_rq_wqe), &map);
	mroce_unmap_ring(&srq->rq.map);
	/* the module reads the new one all the same: without it all is full */
	srq->rq.limit = 0;
	if (ret)
		return ret;
	srq->rq.map = map;
	srq->rq.prod = mroce_load(&map.ring->producer);
	srq->rq.cons = mroce_load(&map.ring->consumer);
	srq->rq.limit = info.entries;
	return 0;
}

int mroce_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int mask)
{
	struct mroce_srq *srq = to_msrq(ibsrq);
	struct ibv_modify_srq cmd = {};
	int ret;

	if (mask & IBV_SRQ_MAX_WR) {
		if (!(to_mctx(ibsrq->context)->caps & MROCE_CAP_SRQ_RESIZE))
			return EOPNOTSUPP;
		mroce_lock(&srq->lock);
		ret = resize_ring(srq, attr->max_wr);
		mroce_unlock(&srq->lock);
		mask &= ~IBV_SRQ_MAX_WR;
		if (ret || !mask)
			return ret;
	}
	return ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd, sizeof(cmd));
}

int mroce_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd = {};

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

int mroce_destroy_srq(struct ibv_srq *ibsrq)
{
	struct mroce_srq *srq = to_msrq(ibsrq);
	int ret;

	ret = ibv_cmd_destroy_srq(ibsrq);
	if (ret)
		return ret;

	mroce_unmap_ring(&srq->rq.map);
	mroce_lock_destroy(&srq->lock);
	free(srq);
	return 0;
}
