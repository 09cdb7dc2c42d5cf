// SPDX-License-Identifier: GPL-2.0
/*
 * Max-min shares of a receiver's plane. The level is what each unit of weight may have; who wants
 * less gets what it wants. A change of who is active changes the level at once; demands are
 * measured once an epoch. Raises wait until the sum of what was announced, less what has been
 * taken back and been obeyed since, leaves room. Pure; the share's lock is the caller's.
 */
#include "share.h"
#include "tx.h"		/* units of time */

#define EPOCH		(250 * MROCE_USEC)
#define EPOCH_MEMBER	500		/* ns more for each active member: a pass is a small part */
#define LIFE_LEAST	(250 * MROCE_USEC)
#define LIFE_MOST	(1000 * MROCE_MSEC)
#define LIFE_PACKETS	3
#define HEADROOM_SHIFT	5		/* of the capacity, so that queues can drain */
#define LEAST_SHIFT	3		/* nobody active gets less than this part of the level */
#define FRESH		2		/* passes before a rate says something */
#define TELL_LOOK	4		/* members looked at for news */
#define ALLOWANCE_MOST	65536U
#define RTT_FIRST	(50 * MROCE_USEC)
#define RTT_LEAST	(5 * MROCE_USEC)
#define RTT_MOST	(10 * MROCE_MSEC)
#define BYTE_NS		(1000000000U >> 10)	/* of a byte, at 1 KiB/s */

void mroce_share_init(struct mroce_share *s)
{
	memset(s, 0, sizeof(*s));
	INIT_LIST_HEAD(&s->members);
	s->rtt = RTT_FIRST;
	s->packet = 1500;
}

/* What is divided: a little less if there is anybody to divide it among. */
static u32 divided(const struct mroce_share *s)
{
	return s->active > 1 ? s->capacity - (s->capacity >> HEADROOM_SHIFT) : s->capacity;
}

static void set_level(struct mroce_share *s)
{
	u32 all = divided(s), rest;

	if (!s->hungry) {
		s->level = all;
		return;
	}
	rest = all - min(s->limited, all - (all >> LEAST_SHIFT));
	s->level = max(rest / s->hungry, 1U);
}

void mroce_share_capacity(struct mroce_share *s, u32 capacity)
{
	s->capacity = capacity;
	set_level(s);
}

void mroce_share_connect(struct mroce_share *s, struct mroce_share_member *m, struct mroce_rx *rx,
			 u8 weight)
{
	BUILD_BUG_ON(sizeof(*m) > 64);
	memset(m, 0, sizeof(*m));
	m->rx = rx;
	INIT_LIST_HEAD(&m->node);
	m->weight = max_t(u8, weight, 1);
	s->connected++;
}

/* The recent ones count most. What a queue adds makes too much of it, never too little. */
void mroce_share_rtt(struct mroce_share *s, u64 rtt)
{
	rtt = clamp_t(u64, rtt, RTT_LEAST, RTT_MOST);
	s->rtt = rtt < s->rtt ? rtt : s->rtt + (rtt - s->rtt) / 8;
}

/* ---- the budget ---- */

static void obeyed(struct mroce_share *s, u64 now)
{
	u32 i;

	for (i = 0; i < MROCE_SHARE_PENDING; i++) {
		if (!s->pending[i] || now - s->pending_at[i] < s->rtt + s->rtt / 4)
			continue;
		s->announced -= min(s->announced, s->pending[i]);
		s->pending[i] = 0;
	}
}

/* Taken back: counts until its owner has heard of it. */
static void take_back(struct mroce_share *s, u32 share, u64 now)
{
	u32 i, youngest = 0, empty = MROCE_SHARE_PENDING;

	for (i = 0; i < MROCE_SHARE_PENDING; i++) {
		if (!s->pending[i])
			empty = i;
		else if (!s->pending[youngest] || s->pending_at[i] > s->pending_at[youngest])
			youngest = i;
	}
	/* one that is recent takes more, and is so much later for all of it */
	if (s->pending[youngest] &&
	    (empty == MROCE_SHARE_PENDING || now - s->pending_at[youngest] < s->rtt / 4)) {
		if (empty == MROCE_SHARE_PENDING)
			s->pending_at[youngest] = now;
		s->pending[youngest] += share;
		return;
	}
	s->pending[empty] = share;
	s->pending_at[empty] = now;
}

static u32 unannounced(const struct mroce_share *s)
{
	u32 all = divided(s);

	return all - min(all, s->announced);
}

static u32 least_of(const struct mroce_share *s, const struct mroce_share_member *m)
{
	u64 fair = div_u64((u64)divided(s) * m->weight, max(s->weight, 1U));

	return max_t(u64, fair >> LEAST_SHIFT, 1);
}

static u32 target_of(const struct mroce_share *s, const struct mroce_share_member *m)
{
	u64 most = min_t(u64, (u64)s->level * m->weight, divided(s)), want = m->demand;
	u32 spare;

	if (m->demand == MROCE_HUNGRY)
		return most;
	/* where nobody is hungry what is left is for whoever will be next */
	if (!s->hungry) {
		spare = divided(s) - min(divided(s), s->limited);
		want += div_u64((u64)spare * m->weight, max(s->weight, 1U));
	}
	return clamp_t(u64, want, least_of(s, m), most);
}

/* ---- members ---- */

static void leave_demand(struct mroce_share *s, struct mroce_share_member *m)
{
	if (m->demand == MROCE_HUNGRY)
		s->hungry -= m->weight;
	else
		s->limited -= min(s->limited, m->demand);
}

static void enter_demand(struct mroce_share *s, struct mroce_share_member *m, u32 demand)
{
	m->demand = demand;
	if (demand == MROCE_HUNGRY)
		s->hungry += m->weight;
	else
		s->limited += demand;
}

/*
 * A backlog is declared. Of who was heard of before, with gaps between its messages, the rate says
 * something already.
 */
static void activate(struct mroce_share *s, struct mroce_share_member *m)
{
	u32 used = max(m->used, m->used_before);

	leave_demand(s, m);
	m->active = true;
	m->told = 0;
	s->active++;
	s->weight += m->weight;
	if (used >= least_of(s, m)) {
		enter_demand(s, m, used + used / 4);
	} else {
		m->fresh = FRESH;
		enter_demand(s, m, MROCE_HUNGRY);
	}
	set_level(s);
}

/*
 * Its backlog has come to nothing: what it was told counts no more. What it uses does, if that was
 * its own choice; what it sent as fast as it was let says nothing of what will follow.
 */
static void deactivate(struct mroce_share *s, struct mroce_share_member *m)
{
	u32 used = m->demand == MROCE_HUNGRY ? 0 : min(m->used, m->used_before);

	leave_demand(s, m);
	enter_demand(s, m, used);
	m->active = false;
	s->active--;
	s->weight -= m->weight;
	s->announced -= min(s->announced, m->told);
	set_level(s);
}

static void forget(struct mroce_share *s, struct mroce_share_member *m)
{
	if (list_empty(&m->node))
		return;
	if (m->active)
		deactivate(s, m);
	leave_demand(s, m);
	list_del_init(&m->node);
	set_level(s);
}

void mroce_share_disconnect(struct mroce_share *s, struct mroce_share_member *m)
{
	forget(s, m);
	s->connected--;
}

void mroce_share_weigh(struct mroce_share *s, struct mroce_share_member *m, u8 weight)
{
	bool counted = !list_empty(&m->node);

	if (counted)
		leave_demand(s, m);
	if (m->active)
		s->weight -= m->weight;
	m->weight = max_t(u8, weight, 1);
	if (m->active)
		s->weight += m->weight;
	if (counted)
		enter_demand(s, m, m->demand);
	set_level(s);
}

/* ---- once an epoch ---- */

/* How long silence lasts before a sender is forgotten (rule 20). */
static u64 life_of(const struct mroce_share *s, const struct mroce_share_member *m)
{
	u64 packets = 0;

	if (m->active && m->told)
		packets = LIFE_PACKETS * div_u64((u64)s->packet * BYTE_NS, m->told);
	return min_t(u64, max3(2 * s->rtt, (u64)LIFE_LEAST, packets), LIFE_MOST);
}

static u32 demand_of(const struct mroce_share *s, struct mroce_share_member *m, u32 per_epoch)
{
	u32 used = max(m->used, m->used_before);
	u64 want, backlog;

	if (!m->active)
		return min(m->used, m->used_before);
	if (m->fresh) {
		m->fresh--;
		return MROCE_HUNGRY;
	}
	want = used + used / 4 + (((u64)s->packet * per_epoch) >> 10);
	backlog = (u64)READ_ONCE(m->backlog) * per_epoch;
	/* who uses what it has, and is not held back elsewhere, wants more than can be measured */
	if (used >= m->told - m->told / 4 && !READ_ONCE(m->held_back))
		want = U32_MAX;
	want = min(want, backlog);
	return want >= (u64)s->level * m->weight ? MROCE_HUNGRY : want;
}

static void pass(struct mroce_share *s, u64 now)
{
	struct mroce_share_member *m, *next;
	u64 ns = now - s->pass_at, scale;
	u32 per_epoch, i;

	s->next_pass = now + EPOCH + (u64)EPOCH_MEMBER * s->active;
	s->pass_at = now;
	/* KiB/s of a byte, << 16 */
	scale = div64_u64((1000000000ULL << 16) >> 10, max_t(u64, ns, 1000));
	per_epoch = div64_u64(1000000000ULL, max_t(u64, ns, 1000));
	list_for_each_entry_safe(m, next, &s->members, node) {
		u32 bytes = READ_ONCE(m->bytes);

		if ((s32)((u32)(now >> 10) - READ_ONCE(m->heard)) > (s32)(life_of(s, m) >> 10)) {
			forget(s, m);
			continue;
		}
		m->used_before = m->used;
		m->used = min_t(u64, ((u64)(bytes - m->seen) * scale) >> 16, U32_MAX / 4);
		m->seen = bytes;
	}
	s->hungry = 0;
	s->limited = 0;
	s->announced = 0;
	list_for_each_entry(m, &s->members, node) {
		enter_demand(s, m, demand_of(s, m, per_epoch));
		if (m->active)
			s->announced += m->told;
	}
	for (i = 0; i < MROCE_SHARE_PENDING; i++)
		s->announced += s->pending[i];
	set_level(s);
}

/* ---- one member ---- */

static bool differs(u32 target, u32 told)
{
	return target < told - told / 16 || target > told + told / 16;
}

bool mroce_share_stale(const struct mroce_share *s, const struct mroce_share_member *m, u64 now)
{
	if (!READ_ONCE(s->capacity))
		return m->told;
	return list_empty(&m->node) || m->active != !!m->backlog ||
	       now >= READ_ONCE(s->next_pass) || (m->active && differs(target_of(s, m), m->told));
}

static u32 target_idle(const struct mroce_share *s)
{
	return max(s->capacity / max(s->connected, 1U), 1U);
}

static void set_told(struct mroce_share *s, struct mroce_share_member *m, u64 now)
{
	u32 target = target_of(s, m), more;

	if (!m->active) {
		/*
		 * Not counted, and what it uses is in @limited; all that are connected could begin
		 * at once.
		 */
		m->told = max(target_idle(s), m->demand);
		return;
	}
	if (target < m->told) {
		take_back(s, m->told - target, now);
		m->told = target;
		return;
	}
	more = min(target - m->told, unannounced(s));
	if (m->told + more < least_of(s, m))
		more = least_of(s, m) - m->told;
	m->told += more;
	s->announced += more;
}

void mroce_share_update(struct mroce_share *s, struct mroce_share_member *m, u32 packet, u64 now)
{
	bool active = READ_ONCE(m->backlog);

	s->packet = max(s->packet, packet);
	if (!s->capacity) {
		m->told = 0;
		return;
	}
	obeyed(s, now);
	if (list_empty(&m->node)) {
		list_add_tail(&m->node, &s->members);
		m->seen = m->bytes;
		m->used = 0;
		m->used_before = 0;
		m->told = 0;
		enter_demand(s, m, 0);
	}
	if (active && !m->active)
		activate(s, m);
	else if (!active && m->active)
		deactivate(s, m);
	if (now >= s->next_pass)
		pass(s, now);
	set_told(s, m, now);
}

struct mroce_share_member *mroce_share_tell(struct mroce_share *s, u64 now)
{
	u32 i, us = (u32)(now >> 10), target;
	struct mroce_share_member *m;

	if (!s->capacity || s->active < 2)
		return NULL;
	obeyed(s, now);
	for (i = 0; i < TELL_LOOK; i++) {
		m = list_first_entry(&s->members, struct mroce_share_member, node);
		list_move_tail(&m->node, &s->members);
		if (!m->active)
			continue;
		target = target_of(s, m);
		if (target < m->told - m->told / 8) {
			set_told(s, m, now);
			return m;
		}
		/* at most once a round trip (rule 53) */
		if (target <= m->told + m->told / 8 || us - m->told_at < (u32)(s->rtt >> 10) ||
		    unannounced(s) < m->told / 8)
			continue;
		m->told_at = us;
		set_told(s, m, now);
		return m;
	}
	return NULL;
}

u32 mroce_share_allowance(const struct mroce_share *s)
{
	u64 bytes;

	if (!s->capacity)
		return 0;
	bytes = div_u64(div_u64((u64)s->capacity * (u32)s->rtt, BYTE_NS), max(s->connected, 1U));
	return clamp_t(u64, bytes, s->packet, max(ALLOWANCE_MOST, s->packet));
}
