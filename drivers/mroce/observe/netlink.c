// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family "mroce": what include/uapi/rdma/mroce-netlink.h says. Requests run in
 * process context, one at a time; devices are looked through under mroce_devs_lock, and only those
 * of the caller's namespace are seen. Events: any context but hard interrupts.
 */
#include <linux/rtnetlink.h>
#include <net/genetlink.h>

#include "../conn/conn.h"
#include "../verbs/qp.h"
#include "netlink.h"

static_assert((int)MROCE_NL_CONN_DEAD == MROCE_TX_DEAD);
static_assert((int)MROCE_NL_STREAM_FAILED == MROCE_TXS_FAILED);
static_assert((int)MROCE_NL_PATH_FAILED == MROCE_PATH_FAILED);
static_assert((int)MROCE_NL_PAUSE_FAULT == MROCE_N_FAULT);

static struct genl_family mroce_family;

enum { GROUP_EVENTS };

static const struct genl_multicast_group mroce_groups[] = {
	[GROUP_EVENTS] = { .name = MROCE_NL_EVENTS },
};

static const struct nla_policy mroce_policy[MROCE_NL_A_MAX + 1] = {
	[MROCE_NL_A_DEV] = { .type = NLA_NUL_STRING, .len = IB_DEVICE_NAME_MAX - 1 },
	[MROCE_NL_A_IFINDEX] = { .type = NLA_U32 },
	[MROCE_NL_A_NPATHS] = NLA_POLICY_RANGE(NLA_U8, 1, MROCE_MAX_PATHS),
	[MROCE_NL_A_BURST] = { .type = NLA_U32 },
	[MROCE_NL_A_HELD_LIMIT] = { .type = NLA_U64 },
	[MROCE_NL_A_CAPACITY] = { .type = NLA_U32 },
	[MROCE_NL_A_PEER] = NLA_POLICY_EXACT_LEN(sizeof(struct in6_addr)),
	[MROCE_NL_A_WEIGHT] = NLA_POLICY_RANGE(NLA_U8, 1, MROCE_NL_WEIGHT_MAX),
};

/* ---- requests ---- */

/* a device by its name, and what is to be done to it */
struct request {
	struct genl_info *info;
	const char *name;
	struct net *net;
	int (*act)(struct mroce_dev *dev, struct genl_info *info);
};

static bool visible(const struct mroce_dev *dev, const struct net *net)
{
	return !dev->gone && dev->registered && net_eq(dev_net(dev->ndev), net);
}

static int act_on(struct mroce_dev *dev, void *arg)
{
	struct request *r = arg;
	int err;

	if (!visible(dev, r->net) || strcmp(dev_name(&dev->ib.dev), r->name))
		return 0;
	err = r->act(dev, r->info);
	/* found, so the search ends */
	return err ?: 1;
}

static int request(struct genl_info *info,
		   int (*act)(struct mroce_dev *dev, struct genl_info *info))
{
	struct request r = { .info = info, .net = genl_info_net(info), .act = act };
	int err;

	if (!info->attrs[MROCE_NL_A_DEV]) {
		NL_SET_ERR_MSG_MOD(info->extack, "no device is named");
		return -EINVAL;
	}
	r.name = nla_data(info->attrs[MROCE_NL_A_DEV]);
	rtnl_lock();
	err = mroce_devs_each(act_on, &r);
	rtnl_unlock();
	if (!err) {
		NL_SET_ERR_MSG_MOD(info->extack, "no such device in this network namespace");
		return -ENODEV;
	}
	return err < 0 ? err : 0;
}

static struct net_device *netdev_of(struct genl_info *info)
{
	struct net_device *ndev = NULL;

	if (info->attrs[MROCE_NL_A_IFINDEX])
		ndev = __dev_get_by_index(genl_info_net(info),
					  nla_get_u32(info->attrs[MROCE_NL_A_IFINDEX]));
	if (!ndev)
		NL_SET_ERR_MSG_MOD(info->extack, "no such netdev in this network namespace");
	return ndev;
}

static int plane_add(struct mroce_dev *dev, struct genl_info *info)
{
	struct net_device *ndev = netdev_of(info);

	if (!ndev)
		return -ENODEV;
	if (mroce_dev_of_netdev(ndev)) {
		NL_SET_ERR_MSG_MOD(info->extack, "the netdev is a plane already");
		return -EEXIST;
	}
	return mroce_plane_add(dev, ndev, info->extack);
}

/* slot of the plane that is meant, or an error */
static int slot_of(struct mroce_dev *dev, struct genl_info *info)
{
	struct net_device *ndev = netdev_of(info);
	int slot;

	if (!ndev)
		return -ENODEV;
	slot = mroce_plane_slot(dev, ndev);
	if (slot < 0) {
		NL_SET_ERR_MSG_MOD(info->extack, "the netdev is no plane of this device");
		return -ENOENT;
	}
	return slot;
}

static int plane_drain(struct mroce_dev *dev, struct genl_info *info)
{
	int slot = slot_of(dev, info);

	if (slot < 0)
		return slot;
	mroce_plane_drain(dev, slot);
	return 0;
}

static int plane_del(struct mroce_dev *dev, struct genl_info *info)
{
	int slot = slot_of(dev, info);

	if (slot < 0)
		return slot;
	if (!slot) {
		NL_SET_ERR_MSG_MOD(info->extack, "the link is on this netdev and goes with it");
		return -EBUSY;
	}
	mroce_plane_del(dev, slot);
	return 0;
}

static int dev_set(struct mroce_dev *dev, struct genl_info *info)
{
	struct nlattr **a = info->attrs;
	u32 burst = dev->burst;

	if (a[MROCE_NL_A_BURST])
		burst = nla_get_u32(a[MROCE_NL_A_BURST]);
	if (!burst || burst > MROCE_DEFAULT_BURST) {
		NL_SET_ERR_MSG_ATTR(info->extack, a[MROCE_NL_A_BURST],
				    "mroce: burst is 1 to 61440 bytes");
		return -ERANGE;
	}
	WRITE_ONCE(dev->burst, burst);
	if (a[MROCE_NL_A_NPATHS])
		WRITE_ONCE(dev->npaths, nla_get_u8(a[MROCE_NL_A_NPATHS]));
	if (a[MROCE_NL_A_HELD_LIMIT])
		WRITE_ONCE(dev->held_limit, nla_get_u64(a[MROCE_NL_A_HELD_LIMIT]));
	if (a[MROCE_NL_A_CAPACITY])
		WRITE_ONCE(dev->capacity, nla_get_u32(a[MROCE_NL_A_CAPACITY]));
	schedule_work(&dev->speed_work);
	return 0;
}

static int peer_set(struct mroce_dev *dev, struct genl_info *info)
{
	struct nlattr *peer = info->attrs[MROCE_NL_A_PEER];
	struct nlattr *weight = info->attrs[MROCE_NL_A_WEIGHT];
	struct in6_addr addr;
	int err;

	if (!peer || !weight) {
		NL_SET_ERR_MSG_MOD(info->extack, "a peer's address and a weight are wanted");
		return -EINVAL;
	}
	addr = nla_get_in6_addr(peer);
	if (ipv6_addr_any(&addr) || ipv6_addr_is_multicast(&addr) ||
	    (mroce_addr_v4(&addr) && (ipv4_is_zeronet(addr.s6_addr32[3]) ||
				      ipv4_is_multicast(addr.s6_addr32[3]) ||
				      ipv4_is_lbcast(addr.s6_addr32[3])))) {
		NL_SET_ERR_MSG_ATTR(info->extack, peer, "mroce: that is not the address of a host");
		return -EINVAL;
	}
	err = mroce_weight_set(dev, &addr, nla_get_u8(weight));
	if (err == -ENOSPC)
		NL_SET_ERR_MSG_MOD(info->extack, "as many peers as can be have a weight");
	return err;
}

static int do_plane_add(struct sk_buff *skb, struct genl_info *info)
{
	return request(info, plane_add);
}

static int do_plane_drain(struct sk_buff *skb, struct genl_info *info)
{
	return request(info, plane_drain);
}

static int do_plane_del(struct sk_buff *skb, struct genl_info *info)
{
	return request(info, plane_del);
}

static int do_dev_set(struct sk_buff *skb, struct genl_info *info)
{
	return request(info, dev_set);
}

static int do_peer_set(struct sk_buff *skb, struct genl_info *info)
{
	return request(info, peer_set);
}

/* ---- dumps ---- */

/*
 * Where a dump goes on: cb->args[0] of what is counted by before() are out. Of what belongs to
 * connections these are devices, and of the next one args[1] is the half and args[2] the path or
 * plane in it to go on with, if args[3]; args[4]: its sending halves are out. Of streams args[1] is
 * the queue pair.
 */
struct dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	struct net *net;
	long n;
	int (*put)(struct dump *d, struct mroce_dev *dev);
};

static void *start(struct dump *d, u8 cmd, struct mroce_dev *dev)
{
	void *hdr = genlmsg_put(d->skb, NETLINK_CB(d->cb->skb).portid, d->cb->nlh->nlmsg_seq,
				&mroce_family, NLM_F_MULTI, cmd);

	if (hdr && nla_put_string(d->skb, MROCE_NL_A_DEV, dev_name(&dev->ib.dev))) {
		genlmsg_cancel(d->skb, hdr);
		return NULL;
	}
	return hdr;
}

/* the message is complete, or does not fit and comes again first in the next skb */
static int finish(struct dump *d, void *hdr, int err)
{
	if (err) {
		genlmsg_cancel(d->skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(d->skb, hdr);
	return 0;
}

/* as finish(), of what before() counts */
static int finish_counted(struct dump *d, void *hdr, int err)
{
	err = finish(d, hdr, err);
	if (!err)
		d->cb->args[0]++;
	return err;
}

/* was this one sent before? */
static bool before(struct dump *d)
{
	return d->n++ < d->cb->args[0];
}

static int put_dev(struct dump *d, struct mroce_dev *dev)
{
	struct sk_buff *skb = d->skb;
	void *hdr;
	int err;

	if (before(d))
		return 0;
	hdr = start(d, MROCE_NL_DEV_GET, dev);
	if (!hdr)
		return -EMSGSIZE;
	err = nla_put_u64_64bit(skb, MROCE_NL_A_INSTANCE, dev->instance, MROCE_NL_A_PAD) ?:
	      nla_put_u8(skb, MROCE_NL_A_NPATHS, dev->npaths) ?:
	      nla_put_u32(skb, MROCE_NL_A_BURST, dev->burst) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_HELD_LIMIT, dev->held_limit, MROCE_NL_A_PAD) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_HELD, atomic64_read(&dev->held),
				MROCE_NL_A_PAD) ?:
	      nla_put_u32(skb, MROCE_NL_A_CAPACITY, dev->capacity);
	return finish_counted(d, hdr, err);
}

static int put_planes(struct dump *d, struct mroce_dev *dev)
{
	struct sk_buff *skb = d->skb;
	struct net_device *ndev;
	void *hdr;
	u32 i;
	int err;

	for (i = 0; i < MROCE_MAX_PLANES; i++) {
		ndev = rcu_dereference_protected(dev->plane[i].ndev, 1);
		if (!ndev || before(d))
			continue;
		hdr = start(d, MROCE_NL_PLANE_GET, dev);
		if (!hdr)
			return -EMSGSIZE;
		err = nla_put_u32(skb, MROCE_NL_A_IFINDEX, ndev->ifindex) ?:
		      nla_put_u8(skb, MROCE_NL_A_SLOT, i) ?:
		      nla_put_u8(skb, MROCE_NL_A_STATE, dev->plane[i].draining ?
				 MROCE_PLANE_DRAINING : MROCE_PLANE_ADDED) ?:
		      nla_put_u8(skb, MROCE_NL_A_UP, mroce_netdev_up(ndev)) ?:
		      nla_put_u32(skb, MROCE_NL_A_MTU, READ_ONCE(ndev->mtu)) ?:
		      nla_put_u32(skb, MROCE_NL_A_SPEED, READ_ONCE(dev->plane[i].speed));
		err = finish_counted(d, hdr, err);
		if (err)
			return err;
	}
	return 0;
}

static int put_path(struct dump *d, struct mroce_dev *dev, struct mroce_txhalf *h, u32 i)
{
	struct sk_buff *skb = d->skb;
	struct mroce_txpath p;
	struct mroce_pair pair;
	__be16 sport;
	void *hdr;
	int err;

	spin_lock_bh(&h->lock);
	p = h->tx.path[i];
	pair = h->pair[p.plane];
	sport = h->flow[i].sport;
	spin_unlock_bh(&h->lock);
	hdr = start(d, MROCE_NL_PATH_GET, dev);
	if (!hdr)
		return -EMSGSIZE;
	err = nla_put_u64_64bit(skb, MROCE_NL_A_HALF, h->tx.hello.half, MROCE_NL_A_PAD) ?:
	      nla_put_u8(skb, MROCE_NL_A_PATH, i) ?:
	      nla_put_u8(skb, MROCE_NL_A_SLOT, p.plane) ?:
	      nla_put_u8(skb, MROCE_NL_A_STATE, p.state) ?:
	      nla_put_u8(skb, MROCE_NL_A_EPOCH, p.epoch) ?:
	      nla_put_u16(skb, MROCE_NL_A_PORT, ntohs(sport)) ?:
	      nla_put(skb, MROCE_NL_A_LOCAL, sizeof(pair.saddr), &pair.saddr) ?:
	      nla_put(skb, MROCE_NL_A_PEER, sizeof(pair.daddr), &pair.daddr) ?:
	      nla_put_u32(skb, MROCE_NL_A_IFINDEX, pair.ifindex) ?:
	      nla_put_u32(skb, MROCE_NL_A_SRTT, p.srtt) ?:
	      nla_put_u32(skb, MROCE_NL_A_CWND, p.cwnd) ?:
	      nla_put_u32(skb, MROCE_NL_A_INFLIGHT, p.inflight) ?:
	      nla_put_u16(skb, MROCE_NL_A_PAYLOAD, p.size) ?:
	      nla_put_u32(skb, MROCE_NL_A_PACKETS, p.packets) ?:
	      nla_put_u32(skb, MROCE_NL_A_MARKED, p.ce) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_LOST, p.lost, MROCE_NL_A_PAD) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_BYTES, p.bytes, MROCE_NL_A_PAD);
	return finish(d, hdr, err);
}

/*
 * A device may have thousands of connections: each call goes on at the half where the last one
 * stopped. What there is of one half, args[2] says how much of it is out.
 */
static void begin_half(long *at, u32 *half)
{
	if (!at[3] || (u32)at[1] != *half)
		at[2] = 0;
	at[1] = *half;
	at[3] = true;
	++*half;
}

static int each_txhalf(struct dump *d, struct mroce_dev *dev,
		       int (*put)(struct dump *d, struct mroce_dev *dev, struct mroce_txhalf *h))
{
	long *at = d->cb->args;
	struct mroce_txhalf *h, *last = NULL;
	u32 half = at[1];
	int err = 0;

	h = mroce_txhalf_next(dev, NULL, at[3] ? &half : NULL);
	for (; h && !err; h = err ? NULL : mroce_txhalf_next(dev, last, &half)) {
		if (last)
			mroce_txhalf_put(last);
		last = h;
		half = h->tx.hello.half;
		begin_half(at, &half);
		err = put(d, dev, h);
	}
	if (last)
		mroce_txhalf_put(last);
	if (!err)
		at[3] = false;
	return err;
}

static int each_rxhalf(struct dump *d, struct mroce_dev *dev,
		       int (*put)(struct dump *d, struct mroce_dev *dev, struct mroce_rxhalf *h))
{
	long *at = d->cb->args;
	struct mroce_rxhalf *h, *last = NULL;
	u32 half = at[1];
	int err = 0;

	h = mroce_rxhalf_next(dev, NULL, at[3] ? &half : NULL);
	for (; h && !err; h = err ? NULL : mroce_rxhalf_next(dev, last, &half)) {
		if (last)
			mroce_rxhalf_put(last);
		last = h;
		half = h->index;
		begin_half(at, &half);
		err = put(d, dev, h);
	}
	if (last)
		mroce_rxhalf_put(last);
	if (!err)
		at[3] = false;
	return err;
}

/* the halves of both directions, those that send first */
static int each_half(struct dump *d, struct mroce_dev *dev,
		     int (*tx)(struct dump *d, struct mroce_dev *dev, struct mroce_txhalf *h),
		     int (*rx)(struct dump *d, struct mroce_dev *dev, struct mroce_rxhalf *h))
{
	long *at = d->cb->args;
	int err = 0;

	if (before(d))
		return 0;
	if (!at[4])
		err = each_txhalf(d, dev, tx);
	if (!err) {
		at[4] = true;
		err = each_rxhalf(d, dev, rx);
	}
	if (!err) {
		at[4] = false;
		at[0]++;
	}
	return err;
}

static int put_half_paths(struct dump *d, struct mroce_dev *dev, struct mroce_txhalf *h)
{
	long *at = d->cb->args;
	int err = 0;

	for (; !err && at[2] < h->tx.npaths; at[2] += !err)
		err = put_path(d, dev, h, at[2]);
	return err;
}

static int put_paths(struct dump *d, struct mroce_dev *dev)
{
	int err;

	if (before(d))
		return 0;
	err = each_txhalf(d, dev, put_half_paths);
	if (!err)
		d->cb->args[0]++;
	return err;
}

/* the beginning of what is said of a half */
static void *start_half(struct dump *d, u8 cmd, struct mroce_dev *dev, u8 direction, u32 half)
{
	void *hdr = start(d, cmd, dev);

	if (hdr && (nla_put_u8(d->skb, MROCE_NL_A_DIRECTION, direction) ||
		    nla_put_u64_64bit(d->skb, MROCE_NL_A_HALF, half, MROCE_NL_A_PAD))) {
		genlmsg_cancel(d->skb, hdr);
		return NULL;
	}
	return hdr;
}

static int put_txconn(struct dump *d, struct mroce_dev *dev, struct mroce_txhalf *h)
{
	struct sk_buff *skb = d->skb;
	struct mroce_tx_stats stats;
	u64 instance, backlog;
	u8 state, npaths;
	u16 payload;
	void *hdr;
	int err;

	spin_lock_bh(&h->lock);
	stats = h->tx.stats;
	state = h->tx.state;
	instance = h->tx.instance;
	backlog = h->tx.backlog;
	npaths = h->tx.npaths;
	payload = h->tx.max_payload;
	spin_unlock_bh(&h->lock);
	hdr = start_half(d, MROCE_NL_CONN_GET, dev, MROCE_NL_SENDS, h->tx.hello.half);
	if (!hdr)
		return -EMSGSIZE;
	err = nla_put_u8(skb, MROCE_NL_A_STATE, state) ?:
	      nla_put_in6_addr(skb, MROCE_NL_A_LOCAL, &h->saddr) ?:
	      nla_put_in6_addr(skb, MROCE_NL_A_PEER, &h->daddr) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_INSTANCE, instance, MROCE_NL_A_PAD) ?:
	      nla_put_u32(skb, MROCE_NL_A_STREAMS, READ_ONCE(h->users)) ?:
	      nla_put_u8(skb, MROCE_NL_A_NPATHS, npaths) ?:
	      nla_put_u16(skb, MROCE_NL_A_PAYLOAD, payload) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_CARRIED, stats.packets, MROCE_NL_A_PAD) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_BYTES, stats.bytes, MROCE_NL_A_PAD) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_RESENT, stats.resent, MROCE_NL_A_PAD) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_LOST, stats.lost, MROCE_NL_A_PAD) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_BACKLOG, backlog, MROCE_NL_A_PAD);
	return finish(d, hdr, err);
}

static int put_rxconn(struct dump *d, struct mroce_dev *dev, struct mroce_rxhalf *h)
{
	struct sk_buff *skb = d->skb;
	u64 packets, bytes, marked;
	void *hdr;
	int err;

	spin_lock_bh(&h->lock);
	packets = h->rx.stats.packets;
	bytes = h->rx.stats.bytes;
	marked = h->rx.stats.ce;
	spin_unlock_bh(&h->lock);
	hdr = start_half(d, MROCE_NL_CONN_GET, dev, MROCE_NL_RECEIVES, h->index);
	if (!hdr)
		return -EMSGSIZE;
	err = nla_put_u8(skb, MROCE_NL_A_STATE, READ_ONCE(h->confirmed) ? MROCE_NL_CONN_OPEN :
									  MROCE_NL_CONN_HELLO) ?:
	      nla_put_in6_addr(skb, MROCE_NL_A_LOCAL, &h->daddr) ?:
	      nla_put_in6_addr(skb, MROCE_NL_A_PEER, &h->saddr) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_INSTANCE, h->rx.instance, MROCE_NL_A_PAD) ?:
	      nla_put_u8(skb, MROCE_NL_A_NPATHS, h->rx.npaths) ?:
	      nla_put_u16(skb, MROCE_NL_A_PAYLOAD, h->agreed) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_CARRIED, packets, MROCE_NL_A_PAD) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_BYTES, bytes, MROCE_NL_A_PAD) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_MARKED_ALL, marked, MROCE_NL_A_PAD);
	return finish(d, hdr, err);
}

static int put_conns(struct dump *d, struct mroce_dev *dev)
{
	return each_half(d, dev, put_txconn, put_rxconn);
}

/* ---- shares ---- */

static int put_txshare(struct dump *d, struct mroce_dev *dev, struct mroce_txhalf *h, u32 plane)
{
	struct in6_addr peer;
	u32 share = 0;
	u16 senders;
	void *hdr;
	bool used;
	int err;

	spin_lock_bh(&h->lock);
	used = h->tx.plane[plane].npaths;
	if (ktime_get_ns() < h->tx.plane[plane].share_until)
		share = h->tx.plane[plane].share;
	senders = h->tx.plane[plane].active;
	peer = h->pair[plane].daddr;
	spin_unlock_bh(&h->lock);
	if (!used)
		return 0;
	hdr = start_half(d, MROCE_NL_SHARE_GET, dev, MROCE_NL_SENDS, h->tx.hello.half);
	if (!hdr)
		return -EMSGSIZE;
	err = nla_put_u8(d->skb, MROCE_NL_A_SLOT, plane) ?:
	      nla_put_in6_addr(d->skb, MROCE_NL_A_PEER, &peer) ?:
	      nla_put_u32(d->skb, MROCE_NL_A_SHARE, share) ?:
	      nla_put_u16(d->skb, MROCE_NL_A_SENDERS, senders);
	return finish(d, hdr, err);
}

static int put_rxshare(struct dump *d, struct mroce_dev *dev, struct mroce_rxhalf *h, u32 plane)
{
	struct mroce_share_view v;
	void *hdr;
	int err;

	if (!mroce_shares_view(h, plane, &v))
		return 0;
	hdr = start_half(d, MROCE_NL_SHARE_GET, dev, MROCE_NL_RECEIVES, h->index);
	if (!hdr)
		return -EMSGSIZE;
	err = nla_put_u8(d->skb, MROCE_NL_A_SLOT, plane) ?:
	      nla_put_in6_addr(d->skb, MROCE_NL_A_PEER, &h->saddr) ?:
	      nla_put_u32(d->skb, MROCE_NL_A_SHARE, v.share) ?:
	      nla_put_u16(d->skb, MROCE_NL_A_SENDERS, min_t(u32, v.senders, U16_MAX)) ?:
	      nla_put_u8(d->skb, MROCE_NL_A_WEIGHT, v.weight) ?:
	      nla_put_u32(d->skb, MROCE_NL_A_DEMAND, v.demand) ?:
	      nla_put_u32(d->skb, MROCE_NL_A_RATE, v.rate);
	return finish(d, hdr, err);
}

static int put_txshares(struct dump *d, struct mroce_dev *dev, struct mroce_txhalf *h)
{
	long *at = d->cb->args;
	int err = 0;

	for (; !err && at[2] < MROCE_MAX_PLANES; at[2] += !err)
		err = put_txshare(d, dev, h, at[2]);
	return err;
}

static int put_rxshares(struct dump *d, struct mroce_dev *dev, struct mroce_rxhalf *h)
{
	long *at = d->cb->args;
	int err = 0;

	for (; !err && at[2] < MROCE_MAX_PLANES; at[2] += !err)
		err = put_rxshare(d, dev, h, at[2]);
	return err;
}

static int put_shares(struct dump *d, struct mroce_dev *dev)
{
	return each_half(d, dev, put_txshares, put_rxshares);
}

/* ---- streams ---- */

static int put_stream(struct dump *d, struct mroce_dev *dev, struct mroce_qp *qp)
{
	struct sk_buff *skb = d->skb;
	struct mroce_qp_info info;
	void *hdr;
	int err;

	if (mroce_qp_info(qp, &info, NULL))
		return 0;
	hdr = start(d, MROCE_NL_STREAM_GET, dev);
	if (!hdr)
		return -EMSGSIZE;
	err = nla_put_u64_64bit(skb, MROCE_NL_A_HALF, info.connection, MROCE_NL_A_PAD) ?:
	      nla_put_u32(skb, MROCE_NL_A_QPN, info.qpn) ?:
	      nla_put_u32(skb, MROCE_NL_A_PEER_QPN, info.peer_qpn) ?:
	      nla_put_u8(skb, MROCE_NL_A_STATE, info.state) ?:
	      nla_put_u8(skb, MROCE_NL_A_PAUSE, info.pause) ?:
	      nla_put(skb, MROCE_NL_A_LOCAL, sizeof(info.local), info.local) ?:
	      nla_put(skb, MROCE_NL_A_PEER, sizeof(info.peer), info.peer) ?:
	      nla_put_u32(skb, MROCE_NL_A_MESSAGES, info.messages) ?:
	      nla_put_u32(skb, MROCE_NL_A_INFLIGHT_PACKETS, info.inflight) ?:
	      nla_put_u64_64bit(skb, MROCE_NL_A_BACKLOG, info.backlog, MROCE_NL_A_PAD) ?:
	      nla_put_u8(skb, MROCE_NL_A_PLANES, info.tuning.planes) ?:
	      nla_put_u8(skb, MROCE_NL_A_NPATHS, info.tuning.paths) ?:
	      nla_put_u8(skb, MROCE_NL_A_WEIGHT, info.tuning.weight) ?:
	      nla_put_u32(skb, MROCE_NL_A_BURST, info.tuning.burst);
	return finish(d, hdr, err);
}

static int put_streams(struct dump *d, struct mroce_dev *dev)
{
	long *at = d->cb->args;
	struct mroce_qp *qp;
	u32 qpn = at[1];
	int err;

	if (before(d))
		return 0;
	for (; (qp = mroce_qp_next(dev, &qpn)); qpn++) {
		err = put_stream(d, dev, qp);
		mroce_qp_put(qp);
		if (err) {
			at[1] = qpn;
			return err;
		}
	}
	at[1] = 0;
	at[0]++;
	return 0;
}

static int put_peer(struct mroce_dev *dev, const struct mroce_weight *w, void *arg)
{
	struct dump *d = arg;
	void *hdr;
	int err;

	if (before(d))
		return 0;
	hdr = start(d, MROCE_NL_PEER_GET, dev);
	if (!hdr)
		return -EMSGSIZE;
	err = nla_put_in6_addr(d->skb, MROCE_NL_A_PEER, &w->peer) ?:
	      nla_put_u8(d->skb, MROCE_NL_A_WEIGHT, w->weight);
	return finish_counted(d, hdr, err);
}

static int put_peers(struct dump *d, struct mroce_dev *dev)
{
	return mroce_weights_each(dev, put_peer, d);
}

static int dump_dev(struct mroce_dev *dev, void *arg)
{
	struct dump *d = arg;

	return visible(dev, d->net) ? d->put(d, dev) : 0;
}

static int dump(struct sk_buff *skb, struct netlink_callback *cb,
		int (*put)(struct dump *d, struct mroce_dev *dev))
{
	struct dump d = { .skb = skb, .cb = cb, .net = sock_net(skb->sk), .put = put };
	int err = mroce_devs_each(dump_dev, &d);

	/* nothing at all fits: else it is only that this skb is full */
	return err && !skb->len ? err : skb->len;
}

static int dump_devs(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump(skb, cb, put_dev);
}

static int dump_planes(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump(skb, cb, put_planes);
}

static int dump_paths(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump(skb, cb, put_paths);
}

static int dump_conns(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump(skb, cb, put_conns);
}

static int dump_streams(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump(skb, cb, put_streams);
}

static int dump_shares(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump(skb, cb, put_shares);
}

static int dump_peers(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump(skb, cb, put_peers);
}

/* ---- events ---- */

/* Sends it if it is complete. */
static void event(struct mroce_dev *dev, struct sk_buff *skb, void *hdr, int err)
{
	struct mroce_sock *sock;

	if (err) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, hdr);
	rcu_read_lock();
	sock = READ_ONCE(dev->sock);
	if (sock && !READ_ONCE(dev->gone))
		genlmsg_multicast_netns(&mroce_family, mroce_sock_net(sock), skb, 0, GROUP_EVENTS,
					GFP_ATOMIC);
	else
		nlmsg_free(skb);
	rcu_read_unlock();
}

static struct sk_buff *event_new(struct mroce_dev *dev, u8 cmd, void **hdr)
{
	struct mroce_sock *sock;
	struct sk_buff *skb;
	bool heard;

	rcu_read_lock();
	sock = READ_ONCE(dev->sock);
	heard = sock && !READ_ONCE(dev->gone) &&
		genl_has_listeners(&mroce_family, mroce_sock_net(sock), GROUP_EVENTS);
	rcu_read_unlock();
	if (!heard)
		return NULL;
	skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_ATOMIC);
	if (!skb)
		return NULL;
	*hdr = genlmsg_put(skb, 0, 0, &mroce_family, 0, cmd);
	if (!*hdr || nla_put_string(skb, MROCE_NL_A_DEV, dev_name(&dev->ib.dev))) {
		nlmsg_free(skb);
		return NULL;
	}
	return skb;
}

void mroce_nl_plane(struct mroce_dev *dev, const struct net_device *ndev, u8 slot, u8 state)
{
	struct sk_buff *skb;
	void *hdr;

	skb = event_new(dev, MROCE_NL_PLANE_EVENT, &hdr);
	if (skb)
		event(dev, skb, hdr, nla_put_u32(skb, MROCE_NL_A_IFINDEX, ndev->ifindex) ?:
				     nla_put_u8(skb, MROCE_NL_A_SLOT, slot) ?:
				     nla_put_u8(skb, MROCE_NL_A_STATE, state));
}

void mroce_nl_path(struct mroce_dev *dev, u64 half, u8 path, u8 plane, u8 state)
{
	struct sk_buff *skb;
	void *hdr;

	skb = event_new(dev, MROCE_NL_PATH_EVENT, &hdr);
	if (skb)
		event(dev, skb, hdr,
		      nla_put_u64_64bit(skb, MROCE_NL_A_HALF, half, MROCE_NL_A_PAD) ?:
		      nla_put_u8(skb, MROCE_NL_A_PATH, path) ?:
		      nla_put_u8(skb, MROCE_NL_A_SLOT, plane) ?:
		      nla_put_u8(skb, MROCE_NL_A_STATE, state));
}

/* ---- the family ---- */

static const struct genl_small_ops mroce_ops[] = {
	{ .cmd = MROCE_NL_DEV_GET, .dumpit = dump_devs },
	{ .cmd = MROCE_NL_DEV_SET, .doit = do_dev_set, .flags = GENL_ADMIN_PERM },
	{ .cmd = MROCE_NL_PLANE_ADD, .doit = do_plane_add, .flags = GENL_ADMIN_PERM },
	{ .cmd = MROCE_NL_PLANE_DRAIN, .doit = do_plane_drain, .flags = GENL_ADMIN_PERM },
	{ .cmd = MROCE_NL_PLANE_DEL, .doit = do_plane_del, .flags = GENL_ADMIN_PERM },
	{ .cmd = MROCE_NL_PLANE_GET, .dumpit = dump_planes },
	{ .cmd = MROCE_NL_PATH_GET, .dumpit = dump_paths, .flags = GENL_ADMIN_PERM },
	{ .cmd = MROCE_NL_PEER_SET, .doit = do_peer_set, .flags = GENL_ADMIN_PERM },
	{ .cmd = MROCE_NL_PEER_GET, .dumpit = dump_peers },
	{ .cmd = MROCE_NL_CONN_GET, .dumpit = dump_conns, .flags = GENL_ADMIN_PERM },
	{ .cmd = MROCE_NL_STREAM_GET, .dumpit = dump_streams, .flags = GENL_ADMIN_PERM },
	{ .cmd = MROCE_NL_SHARE_GET, .dumpit = dump_shares, .flags = GENL_ADMIN_PERM },
};

static struct genl_family mroce_family = {
	.name = MROCE_NL_NAME,
	.version = MROCE_NL_VERSION,
	.maxattr = MROCE_NL_A_MAX,
	.policy = mroce_policy,
	.netnsok = true,
	.module = THIS_MODULE,
	.small_ops = mroce_ops,
	.n_small_ops = ARRAY_SIZE(mroce_ops),
	.resv_start_op = MROCE_NL_PATH_EVENT + 1,
	.mcgrps = mroce_groups,
	.n_mcgrps = ARRAY_SIZE(mroce_groups),
};

int mroce_nl_init(void)
{
	return genl_register_family(&mroce_family);
}

void mroce_nl_exit(void)
{
	genl_unregister_family(&mroce_family);
}
