// SPDX-License-Identifier: GPL-2.0
/*
 * Test of mroce-verbs: every operation on another's memory, by every kind of key with every
 * combination of rights. What the InfiniBand specification wants of each (9.7.5.2, 10.6, 11.6.2): the
 * status of the completion, the states of both queue pairs, the event at the responder, and the bytes.
 */
#include "verbs.h"

#define BLOCK	64
#define TO	(memory + MEMORY / 2)

enum kind {
	REGION, WINDOW_1, WINDOW_2,
	INVALIDATED,	/* a window of type 2, by LOCAL_INV */
	UNBOUND,	/* a window of type 1, by a bind of no length */
	DEREGISTERED,
	OTHER_DOMAIN,
	WRONG_KEY,	/* but for its low byte it is right */
	OTHER_WINDOW,	/* of type 2, of the other queue pair */
	OUTSIDE,	/* a byte more than there is */
	KINDS
};

static const char *const kinds[KINDS] = {
	"region", "window 1", "window 2", "invalidated", "unbound", "deregistered", "other domain",
	"wrong key", "other window", "outside",
};

static const struct {
	const char *name;
	enum ibv_wr_opcode opcode;
	int right;
	uint32_t length;
} operations[] = {
	{ "RDMA_WRITE", IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE, BLOCK },
	{ "RDMA_WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_ACCESS_REMOTE_WRITE, BLOCK },
	{ "RDMA_READ", IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ, BLOCK },
	{ "ATOMIC_CMP_AND_SWP", IBV_WR_ATOMIC_CMP_AND_SWP, IBV_ACCESS_REMOTE_ATOMIC, 8 },
	{ "ATOMIC_FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC, 8 },
};

#define OPERATIONS	(sizeof(operations) / sizeof(operations[0]))

/* what a key names, until it does no longer */
struct key {
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint32_t rkey;
};

static const int remote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
static char cell[128];

static struct ibv_mw_bind_info bind_info(struct ibv_mr *r, int rights)
{
	return (struct ibv_mw_bind_info){
		.mr = r, .addr = (uintptr_t)TO, .length = BLOCK, .mw_access_flags = rights,
	};
}

static void bind_by(struct pair *p, int which, struct key *k, int rights)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = k->mw, .rkey = ibv_inc_rkey(k->mw->rkey),
			     .bind_info = bind_info(k->mr, rights) },
	}, *bad;

	must(ibv_post_send(p->qp[which], &wr, &bad), cell);
	completes(p->cq, 1, IBV_WC_SUCCESS);
	k->rkey = wr.bind_mw.rkey;
}

static void window(struct pair *p, struct key *k, enum kind kind, int rights)
{
	bool first = kind == WINDOW_1 || kind == UNBOUND;
	struct ibv_send_wr inv = { .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED }, *bad;

	k->mr = made(ibv_reg_mr(k->pd, TO, BLOCK, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND),
		     cell);
	k->mw = made(ibv_alloc_mw(k->pd, first ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2), cell);
	if (!first) {
		bind_by(p, kind != OTHER_WINDOW, k, rights);
	} else {
		bind_1(p, k->mw, bind_info(k->mr, rights), IBV_WC_SUCCESS);
		k->rkey = k->mw->rkey;
	}
	if (kind == UNBOUND)
		bind_1(p, k->mw, (struct ibv_mw_bind_info){}, IBV_WC_SUCCESS);
	if (kind != INVALIDATED)
		return;
	inv.invalidate_rkey = k->rkey;
	must(ibv_post_send(p->qp[1], &inv, &bad), cell);
	completes(p->cq, 1, IBV_WC_SUCCESS);
}

static struct key make(struct pair *p, enum kind kind, int rights)
{
	struct key k = { .pd = pd };

	if (kind == OTHER_DOMAIN)
		k.pd = made(ibv_alloc_pd(ctx), cell);
	if (kind == WINDOW_1 || kind == WINDOW_2 || kind == INVALIDATED || kind == UNBOUND ||
	    kind == OTHER_WINDOW) {
		window(p, &k, kind, rights);
		return k;
	}
	/* who may write from afar may write here, or it is refused */
	k.mr = made(ibv_reg_mr(k.pd, TO, BLOCK, rights | IBV_ACCESS_LOCAL_WRITE), cell);
	k.rkey = k.mr->rkey ^ (kind == WRONG_KEY ? 0x41 : 0);
	if (kind == DEREGISTERED) {
		must(ibv_dereg_mr(k.mr), cell);
		k.mr = NULL;
	}
	return k;
}

static void unmake(struct key *k)
{
	if (k->mw)
		must(ibv_dealloc_mw(k->mw), cell);
	if (k->mr)
		must(ibv_dereg_mr(k->mr), cell);
	if (k->pd != pd)
		must(ibv_dealloc_pd(k->pd), cell);
}

static void check_bytes(unsigned int op, const uint8_t *before, const uint8_t *sent, bool good)
{
	uint64_t was;

	memcpy(&was, before, 8);
	switch (operations[op].opcode) {
	case IBV_WR_RDMA_READ:
		if (memcmp(TO, before, BLOCK) || (good && memcmp(memory, before, BLOCK)) ||
		    (!good && memcmp(memory, sent, BLOCK)))
			die("%s: the bytes are wrong", cell);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		if (good) {
			was = operations[op].opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? 5 : was + 5;
			if (memcmp(memory, before, 8))
				die("%s: the old value is wrong", cell);
		}
		if (memcmp(TO, &was, 8) || memcmp(TO + 8, before + 8, BLOCK - 8))
			die("%s: the bytes are wrong", cell);
		break;
	default:
		if (memcmp(TO, good ? sent : before, BLOCK))
			die("%s: the bytes are wrong", cell);
	}
}

static void in_state(struct ibv_qp *qp, enum ibv_qp_state want)
{
	time_t end = time(NULL) + patience;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	do {
		must(ibv_query_qp(qp, &a, IBV_QP_STATE, &init), cell);
		if (a.qp_state == want)
			return;
		/* the responder's end is told, and so seen, before it comes to its own */
	} while (time(NULL) <= end);
	die("%s: state %d, should be %d", cell, a.qp_state, want);
}

/* in order: the receive that it may need, the request, and what becomes of it */
static void operate(struct pair *p, unsigned int op, const struct key *k, uint32_t length,
		    enum ibv_wc_status want, enum ibv_event_type wrong)
{
	bool imm = operations[op].opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_sge sge = { (uintptr_t)memory, length, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = operations[op].opcode, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_recv_wr recv = { .wr_id = 2 }, *bad_recv;
	uint8_t before[BLOCK], sent[BLOCK];
	bool good = want == IBV_WC_SUCCESS;
	uint64_t was;
	int left = 1 + imm;

	fill(BLOCK);
	memcpy(before, TO, BLOCK);
	memcpy(sent, memory, BLOCK);
	memcpy(&was, before, 8);
	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)TO;
		wr.wr.atomic.rkey = k->rkey;
		wr.wr.atomic.compare_add = wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? was : 5;
		wr.wr.atomic.swap = 5;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)TO;
		wr.wr.rdma.rkey = k->rkey;
	}
	if (imm)
		must(ibv_post_recv(p->qp[1], &recv, &bad_recv), cell);
	must(ibv_post_send(p->qp[0], &wr, &bad), cell);
	while (left--) {
		struct ibv_wc wc = next_completion(p->cq);
		enum ibv_wc_status should = wc.wr_id == 1 ? want : good ? IBV_WC_SUCCESS :
								  IBV_WC_WR_FLUSH_ERR;

		if (wc.status != should)
			die("%s: the %s completes with %s, should be %s", cell,
			    wc.wr_id == 1 ? "request" : "receive", ibv_wc_status_str(wc.status),
			    ibv_wc_status_str(should));
	}
	check_bytes(op, before, sent, good);
	in_state(p->qp[0], good ? IBV_QPS_RTS : IBV_QPS_ERR);
	in_state(p->qp[1], good ? IBV_QPS_RTS : IBV_QPS_ERR);
	if (!good && !event(wrong, patience * 1000))
		die("%s: no event %s", cell, ibv_event_type_str(wrong));
	if (good && event(wrong, 0))
		die("%s: event %s", cell, ibv_event_type_str(wrong));
}

static void one(struct pair *p, unsigned int op, enum kind kind, int rights)
{
	/* an atomic is of 8 bytes, of which none may be outside: it is the Write's and Read's matter */
	bool outside = kind == OUTSIDE;
	bool valid = kind == REGION || kind == WINDOW_1 || kind == WINDOW_2;
	bool good = valid && rights & operations[op].right;
	struct key k;

	if (outside && operations[op].length == 8)
		return;
	snprintf(cell, sizeof(cell), "%s, %s, rights 0x%x", operations[op].name, kinds[kind], rights);
	k = make(p, kind, rights);
	operate(p, op, &k, operations[op].length + outside,
		good ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	if (!good)
		again(p);
	unmake(&k);
}

/* a queue pair that does not allow it, by a key that would */
static void queue_pair(struct pair *p, unsigned int op, int rights)
{
	struct ibv_qp_attr a = { .qp_access_flags = rights };
	bool good = rights & operations[op].right;
	struct key k;

	snprintf(cell, sizeof(cell), "%s, queue pair with rights 0x%x", operations[op].name, rights);
	must(ibv_modify_qp(p->qp[1], &a, IBV_QP_ACCESS_FLAGS), cell);
	k = make(p, REGION, remote);
	operate(p, op, &k, operations[op].length, good ? IBV_WC_SUCCESS : IBV_WC_REM_INV_REQ_ERR,
		IBV_EVENT_QP_REQ_ERR);
	a.qp_access_flags = remote;
	if (good)
		must(ibv_modify_qp(p->qp[1], &a, IBV_QP_ACCESS_FLAGS), cell);
	else
		again(p);
	unmake(&k);
}

void test_rights(void)
{
	static const int bits[] = {
		IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_ATOMIC,
	};
	struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
				  .max_recv_sge = 1 };
	struct pair p = connected(&cap, NULL, 64, 4);
	unsigned int op, kind, set, i, cells = 0;

	for (op = 0; op < OPERATIONS; op++)
		for (set = 0; set < 8; set++) {
			int rights = 0;

			for (i = 0; i < 3; i++)
				rights |= set & 1U << i ? bits[i] : 0;
			for (kind = 0; kind < KINDS; kind++, cells++)
				one(&p, op, kind, rights);
			queue_pair(&p, op, rights);
			cells++;
		}
	printf("%u cells\n", cells);
	disconnect(&p);
}
