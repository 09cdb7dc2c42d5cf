// SPDX-License-Identifier: GPL-2.0
/* Verdicts as TAP, JSON and HTML; the last with the clauses of the specification, taken out of its text. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

static const char *const words[] = {
	[PASSED] = "passed", [FAILED] = "failed", [SKIPPED] = "skipped"};

void report_tap(const struct verdict *v, unsigned int n)
{
	if (v->what == SKIPPED)
		printf("ok %u - %s # SKIP %s\n", n, v->name, v->why);
	else
		printf("%sok %u - %s\n", v->what == FAILED ? "not " : "", n, v->name);
	if (v->what == FAILED)
		printf("# [%s] %s\n# but: %s\n", v->c->clauses, v->c->says, v->why);
	fflush(stdout);
}

static void escaped(FILE *f, const char *s, bool html)
{
	for (; s && *s; s++) {
		if (html && (*s == '<' || *s == '>' || *s == '&'))
			fputs(*s == '<' ? "&lt;" : *s == '>' ? "&gt;" : "&amp;", f);
		else if (!html && (*s == '"' || *s == '\\'))
			fprintf(f, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			fputc(' ', f);
		else
			fputc(*s, f);
	}
}

static FILE *opened(const char *file)
{
	FILE *f = fopen(file, "w");

	if (!f)
		fprintf(stderr, "mroce-conform: cannot write %s: %s\n", file, strerror(errno));
	return f;
}

static int closed(FILE *f, const char *file)
{
	if (!ferror(f) & !fclose(f))
		return 0;
	fprintf(stderr, "mroce-conform: cannot write %s\n", file);
	return 1;
}

int report_json(const char *file, const struct t *t, const struct verdict *v, unsigned int n)
{
	char address[64];
	FILE *f = opened(file);
	unsigned int i;

	if (!f)
		return 1;
	fprintf(f, "{\n \"target\": \"%s\", \"seed\": %" PRIu64 ", \"cases\": [\n",
		address_text(&t->target, address, sizeof(address)), t->seed);
	for (i = 0; i < n; i++) {
		fprintf(f,
			"  { \"name\": \"%s\", \"clauses\": \"%s\", \"verdict\": \"%s\", \"ms\": "
			"%" PRIu64 ", \"says\": \"",
			v[i].name, v[i].c->clauses, words[v[i].what], v[i].ms);
		escaped(f, v[i].c->says, false);
		fputs("\", \"why\": \"", f);
		escaped(f, v[i].why, false);
		fprintf(f, "\" }%s\n", i + 1 < n ? "," : "");
	}
	fputs(" ]\n}\n", f);
	return closed(f, file);
}

/* ---- the specification */

static char *slurp(const char *file)
{
	FILE *f = fopen(file, "r");
	char *text = NULL;
	long n;

	if (f && !fseek(f, 0, SEEK_END) && (n = ftell(f)) > 0) {
		rewind(f);
		text = calloc(1, n + 1);
		if (text && fread(text, 1, n, f) != (size_t)n) {
			free(text);
			text = NULL;
		}
	}
	if (f)
		fclose(f);
	return text;
}

/* A clause begins a paragraph with its label and ends with it */
static void clause(FILE *f, const char *text, const char *label)
{
	char begin[24];
	const char *at, *end;

	snprintf(begin, sizeof(begin), "\n[%.16s] ", label);
	at = text ? strstr(text, begin) : NULL;
	if (!at) {
		fprintf(f, "[%s]", label);
		return;
	}
	end = strstr(at + 1, "\n\n");
	if (!end)
		end = at + strlen(at);
	fputs("<details><summary>", f);
	fprintf(f, "[%s]</summary>", label);
	while (++at != end) {
		char one[2] = {*at, 0};

		if (*at == '`' || *at == '*')
			continue;
		escaped(f, one, true);
	}
	fputs("</details>", f);
}

int report_html(const char *file, const char *spec, const struct t *t, const struct verdict *v,
		unsigned int n)
{
	static const char *const colour[] = {
		[PASSED] = "#2a7", [FAILED] = "#c33", [SKIPPED] = "#888"};
	const struct chapter *chapter = NULL;
	char address[64], *text = slurp(spec), label[24];
	unsigned int i, count[3] = {0};
	FILE *f = opened(file);

	if (!f) {
		free(text);
		return 1;
	}
	if (!text)
		fprintf(stderr,
			"mroce-conform: no specification at %s: the report has its clauses' "
			"numbers only (--spec)\n",
			spec);
	for (i = 0; i < n; i++)
		count[v[i].what]++;
	fprintf(f,
		"<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>MetaRoCE "
		"conformance</title><style>"
		"body{font:15px/1.4 sans-serif;max-width:75em;margin:2em auto;padding:0 1em}"
		"table{border-collapse:collapse;width:100%%}td,th{border-top:1px solid "
		"#ccc;padding:.3em .5em;text-align:left;"
		"vertical-align:top}details{white-space:pre-wrap;font-size:90%%}code{font-size:90%%"
		"}</style>"
		"<h1>MetaRoCE, version 1: conformance of %s</h1>"
		"<p>%u cases: %u passed, %u failed, %u skipped. Seed %" PRIu64
		". Offered:%s.</p>\n",
		address_text(&t->target, address, sizeof(address)), n, count[PASSED], count[FAILED],
		count[SKIPPED], t->seed, t->caps);
	for (i = 0; i < n; i++) {
		const char *c = v[i].c->clauses;
		int used;

		if (v[i].chapter != chapter) {
			fprintf(f,
				"%s<h2>%s</h2><table><tr><th>verdict<th>case<th>what is "
				"judged<th>clauses\n",
				chapter ? "</table>" : "", v[i].chapter->title);
			chapter = v[i].chapter;
		}
		fprintf(f, "<tr><td style=\"color:%s\">%s<td><code>%s</code><td>",
			colour[v[i].what], words[v[i].what], v[i].name);
		escaped(f, v[i].c->says, true);
		if (v[i].why) {
			fputs("<br><b>", f);
			escaped(f, v[i].why, true);
			fputs("</b>", f);
		}
		fputs("<td>", f);
		for (; sscanf(c, "%23s%n", label, &used) == 1; c += used)
			clause(f, text, label);
		fputc('\n', f);
	}
	fputs("</table></html>\n", f);
	free(text);
	return closed(f, file);
}
