// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Generic netlink by libmnl: the family's number, one request at a time, and events.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "mroce.h"

/* since Linux 4.12; headers of some distributions are older than their kernel */
#ifndef NETLINK_EXT_ACK
#define NETLINK_EXT_ACK		11
#endif

static char buffer[32768];
static struct mnl_socket *sock;
static unsigned int port, sequence;
static uint16_t family;
static uint32_t group;

static int failed(const char *what)
{
	fprintf(stderr, "mroce: %s: %s\n", what, strerror(errno));
	return -1;
}

/* The kernel's own words, if it had any. */
static void say_error(const struct nlmsghdr *msg)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(msg);
	const struct nlattr *attr;
	size_t offset = sizeof(*err);

	if (!(msg->nlmsg_flags & NLM_F_CAPPED))
		offset += mnl_nlmsg_get_payload_len(&err->msg);
	if (msg->nlmsg_flags & NLM_F_ACK_TLVS)
		mnl_attr_for_each(attr, msg, offset)
			if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
			    !mnl_attr_validate(attr, MNL_TYPE_NUL_STRING)) {
				const char *text = mnl_attr_get_str(attr);

				fprintf(stderr, "%s%s\n", strncmp(text, "mroce: ", 7) ? "mroce: " : "", text);
				return;
			}
	fprintf(stderr, "mroce: %s\n", strerror(-err->error));
}

static int on_error(const struct nlmsghdr *msg, void *arg)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(msg);

	(void)arg;
	if (!err->error)
		return MNL_CB_STOP;
	say_error(msg);
	errno = -err->error;
	return MNL_CB_ERROR;
}

static int on_done(const struct nlmsghdr *msg, void *arg)
{
	const int *err = mnl_nlmsg_get_payload(msg);

	(void)arg;
	if (mnl_nlmsg_get_payload_len(msg) < sizeof(*err) || !*err)
		return MNL_CB_STOP;
	fprintf(stderr, "mroce: %s\n", strerror(-*err));
	return MNL_CB_ERROR;
}

static mnl_cb_t control[NLMSG_MIN_TYPE] = {
	[NLMSG_ERROR] = on_error,
	[NLMSG_DONE] = on_done,
};

static int talk(struct nlmsghdr *msg, mnl_cb_t each, void *arg)
{
	ssize_t n;
	int more = MNL_CB_OK;

	if (mnl_socket_sendto(sock, msg, msg->nlmsg_len) < 0)
		return failed("cannot send");
	while (more == MNL_CB_OK) {
		n = mnl_socket_recvfrom(sock, buffer, sizeof(buffer));
		if (n < 0)
			return failed("cannot receive");
		more = mnl_cb_run2(buffer, n, sequence, port, each, arg, control, NLMSG_MIN_TYPE);
	}
	return more < 0 ? -1 : 0;
}

static int on_group(const struct nlattr *attr, void *arg)
{
	const struct nlattr **found = arg;

	if (mnl_attr_get_type(attr) <= CTRL_ATTR_MCAST_GRP_MAX)
		found[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

static int on_family(const struct nlmsghdr *msg, void *arg)
{
	const struct nlattr *attr, *one;
	(void)arg;
	mnl_attr_for_each(attr, msg, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			family = mnl_attr_get_u16(attr);
		if (mnl_attr_get_type(attr) != CTRL_ATTR_MCAST_GROUPS)
			continue;
		mnl_attr_for_each_nested(one, attr) {
			const struct nlattr *found[CTRL_ATTR_MCAST_GRP_MAX + 1] = { NULL };

			/* its number comes before its name */
			mnl_attr_parse_nested(one, on_group, found);
			if (found[CTRL_ATTR_MCAST_GRP_NAME] && found[CTRL_ATTR_MCAST_GRP_ID] &&
			    !strcmp(mnl_attr_get_str(found[CTRL_ATTR_MCAST_GRP_NAME]), MROCE_NL_EVENTS))
				group = mnl_attr_get_u32(found[CTRL_ATTR_MCAST_GRP_ID]);
		}
	}
	return MNL_CB_OK;
}

static struct nlmsghdr *request(char *space, uint16_t type, uint8_t cmd, uint16_t flags)
{
	struct nlmsghdr *msg = mnl_nlmsg_put_header(space);
	struct genlmsghdr *genl;

	msg->nlmsg_type = type;
	msg->nlmsg_flags = NLM_F_REQUEST | flags;
	msg->nlmsg_seq = ++sequence;
	genl = mnl_nlmsg_put_extra_header(msg, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = MROCE_NL_VERSION;
	return msg;
}

static int on_any_family(const struct nlmsghdr *msg, void *arg)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, msg, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_NAME &&
		    !strcmp(mnl_attr_get_str(attr), MROCE_NL_NAME))
			return on_family(msg, arg);
	return MNL_CB_OK;
}

/* Finds the family, if it is there: all of them are asked for, as of one that is not there the kernel says ENOENT. */
static int connect_family(void)
{
	char space[256] __attribute__((aligned(8)));
	int one = 1;

	sequence = time(NULL);
	sock = mnl_socket_open(NETLINK_GENERIC);
	if (!sock || mnl_socket_bind(sock, 0, MNL_SOCKET_AUTOPID) < 0)
		return failed("cannot open a netlink socket");
	port = mnl_socket_get_portid(sock);
	mnl_socket_setsockopt(sock, NETLINK_EXT_ACK, &one, sizeof(one));
	if (talk(request(space, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, NLM_F_DUMP), on_any_family, NULL))
		return -1;
	return 0;
}

bool nl_there(void)
{
	return (family || !connect_family()) && family;
}

struct nlmsghdr *nl_request(uint8_t cmd, uint16_t flags)
{
	static char space[8192] __attribute__((aligned(8)));

	if (!family && connect_family())
		return NULL;
	if (!family) {
		fprintf(stderr, "mroce: the kernel module is not loaded\n");
		return NULL;
	}
	return request(space, family, cmd, flags);
}

int nl_send(struct nlmsghdr *msg, mnl_cb_t each, void *arg)
{
	return talk(msg, each, arg);
}

struct wanted {
	const char *name;
	bool there;
};

static int on_device(const struct nlmsghdr *msg, void *arg)
{
	const struct nlattr *a[MROCE_NL_A_MAX + 1];
	struct wanted *wanted = arg;

	nl_parse(msg, a);
	if (a[MROCE_NL_A_DEV] && !strcmp(mnl_attr_get_str(a[MROCE_NL_A_DEV]), wanted->name))
		wanted->there = true;
	return MNL_CB_OK;
}

bool nl_device(const char *device)
{
	struct wanted wanted = { .name = device };
	struct nlmsghdr *msg;

	msg = nl_request(MROCE_NL_DEV_GET, NLM_F_DUMP);
	if (!msg || nl_send(msg, on_device, &wanted))
		return false;
	if (!wanted.there)
		fprintf(stderr, "mroce: no such device in this network namespace\n");
	return wanted.there;
}

int nl_show(uint8_t cmd, mnl_cb_t each, char *device)
{
	struct nlmsghdr *msg;
	int err;

	if (device && !nl_device(device))
		return 1;
	msg = nl_request(cmd, NLM_F_DUMP);
	if (!msg)
		return 1;
	out_begin();
	err = nl_send(msg, each, device);
	out_end();
	return err ? 1 : 0;
}

int nl_listen(mnl_cb_t each, void *arg)
{
	ssize_t n;

	if (!nl_request(MROCE_NL_DEV_GET, NLM_F_DUMP))
		return -1;
	if (mnl_socket_setsockopt(sock, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
		return failed("cannot listen");
	for (;;) {
		n = mnl_socket_recvfrom(sock, buffer, sizeof(buffer));
		if (n < 0 && errno == ENOBUFS) {
			fprintf(stderr, "mroce: events were lost\n");
			continue;
		}
		if (n < 0)
			return failed("cannot receive");
		if (mnl_cb_run(buffer, n, 0, 0, each, arg) < 0)
			return -1;
	}
}

static int on_attr(const struct nlattr *attr, void *arg)
{
	const struct nlattr **table = arg;

	if (!mnl_attr_type_valid(attr, MROCE_NL_A_MAX))
		return MNL_CB_OK;	/* of a newer module */
	table[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

uint8_t nl_parse(const struct nlmsghdr *msg, const struct nlattr **attr)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(msg);

	memset(attr, 0, (MROCE_NL_A_MAX + 1) * sizeof(*attr));
	mnl_attr_parse(msg, sizeof(*genl), on_attr, attr);
	return genl->cmd;
}
