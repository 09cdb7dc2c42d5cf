// SPDX-License-Identifier: GPL-2.0
/*
 * Progress lines, the final table and the JSON report. Runs in the main thread
 * and reads the workers' counters without locks: while they run the figures
 * are approximate, afterwards exact.
 */
#include <string.h>
#include "load.h"

void sum_counters(const struct side *s, struct counters *c)
{
	uint64_t *to = (uint64_t *)c;
	unsigned int i, j;

	memset(c, 0, sizeof(*c));
	for (i = 0; s->workers && i < s->p.threads; i++) {
		const uint64_t *from = (const uint64_t *)&s->workers[i].c;

		for (j = 0; j < COUNTERS; j++)
			to[j] += __atomic_load_n(&from[j], __ATOMIC_RELAXED);
	}
}

static uint64_t messages(const struct counters *c)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < OP_MAX; i++)
		n += c->msgs[i];
	return n;
}

void report_progress(struct side *s, struct counters *prev, double secs)
{
	struct counters c;

	sum_counters(s, &c);
	printf("%s: %6.1f s  %9lu messages out  %9lu in  %7.1f MB/s out  %7.1f MB/s checked\n",
	       s->name, (now_ns() - s->t0) / 1e9, (unsigned long)messages(&c),
	       (unsigned long)c.recvs, (c.tx_bytes - prev->tx_bytes) / secs / 1e6,
	       (c.checked - prev->checked) / secs / 1e6);
	fflush(stdout);
	*prev = c;
}

void report_final(struct side *s, double secs)
{
	struct counters c;
	unsigned int i;

	sum_counters(s, &c);
	printf("\n%s on %s: %s, seed %lu, %.1f s, %lu queue pairs, %lu threads, %s, largest message %lu\n",
	       s->name, ibv_get_device_name(s->ctx->device), side_failed(s) ? "FAILED" : "all right",
	       (unsigned long)s->p.seed, secs, (unsigned long)s->p.qps,
	       (unsigned long)s->p.threads, mode_name(s->p.mode), (unsigned long)s->p.max_size);
	printf("  %-28s %14s\n", "operation", "requests");
	for (i = 0; i < OP_MAX; i++)
		printf("  %-28s %14lu%s\n", op_name(i), (unsigned long)c.msgs[i],
		       s->p.ops >> i & 1 ? "" : "  (not asked for, or not supported)");
	printf("  %-28s %14lu\n", "all", (unsigned long)messages(&c));
	printf("  %-28s %14lu\n", "receives", (unsigned long)c.recvs);
	printf("  %-28s %14lu\n", "epochs verified", (unsigned long)c.epochs);
	printf("  %-28s %14.1f\n", "MB requested", c.tx_bytes / 1e6);
	printf("  %-28s %14.1f\n", "MB checked", c.checked / 1e6);
	printf("  %-28s %14lu\n", "Writes caught by polling", (unsigned long)c.live_polls);
	printf("  %-28s %14lu\n", "flags caught by polling", (unsigned long)c.live_flags);
	printf("  %-28s %14lu\n", "  not caught in time", (unsigned long)c.late_polls);
	printf("  %-28s %14lu\n", "overlapping Writes", (unsigned long)c.overlaps);
	printf("  %-28s %14lu\n", "inline", (unsigned long)c.inlines);
	printf("  %-28s %14lu\n", "fenced", (unsigned long)c.fences);
	printf("  %-28s %14lu\n", "through windows", (unsigned long)c.windows);
	printf("  %-28s %14lu\n", "window binds", (unsigned long)c.binds);
	printf("  %-28s %14lu\n", "completion events", (unsigned long)c.events);
	fflush(stdout);
}

void report_json(struct side *s, double secs)
{
	const char *path = s->o->json;
	struct counters c;
	unsigned int i;
	FILE *f;

	if (!path || (s->o->self && s->dir))
		return;
	f = strcmp(path, "-") ? fopen(path, "w") : stdout;
	if (!f) {
		fprintf(stderr, "mroce-load: %s: %m\n", path);
		return;
	}
	sum_counters(s, &c);
	fprintf(f, "{\"ok\": %s, \"end\": \"%s\", \"device\": \"%s\", \"exit\": %d,",
		side_failed(s) ? "false" : "true", s->name, ibv_get_device_name(s->ctx->device),
		s->exit_code);
	fprintf(f, " \"seed\": %lu, \"seconds\": %.3f, \"mode\": \"%s\", \"qps\": %lu,",
		(unsigned long)s->p.seed, secs, mode_name(s->p.mode), (unsigned long)s->p.qps);
	fprintf(f, " \"threads\": %lu, \"max_size\": %lu, \"relaxed\": %s, \"srq\": %s,",
		(unsigned long)s->p.threads, (unsigned long)s->p.max_size,
		s->p.relaxed ? "true" : "false", s->p.srq ? "true" : "false");
	fprintf(f, " \"ops\": {");
	for (i = 0; i < OP_MAX; i++)
		fprintf(f, "%s\"%s\": %lu", i ? ", " : "", op_name(i), (unsigned long)c.msgs[i]);
	fprintf(f, "}, \"messages\": %lu, \"receives\": %lu, \"epochs\": %lu,",
		(unsigned long)messages(&c), (unsigned long)c.recvs, (unsigned long)c.epochs);
	fprintf(f, " \"bytes_sent\": %lu, \"bytes_checked\": %lu, \"completions\": %lu,",
		(unsigned long)c.tx_bytes, (unsigned long)c.checked,
		(unsigned long)c.completions);
	fprintf(f, " \"polled_writes\": %lu, \"polled_flags\": %lu, \"polled_late\": %lu,",
		(unsigned long)c.live_polls, (unsigned long)c.live_flags,
		(unsigned long)c.late_polls);
	fprintf(f, " \"overlaps\": %lu, \"inline\": %lu, \"fenced\": %lu, \"windows\": %lu, \"events\": %lu}\n",
		(unsigned long)c.overlaps, (unsigned long)c.inlines, (unsigned long)c.fences,
		(unsigned long)c.windows, (unsigned long)c.events);
	if (f == stdout)
		fflush(f);
	else
		fclose(f);
}
