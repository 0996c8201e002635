/* The metrics of src/metric as messages; see encode.h. Names and units are those of the scraped ones, so that
 * one dashboard reads both. */
#include "encode.h"
#include "proto.h"
#include "status.h"

#include <string.h>

#define NANO 1000

enum { SCOPE_RECORDS = 2, METRIC_NAME = 1, METRIC_HELP = 2, METRIC_GAUGE = 5, METRIC_SUM = 7 };
enum { METRIC_HISTOGRAM = 9, POINTS = 1, TEMPORALITY = 2, IS_MONOTONIC = 3, CUMULATIVE = 2 };
enum { POINT_START = 2, POINT_TIME = 3, POINT_DOUBLE = 4, POINT_INT = 6, POINT_ATTRIBUTES = 7 };
enum {
	HISTOGRAM_COUNT = 4,
	HISTOGRAM_SUM = 5,
	HISTOGRAM_COUNTS = 6,
	HISTOGRAM_BOUNDS = 7,
	HISTOGRAM_ATTRIBUTES = 9
};
enum { KEY = 1, VALUE = 2, VALUE_TEXT = 1 };

struct metrics {
	struct ar_buf *out;
	const struct ar_metric_desc *open; /* the metric whose points are being written; NULL: none */
	size_t metric, list; /* marks of its messages */
	size_t count;
	uint64_t start, now;
};

static void close_metric(struct metrics *m)
{
	if (!m->open)
		return;
	ar_proto_close(m->out, m->list);
	ar_proto_close(m->out, m->metric);
	m->open = NULL;
}

static void open_metric(struct metrics *m, const struct ar_metric_desc *d)
{
	static const unsigned fields[] = { [AR_METRIC_COUNTER] = METRIC_SUM,
					   [AR_METRIC_GAUGE] = METRIC_GAUGE,
					   [AR_METRIC_HISTOGRAM] = METRIC_HISTOGRAM };

	m->open = d;
	m->metric = ar_proto_open(m->out, SCOPE_RECORDS);
	ar_proto_text(m->out, METRIC_NAME, ar_str_from(d->name));
	ar_proto_text(m->out, METRIC_HELP, ar_str_from(d->help));
	m->list = ar_proto_open(m->out, fields[d->kind]);
	if (d->kind != AR_METRIC_GAUGE)
		ar_proto_uint(m->out, TEMPORALITY, CUMULATIVE);
	if (d->kind == AR_METRIC_COUNTER)
		ar_proto_uint(m->out, IS_MONOTONIC, 1);
}

static void add_labels(struct ar_buf *out, unsigned field, const struct ar_metric_point *p)
{
	for (size_t i = 0; i < AR_METRIC_LABELS && p->desc->labels[i]; i++) {
		size_t pair = ar_proto_open(out, field), value;

		ar_proto_text(out, KEY, ar_str_from(p->desc->labels[i]));
		value = ar_proto_open(out, VALUE);
		ar_proto_text(out, VALUE_TEXT, p->labels[i]);
		ar_proto_close(out, value);
		ar_proto_close(out, pair);
	}
}

static void add_number(struct metrics *m, const struct ar_metric_point *p)
{
	if (p->desc->kind == AR_METRIC_COUNTER)
		ar_proto_fixed64(m->out, POINT_START, m->start);
	ar_proto_fixed64(m->out, POINT_TIME, m->now);
	if (p->desc->scale == 1)
		ar_proto_fixed64(m->out, POINT_INT, (uint64_t)p->value);
	else
		ar_proto_double(m->out, POINT_DOUBLE, (double)p->value / (double)p->desc->scale);
	add_labels(m->out, POINT_ATTRIBUTES, p);
}

static void add_eight(struct ar_buf *out, uint64_t value)
{
	char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(value >> (8 * i));
	ar_buf_add(out, bytes, sizeof(bytes));
}

static void add_histogram(struct metrics *m, const struct ar_metric_point *p)
{
	const struct ar_metric_desc *d = p->desc;
	uint64_t total = 0, bits;
	double bound;

	ar_proto_fixed64(m->out, POINT_START, m->start);
	ar_proto_fixed64(m->out, POINT_TIME, m->now);
	for (size_t i = 0; i <= d->bucket_count; i++)
		total += p->counts[i];
	ar_proto_fixed64(m->out, HISTOGRAM_COUNT, total);
	ar_proto_double(m->out, HISTOGRAM_SUM, (double)p->value / (double)d->scale);
	ar_proto_head(m->out, HISTOGRAM_COUNTS, (d->bucket_count + 1) * 8);
	for (size_t i = 0; i <= d->bucket_count; i++)
		add_eight(m->out, p->counts[i]);
	ar_proto_head(m->out, HISTOGRAM_BOUNDS, d->bucket_count * 8);
	for (size_t i = 0; i < d->bucket_count; i++) {
		bound = (double)d->buckets[i] / (double)d->scale;
		memcpy(&bits, &bound, sizeof(bits));
		add_eight(m->out, bits);
	}
	add_labels(m->out, HISTOGRAM_ATTRIBUTES, p);
}

static void add_point(void *arg, const struct ar_metric_point *p)
{
	struct metrics *m = arg;
	size_t mark;

	if (m->open != p->desc) {
		close_metric(m);
		open_metric(m, p->desc);
	}
	mark = ar_proto_open(m->out, POINTS);
	if (p->desc->kind == AR_METRIC_HISTOGRAM)
		add_histogram(m, p);
	else
		add_number(m, p);
	ar_proto_close(m->out, mark);
	m->count++;
}

size_t ar_otlp_metrics(struct ar_buf *out, const struct ar_metrics *m, ar_usec start, ar_usec now)
{
	struct metrics all = { .out = out, .start = (uint64_t)start * NANO, .now = (uint64_t)now * NANO };

	ar_metrics_each(m, add_point, &all);
	close_metric(&all);
	return all.count;
}
