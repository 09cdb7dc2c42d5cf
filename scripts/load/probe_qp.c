// SPDX-License-Identifier: GPL-2.0
/*
 * Things that mroce-probe tries: types of queue pairs, their states and what they tell of
 * themselves, what may be changed, and the rest of the Verbs that have to do with them.
 */
#include <fcntl.h>
#include <unistd.h>

#include "datagrams.h"
#include "probe.h"

#define READS	3

/* one, in RESET */
static struct ibv_qp *new_qp(enum ibv_qp_type type, struct ibv_qp_init_attr_ex a)
{
	struct ibv_cq *cq = made(ibv_create_cq(ctx, 64, NULL, NULL, 0), "ibv_create_cq");

	a.qp_type = type;
	a.send_cq = cq;
	a.recv_cq = cq;
	a.cap = (struct ibv_qp_cap){ .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
				     .max_recv_sge = 1 };
	if (!a.comp_mask)
		return made(ibv_create_qp(pd, (struct ibv_qp_init_attr *)&a), "ibv_create_qp");
	if (!(a.comp_mask & IBV_QP_INIT_ATTR_XRCD)) {
		a.pd = pd;
		a.comp_mask |= IBV_QP_INIT_ATTR_PD;
	}
	return made(ibv_create_qp_ex(ctx, &a), "ibv_create_qp_ex");
}

static struct ibv_qp *plain(enum ibv_qp_type type)
{
	return new_qp(type, (struct ibv_qp_init_attr_ex){});
}

static void create(uint64_t type)
{
	must(error_of(ibv_destroy_qp(plain(type))), "ibv_destroy_qp");
}

static void create_ex(uint64_t type)
{
	new_qp(type, (struct ibv_qp_init_attr_ex){ .comp_mask = IBV_QP_INIT_ATTR_PD });
}

static struct ibv_qp *xrc_target(struct ibv_xrcd **xrcd)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1,
		.oflags = O_CREAT,
	};

	*xrcd = made(ibv_open_xrcd(ctx, &attr), "ibv_open_xrcd");
	return new_qp(IBV_QPT_XRC_RECV, (struct ibv_qp_init_attr_ex){
		.comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = *xrcd,
	});
}

static void create_xrc_receive(void)
{
	struct ibv_xrcd *xrcd;

	xrc_target(&xrcd);
}

static void create_flag(uint64_t flag)
{
	bool raw = flag == IBV_QP_CREATE_SCATTER_FCS || flag == IBV_QP_CREATE_CVLAN_STRIPPING;

	new_qp(raw ? IBV_QPT_RAW_PACKET : IBV_QPT_UD, (struct ibv_qp_init_attr_ex){
		.comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS, .create_flags = flag, .source_qpn = 99,
	});
}

static void create_tso(void)
{
	new_qp(IBV_QPT_UD, (struct ibv_qp_init_attr_ex){
		.comp_mask = IBV_QP_INIT_ATTR_MAX_TSO_HEADER, .max_tso_header = 64,
	});
}

static const struct item qp_types_items[] = {
	TRY_WITH("RC", create, IBV_QPT_RC), TRY_WITH("UC", create, IBV_QPT_UC),
	TRY_WITH("UD", create, IBV_QPT_UD), TRY_WITH("XRC_SEND", create_ex, IBV_QPT_XRC_SEND),
	TRY("XRC_RECV", create_xrc_receive), TRY_WITH("RAW_PACKET", create, IBV_QPT_RAW_PACKET),
	TRY_WITH("DRIVER", create, IBV_QPT_DRIVER),
	TRY_WITH("ibv_create_qp_ex, RC", create_ex, IBV_QPT_RC),
	TRY_WITH("ibv_create_qp_ex, UC", create_ex, IBV_QPT_UC),
	TRY_WITH("ibv_create_qp_ex, UD", create_ex, IBV_QPT_UD),
	TRY_WITH("BLOCK_SELF_MCAST_LB", create_flag, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB),
	TRY_WITH("SCATTER_FCS", create_flag, IBV_QP_CREATE_SCATTER_FCS),
	TRY_WITH("CVLAN_STRIPPING", create_flag, IBV_QP_CREATE_CVLAN_STRIPPING),
	TRY_WITH("SOURCE_QPN", create_flag, IBV_QP_CREATE_SOURCE_QPN),
	TRY_WITH("PCI_WRITE_END_PADDING", create_flag, IBV_QP_CREATE_PCI_WRITE_END_PADDING),
	TRY("max_tso_header", create_tso),
};

GROUP(qp_types, "types and flags of queue pairs");

/* ---- states ---- */

static enum ibv_qp_state state_of(struct ibv_qp *qp, struct ibv_qp_attr *a)
{
	struct ibv_qp_init_attr init;

	/* all that have been there from the first */
	memset(a, 0, sizeof(*a));
	must(error_of(ibv_query_qp(qp, a, 2 * IBV_QP_DEST_QPN - 1, &init)), "ibv_query_qp");
	return a->qp_state;
}

static void is_in(struct ibv_qp *qp, enum ibv_qp_state want)
{
	struct ibv_qp_attr a;
	enum ibv_qp_state is = state_of(qp, &a);

	if (is != want)
		die("ibv_query_qp tells state %d, not %d", is, want);
}

/* iWARP connects by itself, and knows fewer states */
static void no_iwarp(void)
{
	if (iwarp())
		untried("iWARP connects by rdma_cm only");
}

/* up to the state, each of which it tells */
static struct pair up_to(enum ibv_qp_type type, enum ibv_qp_state state)
{
	struct pair p;
	int i;

	no_iwarp();
	p.cq = made(ibv_create_cq(ctx, 64, NULL, NULL, 0), "ibv_create_cq");
	qp_type = type;
	for (i = 0; i < 2; i++) {
		struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
					  .max_recv_sge = 1 };

		p.qp[i] = made(create_qp(p.cq, NULL, &cap), "ibv_create_qp");
		is_in(p.qp[i], IBV_QPS_RESET);
		must(error_of(to_init(p.qp[i], 1, 0)), "to INIT");
		is_in(p.qp[i], IBV_QPS_INIT);
	}
	for (i = 0; i < 2 && state >= IBV_QPS_RTR; i++) {
		must(error_of(to_rtr(p.qp[i], p.qp[!i], READS)), "to RTR");
		is_in(p.qp[i], IBV_QPS_RTR);
	}
	for (i = 0; i < 2 && state >= IBV_QPS_RTS; i++) {
		must(error_of(to_rts(p.qp[i], READS)), "to RTS");
		is_in(p.qp[i], IBV_QPS_RTS);
	}
	return p;
}

static void reaches_state(uint64_t state)
{
	up_to(IBV_QPT_RC, state);
}

static void to_err(void)
{
	struct pair p = pair_of(IBV_QPT_RC);

	must(error_of(modify(p.qp[0], IBV_QPS_ERR)), "to ERR");
	is_in(p.qp[0], IBV_QPS_ERR);
}

static void to_reset(void)
{
	struct pair p = up_to(IBV_QPT_RC, IBV_QPS_RTS);

	again(&p);
	reaches(&p, FAR, (uintptr_t)FAR, mr->rkey);
}

static void to_sqd(void)
{
	struct pair p = up_to(IBV_QPT_RC, IBV_QPS_RTS);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };

	must(error_of(modify(p.qp[0], IBV_QPS_SQD)), "to SQD");
	is_in(p.qp[0], IBV_QPS_SQD);
	must(error_of(post_send(p.qp[0], &wr)), "ibv_post_send");
	/* it waits for RTS */
	usleep(100000);
	completes(p.cq, 0, IBV_WC_SUCCESS);
	must(error_of(modify(p.qp[0], IBV_QPS_RTS)), "to RTS");
	completes(p.cq, 1, IBV_WC_SUCCESS);
}

static void sqd_av(void)
{
	struct pair p = up_to(IBV_QPT_RC, IBV_QPS_RTS);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .ah_attr = self() };

	must(error_of(modify(p.qp[0], IBV_QPS_SQD)), "to SQD");
	must(error_of(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_AV)), "address vector in SQD");
}

/* an unreliable queue pair's own error stops its sends only */
static void to_sqe(uint64_t type)
{
	struct pair p = up_to(type, IBV_QPS_RTS);
	struct ibv_sge sge = { (uintptr_t)memory, 100, mr->lkey ^ 0x5500 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ibv_qp_attr a;

	must(error_of(post_send(p.qp[0], &wr)), "ibv_post_send");
	completes(p.cq, 1, IBV_WC_LOC_PROT_ERR);
	if (state_of(p.qp[0], &a) == IBV_QPS_ERR)
		no_because("ERR instead");
	is_in(p.qp[0], IBV_QPS_SQE);
	must(error_of(modify(p.qp[0], IBV_QPS_RTS)), "SQE to RTS");
}

static void change(struct ibv_qp_attr a, int mask, const char *what)
{
	struct pair p = up_to(IBV_QPT_RC, IBV_QPS_RTS);

	must(error_of(ibv_modify_qp(p.qp[0], &a, mask)), what);
}

static void rts_timer(void)
{
	change((struct ibv_qp_attr){ .min_rnr_timer = 20 }, IBV_QP_MIN_RNR_TIMER, "min_rnr_timer in RTS");
}

static void rts_access(void)
{
	struct pair p = pair_of(IBV_QPT_RC);
	struct ibv_qp_attr a = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };

	must(error_of(ibv_modify_qp(p.qp[1], &a, IBV_QP_ACCESS_FLAGS)), "access flags in RTS");
	/* the queue pair refuses it, not the key */
	denied(&p, FAR, (uintptr_t)FAR, mr->rkey, IBV_WC_REM_INV_REQ_ERR);
}

static void current_state(void)
{
	change((struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_RTS },
	       IBV_QP_STATE | IBV_QP_CUR_STATE, "cur_qp_state");
}

static void wrong_current_state(void)
{
	struct pair p = up_to(IBV_QPT_RC, IBV_QPS_INIT);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_RTS };

	if (!ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_CUR_STATE))
		die("accepted");
}

static void skips_a_state(void)
{
	struct pair p = up_to(IBV_QPT_RC, IBV_QPS_INIT);

	if (!to_rts(p.qp[0], READS))
		die("accepted");
}

static void alternate_path(void)
{
	change((struct ibv_qp_attr){ .alt_ah_attr = self(), .alt_port_num = 1, .alt_timeout = 14 },
	       IBV_QP_ALT_PATH, "alternate path");
}

static void migration(uint64_t state)
{
	change((struct ibv_qp_attr){ .path_mig_state = state }, IBV_QP_PATH_MIG_STATE,
	       "path_mig_state");
}

static void sqd_reads(void)
{
	struct pair p = up_to(IBV_QPT_RC, IBV_QPS_RTS);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .max_rd_atomic = 2 * READS,
				 .max_dest_rd_atomic = 2 * READS };

	must(error_of(modify(p.qp[0], IBV_QPS_SQD)), "to SQD");
	must(error_of(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC |
				    IBV_QP_MAX_DEST_RD_ATOMIC)), "limits of READs in SQD");
	state_of(p.qp[0], &a);
	if (a.max_rd_atomic < 2 * READS || a.max_dest_rd_atomic < 2 * READS)
		die("accepted, and they are %u and %u", a.max_rd_atomic, a.max_dest_rd_atomic);
}

static void resize_qp(void)
{
	struct ibv_qp *qp;
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .cap = {
		.max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct ibv_qp_attr is;
	struct pair p;

	no_iwarp();
	qp = plain(IBV_QPT_RC);
	must(error_of(to_init(qp, 1, 0)), "to INIT");
	p = up_to(IBV_QPT_RC, IBV_QPS_RTR);
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 14;
	must(error_of(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
				    IBV_QP_CAP)), "IBV_QP_CAP");
	state_of(p.qp[0], &is);
	if (is.cap.max_send_wr < 64)
		die("accepted, and max_send_wr is %u", is.cap.max_send_wr);
}

static const struct item qp_states_items[] = {
	TRY_WITH("INIT", reaches_state, IBV_QPS_INIT), TRY_WITH("RTR", reaches_state, IBV_QPS_RTR),
	TRY_WITH("RTS", reaches_state, IBV_QPS_RTS), TRY("ERR", to_err),
	TRY("RESET, and up again", to_reset), TRY("SQD", to_sqd),
	TRY("SQD, another address vector", sqd_av), TRY_WITH("SQE, UC", to_sqe, IBV_QPT_UC),
	TRY("RTS, another min_rnr_timer", rts_timer), TRY("RTS, other access flags", rts_access),
	TRY("cur_qp_state", current_state), TRY("cur_qp_state, not true, refused", wrong_current_state),
	TRY("INIT to RTS, refused", skips_a_state), TRY("alternate path", alternate_path),
	TRY("SQD, other limits of READs", sqd_reads),
	TRY_WITH("path_mig_state MIGRATED", migration, IBV_MIG_MIGRATED),
	TRY_WITH("path_mig_state REARM", migration, IBV_MIG_REARM), TRY("IBV_QP_CAP", resize_qp),
};

GROUP(qp_states, "ibv_modify_qp");

/* ---- what ibv_query_qp tells of what was set ---- */

#define SAME(what, is, should) do { \
		unsigned long long is_ = (is), should_ = (should); \
		if (is_ != should_) \
			die(what " is %llu, not %llu", is_, should_); \
	} while (0)

static struct ibv_qp_attr told(void)
{
	struct pair p = up_to(IBV_QPT_RC, IBV_QPS_RTS);
	struct ibv_qp_attr a;

	state_of(p.qp[0], &a);
	return a;
}

static void tells_port(void)
{
	struct ibv_qp_attr a = told();

	SAME("port_num", a.port_num, 1);
	SAME("pkey_index", a.pkey_index, 0);
}

static void tells_access(void)
{
	const unsigned int remote = RIGHTS & ~IBV_ACCESS_LOCAL_WRITE;

	/* the local one means nothing here */
	SAME("qp_access_flags", told().qp_access_flags & remote, remote);
}

static void tells_mtu(void)
{
	SAME("path_mtu", told().path_mtu, IBV_MTU_1024);
}

static void tells_peer(void)
{
	struct pair p = up_to(IBV_QPT_RC, IBV_QPS_RTS);
	struct ibv_qp_attr a;

	state_of(p.qp[0], &a);
	SAME("dest_qp_num", a.dest_qp_num, p.qp[1]->qp_num);
}

static void tells_psn(void)
{
	struct pair p = up_to(IBV_QPT_RC, IBV_QPS_INIT);
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = p.qp[1]->qp_num,
		.rq_psn = 0x123456, .max_dest_rd_atomic = READS, .min_rnr_timer = 12,
		.ah_attr = self(),
	};

	must(error_of(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER)), "to RTR");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .sq_psn = 0x654321, .timeout = 14,
				  .max_rd_atomic = READS };
	must(error_of(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_MAX_QP_RD_ATOMIC)), "to RTS");
	state_of(p.qp[0], &a);
	SAME("rq_psn", a.rq_psn, 0x123456);
	SAME("sq_psn", a.sq_psn, 0x654321);
}

static void tells_reads(void)
{
	struct ibv_qp_attr a = told();

	/* it may round up */
	if (a.max_rd_atomic < READS || a.max_dest_rd_atomic < READS)
		die("max_rd_atomic is %u, max_dest_rd_atomic %u, not %u", a.max_rd_atomic,
		    a.max_dest_rd_atomic, READS);
}

static void tells_timers(void)
{
	struct ibv_qp_attr a = told();

	SAME("timeout", a.timeout, 14);
	SAME("retry_cnt", a.retry_cnt, 7);
	SAME("rnr_retry", a.rnr_retry, 7);
	SAME("min_rnr_timer", a.min_rnr_timer, 12);
}

static void tells_address(void)
{
	struct ibv_qp_attr a = told();

	if (memcmp(&a.ah_attr.grh.dgid, &gid, sizeof(gid)))
		die("another GID");
	SAME("is_global", a.ah_attr.is_global, 1);
	SAME("sgid_index", a.ah_attr.grh.sgid_index, gid_index);
	SAME("hop_limit", a.ah_attr.grh.hop_limit, 64);
	SAME("port_num", a.ah_attr.port_num, 1);
}

static void tells_cap(void)
{
	struct pair p = pair_of(IBV_QPT_RC);
	struct ibv_qp_attr a;

	state_of(p.qp[0], &a);
	if (a.cap.max_send_wr < 16 || a.cap.max_recv_wr < 16 || a.cap.max_send_sge < 2 ||
	    a.cap.max_recv_sge < 2)
		die("%u requests of %u pieces, %u receives of %u", a.cap.max_send_wr,
		    a.cap.max_send_sge, a.cap.max_recv_wr, a.cap.max_recv_sge);
}

static void tells_init(void)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1, .srq = make_srq(8) };
	struct pair p = pair_with(&init);
	struct ibv_qp_init_attr is = {};
	struct ibv_qp_attr a;

	must(error_of(ibv_query_qp(p.qp[1], &a, IBV_QP_STATE, &is)), "ibv_query_qp");
	if (is.send_cq != p.cq || is.recv_cq != p.cq || is.srq != init.srq || is.qp_type != IBV_QPT_RC)
		die("another queue or type");
	SAME("sq_sig_all", is.sq_sig_all, 1);
}

static void tells_qkey(void)
{
	struct ibv_qp_attr a;

	state_of(make_ud(QKEY).qp, &a);
	SAME("qkey", a.qkey, QKEY);
}

static const struct item qp_query_items[] = {
	TRY("port and P_Key", tells_port), TRY("access flags", tells_access),
	TRY("path_mtu", tells_mtu),
	TRY("dest_qp_num", tells_peer), TRY("rq_psn and sq_psn", tells_psn),
	TRY("max_rd_atomic and max_dest_rd_atomic", tells_reads),
	TRY("timeout, retry_cnt, rnr_retry, min_rnr_timer", tells_timers),
	TRY("address vector", tells_address), TRY("cap", tells_cap), TRY("init_attr", tells_init),
	TRY("qkey, UD", tells_qkey),
};

GROUP(qp_query, "ibv_query_qp");

/* ---- the rest ---- */

static void in_order(uint64_t opcode)
{
	struct pair p = pair_of(IBV_QPT_RC);
	int ret = ibv_query_qp_data_in_order(p.qp[0], opcode, 0);

	if (!ret)
		no_because("0");
}

static void rate_limit(void)
{
	struct ibv_qp_rate_limit_attr a = { .rate_limit = 1000000 };
	struct pair p = pair_of(IBV_QPT_RC);

	must(error_of(ibv_modify_qp_rate_limit(p.qp[0], &a)), "ibv_modify_qp_rate_limit");
}

static void rate_limit_attr(void)
{
	change((struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .rate_limit = 1000000 },
	       IBV_QP_STATE | IBV_QP_RATE_LIMIT, "rate_limit");
}

static void ece(void)
{
	struct ibv_ece e = {};

	must(error_of(ibv_query_ece(plain(IBV_QPT_RC), &e)), "ibv_query_ece");
	if (!e.vendor_id)
		no_because("of no vendor");
	must(error_of(ibv_set_ece(plain(IBV_QPT_RC), &e)), "ibv_set_ece");
}

static void open_qp(void)
{
	struct ibv_qp_open_attr a = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	a.qp_num = xrc_target(&a.xrcd)->qp_num;
	made(ibv_open_qp(ctx, &a), "ibv_open_qp");
}

static void create_flow(uint64_t type)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} f = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(f), .num_of_specs = 1, .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(f.eth) },
	};

	made(ibv_create_flow(plain(type), &f.attr), "ibv_create_flow");
}

static void create_counters(void)
{
	struct ibv_counters_init_attr a = {};

	made(ibv_create_counters(ctx, &a), "ibv_create_counters");
}

static void flow_action(void)
{
	struct ibv_flow_action_esp_attr a = {};

	made(ibv_create_flow_action_esp(ctx, &a), "ibv_create_flow_action_esp");
}

static const struct item qp_verbs_items[] = {
	TRY_WITH("ibv_query_qp_data_in_order, RDMA_WRITE", in_order, IBV_WR_RDMA_WRITE),
	TRY_WITH("ibv_query_qp_data_in_order, SEND", in_order, IBV_WR_SEND),
	TRY_WITH("ibv_query_qp_data_in_order, RDMA_READ", in_order, IBV_WR_RDMA_READ),
	TRY("ibv_modify_qp_rate_limit", rate_limit), TRY("IBV_QP_RATE_LIMIT", rate_limit_attr),
	TRY("ibv_query_ece, ibv_set_ece", ece), TRY("ibv_open_qp", open_qp),
	TRY_WITH("ibv_create_flow, UD", create_flow, IBV_QPT_UD),
	TRY_WITH("ibv_create_flow, RAW_PACKET", create_flow, IBV_QPT_RAW_PACKET),
	TRY("ibv_create_flow_action_esp", flow_action), TRY("ibv_create_counters", create_counters),
};

GROUP(qp_verbs, "other Verbs of queue pairs");
