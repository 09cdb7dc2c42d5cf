// SPDX-License-Identifier: GPL-2.0
/*
 * --selftest: the plan generator against itself, without a device. The epochs
 * are executed by plain memory copies, in order, and the memory compared with
 * the images; so a fault of the generator cannot pass as one of a device.
 */
#include <stdlib.h>
#include <string.h>
#include "load.h"

struct seen {
	uint64_t ops[OP_MAX], modes[MODE_MAX], pairs, zero, one, edge, big, over, raw, sink, mw,
		 inv, flag, polled, split, live;
	uint8_t pair[64 * 64];
};

static int errors;

#define EXPECT(cond, ...) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "selftest: " __VA_ARGS__);		\
		fputc('\n', stderr);					\
		errors++;						\
	}								\
} while (0)

static struct params base_params(uint64_t seed)
{
	struct params p = {
		.seed = seed, .qps = 2, .ops = (1 << OP_MAX) - 1, .sge = 8, .rd_sge = 8,
		.max_size = 65536, .slice = 512 << 10, .slices = 4, .lag = 2, .unit = 1024,
		.epoch_msgs = 48, .window = 1, .srq_size = 8192, .srq_slots = 64, .zero_sge = 1,
	};

	return p;
}

/* gathers from, scatters to; len bytes */
static void copy_pieces(uint8_t *to, const struct piece *tp, const uint8_t *from,
			const struct piece *fp, uint32_t len)
{
	uint32_t a = 0, b = 0;

	while (len--) {
		while (a == tp->len) {
			tp++;
			a = 0;
		}
		while (b == fp->len) {
			fp++;
			b = 0;
		}
		to[tp->off + a++] = from[fp->off + b++];
	}
}

static void execute(const struct params *p, const struct msg *m, uint8_t *loc, uint8_t *rem,
		    uint8_t *pay)
{
	struct piece t = { m->target, m->size }, y = { m->pay, m->size };
	uint64_t v, old;

	switch (m->op) {
	case OP_READ:
		copy_pieces(loc, m->src, rem, &t, m->size);
		break;
	case OP_WRITE:
	case OP_WRITE_IMM:
		copy_pieces(rem, &t, loc, m->src, m->size);
		break;
	case OP_CAS:
	case OP_FADD:
		memcpy(&old, rem + m->target, 8);
		v = m->op == OP_FADD ? old + m->compare : old == m->compare ? m->swap : old;
		memcpy(rem + m->target, &v, 8);
		memcpy(loc + m->src[0].off, &old, 8);
		break;
	default:
		if (p->srq)
			copy_pieces(pay, &y, loc, m->src, m->size);
		else
			copy_pieces(rem, m->rcv, loc, m->src, m->size);
	}
}

static void note_msg(struct seen *sn, const struct params *p, const struct epoch *ep,
		     const struct msg *m)
{
	uint32_t k = m->size % p->unit;

	sn->ops[m->op]++;
	sn->zero += !m->size;
	sn->one += m->size == 1;
	sn->edge += m->size > 2 && (k == 0 || k == 1 || k == p->unit - 1);
	sn->big += m->size == p->max_size;
	sn->over += !!(m->flags & M_OVER);
	sn->sink += !!(m->flags & M_SINK);
	sn->raw += m->op == OP_READ && !(m->flags & M_FRESH);
	sn->mw += !!(m->flags & M_MW);
	sn->flag += !!(m->flags & M_FLAG);
	sn->polled += !!(m->flags & M_POLL);
	sn->split += m->nsrc > 1;
	if (ep->mode == MODE_POLL && m->flags & M_POLL) {
		uint8_t *c = &sn->pair[(m->src[0].off & 63) * 64 + (m->target & 63)];

		sn->pairs += !*c;
		*c = 1;
	}
}

static void check_msg(const struct params *p, const struct epoch *ep, const struct msg *m)
{
	uint32_t sum = 0, room = 0;
	unsigned int i;

	for (i = 0; i < m->nsrc; i++) {
		sum += m->src[i].len;
		EXPECT(m->src[i].off >= SLICE_HEAD && m->src[i].off + m->src[i].len <= ep->lhi,
		       "source outside of its slice");
	}
	for (i = 0; i < m->nrcv; i++) {
		room += m->rcv[i].len;
		EXPECT(m->rcv[i].off + m->rcv[i].len <= ep->rhi, "receive outside of its slice");
	}
	EXPECT(sum == m->size, "message %lu: pieces of %u bytes, size %u",
	       (unsigned long)m->num, sum, m->size);
	EXPECT(m->nsrc <= p->sge && m->nrcv <= p->sge, "too many pieces");
	EXPECT(m->op > OP_SEND_INV || p->srq || room >= m->size, "receive too small");
	EXPECT(m->op <= OP_SEND_INV || m->target + m->size <= ep->rhi, "target outside");
	EXPECT(ep->lhi + SLICE_TAIL / 2 < p->slice && ep->rhi + SLICE_TAIL / 2 < p->slice,
	       "slice too full: %u %u of %lu", ep->lhi, ep->rhi, (unsigned long)p->slice);
	EXPECT(!(m->flags & M_POLL) || (m->size && !p->relaxed), "polling what cannot be polled");
}

static void play(const struct params *p, unsigned int epochs, struct seen *sn)
{
	struct epoch *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	uint8_t *loc = malloc(p->slice), *rem = malloc(p->slice), *pay = calloc(1, p->slice);
	struct gen ga, gb;
	struct miss ms;
	unsigned int i, j, e;

	gen_init(&ga, p, 1, 0, 236);
	gen_init(&gb, p, 1, 0, 0);
	for (e = 0; e < epochs && !errors; e++) {
		gen_epoch(&ga, a);
		gen_epoch(&gb, b);
		EXPECT(a->n == b->n && a->lhi == b->lhi && a->rhi == b->rhi, "the ends differ");
		for (i = 0; i < a->n; i++) {
			struct msg *x = &a->m[i], *y = &b->m[i];

			EXPECT(x->num == y->num && x->op == y->op && x->size == y->size &&
			       x->imm == y->imm && x->target == y->target &&
			       (x->flags & ~M_INLINE) == (y->flags & ~M_INLINE) &&
			       x->compare == y->compare && x->swap == y->swap, "the ends differ");
		}
		if (e % 7 == 3) {
			epoch_set_stop(p, a);
			epoch_set_stop(p, b);
		}
		img_fill(&a->li, loc, 0, p->slice);
		img_fill(&b->ri, rem, 0, p->slice);
		for (i = 0; i < a->n; i++) {
			struct msg *m = &a->m[i];

			check_msg(p, a, m);
			note_msg(sn, p, a, m);
			if (m->flags & M_POLL)
				EXPECT(rem[m->target + m->size - 1] !=
				       img_byte(&b->rf, m->target + m->size - 1),
				       "the polled byte does not change");
			execute(p, m, loc, rem, pay);
			for (j = 0; m->flags & M_INLINE && j < m->nsrc; j++)
				img_fill(&a->lf, loc, m->src[j].off, m->src[j].len);
			if (p->srq && m->op <= OP_SEND_INV)
				EXPECT(img_check(&b->pay, pay + m->pay, m->pay, m->size, &ms),
				       "payload differs from its image");
		}
		sn->modes[a->mode]++;
		sn->inv += a->inv;
		EXPECT(img_check(&a->lf, loc, 0, p->slice, &ms), "epoch %u: local image, at %lu", e,
		       (unsigned long)ms.off);
		EXPECT(img_check(&b->rf, rem, 0, p->slice, &ms), "epoch %u: remote image, at %lu",
		       e, (unsigned long)ms.off);
		i = key_of(p->seed, e, 1, 2) % p->slice;
		rem[i] ^= 1;
		EXPECT(!img_check(&b->rf, rem, 0, p->slice, &ms) && ms.off == i && ms.count == 1 &&
		       ms.got == rem[i], "a changed byte was not found");
	}
	epoch_free(a);
	epoch_free(b);
	free(loc);
	free(rem);
	free(pay);
}

static void same_seed_same_plan(uint64_t seed)
{
	struct params p = base_params(seed), other = base_params(seed + 1);
	struct epoch *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	unsigned int i, same = 0, n = 0;
	struct gen ga, gb;

	gen_init(&ga, &p, 0, 0, 0);
	gen_init(&gb, &other, 0, 0, 0);
	for (i = 0; i < 20; i++) {
		gen_epoch(&ga, a);
		gen_epoch(&gb, b);
		same += a->n == b->n && a->m[0].size == b->m[0].size;
		n++;
	}
	EXPECT(same < n / 2, "different seeds give one plan");
	epoch_free(a);
	epoch_free(b);
}

int selftest(uint64_t seed)
{
	struct seen *sn = calloc(1, sizeof(*sn)), *rest = calloc(1, sizeof(*rest));
	struct params p = base_params(seed);
	unsigned int i;

	if (!sn || !rest)
		return EXIT_SETUP;
	same_seed_same_plan(seed);
	play(&p, 600, sn);
	for (i = 0; i < OP_MAX; i++)
		EXPECT(sn->ops[i], "%s never came", op_name(i));
	for (i = MODE_MIXED; i < MODE_MAX; i++)
		EXPECT(sn->modes[i], "mode %s never came", mode_name(i));
	EXPECT(sn->zero && sn->one && sn->edge && sn->big, "sizes: %lu zero, %lu one, %lu k*unit, %lu largest",
	       (unsigned long)sn->zero, (unsigned long)sn->one, (unsigned long)sn->edge,
	       (unsigned long)sn->big);
	EXPECT(sn->over && sn->raw && sn->sink && sn->mw && sn->inv && sn->flag && sn->polled &&
	       sn->split, "some kind never came");
	for (p.srq = 0; p.srq < 2; p.srq++) {
		for (p.relaxed = 0; p.relaxed < 2; p.relaxed++) {
			p.window = p.srq ^ p.relaxed;
			play(&p, 200, rest);
		}
	}
	p = base_params(seed + 7);
	p.mode = MODE_POLL;
	p.epoch_msgs = MAX_EPOCH;
	p.slice = 4 << 20;
	memset(rest, 0, sizeof(*rest));
	play(&p, 60, rest);
	EXPECT(rest->pairs == 64 * 64, "only %lu of 4096 pairs of offsets were polled",
	       (unsigned long)rest->pairs);
	p = base_params(seed + 8);
	p.ops = 1 << OP_READ;
	p.sge = 1;
	p.rd_sge = 1;
	p.max_size = 1;
	p.window = 0;
	play(&p, 50, rest);
	free(sn);
	free(rest);
	printf("selftest: %s\n", errors ? "FAILED" : "passed");
	return errors ? EXIT_BAD : 0;
}
