// SPDX-License-Identifier: GPL-2.0
/*
 * A program that scribbles on its own rings: requests of half-right fields and plain garbage, indices that jump, while
 * queue pairs connected to each other carry what comes of it, go to error and come back, and CQs are resized. The
 * provider would not survive that, so rings are used without it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mroce-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "attack.h"

enum { QPS = 4, RINGS = 32, ENTRIES = 64, REGION = 1 << 20, CHILD_MS = 1500 };

struct area {
	uint8_t *at;
	size_t len;
};

struct self {
	struct ibv_context *c;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[QPS];
	uint8_t *memory;
	union ibv_gid gid;
	int gid_index;
	struct area ring[RINGS];
	unsigned int rings;
	uint64_t end;
};

/* ---- objects ---- */

static void connect_qp(struct self *s, int i)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	if (s->qp[i]->qp_type == IBV_QPT_UD) {
		a.qkey = 0x11111111;
		ibv_modify_qp(s->qp[i], &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
		a.qp_state = IBV_QPS_RTR;
		ibv_modify_qp(s->qp[i], &a, IBV_QP_STATE);
		a.qp_state = IBV_QPS_RTS;
		ibv_modify_qp(s->qp[i], &a, IBV_QP_STATE | IBV_QP_SQ_PSN);
		return;
	}
	ibv_modify_qp(s->qp[i], &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = s->qp[i ^ 1]->qp_num,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = s->gid, .sgid_index = s->gid_index, .hop_limit = 64 } },
	};
	ibv_modify_qp(s->qp[i], &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 10, .retry_cnt = 1, .rnr_retry = 1, .max_rd_atomic = 4 };
	ibv_modify_qp(s->qp[i], &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void reset_qp(struct self *s, int i)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RESET };

	ibv_modify_qp(s->qp[i], &a, IBV_QP_STATE);
	connect_qp(s, i);
}

/* mappings of the device's file are rings */
static void find_rings(struct self *s)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];

	s->rings = 0;
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "uverbs") && s->rings < RINGS && sscanf(line, "%lx-%lx", &from, &to) == 2)
			s->ring[s->rings++] = (struct area){ (uint8_t *)from, to - from };
	if (f)
		fclose(f);
}

static bool set_up(struct self *s, const char *device, int gid_index)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = ENTRIES, .max_sge = 4 } };
	struct ibv_srq *srq;
	int i;

	s->c = open_device(device);
	if (!s->c || ibv_query_gid(s->c, 1, gid_index, &s->gid))
		return false;
	s->gid_index = gid_index;
	s->pd = ibv_alloc_pd(s->c);
	s->cq = ibv_create_cq(s->c, 1024, NULL, NULL, 0);
	s->memory = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	s->mr = s->pd ? ibv_reg_mr(s->pd, s->memory, REGION, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC) : NULL;
	srq = s->pd ? ibv_create_srq(s->pd, &srq_attr) : NULL;
	if (!s->cq || !s->mr || !srq)
		return false;
	for (i = 0; i < QPS; i++) {
		struct ibv_qp_init_attr a = {
			.send_cq = s->cq,
			.recv_cq = s->cq,
			.srq = i == 1 ? srq : NULL,
			.qp_type = i == QPS - 1 ? IBV_QPT_UD : IBV_QPT_RC,
			.cap = { .max_send_wr = ENTRIES, .max_recv_wr = ENTRIES, .max_send_sge = 4, .max_recv_sge = 4,
				 .max_inline_data = 64 },
		};

		s->qp[i] = ibv_create_qp(s->pd, &a);
		if (!s->qp[i])
			return false;
	}
	for (i = 0; i < QPS; i++)
		connect_qp(s, i);
	find_rings(s);
	return true;
}

static void doorbell(struct self *s, int i, uint32_t which)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[2];
	} c = {
		.hdr = { .length = sizeof(c), .object_id = UVERBS_OBJECT_QP, .method_id = MROCE_METHOD_QP_DOORBELL,
			 .num_attrs = 2, .driver_id = MROCE_DRIVER_ID },
		.attr = { { .attr_id = MROCE_ATTR_QP_DOORBELL_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY,
			    .data = s->qp[i]->handle },
			  { .attr_id = MROCE_ATTR_QP_DOORBELL_FLAGS, .flags = UVERBS_ATTR_F_MANDATORY, .len = 4,
			    .data = which } },
	};

	ioctl(s->c->cmd_fd, RDMA_VERBS_IOCTL, &c);
}

/* ---- scribbling ---- */

static void sges(struct self *s, struct rng *r, void *at, int n)
{
	struct mroce_sge *sge = at;

	for (; n--; sge++) {
		sge->lkey = once_in(r, 20) ? rng(r) : s->mr->lkey;
		sge->addr = once_in(r, 20) ? rng(r) : (uintptr_t)s->memory + below(r, REGION);
		sge->length = once_in(r, 20) ? rng(r) : below(r, once_in(r, 4) ? REGION : 256);
	}
}

static void send_slot(struct self *s, struct rng *r, uint8_t *slot, size_t room)
{
	struct mroce_sq_wqe *w = (void *)slot;

	w->wr_id = rng(r);
	w->opcode = below(r, once_in(r, 10) ? 256 : 9);
	w->flags = once_in(r, 10) ? rng(r) : MROCE_WQE_SIGNALED | (once_in(r, 8) ? MROCE_WQE_INLINE : 0);
	w->num_sge = once_in(r, 10) ? rng(r) : below(r, 4);
	w->imm = once_in(r, 2) ? s->mr->rkey : rng(r);
	w->rkey = once_in(r, 20) ? rng(r) : s->mr->rkey;
	w->remote_addr = (uintptr_t)s->memory + (below(r, REGION) & ~7u);
	w->length = below(r, once_in(r, 10) ? -1u : 65);
	if (once_in(r, 2)) {
		w->ud.ah = below(r, 4);
		w->ud.qpn = s->qp[QPS - 1]->qp_num;
		w->ud.qkey = 0x11111111;
	}
	sges(s, r, w + 1, (room - sizeof(*w)) / sizeof(struct mroce_sge));
}

static void scribble(struct self *s, struct rng *r)
{
	struct area *a = &s->ring[below(r, s->rings)];
	struct mroce_ring *head = (void *)a->at;
	size_t at = MROCE_RING_HEADER + 64 * below(r, (a->len - MROCE_RING_HEADER) / 64 - 2);

	switch (below(r, 8)) {
	case 0:
		head->producer = once_in(r, 4) ? rng(r) : head->consumer + below(r, 2 * ENTRIES);
		break;
	case 1:
		head->consumer = once_in(r, 4) ? rng(r) : head->producer - below(r, 2 * ENTRIES);
		break;
	case 2:
		head->flags = rng(r);
		break;
	case 3:
		memset(a->at + at, rng(r), 64);
		break;
	case 4:
		*(uint32_t *)(a->at + (below(r, a->len) & ~3u)) = rng(r);
		break;
	case 5: {
		struct mroce_rq_wqe *w = (void *)(a->at + at);

		w->num_sge = once_in(r, 10) ? rng(r) : below(r, 5);
		sges(s, r, w + 1, 4);
		break;
	}
	default:
		send_slot(s, r, a->at + at, 128);
	}
}

static void *scribbler(void *arg)
{
	struct self *s = arg;
	struct rng r = { seed() + getpid() };

	while (now_ms() < s->end) {
		int n = below(&r, 200);

		while (n--)
			scribble(s, &r);
		usleep(below(&r, 300));
	}
	return NULL;
}

static void *ringer(void *arg)
{
	struct self *s = arg;
	struct rng r = { seed() * 3 + getpid() };
	uint32_t i;

	while (now_ms() < s->end) {
		/* a plausible step forward, so that much of it is carried out */
		for (i = 0; i < s->rings; i++) {
			struct mroce_ring *head = (void *)s->ring[i].at;

			if (s->ring[i].len < 1024 * sizeof(struct mroce_cqe))
				head->producer = head->consumer + below(&r, ENTRIES);
			else
				head->consumer = head->producer;
		}
		for (i = 0; i < QPS; i++)
			doorbell(s, i, below(&r, 4));
		if (once_in(&r, 50))
			reset_qp(s, below(&r, QPS));
		if (once_in(&r, 50))
			doorbell(s, below(&r, QPS), rng(&r));
	}
	return NULL;
}

static int child(const char *device, int gid_index, uint64_t end)
{
	struct self s = { .end = end };
	pthread_t t[3];
	struct rng r = { seed() + 7 * getpid() };
	int i;

	if (!set_up(&s, device, gid_index))
		return 1;
	for (i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, i ? ringer : scribbler, &s);
	while (now_ms() < end) {
		usleep(20000);
		/* the provider's view of the ring is garbage, its system call is not */
		ibv_resize_cq(s.cq, 512 + below(&r, 4000));
		if (once_in(&r, 20)) {
			ibv_rereg_mr(s.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE);
			ibv_rereg_mr(s.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE |
				     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
		}
	}
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (i = 0; once_in(&r, 2) && i < QPS; i++)
		ibv_destroy_qp(s.qp[i]);
	return 0;
}

int rings(int argc, char **argv)
{
	unsigned int children = 0, well = 0;
	int status;

	(void)argc;
	while (time_left()) {
		pid_t pid = fork();

		if (!pid)
			_exit(child(argv[0], atoi(argv[1]), now_ms() + CHILD_MS));
		/* that it dies of what it wrote is its own affair */
		if (waitpid(pid, &status, 0) < 0)
			die("waitpid");
		children++;
		well += WIFSIGNALED(status) || !WEXITSTATUS(status);
	}
	printf("%u programs, %u could begin\n", children, well);
	return !well;
}
