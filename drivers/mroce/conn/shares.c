// SPDX-License-Identifier: GPL-2.0
/*
 * The shares of a device's planes (transport/share.h): the lock around each, who is a member, of
 * which weight, and who is told unasked. Softirq or bottom halves off, but for setting weights. A
 * share's lock is taken inside a receiving half's, and only when something changes: for what an ACK
 * repeats it is read as it is.
 */
#include <net/ipv6.h>

#include "conn.h"

#define TELL		4	/* senders told unasked for one packet that came */
#define MAX_WEIGHTS	4096
#define KIB_PER_MBIT(m)	((m) * 15625ULL / 128)

/* An ACK of the half is about to tell the share of a plane. Half's lock. */
static void grant(struct mroce_rx *rx, u8 plane, u64 now)
{
	struct mroce_rxhalf *h = container_of(rx, struct mroce_rxhalf, rx);
	struct mroce_plane_share *ps = &h->dev->conns->share[plane];
	struct mroce_share_member *m = &rx->member[plane];

	if (mroce_share_stale(&ps->share, m, now)) {
		spin_lock(&ps->lock);
		if (h->born && rx->first_at) {
			mroce_share_rtt(&ps->share, rx->first_at - h->born);
			h->born = 0;
		}
		mroce_share_update(&ps->share, m, rx->packet, now);
		spin_unlock(&ps->lock);
	}
	rx->share = m->told;
	rx->allowance = mroce_share_allowance(&ps->share);
	rx->active = min_t(u32, READ_ONCE(ps->share.active), U16_MAX);
}

void mroce_shares_init(struct mroce_conns *conns)
{
	u32 i;

	spin_lock_init(&conns->weights_lock);
	hash_init(conns->weights);
	for (i = 0; i < MROCE_MAX_PLANES; i++) {
		spin_lock_init(&conns->share[i].lock);
		mroce_share_init(&conns->share[i].share);
	}
}

void mroce_shares_capacity(struct mroce_dev *dev, u8 plane, u32 mbits)
{
	struct mroce_plane_share *ps = &dev->conns->share[plane];

	spin_lock_bh(&ps->lock);
	mroce_share_capacity(&ps->share, min_t(u64, KIB_PER_MBIT(mbits), U32_MAX / 2));
	spin_unlock_bh(&ps->lock);
	if (mbits)
		set_bit(plane, &dev->conns->shared);
	else
		clear_bit(plane, &dev->conns->shared);
}

/* ---- weights ---- */

/* under the weights' lock, or mroce_devs_lock */
static struct mroce_weight *find_weight(struct mroce_conns *conns, const struct in6_addr *peer)
{
	struct mroce_weight *w;

	hash_for_each_possible(conns->weights, w, node, ipv6_addr_hash(peer))
		if (ipv6_addr_equal(&w->peer, peer))
			return w;
	return NULL;
}

static u8 weight_of(struct mroce_conns *conns, const struct in6_addr *peer)
{
	struct mroce_weight *w;
	u8 weight;

	spin_lock_bh(&conns->weights_lock);
	w = find_weight(conns, peer);
	weight = w ? READ_ONCE(w->weight) : 1;
	spin_unlock_bh(&conns->weights_lock);
	return weight;
}

static void remove_weight(struct mroce_conns *conns, struct mroce_weight *w)
{
	spin_lock_bh(&conns->weights_lock);
	hash_del(&w->node);
	conns->nweights--;
	spin_unlock_bh(&conns->weights_lock);
	kfree(w);
}

static int add_weight(struct mroce_conns *conns, const struct in6_addr *peer, u8 weight)
{
	struct mroce_weight *w;

	if (conns->nweights == MAX_WEIGHTS)
		return -ENOSPC;
	w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	if (!w)
		return -ENOMEM;
	w->peer = *peer;
	w->weight = weight;
	spin_lock_bh(&conns->weights_lock);
	hash_add(conns->weights, &w->node, ipv6_addr_hash(peer));
	conns->nweights++;
	spin_unlock_bh(&conns->weights_lock);
	return 0;
}

int mroce_weight_set(struct mroce_dev *dev, const struct in6_addr *peer, u8 weight)
{
	struct mroce_conns *conns = dev->conns;
	struct mroce_weight *w = find_weight(conns, peer);
	int err = 0;

	if (w && weight == 1)
		remove_weight(conns, w);
	else if (w)
		WRITE_ONCE(w->weight, weight);
	else if (weight != 1)
		err = add_weight(conns, peer, weight);
	/* after the table: a half is found here, or has looked there */
	if (!err)
		mroce_rxhalves_weigh(dev, peer, weight);
	return err;
}

int mroce_weights_each(struct mroce_dev *dev,
		       int (*fn)(struct mroce_dev *dev, const struct mroce_weight *w, void *arg),
		       void *arg)
{
	struct mroce_weight *w;
	int err = 0;
	u32 i;

	hash_for_each(dev->conns->weights, i, w, node) {
		err = fn(dev, w, arg);
		if (err)
			break;
	}
	return err;
}

void mroce_weights_free(struct mroce_conns *conns)
{
	struct hlist_node *next;
	struct mroce_weight *w;
	u32 i;

	hash_for_each_safe(conns->weights, i, next, w, node)
		remove_weight(conns, w);
}

/* ---- members ---- */

void mroce_shares_join(struct mroce_rxhalf *h)
{
	struct mroce_plane_share *ps = h->dev->conns->share;
	u8 weight = weight_of(h->dev->conns, &h->saddr);
	u32 i;

	h->born = ktime_get_ns();
	h->rx.grant = grant;
	for (i = 0; i < MROCE_MAX_PLANES; i++) {
		spin_lock_bh(&ps[i].lock);
		mroce_share_connect(&ps[i].share, &h->rx.member[i], &h->rx, weight);
		spin_unlock_bh(&ps[i].lock);
	}
}

void mroce_shares_leave(struct mroce_rxhalf *h)
{
	struct mroce_plane_share *ps = h->dev->conns->share;
	u32 i;

	for (i = 0; i < MROCE_MAX_PLANES; i++) {
		spin_lock_bh(&ps[i].lock);
		mroce_share_disconnect(&ps[i].share, &h->rx.member[i]);
		spin_unlock_bh(&ps[i].lock);
	}
}

void mroce_shares_weigh(struct mroce_rxhalf *h, u8 weight)
{
	struct mroce_plane_share *ps = h->dev->conns->share;
	u32 i;

	for (i = 0; i < MROCE_MAX_PLANES; i++) {
		spin_lock_bh(&ps[i].lock);
		mroce_share_weigh(&ps[i].share, &h->rx.member[i], weight);
		spin_unlock_bh(&ps[i].lock);
	}
}

bool mroce_shares_view(struct mroce_rxhalf *h, u8 plane, struct mroce_share_view *view)
{
	struct mroce_plane_share *ps = &h->dev->conns->share[plane];
	struct mroce_share_member *m = &h->rx.member[plane];
	bool limited;

	spin_lock_bh(&ps->lock);
	/* in the list are those who were heard on this plane */
	limited = ps->share.capacity && !list_empty(&m->node);
	*view = (struct mroce_share_view){
		.share = m->told,
		.demand = m->demand,
		.rate = m->used,
		.senders = ps->share.active,
		.weight = m->weight,
	};
	spin_unlock_bh(&ps->lock);
	return limited;
}

/* The next half that is to be told its share of a plane, with a reference. */
static struct mroce_rxhalf *next_told(struct mroce_plane_share *ps)
{
	struct mroce_share_member *m;
	struct mroce_rxhalf *h = NULL;

	spin_lock(&ps->lock);
	m = mroce_share_tell(&ps->share, ktime_get_ns());
	if (m) {
		h = container_of(m->rx, struct mroce_rxhalf, rx);
		if (!refcount_inc_not_zero(&h->refs))
			h = NULL;
	}
	spin_unlock(&ps->lock);
	return h;
}

void mroce_shares_tell(struct mroce_dev *dev)
{
	unsigned long shared = READ_ONCE(dev->conns->shared);
	struct mroce_plane_share *ps = dev->conns->share;
	struct mroce_rxhalf *h;
	u32 i, n;

	for (; shared; shared &= shared - 1) {
		i = __ffs(shared);
		/* nobody waits for another where there is one */
		if (READ_ONCE(ps[i].share.active) < 2)
			continue;
		for (n = 0; n < TELL; n++) {
			h = next_told(&ps[i]);
			if (!h)
				break;
			spin_lock(&h->lock);
			if (!h->gone)
				mroce_rx_tell(&h->rx, i);
			spin_unlock(&h->lock);
			mroce_send_acks(h);
			mroce_rxhalf_put(h);
		}
	}
}
