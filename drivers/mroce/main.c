// SPDX-License-Identifier: GPL-2.0
/*
 * The module: what it registers and in which order, `rdma link add` and `rdma link
 * delete`, and what happens to the netdevs below. The list of devices is under
 * mroce_devs_lock, which is taken inside rtnl. Process context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/rdma_netlink.h>

#include "observe/netlink.h"
#include "mroce.h"
#include <mroce/wire.h>

static ushort port = MROCE_PORT;
module_param(port, ushort, 0644);
MODULE_PARM_DESC(port, "UDP port of links added from now on; the same on both hosts (default 19791)");

struct workqueue_struct *mroce_wq;

static LIST_HEAD(mroce_devs);
static DEFINE_MUTEX(mroce_devs_lock);

/* ---- the list of devices ---- */

static struct mroce_dev *dev_of(const struct net_device *ndev)
{
	struct mroce_dev *dev;

	lockdep_assert_held(&mroce_devs_lock);
	list_for_each_entry(dev, &mroce_devs, node)
		if (mroce_plane_slot(dev, ndev) >= 0)
			return dev;
	return NULL;
}

struct mroce_dev *mroce_dev_of_netdev(const struct net_device *ndev)
{
	return dev_of(ndev);
}

int mroce_devs_each(int (*fn)(struct mroce_dev *dev, void *arg), void *arg)
{
	struct mroce_dev *dev;
	int err = 0;

	mutex_lock(&mroce_devs_lock);
	list_for_each_entry(dev, &mroce_devs, node) {
		err = fn(dev, arg);
		if (err)
			break;
	}
	mutex_unlock(&mroce_devs_lock);
	return err;
}

struct mroce_dev *mroce_dev_by_arrival(struct mroce_sock *sock, const struct mroce_arrival *from)
{
	struct mroce_dev *dev = mroce_dev_by_addr(sock, &from->daddr);
	/* addresses of the first plane are GIDs, but groups are not */
	u32 first = mroce_addr_group(&from->daddr) ? 0 : 1;

	if (dev)
		return dev;
	list_for_each_entry_rcu(dev, &mroce_devs, node) {
		struct net_device *ndev;
		u32 i;

		if (READ_ONCE(dev->sock) != sock || READ_ONCE(dev->gone))
			continue;
		for (i = first; i < MROCE_MAX_PLANES; i++) {
			ndev = rcu_dereference(dev->plane[i].ndev);
			if (ndev && ndev->ifindex == from->ifindex && ib_device_try_get(&dev->ib))
				return dev;
		}
	}
	return NULL;
}

int mroce_devs_add(struct mroce_dev *dev)
{
	int err = 0;

	rtnl_lock();
	mutex_lock(&mroce_devs_lock);
	if (dev_of(dev->ndev))
		err = -EEXIST;
	else if (dev->ndev->reg_state != NETREG_REGISTERED ||
		 !net_eq(dev_net(dev->ndev), mroce_sock_net(dev->sock)))
		err = -ENODEV;
	else
		list_add_tail_rcu(&dev->node, &mroce_devs);
	mutex_unlock(&mroce_devs_lock);
	rtnl_unlock();
	return err;
}

int mroce_devs_registered(struct mroce_dev *dev)
{
	int err = 0;

	rtnl_lock();
	/* one that is being deleted left the list first, and waits for what is scheduled after */
	mutex_lock(&mroce_devs_lock);
	if (dev->gone || list_empty(&dev->node)) {
		err = -ENODEV;
	} else {
		dev->registered = true;
		/* what happened while nobody could be told */
		mroce_dev_port_changed(dev);
	}
	mutex_unlock(&mroce_devs_lock);
	rtnl_unlock();
	return err;
}

void mroce_devs_del(struct mroce_dev *dev)
{
	mutex_lock(&mroce_devs_lock);
	if (!list_empty(&dev->node))
		list_del_rcu(&dev->node);
	mutex_unlock(&mroce_devs_lock);
	synchronize_rcu();
	/* whoever found it in the list meanwhile is done, and sees that it has left */
	mutex_lock(&mroce_devs_lock);
	INIT_LIST_HEAD(&dev->node);
	mutex_unlock(&mroce_devs_lock);
}

/* ---- netdevs ---- */

static int mroce_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	struct mroce_dev *dev;

	switch (event) {
	case NETDEV_UNREGISTER:
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
		break;
	default:
		return NOTIFY_DONE;
	}

	/* held throughout: the device is not freed before it left the list */
	mutex_lock(&mroce_devs_lock);
	dev = dev_of(ndev);
	if (!dev)
		goto unlock;

	if (event != NETDEV_UNREGISTER) {
		mroce_dev_port_changed(dev);
		goto unlock;
	}

	if (ndev != dev->ndev) {
		mroce_plane_del(dev, mroce_plane_slot(dev, ndev));
		goto unlock;
	}
	mroce_dev_gone(dev);
	/* not registered yet: whoever is doing that will see that it is gone */
	if (dev->registered && ib_device_try_get(&dev->ib)) {
		ib_unregister_device_queued(&dev->ib);
		ib_device_put(&dev->ib);
	}
unlock:
	mutex_unlock(&mroce_devs_lock);
	return NOTIFY_DONE;
}

static struct notifier_block mroce_netdev_nb = {
	.notifier_call = mroce_netdev_event,
};

/* A plane's address came or went: it is named to the peers, or another one. Any context. */
static int addr_changed(struct net_device *ndev)
{
	struct mroce_dev *dev;
	u32 i;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &mroce_devs, node)
		for (i = 1; i < MROCE_MAX_PLANES && !READ_ONCE(dev->gone); i++)
			if (rcu_access_pointer(dev->plane[i].ndev) == ndev) {
				atomic_inc(&dev->planes_serial);
				mroce_conns_planes(dev, true);
			}
	rcu_read_unlock();
	return NOTIFY_DONE;
}

static int mroce_inet_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	return addr_changed(((struct in_ifaddr *)ptr)->ifa_dev->dev);
}

static int mroce_inet6_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	return addr_changed(((struct inet6_ifaddr *)ptr)->idev->dev);
}

static struct notifier_block mroce_inet_nb = {
	.notifier_call = mroce_inet_event,
};

static struct notifier_block mroce_inet6_nb = {
	.notifier_call = mroce_inet6_event,
};

/* ---- rdma link ---- */

static int mroce_newlink(const char *name, struct net_device *ndev)
{
	ushort udp_port = READ_ONCE(port);
	const char *why = NULL;
	int err;

	/* newlink has no other way to say why not */
	err = mroce_netdev_usable(ndev, &why);
	if (err) {
		pr_warn("%s: %s\n", netdev_name(ndev), why);
		return err;
	}
	if (!udp_port) {
		pr_warn("%s: module parameter port is 0\n", netdev_name(ndev));
		return -EINVAL;
	}
	if (!mroce_dev_add(name, ndev, htons(udp_port), &err)) {
		if (err == -EEXIST)
			pr_warn("%s: the name, or %s, is in use\n", name, netdev_name(ndev));
		else
			pr_warn("%s: no link on %s: error %d\n", name, netdev_name(ndev), err);
		return err;
	}
	return 0;
}

static struct rdma_link_ops mroce_link_ops = {
	.type = "mroce",
	.newlink = mroce_newlink,
};

static int __init mroce_init(void)
{
	int err;

	mroce_wq = alloc_workqueue("mroce", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!mroce_wq)
		return -ENOMEM;

	err = mroce_halves_init();
	if (err)
		goto destroy_wq;
	err = mroce_qps_init();
	if (err)
		goto exit_halves;
	err = mroce_net_init();
	if (err)
		goto exit_qps;

	err = register_netdevice_notifier(&mroce_netdev_nb);
	if (err)
		goto exit_net;

	err = register_inetaddr_notifier(&mroce_inet_nb);
	if (err)
		goto unregister_netdev;
	err = register_inet6addr_notifier(&mroce_inet6_nb);
	if (err)
		goto unregister_inet;
	err = mroce_nl_init();
	if (err)
		goto unregister_inet6;

	rdma_link_register(&mroce_link_ops);
	return 0;

unregister_inet6:
	unregister_inet6addr_notifier(&mroce_inet6_nb);
unregister_inet:
	unregister_inetaddr_notifier(&mroce_inet_nb);
unregister_netdev:
	unregister_netdevice_notifier(&mroce_netdev_nb);
exit_net:
	mroce_net_exit();
exit_qps:
	mroce_qps_exit();
exit_halves:
	mroce_halves_exit();
destroy_wq:
	destroy_workqueue(mroce_wq);
	return err;
}

/* no new links; every device, with its sockets and connections; only then the stack's hooks */
static void __exit mroce_exit(void)
{
	rdma_link_unregister(&mroce_link_ops);
	ib_unregister_driver((enum rdma_driver_id)MROCE_DRIVER_ID);
	mroce_nl_exit();
	unregister_inet6addr_notifier(&mroce_inet6_nb);
	unregister_inetaddr_notifier(&mroce_inet_nb);
	unregister_netdevice_notifier(&mroce_netdev_nb);
	mroce_net_exit();
	synchronize_net();
	destroy_workqueue(mroce_wq);
	/* functions of ours that call_rcu() has yet to call */
	rcu_barrier();
	mroce_qps_exit();
	mroce_halves_exit();
}

module_init(mroce_init);
module_exit(mroce_exit);

MODULE_DESCRIPTION("MetaRoCE: RDMA over lossy, multipath Ethernet");
MODULE_AUTHOR("The mroce authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(__stringify(MROCE_VERSION_MAJOR) "." __stringify(MROCE_VERSION_MINOR) "."
	       __stringify(MROCE_VERSION_PATCH));
MODULE_ALIAS_RDMA_LINK("mroce");
