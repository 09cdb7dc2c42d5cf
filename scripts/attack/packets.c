// SPDX-License-Identifier: GPL-2.0
/* Attacks from the network: packets seen on a netdev again, changed or not, and made-up ones. IPv4. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mroce/wire.h>

#include "attack.h"

#define OURS	77	/* the TTL of what we send, which is not to be taken up again */
#define KEPT	512
#define LONGEST	8900
#define SPEED	4000	/* packets a second, or nothing else gets a turn */

struct kept {
	uint16_t len;
	uint8_t data[LONGEST]; /* from the IP header on */
};

static int tap(const char *netdev, int type, int protocol)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = if_nametoindex(netdev),
	};
	int s = socket(AF_PACKET, type, htons(protocol));

	if (s < 0 || !to.sll_ifindex || bind(s, (struct sockaddr *)&to, sizeof(to)))
		die(netdev);
	return s;
}

static int raw(void)
{
	int s = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);

	if (s < 0)
		die("raw socket");
	return s;
}

static uint64_t pace(uint64_t sent)
{
	static uint64_t began;

	if (!began)
		began = now_ms();
	if (sent * 1000 > (now_ms() - began) * SPEED)
		usleep(1000);
	return sent + 1;
}

/* Without a UDP checksum, which IPv4 allows; IP's own the kernel fills in. */
static void send_ip(int s, uint8_t *p, size_t len, uint8_t tos)
{
	struct iphdr *ip = (struct iphdr *)p;
	struct udphdr *udp = (struct udphdr *)(ip + 1);
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = ip->daddr };

	if (len < sizeof(*ip) + sizeof(*udp))
		return;
	ip->tos = tos;
	ip->ttl = OURS;
	ip->id = 0;
	ip->frag_off = 0;
	ip->tot_len = htons(len);
	udp->len = htons(len - sizeof(*ip));
	udp->check = 0;
	/* the link may be down at the moment */
	sendto(s, p, len, 0, (struct sockaddr *)&to, sizeof(to));
}

/* A packet that this host sends, if there is one; of a train its first packet. */
static bool catch(int s, struct kept *k)
{
	static uint8_t b[1 << 16];
	struct sockaddr_ll from = {};
	socklen_t fromlen = sizeof(from);
	const struct iphdr *ip = (void *)b;
	const struct udphdr *udp = (void *)(ip + 1);
	struct mroce_wire_data *d = (void *)(k->data + sizeof(*ip) + sizeof(*udp));
	ssize_t n = recvfrom(s, b, sizeof(b), MSG_DONTWAIT, (struct sockaddr *)&from, &fromlen);
	size_t headers = sizeof(*ip) + sizeof(*udp), payload;

	/* the tap of what goes out is for all protocols */
	if (from.sll_protocol != htons(ETH_P_IP) || n < (ssize_t)(headers + sizeof(struct mroce_wire_base)) ||
	    from.sll_pkttype != PACKET_OUTGOING || ip->protocol != IPPROTO_UDP || ip->ihl != 5 ||
	    udp->dest != htons(MROCE_PORT) || ip->ttl == OURS)
		return false;
	k->len = n < LONGEST ? n : LONGEST;
	memcpy(k->data, b, k->len);
	if (d->base.type == MROCE_T_DATA && n > (ssize_t)(headers + sizeof(*d))) {
		payload = n - headers - sizeof(*d);
		if (payload > ntohs(d->psize)) {
			payload = ntohs(d->psize);
			d->flags &= ~MROCE_F_LAST;
		}
		k->len = headers + sizeof(*d) + payload;
	}
	return k->len <= LONGEST;
}

static int again(const char *netdev, void (*change)(struct rng *r, struct kept *k))
{
	struct kept *kept = calloc(KEPT + 1, sizeof(*kept)), *k;
	struct rng r = { seed() };
	int in = tap(netdev, SOCK_DGRAM, ETH_P_ALL), out = raw();
	struct pollfd wait = { .fd = in, .events = POLLIN };
	uint64_t sent = 0;
	uint32_t n = 0;

	while (time_left()) {
		poll(&wait, 1, 10);
		/* some fresh ones replace old ones at random: what is sent is between new and seconds old */
		while (catch(in, &kept[n < KEPT ? n : below(&r, KEPT)]) && !once_in(&r, 20))
			n += n < KEPT;
		if (!n)
			continue;
		kept[KEPT] = kept[below(&r, n)];
		k = &kept[KEPT];
		if (change)
			change(&r, k);
		send_ip(out, k->data, k->len, change ? below(&r, 256) : k->data[1]);
		sent = pace(sent);
	}
	printf("%llu packets\n", (unsigned long long)sent);
	return !sent;
}

static uint64_t odd(struct rng *r, uint64_t was, unsigned int bytes)
{
	switch (below(r, 8)) {
	case 0:
		return 0;
	case 1:
		return ~0ull;
	case 2:
		return was + 1;
	case 3:
		return was - 1;
	case 4:
		return was ^ 1ull << below(r, bytes * 8);
	case 5:
		return was + below(r, 9000);
	case 6:
		return was - below(r, 9000);
	default:
		return rng(r);
	}
}

static void change(struct rng *r, struct kept *k)
{
	const size_t headers = sizeof(struct iphdr) + sizeof(struct udphdr);
	uint8_t *p = k->data + headers;
	size_t len = k->len - headers, at, size, i;
	unsigned int n = 1 + below(r, 3);
	uint64_t v;

	while (n--) {
		if (once_in(r, 12)) {
			/* shorter, or longer by what was there */
			k->len = headers + (once_in(r, 3) && len * 2 < LONGEST - headers ? len + below(r, len) :
					    below(r, len + 1));
			len = k->len - headers;
		}
		if (!len)
			return;
		/* any field but the id, mostly of the headers: 16 bytes of base, then theirs */
		size = 1u << below(r, 4);
		at = below(r, once_in(r, 20) ? len : len < 128 ? len : 128) & ~(size - 1);
		if (at >= 8 && at < 16 && !once_in(r, 20))
			at = 16;
		if (at + size > len)
			continue;
		for (v = 0, i = 0; i < size; i++)
			v = v << 8 | p[at + i];
		v = odd(r, v, size);
		for (i = size; i--; v >>= 8)
			p[at + i] = v;
	}
}

int replay(int argc, char **argv)
{
	(void)argc;
	return again(argv[0], NULL);
}

int mutate(int argc, char **argv)
{
	(void)argc;
	return again(argv[0], change);
}

/* ---- made up ---- */

static size_t compose(struct rng *r, uint8_t *p, const char *saddr, const char *daddr)
{
	struct iphdr *ip = (void *)p;
	struct udphdr *udp = (void *)(ip + 1);
	struct mroce_wire_base *base = (void *)(udp + 1);
	struct mroce_wire_hello *h = (void *)base;
	size_t len = sizeof(*h);
	uint8_t *b = (void *)base;

	memset(p, 0, sizeof(*ip) + sizeof(*udp));
	ip->version = 4;
	ip->ihl = 5;
	ip->protocol = IPPROTO_UDP;
	ip->saddr = inet_addr(saddr);
	ip->daddr = inet_addr(daddr);
	udp->source = htons(MROCE_PATH_PORT_BASE + below(r, 1 << MROCE_PATH_PORT_BITS));
	udp->dest = htons(MROCE_PORT);
	while (len--)
		b[len] = rng(r);
	len = sizeof(*h);
	base->version = MROCE_WIRE_VERSION;
	base->type = once_in(r, 4) ? below(r, 16) : MROCE_T_HELLO;
	if (base->type != MROCE_T_HELLO)
		return 28 + below(r, LONGEST - 28);
	base->path = 0;
	base->id = 0;
	h->version_min = h->version_max = MROCE_WIRE_VERSION;
	h->npaths = once_in(r, 10) ? below(r, 256) : 1 + below(r, 64);
	h->nplanes = once_in(r, 10) ? below(r, 256) : 1 + below(r, MROCE_MAX_PLANES);
	h->flags = once_in(r, 10) ? below(r, 256) : 0;
	h->max_payload = once_in(r, 10) ? below(r, 65536) : htons(4096);
	/* a few instances with many halves, or as many instances */
	if (once_in(r, 2))
		h->instance = htobe64(1 + below(r, 4));
	if (once_in(r, 2))
		h->half = htonl(below(r, 16));
	memset(h->to, 0, 10);
	memset(h->to + 10, 0xff, 2);
	memcpy(h->to + 12, &ip->daddr, 4);
	memset(h->plane[0].addr, 0, 10);
	memset(h->plane[0].addr + 10, 0xff, 2);
	memcpy(h->plane[0].addr + 12, &ip->saddr, 4);
	h->plane[0].mtu = once_in(r, 10) ? below(r, 65536) : htons(9000);
	return sizeof(*ip) + sizeof(*udp) + len;
}

int flood(int argc, char **argv)
{
	static uint8_t p[LONGEST];
	struct rng r = { seed() };
	uint64_t sent = 0;
	int s = raw();

	(void)argc;
	while (time_left()) {
		size_t len = compose(&r, p, argv[0], argv[1]);

		/* a HELLO needs an answer that returns the cookie: that of ours is never seen */
		send_ip(s, p, len, 0);
		sent = pace(sent);
	}
	printf("%llu packets\n", (unsigned long long)sent);
	return 0;
}

int forge(int argc, char **argv)
{
	static const uint8_t types[] = { VIRTIO_NET_HDR_GSO_NONE, VIRTIO_NET_HDR_GSO_UDP, 5 /* UDP_L4 */,
					 VIRTIO_NET_HDR_GSO_TCPV4, VIRTIO_NET_HDR_GSO_TCPV6 };
	struct {
		struct virtio_net_hdr v;
		uint8_t data[LONGEST + sizeof(struct ethhdr)];
	} __attribute__((packed)) m;
	struct rng r = { seed() };
	int in = tap(argv[0], SOCK_DGRAM, ETH_P_ALL), link = tap(argv[0], SOCK_RAW, ETH_P_IP), yes = 1;
	struct pollfd wait = { .fd = in, .events = POLLIN };
	uint8_t eth[sizeof(struct ethhdr)] = {};
	struct kept *k = calloc(1, sizeof(*k));
	uint64_t sent = 0, taken = 0;
	size_t len;

	(void)argc;
	if (setsockopt(link, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof(yes)))
		die("PACKET_VNET_HDR");
	memset(eth, 0xff, 6);
	eth[6] = 2;
	while (time_left()) {
		poll(&wait, 1, 10);
		if (!catch(in, k))
			continue;
		if (once_in(&r, 2))
			change(&r, k);
		memset(&m.v, 0, sizeof(m.v));
		m.v.gso_type = types[below(&r, sizeof(types))];
		m.v.gso_size = once_in(&r, 2) ? 4096 : below(&r, 9000);
		m.v.hdr_len = 14 + 28;
		if (!once_in(&r, 3)) {
			m.v.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
			m.v.csum_start = 14 + 20;
			m.v.csum_offset = m.v.gso_type == VIRTIO_NET_HDR_GSO_TCPV4 ? 16 : 6;
		}
		eth[12] = once_in(&r, 10) ? 0x88 : 0x08;
		eth[13] = eth[12] == 0x88 ? 0xb5 : 0x00;
		memcpy(m.data, eth, sizeof(eth));
		k->data[8] = OURS;
		memcpy(m.data + sizeof(eth), k->data, k->len);
		len = sizeof(m.v) + sizeof(eth) + k->len;
		taken += write(link, &m, len) == (ssize_t)len;
		sent = pace(sent);
	}
	printf("%llu packets, %llu went\n", (unsigned long long)sent, (unsigned long long)taken);
	return !sent;
}
