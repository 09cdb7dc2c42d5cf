// SPDX-License-Identifier: GPL-2.0
/*
 * The netdevs of a device: its planes. Slot 0 is the netdev that the link was added on, for as
 * long as the device lives; others come and go by command. Slots change under mroce_devs_lock (or
 * when the device is in no list any more), and are read under RCU.
 */
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

#include "conn/conn.h"
#include "observe/netlink.h"

/* ---- what a netdev must be ---- */

int mroce_netdev_usable(const struct net_device *ndev, const char **why)
{
	/* rdma_cm resolves nothing else on every supported kernel (Documentation/) */
	if (ndev->flags & IFF_LOOPBACK) {
		*why = "a loopback netdev cannot carry a link; a host reaches itself over any";
		return -EOPNOTSUPP;
	}
	if (ndev->type != ARPHRD_ETHER || ndev->addr_len != ETH_ALEN) {
		*why = "the netdev is no Ethernet device";
		return -EOPNOTSUPP;
	}
	/* it has no addresses of its own, and what it receives is its master's */
	if (netif_is_lag_port(ndev)) {
		*why = "the netdev belongs to a bond or team; use that";
		return -EBUSY;
	}
	if (netif_is_bridge_port(ndev)) {
		*why = "the netdev belongs to a bridge; use that";
		return -EBUSY;
	}
	return 0;
}

/* ---- reading, under RCU ---- */

/* The address of this family that packets of the plane come from: a global one, the first. */
static bool plane_addr(struct net_device *ndev, bool v4, struct in6_addr *addr)
{
	const struct inet6_dev *in6;
	const struct in_device *in;
	const struct inet6_ifaddr *a6;
	const struct in_ifaddr *a4;

	if (v4) {
		in = __in_dev_get_rcu(ndev);
		if (!in)
			return false;
		in_dev_for_each_ifa_rcu(a4, in) {
			if (a4->ifa_scope >= RT_SCOPE_LINK || a4->ifa_flags & IFA_F_SECONDARY)
				continue;
			ipv6_addr_set_v4mapped(a4->ifa_local, addr);
			return true;
		}
		return false;
	}
	in6 = IS_ENABLED(CONFIG_IPV6) ? __in6_dev_get(ndev) : NULL;
	if (!in6)
		return false;
	list_for_each_entry_rcu(a6, &in6->addr_list, if_list) {
		if (ipv6_addr_type(&a6->addr) & IPV6_ADDR_LINKLOCAL ||
		    a6->flags & (IFA_F_DADFAILED | IFA_F_DEPRECATED | IFA_F_TEMPORARY))
			continue;
		*addr = a6->addr;
		return true;
	}
	return false;
}

u32 mroce_planes_local(struct mroce_dev *dev, bool v4, struct mroce_local *local)
{
	u32 i, n = 0;

	for (i = 0; i < MROCE_MAX_PLANES; i++) {
		struct mroce_plane *p = &dev->plane[i];
		struct net_device *ndev = rcu_dereference(p->ndev);
		struct mroce_local *l = &local[i];

		memset(l, 0, sizeof(*l));
		if (!ndev || (i && READ_ONCE(p->draining)))
			continue;
		/* of the first the address is that of the contact */
		if (i && !plane_addr(ndev, v4, &l->addr))
			continue;
		l->ifindex = ndev->ifindex;
		l->mtu = READ_ONCE(ndev->mtu);
		l->speed = READ_ONCE(dev->capacity) ?: READ_ONCE(p->speed);
		l->up = mroce_netdev_up(ndev);
		l->draining = READ_ONCE(p->draining);
		n = i + 1;
	}
	return n;
}

int mroce_plane_by_addr(struct mroce_dev *dev, const struct in6_addr *addr, u8 *slot)
{
	struct in6_addr own;
	u32 i;

	for (i = 0; i < MROCE_MAX_PLANES; i++) {
		struct net_device *ndev = rcu_dereference(dev->plane[i].ndev);

		if (ndev && plane_addr(ndev, mroce_addr_v4(addr), &own) &&
		    ipv6_addr_equal(&own, addr)) {
			*slot = i;
			return ndev->ifindex;
		}
	}
	return 0;
}

bool mroce_plane_up(struct mroce_dev *dev, int ifindex)
{
	u32 i;

	for (i = 0; i < MROCE_MAX_PLANES; i++) {
		struct net_device *ndev = rcu_dereference(dev->plane[i].ndev);

		if (ndev && ndev->ifindex == ifindex)
			return mroce_netdev_up(ndev);
	}
	return false;
}

/* how many planes have a carrier, and how many there are */
static u32 count_up(struct mroce_dev *dev, u32 *all)
{
	u32 i, up = 0;

	*all = 0;
	rcu_read_lock();
	for (i = 0; i < MROCE_MAX_PLANES; i++) {
		struct net_device *ndev = rcu_dereference(dev->plane[i].ndev);

		*all += !!ndev;
		up += ndev && mroce_netdev_up(ndev);
	}
	rcu_read_unlock();
	return up;
}

bool mroce_planes_any_up(struct mroce_dev *dev)
{
	u32 all;

	return count_up(dev, &all);
}

bool mroce_planes_all_up(struct mroce_dev *dev)
{
	u32 all;

	return count_up(dev, &all) == all;
}

void mroce_planes_hello(struct mroce_dev *dev, const struct in6_addr *first, unsigned int mtu,
			struct mroce_hello *hello)
{
	struct mroce_local local[MROCE_MAX_PLANES];
	u32 i, n;

	rcu_read_lock();
	n = mroce_planes_local(dev, mroce_addr_v4(first), local);
	rcu_read_unlock();
	hello->serial = atomic_read(&dev->planes_serial);
	hello->nplanes = max(n, 1U);
	hello->max_payload = mroce_payload_of_mtu(mtu);
	memset(hello->plane, 0, sizeof(hello->plane));
	for (i = 0; i < n; i++) {
		unsigned int m = i ? local[i].mtu : mtu;

		if (i && !local[i].ifindex)
			continue;
		memcpy(hello->plane[i].addr, i ? &local[i].addr : first,
		       sizeof(hello->plane[i].addr));
		hello->plane[i].mtu = m < U16_MAX ? m : 0;
		hello->plane[i].speed = local[i].speed;
		/* the smallest plane decides: a packet's number does not depend on its path */
		hello->max_payload = min(hello->max_payload, mroce_payload_of_mtu(m));
	}
	if (!n)
		memcpy(hello->plane[0].addr, first, sizeof(hello->plane[0].addr));
}

/* ---- changing; mroce_devs_lock ---- */

int mroce_plane_slot(const struct mroce_dev *dev, const struct net_device *ndev)
{
	u32 i;

	for (i = 0; i < MROCE_MAX_PLANES; i++)
		if (rcu_access_pointer(dev->plane[i].ndev) == ndev)
			return i;
	return -1;
}

static void changed(struct mroce_dev *dev)
{
	atomic_inc(&dev->planes_serial);
	mroce_conns_planes(dev, true);
	/* capacity, carrier, and whether there is a way out at all */
	mroce_dev_port_changed(dev);
}

int mroce_plane_add(struct mroce_dev *dev, struct net_device *ndev, struct netlink_ext_ack *extack)
{
	unsigned int payload = mroce_payload_of_mtu(ndev->mtu);
	const char *why = NULL;
	u32 slot;
	int err;

	err = mroce_netdev_usable(ndev, &why);
	if (err) {
		if (extack)
			extack->_msg = why;
		return err;
	}
	if (!payload || payload < mroce_conns_payload(dev)) {
		NL_SET_ERR_MSG_MOD(extack, "the netdev's MTU is below what was agreed with peers");
		return -EMSGSIZE;
	}
	for (slot = 1; slot < MROCE_MAX_PLANES; slot++)
		if (!rcu_access_pointer(dev->plane[slot].ndev))
			break;
	if (slot == MROCE_MAX_PLANES) {
		NL_SET_ERR_MSG_MOD(extack, "the device has as many planes as it can");
		return -ENOSPC;
	}
	netdev_hold(ndev, &dev->plane[slot].tracker, GFP_KERNEL);
	dev->plane[slot].draining = false;
	dev->plane[slot].speed = mroce_netdev_speed(ndev);
	rcu_assign_pointer(dev->plane[slot].ndev, ndev);
	mroce_nl_plane(dev, ndev, slot, MROCE_PLANE_ADDED);
	changed(dev);
	return 0;
}

void mroce_plane_drain(struct mroce_dev *dev, int slot)
{
	struct net_device *ndev = rcu_dereference_protected(dev->plane[slot].ndev, 1);

	if (dev->plane[slot].draining)
		return;
	WRITE_ONCE(dev->plane[slot].draining, true);
	mroce_nl_plane(dev, ndev, slot, MROCE_PLANE_DRAINING);
	changed(dev);
}

/* Nothing refers to the netdev afterwards. */
void mroce_plane_del(struct mroce_dev *dev, int slot)
{
	struct mroce_plane *p = &dev->plane[slot];
	struct net_device *ndev = rcu_dereference_protected(p->ndev, 1);

	RCU_INIT_POINTER(p->ndev, NULL);
	/* whoever read the slot has looked its routes up */
	synchronize_net();
	mroce_conns_plane_gone(dev, ndev->ifindex);
	mroce_nl_plane(dev, ndev, slot, MROCE_PLANE_REMOVED);
	netdev_put(ndev, &p->tracker);
	changed(dev);
}

void mroce_planes_free(struct mroce_dev *dev)
{
	u32 i;

	for (i = 1; i < MROCE_MAX_PLANES; i++) {
		struct mroce_plane *p = &dev->plane[i];
		struct net_device *ndev = rcu_dereference_protected(p->ndev, 1);

		if (!ndev)
			continue;
		RCU_INIT_POINTER(p->ndev, NULL);
		synchronize_net();
		netdev_put(ndev, &p->tracker);
	}
}
