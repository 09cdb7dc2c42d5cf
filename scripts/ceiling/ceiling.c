// SPDX-License-Identifier: GPL-2.0
/*
 * The ceiling of what a device over UDP can reach on a kernel and its links: trains of pages that
 * are always there, with a header and one copy at the receiver, and nothing of a protocol: no
 * connection, window, ACK, timer or completion, and no system call.
 *
 * What is written to a parameter happens in the network namespace of whoever writes:
 *   listen  1: receive there; 0: no more (before the namespace can go)
 *   send    ADDRESS TRAINS PACKETS BYTES: so many trains of so many packets with so much payload
 *   result  read: nanoseconds that the last send took until all had arrived, bytes that did arrive
 */
#include <linux/etherdevice.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/skbuff.h>
#include <linux/vmalloc.h>
#include <net/ip.h>
#include <net/route.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>
#include <net/xfrm.h>

#include "compat.h"

#define CEILING_PORT		7777
#define CEILING_ETHERTYPE	0x88b6	/* IEEE: local experimental; the second of the two */
#define CEILING_GSO		(SKB_GSO_UDP_TUNNEL_CSUM | SKB_GSO_SCTP)
#define TRAIN_MAX		61440u
#define BATCH			32

/* as long as a transport's is likely to be */
struct ceiling_header {
	__be32 number;
	__be32 offset;
	u8 reserved[40];
} __packed;

/* one listener and one sender at a time */
static DEFINE_MUTEX(ceiling_mutex);
static struct net *listen_net;
static struct socket *listener;
static struct page *pages[TRAIN_MAX / PAGE_SIZE];
static void *landing;
static u64 result_ns, result_bytes;

static atomic64_t arrived;
static atomic_t odd;		/* what came damaged or out of order */
static atomic_t expected;

/* ---- cutting */

/*
 * Where a device sums, the tunnel around us leaves the outer sum to it if a packet comes without
 * one of its own; where not, it builds on that of skb_segment(), made if nothing below can sum.
 */
static struct sk_buff *ceiling_segment(struct sk_buff *skb, netdev_features_t features)
{
	const struct ceiling_header *first = (const void *)skb_mac_header(skb);
	const struct skb_shared_info *info = skb_shinfo(skb);
	unsigned int size = info->gso_size, i = 0;
	struct sk_buff *list, *seg;
	u32 number, offset;
	bool hw;

	/* packet sockets and guests can make an skb of this kind */
	if ((info->gso_type & CEILING_GSO) != CEILING_GSO || info->gso_type & SKB_GSO_DODGY ||
	    !skb->dev || skb->data - skb_mac_header(skb) != sizeof(*first))
		return ERR_PTR(-EINVAL);
	number = be32_to_cpu(first->number);
	offset = be32_to_cpu(first->offset);
	hw = skb->dev->features & NETIF_F_HW_CSUM && !skb_sec_path(skb) &&
	     !(skb_dst(skb) && dst_xfrm(skb_dst(skb)));

	features &= ~NETIF_F_GSO_MASK;
	features = hw ? features | NETIF_F_HW_CSUM : features & ~NETIF_F_CSUM_MASK;
	list = skb_segment(skb, features);
	if (IS_ERR_OR_NULL(list))
		return list;
	for (seg = list; seg; seg = seg->next, i++) {
		struct ceiling_header *h = (void *)skb_mac_header(seg);

		h->number = cpu_to_be32(number + i);
		h->offset = cpu_to_be32(offset + i * size);
		if (hw)
			seg->ip_summed = CHECKSUM_NONE;
	}
	return list;
}

static struct packet_offload ceiling_offload __read_mostly = {
	.type = cpu_to_be16(CEILING_ETHERTYPE),
	.callbacks = {
		.gso_segment = ceiling_segment,
	},
};

/* ---- receiving */

static int ceiling_receive(struct sock *sk, struct sk_buff *skb)
{
	const unsigned int header = sizeof(struct udphdr) + sizeof(struct ceiling_header);
	const struct ceiling_header *h;
	unsigned int len, count = 1;
	u32 number, offset;

	if (!pskb_may_pull(skb, header)) {
		atomic_inc(&odd);
		goto out;
	}
	h = (const void *)(skb->data + sizeof(struct udphdr));
	number = be32_to_cpu(h->number);
	offset = be32_to_cpu(h->offset);
	len = skb->len - header;
	if (skb_is_gso(skb))
		count = DIV_ROUND_UP(len, skb_shinfo(skb)->gso_size);
	if (offset > TRAIN_MAX || len > TRAIN_MAX - offset ||
	    skb_copy_bits(skb, header, landing + offset, len)) {
		atomic_inc(&odd);
		goto out;
	}
	if (atomic_read(&expected) != number)
		atomic_inc(&odd);
	atomic_set(&expected, number + count);
	atomic64_add(len, &arrived);
out:
	consume_skb(skb);
	return 0;
}

static void stop_listening(void)
{
	if (!listener)
		return;
	mroce_release_tunnel_sock(listener);
	listener = NULL;
	put_net(listen_net);
}

static int start_listening(void)
{
	struct udp_port_cfg port = {
		.family = AF_INET,
		.local_udp_port = htons(CEILING_PORT),
		.use_udp_checksums = 1,
	};
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type = 1,
		.encap_rcv = ceiling_receive,
	};
	int err;

	if (listener)
		return -EBUSY;
	listen_net = get_net(current->nsproxy->net_ns);
	err = udp_sock_create(listen_net, &port, &listener);
	if (err) {
		listener = NULL;
		put_net(listen_net);
		return err;
	}
	mroce_setup_tunnel_sock(listen_net, listener, &tunnel);
	return 0;
}

static int listen_set(const char *value, const struct kernel_param *param)
{
	bool on;
	int err = kstrtobool(value, &on);

	if (err)
		return err;
	mutex_lock(&ceiling_mutex);
	if (on)
		err = start_listening();
	else
		stop_listening();
	mutex_unlock(&ceiling_mutex);
	return err;
}

/* ---- sending */

static struct sk_buff *train(u32 number, unsigned int packets, unsigned int size)
{
	unsigned int len = packets * size, left = len, i;
	struct ceiling_header *h;
	struct sk_buff *skb;

	skb = alloc_skb(MAX_HEADER + sizeof(struct iphdr) + sizeof(struct udphdr) + sizeof(*h),
			GFP_KERNEL);
	if (!skb)
		return NULL;
	skb_reserve(skb, MAX_HEADER + sizeof(struct iphdr) + sizeof(struct udphdr));
	h = skb_put_zero(skb, sizeof(*h));
	h->number = cpu_to_be32(number);
	for (i = 0; left; i++) {
		unsigned int part = min_t(unsigned int, left, PAGE_SIZE);

		get_page(pages[i]);
		skb_fill_page_desc(skb, i, pages[i], 0, part);
		left -= part;
	}
	skb->len += len;
	skb->data_len += len;
	skb->truesize += len;
	if (packets == 1) /* plain UDP */
		return skb;
	skb_set_inner_mac_header(skb, 0);
	skb_set_inner_network_header(skb, sizeof(*h));
	skb_set_inner_transport_header(skb, sizeof(*h));
	skb_set_inner_protocol(skb, htons(CEILING_ETHERTYPE));
	skb->encapsulation = 1;
	skb_shinfo(skb)->gso_size = size;
	skb_shinfo(skb)->gso_segs = packets;
	skb_shinfo(skb)->gso_type = CEILING_GSO;
	return skb;
}

static void push_headers(struct sk_buff *skb, const struct flowi4 *fl, struct dst_entry *dst)
{
	struct udphdr *uh = skb_push(skb, sizeof(*uh));
	struct iphdr *iph;

	skb_reset_transport_header(skb);
	uh->source = htons(CEILING_PORT);
	uh->dest = htons(CEILING_PORT);
	uh->len = htons(skb->len);
	uh->check = ~udp_v4_check(skb->len, fl->saddr, fl->daddr, 0);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);

	iph = skb_push(skb, sizeof(*iph));
	skb_reset_network_header(skb);
	memset(iph, 0, sizeof(*iph));
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->frag_off = htons(IP_DF);
	iph->protocol = IPPROTO_UDP;
	iph->ttl = ip4_dst_hoplimit(dst);
	iph->saddr = fl->saddr;
	iph->daddr = fl->daddr;
	skb_dst_set(skb, dst_clone(dst));
}

/* the header never wraps: a run is counted in packets */
static int send_trains(struct net *net, const struct flowi4 *fl, struct dst_entry *dst, u32 trains,
		       unsigned int packets, unsigned int size)
{
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < trains; i++) {
		if (!(i % BATCH)) {
			cond_resched();
			if (signal_pending(current))
				return -EINTR;
		}
		skb = train(i * packets, packets, size);
		if (!skb)
			return -ENOMEM;
		push_headers(skb, fl, dst);
		/* what was sent may be received before this returns, and is before the next */
		local_bh_disable();
		ip_local_out(net, NULL, skb);
		local_bh_enable();
	}
	return 0;
}

static int send_to(__be32 daddr, u32 trains, unsigned int packets, unsigned int size)
{
	u64 wanted = (u64)trains * packets * size;
	struct net *net = current->nsproxy->net_ns;
	struct flowi4 fl = { .daddr = daddr };
	unsigned long end;
	struct rtable *rt;
	u64 began;
	int err;

	rt = ip_route_output_key(net, &fl);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	atomic64_set(&arrived, 0);
	atomic_set(&odd, 0);
	atomic_set(&expected, 0);
	began = ktime_get_ns();
	err = send_trains(net, &fl, &rt->dst, trains, packets, size);
	/* the last may be on another processor */
	end = jiffies + HZ;
	while (!err && atomic64_read(&arrived) < wanted && time_before(jiffies, end))
		cond_resched();
	result_ns = ktime_get_ns() - began;
	result_bytes = atomic64_read(&arrived);
	ip_rt_put(rt);
	if (!err && atomic_read(&odd))
		err = -EIO;
	return err;
}

static int send_set(const char *value, const struct kernel_param *param)
{
	unsigned int trains, packets, size;
	char address[16];
	__be32 daddr;
	int err;

	if (sscanf(value, "%15s %u %u %u", address, &trains, &packets, &size) != 4 ||
	    !in4_pton(address, -1, (u8 *)&daddr, -1, NULL))
		return -EINVAL;
	if (!trains || !packets || !size || size > TRAIN_MAX || packets > TRAIN_MAX / size)
		return -ERANGE;
	mutex_lock(&ceiling_mutex);
	err = send_to(daddr, trains, packets, size);
	mutex_unlock(&ceiling_mutex);
	return err;
}

static int result_get(char *buffer, const struct kernel_param *param)
{
	int len;

	mutex_lock(&ceiling_mutex);
	len = sysfs_emit(buffer, "%llu %llu\n", result_ns, result_bytes);
	mutex_unlock(&ceiling_mutex);
	return len;
}

/* ---- the module */

static const struct kernel_param_ops listen_ops = { .set = listen_set };
static const struct kernel_param_ops send_ops = { .set = send_set };
static const struct kernel_param_ops result_ops = { .get = result_get };

module_param_cb(listen, &listen_ops, NULL, 0200);
MODULE_PARM_DESC(listen, "1: receive in the writer's network namespace");
module_param_cb(send, &send_ops, NULL, 0200);
MODULE_PARM_DESC(send, "ADDRESS TRAINS PACKETS BYTES: send them");
module_param_cb(result, &result_ops, NULL, 0400);
MODULE_PARM_DESC(result, "nanoseconds and bytes of the last send");

static void free_pages_all(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++)
		if (pages[i])
			put_page(pages[i]);
	vfree(landing);
}

static int __init ceiling_init(void)
{
	unsigned int i;

	landing = vzalloc(TRAIN_MAX);
	if (!landing)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!pages[i]) {
			free_pages_all();
			return -ENOMEM;
		}
	}
	dev_add_offload(&ceiling_offload);
	return 0;
}
module_init(ceiling_init);

static void __exit ceiling_exit(void)
{
	stop_listening();
	dev_remove_offload(&ceiling_offload);
	free_pages_all();
}
module_exit(ceiling_exit);

MODULE_DESCRIPTION("The ceiling of trains over UDP: no protocol, one copy");
MODULE_LICENSE("GPL");
