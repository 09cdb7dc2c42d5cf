// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams: queue pairs of type UD and the GSI (queue pair 1, ib_mad's), and what those of type
 * UC share with them. Outside of any connection; copied when posted, complete when handed to the
 * stack, whatever becomes of them (rule 11). A receiver's lock covers one buffer being filled, at
 * most the port's MTU: it is taken for datagrams alone, and keeps completions in the order of
 * buffers.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/ip.h>
#include <rdma/ib_addr.h>

#include "qp.h"

#define QKEY_OWN  0x80000000U /* in a request: the queue pair's own instead (IBA 10.2.5) */
#define PKEY_BASE 0x7fff /* a partition key without its membership bit */

u32 mroce_ud_max(const struct mroce_qp *qp)
{
	/* its headers are fewer than those of RoCE, which the port's MTU allows for */
	int mtu = ib_mtu_enum_to_int(iboe_get_mtu(READ_ONCE(qp->dev->ndev->mtu)));

	return max(mtu, 0);
}

/* ---- sending ---- */

static struct sk_buff *build(struct mroce_qp *qp, struct mroce_send *s)
{
	struct mroce_ud ud = {
		.base.type = MROCE_T_UD,
		.dst_qpn = s->qpn,
		.src_qpn = qp->ib->qp_num,
		.qkey = s->qkey & QKEY_OWN ? qp->attr.qkey : s->qkey,
		.length = s->length,
		.pkey = MROCE_PKEY,
	};
	struct sk_buff *skb;

	if (s->opcode == MROCE_WQE_SEND_IMM) {
		ud.flags |= MROCE_UD_IMM;
		ud.imm = s->imm;
	}
	if (s->flags & MROCE_WQE_SOLICITED)
		ud.flags |= MROCE_UD_SOLICITED;
	skb = mroce_packet_alloc(sizeof(struct mroce_wire_ud) + s->length);
	if (!skb) {
		/* as if the network had lost it */
		mroce_drop(qp->dev, MROCE_REASON_TX_NOMEM);
		return NULL;
	}
	mroce_build_ud(skb_put(skb, sizeof(struct mroce_wire_ud)), &ud);
	if (s->flags & MROCE_WQE_INLINE) {
		skb_put_data(skb, s->inline_data, s->length);
	} else if (s->length) {
		s->reason = mroce_sge_read(qp->dev, qp->ib->pd, s->sge, s->num_sge, 0,
					   skb_put(skb, s->length), s->length);
		if (s->reason) {
			s->status = IB_WC_LOC_PROT_ERR;
			kfree_skb(skb);
			return NULL;
		}
	}
	return skb;
}

void mroce_ud_transmit(struct mroce_qp *qp, struct mroce_flow *flow, struct sk_buff *skb,
		       u32 bytes)
{
	struct mroce_dev *dev = qp->dev;
	int err;

	if (READ_ONCE(dev->gone)) {
		kfree_skb(skb);
		return;
	}
	err = mroce_packet_send(dev->sock, flow, skb, 0, 0, false, 0);
	if (err)
		mroce_drop(dev, err == -ENOBUFS ? MROCE_REASON_TX_LOCAL_DROP
						: MROCE_REASON_TX_NO_ROUTE);
	mroce_count(dev, MROCE_CNT_TX_PACKETS, 1);
	mroce_count(dev, MROCE_CNT_TX_SKBS, 1);
	mroce_count(dev, MROCE_CNT_TX_BYTES, bytes);
	mroce_qp_count(qp, MROCE_CNT_TX_PACKETS, 1);
	mroce_qp_count(qp, MROCE_CNT_TX_BYTES, bytes);
}

/* bottom halves off, no lock held */
static void send(struct mroce_qp *qp, struct mroce_send *s)
{
	struct mroce_dev *dev = qp->dev;
	struct mroce_ah *ah;
	struct sk_buff *skb;

	ah = qp->user ? mroce_ah_get(dev, qp->ib->pd, s->ah) : s->kah;
	if (!ah) {
		s->status = IB_WC_LOC_QP_OP_ERR;
		s->reason = MROCE_REASON_ERR_LOCAL_OP;
		return;
	}
	skb = build(qp, s);
	if (skb)
		mroce_ud_transmit(qp, &ah->flow, skb, s->length);
	if (qp->user)
		mroce_ah_put(ah);
}

static unsigned int fetch(struct mroce_qp *qp, unsigned int most)
{
	struct mroce_sq *sq = &qp->sq;
	u32 first = sq->fetched, posted;

	if (qp->state != IB_QPS_RTS || sq->stopped)
		return 0;
	/* whoever sends looks again before it leaves */
	if (mroce_qp_is_uc(qp) && sq->building)
		return 0;
	posted = mroce_sq_posted(qp);
	while (sq->fetched != posted && sq->fetched - first < most) {
		struct mroce_send *s = mroce_sq_send(sq, sq->fetched);
		bool good;

		if (qp->user)
			good = mroce_wqe_fetch(qp, mroce_kring_slot(&sq->ring, sq->fetched), s);
		else
			good = mroce_send_check(qp, s);
		s->complete = false;
		if (sq->sig_all)
			s->flags |= MROCE_WQE_SIGNALED;
		sq->fetched++;
		if (!good) {
			sq->stopped = true;
			break;
		}
	}
	return sq->fetched - first;
}

static void carry_out(struct mroce_qp *qp, struct mroce_send *s)
{
	if (s->status)
		return;
	if (!s->wire) {
		mroce_sq_run_local(qp, s);
	} else if (mroce_qp_is_uc(qp)) {
		mroce_uc_send(qp, s);
	} else {
		local_bh_disable();
		send(qp, s);
		local_bh_enable();
	}
}

unsigned int mroce_ud_run(struct mroce_qp *qp, unsigned int budget)
{
	enum { BATCH = 16 };
	struct mroce_sq *sq = &qp->sq;
	unsigned int done = 0, n;
	u32 first, sent, i;

	do {
		spin_lock_bh(&qp->lock);
		first = sq->fetched;
		n = fetch(qp, min_t(unsigned int, budget - done, BATCH));
		sq->building += n;
		spin_unlock_bh(&qp->lock);
		if (!n)
			break;

		/* these slots are ours until they are complete */
		for (i = first; i != first + n; i++) {
			struct mroce_send *s = mroce_sq_send(sq, i);

			carry_out(qp, s);
			/* those behind one that failed are flushed */
			if (s->status)
				break;
		}

		spin_lock_bh(&qp->lock);
		sq->building -= n;
		sent = i;
		for (i = first; i != first + n && i != sent + 1; i++)
			mroce_sq_send(sq, i)->complete = true;
		mroce_sq_retire(qp);
		spin_unlock_bh(&qp->lock);
		done += n;
	} while ((n == BATCH || mroce_qp_is_uc(qp)) && done < budget);
	return done;
}

/* ---- receiving ---- */

/*
 * The 40 bytes before the data, as programs know them from RoCE v2: an IPv6 header, or 20
 * bytes and an IPv4 header.
 */
static void make_grh(u8 *grh, const struct mroce_arrival *from, u32 length)
{
	u32 total = sizeof(struct udphdr) + sizeof(struct mroce_wire_ud) + length;
	struct ipv6hdr *ip6 = (struct ipv6hdr *)grh;
	struct iphdr *ip = (struct iphdr *)(grh + MROCE_GRH_BYTES - sizeof(*ip));

	memset(grh, 0, MROCE_GRH_BYTES);
	if (mroce_addr_v4(&from->saddr)) {
		ip->version = 4;
		ip->ihl = sizeof(*ip) / 4;
		ip->tos = from->tos;
		ip->tot_len = htons(sizeof(*ip) + total);
		ip->ttl = from->ttl;
		ip->protocol = IPPROTO_UDP;
		ip->saddr = from->saddr.s6_addr32[3];
		ip->daddr = from->daddr.s6_addr32[3];
		ip_send_check(ip);
	} else {
		ip6_flow_hdr(ip6, from->tos, 0);
		ip6->payload_len = htons(total);
		ip6->nexthdr = IPPROTO_UDP;
		ip6->hop_limit = from->ttl;
		ip6->saddr = from->saddr;
		ip6->daddr = from->daddr;
	}
}

struct mroce_recv *mroce_ud_buffer(struct mroce_qp *qp)
{
	if (!qp->srq)
		return mroce_rq_recv(&qp->rq, READ_ONCE(qp->rq.done));
	return mroce_srq_take(qp->srq, qp->ud_recv) ? qp->ud_recv : NULL;
}

/* ud_lock is held */
static enum mroce_reason receive(struct mroce_qp *qp, const struct mroce_ud *ud,
				 struct sk_buff *skb, unsigned int off,
				 const struct mroce_arrival *from)
{
	struct mroce_dev *dev = qp->dev;
	struct ib_pd *pd = qp->ib->pd;
	struct mroce_cqe cqe = {
		.opcode = IB_WC_RECV,
		.flags = MROCE_CQE_GRH,
		.byte_len = ud->length + MROCE_GRH_BYTES,
		.src_qp = ud->src_qpn,
	};
	struct mroce_recv *recv;
	u8 grh[MROCE_GRH_BYTES] __aligned(4);
	enum mroce_reason reason;
	u64 wr_id;

	recv = mroce_ud_buffer(qp);
	if (!recv)
		return MROCE_REASON_NAK_RNR;
	if (cqe.byte_len > recv->length) {
		if (qp->srq)
			mroce_srq_give(qp->srq, recv);
		return MROCE_REASON_NAK_LENGTH;
	}
	if (mroce_addr_v4(&from->saddr))
		cqe.flags |= MROCE_CQE_IPV4;
	make_grh(grh, from, ud->length);
	reason = mroce_sge_write(dev, pd, recv->sge, recv->num_sge, 0, grh, sizeof(grh));
	if (!reason && ud->length)
		reason = mroce_sge_from_skb(dev, pd, recv->sge, recv->num_sge, sizeof(grh), skb,
					    off, ud->length, false);
	if (ud->flags & MROCE_UD_IMM) {
		cqe.flags |= MROCE_CQE_IMM;
		cqe.imm = (__force u32)cpu_to_be32(ud->imm);
	}
	if (ud->flags & MROCE_UD_SOLICITED)
		cqe.flags |= MROCE_CQE_SOLICITED;
	if (reason) {
		cqe.status = IB_WC_LOC_PROT_ERR;
		cqe.vendor_err = reason;
	}
	wr_id = recv->wr_id;
	if (!qp->srq)
		mroce_rq_advance(&qp->rq, qp->rq.done + 1);
	mroce_rq_cqe(qp, wr_id, &cqe, reason || ud->flags & MROCE_UD_SOLICITED);
	return reason;
}

static enum mroce_reason admit(const struct mroce_qp *qp, const struct mroce_ud *ud)
{
	if (!mroce_qp_is_ud(qp) || !mroce_qp_receives(qp))
		return MROCE_REASON_RX_QPN;
	if (ud->qkey != qp->attr.qkey || (ud->pkey & PKEY_BASE) != PKEY_BASE)
		return MROCE_REASON_RX_QKEY;
	return MROCE_REASON_NONE;
}

void mroce_qp_datagram(struct mroce_qp *qp, const struct mroce_ud *ud, struct sk_buff *skb,
		       unsigned int off, const struct mroce_arrival *from)
{
	enum mroce_reason reason;

	mroce_qp_count(qp, MROCE_CNT_RX_PACKETS, 1);
	if (skb->len < off || skb->len - off < ud->length) {
		reason = MROCE_REASON_RX_SHORT;
	} else {
		mroce_qp_count(qp, MROCE_CNT_RX_BYTES, ud->length);
		spin_lock_bh(&qp->ud_lock);
		/* again under the lock that the flush takes */
		reason = admit(qp, ud);
		if (!reason)
			reason = receive(qp, ud, skb, off, from);
		spin_unlock_bh(&qp->ud_lock);
	}
	if (reason == MROCE_REASON_NAK_ACCESS || reason == MROCE_REASON_ERR_LOCAL_KEY ||
	    reason == MROCE_REASON_ERR_LOCAL_LENGTH)
		mroce_qp_error(qp, reason);
	if (reason) {
		mroce_qp_count(qp, reason, 1);
		mroce_drop(qp->dev, reason);
	}
	mroce_qp_put(qp);
}

void mroce_datagram(struct mroce_dev *dev, const struct mroce_ud *ud, struct sk_buff *skb,
		    unsigned int off, const struct mroce_arrival *from)
{
	struct mroce_qp *qp;

	if (mroce_addr_group(&from->daddr)) {
		mroce_group_datagram(dev, ud, skb, off, from);
		return;
	}
	qp = mroce_qp_by_qpn(dev, ud->dst_qpn);
	if (qp)
		mroce_qp_datagram(qp, ud, skb, off, from);
	else
		mroce_drop(dev, MROCE_REASON_RX_QPN);
}
