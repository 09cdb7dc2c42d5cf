// SPDX-License-Identifier: GPL-2.0
/*
 * Lifetimes of halves, and the tables that they are found in: of the whole module, read under RCU,
 * changed under mroce_table_lock (bottom halves off; outside halves' locks).
 *
 * A half lives as long as it has references. The tables hold one, which goes with the half's
 * removal: unlinked, marked gone, a grace period, then timer, tasklet and routes. So whoever found
 * it under RCU, or has a reference, may use it until it sees gone; memory goes after another grace
 * period.
 *
 * Timers: linger, every LINGER_STEP while a device has halves: idle halves go, or give back memory,
 * silent ones are asked.
 */
#include <linux/hashtable.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/siphash.h>

#include "conn.h"

#define ID_BITS		12
#define ADDR_BITS	10
#define LINGER_STEP	(2 * HZ)
#define TX_LINGER	(10 * HZ)	/* without a queue pair */
#define RX_LINGER	(60 * HZ)	/* outlives the sender's, which would meet a RESET */
#define RX_UNCONFIRMED	(5 * HZ)	/* nothing was ever heard with the id that we gave */
#define ASK_AFTER	(15 * HZ)	/* rule 8: of silence, with queue pairs attached */
#define ASK_STEP	32		/* peers asked in a step, at most */
#define MAX_RX		65536		/* receiving halves of a device; */
#define MAX_RX_SHIFT	6		/* and of their memory 1/64 of the host's */
#define MAX_RX_ADDR	1024		/* of these, of one address: a HELLO looks through them */

DEFINE_SPINLOCK(mroce_table_lock);
/*
 * own ids are ours and random, so nobody else chooses a bucket; addresses are hashed with a secret
 */
static DEFINE_HASHTABLE(tx_ids, ID_BITS);
static DEFINE_HASHTABLE(rx_ids, ID_BITS);
static DEFINE_HASHTABLE(tx_addrs, ADDR_BITS);
static DEFINE_HASHTABLE(rx_addrs, ADDR_BITS);

/* kmalloc() would round either up to 4 KiB */
static struct kmem_cache *txhalf_cache, *rxhalf_cache;

static u64 addr_key(const struct in6_addr *addr)
{
	static siphash_key_t secret;

	get_random_once(&secret, sizeof(secret));
	return siphash(addr, sizeof(*addr), &secret);
}

static u64 random_id(void)
{
	u64 id;

	do
		id = get_random_u64();
	while (!id);
	return id;
}

bool mroce_bucket_take(struct mroce_bucket *b, u32 rate, u32 burst, u64 now)
{
	u64 step = NSEC_PER_SEC / rate, full = now - min(now, step * burst);
	bool taken = false;

	spin_lock_bh(&b->lock);
	b->at = max(b->at, full);
	if (b->at + step <= now) {
		b->at += step;
		taken = true;
	}
	spin_unlock_bh(&b->lock);
	return taken;
}

/* ---- looking up ---- */

static bool belongs(const struct mroce_dev *dev, const struct mroce_sock *sock)
{
	return !READ_ONCE(dev->gone) && dev->sock == sock;
}

struct mroce_txhalf *mroce_txhalf_by_id(struct mroce_sock *sock, u64 own_id)
{
	struct mroce_txhalf *h;

	hash_for_each_possible_rcu(tx_ids, h, by_id, own_id)
		if (h->tx.own_id == own_id && belongs(h->dev, sock))
			return h;
	return NULL;
}

struct mroce_txhalf *mroce_txhalf_by_peer(struct mroce_sock *sock, const struct in6_addr *daddr,
					  u64 peer_id)
{
	struct mroce_txhalf *h;

	hash_for_each_possible_rcu(tx_addrs, h, by_addr, addr_key(daddr))
		if (READ_ONCE(h->tx.peer_id) == peer_id && ipv6_addr_equal(&h->daddr, daddr) &&
		    belongs(h->dev, sock))
			return h;
	return NULL;
}

struct mroce_rxhalf *mroce_rxhalf_by_id(struct mroce_sock *sock, u64 own_id)
{
	struct mroce_rxhalf *h;

	hash_for_each_possible_rcu(rx_ids, h, by_id, own_id)
		if (h->rx.own_id == own_id && belongs(h->dev, sock) &&
		    refcount_inc_not_zero(&h->refs))
			return h;
	return NULL;
}

struct mroce_rxhalf *mroce_rxhalf_by_hello(struct mroce_dev *dev, const struct in6_addr *saddr,
					   const struct in6_addr *daddr,
					   const struct mroce_hello *hello, u64 *replaces)
{
	struct mroce_rxhalf *h;

	*replaces = 0;
	hash_for_each_possible_rcu(rx_addrs, h, by_addr, addr_key(saddr)) {
		if (h->dev != dev || !ipv6_addr_equal(&h->saddr, saddr))
			continue;
		if (h->rx.instance != hello->instance)
			*replaces = h->rx.instance;
		else if (h->rx.half == hello->half && h->rx.peer_id == hello->own_id &&
			 ipv6_addr_equal(&h->daddr, daddr) && refcount_inc_not_zero(&h->refs))
			return h;
	}
	return NULL;
}

/* ---- references ---- */

static void txhalf_free(struct rcu_head *rcu)
{
	struct mroce_txhalf *h = container_of(rcu, struct mroce_txhalf, rcu);
	struct mroce_conns *conns = h->dev->conns;

	mroce_tx_free(&h->tx);
	kfree(h->flow);
	kmem_cache_free(txhalf_cache, h);
	atomic_dec(&conns->alive);
}

static void rxhalf_free(struct rcu_head *rcu)
{
	struct mroce_rxhalf *h = container_of(rcu, struct mroce_rxhalf, rcu);
	struct mroce_conns *conns = h->dev->conns;

	mroce_rx_free(&h->rx);
	kfree(h->flow);
	kmem_cache_free(rxhalf_cache, h);
	atomic_dec(&conns->alive);
}

struct mroce_txhalf *mroce_txhalf_hold(struct mroce_txhalf *h)
{
	refcount_inc(&h->refs);
	return h;
}

void mroce_txhalf_put(struct mroce_txhalf *h)
{
	if (refcount_dec_and_test(&h->refs))
		call_rcu(&h->rcu, txhalf_free);
}

struct mroce_rxhalf *mroce_rxhalf_hold(struct mroce_rxhalf *h)
{
	refcount_inc(&h->refs);
	return h;
}

void mroce_rxhalf_put(struct mroce_rxhalf *h)
{
	if (refcount_dec_and_test(&h->refs))
		call_rcu(&h->rcu, rxhalf_free);
}

/* ---- sending halves ---- */

__be16 mroce_txhalf_port(const struct mroce_txhalf *h, u8 path, u8 epoch)
{
	siphash_key_t key = { { h->seed, h->tx.own_id } };
	__be16 port;
	u32 i, try = 0;

again:
	port = htons(MROCE_PATH_PORT_BASE + (siphash_3u32(path, epoch, try++, &key) & 0x3fff));
	for (i = 0; i < h->tx.npaths; i++)
		if (i != path && h->flow[i].sport == port)
			goto again;
	return port;
}

/*
 * The half toward an address; under mroce_table_lock. One that is dead is not found: its users are
 * on their way out.
 */
static struct mroce_txhalf *txhalf_find(struct mroce_dev *dev, const struct in6_addr *daddr)
{
	struct mroce_txhalf *h, *found = NULL;

	hash_for_each_possible(tx_addrs, h, by_addr, addr_key(daddr))
		if (h->dev == dev && ipv6_addr_equal(&h->daddr, daddr) &&
		    READ_ONCE(h->tx.state) != MROCE_TX_DEAD)
			found = h;
	if (found && !found->joins)
		return found;
	list_for_each_entry(h, &dev->conns->tx, node) {
		if (READ_ONCE(h->tx.state) != MROCE_TX_OPEN || h->joins)
			continue;
		if (found && h->tx.instance == found->tx.instance)
			return h;
		if (!found && mroce_txhalf_is_at(h, daddr))
			return h;
	}
	return found;
}

struct mroce_txhalf *mroce_txhalf_next(struct mroce_dev *dev, struct mroce_txhalf *last,
				       const u32 *half)
{
	struct mroce_txhalf *h, *found = NULL;

	spin_lock_bh(&mroce_table_lock);
	/* in the order of their numbers; one that was unlinked meanwhile is in no list of ours */
	if (last && !hlist_unhashed(&last->by_id))
		h = list_next_entry(last, node);
	else
		h = list_first_entry(&dev->conns->tx, struct mroce_txhalf, node);
	list_for_each_entry_from(h, &dev->conns->tx, node)
		if (!half || !mroce_seq_before(h->tx.hello.half, *half)) {
			found = mroce_txhalf_hold(h);
			break;
		}
	spin_unlock_bh(&mroce_table_lock);
	return found;
}

struct mroce_rxhalf *mroce_rxhalf_next(struct mroce_dev *dev, struct mroce_rxhalf *last,
				       const u32 *index)
{
	struct mroce_rxhalf *h, *found = NULL;

	spin_lock_bh(&mroce_table_lock);
	if (last && !hlist_unhashed(&last->by_id))
		h = list_next_entry(last, node);
	else
		h = list_first_entry(&dev->conns->rx, struct mroce_rxhalf, node);
	list_for_each_entry_from(h, &dev->conns->rx, node)
		if ((!index || !mroce_seq_before(h->index, *index)) &&
		    refcount_inc_not_zero(&h->refs)) {
			found = h;
			break;
		}
	spin_unlock_bh(&mroce_table_lock);
	return found;
}

unsigned int mroce_conns_payload(struct mroce_dev *dev)
{
	struct mroce_txhalf *h;
	struct mroce_rxhalf *r;
	unsigned int most = 0;

	spin_lock_bh(&mroce_table_lock);
	list_for_each_entry(h, &dev->conns->tx, node)
		if (READ_ONCE(h->tx.state) == MROCE_TX_OPEN)
			most = max_t(unsigned int, most, h->tx.agreed);
	list_for_each_entry(r, &dev->conns->rx, node)
		most = max_t(unsigned int, most, r->agreed);
	spin_unlock_bh(&mroce_table_lock);
	return most;
}

void mroce_conns_plane_gone(struct mroce_dev *dev, int ifindex)
{
	struct mroce_txhalf *h;
	struct mroce_rxhalf *r;
	u32 i;

	spin_lock_bh(&mroce_table_lock);
	list_for_each_entry(h, &dev->conns->tx, node)
		for (i = 0; i < h->nflows; i++)
			if (h->flow[i].ifindex == ifindex)
				mroce_flow_drop(&h->flow[i]);
	list_for_each_entry(r, &dev->conns->rx, node) {
		for (i = 0; i < r->rx.npaths; i++)
			if (r->flow[i].ifindex == ifindex)
				mroce_flow_drop(&r->flow[i]);
		for (i = 1; i < MROCE_MAX_PLANES; i++)
			if (READ_ONCE(r->via[i].ifindex) == ifindex)
				WRITE_ONCE(r->via[i].ifindex, 0);
	}
	spin_unlock_bh(&mroce_table_lock);
}

void mroce_txhalf_ask(struct mroce_dev *dev, const struct in6_addr *addr, u64 instance)
{
	struct mroce_txhalf *h;
	u32 i;

	rcu_read_lock();
	hash_for_each_possible_rcu(tx_addrs, h, by_addr, addr_key(addr)) {
		if (h->dev != dev || !ipv6_addr_equal(&h->daddr, addr))
			continue;
		spin_lock_bh(&h->lock);
		if (!h->gone && h->tx.state == MROCE_TX_OPEN && h->tx.instance == instance) {
			for (i = 0; i + 1 < h->tx.npaths; i++)
				if (h->tx.path[i].state == MROCE_PATH_ACTIVE)
					break;
			mroce_tx_path_ask(&h->tx, i);
		}
		spin_unlock_bh(&h->lock);
		mroce_xmit_soon(h);
	}
	rcu_read_unlock();
}

/* Largest IP packet that a new half's paths pass, or a negative errno. */
static int txhalf_mtu(struct mroce_txhalf *h)
{
	int mtu = -ENODEV;

	rcu_read_lock();
	if (!READ_ONCE(h->dev->gone)) {
		mtu = mroce_flow_mtu(h->dev->sock, &h->flow[0]);
		/*
		 * no route outlives the section: the device may be going, and nobody would drop
		 * this one
		 */
		mroce_flow_drop(&h->flow[0]);
	}
	rcu_read_unlock();
	if (mtu == -ENODEV)
		return mtu;
	return mtu < 0 || !mroce_payload_of_mtu(mtu) ? -EHOSTUNREACH : mtu;
}

static void txhalf_hello(struct mroce_txhalf *h, unsigned int mtu, struct mroce_hello *hello)
{
	*hello = (struct mroce_hello){
		.instance = h->dev->instance,
		.nonce = random_id(),
		.version_min = MROCE_WIRE_VERSION,
		.version_max = MROCE_WIRE_VERSION,
		.npaths = h->tx.npaths,
	};
	memcpy(hello->to, &h->daddr, sizeof(hello->to));
	mroce_planes_hello(h->dev, &h->saddr, mtu, hello);
}

static struct mroce_txs *find_txs(struct mroce_tx *tx, u32 own_id, bool response)
{
	struct mroce_txs *txs;

	rcu_read_lock();
	txs = mroce_qp_find_txs(container_of(tx, struct mroce_txhalf, tx)->dev, tx, own_id,
				response);
	rcu_read_unlock();
	return txs;
}

static struct mroce_txhalf *txhalf_alloc(struct mroce_dev *dev, const struct in6_addr *saddr,
					 const struct in6_addr *daddr)
{
	u8 npaths = clamp_t(u8, READ_ONCE(dev->npaths), 1, MROCE_MAX_PATHS);
	struct net_device *ndev;
	struct mroce_txhalf *h;
	int ifindex = 0;
	u32 i;

	h = kmem_cache_zalloc(txhalf_cache, GFP_KERNEL_ACCOUNT);
	if (!h)
		return NULL;
	h->flow = kcalloc(npaths, sizeof(*h->flow), GFP_KERNEL_ACCOUNT);
	if (!h->flow || mroce_tx_init(&h->tx, random_id(), npaths, 0)) {
		kfree(h->flow);
		kmem_cache_free(txhalf_cache, h);
		return NULL;
	}
	h->tx.find = find_txs;
	h->dev = dev;
	h->saddr = *saddr;
	h->daddr = *daddr;
	h->seed = random_id();
	memset(h->told_state, MROCE_PATH_ACTIVE, sizeof(h->told_state));
	h->armed = MROCE_NEVER;
	spin_lock_init(&h->lock);
	refcount_set(&h->refs, 1);
	tasklet_setup(&h->resume, mroce_txhalf_resume);
	mroce_hrtimer_setup(&h->timer, mroce_txhalf_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	rcu_read_lock();
	ndev = READ_ONCE(dev->ndev);
	if (ndev && !READ_ONCE(dev->gone))
		ifindex = ndev->ifindex;
	rcu_read_unlock();
	h->nflows = npaths;
	for (i = 0; i < npaths; i++)
		mroce_flow_init(&h->flow[i], saddr, daddr, 0, ifindex);
	for (i = 0; i < npaths; i++)
		h->flow[i].sport = mroce_txhalf_port(h, i, 0);
	mroce_flow_init(&h->greeting, saddr, daddr, 0, ifindex);
	h->pair[0].saddr = *saddr;
	h->pair[0].daddr = *daddr;
	h->pair[0].ifindex = ifindex;
	h->pair[0].state = MROCE_PAIR_USED;
	h->asks = MROCE_NEVER;
	set_bit(MROCE_PLANES_LOOK, &h->planes_todo);
	atomic_inc(&dev->conns->alive);
	return h;
}

struct mroce_txhalf *mroce_txhalf_attach(struct mroce_dev *dev, const struct in6_addr *saddr,
					 const struct in6_addr *daddr)
{
	struct mroce_conns *conns = dev->conns;
	struct mroce_txhalf *h, *fresh = NULL;
	struct mroce_hello hello;
	int mtu;

	for (;;) {
		spin_lock_bh(&mroce_table_lock);
		if (conns->stopped) {
			spin_unlock_bh(&mroce_table_lock);
			if (fresh)
				mroce_txhalf_put(fresh);
			return ERR_PTR(-ENODEV);
		}
		h = txhalf_find(dev, daddr);
		if (h || fresh)
			break;
		spin_unlock_bh(&mroce_table_lock);

		fresh = txhalf_alloc(dev, saddr, daddr);
		if (!fresh)
			return ERR_PTR(-ENOMEM);
		mtu = txhalf_mtu(fresh);
		if (mtu < 0) {
			mroce_txhalf_put(fresh);
			return ERR_PTR(mtu);
		}
		txhalf_hello(fresh, mtu, &hello);
	}
	if (!h) {
		h = fresh;
		hello.half = conns->half_ids++;
		h->tx.hello.half = hello.half;
		list_add_tail(&h->node, &conns->tx);
		hash_add_rcu(tx_ids, &h->by_id, h->tx.own_id);
		hash_add_rcu(tx_addrs, &h->by_addr, addr_key(daddr));
		queue_delayed_work(mroce_wq, &conns->linger, LINGER_STEP);
	}
	h->users++;
	mroce_txhalf_hold(h);
	spin_unlock_bh(&mroce_table_lock);

	if (fresh && h != fresh) {
		mroce_txhalf_put(fresh);
	} else if (fresh) {
		spin_lock_bh(&h->lock);
		if (!h->gone)
			mroce_tx_connect(&h->tx, &hello, ktime_get_ns());
		spin_unlock_bh(&h->lock);
		mroce_xmit(h);
	}
	return h;
}

void mroce_txhalf_detach(struct mroce_txhalf *h)
{
	spin_lock_bh(&mroce_table_lock);
	if (!--h->users)
		h->idle_since = jiffies;
	spin_unlock_bh(&mroce_table_lock);
	mroce_txhalf_put(h);
}

/* ---- receiving halves ---- */

static u64 rxhalf_size(u8 npaths)
{
	return sizeof(struct mroce_rxhalf) + MROCE_MAX_TOMBS * sizeof(struct mroce_tomb) +
	       npaths * (sizeof(struct mroce_flow) + sizeof(struct mroce_rxpath));
}

struct mroce_rxhalf *mroce_rxhalf_add(struct mroce_dev *dev, const struct in6_addr *saddr,
				      const struct in6_addr *daddr, const struct mroce_hello *hello,
				      u8 npaths, __be16 sport)
{
	struct mroce_conns *conns = dev->conns;
	struct net_device *ndev = READ_ONCE(dev->ndev);
	struct mroce_rxhalf *h, *e;
	u32 i, known = 0;
	int err = 0;

	h = kmem_cache_zalloc(rxhalf_cache, GFP_ATOMIC | __GFP_NOWARN);
	if (!h)
		return ERR_PTR(-ENOMEM);
	h->flow = kcalloc(npaths, sizeof(*h->flow), GFP_ATOMIC | __GFP_NOWARN);
	if (!h->flow || mroce_rx_init(&h->rx, random_id(), hello, npaths)) {
		kfree(h->flow);
		kmem_cache_free(rxhalf_cache, h);
		return ERR_PTR(-ENOMEM);
	}
	h->dev = dev;
	h->saddr = *saddr;
	h->daddr = *daddr;
	h->via[0].saddr = *saddr;
	h->via[0].daddr = *daddr;
	h->via[0].ifindex = ndev ? ndev->ifindex : 0;
	h->armed = MROCE_NEVER;
	h->heard = jiffies;
	h->asked = jiffies;
	spin_lock_init(&h->lock);
	refcount_set(&h->refs, 2);
	mroce_hrtimer_setup(&h->timer, mroce_rxhalf_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	/* the path's own source port is learned from its first packet */
	for (i = 0; i < npaths; i++) {
		mroce_flow_init(&h->flow[i], daddr, saddr, sport, ndev ? ndev->ifindex : 0);
		h->rx.path[i].plane = 0;	/* until it is heard on another */
	}
	atomic_inc(&conns->alive);

	spin_lock_bh(&mroce_table_lock);
	if (conns->stopped)
		err = -ENODEV;
	else if (conns->nrx >= MAX_RX || conns->rx_size + rxhalf_size(npaths) > conns->rx_size_max)
		err = -ENOSPC;
	hash_for_each_possible(rx_addrs, e, by_addr, addr_key(saddr)) {
		if (e->dev == dev && e->rx.instance == hello->instance && e->rx.half == hello->half)
			err = -EEXIST;
		if (e->dev == dev && ipv6_addr_equal(&e->saddr, saddr))
			known++;
	}
	if (!err && known >= MAX_RX_ADDR)
		err = -ENOSPC;
	if (!err) {
		conns->nrx++;
		conns->rx_size += rxhalf_size(npaths);
		atomic_inc(&conns->unconfirmed);
		mroce_shares_join(h);
		h->index = conns->rx_ids++;
		list_add_tail(&h->node, &conns->rx);
		hash_add_rcu(rx_ids, &h->by_id, h->rx.own_id);
		hash_add_rcu(rx_addrs, &h->by_addr, addr_key(saddr));
		queue_delayed_work(mroce_wq, &conns->linger, LINGER_STEP);
	}
	spin_unlock_bh(&mroce_table_lock);
	if (err) {
		mroce_rxhalf_put(h);
		mroce_rxhalf_put(h);
		return ERR_PTR(err);
	}
	return h;
}

void mroce_rxhalves_weigh(struct mroce_dev *dev, const struct in6_addr *saddr, u8 weight)
{
	struct mroce_rxhalf *h;

	spin_lock_bh(&mroce_table_lock);
	hash_for_each_possible(rx_addrs, h, by_addr, addr_key(saddr))
		if (h->dev == dev && ipv6_addr_equal(&h->saddr, saddr))
			mroce_shares_weigh(h, weight);
	spin_unlock_bh(&mroce_table_lock);
}

/* ---- removal ---- */

static void txhalf_unlink(struct mroce_txhalf *h, struct list_head *to)
{
	hash_del_rcu(&h->by_id);
	hash_del_rcu(&h->by_addr);
	list_move_tail(&h->node, to);
}

static void rxhalf_unlink(struct mroce_rxhalf *h, struct list_head *to)
{
	h->dev->conns->nrx--;
	h->dev->conns->rx_size -= rxhalf_size(h->rx.npaths);
	mroce_rxhalf_confirm(h);
	hash_del_rcu(&h->by_id);
	hash_del_rcu(&h->by_addr);
	list_move_tail(&h->node, to);
}

/*
 * Takes unlinked halves apart. After the grace period nobody sends, arms or schedules: all do
 * that only after they saw @gone clear, with bottom halves off or under the half's lock.
 */
static void halves_end(struct list_head *tx, struct list_head *rx)
{
	struct mroce_txhalf *h, *hn;
	struct mroce_rxhalf *r, *rn;
	u32 i;

	list_for_each_entry(h, tx, node) {
		spin_lock_bh(&h->lock);
		WRITE_ONCE(h->gone, true);
		mroce_tx_kill(&h->tx, MROCE_REASON_ERR_FLUSHED);
		spin_unlock_bh(&h->lock);
	}
	list_for_each_entry(r, rx, node) {
		spin_lock_bh(&r->lock);
		WRITE_ONCE(r->gone, true);
		spin_unlock_bh(&r->lock);
		mroce_shares_leave(r);
	}
	synchronize_rcu();
	list_for_each_entry_safe(h, hn, tx, node) {
		hrtimer_cancel(&h->timer);
		tasklet_kill(&h->resume);
		for (i = 0; i < h->nflows; i++)
			mroce_flow_drop(&h->flow[i]);
		mroce_flow_drop(&h->greeting);
		mroce_txhalf_settle(h);
		list_del(&h->node);
		mroce_txhalf_put(h);
	}
	list_for_each_entry_safe(r, rn, rx, node) {
		hrtimer_cancel(&r->timer);
		for (i = 0; i < r->rx.npaths; i++)
			mroce_flow_drop(&r->flow[i]);
		list_del(&r->node);
		/* linger() has taken the tables' reference of an idle one */
		if (!refcount_read(&r->refs))
			call_rcu(&r->rcu, rxhalf_free);
		else
			mroce_rxhalf_put(r);
	}
}

static bool rxhalf_silent(const struct mroce_rxhalf *h)
{
	unsigned long limit = READ_ONCE(h->confirmed) ? RX_LINGER : RX_UNCONFIRMED;

	return time_after(jiffies, READ_ONCE(h->heard) + limit);
}

/*
 * Queue pairs are attached, and perhaps packets held and buffers bound: is the peer still what it
 * was? Under mroce_table_lock; who is to be asked comes with a reference, for that is done without.
 */
static bool to_be_asked(struct mroce_rxhalf *h)
{
	if (!time_after(jiffies, READ_ONCE(h->heard) + ASK_AFTER) ||
	    !time_after(jiffies, h->asked + ASK_AFTER) || !refcount_inc_not_zero(&h->refs))
		return false;
	h->asked = jiffies;
	return true;
}

static void txhalf_shrink(struct mroce_txhalf *h)
{
	if (!READ_ONCE(h->tx.grown))
		return;
	spin_lock(&h->lock);
	mroce_tx_shrink(&h->tx, ktime_get_ns());
	spin_unlock(&h->lock);
}

static void rxhalf_shrink(struct mroce_rxhalf *h)
{
	if (!READ_ONCE(h->rx.tomb))
		return;
	spin_lock(&h->lock);
	mroce_rx_shrink(&h->rx, ktime_get_ns());
	spin_unlock(&h->lock);
}

static void linger(struct work_struct *work)
{
	struct mroce_conns *conns = container_of(to_delayed_work(work), struct mroce_conns, linger);
	struct mroce_txhalf *h, *hn;
	struct mroce_rxhalf *r, *rn, *silent[ASK_STEP];
	unsigned int n = 0;
	LIST_HEAD(tx);
	LIST_HEAD(rx);

	spin_lock_bh(&mroce_table_lock);
	list_for_each_entry_safe(h, hn, &conns->tx, node)
		if (!h->users && time_after(jiffies, h->idle_since + TX_LINGER))
			txhalf_unlink(h, &tx);
		else
			txhalf_shrink(h);
	list_for_each_entry_safe(r, rn, &conns->rx, node) {
		if (rxhalf_silent(r) && refcount_dec_if_one(&r->refs)) {
			rxhalf_unlink(r, &rx);
			continue;
		}
		rxhalf_shrink(r);
		if (n < ASK_STEP && refcount_read(&r->refs) > 1 && to_be_asked(r))
			silent[n++] = r;
	}
	if (!conns->stopped && !(list_empty(&conns->tx) && list_empty(&conns->rx)))
		queue_delayed_work(mroce_wq, &conns->linger, LINGER_STEP);
	spin_unlock_bh(&mroce_table_lock);
	while (n--) {
		mroce_txhalf_ask(silent[n]->dev, &silent[n]->saddr, silent[n]->rx.instance);
		mroce_rxhalf_put(silent[n]);
	}
	if (!list_empty(&tx) || !list_empty(&rx))
		halves_end(&tx, &rx);
}

/* ---- the module and the device ---- */

int mroce_halves_init(void)
{
	txhalf_cache = KMEM_CACHE(mroce_txhalf, 0);
	rxhalf_cache = KMEM_CACHE(mroce_rxhalf, 0);
	if (txhalf_cache && rxhalf_cache)
		return 0;
	mroce_halves_exit();
	return -ENOMEM;
}

void mroce_halves_exit(void)
{
	kmem_cache_destroy(txhalf_cache);
	kmem_cache_destroy(rxhalf_cache);
}

int mroce_conns_init(struct mroce_dev *dev)
{
	struct mroce_conns *conns = kzalloc(sizeof(*conns), GFP_KERNEL);

	if (!conns)
		return -ENOMEM;
	conns->dev = dev;
	INIT_LIST_HEAD(&conns->tx);
	INIT_LIST_HEAD(&conns->rx);
	INIT_DELAYED_WORK(&conns->linger, linger);
	INIT_WORK(&conns->verify, mroce_peer_verify);
	conns->half_ids = get_random_u32();
	conns->rx_size_max = (u64)totalram_pages() << PAGE_SHIFT >> MAX_RX_SHIFT;
	spin_lock_init(&conns->resets.lock);
	mroce_shares_init(conns);
	dev->conns = conns;
	return 0;
}

void mroce_conns_stop(struct mroce_dev *dev)
{
	struct mroce_conns *conns = dev->conns;
	struct mroce_txhalf *h, *hn;
	struct mroce_rxhalf *r, *rn;
	LIST_HEAD(tx);
	LIST_HEAD(rx);

	if (!conns)
		return;
	spin_lock_bh(&mroce_table_lock);
	conns->stopped = true;
	list_for_each_entry_safe(h, hn, &conns->tx, node)
		txhalf_unlink(h, &tx);
	list_for_each_entry_safe(r, rn, &conns->rx, node)
		rxhalf_unlink(r, &rx);
	spin_unlock_bh(&mroce_table_lock);
	cancel_delayed_work_sync(&conns->linger);
	cancel_work_sync(&conns->verify);
	halves_end(&tx, &rx);
}

/* Every queue pair is gone, so nobody but RCU holds a half. */
void mroce_conns_free(struct mroce_dev *dev)
{
	struct mroce_conns *conns = dev->conns;

	if (!conns)
		return;
	mroce_conns_stop(dev);
	rcu_barrier();
	WARN_ON_ONCE(atomic_read(&conns->alive));
	mroce_weights_free(conns);
	dev->conns = NULL;
	kfree(conns);
}
