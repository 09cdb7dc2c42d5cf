/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets in host order, and the only functions that convert between these and
 * the wire (include/mroce/wire.h). Parsers take untrusted bytes, check every
 * field that can be checked without state, and touch nothing else.
 * Pure: no locks, no context, any caller.
 */
#ifndef MROCE_TRANSPORT_PACKET_H
#define MROCE_TRANSPORT_PACKET_H

#include <mroce/wire.h>
#include "shim.h"

/* serial number arithmetic over 32 bits (RFC 1982) */
static inline s32 mroce_seq_diff(u32 a, u32 b) { return (s32)(a - b); }
static inline bool mroce_seq_before(u32 a, u32 b) { return mroce_seq_diff(a, b) < 0; }
static inline bool mroce_seq_after(u32 a, u32 b) { return mroce_seq_diff(a, b) > 0; }

#define MROCE_PAYLOAD_MIN	1024	/* bytes of a packet: no path that passes less is used */
#define MROCE_TRAIN_MAX	64	/* packets of one train: claims and open packets are 64-bit masks */
#define MROCE_GID_LEN	16

struct mroce_base {
	u64 id;
	u32 number;
	u8 type, path, epoch, version;
};

/* one data packet, or the first of a train; fields as in struct mroce_wire_data */
struct mroce_data {
	struct mroce_base base;
	u64 addr;
	u32 stream, spn, msn, rsn;
	u32 offset, length;
	u32 rkey, imm;
	u32 stamp, backlog, floor, crc;
	u16 psize;
	u8 opcode, flags;
};

/*
 * A message of a run: whole ones in a packet each, of one stream, opcode and payload size, which
 * have the next numbers each time. What else their headers say.
 */
struct mroce_small {
	u64 addr;
	u32 length, rkey, imm;
	u8 flags;
};

struct mroce_record_news {
	u32 stream, spn, number, value;
	u8 kind, reason, flags, timer;
};

struct mroce_ack {
	struct mroce_base base;
	u64 bytes;
	u64 bitmap[MROCE_BITMAP_WORDS];
	u32 anchor, echo, delay;
	u32 packets, ce;
	u32 share, allowance;
	u16 active;
	u8 flags, nrecords;
	struct mroce_record_news record[MROCE_MAX_RECORDS];
};

struct mroce_control {
	struct mroce_base base;
	u32 stream, value, stamp;
	u16 length;
	u8 op, flags;
};

struct mroce_open {
	struct mroce_base base;
	u32 own_qpn, peer_qpn, psn, stream, to, credit, attempt, stamp;
	u8 log_packets, log_messages, status, reads, flags, kind;
};

struct mroce_plane_addr {
	u8 addr[MROCE_GID_LEN];
	u32 speed;
	u16 mtu, flags;
};

struct mroce_hello {
	struct mroce_base base;
	u64 own_id, instance, nonce;
	u32 half, serial;
	u16 max_payload;
	u8 version_min, version_max, npaths, nplanes, flags, reason;
	u8 cookie[16];
	u8 to[MROCE_GID_LEN];
	struct mroce_plane_addr plane[MROCE_MAX_PLANES];
};

struct mroce_verify {
	struct mroce_base base;
	u64 nonce, echo;
	u8 flags;
};

struct mroce_reset {
	struct mroce_base base;
	u64 instance;
	u8 type;
};

struct mroce_ud {
	struct mroce_base base;
	u32 dst_qpn, src_qpn, qkey, imm, length;
	u16 pkey;
	u8 flags;
};

/* one packet of an unreliable connection; fields as in struct mroce_wire_uc */
struct mroce_uc {
	struct mroce_base base;
	u64 addr;
	u32 dst_qpn, src_qpn, psn, offset, length, rkey, imm;
	u16 psize;
	u8 opcode, flags;
};

/* One row an opcode: what a message of this kind is. See opcode.c. */
struct mroce_opinfo {
	const char *name;
	u8 valid:1;
	u8 response:1;	/* lives in the response space */
	u8 payload:1;	/* its packets carry the message's bytes */
	u8 rdma:1;	/* addr and rkey count */
	u8 receive:1;	/* consumes a receive buffer: rsn counts */
	u8 place:1;	/* a Send's payload: goes to that buffer */
	u8 imm:1;
	u8 inv:1;
	u8 uc:1;	/* may go unacknowledged */
	u8 answered;	/* READ, FLUSH, atomics: opcode of the response that completes it, else 0 */
	u8 fixed;	/* payload bytes of a single-packet message of fixed form, else 0 */
};

extern const struct mroce_opinfo mroce_opinfo[32];

/* packets of a message: READ, FLUSH and atomics have one, any other at least one */
u32 mroce_packets(u8 opcode, u32 length, u16 psize);

/*
 * Parsers: @p holds @len bytes that start with the base header. Return 0, or a
 * negative errno: -EBADMSG malformed or truncated, -EPROTONOSUPPORT another
 * version, -EOPNOTSUPP unknown type or opcode.
 *
 * mroce_parse_data() checks a single packet or a train: @payload is the number of
 * bytes behind the header, @count (out) the packets that these are. mroce_parse_uc() checks
 * a packet with its payload.
 */
int mroce_parse_base(const void *p, size_t len, struct mroce_base *b);
/*
 * How many of the @left bytes behind the header at @p are its payload: a message that is whole ends
 * where its length says, and another packet may follow it in the datagram.
 */
size_t mroce_data_payload(const void *p, size_t left);
int mroce_parse_data(const void *p, size_t len, size_t payload, struct mroce_data *d, u32 *count);
/*
 * Runs of small messages in a datagram. May the packet of *@d begin one? Then *@run is its first.
 * Does the packet at @p, whose payload is among @left bytes behind the header, follow as message
 * @i? Then *@m is that, and *@d speaks for it too: flags that are of packets and not of messages,
 * the backlog, the floor.
 */
bool mroce_begins_run(const struct mroce_data *d, struct mroce_small *run);
bool mroce_joins_run(const void *p, size_t left, u32 i, struct mroce_data *d,
		     struct mroce_small *m);
int mroce_parse_ack(const void *p, size_t len, struct mroce_ack *a);
int mroce_parse_control(const void *p, size_t len, struct mroce_control *c);
int mroce_parse_open(const void *p, size_t len, struct mroce_open *o);
int mroce_parse_hello(const void *p, size_t len, struct mroce_hello *h);
int mroce_parse_reset(const void *p, size_t len, struct mroce_reset *r);
int mroce_parse_verify(const void *p, size_t len, struct mroce_verify *v);
int mroce_parse_ud(const void *p, size_t len, struct mroce_ud *u);
int mroce_parse_uc(const void *p, size_t len, size_t payload, struct mroce_uc *u);

/*
 * Builders: write the header (and records) at @p, which has room for
 * MROCE_HEADER_MAX bytes; return the bytes written.
 */
#define MROCE_HEADER_MAX \
	(sizeof(struct mroce_wire_ack) + MROCE_MAX_RECORDS * sizeof(struct mroce_wire_record))

/*
 * bytes of the ACKs that share a datagram, at most: no path passes
 * less (IPv6's 1,280, less its header and UDP's)
 */
#define MROCE_ACK_DATAGRAM	1232

static inline size_t mroce_ack_size(const struct mroce_ack *a)
{
	return sizeof(struct mroce_wire_ack) + a->nrecords * sizeof(struct mroce_wire_record);
}

size_t mroce_build_data(void *p, const struct mroce_data *d);
size_t mroce_build_ack(void *p, const struct mroce_ack *a);
size_t mroce_build_control(void *p, const struct mroce_control *c);
size_t mroce_build_open(void *p, const struct mroce_open *o);
size_t mroce_build_hello(void *p, const struct mroce_hello *h);
size_t mroce_build_reset(void *p, const struct mroce_reset *r);
size_t mroce_build_verify(void *p, const struct mroce_verify *v);
size_t mroce_build_ud(void *p, const struct mroce_ud *u);
size_t mroce_build_uc(void *p, const struct mroce_uc *u);

/*
 * mroce_cut_data() - turn packet 0 of a train, at @wire, into packet @i
 * @wire: struct mroce_wire_data of the train, copied in front of the packet's payload
 * @i: its index, 0 to @count - 1
 * @count: packets of the train
 *
 * What the segmenter does to each packet: numbers, offset and address advance, FIRST stays
 * on the first packet alone, LAST and ACKREQ on the last. Works on the wire form, in place.
 */
void mroce_cut_data(void *wire, u32 i, u32 count);

/*
 * mroce_joins_data() - would packet @next continue the train of @count packets at @wire?
 * The inverse of mroce_cut_data(): true only if cutting the joined train again gives @next
 * bit for bit. Used by GRO.
 */
bool mroce_joins_data(const void *wire, u32 count, const void *next);

#endif
