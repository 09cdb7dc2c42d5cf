// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of mroce-verbs: FLUSH and ATOMIC_WRITE, which put bytes in their place for good.
 */
#include "verbs.h"

#define BYTES		8000	/* several packets */
#define TO		(memory + MEMORY / 2)
#define FLAG		((uint64_t *)(memory + MEMORY - 64))
/* newer than the headers of some systems */
#define ACCESS_FLUSH_GLOBAL	(1 << 8)
#define ACCESS_FLUSH_PERSISTENT	(1 << 9)
#define CAP_FLUSH_PERSISTENT	(1ULL << 39)
#define EX_WITH_FLUSH		(1 << 11)
#define FLUSH_GLOBAL		1
#define FLUSH_PERSISTENT	2
#define FLUSH_RANGE		0
#define FLUSH_MR		1
#define WC_FLUSH		8
#define CAPS			(7ULL << 38)

static const uint64_t ops_of[] = { IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_ATOMIC_WRITE,
				   IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_ATOMIC_WRITE |
				   EX_WITH_FLUSH };

static struct ibv_qp *create_ex(struct ibv_cq *cq, uint64_t ops)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .pd = pd,
		.cap = { .max_send_wr = 64, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_inline_data = 8 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = ops,
	};

	return ibv_create_qp_ex(ctx, &init);
}

static struct pair unconnected(bool flushes)
{
	struct pair p;
	int i;

	p.cq = made(ibv_create_cq(ctx, 256, NULL, NULL, 0), "ibv_create_cq");
	for (i = 0; i < 2; i++) {
		p.qp[i] = made(create_ex(p.cq, ops_of[flushes]), "ibv_create_qp_ex");
		made(ibv_qp_to_qp_ex(p.qp[i]), "ibv_qp_to_qp_ex");
	}
	return p;
}

/* @rights of the second queue pair, which is asked */
static void connect_with(struct pair *p, int rights, unsigned int reads)
{
	struct ibv_qp_attr a = { .qp_access_flags = rights };

	connect_pair(p, reads);
	must(ibv_modify_qp(p->qp[1], &a, IBV_QP_ACCESS_FLAGS), "rights of a queue pair");
}

static void anew(struct pair *p, int rights)
{
	must(modify(p->qp[0], IBV_QPS_RESET), "to RESET");
	must(modify(p->qp[1], IBV_QPS_RESET), "to RESET");
	connect_with(p, rights, 4);
}

static struct ibv_qp_ex *begin(struct pair *p, unsigned int flags)
{
	struct ibv_qp_ex *q = ibv_qp_to_qp_ex(p->qp[0]);

	ibv_wr_start(q);
	q->wr_id = 1;
	q->wr_flags = flags;
	return q;
}

static void wr_flush(struct ibv_qp_ex *q, uint32_t rkey, uint64_t to, size_t length, uint8_t type,
		     uint8_t level)
{
	void (*builder)(struct ibv_qp_ex *qp, uint32_t key, uint64_t addr, size_t len, uint8_t how,
			uint8_t much);

	/* the builder behind, which the headers may not have */
	memcpy(&builder, &q->wr_atomic_write + 1, sizeof(builder));
	builder(q, rkey, to, length, type, level);
}

static void ends(struct pair *p, int opcode, enum ibv_wc_status status)
{
	struct ibv_wc wc = next_completion(p->cq);

	if (wc.status != status)
		die("completion with %s, should be %s", ibv_wc_status_str(wc.status),
		    ibv_wc_status_str(status));
	if (!status && (int)wc.opcode != opcode)
		die("the completion is of opcode %d, not %d", wc.opcode, opcode);
}

static void atomic_write(struct pair *p, uint64_t to, uint32_t rkey, enum ibv_wc_status status)
{
	uint64_t value = 0x1122334455667788;
	struct ibv_qp_ex *q = begin(p, IBV_SEND_SIGNALED);

	ibv_wr_atomic_write(q, rkey, to, &value);
	/* it is taken at once */
	value = 0;
	must(ibv_wr_complete(q), "ibv_wr_complete");
	ends(p, IBV_WC_ATOMIC_WRITE, status);
}

static void flush(struct pair *p, uint64_t to, size_t length, uint32_t rkey, uint8_t type,
		  uint8_t level, enum ibv_wc_status status)
{
	struct ibv_qp_ex *q = begin(p, IBV_SEND_SIGNALED);

	wr_flush(q, rkey, to, length, type, level);
	must(ibv_wr_complete(q), "ibv_wr_complete");
	ends(p, WC_FLUSH, status);
}

static uint64_t caps(void)
{
	struct ibv_device_attr_ex attr;

	must(ibv_query_device_ex(ctx, NULL, &attr), "ibv_query_device_ex");
	return attr.device_cap_flags_ex & CAPS;
}

void test_atomic_write(void)
{
	struct pair p = unconnected(false);
	struct ibv_mr *reader = made(ibv_reg_mr(pd, memory, MEMORY, IBV_ACCESS_LOCAL_WRITE |
						IBV_ACCESS_REMOTE_READ |
						IBV_ACCESS_REMOTE_ATOMIC), "ibv_reg_mr");
	struct ibv_mr *writer = made(ibv_reg_mr(pd, TO, 64, IBV_ACCESS_LOCAL_WRITE |
						IBV_ACCESS_REMOTE_WRITE), "ibv_reg_mr");
	struct ibv_sge sge = { (uintptr_t)memory, 8, mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_WRITE, .sg_list = &sge, .num_sge = 1 };
	uint64_t to = (uintptr_t)TO + 8, *at = (uint64_t *)TO;
	struct ibv_qp_ex *q;

	/* not each processor can write back */
	if ((caps() | CAP_FLUSH_PERSISTENT) != CAPS)
		die("of the capabilities there are %#llx", (unsigned long long)caps());
	connect_with(&p, IBV_ACCESS_REMOTE_WRITE, 4);
	atomic_write(&p, to, writer->rkey, IBV_WC_SUCCESS);
	if (at[0] || at[1] != 0x1122334455667788 || at[2])
		die("it made %#llx of 0, between %#llx and %#llx", (unsigned long long)at[1],
		    (unsigned long long)at[0], (unsigned long long)at[2]);
	refused(post_send(p.qp[0], &wr), EINVAL);
	/* it has no other data than its own */
	q = begin(&p, IBV_SEND_SIGNALED);
	ibv_wr_atomic_write(q, writer->rkey, to, memory);
	ibv_wr_set_inline_data(q, memory, 8);
	refused(ibv_wr_complete(q), EINVAL);

	atomic_write(&p, to + 4, writer->rkey, IBV_WC_REM_INV_REQ_ERR);
	anew(&p, IBV_ACCESS_REMOTE_WRITE);
	atomic_write(&p, to + 56, writer->rkey, IBV_WC_REM_ACCESS_ERR);
	anew(&p, IBV_ACCESS_REMOTE_WRITE);
	atomic_write(&p, to, reader->rkey, IBV_WC_REM_ACCESS_ERR);
	anew(&p, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	atomic_write(&p, to, writer->rkey, IBV_WC_REM_INV_REQ_ERR);
	/* as long as no READs are allowed, neither is this */
	must(modify(p.qp[0], IBV_QPS_RESET), "to RESET");
	must(modify(p.qp[1], IBV_QPS_RESET), "to RESET");
	connect_with(&p, IBV_ACCESS_REMOTE_WRITE, 0);
	atomic_write(&p, to, writer->rkey, IBV_WC_LOC_QP_OP_ERR);
	if (at[0] || at[1] != 0x1122334455667788 || at[2])
		die("a refused one wrote");
	must(ibv_dereg_mr(reader), "ibv_dereg_mr");
	must(ibv_dereg_mr(writer), "ibv_dereg_mr");
	disconnect(&p);
}

static int bad_flush(struct pair *p, size_t length, uint8_t type, uint8_t level)
{
	struct ibv_qp_ex *q = begin(p, IBV_SEND_SIGNALED);

	wr_flush(q, mr->rkey, (uintptr_t)TO, length, type, level);
	return ibv_wr_complete(q);
}

/* Can the processor write back? Else no memory has the right, whatever it is made of. */
static bool writes_back(void)
{
	return caps() & CAP_FLUSH_PERSISTENT;
}

void test_flush(void)
{
	struct ibv_mr *r = made(ibv_reg_mr(pd, TO, BYTES, ACCESS_FLUSH_GLOBAL), "ibv_reg_mr");
	struct pair p = unconnected(true);
	uint64_t to = (uintptr_t)TO;

	/* RAM does not outlast its power */
	refused_pointer(ibv_reg_mr(pd, TO, BYTES, ACCESS_FLUSH_PERSISTENT),
			writes_back() ? EINVAL : EOPNOTSUPP);
	connect_with(&p, ACCESS_FLUSH_GLOBAL, 4);
	flush(&p, to, BYTES, r->rkey, FLUSH_GLOBAL, FLUSH_RANGE, IBV_WC_SUCCESS);
	flush(&p, to + BYTES, 0, r->rkey, FLUSH_GLOBAL, FLUSH_RANGE, IBV_WC_SUCCESS);
	flush(&p, to - 8, SIZE_MAX, r->rkey, FLUSH_GLOBAL, FLUSH_MR, IBV_WC_SUCCESS);
	refused(bad_flush(&p, 8, 0, FLUSH_RANGE), EINVAL);
	refused(bad_flush(&p, 8, 4, FLUSH_RANGE), EINVAL);
	refused(bad_flush(&p, 8, FLUSH_GLOBAL, 2), EINVAL);
	refused(bad_flush(&p, 1ULL << 32, FLUSH_GLOBAL, FLUSH_RANGE), EINVAL);

	flush(&p, to, (1U << 31) + 1, r->rkey, FLUSH_GLOBAL, FLUSH_RANGE, IBV_WC_LOC_LEN_ERR);
	anew(&p, ACCESS_FLUSH_GLOBAL);
	flush(&p, to, BYTES + 1, r->rkey, FLUSH_GLOBAL, FLUSH_RANGE, IBV_WC_REM_ACCESS_ERR);
	anew(&p, ACCESS_FLUSH_GLOBAL);
	flush(&p, to + BYTES + 1, 0, r->rkey, FLUSH_GLOBAL, FLUSH_RANGE, IBV_WC_REM_ACCESS_ERR);
	anew(&p, ACCESS_FLUSH_GLOBAL);
	flush(&p, to, 8, mr->rkey, FLUSH_GLOBAL, FLUSH_RANGE, IBV_WC_REM_ACCESS_ERR);
	anew(&p, ACCESS_FLUSH_GLOBAL);
	flush(&p, 0, 0, mr->rkey, FLUSH_GLOBAL, FLUSH_MR, IBV_WC_REM_ACCESS_ERR);
	anew(&p, ACCESS_FLUSH_GLOBAL | ACCESS_FLUSH_PERSISTENT);
	flush(&p, to, 8, r->rkey, FLUSH_PERSISTENT, FLUSH_RANGE, IBV_WC_REM_ACCESS_ERR);
	anew(&p, ACCESS_FLUSH_GLOBAL);
	flush(&p, to, 8, r->rkey, FLUSH_GLOBAL | FLUSH_PERSISTENT, FLUSH_RANGE,
	      IBV_WC_REM_INV_REQ_ERR);
	anew(&p, RIGHTS);
	flush(&p, to, 8, r->rkey, FLUSH_GLOBAL, FLUSH_RANGE, IBV_WC_REM_INV_REQ_ERR);
	must(ibv_dereg_mr(r), "ibv_dereg_mr");
	disconnect(&p);
}

/* Bytes of message @number: none if it is 0. */
static void check_block(uint64_t number, const uint8_t *at)
{
	int i;

	for (i = 0; number && i < BYTES; i++)
		if (at[i] != (uint8_t)(number * 7))
			die("the flag says %llu, and byte %d is not there",
			    (unsigned long long)number, i);
}

/*
 * Blocks are written to memory that promises no order, then flushed, then announced by a flag, by
 * an ATOMIC_WRITE and a Write in turn: what the flag says must be there, and nothing is carried out
 * twice or late, or the flag would go back.
 */
void test_placement_lossy(void)
{
	enum { MESSAGES = 300, BLOCKS = 4 };
	struct ibv_mr *r = made(ibv_reg_mr(pd, TO, MEMORY / 2, RIGHTS | ACCESS_FLUSH_GLOBAL |
					   IBV_ACCESS_RELAXED_ORDERING), "ibv_reg_mr");
	volatile uint64_t *flag = FLAG;
	uint64_t number = 0, done = 0, last = 0, now;
	struct pair p = unconnected(true);
	struct ibv_qp_ex *q;
	struct ibv_wc wc;

	connect_with(&p, RIGHTS | ACCESS_FLUSH_GLOBAL, 4);
	while (done < MESSAGES) {
		/* what the flag may still say is not written over */
		while (number < MESSAGES && number - done < BLOCKS - 1) {
			uint64_t block = ++number % BLOCKS;

			memset(memory + block * BYTES, number * 7, BYTES);
			q = begin(&p, 0);
			ibv_wr_rdma_write(q, r->rkey, (uintptr_t)TO + block * BYTES);
			ibv_wr_set_sge(q, mr->lkey, (uintptr_t)memory + block * BYTES, BYTES);
			wr_flush(q, r->rkey, (uintptr_t)TO + block * BYTES, BYTES, FLUSH_GLOBAL,
				 number % 2 ? FLUSH_RANGE : FLUSH_MR);
			q->wr_flags = IBV_SEND_SIGNALED | (number % 2 ? 0 : IBV_SEND_FENCE);
			if (number % 2) {
				ibv_wr_atomic_write(q, r->rkey, (uintptr_t)FLAG, &number);
			} else {
				ibv_wr_rdma_write(q, r->rkey, (uintptr_t)FLAG);
				ibv_wr_set_inline_data(q, &number, sizeof(number));
			}
			must(ibv_wr_complete(q), "ibv_wr_complete");
		}
		now = *flag;
		if (now < last)
			die("the flag was %llu and is %llu", (unsigned long long)last,
			    (unsigned long long)now);
		check_block(now, TO + now % BLOCKS * BYTES);
		last = now;
		while (ibv_poll_cq(p.cq, 1, &wc)) {
			if (wc.status)
				die("message %llu: %s", (unsigned long long)done + 1,
				    ibv_wc_status_str(wc.status));
			if (*flag < ++done)
				die("message %llu is complete, the flag says %llu",
				    (unsigned long long)done, (unsigned long long)*flag);
		}
	}
	must(ibv_dereg_mr(r), "ibv_dereg_mr");
	disconnect(&p);
}

/* Of a kernel without them, nothing may be left to try. */
void test_placement_absent(void)
{
	struct ibv_cq *cq = made(ibv_create_cq(ctx, 4, NULL, NULL, 0), "ibv_create_cq");

	if (caps())
		die("of the capabilities there are %#llx", (unsigned long long)caps());
	refused_pointer(create_ex(cq, IBV_QP_EX_WITH_ATOMIC_WRITE), EOPNOTSUPP);
	refused_pointer(create_ex(cq, EX_WITH_FLUSH), EOPNOTSUPP);
	refused_pointer(ibv_reg_mr(pd, TO, BYTES, ACCESS_FLUSH_GLOBAL), EINVAL);
	must(ibv_destroy_cq(cq), "ibv_destroy_cq");
}

/* A libibverbs that does not know ibv_wr_flush() could not give it to a program. */
void test_flush_unknown(void)
{
	struct ibv_cq *cq = made(ibv_create_cq(ctx, 4, NULL, NULL, 0), "ibv_create_cq");

	refused_pointer(create_ex(cq, EX_WITH_FLUSH), EOPNOTSUPP);
	must(ibv_destroy_cq(cq), "ibv_destroy_cq");
}
