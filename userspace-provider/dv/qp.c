// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Asking and choosing: two methods of the module's own on the queue pair, called by the ioctl of rdma's character device, so
 * that no private interface of libibverbs is needed.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/mroce-abi.h>

#include "mroce_dv.h"

#define MAX_PATHS	64

/* a method of a queue pair: its handle, and up to two buffers */
struct command {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[3];
};

static void begin(struct command *c, struct ibv_qp *qp, uint16_t method, uint16_t handle)
{
	memset(c, 0, sizeof(*c));
	c->hdr.object_id = UVERBS_OBJECT_QP;
	c->hdr.method_id = method;
	c->hdr.driver_id = MROCE_DRIVER_ID;
	c->hdr.num_attrs = 1;
	c->attr[0].attr_id = handle;
	c->attr[0].flags = UVERBS_ATTR_F_MANDATORY;
	c->attr[0].data = qp->handle;
}

static void add(struct command *c, uint16_t id, const void *buffer, uint16_t size)
{
	struct ib_uverbs_attr *a = &c->attr[c->hdr.num_attrs++];

	a->attr_id = id;
	a->flags = UVERBS_ATTR_F_MANDATORY;
	a->len = size;
	a->data = (uintptr_t)buffer;
}

static int execute(struct command *c, struct ibv_qp *qp)
{
	c->hdr.length = offsetof(struct command, attr) + c->hdr.num_attrs * sizeof(c->attr[0]);
	if (!ioctl(qp->context->cmd_fd, RDMA_VERBS_IOCTL, &c->hdr))
		return 0;
	/* the module is older than the method */
	return errno == EPROTONOSUPPORT ? EOPNOTSUPP : errno;
}

/* what the program knows of a structure; what it has beyond ours is zero */
static void give(void *to, uint32_t size, const void *from, size_t have)
{
	memset(to, 0, size);
	memcpy(to, from, size < have ? size : have);
}

int mroce_dv_query_qp(struct ibv_qp *qp, struct mroce_dv_qp_attr *attr, uint32_t size)
{
	struct mroce_qp_info info;
	struct mroce_dv_qp_attr out;
	struct command c;
	int err;

	begin(&c, qp, MROCE_METHOD_QP_QUERY, MROCE_ATTR_QP_QUERY_HANDLE);
	add(&c, MROCE_ATTR_QP_QUERY_INFO, &info, sizeof(info));
	err = execute(&c, qp);
	if (err)
		return err;
	out = (struct mroce_dv_qp_attr){
		.connection = info.connection,
		.backlog = info.backlog,
		.peer_qpn = info.peer_qpn,
		.messages = info.messages,
		.inflight = info.inflight,
		.num_paths = info.npaths,
		.stream_state = info.state,
		.pause = info.pause,
		.tuning = {
			.burst = info.tuning.burst,
			.planes = info.tuning.planes,
			.paths = info.tuning.paths,
			.weight = info.tuning.weight,
			.poll = info.tuning.poll,
		},
	};
	memcpy(out.local, info.local, sizeof(out.local));
	memcpy(out.peer, info.peer, sizeof(out.peer));
	give(attr, size, &out, sizeof(out));
	return 0;
}

static struct mroce_dv_path_attr path_attr(const struct mroce_path_info *p)
{
	struct mroce_dv_path_attr out = {
		.bytes = p->bytes,
		.lost = p->lost,
		.packets = p->packets,
		.marked = p->marked,
		.rtt_ns = p->srtt,
		.cwnd = p->cwnd,
		.inflight = p->inflight,
		.ifindex = p->ifindex,
		.port = p->port,
		.payload = p->payload,
		.path = p->path,
		.plane = p->slot,
		.state = p->state,
		.epoch = p->epoch,
	};

	memcpy(out.local, p->local, sizeof(out.local));
	memcpy(out.peer, p->peer, sizeof(out.peer));
	return out;
}

int mroce_dv_query_paths(struct ibv_qp *qp, struct mroce_dv_path_attr *paths, uint32_t *num, uint32_t size)
{
	struct mroce_path_info *list;
	struct mroce_qp_info info;
	struct command c;
	uint32_t i;
	int err;

	list = calloc(MAX_PATHS, sizeof(*list));
	if (!list)
		return ENOMEM;
	begin(&c, qp, MROCE_METHOD_QP_QUERY, MROCE_ATTR_QP_QUERY_HANDLE);
	add(&c, MROCE_ATTR_QP_QUERY_INFO, &info, sizeof(info));
	add(&c, MROCE_ATTR_QP_QUERY_PATHS, list, MAX_PATHS * sizeof(*list));
	err = execute(&c, qp);
	for (i = 0; !err && i < info.npaths && i < *num && i < MAX_PATHS; i++) {
		struct mroce_dv_path_attr one = path_attr(&list[i]);

		give((char *)paths + (size_t)i * size, size, &one, sizeof(one));
	}
	if (!err)
		*num = info.npaths;
	free(list);
	return err;
}

int mroce_dv_modify_qp(struct ibv_qp *qp, const struct mroce_dv_tuning *tuning, uint32_t mask, uint32_t size)
{
	struct mroce_dv_tuning in;
	struct mroce_qp_tuning t = { 0 };
	struct command c;

	give(&in, sizeof(in), tuning, size);
	t.mask = mask;
	t.burst = in.burst;
	t.planes = in.planes;
	t.paths = in.paths;
	t.weight = in.weight;
	t.poll = in.poll;
	begin(&c, qp, MROCE_METHOD_QP_TUNE, MROCE_ATTR_QP_TUNE_HANDLE);
	add(&c, MROCE_ATTR_QP_TUNE_TUNING, &t, sizeof(t));
	return execute(&c, qp);
}
