// SPDX-License-Identifier: GPL-2.0
/*
 * Command line. Only the client's choices count for what both ends share; the
 * server takes them over. Runs before anything else.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "load.h"

#define SLICE_MIN_EXTRA	(256u << 10)
#define MEMORY_SOFT	(384ull << 20)

enum {
	O_SELF = 256, O_PORT, O_BIND, O_DEV, O_GID, O_SEED, O_SECONDS, O_MESSAGES, O_QPS,
	O_THREADS, O_DEPTH, O_MAX, O_OPS, O_MODE, O_CM, O_JSON, O_STALL, O_SRQ, O_EVENTS,
	O_SOLICITED, O_RELAXED, O_SGE, O_UNIT, O_INLINE, O_LAG, O_EPOCH, O_RD, O_LATE, O_WINDOW,
	O_TIMEOUT, O_PROGRESS, O_CORRUPT, O_STRAY, O_SELFTEST, O_QUIET, O_ZERO, O_SRQSIZE,
	O_MTU, O_VERSION,
};

static const struct option longs[] = {
	{ "listen", no_argument, NULL, 'l' },
	{ "self", no_argument, NULL, O_SELF },
	{ "port", required_argument, NULL, O_PORT },
	{ "bind", required_argument, NULL, O_BIND },
	{ "dev", required_argument, NULL, O_DEV },
	{ "gid-index", required_argument, NULL, O_GID },
	{ "seed", required_argument, NULL, O_SEED },
	{ "seconds", required_argument, NULL, O_SECONDS },
	{ "messages", required_argument, NULL, O_MESSAGES },
	{ "qps", required_argument, NULL, O_QPS },
	{ "threads", required_argument, NULL, O_THREADS },
	{ "depth", required_argument, NULL, O_DEPTH },
	{ "max-size", required_argument, NULL, O_MAX },
	{ "ops", required_argument, NULL, O_OPS },
	{ "mode", required_argument, NULL, O_MODE },
	{ "cm", no_argument, NULL, O_CM },
	{ "json", optional_argument, NULL, O_JSON },
	{ "stall", required_argument, NULL, O_STALL },
	{ "srq", optional_argument, NULL, O_SRQ },
	{ "srq-size", required_argument, NULL, O_SRQSIZE },
	{ "events", no_argument, NULL, O_EVENTS },
	{ "solicited", no_argument, NULL, O_SOLICITED },
	{ "relaxed", no_argument, NULL, O_RELAXED },
	{ "sge", required_argument, NULL, O_SGE },
	{ "unit", required_argument, NULL, O_UNIT },
	{ "inline", required_argument, NULL, O_INLINE },
	{ "lag", required_argument, NULL, O_LAG },
	{ "epoch", required_argument, NULL, O_EPOCH },
	{ "rd-atomic", required_argument, NULL, O_RD },
	{ "late-recv", required_argument, NULL, O_LATE },
	{ "no-window", no_argument, NULL, O_WINDOW },
	{ "timeout", required_argument, NULL, O_TIMEOUT },
	{ "progress", required_argument, NULL, O_PROGRESS },
	{ "corrupt", required_argument, NULL, O_CORRUPT },
	{ "stray", required_argument, NULL, O_STRAY },
	{ "selftest", no_argument, NULL, O_SELFTEST },
	{ "quiet", no_argument, NULL, O_QUIET },
	{ "zero-sge", no_argument, NULL, O_ZERO },
	{ "mtu", required_argument, NULL, O_MTU },
	{ "version", no_argument, NULL, O_VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void usage(FILE *f)
{
	fputs("usage: mroce-load --listen [options]       wait for one client\n"
	      "       mroce-load HOST [options]           run against it\n"
	      "       mroce-load --self [HOST] [options]  both ends in this process\n"
	      "       mroce-load --selftest [--seed N]\n"
	      "  --port N (18610)  --bind ADDR  -4  -6  --cm  --dev NAME  --gid-index N  --mtu N\n"
	      "  --seconds N (10)  --messages N  --seed N  --qps N (2)  --threads N (1)\n"
	      "  --depth N (64)  --max-size N[K|M] (8M)  --ops LIST  --mode all|mixed|poll|flag|last\n"
	      "  --srq[=N]  --srq-size N  --events  --solicited  --relaxed  --sge N (8)\n"
	      "  --inline N (512)  --unit BYTES  --epoch N (48)  --lag N  --rd-atomic N (16)\n"
	      "  --late-recv US  --no-window  --zero-sge  --timeout N (14)\n"
	      "  --stall SECONDS (30)  --progress SECONDS (5)  --quiet  --json[=FILE]\n"
	      "See mroce-load(1).\n", f);
}

static int number(const char *name, const char *arg, uint64_t lo, uint64_t hi, uint64_t *out)
{
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(arg, &end, 0);
	if (*end == 'K' || *end == 'k') {
		v <<= 10;
		end++;
	} else if (*end == 'M' || *end == 'm') {
		v <<= 20;
		end++;
	}
	if (errno || end == arg || *end || *arg == '-' || v < lo || v > hi) {
		fprintf(stderr, "mroce-load: --%s takes a number from %lu to %lu, not '%s'\n",
			name, (unsigned long)lo, (unsigned long)hi, arg);
		return -1;
	}
	*out = v;
	return 0;
}

static int parse_ops(char *list, uint64_t *ops)
{
	char *save = NULL, *w;
	unsigned int i;

	*ops = 0;
	for (w = strtok_r(list, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		for (i = 0; i < OP_MAX; i++)
			if (!strcmp(w, op_name(i)))
				break;
		if (i == OP_MAX) {
			fprintf(stderr, "mroce-load: no operation '%s'; there are", w);
			for (i = 0; i < OP_MAX; i++)
				fprintf(stderr, " %s", op_name(i));
			fputc('\n', stderr);
			return -1;
		}
		*ops |= 1ull << i;
	}
	return *ops ? 0 : -1;
}

static int parse_mode(const char *arg, uint64_t *mode)
{
	unsigned int i;

	for (i = 0; i < MODE_MAX; i++) {
		if (!strcmp(arg, mode_name(i))) {
			*mode = i;
			return 0;
		}
	}
	fprintf(stderr, "mroce-load: no mode '%s'\n", arg);
	return -1;
}

/* options that are one 64-bit parameter: where it goes and its range */
static const struct {
	int opt;
	size_t at;
	uint64_t lo, hi;
} numbers[] = {
	{ O_SEED, offsetof(struct params, seed), 0, UINT64_MAX },
	{ O_SECONDS, offsetof(struct params, seconds), 1, 1000000 },
	{ O_MESSAGES, offsetof(struct params, messages), 1, UINT64_MAX },
	{ O_QPS, offsetof(struct params, qps), 1, 4096 },
	{ O_THREADS, offsetof(struct params, threads), 1, 256 },
	{ O_DEPTH, offsetof(struct params, depth), 4, 65536 },
	{ O_MAX, offsetof(struct params, max_size), 1, 1u << 30 },
	{ O_SGE, offsetof(struct params, sge), 1, MAX_SGE },
	{ O_UNIT, offsetof(struct params, unit), 64, 65536 },
	{ O_EPOCH, offsetof(struct params, epoch_msgs), 1, MAX_EPOCH },
	{ O_RD, offsetof(struct params, rd_atomic), 1, 255 },
	{ O_LATE, offsetof(struct params, late_us), 1, 10000000 },
	{ O_CORRUPT, offsetof(struct params, corrupt), 1, UINT64_MAX },
	{ O_STRAY, offsetof(struct params, stray), 1, UINT64_MAX },
	{ O_SRQSIZE, offsetof(struct params, srq_size), 256, 1u << 24 },
	{ O_LAG, offsetof(struct params, lag), 1, MAX_SLICES / 2 },
};

/* and those that are an int of this end alone */
static const struct {
	int opt;
	size_t at;
	uint64_t hi;
} ints[] = {
	{ O_PORT, offsetof(struct options, port), 65534 },
	{ O_GID, offsetof(struct options, gid_index), 65535 },
	{ O_STALL, offsetof(struct options, stall), 1000000 },
	{ O_PROGRESS, offsetof(struct options, progress), 1000000 },
	{ O_TIMEOUT, offsetof(struct options, timeout), 31 },
	{ O_INLINE, offsetof(struct options, inline_max), 65536 },
};

static int numeric(struct options *o, int c, const char *name, const char *arg)
{
	struct params *p = &o->p;
	unsigned int i;
	uint64_t v;

	if (c == O_SRQ) {
		p->srq = 1;
		return arg ? number(name, arg, 2, 65536, &p->srq_slots) : 0;
	}
	if (c == O_MTU) {
		if (number(name, arg, 256, 4096, &v))
			return -1;
		for (p->mtu = IBV_MTU_256; 256u << (p->mtu - IBV_MTU_256) < v; p->mtu++)
			;
		return 0;
	}
	o->lag_set |= c == O_LAG;
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].opt == c)
			return number(name, arg, numbers[i].lo, numbers[i].hi,
				      (uint64_t *)((char *)p + numbers[i].at));
	for (i = 0; i < sizeof(ints) / sizeof(ints[0]); i++) {
		if (ints[i].opt != c)
			continue;
		if (number(name, arg, 0, ints[i].hi, &v))
			return -1;
		*(int *)((char *)o + ints[i].at) = v;
		return 0;
	}
	return -1;
}

static int finish(struct options *o, int argc, char **argv, bool messages_only)
{
	struct params *p = &o->p;

	if (optind < argc)
		o->host = argv[optind++];
	if (optind < argc || (o->listen && (o->self || o->host)) ||
	    (!o->listen && !o->self && !o->host && !o->selftest)) {
		usage(stderr);
		return -1;
	}
	if (o->self && p->cm && !o->host) {
		fprintf(stderr, "mroce-load: --self --cm needs an address of this host\n");
		return -1;
	}
	if ((p->mode == MODE_POLL || p->mode == MODE_FLAG || p->mode == MODE_LAST) &&
	    !(p->ops >> OP_WRITE & 1)) {
		fprintf(stderr, "mroce-load: --mode %s needs the operation write\n",
			mode_name(p->mode));
		return -1;
	}
	if ((p->mode == MODE_FLAG || p->mode == MODE_LAST) && p->relaxed) {
		fprintf(stderr, "mroce-load: nothing is ordered in relaxed memory: no --mode %s\n",
			mode_name(p->mode));
		return -1;
	}
	if (o->solicited)
		o->events = true;
	if (p->threads > p->qps)
		p->threads = p->qps;
	/* a message, and as much again for company, but not less than this */
	p->slice = p->max_size + SLICE_MIN_EXTRA + (p->max_size < 1 << 20 ? p->max_size : 0);
	p->slice = (p->slice + 4095) & ~4095ull;
	if (!o->lag_set)
		p->lag = 4 * p->qps * 2 * p->slice > MEMORY_SOFT ? 1 : 2;
	p->slices = 2 * p->lag;
	if (p->srq_size > p->max_size)
		p->srq_size = p->max_size < 256 ? 256 : p->max_size;
	if (messages_only)
		p->seconds = 1000000;
	return 0;
}

/* options that need no checking */
static bool flag(struct options *o, int c, const char *arg)
{
	if (c == 'l')
		o->listen = true;
	else if (c == '4' || c == '6')
		o->family = c == '4' ? AF_INET : AF_INET6;
	else if (c == O_SELF)
		o->self = true;
	else if (c == O_BIND)
		o->bind = arg;
	else if (c == O_DEV)
		o->dev = arg;
	else if (c == O_CM)
		o->p.cm = 1;
	else if (c == O_JSON)
		o->json = arg ? arg : "-";
	else if (c == O_EVENTS)
		o->events = true;
	else if (c == O_SOLICITED)
		o->solicited = true;
	else if (c == O_RELAXED)
		o->p.relaxed = 1;
	else if (c == O_WINDOW)
		o->p.window = 0;
	else if (c == O_ZERO)
		o->p.zero_sge = 1;
	else if (c == O_SELFTEST)
		o->selftest = true;
	else if (c == O_QUIET)
		o->quiet = true;
	else
		return false;
	return true;
}

int parse_options(int argc, char **argv, struct options *o)
{
	bool seed = false, seconds = false;
	int c, at = 0;

	memset(o, 0, sizeof(*o));
	o->port = 18610;
	o->gid_index = -1;
	o->family = AF_UNSPEC;
	o->progress = 5;
	o->stall = 30;
	o->timeout = 14;
	o->inline_max = 512;
	o->p = (struct params){
		.qps = 2, .threads = 1, .depth = 64, .max_size = 8 << 20, .seconds = 10,
		.ops = (1 << OP_MAX) - 1, .sge = 8, .rd_sge = MAX_SGE, .rd_atomic = 16,
		.epoch_msgs = 48, .srq_slots = 256, .srq_size = 65536, .window = 1,
		.mtu = IBV_MTU_4096,
	};
	while ((c = getopt_long(argc, argv, "lh46", longs, &at)) != -1) {
		if (flag(o, c, optarg))
			continue;
		switch (c) {
		case 'h':
			usage(stdout);
			exit(0);
		case O_VERSION:
			puts("mroce-load 1");
			exit(0);
		case O_OPS:
			if (parse_ops(optarg, &o->p.ops))
				return -1;
			break;
		case O_MODE:
			if (parse_mode(optarg, &o->p.mode))
				return -1;
			break;
		case '?':
			usage(stderr);
			return -1;
		default:
			seed |= c == O_SEED;
			seconds |= c == O_SECONDS;
			if (numeric(o, c, longs[at].name, optarg))
				return -1;
		}
	}
	if (!seed)
		o->p.seed = (now_ns() ^ getpid()) & 0xffffffff;
	o->p.nonce = mix64(now_ns() ^ (uint64_t)getpid() << 40);
	return finish(o, argc, argv, o->p.messages && !seconds);
}
