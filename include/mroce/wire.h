/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * MetaRoCE, wire format version 1: every structure that travels between hosts,
 * and nothing else. All integers are big endian. Each packet is the payload of
 * one UDP datagram whose destination port is the service port of both hosts and
 * whose source port is that of a path. Documentation/protocol.rst is the
 * specification; the names here are its names.
 */
#ifndef MROCE_WIRE_H
#define MROCE_WIRE_H

#include <linux/types.h>

#define MROCE_WIRE_VERSION	1

/* UDP service port: unassigned at IANA, below the ephemeral range of Linux (32768 on) */
#define MROCE_PORT		19791

/*
 * path p of a half sends from source port MROCE_PATH_PORT_BASE + a 14-bit hash of (half, p, epoch)
 */
#define MROCE_PATH_PORT_BASE	0xc000
#define MROCE_PATH_PORT_BITS	14

/*
 * inner protocol of a train (IEEE 802, local experimental ethertype
 * 1); never on a wire, see net/train.c
 */
#define MROCE_ETHERTYPE		0x88b5

/* timestamps and delays count 16 ns; 32 bits wrap after 68 s */
#define MROCE_STAMP_SHIFT	4

enum mroce_type {
	MROCE_T_HELLO		= 1,	/* struct mroce_wire_hello; unnumbered */
	MROCE_T_HELLO_ACK	= 2,	/* struct mroce_wire_hello; unnumbered */
	MROCE_T_RESET		= 3,	/* struct mroce_wire_reset; unnumbered */
	MROCE_T_OPEN		= 4,	/* struct mroce_wire_open; numbered */
	MROCE_T_OPEN_REPLY	= 5,	/* struct mroce_wire_open; unnumbered */
	MROCE_T_DATA		= 6,	/* struct mroce_wire_data and its payload; numbered */
	MROCE_T_ACK		= 7,	/* struct mroce_wire_ack and its records; unnumbered */
	MROCE_T_CONTROL		= 8,	/* struct mroce_wire_control; numbered */
	MROCE_T_PROBE		= 9,	/* struct mroce_wire_control, then padding; numbered */
	MROCE_T_UD		= 10,	/* struct mroce_wire_ud and its payload; unnumbered */
	MROCE_T_VERIFY		= 11,	/* struct mroce_wire_verify; unnumbered */
	MROCE_T_UC		= 12,	/* struct mroce_wire_uc and its payload; unnumbered */
	MROCE_T_MAX
};

/**
 * struct mroce_wire_base - the first 16 bytes of every packet
 * @version: MROCE_WIRE_VERSION; a HELLO carries the lowest version that its sender speaks
 * @type: enum mroce_type
 * @path: index of the path within the sending half; of an ACK: the path that it reports
 * @epoch: of that path; raised when the path takes a new source port
 * @number: path packet number; of an ACK: the highest number received (see there); 0 if unnumbered
 * @id: the 64-bit id that the receiver of this packet chose for this half; 0 in HELLO, UD and
 *   UC
 */
struct mroce_wire_base {
	__u8	version;
	__u8	type;
	__u8	path;
	__u8	epoch;
	__be32	number;
	__be64	id;
} __attribute__((packed));

/*
 * what a message is; the last column of the opcode table in
 * transport/opcode.c says which fields count
 */
enum mroce_opcode {
	MROCE_OP_SEND		= 0,
	MROCE_OP_SEND_IMM	= 1,
	MROCE_OP_SEND_INV	= 2,
	MROCE_OP_WRITE		= 3,
	MROCE_OP_WRITE_IMM	= 4,
	MROCE_OP_READ		= 5,	/* one packet, no payload; @length bytes are asked for */
	MROCE_OP_CMP_SWAP	= 6,	/* payload: struct mroce_wire_atomic */
	MROCE_OP_FETCH_ADD	= 7,	/* payload: struct mroce_wire_atomic */
	MROCE_OP_FLUSH		= 10,	/* one packet, no payload; @imm: MROCE_FLUSH_* */
	MROCE_OP_ATOMIC_WRITE	= 11,	/* payload: 8 bytes, which are stored as they are */
	/* response space */
	MROCE_OP_READ_RESP	= 16,	/* of READ; without payload, of FLUSH and ATOMIC_WRITE */
	MROCE_OP_ATOMIC_RESP	= 17,	/* payload: the 8 bytes that were there before */
	MROCE_OP_ERROR_RESP	= 18,	/* an error found at the cursor; @imm is the reason */
};

#define MROCE_FLUSH_GLOBAL	0x01	/* everybody at the peer is to see earlier messages */
#define MROCE_FLUSH_PERSISTENT	0x02	/* and to outlast its power */
#define MROCE_FLUSH_REGION	0x10	/* of the whole region: addr and length do not count */

#define MROCE_F_FIRST		0x01	/* first packet of its message */
#define MROCE_F_LAST		0x02	/* last packet of its message */
#define MROCE_F_ACKREQ		0x04	/* acknowledge this packet at once */
#define MROCE_F_SOLICITED	0x08	/* the message raises a solicited event */
#define MROCE_F_RESPONSE	0x10	/* stream number space: 0 requests, 1 responses */
#define MROCE_F_ORDERED		0x20	/* lands only after all earlier packets of its stream */
#define MROCE_F_HELD_BACK	0x40	/* held by the sender's window or link, not by its share */
#define MROCE_F_CRC		0x80	/* @crc holds a CRC32C, negotiated */

/**
 * struct mroce_wire_data - header of one packet of a message; payload follows
 * @base: @base.number is fresh for every transmission
 * @stream: stream id, chosen by the receiver (in ACCEPT for requests, in OPEN for responses)
 * @spn: stream packet number, the same for every transmission of this packet
 * @msn: message number in this space; counts every message
 * @rsn: SEND*, WRITE_IMM: receive number, counts what consumes a receive buffer; responses: msn of
 *   the request
 * @offset: of this packet's payload within the message, bytes; a multiple of @psize
 * @length: of the whole message, bytes; READ: bytes asked for; FLUSH: of the range
 * @addr: WRITE*: virtual address of this packet's first byte; other requests with a key: of what
 *   they are about
 * @rkey: WRITE*, READ, atomics, FLUSH: key of the region; SEND*: number of the SRQ (XRC), else 0
 * @imm: immediate data, or the rkey to invalidate; FLUSH: MROCE_FLUSH_*
 * @opcode: enum mroce_opcode
 * @flags: MROCE_F_*
 * @psize: payload bytes of every packet of this message but the last
 * @stamp: sender's clock at transmission
 * @backlog: bytes that the sending half still has to send, in KiB rounded up, saturating
 * @floor: requests: lowest response number that the sender has not yet placed; WRITE_IMM of an XRC
 *   stream: number of the SRQ instead; responses: 0
 * @crc: CRC32C over header (this field 0) and payload if MROCE_F_CRC, else 0
 *
 * Offset, length and psize give the message's first and last number from any of its packets:
 * first = spn - offset / psize, packets = max(1, ceil(length / psize)), or 1 for READ, FLUSH and
 * atomics.
 */
struct mroce_wire_data {
	struct mroce_wire_base base;
	__be32	stream;
	__be32	spn;
	__be32	msn;
	__be32	rsn;
	__be32	offset;
	__be32	length;
	__be64	addr;
	__be32	rkey;
	__be32	imm;
	__u8	opcode;
	__u8	flags;
	__be16	psize;
	__be32	stamp;
	__be32	backlog;
	__be32	floor;
	__be32	crc;
} __attribute__((packed));

/*
 * operands of an atomic; CMP_SWAP compares with @compare_add,
 * FETCH_ADD adds it. Host memory is 8 aligned bytes, native order.
 */
struct mroce_wire_atomic {
	__be64	compare_add;
	__be64	swap;
} __attribute__((packed));

#define MROCE_BITMAP_BITS	256
#define MROCE_BITMAP_WORDS	4

#define MROCE_A_PARTIAL		0x01	/* anchored below the highest: a clear bit means nothing */
#define MROCE_A_DUPLICATE	0x02	/* raised by a duplicate */
#define MROCE_A_UNKNOWN_PATH	0x04	/* epoch not the receiver's; sender restarts the path */

/**
 * struct mroce_wire_ack - what one path has received; @nrecords records follow
 * @base: @base.number is the highest number below which nothing is being copied
 * @anchor: number that bit 0 stands for; normally @base.number
 * @echo: @stamp of the packet with the newest stamp
 * @delay: from that packet's arrival to this ACK, in stamp units
 * @packets: received on this path since its epoch began, duplicates and refused ones included
 * @ce: of these, marked Congestion Experienced
 * @bytes: payload of these
 * @share: bandwidth that the receiver grants to the sending half on this plane, KiB/s; 0: not
 *   limited
 * @allowance: bytes that the half may send from idle before the next ACK; 0: not limited
 * @flags: MROCE_A_*
 * @nrecords: struct mroce_wire_record that follow
 * @active: senders that share this plane at the receiver, saturating
 * @bitmap: word w, bit b (0 the least significant): number @anchor - (64 w + b) is placed, held or
 *   a known duplicate
 */
struct mroce_wire_ack {
	struct mroce_wire_base base;
	__be32	anchor;
	__be32	echo;
	__be32	delay;
	__be32	packets;
	__be32	ce;
	__be64	bytes;
	__be32	share;
	__be32	allowance;
	__u8	flags;
	__u8	nrecords;
	__be16	active;
	__be64	bitmap[MROCE_BITMAP_WORDS];
} __attribute__((packed));

#define MROCE_MAX_RECORDS	16	/* in one ACK; more go in a further ACK */

/**
 * enum mroce_record - what a record of an ACK says
 * @MROCE_R_CREDIT: @value: receive numbers below it have a buffer
 * @MROCE_R_NACK: @spn of message @value, sent as path number @number, was refused for @reason
 * @MROCE_R_RELEASE: every number below @spn is placed
 * @MROCE_R_FLOOR: requests: a further message window or read slot is open; @value: messages below
 *   it fit
 */
enum mroce_record {
	MROCE_R_CREDIT		= 1,
	MROCE_R_NACK		= 2,
	MROCE_R_RELEASE		= 3,
	MROCE_R_FLOOR		= 4,
};

#define MROCE_R_RESPONSE	0x01	/* the record is about the response space */

/**
 * struct mroce_wire_record - a stream's news in an ACK
 * @kind: enum mroce_record
 * @reason: NACK: enum mroce_nack
 * @flags: MROCE_R_RESPONSE
 * @timer: NACK: the InfiniBand RNR timer code (RNR), or a wait in ms (NOT_READY, MEMORY, FAULT)
 * @stream: id that the data sender chose for this stream (in OPEN, or in ACCEPT for the response
 *   space)
 * @spn: stream number
 * @number: path number of the transmission that is spoken of
 * @value: see enum mroce_record
 */
struct mroce_wire_record {
	__u8	kind;
	__u8	reason;
	__u8	flags;
	__u8	timer;
	__be32	stream;
	__be32	spn;
	__be32	number;
	__be32	value;
} __attribute__((packed));

/**
 * enum mroce_nack - the refusal table: why a packet was not taken, and when it may come again
 * @MROCE_N_NONE: not refused
 * @MROCE_N_RNR: no receive buffer: at credit or timer
 * @MROCE_N_HOLD: hold limit: when the stream's lowest hole is acknowledged
 * @MROCE_N_WINDOW: beyond the stream or message window: when its floor moves
 * @MROCE_N_READS: beyond the responder's read/atomic resources: when its floor moves
 * @MROCE_N_NOT_READY: the queue pair is not in RTR: after @timer ms, doubling
 * @MROCE_N_MEMORY: the receiver is short of memory: after @timer ms, doubling
 * @MROCE_N_FAULT: a page is absent: after @timer ms, doubling
 * @MROCE_N_ACCESS: key, range, right or domain: never; remote access error
 * @MROCE_N_LENGTH: longer than the receive buffer, or malformed: never; remote invalid request
 * @MROCE_N_GONE: the stream is closed: never
 * @MROCE_N_OPERATION: the receiver failed to carry it out: never; remote operational error
 * @MROCE_N_MAX: number of values
 */
enum mroce_nack {
	MROCE_N_NONE		= 0,
	MROCE_N_RNR		= 1,
	MROCE_N_HOLD		= 2,
	MROCE_N_WINDOW		= 3,
	MROCE_N_READS		= 4,
	MROCE_N_NOT_READY	= 5,
	MROCE_N_MEMORY		= 6,
	MROCE_N_FAULT		= 7,
	MROCE_N_ACCESS		= 8,
	MROCE_N_LENGTH		= 9,
	MROCE_N_GONE		= 10,
	MROCE_N_OPERATION	= 11,
	MROCE_N_MAX
};

/**
 * enum mroce_control_op - what a CONTROL says
 * @MROCE_C_CLOSE: @stream's peer is gone: nothing more will come or be answered; it has placed
 *   requests below @value
 * @MROCE_C_CREDIT: receive numbers below @value have a buffer (after a stall)
 * @MROCE_C_PROBE: asks for an ACK of this path
 */
enum mroce_control_op {
	MROCE_C_CLOSE		= 1,
	MROCE_C_CREDIT		= 2,
	MROCE_C_PROBE		= 3,
};

/**
 * struct mroce_wire_control - OPEN's smaller siblings
 * @base: the header of every packet
 * @op: enum mroce_control_op
 * @flags: MROCE_F_ACKREQ
 * @length: of the padding that follows (PROBE), bytes
 * @stream: the receiver's stream id; 0 in a PROBE
 * @value: see enum mroce_control
 * @stamp: sender's clock at transmission
 */
struct mroce_wire_control {
	struct mroce_wire_base base;
	__u8	op;
	__u8	flags;
	__be16	length;
	__be32	stream;
	__be32	value;
	__be32	stamp;
} __attribute__((packed));

enum mroce_open_status {
	MROCE_OPEN_ACCEPT	= 0,
	MROCE_OPEN_NOT_READY	= 1,	/* not in RTR, or connected to another: ask again */
	MROCE_OPEN_REFUSED	= 2,	/* no such queue pair type or windows: never */
};

/* what the two queue pairs of a stream are */
enum mroce_open_kind {
	MROCE_OPEN_RC		= 0,
	MROCE_OPEN_XRC		= 1,	/* the opener initiates, the acceptor is the target */
};

/**
 * struct mroce_wire_open - OPEN, and its answer OPEN_REPLY
 * @base: the header of every packet
 * @own_qpn: the sender's queue pair
 * @peer_qpn: the one that it is connected to
 * @psn: OPEN: first stream number of its requests
 * @stream: OPEN: id of the opener's stream, for responses and records; REPLY: id of the acceptor's,
 *   for requests
 * @to: REPLY: the opener's @stream; OPEN: 0
 * @credit: REPLY: receive numbers below it have a buffer; 0xffffffff: no credit is advertised (SRQ)
 * @attempt: REPLY: that of the OPEN answered
 * @log_packets: window in packets, power of two, per space
 * @log_messages: window in messages, power of two, per space
 * @status: REPLY: enum mroce_open_status
 * @reads: REPLY: reads and atomics that may be outstanding
 * @flags: MROCE_F_ACKREQ
 * @kind: OPEN: enum mroce_open_kind
 * @stamp: OPEN: sender's clock at transmission
 * @reserved: sent as 0, ignored
 */
struct mroce_wire_open {
	struct mroce_wire_base base;
	__be32	own_qpn;
	__be32	peer_qpn;
	__be32	psn;
	__be32	stream;
	__be32	to;
	__be32	credit;
	__be32	attempt;
	__u8	log_packets;
	__u8	log_messages;
	__u8	status;
	__u8	reads;
	__u8	flags;
	__u8	kind;
	__u8	reserved[2];
	__be32	stamp;
} __attribute__((packed));

#define MROCE_MAX_PLANES	8

struct mroce_wire_plane {
	__u8	addr[16];	/* a GID: IPv6, or IPv4 mapped into it; 0: a vacant place */
	__be16	mtu;		/* of the netdev; 0: 65,535 or more */
	__be16	flags;
	__be32	speed;		/* Mb/s; 0: unknown */
} __attribute__((packed));

#define MROCE_H_COOKIE		0x01	/* HELLO_ACK: no half yet; repeat the HELLO with @cookie */
#define MROCE_H_RESTART		0x02	/* HELLO: raised by a RESET, answers must echo @nonce */
#define MROCE_H_REFUSED		0x04	/* HELLO_ACK: @reason says why */

enum mroce_refusal {
	MROCE_REFUSED_VERSION	= 1,	/* no common version; version_min/max are the answerer's */
	MROCE_REFUSED_ADDRESS	= 2,	/* no device has this address */
	MROCE_REFUSED_MTU	= 3,	/* a plane is below the smallest payload */
	MROCE_REFUSED_LIMIT	= 4,	/* too many connections */
};

/**
 * struct mroce_wire_hello - HELLO opens a sending half; HELLO_ACK answers
 * @base: HELLO: @id 0; HELLO_ACK: @id is that of the HELLO's @own_id
 * @version_min: versions spoken
 * @version_max: HELLO_ACK without MROCE_H_REFUSED: the version chosen, in both fields
 * @npaths: 1 to 64; HELLO_ACK: what the receiver agrees to
 * @nplanes: entries of @plane
 * @flags: MROCE_H_*
 * @reason: enum mroce_refusal
 * @max_payload: largest payload of a packet that the sender accepts, bytes; the half uses the
 *   smaller
 * @own_id: HELLO: id that ACKs must carry; HELLO_ACK: id that the half's packets must carry
 * @instance: of the sender's device; random, new with every link
 * @half: distinguishes the halves of one instance
 * @nonce: HELLO: random; HELLO_ACK: echoed
 * @cookie: HELLO_ACK with MROCE_H_COOKIE: to be repeated in the next HELLO
 * @to: GID that the HELLO is meant for; HELLO_ACK: echoed
 * @serial: of the list of planes; one with a lower serial is out of date
 * @plane: planes of the sender, the one that it speaks from first
 * @reserved: sent as 0, ignored
 */
struct mroce_wire_hello {
	struct mroce_wire_base base;
	__u8	version_min;
	__u8	version_max;
	__u8	npaths;
	__u8	nplanes;
	__u8	flags;
	__u8	reason;
	__be16	max_payload;
	__be64	own_id;
	__be64	instance;
	__be32	half;
	__be32	serial;
	__be64	nonce;
	__u8	cookie[16];
	__u8	to[16];
	struct mroce_wire_plane plane[MROCE_MAX_PLANES];
} __attribute__((packed));

/**
 * struct mroce_wire_reset - "I do not know this id"
 * @base: @id as in the packet that raised it, @number its path number, @type MROCE_T_RESET
 * @type: of that packet
 * @instance: of the device that answers, 0 if none
 * @reserved: sent as 0, ignored
 */
struct mroce_wire_reset {
	struct mroce_wire_base base;
	__u8	type;
	__u8	reserved[7];
	__be64	instance;
} __attribute__((packed));

#define MROCE_V_REPLY		0x01	/* from the receiving half */
#define MROCE_V_VERIFIED	0x02	/* REPLY: packets between these addresses are taken */

/**
 * struct mroce_wire_verify - does who receives at this address know of the half?
 * @base: @id of the half that it is for
 * @nonce: unpredictable, to be echoed by whoever gets this
 * @echo: the other side's last @nonce; 0: none was heard
 * @flags: MROCE_V_*
 */
struct mroce_wire_verify {
	struct mroce_wire_base base;
	__be64	nonce;
	__be64	echo;
	__u8	flags;
	__u8	reserved[7];
} __attribute__((packed));

#define MROCE_UD_IMM		0x01
#define MROCE_UD_SOLICITED	0x02

/**
 * struct mroce_wire_ud - one unreliable datagram, also of the GSI
 * @base: the header of every packet
 * @dst_qpn: receiver
 * @src_qpn: sender
 * @qkey: must equal the receiver's
 * @imm: immediate data if MROCE_UD_IMM
 * @pkey: partition key
 * @flags: MROCE_UD_*
 * @length: payload bytes
 * @reserved: sent as 0, ignored
 */
struct mroce_wire_ud {
	struct mroce_wire_base base;
	__be32	dst_qpn;
	__be32	src_qpn;
	__be32	qkey;
	__be32	imm;
	__be16	pkey;
	__u8	flags;
	__u8	reserved;
	__be32	length;
} __attribute__((packed));

/**
 * struct mroce_wire_uc - one packet of a message of an unreliable connection; payload follows
 * @base: the header of every packet
 * @dst_qpn: receiver
 * @src_qpn: sender; must be the one that the receiver is connected to
 * @psn: number of this packet; begins at the PSN that the application gave, counts every packet
 * @offset: of this packet's payload within the message, bytes; a multiple of @psize
 * @length: of the whole message, bytes
 * @addr: WRITE*: virtual address of this packet's first byte
 * @rkey: WRITE*: key of the region
 * @imm: immediate data
 * @opcode: MROCE_OP_SEND, _SEND_IMM, _WRITE or _WRITE_IMM
 * @flags: MROCE_F_FIRST, MROCE_F_LAST, MROCE_F_SOLICITED
 * @psize: payload bytes of every packet of this message but the last
 */
struct mroce_wire_uc {
	struct mroce_wire_base base;
	__be32	dst_qpn;
	__be32	src_qpn;
	__be32	psn;
	__be32	offset;
	__be32	length;
	__be64	addr;
	__be32	rkey;
	__be32	imm;
	__u8	opcode;
	__u8	flags;
	__be16	psize;
} __attribute__((packed));

#endif
