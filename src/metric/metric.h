/* Counters, gauges and histograms of one thread, described by a table, and their text for a scraper. An
 * observation takes no lock and, but for the first one of a combination of labels, no memory. What is
 * counted, and when, is others' business.
 *
 * Values are whole numbers: `scale` of them make one of the unit that is shown, so that seconds are held as
 * microseconds. Every function takes NULL for the metrics and then does nothing. Owner: one thread. */
#ifndef AR_METRIC_METRIC_H
#define AR_METRIC_METRIC_H

#include "buf.h"

#define AR_METRIC_LABELS 2
#define AR_METRIC_SERIES \
	512 /* combinations of labels of one metric; those that come later are one, "other" */
#define AR_METRIC_VALUE_MAX 64 /* bytes of a label's value; more is cut */

enum ar_metric_kind { AR_METRIC_COUNTER = 1, AR_METRIC_GAUGE, AR_METRIC_HISTOGRAM };

struct ar_metric_desc {
	const char *name; /* as it is scraped */
	const char *help;
	enum ar_metric_kind kind;
	int64_t scale;
	const char *labels[AR_METRIC_LABELS]; /* NULL behind the last */
	const int64_t *buckets; /* of a histogram: upper bounds, rising, without the endless one */
	size_t bucket_count;
};

struct ar_metrics;

AR_BEGIN_DECLS

/* The table is borrowed. */
struct ar_metrics *ar_metrics_new(const struct ar_metric_desc *descs, size_t count);
void ar_metrics_free(struct ar_metrics *m);

/* Adds to a counter or a gauge; `a` and `b` are the values of its labels, absent where it has none. */
void ar_metric_add(struct ar_metrics *m, unsigned metric, struct ar_str a, struct ar_str b, int64_t n);

/* Sets a gauge, or a counter whose value is counted elsewhere. */
void ar_metric_set(struct ar_metrics *m, unsigned metric, struct ar_str a, struct ar_str b, int64_t value);

/* One more value of a histogram with at most one label. */
void ar_metric_observe(struct ar_metrics *m, unsigned metric, struct ar_str a, int64_t value);

/* One series, found once for what is counted often; lives as long as the metrics. Over the limit of series it
 * is that of "other". NULL when there are no metrics. */
struct ar_metric_series;
struct ar_metric_series *ar_metric_find(struct ar_metrics *m, unsigned metric, struct ar_str a,
					struct ar_str b);
void ar_metric_series_add(struct ar_metric_series *s, int64_t n); /* of a counter or a gauge */
void ar_metric_series_observe(struct ar_metric_series *s, int64_t value); /* of a histogram */

/* Several values at once, counted elsewhere: counts[i] of those in bucket i (the last one is the endless
 * bucket), and their sum. Replaces what was there. */
void ar_metric_replace(struct ar_metrics *m, unsigned metric, const uint64_t *counts, int64_t sum);

/* The value of a counter or gauge, or how many values a histogram has; 0 when there was none. */
int64_t ar_metric_value(const struct ar_metrics *m, unsigned metric, struct ar_str a, struct ar_str b);

/* One series as it is now. */
struct ar_metric_point {
	const struct ar_metric_desc *desc;
	const struct ar_str *labels; /* values, as many as the description has names */
	int64_t value; /* of a histogram: the sum */
	const uint64_t *counts; /* of a histogram: values in each bucket, the endless one last */
};

/* All series, those of one metric together. */
void ar_metrics_each(const struct ar_metrics *m, void (*each)(void *arg, const struct ar_metric_point *p),
		     void *arg);

/* Everything as text format 0.0.4 of Prometheus. A metric with labels that nothing was counted for has its
 * HELP and TYPE only. */
void ar_metrics_render(const struct ar_metrics *m, struct ar_buf *out);

AR_END_DECLS

#endif
