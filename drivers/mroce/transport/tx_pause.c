// SPDX-License-Identifier: GPL-2.0
/*
 * What a stream waits for: the pauses that a receiver asks for when it refuses, and the deadline
 * that its program gave. Pure; the half's lock is the caller's.
 */
#include "tx.h"

/* HOLD, WINDOW, READS: ask again if the floor does not move */
#define FLOOR_PAUSE		(10 * MROCE_MSEC)
/* round trips at their slowest that a deadline has room for */
#define PATIENT_PROBES		8
#define PATIENT_OPENING		(16000 * MROCE_MSEC)
#define PATIENT_LOSS		4	/* more than a quarter */
#define OVERDUE_TIMES		3
#define OVERDUE_WAIT		(10 * MROCE_MSEC)

bool mroce_txs_paused_at(const struct mroce_txs *txs, u32 spn)
{
	return txs->paused && !mroce_seq_before(spn, txs->pause_spn);
}

void mroce_txs_resume(struct mroce_txs *txs, u64 now)
{
	txs->paused = false;
	txs->resumed_at = now;
	/* no deadline runs while the peer's program or memory is waited for (rule 24) */
	if (!mroce_txs_by_floor(txs->pause_reason))
		txs->progress_at = now;
	mroce_txs_kick(txs);
}

void mroce_txs_credit(struct mroce_txs *txs, u32 credit, u64 now)
{
	/* of an SRQ: there is no number, only the news that a buffer was posted */
	if (txs->credit != MROCE_CREDIT_NONE) {
		if (mroce_seq_diff(credit, txs->credit) <= 0)
			return;
		txs->credit = credit;
	}
	if (txs->paused && txs->pause_reason == MROCE_N_RNR)
		mroce_txs_resume(txs, now);
	mroce_txs_kick(txs);
}

/* InfiniBand's RNR NAK timer field (IBA 9.7.5.2.8), in units of 10 µs */
static u64 rnr_wait(u8 code)
{
	static const u32 wait[32] = {
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
		256, 384, 512, 768, 1024, 1536, 2048, 3072,
		4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return wait[code & 31] * 10 * MROCE_USEC;
}

static void pause(struct mroce_txs *txs, const struct mroce_record_news *r, u64 wait, u64 now)
{
	if (!txs->paused || mroce_seq_before(r->spn, txs->pause_spn))
		txs->pause_spn = r->spn;
	txs->paused = true;
	txs->refused = true;
	txs->pause_reason = r->reason;
	txs->resume_at = now + wait;
	mroce_txs_want(txs, txs->resume_at);
}

void mroce_txs_nack(struct mroce_txs *txs, const struct mroce_record_news *r, u64 sent_at, u64 now)
{
	struct mroce_msg *m;

	if (r->spn - txs->una >= txs->nxt - txs->una)
		return;		/* released already, or never sent */
	m = mroce_txs_msg_of(txs, r->spn);
	if (!m)
		return;
	/* a floor that does not move is not news, however often it is told */
	if (!mroce_txs_by_floor(r->reason))
		txs->progress_at = now;
	switch (r->reason) {
	case MROCE_N_RNR:
		/*
		 * rule 54: a NACK for a transmission from before the
		 * last resume is old news; rule 10: one episode a pause
		 */
		if (txs->resumed_at && sent_at < txs->resumed_at)
			return;
		if (!txs->paused) {
			if (txs->rnr_retry != 7) {
				if (!txs->rnr_left) {
					mroce_txs_fail(txs, m->msn, MROCE_REASON_ERR_RNR_RETRY,
						       MROCE_N_NONE);
					return;
				}
				txs->rnr_left--;
			}
			txs->tx->stats.rnr++;
		}
		pause(txs, r, rnr_wait(r->timer), now);
		return;
	case MROCE_N_HOLD:
	case MROCE_N_WINDOW:
	case MROCE_N_READS:
		pause(txs, r, FLOOR_PAUSE, now);
		return;
	case MROCE_N_NOT_READY:
	case MROCE_N_MEMORY:
	case MROCE_N_FAULT:
		if (txs->resumed_at && sent_at < txs->resumed_at)
			return;
		/* the rest of the same flight is refused too: one pause, one doubling */
		if (txs->paused && txs->pause_reason == r->reason) {
			if (mroce_seq_before(r->spn, txs->pause_spn))
				txs->pause_spn = r->spn;
			return;
		}
		pause(txs, r, ((u64)max_t(u8, r->timer, 1) <<
			       min_t(u8, txs->nack_doublings, 7)) * MROCE_MSEC, now);
		txs->nack_doublings = min(txs->nack_doublings + 1, 7);
		return;
	case MROCE_N_GONE:
		/* nobody waits for it any more: that is the requester's end, not ours */
		if (txs->response) {
			mroce_txs_release(txs, txs->nxt, now);
			return;
		}
		fallthrough;
	case MROCE_N_ACCESS:
	case MROCE_N_LENGTH:
	case MROCE_N_OPERATION:
		mroce_txs_fail(txs, m->msn, MROCE_REASON_NONE, r->reason);
		return;
	}
}

/*
 * Is a transmission of the stream, or a response to it, unanswered (rule 24)? What is lost and not
 * yet on its way again was sent, and nobody answered; but while the peer answers other streams it
 * only waits for its turn. Answered probes carry nobody's data.
 */
static bool unanswered(const struct mroce_txs *txs, u64 now)
{
	if (mroce_txs_idle(txs))
		return false;
	if (txs->state == MROCE_TXS_CLOSED || txs->state == MROCE_TXS_OPENING)
		return true;	/* HELLO or OPEN */
	/* nothing is transmitted where every plane is down, and nothing is answered either */
	if (txs->out || txs->reads_out || txs->tx->severed)
		return true;
	/* the packets before the refused ones are all acknowledged, and the floor should move */
	if (txs->refused && mroce_txs_by_floor(txs->pause_reason))
		return true;
	return txs->una != txs->nxt && txs->tx->delivered_at + MROCE_DEADLINE_FLOOR / 2 <= now;
}

/*
 * How long silence may last. InfiniBand lets a timeout be four times what was asked for. This is
 * used on slow or unsteady paths, so that some probes and their answers fit in; where much is lost;
 * and before the first answer, for as long as a HELLO needs to find its way through a crowd.
 */
static u64 patience(const struct mroce_txs *txs, u64 slowest)
{
	u64 asked = max(txs->timeout, MROCE_DEADLINE_FLOOR);

	if (txs->tx->state == MROCE_TX_HELLO)
		return clamp(PATIENT_OPENING, asked, 4 * asked);
	if ((u64)txs->tx->recent_gone * PATIENT_LOSS > txs->tx->recent_sent)
		return 4 * asked;
	return clamp(PATIENT_PROBES * slowest, asked, 4 * asked);
}

/*
 * A deadline that is seen late, on starved processors, says nothing of the peer: its answers may
 * lie in our own queue. It is seen several times, with probes between, before it counts: when next,
 * or NEVER if that was the last time.
 */
static u64 overdue(struct mroce_txs *txs, u64 now)
{
	if (txs->overdue_since != txs->progress_at) {
		txs->overdue_since = txs->progress_at;
		txs->overdue_seen = 0;
		txs->overdue_at = now;
	}
	if (now >= txs->overdue_at) {
		if (txs->overdue_seen++ >= OVERDUE_TIMES)
			return MROCE_NEVER;
		txs->overdue_at = now + OVERDUE_WAIT;
	}
	return txs->overdue_at;
}

u64 mroce_txs_timer(struct mroce_txs *txs, u64 slowest, u64 now)
{
	u64 next = MROCE_NEVER, deadline;

	if (mroce_txs_is_failed(txs))
		return next;
	if (txs->state == MROCE_TXS_OPENING) {
		if (txs->open_at <= now)
			mroce_txs_kick_open(txs);
		else
			next = txs->open_at;
	}
	if (txs->paused) {
		if (txs->resume_at <= now)
			mroce_txs_resume(txs, now);
		else
			next = min(next, txs->resume_at);
	}
	if (!txs->timeout)
		return next;
	if (txs->paused && !mroce_txs_by_floor(txs->pause_reason)) {
		txs->progress_at = now;
		return next;
	}
	if (txs->floor && txs->floor_seen != READ_ONCE(*txs->floor)) {
		/* packets of responses land: a long READ takes its time */
		txs->floor_seen = READ_ONCE(*txs->floor);
		txs->progress_at = now;
	}
	deadline = txs->progress_at + patience(txs, slowest);
	if (!unanswered(txs, now)) {
		/* waiting for its turn, a window or credit: no deadline runs, look again later */
		txs->progress_at = now;
		deadline = now + patience(txs, slowest);
	} else if (deadline <= now) {
		deadline = overdue(txs, now);
		if (deadline == MROCE_NEVER) {
			mroce_txs_fail(txs, txs->msn_una, MROCE_REASON_ERR_RETRY, MROCE_N_NONE);
			return MROCE_NEVER;
		}
	}
	return min(next, deadline);
}
