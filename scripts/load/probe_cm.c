// SPDX-License-Identifier: GPL-2.0
/*
 * Two queue pairs of one process, connected by rdma_cm over an address of the device's own netdev.
 * The first is the client. Nothing is given back: the process ends with the connection.
 */
#include <netinet/in.h>
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include "probe_cm.h"

static struct rdma_cm_id *next_id(struct rdma_event_channel *channel, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *ev;

	must(rdma_get_cm_event(channel, &ev) ? errno : 0, "rdma_get_cm_event");
	if (ev->event != want)
		die("rdma_cm: %s (%d), should be %s", rdma_event_str(ev->event), ev->status,
		    rdma_event_str(want));
	/* not acknowledged: what it tells of stays */
	return ev->id;
}

static struct rdma_cm_id *new_id(struct rdma_event_channel **channel)
{
	struct rdma_cm_id *id;

	*channel = made(rdma_create_event_channel(), "rdma_create_event_channel");
	must(rdma_create_id(*channel, &id, NULL, RDMA_PS_TCP) ? errno : 0, "rdma_create_id");
	return id;
}

void cm_join(struct pair *p, const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4,
					 .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_event_channel *at_server, *at_client;
	struct rdma_cm_id *listener, *server, *client;

	if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
		die("%s is no address", address);
	listener = new_id(&at_server);
	must(rdma_bind_addr(listener, (struct sockaddr *)&to) ? errno : 0, "rdma_bind_addr");
	must(rdma_listen(listener, 1) ? errno : 0, "rdma_listen");
	to.sin_port = rdma_get_src_port(listener);

	client = new_id(&at_client);
	must(rdma_resolve_addr(client, NULL, (struct sockaddr *)&to, 2000) ? errno : 0,
	     "rdma_resolve_addr");
	next_id(at_client, RDMA_CM_EVENT_ADDR_RESOLVED);
	must(rdma_resolve_route(client, 2000) ? errno : 0, "rdma_resolve_route");
	next_id(at_client, RDMA_CM_EVENT_ROUTE_RESOLVED);
	client->qp = p->qp[0];
	must(rdma_connect(client, &param) ? errno : 0, "rdma_connect");

	server = next_id(at_server, RDMA_CM_EVENT_CONNECT_REQUEST);
	server->qp = p->qp[1];
	must(rdma_accept(server, &param) ? errno : 0, "rdma_accept");
	next_id(at_server, RDMA_CM_EVENT_ESTABLISHED);
	next_id(at_client, RDMA_CM_EVENT_ESTABLISHED);
}
