// SPDX-License-Identifier: GPL-2.0
/*
 * Every operation of a kernel user between two queue pairs, once with completions handled in
 * softirqs and once in a workqueue. What memory must hold afterwards is kept beside it, and all of
 * it is compared: what should have come, and what should not have changed. Process context.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "consumer.h"

#define PAGES	40
#define SIZE	(PAGES * PAGE_SIZE)
#define MESSAGE	150001		/* several packets, whatever the MTU */

#define REMOTE	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
		 IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct side - one of the two, and its memory
 * @cq: of its queue pair
 * @buf: named by the domain's local key
 * @buf_want: what @buf must hold
 * @region: named by keys that are made and invalidated
 * @region_want: what @region must hold
 */
struct side {
	struct ib_cq *cq;
	struct buffer buf;
	u8 *buf_want;
	struct region region;
	u8 *region_want;
};

/**
 * struct operations - side 0 asks, side 1 is asked
 * @c: device
 * @qp: queue pair of each side
 * @side: each side
 * @recv: receive request of side 1
 * @flat: bytes of a message
 */
struct operations {
	struct consumer *c;
	struct ib_qp *qp[2];
	struct side side[2];
	struct request recv;
	u8 *flat;
};

/* ---- what memory must hold ---- */

static struct ib_sge piece(const struct operations *o, const struct side *s, u32 offset, u32 length)
{
	return (struct ib_sge){
		.addr = s->buf.dma + offset,
		.length = length,
		.lkey = o->c->pd->local_dma_lkey,
	};
}

/* three pieces, the second across a page, the last of which is the rest */
static void pieces(const struct operations *o, const struct side *s, struct ib_sge sge[3])
{
	sge[0] = piece(o, s, 5, 3);
	sge[1] = piece(o, s, PAGE_SIZE - 100, 4097);
	sge[2] = piece(o, s, 3 * PAGE_SIZE + 1, MESSAGE - 3 - 4097);
}

static void gather(struct operations *o, const struct side *s, const struct ib_sge *sge, int n)
{
	u8 *to = o->flat;

	for (; n; n--, to += sge->length, sge++)
		memcpy(to, s->buf_want + (sge->addr - s->buf.dma), sge->length);
}

static void scatter(struct operations *o, const struct side *s, const struct ib_sge *sge, int n)
{
	const u8 *from = o->flat;

	for (; n; n--, from += sge->length, sge++)
		memcpy(s->buf_want + (sge->addr - s->buf.dma), from, sge->length);
}

static void repaint(struct side *s, unsigned int seed)
{
	paint(s->buf.va, SIZE, seed);
	memcpy(s->buf_want, s->buf.va, SIZE);
}

static int as_wanted(const struct operations *o, const char *operation)
{
	int err = 0, i;

	for (i = 0; i < 2 && !err; i++) {
		err = compare(operation, o->side[i].buf.va, o->side[i].buf_want, SIZE);
		if (!err)
			err = compare(operation, o->side[i].region.va, o->side[i].region_want,
				      SIZE);
	}
	return err;
}

static int wait_recv(struct operations *o, enum ib_wc_opcode opcode, u32 len, int flags)
{
	const struct ib_wc *wc = &o->recv.wc;
	int err = await(&o->recv, IB_WC_SUCCESS);

	if (err)
		return err;
	if (wc->opcode != opcode || wc->byte_len != len || wc->qp != o->qp[1])
		return failed("received: opcode %d, %u bytes", wc->opcode, wc->byte_len);
	if ((wc->wc_flags & (IB_WC_WITH_IMM | IB_WC_WITH_INVALIDATE)) != flags)
		return failed("received: flags 0x%x", wc->wc_flags);
	return 0;
}

/* ---- operations ---- */

static int send(struct operations *o, enum ib_wr_opcode opcode)
{
	struct side *from = o->side, *to = o->side + 1;
	struct ib_sge sge[3], recv[2];
	struct ib_send_wr wr = { .opcode = opcode, .sg_list = sge, .num_sge = 3 };
	int flags = 0, err;

	repaint(from, 1 + opcode);
	pieces(o, from, sge);
	recv[0] = piece(o, to, 77, 1000);
	recv[1] = piece(o, to, 2 * PAGE_SIZE - 3, MESSAGE);
	if (opcode == IB_WR_SEND_WITH_IMM) {
		wr.ex.imm_data = cpu_to_be32(0x01020304);
		flags = IB_WC_WITH_IMM;
	} else if (opcode == IB_WR_SEND_WITH_INV) {
		wr.ex.invalidate_rkey = to->region.mr->rkey;
		flags = IB_WC_WITH_INVALIDATE;
	}
	err = post_recv(o->qp[1], &o->recv, recv, 2);
	if (!err)
		err = perform(o->c, o->qp[0], &wr, IB_WC_SUCCESS);
	if (!err)
		err = wait_recv(o, IB_WC_RECV, MESSAGE, flags);
	if (err)
		return err;
	if (flags == IB_WC_WITH_IMM && o->recv.wc.ex.imm_data != wr.ex.imm_data)
		return failed("received: other immediate data");
	if (flags == IB_WC_WITH_INVALIDATE &&
	    o->recv.wc.ex.invalidate_rkey != wr.ex.invalidate_rkey)
		return failed("received: another key was invalidated");
	gather(o, from, sge, 3);
	recv[1].length = MESSAGE - recv[0].length;
	scatter(o, to, recv, 2);
	return as_wanted(o, "Send");
}

static int rdma(struct operations *o, enum ib_wr_opcode opcode, u32 offset)
{
	struct side *from = o->side, *to = o->side + 1;
	struct ib_sge sge[3];
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = opcode,
			.sg_list = sge,
			.num_sge = 3,
			.ex.imm_data = cpu_to_be32(0x50607080),
		},
		.remote_addr = to->region.mr->iova + offset,
		.rkey = to->region.mr->rkey,
	};
	bool imm = opcode == IB_WR_RDMA_WRITE_WITH_IMM;
	int err = 0;

	repaint(from, 20 + opcode);
	pieces(o, from, sge);
	if (imm)
		err = post_recv(o->qp[1], &o->recv, NULL, 0);
	if (!err)
		err = perform(o->c, o->qp[0], &wr.wr, IB_WC_SUCCESS);
	if (!err && imm)
		err = wait_recv(o, IB_WC_RECV_RDMA_WITH_IMM, MESSAGE, IB_WC_WITH_IMM);
	if (err)
		return err;
	if (imm && o->recv.wc.ex.imm_data != wr.wr.ex.imm_data)
		return failed("received: other immediate data");
	if (opcode == IB_WR_RDMA_READ) {
		memcpy(o->flat, to->region_want + offset, MESSAGE);
		scatter(o, from, sge, 3);
		return as_wanted(o, "Read");
	}
	gather(o, from, sge, 3);
	memcpy(to->region_want + offset, o->flat, MESSAGE);
	return as_wanted(o, "Write");
}

static int atomic(struct operations *o, enum ib_wr_opcode opcode, u64 compare_add, u64 swap)
{
	struct side *from = o->side, *to = o->side + 1;
	u64 *there = (u64 *)(to->region_want + 2 * PAGE_SIZE), old = *there;
	struct ib_sge sge = piece(o, from, 24, sizeof(old));
	struct ib_atomic_wr wr = {
		.wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = to->region.mr->iova + 2 * PAGE_SIZE,
		.rkey = to->region.mr->rkey,
		.compare_add = compare_add,
		.swap = swap,
	};
	int err = perform(o->c, o->qp[0], &wr.wr, IB_WC_SUCCESS);

	if (err)
		return err;
	memcpy(o->flat, &old, sizeof(old));
	scatter(o, from, &sge, 1);
	if (opcode == IB_WR_ATOMIC_FETCH_AND_ADD)
		*there += compare_add;
	else if (old == compare_add)
		*there = swap;
	return as_wanted(o, "atomic");
}

static int atomics(struct operations *o)
{
	const u64 *there = (const u64 *)(o->side[1].region_want + 2 * PAGE_SIZE);
	int err;

	err = atomic(o, IB_WR_ATOMIC_FETCH_AND_ADD, 0x8000000180000001, 0);
	if (!err)
		err = atomic(o, IB_WR_ATOMIC_CMP_AND_SWP, *there, 0x0123456789abcdef);
	if (!err)
		err = atomic(o, IB_WR_ATOMIC_CMP_AND_SWP, *there + 1, 0);
	return err;
}

/* As storage does it, in one list: memory gets a key, is written from, and the key dies. */
static int chain(struct operations *o)
{
	struct side *from = o->side, *to = o->side + 1;
	struct ib_mr *mr = from->region.mr;
	struct ib_sge sge = { .length = MESSAGE };
	struct ib_send_wr inv = { .opcode = IB_WR_LOCAL_INV };
	struct ib_rdma_wr write = {
		.wr = { .opcode = IB_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = to->region.mr->iova + 9,
		.rkey = to->region.mr->rkey,
	};
	struct ib_reg_wr reg = {
		.wr = { .opcode = IB_WR_REG_MR, .next = &write.wr },
		.mr = mr,
		.access = IB_ACCESS_LOCAL_WRITE,
	};
	struct request *r = &o->c->send;
	int err;

	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	reg.key = mr->lkey;
	sge.lkey = mr->lkey;
	sge.addr = mr->iova + 1234;
	paint(from->region.va, SIZE, 40);
	memcpy(from->region_want, from->region.va, SIZE);

	/* of three only the last one says that it is done */
	write.wr.next = &inv;
	request_init(r);
	inv.wr_cqe = &r->cqe;
	inv.ex.invalidate_rkey = mr->rkey;
	inv.send_flags = IB_SEND_SIGNALED;
	err = ib_post_send(o->qp[0], &reg.wr, NULL);
	if (err)
		return failed("a list is not taken: error %d", err);
	err = await(r, IB_WC_SUCCESS);
	if (err)
		return err;
	memcpy(to->region_want + 9, from->region_want + 1234, MESSAGE);
	return as_wanted(o, "a list of requests");
}

/* A READ ends the life of its own memory's key, which may then be registered again. */
static int read_inv(struct operations *o)
{
	struct side *from = o->side, *to = o->side + 1;
	struct ib_sge sge = { .length = MESSAGE };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = IB_WR_RDMA_READ_WITH_INV, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = to->region.mr->iova + 333,
		.rkey = to->region.mr->rkey,
	};
	int err = 0, i;

	for (i = 0; i < 2 && !err; i++) {
		err = region_register(o->c, o->qp[0], &from->region, IB_ACCESS_LOCAL_WRITE);
		if (err)
			break;
		sge.lkey = from->region.mr->lkey;
		sge.addr = from->region.mr->iova + 55;
		wr.wr.ex.invalidate_rkey = from->region.mr->rkey;
		paint(to->region.va, SIZE, 50 + i);
		memcpy(to->region_want, to->region.va, SIZE);
		err = perform(o->c, o->qp[0], &wr.wr, IB_WC_SUCCESS);
		memcpy(from->region_want + 55, to->region_want + 333, MESSAGE);
		err = err ?: as_wanted(o, "a READ_WITH_INV");
	}
	return err;
}

/* A key that was invalidated admits nothing, and both ends are told. */
static int dead_key(struct operations *o, u32 key)
{
	struct ib_sge sge = piece(o, o->side, 0, MESSAGE);
	struct ib_rdma_wr wr = {
		.wr = { .opcode = IB_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = o->side[1].region.mr->iova,
		.rkey = key,
	};
	int err = post_recv(o->qp[1], &o->recv, NULL, 0);

	if (!err)
		err = perform(o->c, o->qp[0], &wr.wr, IB_WC_REM_ACCESS_ERR);
	if (!err)
		err = await(&o->recv, IB_WC_WR_FLUSH_ERR);
	return err ?: as_wanted(o, "a key that was invalidated");
}

static int flush(struct operations *o)
{
	struct request *r = kcalloc(CONSUMER_DEPTH / 2, sizeof(*r), GFP_KERNEL);
	int err = 0, i;

	if (!r)
		return -ENOMEM;
	for (i = 0; i < CONSUMER_DEPTH / 2 && !err; i++)
		err = post_recv(o->qp[i & 1], r + i, NULL, 0);
	ib_drain_qp(o->qp[0]);
	ib_drain_qp(o->qp[1]);
	while (!err && i--) {
		if (!completion_done(&r[i].done))
			err = failed("a receive request is left when its queue is drained");
		else
			err = await(r + i, IB_WC_WR_FLUSH_ERR);
	}
	/* after an error some may be left that refer to it */
	destroy_pair(o->qp);
	kfree(r);
	return err;
}

static int all(struct operations *o)
{
	struct side *to = o->side + 1;
	u32 key;
	int err;

	err = region_register(o->c, o->qp[1], &to->region, REMOTE);
	err = err ?: send(o, IB_WR_SEND);
	err = err ?: send(o, IB_WR_SEND_WITH_IMM);
	err = err ?: rdma(o, IB_WR_RDMA_WRITE, 1111);
	err = err ?: rdma(o, IB_WR_RDMA_READ, 777);
	err = err ?: rdma(o, IB_WR_RDMA_WRITE_WITH_IMM, 2);
	err = err ?: atomics(o);
	err = err ?: chain(o);
	err = err ?: read_inv(o);
	key = to->region.mr->rkey;
	err = err ?: send(o, IB_WR_SEND_WITH_INV);
	err = err ?: dead_key(o, key);
	err = err ?: connect_pair(o->c, o->qp);
	/* it can be registered again, so it was invalidated; and then by its owner */
	err = err ?: region_register(o->c, o->qp[1], &to->region, REMOTE);
	err = err ?: rdma(o, IB_WR_RDMA_WRITE, 5000);
	key = to->region.mr->rkey;
	err = err ?: region_invalidate(o->c, o->qp[1], key, IB_WC_SUCCESS);
	err = err ?: dead_key(o, key);
	err = err ?: connect_pair(o->c, o->qp);
	return err ?: flush(o);
}

/* ---- the two sides ---- */

static int side_create(struct consumer *c, struct side *s, enum ib_poll_context context)
{
	int err;

	s->buf_want = vzalloc(SIZE);
	s->region_want = vzalloc(SIZE);
	if (!s->buf_want || !s->region_want)
		return -ENOMEM;
	s->cq = ib_alloc_cq(c->dev, NULL, 2 * CONSUMER_DEPTH, 0, context);
	if (IS_ERR(s->cq))
		return failed("no completion queue: error %ld", PTR_ERR(s->cq));
	err = buffer_alloc(c, &s->buf, SIZE);
	err = err ?: region_alloc(c, &s->region, PAGES);
	return err ?: region_map(c, &s->region);
}

static void side_destroy(struct consumer *c, struct side *s)
{
	region_free(c, &s->region);
	buffer_free(c, &s->buf);
	if (!IS_ERR_OR_NULL(s->cq))
		ib_free_cq(s->cq);
	vfree(s->region_want);
	vfree(s->buf_want);
}

static int operations(struct consumer *c, enum ib_poll_context context)
{
	struct operations *o = kzalloc(sizeof(*o), GFP_KERNEL);
	int err;

	if (!o)
		return -ENOMEM;
	o->c = c;
	o->flat = vzalloc(SIZE);
	err = o->flat ? 0 : -ENOMEM;
	err = err ?: side_create(c, o->side, context);
	err = err ?: side_create(c, o->side + 1, context);
	err = err ?: create_pair(c, o->side[0].cq, o->side[1].cq, o->qp);
	err = err ?: all(o);
	destroy_pair(o->qp);
	side_destroy(c, o->side + 1);
	side_destroy(c, o->side);
	vfree(o->flat);
	kfree(o);
	return err;
}

int consumer_operations(struct consumer *c)
{
	return operations(c, IB_POLL_SOFTIRQ) ?: operations(c, IB_POLL_WORKQUEUE);
}
