// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mroce conn, stream and share: the halves of connections, the queue pairs that use them, and what each may send.
 */
#include <stdio.h>
#include <string.h>

#include "mroce.h"

/* the name of a state; "?" of one that is newer than this program */
static const char *name_of(const struct nlattr *attr, const char *const *names, size_t n)
{
	uint8_t state = attr ? mnl_attr_get_u8(attr) : UINT8_MAX;

	return state < n ? names[state] : "?";
}

#define NAME(attr, names) name_of(attr, names, sizeof(names) / sizeof((names)[0]))

/* begins an object; false: it is not of the device that was asked for */
static bool begin(const struct nlmsghdr *msg, const struct nlattr **a, const char *only)
{
	nl_parse(msg, a);
	if (!a[MROCE_NL_A_DEV] || !a[MROCE_NL_A_HALF] ||
	    (only && strcmp(mnl_attr_get_str(a[MROCE_NL_A_DEV]), only)))
		return false;
	out_open();
	out_string("device", mnl_attr_get_str(a[MROCE_NL_A_DEV]));
	out_hex("connection", mnl_attr_get_u64(a[MROCE_NL_A_HALF]));
	if (a[MROCE_NL_A_DIRECTION])
		out_string("direction",
			   mnl_attr_get_u8(a[MROCE_NL_A_DIRECTION]) == MROCE_NL_SENDS ? "send" : "receive");
	return true;
}

static int conn(const struct nlmsghdr *msg, void *arg)
{
	static const char *const states[] = { "idle", "hello", "open", "dead" };
	const struct nlattr *a[MROCE_NL_A_MAX + 1];

	if (!begin(msg, a, arg))
		return MNL_CB_OK;
	out_string("state", NAME(a[MROCE_NL_A_STATE], states));
	attr_address(a[MROCE_NL_A_LOCAL], "local");
	attr_address(a[MROCE_NL_A_PEER], "peer");
	if (a[MROCE_NL_A_INSTANCE])
		out_hex("instance", mnl_attr_get_u64(a[MROCE_NL_A_INSTANCE]));
	attr_number(a[MROCE_NL_A_STREAMS], "streams", "");
	attr_number(a[MROCE_NL_A_NPATHS], "paths", "");
	attr_number(a[MROCE_NL_A_PAYLOAD], "payload", "");
	attr_number(a[MROCE_NL_A_CARRIED], "packets", "");
	attr_number(a[MROCE_NL_A_BYTES], "bytes", "");
	attr_number(a[MROCE_NL_A_RESENT], "resent", "");
	attr_number(a[MROCE_NL_A_LOST], "lost", "");
	attr_number(a[MROCE_NL_A_MARKED_ALL], "marked", "");
	attr_number(a[MROCE_NL_A_BACKLOG], "backlog", "");
	out_close();
	return MNL_CB_OK;
}

static int stream(const struct nlmsghdr *msg, void *arg)
{
	static const char *const states[] = { "closed", "opening", "open", "failed" };
	static const char *const pauses[] = { "none", "rnr", "hold", "window", "reads", "not-ready", "memory", "fault" };
	const struct nlattr *a[MROCE_NL_A_MAX + 1];

	if (!begin(msg, a, arg))
		return MNL_CB_OK;
	attr_number(a[MROCE_NL_A_QPN], "qpn", "");
	attr_number(a[MROCE_NL_A_PEER_QPN], "peer-qpn", "");
	out_string("state", NAME(a[MROCE_NL_A_STATE], states));
	out_string("pause", NAME(a[MROCE_NL_A_PAUSE], pauses));
	attr_address(a[MROCE_NL_A_LOCAL], "local");
	attr_address(a[MROCE_NL_A_PEER], "peer");
	attr_number(a[MROCE_NL_A_MESSAGES], "messages", "");
	attr_number(a[MROCE_NL_A_INFLIGHT_PACKETS], "inflight", "");
	attr_number(a[MROCE_NL_A_BACKLOG], "backlog", "");
	if (a[MROCE_NL_A_PLANES])
		out_hex("planes", mnl_attr_get_u8(a[MROCE_NL_A_PLANES]));
	attr_number(a[MROCE_NL_A_NPATHS], "paths", "");
	attr_number(a[MROCE_NL_A_WEIGHT], "weight", "");
	attr_number(a[MROCE_NL_A_BURST], "burst", "");
	out_close();
	return MNL_CB_OK;
}

/* KiB/s to bit/s */
static void rate(const struct nlattr *attr, const char *name)
{
	if (attr)
		out_number(name, (uint64_t)mnl_attr_get_u32(attr) * 8192, "b/s");
}

static int share(const struct nlmsghdr *msg, void *arg)
{
	const struct nlattr *a[MROCE_NL_A_MAX + 1], *demand;

	if (!begin(msg, a, arg))
		return MNL_CB_OK;
	attr_number(a[MROCE_NL_A_SLOT], "plane", "");
	attr_address(a[MROCE_NL_A_PEER], "peer");
	rate(a[MROCE_NL_A_SHARE], "share");
	attr_number(a[MROCE_NL_A_SENDERS], "senders", "");
	attr_number(a[MROCE_NL_A_WEIGHT], "weight", "");
	demand = a[MROCE_NL_A_DEMAND];
	if (demand && mnl_attr_get_u32(demand) == UINT32_MAX)
		out_string("demand", "all");
	else
		rate(demand, "demand");
	rate(a[MROCE_NL_A_RATE], "rate");
	out_close();
	return MNL_CB_OK;
}

static int show(uint8_t cmd, mnl_cb_t each, int argc, char **argv)
{
	if (argc < 1 || argc > 2 || strcmp(argv[0], "show"))
		return usage();
	return nl_show(cmd, each, argc == 2 ? argv[1] : NULL);
}

int cmd_conn(int argc, char **argv)
{
	return show(MROCE_NL_CONN_GET, conn, argc, argv);
}

int cmd_stream(int argc, char **argv)
{
	return show(MROCE_NL_STREAM_GET, stream, argc, argv);
}

int cmd_share(int argc, char **argv)
{
	return show(MROCE_NL_SHARE_GET, share, argc, argv);
}
