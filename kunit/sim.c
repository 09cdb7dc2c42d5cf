// SPDX-License-Identifier: GPL-2.0
/*
 * The simulation's clock, event heap, random numbers and packets. See sim.h.
 */
#include "sim.h"

void *sim_zalloc(size_t n, size_t size)
{
	return kvcalloc(n, size, GFP_KERNEL);
}

bool sim_grow(struct sim *s, void **array, u32 *max, u32 n, size_t size)
{
	u32 more = max(2 * *max, 16U);
	void *p;

	if (n < *max)
		return true;
	p = sim_zalloc(more, size);
	if (!p) {
		sim_fail(s, "no memory for %u elements", more);
		return false;
	}
	if (*max)
		memcpy(p, *array, *max * size);
	kvfree(*array);
	*array = p;
	*max = more;
	return true;
}

static void fail(struct sim *s, const char *fmt, va_list args)
{
	int n;

	if (s->failed)
		return;
	s->failed = true;
	n = snprintf(s->why, sizeof(s->why), "at %llu ns: ", (unsigned long long)s->now);
	vsnprintf(s->why + n, sizeof(s->why) - n, fmt, args);
}

void sim_fail(struct sim *s, const char *fmt, ...)
{
	va_list args;

	if (s->hostile)
		return;
	va_start(args, fmt);
	fail(s, fmt, args);
	va_end(args);
}

void sim_broken(struct sim *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fail(s, fmt, args);
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

u64 sim_mix(u64 x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

bool sim_chance(struct sim *s, u32 ppm)
{
	return ppm && sim_below(s, SIM_MILLION) < ppm;
}

/* ---- events: a heap of four branches, equal times in the order of their making ---- */

#define BRANCHES 4

static bool earlier(const struct sim_event *a, const struct sim_event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void sim_at(struct sim *s, u64 at, void (*fn)(struct sim *s, void *arg), void *arg)
{
	struct sim_event e = { .at = max(at, s->now), .order = s->order++, .fn = fn, .arg = arg };
	u32 i;

	if (!sim_grow(s, (void **)&s->event, &s->max_events, s->events, sizeof(*s->event)))
		return;
	for (i = s->events++; i && earlier(&e, &s->event[(i - 1) / BRANCHES]);
	     i = (i - 1) / BRANCHES)
		s->event[i] = s->event[(i - 1) / BRANCHES];
	s->event[i] = e;
}

static struct sim_event next_event(struct sim *s)
{
	struct sim_event first = s->event[0], last = s->event[--s->events];
	u32 i = 0, c, k, best;

	while ((c = BRANCHES * i + 1) < s->events) {
		best = c;
		for (k = c + 1; k < min(c + BRANCHES, s->events); k++)
			if (earlier(&s->event[k], &s->event[best]))
				best = k;
		if (!earlier(&s->event[best], &last))
			break;
		s->event[i] = s->event[best];
		i = best;
	}
	s->event[i] = last;
	return first;
}

static void step(struct sim *s)
{
	struct sim_event e = next_event(s);

	s->now = e.at;
	s->handled++;
	e.fn(s, e.arg);
	if (s->cfg.audit && !(s->handled % s->cfg.audit))
		sim_audit(s);
}

void sim_run(struct sim *s, u64 until)
{
	while (s->events && !s->failed && s->event[0].at <= until)
		step(s);
	if (!s->failed && until != MROCE_NEVER && s->now < until)
		s->now = until;
}

bool sim_run_all(struct sim *s, u64 limit)
{
	while (s->unfinished && s->events && !s->failed && s->event[0].at <= limit)
		step(s);
	return !s->failed && !s->unfinished;
}

/* ---- latencies: sixteen buckets an octave ---- */

static u32 latency_bucket(u64 ns)
{
	u32 log = ilog2(ns | 16);

	return min_t(u32, (log - 4) * 16 + ((ns >> (log - 4)) & 15), SIM_LATENCIES - 1);
}

void sim_note_latency(struct sim *s, u64 ns)
{
	s->latency[latency_bucket(ns)]++;
	s->stats.completed++;
}

u64 sim_latency(struct sim *s, u32 ppm)
{
	u64 all = 0, seen = 0;
	u32 i;

	for (i = 0; i < SIM_LATENCIES; i++)
		all += s->latency[i];
	for (i = 0; i < SIM_LATENCIES && all; i++) {
		seen += s->latency[i];
		if (seen * SIM_MILLION >= all * ppm)
			return (16ULL + i % 16 + 1) << (i / 16);
	}
	return 0;
}

void sim_reset(struct sim *s)
{
	memset(s->latency, 0, sizeof(s->latency));
	memset(&s->stats, 0, sizeof(s->stats));
	sim_net_reset(s);
}

/* ---- packets ---- */

struct sim_packet *sim_packet_new(struct sim *s, u16 from, u16 to, const void *hdr, u32 len)
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

struct sim_packet *sim_packet_copy(struct sim *s, const struct sim_packet *p)
{
	struct sim_packet *c = sim_packet_new(s, p->from, p->to, p->hdr, p->len);

	if (!c)
		return NULL;
	*c = *p;
	c->refs = 1;
	memcpy(c->hdr, p->hdr, p->len);
	return c;
}

u32 sim_plane_of(struct sim *s, u32 path)
{
	return path % sim_planes(s);
}

void sim_send(struct sim *s, struct sim_packet *p)
{
	struct mroce_base b = {};

	mroce_parse_base(p->hdr, p->len, &b);
	p->ack = b.type == MROCE_T_ACK;
	p->ect = !p->ack && !p->not_ect;
	p->path = b.path;
	p->epoch = b.epoch;
	p->plane = sim_plane_of(s, b.path);
	s->stats.packets++;
	if (p->ack)
		s->stats.acks++;
	if (s->filter && s->filter(s, p, &b)) {
		s->stats.lost++;
		sim_packet_put(s, p);
		return;
	}
	sim_net_send(s, p);
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
	s->hosts = cfg->hosts ? cfg->hosts : SIM_HOSTS;
	s->host = sim_zalloc(s->hosts, sizeof(*s->host));
	if (!s->host) {
		kvfree(s);
		return NULL;
	}
	for (i = 0; i < s->hosts; i++) {
		struct sim_host *h = &s->host[i];

		h->s = s;
		h->index = i;
		h->instance = sim_random(s);
		h->first_stream = (u32)sim_random(s);
		INIT_LIST_HEAD(&h->txhs);
		INIT_LIST_HEAD(&h->rxhs);
		for (k = 0; k < SIM_MAX_CPUS; k++) {
			h->cpu[k].host = h;
			INIT_LIST_HEAD(&h->cpu[k].backlog);
		}
		for (k = 0; k < MROCE_MAX_PLANES; k++)
			mroce_share_init(&h->share[k]);
	}
	return s;
}

static void free_host(struct sim *s, struct sim_host *h)
{
	struct sim_txh *t, *next_t;
	struct sim_rxh *r, *next_r;

	list_for_each_entry_safe(t, next_t, &h->txhs, node)
		sim_txh_free(t);
	list_for_each_entry_safe(r, next_r, &h->rxhs, node)
		sim_rxh_free(r);
	kvfree(h->qp);
	SIM_CHECK(s, !h->held, "host %u still holds %u packets", h->index, h->held);
}

bool sim_end(struct sim *s, char *why, size_t size)
{
	bool good;
	u32 i;

	/* what is being received or sent ends; nothing new is begun (timers are not run either) */
	s->quiet = true;
	while (s->events)
		step(s);
	s->hostile = false;
	SIM_CHECK(s, !s->ops, "%u operations never ended", s->ops);
	for (i = 0; i < s->nqps; i++)
		sim_qp_detach(s->qp[i]);
	for (i = 0; i < s->hosts; i++)
		free_host(s, &s->host[i]);
	for (i = 0; i < s->nqps; i++)
		sim_qp_free(s->qp[i]);
	sim_net_free(s);
	SIM_CHECK(s, !s->packets_alive, "%u packets leaked", s->packets_alive);
	SIM_CHECK(s, !sim_allocated(), "the engine leaked %ld allocations", sim_allocated());
	good = !s->failed;
	if (!good)
		snprintf(why, size, "%s", s->why);
	kvfree(s->event);
	kvfree(s->half);
	kvfree(s->qp);
	kvfree(s->host);
	kvfree(s);
	return good;
}
