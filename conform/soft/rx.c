// SPDX-License-Identifier: GPL-2.0
/* Paths at their receiver: what has come, ACKs, shares; OPEN, CONTROL and PROBE. Clauses N6, A1 to A6, S3 to S8, H. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* ---- acknowledgements */

/* A level that all who have a backlog share; idle ones get an even part ([H1], [H7]) */
static void share_fill(struct rx_half *h, struct mroce_wire_ack *w)
{
	struct soft *s = h->soft;
	uint64_t capacity = s->config.capacity, share;
	unsigned int active = 0, all = 0;
	struct rx_half *o;

	for (o = s->rx_halves; o; o = o->next) {
		all++;
		active += o->backlog && s->now - o->backlog_at < 10 * MS;
	}
	w->active = htobe16(active);
	if (!capacity)
		return;
	if (active > 1)
		capacity -= capacity / 32;
	share = h->backlog && active ? capacity / active : capacity / all;
	share = share < 1024 ? 1 : share / 1024;
	w->share = htobe32(share < 0xffffffff ? share : 0xffffffff);
	w->allowance = htobe32(64 * 1024 / all > 9000 ? 64 * 1024 / all : 9000);
}

static size_t ack_fill(struct rx_half *h, unsigned int index, uint32_t anchor, bool anchored,
		       void *at)
{
	struct rx_path *p = &h->path[index];
	struct mroce_wire_ack *w = at;
	unsigned int i;

	memset(w, 0, sizeof(*w));
	base(&w->base, MROCE_T_ACK, index, p->epoch, p->highest, h->peer_id);
	w->anchor = htobe32(anchored ? anchor : p->highest);
	w->echo = htobe32(p->stamp);
	w->delay = htobe32((h->soft->now - p->stamp_at) >> MROCE_STAMP_SHIFT);
	w->packets = htobe32(p->packets);
	w->ce = htobe32(p->ce);
	w->bytes = htobe64(p->bytes);
	w->flags = (anchored ? MROCE_A_PARTIAL : 0) | (p->duplicate ? MROCE_A_DUPLICATE : 0);
	share_fill(h, w);
	if (anchored)
		w->bitmap[0] = htobe64(1);
	for (i = 0; !anchored && i < MROCE_BITMAP_WORDS; i++)
		w->bitmap[i] = htobe64(p->bits[i]);
	w->nrecords = p->records;
	memcpy(w + 1, p->record, p->records * sizeof(*p->record));
	i = sizeof(*w) + p->records * sizeof(*p->record);
	if (!anchored) {
		p->records = 0;
		p->duplicate = false;
		p->unacknowledged = 0;
		p->ack_at = NEVER;
	} else {
		w->nrecords = 0;
		i = sizeof(*w);
	}
	return i;
}

static void ack_transmit(struct rx_half *h, unsigned int first, const void *bytes, size_t length)
{
	struct rx_path *p = &h->path[first];

	transmit(h->soft, &p->own, &p->peer, p->port, p->tos & ~3, 0, bytes, length);
}

/* Those that wait for their timer go along, the longest waiting first ([A1a], [A4]) */
static void ack_now(struct rx_half *h, unsigned int due)
{
	uint8_t bytes[ACK_DATAGRAM + sizeof(struct mroce_wire_ack) +
		      MROCE_MAX_RECORDS * sizeof(struct mroce_wire_record)];
	size_t n = 0, one;
	unsigned int i, first = due, waiting;

	for (;;) {
		waiting = due;
		for (i = 0; i < h->paths; i++)
			if (i != due && h->path[i].ack_at != NEVER && h->path[i].seen &&
			    (waiting == due || h->path[i].ack_at < h->path[waiting].ack_at))
				waiting = i;
		one = sizeof(struct mroce_wire_ack) +
		      h->path[waiting].records * sizeof(struct mroce_wire_record);
		if (n && n + one > ACK_DATAGRAM) {
			ack_transmit(h, first, bytes, n);
			n = 0;
		}
		if (!n)
			first = waiting;
		n += ack_fill(h, waiting, 0, false, bytes + n);
		if (waiting == due)
			break;
	}
	ack_transmit(h, first, bytes, n);
}

static void record(struct rx_half *h, unsigned int path, const struct mroce_wire_record *r)
{
	struct rx_path *p = &h->path[path];

	if (p->records == MROCE_MAX_RECORDS)
		ack_now(h, path);
	p->record[p->records++] = *r;
}

uint32_t credit_of(const struct soft_qp *qp)
{
	return qp->posted;
}

/* Buffers came after a refusal: said reliably ([R3]) */
void credit_news(struct soft_qp *qp)
{
	if (qp->rx_requests.refusing != MROCE_N_RNR || !qp->half || !qp->opened)
		return;
	qp->rx_requests.refusing = 0;
	control_later(qp->half, MROCE_C_CREDIT, qp->opener, credit_of(qp));
	half_pump(qp->half);
}

void rx_timers(struct rx_half *h)
{
	struct soft *s = h->soft;
	unsigned int i, due = MAX_PATHS;

	for (i = 0; i < h->paths; i++)
		if (h->path[i].seen && s->now >= h->path[i].ack_at &&
		    (due == MAX_PATHS || h->path[i].ack_at < h->path[due].ack_at))
			due = i;
	if (due < MAX_PATHS)
		ack_now(h, due);
	for (i = 0; i < h->tombstones; i++)
		if (s->now >= h->tombstone[i].until)
			h->tombstone[i--] = h->tombstone[--h->tombstones];
	if (!h->streams && s->now - h->heard_at > (h->heard ? 60 * SEC : 5 * SEC))
		rx_half_free(h);
}

/* ---- a path's numbers */

static bool bit(const struct rx_path *p, uint32_t number)
{
	uint32_t behind = p->highest - number;

	return behind < MROCE_BITMAP_BITS && p->bits[behind / 64] >> behind % 64 & 1;
}

/* The bitmap moves with the highest number; a number that was taken has its bit set. True: an ACK is due */
static bool note(struct rx_path *p, uint32_t number, bool taken)
{
	uint32_t by = number - p->highest, behind, i;
	bool due = false;

	if (before(p->highest, number)) {
		due = by > 1;
		p->highest = number;
		for (; by && by < MROCE_BITMAP_BITS; by--) {
			for (i = MROCE_BITMAP_WORDS - 1; i; i--)
				p->bits[i] = p->bits[i] << 1 | p->bits[i - 1] >> 63;
			p->bits[0] <<= 1;
		}
		if (by)
			memset(p->bits, 0, sizeof(p->bits));
	} else {
		due = true;
	}
	behind = p->highest - number;
	if (taken && behind < MROCE_BITMAP_BITS)
		p->bits[behind / 64] |= 1ULL << behind % 64;
	return due;
}

/* [N6] */
static struct rx_path *path_of(struct rx_half *h, const struct soft_datagram *d,
			       const struct mroce_wire_base *b)
{
	struct rx_path *p = &h->path[b->path % MAX_PATHS];

	if (b->path >= h->paths)
		return NULL;
	if (p->seen && (int8_t)(b->epoch - p->epoch) < 0)
		return NULL;
	if (!p->seen || b->epoch != p->epoch) {
		memset(p, 0, sizeof(*p));
		p->seen = true;
		p->epoch = b->epoch;
		p->ack_at = NEVER;
	}
	p->port = d->port;
	p->tos = d->tos;
	p->own = d->to;
	p->peer = d->from;
	return p;
}

/* ---- what packets say */

static struct tombstone *tombstone_of(struct rx_half *h, uint32_t stream)
{
	unsigned int i;

	for (i = 0; i < h->tombstones; i++)
		if (h->tombstone[i].stream == stream)
			return &h->tombstone[i];
	return NULL;
}

static struct soft_qp *stream_of(struct rx_half *h, uint32_t stream)
{
	struct soft_qp *qp;

	for (qp = h->soft->qps; qp; qp = qp->next) {
		if (qp->type != SOFT_RC || qp->stream != stream || qp->state < SOFT_RTR)
			continue;
		if (qp->rx_half == h)
			return qp;
		/* [S4]: one that only responds opens nothing */
		if (!qp->rx_half && qp->half && qp->half->peer_instance == h->peer_instance &&
		    same(&qp->half->peer, &h->peer)) {
			qp->rx_half = h;
			h->streams++;
			return qp;
		}
	}
	return NULL;
}

static enum landed data_input(struct rx_half *h, const struct data *d, uint32_t number,
			      uint8_t path)
{
	struct mroce_wire_record r = {
		.kind = MROCE_R_NACK,
		.flags = d->flags & MROCE_F_RESPONSE ? MROCE_R_RESPONSE : 0,
		.spn = htobe32(d->spn),
		.number = htobe32(number),
		.value = htobe32(d->msn),
	};
	struct soft_qp *qp = stream_of(h, d->stream);
	enum landed landed;

	if (!qp) {
		struct tombstone *t = tombstone_of(h, d->stream);

		if (!t) {
			h->soft->count.dropped++;
			return DROPPED; /* [S6] */
		}
		if (before(d->spn, t->base) && !(d->flags & MROCE_F_RESPONSE))
			return DUPLICATE;
		r.reason = MROCE_N_GONE;
		record(h, path, &r);
		return NACKED;
	}
	if (!(d->flags & MROCE_F_RESPONSE))
		space_released(&qp->responses, d->floor); /* [M11] */
	r.stream = htobe32(qp->opener ? qp->opener : qp->requests.peer_stream);
	landed = stream_input(qp, d, &r.reason, &r.timer);
	if (landed == NACKED) {
		record(h, path, &r);
	} else if (landed == DUPLICATE) {
		h->soft->count.duplicates++;
		r.kind = MROCE_R_RELEASE;
		r.number = r.value = 0;
		r.spn = htobe32(d->flags & MROCE_F_RESPONSE ? qp->rx_responses.base
							    : qp->rx_requests.base);
		record(h, path, &r);
	}
	if (!(d->flags & MROCE_F_RESPONSE) && qp->requests.peer_stream + 1 && landed == TAKEN &&
	    op_receives(d->opcode) && d->flags & MROCE_F_LAST) {
		struct mroce_wire_record credit = {
			.kind = MROCE_R_CREDIT,
			.stream = r.stream,
			.value = htobe32(credit_of(qp)),
		};

		record(h, path, &credit);
	}
	complete(qp);
	return landed;
}

/* [S3] */
static void open_input(struct rx_half *h, const struct soft_datagram *d,
		       const struct mroce_wire_open *in)
{
	uint32_t stream = be32toh(in->stream);
	struct soft_qp *qp = qp_find(h->soft, be32toh(in->peer_qpn));
	struct mroce_wire_open w = {
		.own_qpn = in->peer_qpn,
		.peer_qpn = in->own_qpn,
		.to = in->stream,
		.attempt = in->attempt,
		.log_packets = LOG_WINDOW,
		.log_messages = LOG_MESSAGES,
		.status = MROCE_OPEN_NOT_READY,
	};

	if (qp && qp->type == SOFT_RC && (qp->state == SOFT_RTR || qp->state == SOFT_RTS) &&
	    qp->connect.qpn == be32toh(in->own_qpn) && qp->connect.rq_psn == be32toh(in->psn) &&
	    same(&qp->connect.to, &h->peer) && (!qp->rx_half || qp->rx_half == h) &&
	    (!qp->opened || qp->opener == stream)) {
		if (!qp->rx_half)
			h->streams++;
		qp->rx_half = h;
		qp->opener = stream;
		if (!qp->opened) {
			qp->opened = true;
			qp->responses.peer_stream = stream;
			qp->responses.window = window_of(in->log_packets);
			qp->responses.messages = 1U << in->log_messages;
		}
		w.status = MROCE_OPEN_ACCEPT;
		w.stream = htobe32(qp->stream);
		w.credit = htobe32(credit_of(qp));
		w.reads = qp->reads;
	}
	base(&w.base, MROCE_T_OPEN_REPLY, in->base.path, in->base.epoch, 0, h->peer_id);
	transmit(h->soft, &d->to, &d->from, d->port, d->tos & ~3, 0, &w, sizeof(w));
}

static void control_input(struct rx_half *h, const struct mroce_wire_control *w)
{
	struct soft_qp *qp = stream_of(h, be32toh(w->stream));
	uint32_t value = be32toh(w->value);

	if (!qp)
		return; /* [S8] */
	if (w->op == MROCE_C_CREDIT) {
		if (!qp->requests.no_credit && before(qp->requests.credit, value))
			qp->requests.credit = value;
		if (qp->requests.paused == MROCE_N_RNR)
			space_resume(&qp->requests);
		return;
	}
	/* [S7] */
	space_released(&qp->requests, value);
	complete(qp);
	if (qp->state == SOFT_RTS && qp->requests.head)
		qp_fail(qp, SOFT_RETRY_EXC);
	else if (qp->state == SOFT_RTS)
		qp->accepted = false, qp->open_at = h->soft->now + 100 * MS;
}

static void one(struct rx_half *h, const struct soft_datagram *d, const uint8_t *at,
		const struct data *data, bool first)
{
	const struct mroce_wire_base *b = (const void *)at;
	struct rx_path *p = path_of(h, d, b);
	uint32_t number = be32toh(b->number), st, behind;
	enum landed landed = TAKEN;
	bool due, seen, ce = first && (d->tos & 3) == 3, ackreq;

	if (!p) {
		h->soft->count.dropped++;
		return;
	}
	h->heard = true;
	h->heard_at = h->soft->now;
	seen = bit(p, number);
	p->packets++;
	p->ce += ce;
	switch (b->type) {
	case MROCE_T_DATA:
		p->bytes += data->bytes;
		st = data->stamp;
		ackreq = data->flags & MROCE_F_ACKREQ;
		h->backlog = data->backlog;
		h->backlog_at = h->soft->now;
		landed = data_input(h, data, number, b->path);
		break;
	case MROCE_T_OPEN:
		st = be32toh(((const struct mroce_wire_open *)at)->stamp);
		ackreq = ((const struct mroce_wire_open *)at)->flags & MROCE_F_ACKREQ;
		open_input(h, d, (const void *)at);
		break;
	default:
		st = be32toh(((const struct mroce_wire_control *)at)->stamp);
		ackreq = ((const struct mroce_wire_control *)at)->flags & MROCE_F_ACKREQ;
		if (b->type == MROCE_T_CONTROL)
			control_input(h, (const void *)at);
		break;
	}
	if (!p->stamp_at || before(p->stamp, st)) {
		p->stamp = st;
		p->stamp_at = h->soft->now;
	}
	due = note(p, number, landed == TAKEN || landed == DUPLICATE);
	due = due || ackreq || landed != TAKEN || ce != p->marked;
	p->marked = ce;
	p->duplicate = p->duplicate || (landed == DUPLICATE && !seen);
	behind = p->highest - number;
	if (behind >= MROCE_BITMAP_BITS && (landed == TAKEN || landed == DUPLICATE)) {
		uint8_t bytes[sizeof(struct mroce_wire_ack)];

		ack_transmit(h, b->path, bytes,
			     ack_fill(h, b->path, number, true, bytes)); /* [A3] */
	}
	if (due || ++p->unacknowledged >= 32)
		ack_now(h, b->path);
	else if (p->ack_at == NEVER)
		p->ack_at = h->soft->now + 200 * US;
}

void numbered_input(struct soft *s, const struct soft_datagram *d)
{
	const struct mroce_wire_base *b = d->bytes;
	uint64_t id = be64toh(b->id);
	struct rx_half *h = rx_half_find(s, d, id), *known;
	const uint8_t *at = d->bytes;
	size_t left = d->length, used;
	struct data data;
	unsigned int n;

	if (!h) {
		for (known = s->rx_halves; known && known->id != id; known = known->next)
			;
		if (known)
			s->count.dropped++;
		else
			reset_answer(s, d);
		return;
	}
	if (b->type != MROCE_T_DATA) {
		one(h, d, at, NULL, true);
		return;
	}
	/* [D7] */
	for (n = 0; left && n < MAX_SHARED; n++, at += used, left -= used) {
		const struct mroce_wire_base *o = (const void *)at;

		if (base_check(at, left) || o->type != MROCE_T_DATA || o->id != b->id ||
		    o->path != b->path || o->epoch != b->epoch ||
		    data_parse(at, left, &data, &used)) {
			s->count.malformed++;
			return;
		}
		one(h, d, at, &data, !n);
	}
}
