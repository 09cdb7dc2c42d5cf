// SPDX-License-Identifier: GPL-2.0
/*
 * Things that mroce-probe tries: every opcode, by both interfaces and over each type of queue
 * pair, with a look at the bytes and at both completions; and the flags of requests.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#include "datagrams.h"
#include "probe.h"

#define BYTES		3000	/* several packets */
#define IMMEDIATE	0x1badcafe
/* newer than these headers */
#define WR_FLUSH	14
#define EX_WITH_FLUSH	(1 << 11)

struct pair pair_with(const struct ibv_qp_init_attr_ex *init)
{
	unsigned int reads = dev.max_qp_rd_atom < 4 ? dev.max_qp_rd_atom : 4;
	struct pair p;
	int i;

	p.cq = made(ibv_create_cq(ctx, 64, NULL, NULL, 0), "ibv_create_cq");
	for (i = 0; i < 2; i++) {
		struct ibv_qp_init_attr_ex a = *init;

		a.pd = pd;
		a.comp_mask |= IBV_QP_INIT_ATTR_PD;
		a.send_cq = p.cq;
		a.recv_cq = p.cq;
		a.cap.max_send_wr = 16;
		a.cap.max_recv_wr = 16;
		a.cap.max_send_sge = 2;
		a.cap.max_recv_sge = 2;
		if (!i)
			a.srq = NULL;
		/* devices may have the plain call only */
		if (a.comp_mask == IBV_QP_INIT_ATTR_PD)
			p.qp[i] = made(ibv_create_qp(pd, (struct ibv_qp_init_attr *)&a),
				       "ibv_create_qp");
		else
			p.qp[i] = made(ibv_create_qp_ex(ctx, &a), "ibv_create_qp_ex");
	}
	connect_pair(&p, reads);
	return p;
}

struct pair pair_of(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = type };

	return pair_with(&init);
}

struct ibv_srq *make_srq(uint32_t wr)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = wr, .max_sge = 2 } };

	return made(ibv_create_srq(pd, &init), "ibv_create_srq");
}

/* ---- one request, by either interface ---- */

static int post_ex(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_qp_ex *q = ibv_qp_to_qp_ex(qp);
	const uint64_t addr = wr->wr.rdma.remote_addr;
	const uint32_t key = wr->wr.rdma.rkey;
	bool data = true;

	if (!q)
		no(EOPNOTSUPP, "ibv_qp_to_qp_ex");
	ibv_wr_start(q);
	q->wr_id = wr->wr_id;
	q->wr_flags = wr->send_flags & ~IBV_SEND_INLINE;
	switch ((int)wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(q);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(q, wr->imm_data);
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(q, wr->invalidate_rkey);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(q, key, addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(q, key, addr, wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(q, key, addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(q, wr->wr.atomic.rkey, addr, wr->wr.atomic.compare_add,
				      wr->wr.atomic.swap);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(q, wr->wr.atomic.rkey, addr, wr->wr.atomic.compare_add);
		break;
	case IBV_WR_ATOMIC_WRITE:
		ibv_wr_atomic_write(q, key, addr, memory);
		data = false;
		break;
	case IBV_WR_LOCAL_INV:
		ibv_wr_local_inv(q, wr->invalidate_rkey);
		data = false;
		break;
	case IBV_WR_BIND_MW:
		ibv_wr_bind_mw(q, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
		data = false;
		break;
	}
	if (qp->qp_type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(q, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	if (data && wr->send_flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(q, (void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
	else if (data)
		ibv_wr_set_sge_list(q, wr->num_sge, wr->sg_list);
	return ibv_wr_complete(q);
}

static void post(struct ibv_qp *qp, struct ibv_send_wr *wr, bool ex)
{
	struct ibv_send_wr *bad;

	wr->wr_id = 1;
	wr->send_flags |= IBV_SEND_SIGNALED;
	if (ex)
		must(error_of(post_ex(qp, wr)), "ibv_wr_complete");
	else
		must(error_of(ibv_post_send(qp, wr, &bad)), "ibv_post_send");
}

static const char *const wc_names[] = {
	"SEND", "RDMA_WRITE", "RDMA_READ", "COMP_SWAP", "FETCH_ADD", "BIND_MW", "LOCAL_INV",
};

/* the request's completion, and the receive's if there is one */
static struct ibv_wc both(struct pair *p, enum ibv_wc_opcode opcode, bool receives)
{
	struct ibv_wc got = {}, wc;
	bool sent = false;

	while (!sent || receives) {
		wc = next_completion(p->cq);
		if (wc.status)
			no_because("completion: %s", ibv_wc_status_str(wc.status));
		if (!wc.wr_id) {
			receives = false;
			got = wc;
			continue;
		}
		sent = true;
		if (wc.opcode != opcode)
			die("the completion is of opcode %d, not %s", wc.opcode, wc_names[opcode]);
	}
	return got;
}

static void check_receive(const struct ibv_wc *wc, enum ibv_wc_opcode opcode, bool imm, uint32_t length)
{
	if (wc->opcode != opcode)
		die("the receive is of opcode %d", wc->opcode);
	if (wc->byte_len != length)
		die("the receive is of %u bytes, not %u", wc->byte_len, length);
	if (!!(wc->wc_flags & IBV_WC_WITH_IMM) != imm || (imm && ntohl(wc->imm_data) != IMMEDIATE))
		die("immediate data: flags %#x, %#x", wc->wc_flags, ntohl(wc->imm_data));
}

/* on iWARP a Write is complete once it is sent */
static void has_come(const void *from, const void *to, size_t size)
{
	time_t end = time(NULL) + patience;

	while (memcmp(from, to, size))
		if (!iwarp() || time(NULL) > end)
			die("wrong bytes arrived");
}

/* ---- opcodes ---- */

static void sends(struct pair *p, struct ibv_send_wr *wr, bool ex)
{
	bool imm = wr->opcode == IBV_WR_SEND_WITH_IMM;
	struct ibv_sge to = { (uintptr_t)FAR, BYTES + 100, mr->lkey };
	struct ibv_wc wc;

	must(error_of(post_recv(p->qp[1], p->qp[1]->srq, &to, 1)), "ibv_post_recv");
	post(p->qp[0], wr, ex);
	wc = both(p, IBV_WC_SEND, true);
	check_receive(&wc, IBV_WC_RECV, imm, wr->sg_list->length);
	has_come((void *)(uintptr_t)wr->sg_list->addr, FAR, wr->sg_list->length);
}

static void writes(struct pair *p, struct ibv_send_wr *wr, bool ex)
{
	bool imm = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_sge unused = { (uintptr_t)memory, 8, mr->lkey };
	struct ibv_wc wc;

	if (imm)
		must(error_of(post_recv(p->qp[1], NULL, &unused, 1)), "ibv_post_recv");
	post(p->qp[0], wr, ex);
	wc = both(p, IBV_WC_RDMA_WRITE, imm);
	if (imm)
		check_receive(&wc, IBV_WC_RECV_RDMA_WITH_IMM, true, wr->sg_list->length);
	has_come(memory, FAR, wr->sg_list->length);
}

static void reads(struct pair *p, struct ibv_send_wr *wr, bool ex)
{
	post(p->qp[0], wr, ex);
	both(p, IBV_WC_RDMA_READ, false);
	arrived(wr->sg_list->length, "a Read");
}

static void atomics(struct pair *p, struct ibv_send_wr *wr, bool ex)
{
	bool swap = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	uint64_t *near = (uint64_t *)memory, *far = (uint64_t *)FAR;
	int i;

	wr->wr.atomic.remote_addr = (uintptr_t)FAR;
	wr->wr.atomic.rkey = mr->rkey;
	wr->wr.atomic.compare_add = swap ? 40 : 5;
	wr->wr.atomic.swap = 45;
	wr->sg_list->length = 8;
	/* the second finds another value, so that a swap does nothing */
	*far = 40;
	for (i = 0; i < 2; i++) {
		uint64_t was = *far, is = swap ? 45 : was + 5;

		*near = 0;
		post(p->qp[0], wr, ex);
		both(p, swap ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD, false);
		if (*near != was || *far != is)
			die("of %llu it made %llu, and told %llu", (unsigned long long)was,
			    (unsigned long long)*far, (unsigned long long)*near);
	}
}

/* a key that the second queue pair may invalidate: a window's, or if there are none a region's */
static uint32_t a_key(struct pair *p)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_mr *r = made(ibv_reg_mr(pd, FAR, BYTES, RIGHTS | (mw ? IBV_ACCESS_MW_BIND : 0)),
				"ibv_reg_mr");
	struct ibv_mw_bind_info info = {
		.mr = r, .addr = (uintptr_t)FAR, .length = BYTES,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	return mw ? bind_2(p, mw, info, IBV_WC_SUCCESS) : r->rkey;
}

static void binds(struct pair *p, struct ibv_send_wr *wr, bool ex)
{
	struct ibv_mw *mw = made(ibv_alloc_mw(pd, IBV_MW_TYPE_2), "ibv_alloc_mw");

	wr->num_sge = 0;
	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr->bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = made(ibv_reg_mr(pd, FAR, BYTES, RIGHTS | IBV_ACCESS_MW_BIND), "ibv_reg_mr"),
		.addr = (uintptr_t)FAR, .length = BYTES, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	post(p->qp[1], wr, ex);
	both(p, IBV_WC_BIND_MW, false);
	reaches(p, FAR, (uintptr_t)FAR, wr->bind_mw.rkey);
}

static void invalidates(struct pair *p, struct ibv_send_wr *wr, bool ex)
{
	bool remote = wr->opcode == IBV_WR_SEND_WITH_INV;
	uint32_t key = a_key(p);
	struct ibv_sge to = { (uintptr_t)FAR, BYTES, mr->lkey };
	struct ibv_wc wc;

	reaches(p, FAR, (uintptr_t)FAR, key);
	wr->invalidate_rkey = key;
	if (remote)
		must(error_of(post_recv(p->qp[1], NULL, &to, 1)), "ibv_post_recv");
	else
		wr->num_sge = 0;
	post(p->qp[!remote], wr, ex);
	wc = both(p, remote ? IBV_WC_SEND : IBV_WC_LOCAL_INV, remote);
	if (remote && (!(wc.wc_flags & IBV_WC_WITH_INV) || wc.invalidated_rkey != key))
		die("the receive does not tell which key: flags %#x", wc.wc_flags);
	denied(p, FAR, (uintptr_t)FAR, key, IBV_WC_REM_ACCESS_ERR);
}

static void atomic_write(struct pair *p, struct ibv_send_wr *wr, bool ex)
{
	wr->sg_list->length = 8;
	post(p->qp[0], wr, ex);
	both(p, (enum ibv_wc_opcode)IBV_WC_ATOMIC_WRITE, false);
	arrived(8, "an ATOMIC_WRITE");
}

static void run(struct pair *p, int opcode, bool ex)
{
	struct ibv_sge from = { (uintptr_t)memory, BYTES, mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = opcode, .sg_list = &from, .num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)FAR, .rkey = mr->rkey },
	};

	fill(BYTES);
	/* one union with invalidate_rkey */
	if (opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wr.imm_data = htonl(IMMEDIATE);
	switch (opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		sends(p, &wr, ex);
		break;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		writes(p, &wr, ex);
		break;
	case IBV_WR_RDMA_READ:
		reads(p, &wr, ex);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		atomics(p, &wr, ex);
		break;
	case IBV_WR_LOCAL_INV:
	case IBV_WR_SEND_WITH_INV:
		invalidates(p, &wr, ex);
		break;
	case IBV_WR_BIND_MW:
		binds(p, &wr, ex);
		break;
	case IBV_WR_ATOMIC_WRITE:
		atomic_write(p, &wr, ex);
		break;
	}
}

static const uint32_t send_ops[] = {
	[IBV_WR_SEND] = IBV_QP_EX_WITH_SEND, [IBV_WR_SEND_WITH_IMM] = IBV_QP_EX_WITH_SEND_WITH_IMM,
	[IBV_WR_SEND_WITH_INV] = IBV_QP_EX_WITH_SEND_WITH_INV,
	[IBV_WR_RDMA_WRITE] = IBV_QP_EX_WITH_RDMA_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
	[IBV_WR_RDMA_READ] = IBV_QP_EX_WITH_RDMA_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	[IBV_WR_LOCAL_INV] = IBV_QP_EX_WITH_LOCAL_INV, [IBV_WR_BIND_MW] = IBV_QP_EX_WITH_BIND_MW,
	[IBV_WR_TSO] = IBV_QP_EX_WITH_TSO, [WR_FLUSH] = EX_WITH_FLUSH,
	[IBV_WR_ATOMIC_WRITE] = IBV_QP_EX_WITH_ATOMIC_WRITE,
};

static struct ibv_qp_init_attr_ex init_of(enum ibv_qp_type type, int opcode)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .send_ops_flags = send_ops[opcode],
	};
}

static void rc_by_post(uint64_t opcode)
{
	struct pair p = pair_of(IBV_QPT_RC);

	run(&p, opcode, false);
}

static void uc_by_post(uint64_t opcode)
{
	struct pair p = pair_of(IBV_QPT_UC);

	run(&p, opcode, false);
}

static struct pair pair_ex(enum ibv_qp_type type, uint64_t opcode)
{
	struct ibv_qp_init_attr_ex init = init_of(type, opcode);
	struct pair p = pair_with(&init);

	if (opcode == WR_FLUSH)
		untried("these headers have no ibv_wr_flush()");
	return p;
}

static void rc_by_wr(uint64_t opcode)
{
	struct pair p = pair_ex(IBV_QPT_RC, opcode);

	run(&p, opcode, true);
}

static void uc_by_wr(uint64_t opcode)
{
	struct pair p = pair_ex(IBV_QPT_UC, opcode);

	run(&p, opcode, true);
}

#define CONNECTED(by)	\
	TRY_WITH("SEND", by, IBV_WR_SEND), TRY_WITH("SEND_WITH_IMM", by, IBV_WR_SEND_WITH_IMM), \
	TRY_WITH("SEND_WITH_INV", by, IBV_WR_SEND_WITH_INV), \
	TRY_WITH("RDMA_WRITE", by, IBV_WR_RDMA_WRITE), \
	TRY_WITH("RDMA_WRITE_WITH_IMM", by, IBV_WR_RDMA_WRITE_WITH_IMM), \
	TRY_WITH("RDMA_READ", by, IBV_WR_RDMA_READ), \
	TRY_WITH("ATOMIC_CMP_AND_SWP", by, IBV_WR_ATOMIC_CMP_AND_SWP), \
	TRY_WITH("ATOMIC_FETCH_AND_ADD", by, IBV_WR_ATOMIC_FETCH_AND_ADD), \
	TRY_WITH("LOCAL_INV", by, IBV_WR_LOCAL_INV), TRY_WITH("BIND_MW", by, IBV_WR_BIND_MW), \
	TRY_WITH("ATOMIC_WRITE", by, IBV_WR_ATOMIC_WRITE)

/* of FLUSH a request of ibv_post_send() could not say how much and how far */
static const struct item rc_post_items[] = { CONNECTED(rc_by_post) };
static const struct item rc_wr_items[] = { CONNECTED(rc_by_wr), TRY_WITH("FLUSH", rc_by_wr, WR_FLUSH) };
static const struct item uc_post_items[] = { CONNECTED(uc_by_post) };
static const struct item uc_wr_items[] = { CONNECTED(uc_by_wr), TRY_WITH("FLUSH", uc_by_wr, WR_FLUSH) };

GROUP(rc_post, "RC, ibv_post_send");
GROUP(rc_wr, "RC, ibv_wr");
GROUP(uc_post, "UC, ibv_post_send");
GROUP(uc_wr, "UC, ibv_wr");

/* ---- datagrams ---- */

static struct ud ud_ex(uint64_t opcode)
{
	struct ibv_qp_init_attr_ex init = init_of(IBV_QPT_UD, opcode);
	struct ud u;

	u.cq = made(ibv_create_cq(ctx, 64, NULL, NULL, 0), "ibv_create_cq");
	init.pd = pd;
	init.comp_mask |= IBV_QP_INIT_ATTR_PD;
	init.send_cq = u.cq;
	init.recv_cq = u.cq;
	init.cap = (struct ibv_qp_cap){ .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 2,
					.max_recv_sge = 4 };
	u.qp = made(ibv_create_qp_ex(ctx, &init), "ibv_create_qp_ex");
	ready_ud(u.qp, QKEY);
	return u;
}

static void datagram(struct ud *u, uint64_t opcode, bool ex)
{
	struct pair self_pair = { .cq = u->cq, .qp = { u->qp, u->qp } };
	struct ibv_sge from = { (uintptr_t)memory, 1000, mr->lkey };
	struct ibv_ah_attr attr = self();
	struct ibv_send_wr wr = {
		.opcode = opcode, .sg_list = &from, .num_sge = 1, .imm_data = htonl(IMMEDIATE),
		.wr.ud = { .remote_qpn = u->qp->qp_num, .remote_qkey = QKEY },
	};
	struct ibv_wc wc;

	wr.wr.ud.ah = made(ibv_create_ah(pd, &attr), "ibv_create_ah");
	fill(2000);
	receive_at(u, 0, 1000);
	post(u->qp, &wr, ex);
	wc = both(&self_pair, IBV_WC_SEND, true);
	check_receive(&wc, IBV_WC_RECV, opcode == IBV_WR_SEND_WITH_IMM, 1000 + GRH);
	got(0, 1000, "a datagram");
}

static void ud_by_post(uint64_t opcode)
{
	struct ud u = make_ud(QKEY);

	datagram(&u, opcode, false);
}

static void ud_by_wr(uint64_t opcode)
{
	struct ud u = ud_ex(opcode);

	datagram(&u, opcode, true);
}

#define UNCONNECTED(by) \
	TRY_WITH("SEND", by, IBV_WR_SEND), TRY_WITH("SEND_WITH_IMM", by, IBV_WR_SEND_WITH_IMM)

static const struct item ud_post_items[] = { UNCONNECTED(ud_by_post) };
static const struct item ud_wr_items[] = { UNCONNECTED(ud_by_wr) };

GROUP(ud_post, "UD, ibv_post_send");
GROUP(ud_wr, "UD, ibv_wr");

/* ---- flags of requests ---- */

static struct pair signalling(bool all)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RC, .sq_sig_all = all };

	return pair_with(&init);
}

static void plain_write(struct pair *p, unsigned int flags)
{
	struct ibv_sge from = { (uintptr_t)memory, 8, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = flags, .opcode = IBV_WR_RDMA_WRITE, .sg_list = &from, .num_sge = 1,
		.send_flags = flags, .wr.rdma = { (uintptr_t)FAR, mr->rkey },
	}, *bad;

	must(error_of(ibv_post_send(p->qp[0], &wr, &bad)), "ibv_post_send");
}

/* of two requests only the second shows */
static void signaled(void)
{
	struct pair p = signalling(false);
	struct ibv_wc wc;

	plain_write(&p, 0);
	plain_write(&p, IBV_SEND_SIGNALED);
	wc = next_completion(p.cq);
	if (wc.status)
		no_because("completion: %s", ibv_wc_status_str(wc.status));
	if (wc.wr_id != IBV_SEND_SIGNALED || ibv_poll_cq(p.cq, 1, &wc))
		die("a request without the flag has a completion");
}

static void sq_sig_all(void)
{
	struct pair p = signalling(true);

	plain_write(&p, 0);
	plain_write(&p, 0);
	completes(p.cq, 2, IBV_WC_SUCCESS);
}

/* the buffer may be written to as soon as it is posted, and needs no key */
static void inlined(void)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RC, .cap.max_inline_data = 64 };
	struct pair p = pair_with(&init);
	struct ibv_sge from = { (uintptr_t)memory, 60, 0 }, to = { (uintptr_t)FAR, 64, mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .sg_list = &from, .num_sge = 1, .send_flags = IBV_SEND_INLINE,
	};
	uint8_t was[60];

	fill(60);
	memcpy(was, memory, 60);
	must(error_of(post_recv(p.qp[1], NULL, &to, 1)), "ibv_post_recv");
	post(p.qp[0], &wr, false);
	memset(memory, 0, 60);
	both(&p, IBV_WC_SEND, true);
	if (memcmp(was, FAR, 60))
		die("wrong bytes arrived");
}

/* what a Read has brought is sent, and not what was there before it */
static void fence(void)
{
	struct pair p = pair_of(IBV_QPT_RC);
	uint8_t *between = memory + MEMORY / 4, *to = memory + MEMORY * 3 / 4;
	struct ibv_sge into = { (uintptr_t)between, 8000, mr->lkey };
	struct ibv_sge at = { (uintptr_t)to, 8000, mr->lkey };
	struct ibv_send_wr read = { .wr_id = 1, .opcode = IBV_WR_RDMA_READ, .sg_list = &into,
				    .num_sge = 1, .wr.rdma = { (uintptr_t)FAR, mr->rkey } }, *bad;
	struct ibv_send_wr send = { .wr_id = 1, .opcode = IBV_WR_SEND, .sg_list = &into, .num_sge = 1,
				    .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE };
	int i;

	read.next = &send;
	for (i = 0; i < 20; i++) {
		fill(8000);
		memset(between, 0, 8000);
		must(error_of(post_recv(p.qp[1], NULL, &at, 1)), "ibv_post_recv");
		must(error_of(ibv_post_send(p.qp[0], &read, &bad)), "ibv_post_send");
		both(&p, IBV_WC_SEND, true);
		if (memcmp(FAR, to, 8000))
			die("what was sent is not what the Read before it brought");
	}
}

/* the receiver's event comes with the flag only */
static void solicited(void)
{
	struct ibv_comp_channel *channel = made(ibv_create_comp_channel(ctx), "ibv_create_comp_channel");
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *with_events = made(ibv_create_cq(ctx, 16, NULL, channel, 0), "ibv_create_cq");
	struct ibv_sge to = { (uintptr_t)FAR, BYTES, mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct pair p;
	int i;

	p.cq = made(ibv_create_cq(ctx, 16, NULL, NULL, 0), "ibv_create_cq");
	init.send_cq = p.cq;
	for (i = 0; i < 2; i++) {
		init.recv_cq = i ? with_events : p.cq;
		p.qp[i] = made(ibv_create_qp(pd, &init), "ibv_create_qp");
	}
	connect_pair(&p, 1);
	must(error_of(ibv_req_notify_cq(with_events, 1)), "ibv_req_notify_cq");
	for (i = 0; i < 2; i++)
		must(error_of(post_recv(p.qp[1], NULL, &to, 1)), "ibv_post_recv");
	post(p.qp[0], &wr, false);
	both(&p, IBV_WC_SEND, false);
	completes(with_events, 1, IBV_WC_SUCCESS);
	if (poll(&fd, 1, 100))
		die("an event without the flag");
	wr.send_flags = IBV_SEND_SOLICITED;
	post(p.qp[0], &wr, false);
	if (poll(&fd, 1, patience * 1000) != 1)
		die("no event with the flag");
}

/* a receiver that has checked it says so */
static void ip_csum(void)
{
	struct ud u = make_ud(QKEY);
	struct ibv_sge from = { (uintptr_t)memory, 100, mr->lkey };
	struct ibv_ah_attr attr = self();
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .sg_list = &from, .num_sge = 1, .send_flags = IBV_SEND_IP_CSUM,
		.wr.ud = { .remote_qpn = u.qp->qp_num, .remote_qkey = QKEY },
	};
	struct pair p = { .cq = u.cq, .qp = { u.qp, u.qp } };

	wr.wr.ud.ah = made(ibv_create_ah(pd, &attr), "ibv_create_ah");
	receive_at(&u, 0, 1000);
	post(u.qp, &wr, false);
	if (!(both(&p, IBV_WC_SEND, true).wc_flags & IBV_WC_IP_CSUM_OK))
		die("accepted, and without effect");
}

static void two_pieces(void)
{
	struct pair p = pair_of(IBV_QPT_RC);
	struct ibv_sge from[2] = { { (uintptr_t)memory, 1, mr->lkey },
				   { (uintptr_t)memory + 1, BYTES - 1, mr->lkey } };
	struct ibv_sge to[2] = { { (uintptr_t)FAR, 1700, mr->lkey },
				 { (uintptr_t)FAR + 1700, BYTES - 1700, mr->lkey } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = from, .num_sge = 2 };

	fill(BYTES);
	must(error_of(post_recv(p.qp[1], NULL, to, 2)), "ibv_post_recv");
	post(p.qp[0], &wr, false);
	both(&p, IBV_WC_SEND, true);
	arrived(BYTES, "pieces");
}

static void shared_receives(void)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RC, .srq = make_srq(8) };
	struct pair p = pair_with(&init);

	run(&p, IBV_WR_SEND, false);
}

static const struct item send_flags_items[] = {
	TRY("IBV_SEND_SIGNALED", signaled), TRY("sq_sig_all", sq_sig_all),
	TRY("IBV_SEND_INLINE", inlined), TRY("IBV_SEND_FENCE", fence),
	TRY("IBV_SEND_SOLICITED", solicited), TRY("IBV_SEND_IP_CSUM", ip_csum),
	TRY("two pieces at both ends", two_pieces), TRY("to a shared receive queue", shared_receives),
};

GROUP(send_flags, "requests");
