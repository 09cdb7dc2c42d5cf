// SPDX-License-Identifier: GPL-2.0
/*
 * What an acknowledgement says: which packets of a path arrived, which are lost,
 * which were refused; the round-trip time; streams' credit. Pure; the half's lock is
 * the caller's.
 */
#include "tx.h"

#define THRESHOLD_MAX	128			/* packets (rule 15) */
#define RECENT		1024			/* packets over which loss is averaged */
#define THRESHOLD_LIFE	(1000 * MROCE_MSEC)	/* halved this often without a spurious loss */

struct verdict {
	u64 acked, lost;
};

/*
 * What a NACK in this ACK or before holds back was refused, or would
 * be: no need to see it overtaken.
 */
static bool refused(const struct mroce_sent *s, u32 i)
{
	return s->txs && s->kind == MROCE_XMIT_DATA && mroce_txs_paused_at(s->txs, s->spn + i);
}

/* Bit i: has @number - i been placed, as far as the bitmap reaches? */
static u64 placed(const struct mroce_ack *ack, u32 number)
{
	s32 at = mroce_seq_diff(ack->anchor, number);
	u64 bits;

	if (at >= MROCE_BITMAP_BITS || at <= -64)
		return 0;
	if (at < 0)
		return ack->bitmap[0] << -at;
	bits = ack->bitmap[at / 64] >> (at % 64);
	if (at % 64 && at / 64 + 1 < MROCE_BITMAP_WORDS)
		bits |= ack->bitmap[at / 64 + 1] << (64 - at % 64);
	return bits;
}

/*
 * Packets of one transmission, as this ACK reports them. In a PARTIAL ACK a clear bit
 * means nothing. What fell out of the bitmap unreported is lost (and filtered as a duplicate by the
 * receiver if it was not).
 */
static struct verdict judge(const struct mroce_ack *ack, const struct mroce_sent *s, u32 threshold,
			    bool late)
{
	u32 last = s->number + s->count - 1;
	struct verdict v = { 0 };
	u64 left;

	/* all of it placed, as nearly always */
	if (!mroce_seq_after(last, ack->base.number) &&
	    !(~placed(ack, last) & GENMASK_ULL(s->count - 1, 0))) {
		v.acked = s->open;
		return v;
	}
	for (left = s->open; left; left &= left - 1) {
		u32 i = __ffs64(left);
		u32 number = s->number + i;
		u32 below = ack->anchor - number;

		if (mroce_seq_after(number, ack->base.number))
			break;
		if (below < MROCE_BITMAP_BITS && ack->bitmap[below / 64] & BIT_ULL(below % 64))
			v.acked |= BIT_ULL(i);
		else if (!(ack->flags & MROCE_A_PARTIAL) &&
			 (late || ack->base.number - number > threshold || refused(s, i)))
			v.lost |= BIT_ULL(i);
	}
	return v;
}

/*
 * Lost packets of a stream that is paused from there on were refused,
 * or will not be needed before it resumes: no loss of the path.
 */
static u32 losses(const struct mroce_sent *s, u64 lost)
{
	if (!s->txs || s->kind != MROCE_XMIT_DATA || !s->txs->paused)
		return hweight64(lost);
	if (mroce_txs_paused_at(s->txs, s->spn))
		return 0;
	return hweight64(lost);
}

/* Packets @lost of those from @number on are taken as lost: did they arrive after all? */
static void note_gaps(struct mroce_txpath *p, u32 number, u64 lost)
{
	for (; lost; lost &= lost - 1) {
		u32 gap = number + __ffs64(lost);
		s32 ahead = mroce_seq_diff(gap, p->gap);

		/*
		 * nearly in order, refused ones apart: one far below is half of all numbers later,
		 * and nothing is known of those in between
		 */
		if (ahead <= -64)
			p->gaps = 0;
		if (ahead > 0 || !p->gaps) {
			p->gaps = ahead > 0 && ahead < 64 ? p->gaps << ahead : 0;
			p->gap = gap;
			ahead = 0;
		}
		p->gaps |= BIT_ULL(-ahead);
	}
}

/*
 * The path's own numbers say whether it delivers out of order. A duplicate does not: it may be of
 * what was sent again because an ACK was lost.
 */
static void adapt_threshold(struct mroce_tx *tx, struct mroce_txpath *p,
			    const struct mroce_ack *ack, u64 now)
{
	u64 denied = p->gaps ? p->gaps & placed(ack, p->gap) : 0;

	if (denied) {
		p->gaps &= ~denied;
		tx->stats.spurious += hweight64(denied);
		p->threshold = clamp_t(u32, p->threshold * 2, 2, THRESHOLD_MAX);
		p->threshold_at = now;
	} else if (p->threshold && now - p->threshold_at > THRESHOLD_LIFE) {
		p->threshold /= 2;
		p->threshold_at = now;
	}
}

/* The transmission that carried @number. Numbers follow each other around the ring. */
static struct mroce_sent *sent_as(struct mroce_txpath *p, u32 number)
{
	u32 low = p->head, high = p->tail;

	while (low != high) {
		u32 middle = low + (high - low) / 2;
		struct mroce_sent *s = &p->sent[middle & p->mask];

		if (number - s->number < s->count)
			return s;
		if (mroce_seq_before(number, s->number))
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static void records(struct mroce_tx *tx, struct mroce_txpath *p, const struct mroce_ack *ack,
		    bool nacks, u64 now)
{
	u32 i;

	for (i = 0; i < ack->nrecords; i++) {
		const struct mroce_record_news *r = &ack->record[i];
		bool nack = r->kind == MROCE_R_NACK;
		struct mroce_sent *s;
		struct mroce_txs *txs;

		if (nack != nacks)
			continue;
		txs = mroce_tx_find(tx, r->stream, r->flags & MROCE_R_RESPONSE);
		if (!txs)
			continue;
		switch (r->kind) {
		case MROCE_R_NACK:
			s = sent_as(p, r->number);
			if (s)
				mroce_txs_nack(txs, r, s->at, now);
			break;
		case MROCE_R_CREDIT:
			mroce_txs_credit(txs, r->value, now);
			break;
		case MROCE_R_RELEASE:
			mroce_txs_release(txs, r->spn, now);
			break;
		}
	}
}

/* What share of the packets is lost at present, over some hundreds of them. */
static void note_loss(struct mroce_tx *tx, s32 arrived, u32 lost)
{
	tx->recent += lost + max(arrived, 0);
	tx->recent_lost += lost;
	if (tx->recent > RECENT) {
		tx->recent /= 2;
		tx->recent_lost /= 2;
	}
}

/* @sent more numbers are reported, and @gone of them did not come. What is late comes off again. */
static void note_gone(struct mroce_tx *tx, u32 sent, s32 gone)
{
	/* a count that cannot be is a peer's mistake, and no more than all that was sent */
	gone = clamp_t(s64, gone, -(s64)tx->recent_gone, sent);
	tx->recent_sent += sent;
	tx->recent_gone += gone;
	if (tx->recent_sent > RECENT) {
		tx->recent_sent /= 2;
		tx->recent_gone /= 2;
	}
}

/*
 * How many of the packets that timeouts gave up (mroce_path_overdue()) are among the @missing ones,
 * of which gaps showed the @known ones.
 */
static u32 overdue(struct mroce_txpath *p, s32 missing, u32 known)
{
	u32 n = min_t(s32, p->overdue, max_t(s32, missing - known, 0));

	p->overdue = 0;
	return n;
}

enum mroce_reason mroce_tx_ack(struct mroce_tx *tx, const struct mroce_ack *ack, u64 now)
{
	struct mroce_txloss lost = { 0 };
	u32 i, n, acked_bytes = 0, before;
	struct mroce_txpath *p;
	bool fresh, progress = false, missed = false;

	if (tx->state != MROCE_TX_OPEN)
		return MROCE_REASON_RX_STATE;
	if (ack->base.path >= tx->npaths || ack->base.epoch != tx->path[ack->base.path].epoch)
		return MROCE_REASON_RX_PATH;
	p = &tx->path[ack->base.path];
	if (!mroce_seq_before(ack->base.number, p->next) ||
	    mroce_seq_after(ack->anchor, ack->base.number))
		return MROCE_REASON_RX_NUMBER;
	tx->stats.acks++;
	fresh = mroce_seq_after(ack->base.number, p->high);

	records(tx, p, ack, true, now);
	for (i = p->head; i != p->tail; i++) {
		struct mroce_sent *s = &p->sent[i & p->mask];
		struct verdict v;
		bool late;

		if (mroce_seq_after(s->number, ack->base.number))
			break;
		if (!s->open)
			continue;
		/*
		 * rule 15: a gap older than a quarter of a round trip beyond the normal is a loss
		 * whatever the threshold; a quarter more each time that this was wrong
		 */
		late = p->threshold &&
		       now - s->at > p->srtt + (u64)p->srtt * fls(p->threshold) / 8;
		v = judge(ack, s, p->threshold, late);
		before = p->inflight;
		if (v.acked) {
			mroce_path_big(tx, p, s, true, now);
			mroce_path_close(tx, p, s, v.acked, true, now);
			acked_bytes += before - p->inflight;
			if (s->kind != MROCE_XMIT_PROBE)
				tx->delivered_at = now;
			p->newest = max(p->newest, s->at);
			progress = true;
		}
		if (v.lost) {
			/* a second loss of the same data leaves the path (rule 14) */
			tx->resend_path = s->resend ? mroce_path_other(tx, p) : p->index;
			n = losses(s, v.lost);
			if (n) {
				/* what fell off the bitmap unreported is no gap (rule 12) */
				if (ack->base.number - s->number < MROCE_BITMAP_BITS)
					note_gaps(p, s->number, v.lost);
				lost.lost += n;
				/* with the datagram goes all that was in it */
				if (!s->joined || !missed)
					lost.events += hweight64(v.lost & ~(v.lost << 1));
				mroce_path_big(tx, p, s, false, now);
			}
			mroce_path_close(tx, p, s, v.lost, false, now);
			progress = true;
		}
		missed = v.lost;
		if (s->open && p->threshold && p->srtt)
			mroce_tx_want(tx, now + p->srtt / 4);
	}
	tx->stats.lost += lost.lost;
	p->lost += lost.lost;
	mroce_path_trim(p);
	/* mroce_path_big() has drawn another port: the rest is about the old epoch's numbers */
	if (p->epoch != ack->base.epoch) {
		tx->last_ack = now;
		mroce_plane_ack(tx, p, ack, now);
		records(tx, p, ack, false, now);
		return MROCE_REASON_NONE;
	}
	if (fresh) {
		u32 sent = ack->base.number - p->high;
		s32 missing = sent - (ack->packets - p->packets);

		note_gone(tx, sent, missing);
		n = overdue(p, missing, lost.lost);
		lost.lost += n;
		lost.events += n;
		tx->stats.lost += n;
		p->lost += n;
	} else if ((s32)(ack->packets - p->packets) > 0) {
		note_gone(tx, 0, p->packets - ack->packets);
	}
	note_loss(tx, ack->packets - p->packets, lost.lost);

	if (fresh) {
		u32 rtt = (u32)(now >> MROCE_STAMP_SHIFT) - ack->echo - ack->delay;

		if (ack->packets && (s32)rtt >= 0) {
			mroce_path_rtt(tx, p, (u64)rtt << MROCE_STAMP_SHIFT);
			mroce_plane_rtt(tx, p, (u64)rtt << MROCE_STAMP_SHIFT, now);
		}
		p->high = ack->base.number;
	}
	if (fresh || progress)
		tx->last_ack = now;
	mroce_path_answered(tx, p, fresh || progress, now);
	mroce_plane_ack(tx, p, ack, now);
	mroce_cc_ack(tx, p, ack, acked_bytes, &lost, now);
	adapt_threshold(tx, p, ack, now);
	records(tx, p, ack, false, now);
	mroce_path_arm(tx, p);
	return MROCE_REASON_NONE;
}
