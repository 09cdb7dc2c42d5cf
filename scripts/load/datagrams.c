// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of mroce-verbs: datagrams, to queue pairs and to groups.
 */
#include "datagrams.h"
#include "verbs.h"

#define ANSWERS	10

void ready_ud(struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey };

	must(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY),
	     "to INIT");
	must(modify(qp, IBV_QPS_RTR), "to RTR");
	a.qp_state = IBV_QPS_RTS;
	must(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN), "to RTS");
}

struct ud make_ud_on(uint32_t qkey, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 16, .max_recv_wr = 64, .max_send_sge = 4, .max_recv_sge = 4 },
		.qp_type = IBV_QPT_UD,
	};
	struct ud u = { .cq = cq };

	init.send_cq = cq;
	init.recv_cq = cq;
	u.qp = made(ibv_create_qp(pd, &init), "ibv_create_qp");
	ready_ud(u.qp, qkey);
	return u;
}

struct ud make_ud(uint32_t qkey)
{
	return make_ud_on(qkey, made(ibv_create_cq(ctx, 128, NULL, NULL, 0), "ibv_create_cq"));
}

void unmake_ud(struct ud *u)
{
	must(ibv_destroy_qp(u->qp), "ibv_destroy_qp");
	must(ibv_destroy_cq(u->cq), "ibv_destroy_cq");
}

void receive_at(struct ud *u, size_t at, size_t length)
{
	uint64_t to = (uintptr_t)memory + MEMORY / 2 + at;
	struct ibv_sge sge[3] = {
		{ to, GRH + 3, mr->lkey }, { to + GRH + 3, 1, mr->lkey },
		{ to + GRH + 4, length - 4, mr->lkey },
	};

	must(post_recv(u->qp, NULL, sge, 3), "a receive");
}

struct ibv_ah *post_to(struct ud *u, const union ibv_gid *to, uint32_t qpn, size_t length)
{
	struct ibv_ah_attr attr = self();
	struct ibv_ah *ah;
	struct ibv_sge sge[3] = {
		{ (uintptr_t)memory, 5, mr->lkey }, { (uintptr_t)memory + 5, 0, 0 },
		{ (uintptr_t)memory + 5, length - 5, mr->lkey },
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 3, .send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .remote_qpn = qpn, .remote_qkey = QKEY },
	}, *bad;

	attr.grh.dgid = *to;
	ah = made(ibv_create_ah(pd, &attr), "ibv_create_ah");
	wr.wr.ud.ah = ah;
	must(ibv_post_send(u->qp, &wr, &bad), "a datagram");
	return ah;
}

void send_to(struct ud *u, const union ibv_gid *to, uint32_t qpn, size_t length, bool hears)
{
	struct ibv_ah *ah = post_to(u, to, qpn, length);

	completes(u->cq, 1 + hears, IBV_WC_SUCCESS);
	must(ibv_destroy_ah(ah), "ibv_destroy_ah");
}

void got(size_t at, size_t length, const char *what)
{
	if (memcmp(memory, memory + MEMORY / 2 + at + GRH, length))
		die("%s: wrong bytes arrived", what);
}

void test_ud_sge(void)
{
	static const size_t lengths[] = { 1000, 2500, 4096 };
	struct ud u = make_ud(QKEY);
	unsigned int i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		fill(lengths[i]);
		memset(memory + MEMORY / 2, 0, 5000);
		receive_at(&u, 0, lengths[i]);
		send_to(&u, &gid, u.qp->qp_num, lengths[i], true);
		got(0, lengths[i], "a datagram of pieces");
	}
	unmake_ud(&u);
}

bool over_ipv4(void)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid.raw, mapped, sizeof(mapped));
}

union ibv_gid group_of(uint8_t n)
{
	return over_ipv4() ?
	       (union ibv_gid){ .raw = { [10] = 0xff, 0xff, 239, 9, 8, n } } :
	       (union ibv_gid){ .raw = { 0xff, 0x15, [11] = 9, [13] = 8, [15] = n } };
}

/* Programs write again when a datagram is complete, and it may still be held back: by lo, for this test. */
void test_ud_copied(void)
{
	enum { LENGTH = 4096, COUNT = 4 };
	struct ud u = make_ud(QKEY);
	struct ibv_ah_attr attr = self();
	struct ibv_ah *ah = made(ibv_create_ah(pd, &attr), "ibv_create_ah");
	struct ibv_sge from = { (uintptr_t)memory, LENGTH, mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .sg_list = &from, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = ah, .remote_qpn = u.qp->qp_num, .remote_qkey = QKEY },
	}, *bad;
	unsigned int i, byte;
	struct ibv_wc wc;

	for (i = 0; i < COUNT; i++) {
		receive_at(&u, 0, LENGTH);
		memset(memory + MEMORY / 2, 0, GRH + LENGTH);
		memset(memory, 1 + i, LENGTH);
		must(ibv_post_send(u.qp, &wr, &bad), "a datagram");
		while (!ibv_poll_cq(u.cq, 1, &wc))
			;
		if (wc.status || wc.opcode != IBV_WC_SEND)
			die("the first completion is not the sender's: %s", ibv_wc_status_str(wc.status));
		memset(memory, 0xee, LENGTH);
		if (ibv_poll_cq(u.cq, 1, &wc))
			die("nothing held it back");
		completes(u.cq, 1, IBV_WC_SUCCESS);
		for (byte = 0; byte < LENGTH; byte++)
			if (memory[MEMORY / 2 + GRH + byte] != 1 + i)
				die("byte %u of datagram %u was written after its completion", byte, i);
	}
	must(ibv_destroy_ah(ah), "ibv_destroy_ah");
	unmake_ud(&u);
}

/* several queue pairs in a group, one in another, one with another Q_Key; all of this host */
void test_group(void)
{
	union ibv_gid group = group_of(1), other = group_of(2), unicast = gid;
	struct ud in[3], out = make_ud(QKEY), else_where = make_ud(QKEY), strange = make_ud(QKEY + 1);
	int i;

	refused(ibv_attach_mcast(out.qp, &unicast, 0), EINVAL);
	refused(ibv_detach_mcast(out.qp, &group, 0), EINVAL);
	for (i = 0; i < 3; i++) {
		in[i] = make_ud(QKEY);
		must(ibv_attach_mcast(in[i].qp, &group, 0), "ibv_attach_mcast");
		receive_at(&in[i], i * 2000, 1000);
	}
	must(ibv_attach_mcast(else_where.qp, &other, 0), "ibv_attach_mcast");
	must(ibv_attach_mcast(strange.qp, &group, 0), "ibv_attach_mcast");
	refused(ibv_destroy_qp(strange.qp), EBUSY);
	receive_at(&else_where, 6000, 1000);
	receive_at(&strange, 8000, 1000);
	fill(1000);
	memset(memory + MEMORY / 2, 0, 10000);
	send_to(&out, &group, 0xffffff, 1000, false);
	for (i = 0; i < 3; i++) {
		completes(in[i].cq, 1, IBV_WC_SUCCESS);
		got(i * 2000, 1000, "to a group");
	}

	/* who has left hears no more, and who sends hears itself */
	must(ibv_detach_mcast(in[0].qp, &group, 0), "ibv_detach_mcast");
	for (i = 0; i < 3; i++)
		receive_at(&in[i], i * 2000, 1000);
	fill(1000);
	memset(memory + MEMORY / 2, 0, 10000);
	send_to(&in[1], &group, 0xffffff, 1000, true);
	completes(in[2].cq, 1, IBV_WC_SUCCESS);
	got(2000, 1000, "to the sender's own group");
	/* a queue pair's number means nothing to a group, nor a group's to a queue pair */
	send_to(&out, &group, in[2].qp->qp_num, 1000, false);
	send_to(&out, &gid, 0xffffff, 1000, false);
	receive_at(&out, 12000, 1000);
	send_to(&out, &gid, out.qp->qp_num, 1000, true);
	completes(in[0].cq, 0, IBV_WC_SUCCESS);
	completes(in[2].cq, 0, IBV_WC_SUCCESS);
	completes(else_where.cq, 0, IBV_WC_SUCCESS);
	completes(strange.cq, 0, IBV_WC_SUCCESS);

	must(ibv_detach_mcast(else_where.qp, &other, 0), "ibv_detach_mcast");
	must(ibv_detach_mcast(strange.qp, &group, 0), "ibv_detach_mcast");
	for (i = 1; i < 3; i++)
		must(ibv_detach_mcast(in[i].qp, &group, 0), "ibv_detach_mcast");
	for (i = 0; i < 3; i++)
		unmake_ud(&in[i]);
	unmake_ud(&out);
	unmake_ud(&else_where);
	unmake_ud(&strange);
}

/* two programs on two hosts; the second is run until the first has heard enough */
void test_group_receive(void)
{
	union ibv_gid group = group_of(1);
	struct ud u = make_ud(QKEY);
	int i;

	for (i = 0; i < ANSWERS; i++)
		receive_at(&u, 0, 1000);
	must(ibv_attach_mcast(u.qp, &group, 0), "ibv_attach_mcast");
	completes(u.cq, ANSWERS, IBV_WC_SUCCESS);
	/* the kernel detaches it */
	exit(0);
}

void test_group_send(void)
{
	union ibv_gid group = group_of(1);
	struct ud u = make_ud(QKEY);
	int i;

	for (i = 0; i < ANSWERS; i++)
		send_to(&u, &group, 0xffffff, 1000, false);
	unmake_ud(&u);
}
