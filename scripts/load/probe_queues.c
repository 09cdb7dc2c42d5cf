// SPDX-License-Identifier: GPL-2.0
/*
 * Things that mroce-probe tries: completion queues of both kinds with each field that they may have,
 * and shared and single receive queues.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include "datagrams.h"
#include "probe.h"

#define BYTES	700

static struct ibv_cq *plain_cq(void)
{
	return made(ibv_create_cq(ctx, 16, NULL, NULL, 0), "ibv_create_cq");
}

static void create_cq(void)
{
	struct ibv_cq *cq = plain_cq();

	if (cq->cqe < 16)
		die("%d entries, not 16", cq->cqe);
	completes(cq, 0, IBV_WC_SUCCESS);
	must(error_of(ibv_destroy_cq(cq)), "ibv_destroy_cq");
}

static void write_8(struct pair *p, int n)
{
	struct ibv_sge from = { (uintptr_t)memory, 8, mr->lkey };
	int i;

	for (i = 0; i < n; i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &from, .num_sge = 1 };

		must(error_of(post_send(p->qp[0], &wr)), "ibv_post_send");
	}
}

/* with entries in it; they are as many after it */
static void resize_cq(uint64_t cqe)
{
	struct pair p = pair_of(IBV_QPT_RC);
	struct ibv_wc wc;

	write_8(&p, 5);
	wc = next_completion(p.cq);
	if (wc.status)
		die("%s", ibv_wc_status_str(wc.status));
	must(error_of(ibv_resize_cq(p.cq, cqe)), "ibv_resize_cq");
	if (p.cq->cqe < (int)cqe)
		die("%d entries, not %d", p.cq->cqe, (int)cqe);
	completes(p.cq, 4, IBV_WC_SUCCESS);
}

static void moderate(void)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = { .cq_count = 4, .cq_period = 10 } };

	must(error_of(ibv_modify_cq(plain_cq(), &attr)), "ibv_modify_cq");
}

static void notify(void)
{
	struct ibv_comp_channel *channel = made(ibv_create_comp_channel(ctx), "ibv_create_comp_channel");
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *cq = made(ibv_create_cq(ctx, 16, (void *)42, channel, 0), "ibv_create_cq"), *whose;
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
				  .max_recv_sge = 1 };
	struct pair p = { .cq = cq };
	void *context;
	int i;

	for (i = 0; i < 2; i++)
		p.qp[i] = made(create_qp(cq, NULL, &cap), "ibv_create_qp");
	connect_pair(&p, 1);
	must(error_of(ibv_req_notify_cq(cq, 0)), "ibv_req_notify_cq");
	write_8(&p, 1);
	if (poll(&fd, 1, patience * 1000) != 1)
		die("no event");
	must(ibv_get_cq_event(channel, &whose, &context) ? errno : 0, "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	if (whose != cq || context != (void *)42)
		die("an event of another");
	completes(cq, 1, IBV_WC_SUCCESS);
	/* which was not asked for again */
	write_8(&p, 1);
	completes(cq, 1, IBV_WC_SUCCESS);
	if (poll(&fd, 1, 100))
		die("an event that was not asked for");
}

/* each vector that the context tells of, and none more */
static void vectors(void)
{
	int i, n = ctx->num_comp_vectors;

	for (i = 0; i < n; i++)
		made(ibv_create_cq(ctx, 16, NULL, NULL, i), "ibv_create_cq");
	if (ibv_create_cq(ctx, 16, NULL, NULL, n))
		die("there are %d, and another is accepted", n);
	if (!n)
		no_because("0");
	yes("%d", n);
}

/* ---- extended ones ---- */

static struct ibv_cq_ex *cq_ex(uint64_t wc_flags, uint32_t flags, struct ibv_pd *domain)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 64, .wc_flags = wc_flags, .flags = flags, .parent_domain = domain,
		.comp_mask = (flags ? IBV_CQ_INIT_ATTR_MASK_FLAGS : 0) |
			     (domain ? IBV_CQ_INIT_ATTR_MASK_PD : 0),
	};

	return made(ibv_create_cq_ex(ctx, &attr), "ibv_create_cq_ex");
}

static void next_ex(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = {};
	time_t end = time(NULL) + patience;
	int err;

	while ((err = ibv_start_poll(cq, &attr)) == ENOENT)
		if (time(NULL) > end)
			die("no completion");
	must(error_of(err), "ibv_start_poll");
	if (cq->status)
		die("%s", ibv_wc_status_str(cq->status));
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static struct pair pair_on(struct ibv_cq *cq)
{
	struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
				  .max_recv_sge = 1 };
	struct pair p = { .cq = cq };
	int i;

	for (i = 0; i < 2; i++)
		p.qp[i] = made(create_qp(cq, NULL, &cap), "ibv_create_qp");
	connect_pair(&p, 1);
	return p;
}

/* A message is sent, and the receive's completion read, which the poll is left at. */
static struct pair receive_ex(struct ibv_cq_ex *cq)
{
	struct pair p = pair_on(ibv_cq_ex_to_cq(cq));
	struct ibv_sge from = { (uintptr_t)memory, BYTES, mr->lkey };
	struct ibv_sge to = { (uintptr_t)FAR, BYTES + 10, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 7, .opcode = iwarp() ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM, .sg_list = &from,
		.num_sge = 1, .imm_data = htonl(0x1badcafe),
	};

	must(error_of(post_recv(p.qp[1], NULL, &to, 1)), "ibv_post_recv");
	must(error_of(post_send(p.qp[0], &wr)), "ibv_post_send");
	for (;;) {
		next_ex(cq);
		if (!cq->wr_id)
			return p;
		ibv_end_poll(cq);
	}
}

#define SAME(what, is, should) do { \
		unsigned long long is_ = (is), should_ = (should); \
		if (is_ != should_) \
			die(what " is %llu, not %llu", is_, should_); \
	} while (0)

static void wc_none(void)
{
	struct ibv_cq_ex *cq = cq_ex(0, 0, NULL);
	struct pair p = receive_ex(cq);

	SAME("the opcode", ibv_wc_read_opcode(cq), IBV_WC_RECV);
	ibv_end_poll(cq);
	/* the plain interface works beside it */
	write_8(&p, 1);
	while (next_completion(p.cq).opcode != IBV_WC_RDMA_WRITE)
		;
}

/* several at once, without giving the queue back in between */
static void next_poll(void)
{
	struct ibv_cq_ex *cq = cq_ex(0, 0, NULL);
	struct pair p = pair_on(ibv_cq_ex_to_cq(cq));
	time_t end = time(NULL) + patience;
	int n = 1, err;

	write_8(&p, 4);
	next_ex(cq);
	while (n < 4) {
		err = ibv_next_poll(cq);
		if (err && err != ENOENT)
			no(error_of(err), "ibv_next_poll");
		n += !err;
		if (time(NULL) > end)
			die("%d of 4 completions", n);
	}
	ibv_end_poll(cq);
}

static void wc_field(uint64_t flag)
{
	struct ibv_cq_ex *cq = cq_ex(flag, 0, NULL);
	uint64_t raw = now_ns(CLOCK_MONOTONIC_RAW), wall = now_ns(CLOCK_REALTIME), stamp;
	struct pair p = receive_ex(cq);

	switch (flag) {
	case IBV_WC_EX_WITH_BYTE_LEN:
		SAME("byte_len", ibv_wc_read_byte_len(cq), BYTES);
		break;
	case IBV_WC_EX_WITH_IMM:
		if (iwarp())
			no_because("iWARP has no immediate data");
		SAME("imm_data", ntohl(ibv_wc_read_imm_data(cq)), 0x1badcafe);
		break;
	case IBV_WC_EX_WITH_QP_NUM:
		SAME("qp_num", ibv_wc_read_qp_num(cq), p.qp[1]->qp_num);
		break;
	case IBV_WC_EX_WITH_SLID:
		SAME("slid", ibv_wc_read_slid(cq), 0);
		break;
	case IBV_WC_EX_WITH_SL:
		SAME("sl", ibv_wc_read_sl(cq), 0);
		break;
	case IBV_WC_EX_WITH_DLID_PATH_BITS:
		SAME("dlid_path_bits", ibv_wc_read_dlid_path_bits(cq), 0);
		break;
	case IBV_WC_EX_WITH_CVLAN:
		SAME("cvlan", ibv_wc_read_cvlan(cq), 0);
		break;
	case IBV_WC_EX_WITH_COMPLETION_TIMESTAMP:
		stamp = ibv_wc_read_completion_ts(cq);
		if (!stamp)
			die("0");
		/* what the unit of others is hca_core_clock says */
		if (stamp < raw || stamp > now_ns(CLOCK_MONOTONIC_RAW))
			yes("of a clock of its own");
		break;
	case IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK:
		stamp = ibv_wc_read_completion_wallclock_ns(cq);
		if (stamp < wall || stamp > now_ns(CLOCK_REALTIME))
			die("it is not the time of the completion");
		break;
	}
}

/* who sent it is told of datagrams only */
static void wc_src_qp(void)
{
	struct ibv_cq_ex *cq = cq_ex(IBV_WC_EX_WITH_SRC_QP, 0, NULL);
	struct ud u = make_ud_on(QKEY, ibv_cq_ex_to_cq(cq));

	receive_at(&u, 0, 1000);
	post_to(&u, &gid, u.qp->qp_num, 1000);
	for (;;) {
		next_ex(cq);
		if (ibv_wc_read_opcode(cq) == IBV_WC_RECV)
			break;
		ibv_end_poll(cq);
	}
	SAME("src_qp", ibv_wc_read_src_qp(cq), u.qp->qp_num);
}

static void cq_flag(uint64_t flag)
{
	receive_ex(cq_ex(0, flag, NULL));
}

static void cq_domain(void)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd };

	receive_ex(cq_ex(0, 0, made(ibv_alloc_parent_domain(ctx, &attr), "ibv_alloc_parent_domain")));
}

#define FIELD(f)	TRY_WITH("ibv_create_cq_ex, " #f, wc_field, IBV_WC_EX_WITH_ ## f)

static const struct item completion_queues_items[] = {
	TRY("ibv_create_cq", create_cq), TRY("completion vectors", vectors),
	TRY_WITH("ibv_resize_cq, larger", resize_cq, 200), TRY_WITH("ibv_resize_cq, smaller", resize_cq, 8),
	TRY("ibv_modify_cq, MODERATE", moderate), TRY("ibv_req_notify_cq", notify),
	TRY("ibv_create_cq_ex", wc_none), TRY("ibv_next_poll", next_poll),
	FIELD(BYTE_LEN), FIELD(IMM), FIELD(QP_NUM),
	TRY("ibv_create_cq_ex, SRC_QP", wc_src_qp), FIELD(SLID), FIELD(SL), FIELD(DLID_PATH_BITS),
	FIELD(COMPLETION_TIMESTAMP), FIELD(COMPLETION_TIMESTAMP_WALLCLOCK), FIELD(CVLAN),
	FIELD(FLOW_TAG), FIELD(TM_INFO),
	TRY_WITH("ibv_create_cq_ex, SINGLE_THREADED", cq_flag, IBV_CREATE_CQ_ATTR_SINGLE_THREADED),
	TRY_WITH("ibv_create_cq_ex, IGNORE_OVERRUN", cq_flag, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN),
	TRY("ibv_create_cq_ex, of a parent domain", cq_domain),
};

GROUP(completion_queues, "completion queues");

/* ---- receive queues ---- */

static void create_srq(void)
{
	struct ibv_srq *srq = make_srq(8);
	struct ibv_sge to = { (uintptr_t)FAR, BYTES, mr->lkey };

	must(error_of(post_recv(NULL, srq, &to, 1)), "ibv_post_srq_recv");
	must(error_of(ibv_destroy_srq(srq)), "ibv_destroy_srq");
}

static void query_srq(void)
{
	struct ibv_srq_attr attr = {};

	must(error_of(ibv_query_srq(make_srq(8), &attr)), "ibv_query_srq");
	if (attr.max_wr < 8 || attr.max_sge < 2 || attr.srq_limit)
		die("max_wr %u, max_sge %u, srq_limit %u", attr.max_wr, attr.max_sge, attr.srq_limit);
}

static void srq_max_wr(void)
{
	struct ibv_srq *srq = make_srq(8);
	struct ibv_sge to = { (uintptr_t)FAR, BYTES, mr->lkey };
	struct ibv_srq_attr attr = { .max_wr = 100 };
	int i;

	must(error_of(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR)), "ibv_modify_srq");
	must(error_of(ibv_query_srq(srq, &attr)), "ibv_query_srq");
	if (attr.max_wr < 100)
		die("max_wr is %u, not 100", attr.max_wr);
	for (i = 0; i < 100; i++)
		must(error_of(post_recv(NULL, srq, &to, 1)), "ibv_post_srq_recv, of the new ones");
}

static void srq_limit(void)
{
	struct ibv_srq *srq = make_srq(8);
	struct ibv_sge to = { (uintptr_t)FAR, BYTES, mr->lkey };
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	int i;

	for (i = 0; i < 4; i++)
		must(error_of(post_recv(NULL, srq, &to, 1)), "ibv_post_srq_recv");
	must(error_of(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT)), "ibv_modify_srq");
	must(error_of(ibv_query_srq(srq, &attr)), "ibv_query_srq");
	if (attr.srq_limit != 2)
		die("srq_limit is %u, not 2", attr.srq_limit);
}

static struct ibv_xrcd *xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1,
		.oflags = O_CREAT,
	};

	return made(ibv_open_xrcd(ctx, &attr), "ibv_open_xrcd");
}

static void open_xrcd(void)
{
	must(error_of(ibv_close_xrcd(xrcd())), "ibv_close_xrcd");
}

static struct ibv_srq *srq_ex(uint64_t type)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 8, .max_sge = 1 }, .srq_type = type, .pd = pd,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
	};

	if (type != IBV_SRQT_BASIC) {
		attr.cq = plain_cq();
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
	}
	if (type == IBV_SRQT_XRC) {
		attr.xrcd = xrcd();
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
	} else if (type == IBV_SRQT_TM) {
		attr.tm_cap.max_num_tags = 8;
		attr.tm_cap.max_ops = 8;
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_TM;
	}
	return made(ibv_create_srq_ex(ctx, &attr), "ibv_create_srq_ex");
}

static void create_srq_ex(uint64_t type)
{
	srq_ex(type);
}

static void get_srq_num(void)
{
	uint32_t num;

	must(error_of(ibv_get_srq_num(srq_ex(IBV_SRQT_XRC), &num)), "ibv_get_srq_num");
}

static struct ibv_wq *wq(void)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 8, .max_sge = 1, .pd = pd, .cq = plain_cq(),
	};

	return made(ibv_create_wq(ctx, &attr), "ibv_create_wq");
}

static void create_wq(void)
{
	wq();
}

static void create_table(void)
{
	struct ibv_wq *one = wq();
	struct ibv_rwq_ind_table_init_attr attr = { .ind_tbl = &one };

	made(ibv_create_rwq_ind_table(ctx, &attr), "ibv_create_rwq_ind_table");
}

static const struct item receive_queues_items[] = {
	TRY("ibv_create_srq", create_srq), TRY("ibv_query_srq", query_srq),
	TRY("ibv_modify_srq, MAX_WR", srq_max_wr), TRY("ibv_modify_srq, LIMIT", srq_limit),
	TRY_WITH("ibv_create_srq_ex, basic", create_srq_ex, IBV_SRQT_BASIC), TRY("ibv_open_xrcd", open_xrcd),
	TRY_WITH("ibv_create_srq_ex, XRC", create_srq_ex, IBV_SRQT_XRC),
	TRY_WITH("ibv_create_srq_ex, tag matching", create_srq_ex, IBV_SRQT_TM),
	TRY("ibv_get_srq_num", get_srq_num), TRY("ibv_create_wq", create_wq),
	TRY("ibv_create_rwq_ind_table", create_table),
};

GROUP(receive_queues, "receive queues");
