// SPDX-License-Identifier: GPL-2.0
/* Connections: HELLO and its answer, cookies, RESET, planes. Clauses C and L. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	while (n--) {
		h = (h ^ *p++) * 0x100000001b3;
		h ^= h >> 29;
	}
	return h * 0xbf58476d1ce4e5b9;
}

static unsigned int payload_of(const struct soft_address *a, unsigned int mtu)
{
	return mtu - (is_v4(a) ? 20 : 40) - 8 - sizeof(struct mroce_wire_data);
}

static void hello_fill(struct soft *s, struct mroce_wire_hello *w, const struct soft_address *own)
{
	unsigned int i, n = 0;

	memset(w, 0, sizeof(*w));
	w->version_min = w->version_max = MROCE_WIRE_VERSION;
	w->npaths = s->config.paths;
	w->max_payload = htobe16(payload_of(own, s->config.mtu));
	w->instance = htobe64(s->instance);
	w->serial = htobe32(1);
	memcpy(w->plane[n++].addr, own->gid, 16);
	for (i = 0; i < s->config.planes; i++)
		if (!same(own, &s->config.address[i]) && is_v4(own) == is_v4(&s->config.address[i]))
			memcpy(w->plane[n++].addr, s->config.address[i].gid, 16);
	w->nplanes = n;
	for (i = 0; i < n; i++)
		w->plane[i].mtu = htobe16(s->config.mtu);
}

static const struct soft_address *own_address(struct soft *s, const struct soft_address *a)
{
	unsigned int i;

	for (i = 0; i < s->config.planes; i++)
		if (same(&s->config.address[i], a))
			return &s->config.address[i];
	return NULL;
}

/* [L2]: pairs of both lists; those that remain stay as they are ([L6]) */
static unsigned int match(struct soft *s, struct pair *pair, const struct soft_address *own,
			  const struct mroce_wire_hello *w, bool sending)
{
	static const struct soft_address none;
	struct pair old[MROCE_MAX_PLANES];
	struct mroce_wire_hello mine;
	unsigned int i, j, n, m = w->nplanes, all;

	memcpy(old, pair, sizeof(old));
	memset(pair, 0, sizeof(old));
	hello_fill(s, &mine, own);
	n = mine.nplanes;
	all = n > m ? n : m;
	for (i = 0; i < all; i++) {
		const struct mroce_wire_plane *a = &mine.plane[i % n], *b = &w->plane[i % m];

		memcpy(pair[i].own.gid, a->addr, 16);
		memcpy(pair[i].peer.gid, b->addr, 16);
		pair[i].usable = !same(&pair[i].own, &none) && !same(&pair[i].peer, &none);
		pair[i].verified = !i;
		for (j = 0; j < MROCE_MAX_PLANES; j++)
			if (old[j].usable && same(&old[j].own, &pair[i].own) &&
			    same(&old[j].peer, &pair[i].peer))
				pair[i].verified = pair[i].verified || old[j].verified;
		if (sending) {
			pair[i].nonce = soft_random(s) | 1;
			pair[i].at = s->now;
			pair[i].wait = 10 * MS;
		}
	}
	return all;
}

/* ---- the sending half */

static void hello_send(struct half *h)
{
	struct soft *s = h->soft;
	struct mroce_wire_hello w;

	hello_fill(s, &w, &h->own);
	base(&w.base, MROCE_T_HELLO, 0, 0, 0, 0);
	w.own_id = htobe64(h->id);
	w.half = htobe32(h->number);
	w.nonce = htobe64(h->nonce);
	if (h->cookied)
		memcpy(w.cookie, h->cookie, sizeof(w.cookie));
	if (h->restart)
		w.flags |= MROCE_H_RESTART;
	memcpy(w.to, h->peer.gid, 16);
	transmit(s, &h->own, &h->peer, MROCE_PATH_PORT_BASE + (h->number & 0x3fff), 0, 0, &w,
		 sizeof(w));
	/* up to a quarter less, by chance */
	h->hello_at = s->now + h->hello_wait - soft_random(s) % (h->hello_wait / 4);
	h->hello_wait = h->hello_wait * 2 < 100 * MS ? h->hello_wait * 2 : 100 * MS;
}

static void hello_begin(struct half *h, bool restart)
{
	h->nonce = soft_random(h->soft);
	h->restart = restart;
	h->cookied = false;
	h->hello_wait = MS;
	h->hello_since = h->soft->now;
	hello_send(h);
}

struct half *half_toward(struct soft *s, const struct soft_address *peer)
{
	struct half *h;
	unsigned int i;

	for (h = s->halves; h; h = h->next)
		if (same(&h->peer, peer) && h->state != DEAD)
			return h;
	for (i = 0; i + 1 < s->config.planes && is_v4(&s->config.address[i]) != is_v4(peer); i++)
		;
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->soft = s;
	h->own = s->config.address[i];
	h->peer = *peer;
	h->number = s->next_half++;
	h->id = soft_random(s) | 1;
	h->allowance = FIRST_WINDOW;
	h->next = s->halves;
	s->halves = h;
	h->state = HELLO;
	hello_begin(h, false);
	return h;
}

void half_free(struct half *h)
{
	struct half **at = &h->soft->halves;
	unsigned int i;

	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	for (i = 0; i < MAX_PATHS; i++) {
		if (h->path[i].flight)
			flights_drop(&h->path[i]);
		free(h->path[i].flight);
	}
	while (h->control) {
		struct control *c = h->control;

		h->control = c->next;
		free(c);
	}
	free(h);
}

void half_dead(struct half *h)
{
	struct soft_qp *qp;

	h->state = DEAD;
	for (qp = h->soft->qps; qp; qp = qp->next)
		if (qp->half == h)
			qp_fail(qp, SOFT_RETRY_EXC);
}

static bool opened(struct half *h, const struct mroce_wire_hello *w)
{
	unsigned int i;

	h->peer_id = be64toh(w->own_id);
	h->peer_instance = be64toh(w->instance);
	h->payload = be16toh(w->max_payload);
	if (h->payload > payload_of(&h->own, h->soft->config.mtu))
		h->payload = payload_of(&h->own, h->soft->config.mtu);
	h->paths = w->npaths < h->soft->config.paths ? w->npaths : h->soft->config.paths;
	for (i = 0; i < h->paths; i++) {
		h->path[i].half = h;
		h->path[i].index = i;
		h->path[i].flight = calloc(FLIGHT, sizeof(struct flight));
		if (!h->path[i].flight)
			return false;
		path_start(&h->path[i], true);
	}
	h->state = OPEN;
	return true;
}

void hello_ack_input(struct soft *s, const struct soft_datagram *d)
{
	const struct mroce_wire_hello *w = d->bytes;
	struct half *h;
	unsigned int i;

	for (h = s->halves; h; h = h->next)
		if (h->id == be64toh(w->base.id))
			break;
	/* [C7], [L8]: between the addresses of the first contact only */
	if (!h || h->state == DEAD || !same(&h->peer, &d->from) || !same(&h->own, &d->to) ||
	    be64toh(w->nonce) != h->nonce || be32toh(w->half) != h->number) {
		s->count.dropped++;
		return;
	}
	if (w->flags & MROCE_H_REFUSED ||
	    (!(w->flags & MROCE_H_COOKIE) && be16toh(w->max_payload) < LEAST_PAYLOAD)) {
		if (h->state == HELLO)
			half_dead(h);
		return;
	}
	if (w->flags & MROCE_H_COOKIE) {
		if (h->hello_at == NEVER)
			return;
		memcpy(h->cookie, w->cookie, sizeof(h->cookie));
		h->cookied = true;
		hello_send(h);
		return;
	}
	if (w->version_min != MROCE_WIRE_VERSION || w->version_max != MROCE_WIRE_VERSION)
		return;
	h->hello_at = NEVER;
	if (h->state == HELLO) {
		if (!opened(h, w)) {
			half_dead(h);
			return;
		}
	} else if (be64toh(w->instance) != h->peer_instance) {
		half_dead(h);
		return;
	} else if (be64toh(w->own_id) != h->peer_id) {
		h->peer_id = be64toh(w->own_id);
		for (i = 0; i < h->paths; i++) {
			h->path[i].epoch++;
			path_start(&h->path[i], false);
		}
	}
	h->restart = false;
	h->serial = be32toh(w->serial);
	h->pairs = match(s, h->pair, &h->own, w, true);
	half_pump(h);
}

static void verify_send(struct half *h, struct pair *p)
{
	struct mroce_wire_verify w = {.nonce = htobe64(p->nonce), .echo = htobe64(p->echo)};

	base(&w.base, MROCE_T_VERIFY, 0, 0, 0, h->peer_id);
	transmit(h->soft, &p->own, &p->peer, MROCE_PATH_PORT_BASE, 0, 0, &w, sizeof(w));
	p->at = h->soft->now + p->wait;
	p->wait = p->wait < 5 * SEC ? 2 * p->wait : 10 * SEC;
}

/* [L5]: paths are spread over the planes that are verified; one that moves is PROBING there */
static void spread(struct half *h)
{
	uint8_t use[MROCE_MAX_PLANES];
	unsigned int i, n = 0;

	for (i = 0; i < h->pairs; i++)
		if (h->pair[i].usable && h->pair[i].verified)
			use[n++] = i;
	for (i = 0; n && i < h->paths; i++) {
		struct path *p = &h->path[i];

		if (p->plane == use[i % n])
			continue;
		p->plane = use[i % n];
		p->epoch++;
		path_start(p, false);
		p->state = PROBING;
		p->probe_at = h->soft->now;
	}
}

void half_timers(struct half *h)
{
	struct soft *s = h->soft;
	unsigned int i;

	if (!h->users) {
		if (s->now - h->unused_at > 10 * SEC) {
			half_free(h);
			return;
		}
	} else {
		h->unused_at = s->now;
	}
	if (h->state == DEAD)
		return;
	if (h->hello_at != NEVER && s->now >= h->hello_at)
		hello_send(h);
	if (h->state != OPEN)
		return;
	for (i = 1; i < h->pairs; i++)
		if (h->pair[i].usable && !h->pair[i].verified && s->now >= h->pair[i].at)
			verify_send(h, &h->pair[i]);
	for (i = 0; i < h->paths; i++)
		path_timers(&h->path[i]);
	half_pump(h);
}

/* [C6]: it ends nothing by itself */
void reset_input(struct soft *s, const struct soft_datagram *d)
{
	const struct mroce_wire_reset *w = d->bytes;
	uint32_t number = be32toh(w->base.number);
	struct half *h;

	for (h = s->halves; h; h = h->next) {
		const struct path *p = &h->path[w->base.path % MAX_PATHS];

		if (h->state != OPEN || h->peer_id != be64toh(w->base.id) ||
		    !same(&h->peer, &d->from) || !same(&h->own, &d->to) ||
		    w->base.path >= h->paths || w->base.epoch != p->epoch ||
		    p->flight[number % FLIGHT].number != number ||
		    p->flight[number % FLIGHT].state != IN_FLIGHT || h->hello_at != NEVER)
			continue;
		s->count.resets++;
		hello_begin(h, true);
		return;
	}
	s->count.dropped++;
}

/* ---- the receiving half */

void reset_answer(struct soft *s, const struct soft_datagram *d)
{
	const struct mroce_wire_base *b = d->bytes;
	struct mroce_wire_reset w = {.type = b->type, .instance = htobe64(s->instance)};

	s->count.dropped++;
	if (!s->resets)
		return;
	s->resets--;
	w.base = *b;
	w.base.type = MROCE_T_RESET;
	transmit(s, &d->to, &d->from, d->port, 0, 0, &w, sizeof(w));
}

void rx_half_free(struct rx_half *h)
{
	struct rx_half **at = &h->soft->rx_halves;
	struct soft_qp *qp;

	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	for (qp = h->soft->qps; qp; qp = qp->next)
		if (qp->rx_half == h)
			qp->rx_half = NULL;
	free(h);
}

/* [C7]: the addresses of the first contact, or a pair that was verified */
struct rx_half *rx_half_find(struct soft *s, const struct soft_datagram *d, uint64_t id)
{
	struct rx_half *h;
	unsigned int i;

	for (h = s->rx_halves; h; h = h->next)
		if (h->id == id)
			break;
	for (i = 0; h && i < h->pairs; i++)
		if (h->pair[i].verified && same(&h->pair[i].own, &d->to) &&
		    same(&h->pair[i].peer, &d->from))
			return h;
	return NULL;
}

static void cookie_of(struct soft *s, const struct soft_datagram *d, uint64_t age,
		      uint8_t cookie[16])
{
	const struct mroce_wire_hello *w = d->bytes;
	uint64_t bucket = s->now / (32 * SEC) - age, h[2];

	h[0] = mix(s->secret, &bucket, sizeof(bucket));
	h[0] = mix(h[0], d->from.gid, 16);
	h[0] = mix(h[0], d->to.gid, 16);
	h[0] = mix(h[0], &w->own_id, 8);
	h[0] = mix(h[0], &w->instance, 8);
	h[0] = mix(h[0], &w->half, 4);
	h[0] = mix(h[0], &w->nonce, 8);
	h[1] = mix(h[0] ^ s->secret, h, 8);
	memcpy(cookie, h, 16);
}

static bool cookie_good(struct soft *s, const struct soft_datagram *d)
{
	const struct mroce_wire_hello *w = d->bytes;
	uint8_t now[16], earlier[16];

	cookie_of(s, d, 0, now);
	cookie_of(s, d, 1, earlier);
	return !memcmp(w->cookie, now, 16) || !memcmp(w->cookie, earlier, 16);
}

static void hello_answer(struct soft *s, const struct soft_datagram *d, const struct rx_half *h,
			 uint8_t flags, uint8_t reason)
{
	const struct mroce_wire_hello *in = d->bytes;
	struct mroce_wire_hello w;

	hello_fill(s, &w, &d->to);
	base(&w.base, MROCE_T_HELLO_ACK, 0, 0, 0, be64toh(in->own_id));
	w.flags = flags;
	w.reason = reason;
	w.half = in->half;
	w.nonce = in->nonce;
	memcpy(w.to, in->to, 16);
	if (flags & MROCE_H_COOKIE)
		cookie_of(s, d, 0, w.cookie);
	if (h) {
		w.own_id = htobe64(h->id);
		w.npaths = h->paths;
	}
	transmit(s, &d->to, &d->from, d->port, 0, 0, &w, sizeof(w));
}

static void refuse(struct soft *s, const struct soft_datagram *d, uint8_t reason)
{
	if (s->refusals) {
		s->refusals--;
		hello_answer(s, d, NULL, MROCE_H_REFUSED, reason);
	}
}

void hello_input(struct soft *s, const struct soft_datagram *d)
{
	const struct mroce_wire_hello *w = d->bytes;
	struct rx_half *h, *next;
	unsigned int n = 0, unheard = 0;
	struct half *tx;
	bool other = false;

	if (memcmp(w->to, d->to.gid, 16) || memcmp(w->plane[0].addr, d->from.gid, 16)) {
		s->count.dropped++;
		return;
	}
	if (!own_address(s, &d->to)) {
		refuse(s, d, MROCE_REFUSED_ADDRESS);
		return;
	}
	if (w->version_min > MROCE_WIRE_VERSION) {
		refuse(s, d, MROCE_REFUSED_VERSION);
		return;
	}
	if (be16toh(w->max_payload) < LEAST_PAYLOAD) {
		refuse(s, d, MROCE_REFUSED_MTU);
		return;
	}
	for (h = s->rx_halves; h; h = h->next) {
		n++;
		unheard += !h->heard;
		if (!same(&h->peer, &d->from))
			continue;
		if (h->peer_instance != be64toh(w->instance))
			other = true;
		else if (same(&h->own, &d->to) && h->number == be32toh(w->half) &&
			 h->peer_id == be64toh(w->own_id))
			break;
	}
	if (!h) {
		if ((other || unheard >= HALVES_WITHOUT_COOKIE) && !cookie_good(s, d)) {
			hello_answer(s, d, NULL, MROCE_H_COOKIE, 0);
			return;
		}
		for (h = s->rx_halves; other && h; h = next) {
			next = h->next;
			if (same(&h->peer, &d->from) && h->peer_instance != be64toh(w->instance))
				rx_half_free(h);
		}
		if (n >= MAX_HALVES) {
			refuse(s, d, MROCE_REFUSED_LIMIT);
			return;
		}
		h = calloc(1, sizeof(*h));
		if (!h)
			return;
		h->soft = s;
		h->own = d->to;
		h->peer = d->from;
		h->id = soft_random(s) | 1;
		h->peer_id = be64toh(w->own_id);
		h->peer_instance = be64toh(w->instance);
		h->number = be32toh(w->half);
		h->paths = w->npaths < s->config.paths ? w->npaths : s->config.paths;
		h->next = s->rx_halves;
		s->rx_halves = h;
	} else if (before(be32toh(w->serial), h->serial)) {
		hello_answer(s, d, h, 0, 0); /* its list is out of date */
		return;
	}
	h->heard_at = s->now;
	h->serial = be32toh(w->serial);
	h->pairs = match(s, h->pair, &h->own, w, false);
	hello_answer(s, d, h, 0, 0);
	/* [L6]: the half the other way takes it, too, for who says it has an id that only the peer was given */
	for (tx = h->heard ? s->halves : NULL; tx; tx = tx->next)
		if (tx->state == OPEN && tx->peer_instance == h->peer_instance &&
		    same(&tx->peer, &h->peer) && before(tx->serial, h->serial)) {
			tx->serial = h->serial;
			tx->pairs = match(s, tx->pair, &tx->own, w, true);
		}
}

static void verify_reply(struct soft *s, const struct soft_datagram *d)
{
	const struct mroce_wire_verify *in = d->bytes;
	struct mroce_wire_verify w = {.flags = MROCE_V_REPLY, .echo = in->nonce};
	struct pair *pair = NULL;
	struct rx_half *h;
	uint64_t nonce;
	unsigned int i;

	for (h = s->rx_halves; h; h = h->next)
		if (h->id == be64toh(in->base.id))
			break;
	for (i = 0; h && i < h->pairs; i++)
		if (h->pair[i].usable && same(&h->pair[i].own, &d->to) &&
		    same(&h->pair[i].peer, &d->from))
			pair = &h->pair[i];
	if (!pair) {
		s->count.dropped++;
		return;
	}
	nonce = mix(mix(mix(s->secret ^ 1, d->from.gid, 16), d->to.gid, 16), &h->id, 8) | 1;
	if (in->echo && be64toh(in->echo) != nonce) {
		s->count.dropped++;
		return;
	}
	if (in->echo) {
		pair->verified = true;
		w.flags |= MROCE_V_VERIFIED;
	}
	w.nonce = htobe64(nonce);
	base(&w.base, MROCE_T_VERIFY, 0, 0, 0, h->peer_id);
	transmit(s, &d->to, &d->from, d->port, 0, 0, &w, sizeof(w));
}

void verify_input(struct soft *s, const struct soft_datagram *d)
{
	const struct mroce_wire_verify *w = d->bytes;
	struct half *h;
	unsigned int i;

	if (!(w->flags & MROCE_V_REPLY)) {
		verify_reply(s, d);
		return;
	}
	for (h = s->halves; h; h = h->next)
		if (h->id == be64toh(w->base.id))
			break;
	for (i = 0; h && h->state == OPEN && i < h->pairs; i++) {
		struct pair *p = &h->pair[i];

		if (!p->usable || !same(&p->own, &d->to) || !same(&p->peer, &d->from) ||
		    be64toh(w->echo) != p->nonce)
			continue;
		if (w->flags & MROCE_V_VERIFIED && !p->verified) {
			p->verified = true;
			spread(h);
		} else if (!p->verified) {
			p->echo = be64toh(w->nonce);
			verify_send(h, p);
		}
		return;
	}
	s->count.dropped++;
}
