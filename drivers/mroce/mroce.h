/* SPDX-License-Identifier: GPL-2.0 */
/*
 * struct mroce_dev and what every layer of the module shares. Lock order, from the
 * outside in; two locks of one kind are never held together (both ends of a
 * connection may be on one host):
 *
 *   dev->links (mutex) > qp->mutex > sq->lock > rq->lock, srq->lock > half->lock > cq->lock
 *
 * All but the mutexes are spinlocks taken with interrupts off (rule 38), and none is held
 * over a transmission, a completion handler or an event.
 */
#ifndef MROCE_H
#define MROCE_H

#include <linux/netdevice.h>
#include <linux/rhashtable.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/mroce-abi.h>

#include "compat.h"
#include "net/net.h"
#include "observe/counters.h"
#include "transport/packet.h"

/* limits that query_device reports; each works, one above is refused at create */
#define MROCE_MAX_QP		65536
#define MROCE_MAX_QP_WR		16384
#define MROCE_MAX_CQ		65536
#define MROCE_MAX_CQE		(1 << 20)
#define MROCE_MAX_MR		(1 << 20)	/* 24-bit index, 8-bit key */
#define MROCE_MAX_MR_SIZE	(1ULL << 40)
#define MROCE_MAX_FRMR_PAGES	1024
#define MROCE_MAX_PD		65536
#define MROCE_MAX_AH		65536
#define MROCE_MAX_SRQ		65536
#define MROCE_MAX_SRQ_WR	32768
#define MROCE_MAX_RD_ATOMIC	128
#define MROCE_MAX_MSG		(1U << 30)
#define MROCE_GID_TABLE_LEN	256
#define MROCE_PKEY		0xffff
#define MROCE_DEFAULT_PATHS	16

/**
 * struct mroce_dev - one `rdma link`
 * @ib: the core's
 * @ndev: netdev of the first plane, held until dealloc_driver. NULL once the device is gone.
 * @sock: sockets of the netdev's namespace
 * @instance: random, new with every link (64-bit incarnation)
 * @gone: the netdev or link is being removed: send nothing, look nothing up
 * @pds, @cqs, @qps, @srqs, @ahs: counts against the limits
 * @qp_xa: QPN to struct mroce_qp; lookups under RCU
 * @srq_xa: SRQ number to struct mroce_srq
 * @ah_xa: AH number to struct mroce_ah
 * @mr_xa: key index (key >> 8) to struct mroce_mr or memory window; lookups under RCU
 * @stream_xa: stream id to struct mroce_qp; lookups under RCU
 * @qpn_next, @mr_next, @stream_next: cyclic allocation from a random start
 * @conns: conn/conn.c's tables of halves
 * @counters: per CPU
 */
struct mroce_dev {
	struct ib_device ib;
	struct net_device *ndev;
	netdevice_tracker ndev_tracker;
	struct mroce_sock *sock;
	u64 instance;
	bool gone;

	atomic_t pds, cqs, qps, srqs, ahs;
	struct xarray qp_xa, srq_xa, ah_xa, mr_xa, stream_xa;
	u32 qpn_next, srqn_next, ahn_next, mr_next, stream_next;

	struct mroce_conns *conns;
	struct mroce_counters __percpu *counters;

	/* attributes */
	u8 npaths;		/* paths of a new sending half, 1 to 64 */
	u32 burst;		/* bytes that a path sends at a visit; 1: packet by packet */
	u64 held_limit;		/* bytes of held packets */
	atomic64_t held;
};

static inline struct mroce_dev *to_mdev(struct ib_device *ib)
{
	return container_of(ib, struct mroce_dev, ib);
}

/* verbs/device.c */
struct mroce_dev *mroce_dev_add(const char *name, struct net_device *ndev, __be16 port, int *err);
/* device whose netdev lives in @net, is not gone and has @addr as a GID; a reference (ib_device_try_get), drop with mroce_dev_put(). RCU. */
struct mroce_dev *mroce_dev_by_addr(struct mroce_sock *sock, const struct in6_addr *addr);
void mroce_dev_put(struct mroce_dev *dev);

/* conn/conn.c: a device's connections */
int mroce_conns_init(struct mroce_dev *dev);
/* device is gone (RCU waited for): no packet in, none out, every queue pair in error; may be called twice */
void mroce_conns_stop(struct mroce_dev *dev);
void mroce_conns_free(struct mroce_dev *dev);

#endif
