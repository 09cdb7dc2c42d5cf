// SPDX-License-Identifier: GPL-2.0
/*
 * What a queue pair does: as responder and as requester, following the protocol
 * in load.h. Runs in the worker that owns the queue pair, and before that in
 * the main thread. The shared receive queue is the only thing that several
 * workers touch; a slot belongs to whoever holds its completion.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "load.h"

#define BATCH		16
#define WR_RECV		(1ull << 63)
#define WR_SRQ		(1ull << 62)
#define QP_SHIFT	44

static uint64_t wr_id(const struct qp *q, uint64_t seq)
{
	return (uint64_t)q->idx << QP_SHIFT | (seq & ((1ull << QP_SHIFT) - 1));
}

static uint32_t with_tail(const struct side *s, uint32_t hi)
{
	return hi + SLICE_TAIL < s->p.slice ? hi + SLICE_TAIL : s->p.slice;
}

/* ---- responder ---- */

static int post_receives(struct qp *q, const struct epoch *ep)
{
	struct ibv_sge sge[MAX_SGE];
	struct ibv_recv_wr wr, *bad;
	unsigned int i, j;

	for (i = 0; i < ep->n; i++) {
		const struct msg *m = &ep->m[i];

		if (!(m->flags & M_RECV))
			continue;
		for (j = 0; j < m->nrcv; j++) {
			sge[j].addr = (uintptr_t)rslice(q, ep->num) + m->rcv[j].off;
			sge[j].length = m->rcv[j].len;
			sge[j].lkey = q->rmr->lkey;
		}
		memset(&wr, 0, sizeof(wr));
		wr.wr_id = WR_RECV | wr_id(q, q->rq_head);
		wr.sg_list = sge;
		wr.num_sge = m->nrcv;
		errno = ibv_post_recv(q->qp, &wr, &bad);
		if (errno) {
			fail(q->side, "qp %u: post_recv: %m", q->idx);
			return -1;
		}
		q->rq_head++;
	}
	return 0;
}

static int post_slot(struct side *s, unsigned int i)
{
	struct srq_slot *sl = &s->slots[i];
	struct ibv_sge sge[MAX_SGE];
	struct ibv_recv_wr wr = { .wr_id = WR_RECV | WR_SRQ | i, .sg_list = sge,
				  .num_sge = sl->n }, *bad;
	unsigned int j;

	for (j = 0; j < sl->n; j++) {
		sge[j].addr = (uintptr_t)sl->mem + sl->pc[j].off;
		sge[j].length = sl->pc[j].len;
		sge[j].lkey = s->srq_mr->lkey;
	}
	errno = ibv_post_srq_recv(s->srq, &wr, &bad);
	if (errno) {
		fail(s, "post_srq_recv: %m");
		return -1;
	}
	return 0;
}

/* everything of a slot that a payload of len bytes does not cover is guard */
static uint32_t slot_span(const struct srq_slot *sl)
{
	return sl->pc[sl->n - 1].off + sl->pc[sl->n - 1].len + 64;
}

static void slot_guard(struct side *s, unsigned int i, struct image *im)
{
	img_reset(im, slot_span(&s->slots[i]), key_of(s->p.seed, s->dir, i, 'V'));
}

static int srq_start(struct side *s)
{
	struct image im = { 0 };
	unsigned int i;

	for (i = 0; i < s->p.srq_slots; i++) {
		slot_guard(s, i, &im);
		img_fill(&im, s->slots[i].mem, 0, slot_span(&s->slots[i]));
		if (post_slot(s, i))
			break;
	}
	img_free(&im);
	return i < s->p.srq_slots ? -1 : 0;
}

/* checks a received payload and the guards beside it, and posts the slot again */
static int slot_done(struct qp *q, const struct epoch *ep, const struct msg *m, unsigned int i)
{
	struct side *s = q->side;
	struct srq_slot *sl = &s->slots[i];
	uint32_t size = m->op == OP_WRITE_IMM ? 0 : m->size, done = 0;
	struct image im = { 0 };
	struct miss ms;
	unsigned int j;
	bool ok;

	if (size && !check_payload(q, ep, m, sl))
		return -1;
	slot_guard(s, i, &im);
	for (j = 0; j < sl->n && done < size; j++) {
		uint32_t n = sl->pc[j].len < size - done ? sl->pc[j].len : size - done;

		img_copy(&im, sl->pc[j].off, &ep->pay, m->pay + done, n);
		done += n;
	}
	ok = img_check(&im, sl->mem, 0, slot_span(sl), &ms);
	if (!ok) {
		fail(s,
		     "qp %u: shared receive buffer %u of message %lu (%s, size %u): guard byte at %lu: expected 0x%02x, got 0x%02x, %lu bytes differ (seed %lu)",
		     q->idx, i, (unsigned long)m->num, op_name(m->op), m->size,
		     (unsigned long)ms.off, ms.want, ms.got, (unsigned long)ms.count,
		     (unsigned long)s->p.seed);
	} else {
		slot_guard(s, i, &im);
		img_fill(&im, sl->mem, 0, slot_span(sl));
	}
	img_free(&im);
	return ok ? post_slot(s, i) : -1;
}

/* returns 1 if the send queue has no room now */
static int bind_window(struct qp *q, unsigned int slice)
{
	struct side *s = q->side;
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW }, *bad;
	struct sqe *e;

	if (q->sq_head - q->sq_tail >= s->p.depth)
		return 1;
	wr.wr_id = wr_id(q, q->sq_head);
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.bind_mw.mw = q->mw[slice];
	wr.bind_mw.rkey = q->mw_rkey[slice];
	wr.bind_mw.bind_info.mr = q->rmr;
	wr.bind_mw.bind_info.addr = (uintptr_t)q->remote + slice * s->p.slice;
	wr.bind_mw.bind_info.length = s->p.slice;
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	if (s->p.ops & (1ull << OP_CAS | 1ull << OP_FADD))
		wr.bind_mw.bind_info.mw_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
	errno = ibv_post_send(q->qp, &wr, &bad);
	if (errno) {
		fail(s, "qp %u: bind of a memory window: %m", q->idx);
		return -1;
	}
	e = &q->sq[q->sq_head++ % s->p.depth];
	*e = (struct sqe){ .wr_id = wr.wr_id, .signalled = true };
	q->unsignalled = 0;
	q->w->c.binds++;
	return 0;
}

static uint32_t window_key(uint64_t first, uint8_t tag)
{
	return (first & ~0xffu) | ((first + 1 + tag) & 0xff);
}

/*
 * --corrupt: which message has a byte changed. Both ends find the same one; a
 * Read's source lies at the server, all others' at the client.
 */
static struct msg *to_corrupt(struct qp *q, struct epoch *ep)
{
	struct msg *m;
	unsigned int i;

	if (!q->side->p.corrupt || q->idx || q->bad_done)
		return NULL;
	for (i = 0; i < ep->n; i++) {
		m = &ep->m[i];
		if (m->num + 1 < q->side->p.corrupt || !m->size || m->op > OP_READ ||
		    m->flags & (M_SYNC | M_SINK | M_FLAG | M_OVER) ||
		    (m->op >= OP_WRITE && !(m->flags & M_FRESH)))
			continue;
		q->bad_done = true;
		fprintf(stderr, "mroce-load: %s: message to corrupt: %lu (%s, size %u)\n",
			q->side->name, (unsigned long)m->num, op_name(m->op), m->size);
		return m;
	}
	return NULL;
}

static void corrupt_remote(struct qp *q, struct epoch *ep)
{
	struct msg *m = q->side->dir ? to_corrupt(q, ep) : NULL;
	uint32_t at;

	if (!m || m->op != OP_READ)
		return;
	at = m->target + m->size / 2;
	rslice(q, ep->num)[at] ^= 0x40;
	img_put(&ep->rf, at, 1, rslice(q, ep->num)[at], 0, EXT_CONST);
}

static int prepare(struct qp *q)
{
	struct side *s = q->side;
	uint64_t e = q->rx_ready;
	unsigned int sl = e % s->p.slices;
	struct epoch *ep = q->rx[sl];
	uint8_t old = ep->mw_tag;
	uint32_t hi;

	gen_epoch(&q->rx_gen, ep);
	hi = with_tail(s, ep->rhi > q->rx_hi[sl] ? ep->rhi : q->rx_hi[sl]);
	if (e < s->p.slices)
		hi = s->p.slice;
	img_fill(&ep->ri, rslice(q, e), 0, hi);
	q->rx_hi[sl] = ep->rhi;
	corrupt_remote(q, ep);
	if (s->p.window && (e < s->p.slices || ep->mw_tag != old)) {
		q->mw_rkey[sl] = window_key(q->mine.mw[sl], ep->mw_tag);
		q->bind_pending |= 1u << sl;
	}
	q->rx_due[sl] = 0;
	if (s->p.late_us && e >= s->p.slices)
		q->rx_due[sl] = now_ns() + rnd(&q->rng) % (s->p.late_us * 1000 + 1);
	q->rx_ready++;
	return 0;
}

/* posts what is due, in order: receives of prepared epochs, binds */
int serve(struct qp *q)
{
	struct side *s = q->side;
	unsigned int sl;
	int rc;

	while (q->rx_posted < q->rx_ready) {
		sl = q->rx_posted % s->p.slices;
		if (q->rx_due[sl] && now_ns() < q->rx_due[sl])
			break;
		if (!s->srq && post_receives(q, q->rx[sl]))
			return -1;
		q->rx_posted++;
	}
	while (q->bind_pending) {
		sl = __builtin_ctz(q->bind_pending);
		rc = bind_window(q, sl);
		if (rc)
			return rc < 0 ? -1 : 0;
		q->bind_pending &= ~(1u << sl);
	}
	return 0;
}

/* before the queue pair is connected: receives, but no binds yet */
int rx_prepare_all(struct qp *q)
{
	struct side *s = q->side;
	struct image im = { 0 };
	unsigned int i;

	if (s->srq && !q->idx && srq_start(s))
		return -1;
	for (i = 0; i < s->p.slices; i++) {
		if (prepare(q))
			return -1;
		if (!s->srq && post_receives(q, q->rx[i]))
			return -1;
		q->rx_posted++;
		/* the local slice is guard until its first epoch */
		img_reset(&im, s->p.slice,
			  key_of(s->p.seed, q->tx_gen.qp * 2 + q->tx_gen.dir, i, 'L'));
		img_fill(&im, lslice(q, i), 0, s->p.slice);
	}
	img_free(&im);
	return 0;
}

/* windows of the first epochs: bound and completed before the peer starts */
int initial_binds(struct side *s)
{
	uint64_t end = now_ns() + 10000000000ull;
	unsigned int i;
	struct ibv_wc wc;

	if (!s->p.window)
		return 0;
	for (i = 0; i < s->p.qps; i++) {
		struct qp *q = &s->qps[i];

		while (q->bind_pending || q->sq_tail != q->sq_head) {
			if (serve(q) || now_ns() > end)
				goto bad;
			if (ibv_poll_cq(q->w->scq, 1, &wc) != 1)
				continue;
			if (wc.status != IBV_WC_SUCCESS) {
				fail(s, "bind of a memory window: %s",
				     ibv_wc_status_str(wc.status));
				goto bad;
			}
			if (!check_send_wc(q, &wc, &q->sq[q->sq_tail % s->p.depth]))
				goto bad;
			q->sq_tail++;
		}
	}
	return 0;
bad:
	fprintf(stderr, "mroce-load: memory windows do not work; try --no-window\n");
	return EXIT_BAD;
}

static int rx_epoch_done(struct qp *q, struct epoch *ep)
{
	struct side *s = q->side;

	order_finish(q);
	if (!check_range(q, false, ep, &ep->rf, rslice(q, ep->num), 0, with_tail(s, ep->rhi),
			 "slice after the epoch's last message"))
		return -1;
	q->rx_epoch++;
	q->rx_idx = 0;
	order_reset(q);
	q->w->c.epochs++;
	if (q->rx_ready <= q->last && prepare(q))
		return -1;
	return serve(q);
}

/* the server learns from the last message's first word where the run ends */
static void look_for_stop(struct qp *q, struct epoch *ep, const struct msg *m,
			  const struct srq_slot *sl)
{
	const uint8_t *p = rslice(q, ep->num);
	uint64_t w;

	if (m->op == OP_WRITE_IMM)
		p += m->target;
	else if (sl)
		p = sl->mem + sl->pc[0].off;
	else
		p += m->rcv[0].off;
	memcpy(&w, p, 8);
	if (!q->side->dir || w != ep->stop_word)
		return;
	epoch_set_stop(&q->side->p, ep);
	if (q->last == UINT64_MAX)
		q->last = ep->num + 2 * q->side->p.lag;
}

int recv_done(struct worker *w, const struct ibv_wc *wc)
{
	struct side *s = w->side;
	struct srq_slot *sl = NULL;
	struct qp *q = NULL;
	struct epoch *ep;
	struct msg *m;
	unsigned int i;

	for (i = 0; i < s->p.qps && !q; i++)
		if (s->qps[i].qp && s->qps[i].qp->qp_num == wc->qp_num)
			q = &s->qps[i];
	if (!q || q->w != w) {
		fail(s, "receive completion for queue pair number 0x%x, wr_id 0x%lx: not of this queue (status %s)",
		     wc->qp_num, (unsigned long)wc->wr_id, ibv_wc_status_str(wc->status));
		return -1;
	}
	if (wc->status != IBV_WC_SUCCESS) {
		fail(s, "qp %u: receive completion: %s (vendor 0x%x), wr_id 0x%lx", q->idx,
		     ibv_wc_status_str(wc->status), wc->vendor_err, (unsigned long)wc->wr_id);
		return -1;
	}
	if (q->rx_epoch >= q->rx_ready) {
		fail(s, "qp %u: a receive completed after the last epoch", q->idx);
		return -1;
	}
	ep = q->rx[q->rx_epoch % s->p.slices];
	while (!(ep->m[q->rx_idx].flags & M_RECV))
		q->rx_idx++;
	m = &ep->m[q->rx_idx];
	q->heard = true;
	w->c.completions++;
	w->c.recvs++;
	w->c.rx_bytes += m->size;
	if (s->srq) {
		i = wc->wr_id & 0xffffffff;
		if (wc->wr_id >> 32 != (WR_RECV | WR_SRQ) >> 32 || i >= s->p.srq_slots) {
			fail(s, "qp %u: receive completion with wr_id 0x%lx: never posted", q->idx,
			     (unsigned long)wc->wr_id);
			return -1;
		}
		sl = &s->slots[i];
	} else if (wc->wr_id != (WR_RECV | wr_id(q, q->rq_tail))) {
		fail(s, "qp %u: receive completion (message %lu) with wr_id 0x%lx, expected 0x%lx (order; seed %lu)",
		     q->idx, (unsigned long)m->num, (unsigned long)wc->wr_id,
		     (unsigned long)(WR_RECV | wr_id(q, q->rq_tail)), (unsigned long)s->p.seed);
		return -1;
	}
	q->rq_tail++;
	if (!check_recv_wc(q, wc, ep, m))
		return -1;
	if (m->flags & M_SYNC)
		look_for_stop(q, ep, m, sl);
	/* a receive's own bytes are checked at once, the slice later */
	if (sl) {
		if (slot_done(q, ep, m, i))
			return -1;
	} else if (m->op <= OP_SEND_INV) {
		for (i = 0; i < m->nrcv; i++)
			if (!check_range(q, false, ep, &ep->rf, rslice(q, ep->num),
					 m->rcv[i].off, m->rcv[i].len, "receive buffer"))
				return -1;
	} else if (m->flags & M_FRESH &&
		   !check_range(q, false, ep, &ep->rf, rslice(q, ep->num), m->target, m->size,
				"target at its completion")) {
		return -1;
	}
	q->rx_idx++;
	return m->flags & M_SYNC ? rx_epoch_done(q, ep) : 0;
}

/* ---- requester ---- */

/* after the pattern was written; our own check of the source must not notice */
static void corrupt_local(struct qp *q, struct epoch *ep)
{
	struct msg *m = q->side->dir ? NULL : to_corrupt(q, ep);
	const struct piece *pc;
	uint32_t at;

	if (!m || m->op == OP_READ)
		return;
	pc = &m->src[m->nsrc - 1];
	at = pc->off + pc->len / 2;
	lslice(q, ep->num)[at] ^= 0x40;
	m->flags |= M_BAD;
	if (!(m->flags & M_INLINE))
		img_put(&ep->lf, at, 1, lslice(q, ep->num)[at], 0, EXT_CONST);
}

static bool can_start(struct qp *q)
{
	struct side *s = q->side;
	uint64_t e = q->tx_epoch;

	if (e > q->last || q->bind_pending || q->tx_busy[e % s->p.slices])
		return false;
	/* load.h (2); iWARP's passive side may not send first */
	if (e >= s->p.lag && q->rx_epoch < e - s->p.lag + 1)
		return false;
	return !(s->p.iwarp && s->dir && !q->heard);
}

static void start_epoch(struct qp *q)
{
	struct side *s = q->side;
	unsigned int sl = q->tx_epoch % s->p.slices;
	struct epoch *ep = q->tx[sl];
	uint32_t hi;

	gen_epoch(&q->tx_gen, ep);
	q->tx_msgs += ep->n;
	if (!s->dir && q->last == UINT64_MAX &&
	    ((s->p.messages && q->tx_msgs >= s->p.messages) || now_ns() >= s->t_stop ||
	     interrupted)) {
		q->last = ep->num + 2 * s->p.lag;
		epoch_set_stop(&s->p, ep);
	}
	hi = with_tail(s, ep->lhi > q->tx_hi[sl] ? ep->lhi : q->tx_hi[sl]);
	img_fill(&ep->li, lslice(q, ep->num), 0, hi);
	q->tx_hi[sl] = ep->lhi;
	corrupt_local(q, ep);
	q->tx_open = true;
	q->tx_busy[sl] = true;
	q->tx_idx = 0;
}

static void fill_wr(struct qp *q, struct epoch *ep, struct msg *m, struct ibv_send_wr *wr,
		    struct ibv_sge *sge)
{
	static const int opcode[OP_MAX] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_SEND_WITH_INV, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	unsigned int sl = ep->num % q->side->p.slices, i;
	uint64_t raddr = q->peer.addr + sl * q->side->p.slice + m->target;
	uint32_t mwkey = window_key(q->peer.mw[sl], ep->mw_tag);
	uint32_t rkey = m->flags & M_MW ? mwkey : q->peer.rkey;

	memset(wr, 0, sizeof(*wr));
	wr->opcode = opcode[m->op];
	wr->sg_list = sge;
	wr->num_sge = m->nsrc;
	for (i = 0; i < m->nsrc; i++) {
		sge[i].addr = (uintptr_t)lslice(q, ep->num) + m->src[i].off;
		sge[i].length = m->src[i].len;
		/* inline data need no key */
		sge[i].lkey = m->flags & M_INLINE ? 0 : q->lmr->lkey;
	}
	if (m->flags & M_FENCE)
		wr->send_flags |= IBV_SEND_FENCE;
	if (m->flags & M_SOLICIT)
		wr->send_flags |= IBV_SEND_SOLICITED;
	if (m->flags & M_INLINE)
		wr->send_flags |= IBV_SEND_INLINE;
	if (m->op == OP_SEND_IMM || m->op == OP_WRITE_IMM)
		wr->imm_data = htobe32(m->imm);
	if (m->op == OP_SEND_INV)
		wr->invalidate_rkey = mwkey;
	if (m->op == OP_CAS || m->op == OP_FADD) {
		wr->wr.atomic.remote_addr = raddr;
		wr->wr.atomic.rkey = rkey;
		wr->wr.atomic.compare_add = m->compare;
		wr->wr.atomic.swap = m->swap;
	} else if (m->op > OP_SEND_INV) {
		wr->wr.rdma.remote_addr = raddr;
		wr->wr.rdma.rkey = rkey;
	}
}

static bool is_guard(const struct epoch *ep, uint32_t off)
{
	unsigned int i, j;

	for (i = 0; i < ep->n; i++) {
		const struct msg *m = &ep->m[i];

		if (m->op > OP_SEND_INV && off >= m->target && off < m->target + m->size)
			return false;
		for (j = 0; j < m->nrcv; j++)
			if (off >= m->rcv[j].off && off < m->rcv[j].off + m->rcv[j].len)
				return false;
	}
	return true;
}

/* --stray: one byte more than planned, which must be noticed as a guard hit */
static void maybe_stray(struct qp *q, const struct epoch *ep, const struct msg *m,
			struct ibv_sge *sge)
{
	const struct piece *last;

	if (!q->side->p.stray || q->idx || q->side->dir || q->stray_done ||
	    m->num + 1 < q->side->p.stray || m->op != OP_WRITE || !m->nsrc ||
	    m->flags & (M_INLINE | M_OVER | M_SINK))
		return;
	last = &m->src[m->nsrc - 1];
	/* a byte that nobody writes later, and that really changes */
	if (!is_guard(ep, m->target + m->size) ||
	    img_byte(&ep->rf, m->target + m->size) == img_byte(&ep->li, last->off + last->len))
		return;
	q->stray_done = true;
	sge[m->nsrc - 1].length++;
	fprintf(stderr, "mroce-load: message %lu (write, size %u) sends a byte too many\n",
		(unsigned long)m->num, m->size);
}

static void count_msg(struct worker *w, const struct msg *m)
{
	w->c.msgs[m->op]++;
	w->c.tx_bytes += m->size;
	w->c.overlaps += !!(m->flags & M_OVER);
	w->c.fences += !!(m->flags & M_FENCE);
	w->c.inlines += !!(m->flags & M_INLINE);
	w->c.windows += !!(m->flags & M_MW);
}

/* the source of an inline request is free once it is posted: prove it */
static void scribble(struct qp *q, struct epoch *ep, unsigned int from)
{
	unsigned int i, j;

	for (i = from; i < q->tx_idx; i++) {
		struct msg *m = &ep->m[i];

		if (!(m->flags & M_INLINE))
			continue;
		for (j = 0; j < m->nsrc; j++)
			img_fill(&ep->lf, lslice(q, ep->num), m->src[j].off, m->src[j].len);
	}
}

static int post_some(struct qp *q)
{
	struct side *s = q->side;
	struct epoch *ep = q->tx[q->tx_epoch % s->p.slices];
	struct ibv_sge sge[BATCH][MAX_SGE];
	struct ibv_send_wr wr[BATCH], *bad = NULL;
	unsigned int from = q->tx_idx, n = 0, want;
	uint64_t room = s->p.depth - (q->sq_head - q->sq_tail);

	want = 1 + rnd(&q->rng) % BATCH;
	while (n < want && n < room && q->tx_idx < ep->n) {
		struct msg *m = &ep->m[q->tx_idx];
		struct sqe *e = &q->sq[q->sq_head % s->p.depth];

		fill_wr(q, ep, m, &wr[n], sge[n]);
		maybe_stray(q, ep, m, sge[n]);
		/* a queue that fills without a signalled request never empties */
		if (m->flags & M_SIGNAL || q->unsignalled + 1 >= s->p.depth / 2 ||
		    n + 1 == room || q->tx_idx + 1 == ep->n)
			wr[n].send_flags |= IBV_SEND_SIGNALED;
		e->signalled = wr[n].send_flags & IBV_SEND_SIGNALED;
		q->unsignalled = e->signalled ? 0 : q->unsignalled + 1;
		wr[n].wr_id = wr_id(q, q->sq_head);
		e->wr_id = wr[n].wr_id;
		e->ep = ep;
		e->idx = q->tx_idx;
		if (n)
			wr[n - 1].next = &wr[n];
		count_msg(q->w, m);
		q->sq_head++;
		q->tx_idx++;
		n++;
	}
	if (!n)
		return 0;
	errno = ibv_post_send(q->qp, wr, &bad);
	if (errno) {
		const struct msg *m = &ep->m[from + (bad ? bad - wr : 0)];

		fail(s, "qp %u: post_send of message %lu (%s, size %u, %u pieces, flags 0x%x): %m",
		     q->idx, (unsigned long)m->num, op_name(m->op), m->size, m->nsrc, m->flags);
		return -1;
	}
	scribble(q, ep, from);
	if (q->tx_idx == ep->n) {
		q->tx_open = false;
		q->tx_epoch++;
	}
	return 1;
}

int tx_progress(struct qp *q)
{
	if (!q->tx_open) {
		if (!can_start(q))
			return 0;
		start_epoch(q);
	}
	return post_some(q);
}

static int request_done(struct qp *q, const struct sqe *e)
{
	struct side *s = q->side;
	struct epoch *ep = e->ep;
	struct msg *m;
	unsigned int i;

	if (!ep)
		return 0;
	m = &ep->m[e->idx];
	if (m->op >= OP_READ)
		for (i = 0; i < m->nsrc; i++)
			if (!check_range(q, true, ep, &ep->lf, lslice(q, ep->num), m->src[i].off,
					 m->src[i].len, "result at its completion"))
				return -1;
	if (e->idx + 1 < ep->n)
		return 0;
	if (!check_range(q, true, ep, &ep->lf, lslice(q, ep->num), 0, with_tail(s, ep->lhi),
			 "local slice after the epoch's last completion"))
		return -1;
	q->tx_busy[ep->num % s->p.slices] = false;
	q->tx_done = ep->num + 1;
	return 0;
}

int send_done(struct worker *w, const struct ibv_wc *wc)
{
	struct side *s = w->side;
	uint64_t idx = wc->wr_id >> QP_SHIFT;
	struct qp *q = idx < s->p.qps ? &s->qps[idx] : NULL;
	uint64_t at;

	if (!q || q->w != w || wc->qp_num != q->qp->qp_num) {
		fail(s, "send completion with wr_id 0x%lx and queue pair number 0x%x: not of this queue (status %s)",
		     (unsigned long)wc->wr_id, wc->qp_num, ibv_wc_status_str(wc->status));
		return -1;
	}
	for (at = q->sq_tail; at < q->sq_head; at++)
		if (q->sq[at % s->p.depth].signalled)
			break;
	if (wc->status != IBV_WC_SUCCESS) {
		/* errors complete unsignalled requests as well */
		const struct sqe *e = &q->sq[(wc->wr_id & ((1ull << QP_SHIFT) - 1)) % s->p.depth];
		const struct msg *m = e->ep ? &e->ep->m[e->idx] : NULL;

		fail(s, "qp %u: send completion: %s (vendor 0x%x) for message %lu (%s, size %u, epoch %lu), wr_id 0x%lx",
		     q->idx, ibv_wc_status_str(wc->status), wc->vendor_err,
		     m ? (unsigned long)m->num : 0, m ? op_name(m->op) : "bind", m ? m->size : 0,
		     e->ep ? (unsigned long)e->ep->num : 0, (unsigned long)wc->wr_id);
		return -1;
	}
	if (at == q->sq_head) {
		fail(s, "qp %u: a send completion that nobody asked for, wr_id 0x%lx", q->idx,
		     (unsigned long)wc->wr_id);
		return -1;
	}
	if (!check_send_wc(q, wc, &q->sq[at % s->p.depth]))
		return -1;
	w->c.completions++;
	for (; q->sq_tail <= at; q->sq_tail++)
		if (request_done(q, &q->sq[q->sq_tail % s->p.depth]))
			return -1;
	return serve(q);
}
