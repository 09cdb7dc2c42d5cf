// SPDX-License-Identifier: GPL-2.0
/*
 * HELLO and its answer, and RESET. Softirq, under RCU.
 *
 * A HELLO costs its receiver memory, so beyond a number of unconfirmed halves, and always when it
 * would stand beside a half of another instance at the same address, its sender must first return
 * a cookie, which shows that it receives at the address it claims (rule 23). The cookie keeps no
 * state: a keyed hash of what the HELLO says and of the time slice. Nothing is ended by a HELLO or
 * a RESET alone.
 */
#include <linux/once.h>
#include <linux/random.h>
#include <linux/siphash.h>

#include "conn.h"

#define COOKIE_SHIFT	5	/* 32 s; a cookie is good in its slice and the next */
#define UNCONFIRMED	64	/* halves without a cookie */
#define RESET_RATE	200	/* a second and device */
#define RESET_BURST	50
#define STRANGER_RATE	100	/* refusals a second: of the whole module, there is no device */
#define STRANGER_BURST	50

static struct mroce_bucket strangers = { .lock = __SPIN_LOCK_UNLOCKED(strangers.lock) };

/* ---- cookies ---- */

struct cookie_input {
	struct in6_addr saddr, daddr;
	u64 own_id, instance, nonce, device;
	u64 slice;
	u32 half;
	u32 part;
};

static void make_cookie(const struct mroce_dev *dev, const struct mroce_hello *hello,
			const struct mroce_arrival *from, u64 slice, u8 *cookie)
{
	static siphash_key_t secret;
	struct cookie_input in = {
		.saddr = from->saddr,
		.daddr = from->daddr,
		.own_id = hello->own_id,
		.instance = hello->instance,
		.nonce = hello->nonce,
		.device = dev->instance,
		.slice = slice,
		.half = hello->half,
	};
	u64 half[2];

	BUILD_BUG_ON(sizeof(half) != sizeof(hello->cookie));
	get_random_once(&secret, sizeof(secret));
	half[0] = siphash(&in, sizeof(in), &secret);
	in.part = 1;
	half[1] = siphash(&in, sizeof(in), &secret);
	memcpy(cookie, half, sizeof(half));
}

static u64 slice_now(void)
{
	return div_u64(ktime_get_ns(), NSEC_PER_SEC) >> COOKIE_SHIFT;
}

static bool cookie_good(const struct mroce_dev *dev, const struct mroce_hello *hello,
			const struct mroce_arrival *from)
{
	u64 want[2], got[2], slice = slice_now();
	bool good = false;
	u32 i;

	memcpy(got, hello->cookie, sizeof(got));
	for (i = 0; i < 2; i++) {
		make_cookie(dev, hello, from, slice - i, (u8 *)want);
		/* all of it at once: how long it takes tells nothing of how much was right */
		good |= !((want[0] ^ got[0]) | (want[1] ^ got[1]));
	}
	return good;
}

/* ---- HELLO in ---- */

/* What the answer says but for how it ends. */
static void prepare(struct mroce_dev *dev, const struct mroce_hello *hello,
		    const struct mroce_arrival *from, unsigned int mtu, struct mroce_hello *ack)
{
	*ack = (struct mroce_hello){
		.base.type = MROCE_T_HELLO_ACK,
		.base.version = MROCE_WIRE_VERSION,
		.base.id = hello->own_id,
		.version_min = MROCE_WIRE_VERSION,
		.version_max = MROCE_WIRE_VERSION,
		.npaths = min_t(u8, hello->npaths, MROCE_MAX_PATHS),
		.instance = dev->instance,
		.half = hello->half,
		.nonce = hello->nonce,
	};
	memcpy(ack->to, hello->to, sizeof(ack->to));
	mroce_planes_hello(dev, &from->daddr, mtu, ack);
}

static void refuse(struct mroce_hello *ack, u8 reason)
{
	ack->flags |= MROCE_H_REFUSED;
	ack->reason = reason;
}

static void answer(struct mroce_dev *dev, const struct mroce_hello *hello,
		   const struct mroce_arrival *from, unsigned int mtu, struct mroce_hello *ack)
{
	struct mroce_rxhalf *h;
	u64 replaces;
	bool news;

	prepare(dev, hello, from, mtu, ack);
	if (hello->version_min > MROCE_WIRE_VERSION || hello->version_max < MROCE_WIRE_VERSION) {
		refuse(ack, MROCE_REFUSED_VERSION);
		return;
	}
	if (!ack->max_payload || hello->max_payload < MROCE_PAYLOAD_MIN ||
	    !mroce_payload_of_mtu(hello->plane[0].mtu ?: U16_MAX)) {
		refuse(ack, MROCE_REFUSED_MTU);
		return;
	}

	h = mroce_rxhalf_by_hello(dev, &from->saddr, &from->daddr, hello, &replaces);
	if (!h) {
		if ((replaces || atomic_read(&dev->conns->unconfirmed) >= UNCONFIRMED) &&
		    !cookie_good(dev, hello, from)) {
			ack->flags |= MROCE_H_COOKIE;
			make_cookie(dev, hello, from, slice_now(), ack->cookie);
			return;
		}
		/* it receives at this address: what was there before has a reason to be asked */
		if (replaces)
			mroce_txhalf_ask(dev, &from->saddr, replaces);
		h = mroce_rxhalf_add(dev, &from->saddr, &from->daddr, hello, ack->npaths,
				     from->sport);
		/* another processor was first: the asker repeats its HELLO, or has its answer */
		if (PTR_ERR_OR_ZERO(h) == -EEXIST)
			h = mroce_rxhalf_by_hello(dev, &from->saddr, &from->daddr, hello, &replaces)
				    ?: h;
	}
	if (IS_ERR(h)) {
		refuse(ack, PTR_ERR(h) == -ENOSPC ? MROCE_REFUSED_LIMIT : 0);
		return;
	}
	ack->npaths = h->rx.npaths;
	ack->own_id = h->rx.own_id;
	spin_lock(&h->lock);
	news = mroce_rxhalf_named(h, hello);
	if (!h->agreed)
		h->agreed = min(ack->max_payload, hello->max_payload);
	spin_unlock(&h->lock);
	/* said with an id that only the peer has; what is said again is known */
	if (news && READ_ONCE(h->confirmed))
		mroce_txhalf_learn(dev, hello->instance, hello);
	mroce_rxhalf_put(h);
}

/* No device has this address: better said than found out by a deadline. */
static void refuse_stranger(struct mroce_sock *sock, const struct mroce_hello *hello,
			    const struct mroce_arrival *from)
{
	struct mroce_hello ack = {
		.base.type = MROCE_T_HELLO_ACK,
		.base.id = hello->own_id,
		.version_min = MROCE_WIRE_VERSION,
		.version_max = MROCE_WIRE_VERSION,
		.half = hello->half,
		.nonce = hello->nonce,
	};
	struct mroce_wire_hello *wire;
	struct mroce_flow flow;
	struct sk_buff *skb;

	/* not for all hosts of a link at once, nor for more than one an answer */
	if (!mroce_addr_local(sock, &from->daddr) ||
	    !mroce_bucket_take(&strangers, STRANGER_RATE, STRANGER_BURST, ktime_get_ns()))
		return;
	skb = mroce_packet_alloc(sizeof(*wire));
	if (!skb)
		return;
	refuse(&ack, MROCE_REFUSED_ADDRESS);
	memcpy(ack.to, hello->to, sizeof(ack.to));
	wire = skb_put(skb, sizeof(*wire));
	mroce_build_hello(wire, &ack);
	mroce_flow_init(&flow, &from->daddr, &from->saddr, from->sport, from->ifindex);
	mroce_packet_send(sock, &flow, skb, 0, 0, false, 0);
	mroce_flow_drop(&flow);
}

/* What it says of us, of itself and of where it is must be the packet's. */
static bool is_addressed(const struct mroce_hello *hello, const struct mroce_arrival *from)
{
	return !memcmp(hello->to, &from->daddr, sizeof(hello->to)) && hello->nplanes &&
	       !memcmp(hello->plane[0].addr, &from->saddr, sizeof(hello->plane[0].addr));
}

void mroce_hello(struct mroce_sock *sock, const struct mroce_hello *hello,
		 const struct mroce_arrival *from)
{
	struct mroce_wire_hello wire;
	struct net_device *ndev;
	struct mroce_hello ack;
	struct mroce_flow flow;
	struct mroce_dev *dev;
	int mtu;

	dev = mroce_dev_by_addr(sock, &from->daddr);
	if (!dev) {
		if (is_addressed(hello, from) && hello->own_id && hello->npaths)
			refuse_stranger(sock, hello, from);
		return;
	}
	mroce_count_in(dev, 1, 0);
	if (!is_addressed(hello, from)) {
		mroce_drop(dev, MROCE_REASON_RX_ADDRESS);
		goto put;
	}
	if (!hello->own_id || !hello->npaths) {
		mroce_drop(dev, MROCE_REASON_RX_MALFORMED);
		goto put;
	}
	ndev = READ_ONCE(dev->ndev);
	mroce_flow_init(&flow, &from->daddr, &from->saddr, from->sport, ndev ? ndev->ifindex : 0);
	mtu = mroce_flow_mtu(sock, &flow);
	if (mtu < 0) {
		mroce_drop(dev, MROCE_REASON_TX_NO_ROUTE);
	} else {
		answer(dev, hello, from, mtu, &ack);
		/* short of memory, or going away: as if it had been lost */
		if (!(ack.flags & MROCE_H_REFUSED) || ack.reason)
			mroce_send_bare(dev, &flow, &wire, mroce_build_hello(&wire, &ack));
		else
			mroce_drop(dev, MROCE_REASON_RX_NOMEM);
	}
	mroce_flow_drop(&flow);
put:
	mroce_dev_put(dev);
}

/* ---- HELLO_ACK in ---- */

void mroce_hello_ack(struct mroce_sock *sock, const struct mroce_hello *ack,
		     const struct mroce_arrival *from)
{
	struct mroce_txhalf *h = mroce_txhalf_by_id(sock, ack->base.id);
	struct mroce_dev *dev;
	unsigned int train, k;
	bool opened, forgotten = false;
	u64 peer_id;
	u8 before;
	int err;

	if (!h)
		return;
	dev = h->dev;
	mroce_count_in(dev, 1, 0);
	if (!ipv6_addr_equal(&from->saddr, &h->daddr) ||
	    !ipv6_addr_equal(&from->daddr, &h->saddr)) {
		mroce_drop(dev, MROCE_REASON_RX_ADDRESS);
		return;
	}
	/* the route's opinion of a train, before the lock */
	train = mroce_flow_train(sock, &h->flow[0], min(h->tx.hello.max_payload, ack->max_payload));

	spin_lock(&h->lock);
	before = h->tx.state;
	peer_id = h->tx.peer_id;
	err = h->gone ? -ENOENT : mroce_tx_hello_ack(&h->tx, ack, ktime_get_ns());
	opened = before == MROCE_TX_HELLO && h->tx.state == MROCE_TX_OPEN;
	if (opened)
		h->tx.train = clamp_t(u32, READ_ONCE(dev->burst), h->tx.max_payload,
				      max_t(u32, train, h->tx.max_payload));
	else if (!err && h->tx.peer_id != peer_id)
		forgotten = true;
	/* a new receiving half knows of one pair only */
	for (k = 1; forgotten && k < MROCE_MAX_PLANES; k++)
		if (h->pair[k].state == MROCE_PAIR_USED)
			h->pair[k].state = MROCE_PAIR_NONE;
	spin_unlock(&h->lock);

	if (err == -ENOENT) {
		mroce_drop(dev, MROCE_REASON_RX_STATE);
		return;
	}
	if (err == -ECONNREFUSED)
		mroce_drop(dev, MROCE_REASON_ERR_REFUSED);
	if (err == -ESTALE)
		mroce_drop(dev, MROCE_REASON_ERR_PEER_RESET);
	if (opened) {
		mroce_txhalf_identified(h, ack);
		mroce_count(dev, MROCE_CNT_CONNS_OPENED, 1);
	} else if (!err) {
		mroce_txhalf_learn(dev, ack->instance, ack);
	}
	if (opened || forgotten) {
		set_bit(MROCE_PLANES_LOOK, &h->planes_todo);
		mroce_xmit_soon(h);
	}
	mroce_txhalf_settle(h);
	mroce_xmit(h);
}

/* ---- RESET ---- */

void mroce_reset_in(struct mroce_sock *sock, const struct mroce_reset *reset,
		    const struct mroce_arrival *from)
{
	struct mroce_txhalf *h = mroce_txhalf_by_peer(sock, &from->saddr, reset->base.id);
	bool asked;

	if (!h)
		return;
	mroce_count_in(h->dev, 1, 0);
	mroce_count(h->dev, MROCE_CNT_RX_RESET, 1);
	if (!ipv6_addr_equal(&from->daddr, &h->saddr)) {
		mroce_drop(h->dev, MROCE_REASON_RX_ADDRESS);
		return;
	}
	spin_lock(&h->lock);
	asked = !h->gone && mroce_tx_reset(&h->tx, reset, get_random_u64(), ktime_get_ns());
	spin_unlock(&h->lock);
	if (asked)
		mroce_xmit(h);
}

void mroce_reset_out(struct mroce_dev *dev, const struct mroce_base *base,
		     const struct mroce_arrival *from)
{
	struct mroce_reset reset = { .base = *base, .instance = dev->instance, .type = base->type };
	struct net_device *ndev = READ_ONCE(dev->ndev);
	struct mroce_wire_reset wire;
	struct mroce_flow flow;

	if (!mroce_bucket_take(&dev->conns->resets, RESET_RATE, RESET_BURST, ktime_get_ns()))
		return;
	mroce_flow_init(&flow, &from->daddr, &from->saddr, from->sport, ndev ? ndev->ifindex : 0);
	if (!mroce_send_bare(dev, &flow, &wire, mroce_build_reset(&wire, &reset)))
		mroce_count(dev, MROCE_CNT_TX_RESET, 1);
	mroce_flow_drop(&flow);
}
