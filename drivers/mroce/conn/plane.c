// SPDX-License-Identifier: GPL-2.0
/*
 * Planes of a connection: which local netdev goes with which address of the peer, whether packets
 * pass between the two, and which paths go there. Softirq, or bottom halves off.
 *
 * A pair is a local plane and an address that the peer named, both of one place in their lists;
 * pair k is the engine's plane k. Pair 0 is that of the first contact. Others get nothing but
 * VERIFY packets until both ends have seen the nonce of the other come back (rule 23): the sender
 * repeats its nonce until it hears VERIFIED, the receiver keeps nothing until its own was echoed.
 */
#include <linux/once.h>
#include <linux/random.h>
#include <linux/siphash.h>

#include "conn.h"

#define ASK_FIRST	(10 * MROCE_MSEC)
#define ASK_LAST	(10000 * MROCE_MSEC)

/* ---- the sender: pairs ---- */

static void pair_start(struct mroce_pair *pair, const struct mroce_local *l,
		       const struct in6_addr *saddr, const struct in6_addr *daddr, u64 now)
{
	*pair = (struct mroce_pair){
		.saddr = *saddr,
		.daddr = *daddr,
		.ifindex = l->ifindex,
		.state = MROCE_PAIR_ASKING,
		.down = !l->up,
		.nonce = get_random_u64() | 1,
		.ask_at = now,
		.ask_wait = ASK_FIRST,
	};
}

static struct mroce_pair *pair_of(struct mroce_txhalf *h, const struct in6_addr *saddr,
				  const struct in6_addr *daddr)
{
	u32 k;

	for (k = 0; k < MROCE_MAX_PLANES; k++)
		if (h->pair[k].state != MROCE_PAIR_NONE &&
		    ipv6_addr_equal(&h->pair[k].daddr, daddr) &&
		    ipv6_addr_equal(&h->pair[k].saddr, saddr))
			return &h->pair[k];
	return NULL;
}

bool mroce_txhalf_from_peer(struct mroce_txhalf *h, const struct mroce_arrival *from)
{
	struct mroce_pair *pair;

	lockdep_assert_held(&h->lock);
	if (likely(ipv6_addr_equal(&from->saddr, &h->daddr) &&
		   ipv6_addr_equal(&from->daddr, &h->saddr)))
		return true;
	pair = pair_of(h, &from->daddr, &from->saddr);
	return pair && pair->state == MROCE_PAIR_USED;
}

/* Paths are spread evenly over the pairs of @usable; those elsewhere come first. */
static void assign(struct mroce_txhalf *h, unsigned long usable, u64 now)
{
	u32 count[MROCE_MAX_PLANES] = {}, i, k, least, most;
	struct mroce_tx *tx = &h->tx;

	if (!usable || tx->state != MROCE_TX_OPEN)
		return;
	for (i = 0; i < tx->npaths; i++)
		count[tx->path[i].plane]++;
	for (;;) {
		least = __ffs(usable);
		most = least;
		for_each_set_bit(k, &usable, MROCE_MAX_PLANES) {
			if (count[k] < count[least])
				least = k;
			if (count[k] > count[most])
				most = k;
		}
		for (k = 0; k < MROCE_MAX_PLANES; k++)
			if (count[k] && !(usable & BIT(k)))
				most = k;
		if (usable & BIT(most) && count[most] <= count[least] + 1)
			return;
		for (i = tx->npaths; i-- > 0;)
			if (tx->path[i].plane == most)
				break;
		mroce_tx_path_move(tx, i, least, h->pair[least].down, now);
		count[most]--;
		count[least]++;
	}
}

static void carriers(struct mroce_txhalf *h, const struct mroce_local *local, u32 n, u64 now)
{
	u32 i, k;

	for (k = 0; k < MROCE_MAX_PLANES; k++) {
		struct mroce_pair *pair = &h->pair[k];

		for (i = 0; i < n && local[i].ifindex != pair->ifindex; i++)
			;
		if (pair->state == MROCE_PAIR_NONE || i == n || pair->down == !local[i].up)
			continue;
		pair->down = !local[i].up;
		if (pair->down) {
			mroce_tx_plane_down(&h->tx, k, now);
		} else {
			pair->ask_at = now;
			pair->ask_wait = ASK_FIRST;
			mroce_tx_plane_up(&h->tx, k, now);
		}
	}
}

/* What pairs there are to be, of @n planes here and @np there; kept, dropped, and begun. */
static void match(struct mroce_txhalf *h, const struct mroce_local *local, u32 n,
		  const struct in6_addr *peer, u32 np, u64 now)
{
	unsigned long keep = BIT(0), fresh = 0, usable = 0;
	struct mroce_pair *pair;
	bool v4 = mroce_addr_v4(&h->daddr);
	u32 j, k, total = max(n, np);

	for (j = 1; j < total; j++) {
		/* a place may be vacant, and a flow is of one family for good */
		if (!local[j % n].ifindex || ipv6_addr_any(&peer[j % np]) ||
		    local[j % n].draining || mroce_addr_v4(&peer[j % np]) != v4 ||
		    mroce_addr_v4(&local[j % n].addr) != v4)
			continue;
		pair = pair_of(h, &local[j % n].addr, &peer[j % np]);
		if (pair && pair->ifindex == local[j % n].ifindex)
			keep |= BIT(pair - h->pair);
		else
			fresh |= BIT(j);
	}
	for (k = 0; k < MROCE_MAX_PLANES; k++) {
		pair = &h->pair[k];
		if (!(keep & BIT(k)))
			pair->state = MROCE_PAIR_NONE;
		if (pair->state == MROCE_PAIR_USED && (k || !local[0].draining))
			usable |= BIT(k);
	}
	/* rather by a plane that is being drained than by none */
	assign(h, usable ?: BIT(0), now);
	for (k = 1; k < MROCE_MAX_PLANES && fresh; k++) {
		if (h->pair[k].state != MROCE_PAIR_NONE)
			continue;
		j = __ffs(fresh);
		fresh &= fresh - 1;
		pair_start(&h->pair[k], &local[j % n], &local[j % n].addr, &peer[j % np], now);
		h->tx.plane[k].slot = j % n;
	}
}

/* The next nonces that are due, and when to look again. */
static void ask(struct mroce_txhalf *h)
{
	struct mroce_verify v = { .base.type = MROCE_T_VERIFY };
	struct mroce_wire_verify wire;
	struct mroce_pair *pair;
	struct mroce_flow flow;
	u64 now = ktime_get_ns();
	u32 k;

	for (k = 1; k < MROCE_MAX_PLANES; k++) {
		pair = &h->pair[k];
		spin_lock(&h->lock);
		if (h->gone || h->tx.state != MROCE_TX_OPEN || pair->down ||
		    pair->state != MROCE_PAIR_ASKING || pair->ask_at > now) {
			spin_unlock(&h->lock);
			continue;
		}
		pair->ask_at = now + pair->ask_wait;
		pair->ask_wait = min(pair->ask_wait * 2, ASK_LAST);
		v.base.id = h->tx.peer_id;
		v.nonce = pair->nonce;
		v.echo = pair->echo;
		mroce_flow_init(&flow, &pair->saddr, &pair->daddr, h->flow[0].sport,
				pair->ifindex);
		spin_unlock(&h->lock);
		mroce_send_bare(h->dev, &flow, &wire, mroce_build_verify(&wire, &v));
		mroce_flow_drop(&flow);
	}
	spin_lock(&h->lock);
	h->asks = MROCE_NEVER;
	for (k = 1; k < MROCE_MAX_PLANES && h->tx.state == MROCE_TX_OPEN; k++)
		if (h->pair[k].state == MROCE_PAIR_ASKING && !h->pair[k].down)
			h->asks = min(h->asks, h->pair[k].ask_at);
	mroce_txhalf_arm(h);
	spin_unlock(&h->lock);
}

static noinline void announce(struct mroce_txhalf *h)
{
	struct mroce_hello hello = { .nonce = get_random_u64() };

	mroce_planes_hello(h->dev, &h->saddr, MROCE_IP_MAX, &hello);
	spin_lock(&h->lock);
	if (!h->gone) {
		/* of the first plane nothing has changed */
		hello.plane[0] = h->tx.hello.plane[0];
		mroce_tx_announce(&h->tx, &hello, ktime_get_ns());
	}
	spin_unlock(&h->lock);
}

void mroce_txhalf_planes(struct mroce_txhalf *h)
{
	struct mroce_local local[MROCE_MAX_PLANES];
	struct in6_addr peer[MROCE_MAX_PLANES];
	unsigned long todo;
	u32 n = 0, np;
	u64 now;

	local_bh_disable();
	todo = xchg(&h->planes_todo, 0);
	if (todo) {
		np = mroce_txhalf_peers(h, peer);
		rcu_read_lock();
		if (!READ_ONCE(h->dev->gone))
			n = mroce_planes_local(h->dev, mroce_addr_v4(&h->daddr), local);
		rcu_read_unlock();
		now = ktime_get_ns();
		spin_lock(&h->lock);
		if (!h->gone && n) {
			local[0].addr = h->saddr;
			carriers(h, local, n, now);
			match(h, local, n, peer, np, now);
		}
		spin_unlock(&h->lock);
		if (todo & BIT(MROCE_PLANES_ANNOUNCE))
			announce(h);
	}
	ask(h);
	local_bh_enable();
}

/* ---- the sender: an answer ---- */

static void verified(struct mroce_sock *sock, const struct mroce_verify *v,
		     const struct mroce_arrival *from)
{
	struct mroce_txhalf *h = mroce_txhalf_by_id(sock, v->base.id);
	struct mroce_pair *pair;
	bool ours;

	if (!h)
		return;
	mroce_count_in(h->dev, 1, 0);
	spin_lock(&h->lock);
	pair = pair_of(h, &from->daddr, &from->saddr);
	ours = !h->gone && pair && pair != h->pair && v->echo == pair->nonce;
	if (ours && pair->state == MROCE_PAIR_ASKING) {
		if (pair->echo != v->nonce)
			pair->ask_at = 0;	/* at once: it has not seen its own yet */
		pair->echo = v->nonce;
		if (v->flags & MROCE_V_VERIFIED) {
			pair->state = MROCE_PAIR_USED;
			mroce_count(h->dev, MROCE_CNT_PLANES_VERIFIED, 1);
		}
	}
	spin_unlock(&h->lock);
	if (!ours) {
		mroce_drop(h->dev, MROCE_REASON_RX_ADDRESS);
		return;
	}
	if (v->flags & MROCE_V_VERIFIED)
		mroce_txhalf_peer_ok(h, &from->saddr);
	set_bit(MROCE_PLANES_LOOK, &h->planes_todo);
	mroce_xmit_soon(h);
}

/* ---- the receiver ---- */

/* What the other end must return: nothing is kept until it has. */
static u64 own_nonce(const struct mroce_rxhalf *h, const struct mroce_arrival *from)
{
	static siphash_key_t secret;
	struct {
		struct in6_addr saddr, daddr;
		u64 id, instance;
	} in = {
		.saddr = from->saddr,
		.daddr = from->daddr,
		.id = h->rx.own_id,
		.instance = h->dev->instance,
	};

	get_random_once(&secret, sizeof(secret));
	return siphash(&in, sizeof(in), &secret) | 1;
}

static bool named(const struct mroce_rxhalf *h, const struct in6_addr *addr)
{
	u32 i;

	for (i = 0; i < h->nnamed && !ipv6_addr_any(addr); i++)
		if (ipv6_addr_equal(&h->named[i], addr))
			return true;
	return false;
}

int mroce_rxhalf_via(const struct mroce_rxhalf *h, const struct mroce_arrival *from)
{
	u32 i;

	for (i = 0; i < MROCE_MAX_PLANES; i++)
		if (h->via[i].ifindex && ipv6_addr_equal(&h->via[i].saddr, &from->saddr) &&
		    ipv6_addr_equal(&h->via[i].daddr, &from->daddr))
			return i;
	return -1;
}

bool mroce_rxhalf_named(struct mroce_rxhalf *h, const struct mroce_hello *hello)
{
	bool news = !h->nnamed || hello->serial != h->serial;
	u32 i;

	lockdep_assert_held(&h->lock);
	if (h->nnamed && mroce_seq_before(hello->serial, h->serial))
		return false;
	h->serial = hello->serial;
	h->nnamed = min_t(u32, hello->nplanes, MROCE_MAX_PLANES);
	for (i = 0; i < h->nnamed; i++)
		memcpy(&h->named[i], hello->plane[i].addr, sizeof(h->named[i]));
	for (i = 1; i < MROCE_MAX_PLANES; i++)
		if (!named(h, &h->via[i].saddr))
			h->via[i].ifindex = 0;
	return news;
}

static void challenged(struct mroce_sock *sock, const struct mroce_verify *v,
		       const struct mroce_arrival *from)
{
	struct mroce_rxhalf *h = mroce_rxhalf_by_id(sock, v->base.id);
	struct mroce_verify reply = {
		.base.type = MROCE_T_VERIFY,
		.echo = v->nonce,
		.flags = MROCE_V_REPLY,
	};
	struct mroce_wire_verify wire;
	struct mroce_flow flow;
	int ifindex, via;
	u8 slot = 0;
	u32 i, k;

	if (!h)
		return;
	mroce_count_in(h->dev, 1, 0);
	ifindex = mroce_plane_by_addr(h->dev, &from->daddr, &slot);
	spin_lock(&h->lock);
	if (h->gone || !ifindex || !named(h, &from->saddr) ||
	    mroce_addr_v4(&from->saddr) != mroce_addr_v4(&h->saddr)) {
		spin_unlock(&h->lock);
		mroce_drop(h->dev, MROCE_REASON_RX_ADDRESS);
		goto put;
	}
	reply.nonce = own_nonce(h, from);
	reply.base.id = h->rx.peer_id;
	via = mroce_rxhalf_via(h, from);
	for (i = 1; via < 0 && v->echo == reply.nonce && i < MROCE_MAX_PLANES; i++) {
		if (h->via[i].ifindex)
			continue;
		h->via[i].saddr = from->saddr;
		h->via[i].daddr = from->daddr;
		h->via[i].ifindex = ifindex;
		h->via[i].slot = slot;
		via = i;
		/* of paths that came by what had this place before: their ACKs are to be turned */
		for (k = 0; k < h->rx.npaths; k++)
			if (h->path_via[k] == i)
				h->path_via[k] = U8_MAX;
	}
	if (via >= 0)
		reply.flags |= MROCE_V_VERIFIED;
	spin_unlock(&h->lock);

	mroce_flow_init(&flow, &from->daddr, &from->saddr, from->sport, ifindex);
	mroce_send_bare(h->dev, &flow, &wire, mroce_build_verify(&wire, &reply));
	mroce_flow_drop(&flow);
put:
	mroce_rxhalf_put(h);
}

void mroce_verify_in(struct mroce_sock *sock, const struct mroce_verify *v,
		     const struct mroce_arrival *from)
{
	if (v->flags & MROCE_V_REPLY)
		verified(sock, v, from);
	else
		challenged(sock, v, from);
}
