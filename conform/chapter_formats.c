// SPDX-License-Identifier: GPL-2.0
/* Each opcode, at many lengths: what the target does with ours, and what its own look like. Clauses M1 to M3, M10, M15. */
#include <stdio.h>
#include <string.h>

#include "script.h"

static uint8_t payload[8192], zero[8192];
static const uint32_t lengths[] = {0,  1,  2,	 3,    4,    7,	   8,	 9,
				   63, 64, 1023, 1024, 1025, 2048, 4000, 4096};

/* ---- ours */

static void write_of(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m;
	uint32_t n = lengths[arg];

	pattern(payload, sizeof(payload), arg);
	m = write_at(s, 512, payload, n);
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a Write");
	memory_is(t, s, 512, payload, n, "a Write");
	memory_is(t, s, 0, zero, 512, "what lies before it");
	memory_is(t, s, 512 + n, zero, 512, "what lies behind it");
}

static void send_of(struct t *t, long arg)
{
	static const uint8_t ops[] = {MROCE_OP_SEND, MROCE_OP_SEND_IMM};
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = 2});
	uint8_t op = ops[arg / 100];
	uint32_t n = lengths[arg % 100];
	struct completion c;
	struct message m;

	pattern(payload, sizeof(payload), arg);
	m = message(s, op, payload, n);
	m.imm = 0xfedcba98;
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a Send");
	c = completion(t, s);
	need(t, c.receive && !c.status && c.id == 0, "completion: id %u, status %u",
	     (unsigned int)c.id, c.status);
	need(t, c.length == n, "%u bytes received, %u were sent", c.length, n);
	need(t, c.with_imm == (op == MROCE_OP_SEND_IMM) && (!c.with_imm || c.imm == 0xfedcba98),
	     "immediate data: %u, %08x", c.with_imm, c.imm);
	memory_is(t, s, MEMORY / 2, payload, n, "what was sent");
	memory_is(t, s, MEMORY / 2 + n, zero, 64, "what lies behind it in the buffer");
}

static void write_imm_of(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = 2});
	uint32_t n = lengths[arg];
	struct completion c;
	struct message m;

	pattern(payload, sizeof(payload), arg);
	m = message(s, MROCE_OP_WRITE_IMM, payload, n);
	m.imm = 0x01020304;
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a Write with immediate");
	c = completion(t, s);
	need(t, c.receive && !c.status && c.opcode == MROCE_OP_WRITE_IMM,
	     "completion: status %u, opcode %u", c.status, c.opcode);
	need(t, c.length == n && c.imm == 0x01020304, "completion: length %u, immediate %08x",
	     c.length, c.imm);
	memory_is(t, s, 0, payload, n, "what was written");
}

static void send_inv(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = 2});
	struct message m;

	(void)arg;
	pattern(payload, 64, 1);
	m = message(s, MROCE_OP_SEND_INV, payload, 64);
	m.imm = s->rkey +
		0x100; /* no such key: it fails at the cursor, after it was acknowledged */
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a Send with invalidate");
	need(t, response_for(t, s, MROCE_OP_ERROR_RESP)->data.rsn == m.msn,
	     "ERROR_RESP is not about this request");
}

/* The bytes of a READ's response, whatever the order of its packets */
static void read_back(struct t *t, struct stream *s, const struct message *m, uint8_t *bytes)
{
	uint32_t have = 0;
	struct packet *p;

	do {
		p = response_for(t, s, MROCE_OP_READ_RESP);
		need(t, p->data.rsn == m->msn, "READ_RESP names request %u, not %u", p->data.rsn,
		     m->msn);
		need(t, p->data.length == m->length,
		     "READ_RESP has length %u, %u bytes were asked for", p->data.length, m->length);
		need(t, p->data.flags & MROCE_F_RESPONSE, "READ_RESP without the flag RESPONSE");
		need(t, p->data.offset + p->data.bytes <= m->length, "READ_RESP beyond its length");
		memcpy(bytes + p->data.offset, p->data.payload, p->data.bytes);
		have += p->data.bytes;
	} while (have < m->length);
}

static void read_of(struct t *t, long arg)
{
	struct stream *s = connected(t);
	uint32_t n = lengths[arg];
	static uint8_t got[8192];
	struct message m, w;

	pattern(payload, sizeof(payload), arg + 50);
	w = write_at(s, 128, payload, 4096);
	message_send_all(t, &w, 0);
	m = read_at(s, 128, n);
	message_send_all(t, &m, 0);
	read_back(t, s, &m, got);
	need(t, !memcmp(got, payload, n), "READ_RESP brings other bytes than are there");
}

static void cmp_swap(struct t *t, long arg)
{
	struct stream *s = connected(t);
	uint64_t there = 0x1122334455667788, want;
	struct mroce_wire_atomic a = {htobe64(arg ? there : there + 1),
				      htobe64(0xa1a2a3a4a5a6a7a8)};
	struct message w = write_at(s, 64, (uint8_t *)&there, 8), m;
	struct packet *p;

	message_send_all(t, &w, 0);
	m = atomic_at(s, MROCE_OP_CMP_SWAP, 64, &a);
	message_send_all(t, &m, 0);
	p = response_for(t, s, MROCE_OP_ATOMIC_RESP);
	need(t, p->data.bytes == 8, "ATOMIC_RESP has %u bytes", p->data.bytes);
	memcpy(&want, p->data.payload, 8);
	need(t, be64toh(want) == there, "ATOMIC_RESP tells of %016lx, there was %016lx",
	     (long)be64toh(want), (long)there);
	need(t, p->data.rsn == m.msn, "ATOMIC_RESP names request %u, not %u", p->data.rsn, m.msn);
	want = arg ? 0xa1a2a3a4a5a6a7a8 : there;
	memory_is(t, s, 64, &want, 8, "compare and swap");
	memory_is(t, s, 72, zero, 8, "what lies behind it");
}

static void fetch_add(struct t *t, long arg)
{
	static const uint64_t from[] = {0, 5, ~0ULL, 0x7fffffffffffffff},
			      add[] = {1, ~0ULL, 1, 0x8000000000000001};
	struct stream *s = connected(t);
	uint64_t there = from[arg], want;
	struct mroce_wire_atomic a = {htobe64(add[arg]), 0};
	struct message w = write_at(s, 64, (uint8_t *)&there, 8), m;
	struct packet *p;

	message_send_all(t, &w, 0);
	m = atomic_at(s, MROCE_OP_FETCH_ADD, 64, &a);
	message_send_all(t, &m, 0);
	p = response_for(t, s, MROCE_OP_ATOMIC_RESP);
	memcpy(&want, p->data.payload, 8);
	need(t, be64toh(want) == there, "ATOMIC_RESP tells of %016lx, there was %016lx",
	     (long)be64toh(want), (long)there);
	want = there + add[arg];
	memory_is(t, s, 64, &want, 8, "fetch and add");
}

static void atomic_write(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct packet *p;
	struct message m;

	(void)arg;
	pattern(payload, 8, 3);
	m = message(s, MROCE_OP_ATOMIC_WRITE, payload, 8);
	message_send_all(t, &m, 0);
	p = response_for(t, s, MROCE_OP_READ_RESP);
	need(t, !p->data.bytes && !p->data.length, "the response to ATOMIC_WRITE has a payload");
	memory_is(t, s, 0, payload, 8, "ATOMIC_WRITE stores what it carries as it is");
}

static void atomic_length(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct mroce_wire_atomic a = {htobe64(7), 0};
	struct message m = atomic_at(s, MROCE_OP_FETCH_ADD, 0, &a);

	m.length = arg;
	taken(t, s->out, 0, message_send_all(t, &m, 0), "an atomic whose length is of no account");
	response_for(t, s, MROCE_OP_ATOMIC_RESP);
}

static void flush_global(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message w, m;
	struct packet *p;

	pattern(payload, 64, 9);
	w = write_at(s, 0, payload, 64);
	message_send_all(t, &w, 0);
	m = message(s, MROCE_OP_FLUSH, NULL, arg == 1 ? 0 : 64);
	m.imm = MROCE_FLUSH_GLOBAL | (arg == 2 ? MROCE_FLUSH_REGION : 0);
	if (arg == 2) {
		m.addr = 0; /* of no account */
		m.length = 0x7fffffff;
	}
	message_send_all(t, &m, 0);
	p = response_for(t, s, MROCE_OP_READ_RESP);
	need(t, p->data.rsn == m.msn && !p->data.bytes, "the response to FLUSH");
	memory_is(t, s, 0, payload, 64, "a Write before it");
}

static void flush_denied(struct t *t, long arg)
{
	struct stream *s = connected_with(
		t, &(struct attributes){DEFAULTS, .access = ACCESS_ALL | 0x200,
					.mr_access = arg == 1 ? ACCESS_PLAIN : ACCESS_ALL});
	struct message m = message(s, MROCE_OP_FLUSH, NULL, arg == 3 ? 0 : 64);

	m.imm = arg == 2 ? MROCE_FLUSH_PERSISTENT : MROCE_FLUSH_GLOBAL;
	if (arg == 3)
		m.rkey += 0x55;
	need(t, nack_for(t, s->out, 0, message_send_all(t, &m, 0))->reason == MROCE_N_ACCESS,
	     "it is not refused with ACCESS");
}

static void psizes(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m;

	pattern(payload, 1000, arg);
	m = write_at(s, 0, payload, 1000);
	s->spn -= m.packets;
	m.psize = arg;
	m.packets = packets_of(m.op, m.length, m.psize);
	s->spn += m.packets;
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a Write");
	memory_is(t, s, 0, payload, 1000, "a Write cut small");
	still_works(t, s);
}

static void largest(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m;

	(void)arg;
	pattern(payload, 4096, arg);
	m = write_at(s, 0, payload, 4096);
	s->spn -= m.packets;
	m.psize = s->out->payload;
	m.packets = packets_of(m.op, m.length, m.psize);
	s->spn += m.packets;
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a Write");
	memory_is(t, s, 0, payload, 4096, "a Write of packets as large as was agreed");
}

/* ---- the target's */

static void common(struct t *t, struct stream *s, struct packet *p, uint32_t length)
{
	const struct data *d = &p->data;

	need(t, d->psize, "psize is 0");
	need(t, d->psize <= in_of(t, s->peer)->payload, "psize %u, %u was agreed", d->psize,
	     in_of(t, s->peer)->payload);
	need(t, d->length == length, "length %u, not %u", d->length, length);
	need(t, !(d->flags & (MROCE_F_CRC)), "flag CRC");
	need(t, (p->d.tos & 3) == ECT0, "DATA is not ECT(0): TOS %02x", p->d.tos);
	need(t, be32toh(base_of(p)->number), "number 0");
	need(t, ((struct mroce_wire_data *)p->bytes)->crc == 0, "crc is not 0");
}

static void its_message(struct t *t, long arg)
{
	static const uint8_t ops[] = {MROCE_OP_SEND, MROCE_OP_SEND_IMM, MROCE_OP_WRITE,
				      MROCE_OP_WRITE_IMM};
	struct stream *s = connected(t);
	uint8_t op = ops[arg / 100], got[8192];
	uint32_t n = lengths[arg % 100], have = 0, count = 0;
	struct packet *p;
	struct completion c;

	pattern(payload, sizeof(payload), arg);
	for (uint32_t at = 0; at < n; at += 1024) {
		char hex[2049];

		for (int i = 0; i < 1024; i++)
			snprintf(hex + 2 * i, 3, "%02x", payload[at + i]);
		ask(t, "poke %u %u %s", s->mr, at, hex);
	}
	forget(t);
	post(t, s, 99, op, 0, n, 0x123456789000, 0xabcd, 0x11223344, 0, 0);
	do {
		p = data_for(t, s, op, 2000);
		need(t, p, "no %s comes", op_name(op));
		common(t, s, p, n);
		need(t, p->data.spn == s->target_psn + p->data.offset / p->data.psize,
		     "number %u at offset %u, the first is %u", p->data.spn, p->data.offset,
		     s->target_psn);
		need(t, p->data.msn == 0 && (!op_receives(op) || p->data.rsn == 0),
		     "message %u, receive %u", p->data.msn, p->data.rsn);
		if (op == MROCE_OP_WRITE || op == MROCE_OP_WRITE_IMM)
			need(t,
			     p->data.addr == 0x123456789000ULL + p->data.offset &&
				     p->data.rkey == 0xabcd,
			     "address %016lx, key %x", (long)p->data.addr, p->data.rkey);
		if (op == MROCE_OP_SEND_IMM || op == MROCE_OP_WRITE_IMM)
			need(t, p->data.imm == 0x11223344, "immediate data %08x", p->data.imm);
		memcpy(got + p->data.offset, p->data.payload, p->data.bytes);
		have += p->data.bytes;
		count++;
	} while (have < n && count < 100);
	need(t, !memcmp(got, payload, n), "other bytes than are in its buffer");
	c = completion(t, s);
	need(t, c.id == 99 && !c.status, "it ends with status %u", c.status);
}

static void its_read(struct t *t, long arg)
{
	struct stream *s = connected(t);
	uint32_t n = lengths[arg];
	struct packet *p;

	pattern(payload, sizeof(payload), arg);
	post(t, s, 5, MROCE_OP_READ, 0, n, 0x5000, 0x77, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_READ);
	common(t, s, p, n);
	need(t,
	     p->data.flags & MROCE_F_FIRST && p->data.flags & MROCE_F_LAST && !p->data.offset &&
		     !p->data.bytes,
	     "READ's form");
	need(t, p->data.addr == 0x5000 && p->data.rkey == 0x77, "address %lx, key %x",
	     (long)p->data.addr, p->data.rkey);
	need(t, p->data.spn == s->target_psn, "number %u, the first is %u", p->data.spn,
	     s->target_psn);
	no_completion(t, s);
	respond(t, s, p, MROCE_OP_READ_RESP, payload, n, 0, 0, 0);
	need(t, !completion(t, s).status, "a Read that was answered fails");
	memory_is(t, s, 0, payload, n, "what was read");
	memory_is(t, s, n, zero, 64, "what lies behind it");
}

static void its_atomic(struct t *t, long arg)
{
	struct stream *s = connected(t);
	uint8_t op = arg ? MROCE_OP_FETCH_ADD : MROCE_OP_CMP_SWAP;
	uint64_t was = htobe64(0x1020304050607080), want = 0x1020304050607080;
	const struct mroce_wire_atomic *a;
	struct packet *p;

	post(t, s, 5, op, 0, 8, 0x5008, 0x77, 0, 0x0102030405060708, 0x1112131415161718);
	p = response_for(t, s, op);
	need(t, p->data.bytes == 16, "%u bytes of operands", p->data.bytes);
	a = (const void *)p->data.payload;
	need(t, be64toh(a->compare_add) == 0x0102030405060708, "first operand %016lx",
	     (long)be64toh(a->compare_add));
	need(t, arg || be64toh(a->swap) == 0x1112131415161718, "second operand %016lx",
	     (long)be64toh(a->swap));
	need(t, p->data.addr == 0x5008 && p->data.rkey == 0x77, "address %lx, key %x",
	     (long)p->data.addr, p->data.rkey);
	need(t, p->data.flags & MROCE_F_FIRST && p->data.flags & MROCE_F_LAST && !p->data.offset,
	     "an atomic's form");
	no_completion(t, s);
	respond(t, s, p, MROCE_OP_ATOMIC_RESP, &was, 8, 0, 0, 0);
	need(t, !completion(t, s).status, "an atomic that was answered fails");
	memory_is(t, s, 0, &want, 8, "what was there, in the host's own order");
}

static void its_numbers(struct t *t, long arg)
{
	struct stream *s = connected(t);
	uint32_t spn = s->target_psn, rsn = 0, i;
	struct packet *p;

	(void)arg;
	for (i = 0; i < 12; i++) {
		uint8_t op = i % 3 == 1 ? MROCE_OP_WRITE
			     : i % 3	? MROCE_OP_WRITE_IMM
					: MROCE_OP_SEND;

		post(t, s, i, op, 0, 16, 0x1000 + 64 * i, 1, 0, 0, 0);
		do { /* past what was sent again */
			p = response_for(t, s, op);
		} while (before(p->data.msn, i));
		need(t, p->data.spn == spn++, "message %u has number %u, not %u", i, p->data.spn,
		     spn - 1);
		need(t, p->data.msn == i, "message %u has message number %u", i, p->data.msn);
		need(t, !op_receives(op) || p->data.rsn == rsn++,
		     "message %u has receive number %u, not %u", i, p->data.rsn, rsn - 1);
	}
}

static void its_flags(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct packet *p;

	(void)arg;
	ask(t, "send %u 1 %u %u 0 32 0 0 0 0 0 3", s->qp, MROCE_OP_SEND, s->mr);
	p = response_for(t, s, MROCE_OP_SEND);
	need(t, p->data.flags & MROCE_F_SOLICITED, "a solicited Send has no flag SOLICITED");
	need(t, p->data.flags & MROCE_F_ACKREQ,
	     "the last packet of a message, behind which nothing follows, has no ACKREQ");
	post(t, s, 2, MROCE_OP_SEND, 0, 32, 0, 0, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_SEND);
	need(t, !(p->data.flags & MROCE_F_SOLICITED),
	     "a Send that is not solicited has the flag SOLICITED");
}

static const struct test_case cases[] = {
	{"write", "M1 M4",
	 "a Write lands at its address and nowhere else; lengths of the table, 0 to 4,096",
	 write_of, 0, 16},
	{"send", "M1 M4", "a Send fills its receive buffer and completes it; lengths 0 to 4,096",
	 send_of, 0, 16},
	{"send-imm", "M1 M4", "a Send with immediate, likewise", send_of, 100, 16},
	{"write-imm", "M1 M4 M7",
	 "a Write with immediate lands, and completes a receive; lengths 0 to 4,096", write_imm_of,
	 0, 16},
	{"send-inv", "M7 M12",
	 "a Send that invalidates no key fails at the cursor, and is answered by ERROR_RESP",
	 send_inv},
	{"read", "M1 M10", "READ_RESP brings the bytes asked for; lengths 0 to 4,096", read_of, 0,
	 16},
	{"cmp-swap-differs", "M1 M7", "CMP_SWAP that finds something else changes nothing",
	 cmp_swap, 0},
	{"cmp-swap-equals", "M1 M7", "CMP_SWAP that finds what it compares with swaps", cmp_swap,
	 1},
	{"fetch-add", "M1 M7", "FETCH_ADD adds modulo 2^64 and tells what was there", fetch_add, 0,
	 4},
	{"atomic-write", "M1 M7", "ATOMIC_WRITE stores its 8 bytes as they are", atomic_write, 0,
	 0},
	{"atomic-length", "M1", "length counts for nothing in atomics", atomic_length, 0},
	{"atomic-length", "M1", "length counts for nothing in atomics", atomic_length, 0x7fffffff},
	{"flush", "M15", "FLUSH to GLOBAL is answered, and what came before it is there",
	 flush_global, 0, 0, "flush"},
	{"flush-nothing", "M15", "FLUSH of no bytes is answered", flush_global, 1, 0, "flush"},
	{"flush-region", "M15", "FLUSH of a region: address and length do not count", flush_global,
	 2, 0, "flush"},
	{"flush-right", "M15",
	 "FLUSH of memory that was not registered for it is refused with ACCESS", flush_denied, 1,
	 0, "flush"},
	{"flush-persistent", "M15",
	 "FLUSH to PERSISTENT of memory that was not registered for it is refused", flush_denied, 2,
	 0, "flush"},
	{"flush-key", "M15", "FLUSH of no bytes needs its key all the same", flush_denied, 3, 0,
	 "flush"},
	{"psize", "M3 M1",
	 "any payload size below the one agreed may be used, the last packet shorter", psizes, 1,
	 3},
	{"psize", "M3 M1",
	 "any payload size below the one agreed may be used, the last packet shorter", psizes, 7},
	{"psize", "M3 M1",
	 "any payload size below the one agreed may be used, the last packet shorter", psizes, 100},
	{"psize", "M3 M1",
	 "any payload size below the one agreed may be used, the last packet shorter", psizes, 999,
	 3},
	{"psize-largest", "M3 C2", "packets as large as was agreed are taken", largest},
	{"its-send", "M1 M2 M3 N2 N3 D4",
	 "the target's Send: each field, each byte; lengths 0 to 4,096", its_message, 0, 16},
	{"its-send-imm", "M1 M2 M3 N2 N3", "the target's Send with immediate", its_message, 100,
	 16},
	{"its-write", "M1 M2 M3 N2 N3", "the target's Write", its_message, 200, 16},
	{"its-write-imm", "M1 M2 M3 N2 N3", "the target's Write with immediate", its_message, 300,
	 16},
	{"its-read", "M1 M3 M10", "the target's READ, and that it completes with its response",
	 its_read, 0, 16},
	{"its-cmp-swap", "M1 M3 M10", "the target's CMP_SWAP", its_atomic, 0},
	{"its-fetch-add", "M1 M3 M10", "the target's FETCH_ADD", its_atomic, 1},
	{"its-numbers", "N2 N3 S2",
	 "stream, message and receive numbers count on from the PSN and from 0", its_numbers},
	{"its-flags", "A4 M1", "SOLICITED and ACKREQ are set where they ought to be", its_flags},
};
CHAPTER(formats, "Data formats, each opcode");
