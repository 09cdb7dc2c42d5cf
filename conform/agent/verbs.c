// SPDX-License-Identifier: GPL-2.0
/* The agent over Verbs: mroce-conform-agent [-l ...] DEVICE ADDRESS, the address being one of the device's GIDs. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <mroce/wire.h>

#include "agent.h"

enum {
	CQ_DEPTH = 4096,
	QKEY = 0x11111111,
	FLUSH_RIGHTS = 3 << 8
}; /* of IBV_ACCESS_*, newer than some libraries */

static struct ibv_context *device;
static struct ibv_pd *pd;
static int gid_index[2] = {-1, -1}; /* of IPv6, IPv4 */
static unsigned int rights = ~0U; /* that kernel and library know */
static char caps[128] = "verbs rc uc ud srq mcast gsi";

static struct {
	struct ibv_mr *mr;
	uint8_t *memory;
	unsigned int size;
} mrs[OBJECTS];
static struct {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_ah *ah[8];
	unsigned int ahs;
} qps[OBJECTS];
static struct ibv_srq *srqs[OBJECTS];

static bool is_v2(const char *device_name, int index)
{
	char path[256], type[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gid_attrs/types/%d",
		 device_name, index);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(type, sizeof(type), f))
		*type = 0;
	fclose(f);
	return strstr(type, "v2");
}

static int find_gids(const char *device_name)
{
	union ibv_gid g;
	int i;

	for (i = 0; i < 256 && !ibv_query_gid(device, 1, i, &g); i++) {
		int four = !memcmp(g.raw, "\0\0\0\0\0\0\0\0\0\0\377\377", 12);

		/* of each address there are two, the other a name for the same; link-local ones are not to speak from here */
		if (gid_index[four] < 0 && g.raw[0] != 0xfe && is_v2(device_name, i))
			gid_index[four] = i;
	}
	return gid_index[0] < 0 && gid_index[1] < 0;
}

static int of_family(const uint8_t gid[16], int *index)
{
	*index = gid_index[!memcmp(gid, "\0\0\0\0\0\0\0\0\0\0\377\377", 12)];
	return *index < 0 ? EADDRNOTAVAIL : 0;
}

int backend_open(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **d;
	uint8_t gid[16] = {[10] = 0xff, [11] = 0xff};

	if (argc < 1) {
		fprintf(stderr, "usage: mroce-conform-agent [-l ADDRESS] [-p PORT] [-1] DEVICE "
				"[ADDRESS]\n");
		return 1;
	}
	for (d = list; d && *d && strcmp(ibv_get_device_name(*d), argv[0]); d++)
		;
	device = d && *d ? ibv_open_device(*d) : NULL;
	pd = device ? ibv_alloc_pd(device) : NULL;
	if (!pd || find_gids(argv[0])) {
		fprintf(stderr, "mroce-conform-agent: no device %s, or it has no address\n",
			argv[0]);
		return 1;
	}
	/* which of several addresses is the one that the suite speaks to */
	if (argc > 1 && (inet_pton(AF_INET6, argv[1], gid) == 1 ||
			 inet_pton(AF_INET, argv[1], gid + 12) == 1)) {
		union ibv_gid g;
		int i;

		for (i = 0; i < 256 && !ibv_query_gid(device, 1, i, &g); i++)
			if (!memcmp(g.raw, gid, 16) && is_v2(argv[0], i)) {
				gid_index[!memcmp(gid, "\0\0\0\0\0\0\0\0\0\0\377\377", 12)] = i;
				break;
			}
	}
	return 0;
}

const char *backend_caps(void)
{
	unsigned int mr;
	uint64_t addr;
	uint32_t rkey;

	if (rights == ~0U) {
		if (!backend_mr(4096, 1 << 8, &mr, &addr, &rkey) && !backend_dereg(mr))
			strcat(caps, " flush");
		else
			rights = ~(unsigned int)FLUSH_RIGHTS;
	}
	return caps;
}

void backend_wait(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
}

void backend_clear(void)
{
	unsigned int i;

	for (i = 0; i < OBJECTS; i++)
		backend_drop(i);
	for (i = 0; i < OBJECTS; i++)
		if (srqs[i]) {
			ibv_destroy_srq(srqs[i]);
			srqs[i] = NULL;
		}
	for (i = 0; i < OBJECTS; i++)
		backend_dereg(i);
}

int backend_mr(unsigned int size, unsigned int access, unsigned int *mr, uint64_t *addr,
	       uint32_t *rkey)
{
	unsigned int i;

	for (i = 0; i < OBJECTS && mrs[i].mr; i++)
		;
	if (i == OBJECTS)
		return ENOMEM;
	mrs[i].memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	if (!mrs[i].memory)
		return ENOMEM;
	memset(mrs[i].memory, 0, size);
	mrs[i].mr = ibv_reg_mr(pd, mrs[i].memory, size, (access & rights) | IBV_ACCESS_LOCAL_WRITE);
	if (!mrs[i].mr) {
		free(mrs[i].memory);
		return errno;
	}
	mrs[i].size = size;
	*mr = i;
	*addr = (uintptr_t)mrs[i].memory;
	*rkey = mrs[i].mr->rkey;
	return 0;
}

int backend_dereg(unsigned int mr)
{
	int e;

	if (mr >= OBJECTS || !mrs[mr].mr)
		return EINVAL;
	e = ibv_dereg_mr(mrs[mr].mr);
	if (e)
		return e;
	free(mrs[mr].memory);
	mrs[mr].mr = NULL;
	return 0;
}

uint8_t *backend_memory(unsigned int mr, unsigned int offset, unsigned int length)
{
	if (mr >= OBJECTS || !mrs[mr].mr || offset > mrs[mr].size || length > mrs[mr].size - offset)
		return NULL;
	return mrs[mr].memory + offset;
}

int backend_srq(unsigned int depth, unsigned int *srq)
{
	struct ibv_srq_init_attr a = {.attr = {.max_wr = depth, .max_sge = 1}};
	unsigned int i;

	for (i = 0; i < OBJECTS && srqs[i]; i++)
		;
	if (i == OBJECTS)
		return ENOMEM;
	srqs[i] = ibv_create_srq(pd, &a);
	*srq = i;
	return srqs[i] ? 0 : errno;
}

int backend_qp(const char *type, unsigned int access, unsigned int sends, unsigned int receives,
	       int srq, unsigned int *qp, uint32_t *qpn)
{
	struct ibv_qp_init_attr init = {
		.qp_type = !strcmp(type, "rc")	 ? IBV_QPT_RC
			   : !strcmp(type, "uc") ? IBV_QPT_UC
						 : IBV_QPT_UD,
		.cap = {.max_send_wr = sends,
			.max_recv_wr = srq >= 0 ? 0 : receives,
			.max_send_sge = 1,
			.max_recv_sge = srq >= 0 ? 0 : 1},
		.srq = srq >= 0 && srq < OBJECTS ? srqs[srq] : NULL,
	};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qkey = QKEY,
				.qp_access_flags = access & rights};
	unsigned int i;

	for (i = 0; i < OBJECTS && qps[i].qp; i++)
		;
	if (i == OBJECTS)
		return ENOMEM;
	qps[i].cq = ibv_create_cq(device, CQ_DEPTH, NULL, NULL, 0);
	if (!qps[i].cq)
		return errno;
	init.send_cq = init.recv_cq = qps[i].cq;
	qps[i].qp = ibv_create_qp(pd, &init);
	if (!qps[i].qp) {
		int e = errno;

		ibv_destroy_cq(qps[i].cq);
		return e;
	}
	qps[i].ahs = 0;
	*qp = i;
	*qpn = qps[i].qp->qp_num;
	return ibv_modify_qp(
		qps[i].qp, &a,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(init.qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

static struct ibv_qp *known(unsigned int qp)
{
	return qp < OBJECTS ? qps[qp].qp : NULL;
}

int backend_rtr(unsigned int qp, const struct agent_connect *c)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = c->mtu,
		.dest_qp_num = c->qpn,
		.rq_psn = c->rq_psn,
		.max_dest_rd_atomic = c->reads,
		.min_rnr_timer = c->rnr_timer,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.hop_limit = c->hops, .traffic_class = c->traffic_class}},
	};
	int index, e = of_family(c->gid, &index);

	if (!known(qp))
		return EINVAL;
	if (qps[qp].qp->qp_type == IBV_QPT_UD)
		return ibv_modify_qp(qps[qp].qp, &a, IBV_QP_STATE);
	if (e)
		return e;
	a.ah_attr.grh.sgid_index = index;
	memcpy(a.ah_attr.grh.dgid.raw, c->gid, 16);
	return ibv_modify_qp(qps[qp].qp, &a,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN |
				     (qps[qp].qp->qp_type == IBV_QPT_RC
					      ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER
					      : 0));
}

int backend_rts(unsigned int qp, const struct agent_connect *c)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = c->sq_psn,
		.timeout = c->timeout,
		.retry_cnt = c->retry,
		.rnr_retry = c->rnr_retry,
		.max_rd_atomic = c->reads,
	};

	if (!known(qp))
		return EINVAL;
	return ibv_modify_qp(qps[qp].qp, &a,
			     IBV_QP_STATE | IBV_QP_SQ_PSN |
				     (qps[qp].qp->qp_type == IBV_QPT_RC
					      ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
							IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
					      : 0));
}

int backend_state(unsigned int qp, unsigned int *state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	int e;

	if (!known(qp))
		return EINVAL;
	e = ibv_query_qp(qps[qp].qp, &a, IBV_QP_STATE, &init);
	*state = a.qp_state;
	return e;
}

int backend_modify(unsigned int qp, unsigned int state)
{
	struct ibv_qp_attr a = {.qp_state = state};

	return known(qp) ? ibv_modify_qp(qps[qp].qp, &a, IBV_QP_STATE) : EINVAL;
}

int backend_drop(unsigned int qp)
{
	int e;

	if (!known(qp))
		return EINVAL;
	e = ibv_destroy_qp(qps[qp].qp);
	if (e)
		return e;
	while (qps[qp].ahs)
		ibv_destroy_ah(qps[qp].ah[--qps[qp].ahs]);
	ibv_destroy_cq(qps[qp].cq);
	qps[qp].qp = NULL;
	return 0;
}

int backend_receive(int qp, int srq, uint64_t id, unsigned int mr, unsigned int offset,
		    unsigned int length)
{
	struct ibv_sge s = {(uintptr_t)backend_memory(mr, offset, length), length, 0};
	struct ibv_recv_wr w = {.wr_id = id, .sg_list = &s, .num_sge = 1}, *bad;

	if (!s.addr)
		return EINVAL;
	s.lkey = mrs[mr].mr->lkey;
	if (srq >= 0)
		return srq < OBJECTS && srqs[srq] ? ibv_post_srq_recv(srqs[srq], &w, &bad) : EINVAL;
	return qp >= 0 && known(qp) ? ibv_post_recv(qps[qp].qp, &w, &bad) : EINVAL;
}

/* An address handle lives as long as its queue pair */
static int address(unsigned int qp, const struct agent_work *w, struct ibv_send_wr *wr)
{
	struct ibv_ah_attr a = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}};
	int index, e = of_family(w->gid, &index);

	if (e)
		return e;
	if (qps[qp].ahs == 8)
		return ENOMEM;
	a.grh.sgid_index = index;
	memcpy(a.grh.dgid.raw, w->gid, 16);
	wr->wr.ud.ah = ibv_create_ah(pd, &a);
	if (!wr->wr.ud.ah)
		return errno;
	qps[qp].ah[qps[qp].ahs++] = wr->wr.ud.ah;
	wr->wr.ud.remote_qpn = w->qpn;
	wr->wr.ud.remote_qkey = w->qkey;
	return 0;
}

int backend_send(unsigned int qp, const struct agent_work *w)
{
	static const int opcode[12] = {
		[MROCE_OP_SEND] = IBV_WR_SEND,
		[MROCE_OP_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
		[MROCE_OP_SEND_INV] = IBV_WR_SEND_WITH_INV,
		[MROCE_OP_WRITE] = IBV_WR_RDMA_WRITE,
		[MROCE_OP_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[MROCE_OP_READ] = IBV_WR_RDMA_READ,
		[MROCE_OP_CMP_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
		[MROCE_OP_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_sge s = {(uintptr_t)backend_memory(w->mr, w->offset, w->length), w->length, 0};
	struct ibv_send_wr wr =
				   {
					   .wr_id = w->id,
					   .sg_list = &s,
					   .num_sge = w->length ? 1 : 0,
					   .send_flags =
						   (w->flags & WORK_SIGNALLED ? IBV_SEND_SIGNALED
									      : 0) |
						   (w->flags & WORK_SOLICITED ? IBV_SEND_SOLICITED
									      : 0) |
						   (w->flags & WORK_FENCE ? IBV_SEND_FENCE : 0),
				   },
			   *bad;

	if (!known(qp) || !s.addr || w->opcode > MROCE_OP_FETCH_ADD)
		return EINVAL;
	s.lkey = mrs[w->mr].mr->lkey;
	wr.opcode = opcode[w->opcode];
	if (w->opcode == MROCE_OP_SEND_INV)
		wr.invalidate_rkey = w->imm;
	else
		wr.imm_data = htobe32(w->imm);
	if (qps[qp].qp->qp_type == IBV_QPT_UD) {
		int e = address(qp, w, &wr);

		if (e)
			return e;
	} else if (w->opcode == MROCE_OP_CMP_SWAP || w->opcode == MROCE_OP_FETCH_ADD) {
		wr.wr.atomic.remote_addr = w->addr;
		wr.wr.atomic.rkey = w->rkey;
		wr.wr.atomic.compare_add = w->compare_add;
		wr.wr.atomic.swap = w->swap;
	} else {
		wr.wr.rdma.remote_addr = w->addr;
		wr.wr.rdma.rkey = w->rkey;
	}
	return ibv_post_send(qps[qp].qp, &wr, &bad);
}

int backend_poll(unsigned int qp, struct agent_completion *c)
{
	static const unsigned int opcode[] = {
		[IBV_WC_SEND] = MROCE_OP_SEND,		 [IBV_WC_RDMA_WRITE] = MROCE_OP_WRITE,
		[IBV_WC_RDMA_READ] = MROCE_OP_READ,	 [IBV_WC_COMP_SWAP] = MROCE_OP_CMP_SWAP,
		[IBV_WC_FETCH_ADD] = MROCE_OP_FETCH_ADD,
	};
	struct ibv_wc w;
	int n;

	if (!known(qp))
		return EINVAL;
	n = ibv_poll_cq(qps[qp].cq, 1, &w);
	if (!n)
		return EAGAIN;
	if (n < 0)
		return EIO;
	*c = (struct agent_completion){.id = w.wr_id, .status = w.status};
	if (w.status != IBV_WC_SUCCESS)
		return 0;
	c->receive = w.opcode & IBV_WC_RECV;
	c->length = w.byte_len;
	c->src_qpn = w.src_qp;
	c->with_imm = !!(w.wc_flags & IBV_WC_WITH_IMM);
	if (w.wc_flags & IBV_WC_WITH_IMM)
		c->imm = be32toh(w.imm_data);
	else if (w.wc_flags & IBV_WC_WITH_INV)
		c->imm = w.invalidated_rkey;
	if (c->receive)
		c->opcode = w.wc_flags & IBV_WC_WITH_INV	    ? MROCE_OP_SEND_INV
			    : w.opcode == IBV_WC_RECV_RDMA_WITH_IMM ? MROCE_OP_WRITE_IMM
			    : w.wc_flags & IBV_WC_WITH_IMM	    ? MROCE_OP_SEND_IMM
								    : MROCE_OP_SEND;
	else if (w.opcode < sizeof(opcode) / sizeof(*opcode))
		c->opcode = opcode[w.opcode];
	return 0;
}

int backend_attach(unsigned int qp, const uint8_t gid[16])
{
	union ibv_gid g;

	memcpy(g.raw, gid, 16);
	return known(qp) ? ibv_attach_mcast(qps[qp].qp, &g, 0) : EINVAL;
}
