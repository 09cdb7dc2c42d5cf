// SPDX-License-Identifier: GPL-2.0
/*
 * The last bytes of a message are stored last ([M8]): whatever memcpy() does first, a program that
 * polls the word that ends its buffer finds all the rest there.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "../../drivers/mroce/verbs/verbs.h"
#include "test_access.h"

#define STEPS		3
#define LONGEST		(PAGE_SIZE + 200)

/* ---- in the place of what access.c calls ---- */

/* the word that a program polls, what is in it before, and how many copies changed it */
static struct {
	const u8 *at;
	unsigned int unit;
	u8 before[8];
	unsigned int early;
} polled;

/* From the end, as the real one may. */
void *mroce_test_memcpy(void *dst, const void *src, size_t n)
{
	size_t i = n;

	while (i--)
		((u8 *)dst)[i] = ((const u8 *)src)[i];
	if (polled.at && memcmp(polled.at, polled.before, polled.unit))
		polled.early++;
	return dst;
}

struct mroce_mr *mroce_mr_get(struct mroce_dev *dev, struct ib_pd *pd, u32 key, int access,
			      u64 addr, u64 len, enum mroce_reason *reason)
{
	return NULL;
}

void mroce_mr_put(struct mroce_mr *mr)
{
}

/* ---- a region of pages apart ---- */

struct region {
	struct mroce_mr mr;
	void *base[STEPS];
	u8 *source;
};

static u8 *at(struct region *r, u64 off)
{
	return (u8 *)r->base[off >> PAGE_SHIFT] + offset_in_page(off);
}

static struct region *region(struct kunit *test)
{
	struct region *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	for (i = 0; i < STEPS; i++) {
		/* twice a page and aligned to that: the next one is never its neighbour */
		r->base[i] = kunit_kmalloc(test, 2 * PAGE_SIZE, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, r->base[i]);
	}
	r->source = kunit_kmalloc(test, LONGEST, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, r->source);
	for (i = 0; i < LONGEST; i++)
		r->source[i] = i % 251 + 1;
	r->mr.base = r->base;
	r->mr.shift = PAGE_SHIFT;
	r->mr.npages = STEPS;
	r->mr.length = STEPS * PAGE_SIZE;
	return r;
}

/* the longest aligned word of 8, 4, 2 or 1 bytes that ends [@off, @off + @len) */
static void poll_end(struct region *r, u64 off, unsigned int len)
{
	u64 end = off + len;

	for (polled.unit = 8; polled.unit > len || end % polled.unit;)
		polled.unit /= 2;
	polled.at = at(r, end - polled.unit);
	polled.early = 0;
	memset(polled.before, 0, sizeof(polled.before));
}

static bool arrived(struct region *r, u64 off, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		if (*at(r, off + i) != r->source[i])
			return false;
	return !*at(r, off + len) && (!off || !*at(r, off - 1));
}

static void clear(struct region *r)
{
	u32 i;

	polled.at = NULL;
	for (i = 0; i < STEPS; i++)
		memset(r->base[i], 0, PAGE_SIZE);
}

/* The bytes in the linear part, the rest in one of frag_list. */
static struct sk_buff *packet(struct kunit *test, struct region *r, unsigned int len)
{
	struct sk_buff *skb = alloc_skb(len, GFP_KERNEL), *more = alloc_skb(len, GFP_KERNEL);
	unsigned int head = len - len / 3;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_ASSERT_NOT_NULL(test, more);
	skb_put_data(skb, r->source, head);
	skb_put_data(more, r->source + head, len - head);
	skb_shinfo(skb)->frag_list = more;
	skb->len += more->len;
	skb->data_len += more->len;
	return skb;
}

/* ---- tests ---- */

static const unsigned int lengths[] = { 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 31, 64, 65, 200, LONGEST };

static void last_bytes_last(struct kunit *test)
{
	struct region *r = region(test);
	struct sk_buff *skb;
	unsigned int i, len;
	u64 off;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		len = lengths[i];
		skb = packet(test, r, len);
		/* around the end of a page, and so with every alignment of beginning and end */
		for (off = PAGE_SIZE - 72; off < PAGE_SIZE + 8; off++) {
			clear(r);
			poll_end(r, off, len);
			mroce_mr_from_skb(&r->mr, off, skb, 0, len, true);
			KUNIT_EXPECT_EQ_MSG(test, polled.early, 0, "%u bytes at %llu", len, off);
			KUNIT_EXPECT_TRUE(test, arrived(r, off, len));

			clear(r);
			poll_end(r, off, len);
			mroce_mr_write_last(&r->mr, off, r->source, len);
			KUNIT_EXPECT_EQ_MSG(test, polled.early, 0, "%u bytes at %llu", len, off);
			KUNIT_EXPECT_TRUE(test, arrived(r, off, len));
		}
		polled.at = NULL;
		kfree_skb(skb);
	}
}

/* In the middle of a message nobody looks: one copy, and the test above would see it. */
static void the_middle_is_copied_at_once(struct kunit *test)
{
	struct region *r = region(test);
	struct sk_buff *skb = packet(test, r, 200);

	clear(r);
	poll_end(r, 64, 200);
	mroce_mr_from_skb(&r->mr, 64, skb, 0, 200, false);
	KUNIT_EXPECT_GT(test, polled.early, 0);
	KUNIT_EXPECT_TRUE(test, arrived(r, 64, 200));
	polled.at = NULL;
	kfree_skb(skb);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(last_bytes_last),
	KUNIT_CASE(the_middle_is_copied_at_once),
	{}
};

static struct kunit_suite mroce_access_suite = {
	.name = "mroce_access",
	.test_cases = cases,
};

kunit_test_suite(mroce_access_suite);
