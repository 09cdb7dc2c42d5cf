// SPDX-License-Identifier: GPL-2.0
/*
 * Direct placement: a packet or train of a stream goes from the skb to where it says, in the
 * order of calls that transport/rx.h gives. Softirq, no lock over a copy. Between claim and
 * finish the stream is a copier's: neither it nor the queue pair's buffers and halves go away.
 *
 * Writes to memory without relaxed ordering: the last packet of a message and every ordered one
 * land after all earlier packets of the stream; what must wait is copied and held.
 */
#include <linux/slab.h>
#include <linux/ktime.h>

#include "qp.h"

/* why packets of an operation are not taken */
struct verdict {
	u8 nack, timer;
	u8 status; /* of the receive request that is at fault */
	u16 reason;
};

void mroce_packet_free(struct mroce_dev *dev, struct mroce_packet *p)
{
	atomic64_sub(sizeof(*p) + p->len, &dev->held);
	kfree(p);
}

/* ---- ranges ---- */

static u32 offset_of(const struct mroce_rxop *op, u32 i)
{
	return i * op->data.psize;
}

static u32 bytes_of(const struct mroce_rxop *op, u32 i, u32 n)
{
	u32 from = offset_of(op, i);

	return min_t(u32, (i + n) * op->data.psize, op->bytes) - from;
}

/* The next run of consecutive packets of *@mask, which loses them; false: none is left. */
static bool next_run(u64 *mask, u32 *i, u32 *n)
{
	u64 above;

	if (!*mask)
		return false;
	*i = __ffs64(*mask);
	above = *mask >> *i;
	*n = above == U64_MAX ? 64 : __ffs64(~above);
	*mask &= ~((*n == 64 ? U64_MAX : BIT_ULL(*n) - 1) << *i);
	return true;
}

static bool ends_message(const struct mroce_rxop *op, u32 i, u32 n)
{
	return op->data.flags & MROCE_F_LAST && i + n == op->count;
}

/* ---- the destinations ---- */

static bool refuse(struct verdict *v, u8 nack, u8 status, enum mroce_reason reason)
{
	v->nack = nack;
	v->status = status;
	v->reason = reason;
	return false;
}

static bool place_sges(struct mroce_qp *qp, struct ib_pd *pd, const struct mroce_rxop *op,
		       const struct mroce_sge *sge, u32 num_sge, struct sk_buff *skb,
		       unsigned int off, u64 mask, enum mroce_reason *reason)
{
	u32 i, n;

	while (next_run(&mask, &i, &n)) {
		u32 len = bytes_of(op, i, n);

		if (!len)
			continue;
		*reason = mroce_sge_from_skb(qp->dev, pd, sge, num_sge,
					     op->data.offset + offset_of(op, i), skb,
					     off + offset_of(op, i), len, ends_message(op, i, n));
		if (*reason)
			return false;
	}
	return true;
}

static bool place_send(struct mroce_qp *qp, const struct mroce_rxop *op, struct sk_buff *skb,
		       unsigned int off, struct verdict *v)
{
	struct mroce_recv *recv;
	enum mroce_reason reason;

	recv = mroce_qp_recv(qp, op->data.rsn, mroce_xrc_named(&op->data), &v->nack);
	if (!recv) {
		v->timer = qp->rreq.rnr_timer;
		return false;
	}
	if (op->data.length > recv->length)
		return refuse(v, MROCE_N_LENGTH, IB_WC_LOC_LEN_ERR, MROCE_REASON_NAK_LENGTH);
	if (!place_sges(qp, mroce_qp_recv_pd(qp, op->data.rsn), op, recv->sge, recv->num_sge, skb,
			off, op->claimed, &reason))
		return refuse(v, MROCE_N_OPERATION, IB_WC_LOC_PROT_ERR, reason);
	return true;
}

/* Packets of a Write that have to wait for earlier ones. */
static u64 ordered_of(const struct mroce_rxop *op, const struct mroce_mr *mr)
{
	if (op->inorder || mroce_mr_relaxed(mr))
		return 0;
	if (op->data.flags & MROCE_F_ORDERED)
		return op->claimed;
	return op->data.flags & MROCE_F_LAST ? op->claimed & BIT_ULL(op->count - 1) : 0;
}

static bool place_write(struct mroce_qp *qp, const struct mroce_rxop *op, struct sk_buff *skb,
			unsigned int off, u64 *waits, struct verdict *v)
{
	const struct mroce_data *d = &op->data;
	enum mroce_reason reason;
	struct mroce_mr *mr;
	u32 i, n;
	u64 mask;

	if (mroce_opinfo[d->opcode].receive && mroce_qp_binds(qp) &&
	    !mroce_qp_recv(qp, d->rsn, mroce_xrc_named(d), &v->nack)) {
		v->timer = qp->rreq.rnr_timer;
		return false;
	}
	if (!(qp->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE))
		return refuse(v, MROCE_N_LENGTH, IB_WC_SUCCESS, MROCE_REASON_NAK_ACCESS);
	if (!d->length)
		return true;
	mr = mroce_qp_mr_get(qp, d->rkey, IB_ACCESS_REMOTE_WRITE, d->addr, op->bytes, &reason);
	if (!mr)
		return refuse(v, MROCE_N_ACCESS, IB_WC_SUCCESS, MROCE_REASON_NAK_ACCESS);
	*waits = ordered_of(op, mr);
	mask = op->claimed & ~*waits;
	while (next_run(&mask, &i, &n))
		mroce_mr_from_skb(mr, d->addr + offset_of(op, i), skb, off + offset_of(op, i),
				  bytes_of(op, i, n), ends_message(op, i, n));
	mroce_mr_put(mr);
	return true;
}

/* READ, FLUSH, atomics: judged now, carried out at the cursor; operands are kept until then. */
static bool place_request(struct mroce_qp *qp, struct mroce_rxhalf *h, const struct mroce_rxop *op,
			  struct sk_buff *skb, unsigned int off, struct verdict *v)
{
	const struct mroce_data *d = &op->data;
	struct mroce_wire_atomic wire = {};
	u32 i, room;

	v->nack = mroce_qp_admit(qp, d->opcode, d->addr, d->rkey, d->length, d->imm);
	if (v->nack) {
		v->reason = v->nack == MROCE_N_ACCESS ? MROCE_REASON_NAK_ACCESS
						      : MROCE_REASON_NAK_LENGTH;
		return false;
	}
	/* as if lost: it comes again */
	if (!mroce_qp_may_respond(qp))
		return refuse(v, MROCE_N_NONE, IB_WC_SUCCESS, MROCE_REASON_RX_NOMEM);
	if (!mroce_opinfo[d->opcode].fixed)
		return true;
	if (skb_copy_bits(skb, off, &wire, mroce_opinfo[d->opcode].fixed))
		return refuse(v, MROCE_N_LENGTH, IB_WC_SUCCESS, MROCE_REASON_RX_SHORT);
	spin_lock(&h->lock);
	room = qp->responder->room;
	for (i = 0; i < room; i++) {
		struct mroce_operand *o = &qp->responder->operands[i];

		if (o->used && o->msn != d->msn)
			continue;
		o->used = true;
		o->msn = d->msn;
		o->compare_add = be64_to_cpu(wire.compare_add);
		/* bytes, not a number */
		if (d->opcode == MROCE_OP_ATOMIC_WRITE)
			o->compare_add = (__force u64)wire.compare_add;
		o->swap = be64_to_cpu(wire.swap);
		break;
	}
	spin_unlock(&h->lock);
	/* the engine lets no more of them in than there is room for */
	return i < room || refuse(v, MROCE_N_READS, IB_WC_SUCCESS, MROCE_REASON_NAK_READS);
}

/*
 * The request that a response answers: that and no other, so its slot stays until the cursor
 * has passed the response.
 */
static struct mroce_send *answered_by(struct mroce_qp *qp, const struct mroce_data *d)
{
	struct mroce_send *s = NULL;
	struct mroce_msg *m;

	spin_lock(&qp->txh->lock);
	m = mroce_txs_msg(&qp->req, d->rsn);
	if (m && mroce_opinfo[m->opcode].answered) {
		s = mroce_sq_send(&qp->sq, m->wr);
		if (s->answer != d->msn || mroce_opinfo[m->opcode].answered != d->opcode ||
		    (d->opcode == MROCE_OP_READ_RESP &&
		     d->length != (m->opcode == MROCE_OP_READ ? s->length : 0)))
			s = NULL;
		/* a part of an answer is progress too (rule 24) */
		else
			qp->req.progress_at = ktime_get_ns();
	}
	spin_unlock(&qp->txh->lock);
	return s;
}

static bool place_response(struct mroce_qp *qp, const struct mroce_rxop *op, struct sk_buff *skb,
			   unsigned int off, struct verdict *v)
{
	const struct mroce_data *d = &op->data;
	enum mroce_reason reason = MROCE_REASON_NONE;
	struct mroce_send *s;
	__be64 wire;
	u64 value;

	if (d->opcode == MROCE_OP_ERROR_RESP)
		return true;
	s = answered_by(qp, d);
	if (!s)
		return refuse(v, MROCE_N_LENGTH, IB_WC_SUCCESS, MROCE_REASON_RX_MALFORMED);
	if (d->opcode == MROCE_OP_READ_RESP) {
		place_sges(qp, qp->ib->pd, op, s->sge, s->num_sge, skb, off, op->claimed, &reason);
	} else if (!skb_copy_bits(skb, off, &wire, sizeof(wire))) {
		value = be64_to_cpu(wire);
		reason = mroce_sge_write(qp->dev, qp->ib->pd, s->sge, s->num_sge, 0, &value,
					 sizeof(value));
	}
	if (!reason)
		return true;
	/* the fault is ours: the READ fails here, and the peer's answer is not wanted any more */
	spin_lock(&qp->txh->lock);
	mroce_txs_fail(&qp->req, d->rsn, MROCE_REASON_ERR_LOCAL_KEY, MROCE_N_NONE);
	spin_unlock(&qp->txh->lock);
	return refuse(v, MROCE_N_OPERATION, IB_WC_SUCCESS, reason);
}

static bool place(struct mroce_qp *qp, struct mroce_rxhalf *h, struct mroce_rxop *op,
		  struct sk_buff *skb, unsigned int off, u64 *waits, struct verdict *v)
{
	const struct mroce_opinfo *info = &mroce_opinfo[op->data.opcode];

	if (info->response)
		return place_response(qp, op, skb, off, v);
	if (info->place)
		return place_send(qp, op, skb, off, v);
	if (info->answered)
		return place_request(qp, h, op, skb, off, v);
	return place_write(qp, op, skb, off, waits, v);
}

/* ---- a run of small messages, one after another; how many are in memory ---- */

static u32 place_sends(struct mroce_qp *qp, const struct mroce_rxop *op, struct sk_buff *skb,
		       unsigned int off, struct verdict *v)
{
	enum mroce_reason reason;
	struct mroce_recv *recv;
	u32 i, rsn = op->data.rsn;

	for (i = 0; i < op->count; i++) {
		u32 len = op->run[i].length;

		recv = mroce_qp_recv(qp, rsn + i, op->run[i].rkey, &v->nack);
		if (!recv) {
			v->timer = qp->rreq.rnr_timer;
			break;
		}
		if (len > recv->length) {
			refuse(v, MROCE_N_LENGTH, IB_WC_LOC_LEN_ERR, MROCE_REASON_NAK_LENGTH);
			break;
		}
		reason = MROCE_REASON_NONE;
		if (len)
			reason = mroce_sge_from_skb(qp->dev, mroce_qp_recv_pd(qp, rsn + i),
						    recv->sge, recv->num_sge, 0, skb, off, len,
						    true);
		if (reason) {
			refuse(v, MROCE_N_OPERATION, IB_WC_LOC_PROT_ERR, reason);
			break;
		}
		off += len + sizeof(struct mroce_wire_data);
	}
	return i;
}

static u32 place_writes(struct mroce_qp *qp, const struct mroce_rxop *op, struct sk_buff *skb,
			unsigned int off, struct verdict *v)
{
	bool binds = mroce_opinfo[op->data.opcode].receive && mroce_qp_binds(qp);
	struct mroce_mr *mr = NULL;
	enum mroce_reason reason;
	u32 i, rkey = 0;

	if (!(qp->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE)) {
		refuse(v, MROCE_N_LENGTH, IB_WC_SUCCESS, MROCE_REASON_NAK_ACCESS);
		return 0;
	}
	for (i = 0; i < op->count; i++) {
		const struct mroce_small *m = &op->run[i];

		if (binds && !mroce_qp_recv(qp, op->data.rsn + i, 0, &v->nack)) {
			v->timer = qp->rreq.rnr_timer;
			break;
		}
		/* mostly of one region, which stays as it is while there is a reference */
		if (m->length && (!mr || m->rkey != rkey ||
				  !mroce_mr_covers(mr, m->addr, m->length))) {
			if (mr)
				mroce_mr_put(mr);
			rkey = m->rkey;
			mr = mroce_qp_mr_get(qp, rkey, IB_ACCESS_REMOTE_WRITE, m->addr, m->length,
					     &reason);
			if (!mr) {
				refuse(v, MROCE_N_ACCESS, IB_WC_SUCCESS, MROCE_REASON_NAK_ACCESS);
				break;
			}
		}
		if (m->length)
			mroce_mr_from_skb(mr, m->addr, skb, off, m->length, true);
		off += m->length + sizeof(struct mroce_wire_data);
	}
	if (mr)
		mroce_mr_put(mr);
	return i;
}

/* ---- what waits ---- */

static struct mroce_packet *copy_packet(struct mroce_dev *dev, const struct mroce_rxop *op, u32 i,
					struct sk_buff *skb, unsigned int off)
{
	u32 len = bytes_of(op, i, 1);
	struct mroce_packet *p;
	size_t size = sizeof(*p) + len;

	if (atomic64_add_return(size, &dev->held) > READ_ONCE(dev->held_limit))
		goto none;
	p = kmalloc(size, GFP_ATOMIC | __GFP_NOWARN);
	if (!p)
		goto none;
	p->addr = op->data.addr + offset_of(op, i);
	p->rkey = op->data.rkey;
	p->len = len;
	p->last = ends_message(op, i, 1);
	if (!skb_copy_bits(skb, off + offset_of(op, i), p->data, len))
		return p;
	kfree(p);
none:
	atomic64_sub(size, &dev->held);
	return NULL;
}

/* The range was found good when the packet came; the key may have died since. */
static u8 land(struct mroce_qp *qp, const struct mroce_packet *p)
{
	enum mroce_reason reason;
	struct mroce_mr *mr;

	mr = mroce_qp_mr_get(qp, p->rkey, IB_ACCESS_REMOTE_WRITE, p->addr, p->len, &reason);
	if (!mr)
		return MROCE_N_ACCESS;
	if (p->last)
		mroce_mr_write_last(mr, p->addr, p->data, p->len);
	else
		mroce_mr_write(mr, p->addr, p->data, p->len);
	mroce_mr_put(mr);
	return MROCE_N_NONE;
}

/* @msn, @rsn: of the message at fault */
static void note_error(struct mroce_qp *qp, u32 msn, u32 rsn, const struct verdict *v)
{
	struct mroce_rx_error *e = &qp->rx_error;

	if (v->nack < MROCE_N_ACCESS || (e->set && !mroce_seq_before(msn, e->msn)))
		return;
	*e = (struct mroce_rx_error){
		.set = true,
		.status = v->status,
		.nack = v->nack,
		.reason = v->reason,
		.msn = msn,
		.rsn = rsn,
	};
}

/* A packet at the lowest hole needs no copy of its own. */
static u8 land_skb(struct mroce_qp *qp, const struct mroce_rxop *op, u32 i, struct sk_buff *skb,
		   unsigned int off)
{
	u64 addr = op->data.addr + offset_of(op, i);
	u32 len = bytes_of(op, i, 1);
	enum mroce_reason reason;
	struct mroce_mr *mr;

	mr = mroce_qp_mr_get(qp, op->data.rkey, IB_ACCESS_REMOTE_WRITE, addr, len, &reason);
	if (!mr)
		return MROCE_N_ACCESS;
	mroce_mr_from_skb(mr, addr, skb, off + offset_of(op, i), len, ends_message(op, i, 1));
	mroce_mr_put(mr);
	return MROCE_N_NONE;
}

/*
 * half->lock is held on entry and return: packets of @waits are held, or land at once if their
 * time has come.
 */
static void hold(struct mroce_qp *qp, struct mroce_rxhalf *h, struct mroce_rxs *rxs,
		 struct mroce_rxop *op, u64 waits, struct sk_buff *skb, unsigned int off)
{
	struct verdict v = {.reason = MROCE_REASON_NAK_ACCESS};

	for (waits &= op->claimed; waits; waits &= waits - 1) {
		u32 i = __ffs64(waits), spn = op->data.spn + i;
		struct mroce_packet *p;

		if (spn != rxs->base) {
			spin_unlock(&h->lock);
			p = copy_packet(qp->dev, op, i, skb, off);
			spin_lock(&h->lock);
			if (p && mroce_rxs_hold(rxs, op, i, &p->held))
				continue;
			if (p)
				mroce_packet_free(qp->dev, p);
			if (spn != rxs->base) {
				mroce_rxs_unclaim(rxs, op, waits, MROCE_N_HOLD, 0);
				return;
			}
		}
		/* all before it has landed */
		spin_unlock(&h->lock);
		v.nack = land_skb(qp, op, i, skb, off);
		spin_lock(&h->lock);
		if (v.nack) {
			note_error(qp, op->data.msn, op->data.rsn, &v);
			mroce_rxs_unclaim(rxs, op, waits, v.nack, 0);
			return;
		}
		mroce_rxs_placed(rxs, op, BIT_ULL(i));
	}
}

/* half->lock is held on entry and return */
static void land_held(struct mroce_qp *qp, struct mroce_rxhalf *h, struct mroce_rxs *rxs,
		      struct mroce_rxop *op)
{
	struct mroce_held *held;

	while ((held = mroce_rxs_land(rxs, op))) {
		struct mroce_packet *p = container_of(held, struct mroce_packet, held);
		u32 spn = held->spn;
		u8 nack;

		spin_unlock(&h->lock);
		nack = land(qp, p);
		mroce_packet_free(qp->dev, p);
		spin_lock(&h->lock);
		mroce_rxs_landed(rxs, op, spn, nack);
	}
}

/* ---- a packet ---- */

/* Receive buffers as the engine knows them, brought up to date before they run out. */
u32 mroce_qp_fresh_credit(struct mroce_qp *qp, u8 opcode, u32 rsn)
{
	s32 left = mroce_seq_diff(READ_ONCE(qp->rreq.credit), rsn);

	/* no response consumes one */
	if (!mroce_qp_has_rq(qp) || !mroce_opinfo[opcode].receive ||
	    left > (s32)(qp->rq.entries / 2))
		return MROCE_CREDIT_NONE;
	return mroce_rq_limit(&qp->rq);
}

/* @n: of a run the message that is refused */
static void refused(struct mroce_qp *qp, const struct mroce_rxop *op, u32 n)
{
	if (op->refused != MROCE_N_RNR)
		return;
	if (unlikely(qp->xrcd)) {
		/* what is behind the message that lacks a buffer waits for that one's queue, too */
		if (mroce_opinfo[op->data.opcode].receive &&
		    mroce_rxop_msn(op, n) == READ_ONCE(qp->rreq.refuse_msn))
			mroce_xrc_wait(qp, op->run ? op->run[n].rkey : mroce_xrc_named(&op->data));
	} else if (qp->srq) {
		mroce_qp_srq_wait(qp, qp->srq);
	} else if (mroce_rq_want_doorbell(&qp->rq, mroce_rxop_rsn(op, n))) {
		mroce_qp_credit(qp);
	}
}

/* The requester has these responses: they are let go before anything else that the packet does. */
static bool release_responses(struct mroce_qp *qp, const struct mroce_data *d)
{
	u32 floor = d->floor;

	/* which the number of an SRQ is in the place of */
	if (unlikely(qp->xrcd) && mroce_opinfo[d->opcode].receive && !mroce_opinfo[d->opcode].place)
		return false;
	if (!mroce_seq_before(READ_ONCE(qp->resp.una), floor))
		return false;
	spin_lock(&qp->txh->lock);
	mroce_txs_released(&qp->resp, floor, ktime_get_ns());
	spin_unlock(&qp->txh->lock);
	return true;
}

static struct mroce_rxs *space_of(struct mroce_qp *qp, const struct mroce_rxop *op)
{
	return op->data.flags & MROCE_F_RESPONSE ? &qp->rresp : &qp->rreq;
}

/* A peer that never opens is known by its first response. half->lock held on entry and return. */
static noinline bool is_on_half(struct mroce_qp *qp, struct mroce_rxhalf *h, struct mroce_rxs *rxs)
{
	bool on;

	if (!rxs->response)
		return false;
	spin_unlock(&h->lock);
	on = mroce_qp_on_half(qp, h);
	spin_lock(&h->lock);
	return on && rxs->rx == &h->rx;
}

bool mroce_qp_claim(struct mroce_qp *qp, struct mroce_rxhalf *h, struct mroce_rxop *op, u32 credit,
		    enum mroce_reason *reason)
{
	struct mroce_rxs *rxs = space_of(qp, op);

	lockdep_assert_held(&h->lock);
	if (unlikely(rxs->rx != &h->rx) && !is_on_half(qp, h, rxs))
		return false;
	if (credit != MROCE_CREDIT_NONE && rxs->credit != MROCE_CREDIT_NONE)
		mroce_rxs_credit(rxs, credit);
	*reason = mroce_rxs_claim(rxs, op);
	if (!op->claimed)
		mroce_rx_finish(&h->rx, rxs, op);
	return true;
}

bool mroce_qp_claim_run(struct mroce_qp *qp, struct mroce_rxhalf *h, struct mroce_rxop *op,
			const struct mroce_small *run, u32 credit)
{
	struct mroce_rxs *rxs = &qp->rreq;

	lockdep_assert_held(&h->lock);
	if (rxs->rx != &h->rx)
		return false;
	/* each names an SRQ where a run has one floor */
	if (unlikely(qp->xrcd) && !mroce_opinfo[op->data.opcode].place)
		return false;
	if (credit != MROCE_CREDIT_NONE && rxs->credit != MROCE_CREDIT_NONE)
		mroce_rxs_credit(rxs, credit);
	return mroce_rxs_claim_run(rxs, op, run);
}

/* The peer's first packet says that it has established the connection. */
static void established(struct mroce_qp *qp)
{
	if (likely(qp->established))
		return;
	qp->established = true;
	if (READ_ONCE(qp->state) == IB_QPS_RTR)
		mroce_qp_raise(qp, MROCE_QPE_EST);
}

/* Copies a run: how many of its messages are in memory now. */
static u32 place_run(struct mroce_qp *qp, struct mroce_rxop *op, struct sk_buff *skb,
		     unsigned int off, struct verdict *v)
{
	if (mroce_opinfo[op->data.opcode].place)
		return place_sends(qp, op, skb, off, v);
	return place_writes(qp, op, skb, off, v);
}

void mroce_qp_place(struct mroce_qp *qp, struct mroce_rxhalf *h, struct mroce_rxop *op,
		    struct sk_buff *skb, unsigned int off)
{
	bool response = op->data.flags & MROCE_F_RESPONSE, good;
	struct mroce_cursor cursor __uninitialized;
	struct mroce_rxs *rxs = space_of(qp, op);
	struct mroce_txhalf *settle = NULL;
	struct verdict v = {};
	u64 waits = 0, placed;
	u32 n = 0;

	mroce_qp_count(qp, MROCE_CNT_RX_PACKETS, op->count);
	mroce_qp_count(qp, MROCE_CNT_RX_BYTES, op->bytes);
	if (!op->claimed) {
		refused(qp, op, 0);
		return;
	}
	if (!response && release_responses(qp, &op->data))
		settle = mroce_txhalf_hold(qp->txh);
	if (op->run) {
		n = place_run(qp, op, skb, off, &v);
		good = n == op->count;
		placed = n ? GENMASK_ULL(n - 1, 0) : 0;
	} else {
		good = place(qp, h, op, skb, off, &waits, &v);
		placed = good ? op->claimed & ~waits : 0;
	}
	if (!good && response)
		settle = mroce_txhalf_hold(qp->txh);

	spin_lock(&h->lock);
	if (good || n)
		mroce_rxs_placed(rxs, op, placed);
	if (!good) {
		/* of a run the first that is not in memory */
		if (!response)
			note_error(qp, mroce_rxop_msn(op, n), mroce_rxop_rsn(op, n), &v);
		mroce_rxs_unclaim(rxs, op, op->claimed, v.nack, v.timer);
	} else if (waits) {
		hold(qp, h, rxs, op, waits, skb, off);
	}
	land_held(qp, h, rxs, op);
	mroce_rx_finish(&h->rx, rxs, op);
	mroce_cursor_begin(&cursor, h, rxs);
	spin_unlock(&h->lock);

	established(qp);
	if (!good && v.reason) {
		mroce_qp_count(qp, v.reason, 1);
		mroce_drop(qp->dev, v.reason);
	}
	refused(qp, op, n);
	mroce_cursor_run(&cursor, qp, h, rxs);
	if (settle) {
		mroce_txhalf_settle(settle);
		mroce_txhalf_put(settle);
	}
}
