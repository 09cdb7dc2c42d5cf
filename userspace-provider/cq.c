// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues: taking completions from the mapped ring, by both polling
 * interfaces, without a system call. A CQ's lock covers its ring, its indices and,
 * once the device is gone, the consumers of the queues that complete to it; from
 * start_poll to end_poll the polling thread holds it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mroce.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool flush_queue(struct mroce_cq *cq, struct mroce_qp *qp,
			struct mroce_queue *queue, enum ibv_wc_opcode opcode)
{
	uint64_t wr_id;

	if (!mroce_queue_flush(queue, &wr_id))
		return false;

	cq->flush = (struct mroce_cqe){
		.wr_id = wr_id,
		.timestamp = clock_ns(CLOCK_MONOTONIC_RAW),
		.status = IBV_WC_WR_FLUSH_ERR,
		.opcode = opcode,
		.qpn = qp->vqp.qp.qp_num,
	};
	return true;
}

/*
 * The device is gone and the module will write no more: complete here what is
 * still outstanding on this CQ's queue pairs, so that a program that waits for all
 * its completions gets them. Buffers of an SRQ are not flushed, as with a queue
 * pair in the error state.
 */
static const struct mroce_cqe *flush_next(struct mroce_cq *cq)
{
	struct mroce_context *ctx = to_mctx(cq->vcq.cq.context);
	const struct mroce_cqe *cqe = NULL;
	struct mroce_qp *qp;

	pthread_mutex_lock(&ctx->qp_mutex);
	list_for_each(&ctx->qps, qp, entry) {
		struct ibv_qp *ibqp = &qp->vqp.qp;

		if ((ibqp->send_cq == &cq->vcq.cq &&
		     flush_queue(cq, qp, &qp->sq, IBV_WC_SEND)) ||
		    (ibqp->recv_cq == &cq->vcq.cq && !ibqp->srq &&
		     flush_queue(cq, qp, &qp->rq, IBV_WC_RECV))) {
			cqe = &cq->flush;
			break;
		}
	}
	pthread_mutex_unlock(&ctx->qp_mutex);
	return cqe;
}

static inline bool cq_refill(struct mroce_cq *cq)
{
	cq->prod = mroce_load(&cq->map.ring->producer);
	return cq->prod != cq->cons;
}

/* the ring is empty, and the module says that more is amiss than that */
static const struct mroce_cqe *take_exceptional(struct mroce_cq *cq, int *err)
{
	const struct mroce_cqe *cqe;
	uint32_t flags;

	if (cq->lost) {
		*err = ENOMEM;
		return NULL;
	}

	flags = mroce_load(&cq->map.ring->flags);
	/* what was written before the flag, but after the last look */
	if (cq_refill(cq))
		return mroce_slot(&cq->map, cq->cons++);

	if (flags & MROCE_RING_GONE) {
		cqe = flush_next(cq);
		if (cqe)
			return cqe;
	}
	if (flags & MROCE_RING_OVERFLOW)
		*err = EOVERFLOW;
	return NULL;
}

/*
 * The next completion, valid until cq_release(), or NULL: none, or an error. The
 * slot stays this thread's until the ring's consumer passes it.
 */
static inline const struct mroce_cqe *cq_take(struct mroce_cq *cq, int *err)
{
	if (cq->cons == cq->prod) {
		if (cq->lost)
			return take_exceptional(cq, err);
		if (!cq_refill(cq)) {
			if (!mroce_load(&cq->map.ring->flags))
				return NULL;
			return take_exceptional(cq, err);
		}
	}
	return mroce_slot(&cq->map, cq->cons++);
}

static inline void cq_release(struct mroce_cq *cq)
{
	if (!cq->lost)
		mroce_store(&cq->map.ring->consumer, cq->cons);
}

static inline unsigned int cqe_wc_flags(const struct mroce_cqe *cqe)
{
	unsigned int flags = 0;

	if (cqe->flags & MROCE_CQE_GRH)
		flags |= IBV_WC_GRH;
	if (cqe->flags & MROCE_CQE_IMM)
		flags |= IBV_WC_WITH_IMM;
	if (cqe->flags & MROCE_CQE_INV)
		flags |= IBV_WC_WITH_INV;
	return flags;
}

/*
 * Ethernet has no service level. In its place RoCE adapters report what kind of header a
 * datagram had, for nothing else of a completion says it. UCX believes that of every device, and
 * drops datagrams over IPv4 if this is 0.
 */
#define SL_ROCE_V2	(1u << 3)
#define SL_IPV6		1
#define SL_IPV4		2

static inline uint8_t cqe_sl(const struct mroce_cqe *cqe)
{
	if (!(cqe->flags & MROCE_CQE_GRH))
		return 0;
	return SL_ROCE_V2 | (cqe->flags & MROCE_CQE_IPV4 ? SL_IPV4 : SL_IPV6);
}

int mroce_poll_cq(struct ibv_cq *ibcq, int num, struct ibv_wc *wc)
{
	struct mroce_cq *cq = to_mcq(ibcq);
	const struct mroce_cqe *cqe;
	int err = 0;
	int n;

	mroce_lock(&cq->lock);
	for (n = 0; n < num; n++, wc++) {
		cqe = cq_take(cq, &err);
		if (!cqe)
			break;
		memset(wc, 0, sizeof(*wc));
		wc->wr_id = cqe->wr_id;
		wc->status = cqe->status;
		wc->opcode = cqe->opcode;
		wc->vendor_err = cqe->vendor_err;
		wc->byte_len = cqe->byte_len;
		wc->imm_data = cqe->imm;	/* or the rkey: one union */
		wc->qp_num = cqe->qpn;
		wc->src_qp = cqe->src_qp;
		wc->wc_flags = cqe_wc_flags(cqe);
		wc->sl = cqe_sl(cqe);
	}
	if (n)
		cq_release(cq);
	mroce_unlock(&cq->lock);

	/* an error waits for its turn: first what came before it */
	return n || !err ? n : -err;
}

static inline struct mroce_cq *to_mcq_ex(struct ibv_cq_ex *ibcq)
{
	return to_mcq(ibv_cq_ex_to_cq(ibcq));
}

static int poll_one(struct ibv_cq_ex *ibcq)
{
	struct mroce_cq *cq = to_mcq_ex(ibcq);
	int err = 0;

	cq->cur = cq_take(cq, &err);
	if (!cq->cur)
		return err ? err : ENOENT;

	ibcq->wr_id = cq->cur->wr_id;
	ibcq->status = cq->cur->status;
	return 0;
}

static int mroce_next_poll(struct ibv_cq_ex *ibcq)
{
	/* the last one has been read: the program may post again in its place */
	cq_release(to_mcq_ex(ibcq));
	return poll_one(ibcq);
}

static int mroce_start_poll(struct ibv_cq_ex *ibcq,
			    struct ibv_poll_cq_attr *attr)
{
	struct mroce_cq *cq = to_mcq_ex(ibcq);
	int ret;

	if (attr->comp_mask)
		return EINVAL;

	mroce_lock(&cq->lock);
	ret = poll_one(ibcq);
	/* then there is no end_poll */
	if (ret)
		mroce_unlock(&cq->lock);
	return ret;
}

static void mroce_end_poll(struct ibv_cq_ex *ibcq)
{
	struct mroce_cq *cq = to_mcq_ex(ibcq);

	cq_release(cq);
	cq->cur = NULL;
	mroce_unlock(&cq->lock);
}

static enum ibv_wc_opcode mroce_read_opcode(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cur->opcode;
}

static uint32_t mroce_read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cur->vendor_err;
}

static uint32_t mroce_read_byte_len(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cur->byte_len;
}

static __be32 mroce_read_imm_data(struct ibv_cq_ex *ibcq)
{
	return (__force __be32)to_mcq_ex(ibcq)->cur->imm;
}

static uint32_t mroce_read_qp_num(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cur->qpn;
}

static uint32_t mroce_read_src_qp(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cur->src_qp;
}

static unsigned int mroce_read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return cqe_wc_flags(to_mcq_ex(ibcq)->cur);
}

/* Ethernet has none of these two */
static uint32_t mroce_read_slid(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t mroce_read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t mroce_read_sl(struct ibv_cq_ex *ibcq)
{
	return cqe_sl(to_mcq_ex(ibcq)->cur);
}

static uint64_t mroce_read_completion_ts(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cur->timestamp;
}

static uint64_t mroce_read_completion_wallclock_ns(struct ibv_cq_ex *ibcq)
{
	uint64_t age = clock_ns(CLOCK_MONOTONIC_RAW) -
		       to_mcq_ex(ibcq)->cur->timestamp;

	return clock_ns(CLOCK_REALTIME) - age;
}

static void init_poll_ops(struct ibv_cq_ex *cq, uint64_t wc_flags)
{
	cq->start_poll = mroce_start_poll;
	cq->next_poll = mroce_next_poll;
	cq->end_poll = mroce_end_poll;
	cq->read_opcode = mroce_read_opcode;
	cq->read_vendor_err = mroce_read_vendor_err;
	cq->read_wc_flags = mroce_read_wc_flags;

	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		cq->read_byte_len = mroce_read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		cq->read_imm_data = mroce_read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		cq->read_qp_num = mroce_read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		cq->read_src_qp = mroce_read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		cq->read_slid = mroce_read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		cq->read_sl = mroce_read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		cq->read_dlid_path_bits = mroce_read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cq->read_completion_ts = mroce_read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		cq->read_completion_wallclock_ns =
			mroce_read_completion_wallclock_ns;
}

static struct mroce_cq *create_cq(struct ibv_context *context, int cqe,
				  struct ibv_comp_channel *channel,
				  int comp_vector, bool single_threaded)
{
	struct umroce_create_cq_resp resp = {};
	struct umroce_create_cq cmd = {};
	struct mroce_cq *cq;
	int ret;

	if (cqe <= 0) {
		errno = EINVAL;
		return NULL;
	}

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;

	ret = ibv_cmd_create_cq(context, cqe, channel, comp_vector,
				&cq->vcq.cq, &cmd.ibv_cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_free;

	ret = mroce_map_ring(context->cmd_fd, &resp.cq,
			     sizeof(struct mroce_cqe), &cq->map);
	if (ret)
		goto err_destroy;

	cq->cons = mroce_load(&cq->map.ring->consumer);
	cq->prod = cq->cons;
	mroce_lock_init(&cq->lock, single_threaded);
	return cq;

err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	free(cq);
	errno = ret;
	return NULL;
}

struct ibv_cq *mroce_create_cq(struct ibv_context *context, int cqe,
			       struct ibv_comp_channel *channel,
			       int comp_vector)
{
	struct mroce_cq *cq;

	cq = create_cq(context, cqe, channel, comp_vector, false);
	return cq ? &cq->vcq.cq : NULL;
}

struct ibv_cq_ex *mroce_create_cq_ex(struct ibv_context *context,
				     struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t wc_flags =
		IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	bool single_threaded = false;
	struct mroce_cq *cq;

	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
					      IBV_CQ_INIT_ATTR_MASK_PD) ||
	    !check_comp_mask(attr->wc_flags, wc_flags)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) {
		/* an overrun always errors the CQ: it cannot be ignored */
		if (!check_comp_mask(attr->flags,
				     IBV_CREATE_CQ_ATTR_SINGLE_THREADED)) {
			errno = EOPNOTSUPP;
			return NULL;
		}
		if (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
			single_threaded = true;
	}
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		if (!attr->parent_domain ||
		    !to_mpd(attr->parent_domain)->parent) {
			errno = EINVAL;
			return NULL;
		}
		if (mroce_pd_single_threaded(attr->parent_domain))
			single_threaded = true;
	}

	cq = create_cq(context, attr->cqe, attr->channel, attr->comp_vector,
		       single_threaded);
	if (!cq)
		return NULL;

	init_poll_ops(&cq->vcq.cq_ex, attr->wc_flags);
	return &cq->vcq.cq_ex;
}

/*
 * The module moves what was not polled; under the lock nobody polls meanwhile, and
 * the consumer that it goes by is up to date whenever the lock is free.
 */
int mroce_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct umroce_resize_cq_resp resp = {};
	struct umroce_resize_cq cmd = {};
	struct mroce_cq *cq = to_mcq(ibcq);
	struct mroce_map map = {};
	int ret;

	if (cqe <= 0)
		return EINVAL;

	mroce_lock(&cq->lock);
	ret = ibv_cmd_resize_cq(ibcq, cqe, &cmd.ibv_cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp));
	if (ret)
		goto unlock;

	ret = mroce_map_ring(ibcq->context->cmd_fd, &resp.cq,
			     sizeof(struct mroce_cqe), &map);
	mroce_unmap_ring(&cq->map);
	/* the module writes to the new ring all the same: no way back */
	cq->lost = ret != 0;
	if (!ret) {
		cq->map = map;
		cq->cons = mroce_load(&map.ring->consumer);
		cq->prod = cq->cons;
	} else {
		cq->prod = cq->cons;
	}
unlock:
	mroce_unlock(&cq->lock);
	return ret;
}

int mroce_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}

int mroce_destroy_cq(struct ibv_cq *ibcq)
{
	struct mroce_cq *cq = to_mcq(ibcq);
	int ret;

	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;

	mroce_unmap_ring(&cq->map);
	mroce_lock_destroy(&cq->lock);
	free(cq);
	return 0;
}

/*
 * Drop the completions of a queue pair that was destroyed or reset. The slots
 * between consumer and producer are the program's: those to keep move up, towards
 * the producer, and the consumer follows.
 */
void mroce_purge_cq(struct mroce_cq *cq, uint32_t qpn)
{
	uint32_t from, to;

	mroce_lock(&cq->lock);
	if (cq->lost)
		goto unlock;

	cq_refill(cq);
	to = cq->prod;
	for (from = cq->prod; from != cq->cons;) {
		const struct mroce_cqe *cqe = mroce_slot(&cq->map, --from);

		if (cqe->qpn == qpn)
			continue;
		if (--to != from)
			memcpy(mroce_slot(&cq->map, to), cqe, sizeof(*cqe));
	}
	if (to != cq->cons) {
		cq->cons = to;
		cq_release(cq);
	}
unlock:
	mroce_unlock(&cq->lock);
}
