// SPDX-License-Identifier: GPL-2.0
/*
 * The sending half as a whole: its handshake, its end, and the choice of what to send
 * next and by which path. Pure; the half's lock is the caller's.
 *
 * Order of sending: HELLO, probes, control, then streams: responses before requests, each
 * space in deficit round robin by bytes; within a stream what was lost before what is new.
 */
#include "tx.h"

#define HELLO_WAIT_FIRST	(1 * MROCE_MSEC)
#define HELLO_WAIT_LAST		(100 * MROCE_MSEC)
#define STARVED_WAIT		(10 * MROCE_MSEC)	/* until memory is asked for again */
#define QUANTUM			61440	/* bytes of a stream's turn */
#define ASK_LEAST		10000U	/* ns between ACKs asked for that can wait */
#define PATH_CHOICES		3	/* paths with room that are compared */
#define STREAM_CHOICES	16	/* streams without room by their own choice that are passed */
#define BURDEN_NOISE		10000	/* ns by which paths differ for no reason */
#define BURDEN_LIFE		5	/* as a shift: 32 times what it says without being used */
/* deadlines are of 500 ms and more: streams that ask for nothing are looked through so often */
#define STREAMS_LOOK		(20 * MROCE_MSEC)

static void set_state(struct mroce_tx *tx, enum mroce_tx_state state)
{
	static const u8 legal[] = {
		[MROCE_TX_IDLE] = BIT(MROCE_TX_HELLO) | BIT(MROCE_TX_DEAD),
		[MROCE_TX_HELLO] = BIT(MROCE_TX_OPEN) | BIT(MROCE_TX_DEAD),
		[MROCE_TX_OPEN] = BIT(MROCE_TX_DEAD),
		[MROCE_TX_DEAD] = 0,
	};

	WARN_ON_ONCE(!(legal[tx->state] & BIT(state)));
	tx->state = state;
}

int mroce_tx_init(struct mroce_tx *tx, u64 own_id, u8 npaths, u32 train)
{
	u32 i;

	memset(tx, 0, sizeof(*tx));
	tx->own_id = own_id;
	tx->npaths = clamp_t(u8, npaths, 1, MROCE_MAX_PATHS);
	tx->nplanes = 1;
	tx->train = train;
	tx->timer = MROCE_NEVER;
	tx->streams_at = MROCE_NEVER;
	tx->path = kcalloc(tx->npaths, sizeof(*tx->path), GFP_KERNEL_ACCOUNT);
	if (!tx->path)
		return -ENOMEM;
	for (i = 0; i < tx->npaths; i++)
		mroce_path_init(tx, &tx->path[i], i);
	for (i = 0; i < MROCE_MAX_PLANES; i++)
		tx->plane[i].slot = i;
	INIT_LIST_HEAD(&tx->streams);
	INIT_LIST_HEAD(&tx->ready[0]);
	INIT_LIST_HEAD(&tx->ready[1]);
	INIT_LIST_HEAD(&tx->done);
	INIT_LIST_HEAD(&tx->active);
	return 0;
}

void mroce_tx_free(struct mroce_tx *tx)
{
	u32 i;

	WARN_ON_ONCE(tx->path && !list_empty(&tx->streams));
	for (i = 0; tx->path && i < tx->npaths; i++)
		mroce_path_free(&tx->path[i]);
	kfree(tx->path);
	tx->path = NULL;
}

void mroce_tx_shrink(struct mroce_tx *tx, u64 now)
{
	struct mroce_txs *txs;
	bool quiet = true;
	u32 i;

	for (i = 0; i < tx->npaths; i++)
		quiet &= mroce_path_shrink(&tx->path[i], now);
	if (!quiet)
		return;
	tx->grown = false;
	list_for_each_entry(txs, &tx->streams, node)
		mroce_txs_shrink(txs);
}

static void say_hello(struct mroce_tx *tx, u64 now)
{
	tx->hello_wanted = true;
	tx->hello_at = now;
	tx->hello_since = now;
	tx->hello_wait = HELLO_WAIT_FIRST;
}

void mroce_tx_connect(struct mroce_tx *tx, const struct mroce_hello *hello, u64 now)
{
	tx->hello = *hello;
	tx->hello.own_id = tx->own_id;
	tx->hello.base = (struct mroce_base){
		.version = MROCE_WIRE_VERSION,
		.type = MROCE_T_HELLO,
	};
	say_hello(tx, now);
	set_state(tx, MROCE_TX_HELLO);
}

static bool cookie_is_new(const struct mroce_tx *tx, const struct mroce_hello *ack)
{
	return memcmp(tx->hello.cookie, ack->cookie, sizeof(ack->cookie));
}

/*
 * No, in words, or by packets so small that a peer could make us cut every message into as many
 * as it likes.
 */
static bool refuses(const struct mroce_tx *tx, const struct mroce_hello *ack)
{
	if (ack->flags & (MROCE_H_REFUSED | MROCE_H_COOKIE))
		return ack->flags & MROCE_H_REFUSED;
	return ack->max_payload < min_t(u16, tx->hello.max_payload, MROCE_PAYLOAD_MIN);
}

int mroce_tx_hello_ack(struct mroce_tx *tx, const struct mroce_hello *ack, u64 now)
{
	struct mroce_txs *txs;
	u32 i;

	if (!tx->hello_wanted || ack->base.id != tx->own_id || ack->nonce != tx->hello.nonce ||
	    tx->state == MROCE_TX_IDLE || tx->state == MROCE_TX_DEAD)
		return -ENOENT;
	if (refuses(tx, ack)) {
		/*
		 * an open half is not ended by one answer that
		 * anybody on the path could have written
		 */
		if (tx->state == MROCE_TX_OPEN)
			return -ENOENT;
		mroce_tx_kill(tx, MROCE_REASON_ERR_REFUSED);
		return -ECONNREFUSED;
	}
	if (ack->flags & MROCE_H_COOKIE) {
		if (!cookie_is_new(tx, ack))
			return -ENOENT;
		memcpy(tx->hello.cookie, ack->cookie, sizeof(ack->cookie));
		tx->hello_at = now;
		return 1;
	}
	if (!ack->own_id || !ack->npaths)
		return -ENOENT;
	tx->hello_wanted = false;
	if (tx->state == MROCE_TX_OPEN) {
		if (ack->instance != tx->instance) {
			mroce_tx_kill(tx, MROCE_REASON_ERR_PEER_RESET);
			return -ESTALE;
		}
		if (ack->own_id != tx->peer_id) {
			tx->peer_id = ack->own_id;
			for (i = 0; i < tx->npaths; i++)
				mroce_path_restart(tx, &tx->path[i], now);
		}
		return 0;
	}
	tx->peer_id = ack->own_id;
	tx->instance = ack->instance;
	tx->agreed = min(tx->hello.max_payload, ack->max_payload);
	tx->max_payload = tx->agreed;
	while (tx->npaths > ack->npaths) {
		struct mroce_txpath *p = &tx->path[--tx->npaths];

		/* one that failed has left already */
		if (p->state == MROCE_PATH_ACTIVE)
			mroce_plane_leave(tx, p);
	}
	for (i = 0; i < tx->npaths; i++) {
		tx->path[i].size = tx->agreed;
		mroce_cc_init(tx, &tx->path[i]);
		/*
		 * a HELLO that was answered at once is a round-trip
		 * sample; a repeated one could be either's answer
		 */
		if (tx->hello_wait == 2 * HELLO_WAIT_FIRST)
			mroce_path_rtt(tx, &tx->path[i], now - tx->hello_since);
	}
	set_state(tx, MROCE_TX_OPEN);
	list_for_each_entry(txs, &tx->streams, node) {
		txs->progress_at = now;	/* what OPEN waits for is another round trip */
		mroce_txs_kick(txs);
	}
	return 0;
}

bool mroce_tx_reset(struct mroce_tx *tx, const struct mroce_reset *reset, u64 nonce, u64 now)
{
	if (tx->state != MROCE_TX_OPEN || tx->hello_wanted || reset->base.id != tx->peer_id ||
	    reset->base.path >= tx->npaths ||
	    !mroce_path_outstanding(&tx->path[reset->base.path], reset->base.number))
		return false;
	tx->hello.nonce = nonce;
	tx->hello.flags |= MROCE_H_RESTART;
	say_hello(tx, now);
	return true;
}

void mroce_tx_announce(struct mroce_tx *tx, const struct mroce_hello *hello, u64 now)
{
	if (tx->state != MROCE_TX_HELLO && tx->state != MROCE_TX_OPEN)
		return;
	tx->hello.nplanes = hello->nplanes;
	tx->hello.serial = hello->serial;
	memcpy(tx->hello.plane, hello->plane, sizeof(tx->hello.plane));
	if (tx->hello_wanted)
		return;
	tx->hello.nonce = hello->nonce;
	tx->hello.flags &= ~MROCE_H_RESTART;
	say_hello(tx, now);
}

void mroce_tx_kill(struct mroce_tx *tx, enum mroce_reason reason)
{
	struct mroce_txs *txs;

	if (tx->state == MROCE_TX_DEAD)
		return;
	set_state(tx, MROCE_TX_DEAD);
	tx->dead_reason = reason;
	tx->hello_wanted = false;
	list_for_each_entry(txs, &tx->streams, node)
		mroce_txs_fail(txs, txs->msn_una, reason, MROCE_N_NONE);
}

int mroce_tx_control(struct mroce_tx *tx, u8 op, u32 stream, u32 value)
{
	struct mroce_ctl *free = NULL;
	u32 i;

	for (i = 0; i < MROCE_MAX_CTL; i++) {
		struct mroce_ctl *c = &tx->ctl[i];

		/* a later CREDIT of the same stream replaces one that still waits */
		if (c->used && c->queued && c->op == op && c->stream == stream) {
			c->value = value;
			return 0;
		}
		if (!c->used && !free)
			free = c;
	}
	if (!free)
		return -ENOSPC;
	*free = (struct mroce_ctl){
		.op = op,
		.stream = stream,
		.value = value,
		.used = true,
		.queued = true,
	};
	tx->nctl++;
	return 0;
}

struct mroce_txs *mroce_tx_find(struct mroce_tx *tx, u32 own_id, bool response)
{
	struct mroce_txs *txs;

	if (tx->find)
		return tx->find(tx, own_id, response);
	list_for_each_entry(txs, &tx->streams, node)
		if (txs->own_id == own_id && txs->response == response)
			return txs;
	return NULL;
}

static struct mroce_base base_of(const struct mroce_tx *tx, const struct mroce_txpath *p, u8 type)
{
	return (struct mroce_base){
		.version = MROCE_WIRE_VERSION,
		.type = type,
		.path = p->index,
		.epoch = p->epoch,
		.number = p->next,
		.id = tx->peer_id,
	};
}

static u32 stamp_of(u64 now)
{
	return (u32)(now >> MROCE_STAMP_SHIFT);
}

static bool pick_hello(struct mroce_tx *tx, u64 now, struct mroce_xmit *x)
{
	u8 early;

	if (tx->hello_at > now) {
		mroce_tx_want(tx, tx->hello_at);
		return false;
	}
	*x = (struct mroce_xmit){
		.kind = MROCE_XMIT_HELLO,
		.path = tx->turn % tx->npaths,
		.count = 1,
		.hello = tx->hello,
	};
	/*
	 * up to a quarter earlier, by a byte of what is random: those who begin at once shall not
	 * go on so
	 */
	early = tx->own_id >> 8 * (tx->turn % 8);
	tx->hello_at = now + tx->hello_wait - (tx->hello_wait * early >> 10);
	tx->turn++;
	tx->hello_wait = min_t(u64, tx->hello_wait * 2ULL, HELLO_WAIT_LAST);
	mroce_tx_want(tx, tx->hello_at);
	return true;
}

static void fill_control(struct mroce_tx *tx, struct mroce_txpath *p, u64 now, struct mroce_xmit *x)
{
	x->path = p->index;
	x->plane = p->plane;
	x->passes = p->size;
	x->count = 1;
	x->control.base = base_of(tx, p, x->kind == MROCE_XMIT_PROBE ? MROCE_T_PROBE :
									  MROCE_T_CONTROL);
	x->control.flags = MROCE_F_ACKREQ;
	x->control.stamp = stamp_of(now);
	x->ect = p->ecn != MROCE_ECN_OFF;
}

static bool pick_probe(struct mroce_tx *tx, u64 now, struct mroce_xmit *x)
{
	u32 i;

	if (!tx->probing)
		return false;
	for (i = 0; i < tx->npaths; i++) {
		struct mroce_txpath *p = &tx->path[i];

		if (!p->probes)
			continue;
		if (p->down || !mroce_path_reserve(tx, p)) {
			p->probes = 0;
			continue;
		}
		*x = (struct mroce_xmit){ .kind = MROCE_XMIT_PROBE };
		fill_control(tx, p, now, x);
		x->control.op = MROCE_C_PROBE;
		x->control.length = mroce_path_probe(tx, p, now);
		mroce_path_record(tx, p, x, now);
		return true;
	}
	tx->probing = false;
	return false;
}

/* What speaks against a path; what was learned long ago does not. */
static u32 burden(const struct mroce_txpath *p, u64 now)
{
	return now - p->last_sent > (u64)p->burden << BURDEN_LIFE ? 0 : p->burden;
}

static bool lighter(const struct mroce_txpath *a, const struct mroce_txpath *b, u64 now)
{
	u32 x = burden(a, now);

	return x + x / 4 + BURDEN_NOISE < burden(b, now);
}

/* No path is ACTIVE: the best stays usable (rule 14). */
static struct mroce_txpath *last_resort(struct mroce_tx *tx, bool any, u32 *room)
{
	struct mroce_txpath *best = mroce_path_best(tx);

	*room = mroce_packet_cost(tx);
	if (!best ||
	    (!any && best->inflight + *room > max(best->cwnd, 2 * *room)))
		return NULL;
	return mroce_path_reserve(tx, best) ? best : NULL;
}

/*
 * What fills the path's window should have been answered. If one packet is all that the window
 * holds, nothing behind it shows that it is lost: one more does, before the timeout, which counts
 * from the oldest all the same. Another one only as long after that.
 */
static bool answer_is_late(const struct mroce_txpath *p, u64 now)
{
	u64 since = max(p->last_sent, p->last_ack);

	return p->srtt && p->head != p->tail &&
	       now - since > p->srtt + p->srtt / 4 + (p->asked ? 0 : MROCE_ACK_DELAY);
}

static bool on_plane(const struct mroce_tx *tx, const struct mroce_txs *txs,
		     const struct mroce_txpath *p)
{
	return txs->planes & BIT(tx->plane[p->plane].slot);
}

/*
 * Does the stream go by this path? If only by a few, by the first of those on its planes; streams
 * begin each at another.
 */
static bool goes_by(const struct mroce_tx *tx, const struct mroce_txs *txs,
		    const struct mroce_txpath *p)
{
	u32 i, before = 0;

	if (likely(!txs->choosy))
		return true;
	if (!on_plane(tx, txs, p))
		return false;
	if (!txs->npaths)
		return true;
	for (i = txs->own_id % tx->npaths; i != p->index && before < txs->npaths;
	     i = i + 1 < tx->npaths ? i + 1 : 0)
		before += on_plane(tx, txs, &tx->path[i]);
	return before < txs->npaths;
}

/*
 * A path that may carry data, with *@room bytes of window: the lightest of the next few in turn
 * that have room. @any: for control, which no window holds back. @by: a stream that chooses, or
 * NULL; if all of what it has chosen has failed it goes by any.
 */
static struct mroce_txpath *choose_path(struct mroce_tx *tx, const struct mroce_txs *by, bool any,
					u64 now, u32 *room)
{
	u32 ready[MROCE_MAX_PLANES], r, i, at = tx->turn, found = 0, full = 0, planes = 0;
	struct mroce_txpath *best = NULL, *p;
	bool active = false, suspect = false, others = false;

	for (i = 0; i < tx->nplanes; i++)
		ready[i] = any ? U32_MAX : mroce_plane_ready(tx, &tx->plane[i], now);
	for (i = 0; i < tx->npaths && found < PATH_CHOICES; i++, at++) {
		if (at >= tx->npaths)
			at = 0;
		p = &tx->path[at];
		if (by && !goes_by(tx, by, p)) {
			others |= p->state == MROCE_PATH_ACTIVE;
			continue;
		}
		suspect |= p->state == MROCE_PATH_SUSPECT;
		if (p->state != MROCE_PATH_ACTIVE)
			continue;
		active = true;
		if (!ready[p->plane])
			continue;
		r = any ? U32_MAX : mroce_path_room(tx, p);
		if (!r && answer_is_late(p, now))
			r = mroce_path_lent(tx, p);
		if (!r) {
			full |= BIT(p->plane);
			continue;
		}
		if (!mroce_path_reserve(tx, p))
			continue;
		planes |= BIT(p->plane);
		found++;
		if (best && !lighter(p, best, now))
			continue;
		best = p;
		*room = min(r, ready[p->plane]);
		/* none is lighter() than this */
		if (burden(p, now) <= BURDEN_NOISE)
			break;
	}
	/* a plane of which no path has room is full: windows hold it back, not the share */
	for (full &= ~planes; full; full &= full - 1) {
		tx->plane[__ffs(full)].full_at = now;
		tx->plane[__ffs(full)].held_back = true;
	}
	/* what has not answered yet will soon be known to have failed, or not */
	if (best || active || (suspect && others))
		return best;
	return by ? choose_path(tx, NULL, any, now, room) : last_resort(tx, any, room);
}

/*
 * The last packet of a message goes where the train before it went, whatever the path's window, if
 * its plane has room: the two have one path's ACK then, and not one of each.
 */
static struct mroce_txpath *stay(struct mroce_tx *tx, const struct mroce_txs *txs, u64 now,
				 u32 *room)
{
	struct mroce_txpath *p = &tx->path[tx->tail_path];
	struct mroce_tx_plane *pl = &tx->plane[p->plane];
	u32 cost = mroce_packet_cost(tx);

	if (txs != tx->tail || !mroce_txs_last(txs) || p->state != MROCE_PATH_ACTIVE ||
	    pl->inflight + cost > pl->window || !mroce_plane_ready(tx, pl, now))
		return NULL;
	*room = cost;
	return mroce_path_reserve(tx, p) ? p : NULL;
}

static bool pick_control(struct mroce_tx *tx, u64 now, struct mroce_xmit *x)
{
	struct mroce_txpath *p;
	u32 i, n, room;

	if (!tx->nctl)
		return false;
	p = choose_path(tx, NULL, true, now, &room);
	if (!p)
		return false;
	for (i = 0; i < MROCE_MAX_CTL; i++) {
		n = (tx->ctl_turn + i) % MROCE_MAX_CTL;
		if (tx->ctl[n].queued)
			break;
	}
	if (WARN_ON_ONCE(i == MROCE_MAX_CTL)) {
		tx->nctl = 0;
		return false;
	}
	tx->ctl_turn = n + 1;
	tx->ctl[n].queued = false;
	tx->nctl--;
	*x = (struct mroce_xmit){ .kind = MROCE_XMIT_CONTROL };
	fill_control(tx, p, now, x);
	x->control.op = tx->ctl[n].op;
	x->control.stream = tx->ctl[n].stream;
	x->control.value = tx->ctl[n].value;
	mroce_path_record(tx, p, x, now)->control = n;
	return true;
}

static bool runs_dry(const struct mroce_tx *tx, const struct mroce_txs *txs)
{
	return list_is_singular(&tx->ready[!txs->response]) &&
	       list_empty(&tx->ready[txs->response]) && !mroce_txs_more(txs);
}

/*
 * Shall the last packet of this transmission ask for an ACK? If nothing can be sent before one
 * comes, or if nothing follows and somebody waits for it (rule 15). A requester waits for the
 * response and not for the ACK of its request, and nobody waits for that of a response. What is
 * not asked for comes after the receiver's delay, many in one datagram.
 */
static bool wants_ack(struct mroce_tx *tx, const struct mroce_txpath *p,
		      const struct mroce_xmit *x, bool dry, u64 now)
{
	struct mroce_tx_plane *pl = &tx->plane[p->plane];

	if (pl->inflight + mroce_packet_cost(tx) > pl->window) {
		pl->full_at = now;
		return true;
	}
	if ((pl->idle && !pl->left) || pl->drain_until)
		return true;
	/* of much that is spread over many paths each would wait for its own ACK */
	if (tx->backlog >= 4 * tx->max_payload && now - pl->asked_at >= max(p->srtt / 2, ASK_LEAST))
		return true;
	return !x->txs->response && !(x->msg->note & MROCE_MSG_LAZY) &&
	       !mroce_opinfo[x->msg->opcode].answered && dry;
}

static bool is_whole(const struct mroce_xmit *x)
{
	return x->kind == MROCE_XMIT_DATA && x->count == 1 &&
	       !(~x->data.flags & (MROCE_F_FIRST | MROCE_F_LAST));
}

/* What a stream gave goes by @p: the rest of its header, its record, and what it costs. */
static void send_by(struct mroce_tx *tx, struct mroce_txpath *p, u64 now, struct mroce_xmit *x)
{
	const u32 cost = x->bytes + x->count * MROCE_OVERHEAD;
	struct mroce_tx_plane *pl = &tx->plane[p->plane];
	struct mroce_txs *txs = x->txs;
	bool dry = false, ask;

	x->path = p->index;
	x->plane = p->plane;
	x->passes = p->size;
	x->more = false;
	if (unlikely(p->size < tx->agreed))
		mroce_path_retry_size(tx, p, now);
	if (x->kind == MROCE_XMIT_OPEN) {
		x->open.base = base_of(tx, p, MROCE_T_OPEN);
		x->open.flags = MROCE_F_ACKREQ;
		x->open.stamp = stamp_of(now);
	} else {
		x->data.base = base_of(tx, p, MROCE_T_DATA);
		x->data.stamp = stamp_of(now);
		x->data.backlog = min_t(u64, DIV_ROUND_UP_ULL(tx->backlog, 1024), U32_MAX);
		x->fragment = x->data.psize > p->size && x->bytes > p->size;
		dry = runs_dry(tx, txs);
		x->more = is_whole(x) && !x->fragment && !dry;
		tx->stats.packets += x->count;
		tx->stats.bytes += x->bytes;
		if (x->resend)
			tx->stats.resent += x->count;
	}
	if (!pl->inflight)
		pl->asked_at = now;
	mroce_path_record(tx, p, x, now);
	mroce_plane_spend(pl, cost, now);
	x->ect = p->ecn != MROCE_ECN_OFF;
	if (x->kind == MROCE_XMIT_DATA) {
		if (pl->held_back)
			x->data.flags |= MROCE_F_HELD_BACK;
		ask = wants_ack(tx, p, x, dry, now);
		if (ask) {
			x->data.flags |= MROCE_F_ACKREQ;
			pl->asked_at = now;
		}
		if (ask != p->asked) {
			p->asked = ask;
			/* a SUSPECT one waits for the end of its round */
			if (p->state == MROCE_PATH_ACTIVE)
				mroce_path_arm(tx, p);
		}
	}
	txs->deficit -= cost;
	if (txs->deficit <= 0) {
		txs->deficit += QUANTUM * txs->weight;
		list_move_tail(&txs->ready, &tx->ready[!txs->response]);
	}
	tx->turn = p->index + 1 < tx->npaths ? p->index + 1 : 0;
	tx->tail = x->kind == MROCE_XMIT_DATA && x->count > 1 && mroce_txs_last(txs) ? txs : NULL;
	tx->tail_path = p->index;
}

/* The first that is not through with all that was posted. */
static struct mroce_txs *next_stream(struct list_head *ready)
{
	struct mroce_txs *txs;

	while ((txs = list_first_entry_or_null(ready, struct mroce_txs, ready)) &&
	       mroce_txs_dry(txs))
		list_del_init(&txs->ready);
	return txs;
}

/*
 * The next stream, *@txs, and its path; NULL: there is none now. One that has no room by its own
 * choice lets others go first, a few of them, for this is under the half's lock. @have: the path of
 * another stream that had nothing for it after all, for any that does not choose, or NULL.
 */
static struct mroce_txpath *path_of_next(struct mroce_tx *tx, struct mroce_txpath *have, u64 now,
					 struct mroce_txs **txs, u32 *room)
{
	struct mroce_txs *t, *next;
	struct mroce_txpath *p;
	u32 i, passed;

	for (i = 0; i < 2; i++) {
		passed = 0;
		list_for_each_entry_safe(t, next, &tx->ready[i], ready) {
			if (mroce_txs_dry(t)) {
				list_del_init(&t->ready);
				continue;
			}
			*txs = t;
			if (have && !t->choosy)
				return have;
			p = stay(tx, t, now, room) ?:
			    choose_path(tx, t->choosy ? t : NULL, false, now, room);
			if (p || likely(!t->choosy))
				return p;
			list_move_tail(&t->ready, &tx->ready[i]);
			if (++passed == STREAM_CHOICES)
				break;
		}
	}
	return NULL;
}

static bool pick_stream(struct mroce_tx *tx, u64 now, struct mroce_xmit *x)
{
	struct mroce_txpath *p = NULL, *resend;
	struct mroce_txs *txs;
	u32 room, r;

	while ((p = path_of_next(tx, p, now, &txs, &room))) {
		/*
		 * what a path lost goes again on that path: it has
		 * the room, and its FIFO tells of a second loss
		 */
		resend = &tx->path[tx->resend_path];
		if (txs->nlost && resend != p && resend->plane == p->plane &&
		    resend->state == MROCE_PATH_ACTIVE && goes_by(tx, txs, resend)) {
			r = mroce_path_room(tx, resend);
			if (r && mroce_path_reserve(tx, resend)) {
				p = resend;
				room = min(room, r);
			}
		}
		room = min(room, tx->train + MROCE_TRAIN_MAX * MROCE_OVERHEAD);
		x->joined = false;
		if (mroce_txs_next(txs, room, p->size, now, x)) {
			x->room = room - min(room, x->bytes + x->count * MROCE_OVERHEAD);
			send_by(tx, p, now, x);
			return true;
		}
		list_del_init(&txs->ready);
		if (txs->choosy)
			p = NULL;
	}
	return false;
}

bool mroce_tx_any(struct mroce_tx *tx)
{
	return tx->hello_wanted || tx->probing || tx->nctl || tx->starved ||
	       next_stream(&tx->ready[0]) || next_stream(&tx->ready[1]);
}

int mroce_tx_pick(struct mroce_tx *tx, u64 now, struct mroce_xmit *x)
{
	if (tx->state != MROCE_TX_HELLO && tx->state != MROCE_TX_OPEN)
		return 0;
	if (tx->hello_wanted && pick_hello(tx, now, x))
		return 1;
	if (tx->state != MROCE_TX_OPEN)
		return 0;
	if (pick_probe(tx, now, x) || pick_control(tx, now, x) || pick_stream(tx, now, x))
		return 1;
	if (tx->starved)
		mroce_tx_want(tx, now + STARVED_WAIT);
	return 0;
}

int mroce_tx_pick_more(struct mroce_tx *tx, u32 left, u64 now, struct mroce_xmit *x)
{
	struct mroce_txpath *p = &tx->path[x->path];
	struct mroce_txs *with = x->txs, *txs;
	struct mroce_tx_plane *pl = &tx->plane[p->plane];
	struct mroce_msg *m = x->msg;
	u32 room = x->room;

	/* what comes before streams does not wait for the rest of a datagram either */
	if (tx->state != MROCE_TX_OPEN || tx->probing || tx->nctl ||
	    p->state != MROCE_PATH_ACTIVE || p->epoch != x->data.base.epoch ||
	    room <= MROCE_OVERHEAD || pl->inflight >= max(pl->window, MROCE_SMALL_CHANGE))
		return 0;
	txs = next_stream(&tx->ready[0]) ?: next_stream(&tx->ready[1]);
	if (!txs || !goes_by(tx, txs, p) ||
	    txs->tclass != with->tclass || txs->hop_limit != with->hop_limit ||
	    !mroce_txs_small(txs, min3(left, (u32)p->size, room - MROCE_OVERHEAD)) ||
	    !mroce_path_reserve(tx, p) || !mroce_txs_next(txs, room, p->size, now, x))
		return 0;
	x->joined = true;
	x->room = room - x->bytes - MROCE_OVERHEAD;
	send_by(tx, p, now, x);
	m->busy--;
	with->busy--;
	/* mroce_tx_sent() does it for the last one's */
	if (x->txs != with)
		mroce_txs_settle(with);
	return 1;
}

void mroce_tx_sent(struct mroce_tx *tx, const struct mroce_xmit *x, int err,
		   enum mroce_reason reason)
{
	if (x->kind == MROCE_XMIT_DATA) {
		x->msg->busy--;
		x->txs->busy--;
		if (reason != MROCE_REASON_NONE)
			mroce_txs_fail(x->txs, x->msg->msn, reason, MROCE_N_NONE);
		mroce_txs_settle(x->txs);
	}
	if (err == -ENOBUFS && x->kind != MROCE_XMIT_HELLO)
		mroce_cc_local_drop(tx, &tx->path[x->path]);
}

static void streams_timer(struct mroce_tx *tx, u64 now)
{
	struct mroce_txs *txs, *next;
	u64 slowest = 0, at = MROCE_NEVER;
	u32 i;

	tx->severed = !mroce_path_best(tx);
	for (i = 0; i < tx->npaths; i++)
		slowest = max(slowest, (u64)tx->path[i].srtt + 4 * (u64)tx->path[i].rttvar);
	tx->streams_at = MROCE_NEVER;
	tx->streams_seen = now;
	list_for_each_entry_safe(txs, next, &tx->active, active) {
		at = min(at, mroce_txs_timer(txs, slowest, now));
		if (tx->starved)
			mroce_txs_kick(txs);
	}
	tx->starved = false;
	tx->streams_at = min(tx->streams_at, at);
}

void mroce_tx_timer(struct mroce_tx *tx, u64 now)
{
	u32 i, first;

	tx->timer = MROCE_NEVER;
	if (tx->state == MROCE_TX_DEAD || tx->state == MROCE_TX_IDLE)
		return;
	/* one that is due now is for mroce_tx_pick() */
	if (tx->hello_wanted && tx->hello_at > now)
		mroce_tx_want(tx, tx->hello_at);
	/* beginning behind the path that asked last, so that others come to ask for all too */
	first = tx->asker + 1;
	if (tx->state == MROCE_TX_OPEN)
		for (i = 0; i < tx->npaths; i++)
			mroce_path_timer(tx, &tx->path[(first + i) % tx->npaths], now);
	/* not with each probe timeout of each path: there may be thousands */
	if (tx->starved || tx->streams_at <= now || now - tx->streams_seen >= STREAMS_LOOK)
		streams_timer(tx, now);
	mroce_tx_want(tx, tx->streams_at);
}

struct mroce_txs *mroce_tx_done(struct mroce_tx *tx)
{
	struct mroce_txs *txs = list_first_entry_or_null(&tx->done, struct mroce_txs, done);

	if (txs)
		list_del_init(&txs->done);
	return txs;
}
