// SPDX-License-Identifier: GPL-2.0
/*
 * Where the fields of each packet are, and how numbers are changed. See fuzz.h.
 */
#include <stdarg.h>
#include "fuzz.h"

#define FIELD(type, name) { offsetof(struct type, name), sizeof_field(struct type, name) }
#define BASE                                                                                       \
	FIELD(mroce_wire_base, type), FIELD(mroce_wire_base, path),                                \
		FIELD(mroce_wire_base, epoch), FIELD(mroce_wire_base, number),                     \
		FIELD(mroce_wire_base, id), FIELD(mroce_wire_base, version)
#define RECORD(i, name)                                                                            \
	{ sizeof(struct mroce_wire_ack) + (i) * sizeof(struct mroce_wire_record) +                 \
		  offsetof(struct mroce_wire_record, name),                                        \
	  sizeof_field(struct mroce_wire_record, name) }
#define RECORDS(i)                                                                                 \
	RECORD(i, kind), RECORD(i, reason), RECORD(i, flags), RECORD(i, timer),                    \
		RECORD(i, stream), RECORD(i, spn), RECORD(i, number), RECORD(i, value)
#define BITMAP(i) { offsetof(struct mroce_wire_ack, bitmap) + 8 * (i), 8 }

static const struct fuzz_field data_fields[] = {
	BASE,
	FIELD(mroce_wire_data, stream),
	FIELD(mroce_wire_data, spn),
	FIELD(mroce_wire_data, msn),
	FIELD(mroce_wire_data, rsn),
	FIELD(mroce_wire_data, offset),
	FIELD(mroce_wire_data, length),
	FIELD(mroce_wire_data, addr),
	FIELD(mroce_wire_data, rkey),
	FIELD(mroce_wire_data, imm),
	FIELD(mroce_wire_data, opcode),
	FIELD(mroce_wire_data, flags),
	FIELD(mroce_wire_data, psize),
	FIELD(mroce_wire_data, stamp),
	FIELD(mroce_wire_data, backlog),
	FIELD(mroce_wire_data, floor),
	FIELD(mroce_wire_data, crc),
};

static const struct fuzz_field ack_fields[] = {
	BASE,
	FIELD(mroce_wire_ack, anchor),
	FIELD(mroce_wire_ack, echo),
	FIELD(mroce_wire_ack, delay),
	FIELD(mroce_wire_ack, packets),
	FIELD(mroce_wire_ack, ce),
	FIELD(mroce_wire_ack, bytes),
	FIELD(mroce_wire_ack, share),
	FIELD(mroce_wire_ack, allowance),
	FIELD(mroce_wire_ack, flags),
	FIELD(mroce_wire_ack, nrecords),
	FIELD(mroce_wire_ack, active),
	BITMAP(0),
	BITMAP(1),
	BITMAP(2),
	BITMAP(3),
	RECORDS(0),
	RECORDS(1),
	RECORDS(2),
};

static const struct fuzz_field control_fields[] = {
	BASE,
	FIELD(mroce_wire_control, op),
	FIELD(mroce_wire_control, flags),
	FIELD(mroce_wire_control, length),
	FIELD(mroce_wire_control, stream),
	FIELD(mroce_wire_control, value),
	FIELD(mroce_wire_control, stamp),
};

static const struct fuzz_field open_fields[] = {
	BASE,
	FIELD(mroce_wire_open, own_qpn),
	FIELD(mroce_wire_open, peer_qpn),
	FIELD(mroce_wire_open, psn),
	FIELD(mroce_wire_open, stream),
	FIELD(mroce_wire_open, to),
	FIELD(mroce_wire_open, credit),
	FIELD(mroce_wire_open, attempt),
	FIELD(mroce_wire_open, log_packets),
	FIELD(mroce_wire_open, log_messages),
	FIELD(mroce_wire_open, status),
	FIELD(mroce_wire_open, reads),
	FIELD(mroce_wire_open, flags),
	FIELD(mroce_wire_open, kind),
	FIELD(mroce_wire_open, stamp),
};

static const struct fuzz_field hello_fields[] = {
	BASE,
	FIELD(mroce_wire_hello, version_min),
	FIELD(mroce_wire_hello, version_max),
	FIELD(mroce_wire_hello, npaths),
	FIELD(mroce_wire_hello, nplanes),
	FIELD(mroce_wire_hello, flags),
	FIELD(mroce_wire_hello, reason),
	FIELD(mroce_wire_hello, max_payload),
	FIELD(mroce_wire_hello, own_id),
	FIELD(mroce_wire_hello, instance),
	FIELD(mroce_wire_hello, half),
	FIELD(mroce_wire_hello, serial),
	FIELD(mroce_wire_hello, nonce),
	FIELD(mroce_wire_hello, plane[0].mtu),
	FIELD(mroce_wire_hello, plane[0].speed),
};

static const struct fuzz_field reset_fields[] = {
	BASE,
	FIELD(mroce_wire_reset, type),
	FIELD(mroce_wire_reset, instance),
};

static const struct fuzz_field verify_fields[] = {
	BASE,
	FIELD(mroce_wire_verify, nonce),
	FIELD(mroce_wire_verify, echo),
	FIELD(mroce_wire_verify, flags),
};

static const struct fuzz_field ud_fields[] = {
	BASE,
	FIELD(mroce_wire_ud, dst_qpn),
	FIELD(mroce_wire_ud, src_qpn),
	FIELD(mroce_wire_ud, qkey),
	FIELD(mroce_wire_ud, imm),
	FIELD(mroce_wire_ud, pkey),
	FIELD(mroce_wire_ud, flags),
	FIELD(mroce_wire_ud, length),
};

static const struct fuzz_field uc_fields[] = {
	BASE,
	FIELD(mroce_wire_uc, dst_qpn),
	FIELD(mroce_wire_uc, src_qpn),
	FIELD(mroce_wire_uc, psn),
	FIELD(mroce_wire_uc, offset),
	FIELD(mroce_wire_uc, length),
	FIELD(mroce_wire_uc, addr),
	FIELD(mroce_wire_uc, rkey),
	FIELD(mroce_wire_uc, imm),
	FIELD(mroce_wire_uc, opcode),
	FIELD(mroce_wire_uc, flags),
	FIELD(mroce_wire_uc, psize),
};

static const struct {
	const struct fuzz_field *field;
	u32 n, header;
} types[] = {
#define TYPE(f, h) { f, ARRAY_SIZE(f), sizeof(struct h) }
	[MROCE_T_HELLO] = TYPE(hello_fields, mroce_wire_hello),
	[MROCE_T_HELLO_ACK] = TYPE(hello_fields, mroce_wire_hello),
	[MROCE_T_RESET] = TYPE(reset_fields, mroce_wire_reset),
	[MROCE_T_OPEN] = TYPE(open_fields, mroce_wire_open),
	[MROCE_T_OPEN_REPLY] = TYPE(open_fields, mroce_wire_open),
	[MROCE_T_DATA] = TYPE(data_fields, mroce_wire_data),
	[MROCE_T_ACK] = TYPE(ack_fields, mroce_wire_ack),
	[MROCE_T_CONTROL] = TYPE(control_fields, mroce_wire_control),
	[MROCE_T_PROBE] = TYPE(control_fields, mroce_wire_control),
	[MROCE_T_UD] = TYPE(ud_fields, mroce_wire_ud),
	[MROCE_T_VERIFY] = TYPE(verify_fields, mroce_wire_verify),
	[MROCE_T_UC] = TYPE(uc_fields, mroce_wire_uc),
#undef TYPE
};

static_assert(ARRAY_SIZE(types) == MROCE_T_MAX);

u32 fuzz_fields(u8 type, const struct fuzz_field **fields)
{
	if (type >= ARRAY_SIZE(types))
		return 0;
	*fields = types[type].field;
	return types[type].n;
}

u32 fuzz_header(u8 type)
{
	return type < ARRAY_SIZE(types) ? types[type].header : 0;
}

void fuzz_mutate_number(u8 *p, u32 bytes, u8 how, u32 value)
{
	u64 v = 0, limit = bytes < 8 ? BIT_ULL(8 * bytes) - 1 : U64_MAX;
	u32 i;

	for (i = 0; i < bytes; i++)
		v = v << 8 | p[i];
	switch (how % 8) {
	case 0:
		v = value;
		break;
	case 1:
		v += value & 0xff;
		break;
	case 2:
		v -= value & 0xff;
		break;
	case 3:
		v ^= BIT_ULL(value % (8 * bytes));
		break;
	case 4:
		v += value;
		break;
	case 5:
		v = value & 1 ? limit : value & 2 ? limit / 2 : limit / 2 + 1;
		break;
	case 6:
		v = 0;
		break;
	default:
		v = v << 32 | value;
	}
	for (i = bytes; i--; v >>= 8)
		p[i] = v;
}

size_t fuzz_mutate_ops(u8 *in, size_t size, size_t most, struct fuzz_random *r, u32 header,
		       u32 bytes, void (*random)(u8 *op, struct fuzz_random *r))
{
	u32 ops, at, to;
	u8 *op;

	if (size < header) {
		memset(in + size, 0, header - size);
		size = header;
	}
	ops = (size - header) / bytes;
	size = header + ops * bytes;
	at = fuzz_below(r, ops + 1);
	op = in + header + at * bytes;
	switch (fuzz_below(r, 9)) {
	case 0:
		in[fuzz_below(r, header)] = fuzz_next(r);
		return size;
	case 1:
	case 2:
	case 3:
		if (size + bytes > most)
			break;
		memmove(op + bytes, op, (ops - at) * bytes);
		random(op, r);
		return size + bytes;
	case 4:
		if (at == ops)
			break;
		memmove(op, op + bytes, (ops - at - 1) * bytes);
		return size - bytes;
	case 5:
		if (at == ops || size + bytes > most)
			break;
		to = fuzz_below(r, ops);
		memcpy(in + size, op, bytes);
		memcpy(op, in + header + to * bytes, bytes);
		memcpy(in + header + to * bytes, in + size, bytes);
		return size;
	case 6:
	case 7:
		if (at == ops)
			break;
		op[fuzz_below(r, bytes)] = fuzz_next(r);
		return size;
	}
	return fuzz_mutate_bytes(in, size, most, r);
}

void fuzz_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("FUZZ: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	abort();
}
