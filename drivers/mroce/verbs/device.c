// SPDX-License-Identifier: GPL-2.0
/*
 * The device: its table of operations, its birth and its end, what it says of itself
 * and of its port, and its GIDs. Process context, but for mroce_dev_by_addr() (RCU).
 *
 * Its end comes in two steps, for its netdev cannot wait for programs: mroce_dev_gone(),
 * under rtnl, lets go of all that the netdev or its namespace has; dealloc_driver, after the
 * last Verbs object went, of the rest. `rdma link delete` does both in the second.
 */
#include <linux/ethtool.h>
#include <linux/pci.h>
#include <linux/hash.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>
#include <rdma/uverbs_ioctl.h>

#include "../observe/trace.h"
#include "objects.h"

#define MROCE_PORT_NUM	1

/* ---- GIDs: which device has an address ---- */

/**
 * struct mroce_gid - one entry of a device's GID table
 * @node: in @mroce_gids, by @addr
 * @dev: whose
 * @addr: IPv6, or IPv4 mapped into it
 * @rcu: frees it
 */
struct mroce_gid {
	struct hlist_node node;
	struct mroce_dev *dev;
	struct in6_addr addr;
	struct rcu_head rcu;
};

#define MROCE_GID_HASH_BITS	8

static struct hlist_head mroce_gids[1 << MROCE_GID_HASH_BITS];
static DEFINE_SPINLOCK(mroce_gids_lock);

static struct hlist_head *gid_bucket(const struct in6_addr *addr)
{
	return &mroce_gids[hash_32(ipv6_addr_hash(addr), MROCE_GID_HASH_BITS)];
}

static int mroce_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct mroce_gid *gid;

	gid = kzalloc(sizeof(*gid), GFP_KERNEL);
	if (!gid)
		return -ENOMEM;

	gid->dev = to_mdev(attr->device);
	memcpy(&gid->addr, attr->gid.raw, sizeof(gid->addr));
	*context = gid;

	spin_lock_bh(&mroce_gids_lock);
	hlist_add_head_rcu(&gid->node, gid_bucket(&gid->addr));
	spin_unlock_bh(&mroce_gids_lock);
	return 0;
}

static int mroce_del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct mroce_gid *gid = *context;

	if (!gid)
		return 0;

	spin_lock_bh(&mroce_gids_lock);
	hlist_del_rcu(&gid->node);
	spin_unlock_bh(&mroce_gids_lock);
	*context = NULL;
	kfree_rcu(gid, rcu);
	return 0;
}

struct mroce_dev *mroce_dev_by_addr(struct mroce_sock *sock, const struct in6_addr *addr)
{
	struct mroce_gid *gid;

	hlist_for_each_entry_rcu(gid, gid_bucket(addr), node) {
		struct mroce_dev *dev = gid->dev;

		if (ipv6_addr_equal(&gid->addr, addr) && READ_ONCE(dev->sock) == sock &&
		    !READ_ONCE(dev->gone) && ib_device_try_get(&dev->ib))
			return dev;
	}
	return NULL;
}

void mroce_dev_put(struct mroce_dev *dev)
{
	ib_device_put(&dev->ib);
}

/* ---- what it says of itself ---- */

static int mroce_query_device(struct ib_device *ib, struct ib_device_attr *attr,
			      struct ib_udata *udata)
{
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;

	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = (u64)MROCE_VERSION_MAJOR << 32 | MROCE_VERSION_MINOR << 16 |
		       MROCE_VERSION_PATCH;
	/* of no vendor: programs and rdma-core's tests take 0 for an answer that is missing */
	attr->vendor_id = 0xffffff;
	attr->sys_image_guid = ib->node_guid;
	attr->max_mr_size = MROCE_MAX_MR_SIZE;
	attr->page_size_cap = ~(u64)(PAGE_SIZE - 1);
	attr->max_qp = MROCE_MAX_QP;
	attr->max_qp_wr = MROCE_MAX_QP_WR;
	attr->device_cap_flags = IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_SRQ_RESIZE | IB_DEVICE_XRC |
				 IB_DEVICE_MEM_MGT_EXTENSIONS | IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B | MROCE_PLACEMENT_CAPS;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG;
	attr->max_send_sge = MROCE_MAX_SGE;
	attr->max_recv_sge = MROCE_MAX_SGE;
	attr->max_sge_rd = MROCE_MAX_SGE;
	attr->max_cq = MROCE_MAX_CQ;
	attr->max_cqe = MROCE_MAX_CQE;
	attr->max_mr = MROCE_MAX_MR;
	attr->max_mw = MROCE_MAX_MW;
	attr->max_pd = MROCE_MAX_PD;
	attr->max_qp_rd_atom = MROCE_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = MROCE_MAX_RD_ATOMIC * MROCE_MAX_QP;
	attr->max_qp_init_rd_atom = MROCE_MAX_RD_ATOMIC;
	attr->atomic_cap = IB_ATOMIC_HCA;
	attr->max_ah = MROCE_MAX_AH;
	attr->max_srq = MROCE_MAX_SRQ;
	attr->max_srq_wr = MROCE_MAX_SRQ_WR;
	attr->max_srq_sge = MROCE_MAX_SGE;
	attr->max_fast_reg_page_list_len = MROCE_MAX_FRMR_PAGES;
	attr->max_mcast_grp = MROCE_MAX_GROUPS;
	attr->max_mcast_qp_attach = MROCE_MAX_MEMBERS;
	attr->max_total_mcast_qp_attach = MROCE_MAX_GROUPS * MROCE_MAX_MEMBERS;
	attr->max_pkeys = 1;
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;
	/* 4.096 us << 5: longer than a receiver keeps an ACK back */
	attr->local_ca_ack_delay = 5;
	return 0;
}

static void mroce_get_dev_fw_str(struct ib_device *ib, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%d.%d.%d", MROCE_VERSION_MAJOR,
		 MROCE_VERSION_MINOR, MROCE_VERSION_PATCH);
}

/* an InfiniBand width and speed for a rate of Ethernet: the largest that is not above it */
static void port_rate(u32 mbps, struct ib_port_attr *attr)
{
	static const struct {
		u32 mbps;
		u16 speed;
		u8 width;
	} rates[] = {
		{ 800000, IB_SPEED_NDR,		IB_WIDTH_8X },
		{ 400000, IB_SPEED_NDR,		IB_WIDTH_4X },
		{ 200000, IB_SPEED_HDR,		IB_WIDTH_4X },
		{ 100000, IB_SPEED_EDR,		IB_WIDTH_4X },
		{  50000, IB_SPEED_HDR,		IB_WIDTH_1X },
		{  40000, IB_SPEED_FDR10,	IB_WIDTH_4X },
		{  25000, IB_SPEED_EDR,		IB_WIDTH_1X },
		{  20000, IB_SPEED_DDR,		IB_WIDTH_4X },
		{  10000, IB_SPEED_FDR10,	IB_WIDTH_1X },
	};
	int i;

	attr->active_speed = IB_SPEED_SDR;
	attr->active_width = IB_WIDTH_1X;
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		if (mbps < rates[i].mbps)
			continue;
		attr->active_speed = rates[i].speed;
		attr->active_width = rates[i].width;
		break;
	}
}

/* as long as there is a way out */
static bool port_active(struct mroce_dev *dev)
{
	return !READ_ONCE(dev->gone) && mroce_planes_any_up(dev);
}

/* The caller zeroed @attr; subnet prefix and GIDs are the core's. */
static int mroce_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	struct mroce_dev *dev = to_mdev(ib);
	int mtu;

	if (port != MROCE_PORT_NUM)
		return -EINVAL;

	if (port_active(dev)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else {
		attr->state = IB_PORT_DOWN;
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	}
	/* the classes that InfiniBand knows; packets are cut to what their path passes */
	mtu = iboe_get_mtu(READ_ONCE(dev->ndev->mtu));
	attr->active_mtu = mtu ?: IB_MTU_256;
	attr->max_mtu = IB_MTU_4096;
	attr->phys_mtu = ib_mtu_enum_to_int(attr->max_mtu);
	attr->gid_tbl_len = MROCE_GID_TABLE_LEN;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = MROCE_MAX_MSG;
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;
	port_rate(READ_ONCE(dev->speed), attr);
	return 0;
}

static int mroce_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	if (port != MROCE_PORT_NUM || index)
		return -EINVAL;
	*pkey = MROCE_PKEY;
	return 0;
}

static enum rdma_link_layer mroce_get_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int mroce_get_port_immutable(struct ib_device *ib, u32 port,
				    struct ib_port_immutable *immutable)
{
	struct ib_port_attr attr;
	int err;

	/* before ib_query_port(), which asks for them */
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	err = ib_query_port(ib, port, &attr);
	if (err)
		return err;

	immutable->pkey_tbl_len = attr.pkey_tbl_len;
	immutable->gid_tbl_len = attr.gid_tbl_len;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

/*
 * With this the core keeps no reference of its own and sends no port events for the
 * netdev (ib_device_set_netdev()): those are ours, which know of planes and of being gone.
 */
static struct net_device *mroce_get_netdev(struct ib_device *ib, u32 port)
{
	struct mroce_dev *dev = to_mdev(ib);
	struct net_device *ndev = NULL;

	rcu_read_lock();
	if (port == MROCE_PORT_NUM && !READ_ONCE(dev->gone)) {
		ndev = dev->ndev;
		dev_hold(ndev);
	}
	rcu_read_unlock();
	return ndev;
}

/* ---- counters ---- */

/* all but the reason "none" */
#define MROCE_STATS	(MROCE_CNT_MAX - 1)

/* in the order of enum mroce_counter */
#define X(sym, text, meaning) { .name = text },
static const struct rdma_stat_desc mroce_stat_descs[MROCE_CNT_MAX] = {
	MROCE_REASONS(X)
	MROCE_COUNTERS(X)
};

#undef X

struct rdma_hw_stats *mroce_alloc_hw_port_stats(struct ib_device *ib, u32 port)
{
	return rdma_alloc_hw_stats_struct(mroce_stat_descs + 1, MROCE_STATS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int mroce_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port,
			      int index)
{
	int i;

	if (port != MROCE_PORT_NUM)
		return -EINVAL;

	for (i = 0; i < MROCE_STATS; i++)
		stats->value[i] = mroce_counter_unbound(to_mdev(ib), i + 1);
	return MROCE_STATS;
}

/* what there is of one is in counter.c, by its id */
static void __maybe_unused mroce_counter_init(struct rdma_counter *counter)
{
}

struct mroce_rdma_counter {
	struct rdma_counter ib;
};

/* ---- port events ---- */

static void port_event(struct mroce_dev *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ib,
		.element.port_num = MROCE_PORT_NUM,
		.event = type,
	};

	trace_mroce_device(dev_name(&dev->ib.dev), netdev_name(dev->ndev),
			   type == IB_EVENT_PORT_ACTIVE ? "port active" : "port down");
	ib_dispatch_event(&event);
}

u32 mroce_netdev_speed(struct net_device *ndev)
{
	struct ethtool_link_ksettings settings = {};

	ASSERT_RTNL();
	if (__ethtool_get_link_ksettings(ndev, &settings) ||
	    settings.base.speed == (u32)SPEED_UNKNOWN)
		return 0;
	return settings.base.speed;
}

/* Not in the notifier: since 7.0 that may run with the lock that ethtool takes. */
static void query_speed(struct work_struct *work)
{
	struct mroce_dev *dev = container_of(work, struct mroce_dev, speed_work);
	struct net_device *ndev;
	u32 i, speed, capacity;

	rtnl_lock();
	for (i = 0; i < MROCE_MAX_PLANES && !dev->gone; i++) {
		ndev = rtnl_dereference(dev->plane[i].ndev);
		speed = ndev ? mroce_netdev_speed(ndev) : 0;
		WRITE_ONCE(dev->plane[i].speed, speed);
		/* virtual devices tell a speed that means nothing */
		capacity = READ_ONCE(dev->capacity);
		if (!capacity && ndev && ndev->dev.parent && dev_is_pci(ndev->dev.parent))
			capacity = speed;
		mroce_shares_capacity(dev, i, capacity);
	}
	WRITE_ONCE(dev->speed, dev->plane[0].speed);
	rtnl_unlock();
}

void mroce_dev_port_changed(struct mroce_dev *dev)
{
	bool active;

	ASSERT_RTNL();
	if (dev->gone || !dev->registered)
		return;

	schedule_work(&dev->speed_work);
	WRITE_ONCE(dev->plane_down, !mroce_planes_all_up(dev));
	mroce_conns_planes(dev, false);
	active = port_active(dev);
	if (active == dev->active)
		return;
	dev->active = active;
	if (ib_device_try_get(&dev->ib)) {
		port_event(dev, active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
		ib_device_put(&dev->ib);
	}
}

/* ---- birth and end ---- */

/* Routes of address handles: the connections let go of theirs themselves. */
static void drop_ah_routes(struct mroce_dev *dev)
{
	struct mroce_ah *ah;
	unsigned long index, flags;

	xa_lock_irqsave(&dev->ah_xa, flags);
	xa_for_each(&dev->ah_xa, index, ah)
		mroce_flow_drop(&ah->flow);
	xa_unlock_irqrestore(&dev->ah_xa, flags);
}

static void dev_stop(struct mroce_dev *dev)
{
	struct mroce_sock *sock = dev->sock;

	if (!dev->gone) {
		WRITE_ONCE(dev->gone, true);
		trace_mroce_device(dev_name(&dev->ib.dev), netdev_name(dev->ndev), "gone");
	}
	/* whoever saw it alive is done with its routes and its socket */
	synchronize_net();

	/* first, so that what is outstanding is flushed and not said to have timed out */
	mroce_qps_error(dev, NULL, MROCE_REASON_ERR_FLUSHED);
	if (dev->conns)
		mroce_conns_stop(dev);
	drop_ah_routes(dev);

	mroce_planes_free(dev);
	WRITE_ONCE(dev->sock, NULL);
	if (sock) {
		synchronize_net();
		mroce_sock_put(sock);
	}
}

void mroce_dev_gone(struct mroce_dev *dev)
{
	ASSERT_RTNL();
	/* the core repeats NETDEV_UNREGISTER while it waits for references */
	if (!dev->gone)
		dev_stop(dev);
}

/* Of a device that was registered, or of one that mroce_dev_add() gives up. */
static void mroce_dealloc_driver(struct ib_device *ib)
{
	struct mroce_dev *dev = to_mdev(ib);

	/* from here on no netdev event finds it */
	mroce_devs_del(dev);
	cancel_work_sync(&dev->speed_work);
	if (!dev->gone)
		dev_stop(dev);
	if (dev->conns)
		mroce_conns_free(dev);

	xa_destroy(&dev->qp_xa);
	xa_destroy(&dev->srq_xa);
	xa_destroy(&dev->ah_xa);
	xa_destroy(&dev->mr_xa);
	xa_destroy(&dev->stream_xa);
	free_percpu(dev->counters);
	free_percpu(dev->bound);
	xa_destroy(&dev->counter_xa);
	netdev_put(dev->ndev, &dev->ndev_tracker);
}

/*
 * That it is there lets the core take the device away under a program. Nothing of ours is in the
 * program's VMAs (rule 41).
 */
static void mroce_disassociate_ucontext(struct ib_ucontext *ib)
{
}

static const struct ib_device_ops mroce_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)MROCE_DRIVER_ID,
	.uverbs_abi_ver = MROCE_UVERBS_ABI,

	.add_gid = mroce_add_gid,
	.alloc_hw_port_stats = mroce_alloc_hw_port_stats,
	.alloc_mr = mroce_alloc_mr,
	.alloc_mw = mroce_alloc_mw,
	.alloc_pd = mroce_alloc_pd,
	.alloc_ucontext = mroce_alloc_ucontext,
	.alloc_xrcd = mroce_alloc_xrcd,
	.counter_alloc_stats = mroce_counter_alloc_stats,
	.counter_bind_qp = mroce_counter_bind_qp,
	.counter_dealloc = mroce_counter_dealloc,
	.counter_unbind_qp = mroce_counter_unbind_qp,
	.counter_update_stats = mroce_counter_update_stats,
	.create_ah = mroce_create_ah,
	.create_cq = mroce_op_create_cq(mroce_create_cq, mroce_create_cq_attrs),
	.create_srq = mroce_create_srq,
	.create_user_ah = mroce_create_ah,
	.dealloc_driver = mroce_dealloc_driver,
	.dealloc_mw = mroce_dealloc_mw,
	.dealloc_pd = mroce_dealloc_pd,
	.dealloc_ucontext = mroce_dealloc_ucontext,
	.dealloc_xrcd = mroce_dealloc_xrcd,
	.del_gid = mroce_del_gid,
	.dereg_mr = mroce_dereg_mr,
	.destroy_ah = mroce_destroy_ah,
	.destroy_cq = mroce_destroy_cq,
	.destroy_srq = mroce_destroy_srq,
	.disassociate_ucontext = mroce_disassociate_ucontext,
	.get_dev_fw_str = mroce_get_dev_fw_str,
	.get_dma_mr = mroce_get_dma_mr,
	.get_hw_stats = mroce_get_hw_stats,
	.get_link_layer = mroce_get_link_layer,
	.get_netdev = mroce_get_netdev,
	.get_port_immutable = mroce_get_port_immutable,
	.map_mr_sg = mroce_map_mr_sg,
	.mmap = mroce_mmap,
	.mmap_free = mroce_mmap_free,
	.modify_cq = mroce_modify_cq,
	.modify_srq = mroce_modify_srq,
	.mroce_op_resize_cq = mroce_resize_cq,
	.poll_cq = mroce_poll_cq,
	.post_srq_recv = mroce_post_srq_recv,
	.process_mad = mroce_process_mad,
	.query_ah = mroce_query_ah,
	.query_device = mroce_query_device,
	.query_pkey = mroce_query_pkey,
	.query_port = mroce_query_port,
	.query_srq = mroce_query_srq,
	.reg_user_mr = mroce_reg_user_mr,
	.reg_user_mr_dmabuf = mroce_op_reg_dmabuf(mroce_reg_dmabuf_udata, mroce_reg_dmabuf_attrs),
	.req_notify_cq = mroce_req_notify_cq,
	.rereg_user_mr = mroce_rereg_user_mr,

	MROCE_COUNTER_OPS(mroce_counter_init, mroce_rdma_counter, ib)
	INIT_RDMA_OBJ_SIZE(ib_ah, mroce_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, mroce_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_mw, mroce_mw, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, mroce_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, mroce_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, mroce_ucontext, ib),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, mroce_xrcd, ib),
};

static const struct uapi_definition mroce_uapi[] = {
	UAPI_DEF_CHAIN(mroce_qp_uapi),
	UAPI_DEF_CHAIN(mroce_srq_uapi),
	UAPI_DEF_CHAIN(mroce_tune_uapi),
	{},
};

static void dev_init(struct mroce_dev *dev, struct net_device *ndev)
{
	struct sysinfo si;

	INIT_LIST_HEAD(&dev->node);
	INIT_WORK(&dev->speed_work, query_speed);
	/* programs fill them, and pay for them */
	xa_init_flags(&dev->qp_xa, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->srq_xa, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->ah_xa, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->mr_xa, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->stream_xa, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->counter_xa, XA_FLAGS_ALLOC1);
	dev->qpn_next = get_random_u32() & 0xffffff;
	dev->srqn_next = get_random_u32() & 0xffffff;
	dev->ahn_next = get_random_u32();
	dev->mr_next = get_random_u32() & 0xffffff;
	dev->stream_next = get_random_u32();
	do {
		dev->instance = get_random_u64();
	} while (!dev->instance);

	si_meminfo(&si);
	dev->held_limit = ((u64)si.totalram * si.mem_unit) >> 6;
	dev->npaths = MROCE_DEFAULT_PATHS;
	dev->burst = MROCE_DEFAULT_BURST;

	dev->ib.node_type = RDMA_NODE_IB_CA;
	dev->ib.phys_port_cnt = 1;
	dev->ib.num_comp_vectors = num_possible_cpus();
	strscpy(dev->ib.node_desc, "mroce", sizeof(dev->ib.node_desc));
	/* the one call of the data path that is the core's own; the rest needs none */
	dev->ib.uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	addrconf_addr_eui48((u8 *)&dev->ib.node_guid, ndev->dev_addr);
	if (IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS))
		dev->ib.driver_def = mroce_uapi;
}

struct mroce_dev *mroce_dev_add(const char *name, struct net_device *ndev, __be16 port, int *err)
{
	struct mroce_dev *dev;
	struct net *net;

	/* it may move to another, which mroce_devs_add() finds out */
	rtnl_lock();
	net = get_net(dev_net(ndev));
	rtnl_unlock();
	dev = mroce_ib_alloc_device(mroce_dev, ib, net);
	if (!dev) {
		put_net(net);
		*err = -ENOMEM;
		return NULL;
	}
	ib_mark_name_assigned_by_user(&dev->ib);
	dev->ndev = ndev;
	netdev_hold(ndev, &dev->ndev_tracker, GFP_KERNEL);
	RCU_INIT_POINTER(dev->plane[0].ndev, ndev);
	dev_init(dev, ndev);
	/* from here on ib_dealloc_device() undoes, by dealloc_driver */
	ib_set_device_ops(&dev->ib, &mroce_dev_ops);
	ib_set_device_ops(&dev->ib, &mroce_qp_ops);

	*err = -ENOMEM;
	dev->counters = alloc_percpu(struct mroce_counters);
	dev->bound = alloc_percpu(struct mroce_counters);
	if (dev->counters && dev->bound)
		dev->sock = mroce_sock_get(net, port);
	put_net(net);
	if (!dev->counters || !dev->bound)
		goto dealloc;
	if (IS_ERR(dev->sock)) {
		*err = PTR_ERR(dev->sock);
		dev->sock = NULL;
		goto dealloc;
	}

	*err = mroce_conns_init(dev);
	if (*err)
		goto dealloc;

	query_speed(&dev->speed_work);
	*err = mroce_devs_add(dev);
	if (*err)
		goto dealloc;

	/* from its registration on anybody may delete the link, and with it the device */
	get_device(&dev->ib.dev);
	*err = ib_register_device(&dev->ib, name, NULL);
	/* its word for a name that is taken */
	if (*err == -ENFILE)
		*err = -EEXIST;
	if (*err) {
		put_device(&dev->ib.dev);
		goto dealloc;
	}

	*err = mroce_devs_registered(dev);
	if (*err)
		/* without effect if it is so already */
		ib_unregister_device(&dev->ib);
	else
		trace_mroce_device(name, netdev_name(ndev), "added");
	put_device(&dev->ib.dev);
	return *err ? NULL : dev;

dealloc:
	ib_dealloc_device(&dev->ib);
	return NULL;
}
