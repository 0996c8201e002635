/* See metric.h. A series is one combination of labels; a metric without labels has one from the start, so
 * that it is scraped as 0. */
#include "metric.h"
#include "map.h"
#include "mem.h"

#include <inttypes.h>
#include <string.h>

struct ar_metric_series {
	struct ar_metric_series *next; /* in order of appearance */
	const struct ar_metric_desc *desc;
	char key[AR_METRIC_LABELS *
		 (AR_METRIC_VALUE_MAX + 1)]; /* values of the labels, a zero byte between them */
	struct ar_str labels[AR_METRIC_LABELS]; /* in key */
	int64_t value; /* of a histogram: the sum */
	uint64_t counts[]; /* of a histogram: values in each bucket, the endless one last */
};

struct metric {
	struct ar_map by_key; /* of a metric with labels */
	struct ar_metric_series *first, **end;
	size_t count;
};

struct ar_metrics {
	const struct ar_metric_desc *descs;
	size_t count;
	struct metric metrics[];
};

static struct ar_str cut(struct ar_str value)
{
	return ar_str_utf8_prefix(value, AR_METRIC_VALUE_MAX);
}

static struct ar_str write_key(char *key, struct ar_str a, struct ar_str b)
{
	a = cut(a);
	b = cut(b);
	if (a.len)
		memcpy(key, a.p, a.len);
	key[a.len] = '\0';
	if (b.len)
		memcpy(key + a.len + 1, b.p, b.len);
	return (struct ar_str){ key, a.len + 1 + b.len };
}

static struct ar_metric_series *add_series(const struct ar_metric_desc *d, struct metric *m, struct ar_str a,
					   struct ar_str b)
{
	struct ar_metric_series *s = ar_new0(sizeof(*s) + (d->bucket_count + 1) * sizeof(s->counts[0]));
	struct ar_str key = write_key(s->key, a, b);

	s->desc = d;
	s->labels[0] = ar_str_sub(key, 0, cut(a).len);
	s->labels[1] = ar_str_sub(key, s->labels[0].len + 1, key.len);
	if (d->labels[0])
		ar_map_put(&m->by_key, key, s);
	*m->end = s;
	m->end = &s->next;
	m->count++;
	return s;
}

static struct ar_metric_series *find_series(const struct metric *m, const struct ar_metric_desc *d,
					    struct ar_str a, struct ar_str b)
{
	char key[sizeof(m->first->key)];

	return d->labels[0] ? ar_map_get(&m->by_key, write_key(key, a, b)) : m->first;
}

static struct ar_metric_series *get_series(struct ar_metrics *all, unsigned metric, struct ar_str a,
					   struct ar_str b)
{
	const struct ar_metric_desc *d = &all->descs[metric];
	struct metric *m = &all->metrics[metric];
	struct ar_metric_series *s = find_series(m, d, a, b);

	if (s || m->count < AR_METRIC_SERIES)
		return s ? s : add_series(d, m, a, b);
	a = AR_STR("other");
	b = d->labels[1] ? a : AR_STR_NONE;
	s = find_series(m, d, a, b);
	return s ? s : add_series(d, m, a, b);
}

struct ar_metrics *ar_metrics_new(const struct ar_metric_desc *descs, size_t count)
{
	struct ar_metrics *all = ar_new0(sizeof(*all) + count * sizeof(all->metrics[0]));

	all->descs = descs;
	all->count = count;
	for (size_t i = 0; i < count; i++) {
		all->metrics[i].end = &all->metrics[i].first;
		if (!descs[i].labels[0])
			add_series(&descs[i], &all->metrics[i], AR_STR_NONE, AR_STR_NONE);
	}
	return all;
}

void ar_metrics_free(struct ar_metrics *all)
{
	struct ar_metric_series *next;

	if (!all)
		return;
	for (size_t i = 0; i < all->count; i++) {
		for (struct ar_metric_series *s = all->metrics[i].first; s; s = next) {
			next = s->next;
			ar_free(s);
		}
		ar_map_fini(&all->metrics[i].by_key);
	}
	ar_free(all);
}

/* ---- observing ---- */

void ar_metric_add(struct ar_metrics *m, unsigned metric, struct ar_str a, struct ar_str b, int64_t n)
{
	if (m)
		get_series(m, metric, a, b)->value += n;
}

void ar_metric_set(struct ar_metrics *m, unsigned metric, struct ar_str a, struct ar_str b, int64_t value)
{
	if (m)
		get_series(m, metric, a, b)->value = value;
}

void ar_metric_observe(struct ar_metrics *m, unsigned metric, struct ar_str a, int64_t value)
{
	if (m)
		ar_metric_series_observe(get_series(m, metric, a, AR_STR_NONE), value);
}

struct ar_metric_series *ar_metric_find(struct ar_metrics *m, unsigned metric, struct ar_str a,
					struct ar_str b)
{
	return m ? get_series(m, metric, a, b) : NULL;
}

void ar_metric_series_add(struct ar_metric_series *s, int64_t n)
{
	if (s)
		s->value += n;
}

void ar_metric_series_observe(struct ar_metric_series *s, int64_t value)
{
	size_t i = 0;

	if (!s)
		return;
	while (i < s->desc->bucket_count && value > s->desc->buckets[i])
		i++;
	s->counts[i]++;
	s->value += value;
}

void ar_metric_replace(struct ar_metrics *m, unsigned metric, const uint64_t *counts, int64_t sum)
{
	struct ar_metric_series *s;

	if (!m)
		return;
	s = get_series(m, metric, AR_STR_NONE, AR_STR_NONE);
	memcpy(s->counts, counts, (m->descs[metric].bucket_count + 1) * sizeof(*counts));
	s->value = sum;
}

static uint64_t total_of(const struct ar_metric_desc *d, const struct ar_metric_series *s)
{
	uint64_t total = 0;

	for (size_t i = 0; i <= d->bucket_count; i++)
		total += s->counts[i];
	return total;
}

int64_t ar_metric_value(const struct ar_metrics *m, unsigned metric, struct ar_str a, struct ar_str b)
{
	const struct ar_metric_desc *d = m ? &m->descs[metric] : NULL;
	const struct ar_metric_series *s = m ? find_series(&m->metrics[metric], d, a, b) : NULL;

	if (!s)
		return 0;
	return d->kind == AR_METRIC_HISTOGRAM ? (int64_t)total_of(d, s) : s->value;
}

void ar_metrics_each(const struct ar_metrics *m, void (*each)(void *arg, const struct ar_metric_point *p),
		     void *arg)
{
	for (size_t i = 0; m && i < m->count; i++) {
		for (const struct ar_metric_series *s = m->metrics[i].first; s; s = s->next)
			each(arg, &(struct ar_metric_point){ &m->descs[i], s->labels, s->value, s->counts });
	}
}

/* ---- rendering ---- */

static void add_escaped(struct ar_buf *out, struct ar_str text, bool is_label)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] == '\n')
			ar_buf_addz(out, "\\n");
		else if (text.p[i] == '\\' || (is_label && text.p[i] == '"'))
			ar_buf_addf(out, "\\%c", text.p[i]);
		else
			ar_buf_addc(out, text.p[i]);
	}
}

/* Exact: no floating point stands between what was counted and what is shown. */
static void add_value(struct ar_buf *out, int64_t value, int64_t scale)
{
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, unit = (uint64_t)scale;
	uint64_t rest = size % unit;

	ar_buf_addf(out, "%s%" PRIu64, value < 0 ? "-" : "", size / unit);
	if (rest)
		ar_buf_addc(out, '.');
	for (unit /= 10; rest; unit /= 10) {
		ar_buf_addc(out, (char)('0' + rest / unit));
		rest %= unit;
	}
}

/* name{labels,le} and the space behind it; `suffix` and `le` may be NULL. */
static void add_name(struct ar_buf *out, const struct ar_metric_desc *d, const struct ar_metric_series *s,
		     const char *suffix, const char *le)
{
	const char *before = "{";

	ar_buf_addz(out, d->name);
	ar_buf_addz(out, suffix ? suffix : "");
	for (size_t i = 0; i < AR_METRIC_LABELS && d->labels[i]; i++) {
		ar_buf_addz(out, before);
		ar_buf_addz(out, d->labels[i]);
		ar_buf_addz(out, "=\"");
		add_escaped(out, s->labels[i], true);
		ar_buf_addc(out, '"');
		before = ",";
	}
	if (le) {
		ar_buf_addz(out, before);
		ar_buf_addz(out, "le=\"");
		ar_buf_addz(out, le);
		ar_buf_addc(out, '"');
	}
	ar_buf_addz(out, le || d->labels[0] ? "} " : " ");
}

static void render_histogram(struct ar_buf *out, const struct ar_metric_desc *d,
			     const struct ar_metric_series *s)
{
	uint64_t count = 0;

	for (size_t i = 0; i <= d->bucket_count; i++) {
		struct ar_buf le = { 0 };

		if (i < d->bucket_count)
			add_value(&le, d->buckets[i], d->scale);
		else
			ar_buf_addz(&le, "+Inf");
		ar_buf_addc(&le, '\0');
		count += s->counts[i];
		add_name(out, d, s, "_bucket", le.p);
		ar_buf_addf(out, "%" PRIu64 "\n", count);
		ar_buf_fini(&le);
	}
	add_name(out, d, s, "_sum", NULL);
	add_value(out, s->value, d->scale);
	ar_buf_addc(out, '\n');
	add_name(out, d, s, "_count", NULL);
	ar_buf_addf(out, "%" PRIu64 "\n", count);
}

static void render_metric(struct ar_buf *out, const struct ar_metric_desc *d, const struct metric *m)
{
	static const char *const kinds[] = { [AR_METRIC_COUNTER] = "counter",
					     [AR_METRIC_GAUGE] = "gauge",
					     [AR_METRIC_HISTOGRAM] = "histogram" };

	ar_buf_addz(out, "# HELP ");
	ar_buf_addz(out, d->name);
	ar_buf_addc(out, ' ');
	add_escaped(out, ar_str_from(d->help), false);
	ar_buf_addf(out, "\n# TYPE %s %s\n", d->name, kinds[d->kind]);
	for (const struct ar_metric_series *s = m->first; s; s = s->next) {
		if (d->kind == AR_METRIC_HISTOGRAM) {
			render_histogram(out, d, s);
			continue;
		}
		add_name(out, d, s, NULL, NULL);
		add_value(out, s->value, d->scale);
		ar_buf_addc(out, '\n');
	}
}

void ar_metrics_render(const struct ar_metrics *m, struct ar_buf *out)
{
	for (size_t i = 0; m && i < m->count; i++)
		render_metric(out, &m->descs[i], &m->metrics[i]);
}
