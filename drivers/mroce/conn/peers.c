// SPDX-License-Identifier: GPL-2.0
/*
 * Who is where: the addresses of peers' planes, as HELLO and HELLO_ACK tell of them and as answers
 * prove them.
 */
#include "conn.h"

bool mroce_txhalf_is_at(const struct mroce_txhalf *h, const struct in6_addr *addr)
{
	u32 i;

	for (i = 0; i < h->nplanes; i++)
		if (h->peer_ok & BIT(i) && ipv6_addr_equal(&h->peer_planes[i], addr))
			return true;
	return false;
}

/* Planes of the peer, under mroce_table_lock. An address that was known stays known. */
static void peers_set(struct mroce_txhalf *h, const struct mroce_hello *hello)
{
	u32 i, n = clamp_t(u32, hello->nplanes, 1, MROCE_MAX_PLANES);
	struct in6_addr addr[MROCE_MAX_PLANES];
	unsigned long ok = BIT(0);

	if (h->nplanes && mroce_seq_before(hello->serial, h->peer_serial))
		return;
	/* the one that it is spoken to at, whatever it says */
	addr[0] = h->daddr;
	for (i = 1; i < n; i++) {
		memcpy(&addr[i], hello->plane[i].addr, sizeof(addr[i]));
		if (mroce_txhalf_is_at(h, &addr[i]))
			ok |= BIT(i);
	}
	memcpy(h->peer_planes, addr, n * sizeof(addr[0]));
	h->nplanes = n;
	h->peer_ok = ok;
	h->peer_serial = hello->serial;
	set_bit(MROCE_PLANES_LOOK, &h->planes_todo);
}

u32 mroce_txhalf_peers(struct mroce_txhalf *h, struct in6_addr *peer)
{
	u32 n;

	spin_lock_bh(&mroce_table_lock);
	n = h->nplanes;
	memcpy(peer, h->peer_planes, n * sizeof(*peer));
	spin_unlock_bh(&mroce_table_lock);
	if (!n)
		peer[n++] = h->daddr;
	return n;
}

void mroce_txhalf_learn(struct mroce_dev *dev, u64 instance, const struct mroce_hello *hello)
{
	struct mroce_txhalf *h;
	struct in6_addr first;

	memcpy(&first, hello->plane[0].addr, sizeof(first));
	spin_lock_bh(&mroce_table_lock);
	list_for_each_entry(h, &dev->conns->tx, node) {
		if (READ_ONCE(h->tx.state) != MROCE_TX_OPEN || h->tx.instance != instance)
			continue;
		/* a list is of one family; one of the other's is in the answer to a HELLO */
		if (mroce_addr_v4(&first) == mroce_addr_v4(&h->daddr))
			peers_set(h, hello);
		else
			set_bit(MROCE_PLANES_ANNOUNCE, &h->planes_todo);
		mroce_xmit_soon(h);
	}
	spin_unlock_bh(&mroce_table_lock);
}

void mroce_txhalf_peer_ok(struct mroce_txhalf *h, const struct in6_addr *addr)
{
	u32 i;

	spin_lock_bh(&mroce_table_lock);
	for (i = 0; i < h->nplanes; i++)
		if (ipv6_addr_equal(&h->peer_planes[i], addr))
			h->peer_ok |= BIT(i);
	spin_unlock_bh(&mroce_table_lock);
}

void mroce_conns_planes(struct mroce_dev *dev, bool announce)
{
	struct mroce_txhalf *h;

	if (!dev->conns)
		return;
	spin_lock_bh(&mroce_table_lock);
	list_for_each_entry(h, &dev->conns->tx, node) {
		set_bit(MROCE_PLANES_LOOK, &h->planes_todo);
		if (announce)
			set_bit(MROCE_PLANES_ANNOUNCE, &h->planes_todo);
		mroce_xmit_soon(h);
	}
	spin_unlock_bh(&mroce_table_lock);
}

void mroce_txhalf_identified(struct mroce_txhalf *h, const struct mroce_hello *ack)
{
	struct mroce_txhalf *e;

	spin_lock_bh(&mroce_table_lock);
	peers_set(h, ack);
	list_for_each_entry(e, &h->dev->conns->tx, node)
		if (e != h && !e->joins && READ_ONCE(e->tx.state) == MROCE_TX_OPEN &&
		    e->tx.instance == ack->instance)
			h->joins = true;
	spin_unlock_bh(&mroce_table_lock);
}

bool mroce_peer_at(struct mroce_dev *dev, const struct in6_addr *saddr, const struct in6_addr *addr,
		   u64 instance)
{
	struct mroce_conns *conns = dev->conns;
	struct mroce_txhalf *h;
	bool found = false;

	spin_lock_bh(&mroce_table_lock);
	list_for_each_entry(h, &conns->tx, node) {
		if (READ_ONCE(h->tx.state) != MROCE_TX_OPEN || h->tx.instance != instance)
			continue;
		found = ipv6_addr_equal(&h->daddr, addr) || mroce_txhalf_is_at(h, addr);
		if (found)
			break;
	}
	if (!found && !conns->stopped && !test_and_set_bit(0, &conns->verifying)) {
		conns->unproven = *addr;
		conns->unproven_own = *saddr;
		queue_work(mroce_wq, &conns->verify);
	}
	spin_unlock_bh(&mroce_table_lock);
	return found;
}

void mroce_peer_verify(struct work_struct *work)
{
	struct mroce_conns *conns = container_of(work, struct mroce_conns, verify);
	struct mroce_txhalf *h;

	h = mroce_txhalf_attach(conns->dev, &conns->unproven_own, &conns->unproven);
	if (!IS_ERR(h))
		mroce_txhalf_detach(h);
	clear_bit(0, &conns->verifying);
}
