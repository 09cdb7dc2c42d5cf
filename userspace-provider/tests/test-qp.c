// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting: room, wrap-around, refusals, inline data, builders, doorbells.
 */
#include <errno.h>
#include <string.h>

#include "fake.h"

struct world {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
};

static void begin(struct world *w, enum ibv_qp_type type, bool with_srq)
{
	struct ibv_srq_init_attr attr = {};

	memset(w, 0, sizeof(*w));
	w->context = fake_open();
	CHECK(w->context);
	w->pd = ops->alloc_pd(w->context);
	w->cq = make_cq(w->context, 16);
	if (with_srq) {
		w->srq = ops->create_srq(w->pd, &attr);
		CHECK(w->srq);
	}
	w->qp = make_qp(w->pd, w->cq, w->srq, type);
	make_ready(w->qp);
}

static void end(struct world *w)
{
	CHECK(!ops->destroy_qp(w->qp));
	if (w->srq)
		CHECK(!ops->destroy_srq(w->srq));
	CHECK(!ops->destroy_cq(w->cq));
	CHECK(!ops->dealloc_pd(w->pd));
	CHECK(!fake.live);
	fake_close(w->context);
}

static int send_one(struct world *w, uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = wr_id * 3, .length = 9, .lkey = 5 };
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ops->post_send(w->qp, &wr, &bad);
}

static int recv_one(struct world *w, uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = wr_id, .length = 9, .lkey = 5 };
	struct ibv_recv_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return w->srq ? ops->post_srq_recv(w->srq, &wr, &bad) :
			ops->post_recv(w->qp, &wr, &bad);
}

static void test_handshake(void)
{
	fake.abi = MROCE_ABI_VERSION + 1;
	errno = 0;
	CHECK(!fake_open());
	CHECK(errno == EOPNOTSUPP);
}

static void test_bad_ring(void)
{
	struct ibv_context *context = fake_open();

	fake.bad_ring = true;
	errno = 0;
	CHECK(!ops->create_cq(context, 16, NULL, 0));
	CHECK(errno == EINVAL);
	CHECK(!fake.live);
	fake_close(context);
}

/* indices pass 2^32, and the ring many times */
static void test_wrap(void)
{
	struct world w;
	uint64_t i, wr_id;
	int j;

	fake.first_index = UINT32_MAX - 50;
	begin(&w, IBV_QPT_RC, false);
	for (i = 0; i < 200; i += 5) {
		for (j = 0; j < 5; j++) {
			CHECK(!send_one(&w, i + j));
			CHECK(!recv_one(&w, 1000 + i + j));
		}
		for (j = 0; j < 5; j++) {
			struct mroce_sq_wqe *wqe =
				fake_slot(&fake.sq, fake.sq.ring->consumer);
			struct mroce_sge *sge = (void *)(wqe + 1);

			CHECK(wqe->num_sge == 1 && wqe->length == 0);
			CHECK(sge->addr == (i + j) * 3 && sge->lkey == 5);
			CHECK(fake_consume(&fake.sq, &wr_id));
			CHECK(wr_id == i + j);
			CHECK(fake_consume(&fake.rq, &wr_id));
			CHECK(wr_id == 1000 + i + j);
		}
	}
	CHECK(fake.sq_doorbells == 200 && !fake.rq_doorbells);
	end(&w);
}

/* the granted number of requests counts, not the size of the ring */
static void test_full(void)
{
	struct ibv_send_wr wr[9] = {}, *bad;
	struct ibv_recv_wr rwr[9] = {}, *rbad;
	struct world w;
	uint64_t wr_id;
	int i;

	fake.cap.max_send_wr = 5;
	fake.cap.max_recv_wr = 6;
	begin(&w, IBV_QPT_RC, false);
	for (i = 0; i < 9; i++) {
		wr[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i < 8 ? &wr[i + 1] : NULL,
			.opcode = IBV_WR_SEND,
		};
		rwr[i] = (struct ibv_recv_wr){
			.wr_id = i,
			.next = i < 8 ? &rwr[i + 1] : NULL,
		};
	}
	CHECK(ops->post_send(w.qp, wr, &bad) == ENOMEM);
	CHECK(bad == &wr[5]);
	CHECK(fake.sq_doorbells == 1);
	CHECK(ops->post_recv(w.qp, rwr, &rbad) == ENOMEM);
	CHECK(rbad == &rwr[6]);

	CHECK(send_one(&w, 9) == ENOMEM);
	CHECK(fake.sq_doorbells == 1);
	CHECK(fake_consume(&fake.sq, &wr_id) && wr_id == 0);
	CHECK(!send_one(&w, 9));
	CHECK(send_one(&w, 10) == ENOMEM);
	CHECK(recv_one(&w, 9) == ENOMEM);
	CHECK(fake_consume(&fake.rq, &wr_id) && wr_id == 0);
	CHECK(!recv_one(&w, 9));
	end(&w);
}

static int try_send(struct world *w, struct ibv_send_wr *wr)
{
	uint32_t before = fake.sq.ring->producer;
	struct ibv_send_wr *bad = NULL;
	int ret = ops->post_send(w->qp, wr, &bad);

	if (ret)
		CHECK(bad == wr && fake.sq.ring->producer == before);
	else
		CHECK(fake.sq.ring->producer == before + 1);
	return ret;
}

static void test_refusals(void)
{
	char data[600] = {};
	struct ibv_sge sge[5] = {};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sge };
	struct ibv_recv_wr rwr = { .sg_list = sge, .num_sge = 5 }, *rbad;
	struct world w;

	begin(&w, IBV_QPT_RC, false);
	sge[0].addr = (uintptr_t)data;
	wr.num_sge = 5;
	CHECK(try_send(&w, &wr) == EINVAL);
	wr.num_sge = -1;
	CHECK(try_send(&w, &wr) == EINVAL);
	wr.num_sge = 1;
	wr.opcode = IBV_WR_TSO;
	CHECK(try_send(&w, &wr) == EINVAL);
	wr.opcode = 77;
	CHECK(try_send(&w, &wr) == EINVAL);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = IBV_SEND_INLINE;
	CHECK(try_send(&w, &wr) == EINVAL);
	wr.opcode = IBV_WR_SEND;
	sge[0].length = 513;
	CHECK(try_send(&w, &wr) == EINVAL);
	sge[0].length = UINT32_MAX;
	wr.num_sge = 2;
	sge[1] = sge[0];
	CHECK(try_send(&w, &wr) == EINVAL);
	sge[0].length = 300;
	sge[1] = sge[0];
	CHECK(try_send(&w, &wr) == EINVAL);
	wr.num_sge = 1;
	sge[0].length = 512;
	wr.send_flags |= IBV_SEND_IP_CSUM;
	CHECK(try_send(&w, &wr) == EINVAL);
	wr.send_flags = IBV_SEND_INLINE;
	CHECK(!try_send(&w, &wr));

	CHECK(ops->post_recv(w.qp, &rwr, &rbad) == EINVAL && rbad == &rwr);
	w.qp->state = IBV_QPS_RTR;
	CHECK(try_send(&w, &wr) == EINVAL);
	w.qp->state = IBV_QPS_RESET;
	CHECK(recv_one(&w, 1) == EINVAL);
	w.qp->state = IBV_QPS_ERR;
	CHECK(!try_send(&w, &wr));
	CHECK(!recv_one(&w, 1));
	end(&w);

	begin(&w, IBV_QPT_UD, true);
	wr.opcode = IBV_WR_RDMA_WRITE;
	CHECK(try_send(&w, &wr) == EINVAL);
	wr.opcode = IBV_WR_SEND;
	CHECK(try_send(&w, &wr) == EINVAL);	/* no address */
	CHECK(ops->post_recv(w.qp, &rwr, &rbad) == EINVAL && rbad == &rwr);
	end(&w);
}

/* every size, whole and in uneven pieces, by both interfaces */
static void test_inline(void)
{
	uint8_t data[512];
	struct world w;
	uint64_t wr_id;
	int size, pieces, i;

	for (i = 0; i < 512; i++)
		data[i] = i * 7 + 1;
	begin(&w, IBV_QPT_RC, false);
	for (size = 0; size <= 512; size++) {
		for (pieces = 1; pieces <= 4; pieces++) {
			struct ibv_qp_ex *ex =
				&to_mqp(w.qp)->vqp.qp_ex;
			struct ibv_data_buf buf[4];
			struct ibv_sge sge[4];
			struct ibv_send_wr wr = {
				.opcode = IBV_WR_SEND,
				.send_flags = IBV_SEND_INLINE,
				.sg_list = sge,
				.num_sge = pieces,
			};
			int at = 0;

			for (i = 0; i < pieces; i++) {
				int len = i == pieces - 1 ? size - at :
							    size / (pieces + i);

				sge[i].addr = (uintptr_t)&data[at];
				sge[i].length = len;
				buf[i].addr = &data[at];
				buf[i].length = len;
				at += len;
			}
			CHECK(!try_send(&w, &wr));
			ex->wr_start(ex);
			ex->wr_id = 1;
			ex->wr_flags = 0;
			ex->wr_send(ex);
			ex->wr_set_inline_data_list(ex, pieces, buf);
			CHECK(!ex->wr_complete(ex));
			for (i = 0; i < 2; i++) {
				struct mroce_sq_wqe *wqe =
					fake_slot(&fake.sq,
						  fake.sq.ring->consumer);

				CHECK(wqe->flags == MROCE_WQE_INLINE);
				CHECK(wqe->length == size && !wqe->num_sge);
				CHECK(!memcmp(wqe + 1, data, size));
				CHECK(fake_consume(&fake.sq, &wr_id));
			}
		}
	}
	end(&w);
}

static void test_builders(void)
{
	struct ibv_mr mr = { .lkey = 0x33 };
	struct ibv_mw mw = { .type = IBV_MW_TYPE_2, .rkey = 0x100 };
	struct ibv_mw_bind_info info = {
		.mr = &mr,
		.addr = 4096,
		.length = 1ull << 33,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct mroce_sq_wqe *wqe;
	struct ibv_qp_ex *ex;
	struct world w;
	uint32_t at;
	char data[600];
	int i;

	fake.cap.max_send_wr = 4;
	begin(&w, IBV_QPT_RC, false);
	ex = &to_mqp(w.qp)->vqp.qp_ex;
	mr.pd = w.pd;
	mw.pd = w.pd;
	at = fake.sq.ring->producer;
	CHECK(!ex->wr_rdma_write && !ex->wr_set_ud_addr);

	/* aborted: as if nothing had been */
	ex->wr_start(ex);
	ex->wr_send(ex);
	ex->wr_set_sge(ex, 1, 2, 3);
	ex->wr_abort(ex);
	CHECK(fake.sq.ring->producer == at && !fake.sq_doorbells);

	/* the first error counts, and nothing is posted */
	ex->wr_start(ex);
	ex->wr_send(ex);
	ex->wr_rdma_read(ex, 1, 2);
	ex->wr_set_inline_data(ex, data, 8);
	ex->wr_send(ex);
	ex->wr_set_inline_data(ex, data, 8);
	CHECK(ex->wr_complete(ex) == EINVAL);
	ex->wr_start(ex);
	ex->wr_send(ex);
	ex->wr_set_inline_data(ex, data, 513);
	CHECK(ex->wr_complete(ex) == EINVAL);
	ex->wr_start(ex);
	for (i = 0; i < 5; i++)
		ex->wr_send(ex);
	CHECK(ex->wr_complete(ex) == ENOMEM);
	CHECK(fake.sq.ring->producer == at && !fake.sq_doorbells);

	/* four of them, one doorbell */
	ex->wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
	ex->wr_rdma_read(ex, 0x11, 0x2222);
	ex->wr_set_sge(ex, 1, 2, 3);
	ex->wr_id = 2;
	ex->wr_flags = 0;
	ex->wr_atomic_cmp_swp(ex, 0x12, 0x2220, 5, 6);
	ex->wr_set_sge(ex, 1, 8, 8);
	ex->wr_id = 3;
	ex->wr_flags = IBV_SEND_SOLICITED;
	ex->wr_send_imm(ex, htobe32(0x1234));
	ex->wr_set_sge(ex, 1, 0, 0);
	ex->wr_id = 4;
	ex->wr_bind_mw(ex, &mw, 0x101, &info);
	CHECK(!ex->wr_complete(ex));
	CHECK(fake.sq.ring->producer == at + 4 && fake.sq_doorbells == 1);

	wqe = fake_slot(&fake.sq, at);
	CHECK(wqe->wr_id == 1 && wqe->opcode == MROCE_WQE_READ);
	CHECK(wqe->flags == (MROCE_WQE_SIGNALED | MROCE_WQE_FENCE));
	CHECK(wqe->rkey == 0x11 && wqe->remote_addr == 0x2222);
	wqe = fake_slot(&fake.sq, at + 1);
	CHECK(wqe->opcode == MROCE_WQE_CMP_SWAP && wqe->num_sge == 1);
	CHECK(wqe->atomic.compare_add == 5 && wqe->atomic.swap == 6);
	wqe = fake_slot(&fake.sq, at + 2);
	CHECK(wqe->imm == htobe32(0x1234) && !wqe->num_sge);
	CHECK(wqe->flags == MROCE_WQE_SOLICITED);
	wqe = fake_slot(&fake.sq, at + 3);
	CHECK(wqe->opcode == MROCE_WQE_BIND_MW && wqe->rkey == 0x101);
	CHECK(wqe->remote_addr == 4096 && wqe->bind.length == 1ull << 33);
	CHECK(wqe->bind.lkey == 0x33 &&
	      wqe->bind.access == IBV_ACCESS_REMOTE_WRITE);
	end(&w);
}

#ifdef MROCE_WR_FLUSH
/* of a module that has them, and no other */
static struct ibv_qp *make_placing(struct world *w)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = w->cq,
		.recv_cq = w->cq,
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = w->pd,
		.send_ops_flags = IBV_QP_EX_WITH_FLUSH |
				  IBV_QP_EX_WITH_ATOMIC_WRITE,
	};

	return ops->create_qp_ex(w->context, &attr);
}

static void test_placement(void)
{
	static const char bytes[8] = "as it is";
	struct mroce_sq_wqe *wqe;
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;
	struct world w;
	uint32_t at;

	begin(&w, IBV_QPT_RC, false);
	errno = 0;
	CHECK(!make_placing(&w) && errno == EOPNOTSUPP);
	end(&w);

	fake.caps = MROCE_CAP_PLACEMENT;
	begin(&w, IBV_QPT_RC, false);
	qp = make_placing(&w);
	CHECK(qp);
	make_ready(qp);
	ex = ibv_qp_to_qp_ex(qp);
	CHECK(ex);
	at = fake.sq.ring->producer;
	ex->wr_start(ex);
	ex->wr_atomic_write(ex, 0x11, 0x2220, bytes);
	ex->wr_flush(ex, 0x12, 0x3333, 44, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ex->wr_flush(ex, 0x13, 0x4444, 55, IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR);
	CHECK(!ex->wr_complete(ex) && fake.sq.ring->producer == at + 3);
	wqe = fake_slot(&fake.sq, at);
	CHECK(wqe->opcode == MROCE_WQE_ATOMIC_WRITE && !wqe->num_sge);
	CHECK(wqe->rkey == 0x11 && wqe->remote_addr == 0x2220);
	CHECK(!memcmp(&wqe->atomic.compare_add, bytes, sizeof(bytes)));
	wqe = fake_slot(&fake.sq, at + 1);
	CHECK(wqe->opcode == MROCE_WQE_FLUSH && wqe->rkey == 0x12);
	CHECK(wqe->remote_addr == 0x3333 && wqe->length == 44);
	CHECK(wqe->imm == MROCE_WQE_FLUSH_GLOBAL);
	wqe = fake_slot(&fake.sq, at + 2);
	CHECK(wqe->rkey == 0x13 && !wqe->remote_addr && !wqe->length);
	CHECK(wqe->imm ==
	      (MROCE_WQE_FLUSH_PERSISTENT | MROCE_WQE_FLUSH_REGION));
	ex->wr_start(ex);
	ex->wr_flush(ex, 1, 0, 8, 0, IBV_FLUSH_RANGE);
	CHECK(ex->wr_complete(ex) == EINVAL);
	ex->wr_start(ex);
	ex->wr_flush(ex, 1, 0, 1ull << 32, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	CHECK(ex->wr_complete(ex) == EINVAL);
	ex->wr_start(ex);
	ex->wr_flush(ex, 1, 0, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR + 1);
	CHECK(ex->wr_complete(ex) == EINVAL);
	CHECK(fake.sq.ring->producer == at + 3);
	CHECK(!ops->destroy_qp(qp));
	end(&w);
}
#endif

static void test_bind_type_1(void)
{
	struct ibv_mr mr = { .lkey = 0x33 };
	struct ibv_mw mw = { .type = IBV_MW_TYPE_1, .rkey = 0x1ff };
	struct ibv_mw_bind bind = {
		.wr_id = 8,
		.bind_info = { .mr = &mr, .length = 64 },
	};
	struct mroce_sq_wqe *wqe;
	struct world w;

	begin(&w, IBV_QPT_RC, false);
	mr.pd = w.pd;
	mw.pd = w.pd;
	CHECK(!ops->bind_mw(w.qp, &mw, &bind));
	wqe = fake_slot(&fake.sq, fake.sq.ring->consumer);
	CHECK(wqe->wr_id == 8 && wqe->rkey == 0x100 && mw.rkey == 0x100);
	mr.pd = NULL;
	CHECK(ops->bind_mw(w.qp, &mw, &bind) == EPERM && mw.rkey == 0x100);
	end(&w);
}

static void test_ud(void)
{
	struct ibv_ah_attr attr = {};
	struct mroce_sq_wqe *wqe;
	struct ibv_qp_ex *ex;
	struct ibv_ah *ah;
	struct world w;
	int i;

	begin(&w, IBV_QPT_UD, false);
	ah = ops->create_ah(w.pd, &attr);
	{
		struct ibv_send_wr *bad, wr = {
			.opcode = IBV_WR_SEND,
			.wr.ud = { ah, 0x44, 0x55 },
		};

		CHECK(!ops->post_send(w.qp, &wr, &bad));
	}
	ex = &to_mqp(w.qp)->vqp.qp_ex;
	ex->wr_start(ex);
	ex->wr_send(ex);
	ex->wr_set_ud_addr(ex, ah, 0x44, 0x55);
	CHECK(!ex->wr_complete(ex));
	for (i = 0; i < 2; i++) {
		wqe = fake_slot(&fake.sq, fake.sq.ring->consumer + i);
		CHECK(wqe->ud.ah == 0x5a && wqe->ud.qpn == 0x44 &&
		      wqe->ud.qkey == 0x55);
	}
	CHECK(!ops->destroy_ah(ah));
	end(&w);
}

static void test_receive_doorbell(void)
{
	struct world w;
	int i;

	for (i = 0; i < 2; i++) {
		struct fake_ring *ring = i ? &fake.srq : &fake.rq;
		atomic_int *count = i ? &fake.srq_doorbells :
					&fake.rq_doorbells;

		begin(&w, IBV_QPT_RC, i);
		CHECK(!recv_one(&w, 1));
		CHECK(*count == 0);
		ring->ring->flags = MROCE_RING_NEED_DOORBELL;
		CHECK(!recv_one(&w, 2));
		CHECK(*count == 1);
		ring->ring->flags = 0;
		CHECK(!recv_one(&w, 3));
		CHECK(*count == 1);
		end(&w);
	}
}

static void test_domains(void)
{
	struct ibv_td_init_attr td_attr = {};
	struct ibv_parent_domain_init_attr attr = {};
	struct ibv_context *context = fake_open();
	struct ibv_pd *pd = ops->alloc_pd(context), *parent;
	struct ibv_td *td = ops->alloc_td(context, &td_attr);
	struct ibv_cq *cq = make_cq(context, 16);
	struct ibv_qp *qp;

	errno = 0;
	CHECK(!ops->alloc_parent_domain(context, &attr) && errno == EINVAL);
	attr.pd = pd;
	attr.td = td;
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	CHECK(!ops->alloc_parent_domain(context, &attr) &&
	      errno == EOPNOTSUPP);
	attr.comp_mask = 0;
	parent = ops->alloc_parent_domain(context, &attr);
	CHECK(parent && parent->handle == pd->handle);
	CHECK(ops->dealloc_td(td) == EBUSY);
	CHECK(ops->dealloc_pd(pd) == EBUSY);
	qp = make_qp(parent, cq, NULL, IBV_QPT_RC);
	CHECK(to_mqp(qp)->sq_lock.unused && to_mqp(qp)->rq_lock.unused);
	CHECK(!ops->destroy_qp(qp));
	CHECK(!ops->dealloc_pd(parent));
	CHECK(!ops->dealloc_td(td));
	CHECK(!ops->dealloc_pd(pd));
	CHECK(!ops->destroy_cq(cq));
	CHECK(!fake.live);
	fake_close(context);
}

/* saying that one wants no creation flag is allowed; there is none to have */
static void test_create_flags(void)
{
	struct ibv_context *context = fake_open();
	struct ibv_pd *pd = ops->alloc_pd(context);
	struct ibv_cq *cq = make_cq(context, 16);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = pd,
		.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
	};
	struct ibv_qp *qp;

	errno = 0;
	CHECK(!ops->create_qp_ex(context, &attr) && errno == EOPNOTSUPP);
	attr.create_flags = 0;
	qp = ops->create_qp_ex(context, &attr);
	CHECK(qp && attr.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS);
	CHECK(attr.cap.max_send_wr == fake.cap.max_send_wr);
	CHECK(!ops->destroy_qp(qp));
	CHECK(!ops->destroy_cq(cq));
	CHECK(!ops->dealloc_pd(pd));
	CHECK(!fake.live);
	fake_close(context);
}

#define POSTERS 4
#define EACH 200000

static void *post_many(void *arg)
{
	struct world *w = ((void **)arg)[0];
	uint64_t base = (uintptr_t)((void **)arg)[1];
	uint64_t i;
	int ret;

	for (i = 0; i < EACH; i++) {
		while ((ret = send_one(w, base * EACH + i)) == ENOMEM)
			sched_yield();
		CHECK(!ret);
	}
	return NULL;
}

/* several threads post to one queue while the module takes from it */
static void test_posters(void)
{
	uint64_t next[POSTERS] = {}, wr_id, n = 0;
	void *args[POSTERS][2];
	pthread_t thread[POSTERS];
	struct world w;
	uintptr_t i;

	/* enough room that they meet in the queue, and not only when it is full */
	fake.entries = 1024;
	fake.cap.max_send_wr = 1000;
	begin(&w, IBV_QPT_RC, false);
	for (i = 0; i < POSTERS; i++) {
		args[i][0] = &w;
		args[i][1] = (void *)i;
		CHECK(!pthread_create(&thread[i], NULL, post_many, args[i]));
	}
	while (n < (uint64_t)POSTERS * EACH) {
		if (!fake_consume(&fake.sq, &wr_id)) {
			sched_yield();
			continue;
		}
		/* each once, and those of one thread in order */
		if (wr_id % EACH != next[wr_id / EACH]++)
			abort();
		n++;
	}
	for (i = 0; i < POSTERS; i++)
		pthread_join(thread[i], NULL);
	end(&w);
}

const struct test qp_tests[] = {
	{ "handshake", test_handshake },
	{ "bad-ring", test_bad_ring },
	{ "wrap", test_wrap },
	{ "full", test_full },
	{ "refusals", test_refusals },
	{ "inline", test_inline },
	{ "builders", test_builders },
#ifdef MROCE_WR_FLUSH
	{ "placement", test_placement },
#endif
	{ "bind-type-1", test_bind_type_1 },
	{ "ud", test_ud },
	{ "receive-doorbell", test_receive_doorbell },
	{ "domains", test_domains },
	{ "create-flags", test_create_flags },
	{ "posters", test_posters },
	{},
};
