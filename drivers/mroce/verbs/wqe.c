// SPDX-License-Identifier: GPL-2.0
/*
 * One send request, from the ring of a program or the list of a kernel user, into the
 * module's own copy, and the checks that it must pass. What a program can write to
 * is read once; a request that fails keeps its place and completes in error. qp->lock
 * is held (bottom halves off) but in post_send, which any context calls.
 */
#include "qp.h"

#define TYPE_RC BIT(0)
#define TYPE_UD BIT(1)
#define TYPE_UC BIT(2)

/* one row a request: what it needs and how it completes */
struct wqe_info {
	bool valid;
	u8 types;
	u8 wc; /* IB_WC_* */
	bool imm; /* s->imm is immediate data */
	bool remote; /* has an address and key at the peer */
	bool atomic;
	bool inline_ok;
	bool bare; /* has neither SGEs nor inline data */
	bool read; /* counts as one of the READs outstanding */
	bool local; /* no message */
	bool kernel; /* not from a program's ring */
	int access; /* that its SGEs need */
};

static const struct wqe_info wqe_info[] = {
	[MROCE_WQE_SEND] = {
		.valid = true,
		.types = TYPE_RC | TYPE_UD | TYPE_UC,
		.wc = IB_WC_SEND,
		.inline_ok = true,
	},
	[MROCE_WQE_SEND_IMM] = {
		.valid = true,
		.types = TYPE_RC | TYPE_UD | TYPE_UC,
		.wc = IB_WC_SEND,
		.imm = true,
		.inline_ok = true,
	},
	[MROCE_WQE_SEND_INV] = {
		.valid = true,
		.types = TYPE_RC,
		.wc = IB_WC_SEND,
		.inline_ok = true,
	},
	[MROCE_WQE_WRITE] = {
		.valid = true,
		.types = TYPE_RC | TYPE_UC,
		.wc = IB_WC_RDMA_WRITE,
		.remote = true,
		.inline_ok = true,
	},
	[MROCE_WQE_WRITE_IMM] = {
		.valid = true,
		.types = TYPE_RC | TYPE_UC,
		.wc = IB_WC_RDMA_WRITE,
		.remote = true,
		.imm = true,
		.inline_ok = true,
	},
	[MROCE_WQE_READ] = {
		.valid = true,
		.types = TYPE_RC,
		.wc = IB_WC_RDMA_READ,
		.remote = true,
		.read = true,
		.access = IB_ACCESS_LOCAL_WRITE,
	},
	[MROCE_WQE_CMP_SWAP] = {
		.valid = true,
		.types = TYPE_RC,
		.wc = IB_WC_COMP_SWAP,
		.remote = true,
		.atomic = true,
		.read = true,
		.access = IB_ACCESS_LOCAL_WRITE,
	},
	[MROCE_WQE_FETCH_ADD] = {
		.valid = true,
		.types = TYPE_RC,
		.wc = IB_WC_FETCH_ADD,
		.remote = true,
		.atomic = true,
		.read = true,
		.access = IB_ACCESS_LOCAL_WRITE,
	},
	[MROCE_WQE_LOCAL_INV] = {.valid = true,
				 .types = TYPE_RC | TYPE_UC,
				 .wc = IB_WC_LOCAL_INV,
				 .local = true},
	[MROCE_WQE_BIND_MW] = {.valid = true,
			       .types = TYPE_RC | TYPE_UC,
			       .wc = IB_WC_BIND_MW,
			       .local = true},
	[MROCE_WQE_FLUSH] = {
		.valid = true,
		.types = TYPE_RC,
		.wc = IB_WC_FLUSH,
		.remote = true,
		.bare = true,
		.read = true,
	},
	[MROCE_WQE_ATOMIC_WRITE] = {
		.valid = true,
		.types = TYPE_RC,
		.wc = IB_WC_ATOMIC_WRITE,
		.remote = true,
		.bare = true,
		.read = true,
	},
	[MROCE_SEND_REG_MR] = {
		.valid = true,
		.types = TYPE_RC,
		.wc = IB_WC_REG_MR,
		.local = true,
		.kernel = true,
	},
};

static u8 type_of(const struct mroce_qp *qp)
{
	if (mroce_qp_is_rc(qp))
		return TYPE_RC;
	return mroce_qp_is_uc(qp) ? TYPE_UC : TYPE_UD;
}

static const struct wqe_info *info_of(u8 opcode)
{
	return opcode < ARRAY_SIZE(wqe_info) && wqe_info[opcode].valid ? &wqe_info[opcode] : NULL;
}

u8 mroce_wc_opcode(u8 opcode)
{
	const struct wqe_info *info = info_of(opcode);

	return info ? info->wc : IB_WC_SEND;
}

static bool bad(struct mroce_send *s, enum ib_wc_status status, enum mroce_reason reason)
{
	s->num_sge = 0;
	s->length = 0;
	s->flags &= ~MROCE_WQE_INLINE;
	s->wire = false;
	s->complete = true;
	s->status = status;
	s->reason = reason;
	return false;
}

bool mroce_wqe_fetch(struct mroce_qp *qp, const struct mroce_sq_wqe *wqe, struct mroce_send *s)
{
	const struct mroce_sq *sq = &qp->sq;
	const struct wqe_info *info;
	struct mroce_sq_wqe w;

	memcpy(&w, wqe, sizeof(w));
	barrier(); /* @w is what was read; the program may be writing there */

	memset(s, 0, sizeof(*s));
	s->wr_id = w.wr_id;
	s->opcode = w.opcode;
	s->flags = w.flags;
	s->imm = w.imm;
	s->remote_addr = w.remote_addr;
	s->rkey = w.rkey;

	info = info_of(w.opcode);
	if (!info || info->kernel)
		return bad(s, IB_WC_LOC_QP_OP_ERR, MROCE_REASON_ERR_LOCAL_OP);
	if (info->atomic || w.opcode == MROCE_WQE_ATOMIC_WRITE) {
		s->compare_add = w.atomic.compare_add;
		s->swap = w.atomic.swap;
	} else if (w.opcode == MROCE_WQE_BIND_MW) {
		s->bind = (struct mroce_bind){
			.rkey = w.rkey,
			.lkey = w.bind.lkey,
			.addr = w.remote_addr,
			.length = w.bind.length,
			.access = w.bind.access,
		};
	} else if (qp->ib->qp_type == IB_QPT_XRC_INI) {
		s->srqn = w.xrc.srqn;
	} else if (mroce_qp_is_ud(qp)) {
		s->ah = w.ud.ah;
		s->qpn = w.ud.qpn;
		s->qkey = w.ud.qkey;
	}
	if (info->bare) {
		s->flags &= ~MROCE_WQE_INLINE;
		s->length = w.opcode == MROCE_WQE_FLUSH ? w.length : sizeof(u64);
	} else if (w.flags & MROCE_WQE_INLINE) {
		if (!info->inline_ok || w.length > sq->max_inline)
			return bad(s, IB_WC_LOC_LEN_ERR, MROCE_REASON_ERR_LOCAL_LENGTH);
		s->length = w.length;
		memcpy(s->inline_data, wqe + 1, w.length);
	} else if (!info->local) {
		if (w.num_sge > sq->max_sge)
			return bad(s, IB_WC_LOC_QP_OP_ERR, MROCE_REASON_ERR_LOCAL_OP);
		s->num_sge = w.num_sge;
		memcpy(s->sge, wqe + 1, w.num_sge * sizeof(struct mroce_sge));
	}
	return mroce_send_check(qp, s);
}

bool mroce_send_check(struct mroce_qp *qp, struct mroce_send *s)
{
	const struct wqe_info *info = info_of(s->opcode);
	enum mroce_reason reason;
	u64 total;

	if (!info || !(info->types & type_of(qp)))
		return bad(s, IB_WC_LOC_QP_OP_ERR, MROCE_REASON_ERR_LOCAL_OP);
	s->status = IB_WC_SUCCESS;
	if (info->local)
		return true;
	s->wire = true;
	if (!(s->flags & MROCE_WQE_INLINE) && !info->bare) {
		total = mroce_sge_total(s->sge, s->num_sge);
		if (total > MROCE_MAX_MSG)
			return bad(s, IB_WC_LOC_LEN_ERR, MROCE_REASON_ERR_LOCAL_LENGTH);
		s->length = total;
		reason = mroce_sge_check(qp->dev, qp->ib->pd, s->sge, s->num_sge, info->access);
		if (reason)
			return bad(s, IB_WC_LOC_PROT_ERR, reason);
	}
	if (info->atomic && s->length != sizeof(u64))
		return bad(s, IB_WC_LOC_LEN_ERR, MROCE_REASON_ERR_LOCAL_LENGTH);
	if (s->opcode == MROCE_WQE_FLUSH) {
		if (s->length > MROCE_MAX_FLUSH)
			return bad(s, IB_WC_LOC_LEN_ERR, MROCE_REASON_ERR_LOCAL_LENGTH);
		if (!(s->imm & (MROCE_FLUSH_GLOBAL | MROCE_FLUSH_PERSISTENT)) ||
		    s->imm & ~(MROCE_FLUSH_GLOBAL | MROCE_FLUSH_PERSISTENT | MROCE_FLUSH_REGION))
			return bad(s, IB_WC_LOC_QP_OP_ERR, MROCE_REASON_ERR_LOCAL_OP);
	}
	if (info->read && !qp->attr.max_rd_atomic)
		return bad(s, IB_WC_LOC_QP_OP_ERR, MROCE_REASON_ERR_LOCAL_OP);
	if (mroce_qp_is_ud(qp) && s->length > mroce_ud_max(qp))
		return bad(s, IB_WC_LOC_LEN_ERR, MROCE_REASON_ERR_LOCAL_LENGTH);
	/* in the engine all integers are the host's; immediate data are bytes */
	if (info->imm)
		s->imm = be32_to_cpu((__force __be32)s->imm);
	return true;
}

/* ---- kernel users ---- */

static int opcode_of(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_SEND:
		return MROCE_WQE_SEND;
	case IB_WR_SEND_WITH_IMM:
		return MROCE_WQE_SEND_IMM;
	case IB_WR_SEND_WITH_INV:
		return MROCE_WQE_SEND_INV;
	case IB_WR_RDMA_WRITE:
		return MROCE_WQE_WRITE;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return MROCE_WQE_WRITE_IMM;
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		return MROCE_WQE_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return MROCE_WQE_CMP_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return MROCE_WQE_FETCH_ADD;
	case IB_WR_LOCAL_INV:
		return MROCE_WQE_LOCAL_INV;
	case IB_WR_REG_MR:
		return MROCE_SEND_REG_MR;
	default:
		return -EINVAL;
	}
}

/* A kernel user's inline data are at kernel addresses. */
static int copy_inline(const struct mroce_qp *qp, const struct ib_send_wr *wr, struct mroce_send *s)
{
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		u32 len = wr->sg_list[i].length;

		if (len > qp->sq.max_inline - s->length)
			return -EINVAL;
		memcpy(s->inline_data + s->length, (void *)(uintptr_t)wr->sg_list[i].addr, len);
		s->length += len;
	}
	s->flags |= MROCE_WQE_INLINE;
	return 0;
}

static int build(const struct mroce_qp *qp, const struct ib_send_wr *wr, struct mroce_send *s)
{
	int opcode = opcode_of(wr->opcode), ret, i;
	const struct wqe_info *info;

	if (opcode < 0)
		return -EINVAL;
	info = info_of(opcode);
	if (!(info->types & type_of(qp)))
		return -EINVAL;
	if (wr->send_flags &
	    ~(IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_INLINE))
		return -EINVAL;

	memset(s, 0, sizeof(*s));
	s->wr_id = wr->wr_id;
	s->opcode = opcode;
	if (wr->send_flags & IB_SEND_SIGNALED)
		s->flags |= MROCE_WQE_SIGNALED;
	if (wr->send_flags & IB_SEND_SOLICITED)
		s->flags |= MROCE_WQE_SOLICITED;
	if (wr->send_flags & IB_SEND_FENCE)
		s->flags |= MROCE_WQE_FENCE;

	if (opcode == MROCE_SEND_REG_MR) {
		s->reg_mr = reg_wr(wr)->mr;
		s->reg_key = reg_wr(wr)->key;
		s->reg_access = reg_wr(wr)->access;
		return s->reg_mr ? 0 : -EINVAL;
	}
	if (info->imm)
		s->imm = (__force u32)wr->ex.imm_data;
	else if (opcode == MROCE_WQE_SEND_INV || opcode == MROCE_WQE_LOCAL_INV)
		s->imm = wr->ex.invalidate_rkey;
	else if (wr->opcode == IB_WR_RDMA_READ_WITH_INV)
		s->reg_key = wr->ex.invalidate_rkey;
	s->invalidates = wr->opcode == IB_WR_RDMA_READ_WITH_INV;
	if (info->local)
		return 0;

	if (wr->num_sge < 0 || wr->num_sge > qp->sq.max_sge)
		return -EINVAL;
	if (wr->send_flags & IB_SEND_INLINE) {
		if (!info->inline_ok)
			return -EINVAL;
		ret = copy_inline(qp, wr, s);
		if (ret)
			return ret;
	} else {
		s->num_sge = wr->num_sge;
		for (i = 0; i < wr->num_sge; i++)
			s->sge[i] = (struct mroce_sge){
				.addr = wr->sg_list[i].addr,
				.length = wr->sg_list[i].length,
				.lkey = wr->sg_list[i].lkey,
			};
	}

	if (info->atomic) {
		s->remote_addr = atomic_wr(wr)->remote_addr;
		s->rkey = atomic_wr(wr)->rkey;
		s->compare_add = atomic_wr(wr)->compare_add;
		s->swap = atomic_wr(wr)->swap;
	} else if (info->remote) {
		s->remote_addr = rdma_wr(wr)->remote_addr;
		s->rkey = rdma_wr(wr)->rkey;
	} else if (mroce_qp_is_ud(qp)) {
		if (!ud_wr(wr)->ah)
			return -EINVAL;
		s->qpn = ud_wr(wr)->remote_qpn;
		s->qkey = ud_wr(wr)->remote_qkey;
		s->kah = to_mah(ud_wr(wr)->ah);
		refcount_inc(&s->kah->refs);
	}
	return 0;
}

int mroce_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	struct mroce_sq *sq = &qp->sq;
	enum ib_qp_state state;
	unsigned long flags;
	bool any = false;
	int ret = 0;

	spin_lock_irqsave(&sq->post_lock, flags);
	/* under the lock: RESET discards what was posted before, and nothing comes after */
	state = READ_ONCE(qp->state);
	/* a program posts through its ring, and an XRC target nothing */
	if (qp->user || qp->xrcd || state == IB_QPS_RESET || state == IB_QPS_INIT ||
	    state == IB_QPS_RTR)
		ret = -EINVAL;
	for (; wr && !ret; wr = wr->next) {
		/* pairs with the release in retire: the slot's last request is done with */
		if (sq->posted - smp_load_acquire(&sq->done) >= sq->max_wr) {
			ret = -ENOMEM;
			break;
		}
		ret = build(qp, wr, mroce_sq_send(sq, sq->posted));
		if (ret)
			break;
		/* pairs with the acquire in fetch: the slot is filled */
		smp_store_release(&sq->posted, sq->posted + 1);
		any = true;
	}
	spin_unlock_irqrestore(&sq->post_lock, flags);
	if (ret)
		*bad_wr = wr;
	if (any)
		mroce_qp_kick(qp, MROCE_DOORBELL_SQ);
	return ret;
}
