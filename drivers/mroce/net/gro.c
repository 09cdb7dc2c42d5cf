// SPDX-License-Identifier: GPL-2.0
/*
 * GRO: builds trains again from the packets that a NIC delivers. Called for the
 * tunnel socket's port in NAPI context, under RCU; also for packets that this host
 * only forwards, so a train is built only from what cutting it would give back bit
 * for bit: transport header, payload sizes, TOS, TTL, and the IP identification.
 *
 * Packets of one path must not overtake each other here, or the receiver sees a
 * gap: whatever does not continue a held train pushes that train out first.
 */
#include <linux/skbuff.h>
#include <net/gro.h>
#include <net/ip.h>

#include "internal.h"

/*
 * What of the IP header the stack does not compare for a tunnel (TOS
 * since 6.12 on none), or compares only to wait.
 */
static bool same_ip(const void *p, const void *next, bool v4, unsigned int count)
{
	const struct ipv6hdr *a6 = p, *b6 = next;
	const struct iphdr *a4 = p, *b4 = next;

	if (!v4)
		return !((*(const __be32 *)a6 ^ *(const __be32 *)b6) & htonl(0x0ff00000)) &&
		       a6->hop_limit == b6->hop_limit;
	return a4->tos == b4->tos && a4->ttl == b4->ttl && a4->frag_off == b4->frag_off &&
	       (u16)(ntohs(a4->id) + count) == ntohs(b4->id);
}

/*
 * A train is one skb's worth of bookkeeping in the core's control
 * block; its fields are the same on every kernel.
 */
static bool append(struct sk_buff *p, struct sk_buff *skb)
{
	struct skb_shared_info *pinfo = skb_shinfo(p), *info = skb_shinfo(skb);
	unsigned int offset = skb_gro_offset(skb), len = skb_gro_len(skb);
	unsigned int head = skb_headlen(skb), n = info->nr_frags, truesize, i;

	/*
	 * fragments of a page pool and others are given back
	 * differently, so one skb cannot hold both
	 */
	if (p->pp_recycle != skb->pp_recycle || skb_cloned(skb) || skb_zcopy(p) || skb_zcopy(skb))
		return false;
	if (p->len + len > min(READ_ONCE(p->dev->gro_max_size), MROCE_IP_MAX))
		return false;

	if (offset >= head && !pinfo->frag_list && pinfo->nr_frags + n <= MAX_SKB_FRAGS) {
		/*
		 * all of the payload is in pages: these move over, the rest is freed by our caller
		 */
		if (offset - head >= skb_frag_size(&info->frags[0]))
			return false;
		skb_frag_off_add(&info->frags[0], offset - head);
		skb_frag_size_sub(&info->frags[0], offset - head);
		for (i = 0; i < n; i++)
			pinfo->frags[pinfo->nr_frags + i] = info->frags[i];
		pinfo->nr_frags += n;
		info->nr_frags = 0;
		truesize = skb->truesize - SKB_TRUESIZE(skb_end_offset(skb));
		skb->truesize -= truesize;
		skb->len -= skb->data_len;
		skb->data_len = 0;
		NAPI_GRO_CB(skb)->free = NAPI_GRO_FREE;
	} else {
		/* a linear part must not be longer than a packet: the core cannot cut it */
		if (head > offset + pinfo->gso_size)
			return false;
		if (offset > head) {
			if (offset - head >= skb_frag_size(&info->frags[0]))
				return false;
			skb_frag_off_add(&info->frags[0], offset - head);
			skb_frag_size_sub(&info->frags[0], offset - head);
			skb->data_len -= offset - head;
			skb->len -= offset - head;
			offset = head;
		}
		skb_orphan(skb);
		__skb_pull(skb, offset);
		if (pinfo->frag_list)
			NAPI_GRO_CB(p)->last->next = skb;
		else
			pinfo->frag_list = skb;
		NAPI_GRO_CB(p)->last = skb;
		__skb_header_release(skb);
		truesize = skb->truesize;
	}
	pinfo->flags |= info->flags & SKBFL_SHARED_FRAG;
	p->len += len;
	p->data_len += len;
	p->truesize += truesize;
	NAPI_GRO_CB(p)->count++;
	NAPI_GRO_CB(skb)->same_flow = 1;
	return true;
}

static bool closes(const struct mroce_wire_data *h)
{
	return h->flags & (MROCE_F_LAST | MROCE_F_ACKREQ);
}

/* Can this packet be the first of a train? If not there is no reason to hold it back. */
static bool opens(const struct mroce_wire_data *h, unsigned int len)
{
	return h->base.type == MROCE_T_DATA && !closes(h) && len && len == be16_to_cpu(h->psize);
}

struct sk_buff *mroce_gro_receive(struct sock *sk, struct list_head *head, struct sk_buff *skb)
{
	unsigned int off = skb_gro_offset(skb), end = off + MROCE_TRAIN_HEADER;
	bool v4 = sk->sk_family == AF_INET;
	unsigned int ip = off - sizeof(struct udphdr) -
			  (v4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
	struct mroce_wire_data *h, *first;
	struct sk_buff *p, *held = NULL;
	const struct udphdr *uh;
	unsigned int len, count;
	const void *iph;

	/* addresses and ports were compared before us: at most one skb of this path is held */
	list_for_each_entry(p, head, list) {
		if (NAPI_GRO_CB(p)->same_flow) {
			held = p;
			break;
		}
	}

	if (NAPI_GRO_CB(skb)->flush || skb_is_gso(skb) || skb_gro_len(skb) <= MROCE_TRAIN_HEADER)
		goto flush;
	iph = skb_gro_header(skb, end, ip);
	if (unlikely(!iph))
		goto flush;
	uh = iph + (off - ip) - sizeof(*uh);
	h = (struct mroce_wire_data *)(uh + 1);
	/*
	 * behind extension headers this is not IP's header, and
	 * without a sum a train would not be our kind
	 */
	if (*(const u8 *)iph >> 4 != (v4 ? 4 : 6) || !uh->check)
		goto flush;
	if (!v4 && ((const struct ipv6hdr *)iph)->nexthdr != IPPROTO_UDP)
		goto flush;
	len = skb_gro_len(skb) - MROCE_TRAIN_HEADER;
	if (h->base.type != MROCE_T_DATA)
		goto flush;

	skb_gro_pull(skb, MROCE_TRAIN_HEADER);
	skb_gro_postpull_rcsum(skb, h, MROCE_TRAIN_HEADER);

	if (held) {
		/* a held skb's headers are in its linear part, at the same offsets */
		first = (struct mroce_wire_data *)(held->data + off);
		count = NAPI_GRO_CB(held)->count;
		if (same_ip(held->data + ip, iph, v4, count) && mroce_joins_data(first, count, h) &&
		    (closes(h) ? len <= skb_shinfo(held)->gso_size :
				 len == skb_shinfo(held)->gso_size)) {
			u8 flags = h->flags;

			if (append(held, skb)) {
				first->flags |= flags & (MROCE_F_LAST | MROCE_F_ACKREQ);
				return closes(first) || count + 1 >= MROCE_TRAIN_MAX ? held : NULL;
			}
		}
	}
	if (!opens(h, len))
		NAPI_GRO_CB(skb)->flush = 1;
	return held;

flush:
	NAPI_GRO_CB(skb)->flush = 1;
	return held;
}

int mroce_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff)
{
	/* the pseudo header's sum is in place; the rest was checked packet by packet */
	skb->csum_start = skb_headroom(skb) + nhoff - sizeof(struct udphdr);
	skb->csum_offset = offsetof(struct udphdr, check);
	skb->ip_summed = CHECKSUM_PARTIAL;
	mroce_train_mark(skb, nhoff, skb_shinfo(skb)->gso_size, NAPI_GRO_CB(skb)->count);
	return 0;
}
