/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sending half of a connection: paths, the streams that send over them, what
 * is in flight, and what an acknowledgement or a timer changes about it.
 * Pure: the caller holds the half's lock over every call, passes the time (ns,
 * monotonic), and performs what mroce_tx_pick() says after dropping the lock.
 *
 * Timers of a sending half, all folded into @timer of struct mroce_tx:
 *   hello     retry of HELLO, 1 ms doubling to 100 ms          until HELLO_ACK
 *   open      retry of a stream's OPEN, 1 ms doubling to 100 ms until accepted
 *   probe     a path's oldest open packet + PTO (tx_fail.c)    while packets are open
 *   reprobe   of a FAILED path, 10 ms doubling to 500 ms       until it answers (tx_fail.c)
 *   resume    end of a stream's pause (RNR, FAULT, …)          while paused
 *   deadline  a stream without progress, timeout × (retry_cnt + 1) while one of its packets is
 *             unanswered
 */
#ifndef MROCE_TRANSPORT_TX_H
#define MROCE_TRANSPORT_TX_H

#include "packet.h"
#include "reason.h"

#define MROCE_MAX_PATHS		64
#define MROCE_NEVER		U64_MAX
#define MROCE_USEC		1000ULL
#define MROCE_MSEC		1000000ULL

#define MROCE_PTO_FLOOR		(1 * MROCE_MSEC)	/* probe timeout, least */
#define MROCE_ACK_DELAY		(200 * MROCE_USEC)	/* longest that an ACK is kept back */
#define MROCE_PROBE_CAP		(500 * MROCE_MSEC)	/* longest probe timeout (rule 14) */
#define MROCE_DEADLINE_FLOOR	(500 * MROCE_MSEC)	/* a stream's shortest deadline (rule 24) */
#define MROCE_CREDIT_NONE	0xffffffffU		/* no credit is advertised (SRQ) */

enum mroce_tx_state { MROCE_TX_IDLE, MROCE_TX_HELLO, MROCE_TX_OPEN, MROCE_TX_DEAD };
enum mroce_path_state {
	MROCE_PATH_PROBING,
	MROCE_PATH_ACTIVE,
	MROCE_PATH_SUSPECT,
	MROCE_PATH_FAILED
};

enum mroce_txs_state { MROCE_TXS_CLOSED, MROCE_TXS_OPENING, MROCE_TXS_OPEN, MROCE_TXS_FAILED };

struct mroce_tx;
struct mroce_txs;

/* what is known of a message beyond its wire fields: enum of bits in mroce_msg.note */
#define MROCE_MSG_FENCE		0x01	/* wait until no read or atomic is outstanding */
#define MROCE_MSG_RESPONDED	0x02	/* the response has arrived whole */
#define MROCE_MSG_STARTED	0x04	/* a packet of it was sent */
#define MROCE_MSG_COUNTED	0x08	/* counted in reads_out */
#define MROCE_MSG_LAZY		0x10	/* nobody waits for its ACK: none is asked for */

/**
 * struct mroce_msg - a message to send, from post to completion
 * @addr: remote address (WRITE, READ, atomics), or the source (READ_RESP)
 * @first: its first stream number; @packets follow each other
 * @length: bytes
 * @msn: message number in its space
 * @rsn: receive number it consumes; in a response: msn of the request
 * @rkey: remote key; READ_RESP: key of the source
 * @imm: immediate data or key to invalidate; ERROR_RESP: enum mroce_nack
 * @wr: the poster's: slot of its work request
 * @psize: payload bytes a packet
 * @opcode: enum mroce_opcode
 * @flags: MROCE_F_SOLICITED, MROCE_F_ORDERED
 * @note: MROCE_MSG_*
 * @busy: transmissions that are being built; it does not complete meanwhile
 */
struct mroce_msg {
	u64 addr;
	u32 first, packets, length;
	u32 msn, rsn;
	u32 rkey, imm;
	u32 wr;
	u16 psize;
	u16 busy;
	u8 opcode, flags, note;
};

/**
 * struct mroce_txs - the sending side of one space of a stream
 * @tx: half that it is attached to; NULL: none
 * @peer_id: the receiver's stream id, goes into every packet
 * @own_id: ours, by which records of ACKs name this stream
 * @response: the space
 * @tclass, @hop_limit: of its packets; the caller's
 * @choosy: its choice is not all: @planes, bits of struct mroce_tx_plane.slot that it goes by;
 *   @npaths of the paths, which of them by its id, 0: all. Neither holds while all of these have
 *   failed
 * @weight: of its turn, 1 or more; @train: payload bytes of a transmission, at most, 0: the half's
 * @una: lowest stream number not acknowledged; @nxt: next never sent; @end: behind the last message
 *   that was cut
 * @msn_una: lowest message not complete; @msn_nxt: next to be cut into packets; @msn_end: next to
 *   post
 * @msg: ring of @msg_mask + 1 messages by msn
 * @acked: bit (spn & @wmask) of numbers in [@una, @nxt) that are placed; allocated at the first
 *   packet
 * @nacked: bits set in @acked
 * @lost: numbers in [@una, @nxt) to be sent again; @nlost of them, none below @lost_from
 * @credit: receive numbers below it have a buffer at the peer; MROCE_CREDIT_NONE: not advertised
 * @rsn: next receive number
 * @window: packets in [@una, @nxt), at most; @wmask = bits of the bitmaps - 1
 * @window_msgs: messages in [@msn_una, @msn_nxt), at most
 * @reads_out: reads and atomics sent and not answered; @reads_max at most
 * @refused: what was refused at @pause_spn has not been taken yet
 * @paused: refused from @pause_spn on, until @resume_at or what @pause_reason waits for
 * @rnr_retry: episodes allowed (7: no limit); @rnr_left: of these
 * @timeout: ns without progress that end the stream; 0: never
 * @progress_at: last progress, or when the stream became busy
 * @overdue_since: @progress_at of a deadline that has passed, which was seen @overdue_seen times;
 *   next look @overdue_at
 * @fail_msn, @fail_reason, @fail_nack: nothing from this message on completes well
 * @out: data packets of it in flight over all paths
 * @busy: transmissions being built
 * @floor: points at the lowest response number not yet placed here (requests), NULL in responses
 * @floor_seen: what it said when the deadline was last looked at
 * @deficit: bytes that it may send in this turn (deficit round robin)
 * @open: what its OPEN says
 * @backlog: bytes posted and never sent
 * @node, @ready, @done, @active: links of struct mroce_tx's lists
 */
struct mroce_txs {
	struct mroce_tx *tx;
	u32 peer_id, own_id;
	bool response;
	u8 state;		/* enum mroce_txs_state; set by set_state() in tx_stream.c only */
	u8 tclass, hop_limit;
	u8 planes, npaths, weight;
	bool choosy;
	u32 train;

	u32 una, nxt, end;
	u32 msn_una, msn_nxt, msn_end;
	struct mroce_msg *msg;
	u32 msg_mask;
	unsigned long *acked, *lost;
	u32 nacked, nlost, lost_from;
	u32 window, wmask, window_msgs;

	u32 credit, rsn;
	u8 reads_out, reads_max;
	bool paused, refused;
	u8 pause_reason;	/* enum mroce_nack */
	u32 pause_spn;
	u64 resumed_at, resume_at;
	u8 rnr_retry, rnr_left;
	u8 nack_doublings;

	u64 timeout, progress_at;
	u64 overdue_since, overdue_at;
	u8 overdue_seen;
	bool failed;
	u32 atomic_end;		/* msn behind the last atomic that @write_lo and @write_hi cover */
	u32 fail_msn;
	enum mroce_reason fail_reason;
	u8 fail_nack;

	u32 out;
	u32 busy;
	const u32 *floor;
	u32 floor_seen;
	s32 deficit;

	struct mroce_open open;
	u64 open_at, not_ready_at;
	u32 open_wait;		/* ns to the next OPEN */
	u64 backlog;

	struct list_head node, ready, done, active;
	u64 write_lo, write_hi;	/* hull of the older outstanding Writes and atomics (rule 49) */
};

/* one transmission: consecutive numbers of a path that carried consecutive numbers of a stream */
struct mroce_sent {
	struct mroce_txs *txs;	/* NULL: a probe or control, or the stream is gone */
	u64 open;		/* bit i: number + i neither acknowledged nor taken as lost */
	u64 at;
	u32 number, spn;
	u16 psize, last;	/* payload of each packet, of the last one; PROBE: padding, 0 */
	u8 count;
	u8 kind;		/* enum mroce_xmit_kind */
	bool resend : 1;
	bool joined : 1;	/* in one datagram with the transmission before */
	u16 control;		/* MROCE_XMIT_CONTROL: index of the entry */
};

/*
 * What ECN is worth on a path: not known yet; some packets come unmarked, so a mark says something;
 * all are marked, so it says nothing; ECT packets do not arrive and are not sent.
 */
enum mroce_ecn { MROCE_ECN_TESTING, MROCE_ECN_GOOD, MROCE_ECN_IGNORED, MROCE_ECN_OFF };

/* of @packets, @lost in @events stretches; @heavy: the judgement before */
struct mroce_txloss {
	u32 packets, lost, events;
	bool heavy;
};

/* round trips, ns: smoothed, and their deviation; 0: no sample yet */
struct mroce_srtt {
	u32 mean, var;
};

/* @least: of several round trips in a row; @so_far: of those since */
struct mroce_rtts {
	u32 least, so_far;
};

/**
 * struct mroce_txpath - a path as its sender knows it
 * @plane: that it belongs to, index in struct mroce_tx's list; a change starts a new epoch
 * @down: nothing can be sent there: its plane has no carrier
 * @fresh: never in use since it came to its plane
 * @asked: its last data packet asks for an ACK, which is not kept back then
 * @probes: to be sent in this round; @sizing: the first of them as large as a packet may be
 * @size: payload that it passes, bytes; more is sent as IP fragments
 * @next: number of the next packet
 * @high: highest number reported
 * @inflight: bytes of open packets, with MROCE_OVERHEAD each
 * @cwnd: window, bytes; start-up ends at @ssthresh; @paced: of the window, bytes a second
 * @srtt, @rttvar: ns; 0: no sample yet
 * @threshold: packets that may overtake before a gap is a loss; bit i of @gaps: number @gap - i was
 *	taken as lost from a gap, and has not arrived yet
 * @sent: ring of transmissions, [@head, @tail)
 * @probe_at: probe timeout; MROCE_NEVER: nothing is open
 * @timeouts: probe timeouts in a row
 * @unanswered: transmissions since the last answer, the first of them at @quiet_since
 * @rounds: of probing without an answer, since it failed or took this port
 * @epoch_heard: the last in which anything was answered
 * @lost: packets found missing by ACKs
 * @overdue: packets that timeouts gave up, of which no ACK has told yet
 * @big_lost: large packets lost since one of full size arrived; @big_at: when one last did
 * @strikes: full-size probes missing from ACKs, in a row, since @size_at; or the next try of one
 * @packets, @ce, @bytes: counts of the last ACK
 * @round_end: number whose report ends the round trip that began at @round_at with @round_cwnd
 * @round_bytes, @round_packets, @round_ce: delivered in it (headers included), and of these marked
 * @round_cut: bytes of window that it has cost already
 * @loss: since heavy loss was judged last
 * @rtts: its round trips; @nrtts since the last verdict
 * @burden: queueing and marks, as ns: what speaks against sending here
 * @ecn: enum mroce_ecn; @marks_age: ns of load since the last mark, if @marks_seen
 * @trips: round trips of this epoch, saturating
 */
struct mroce_txpath {
	u8 index, epoch, plane;
	u8 state;		/* enum mroce_path_state; set by set_state() in tx_fail.c only */
	u8 timeouts, probes;
	u8 down : 1, sizing : 1, asked : 1, fresh : 1;	/* u8: sparse gives each bool a byte */
	u8 overdue;
	u16 size, trips;
	u32 next, high;
	u32 inflight, cwnd, ssthresh;
	u32 srtt, rttvar;
	u64 threshold_at;
	struct mroce_sent *sent;
	u32 head, tail, mask, gap;
	u64 gaps;
	u64 probe_at, last_sent, last_ack;
	u64 newest;		/* send time of the newest acknowledged packet */
	u32 probe_wait;
	u32 unanswered;
	u64 quiet_since;
	u8 rounds, epoch_heard;
	u8 big_lost, strikes;
	u8 ecn, nrtts, threshold;
	bool marks_seen;
	u64 lost;
	u64 big_at, size_at;
	u32 packets, ce;
	u64 bytes, paced;
	u32 round_end, round_cwnd, round_cut;
	u32 round_packets, round_ce, burden;
	u64 round_bytes, round_at, marks_age;
	struct mroce_txloss loss;
	struct mroce_rtts rtts;
};

/* 16 of them are one allocation, which is rounded up to a power of two */
static_assert(sizeof(struct mroce_txpath) <= 256);

/**
 * struct mroce_tx_plane - what the paths of one plane share
 * @window, @inflight, @paced, @npaths: sums over its ACTIVE paths
 * @grown_at: when a window below a packet grew
 * @full_at: when its windows were full last; @held_back: they, not the share, held back what was
 *   sent last
 * @npb: ns that a byte takes at its rate, << 20; @by_share: the share is that rate
 * @quantum: bytes of one transmission, at most; it may be @slack ns early, @ahead with it
 * @leaves_at: when all that was sent has left at that rate
 * @share: KiB/s, as the last ACK had it, or less (rule 53); 0: no limit. Good until @share_until,
 *   @life after an ACK at least
 * @granted: the share that start-up began at
 * @base: least round trip, ns, good until @base_until; 0: none yet. @srtt, @rtts, @nrtts: of all
 *   its paths
 * @drain_until: when to send on, at the latest, while its queue is drained to see the base again;
 *   0: it is not. Empty since @drained_at: the least of @samples is @sampled
 * @allowance: bytes that may go from idle; @left of it, if @idle
 * @heard: an ACK has come, the last at @heard_at; the share was halved @halved_at
 * @asked_at: when an ACK was asked for last
 * @active: senders that share the plane at the receiver
 * @slot: its name for streams that choose; the caller's, else its index
 * @dark_until: when the next of its paths may ask, while none is in use; @dark_wait: ns between two
 *   such rounds; @dark_asker: index of the path that asked last
 */
struct mroce_tx_plane {
	u32 window, inflight;
	u64 paced, full_at, grown_at;
	u64 npb, quantum, slack, ahead, leaves_at;
	u32 share, granted, allowance, left;
	u32 base, sampled;
	u64 base_until, drain_until, drained_at;
	struct mroce_srtt srtt;
	struct mroce_rtts rtts;
	u64 share_until, life, heard_at, halved_at, asked_at;
	u64 dark_until;
	u32 dark_wait;
	u16 active;
	u8 npaths, samples, nrtts, dark_asker, slot;
	bool by_share, held_back, idle, heard;
};

/* bytes of headers that a packet costs beside its payload, for windows */
#define MROCE_OVERHEAD	120

/* what is too little in flight to count, where a window is one packet: probes, control */
#define MROCE_SMALL_CHANGE	512U

/* control messages that wait to be sent, or to be acknowledged */
struct mroce_ctl {
	u32 stream, value;
	u8 op;
	bool used, queued;
};

#define MROCE_MAX_CTL	64

struct mroce_tx_stats {
	u64 packets, bytes, resent, lost, probe_timeouts, spurious, acks, rnr;
	u64 path_suspect, path_failed, path_recovered, path_redrawn, path_shrunk;
};

/**
 * struct mroce_tx - the sending half
 * @peer_id: id that its packets carry; @own_id: id that its ACKs carry
 * @instance: of the peer's device, known from HELLO_ACK on
 * @agreed: payload of a packet agreed in the handshake, bytes
 * @max_payload: what new messages are cut to: the least that a path in use passes
 * @recent, @recent_lost: packets reported lately, and of these lost as gaps show it: congestion,
 *   perhaps. @recent_sent, @recent_gone: the same as the receivers' counts show it, with all that
 *   outages and timeouts took
 * @changed: bit per path whose state is another than when the caller last looked (and cleared it)
 * @train: payload bytes of a transmission, at most
 * @tail: stream that has just sent a train and has one packet more of its message, by @tail_path;
 *	compared only
 * @plane: @nplanes of them, see mroce_tx_planes()
 * @streams: all that are attached
 * @find: stream of ours by its own id, in constant time; optional (NULL: @streams is searched)
 * @ready: [0] responses, [1] requests: streams that may have something to send, in turn
 * @done: streams for the caller to look at (mroce_tx_done())
 * @active: streams with anything unfinished, for the timer
 * @last_ack: latest of the paths'; @delivered_at: latest that acknowledged more than probes
 * @asked_at, @asks: when @asker last probed for all paths of a half that is not answered, and how
 *   often in a row
 * @size_next: when a path in use may next ask whether its losses are due to size; @size_wait: ns
 *   between the last two that did
 * @streams_at: when a stream of @active wants the timer; @streams_seen: when they were looked
 *   through
 * @timer: when mroce_tx_timer() wants to be called; MROCE_NEVER
 */
struct mroce_tx {
	u64 peer_id, own_id, instance;
	u8 state;		/* enum mroce_tx_state; set by set_state() in tx.c only */
	u8 npaths, nplanes, turn, resend_path, tail_path;
	u16 max_payload, agreed;
	u32 train;
	const struct mroce_txs *tail;
	u32 recent, recent_lost;
	u32 recent_sent, recent_gone;
	u64 changed;
	struct mroce_txpath *path;
	struct mroce_tx_plane plane[MROCE_MAX_PLANES];
	struct list_head streams, ready[2], done, active;
	struct mroce_txs *(*find)(struct mroce_tx *tx, u32 own_id, bool response);
	struct mroce_ctl ctl[MROCE_MAX_CTL];
	u32 nctl, ctl_turn;
	bool starved;			/* memory ran out: the timer tries again */
	bool probing;			/* a path may have @probes to send */
	bool grown;			/* there is what mroce_tx_shrink() gives back */
	bool severed;			/* every path is down, when streams were last looked at */

	struct mroce_hello hello;	/* what our HELLO says */
	bool hello_wanted;		/* one is unanswered */
	u64 hello_at, hello_since;
	u32 hello_wait;

	u64 asked_at;
	u8 asks, asker;
	u64 size_next, size_wait;
	u64 last_ack, delivered_at, streams_at, streams_seen;
	u64 timer;
	u64 backlog;			/* bytes posted and never sent, all streams */
	struct mroce_tx_stats stats;
	enum mroce_reason dead_reason;
};

/* ---- the half (tx.c) ---- */

/*
 * Allocates paths; the caller may set @tx->find afterwards. @own_id
 * is random, drawn by the caller. -ENOMEM.
 */
int mroce_tx_init(struct mroce_tx *tx, u64 own_id, u8 npaths, u32 train);
void mroce_tx_free(struct mroce_tx *tx);	/* no stream is attached */
/* Gives back the memory that only traffic needs, if there is none; to be called now and then. */
void mroce_tx_shrink(struct mroce_tx *tx, u64 now);
/*
 * The half has so many planes from now on (1 after mroce_tx_init()): path i belongs to plane
 * i % @nplanes. Windows and what is in flight go with their paths.
 */
void mroce_tx_planes(struct mroce_tx *tx, u8 nplanes);

/* Says HELLO until answered; @hello: all but base, own_id and nonce's echo, which are filled in. */
void mroce_tx_connect(struct mroce_tx *tx, const struct mroce_hello *hello, u64 now);
/*
 * A HELLO_ACK for us. Returns 0: open now (or was); 1: cookie noted, HELLO again; -ENOENT: not ours
 * or stale; -ECONNREFUSED: refused (the half is dead); -ESTALE: the peer is another instance
 * (dead).
 */
int mroce_tx_hello_ack(struct mroce_tx *tx, const struct mroce_hello *ack, u64 now);
/*
 * A RESET that names our id and a number outstanding: verify by HELLO
 * (rule 23). @nonce is random. False: ignored.
 */
bool mroce_tx_reset(struct mroce_tx *tx, const struct mroce_reset *reset, u64 nonce, u64 now);
/*
 * Says HELLO again on an open half, because the planes of @hello are others than the peer was told.
 * One that is unanswered says so too.
 */
void mroce_tx_announce(struct mroce_tx *tx, const struct mroce_hello *hello, u64 now);
/* Ends the half: every attached stream fails with @reason. */
void mroce_tx_kill(struct mroce_tx *tx, enum mroce_reason reason);

/* Queues a control message (CLOSE, CREDIT), sent until acknowledged. -ENOSPC: too many wait. */
int mroce_tx_control(struct mroce_tx *tx, u8 op, u32 stream, u32 value);

enum mroce_xmit_kind {
	MROCE_XMIT_DATA,
	MROCE_XMIT_OPEN,
	MROCE_XMIT_CONTROL,
	MROCE_XMIT_PROBE,
	MROCE_XMIT_HELLO
};

/**
 * struct mroce_xmit - one thing to transmit
 * @kind: which of the union counts
 * @path: index of the path to send on, and @plane its plane
 * @fragment: larger than what the path passes, @passes bytes of payload: to go as IP fragments
 * @count: packets (DATA: a train if more than one)
 * @bytes: payload (DATA)
 * @txs, @msg: stream and message (DATA); pinned until mroce_tx_sent()
 * @data: header of the first packet; @data.offset is the offset of the payload in the message
 * @resend: these numbers were sent before
 * @more: a whole message in one packet, and mroce_tx_pick_more() may have others to go with it
 * @joined: what that gave
 * @room: bytes that its path has given to this datagram and that are left
 * @ect: as ECN-capable (numbered packets)
 */
struct mroce_xmit {
	u8 kind, path, plane;
	bool resend, fragment, ect, more, joined;
	u16 passes;
	u32 count, bytes, room;
	struct mroce_txs *txs;
	struct mroce_msg *msg;
	union {
		struct mroce_data data;
		struct mroce_open open;
		struct mroce_control control;
		struct mroce_hello hello;
	};
};

/*
 * What to transmit now: 1 and *@x, or 0. Numbers are taken and the transmission is on record when
 * this returns; the caller sends it whatever happens, outside the lock, in this order, and then
 * reports with mroce_tx_sent(): @err 0; -ENOBUFS, -ENOMEM or any other errno: not sent (it will be
 * missed and resent). If @reason is not NONE the message cannot be built: its stream fails there.
 */
int mroce_tx_pick(struct mroce_tx *tx, u64 now, struct mroce_xmit *x);
/* False: mroce_tx_pick() would find nothing, and need not be told the time. */
bool mroce_tx_any(struct mroce_tx *tx);
/*
 * Another message for the datagram of *@x, all of which is a copy by now: a whole one of at most
 * @left bytes. 1: it is *@x now, and needs mroce_tx_sent() in place of the one before. 0: *@x is as
 * it was.
 */
int mroce_tx_pick_more(struct mroce_tx *tx, u32 left, u64 now, struct mroce_xmit *x);
void mroce_tx_sent(struct mroce_tx *tx, const struct mroce_xmit *x, int err,
		   enum mroce_reason reason);

/* An acknowledgement: 0, or why it was ignored (RX_NUMBER, RX_PATH). */
enum mroce_reason mroce_tx_ack(struct mroce_tx *tx, const struct mroce_ack *ack, u64 now);
/* Time has passed. Sets @tx->timer anew; mroce_tx_pick() may have something afterwards. */
void mroce_tx_timer(struct mroce_tx *tx, u64 now);
/* The next stream for the caller to look at (completions, failure), or NULL. */
struct mroce_txs *mroce_tx_done(struct mroce_tx *tx);

/* ---- paths and planes (tx_fail.c) ---- */

/* The plane's netdev lost its carrier, or has it again. */
void mroce_tx_plane_down(struct mroce_tx *tx, u8 plane, u64 now);
void mroce_tx_plane_up(struct mroce_tx *tx, u8 plane, u64 now);
/* From now on the path goes by this plane: a new epoch, probed before it carries data. */
void mroce_tx_path_move(struct mroce_tx *tx, u8 path, u8 plane, bool down, u64 now);
/* The path passes no more than this payload now (ICMP, its route). */
void mroce_tx_path_size(struct mroce_tx *tx, u8 path, u16 payload, u64 now);
/* The network says that it cannot deliver @number. False: no such packet is in flight. */
bool mroce_tx_path_unreachable(struct mroce_tx *tx, u8 path, u32 number, u64 now);
/* A probe on the path (true), unless what is under way there asks already. */
bool mroce_tx_path_ask(struct mroce_tx *tx, u8 path);

/* ---- streams (tx_stream.c, tx_pause.c) ---- */

/*
 * @msgs: power of two; the poster never has more unfinished. @msg is the caller's memory; it may be
 * set later, before the first is posted. Attaches to nothing.
 */
void mroce_txs_init(struct mroce_txs *txs, bool response, u32 own_id, struct mroce_msg *msg,
		    u32 msgs);
/* Responses: its unfinished messages, none of which is being built, move to a larger ring. */
void mroce_txs_move(struct mroce_txs *txs, struct mroce_msg *msg, u32 msgs);
void mroce_txs_attach(struct mroce_txs *txs, struct mroce_tx *tx, u32 psn);
/*
 * By which planes (0xff: all), over how many paths (0: all), in turns of which weight (1: as
 * others), and how much at once (0: as the half has it). At any time.
 */
void mroce_txs_tune(struct mroce_txs *txs, u8 planes, u8 npaths, u8 weight, u32 train);
/* Forgets every trace in the half; busy is 0. Frees the bitmaps. Without effect if not attached. */
void mroce_txs_detach(struct mroce_txs *txs);

/* Requests: OPEN is sent from now on (@open: all but base, stamp and attempt), until the reply. */
void mroce_txs_open(struct mroce_txs *txs, const struct mroce_open *open, u64 now);
void mroce_txs_open_reply(struct mroce_txs *txs, const struct mroce_open *reply, u64 now);
/* Responses: the peer's id and windows are known from its OPEN. */
void mroce_txs_opened(struct mroce_txs *txs, u32 peer_id, u8 log_packets, u8 log_messages);

struct mroce_post {
	u64 addr;
	u32 length, rkey, imm, wr;
	u32 rsn;		/* responses: msn of the request */
	u8 opcode;
	u8 flags;		/* MROCE_F_SOLICITED */
	bool fence;
	bool lazy;		/* its poster has something else to do than to wait for it */
};

/* Appends a message; returns it. NULL: the ring is full. */
struct mroce_msg *mroce_txs_post(struct mroce_txs *txs, const struct mroce_post *post, u64 now);
/* Message @msn, or NULL if it is not unfinished. */
struct mroce_msg *mroce_txs_msg(struct mroce_txs *txs, u32 msn);
/* The response to @msn has arrived whole; @nack: with this error, or NONE. False: none awaited. */
bool mroce_txs_responded(struct mroce_txs *txs, u32 msn, u8 nack, u64 now);
/* Responses below @floor are placed at the requester. */
void mroce_txs_released(struct mroce_txs *txs, u32 floor, u64 now);
/*
 * CONTROL CLOSE: the peer has placed requests below number @placed,
 * and nothing more; what waits beyond that fails.
 */
void mroce_txs_closed(struct mroce_txs *txs, u32 placed, u64 now);
/* Credit from a CONTROL packet. */
void mroce_txs_credit(struct mroce_txs *txs, u32 credit, u64 now);
/*
 * The next message that is complete, in order; NULL: none. It stays readable until the next call.
 */
struct mroce_msg *mroce_txs_complete(struct mroce_txs *txs);
/* True once all before the failed message is complete: the queue pair goes to the error state. */
bool mroce_txs_is_failed(const struct mroce_txs *txs);
/*
 * Until when it may be worth waiting for what is in flight of a stream that has failed: two probe
 * timeouts of a path after its last answer, or its oldest packet if that is later (rule 36). 0: not
 * at all, nothing is, or no answer can come.
 */
u64 mroce_txs_awaited(const struct mroce_txs *txs);
/* Fails at message @msn (the first unfinished one if it is before that). */
void mroce_txs_fail(struct mroce_txs *txs, u32 msn, enum mroce_reason reason, u8 nack);

/* ---- inside transport/: shared by the tx_*.c files ---- */
void mroce_path_init(struct mroce_tx *tx, struct mroce_txpath *p, u8 index);
void mroce_path_free(struct mroce_txpath *p);
bool mroce_path_reserve(struct mroce_tx *tx, struct mroce_txpath *p);
bool mroce_path_shrink(struct mroce_txpath *p, u64 now);
struct mroce_sent *mroce_path_record(struct mroce_tx *tx, struct mroce_txpath *p,
				     const struct mroce_xmit *x, u64 now);
void mroce_path_close(struct mroce_tx *tx, struct mroce_txpath *p, struct mroce_sent *s, u64 mask,
		      bool acked, u64 now);
bool mroce_path_sparse(const struct mroce_tx *tx, const struct mroce_txpath *p);
void mroce_path_overdue(struct mroce_tx *tx, struct mroce_txpath *p, const struct mroce_sent *s);
void mroce_path_trim(struct mroce_txpath *p);
void mroce_path_rtt(struct mroce_tx *tx, struct mroce_txpath *p, u64 rtt);
void mroce_path_epoch(struct mroce_tx *tx, struct mroce_txpath *p, u64 now);
void mroce_path_evacuate(struct mroce_tx *tx, struct mroce_txpath *p, u64 now);
u64 mroce_path_patience(const struct mroce_tx *tx, const struct mroce_txpath *p);
u64 mroce_path_pto(const struct mroce_tx *tx, const struct mroce_txpath *p);
void mroce_path_arm(struct mroce_tx *tx, struct mroce_txpath *p);

/* tx_fail.c */
void mroce_path_restart(struct mroce_tx *tx, struct mroce_txpath *p, u64 now);
void mroce_path_timer(struct mroce_tx *tx, struct mroce_txpath *p, u64 now);
/* an ACK of the path; @news: it reports something */
void mroce_path_answered(struct mroce_tx *tx, struct mroce_txpath *p, bool news, u64 now);
void mroce_path_big(struct mroce_tx *tx, struct mroce_txpath *p, const struct mroce_sent *s,
		    bool acked, u64 now);
/* does the path pass full size again? Asked now and then, with its traffic */
void mroce_path_retry_size(struct mroce_tx *tx, struct mroce_txpath *p, u64 now);
/* the best that is left when none is ACTIVE; NULL: nothing can be sent anywhere */
struct mroce_txpath *mroce_path_best(struct mroce_tx *tx);
/* padding of the path's next probe, bytes */
u16 mroce_path_probe(struct mroce_tx *tx, struct mroce_txpath *p, u64 now);
u8 mroce_path_other(const struct mroce_tx *tx, const struct mroce_txpath *p);

/* what a full packet takes of a window, bytes */
static inline u32 mroce_packet_cost(const struct mroce_tx *tx)
{
	return tx->max_payload + MROCE_OVERHEAD;
}

/* Is packet @number of the path in flight, as far as anybody but us can know? */
static inline bool mroce_path_outstanding(const struct mroce_txpath *p, u32 number)
{
	return p->head != p->tail &&
	       !mroce_seq_before(number, p->sent[p->head & p->mask].number) &&
	       mroce_seq_before(number, p->next);
}

/* since when the path owes an answer: from its oldest transmission or the last answer, the later */
static inline u64 mroce_path_owes(const struct mroce_txpath *p)
{
	return max(p->sent[p->head & p->mask].at, p->last_ack);
}

/*
 * Bytes that may be sent on an ACTIVE path as far as windows go; 0: none. The plane's window is
 * kept; the path's is by how often it is used: a path with less in flight than its window takes a
 * train even if that is more. A window below a packet lets one packet go at a time.
 */
static inline u32 mroce_path_room(const struct mroce_tx *tx, const struct mroce_txpath *p)
{
	const struct mroce_tx_plane *pl = &tx->plane[p->plane];
	u32 cost = mroce_packet_cost(tx), least = cost + MROCE_SMALL_CHANGE;

	/* packet by packet a window is rounded up, for the next one to show that one is lost */
	if (p->inflight + cost > max(p->cwnd, least) &&
	    (tx->train > tx->max_payload || p->inflight + MROCE_SMALL_CHANGE >= p->cwnd))
		return 0;
	if (pl->inflight + cost <= pl->window)
		return pl->window - pl->inflight;
	return pl->inflight + cost <= least ? cost : 0;
}

/* The same of a packet that is lent to a path whose window is full. */
static inline u32 mroce_path_lent(const struct mroce_tx *tx, const struct mroce_txpath *p)
{
	const struct mroce_tx_plane *pl = &tx->plane[p->plane];
	u32 cost = mroce_packet_cost(tx);

	return pl->inflight + cost <= pl->window ? cost : 0;
}

/* More, or less (negative), is in flight on the path. */
static inline void mroce_path_fly(struct mroce_tx *tx, struct mroce_txpath *p, s32 bytes)
{
	p->inflight += bytes;
	if (p->state == MROCE_PATH_ACTIVE)
		tx->plane[p->plane].inflight += bytes;
}

void mroce_plane_join(struct mroce_tx *tx, struct mroce_txpath *p);
void mroce_plane_leave(struct mroce_tx *tx, struct mroce_txpath *p);
void mroce_plane_rate(struct mroce_tx *tx, struct mroce_tx_plane *pl);
void mroce_plane_rtt(struct mroce_tx *tx, struct mroce_txpath *p, u64 rtt, u64 now);
u32 mroce_plane_ready(struct mroce_tx *tx, struct mroce_tx_plane *pl, u64 now);
void mroce_plane_spend(struct mroce_tx_plane *pl, u32 bytes, u64 now);
void mroce_plane_ack(struct mroce_tx *tx, struct mroce_txpath *p, const struct mroce_ack *ack,
		     u64 now);
void mroce_plane_timeout(struct mroce_tx *tx, struct mroce_txpath *p, u64 since, u64 pto, u64 now);
/* Sets the window. */
void mroce_cc_window(struct mroce_tx *tx, struct mroce_txpath *p, u32 bytes);
void mroce_cc_init(struct mroce_tx *tx, struct mroce_txpath *p);
void mroce_cc_epoch(struct mroce_txpath *p);
bool mroce_cc_by_marks(const struct mroce_txpath *p);
void mroce_cc_granted(struct mroce_tx *tx, struct mroce_txpath *p, u64 rate);
void mroce_cc_ack(struct mroce_tx *tx, struct mroce_txpath *p, const struct mroce_ack *ack,
		  u32 acked_bytes, const struct mroce_txloss *lost, u64 now);
void mroce_cc_timeout(struct mroce_tx *tx, struct mroce_txpath *p);
void mroce_cc_local_drop(struct mroce_tx *tx, struct mroce_txpath *p);
/* Nothing that was posted is unfinished. */
static inline bool mroce_txs_idle(const struct mroce_txs *txs)
{
	return txs->msn_una == txs->msn_end;
}

/* Refused until a floor of the receiver moves, which takes nothing but the packets before. */
static inline bool mroce_txs_by_floor(u8 reason)
{
	return reason == MROCE_N_HOLD || reason == MROCE_N_WINDOW || reason == MROCE_N_READS;
}

/* The message that was cut into number @spn, or NULL. */
struct mroce_msg *mroce_txs_msg_of(const struct mroce_txs *txs, u32 spn);
void mroce_txs_kick(struct mroce_txs *txs);
/* Its OPEN is due: to the end of the turn. */
void mroce_txs_kick_open(struct mroce_txs *txs);
void mroce_txs_shrink(struct mroce_txs *txs);
void mroce_txs_acked(struct mroce_txs *txs, u32 spn, u64 now);
/* @n numbers from @spn on */
void mroce_txs_acked_run(struct mroce_txs *txs, u32 spn, u32 n, u64 now);
void mroce_txs_lost(struct mroce_txs *txs, u32 spn);
void mroce_txs_release(struct mroce_txs *txs, u32 spn, u64 now);
void mroce_txs_settle(struct mroce_txs *txs);
/*
 * Fills @x with the next packets of @txs, at most @room bytes, for a path that passes payloads of
 * @passes bytes; 0: nothing to send now.
 */
int mroce_txs_next(struct mroce_txs *txs, u32 room, u16 passes, u64 now, struct mroce_xmit *x);
bool mroce_txs_more(const struct mroce_txs *txs);
/* Everything that was posted has been sent, and nothing is lost. */
bool mroce_txs_dry(const struct mroce_txs *txs);
/* What mroce_txs_next() gives next is the last packet of a message that has begun, or nothing. */
bool mroce_txs_last(const struct mroce_txs *txs);
/* What mroce_txs_next() gives next is a new message in one packet, of at most @left bytes. */
bool mroce_txs_small(const struct mroce_txs *txs, u32 left);
struct mroce_txs *mroce_tx_find(struct mroce_tx *tx, u32 own_id, bool response);
void mroce_txs_want(struct mroce_txs *txs, u64 at);

/* tx_pause.c */
void mroce_txs_nack(struct mroce_txs *txs, const struct mroce_record_news *r, u64 sent_at, u64 now);
bool mroce_txs_paused_at(const struct mroce_txs *txs, u32 spn);
/* The pause is over. */
void mroce_txs_resume(struct mroce_txs *txs, u64 now);
/* The stream's timers. @slowest: srtt + 4 rttvar of the slowest path. Returns the next one. */
u64 mroce_txs_timer(struct mroce_txs *txs, u64 slowest, u64 now);

static inline void mroce_tx_want(struct mroce_tx *tx, u64 at)
{
	if (at < tx->timer)
		tx->timer = at;
}

#endif
