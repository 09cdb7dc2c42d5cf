// SPDX-License-Identifier: GPL-2.0
/*
 * Wire form and host form of every packet, cutting and joining of trains, the opcode table, and
 * what parsers refuse: each field that can be wrong by itself, and any bytes at all.
 */
#include <kunit/test.h>
#include "suites.h"
#include "../drivers/mroce/transport/packet.h"

#define WIRE_DATA sizeof(struct mroce_wire_data)
#define WIRE_CONTROL sizeof(struct mroce_wire_control)

static u64 state;

static u64 next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void randomise(void *p, size_t n)
{
	u8 *b = p;

	while (n--)
		*b++ = next_random() >> 24;
}

static int init(struct kunit *test)
{
	state = 0x1234567887654321ULL;
	return 0;
}

/*
 * a Write of @count packets from @index on, of a message of @packets packets whose last one has
 * @tail bytes
 */
static struct mroce_data write_train(u32 index, u32 count, u32 packets, u32 tail, u32 *payload)
{
	struct mroce_data d;

	randomise(&d, sizeof(d));
	d.base.version = MROCE_WIRE_VERSION;
	d.base.type = MROCE_T_DATA;
	d.opcode = MROCE_OP_WRITE;
	d.psize = 1000;
	d.length = (packets - 1) * 1000 + tail;
	d.offset = index * 1000;
	d.flags = MROCE_F_ACKREQ | MROCE_F_ORDERED;
	d.crc = 0;
	if (!index)
		d.flags |= MROCE_F_FIRST;
	if (index + count == packets)
		d.flags |= MROCE_F_LAST;
	*payload = index + count == packets ? (count - 1) * 1000 + tail : count * 1000;
	return d;
}

/* ---- the opcode table ---- */

static void opcodes(struct kunit *test)
{
	static const u8 valid[] = {
		MROCE_OP_SEND,	    MROCE_OP_SEND_IMM,	  MROCE_OP_SEND_INV,   MROCE_OP_WRITE,
		MROCE_OP_WRITE_IMM, MROCE_OP_READ,	  MROCE_OP_CMP_SWAP,   MROCE_OP_FETCH_ADD,
		MROCE_OP_FLUSH,	    MROCE_OP_ATOMIC_WRITE,
		MROCE_OP_READ_RESP, MROCE_OP_ATOMIC_RESP, MROCE_OP_ERROR_RESP,
	};
	u32 i, n = 0;

	for (i = 0; i < ARRAY_SIZE(mroce_opinfo); i++)
		n += mroce_opinfo[i].valid;
	KUNIT_EXPECT_EQ(test, n, ARRAY_SIZE(valid));
	for (i = 0; i < ARRAY_SIZE(valid); i++) {
		const struct mroce_opinfo *o = &mroce_opinfo[valid[i]];

		KUNIT_EXPECT_TRUE(test, o->valid);
		KUNIT_EXPECT_NOT_NULL(test, o->name);
		KUNIT_EXPECT_EQ(test, (bool)o->response, valid[i] >= MROCE_OP_READ_RESP);
		/*
		 * a payload goes to one place only, and what has a fixed form has no other payload
		 */
		KUNIT_EXPECT_FALSE(test, o->place && o->rdma);
		KUNIT_EXPECT_FALSE(test, o->fixed && o->payload);
		KUNIT_EXPECT_FALSE(test, o->imm && o->inv);
		if (o->place)
			KUNIT_EXPECT_TRUE(test, o->receive);
		if (o->answered) {
			KUNIT_EXPECT_FALSE(test, o->payload);
			KUNIT_EXPECT_TRUE(test, mroce_opinfo[o->answered].response);
		}
	}
	KUNIT_EXPECT_TRUE(test, mroce_opinfo[MROCE_OP_WRITE_IMM].receive);
	KUNIT_EXPECT_FALSE(test, mroce_opinfo[MROCE_OP_WRITE_IMM].place);
	KUNIT_EXPECT_EQ(test, mroce_opinfo[MROCE_OP_CMP_SWAP].fixed, 16);
	KUNIT_EXPECT_EQ(test, mroce_opinfo[MROCE_OP_ATOMIC_WRITE].fixed, 8);
	KUNIT_EXPECT_EQ(test, mroce_opinfo[MROCE_OP_ATOMIC_RESP].fixed, 8);
}

static void packets_of_a_message(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mroce_packets(MROCE_OP_SEND, 0, 4096), 1);
	KUNIT_EXPECT_EQ(test, mroce_packets(MROCE_OP_SEND, 1, 4096), 1);
	KUNIT_EXPECT_EQ(test, mroce_packets(MROCE_OP_SEND, 4096, 4096), 1);
	KUNIT_EXPECT_EQ(test, mroce_packets(MROCE_OP_SEND, 4097, 4096), 2);
	KUNIT_EXPECT_EQ(test, mroce_packets(MROCE_OP_WRITE, 0x80000000U, 1), 0x80000000U);
	KUNIT_EXPECT_EQ(test, mroce_packets(MROCE_OP_WRITE, U32_MAX, 2), 0x80000000U);
	KUNIT_EXPECT_EQ(test, mroce_packets(MROCE_OP_READ, 1 << 30, 1024), 1);
	KUNIT_EXPECT_EQ(test, mroce_packets(MROCE_OP_FETCH_ADD, 8, 4), 1);
	KUNIT_EXPECT_EQ(test, mroce_packets(MROCE_OP_SEND, 100, 0), 1);
	KUNIT_EXPECT_EQ(test, mroce_packets(200, 100000, 10), 1);
}

static void sequence_numbers(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, mroce_seq_before(U32_MAX, 0));
	KUNIT_EXPECT_TRUE(test, mroce_seq_after(5, U32_MAX - 5));
	KUNIT_EXPECT_FALSE(test, mroce_seq_before(7, 7));
	KUNIT_EXPECT_FALSE(test, mroce_seq_after(7, 7));
	KUNIT_EXPECT_EQ(test, mroce_seq_diff(3, U32_MAX), 4);
	KUNIT_EXPECT_TRUE(test, mroce_seq_before(0, 0x7fffffff));
	KUNIT_EXPECT_TRUE(test, mroce_seq_after(0x7fffffff, 0));
}

/* ---- round trips ---- */

/* the header's layout is fixed: offsets in bytes, big endian */
static void layout(struct kunit *test)
{
	struct mroce_data d = {
		.base = { .id = 0x0102030405060708ULL,
			  .number = 0x11121314,
			  .path = 0x21,
			  .epoch = 0x22 },
		.addr = 0x3132333435363738ULL,
		.stream = 0x41424344,
		.spn = 0x51525354,
		.msn = 0x61626364,
		.rsn = 0x71727374,
		.offset = 0x01020304,
		.length = 0x11223344,
		.rkey = 0xa1a2a3a4,
		.imm = 0xb1b2b3b4,
		.stamp = 0xc1c2c3c4,
		.backlog = 0xd1d2d3d4,
		.floor = 0xe1e2e3e4,
		.crc = 0xf1f2f3f4,
		.psize = 0x1020,
		.opcode = 4,
		.flags = 3,
	};
	static const u8 wire[72] = {
		1,    6,    0x21, 0x22, 0x11, 0x12, 0x13, 0x14, 1,    2,    3,	  4,
		5,    6,    7,	  8,	0x41, 0x42, 0x43, 0x44, 0x51, 0x52, 0x53, 0x54,
		0x61, 0x62, 0x63, 0x64, 0x71, 0x72, 0x73, 0x74, 1,    2,    3,	  4,
		0x11, 0x22, 0x33, 0x44, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
		0xa1, 0xa2, 0xa3, 0xa4, 0xb1, 0xb2, 0xb3, 0xb4, 4,    3,    0x10, 0x20,
		0xc1, 0xc2, 0xc3, 0xc4, 0xd1, 0xd2, 0xd3, 0xd4, 0xe1, 0xe2, 0xe3, 0xe4,
	};
	u8 buf[MROCE_HEADER_MAX];

	KUNIT_EXPECT_EQ(test, mroce_build_data(buf, &d), 76);
	KUNIT_EXPECT_MEMEQ(test, buf, wire, 72);
	KUNIT_EXPECT_EQ(test, sizeof(struct mroce_wire_base), 16);
	KUNIT_EXPECT_EQ(test, sizeof(struct mroce_wire_ack), 88);
	KUNIT_EXPECT_EQ(test, sizeof(struct mroce_wire_record), 20);
	KUNIT_EXPECT_EQ(test, sizeof(struct mroce_wire_control), 32);
	KUNIT_EXPECT_EQ(test, sizeof(struct mroce_wire_open), 56);
	KUNIT_EXPECT_EQ(test, sizeof(struct mroce_wire_hello), 280);
	KUNIT_EXPECT_EQ(test, sizeof(struct mroce_wire_reset), 32);
	KUNIT_EXPECT_EQ(test, sizeof(struct mroce_wire_verify), 40);
	KUNIT_EXPECT_EQ(test, sizeof(struct mroce_wire_ud), 40);
	KUNIT_EXPECT_EQ(test, sizeof(struct mroce_wire_uc), 56);
}

static void data_round_trip(struct kunit *test)
{
	u8 buf[MROCE_HEADER_MAX], again[MROCE_HEADER_MAX];
	struct mroce_data d, e = {};
	u32 payload, count, i;

	for (i = 0; i < 200; i++) {
		u32 packets = 1 + next_random() % 100, index = next_random() % packets;
		u32 n = 1 + next_random() % min(packets - index, 64U),
		    tail = 1 + next_random() % 1000;

		d = write_train(index, n, packets, tail, &payload);
		KUNIT_ASSERT_EQ(test, mroce_build_data(buf, &d), WIRE_DATA);
		KUNIT_ASSERT_EQ(test, mroce_parse_data(buf, WIRE_DATA, payload, &e, &count), 0);
		KUNIT_EXPECT_EQ(test, count, n);
		mroce_build_data(again, &e);
		KUNIT_ASSERT_TRUE(test, !memcmp(buf, again, WIRE_DATA));
		KUNIT_EXPECT_EQ(test, e.addr, d.addr);
		KUNIT_EXPECT_EQ(test, e.spn, d.spn);
		KUNIT_EXPECT_EQ(test, e.backlog, d.backlog);
		KUNIT_EXPECT_EQ(test, e.floor, d.floor);
		KUNIT_EXPECT_EQ(test, e.base.id, d.base.id);
	}
}

static void ack_round_trip(struct kunit *test)
{
	struct mroce_ack *a = kunit_kzalloc(test, 2 * sizeof(*a), GFP_KERNEL), *b = a + 1;
	u8 buf[MROCE_HEADER_MAX], again[MROCE_HEADER_MAX];
	u32 i, k;
	size_t len;

	KUNIT_ASSERT_NOT_NULL(test, a);
	for (i = 0; i <= MROCE_MAX_RECORDS; i++) {
		randomise(a, sizeof(*a));
		a->nrecords = i;
		a->anchor = a->base.number - i;
		for (k = 0; k < i; k++) {
			a->record[k].kind = MROCE_R_CREDIT + k % 4;
			a->record[k].reason = 1 + k % (MROCE_N_MAX - 1);
		}
		len = mroce_build_ack(buf, a);
		KUNIT_ASSERT_EQ(test, len,
				sizeof(struct mroce_wire_ack) +
					i * sizeof(struct mroce_wire_record));
		memset(b, 0xee, sizeof(*b));
		KUNIT_ASSERT_EQ(test, mroce_parse_ack(buf, len, b), 0);
		KUNIT_EXPECT_EQ(test, b->share, a->share);
		KUNIT_EXPECT_EQ(test, b->bytes, a->bytes);
		KUNIT_EXPECT_MEMEQ(test, b->bitmap, a->bitmap, sizeof(a->bitmap));
		if (i)
			KUNIT_EXPECT_EQ(test, b->record[i - 1].value, a->record[i - 1].value);
		KUNIT_EXPECT_EQ(test, mroce_build_ack(again, b), len);
		KUNIT_EXPECT_MEMEQ(test, buf, again, len);
		/* one byte short of the last record */
		KUNIT_EXPECT_EQ(test, mroce_parse_ack(buf, len - 1, b), -EBADMSG);
	}
}

static void other_round_trips(struct kunit *test)
{
	u8 buf[MROCE_HEADER_MAX], again[MROCE_HEADER_MAX];
	struct mroce_control c, c2;
	struct mroce_open o, o2;
	struct mroce_verify v, v2;
	struct mroce_reset r, r2;
	struct mroce_ud u, u2;
	u32 i;

	for (i = 0; i < 50; i++) {
		randomise(&c, sizeof(c));
		c.op = MROCE_C_CLOSE + i % 3;
		mroce_build_control(buf, &c);
		KUNIT_ASSERT_EQ(test, mroce_parse_control(buf, WIRE_CONTROL, &c2), 0);
		mroce_build_control(again, &c2);
		KUNIT_EXPECT_MEMEQ(test, buf, again, sizeof(struct mroce_wire_control));
		KUNIT_EXPECT_EQ(test, c2.value, c.value);
		KUNIT_EXPECT_EQ(test, c2.stream, c.stream);

		randomise(&o, sizeof(o));
		o.base.type = MROCE_T_OPEN + i % 2;
		o.own_qpn &= 0xffffff;
		o.peer_qpn &= 0xffffff;
		o.log_packets %= 18;
		o.log_messages %= 18;
		o.status %= 3;
		mroce_build_open(buf, &o);
		KUNIT_ASSERT_EQ(test, mroce_parse_open(buf, sizeof(struct mroce_wire_open), &o2),
				0);
		mroce_build_open(again, &o2);
		KUNIT_EXPECT_MEMEQ(test, buf, again, sizeof(struct mroce_wire_open));
		KUNIT_EXPECT_EQ(test, o2.credit, o.credit);
		KUNIT_EXPECT_EQ(test, o2.attempt, o.attempt);
		KUNIT_EXPECT_EQ(test, o2.to, o.to);

		randomise(&r, sizeof(r));
		r.type = MROCE_T_DATA;
		mroce_build_reset(buf, &r);
		KUNIT_ASSERT_EQ(test, mroce_parse_reset(buf, sizeof(struct mroce_wire_reset), &r2),
				0);
		KUNIT_EXPECT_EQ(test, r2.instance, r.instance);
		KUNIT_EXPECT_EQ(test, r2.base.number, r.base.number);

		randomise(&v, sizeof(v));
		v.nonce |= 1;
		v.echo |= 1;
		mroce_build_verify(buf, &v);
		KUNIT_ASSERT_EQ(test,
				mroce_parse_verify(buf, sizeof(struct mroce_wire_verify), &v2), 0);
		KUNIT_EXPECT_EQ(test, v2.nonce, v.nonce);
		KUNIT_EXPECT_EQ(test, v2.echo, v.echo);
		KUNIT_EXPECT_EQ(test, v2.flags, v.flags);
		KUNIT_EXPECT_EQ(test, v2.base.id, v.base.id);

		randomise(&u, sizeof(u));
		u.dst_qpn &= 0xffffff;
		u.src_qpn &= 0xffffff;
		mroce_build_ud(buf, &u);
		KUNIT_ASSERT_EQ(test, mroce_parse_ud(buf, sizeof(struct mroce_wire_ud), &u2), 0);
		mroce_build_ud(again, &u2);
		KUNIT_EXPECT_MEMEQ(test, buf, again, sizeof(struct mroce_wire_ud));
		KUNIT_EXPECT_EQ(test, u2.qkey, u.qkey);
		KUNIT_EXPECT_EQ(test, u2.pkey, u.pkey);
	}
}

static void hello_round_trip(struct kunit *test)
{
	struct mroce_hello *h = kunit_kzalloc(test, 2 * sizeof(*h), GFP_KERNEL), *g = h + 1;
	u8 buf[MROCE_HEADER_MAX], again[MROCE_HEADER_MAX];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, h);
	for (i = 1; i <= MROCE_MAX_PLANES; i++) {
		randomise(h, sizeof(*h));
		h->base.type = i % 2 ? MROCE_T_HELLO : MROCE_T_HELLO_ACK;
		h->version_min = 1;
		h->version_max = 3;
		h->npaths = i;
		h->nplanes = i;
		KUNIT_ASSERT_EQ(test, mroce_build_hello(buf, h), sizeof(struct mroce_wire_hello));
		KUNIT_ASSERT_EQ(test, mroce_parse_hello(buf, sizeof(struct mroce_wire_hello), g),
				0);
		mroce_build_hello(again, g);
		KUNIT_EXPECT_MEMEQ(test, buf, again, sizeof(struct mroce_wire_hello));
		KUNIT_EXPECT_EQ(test, g->nonce, h->nonce);
		KUNIT_EXPECT_MEMEQ(test, g->cookie, h->cookie, sizeof(h->cookie));
		KUNIT_EXPECT_MEMEQ(test, g->plane[i - 1].addr, h->plane[i - 1].addr, MROCE_GID_LEN);
		KUNIT_EXPECT_EQ(test, g->plane[i - 1].mtu, h->plane[i - 1].mtu);
	}
	/* a HELLO of another version is let through: that is how two hosts find out */
	buf[0] = 9;
	KUNIT_EXPECT_EQ(test, mroce_parse_hello(buf, sizeof(struct mroce_wire_hello), g), 0);
}

/* ---- trains ---- */

/*
 * Cutting gives single packets, each right by itself; joining them again gives the train, and
 * nothing else joins.
 */
static void cut_and_join(struct kunit *test)
{
	u8 train[MROCE_HEADER_MAX], packet[MROCE_HEADER_MAX], joined[MROCE_HEADER_MAX];
	struct mroce_data d, e;
	u32 round, i, payload, count, bytes;

	for (round = 0; round < 60; round++) {
		u32 packets = 2 + next_random() % 80, index = next_random() % (packets - 1);
		u32 n = 2 + next_random() % min(packets - index - 1, 63U),
		    tail = 1 + next_random() % 1000;

		d = write_train(index, n, packets, tail, &payload);
		if (round < 3) { /* numbers wrap in the middle */
			d.base.number = -round - 1;
			d.spn = d.base.number;
		}
		mroce_build_data(train, &d);
		for (i = 0; i < n; i++) {
			memcpy(packet, train, sizeof(packet));
			mroce_cut_data(packet, i, n);
			bytes = min(payload - i * 1000, 1000U);
			KUNIT_ASSERT_EQ(test,
					mroce_parse_data(packet, WIRE_DATA,
							 bytes, &e, &count),
					0);
			KUNIT_ASSERT_EQ(test, count, 1);
			KUNIT_EXPECT_EQ(test, e.base.number, d.base.number + i);
			KUNIT_EXPECT_EQ(test, e.spn, d.spn + i);
			KUNIT_EXPECT_EQ(test, e.offset, d.offset + i * 1000);
			KUNIT_EXPECT_EQ(test, e.addr, d.addr + i * 1000);
			KUNIT_EXPECT_EQ(test, !!(e.flags & MROCE_F_FIRST), i == 0 && index == 0);
			KUNIT_EXPECT_EQ(test, !!(e.flags & MROCE_F_LAST),
					i == n - 1 && index + n == packets);
			KUNIT_EXPECT_EQ(test, !!(e.flags & MROCE_F_ACKREQ), i == n - 1);
			KUNIT_EXPECT_TRUE(test, e.flags & MROCE_F_ORDERED);
			if (!i) {
				memcpy(joined, packet, sizeof(joined));
				continue;
			}
			KUNIT_ASSERT_TRUE(test, mroce_joins_data(joined, i, packet));
			KUNIT_EXPECT_FALSE(test, mroce_joins_data(joined, i + 1, packet));
			/* every byte counts, but for the flags that only a last packet has */
			{
				u32 at = next_random() % WIRE_DATA;
				u8 bit = 1 << next_random() % 8;

				packet[at] ^= bit;
				if (at != offsetof(struct mroce_wire_data, flags) ||
				    bit & ~(MROCE_F_LAST | MROCE_F_ACKREQ))
					KUNIT_EXPECT_FALSE(test,
							   mroce_joins_data(joined, i, packet));
				packet[at] ^= bit;
			}
			((struct mroce_wire_data *)joined)->flags |=
				((struct mroce_wire_data *)packet)->flags &
				(MROCE_F_LAST | MROCE_F_ACKREQ);
		}
		KUNIT_EXPECT_MEMEQ(test, joined, train, WIRE_DATA);
		/* nothing follows a last packet, nor one that asks for an ACK */
		mroce_cut_data(packet, 1, 2);
		KUNIT_EXPECT_FALSE(test, mroce_joins_data(joined, n, packet));
	}
}

static void joins_have_limits(struct kunit *test)
{
	u8 train[MROCE_HEADER_MAX], next[MROCE_HEADER_MAX];
	struct mroce_data d;
	u32 payload;

	d = write_train(0, 64, 100, 1000, &payload);
	d.flags &= ~MROCE_F_ACKREQ;
	mroce_build_data(train, &d);
	memcpy(next, train, sizeof(next));
	mroce_cut_data(next, 63, 64);
	KUNIT_EXPECT_TRUE(test, mroce_joins_data(train, 63, next));
	memcpy(next, train, sizeof(next));
	mroce_cut_data(next, 64, 65);
	KUNIT_EXPECT_FALSE(test, mroce_joins_data(train, 64, next));
	/* what has no payload to be cut never joins */
	d.opcode = MROCE_OP_READ;
	mroce_build_data(train, &d);
	memcpy(next, train, sizeof(next));
	mroce_cut_data(next, 1, 2);
	KUNIT_EXPECT_FALSE(test, mroce_joins_data(train, 1, next));
	/* a sum covers one packet */
	d.opcode = MROCE_OP_WRITE;
	d.flags |= MROCE_F_CRC;
	mroce_build_data(train, &d);
	memcpy(next, train, sizeof(next));
	mroce_cut_data(next, 1, 2);
	KUNIT_EXPECT_FALSE(test, mroce_joins_data(train, 1, next));
}

/* A Send's address does not advance: it has none. */
static void cut_a_send(struct kunit *test)
{
	u8 train[MROCE_HEADER_MAX];
	struct mroce_data d, e;
	u32 payload, count;

	d = write_train(0, 4, 4, 1000, &payload);
	d.opcode = MROCE_OP_SEND;
	d.addr = 77;
	mroce_build_data(train, &d);
	mroce_cut_data(train, 2, 4);
	KUNIT_ASSERT_EQ(test, mroce_parse_data(train, WIRE_DATA, 1000, &e, &count), 0);
	KUNIT_EXPECT_EQ(test, e.addr, 77);
	KUNIT_EXPECT_EQ(test, e.offset, 2000);
	KUNIT_EXPECT_EQ(test, e.rsn, d.rsn);
}

/* Where a whole message ends, for another may follow: never behind what is there. */
static void ends_of_messages(struct kunit *test)
{
	u8 wire[WIRE_DATA];
	struct mroce_data d;
	u32 payload;

	d = write_train(0, 1, 1, 300, &payload);
	mroce_build_data(wire, &d);
	KUNIT_EXPECT_EQ(test, mroce_data_payload(wire, 300), 300);
	KUNIT_EXPECT_EQ(test, mroce_data_payload(wire, 5000), 300);
	KUNIT_EXPECT_EQ(test, mroce_data_payload(wire, 299), 299);
	/* parts of messages end with the datagram */
	d = write_train(0, 1, 2, 300, &payload);
	mroce_build_data(wire, &d);
	KUNIT_EXPECT_EQ(test, mroce_data_payload(wire, 5000), 5000);
	d = write_train(1, 1, 2, 300, &payload);
	mroce_build_data(wire, &d);
	KUNIT_EXPECT_EQ(test, mroce_data_payload(wire, 5000), 5000);
	d.flags |= MROCE_F_FIRST | MROCE_F_LAST;
	d.opcode = MROCE_OP_READ;
	mroce_build_data(wire, &d);
	KUNIT_EXPECT_EQ(test, mroce_data_payload(wire, 5000), 0);
	d.opcode = MROCE_OP_FETCH_ADD;
	mroce_build_data(wire, &d);
	KUNIT_EXPECT_EQ(test, mroce_data_payload(wire, 5000), sizeof(struct mroce_wire_atomic));
	KUNIT_EXPECT_EQ(test, mroce_data_payload(wire, 7), 7);
	d.opcode = 255;
	mroce_build_data(wire, &d);
	KUNIT_EXPECT_EQ(test, mroce_data_payload(wire, 5000), 5000);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(opcodes),	       KUNIT_CASE(packets_of_a_message),
	KUNIT_CASE(sequence_numbers),  KUNIT_CASE(layout),
	KUNIT_CASE(data_round_trip),   KUNIT_CASE(ack_round_trip),
	KUNIT_CASE(other_round_trips), KUNIT_CASE(hello_round_trip),
	KUNIT_CASE(cut_and_join),      KUNIT_CASE(joins_have_limits),
	KUNIT_CASE(cut_a_send),	       KUNIT_CASE(ends_of_messages),
	{}
};

struct kunit_suite mroce_packet_suite = {
	.name = "mroce_packet",
	.init = init,
	.test_cases = cases,
};
