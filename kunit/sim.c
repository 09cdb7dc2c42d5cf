// SPDX-License-Identifier: GPL-2.0
/*
 * The simulation's clock, event heap, random numbers and links. See sim.h.
 */
#include "sim.h"

void *sim_zalloc(size_t n, size_t size)
{
	return kvcalloc(n, size, GFP_KERNEL);
}

void sim_fail(struct sim *s, const char *fmt, ...)
{
	va_list args;
	int n;

	if (s->failed)
		return;
	s->failed = true;
	n = snprintf(s->why, sizeof(s->why), "at %llu ns: ", (unsigned long long)s->now);
	va_start(args, fmt);
	vsnprintf(s->why + n, sizeof(s->why) - n, fmt, args);
	va_end(args);
}

/* xorshift64* (Vigna 2016) */
u64 sim_random(struct sim *s)
{
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return s->random * 0x2545f4914f6cdd1dULL;
}

u32 sim_below(struct sim *s, u32 n)
{
	return n ? (u32)(((sim_random(s) >> 32) * n) >> 32) : 0;
}

bool sim_chance(struct sim *s, u32 ppm)
{
	return ppm && sim_below(s, SIM_MILLION) < ppm;
}

/* ---- events: a binary heap, equal times in the order of their making ---- */

static bool earlier(const struct sim_event *a, const struct sim_event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void sim_at(struct sim *s, u64 at, void (*fn)(struct sim *s, void *arg), void *arg)
{
	struct sim_event e = { .at = max(at, s->now), .order = s->order++, .fn = fn, .arg = arg };
	u32 i;

	if (s->events == s->max_events) {
		u32 n = s->max_events * 2;
		struct sim_event *p = sim_zalloc(n, sizeof(*p));

		if (!p) {
			sim_fail(s, "no memory for events");
			return;
		}
		memcpy(p, s->event, s->events * sizeof(*p));
		kvfree(s->event);
		s->event = p;
		s->max_events = n;
	}
	for (i = s->events++; i && earlier(&e, &s->event[(i - 1) / 2]); i = (i - 1) / 2)
		s->event[i] = s->event[(i - 1) / 2];
	s->event[i] = e;
}

static struct sim_event next_event(struct sim *s)
{
	struct sim_event first = s->event[0], last = s->event[--s->events];
	u32 i = 0, c;

	while ((c = 2 * i + 1) < s->events) {
		if (c + 1 < s->events && earlier(&s->event[c + 1], &s->event[c]))
			c++;
		if (!earlier(&s->event[c], &last))
			break;
		s->event[i] = s->event[c];
		i = c;
	}
	s->event[i] = last;
	return first;
}

void sim_run(struct sim *s, u64 until)
{
	while (s->events && !s->failed && s->event[0].at <= until) {
		struct sim_event e = next_event(s);

		s->now = e.at;
		e.fn(s, e.arg);
	}
	if (!s->failed && until != MROCE_NEVER && s->now < until)
		s->now = until;
}

static bool all_finished(struct sim *s)
{
	u32 i;

	for (i = 0; i < s->nqps; i++)
		if (!s->qp[i]->finished)
			return false;
	return true;
}

bool sim_run_all(struct sim *s, u64 limit)
{
	while (s->events && !s->failed && s->event[0].at <= limit) {
		struct sim_event e = next_event(s);

		s->now = e.at;
		e.fn(s, e.arg);
		if (all_finished(s))
			break;
	}
	return !s->failed && all_finished(s);
}

/* ---- packets and links ---- */

struct sim_packet *sim_packet_new(struct sim *s, u8 from, u8 to, const void *hdr, u32 len)
{
	struct sim_packet *p = sim_zalloc(1, sizeof(*p) + len);

	if (!p) {
		sim_fail(s, "no memory for a packet");
		return NULL;
	}
	s->packets_alive++;
	p->refs = 1;
	p->from = from;
	p->to = to;
	p->len = len;
	memcpy(p->hdr, hdr, len);
	return p;
}

void sim_packet_put(struct sim *s, struct sim_packet *p)
{
	if (--p->refs)
		return;
	s->packets_alive--;
	kvfree(p);
}

static struct sim_packet *packet_copy(struct sim *s, struct sim_packet *p)
{
	struct sim_packet *c = sim_packet_new(s, p->from, p->to, p->hdr, p->len);

	if (!c)
		return NULL;
	c->payload = p->payload;
	c->off = p->off;
	c->key = p->key;
	c->value[0] = p->value[0];
	c->value[1] = p->value[1];
	c->ce = p->ce;
	c->numbered = p->numbered;
	return c;
}

/*
 * Passes a queue in front of a link: the time at which it has left, or NEVER if the queue is full.
 */
static u64 queue_pass(struct sim *s, struct sim_queue *q, u64 from, u32 bytes, bool *ce)
{
	u64 waiting;

	if (!s->cfg.rate)
		return from;
	waiting = q->busy > from ? div_u64((q->busy - from) * (s->cfg.rate / 1000), 1000000) : 0;
	if (s->cfg.limit && waiting > s->cfg.limit) {
		s->stats.tail_drops++;
		return MROCE_NEVER;
	}
	if (s->cfg.mark && waiting > s->cfg.mark)
		*ce = true;
	q->busy = max(q->busy, from) + div64_u64((u64)bytes * 1000000000, s->cfg.rate);
	return q->busy;
}

static void delivered(struct sim *s, void *arg)
{
	sim_receive(s, arg);
}

/*
 * the second queue, at the receiver's link, is entered when the packet gets there: order there is
 * order of arrival
 */
static void at_receiver(struct sim *s, void *arg)
{
	struct sim_packet *p = arg;
	bool ce = p->ce;
	u64 at = queue_pass(s, &s->host[p->to].in, s->now, p->len + p->payload + 50, &ce);

	if (at == MROCE_NEVER) {
		sim_packet_put(s, p);
		return;
	}
	if (ce && !p->ce)
		s->stats.marked++;
	p->ce = ce;
	sim_at(s, at, delivered, p);
}

static bool lost(struct sim *s, struct sim_host *h, bool ack)
{
	u32 burst = s->cfg.burst;

	if (ack)
		return sim_chance(s, s->cfg.ack_loss);
	if (h->bad && s->now < h->bad_until) {
		h->bad--;
		return true;
	}
	if (burst > 1) {
		if (!sim_chance(s, s->cfg.loss / burst))
			return false;
		h->bad = sim_below(s, 2 * burst - 1);
		/* a host that only probes now and then shall not need a minute for it */
		h->bad_until = s->now + 5 * MROCE_MSEC;
		return true;
	}
	return sim_chance(s, s->cfg.loss);
}

void sim_send(struct sim *s, struct sim_packet *p)
{
	struct sim_host *h = &s->host[p->from];
	struct sim_packet *twin;
	struct mroce_base b = {};
	bool ack, late;
	u64 at;

	mroce_parse_base(p->hdr, p->len, &b);
	ack = b.type == MROCE_T_ACK;
	s->stats.packets++;
	if (ack)
		s->stats.acks++;
	at = queue_pass(s, &h->out, s->now, p->len + p->payload + 50, &p->ce);
	if (ack)
		p->ce = false; /* ACKs are Not-ECT */
	if (at == MROCE_NEVER || lost(s, h, ack) || (s->filter && s->filter(s, p, &b))) {
		s->stats.lost++;
		sim_packet_put(s, p);
		return;
	}
	late = sim_chance(s, s->cfg.reorder);
	if (late) {
		s->stats.reordered++;
		at += sim_below(s, (u32)s->cfg.late);
	}
	if (sim_chance(s, s->cfg.dup)) {
		twin = packet_copy(s, p);
		s->stats.dups++;
		if (twin)
			sim_at(s, at + s->cfg.delay + sim_below(s, (u32)s->cfg.late + 1000),
			       at_receiver, twin);
	}
	sim_at(s, at + s->cfg.delay, at_receiver, p);
}

/* ---- life ---- */

struct sim *sim_new(const struct sim_cfg *cfg)
{
	struct sim *s = sim_zalloc(1, sizeof(*s));
	u32 i, k;

	if (!s)
		return NULL;
	s->cfg = *cfg;
	s->random = cfg->seed * 0x9e3779b97f4a7c15ULL + 1;
	s->now = 1000000000 + sim_below(s, 1000000000);
	s->max_events = 1024;
	s->event = sim_zalloc(s->max_events, sizeof(*s->event));
	if (!s->event) {
		kvfree(s);
		return NULL;
	}
	for (i = 0; i < SIM_MAX_HOSTS; i++) {
		struct sim_host *h = &s->host[i];

		h->s = s;
		h->index = i;
		h->instance = sim_random(s);
		h->next_stream = (u32)sim_random(s);
		for (k = 0; k < SIM_MAX_CPUS; k++) {
			h->cpu[k].host = h;
			INIT_LIST_HEAD(&h->cpu[k].backlog);
		}
	}
	return s;
}

bool sim_end(struct sim *s, char *why, size_t size)
{
	bool good;
	u32 i, k;

	/* what is being received or sent ends; nothing new is begun (timers are not run either) */
	s->quiet = true;
	while (s->events) {
		struct sim_event e = next_event(s);

		s->now = e.at;
		e.fn(s, e.arg);
	}
	SIM_CHECK(s, !s->ops, "%u operations never ended", s->ops);
	for (i = 0; i < s->nqps; i++)
		sim_qp_detach(s->qp[i]);
	for (i = 0; i < SIM_MAX_HOSTS; i++) {
		for (k = 0; k < SIM_MAX_HOSTS; k++) {
			sim_txh_free(s->host[i].txh[k]);
			sim_rxh_free(s->host[i].rxh[k]);
		}
		SIM_CHECK(s, !s->host[i].held, "host %u still holds %u packets", i,
			  s->host[i].held);
	}
	for (i = 0; i < s->nqps; i++)
		sim_qp_free(s->qp[i]);
	SIM_CHECK(s, !s->packets_alive, "%u packets leaked", s->packets_alive);
	SIM_CHECK(s, !sim_allocated(), "the engine leaked %ld allocations", sim_allocated());
	good = !s->failed;
	if (!good)
		snprintf(why, size, "%s", s->why);
	kvfree(s->event);
	kvfree(s);
	return good;
}
