// SPDX-License-Identifier: GPL-2.0
/* mroce-conform: runs the cases against a host and says what came of each. See mroce-conform(1). */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "script.h"

#ifndef SPECIFICATION
#define SPECIFICATION "Documentation/protocol.rst"
#endif

enum { MOST_CASES = 4096 };

extern const struct chapter chapter_handshake, chapter_malformed, chapter_formats,
	chapter_placement, chapter_sack, chapter_refusals, chapter_requester, chapter_order,
	chapter_acks, chapter_loss, chapter_congestion, chapter_paths, chapter_planes,
	chapter_streams, chapter_datagrams, chapter_limits;

static const struct chapter *const chapters[] = {
	&chapter_handshake, &chapter_malformed, &chapter_formats,    &chapter_placement,
	&chapter_sack,	    &chapter_refusals,	&chapter_requester,  &chapter_order,
	&chapter_acks,	    &chapter_loss,	&chapter_congestion, &chapter_paths,
	&chapter_planes,    &chapter_streams,	&chapter_datagrams,  &chapter_limits,
};
enum { CHAPTERS = sizeof(chapters) / sizeof(*chapters) };

static struct verdict verdicts[MOST_CASES];
static unsigned int cases;

/* One of several with its name, which its argument tells apart */
static bool namesake(const struct chapter *ch, const struct test_case *c)
{
	unsigned int i;

	for (i = 0; i < ch->n; i++)
		if (&ch->cases[i] != c && !strcmp(ch->cases[i].name, c->name))
			return true;
	return false;
}

static void gather(void)
{
	unsigned int i, j, k, n;

	for (i = 0; i < CHAPTERS; i++)
		for (j = 0; j < chapters[i]->n; j++) {
			const struct test_case *c = &chapters[i]->cases[j];

			n = c->count ? c->count : 1;
			for (k = 0; k < n && cases < MOST_CASES; k++) {
				struct verdict *v = &verdicts[cases++];

				v->chapter = chapters[i];
				v->c = c;
				v->ms = k; /* until it runs: which of several */
				if (c->count || namesake(chapters[i], c))
					snprintf(v->name, sizeof(v->name), "%s.%s-%ld",
						 chapters[i]->name, c->name, c->arg + k);
				else
					snprintf(v->name, sizeof(v->name), "%s.%s",
						 chapters[i]->name, c->name);
			}
		}
}

/* of each family of cases the first, the last and each so manieth between */
static unsigned int thin = 1;

static bool wanted(const struct verdict *v, char **words, int n)
{
	int i;

	if (v->c->count && v->ms % thin && v->ms != v->c->count - 1)
		return false;
	for (i = 0; i < n; i++)
		if (!strncmp(v->name, words[i], strlen(words[i])))
			return true;
	return !n;
}

static void run_case(struct t *t, struct verdict *v, unsigned int index)
{
	long arg = v->c->arg + (v->c->count ? (long)v->ms : 0);
	volatile uint64_t began = now_ms();

	case_begin(t, index);
	if (!setjmp(t->out_of_case)) {
		if (v->c->needs && !offers(t, v->c->needs))
			skip(t, "the target does not offer %s", v->c->needs);
		v->c->run(t, arg);
		v->what = PASSED;
	} else {
		v->what = t->skipped ? SKIPPED : FAILED;
		v->why = strdup(t->why);
	}
	if (!setjmp(t->out_of_case))
		case_end(t);
	v->ms = now_ms() - began;
}

static int list(void)
{
	unsigned int i;

	for (i = 0; i < cases; i++)
		printf("%s\t%s\t%s\n", verdicts[i].name, verdicts[i].c->clauses,
		       verdicts[i].c->says);
	return 0;
}

static int own_addresses(struct t *t, char *text)
{
	char *word, *save;

	for (word = strtok_r(text, ",", &save); word && t->owns < OWN;
	     word = strtok_r(NULL, ",", &save))
		if (address_parse(word, &t->own[t->owns++]))
			return -1;
	return t->owns ? 0 : -1;
}

static void usage(FILE *f)
{
	fprintf(f,
		"usage: mroce-conform --target ADDRESS --own ADDRESS[,ADDRESS...] [OPTION...] "
		"[CASE...]\n"
		"       mroce-conform --list\n"
		"  --agent ADDRESS    of the agent, if not the target's;  --port PORT  its TCP "
		"port (19790)\n"
		"  --json FILE        the verdicts, as JSON\n"
		"  --html FILE        a report for acceptance, with the clauses of the "
		"specification\n"
		"  --spec FILE        the specification (%s)\n"
		"  --seed N           of the random numbers;  --patience N  factor of every wait "
		"(1)\n"
		"  --thin N           of each family of cases the first, the last and every Nth;  "
		"--stop  at the first failure\n"
		"  --verbose          each packet that comes, on standard error\n"
		"A CASE is the beginning of a name: a chapter, or one of its cases.\n",
		SPECIFICATION);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"target", 1, NULL, 't'},  {"own", 1, NULL, 'o'},  {"agent", 1, NULL, 'a'},
		{"port", 1, NULL, 'p'},	   {"json", 1, NULL, 'j'}, {"html", 1, NULL, 'h'},
		{"spec", 1, NULL, 's'},	   {"seed", 1, NULL, 'r'}, {"patience", 1, NULL, 'P'},
		{"verbose", 0, NULL, 'v'}, {"list", 0, NULL, 'l'}, {"help", 0, NULL, 'H'},
		{"stop", 0, NULL, 'S'},	   {"thin", 1, NULL, 'T'}, {0},
	};
	static struct t t = {.patience = 1, .agent = -1};
	const char *agent = NULL, *port = "19790", *json = NULL, *html = NULL,
		   *spec = SPECIFICATION, *target = NULL;
	unsigned int i, n = 0, count[3] = {0};
	bool stop = false;
	int option, e = 0;

	t.seed = time(NULL);
	gather();
	while ((option = getopt_long(argc, argv, "v", options, NULL)) != -1) {
		switch (option) {
		case 't':
			target = optarg;
			e |= address_parse(optarg, &t.target);
			break;
		case 'o':
			e |= own_addresses(&t, optarg);
			break;
		case 'a':
			agent = optarg;
			break;
		case 'p':
			port = optarg;
			break;
		case 'j':
			json = optarg;
			break;
		case 'h':
			html = optarg;
			break;
		case 's':
			spec = optarg;
			break;
		case 'r':
			t.seed = strtoull(optarg, NULL, 0);
			break;
		case 'P':
			t.patience = atoi(optarg) > 0 ? atoi(optarg) : 1;
			break;
		case 'v':
			t.verbose = true;
			break;
		case 'S':
			stop = true;
			break;
		case 'T':
			thin = atoi(optarg) > 0 ? atoi(optarg) : 1;
			break;
		case 'l':
			return list();
		case 'H':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (!target || !t.owns || e) {
		usage(stderr);
		return 2;
	}
	if (script_open(&t, agent ? agent : target, port))
		return 2;
	printf("TAP version 13\n# target %s, seed %" PRIu64 "; it offers%s\n", target, t.seed,
	       t.caps);
	for (i = 0; i < cases; i++)
		if (wanted(&verdicts[i], argv + optind, argc - optind)) {
			run_case(&t, &verdicts[i], i);
			report_tap(&verdicts[i], ++n);
			count[verdicts[i].what]++;
			verdicts[n - 1] = verdicts[i];
			if (verdicts[i].what == FAILED && stop)
				break;
		}
	printf("1..%u\n# %u passed, %u failed, %u skipped\n", n, count[PASSED], count[FAILED],
	       count[SKIPPED]);
	if (json)
		e |= report_json(json, &t, verdicts, n);
	if (html)
		e |= report_html(html, spec, &t, verdicts, n);
	script_close(&t);
	if (!n)
		fprintf(stderr, "mroce-conform: no case is called so\n");
	return e || !n ? 2 : count[FAILED] ? 1 : 0;
}
