// SPDX-License-Identifier: GPL-2.0
/*
 * Tunnel sockets and what arrives at them. A namespace has one pair (IPv4, IPv6) a
 * port, made by the first user; socks_mutex guards the list and the counts.
 *
 * A kernel socket does not keep its namespace alive, and a device that is being
 * unregistered may put its sockets after the namespace is gone. So the sockets go with
 * the namespace (after its netdevs, whose removal ended all traffic), and what is
 * left of struct mroce_sock goes with its last user.
 */
#include <linux/mutex.h>
#include <linux/slab.h>
#include <net/dsfield.h>
#include <net/inet_sock.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/netns/generic.h>
#include <net/udp.h>

#include "internal.h"

static LIST_HEAD(socks);
static DEFINE_MUTEX(socks_mutex);

/* any non-zero value: the others have a meaning to UDP itself */
#define ENCAP_TYPE	1

/*
 * Is this what it claims to be? A train that a device or a neighbour namespace hands over must be
 * of our making: a guest or a packet socket may set GSO fields as it likes, and they decide how
 * payload is counted.
 */
static bool train_is_sound(struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	const struct mroce_wire_data *h;

	if ((info->gso_type & MROCE_GSO_TYPE) != MROCE_GSO_TYPE || info->gso_type & SKB_GSO_DODGY)
		return false;
	if (!pskb_may_pull(skb, sizeof(struct udphdr) + MROCE_TRAIN_HEADER))
		return false;
	h = (const struct mroce_wire_data *)(skb->data + sizeof(struct udphdr));
	return h->base.type == MROCE_T_DATA && info->gso_size &&
	       be16_to_cpu(h->psize) == info->gso_size;
}

/*
 * Devices that pass trains say so; a train from any other was built here, of packets with marks of
 * their own.
 */
static bool passes_trains(const struct net_device *ndev)
{
	const netdev_features_t both = NETIF_F_GSO_UDP_TUNNEL_CSUM | NETIF_F_GSO_SCTP;

	return (ndev->features & both) == both;
}

static void arrival_of(const struct sk_buff *skb, bool v4, struct mroce_arrival *from)
{
	int slave;

	if (v4) {
		const struct iphdr *iph = ip_hdr(skb);

		ipv6_addr_set_v4mapped(iph->saddr, &from->saddr);
		ipv6_addr_set_v4mapped(iph->daddr, &from->daddr);
		from->tos = iph->tos;
		from->ttl = iph->ttl;
		slave = inet_sdif(skb);
	} else {
		const struct ipv6hdr *iph = ipv6_hdr(skb);

		from->saddr = iph->saddr;
		from->daddr = iph->daddr;
		from->tos = ipv6_get_dsfield(iph);
		from->ttl = iph->hop_limit;
		slave = inet6_sdif(skb);
	}
	from->sport = udp_hdr(skb)->source;
	from->ce = INET_ECN_is_ce(from->tos);
	/* a VRF shows itself as the device; the plane is the netdev below it */
	from->ifindex = slave ?: skb->dev->ifindex;
}

/* Softirq, under RCU. UDP has checked its length and sum; data start at its header. */
static int mroce_encap_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct mroce_sock *sock = rcu_dereference_sk_user_data(sk);
	struct mroce_arrival from __uninitialized;
	unsigned int gso_size = 0;

	if (!sock || !mroce_skb_readable(skb))
		goto drop;
	if (skb_is_gso(skb)) {
		if (!train_is_sound(skb))
			goto drop;
		gso_size = skb_shinfo(skb)->gso_size;
	}
	/* shorter ones go up as they are, to be counted there */
	if (!pskb_may_pull(skb, min_t(unsigned int, skb->len,
				      sizeof(struct udphdr) + sizeof(struct mroce_wire_base))))
		goto drop;
	arrival_of(skb, sk->sk_family == AF_INET, &from);
	__skb_pull(skb, sizeof(struct udphdr));
	/* a last packet alone in a train of one is a packet */
	if (gso_size && skb->len - MROCE_TRAIN_HEADER <= gso_size)
		gso_size = 0;
	from.whole = gso_size && passes_trains(skb->dev);
	mroce_receive(sock, skb, &from, gso_size);
	return 0;

drop:
	kfree_skb(skb);
	return 0;
}

/*
 * Path source ports are not bound, so the stack asks whether the
 * packet that an ICMP error quotes was ours.
 */
static int mroce_err_lookup(struct sock *sk, struct sk_buff *skb)
{
	return udp_hdr(skb)->dest == inet_sk(sk)->inet_sport ? 0 : -ENOENT;
}

/* an ICMP error; data start at the quoted IP header */
static void handle_error(struct sock *sk, struct sk_buff *skb)
{
	struct mroce_sock *sock = rcu_dereference_sk_user_data(sk);
	u8 quote[sizeof(struct mroce_wire_data)];
	unsigned int offset, len, mtu = 0;
	struct in6_addr daddr;
	struct udphdr *uh, _uh;

	if (!sock)
		return;
	if (sk->sk_family == AF_INET) {
		const struct iphdr *iph = (const struct iphdr *)skb->data;
		const struct icmphdr *icmp = icmp_hdr(skb);

		ipv6_addr_set_v4mapped(iph->daddr, &daddr);
		offset = iph->ihl * 4;
		if (icmp->type == ICMP_DEST_UNREACH && icmp->code == ICMP_FRAG_NEEDED)
			mtu = ntohs(icmp->un.frag.mtu);
	} else {
		const struct ipv6hdr *iph = (const struct ipv6hdr *)skb->data;
		const struct icmp6hdr *icmp = icmp6_hdr(skb);

		/* we send no extension headers: one in the quotation means that it is not ours */
		if (iph->nexthdr != IPPROTO_UDP)
			return;
		daddr = iph->daddr;
		offset = sizeof(*iph);
		if (icmp->icmp6_type == ICMPV6_PKT_TOOBIG)
			mtu = ntohl(icmp->icmp6_mtu);
	}
	uh = skb_header_pointer(skb, offset, sizeof(_uh), &_uh);
	if (!uh)
		return;
	offset += sizeof(*uh);
	len = min_t(unsigned int, skb->len - offset, sizeof(quote));
	if (skb_copy_bits(skb, offset, quote, len))
		return;
	mroce_receive_error(sock, &daddr, uh->source, quote, len, mtu);
}

MROCE_ENCAP_ERR_RCV(mroce_err_rcv, handle_error)

/* This host may be in the groups that it sends to; tunnels are made not to hear themselves. */
static int hear_own_groups(struct socket *sock, int family)
{
	int on = 1;

	if (family == AF_INET)
		return sock_common_setsockopt(sock, SOL_IP, IP_MULTICAST_LOOP,
					      KERNEL_SOCKPTR(&on), sizeof(on));
	return sock_common_setsockopt(sock, SOL_IPV6, IPV6_MULTICAST_LOOP, KERNEL_SOCKPTR(&on),
				      sizeof(on));
}

/* IPv4 also where IPv6 would do for both: a namespace may have either switched off */
static int open_one(struct mroce_sock *sock, int family, struct socket **sockp)
{
	struct udp_port_cfg port = {
		.family = family,
		.local_udp_port = sock->port,
		.use_udp_checksums = 1,
		.use_udp6_tx_checksums = 1,
		.use_udp6_rx_checksums = 1,
		.ipv6_v6only = 1,
	};
	struct udp_tunnel_sock_cfg tunnel = {
		.sk_user_data = sock,
		.encap_type = ENCAP_TYPE,
		.encap_rcv = mroce_encap_rcv,
		.encap_err_lookup = mroce_err_lookup,
		.encap_err_rcv = MROCE_ENCAP_ERR_RCV_FN(mroce_err_rcv),
		.gro_receive = mroce_gro_receive,
		.gro_complete = mroce_gro_complete,
	};
	int err;

	err = udp_sock_create(sock->net, &port, sockp);
	if (err)
		return err;
	mroce_setup_tunnel_sock(sock->net, *sockp, &tunnel);
	return hear_own_groups(*sockp, family);
}

static void close_all(struct mroce_sock *sock)
{
	lockdep_assert_held(&socks_mutex);
	RCU_INIT_POINTER(sock->sk4, NULL);
	RCU_INIT_POINTER(sock->sk6, NULL);
	/* senders first: they use the sockets that go below */
	synchronize_rcu();
	if (sock->sock4)
		mroce_release_tunnel_sock(sock->sock4);
	if (sock->sock6)
		mroce_release_tunnel_sock(sock->sock6);
	sock->sock4 = NULL;
	sock->sock6 = NULL;
}

static int open_all(struct mroce_sock *sock)
{
	int err;

	err = open_one(sock, AF_INET, &sock->sock4);
	if (err)
		return err;
	err = open_one(sock, AF_INET6, &sock->sock6);
	/* no IPv6 at all, or not in this boot */
	if (err == -EAFNOSUPPORT || err == -EPFNOSUPPORT) {
		sock->sock6 = NULL;
		err = 0;
	}
	if (err)
		return err;
	rcu_assign_pointer(sock->sk4, sock->sock4->sk);
	if (sock->sock6)
		rcu_assign_pointer(sock->sk6, sock->sock6->sk);
	return 0;
}

/*
 * A first socket may have IPv6's module loaded, and that runs programs which may wait for whoever
 * waits for the mutex: not under it.
 */
static void load_ipv6(struct net *net)
{
	struct socket *sock;

	if (IS_MODULE(CONFIG_IPV6) &&
	    !sock_create_kern(net, AF_INET6, SOCK_DGRAM, IPPROTO_UDP, &sock))
		sock_release(sock);
}

struct mroce_sock *mroce_sock_get(struct net *net, __be16 port)
{
	struct mroce_sock *sock;
	int err;

	load_ipv6(net);
	mutex_lock(&socks_mutex);
	list_for_each_entry(sock, &socks, list) {
		if (net_eq(sock->net, net) && sock->port == port && sock->sock4) {
			sock->users++;
			goto out;
		}
	}
	err = -ENETDOWN;
	if (!check_net(net))
		goto fail;
	err = -ENOMEM;
	sock = kzalloc(sizeof(*sock), GFP_KERNEL);
	if (!sock)
		goto fail;
	sock->net = net;
	sock->port = port;
	sock->users = 1;
	err = open_all(sock);
	if (err) {
		close_all(sock);
		kfree_rcu(sock, rcu);
		goto fail;
	}
	list_add(&sock->list, &socks);
out:
	mutex_unlock(&socks_mutex);
	return sock;

fail:
	mutex_unlock(&socks_mutex);
	return ERR_PTR(err);
}

void mroce_sock_put(struct mroce_sock *sock)
{
	mutex_lock(&socks_mutex);
	if (!--sock->users) {
		list_del(&sock->list);
		if (sock->sock4)
			close_all(sock);
		/* a receiver may still hold what it found in the socket */
		kfree_rcu(sock, rcu);
	}
	mutex_unlock(&socks_mutex);
}

struct net *mroce_sock_net(const struct mroce_sock *sock)
{
	return sock->net;
}

__be16 mroce_sock_port(const struct mroce_sock *sock)
{
	return sock->port;
}

static void __net_exit mroce_net_exit_one(struct net *net)
{
	struct mroce_sock *sock;

	mutex_lock(&socks_mutex);
	list_for_each_entry(sock, &socks, list) {
		if (net_eq(sock->net, net) && sock->sock4)
			close_all(sock);
	}
	mutex_unlock(&socks_mutex);
}

static struct pernet_operations mroce_net_ops = {
	.exit = mroce_net_exit_one,
};

int mroce_net_init(void)
{
	int err;

	err = register_pernet_subsys(&mroce_net_ops);
	if (err)
		return err;
	err = mroce_segment_init();
	if (err)
		unregister_pernet_subsys(&mroce_net_ops);
	return err;
}

void mroce_net_exit(void)
{
	WARN_ON(!list_empty(&socks));
	unregister_pernet_subsys(&mroce_net_ops);
	mroce_segment_exit();
	/* encap_rcv and gro_receive of sockets just released, and structures freed by RCU */
	synchronize_net();
	rcu_barrier();
}
