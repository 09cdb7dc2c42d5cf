// SPDX-License-Identifier: GPL-2.0
/* Unreliable datagrams, unreliable connections, the GSI. Clauses U and Y. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

enum { GRH = 40, BUFFER = 4096 };

static uint8_t payload[8192], zero[8192];

/* A queue pair of the target that is no RC one, and what a stream has of it that completions need */
static struct stream *endpoint(struct t *t, const char *type, unsigned int receives)
{
	struct stream *s = calloc(1, sizeof(*s));
	struct peer *p = peer_main(t);
	char address[64];
	unsigned int i;

	if (!s)
		abort();
	s->next = t->streams;
	t->streams = s;
	s->peer = p;
	s->qpn = 0x20000 + random_of(t) % 0xe00000;
	s->psn = random_of(t) & 0xffffff;
	s->target_psn = random_of(t) & 0xffffff;
	s->spn = s->psn;
	sscanf(ask(t, "mr %u %x", MEMORY, ACCESS_PLAIN), "%u %" SCNx64 " %x", &s->mr, &s->addr,
	       &s->rkey);
	sscanf(ask(t, "qp %s %x 64 64 -1", type, ACCESS_PLAIN), "%u %u", &s->qp, &s->target_qpn);
	for (i = 0; i < receives; i++)
		post_receive(t, s, i, MEMORY / 2 + i * BUFFER, BUFFER);
	address_text(&p->own, address, sizeof(address));
	ask(t, "rtr %u %s %u %u 12 1 3", s->qp, address, s->qpn, s->psn);
	ask(t, "rts %u %u 14 7 7 1", s->qp, s->target_psn);
	return s;
}

/* ---- UD */

static size_t ud_make(const struct stream *s, uint8_t *bytes, unsigned int n)
{
	struct mroce_wire_ud *w = (void *)bytes;

	*w = (struct mroce_wire_ud){
		.dst_qpn = htobe32(s->target_qpn),
		.src_qpn = htobe32(s->qpn),
		.qkey = htobe32(QKEY),
		.pkey = htobe16(0xffff),
		.length = htobe32(n),
	};
	header(&w->base, MROCE_T_UD, 0, 0, 0, 0);
	memcpy(w + 1, payload, n);
	return sizeof(*w) + n;
}

static void ud_send(struct t *t, struct stream *s, const void *bytes, size_t n)
{
	send_raw(t, &s->peer->own, 0xc00d, t->tos, bytes, n);
}

static void ud(struct t *t, long arg)
{
	static const uint32_t lengths[] = {0, 1, 7, 8, 100, 1000, 1400};
	struct stream *s = endpoint(t, "ud", 2);
	uint8_t bytes[4096], grh[GRH];
	uint32_t n = lengths[arg];
	struct completion c;

	pattern(payload, sizeof(payload), arg);
	t->tos = 0xb8;
	t->hops = 37;
	ud_send(t, s, bytes, ud_make(s, bytes, n));
	c = completion(t, s);
	need(t, c.receive && !c.status && !c.id && c.length == n + GRH,
	     "status %u, id %u, %u bytes", c.status, (unsigned int)c.id, c.length);
	need(t, c.src_qpn == s->qpn, "it comes from queue pair %u", c.src_qpn);
	need(t, !c.with_imm, "immediate data that were not sent");
	memory_is(t, s, MEMORY / 2 + GRH, payload, n, "the payload");
	peek(t, s->mr, MEMORY / 2, grh, GRH);
	if (s->peer->own.gid[0]) {
		need(t,
		     (grh[0] & 0xf) << 4 == (0xb8 & 0xf0) && grh[1] >> 4 == (0xb8 & 0xf) &&
			     grh[7] == 37,
		     "class and hop limit in GRH");
		need(t, !memcmp(grh + 8, s->peer->own.gid, 16), "source in GRH");
		return;
	}
	need(t, grh[21] == 0xb8, "the TOS in the last 20 bytes of GRH is %02x", grh[21]);
	need(t, grh[28] && grh[28] <= 37, "the TTL in GRH is %u, it was 37", grh[28]);
	need(t,
	     !memcmp(grh + 32, s->peer->own.gid + 12, 4) &&
		     !memcmp(grh + 36, t->target.gid + 12, 4),
	     "addresses in GRH");
}

static void ud_imm(struct t *t, long arg)
{
	struct stream *s = endpoint(t, "ud", 1);
	uint8_t bytes[4096];
	struct mroce_wire_ud *w = (void *)bytes;
	struct completion c;
	size_t n = ud_make(s, bytes, 16);

	(void)arg;
	w->flags = MROCE_UD_IMM | MROCE_UD_SOLICITED;
	w->imm = htobe32(0xcafef00d);
	ud_send(t, s, bytes, n);
	c = completion(t, s);
	need(t, c.with_imm && c.imm == 0xcafef00d, "immediate data %u, %08x", c.with_imm, c.imm);
}

enum ud_fault {
	QKEY_,
	QPN,
	PKEY,
	LONG,
	LENGTH_MORE,
	LENGTH_LESS,
	CUT,
	NO_BUFFER,
	RC_QP,
	PKEY_LIMITED,
	RESERVED
};

static void ud_fault(struct t *t, long arg)
{
	struct stream *s = endpoint(t, "ud", arg == NO_BUFFER ? 0 : 2);
	uint8_t bytes[8192];
	struct mroce_wire_ud *w = (void *)bytes;
	size_t n = ud_make(s, bytes, 64);
	struct completion c;

	pattern(payload, sizeof(payload), 1);
	switch (arg) {
	case QKEY_:
		w->qkey ^= htobe32(1);
		break;
	case QPN:
		w->dst_qpn = htobe32((s->target_qpn + 0x4321) & 0xffffff);
		break;
	case PKEY:
		w->pkey = htobe16(0x1234);
		break;
	case PKEY_LIMITED:
		w->pkey = htobe16(0x7fff);
		break;
	case RESERVED:
		w->reserved = 0xff;
		w->flags = 0xf0;
		break;
	case LONG:
		ask(t, "clear");
		s = endpoint(t, "ud", 0);
		post_receive(t, s, 0, 0, GRH + 63);
		post_receive(t, s, 1, 4096, BUFFER);
		n = ud_make(s, bytes, 64);
		break;
	case LENGTH_MORE:
		w->length = htobe32(65);
		break;
	case LENGTH_LESS:
		w->length = htobe32(63);
		break;
	case CUT:
		n = sizeof(*w) - 1;
		break;
	}
	ud_send(t, s, bytes, n);
	if (arg == PKEY_LIMITED || arg == RESERVED) {
		need(t, !completion(t, s).status, "it is not received");
		return;
	}
	run(t, 20);
	if (arg == NO_BUFFER)
		post_receive(t, s, 0, MEMORY / 2, BUFFER);
	if (arg != LONG) {
		no_completion(t, s);
		ud_send(t, s, bytes, ud_make(s, bytes, 80));
		c = completion(t, s);
		need(t, !c.status && c.length == 80 + GRH,
		     "a good one behind it: status %u, %u bytes", c.status, c.length);
		return;
	}
	/* dropped, and the queue pair goes on */
	ud_send(t, s, bytes, ud_make(s, bytes, 8));
	c = completion(t, s);
	need(t, !c.status && c.length == 8 + GRH, "a short one behind it: status %u, %u bytes",
	     c.status, c.length);
}

static bool from_qp(const struct packet *p, const void *what)
{
	const struct stream *s = what;

	return be32toh(((const struct mroce_wire_ud *)p->bytes)->dst_qpn) == s->qpn;
}

static void its_ud(struct t *t, long arg)
{
	struct stream *s = endpoint(t, "ud", 0);
	const struct mroce_wire_ud *w;
	struct packet *p;
	char address[64];
	uint32_t n = arg * 100;

	address_text(&s->peer->own, address, sizeof(address));
	pattern(payload, 16, 3);
	ask(t, "fill %u 0 %u 5a", s->mr, n);
	ask(t, "send %u 4 %u %u 0 %u 0 0 %u 0 0 1 %s %u %x", s->qp,
	    arg & 1 ? MROCE_OP_SEND_IMM : MROCE_OP_SEND, s->mr, n, 0x55667788, address, s->qpn,
	    0x22222222);
	p = wait_for(t, MROCE_T_UD, from_qp, s, 2000);
	need(t, p, "no UD comes");
	w = (const void *)p->bytes;
	need(t, !w->base.id && !w->base.number, "id or number is not 0");
	need(t, be32toh(w->src_qpn) == s->target_qpn && be32toh(w->qkey) == 0x22222222,
	     "queue pair %u, Q_Key %x", be32toh(w->src_qpn), be32toh(w->qkey));
	need(t, be16toh(w->pkey) == 0xffff || be16toh(w->pkey) == 0x7fff, "P_Key %x",
	     be16toh(w->pkey));
	need(t, be32toh(w->length) == n && p->length == sizeof(*w) + n, "length %u of %u",
	     be32toh(w->length), n);
	need(t, !(w->flags & MROCE_UD_IMM) == !(arg & 1), "flags %02x", w->flags);
	need(t, !(arg & 1) || be32toh(w->imm) == 0x55667788, "immediate data %08x",
	     be32toh(w->imm));
	need(t, !n || (p->bytes[sizeof(*w)] == 0x5a && p->bytes[p->length - 1] == 0x5a), "payload");
	need(t, (p->d.tos & 3) == NOT_ECT, "UD is not Not-ECT: TOS %02x", p->d.tos);
	need(t, !completion(t, s).status, "it fails");
}

/* ---- groups */

static bool any_hello(const struct packet *p, const void *what)
{
	return ((const struct mroce_wire_hello *)p->bytes)->nonce ==
	       ((const struct mroce_wire_hello *)what)->nonce;
}

static void group(struct t *t, long arg)
{
	struct soft_address g;
	struct stream *in = endpoint(t, "ud", 2), *out = endpoint(t, "ud", 2);
	uint8_t bytes[4096];
	struct mroce_wire_ud *w = (void *)bytes;
	struct mroce_wire_hello hello;
	struct completion c;
	size_t n;

	if (in->peer->own.gid[0])
		skip(t, "of IPv4 only");
	address_parse("239.77.66.55", &g);
	ask(t, "attach %u 239.77.66.55", in->qp);
	run(t, 20);
	pattern(payload, 64, 1);
	if (arg == 1) { /* another type to a group's address is dropped */
		hello_make(t, in->peer, &hello, random_of(t) | 1, in->peer->next_half++);
		memcpy(hello.to, g.gid, 16);
		send_to(t, &in->peer->own, &g, 0xc00e, NOT_ECT, &hello, sizeof(hello));
		need(t, !wait_for(t, MROCE_T_HELLO_ACK, any_hello, &hello, 100),
		     "HELLO to a group is answered");
		return;
	}
	n = ud_make(in, bytes, 64);
	w->dst_qpn = htobe32(arg == 2 ? in->target_qpn : 0xffffff);
	if (arg == 3)
		w->qkey ^= htobe32(1);
	send_to(t, &in->peer->own, &g, 0xc00d, NOT_ECT, bytes, n);
	if (arg) {
		no_completion(t, in);
		return;
	}
	c = completion(t, in);
	need(t, !c.status && c.length == 64 + GRH, "status %u, %u bytes", c.status, c.length);
	memory_is(t, in, MEMORY / 2 + GRH, payload, 64, "a datagram to a group");
	no_completion(t, out);
}

/* ---- the GSI: a connection request to a service that is none is rejected, by a MAD from queue pair 1 */

static bool to_gsi(const struct packet *p, const void *what)
{
	(void)what;
	return be32toh(((const struct mroce_wire_ud *)p->bytes)->dst_qpn) == 1;
}

static void gsi(struct t *t, long arg)
{
	struct stream *s = endpoint(t, "ud", 1);
	uint8_t bytes[512] = {0};
	struct mroce_wire_ud *w = (void *)bytes;
	uint8_t *mad = bytes + sizeof(*w);
	struct packet *p;

	w->dst_qpn = htobe32(1);
	w->src_qpn = htobe32(1);
	w->qkey = htobe32(arg ? 0x80010001 : 0x80010000);
	w->pkey = htobe16(0xffff);
	w->length = htobe32(256);
	header(&w->base, MROCE_T_UD, 0, 0, 0, 0);
	/* performance management class: Get(ClassPortInfo) */
	mad[0] = 1;
	mad[1] = 4;
	mad[2] = 1;
	mad[3] = 1;
	mad[15] = 7; /* transaction */
	mad[17] = 1;
	ud_send(t, s, bytes, sizeof(*w) + 256);
	p = wait_for(t, MROCE_T_UD, to_gsi, NULL, arg ? 200 : 2000);
	if (arg) {
		need(t, !p, "a MAD with another Q_Key is answered");
		return;
	}
	need(t, p, "a MAD to queue pair 1 is not answered");
	need(t, be32toh(((struct mroce_wire_ud *)p->bytes)->src_qpn) == 1,
	     "the answer comes from queue pair %u",
	     be32toh(((struct mroce_wire_ud *)p->bytes)->src_qpn));
	need(t, p->bytes[sizeof(*w) + 3] == 0x81 && p->bytes[sizeof(*w) + 15] == 7,
	     "it is no answer to that: method %02x", p->bytes[sizeof(*w) + 3]);
}

/* ---- UC */

static struct mroce_wire_uc uc_header(struct stream *s, uint8_t op, uint32_t index, uint32_t length,
				      uint32_t psize)
{
	uint32_t n = packets_of(op, length, psize);
	struct mroce_wire_uc w = {
		.dst_qpn = htobe32(s->target_qpn),
		.src_qpn = htobe32(s->qpn),
		.psn = htobe32(s->spn++),
		.offset = htobe32(index * psize),
		.length = htobe32(length),
		.opcode = op,
		.psize = htobe16(psize),
		.flags = (index ? 0 : MROCE_F_FIRST) | (index == n - 1 ? MROCE_F_LAST : 0),
		.imm = htobe32(0x0badcafe),
	};

	if (op == MROCE_OP_WRITE || op == MROCE_OP_WRITE_IMM) {
		w.addr = htobe64(s->addr + index * psize);
		w.rkey = htobe32(s->rkey);
	}
	header(&w.base, MROCE_T_UC, 0, 0, 0, 0);
	return w;
}

static void uc_packet(struct t *t, struct stream *s, const struct mroce_wire_uc *w,
		      const struct soft_address *from)
{
	uint8_t bytes[2048];
	uint32_t at = be32toh(w->offset), n = be32toh(w->length) - at;

	if (n > be16toh(w->psize))
		n = be16toh(w->psize);
	memcpy(bytes, w, sizeof(*w));
	memcpy(bytes + sizeof(*w), payload + at, n);
	send_raw(t, from ? from : &s->peer->own, 0xc0cc, NOT_ECT, bytes, sizeof(*w) + n);
}

static void uc_message(struct t *t, struct stream *s, uint8_t op, uint32_t length)
{
	uint32_t i, n = packets_of(op, length, 256);

	for (i = 0; i < n; i++) {
		struct mroce_wire_uc w = uc_header(s, op, i, length, 256);

		uc_packet(t, s, &w, NULL);
	}
}

static void uc(struct t *t, long arg)
{
	static const uint8_t ops[] = {MROCE_OP_SEND, MROCE_OP_SEND_IMM, MROCE_OP_WRITE_IMM};
	static const uint32_t lengths[] = {0, 1, 255, 256, 257, 1000};
	struct stream *s = endpoint(t, "uc", 4);
	uint8_t op = ops[arg / 10];
	uint32_t n = lengths[arg % 10];
	struct completion c;

	pattern(payload, sizeof(payload), arg);
	uc_message(t, s, op, n);
	c = completion(t, s);
	need(t, !c.status && c.receive && c.length == n, "status %u, %u bytes", c.status, c.length);
	need(t, c.with_imm == (op != MROCE_OP_SEND) && (!c.with_imm || c.imm == 0x0badcafe),
	     "immediate data %08x", c.imm);
	memory_is(t, s, op == MROCE_OP_WRITE_IMM ? 0 : MEMORY / 2, payload, n, "what was sent");
}

static void uc_write(struct t *t, long arg)
{
	struct stream *s = endpoint(t, "uc", 2);

	pattern(payload, sizeof(payload), arg);
	uc_message(t, s, MROCE_OP_WRITE, 1000);
	uc_message(t, s, MROCE_OP_SEND, 1);
	need(t, !completion(t, s).status, "a Send behind it");
	memory_is(t, s, 0, payload, 1000, "the Write");
}

/* Packet arg of four of a message is lost: that message is gone, the next one is received in its buffer */
static void uc_gap(struct t *t, long arg)
{
	struct stream *s = endpoint(t, "uc", 3);
	struct mroce_wire_uc w;
	struct completion c;
	uint32_t i;

	pattern(payload, sizeof(payload), 1);
	for (i = 0; i < 4; i++) {
		w = uc_header(s, MROCE_OP_SEND, i, 1000, 256);
		if (i != arg)
			uc_packet(t, s, &w, NULL);
	}
	pattern(payload, sizeof(payload), 2);
	uc_message(t, s, MROCE_OP_SEND, 300);
	c = completion(t, s);
	need(t, !c.status && c.length == 300 && !c.id, "id %u, status %u, %u bytes",
	     (unsigned int)c.id, c.status, c.length);
	memory_is(t, s, MEMORY / 2, payload, 300, "the message after the one that was cut off");
	no_completion(t, s);
}

enum uc_fault {
	EARLIER,
	WRONG_SRC,
	WRONG_ADDRESS,
	UC_CUT,
	UC_OP,
	UC_PSIZE,
	UC_KEY,
	UC_RANGE,
	UC_LONG,
	UC_TO_RC
};

static void uc_fault(struct t *t, long arg)
{
	struct stream *s = endpoint(t, "uc", arg == UC_LONG ? 0 : 2);
	struct mroce_wire_uc w;
	struct completion c;
	uint8_t bytes[256];

	pattern(payload, sizeof(payload), 1);
	if (arg == UC_LONG) {
		post_receive(t, s, 0, 0, 63);
		post_receive(t, s, 1, 4096, 4096);
	}
	w = uc_header(s, arg == UC_KEY || arg == UC_RANGE ? MROCE_OP_WRITE : MROCE_OP_SEND, 0, 64,
		      256);
	switch (arg) {
	case EARLIER:
		w.psn = htobe32(be32toh(w.psn) - 1);
		s->spn--;
		break;
	case WRONG_SRC:
		w.src_qpn = htobe32(s->qpn + 1);
		s->spn--;
		break;
	case WRONG_ADDRESS:
		if (t->owns < 2)
			skip(t, "needs a further address of this host (--own)");
		s->spn--;
		break;
	case UC_OP:
		w.opcode = MROCE_OP_READ;
		s->spn--;
		break;
	case UC_PSIZE:
		w.psize = 0;
		s->spn--;
		break;
	case UC_KEY:
		w.rkey ^= htobe32(0x40000000);
		break;
	case UC_RANGE:
		w.addr = htobe64(s->addr + MEMORY - 32);
		break;
	}
	memcpy(bytes, &w, sizeof(w));
	memcpy(bytes + sizeof(w), payload, 64);
	send_raw(t, arg == WRONG_ADDRESS ? &t->own[1] : &s->peer->own, 0xc0cc, NOT_ECT, bytes,
		 arg == UC_CUT ? sizeof(w) - 1 : sizeof(w) + 64);
	if (arg == UC_CUT)
		s->spn--;
	run(t, 10);
	pattern(payload, sizeof(payload), 2);
	uc_message(t, s, MROCE_OP_SEND, arg == UC_LONG ? 63 : 80);
	c = completion(t, s);
	need(t, !c.status && c.length == (arg == UC_LONG ? 63 : 80),
	     "what comes behind: status %u, %u bytes", c.status, c.length);
	need(t, c.id == 0, "it is in buffer %u", (unsigned int)c.id);
	if (arg == UC_KEY || arg == UC_RANGE)
		memory_is(t, s, 0, zero, 64, "the memory");
	need(t, qp_state(t, s) == 3, "the queue pair is in state %u", qp_state(t, s));
}

static bool uc_for(const struct packet *p, const void *what)
{
	return be32toh(((const struct mroce_wire_uc *)p->bytes)->dst_qpn) ==
	       ((const struct stream *)what)->qpn;
}

static void its_uc(struct t *t, long arg)
{
	static const uint8_t ops[] = {MROCE_OP_SEND, MROCE_OP_SEND_IMM, MROCE_OP_WRITE,
				      MROCE_OP_WRITE_IMM};
	struct stream *s = endpoint(t, "uc", 0);
	uint32_t psn = s->target_psn, have = 0, length = 3000;
	const struct mroce_wire_uc *w;
	struct packet *p;
	uint16_t port = 0, psize = 0;

	post(t, s, 8, ops[arg], 0, length, 0x77000, 0x99, 0x31323334, 0, 0);
	while (have < length) {
		p = wait_for(t, MROCE_T_UC, uc_for, s, 2000);
		need(t, p, "%u of %u bytes come", have, length);
		w = (const void *)p->bytes;
		need(t, be32toh(w->psn) == psn++, "psn %u, not %u", be32toh(w->psn), psn - 1);
		need(t, be32toh(w->offset) == have && be32toh(w->length) == length,
		     "offset %u, length %u", be32toh(w->offset), be32toh(w->length));
		need(t, !port || port == p->d.port, "a message goes by two source ports");
		need(t, !psize || psize == be16toh(w->psize), "psize changes within a message");
		need(t, be32toh(w->src_qpn) == s->target_qpn && w->opcode == ops[arg],
		     "queue pair %u, opcode %u", be32toh(w->src_qpn), w->opcode);
		need(t, !(w->flags & MROCE_F_FIRST) == !!have, "FIRST at offset %u", have);
		if (arg >= 2)
			need(t, be64toh(w->addr) == 0x77000 + have && be32toh(w->rkey) == 0x99,
			     "address %" PRIx64, be64toh(w->addr));
		if (arg & 1)
			need(t, be32toh(w->imm) == 0x31323334, "immediate data %08x",
			     be32toh(w->imm));
		need(t, (p->d.tos & 3) == NOT_ECT, "UC is not Not-ECT");
		port = p->d.port;
		psize = be16toh(w->psize);
		have += p->length - sizeof(*w);
		need(t, !(w->flags & MROCE_F_LAST) == (have < length), "LAST at %u of %u", have,
		     length);
	}
	need(t, !completion(t, s).status, "it fails");
}

#define UDF(name, says, fault)                             \
	{                                                  \
		"ud-" name, "U1 D3", says, ud_fault, fault \
	}
#define UCF(name, clauses, says, fault)                    \
	{                                                  \
		"uc-" name, clauses, says, uc_fault, fault \
	}

static const struct test_case cases[] = {
	{"ud", "U1", "a datagram is received behind 40 bytes that tell of its IP header", ud, 0, 7},
	{"ud-imm", "U1", "immediate data of a datagram", ud_imm},
	UDF("qkey", "a datagram with another Q_Key is dropped", QKEY_),
	UDF("qpn", "one to a queue pair that is none is dropped", QPN),
	UDF("pkey", "one of another partition is dropped", PKEY),
	UDF("pkey-limited", "P_Key 7fff is one of the two", PKEY_LIMITED),
	UDF("long", "one longer than its buffer is dropped", LONG),
	UDF("length-more", "one whose length is more than follows is", LENGTH_MORE),
	UDF("length-less", "one whose length is less than follows is", LENGTH_LESS),
	UDF("cut", "one that is cut off is", CUT),
	UDF("no-buffer", "one without a buffer is dropped", NO_BUFFER),
	UDF("reserved", "reserved flags are not looked at", RESERVED),
	{"its-ud", "U1 D4", "the target's datagram, each field", its_ud, 0, 3},
	{"group", "U2",
	 "a datagram to a group goes to each queue pair that is attached, and to no other", group,
	 0, 0, "mcast"},
	{"group-type", "U2", "a packet of another type to a group is dropped", group, 1, 0,
	 "mcast"},
	{"group-qkey", "U2 U1", "with another Q_Key it is dropped, as any", group, 3, 0, "mcast"},
	{"gsi", "U1", "queue pair 1 is the GSI: a MAD is answered from there", gsi, 0, 0, "gsi"},
	{"gsi-qkey", "U1", "a MAD with another Q_Key is dropped", gsi, 1, 0, "gsi"},
	{"uc-send", "Y1 Y6", "a UC Send of several packets; lengths 0 to 1,000", uc, 0, 6},
	{"uc-send-imm", "Y1 Y6", "a UC Send with immediate", uc, 10, 6},
	{"uc-write-imm", "Y1 Y6", "a UC Write with immediate", uc, 20, 6},
	{"uc-write", "Y1", "a UC Write", uc_write},
	{"uc-gap", "Y4 Y6", "a packet is lost: the message ends, the next one takes its buffer",
	 uc_gap, 0, 4},
	UCF("earlier", "Y4", "an earlier number is dropped and changes nothing", EARLIER),
	UCF("source", "Y3", "a packet of another queue pair is dropped", WRONG_SRC),
	UCF("address", "Y3", "a packet from another address is dropped", WRONG_ADDRESS),
	UCF("cut", "D3", "a packet that is cut off is ignored", UC_CUT),
	UCF("opcode", "Y1 D3", "a UC READ is ignored", UC_OP),
	UCF("psize", "D3", "psize 0 is ignored", UC_PSIZE),
	UCF("key", "Y5", "a key that does not fit: dropped, nobody is told", UC_KEY),
	UCF("range", "Y5", "a range that does not fit: dropped, nobody is told", UC_RANGE),
	UCF("long", "Y5 Y6",
	    "a message longer than its buffer is dropped, the next one takes the buffer", UC_LONG),
	{"its-uc", "Y1 Y2 D4", "the target's UC messages, each field of each packet", its_uc, 0, 4},
};
CHAPTER(datagrams, "UD, UC and the GSI");
