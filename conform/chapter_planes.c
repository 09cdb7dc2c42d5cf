// SPDX-License-Identifier: GPL-2.0
/* A second address of ours is a second plane: nothing but VERIFY until both have proved that they receive. Clauses L. */
#include <string.h>

#include "script.h"

static uint8_t payload[64], zero[64];

/* A half whose HELLO names a second address, of which nobody has proved anything */
static struct out *two_planes(struct t *t, struct peer *p, const struct soft_address *second,
			      uint32_t serial, struct mroce_wire_hello *w)
{
	struct out *o = out_new(t, p);

	hello_make(t, p, w, o->own_id, o->half);
	w->nplanes = 2;
	w->serial = htobe32(serial);
	memcpy(w->plane[1].addr, second->gid, 16);
	w->plane[1].mtu = htobe16(1500);
	need(t, hello_ask(t, p, w), "HELLO with a second plane is not answered");
	return o;
}

static struct soft_address second_of(struct t *t)
{
	if (t->owns < 3)
		skip(t, "needs three addresses of this host (--own)");
	return t->own[t->owns - 1];
}

static struct message write_from(struct t *t, struct stream *s, const struct soft_address *from)
{
	uint8_t bytes[512];
	struct message m;
	size_t n;

	pattern(payload, sizeof(payload), 1);
	m = write_at(s, 0, payload, sizeof(payload));
	n = message_packet(t, &m, 0, bytes);
	header((void *)bytes, MROCE_T_DATA, 0, s->out->path[0].epoch, s->out->path[0].number++,
	       s->out->id);
	send_raw(t, from, s->out->path[0].port, ECT0, bytes, n);
	return m;
}

static bool verifies(const struct packet *p, const void *what)
{
	return base_of(p)->id == htobe64(((const struct out *)what)->own_id);
}

static struct packet *verify(struct t *t, struct out *o, const struct soft_address *from,
			     uint64_t nonce, uint64_t echo, uint64_t ms)
{
	struct mroce_wire_verify w = {.nonce = htobe64(nonce), .echo = htobe64(echo)};

	header(&w.base, MROCE_T_VERIFY, 0, 0, 0, o->id);
	send_raw(t, from, 0xc055, NOT_ECT, &w, sizeof(w));
	return wait_for(t, MROCE_T_VERIFY, verifies, o, ms);
}

enum step { NEVER_, ONE_STEP, VERIFIED, UNNAMED, WRONG_ECHO, ELSEWHERE };

static void receiver(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t);
	struct soft_address second = second_of(t), third = t->own[t->owns - 2];
	struct mroce_wire_hello hello;
	struct out *o = two_planes(t, p, &second, 2, &hello);
	struct stream *s = stream_new(t, o, &(struct attributes){DEFAULTS});
	const struct mroce_wire_verify *w;
	struct message m;
	struct packet *got;
	uint64_t nonce;

	if (arg == UNNAMED) {
		need(t, !verify(t, o, &third, 77, 0, 200),
		     "VERIFY from an address that was not named is answered");
		return;
	}
	if (arg != NEVER_) {
		got = verify(t, o, &second, 77, 0, 1000);
		need(t, got, "VERIFY is not answered");
		w = (const void *)got->bytes;
		need(t, w->flags & MROCE_V_REPLY && !(w->flags & MROCE_V_VERIFIED),
		     "flags %02x: nothing was proved yet", w->flags);
		need(t, be64toh(w->echo) == 77 && w->nonce,
		     "the answer does not echo the nonce, or has none");
		need(t, !memcmp(&got->d.to, &second, sizeof(second)),
		     "it does not go to where VERIFY came from");
		need(t, (got->d.tos & 3) == NOT_ECT && got->d.port == 0xc055, "TOS %02x, port %u",
		     got->d.tos, got->d.port);
		nonce = be64toh(w->nonce);
		if (arg == VERIFIED || arg == WRONG_ECHO || arg == ELSEWHERE) {
			got = verify(t, o, &second, 78, nonce ^ (arg == WRONG_ECHO),
				     arg == WRONG_ECHO ? 200 : 1000);
			need(t, arg == WRONG_ECHO || got, "VERIFY with the nonce is not answered");
			if (arg == WRONG_ECHO)
				need(t,
				     !got || !(((const struct mroce_wire_verify *)got->bytes)
						       ->flags &
					       MROCE_V_VERIFIED),
				     "VERIFY with a wrong echo is answered by VERIFIED");
			else
				need(t,
				     ((const struct mroce_wire_verify *)got->bytes)->flags &
					     MROCE_V_VERIFIED,
				     "its nonce came back, and it does not say VERIFIED");
		}
	}
	m = write_from(t, s, arg == ELSEWHERE ? &third : &second);
	run(t, 30);
	ack_for(t, o, 1, probe_send(t, o, 1));
	if (arg == VERIFIED)
		memory_is(t, s, 0, payload, sizeof(payload),
			  "a packet by a plane that was verified");
	else
		memory_is(t, s, 0, zero, sizeof(zero),
			  "a packet by a plane that was not verified is dropped: the memory");
	message_send(t, &m, 0, 0);
	still_works(t, s);
}

/* A plane that a later HELLO leaves out may be used a while, and one with a lower serial changes nothing */
static void old_serial(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t);
	struct soft_address second = second_of(t);
	struct mroce_wire_hello hello, old;
	struct out *o = two_planes(t, p, &second, 5, &hello);
	struct mroce_wire_hello *got;
	struct packet *v;

	(void)arg;
	old = hello;
	old.nplanes = 1;
	old.serial = htobe32(4);
	old.nonce = htobe64(random_of(t));
	memset(&old.plane[1], 0, sizeof(old.plane[1]));
	got = hello_ask(t, p, &old);
	need(t, got && be64toh(got->own_id) == o->id,
	     "HELLO with a lower serial is not answered as ever");
	v = verify(t, o, &second, 5, 0, 1000);
	need(t, v, "a list with a lower serial took the second plane away");
}

/* ---- the target proves our second address */

/* of this half, to the second address: halves of cases before may still ask there */
struct there {
	struct soft_address to;
	uint64_t id;
};

static bool to_address(const struct packet *p, const void *what)
{
	const struct there *there = what;

	return !memcmp(&p->d.to, &there->to, sizeof(p->d.to)) &&
	       base_of(p)->id == htobe64(there->id);
}

static void sender(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t);
	struct soft_address second = second_of(t);
	struct stream *s;
	struct out *o;
	struct in *in;
	struct mroce_wire_hello hello;
	const struct mroce_wire_verify *v;
	struct mroce_wire_verify reply = {.flags = MROCE_V_REPLY};
	struct there there = {second, 0};
	struct packet *got;
	int i;

	o = out_new(t, p);
	s = stream_new(t, o, &(struct attributes){DEFAULTS});
	in = in_of(t, p);
	there.id = in->id;
	taken(t, o, 0, probe_send(t, o, 0), "a PROBE");
	/* its half takes the list from our HELLO, for it has heard from us with the id that it gave ([L6]) */
	hello_make(t, p, &hello, o->own_id, o->half);
	hello.nplanes = 2;
	hello.serial = htobe32(2);
	memcpy(hello.plane[1].addr, second.gid, 16);
	hello.plane[1].mtu = htobe16(1500);
	need(t, hello_ask(t, p, &hello), "HELLO with a second plane is not answered");
	taken(t, o, 0, probe_send(t, o, 0), "a PROBE");
	got = wait_for(t, MROCE_T_VERIFY, to_address, &there, 1500);
	need(t, got, "the second plane, which HELLO named, is not asked by VERIFY");
	v = (const void *)got->bytes;
	need(t, v->nonce && !(v->flags & MROCE_V_REPLY), "nonce or flags");
	for (i = 0; i < 3; i++) {
		post(t, s, i, MROCE_OP_WRITE, 0, 60000, 0x1000, 1, 0, 0, 0);
		need(t, !completion(t, s).status, "a Write fails");
	}
	while ((got = wait_for(t, MROCE_T_DATA, to_address, &there, 0)))
		need(t, false, "DATA goes to an address that has not proved anything");
	if (!arg)
		return;
	/* those that were on their way already do not have our nonce */
	for (i = 0; i < 20 && !(reply.flags & MROCE_V_VERIFIED); i++) {
		got = wait_for(t, MROCE_T_VERIFY, to_address, &there, 3000);
		need(t, got, "VERIFY is not repeated");
		v = (const void *)got->bytes;
		header(&reply.base, MROCE_T_VERIFY, 0, 0, 0, in->ack_id);
		reply.nonce = htobe64(4242);
		reply.echo = v->nonce;
		if (be64toh(v->echo) == 4242)
			reply.flags |= MROCE_V_VERIFIED;
		send_raw(t, &second, got->d.port, NOT_ECT, &reply, sizeof(reply));
	}
	need(t, reply.flags & MROCE_V_VERIFIED, "it does not send our nonce back");
	need(t, wait_for(t, MROCE_T_PROBE, to_address, &there, 3000),
	     "verified, and no path probes there");
}

static const struct test_case cases[] = {
	{"unproved", "L3 C7", "a packet by a plane that was named and not verified is dropped",
	 receiver, NEVER_},
	{"half-proved", "L3 L4", "so after one VERIFY, whose answer was not sent back", receiver,
	 ONE_STEP},
	{"verified", "L4", "with its nonce back it takes packets there, and says VERIFIED",
	 receiver, VERIFIED},
	{"unnamed", "L4", "VERIFY from an address that was not named has no effect", receiver,
	 UNNAMED},
	{"wrong-echo", "L4", "VERIFY with a wrong echo has no effect", receiver, WRONG_ECHO},
	{"elsewhere", "L4 C7", "a pair that was verified allows no other", receiver, ELSEWHERE},
	{"old-serial", "L6", "a list of planes with a lower serial is out of date", old_serial},
	{"its-verify", "L3 L6",
	 "the target sends nothing but VERIFY to a plane that has proved nothing", sender, 0},
	{"its-verified", "L3 L5 L6", "and its paths probe there when it has", sender, 1},
};
CHAPTER(planes, "Planes");
