// SPDX-License-Identifier: GPL-2.0
/* Streams at their sender: messages cut into packets, what may be sent next, refusals. Clauses S, M, N, R. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

void space_start(struct space *sp, struct soft_qp *qp, bool response, uint32_t spn)
{
	*sp = (struct space){
		.qp = qp,
		.response = response,
		.next_spn = spn,
		.window = WINDOW,
		.messages = MESSAGES,
		.no_credit = response,
	};
	sp->tail = &sp->head;
}

struct message *message_new(struct space *sp, const struct soft_work *w, const void *data,
			    uint32_t length)
{
	struct message *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->space = sp;
	m->work = *w;
	m->references = 1;
	m->length = w->length;
	if (length) {
		m->data = malloc(length);
		if (!m->data) {
			free(m);
			return NULL;
		}
		memcpy(m->data, data, length);
	}
	*sp->tail = m;
	sp->tail = &m->next;
	return m;
}

void message_put(struct message *m)
{
	if (--m->references)
		return;
	free(m->data);
	free(m->packet);
	free(m->losses);
	free(m->last_path);
	free(m);
}

/* Off the list: nothing of it is sent again */
static void message_close(struct space *sp)
{
	struct message *m = sp->head;
	uint32_t i;

	for (i = m->low; m->cut && i < m->packets; i++)
		sp->lost -= m->packet[i] == LOST || m->packet[i] == REFUSED;
	m->closed = true;
	sp->head = m->next;
	if (!sp->head)
		sp->tail = &sp->head;
	message_put(m);
}

void space_end(struct space *sp)
{
	while (sp->head)
		message_close(sp);
}

static uint32_t lowest(const struct space *sp)
{
	return sp->head && sp->head->cut ? sp->head->first + sp->head->low : sp->next_spn;
}

static uint32_t lowest_msn(const struct space *sp)
{
	return sp->head && sp->head->cut ? sp->head->msn : sp->next_msn;
}

/* Numbers below are placed: by RELEASE, by a response's floor, by CLOSE */
void space_released(struct space *sp, uint32_t below)
{
	struct message *m;

	for (m = sp->head; m && m->cut && before(m->first + m->low, below); m = m->next)
		while (m->low < m->packets && before(m->first + m->low, below)) {
			sp->lost -= m->packet[m->low] == LOST || m->packet[m->low] == REFUSED;
			m->packet[m->low++] = DONE;
			if (m->unsent < m->low)
				m->unsent = m->low;
		}
}

/* ---- completion */

static void finish(struct soft_qp *qp, struct message *m, enum soft_status status)
{
	struct soft_completion c = {
		.id = m->work.id,
		.status = status,
		.opcode = m->work.opcode,
		.length = m->work.length,
	};

	if (!m->work.unsignalled || status != SOFT_OK)
		qp_done(qp, &c);
}

static enum soft_status status_of(uint8_t reason)
{
	switch (reason) {
	case MROCE_N_RNR:
		return SOFT_RNR_EXC;
	case MROCE_N_ACCESS:
		return SOFT_REM_ACCESS;
	case MROCE_N_LENGTH:
		return SOFT_REM_INV_REQ;
	case MROCE_N_OPERATION:
		return SOFT_REM_OP;
	default:
		return SOFT_RETRY_EXC;
	}
}

/* In order: a request with its last packet, one that is answered with its answer ([M10]) */
void complete(struct soft_qp *qp)
{
	struct space *sp = &qp->requests;
	struct message *m;

	while ((m = sp->head)) {
		if (m->failed) {
			qp_fail(qp, status_of(m->failed));
			return;
		}
		if (!m->cut || (op_answered(m->work.opcode) ? !m->answered : m->low < m->packets))
			break;
		finish(qp, m, SOFT_OK);
		qp->reading -= op_answered(m->work.opcode);
		message_close(sp);
	}
	while ((m = qp->responses.head) && m->cut && m->low == m->packets) {
		qp->answering--;
		message_close(&qp->responses);
	}
}

/* ---- refusals */

void space_resume(struct space *sp)
{
	struct message *m;
	uint32_t i;

	sp->paused = 0;
	sp->resumed_at = sp->qp->soft->now;
	for (m = sp->head; m && m->cut; m = m->next)
		for (i = m->low; i < m->packets; i++)
			if (m->packet[i] == REFUSED)
				m->packet[i] = LOST;
}

static uint64_t rnr_wait(uint8_t code) /* the InfiniBand RNR timer codes, in 10 us */
{
	static const uint32_t wait[32] = {
		65536, 1,    2,	   3,	 4,    6,     8,     12,    16,	   24,	  32,
		48,    64,   96,   128,	 192,  256,   384,   512,   768,   1024,  1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return wait[code & 31] * 10 * US;
}

void space_refused(struct space *sp, struct flight *f, uint8_t reason, uint8_t timer, uint32_t msn)
{
	struct soft_qp *qp = sp->qp;
	struct message *m = f->message;
	uint64_t wait = 10 * MS;

	(void)msn;
	switch (reason) {
	case MROCE_N_ACCESS:
	case MROCE_N_LENGTH:
	case MROCE_N_OPERATION:
	case MROCE_N_GONE:
		if (sp->response) {
			space_released(sp, m->first + m->packets);
			return;
		}
		m->failed = reason;
		wait = NEVER / 2;
		break;
	case MROCE_N_RNR:
		if (f->at >= sp->resumed_at && qp->connect.rnr_retry != 7 &&
		    sp->rnr_episodes++ >= qp->connect.rnr_retry) {
			m->failed = reason;
			wait = NEVER / 2;
			break;
		}
		wait = rnr_wait(timer);
		break;
	case MROCE_N_NOT_READY:
	case MROCE_N_MEMORY:
	case MROCE_N_FAULT:
		wait = timer * MS << (sp->pause_doublings < 7 ? sp->pause_doublings : 7);
		break;
	}
	/* what was sent before the last pause ended says nothing new */
	if (f->at < sp->resumed_at && wait < SEC * 3600) {
		m->packet[f->index] = LOST;
		return;
	}
	sp->pause_doublings++;
	if (sp->paused && !before(m->first + f->index, sp->paused_spn) && wait < SEC * 3600)
		return;
	sp->paused = reason;
	sp->paused_spn = m->first + f->index;
	sp->paused_low = lowest(sp);
	sp->paused_until = qp->soft->now + wait;
}

static void pause_over(struct space *sp)
{
	bool moved = lowest(sp) != sp->paused_low;

	if (!sp->paused)
		return;
	if (sp->qp->soft->now >= sp->paused_until ||
	    (moved && (sp->paused == MROCE_N_HOLD || sp->paused == MROCE_N_WINDOW ||
		       sp->paused == MROCE_N_READS)))
		space_resume(sp);
}

/* ---- cutting and sending */

static bool overlap(const struct message *a, const struct message *b)
{
	uint64_t bytes = b->work.opcode == MROCE_OP_WRITE || b->work.opcode == MROCE_OP_WRITE_IMM
				 ? b->length
				 : 8;

	return a->work.addr < b->work.addr + bytes && b->work.addr < a->work.addr + a->length;
}

/* [M9]. False: it has to wait for the answer to an atomic */
static bool ordered_after(struct space *sp, struct message *m)
{
	struct message *o;

	m->ordered = false;
	if (m->work.opcode != MROCE_OP_WRITE && m->work.opcode != MROCE_OP_WRITE_IMM)
		return true;
	for (o = sp->head; o != m; o = o->next) {
		uint8_t op = o->work.opcode;

		if (!overlap(m, o))
			continue;
		if (op == MROCE_OP_CMP_SWAP || op == MROCE_OP_FETCH_ADD ||
		    op == MROCE_OP_ATOMIC_WRITE)
			return false;
		m->ordered = m->ordered || op == MROCE_OP_WRITE || op == MROCE_OP_WRITE_IMM;
	}
	return true;
}

static bool cut(struct space *sp, struct message *m, unsigned int payload)
{
	uint8_t op = m->work.opcode;
	uint32_t n = packets_of(op, m->length, payload);

	m->packet = calloc(n, 1);
	m->losses = calloc(n, 1);
	m->last_path = calloc(n, 1);
	if (!m->packet || !m->losses || !m->last_path)
		return false;
	m->psize = payload;
	m->packets = n;
	m->first = sp->next_spn;
	m->msn = sp->next_msn++;
	if (!sp->response)
		m->rsn = op_receives(op) ? sp->next_rsn++ : sp->next_rsn;
	sp->next_spn += n;
	m->cut = true;
	return true;
}

/* May a message that was not begun be? Windows ([N5]), credit ([R3]), reads ([M14]) */
static bool admitted(struct space *sp, struct message *m, struct half *h)
{
	struct soft_qp *qp = sp->qp;

	if (m->cut)
		return true;
	if (sp->next_msn - lowest_msn(sp) >= sp->messages)
		return false;
	if (op_answered(m->work.opcode) && qp->reading >= qp->reads)
		return false;
	if (op_receives(m->work.opcode) && !sp->no_credit && !before(sp->next_rsn, sp->credit) &&
	    lowest(sp) != sp->next_spn)
		return false; /* one packet, when nothing else is in flight */
	if (!ordered_after(sp, m) || !cut(sp, m, h->payload))
		return false;
	qp->reading += op_answered(m->work.opcode);
	return true;
}

static bool within(struct space *sp, uint32_t spn)
{
	return spn - lowest(sp) < sp->window && !(sp->paused && !before(spn, sp->paused_spn));
}

/* The next packet of a space: what was lost first */
static struct message *choose(struct space *sp, struct half *h, uint32_t *index)
{
	struct message *m;
	uint32_t i;

	for (m = sp->lost ? sp->head : NULL; m && m->cut; m = m->next)
		for (i = m->low; i < m->unsent; i++)
			if (m->packet[i] == LOST && within(sp, m->first + i)) {
				*index = i;
				return m;
			}
	for (m = sp->head; m && m->cut && m->unsent == m->packets; m = m->next)
		;
	if (!m || !admitted(sp, m, h) || !within(sp, m->first + m->unsent))
		return NULL;
	/* without credit, one packet and no more */
	if (op_receives(m->work.opcode) && !sp->no_credit && !before(m->rsn, sp->credit) &&
	    lowest(sp) != m->first + m->unsent)
		return NULL;
	*index = m->unsent;
	return m;
}

static uint32_t backlog(struct half *h)
{
	struct soft_qp *qp;
	struct message *m;
	uint64_t bytes = 0;

	for (qp = h->soft->qps; qp; qp = qp->next)
		for (m = qp->half == h ? qp->requests.head : NULL; m; m = m->next)
			if (op_carries_message(m->work.opcode))
				bytes += m->length -
					 (m->cut ? (uint64_t)m->unsent * m->psize < m->length
							   ? m->unsent * m->psize
							   : m->length
						 : 0);
	bytes = (bytes + 1023) / 1024;
	return bytes < 0xffffffff ? bytes : 0xffffffff;
}

static void data_send(struct path *p, struct message *m, uint32_t i)
{
	struct half *h = p->half;
	struct space *sp = m->space;
	struct soft_qp *qp = sp->qp;
	uint8_t packet[65536], op = m->work.opcode;
	struct mroce_wire_data *w = (void *)packet;
	uint32_t offset = i * m->psize, bytes = op_own_payload(op);
	bool last = i == m->packets - 1;
	struct flight *f;

	if (op_carries_message(op))
		bytes = m->length - offset < m->psize ? m->length - offset : m->psize;
	memset(w, 0, sizeof(*w));
	w->stream = htobe32(sp->peer_stream);
	w->spn = htobe32(m->first + i);
	w->msn = htobe32(m->msn);
	w->rsn = htobe32(m->rsn);
	w->offset = htobe32(offset);
	w->length = htobe32(m->length);
	w->addr = htobe64(m->work.addr +
			  (op == MROCE_OP_WRITE || op == MROCE_OP_WRITE_IMM ? offset : 0));
	w->rkey = htobe32(op_needs_key(op) ? m->work.rkey : 0);
	w->imm = htobe32(m->work.imm);
	w->opcode = op;
	w->flags = (i ? 0 : MROCE_F_FIRST) | (last ? MROCE_F_LAST : 0) |
		   (sp->response ? MROCE_F_RESPONSE : 0) | (m->ordered ? MROCE_F_ORDERED : 0) |
		   (m->work.solicited ? MROCE_F_SOLICITED : 0);
	if (last && !m->next && !sp->response && !op_answered(op))
		w->flags |= MROCE_F_ACKREQ;
	w->psize = htobe16(m->psize);
	w->stamp = htobe32(stamp(h->soft));
	if (!sp->response)
		w->floor = htobe32(qp->rx_responses.base);
	if (bytes && op == MROCE_OP_CMP_SWAP) {
		struct mroce_wire_atomic a = {htobe64(m->work.compare_add), htobe64(m->work.swap)};

		memcpy(w + 1, &a, sizeof(a));
	} else if (bytes && op == MROCE_OP_FETCH_ADD) {
		struct mroce_wire_atomic a = {htobe64(m->work.compare_add), 0};

		memcpy(w + 1, &a, sizeof(a));
	} else if (bytes) {
		memcpy(w + 1, m->data + offset, bytes);
	}
	if (i == m->unsent)
		m->unsent++;
	else
		h->soft->count.resent++;
	w->backlog = htobe32(backlog(h));
	m->packet[i] = FLYING;
	m->last_path[i] = p->index;
	f = path_send(p, MROCE_T_DATA, packet, sizeof(*w) + bytes, bytes + PACKET_COST);
	f->message = m;
	f->index = i;
	f->asked = w->flags & MROCE_F_ACKREQ;
	m->references++;
}

/* [G8] */
static bool share_allows(struct half *h, uint32_t bytes)
{
	uint64_t now = h->soft->now;

	if (h->share && now < h->share_until) {
		if (now < h->send_at)
			return false;
		if (h->send_at + 100 * US < now)
			h->send_at = now - 100 * US;
		h->send_at += bytes * SEC / h->share;
		return true;
	}
	if (h->allowance == NEVER)
		return true;
	if (h->allowance < bytes)
		return false;
	h->allowance -= bytes;
	return true;
}

static bool send_one(struct half *h, struct space *sp)
{
	struct message *m;
	struct path *p;
	uint32_t i;

	pause_over(sp);
	m = choose(sp, h, &i);
	if (!m)
		return false;
	/* the path that lost it, once ([A7], [T6]) */
	p = path_for(h, m->packet[i] == LOST && m->losses[i] < 2 ? m->last_path[i] : -1);
	if (!p || !share_allows(h, m->psize + PACKET_COST))
		return false;
	if (m->packet[i] == LOST)
		sp->lost--;
	data_send(p, m, i);
	return true;
}

void control_later(struct half *h, uint8_t op, uint32_t stream, uint32_t value)
{
	struct control *c = calloc(1, sizeof(*c)), **at = &h->control;

	if (!c)
		return;
	*c = (struct control){.op = op, .stream = stream, .value = value};
	while (*at)
		at = &(*at)->next;
	*at = c;
}

static void controls(struct half *h)
{
	while (h->control) {
		struct control *c = h->control;
		struct mroce_wire_control w = {
			.op = c->op,
			.flags = MROCE_F_ACKREQ,
			.stream = htobe32(c->stream),
			.value = htobe32(c->value),
			.stamp = htobe32(stamp(h->soft)),
		};
		struct path *p = path_for(h, -1);
		struct flight *f;

		if (!p)
			return;
		f = path_send(p, MROCE_T_CONTROL, &w, sizeof(w), 0);
		f->op = c->op;
		f->stream = c->stream;
		f->value = c->value;
		f->asked = true;
		h->control = c->next;
		free(c);
	}
}

void open_send(struct soft_qp *qp)
{
	struct half *h = qp->half;
	struct mroce_wire_open w = {
		.own_qpn = htobe32(qp->qpn),
		.peer_qpn = htobe32(qp->connect.qpn),
		.psn = htobe32(qp->connect.sq_psn),
		.stream = htobe32(qp->stream),
		.log_packets = LOG_WINDOW,
		.log_messages = LOG_MESSAGES,
		.flags = MROCE_F_ACKREQ,
		.stamp = htobe32(stamp(h->soft)),
	};
	struct path *p = path_for(h, -1);
	struct flight *f;

	if (!p)
		return;
	w.attempt = htobe32(++qp->attempt);
	f = path_send(p, MROCE_T_OPEN, &w, sizeof(w), 0);
	f->qp = qp;
	f->asked = true;
	qp->open_wait =
		qp->open_wait ? qp->open_wait * 2 < 100 * MS ? qp->open_wait * 2 : 100 * MS : MS;
	qp->open_at = h->soft->now + qp->open_wait;
}

/* Nothing came for as long as the application allowed ([T2]) */
void qp_timers(struct soft_qp *qp)
{
	uint64_t now = qp->soft->now,
		 wait = (4096ULL << qp->connect.timeout) * (qp->connect.retry + 1);
	struct space *sp = &qp->requests;
	bool waits = !qp->accepted || (sp->head && sp->head->cut && sp->paused != MROCE_N_RNR &&
				       sp->paused != MROCE_N_NOT_READY);

	if (qp->state != SOFT_RTS)
		return;
	if (!waits)
		qp->progress = now;
	else if (qp->connect.timeout && now - qp->progress > (wait > 500 * MS ? wait : 500 * MS))
		qp_fail(qp, SOFT_RETRY_EXC);
}

/* What may go now, of each stream in turn; responses first, which end what others wait for */
void half_pump(struct half *h)
{
	struct soft_qp *qp, *next;
	bool more = true;

	if (h->state != OPEN)
		return;
	controls(h);
	for (qp = h->soft->qps; qp; qp = next) {
		next = qp->next;
		if (qp->half != h || qp->type != SOFT_RC)
			continue;
		if (qp->state == SOFT_RTS && !qp->accepted && h->soft->now >= qp->open_at)
			open_send(qp);
		qp_timers(qp);
	}
	while (more) {
		more = false;
		for (qp = h->soft->qps; qp; qp = qp->next) {
			if (qp->half != h || qp->type != SOFT_RC)
				continue;
			if (qp->opened && send_one(h, &qp->responses))
				more = true;
			if (qp->accepted && qp->state == SOFT_RTS && send_one(h, &qp->requests))
				more = true;
		}
	}
}

void open_reply_input(struct soft *s, const struct soft_datagram *d)
{
	const struct mroce_wire_open *w = d->bytes;
	uint32_t attempt = be32toh(w->attempt);
	struct soft_qp *qp;

	for (qp = s->qps; qp; qp = qp->next)
		if (qp->type == SOFT_RC && qp->half && qp->half->id == be64toh(w->base.id) &&
		    qp->stream == be32toh(w->to) && qp->state == SOFT_RTS)
			break;
	/* [S2]: an attempt that was never made */
	if (!qp || qp->accepted || !attempt || attempt > qp->attempt ||
	    !same(&d->from, &qp->half->peer)) {
		s->count.dropped++;
		return;
	}
	if (w->status == MROCE_OPEN_REFUSED) {
		qp_fail(qp, SOFT_RETRY_EXC);
	} else if (w->status == MROCE_OPEN_ACCEPT) {
		qp->accepted = true;
		qp->progress = s->now;
		qp->requests.peer_stream = be32toh(w->stream);
		qp->requests.credit = be32toh(w->credit);
		qp->requests.no_credit = be32toh(w->credit) == 0xffffffff;
		qp->requests.window = window_of(w->log_packets);
		qp->requests.messages = 1U << w->log_messages;
		if (w->reads && w->reads < qp->reads)
			qp->reads = w->reads;
		half_pump(qp->half);
	}
}
