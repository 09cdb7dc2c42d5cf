// SPDX-License-Identifier: GPL-2.0
/*
 * The segmenter: what the stack calls where a device needs wire packets and has a
 * train. Registered for the private inner protocol of a train, it lets the core cut
 * and gives each packet the header that it would have had if sent alone.
 * Softirq or process context, under RCU, anywhere in the stack; no locks.
 */
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/xfrm.h>

#include "internal.h"

/*
 * Who fills the outer UDP checksum of each packet? The tunnel code around us leaves it to the
 * device exactly if the device can, no IPsec follows and a packet comes without a sum of its own;
 * in any other case it builds on the sum over the packet that skb_segment() makes if told that
 * nothing below can. Where the device sums one family only, ours cannot be known here: summing is
 * right then, though for nothing.
 */
static bool device_sums(const struct sk_buff *skb)
{
	const netdev_features_t both = NETIF_F_IP_CSUM | NETIF_F_IPV6_CSUM;

	if ((skb_dst(skb) && dst_xfrm(skb_dst(skb))) || skb_sec_path(skb))
		return false;
	return skb->dev->features & NETIF_F_HW_CSUM || (skb->dev->features & both) == both;
}

/*
 * @skb's data start behind our header, mac_header at it: skb_segment() repeats what lies between.
 */
static struct sk_buff *mroce_gso_segment(struct sk_buff *skb, netdev_features_t features)
{
	const struct mroce_wire_data *first = (const struct mroce_wire_data *)skb_mac_header(skb);
	const struct skb_shared_info *info = skb_shinfo(skb);
	struct sk_buff *list, *seg;
	u32 count, i = 0;
	bool hw;

	/*
	 * packet sockets, tap and guests can send an skb of our
	 * ethertype with whatever GSO fields they like
	 */
	if ((info->gso_type & MROCE_GSO_TYPE) != MROCE_GSO_TYPE || info->gso_type & SKB_GSO_DODGY)
		return ERR_PTR(-EINVAL);
	if (!skb->dev || skb->data - skb_mac_header(skb) != MROCE_TRAIN_HEADER)
		return ERR_PTR(-EINVAL);
	if (first->base.type != MROCE_T_DATA || !info->gso_size ||
	    be16_to_cpu(first->psize) != info->gso_size)
		return ERR_PTR(-EINVAL);

	hw = device_sums(skb);
	/* no inner packet can be left for a device to segment; the partial kind included */
	features &= ~NETIF_F_GSO_MASK;
	features = hw ? features | NETIF_F_HW_CSUM : features & ~NETIF_F_CSUM_MASK;
	count = DIV_ROUND_UP(skb->len, info->gso_size);
	list = skb_segment(skb, features);
	if (IS_ERR_OR_NULL(list))
		return list;

	for (seg = list; seg; seg = seg->next, i++) {
		mroce_cut_data(skb_mac_header(seg), i, count);
		if (hw)
			seg->ip_summed = CHECKSUM_NONE;
	}
	return list;
}

static struct packet_offload mroce_offload __read_mostly = {
	.type = cpu_to_be16(MROCE_ETHERTYPE),
	.callbacks = {
		.gso_segment = mroce_gso_segment,
	},
};

int mroce_segment_init(void)
{
	dev_add_offload(&mroce_offload);
	return 0;
}

/*
 * Trains still queued below are dropped by the core when their turn
 * comes: it finds nobody to cut them.
 */
void mroce_segment_exit(void)
{
	dev_remove_offload(&mroce_offload);
}
