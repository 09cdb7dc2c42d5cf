// SPDX-License-Identifier: GPL-2.0
/*
 * What GRO makes of packets, and what the stack makes of that again. Packets are made by hand as a
 * NIC delivers them, and given to mroce_gro_receive() as the core does, which is asked for its
 * answer only: what it holds back, and what it lets go. Whatever was joined, cutting it must give
 * the same packets in the same order, to the byte: a router cuts what it has joined.
 */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/skbuff.h>
#include <net/gro.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/udp.h>

#include "../../drivers/mroce/net/internal.h"

#define PSIZE	1024
#define MOST	(MROCE_TRAIN_MAX + 2)

struct gro_env {
	struct net_device *dev;
	struct sock *sk;
	struct list_head held;
	/* what was given, as it was on the wire, and what came out */
	u8 *wire[MOST];
	unsigned int len[MOST], sent;
	struct sk_buff_head out;
};

/* A packet of a message that has @of of them. */
struct packet {
	bool v6, linear, no_sum;
	u8 tos, ttl, type, flags;
	u16 id, frag_off, psize;
	u32 index, of;
	unsigned int payload;
};

static struct packet nth(bool v6, u32 i, u32 of)
{
	return (struct packet){
		.v6 = v6, .tos = INET_ECN_ECT_0, .ttl = 64, .type = MROCE_T_DATA,
		.id = i, .frag_off = IP_DF, .psize = PSIZE, .index = i, .of = of,
		.payload = PSIZE,
	};
}

static unsigned int lower(bool v6)
{
	return (v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)) + sizeof(struct udphdr);
}

static void put_data(struct sk_buff *skb, const struct packet *p)
{
	struct mroce_wire_data *w = skb_put_zero(skb, sizeof(*w));

	w->base.version = MROCE_WIRE_VERSION;
	w->base.type = p->type;
	w->base.path = 3;
	w->base.number = cpu_to_be32(100);
	w->base.id = cpu_to_be64(0x1122334455667788ULL);
	w->stream = cpu_to_be32(9);
	w->spn = cpu_to_be32(0xfffffffe);
	w->length = cpu_to_be32(p->of * PSIZE);
	w->addr = cpu_to_be64(0x7f0000000100ULL);
	w->rkey = cpu_to_be32(0x1234);
	w->opcode = MROCE_OP_WRITE;
	w->flags = MROCE_F_FIRST | MROCE_F_LAST;
	w->psize = cpu_to_be16(PSIZE);
	mroce_cut_data(w, p->index, p->of);
	w->psize = cpu_to_be16(p->psize);
	w->flags |= p->flags;
}

/* The payload differs from packet to packet. */
static void put_payload(struct kunit *test, struct sk_buff *skb, const struct packet *p)
{
	struct page *page;
	u8 *to;
	u32 i;

	if (p->linear) {
		to = skb_put(skb, p->payload);
	} else {
		page = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, page);
		to = page_address(page);
		skb_add_rx_frag(skb, 0, page, 0, p->payload, PAGE_SIZE);
	}
	for (i = 0; i < p->payload; i++)
		to[i] = i * 7 + p->index;
}

static __sum16 sum_of(const struct sk_buff *skb, bool v6)
{
	unsigned int off = skb_transport_offset(skb), len = skb->len - off;
	__wsum sum = skb_checksum(skb, off, len, 0);

	if (v6)
		return csum_ipv6_magic(&ipv6_hdr(skb)->saddr, &ipv6_hdr(skb)->daddr, len,
				       IPPROTO_UDP, sum);
	return csum_tcpudp_magic(ip_hdr(skb)->saddr, ip_hdr(skb)->daddr, len, IPPROTO_UDP, sum);
}

static void push_ip(struct sk_buff *skb, const struct packet *p)
{
	unsigned int len = skb->len;
	struct ipv6hdr *ip6;
	struct iphdr *ip;

	if (p->v6) {
		ip6 = skb_push(skb, sizeof(*ip6));
		ip6_flow_hdr(ip6, p->tos, 0);
		ip6->payload_len = htons(len);
		ip6->nexthdr = IPPROTO_UDP;
		ip6->hop_limit = p->ttl;
		ipv6_addr_set(&ip6->saddr, htonl(0xfd090000), 0, 0, htonl(1));
		ipv6_addr_set(&ip6->daddr, htonl(0xfd090000), 0, 0, htonl(2));
	} else {
		ip = skb_push(skb, sizeof(*ip));
		memset(ip, 0, sizeof(*ip));
		ip->version = 4;
		ip->ihl = 5;
		ip->tos = p->tos;
		ip->tot_len = htons(skb->len);
		ip->id = htons(p->id);
		ip->frag_off = htons(p->frag_off);
		ip->ttl = p->ttl;
		ip->protocol = IPPROTO_UDP;
		ip->saddr = htonl(0x0a090001);
		ip->daddr = htonl(0x0a090002);
		ip_send_check(ip);
	}
	skb_reset_network_header(skb);
	skb->protocol = htons(p->v6 ? ETH_P_IPV6 : ETH_P_IP);
}

static struct sk_buff *make(struct kunit *test, struct gro_env *e, const struct packet *p)
{
	struct sk_buff *skb = alloc_skb(256 + (p->linear ? p->payload : 0), GFP_KERNEL);
	struct udphdr *uh;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb->dev = e->dev;
	skb_reserve(skb, 128);
	put_data(skb, p);
	put_payload(test, skb, p);
	uh = skb_push(skb, sizeof(*uh));
	*uh = (struct udphdr){ htons(0xc123), htons(MROCE_PORT), htons(skb->len), 0 };
	skb_reset_transport_header(skb);
	push_ip(skb, p);
	uh = udp_hdr(skb);
	if (!p->no_sum)
		uh->check = sum_of(skb, p->v6) ?: CSUM_MANGLED_0;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	return skb;
}

/* ---- what the core does around us ---- */

/* The headers of what was joined, as UDP and IP complete them. */
static void completed(struct gro_env *e, struct sk_buff *skb, bool v6)
{
	unsigned int off = lower(v6) - sizeof(struct udphdr), len = skb->len - off;
	struct udphdr *uh = (struct udphdr *)(skb->data + off);

	list_del_init(&skb->list);
	if (NAPI_GRO_CB(skb)->count == 1) {
		skb_shinfo(skb)->gso_size = 0;
	} else {
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_TUNNEL_CSUM;
		skb->encapsulation = 1;
		uh->len = htons(len);
		if (v6) {
			uh->check = ~csum_ipv6_magic(&ipv6_hdr(skb)->saddr, &ipv6_hdr(skb)->daddr,
						     len, IPPROTO_UDP, 0);
			ipv6_hdr(skb)->payload_len = htons(len);
		} else {
			uh->check = ~csum_tcpudp_magic(ip_hdr(skb)->saddr, ip_hdr(skb)->daddr,
						       len, IPPROTO_UDP, 0);
			ip_hdr(skb)->tot_len = htons(skb->len);
			ip_send_check(ip_hdr(skb));
		}
		mroce_gro_complete(e->sk, skb, lower(v6));
	}
	__skb_queue_tail(&e->out, skb);
}

/* One packet from the NIC. All are of one flow: addresses and ports are the stack's to compare. */
static void give(struct kunit *test, struct gro_env *e, const struct packet *p)
{
	struct sk_buff *skb = make(test, e, p), *pp, *held;

	KUNIT_ASSERT_LT(test, e->sent, MOST);
	e->len[e->sent] = skb->len;
	e->wire[e->sent] = kunit_kzalloc(test, skb->len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e->wire[e->sent]);
	KUNIT_ASSERT_EQ(test, skb_copy_bits(skb, 0, e->wire[e->sent], skb->len), 0);
	e->sent++;

	e->sk->sk_family = p->v6 ? AF_INET6 : AF_INET;
	memset(skb->cb, 0, sizeof(skb->cb));
	NAPI_GRO_CB(skb)->count = 1;
	NAPI_GRO_CB(skb)->data_offset = lower(p->v6);
	list_for_each_entry(held, &e->held, list)
		NAPI_GRO_CB(held)->same_flow = 1;

	pp = mroce_gro_receive(e->sk, &e->held, skb);
	if (pp)
		completed(e, pp, p->v6);
	if (NAPI_GRO_CB(skb)->same_flow) {
		if (NAPI_GRO_CB(skb)->free)
			kfree_skb(skb);
	} else if (NAPI_GRO_CB(skb)->flush) {
		/* it would overtake what is held */
		KUNIT_EXPECT_TRUE(test, list_empty(&e->held));
		__skb_queue_tail(&e->out, skb);
	} else {
		NAPI_GRO_CB(skb)->last = skb;
		skb_shinfo(skb)->gso_size = skb_gro_len(skb);
		list_add(&skb->list, &e->held);
	}
}

static void flush(struct gro_env *e, bool v6)
{
	struct sk_buff *skb, *next;

	list_for_each_entry_safe(skb, next, &e->held, list)
		completed(e, skb, v6);
}

/* ---- what is expected ---- */

static void expect_packet(struct kunit *test, struct gro_env *e, const struct sk_buff *skb,
			  unsigned int i)
{
	u8 *got = kunit_kzalloc(test, skb->len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, got);
	KUNIT_ASSERT_LT(test, i, e->sent);
	KUNIT_EXPECT_EQ(test, skb->len, e->len[i]);
	if (skb->len != e->len[i])
		return;
	KUNIT_ASSERT_EQ(test, skb_copy_bits(skb, 0, got, skb->len), 0);
	KUNIT_EXPECT_TRUE_MSG(test, !memcmp(got, e->wire[i], skb->len), "packet %u is another", i);
}

/*
 * What came out are skbs of so many packets each, up to a 0, and cut again they are what was sent.
 * @dev sums nothing, so the sums are compared as well.
 */
static void expect(struct kunit *test, struct gro_env *e, const u8 *counts)
{
	struct sk_buff *skb, *list, *seg, *next;
	unsigned int i = 0, n;

	while ((skb = skb_peek(&e->out))) {
		n = skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1;
		/* else the core may not survive to cut it */
		KUNIT_ASSERT_EQ(test, n, *counts);
		counts++;
		__skb_unlink(skb, &e->out);
		if (n == 1) {
			expect_packet(test, e, skb, i++);
			kfree_skb(skb);
			continue;
		}
		list = skb_gso_segment(skb, NETIF_F_SG);
		KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(list));
		consume_skb(skb);
		skb_list_walk_safe(list, seg, next) {
			expect_packet(test, e, seg, i++);
			kfree_skb(seg);
		}
	}
	KUNIT_EXPECT_EQ(test, *counts, 0);
	KUNIT_EXPECT_EQ(test, i, e->sent);
	e->sent = 0;
}

/* ---- cases, in both families and with the payload in pages and in the linear part ---- */

static const struct variant {
	const char *name;
	bool v6, linear;
} variants[] = {
	{ "IPv4, pages", false, false },
	{ "IPv4, linear", false, true },
	{ "IPv6, pages", true, false },
	{ "IPv6, linear", true, true },
};

static void variant_name(const struct variant *v, char *desc)
{
	strscpy(desc, v->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(variant, variants, variant_name);

/* Packets @from to @to of a message of @of. */
static void give_some(struct kunit *test, u32 from, u32 to, u32 of,
		      void (*change)(struct packet *p))
{
	const struct variant *v = test->param_value;
	struct packet p;
	u32 i;

	for (i = from; i < to; i++) {
		p = nth(v->v6, i, of);
		p.linear = v->linear;
		if (change)
			change(&p);
		give(test, test->priv, &p);
	}
}

static void end(struct kunit *test, const u8 *counts)
{
	const struct variant *v = test->param_value;

	flush(test->priv, v->v6);
	expect(test, test->priv, counts);
}

#define EXPECT_OUT(test, ...) end(test, (const u8 []){ __VA_ARGS__, 0 })

/* A whole message is one train, and leaves with its last packet. */
static void a_message_is_joined(struct kunit *test)
{
	struct gro_env *e = test->priv;

	give_some(test, 0, 7, 8, NULL);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&e->out), 0);
	give_some(test, 7, 8, 8, NULL);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&e->out), 1);
	EXPECT_OUT(test, 8);
}

static void shorter(struct packet *p)
{
	if (p->index == 3)
		p->payload = 100;
}

/* The last packet may be shorter, no other may. */
static void the_last_may_be_short(struct kunit *test)
{
	give_some(test, 0, 4, 4, shorter);
	EXPECT_OUT(test, 4);
	give_some(test, 0, 5, 8, shorter);
	EXPECT_OUT(test, 3, 1, 1);
}

/* A train is no longer than the core's bookkeeping, and what follows begins another. */
static void trains_have_a_limit(struct kunit *test)
{
	const struct variant *v = test->param_value;
	struct gro_env *e = test->priv;

	if (v->linear) {
		/* what one skb may be, for the core */
		e->dev->gro_max_size = 4 * PSIZE + 200;
		give_some(test, 0, 8, 9, NULL);
		EXPECT_OUT(test, 4, 4);
	} else {
		/* fragments beyond an skb's 17 go on as a list; 64 KiB is 63 packets and headers */
		give_some(test, 0, MOST - 1, MOST, NULL);
		EXPECT_OUT(test, 63, MOST - 1 - 63);
	}
}

static void marked(struct packet *p)
{
	if (p->index >= 2)
		p->tos = INET_ECN_CE;
}

static void every_third_marked(struct packet *p)
{
	if (p->index % 3 == 2)
		p->tos = INET_ECN_CE;
}

/* A mark is of the packets that have it: where it changes the train ends. */
static void marks_end_a_train(struct kunit *test)
{
	give_some(test, 0, 4, 9, marked);
	EXPECT_OUT(test, 2, 2);
	give_some(test, 0, 9, 10, every_third_marked);
	EXPECT_OUT(test, 2, 1, 2, 1, 2, 1);
}

static void other_class(struct packet *p)
{
	if (p->index >= 2)
		p->tos |= 0x48;
}

static void other_ttl(struct packet *p)
{
	if (p->index >= 2)
		p->ttl = 63;
}

static void may_be_fragmented(struct packet *p)
{
	if (p->index >= 2)
		p->frag_off = 0;
}

static void other_id(struct packet *p)
{
	if (p->index >= 2)
		p->id += 100;
}

static void same_id(struct packet *p)
{
	p->id = 0;
}

/* What cutting would not give back is not joined. */
static void the_ip_header_counts(struct kunit *test)
{
	const struct variant *v = test->param_value;

	give_some(test, 0, 4, 9, other_class);
	EXPECT_OUT(test, 2, 2);
	give_some(test, 0, 4, 9, other_ttl);
	EXPECT_OUT(test, 2, 2);
	if (v->v6)
		return;
	give_some(test, 0, 4, 9, may_be_fragmented);
	EXPECT_OUT(test, 2, 2);
	give_some(test, 0, 4, 9, other_id);
	EXPECT_OUT(test, 2, 2);
	give_some(test, 0, 4, 9, same_id);
	EXPECT_OUT(test, 1, 1, 1, 1);
}

static void without_a_sum(struct packet *p)
{
	p->no_sum = p->index == 2;
}

static void asks(struct packet *p)
{
	if (p->index == 2)
		p->flags = MROCE_F_ACKREQ;
}

static void of_another_type(struct packet *p)
{
	if (p->index == 2)
		p->type = MROCE_T_UC;
}

/* Those end what is held, and are not held themselves. */
static void what_goes_alone(struct kunit *test)
{
	give_some(test, 0, 5, 9, without_a_sum);
	EXPECT_OUT(test, 2, 1, 2);
	give_some(test, 0, 5, 9, of_another_type);
	EXPECT_OUT(test, 2, 1, 2);
	/* a request for an ACK ends a train and belongs to it */
	give_some(test, 0, 5, 9, asks);
	EXPECT_OUT(test, 3, 2);
}

/* A gap, a repetition, and an older packet. */
static void only_what_follows(struct kunit *test)
{
	give_some(test, 0, 2, 9, NULL);
	give_some(test, 3, 5, 9, NULL);
	EXPECT_OUT(test, 2, 2);
	give_some(test, 0, 2, 9, NULL);
	give_some(test, 1, 3, 9, NULL);
	EXPECT_OUT(test, 2, 2);
	give_some(test, 4, 6, 9, NULL);
	give_some(test, 0, 2, 9, NULL);
	EXPECT_OUT(test, 2, 2);
}

/* ---- the suite ---- */

static int init(struct kunit *test)
{
	struct gro_env *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);

	if (!e)
		return -ENOMEM;
	e->sk = kunit_kzalloc(test, sizeof(*e->sk), GFP_KERNEL);
	e->dev = alloc_etherdev(0);
	if (!e->sk || !e->dev)
		return -ENOMEM;
	INIT_LIST_HEAD(&e->held);
	__skb_queue_head_init(&e->out);
	test->priv = e;
	return 0;
}

static void done(struct kunit *test)
{
	struct gro_env *e = test->priv;
	struct sk_buff *skb, *next;

	if (!e)
		return;
	list_for_each_entry_safe(skb, next, &e->held, list) {
		list_del_init(&skb->list);
		kfree_skb(skb);
	}
	__skb_queue_purge(&e->out);
	free_netdev(e->dev);
}

static int suite_init(struct kunit_suite *suite)
{
	return mroce_segment_init();
}

static void suite_exit(struct kunit_suite *suite)
{
	mroce_segment_exit();
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(a_message_is_joined, variant_gen_params),
	KUNIT_CASE_PARAM(the_last_may_be_short, variant_gen_params),
	KUNIT_CASE_PARAM(trains_have_a_limit, variant_gen_params),
	KUNIT_CASE_PARAM(marks_end_a_train, variant_gen_params),
	KUNIT_CASE_PARAM(the_ip_header_counts, variant_gen_params),
	KUNIT_CASE_PARAM(what_goes_alone, variant_gen_params),
	KUNIT_CASE_PARAM(only_what_follows, variant_gen_params),
	{}
};

static struct kunit_suite mroce_gro_suite = {
	.name = "mroce_gro",
	.init = init,
	.exit = done,
	.suite_init = suite_init,
	.suite_exit = suite_exit,
	.test_cases = cases,
};

kunit_test_suite(mroce_gro_suite);
