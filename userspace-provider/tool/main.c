// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mroce: shows and changes mroce devices, their planes and paths. mroce(8) is its manual.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mroce.h"

static const char text[] =
	"usage: mroce [-j] COMMAND\n"
	"  show [DEV]                          devices and their attributes\n"
	"  set DEV ATTRIBUTE VALUE...          paths, burst, held-limit, capacity\n"
	"  plane show [DEV]                    netdevs of a device\n"
	"  plane add DEV netdev NETDEV         another one\n"
	"  plane drain DEV netdev NETDEV       send nothing there any more\n"
	"  plane del DEV netdev NETDEV         and let go of it\n"
	"  peer show [DEV]                     senders of a weight other than 1\n"
	"  peer set DEV ADDRESS weight N       of the device's inbound bandwidth, 1 to 100\n"
	"  path show [DEV]                     paths of every connection\n"
	"  conn show [DEV]                     connections: what they send to whom, and receive\n"
	"  stream show [DEV]                   queue pairs that are connected\n"
	"  share show [DEV]                    what senders may send, as receivers have it\n"
	"  top [-b N] [-d S] [-s KEY] [DEV]    connections and paths, the busiest first; h: its keys\n"
	"  monitor                             what changes, as it does\n"
	"  doctor [DEV]                        what is wrong with the set-up, and what to do\n"
	"  -j                                  as JSON\n";

struct top_options top_options = { .delay = 1 };

int usage(void)
{
	fputs(text, stderr);
	return 2;
}

bool number(const char *word, uint64_t max, bool suffix, uint64_t *value)
{
	unsigned int shift = 0;
	char *end;

	errno = 0;
	if (*word < '0' || *word > '9')
		return false;
	*value = strtoull(word, &end, 10);
	if (suffix && *end) {
		switch (*end++) {
		case 'k':
			shift = 10;
			break;
		case 'm':
			shift = 20;
			break;
		case 'g':
			shift = 30;
			break;
		default:
			return false;
		}
	}
	if (errno || *end || *value > max >> shift)
		return false;
	*value <<= shift;
	return true;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} commands[] = {
		{ "plane", cmd_plane }, { "path", cmd_path }, { "peer", cmd_peer },
		{ "show", cmd_show },	{ "set", cmd_set },   { "monitor", cmd_monitor },
		{ "doctor", cmd_doctor }, { "conn", cmd_conn }, { "stream", cmd_stream },
		{ "share", cmd_share },	{ "top", cmd_top },
	};
	bool for_top = false;
	uint64_t frames;
	char *end;
	size_t i;
	int c;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))) {
		fputs(text, stdout);
		return 0;
	}
	while ((c = getopt(argc, argv, "jhb:d:s:")) != -1) {
		switch (c) {
		case 'j':
			out_json = true;
			break;
		case 'b':
			if (!number(optarg, UINT32_MAX, false, &frames) || !frames)
				return usage();
			top_options.frames = frames;
			for_top = true;
			break;
		case 'd':
			top_options.delay = strtod(optarg, &end);
			if (end == optarg || *end || !(top_options.delay >= 0.1 && top_options.delay <= 3600))
				return usage();
			for_top = true;
			break;
		case 's':
			top_options.sort = optarg[0] && !optarg[1] ? optarg[0] : '?';
			for_top = true;
			break;
		case 'h':
			fputs(text, stdout);
			return 0;
		default:
			return usage();
		}
	}
	argc -= optind;
	argv += optind;
	if (argc < 1 || (for_top && strcmp(argv[0], "top")))
		return usage();
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[0], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "mroce: no command is called %s; mroce -h tells which there are\n", argv[0]);
	return 2;
}
