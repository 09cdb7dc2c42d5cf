// SPDX-License-Identifier: GPL-2.0
/*
 * mroce-attack SECONDS SEED ATTACK ARGUMENT...: does to a device, for so long, what nobody should do.
 *   replay NETDEV          repeats packets that this host sends, late and in any order, unchanged
 *   mutate NETDEV          repeats them with some bytes changed; ids and addresses are right
 *   flood SADDR DADDR      HELLOs of ever new instances and halves, and answers to what nobody asked
 *   forge NETDEV           packets with offload fields (of a virtio header) that disagree with them
 *   rings DEVICE GID       writes garbage into the rings of queue pairs that are in use
 *   peers DEVICE GID ADDR N  has queue pairs toward N addresses, ADDR and those after it
 *   shared DEVICE GID ADDR SIZE N  has one toward ADDR, with a shared receive queue of SIZE entries and N buffers
 *   race DEVICE GID        creates, changes, uses and destroys objects from many threads at once
 * Exits with 0 if the time passed; what the kernel made of it is for the caller to see.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/verbs.h>

#include "attack.h"

static uint64_t end_ms, given_seed;

uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

bool time_left(void)
{
	return now_ms() < end_ms;
}

uint64_t seed(void)
{
	return given_seed;
}

void die(const char *what)
{
	fprintf(stderr, "mroce-attack: %s: %s\n", what, strerror(errno));
	exit(1);
}

struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			c = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return c;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
		int arguments;
	} attacks[] = {
		{ "replay", replay, 1 },  { "mutate", mutate, 1 }, { "flood", flood, 2 },
		{ "forge", forge, 1 }, { "rings", rings, 2 },	  { "race", race, 2 },
		{ "peers", peers, 4 }, { "shared", shared, 5 },
	};
	size_t i;

	if (argc > 3) {
		end_ms = now_ms() + strtoul(argv[1], NULL, 0) * 1000;
		given_seed = strtoull(argv[2], NULL, 0) * 0x9e3779b97f4a7c15ull | 1;
		for (i = 0; i < sizeof(attacks) / sizeof(*attacks); i++)
			if (!strcmp(attacks[i].name, argv[3]) && argc - 4 == attacks[i].arguments)
				return attacks[i].run(argc - 4, argv + 4);
	}
	fprintf(stderr, "usage: mroce-attack SECONDS SEED replay|mutate|forge NETDEV\n"
			"       mroce-attack SECONDS SEED flood SADDR DADDR\n"
			"       mroce-attack SECONDS SEED rings|race DEVICE GID-INDEX\n"
			"       mroce-attack SECONDS SEED peers DEVICE GID-INDEX ADDR N\n"
			"       mroce-attack SECONDS SEED shared DEVICE GID-INDEX ADDR SIZE N\n");
	return 2;
}
