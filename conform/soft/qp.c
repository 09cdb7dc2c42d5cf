// SPDX-License-Identifier: GPL-2.0
/* Queue pairs and memory, as an application sees them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* ---- memory */

uint32_t soft_region(struct soft *s, void *memory, uint64_t length, uint64_t at,
		     unsigned int access)
{
	struct region *r = calloc(1, sizeof(*r));

	if (!r)
		return 0;
	*r = (struct region){.next = s->regions,
			     .memory = memory,
			     .at = at,
			     .length = length,
			     .access = access,
			     .rkey = s->next_rkey += 0x101};
	s->regions = r;
	return r->rkey;
}

void soft_region_drop(struct soft *s, uint32_t rkey)
{
	struct region **at = &s->regions, *r;

	while (*at && (*at)->rkey != rkey)
		at = &(*at)->next;
	r = *at;
	if (r) {
		*at = r->next;
		free(r);
	}
}

/* A range of no bytes needs the key alone */
struct region *region_find(struct soft *s, uint32_t rkey, uint64_t addr, uint64_t length,
			   unsigned int access)
{
	struct region *r;

	for (r = s->regions; r && r->rkey != rkey; r = r->next)
		;
	if (!r || (r->access & access) != access)
		return NULL;
	if (length &&
	    (addr < r->at || addr - r->at > r->length || length > r->length - (addr - r->at)))
		return NULL;
	return r;
}

/* ---- completions */

void qp_done(struct soft_qp *qp, const struct soft_completion *c)
{
	struct done *d = calloc(1, sizeof(*d));

	if (!d)
		return;
	d->c = *c;
	*qp->done_tail = d;
	qp->done_tail = &d->next;
}

bool soft_poll(struct soft_qp *qp, struct soft_completion *c)
{
	struct done *d = qp->done;

	if (!d)
		return false;
	*c = d->c;
	qp->done = d->next;
	if (!qp->done)
		qp->done_tail = &qp->done;
	free(d);
	return true;
}

/* ---- the life of a queue pair */

struct soft_qp *qp_find(struct soft *s, uint32_t qpn)
{
	struct soft_qp *qp;

	for (qp = s->qps; qp && qp->qpn != qpn; qp = qp->next)
		;
	return qp;
}

struct soft_qp *soft_qp(struct soft *s, enum soft_type type, unsigned int access)
{
	struct soft_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->soft = s;
	qp->type = type;
	qp->access = access;
	qp->state = SOFT_INIT;
	qp->qpn = s->next_qpn = (s->next_qpn + 1) & 0xffffff;
	qp->receive_tail = &qp->receive;
	qp->done_tail = &qp->done;
	space_start(&qp->requests, qp, false, 0);
	space_start(&qp->responses, qp, true, 0);
	qp->next = s->qps;
	s->qps = qp;
	return qp;
}

uint32_t soft_qpn(const struct soft_qp *qp)
{
	return qp->qpn;
}
enum soft_state soft_state(const struct soft_qp *qp)
{
	return qp->state;
}
void soft_qkey(struct soft_qp *qp, uint32_t qkey)
{
	qp->qkey = qkey;
}

int soft_ready_to_receive(struct soft_qp *qp, const struct soft_connect *c)
{
	struct soft *s = qp->soft;

	if (qp->state != SOFT_INIT)
		return EINVAL;
	qp->connect = *c;
	qp->reads = c->reads ? c->reads : 16;
	qp->expected = c->rq_psn;
	qp->psn = c->sq_psn;
	if (qp->type == SOFT_RC) {
		do {
			qp->stream = soft_random(s);
		} while (!qp->stream);
		receiver_start(&qp->rx_requests, c->rq_psn);
		receiver_start(&qp->rx_responses, 0);
		space_start(&qp->responses, qp, true, 0);
		qp->half = half_toward(s, &c->to);
		if (!qp->half)
			return ENOMEM;
		qp->half->users++;
	}
	qp->state = SOFT_RTR;
	return 0;
}

int soft_ready_to_send(struct soft_qp *qp)
{
	if (qp->state != SOFT_RTR)
		return EINVAL;
	qp->state = SOFT_RTS;
	if (qp->type != SOFT_RC)
		return 0;
	space_start(&qp->requests, qp, false, qp->connect.sq_psn);
	qp->open_at = qp->progress = qp->soft->now;
	half_pump(qp->half);
	return 0;
}

int soft_ready_to_send_with(struct soft_qp *qp, uint32_t sq_psn, unsigned int timeout,
			    unsigned int retry, unsigned int rnr_retry)
{
	qp->connect.sq_psn = qp->psn = sq_psn;
	qp->connect.timeout = timeout;
	qp->connect.retry = retry;
	qp->connect.rnr_retry = rnr_retry;
	return soft_ready_to_send(qp);
}

/* The first request that is not complete fails with @status, all behind it are flushed; so are receives */
void qp_fail(struct soft_qp *qp, enum soft_status status)
{
	struct message *m;

	if (qp->state == SOFT_ERROR)
		return;
	qp->state = SOFT_ERROR;
	for (m = qp->requests.head; m; m = m->next) {
		qp_done(qp, &(struct soft_completion){
				    .id = m->work.id, .status = status, .opcode = m->work.opcode});
		status = SOFT_FLUSHED;
	}
	space_end(&qp->requests);
	while (qp->receive) {
		struct receive *r = qp->receive;

		qp_done(qp, &(struct soft_completion){
				    .id = r->id, .status = SOFT_FLUSHED, .receive = true});
		qp->receive = r->next;
		free(r);
	}
	qp->receive_tail = &qp->receive;
	if (qp->half && qp->half->state == OPEN && !qp->rx_requests.fatal) {
		uint32_t peer = qp->opener ? qp->opener : qp->requests.peer_stream;

		if (peer)
			control_later(qp->half, MROCE_C_CLOSE, peer, qp->rx_requests.base);
	}
}

void soft_qp_error(struct soft_qp *qp)
{
	qp_fail(qp, SOFT_FLUSHED);
	if (qp->half)
		half_pump(qp->half);
}

/* [S5] */
static void bury(struct soft_qp *qp)
{
	struct rx_half *h = qp->rx_half;

	if (!h)
		return;
	if (h->tombstones == TOMBSTONES)
		memmove(h->tombstone, h->tombstone + 1, --h->tombstones * sizeof(*h->tombstone));
	h->tombstone[h->tombstones++] = (struct tombstone){
		.stream = qp->stream,
		.base = qp->rx_requests.base,
		.until = qp->soft->now + 3 * SEC,
	};
	h->streams--;
	qp->rx_half = NULL;
}

void soft_qp_drop(struct soft_qp *qp)
{
	struct soft_qp **at = &qp->soft->qps;
	struct half *h = qp->half;
	struct soft_completion c;
	unsigned int i, n;

	soft_qp_error(qp);
	while (*at != qp)
		at = &(*at)->next;
	*at = qp->next;
	bury(qp);
	space_end(&qp->responses);
	receiver_end(&qp->rx_requests);
	receiver_end(&qp->rx_responses);
	while (soft_poll(qp, &c))
		;
	if (h) {
		h->users--;
		for (i = 0; i < h->paths; i++)
			for (n = 0; h->path[i].flight && n < FLIGHT; n++)
				if (h->path[i].flight[n].qp == qp)
					h->path[i].flight[n].qp = NULL;
		half_pump(h);
	}
	free(qp);
}

/* ---- work */

int soft_post_receive(struct soft_qp *qp, uint64_t id, void *data, uint32_t length)
{
	struct receive *r;

	if (qp->state == SOFT_ERROR) {
		qp_done(qp, &(struct soft_completion){
				    .id = id, .status = SOFT_FLUSHED, .receive = true});
		return 0;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return ENOMEM;
	*r = (struct receive){.id = id, .data = data, .length = length, .rsn = qp->posted++};
	*qp->receive_tail = r;
	qp->receive_tail = &r->next;
	credit_news(qp);
	return 0;
}

int soft_post(struct soft_qp *qp, const struct soft_work *w)
{
	struct message *m;

	if (!op_known(w->opcode) || op_response(w->opcode))
		return EINVAL;
	if (qp->state == SOFT_ERROR) {
		qp_done(qp, &(struct soft_completion){
				    .id = w->id, .status = SOFT_FLUSHED, .opcode = w->opcode});
		return 0;
	}
	if (qp->state != SOFT_RTS)
		return EINVAL;
	if (qp->type == SOFT_UD) {
		ud_send(qp, w);
		return 0;
	}
	if (qp->type == SOFT_UC) {
		uc_send(qp, w);
		return 0;
	}
	m = message_new(&qp->requests, w, w->data, op_carries_message(w->opcode) ? w->length : 0);
	if (!m)
		return ENOMEM;
	if (w->opcode == MROCE_OP_ATOMIC_WRITE) {
		m->data = malloc(RESULT_BYTES);
		if (m->data)
			memcpy(m->data, &w->compare_add, RESULT_BYTES);
	}
	if (m == qp->requests.head)
		qp->progress = qp->soft->now;
	half_pump(qp->half);
	return 0;
}
