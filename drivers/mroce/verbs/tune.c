// SPDX-License-Identifier: GPL-2.0
/*
 * What a program may ask and choose of the connection of its queue pair, beyond Verbs: two methods
 * of the core's queue pair object (mroce-abi.h). Process context; the first part also for netlink.
 */
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "qp.h"
#include "objects.h"

#define UVERBS_MODULE_NAME mroce_qp_tune
#include <rdma/uverbs_named_ioctl.h>

#define PATH_INFO_SIZE sizeof(struct mroce_path_info)
#define TUNE_STREAM                                                                    \
	(MROCE_TUNE_BURST | MROCE_TUNE_PLANES | MROCE_TUNE_PATHS | MROCE_TUNE_WEIGHT)
#define TUNE_ALL (TUNE_STREAM | MROCE_TUNE_POLL)

void mroce_qp_tune_default(struct mroce_qp *qp)
{
	qp->tuning = (struct mroce_qp_tuning){
		.mask = TUNE_ALL,
		.planes = U8_MAX,
		.weight = 1,
		/* no matter of the connection */
		.poll = qp->tuning.poll,
	};
}

void mroce_qp_tune_streams(struct mroce_qp *qp)
{
	const struct mroce_qp_tuning *t = &qp->tuning;

	lockdep_assert_held(&qp->lock);
	mroce_txs_tune(&qp->req, t->planes, t->paths, t->weight, t->burst);
	mroce_txs_tune(&qp->resp, t->planes, t->paths, t->weight, t->burst);
}

int mroce_qp_info(struct mroce_qp *qp, struct mroce_qp_info *info, struct mroce_txhalf **half)
{
	struct mroce_txhalf *h;

	memset(info, 0, sizeof(*info));
	spin_lock_bh(&qp->lock);
	h = qp->txh;
	if (!h) {
		spin_unlock_bh(&qp->lock);
		return -ENOTCONN;
	}
	info->qpn = qp->ib->qp_num;
	info->peer_qpn = qp->attr.dest_qp_num;
	info->tuning = qp->tuning;
	memcpy(info->local, &qp->saddr, sizeof(info->local));
	memcpy(info->peer, &qp->daddr, sizeof(info->peer));
	spin_lock(&h->lock);
	info->connection = h->tx.hello.half;
	info->connection_state = h->tx.state;
	info->npaths = h->tx.npaths;
	info->backlog = qp->req.backlog + qp->resp.backlog;
	info->messages = qp->req.msn_end - qp->req.msn_una;
	info->inflight = qp->req.out + qp->resp.out;
	info->state = qp->req.state;
	if (qp->req.paused)
		info->pause = qp->req.pause_reason;
	spin_unlock(&h->lock);
	if (half)
		*half = mroce_txhalf_hold(h);
	spin_unlock_bh(&qp->lock);
	return 0;
}

static struct mroce_qp *qp_of(struct uverbs_attr_bundle *attrs, u16 handle)
{
	struct ib_qp *ib = uverbs_attr_get_obj(attrs, handle);

	return to_mqp(ib->real_qp ?: ib);
}

/* ---- asking ---- */

static void path_info(struct mroce_txhalf *h, u32 i, struct mroce_path_info *info)
{
	const struct mroce_txpath *p = &h->tx.path[i];
	const struct mroce_pair *pair = &h->pair[p->plane];

	lockdep_assert_held(&h->lock);
	*info = (struct mroce_path_info){
		.bytes = p->bytes,
		.lost = p->lost,
		.packets = p->packets,
		.marked = p->ce,
		.srtt = p->srtt,
		.cwnd = p->cwnd,
		.inflight = p->inflight,
		.ifindex = pair->ifindex,
		.port = ntohs(h->flow[i].sport),
		.payload = p->size,
		.path = i,
		.slot = h->tx.plane[p->plane].slot,
		.state = p->state,
		.epoch = p->epoch,
	};
	memcpy(info->local, &pair->saddr, sizeof(info->local));
	memcpy(info->peer, &pair->daddr, sizeof(info->peer));
}

/* As many of the paths as the program has room for. */
static int copy_paths(struct uverbs_attr_bundle *attrs, struct mroce_txhalf *h)
{
	int room = uverbs_attr_get_len(attrs, MROCE_ATTR_QP_QUERY_PATHS), err;
	struct mroce_path_info *paths;
	u32 i, n;

	if (room < 0)
		return room;
	n = min_t(u32, room / sizeof(*paths), MROCE_MAX_PATHS);
	paths = kcalloc(n, sizeof(*paths), GFP_KERNEL);
	if (!paths)
		return -ENOMEM;
	spin_lock_bh(&h->lock);
	n = min_t(u32, n, h->tx.npaths);
	for (i = 0; i < n; i++)
		path_info(h, i, &paths[i]);
	spin_unlock_bh(&h->lock);
	err = uverbs_copy_to(attrs, MROCE_ATTR_QP_QUERY_PATHS, paths, n * sizeof(*paths));
	kfree(paths);
	return err;
}

static int UVERBS_HANDLER(MROCE_METHOD_QP_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct mroce_qp *qp = qp_of(attrs, MROCE_ATTR_QP_QUERY_HANDLE);
	struct mroce_qp_info info;
	struct mroce_txhalf *h;
	int err;

	err = mroce_qp_info(qp, &info, &h);
	if (err)
		return err;
	if (uverbs_attr_is_valid(attrs, MROCE_ATTR_QP_QUERY_PATHS))
		err = copy_paths(attrs, h);
	mroce_txhalf_put(h);
	return err ?: uverbs_copy_to_struct_or_zero(attrs, MROCE_ATTR_QP_QUERY_INFO, &info,
						    sizeof(info));
}

/* ---- choosing ---- */

static int check(const struct mroce_qp_tuning *t)
{
	if (t->mask & ~TUNE_ALL)
		return -EOPNOTSUPP;
	if (t->reserved || t->reserved2 ||
	    (t->mask & MROCE_TUNE_BURST && t->burst > MROCE_DEFAULT_BURST) ||
	    (t->mask & MROCE_TUNE_PLANES && !t->planes) ||
	    (t->mask & MROCE_TUNE_PATHS && t->paths > MROCE_MAX_PATHS) ||
	    (t->mask & MROCE_TUNE_POLL && t->poll > MROCE_TUNE_POLL_MAX) ||
	    (t->mask & MROCE_TUNE_WEIGHT && (!t->weight || t->weight > MROCE_TUNE_WEIGHT_MAX)))
		return -EINVAL;
	return 0;
}

static int UVERBS_HANDLER(MROCE_METHOD_QP_TUNE)(struct uverbs_attr_bundle *attrs)
{
	struct mroce_qp *qp = qp_of(attrs, MROCE_ATTR_QP_TUNE_HANDLE);
	struct mroce_qp_tuning t, *to = &qp->tuning;
	struct mroce_txhalf *h;
	int err;

	err = uverbs_copy_from(&t, attrs, MROCE_ATTR_QP_TUNE_TUNING);
	if (err)
		return err;
	if (!mroce_qp_is_rc(qp) && t.mask & TUNE_STREAM)
		return -EOPNOTSUPP;
	err = check(&t);
	if (err)
		return err;
	if (t.mask & MROCE_TUNE_POLL) {
		mutex_lock(mroce_qp_mutex(qp));
		err = mroce_qp_poll(qp, t.poll);
		mutex_unlock(mroce_qp_mutex(qp));
		if (err)
			return err;
	}
	spin_lock_bh(&qp->lock);
	if (t.mask & MROCE_TUNE_POLL)
		to->poll = t.poll;
	if (t.mask & MROCE_TUNE_BURST)
		to->burst = t.burst;
	if (t.mask & MROCE_TUNE_PLANES)
		to->planes = t.planes;
	if (t.mask & MROCE_TUNE_PATHS)
		to->paths = t.paths;
	if (t.mask & MROCE_TUNE_WEIGHT)
		to->weight = t.weight;
	h = qp->txh;
	if (h) {
		spin_lock(&h->lock);
		mroce_qp_tune_streams(qp);
		spin_unlock(&h->lock);
		mroce_txhalf_hold(h);
	}
	spin_unlock_bh(&qp->lock);
	/* what had no room by its choice may have some by another */
	if (h) {
		mroce_xmit(h);
		mroce_txhalf_put(h);
	}
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(MROCE_METHOD_QP_QUERY,
			    UVERBS_ATTR_IDR(MROCE_ATTR_QP_QUERY_HANDLE, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MROCE_ATTR_QP_QUERY_INFO,
						UVERBS_ATTR_STRUCT(struct mroce_qp_info, peer),
						UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MROCE_ATTR_QP_QUERY_PATHS,
						UVERBS_ATTR_MIN_SIZE(PATH_INFO_SIZE),
						UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD(MROCE_METHOD_QP_TUNE,
			    UVERBS_ATTR_IDR(MROCE_ATTR_QP_TUNE_HANDLE, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MROCE_ATTR_QP_TUNE_TUNING,
					       UVERBS_ATTR_TYPE(struct mroce_qp_tuning),
					       UA_MANDATORY));

ADD_UVERBS_METHODS(mroce_qp_tuning, UVERBS_OBJECT_QP, &UVERBS_METHOD(MROCE_METHOD_QP_QUERY),
		   &UVERBS_METHOD(MROCE_METHOD_QP_TUNE));

const struct uapi_definition mroce_tune_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &mroce_qp_tuning),
	{}
};
