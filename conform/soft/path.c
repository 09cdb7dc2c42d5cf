// SPDX-License-Identifier: GPL-2.0
/* Paths at their sender: numbers in flight, acknowledgements, loss, time-outs, windows. Clauses N1, A, T, G. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static unsigned int cost(const struct half *h)
{
	return h->payload + PACKET_COST;
}

void flights_drop(struct path *p)
{
	unsigned int i;

	for (i = 0; i < FLIGHT; i++)
		if (p->flight[i].message)
			message_put(p->flight[i].message);
	memset(p->flight, 0, FLIGHT * sizeof(*p->flight));
}

/* A new epoch: what was in flight is sent again, numbers and all that was measured start afresh */
void path_start(struct path *p, bool fresh)
{
	struct half *h = p->half;
	struct flight *old = p->flight;
	uint32_t n;

	for (n = p->oldest; !fresh && n != p->next; n++) {
		struct flight *f = &old[n % FLIGHT];

		if (f->state == IN_FLIGHT)
			packet_again(h, f, LOST);
	}
	flights_drop(p);
	*p = (struct path){
		.half = h,
		.index = p->index,
		.epoch = p->epoch,
		.plane = p->plane,
		.flight = old,
		.next = 1,
		.oldest = 1,
		.window = FIRST_WINDOW / h->paths,
		.start_up = true,
		.state = p->plane ? PROBING : ACTIVE,
		.probe_at = h->soft->now,
		.last_ack = h->soft->now,
		.port = MROCE_PATH_PORT_BASE +
			(soft_random(h->soft) & ((1 << MROCE_PATH_PORT_BITS) - 1)),
	};
	if (p->window < cost(h))
		p->window = cost(h);
}

struct flight *path_send(struct path *p, uint8_t type, void *packet, size_t length, uint32_t bytes)
{
	struct half *h = p->half;
	struct soft *s = h->soft;
	struct pair *pair = &h->pair[p->plane];
	struct flight *f = &p->flight[p->next % FLIGHT];

	if (f->message)
		message_put(f->message);
	*f = (struct flight){
		.number = p->next, .type = type, .state = IN_FLIGHT, .bytes = bytes, .at = s->now};
	base(packet, type, p->index, p->epoch, p->next++, h->peer_id);
	p->in_flight += bytes;
	p->unanswered++;
	transmit(s, &pair->own, &pair->peer, p->port, (h->tos & ~3) | 2, h->hops, packet, length);
	return f;
}

static bool full(const struct path *p)
{
	return p->next - p->oldest >= FLIGHT - 16;
}

static bool room(const struct path *p)
{
	return !full(p) && (!p->in_flight || p->in_flight + cost(p->half) <= p->window);
}

/* By the one that is asked for, if it can; else by the next; SUSPECT ones only if none is ACTIVE ([T1]) */
struct path *path_for(struct half *h, int preferred)
{
	struct path *best = NULL;
	unsigned int i, active = 0;

	if (preferred >= 0 && h->path[preferred].state == ACTIVE && room(&h->path[preferred]))
		return &h->path[preferred];
	for (i = 0; i < h->paths; i++) {
		struct path *p = &h->path[(h->turn + i) % h->paths];

		active += p->state == ACTIVE;
		if (p->state == ACTIVE && room(p)) {
			h->turn = p->index + 1;
			return p;
		}
		if (p->state == SUSPECT && room(p) && (!best || p->timeouts < best->timeouts))
			best = p;
	}
	return active ? NULL : best;
}

void probe(struct path *p, unsigned int size)
{
	uint8_t packet[65536] = {0};
	struct mroce_wire_control *w = (void *)packet;
	unsigned int padding = size ? size + sizeof(struct mroce_wire_data) - sizeof(*w) : 0;

	if (full(p))
		return;
	w->op = MROCE_C_PROBE;
	w->flags = MROCE_F_ACKREQ;
	w->length = htobe16(padding);
	w->stamp = htobe32(stamp(p->half->soft));
	path_send(p, MROCE_T_PROBE, packet, sizeof(*w) + padding, 0);
}

/* ---- what became of a transmission */

static void resolved(struct flight *f, struct path *p, uint8_t state)
{
	if (f->state == IN_FLIGHT)
		p->in_flight -= f->bytes;
	f->state = state;
}

/* Lost, given up or refused: what it carried is to be sent again */
void packet_again(struct half *h, struct flight *f, uint8_t state)
{
	struct message *m = f->message;

	if (f->type == MROCE_T_DATA && m && !m->closed && m->packet[f->index] == FLYING) {
		m->packet[f->index] = state;
		m->space->lost++;
		if (state == LOST && m->losses[f->index] < 255)
			m->losses[f->index]++;
	} else if (f->type == MROCE_T_OPEN && f->qp && !f->qp->accepted) {
		f->qp->open_at = 0;
	} else if (f->type == MROCE_T_CONTROL && state == LOST) {
		control_later(h, f->op, f->stream, f->value);
	}
}

static void lost(struct path *p, struct flight *f, bool by_gap)
{
	struct half *h = p->half;

	resolved(f, p, GONE);
	f->by_gap = by_gap;
	if (by_gap)
		p->newest_by_gap = f->number;
	p->round_lost++;
	h->soft->count.lost++;
	packet_again(h, f, LOST);
}

static void arrived(struct path *p, struct flight *f)
{
	struct message *m = f->message;
	uint32_t was = f->state;

	resolved(f, p, ANSWERED);
	if (was == IN_FLIGHT)
		p->round_bytes += f->bytes;
	p->round_acked++;
	if (f->type != MROCE_T_DATA || !m)
		return;
	if (!m->closed && m->packet[f->index] != DONE) {
		if (m->packet[f->index] == LOST || m->packet[f->index] == REFUSED)
			m->space->lost--;
		m->packet[f->index] = DONE;
		m->space->rnr_episodes = m->space->pause_doublings = 0;
		while (m->low < m->packets && m->packet[m->low] == DONE)
			m->low++;
		m->space->qp->progress = p->half->soft->now;
	}
	f->message = NULL;
	message_put(m);
}

static bool older_than_allowed(const struct path *p, const struct flight *f)
{
	unsigned int digits = 0;
	uint32_t t;

	for (t = p->threshold; t; t >>= 1)
		digits++;
	return p->half->soft->now - f->at > p->srtt + p->srtt / 8 * (digits < 2 ? 2 : digits);
}

/* ---- windows */

static void grow(struct path *p, uint64_t acked)
{
	struct half *h = p->half;
	uint64_t sum = 0, more, most;
	unsigned int i;

	if (p->in_flight + acked + cost(h) < p->window)
		return; /* it was not full */
	if (p->start_up) {
		p->window += acked;
		return;
	}
	for (i = 0; i < h->paths; i++)
		if (h->path[i].plane == p->plane)
			sum += h->path[i].window;
	more = acked * cost(h) / sum * (p->srtt > 250 * US ? p->srtt / (250 * US) : 1);
	most = acked * (cost(h) + p->window / 16) / p->window;
	p->window += more < most ? more : most;
	if (p->window > 32 << 20)
		p->window = 32 << 20;
}

static void start_up_ends(struct half *h, unsigned int plane)
{
	unsigned int i;

	for (i = 0; i < h->paths; i++)
		if (h->path[i].plane == plane)
			h->path[i].start_up = false;
}

static void shrink(struct path *p, uint64_t by)
{
	p->window = p->window > by + cost(p->half) ? p->window - by : cost(p->half);
}

/* [G2], [G3], once what was sent before the last look has been answered */
static void round_over(struct path *p)
{
	uint64_t most = p->srtt > MS ? p->window / 8 : p->window / 2,
		 by = (uint64_t)p->round_ce * cost(p->half) / 2;

	if (p->round_ce) {
		start_up_ends(p->half, p->plane);
		shrink(p, by < most ? by : most);
	}
	if (p->round_lost >= 5 && p->round_lost * 8 > p->round_lost + p->round_acked) {
		start_up_ends(p->half, p->plane);
		p->window = p->round_bytes > cost(p->half) ? p->round_bytes : cost(p->half);
	}
	p->round_lost = p->round_acked = p->round_ce = 0;
	p->round_bytes = 0;
	p->since_round = p->next;
}

/* ---- acknowledgements */

static void sample(struct path *p, uint64_t rtt)
{
	uint64_t off = rtt > p->srtt ? rtt - p->srtt : p->srtt - rtt;

	if (!p->srtt) {
		p->srtt = rtt ? rtt : 1;
		p->rttvar = rtt / 2;
		return;
	}
	p->rttvar += (int64_t)(off - p->rttvar) / 4;
	p->srtt += (int64_t)(rtt - p->srtt) / 8;
}

static void share_told(struct half *h, struct path *p, const struct mroce_wire_ack *w)
{
	uint64_t expires = 2 * p->srtt;

	h->share = (uint64_t)be32toh(w->share) * 1024;
	h->allowance = be32toh(w->allowance) ? be32toh(w->allowance) : NEVER;
	if (expires < 250 * US)
		expires = 250 * US;
	if (h->share && 3 * SEC * cost(h) / h->share > expires)
		expires = 3 * SEC * cost(h) / h->share;
	h->share_until = h->soft->now + expires;
}

static struct flight *flight_of(struct path *p, uint32_t number)
{
	struct flight *f = &p->flight[number % FLIGHT];

	return f->number == number && f->state != FREE ? f : NULL;
}

static void nacks(struct path *p, const struct mroce_wire_record *r, unsigned int n)
{
	for (; n--; r++) {
		struct flight *f = flight_of(p, be32toh(r->number));
		struct message *m = f ? f->message : NULL;

		if (r->kind != MROCE_R_NACK || !m || f->state != IN_FLIGHT || m->closed ||
		    m->space->response != !!(r->flags & MROCE_R_RESPONSE) ||
		    m->first + f->index != be32toh(r->spn) || m->msn != be32toh(r->value))
			continue;
		resolved(f, p, KEPT_BACK);
		packet_again(p->half, f, REFUSED);
		space_refused(m->space, f, r->reason, r->timer, m->msn);
	}
}

static void news(struct half *h, const struct mroce_wire_record *r, unsigned int n)
{
	struct soft_qp *qp;

	for (; n--; r++)
		for (qp = h->soft->qps; qp; qp = qp->next) {
			if (qp->half != h || qp->stream != be32toh(r->stream))
				continue;
			if (r->kind == MROCE_R_CREDIT &&
			    before(qp->requests.credit, be32toh(r->value))) {
				qp->requests.credit = be32toh(r->value);
				if (qp->requests.paused == MROCE_N_RNR)
					space_resume(&qp->requests);
			} else if (r->kind == MROCE_R_RELEASE) {
				space_released(r->flags & MROCE_R_RESPONSE ? &qp->responses
									   : &qp->requests,
					       be32toh(r->spn));
			}
		}
}

static void answered(struct path *p)
{
	p->last_ack = p->progress = p->half->soft->now;
	p->timeouts = p->rounds = p->unanswered = 0;
	p->state = ACTIVE;
}

static void ack_one(struct half *h, const struct mroce_wire_ack *w)
{
	struct path *p = &h->path[w->base.path % MAX_PATHS];
	const struct mroce_wire_record *records = (const void *)(w + 1);
	uint32_t number = be32toh(w->base.number), anchor = be32toh(w->anchor), n, i, ce,
		 raised = 0;
	uint64_t acked = p->round_bytes;
	struct flight *f;

	if (w->base.path >= h->paths || w->base.epoch != p->epoch || before_eq(p->next, number))
		return; /* [A8] */
	answered(p);
	nacks(p, records, w->nrecords);
	if (before(p->highest, number)) {
		uint32_t units = stamp(h->soft) - be32toh(w->echo) - be32toh(w->delay);

		p->highest = number;
		if ((int32_t)units >= 0 && be32toh(w->packets))
			sample(p, (uint64_t)units << MROCE_STAMP_SHIFT);
	}
	for (i = 0; i < MROCE_BITMAP_BITS; i++) {
		n = anchor - i;
		f = flight_of(p, n);
		if (!(be64toh(w->bitmap[i / 64]) >> i % 64 & 1) || !f || f->state == ANSWERED)
			continue;
		/* [A7]: it was only late */
		if (f->state == GONE && f->by_gap && p->newest_by_gap - n < 64 && !raised++) {
			p->threshold_at = h->soft->now;
			p->threshold = !p->threshold	    ? 2
				       : p->threshold < 128 ? 2 * p->threshold
							    : 128;
		}
		arrived(p, f);
	}
	for (n = p->oldest; n != p->next && before(n, number); n++) {
		f = flight_of(p, n);
		if (!f || f->state != IN_FLIGHT)
			continue;
		if (number - n > 255 && !(w->flags & MROCE_A_PARTIAL))
			lost(p, f, false);
		else if (!(w->flags & MROCE_A_PARTIAL) &&
			 (number - n > p->threshold || older_than_allowed(p, f)))
			lost(p, f, true);
	}
	while (p->oldest != p->next && p->flight[p->oldest % FLIGHT].state != IN_FLIGHT)
		p->oldest++;
	ce = be32toh(w->ce);
	if (before(p->ce, ce)) {
		p->round_ce += ce - p->ce;
		p->ce = ce;
	}
	share_told(h, p, w);
	if (p->round_bytes > acked)
		grow(p, p->round_bytes - acked);
	if (before_eq(p->since_round, number))
		round_over(p);
	news(h, records, w->nrecords);
}

void ack_input(struct soft *s, const struct soft_datagram *d)
{
	const uint8_t *at = d->bytes;
	size_t left = d->length, used;
	uint64_t id = be64toh(((const struct mroce_wire_base *)at)->id);
	struct soft_qp *qp, *next;
	struct half *h;
	unsigned int i;

	for (h = s->halves; h; h = h->next)
		if (h->id == id && h->state == OPEN)
			break;
	for (i = 0; h && i < h->pairs; i++)
		if (h->pair[i].verified && same(&h->pair[i].own, &d->to) &&
		    same(&h->pair[i].peer, &d->from))
			break;
	if (!h || i == h->pairs) {
		s->count.dropped++;
		return;
	}
	for (; left && !ack_check(at, left, &used); at += used, left -= used) {
		if (be64toh(((const struct mroce_wire_base *)at)->id) != id)
			break;
		s->count.acks++;
		ack_one(h, (const void *)at);
	}
	if (left)
		s->count.malformed++;
	for (qp = s->qps; qp; qp = next) {
		next = qp->next;
		if (qp->half == h)
			complete(qp);
	}
	half_pump(h);
}

/* ---- time-outs */

static uint64_t pto(const struct path *p)
{
	const struct flight *last = &p->flight[(p->next - 1) % FLIGHT];
	uint64_t t, var = 4 * p->rttvar;

	if (!p->srtt)
		t = 20 * MS;
	else if (last->asked)
		t = p->srtt + (var > 200 * US ? var : 200 * US);
	else
		t = p->srtt + var + 200 * US;
	if (t < MS)
		t = MS;
	if (t < 500 * MS) {
		t <<= p->timeouts < 10 ? p->timeouts : 10;
		t = t < 500 * MS ? t : 500 * MS;
	}
	return t;
}

static bool others_active(const struct path *p)
{
	const struct half *h = p->half;
	unsigned int i;

	for (i = 0; i < h->paths; i++)
		if (&h->path[i] != p && h->path[i].state == ACTIVE)
			return true;
	return false;
}

/* [T4]: chance, at the loss that is seen now, does not explain the silence, and others delivered meanwhile */
static bool has_failed(const struct path *p, uint64_t since)
{
	const struct half *h = p->half;
	uint64_t all = 1, gone = 0;
	double chance = 1;
	bool delivered = false;
	unsigned int i;

	for (i = 0; i < h->paths; i++) {
		const struct path *o = &h->path[i];

		all += o->round_acked + o->round_lost;
		gone += o == p ? 0 : o->round_lost;
		delivered = delivered || (o != p && o->progress > since + o->srtt);
	}
	for (i = 0; i < p->unanswered && chance > 1e-6; i++)
		chance *= gone ? (double)gone / all : 0.05;
	return delivered && p->timeouts >= 3 && h->soft->now - since >= 5 * MS && chance <= 1e-6;
}

static void give_up(struct path *p)
{
	uint32_t n;

	for (n = p->oldest; n != p->next; n++)
		if (p->flight[n % FLIGHT].state == IN_FLIGHT)
			lost(p, &p->flight[n % FLIGHT], false);
	p->oldest = p->next;
}

static void time_out(struct path *p, struct flight *oldest)
{
	struct half *h = p->half;
	uint64_t since = oldest->at > p->last_ack ? oldest->at : p->last_ack;

	h->soft->count.timeouts++;
	p->timeouts++;
	p->timed_out = h->soft->now;
	p->state = SUSPECT;
	if (has_failed(p, since)) {
		p->state = FAILED;
		p->failed_at = h->soft->now;
		give_up(p);
		return;
	}
	if (p->timeouts >= 2) {
		give_up(p);
		p->window = FIRST_WINDOW / h->paths > cost(h) ? FIRST_WINDOW / h->paths : cost(h);
	} else if (others_active(p)) {
		lost(p, oldest, false);
	}
	probe(p, 0);
	probe(p, 0);
}

void path_timers(struct path *p)
{
	struct half *h = p->half;
	uint64_t now = h->soft->now, from;
	struct flight *f;

	if (p->threshold && now - p->threshold_at > SEC) {
		p->threshold = p->threshold > 2 ? p->threshold / 2 : 0;
		p->threshold_at = now;
	}
	if (p->state == FAILED && now - p->failed_at >= 10 * MS) {
		p->state = PROBING;
		p->probe_at = now;
		p->rounds = 0;
	}
	if (p->state == PROBING) {
		if (now < p->probe_at)
			return;
		give_up(p);
		if (p->rounds == 4) {
			p->epoch++;
			path_start(p, false);
			p->state = PROBING;
		}
		probe(p, h->payload);
		probe(p, h->payload);
		probe(p, PROBE_BYTES);
		p->probe_at =
			now + (10 * MS << p->rounds < 500 * MS ? 10 * MS << p->rounds : 500 * MS);
		p->rounds++;
		return;
	}
	while (p->oldest != p->next && p->flight[p->oldest % FLIGHT].state != IN_FLIGHT)
		p->oldest++;
	if (p->state == FAILED || p->oldest == p->next)
		return;
	f = &p->flight[p->oldest % FLIGHT];
	from = f->at > p->last_ack ? f->at : p->last_ack;
	if (p->state == SUSPECT && p->timed_out > from)
		from = p->timed_out;
	if (now - from >= pto(p))
		time_out(p, f);
}
