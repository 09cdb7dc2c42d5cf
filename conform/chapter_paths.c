// SPDX-License-Identifier: GPL-2.0
/* Paths of the target: it uses several, leaves one that fails and comes back. Clauses T1 to T6, D1, N1. */
#include <string.h>

#include "script.h"

static struct {
	uint32_t data[64], probes[64];
	uint16_t port[64];
	uint8_t epoch[64];
	int dark; /* nothing of this path comes */
	uint16_t dark_port; /* or of this source port */
	uint32_t largest_probe, probes_dark;
	uint32_t most_bytes; /* larger datagrams do not pass; 0: all do */
} seen;

static bool watch(struct t *t, struct packet *p)
{
	const struct mroce_wire_base *b = base_of(p);

	(void)t;
	if (!type_numbered(b->type) || b->path >= 64)
		return false;
	if (b->type == MROCE_T_DATA)
		seen.data[b->path]++;
	if (b->type == MROCE_T_PROBE) {
		seen.probes[b->path]++;
		if (p->length > seen.largest_probe)
			seen.largest_probe = p->length;
	}
	seen.port[b->path] = p->d.port;
	seen.epoch[b->path] = b->epoch;
	if (b->path == seen.dark || (seen.dark_port && p->d.port == seen.dark_port)) {
		seen.probes_dark += b->type == MROCE_T_PROBE;
		return true;
	}
	return seen.most_bytes && p->length > seen.most_bytes;
}

static struct stream *begin(struct t *t)
{
	/* a deadline of four seconds: what is cut here comes back long before */
	struct stream *s = stream_new(t, out_new(t, peer_fresh(t)),
				      &(struct attributes){DEFAULTS, .timeout = 17});

	if (in_of(t, s->peer)->paths < 2)
		skip(t, "the target has one path only");
	memset(&seen, 0, sizeof(seen));
	seen.dark = -1;
	t->filter = watch;
	return s;
}

static unsigned int writes(struct t *t, struct stream *s, unsigned int n, unsigned int id)
{
	unsigned int i;
	struct completion c;

	for (i = 0; i < n; i++)
		post(t, s, id + i, MROCE_OP_WRITE, 0, 60000, 0x1000, 1, 0, 0, 0);
	for (i = 0; i < n; i++) {
		c = completion(t, s);
		need(t, !c.status && c.id == id + i, "Write %u: id %u, status %u", id + i,
		     (unsigned int)c.id, c.status);
	}
	return id + n;
}

static unsigned int used(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < 64; i++)
		n += seen.data[i] > 0;
	return n;
}

static void several(struct t *t, long arg)
{
	struct stream *s = begin(t);
	unsigned int i, k;

	(void)arg;
	writes(t, s, 20, 0);
	need(t, used() >= 2, "a megabyte goes by one path, %u were agreed",
	     in_of(t, s->peer)->paths);
	for (i = 0; i < 64; i++)
		for (k = 0; k < i; k++)
			need(t, !seen.data[i] || !seen.data[k] || seen.port[i] != seen.port[k],
			     "paths %u and %u have one source port", i, k);
}

static int busiest(void)
{
	int i, most = 0;

	for (i = 1; i < 64; i++)
		if (seen.data[i] > seen.data[most])
			most = i;
	return most;
}

/* Of one path nothing arrives: all is delivered by the others, and the path is asked */
static void fails(struct t *t, long arg)
{
	struct stream *s = begin(t);
	unsigned int id = writes(t, s, 20, 0), before;
	int path = busiest(), i;

	(void)arg;
	seen.dark = path;
	for (i = 0; i < 40; i++)
		id = writes(t, s, 2, id);
	need(t, seen.probes_dark, "the path that is dark is not asked by PROBE");
	/* it is left: data go by others */
	run(t, 300);
	before = seen.data[path];
	for (i = 0; i < 10; i++)
		id = writes(t, s, 2, id);
	need(t, seen.data[path] - before <= 8,
	     "%u packets of data go by a path of which nothing was answered for long",
	     seen.data[path] - before);
}

static void comes_back(struct t *t, long arg)
{
	struct stream *s = begin(t);
	unsigned int id = writes(t, s, 20, 0), before;
	int path = busiest(), i;

	(void)arg;
	seen.dark = path;
	for (i = 0; i < 40; i++)
		id = writes(t, s, 2, id);
	seen.dark = -1;
	before = seen.data[path];
	for (i = 0; i < 200 && seen.data[path] - before < 4; i++) {
		id = writes(t, s, 4, id);
		run(t, 10);
	}
	need(t, seen.data[path] - before >= 4, "the path is clear again, and carries no data");
}

/* Four rounds without an answer: a new source port, a new epoch, numbers from 1 */
static void new_port(struct t *t, long arg)
{
	struct stream *s = begin(t);
	unsigned int id = writes(t, s, 20, 0);
	int path = busiest(), i;
	uint16_t port = seen.port[path];
	uint8_t epoch = seen.epoch[path];

	(void)arg;
	seen.dark_port = port;
	for (i = 0; i < 400 && seen.port[path] == port; i++) {
		id = writes(t, s, 1, id);
		run(t, 10);
	}
	need(t, seen.port[path] != port, "nothing of source port %u arrives, and the path keeps it",
	     port);
	need(t, (int8_t)(seen.epoch[path] - epoch) > 0,
	     "with the source port the epoch is to change: it was %u, it is %u", epoch,
	     seen.epoch[path]);
}

static void padded(struct t *t, long arg)
{
	struct stream *s = begin(t);
	unsigned int id = writes(t, s, 20, 0);
	int i;

	(void)arg;
	seen.dark = busiest();
	for (i = 0; i < 60; i++) {
		id = writes(t, s, 1, id);
		run(t, 10);
	}
	need(t, seen.largest_probe >= in_of(t, s->peer)->payload,
	     "the largest PROBE has %u bytes, a payload of %u was agreed", seen.largest_probe,
	     in_of(t, s->peer)->payload);
}

/* All stop: it is the peer, not the paths; when it is back everything goes on */
static bool darkness(struct t *t, struct packet *p)
{
	return t->data && type_numbered(base_of(p)->type);
}

static void all_dark(struct t *t, long arg)
{
	struct stream *s = begin(t);
	unsigned int id = writes(t, s, 5, 0);
	struct completion c;

	t->filter = darkness;
	t->data = 1;
	post(t, s, id, MROCE_OP_WRITE, 0, 60000, 0x1000, 1, 0, 0, 0);
	run(t, arg);
	need(t, !poll_completion(t, s, &c) || c.status == 0,
	     "after %ld ms of silence it ends with status %u", arg, c.status);
	t->data = 0;
	c = completion(t, s);
	need(t, !c.status, "the peer is back, and the request ends with status %u", c.status);
	writes(t, s, 5, id + 1);
}

/* Paths that do not pass what was agreed: new messages are cut smaller */
static void size(struct t *t, long arg)
{
	struct stream *s = begin(t);
	unsigned int id = writes(t, s, 10, 0);

	(void)arg;
	/* 1,264 bytes of payload and a header pass, nothing larger */
	seen.most_bytes = 1264 + sizeof(struct mroce_wire_data);
	if (in_of(t, s->peer)->payload <= 1264)
		skip(t, "the payload agreed is no larger than 1,264 bytes");
	post(t, s, id, MROCE_OP_WRITE, 0, 60000, 0x1000, 1, 0, 0, 0);
	/* what was cut already goes as fragments, which arrive whole here, and are lost: it cannot come. A small one tells. */
	run(t, 2000);
	need(t, seen.largest_probe >= in_of(t, s->peer)->payload,
	     "large packets are lost, and no large PROBE asks why");
}

static const struct test_case cases[] = {
	{"several", "D1 T1", "data go by several paths, each with a source port of its own",
	 several},
	{"fails", "T1 T4 T5",
	 "of one path nothing arrives: all is delivered by others, the path is asked and left",
	 fails},
	{"comes-back", "T5", "a path that is clear again carries data again", comes_back},
	{"new-port", "T5 N1", "a path that stays dark takes a new source port, in a new epoch",
	 new_port},
	{"padded", "T5", "a failed path is asked by PROBEs as large as the payload agreed", padded},
	{"all-dark", "T1 T2", "all paths are silent for a while: nothing fails, and all goes on",
	 all_dark, 100},
	{"all-dark", "T1 T2", "all paths are silent for a while: nothing fails, and all goes on",
	 all_dark, 300},
	{"size", "T7", "large packets alone are lost: the size is asked about", size, 0, 0,
	 "verbs"},
};
CHAPTER(paths, "Paths: use, failure and return");
