// SPDX-License-Identifier: GPL-2.0
/* The agent at the target, streams between its queue pairs and ours, and what a case expects of them. */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "script.h"

enum { LINE = 300000, WAIT = 2000, OPEN_TRIES = 200 };

static char line[LINE];

int script_open(struct t *t, const char *agent, const char *port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *a;
	int on = 1, tries;

	t->inbox_tail = &t->inbox;
	t->agent = -1;
	t->udp = udp_open(t->own, t->owns, MROCE_PORT);
	if (!t->udp) {
		fprintf(stderr,
			"mroce-conform: cannot bind UDP port %u of the addresses of --own: %s\n",
			MROCE_PORT, strerror(errno));
		return -1;
	}
	if (getaddrinfo(agent, port, &hints, &a)) {
		fprintf(stderr, "mroce-conform: %s is no address\n", agent);
		return -1;
	}
	for (tries = 0; tries < 50; tries++) {
		t->agent = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (t->agent >= 0 && !connect(t->agent, a->ai_addr, a->ai_addrlen))
			break;
		close(t->agent);
		t->agent = -1;
		usleep(100000);
	}
	freeaddrinfo(a);
	if (t->agent < 0) {
		fprintf(stderr, "mroce-conform: no agent at %s, port %s\n", agent, port);
		return -1;
	}
	setsockopt(t->agent, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	udp_watch(t->udp, t->agent);
	if (try_ask(t, "hello"))
		return -1;
	snprintf(t->caps, sizeof(t->caps), " %.240s ", line + 3);
	return 0;
}

void script_close(struct t *t)
{
	forget(t);
	while (t->peers) {
		struct peer *p = t->peers;

		t->peers = p->next;
		while (p->in) {
			struct in *in = p->in;

			p->in = in->next;
			free(in);
		}
		free(p->pool);
		free(p);
	}
	if (t->agent >= 0)
		close(t->agent);
	if (t->udp)
		udp_close(t->udp);
}

bool offers(struct t *t, const char *what)
{
	char word[64];

	snprintf(word, sizeof(word), " %s ", what);
	return strstr(t->caps, word);
}

/* ---- requests */

static int exchange(struct t *t, const char *format, va_list a)
{
	size_t have = 0;
	ssize_t n;
	int e = 0;

	n = vsnprintf(line, sizeof(line) - 1, format, a);
	line[n++] = '\n';
	if (write(t->agent, line, n) != n)
		return -1;
	for (;;) {
		run(t, 0);
		n = recv(t->agent, line + have, sizeof(line) - 1 - have, MSG_DONTWAIT);
		if (!n)
			return -1;
		if (n < 0) {
			if (errno != EAGAIN && errno != EINTR)
				return -1;
			run(t, 1);
			continue;
		}
		have += n;
		line[have] = 0;
		if (line[have - 1] == '\n')
			break;
	}
	line[have - 1] = 0;
	if (!strncmp(line, "error ", 6))
		sscanf(line + 6, "%d", &e);
	return e;
}

int try_ask(struct t *t, const char *format, ...)
{
	va_list a;
	int e;

	va_start(a, format);
	e = exchange(t, format, a);
	va_end(a);
	return e;
}

const char *ask(struct t *t, const char *format, ...)
{
	char asked[80];
	va_list a;
	int e;

	va_start(a, format);
	vsnprintf(asked, sizeof(asked), format, a);
	va_end(a);
	va_start(a, format);
	e = exchange(t, format, a);
	va_end(a);
	need(t, e >= 0, "the agent at the target is gone");
	need(t, !e, "the agent, asked for \"%s\", says: %s", asked, line);
	return line + 2;
}

void peek(struct t *t, unsigned int mr, unsigned int offset, void *to, unsigned int length)
{
	const char *hex = ask(t, "peek %u %u %u", mr, offset, length) + 1;
	unsigned int i, byte;

	for (i = 0; i < length && sscanf(hex + 2 * i, "%2x", &byte) == 1; i++)
		((uint8_t *)to)[i] = byte;
	need(t, i == length, "the agent shows %u bytes of %u", i, length);
}

void memory_is(struct t *t, struct stream *s, unsigned int offset, const void *want,
	       unsigned int length, const char *what)
{
	static uint8_t got[MEMORY];
	unsigned int i;

	peek(t, s->mr, offset, got, length);
	for (i = 0; i < length && got[i] == ((const uint8_t *)want)[i]; i++)
		;
	need(t, i == length, "%s: byte %u of %u of the target's memory is %02x, not %02x", what, i,
	     length, got[i], ((const uint8_t *)want)[i]);
}

bool poll_completion(struct t *t, struct stream *s, struct completion *c)
{
	const char *answer = ask(t, "poll %u", s->qp);

	return sscanf(answer, "%" SCNu64 " %u %u %u %u %u %u %u", &c->id, &c->status, &c->opcode,
		      &c->receive, &c->length, &c->with_imm, &c->imm, &c->src_qpn) == 8;
}

struct completion completion(struct t *t, struct stream *s)
{
	uint64_t end = now_ms() + 5000 * t->patience;
	struct completion c = {0};

	while (!poll_completion(t, s, &c)) {
		need(t, now_ms() < end, "no completion at the target");
		run(t, 1);
	}
	return c;
}

void no_completion(struct t *t, struct stream *s)
{
	struct completion c;

	run(t, 10);
	need(t, !poll_completion(t, s, &c),
	     "a completion (id %" PRIu64 ", status %u) at the target, where there ought to be none",
	     c.id, c.status);
}

unsigned int qp_state(struct t *t, struct stream *s)
{
	return atoi(ask(t, "state %u", s->qp));
}

void post_receive(struct t *t, struct stream *s, unsigned int id, unsigned int offset,
		  unsigned int length)
{
	ask(t, "receive %u -1 %u %u %u %u", s->qp, id, s->mr, offset, length);
}

void post(struct t *t, struct stream *s, uint64_t id, uint8_t op, unsigned int offset,
	  unsigned int length, uint64_t addr, uint32_t rkey, uint32_t imm, uint64_t compare,
	  uint64_t swap)
{
	ask(t, "send %u %" PRIu64 " %u %u %u %u %" PRIx64 " %x %u %" PRIu64 " %" PRIu64 " 1", s->qp,
	    id, op, s->mr, offset, length, addr, rkey, imm, compare, swap);
}

/* ---- streams */

void open_make(struct stream *s, struct mroce_wire_open *w, uint32_t attempt)
{
	*w = (struct mroce_wire_open){
		.own_qpn = htobe32(s->qpn),
		.peer_qpn = htobe32(s->target_qpn),
		.psn = htobe32(s->psn),
		.stream = htobe32(s->own),
		.attempt = htobe32(attempt),
		.log_packets = s->log_packets,
		.log_messages = s->log_messages,
		.flags = MROCE_F_ACKREQ,
		.stamp = htobe32(udp_now() >> MROCE_STAMP_SHIFT),
	};
	w->base.type = MROCE_T_OPEN;
}

static bool answers_open(const struct packet *p, const void *what)
{
	const struct stream *s = what;

	return be32toh(((const struct mroce_wire_open *)p->bytes)->to) == s->own &&
	       be64toh(base_of(p)->id) == s->out->own_id;
}

bool stream_open(struct t *t, struct stream *s)
{
	struct mroce_wire_open w;
	struct packet *p;
	uint32_t i;

	for (i = 1; i <= OPEN_TRIES; i++) {
		open_make(s, &w, i);
		send_numbered(t, s->out, 0, &w, sizeof(w));
		p = wait_for(t, MROCE_T_OPEN_REPLY, answers_open, s, 20);
		if (!p)
			continue;
		memcpy(&w, p->bytes, sizeof(w));
		free(p);
		if (w.status == MROCE_OPEN_ACCEPT) {
			s->id = be32toh(w.stream);
			s->credit = be32toh(w.credit);
			return true;
		}
		if (w.status == MROCE_OPEN_REFUSED)
			return false;
		run(t, 2);
	}
	return false;
}

struct stream *stream_new(struct t *t, struct out *o, const struct attributes *a)
{
	struct stream *s = calloc(1, sizeof(*s));
	char address[64];
	unsigned int i, srq = 0;

	if (!s)
		abort();
	s->next = t->streams;
	t->streams = s;
	s->out = o;
	s->peer = o->peer;
	s->qpn = 0x10000 + random_of(t) % 0xe00000;
	s->psn = a->psn_given ? a->psn : random_of(t) & 0xffffff;
	s->target_psn = a->psn_given ? a->target_psn : random_of(t) & 0xffffff;
	s->own = random_of(t) | 1;
	s->spn = s->psn;
	s->log_packets = 12;
	s->log_messages = 10;
	s->reads = 16;
	s->grant = 0xffff;
	sscanf(ask(t, "mr %u %x", MEMORY, a->mr_access), "%u %" SCNx64 " %x", &s->mr, &s->addr,
	       &s->rkey);
	if (a->srq)
		srq = atoi(ask(t, "srq %u", a->depth));
	sscanf(ask(t, "qp rc %x %u %u %d", a->access, a->depth, a->depth, a->srq ? (int)srq : -1),
	       "%u %u", &s->qp, &s->target_qpn);
	for (i = 0; i < a->receives; i++)
		if (a->srq)
			ask(t, "receive -1 %u %u %u %u 4096", srq, i, s->mr,
			    MEMORY / 2 + i % 32 * 4096);
		else
			post_receive(t, s, i, MEMORY / 2 + i % 32 * 4096, 4096);
	address_text(&o->peer->own, address, sizeof(address));
	ask(t, "rtr %u %s %u %u %u %u 5 %u %u", s->qp, address, s->qpn, s->psn, a->rnr_timer,
	    a->reads, a->traffic_class, a->hops);
	if (!a->no_open)
		need(t, stream_open(t, s), "OPEN was not accepted");
	if (!a->no_rts) {
		uint64_t end = now_ms() + 5000 * t->patience;

		ask(t, "rts %u %u %u %u %u %u", s->qp, s->target_psn, a->timeout, a->retry,
		    a->rnr_retry, a->reads);
		while (t->auto_open && !s->opened && now_ms() < end)
			run(t, 1);
		need(t, s->opened || !t->auto_open,
		     "the target says no OPEN, though its queue pair is in RTS");
	}
	return s;
}

struct stream *connected_with(struct t *t, const struct attributes *a)
{
	return stream_new(t, out_shared(t, peer_main(t)), a);
}

struct stream *connected(struct t *t)
{
	return connected_with(t, &(struct attributes){DEFAULTS});
}

/* ---- expectations */

struct about {
	struct out *o;
	struct stream *s;
	unsigned int path;
	uint32_t number;
	uint8_t op;
};

static bool ack_reports(const struct packet *p, const void *what)
{
	const struct about *a = what;

	return be64toh(base_of(p)->id) == a->o->own_id && base_of(p)->path == a->path &&
	       base_of(p)->epoch == a->o->path[a->path].epoch &&
	       !before(be32toh(base_of(p)->number), a->number) &&
	       !(ack_of(p)->flags & MROCE_A_PARTIAL);
}

struct packet *ack_for(struct t *t, struct out *o, unsigned int path, uint32_t number)
{
	static struct packet *kept;
	struct packet *p = wait_for(t, MROCE_T_ACK, ack_reports,
				    &(struct about){.o = o, .path = path, .number = number}, WAIT);

	need(t, p, "no ACK of path %u reports number %u", path, number);
	free(kept); /* a case looks at one at a time */
	kept = p;
	return p;
}

bool ack_bit(const struct packet *ack, uint32_t number)
{
	uint32_t behind = be32toh(ack_of(ack)->anchor) - number;

	return behind < MROCE_BITMAP_BITS &&
	       be64toh(ack_of(ack)->bitmap[behind / 64]) >> behind % 64 & 1;
}

const struct mroce_wire_record *ack_record(const struct packet *ack, uint8_t kind)
{
	const struct mroce_wire_record *r = (const void *)(ack_of(ack) + 1);
	unsigned int i;

	for (i = 0; i < ack_of(ack)->nrecords; i++)
		if (r[i].kind == kind)
			return &r[i];
	return NULL;
}

static bool refuses(const struct packet *p, const void *what)
{
	const struct about *a = what;
	const struct mroce_wire_record *r = (const void *)(ack_of(p) + 1);
	unsigned int i;

	if (be64toh(base_of(p)->id) != a->o->own_id || base_of(p)->path != a->path)
		return false;
	for (i = 0; i < ack_of(p)->nrecords; i++)
		if (r[i].kind == MROCE_R_NACK && be32toh(r[i].number) == a->number)
			return true;
	return false;
}

const struct mroce_wire_record *nack_for(struct t *t, struct out *o, unsigned int path,
					 uint32_t number)
{
	static struct mroce_wire_record found;
	const struct mroce_wire_record *r;
	struct packet *p = wait_for(t, MROCE_T_ACK, refuses,
				    &(struct about){.o = o, .path = path, .number = number}, WAIT);
	unsigned int i;

	need(t, p, "no NACK names number %u of path %u", number, path);
	r = (const void *)(ack_of(p) + 1);
	for (i = 0; i < ack_of(p)->nrecords; i++)
		if (r[i].kind == MROCE_R_NACK && be32toh(r[i].number) == number)
			found = r[i];
	if (be32toh(ack_of(p)->anchor) - number < MROCE_BITMAP_BITS)
		need(t, !ack_bit(p, number), "number %u is refused, and its bit is set", number);
	free(p);
	return &found;
}

void taken(struct t *t, struct out *o, unsigned int path, uint32_t number, const char *what)
{
	need(t, ack_bit(ack_for(t, o, path, number), number),
	     "%s was not taken: its bit (number %u) is clear", what, number);
}

/* A PROBE behind it makes an ACK, which tells */
void not_taken(struct t *t, struct out *o, unsigned int path, uint32_t number, const char *what)
{
	uint32_t later = probe_send(t, o, path);
	struct packet *ack = ack_for(t, o, path, later);

	need(t, ack_bit(ack, later), "a PROBE was not taken");
	need(t, !ack_bit(ack, number), "%s was taken: its bit (number %u) is set", what, number);
}

void taken_at_last(struct t *t, const struct message *m, const char *what)
{
	uint64_t end = now_ms() + WAIT * t->patience;
	uint32_t number;

	do {
		number = message_send_all(t, m, 0);
		if (ack_bit(ack_for(t, m->s->out, 0, number), number))
			return;
		run(t, 5);
	} while (now_ms() < end);
	need(t, false, "%s was never taken", what);
}

/* A Write goes through it */
void still_works(struct t *t, struct stream *s)
{
	uint8_t bytes[64];
	struct message m;

	pattern(bytes, sizeof(bytes), s->spn);
	m = write_at(s, MEMORY - 64, bytes, sizeof(bytes));
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a Write afterwards");
	memory_is(t, s, MEMORY - 64, bytes, sizeof(bytes), "a Write afterwards");
}

static bool data_fits(const struct packet *p, const void *what)
{
	const struct about *a = what;

	return p->data.stream == a->s->own && p->data.opcode == a->op;
}

struct packet *data_for(struct t *t, struct stream *s, uint8_t op, uint64_t ms)
{
	static struct packet *kept;
	struct packet *p =
		wait_for(t, MROCE_T_DATA, data_fits, &(struct about){.s = s, .op = op}, ms);

	if (p) {
		free(kept);
		kept = p;
	}
	return p;
}

struct packet *response_for(struct t *t, struct stream *s, uint8_t op)
{
	struct packet *p = data_for(t, s, op, WAIT);

	need(t, p, "no %s came", op_name(op));
	return p;
}
