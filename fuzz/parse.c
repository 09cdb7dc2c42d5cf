// SPDX-License-Identifier: GPL-2.0
/*
 * Every parser on any bytes. What one takes, its builder makes again bit for bit, but for what a
 * receiver ignores. A train is cut into packets that are good by themselves and join again; what
 * joins a run of small messages is good by itself too.
 *
 * Input: two bytes, the payload behind the first header; then the datagram.
 */
#include "fuzz.h"
#include "../drivers/mroce/transport/uc.h"

static u8 built[MROCE_HEADER_MAX];

/* What was built is the packet again, but for the fields that are ignored: zeroed in @seen. */
static void same(const u8 *seen, size_t size, size_t made, const char *what)
{
	FUZZ_CHECK(size == made, "%s: %zu bytes became %zu", what, size, made);
	FUZZ_CHECK(!memcmp(seen, built, size), "%s: is built otherwise than it was parsed", what);
}

static void ack(const u8 *p, size_t len)
{
	struct mroce_ack a;

	if (mroce_parse_ack(p, len, &a))
		return;
	FUZZ_CHECK(a.nrecords <= MROCE_MAX_RECORDS && mroce_ack_size(&a) <= len,
		   "ACK: %u records in %zu bytes", a.nrecords, len);
	same(p, mroce_ack_size(&a), mroce_build_ack(built, &a), "ACK");
}

static void control(const u8 *p, size_t len)
{
	struct mroce_control c;

	if (!mroce_parse_control(p, len, &c))
		same(p, sizeof(struct mroce_wire_control), mroce_build_control(built, &c),
		     "CONTROL");
}

static void open(const u8 *p, size_t len)
{
	struct mroce_wire_open w;
	struct mroce_open o;

	if (mroce_parse_open(p, len, &o))
		return;
	memcpy(&w, p, sizeof(w));
	memset(w.reserved, 0, sizeof(w.reserved));
	same((u8 *)&w, sizeof(w), mroce_build_open(built, &o), "OPEN");
}

static void hello(const u8 *p, size_t len)
{
	struct mroce_wire_hello w;
	struct mroce_hello h;
	u32 i;

	if (mroce_parse_hello(p, len, &h))
		return;
	memcpy(&w, p, sizeof(w));
	w.base.version = w.version_min;
	for (i = h.nplanes; i < MROCE_MAX_PLANES; i++)
		memset(&w.plane[i], 0, sizeof(w.plane[i]));
	same((u8 *)&w, sizeof(w), mroce_build_hello(built, &h), "HELLO");
}

static void reset(const u8 *p, size_t len)
{
	struct mroce_wire_reset w;
	struct mroce_reset r;

	if (mroce_parse_reset(p, len, &r))
		return;
	memcpy(&w, p, sizeof(w));
	memset(w.reserved, 0, sizeof(w.reserved));
	same((u8 *)&w, sizeof(w), mroce_build_reset(built, &r), "RESET");
}

static void verify(const u8 *p, size_t len)
{
	struct mroce_wire_verify w;
	struct mroce_verify v;

	if (mroce_parse_verify(p, len, &v))
		return;
	memcpy(&w, p, sizeof(w));
	memset(w.reserved, 0, sizeof(w.reserved));
	same((u8 *)&w, sizeof(w), mroce_build_verify(built, &v), "VERIFY");
}

static void ud(const u8 *p, size_t len)
{
	struct mroce_wire_ud w;
	struct mroce_ud u;

	if (mroce_parse_ud(p, len, &u))
		return;
	memcpy(&w, p, sizeof(w));
	w.reserved = 0;
	same((u8 *)&w, sizeof(w), mroce_build_ud(built, &u), "UD");
}

static void uc(const u8 *p, size_t len, size_t payload)
{
	struct mroce_uc u, whole, cut;
	u32 bytes;

	if (mroce_parse_uc(p, len, payload, &u))
		return;
	FUZZ_CHECK(payload <= u.psize && u.offset + (u64)payload <= u.length,
		   "UC: %zu bytes at %u of %u", payload, u.offset, u.length);
	same(p, sizeof(struct mroce_wire_uc), mroce_build_uc(built, &u), "UC");
	/* the same packet, cut from its message */
	whole = u;
	whole.psn -= u.offset / u.psize;
	if (mroce_opinfo[u.opcode].rdma)
		whole.addr -= u.offset;
	bytes = mroce_uc_cut(&whole, u.offset / u.psize, &cut);
	FUZZ_CHECK(bytes == payload, "UC: cut to %u bytes, not %zu", bytes, payload);
	mroce_build_uc(built, &cut);
	same(p, sizeof(struct mroce_wire_uc), sizeof(struct mroce_wire_uc), "UC, cut");
}

/* Each packet of a train is good, and continues those before it. */
static void cut_and_join(const u8 *p, const struct mroce_data *d, size_t payload, u32 count)
{
	struct mroce_wire_data first, w;
	struct mroce_data one;
	size_t bytes;
	u32 i, n;

	memcpy(&first, p, sizeof(first));
	mroce_cut_data(&first, 0, count);
	for (i = 0; i < count; i++) {
		memcpy(&w, p, sizeof(w));
		mroce_cut_data(&w, i, count);
		bytes = count == 1 ? payload : min_t(size_t, payload - i * d->psize, d->psize);
		FUZZ_CHECK(!mroce_parse_data(&w, sizeof(w), bytes, &one, &n) && n == 1,
			   "DATA: packet %u of %u is not good by itself", i, count);
		FUZZ_CHECK(one.base.number == d->base.number + i && one.spn == d->spn + i &&
			   one.offset == d->offset + i * d->psize && one.msn == d->msn,
			   "DATA: packet %u of %u has wrong numbers", i, count);
		FUZZ_CHECK(!i || mroce_joins_data(&first, i, &w),
			   "DATA: packet %u of %u does not join", i, count);
	}
}

static void data(const u8 *p, size_t len, size_t payload)
{
	struct mroce_data d;
	u32 count, packets;

	if (mroce_parse_data(p, len, payload, &d, &count))
		return;
	packets = mroce_packets(d.opcode, d.length, d.psize);
	FUZZ_CHECK(count && count <= MROCE_TRAIN_MAX && packets <= BIT(30),
		   "DATA: %u of %u packets", count, packets);
	FUZZ_CHECK(!mroce_opinfo[d.opcode].payload || d.offset / d.psize + count <= packets,
		   "DATA: %u packets at %u of %u", count, d.offset / d.psize, packets);
	same(p, sizeof(struct mroce_wire_data), mroce_build_data(built, &d), "DATA");
	cut_and_join(p, &d, payload, count);
}

/* Packets of a datagram, one behind another. */
static void shared(const u8 *p, size_t left)
{
	struct mroce_data d, one;
	struct mroce_small m;
	u32 i, count;
	size_t bytes;

	for (i = 0; left >= sizeof(struct mroce_wire_data); i++) {
		left -= sizeof(struct mroce_wire_data);
		bytes = mroce_data_payload(p, left);
		FUZZ_CHECK(bytes <= left, "a payload of %zu bytes in %zu", bytes, left);
		if (!i) {
			if (mroce_parse_data(p, sizeof(struct mroce_wire_data), bytes, &d,
					     &count) || !mroce_begins_run(&d, &m))
				return;
		} else {
			if (!mroce_joins_run(p, left, i, &d, &m))
				return;
			FUZZ_CHECK(m.length <= left, "a message of %u bytes in %zu", m.length,
				   left);
			FUZZ_CHECK(!mroce_parse_data(p, sizeof(struct mroce_wire_data), m.length,
						     &one, &count) && count == 1,
				   "message %u of a run is not good by itself", i);
			FUZZ_CHECK(one.spn == d.spn + i && one.msn == d.msn + i &&
				   one.base.number == d.base.number + i && one.addr == m.addr &&
				   one.rkey == m.rkey && one.imm == m.imm,
				   "message %u of a run is another", i);
		}
		p += sizeof(struct mroce_wire_data) + bytes;
		left -= bytes;
	}
}

/* The segmenter and GRO may be handed anything that is as long as a header. */
static void unchecked(const u8 *p, size_t len, u32 i)
{
	struct mroce_wire_data w;

	if (len < sizeof(w))
		return;
	memcpy(&w, p, sizeof(w));
	mroce_cut_data(&w, i, i + 1);
	mroce_joins_data(p, i, &w);
	if (len >= 2 * sizeof(w))
		mroce_joins_data(p, i % (MROCE_TRAIN_MAX + 2), p + sizeof(w));
}

void fuzz_one(const u8 *in, size_t size)
{
	struct mroce_base b;
	size_t payload;

	if (size < 2)
		return;
	payload = in[0] << 8 | in[1];
	in += 2;
	size -= 2;
	mroce_parse_base(in, size, &b);
	data(in, size, payload);
	shared(in, size);
	ack(in, size);
	control(in, size);
	open(in, size);
	hello(in, size);
	reset(in, size);
	verify(in, size);
	ud(in, size);
	uc(in, size, payload);
	unchecked(in, size, payload);
}

/* ---- inputs ---- */

size_t fuzz_mutate(u8 *in, size_t size, size_t most, struct fuzz_random *r)
{
	const struct fuzz_field *field;
	u32 n, header;
	u8 *p;

	if (size < 2 + sizeof(struct mroce_wire_base) || !fuzz_below(r, 4))
		return fuzz_mutate_bytes(in, size, most, r);
	n = fuzz_fields(in[3], &field);
	header = fuzz_header(in[3]);
	switch (fuzz_below(r, 8)) {
	case 0:
		fuzz_mutate_number(in, 2, fuzz_next(r), fuzz_next(r));
		return size;
	case 1:
		return 2 + fuzz_below(r, size);
	case 2:
		/* another packet like it behind it, which may be the next of a run */
		if (!header || 2 * size - 2 > most)
			return size;
		memcpy(in + size, in + 2, size - 2);
		p = in + size;
		if (in[3] == MROCE_T_DATA && size - 2 >= header) {
			fuzz_mutate_number(p + offsetof(struct mroce_wire_base, number), 4, 1, 1);
			fuzz_mutate_number(p + offsetof(struct mroce_wire_data, spn), 4, 1, 1);
			fuzz_mutate_number(p + offsetof(struct mroce_wire_data, msn), 4, 1, 1);
		}
		return 2 * size - 2;
	default:
		if (!n)
			return fuzz_mutate_bytes(in, size, most, r);
		field += fuzz_below(r, n);
		if (2 + field->at + field->bytes <= size)
			fuzz_mutate_number(in + 2 + field->at, field->bytes, fuzz_next(r),
					   fuzz_next(r));
		return size;
	}
}

#define SEED_BASE(t) { .version = MROCE_WIRE_VERSION, .type = t, .number = 7, .id = 0x1234567890 }

static size_t data_seed(u8 *p, u32 n, u16 *payload)
{
	static const u8 opcode[] = {
		MROCE_OP_WRITE, MROCE_OP_SEND, MROCE_OP_SEND_IMM, MROCE_OP_SEND_INV,
		MROCE_OP_WRITE_IMM, MROCE_OP_READ, MROCE_OP_CMP_SWAP, MROCE_OP_FETCH_ADD,
		MROCE_OP_FLUSH, MROCE_OP_ATOMIC_WRITE, MROCE_OP_READ_RESP, MROCE_OP_ATOMIC_RESP,
		MROCE_OP_ERROR_RESP,
	};
	struct mroce_data d = {
		.base = SEED_BASE(MROCE_T_DATA),
		.addr = 0x10000,
		.stream = 3,
		.spn = 100,
		.msn = 2,
		.length = 2500,
		.psize = 1000,
		.flags = MROCE_F_FIRST | MROCE_F_LAST,
	};

	if (n >= ARRAY_SIZE(opcode))
		return 0;
	d.opcode = opcode[n];
	*payload = mroce_opinfo[d.opcode].payload ? d.length : mroce_opinfo[d.opcode].fixed;
	if (mroce_opinfo[d.opcode].response)
		d.flags |= MROCE_F_RESPONSE;
	return mroce_build_data(p, &d);
}

static size_t other_seed(u8 *p, u32 n, u16 *payload)
{
	const struct mroce_ack a = {
		.base = SEED_BASE(MROCE_T_ACK),
		.anchor = 7,
		.bitmap = { 0x7f },
		.nrecords = 2,
		.record = { { .kind = MROCE_R_CREDIT, .value = 4 },
			    { .kind = MROCE_R_NACK, .reason = MROCE_N_RNR, .spn = 101 } },
	};
	const struct mroce_control c = { .base = SEED_BASE(MROCE_T_CONTROL), .op = MROCE_C_CREDIT };
	const struct mroce_control probe = {
		.base = SEED_BASE(MROCE_T_PROBE),
		.op = MROCE_C_PROBE,
	};
	const struct mroce_open o = { .base = SEED_BASE(MROCE_T_OPEN), .own_qpn = 2, .peer_qpn = 3,
				      .stream = 1 };
	const struct mroce_open reply = { .base = SEED_BASE(MROCE_T_OPEN_REPLY), .stream = 3 };
	const struct mroce_hello h = {
		.base = SEED_BASE(MROCE_T_HELLO),
		.version_min = 1,
		.version_max = 1,
		.npaths = 4,
		.nplanes = 2,
	};
	const struct mroce_reset r = { .base = SEED_BASE(MROCE_T_RESET), .type = MROCE_T_DATA };
	const struct mroce_verify v = { .base = SEED_BASE(MROCE_T_VERIFY), .nonce = 1 };
	const struct mroce_ud u = { .base = SEED_BASE(MROCE_T_UD), .dst_qpn = 1, .length = 10 };
	const struct mroce_uc uc = {
		.base = SEED_BASE(MROCE_T_UC),
		.opcode = MROCE_OP_WRITE,
		.psize = 100,
		.length = 250,
		.offset = 100,
	};

	switch (n) {
	case 0:
		return mroce_build_ack(p, &a);
	case 1:
		return mroce_build_control(p, &c);
	case 2:
		return mroce_build_control(p, &probe);
	case 3:
		return mroce_build_open(p, &o);
	case 4:
		return mroce_build_open(p, &reply);
	case 5:
		return mroce_build_hello(p, &h);
	case 6:
		return mroce_build_reset(p, &r);
	case 7:
		return mroce_build_verify(p, &v);
	case 8:
		return mroce_build_ud(p, &u);
	case 9:
		*payload = 100;
		return mroce_build_uc(p, &uc);
	}
	return 0;
}

/* Small messages that share a datagram. */
static size_t run_seed(u8 *p, u16 *payload)
{
	struct mroce_data d = {
		.base = SEED_BASE(MROCE_T_DATA),
		.addr = 0x10000,
		.stream = 3,
		.length = 20,
		.psize = 1000,
		.opcode = MROCE_OP_WRITE_IMM,
		.flags = MROCE_F_FIRST | MROCE_F_LAST,
	};
	size_t size = 0;
	u32 i;

	*payload = d.length;
	for (i = 0; i < 3; i++) {
		size += mroce_build_data(p + size, &d);
		memset(p + size, i, d.length);
		size += d.length;
		d.base.number++;
		d.spn++;
		d.msn++;
		d.rsn++;
	}
	return size;
}

size_t fuzz_seed(u8 *in, size_t most, u32 n)
{
	u16 payload = 0;
	size_t size;

	if (most < 2 + 2 * MROCE_HEADER_MAX)
		return 0;
	if (n < 13)
		size = data_seed(in + 2, n, &payload);
	else if (n < 23)
		size = other_seed(in + 2, n - 13, &payload);
	else
		size = n == 23 ? run_seed(in + 2, &payload) : 0;
	if (!size)
		return 0;
	in[0] = payload >> 8;
	in[1] = payload & 0xff;
	return 2 + size;
}
