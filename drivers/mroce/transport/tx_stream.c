// SPDX-License-Identifier: GPL-2.0
/*
 * The sending side of one space of a stream: messages from post to completion, their cutting into
 * numbered packets, what is acknowledged and what must go again. Pure; the half's lock is the
 * caller's.
 *
 * States: CLOSED --open--> OPENING --ACCEPT--> OPEN; any --failure--> FAILED (messages before
 * the failed one still complete).
 */
#include "tx.h"

#define WINDOW_DEFAULT		4096
#define OPEN_WAIT_FIRST		(1 * MROCE_MSEC)
#define OPEN_WAIT_LAST		(100 * MROCE_MSEC)
/* NOT READY counts as progress for so long (rule 24) */
#define NOT_READY_GRACE		(1000 * MROCE_MSEC)
/* outstanding messages that a Write is compared with one by one */
#define OVERLAP_EXACT		16

static void set_state(struct mroce_txs *txs, enum mroce_txs_state state)
{
	static const u8 legal[] = {
		[MROCE_TXS_CLOSED] =
			BIT(MROCE_TXS_OPENING) | BIT(MROCE_TXS_OPEN) | BIT(MROCE_TXS_FAILED),
		[MROCE_TXS_OPENING] = BIT(MROCE_TXS_OPEN) | BIT(MROCE_TXS_FAILED),
		[MROCE_TXS_OPEN] = BIT(MROCE_TXS_FAILED),
		[MROCE_TXS_FAILED] = 0,
	};

	if (txs->state == state)
		return;
	WARN_ON_ONCE(!(legal[txs->state] & BIT(state)));
	txs->state = state;
}

static struct mroce_msg *msg_at(const struct mroce_txs *txs, u32 msn)
{
	return &txs->msg[msn & txs->msg_mask];
}

static void set_window(struct mroce_txs *txs, u8 log_packets, u8 log_messages)
{
	txs->window = 1U << clamp_t(u8, log_packets, 6, 17);
	txs->window_msgs = 1U << min_t(u8, log_messages, 17);
}

void mroce_txs_init(struct mroce_txs *txs, bool response, u32 own_id, struct mroce_msg *msg,
		    u32 msgs)
{
	memset(txs, 0, sizeof(*txs));
	txs->response = response;
	txs->own_id = own_id;
	txs->msg = msg;
	txs->msg_mask = msgs - 1;
	txs->window = WINDOW_DEFAULT;
	txs->window_msgs = msgs;
	txs->reads_max = 1;
	txs->rnr_retry = 7;
	txs->rnr_left = 7;
	txs->credit = MROCE_CREDIT_NONE;
	mroce_txs_tune(txs, U8_MAX, 0, 1, 0);
	INIT_LIST_HEAD(&txs->node);
	INIT_LIST_HEAD(&txs->ready);
	INIT_LIST_HEAD(&txs->done);
	INIT_LIST_HEAD(&txs->active);
}

void mroce_txs_move(struct mroce_txs *txs, struct mroce_msg *msg, u32 msgs)
{
	u32 msn;

	for (msn = txs->msn_una; msn != txs->msn_end; msn++)
		msg[msn & (msgs - 1)] = *msg_at(txs, msn);
	txs->msg = msg;
	txs->msg_mask = msgs - 1;
	txs->window_msgs = msgs;
}

void mroce_txs_attach(struct mroce_txs *txs, struct mroce_tx *tx, u32 psn)
{
	txs->tx = tx;
	txs->una = psn;
	txs->nxt = psn;
	txs->end = psn;
	txs->lost_from = psn;
	list_add_tail(&txs->node, &tx->streams);
	if (tx->state == MROCE_TX_DEAD)
		mroce_txs_fail(txs, txs->msn_una, tx->dead_reason, MROCE_N_NONE);
}

void mroce_txs_tune(struct mroce_txs *txs, u8 planes, u8 npaths, u8 weight, u32 train)
{
	txs->planes = planes;
	txs->npaths = npaths;
	txs->weight = max_t(u8, weight, 1);
	txs->train = train;
	txs->choosy = planes != U8_MAX || npaths;
}

static void free_bitmaps(struct mroce_txs *txs)
{
	kfree(txs->acked);	/* lost lies behind it */
	txs->acked = NULL;
	txs->lost = NULL;
	txs->nacked = 0;
}

void mroce_txs_detach(struct mroce_txs *txs)
{
	struct mroce_tx *tx = txs->tx;
	u32 i, j;

	if (!tx)
		return;
	WARN_ON_ONCE(txs->busy);
	for (i = 0; i < tx->npaths; i++) {
		struct mroce_txpath *p = &tx->path[i];

		for (j = p->head; j != p->tail; j++)
			if (p->sent[j & p->mask].txs == txs)
				p->sent[j & p->mask].txs = NULL;
	}
	tx->backlog -= txs->backlog;
	txs->backlog = 0;
	list_del_init(&txs->node);
	list_del_init(&txs->ready);
	list_del_init(&txs->done);
	list_del_init(&txs->active);
	free_bitmaps(txs);
	txs->tx = NULL;
}

/* The stream wants the timer to look at it then. */
void mroce_txs_want(struct mroce_txs *txs, u64 at)
{
	txs->tx->streams_at = min(txs->tx->streams_at, at);
	mroce_tx_want(txs->tx, at);
}

/* The stream may have something to send: to the end of its space's turn. */
void mroce_txs_kick(struct mroce_txs *txs)
{
	if (txs->tx && list_empty(&txs->ready) && !mroce_txs_idle(txs) &&
	    txs->state != MROCE_TXS_CLOSED)
		list_add_tail(&txs->ready, &txs->tx->ready[!txs->response]);
}

void mroce_txs_kick_open(struct mroce_txs *txs)
{
	if (list_empty(&txs->ready))
		list_add_tail(&txs->ready, &txs->tx->ready[!txs->response]);
	if (list_empty(&txs->active))
		list_add_tail(&txs->active, &txs->tx->active);
}

void mroce_txs_open(struct mroce_txs *txs, const struct mroce_open *open, u64 now)
{
	if (txs->state != MROCE_TXS_CLOSED)
		return;
	txs->open = *open;
	txs->open.attempt = 0;
	txs->open_at = now;
	txs->open_wait = OPEN_WAIT_FIRST;
	txs->progress_at = now;
	set_state(txs, MROCE_TXS_OPENING);
	mroce_txs_kick_open(txs);
}

void mroce_txs_open_reply(struct mroce_txs *txs, const struct mroce_open *reply, u64 now)
{
	/* any attempt that was made: a path may be slower than they follow each other */
	if (txs->state != MROCE_TXS_OPENING || reply->to != txs->own_id || !reply->attempt ||
	    reply->attempt > txs->open.attempt)
		return;
	switch (reply->status) {
	case MROCE_OPEN_ACCEPT:
		txs->peer_id = reply->stream;
		txs->credit = reply->credit;
		set_window(txs, reply->log_packets, reply->log_messages);
		if (reply->reads && reply->reads < txs->reads_max)
			txs->reads_max = reply->reads;
		txs->progress_at = now;
		set_state(txs, MROCE_TXS_OPEN);
		if (mroce_txs_idle(txs))
			list_del_init(&txs->active);
		mroce_txs_kick(txs);
		break;
	case MROCE_OPEN_NOT_READY:
		/* an older one says nothing that the answer to a newer has not said */
		if (reply->attempt != txs->open.attempt)
			break;
		if (!txs->not_ready_at)
			txs->not_ready_at = now;
		if (now - txs->not_ready_at < NOT_READY_GRACE)
			txs->progress_at = now;
		break;
	case MROCE_OPEN_REFUSED:
		mroce_txs_fail(txs, txs->msn_una, MROCE_REASON_ERR_REFUSED, MROCE_N_NONE);
		break;
	}
}

void mroce_txs_opened(struct mroce_txs *txs, u32 peer_id, u8 log_packets, u8 log_messages)
{
	if (txs->state != MROCE_TXS_CLOSED)
		return;
	txs->peer_id = peer_id;
	set_window(txs, log_packets, log_messages);
	txs->window_msgs = txs->msg_mask + 1;
	set_state(txs, MROCE_TXS_OPEN);
	mroce_txs_kick(txs);
}

static bool is_write(u8 opcode)
{
	return opcode == MROCE_OP_WRITE || opcode == MROCE_OP_WRITE_IMM;
}

/* changes memory when the peer's cursor comes to it, not as its packet arrives */
static bool is_atomic(u8 opcode)
{
	return mroce_opinfo[opcode].answered && mroce_opinfo[opcode].fixed;
}

/*
 * Rule 49: a Write that touches bytes of one that is not complete lands in its turn; one that
 * touches those of an atomic is not sent before that was carried out. May say yes too often, never
 * too rarely.
 */
static void keep_order(struct mroce_txs *txs, struct mroce_msg *w)
{
	u64 end = w->addr + w->length;
	u32 msn;

	if (!w->length)
		return;
	if (txs->msn_end - txs->msn_una > OVERLAP_EXACT) {
		if (w->addr < txs->write_hi && txs->write_lo < end) {
			w->flags |= MROCE_F_ORDERED;
			if (mroce_seq_before(txs->msn_una, txs->atomic_end))
				w->note |= MROCE_MSG_FENCE;
		}
		return;
	}
	for (msn = txs->msn_una; msn != txs->msn_end; msn++) {
		const struct mroce_msg *m = msg_at(txs, msn);

		if (w->addr >= m->addr + m->length || m->addr >= end)
			continue;
		if (is_write(m->opcode))
			w->flags |= MROCE_F_ORDERED;
		else if (is_atomic(m->opcode))
			w->note |= MROCE_MSG_FENCE;
	}
}

struct mroce_msg *mroce_txs_post(struct mroce_txs *txs, const struct mroce_post *post, u64 now)
{
	struct mroce_msg *m;

	if (!txs->tx || txs->msn_end - txs->msn_una > txs->msg_mask)
		return NULL;
	if (mroce_txs_idle(txs)) {
		txs->progress_at = now;
		txs->write_lo = U64_MAX;
		txs->write_hi = 0;
		txs->atomic_end = txs->msn_end;
		if (list_empty(&txs->active))
			list_add_tail(&txs->active, &txs->tx->active);
		if (txs->timeout)
			mroce_txs_want(txs, now + max(txs->timeout, MROCE_DEADLINE_FLOOR));
	}
	m = msg_at(txs, txs->msn_end);
	*m = (struct mroce_msg){
		.addr = post->addr,
		.length = post->length,
		.msn = txs->msn_end,
		.rsn = post->rsn,
		.rkey = post->rkey,
		.imm = post->imm,
		.wr = post->wr,
		.opcode = post->opcode,
		.flags = post->flags,
		.note = (post->fence ? MROCE_MSG_FENCE : 0) | (post->lazy ? MROCE_MSG_LAZY : 0),
	};
	if (mroce_opinfo[m->opcode].receive)
		m->rsn = txs->rsn++;
	if (is_write(m->opcode))
		keep_order(txs, m);
	if (is_write(m->opcode) || is_atomic(m->opcode)) {
		if (is_atomic(m->opcode))
			txs->atomic_end = txs->msn_end + 1;
		txs->write_lo = min(txs->write_lo, m->addr);
		txs->write_hi = max(txs->write_hi, m->addr + m->length);
	}
	txs->msn_end++;
	if (mroce_opinfo[m->opcode].payload) {
		txs->backlog += m->length;
		txs->tx->backlog += m->length;
	}
	mroce_txs_kick(txs);
	return m;
}

struct mroce_msg *mroce_txs_msg(struct mroce_txs *txs, u32 msn)
{
	return msn - txs->msn_una < txs->msn_end - txs->msn_una ? msg_at(txs, msn) : NULL;
}

struct mroce_msg *mroce_txs_msg_of(const struct mroce_txs *txs, u32 spn)
{
	u32 low = txs->msn_una, high = txs->msn_nxt;

	while (low != high) {
		u32 mid = low + (high - low) / 2;
		struct mroce_msg *m = msg_at(txs, mid);

		if (mroce_seq_before(spn, m->first))
			high = mid;
		else if (spn - m->first >= m->packets)
			low = mid + 1;
		else
			return m;
	}
	return NULL;
}

static bool answered(const struct mroce_msg *m)
{
	return mroce_opinfo[m->opcode].answered;
}

/* Bitmaps for [una, una + window): one allocation for both, kept until the half is idle. */
static bool have_bitmaps(struct mroce_txs *txs)
{
	if (txs->acked)
		return true;
	txs->acked = kcalloc(2 * BITS_TO_LONGS(txs->window), sizeof(long),
			     GFP_ATOMIC | __GFP_NOWARN);
	if (!txs->acked)
		return false;
	txs->lost = txs->acked + BITS_TO_LONGS(txs->window);
	txs->wmask = txs->window - 1;
	txs->tx->grown = true;
	return true;
}

/* Without packets on their way no bit is set. */
void mroce_txs_shrink(struct mroce_txs *txs)
{
	if (mroce_txs_idle(txs) && txs->una == txs->nxt && !txs->busy)
		free_bitmaps(txs);
}

/* Is message @m, or a continuation of it, without a receive buffer? */
static bool without_credit(const struct mroce_txs *txs, const struct mroce_msg *m)
{
	return mroce_opinfo[m->opcode].receive && txs->credit != MROCE_CREDIT_NONE &&
	       mroce_seq_diff(m->rsn, txs->credit) >= 0;
}

/* May the next message be begun? */
static bool may_start(const struct mroce_txs *txs)
{
	const struct mroce_msg *m = msg_at(txs, txs->msn_nxt);

	if (txs->msn_nxt == txs->msn_end ||
	    (txs->failed && !mroce_seq_before(txs->msn_nxt, txs->fail_msn)))
		return false;
	if (txs->msn_nxt - txs->msn_una >= txs->window_msgs)
		return false;
	if (m->note & MROCE_MSG_FENCE && txs->reads_out)
		return false;
	return !answered(m) || txs->reads_out < txs->reads_max;
}

static void cut(struct mroce_txs *txs)
{
	struct mroce_msg *m = msg_at(txs, txs->msn_nxt);

	m->psize = txs->tx->max_payload;
	m->packets = mroce_packets(m->opcode, m->length, m->psize);
	m->first = txs->nxt;
	txs->end = txs->nxt + m->packets;
	txs->msn_nxt++;
	if (answered(m)) {
		m->note |= MROCE_MSG_COUNTED;
		txs->reads_out++;
	}
}

/* Packets [@spn, @spn + @count) of @m go out. */
static void fill(struct mroce_txs *txs, struct mroce_msg *m, u32 spn, u32 count,
		 struct mroce_xmit *x)
{
	const struct mroce_opinfo *info = &mroce_opinfo[m->opcode];
	u32 index = spn - m->first, offset = index * m->psize;

	/* not the whole of *x: its largest part is a HELLO's */
	x->kind = MROCE_XMIT_DATA;
	x->resend = false;
	x->count = count;
	x->bytes = 0;
	x->txs = txs;
	x->msg = m;
	x->data = (struct mroce_data){
		.addr = m->addr,
		.stream = txs->peer_id,
		.spn = spn,
		.msn = m->msn,
		.rsn = m->rsn,
		.offset = offset,
		.length = m->length,
		.rkey = m->rkey,
		.imm = m->imm,
		.floor = txs->floor ? READ_ONCE(*txs->floor) : 0,
		.psize = m->psize,
		.opcode = m->opcode,
		.flags = m->flags | (txs->response ? MROCE_F_RESPONSE : 0),
	};
	if (info->fixed)
		x->bytes = info->fixed;
	else if (info->payload)
		x->bytes = min(m->length - offset, count * m->psize);
	if (is_write(m->opcode))
		x->data.addr += offset;
	if (info->response) {
		/* the source is the responder's business */
		x->data.addr = 0;
		x->data.rkey = 0;
	}
	if (index == 0)
		x->data.flags |= MROCE_F_FIRST;
	if (index + count == m->packets)
		x->data.flags |= MROCE_F_LAST;
	m->note |= MROCE_MSG_STARTED;
	m->busy++;
	txs->busy++;
	txs->out += count;
}

/*
 * Packets that fit into @room bytes of window and one train; at least
 * one, for the path has been found to have room.
 */
static u32 train_of(const struct mroce_txs *txs, const struct mroce_msg *m, u32 room, u16 passes)
{
	u32 train = txs->train ? min(txs->train, txs->tx->train) : txs->tx->train;
	u32 n = min(room / (m->psize + MROCE_OVERHEAD), train / m->psize);

	/* as IP fragments, one by one */
	if (unlikely(m->psize > passes))
		return 1;
	return clamp(n, 1U, (u32)MROCE_TRAIN_MAX);
}

static bool next_lost(struct mroce_txs *txs, u32 room, u16 passes, struct mroce_xmit *x)
{
	struct mroce_msg *m;
	u32 spn, bit, count, most;

	if (mroce_seq_before(txs->lost_from, txs->una))
		txs->lost_from = txs->una;
	/*
	 * all lie in [lost_from, nxt), less than a window: the first
	 * found going once around the bitmap is the lowest
	 */
	bit = find_next_bit(txs->lost, txs->wmask + 1, txs->lost_from & txs->wmask);
	if (bit > txs->wmask)
		bit = find_first_bit(txs->lost, txs->wmask + 1);
	if (WARN_ON_ONCE(bit > txs->wmask)) {
		txs->nlost = 0;
		return false;
	}
	spn = txs->lost_from + ((bit - txs->lost_from) & txs->wmask);
	txs->lost_from = spn;
	if (mroce_txs_paused_at(txs, spn))
		return false;
	m = mroce_txs_msg_of(txs, spn);
	if (WARN_ON_ONCE(!m) || (txs->failed && !mroce_seq_before(m->msn, txs->fail_msn)))
		return false;
	most = min(train_of(txs, m, room, passes), m->packets - (spn - m->first));
	for (count = 0; count < most; count++)
		if (!__test_and_clear_bit((spn + count) & txs->wmask, txs->lost))
			break;
	txs->nlost -= count;
	txs->lost_from = spn + count;
	fill(txs, m, spn, count, x);
	x->resend = true;
	return true;
}

static bool next_new(struct mroce_txs *txs, u32 room, u16 passes, struct mroce_xmit *x)
{
	struct mroce_msg *m;
	u32 count, left;

	if (txs->paused || txs->nxt - txs->una >= txs->window)
		return false;
	if (txs->nxt == txs->end) {
		if (!may_start(txs))
			return false;
		if (!have_bitmaps(txs)) {
			txs->tx->starved = true;
			return false;
		}
		m = msg_at(txs, txs->msn_nxt);
	} else {
		m = msg_at(txs, txs->msn_nxt - 1);
		if (txs->failed && !mroce_seq_before(m->msn, txs->fail_msn))
			return false;
	}
	/* without credit one packet may ask, when nothing else of the stream is on its way */
	if (without_credit(txs, m) && (txs->out || txs->una != txs->nxt))
		return false;
	if (txs->nxt == txs->end)
		cut(txs);
	count = min(train_of(txs, m, room, passes), txs->window - (txs->nxt - txs->una));
	count = min(count, txs->end - txs->nxt);
	if (without_credit(txs, m))
		count = 1;
	fill(txs, m, txs->nxt, count, x);
	txs->nxt += count;
	if (mroce_opinfo[m->opcode].payload) {
		left = min_t(u64, x->bytes, txs->backlog);
		txs->backlog -= left;
		txs->tx->backlog -= left;
	}
	return true;
}

int mroce_txs_next(struct mroce_txs *txs, u32 room, u16 passes, u64 now, struct mroce_xmit *x)
{
	if (txs->state == MROCE_TXS_OPENING) {
		if (txs->open_at > now)
			return 0;
		txs->open_at = now + txs->open_wait;
		txs->open_wait = min_t(u64, txs->open_wait * 2ULL, OPEN_WAIT_LAST);
		mroce_txs_want(txs, txs->open_at);
		txs->open.attempt++;
		*x = (struct mroce_xmit){
			.kind = MROCE_XMIT_OPEN,
			.count = 1,
			.txs = txs,
			.open = txs->open,
		};
		return 1;
	}
	if (txs->state != MROCE_TXS_OPEN && txs->state != MROCE_TXS_FAILED)
		return 0;
	if (txs->paused && txs->resume_at <= now)
		mroce_txs_resume(txs, now);
	if (txs->nlost && next_lost(txs, room, passes, x))
		return 1;
	return txs->peer_id && next_new(txs, room, passes, x);
}

/* Would mroce_txs_next() find something, windows of paths aside? */
bool mroce_txs_more(const struct mroce_txs *txs)
{
	if (txs->nlost && !mroce_txs_paused_at(txs, txs->lost_from))
		return true;
	if (txs->paused || txs->nxt - txs->una >= txs->window)
		return false;
	return txs->nxt != txs->end || may_start(txs);
}

bool mroce_txs_dry(const struct mroce_txs *txs)
{
	return txs->state == MROCE_TXS_OPEN && !txs->nlost && txs->nxt == txs->end &&
	       txs->msn_nxt == txs->msn_end;
}

bool mroce_txs_last(const struct mroce_txs *txs)
{
	return txs->state == MROCE_TXS_OPEN && !txs->nlost && txs->end - txs->nxt == 1;
}

bool mroce_txs_small(const struct mroce_txs *txs, u32 left)
{
	const struct mroce_msg *m = msg_at(txs, txs->msn_nxt);
	const struct mroce_opinfo *info = &mroce_opinfo[m->opcode];

	if (txs->state != MROCE_TXS_OPEN || txs->nlost || txs->nxt != txs->end ||
	    !mroce_txs_more(txs) || without_credit(txs, m))
		return false;
	return (info->payload ? m->length : info->fixed) <= min_t(u32, left, txs->tx->max_payload);
}

static bool is_complete(const struct mroce_txs *txs, const struct mroce_msg *m)
{
	return txs->msn_una != txs->msn_nxt && !m->busy &&
	       mroce_seq_diff(txs->una, m->first + m->packets) >= 0 &&
	       (!answered(m) || m->note & MROCE_MSG_RESPONDED);
}

bool mroce_txs_is_failed(const struct mroce_txs *txs)
{
	return txs->failed && txs->msn_una == txs->fail_msn && !(txs->tx && txs->busy);
}

/*
 * Puts the stream before the caller if a message is complete or the
 * failed one's turn has come; and to its peers' turn if it may send.
 */
void mroce_txs_settle(struct mroce_txs *txs)
{
	if (!txs->tx)
		return;
	if (list_empty(&txs->done) &&
	    (mroce_txs_is_failed(txs) ||
	     (!mroce_txs_idle(txs) && is_complete(txs, msg_at(txs, txs->msn_una)))))
		list_add_tail(&txs->done, &txs->tx->done);
	mroce_txs_kick(txs);
}

struct mroce_msg *mroce_txs_complete(struct mroce_txs *txs)
{
	struct mroce_msg *m = msg_at(txs, txs->msn_una);

	if (mroce_txs_idle(txs) || (txs->failed && txs->msn_una == txs->fail_msn) ||
	    !is_complete(txs, m))
		return NULL;
	txs->msn_una++;
	if (mroce_txs_idle(txs))
		list_del_init(&txs->active);
	else
		mroce_txs_kick(txs);
	return m;
}

void mroce_txs_fail(struct mroce_txs *txs, u32 msn, enum mroce_reason reason, u8 nack)
{
	if (mroce_seq_before(msn, txs->msn_una))
		msn = txs->msn_una;
	if (txs->failed && !mroce_seq_before(msn, txs->fail_msn))
		return;
	txs->failed = true;
	txs->fail_msn = msn;
	txs->fail_reason = reason;
	txs->fail_nack = nack;
	set_state(txs, MROCE_TXS_FAILED);
	mroce_txs_settle(txs);
}

u64 mroce_txs_awaited(const struct mroce_txs *txs)
{
	const struct mroce_tx *tx = txs->tx;
	u64 until = 0;
	u32 i;

	if (!tx || !txs->out || tx->state != MROCE_TX_OPEN)
		return 0;
	for (i = 0; i < tx->npaths; i++) {
		const struct mroce_txpath *p = &tx->path[i];

		if (p->head != p->tail)
			until = max(until, mroce_path_owes(p) + 2 * mroce_path_pto(tx, p));
	}
	return until;
}

void mroce_txs_closed(struct mroce_txs *txs, u32 placed, u64 now)
{
	u32 msn;

	/* one that was refused at a later message may wait for answers that will not come */
	if (!txs->tx)
		return;
	mroce_txs_release(txs, placed, now);
	for (msn = txs->msn_una; msn != txs->msn_nxt; msn++) {
		const struct mroce_msg *m = msg_at(txs, msn);

		if (mroce_seq_diff(txs->una, m->first + m->packets) < 0 ||
		    (answered(m) && !(m->note & MROCE_MSG_RESPONDED)))
			break;
	}
	/* what is posted later is refused, or never answered */
	if (msn != txs->msn_end)
		mroce_txs_fail(txs, msn, MROCE_REASON_NAK_GONE, MROCE_N_GONE);
}

/* bits of @n numbers, 64 at most, from @spn on */
static u64 run_get(const struct mroce_txs *txs, const unsigned long *bits, u32 spn, u32 n)
{
	u32 bit = spn & txs->wmask, word = bit / 64, shift = bit % 64;
	u64 run = bits[word] >> shift;

	if (shift)
		run |= (u64)bits[(word + 1) & (txs->wmask / 64)] << (64 - shift);
	return run & GENMASK_ULL(n - 1, 0);
}

static void run_set(const struct mroce_txs *txs, unsigned long *bits, u32 spn, u32 n)
{
	u32 bit = spn & txs->wmask, word = bit / 64, shift = bit % 64;
	u64 run = GENMASK_ULL(n - 1, 0);

	bits[word] |= run << shift;
	if (shift)
		bits[(word + 1) & (txs->wmask / 64)] |= run >> (64 - shift);
}

void mroce_txs_acked(struct mroce_txs *txs, u32 spn, u64 now)
{
	u32 bit = spn & txs->wmask;

	if (spn - txs->una >= txs->nxt - txs->una || test_bit(bit, txs->acked))
		return;
	txs->progress_at = now;
	if (txs->refused && !txs->paused && mroce_seq_diff(spn, txs->pause_spn) >= 0) {
		/* what was refused has been taken: the next refusal is a new story */
		txs->refused = false;
		txs->rnr_left = txs->rnr_retry;
		txs->nack_doublings = 0;
	}
	if (__test_and_clear_bit(bit, txs->lost))
		txs->nlost--;
	__set_bit(bit, txs->acked);
	txs->nacked++;
	if (spn != txs->una)
		return;
	while (txs->una != txs->nxt && __test_and_clear_bit(txs->una & txs->wmask, txs->acked)) {
		txs->una++;
		txs->nacked--;
	}
	if (txs->paused && mroce_txs_by_floor(txs->pause_reason))
		mroce_txs_resume(txs, now);
	mroce_txs_settle(txs);
}

void mroce_txs_acked_run(struct mroce_txs *txs, u32 spn, u32 n, u64 now)
{
	/* the oldest, and nothing after it acknowledged, lost or refused: no bit tells of them */
	if (spn == txs->una && n <= txs->nxt - spn && !txs->nacked && !txs->nlost &&
	    !txs->refused && !txs->paused) {
		txs->progress_at = now;
		txs->una += n;
		mroce_txs_settle(txs);
		return;
	}
	if (n > 64 || spn - txs->una >= txs->nxt - txs->una || n > txs->nxt - spn ||
	    txs->nlost || txs->refused || txs->paused || run_get(txs, txs->acked, spn, n)) {
		while (n--)
			mroce_txs_acked(txs, spn++, now);
		return;
	}
	/* news all of it, and of nothing that would be sent again */
	txs->progress_at = now;
	if (spn != txs->una) {
		run_set(txs, txs->acked, spn, n);
		txs->nacked += n;
		return;
	}
	txs->una += n;
	while (txs->nacked && __test_and_clear_bit(txs->una & txs->wmask, txs->acked)) {
		txs->una++;
		txs->nacked--;
	}
	mroce_txs_settle(txs);
}

void mroce_txs_lost(struct mroce_txs *txs, u32 spn)
{
	u32 bit = spn & txs->wmask;

	if (spn - txs->una >= txs->nxt - txs->una || test_bit(bit, txs->acked) ||
	    __test_and_set_bit(bit, txs->lost))
		return;
	if (!txs->nlost++ || mroce_seq_before(spn, txs->lost_from))
		txs->lost_from = spn;
	mroce_txs_kick(txs);
}

void mroce_txs_release(struct mroce_txs *txs, u32 spn, u64 now)
{
	/* by distance: half the numbers away is neither before nor after */
	if (!txs->acked || spn - txs->una > txs->nxt - txs->una)
		return;
	while (mroce_seq_before(txs->una, spn))
		mroce_txs_acked(txs, txs->una, now);
}

void mroce_txs_released(struct mroce_txs *txs, u32 floor, u64 now)
{
	mroce_txs_release(txs, floor, now);
}

bool mroce_txs_responded(struct mroce_txs *txs, u32 msn, u8 nack, u64 now)
{
	struct mroce_msg *m = mroce_txs_msg(txs, msn);

	if (!m || !(m->note & MROCE_MSG_COUNTED) || m->note & MROCE_MSG_RESPONDED)
		return false;
	m->note |= MROCE_MSG_RESPONDED;
	txs->reads_out--;
	txs->progress_at = now;
	if (nack != MROCE_N_NONE)
		mroce_txs_fail(txs, msn, MROCE_REASON_NONE, nack);
	/* the cursor over there has passed it: so everything up to it is placed */
	mroce_txs_release(txs, m->first + m->packets, now);
	mroce_txs_settle(txs);
	return true;
}
