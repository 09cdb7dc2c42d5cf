// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of mroce-verbs: XRC. One process has both ends, and several domains of each kind.
 */
#include <arpa/inet.h>
#include <unistd.h>
#include <fcntl.h>

#include "verbs.h"

#define BYTES	(512 << 10)
#define WR	64

/* an SRQ, with what its buffers are of */
struct shared {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *memory;
	uint32_t num;
};

/* an initiator and its target */
struct xrc {
	struct ibv_qp *ini, *tgt;
	struct ibv_cq *cq;
};

static uint8_t *from;
static struct ibv_mr *source;

static struct ibv_xrcd *domain(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1,
		.oflags = O_CREAT,
	};

	return made(ibv_open_xrcd(ctx, &attr), "ibv_open_xrcd");
}

static struct shared shared_of(struct ibv_xrcd *xrcd)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = WR, .max_sge = 1 }, .srq_type = IBV_SRQT_XRC, .xrcd = xrcd,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ,
	};
	struct shared s = { .pd = made(ibv_alloc_pd(ctx), "ibv_alloc_pd") };

	s.cq = made(ibv_create_cq(ctx, 2 * WR, NULL, NULL, 0), "ibv_create_cq");
	s.memory = made(calloc(1, BYTES), "calloc");
	s.mr = made(ibv_reg_mr(s.pd, s.memory, BYTES, RIGHTS), "ibv_reg_mr");
	attr.pd = s.pd;
	attr.cq = s.cq;
	s.srq = made(ibv_create_srq_ex(ctx, &attr), "ibv_create_srq_ex");
	must(ibv_get_srq_num(s.srq, &s.num), "ibv_get_srq_num");
	return s;
}

static void unmake(struct shared *s)
{
	if (s->srq)
		must(ibv_destroy_srq(s->srq), "ibv_destroy_srq");
	must(ibv_destroy_cq(s->cq), "ibv_destroy_cq");
	must(ibv_dereg_mr(s->mr), "ibv_dereg_mr");
	must(ibv_dealloc_pd(s->pd), "ibv_dealloc_pd");
	free(s->memory);
}

static struct ibv_qp *initiator(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_SEND, .send_cq = cq, .pd = pd, .sq_sig_all = 1,
		.cap = { .max_send_wr = WR, .max_send_sge = 1, .max_inline_data = 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
	};

	return made(ibv_create_qp_ex(ctx, &attr), "ibv_create_qp_ex, XRC_SEND");
}

static struct ibv_qp *target(struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV, .xrcd = xrcd, .comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};

	return made(ibv_create_qp_ex(ctx, &attr), "ibv_create_qp_ex, XRC_RECV");
}

/* of the pairs that are made next */
static uint8_t rnr_retry = 7, min_rnr_timer = 12;

static void join(struct ibv_qp *qp, const struct ibv_qp *peer, bool is_target)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = 4, .min_rnr_timer = min_rnr_timer, .ah_attr = self(),
	};

	must(to_init(qp, 1, 0), "to INIT");
	must(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			   IBV_QP_RQ_PSN |
			   (is_target ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)), "to RTR");
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 14;
	a.retry_cnt = 7;
	a.rnr_retry = rnr_retry;
	a.max_rd_atomic = 4;
	must(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			   (is_target ? 0 : IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					    IBV_QP_MAX_QP_RD_ATOMIC)), "to RTS");
}

static struct xrc xrc_pair(struct ibv_xrcd *xrcd)
{
	struct xrc x = { .cq = made(ibv_create_cq(ctx, 2 * WR, NULL, NULL, 0), "ibv_create_cq") };

	x.ini = initiator(x.cq);
	x.tgt = target(xrcd);
	join(x.tgt, x.ini, true);
	join(x.ini, x.tgt, false);
	return x;
}

static void part(struct xrc *x)
{
	must(ibv_destroy_qp(x->ini), "ibv_destroy_qp");
	if (x->tgt)
		must(ibv_destroy_qp(x->tgt), "ibv_destroy_qp");
	must(ibv_destroy_cq(x->cq), "ibv_destroy_cq");
}

static void posts(struct shared *s, uint64_t id, size_t at, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)s->memory + at, length, s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	must(ibv_post_srq_recv(s->srq, &wr, &bad), "ibv_post_srq_recv");
}

static void sends(struct xrc *x, uint32_t srqn, enum ibv_wr_opcode opcode, size_t at, uint32_t length,
		  uint64_t to, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)from + at, length, source->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 99, .opcode = opcode, .sg_list = &sge, .num_sge = 1,
		.imm_data = htonl(length), .qp_type.xrc.remote_srqn = srqn,
		.wr.rdma = { .remote_addr = to, .rkey = rkey },
	}, *bad;

	must(ibv_post_send(x->ini, &wr, &bad), "ibv_post_send");
}

static void received(struct xrc *x, struct shared *s, uint64_t id, enum ibv_wc_opcode opcode,
		     uint32_t length, bool imm)
{
	struct ibv_wc wc = next_completion(s->cq);

	if (wc.status || wc.wr_id != id || wc.opcode != opcode || wc.byte_len != length ||
	    wc.qp_num != x->tgt->qp_num || !!(wc.wc_flags & IBV_WC_WITH_IMM) != imm ||
	    (imm && ntohl(wc.imm_data) != length))
		die("%s: request %llu, not %llu; opcode %d, not %d; %u bytes, not %u; QP %u, not %u; "
		    "flags 0x%x", ibv_wc_status_str(wc.status), (unsigned long long)wc.wr_id,
		    (unsigned long long)id, wc.opcode, opcode, wc.byte_len, length, wc.qp_num,
		    x->tgt->qp_num, wc.wc_flags);
}

static void scramble(size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		from[i] = rand();
}

static void same(const struct shared *s, size_t at, size_t length, const char *what)
{
	if (memcmp(from, s->memory + at, length))
		die("%s: wrong bytes arrived", what);
}

/* of each kind to each SRQ in turn, whose buffers are of domains of their own */
static void messages(struct xrc *x, struct shared *s, unsigned int n)
{
	static const uint32_t lengths[] = { 0, 1, 700, 4096, 70000, 300000 };
	uint64_t id = 0;
	unsigned int i, k;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (k = 0; k < n; k++) {
			uint32_t length = lengths[i];

			scramble(length);
			posts(&s[k], ++id, 0, 300000);
			sends(x, s[k].num, IBV_WR_SEND, 0, length, 0, 0);
			received(x, &s[k], id, IBV_WC_RECV, length, false);
			same(&s[k], 0, length, "SEND");
			scramble(length);
			posts(&s[k], ++id, 0, 300000);
			sends(x, s[k].num, IBV_WR_SEND_WITH_IMM, 0, length, 0, 0);
			received(x, &s[k], id, IBV_WC_RECV, length, true);
			same(&s[k], 0, length, "SEND_WITH_IMM");
			scramble(length);
			posts(&s[k], ++id, 0, 0);
			sends(x, s[k].num, IBV_WR_RDMA_WRITE_WITH_IMM, 0, length,
			      (uintptr_t)s[k].memory + 1000, s[k].mr->rkey);
			received(x, &s[k], id, IBV_WC_RECV_RDMA_WITH_IMM, length, true);
			same(&s[k], 1000, length, "RDMA_WRITE_WITH_IMM");
			completes(x->cq, 3, IBV_WC_SUCCESS);
		}
}

static void rdma(struct xrc *x, struct shared *s)
{
	struct ibv_sge sge = { (uintptr_t)from, 8, source->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .sg_list = &sge, .num_sge = 1,
		.wr.atomic = { .remote_addr = (uintptr_t)s->memory, .rkey = s->mr->rkey,
			       .compare_add = 5 },
	}, *bad;

	scramble(100000);
	sends(x, 0, IBV_WR_RDMA_WRITE, 0, 100000, (uintptr_t)s->memory + 3, s->mr->rkey);
	completes(x->cq, 1, IBV_WC_SUCCESS);
	same(s, 3, 100000, "RDMA_WRITE");
	memset(from, 0, 100000);
	sends(x, 0, IBV_WR_RDMA_READ, 0, 100000, (uintptr_t)s->memory + 3, s->mr->rkey);
	completes(x->cq, 1, IBV_WC_SUCCESS);
	same(s, 3, 100000, "RDMA_READ");
	*(uint64_t *)s->memory = 37;
	must(ibv_post_send(x->ini, &wr, &bad), "an atomic");
	completes(x->cq, 1, IBV_WC_SUCCESS);
	if (*(uint64_t *)s->memory != 42 || *(uint64_t *)from != 37)
		die("an atomic found %llu and left %llu", (unsigned long long)*(uint64_t *)from,
		    (unsigned long long)*(uint64_t *)s->memory);
}

/*
 * A message without a buffer holds up those behind it, to whatever SRQ, until there is one, and takes
 * one try for it: the buffers that there are for others end no pause.
 */
static void waits(struct ibv_xrcd *xrcd, struct shared *s)
{
	/* too long for one datagram, and both on their way before the first is refused */
	struct ibv_sge sge[2] = { { (uintptr_t)from, 4000, source->lkey },
				  { (uintptr_t)from, 5000, source->lkey } };
	struct ibv_send_wr wr[2] = {}, *bad;
	struct xrc pair, *x = &pair;
	unsigned int i;

	rnr_retry = 1;
	min_rnr_timer = 30; /* 328 ms */
	pair = xrc_pair(xrcd);
	rnr_retry = 7;
	min_rnr_timer = 12;
	posts(&s[1], 1, 0, 5000);
	for (i = 0; i < 2; i++) {
		wr[i].opcode = IBV_WR_SEND;
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].qp_type.xrc.remote_srqn = s[i].num;
		wr[i].next = i ? NULL : &wr[1];
	}
	must(ibv_post_send(x->ini, wr, &bad), "ibv_post_send");
	usleep(100000);
	completes(x->cq, 0, IBV_WC_SUCCESS);
	completes(s[1].cq, 0, IBV_WC_SUCCESS);
	posts(&s[0], 2, 0, 5000);
	received(x, &s[0], 2, IBV_WC_RECV, 4000, false);
	received(x, &s[1], 1, IBV_WC_RECV, 5000, false);
	completes(x->cq, 2, IBV_WC_SUCCESS);
	part(x);
}

static void builders(struct xrc *x, struct shared *s)
{
	struct ibv_qp_ex *q = ibv_qp_to_qp_ex(x->ini);
	char text[] = "inline";

	posts(s, 7, 0, 100);
	posts(s, 8, 100, 0);
	ibv_wr_start(q);
	ibv_wr_send(q);
	ibv_wr_set_xrc_srqn(q, s->num);
	ibv_wr_set_inline_data(q, text, sizeof(text));
	ibv_wr_rdma_write_imm(q, s->mr->rkey, (uintptr_t)s->memory + 200, htonl(sizeof(text)));
	ibv_wr_set_inline_data(q, text, sizeof(text));
	ibv_wr_set_xrc_srqn(q, s->num);
	must(ibv_wr_complete(q), "ibv_wr_complete");
	received(x, s, 7, IBV_WC_RECV, sizeof(text), false);
	received(x, s, 8, IBV_WC_RECV_RDMA_WITH_IMM, sizeof(text), true);
	completes(x->cq, 2, IBV_WC_SUCCESS);
	if (strcmp((char *)s->memory, text) || strcmp((char *)s->memory + 200, text))
		die("inline data did not arrive");
}

/* what ends a pair, of which the SRQs know nothing */
static void fails(struct ibv_xrcd *xrcd, uint32_t srqn, enum ibv_wr_opcode opcode, uint64_t to,
		  uint32_t rkey, enum ibv_wc_status status)
{
	struct xrc x = xrc_pair(xrcd);

	sends(&x, srqn, opcode, 0, 10, to, rkey);
	completes(x.cq, 1, status);
	part(&x);
}

static void refusals(struct ibv_xrcd *xrcd, struct shared *s)
{
	struct ibv_xrcd *other = domain();
	struct shared there = shared_of(other);
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
				  .max_recv_sge = 1 };
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_srq *basic;
	struct xrc x = {};
	struct ibv_wc wc;
	uint32_t num;

	posts(&there, 1, 0, 100);
	fails(xrcd, there.num, IBV_WR_SEND, 0, 0, IBV_WC_REM_INV_REQ_ERR);
	fails(xrcd, 0, IBV_WR_SEND, 0, 0, IBV_WC_REM_INV_REQ_ERR);
	fails(xrcd, 0xffffff, IBV_WR_SEND, 0, 0, IBV_WC_REM_INV_REQ_ERR);
	fails(xrcd, 0, IBV_WR_RDMA_WRITE, (uintptr_t)there.memory, there.mr->rkey,
	      IBV_WC_REM_ACCESS_ERR);
	fails(xrcd, 0, IBV_WR_RDMA_READ, (uintptr_t)there.memory, there.mr->rkey,
	      IBV_WC_REM_ACCESS_ERR);
	/* a domain without an SRQ there */
	fails(xrcd, 0, IBV_WR_RDMA_WRITE, (uintptr_t)from, source->rkey, IBV_WC_REM_ACCESS_ERR);
	fails(other, 0, IBV_WR_RDMA_WRITE, (uintptr_t)s->memory, s->mr->rkey, IBV_WC_REM_ACCESS_ERR);
	completes(there.cq, 0, IBV_WC_SUCCESS);
	/* too short a buffer */
	posts(s, 5, 0, 9);
	fails(xrcd, s->num, IBV_WR_SEND, 0, 0, IBV_WC_REM_INV_REQ_ERR);
	completes(s->cq, 1, IBV_WC_LOC_LEN_ERR);
	basic = made(ibv_create_srq(pd, &init), "ibv_create_srq");
	refused(ibv_get_srq_num(basic, &num), EOPNOTSUPP);
	must(ibv_destroy_srq(basic), "ibv_destroy_srq");
	/* an initiator whose peer is no target */
	x.cq = made(ibv_create_cq(ctx, 8, NULL, NULL, 0), "ibv_create_cq");
	x.ini = initiator(x.cq);
	x.tgt = made(create_qp(x.cq, NULL, &cap), "ibv_create_qp");
	must(to_init(x.tgt, 1, 0), "to INIT");
	must(to_rtr(x.tgt, x.ini, 4), "to RTR");
	must(to_rts(x.tgt, 4), "to RTS");
	join(x.ini, x.tgt, false);
	/* the refusal may be there before the request is */
	sends(&x, s->num, IBV_WR_SEND, 0, 10, 0, 0);
	wc = next_completion(x.cq);
	if (wc.status != IBV_WC_RETRY_EXC_ERR && wc.status != IBV_WC_WR_FLUSH_ERR)
		die("to a queue pair that is no target: %s", ibv_wc_status_str(wc.status));
	part(&x);
	unmake(&there);
	must(ibv_close_xrcd(other), "ibv_close_xrcd");
}

/* An SRQ may go before the targets of its domain do: with a message that waits for it, or none. */
static void goes(struct ibv_xrcd *xrcd, struct shared *rest)
{
	struct shared s = shared_of(xrcd);
	struct xrc x = xrc_pair(xrcd);

	posts(rest, 3, 0, 100);
	sends(&x, rest->num, IBV_WR_SEND, 0, 10, 0, 0);
	completes(x.cq, 1, IBV_WC_SUCCESS);
	received(&x, rest, 3, IBV_WC_RECV, 10, false);
	sends(&x, s.num, IBV_WR_SEND, 0, 10, 0, 0);
	usleep(100000);
	must(ibv_destroy_srq(s.srq), "ibv_destroy_srq");
	s.srq = NULL;
	completes(x.cq, 1, IBV_WC_REM_INV_REQ_ERR);
	unmake(&s);
	part(&x);
}

/* who knows its number, and has the domain, has the target too: it goes with the last of them */
static void opened(struct ibv_xrcd *xrcd, struct shared *s)
{
	struct xrc x = xrc_pair(xrcd);
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = x.tgt->qp_num, .xrcd = xrcd, .qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp *again = made(ibv_open_qp(ctx, &attr), "ibv_open_qp");
	struct ibv_recv_wr wr = {}, *bad;

	must(ibv_destroy_qp(x.tgt), "ibv_destroy_qp");
	x.tgt = again;
	messages(&x, s, 1);
	if (!ibv_post_recv(x.tgt, &wr, &bad) || !ibv_post_recv(x.ini, &wr, &bad))
		die("a receive was posted to a queue that is not there");
	part(&x);
	refused_pointer(ibv_open_qp(ctx, &attr), EINVAL);
}

static void set_up(struct ibv_xrcd **xrcd, struct shared s[2])
{
	from = made(calloc(1, BYTES), "calloc");
	source = made(ibv_reg_mr(pd, from, BYTES, RIGHTS), "ibv_reg_mr");
	*xrcd = domain();
	s[0] = shared_of(*xrcd);
	s[1] = shared_of(*xrcd);
}

static void take_down(struct ibv_xrcd *xrcd, struct shared s[2])
{
	refused(ibv_close_xrcd(xrcd), EBUSY);
	unmake(&s[0]);
	unmake(&s[1]);
	must(ibv_close_xrcd(xrcd), "ibv_close_xrcd");
	must(ibv_dereg_mr(source), "ibv_dereg_mr");
	free(from);
}

void test_xrc(void)
{
	struct ibv_xrcd *xrcd;
	struct shared s[2];
	struct xrc x, y;

	set_up(&xrcd, s);
	x = xrc_pair(xrcd);
	messages(&x, s, 2);
	rdma(&x, &s[0]);
	rdma(&x, &s[1]);
	waits(xrcd, s);
	builders(&x, &s[1]);
	/* two targets of one domain */
	y = xrc_pair(xrcd);
	messages(&y, s, 2);
	messages(&x, s, 2);
	opened(xrcd, s);
	goes(xrcd, &s[0]);
	refusals(xrcd, &s[0]);
	messages(&x, s, 2);
	part(&x);
	part(&y);
	take_down(xrcd, s);
}

/* Many at once, each to either SRQ: to each they come in their order, with their bytes. */
void test_xrc_lossy(void)
{
	enum { MESSAGES = 2000, SLOT = BYTES / WR };
	uint32_t length[MESSAGES], first[2] = {}, expected[2] = {};
	unsigned int sent = 0, posted[2] = {}, done = 0, complete = 0, i, k;
	uint8_t to[MESSAGES];
	struct ibv_xrcd *xrcd;
	struct shared s[2];
	struct ibv_wc wc;
	struct xrc x;

	set_up(&xrcd, s);
	x = xrc_pair(xrcd);
	scramble(BYTES);
	for (i = 0; i < MESSAGES; i++) {
		to[i] = rand() % 3 == 0;
		length[i] = rand() % 4 ? rand() % 200 : rand() % SLOT;
	}
	while (done < MESSAGES) {
		for (k = 0; k < 2; k++)
			while (posted[k] - expected[k] < WR / 2) {
				posts(&s[k], posted[k], posted[k] % WR * SLOT, SLOT);
				posted[k]++;
			}
		while (sent < MESSAGES && sent - complete < WR) {
			sends(&x, s[to[sent]].num, IBV_WR_SEND, sent % 1000, length[sent], 0, 0);
			sent++;
		}
		while (ibv_poll_cq(x.cq, 1, &wc) == 1) {
			if (wc.status)
				die("message %u: %s", complete, ibv_wc_status_str(wc.status));
			complete++;
		}
		for (k = 0; k < 2; k++)
			while (ibv_poll_cq(s[k].cq, 1, &wc) == 1) {
				/* the next one that went there */
				for (i = first[k]; i < MESSAGES && to[i] != k; i++)
					;
				first[k] = i + 1;
				if (wc.status || wc.wr_id != expected[k] || wc.byte_len != length[i])
					die("message %u: %s, request %llu, not %u, %u bytes, not %u", i,
					    ibv_wc_status_str(wc.status), (unsigned long long)wc.wr_id,
					    expected[k], wc.byte_len, length[i]);
				if (memcmp(s[k].memory + expected[k] % WR * SLOT, from + i % 1000,
					   length[i]))
					die("message %u: wrong bytes", i);
				expected[k]++;
				done++;
			}
	}
	completes(x.cq, MESSAGES - complete, IBV_WC_SUCCESS);
	part(&x);
	take_down(xrcd, s);
}
