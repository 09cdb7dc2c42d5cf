// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mroce top: connections and their paths, the busiest first, as they are at the moment. Counts are read twice, and what
 * is shown is the difference.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mroce.h"
#include "screen.h"

/* what is shown of a path, or of a connection: the sum of its paths where that is said of paths only */
struct figures {
	uint64_t rate;		/* bit/s of payload */
	uint64_t rtt;		/* ns; of a connection: of its path with the least */
	uint64_t packets, marked, lost;	/* in the interval */
	uint64_t share;		/* a connection's: bit/s that it may send, 0: no limit; a path's: percent of its rate */
};

struct path {
	char device[64];
	uint64_t half, bytes, lost, srtt;
	uint32_t packets, marked, ifindex;
	uint16_t port;
	uint8_t path, plane, state, epoch;
	struct figures f;
};

struct conn {
	char device[64], peer[INET6_ADDRSTRLEN];
	uint64_t half, bytes, carried, lost, marked;
	uint32_t streams;
	uint8_t direction, state;
	struct figures f;
};

struct sample {
	struct conn *conn;
	struct path *path;
	size_t nconn, npath, conn_room, path_room;
	double at;
	bool failed;
};

static const char *only;
static char sorting = 'r';
static bool paths_shown = true;

/* ---- reading ---- */

static void *another(void *list, size_t n, size_t *room, size_t size)
{
	if (n == *room) {
		*room = *room ? 2 * *room : 64;
		list = realloc(list, *room * size);
		if (!list) {
			screen_end();
			fprintf(stderr, "mroce: out of memory\n");
			exit(1);
		}
	}
	memset((char *)list + n * size, 0, size);
	return list;
}

static uint64_t value(const struct nlattr *attr)
{
	if (!attr)
		return 0;
	switch (mnl_attr_get_payload_len(attr)) {
	case 1:
		return mnl_attr_get_u8(attr);
	case 2:
		return mnl_attr_get_u16(attr);
	case 4:
		return mnl_attr_get_u32(attr);
	case 8:
		return mnl_attr_get_u64(attr);
	}
	return 0;
}

static bool wanted(const struct nlattr *const *a, char *device, size_t size)
{
	if (!a[MROCE_NL_A_DEV] || !a[MROCE_NL_A_HALF])
		return false;
	snprintf(device, size, "%s", mnl_attr_get_str(a[MROCE_NL_A_DEV]));
	return !only || !strcmp(device, only);
}

static int on_conn(const struct nlmsghdr *msg, void *arg)
{
	const struct nlattr *a[MROCE_NL_A_MAX + 1];
	struct sample *s = arg;
	struct conn *c;

	nl_parse(msg, a);
	s->conn = another(s->conn, s->nconn, &s->conn_room, sizeof(*s->conn));
	c = &s->conn[s->nconn];
	if (!wanted(a, c->device, sizeof(c->device)))
		return MNL_CB_OK;
	c->half = value(a[MROCE_NL_A_HALF]);
	c->direction = value(a[MROCE_NL_A_DIRECTION]);
	c->state = value(a[MROCE_NL_A_STATE]);
	c->bytes = value(a[MROCE_NL_A_BYTES]);
	c->carried = value(a[MROCE_NL_A_CARRIED]);
	c->lost = value(a[MROCE_NL_A_LOST]);
	c->marked = value(a[MROCE_NL_A_MARKED_ALL]);
	c->streams = value(a[MROCE_NL_A_STREAMS]);
	if (a[MROCE_NL_A_PEER] && mnl_attr_get_payload_len(a[MROCE_NL_A_PEER]) == 16)
		address_text(c->peer, mnl_attr_get_payload(a[MROCE_NL_A_PEER]));
	s->nconn++;
	return MNL_CB_OK;
}

static int on_path(const struct nlmsghdr *msg, void *arg)
{
	const struct nlattr *a[MROCE_NL_A_MAX + 1];
	struct sample *s = arg;
	struct path *p;

	nl_parse(msg, a);
	s->path = another(s->path, s->npath, &s->path_room, sizeof(*s->path));
	p = &s->path[s->npath];
	if (!wanted(a, p->device, sizeof(p->device)))
		return MNL_CB_OK;
	p->half = value(a[MROCE_NL_A_HALF]);
	p->path = value(a[MROCE_NL_A_PATH]);
	p->plane = value(a[MROCE_NL_A_SLOT]);
	p->state = value(a[MROCE_NL_A_STATE]);
	p->epoch = value(a[MROCE_NL_A_EPOCH]);
	p->port = value(a[MROCE_NL_A_PORT]);
	p->ifindex = value(a[MROCE_NL_A_IFINDEX]);
	p->srtt = value(a[MROCE_NL_A_SRTT]);
	p->bytes = value(a[MROCE_NL_A_BYTES]);
	p->packets = value(a[MROCE_NL_A_PACKETS]);
	p->marked = value(a[MROCE_NL_A_MARKED]);
	p->lost = value(a[MROCE_NL_A_LOST]);
	s->npath++;
	return MNL_CB_OK;
}

/* in the order of their keys */
static int conn_order(const void *x, const void *y)
{
	const struct conn *a = x, *b = y;
	int d = strcmp(a->device, b->device);

	if (!d)
		d = a->direction - b->direction;
	return d ? d : (a->half > b->half) - (a->half < b->half);
}

static int path_order(const void *x, const void *y)
{
	const struct path *a = x, *b = y;
	int d = strcmp(a->device, b->device);

	if (!d)
		d = (a->half > b->half) - (a->half < b->half);
	return d ? d : a->path - b->path;
}

/* The share of a connection is the sum over its planes, and none if one of them has none. */
static int on_share(const struct nlmsghdr *msg, void *arg)
{
	const struct nlattr *a[MROCE_NL_A_MAX + 1];
	struct sample *s = arg;
	struct conn key, *c;
	uint64_t share;

	nl_parse(msg, a);
	if (!wanted(a, key.device, sizeof(key.device)))
		return MNL_CB_OK;
	key.direction = value(a[MROCE_NL_A_DIRECTION]);
	key.half = value(a[MROCE_NL_A_HALF]);
	c = s->nconn ? bsearch(&key, s->conn, s->nconn, sizeof(key), conn_order) : NULL;
	if (!c || c->f.share == UINT64_MAX)
		return MNL_CB_OK;
	share = value(a[MROCE_NL_A_SHARE]);
	c->f.share = share ? c->f.share + share * 8192 : UINT64_MAX;
	return MNL_CB_OK;
}

static void read_into(struct sample *s)
{
	static const struct {
		uint8_t cmd;
		mnl_cb_t each;
	} dumps[] = {
		{ MROCE_NL_CONN_GET, on_conn }, { MROCE_NL_PATH_GET, on_path }, { MROCE_NL_SHARE_GET, on_share },
	};
	struct timespec now;
	struct nlmsghdr *msg;
	size_t i;

	s->nconn = 0;
	s->npath = 0;
	s->failed = false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	s->at = now.tv_sec + now.tv_nsec / 1e9;
	for (i = 0; i < sizeof(dumps) / sizeof(dumps[0]); i++) {
		msg = nl_request(dumps[i].cmd, NLM_F_DUMP);
		if (!msg || nl_send(msg, dumps[i].each, s)) {
			s->failed = true;
			return;
		}
		/* shares are looked up by the key of their connection */
		if (dumps[i].each == on_conn && s->nconn)
			qsort(s->conn, s->nconn, sizeof(*s->conn), conn_order);
	}
	if (s->npath)
		qsort(s->path, s->npath, sizeof(*s->path), path_order);
	for (i = 0; i < s->nconn; i++)
		if (s->conn[i].f.share == UINT64_MAX)
			s->conn[i].f.share = 0;
}

/* ---- comparing ---- */

/* Counts begin anew with a path's epoch. */
static uint64_t since(uint64_t now, uint64_t was, bool anew)
{
	return anew || now < was ? now : now - was;
}

static void compare(struct sample *s, const struct sample *was)
{
	double seconds = s->at - was->at;
	struct path *p;
	struct conn *c;
	size_t i, j;

	if (seconds <= 0)
		seconds = 1;
	for (i = 0; i < s->npath; i++) {
		const struct path *old;
		bool anew;

		p = &s->path[i];
		old = was->npath ? bsearch(p, was->path, was->npath, sizeof(*p), path_order) : NULL;
		/* it was not there: what it has counted since then is not of this interval alone */
		if (!old)
			old = p;
		anew = old->epoch != p->epoch;
		p->f.rate = since(p->bytes, old->bytes, anew) * 8 / seconds;
		p->f.packets = since(p->packets, old->packets, anew);
		p->f.marked = since(p->marked, old->marked, anew);
		p->f.lost = since(p->lost, old->lost, false);
		p->f.rtt = p->srtt;
	}
	for (i = 0, j = 0; i < s->nconn; i++) {
		const struct conn *old;
		uint64_t sum = 0;
		size_t first;

		c = &s->conn[i];
		old = was->nconn ? bsearch(c, was->conn, was->nconn, sizeof(*c), conn_order) : NULL;
		if (!old)
			old = c;
		c->f.rate = since(c->bytes, old->bytes, false) * 8 / seconds;
		c->f.packets = since(c->carried, old->carried, false);
		c->f.lost = since(c->lost, old->lost, false);
		c->f.marked = since(c->marked, old->marked, false);
		if (c->direction != MROCE_NL_SENDS)
			continue;
		/* both are in the order of device and half */
		while (j < s->npath && (strcmp(s->path[j].device, c->device) < 0 ||
					(!strcmp(s->path[j].device, c->device) && s->path[j].half < c->half)))
			j++;
		first = j;
		for (; j < s->npath && !strcmp(s->path[j].device, c->device) && s->path[j].half == c->half; j++) {
			p = &s->path[j];
			sum += p->f.rate;
			c->f.marked += p->f.marked;
			if (p->srtt && (!c->f.rtt || p->srtt < c->f.rtt))
				c->f.rtt = p->srtt;
		}
		while (first < j && sum)
			s->path[first].f.share = s->path[first].f.rate * 100 / sum, first++;
	}
}

/* ---- sorting ---- */

static uint64_t parts(uint64_t n, uint64_t packets)
{
	return packets ? n * 1000000 / packets : 0;
}

static uint64_t weight(const struct figures *f)
{
	switch (sorting) {
	case 't':
		return f->rtt;
	case 'm':
		return parts(f->marked, f->packets);
	case 'l':
		return parts(f->lost, f->packets);
	case 's':
		return f->share;
	default:
		return f->rate;
	}
}

static int by_figure(const struct figures *a, const struct figures *b)
{
	uint64_t x = weight(a), y = weight(b);

	return (x < y) - (x > y);
}

static int busy_conn(const void *x, const void *y)
{
	const struct conn *a = *(struct conn *const *)x, *b = *(struct conn *const *)y;
	int d = by_figure(&a->f, &b->f);

	return d ? d : conn_order(a, b);
}

static int busy_path(const void *x, const void *y)
{
	const struct path *a = *(struct path *const *)x, *b = *(struct path *const *)y;
	int d = by_figure(&a->f, &b->f);

	return d ? d : path_order(a, b);
}

/* ---- showing ---- */

/* lines of a frame; the screen shows some of them */
static struct {
	char (*line)[256];
	size_t n, room;
} text;

static void __attribute__((format(printf, 1, 2))) print(const char *format, ...)
{
	va_list args;

	text.line = another(text.line, text.n, &text.room, sizeof(*text.line));
	va_start(args, format);
	vsnprintf(text.line[text.n++], sizeof(*text.line), format, args);
	va_end(args);
}

static const char *rate_text(char *to, size_t size, uint64_t rate)
{
	static const char units[] = " kMGT";
	double r = rate;
	int i = 0;

	while (r >= 999.5 && units[i + 1]) {
		r /= 1000;
		i++;
	}
	if (i)
		snprintf(to, size, "%.*f%c", r < 99.95 ? 1 : 0, r, units[i]);
	else
		snprintf(to, size, "%.0f", r);
	return to;
}

static const char *time_text(char *to, size_t size, uint64_t ns)
{
	if (!ns)
		snprintf(to, size, "-");
	else if (ns < 9999500)
		snprintf(to, size, "%.0fus", ns / 1e3);
	else
		snprintf(to, size, "%.0fms", ns / 1e6);
	return to;
}

static const char *part_text(char *to, size_t size, uint64_t n, uint64_t packets)
{
	snprintf(to, size, "%.1f%%", parts(n, packets) / 1e4);
	return to;
}

/* @left fills what the figures leave of @columns */
static void row(unsigned int columns, const char *left, const struct figures *f, const char *share)
{
	int width = columns > 80 ? (int)columns - 40 : 40;
	char rate[16], rtt[16], marks[16], lost[16];

	if (width > 120)
		width = 120;
	print("%-*.*s %8s %8s %7s %6s %6s", width, width, left, rate_text(rate, sizeof(rate), f->rate), share,
	      time_text(rtt, sizeof(rtt), f->rtt), part_text(marks, sizeof(marks), f->marked, f->packets),
	      part_text(lost, sizeof(lost), f->lost, f->packets));
}

static void path_row(unsigned int columns, const struct path *p)
{
	char left[192], share[16], netdev[IF_NAMESIZE];

	if (!if_indextoname(p->ifindex, netdev))
		snprintf(netdev, sizeof(netdev), "if%u", p->ifindex);
	snprintf(left, sizeof(left), "  path %2u plane %u %-7s %-8.8s %5u", p->path, p->plane, path_state(p->state), netdev,
		 p->port);
	snprintf(share, sizeof(share), "%" PRIu64 "%%", p->f.share);
	row(columns, left, &p->f, share);
}

static void conn_row(unsigned int columns, const struct conn *c)
{
	char left[192], share[16], streams[16] = "";

	if (c->direction == MROCE_NL_SENDS)
		snprintf(streams, sizeof(streams), " %u", c->streams);
	snprintf(left, sizeof(left), "%s %s %s%s", c->device, c->direction == MROCE_NL_SENDS ? "to" : "from", c->peer,
		 streams);
	row(columns, left, &c->f, c->f.share ? rate_text(share, sizeof(share), c->f.share) : "-");
}

static int paths_of(const struct sample *s, const struct conn *c, struct path **list)
{
	int n = 0;
	size_t i;

	for (i = 0; i < s->npath; i++)
		if (s->path[i].half == c->half && !strcmp(s->path[i].device, c->device) && n < 64)
			list[n++] = &s->path[i];
	qsort(list, n, sizeof(*list), busy_path);
	return n;
}

static void number_pair(const char *name, uint64_t n)
{
	out_number(name, n, "");
}

static void figures_json(const struct figures *f)
{
	number_pair("rate", f->rate);
	number_pair("rtt", f->rtt);
	number_pair("packets", f->packets);
	number_pair("marked", f->marked);
	number_pair("lost", f->lost);
	number_pair("share", f->share);
	out_close();
}

static void conn_json(unsigned int frame, const struct conn *c)
{
	out_open();
	number_pair("frame", frame);
	out_string("kind", "connection");
	out_string("device", c->device);
	out_hex("connection", c->half);
	out_string("direction", c->direction == MROCE_NL_SENDS ? "send" : "receive");
	out_string("peer", c->peer);
	if (c->direction == MROCE_NL_SENDS)
		number_pair("streams", c->streams);
	figures_json(&c->f);
}

static void path_json(unsigned int frame, const struct path *p)
{
	out_open();
	number_pair("frame", frame);
	out_string("kind", "path");
	out_string("device", p->device);
	out_hex("connection", p->half);
	number_pair("path", p->path);
	number_pair("plane", p->plane);
	out_string("state", path_state(p->state));
	out_netdev(p->ifindex);
	number_pair("port", p->port);
	figures_json(&p->f);
}

static void compose(struct sample *s, unsigned int frame, unsigned int columns)
{
	static const struct {
		char key;
		const char *name;
	} keys[] = { { 'r', "rate" }, { 't', "round trip" }, { 'm', "marks" }, { 'l', "loss" }, { 's', "share" } };
	struct conn **list = calloc(s->nconn + 1, sizeof(*list));
	uint64_t out = 0, in = 0, failed = 0;
	char a[16], b[16], clock[16];
	const char *by = "rate";
	struct path *paths[64];
	time_t now = time(NULL);
	struct tm tm;
	size_t i;
	int k, n;

	text.n = 0;
	if (!list)
		return;
	for (i = 0; i < s->nconn; i++) {
		list[i] = &s->conn[i];
		*(s->conn[i].direction == MROCE_NL_SENDS ? &out : &in) += s->conn[i].f.rate;
	}
	for (i = 0; i < s->npath; i++)
		failed += s->path[i].state != MROCE_NL_PATH_ACTIVE;
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].key == sorting)
			by = keys[i].name;
	if (s->nconn)
		qsort(list, s->nconn, sizeof(*list), busy_conn);
	localtime_r(&now, &tm);
	strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	if (!out_json) {
		print("mroce %s  out %sb/s  in %sb/s  halves %zu  paths %zu, %" PRIu64 " not active", clock,
		      rate_text(a, sizeof(a), out), rate_text(b, sizeof(b), in), s->nconn, s->npath, failed);
		print("by %s; h: help", by);
		k = columns > 80 ? (columns > 160 ? 120 : (int)columns - 40) : 40;
		print("%-*s %8s %8s %7s %6s %6s", k, "DEVICE, PEER, STREAMS", "RATE", "SHARE", "RTT", "MARKS", "LOSS");
	}
	for (i = 0; i < s->nconn; i++) {
		if (out_json)
			conn_json(frame, list[i]);
		else
			conn_row(columns, list[i]);
		if (!paths_shown || list[i]->direction != MROCE_NL_SENDS)
			continue;
		n = paths_of(s, list[i], paths);
		for (k = 0; k < n; k++)
			if (out_json)
				path_json(frame, paths[k]);
			else
				path_row(columns, paths[k]);
	}
	free(list);
}

/* @from: the first line below the heading that is shown */
static void draw(size_t from)
{
	enum { HEADING = 3 };
	unsigned int rows, columns, y;
	size_t i;

	screen_size(&rows, &columns);
	fputs("\033[H", stdout);
	for (y = 0; y < rows; y++) {
		i = y < HEADING ? y : y + from;
		/* before the text: behind the last column it would take that column away */
		fputs("\033[K", stdout);
		if (i < text.n)
			printf("%s%.*s%s", y == HEADING - 1 ? "\033[7m" : "", (int)columns, text.line[i],
			       y == HEADING - 1 ? "\033[0m" : "");
		if (y + 1 < rows)
			fputs("\r\n", stdout);
	}
	fflush(stdout);
}

static void help(void)
{
	text.n = 0;
	print("mroce top: what connections send and receive, and their paths");
	print("keys:");
	print(" ");
	print("  r t m l s   sort by rate, round trip, marks, loss, share");
	print("  p           paths, or connections only");
	print("  j k         down and up, a line; space and b: a page");
	print("  q           end; any other key: back");
	print(" ");
	print("RATE   payload in bits a second, what was sent again included");
	print("SHARE  of a connection: what its receiver lets it send, bits a second,");
	print("       -: as much as it wants; of a path: its part of the connection's rate");
	print("RTT    round trip; of a connection: of its fastest path");
	print("MARKS  packets that a switch has marked: congestion");
	print("LOSS   packets lost, and sent again");
}

/* ---- */

static void wait_for(double seconds)
{
	struct timespec t = { .tv_sec = seconds, .tv_nsec = (seconds - (time_t)seconds) * 1e9 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static int batch(unsigned int frames, double delay)
{
	struct sample samples[2] = { 0 }, *now = &samples[0], *was = &samples[1], *other;
	unsigned int i;
	size_t y;

	out_begin();
	read_into(was);
	for (i = 0; i < frames && !was->failed; i++) {
		wait_for(delay);
		read_into(now);
		if (now->failed)
			return 1;
		compare(now, was);
		compose(now, i, 80);
		for (y = 0; y < text.n; y++)
			puts(text.line[y]);
		if (text.n)
			puts("");
		fflush(stdout);
		other = was;
		was = now;
		now = other;
	}
	if (was->failed)
		return 1;
	out_end();
	return 0;
}

static double clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int live(double delay)
{
	struct sample samples[2] = { 0 }, *now = &samples[0], *was = &samples[1], *other;
	unsigned int rows, columns;
	bool helping = false;
	size_t from = 0;
	double left;
	int key;

	read_into(was);
	if (was->failed)
		return 1;
	if (!screen_begin()) {
		fprintf(stderr, "mroce: no terminal to draw upon; with -b N it prints\n");
		return 1;
	}
	/* the first frame soon */
	screen_key(200);
	for (;;) {
		read_into(now);
		if (now->failed)
			break;
		compare(now, was);
		for (;;) {
			screen_size(&rows, &columns);
			if (helping)
				help();
			else
				compose(now, 0, columns);
			if (from + 3 >= text.n)
				from = text.n > 4 ? text.n - 4 : 0;
			draw(helping ? 0 : from);
			left = now->at + delay - clock_now();
			if (left <= 0)
				break;
			key = screen_key(left * 1000 + 1);
			if (key == 'q' || key == SCREEN_GONE)
				return 0;
			if (key == SCREEN_NONE)
				break;
			if (key == SCREEN_RESIZED)
				continue;
			if (helping || key == 'h' || key == '?')
				helping = !helping;
			else if (key > 0 && strchr("rtmls", key))
				sorting = key;
			else if (key == 'p')
				paths_shown = !paths_shown;
			else if (key == 'j')
				from++;
			else if (key == 'k')
				from -= from > 0;
			else if (key == ' ')
				from += rows - 4;
			else if (key == 'b')
				from -= from > rows - 4 ? rows - 4 : from;
		}
		other = was;
		was = now;
		now = other;
	}
	screen_end();
	fprintf(stderr, "mroce: the module does not answer any more\n");
	return 1;
}

int cmd_top(int argc, char **argv)
{
	if (argc > 1 || (top_options.sort && !strchr("rtmls", top_options.sort)))
		return usage();
	only = argc ? argv[0] : NULL;
	if (only && !nl_device(only))
		return 1;
	if (top_options.sort)
		sorting = top_options.sort;
	if (out_json && !top_options.frames)
		top_options.frames = 1;
	return top_options.frames ? batch(top_options.frames, top_options.delay) : live(top_options.delay);
}
