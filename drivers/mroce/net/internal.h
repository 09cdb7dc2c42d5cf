/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of net/ share with each other and with nobody else.
 */
#ifndef MROCE_NET_INTERNAL_H
#define MROCE_NET_INTERNAL_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/list.h>
#include <linux/udp.h>
#include <net/dst.h>

#include "../compat.h"
#include "net.h"

/*
 * A train's gso_type. UDP_TUNNEL_CSUM brings it to the segmenter of the inner protocol, which is
 * ours. SCTP is the guard: no NIC (nor tun, nor virtio) segments SCTP behind a tunnel header, so
 * none will take a train for the TCP that its tunnel offload expects; the stack cuts in front of
 * them. veth passes both.
 */
#define MROCE_GSO_TYPE	(SKB_GSO_UDP_TUNNEL_CSUM | SKB_GSO_SCTP)

/* what every packet of a train repeats */
#define MROCE_TRAIN_HEADER	sizeof(struct mroce_wire_data)

/* below the transport header, at most */
#define MROCE_LOWER_HEADERS	(sizeof(struct udphdr) + sizeof(struct ipv6hdr))

/**
 * struct mroce_sock - the sockets of one namespace on one port
 * @list: in the list of all, under its mutex
 * @net: namespace; not counted: see sock.c
 * @port: that the sockets are bound to
 * @users: mroce_sock_get() without mroce_sock_put(); under the mutex
 * @sock4: NULL once the namespace is gone; under the mutex
 * @sock6: the same, and NULL where there is no IPv6
 * @sk4: @sock4's, for the data path; RCU
 * @sk6: @sock6's
 * @rcu: delays freeing past the last reader
 */
struct mroce_sock {
	struct list_head list;
	struct net *net;
	__be16 port;
	unsigned int users;
	struct socket *sock4;
	struct socket *sock6;
	struct sock __rcu *sk4;
	struct sock __rcu *sk6;
	struct rcu_head rcu;
};

/* the socket of the flow's family, NULL if there is none (any more); under rcu_read_lock() */
static inline struct sock *mroce_sock_sk(const struct mroce_sock *sock, bool v4)
{
	return v4 ? rcu_dereference(sock->sk4) : rcu_dereference(sock->sk6);
}

/**
 * struct mroce_hop - what one packet takes from its flow, all of it of one moment
 * @saddr: see struct mroce_flow
 * @daddr: see there
 * @sport: see there
 * @tclass: see there
 * @hop_limit: see there
 * @v4: the family
 */
struct mroce_hop {
	struct in6_addr saddr, daddr;
	__be16 sport;
	u8 tclass, hop_limit;
	bool v4;
};

/*
 * mroce_flow_dst() - the flow's route, looked up if there is none that is valid
 * @hop: what the route was looked up for: the flow may be turned elsewhere at any time
 * Under rcu_read_lock(), interrupts on. Returns it with a reference, or ERR_PTR().
 */
struct dst_entry *mroce_flow_dst(struct mroce_sock *sock, struct mroce_flow *flow,
				 struct mroce_hop *hop);
/* what of it an IP packet may fill, bytes */
unsigned int mroce_dst_mtu(const struct dst_entry *dst);

/* marks a single skb with the headers of a train; the skb's data start at the transport header */
void mroce_train_mark(struct sk_buff *skb, unsigned int offset, unsigned int psize,
		      unsigned int count);

int mroce_segment_init(void);
void mroce_segment_exit(void);

struct sk_buff *mroce_gro_receive(struct sock *sk, struct list_head *head, struct sk_buff *skb);
int mroce_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff);

#endif
