/* SPDX-License-Identifier: GPL-2.0 */
/*
 * struct mroce_dev and what every layer of the module shares. Lock order, from the
 * outside in; two locks of one kind are never held together (both ends of a
 * connection may be on one host):
 *
 *   rtnl > mroce_devs_lock (mutex) > qp->mutex > qp->lock > sq->lock > rq->lock, srq->lock
 *        > half->lock > cq->lock
 *
 * All but the mutexes are spinlocks. Those that post_send, post_recv, poll_cq, req_notify_cq
 * and the AH methods reach are taken with interrupts off (rule 38), the rest with bottom halves
 * off; none is held over a transmission, a completion handler or an event.
 */
#ifndef MROCE_H
#define MROCE_H

#include <linux/netdevice.h>
#include <linux/rhashtable.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/mroce-abi.h>

#include "compat.h"
#include "net/net.h"
#include "observe/counters.h"
#include "transport/packet.h"

/* of the module; query_device reports it as the firmware's */
#define MROCE_VERSION_MAJOR	0
#define MROCE_VERSION_MINOR	1
#define MROCE_VERSION_PATCH	0

/* limits that query_device reports; each works, one above is refused at create */
#define MROCE_MAX_QP		65536
#define MROCE_MAX_QP_WR		16384
#define MROCE_MAX_CQ		65536
#define MROCE_MAX_CQE		1048576
#define MROCE_MAX_MR		1048576		/* 24-bit index, 8-bit key */
#define MROCE_MAX_MW		65536		/* keys as those of regions */
#define MROCE_MAX_MR_SIZE	1099511627776ULL	/* bytes: 1 TiB */
#define MROCE_MAX_FRMR_PAGES	1024
#define MROCE_MAX_PD		65536
#define MROCE_MAX_XRCD		65536
#define MROCE_MAX_AH		65536
#define MROCE_MAX_SRQ		65536
#define MROCE_MAX_SRQ_WR	32768
#define MROCE_MAX_RD_ATOMIC	128
#define MROCE_MAX_GROUPS	1024		/* that a device is in at once */
#define MROCE_MAX_MEMBERS	256		/* queue pairs in one, each gets a copy */
#define MROCE_GROUP_HASH_BITS	6
#define MROCE_MAX_MSG		1073741824U	/* bytes: 1 GiB */
#define MROCE_MAX_FLUSH		2147483648U	/* bytes: of a range, as InfiniBand has it */
#define MROCE_GID_TABLE_LEN	256
#define MROCE_PKEY		0xffff
#define MROCE_DEFAULT_PATHS	16
#define MROCE_DEFAULT_BURST	61440		/* bytes: a train */

/**
 * struct mroce_plane - a netdev of a device (planes.c)
 * @ndev: NULL: none; changed under mroce_devs_lock, read under RCU
 * @tracker: of the reference that it holds; slot 0 has the device's
 * @speed: Mb/s; 0: unknown
 * @draining: takes what comes, and sends nothing
 */
struct mroce_plane {
	struct net_device __rcu *ndev;
	netdevice_tracker tracker;
	u32 speed;
	bool draining;
};

/* a plane as it is now, with its address of one family; @ifindex 0: one that is not to be used */
struct mroce_local {
	struct in6_addr addr;
	int ifindex;
	u32 mtu, speed;
	bool up, draining;
};

/**
 * struct mroce_dev - one `rdma link`
 * @ib: the core's
 * @plane: its netdevs, [0] is @ndev; @planes_serial: counts changes of them and of
 *	their addresses; @plane_down: one of them
 *	has no carrier
 * @ndev: netdev of the first plane, held until dealloc_driver; not to be used once @gone
 * @sock: sockets of the netdev's namespace; NULL once @gone
 * @instance: random, new with every link (64-bit incarnation)
 * @gone: the netdev or link is being removed: send nothing, look nothing up. Read under RCU (or
 *	with bottom halves off): whoever saw it false may use @sock and routes until that section
 *	ends
 * @registered: with the core; under rtnl
 * @active: last port state that was reported; under rtnl
 * @speed: of the netdev, Mb/s; 0: unknown
 * @speed_work: asks it again
 * @pds, @xrcds, @cqs, @qps, @srqs, @ahs, @mrs, @mws: counts against the limits
 * @pollers: threads that look at send rings
 * @qp_xa: QPN to struct mroce_qp; lookups under RCU
 * @srq_xa: SRQ number to struct mroce_srq
 * @ah_xa: AH number to struct mroce_ah; its lock is taken with interrupts off
 * @groups: multicast groups (verbs/mcast.c), @ngroups of them
 * @mr_xa: key index (key >> 8) to struct mroce_mr or memory window; lookups under RCU
 * @stream_xa: stream id to struct mroce_qp; lookups under RCU
 * @qpn_next, @mr_next, @stream_next: cyclic allocation from a random start
 * @conns: conn/conn.c's tables of halves
 * @counters: per CPU
 * @node: in main.c's list of devices
 */
struct mroce_dev {
	struct ib_device ib;
	struct mroce_plane plane[MROCE_MAX_PLANES];
	atomic_t planes_serial;
	bool plane_down;
	struct net_device *ndev;
	netdevice_tracker ndev_tracker;
	struct mroce_sock *sock;
	u64 instance;
	bool gone;
	bool registered;
	bool active;
	u32 speed;
	struct work_struct speed_work;

	atomic_t pds, xrcds, cqs, qps, srqs, ahs, mrs, mws;
	atomic_t pollers;
	struct xarray qp_xa, srq_xa, ah_xa, mr_xa, stream_xa;
	u32 qpn_next, srqn_next, ahn_next, mr_next, stream_next;

	struct hlist_head groups[1 << MROCE_GROUP_HASH_BITS];
	atomic_t ngroups;

	struct mroce_conns *conns;
	struct mroce_counters __percpu *counters;
	struct mroce_counters __percpu *bound; /* what of them is of queue pairs with a counter */
	struct xarray counter_xa; /* struct mroce_counters __percpu, by the counter's id */

	/* attributes */
	u8 npaths;		/* paths of a new sending half, 1 to 64 */
	u32 burst;		/* bytes that a path sends at a visit; 1: packet by packet */
	u64 held_limit;		/* bytes of held packets */
	u32 capacity;		/* Mb/s that a plane's netdev passes in truth; 0: its speed */
	atomic64_t held;

	struct list_head node;
};

static inline struct mroce_dev *to_mdev(struct ib_device *ib)
{
	return container_of(ib, struct mroce_dev, ib);
}

static inline void mroce_count(struct mroce_dev *dev, enum mroce_counter c, u64 n)
{
	this_cpu_add(dev->counters->v[c], n);
}

/* One more of a limited object: false if there are @max already. Undone by atomic_dec(). */
static inline bool mroce_take(atomic_t *count, int max)
{
	return atomic_add_unless(count, 1, max);
}

/* main.c: for work that destroy_* waits for, and events; WQ_MEM_RECLAIM, unbound */
extern struct workqueue_struct *mroce_wq;

/* verbs/device.c */

/* Registers a device; NULL, and *@err. Process context, no rtnl. */
struct mroce_dev *mroce_dev_add(const char *name, struct net_device *ndev, __be16 port, int *err);
/*
 * Device whose netdev lives in the namespace of @sock, is not gone and has @addr as a GID. A
 * reference (ib_device_try_get), to be dropped soon with mroce_dev_put(): unregistration waits
 * for it. Under RCU.
 */
struct mroce_dev *mroce_dev_by_addr(struct mroce_sock *sock, const struct in6_addr *addr);
/* the same, or the one that has the packet's netdev as a plane */
struct mroce_dev *mroce_dev_by_arrival(struct mroce_sock *sock, const struct mroce_arrival *from);
void mroce_dev_put(struct mroce_dev *dev);
/* The netdev goes: nothing refers to its routes, sockets or namespace afterwards. Under rtnl. */
void mroce_dev_gone(struct mroce_dev *dev);
/* Carrier, MTU or speed of the netdev may have changed: tell the core. Under rtnl. */
void mroce_dev_port_changed(struct mroce_dev *dev);

/* main.c: the list of devices */

/* the one that has this netdev as a plane; under mroce_devs_lock */
struct mroce_dev *mroce_dev_of_netdev(const struct net_device *ndev);
/* calls @fn for each, under mroce_devs_lock, until it returns other than 0 */
int mroce_devs_each(int (*fn)(struct mroce_dev *dev, void *arg), void *arg);

/* -EEXIST: @ndev has one; -ENODEV: it is being unregistered. Takes rtnl. */
int mroce_devs_add(struct mroce_dev *dev);
/* The device is registered with the core; -ENODEV: its netdev went meanwhile. Takes rtnl. */
int mroce_devs_registered(struct mroce_dev *dev);
void mroce_devs_del(struct mroce_dev *dev);

/* planes.c; see there for locks */

struct mroce_hello;
struct netlink_ext_ack;

/* Can this netdev carry a link or plane? 0, or an error and why not, to follow its name. */
int mroce_netdev_usable(const struct net_device *ndev, const char **why);
static inline bool mroce_netdev_up(const struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev);
}

/* Mb/s, 0 unknown; under rtnl */
u32 mroce_netdev_speed(struct net_device *ndev);
/*
 * Planes that send, with an address of this family; a plane that has none, or is being drained,
 * keeps its place, for peers pair by places. Up to the last that is in use: how many places.
 */
u32 mroce_planes_local(struct mroce_dev *dev, bool v4, struct mroce_local *local);
/* ifindex of the plane that has this address, and its *@slot; 0: none. Under RCU. */
int mroce_plane_by_addr(struct mroce_dev *dev, const struct in6_addr *addr, u8 *slot);
bool mroce_plane_up(struct mroce_dev *dev, int ifindex);
bool mroce_planes_any_up(struct mroce_dev *dev);
bool mroce_planes_all_up(struct mroce_dev *dev);
/* The list of planes in a HELLO from @first, and the payload that all of them pass. */
void mroce_planes_hello(struct mroce_dev *dev, const struct in6_addr *first, unsigned int mtu,
			struct mroce_hello *hello);
int mroce_plane_slot(const struct mroce_dev *dev, const struct net_device *ndev);
/* under rtnl too; @ndev is no plane of any device and in the device's namespace */
int mroce_plane_add(struct mroce_dev *dev, struct net_device *ndev,
		    struct netlink_ext_ack *extack);
void mroce_plane_drain(struct mroce_dev *dev, int slot);
void mroce_plane_del(struct mroce_dev *dev, int slot);
void mroce_planes_free(struct mroce_dev *dev);

/* conn/conn.c, conn/peers.c: a device's connections */

/* Carriers of planes have changed; @announce: their list, which peers are told. Any context. */
void mroce_conns_planes(struct mroce_dev *dev, bool announce);
/* largest payload that any connection has agreed on */
unsigned int mroce_conns_payload(struct mroce_dev *dev);
/* No route of theirs goes by this netdev any more. */
void mroce_conns_plane_gone(struct mroce_dev *dev, int ifindex);

/* of the module; the exits when none is left, its memory included */
int mroce_halves_init(void);
void mroce_halves_exit(void);
int mroce_qps_init(void);	/* verbs/qp.c */
void mroce_qps_exit(void);
int mroce_conns_init(struct mroce_dev *dev);
/* What a plane's netdev passes, Mb/s; 0: not known, so senders are not limited. Any context. */
void mroce_shares_capacity(struct mroce_dev *dev, u8 plane, u32 mbits);
/*
 * Device is gone (RCU waited for): no packet in, none out, every queue pair in error; may be
 * called twice. May be called under rtnl: waits for nothing that takes it.
 */
void mroce_conns_stop(struct mroce_dev *dev);
void mroce_conns_free(struct mroce_dev *dev);

#endif
