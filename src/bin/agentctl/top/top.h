/* `agentctl top`, in parts: what the daemon says now (sample.c), how it looks (table.c, report.c), one look
 * after the other as lines (lines.c), and the page on a terminal with its keys (live.c). One thread. */
#ifndef AR_CTL_TOP_H
#define AR_CTL_TOP_H

#include "api.h"

/* Metrics that are shown; sums over all their series. */
enum ar_top_metric {
	AR_TOP_SESSIONS,
	AR_TOP_RUNNING,
	AR_TOP_QUEUED,
	AR_TOP_ASKING,
	AR_TOP_STREAMS,
	AR_TOP_LAG,
	AR_TOP_CONNECTIONS,
	AR_TOP_STORE_WAITING,
	AR_TOP_MEMORY,
	AR_TOP_FILES,
	AR_TOP_COST,
	AR_TOP_FIRST_RATE, /* from here on what counts is the change per second */
	AR_TOP_TURNS = AR_TOP_FIRST_RATE,
	AR_TOP_COMMANDS,
	AR_TOP_FACTS,
	AR_TOP_TOKENS,
	AR_TOP_COMMITS,
	AR_TOP_COMMIT_SECONDS,
	AR_TOP_CPU,
	AR_TOP_METRICS
};

extern const char *const ar_top_keys[AR_TOP_METRICS]; /* their names in --json */

struct ar_top_counts {
	ar_usec at; /* monotonic */
	double values[AR_TOP_METRICS];
};

struct ar_top_row {
	struct ar_str session, title, status, currency;
	int64_t turns, queued, waits, tokens;
	double cost;
	ar_usec updated;
};

#define AR_TOP_ROWS 1000

/* One look at the daemon. Text is in the arena. */
struct ar_top {
	struct ar_arena arena;
	struct ar_top_counts before, now;
	struct ar_top_row *rows;
	size_t count;
	ar_usec wall;
};

/* ---- sample.c ---- */

/* Reads the metrics; false: what is wrong was said. */
AR_MUST_USE enum ar_exit ar_top_count(struct ar_ctl *c, struct ar_top_counts *ret);

/* Reads metrics and lists; what was there before becomes `before`. Needs no memory of the invocation. */
AR_MUST_USE enum ar_exit ar_top_look(struct ar_ctl *c, struct ar_top *t);
void ar_top_fini(struct ar_top *t);

/* Change per second between the two looks; 0 without an earlier one. */
double ar_top_rate(const struct ar_top *t, enum ar_top_metric m);

/* ---- table.c ---- */

enum ar_top_sort {
	AR_TOP_BY_ACTIVITY, /* running and waiting first, then the latest change */
	AR_TOP_BY_UPDATED,
	AR_TOP_BY_COST,
	AR_TOP_BY_TOKENS,
	AR_TOP_BY_TURNS,
	AR_TOP_BY_WAITS,
	AR_TOP_BY_TITLE,
	AR_TOP_SORTS
};

extern const char *const ar_top_sort_names[AR_TOP_SORTS];

void ar_top_sort(struct ar_top *t, enum ar_top_sort by);

/* Lines of at most `width` columns, at most `height` of them (0: as many as there are). */
struct ar_top_view {
	int width, height;
	bool has_choice; /* the row of `chosen` is marked, and in sight */
	size_t chosen;
};
void ar_top_draw(struct ar_out *o, const struct ar_top *t, const struct ar_top_view *v);

/* ---- report.c ---- */

void ar_top_report(struct ar_ctl *c, const struct ar_top *t); /* one line of JSON */

/* ---- lines.c ---- */

struct ar_top_options {
	enum ar_top_sort by;
	ar_usec interval;
	bool is_once;
};

/* Looks and draws until q, Ctrl-C, or once. */
enum ar_exit ar_top_run(struct ar_ctl *c, const struct ar_top_options *o);

/* ---- live.c ---- */

/* The same as a page, for a terminal; `t` has its first counts. */
AR_MUST_USE enum ar_exit ar_top_live(struct ar_ctl *c, const struct ar_top_options *o, struct ar_top *t);

#endif
