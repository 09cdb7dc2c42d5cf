// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * usage: mroce-dv-parts -l PORT N                               be written to by N queue pairs
 *        mroce-dv-parts HOST PORT SECONDS [KEY=VALUE,...]...    a queue pair for each further word, which says how its
 *                       packets go (weight, planes, paths, burst, poll; "-": as they would), and what each has written
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/mroce_dv.h>

#include "link.h"

#define MOST	16

static void tune(struct ibv_qp *qp, char *words)
{
	struct mroce_dv_tuning t = { 0 };
	uint32_t mask = 0;
	char *word, *rest;
	int err;

	if (!strcmp(words, "-"))
		return;
	for (word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		char *value = strchr(word, '=');
		unsigned long n;

		if (!value)
			die(word, EINVAL);
		*value++ = 0;
		n = strtoul(value, NULL, 0);
		if (!strcmp(word, "weight")) {
			t.weight = n;
			mask |= MROCE_DV_WEIGHT;
		} else if (!strcmp(word, "planes")) {
			t.planes = n;
			mask |= MROCE_DV_PLANES;
		} else if (!strcmp(word, "paths")) {
			t.paths = n;
			mask |= MROCE_DV_PATHS;
		} else if (!strcmp(word, "burst")) {
			t.burst = n;
			mask |= MROCE_DV_BURST;
		} else if (!strcmp(word, "poll")) {
			t.poll = n;
			mask |= MROCE_DV_POLL;
		} else {
			die(word, EINVAL);
		}
	}
	err = mroce_dv_modify_qp(qp, &t, mask, sizeof(t));
	if (err)
		die("mroce_dv_modify_qp", err);
}

int main(int argc, char **argv)
{
	struct link l[MOST];
	uint64_t written[MOST] = { 0 }, posted[MOST] = { 0 };
	struct mroce_dv_qp_attr attr;
	struct ibv_wc wc;
	time_t end;
	int i, n, err;

	if (argc == 4 && !strcmp(argv[1], "-l")) {
		link_serve(argv[2], atoi(argv[3]));
		return 0;
	}
	n = argc - 4;
	if (n < 1 || n > MOST) {
		fprintf(stderr, "usage: %s -l PORT N | HOST PORT SECONDS [KEY=VALUE,...]...\n", argv[0]);
		return 2;
	}
	for (i = 0; i < n; i++) {
		link_connect(&l[i], argv[1], argv[2]);
		tune(l[i].id->qp, argv[4 + i]);
	}
	end = time(NULL) + atoi(argv[3]);
	while (time(NULL) < end)
		for (i = 0; i < n; i++) {
			while (ibv_poll_cq(l[i].id->send_cq, 1, &wc) > 0) {
				if (wc.status != IBV_WC_SUCCESS)
					die(ibv_wc_status_str(wc.status), EIO);
				written[i] += LINK_CHUNK;
				posted[i]--;
			}
			for (; posted[i] < LINK_DEPTH; posted[i]++)
				link_write(&l[i], false);
		}
	for (i = 0; i < n; i++) {
		err = mroce_dv_query_qp(l[i].id->qp, &attr, sizeof(attr));
		if (err)
			die("mroce_dv_query_qp", err);
		printf("connection %" PRIx64 " weight %u planes %x paths %u burst %u poll %u bytes %" PRIu64 "\n", attr.connection,
		       attr.tuning.weight, attr.tuning.planes, attr.tuning.paths, attr.tuning.burst,
		       attr.tuning.poll, written[i]);
	}
	for (i = 0; i < n; i++)
		link_drain(&l[i], posted[i]);
	for (i = 0; i < n; i++)
		link_close(&l[i]);
	return 0;
}
