// SPDX-License-Identifier: GPL-2.0
/*
 * See harness.h.
 */
#include <poll.h>
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
unsigned int patience = 100;
void (*on_failure)(int err, const char *what);
void (*connector)(struct pair *p);

void refused_with(int got, int want, const char *call)
{
	if (got != want)
		die("%s: %s, should be %s", call, got ? strerror(got) : "accepted",
		    strerror(want));
}

static void failed(int err, const char *what)
{
	if (on_failure)
		on_failure(err, what);
	die("%s: %s", what, strerror(err));
}

void must(int err, const char *what)
{
	if (err)
		failed(err, what);
}

void *made(void *object, const char *what)
{
	if (!object)
		failed(errno, what);
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

void connect_pair(struct pair *p, unsigned int reads)
{
	int i;

	for (i = 0; i < 2; i++)
		must(to_init(p->qp[i], 1, 0), "to INIT");
	if (connector) {
		connector(p);
		return;
	}
	for (i = 0; i < 2; i++) {
		must(to_rtr(p->qp[i], p->qp[!i], reads), "to RTR");
		must(to_rts(p->qp[i], reads), "to RTS");
	}
}

void again(struct pair *p)
{
	int i;

	for (i = 0; i < 2; i++)
		must(modify(p->qp[i], IBV_QPS_RESET), "to RESET");
	connect_pair(p, 4);
}

/* Two queue pairs of one completion queue, connected; an SRQ is the second's. */
struct pair connected(struct ibv_qp_cap *cap, struct ibv_srq *srq, int cqe, unsigned int reads)
{
	struct pair p = {};
	int i;

	p.cq = made(ibv_create_cq(ctx, cqe, NULL, NULL, 0), "ibv_create_cq");
	for (i = 0; i < 2; i++)
		p.qp[i] = made(create_qp(p.cq, i ? srq : NULL, cap), "ibv_create_qp");
	connect_pair(&p, reads);
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
	time_t end = time(NULL) + patience;
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

struct ibv_wc next_completion(struct ibv_cq *cq)
{
	time_t end = time(NULL) + patience;
	struct ibv_wc wc;
	int got;

	while (!(got = ibv_poll_cq(cq, 1, &wc)))
		if (time(NULL) > end)
			die("no completion");
	if (got < 0)
		die("ibv_poll_cq: %d", got);
	return wc;
}

bool event(enum ibv_event_type type, int ms)
{
	struct pollfd fd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event e;

	while (poll(&fd, 1, ms) == 1) {
		must(ibv_get_async_event(ctx, &e), "ibv_get_async_event");
		ibv_ack_async_event(&e);
		if (e.event_type == type)
			return true;
		/* of the other end of the pair */
		if (e.event_type != IBV_EVENT_COMM_EST)
			die("event %s", ibv_event_type_str(e.event_type));
	}
	return false;
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

uint32_t bind_2(struct pair *p, struct ibv_mw *mw, struct ibv_mw_bind_info info,
		enum ibv_wc_status status)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = info },
	}, *bad;

	must(ibv_post_send(p->qp[1], &wr, &bad), "a bind request");
	completes(p->cq, 1, status);
	return wr.bind_mw.rkey;
}

void bind_1(struct pair *p, struct ibv_mw *mw, struct ibv_mw_bind_info info,
	    enum ibv_wc_status status)
{
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED, .bind_info = info };

	must(ibv_bind_mw(p->qp[1], mw, &bind), "ibv_bind_mw");
	completes(p->cq, 1, status);
}

void access_by(struct pair *p, int from, enum ibv_wr_opcode opcode, uint64_t to, size_t length,
	       uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_sge sge = { (uintptr_t)memory, length, mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = opcode, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = to, .rkey = rkey },
	}, *bad;

	must(ibv_post_send(p->qp[from], &wr, &bad), "a request");
	completes(p->cq, 1, status);
}

void atomic_by(struct pair *p, uint64_t to, uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_sge sge = { (uintptr_t)memory, 8, mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = to, .rkey = rkey, .compare_add = 1 },
	}, *bad;

	must(ibv_post_send(p->qp[0], &wr, &bad), "an atomic");
	completes(p->cq, 1, status);
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

void open_memory(void)
{
	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	mr = made(ibv_reg_mr(pd, memory, MEMORY, RIGHTS), "ibv_reg_mr");
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
	open_memory();
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
