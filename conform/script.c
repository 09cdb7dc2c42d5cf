// SPDX-License-Identifier: GPL-2.0
/* The wire as a case sees it: what is sent, what comes, and the answers that any peer owes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "script.h"

/* of a half that is shared: cases, and ms after which a host may have forgotten it ([C9]) */
enum { USES = 60, IDLE = 3000 };

void fail(struct t *t, const char *file, int line, const char *format, ...)
{
	va_list a;
	int n;

	va_start(a, format);
	n = vsnprintf(t->why, sizeof(t->why), format, a);
	va_end(a);
	if (n > 0 && n < (int)sizeof(t->why))
		snprintf(t->why + n, sizeof(t->why) - n, " (%s:%d)", file, line);
	t->skipped = false;
	longjmp(t->out_of_case, 1);
}

void skip(struct t *t, const char *format, ...)
{
	va_list a;

	va_start(a, format);
	vsnprintf(t->why, sizeof(t->why), format, a);
	va_end(a);
	t->skipped = true;
	longjmp(t->out_of_case, 1);
}

uint64_t random_of(struct t *t)
{
	uint64_t z = t->rng += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint64_t now_ms(void)
{
	return udp_now() / 1000000;
}

void pattern(uint8_t *p, size_t n, unsigned int seed)
{
	uint32_t x = seed * 2654435761U + 1;

	while (n--) {
		x = x * 1664525 + 1013904223;
		*p++ = x >> 24;
	}
}

static bool same(const struct soft_address *a, const struct soft_address *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static uint32_t stamp_now(void)
{
	return udp_now() >> MROCE_STAMP_SHIFT;
}

/* ---- sending */

void header(struct mroce_wire_base *b, uint8_t type, uint8_t path, uint8_t epoch, uint32_t number,
	    uint64_t id)
{
	*b = (struct mroce_wire_base){MROCE_WIRE_VERSION, type,	      path, epoch,
				      htobe32(number),	  htobe64(id)};
}

void send_raw(struct t *t, const struct soft_address *from, uint16_t port, uint8_t tos,
	      const void *bytes, size_t length)
{
	send_to(t, from, &t->target, port, tos, bytes, length);
}

void send_to(struct t *t, const struct soft_address *from, const struct soft_address *to,
	     uint16_t port, uint8_t tos, const void *bytes, size_t length)
{
	struct soft_datagram d = {
		.from = *from,
		.to = *to,
		.port = port,
		.tos = tos,
		.hops = t->hops,
		.bytes = bytes,
		.length = length,
	};

	/* what the sockets hold is on its way through a slow machine: each packet of a script is sent */
	while (udp_send(t->udp, &d) && errno != ECONNREFUSED && errno != EMSGSIZE) {
		if (errno == EAGAIN || errno == ENOBUFS) {
			usleep(1000);
			continue;
		}
		fail(t, __FILE__, __LINE__, "cannot send: %s", strerror(errno));
	}
}

/* The header is filled in; the packet's number */
uint32_t send_numbered(struct t *t, struct out *o, unsigned int path, void *bytes, size_t length)
{
	struct mroce_wire_base *b = bytes;
	uint32_t number = o->path[path].number++;

	header(b, b->type, path, o->path[path].epoch, number, o->id);
	send_raw(t, &o->peer->own, o->path[path].port, t->tos, bytes, length);
	/* each may be answered, and a socket keeps only so much */
	if (number % 16 == 0)
		run(t, 0);
	return number;
}

static unsigned int payload_of(const struct soft_address *a)
{
	return 1500 - (a->gid[10] == 0xff && !a->gid[0] ? 20 : 40) - 8 -
	       sizeof(struct mroce_wire_data);
}

void hello_make(struct t *t, struct peer *p, struct mroce_wire_hello *w, uint64_t own_id,
		uint32_t half)
{
	memset(w, 0, sizeof(*w));
	header(&w->base, MROCE_T_HELLO, 0, 0, 0, 0);
	w->version_min = w->version_max = MROCE_WIRE_VERSION;
	w->npaths = PATHS;
	w->nplanes = 1;
	w->max_payload = htobe16(payload_of(&p->own));
	w->own_id = htobe64(own_id);
	w->instance = htobe64(p->instance);
	w->half = htobe32(half);
	w->serial = htobe32(1);
	w->nonce = htobe64(random_of(t));
	memcpy(w->to, p->target.gid, 16);
	memcpy(w->plane[0].addr, p->own.gid, 16);
	w->plane[0].mtu = htobe16(1500);
}

void hello_send(struct t *t, struct peer *p, const struct mroce_wire_hello *w)
{
	send_raw(t, &p->own, MROCE_PATH_PORT_BASE + 77, NOT_ECT, w, sizeof(*w));
}

static bool answers_hello(const struct packet *p, const void *what)
{
	const struct mroce_wire_hello *asked = what, *w = (const void *)p->bytes;

	return w->base.id == asked->own_id && w->nonce == asked->nonce;
}

struct mroce_wire_hello *hello_ask(struct t *t, struct peer *p, struct mroce_wire_hello *w)
{
	static struct mroce_wire_hello answer;
	struct packet *got = NULL;
	bool cookied = false;
	int tries;

	for (tries = 0; tries < 10 && !got; tries++) {
		hello_send(t, p, w);
		got = wait_for(t, MROCE_T_HELLO_ACK, answers_hello, w, 200);
		if (!got)
			continue;
		memcpy(&answer, got->bytes, sizeof(answer));
		free(got);
		if (answer.flags & MROCE_H_COOKIE && !cookied) {
			memcpy(w->cookie, answer.cookie, sizeof(w->cookie));
			cookied = true;
			got = NULL;
		} else {
			return &answer;
		}
	}
	return NULL;
}

static struct peer *peer_new(struct t *t, const struct soft_address *own)
{
	struct peer *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	p->own = *own;
	p->target = t->target;
	p->instance = random_of(t) | 1;
	p->next_half = random_of(t);
	p->next = t->peers;
	t->peers = p;
	return p;
}

struct peer *peer_main(struct t *t)
{
	struct peer *p;

	for (p = t->peers; p && !same(&p->own, &t->own[0]); p = p->next)
		;
	return p ? p : peer_new(t, &t->own[0]);
}

struct peer *peer_fresh(struct t *t)
{
	struct peer **p, *old;
	const struct soft_address *own;

	if (t->owns < 2)
		skip(t, "needs a further address of this host (--own ADDRESS,ADDRESS...)");
	own = &t->own[1 + t->fresh++ % (t->owns - 1)];
	/* whoever was at this address before has restarted */
	for (p = &t->peers; *p && !same(&(*p)->own, own); p = &(*p)->next)
		;
	old = *p;
	if (old) {
		*p = old->next;
		while (old->in) {
			struct in *in = old->in;

			old->in = in->next;
			free(in);
		}
		free(old->pool);
		free(old);
	}
	return peer_new(t, own);
}

struct out *out_new(struct t *t, struct peer *p)
{
	struct mroce_wire_hello w, *got;
	struct out *o = calloc(1, sizeof(*o));
	unsigned int i;

	if (!o)
		abort();
	o->next = t->outs;
	t->outs = o;
	o->peer = p;
	o->half = p->next_half++;
	o->own_id = random_of(t) | 1;
	hello_make(t, p, &w, o->own_id, o->half);
	got = hello_ask(t, p, &w);
	need(t, got, "no answer to HELLO");
	need(t, !(got->flags & MROCE_H_REFUSED), "HELLO was refused, reason %u", got->reason);
	need(t, !(got->flags & MROCE_H_COOKIE), "HELLO with its cookie was answered by a cookie");
	o->id = be64toh(got->own_id);
	o->instance = be64toh(got->instance);
	o->payload = be16toh(got->max_payload) < payload_of(&p->own) ? be16toh(got->max_payload)
								     : payload_of(&p->own);
	o->paths = got->npaths;
	for (i = 0; i < PATHS; i++) {
		o->path[i].number = 1;
		o->path[i].port = MROCE_PATH_PORT_BASE + (random_of(t) & 0x3fff);
	}
	return o;
}

struct out *out_shared(struct t *t, struct peer *p)
{
	struct out *o = p->pool, **at;
	unsigned int i;

	if (o && (o->uses >= USES || now_ms() - o->used_at > IDLE)) {
		p->pool = NULL;
		free(o);
		o = NULL;
	}
	if (!o) {
		o = p->pool = out_new(t, p);
		for (at = &t->outs; *at != o; at = &(*at)->next)
			;
		*at = o->next; /* it outlives the case */
	}
	for (i = 0; o->uses && i < PATHS; i++) {
		o->path[i].epoch++;
		o->path[i].number = 1;
		o->path[i].port = MROCE_PATH_PORT_BASE + (random_of(t) & 0x3fff);
	}
	o->uses++;
	o->used_at = now_ms();
	return o;
}

/* ---- what the peer's receiving half keeps, and its ACKs */

void in_note(struct in *in, const struct packet *p, uint64_t now, bool take)
{
	const struct mroce_wire_base *b = base_of(p);
	struct in_path *path = &in->path[b->path % 64];
	uint32_t number = be32toh(b->number), stamp, by, i;

	if (!path->seen || b->epoch != path->epoch) {
		if (path->seen && (int8_t)(b->epoch - path->epoch) < 0)
			return;
		memset(path, 0, sizeof(*path));
		path->seen = true;
		path->epoch = b->epoch;
	}
	path->port = p->d.port;
	path->packets++;
	path->ce += (p->d.tos & 3) == CE;
	path->bytes += b->type == MROCE_T_DATA ? p->data.bytes : 0;
	stamp = b->type == MROCE_T_DATA ? p->data.stamp
		: b->type == MROCE_T_OPEN
			? be32toh(((const struct mroce_wire_open *)p->bytes)->stamp)
			: be32toh(((const struct mroce_wire_control *)p->bytes)->stamp);
	if (!path->stamp_at || before(path->stamp, stamp)) {
		path->stamp = stamp;
		path->stamp_at = now;
	}
	if (before(path->highest, number)) {
		by = number - path->highest;
		path->highest = number;
		if (by >= MROCE_BITMAP_BITS)
			memset(path->bits, 0, sizeof(path->bits));
		else
			while (by--) {
				for (i = 3; i; i--)
					path->bits[i] =
						path->bits[i] << 1 | path->bits[i - 1] >> 63;
				path->bits[0] <<= 1;
			}
	}
	by = path->highest - number;
	if (take && by < MROCE_BITMAP_BITS)
		path->bits[by / 64] |= 1ULL << by % 64;
}

void ack_in(struct t *t, struct in *in, unsigned int path, const struct mroce_wire_record *records,
	    unsigned int n)
{
	struct {
		struct mroce_wire_ack ack;
		struct mroce_wire_record record[MROCE_MAX_RECORDS];
	} w = {0};
	struct in_path *p = &in->path[path];
	unsigned int i;

	header(&w.ack.base, MROCE_T_ACK, path, p->epoch, p->highest, in->ack_id);
	w.ack.anchor = htobe32(p->highest);
	w.ack.echo = htobe32(p->stamp);
	w.ack.delay = htobe32((udp_now() - p->stamp_at) >> MROCE_STAMP_SHIFT);
	w.ack.packets = htobe32(p->packets);
	w.ack.ce = htobe32(p->ce);
	w.ack.bytes = htobe64(p->bytes);
	w.ack.share = htobe32(t->share);
	w.ack.allowance = htobe32(t->allowance);
	w.ack.active = htobe16(1);
	w.ack.nrecords = n;
	for (i = 0; i < MROCE_BITMAP_WORDS; i++)
		w.ack.bitmap[i] = htobe64(p->bits[i]);
	memcpy(w.record, records, n * sizeof(*records));
	send_raw(t, &in->own, p->port, NOT_ECT, &w, sizeof(w.ack) + n * sizeof(*records));
}

/* ---- what is done behind a case */

static void hello_answer(struct t *t, const struct packet *p)
{
	const struct mroce_wire_hello *in = (const void *)p->bytes;
	struct mroce_wire_hello w;
	struct peer *peer;
	struct in *half;

	for (peer = t->peers; peer && !same(&peer->own, &p->d.to); peer = peer->next)
		;
	if (!peer)
		return;
	for (half = peer->in; half; half = half->next)
		if (half->half == be32toh(in->half) && half->ack_id == be64toh(in->own_id) &&
		    half->instance == be64toh(in->instance))
			break;
	if (!half) {
		half = calloc(1, sizeof(*half));
		if (!half)
			abort();
		half->own = p->d.to;
		half->peer = p->d.from;
		half->half = be32toh(in->half);
		half->ack_id = be64toh(in->own_id);
		half->instance = be64toh(in->instance);
		half->id = random_of(t) | 1;
		half->paths = in->npaths;
		half->payload = be16toh(in->max_payload) < payload_of(&p->d.to)
					? be16toh(in->max_payload)
					: payload_of(&p->d.to);
		half->next = peer->in;
		peer->in = half;
	}
	half->nonce = be64toh(in->nonce);
	hello_make(t, peer, &w, half->id, half->half);
	header(&w.base, MROCE_T_HELLO_ACK, 0, 0, 0, half->ack_id);
	w.npaths = half->paths;
	w.nonce = in->nonce;
	memcpy(w.to, in->to, 16);
	send_raw(t, &peer->own, p->d.port, NOT_ECT, &w, sizeof(w));
}

static void open_answer(struct t *t, struct in *in, const struct packet *p)
{
	const struct mroce_wire_open *o = (const void *)p->bytes;
	struct mroce_wire_open w = {
		.own_qpn = o->peer_qpn,
		.peer_qpn = o->own_qpn,
		.to = o->stream,
		.attempt = o->attempt,
		.log_packets = 12,
		.log_messages = 10,
		.status = MROCE_OPEN_NOT_READY,
	};
	struct stream *s;

	for (s = t->streams; s; s = s->next)
		if (s->qpn == be32toh(o->peer_qpn) && s->target_qpn == be32toh(o->own_qpn))
			break;
	if (s) {
		s->id = be32toh(o->stream);
		s->opened = true;
		w.status = MROCE_OPEN_ACCEPT;
		w.stream = htobe32(s->own);
		w.credit = htobe32(s->grant);
		w.log_packets = s->log_packets;
		w.log_messages = s->log_messages;
		w.reads = s->reads;
	}
	header(&w.base, MROCE_T_OPEN_REPLY, o->base.path, o->base.epoch, 0, in->ack_id);
	send_raw(t, &in->own, p->d.port, NOT_ECT, &w, sizeof(w));
}

static struct in *in_by_id(struct t *t, const struct packet *p)
{
	uint64_t id = be64toh(base_of(p)->id);
	struct peer *peer;
	struct in *in;

	for (peer = t->peers; peer; peer = peer->next)
		for (in = peer->in; in; in = in->next)
			if (in->id == id && same(&in->own, &p->d.to))
				return in;
	return NULL;
}

static void refuse(struct t *t, struct in *in, const struct packet *p)
{
	struct in_path *path = &in->path[base_of(p)->path];
	struct mroce_wire_record r = {
		.kind = MROCE_R_NACK,
		.reason = t->refuse,
		.timer = t->refuse_timer,
		.stream = htobe32(t->withhold->id),
		.spn = htobe32(p->data.spn),
		.number = base_of(p)->number,
		.value = htobe32(p->data.msn),
	};
	uint32_t behind;

	in_note(in, p, udp_now(), false);
	behind = path->highest - be32toh(base_of(p)->number);
	if (behind < MROCE_BITMAP_BITS)
		path->bits[behind / 64] &= ~(1ULL << behind % 64);
	ack_in(t, in, base_of(p)->path, &r, 1);
	t->refusals++;
}

/* True: the case never sees it */
static bool behind(struct t *t, struct packet *p)
{
	const struct mroce_wire_base *b = base_of(p);
	struct in *in;

	if (type_numbered(b->type) && t->drop_every && random_of(t) % t->drop_every == 0) {
		t->dropped++;
		return true;
	}
	if (t->filter && t->filter(t, p))
		return true;
	if (b->type == MROCE_T_HELLO && t->auto_hello)
		hello_answer(t, p);
	if (!type_numbered(b->type))
		return false;
	in = in_by_id(t, p);
	if (!in)
		return false;
	if (t->withhold && b->type == MROCE_T_DATA && p->data.stream == t->withhold->own &&
	    !(p->data.flags & MROCE_F_RESPONSE)) {
		if (t->refuse && !before(p->data.msn, t->refuse_msn))
			refuse(t, in, p);
		return false;
	}
	if (t->mark)
		p->d.tos |= CE;
	in_note(in, p, udp_now(), true);
	if (b->type == MROCE_T_OPEN && t->auto_open)
		open_answer(t, in, p);
	if (t->auto_ack)
		ack_in(t, in, b->path, NULL, 0);
	return false;
}

/* ---- receiving */

static void keep(struct t *t, const struct soft_datagram *d, const uint8_t *bytes, size_t length,
		 unsigned int index)
{
	struct packet *p = calloc(1, sizeof(*p) + length);
	size_t used;

	if (!p)
		abort();
	p->at = udp_now();
	p->d = *d;
	p->index = index;
	p->length = length;
	memcpy(p->bytes, bytes, length);
	if (base_of(p)->type == MROCE_T_DATA)
		data_parse(p->bytes, length, &p->data, &used);
	if (t->verbose)
		fprintf(stderr, "# %s path %u epoch %u number %u, %zu bytes\n",
			type_name(base_of(p)->type), base_of(p)->path, base_of(p)->epoch,
			be32toh(base_of(p)->number), length);
	if (behind(t, p)) {
		free(p);
		return;
	}
	*t->inbox_tail = p;
	t->inbox_tail = &p->next;
	if (++t->waiting > INBOX) {
		p = t->inbox;
		t->inbox = p->next;
		t->waiting--;
		free(p);
	}
}

static void take_apart(struct t *t, const struct soft_datagram *d)
{
	const uint8_t *at = d->bytes;
	size_t left = d->length, used;
	unsigned int n = 0;
	struct data data;

	while (left) {
		if (base_check(at, left))
			return;
		used = left;
		if (at[1] == MROCE_T_DATA && data_parse(at, left, &data, &used))
			return;
		if (at[1] == MROCE_T_ACK && ack_check(at, left, &used))
			return;
		keep(t, d, at, used, n++);
		at += used;
		left -= used;
	}
}

static bool receive_one(struct t *t, uint64_t wait)
{
	static uint8_t bytes[65536];
	struct soft_datagram d;

	if (!udp_receive(t->udp, &d, bytes, sizeof(bytes), wait))
		return false;
	take_apart(t, &d);
	return true;
}

void run(struct t *t, uint64_t ms)
{
	uint64_t end = udp_now() + ms * 1000000;

	do {
		receive_one(t, ms ? 1000000 : 0);
	} while (udp_now() < end);
	while (receive_one(t, 0))
		;
}

static struct packet *unlink_first(struct t *t, struct packet **at)
{
	struct packet *p = *at;

	*at = p->next;
	if (!p->next)
		t->inbox_tail = at;
	t->waiting--;
	p->next = NULL;
	return p;
}

struct packet *wait_for(struct t *t, uint8_t type, match_fn fits, const void *what, uint64_t ms)
{
	uint64_t end = udp_now() + ms * t->patience * 1000000;
	struct packet **at;

	for (;;) {
		for (at = &t->inbox; *at; at = &(*at)->next)
			if (base_of(*at)->type == type && (!fits || fits(*at, what)))
				return unlink_first(t, at);
		if (udp_now() >= end)
			return NULL;
		receive_one(t, 1000000);
	}
}

struct packet *next_packet(struct t *t, uint64_t ms)
{
	uint64_t end = udp_now() + ms * 1000000;

	while (!t->inbox && udp_now() < end)
		receive_one(t, 1000000);
	return t->inbox ? unlink_first(t, &t->inbox) : NULL;
}

void forget(struct t *t)
{
	while (receive_one(t, 0))
		;
	while (t->inbox)
		free(unlink_first(t, &t->inbox));
}

/* ---- our messages */

struct message message(struct stream *s, uint8_t op, const void *data, uint32_t length)
{
	struct message m = {
		.s = s,
		.op = op,
		.data = data,
		.length = length,
		.psize = 1024,
		.first = s->spn,
		.msn = s->msn++,
		.rsn = s->rsn,
	};

	m.packets = packets_of(op, length, m.psize);
	s->spn += m.packets;
	s->rsn += op_receives(op);
	if (op_needs_key(op)) {
		m.addr = s->addr;
		m.rkey = s->rkey;
	}
	return m;
}

struct message write_at(struct stream *s, unsigned int offset, const void *data, uint32_t length)
{
	struct message m = message(s, MROCE_OP_WRITE, data, length);

	m.addr += offset;
	return m;
}

struct message read_at(struct stream *s, unsigned int offset, uint32_t length)
{
	struct message m = message(s, MROCE_OP_READ, NULL, length);

	m.addr += offset;
	return m;
}

struct message atomic_at(struct stream *s, uint8_t op, unsigned int offset,
			 const struct mroce_wire_atomic *a)
{
	struct message m = message(s, op, a, 8);

	m.addr += offset;
	return m;
}

size_t message_packet(struct t *t, const struct message *m, uint32_t index, void *bytes)
{
	struct mroce_wire_data *w = bytes;
	uint32_t offset = index * m->psize, n = op_own_payload(m->op);

	memset(w, 0, sizeof(*w));
	w->base.type = MROCE_T_DATA;
	w->stream = htobe32(m->s->id);
	w->spn = htobe32(m->first + index);
	w->msn = htobe32(m->msn);
	w->rsn = htobe32(m->rsn);
	w->offset = htobe32(offset);
	w->length = htobe32(m->length);
	w->addr = htobe64(m->addr +
			  (m->op == MROCE_OP_WRITE || m->op == MROCE_OP_WRITE_IMM ? offset : 0));
	w->rkey = htobe32(m->rkey);
	w->imm = htobe32(m->imm);
	w->opcode = m->op;
	w->flags = (index ? 0 : MROCE_F_FIRST) | (index == m->packets - 1 ? MROCE_F_LAST : 0) |
		   m->flags | t->ackreq | (op_response(m->op) ? MROCE_F_RESPONSE : 0);
	w->psize = htobe16(m->psize);
	w->stamp = htobe32(stamp_now());
	w->floor = htobe32(op_response(m->op) ? 0 : m->s->floor);
	if (op_carries_message(m->op))
		n = m->length - offset < m->psize ? m->length - offset : m->psize;
	if (n)
		memcpy(w + 1, m->data + (op_carries_message(m->op) ? offset : 0), n);
	return sizeof(*w) + n;
}

uint32_t message_send(struct t *t, const struct message *m, uint32_t index, unsigned int path)
{
	uint8_t bytes[65536];
	size_t n = message_packet(t, m, index, bytes);

	return send_numbered(t, m->s->out, path, bytes, n);
}

uint32_t message_send_all(struct t *t, const struct message *m, unsigned int path)
{
	uint32_t i, number = 0;

	for (i = 0; i < m->packets; i++)
		number = message_send(t, m, i, path);
	return number;
}

uint32_t probe_send(struct t *t, struct out *o, unsigned int path)
{
	struct mroce_wire_control w = {
		.op = MROCE_C_PROBE, .flags = MROCE_F_ACKREQ, .stamp = htobe32(stamp_now())};

	w.base.type = MROCE_T_PROBE;
	return send_numbered(t, o, path, &w, sizeof(w));
}

uint32_t control_send(struct t *t, struct out *o, unsigned int path, uint8_t op, uint32_t stream,
		      uint32_t value)
{
	struct mroce_wire_control w = {
		.op = op,
		.flags = MROCE_F_ACKREQ,
		.stream = htobe32(stream),
		.value = htobe32(value),
		.stamp = htobe32(stamp_now()),
	};

	w.base.type = MROCE_T_CONTROL;
	return send_numbered(t, o, path, &w, sizeof(w));
}

void respond(struct t *t, struct stream *s, const struct packet *request, uint8_t op,
	     const void *data, uint32_t length, uint32_t imm, uint32_t spn, uint32_t msn)
{
	struct message m = {
		.s = s,
		.op = op,
		.data = data,
		.length = length,
		.psize = 1024,
		.first = spn,
		.msn = msn,
		.rsn = request->data.msn,
		.imm = imm,
		.packets = packets_of(op, length, 1024),
	};

	message_send_all(t, &m, 0);
}

/* ---- begin and end of a case */

void case_begin(struct t *t, unsigned int index)
{
	t->rng = t->seed * 1000003 + index;
	t->auto_hello = t->auto_ack = t->auto_open = true;
	t->mark = false;
	t->drop_every = 0;
	t->share = t->allowance = 0;
	t->filter = NULL;
	t->withhold = NULL;
	t->refuse = 0;
	t->refuse_msn = 0;
	t->refusals = 0;
	t->tos = ECT0;
	t->hops = 64;
	t->ackreq = MROCE_F_ACKREQ;
	t->dropped = 0;
	t->why[0] = 0;
	t->skipped = false;
	t->data = 0;
	forget(t);
}

void case_end(struct t *t)
{
	t->auto_hello = t->auto_ack = t->auto_open = true;
	t->mark = false;
	t->drop_every = 0;
	t->filter = NULL;
	t->withhold = NULL;
	t->refuse = 0;
	t->share = t->allowance = 0;
	if (t->agent >= 0)
		try_ask(t, "clear");
	forget(t);
	while (t->streams) {
		struct stream *s = t->streams;

		t->streams = s->next;
		free(s);
	}
	while (t->outs) {
		struct out *o = t->outs;

		t->outs = o->next;
		free(o);
	}
}

struct in *in_of(struct t *t, struct peer *p)
{
	uint64_t end = now_ms() + 2000 * t->patience;

	while (!p->in && now_ms() < end)
		run(t, 1);
	need(t, p->in,
	     "the target says no HELLO, though a queue pair is connected to this address");
	return p->in;
}
