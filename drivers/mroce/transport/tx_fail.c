// SPDX-License-Identifier: GPL-2.0
/*
 * How a path fails, heals, is probed and moves to another plane, and what size it passes.
 * Pure; the half's lock is the caller's.
 *
 * States:  ACTIVE --timeout--> SUSPECT --any ACK--> ACTIVE
 *          SUSPECT --silence that loss does not explain, while others deliver--> FAILED
 *          any --carrier lost, unreachable--> FAILED --first round of probes--> PROBING
 *          any --moved to a plane--> PROBING
 *          PROBING, FAILED --answered--> ACTIVE, with the first window
 *
 * A path fails only relative to its peers: when nothing answers anywhere it is the peer that is
 * gone, and the best path stays in use.
 */
#include "tx.h"

#define FAILED_TIMEOUTS	3
#define FAILED_SILENCE	(5 * MROCE_MSEC)
#define LOSS_LEAST	(65536U / 64)		/* in 65536ths; ACKs are lost unseen */
#define LOSS_MOST	(65536U * 15 / 16)
#define REPROBE_FIRST	(10 * MROCE_MSEC)
#define REPROBE_LAST	(500 * MROCE_MSEC)
#define SUSPECT_PROBES	2			/* a round */
#define FAILED_PROBES	3
#define ASK_CAP		(100 * MROCE_MSEC)	/* in a crowd most of these are lost */
#define DRAW_ROUNDS	4	/* unanswered rounds after which another source port is tried */
#define DRAWS		100	/* epochs ahead of the last answered: 8 bits tell old from new */
#define SMALL_PAYLOAD	1264	/* of an IPv6 packet of 1,400 bytes */
#define BIG_LOST	3	/* in a row, before size is suspected */
#define SIZE_WAIT	(100 * MROCE_MSEC)	/* between two suspicions */
#define SIZE_RETRY	(10000 * MROCE_MSEC)	/* does a small path pass full size again? */

static void set_state(struct mroce_tx *tx, struct mroce_txpath *p, enum mroce_path_state state)
{
	/* [from] = states that may follow */
	static const u8 legal[] = {
		[MROCE_PATH_PROBING] = BIT(MROCE_PATH_ACTIVE) | BIT(MROCE_PATH_FAILED),
		[MROCE_PATH_ACTIVE] =
			BIT(MROCE_PATH_SUSPECT) | BIT(MROCE_PATH_FAILED) | BIT(MROCE_PATH_PROBING),
		[MROCE_PATH_SUSPECT] =
			BIT(MROCE_PATH_ACTIVE) | BIT(MROCE_PATH_FAILED) | BIT(MROCE_PATH_PROBING),
		[MROCE_PATH_FAILED] = BIT(MROCE_PATH_ACTIVE) | BIT(MROCE_PATH_PROBING),
	};

	if (p->state == state)
		return;
	WARN_ON_ONCE(!(legal[p->state] & BIT(state)));
	if (state == MROCE_PATH_SUSPECT)
		tx->stats.path_suspect++;
	else if (state == MROCE_PATH_FAILED)
		tx->stats.path_failed++;
	else if (state == MROCE_PATH_ACTIVE && p->state != MROCE_PATH_SUSPECT)
		tx->stats.path_recovered++;
	if (p->state == MROCE_PATH_ACTIVE)
		mroce_plane_leave(tx, p);
	p->state = state;
	if (state != MROCE_PATH_PROBING)
		p->fresh = false;
	if (p->state == MROCE_PATH_ACTIVE)
		mroce_plane_join(tx, p);
	tx->changed |= BIT_ULL(p->index);
}

static bool carries(const struct mroce_txpath *p)
{
	return p->state == MROCE_PATH_ACTIVE || p->state == MROCE_PATH_SUSPECT;
}

/* New messages are cut to what every path in use passes. */
static void fit(struct mroce_tx *tx)
{
	u16 least = 0;
	u32 i;

	for (i = 0; i < tx->npaths; i++)
		if (carries(&tx->path[i]) && (!least || tx->path[i].size < least))
			least = tx->path[i].size;
	if (least)
		tx->max_payload = min(max_t(u16, least, MROCE_PAYLOAD_MIN), tx->agreed);
}

/* Fewest timeouts first; what has failed only when nothing else is left, what is down never. */
struct mroce_txpath *mroce_path_best(struct mroce_tx *tx)
{
	struct mroce_txpath *best = NULL, *p;
	u32 i;

	for (i = 0; i < tx->npaths; i++) {
		p = &tx->path[(tx->turn + i) % tx->npaths];
		if (p->down)
			continue;
		if (!best || carries(p) > carries(best) ||
		    (carries(p) == carries(best) && p->timeouts < best->timeouts))
			best = p;
	}
	return best;
}

/* Another path that may carry what this one lost twice; this one if there is none. */
u8 mroce_path_other(const struct mroce_tx *tx, const struct mroce_txpath *p)
{
	u32 i, n;

	for (i = 1; i < tx->npaths; i++) {
		n = (p->index + i) % tx->npaths;
		if (tx->path[n].state == MROCE_PATH_ACTIVE)
			return n;
	}
	return p->index;
}

/* ---- failing ---- */

/*
 * Does the loss that the connection sees explain that none of @n transmissions was answered, with a
 * chance of 1e-6 or more? An answer needs the way there and the way back.
 */
static bool loss_explains(const struct mroce_tx *tx, u32 n, u32 ways, u32 most)
{
	u64 loss = 0, chance = BIT_ULL(32);

	if (tx->recent_sent)
		loss = (u64)tx->recent_gone * 65536 * ways / tx->recent_sent;
	loss = clamp_t(u64, loss, LOSS_LEAST, most);
	while (n-- && chance >= BIT_ULL(32) / 1000000)
		chance = chance * loss >> 16;
	return chance >= BIT_ULL(32) / 1000000;
}

/* Has another path delivered what was sent after this one fell silent? */
static bool peer_delivers(const struct mroce_tx *tx, const struct mroce_txpath *p)
{
	u32 i;

	for (i = 0; i < tx->npaths; i++)
		if (&tx->path[i] != p && tx->path[i].newest > p->quiet_since)
			return true;
	return false;
}

static bool has_failed(const struct mroce_tx *tx, const struct mroce_txpath *p, u64 now)
{
	return p->timeouts >= FAILED_TIMEOUTS && p->quiet_since != MROCE_NEVER &&
	       now - p->quiet_since >= FAILED_SILENCE && peer_delivers(tx, p) &&
	       !loss_explains(tx, p->unanswered, 2, LOSS_MOST);
}

static void next_round(struct mroce_tx *tx, struct mroce_txpath *p, u64 at)
{
	p->probe_at = at;
	mroce_tx_want(tx, at);
}

static void want_probes(struct mroce_tx *tx, struct mroce_txpath *p, u8 n)
{
	p->probes = n;
	tx->probing = true;
}

/* Is no path of the plane in use? */
static bool is_dark(const struct mroce_tx *tx, u8 plane)
{
	u32 i;

	for (i = 0; i < tx->npaths; i++)
		if (tx->path[i].plane == plane && carries(&tx->path[i]))
			return false;
	return true;
}

static void fail(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	struct mroce_tx_plane *pl = &tx->plane[p->plane];
	bool carried = carries(p);

	set_state(tx, p, MROCE_PATH_FAILED);
	mroce_path_evacuate(tx, p, now);
	mroce_cc_init(tx, p);
	p->probes = 0;
	p->sizing = false;
	p->rounds = 0;
	p->probe_wait = REPROBE_FIRST;
	p->probe_at = MROCE_NEVER;
	if (!p->down)
		next_round(tx, p, now + REPROBE_FIRST);
	if (carried && is_dark(tx, p->plane)) {
		pl->dark_wait = 0;
		pl->dark_until = now + REPROBE_FIRST;
	}
	fit(tx);
}

/* A new source port: the network's hash chooses again. */
static void redraw(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	u8 timeouts = p->timeouts;

	p->rounds = 0;
	if ((u8)(p->epoch + 1 - p->epoch_heard) > DRAWS)
		return;
	tx->stats.path_redrawn++;
	mroce_path_epoch(tx, p, now);
	p->timeouts = timeouts;
}

static void probe_round(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	set_state(tx, p, MROCE_PATH_PROBING);
	mroce_path_evacuate(tx, p, now);	/* the round before */
	if (p->rounds >= DRAW_ROUNDS)
		redraw(tx, p, now);
	p->rounds++;
	want_probes(tx, p, tx->plane[p->plane].heard ? FAILED_PROBES : 1);
	next_round(tx, p, now + p->probe_wait);
	p->probe_wait = min_t(u64, p->probe_wait * 2ULL, REPROBE_LAST);
}

/*
 * A round of a dark plane: one path asks for all of them, each in its turn. As many as there are
 * would say no more, and where a host has thousands of halves, would be more than it can send.
 */
static void dark_round(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	struct mroce_tx_plane *pl = &tx->plane[p->plane];
	struct mroce_txpath *o = p;
	u32 i;

	if (now < pl->dark_until) {
		next_round(tx, p, pl->dark_until);
		return;
	}
	for (i = 1; i <= tx->npaths; i++) {
		o = &tx->path[(pl->dark_asker + i) % tx->npaths];
		if (o->plane == p->plane && !o->down)
			break;
	}
	pl->dark_asker = o->index;
	pl->dark_wait = clamp_t(u64, pl->dark_wait * 2ULL, REPROBE_FIRST, REPROBE_LAST);
	pl->dark_until = now + pl->dark_wait;
	probe_round(tx, o, now);
	next_round(tx, o, pl->dark_until);
	next_round(tx, p, pl->dark_until);
}

static void ask(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	if (is_dark(tx, p->plane))
		dark_round(tx, p, now);
	else
		probe_round(tx, p, now);
}

/*
 * Until when is @p not to ask, because another path has asked for all? 0: it is its turn.
 *
 * When nothing has been answered on any path since this one's oldest packet was sent, no path
 * stands out: the peer, or the way that they share, is gone or has become slow. If each asked, as
 * many as there are would fill that way with probes, and with the same data again.
 */
static u64 asked_until(struct mroce_tx *tx, const struct mroce_txpath *p, u64 now)
{
	u64 until, pto = mroce_path_patience(tx, p);

	if (tx->last_ack > p->sent[p->head & p->mask].at)
		return 0;
	if (tx->last_ack >= tx->asked_at)
		tx->asks = 0;
	if (tx->asks) {
		until = tx->asked_at + min(pto << (tx->asks - 1), max(pto, ASK_CAP));
		if (now < until)
			return until;
	}
	tx->asks = min(tx->asks + 1, 10);
	tx->asked_at = now;
	tx->asker = p->index;
	return 0;
}

void mroce_path_timer(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	struct mroce_sent *oldest;
	u64 until;

	if (p->probe_at > now) {
		mroce_tx_want(tx, p->probe_at);
		return;
	}
	if (!carries(p)) {
		ask(tx, p, now);
		return;
	}
	mroce_path_trim(p);
	if (p->head == p->tail) {
		p->probe_at = MROCE_NEVER;
		return;
	}
	tx->stats.probe_timeouts++;
	mroce_plane_timeout(tx, p, p->sent[p->head & p->mask].at, mroce_path_pto(tx, p) / 2, now);
	p->timeouts = min(p->timeouts + 1, 100);
	if (has_failed(tx, p, now)) {
		fail(tx, p, now);
		return;
	}
	if (p->state == MROCE_PATH_ACTIVE)
		set_state(tx, p, MROCE_PATH_SUSPECT);
	until = asked_until(tx, p, now);
	if (until) {
		if (p->timeouts >= 2)
			mroce_cc_timeout(tx, p);
		next_round(tx, p, max(until, now + mroce_path_pto(tx, p) / 2));
		return;
	}
	/* where many share what is little, a second would take the place of data */
	want_probes(tx, p, mroce_path_sparse(tx, p) ? 1 : SUSPECT_PROBES);
	/*
	 * The probe shows what is missing here; the oldest data travel again meanwhile, by a
	 * healthy path if there is one. The second timeout in a row gives everything up: it is
	 * resent as windows allow.
	 */
	oldest = &p->sent[p->head & p->mask];
	if (p->timeouts >= 2) {
		mroce_path_evacuate(tx, p, now);
		mroce_cc_timeout(tx, p);
	} else if (oldest->txs && oldest->kind == MROCE_XMIT_DATA) {
		mroce_path_big(tx, p, oldest, false, now);
		mroce_path_overdue(tx, p, oldest);
		mroce_path_close(tx, p, oldest, oldest->open & -oldest->open, false, now);
	}
	next_round(tx, p, now + mroce_path_pto(tx, p));
}

/* ---- healing ---- */

/*
 * One was answered. What never carried data there may begin, as on the plane of the first contact;
 * what has failed is asked at the pace of round trips.
 */
static void others_follow(struct mroce_tx *tx, const struct mroce_txpath *p, u64 now)
{
	u64 pace = max_t(u64, p->srtt, MROCE_ACK_DELAY), at = now;
	struct mroce_txpath *o;
	u32 i;

	for (i = 0; i < tx->npaths; i++) {
		o = &tx->path[i];
		if (o == p || o->plane != p->plane || o->down || carries(o))
			continue;
		if (o->fresh) {
			set_state(tx, o, MROCE_PATH_ACTIVE);
			/* its own probes may be on their way */
			mroce_path_arm(tx, o);
			continue;
		}
		at += pace;
		o->probe_wait = REPROBE_FIRST;
		next_round(tx, o, min(o->probe_at, at));
	}
}

/* The silence is over: those for which another asked ask for themselves. */
static void others_speak(struct mroce_tx *tx, const struct mroce_txpath *p, u64 now)
{
	u64 at = now + mroce_path_patience(tx, p);
	u32 i;

	for (i = 0; i < tx->npaths; i++)
		if (&tx->path[i] != p && tx->path[i].state == MROCE_PATH_SUSPECT &&
		    tx->path[i].probe_at > at)
			next_round(tx, &tx->path[i], at);
	tx->asks = 0;
}

static void recover(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	bool failed = !carries(p);

	set_state(tx, p, MROCE_PATH_ACTIVE);
	if (tx->asks > 1)
		others_speak(tx, p, now);
	if (failed) {
		mroce_cc_init(tx, p);
		p->rounds = 0;
		p->probe_at = MROCE_NEVER;
		others_follow(tx, p, now);
	}
	if (!p->sizing)
		p->probes = 0;
	fit(tx);
}

void mroce_path_answered(struct mroce_tx *tx, struct mroce_txpath *p, bool news, u64 now)
{
	if (news) {
		p->last_ack = now;
		p->timeouts = 0;
		p->unanswered = 0;
		p->quiet_since = p->head == p->tail ? MROCE_NEVER : now;
		p->epoch_heard = p->epoch;
	}
	if (p->state == MROCE_PATH_SUSPECT)
		recover(tx, p, now);
	/* a path that loses its full-size probes is not well yet: see mroce_path_big() */
	else if (!carries(p) && news && !p->sizing && !p->down)
		recover(tx, p, now);
}

/* The peer has forgotten this path's numbers (a new receiving half): start again in a new epoch. */
void mroce_path_restart(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	mroce_path_epoch(tx, p, now);
	if (!p->down)
		set_state(tx, p, MROCE_PATH_ACTIVE);
	fit(tx);
}

/* ---- size: a path whose full-size packets alone vanish (rule 6) ---- */

u16 mroce_path_probe(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	u16 full = tx->agreed, small = min_t(u16, SMALL_PAYLOAD, full);
	u32 left = p->probes--;

	/* a round begins with the large one, so that an answer to the next shows it missing */
	if (p->sizing)
		return left > 1 ? full : small;
	if (carries(p))
		return p->timeouts > 1 && left == SUSPECT_PROBES ? min(p->size, full) : 0;
	/* does anything come? Data will show what size does */
	if (!tx->plane[p->plane].heard)
		return 0;
	return left > 1 ? full : small;
}

static bool same_plane_passes(const struct mroce_tx *tx, const struct mroce_txpath *p, u64 since)
{
	u32 i;

	for (i = 0; i < tx->npaths; i++)
		if (&tx->path[i] != p && tx->path[i].plane == p->plane &&
		    tx->path[i].state == MROCE_PATH_ACTIVE && tx->path[i].big_at > since)
			return true;
	return false;
}

/*
 * The path does not pass what was agreed. Where others of its plane do, its way through the network
 * is bad, and it draws another; else the plane is so, and messages become smaller.
 */
static void shrink(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	bool bad_draw = same_plane_passes(tx, p, p->size_at);
	struct mroce_txpath *o;
	u32 i;

	p->sizing = false;
	p->strikes = 0;
	p->big_lost = 0;
	p->probes = 0;
	tx->size_wait = 0;
	tx->size_next = now;
	if (bad_draw) {
		if (carries(p))
			fail(tx, p, now);
		redraw(tx, p, now);	/* at once: what is on its way back speaks of the old */
		next_round(tx, p, now + REPROBE_FIRST);
		return;
	}
	if (!carries(p))
		recover(tx, p, now);
	/* the whole plane, or each of its paths would lose its share of everything first */
	for (i = 0; i < tx->npaths; i++) {
		o = &tx->path[i];
		if (o->plane != p->plane || o->size <= SMALL_PAYLOAD)
			continue;
		o->size = SMALL_PAYLOAD;
		o->size_at = now + SIZE_RETRY;
		o->sizing = false;
		tx->stats.path_shrunk++;
	}
	fit(tx);
}

static void ask_size(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	p->sizing = true;
	p->strikes = 0;
	p->size_at = now;
	want_probes(tx, p, 2);
}

/*
 * Where much is lost, several large packets in a row often are, on any path: the half asks less
 * and less often while it is told that size is not the reason, or asking makes the crowd that it
 * asks about.
 */
static bool may_suspect_size(struct mroce_tx *tx, const struct mroce_txpath *p, u64 now)
{
	if (p->big_lost < BIG_LOST || now - p->size_at < SIZE_WAIT)
		return false;
	/* a row that loss does not explain waits for nobody */
	if (now < tx->size_next && loss_explains(tx, p->big_lost, 1, 65536 / 2))
		return false;
	if (now > tx->size_next + SIZE_RETRY)
		tx->size_wait = 0;
	tx->size_wait = clamp_t(u64, 2 * tx->size_wait, SIZE_WAIT, SIZE_RETRY);
	tx->size_next = now + tx->size_wait;
	return true;
}

/* Another path of the plane is asked too: is it this one alone? */
static void suspect_size(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	struct mroce_txpath *o;
	u32 i;

	ask_size(tx, p, now);
	for (i = 1; i < tx->npaths; i++) {
		o = &tx->path[(p->index + i) % tx->npaths];
		if (o->plane == p->plane && o->state == MROCE_PATH_ACTIVE && !o->sizing &&
		    o->size == tx->agreed) {
			ask_size(tx, o, now);
			return;
		}
	}
}

/*
 * A single packet of full size arrived, or one of more than the small size is missing from an ACK
 * that reports later ones. Only probes strike: data may be lost to anything.
 */
void mroce_path_big(struct mroce_tx *tx, struct mroce_txpath *p, const struct mroce_sent *s,
		    bool acked, u64 now)
{
	bool probe = s->kind == MROCE_XMIT_PROBE;
	u16 bytes = probe ? s->psize : s->last;

	/* trains show nothing: a virtual link passes them whole, whatever its MTU */
	if (bytes <= SMALL_PAYLOAD || (acked && s->count > 1))
		return;
	if (acked) {
		/* smaller ones pass, perhaps because they are smaller */
		if (bytes < tx->agreed)
			return;
		p->big_at = now;
		p->big_lost = 0;
		p->sizing = false;
		if (probe && bytes > p->size) {
			p->size = bytes;
			fit(tx);
		}
		return;
	}
	p->big_lost = min(p->big_lost + 1, 100);
	if (p->size < bytes && carries(p)) {
		/* that is known, and was tried again */
		if (probe)
			p->sizing = false;
		return;
	}
	if (!p->sizing) {
		if (carries(p) ? may_suspect_size(tx, p, now) : probe)
			suspect_size(tx, p, now);
		return;
	}
	if (!probe)
		return;
	p->strikes++;
	if (loss_explains(tx, p->strikes, 1, 65536 / 2))
		want_probes(tx, p, 2);
	else
		shrink(tx, p, now);
}

void mroce_path_retry_size(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	if (now < p->size_at || p->sizing || !carries(p))
		return;
	ask_size(tx, p, now);
	p->size_at = now + SIZE_RETRY;
}

void mroce_tx_path_size(struct mroce_tx *tx, u8 path, u16 payload, u64 now)
{
	struct mroce_txpath *p = &tx->path[path];

	if (path >= tx->npaths || payload >= p->size)
		return;
	p->size = payload;
	p->size_at = now + SIZE_RETRY;
	fit(tx);
}

/* ---- what is known without asking ---- */

bool mroce_tx_path_unreachable(struct mroce_tx *tx, u8 path, u32 number, u64 now)
{
	struct mroce_txpath *p = &tx->path[path];
	u32 i;

	if (tx->state != MROCE_TX_OPEN || path >= tx->npaths || !mroce_path_outstanding(p, number))
		return false;
	if (!carries(p))
		return true;
	for (i = 0; i < tx->npaths; i++)
		if (i != path && tx->path[i].state == MROCE_PATH_ACTIVE)
			break;
	if (i < tx->npaths)
		fail(tx, p, now);
	else
		want_probes(tx, p, max_t(u8, p->probes, 1));
	return true;
}

bool mroce_tx_path_ask(struct mroce_tx *tx, u8 path)
{
	struct mroce_txpath *p = &tx->path[path];

	if (path >= tx->npaths || p->head != p->tail || p->down)
		return false;
	want_probes(tx, p, max_t(u8, p->probes, 1));
	return true;
}

void mroce_tx_plane_down(struct mroce_tx *tx, u8 plane, u64 now)
{
	struct mroce_txpath *p;
	u32 i;

	for (i = 0; i < tx->npaths; i++) {
		p = &tx->path[i];
		if (p->plane != plane || p->down)
			continue;
		p->down = true;
		if (carries(p) || p->state == MROCE_PATH_PROBING) {
			fail(tx, p, now);
		} else {
			mroce_path_evacuate(tx, p, now);
			p->probe_at = MROCE_NEVER;
		}
	}
}

void mroce_tx_plane_up(struct mroce_tx *tx, u8 plane, u64 now)
{
	struct mroce_txpath *p, *last = NULL;
	u32 i;

	for (i = 0; i < tx->npaths; i++) {
		p = &tx->path[i];
		if (p->plane != plane || !p->down)
			continue;
		p->down = false;
		p->rounds = 0;
		p->probe_wait = REPROBE_FIRST;
		next_round(tx, p, now + REPROBE_FIRST);
		last = p;
	}
	if (!last)
		return;
	tx->plane[plane].dark_wait = 0;
	tx->plane[plane].dark_until = now;
	ask(tx, last, now);
}

void mroce_tx_path_move(struct mroce_tx *tx, u8 path, u8 plane, bool down, u64 now)
{
	struct mroce_txpath *p = &tx->path[path];
	u32 i;

	mroce_path_epoch(tx, p, now);
	/* not while the plane that it leaves counts it */
	set_state(tx, p, MROCE_PATH_PROBING);
	p->fresh = true;
	p->plane = plane;
	for (i = 0; i < tx->npaths && (i == path || tx->path[i].plane != plane); i++)
		;
	/* a share, and all else that was heard there, was another network's */
	if (i == tx->npaths)
		tx->plane[plane] = (struct mroce_tx_plane){ .slot = tx->plane[plane].slot };
	tx->nplanes = max_t(u8, tx->nplanes, plane + 1);
	p->down = down;
	p->rounds = 0;
	p->probe_wait = REPROBE_FIRST;
	if (down)
		fail(tx, p, now);
	else
		ask(tx, p, now);
	fit(tx);
}
