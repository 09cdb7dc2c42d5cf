// SPDX-License-Identifier: GPL-2.0
/*
 * The module: what it registers and in which order, `rdma link add` and `rdma link
 * delete`, and what happens to the netdevs below. The list of devices is under
 * mroce_devs_lock, which is taken inside rtnl. Process context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

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
		if (dev->ndev == ndev)
			return dev;
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
		list_add_tail(&dev->node, &mroce_devs);
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
	list_del_init(&dev->node);
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

/* ---- rdma link ---- */

/* Can this netdev carry a link? Says why not: newlink has no other way to. */
static int netdev_usable(const struct net_device *ndev)
{
	/* rdma_cm resolves nothing else on every supported kernel (Documentation/) */
	if (ndev->flags & IFF_LOOPBACK) {
		pr_warn("%s: a loopback device cannot carry a link; traffic of a host to itself works over any other\n",
			netdev_name(ndev));
		return -EOPNOTSUPP;
	}
	if (ndev->type != ARPHRD_ETHER || ndev->addr_len != ETH_ALEN) {
		pr_warn("%s: is no Ethernet device (type %u)\n", netdev_name(ndev), ndev->type);
		return -EOPNOTSUPP;
	}
	/* it has no addresses of its own, and what it receives is its master's */
	if (netif_is_lag_port(ndev) || netif_is_bridge_port(ndev)) {
		pr_warn("%s: belongs to a %s; add the link on that\n", netdev_name(ndev),
			netif_is_lag_port(ndev) ? "bond or team" : "bridge");
		return -EBUSY;
	}
	return 0;
}

static int mroce_newlink(const char *name, struct net_device *ndev)
{
	ushort udp_port = READ_ONCE(port);
	int err;

	err = netdev_usable(ndev);
	if (err)
		return err;
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

	err = mroce_net_init();
	if (err)
		goto destroy_wq;

	err = register_netdevice_notifier(&mroce_netdev_nb);
	if (err)
		goto exit_net;

	rdma_link_register(&mroce_link_ops);
	return 0;

exit_net:
	mroce_net_exit();
destroy_wq:
	destroy_workqueue(mroce_wq);
	return err;
}

/* no new links; every device, with its sockets and connections; only then the stack's hooks */
static void __exit mroce_exit(void)
{
	rdma_link_unregister(&mroce_link_ops);
	ib_unregister_driver((enum rdma_driver_id)MROCE_DRIVER_ID);
	unregister_netdevice_notifier(&mroce_netdev_nb);
	mroce_net_exit();
	synchronize_net();
	destroy_workqueue(mroce_wq);
	/* functions of ours that call_rcu() has yet to call */
	rcu_barrier();
}

module_init(mroce_init);
module_exit(mroce_exit);

MODULE_DESCRIPTION("MetaRoCE: RDMA over lossy, multipath Ethernet");
MODULE_AUTHOR("The mroce authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(__stringify(MROCE_VERSION_MAJOR) "." __stringify(MROCE_VERSION_MINOR) "."
	       __stringify(MROCE_VERSION_PATCH));
MODULE_ALIAS_RDMA_LINK("mroce");
