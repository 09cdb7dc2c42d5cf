// SPDX-License-Identifier: GPL-2.0
/*
 * Many threads that use one table of objects without any agreement: what one creates, another changes, uses or destroys.
 * Handles are the kernel's to check, so all of it goes through processes that share nothing but the device, and threads
 * of each that take a slot at a time. Processes are killed at random and begin anew.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "attack.h"

enum { SLOTS = 12, THREADS = 6, PROCESSES = 3, REGION = 256 << 10 };

struct slot {
	pthread_mutex_t lock;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct ibv_comp_channel *channel;
	uint8_t *memory;
	/* read by others without the lock: may be stale, which is the point */
	volatile uint32_t qpn, rkey;
};

struct shared {
	struct ibv_context *c;
	struct ibv_pd *pd;
	union ibv_gid gid;
	int gid_index;
	struct slot slot[SLOTS];
};

static void state(struct shared *s, struct slot *t, struct rng *r)
{
	struct slot *peer = &s->slot[below(r, SLOTS)];
	int to = below(r, 6), mask;
	struct ibv_qp_attr a = {
		.port_num = 1,
		.qp_access_flags = 15,
		.qkey = 7,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = peer->qpn,
		.rq_psn = 5,
		.sq_psn = 5,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 8,
		.retry_cnt = 1,
		.rnr_retry = below(r, 8),
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = s->gid, .sgid_index = s->gid_index, .hop_limit = 64 } },
	};
	bool ud = t->qp->qp_type == IBV_QPT_UD;

	/* mostly all the way up */
	if (!once_in(r, 3)) {
		a.qp_state = IBV_QPS_INIT;
		ibv_modify_qp(t->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			      (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
		a.qp_state = IBV_QPS_RTR;
		ibv_modify_qp(t->qp, &a, IBV_QP_STATE | (ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
		a.qp_state = IBV_QPS_RTS;
		ibv_modify_qp(t->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | (ud ? 0 : IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
		return;
	}
	a.qp_state = to;
	mask = once_in(r, 3) ? (int)rng(r) : IBV_QP_STATE;
	ibv_modify_qp(t->qp, &a, mask);
}

static void post(struct shared *s, struct slot *t, struct rng *r)
{
	struct slot *peer = &s->slot[below(r, SLOTS)];
	struct ibv_sge sge = { .lkey = t->mr ? t->mr->lkey : (uint32_t)rng(r), .length = below(r, 100000),
			       .addr = (uintptr_t)t->memory };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = below(r, 10), .send_flags = below(r, 8) }, *bad;
	int n = below(r, 16);

	while (n--) {
		if (t->qp->qp_type == IBV_QPT_UD) {
			wr.opcode = IBV_WR_SEND;
			sge.length = below(r, 4096);
			wr.wr.ud.ah = t->ah;
			wr.wr.ud.remote_qpn = peer->qpn;
			wr.wr.ud.remote_qkey = 7;
		} else {
			wr.wr.rdma.rkey = peer->rkey;
			wr.wr.rdma.remote_addr = (uintptr_t)peer->memory;
			if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
				wr.wr.atomic.rkey = peer->rkey;
				wr.wr.atomic.remote_addr = (uintptr_t)peer->memory;
				sge.length = 8;
			}
		}
		if (t->qp->qp_type != IBV_QPT_UD || t->ah)
			ibv_post_send(t->qp, &wr, &bad);
		if (t->srq)
			ibv_post_srq_recv(t->srq, &recv, &bad_recv);
		if (!t->qp->srq)
			ibv_post_recv(t->qp, &recv, &bad_recv);
	}
}

static void create(struct shared *s, struct slot *t, struct rng *r)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 1 + below(r, 64), .max_sge = 1 } };
	struct ibv_qp_init_attr qp = {
		.qp_type = once_in(r, 4) ? IBV_QPT_UD : IBV_QPT_RC,
		.cap = { .max_send_wr = 1 + below(r, 64), .max_recv_wr = 1 + below(r, 64), .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 1,
				  .grh = { .dgid = s->gid, .sgid_index = s->gid_index, .hop_limit = 64 } };

	if (!t->memory)
		t->memory = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!t->channel)
		t->channel = ibv_create_comp_channel(s->c);
	if (!t->mr)
		t->mr = ibv_reg_mr(s->pd, t->memory, REGION, 15);
	t->rkey = t->mr ? t->mr->rkey : 0;
	if (!t->cq)
		t->cq = ibv_create_cq(s->c, 1 + below(r, 256), NULL, once_in(r, 2) ? t->channel : NULL, 0);
	if (!t->srq && once_in(r, 2))
		t->srq = ibv_create_srq(s->pd, &srq);
	if (!t->ah)
		t->ah = ibv_create_ah(s->pd, &ah);
	if (t->qp || !t->cq)
		return;
	qp.send_cq = t->cq;
	qp.recv_cq = t->cq;
	qp.srq = once_in(r, 2) ? t->srq : NULL;
	t->qp = ibv_create_qp(s->pd, &qp);
	t->qpn = t->qp ? t->qp->qp_num : 0;
}

static void destroy(struct slot *t, struct rng *r)
{
	/* refused while in use: try all */
	if (t->cq && once_in(r, 8) && !ibv_destroy_cq(t->cq))
		t->cq = NULL;
	if (t->srq && once_in(r, 4) && !ibv_destroy_srq(t->srq))
		t->srq = NULL;
	if (t->mr && once_in(r, 2) && !ibv_dereg_mr(t->mr))
		t->mr = NULL;
	if (t->ah && once_in(r, 2) && !ibv_destroy_ah(t->ah))
		t->ah = NULL;
	if (t->qp && once_in(r, 2) && !ibv_destroy_qp(t->qp))
		t->qp = NULL;
}

static void *racer(void *arg)
{
	struct shared *s = arg;
	static uint32_t number;
	struct rng r = { seed() * (__atomic_add_fetch(&number, 1, __ATOMIC_RELAXED) * 2 + 1) ^ (uint64_t)getpid() << 20 };
	struct ibv_srq_attr limit;
	struct ibv_qp_init_attr qi;
	struct ibv_qp_attr qa;
	struct ibv_wc wc[8];

	while (time_left()) {
		struct slot *t = &s->slot[below(&r, SLOTS)];

		pthread_mutex_lock(&t->lock);
		create(s, t, &r);
		switch (below(&r, 10)) {
		case 0:
			destroy(t, &r);
			break;
		case 1:
			if (t->cq)
				ibv_resize_cq(t->cq, 1 + below(&r, 512));
			break;
		case 2:
			if (t->mr)
				ibv_rereg_mr(t->mr, IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_TRANSLATION, s->pd, t->memory,
					     4096 + below(&r, REGION - 4096), 15);
			break;
		case 3:
			limit = (struct ibv_srq_attr){ .srq_limit = below(&r, 64), .max_wr = 1 + below(&r, 128) };
			if (t->srq)
				ibv_modify_srq(t->srq, &limit, 1 + below(&r, 3));
			break;
		case 4:
			if (t->qp)
				ibv_query_qp(t->qp, &qa, -1, &qi);
			break;
		case 5:
		case 6:
			if (t->qp)
				state(s, t, &r);
			break;
		case 7:
			if (t->cq)
				ibv_req_notify_cq(t->cq, below(&r, 2));
			break;
		default:
			if (t->qp)
				post(s, t, &r);
		}
		if (t->cq)
			ibv_poll_cq(t->cq, 8, wc);
		pthread_mutex_unlock(&t->lock);
	}
	return NULL;
}

static int process(const char *device, int gid_index)
{
	struct shared *s = calloc(1, sizeof(*s));
	pthread_t t[THREADS];
	int i;

	s->c = open_device(device);
	if (!s->c || ibv_query_gid(s->c, 1, gid_index, &s->gid))
		return 1;
	s->gid_index = gid_index;
	s->pd = ibv_alloc_pd(s->c);
	if (!s->pd)
		return 1;
	for (i = 0; i < SLOTS; i++)
		pthread_mutex_init(&s->slot[i].lock, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, racer, s);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}

int race(int argc, char **argv)
{
	pid_t pid[PROCESSES] = {};
	struct rng r = { seed() };
	unsigned int killed = 0, well = 0;
	int i, status;

	(void)argc;
	while (time_left()) {
		i = below(&r, PROCESSES);
		if (pid[i] && once_in(&r, 2)) {
			/* also in the middle of a system call */
			kill(pid[i], SIGKILL);
			waitpid(pid[i], &status, 0);
			well += WIFSIGNALED(status);
			pid[i] = 0;
			killed++;
		}
		if (!pid[i]) {
			pid[i] = fork();
			if (!pid[i])
				_exit(process(argv[0], atoi(argv[1])));
		}
		usleep(50000 + below(&r, 500000));
	}
	for (i = 0; i < PROCESSES; i++)
		if (pid[i])
			waitpid(pid[i], &status, 0);
	printf("%u processes killed, %u of them busy\n", killed, well);
	return 0;
}
