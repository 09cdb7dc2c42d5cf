// SPDX-License-Identifier: GPL-2.0
/*
 * What must hold in every simulated run. The checker sees everything: what a program posted, what
 * each path number carried, what has landed; it never asks the engine.
 */
#include "sim.h"

u64 sim_key(struct sim_qp *qp, u32 msn)
{
	return sim_mix(qp->s->cfg.seed ^ (u64)qp->index << 32 ^ msn);
}

u64 sim_read_key(struct sim_qp *qp)
{
	return sim_mix(qp->s->cfg.seed ^ (u64)qp->index << 40 ^ 0x5eed);
}

u8 sim_pattern(u64 key, u32 off)
{
	return (u8)(key >> (off % 8 * 8)) + off * 167 + (off >> 8);
}

static void fill(u8 *to, u64 key, u32 off, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		to[i] = sim_pattern(key, off + i);
}

/* the first of @n bytes that is not the pattern's, or @n */
static u32 differs(const u8 *p, u64 key, u32 off, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (p[i] != sim_pattern(key, off + i))
			break;
	return i;
}

void sim_track_init(struct sim_track *t, u32 base, u32 window, u32 messages)
{
	t->base = base;
	t->mask = 2 * window - 1;
	t->state = sim_zalloc(2 * window, 1);
	t->part_mask = messages - 1;
}

static bool is_write(u8 opcode)
{
	return opcode == MROCE_OP_WRITE || opcode == MROCE_OP_WRITE_IMM;
}

static void track_landed(struct sim_qp *qp, struct sim_track *t, const struct mroce_data *d)
{
	struct sim *s = qp->s;
	s32 ahead = mroce_seq_diff(d->spn, t->base);

	if (ahead < 0 || t->state[d->spn & t->mask] == SIM_LANDED) {
		sim_broken(s, "queue pair %u: number %u (%s %u at %u) is placed twice", qp->index,
			   d->spn, mroce_opinfo[d->opcode].name, d->msn, d->offset);
		return;
	}
	if ((u32)ahead > t->mask / 2 + 1) {
		sim_broken(s, "queue pair %u: number %u is placed outside of the window",
			   qp->index, d->spn);
		return;
	}
	/* what a program may poll lands after everything before it */
	if (is_write(d->opcode) && ahead && !qp->load.relaxed &&
	    d->flags & (MROCE_F_ORDERED | MROCE_F_LAST))
		sim_broken(s, "queue pair %u: number %u lands before %u", qp->index, d->spn,
			   t->base);
	t->state[d->spn & t->mask] = SIM_LANDED;
	while (t->state[t->base & t->mask] == SIM_LANDED)
		t->state[t->base++ & t->mask] = SIM_NOTHING;
}

void sim_note_held(struct sim_qp *qp, const struct mroce_data *d)
{
	struct sim_track *t = &qp->track[!!(d->flags & MROCE_F_RESPONSE)];

	if (t->state[d->spn & t->mask] != SIM_NOTHING)
		sim_broken(qp->s, "queue pair %u: number %u is held twice", qp->index, d->spn);
	t->state[d->spn & t->mask] = SIM_HELD;
}

static void place_write(struct sim_qp *qp, const struct mroce_data *d, struct sim_packet *p,
			u32 off, u32 bytes)
{
	struct sim *s = qp->s;
	struct sim_qp *peer = qp->peer;
	const struct sim_wr *wr = &peer->wr[d->msn];
	u64 at = d->addr - SIM_WRITE_BASE;
	u32 i;

	if (d->addr != wr->addr + d->offset || d->rkey != wr->rkey || d->length != wr->length ||
	    d->offset + bytes > wr->length) {
		sim_fail(s, "queue pair %u: Write %u at offset %u has a wrong address", qp->index,
			 d->msn, d->offset);
		return;
	}
	SIM_CHECK(s, !wr->done, "queue pair %u: bytes of Write %u land after its completion",
		  qp->index, d->msn);
	if (!qp->mem)
		return;
	fill(qp->mem + at, p->key, off, bytes);
	if (!qp->owner)
		return;
	for (i = 0; i < bytes; i++) {
		SIM_CHECK(s, qp->owner[at + i] <= d->msn + 1,
			  "queue pair %u: Write %u lands over the later Write %u", qp->index,
			  d->msn, qp->owner[at + i] - 1);
		qp->owner[at + i] = d->msn + 1;
	}
}

void sim_atomic_write(struct sim_qp *qp, const struct mroce_desc *d)
{
	const struct sim_wr *wr = &qp->peer->wr[d->msn];
	u64 at = wr->addr - SIM_WRITE_BASE;
	u32 i;

	if (!qp->mem || qp->s->hostile)
		return;
	fill(qp->mem + at, wr->key, 0, wr->length);
	for (i = 0; qp->owner && i < wr->length; i++) {
		SIM_CHECK(qp->s, qp->owner[at + i] <= d->msn,
			  "queue pair %u: ATOMIC_WRITE %u lands over the later Write %u", qp->index,
			  d->msn, qp->owner[at + i] - 1);
		qp->owner[at + i] = d->msn + 1;
	}
}

static void place_send(struct sim_qp *qp, const struct mroce_data *d, struct sim_packet *p, u32 off,
		       u32 bytes)
{
	struct sim *s = qp->s;

	if (mroce_seq_before(d->rsn, qp->rq_done) || !mroce_seq_before(d->rsn, qp->rq_posted)) {
		sim_fail(s, "queue pair %u: receive buffer %u is written to, posted are %u to %u",
			 qp->index, d->rsn, qp->rq_done, qp->rq_posted);
		return;
	}
	if (d->offset + bytes > qp->load.buffer_len) {
		sim_fail(s, "queue pair %u: a Send exceeds its buffer", qp->index);
		return;
	}
	if (qp->recv)
		fill(qp->recv + (size_t)(d->rsn % qp->load.buffers) * qp->load.buffer_len +
			     d->offset,
		     p->key, off, bytes);
}

/* bytes of the response that is no ERROR_RESP */
static u32 answer_length(const struct sim_wr *wr)
{
	return wr->opcode == MROCE_OP_READ ? wr->length : 0;
}

static u8 *local_of(struct sim_qp *qp, u32 msn)
{
	return qp->local + (size_t)(msn % roundup_pow_of_two(qp->load.depth)) * qp->load.len_max;
}

static void place_response(struct sim_qp *qp, const struct mroce_data *d, struct sim_packet *p,
			   u32 off, u32 bytes)
{
	struct sim *s = qp->s;
	struct sim_wr *wr = d->rsn < qp->posted ? &qp->wr[d->rsn] : NULL;

	if (!wr || wr->done || wr->responded) {
		sim_fail(s, "queue pair %u: a response to %u, which is not outstanding", qp->index,
			 d->rsn);
		return;
	}
	if (d->opcode == MROCE_OP_ATOMIC_RESP) {
		SIM_CHECK(s, p->value[0] == wr->value,
			  "queue pair %u: atomic %u found %llu instead of %llu", qp->index, d->rsn,
			  (unsigned long long)p->value[0], (unsigned long long)wr->value);
		return;
	}
	if (d->opcode == MROCE_OP_ERROR_RESP)
		return;
	if (d->length != answer_length(wr) || d->offset + bytes > d->length) {
		sim_fail(s, "queue pair %u: the response to %u has a wrong length", qp->index,
			 d->rsn);
		return;
	}
	if (qp->local)
		fill(local_of(qp, d->rsn) + d->offset, p->key, off, bytes);
}

/* ---- forged packets: what memory they may touch, and what messages consist of ---- */

u8 sim_refuses(struct sim_qp *qp, const struct mroce_data *d, u32 bytes)
{
	const struct sim_wr *wr;
	u64 at = d->addr - SIM_WRITE_BASE;

	if (!qp->s->hostile)
		return MROCE_N_NONE;
	if (mroce_opinfo[d->opcode].response) {
		wr = d->rsn < qp->posted ? &qp->wr[d->rsn] : NULL;
		if (!wr || wr->done || wr->responded ||
		    (d->opcode == MROCE_OP_READ_RESP && d->length != answer_length(wr)))
			return MROCE_N_LENGTH;
	} else if (is_write(d->opcode)) {
		if (at > qp->mem_size || bytes > qp->mem_size - at)
			return MROCE_N_ACCESS;
	} else if (mroce_opinfo[d->opcode].place) {
		if (d->length > qp->load.buffer_len)
			return MROCE_N_LENGTH;
	}
	if (mroce_opinfo[d->opcode].receive &&
	    d->rsn - qp->rq_done >= qp->rq_posted - qp->rq_done)
		return MROCE_N_RNR;
	return MROCE_N_NONE;
}

/* The bytes go where the packet says; the sanitizer sees what is beyond that. */
static void place_forged(struct sim_qp *qp, const struct mroce_data *d, struct sim_packet *p,
			 u32 off, u32 bytes)
{
	if (is_write(d->opcode) && qp->mem)
		fill(qp->mem + (d->addr - SIM_WRITE_BASE), p->key, off, bytes);
	else if (mroce_opinfo[d->opcode].place && qp->recv)
		fill(qp->recv + (size_t)(d->rsn % qp->load.buffers) * qp->load.buffer_len +
			     d->offset, p->key, off, bytes);
	else if (d->opcode == MROCE_OP_READ_RESP && qp->local)
		fill(local_of(qp, d->rsn) + d->offset, p->key, off, bytes);
}

/* Packets that land as parts of one message describe it alike. */
static void note_part(struct sim_qp *qp, struct sim_track *t, const struct mroce_data *d, u32 bytes)
{
	u32 first = d->spn - d->offset / d->psize;
	struct sim_part *part;

	/* one takes the place of any packet of another message, whatever its length */
	if (!mroce_opinfo[d->opcode].payload)
		return;
	if (!t->part)
		t->part = sim_zalloc(t->part_mask + 1, sizeof(*t->part));
	if (!t->part)
		return;
	if (d->msn - t->next_msn > t->part_mask) {
		sim_broken(qp->s, "queue pair %u: message %u lands, at the cursor is %u",
			   qp->index, d->msn, t->next_msn);
		return;
	}
	part = &t->part[d->msn & t->part_mask];
	if (!part->used || part->msn != d->msn)
		*part = (struct sim_part){ .msn = d->msn, .first = first, .used = true };
	if (part->first != first)
		sim_broken(qp->s, "queue pair %u: message %u begins at %u and at %u", qp->index,
			   d->msn, part->first, first);
	part->bytes += bytes;
}

/* Every byte of a message that is at the cursor has landed, once. */
static void check_parts(struct sim_qp *qp, struct sim_track *t, const struct mroce_desc *d)
{
	struct sim_part *part = t->part ? &t->part[d->msn & t->part_mask] : NULL;
	u32 bytes = part && part->used && part->msn == d->msn ? part->bytes : 0;

	if (mroce_opinfo[d->opcode].payload && bytes != d->length)
		sim_broken(qp->s, "queue pair %u: of message %u, %u bytes long, %u have landed",
			   qp->index, d->msn, d->length, bytes);
	if (mroce_opinfo[d->opcode].response && d->rsn < qp->posted)
		qp->wr[d->rsn].responded = true;
}

void sim_place(struct sim_qp *qp, const struct mroce_data *d, struct sim_packet *p, u32 off,
	       u32 bytes)
{
	bool response = d->flags & MROCE_F_RESPONSE;

	if (qp->s->failed)
		return;
	if (qp->detached) {
		sim_broken(qp->s, "queue pair %u: bytes land after it has gone", qp->index);
		return;
	}
	track_landed(qp, &qp->track[response], d);
	if (!response)
		qp->landed += bytes;
	if (qp->s->hostile) {
		note_part(qp, &qp->track[response], d, bytes);
		place_forged(qp, d, p, off, bytes);
		return;
	}
	if (response)
		place_response(qp, d, p, off, bytes);
	else if (is_write(d->opcode))
		place_write(qp, d, p, off, bytes);
	else if (mroce_opinfo[d->opcode].place)
		place_send(qp, d, p, off, bytes);
}

/* ---- numbers of paths, and what acknowledgements say of them ---- */

struct sim_log *sim_log_of(struct sim_txh *t, u8 path, u32 number)
{
	struct sim_path_log *l = &t->log[path];

	return l->log ? &l->log[number % l->size] : NULL;
}

static void log_room(struct sim *s, struct sim_path_log *l, u32 want)
{
	u32 size = l->size ? l->size : 512, i;
	struct sim_log *log;

	while (size < min_t(u32, want, SIM_LOG))
		size *= 2;
	if (size == l->size)
		return;
	log = sim_zalloc(size, sizeof(*log));
	if (!log) {
		sim_fail(s, "no memory for numbers");
		return;
	}
	for (i = 0; i < l->size; i++)
		if (l->log[i].used)
			log[l->log[i].number % size] = l->log[i];
	kvfree(l->log);
	l->log = log;
	l->size = size;
}

void sim_note_sent(struct sim_txh *t, const struct mroce_xmit *x)
{
	const struct mroce_base *b;
	struct sim *s = t->host->s;
	struct sim_path_log *l;
	struct sim_log *log;
	u32 i;

	switch (x->kind) {
	case MROCE_XMIT_HELLO:
		return;
	case MROCE_XMIT_DATA:
		b = &x->data.base;
		break;
	case MROCE_XMIT_OPEN:
		b = &x->open.base;
		break;
	default:
		b = &x->control.base;
	}
	SIM_CHECK(s, x->count && x->count <= MROCE_TRAIN_MAX, "a transmission of %u packets",
		  x->count);
	SIM_CHECK(s, b->path < s->cfg.npaths && b->path == x->path, "a transmission on path %u",
		  b->path);
	SIM_CHECK(s, b->id == t->tx.peer_id, "a transmission with another id");
	if (s->failed)
		return;
	l = &t->log[b->path];
	if (b->epoch != l->epoch || !l->log) {
		l->epoch = b->epoch;
		l->expect = b->number;
	}
	SIM_CHECK(s, b->number == l->expect, "path %u: number %u after %u", b->path, b->number,
		  l->expect - 1);
	l->expect = b->number + x->count;
	/* what is in flight, and a bitmap behind it */
	log_room(s, l, b->number + x->count - t->tx.path[b->path].high + MROCE_BITMAP_BITS);
	for (i = 0; i < x->count; i++) {
		log = sim_log_of(t, b->path, b->number + i);
		if (!log)
			break;
		*log = (struct sim_log){
			.number = b->number + i,
			.spn = x->kind == MROCE_XMIT_DATA ? x->data.spn + i : 0,
			.qp = x->kind == MROCE_XMIT_DATA ? sim_qp_of(x->txs)->peer->index + 1 : 0,
			.epoch = b->epoch,
			.response = x->kind == MROCE_XMIT_DATA && x->txs->response,
			.used = true,
		};
	}
}

/* A set bit says: placed, held, or known as a duplicate. */
static bool bit_is_right(struct sim_rxh *r, const struct mroce_ack *a, u32 number)
{
	struct sim_log *log = sim_log_of(r->sender, a->base.path, number);
	struct sim_track *track;
	struct sim_qp *qp;

	if (!log)
		return false;
	if (log->used && log->number != number)
		return mroce_seq_after(log->number, number); /* long ago */
	/* the sender has begun another epoch, and overwritten what it knew of this one */
	if (log->used && (s8)(log->epoch - a->base.epoch) > 0)
		return true;
	if (!log->used || log->epoch != a->base.epoch || !log->arrived)
		return false;
	qp = log->qp ? r->host->s->qp[log->qp - 1] : NULL;
	if (!qp || qp->detached)
		return true;
	track = &qp->track[log->response];
	return mroce_seq_before(log->spn, track->base) ||
	       track->state[log->spn & track->mask] != SIM_NOTHING;
}

void sim_check_ack(struct sim_rxh *r, const struct mroce_ack *a)
{
	struct sim *s = r->host->s;
	u32 w, number;
	u64 bits;

	if (a->flags & MROCE_A_UNKNOWN_PATH || s->hostile)
		return;
	SIM_CHECK(s, a->base.path < s->cfg.npaths && a->base.id == r->rx.peer_id,
		  "an ACK of no path");
	SIM_CHECK(s, a->nrecords <= MROCE_MAX_RECORDS, "an ACK with %u records", a->nrecords);
	for (w = 0; w < MROCE_BITMAP_WORDS && !s->failed; w++) {
		for (bits = a->bitmap[w]; bits; bits &= bits - 1) {
			number = a->anchor - (64 * w + __ffs64(bits));
			if (bit_is_right(r, a, number))
				continue;
			sim_fail(s, "an ACK of path %u says %u, which has not been placed",
				 a->base.path, number);
			break;
		}
	}
}

/* ---- messages and completions ---- */

static void check_request(struct sim_qp *qp, const struct mroce_desc *d)
{
	struct sim *s = qp->s;
	struct sim_wr *wr = &qp->peer->wr[d->msn];
	u32 bad;

	if (d->msn >= qp->peer->posted) {
		sim_fail(s, "queue pair %u: message %u was never posted", qp->index, d->msn);
		return;
	}
	SIM_CHECK(s, d->opcode == wr->opcode, "queue pair %u: message %u is another operation",
		  qp->index, d->msn);
	SIM_CHECK(s, !wr->delivered, "queue pair %u: message %u is handled twice", qp->index,
		  d->msn);
	wr->delivered = true;
	if (mroce_opinfo[d->opcode].payload || d->opcode == MROCE_OP_READ)
		SIM_CHECK(s, d->length == wr->length, "queue pair %u: message %u has %u bytes",
			  qp->index, d->msn, d->length);
	if (mroce_opinfo[d->opcode].rdma)
		SIM_CHECK(s, d->addr == wr->addr && d->rkey == wr->rkey,
			  "queue pair %u: message %u is for another address", qp->index, d->msn);
	if (mroce_opinfo[d->opcode].imm || mroce_opinfo[d->opcode].inv)
		SIM_CHECK(s, d->imm == wr->imm,
			  "queue pair %u: message %u carries another immediate", qp->index, d->msn);
	if (mroce_opinfo[d->opcode].receive)
		SIM_CHECK(s, d->rsn == qp->rq_done,
			  "queue pair %u: message %u takes receive %u, not %u", qp->index, d->msn,
			  d->rsn, qp->rq_done);
	if (s->failed)
		return;
	if (mroce_opinfo[d->opcode].place && qp->recv) {
		bad = differs(qp->recv + (size_t)(d->rsn % qp->load.buffers) * qp->load.buffer_len,
			      wr->key, 0, d->length);
		SIM_CHECK(s, bad == d->length, "queue pair %u: Send %u differs at byte %u",
			  qp->index, d->msn, bad);
	}
	if (is_write(d->opcode) && qp->mem && !qp->peer->load.overlap) {
		bad = differs(qp->mem + (wr->addr - SIM_WRITE_BASE), wr->key, 0, d->length);
		SIM_CHECK(s, bad == d->length, "queue pair %u: Write %u differs at byte %u",
			  qp->index, d->msn, bad);
	}
}

static void check_response(struct sim_qp *qp, const struct mroce_desc *d)
{
	struct sim *s = qp->s;
	struct sim_wr *wr = &qp->wr[d->rsn];
	u32 bad;

	if (d->rsn >= qp->posted || wr->done || wr->responded) {
		sim_fail(s, "queue pair %u: response to %u, which is not outstanding", qp->index,
			 d->rsn);
		return;
	}
	wr->responded = true;
	if (d->opcode == MROCE_OP_READ_RESP && qp->local) {
		bad = differs(local_of(qp, d->rsn), sim_read_key(qp->peer),
			      (u32)(wr->addr - SIM_READ_BASE), answer_length(wr));
		SIM_CHECK(s, bad == answer_length(wr), "queue pair %u: Read %u differs at byte %u",
			  qp->index, d->rsn, bad);
	}
}

void sim_check_message(struct sim_qp *qp, const struct mroce_desc *d)
{
	struct sim_track *t = &qp->track[mroce_opinfo[d->opcode].response];
	struct sim *s = qp->s;

	if (d->msn != t->next_msn)
		sim_broken(s, "queue pair %u: message %u at the cursor, expected %u", qp->index,
			   d->msn, t->next_msn);
	if (mroce_seq_after(d->first + d->packets, t->base))
		sim_broken(s, "queue pair %u: message %u is at the cursor before it has landed",
			   qp->index, d->msn);
	t->next_msn = d->msn + 1;
	if (s->hostile)
		check_parts(qp, t, d);
	if (s->failed || s->hostile)
		return;
	if (mroce_opinfo[d->opcode].response)
		check_response(qp, d);
	else
		check_request(qp, d);
}

void sim_check_complete(struct sim_qp *qp, const struct mroce_msg *m)
{
	struct sim *s = qp->s;
	struct sim_qp *peer = qp->peer;
	struct sim_wr *wr = &qp->wr[m->msn];
	u64 at = wr->addr - SIM_WRITE_BASE;
	u32 i;

	if (m->msn != qp->completed || m->msn >= qp->posted || wr->done) {
		sim_broken(s, "queue pair %u: message %u completes, expected %u", qp->index,
			   m->msn, qp->completed);
		return;
	}
	wr->done = true;
	if (mroce_opinfo[m->opcode].answered && !wr->responded)
		sim_broken(s, "queue pair %u: message %u completes without its response",
			   qp->index, m->msn);
	SIM_CHECK(s, peer->detached || !mroce_seq_after(m->first + m->packets, peer->track[0].base),
		  "queue pair %u: message %u (%s, numbers %u on, %u) completes before its bytes have landed, lowest missing %u",
		  qp->index, m->msn, mroce_opinfo[m->opcode].name, m->first, m->packets,
		  peer->track[0].base);
	if ((!is_write(m->opcode) && m->opcode != MROCE_OP_ATOMIC_WRITE) || !peer->owner ||
	    s->failed)
		return;
	/* last writer wins: every byte is this Write's or a later one's */
	for (i = 0; i < wr->length && !s->failed; i++) {
		u32 owner = peer->owner[at + i];

		SIM_CHECK(s, owner > m->msn,
			  "queue pair %u: a byte of Write %u is not its own at completion",
			  qp->index, m->msn);
		if (owner == m->msn + 1)
			SIM_CHECK(s, peer->mem[at + i] == sim_pattern(wr->key, i),
				  "queue pair %u: Write %u differs at byte %u", qp->index, m->msn,
				  i);
	}
}
