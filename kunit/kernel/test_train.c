// SPDX-License-Identifier: GPL-2.0
/*
 * The segmenter's refusal of what is not a train of ours, the guard that keeps trains from devices
 * that would take them for something else, and which pages become fragments of a packet.
 */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/udp.h>

#include "../../drivers/mroce/net/internal.h"

#define PSIZE	1024
#define COUNT	4

/* ---- the segmenter ---- */

/* As a packet socket may send one: a frame of our ethertype with GSO fields. It can be cut. */
static struct sk_buff *frame(struct kunit *test, struct net_device *dev)
{
	struct sk_buff *skb = alloc_skb(COUNT * PSIZE + 256, GFP_KERNEL);
	struct mroce_wire_data *w;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, 128);
	skb->dev = dev;
	skb->protocol = htons(MROCE_ETHERTYPE);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	w = skb_put_zero(skb, sizeof(*w));
	w->base.version = MROCE_WIRE_VERSION;
	w->base.type = MROCE_T_DATA;
	w->opcode = MROCE_OP_SEND;
	w->psize = cpu_to_be16(PSIZE);
	w->length = cpu_to_be32(COUNT * PSIZE);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, sizeof(*w));
	skb_put_zero(skb, COUNT * PSIZE);
	skb_shinfo(skb)->gso_size = PSIZE;
	skb_shinfo(skb)->gso_segs = COUNT;
	skb_shinfo(skb)->gso_type = MROCE_GSO_TYPE;
	return skb;
}

/* How many packets it becomes, or the error. Frees it. */
static int cut(struct sk_buff *skb)
{
	struct sk_buff *list = skb_gso_segment(skb, NETIF_F_SG | NETIF_F_HW_CSUM), *seg, *next;
	int n = 0;

	if (IS_ERR_OR_NULL(list)) {
		kfree_skb(skb);
		return list ? PTR_ERR(list) : 0;
	}
	skb_list_walk_safe(list, seg, next) {
		n++;
		kfree_skb(seg);
	}
	consume_skb(skb);
	return n;
}

static struct mroce_wire_data *header(struct sk_buff *skb)
{
	return (struct mroce_wire_data *)skb->data;
}

static void forged_frames_are_refused(struct kunit *test)
{
	struct net_device *dev = alloc_etherdev(0);
	struct sk_buff *skb;

	KUNIT_ASSERT_NOT_NULL(test, dev);
	KUNIT_EXPECT_EQ(test, cut(frame(test, dev)), COUNT);

	skb = frame(test, dev);
	skb_shinfo(skb)->gso_type |= SKB_GSO_DODGY;
	KUNIT_EXPECT_EQ(test, cut(skb), -EINVAL);

	skb = frame(test, dev);
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_TUNNEL_CSUM;
	KUNIT_EXPECT_EQ(test, cut(skb), -EINVAL);

	skb = frame(test, dev);
	skb_shinfo(skb)->gso_type = SKB_GSO_TCPV4;
	KUNIT_EXPECT_EQ(test, cut(skb), -EINVAL);

	/* not at our header's end */
	skb = frame(test, dev);
	skb_set_network_header(skb, ETH_HLEN);
	KUNIT_EXPECT_EQ(test, cut(skb), -EINVAL);

	skb = frame(test, dev);
	header(skb)->base.type = MROCE_T_UC;
	KUNIT_EXPECT_EQ(test, cut(skb), -EINVAL);

	skb = frame(test, dev);
	header(skb)->psize = cpu_to_be16(PSIZE / 2);
	KUNIT_EXPECT_EQ(test, cut(skb), -EINVAL);
	free_netdev(dev);
}

/*
 * A NIC that segments whatever it can behind a tunnel's header does not say that it knows SCTP
 * there, and gets no train; veth says that it passes everything.
 */
static void no_nic_takes_a_train(struct kunit *test)
{
	const netdev_features_t nic = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_FRAGLIST |
				      (NETIF_F_GSO_MASK & ~NETIF_F_GSO_SCTP);
	struct sk_buff *skb = mroce_packet_alloc(MROCE_TRAIN_HEADER);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_zero(skb, MROCE_TRAIN_HEADER);
	mroce_train_mark(skb, 0, PSIZE, COUNT);
	KUNIT_EXPECT_FALSE(test, skb_gso_ok(skb, nic));
	KUNIT_EXPECT_TRUE(test, skb_gso_ok(skb, nic | NETIF_F_GSO_SCTP));
	kfree_skb(skb);
}

/* ---- pages ---- */

static void expect_bytes(struct kunit *test, const struct sk_buff *skb, u8 first, unsigned int len)
{
	u8 *got = kunit_kzalloc(test, len, GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, got);
	KUNIT_EXPECT_EQ(test, skb->len, len);
	KUNIT_ASSERT_EQ(test, skb_copy_bits(skb, 0, got, len), 0);
	for (i = 0; i < len && got[i] == (u8)(first + i); i++)
		;
	KUNIT_EXPECT_EQ_MSG(test, i, len, "byte %u is another", i);
}

static void number(u8 *p, u8 first, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		p[i] = first + i;
}

static struct sk_buff *packet_of(struct kunit *test, void *p, unsigned int len)
{
	struct sk_buff *skb = mroce_packet_alloc(0);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_ASSERT_EQ(test, mroce_packet_add(skb, virt_to_page(p), offset_in_page(p), len, true),
			0);
	return skb;
}

/* The program may write again, or unmap it, while it is on its way: that is its own affair. */
static void counted_pages_are_referred_to(struct kunit *test)
{
	struct page *page = alloc_page(GFP_KERNEL);
	struct sk_buff *skb;
	u8 *p;

	KUNIT_ASSERT_NOT_NULL(test, page);
	p = page_address(page);
	number(p, 1, 500);
	skb = packet_of(test, p + 16, 400);
	KUNIT_EXPECT_EQ(test, page_count(page), 2);
	KUNIT_EXPECT_TRUE(test, skb_shinfo(skb)->flags & SKBFL_SHARED_FRAG);
	number(p, 77, 500);
	expect_bytes(test, skb, 77 + 16, 400);
	kfree_skb(skb);
	KUNIT_EXPECT_EQ(test, page_count(page), 1);
	__free_page(page);
}

/* What kfree() gives to somebody else at once must have been copied: small, and over a page. */
static void slab_memory_is_copied(struct kunit *test)
{
	static const unsigned int sizes[] = { 64, 2000, 6000 };
	struct sk_buff *skb;
	unsigned int i;
	u8 *p;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		p = kmalloc(sizes[i], GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, p);
		number(p, 1, sizes[i]);
		skb = packet_of(test, p, sizes[i]);
		number(p, 77, sizes[i]);
		expect_bytes(test, skb, 1, sizes[i]);
		kfree_skb(skb);
		kfree(p);
	}
}

static void uncounted_pages_are_copied(struct kunit *test)
{
	struct page *page = alloc_page(GFP_KERNEL);
	struct sk_buff *skb;
	u8 *p;

	KUNIT_ASSERT_NOT_NULL(test, page);
	p = page_address(page);
	number(p, 1, PAGE_SIZE);
	/* as pages are that belong to no allocator */
	KUNIT_ASSERT_TRUE(test, page_ref_freeze(page, 1));
	skb = packet_of(test, p, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, page_count(page), 0);
	page_ref_unfreeze(page, 1);
	number(p, 77, PAGE_SIZE);
	expect_bytes(test, skb, 1, PAGE_SIZE);
	kfree_skb(skb);
	__free_page(page);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(forged_frames_are_refused),
	KUNIT_CASE(no_nic_takes_a_train),
	KUNIT_CASE(counted_pages_are_referred_to),
	KUNIT_CASE(slab_memory_is_copied),
	KUNIT_CASE(uncounted_pages_are_copied),
	{}
};

static int suite_init(struct kunit_suite *suite)
{
	return mroce_segment_init();
}

static void suite_exit(struct kunit_suite *suite)
{
	mroce_segment_exit();
}

static struct kunit_suite mroce_train_suite = {
	.name = "mroce_train",
	.suite_init = suite_init,
	.suite_exit = suite_exit,
	.test_cases = cases,
};

kunit_test_suite(mroce_train_suite);
