// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mroce doctor: what is wrong with a set-up, and what to do. It looks, and changes nothing; what cannot be seen
 * from this host alone (a firewall at the peer, a switch of a smaller MTU) it concludes from what became of the traffic.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "doctor.h"
#include "mroce.h"

static unsigned int wrong;

/* One finding: @check names it for programs; @on is a device or netdev, or NULL */
static void __attribute__((format(printf, 4, 5)))
say(bool good, const char *check, const char *on, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wrong += !good;
	if (!out_json) {
		printf("%-5s %-9s %s%s%s\n", good ? "ok" : "WRONG", check, on ? on : "", on ? ": " : "", text);
		return;
	}
	out_open();
	out_string("status", good ? "ok" : "wrong");
	out_string("check", check);
	if (on)
		out_string("on", on);
	out_string("text", text);
	out_close();
}

/* The first line of a file; false: there is none */
static bool line_of(char *line, size_t size, const char *format, ...)
{
	char path[256];
	va_list args;
	FILE *file;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	file = fopen(path, "re");
	if (!file)
		return false;
	*line = 0;
	if (fgets(line, size, file))
		line[strcspn(line, "\n")] = 0;
	fclose(file);
	return *line;
}

/*
 * All counters of a device, as rdma(8) prints them: "name value" and again. In another namespace than the first sysfs
 * does not have them.
 */
static char counters[16384];

static void read_counters(const char *device)
{
	char command[128];
	const char *c;
	size_t n = 0;
	FILE *rdma;

	*counters = 0;
	/* the name is somebody's choice, and this is for a shell */
	for (c = device; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_-.", *c))
			return;
	snprintf(command, sizeof(command), "PATH=$PATH:/usr/sbin:/sbin rdma statistic show link %s/1 2>/dev/null", device);
	rdma = popen(command, "re");
	if (!rdma)
		return;
	n = fread(counters, 1, sizeof(counters) - 1, rdma);
	counters[n] = 0;
	pclose(rdma);
}

static uint64_t counter(const char *name)
{
	size_t n = strlen(name);
	const char *c;

	for (c = counters; (c = strstr(c, name)); c += n)
		if (c > counters && isspace((unsigned char)c[-1]) && c[n] == ' ')
			return strtoull(c + n, NULL, 10);
	return 0;
}

/* ---- what the module tells ---- */

#define DEVICES	32
#define PLANES	(8 * DEVICES)

/* @least, @most: payload of the packets of its paths; @marked: paths of which every packet was */
static struct device {
	char name[64];
	unsigned int paths, least, marked;
	char least_to[INET6_ADDRSTRLEN], least_by[IF_NAMESIZE];
} devices[DEVICES];
static struct plane {
	char device[64], netdev[IF_NAMESIZE];
	uint32_t mtu;
	bool up;
} planes[PLANES];
static unsigned int ndevices, nplanes;

static int on_device(const struct nlmsghdr *msg, void *arg)
{
	const struct nlattr *a[MROCE_NL_A_MAX + 1];

	(void)arg;
	nl_parse(msg, a);
	if (a[MROCE_NL_A_DEV] && ndevices < DEVICES)
		snprintf(devices[ndevices++].name, sizeof(devices->name), "%s", mnl_attr_get_str(a[MROCE_NL_A_DEV]));
	return MNL_CB_OK;
}

static int on_plane(const struct nlmsghdr *msg, void *arg)
{
	const struct nlattr *a[MROCE_NL_A_MAX + 1];
	struct plane *p = &planes[nplanes];

	(void)arg;
	nl_parse(msg, a);
	if (!a[MROCE_NL_A_DEV] || !a[MROCE_NL_A_IFINDEX] || !a[MROCE_NL_A_MTU] || !a[MROCE_NL_A_UP] || nplanes == PLANES)
		return MNL_CB_OK;
	if (!if_indextoname(mnl_attr_get_u32(a[MROCE_NL_A_IFINDEX]), p->netdev))
		return MNL_CB_OK;
	snprintf(p->device, sizeof(p->device), "%s", mnl_attr_get_str(a[MROCE_NL_A_DEV]));
	p->mtu = mnl_attr_get_u32(a[MROCE_NL_A_MTU]);
	p->up = mnl_attr_get_u8(a[MROCE_NL_A_UP]);
	nplanes++;
	return MNL_CB_OK;
}

static int on_path(const struct nlmsghdr *msg, void *arg)
{
	const struct nlattr *a[MROCE_NL_A_MAX + 1];
	unsigned int i, payload;
	uint32_t packets;

	(void)arg;
	nl_parse(msg, a);
	if (!a[MROCE_NL_A_DEV] || !a[MROCE_NL_A_PAYLOAD] || !a[MROCE_NL_A_IFINDEX] || !a[MROCE_NL_A_PACKETS] ||
	    !a[MROCE_NL_A_MARKED] || !a[MROCE_NL_A_PEER] || mnl_attr_get_payload_len(a[MROCE_NL_A_PEER]) != 16)
		return MNL_CB_OK;
	payload = mnl_attr_get_u16(a[MROCE_NL_A_PAYLOAD]);
	packets = mnl_attr_get_u32(a[MROCE_NL_A_PACKETS]);
	for (i = 0; i < ndevices; i++) {
		struct device *d = &devices[i];

		if (strcmp(d->name, mnl_attr_get_str(a[MROCE_NL_A_DEV])))
			continue;
		d->paths++;
		d->marked += packets >= 100 && mnl_attr_get_u32(a[MROCE_NL_A_MARKED]) == packets;
		if (!payload || (d->least && d->least <= payload))
			continue;
		d->least = payload;
		address_text(d->least_to, mnl_attr_get_payload(a[MROCE_NL_A_PEER]));
		if (!if_indextoname(mnl_attr_get_u32(a[MROCE_NL_A_IFINDEX]), d->least_by))
			*d->least_by = 0;
	}
	return MNL_CB_OK;
}

static bool asked(uint8_t cmd, mnl_cb_t each)
{
	struct nlmsghdr *msg = nl_request(cmd, NLM_F_DUMP);

	return msg && !nl_send(msg, each, NULL);
}

/* ---- module and provider ---- */

static bool module_file(void)
{
	static const char *const folders[] = { "updates", "updates/dkms", "extra", "kernel/drivers/infiniband/sw/mroce" };
	static const char *const ends[] = { "", ".xz", ".zst", ".gz" };
	struct utsname u;
	char path[512];
	size_t i, j;

	uname(&u);
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		for (j = 0; j < sizeof(ends) / sizeof(ends[0]); j++) {
			snprintf(path, sizeof(path), "/lib/modules/%s/%s/mroce.ko%s", u.release, folders[i], ends[j]);
			if (!access(path, F_OK))
				return true;
		}
	return false;
}

/* Would the kernel take a module without a signature that it knows? */
static bool signature_wanted(void)
{
	char line[128];

	if (line_of(line, sizeof(line), "/sys/module/module/parameters/sig_enforce") && *line == 'Y')
		return true;
	return line_of(line, sizeof(line), "/sys/kernel/security/lockdown") && !strstr(line, "[none]");
}

static bool module(void)
{
	struct utsname u;

	uname(&u);
	if (nl_there()) {
		say(true, "module", NULL, "loaded");
		return true;
	}
	if (signature_wanted())
		say(false, "module", NULL, "not loaded, and the kernel takes signed modules only (Secure Boot): modprobe says "
		    "\"Key was rejected by service\" until the key that signs it is enrolled; see README, Secure Boot");
	else if (module_file())
		say(false, "module", NULL, "installed, but not loaded: modprobe mroce; the kernel log says why if that fails");
	else
		say(false, "module", NULL, "not installed for this kernel (%s): install its headers, then dkms autoinstall or make install",
		    u.release);
	return false;
}

static void provider(const struct device *d)
{
	char reason[256];

	if (verbs_has(d->name, reason, sizeof(reason)))
		say(true, "provider", d->name, "programs find it");
	else
		say(false, "provider", d->name, "programs do not find it: %s", reason);
}

/* ---- the netdevs ---- */

static void address(const char *netdev)
{
	struct ifaddrs *all, *i;
	bool found = false;

	if (getifaddrs(&all))
		return;
	for (i = all; i; i = i->ifa_next) {
		if (!i->ifa_addr || strcmp(i->ifa_name, netdev))
			continue;
		if (i->ifa_addr->sa_family == AF_INET)
			found = true;
		if (i->ifa_addr->sa_family == AF_INET6 &&
		    !IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr))
			found = true;
	}
	freeifaddrs(all);
	if (found)
		say(true, "address", netdev, "it has one");
	else
		say(false, "address", netdev, "none but link-local ones: peers reach it in its own network only, if at all");
}

/* Does the netdev choose its receive queue by ports? What cannot say is not asked. */
static void hash(const char *netdev)
{
	static const struct {
		const char *name;
		uint32_t type;
	} flows[] = { { "udp4", UDP_V4_FLOW }, { "udp6", UDP_V6_FLOW } };
	struct ethtool_rxnfc nfc;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr;
	char line[64];
	size_t i;

	for (i = 0; fd >= 0 && i < 2; i++) {
		memset(&nfc, 0, sizeof(nfc));
		memset(&ifr, 0, sizeof(ifr));
		nfc.cmd = ETHTOOL_GRXFH;
		nfc.flow_type = flows[i].type;
		snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", netdev);
		ifr.ifr_data = (void *)&nfc;
		if (ioctl(fd, SIOCETHTOOL, &ifr) || !nfc.data)
			continue;
		if (nfc.data & RXH_L4_B_0_1 && nfc.data & RXH_L4_B_2_3)
			say(true, "hash", netdev, "%s is spread over its queues by ports", flows[i].name);
		else
			say(false, "hash", netdev, "all paths of a peer come by one queue: ethtool -N %s rx-flow-hash %s sdfn", netdev,
			    flows[i].name);
	}
	if (fd >= 0)
		close(fd);
	/* other modes choose in another manner */
	if (!line_of(line, sizeof(line), "/sys/class/net/%s/bonding/mode", netdev) ||
	    !(strstr(line, "balance-xor") || strstr(line, "802.3ad")) ||
	    !line_of(line, sizeof(line), "/sys/class/net/%s/bonding/xmit_hash_policy", netdev))
		return;
	if (strstr(line, "+4") || strstr(line, "layer34"))
		say(true, "bond", netdev, "it chooses among its ports by UDP ports");
	else
		say(false, "bond", netdev, "all paths to a peer go by one of its ports: ip link set %s type bond xmit_hash_policy layer3+4",
		    netdev);
}

static void netdevs(const struct device *d)
{
	const struct plane *first = NULL, *p;

	for (p = planes; p < planes + nplanes; p++) {
		if (strcmp(p->device, d->name))
			continue;
		if (!first)
			first = p;
		if (p->up)
			say(true, "link", p->netdev, "it has a carrier");
		else
			say(false, "link", p->netdev, "no carrier, or not up: ip link set %s up", p->netdev);
		address(p->netdev);
		hash(p->netdev);
		if (p->mtu != first->mtu)
			say(false, "mtu", p->netdev, "%u, but %u on %s: packets of all planes are as small as the smallest wants them",
			    p->mtu, first->mtu, first->netdev);
	}
}

/* ---- traffic ---- */

/* What the module sends by a netdev of that MTU, if nobody wants it smaller: room for IPv6, UDP and a header (76) is left */
static unsigned int payload_of(unsigned int mtu)
{
	unsigned int room = mtu - (40 + 8 + 76);

	if (room > 61440)
		room = 61440;
	return room - room % (room < 4096 ? 16 : 4096);
}

static void sizes(const struct device *d)
{
	const struct plane *p;
	unsigned int room;

	if (counter("path_shrunk"))
		say(false, "mtu", d->name, "full-size packets vanish on the way, smaller ones do not: the MTU of something between is "
		    "smaller than the hosts'");
	for (p = planes; d->least && p < planes + nplanes; p++) {
		if (strcmp(p->netdev, d->least_by))
			continue;
		room = payload_of(p->mtu);
		if (d->least < room)
			say(false, "mtu", d->name, "packets to %s carry %u bytes where the MTU of %s allows %u: that of the peer, of another "
			    "plane or of the way is smaller", d->least_to, d->least, p->netdev, room);
		else
			say(true, "mtu", d->name, "packets are as large as the MTU of %s allows", p->netdev);
	}
}

static void traffic(const struct device *d)
{
	uint64_t sent = counter("tx_packets"), came = counter("rx_packets");
	uint64_t plain = counter("rx_not_ect"), version = counter("rx_version");
	char port[16] = "19791";

	line_of(port, sizeof(port), "/sys/module/mroce/parameters/port");
	if (sent && !came)
		say(false, "inbound", d->name, "%" PRIu64 " packets were sent and none came: is UDP port %s open inbound, here and at the "
		    "peer, and is there a device at the address?", sent, port);
	else if (came)
		say(true, "inbound", d->name, "packets come in");
	if (version)
		say(false, "version", d->name, "%" PRIu64 " packets of another version of the protocol came", version);
	if (plain)
		say(false, "ecn", d->name, "%" PRIu64 " packets came as Not-ECT: something on the way clears ECN, or drops what has it (or "
		    "did for a while, when a peer connected), so that congestion is seen late", plain);
	else if (d->marked)
		say(false, "ecn", d->name, "every packet of %u paths is marked: something on the way marks without congestion", d->marked);
	else if (came)
		say(true, "ecn", d->name, "arrives as it was sent");
}

/* Does the packet filter drop what it does not name, and not name the port? */
static void firewall(void)
{
	char line[512], port[16] = "19791";
	bool closed = false, named = false;
	FILE *nft;

	line_of(port, sizeof(port), "/sys/module/mroce/parameters/port");
	nft = popen("PATH=$PATH:/usr/sbin:/sbin nft -n list ruleset 2>/dev/null", "re");
	if (!nft)
		return;
	while (fgets(line, sizeof(line), nft)) {
		if (strstr(line, "hook input") && strstr(line, "policy drop"))
			closed = true;
		if (strstr(line, port) && strstr(line, "accept"))
			named = true;
	}
	pclose(nft);
	if (closed && !named)
		say(false, "firewall", NULL, "nftables drops what it does not name, and names no UDP port %s: nft add rule ... udp dport "
		    "%s accept", port, port);
	else
		say(true, "firewall", NULL, "nothing of this host's is seen to close UDP port %s", port);
}

static void memlock(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= 64 << 20)
		say(true, "memlock", NULL, "programs started from here may lock enough memory");
	else
		say(false, "memlock", NULL, "a program started from here may lock %" PRIu64 " KiB, unless it is root's: ulimit -l, or "
		    "LimitMEMLOCK= of a unit", (uint64_t)limit.rlim_cur >> 10);
}

int cmd_doctor(int argc, char **argv)
{
	struct device *d;
	bool one = false;

	if (argc > 1)
		return usage();
	out_begin();
	if (module() && asked(MROCE_NL_DEV_GET, on_device) && asked(MROCE_NL_PLANE_GET, on_plane)) {
		/* paths are root's to see */
		if (!geteuid())
			asked(MROCE_NL_PATH_GET, on_path);
		for (d = devices; d < devices + ndevices; d++) {
			if (argc && strcmp(d->name, argv[0]))
				continue;
			one = true;
			read_counters(d->name);
			provider(d);
			netdevs(d);
			sizes(d);
			traffic(d);
		}
		if (!one)
			say(false, "device", argc ? argv[0] : NULL, "none in this network namespace: rdma link add NAME type mroce netdev "
			    "NETDEV");
	}
	firewall();
	memlock();
	out_end();
	return wrong ? 1 : 0;
}
