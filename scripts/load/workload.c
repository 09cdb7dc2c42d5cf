// SPDX-License-Identifier: GPL-2.0
/*
 * The plan: derives the messages of an epoch, and what they do to memory, from
 * (seed, queue pair, direction, epoch number). Both ends run this, so nothing
 * here may depend on which end it is, except where inline data are scribbled
 * over (local image only). No locks: a struct gen belongs to one thread.
 */
#include <stdlib.h>
#include <string.h>
#include "load.h"

#define GAP_MAX	132

/* what is needed while one epoch is being made */
struct build {
	struct gen *g;
	const struct params *p;
	struct epoch *ep;
	uint64_t rng, id;		/* id: queue pair and direction */
	uint32_t lc, rc, pc;		/* next free byte: local, remote, pay */
	uint64_t cell[CELLS];
	bool mw;			/* window still usable */
};

static const char *const op_names[OP_MAX] = {
	"send", "send_imm", "send_inv", "write", "write_imm", "read",
	"cmp_swp", "fetch_add",
};

static const char *const mode_names[MODE_MAX] = {
	"all", "mixed", "poll", "flag", "last",
};

const char *op_name(unsigned int op)
{
	return op < OP_MAX ? op_names[op] : "?";
}

const char *mode_name(unsigned int mode)
{
	return mode < MODE_MAX ? mode_names[mode] : "?";
}

/* a number below 2^31 draws well enough by taking the upper bits */
uint64_t rnd(uint64_t *rng)
{
	*rng += 0x9e3779b97f4a7c15ull;
	return mix64(*rng) >> 16;
}

static uint32_t below(uint64_t *rng, uint32_t n)
{
	return n ? rnd(rng) % n : 0;
}

static bool one_in(struct build *b, uint32_t n)
{
	return !below(&b->rng, n);
}

static uint32_t gap(uint64_t *rng)
{
	switch (below(rng, 8)) {
	case 0:
		return 0;
	case 1:
		return 1 + below(rng, 3);
	case 2:
		return 64 + below(rng, 65);
	default:
		return 1 + below(rng, 64);
	}
}

/*
 * Cuts len bytes into up to max pieces, laid out from *cursor on with gaps
 * between them; the first piece has at least first_min bytes.
 */
unsigned int split_pieces(uint64_t *rng, uint32_t *cursor, uint32_t len,
			  unsigned int max, uint32_t first_min, bool zero,
			  struct piece *out)
{
	unsigned int n = 0, want;

	if (!len && !zero)
		return 0;
	want = below(rng, 2) ? 1 : 1 + below(rng, max);
	while (n < want) {
		uint32_t l = len;

		if (n + 1 < want) {
			if (below(rng, 3))
				l = below(rng, len + 1);
			else
				l = below(rng, len < 64 ? len + 1 : 64);
			if (!n && l < first_min)
				l = first_min;
			if (!l && !zero)
				l = len ? 1 : 0;
		}
		if (!l && !zero)
			break;
		*cursor += gap(rng);
		out[n].off = *cursor;
		out[n].len = l;
		n++;
		*cursor += l;
		len -= l;
		if (!len && !zero)
			break;
	}
	return n;
}

static bool fits(const struct build *b, uint32_t size)
{
	uint32_t room = size + 64 + MAX_SGE * GAP_MAX + SLICE_TAIL;

	return b->lc + room <= b->p->slice && b->rc + room <= b->p->slice;
}

static struct msg *new_msg(struct build *b, enum op op, uint32_t size)
{
	struct msg *m = &b->ep->m[b->ep->n++];

	memset(m, 0, offsetof(struct msg, src));
	m->num = b->g->num++;
	m->op = op;
	m->size = size;
	m->imm = (uint32_t)key_of(b->p->seed, b->id, m->num, 'I');
	if (below(&b->rng, 2))
		m->flags |= M_SIGNAL;
	if (one_in(b, 24))
		m->flags |= M_FENCE;
	return m;
}

static void put_source(struct build *b, const struct msg *m, uint64_t key)
{
	uint32_t base = 0;
	unsigned int i;

	for (i = 0; i < m->nsrc; i++) {
		img_put(&b->ep->li, m->src[i].off, m->src[i].len, key, base, EXT_PATTERN);
		img_put(&b->ep->lf, m->src[i].off, m->src[i].len, key, base, EXT_PATTERN);
		base += m->src[i].len;
	}
}

static void place_source(struct build *b, struct msg *m)
{
	bool zero = b->p->zero_sge && one_in(b, 16);
	uint32_t first = m->flags & M_SYNC ? 8 : 0;

	m->nsrc = split_pieces(&b->rng, &b->lc, m->size, b->p->sge, first, zero, m->src);
	put_source(b, m, key_of(b->p->seed, b->id, m->num, 'P'));
}

/* the payload, from the local image as it is now, to where it goes */
static void move_payload(struct build *b, const struct msg *m, struct image *to,
			 const struct piece *pc)
{
	uint32_t left, done, soff;
	unsigned int i, j = 0;
	uint32_t into = 0;

	for (i = 0; i < m->nsrc; i++) {
		left = m->src[i].len;
		soff = m->src[i].off;
		while (left) {
			done = pc[j].len - into;
			if (!done) {
				j++;
				into = 0;
				continue;
			}
			if (done > left)
				done = left;
			img_copy(to, pc[j].off + into, &b->ep->lf, soff, done);
			into += done;
			soff += done;
			left -= done;
		}
	}
}

/* after the request was posted its inline source is overwritten */
static void maybe_inline(struct build *b, struct msg *m, bool want)
{
	uint32_t base = 0;
	unsigned int i;

	if (!want || m->size > b->g->inline_max || m->flags & (M_SYNC | M_SINK))
		return;
	m->flags |= M_INLINE;
	for (i = 0; i < m->nsrc; i++) {
		img_put(&b->ep->lf, m->src[i].off, m->src[i].len,
			key_of(b->p->seed, b->id, m->num, 'J'), base, EXT_PATTERN);
		base += m->src[i].len;
	}
}

static void place_receive(struct build *b, struct msg *m)
{
	uint32_t first = m->flags & M_SYNC ? 8 : 0;

	m->flags |= M_RECV;
	b->ep->nrecv++;
	if (b->p->srq)
		return;
	if (m->op == OP_WRITE_IMM) {
		m->room = one_in(b, 2) ? 16 : 0;
	} else {
		m->room = m->size;
		if (one_in(b, 2))
			m->room += below(&b->rng, 41);
	}
	/* siw refuses a receive without any buffer */
	if (b->p->iwarp && !m->room)
		m->room = 16;
	m->nrcv = split_pieces(&b->rng, &b->rc, m->room, b->p->sge, first, false, m->rcv);
}

static void finish_send(struct build *b, struct msg *m, bool want_inline)
{
	struct piece pay;

	if (one_in(b, 4))
		m->flags |= M_SOLICIT;
	place_receive(b, m);
	if (b->p->srq) {
		pay = (struct piece){ b->pc, m->size };
		m->pay = b->pc;
		b->pc += m->size;
		move_payload(b, m, &b->ep->pay, &pay);
	} else {
		move_payload(b, m, &b->ep->rf, m->rcv);
	}
	if (m->op == OP_SEND_INV) {
		b->ep->inv = true;
		b->mw = false;
	}
	maybe_inline(b, m, want_inline);
}

/* m->target is set */
static void finish_write(struct build *b, struct msg *m, bool want_inline)
{
	struct piece to = { m->target, m->size };

	if (m->op == OP_WRITE_IMM) {
		if (one_in(b, 4))
			m->flags |= M_SOLICIT;
		place_receive(b, m);
	}
	if (b->mw && one_in(b, 3))
		m->flags |= M_MW;
	if (m->flags & M_FRESH && !(m->flags & M_SYNC) && m->size && !b->p->relaxed &&
	    img_byte(&b->ep->rf, m->target + m->size - 1) !=
	    img_byte(&b->ep->lf, m->src[m->nsrc - 1].off + m->src[m->nsrc - 1].len - 1) &&
	    m->src[m->nsrc - 1].len)
		m->flags |= M_POLL;
	move_payload(b, m, &b->ep->rf, &to);
	maybe_inline(b, m, want_inline);
}

static uint32_t fresh_target(struct build *b, uint32_t size)
{
	uint32_t at;

	b->rc += gap(&b->rng);
	at = b->rc;
	b->rc += size;
	return at;
}

static uint32_t pick_size(struct build *b, uint32_t max)
{
	uint64_t *r = &b->rng;
	uint32_t unit = below(r, 2) ? b->p->unit : 1u << (8 + below(r, 6)), s, bits;
	uint32_t soft = max > 262144 && below(r, 24) ? 262144 : max;

	switch (below(r, 16)) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2 ... 5:
		s = unit * (1 + below(r, 8)) + below(r, 3) - 1;
		break;
	case 6 ... 8:
		for (bits = 0; bits < 31 && 2u << bits <= soft; bits++)
			;
		s = (1u << below(r, bits + 1)) + below(r, 3) - 1;
		break;
	case 9:
		s = below(r, soft + 1);
		break;
	case 10:
		s = below(r, 64) ? below(r, 65536) : max;
		break;
	default:
		s = 1 + below(r, 4096);
	}
	return s > max ? max : s;
}

static uint32_t poll_size(struct build *b)
{
	uint64_t *r = &b->rng;
	uint32_t unit = b->p->unit, max = b->p->max_size, s;

	switch (below(r, 8)) {
	case 0 ... 1:
		s = 1 + below(r, 130);
		break;
	case 2:
		s = (64u << below(r, 12)) + below(r, 3) - 1;
		break;
	case 3:
		s = 4096 * (1 + below(r, 5)) + below(r, 19) - 9;
		break;
	default:
		s = unit * (1 + below(r, 9)) + below(r, 19) - 9;
	}
	if (s > max)
		s = max;
	return s ? s : 1;
}

static struct msg *older_write(struct build *b)
{
	struct epoch *ep = b->ep;
	unsigned int i, at;

	if (!ep->n)
		return NULL;
	at = below(&b->rng, ep->n);
	for (i = 0; i < ep->n; i++) {
		struct msg *m = &ep->m[(at + i) % ep->n];

		if ((m->op == OP_WRITE || m->op == OP_WRITE_IMM) && m->size &&
		    m->flags & (M_FRESH | M_OVER) && !(m->flags & M_FLAG))
			return m;
	}
	return NULL;
}

static struct msg *older_read(struct build *b)
{
	struct epoch *ep = b->ep;
	unsigned int i;

	for (i = ep->n; i-- > 0;)
		if (ep->m[i].op == OP_READ && ep->m[i].size)
			return &ep->m[i];
	return NULL;
}

static bool read_before(const struct build *b, uint32_t off, uint32_t len)
{
	unsigned int i;

	for (i = 0; i < b->ep->n; i++) {
		const struct msg *m = &b->ep->m[i];

		if (m->op == OP_READ && m->target < off + len && off < m->target + m->size)
			return true;
	}
	return false;
}

/* a Write of len bytes at target, which lies inside earlier Writes' bytes */
static void add_over(struct build *b, enum op op, uint32_t target, uint32_t len)
{
	bool fence = read_before(b, target, len);
	struct msg *m;
	unsigned int i;

	for (i = 0; i < b->ep->n; i++) {
		m = &b->ep->m[i];
		if (m->flags & M_FRESH && m->target < target + len &&
		    target < m->target + m->size)
			m->flags = (m->flags & ~(M_FRESH | M_POLL)) | M_OVER;
	}
	m = new_msg(b, op, len);
	m->flags |= M_OVER | (fence ? M_FENCE : 0);
	m->target = target;
	place_source(b, m);
	finish_write(b, m, one_in(b, 2));
}

static void add_write(struct build *b, enum op op, uint32_t size)
{
	struct msg *m, *old = NULL;

	if (!b->p->relaxed && one_in(b, 6))
		old = older_write(b);
	if (old) {
		uint32_t at = below(&b->rng, old->size);
		uint32_t len = 1 + below(&b->rng, old->size - at);

		if (fits(b, len)) {
			add_over(b, op, old->target + at, len);
			return;
		}
	}
	old = one_in(b, 8) ? older_read(b) : NULL;
	m = new_msg(b, op, size);
	m->flags |= M_FRESH;
	if (old) {
		const struct piece *s = &old->src[below(&b->rng, old->nsrc)];

		m->size = s->len < size ? s->len : size;
		m->flags |= M_SINK | M_FENCE;
		m->nsrc = m->size ? 1 : 0;
		m->src[0] = (struct piece){ s->off + below(&b->rng, s->len - m->size + 1),
					    m->size };
	} else {
		place_source(b, m);
	}
	m->target = fresh_target(b, m->size);
	finish_write(b, m, one_in(b, 2));
}

static void add_send(struct build *b, enum op op, uint32_t size)
{
	struct msg *m = new_msg(b, op, size), *old;

	old = one_in(b, 8) ? older_read(b) : NULL;
	if (old) {
		const struct piece *s = &old->src[0];

		m->size = s->len < size ? s->len : size;
		m->flags |= M_SINK | M_FENCE;
		m->nsrc = m->size ? 1 : 0;
		m->src[0] = (struct piece){ s->off, m->size };
	} else {
		place_source(b, m);
	}
	finish_send(b, m, one_in(b, 2));
}

static void add_read(struct build *b, uint32_t size)
{
	struct msg *m, *old = one_in(b, 4) ? older_write(b) : NULL;
	uint64_t key;
	uint32_t done = 0;
	unsigned int i;

	if (old) {
		uint32_t at = below(&b->rng, old->size);
		uint32_t len = 1 + below(&b->rng, old->size - at);

		if (fits(b, len)) {
			m = new_msg(b, OP_READ, len);
			m->target = old->target + at;
		} else {
			old = NULL;
		}
	}
	if (!old) {
		m = new_msg(b, OP_READ, size);
		m->target = fresh_target(b, size);
		m->flags |= M_FRESH;
		key = key_of(b->p->seed, b->id, m->num, 'R');
		img_put(&b->ep->ri, m->target, size, key, 0, EXT_PATTERN);
		img_put(&b->ep->rf, m->target, size, key, 0, EXT_PATTERN);
	}
	if (b->mw && one_in(b, 3))
		m->flags |= M_MW;
	m->nsrc = split_pieces(&b->rng, &b->lc, m->size, b->p->rd_sge, 0, false, m->src);
	for (i = 0; i < m->nsrc; i++) {
		img_copy(&b->ep->lf, m->src[i].off, &b->ep->rf, m->target + done, m->src[i].len);
		done += m->src[i].len;
	}
}

static void add_atomic(struct build *b, enum op op)
{
	struct msg *m = new_msg(b, op, 8);
	unsigned int c = below(&b->rng, CELLS);
	uint64_t old = b->cell[c], a = rnd(&b->rng) << 24 ^ rnd(&b->rng);

	m->target = CELL_OFF + 8 * c;
	if (op == OP_CAS) {
		m->compare = one_in(b, 2) ? a : old;
		m->swap = ~a;
		if (m->compare == old)
			b->cell[c] = m->swap;
	} else {
		m->compare = one_in(b, 4) ? 1 : a;
		b->cell[c] = old + m->compare;
	}
	if (b->mw && one_in(b, 3))
		m->flags |= M_MW;
	img_put(&b->ep->rf, m->target, 8, b->cell[c], 0, EXT_CONST);
	/* the result is a 64-bit number in host order: keep it aligned */
	b->lc = (b->lc + 7 + 8 * below(&b->rng, 4)) & ~7u;
	m->nsrc = 1;
	m->src[0] = (struct piece){ b->lc, 8 };
	b->lc += 8;
	img_put(&b->ep->lf, m->src[0].off, 8, old, 0, EXT_CONST);
}

static enum op pick_op(struct build *b)
{
	static const uint8_t weight[OP_MAX] = { 4, 3, 1, 6, 3, 5, 2, 2 };
	uint64_t mask = b->p->ops;
	uint32_t sum = 0, at;
	unsigned int i;

	if (!b->mw)
		mask &= ~(1ull << OP_SEND_INV);
	for (i = 0; i < OP_MAX; i++)
		if (mask >> i & 1)
			sum += weight[i];
	if (!sum)
		return OP_MAX;
	at = below(&b->rng, sum);
	for (i = 0; i < OP_MAX; i++) {
		if (!(mask >> i & 1))
			continue;
		if (at < weight[i])
			break;
		at -= weight[i];
	}
	return i;
}

static void make_mixed(struct build *b, unsigned int n)
{
	while (n--) {
		enum op op = pick_op(b);
		uint32_t max = b->p->max_size, size;
		bool send = op == OP_SEND || op == OP_SEND_IMM || op == OP_SEND_INV;

		if (op == OP_MAX)
			return;
		if (send && b->p->srq && max > b->p->srq_size)
			max = b->p->srq_size;
		size = pick_size(b, max);
		if (!fits(b, size) || (send && b->p->srq && b->pc + size > b->p->slice / 2))
			size = below(&b->rng, 64);
		if (!fits(b, size))
			return;
		if (send)
			add_send(b, op, size);
		else if (op == OP_WRITE || op == OP_WRITE_IMM)
			add_write(b, op, size);
		else if (op == OP_READ)
			add_read(b, size);
		else
			add_atomic(b, op);
	}
}

static uint32_t align_mod64(uint32_t at, uint32_t mod)
{
	return at + ((mod - at) & 63);
}

/* one Write that is polled, at a chosen pair of offsets modulo 64 */
static void add_polled(struct build *b, uint32_t size)
{
	uint64_t at = b->g->npoll++ + b->g->qp * 1021ull + b->g->dir * 2053ull;
	struct msg *m = new_msg(b, OP_WRITE, size);
	uint32_t last;
	uint64_t key;
	uint8_t now;

	m->flags |= M_FRESH;
	b->lc = align_mod64(b->lc + below(&b->rng, 9), at & 63);
	m->src[0].off = b->lc;
	if (b->p->sge > 1 && size > 1 && one_in(b, 6)) {
		m->src[0].len = 1 + below(&b->rng, size - 1);
		b->lc += m->src[0].len;
		m->nsrc = 1 + split_pieces(&b->rng, &b->lc, size - m->src[0].len,
					   b->p->sge - 1, 0, false, &m->src[1]);
	} else {
		m->src[0].len = size;
		b->lc += size;
		m->nsrc = 1;
	}
	b->rc = align_mod64(b->rc + below(&b->rng, 9), at >> 6 & 63);
	m->target = b->rc;
	b->rc += size;
	/* the byte that is polled must change: try keys until it does */
	now = img_byte(&b->ep->rf, m->target + size - 1);
	last = size - 1;
	key = key_of(b->p->seed, b->id, m->num, 'P');
	while (pattern_byte(key, last) == now)
		key = mix64(key + 1);
	put_source(b, m, key);
	finish_write(b, m, one_in(b, 2));
}

static void make_poll(struct build *b, unsigned int n)
{
	while (n--) {
		uint32_t size = poll_size(b);

		if (!fits(b, size))
			return;
		add_polled(b, size);
	}
}

static void add_flag(struct build *b)
{
	struct msg *m = new_msg(b, OP_WRITE, 8);

	m->flags |= M_FLAG;
	m->target = FLAG_OFF;
	b->lc += gap(&b->rng);
	m->nsrc = 1;
	m->src[0] = (struct piece){ b->lc, 8 };
	b->lc += 8;
	b->ep->nflags++;
	img_put(&b->ep->li, m->src[0].off, 8, b->ep->nflags, 0, EXT_CONST);
	img_put(&b->ep->lf, m->src[0].off, 8, b->ep->nflags, 0, EXT_CONST);
	finish_write(b, m, one_in(b, 2));
}

static void make_flag(struct build *b, unsigned int n)
{
	while (n > 1) {
		unsigned int k = 1 + below(&b->rng, n > 4 ? 3 : n - 1);

		n -= k + 1;
		while (k--) {
			uint32_t size = one_in(b, 4) ? pick_size(b, b->p->max_size) : poll_size(b);
			struct msg *m;

			if (!fits(b, size + 1024))
				return;
			m = new_msg(b, OP_WRITE, size);
			m->flags |= M_FRESH;
			place_source(b, m);
			m->target = fresh_target(b, size);
			finish_write(b, m, one_in(b, 2));
		}
		add_flag(b);
	}
}

/* areas written several times over while earlier Writes are in flight */
static void make_last(struct build *b, unsigned int n)
{
	while (n > 1) {
		uint32_t size = 1 + pick_size(b, b->p->max_size < 65536 ? b->p->max_size : 65536);
		unsigned int k = 2 + below(&b->rng, 6);
		uint32_t base;

		if (size > b->p->max_size)
			size = b->p->max_size;
		if (!size || !fits(b, size))
			return;
		base = b->rc;
		add_write(b, OP_WRITE, size);
		/* add_write may have overlapped something else instead */
		if (!(b->ep->m[b->ep->n - 1].flags & M_FRESH)) {
			n--;
			continue;
		}
		base = b->ep->m[b->ep->n - 1].target;
		size = b->ep->m[b->ep->n - 1].size;
		if (k > n)
			k = n;
		n -= k;
		while (--k && size) {
			uint32_t at = one_in(b, 3) ? 0 : below(&b->rng, size);
			uint32_t len = one_in(b, 3) ? size - at : 1 + below(&b->rng, size - at);

			if (!fits(b, len))
				return;
			if (b->p->ops >> OP_READ & 1 && one_in(b, 8))
				add_read(b, len);
			else
				add_over(b, OP_WRITE, base + at, len);
		}
	}
}

static void add_sync(struct build *b)
{
	static const uint8_t cand[] = { OP_SEND_IMM, OP_WRITE_IMM, OP_SEND, OP_SEND_INV };
	enum op op = OP_SEND;
	unsigned int i, at = below(&b->rng, 8);
	struct msg *m;

	for (i = 0; i < 4; i++) {
		unsigned int c = cand[(at + i) & 3];

		if (!(b->p->ops >> c & 1) || (c == OP_SEND_INV && !b->mw))
			continue;
		op = c;
		break;
	}
	m = new_msg(b, op, 8 + below(&b->rng, 64));
	m->flags |= M_SYNC | M_SIGNAL | M_SOLICIT;
	/* the responder changes the epoch's Read sources when this arrives */
	for (i = 0; i + 1 < b->ep->n; i++)
		if (b->ep->m[i].op == OP_READ)
			m->flags |= M_FENCE;
	place_source(b, m);
	b->ep->go_word = key_of(b->p->seed, b->id, b->ep->num, 'S');
	b->ep->stop_word = ~b->ep->go_word;
	img_put(&b->ep->li, m->src[0].off, 8, b->ep->go_word, 0, EXT_CONST);
	img_put(&b->ep->lf, m->src[0].off, 8, b->ep->go_word, 0, EXT_CONST);
	if (op == OP_WRITE_IMM) {
		m->flags |= M_FRESH;
		m->target = fresh_target(b, m->size);
		finish_write(b, m, false);
	} else {
		finish_send(b, m, false);
	}
}

/* turn the epoch's last message into the one that announces the end */
void epoch_set_stop(const struct params *p, struct epoch *ep)
{
	const struct msg *m = &ep->m[ep->n - 1];
	uint64_t w = ep->stop_word;

	img_put(&ep->li, m->src[0].off, 8, w, 0, EXT_CONST);
	img_put(&ep->lf, m->src[0].off, 8, w, 0, EXT_CONST);
	if (m->op == OP_WRITE_IMM)
		img_put(&ep->rf, m->target, 8, w, 0, EXT_CONST);
	else if (p->srq)
		img_put(&ep->pay, m->pay, 8, w, 0, EXT_CONST);
	else
		img_put(&ep->rf, m->rcv[0].off, 8, w, 0, EXT_CONST);
}

void gen_init(struct gen *g, const struct params *p, unsigned int qp,
	      unsigned int dir, unsigned int inline_max)
{
	memset(g, 0, sizeof(*g));
	g->p = p;
	g->qp = qp;
	g->dir = dir;
	g->inline_max = inline_max;
}

static enum mode pick_mode(struct build *b)
{
	enum mode m = b->p->mode;

	if (m == MODE_ALL) {
		/* draw always, so that the rest does not depend on it */
		static const uint8_t some[8] = {
			MODE_MIXED, MODE_MIXED, MODE_MIXED, MODE_MIXED,
			MODE_MIXED, MODE_POLL, MODE_FLAG, MODE_LAST,
		};

		m = some[below(&b->rng, 8)];
	}
	if (!(b->p->ops >> OP_WRITE & 1) || (b->p->relaxed && m != MODE_POLL))
		m = MODE_MIXED;
	return m;
}

void gen_epoch(struct gen *g, struct epoch *ep)
{
	const struct params *p = g->p;
	struct build b = { .g = g, .p = p, .ep = ep };
	unsigned int slice = g->epoch % p->slices, n, i;
	uint64_t guard;

	b.id = g->qp * 2 + g->dir;
	b.rng = key_of(p->seed, b.id, g->epoch, 'E');
	b.lc = SLICE_HEAD;
	b.rc = SLICE_HEAD;
	ep->num = g->epoch++;
	ep->n = 0;
	ep->nrecv = 0;
	ep->nflags = 0;
	ep->inv = false;
	guard = key_of(p->seed, b.id, slice, 'L');
	img_reset(&ep->li, p->slice, guard);
	img_reset(&ep->lf, p->slice, guard);
	guard = key_of(p->seed, b.id, slice, 'G');
	img_reset(&ep->ri, p->slice, guard);
	img_reset(&ep->rf, p->slice, guard);
	img_reset(&ep->pay, p->slice, 0);
	for (i = 0; i < CELLS; i++) {
		b.cell[i] = key_of(p->seed, b.id, ep->num, 0x100 + i);
		img_put(&ep->ri, CELL_OFF + 8 * i, 8, b.cell[i], 0, EXT_CONST);
		img_put(&ep->rf, CELL_OFF + 8 * i, 8, b.cell[i], 0, EXT_CONST);
	}
	img_put(&ep->ri, FLAG_OFF, 8, 0, 0, EXT_CONST);
	img_put(&ep->rf, FLAG_OFF, 8, 0, 0, EXT_CONST);
	if (p->window) {
		if (g->mw_gone[slice]) {
			g->mw_gone[slice] = false;
			g->mw_tag[slice]++;
		}
		b.mw = true;
		ep->mw_tag = g->mw_tag[slice];
	}
	ep->mode = pick_mode(&b);
	n = one_in(&b, 4) ? 1 + below(&b.rng, 4) : 1 + below(&b.rng, p->epoch_msgs);
	if (n > p->epoch_msgs)
		n = p->epoch_msgs;
	switch (ep->mode) {
	case MODE_POLL:
		make_poll(&b, n);
		break;
	case MODE_FLAG:
		make_flag(&b, n);
		break;
	case MODE_LAST:
		make_last(&b, n);
		break;
	default:
		make_mixed(&b, n);
	}
	add_sync(&b);
	if (ep->inv)
		g->mw_gone[slice] = true;
	ep->lhi = b.lc;
	ep->rhi = b.rc;
}

void epoch_free(struct epoch *ep)
{
	if (!ep)
		return;
	img_free(&ep->li);
	img_free(&ep->lf);
	img_free(&ep->ri);
	img_free(&ep->rf);
	img_free(&ep->pay);
	free(ep);
}
