// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events of paths and planes, from the module's generic netlink family, in the network namespace of whoever opens them.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <rdma/mroce-netlink.h>

#include "mroce_dv.h"

struct mroce_dv_events {
	struct mnl_socket *sock;
	char device[64];
	uint32_t group;
	char buffer[8192];
	int left;		/* bytes of messages that were not looked at, from @next on */
	const struct nlmsghdr *next;
};

static int on_group(const struct nlattr *attr, void *arg)
{
	const struct nlattr **found = arg;

	if (mnl_attr_get_type(attr) <= CTRL_ATTR_MCAST_GRP_MAX)
		found[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

static int on_family(const struct nlmsghdr *msg, void *arg)
{
	struct mroce_dv_events *e = arg;
	const struct nlattr *attr, *group;

	mnl_attr_for_each(attr, msg, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) != CTRL_ATTR_MCAST_GROUPS)
			continue;
		mnl_attr_for_each_nested(group, attr) {
			const struct nlattr *found[CTRL_ATTR_MCAST_GRP_MAX + 1] = { NULL };

			mnl_attr_parse_nested(group, on_group, found);
			if (found[CTRL_ATTR_MCAST_GRP_NAME] && found[CTRL_ATTR_MCAST_GRP_ID] &&
			    !strcmp(mnl_attr_get_str(found[CTRL_ATTR_MCAST_GRP_NAME]), MROCE_NL_EVENTS))
				e->group = mnl_attr_get_u32(found[CTRL_ATTR_MCAST_GRP_ID]);
		}
	}
	return MNL_CB_OK;
}

/* the number of the group of events; an errno */
static int find_group(struct mroce_dv_events *e)
{
	struct nlmsghdr *msg = mnl_nlmsg_put_header(e->buffer);
	struct genlmsghdr *genl;
	unsigned int sequence = time(NULL);
	int n;

	msg->nlmsg_type = GENL_ID_CTRL;
	msg->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	msg->nlmsg_seq = sequence;
	genl = mnl_nlmsg_put_extra_header(msg, sizeof(*genl));
	genl->cmd = CTRL_CMD_GETFAMILY;
	genl->version = 1;
	mnl_attr_put_strz(msg, CTRL_ATTR_FAMILY_NAME, MROCE_NL_NAME);
	if (mnl_socket_sendto(e->sock, msg, msg->nlmsg_len) < 0)
		return errno;
	do {
		n = mnl_socket_recvfrom(e->sock, e->buffer, sizeof(e->buffer));
		if (n < 0)
			return errno;
		n = mnl_cb_run(e->buffer, n, sequence, mnl_socket_get_portid(e->sock), on_family, e);
	} while (n > 0);
	if (n < 0)
		return errno;
	return e->group ? 0 : ENOENT;
}

struct mroce_dv_events *mroce_dv_open_events(struct ibv_context *context)
{
	struct mroce_dv_events *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return NULL;
	strncpy(e->device, ibv_get_device_name(context->device), sizeof(e->device) - 1);
	e->sock = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!e->sock) {
		err = errno;
		free(e);
		errno = err;
		return NULL;
	}
	err = mnl_socket_bind(e->sock, 0, MNL_SOCKET_AUTOPID) < 0 ? errno : find_group(e);
	if (!err && mnl_socket_setsockopt(e->sock, NETLINK_ADD_MEMBERSHIP, &e->group, sizeof(e->group)) < 0)
		err = errno;
	if (err) {
		mroce_dv_close_events(e);
		errno = err;
		return NULL;
	}
	return e;
}

void mroce_dv_close_events(struct mroce_dv_events *e)
{
	mnl_socket_close(e->sock);
	free(e);
}

int mroce_dv_events_fd(struct mroce_dv_events *e)
{
	return mnl_socket_get_fd(e->sock);
}

static int on_attr(const struct nlattr *attr, void *arg)
{
	const struct nlattr **found = arg;

	if (mnl_attr_get_type(attr) <= MROCE_NL_A_MAX)
		found[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

static uint8_t byte_of(const struct nlattr *attr)
{
	return attr ? mnl_attr_get_u8(attr) : 0;
}

/* False: it is of another device, or of a kind that is newer than we are. */
static bool fill(const struct mroce_dv_events *e, const struct nlmsghdr *msg, struct mroce_dv_event *event)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(msg);
	const struct nlattr *a[MROCE_NL_A_MAX + 1] = { NULL };

	mnl_attr_parse(msg, sizeof(*genl), on_attr, a);
	if (!a[MROCE_NL_A_DEV] || strcmp(mnl_attr_get_str(a[MROCE_NL_A_DEV]), e->device))
		return false;
	memset(event, 0, sizeof(*event));
	event->state = byte_of(a[MROCE_NL_A_STATE]);
	switch (genl->cmd) {
	case MROCE_NL_PATH_EVENT:
		event->type = MROCE_DV_EVENT_PATH;
		event->path = byte_of(a[MROCE_NL_A_PATH]);
		if (a[MROCE_NL_A_HALF])
			event->connection = mnl_attr_get_u64(a[MROCE_NL_A_HALF]);
		return true;
	case MROCE_NL_PLANE_EVENT:
		event->type = MROCE_DV_EVENT_PLANE;
		event->plane = byte_of(a[MROCE_NL_A_SLOT]);
		if (a[MROCE_NL_A_IFINDEX])
			event->ifindex = mnl_attr_get_u32(a[MROCE_NL_A_IFINDEX]);
		return true;
	}
	return false;
}

int mroce_dv_get_event(struct mroce_dv_events *e, struct mroce_dv_event *event, uint32_t size)
{
	struct mroce_dv_event one = { 0 };
	const struct nlmsghdr *msg;
	bool found = false;

	while (!found) {
		if (!mnl_nlmsg_ok(e->next, e->left)) {
			e->left = mnl_socket_recvfrom(e->sock, e->buffer, sizeof(e->buffer));
			e->next = (const void *)e->buffer;
			if (e->left < 0) {
				e->left = 0;
				if (errno != ENOBUFS)
					return errno;
				one.type = MROCE_DV_EVENT_LOST;
				found = true;
			}
			continue;
		}
		msg = e->next;
		e->next = mnl_nlmsg_next(msg, &e->left);
		found = fill(e, msg, &one);
	}
	memset(event, 0, size);
	memcpy(event, &one, size < sizeof(one) ? size : sizeof(one));
	return 0;
}
