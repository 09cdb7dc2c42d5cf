// SPDX-License-Identifier: GPL-2.0
/*
 * See harness.h.
 */
#include <time.h>
#include <sys/mman.h>

#include "harness.h"

struct ibv_context *ctx;
struct ibv_device_attr dev;
struct ibv_port_attr port;
struct ibv_pd *pd;
struct ibv_mr *mr;
uint8_t *memory;
uint8_t gid_index;
union ibv_gid gid;
enum ibv_qp_type qp_type = IBV_QPT_RC;

void refused_with(int got, int want, const char *call)
{
	if (got != want)
		die("%s: %s, should be %s", call, got ? strerror(got) : "accepted",
		    strerror(want));
}

void must(int err, const char *what)
{
	if (err)
		die("%s: %s", what, strerror(err));
}

void *made(void *object, const char *what)
{
	if (!object)
		die("%s: %s", what, strerrordesc_np(errno));
	return object;
}

struct ibv_qp *create_qp(struct ibv_cq *cq, struct ibv_srq *srq, struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .srq = srq, .cap = *cap, .qp_type = qp_type,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	*cap = init.cap;
	return qp;
}

int to_init(struct ibv_qp *qp, uint8_t port_num, uint16_t pkey_index)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = port_num, .pkey_index = pkey_index,
		.qp_access_flags = RIGHTS,
	};

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
			     IBV_QP_ACCESS_FLAGS);
}

struct ibv_ah_attr self(void)
{
	return (struct ibv_ah_attr){
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 64 },
	};
}

int to_rtr(struct ibv_qp *qp, struct ibv_qp *peer, unsigned int reads)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = reads, .min_rnr_timer = 12, .ah_attr = self(),
	};

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     (qp->qp_type == IBV_QPT_UC ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC |
							      IBV_QP_MIN_RNR_TIMER));
}

int to_rts(struct ibv_qp *qp, unsigned int reads)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS, .max_rd_atomic = reads, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7,
	};

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN |
			     (qp->qp_type == IBV_QPT_UC ? 0 : IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
							      IBV_QP_RNR_RETRY |
							      IBV_QP_MAX_QP_RD_ATOMIC));
}

int modify(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = { .qp_state = state };

	return ibv_modify_qp(qp, &a, IBV_QP_STATE);
}

/* Two queue pairs of one completion queue, connected; an SRQ is the second's. */
struct pair connected(struct ibv_qp_cap *cap, struct ibv_srq *srq, int cqe,
			     unsigned int reads)
{
	struct pair p = {};
	int i;

	p.cq = made(ibv_create_cq(ctx, cqe, NULL, NULL, 0), "ibv_create_cq");
	for (i = 0; i < 2; i++) {
		p.qp[i] = made(create_qp(p.cq, i ? srq : NULL, cap), "ibv_create_qp");
		must(to_init(p.qp[i], 1, 0), "to INIT");
	}
	for (i = 0; i < 2; i++) {
		must(to_rtr(p.qp[i], p.qp[!i], reads), "to RTR");
		must(to_rts(p.qp[i], reads), "to RTS");
	}
	return p;
}

void disconnect(struct pair *p)
{
	must(ibv_destroy_qp(p->qp[0]), "ibv_destroy_qp");
	must(ibv_destroy_qp(p->qp[1]), "ibv_destroy_qp");
	must(ibv_destroy_cq(p->cq), "ibv_destroy_cq");
}

/* @n completions come, each with @status */
void completes(struct ibv_cq *cq, unsigned int n, enum ibv_wc_status status)
{
	time_t end = time(NULL) + 100;
	struct ibv_wc wc[32];
	int i, got;

	while (n) {
		got = ibv_poll_cq(cq, n < 32 ? n : 32, wc);
		if (got < 0)
			die("ibv_poll_cq: %d", got);
		for (i = 0; i < got; i++)
			if (wc[i].status != status)
				die("completion with %s, should be %s",
				    ibv_wc_status_str(wc[i].status), ibv_wc_status_str(status));
		n -= got;
		if (!got && time(NULL) > end)
			die("%u completions did not come", n);
	}
	if (ibv_poll_cq(cq, 1, wc))
		die("a completion too many");
}

int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags |= IBV_SEND_SIGNALED;
	wr->wr.rdma.remote_addr = (uintptr_t)memory + MEMORY / 2;
	wr->wr.rdma.rkey = mr->rkey;
	return ibv_post_send(qp, wr, &bad);
}

int post_recv(struct ibv_qp *qp, struct ibv_srq *srq, struct ibv_sge *sge, int num)
{
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = num }, *bad;

	return srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad);
}

/* the first @size bytes are new, and not yet where they will be */
void fill(size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		memory[i] = rand();
		memory[MEMORY / 2 + i] = ~memory[i];
	}
}

void arrived(size_t size, const char *what)
{
	if (memcmp(memory, memory + MEMORY / 2, size))
		die("%s: wrong bytes arrived", what);
}

void open_device(const char *name)
{
	struct ibv_device **list = made(ibv_get_device_list(NULL), "ibv_get_device_list");
	int i;

	for (i = 0; list[i] && strcmp(ibv_get_device_name(list[i]), name); i++)
		;
	if (!list[i])
		die("no device %s", name);
	ctx = made(ibv_open_device(list[i]), "ibv_open_device");
	ibv_free_device_list(list);
	must(ibv_query_device(ctx, &dev), "ibv_query_device");
	must(ibv_query_port(ctx, 1, &port), "ibv_query_port");
	must(ibv_query_gid(ctx, 1, gid_index, &gid), "ibv_query_gid");
	pd = made(ibv_alloc_pd(ctx), "ibv_alloc_pd");
}

int run_test(int argc, char **argv, const struct test *tests, unsigned int n)
{
	unsigned int i;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (i = 0; i < n; i++)
			puts(tests[i].name);
		return 0;
	}
	if (argc != 4) {
		fprintf(stderr, "usage: %s DEVICE GID-INDEX TEST\n       %s --list\n", argv[0],
			argv[0]);
		return 2;
	}
	gid_index = atoi(argv[2]);
	open_device(argv[1]);
	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	mr = made(ibv_reg_mr(pd, memory, MEMORY, RIGHTS), "ibv_reg_mr");
	for (i = 0; i < n; i++)
		if (!strcmp(argv[3], tests[i].name))
			break;
	if (i == n)
		die("no test %s", argv[3]);
	tests[i].run();
	must(ibv_dereg_mr(mr), "ibv_dereg_mr");
	must(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	must(ibv_close_device(ctx), "ibv_close_device");
	return 0;
}
