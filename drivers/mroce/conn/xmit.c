// SPDX-License-Identifier: GPL-2.0
/*
 * The transmitter: what the engine picks becomes an skb and leaves, with no lock held. Also the
 * timers of both halves, acknowledgements, and the engine's statistics on their way to the
 * counters.
 *
 * Contexts: the caller of a doorbell, the softirq of an ACK or timer, and the tasklet of a half.
 * One at a time transmits for a half, with bottom halves off as long as it is the one, so that it
 * is never preempted meanwhile; the others leave, for whoever transmits looks again after their
 * change.
 */
#include <linux/percpu.h>

#include "../observe/netlink.h"
#include "../observe/trace.h"
#include "conn.h"

#define XMIT_BATCH	8	/* transmissions at a stretch, in process context */
#define XMIT_SOFTIRQ	32	/* transmissions of one softirq run (rule 40) */
#define XMIT_PROCESS	512	/* transmissions of one doorbell; more is the tasklet's */
#define MTU_LEAST	576u	/* of what any path passes, whatever somebody says */

/*
 * Are we inside mroce_packet_send() on this processor? A redirect below us (tc mirred) can bring a
 * packet to our own receive function from there; what that raises is left to timers and tasklets
 * (rule 40).
 */
static DEFINE_PER_CPU(unsigned int, sending_depth);

/* ---- counters ---- */

/* what a statistic grew by; by reference, as both sides are fields */
static u64 growth(u64 *told, u64 now)
{
	u64 n = now - *told;

	*told = now;
	return n;
}

static void count_growth(struct mroce_dev *dev, unsigned int counter, u64 *told, u64 now)
{
	if (*told != now)
		mroce_count(dev, counter, growth(told, now));
}

void mroce_txhalf_count(struct mroce_txhalf *h)
{
	const struct mroce_tx_stats *s = &h->tx.stats;
	struct mroce_tx_stats *t = &h->told;

	lockdep_assert_held(&h->lock);
	count_growth(h->dev, MROCE_CNT_TX_RESENT, &t->resent, s->resent);
	count_growth(h->dev, MROCE_CNT_TX_LOST, &t->lost, s->lost);
	count_growth(h->dev, MROCE_CNT_TX_PROBE_TIMEOUT, &t->probe_timeouts, s->probe_timeouts);
	count_growth(h->dev, MROCE_CNT_TX_SPURIOUS, &t->spurious, s->spurious);
	count_growth(h->dev, MROCE_CNT_RNR_WAITS, &t->rnr, s->rnr);
	count_growth(h->dev, MROCE_CNT_PATH_SUSPECT, &t->path_suspect, s->path_suspect);
	count_growth(h->dev, MROCE_CNT_PATH_FAILED, &t->path_failed, s->path_failed);
	count_growth(h->dev, MROCE_CNT_PATH_RECOVERED, &t->path_recovered, s->path_recovered);
	count_growth(h->dev, MROCE_CNT_PATH_REDRAWN, &t->path_redrawn, s->path_redrawn);
	count_growth(h->dev, MROCE_CNT_PATH_SHRUNK, &t->path_shrunk, s->path_shrunk);
}

void mroce_rxhalf_count(struct mroce_rxhalf *h)
{
	static const u8 reasons[MROCE_N_MAX] = {
		[MROCE_N_RNR] = MROCE_REASON_NAK_RNR,
		[MROCE_N_HOLD] = MROCE_REASON_NAK_HOLD,
		[MROCE_N_WINDOW] = MROCE_REASON_NAK_WINDOW,
		[MROCE_N_READS] = MROCE_REASON_NAK_READS,
		[MROCE_N_NOT_READY] = MROCE_REASON_NAK_NOT_READY,
		[MROCE_N_MEMORY] = MROCE_REASON_NAK_MEMORY,
		[MROCE_N_FAULT] = MROCE_REASON_NAK_FAULT,
		[MROCE_N_ACCESS] = MROCE_REASON_NAK_ACCESS,
		[MROCE_N_LENGTH] = MROCE_REASON_NAK_LENGTH,
		[MROCE_N_GONE] = MROCE_REASON_NAK_GONE,
		[MROCE_N_OPERATION] = MROCE_REASON_NAK_OPERATION,
	};
	const struct mroce_rx_stats *s = &h->rx.stats;
	struct mroce_rx_stats *t = &h->told;
	u32 i;

	lockdep_assert_held(&h->lock);
	count_growth(h->dev, MROCE_CNT_RX_CE, &t->ce, s->ce);
	count_growth(h->dev, MROCE_CNT_RX_HELD, &t->held, s->held);
	count_growth(h->dev, MROCE_REASON_RX_DUPLICATE, &t->duplicates, s->duplicates);
	count_growth(h->dev, MROCE_REASON_RX_CLAIMED, &t->claimed, s->claimed);
	if (!growth(&t->nacks, s->nacks))
		return;
	for (i = 1; i < MROCE_N_MAX; i++)
		count_growth(h->dev, reasons[i], &t->refused[i], s->refused[i]);
}

/* ---- one skb ---- */

/* Out, and counted: @packets of the wire, @bytes of payload. Consumes @skb; bottom halves off. */
static int out(struct mroce_dev *dev, struct mroce_flow *flow, struct sk_buff *skb, u32 packets,
	       u32 bytes, unsigned int psize, bool ect, unsigned int frag)
{
	struct mroce_sock *sock;
	int err = -ENODEV;

	/*
	 * Whoever marks the device gone waits for us, as bottom halves are off, and then drops
	 * routes and socket.
	 */
	sock = READ_ONCE(dev->sock);
	if (sock && !READ_ONCE(dev->gone)) {
		this_cpu_inc(sending_depth);
		err = mroce_packet_send(sock, flow, skb, psize,
					psize ? sizeof(struct mroce_wire_data) : 0, ect, frag);
		this_cpu_dec(sending_depth);
	} else {
		kfree_skb(skb);
	}

	if (!err) {
		mroce_count(dev, MROCE_CNT_TX_PACKETS, packets);
		mroce_count(dev, MROCE_CNT_TX_SKBS, 1);
		if (bytes)
			mroce_count(dev, MROCE_CNT_TX_BYTES, bytes);
	} else if (err == -ENOBUFS) {
		mroce_drop(dev, MROCE_REASON_TX_LOCAL_DROP);
	} else if (err != -EMSGSIZE && err != -ENODEV) {
		mroce_drop(dev, MROCE_REASON_TX_NO_ROUTE);
	}
	return err;
}

static struct sk_buff *alloc(struct mroce_dev *dev, unsigned int len)
{
	struct sk_buff *skb = mroce_packet_alloc(len);

	if (!skb)
		mroce_drop(dev, MROCE_REASON_TX_NOMEM);
	return skb;
}

int mroce_send_bare(struct mroce_dev *dev, struct mroce_flow *flow, const void *hdr,
		    unsigned int len)
{
	struct sk_buff *skb = alloc(dev, len);

	if (!skb)
		return -ENOMEM;
	skb_put_data(skb, hdr, len);
	return out(dev, flow, skb, 1, 0, 0, false, 0);
}

/* ---- what the engine picks ---- */

/*
 * A new epoch is a new source port, so a new draw of the network's hash, or another plane. Not for
 * HELLO, which has a flow of its own.
 */
static void follow_epoch(struct mroce_txhalf *h, const struct mroce_xmit *x)
{
	struct mroce_flow *flow = &h->flow[x->path];
	const struct mroce_pair *pair = &h->pair[x->plane];
	u8 epoch = h->tx.path[x->path].epoch;

	lockdep_assert_held(&h->lock);
	if (likely(h->epoch[x->path] == epoch))
		return;
	mroce_flow_turn(flow, &pair->saddr, &pair->daddr, mroce_txhalf_port(h, x->path, epoch),
			pair->ifindex);
	h->epoch[x->path] = epoch;
}

/*
 * *@x is in the skb, which has room for @left bytes of another message: is there one to go with it?
 * Its stream is pinned, and that of what was *@x before no longer.
 */
static bool another(struct mroce_txhalf *h, unsigned int left, u64 now, struct mroce_xmit *x)
{
	struct mroce_txs *before = x->txs;
	bool more;

	spin_lock(&h->lock);
	more = !h->gone && mroce_tx_pick_more(&h->tx, left, now, x);
	if (more && x->txs != before)
		mroce_qp_pin(x->txs);
	spin_unlock(&h->lock);
	if (more && x->txs != before)
		mroce_qp_unpin(before);
	return more;
}

/* Header and payload of *@x behind what @skb has: all of it as a copy, for others are to follow. */
static int append(struct sk_buff *skb, struct mroce_xmit *x, enum mroce_reason *reason)
{
	const unsigned int start = skb->len;
	int err = 0;

	skb_put(skb, sizeof(struct mroce_wire_data));
	*reason = mroce_qp_build(x->txs, x, skb, &err);
	if (*reason != MROCE_REASON_NONE || err) {
		__skb_trim(skb, start);
		return err;
	}
	mroce_build_data(skb->data + start, &x->data);
	return 0;
}

/*
 * Small messages share a datagram. One that cannot be built leaves a gap in the numbers, which
 * comes to nobody's harm: its stream fails.
 */
static int send_small(struct mroce_txhalf *h, struct mroce_xmit *x, u64 now,
		      enum mroce_reason *reason)
{
	const unsigned int header = sizeof(struct mroce_wire_data);
	unsigned int most = min_t(unsigned int, header + x->passes, MROCE_JOINED_BYTES);
	struct mroce_flow *flow = &h->flow[x->path];
	unsigned int packets = 0, bytes = 0;
	bool ect = x->ect;
	struct sk_buff *skb;
	int err;

	skb = alloc(h->dev, most);
	if (!skb)
		return -ENOMEM;
	do {
		err = append(skb, x, reason);
		if (*reason != MROCE_REASON_NONE || err)
			break;
		packets++;
		bytes += x->bytes;
	} while (packets < MROCE_JOINED_MAX && skb->len + header < most &&
		 another(h, min(most - skb->len - header, MROCE_COPY_BELOW - 1U), now, x));
	if (!packets) {
		kfree_skb(skb);
		return err;
	}
	return out(h->dev, flow, skb, packets, bytes, 0, ect, 0);
}

static int send_data(struct mroce_txhalf *h, struct mroce_xmit *x, u64 now,
		     enum mroce_reason *reason)
{
	struct mroce_flow *flow = &h->flow[x->path];
	const unsigned int header = sizeof(struct mroce_wire_data);
	unsigned int packets, bytes;
	struct sk_buff *skb;
	int err = 0;

	if (x->more && x->bytes < MROCE_JOINED_BYTES / 2)
		return send_small(h, x, now, reason);
	/* what is not copied takes no room beside the header */
	skb = alloc(h->dev, header + (x->bytes < MROCE_COPY_BELOW ? max(x->bytes, 16U) : 0));
	if (!skb)
		return -ENOMEM;
	skb_put(skb, header);
	*reason = mroce_qp_build(x->txs, x, skb, &err);
	bytes = skb->len - header;
	if (err == -EMSGSIZE && bytes >= x->data.psize) {
		/*
		 * more fragments than an skb holds: what fits goes, the rest shows as a gap behind
		 * it
		 */
		if (bytes < x->bytes) {
			bytes = rounddown(bytes, x->data.psize);
			x->data.flags &= ~MROCE_F_LAST;
		}
		err = pskb_trim(skb, header + bytes);
	}
	if (*reason != MROCE_REASON_NONE || err) {
		if (err == -ENOMEM)
			mroce_drop(h->dev, MROCE_REASON_TX_NOMEM);
		kfree_skb(skb);
		return err;
	}
	mroce_build_data(skb->data, &x->data);
	packets = bytes > x->data.psize ? DIV_ROUND_UP(bytes, x->data.psize) : 1;
	return out(h->dev, flow, skb, packets, bytes, packets > 1 ? x->data.psize : 0, x->ect,
		   x->fragment ? x->passes + MROCE_PACKET_HEADERS : 0);
}

/* the padding of a full-size probe: a page of zeros, again and again */
static int pad(struct sk_buff *skb, unsigned int len)
{
	int err = 0;

	while (len && !err) {
		unsigned int n = min_t(unsigned int, len, PAGE_SIZE);

		err = mroce_packet_add(skb, ZERO_PAGE(0), 0, n, false);
		len -= n;
	}
	return err;
}

static int send_control(struct mroce_txhalf *h, struct mroce_xmit *x)
{
	struct mroce_flow *flow = &h->flow[x->path];
	struct sk_buff *skb;
	int err;

	skb = alloc(h->dev, sizeof(struct mroce_wire_control));
	if (!skb)
		return -ENOMEM;
	mroce_build_control(skb_put(skb, sizeof(struct mroce_wire_control)), &x->control);
	err = pad(skb, x->control.length);
	if (err) {
		kfree_skb(skb);
		return err;
	}
	return out(h->dev, flow, skb, 1, x->control.length, 0, x->ect, 0);
}

static int send_open(struct mroce_txhalf *h, struct mroce_xmit *x)
{
	struct mroce_flow *flow = &h->flow[x->path];
	struct sk_buff *skb = alloc(h->dev, sizeof(struct mroce_wire_open));

	if (!skb)
		return -ENOMEM;
	mroce_build_open(skb_put(skb, sizeof(struct mroce_wire_open)), &x->open);
	return out(h->dev, flow, skb, 1, 0, 0, x->ect, 0);
}

static int send_hello(struct mroce_txhalf *h, struct mroce_xmit *x)
{
	struct sk_buff *skb = alloc(h->dev, sizeof(struct mroce_wire_hello));

	if (!skb)
		return -ENOMEM;
	mroce_build_hello(skb_put(skb, sizeof(struct mroce_wire_hello)), &x->hello);
	/* the path's port, so that another try may go another way */
	mroce_flow_drop(&h->greeting);
	h->greeting.sport = h->flow[x->path].sport;
	return out(h->dev, &h->greeting, skb, 1, 0, 0, false, 0);
}

static int transmit(struct mroce_txhalf *h, struct mroce_xmit *x, u64 now,
		    enum mroce_reason *reason)
{
	*reason = MROCE_REASON_NONE;
	switch (x->kind) {
	case MROCE_XMIT_DATA:
		return send_data(h, x, now, reason);
	case MROCE_XMIT_OPEN:
		return send_open(h, x);
	case MROCE_XMIT_CONTROL:
	case MROCE_XMIT_PROBE:
		return send_control(h, x);
	case MROCE_XMIT_HELLO:
		return send_hello(h, x);
	}
	return -EINVAL;
}

void mroce_txhalf_mtu(struct mroce_txhalf *h, u8 path, unsigned int mtu)
{
	lockdep_assert_held(&h->lock);
	/* below what messages are cut to, fragments may still be small */
	mroce_tx_path_size(&h->tx, path, mroce_payload_of_mtu(mtu) ?:
			   max(mtu, MTU_LEAST) - MROCE_PACKET_HEADERS, ktime_get_ns());
}

/*
 * The path passes less than was sent: ask its route what. A train that was too long for its link
 * is an error of the same name.
 */
static int smaller(struct mroce_txhalf *h, u8 path)
{
	int mtu = -ENODEV;

	rcu_read_lock();
	if (!READ_ONCE(h->dev->gone))
		mtu = mroce_flow_mtu(h->dev->sock, &h->flow[path]);
	rcu_read_unlock();
	return mtu;
}

/* ---- the loop ---- */

/*
 * A stream's packets are of its class, on paths that all streams share. What else goes has the
 * class of the last of these, by whichever path: it may be the first that this one carries. The
 * flow is the transmitter's, and under the lock the stream is there.
 */
static void classify(struct mroce_txhalf *h, const struct mroce_xmit *x)
{
	struct mroce_flow *flow = &h->flow[x->path];

	lockdep_assert_held(&h->lock);
	if (x->kind == MROCE_XMIT_HELLO)
		return;
	if (x->kind == MROCE_XMIT_DATA || x->kind == MROCE_XMIT_OPEN) {
		h->tclass = x->txs->tclass;
		h->hop_limit = x->txs->hop_limit;
	}
	flow->tclass = h->tclass;
	flow->hop_limit = h->hop_limit;
}

/* At most @budget transmissions. True: there may be more. Bottom halves are off. */
static bool burst(struct mroce_txhalf *h, unsigned int budget)
{
	struct mroce_xmit x __uninitialized;
	struct mroce_txs *txs, *before = NULL;
	enum mroce_reason reason;
	bool more = true;
	int err, mtu;
	u64 now;

	spin_lock(&h->lock);
	if (h->sending || h->gone) {
		spin_unlock(&h->lock);
		return false;
	}
	h->sending = true;
	while (budget--) {
		more = !h->gone && mroce_tx_any(&h->tx);
		if (!more)
			break;
		now = ktime_get_ns();
		more = mroce_tx_pick(&h->tx, now, &x);
		if (!more)
			break;
		classify(h, &x);
		txs = x.kind == MROCE_XMIT_DATA ? x.txs : NULL;
		if (txs && txs != before)
			mroce_qp_pin(txs);
		if (x.kind != MROCE_XMIT_HELLO)
			follow_epoch(h, &x);
		spin_unlock(&h->lock);

		if (before && txs != before)
			mroce_qp_unpin(before);
		mtu = 0;
		err = transmit(h, &x, now, &reason);
		if (unlikely(err == -EMSGSIZE))
			mtu = smaller(h, x.path);

		spin_lock(&h->lock);
		if (unlikely(mtu > 0))
			mroce_txhalf_mtu(h, x.path, mtu);
		mroce_tx_sent(&h->tx, &x, err, reason);
		/* of the last message, if several went; not under the lock */
		before = txs ? x.txs : NULL;
	}
	h->sending = false;
	mroce_txhalf_count(h);
	mroce_txhalf_arm(h);
	spin_unlock(&h->lock);
	if (before)
		mroce_qp_unpin(before);
	return more;
}

void mroce_xmit(struct mroce_txhalf *h)
{
	bool softirq = in_serving_softirq(), more;
	unsigned int left = softirq ? XMIT_SOFTIRQ : XMIT_PROCESS;

	/* inside a transmission: not deeper; without an exact processor the answer is still safe */
	if (unlikely(this_cpu_read(sending_depth))) {
		mroce_xmit_soon(h);
		return;
	}
	do {
		unsigned int n = softirq ? left : min_t(unsigned int, left, XMIT_BATCH);

		local_bh_disable();
		more = burst(h, n);
		mroce_txhalf_settle(h);
		/* in process context: what came back meanwhile is received here */
		local_bh_enable();
		left -= n;
	} while (more && left && (softirq || !need_resched()));
	if (more)
		mroce_xmit_soon(h);
}

void mroce_xmit_soon(struct mroce_txhalf *h)
{
	/* whoever sets gone waits for us before the tasklet is killed */
	rcu_read_lock();
	if (!READ_ONCE(h->gone))
		tasklet_schedule(&h->resume);
	rcu_read_unlock();
}

void mroce_txhalf_resume(struct tasklet_struct *t)
{
	struct mroce_txhalf *h = container_of(t, struct mroce_txhalf, resume);

	if (unlikely(READ_ONCE(h->planes_todo)))
		mroce_txhalf_planes(h);
	mroce_xmit(h);
}

/* Paths are in other states: whoever wants to know is told. No lock is held, bottom halves off. */
static noinline void tell_paths(struct mroce_txhalf *h)
{
	u8 from[MROCE_MAX_PATHS], to[MROCE_MAX_PATHS];
	u64 changed, left;
	u32 i;

	spin_lock(&h->lock);
	changed = h->tx.changed;
	h->tx.changed = 0;
	for (left = changed; left; left &= left - 1) {
		i = __ffs64(left);
		from[i] = h->told_state[i];
		to[i] = h->tx.path[i].state;
		h->told_state[i] = to[i];
	}
	mroce_txhalf_count(h);
	spin_unlock(&h->lock);
	for (left = changed; left; left &= left - 1) {
		i = __ffs64(left);
		if (from[i] == to[i])
			continue;
		mroce_nl_path(h->dev, h->tx.hello.half, i, READ_ONCE(h->tx.path[i].plane), to[i]);
		trace_mroce_path(dev_name(&h->dev->ib.dev), h->tx.own_id, i,
				 READ_ONCE(h->tx.path[i].plane), from[i], to[i]);
	}
}

void mroce_txhalf_settle(struct mroce_txhalf *h)
{
	struct mroce_txs *txs;

	local_bh_disable();
	if (unlikely(READ_ONCE(h->tx.changed)))
		tell_paths(h);
	/* whoever adds one comes here afterwards, and sees it */
	while (!list_empty(&h->tx.done)) {
		spin_lock(&h->lock);
		txs = mroce_tx_done(&h->tx);
		if (txs)
			mroce_qp_pin(txs);
		spin_unlock(&h->lock);
		if (!txs)
			break;
		mroce_qp_progress(txs);
	}
	local_bh_enable();
}

/* ---- acknowledgements ---- */

static bool same_plane(struct mroce_rxhalf *h, u8 path)
{
	int next = mroce_rx_due(&h->rx);

	return next >= 0 && h->path_via[next] == h->path_via[path];
}

/* Where the ACKs of a path go: on its plane, or if that has no carrier, by another's (rule 51). */
static struct mroce_flow *ack_flow(struct mroce_rxhalf *h, u8 path)
{
	struct mroce_flow *flow = &h->flow[path];
	u32 i;

	if (likely(!READ_ONCE(h->dev->plane_down)))
		return flow;
	rcu_read_lock();
	if (!mroce_plane_up(h->dev, READ_ONCE(flow->ifindex)))
		for (i = 0; i < h->rx.npaths; i++)
			if (mroce_plane_up(h->dev, READ_ONCE(h->flow[i].ifindex))) {
				flow = &h->flow[i];
				break;
			}
	rcu_read_unlock();
	return flow;
}

/* ACKs that are due, as many as one datagram takes: *@n, the first is of *@path. NULL: none. */
static struct sk_buff *next_acks(struct mroce_rxhalf *h, u8 *path, unsigned int *n)
{
	struct mroce_ack ack __uninitialized;
	struct sk_buff *skb = NULL;
	u64 now;

	lockdep_assert_held(&h->lock);
	*n = 0;
	if (list_empty(&h->rx.due))
		return NULL;
	now = ktime_get_ns();
	/* each may carry every record that an ACK can; all are of one plane (rule 13) */
	while (!h->gone && (!skb || (skb->len + MROCE_HEADER_MAX <= MROCE_ACK_DATAGRAM &&
				     same_plane(h, *path))) &&
	       mroce_rx_ack(&h->rx, now, &ack)) {
		if (!skb) {
			skb = alloc(h->dev, MROCE_ACK_DATAGRAM);
			if (!skb)
				break;	/* what it said is said again by the next one */
			*path = ack.base.path;
		}
		mroce_build_ack(skb_put(skb, mroce_ack_size(&ack)), &ack);
		++*n;
	}
	return skb;
}

void mroce_send_acks(struct mroce_rxhalf *h)
{
	struct sk_buff *skb;
	unsigned int n;
	u8 path = 0;

	if (unlikely(this_cpu_read(sending_depth))) {
		spin_lock(&h->lock);
		if (!h->gone) {
			h->armed = 0;
			hrtimer_start(&h->timer, 0, HRTIMER_MODE_ABS_SOFT);
		}
		spin_unlock(&h->lock);
		return;
	}
	for (;;) {
		spin_lock(&h->lock);
		skb = next_acks(h, &path, &n);
		if (!skb) {
			mroce_rxhalf_count(h);
			mroce_rxhalf_arm(h);
		}
		spin_unlock(&h->lock);
		if (!skb)
			return;
		if (!out(h->dev, ack_flow(h, path), skb, 1, 0, 0, false, 0))
			mroce_count(h->dev, MROCE_CNT_TX_ACKS, n);
	}
}

/* ---- timers ---- */

/*
 * A timer that is due earlier than the engine wants is left alone: starting one costs more than a
 * look too many, and the engine is told the time, not that "its" timer fired.
 */
void mroce_txhalf_arm(struct mroce_txhalf *h)
{
	u64 at;

	lockdep_assert_held(&h->lock);
	at = min(h->tx.timer, h->asks);
	if (h->gone || at >= h->armed)
		return;
	h->armed = at;
	hrtimer_start(&h->timer, ns_to_ktime(h->armed), HRTIMER_MODE_ABS_SOFT);
}

void mroce_rxhalf_arm(struct mroce_rxhalf *h)
{
	lockdep_assert_held(&h->lock);
	if (h->gone || h->rx.timer >= h->armed)
		return;
	h->armed = h->rx.timer;
	hrtimer_start(&h->timer, ns_to_ktime(h->armed), HRTIMER_MODE_ABS_SOFT);
}

enum hrtimer_restart mroce_txhalf_timer(struct hrtimer *t)
{
	struct mroce_txhalf *h = container_of(t, struct mroce_txhalf, timer);
	bool ask;

	spin_lock(&h->lock);
	h->armed = MROCE_NEVER;
	if (!h->gone)
		mroce_tx_timer(&h->tx, ktime_get_ns());
	ask = h->asks <= ktime_get_ns();
	spin_unlock(&h->lock);
	if (unlikely(ask || READ_ONCE(h->planes_todo)))
		mroce_txhalf_planes(h);
	mroce_txhalf_settle(h);
	mroce_xmit(h);
	return HRTIMER_NORESTART;
}

enum hrtimer_restart mroce_rxhalf_timer(struct hrtimer *t)
{
	struct mroce_rxhalf *h = container_of(t, struct mroce_rxhalf, timer);

	spin_lock(&h->lock);
	h->armed = MROCE_NEVER;
	if (!h->gone)
		mroce_rx_timer(&h->rx, ktime_get_ns());
	spin_unlock(&h->lock);
	mroce_send_acks(h);
	return HRTIMER_NORESTART;
}
