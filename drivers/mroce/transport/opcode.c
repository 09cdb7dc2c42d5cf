// SPDX-License-Identifier: GPL-2.0
/*
 * The opcode table: one row for each kind of message, which says what its
 * packets carry and what its fields mean. Whoever needs to know asks the row;
 * there is no switch over opcodes. Constant data, pure functions, any caller.
 *
 * Messages of fixed form are one packet of exactly @fixed bytes; the length
 * field of their header counts for nothing. READ's is what it asks for,
 * FLUSH's its range.
 */
#include "packet.h"

const struct mroce_opinfo mroce_opinfo[32] = {
	[MROCE_OP_SEND] = {
		.name = "SEND", .valid = 1, .payload = 1, .receive = 1, .place = 1, .uc = 1,
	},
	[MROCE_OP_SEND_IMM] = {
		.name = "SEND_IMM", .valid = 1, .payload = 1, .receive = 1, .place = 1, .imm = 1,
		.uc = 1,
	},
	[MROCE_OP_SEND_INV] = {
		.name = "SEND_INV", .valid = 1, .payload = 1, .receive = 1, .place = 1, .inv = 1,
	},
	[MROCE_OP_WRITE] = {
		.name = "WRITE", .valid = 1, .payload = 1, .rdma = 1, .uc = 1,
	},
	[MROCE_OP_WRITE_IMM] = {
		.name = "WRITE_IMM", .valid = 1, .payload = 1, .rdma = 1, .receive = 1, .imm = 1,
		.uc = 1,
	},
	[MROCE_OP_READ] = {
		.name = "READ", .valid = 1, .rdma = 1, .answered = MROCE_OP_READ_RESP,
	},
	[MROCE_OP_CMP_SWAP] = {
		.name = "CMP_SWAP", .valid = 1, .rdma = 1, .answered = MROCE_OP_ATOMIC_RESP,
		.fixed = sizeof(struct mroce_wire_atomic),
	},
	[MROCE_OP_FETCH_ADD] = {
		.name = "FETCH_ADD", .valid = 1, .rdma = 1, .answered = MROCE_OP_ATOMIC_RESP,
		.fixed = sizeof(struct mroce_wire_atomic),
	},
	[MROCE_OP_FLUSH] = {
		.name = "FLUSH", .valid = 1, .rdma = 1, .answered = MROCE_OP_READ_RESP,
	},
	[MROCE_OP_ATOMIC_WRITE] = {
		.name = "ATOMIC_WRITE", .valid = 1, .rdma = 1, .answered = MROCE_OP_READ_RESP,
		.fixed = sizeof(__be64),
	},
	[MROCE_OP_READ_RESP] = {
		.name = "READ_RESP", .valid = 1, .response = 1, .payload = 1,
	},
	[MROCE_OP_ATOMIC_RESP] = {
		.name = "ATOMIC_RESP", .valid = 1, .response = 1, .fixed = sizeof(__be64),
	},
	[MROCE_OP_ERROR_RESP] = {
		.name = "ERROR_RESP", .valid = 1, .response = 1, .imm = 1,
	},
};

u32 mroce_packets(u8 opcode, u32 length, u16 psize)
{
	if (opcode >= ARRAY_SIZE(mroce_opinfo) || !mroce_opinfo[opcode].payload || !length ||
	    !psize)
		return 1;
	return (length - 1) / psize + 1;
}
