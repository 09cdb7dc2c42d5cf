// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of mroce-verbs: what may change while a send queue is drained (SQD), and what is left of an
 * unreliable queue pair whose send queue is in error (SQE).
 */
#include <arpa/inet.h>
#include <unistd.h>

#include "datagrams.h"
#include "verbs.h"

static enum ibv_qp_state state_of(struct ibv_qp *qp, struct ibv_qp_attr *a)
{
	struct ibv_qp_init_attr init;

	memset(a, 0, sizeof(*a));
	must(ibv_query_qp(qp, a, IBV_QP_STATE | IBV_QP_AV, &init), "ibv_query_qp");
	return a->qp_state;
}

static void is_in(struct ibv_qp *qp, enum ibv_qp_state want)
{
	struct ibv_qp_attr a;
	enum ibv_qp_state is = state_of(qp, &a);

	if (is != want)
		die("state %d, should be %d", is, want);
}

static struct pair pair_of(enum ibv_qp_type type, unsigned int reads)
{
	struct ibv_qp_cap cap = { .max_send_wr = 256, .max_recv_wr = 64, .max_send_sge = 1,
				  .max_recv_sge = 1 };

	qp_type = type;
	return connected(&cap, NULL, 600, reads);
}

/* ---- SQD ---- */

static int change_av(struct ibv_qp *qp, const struct ibv_ah_attr *to)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .ah_attr = *to };

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV);
}

static void writes(struct pair *p, const char *what)
{
	struct ibv_sge sge = { (uintptr_t)memory, 3000, mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

	fill(3000);
	must(post_send(p->qp[0], &wr), what);
	completes(p->cq, 1, IBV_WC_SUCCESS);
	/* UC tells of its departure, not of its arrival */
	if (p->qp[0]->qp_type == IBV_QPT_UC)
		usleep(200000);
	arrived(3000, what);
}

/* The device's address of the other family, if it has one that is not of the link alone. */
static bool other_gid(struct ibv_ah_attr *to)
{
	union ibv_gid g;
	int i;

	*to = self();
	for (i = 0; i < port.gid_tbl_len && !ibv_query_gid(ctx, 1, i, &g); i++) {
		if (g.raw[0] != 0xfd)
			continue;
		to->grh.dgid = g;
		to->grh.sgid_index = i;
		return true;
	}
	return false;
}

static void sqd_address(enum ibv_qp_type type)
{
	const char *other = getenv("OTHER");
	struct pair p = pair_of(type, 1);
	struct ibv_ah_attr to = self();
	struct ibv_qp_attr a;

	writes(&p, "before");
	refused(change_av(p.qp[0], &to), EINVAL);
	must(modify(p.qp[0], IBV_QPS_SQD), "to SQD");
	to.grh.traffic_class = 0x40;
	must(change_av(p.qp[0], &to), "another class");
	state_of(p.qp[0], &a);
	if (a.ah_attr.grh.traffic_class != 0x40)
		die("class 0x%x", a.ah_attr.grh.traffic_class);
	must(modify(p.qp[0], IBV_QPS_RTS), "to RTS");
	writes(&p, "with another class");

	must(modify(p.qp[0], IBV_QPS_SQD), "to SQD");
	if (!other_gid(&to))
		die("the device has no second address");
	must(change_av(p.qp[0], &to), "the peer's other address");
	state_of(p.qp[0], &a);
	if (memcmp(&a.ah_attr.grh.dgid, &to.grh.dgid, sizeof(to.grh.dgid)))
		die("another GID is told");
	/* UC has no peer that would be missed; it takes what comes from the address that it has */
	if (type == IBV_QPT_UC) {
		must(modify(p.qp[1], IBV_QPS_SQD), "to SQD");
		must(change_av(p.qp[1], &to), "the peer's other address, there");
		must(modify(p.qp[1], IBV_QPS_RTS), "to RTS");
	}
	must(modify(p.qp[0], IBV_QPS_RTS), "to RTS");
	writes(&p, "to the other address");

	must(modify(p.qp[0], IBV_QPS_SQD), "to SQD");
	to = self();
	to.grh.dgid = (union ibv_gid){};
	refused(change_av(p.qp[0], &to), EINVAL);
	if (type == IBV_QPT_RC) {
		if (!other)
			die("OTHER is to be the IPv4 address of another device");
		to.grh.dgid.raw[10] = 0xff;
		to.grh.dgid.raw[11] = 0xff;
		must(inet_pton(AF_INET, other, to.grh.dgid.raw + 12) == 1 ? 0 : EINVAL, "OTHER");
		refused(change_av(p.qp[0], &to), EINVAL);
		to.grh.dgid.raw[15] = 0xc8;
		/* of the core, which asks for its Ethernet address */
		refused(change_av(p.qp[0], &to), ETIMEDOUT);
	}
	/* what was refused has changed nothing */
	must(modify(p.qp[0], IBV_QPS_RTS), "to RTS");
	writes(&p, "after a refusal");
	disconnect(&p);
}

void test_sqd_address(void)
{
	sqd_address(IBV_QPT_RC);
	sqd_address(IBV_QPT_UC);
}

static uint64_t refused_reads(void)
{
	char command[100], text[8192], *at;
	size_t n;
	FILE *f;

	/* the core keeps what it has read for a while; a namespace's sysfs has no counters */
	usleep(50000);
	snprintf(command, sizeof(command), "rdma statistic show link %s/1",
		 ibv_get_device_name(ctx->device));
	f = made(popen(command, "r"), command);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	at = strstr(text, " nak_reads ");
	if (pclose(f) || !at)
		die("%s does not tell of nak_reads", command);
	return strtoull(at + strlen(" nak_reads "), NULL, 10);
}

static void change_reads(struct ibv_qp *qp, int requester, unsigned int reads)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .max_rd_atomic = reads,
				 .max_dest_rd_atomic = reads };

	must(modify(qp, IBV_QPS_SQD), "to SQD");
	must(ibv_modify_qp(qp, &a, IBV_QP_STATE | (requester ? IBV_QP_MAX_QP_RD_ATOMIC :
							      IBV_QP_MAX_DEST_RD_ATOMIC)),
	     "a limit of READs in SQD");
	must(modify(qp, IBV_QPS_RTS), "to RTS");
}

enum { ATOMICS = 200 };

static void post_atomics(struct pair *p, uint64_t *old)
{
	uint64_t to = (uintptr_t)memory + MEMORY / 2;
	int i;

	*(uint64_t *)(memory + MEMORY / 2) = 0;
	for (i = 0; i < ATOMICS; i++) {
		struct ibv_sge sge = { (uintptr_t)&old[i], 8, mr->lkey };
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .sg_list = &sge, .num_sge = 1,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.atomic = { .remote_addr = to, .rkey = mr->rkey, .compare_add = 3 },
		}, *bad;

		old[i] = ~0ULL;
		must(ibv_post_send(p->qp[0], &wr, &bad), "an atomic");
	}
}

/* each was carried out once, in its turn, and its answer is its own */
static void atomics_done(struct pair *p, const uint64_t *old)
{
	int i;

	completes(p->cq, ATOMICS, IBV_WC_SUCCESS);
	for (i = 0; i < ATOMICS; i++)
		if (old[i] != 3ULL * i)
			die("atomic %d found %llu", i, (unsigned long long)old[i]);
}

/*
 * A responder changes its limit while requests come, in a network that loses some: a lost one keeps
 * those behind it waiting, as many as the limit allows.
 */
void test_sqd_reads(void)
{
	static const unsigned int limits[] = { 3, 17, 40, 2, 64, 128, 1, 128 };
	uint64_t *old = (uint64_t *)memory, before;
	struct pair p = pair_of(IBV_QPT_RC, 1);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD };
	unsigned int i, limit = 1;

	/* never fewer than the requester has under way: that ends a queue pair */
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (limits[i] < limit)
			change_reads(p.qp[0], 1, limits[i]);
		post_atomics(&p, old);
		change_reads(p.qp[1], 0, limits[i]);
		atomics_done(&p, old);
		if (limits[i] > limit)
			change_reads(p.qp[0], 1, limits[i]);
		limit = limits[i];
	}
	before = refused_reads();
	for (i = 0; i < 20; i++) {
		post_atomics(&p, old);
		atomics_done(&p, old);
	}
	if (refused_reads() != before)
		die("the raised limit is not obeyed: %llu refusals",
		    (unsigned long long)(refused_reads() - before));
	/* what the requester has beyond it is refused, and comes again */
	change_reads(p.qp[1], 0, 2);
	for (i = 0; refused_reads() == before; i++) {
		if (i == 200)
			die("the lowered limit is not obeyed");
		post_atomics(&p, old);
		atomics_done(&p, old);
	}
	must(modify(p.qp[1], IBV_QPS_SQD), "to SQD");
	a.max_dest_rd_atomic = dev.max_qp_rd_atom + 1;
	refused(ibv_modify_qp(p.qp[1], &a, IBV_QP_STATE | IBV_QP_MAX_DEST_RD_ATOMIC), EINVAL);
	disconnect(&p);
}

/* ---- SQE ---- */

struct unreliable {
	struct ibv_qp *qp[2];
	struct ibv_cq *cq;
	struct ibv_ah *ah;
};

static struct ibv_send_wr message(struct unreliable *u, int from, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (u->ah) {
		wr.wr.ud.ah = u->ah;
		wr.wr.ud.remote_qpn = u->qp[!from]->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	}
	return wr;
}

/* to @from's peer, where it arrives */
static void passes(struct unreliable *u, int from)
{
	struct ibv_sge sge = { (uintptr_t)memory, 500, mr->lkey };
	struct ibv_sge into = { (uintptr_t)memory + MEMORY / 2, 600, mr->lkey };
	struct ibv_send_wr wr = message(u, from, &sge), *bad;

	fill(600);
	must(post_recv(u->qp[!from], NULL, &into, 1), "a receive");
	must(ibv_post_send(u->qp[from], &wr, &bad), "a message");
	completes(u->cq, 2, IBV_WC_SUCCESS);
	if (memcmp(memory, memory + MEMORY / 2 + (u->ah ? GRH : 0), 500))
		die("wrong bytes arrived");
}

static void fails_with(struct unreliable *u, enum ibv_wc_status first, unsigned int flushed)
{
	struct ibv_wc wc = next_completion(u->cq);

	if (wc.status != first)
		die("%s, should be %s", ibv_wc_status_str(wc.status), ibv_wc_status_str(first));
	completes(u->cq, flushed, IBV_WC_WR_FLUSH_ERR);
	is_in(u->qp[0], IBV_QPS_SQE);
}

static void to_sqe(struct unreliable *u)
{
	struct ibv_sge good = { (uintptr_t)memory, 500, mr->lkey };
	struct ibv_sge none = { (uintptr_t)memory, 500, mr->lkey ^ 0x5500 };
	struct ibv_send_wr wr[4], *bad;
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE };
	int i;

	passes(u, 0);
	for (i = 0; i < 4; i++) {
		wr[i] = message(u, 0, i ? &good : &none);
		wr[i].next = i < 3 ? &wr[i + 1] : NULL;
	}
	must(ibv_post_send(u->qp[0], wr, &bad), "a message without a key, and more");
	fails_with(u, IBV_WC_LOC_PROT_ERR, 3);
	/* what is posted now is flushed, but it hears */
	wr[3] = message(u, 0, &good);
	must(ibv_post_send(u->qp[0], &wr[3], &bad), "a message in SQE");
	fails_with(u, IBV_WC_WR_FLUSH_ERR, 0);
	passes(u, 1);
	refused(modify(u->qp[0], IBV_QPS_SQD), EINVAL);
	must(ibv_modify_qp(u->qp[0], &a, IBV_QP_STATE | IBV_QP_CUR_STATE), "SQE to RTS");
	is_in(u->qp[0], IBV_QPS_RTS);
	passes(u, 0);
	passes(u, 1);
}

static void sqe(struct unreliable *u)
{
	struct ibv_sge none = { (uintptr_t)memory, 500, mr->lkey ^ 0x5500 };
	struct ibv_sge into = { (uintptr_t)memory + MEMORY / 2, 600, mr->lkey };
	struct ibv_send_wr wr, *bad;
	int i;

	for (i = 0; i < 20; i++)
		to_sqe(u);
	/* from it to ERR, with all that is posted */
	wr = message(u, 0, &none);
	must(ibv_post_send(u->qp[0], &wr, &bad), "a message without a key");
	fails_with(u, IBV_WC_LOC_PROT_ERR, 0);
	must(post_recv(u->qp[0], NULL, &into, 1), "a receive");
	must(modify(u->qp[0], IBV_QPS_ERR), "SQE to ERR");
	completes(u->cq, 1, IBV_WC_WR_FLUSH_ERR);
}

void test_sqe(void)
{
	struct pair p = pair_of(IBV_QPT_UC, 1);
	struct unreliable uc = { .qp = { p.qp[0], p.qp[1] }, .cq = p.cq }, ud = {};
	struct ibv_ah_attr attr = self();
	int i;

	sqe(&uc);
	disconnect(&p);

	ud.cq = made(ibv_create_cq(ctx, 128, NULL, NULL, 0), "ibv_create_cq");
	for (i = 0; i < 2; i++)
		ud.qp[i] = make_ud_on(QKEY, ud.cq).qp;
	ud.ah = made(ibv_create_ah(pd, &attr), "ibv_create_ah");
	sqe(&ud);
	must(ibv_destroy_ah(ud.ah), "ibv_destroy_ah");
	for (i = 0; i < 2; i++)
		must(ibv_destroy_qp(ud.qp[i]), "ibv_destroy_qp");
	must(ibv_destroy_cq(ud.cq), "ibv_destroy_cq");
}
