// SPDX-License-Identifier: GPL-2.0
/*
 * Links and routes of the simulated network. See net.h. A queue is the time at which it will be
 * empty, so a packet costs one event a link. Times of queues are kept in femtoseconds: at 100 Gb/s
 * a byte takes 80,000.
 */
#include "sim.h"

#define FS_PER_NS 1000000ULL
#define FS_PER_S  1000000000000000ULL
/* a host that only probes now and then shall not need a minute to get out of a burst of losses */
#define BURST_MAX (5 * MROCE_MSEC)

/* ---- making ---- */

static const struct sim_topo *topo(struct sim *s)
{
	return &s->net.topo;
}

static u32 plane_links(struct sim *s)
{
	return 2 * s->hosts + 2 * topo(s)->leaves * topo(s)->spines;
}

/* index of the first link of a kind in a plane, and how many there are */
static u32 first_link(struct sim *s, u32 plane, enum sim_link_kind kind, u32 *n)
{
	u32 inner = topo(s)->leaves * topo(s)->spines, base = plane * plane_links(s);

	*n = kind <= SIM_DOWN ? s->hosts : inner;
	switch (kind) {
	case SIM_UP:
		return base;
	case SIM_DOWN:
		return base + s->hosts;
	case SIM_TRUNK:
		return base + 2 * s->hosts;
	default:
		return base + 2 * s->hosts + inner;
	}
}

void sim_link_wire(struct sim_link *l, const struct sim_wire *w)
{
	l->wire = w;
	l->fs = w->rate ? div64_u64(FS_PER_S, w->rate) : 0;
	l->police_fs = w->police ? div64_u64(FS_PER_S, w->police) : 0;
}

void sim_star(const struct sim_cfg *c, struct sim_topo *t)
{
	t->up = (struct sim_wire){
		.rate = c->rate,
		.delay = c->delay,
		.limit = c->limit,
		.mark = c->mark,
		.loss = c->loss,
		.ack_loss = c->ack_loss,
		.burst = c->burst,
		.dup = c->dup,
		.reorder = c->reorder,
		.late = c->late,
	};
	t->down = (struct sim_wire){
		.rate = c->rate,
		.limit = c->limit,
		.mark = c->mark,
	};
}

static bool build(struct sim *s)
{
	struct sim_topo *t = &s->net.topo;
	const struct sim_wire *wire[] = { &t->up, &t->down, &t->trunk, &t->fan };
	u32 plane, kind, i, n, first;

	if (s->cfg.topo)
		*t = *s->cfg.topo;
	else
		sim_star(&s->cfg, &s->net.topo);
	t->planes = max(t->planes, 1U);
	t->leaves = max(t->leaves, 1U);
	t->spines = t->leaves > 1 ? max(t->spines, 1U) : 0;
	s->net.link = sim_zalloc(t->planes * plane_links(s), sizeof(*s->net.link));
	if (!s->net.link) {
		sim_fail(s, "no memory for links");
		return false;
	}
	for (plane = 0; plane < t->planes; plane++) {
		for (kind = 0; kind < SIM_LINK_KINDS; kind++) {
			first = first_link(s, plane, kind, &n);
			for (i = 0; i < n; i++)
				sim_link_wire(&s->net.link[first + i], wire[kind]);
		}
	}
	s->net.since = s->now;
	return true;
}

struct sim_link *sim_link(struct sim *s, u32 plane, enum sim_link_kind kind, u32 i)
{
	u32 n;

	if (!s->net.link && !build(s))
		return NULL;
	return &s->net.link[first_link(s, plane, kind, &n) + i];
}

u32 sim_planes(struct sim *s)
{
	return s->cfg.topo ? max(s->cfg.topo->planes, 1U) : 1;
}

void sim_plane_wire(struct sim *s, u32 plane, enum sim_link_kind kind, const struct sim_wire *w)
{
	struct sim_link *l = sim_link(s, plane, kind, 0);
	u32 i, n;

	if (!l)
		return;
	first_link(s, plane, kind, &n);
	for (i = 0; i < n; i++)
		sim_link_wire(l + i, w);
}

void sim_link_watch(struct sim_link *l)
{
	l->watched = true;
}

void sim_net_reset(struct sim *s)
{
	u32 i, n = topo(s)->planes * plane_links(s);

	for (i = 0; s->net.link && i < n; i++) {
		struct sim_link *l = &s->net.link[i];

		memset(&l->stats, 0, sizeof(l->stats));
		l->stats.before = sim_link_queue(s, l);
	}
	s->net.since = s->now;
}

void sim_net_free(struct sim *s)
{
	u32 i, n = topo(s)->planes * plane_links(s);

	for (i = 0; s->net.link && i < n; i++)
		kvfree(s->net.link[i].arrival);
	kvfree(s->net.link);
	s->net.link = NULL;
}

/* ---- cuts ---- */

struct cut {
	struct sim_link *link[2];
	u32 host, plane;
	bool down, carrier;
};

static void cut_now(struct sim *s, void *arg)
{
	struct cut *c = arg;
	u32 i;

	for (i = 0; i < 2 && c->link[i]; i++) {
		c->link[i]->down = c->down;
		c->link[i]->busy = 0;
	}
	if (c->carrier && !s->quiet)
		sim_carrier(&s->host[c->host], c->plane, !c->down);
	kvfree(c);
}

static void cut_at(struct sim *s, u64 at, const struct cut *what)
{
	struct cut *c = sim_zalloc(1, sizeof(*c));

	if (!c) {
		sim_fail(s, "no memory for a cut");
		return;
	}
	*c = *what;
	sim_at(s, at, cut_now, c);
}

void sim_link_cut(struct sim *s, u64 at, struct sim_link *l, bool down)
{
	struct cut c = { .link = { l }, .down = down };

	cut_at(s, at, &c);
}

void sim_host_cut(struct sim *s, u64 at, u32 host, u32 plane, bool down, bool carrier)
{
	struct cut c = {
		.link = { sim_link(s, plane, SIM_UP, host), sim_link(s, plane, SIM_DOWN, host) },
		.host = host,
		.plane = plane,
		.down = down,
		.carrier = carrier,
	};

	cut_at(s, at, &c);
}

/* ---- a packet and a link ---- */

u64 sim_link_queue(struct sim *s, const struct sim_link *l)
{
	u64 now = s->now * FS_PER_NS;

	return l->busy > now ? div64_u64(l->busy - now, l->fs) : 0;
}

bool sim_net_refuses(struct sim *s, u32 host, u32 plane, u32 bytes)
{
	struct sim_link *l = sim_link(s, plane, SIM_UP, host);

	return l && l->wire->qdisc && l->wire->limit && !l->down &&
	       sim_link_queue(s, l) + bytes > l->wire->limit;
}

u64 sim_link_left(struct sim *s, const struct sim_link *l)
{
	return l->stats.before + l->stats.bytes - sim_link_queue(s, l);
}

static bool is_lost(struct sim *s, struct sim_link *l, bool ack)
{
	const struct sim_wire *w = l->wire;
	u64 p;

	if (ack)
		return sim_chance(s, w->ack_loss);
	if (w->burst <= 1 || w->loss >= SIM_MILLION)
		return sim_chance(s, w->loss);
	if (l->bad && s->now < l->bad_until) {
		l->bad = !sim_chance(s, SIM_MILLION / w->burst);
		return true;
	}
	/* so often that the share of the bad state is @loss */
	p = div_u64((u64)w->loss * SIM_MILLION, w->burst * (SIM_MILLION - w->loss));
	if (!sim_chance(s, p))
		return false;
	l->bad = !sim_chance(s, SIM_MILLION / w->burst);
	l->bad_until = s->now + BURST_MAX;
	return true;
}

static bool is_policed(struct sim *s, struct sim_link *l, u32 bytes)
{
	u64 now = s->now * FS_PER_NS, busy = max(l->police_busy, now);

	if (!l->police_fs)
		return false;
	if (busy - now + bytes * l->police_fs > l->wire->bucket * l->police_fs)
		return true;
	l->police_busy = busy + bytes * l->police_fs;
	return false;
}

static struct sim_arrival *note_arrival(struct sim *s, struct sim_link *l, struct sim_packet *p,
					u32 bytes, u64 queue)
{
	struct sim_arrival *a;
	u32 n;

	if (!l->watched)
		return NULL;
	if (l->arrivals == l->max_arrivals) {
		n = max(2 * l->max_arrivals, 1024U);
		a = sim_zalloc(n, sizeof(*a));
		if (!a) {
			sim_fail(s, "no memory for arrivals");
			return NULL;
		}
		if (l->arrivals)
			memcpy(a, l->arrival, l->arrivals * sizeof(*a));
		kvfree(l->arrival);
		l->arrival = a;
		l->max_arrivals = n;
	}
	a = &l->arrival[l->arrivals++];
	*a = (struct sim_arrival){
		.at = s->now,
		.bytes = bytes,
		.queue = queue,
		.from = p->from,
		.flags = p->ack ? SIM_ARRIVAL_ACK : 0,
	};
	return a;
}

static void mark(struct sim *s, struct sim_link *l, struct sim_packet *p)
{
	if (!p->ect || p->ce)
		return;
	p->ce = true;
	l->stats.marked++;
	s->stats.marked++;
}

/* Through the queue: true and the time at which it has left, or it is dropped. */
static bool pass_queue(struct sim *s, struct sim_link *l, struct sim_packet *p, u32 bytes, u64 *at)
{
	u64 now = s->now * FS_PER_NS, wait = l->busy > now ? l->busy - now : 0;
	u64 queue = l->fs ? div64_u64(wait, l->fs) : 0, took = bytes * l->fs;
	struct sim_arrival *a = note_arrival(s, l, p, bytes, queue);

	if (l->wire->limit && queue + bytes > l->wire->limit && wait) {
		l->stats.tail_drops++;
		s->stats.tail_drops++;
		if (a)
			a->flags |= SIM_ARRIVAL_DROPPED;
		return false;
	}
	if (l->wire->mark && queue > l->wire->mark)
		mark(s, l, p);
	if (a && p->ce)
		a->flags |= SIM_ARRIVAL_MARKED;
	l->busy = max(l->busy, now) + took;
	l->stats.max_queue = max(l->stats.max_queue, queue + bytes);
	l->stats.area += div_u64(wait + took / 2, FS_PER_NS) * bytes;
	*at = div_u64(l->busy, FS_PER_NS);
	return true;
}

static void arrive(struct sim *s, void *arg);

/* behind the queue: propagation and its faults */
static void propagate(struct sim *s, struct sim_link *l, struct sim_packet *p, u64 at)
{
	const struct sim_wire *w = l->wire;
	struct sim_packet *twin;
	u64 delay = w->delay;

	if (is_lost(s, l, p->ack)) {
		l->stats.lost++;
		s->stats.lost++;
		sim_packet_put(s, p);
		return;
	}
	if (w->bleach) {
		p->ect = false;
		p->ce = false;
	}
	if (sim_chance(s, w->false_mark))
		mark(s, l, p);
	if (sim_chance(s, w->early)) {
		s->stats.reordered++;
		delay = 0;
	}
	if (sim_chance(s, w->reorder)) {
		s->stats.reordered++;
		delay += sim_below(s, (u32)w->late);
	}
	if (sim_chance(s, w->dup)) {
		s->stats.dups++;
		twin = sim_packet_copy(s, p);
		if (twin)
			sim_at(s, at + delay + sim_below(s, (u32)w->late + 1000), arrive, twin);
	}
	sim_at(s, at + delay, arrive, p);
}

static void enter(struct sim *s, struct sim_packet *p)
{
	struct sim_link *l = &s->net.link[p->route[p->hop++]];
	u32 bytes = p->len + p->payload + SIM_WIRE_OVERHEAD;
	u64 at;

	if (l->down) {
		l->stats.cut++;
		s->stats.lost++;
		sim_packet_put(s, p);
		return;
	}
	if (is_policed(s, l, bytes)) {
		l->stats.policed++;
		s->stats.tail_drops++;
		sim_packet_put(s, p);
		return;
	}
	if (!pass_queue(s, l, p, bytes, &at)) {
		sim_packet_put(s, p);
		return;
	}
	l->stats.packets++;
	l->stats.bytes += bytes;
	propagate(s, l, p, at);
}

static void arrive(struct sim *s, void *arg)
{
	struct sim_packet *p = arg;
	struct sim_link *l = &s->net.link[p->route[p->hop - 1]];

	if (l->down) {
		l->stats.cut++;
		s->stats.lost++;
		sim_packet_put(s, p);
	} else if (p->hop == p->hops) {
		sim_receive(s, p);
	} else {
		enter(s, p);
	}
}

/* ---- routes ---- */

static u32 spine_of(struct sim *s, const struct sim_packet *p)
{
	u64 flow = (u64)p->from << 48 | (u64)p->to << 32 | p->plane << 16 | p->path << 8 |
		   p->epoch;

	return ((sim_mix(s->cfg.seed ^ sim_mix(flow)) >> 32) * topo(s)->spines) >> 32;
}

void sim_net_send(struct sim *s, struct sim_packet *p)
{
	u32 leaf, to, spine, n;

	if (!s->net.link && !build(s)) {
		sim_packet_put(s, p);
		return;
	}
	leaf = p->from % topo(s)->leaves;
	to = p->to % topo(s)->leaves;
	p->route[p->hops++] = first_link(s, p->plane, SIM_UP, &n) + p->from;
	if (leaf != to) {
		spine = spine_of(s, p);
		p->route[p->hops++] = first_link(s, p->plane, SIM_TRUNK, &n) +
				      sim_trunk(topo(s), leaf, spine);
		p->route[p->hops++] = first_link(s, p->plane, SIM_FAN, &n) +
				      sim_trunk(topo(s), to, spine);
	}
	p->route[p->hops++] = first_link(s, p->plane, SIM_DOWN, &n) + p->to;
	enter(s, p);
}
