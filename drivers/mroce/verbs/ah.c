// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles: a pair of addresses and the flow that datagrams to it take. Created
 * and destroyed in any context (rule 38): atomic allocation, no route is looked up before
 * the first datagram. The lock of ah_xa, interrupts off, covers the table, for the core
 * frees an AH as soon as it is destroyed.
 */
#include <linux/delay.h>
#include <linux/random.h>
#include <net/inet_ecn.h>
#include <rdma/ib_cache.h>

#include "objects.h"

static int ah_insert(struct mroce_dev *dev, struct mroce_ah *ah)
{
	unsigned long flags;
	int err;

	xa_lock_irqsave(&dev->ah_xa, flags);
	err = __xa_alloc_cyclic(&dev->ah_xa, &ah->ahn, ah, xa_limit_32b, &dev->ahn_next,
				GFP_ATOMIC);
	xa_unlock_irqrestore(&dev->ah_xa, flags);
	return err < 0 ? err : 0;
}

static void ah_erase(struct mroce_dev *dev, struct mroce_ah *ah)
{
	unsigned long flags;

	xa_lock_irqsave(&dev->ah_xa, flags);
	__xa_erase(&dev->ah_xa, ah->ahn);
	xa_unlock_irqrestore(&dev->ah_xa, flags);
}

int mroce_gid_ifindex(const struct ib_gid_attr *attr)
{
	struct net_device *ndev;
	int ifindex = 0;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (!IS_ERR(ndev))
		ifindex = ndev->ifindex;
	rcu_read_unlock();
	return ifindex;
}

__be16 mroce_path_port(void)
{
	return htons(MROCE_PATH_PORT_BASE |
		     (get_random_u32() & GENMASK(MROCE_PATH_PORT_BITS - 1, 0)));
}

int mroce_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	const struct rdma_ah_attr *attr = init->ah_attr;
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	struct mroce_dev *dev = to_mdev(ib->device);
	struct mroce_ah *ah = to_mah(ib);
	struct in6_addr saddr, daddr;
	int err;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE || !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) ||
	    !grh->sgid_attr)
		return -EINVAL;

	ah->pd = ib->pd;
	memcpy(&saddr, grh->sgid_attr->gid.raw, sizeof(saddr));
	memcpy(&daddr, grh->dgid.raw, sizeof(daddr));
	if (mroce_addr_v4(&saddr) != mroce_addr_v4(&daddr))
		return -EINVAL;
	refcount_set(&ah->refs, 1);
	init_completion(&ah->unused);
	/* datagrams of one handle keep one path, those of others may take another */
	mroce_flow_init(&ah->flow, &saddr, &daddr,
			mroce_path_port(), mroce_gid_ifindex(grh->sgid_attr));
	ah->flow.tclass = grh->traffic_class & ~INET_ECN_MASK;
	ah->flow.hop_limit = grh->hop_limit;

	if (!mroce_take(&dev->ahs, MROCE_MAX_AH))
		return -ENOMEM;
	err = ah_insert(dev, ah);
	if (err)
		goto give;

	if (udata) {
		struct mroce_create_ah_resp resp = { .ah = ah->ahn };

		err = mroce_respond(udata, &resp, sizeof(resp));
		if (err)
			goto erase;
	}
	return 0;

erase:
	ah_erase(dev, ah);
	/* its number was in the table: a send of the program may have found it, and a route */
	mroce_ah_put(ah);
	wait_for_completion(&ah->unused);
	mroce_flow_drop(&ah->flow);
give:
	atomic_dec(&dev->ahs);
	return err;
}

/* The core asks where the answer to a management datagram must come from. */
int mroce_query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	struct mroce_ah *ah = to_mah(ib);
	union ib_gid dgid;

	memset(attr, 0, sizeof(*attr));
	memcpy(dgid.raw, &ah->flow.daddr, sizeof(dgid.raw));
	attr->type = ib->type;
	rdma_ah_set_port_num(attr, 1);
	rdma_ah_set_grh(attr, &dgid, 0, ib->sgid_attr->index, ah->flow.hop_limit, ah->flow.tclass);
	return 0;
}

/*
 * A send request has a reference until just before its completion, and a kernel user
 * destroys the handle after that: without leave to sleep there is next to nothing to wait for.
 */
static int wait_unused(struct mroce_ah *ah, u32 flags)
{
	int us;

	if (flags & RDMA_DESTROY_AH_SLEEPABLE) {
		wait_for_completion(&ah->unused);
		return 0;
	}
	for (us = 0; !completion_done(&ah->unused); us++) {
		if (WARN_ONCE(us == 10000, "mroce: address handle destroyed while it is in use\n"))
			return -EBUSY;
		udelay(1);
	}
	return 0;
}

int mroce_destroy_ah(struct ib_ah *ib, u32 flags)
{
	struct mroce_dev *dev = to_mdev(ib->device);
	struct mroce_ah *ah = to_mah(ib);
	int err;

	ah_erase(dev, ah);
	mroce_ah_put(ah);
	err = wait_unused(ah, flags);
	mroce_flow_drop(&ah->flow);
	/* on an error the core leaves it where it is, so that nothing is freed in use */
	if (!err)
		atomic_dec(&dev->ahs);
	return err;
}

struct mroce_ah *mroce_ah_get(struct mroce_dev *dev, struct ib_pd *pd, u32 ahn)
{
	struct mroce_ah *ah;
	unsigned long flags;

	xa_lock_irqsave(&dev->ah_xa, flags);
	ah = xa_load(&dev->ah_xa, ahn);
	if (ah && ah->pd == pd)
		refcount_inc(&ah->refs);
	else
		ah = NULL;
	xa_unlock_irqrestore(&dev->ah_xa, flags);
	return ah;
}

void mroce_ah_put(struct mroce_ah *ah)
{
	if (refcount_dec_and_test(&ah->refs))
		complete(&ah->unused);
}
