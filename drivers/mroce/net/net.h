/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's only door to the network stack: sockets per namespace, routes a
 * path, packets and trains out, packets and trains in. Knows IP, UDP, skbs and
 * dsts; knows nothing of connections, streams or Verbs.
 */
#ifndef MROCE_NET_NET_H
#define MROCE_NET_NET_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "../transport/packet.h"

struct mroce_sock;

/**
 * struct mroce_flow - where one path's packets go
 * @saddr: source, IPv6 or IPv4 mapped into it
 * @daddr: destination, of the same family
 * @sport: UDP source port
 * @tclass: traffic class of what is sent next, without the ECN bits
 * @hop_limit: of it; 0: the route's
 * @ifindex: of the plane's netdev; routes must leave by it unless the destination is local. 0: any
 * @dst: cached route, with a reference; replaced under @lock, NULL if none
 * @cookie: for dst_check()
 * @turn: counts what makes a route that was looked up before out of date
 * @lock: spinlock around @dst (short, irqsave)
 */
struct mroce_flow {
	struct in6_addr saddr;
	struct in6_addr daddr;
	__be16 sport;
	u8 tclass, hop_limit;
	int ifindex;
	struct dst_entry *dst;
	u32 cookie;
	u32 turn;
	spinlock_t lock; /* @dst, @cookie, @turn, and changes of addresses, port and netdev */
};

void mroce_flow_init(struct mroce_flow *flow, const struct in6_addr *saddr,
		     const struct in6_addr *daddr, __be16 sport, int ifindex);
/* drops the route; afterwards nothing of the flow refers to a netdev. Any context. */
void mroce_flow_drop(struct mroce_flow *flow);
/* goes elsewhere from now on; of the same family. Any context. */
void mroce_flow_turn(struct mroce_flow *flow, const struct in6_addr *saddr,
		     const struct in6_addr *daddr, __be16 sport, int ifindex);

/**
 * mroce_flow_mtu() - largest IP packet that the path passes now, bytes
 * Looks the route up if there is none. Negative errno: no route; -EAGAIN if a look-up is needed and
 * interrupts are off. Any context but hard interrupts.
 */
int mroce_flow_mtu(struct mroce_sock *sock, struct mroce_flow *flow);
/*
 * Payload of one data packet for this IP MTU: 61,440 at most; multiples of 4,096 from there up, of
 * 16 below; 0 if below 1,024.
 */
u16 mroce_payload_of_mtu(unsigned int mtu);
/* what a data packet adds to its payload, over IPv6; IPv4's is taken to be as long */
#define MROCE_PACKET_HEADERS \
	(sizeof(struct ipv6hdr) + sizeof(struct udphdr) + sizeof(struct mroce_wire_data))
/* an IP packet's length field; jumbograms are for nobody here */
#define MROCE_IP_MAX	65535u

/**
 * mroce_sock_get() - the namespace's sockets on UDP port @port, created with the first user
 * Process context. One pair (IPv4, IPv6) a (namespace, port); ERR_PTR(-EADDRINUSE) if another has
 * the port.
 */
struct mroce_sock *mroce_sock_get(struct net *net, __be16 port);
void mroce_sock_put(struct mroce_sock *sock);
struct net *mroce_sock_net(const struct mroce_sock *sock);
__be16 mroce_sock_port(const struct mroce_sock *sock);

/**
 * mroce_packet_alloc() - an skb for one packet or train
 * @len: bytes of transport header (and copied payload) that the caller will skb_put()
 *
 * Headroom for every header below us is reserved. NULL: no memory. Atomic.
 */
struct sk_buff *mroce_packet_alloc(unsigned int len);

/**
 * mroce_packet_add() - append payload by reference
 * Takes its own page reference; falls back to copying into a fresh page where the page may not
 * become a fragment (slab memory: sendpage_ok()). @shared: registered memory, which its owner may
 * write meanwhile. Merges with the last fragment if contiguous. -EMSGSIZE: 17 fragments are in use;
 * -ENOMEM.
 */
int mroce_packet_add(struct sk_buff *skb, struct page *page, unsigned int offset, unsigned int len,
		     bool shared);

/**
 * mroce_packet_copy() - append payload by copy, into fresh pages
 * @done: raised by what was appended
 *
 * -EMSGSIZE: 17 fragments are in use; -ENOMEM.
 */
int mroce_packet_copy(struct sk_buff *skb, const void *src, unsigned int len, unsigned int *done);

/**
 * mroce_packet_send() - UDP, IP and out
 * @psize: payload bytes of each packet of a train, 0 for a single packet
 * @header: bytes of the transport header that every packet repeats (train)
 * @ect: send as ECT(0); else Not-ECT (ACKs)
 * @frag: 0, or: DF clear, and IP fragments of this size at most, for the packet was cut for a
 *	larger MTU than the path has now
 *
 * Consumes @skb always. Bottom halves are off, no lock is held. Returns 0; -ENOBUFS a local drop
 * (net_xmit_eval), -EHOSTUNREACH or -ENETUNREACH no route, -EMSGSIZE larger than the path passes.
 */
int mroce_packet_send(struct mroce_sock *sock, struct mroce_flow *flow, struct sk_buff *skb,
		      unsigned int psize, unsigned int header, bool ect, unsigned int frag);

/*
 * largest train for this flow: bytes of payload at @psize, by the
 * device's gso_max_size, gso_max_segs and our limits
 */
unsigned int mroce_flow_train(struct mroce_sock *sock, struct mroce_flow *flow, unsigned int psize);

/*
 * Membership of a netdev in a group: IGMP or MLD, and what the netdev lets in. Each join is undone
 * by one leave, but for a netdev that is unregistered or changes its namespace, which leaves all.
 * Under rtnl. -EADDRNOTAVAIL: the netdev does not speak that family.
 */
int mroce_group_join(struct net_device *ndev, const struct in6_addr *addr);
void mroce_group_leave(struct net_device *ndev, const struct in6_addr *addr);

/* Is it an address of this host, no group's and no broadcast? Under RCU; softirq or process. */
bool mroce_addr_local(struct mroce_sock *sock, const struct in6_addr *addr);

/**
 * struct mroce_arrival - what the network layer knows of a packet or train
 * @saddr: source (IPv4 mapped)
 * @daddr: destination, an address of this host (or a multicast group)
 * @sport: source port
 * @whole: a train that came uncut, all of it marked by one decision
 * @ce: every packet of it is marked Congestion Experienced
 * @tos: TOS or traffic class byte
 * @ttl: TTL or hop limit
 * @ifindex: of the netdev that it came in by
 */
struct mroce_arrival {
	struct in6_addr saddr;
	struct in6_addr daddr;
	__be16 sport;
	bool ce, whole;
	u8 tos, ttl;
	int ifindex;
};

/*
 * Implemented by the connection layer (conn/receive.c). Called in softirq, under RCU, for every
 * datagram at the port; skb->data is the transport header, skb->len ends with the payload.
 * @gso_size is the payload of each packet of a train, 0 for a single packet. Consumes @skb.
 */
void mroce_receive(struct mroce_sock *sock, struct sk_buff *skb, const struct mroce_arrival *from,
		   unsigned int gso_size);
/*
 * An ICMP error whose quotation starts with our headers: @hdr holds @len bytes of the transport
 * header that we sent to @daddr (routers may quote none of it). @mtu is non-zero for "too big". May
 * be forged: see rule 23.
 */
void mroce_receive_error(struct mroce_sock *sock, const struct in6_addr *daddr, __be16 sport,
			 const void *hdr, unsigned int len, unsigned int mtu);

int mroce_net_init(void);	/* packet_offload, pernet */
void mroce_net_exit(void);

static inline bool mroce_addr_v4(const struct in6_addr *a) { return ipv6_addr_v4mapped(a); }
static inline bool mroce_addr_group(const struct in6_addr *a)
{
	return mroce_addr_v4(a) ? ipv4_is_multicast(a->s6_addr32[3]) : ipv6_addr_is_multicast(a);
}

#endif
