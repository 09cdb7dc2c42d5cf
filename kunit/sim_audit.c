// SPDX-License-Identifier: GPL-2.0
/*
 * Is the engine's own state consistent? What it keeps twice, a sum beside its parts, a count beside
 * a bitmap, a timer beside what waits for it, must agree between any two of its calls, whatever the
 * peer sends. Also of runs with forged packets (sim_broken()).
 */
#include "sim.h"

#define AUDIT(s, c, ...)                            \
	do {                                        \
		if (!(c))                           \
			sim_broken(s, __VA_ARGS__); \
	} while (0)

static u32 weight(const unsigned long *bits, u32 n)
{
	u32 i, sum = 0;

	for (i = 0; i < n / BITS_PER_LONG; i++)
		sum += hweight_long(bits[i]);
	return sum;
}

/* ---- the sending half ---- */

static bool carries(const struct mroce_txpath *p)
{
	return p->state == MROCE_PATH_ACTIVE || p->state == MROCE_PATH_SUSPECT;
}

static void audit_path(struct sim *s, struct mroce_tx *tx, struct mroce_txpath *p, u8 *open_ctl)
{
	u32 inflight = 0, number = 0, i, k;
	u64 left;

	AUDIT(s, p->tail - p->head <= (p->sent ? p->mask + 1 : 0), "path %u: %u records of %u",
	      p->index, p->tail - p->head, p->mask + 1);
	if (s->failed)
		return;
	for (i = p->head; i != p->tail; i++) {
		const struct mroce_sent *r = &p->sent[i & p->mask];

		AUDIT(s, i == p->head || r->number == number, "path %u: record of %u after %u",
		      p->index, r->number, number);
		AUDIT(s, r->count && r->count <= MROCE_TRAIN_MAX &&
		      !(r->open & ~GENMASK_ULL(r->count - 1, 0)), "path %u: record of %u is broken",
		      p->index, r->number);
		if (s->failed)
			return;
		number = r->number + r->count;
		for (left = r->open; left; left &= left - 1) {
			k = __ffs64(left);
			inflight += MROCE_OVERHEAD + (k + 1 == r->count ? r->last : r->psize);
		}
		if (r->open && r->kind == MROCE_XMIT_CONTROL)
			open_ctl[r->control]++;
	}
	AUDIT(s, p->head == p->tail || number == p->next, "path %u: next is %u, records end at %u",
	      p->index, p->next, number);
	AUDIT(s, mroce_seq_before(p->high, p->next), "path %u: %u is reported, next is %u",
	      p->index, p->high, p->next);
	AUDIT(s, p->inflight == inflight, "path %u: %u bytes in flight, its records have %u",
	      p->index, p->inflight, inflight);
	AUDIT(s, p->plane < MROCE_MAX_PLANES && p->cwnd, "path %u: plane %u, window %u", p->index,
	      p->plane, p->cwnd);
	/* what is unanswered is missed some day */
	if (inflight && carries(p) && tx->state == MROCE_TX_OPEN)
		AUDIT(s, p->probe_at != MROCE_NEVER && tx->timer <= p->probe_at,
		      "path %u: nobody waits for what is in flight; probe in %lld ns, timer in %lld",
		      p->index, (long long)(p->probe_at - s->now),
		      (long long)(tx->timer - s->now));
}

static void audit_plane(struct sim *s, const struct mroce_tx *tx, u32 plane)
{
	const struct mroce_tx_plane *pl = &tx->plane[plane];
	u32 i, npaths = 0, window = 0, inflight = 0;
	u64 paced = 0;

	for (i = 0; i < tx->npaths; i++) {
		const struct mroce_txpath *p = &tx->path[i];

		if (p->state != MROCE_PATH_ACTIVE || p->plane != plane)
			continue;
		npaths++;
		window += p->cwnd;
		inflight += p->inflight;
		paced += p->paced;
	}
	AUDIT(s, pl->npaths == npaths && pl->window == window && pl->inflight == inflight &&
	      pl->paced == paced,
	      "plane %u: %u paths, window %u, in flight %u; its paths have %u, %u, %u", plane,
	      pl->npaths, pl->window, pl->inflight, npaths, window, inflight);
}

static u32 open_data(struct mroce_tx *tx, const struct mroce_txs *txs)
{
	u32 i, k, out = 0;

	for (i = 0; i < tx->npaths; i++) {
		const struct mroce_txpath *p = &tx->path[i];

		for (k = p->head; k != p->tail; k++) {
			const struct mroce_sent *r = &p->sent[k & p->mask];

			if (r->txs == txs && r->kind == MROCE_XMIT_DATA)
				out += hweight64(r->open);
		}
	}
	return out;
}

static void audit_messages(struct sim *s, struct mroce_txs *txs)
{
	u32 msn, reads = 0, spn = 0;
	u64 backlog = 0;

	for (msn = txs->msn_una; msn != txs->msn_end; msn++) {
		const struct mroce_msg *m = &txs->msg[msn & txs->msg_mask];
		const struct mroce_opinfo *info = &mroce_opinfo[m->opcode];
		bool cut = mroce_seq_before(msn, txs->msn_nxt);

		AUDIT(s, m->msn == msn, "stream %u: message %u is in the place of %u", txs->own_id,
		      m->msn, msn);
		if (info->payload && !cut)
			backlog += m->length;
		if (!cut)
			continue;
		AUDIT(s, msn == txs->msn_una || m->first == spn,
		      "stream %u: message %u begins at %u, the one before ends at %u", txs->own_id,
		      msn, m->first, spn);
		spn = m->first + m->packets;
		if (m->note & MROCE_MSG_COUNTED && !(m->note & MROCE_MSG_RESPONDED))
			reads++;
		if (info->payload && mroce_seq_before(txs->nxt, spn))
			backlog += m->length - (txs->nxt - m->first) * m->psize;
	}
	AUDIT(s, txs->msn_una == txs->msn_nxt || spn == txs->end,
	      "stream %u: messages end at %u, numbers at %u", txs->own_id, spn, txs->end);
	AUDIT(s, reads == txs->reads_out, "stream %u: %u reads are out, counted %u", txs->own_id,
	      reads, txs->reads_out);
	AUDIT(s, backlog == txs->backlog, "stream %u: %llu bytes to send, counted %llu",
	      txs->own_id, (unsigned long long)backlog, (unsigned long long)txs->backlog);
}

static void audit_numbers(struct sim *s, struct mroce_txs *txs)
{
	u32 spn, acked = 0, lost = 0;

	AUDIT(s, txs->nxt - txs->una <= txs->window && !mroce_seq_after(txs->nxt, txs->end),
	      "stream %u: numbers %u, %u, %u", txs->own_id, txs->una, txs->nxt, txs->end);
	if (s->failed || !txs->acked)
		return;
	for (spn = txs->una; spn != txs->nxt; spn++) {
		bool a = test_bit(spn & txs->wmask, txs->acked);
		bool l = test_bit(spn & txs->wmask, txs->lost);

		AUDIT(s, !a || !l, "stream %u: %u is both acknowledged and lost", txs->own_id, spn);
		AUDIT(s, !l || !mroce_seq_before(spn, txs->lost_from),
		      "stream %u: %u is lost, below %u", txs->own_id, spn, txs->lost_from);
		acked += a;
		lost += l;
	}
	AUDIT(s, acked == txs->nacked && lost == txs->nlost,
	      "stream %u: %u acknowledged, %u lost; counted %u, %u", txs->own_id, acked, lost,
	      txs->nacked, txs->nlost);
	AUDIT(s, weight(txs->acked, txs->wmask + 1) == acked &&
	      weight(txs->lost, txs->wmask + 1) == lost, "stream %u: bits of other numbers",
	      txs->own_id);
}

static void audit_tx(struct sim *s, struct mroce_tx *tx)
{
	u8 open_ctl[MROCE_MAX_CTL] = {};
	struct mroce_txs *txs;
	u64 backlog = 0;
	u32 i, queued = 0;

	for (i = 0; i < tx->npaths && !s->failed; i++)
		audit_path(s, tx, &tx->path[i], open_ctl);
	for (i = 0; i < MROCE_MAX_PLANES; i++)
		audit_plane(s, tx, i);
	for (i = 0; i < MROCE_MAX_CTL; i++) {
		queued += tx->ctl[i].queued;
		AUDIT(s, open_ctl[i] == (tx->ctl[i].used && !tx->ctl[i].queued),
		      "control %u is on its way %u times", i, open_ctl[i]);
	}
	AUDIT(s, queued == tx->nctl, "%u controls wait, counted %u", queued, tx->nctl);
	list_for_each_entry(txs, &tx->streams, node) {
		audit_messages(s, txs);
		audit_numbers(s, txs);
		i = open_data(tx, txs);
		AUDIT(s, i == txs->out, "stream %u: %u packets in flight, counted %u", txs->own_id,
		      i, txs->out);
		AUDIT(s, txs->msn_una == txs->msn_end || !list_empty(&txs->active),
		      "stream %u: no timer looks at it", txs->own_id);
		backlog += txs->backlog;
		if (s->failed)
			return;
	}
	AUDIT(s, backlog == tx->backlog, "%llu bytes to send, counted %llu",
	      (unsigned long long)backlog, (unsigned long long)tx->backlog);
}

/* ---- the receiving half ---- */

void sim_audit_rx(struct sim *s, struct mroce_rx *rx)
{
	struct mroce_rxpath *p;
	u32 i, nacks = 0;

	for (i = 0; i < MROCE_MAX_NEWS; i++)
		nacks += rx->nack[i].used;
	AUDIT(s, nacks == rx->nnack, "%u refusals to tell, counted %u", nacks, rx->nnack);
	list_for_each_entry(p, &rx->waiting, due)
		AUDIT(s, p->ack_at != MROCE_NEVER && rx->timer <= p->ack_at,
		      "an ACK waits, and no timer for it");
	list_for_each_entry(p, &rx->due, due)
		AUDIT(s, p->ack_at == MROCE_NEVER, "an ACK is due, and waits");
}

static void audit_descs(struct sim *s, const struct mroce_rxs *rxs)
{
	u32 i;

	for (i = 0; rxs->desc && i <= rxs->desc_mask; i++) {
		const struct mroce_desc *d = &rxs->desc[(rxs->msn + i) & rxs->desc_mask];
		/* of an ERROR_RESP there may be as many as the message had packets */
		bool counted = d->got <= d->packets || d->opcode == MROCE_OP_ERROR_RESP;

		AUDIT(s, !d->valid || (d->msn == rxs->msn + i && counted),
		      "stream %u: message %u, %u of %u packets, in the place of %u", rxs->own_id,
		      d->msn, d->got, d->packets, rxs->msn + i);
	}
}

void sim_audit_rxs(struct sim *s, const struct mroce_rxs *rxs)
{
	const struct mroce_held *h, *before = NULL;
	u32 longs = rxs->window / BITS_PER_LONG, held = 0, i;

	audit_descs(s, rxs);
	list_for_each_entry(h, &rxs->held, node) {
		AUDIT(s, h->spn - rxs->base < rxs->window &&
		      (!before || mroce_seq_before(before->spn, h->spn)),
		      "stream %u: %u is held, lowest hole %u", rxs->own_id, h->spn, rxs->base);
		before = h;
		held++;
	}
	if (!rxs->claimed)
		return;
	for (i = 0; i < longs; i++)
		AUDIT(s, !(rxs->placed[i] & ~rxs->claimed[i]) &&
		      !(rxs->held_bits[i] & ~rxs->claimed[i]) &&
		      !(rxs->held_bits[i] & rxs->placed[i]),
		      "stream %u: bits that contradict each other", rxs->own_id);
	AUDIT(s, weight(rxs->held_bits, rxs->window) == held + rxs->landing,
	      "stream %u: %u packets are held", rxs->own_id, held);
	AUDIT(s, !test_bit(rxs->base & (rxs->window - 1), rxs->placed),
	      "stream %u: %u is placed, and the lowest hole", rxs->own_id, rxs->base);
}

static void audit_share(struct sim *s, const struct mroce_share *share)
{
	const struct mroce_share_member *m;
	u32 active = 0, sum = 0;

	list_for_each_entry(m, &share->members, node) {
		active += m->active;
		sum += m->active ? m->weight : 0;
	}
	AUDIT(s, active == share->active && sum == share->weight,
	      "%u active senders of weight %u, counted %u, %u", active, sum, share->active,
	      share->weight);
}

void sim_audit(struct sim *s)
{
	struct sim_txh *t;
	struct sim_rxh *r;
	u32 i, k;

	for (i = 0; i < s->hosts && !s->failed; i++) {
		list_for_each_entry(t, &s->host[i].txhs, node)
			audit_tx(s, &t->tx);
		list_for_each_entry(r, &s->host[i].rxhs, node)
			sim_audit_rx(s, &r->rx);
		for (k = 0; k < sim_planes(s); k++)
			audit_share(s, &s->host[i].share[k]);
	}
	for (i = 0; i < s->nqps && !s->failed; i++) {
		if (s->qp[i]->detached)
			continue;
		sim_audit_rxs(s, &s->qp[i]->rreq);
		sim_audit_rxs(s, &s->qp[i]->rresp);
	}
}
