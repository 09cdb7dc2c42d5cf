// SPDX-License-Identifier: GPL-2.0
/*
 * Every packet that comes in: which half it is for, whether it may touch it, and who acts on it.
 * Softirq, under RCU; a receiving half is used with a reference, a sending half under RCU alone.
 * Connection id, addresses and path are checked before anything is touched; each drop has its
 * reason.
 */
#include <net/inet_ecn.h>

#include "conn.h"

/* ---- counting and refusing ---- */

/*
 * A packet that belongs to no half is counted by the device whose address it names, if there is
 * one.
 */
static void stray(struct mroce_sock *sock, const struct mroce_arrival *from,
		  enum mroce_reason reason)
{
	struct mroce_dev *dev = mroce_dev_by_arrival(sock, from);

	if (!dev)
		return;
	mroce_count_in(dev, 1, 0);
	mroce_drop(dev, reason);
	mroce_dev_put(dev);
}

/*
 * No half has this id. A sender is told; acknowledgements and handshakes end nothing by being
 * late.
 */
static void unknown_id(struct mroce_sock *sock, const struct mroce_arrival *from,
		       const struct mroce_base *base)
{
	struct mroce_dev *dev = mroce_dev_by_arrival(sock, from);

	if (!dev)
		return;
	mroce_count_in(dev, 1, 0);
	mroce_drop(dev, MROCE_REASON_RX_ID);
	if (base->type == MROCE_T_DATA || base->type == MROCE_T_OPEN ||
	    base->type == MROCE_T_CONTROL || base->type == MROCE_T_PROBE)
		mroce_reset_out(dev, base, from);
	mroce_dev_put(dev);
}

static enum mroce_reason reason_of(int err)
{
	switch (err) {
	case -EPROTONOSUPPORT:
		return MROCE_REASON_RX_VERSION;
	case -EOPNOTSUPP:
		return MROCE_REASON_RX_TYPE;
	default:
		return MROCE_REASON_RX_MALFORMED;
	}
}

/* ---- toward a receiving half: numbered packets ---- */

/* Is the packet the sender's? By which of its address pairs; -1: no. */
static int via_of(const struct mroce_rxhalf *h, const struct mroce_arrival *from)
{
	lockdep_assert_held(&h->lock);
	if (likely(ipv6_addr_equal(&from->saddr, &h->saddr) &&
		   ipv6_addr_equal(&from->daddr, &h->daddr)))
		return 0;
	return mroce_rxhalf_via(h, from);
}

/*
 * ACKs of a path go back on its plane and carry its source port (rule 13), which change with its
 * epoch, and the class of what they answer. Half's lock held.
 */
static void follow(struct mroce_rxhalf *h, u8 path, const struct mroce_arrival *from, int via)
{
	struct mroce_flow *flow = &h->flow[path];

	flow->tclass = from->tos & ~INET_ECN_MASK;
	if (likely(flow->sport == from->sport && h->path_via[path] == via))
		return;
	h->path_via[path] = via;
	h->rx.path[path].plane = h->via[via].slot;
	mroce_flow_turn(flow, &h->via[via].daddr, &h->via[via].saddr,
			from->sport, h->via[via].ifindex);
}

static void count_numbered(struct mroce_rxhalf *h, u32 packets, u32 bytes,
			   const struct mroce_arrival *from)
{
	mroce_count_in(h->dev, packets, bytes);
	if (unlikely(!(from->tos & INET_ECN_MASK)))
		mroce_count(h->dev, MROCE_CNT_RX_NOT_ECT, packets);
}

/* *@op is filled if the packet may go on; a reason other than NONE: it is to be dropped. */
static enum mroce_reason arrive(struct mroce_rxhalf *h, const struct mroce_data *d, u32 count,
				u32 bytes, const struct mroce_arrival *from, struct mroce_rxop *op)
{
	enum mroce_reason reason;
	int via = via_of(h, from);

	lockdep_assert_held(&h->lock);
	if (via < 0)
		return MROCE_REASON_RX_ADDRESS;
	mroce_rxhalf_confirm(h);
	if (time_after(jiffies, READ_ONCE(h->heard)))
		WRITE_ONCE(h->heard, jiffies);
	if (h->gone)
		return MROCE_REASON_RX_STATE;
	reason = mroce_rx_arrive(&h->rx, d, count, bytes, from->ce, ktime_get_ns(), op);
	if (reason == MROCE_REASON_NONE)
		follow(h, d->base.path, from, via);
	return reason;
}

/* The same for what is no data, without the lock; false: it was dropped. */
static bool arrive_one(struct mroce_rxhalf *h, const struct mroce_data *d, u32 bytes,
		       const struct mroce_arrival *from, struct mroce_rxop *op)
{
	enum mroce_reason reason;

	spin_lock(&h->lock);
	reason = arrive(h, d, 1, bytes, from, op);
	spin_unlock(&h->lock);
	if (reason != MROCE_REASON_NONE)
		mroce_drop(h->dev, reason);
	return reason == MROCE_REASON_NONE;
}

static void finish(struct mroce_rxhalf *h, struct mroce_rxop *op, bool taken)
{
	spin_lock(&h->lock);
	if (taken)
		op->bits = 1;
	mroce_rx_finish(&h->rx, NULL, op);
	spin_unlock(&h->lock);
	mroce_send_acks(h);
}

/* The packet or train that @skb begins with: *@bytes of payload, which make *@count packets. */
static enum mroce_reason parse(struct sk_buff *skb, unsigned int gso_size, struct mroce_data *d,
			       u32 *count, u32 *bytes)
{
	const unsigned int header = sizeof(struct mroce_wire_data);
	int err;

	if (!pskb_may_pull(skb, header))
		return MROCE_REASON_RX_SHORT;
	*bytes = skb->len - header;
	if (!gso_size)
		*bytes = mroce_data_payload(skb->data, *bytes);
	err = mroce_parse_data(skb->data, header, *bytes, d, count);
	if (err)
		return reason_of(err);
	/* several packets' worth in one datagram is a train only if the stack says so too */
	if (gso_size ? gso_size != d->psize : *count > 1)
		return MROCE_REASON_RX_GSO;
	return MROCE_REASON_NONE;
}

static void place(struct mroce_rxhalf *h, struct sk_buff *skb, const struct mroce_data *d,
		  u32 count, u32 bytes, const struct mroce_arrival *from, bool joined)
{
	struct mroce_rxop op __uninitialized;
	enum mroce_reason reason;
	bool claimed = false;
	struct mroce_qp *qp;
	u32 credit = 0;

	count_numbered(h, count, bytes, from);
	qp = mroce_qp_by_stream(h->dev, d->stream);
	if (qp)
		credit = mroce_qp_fresh_credit(qp, d->opcode, d->rsn);
	spin_lock(&h->lock);
	reason = arrive(h, d, count, bytes, from, &op);
	if (reason == MROCE_REASON_NONE) {
		op.whole = from->whole;
		op.joined = joined;
		claimed = qp && mroce_qp_claim(qp, h, &op, credit, &reason);
		if (!claimed) {
			if (!mroce_rx_unknown(&h->rx, &op))
				reason = MROCE_REASON_RX_STREAM;
			mroce_rx_finish(&h->rx, NULL, &op);
		}
	}
	spin_unlock(&h->lock);
	if (reason != MROCE_REASON_NONE)
		mroce_drop(h->dev, reason);
	if (claimed)
		mroce_qp_place(qp, h, &op, skb, sizeof(struct mroce_wire_data));
	if (qp)
		mroce_qp_put(qp);
}

/* messages of a run; they lie on the stack of a softirq */
#define RUN_MAX 24

/*
 * Messages from the one at the skb's beginning on that make a run with it: how many, and the
 * @size of all. *@d becomes the header of all.
 */
static u32 run_of(struct sk_buff *skb, u32 most, struct mroce_data *d, struct mroce_small *run,
		  u32 *size)
{
	const unsigned int header = sizeof(struct mroce_wire_data);
	u32 n = 1;

	if (!mroce_begins_run(d, run))
		return 1;
	*size = header + d->length;
	while (n < most && pskb_may_pull(skb, *size + header) &&
	       mroce_joins_run(skb->data + *size, skb->len - *size - header, n, d, &run[n]))
		*size += header + run[n++].length;
	return n;
}

/* False: it is to be taken message by message. */
static bool place_run(struct mroce_rxhalf *h, struct sk_buff *skb, const struct mroce_data *d,
		      const struct mroce_small *run, u32 count, u32 bytes,
		      const struct mroce_arrival *from, bool joined)
{
	struct mroce_qp *qp = mroce_qp_by_stream(h->dev, d->stream);
	struct mroce_rxop op __uninitialized;
	bool claimed = false;
	u32 credit;

	if (!qp)
		return false;
	credit = mroce_qp_fresh_credit(qp, d->opcode, d->rsn + count - 1);
	spin_lock(&h->lock);
	if (arrive(h, d, count, bytes, from, &op) == MROCE_REASON_NONE) {
		op.whole = from->whole;
		op.joined = joined;
		claimed = mroce_qp_claim_run(qp, h, &op, run, credit);
		if (!claimed)
			mroce_rx_withdraw(&op);
	}
	spin_unlock(&h->lock);
	if (claimed) {
		count_numbered(h, count, bytes, from);
		mroce_qp_place(qp, h, &op, skb, sizeof(struct mroce_wire_data));
	}
	mroce_qp_put(qp);
	return claimed;
}

/*
 * A datagram of several packets of one path, each a whole message; *@d is the first, with @bytes of
 * payload. In runs where they make some.
 */
static noinline void place_many(struct mroce_rxhalf *h, struct sk_buff *skb, struct mroce_data *d,
				u32 bytes, const struct mroce_arrival *from)
{
	const unsigned int header = sizeof(struct mroce_wire_data);
	struct mroce_small run[RUN_MAX] __uninitialized;
	const struct mroce_base base = d->base;
	u32 n = 0, single = 0, count, size;
	enum mroce_reason reason;

	for (;;) {
		count = min_t(u32, RUN_MAX, MROCE_JOINED_MAX - n);
		count = single ? 1 : run_of(skb, count, d, run, &size);
		if (count > 1 && place_run(h, skb, d, run, count, size - count * header, from, n)) {
			n += count;
		} else {
			if (count > 1) {
				single = count;
				parse(skb, 0, d, &count, &bytes);
			}
			place(h, skb, d, 1, bytes, from, n);
			size = header + bytes;
			single -= single ? 1 : 0;
			n++;
		}
		if (skb->len <= size)
			return;
		reason = MROCE_REASON_RX_MALFORMED;
		if (n < MROCE_JOINED_MAX && pskb_pull(skb, size))
			reason = parse(skb, 0, d, &count, &bytes);
		if (reason == MROCE_REASON_NONE &&
		    (d->base.id != base.id || d->base.path != base.path ||
		     d->base.epoch != base.epoch))
			reason = MROCE_REASON_RX_MALFORMED;
		if (reason != MROCE_REASON_NONE) {
			mroce_drop(h->dev, reason);
			return;
		}
	}
}

static void data(struct mroce_sock *sock, struct sk_buff *skb, const struct mroce_arrival *from,
		 unsigned int gso_size)
{
	enum mroce_reason reason;
	struct mroce_data d __uninitialized;
	struct mroce_rxhalf *h;
	u32 count, bytes;

	reason = parse(skb, gso_size, &d, &count, &bytes);
	if (reason != MROCE_REASON_NONE) {
		stray(sock, from, reason);
		return;
	}
	h = mroce_rxhalf_by_id(sock, d.base.id);
	if (!h) {
		unknown_id(sock, from, &d.base);
		return;
	}
	if (likely(skb->len <= sizeof(struct mroce_wire_data) + bytes))
		place(h, skb, &d, count, bytes, from, false);
	else
		place_many(h, skb, &d, bytes, from);
	mroce_send_acks(h);
	mroce_shares_tell(h->dev);
	mroce_rxhalf_put(h);
}

static noinline void open(struct mroce_sock *sock, struct sk_buff *skb,
			  const struct mroce_base *base, const struct mroce_arrival *from)
{
	struct mroce_open o, reply = {};
	struct mroce_wire_open wire;
	struct mroce_data d = {};
	struct mroce_rxhalf *h;
	struct mroce_rxop op;
	int err;

	err = pskb_may_pull(skb, sizeof(wire)) ? mroce_parse_open(skb->data, skb->len, &o)
					       : -EBADMSG;
	if (err) {
		stray(sock, from, reason_of(err));
		return;
	}
	h = mroce_rxhalf_by_id(sock, base->id);
	if (!h) {
		unknown_id(sock, from, base);
		return;
	}
	count_numbered(h, 1, 0, from);
	d.base = *base;
	d.stamp = o.stamp;
	d.flags = o.flags;
	if (!arrive_one(h, &d, 0, from, &op))
		goto put;

	mroce_qp_opened(h->dev, h, &o, &reply);
	reply.base = (struct mroce_base){
		.version = MROCE_WIRE_VERSION,
		.type = MROCE_T_OPEN_REPLY,
		.path = base->path,
		.epoch = base->epoch,
		.id = h->rx.peer_id,
	};
	reply.peer_qpn = o.own_qpn;
	reply.to = o.stream;
	reply.attempt = o.attempt;
	/* the ACK first: it has the share that what follows ACCEPT must keep to */
	finish(h, &op, true);
	mroce_send_bare(h->dev, &h->flow[base->path], &wire, mroce_build_open(&wire, &reply));
put:
	mroce_rxhalf_put(h);
}

static noinline void control(struct mroce_sock *sock, struct sk_buff *skb,
			     const struct mroce_base *base, const struct mroce_arrival *from)
{
	struct mroce_data d = {};
	struct mroce_rxhalf *h;
	struct mroce_control c;
	struct mroce_rxop op;
	u32 bytes;
	int err;

	err = pskb_may_pull(skb, sizeof(struct mroce_wire_control))
		      ? mroce_parse_control(skb->data, skb->len, &c)
		      : -EBADMSG;
	if (err) {
		stray(sock, from, reason_of(err));
		return;
	}
	h = mroce_rxhalf_by_id(sock, base->id);
	if (!h) {
		unknown_id(sock, from, base);
		return;
	}
	bytes = skb->len - sizeof(struct mroce_wire_control);
	count_numbered(h, 1, bytes, from);
	d.base = *base;
	d.stamp = c.stamp;
	d.flags = c.flags;
	if (arrive_one(h, &d, bytes, from, &op)) {
		if (base->type == MROCE_T_CONTROL)
			mroce_qp_control(h->dev, h, &c);
		finish(h, &op, true);
	}
	mroce_rxhalf_put(h);
}

/* ---- toward a sending half ---- */

static struct mroce_txhalf *answered(struct mroce_sock *sock, const struct mroce_base *base,
				     const struct mroce_arrival *from)
{
	struct mroce_txhalf *h = mroce_txhalf_by_id(sock, base->id);

	if (!h) {
		unknown_id(sock, from, base);
		return NULL;
	}
	mroce_count_in(h->dev, 1, 0);
	return h;
}

/*
 * False: nothing came of it. The ACK is on this stack frame only, which is gone before anything is
 * sent in answer.
 */
static noinline struct mroce_txhalf *take_ack(struct mroce_sock *sock, struct sk_buff *skb,
					      const struct mroce_arrival *from)
{
	unsigned int len = min_t(unsigned int, skb->len, MROCE_ACK_DATAGRAM), at = 0, n = 0;
	enum mroce_reason reason = MROCE_REASON_RX_STATE;
	struct mroce_ack a __uninitialized;
	struct mroce_txhalf *h;
	int err;
	u64 id;

	err = pskb_may_pull(skb, len) ? mroce_parse_ack(skb->data, len, &a) : -EBADMSG;
	if (err) {
		stray(sock, from, reason_of(err));
		return NULL;
	}
	id = a.base.id;
	h = answered(sock, &a.base, from);
	if (!h)
		return NULL;
	spin_lock(&h->lock);
	if (!mroce_txhalf_from_peer(h, from))
		reason = MROCE_REASON_RX_ADDRESS;
	while (!h->gone && reason != MROCE_REASON_RX_ADDRESS) {
		reason = a.base.id == id ? mroce_tx_ack(&h->tx, &a, ktime_get_ns())
				      : MROCE_REASON_RX_MALFORMED;
		if (reason != MROCE_REASON_NONE)
			break;
		n++;
		at += mroce_ack_size(&a);
		if (at == len)
			break;
		err = mroce_parse_ack(skb->data + at, len - at, &a);
		if (err) {
			reason = reason_of(err);
			break;
		}
	}
	spin_unlock(&h->lock);
	mroce_count(h->dev, MROCE_CNT_RX_ACKS, n);
	if (reason != MROCE_REASON_NONE)
		mroce_drop(h->dev, reason);
	return n ? h : NULL;
}

static void ack(struct mroce_sock *sock, struct sk_buff *skb, const struct mroce_arrival *from)
{
	struct mroce_txhalf *h = take_ack(sock, skb, from);

	if (!h)
		return;
	mroce_txhalf_settle(h);
	mroce_xmit(h);
}

static noinline void open_reply(struct mroce_sock *sock, struct sk_buff *skb,
				const struct mroce_base *base, const struct mroce_arrival *from)
{
	struct mroce_txhalf *h;
	struct mroce_open o;
	bool ours;
	int err;

	err = pskb_may_pull(skb, sizeof(struct mroce_wire_open))
		      ? mroce_parse_open(skb->data, skb->len, &o)
		      : -EBADMSG;
	if (err) {
		stray(sock, from, reason_of(err));
		return;
	}
	h = answered(sock, base, from);
	if (!h)
		return;
	spin_lock(&h->lock);
	ours = mroce_txhalf_from_peer(h, from);
	spin_unlock(&h->lock);
	if (!ours || READ_ONCE(h->gone)) {
		mroce_drop(h->dev, ours ? MROCE_REASON_RX_STATE : MROCE_REASON_RX_ADDRESS);
		return;
	}
	mroce_qp_open_reply(h->dev, h, &o);
	mroce_txhalf_settle(h);
	mroce_xmit(h);
}

/* ---- of no connection ---- */

static noinline void hello(struct mroce_sock *sock, struct sk_buff *skb,
			   const struct mroce_arrival *from)
{
	struct mroce_hello h;
	int err;

	err = pskb_may_pull(skb, sizeof(struct mroce_wire_hello))
		      ? mroce_parse_hello(skb->data, skb->len, &h)
		      : -EBADMSG;
	if (err)
		stray(sock, from, reason_of(err));
	else if (h.base.type == MROCE_T_HELLO)
		mroce_hello(sock, &h, from);
	else
		mroce_hello_ack(sock, &h, from);
}

static noinline void reset(struct mroce_sock *sock, struct sk_buff *skb,
			   const struct mroce_arrival *from)
{
	struct mroce_reset r;
	int err;

	err = pskb_may_pull(skb, sizeof(struct mroce_wire_reset))
		      ? mroce_parse_reset(skb->data, skb->len, &r)
		      : -EBADMSG;
	if (err)
		stray(sock, from, reason_of(err));
	else
		mroce_reset_in(sock, &r, from);
}

static noinline void verify(struct mroce_sock *sock, struct sk_buff *skb,
			    const struct mroce_arrival *from)
{
	struct mroce_verify v;
	int err;

	err = pskb_may_pull(skb, sizeof(struct mroce_wire_verify))
		      ? mroce_parse_verify(skb->data, skb->len, &v)
		      : -EBADMSG;
	if (err)
		stray(sock, from, reason_of(err));
	else
		mroce_verify_in(sock, &v, from);
}

static void datagram(struct mroce_sock *sock, struct sk_buff *skb, const struct mroce_arrival *from)
{
	const unsigned int header = sizeof(struct mroce_wire_ud);
	struct mroce_dev *dev;
	struct mroce_ud u;
	int err;

	err = pskb_may_pull(skb, header) ? mroce_parse_ud(skb->data, header, &u) : -EBADMSG;
	if (!err && u.length != skb->len - header)
		err = -EBADMSG;
	if (err) {
		stray(sock, from, reason_of(err));
		return;
	}
	if (mroce_addr_group(&from->daddr))
		dev = mroce_dev_by_arrival(sock, from);
	else
		dev = mroce_dev_by_addr(sock, &from->daddr);
	if (!dev)
		return;
	mroce_count_in(dev, 1, u.length);
	mroce_datagram(dev, &u, skb, header, from);
	mroce_dev_put(dev);
}

static void unreliable(struct mroce_sock *sock, struct sk_buff *skb,
		       const struct mroce_arrival *from)
{
	const unsigned int header = sizeof(struct mroce_wire_uc);
	struct mroce_dev *dev;
	struct mroce_uc u;
	int err;

	err = pskb_may_pull(skb, header)
		      ? mroce_parse_uc(skb->data, header, skb->len - header, &u)
		      : -EBADMSG;
	if (err) {
		stray(sock, from, reason_of(err));
		return;
	}
	dev = mroce_dev_by_addr(sock, &from->daddr);
	if (!dev)
		return;
	mroce_count_in(dev, 1, skb->len - header);
	mroce_uc_packet(dev, &u, skb, header, from);
	mroce_dev_put(dev);
}

/* ---- from the network layer ---- */

/* What comes rarely. A reason: dropped. */
static noinline enum mroce_reason others(struct mroce_sock *sock, struct sk_buff *skb,
					 const struct mroce_arrival *from, unsigned int gso_size)
{
	struct mroce_base base;
	int err = mroce_parse_base(skb->data, sizeof(struct mroce_wire_base), &base);

	if (err)
		return reason_of(err);
	if (gso_size)
		return MROCE_REASON_RX_GSO;
	if (base.type != MROCE_T_UD && mroce_addr_group(&from->daddr))
		return MROCE_REASON_RX_ADDRESS;
	switch (base.type) {
	case MROCE_T_OPEN:
		open(sock, skb, &base, from);
		break;
	case MROCE_T_OPEN_REPLY:
		open_reply(sock, skb, &base, from);
		break;
	case MROCE_T_CONTROL:
	case MROCE_T_PROBE:
		control(sock, skb, &base, from);
		break;
	case MROCE_T_HELLO:
	case MROCE_T_HELLO_ACK:
		hello(sock, skb, from);
		break;
	case MROCE_T_RESET:
		reset(sock, skb, from);
		break;
	case MROCE_T_VERIFY:
		verify(sock, skb, from);
		break;
	case MROCE_T_UD:
		datagram(sock, skb, from);
		break;
	case MROCE_T_UC:
		unreliable(sock, skb, from);
		break;
	}
	return MROCE_REASON_NONE;
}

void mroce_receive(struct mroce_sock *sock, struct sk_buff *skb, const struct mroce_arrival *from,
		   unsigned int gso_size)
{
	enum mroce_reason reason = MROCE_REASON_NONE;
	u8 type;

	if (!pskb_may_pull(skb, sizeof(struct mroce_wire_base))) {
		stray(sock, from, MROCE_REASON_RX_SHORT);
		kfree_skb(skb);
		return;
	}
	/* these two look at the whole header themselves */
	type = ((const struct mroce_wire_base *)skb->data)->type;
	if (type != MROCE_T_DATA && (type != MROCE_T_ACK || gso_size))
		reason = others(sock, skb, from, gso_size);
	else if (unlikely(mroce_addr_group(&from->daddr)))
		reason = MROCE_REASON_RX_ADDRESS;
	else if (type == MROCE_T_DATA)
		data(sock, skb, from, gso_size);
	else
		ack(sock, skb, from);
	if (likely(reason == MROCE_REASON_NONE)) {
		consume_skb(skb);
		return;
	}
	stray(sock, from, reason);
	kfree_skb(skb);
}

/*
 * Anybody can send an ICMP error; it counts if it quotes the id that the peer chose for us and a
 * number that is outstanding, else the path is asked (rule 23).
 */
void mroce_receive_error(struct mroce_sock *sock, const struct in6_addr *daddr, __be16 sport,
			 const void *hdr, unsigned int len, unsigned int mtu)
{
	struct mroce_txhalf *h;
	struct mroce_base base;
	bool asked = false;

	if (mroce_parse_base(hdr, len, &base) || !base.id)
		return;
	h = mroce_txhalf_by_peer(sock, daddr, base.id);
	if (!h || base.path >= h->nflows || h->flow[base.path].sport != sport)
		return;
	if (!mtu)
		mroce_drop(h->dev, MROCE_REASON_TX_NO_ROUTE);
	spin_lock_bh(&h->lock);
	if (h->gone || base.path >= h->tx.npaths)
		goto unlock;
	if (!mtu && base.epoch == h->tx.path[base.path].epoch &&
	    mroce_tx_path_unreachable(&h->tx, base.path, base.number, ktime_get_ns()))
		asked = true;
	else if (mtu && mroce_seq_before(base.number, h->tx.path[base.path].next))
		mroce_txhalf_mtu(h, base.path, mtu);
	else
		asked = mroce_tx_path_ask(&h->tx, base.path);
unlock:
	spin_unlock_bh(&h->lock);
	if (asked)
		mroce_xmit_soon(h);
}
