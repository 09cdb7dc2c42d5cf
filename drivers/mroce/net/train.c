// SPDX-License-Identifier: GPL-2.0
/*
 * Packets and trains on their way out. A train is one skb: one transport header
 * in the linear part, then payload, mostly fragments of the pages that the data are
 * in. To the stack it is UDP tunnel GSO with a private inner protocol, of which only
 * our segmenter (segment.c) knows how to make packets. A single packet is plain UDP.
 *
 * Sending runs with bottom halves off and no lock held: what is sent may come back
 * as a received packet before ip_local_out() returns.
 */
#include <linux/highmem.h>
#include <linux/net.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/udp.h>

#include "internal.h"

#define HEADROOM	ALIGN(MAX_HEADER + MROCE_LOWER_HEADERS, 16)

struct sk_buff *mroce_packet_alloc(unsigned int len)
{
	unsigned int size = SKB_HEAD_ALIGN(HEADROOM + len);
	struct sk_buff *skb;
	void *head;

	/* from the processor's page of small buffers, which has none larger: half a slab's price */
	if (size <= PAGE_SIZE) {
		head = netdev_alloc_frag(size);
		if (!head)
			return NULL;
		skb = build_skb(head, size);
		if (!skb) {
			skb_free_frag(head);
			return NULL;
		}
	} else {
		skb = alloc_skb(HEADROOM + len, GFP_ATOMIC | __GFP_NOWARN);
		if (!skb)
			return NULL;
	}
	skb_reserve(skb, HEADROOM);
	return skb;
}

static void add_frag(struct sk_buff *skb, struct page *page, unsigned int offset, unsigned int len,
		     unsigned int truesize)
{
	int i = skb_shinfo(skb)->nr_frags;

	/* whether a user's page came from the emergency reserve says nothing about this packet */
	skb_fill_page_desc_noacc(skb, i, page, offset, len);
	skb->len += len;
	skb->data_len += len;
	skb->truesize += truesize;
}

static int add_copy(struct sk_buff *skb, struct page *page, unsigned int offset, unsigned int len)
{
	if (skb_shinfo(skb)->nr_frags + DIV_ROUND_UP(len, PAGE_SIZE) > MAX_SKB_FRAGS)
		return -EMSGSIZE;
	while (len) {
		struct page *copy = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
		unsigned int fill = 0;

		if (!copy)
			return -ENOMEM;
		while (len && fill < PAGE_SIZE) {
			unsigned int n = min3(len, (unsigned int)PAGE_SIZE - fill,
					      (unsigned int)(PAGE_SIZE - offset_in_page(offset)));

			memcpy_page(copy, fill, page + (offset >> PAGE_SHIFT),
				    offset_in_page(offset), n);
			fill += n;
			offset += n;
			len -= n;
		}
		add_frag(skb, copy, 0, fill, PAGE_SIZE);
	}
	return 0;
}

int mroce_packet_copy(struct sk_buff *skb, const void *src, unsigned int len, unsigned int *done)
{
	while (len) {
		unsigned int n = min_t(unsigned int, len, PAGE_SIZE);
		struct page *copy;

		if (skb_shinfo(skb)->nr_frags >= MAX_SKB_FRAGS)
			return -EMSGSIZE;
		copy = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
		if (!copy)
			return -ENOMEM;
		memcpy(page_address(copy), src, n);
		add_frag(skb, copy, 0, n, PAGE_SIZE);
		*done += n;
		src += n;
		len -= n;
	}
	return 0;
}

int mroce_packet_add(struct sk_buff *skb, struct page *page, unsigned int offset, unsigned int len,
		     bool shared)
{
	int i = skb_shinfo(skb)->nr_frags;
	struct page *head;

	if (!len)
		return 0;
	/*
	 * A page of slab memory, or one that is not reference counted, would be freed or used again
	 * by its owner while it is on its way.
	 */
	page += offset >> PAGE_SHIFT;
	offset = offset_in_page(offset);
	if (!sendpage_ok(page))
		return add_copy(skb, page, offset, len);

	/* by their compound page, neighbours in a huge page are contiguous */
	head = compound_head(page);
	offset += (page_to_pfn(page) - page_to_pfn(head)) << PAGE_SHIFT;
	if (skb_can_coalesce(skb, i, head, offset)) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[i - 1], len);
		skb->len += len;
		skb->data_len += len;
		skb->truesize += len;
	} else {
		if (i >= MAX_SKB_FRAGS)
			return -EMSGSIZE;
		get_page(head);
		add_frag(skb, head, offset, len, len);
	}
	/* makes whoever needs stable bytes (a sum in software, a cipher) copy them first */
	if (shared)
		skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	return 0;
}

/*
 * The inner "mac" header is our transport header and nothing lies between it and the payload: so
 * the core repeats it in front of each packet, and counts it when it compares packets with an MTU.
 */
void mroce_train_mark(struct sk_buff *skb, unsigned int offset, unsigned int psize,
		      unsigned int count)
{
	skb_set_inner_mac_header(skb, offset);
	skb_set_inner_network_header(skb, offset + MROCE_TRAIN_HEADER);
	skb_set_inner_transport_header(skb, offset + MROCE_TRAIN_HEADER);
	skb_set_inner_protocol(skb, htons(MROCE_ETHERTYPE));
	skb->encapsulation = 1;
	skb_shinfo(skb)->gso_size = psize;
	skb_shinfo(skb)->gso_segs = count;
	skb_shinfo(skb)->gso_type |= MROCE_GSO_TYPE;
}

static void push_udp(struct sk_buff *skb, const struct mroce_hop *hop, __be16 dport)
{
	struct udphdr *uh = skb_push(skb, sizeof(*uh));
	unsigned int len = skb->len;

	skb_reset_transport_header(skb);
	uh->source = hop->sport;
	uh->dest = dport;
	uh->len = htons(len);
	uh->check = ~(hop->v4 ? udp_v4_check(len, hop->saddr.s6_addr32[3],
					     hop->daddr.s6_addr32[3], 0) :
				udp_v6_check(len, &hop->saddr, &hop->daddr, 0));
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
}

static int out4(struct net *net, struct sock *sk, struct sk_buff *skb,
		const struct mroce_hop *hop, u8 tos, unsigned int frag)
{
	struct iphdr *iph = skb_push(skb, sizeof(*iph));

	skb_reset_network_header(skb);
	memset(iph, 0, sizeof(*iph));
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->tos = tos;
	iph->frag_off = frag ? 0 : htons(IP_DF);
	IPCB(skb)->frag_max_size = frag;
	iph->protocol = IPPROTO_UDP;
	iph->ttl = hop->hop_limit ?: ip4_dst_hoplimit(skb_dst(skb));
	iph->saddr = hop->saddr.s6_addr32[3];
	iph->daddr = hop->daddr.s6_addr32[3];
	/* one for each packet that this becomes; an atomic datagram needs none (RFC 6864) */
	if (frag)
		__ip_select_ident(net, iph, skb_shinfo(skb)->gso_segs ?: 1);
	return ip_local_out(net, sk, skb);
}

#if IS_ENABLED(CONFIG_IPV6)
static int out6(struct net *net, struct sock *sk, struct sk_buff *skb,
		const struct mroce_hop *hop, u8 tclass, unsigned int frag)
{
	struct ipv6hdr *iph = skb_push(skb, sizeof(*iph));

	skb_reset_network_header(skb);
	ip6_flow_hdr(iph, tclass, 0);
	iph->nexthdr = IPPROTO_UDP;
	IP6CB(skb)->frag_max_size = frag;
	iph->hop_limit = hop->hop_limit ?: ip6_dst_hoplimit(skb_dst(skb));
	iph->saddr = hop->saddr;
	iph->daddr = hop->daddr;
	return ip6_local_out(net, sk, skb);
}
#else
static int out6(struct net *net, struct sock *sk, struct sk_buff *skb,
		const struct mroce_hop *hop, u8 tclass, unsigned int frag)
{
	kfree_skb(skb);
	return -ENETUNREACH;
}
#endif

/* what the stack answered, in the words of net.h; congestion notification alone is no drop */
static int sent(int err)
{
	err = net_xmit_eval(err);
	if (!err)
		return 0;
	return err == -EMSGSIZE || err == -EHOSTUNREACH || err == -ENETUNREACH ? err : -ENOBUFS;
}

int mroce_packet_send(struct mroce_sock *sock, struct mroce_flow *flow, struct sk_buff *skb,
		      unsigned int psize, unsigned int header, bool ect, unsigned int frag)
{
	unsigned int packet = skb->len, lower;
	struct dst_entry *dst;
	struct mroce_hop hop;
	struct sock *sk;
	int err;
	u8 tos;

	rcu_read_lock();
	/* the receiver may turn the flow meanwhile: route, addresses and port are of one moment */
	dst = mroce_flow_dst(sock, flow, &hop);
	if (IS_ERR(dst)) {
		err = PTR_ERR(dst) == -EAGAIN ? -ENOBUFS : PTR_ERR(dst);
		goto drop;
	}
	skb_dst_set(skb, dst);
	sk = mroce_sock_sk(sock, hop.v4);
	err = -ENETUNREACH;
	if (!sk)
		goto drop;
	lower = sizeof(struct udphdr) + (hop.v4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
	tos = hop.tclass | (ect ? INET_ECN_ECT_0 : INET_ECN_NOT_ECT);

	err = -EMSGSIZE;
	if (psize && packet - header > psize) {
		if (WARN_ON_ONCE(header != MROCE_TRAIN_HEADER || skb_headlen(skb) < header))
			goto drop;
		mroce_train_mark(skb, 0, psize, DIV_ROUND_UP(packet - header, psize));
		packet = header + psize;
	}
	if (skb->len + lower > MROCE_IP_MAX)
		goto drop;
	if (packet + lower > mroce_dst_mtu(dst) && !frag)
		goto drop;
	if (unlikely(frag)) {
		/* also where the first link is larger: one behind it drops and says nothing */
		frag = min(frag, mroce_dst_mtu(dst));
		skb->ignore_df = 1;
	}

	/* netfilter queues segment on OUTPUT, where the stack itself has not set the device yet */
	skb->dev = READ_ONCE(dst->dev);
	err = -ENOBUFS;
	if (skb_cow_head(skb, LL_RESERVED_SPACE(skb->dev) + dst->header_len + lower))
		goto drop;
	push_udp(skb, &hop, sock->port);
	/* its control block is as mroce_packet_alloc() got it: zeroed */
	err = hop.v4 ? out4(sock->net, sk, skb, &hop, tos, frag) :
		       out6(sock->net, sk, skb, &hop, tos, frag);
	rcu_read_unlock();
	return sent(err);

drop:
	rcu_read_unlock();
	kfree_skb(skb);
	return err;
}
