/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The halves of connections as the kernel has them: an engine half (transport/tx.h,
 * transport/rx.h), the lock around it, its flows, timer, references and place in the
 * module's tables. conn.c: lifetimes and tables; peers.c: who is where; handshake.c: HELLO and
 * RESET; xmit.c: the transmitter and timers; receive.c: every packet that comes in.
 *
 * Both half locks are spinlocks taken with bottom halves off (softirq and process
 * context; never from hard interrupts: kernel queue pairs only queue there). No packet is
 * sent, no completion written and no page touched under them.
 */
#ifndef MROCE_CONN_CONN_H
#define MROCE_CONN_CONN_H

#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>

#include "../mroce.h"
#include "../transport/tx.h"
#include "../transport/rx.h"

struct mroce_qp;

enum mroce_pair_state { MROCE_PAIR_NONE, MROCE_PAIR_ASKING, MROCE_PAIR_USED };

/**
 * struct mroce_pair - a local plane and an address of the peer (plane.c)
 * @down: the local netdev has no carrier
 * @nonce: to be echoed by the peer; @echo: what it wants echoed, 0: not heard
 * @ask_at: of the next VERIFY, ns; @ask_wait to the one after
 */
struct mroce_pair {
	struct in6_addr saddr, daddr;
	int ifindex;
	u8 state;
	bool down;
	u64 nonce, echo, ask_at, ask_wait;
};

/* an address pair from which a receiving half takes packets; @slot: our plane; @ifindex 0: none */
struct mroce_via {
	struct in6_addr saddr, daddr;
	int ifindex;
	u8 slot;
};

/* bits of struct mroce_txhalf's planes_todo */
enum { MROCE_PLANES_LOOK, MROCE_PLANES_ANNOUNCE };

/**
 * struct mroce_txhalf - a sending half
 * @tx: the engine's, under @lock
 * @saddr, @daddr: of the first contact; found by @daddr
 * @flow: one a path, @nflows of them; of the transmitter, which is one at a time
 * @epoch: of each path, for which its source port was chosen
 * @told_state: of each path, for which there was an event
 * @tclass, @hop_limit: of the last data or OPEN
 * @seed: random, for source ports
 * @refs: one of the tables, one a user
 * @users: queue pairs attached, under the tables' lock; at 0 it lingers, then goes
 * @sending: somebody is in the transmit loop
 * @gone: out of the tables: sends nothing, arms nothing; under @lock
 * @joins: the peer is the instance of an older half, which new users get
 * @resume: runs the transmit loop from a softirq of its own (kernel queue pairs, budget used up)
 * @armed: when @timer fires, ns; MROCE_NEVER
 * @told: statistics that the device's counters contain
 * @peer_planes: addresses of the peer's planes, @nplanes of them, as of @peer_serial; those with a
 *	bit in @peer_ok are its own. Under the tables' lock
 * @pair: the engine's planes; @planes_todo: they are to be looked through; @asks: next VERIFY, ns
 * @greeting: for HELLO, always between the addresses of the first contact
 */
struct mroce_txhalf {
	struct mroce_tx tx;
	spinlock_t lock;	/* @tx, flags */
	struct mroce_dev *dev;
	struct in6_addr saddr, daddr;
	struct mroce_flow *flow;
	u8 nflows;
	u8 epoch[MROCE_MAX_PATHS];
	u8 told_state[MROCE_MAX_PATHS];
	u8 tclass, hop_limit;
	u64 seed;
	refcount_t refs;
	int users;
	bool sending, gone, joins;
	struct tasklet_struct resume;
	struct hrtimer timer;
	u64 armed;
	struct mroce_tx_stats told;
	u8 nplanes;
	struct in6_addr peer_planes[MROCE_MAX_PLANES];
	u32 peer_serial;
	unsigned long peer_ok;
	struct mroce_pair pair[MROCE_MAX_PLANES];
	unsigned long planes_todo;
	u64 asks;
	struct mroce_flow greeting;
	struct hlist_node by_id, by_addr;
	struct list_head node;
	unsigned long idle_since;
	struct rcu_head rcu;
};

/**
 * struct mroce_rxhalf - a receiving half
 * @rx: the engine's, under @lock
 * @saddr: the sender's address, @daddr ours; found by @saddr, then @rx.instance and @rx.half
 * @index: number, unique in its device
 * @flow: for the ACKs of each path (rule 13)
 * @via: address pairs that it takes packets from, [0] that of the first contact; @path_via: of
 *	which of them each path's flow is
 * @named: planes of the sender, @nnamed, as of @serial; @agreed: payload of a packet, at most
 * @refs: one of the tables, one a queue pair attached; with the first alone it goes when nothing
 *	was heard for a while
 * @gone: as in struct mroce_txhalf
 * @born: when its HELLO came, ns, until its first packet has shown the round trip
 * @confirmed: a packet with our id came, so the sender is where it says
 * @heard: jiffies of the last packet; @asked: of the last time that the peer was asked for one
 */
struct mroce_rxhalf {
	struct mroce_rx rx;
	spinlock_t lock;	/* @rx, flags, ports of @flow */
	struct mroce_dev *dev;
	struct in6_addr saddr, daddr;
	struct mroce_flow *flow;
	u64 born;
	struct mroce_via via[MROCE_MAX_PLANES];
	u8 path_via[MROCE_MAX_PATHS];
	struct in6_addr named[MROCE_MAX_PLANES];
	u32 nnamed, serial, index;
	u16 agreed;
	refcount_t refs;
	bool gone;
	unsigned long confirmed;
	struct hrtimer timer;
	u64 armed;
	struct mroce_rx_stats told;
	struct hlist_node by_id, by_addr;
	struct list_head node;
	unsigned long heard, asked;
	struct rcu_head rcu;
};

/* ---- conn.c ---- */

/*
 * The sending half toward @daddr, made (and saying HELLO) if there is none; counts the user.
 * Process context, no lock held. ERR_PTR: -ENOMEM, -EHOSTUNREACH no route, -ENODEV the device is
 * gone.
 */
struct mroce_txhalf *mroce_txhalf_attach(struct mroce_dev *dev, const struct in6_addr *saddr,
					 const struct in6_addr *daddr);
/* The user is gone. Any context but hard interrupts. */
void mroce_txhalf_detach(struct mroce_txhalf *h);
struct mroce_txhalf *mroce_txhalf_hold(struct mroce_txhalf *h);
void mroce_txhalf_put(struct mroce_txhalf *h);
struct mroce_rxhalf *mroce_rxhalf_hold(struct mroce_rxhalf *h);
void mroce_rxhalf_put(struct mroce_rxhalf *h);

/* ---- peers.c ---- */

/*
 * Has the device with this instance answered us at @addr, or named it its own? A HELLO alone proves
 * where its sender is, not who it is. If not, it is asked: @saddr is our address. Any context but
 * hard interrupts; no half's lock is held.
 */
bool mroce_peer_at(struct mroce_dev *dev, const struct in6_addr *saddr, const struct in6_addr *addr,
		   u64 instance);

/* ---- xmit.c ---- */

/*
 * Transmit what the half has, in the caller (process context or softirq; bottom halves are turned
 * off inside). No lock held.
 */
void mroce_xmit(struct mroce_txhalf *h);
/* The same from a softirq of its own, soon. Any context. */
void mroce_xmit_soon(struct mroce_txhalf *h);
/*
 * One unnumbered packet (ACK, HELLO, OPEN_REPLY, RESET, UD) whose header is @len bytes at @hdr;
 * counted. Bottom halves off.
 */
int mroce_send_bare(struct mroce_dev *dev, struct mroce_flow *flow, const void *hdr,
		    unsigned int len);
/* Send every ACK that is due. Bottom halves off, no lock held. */
void mroce_send_acks(struct mroce_rxhalf *h);
/* Re-arm the half's timer from its engine's; under the half's lock. */
void mroce_txhalf_arm(struct mroce_txhalf *h);
void mroce_rxhalf_arm(struct mroce_rxhalf *h);
/*
 * After anything that may have put streams on tx.done: calls mroce_qp_progress() for each. No
 * lock held.
 */
void mroce_txhalf_settle(struct mroce_txhalf *h);

/*
 * ---- what the queue pair (verbs/) provides to this layer; bottom halves off, no lock held unless
 * said ----
 */

/* Queue pair of a stream id or QPN, with a reference; NULL. */
struct mroce_qp *mroce_qp_by_stream(struct mroce_dev *dev, u32 id);
struct mroce_qp *mroce_qp_by_qpn(struct mroce_dev *dev, u32 qpn);
void mroce_qp_put(struct mroce_qp *qp);

/*
 * An OPEN arrived on @h. Fills the reply (own_qpn, stream, credit, windows, status, reads); on
 * ACCEPT both receiving spaces are attached to @h and the response stream knows its peer.
 * Idempotent.
 */
void mroce_qp_opened(struct mroce_dev *dev, struct mroce_rxhalf *h, const struct mroce_open *open,
		     struct mroce_open *reply);
/* An OPEN_REPLY for the stream reply->to; @h is the half that opened. */
void mroce_qp_open_reply(struct mroce_dev *dev, struct mroce_txhalf *h,
			 const struct mroce_open *reply);
/* CONTROL CLOSE or CREDIT for a stream of ours, received on @h. */
void mroce_qp_control(struct mroce_dev *dev, struct mroce_rxhalf *h, const struct mroce_control *c);

/*
 * A packet or train for @qp, in three steps. The space is data.flags & MROCE_F_RESPONSE.
 * mroce_qp_fresh_credit(): what the second wants to know of the receive queue, without a lock.
 * mroce_qp_claim(): under the half's lock, which it may drop and take again. False: not this half's
 * stream, and @op is still to be finished. Else *@reason is why nothing was claimed, if that is to
 * be counted.
 * mroce_qp_place(), after the lock was dropped: copies, holds, lands, finishes @op and runs the
 * cursor. @skb: payload at @off; not consumed.
 */
u32 mroce_qp_fresh_credit(struct mroce_qp *qp, u8 opcode, u32 rsn);
bool mroce_qp_claim(struct mroce_qp *qp, struct mroce_rxhalf *h, struct mroce_rxop *op, u32 credit,
		    enum mroce_reason *reason);
void mroce_qp_place(struct mroce_qp *qp, struct mroce_rxhalf *h, struct mroce_rxop *op,
		    struct sk_buff *skb, unsigned int off);
/*
 * Claims a run of small messages, if all of it can be: each header is behind the payload before it.
 * False: nothing was claimed.
 */
bool mroce_qp_claim_run(struct mroce_qp *qp, struct mroce_rxhalf *h, struct mroce_rxop *op,
			const struct mroce_small *run, u32 credit);

/*
 * The payload of a transmission that mroce_tx_pick() gave: appended to @skb, by reference or
 * copied (below MROCE_COPY_BELOW, inline). x->data may be changed before the header is built
 * (READ_RESP whose source is gone becomes ERROR_RESP). Reason NONE, or why the message cannot be
 * built; *@err: -ENOMEM or -EMSGSIZE for transient failures, with fewer than x->bytes appended.
 */
enum mroce_reason mroce_qp_build(struct mroce_txs *txs, struct mroce_xmit *x, struct sk_buff *skb,
				 int *err);
/*
 * The stream has completions or has failed (mroce_tx_done()). The reference that mroce_qp_pin()
 * took is dropped inside.
 */
void mroce_qp_progress(struct mroce_txs *txs);
/* A reference to the queue pair of @txs; under the half's lock. */
void mroce_qp_pin(struct mroce_txs *txs);
void mroce_qp_unpin(struct mroce_txs *txs);

/*
 * The sending side of a space by its stream id, if it is attached to @tx; else NULL. Under RCU and
 * the lock of @tx's half.
 */
struct mroce_txs *mroce_qp_find_txs(struct mroce_dev *dev, struct mroce_tx *tx, u32 own_id,
				    bool response);

/* A packet for a UC queue pair of @dev. @skb: payload at @off. */
void mroce_uc_packet(struct mroce_dev *dev, const struct mroce_uc *p, struct sk_buff *skb,
		     unsigned int off, const struct mroce_arrival *from);
/* A datagram for UD or GSI queue pairs of @dev. @skb: payload at @off. */
void mroce_datagram(struct mroce_dev *dev, const struct mroce_ud *ud, struct sk_buff *skb,
		    unsigned int off, const struct mroce_arrival *from);

/* payload copied instead of referenced: the skb has tailroom for what is below this */
#define MROCE_COPY_BELOW	2048
/* a datagram of several messages: so many at most, and bytes, which fit into a page's fragment */
#define MROCE_JOINED_MAX		32
#define MROCE_JOINED_BYTES	3072

/* ---- inside conn/ ---- */

/* a token bucket: @rate a second, @burst at once */
struct mroce_bucket {
	spinlock_t lock;	/* @at */
	u64 at;		/* when it was full, ns */
};

/* the share of a plane, under its lock, which is inside the receiving halves' */
struct mroce_plane_share {
	spinlock_t lock;	/* @share */
	struct mroce_share share;
};

#define MROCE_WEIGHT_BITS	8

/* a peer whose weight was set */
struct mroce_weight {
	struct hlist_node node;
	struct in6_addr peer;
	u8 weight;
};

/**
 * struct mroce_conns - the connections of a device
 * @tx, @rx: its halves; under the tables' lock
 * @stopped: none is added any more
 * @half_ids: numbers of sending halves, @rx_ids of receiving ones; @nrx of these, @unconfirmed of
 *	them not heard of
 * @rx_size: bytes of the receiving halves, @rx_size_max at most
 * @alive: halves whose memory is not yet free
 * @shared: bits of the planes of known capacity; @share: of each plane
 * @weights: @nweights of them, by peer; changed under mroce_devs_lock and @weights_lock
 * @verify: finds out who is at @unproven, from @unproven_own; one at a time (@verifying)
 */
struct mroce_conns {
	struct mroce_dev *dev;
	struct list_head tx, rx;
	struct delayed_work linger;
	bool stopped;
	u32 half_ids, rx_ids;
	u32 nrx;
	u64 rx_size, rx_size_max;
	atomic_t unconfirmed;
	atomic_t alive;
	struct mroce_bucket resets;
	unsigned long shared;
	struct mroce_plane_share share[MROCE_MAX_PLANES];
	spinlock_t weights_lock;	/* @weights; inside the tables' */
	DECLARE_HASHTABLE(weights, MROCE_WEIGHT_BITS);
	u32 nweights;
	struct work_struct verify;
	unsigned long verifying;
	struct in6_addr unproven, unproven_own;
};

/* an skb came in: @packets with @bytes of payload */
static inline void mroce_count_in(struct mroce_dev *dev, u32 packets, u32 bytes)
{
	mroce_count(dev, MROCE_CNT_RX_PACKETS, packets);
	mroce_count(dev, MROCE_CNT_RX_SKBS, 1);
	if (bytes)
		mroce_count(dev, MROCE_CNT_RX_BYTES, bytes);
}

static inline void mroce_rxhalf_confirm(struct mroce_rxhalf *h)
{
	if (unlikely(!READ_ONCE(h->confirmed)) && !test_and_set_bit(0, &h->confirmed))
		atomic_dec(&h->dev->conns->unconfirmed);
}

/* halves, their tables and lists; bottom halves off, outside halves' locks */
extern spinlock_t mroce_table_lock;

bool mroce_bucket_take(struct mroce_bucket *b, u32 rate, u32 burst, u64 now);
/* all under RCU; the receiving half comes with a reference */
struct mroce_txhalf *mroce_txhalf_by_id(struct mroce_sock *sock, u64 own_id);
struct mroce_txhalf *mroce_txhalf_by_peer(struct mroce_sock *sock, const struct in6_addr *daddr,
					  u64 peer_id);
struct mroce_rxhalf *mroce_rxhalf_by_id(struct mroce_sock *sock, u64 own_id);
/*
 * The receiving half of this sender, or NULL; a reference. *@replaces: none, but one of this
 * instance is known at that address; else 0.
 */
struct mroce_rxhalf *mroce_rxhalf_by_hello(struct mroce_dev *dev, const struct in6_addr *saddr,
					   const struct in6_addr *daddr,
					   const struct mroce_hello *hello, u64 *replaces);
/* A new one, with a reference; -EEXIST: another processor was first, look again. */
struct mroce_rxhalf *mroce_rxhalf_add(struct mroce_dev *dev, const struct in6_addr *saddr,
				      const struct in6_addr *daddr, const struct mroce_hello *hello,
				      u8 npaths, __be16 sport);
/*
 * Asks the peer that was @instance at @addr whether it still is: a probe, which a successor answers
 * with a RESET. Half-open connections are found by nothing else when this side never sends.
 */
void mroce_txhalf_ask(struct mroce_dev *dev, const struct in6_addr *addr, u64 instance);
/* Another weight for the receiving halves of who connects from there. */
void mroce_rxhalves_weigh(struct mroce_dev *dev, const struct in6_addr *saddr, u8 weight);
/*
 * The device's first sending half whose number is not before *@half (NULL: any), with a reference;
 * NULL: there is none. It is looked for from @last on, the one before, unless that is gone or NULL.
 */
struct mroce_txhalf *mroce_txhalf_next(struct mroce_dev *dev, struct mroce_txhalf *last,
				       const u32 *half);
/* the same of receiving halves, by their index */
struct mroce_rxhalf *mroce_rxhalf_next(struct mroce_dev *dev, struct mroce_rxhalf *last,
				       const u32 *index);
/* source port of a path in an epoch, other than those of the half's other paths */
__be16 mroce_txhalf_port(const struct mroce_txhalf *h, u8 path, u8 epoch);

/* peers.c */

/* Is it an address that is known to be the peer's? Under mroce_table_lock. */
bool mroce_txhalf_is_at(const struct mroce_txhalf *h, const struct in6_addr *addr);
/* addresses of the peer's planes, that of the first contact first: how many */
u32 mroce_txhalf_peers(struct mroce_txhalf *h, struct in6_addr *peer);
/* the peer's planes, from its HELLO or HELLO_ACK: for all halves toward it */
void mroce_txhalf_learn(struct mroce_dev *dev, u64 instance, const struct mroce_hello *hello);
/* it answered there, so that address is its own */
void mroce_txhalf_peer_ok(struct mroce_txhalf *h, const struct in6_addr *addr);
/* a sending half has learned its peer's instance */
void mroce_txhalf_identified(struct mroce_txhalf *h, const struct mroce_hello *ack);
/* A half toward conns->unproven learns who is there; it lingers long enough for the next OPEN. */
void mroce_peer_verify(struct work_struct *work);

/* shares.c */
void mroce_shares_init(struct mroce_conns *conns);
/* before others can find the half; after it is gone */
void mroce_shares_join(struct mroce_rxhalf *h);
void mroce_shares_leave(struct mroce_rxhalf *h);
/* The half's weight is another; under the tables' lock. */
void mroce_shares_weigh(struct mroce_rxhalf *h, u8 weight);
/*
 * The weight of who connects from @peer, for halves that exist too; 1: it has none of its own any
 * more. -ENOMEM, -ENOSPC. Under mroce_devs_lock.
 */
int mroce_weight_set(struct mroce_dev *dev, const struct in6_addr *peer, u8 weight);
/* calls @fn for each that was set until it returns other than 0; under mroce_devs_lock */
int mroce_weights_each(struct mroce_dev *dev,
		       int (*fn)(struct mroce_dev *dev, const struct mroce_weight *w, void *arg),
		       void *arg);
/* A sender's share of a plane, as this receiver has it. False: nobody is limited there. */
struct mroce_share_view {
	u32 share, demand, rate, senders;
	u8 weight;
};

bool mroce_shares_view(struct mroce_rxhalf *h, u8 plane, struct mroce_share_view *view);
void mroce_weights_free(struct mroce_conns *conns);
/* Tells some senders what has become of their shares. Softirq, no lock held. */
void mroce_shares_tell(struct mroce_dev *dev);

/* plane.c */

/* Looks through the pairs if something has changed, and says the VERIFYs that are due. */
void mroce_txhalf_planes(struct mroce_txhalf *h);
/* Is it from an address that is known to be the peer's? Under the half's lock. */
bool mroce_txhalf_from_peer(struct mroce_txhalf *h, const struct mroce_arrival *from);
/* index of the pair, or -1; under the half's lock */
int mroce_rxhalf_via(const struct mroce_rxhalf *h, const struct mroce_arrival *from);
/* The planes that a HELLO names; under the half's lock. True: they are news. */
bool mroce_rxhalf_named(struct mroce_rxhalf *h, const struct mroce_hello *hello);
void mroce_verify_in(struct mroce_sock *sock, const struct mroce_verify *v,
		     const struct mroce_arrival *from);

/* handshake.c; softirq, under RCU */
void mroce_hello(struct mroce_sock *sock, const struct mroce_hello *hello,
		 const struct mroce_arrival *from);
void mroce_hello_ack(struct mroce_sock *sock, const struct mroce_hello *ack,
		     const struct mroce_arrival *from);
void mroce_reset_in(struct mroce_sock *sock, const struct mroce_reset *reset,
		    const struct mroce_arrival *from);
/* "I do not know this id", if the device may say so now */
void mroce_reset_out(struct mroce_dev *dev, const struct mroce_base *base,
		     const struct mroce_arrival *from);

/* xmit.c */
enum hrtimer_restart mroce_txhalf_timer(struct hrtimer *t);
enum hrtimer_restart mroce_rxhalf_timer(struct hrtimer *t);
void mroce_txhalf_resume(struct tasklet_struct *t);
/* What the engine counted since the last call, into the device's counters. Half's lock. */
void mroce_txhalf_count(struct mroce_txhalf *h);
void mroce_rxhalf_count(struct mroce_rxhalf *h);
/*
 * The path passes no more than this IP MTU now; messages not yet cut become smaller. Under the
 * half's lock.
 */
void mroce_txhalf_mtu(struct mroce_txhalf *h, u8 path, unsigned int mtu);

#endif
