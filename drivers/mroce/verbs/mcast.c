// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast: which queue pairs are attached to which groups, and a datagram's way to all of them.
 * A device joins a group on its first netdev with the first queue pair and leaves it with the
 * last; the stack does the rest (IGMP, MLD, filters, the copy for this host's own groups).
 *
 * Groups change in process context under rtnl, which joining takes anyway, and are read under RCU.
 */
#include <linux/hash.h>
#include <linux/rtnetlink.h>

#include "objects.h"
#include "qp.h"

/**
 * struct mroce_group - a group that the device is in
 * @node: in the device's @groups
 * @addr: IPv6, or IPv4 mapped into it
 * @members: struct mroce_member
 * @nmembers: of them
 * @rcu: frees it
 */
struct mroce_group {
	struct hlist_node node;
	struct in6_addr addr;
	struct hlist_head members;
	u32 nmembers;
	struct rcu_head rcu;
};

/* a queue pair in a group; RCU */
struct mroce_member {
	struct hlist_node node;
	struct mroce_qp_handle *handle;
	struct rcu_head rcu;
};

static struct hlist_head *bucket(struct mroce_dev *dev, const struct in6_addr *addr)
{
	return &dev->groups[hash_32(ipv6_addr_hash(addr), MROCE_GROUP_HASH_BITS)];
}

static struct mroce_group *find_group(struct mroce_dev *dev, const struct in6_addr *addr)
{
	struct mroce_group *g;

	hlist_for_each_entry_rcu(g, bucket(dev, addr), node, lockdep_rtnl_is_held())
		if (ipv6_addr_equal(&g->addr, addr))
			return g;
	return NULL;
}

static struct mroce_member *find_member(struct mroce_group *g, const struct mroce_qp *qp)
{
	struct mroce_member *m;

	hlist_for_each_entry(m, &g->members, node)
		if (m->handle == qp->handle)
			return m;
	return NULL;
}

/* The group, joined if it is new. */
static struct mroce_group *get_group(struct mroce_dev *dev, const struct in6_addr *addr)
{
	struct mroce_group *g = find_group(dev, addr);
	int err;

	if (g)
		return g;
	if (!mroce_take(&dev->ngroups, MROCE_MAX_GROUPS))
		return ERR_PTR(-ENOMEM);
	err = -ENOMEM;
	g = kzalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);
	if (!g)
		goto give;
	g->addr = *addr;
	err = mroce_group_join(dev->ndev, addr);
	if (err)
		goto free;
	hlist_add_head_rcu(&g->node, bucket(dev, addr));
	return g;

free:
	kfree(g);
give:
	atomic_dec(&dev->ngroups);
	return ERR_PTR(err);
}

static void put_group(struct mroce_dev *dev, struct mroce_group *g)
{
	if (g->nmembers)
		return;
	hlist_del_rcu(&g->node);
	/* a netdev that goes, or has gone to another namespace, has left by itself */
	if (!dev->gone)
		mroce_group_leave(dev->ndev, &g->addr);
	atomic_dec(&dev->ngroups);
	kfree_rcu(g, rcu);
}

static int attach(struct mroce_qp *qp, const struct in6_addr *addr)
{
	struct mroce_dev *dev = qp->dev;
	struct mroce_member *m;
	struct mroce_group *g;
	int err;

	if (dev->gone)
		return -ENODEV;
	g = get_group(dev, addr);
	if (IS_ERR(g))
		return PTR_ERR(g);
	err = -EEXIST;
	if (find_member(g, qp))
		goto put;
	err = -ENOMEM;
	if (g->nmembers >= MROCE_MAX_MEMBERS)
		goto put;
	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		goto put;
	m->handle = qp->handle;
	hlist_add_head_rcu(&m->node, &g->members);
	g->nmembers++;
	return 0;

put:
	put_group(dev, g);
	return err;
}

int mroce_attach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	int err;

	rtnl_lock();
	err = attach(to_mqp(ib), (const struct in6_addr *)gid->raw);
	rtnl_unlock();
	return err;
}

int mroce_detach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct mroce_qp *qp = to_mqp(ib);
	struct mroce_member *m = NULL;
	struct mroce_group *g;

	rtnl_lock();
	g = find_group(qp->dev, (const struct in6_addr *)gid->raw);
	if (g)
		m = find_member(g, qp);
	if (m) {
		hlist_del_rcu(&m->node);
		g->nmembers--;
		put_group(qp->dev, g);
		kfree_rcu(m, rcu);
	}
	rtnl_unlock();
	return m ? 0 : -EINVAL;
}

void mroce_group_datagram(struct mroce_dev *dev, const struct mroce_ud *ud, struct sk_buff *skb,
			  unsigned int off, const struct mroce_arrival *from)
{
	struct mroce_group *g;
	struct mroce_member *m;

	/* the group was joined on that netdev, whoever else may have joined it on another */
	if (from->ifindex != dev->ndev->ifindex || ud->dst_qpn != MROCE_GROUP_QPN)
		g = NULL;
	else
		g = find_group(dev, &from->daddr);
	if (!g) {
		mroce_drop(dev, MROCE_REASON_RX_ADDRESS);
		return;
	}
	hlist_for_each_entry_rcu(m, &g->members, node) {
		struct mroce_qp *qp = mroce_qp_by_handle(m->handle);

		if (qp)
			mroce_qp_datagram(qp, ud, skb, off, from);
	}
}
