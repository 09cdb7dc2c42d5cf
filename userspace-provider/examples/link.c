// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * See link.h.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_verbs.h>

#include "link.h"

struct where {
	uint64_t addr;
	uint32_t rkey;
};

void die(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, strerror(err));
	exit(1);
}

static struct rdma_addrinfo *resolve(const char *host, const char *port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = host ? 0 : RAI_PASSIVE }, *found;

	if (rdma_getaddrinfo(host, port, &hints, &found))
		die(host ? host : port, errno);
	return found;
}

static struct ibv_qp_init_attr qp_init(void)
{
	return (struct ibv_qp_init_attr){
		.cap = { .max_send_wr = LINK_DEPTH + 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
}

static void register_memory(struct link *l)
{
	l->memory = calloc(1, LINK_BYTES);
	if (!l->memory)
		die("memory", ENOMEM);
	l->mr = ibv_reg_mr(l->id->pd, l->memory, LINK_BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!l->mr)
		die("ibv_reg_mr", errno);
}

static void release(struct link *l)
{
	ibv_dereg_mr(l->mr);
	rdma_destroy_ep(l->id);
	free(l->memory);
}

void link_serve(const char *port, unsigned int connections)
{
	struct ibv_qp_init_attr init = qp_init();
	struct rdma_addrinfo *addr = resolve(NULL, port);
	struct link *l = calloc(connections, sizeof(*l));
	struct rdma_cm_id *listener;
	struct ibv_wc wc;
	unsigned int i;

	if (!l)
		die("memory", ENOMEM);
	if (rdma_create_ep(&listener, addr, NULL, &init) || rdma_listen(listener, connections))
		die("listen", errno);
	rdma_freeaddrinfo(addr);
	for (i = 0; i < connections; i++) {
		struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1, .rnr_retry_count = 7 };
		struct where where;

		if (rdma_get_request(listener, &l[i].id))
			die("rdma_get_request", errno);
		register_memory(&l[i]);
		where.addr = (uintptr_t)l[i].memory;
		where.rkey = l[i].mr->rkey;
		param.private_data = &where;
		param.private_data_len = sizeof(where);
		if (rdma_post_recv(l[i].id, NULL, l[i].memory, 8, l[i].mr) || rdma_accept(l[i].id, &param))
			die("rdma_accept", errno);
	}
	for (i = 0; i < connections; i++) {
		while (!rdma_get_recv_comp(l[i].id, &wc))
			;
		release(&l[i]);
	}
	rdma_destroy_ep(listener);
	free(l);
}

void link_connect(struct link *l, const char *host, const char *port)
{
	struct rdma_conn_param param = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct rdma_addrinfo *addr = resolve(host, port);
	struct ibv_qp_init_attr init = qp_init();
	struct where where;

	memset(l, 0, sizeof(*l));
	if (rdma_create_ep(&l->id, addr, NULL, &init))
		die("rdma_create_ep", errno);
	rdma_freeaddrinfo(addr);
	register_memory(l);
	if (rdma_connect(l->id, &param))
		die("rdma_connect", errno);
	if (l->id->event->param.conn.private_data_len < sizeof(where))
		die("the peer's answer", EPROTO);
	memcpy(&where, l->id->event->param.conn.private_data, sizeof(where));
	l->addr = where.addr;
	l->rkey = where.rkey;
}

void link_drain(struct link *l, unsigned int n)
{
	struct ibv_wc wc;

	while (n--) {
		if (rdma_get_send_comp(l->id, &wc) < 0)
			die("rdma_get_send_comp", errno);
		if (wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "a Write ended with: %s\n", ibv_wc_status_str(wc.status));
			exit(1);
		}
	}
}

void link_write(struct link *l, bool wait)
{
	if (wait)
		link_drain(l, 1);
	if (rdma_post_write(l->id, NULL, l->memory, LINK_CHUNK, l->mr, 0, l->addr, l->rkey))
		die("rdma_post_write", errno);
}

void link_close(struct link *l)
{
	if (rdma_post_send(l->id, NULL, l->memory, 1, l->mr, 0))
		die("rdma_post_send", errno);
	link_drain(l, 1);
	rdma_disconnect(l->id);
	release(l);
}
