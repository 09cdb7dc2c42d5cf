// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of mroce-verbs: unreliable connections.
 */
#include <unistd.h>
#include <arpa/inet.h>

#include "verbs.h"

static struct pair uc_pair(struct ibv_srq *srq)
{
	struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 64, .max_send_sge = 2,
				  .max_recv_sge = 2, .max_inline_data = 64 };

	qp_type = IBV_QPT_UC;
	return connected(&cap, srq, 128, 1);
}

static void uc_one(struct pair *p, enum ibv_wr_opcode opcode, uint32_t length, bool inlined)
{
	bool imm = opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	bool write = opcode == IBV_WR_RDMA_WRITE_WITH_IMM || opcode == IBV_WR_RDMA_WRITE;
	uint32_t half = length / 2;
	uint64_t to = (uintptr_t)memory + MEMORY / 2;
	struct ibv_sge from[2] = {
		{ (uintptr_t)memory, half, mr->lkey },
		{ (uintptr_t)memory + half, length - half, mr->lkey },
	}, into[2] = {
		{ to, length / 3, mr->lkey }, { to + length / 3, length - length / 3, mr->lkey },
	};
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = opcode, .sg_list = from, .num_sge = 2, .imm_data = htonl(length),
		.send_flags = inlined ? IBV_SEND_INLINE : 0,
	};
	struct ibv_wc wc;
	bool sent = false, received = opcode == IBV_WR_RDMA_WRITE;

	fill(length);
	if (!received)
		must(post_recv(p->qp[1], NULL, into, write ? 0 : 2), "a receive");
	must(post_send(p->qp[0], &wr), "a request");
	while (!sent || !received) {
		if (!ibv_poll_cq(p->cq, 1, &wc))
			continue;
		if (wc.status)
			die("%u bytes: %s", length, ibv_wc_status_str(wc.status));
		if (wc.wr_id) {
			sent = true;
			continue;
		}
		received = true;
		if (wc.byte_len != length || wc.opcode != (write ? IBV_WC_RECV_RDMA_WITH_IMM :
								   IBV_WC_RECV) ||
		    !!(wc.wc_flags & IBV_WC_WITH_IMM) != imm ||
		    (imm && ntohl(wc.imm_data) != length))
			die("%u bytes: a completion of %u, opcode %d", length, wc.byte_len,
			    wc.opcode);
	}
	arrived(length, "UC");
}

void test_uc(void)
{
	static const uint32_t lengths[] = { 0, 1, 63, 1023, 1024, 1025, 4096, 30000 };
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	struct pair p = uc_pair(NULL);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ };
	unsigned int i, k;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (k = 0; k < 4; k++)
			uc_one(&p, opcodes[k], lengths[i], false);
	for (k = 0; k < 4; k++)
		uc_one(&p, opcodes[k], 60, true);
	refused(post_send(p.qp[0], &wr), EINVAL);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	refused(post_send(p.qp[0], &wr), EINVAL);
	disconnect(&p);
}

static void uc_lost(struct pair *p, struct ibv_send_wr *wr)
{
	must(post_send(p->qp[0], wr), "a request");
	completes(p->cq, 1, IBV_WC_SUCCESS);
}

/* What the receiver does not take is lost, and harms nothing that comes after it. */
void test_uc_refused(void)
{
	struct pair p = uc_pair(NULL);
	struct ibv_sge from = { (uintptr_t)memory, 5000, mr->lkey };
	struct ibv_sge into = { (uintptr_t)memory + MEMORY / 2, 4999, mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &from, .num_sge = 1 }, *bad;
	int i;

	uc_lost(&p, &wr);
	uc_one(&p, IBV_WR_SEND, 3000, false);
	/* too long by a byte: the buffer is the next message's */
	must(post_recv(p.qp[1], NULL, &into, 1), "a receive");
	uc_lost(&p, &wr);
	from.length = 4999;
	fill(4999);
	must(post_send(p.qp[0], &wr), "a request");
	completes(p.cq, 2, IBV_WC_SUCCESS);
	arrived(4999, "a message that fits");
	/* no such key */
	fill(4999);
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = (uintptr_t)memory + MEMORY / 2;
	wr.wr.rdma.rkey = mr->rkey ^ 1;
	must(ibv_post_send(p.qp[0], &wr, &bad), "a Write");
	completes(p.cq, 1, IBV_WC_SUCCESS);
	for (i = 0; i < 4999; i++)
		if ((memory[MEMORY / 2 + i] ^ memory[i]) != 0xff)
			die("a Write with a wrong key has arrived");
	uc_one(&p, IBV_WR_RDMA_WRITE_WITH_IMM, 3000, false);
	/* a peer that is not there */
	must(modify(p.qp[1], IBV_QPS_RESET), "to RESET");
	wr.opcode = IBV_WR_SEND;
	uc_lost(&p, &wr);
	/* an error is the sender's own only */
	from.lkey ^= 1;
	must(post_send(p.qp[0], &wr), "a request");
	completes(p.cq, 1, IBV_WC_LOC_PROT_ERR);
	disconnect(&p);
}

void test_uc_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 2 } };
	struct ibv_srq *srq = made(ibv_create_srq(pd, &init), "ibv_create_srq");
	struct pair p = uc_pair(srq);
	struct ibv_sge from = { (uintptr_t)memory, 5000, mr->lkey };
	struct ibv_sge into = { (uintptr_t)memory + MEMORY / 2, 4000, mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &from, .num_sge = 1 };

	must(post_recv(NULL, srq, &into, 1), "a receive");
	uc_lost(&p, &wr);
	from.length = 4000;
	fill(4000);
	must(post_send(p.qp[0], &wr), "a request");
	completes(p.cq, 2, IBV_WC_SUCCESS);
	arrived(4000, "a message that fits");
	/* the buffer that a message has taken goes back with the queue pair, to another */
	must(post_recv(NULL, srq, &into, 1), "a receive");
	from.length = 5000;
	uc_lost(&p, &wr);
	disconnect(&p);
	p = uc_pair(srq);
	from.length = 4000;
	fill(4000);
	must(post_send(p.qp[0], &wr), "a request");
	completes(p.cq, 2, IBV_WC_SUCCESS);
	arrived(4000, "a message to a buffer that was given back");
	disconnect(&p);
	must(ibv_destroy_srq(srq), "ibv_destroy_srq");
}

/* the number of a message that has come whole; none if it is of several */
static void whole(uint32_t *last, uint32_t number, uint8_t *at, uint32_t length)
{
	uint32_t i;

	if (number <= *last)
		die("message %u came after %u", number, *last);
	*last = number;
	for (i = 0; i < length; i++)
		if (at[i] != (uint8_t)(number * 7 + i / 64))
			die("message %u: byte %u is of another", number, i);
}

/*
 * A network that loses and reorders: what comes has come whole, in order, into buffers in their
 * order. A program may write to its buffer as soon as the request is complete.
 */
void test_uc_lossy(void)
{
	enum { MESSAGES = 400, LENGTH = 5000, BUFFERS = 6 };
	struct pair p = uc_pair(NULL);
	struct ibv_sge from = { (uintptr_t)memory, LENGTH, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND_WITH_IMM, .sg_list = &from,
				  .num_sge = 1 };
	uint32_t number, last = 0, next = 0, i, came = 0;
	struct ibv_wc wc;

	for (i = 0; i < BUFFERS; i++) {
		struct ibv_sge into = { (uintptr_t)memory + MEMORY / 2 + i * LENGTH, LENGTH, mr->lkey };

		must(post_recv(p.qp[1], NULL, &into, 1), "a receive");
	}
	for (number = 1; last < MESSAGES; number++) {
		bool sent = false;

		for (i = 0; i < LENGTH; i++)
			memory[i] = number * 7 + i / 64;
		wr.imm_data = htonl(number);
		must(post_send(p.qp[0], &wr), "a message");
		while (!sent) {
			uint8_t *at = memory + MEMORY / 2 + next * LENGTH;
			struct ibv_sge into = { (uintptr_t)at, LENGTH, mr->lkey };

			if (!ibv_poll_cq(p.cq, 1, &wc))
				continue;
			if (wc.status)
				die("message %u: %s", number, ibv_wc_status_str(wc.status));
			if (wc.wr_id) {
				sent = true;
				/* what is under way is a copy */
				memset(memory, 0, LENGTH);
				continue;
			}
			whole(&last, ntohl(wc.imm_data), at, LENGTH);
			came++;
			must(post_recv(p.qp[1], NULL, &into, 1), "a receive");
			next = (next + 1) % BUFFERS;
		}
		usleep(200);
	}
	printf("%u of %u came\n", came, number - 1);
	if (came < MESSAGES / 4 || came == number - 1)
		die("%u of %u came", came, number - 1);
	disconnect(&p);
}
