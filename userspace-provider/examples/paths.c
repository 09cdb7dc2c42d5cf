// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * usage: mroce-dv-paths -l PORT               be written to
 *        mroce-dv-paths HOST PORT SECONDS     write, tell what paths do, and at the end what each has carried
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/mroce_dv.h>

#include "link.h"

static const char *const states[] = { "probing", "active", "suspect", "failed" };

static const char *state_name(uint8_t state)
{
	return state < 4 ? states[state] : "?";
}

/* what has happened meanwhile to the paths of this connection */
static void tell_events(struct mroce_dv_events *events, uint64_t connection)
{
	struct mroce_dv_event e;

	while (!mroce_dv_get_event(events, &e, sizeof(e))) {
		if (e.type == MROCE_DV_EVENT_PATH && e.connection == connection)
			printf("event path %u %s\n", e.path, state_name(e.state));
		else if (e.type == MROCE_DV_EVENT_LOST)
			printf("events were lost\n");
		fflush(stdout);
	}
}

static void tell_paths(struct ibv_qp *qp)
{
	struct mroce_dv_path_attr paths[64];
	uint32_t i, n = 64;
	int err;

	err = mroce_dv_query_paths(qp, paths, &n, sizeof(paths[0]));
	if (err)
		die("mroce_dv_query_paths", err);
	for (i = 0; i < n; i++)
		printf("path %u plane %u state %s port %u rtt %uns bytes %" PRIu64 " lost %" PRIu64 "\n", paths[i].path,
		       paths[i].plane, state_name(paths[i].state), paths[i].port, paths[i].rtt_ns, paths[i].bytes,
		       paths[i].lost);
}

int main(int argc, char **argv)
{
	struct mroce_dv_events *events;
	struct mroce_dv_qp_attr attr;
	struct link l;
	time_t end;
	int i, err;

	if (argc == 3 && !strcmp(argv[1], "-l")) {
		link_serve(argv[2], 1);
		return 0;
	}
	if (argc != 4) {
		fprintf(stderr, "usage: %s -l PORT | HOST PORT SECONDS\n", argv[0]);
		return 2;
	}
	link_connect(&l, argv[1], argv[2]);
	err = mroce_dv_query_qp(l.id->qp, &attr, sizeof(attr));
	if (err)
		die("mroce_dv_query_qp", err);
	printf("connection %" PRIx64 " peer-qpn %u paths %u\n", attr.connection, attr.peer_qpn, attr.num_paths);
	events = mroce_dv_open_events(l.id->verbs);
	if (!events)
		die("mroce_dv_open_events", errno);
	fcntl(mroce_dv_events_fd(events), F_SETFL, O_NONBLOCK);
	end = time(NULL) + atoi(argv[3]);
	for (i = 0; time(NULL) < end; i++) {
		link_write(&l, i >= LINK_DEPTH);
		tell_events(events, attr.connection);
	}
	link_drain(&l, i < LINK_DEPTH ? i : LINK_DEPTH);
	tell_paths(l.id->qp);
	mroce_dv_close_events(events);
	link_close(&l);
	return 0;
}
