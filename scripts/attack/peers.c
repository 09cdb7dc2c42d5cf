// SPDX-License-Identifier: GPL-2.0
/* Queue pairs toward addresses at which nobody answers, or a peer that is none (peer.py). IPv4. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "attack.h"

enum { PEER_QPN = 2, LENGTH = 64 };

/* In RTS, it says HELLO and OPEN; without a timeout, for ever. */
static struct ibv_qp *toward(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_srq *srq, int gid_index, struct in_addr addr)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = { .max_send_wr = 1, .max_recv_wr = srq ? 0 : 1 },
	};
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp || ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("queue pair");
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = PEER_QPN,
		.max_dest_rd_atomic = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = gid_index, .hop_limit = 64 } },
	};
	memset(a.ah_attr.grh.dgid.raw + 10, 0xff, 2);
	memcpy(a.ah_attr.grh.dgid.raw + 12, &addr, 4);
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("RTR");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .rnr_retry = 7 };
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("RTS");
	return qp;
}

static int last(void)
{
	printf("ready\n");
	fflush(stdout);
	while (time_left())
		usleep(10000);
	return 0;
}

/* To so many addresses, @argv[2] and those after it. */
int peers(int argc, char **argv)
{
	struct ibv_context *c = open_device(argv[0]);
	struct ibv_pd *pd = c ? ibv_alloc_pd(c) : NULL;
	struct ibv_cq *cq = c ? ibv_create_cq(c, 16, NULL, NULL, 0) : NULL;
	int i, n = atoi(argv[3]);
	struct in_addr first, addr;

	(void)argc;
	if (!pd || !cq || !inet_aton(argv[2], &first))
		die(argv[0]);
	for (i = 0; i < n; i++) {
		addr.s_addr = htonl(ntohl(first.s_addr) + i);
		toward(pd, cq, NULL, atoi(argv[1]), addr);
	}
	return last();
}

/* One to @argv[2] that receives from a shared queue of @argv[3] entries, with @argv[4] buffers posted. */
int shared(int argc, char **argv)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = atoi(argv[3]), .max_sge = 1 } };
	struct ibv_context *c = open_device(argv[0]);
	struct ibv_pd *pd = c ? ibv_alloc_pd(c) : NULL;
	struct ibv_cq *cq = c ? ibv_create_cq(c, 1024, NULL, NULL, 0) : NULL;
	struct ibv_srq *srq = pd ? ibv_create_srq(pd, &init) : NULL;
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, calloc(1, LENGTH), LENGTH, IBV_ACCESS_LOCAL_WRITE) : NULL;
	struct in_addr addr;
	int i;

	(void)argc;
	if (!cq || !srq || !mr || !inet_aton(argv[2], &addr))
		die(argv[0]);
	for (i = 0; i < atoi(argv[4]); i++) {
		struct ibv_sge sge = { (uintptr_t)mr->addr, LENGTH, mr->lkey };
		struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

		if (ibv_post_srq_recv(srq, &wr, &bad))
			die("receive");
	}
	toward(pd, cq, srq, atoi(argv[1]), addr);
	return last();
}
