// SPDX-License-Identifier: GPL-2.0
/*
 * Halves of connections in the simulation: handshake, the transmit loop, acknowledgements, timers.
 * The calls into the engine are those of drivers/mroce/conn/, in the same order.
 */
#include "sim.h"

#define SIM_TELL 4 /* senders that are told their share unasked, each time */
#define JOINED_MAX 32 /* messages that go together, and room for each */
#define JOINED_BYTES 1000

/* A random id that names a half; the low bits are its index, never 0. */
static u64 new_id(struct sim *s, struct sim_txh *t, struct sim_rxh *r)
{
	u64 id = sim_random(s) << SIM_ID_BITS | (s->halves + 1);

	if (!sim_grow(s, (void **)&s->half, &s->max_halves, s->halves, sizeof(*s->half)))
		return 1;
	s->half[s->halves++] = (struct sim_half){ .id = id, .txh = t, .rxh = r };
	return id;
}

static struct sim_half *half_of(struct sim *s, u64 id)
{
	u32 i = id & (BIT(SIM_ID_BITS) - 1);

	return i && i <= s->halves && s->half[i - 1].id == id ? &s->half[i - 1] : NULL;
}

static struct sim_txh *find_txh(struct sim_host *h, u16 peer)
{
	struct sim_txh *t;

	list_for_each_entry(t, &h->txhs, node)
		if (t->peer == peer)
			return t;
	return NULL;
}

static struct sim_rxh *find_rxh(struct sim_host *h, u16 peer)
{
	struct sim_rxh *r;

	list_for_each_entry(r, &h->rxhs, node)
		if (r->peer == peer)
			return r;
	return NULL;
}

/* addresses: 2 bytes of host, one of plane */
static void put_address(u8 *addr, u32 plane, u16 host)
{
	addr[0] = host >> 8;
	addr[1] = host & 0xff;
	addr[2] = plane;
}

static u16 address_of(const u8 *addr)
{
	return addr[0] << 8 | addr[1];
}

struct sim_txh *sim_txh_get(struct sim_host *h, u16 peer)
{
	struct sim *s = h->s;
	struct sim_txh *t = find_txh(h, peer);
	struct mroce_hello hello = {
		.instance = h->instance,
		.half = peer,
		.max_payload = s->cfg.payload,
		.version_min = MROCE_WIRE_VERSION,
		.version_max = MROCE_WIRE_VERSION,
		.npaths = s->cfg.npaths,
		.nplanes = sim_planes(s),
	};
	u32 i;

	if (t)
		return t;
	t = sim_zalloc(1, sizeof(*t));
	if (t)
		t->log = sim_zalloc(s->cfg.npaths, sizeof(*t->log));
	if (!t || !t->log ||
	    mroce_tx_init(&t->tx, new_id(s, t, NULL), s->cfg.npaths, s->cfg.train)) {
		sim_fail(s, "no memory for a sending half");
		if (t)
			kvfree(t->log);
		kvfree(t);
		return NULL;
	}
	mroce_tx_planes(&t->tx, sim_planes(s));
	t->host = h;
	t->peer = peer;
	t->armed = MROCE_NEVER;
	list_add_tail(&t->node, &h->txhs);
	put_address(hello.to, 0, peer);
	for (i = 0; i < sim_planes(s); i++)
		put_address(hello.plane[i].addr, i, h->index);
	hello.nonce = sim_random(s);
	mroce_tx_connect(&t->tx, &hello, s->now);
	sim_xmit(t);
	return t;
}

void sim_txh_free(struct sim_txh *t)
{
	u32 i;

	for (i = 0; i < t->host->s->cfg.npaths; i++)
		kvfree(t->log[i].log);
	kvfree(t->log);
	mroce_tx_free(&t->tx);
	kvfree(t);
}

void sim_rxh_free(struct sim_rxh *r)
{
	u32 i;

	for (i = 0; i < sim_planes(r->host->s); i++)
		mroce_share_disconnect(&r->host->share[i], &r->rx.member[i]);
	mroce_rx_free(&r->rx);
	kvfree(r);
}

struct sim_rxh *sim_rxh_by_id(struct sim_host *h, u64 id)
{
	struct sim_half *half = half_of(h->s, id);

	return half && half->rxh && half->rxh->host == h ? half->rxh : NULL;
}

static struct sim_txh *txh_by_id(struct sim_host *h, u64 id)
{
	struct sim_half *half = half_of(h->s, id);

	return half && half->txh && half->txh->host == h ? half->txh : NULL;
}

/* A host sees at once that its own link is down, or up again. */
void sim_carrier(struct sim_host *h, u32 plane, bool up)
{
	struct sim_txh *t;

	list_for_each_entry(t, &h->txhs, node) {
		if (up)
			mroce_tx_plane_up(&t->tx, plane, h->s->now);
		else
			mroce_tx_plane_down(&t->tx, plane, h->s->now);
		sim_xmit(t);
	}
}

/* ---- timers ---- */

static void tx_timer(struct sim *s, void *arg)
{
	struct sim_txh *t = arg;

	if (s->quiet || s->now != t->armed)
		return; /* a later arming replaced this one */
	t->armed = MROCE_NEVER;
	mroce_tx_timer(&t->tx, s->now);
	sim_tx_settle(t);
	sim_xmit(t);
}

void sim_tx_arm(struct sim_txh *t)
{
	struct sim *s = t->host->s;

	if (t->tx.timer >= t->armed || t->tx.timer == MROCE_NEVER || s->quiet)
		return;
	t->armed = max(t->tx.timer, s->now);
	sim_at(s, t->armed, tx_timer, t);
}

static void rx_timer(struct sim *s, void *arg)
{
	struct sim_rxh *r = arg;

	if (s->quiet || s->now != r->armed)
		return;
	r->armed = MROCE_NEVER;
	mroce_rx_timer(&r->rx, s->now);
	sim_acks(r);
}

static void rx_arm(struct sim_rxh *r)
{
	struct sim *s = r->host->s;

	if (r->rx.timer >= r->armed || r->rx.timer == MROCE_NEVER || s->quiet)
		return;
	r->armed = max(r->rx.timer, s->now);
	sim_at(s, r->armed, rx_timer, r);
}

/* ---- sending ---- */

void sim_bare(struct sim_host *from, u16 to, const void *hdr, u32 len)
{
	struct sim_packet *p = sim_packet_new(from->s, from->index, to, hdr, len);

	if (p)
		sim_send(from->s, p);
}

void sim_tx_settle(struct sim_txh *t)
{
	struct mroce_txs *txs;

	while ((txs = mroce_tx_done(&t->tx)))
		sim_qp_progress(txs);
}

/* Cuts a train into its packets, as the segmenter in front of a real link does. */
static void send_cut(struct sim *s, struct sim_packet *train, u32 count, u32 psize)
{
	struct sim_packet *p;
	u32 i;

	for (i = 0; i < count; i++) {
		p = sim_packet_new(s, train->from, train->to, train->hdr, train->len);
		if (!p)
			break;
		mroce_cut_data(p->hdr, i, count);
		p->numbered = true;
		p->not_ect = train->not_ect;
		p->key = train->key;
		p->value[0] = train->value[0];
		p->value[1] = train->value[1];
		p->off = train->off + i * psize;
		p->payload = min(train->payload - i * psize, psize);
		sim_send(s, p);
	}
	sim_packet_put(s, train);
}

static void transmit(struct sim_txh *t)
{
	u8 hdr[MROCE_HEADER_MAX];
	struct mroce_xmit *x = &t->x;
	struct sim *s = t->host->s;
	struct sim_packet *p;
	size_t len;

	switch (x->kind) {
	case MROCE_XMIT_DATA:
		len = mroce_build_data(hdr, &x->data);
		break;
	case MROCE_XMIT_OPEN:
		len = mroce_build_open(hdr, &x->open);
		break;
	case MROCE_XMIT_HELLO:
		len = mroce_build_hello(hdr, &x->hello);
		break;
	default:
		len = mroce_build_control(hdr, &x->control);
	}
	p = sim_packet_new(s, t->host->index, t->peer, hdr, len);
	if (!p)
		return;
	p->numbered = x->kind != MROCE_XMIT_HELLO;
	p->fragment = x->fragment;
	p->not_ect = !x->ect;
	if (x->kind == MROCE_XMIT_DATA)
		sim_qp_build(sim_qp_of(x->txs), x, p);
	if (x->kind == MROCE_XMIT_PROBE || x->kind == MROCE_XMIT_CONTROL)
		p->payload = x->control.length;
	if (x->kind == MROCE_XMIT_DATA && x->count > 1 && !s->cfg.whole)
		send_cut(s, p, x->count, x->data.psize);
	else
		sim_send(s, p);
}

static void xmit_loop(struct sim *s, void *arg);

/*
 * The time that a transmission takes its sender: what keeps acknowledgements arriving in the middle
 * of a burst.
 */
static u64 xmit_cost(struct sim *s, const struct mroce_xmit *x)
{
	return s->cfg.step ? 200 + x->bytes / 16 : 0;
}

static void xmit_one(struct sim *s, struct sim_txh *t)
{
	bool drop = t->x.kind == MROCE_XMIT_DATA &&
		    (sim_chance(s, s->cfg.local_drop) ||
		     sim_net_refuses(s, t->host->index, sim_plane_of(s, t->x.path), t->x.bytes));
	u32 joined = 0;

	if (drop) {
		s->stats.local_drops++;
	} else if (!s->quiet) {
		transmit(t);
		/* one way through the stack; to the simulated network each is a packet */
		while (t->x.kind == MROCE_XMIT_DATA && t->x.more && joined++ < JOINED_MAX &&
		       mroce_tx_pick_more(&t->tx, JOINED_BYTES, s->now, &t->x)) {
			sim_note_sent(t, &t->x);
			transmit(t);
		}
	}
	mroce_tx_sent(&t->tx, &t->x, drop ? -ENOBUFS : 0, MROCE_REASON_NONE);
}

static void xmit_done(struct sim *s, void *arg)
{
	xmit_one(s, arg);
	xmit_loop(s, arg);
}

static bool pick(struct sim *s, struct sim_txh *t)
{
	bool any = mroce_tx_any(&t->tx);

	if (!mroce_tx_pick(&t->tx, s->now, &t->x))
		return false;
	if (!any)
		sim_broken(s, "there was said to be nothing to send");
	return true;
}

static void xmit_loop(struct sim *s, void *arg)
{
	struct sim_txh *t = arg;
	u64 cost;

	for (;;) {
		if (s->quiet || s->failed || !pick(s, t)) {
			if (!t->again || s->quiet || s->failed)
				break;
			t->again = false;
			continue;
		}
		sim_note_sent(t, &t->x);
		cost = xmit_cost(s, &t->x);
		if (cost) {
			sim_at(s, s->now + cost, xmit_done, t);
			return;
		}
		xmit_one(s, t);
	}
	t->sending = false;
	sim_tx_arm(t);
	sim_tx_settle(t);
}

void sim_xmit(struct sim_txh *t)
{
	struct sim *s = t->host->s;

	if (t->sending) {
		t->again = true;
		return;
	}
	if (s->quiet)
		return;
	t->sending = true;
	sim_at(s, s->now, xmit_loop, t);
}

/* An ACK is about to tell the share of a plane. */
static void grant(struct mroce_rx *rx, u8 plane, u64 now)
{
	struct sim_rxh *r = container_of(rx, struct sim_rxh, rx);
	struct mroce_share *share = &r->host->share[plane];

	if (rx->first_at && r->born) {
		mroce_share_rtt(share, rx->first_at - r->born);
		r->born = 0;
	}
	if (mroce_share_stale(share, &rx->member[plane], now))
		mroce_share_update(share, &rx->member[plane], rx->packet, now);
	rx->share = rx->member[plane].told;
	rx->allowance = mroce_share_allowance(share);
	rx->active = min(share->active, 65535U);
}

static void join_shares(struct sim_rxh *r)
{
	struct sim *s = r->host->s;
	u32 i;

	r->born = s->now;
	r->rx.grant = grant;
	for (i = 0; i < sim_planes(s); i++) {
		mroce_share_connect(&r->host->share[i], &r->rx.member[i], &r->rx,
				    s->cfg.weight ? s->cfg.weight[r->peer] : 1);
		if (!s->cfg.unshared)
			mroce_share_capacity(&r->host->share[i],
					     min_t(u64, sim_link(s, i, SIM_DOWN, r->host->index)
								->wire->rate >> 10, U32_MAX / 2));
	}
}

static void send_acks(struct sim_rxh *r)
{
	u8 hdr[MROCE_HEADER_MAX];
	struct sim *s = r->host->s;
	size_t len;

	while (!s->failed && mroce_rx_ack(&r->rx, s->now, &r->ack)) {
		sim_check_ack(r, &r->ack);
		if (s->quiet)
			continue;
		len = mroce_build_ack(hdr, &r->ack);
		sim_bare(r->host, r->peer, hdr, len);
	}
	rx_arm(r);
}

void sim_acks(struct sim_rxh *r)
{
	struct sim *s = r->host->s;
	struct mroce_share_member *m;
	u32 i, n;

	send_acks(r);
	for (i = 0; i < sim_planes(s); i++) {
		for (n = 0; n < SIM_TELL; n++) {
			m = mroce_share_tell(&r->host->share[i], s->now);
			if (!m)
				break;
			mroce_rx_tell(m->rx, i);
			send_acks(container_of(m->rx, struct sim_rxh, rx));
		}
	}
}

/* ---- unnumbered packets ---- */

static void hello(struct sim_host *h, struct sim_packet *p)
{
	struct sim *s = h->s;
	struct sim_rxh *r = find_rxh(h, p->from);
	u8 hdr[MROCE_HEADER_MAX];
	struct mroce_hello in, out;
	size_t len;

	if (mroce_parse_hello(p->hdr, p->len, &in) || address_of(in.to) != h->index)
		return;
	if (!r) {
		r = sim_zalloc(1, sizeof(*r));
		if (!r)
			return;
		if (mroce_rx_init(&r->rx, new_id(s, NULL, r), &in, min(in.npaths, s->cfg.npaths))) {
			kvfree(r);
			return;
		}
		r->host = h;
		r->peer = p->from;
		r->armed = MROCE_NEVER;
		r->sender = find_txh(&s->host[p->from], h->index);
		list_add_tail(&r->node, &h->rxhs);
		join_shares(r);
	}
	out = in;
	out.base.type = MROCE_T_HELLO_ACK;
	out.base.version = MROCE_WIRE_VERSION;
	out.base.id = in.own_id;
	out.base.number = 0;
	out.own_id = r->rx.own_id;
	out.instance = h->instance;
	out.version_min = MROCE_WIRE_VERSION;
	out.version_max = MROCE_WIRE_VERSION;
	out.npaths = r->rx.npaths;
	out.max_payload = min(in.max_payload, s->cfg.payload);
	len = mroce_build_hello(hdr, &out);
	sim_bare(h, p->from, hdr, len);
}

static void hello_ack(struct sim_host *h, struct sim_packet *p)
{
	struct mroce_hello in;
	struct sim_txh *t;

	if (mroce_parse_hello(p->hdr, p->len, &in))
		return;
	t = txh_by_id(h, in.base.id);
	if (!t)
		return;
	mroce_tx_hello_ack(&t->tx, &in, h->s->now);
	sim_tx_settle(t);
	sim_xmit(t);
}

static void ack(struct sim_host *h, struct sim_packet *p)
{
	struct sim *s = h->s;
	struct mroce_ack *in;
	struct sim_txh *t;

	in = sim_zalloc(1, sizeof(*in));
	if (!in)
		return;
	if (mroce_parse_ack(p->hdr, p->len, in)) {
		sim_fail(s, "an ACK does not parse");
		goto out;
	}
	t = txh_by_id(h, in->base.id);
	if (!t)
		goto out;
	SIM_CHECK(s, mroce_tx_ack(&t->tx, in, s->now) != MROCE_REASON_RX_NUMBER,
		  "the sender does not know what is acknowledged");
	sim_tx_settle(t);
	sim_xmit(t);
	sim_tx_arm(t);
out:
	kvfree(in);
}

static void open_reply(struct sim_host *h, struct sim_packet *p)
{
	struct mroce_open in;
	struct sim_txh *t;

	if (mroce_parse_open(p->hdr, p->len, &in))
		return;
	t = txh_by_id(h, in.base.id);
	if (!t)
		return;
	sim_qp_open_reply(t, &in);
	sim_tx_settle(t);
	sim_xmit(t);
}

void sim_unnumbered(struct sim_host *h, struct sim_packet *p, const struct mroce_base *b)
{
	switch (b->type) {
	case MROCE_T_HELLO:
		hello(h, p);
		break;
	case MROCE_T_HELLO_ACK:
		hello_ack(h, p);
		break;
	case MROCE_T_ACK:
		ack(h, p);
		break;
	case MROCE_T_OPEN_REPLY:
		open_reply(h, p);
		break;
	default:
		sim_fail(h->s, "an unexpected packet of type %u", b->type);
	}
}
