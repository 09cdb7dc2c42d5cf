// SPDX-License-Identifier: GPL-2.0
/*
 * Flows: where the packets of one path go. A flow caches its route under its own
 * spinlock, which is held only to take or replace the pointer; looking a route up
 * happens outside of it, so two that find none look it up twice and one wins.
 * Sizes that depend on the route (MTU, payload, train) are here too.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/route.h>

#include "internal.h"

void mroce_flow_init(struct mroce_flow *flow, const struct in6_addr *saddr,
		     const struct in6_addr *daddr, __be16 sport, int ifindex)
{
	memset(flow, 0, sizeof(*flow));
	flow->saddr = *saddr;
	flow->daddr = *daddr;
	flow->sport = sport;
	flow->ifindex = ifindex;
	spin_lock_init(&flow->lock);
}

/* Takes over the reference. Not if the flow has been turned elsewhere since it was @turn. */
static void flow_set(struct mroce_flow *flow, struct dst_entry *dst, u32 cookie, u32 turn)
{
	unsigned long flags;

	spin_lock_irqsave(&flow->lock, flags);
	if (flow->turn == turn) {
		swap(flow->dst, dst);
		flow->cookie = cookie;
	}
	spin_unlock_irqrestore(&flow->lock, flags);
	dst_release(dst);
}

/* What was looked up, and is being looked up, is out of date: its reference is the caller's. */
static struct dst_entry *flow_forget(struct mroce_flow *flow)
{
	struct dst_entry *dst = flow->dst;

	lockdep_assert_held(&flow->lock);
	flow->dst = NULL;
	flow->turn++;
	return dst;
}

void mroce_flow_drop(struct mroce_flow *flow)
{
	struct dst_entry *dst;
	unsigned long flags;

	spin_lock_irqsave(&flow->lock, flags);
	dst = flow_forget(flow);
	spin_unlock_irqrestore(&flow->lock, flags);
	dst_release(dst);
}

void mroce_flow_turn(struct mroce_flow *flow, const struct in6_addr *saddr,
		     const struct in6_addr *daddr, __be16 sport, int ifindex)
{
	struct dst_entry *dst;
	unsigned long flags;

	spin_lock_irqsave(&flow->lock, flags);
	dst = flow_forget(flow);
	flow->saddr = *saddr;
	flow->daddr = *daddr;
	flow->sport = sport;
	flow->ifindex = ifindex;
	spin_unlock_irqrestore(&flow->lock, flags);
	dst_release(dst);
}

static bool addr_local(struct net *net, const struct in6_addr *addr)
{
	if (mroce_addr_v4(addr))
		return inet_addr_type(net, addr->s6_addr32[3]) == RTN_LOCAL;
#if IS_ENABLED(CONFIG_IPV6)
	return ipv6_chk_addr(net, addr, NULL, 0);
#else
	return false;
#endif
}

int mroce_group_join(struct net_device *ndev, const struct in6_addr *addr)
{
	struct in_device *in;

	ASSERT_RTNL();
	if (!mroce_addr_v4(addr))
		return IS_ENABLED(CONFIG_IPV6) && __in6_dev_get(ndev) ?
		       ipv6_dev_mc_inc(ndev, addr) : -EADDRNOTAVAIL;
	in = __in_dev_get_rtnl(ndev);
	if (!in)
		return -EADDRNOTAVAIL;
	ip_mc_inc_group(in, addr->s6_addr32[3]);
	return 0;
}

void mroce_group_leave(struct net_device *ndev, const struct in6_addr *addr)
{
	struct in_device *in;

	ASSERT_RTNL();
	if (!mroce_addr_v4(addr)) {
		if (IS_ENABLED(CONFIG_IPV6))
			ipv6_dev_mc_dec(ndev, addr);
		return;
	}
	in = __in_dev_get_rtnl(ndev);
	if (in)
		ip_mc_dec_group(in, addr->s6_addr32[3]);
}

bool mroce_addr_local(struct mroce_sock *sock, const struct in6_addr *addr)
{
	return addr_local(sock->net, addr);
}

/* @dev is the netdev, or the VRF that it belongs to */
static bool leaves_by(const struct net_device *dev, int ifindex)
{
	return dev->ifindex == ifindex || (netif_is_l3_master(dev) && dev->ifindex ==
					   l3mdev_master_ifindex_by_index(dev_net(dev), ifindex));
}

/*
 * A plane's packets leave by its netdev, whatever the routing table prefers. This host's own
 * addresses are reached over lo, whichever netdev holds them: a lookup that insists on another
 * would not find them. IPv4 chooses among next hops, by a hash of the ports, only for a lookup
 * that insists on no netdev: so that is tried first.
 */
static struct dst_entry *route4(struct net *net, struct sock *sk, const struct mroce_hop *hop,
				int ifindex, __be16 dport)
{
	struct flowi4 fl = {
		.daddr = hop->daddr.s6_addr32[3],
		.saddr = hop->saddr.s6_addr32[3],
		.flowi4_oif = ifindex,
		.flowi4_proto = IPPROTO_UDP,
		.fl4_sport = hop->sport,
		.fl4_dport = dport,
	};
	bool local = addr_local(net, &hop->daddr);
	struct flowi4 any = fl;
	struct rtable *rt;

	any.flowi4_oif = 0;
	rt = ip_route_output_flow(net, &any, sk);
	if (!local && ifindex && (IS_ERR(rt) || !leaves_by(rt->dst.dev, ifindex))) {
		if (!IS_ERR(rt))
			ip_rt_put(rt);
		rt = ip_route_output_flow(net, &fl, sk);
	}
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	if (rt->rt_flags & RTCF_BROADCAST) {
		ip_rt_put(rt);
		return ERR_PTR(-ENETUNREACH);
	}
	return &rt->dst;
}

#if IS_ENABLED(CONFIG_IPV6)
static struct dst_entry *route6(struct net *net, struct sock *sk, const struct mroce_hop *hop,
				int ifindex, __be16 dport, u32 *cookie)
{
	struct flowi6 fl = {
		.daddr = hop->daddr,
		.saddr = hop->saddr,
		.flowi6_oif = ifindex,
		.flowi6_proto = IPPROTO_UDP,
		.fl6_sport = hop->sport,
		.fl6_dport = dport,
	};
	struct dst_entry *dst;

	/* a link-local address means nothing without its link, and its route names it */
	if (!(ipv6_addr_type(&hop->daddr) & IPV6_ADDR_LINKLOCAL) &&
	    addr_local(net, &hop->daddr))
		fl.flowi6_oif = 0;
	dst = ip6_dst_lookup_flow(net, sk, &fl, NULL);
	if (!IS_ERR(dst))
		*cookie = rt6_get_cookie(container_of(dst, struct rt6_info, dst));
	return dst;
}
#else
static struct dst_entry *route6(struct net *net, struct sock *sk, const struct mroce_hop *hop,
				int ifindex, __be16 dport, u32 *cookie)
{
	return ERR_PTR(-ENETUNREACH);
}
#endif

struct dst_entry *mroce_flow_dst(struct mroce_sock *sock, struct mroce_flow *flow,
				 struct mroce_hop *hop)
{
	struct dst_entry *dst = NULL;
	unsigned long flags;
	u32 cookie = 0, turn;
	struct sock *sk;
	int ifindex;

	spin_lock_irqsave(&flow->lock, flags);
	*hop = (struct mroce_hop){
		.saddr = flow->saddr,
		.daddr = flow->daddr,
		.sport = flow->sport,
		.tclass = READ_ONCE(flow->tclass),
		.hop_limit = READ_ONCE(flow->hop_limit),
		.v4 = mroce_addr_v4(&flow->daddr),
	};
	ifindex = flow->ifindex;
	turn = flow->turn;
	/* without its socket the namespace may be gone too */
	sk = mroce_sock_sk(sock, hop->v4);
	if (sk && flow->dst)
		dst = dst_check(flow->dst, flow->cookie);
	if (dst)
		dst_hold(dst);
	spin_unlock_irqrestore(&flow->lock, flags);
	if (dst)
		return dst;
	if (!sk)
		return ERR_PTR(-ENETUNREACH);

	/*
	 * the tables are locked with bottom halves off, and enabling these again needs interrupts
	 */
	if (irqs_disabled())
		return ERR_PTR(-EAGAIN);
	dst = hop->v4 ? route4(sock->net, sk, hop, ifindex, sock->port) :
			route6(sock->net, sk, hop, ifindex, sock->port, &cookie);
	if (IS_ERR(dst))
		return PTR_ERR(dst) == -EHOSTUNREACH ? dst : ERR_PTR(-ENETUNREACH);
	/* whether this host is in the group is written in the route, and changes */
	if (mroce_addr_group(&hop->daddr))
		return dst;
	dst_hold(dst);
	flow_set(flow, dst, cookie, turn);
	return dst;
}

/*
 * lo's MTU is above what an IP packet can hold, and that is what we
 * are told of it; callers bound packets anyway
 */
unsigned int mroce_dst_mtu(const struct dst_entry *dst)
{
	const struct net_device *dev = READ_ONCE(dst->dev);

	return dev->flags & IFF_LOOPBACK ? READ_ONCE(dev->mtu) : dst_mtu(dst);
}

int mroce_flow_mtu(struct mroce_sock *sock, struct mroce_flow *flow)
{
	struct dst_entry *dst;
	struct mroce_hop hop;
	int mtu;

	rcu_read_lock();
	dst = mroce_flow_dst(sock, flow, &hop);
	mtu = IS_ERR(dst) ? PTR_ERR(dst) : (int)mroce_dst_mtu(dst);
	if (!IS_ERR(dst))
		dst_release(dst);
	rcu_read_unlock();
	return mtu;
}

#define PAYLOAD_MAX	61440
#define PAYLOAD_STEP	4096

/* IPv6's header is assumed for both families, or two planes of one MTU would differ */
u16 mroce_payload_of_mtu(unsigned int mtu)
{
	const unsigned int headers = MROCE_PACKET_HEADERS;
	unsigned int room;

	if (mtu < headers + MROCE_PAYLOAD_MIN)
		return 0;
	room = min_t(unsigned int, mtu - headers, PAYLOAD_MAX);
	return round_down(room, room < PAYLOAD_STEP ? 16 : PAYLOAD_STEP);
}

unsigned int mroce_flow_train(struct mroce_sock *sock, struct mroce_flow *flow, unsigned int psize)
{
	unsigned int headers, room, packets;
	const struct net_device *dev;
	struct dst_entry *dst;
	struct mroce_hop hop;

	if (!psize)
		return 0;
	rcu_read_lock();
	dst = mroce_flow_dst(sock, flow, &hop);
	if (IS_ERR(dst)) {
		rcu_read_unlock();
		return psize;
	}
	dev = READ_ONCE(dst->dev);
	packets = 1;
	/*
	 * lo would only cut a train, in software and with sums:
	 * packets that fill its MTU need neither
	 */
	if (!(dev->flags & IFF_LOOPBACK)) {
		/*
		 * the core compares the whole frame, VLAN tags
		 * included, and wants it to be below the limit
		 */
		headers = MROCE_PACKET_HEADERS + LL_RESERVED_SPACE(dev) + dst->header_len;
		room = min(mroce_gso_max_size(dev, hop.v4), MROCE_IP_MAX);
		if (room > headers)
			packets = (room - headers) / psize;
		/* unaligned, a train touches one page more than it fills */
		packets = min3(packets, (unsigned int)((MAX_SKB_FRAGS - 1) * PAGE_SIZE / psize),
			       READ_ONCE(dev->gso_max_segs));
		packets = clamp_t(unsigned int, packets, 1, MROCE_TRAIN_MAX);
	}
	dst_release(dst);
	rcu_read_unlock();
	return packets * psize;
}
