// SPDX-License-Identifier: GPL-2.0
/* HELLO, versions, ids, cookies, RESET: both ways. Clauses C, V and D. */
#include <string.h>

#include "script.h"

/* ---- our HELLO */

static struct mroce_wire_hello *asked(struct t *t, struct peer *p, struct mroce_wire_hello *w,
				      const char *what)
{
	struct mroce_wire_hello *got = hello_ask(t, p, w);

	need(t, got, "no answer to %s", what);
	return got;
}

static void new_hello(struct t *t, struct peer *p, struct mroce_wire_hello *w)
{
	hello_make(t, p, w, random_of(t) | 1, p->next_half++);
}

static bool any_hello_ack(const struct packet *p, const void *what)
{
	return ((const struct mroce_wire_hello *)p->bytes)->nonce ==
	       ((const struct mroce_wire_hello *)what)->nonce;
}

static void answered(struct t *t, long arg)
{
	struct peer *p = peer_main(t);
	struct mroce_wire_hello w, *got;

	(void)arg;
	new_hello(t, p, &w);
	got = asked(t, p, &w, "HELLO");
	need(t, !(got->flags & MROCE_H_REFUSED), "refused, reason %u", got->reason);
	need(t, got->own_id, "own_id is 0");
	need(t, got->instance, "instance is 0");
	need(t, got->half == w.half, "half is not echoed");
	need(t, !memcmp(got->to, w.to, 16), "to is not echoed");
	need(t, got->version_min == 1 && got->version_max == 1,
	     "versions %u to %u, not the one chosen", got->version_min, got->version_max);
	need(t, got->npaths && got->npaths <= w.npaths, "%u paths agreed to of %u", got->npaths,
	     w.npaths);
	need(t, got->nplanes >= 1 && got->nplanes <= 8, "%u planes", got->nplanes);
	need(t, be16toh(got->max_payload) >= 1024, "largest payload %u", be16toh(got->max_payload));
	need(t, !memcmp(got->plane[0].addr, t->target.gid, 16),
	     "the first plane is not the address that was spoken to");
	need(t, got->base.version == 1 && !got->base.number, "header of HELLO_ACK");
}

static void answered_from(struct t *t, long arg)
{
	struct peer *p = peer_main(t);
	struct mroce_wire_hello w;
	struct packet *got;

	(void)arg;
	new_hello(t, p, &w);
	send_raw(t, &p->own, 0xc123, NOT_ECT, &w, sizeof(w));
	got = wait_for(t, MROCE_T_HELLO_ACK, any_hello_ack, &w, 1000);
	need(t, got, "no answer");
	need(t, got->d.port == 0xc123, "HELLO_ACK comes from port %u, HELLO from %u", got->d.port,
	     0xc123);
	need(t, !got->d.tos, "HELLO_ACK has TOS %02x", got->d.tos);
	need(t, !memcmp(&got->d.from, &t->target, 16), "HELLO_ACK comes from another address");
}

static void idempotent(struct t *t, long arg)
{
	struct peer *p = peer_main(t);
	struct mroce_wire_hello w;
	struct packet *other;
	uint64_t id;

	(void)arg;
	new_hello(t, p, &w);
	id = asked(t, p, &w, "HELLO")->own_id;
	need(t, asked(t, p, &w, "the same HELLO")->own_id == id, "the same HELLO got another id");
	w.nonce = htobe64(random_of(t));
	need(t, asked(t, p, &w, "HELLO with another nonce")->own_id == id,
	     "HELLO with another nonce got another id");
	w.half = htobe32(be32toh(w.half) + 1000);
	need(t, asked(t, p, &w, "HELLO of another half")->own_id != id,
	     "HELLO of another half got the same id");
	w.half = htobe32(be32toh(w.half) - 1000);
	w.own_id = htobe64(random_of(t) | 1);
	/* of a half that is known: answered with another id, or not at all */
	hello_send(t, p, &w);
	other = wait_for(t, MROCE_T_HELLO_ACK, any_hello_ack, &w, 100);
	need(t, !other || ((struct mroce_wire_hello *)other->bytes)->own_id != id,
	     "HELLO with another own_id got the same id");
}

static void paths(struct t *t, long arg)
{
	struct peer *p = peer_main(t);
	struct mroce_wire_hello w, *got;

	new_hello(t, p, &w);
	w.npaths = arg;
	got = asked(t, p, &w, "HELLO");
	need(t, got->npaths >= 1 && got->npaths <= arg, "%u paths agreed to, %ld asked for",
	     got->npaths, arg);
}

static void ids_random(struct t *t, long arg)
{
	struct peer *p = peer_main(t);
	uint64_t id[16], all = 0, every = ~0ULL;
	struct mroce_wire_hello w;
	int i, j;

	(void)arg;
	for (i = 0; i < 16; i++) {
		new_hello(t, p, &w);
		id[i] = asked(t, p, &w, "HELLO")->own_id;
		all |= id[i];
		every &= id[i];
		for (j = 0; j < i; j++)
			need(t, id[i] != id[j], "two halves have one id");
	}
	need(t, __builtin_popcountll(all) > 48 && __builtin_popcountll(every) < 16,
	     "ids are not random: %d bits ever set", __builtin_popcountll(all));
}

enum bad {
	VERSION_0,
	VERSION_ORDER,
	PATHS_0,
	PATHS_65,
	PLANES_0,
	PLANES_9,
	OWN_ID_0,
	TO_OTHER,
	PLANE_OTHER,
	SHORT
};

static void bad_hello(struct t *t, long arg)
{
	struct peer *p = peer_main(t);
	struct mroce_wire_hello w, good;
	size_t n = sizeof(w);

	new_hello(t, p, &w);
	switch (arg) {
	case VERSION_0:
		w.version_min = 0;
		break;
	case VERSION_ORDER:
		w.version_min = 2;
		break;
	case PATHS_0:
		w.npaths = 0;
		break;
	case PATHS_65:
		w.npaths = 65;
		break;
	case PLANES_0:
		w.nplanes = 0;
		break;
	case PLANES_9:
		w.nplanes = 9;
		break;
	case OWN_ID_0:
		w.own_id = 0;
		break;
	case TO_OTHER:
		w.to[15] ^= 1;
		break;
	case PLANE_OTHER:
		w.plane[0].addr[15] ^= 1;
		break;
	case SHORT:
		n--;
		break;
	}
	send_raw(t, &p->own, 0xc123, NOT_ECT, &w, n);
	new_hello(t, p, &good);
	send_raw(t, &p->own, 0xc123, NOT_ECT, &good, sizeof(good));
	need(t, wait_for(t, MROCE_T_HELLO_ACK, any_hello_ack, &good, 1000),
	     "a good HELLO behind it is not answered");
	need(t, !wait_for(t, MROCE_T_HELLO_ACK, any_hello_ack, &w, 0), "it was answered");
}

static void version_none(struct t *t, long arg)
{
	struct peer *p = peer_main(t);
	struct mroce_wire_hello w;
	struct packet *got;
	const struct mroce_wire_hello *a;

	new_hello(t, p, &w);
	w.version_min = 2;
	w.version_max = arg;
	w.base.version = 2;
	hello_send(t, p, &w);
	got = wait_for(t, MROCE_T_HELLO_ACK, any_hello_ack, &w, 1000);
	need(t, got, "no answer");
	a = (const void *)got->bytes;
	need(t, a->flags & MROCE_H_REFUSED && a->reason == MROCE_REFUSED_VERSION,
	     "flags %02x, reason %u", a->flags, a->reason);
	need(t, a->version_min == 1 && a->version_max == 1,
	     "the answerer's range is given as %u to %u", a->version_min, a->version_max);
}

static void version_range(struct t *t, long arg)
{
	struct peer *p = peer_main(t);
	struct mroce_wire_hello w, *got;

	new_hello(t, p, &w);
	w.version_max = arg;
	got = asked(t, p, &w, "HELLO");
	need(t, !(got->flags & MROCE_H_REFUSED), "refused");
	need(t, got->version_min == 1 && got->version_max == 1, "chosen: %u to %u",
	     got->version_min, got->version_max);
}

static void reserved_flags(struct t *t, long arg)
{
	struct peer *p = peer_main(t);
	struct mroce_wire_hello w;

	new_hello(t, p, &w);
	w.flags = arg;
	need(t, !(asked(t, p, &w, "HELLO with reserved flags")->flags & MROCE_H_REFUSED),
	     "refused");
}

static void small_payload(struct t *t, long arg)
{
	struct peer *p = peer_main(t);
	struct mroce_wire_hello w, *got;

	new_hello(t, p, &w);
	w.max_payload = htobe16(arg);
	got = hello_ask(t, p, &w);
	if (arg >= 1024)
		need(t, got && !(got->flags & MROCE_H_REFUSED), "a payload of %ld is not accepted",
		     arg);
	else
		need(t, !got || (got->flags & MROCE_H_REFUSED && got->reason == MROCE_REFUSED_MTU),
		     "a payload of %ld is accepted, and no message could be cut to it", arg);
}

static void other_instance(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t), second;
	struct out *o = out_new(t, p);
	struct mroce_wire_hello w, changed;
	struct packet *got;

	/* the first is there, and stays until the second has shown that it receives here */
	taken(t, o, 0, probe_send(t, o, 0), "a PROBE");
	second = *p;
	second.instance = random_of(t);
	new_hello(t, &second, &w);
	hello_send(t, p, &w);
	got = wait_for(t, MROCE_T_HELLO_ACK, any_hello_ack, &w, 1000);
	need(t, got, "no answer");
	need(t, ((struct mroce_wire_hello *)got->bytes)->flags == MROCE_H_COOKIE,
	     "HELLO of another instance, which would replace one that is known, is answered "
	     "without asking for a cookie");
	taken(t, o, 0, probe_send(t, o, 0), "a PROBE of the instance that was there before");
	memcpy(w.cookie, ((struct mroce_wire_hello *)got->bytes)->cookie, 16);
	changed = w;
	switch (arg) {
	case 0: /* its own: taken */
		hello_send(t, p, &w);
		got = wait_for(t, MROCE_T_HELLO_ACK, any_hello_ack, &w, 1000);
		need(t,
		     got && !(((struct mroce_wire_hello *)got->bytes)->flags &
			      (MROCE_H_COOKIE | MROCE_H_REFUSED)),
		     "HELLO with its cookie is not accepted");
		return;
	case 1:
		changed.cookie[3] ^= 1;
		break;
	case 2:
		changed.own_id ^= 1;
		break;
	case 3:
		changed.half ^= 1;
		break;
	case 4:
		changed.instance ^= 1;
		break;
	case 5:
		changed.nonce ^= 1;
		break;
	}
	hello_send(t, p, &changed);
	got = wait_for(t, MROCE_T_HELLO_ACK, any_hello_ack, &changed, 300);
	need(t,
	     !got || ((struct mroce_wire_hello *)got->bytes)->flags &
			     (MROCE_H_COOKIE | MROCE_H_REFUSED),
	     "a cookie that is not that of this HELLO is accepted");
	taken(t, o, 0, probe_send(t, o, 0), "a PROBE of the instance that was there before");
}

static void cookie_elsewhere(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t), *q = peer_fresh(t), second = *p, third = *q;
	struct out *o = out_new(t, p), *r = out_new(t, q);
	struct mroce_wire_hello w, v;
	struct packet *got;

	(void)arg;
	if (p == q || !memcmp(&p->own, &q->own, 16))
		skip(t, "needs three addresses of this host (--own)");
	taken(t, o, 0, probe_send(t, o, 0), "a PROBE");
	taken(t, r, 0, probe_send(t, r, 0), "a PROBE");
	second.instance = third.instance = random_of(t);
	new_hello(t, &second, &w);
	hello_send(t, p, &w);
	got = wait_for(t, MROCE_T_HELLO_ACK, any_hello_ack, &w, 1000);
	need(t, got, "no answer");
	v = w;
	memcpy(v.cookie, ((struct mroce_wire_hello *)got->bytes)->cookie, 16);
	memcpy(v.plane[0].addr, q->own.gid, 16);
	hello_send(t, q, &v);
	got = wait_for(t, MROCE_T_HELLO_ACK, any_hello_ack, &v, 300);
	need(t,
	     !got || ((struct mroce_wire_hello *)got->bytes)->flags &
			     (MROCE_H_COOKIE | MROCE_H_REFUSED),
	     "a cookie is accepted from another address");
}

static void many_half_open(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t);
	struct mroce_wire_hello w;
	struct packet *got;
	int i;

	(void)arg;
	for (i = 0; i < 600; i++) {
		new_hello(t, p, &w);
		hello_send(t, p, &w);
		got = wait_for(t, MROCE_T_HELLO_ACK, any_hello_ack, &w, 500);
		need(t, got, "HELLO %d is not answered", i);
		if (((struct mroce_wire_hello *)got->bytes)->flags & MROCE_H_COOKIE)
			return;
	}
	need(t, false,
	     "600 halves of which nothing but HELLO was heard, and no cookie is asked for");
}

/* ---- the target's HELLO */

static bool comes_to(const struct packet *p, const void *peer)
{
	return !memcmp(&p->d.to, &((const struct peer *)peer)->own, sizeof(p->d.to));
}

static struct packet *its_hello(struct t *t, struct peer *p, struct stream **s, bool rts)
{
	struct out *o = out_new(t, p);
	struct attributes a = {DEFAULTS, .no_open = true, .no_rts = !rts};
	struct packet *got;

	t->auto_hello = t->auto_open = false;
	*s = stream_new(t, o, &a);
	got = wait_for(t, MROCE_T_HELLO, comes_to, p, 2000);
	need(t, got, "a queue pair is connected to a fresh address, and no HELLO comes");
	return got;
}

static void hello_fields(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t);
	struct stream *s;
	struct packet *got = its_hello(t, p, &s, false);
	const struct mroce_wire_hello *w = (const void *)got->bytes;
	static const struct mroce_wire_plane none;
	int i;

	(void)arg;
	need(t, got->length == sizeof(*w), "%zu bytes", got->length);
	need(t, w->version_min == 1 && w->version_max >= 1 && w->base.version == 1,
	     "versions %u to %u", w->version_min, w->version_max);
	need(t, !w->base.id && !w->base.number, "id or number is not 0");
	need(t, w->own_id && w->instance && w->nonce, "own_id, instance or nonce is 0");
	need(t, w->npaths >= 1 && w->npaths <= 64, "%u paths", w->npaths);
	need(t, w->nplanes >= 1 && w->nplanes <= 8, "%u planes", w->nplanes);
	need(t, !memcmp(w->to, p->own.gid, 16), "to is not the address that it is sent to");
	need(t, !memcmp(w->plane[0].addr, got->d.from.gid, 16),
	     "the first plane is not its source address");
	need(t, be16toh(w->max_payload) >= 1024, "largest payload %u", be16toh(w->max_payload));
	need(t, !w->flags && !w->reason, "flags %02x, reason %u", w->flags, w->reason);
	for (i = w->nplanes; i < 8; i++)
		need(t, !memcmp(&w->plane[i], &none, sizeof(none)),
		     "entry %d, beyond the planes, is not 0", i);
	need(t, !got->d.tos, "TOS %02x", got->d.tos);
}

static void hello_repeats(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t);
	struct stream *s;
	struct packet *first = its_hello(t, p, &s, false), *got;
	uint64_t began = first->at, least = 0, wait = 750;
	int n;

	(void)arg;
	for (n = 0; n < 12; n++) {
		got = wait_for(t, MROCE_T_HELLO, comes_to, p, 2000);
		need(t, got, "HELLO is repeated %d times and no more", n);
		need(t,
		     ((struct mroce_wire_hello *)got->bytes)->own_id ==
			     ((struct mroce_wire_hello *)first->bytes)->own_id,
		     "repeated with another own_id");
		least += wait;
		wait = wait * 2 < 75000 ? wait * 2 : 75000;
	}
	/* 20 ms for what the first may have lain about here */
	need(t, (got->at - began) / 1000 + 20000 >= least,
	     "12 repetitions in %u us; what doubles from 1 ms takes %u at least",
	     (unsigned int)((got->at - began) / 1000), (unsigned int)least);
}

static void answer_hello(struct t *t, const struct packet *hello, struct mroce_wire_hello *w,
			 uint64_t own_id)
{
	const struct mroce_wire_hello *in = (const void *)hello->bytes;
	struct peer p = {.own = hello->d.to, .target = hello->d.from, .instance = 0x1234567};

	hello_make(t, &p, w, own_id, be32toh(in->half));
	header(&w->base, MROCE_T_HELLO_ACK, 0, 0, 0, be64toh(in->own_id));
	w->nonce = in->nonce;
	memcpy(w->to, in->to, 16);
	w->npaths = 1;
}

enum reply { NONCE, ID, PAYLOAD_OK, PAYLOAD_SMALL, REFUSED, COOKIE_ };

static void reply(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t);
	struct stream *s;
	struct packet *hello = its_hello(t, p, &s, true), *got;
	struct mroce_wire_hello w;
	struct completion c;
	int i;

	answer_hello(t, hello, &w, 0x1111);
	switch (arg) {
	case NONCE:
		w.nonce ^= 1;
		break;
	case ID:
		w.base.id ^= 1;
		break;
	case PAYLOAD_SMALL:
		w.max_payload = htobe16(1023);
		break;
	case REFUSED:
		w.flags = MROCE_H_REFUSED;
		w.reason = MROCE_REFUSED_LIMIT;
		break;
	case COOKIE_:
		w.flags = MROCE_H_COOKIE;
		w.own_id = 0;
		memset(w.cookie, 0x5a, 16);
		break;
	}
	if (arg == REFUSED || arg == PAYLOAD_SMALL)
		post(t, s, 7, MROCE_OP_WRITE, 0, 8, 0, 0, 0, 0, 0);
	send_raw(t, &p->own, hello->d.port, NOT_ECT, &w, sizeof(w));
	if (arg == COOKIE_) {
		for (i = 0; i < 10; i++) {
			got = wait_for(t, MROCE_T_HELLO, comes_to, p, 1000);
			need(t, got, "HELLO is not repeated");
			if (!memcmp(((struct mroce_wire_hello *)got->bytes)->cookie, w.cookie, 16))
				return;
		}
		need(t, false, "ten HELLOs, and none has the cookie");
	}
	if (arg == REFUSED || arg == PAYLOAD_SMALL) {
		c = completion(t, s);
		need(t, c.status && c.id == 7, "the request succeeds");
		return;
	}
	got = wait_for(t, MROCE_T_OPEN, comes_to, p, arg == PAYLOAD_OK ? 1000 : 200);
	if (arg == PAYLOAD_OK)
		need(t, got && base_of(got)->id == htobe64(0x1111), "a good answer, and no OPEN");
	else
		need(t, !got, "an answer with a wrong field was taken: OPEN comes");
}

static void open_half_ignores(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS});
	struct in *in = in_of(t, s->peer);
	struct mroce_wire_hello w;

	(void)arg;
	hello_make(t, s->peer, &w, in->id, in->half);
	header(&w.base, MROCE_T_HELLO_ACK, 0, 0, 0, in->ack_id);
	w.nonce = htobe64(in->nonce);
	w.flags = MROCE_H_REFUSED;
	w.reason = MROCE_REFUSED_LIMIT;
	send_raw(t, &s->peer->own, 0xc001, NOT_ECT, &w, sizeof(w));
	post(t, s, 3, MROCE_OP_WRITE, 0, 8, 0, 0, 0, 0, 0);
	need(t, data_for(t, s, MROCE_OP_WRITE, 1000), "an open half ended with REFUSED");
	need(t, completion(t, s).status == 0, "its request failed");
}

/* ---- RESET */

static bool any(const struct packet *p, const void *what)
{
	(void)p;
	(void)what;
	return true;
}

static void unknown_id(struct t *t, long arg)
{
	union {
		struct mroce_wire_base base;
		uint8_t bytes[300];
	} u = {.bytes = {0}};
	static const uint16_t length[MROCE_T_MAX] = {0,	 280, 280, 32, 56, 56, 76,
						     88, 32,  32,  40, 40, 56};
	struct peer *p = peer_main(t);
	struct packet *got;
	const struct mroce_wire_reset *r;
	uint64_t id = random_of(t) | 1;

	header(&u.base, arg, 3, 9, 0x12345678, id);
	switch (arg) {
	case MROCE_T_DATA:
		((struct mroce_wire_data *)&u)->psize = htobe16(1024);
		((struct mroce_wire_data *)&u)->flags = MROCE_F_FIRST | MROCE_F_LAST;
		break;
	case MROCE_T_OPEN:
	case MROCE_T_OPEN_REPLY:
		((struct mroce_wire_open *)&u)->stream = ((struct mroce_wire_open *)&u)->to =
			htobe32(5);
		((struct mroce_wire_open *)&u)->log_packets =
			((struct mroce_wire_open *)&u)->log_messages = 12;
		break;
	case MROCE_T_CONTROL:
		((struct mroce_wire_control *)&u)->op = MROCE_C_CLOSE;
		break;
	case MROCE_T_PROBE:
		((struct mroce_wire_control *)&u)->op = MROCE_C_PROBE;
		break;
	case MROCE_T_VERIFY:
		((struct mroce_wire_verify *)&u)->nonce = 5;
		break;
	case MROCE_T_ACK:
		((struct mroce_wire_ack *)&u)->anchor = u.base.number;
		break;
	}
	send_raw(t, &p->own, 0xc222, ECT0, &u, length[arg]);
	got = wait_for(t, MROCE_T_RESET, any, NULL, type_numbered(arg) ? 1000 : 100);
	if (!type_numbered(arg)) {
		need(t, !got, "%s with an unknown id is answered by RESET", type_name(arg));
		return;
	}
	need(t, got, "%s with an unknown id is not answered by RESET", type_name(arg));
	r = (const void *)got->bytes;
	need(t,
	     r->base.id == htobe64(id) && r->base.path == 3 && r->base.epoch == 9 &&
		     r->base.number == htobe32(0x12345678),
	     "RESET does not repeat id, path, epoch and number");
	need(t, r->type == arg, "RESET tells of type %u, not %ld", r->type, arg);
	need(t, got->d.port == 0xc222, "RESET comes from port %u, what raised it from %u",
	     got->d.port, 0xc222);
	need(t, !got->d.tos, "RESET has TOS %02x", got->d.tos);
}

static void resets_limited(struct t *t, long arg)
{
	struct peer *p = peer_main(t);
	struct mroce_wire_control w = {.op = MROCE_C_PROBE, .flags = MROCE_F_ACKREQ};
	struct mroce_wire_hello hello;
	uint64_t began, took;
	int i, n = 0;

	(void)arg;
	run(t, 1000); /* what other cases have used of it */
	began = now_ms();
	for (i = 0; i < 3000; i++) {
		header(&w.base, MROCE_T_PROBE, 0, 0, i, random_of(t) | 1);
		send_raw(t, &p->own, 0xc222, ECT0, &w, sizeof(w));
		if (i % 50 == 0)
			run(t, 0);
	}
	new_hello(t, p, &hello);
	asked(t, p, &hello, "HELLO");
	while (wait_for(t, MROCE_T_RESET, any, NULL, 0))
		n++;
	need(t, n, "no RESET");
	took = now_ms() - began;
	/* a limit of a thousand a second would be one, too */
	need(t, n < 1500 || n <= 1000 + (int)took,
	     "%d of 3000 unknown ids in %u ms are answered by RESET: there is no limit", n,
	     (unsigned int)took);
}

/* A Write of the target's that is in flight, because nobody acknowledges it */
static struct packet *in_flight(struct t *t, struct peer *p, struct stream **s, struct in **in)
{
	struct packet *d;

	/* it shall not fail while we think */
	*s = stream_new(t, out_new(t, p), &(struct attributes){DEFAULTS, .timeout = 19});
	*in = in_of(t, p);
	run(t, 5);
	t->auto_ack = t->auto_hello = false;
	post(t, *s, 7, MROCE_OP_WRITE, 0, 8, 0, 0, 0, 0, 0);
	d = data_for(t, *s, MROCE_OP_WRITE, 1000);
	need(t, d, "the target's Write does not come");
	return d;
}

static void reset_send(struct t *t, const struct packet *d, uint64_t id_xor, uint32_t number_add)
{
	struct mroce_wire_reset r = {.base = *base_of(d), .type = MROCE_T_DATA, .instance = 0};

	r.base.type = MROCE_T_RESET;
	r.base.id ^= htobe64(id_xor);
	r.base.number = htobe32(be32toh(r.base.number) + number_add);
	send_raw(t, &d->d.to, d->d.port, NOT_ECT, &r, sizeof(r));
}

static bool restarts(const struct packet *p, const void *what)
{
	(void)what;
	return ((const struct mroce_wire_hello *)p->bytes)->flags & MROCE_H_RESTART;
}

enum reset { OTHER_ID, NOT_IN_FLIGHT, SAME, NEW_ID, NEW_INSTANCE, WRONG_NONCE };

static void reset(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t);
	struct stream *s;
	struct in *in;
	struct packet *d = in_flight(t, p, &s, &in), *next, *hello;
	struct mroce_wire_hello w;
	struct completion c;
	uint8_t epoch = base_of(d)->epoch;
	int i;

	reset_send(t, d, arg == OTHER_ID, arg == NOT_IN_FLIGHT ? 0x10000 : 0);
	hello = wait_for(t, MROCE_T_HELLO, restarts, NULL, 100);
	if (arg == OTHER_ID || arg == NOT_IN_FLIGHT) {
		need(t, !hello, "a RESET that names %s raised a HELLO",
		     arg == OTHER_ID ? "another id" : "no number in flight");
		t->auto_ack = true;
		need(t, completion(t, s).status == 0, "the request failed");
		return;
	}
	/* what its path's failure overtook is in flight no more: the Write has another number then */
	for (i = 0; !hello && i < 10; i++) {
		while ((next = data_for(t, s, MROCE_OP_WRITE, 0)))
			d = next;
		reset_send(t, d, 0, 0);
		hello = wait_for(t, MROCE_T_HELLO, restarts, NULL, 100);
	}
	need(t, hello, "a RESET that names a number in flight raised no HELLO with RESTART");
	hello_make(t, p, &w, arg == NEW_ID ? in->id + 2 : in->id, in->half);
	header(&w.base, MROCE_T_HELLO_ACK, 0, 0, 0, in->ack_id);
	w.nonce = ((struct mroce_wire_hello *)hello->bytes)->nonce;
	if (arg == NEW_INSTANCE || arg == WRONG_NONCE)
		w.instance = htobe64(p->instance + 1);
	if (arg == WRONG_NONCE)
		w.nonce ^= 1;
	memcpy(w.to, ((struct mroce_wire_hello *)hello->bytes)->to, 16);
	w.npaths = in->paths;
	if (arg == NEW_ID)
		in->id += 2;
	forget(t);
	t->auto_ack = arg != WRONG_NONCE;
	send_raw(t, &p->own, hello->d.port, NOT_ECT, &w, sizeof(w));
	if (arg == WRONG_NONCE) {
		run(t, 50);
		need(t, qp_state(t, s) == 3, "an answer with another nonce ended the stream");
		t->auto_ack = t->auto_hello = true;
	}
	c = completion(t, s);
	if (arg == NEW_INSTANCE)
		need(t, c.status == 12,
		     "the peer is another instance, and the request ends with status %u", c.status);
	else
		need(t, c.status == 0, "the request ends with status %u", c.status);
	if (arg == NEW_ID) {
		do {	/* past what was sent before the answer */
			d = data_for(t, s, MROCE_OP_WRITE, 1000);
			need(t, d, "the data are not sent again with the new id");
		} while (base_of(d)->id != htobe64(in->id));
		need(t, base_of(d)->epoch != epoch, "the path goes on in the same epoch");
	}
}

static const struct test_case cases[] = {
	{"answered", "C2 D1 D3",
	 "HELLO is answered by HELLO_ACK, each of whose fields is as its table says", answered},
	{"answered-from", "D1 D4 D6",
	 "HELLO_ACK has the source port of the HELLO, is Not-ECT and of no class", answered_from},
	{"idempotent", "C2",
	 "the same instance, half and own_id get the same id, any other another one", idempotent},
	{"paths", "C2", "never more paths are agreed to than were asked for", paths, 1, 8},
	{"paths-most", "C2", "64 paths may be asked for", paths, 64},
	{"ids-random", "C2", "ids are random, of 64 bits", ids_random},
	{"bad-version-min", "D3", "HELLO with version_min 0 is ignored", bad_hello, VERSION_0},
	{"bad-version-order", "D3", "HELLO with version_min above version_max is ignored",
	 bad_hello, VERSION_ORDER},
	{"bad-paths-0", "C8 D3", "HELLO with npaths 0 is dropped", bad_hello, PATHS_0},
	{"bad-paths-65", "D3", "HELLO with npaths 65 is ignored", bad_hello, PATHS_65},
	{"bad-planes-0", "D3", "HELLO without a plane is ignored", bad_hello, PLANES_0},
	{"bad-planes-9", "D3", "HELLO with 9 planes is ignored", bad_hello, PLANES_9},
	{"bad-own-id", "C8", "HELLO with own_id 0 is dropped", bad_hello, OWN_ID_0},
	{"bad-to", "C8", "HELLO that is meant for another address is dropped", bad_hello, TO_OTHER},
	{"bad-plane", "C8", "HELLO whose first plane is not its source is dropped", bad_hello,
	 PLANE_OTHER},
	{"bad-short", "D3", "HELLO that is a byte short is ignored", bad_hello, SHORT},
	{"version-none", "V1 C4", "no common version: REFUSED, with the answerer's range",
	 version_none, 2, 3},
	{"version-range", "V1 C2", "of a range of versions, 1 is chosen", version_range, 2, 3},
	{"reserved-flag-08", "D3", "reserved flags of HELLO are not looked at", reserved_flags,
	 0x08},
	{"reserved-flag-80", "D3", "reserved flags of HELLO are not looked at", reserved_flags,
	 0x80},
	{"payload-least", "C2", "a largest payload of 1,024 is accepted", small_payload, 1024},
	{"payload-below", "C4", "one below 1,024 is not", small_payload, 1023},
	{"cookie-own", "C3",
	 "another instance at a known address is asked for a cookie, and accepted with it",
	 other_instance, 0},
	{"cookie-forged", "C3", "a cookie that was changed is not accepted, and nothing is ended",
	 other_instance, 1},
	{"cookie-own-id", "C3", "a cookie is bound to own_id", other_instance, 2},
	{"cookie-half", "C3", "a cookie is bound to the half", other_instance, 3},
	{"cookie-instance", "C3", "a cookie is bound to the instance", other_instance, 4},
	{"cookie-nonce", "C3", "a cookie is bound to the nonce", other_instance, 5},
	{"cookie-address", "C3", "a cookie is bound to the address", cookie_elsewhere},
	{"cookie-load", "C3 C9", "when many halves are half open a cookie is asked for",
	 many_half_open},
	{"its-hello", "C1 D4 D6 L1", "each field of the target's HELLO is as its table says",
	 hello_fields},
	{"its-hello-again", "C1", "HELLO is repeated, no sooner than doubling from 1 ms allows",
	 hello_repeats},
	{"reply-good", "C2", "with HELLO_ACK the half opens, and carries the id that it was given",
	 reply, PAYLOAD_OK},
	{"reply-nonce", "C2 C6", "an answer with another nonce does not count", reply, NONCE},
	{"reply-id", "C7", "an answer with another id does not count", reply, ID},
	{"reply-refused", "C4", "REFUSED ends a half that is not open", reply, REFUSED},
	{"reply-payload", "C4", "a largest payload below 1,024 counts as REFUSED", reply,
	 PAYLOAD_SMALL},
	{"reply-cookie", "C3", "HELLO is repeated with the cookie that it was answered by", reply,
	 COOKIE_},
	{"refused-open", "C4", "an open half ignores REFUSED", open_half_ignores},
	{"unknown-id-open", "C5 D1 D4", "OPEN with an unknown id is answered by RESET", unknown_id,
	 MROCE_T_OPEN},
	{"unknown-id-data", "C5 D1 D4", "DATA with an unknown id is answered by RESET", unknown_id,
	 MROCE_T_DATA},
	{"unknown-id-control", "C5", "CONTROL with an unknown id is answered by RESET", unknown_id,
	 MROCE_T_CONTROL},
	{"unknown-id-probe", "C5", "PROBE with an unknown id is answered by RESET", unknown_id,
	 MROCE_T_PROBE},
	{"unknown-id-hello-ack", "C5", "HELLO_ACK with an unknown id is not", unknown_id,
	 MROCE_T_HELLO_ACK},
	{"unknown-id-reset", "C5", "RESET with an unknown id is not", unknown_id, MROCE_T_RESET},
	{"unknown-id-open-reply", "C5", "OPEN_REPLY with an unknown id is not", unknown_id,
	 MROCE_T_OPEN_REPLY},
	{"unknown-id-ack", "C5", "ACK with an unknown id is not", unknown_id, MROCE_T_ACK},
	{"unknown-id-verify", "C5 L4", "VERIFY with an unknown id has no effect", unknown_id,
	 MROCE_T_VERIFY},
	{"reset-limited", "C5", "RESET is rate limited", resets_limited},
	{"reset-other-id", "C6", "RESET that names another id has no effect", reset, OTHER_ID},
	{"reset-not-in-flight", "C6", "RESET that names no number in flight has no effect", reset,
	 NOT_IN_FLIGHT},
	{"reset-same", "C6",
	 "RESET raises HELLO with RESTART; the same id in answer: nothing has happened", reset,
	 SAME},
	{"reset-new-id", "C6", "another id in answer: the half goes on, each path in a new epoch",
	 reset, NEW_ID},
	{"reset-new-instance", "C6", "another instance in answer: every stream of the half fails",
	 reset, NEW_INSTANCE},
	{"reset-nonce", "C6", "only an answer with the fresh nonce counts", reset, WRONG_NONCE},
};
CHAPTER(handshake, "Handshake, versions, ids, cookies, RESET");
