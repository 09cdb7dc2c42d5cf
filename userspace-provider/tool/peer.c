// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mroce peer: the weights that a device gives to those who send to it.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "mroce.h"

static int one(const struct nlmsghdr *msg, void *arg)
{
	const struct nlattr *a[MROCE_NL_A_MAX + 1];
	const char *only = arg;

	nl_parse(msg, a);
	if (!a[MROCE_NL_A_DEV] || !a[MROCE_NL_A_PEER] || !a[MROCE_NL_A_WEIGHT] ||
	    mnl_attr_get_payload_len(a[MROCE_NL_A_PEER]) != 16 ||
	    (only && strcmp(mnl_attr_get_str(a[MROCE_NL_A_DEV]), only)))
		return MNL_CB_OK;
	out_open();
	out_string("device", mnl_attr_get_str(a[MROCE_NL_A_DEV]));
	out_address("peer", mnl_attr_get_payload(a[MROCE_NL_A_PEER]));
	out_number("weight", mnl_attr_get_u8(a[MROCE_NL_A_WEIGHT]), "");
	out_close();
	return MNL_CB_OK;
}

/* IPv4 mapped into IPv6 */
static bool address(const char *word, struct in6_addr *addr)
{
	struct in_addr v4;

	if (inet_pton(AF_INET6, word, addr) == 1)
		return true;
	if (inet_pton(AF_INET, word, &v4) != 1)
		return false;
	memset(addr, 0, sizeof(*addr));
	addr->s6_addr[10] = 0xff;
	addr->s6_addr[11] = 0xff;
	memcpy(&addr->s6_addr[12], &v4, sizeof(v4));
	return true;
}

static int set(char **argv)
{
	struct in6_addr peer;
	struct nlmsghdr *msg;
	uint64_t weight;

	if (!address(argv[1], &peer)) {
		fprintf(stderr, "mroce: %s is no address\n", argv[1]);
		return 1;
	}
	/* the range is the kernel's */
	if (!number(argv[3], UINT8_MAX, false, &weight)) {
		fprintf(stderr, "mroce: weight cannot be %s\n", argv[3]);
		return 1;
	}
	msg = nl_request(MROCE_NL_PEER_SET, NLM_F_ACK);
	if (!msg)
		return 1;
	mnl_attr_put_strz(msg, MROCE_NL_A_DEV, argv[0]);
	mnl_attr_put(msg, MROCE_NL_A_PEER, sizeof(peer), &peer);
	mnl_attr_put_u8(msg, MROCE_NL_A_WEIGHT, weight);
	return nl_send(msg, NULL, NULL) ? 1 : 0;
}

int cmd_peer(int argc, char **argv)
{
	if (argc && argc <= 2 && !strcmp(argv[0], "show"))
		return nl_show(MROCE_NL_PEER_GET, one, argc == 2 ? argv[1] : NULL);
	if (argc == 5 && !strcmp(argv[0], "set") && !strcmp(argv[3], "weight"))
		return set(argv + 1);
	return usage();
}
