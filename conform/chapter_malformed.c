// SPDX-License-Identifier: GPL-2.0
/* Each field of each packet, out of its range: such a packet changes nothing. Clauses D3, M3, A8, C7. */
#include <string.h>

#include "script.h"

enum { LENGTH = 2048 };

static uint8_t payload[LENGTH];

/* ---- DATA */

enum data_fault {
	PSIZE_0,
	OFFSET_UNEVEN,
	OFFSET_BEYOND,
	FIRST_LATE,
	FIRST_MISSING,
	LAST_EARLY,
	LAST_MISSING,
	SHORT_MIDDLE,
	EMPTY,
	PACKETS,
	RESPONSE_FLAG,
	VERSION_LOW,
	VERSION_HIGH,
	TYPE_0,
	TYPE_13,
	TYPE_255,
	PATH_BEYOND,
	LENGTH_LESS,
	LONG_PAYLOAD,
	OFFSET_HUGE,
};

/* The fault is in packet 0 or 1 of a Write of two; memory and stream are as if it had not come */
static void data_fault(struct t *t, long arg)
{
	struct stream *s = connected(t);
	uint8_t bytes[4096], zero[LENGTH] = {0};
	struct mroce_wire_data *w = (void *)bytes;
	struct message m;
	uint32_t index = 0, number;
	size_t n;

	pattern(payload, LENGTH, arg);
	m = write_at(s, 0, payload, LENGTH);
	if (arg == LAST_MISSING || arg == FIRST_LATE || arg == LENGTH_LESS ||
	    arg == OFFSET_BEYOND || arg == LONG_PAYLOAD)
		index = 1;
	n = message_packet(t, &m, index, bytes);
	switch (arg) {
	case PSIZE_0:
		w->psize = 0;
		break;
	case OFFSET_UNEVEN:
		w->psize = htobe16(1000);
		w->offset = htobe32(1024);
		w->flags &= ~MROCE_F_FIRST;
		n = sizeof(*w) + 1000;
		break;
	case OFFSET_BEYOND:
		w->offset = htobe32(4096);
		break;
	case OFFSET_HUGE:
		w->offset = htobe32(0xfffffc00);
		w->flags &= ~MROCE_F_FIRST;
		break;
	case FIRST_LATE:
		w->flags |= MROCE_F_FIRST;
		break;
	case FIRST_MISSING:
		w->flags &= ~MROCE_F_FIRST;
		break;
	case LAST_EARLY:
		w->flags |= MROCE_F_LAST;
		break;
	case LAST_MISSING:
		w->flags &= ~MROCE_F_LAST;
		break;
	case SHORT_MIDDLE:
		n -= 8;
		break;
	case EMPTY:
		n = sizeof(*w);
		break;
	case PACKETS:
		w->psize = htobe16(1);
		w->length = htobe32(0x40000001);
		n = sizeof(*w) + 1;
		break;
	case RESPONSE_FLAG:
		w->flags |= MROCE_F_RESPONSE;
		break;
	case LENGTH_LESS:
		w->length = htobe32(LENGTH - 1);
		break;
	case LONG_PAYLOAD:
		w->offset = htobe32(512);
		w->psize = htobe16(512);
		w->flags &= ~MROCE_F_LAST;
		break;
	}
	header(&w->base, MROCE_T_DATA, 0, s->out->path[0].epoch, number = s->out->path[0].number++,
	       s->out->id);
	if (arg == VERSION_LOW || arg == VERSION_HIGH)
		w->base.version = arg == VERSION_LOW ? 0 : 2;
	if (arg == TYPE_0 || arg == TYPE_13 || arg == TYPE_255)
		w->base.type = arg == TYPE_0 ? 0 : arg == TYPE_13 ? 13 : 255;
	if (arg == PATH_BEYOND)
		w->base.path = 64;
	send_raw(t, &s->peer->own, s->out->path[0].port, ECT0, bytes, n);
	not_taken(t, s->out, 0, number, "it");
	memory_is(t, s, 0, zero, LENGTH, "a malformed packet");
	taken(t, s->out, 0, message_send_all(t, &m, 0), "the Write as it ought to be");
	memory_is(t, s, 0, payload, LENGTH, "the Write as it ought to be");
	need(t, qp_state(t, s) == 3, "the queue pair is not in RTS any more");
}

static void opcode(struct t *t, long arg)
{
	struct stream *s = connected(t);
	uint8_t bytes[4096];
	struct mroce_wire_data *w = (void *)bytes;
	struct message m = write_at(s, 0, payload, 64);
	size_t n = message_packet(t, &m, 0, bytes);

	w->opcode = arg;
	if (arg >= 16)
		w->flags |= MROCE_F_RESPONSE;
	not_taken(t, s->out, 0, send_numbered(t, s->out, 0, bytes, n), "an unknown opcode");
	message_send(t, &m, 0, 0);
	still_works(t, s);
}

/* Cut off after so many bytes of its header */
static void cut_short(struct t *t, long arg)
{
	struct stream *s = connected(t);
	uint8_t bytes[4096];
	struct message m = write_at(s, 0, payload, 64);

	message_packet(t, &m, 0, bytes);
	not_taken(t, s->out, 0, send_numbered(t, s->out, 0, bytes, arg),
		  "a packet that was cut off");
	message_send(t, &m, 0, 0);
	still_works(t, s);
}

/* One packet without payload of its own: FIRST and LAST, offset 0, exactly its operands */
enum own_fault { NO_FIRST, NO_LAST, OFFSET, OPERANDS };

static void own_payload(struct t *t, long arg)
{
	static const uint8_t ops[] = {
		MROCE_OP_READ,	       MROCE_OP_CMP_SWAP, MROCE_OP_FETCH_ADD,
		MROCE_OP_ATOMIC_WRITE, MROCE_OP_FLUSH,
	};
	struct stream *s = connected(t);
	struct mroce_wire_atomic a = {htobe64(1), htobe64(2)};
	uint8_t bytes[4096], zero[64] = {0};
	struct mroce_wire_data *w = (void *)bytes;
	struct message m = message(s, ops[arg / 4], &a, 8);
	size_t n = message_packet(t, &m, 0, bytes);

	w->imm = htobe32(m.op == MROCE_OP_FLUSH ? MROCE_FLUSH_GLOBAL : 0);
	switch (arg % 4) {
	case NO_FIRST:
		w->flags &= ~MROCE_F_FIRST;
		break;
	case NO_LAST:
		w->flags &= ~MROCE_F_LAST;
		break;
	case OFFSET:
		w->offset = htobe32(1024);
		break;
	case OPERANDS:
		n -= op_own_payload(m.op) ? 1 : sizeof(*w) - 70;
		break;
	}
	not_taken(t, s->out, 0, send_numbered(t, s->out, 0, bytes, n), "it");
	memory_is(t, s, 0, zero, sizeof(zero), "a malformed request");
	need(t, !data_for(t, s, MROCE_OP_READ_RESP, 0) && !data_for(t, s, MROCE_OP_ATOMIC_RESP, 0),
	     "it was answered");
	need(t, qp_state(t, s) == 3, "the queue pair is not in RTS any more");
}

/* [M13]: what comes first counts, what contradicts it is malformed */
enum contradiction { C_LENGTH, C_OPCODE, C_RSN, C_KEY, C_ADDR, C_PSIZE, C_MSN };

static void contradicts(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = 4});
	struct message m, other;
	uint8_t bytes[4096];
	struct mroce_wire_data *w = (void *)bytes;
	bool send = arg == C_RSN;
	uint32_t number;
	size_t n;

	pattern(payload, LENGTH, 5);
	m = send ? message(s, MROCE_OP_SEND, payload, LENGTH) : write_at(s, 0, payload, LENGTH);
	taken(t, s->out, 0, message_send(t, &m, 0, 0), "the first packet");
	other = m;
	n = message_packet(t, &other, 1, bytes);
	switch (arg) {
	case C_LENGTH:
		w->length = htobe32(LENGTH + 512);
		w->flags &= ~MROCE_F_LAST;
		break;
	case C_OPCODE:
		w->opcode = MROCE_OP_WRITE_IMM;
		break;
	case C_RSN:
		w->rsn = htobe32(m.rsn + 1);
		break;
	case C_KEY:
		w->rkey = htobe32(s->rkey + 1);
		break;
	case C_ADDR:
		w->addr = htobe64(s->addr + 1024 + 8);
		break;
	case C_PSIZE: /* its first number and its number of packets agree no more */
		w->psize = htobe16(512);
		w->offset = htobe32(1536);
		n = sizeof(*w) + 512;
		break;
	case C_MSN:
		w->spn = htobe32(m.first + 2);
		break;
	}
	number = send_numbered(t, s->out, 0, bytes, n);
	not_taken(t, s->out, 0, number, "a packet that contradicts its message's first");
	taken(t, s->out, 0, message_send(t, &m, 1, 0), "the right one");
	if (send)
		need(t, completion(t, s).length == LENGTH, "the message is not received");
	else
		memory_is(t, s, 0, payload, LENGTH, "the message");
}

/* ---- C7: addresses */

static void wrong_address(struct t *t, long arg)
{
	struct stream *s = connected(t);
	uint8_t bytes[4096], zero[64] = {0};
	struct message m;
	size_t n;
	uint32_t number;

	(void)arg;
	if (t->owns < 2)
		skip(t, "needs a further address of this host (--own)");
	pattern(payload, 64, 1);
	m = write_at(s, 0, payload, 64);
	n = message_packet(t, &m, 0, bytes);
	number = s->out->path[0].number++;
	header((void *)bytes, MROCE_T_DATA, 0, s->out->path[0].epoch, number, s->out->id);
	send_raw(t, &t->own[1], s->out->path[0].port, ECT0, bytes, n);
	run(t, 20);
	not_taken(t, s->out, 0, number, "a packet from another address");
	memory_is(t, s, 0, zero, sizeof(zero), "a packet from another address");
}

/* ---- OPEN, CONTROL, PROBE */

enum open_fault { OWN_QPN, PEER_QPN, STREAM_0, PACKETS_18, PACKETS_5, OPEN_SHORT };

static bool any_reply(const struct packet *p, const void *what)
{
	return base_of(p)->id == htobe64(((const struct out *)what)->own_id) &&
	       ((const struct mroce_wire_open *)p->bytes)->status == MROCE_OPEN_ACCEPT;
}

static void open_fault(struct t *t, long arg)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .no_open = true, .no_rts = true});
	struct mroce_wire_open w;
	size_t n = sizeof(w);

	open_make(s, &w, 1);
	switch (arg) {
	case OWN_QPN:
		w.own_qpn |= htobe32(0x1000000);
		break;
	case PEER_QPN:
		w.peer_qpn |= htobe32(0x1000000);
		break;
	case STREAM_0:
		w.stream = 0;
		break;
	case PACKETS_18:
		w.log_packets = 18;
		break;
	case PACKETS_5:
		w.log_packets = 5;
		break;
	case OPEN_SHORT:
		n--;
		break;
	}
	send_numbered(t, s->out, 0, &w, n);
	run(t, 20);
	ack_for(t, s->out, 0, probe_send(t, s->out, 0));
	if (arg == PACKETS_5) {
		need(t, wait_for(t, MROCE_T_OPEN_REPLY, any_reply, s->out, 0),
		     "it was not accepted");
		return;
	}
	need(t, !wait_for(t, MROCE_T_OPEN_REPLY, any_reply, s->out, 0), "it was accepted");
	need(t, stream_open(t, s), "OPEN as it ought to be is not accepted");
}

enum control_fault { OP_0, OP_PROBE, OP_4, PROBE_OP };

static void control_fault(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct mroce_wire_control w = {.op = MROCE_C_PROBE, .flags = MROCE_F_ACKREQ};

	w.base.type = arg == PROBE_OP ? MROCE_T_PROBE : MROCE_T_CONTROL;
	if (arg == OP_0)
		w.op = 0;
	else if (arg == OP_4)
		w.op = 4;
	else if (arg == PROBE_OP)
		w.op = MROCE_C_CREDIT;
	not_taken(t, s->out, 0, send_numbered(t, s->out, 0, &w, sizeof(w)), "it");
	still_works(t, s);
}

static void reserved(struct t *t, long arg)
{
	struct stream *s = connected(t);
	uint8_t bytes[4096];
	struct mroce_wire_data *w = (void *)bytes;
	struct message m;
	size_t n;

	(void)arg;
	pattern(payload, 64, 3);
	m = message(s, MROCE_OP_WRITE, payload, 64);
	n = message_packet(t, &m, 0, bytes);
	w->crc = htobe32(0xdeadbeef);
	w->imm = htobe32(0x12345678);
	taken(t, s->out, 0, send_numbered(t, s->out, 0, bytes, n),
	      "a Write with something in reserved fields");
	memory_is(t, s, 0, payload, 64, "it");
}

/* ---- ACK, toward the target's half */

enum ack_fault {
	RECORDS_17,
	RECORDS_CUT,
	KIND_0,
	KIND_FLOOR,
	KIND_5,
	REASON_0,
	REASON_12,
	ANCHOR,
	ACK_SHORT,
	ACK_PATH,
	ACK_EPOCH,
	ACK_NEVER,
	ACK_ID,
	ACK_ADDRESS,
};

static void ack_fault(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct in *in = in_of(t, s->peer);
	struct {
		struct mroce_wire_ack a;
		struct mroce_wire_record r[MROCE_MAX_RECORDS + 1];
	} w = {0};
	const struct soft_address *from = &s->peer->own;
	struct packet *d;
	size_t n = sizeof(w.a);
	int i;

	run(t, 5);
	t->auto_ack = false;
	post(t, s, 7, MROCE_OP_WRITE, 0, 8, 0, 0, 0, 0, 0);
	d = data_for(t, s, MROCE_OP_WRITE, 1000);
	need(t, d, "the target's Write does not come");
	/* it reports the Write as placed, and has a fault */
	header(&w.a.base, MROCE_T_ACK, base_of(d)->path, base_of(d)->epoch,
	       be32toh(base_of(d)->number), in->ack_id);
	w.a.anchor = w.a.base.number;
	w.a.packets = htobe32(1);
	w.a.echo = htobe32(d->data.stamp);
	for (i = 0; i < 4; i++)
		w.a.bitmap[i] = ~0ULL;
	w.r[0].kind = MROCE_R_CREDIT;
	switch (arg) {
	case RECORDS_17:
		w.a.nrecords = 17;
		for (i = 0; i < 17; i++)
			w.r[i].kind = MROCE_R_CREDIT;
		n += 17 * sizeof(*w.r);
		break;
	case RECORDS_CUT:
		w.a.nrecords = 1;
		n += sizeof(*w.r) - 1;
		break;
	case KIND_0:
	case KIND_FLOOR:
	case KIND_5:
	case REASON_0:
	case REASON_12:
		w.a.nrecords = 1;
		n += sizeof(*w.r);
		w.r[0].kind = arg == KIND_0	  ? 0
			      : arg == KIND_FLOOR ? MROCE_R_FLOOR
			      : arg == KIND_5	  ? 5
						  : MROCE_R_NACK;
		w.r[0].reason = arg == REASON_12 ? MROCE_N_MAX : 0;
		break;
	case ANCHOR:
		w.a.anchor = htobe32(be32toh(w.a.base.number) + 1);
		break;
	case ACK_SHORT:
		n--;
		break;
	case ACK_PATH:
		w.a.base.path = 64;
		break;
	case ACK_EPOCH:
		w.a.base.epoch++;
		break;
	case ACK_NEVER:
		w.a.base.number = htobe32(be32toh(w.a.base.number) + 100);
		w.a.anchor = w.a.base.number;
		break;
	case ACK_ID:
		w.a.base.id ^= 1;
		break;
	case ACK_ADDRESS:
		if (t->owns < 2)
			skip(t, "needs a further address of this host (--own)");
		from = &t->own[1];
		break;
	}
	send_raw(t, from, d->d.port, NOT_ECT, &w, n);
	if (arg == KIND_FLOOR) {
		need(t, !completion(t, s).status, "the request fails");
		return;
	}
	no_completion(t, s);
	t->auto_ack = true;
	need(t, completion(t, s).status == 0, "with a good ACK the request fails");
}

/* ---- OPEN_REPLY */

enum reply_fault { STATUS_3, R_PACKETS_18, R_PACKETS_5, TO, ATTEMPT_0, ATTEMPT_LATER, R_ID };

static void reply_fault(struct t *t, long arg)
{
	struct stream *s;
	struct in *in;
	struct packet *p;
	const struct mroce_wire_open *o;
	struct mroce_wire_open w = {0};

	t->auto_open = false;
	s = connected(t);
	in = in_of(t, s->peer);
	post(t, s, 7, MROCE_OP_WRITE, 0, 8, 0, 0, 0, 0, 0);
	do {
		p = wait_for(t, MROCE_T_OPEN, NULL, NULL, 1000);
		need(t, p, "no OPEN");
		o = (const void *)p->bytes;
	} while (be32toh(o->peer_qpn) != s->qpn);
	w.own_qpn = o->peer_qpn;
	w.peer_qpn = o->own_qpn;
	w.to = o->stream;
	w.stream = htobe32(s->own);
	w.credit = htobe32(100);
	w.attempt = o->attempt;
	w.log_packets = 12;
	w.log_messages = 10;
	switch (arg) {
	case STATUS_3:
		w.status = 3;
		break;
	case R_PACKETS_18:
		w.log_packets = 18;
		break;
	case R_PACKETS_5:
		w.log_packets = 5;
		break;
	case TO:
		w.to ^= 1;
		break;
	case ATTEMPT_0:
		w.attempt = 0;
		break;
	case ATTEMPT_LATER:
		w.attempt = htobe32(be32toh(o->attempt) + 1000);
		break;
	}
	header(&w.base, MROCE_T_OPEN_REPLY, o->base.path, o->base.epoch, 0,
	       in->ack_id ^ (arg == R_ID));
	send_raw(t, &s->peer->own, p->d.port, NOT_ECT, &w, sizeof(w));
	if (arg == R_PACKETS_5) {
		need(t, data_for(t, s, MROCE_OP_WRITE, 1000), "no data come");
		return;
	}
	need(t, !data_for(t, s, MROCE_OP_WRITE, 100), "it was taken: data come");
	t->auto_open = true;
	need(t, data_for(t, s, MROCE_OP_WRITE, 1000), "a good OPEN_REPLY, and no data");
}

#define DATA(name, says, fault)                                                      \
	{                                                                            \
		"data-" name, "D3 M3", "DATA " says " is ignored", data_fault, fault \
	}
#define OWN(op, n)                                                                               \
	{                                                                                        \
		"own-" op, "M3 D3",                                                              \
			"a message of one packet has FIRST and LAST, offset 0 and its operands " \
			"whole",                                                                 \
			own_payload, n * 4, 4                                                    \
	}
#define CONTRADICTS(name, fault)                                                          \
	{                                                                                 \
		"contradicts-" name, "M13",                                               \
			"a packet that contradicts the first of its message in its " name \
			" is ignored",                                                    \
			contradicts, fault                                                \
	}
#define OPEN_(name, says, fault)                                                     \
	{                                                                            \
		"open-" name, "D3 S3", "OPEN " says " is ignored", open_fault, fault \
	}
#define CONTROL_(name, says, fault)                                             \
	{                                                                       \
		"control-" name, "D3", says " is ignored", control_fault, fault \
	}
#define ACK_(name, clauses, says, fault)                                          \
	{                                                                         \
		"ack-" name, clauses, "ACK " says " is ignored", ack_fault, fault \
	}
#define REPLY_(name, clauses, says, fault)                                                        \
	{                                                                                         \
		"open-reply-" name, clauses, "OPEN_REPLY " says " is ignored", reply_fault, fault \
	}

static const struct test_case cases[] = {
	DATA("psize-0", "with psize 0", PSIZE_0),
	DATA("offset-uneven", "whose offset is no multiple of psize", OFFSET_UNEVEN),
	DATA("offset-beyond", "whose offset is beyond its length", OFFSET_BEYOND),
	DATA("offset-huge", "whose offset and payload together wrap", OFFSET_HUGE),
	DATA("length-less", "whose payload goes beyond its length", LENGTH_LESS),
	DATA("payload-long", "whose payload is longer than psize", LONG_PAYLOAD),
	DATA("first-late", "with FIRST and an offset", FIRST_LATE),
	DATA("first-missing", "without FIRST at offset 0", FIRST_MISSING),
	DATA("last-early", "with LAST before the end", LAST_EARLY),
	DATA("last-missing", "without LAST at the end", LAST_MISSING),
	DATA("short-middle", "that is not the last and shorter than psize", SHORT_MIDDLE),
	DATA("empty", "without payload, of a message that has some", EMPTY),
	DATA("packets", "of a message of more than 2^30 packets", PACKETS),
	{"data-response", "M2", "a request's opcode with the flag RESPONSE is ignored", data_fault,
	 RESPONSE_FLAG},
	DATA("version-0", "of version 0", VERSION_LOW),
	DATA("version-2", "of version 2", VERSION_HIGH),
	DATA("type-0", "of type 0", TYPE_0),
	DATA("type-13", "of type 13", TYPE_13),
	DATA("type-255", "of type 255", TYPE_255),
	DATA("path", "of path 64", PATH_BEYOND),
	{"opcode", "D3 M2", "an unknown opcode is ignored", opcode, 8, 2},
	{"opcode", "D3 M2", "an unknown opcode is ignored", opcode, 12, 4},
	{"opcode", "D3 M2", "an unknown opcode is ignored", opcode, 19, 2},
	{"opcode", "D3 M2", "an unknown opcode is ignored", opcode, 31, 2},
	{"opcode", "D3 M2", "an unknown opcode is ignored", opcode, 255},
	{"cut", "D3", "a packet shorter than its header is ignored", cut_short, 16, 4},
	{"cut", "D3", "a packet shorter than its header is ignored", cut_short, 72, 4},
	OWN("read", 0),
	OWN("cmp-swap", 1),
	OWN("fetch-add", 2),
	OWN("atomic-write", 3),
	OWN("flush", 4),
	CONTRADICTS("length", C_LENGTH),
	CONTRADICTS("opcode", C_OPCODE),
	CONTRADICTS("receive-number", C_RSN),
	CONTRADICTS("key", C_KEY),
	CONTRADICTS("address", C_ADDR),
	CONTRADICTS("psize", C_PSIZE),
	CONTRADICTS("first-number", C_MSN),
	{"address", "C7",
	 "a packet with a half's id from an address that is not the half's is dropped",
	 wrong_address},
	{"reserved", "D3", "reserved fields are not looked at", reserved},
	OPEN_("own-qpn", "with an own_qpn above 24 bits", OWN_QPN),
	OPEN_("peer-qpn", "with a peer_qpn above 24 bits", PEER_QPN),
	OPEN_("stream", "with stream id 0", STREAM_0),
	OPEN_("packets-18", "with a window of 2^18 packets", PACKETS_18),
	{"open-packets-5", "N5", "a window of less than 64 packets counts as 64: OPEN is accepted",
	 open_fault, PACKETS_5},
	OPEN_("short", "that is a byte short", OPEN_SHORT),
	CONTROL_("op-0", "CONTROL of operation 0", OP_0),
	CONTROL_("op-probe", "CONTROL of operation PROBE", OP_PROBE),
	CONTROL_("op-4", "CONTROL of operation 4", OP_4),
	CONTROL_("probe-op", "PROBE of another operation", PROBE_OP),
	ACK_("records-17", "D3", "with 17 records", RECORDS_17),
	ACK_("records-cut", "D3", "whose records are cut off", RECORDS_CUT),
	{"ack-kind-0", "A8 D3", "an ACK with a record of kind 0 is malformed", ack_fault, KIND_0},
	{"ack-kind-floor", "D3", "the reserved record of an ACK is ignored, and the ACK counts",
	 ack_fault, KIND_FLOOR},
	{"ack-kind-5", "D3", "an ACK with a record of kind 5 is malformed", ack_fault, KIND_5},
	{"ack-reason-0", "D3", "an ACK with a NACK of reason 0 is malformed", ack_fault, REASON_0},
	{"ack-reason-12", "D3", "an ACK with a NACK of reason 12 is malformed", ack_fault,
	 REASON_12},
	ACK_("anchor", "D3 A1", "whose anchor is above its number", ANCHOR),
	ACK_("short", "D3", "that is a byte short", ACK_SHORT),
	ACK_("path", "D3", "of a path that is none", ACK_PATH),
	ACK_("epoch", "A8", "of another epoch", ACK_EPOCH),
	ACK_("never", "A8", "that names a number never sent", ACK_NEVER),
	ACK_("id", "C7", "with an unknown id", ACK_ID),
	ACK_("address", "C7", "from another address", ACK_ADDRESS),
	REPLY_("status", "D3", "of status 3", STATUS_3),
	REPLY_("packets-18", "D3", "with a window of 2^18 packets", R_PACKETS_18),
	{"open-reply-packets-5", "N5",
	 "a window of less than 64 packets counts as 64: OPEN_REPLY is taken", reply_fault,
	 R_PACKETS_5},
	REPLY_("to", "S2", "to another stream", TO),
	REPLY_("attempt-0", "S2", "to no attempt", ATTEMPT_0),
	REPLY_("attempt-later", "S2", "to an attempt that was never made", ATTEMPT_LATER),
	REPLY_("id", "C7", "with an unknown id", R_ID),
};
CHAPTER(malformed, "Malformed input, field by field");
