// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mroce plane: the netdevs of a device.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "mroce.h"

static int one(const struct nlmsghdr *msg, void *arg)
{
	static const char *const states[] = { "in-use", "draining", "removed" };
	const struct nlattr *a[MROCE_NL_A_MAX + 1];
	const char *only = arg;
	uint8_t state;

	nl_parse(msg, a);
	if (!a[MROCE_NL_A_DEV] || !a[MROCE_NL_A_IFINDEX] || !a[MROCE_NL_A_STATE] ||
	    (only && strcmp(mnl_attr_get_str(a[MROCE_NL_A_DEV]), only)))
		return MNL_CB_OK;
	state = mnl_attr_get_u8(a[MROCE_NL_A_STATE]);
	out_open();
	out_string("device", mnl_attr_get_str(a[MROCE_NL_A_DEV]));
	out_netdev(mnl_attr_get_u32(a[MROCE_NL_A_IFINDEX]));
	if (a[MROCE_NL_A_SLOT])
		out_number("slot", mnl_attr_get_u8(a[MROCE_NL_A_SLOT]), "");
	out_string("state", state < 3 ? states[state] : "?");
	if (a[MROCE_NL_A_UP])
		out_string("link", mnl_attr_get_u8(a[MROCE_NL_A_UP]) ? "up" : "down");
	if (a[MROCE_NL_A_MTU])
		out_number("mtu", mnl_attr_get_u32(a[MROCE_NL_A_MTU]), "");
	if (a[MROCE_NL_A_SPEED])
		out_number("speed", mnl_attr_get_u32(a[MROCE_NL_A_SPEED]), "Mb/s");
	out_close();
	return MNL_CB_OK;
}

static int show(int argc, char **argv)
{
	return nl_show(MROCE_NL_PLANE_GET, one, argc ? argv[0] : NULL);
}

static int change(uint8_t cmd, char **argv)
{
	unsigned int ifindex = if_nametoindex(argv[2]);
	struct nlmsghdr *msg;

	if (!ifindex) {
		fprintf(stderr, "mroce: %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	msg = nl_request(cmd, NLM_F_ACK);
	if (!msg)
		return 1;
	mnl_attr_put_strz(msg, MROCE_NL_A_DEV, argv[0]);
	mnl_attr_put_u32(msg, MROCE_NL_A_IFINDEX, ifindex);
	return nl_send(msg, NULL, NULL) ? 1 : 0;
}

int cmd_plane(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint8_t cmd;
	} verbs[] = {
		{ "add", MROCE_NL_PLANE_ADD },
		{ "drain", MROCE_NL_PLANE_DRAIN },
		{ "del", MROCE_NL_PLANE_DEL },
	};
	size_t i;

	if (argc && argc <= 2 && !strcmp(argv[0], "show"))
		return show(argc - 1, argv + 1);
	if (argc != 4 || strcmp(argv[2], "netdev"))
		return usage();
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(argv[0], verbs[i].name))
			return change(verbs[i].cmd, argv + 1);
	return usage();
}
