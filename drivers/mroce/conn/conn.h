/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The halves of connections as the kernel has them: an engine half (transport/tx.h,
 * transport/rx.h), the lock around it, its flows, timer, references and place in the
 * device's tables. conn.c: lifetimes and handshake; xmit.c: the transmitter;
 * receive.c: every packet that comes in.
 *
 * Both half locks are spinlocks taken with bottom halves off (softirq and process
 * context; never from hard interrupts: kernel queue pairs only queue there). No packet is
 * sent, no completion written and no page touched under them.
 */
#ifndef MROCE_CONN_CONN_H
#define MROCE_CONN_CONN_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>

#include "../mroce.h"
#include "../transport/tx.h"
#include "../transport/rx.h"

struct mroce_qp;

/**
 * struct mroce_txhalf - a sending half
 * @tx: the engine's, under @lock
 * @saddr, @daddr: of the first contact, the key it is found by
 * @flow: one a path
 * @users: queue pairs attached; at 0 it lingers, then goes
 * @sending: somebody is in the transmit loop; @again: and must look once more
 * @resume: runs the transmit loop from a softirq of its own (kernel queue pairs, budget used up)
 */
struct mroce_txhalf {
	struct mroce_tx tx;
	spinlock_t lock;
	struct mroce_dev *dev;
	struct in6_addr saddr, daddr;
	struct mroce_flow *flow;
	refcount_t refs;
	int users;
	bool sending, again, gone;
	struct tasklet_struct resume;
	struct hrtimer timer;
	struct rhash_head by_id, by_addr;
	struct list_head node;
	unsigned long idle_since;
	struct rcu_head rcu;
};

/**
 * struct mroce_rxhalf - a receiving half
 * @rx: the engine's, under @lock
 * @saddr: the sender's address, @daddr ours
 * @flow: for the ACKs of each path (rule 13)
 * @users: queue pairs attached
 */
struct mroce_rxhalf {
	struct mroce_rx rx;
	spinlock_t lock;
	struct mroce_dev *dev;
	struct in6_addr saddr, daddr;
	struct mroce_flow *flow;
	refcount_t refs;
	int users;
	bool gone;
	struct hrtimer timer;
	struct rhash_head by_id, by_peer;
	struct list_head node;
	unsigned long heard;
	struct rcu_head rcu;
};

/* ---- conn.c ---- */

/*
 * The sending half toward @daddr, made (and saying HELLO) if there is none; counts the user. Process context, no lock
 * held. ERR_PTR: -ENOMEM, -EHOSTUNREACH no route, -ENODEV the device is gone.
 */
struct mroce_txhalf *mroce_txhalf_attach(struct mroce_dev *dev, const struct in6_addr *saddr, const struct in6_addr *daddr);
void mroce_txhalf_detach(struct mroce_txhalf *h);	/* the user is gone; any context but hard interrupts */
struct mroce_txhalf *mroce_txhalf_hold(struct mroce_txhalf *h);
void mroce_txhalf_put(struct mroce_txhalf *h);
struct mroce_rxhalf *mroce_rxhalf_hold(struct mroce_rxhalf *h);
void mroce_rxhalf_put(struct mroce_rxhalf *h);

/* ---- xmit.c ---- */

/* Transmit what the half has, in the caller (process context or softirq; bottom halves are turned off inside). No lock held. */
void mroce_xmit(struct mroce_txhalf *h);
/* The same from a softirq of its own, soon. Any context. */
void mroce_xmit_soon(struct mroce_txhalf *h);
/* One unnumbered packet (ACK, HELLO, OPEN_REPLY, RESET, UD) whose header is @len bytes at @hdr; counted. Bottom halves off. */
int mroce_send_bare(struct mroce_dev *dev, struct mroce_flow *flow, const void *hdr, unsigned int len);
/* Send every ACK that is due. Bottom halves off, no lock held. */
void mroce_send_acks(struct mroce_rxhalf *h);
/* Re-arm the half's timer from its engine's; under the half's lock. */
void mroce_txhalf_arm(struct mroce_txhalf *h);
void mroce_rxhalf_arm(struct mroce_rxhalf *h);
/* After anything that may have put streams on tx.done: calls mroce_qp_progress() for each. No lock held. */
void mroce_txhalf_settle(struct mroce_txhalf *h);

/* ---- what the queue pair (verbs/qp*.c) provides to this layer; bottom halves off, no lock held unless said ---- */

/* Queue pair of a stream id or QPN, with a reference; NULL. Under RCU. */
struct mroce_qp *mroce_qp_by_stream(struct mroce_dev *dev, u32 id);
struct mroce_qp *mroce_qp_by_qpn(struct mroce_dev *dev, u32 qpn);
void mroce_qp_put(struct mroce_qp *qp);

/*
 * An OPEN arrived on @h. Fills the reply (own_qpn, stream, credit, windows, status, reads); on ACCEPT both receiving
 * spaces are attached to @h and the response stream knows its peer. Idempotent.
 */
void mroce_qp_opened(struct mroce_dev *dev, struct mroce_rxhalf *h, const struct mroce_open *open, struct mroce_open *reply);
/* An OPEN_REPLY for the stream reply->to; @h is the half that opened. */
void mroce_qp_open_reply(struct mroce_dev *dev, struct mroce_txhalf *h, const struct mroce_open *reply);
/* CONTROL CLOSE or CREDIT for a stream of ours, received on @h. */
void mroce_qp_control(struct mroce_dev *dev, struct mroce_rxhalf *h, const struct mroce_control *c);

/*
 * A packet or train for @qp: the space is op->data.flags & MROCE_F_RESPONSE; claims, copies, holds, lands, finishes @op and runs the cursor.
 * @skb: payload at @off; the callee may clone it (held packets) but does not consume it. False: not this half's stream
 * (op is still to be finished by the caller).
 */
bool mroce_qp_data(struct mroce_qp *qp, struct mroce_rxhalf *h, struct mroce_rxop *op, struct sk_buff *skb, unsigned int off);

/*
 * The payload of a transmission that mroce_tx_pick() gave: appended to @skb, by reference or copied (below
 * MROCE_COPY_BELOW, inline). x->data may be changed before the header is built (READ_RESP whose source is
 * gone becomes ERROR_RESP). Reason NONE, or why the message cannot be built; *@err: -ENOMEM or -EMSGSIZE for transient failures,
 * *@done: bytes appended (fewer than x->bytes only with an error).
 */
enum mroce_reason mroce_qp_build(struct mroce_txs *txs, struct mroce_xmit *x, struct sk_buff *skb, int *err);
/* The stream has completions or has failed (mroce_tx_done()). The reference that mroce_qp_pin() took is dropped inside. */
void mroce_qp_progress(struct mroce_txs *txs);
/* A reference to the queue pair of @txs; under the half's lock. */
void mroce_qp_pin(struct mroce_txs *txs);
void mroce_qp_unpin(struct mroce_txs *txs);

/* A datagram for a UD or GSI queue pair of @dev. @skb: payload at @off. */
void mroce_qp_datagram(struct mroce_dev *dev, const struct mroce_ud *ud, struct sk_buff *skb, unsigned int off,
		       const struct mroce_arrival *from);

#define MROCE_COPY_BELOW	2048	/* payload copied instead of referenced */

#endif
