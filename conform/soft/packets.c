// SPDX-License-Identifier: GPL-2.0
#include "packets.h"

static const struct {
	const char *name;
	bool known, message, receives, answered, key;
	uint8_t payload;
} ops[32] = {
	[MROCE_OP_SEND] = {"SEND", true, true, true, false, false, 0},
	[MROCE_OP_SEND_IMM] = {"SEND_IMM", true, true, true, false, false, 0},
	[MROCE_OP_SEND_INV] = {"SEND_INV", true, true, true, false, false, 0},
	[MROCE_OP_WRITE] = {"WRITE", true, true, false, false, true, 0},
	[MROCE_OP_WRITE_IMM] = {"WRITE_IMM", true, true, true, false, true, 0},
	[MROCE_OP_READ] = {"READ", true, false, false, true, true, 0},
	[MROCE_OP_CMP_SWAP] = {"CMP_SWAP", true, false, false, true, true, ATOMIC_BYTES},
	[MROCE_OP_FETCH_ADD] = {"FETCH_ADD", true, false, false, true, true, ATOMIC_BYTES},
	[MROCE_OP_FLUSH] = {"FLUSH", true, false, false, true, true, 0},
	[MROCE_OP_ATOMIC_WRITE] = {"ATOMIC_WRITE", true, false, false, true, true, RESULT_BYTES},
	[MROCE_OP_READ_RESP] = {"READ_RESP", true, true, false, false, false, 0},
	[MROCE_OP_ATOMIC_RESP] = {"ATOMIC_RESP", true, false, false, false, false, RESULT_BYTES},
	[MROCE_OP_ERROR_RESP] = {"ERROR_RESP", true, false, false, false, false, 0},
};

bool op_known(uint8_t op)
{
	return op < 32 && ops[op].known;
}
bool op_response(uint8_t op)
{
	return op >= 16;
}
bool op_carries_message(uint8_t op)
{
	return op < 32 && ops[op].message;
}
bool op_receives(uint8_t op)
{
	return op < 32 && ops[op].receives;
}
bool op_answered(uint8_t op)
{
	return op < 32 && ops[op].answered;
}
bool op_needs_key(uint8_t op)
{
	return op < 32 && ops[op].key;
}
uint32_t op_own_payload(uint8_t op)
{
	return op < 32 ? ops[op].payload : 0;
}
const char *op_name(uint8_t op)
{
	return op_known(op) ? ops[op].name : "?";
}

static const char *const names[MROCE_T_MAX] = {
	[MROCE_T_HELLO] = "HELLO", [MROCE_T_HELLO_ACK] = "HELLO_ACK",	[MROCE_T_RESET] = "RESET",
	[MROCE_T_OPEN] = "OPEN",   [MROCE_T_OPEN_REPLY] = "OPEN_REPLY", [MROCE_T_DATA] = "DATA",
	[MROCE_T_ACK] = "ACK",	   [MROCE_T_CONTROL] = "CONTROL",	[MROCE_T_PROBE] = "PROBE",
	[MROCE_T_UD] = "UD",	   [MROCE_T_VERIFY] = "VERIFY",		[MROCE_T_UC] = "UC",
};

const char *type_name(uint8_t type)
{
	return type < MROCE_T_MAX && names[type] ? names[type] : "?";
}

bool type_numbered(uint8_t type)
{
	return type == MROCE_T_OPEN || type == MROCE_T_DATA || type == MROCE_T_CONTROL ||
	       type == MROCE_T_PROBE;
}

const char *base_check(const uint8_t *p, size_t len)
{
	static const size_t least[MROCE_T_MAX] = {
		[MROCE_T_HELLO] = sizeof(struct mroce_wire_hello),
		[MROCE_T_HELLO_ACK] = sizeof(struct mroce_wire_hello),
		[MROCE_T_RESET] = sizeof(struct mroce_wire_reset),
		[MROCE_T_OPEN] = sizeof(struct mroce_wire_open),
		[MROCE_T_OPEN_REPLY] = sizeof(struct mroce_wire_open),
		[MROCE_T_DATA] = sizeof(struct mroce_wire_data),
		[MROCE_T_ACK] = sizeof(struct mroce_wire_ack),
		[MROCE_T_CONTROL] = sizeof(struct mroce_wire_control),
		[MROCE_T_PROBE] = sizeof(struct mroce_wire_control),
		[MROCE_T_UD] = sizeof(struct mroce_wire_ud),
		[MROCE_T_VERIFY] = sizeof(struct mroce_wire_verify),
		[MROCE_T_UC] = sizeof(struct mroce_wire_uc),
	};
	const struct mroce_wire_base *b = (const void *)p;

	if (len < sizeof(*b))
		return "shorter than a header";
	if (b->type >= MROCE_T_MAX || !least[b->type])
		return "of no known type";
	/* a HELLO has the lowest version that its sender speaks, and its layout in all of them */
	if (b->version != MROCE_WIRE_VERSION && b->type != MROCE_T_HELLO &&
	    b->type != MROCE_T_HELLO_ACK)
		return "of another version";
	if (len < least[b->type])
		return "shorter than its type";
	if (type_numbered(b->type) && b->path >= 64)
		return "path above 63";
	return NULL;
}

/* [M3], for DATA and UC alike; a message of its own ends where its payload does ([D7]) */
static const char *cut_check(struct data *d, size_t *used)
{
	bool first = d->flags & MROCE_F_FIRST, last = d->flags & MROCE_F_LAST;
	uint32_t own = op_own_payload(d->opcode);

	if (!d->psize)
		return "psize 0";
	d->first = d->spn - d->offset / d->psize;
	d->packets = packets_of(d->opcode, d->length, d->psize);
	if (!op_carries_message(d->opcode)) {
		if (!first || !last || d->offset)
			return "a message of one packet without FIRST, LAST or with an offset";
		if (d->bytes < own)
			return "operands cut off";
		*used -= d->bytes - own;
		d->bytes = own;
		return NULL;
	}
	if (first && last) {
		if (d->bytes < d->length)
			return "payload cut off";
		*used -= d->bytes - d->length;
		d->bytes = d->length;
	}
	if (d->offset % d->psize)
		return "offset no multiple of psize";
	if (d->bytes > d->psize)
		return "payload above psize";
	if (d->offset > d->length || d->bytes > d->length - d->offset)
		return "payload beyond length";
	if (first != !d->offset)
		return "FIRST and offset disagree";
	if (last != (d->offset + d->bytes == d->length))
		return "LAST and length disagree";
	if (!last && d->bytes != d->psize)
		return "a packet in the middle is short";
	if (!d->bytes && d->length)
		return "empty";
	if (d->packets > MAX_MESSAGE_PACKETS)
		return "too many packets";
	return NULL;
}

const char *data_parse(const uint8_t *p, size_t len, struct data *d, size_t *used)
{
	const struct mroce_wire_data *w = (const void *)p;

	d->stream = be32toh(w->stream);
	d->spn = be32toh(w->spn);
	d->msn = be32toh(w->msn);
	d->rsn = be32toh(w->rsn);
	d->offset = be32toh(w->offset);
	d->length = be32toh(w->length);
	d->addr = be64toh(w->addr);
	d->rkey = be32toh(w->rkey);
	d->imm = be32toh(w->imm);
	d->opcode = w->opcode;
	d->flags = w->flags;
	d->psize = be16toh(w->psize);
	d->stamp = be32toh(w->stamp);
	d->backlog = be32toh(w->backlog);
	d->floor = be32toh(w->floor);
	d->payload = p + sizeof(*w);
	d->bytes = len - sizeof(*w);
	*used = len;
	if (!op_known(d->opcode))
		return "of no known opcode";
	if (op_response(d->opcode) != !!(d->flags & MROCE_F_RESPONSE))
		return "opcode of the other space";
	if (d->opcode == MROCE_OP_FLUSH &&
	    !(d->imm & (MROCE_FLUSH_GLOBAL | MROCE_FLUSH_PERSISTENT)))
		return "FLUSH of no kind";
	return cut_check(d, used);
}

const char *uc_check(const uint8_t *p, size_t len)
{
	const struct mroce_wire_uc *w = (const void *)p;
	struct data d = {
		.spn = be32toh(w->psn),
		.offset = be32toh(w->offset),
		.length = be32toh(w->length),
		.opcode = w->opcode,
		.flags = w->flags,
		.psize = be16toh(w->psize),
		.bytes = len - sizeof(*w),
	};
	size_t used = len;
	const char *why;

	if (d.opcode > MROCE_OP_WRITE_IMM || d.opcode == MROCE_OP_SEND_INV)
		return "of no opcode for UC";
	why = cut_check(&d, &used);
	return why ? why : used != len ? "more than the payload" : NULL;
}

const char *ack_check(const uint8_t *p, size_t len, size_t *used)
{
	const struct mroce_wire_ack *w = (const void *)p;
	const struct mroce_wire_record *r = (const void *)(w + 1);
	int i;

	if (len < sizeof(*w) || w->base.version != MROCE_WIRE_VERSION ||
	    w->base.type != MROCE_T_ACK)
		return "no ACK";
	if (w->nrecords > MROCE_MAX_RECORDS)
		return "too many records";
	*used = sizeof(*w) + w->nrecords * sizeof(*r);
	if (len < *used)
		return "records cut off";
	if (before(be32toh(w->base.number), be32toh(w->anchor)))
		return "anchor above number";
	for (i = 0; i < w->nrecords; i++) {
		if (r[i].kind < MROCE_R_CREDIT ||
		    r[i].kind > MROCE_R_FLOOR) /* the last is reserved: ignored */
			return "a record of no known kind";
		if (r[i].kind == MROCE_R_NACK && (!r[i].reason || r[i].reason >= MROCE_N_MAX))
			return "a NACK without a known reason";
	}
	return NULL;
}

const char *hello_check(const uint8_t *p, size_t len)
{
	const struct mroce_wire_hello *w = (const void *)p;
	bool ack = w->base.type == MROCE_T_HELLO_ACK,
	     empty = ack && w->flags & (MROCE_H_COOKIE | MROCE_H_REFUSED);

	(void)len;
	if (!w->version_min || w->version_min > w->version_max)
		return "range of versions";
	if (w->nplanes > MROCE_MAX_PLANES || (!empty && !w->nplanes))
		return "number of planes";
	if (!empty && (!w->npaths || w->npaths > 64))
		return "number of paths";
	if (!empty && !w->own_id)
		return "own_id 0";
	return NULL;
}

const char *open_check(const uint8_t *p, size_t len)
{
	const struct mroce_wire_open *w = (const void *)p;

	(void)len;
	if (!w->stream && w->status == MROCE_OPEN_ACCEPT)
		return "stream id 0";
	if (be32toh(w->own_qpn) >> 24 || be32toh(w->peer_qpn) >> 24)
		return "queue pair number above 24 bits";
	if (w->log_packets > 17)
		return "window";
	if (w->base.type == MROCE_T_OPEN_REPLY && w->status > MROCE_OPEN_REFUSED)
		return "status";
	return NULL;
}

const char *control_check(const uint8_t *p, size_t len)
{
	const struct mroce_wire_control *w = (const void *)p;

	(void)len;
	if (w->base.type == MROCE_T_PROBE) {
		if (w->op != MROCE_C_PROBE)
			return "a PROBE of another operation";
	} else if (w->op != MROCE_C_CLOSE && w->op != MROCE_C_CREDIT) {
		return "of no known operation";
	}
	return NULL;
}

const char *verify_check(const uint8_t *p, size_t len)
{
	const struct mroce_wire_verify *w = (const void *)p;

	(void)len;
	if (!w->nonce)
		return "nonce 0";
	if (w->flags & MROCE_V_REPLY && !w->echo)
		return "a REPLY to nothing";
	return NULL;
}

const char *ud_check(const uint8_t *p, size_t len)
{
	const struct mroce_wire_ud *w = (const void *)p;

	return be32toh(w->length) != len - sizeof(*w) ? "length is not what follows" : NULL;
}
