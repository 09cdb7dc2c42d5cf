// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting sends, by lists (ibv_post_send) and by the ibv_wr_* builders. Both fill
 * slots of the send ring under its lock, publish them with one release store, and
 * ring the doorbell once for all of them after the lock is dropped.
 */
#include <errno.h>
#include <string.h>

#include "mroce.h"

#define FOR_RC (1u << IBV_QPT_RC)
#define FOR_UC (1u << IBV_QPT_UC)
#define FOR_UD (1u << IBV_QPT_UD)
#define FOR_XRC (1u << IBV_QPT_XRC_SEND)
#define FOR_RELIABLE (FOR_RC | FOR_XRC)

enum {
	OP_REMOTE = 1 << 0,	/* has an address and rkey at the peer */
	OP_IMM = 1 << 1,
	OP_INV = 1 << 2,	/* names an rkey to invalidate */
	OP_ATOMIC = 1 << 3,
	OP_INLINE = 1 << 4,	/* sends local bytes, which may be inline */
	OP_SGE = 1 << 5,
	OP_BIND = 1 << 6,
	OP_PLACEMENT = 1 << 7,	/* by a builder only; not of every module */
};

/* what an opcode needs; one that is not here has no @types and is refused */
static const struct send_op {
	uint8_t opcode;
	uint8_t flags;
	uint16_t types;
	uint32_t ext;	/* its bit among the builders */
} send_ops[] = {
	[IBV_WR_RDMA_WRITE] = {
		MROCE_WQE_WRITE, OP_REMOTE | OP_SGE | OP_INLINE,
		FOR_RELIABLE | FOR_UC, IBV_QP_EX_WITH_RDMA_WRITE,
	},
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {
		MROCE_WQE_WRITE_IMM, OP_REMOTE | OP_IMM | OP_SGE | OP_INLINE,
		FOR_RELIABLE | FOR_UC, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
	},
	[IBV_WR_SEND] = {
		MROCE_WQE_SEND, OP_SGE | OP_INLINE,
		FOR_RELIABLE | FOR_UC | FOR_UD, IBV_QP_EX_WITH_SEND,
	},
	[IBV_WR_SEND_WITH_IMM] = {
		MROCE_WQE_SEND_IMM, OP_IMM | OP_SGE | OP_INLINE,
		FOR_RELIABLE | FOR_UC | FOR_UD, IBV_QP_EX_WITH_SEND_WITH_IMM,
	},
	[IBV_WR_RDMA_READ] = {
		MROCE_WQE_READ, OP_REMOTE | OP_SGE,
		FOR_RELIABLE, IBV_QP_EX_WITH_RDMA_READ,
	},
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {
		MROCE_WQE_CMP_SWAP, OP_REMOTE | OP_ATOMIC | OP_SGE,
		FOR_RELIABLE, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
	},
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {
		MROCE_WQE_FETCH_ADD, OP_REMOTE | OP_ATOMIC | OP_SGE,
		FOR_RELIABLE, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	},
	[IBV_WR_LOCAL_INV] = {
		MROCE_WQE_LOCAL_INV, OP_INV,
		FOR_RELIABLE | FOR_UC, IBV_QP_EX_WITH_LOCAL_INV,
	},
	[IBV_WR_BIND_MW] = {
		MROCE_WQE_BIND_MW, OP_BIND,
		FOR_RELIABLE | FOR_UC, IBV_QP_EX_WITH_BIND_MW,
	},
	[IBV_WR_SEND_WITH_INV] = {
		MROCE_WQE_SEND_INV, OP_INV | OP_SGE | OP_INLINE,
		FOR_RELIABLE, IBV_QP_EX_WITH_SEND_WITH_INV,
	},
#ifdef MROCE_WR_FLUSH
	[IBV_WR_FLUSH] = {
		MROCE_WQE_FLUSH, OP_PLACEMENT,
		FOR_RELIABLE, IBV_QP_EX_WITH_FLUSH,
	},
#endif
#ifdef MROCE_WR_ATOMIC_WRITE
	[IBV_WR_ATOMIC_WRITE] = {
		MROCE_WQE_ATOMIC_WRITE, OP_PLACEMENT,
		FOR_RELIABLE, IBV_QP_EX_WITH_ATOMIC_WRITE,
	},
#endif
};

#define NUM_SEND_OPS (sizeof(send_ops) / sizeof(send_ops[0]))

/* queue pairs of other types are refused when they are created */
static const struct send_op *find_op(enum ibv_qp_type type,
				     enum ibv_wr_opcode opcode)
{
	if ((size_t)opcode >= NUM_SEND_OPS ||
	    !(send_ops[opcode].types & (1u << type)))
		return NULL;
	return &send_ops[opcode];
}

static bool can_post_send(const struct ibv_qp *ibqp)
{
	return ibqp->state != IBV_QPS_RESET && ibqp->state != IBV_QPS_INIT &&
	       ibqp->state != IBV_QPS_RTR;
}

static uint8_t wqe_flags(unsigned int send_flags, bool signal_all)
{
	uint8_t flags = 0;

	if (signal_all || (send_flags & IBV_SEND_SIGNALED))
		flags |= MROCE_WQE_SIGNALED;
	if (send_flags & IBV_SEND_SOLICITED)
		flags |= MROCE_WQE_SOLICITED;
	if (send_flags & IBV_SEND_FENCE)
		flags |= MROCE_WQE_FENCE;
	return flags;
}

/* the next free slot, its header cleared and begun; the caller saw that there is one */
static struct mroce_sq_wqe *begin_wqe(struct mroce_qp *qp,
				      const struct send_op *op, uint64_t wr_id,
				      unsigned int send_flags)
{
	struct mroce_sq_wqe *wqe = mroce_slot(&qp->sq.map, qp->sq.prod);

	*wqe = (struct mroce_sq_wqe){
		.wr_id = wr_id,
		.opcode = op->opcode,
		.flags = wqe_flags(send_flags, qp->signal_all),
	};
	return wqe;
}

static int set_sges(struct mroce_qp *qp, struct mroce_sq_wqe *wqe,
		    size_t num_sge, const struct ibv_sge *sg_list)
{
	if (num_sge > qp->sq.max_sge)
		return EINVAL;

	wqe->num_sge = num_sge;
	if (num_sge)
		memcpy(wqe + 1, sg_list, num_sge * sizeof(struct mroce_sge));
	return 0;
}

/* append to the inline data that the slot holds so far */
static int add_inline(struct mroce_qp *qp, struct mroce_sq_wqe *wqe,
		      const void *data, size_t length)
{
	if (length > qp->sq.max_inline - wqe->length)
		return EINVAL;

	wqe->flags |= MROCE_WQE_INLINE;
	if (length)
		memcpy((uint8_t *)(wqe + 1) + wqe->length, data, length);
	wqe->length += length;
	return 0;
}

static int set_bind(struct mroce_sq_wqe *wqe, struct ibv_mw *mw, uint32_t rkey,
		    const struct ibv_mw_bind_info *info)
{
	if (!info->mr && info->length)
		return EINVAL;
	if (info->mr && info->mr->pd != mw->pd)
		return EPERM;

	wqe->remote_addr = info->addr;
	/* of @rkey its low byte counts alone */
	wqe->rkey = (mw->rkey & ~0xffU) | (rkey & 0xff);
	wqe->bind.length = info->length;
	wqe->bind.lkey = info->mr ? info->mr->lkey : 0;
	wqe->bind.access = info->mw_access_flags;
	return 0;
}

static void set_ud(struct mroce_sq_wqe *wqe, struct ibv_ah *ah, uint32_t qpn,
		   uint32_t qkey)
{
	wqe->ud.ah = to_mah(ah)->num;
	wqe->ud.qpn = qpn;
	wqe->ud.qkey = qkey;
}

/* what takes no buffer there has no use for it, and other operands in its place */
static void set_srqn(struct mroce_sq_wqe *wqe, uint32_t srqn)
{
	if (wqe->opcode <= MROCE_WQE_WRITE_IMM)
		wqe->xrc.srqn = srqn;
}

static int build_wqe(struct mroce_qp *qp, const struct ibv_send_wr *wr)
{
	const struct ibv_qp *ibqp = &qp->vqp.qp;
	const struct send_op *op = find_op(ibqp->qp_type, wr->opcode);
	struct mroce_sq_wqe *wqe;
	int i, ret = 0;

	if (!op || op->flags & OP_PLACEMENT || wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->sq.max_sge ||
	    !check_comp_mask(wr->send_flags,
			     IBV_SEND_FENCE | IBV_SEND_SIGNALED |
			     IBV_SEND_SOLICITED | IBV_SEND_INLINE))
		return EINVAL;
	if (mroce_queue_full(&qp->sq))
		return ENOMEM;

	wqe = begin_wqe(qp, op, wr->wr_id, wr->send_flags);

	if (op->flags & OP_IMM)
		wqe->imm = (__force uint32_t)wr->imm_data;
	else if (op->flags & OP_INV)
		wqe->imm = wr->invalidate_rkey;

	if (op->flags & OP_ATOMIC) {
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->atomic.compare_add = wr->wr.atomic.compare_add;
		wqe->atomic.swap = wr->wr.atomic.swap;
	} else if (op->flags & OP_REMOTE) {
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
	} else if (op->flags & OP_BIND) {
		if (!wr->bind_mw.mw || wr->bind_mw.mw->type != IBV_MW_TYPE_2)
			return EINVAL;
		ret = set_bind(wqe, wr->bind_mw.mw, wr->bind_mw.rkey,
			       &wr->bind_mw.bind_info);
		if (ret)
			return ret;
	} else if (ibqp->qp_type == IBV_QPT_UD) {
		if (!wr->wr.ud.ah)
			return EINVAL;
		set_ud(wqe, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
		       wr->wr.ud.remote_qkey);
	}

	if (ibqp->qp_type == IBV_QPT_XRC_SEND)
		set_srqn(wqe, wr->qp_type.xrc.remote_srqn);

	if (wr->send_flags & IBV_SEND_INLINE) {
		if (!(op->flags & OP_INLINE))
			return EINVAL;
		wqe->flags |= MROCE_WQE_INLINE;
		for (i = 0; i < wr->num_sge && !ret; i++)
			ret = add_inline(qp, wqe,
					 (void *)(uintptr_t)wr->sg_list[i].addr,
					 wr->sg_list[i].length);
	} else if (op->flags & OP_SGE) {
		ret = set_sges(qp, wqe, wr->num_sge, wr->sg_list);
	}
	if (!ret)
		qp->sq.prod++;
	return ret;
}

/* requests were published: the module is told, unless it looks */
static int posted_sends(struct mroce_qp *qp)
{
	return mroce_queue_polled(&qp->sq) ?
		       0 : mroce_qp_doorbell(qp, MROCE_DOORBELL_SQ);
}

int mroce_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	struct ibv_send_wr *first = wr;
	bool posted;
	int ret = 0;
	int err;

	if (!can_post_send(ibqp)) {
		*bad_wr = wr;
		return EINVAL;
	}

	mroce_lock(&qp->sq_lock);
	for (; wr; wr = wr->next) {
		ret = build_wqe(qp, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	posted = wr != first;
	if (posted)
		mroce_queue_publish(&qp->sq);
	mroce_unlock(&qp->sq_lock);

	if (posted) {
		err = posted_sends(qp);
		if (err && !ret) {
			*bad_wr = first;
			ret = err;
		}
	}
	return ret;
}

/* the verb for windows of type 1: the key is chosen here, from the present one */
int mroce_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		  struct ibv_mw_bind *mw_bind)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	const struct send_op *op = find_op(ibqp->qp_type, IBV_WR_BIND_MW);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	int ret;

	if (!op || !can_post_send(ibqp))
		return EINVAL;

	mroce_lock(&qp->sq_lock);
	ret = ENOMEM;
	if (!mroce_queue_full(&qp->sq))
		ret = set_bind(begin_wqe(qp, op, mw_bind->wr_id,
					 mw_bind->send_flags),
			       mw, rkey, &mw_bind->bind_info);
	if (!ret) {
		qp->sq.prod++;
		mroce_queue_publish(&qp->sq);
		mw->rkey = rkey;
	}
	mroce_unlock(&qp->sq_lock);

	return ret ? ret : posted_sends(qp);
}

/*
 * The builders. From wr_start to wr_complete or wr_abort the lock is held. The
 * first error is kept and given back by wr_complete, which then posts nothing;
 * after one there is no slot to fill (@wqe is NULL) and the setters do nothing.
 */
static inline struct mroce_qp *to_mqp_ex(struct ibv_qp_ex *ibqp)
{
	return to_mqp(&ibqp->qp_base);
}

static void wr_fail(struct mroce_qp *qp, int err)
{
	if (!qp->wr_err)
		qp->wr_err = err;
	qp->wqe = NULL;
}

/* wr_id and wr_flags are taken now: the program sets them before each builder */
static struct mroce_sq_wqe *wr_begin(struct ibv_qp_ex *ibqp,
				     enum ibv_wr_opcode opcode)
{
	struct mroce_qp *qp = to_mqp_ex(ibqp);

	qp->wqe = NULL;
	if (qp->wr_err)
		return NULL;
	if (mroce_queue_full(&qp->sq)) {
		wr_fail(qp, ENOMEM);
		return NULL;
	}

	/* IBV_SEND_INLINE is implied by how the data are set */
	qp->wqe = begin_wqe(qp, &send_ops[opcode], ibqp->wr_id,
			    ibqp->wr_flags);
	qp->sq.prod++;
	return qp->wqe;
}

static void mroce_wr_start(struct ibv_qp_ex *ibqp)
{
	struct mroce_qp *qp = to_mqp_ex(ibqp);

	mroce_lock(&qp->sq_lock);
	qp->wr_err = can_post_send(&qp->vqp.qp) ? 0 : EINVAL;
	qp->wqe = NULL;
}

static int mroce_wr_complete(struct ibv_qp_ex *ibqp)
{
	struct mroce_qp *qp = to_mqp_ex(ibqp);
	int ret = qp->wr_err;

	if (ret)
		mroce_queue_rollback(&qp->sq);
	else
		mroce_queue_publish(&qp->sq);
	qp->wqe = NULL;
	mroce_unlock(&qp->sq_lock);

	return ret ? ret : posted_sends(qp);
}

static void mroce_wr_abort(struct ibv_qp_ex *ibqp)
{
	struct mroce_qp *qp = to_mqp_ex(ibqp);

	mroce_queue_rollback(&qp->sq);
	qp->wqe = NULL;
	mroce_unlock(&qp->sq_lock);
}

static void wr_rdma(struct ibv_qp_ex *ibqp, enum ibv_wr_opcode opcode,
		    uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	struct mroce_sq_wqe *wqe = wr_begin(ibqp, opcode);

	if (!wqe)
		return;
	wqe->rkey = rkey;
	wqe->remote_addr = remote_addr;
	wqe->imm = (__force uint32_t)imm;
}

static void mroce_wr_rdma_read(struct ibv_qp_ex *ibqp, uint32_t rkey,
			       uint64_t remote_addr)
{
	wr_rdma(ibqp, IBV_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void mroce_wr_rdma_write(struct ibv_qp_ex *ibqp, uint32_t rkey,
				uint64_t remote_addr)
{
	wr_rdma(ibqp, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void mroce_wr_rdma_write_imm(struct ibv_qp_ex *ibqp, uint32_t rkey,
				    uint64_t remote_addr, __be32 imm)
{
	wr_rdma(ibqp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm);
}

static void wr_atomic(struct ibv_qp_ex *ibqp, enum ibv_wr_opcode opcode,
		      uint32_t rkey, uint64_t remote_addr,
		      uint64_t compare_add, uint64_t swap)
{
	struct mroce_sq_wqe *wqe = wr_begin(ibqp, opcode);

	if (!wqe)
		return;
	wqe->rkey = rkey;
	wqe->remote_addr = remote_addr;
	wqe->atomic.compare_add = compare_add;
	wqe->atomic.swap = swap;
}

static void mroce_wr_atomic_cmp_swp(struct ibv_qp_ex *ibqp, uint32_t rkey,
				    uint64_t remote_addr, uint64_t compare,
				    uint64_t swap)
{
	wr_atomic(ibqp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare,
		  swap);
}

static void mroce_wr_atomic_fetch_add(struct ibv_qp_ex *ibqp, uint32_t rkey,
				      uint64_t remote_addr, uint64_t add)
{
	wr_atomic(ibqp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add,
		  0);
}

static void mroce_wr_send(struct ibv_qp_ex *ibqp)
{
	wr_begin(ibqp, IBV_WR_SEND);
}

static void mroce_wr_send_imm(struct ibv_qp_ex *ibqp, __be32 imm)
{
	struct mroce_sq_wqe *wqe = wr_begin(ibqp, IBV_WR_SEND_WITH_IMM);

	if (wqe)
		wqe->imm = (__force uint32_t)imm;
}

static void mroce_wr_send_inv(struct ibv_qp_ex *ibqp, uint32_t rkey)
{
	struct mroce_sq_wqe *wqe = wr_begin(ibqp, IBV_WR_SEND_WITH_INV);

	if (wqe)
		wqe->imm = rkey;
}

static void mroce_wr_local_inv(struct ibv_qp_ex *ibqp, uint32_t rkey)
{
	struct mroce_sq_wqe *wqe = wr_begin(ibqp, IBV_WR_LOCAL_INV);

	if (wqe)
		wqe->imm = rkey;
}

static void mroce_wr_bind_mw(struct ibv_qp_ex *ibqp, struct ibv_mw *mw,
			     uint32_t rkey,
			     const struct ibv_mw_bind_info *info)
{
	struct mroce_sq_wqe *wqe = wr_begin(ibqp, IBV_WR_BIND_MW);
	int ret;

	if (!wqe)
		return;
	ret = mw->type == IBV_MW_TYPE_2 ? set_bind(wqe, mw, rkey, info) :
					  EINVAL;
	if (ret)
		wr_fail(to_mqp_ex(ibqp), ret);
}

#ifdef MROCE_WR_FLUSH
static_assert(IBV_FLUSH_GLOBAL == MROCE_WQE_FLUSH_GLOBAL &&
	      IBV_FLUSH_PERSISTENT == MROCE_WQE_FLUSH_PERSISTENT,
	      "placement types are the ABI's");

static void mroce_wr_flush(struct ibv_qp_ex *ibqp, uint32_t rkey,
			   uint64_t remote_addr, size_t len, uint8_t type,
			   uint8_t level)
{
	struct mroce_sq_wqe *wqe;

	if (!type ||
	    type & ~(IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT) ||
	    (level != IBV_FLUSH_RANGE && level != IBV_FLUSH_MR) ||
	    (level == IBV_FLUSH_RANGE && len > UINT32_MAX)) {
		wr_fail(to_mqp_ex(ibqp), EINVAL);
		return;
	}

	wqe = wr_begin(ibqp, IBV_WR_FLUSH);
	if (!wqe)
		return;
	wqe->rkey = rkey;
	wqe->imm = type;
	if (level == IBV_FLUSH_MR) {
		wqe->imm |= MROCE_WQE_FLUSH_REGION;
		return;
	}
	wqe->remote_addr = remote_addr;
	wqe->length = len;
}
#endif

#ifdef MROCE_WR_ATOMIC_WRITE
static void mroce_wr_atomic_write(struct ibv_qp_ex *ibqp, uint32_t rkey,
				  uint64_t remote_addr, const void *atomic_wr)
{
	struct mroce_sq_wqe *wqe = wr_begin(ibqp, IBV_WR_ATOMIC_WRITE);

	if (!wqe)
		return;
	wqe->rkey = rkey;
	wqe->remote_addr = remote_addr;
	memcpy(&wqe->atomic.compare_add, atomic_wr,
	       sizeof(wqe->atomic.compare_add));
}
#endif

static void mroce_wr_set_ud_addr(struct ibv_qp_ex *ibqp, struct ibv_ah *ah,
				 uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct mroce_sq_wqe *wqe = to_mqp_ex(ibqp)->wqe;

	if (wqe)
		set_ud(wqe, ah, remote_qpn, remote_qkey);
}

static void mroce_wr_set_xrc_srqn(struct ibv_qp_ex *ibqp, uint32_t remote_srqn)
{
	struct mroce_sq_wqe *wqe = to_mqp_ex(ibqp)->wqe;

	if (wqe)
		set_srqn(wqe, remote_srqn);
}

static void mroce_wr_set_sge_list(struct ibv_qp_ex *ibqp, size_t num_sge,
				  const struct ibv_sge *sg_list)
{
	struct mroce_qp *qp = to_mqp_ex(ibqp);

	if (qp->wqe && set_sges(qp, qp->wqe, num_sge, sg_list))
		wr_fail(qp, EINVAL);
}

static void mroce_wr_set_sge(struct ibv_qp_ex *ibqp, uint32_t lkey,
			     uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = {
		.addr = addr,
		.length = length,
		.lkey = lkey,
	};

	/* no bytes, no SGE: keeps a zero-length request free of a key */
	mroce_wr_set_sge_list(ibqp, length ? 1 : 0, &sge);
}

static void mroce_wr_set_inline_data_list(struct ibv_qp_ex *ibqp,
					  size_t num_buf,
					  const struct ibv_data_buf *buf_list)
{
	struct mroce_qp *qp = to_mqp_ex(ibqp);
	size_t i;
	int ret;

	if (!qp->wqe)
		return;

	/* a read or an atomic has nothing to send, or it all */
	ret = qp->wqe->opcode == MROCE_WQE_READ ||
	      qp->wqe->opcode >= MROCE_WQE_CMP_SWAP ? EINVAL : 0;
	for (i = 0; i < num_buf && !ret; i++)
		ret = add_inline(qp, qp->wqe, buf_list[i].addr,
				 buf_list[i].length);
	if (ret)
		wr_fail(qp, ret);
}

static void mroce_wr_set_inline_data(struct ibv_qp_ex *ibqp, void *addr,
				     size_t length)
{
	const struct ibv_data_buf buf = {
		.addr = addr,
		.length = length,
	};

	mroce_wr_set_inline_data_list(ibqp, 1, &buf);
}

/* give the queue pair the builders that were asked for, before it is created */
int mroce_init_send_ops(struct mroce_qp *qp, enum ibv_qp_type type,
			uint64_t ops, uint64_t caps)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	uint64_t known = 0;
	size_t i;

	for (i = 0; i < NUM_SEND_OPS; i++)
		if (find_op(type, i) && (!(send_ops[i].flags & OP_PLACEMENT) ||
					 caps & MROCE_CAP_PLACEMENT))
			known |= send_ops[i].ext;
	if (!check_comp_mask(ops, known))
		return EOPNOTSUPP;

	ex->wr_start = mroce_wr_start;
	ex->wr_complete = mroce_wr_complete;
	ex->wr_abort = mroce_wr_abort;
	ex->wr_set_sge = mroce_wr_set_sge;
	ex->wr_set_sge_list = mroce_wr_set_sge_list;
	ex->wr_set_inline_data = mroce_wr_set_inline_data;
	ex->wr_set_inline_data_list = mroce_wr_set_inline_data_list;
	if (type == IBV_QPT_UD)
		ex->wr_set_ud_addr = mroce_wr_set_ud_addr;
	if (type == IBV_QPT_XRC_SEND)
		ex->wr_set_xrc_srqn = mroce_wr_set_xrc_srqn;

	if (ops & IBV_QP_EX_WITH_RDMA_WRITE)
		ex->wr_rdma_write = mroce_wr_rdma_write;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ex->wr_rdma_write_imm = mroce_wr_rdma_write_imm;
	if (ops & IBV_QP_EX_WITH_SEND)
		ex->wr_send = mroce_wr_send;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ex->wr_send_imm = mroce_wr_send_imm;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		ex->wr_send_inv = mroce_wr_send_inv;
	if (ops & IBV_QP_EX_WITH_RDMA_READ)
		ex->wr_rdma_read = mroce_wr_rdma_read;
	if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ex->wr_atomic_cmp_swp = mroce_wr_atomic_cmp_swp;
	if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ex->wr_atomic_fetch_add = mroce_wr_atomic_fetch_add;
	if (ops & IBV_QP_EX_WITH_LOCAL_INV)
		ex->wr_local_inv = mroce_wr_local_inv;
	if (ops & IBV_QP_EX_WITH_BIND_MW)
		ex->wr_bind_mw = mroce_wr_bind_mw;
#ifdef MROCE_WR_FLUSH
	if (ops & IBV_QP_EX_WITH_FLUSH)
		ex->wr_flush = mroce_wr_flush;
#endif
#ifdef MROCE_WR_ATOMIC_WRITE
	if (ops & IBV_QP_EX_WITH_ATOMIC_WRITE)
		ex->wr_atomic_write = mroce_wr_atomic_write;
#endif
	return 0;
}
