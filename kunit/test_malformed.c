// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that parsers must refuse, one wrong field at a time; and any bytes at all, which they
 * must survive.
 */
#include <kunit/test.h>
#include "suites.h"
#include "../drivers/mroce/transport/packet.h"

struct bad {
	const char *name;
	u32 index, count, packets, tail; /* of a good train of 1,000-byte packets */
	u8 opcode, set, clear; /* flags */
	s32 payload; /* added to the payload */
	s32 offset, length, psize; /* added to the fields */
	u32 short_by; /* of the header */
	int err;
};

static const struct bad bad_data[] = {
	{ "good", 0, 3, 5, 500, MROCE_OP_WRITE, .err = 0 },
	{ "good last", 2, 3, 5, 500, MROCE_OP_WRITE, .err = 0 },
	{ "good single", 0, 1, 1, 500, MROCE_OP_SEND, .err = 0 },
	{ "good of 64", 0, 64, 64, 1000, MROCE_OP_READ_RESP, .set = MROCE_F_RESPONSE, .err = 0 },
	{ "header short", 0, 3, 5, 500, MROCE_OP_WRITE, .short_by = 1, .err = -EBADMSG },
	{ "opcode unused", 0, 3, 5, 500, 9, .err = -EOPNOTSUPP },
	{ "opcode beyond the table", 0, 3, 5, 500, 32, .err = -EOPNOTSUPP },
	{ "opcode 255", 0, 3, 5, 500, 255, .err = -EOPNOTSUPP },
	{ "request in the response space", 0, 3, 5, 500, MROCE_OP_WRITE, .set = MROCE_F_RESPONSE,
	  .err = -EBADMSG },
	{ "response in the request space", 0, 3, 5, 500, MROCE_OP_READ_RESP, .err = -EBADMSG },
	{ "FIRST missing", 0, 3, 5, 500, MROCE_OP_WRITE, .clear = MROCE_F_FIRST, .err = -EBADMSG },
	{ "FIRST in the middle", 1, 3, 5, 500, MROCE_OP_WRITE, .set = MROCE_F_FIRST,
	  .err = -EBADMSG },
	{ "LAST missing", 2, 3, 5, 500, MROCE_OP_WRITE, .clear = MROCE_F_LAST, .err = -EBADMSG },
	{ "LAST too early", 0, 3, 5, 500, MROCE_OP_WRITE, .set = MROCE_F_LAST, .err = -EBADMSG },
	{ "offset not a multiple", 1, 3, 5, 500, MROCE_OP_WRITE, .offset = 1, .err = -EBADMSG },
	{ "beyond the message", 2, 3, 5, 500, MROCE_OP_WRITE, .payload = 1, .err = -EBADMSG },
	{ "offset beyond the message", 2, 3, 5, 500, MROCE_OP_WRITE, .offset = 1000,
	  .err = -EBADMSG },
	{ "behind the message's end", 6, 1, 5, 500, MROCE_OP_WRITE, .err = -EBADMSG },
	{ "short packet in the middle", 0, 3, 5, 500, MROCE_OP_WRITE, .payload = -1,
	  .err = -EBADMSG },
	{ "no payload of a message that has some", 0, 1, 5, 500, MROCE_OP_WRITE, .payload = -1000,
	  .err = -EBADMSG },
	{ "payload of a message that has none", 0, 1, 1, 0, MROCE_OP_WRITE, .payload = 1,
	  .err = -EBADMSG },
	{ "65 packets", 0, 65, 65, 1000, MROCE_OP_WRITE, .err = -EBADMSG },
	/* of 2 bytes each: 2^30 packets are the most that serial numbers tell apart */
	{ "good message of 2^30 packets", 0, 1, 5, 500, MROCE_OP_WRITE, .psize = -998,
	  .payload = -998, .length = 2147479148, .err = 0 },
	{ "message of 2^30 + 1 packets", 0, 1, 5, 500, MROCE_OP_WRITE, .psize = -998,
	  .payload = -998, .length = 2147479149, .err = -EBADMSG },
	{ "payload size 0", 0, 3, 5, 500, MROCE_OP_WRITE, .psize = -1000, .err = -EBADMSG },
	{ "payload size 0 of a READ", 0, 1, 1, 0, MROCE_OP_READ, .psize = -1000, .err = -EBADMSG },
	{ "good READ", 0, 1, 1, 0, MROCE_OP_READ, .err = 0 },
	{ "READ with payload", 0, 1, 1, 0, MROCE_OP_READ, .payload = 8, .err = -EBADMSG },
	{ "READ without LAST", 0, 1, 1, 0, MROCE_OP_READ, .clear = MROCE_F_LAST, .err = -EBADMSG },
	{ "READ with an offset", 1, 1, 2, 0, MROCE_OP_READ, .err = -EBADMSG },
	{ "good atomic", 0, 1, 1, 0, MROCE_OP_FETCH_ADD, .payload = 16, .err = 0 },
	{ "atomic with too little", 0, 1, 1, 0, MROCE_OP_CMP_SWAP, .payload = 15, .err = -EBADMSG },
	{ "atomic with too much", 0, 1, 1, 0, MROCE_OP_CMP_SWAP, .payload = 17, .err = -EBADMSG },
	{ "good atomic response", 0, 1, 1, 0, MROCE_OP_ATOMIC_RESP, .payload = 8,
	  .set = MROCE_F_RESPONSE, .err = 0 },
	{ "atomic response of 16", 0, 1, 1, 0, MROCE_OP_ATOMIC_RESP, .payload = 16,
	  .set = MROCE_F_RESPONSE, .err = -EBADMSG },
	{ "good error response", 0, 1, 1, 0, MROCE_OP_ERROR_RESP, .set = MROCE_F_RESPONSE,
	  .err = 0 },
	{ "error response with payload", 0, 1, 1, 0, MROCE_OP_ERROR_RESP, .payload = 1,
	  .set = MROCE_F_RESPONSE, .err = -EBADMSG },
	{ "train with a sum", 0, 2, 5, 500, MROCE_OP_WRITE, .set = MROCE_F_CRC, .err = -EBADMSG },
	{ "good packet with a sum", 0, 1, 5, 500, MROCE_OP_WRITE, .set = MROCE_F_CRC, .err = 0 },
};

static void describe(const struct bad *b, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", b->name);
}

KUNIT_ARRAY_PARAM(bad_data, bad_data, describe);

static void data(struct kunit *test)
{
	const struct bad *b = test->param_value;
	struct mroce_data d = {
		.base = { .version = MROCE_WIRE_VERSION, .type = MROCE_T_DATA },
		.opcode = b->opcode,
		.psize = 1000 + b->psize,
		.offset = b->index * 1000 + b->offset,
		.length = (b->packets - 1) * 1000 + b->tail + b->length,
	}, e;
	u32 payload = b->index + b->count == b->packets ? (b->count - 1) * 1000 + b->tail
							: b->count * 1000,
	    count = 99;
	u8 buf[MROCE_HEADER_MAX];

	if (!b->index)
		d.flags |= MROCE_F_FIRST;
	if (b->index + b->count == b->packets)
		d.flags |= MROCE_F_LAST;
	d.flags = (d.flags | b->set) & ~b->clear;
	mroce_build_data(buf, &d);
	KUNIT_EXPECT_EQ(test,
			mroce_parse_data(buf, sizeof(struct mroce_wire_data) - b->short_by,
					 payload + b->payload, &e, &count),
			b->err);
	if (!b->err)
		KUNIT_EXPECT_EQ(test, count, b->count);
}

static void base(struct kunit *test)
{
	struct mroce_wire_base w = { .version = MROCE_WIRE_VERSION, .type = MROCE_T_ACK };
	struct mroce_base b;
	u32 i;

	for (i = 0; i < sizeof(w); i++)
		KUNIT_EXPECT_EQ(test, mroce_parse_base(&w, i, &b), -EBADMSG);
	KUNIT_EXPECT_EQ(test, mroce_parse_base(&w, sizeof(w), &b), 0);
	for (i = 0; i < 256; i++) {
		w.type = i;
		KUNIT_EXPECT_EQ(test, mroce_parse_base(&w, sizeof(w), &b),
				i && i < MROCE_T_MAX ? 0 : -EOPNOTSUPP);
	}
	w.type = MROCE_T_DATA;
	for (i = 2; i < 256; i++) {
		w.version = i;
		KUNIT_EXPECT_EQ(test, mroce_parse_base(&w, sizeof(w), &b), -EPROTONOSUPPORT);
	}
	w.version = 0;
	KUNIT_EXPECT_NE(test, mroce_parse_base(&w, sizeof(w), &b), 0);
}

/* every parser refuses every other type, and every length below its own */
static void types_and_lengths(struct kunit *test)
{
	struct all {
		struct mroce_data d;
		struct mroce_ack a;
		struct mroce_control c;
		struct mroce_open o;
		struct mroce_hello h;
		struct mroce_reset r;
		struct mroce_verify v;
		struct mroce_ud u;
		struct mroce_uc uc;
	} *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);
	u8 buf[MROCE_HEADER_MAX] = { MROCE_WIRE_VERSION };
	u32 type, count;

	KUNIT_ASSERT_NOT_NULL(test, x);
	for (type = 0; type < MROCE_T_MAX + 3; type++) {
		static const int other = -EOPNOTSUPP;
		bool control = type == MROCE_T_CONTROL || type == MROCE_T_PROBE;
		bool open = type == MROCE_T_OPEN || type == MROCE_T_OPEN_REPLY;
		bool greeting = type == MROCE_T_HELLO || type == MROCE_T_HELLO_ACK;

		buf[1] = type;
		if (type != MROCE_T_DATA)
			KUNIT_EXPECT_EQ(test, mroce_parse_data(buf, sizeof(buf), 0, &x->d, &count),
					other);
		if (type != MROCE_T_ACK)
			KUNIT_EXPECT_EQ(test, mroce_parse_ack(buf, sizeof(buf), &x->a), other);
		if (!control)
			KUNIT_EXPECT_EQ(test, mroce_parse_control(buf, sizeof(buf), &x->c), other);
		if (!open)
			KUNIT_EXPECT_EQ(test, mroce_parse_open(buf, sizeof(buf), &x->o), other);
		if (!greeting)
			KUNIT_EXPECT_EQ(test, mroce_parse_hello(buf, sizeof(buf), &x->h), other);
		if (type != MROCE_T_RESET)
			KUNIT_EXPECT_EQ(test, mroce_parse_reset(buf, sizeof(buf), &x->r), other);
		if (type != MROCE_T_VERIFY)
			KUNIT_EXPECT_EQ(test, mroce_parse_verify(buf, sizeof(buf), &x->v), other);
		if (type != MROCE_T_UD)
			KUNIT_EXPECT_EQ(test, mroce_parse_ud(buf, sizeof(buf), &x->u), other);
		if (type != MROCE_T_UC)
			KUNIT_EXPECT_EQ(test, mroce_parse_uc(buf, sizeof(buf), 0, &x->uc), other);
	}
	buf[1] = MROCE_T_ACK;
	KUNIT_EXPECT_EQ(test, mroce_parse_ack(buf, sizeof(struct mroce_wire_ack) - 1, &x->a),
			-EBADMSG);
	buf[1] = MROCE_T_CONTROL;
	KUNIT_EXPECT_EQ(test,
			mroce_parse_control(buf, sizeof(struct mroce_wire_control) - 1, &x->c),
			-EBADMSG);
	buf[1] = MROCE_T_OPEN;
	KUNIT_EXPECT_EQ(test, mroce_parse_open(buf, sizeof(struct mroce_wire_open) - 1, &x->o),
			-EBADMSG);
	buf[1] = MROCE_T_HELLO;
	KUNIT_EXPECT_EQ(test, mroce_parse_hello(buf, sizeof(struct mroce_wire_hello) - 1, &x->h),
			-EBADMSG);
	buf[1] = MROCE_T_RESET;
	KUNIT_EXPECT_EQ(test, mroce_parse_reset(buf, sizeof(struct mroce_wire_reset) - 1, &x->r),
			-EBADMSG);
	/* a nonce of 0 stands for none, and an answer must repeat the question's */
	buf[1] = MROCE_T_VERIFY;
	KUNIT_EXPECT_EQ(test, mroce_parse_verify(buf, sizeof(struct mroce_wire_verify) - 1, &x->v),
			-EBADMSG);
	KUNIT_EXPECT_EQ(test, mroce_parse_verify(buf, sizeof(struct mroce_wire_verify), &x->v),
			-EBADMSG);
	buf[sizeof(struct mroce_wire_base)] = 1;
	KUNIT_EXPECT_EQ(test, mroce_parse_verify(buf, sizeof(struct mroce_wire_verify), &x->v), 0);
	buf[offsetof(struct mroce_wire_verify, flags)] = MROCE_V_REPLY;
	KUNIT_EXPECT_EQ(test, mroce_parse_verify(buf, sizeof(struct mroce_wire_verify), &x->v),
			-EBADMSG);
	buf[1] = MROCE_T_UD;
	KUNIT_EXPECT_EQ(test, mroce_parse_ud(buf, sizeof(struct mroce_wire_ud) - 1, &x->u),
			-EBADMSG);
}

static void ack(struct kunit *test)
{
	struct mroce_ack *a = kunit_kzalloc(test, 2 * sizeof(*a), GFP_KERNEL), *b = a + 1;
	u8 buf[MROCE_HEADER_MAX];
	size_t len;

	KUNIT_ASSERT_NOT_NULL(test, a);
	a->base.number = 100;
	a->anchor = 100;
	a->nrecords = 2;
	a->record[0].kind = MROCE_R_CREDIT;
	a->record[1].kind = MROCE_R_NACK;
	a->record[1].reason = MROCE_N_RNR;
	len = mroce_build_ack(buf, a);
	KUNIT_EXPECT_EQ(test, mroce_parse_ack(buf, len, b), 0);
	/* an anchor beyond the highest number */
	a->anchor = 101;
	mroce_build_ack(buf, a);
	KUNIT_EXPECT_EQ(test, mroce_parse_ack(buf, len, b), -EBADMSG);
	/* below it, and over the wrap, is fine */
	a->anchor = 100 - 1000;
	mroce_build_ack(buf, a);
	KUNIT_EXPECT_EQ(test, mroce_parse_ack(buf, len, b), 0);
	a->record[1].kind = MROCE_R_FLOOR + 1;
	mroce_build_ack(buf, a);
	KUNIT_EXPECT_EQ(test, mroce_parse_ack(buf, len, b), -EBADMSG);
	a->record[1].kind = 0;
	mroce_build_ack(buf, a);
	KUNIT_EXPECT_EQ(test, mroce_parse_ack(buf, len, b), -EBADMSG);
	a->record[1].kind = MROCE_R_NACK;
	a->record[1].reason = MROCE_N_NONE;
	mroce_build_ack(buf, a);
	KUNIT_EXPECT_EQ(test, mroce_parse_ack(buf, len, b), -EBADMSG);
	a->record[1].reason = MROCE_N_MAX;
	mroce_build_ack(buf, a);
	KUNIT_EXPECT_EQ(test, mroce_parse_ack(buf, len, b), -EBADMSG);
	a->record[1].reason = MROCE_N_GONE;
	mroce_build_ack(buf, a);
	KUNIT_EXPECT_EQ(test, mroce_parse_ack(buf, len, b), 0);
	/* more records than there may be, or than there are bytes */
	((struct mroce_wire_ack *)buf)->nrecords = 3;
	KUNIT_EXPECT_EQ(test, mroce_parse_ack(buf, len, b), -EBADMSG);
	((struct mroce_wire_ack *)buf)->nrecords = MROCE_MAX_RECORDS + 1;
	KUNIT_EXPECT_EQ(test, mroce_parse_ack(buf, sizeof(buf), b), -EBADMSG);
}

static void others(struct kunit *test)
{
	struct mroce_control c = { .op = MROCE_C_CLOSE };
	struct mroce_open o = {
		.base.type = MROCE_T_OPEN,
		.stream = 1,
		.log_packets = 17,
		.log_messages = 17,
	};
	struct mroce_reset r = { .type = MROCE_T_RESET };
	struct mroce_ud u = { .dst_qpn = 1 << 24 };
	u8 buf[MROCE_HEADER_MAX];

	mroce_build_control(buf, &c);
	KUNIT_EXPECT_EQ(test, mroce_parse_control(buf, sizeof(buf), &c), 0);
	((struct mroce_wire_control *)buf)->op = MROCE_C_PROBE;
	KUNIT_EXPECT_EQ(test, mroce_parse_control(buf, sizeof(buf), &c), -EBADMSG);
	buf[1] = MROCE_T_PROBE;
	KUNIT_EXPECT_EQ(test, mroce_parse_control(buf, sizeof(buf), &c), 0);
	((struct mroce_wire_control *)buf)->op = 0;
	KUNIT_EXPECT_EQ(test, mroce_parse_control(buf, sizeof(buf), &c), -EOPNOTSUPP);
	((struct mroce_wire_control *)buf)->op = MROCE_C_PROBE + 1;
	KUNIT_EXPECT_EQ(test, mroce_parse_control(buf, sizeof(buf), &c), -EOPNOTSUPP);

	mroce_build_open(buf, &o);
	KUNIT_EXPECT_EQ(test, mroce_parse_open(buf, sizeof(buf), &o), 0);
	o.log_packets = 18;
	mroce_build_open(buf, &o);
	KUNIT_EXPECT_EQ(test, mroce_parse_open(buf, sizeof(buf), &o), -EBADMSG);
	o.log_packets = 12;
	o.log_messages = 200;
	mroce_build_open(buf, &o);
	KUNIT_EXPECT_EQ(test, mroce_parse_open(buf, sizeof(buf), &o), -EBADMSG);
	o.log_messages = 10;
	o.own_qpn = 1 << 24;
	mroce_build_open(buf, &o);
	KUNIT_EXPECT_EQ(test, mroce_parse_open(buf, sizeof(buf), &o), -EBADMSG);
	o.own_qpn = 5;
	o.peer_qpn = U32_MAX;
	mroce_build_open(buf, &o);
	KUNIT_EXPECT_EQ(test, mroce_parse_open(buf, sizeof(buf), &o), -EBADMSG);
	o.peer_qpn = 6;
	o.base.type = MROCE_T_OPEN_REPLY;
	o.status = MROCE_OPEN_REFUSED + 1;
	mroce_build_open(buf, &o);
	KUNIT_EXPECT_EQ(test, mroce_parse_open(buf, sizeof(buf), &o), -EBADMSG);
	/* who refuses need not name a stream, who accepts or asks does */
	o.stream = 0;
	o.status = MROCE_OPEN_NOT_READY;
	mroce_build_open(buf, &o);
	KUNIT_EXPECT_EQ(test, mroce_parse_open(buf, sizeof(buf), &o), 0);
	o.status = MROCE_OPEN_ACCEPT;
	mroce_build_open(buf, &o);
	KUNIT_EXPECT_EQ(test, mroce_parse_open(buf, sizeof(buf), &o), -EBADMSG);
	o.base.type = MROCE_T_OPEN;
	mroce_build_open(buf, &o);
	KUNIT_EXPECT_EQ(test, mroce_parse_open(buf, sizeof(buf), &o), -EBADMSG);

	mroce_build_reset(buf, &r);
	KUNIT_EXPECT_EQ(test, mroce_parse_reset(buf, sizeof(buf), &r), -EBADMSG);
	mroce_build_ud(buf, &u);
	KUNIT_EXPECT_EQ(test, mroce_parse_ud(buf, sizeof(buf), &u), -EBADMSG);
	u.dst_qpn = 1;
	u.src_qpn = 1 << 25;
	mroce_build_ud(buf, &u);
	KUNIT_EXPECT_EQ(test, mroce_parse_ud(buf, sizeof(buf), &u), -EBADMSG);
}

static void hello(struct kunit *test)
{
	struct mroce_hello *h = kunit_kzalloc(test, 2 * sizeof(*h), GFP_KERNEL), *g = h + 1;
	u8 buf[MROCE_HEADER_MAX];

	KUNIT_ASSERT_NOT_NULL(test, h);
	h->base.type = MROCE_T_HELLO;
	h->version_min = 1;
	h->version_max = 1;
	h->npaths = 64;
	h->nplanes = 8;
	mroce_build_hello(buf, h);
	KUNIT_EXPECT_EQ(test, mroce_parse_hello(buf, sizeof(buf), g), 0);
	h->npaths = 65;
	mroce_build_hello(buf, h);
	KUNIT_EXPECT_EQ(test, mroce_parse_hello(buf, sizeof(buf), g), -EBADMSG);
	h->npaths = 0;
	mroce_build_hello(buf, h);
	KUNIT_EXPECT_EQ(test, mroce_parse_hello(buf, sizeof(buf), g), -EBADMSG);
	h->npaths = 1;
	mroce_build_hello(buf, h);
	((struct mroce_wire_hello *)buf)->nplanes = 9;
	KUNIT_EXPECT_EQ(test, mroce_parse_hello(buf, sizeof(buf), g), -EBADMSG);
	((struct mroce_wire_hello *)buf)->nplanes = 0;
	KUNIT_EXPECT_EQ(test, mroce_parse_hello(buf, sizeof(buf), g), -EBADMSG);
	h->version_max = 0;
	mroce_build_hello(buf, h);
	KUNIT_EXPECT_EQ(test, mroce_parse_hello(buf, sizeof(buf), g), -EBADMSG);
	((struct mroce_wire_hello *)buf)->version_min = 0;
	KUNIT_EXPECT_EQ(test, mroce_parse_hello(buf, sizeof(buf), g), -EBADMSG);
}

/*
 * Whatever comes: no parser reads beyond @len (sanitizers watch), and what one accepts can be built
 * again to the same bytes.
 */
static void any_bytes(struct kunit *test)
{
	u64 x = 88172645463325252ULL;
	struct mroce_ack *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	u32 round, i, len, count, payload, good = 0;
	struct mroce_data d;
	struct mroce_open o;
	u8 again[MROCE_HEADER_MAX];
	u8 *buf;

	KUNIT_ASSERT_NOT_NULL(test, a);
	for (round = 0; round < 20000; round++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		len = (x >> 20) % 420;
		buf = kmalloc(len + 1, GFP_KERNEL);
		if (!buf)
			break;
		for (i = 0; i < len; i++)
			buf[i] = (x * (i + 1)) >> 29;
		if (len > 1) {
			buf[0] = 1;
			buf[1] = (x >> 40) % 12;
		}
		payload = x % 5000;
		if (len > 60 && buf[1] == MROCE_T_DATA &&
		    round % 2) { /* make some of them nearly right */
			struct mroce_wire_data *w = (void *)buf;

			w->opcode &= 3;
			w->flags = MROCE_F_FIRST | MROCE_F_LAST | (w->flags & MROCE_F_ACKREQ);
			w->offset = 0;
			w->length = cpu_to_be32(payload);
		}
		if (!mroce_parse_data(buf, len, payload, &d, &count)) {
			KUNIT_EXPECT_LE(test, count, MROCE_TRAIN_MAX);
			KUNIT_EXPECT_GE(test, count, 1);
			mroce_build_data(again, &d);
			KUNIT_EXPECT_MEMEQ(test, buf, again, sizeof(struct mroce_wire_data));
			good++;
		}
		if (!mroce_parse_ack(buf, len, a)) {
			size_t n = mroce_build_ack(again, a);

			KUNIT_EXPECT_MEMEQ(test, buf, again, n);
		}
		mroce_parse_open(buf, len, &o);
		if (len >= sizeof(struct mroce_wire_data)) {
			mroce_joins_data(buf, x % 70, again);
			mroce_cut_data(buf, x % 64, 64);
		}
		kfree(buf);
	}
	KUNIT_EXPECT_GE(test, good, 10);
}

static struct kunit_case cases[] = { KUNIT_CASE_PARAM(data, bad_data_gen_params),
				     KUNIT_CASE(base),
				     KUNIT_CASE(types_and_lengths),
				     KUNIT_CASE(ack),
				     KUNIT_CASE(others),
				     KUNIT_CASE(hello),
				     KUNIT_CASE(any_bytes),
				     {} };

struct kunit_suite mroce_malformed_suite = {
	.name = "mroce_malformed",
	.test_cases = cases,
};
