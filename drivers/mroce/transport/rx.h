/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receiving half of a connection: what each path has delivered, what each
 * stream has claimed and placed, and the acknowledgements that tell it.
 * Pure: the caller holds the half's lock over every call and passes the time.
 * Copies happen between the calls, outside the lock, on any number of processors.
 *
 * A packet or train of data, in the order of calls:
 *   mroce_rx_arrive()   path and epoch are known; its numbers are pending
 *   mroce_rxs_claim()   which of its packets are to be copied; mroce_rxs_claim_run()
 *   … copy …            some fail: mroce_rxs_unclaim(); some must wait: mroce_rxs_hold()
 *   mroce_rxs_placed()  the others are in memory
 *   mroce_rxs_land()    held packets that may land now, one by one: … copy … mroce_rxs_landed()
 *   mroce_rx_finish()   the path's numbers, bits and counts change, in one step
 *   mroce_rxs_message() messages that are whole, in order (one caller at a time)
 *   mroce_rx_ack()      acknowledgements that are due
 *
 * Timer: @timer of struct mroce_rx, the delayed acknowledgement (MROCE_ACK_DELAY after the first
 * packet that is not acknowledged at once).
 */
#ifndef MROCE_TRANSPORT_RX_H
#define MROCE_TRANSPORT_RX_H

#include "packet.h"
#include "reason.h"
#include "share.h"
#include "tx.h"		/* limits and time units */

/* an ACK at least every so many packets, or one train (rule 12) */
#define MROCE_ACK_PACKETS	32
#define MROCE_MAX_NEWS		32
#define MROCE_MAX_TOMBS		64
/* ≥ 1 s and ≥ 3 probe timeouts at their cap (rule 4) */
#define MROCE_TOMB_LIFE		(3000 * MROCE_MSEC)

struct mroce_rx;
struct mroce_rxs;

/**
 * struct mroce_rxop - a packet or train on its way through the receiver; on the caller's stack
 * @data: header of its first packet; @count packets, @bytes of payload
 * @claimed: packets to be copied (bit i: packet i); shrinks as they are placed, held or un-claimed
 * @bits: packets whose path bit will be set: placed, held, or known duplicates
 * @whole: a train that came uncut: a mark on it is one mark (rule 34)
 * @joined: not the first of its datagram, with which its mark was counted
 * @run: not one message in packets, but a run of @count messages in a packet each
 * @inorder: everything before packet 0 had landed when it was claimed, and all of it was claimed:
 *   one copy, in order, will do
 * @refused: not taken, for this reason; the NACK is queued
 */
struct mroce_rxop {
	struct list_head pending;
	struct mroce_rx *rx;
	struct mroce_data data;
	const struct mroce_small *run;
	u32 count, bytes;
	u64 claimed, bits;
	u64 now;
	bool ce, whole, joined, inorder, duplicate, copier;
	u8 refused;
};

/* the message that packet @i is of, and its receive number */
static inline u32 mroce_rxop_msn(const struct mroce_rxop *op, u32 i)
{
	return op->data.msn + (op->run ? i : 0);
}

static inline u32 mroce_rxop_rsn(const struct mroce_rxop *op, u32 i)
{
	return op->data.rsn + (op->run && mroce_opinfo[op->data.opcode].receive ? i : 0);
}

/* a packet that waits until all before it has landed; memory and payload are the caller's */
struct mroce_held {
	struct list_head node;
	u32 spn;
};

/* a message as its packets describe it; @got of its packets are placed, or held */
struct mroce_desc {
	u64 addr;		/* of the message's first byte */
	u32 msn, first, packets, got, length;
	u32 rsn, rkey, imm;
	u16 psize;
	u8 opcode, flags;
	bool valid;
};

/**
 * struct mroce_rxs - the receiving side of one space of a stream
 * @rx: half that it belongs to; NULL: not yet known
 * @own_id: in every packet; @peer_id: the sender's id, for records
 * @base: lowest stream number that has not landed. Read by others with READ_ONCE (floor).
 * @window: packets from @base on that are taken; bitmaps of @window bits
 * @claimed, @placed, @held_bits: by spn & (window - 1); allocated at the first packet
 * @desc: ring by msn & @desc_mask; grows up to @window_msgs
 * @msn: message at the cursor
 * @credit: receive numbers below it have a buffer; MROCE_CREDIT_NONE: decided by the caller (SRQ)
 * @reads_max: READs and atomics between cursor and newest, at most, but for the one at the cursor
 * @refusing: packets of message @refuse_msn and later are refused for @refuse_reason
 * @rnr_timer: InfiniBand code that RNR NACKs carry (the queue pair's min_rnr_timer)
 * @copiers: operations between claim and finish
 * @running: somebody handles messages (mroce_rxs_message())
 * @landing: a held packet is being copied; @lander: who moved @base last and lands what that
 *   released
 */
struct mroce_rxs {
	struct mroce_rx *rx;
	u32 own_id, peer_id;
	bool response;
	bool dead;		/* claims nothing more */
	u32 base, window;
	unsigned long *claimed, *placed, *held_bits;
	struct mroce_desc *desc;
	u32 desc_mask, window_msgs;
	u32 msn;
	u32 credit, credit_told;
	bool credit_stalled;	/* a sender was refused for want of credit */
	u32 reads_max;
	bool refusing;
	u8 refuse_reason, refuse_timer, rnr_timer;
	u32 refuse_msn, refuse_spn, refuse_rsn;
	u64 refuse_until;
	u32 copiers;
	bool running, landing;
	const struct mroce_rxop *lander;
	struct list_head held;	/* struct mroce_held, by spn */
	struct list_head news;	/* in rx->news: credit or release to tell */
	bool tell_release;
};

/* what a stream leaves behind (rule 4) */
struct mroce_tomb {
	u64 until;
	u32 own_id, peer_id, next;
	bool response;
};

/* @plane: that its packets come by */
struct mroce_rxpath {
	struct list_head due, pending;	/* in rx->due or rx->waiting; operations of this path */
	u32 high, reported;		/* highest number; highest in an ACK */
	u64 bits[MROCE_BITMAP_WORDS];	/* anchored at @high */
	u32 stamp;
	u32 late;			/* a number more than 255 below @high that arrived */
	u64 stamp_at;
	u32 packets, ce;
	u64 bytes;
	u32 unacked, train;		/* packets since the last ACK; of the largest train */
	u64 ack_at;			/* delayed ACK, in rx->waiting; MROCE_NEVER */
	u8 epoch, plane;
	bool any, was_ce, duplicate, is_late, unknown;
};

/* 16 of them are one allocation, which is rounded up to a power of two */
static_assert(sizeof(struct mroce_rxpath) <= 128);

struct mroce_news {
	struct mroce_record_news r;
	u8 path;
	bool used;
};

struct mroce_rx_stats {
	u64 packets, bytes, duplicates, claimed, held, ce, acks;
	u64 nacks, refused[MROCE_N_MAX];	/* in all, and by reason */
};

/**
 * struct mroce_rx - the receiving half
 * @own_id: id that its packets carry; @peer_id: id that our ACKs carry
 * @instance, @half: of the sender, from its HELLO
 * @member: one in the share of each plane
 * @grant: called before each ACK: brings @share, @allowance and @active up to date for a plane, as
 *	told in its ACKs; optional (NULL: no limit)
 * @tomb: ring of MROCE_MAX_TOMBS, the next is @tomb_next; NULL while no stream has ended lately
 * @latest: path of each plane that was heard last
 * @packet: bytes of its largest packet, with headers; @first_at: when the first one came
 */
struct mroce_rx {
	u64 own_id, peer_id, instance;
	u32 half;
	u8 npaths;
	struct mroce_rxpath *path;
	struct list_head due;		/* paths with an ACK due */
	struct list_head waiting;	/* paths with a delayed one, the oldest first */
	struct list_head news;		/* streams with something to tell */
	struct mroce_news nack[MROCE_MAX_NEWS];
	u32 nnack;
	struct mroce_tomb *tomb;
	u32 tomb_next;
	u64 timer;
	struct mroce_share_member member[MROCE_MAX_PLANES];
	void (*grant)(struct mroce_rx *rx, u8 plane, u64 now);
	u8 latest[MROCE_MAX_PLANES];
	u32 share, allowance, packet;
	u16 active;
	u64 first_at;
	struct mroce_rx_stats stats;
};

/* ---- the half (rx.c) ---- */

int mroce_rx_init(struct mroce_rx *rx, u64 own_id, const struct mroce_hello *hello, u8 npaths);
void mroce_rx_free(struct mroce_rx *rx);
/* Gives back the memory of what is over; to be called now and then. */
void mroce_rx_shrink(struct mroce_rx *rx, u64 now);

/*
 * A numbered packet. Data: @op goes on to mroce_rxs_claim() or, if its stream is not known,
 * mroce_rx_unknown(); control, OPEN and probes (whose @data has base, stamp and flags only):
 * straight to mroce_rx_finish(), with @op->bits set to 1 if it was taken. A reason other than NONE:
 * drop it, @op is not in use.
 */
enum mroce_reason mroce_rx_arrive(struct mroce_rx *rx, const struct mroce_data *data, u32 count,
				  u32 bytes, bool ce, u64 now, struct mroce_rxop *op);
/*
 * No such stream: a tombstone answers (duplicate or GONE); false:
 * nothing is known of it. Then mroce_rx_finish().
 */
bool mroce_rx_unknown(struct mroce_rx *rx, struct mroce_rxop *op);
void mroce_rx_finish(struct mroce_rx *rx, struct mroce_rxs *rxs, struct mroce_rxop *op);
/* It has not arrived: it will again, in parts. In place of all other steps. */
static inline void mroce_rx_withdraw(struct mroce_rxop *op)
{
	list_del_init(&op->pending);
}

/* The next acknowledgement that is due (all that could be, if @flush): 1 and *@ack, or 0. */
int mroce_rx_ack(struct mroce_rx *rx, u64 now, struct mroce_ack *ack);
/* The half is to be told its share of a plane (mroce_share_tell()): an ACK is due. */
void mroce_rx_tell(struct mroce_rx *rx, u8 plane);
/* path of the ACK that mroce_rx_ack() would give; -1: none */
static inline int mroce_rx_due(struct mroce_rx *rx)
{
	struct mroce_rxpath *p =
		list_first_entry_or_null(&rx->due, struct mroce_rxpath, due);

	return p ? p - rx->path : -1;
}

/* Makes delayed ACKs due and sets @rx->timer anew. */
void mroce_rx_timer(struct mroce_rx *rx, u64 now);

/* ---- streams (rx_stream.c) ---- */

void mroce_rxs_init(struct mroce_rxs *rxs, bool response, u32 own_id, u32 psn, u8 log_packets,
		    u8 log_messages);
void mroce_rxs_attach(struct mroce_rxs *rxs, struct mroce_rx *rx, u32 peer_id);
/*
 * Takes it out of its half and leaves a tombstone; held packets are moved to @held for the caller
 * to free, and bitmaps freed. copiers is 0 (set @dead and wait). Without effect if not attached,
 * but for the memory.
 */
void mroce_rxs_detach(struct mroce_rxs *rxs, u64 now, struct list_head *held);

/*
 * Receive numbers below @credit have a buffer. True: a CONTROL CREDIT
 * is wanted, for a sender was refused (rule 10).
 */
bool mroce_rxs_credit(struct mroce_rxs *rxs, u32 credit);

/*
 * Fills @op->claimed, @op->bits, @op->inorder or @op->refused. @copy is true if there is something
 * to copy. A reason: malformed or busy, nothing was claimed (go on to mroce_rx_finish() all the
 * same).
 */
enum mroce_reason mroce_rxs_claim(struct mroce_rxs *rxs, struct mroce_rxop *op);
/*
 * All of a run of @op->count messages, of which @op->data is the first one's header, where nothing
 * speaks against it: true, and from there on as a train. False: nothing was claimed, and each is to
 * be taken by itself (mroce_rx_withdraw() first).
 */
bool mroce_rxs_claim_run(struct mroce_rxs *rxs, struct mroce_rxop *op,
			 const struct mroce_small *run);
/*
 * Packets of @mask could not be taken: NACK with @nack (and @timer:
 * ms, or the RNR code), or NONE: as if lost.
 */
void mroce_rxs_unclaim(struct mroce_rxs *rxs, struct mroce_rxop *op, u64 mask, u8 nack, u8 timer);
/* Packets of @mask are in memory. */
void mroce_rxs_placed(struct mroce_rxs *rxs, struct mroce_rxop *op, u64 mask);
/*
 * Packet @i waits as @held: true. False: all before it has landed;
 * copy it now and report it placed.
 */
bool mroce_rxs_hold(struct mroce_rxs *rxs, struct mroce_rxop *op, u32 i, struct mroce_held *held);
/*
 * The held packet that may land now, taken off the list; NULL: none,
 * or another operation lands them.
 */
struct mroce_held *mroce_rxs_land(struct mroce_rxs *rxs, struct mroce_rxop *op);
/* It has landed; @nack other than NONE: it could not, its message is refused for ever. */
void mroce_rxs_landed(struct mroce_rxs *rxs, struct mroce_rxop *op, u32 spn, u8 nack);

/*
 * The message at the cursor if it is whole, and moves the cursor over it. NULL: none, and @running
 * is cleared. The first caller sets @running; others get NULL until it is done: messages are
 * handled one at a time, in order.
 */
bool mroce_rxs_begin(struct mroce_rxs *rxs);
const struct mroce_desc *mroce_rxs_message(struct mroce_rxs *rxs);
/* An error found at the cursor: nothing from @msn on is taken any more. */
void mroce_rxs_refuse(struct mroce_rxs *rxs, u32 msn, u8 nack);

/* ---- inside transport/ ---- */
bool mroce_rxs_landing(struct mroce_rxs *rxs);
/* The stream leaves a tombstone. */
void mroce_rx_bury(struct mroce_rx *rx, const struct mroce_rxs *rxs, u64 now);
void mroce_rx_nack(struct mroce_rx *rx, struct mroce_rxs *rxs, const struct mroce_rxop *op, u32 spn,
		   u32 msn, u8 reason, u8 timer);

#endif
