/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a packet of each type says, in the host's byte order, and whether it is one. Everything here follows from
 * Documentation/protocol.rst and include/mroce/wire.h; no state is kept.
 */
#ifndef SOFT_PACKETS_H
#define SOFT_PACKETS_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mroce/wire.h>

enum { ATOMIC_BYTES = 16, RESULT_BYTES = 8, MAX_MESSAGE_PACKETS = 1 << 30, MAX_SHARED = 32 };

struct data {
	uint32_t stream, spn, msn, rsn, offset, length;
	uint64_t addr;
	uint32_t rkey, imm;
	uint8_t opcode, flags;
	uint16_t psize;
	uint32_t stamp, backlog, floor;
	const uint8_t *payload;
	uint32_t bytes;		/* of payload */
	/* what follows from these ([M1]) */
	uint32_t first, packets;
};

/* a < b, a <= b in the sense of RFC 1982 */
static inline bool before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool before_eq(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}

/* what an opcode carries and asks for */
bool op_known(uint8_t op);
bool op_response(uint8_t op);
bool op_carries_message(uint8_t op);
bool op_receives(uint8_t op);
bool op_answered(uint8_t op);
bool op_needs_key(uint8_t op);
uint32_t op_own_payload(uint8_t op);

/*
 * Each takes a packet and its bytes up to the end of the datagram, and returns why it is to be ignored, or NULL. @used is
 * how many bytes were its own.
 */
const char *base_check(const uint8_t *p, size_t len);
const char *data_parse(const uint8_t *p, size_t len, struct data *d, size_t *used);
const char *ack_check(const uint8_t *p, size_t len, size_t *used);
const char *hello_check(const uint8_t *p, size_t len);
const char *open_check(const uint8_t *p, size_t len);
const char *control_check(const uint8_t *p, size_t len);
const char *verify_check(const uint8_t *p, size_t len);
const char *ud_check(const uint8_t *p, size_t len);
const char *uc_check(const uint8_t *p, size_t len);

bool type_numbered(uint8_t type);
const char *type_name(uint8_t type);
const char *op_name(uint8_t op);

/* [N5]: never fewer than 64 */
static inline uint32_t window_of(uint8_t log)
{
	return 1U << (log < 6 ? 6 : log);
}

static inline uint32_t packets_of(uint8_t op, uint32_t length, uint32_t psize)
{
	return !op_carries_message(op) || !length ? 1 : (length - 1) / psize + 1;
}

#endif
