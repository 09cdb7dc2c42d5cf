// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mroce path: the paths of every connection; mroce monitor: what changes.
 */
#include <stdio.h>
#include <string.h>

#include "mroce.h"

const char *path_state(uint8_t state)
{
	static const char *const states[] = { "probing", "active", "suspect", "failed" };

	return state < 4 ? states[state] : "?";
}

static int one(const struct nlmsghdr *msg, void *arg)
{
	const struct nlattr *a[MROCE_NL_A_MAX + 1];
	const char *only = arg;

	nl_parse(msg, a);
	if (!a[MROCE_NL_A_DEV] || !a[MROCE_NL_A_HALF] || !a[MROCE_NL_A_STATE] ||
	    (only && strcmp(mnl_attr_get_str(a[MROCE_NL_A_DEV]), only)))
		return MNL_CB_OK;
	out_open();
	out_string("device", mnl_attr_get_str(a[MROCE_NL_A_DEV]));
	out_hex("connection", mnl_attr_get_u64(a[MROCE_NL_A_HALF]));
	attr_number(a[MROCE_NL_A_PATH], "path", "");
	attr_number(a[MROCE_NL_A_SLOT], "plane", "");
	out_string("state", path_state(mnl_attr_get_u8(a[MROCE_NL_A_STATE])));
	if (a[MROCE_NL_A_IFINDEX])
		out_netdev(mnl_attr_get_u32(a[MROCE_NL_A_IFINDEX]));
	attr_address(a[MROCE_NL_A_LOCAL], "local");
	attr_address(a[MROCE_NL_A_PEER], "peer");
	attr_number(a[MROCE_NL_A_PORT], "port", "");
	attr_number(a[MROCE_NL_A_EPOCH], "epoch", "");
	attr_number(a[MROCE_NL_A_SRTT], "srtt", "ns");
	attr_number(a[MROCE_NL_A_CWND], "cwnd", "");
	attr_number(a[MROCE_NL_A_INFLIGHT], "inflight", "");
	attr_number(a[MROCE_NL_A_PAYLOAD], "payload", "");
	attr_number(a[MROCE_NL_A_PACKETS], "packets", "");
	attr_number(a[MROCE_NL_A_BYTES], "bytes", "");
	attr_number(a[MROCE_NL_A_MARKED], "marked", "");
	attr_number(a[MROCE_NL_A_LOST], "lost", "");
	out_close();
	return MNL_CB_OK;
}

int cmd_path(int argc, char **argv)
{
	if (argc < 1 || argc > 2 || strcmp(argv[0], "show"))
		return usage();
	return nl_show(MROCE_NL_PATH_GET, one, argc == 2 ? argv[1] : NULL);
}

static int event(const struct nlmsghdr *msg, void *arg)
{
	static const char *const planes[] = { "added", "draining", "removed" };
	const struct nlattr *a[MROCE_NL_A_MAX + 1];
	uint8_t cmd = nl_parse(msg, a), state;

	(void)arg;
	if (!a[MROCE_NL_A_DEV] || !a[MROCE_NL_A_STATE])
		return MNL_CB_OK;
	state = mnl_attr_get_u8(a[MROCE_NL_A_STATE]);
	out_open();
	out_string("event", cmd == MROCE_NL_PLANE_EVENT ? "plane" : "path");
	out_string("device", mnl_attr_get_str(a[MROCE_NL_A_DEV]));
	if (cmd == MROCE_NL_PLANE_EVENT) {
		if (a[MROCE_NL_A_IFINDEX])
			out_netdev(mnl_attr_get_u32(a[MROCE_NL_A_IFINDEX]));
		out_string("state", state < 3 ? planes[state] : "?");
	} else {
		if (a[MROCE_NL_A_HALF])
			out_hex("connection", mnl_attr_get_u64(a[MROCE_NL_A_HALF]));
		attr_number(a[MROCE_NL_A_PATH], "path", "");
		attr_number(a[MROCE_NL_A_SLOT], "plane", "");
		out_string("state", path_state(mnl_attr_get_u8(a[MROCE_NL_A_STATE])));
	}
	out_close();
	return MNL_CB_OK;
}

int cmd_monitor(int argc, char **argv)
{
	(void)argv;
	if (argc)
		return usage();
	out_begin();
	return nl_listen(event, NULL) ? 1 : 0;
}
