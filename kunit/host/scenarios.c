// SPDX-License-Identifier: GPL-2.0
/*
 * Runs named scenarios and prints a table; CSV files go to a directory. Each scenario runs in a
 * process of its own, so that one that dies takes no other with it. See scenarios.h.
 * usage: scenarios [--strict] [--list] [-o DIR] [-s SEED] [PATTERN...]
 */
#include <getopt.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "scenarios.h"

enum verdict { REACHED, MISSED, BROKEN };

u64 scenario_seed = 1;

static const struct scenario *const all[] = {
	loss_scenarios, plane_scenarios, queue_scenarios, incast_scenarios, load_scenarios,
};

static const char *dir;
static const struct scenario *current;
static FILE *runs, *verdicts;
static enum verdict worst;

/* ---- what a scenario reports ---- */

static FILE *open_csv(const char *kind, const char *columns)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%s.csv", dir, current->name, kind);
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		exit(BROKEN);
	}
	fprintf(f, "%s\n", columns);
	return f;
}

void scenario_report(const struct trial *t, const char *run, const struct trial_result *r)
{
	printf("  %-12s %8.1f Mb/s (%.1f to %.1f a sender), Jain %.4f, link %5.1f%%, ", run,
	       r->goodput / 125000.0, r->least / 125000.0, r->most / 125000.0,
	       r->jain / 1000000.0, r->use / 10000.0);
	printf("queue %.1f/%.1f KiB, %llu packets, %llu marks,\n", r->mean_queue / 1024.0,
	       r->max_queue / 1024.0, r->packets, r->marks);
	printf("  %-12s drops %llu, lost %llu, resent %.2f%%, probe timeouts %llu, ", "", r->drops,
	       r->lost, r->resent / 10000.0, r->probe_timeouts);
	printf("srtt %.1f us, latency %.0f/%.0f us (p50/p99) of %llu\n", r->srtt / 1000.0,
	       r->p50 / 1000.0, r->p99 / 1000.0, r->messages);
	fflush(stdout);
	fprintf(runs, "%s,%s,%llu,%u,%llu,%llu,%llu,%llu,%.6f,%llu,%llu,", current->name, run,
		t->c.sim.seed, t->n, r->ns, r->goodput, r->least, r->most, r->use / 1000000.0,
		r->mean_queue, r->max_queue);
	fprintf(runs, "%llu,%llu,%llu,%llu,%.6f,%llu,%.6f,%u,%llu,%llu,%llu\n", r->packets,
		r->drops, r->lost, r->marks, r->resent / 1000000.0, r->probe_timeouts,
		r->jain / 1000000.0, r->srtt, r->p50, r->p99, r->messages);
	fflush(runs);
}

static void judge(const char *what, double measured, double target, const char *unit, bool reached,
		  const char *sign)
{
	printf("  %-7s %-52s %10.4g %s, wanted %s %.4g\n", reached ? "reached" : "MISSED", what,
	       measured, unit, sign, target);
	fflush(stdout);
	fprintf(verdicts, "%s,\"%s\",%.6g,%s,%.6g,%s,%s\n", current->name, what, measured, sign,
		target, unit, reached ? "reached" : "missed");
	fflush(verdicts);
	if (!reached && worst == REACHED)
		worst = MISSED;
}

void scenario_least(const char *what, double measured, double target, const char *unit)
{
	judge(what, measured, target, unit, measured >= target, ">=");
}

void scenario_most(const char *what, double measured, double target, const char *unit)
{
	judge(what, measured, target, unit, measured <= target, "<=");
}

void scenario_note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("  ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
}

void scenario_series(struct trial *t, const char *run, u64 from, u64 to, u32 bins)
{
	struct sim_link *l = trial_neck(t, 0);
	u64 bytes = 0, queue = 0, peak = 0, n = 0, marks = 0, drops = 0, bin = 0;
	char kind[128];
	FILE *f;
	u32 i;

	snprintf(kind, sizeof(kind), "%s.series", run);
	for (i = 0; kind[i]; i++)
		if (kind[i] == ' ')
			kind[i] = '-';
	f = open_csv(kind, "seconds,bytes_per_second,mean_queue,max_queue,marks,drops,capacity");
	for (i = 0; i <= l->arrivals; i++) {
		struct sim_arrival *a = i < l->arrivals ? &l->arrival[i] : NULL;
		u64 at = a ? min(a->at, to) : to;

		if (at < from)
			continue;
		while (bin < bins && at >= from + (to - from) * (bin + 1) / bins) {
			fprintf(f, "%.9f,%.0f,%.0f,%llu,%llu,%llu,%llu\n",
				(to - from) * (bin + 0.5) / bins / SEC,
				bytes * 1e9 * bins / (to - from), n ? (double)queue / n : 0.0,
				peak, marks, drops, l->wire->rate);
			bytes = 0, queue = 0, peak = 0, n = 0, marks = 0, drops = 0;
			bin++;
		}
		if (!a || bin == bins)
			break;
		if (a->flags & SIM_ARRIVAL_ACK)
			continue;
		n++;
		bytes += a->bytes;
		queue += a->queue;
		peak = max_t(u64, peak, a->queue);
		marks += !!(a->flags & SIM_ARRIVAL_MARKED);
		drops += !!(a->flags & SIM_ARRIVAL_DROPPED);
	}
	fclose(f);
}

/* ---- trials ---- */

struct trial *scenario_trial(const struct trial_cfg *c)
{
	struct trial_cfg seeded = *c;
	struct trial *t;

	seeded.sim.seed = scenario_seed;
	t = trial_new(&seeded);
	if (!t) {
		printf("  BROKEN: no memory\n");
		exit(BROKEN);
	}
	return t;
}

void scenario_finish(struct trial *t)
{
	char why[200];

	if (trial_end(t, why, sizeof(why)))
		return;
	printf("  BROKEN: seed %llu: %s\n", scenario_seed, why);
	exit(BROKEN);
}

void scenario_run(const struct trial_cfg *c, const char *run, struct trial_result *r)
{
	struct trial *t = scenario_trial(c);

	trial_run(t, r);
	scenario_report(t, run, r);
	scenario_finish(t);
}

/* ---- the runner ---- */

static double seconds(const struct timeval *tv)
{
	return tv->tv_sec + tv->tv_usec / 1000000.0;
}

static enum verdict run_one(const struct scenario *sc)
{
	struct rusage use;
	int status;
	pid_t pid;

	printf("%s: %s\n", sc->name, sc->title);
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(BROKEN);
	}
	if (!pid) {
		current = sc;
		runs = open_csv("runs",
				"scenario,run,seed,senders,ns,goodput,least,most,use,mean_queue,max_queue,packets,drops,lost,marks,resent,probe_timeouts,jain,srtt,p50,p99,messages");
		verdicts = open_csv("verdicts",
				    "scenario,what,measured,sign,target,unit,verdict");
		sc->run(sc);
		exit(worst);
	}
	if (wait4(pid, &status, 0, &use) != pid)
		return BROKEN;
	printf("  %.1f s of processor, %ld MiB\n", seconds(&use.ru_utime) + seconds(&use.ru_stime),
	       use.ru_maxrss / 1024);
	if (WIFEXITED(status) && WEXITSTATUS(status) <= BROKEN)
		return WEXITSTATUS(status);
	printf("  BROKEN: ended by signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return BROKEN;
}

static bool wanted(const char *name, char **pattern)
{
	if (!*pattern)
		return true;
	for (; *pattern; pattern++)
		if (strstr(name, *pattern))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "strict", no_argument, NULL, 'S' },
		{ "list", no_argument, NULL, 'l' },
		{},
	};
	u32 count[BROKEN + 1] = { 0 }, i;
	const struct scenario *sc;
	bool strict = false, list = false;
	int c;

	dir = ".";
	while ((c = getopt_long(argc, argv, "Slo:s:", options, NULL)) != -1) {
		switch (c) {
		case 'S':
			strict = true;
			break;
		case 'l':
			list = true;
			break;
		case 'o':
			dir = optarg;
			break;
		case 's':
			scenario_seed = strtoull(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	mkdir(dir, 0777);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		for (sc = all[i]; sc->name; sc++) {
			if (!wanted(sc->name, argv + optind))
				continue;
			if (list)
				printf("%-24s %s\n", sc->name, sc->title);
			else
				count[run_one(sc)]++;
		}
	}
	if (list)
		return 0;
	printf("%u scenarios reached, %u missed, %u broken\n", count[REACHED], count[MISSED],
	       count[BROKEN]);
	return count[BROKEN] || (strict && count[MISSED]);
}
