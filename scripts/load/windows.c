// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of mroce-verbs: memory windows, and regions that are registered anew.
 */
#include "verbs.h"

#define WINDOW	(memory + MEMORY / 2 + 8192) /* crosses no border of the region, nor starts at one */
#define BYTES	8000

static struct ibv_mr *bindable;

static struct pair with_region(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
				  .max_recv_sge = 1 };

	/* rights of the window are its own, whatever the region's */
	bindable = made(ibv_reg_mr(pd, memory + MEMORY / 2, MEMORY / 2,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND), "ibv_reg_mr");
	return connected(&cap, NULL, 64, 4);
}

static struct ibv_mw_bind_info window(void *at, size_t length, int access)
{
	return (struct ibv_mw_bind_info){
		.mr = bindable, .addr = (uintptr_t)at, .length = length, .mw_access_flags = access,
	};
}

static void writes(struct pair *p, uint64_t to, uint32_t rkey, const char *what)
{
	fill(BYTES);
	memcpy(memory + MEMORY / 2, memory, BYTES);
	memset(WINDOW - 1, 0, BYTES + 2);
	access_by(p, 0, IBV_WR_RDMA_WRITE, to, BYTES, rkey, IBV_WC_SUCCESS);
	if (memcmp(WINDOW, memory, BYTES) || WINDOW[-1] || WINDOW[BYTES])
		die("%s: wrong bytes arrived", what);
}

static void denied(struct pair *p, enum ibv_wr_opcode opcode, uint64_t to, size_t length,
		   uint32_t rkey)
{
	access_by(p, 0, opcode, to, length, rkey, IBV_WC_REM_ACCESS_ERR);
	again(p);
}

void test_window_2(void)
{
	const int rw = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct pair p = with_region();
	struct ibv_mw *mw = made(ibv_alloc_mw(pd, IBV_MW_TYPE_2), "ibv_alloc_mw");
	struct ibv_sge sge = { (uintptr_t)WINDOW, 8, 0 };
	struct ibv_send_wr local = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };
	uint64_t at = (uintptr_t)WINDOW;
	uint32_t key;

	denied(&p, IBV_WR_RDMA_WRITE, at, 8, mw->rkey);
	key = bind_2(&p, mw, window(WINDOW, BYTES, rw), IBV_WC_SUCCESS);
	writes(&p, at, key, "a window");
	memset(memory, 0, BYTES);
	access_by(&p, 0, IBV_WR_RDMA_READ, at, BYTES, key, IBV_WC_SUCCESS);
	if (memcmp(WINDOW, memory, BYTES))
		die("wrong bytes were read");

	/* what it does not cover, and what it does not allow */
	denied(&p, IBV_WR_RDMA_WRITE, at - 1, 8, key);
	denied(&p, IBV_WR_RDMA_WRITE, at + BYTES - 7, 8, key);
	denied(&p, IBV_WR_RDMA_READ, at + 1, BYTES, key);
	denied(&p, IBV_WR_RDMA_WRITE, at, 8, bindable->rkey);
	denied(&p, IBV_WR_RDMA_WRITE, at, 8, mw->rkey);
	atomic_by(&p, at, key, IBV_WC_REM_ACCESS_ERR);
	again(&p);
	/* nor may it be named where a local key belongs */
	sge.lkey = key;
	must(post_send(p.qp[0], &local), "a request");
	completes(p.cq, 1, IBV_WC_LOC_PROT_ERR);
	again(&p);
	refused(ibv_dereg_mr(bindable), EBUSY);
	refused(ibv_rereg_mr(bindable, IBV_REREG_MR_CHANGE_ACCESS, pd, NULL, 0,
			     IBV_ACCESS_LOCAL_WRITE), IBV_REREG_MR_ERR_CMD);
	must(ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	denied(&p, IBV_WR_RDMA_WRITE, at, 8, key);
	must(ibv_dereg_mr(bindable), "ibv_dereg_mr");
	disconnect(&p);
}

void test_window_2_atomic(void)
{
	struct pair p = with_region();
	struct ibv_mw *mw = made(ibv_alloc_mw(pd, IBV_MW_TYPE_2), "ibv_alloc_mw");
	uint64_t *counter = (uint64_t *)WINDOW;
	uint32_t key;

	*counter = 41;
	key = bind_2(&p, mw, window(counter, 8, IBV_ACCESS_REMOTE_ATOMIC), IBV_WC_SUCCESS);
	atomic_by(&p, (uintptr_t)counter, key, IBV_WC_SUCCESS);
	if (*counter != 42 || *(uint64_t *)memory != 41)
		die("41 and 1 are %llu", (unsigned long long)*counter);
	denied(&p, IBV_WR_RDMA_READ, (uintptr_t)counter, 8, key);
	must(ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	must(ibv_dereg_mr(bindable), "ibv_dereg_mr");
	disconnect(&p);
}

/* by the owner, by its peer, and by nobody else */
void test_window_2_invalidate(void)
{
	const int rw = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct pair p = with_region(), other;
	struct ibv_mw *mw = made(ibv_alloc_mw(pd, IBV_MW_TYPE_2), "ibv_alloc_mw");
	struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED }, *bad;
	uint64_t at = (uintptr_t)WINDOW;
	struct ibv_wc wc;

	wr.invalidate_rkey = bind_2(&p, mw, window(WINDOW, BYTES, rw), IBV_WC_SUCCESS);
	writes(&p, at, wr.invalidate_rkey, "a window");
	must(ibv_post_send(p.qp[1], &wr, &bad), "LOCAL_INV");
	completes(p.cq, 1, IBV_WC_SUCCESS);
	denied(&p, IBV_WR_RDMA_WRITE, at, 8, wr.invalidate_rkey);

	mw->rkey = wr.invalidate_rkey;
	wr.invalidate_rkey = bind_2(&p, mw, window(WINDOW, BYTES, rw), IBV_WC_SUCCESS);
	writes(&p, at, wr.invalidate_rkey, "a window that is bound again");
	must(post_recv(p.qp[1], NULL, NULL, 0), "a receive");
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.send_flags = 0;
	must(ibv_post_send(p.qp[0], &wr, &bad), "SEND_WITH_INV");
	while (!ibv_poll_cq(p.cq, 1, &wc))
		;
	if (wc.status || wc.opcode != IBV_WC_RECV || !(wc.wc_flags & IBV_WC_WITH_INV) ||
	    wc.invalidated_rkey != wr.invalidate_rkey)
		die("no receive that tells of an invalidation");
	denied(&p, IBV_WR_RDMA_WRITE, at, 8, wr.invalidate_rkey);

	mw->rkey = wr.invalidate_rkey;
	wr.invalidate_rkey = bind_2(&p, mw, window(WINDOW, BYTES, rw), IBV_WC_SUCCESS);
	other = connected(&cap, NULL, 64, 4);
	access_by(&other, 0, IBV_WR_RDMA_WRITE, at, 8, wr.invalidate_rkey, IBV_WC_REM_ACCESS_ERR);
	again(&other);
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.send_flags = IBV_SEND_SIGNALED;
	must(ibv_post_send(other.qp[1], &wr, &bad), "LOCAL_INV of another");
	completes(other.cq, 1, IBV_WC_LOC_PROT_ERR);
	writes(&p, at, wr.invalidate_rkey, "a window that others do not reach");
	disconnect(&other);

	must(ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	must(ibv_dereg_mr(bindable), "ibv_dereg_mr");
	disconnect(&p);
}

void test_window_2_zero_based(void)
{
	struct pair p = with_region();
	struct ibv_mw *mw = made(ibv_alloc_mw(pd, IBV_MW_TYPE_2), "ibv_alloc_mw");
	uint32_t key = bind_2(&p, mw, window(WINDOW, BYTES, IBV_ACCESS_REMOTE_WRITE |
					     IBV_ACCESS_ZERO_BASED), IBV_WC_SUCCESS);

	writes(&p, 0, key, "a window from 0 on");
	denied(&p, IBV_WR_RDMA_WRITE, 1, BYTES, key);
	denied(&p, IBV_WR_RDMA_WRITE, (uintptr_t)WINDOW, 8, key);
	must(ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	must(ibv_dereg_mr(bindable), "ibv_dereg_mr");
	disconnect(&p);
}

void test_window_2_bad_binds(void)
{
	struct pair p = with_region();
	struct ibv_mw *mw = made(ibv_alloc_mw(pd, IBV_MW_TYPE_2), "ibv_alloc_mw");
	struct ibv_mw_bind_info bad[] = {
		window(WINDOW, 0, IBV_ACCESS_REMOTE_READ),
		window(memory + MEMORY / 2 - 1, 8, IBV_ACCESS_REMOTE_READ),
		window(memory + MEMORY - 7, 8, IBV_ACCESS_REMOTE_READ),
		window(WINDOW, UINT64_MAX, IBV_ACCESS_REMOTE_READ),
		window(WINDOW, 8, 1 << 10),
		window(memory, 8, IBV_ACCESS_REMOTE_READ),
		window(WINDOW, 8, IBV_ACCESS_REMOTE_WRITE),
	};
	struct ibv_mr *reader;
	unsigned int i, n = sizeof(bad) / sizeof(bad[0]);

	/* of a region that may not be bound to, and one that may not be written to */
	bad[n - 2].mr = mr;
	reader = made(ibv_reg_mr(pd, memory + MEMORY / 2, MEMORY / 2, IBV_ACCESS_MW_BIND),
		      "ibv_reg_mr");
	bad[n - 1].mr = reader;
	for (i = 0; i < n; i++) {
		bind_2(&p, mw, bad[i], IBV_WC_MW_BIND_ERR);
		again(&p);
	}
	bad[n - 1].mw_access_flags = IBV_ACCESS_REMOTE_READ;
	mw->rkey = bind_2(&p, mw, bad[n - 1], IBV_WC_SUCCESS);
	/* bound already */
	bind_2(&p, mw, bad[n - 1], IBV_WC_MW_BIND_ERR);
	again(&p);
	must(ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	must(ibv_dereg_mr(reader), "ibv_dereg_mr");
	must(ibv_dereg_mr(bindable), "ibv_dereg_mr");
	disconnect(&p);
}

void test_window_1(void)
{
	struct pair p = with_region(), other;
	struct ibv_mw *mw = made(ibv_alloc_mw(pd, IBV_MW_TYPE_1), "ibv_alloc_mw");
	struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1 };
	uint64_t at = (uintptr_t)WINDOW;
	uint32_t key;

	denied(&p, IBV_WR_RDMA_WRITE, at, 8, mw->rkey);
	bind_1(&p, mw, window(WINDOW, 8, IBV_ACCESS_REMOTE_WRITE), IBV_WC_SUCCESS);
	key = mw->rkey;
	bind_1(&p, mw, window(WINDOW, BYTES, IBV_ACCESS_REMOTE_WRITE), IBV_WC_SUCCESS);
	writes(&p, at, mw->rkey, "a window");
	denied(&p, IBV_WR_RDMA_WRITE, at, 8, key);
	/* any queue pair of the domain is let in */
	other = connected(&cap, NULL, 64, 4);
	writes(&other, at, mw->rkey, "a window, by another queue pair");
	disconnect(&other);
	refused(ibv_dereg_mr(bindable), EBUSY);
	/* without a length it is bound to nothing */
	bind_1(&p, mw, (struct ibv_mw_bind_info){}, IBV_WC_SUCCESS);
	denied(&p, IBV_WR_RDMA_WRITE, at, 8, mw->rkey);
	must(ibv_dereg_mr(bindable), "ibv_dereg_mr");
	must(ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	disconnect(&p);
}

void test_window_uc(void)
{
	struct ibv_mw *mw = made(ibv_alloc_mw(pd, IBV_MW_TYPE_2), "ibv_alloc_mw");
	struct pair p;
	uint32_t key;

	qp_type = IBV_QPT_UC;
	p = with_region();
	key = bind_2(&p, mw, window(WINDOW, BYTES, IBV_ACCESS_REMOTE_WRITE), IBV_WC_SUCCESS);
	writes(&p, (uintptr_t)WINDOW, key, "a window");
	must(ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	must(ibv_dereg_mr(bindable), "ibv_dereg_mr");
	disconnect(&p);
}

void test_rereg(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1 };
	struct pair p = connected(&cap, NULL, 64, 4);
	struct ibv_mr *r = made(ibv_reg_mr(pd, WINDOW, BYTES, RIGHTS), "ibv_reg_mr");
	struct ibv_pd *foreign = made(ibv_alloc_pd(ctx), "ibv_alloc_pd");
	uint64_t at = (uintptr_t)WINDOW;

	writes(&p, at, r->rkey, "a region");
	must(ibv_rereg_mr(r, IBV_REREG_MR_CHANGE_ACCESS, pd, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
	     "to take rights away");
	denied(&p, IBV_WR_RDMA_WRITE, at, 8, r->rkey);
	must(ibv_rereg_mr(r, IBV_REREG_MR_CHANGE_ACCESS, pd, NULL, 0, RIGHTS), "to give them back");
	writes(&p, at, r->rkey, "a region with its rights again");
	must(ibv_rereg_mr(r, IBV_REREG_MR_CHANGE_PD, foreign, NULL, 0, 0), "to another domain");
	denied(&p, IBV_WR_RDMA_WRITE, at, 8, r->rkey);
	must(ibv_rereg_mr(r, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), "back to its domain");
	must(ibv_rereg_mr(r, IBV_REREG_MR_CHANGE_ACCESS, pd, NULL, 0, RIGHTS | IBV_ACCESS_ZERO_BASED),
	     "to addresses from 0 on");
	writes(&p, 0, r->rkey, "a region from 0 on");
	denied(&p, IBV_WR_RDMA_WRITE, at, 8, r->rkey);
	denied(&p, IBV_WR_RDMA_WRITE, 1, BYTES, r->rkey);
	must(ibv_rereg_mr(r, IBV_REREG_MR_CHANGE_ACCESS, pd, NULL, 0, RIGHTS), "to its own addresses");
	writes(&p, at, r->rkey, "a region at its own addresses");
	must(ibv_rereg_mr(r, IBV_REREG_MR_CHANGE_TRANSLATION, pd, WINDOW - 64, 64, 0),
	     "to other memory");
	denied(&p, IBV_WR_RDMA_WRITE, at, 8, r->rkey);
	access_by(&p, 0, IBV_WR_RDMA_WRITE, at - 64, 64, r->rkey, IBV_WC_SUCCESS);
	must(ibv_dereg_mr(r), "ibv_dereg_mr");
	must(ibv_dealloc_pd(foreign), "ibv_dealloc_pd");
	disconnect(&p);
}
