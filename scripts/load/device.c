// SPDX-License-Identifier: GPL-2.0
/*
 * The Verbs objects of one end: device, protection domain, completion queues,
 * arenas and their regions, windows, shared receive queue, queue pairs. Runs
 * in the end's main thread, before and after the workers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include "load.h"

static bool gid_is_addr(const union ibv_gid *gid, const struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)ss;
		static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };

		return !memcmp(gid->raw, v4, 12) && !memcmp(gid->raw + 12, &in->sin_addr, 4);
	}
	if (ss->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)ss;

		/* an IPv4 peer of a dual-stack socket is a mapped address here too */
		return !memcmp(gid->raw, in6->sin6_addr.s6_addr, 16);
	}
	return false;
}

/* how good an entry is: our address, RoCE v2, not link-local */
static int gid_score(const struct ibv_gid_entry *e, const struct sockaddr_storage *ss)
{
	int score = 1;

	if (gid_is_addr(&e->gid, ss))
		score += 100;
	if (e->gid_type == IBV_GID_TYPE_ROCE_V2)
		score += 10;
	if (e->gid.raw[0] != 0xfe)
		score += 5;
	return score;
}

static int pick_gid(struct side *s, struct ibv_context *ctx, int *best_index)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	struct ibv_gid_entry e[256];
	int best = 0;
	ssize_t n, i;

	if (s->ctl < 0 || getsockname(s->ctl, (struct sockaddr *)&ss, &len))
		memset(&ss, 0, sizeof(ss));
	n = ibv_query_gid_table(ctx, e, 256, 0);
	for (i = 0; i < n; i++) {
		int score;

		if (e[i].port_num != 1)
			continue;
		score = gid_score(&e[i], &ss);
		if (score > best) {
			best = score;
			*best_index = e[i].gid_index;
		}
	}
	return best;
}

static int open_plain(struct side *s)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **d;
	struct ibv_context *ctx;
	int best = -1, index = 0, score;

	for (d = list; d && *d; d++) {
		if (s->o->dev && strcmp(s->o->dev, ibv_get_device_name(*d)))
			continue;
		ctx = ibv_open_device(*d);
		if (!ctx)
			continue;
		score = pick_gid(s, ctx, &index);
		if (score <= best) {
			ibv_close_device(ctx);
			continue;
		}
		if (s->ctx)
			ibv_close_device(s->ctx);
		s->ctx = ctx;
		best = score;
		s->gid_index = index;
	}
	if (list)
		ibv_free_device_list(list);
	if (!s->ctx) {
		fprintf(stderr, "mroce-load: no usable device%s%s\n", s->o->dev ? " " : "",
			s->o->dev ? s->o->dev : "");
		return EXIT_SETUP;
	}
	s->own_ctx = true;
	return 0;
}

int side_open(struct side *s)
{
	int rc;

	s->port_num = 1;
	rc = s->p.cm ? cm_open(s) : open_plain(s);
	if (rc)
		return rc;
	if (s->o->gid_index >= 0)
		s->gid_index = s->o->gid_index;
	if (ibv_query_device(s->ctx, &s->da) ||
	    ibv_query_port(s->ctx, s->port_num, &s->pa)) {
		fprintf(stderr, "mroce-load: cannot query the device: %m\n");
		return EXIT_SETUP;
	}
	if (!s->p.cm && ibv_query_gid(s->ctx, s->port_num, s->gid_index, &s->gid)) {
		fprintf(stderr, "mroce-load: no GID at index %d\n", s->gid_index);
		return EXIT_SETUP;
	}
	if (!s->p.cm && s->ctx->device->transport_type == IBV_TRANSPORT_IWARP) {
		fprintf(stderr, "mroce-load: %s is iWARP: use --cm\n",
			ibv_get_device_name(s->ctx->device));
		return EXIT_SETUP;
	}
	if (s->pa.state != IBV_PORT_ACTIVE)
		fprintf(stderr, "mroce-load: warning: the port of %s is not active\n",
			ibv_get_device_name(s->ctx->device));
	return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* bring the parameters down to what this device can do */
int side_caps(struct side *s, struct params *p)
{
	const struct ibv_device_attr *da = &s->da;
	uint64_t sq, rq;

	if (s->ctx->device->transport_type == IBV_TRANSPORT_IWARP) {
		p->iwarp = 1;
		p->ops &= 1 << OP_SEND | 1 << OP_WRITE | 1 << OP_READ;
		p->window = 0;
	}
	if (da->atomic_cap == IBV_ATOMIC_NONE)
		p->ops &= ~(1ull << OP_CAS | 1ull << OP_FADD);
	if (!(da->device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A |
				      IBV_DEVICE_MEM_WINDOW_TYPE_2B)))
		p->window = 0;
	if (!p->window)
		p->ops &= ~(1ull << OP_SEND_INV);
	if (p->srq && !da->max_srq) {
		fprintf(stderr, "mroce-load: the device has no shared receive queues\n");
		return EXIT_SETUP;
	}
	p->sge = least(p->sge, da->max_sge);
	if (p->srq)
		p->srq_slots = least(p->srq_slots, da->max_srq_wr);
	/* some devices leave max_sge_rd zero; iWARP's is often 1 */
	p->rd_sge = least(p->rd_sge, da->max_sge_rd > 0 ? da->max_sge_rd : 1);
	p->rd_sge = least(p->rd_sge, p->sge);
	p->rd_atomic = least(p->rd_atomic, least(da->max_qp_rd_atom, da->max_qp_init_rd_atom));
	if (!p->rd_atomic)
		p->ops &= ~(1ull << OP_READ | 1ull << OP_CAS | 1ull << OP_FADD);
	sq = least(p->depth, da->max_qp_wr);
	p->depth = sq;
	rq = da->max_qp_wr / p->slices;
	if (rq < 2) {
		fprintf(stderr, "mroce-load: the device's queues are too short\n");
		return EXIT_SETUP;
	}
	p->epoch_msgs = least(p->epoch_msgs, rq - 1);
	p->mtu = least(p->mtu, s->pa.active_mtu ? s->pa.active_mtu : IBV_MTU_1024);
	return 0;
}

static uint8_t *arena(size_t len)
{
	void *m = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return m == MAP_FAILED ? NULL : m;
}

static int make_srq(struct side *s)
{
	struct ibv_srq_init_attr ia = {
		.attr = { .max_wr = s->p.srq_slots, .max_sge = s->p.sge },
	};
	size_t slot = (s->p.srq_size + MAX_SGE * 256 + 4095) & ~4095ull;
	uint64_t rng = key_of(s->p.seed, s->dir, 0, 'Q');
	unsigned int i;

	s->srq = ibv_create_srq(s->pd, &ia);
	s->srq_len = slot * s->p.srq_slots;
	s->srq_mem = arena(s->srq_len);
	s->slots = calloc(s->p.srq_slots, sizeof(*s->slots));
	if (!s->srq || !s->srq_mem || !s->slots)
		return -1;
	s->srq_mr = ibv_reg_mr(s->pd, s->srq_mem, s->srq_len, IBV_ACCESS_LOCAL_WRITE);
	for (i = 0; i < s->p.srq_slots; i++) {
		uint32_t cur = 64;

		s->slots[i].mem = s->srq_mem + i * slot;
		s->slots[i].n = split_pieces(&rng, &cur, s->p.srq_size, s->p.sge, 8, false,
					     s->slots[i].pc);
	}
	return s->srq_mr ? 0 : -1;
}

static int qp_memory(struct qp *q)
{
	struct side *s = q->side;
	size_t len = s->p.slice * s->p.slices;
	int lacc = IBV_ACCESS_LOCAL_WRITE, racc;
	unsigned int i;

	/* iWARP's Read response is a Write to the sink */
	if (s->p.iwarp)
		lacc |= IBV_ACCESS_REMOTE_WRITE;
	racc = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	if (s->p.ops & (1ull << OP_CAS | 1ull << OP_FADD))
		racc |= IBV_ACCESS_REMOTE_ATOMIC;
	if (s->p.relaxed) {
		lacc |= IBV_ACCESS_RELAXED_ORDERING;
		racc |= IBV_ACCESS_RELAXED_ORDERING;
	}
	if (s->p.window)
		racc |= IBV_ACCESS_MW_BIND;
	q->local = arena(len);
	q->remote = arena(len);
	if (!q->local || !q->remote)
		return -1;
	q->lmr = ibv_reg_mr(s->pd, q->local, len, lacc);
	q->rmr = ibv_reg_mr(s->pd, q->remote, len, racc);
	if (!q->lmr || !q->rmr)
		return -1;
	q->mine.rkey = q->rmr->rkey;
	q->mine.addr = (uintptr_t)q->remote;
	for (i = 0; s->p.window && i < s->p.slices; i++) {
		q->mw[i] = ibv_alloc_mw(s->pd, IBV_MW_TYPE_2);
		if (!q->mw[i])
			return -1;
		q->mine.mw[i] = q->mw[i]->rkey;
	}
	q->sq = calloc(s->p.depth, sizeof(*q->sq));
	for (i = 0; i < s->p.slices; i++) {
		q->tx[i] = calloc(1, sizeof(struct epoch));
		q->rx[i] = calloc(1, sizeof(struct epoch));
		if (!q->tx[i] || !q->rx[i])
			return -1;
	}
	return q->sq ? 0 : -1;
}

static int make_worker(struct side *s, struct worker *w, unsigned int nqp)
{
	unsigned int rq = s->p.srq ? s->p.srq_slots : s->p.slices * (s->p.epoch_msgs + 1);
	uint64_t ns = nqp * (s->p.depth + 1), nr = (uint64_t)nqp * rq + 1;

	w->side = s;
	if (s->o->events) {
		w->chan = ibv_create_comp_channel(s->ctx);
		if (!w->chan)
			return -1;
	}
	/* an SRQ's buffers can all complete here, however many queue pairs */
	if (s->p.srq)
		nr = rq + 1;
	w->scq = ibv_create_cq(s->ctx, least(ns, s->da.max_cqe), w, w->chan, 0);
	w->rcq = ibv_create_cq(s->ctx, least(nr, s->da.max_cqe), w, w->chan, 0);
	if (ns > (uint64_t)s->da.max_cqe || nr > (uint64_t)s->da.max_cqe) {
		fprintf(stderr, "mroce-load: completion queues of %lu and %lu exceed the device's %d\n",
			(unsigned long)ns, (unsigned long)nr, s->da.max_cqe);
		return -1;
	}
	return w->scq && w->rcq ? 0 : -1;
}

int side_memory(struct side *s)
{
	unsigned int i, t = s->p.threads;

	s->pd = ibv_alloc_pd(s->ctx);
	s->workers = calloc(t, sizeof(*s->workers));
	s->qps = calloc(s->p.qps, sizeof(*s->qps));
	if (!s->pd || !s->workers || !s->qps)
		goto bad;
	for (i = 0; i < t; i++)
		if (make_worker(s, &s->workers[i], (s->p.qps + t - 1 - i) / t))
			goto bad;
	if (s->p.srq && make_srq(s))
		goto bad;
	for (i = 0; i < s->p.qps; i++) {
		struct qp *q = &s->qps[i];

		q->side = s;
		q->idx = i;
		q->w = &s->workers[i % t];
		q->last = UINT64_MAX;
		q->rng = key_of(s->p.seed, s->dir, i, 'B');
		if (qp_memory(q))
			goto bad;
	}
	return 0;
bad:
	fprintf(stderr, "mroce-load: cannot make Verbs objects or memory: %m\n");
	return EXIT_SETUP;
}

static int try_create(struct qp *q, struct rdma_cm_id *id, struct ibv_qp_init_attr *ia)
{
	struct ibv_qp_init_attr copy = *ia;

	if (id) {
		if (rdma_create_qp(id, q->side->pd, &copy))
			return -1;
		q->qp = id->qp;
	} else {
		q->qp = ibv_create_qp(q->side->pd, &copy);
		if (!q->qp)
			return -1;
	}
	*ia = copy;
	return 0;
}

/* creates the queue pair with as much inline room as it can have */
int qp_create(struct qp *q, struct rdma_cm_id *id)
{
	static const unsigned int sizes[] = { 512, 236, 128, 64, 0 };
	struct side *s = q->side;
	struct ibv_qp_init_attr ia = {
		.send_cq = q->w->scq, .recv_cq = q->w->rcq, .srq = s->srq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = s->p.depth,
			.max_recv_wr = s->srq ? 0 : s->p.slices * (s->p.epoch_msgs + 1),
			.max_send_sge = s->p.sge,
			.max_recv_sge = s->srq ? 0 : s->p.sge,
		},
	};
	unsigned int i, want;

	q->id = id;
	for (i = 0; i < 5; i++) {
		want = sizes[i] < s->o->inline_max ? sizes[i] : s->o->inline_max;
		ia.cap.max_inline_data = want;
		if (!try_create(q, id, &ia))
			break;
		if (i == 4) {
			fprintf(stderr, "mroce-load: cannot create queue pair %u: %m\n", q->idx);
			return EXIT_SETUP;
		}
	}
	q->inline_max = least(want, ia.cap.max_inline_data);
	q->mine.qpn = q->qp->qp_num;
	q->mine.psn = key_of(s->p.nonce, s->dir, q->idx, 'N') & 0xffffff;
	gen_init(&q->tx_gen, &s->p, q->idx, s->dir, q->inline_max);
	gen_init(&q->rx_gen, &s->p, q->idx, !s->dir, 0);
	return 0;
}

void side_close(struct side *s)
{
	unsigned int i, j;

	for (i = 0; s->qps && i < s->p.qps; i++) {
		struct qp *q = &s->qps[i];

		/* a bound window may keep its queue pair alive (rxe waits for it) */
		for (j = 0; j < MAX_SLICES; j++)
			if (q->mw[j])
				ibv_dealloc_mw(q->mw[j]);
		if (q->id)
			rdma_destroy_qp(q->id);
		else if (q->qp)
			ibv_destroy_qp(q->qp);
		for (j = 0; j < MAX_SLICES; j++) {
			epoch_free(q->tx[j]);
			epoch_free(q->rx[j]);
		}
		if (q->lmr)
			ibv_dereg_mr(q->lmr);
		if (q->rmr)
			ibv_dereg_mr(q->rmr);
		if (q->local)
			munmap(q->local, s->p.slice * s->p.slices);
		if (q->remote)
			munmap(q->remote, s->p.slice * s->p.slices);
		free(q->sq);
	}
	if (s->srq)
		ibv_destroy_srq(s->srq);
	if (s->srq_mr)
		ibv_dereg_mr(s->srq_mr);
	if (s->srq_mem)
		munmap(s->srq_mem, s->srq_len);
	for (i = 0; s->workers && i < s->p.threads; i++) {
		struct worker *w = &s->workers[i];

		if (w->scq && w->unacked_s)
			ibv_ack_cq_events(w->scq, w->unacked_s);
		if (w->rcq && w->unacked_r)
			ibv_ack_cq_events(w->rcq, w->unacked_r);
		if (w->scq && ibv_destroy_cq(w->scq))
			fprintf(stderr, "mroce-load: destroy_cq: %m\n");
		if (w->rcq && ibv_destroy_cq(w->rcq))
			fprintf(stderr, "mroce-load: destroy_cq: %m\n");
		if (w->chan)
			ibv_destroy_comp_channel(w->chan);
	}
	if (s->pd && ibv_dealloc_pd(s->pd))
		fprintf(stderr, "mroce-load: dealloc_pd: %m\n");
	cm_close(s);
	if (s->own_ctx)
		ibv_close_device(s->ctx);
	free(s->qps);
	free(s->workers);
	free(s->slots);
}
