// SPDX-License-Identifier: GPL-2.0
/*
 * Trials over the simulated network and what is measured of them. See scenario_net.h.
 */
#include "scenario_net.h"

/* what a trial does not say */
static void defaults(struct trial_cfg *c)
{
	struct sim_load *l[] = { &c->load, &c->load2 };
	u32 i;

	c->sim.payload = c->sim.payload ? c->sim.payload : 4096;
	c->sim.train = c->sim.train ? c->sim.train : 61440;
	c->sim.npaths = c->sim.npaths ? c->sim.npaths : 16;
	c->sim.seed = c->sim.seed ? c->sim.seed : 1;
	c->sim.cpus = 1;
	c->sim.light = true;
	c->senders = max(c->senders, 1U);
	for (i = 0; i < 2; i++) {
		l[i]->count = l[i]->count ? l[i]->count : U32_MAX;
		l[i]->ops = l[i]->ops ? l[i]->ops : SIM_WRITE;
		l[i]->len_max = l[i]->len_max ? l[i]->len_max : 65536;
		l[i]->len_min = l[i]->len_max;
		l[i]->depth = l[i]->depth ? l[i]->depth : 64;
		l[i]->timeout = l[i]->timeout ? l[i]->timeout : 20 * SEC;
		l[i]->relaxed = true;
		if (l[i]->count == U32_MAX && !l[i]->stop)
			l[i]->stop = c->warm + c->time;
	}
}

static bool connect_one(struct trial *t, u32 from, u32 to)
{
	const struct trial_cfg *c = &t->c;
	const struct sim_load *load = c->two && t->n % 2 ? &c->load2 : &c->load;
	struct sim_load answer = *load;

	answer.count = 0;
	t->sender[t->n].qp = sim_connect(t->s, from, load, to, &answer);
	return t->sender[t->n].qp && ++t->n;
}

static bool connect_all(struct trial *t)
{
	const struct trial_cfg *c = &t->c;
	u32 i, k;

	for (i = 0; i < c->senders; i++) {
		switch (c->pattern) {
		case TRIAL_STAR:
			if (!connect_one(t, i + 1, 0))
				return false;
			break;
		case TRIAL_PAIRS:
			if (!connect_one(t, 2 * i + 1, 2 * i))
				return false;
			break;
		case TRIAL_MESH:
			for (k = 0; k < c->senders; k++)
				if (!connect_one(t, i, c->senders + k))
					return false;
		}
	}
	return true;
}

struct trial *trial_new(const struct trial_cfg *c)
{
	struct trial *t = sim_zalloc(1, sizeof(*t));
	u32 n;

	if (!t)
		return NULL;
	t->c = *c;
	defaults(&t->c);
	t->c.sim.topo = &t->c.topo;
	t->c.sim.hosts = c->pattern == TRIAL_STAR ? t->c.senders + 1 : 2 * t->c.senders;
	n = c->pattern == TRIAL_MESH ? t->c.senders * t->c.senders : t->c.senders;
	t->sender = sim_zalloc(n, sizeof(*t->sender));
	t->s = sim_new(&t->c.sim);
	if (!t->sender || !t->s) {
		kvfree(t->sender);
		kvfree(t);
		return NULL;
	}
	t->start = t->s->now;
	if (!connect_all(t))
		sim_fail(t->s, "a trial cannot begin");
	if (t->c.watch && trial_neck(t, 0))
		sim_link_watch(trial_neck(t, 0));
	return t;
}

struct sim_link *trial_neck(struct trial *t, u32 plane)
{
	return sim_link(t->s, plane, t->c.neck, t->c.neck_i);
}

void trial_until(struct trial *t, u64 at)
{
	sim_run(t->s, t->start + at);
}

/* what all sending halves count */
static void sum_stats(struct trial *t, struct mroce_tx_stats *sum)
{
	struct sim_txh *h;
	u32 i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < t->s->hosts; i++) {
		list_for_each_entry(h, &t->s->host[i].txhs, node) {
			sum->packets += h->tx.stats.packets;
			sum->resent += h->tx.stats.resent;
			sum->probe_timeouts += h->tx.stats.probe_timeouts;
			sum->spurious += h->tx.stats.spurious;
		}
	}
}

void trial_begin(struct trial *t)
{
	u32 i;

	sim_reset(t->s);
	for (i = 0; i < t->n; i++)
		t->sender[i].landed = t->sender[i].qp->peer->landed;
	sum_stats(t, &t->before);
	t->since = t->s->now;
}

static u64 per_second(u64 n, u64 ns)
{
	return ns ? mul_u64_u64_div_u64(n, SEC, ns) : 0;
}

static u32 ppm(u64 part, u64 whole)
{
	return whole ? mul_u64_u64_div_u64(part, SIM_MILLION, whole) : 0;
}

u32 trial_jain(const u64 *x, u32 n)
{
	u64 most = 0, sum = 0, squares = 0, v;
	u32 i, shift;

	for (i = 0; i < n; i++)
		most = max(most, x[i]);
	/* so that the square of the sum of 4,096 fits */
	shift = fls64(most) > 19 ? fls64(most) - 19 : 0;
	for (i = 0; i < n; i++) {
		v = x[i] >> shift;
		sum += v;
		squares += v * v;
	}
	return squares ? mul_u64_u64_div_u64(sum * sum, SIM_MILLION, n * squares) : 0;
}

static void measure_links(struct trial *t, struct trial_result *r)
{
	u64 could = 0, bytes = 0;
	u32 i;

	for (i = 0; i < sim_planes(t->s); i++) {
		struct sim_link *l = trial_neck(t, i);

		bytes += sim_link_left(t->s, l);
		could += l->wire->rate;
		r->packets += l->stats.packets;
		r->drops += l->stats.tail_drops + l->stats.policed;
		r->marks += l->stats.marked;
		r->max_queue = max(r->max_queue, l->stats.max_queue);
		r->mean_queue = max(r->mean_queue, div64_u64(l->stats.area, max(r->ns, 1ULL)));
	}
	r->wire = per_second(bytes, r->ns);
	r->use = ppm(r->wire, could);
}

void trial_measure(struct trial *t, struct trial_result *r)
{
	struct mroce_tx_stats now;
	u64 *landed, sum = 0, srtt = 0;
	u32 i;

	memset(r, 0, sizeof(*r));
	r->ns = t->s->now - t->since;
	measure_links(t, r);
	r->lost = t->s->stats.lost;
	r->messages = t->s->stats.completed;
	sum_stats(t, &now);
	r->resent = ppm(now.resent - t->before.resent, now.packets - t->before.packets);
	r->probe_timeouts = now.probe_timeouts - t->before.probe_timeouts;
	r->spurious = now.spurious - t->before.spurious;
	r->p50 = sim_latency(t->s, SIM_MILLION / 2);
	r->p99 = sim_latency(t->s, SIM_MILLION / 100 * 99);
	landed = sim_zalloc(t->n, sizeof(*landed));
	if (!landed) {
		sim_fail(t->s, "no memory for a result");
		return;
	}
	r->least = U64_MAX;
	for (i = 0; i < t->n; i++) {
		landed[i] = t->sender[i].qp->peer->landed - t->sender[i].landed;
		sum += landed[i];
		r->least = min(r->least, per_second(landed[i], r->ns));
		r->most = max(r->most, per_second(landed[i], r->ns));
		srtt += t->sender[i].qp->txh->tx.path[0].srtt;
	}
	r->srtt = div_u64(srtt, t->n);
	r->goodput = per_second(sum, r->ns);
	r->jain = trial_jain(landed, t->n);
	kvfree(landed);
}

void trial_run(struct trial *t, struct trial_result *r)
{
	trial_until(t, t->c.warm);
	trial_begin(t);
	trial_until(t, t->c.warm + t->c.time);
	trial_measure(t, r);
}

bool trial_end(struct trial *t, char *why, size_t size)
{
	u64 limit = t->s->now + 60 * SEC;
	bool good;

	if (!t->c.undrained && !sim_run_all(t->s, limit))
		sim_fail(t->s, "%u programs do not end", t->s->unfinished);
	good = sim_end(t->s, why, size);
	kvfree(t->sender);
	kvfree(t);
	return good;
}

u64 trial_payload_rate(const struct trial *t, u64 rate)
{
	u32 psize = t->c.sim.payload;

	return mul_u64_u64_div_u64(rate, psize,
				   psize + sizeof(struct mroce_wire_data) + SIM_WIRE_OVERHEAD);
}

/* ---- arrivals at the bottleneck ---- */

/* by how much a rate differs from the capacity */
static u32 deviation(const struct sim_link *l, u64 bytes, u64 ns)
{
	u64 could = div64_u64(ns * (l->wire->rate / 1000), MSEC);
	u64 share = could ? ppm(bytes, could) : U32_MAX;

	share = share > SIM_MILLION ? share - SIM_MILLION : SIM_MILLION - share;
	return min_t(u64, share, 100 * SIM_MILLION);
}

void trial_settle(struct trial *t, u32 packets, u32 tolerance, u64 from, u64 end,
		  struct trial_settled *r)
{
	struct sim_link *l = trial_neck(t, 0);
	u32 i, old = 0, seen = 0, off = 0, by;
	u64 bytes = 0, last = 0;

	memset(r, 0, sizeof(*r));
	for (i = 0; i < l->arrivals && l->arrival[i].at < end; i++) {
		struct sim_arrival *a = &l->arrival[i];

		if (a->at < from || a->flags & SIM_ARRIVAL_ACK)
			continue;
		r->dropped += !!(a->flags & SIM_ARRIVAL_DROPPED);
		if (!seen++) {
			r->first = a->at;
			old = i;
			continue; /* the first only begins the first window */
		}
		bytes += a->bytes;
		if (seen <= packets)
			continue;
		r->windows++;
		by = deviation(l, bytes, a->at - l->arrival[old].at);
		if (by > tolerance) {
			off++;
			r->at = a->at;
		}
		if (a->at >= from + (end - from) / 2)
			r->worst = max(r->worst, by);
		do {
			old++;
		} while (l->arrival[old].flags & SIM_ARRIVAL_ACK);
		bytes -= l->arrival[old].bytes;
		last = a->at;
	}
	r->off = ppm(off, r->windows);
	if (!r->windows || (r->at && last - r->at < (last - r->first) / 20))
		r->at = MROCE_NEVER;
}

u32 trial_jain_arrivals(struct trial *t, u64 from, u64 to)
{
	struct sim_link *l = trial_neck(t, 0);
	u64 *bytes = sim_zalloc(t->s->hosts, sizeof(*bytes));
	u32 i, jain, first = t->c.pattern == TRIAL_STAR;

	if (!bytes)
		return 0;
	for (i = 0; i < l->arrivals; i++)
		if (l->arrival[i].at >= from && l->arrival[i].at < to &&
		    !(l->arrival[i].flags & (SIM_ARRIVAL_ACK | SIM_ARRIVAL_DROPPED)))
			bytes[l->arrival[i].from] += l->arrival[i].bytes;
	jain = trial_jain(bytes + first, t->s->hosts - first);
	kvfree(bytes);
	return jain;
}
