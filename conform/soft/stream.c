// SPDX-License-Identifier: GPL-2.0
/* Streams at their receiver: duplicates, placement, visibility, completion in order, refusals. Clauses M, N5, R. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

void receiver_end(struct receiver *r)
{
	while (r->held) {
		struct held *h = r->held;

		r->held = h->next;
		free(h);
	}
}

void receiver_start(struct receiver *r, uint32_t spn)
{
	memset(r, 0, sizeof(*r));
	r->base = r->cursor_spn = spn;
}

static struct region *memory_of(struct soft_qp *qp, const struct data *d, uint64_t addr,
				uint64_t length, unsigned int need)
{
	return (qp->access & need) == need ? region_find(qp->soft, d->rkey, addr, length, need)
					   : NULL;
}

static uint8_t *at(struct region *r, uint64_t addr)
{
	return r->memory + (addr - r->at);
}

static struct receive *buffer_of(struct soft_qp *qp, uint32_t rsn)
{
	struct receive *r;

	for (r = qp->receive; r && r->rsn != rsn; r = r->next)
		;
	return r;
}

/* ---- may it land, and where */

static uint64_t begins(const struct data *d) /* address of a Write's first byte */
{
	return d->addr - d->offset;
}

/* what an opcode needs of the queue pair and of the region */
static unsigned int need_of(const struct data *d)
{
	switch (d->opcode) {
	case MROCE_OP_WRITE:
	case MROCE_OP_WRITE_IMM:
	case MROCE_OP_ATOMIC_WRITE:
		return SOFT_WRITE;
	case MROCE_OP_READ:
		return SOFT_READ;
	case MROCE_OP_CMP_SWAP:
	case MROCE_OP_FETCH_ADD:
		return SOFT_ATOMIC;
	case MROCE_OP_FLUSH:
		return (d->imm & MROCE_FLUSH_GLOBAL ? SOFT_FLUSH : 0) |
		       (d->imm & MROCE_FLUSH_PERSISTENT ? SOFT_PERSISTENT : 0);
	default:
		return 0;
	}
}

static uint8_t judge_request(struct soft_qp *qp, const struct data *d)
{
	unsigned int need = need_of(d);
	struct receive *r;

	if ((qp->access & need) != need)
		return MROCE_N_LENGTH; /* [R6]: the queue pair itself does not allow it */
	switch (d->opcode) {
	case MROCE_OP_SEND:
	case MROCE_OP_SEND_IMM:
	case MROCE_OP_SEND_INV:
		r = buffer_of(qp, d->rsn);
		return !r ? MROCE_N_RNR : d->length > r->length ? MROCE_N_LENGTH : 0;
	case MROCE_OP_WRITE_IMM:
		if (!buffer_of(qp, d->rsn))
			return MROCE_N_RNR;
		/* fall through */
	case MROCE_OP_WRITE:
		return d->length && !memory_of(qp, d, begins(d), d->length, SOFT_WRITE)
			       ? MROCE_N_ACCESS
			       : 0;
	case MROCE_OP_READ:
		if (d->length && !memory_of(qp, d, d->addr, d->length, SOFT_READ))
			return MROCE_N_ACCESS;
		break;
	case MROCE_OP_FLUSH:
		if (!memory_of(qp, d, d->addr, d->imm & MROCE_FLUSH_REGION ? 0 : d->length, need))
			return MROCE_N_ACCESS;
		break;
	default:
		if (d->addr % 8)
			return MROCE_N_LENGTH;
		if (!memory_of(qp, d, d->addr, 8,
			       d->opcode == MROCE_OP_ATOMIC_WRITE ? SOFT_WRITE : SOFT_ATOMIC))
			return MROCE_N_ACCESS;
	}
	return qp->answering >= qp->reads ? MROCE_N_READS : 0;
}

static struct message *request_of(struct soft_qp *qp, uint32_t msn)
{
	struct message *m;

	for (m = qp->requests.head; m && m->cut && m->msn != msn; m = m->next)
		;
	return m && m->cut && op_answered(m->work.opcode) ? m : NULL;
}

static bool copy(struct soft_qp *qp, const struct data *d, bool response)
{
	struct region *g;
	struct message *m;
	struct receive *r;

	if (!d->bytes || !op_carries_message(d->opcode))
		return true;
	if (response) {
		m = request_of(qp, d->rsn);
		if (m && m->work.data && d->length == m->work.length)
			memcpy((uint8_t *)(uintptr_t)m->work.data + d->offset, d->payload,
			       d->bytes);
		return true;
	}
	if (d->opcode == MROCE_OP_WRITE || d->opcode == MROCE_OP_WRITE_IMM) {
		g = memory_of(qp, d, d->addr, d->bytes, SOFT_WRITE);
		if (g)
			memcpy(at(g, d->addr), d->payload, d->bytes);
		return g;
	}
	r = buffer_of(qp, d->rsn);
	if (r)
		memcpy(r->data + d->offset, d->payload, d->bytes);
	return r;
}

/* [M13]: what the first packet of a message said holds for all of it */
static bool agrees(const struct arrival *m, const struct data *d)
{
	bool write = d->opcode == MROCE_OP_WRITE || d->opcode == MROCE_OP_WRITE_IMM;

	return m->first == d->first && m->packets == d->packets && m->length == d->length &&
	       m->opcode == d->opcode && m->psize == d->psize &&
	       (op_receives(d->opcode) || op_response(d->opcode) ? m->rsn == d->rsn : true) &&
	       (!op_needs_key(d->opcode) ||
		(m->rkey == d->rkey && m->addr == (write ? begins(d) : d->addr)));
}

static void describe(struct arrival *m, const struct data *d)
{
	bool write = d->opcode == MROCE_OP_WRITE || d->opcode == MROCE_OP_WRITE_IMM;

	*m = (struct arrival){
		.used = true,
		.opcode = d->opcode,
		.flags = d->flags,
		.first = d->first,
		.packets = d->packets,
		.length = d->length,
		.rsn = d->rsn,
		.rkey = d->rkey,
		.imm = d->imm,
		.psize = d->psize,
		.addr = write ? begins(d) : d->addr,
		.bytes = d->bytes,
	};
	if (op_own_payload(d->opcode))
		memcpy(m->operands, d->payload, op_own_payload(d->opcode));
}

/* ---- the cursor */

static void respond(struct soft_qp *qp, uint32_t msn, uint8_t op, const void *data, uint32_t length,
		    uint32_t imm)
{
	struct soft_work w = {
		.opcode = op, .length = op == MROCE_OP_READ_RESP ? length : 0, .imm = imm};
	struct message *m = message_new(&qp->responses, &w, data, length);

	if (m)
		m->rsn = msn;
	qp->answering++;
}

static void atomic(struct soft_qp *qp, struct arrival *m, uint8_t *p, uint32_t msn)
{
	struct mroce_wire_atomic a;
	uint64_t was, now;

	memcpy(&a, m->operands, sizeof(a));
	memcpy(&was, p, 8);
	now = m->opcode == MROCE_OP_FETCH_ADD ? was + be64toh(a.compare_add)
	      : was == be64toh(a.compare_add) ? be64toh(a.swap)
					      : was;
	memcpy(p, &now, 8);
	was = htobe64(was);
	respond(qp, msn, MROCE_OP_ATOMIC_RESP, &was, 8, 0);
}

/* A message is whole and its turn has come. False: it failed now, and nothing from it on is taken ([M12]) */
static uint8_t act(struct soft_qp *qp, struct arrival *m, uint32_t msn)
{
	struct data d = {.rkey = m->rkey};
	struct region *g;
	struct receive *r;

	qp->answering -= op_answered(m->opcode); /* it was counted when it came */
	switch (m->opcode) {
	case MROCE_OP_SEND:
	case MROCE_OP_SEND_IMM:
	case MROCE_OP_SEND_INV:
	case MROCE_OP_WRITE_IMM:
		r = buffer_of(qp, m->rsn);
		if (!r || r != qp->receive)
			return MROCE_N_LENGTH;
		if (m->opcode == MROCE_OP_SEND_INV) {
			if (!region_find(qp->soft, m->imm, 0, 0, 0))
				return MROCE_N_ACCESS;
			soft_region_drop(qp->soft, m->imm);
		}
		qp->receive = r->next;
		if (!qp->receive)
			qp->receive_tail = &qp->receive;
		qp_done(qp, &(struct soft_completion){
				    .id = r->id,
				    .receive = true,
				    .opcode = m->opcode,
				    .length = m->length,
				    .imm = m->imm,
				    .with_imm = m->opcode == MROCE_OP_SEND_IMM ||
						m->opcode == MROCE_OP_WRITE_IMM,
			    });
		free(r);
		return 0;
	case MROCE_OP_READ:
		g = m->length ? memory_of(qp, &d, m->addr, m->length, SOFT_READ) : NULL;
		if (m->length && !g)
			return MROCE_N_ACCESS;
		respond(qp, msn, MROCE_OP_READ_RESP, g ? at(g, m->addr) : NULL, m->length, 0);
		return 0;
	case MROCE_OP_FLUSH:
		respond(qp, msn, MROCE_OP_READ_RESP, NULL, 0, 0);
		return 0;
	case MROCE_OP_CMP_SWAP:
	case MROCE_OP_FETCH_ADD:
		g = memory_of(qp, &d, m->addr, 8, SOFT_ATOMIC);
		if (!g)
			return MROCE_N_ACCESS;
		atomic(qp, m, at(g, m->addr), msn);
		return 0;
	case MROCE_OP_ATOMIC_WRITE:
		g = memory_of(qp, &d, m->addr, 8, SOFT_WRITE);
		if (!g)
			return MROCE_N_ACCESS;
		memcpy(at(g, m->addr), m->operands, 8);
		respond(qp, msn, MROCE_OP_READ_RESP, NULL, 0, 0);
		return 0;
	default:
		return 0;
	}
}

/* A response is whole */
static void answer(struct soft_qp *qp, struct arrival *m)
{
	struct message *request = request_of(qp, m->rsn);

	if (!request)
		return;
	if (m->opcode == MROCE_OP_ERROR_RESP) {
		request->failed = m->imm && m->imm < MROCE_N_MAX ? m->imm : MROCE_N_OPERATION;
		return;
	}
	if (m->opcode == MROCE_OP_ATOMIC_RESP && request->work.data) {
		uint64_t was;

		memcpy(&was, m->operands, 8);
		was = be64toh(was);
		memcpy((void *)(uintptr_t)request->work.data, &was, 8);
	}
	request->answered = true;
}

static void fail_at_cursor(struct soft_qp *qp, struct receiver *r, uint8_t reason)
{
	r->refusing = reason;
	r->fatal = true;
	r->refused_msn = r->cursor;
	respond(qp, r->cursor, MROCE_OP_ERROR_RESP, NULL, 0, reason);
}

static void move_cursor(struct soft_qp *qp, struct receiver *r, bool response)
{
	while (before(r->cursor_spn, r->base)) {
		struct arrival *m = &r->message[r->cursor % MESSAGES];
		uint8_t reason;

		if (!m->used || m->first != r->cursor_spn ||
		    (before_eq(m->first + m->packets, r->base) && m->placed != m->packets)) {
			/* its numbers were taken by another's ([M13]) */
			if (!response && !r->fatal)
				fail_at_cursor(qp, r, MROCE_N_LENGTH);
			return;
		}
		if (before(r->base, m->first + m->packets))
			return;
		if (r->fatal && !before(r->cursor, r->refused_msn))
			return;
		if (response) {
			answer(qp, m);
		} else {
			reason = act(qp, m, r->cursor);
			if (reason) {
				fail_at_cursor(qp, r, reason);
				return;
			}
		}
		m->used = false;
		r->cursor_spn += m->packets;
		r->cursor++;
	}
	/* a fatal refusal whose turn has come ([R2]) */
	if (r->fatal && r->cursor == r->refused_msn && qp->state != SOFT_ERROR)
		qp_fail(qp, SOFT_FLUSHED);
}

/* ---- landing */

static struct held *held_of(struct receiver *r, uint32_t spn)
{
	struct held **h, *found;

	for (h = &r->held; *h && (*h)->spn != spn; h = &(*h)->next)
		;
	found = *h;
	if (found)
		*h = found->next;
	return found;
}

static void land(struct soft_qp *qp, struct receiver *r, bool response)
{
	for (;;) {
		uint8_t *n = &r->number[r->base % WINDOW];

		if (*n == HELD) {
			struct held *h = held_of(r, r->base);

			h->data.payload = h->payload;
			if (!copy(qp, &h->data, response) && !r->fatal)
				fail_at_cursor(qp, r, MROCE_N_ACCESS);
			free(h);
			*n = PLACED;
		}
		if (*n != PLACED)
			break;
		*n = NOTHING;
		r->base++;
	}
	move_cursor(qp, r, response);
}

static bool hold(struct receiver *r, const struct data *d)
{
	struct held *h = malloc(sizeof(*h) + d->bytes);

	if (!h)
		return false;
	h->spn = d->spn;
	h->data = *d;
	memcpy(h->payload, d->payload, d->bytes);
	h->next = r->held;
	r->held = h;
	return true;
}

/* [M8], [M9]: is it to land only after all before it? */
static bool must_wait(struct soft_qp *qp, struct receiver *r, const struct data *d)
{
	struct region *g;

	if ((d->opcode != MROCE_OP_WRITE && d->opcode != MROCE_OP_WRITE_IMM) || !d->bytes ||
	    d->spn == r->base)
		return false;
	g = memory_of(qp, d, d->addr, d->bytes, SOFT_WRITE);
	return g && !(g->access & SOFT_RELAXED) && d->flags & (MROCE_F_LAST | MROCE_F_ORDERED);
}

static enum landed refused(struct receiver *r, const struct data *d, uint8_t why, uint8_t *reason)
{
	*reason = why;
	r->refusing = why;
	r->refused_msn = d->msn;
	r->refused_rsn = d->rsn;
	r->refused_base = r->base;
	r->fatal = why >= MROCE_N_ACCESS;
	return NACKED;
}

/* [R5]: has what was refused become possible? */
static bool reason_gone(struct soft_qp *qp, struct receiver *r)
{
	if (r->fatal)
		return false;
	if (r->refusing == MROCE_N_RNR)
		return buffer_of(qp, r->refused_rsn);
	return r->base != r->refused_base || r->refusing == MROCE_N_READS;
}

enum landed stream_input(struct soft_qp *qp, const struct data *d, uint8_t *reason, uint8_t *timer)
{
	bool response = d->flags & MROCE_F_RESPONSE;
	struct receiver *r = response ? &qp->rx_responses : &qp->rx_requests;
	struct arrival *m = &r->message[d->msn % MESSAGES];
	uint32_t ahead = d->spn - r->base;
	uint8_t why = 0;

	*timer = qp->connect.rnr_timer; /* of all refusals from here only RNR has one */
	if (before(d->spn, r->base) || (ahead < WINDOW && r->number[d->spn % WINDOW] != NOTHING))
		return DUPLICATE;
	if (r->refusing && reason_gone(qp, r))
		r->refusing = 0;
	if (r->refusing && !before(d->msn, r->refused_msn)) {
		*reason = r->refusing;
		return NACKED;
	}
	if (qp->state == SOFT_ERROR) {
		*reason = MROCE_N_GONE;
		return NACKED;
	}
	if (ahead >= WINDOW || d->msn - r->cursor >= MESSAGES)
		return refused(r, d, MROCE_N_WINDOW, reason);
	if (m->used && !(d->opcode == MROCE_OP_ERROR_RESP && m->opcode == MROCE_OP_READ_RESP) &&
	    !agrees(m, d))
		return DROPPED;
	if (m->used && m->replaced)
		return DROPPED;
	if (!response && !m->used)
		why = judge_request(qp, d);
	if (why) {
		enum landed landed = refused(r, d, why, reason);

		if (r->fatal && r->cursor == d->msn && r->base == d->first)
			qp_fail(qp, SOFT_FLUSHED);
		return landed;
	}
	if (!m->used) {
		describe(m, d);
		qp->answering += !response && op_answered(d->opcode);
	}
	if (d->opcode == MROCE_OP_ERROR_RESP && m->opcode == MROCE_OP_READ_RESP) {
		struct message *request = request_of(qp, d->rsn);

		m->replaced = true;
		if (request)
			request->failed =
				d->imm && d->imm < MROCE_N_MAX ? d->imm : MROCE_N_OPERATION;
	}
	if (!response && must_wait(qp, r, d)) {
		if (!hold(r, d))
			return refused(r, d, MROCE_N_HOLD, reason);
		r->number[d->spn % WINDOW] = HELD;
	} else {
		if (!copy(qp, d, response))
			return refused(r, d, MROCE_N_ACCESS, reason);
		r->number[d->spn % WINDOW] = PLACED;
	}
	m->placed++;
	land(qp, r, response);
	return TAKEN;
}
