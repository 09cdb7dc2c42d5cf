// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs of type UC. Sending runs as that of datagrams does (ud.c), one caller a queue pair
 * at a time, so that packets leave in their order: a message is copied into packets when it is
 * posted, and complete when these were handed to the stack. Receiving runs under the lock that
 * datagrams have: packets of one queue pair come by one path, so seldom on two processors.
 */
#include <net/inet_ecn.h>
#include <rdma/ib_cache.h>

#include "qp.h"

/* ---- the peer ---- */

void mroce_uc_route(struct mroce_qp *qp, const struct ib_qp_attr *attr,
		    const struct in6_addr *saddr, const struct in6_addr *daddr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&attr->ah_attr);
	struct mroce_flow *flow = &qp->uc.flow;

	mroce_qp_await_builders(qp);
	mroce_flow_turn(flow, saddr, daddr, mroce_path_port(), mroce_gid_ifindex(grh->sgid_attr));
	flow->tclass = grh->traffic_class & ~INET_ECN_MASK;
	flow->hop_limit = grh->hop_limit;
	spin_lock_bh(&qp->ud_lock);
	qp->saddr = *saddr;
	qp->daddr = *daddr;
	spin_unlock_bh(&qp->ud_lock);
}

int mroce_uc_connect(struct mroce_qp *qp, const struct ib_qp_attr *attr)
{
	struct mroce_uc_qp *uc = &qp->uc;
	struct in6_addr saddr, daddr;
	int ret;

	ret = mroce_qp_check_address(qp, attr, &saddr, &daddr);
	if (ret)
		return ret;
	mroce_uc_route(qp, attr, &saddr, &daddr);
	spin_lock_bh(&qp->ud_lock);
	qp->established = false;
	mroce_uc_start(&uc->rx, attr->rq_psn);
	spin_unlock_bh(&qp->ud_lock);
	return 0;
}

void mroce_uc_begin(struct mroce_qp *qp, u32 psn)
{
	qp->uc.psn = psn;
}

/* Nothing is sent or received any more. */
void mroce_uc_disconnect(struct mroce_qp *qp)
{
	struct mroce_uc_qp *uc = &qp->uc;

	mroce_flow_drop(&uc->flow);
	spin_lock_bh(&qp->ud_lock);
	if (uc->taken)
		mroce_srq_give(qp->srq, qp->ud_recv);
	uc->taken = false;
	spin_unlock_bh(&qp->ud_lock);
}

/* ---- sending ---- */

/* What the program allows and the path passes; 0: nothing that is of use. */
static u16 payload(struct mroce_qp *qp)
{
	int mtu = mroce_flow_mtu(qp->dev->sock, &qp->uc.flow);

	if (mtu < 0)
		return 0;
	return min_t(int, mroce_payload_of_mtu(mtu), ib_mtu_enum_to_int(qp->attr.path_mtu));
}

static struct sk_buff *build(struct mroce_qp *qp, struct mroce_send *s, const struct mroce_uc *p,
			     u32 bytes)
{
	struct sk_buff *skb = mroce_packet_alloc(sizeof(struct mroce_wire_uc) + bytes);

	if (!skb) {
		/* as if the network had lost it */
		mroce_drop(qp->dev, MROCE_REASON_TX_NOMEM);
		return NULL;
	}
	mroce_build_uc(skb_put(skb, sizeof(struct mroce_wire_uc)), p);
	if (!bytes)
		return skb;
	if (s->flags & MROCE_WQE_INLINE) {
		skb_put_data(skb, s->inline_data + p->offset, bytes);
		return skb;
	}
	s->reason = mroce_sge_read(qp->dev, qp->ib->pd, s->sge, s->num_sge, p->offset,
				   skb_put(skb, bytes), bytes);
	if (!s->reason)
		return skb;
	s->status = IB_WC_LOC_PROT_ERR;
	kfree_skb(skb);
	return NULL;
}

static void send_packet(struct mroce_qp *qp, struct mroce_send *s, const struct mroce_uc *m, u32 i)
{
	struct sk_buff *skb;
	struct mroce_uc p;
	u32 bytes;

	bytes = mroce_uc_cut(m, i, &p);
	skb = build(qp, s, &p, bytes);
	if (skb)
		mroce_ud_transmit(qp, &qp->uc.flow, skb, bytes);
}

void mroce_uc_send(struct mroce_qp *qp, struct mroce_send *s)
{
	struct mroce_uc m = {
		.base.type = MROCE_T_UC,
		.dst_qpn = qp->attr.dest_qp_num,
		.src_qpn = qp->ib->qp_num,
		.psn = qp->uc.psn,
		.length = s->length,
		.addr = s->remote_addr,
		.rkey = s->rkey,
		.imm = s->imm,
		.opcode = s->opcode,
		.flags = s->flags & MROCE_WQE_SOLICITED ? MROCE_F_SOLICITED : 0,
	};
	u32 i, n;

	rcu_read_lock_bh();
	m.psize = READ_ONCE(qp->dev->gone) ? 0 : payload(qp);
	rcu_read_unlock_bh();
	if (!m.psize) {
		/* lost as a whole, which shows as a gap */
		qp->uc.psn++;
		mroce_drop(qp->dev, MROCE_REASON_TX_NO_ROUTE);
		return;
	}
	n = mroce_packets(s->opcode, s->length, m.psize);
	qp->uc.psn += n;
	/* a virtual link has a queue each processor, and what is in two of them overtakes */
	migrate_disable();
	for (i = 0; i < n && !s->status; i++) {
		/* a long message does not keep a queue pair from ending */
		if (READ_ONCE(qp->state) != IB_QPS_RTS && READ_ONCE(qp->state) != IB_QPS_SQD)
			break;
		local_bh_disable();
		send_packet(qp, s, &m, i);
		local_bh_enable();
		if (!in_softirq())
			cond_resched();
	}
	migrate_enable();
}

/* ---- receiving; ud_lock is held ---- */

/* The buffer of the message; one whose message was cut short is the next one's. */
static struct mroce_recv *buffer(struct mroce_qp *qp)
{
	struct mroce_recv *recv;

	if (qp->uc.taken)
		return qp->ud_recv;
	recv = mroce_ud_buffer(qp);
	qp->uc.taken = qp->srq && recv;
	return recv;
}

static void complete_recv(struct mroce_qp *qp, const struct mroce_recv *recv,
			  const struct mroce_uc *p, enum mroce_reason reason)
{
	bool solicited = p->flags & MROCE_F_SOLICITED;
	struct mroce_cqe cqe = {
		.opcode = mroce_opinfo[p->opcode].place ? IB_WC_RECV : IB_WC_RECV_RDMA_WITH_IMM,
		.byte_len = p->length,
	};
	u64 wr_id = recv->wr_id;

	if (mroce_opinfo[p->opcode].imm) {
		cqe.flags |= MROCE_CQE_IMM;
		cqe.imm = (__force u32)cpu_to_be32(p->imm);
	}
	if (solicited)
		cqe.flags |= MROCE_CQE_SOLICITED;
	if (reason) {
		cqe.status = IB_WC_LOC_PROT_ERR;
		cqe.vendor_err = reason;
	}
	if (qp->srq)
		qp->uc.taken = false;
	else
		mroce_rq_advance(&qp->rq, qp->rq.done + 1);
	mroce_rq_cqe(qp, wr_id, &cqe, reason || solicited);
}

static enum mroce_reason place_write(struct mroce_qp *qp, const struct mroce_uc *p,
				     struct sk_buff *skb, unsigned int off, u32 bytes)
{
	enum mroce_reason reason = MROCE_REASON_NONE;
	struct mroce_mr *mr;

	if (!(qp->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE))
		return MROCE_REASON_NAK_ACCESS;
	if (!bytes)
		return MROCE_REASON_NONE;
	/* the whole message, or nothing of it */
	mr = mroce_qp_mr_get(qp, p->rkey, IB_ACCESS_REMOTE_WRITE, p->addr - p->offset, p->length,
			     &reason);
	if (!mr)
		return reason;
	mroce_mr_from_skb(mr, p->addr, skb, off, bytes, p->flags & MROCE_F_LAST);
	mroce_mr_put(mr);
	return MROCE_REASON_NONE;
}

/* @fatal: what is wrong is the program's own buffer */
static enum mroce_reason take(struct mroce_qp *qp, const struct mroce_uc *p, struct sk_buff *skb,
			      unsigned int off, u32 bytes, bool *fatal)
{
	const struct mroce_opinfo *info = &mroce_opinfo[p->opcode];
	enum mroce_reason reason = MROCE_REASON_NONE;
	struct mroce_recv *recv = NULL;

	if (info->place || (info->receive && p->flags & MROCE_F_LAST)) {
		recv = buffer(qp);
		if (!recv)
			return MROCE_REASON_NAK_RNR;
	}
	if (!info->place) {
		reason = place_write(qp, p, skb, off, bytes);
		if (reason)
			return reason;
	} else if (p->length > recv->length) {
		return MROCE_REASON_NAK_LENGTH;
	} else if (bytes) {
		reason = mroce_sge_from_skb(qp->dev, qp->ib->pd, recv->sge, recv->num_sge,
					    p->offset, skb, off, bytes, p->flags & MROCE_F_LAST);
		*fatal = reason;
	}
	if (recv && (*fatal || p->flags & MROCE_F_LAST))
		complete_recv(qp, recv, p, reason);
	return reason;
}

static enum mroce_reason admit(struct mroce_qp *qp, const struct mroce_uc *p,
			       const struct mroce_arrival *from)
{
	if (!mroce_qp_is_uc(qp) || !mroce_qp_receives(qp))
		return MROCE_REASON_RX_QPN;
	if (p->src_qpn != qp->attr.dest_qp_num || !ipv6_addr_equal(&from->saddr, &qp->daddr) ||
	    !ipv6_addr_equal(&from->daddr, &qp->saddr))
		return MROCE_REASON_RX_ADDRESS;
	return MROCE_REASON_NONE;
}

void mroce_uc_packet(struct mroce_dev *dev, const struct mroce_uc *p, struct sk_buff *skb,
		     unsigned int off, const struct mroce_arrival *from)
{
	struct mroce_qp *qp = mroce_qp_by_qpn(dev, p->dst_qpn);
	u32 bytes = skb->len - off;
	enum mroce_reason reason;
	bool fatal = false, first = false;

	if (!qp) {
		mroce_drop(dev, MROCE_REASON_RX_QPN);
		return;
	}
	mroce_qp_count(qp, MROCE_CNT_RX_PACKETS, 1);
	mroce_qp_count(qp, MROCE_CNT_RX_BYTES, bytes);
	spin_lock_bh(&qp->ud_lock);
	/* under the lock that the flush takes */
	reason = admit(qp, p, from);
	if (!reason) {
		first = !qp->established;
		qp->established = true;
		reason = mroce_uc_arrive(&qp->uc.rx, p, bytes);
		if (!reason) {
			reason = take(qp, p, skb, off, bytes, &fatal);
			if (reason)
				mroce_uc_refuse(&qp->uc.rx);
		}
	}
	spin_unlock_bh(&qp->ud_lock);
	if (first && READ_ONCE(qp->state) == IB_QPS_RTR)
		mroce_qp_raise(qp, MROCE_QPE_EST);
	if (fatal)
		mroce_qp_error(qp, reason);
	if (reason) {
		mroce_qp_count(qp, reason, 1);
		mroce_drop(dev, reason);
	}
	mroce_qp_put(qp);
}
