/* The way through a text: at every byte, what is found there decides whether it goes out, is hidden
 * by a mask, or has to wait. */
#include "mem.h"
#include "redact_priv.h"

#include <string.h>

#define PIECE ((size_t)128 * 1024) /* of a text that is there as a whole */

static const char *const rule_names[AR_REDACT_RULES] = {
	[AR_REDACT_NONE] = "none",
	[AR_REDACT_SECRET] = "secret",
	[AR_REDACT_ANTHROPIC_KEY] = "anthropic_key",
	[AR_REDACT_OPENAI_KEY] = "openai_key",
	[AR_REDACT_GITHUB_TOKEN] = "github_token",
	[AR_REDACT_GITLAB_TOKEN] = "gitlab_token",
	[AR_REDACT_SLACK_TOKEN] = "slack_token",
	[AR_REDACT_AWS_KEY] = "aws_key",
	[AR_REDACT_GOOGLE_KEY] = "google_key",
	[AR_REDACT_RUNTIME_TOKEN] = "runtime_token",
	[AR_REDACT_JWT] = "jwt",
	[AR_REDACT_PRIVATE_KEY] = "private_key",
	[AR_REDACT_URL_PASSWORD] = "url_password",
};

const char *ar_redact_rule_name(enum ar_redact_rule rule)
{
	return rule_names[rule];
}

struct ar_redactor *ar_redactor_new(bool with_shapes)
{
	struct ar_redactor *r = ar_new0(sizeof(*r));

	r->with_shapes = with_shapes;
	if (with_shapes)
		ar_shapes_start(r);
	return r;
}

void ar_redactor_free(struct ar_redactor *r)
{
	if (!r)
		return;
	ar_forms_free(r);
	ar_free(r);
}

/* ---- one byte ---- */

/* Hides the next bytes; one mask stands for all that overlap. */
static void cover(struct ar_redact_stream *s, enum ar_redact_rule rule, size_t len)
{
	if (s->covered == 0) {
		s->due = rule;
		s->counts.by[rule]++;
	}
	if (len > s->covered)
		s->covered = len;
}

static bool goes_on(struct ar_redact_stream *s, const struct ar_rest *rest, bool *ret_waits)
{
	bool is_over;
	struct ar_found more = ar_shapes_swallow(s->swallow, rest, &is_over);

	*ret_waits = more.kind == AR_FOUND_MAYBE;
	if (more.kind == AR_FOUND_SECRET)
		s->covered = more.len;
	if (is_over || more.kind == AR_FOUND_NOTHING)
		s->swallow = 0;
	return more.kind == AR_FOUND_SECRET;
}

/* A token of known shape that begins here, or goes on. False: not known yet. */
static bool look_for_shape(struct ar_redact_stream *s, const struct ar_rest *rest)
{
	struct ar_found found;
	bool waits;

	if (s->swallow && (goes_on(s, rest, &waits) || waits))
		return !waits;
	if (!(s->redactor->starts[(unsigned char)*rest->text.p] & AR_STARTS_SHAPE))
		return true;
	found = ar_shapes_find(rest);
	if (found.kind == AR_FOUND_MAYBE)
		return false;
	if (found.kind == AR_FOUND_NOTHING)
		return true;
	s->swallow = found.swallow;
	if (found.skip == 0) {
		cover(s, found.rule, found.len);
		return true;
	}
	s->later = found.skip + 1; /* this byte counts itself off */
	s->later_len = found.len;
	return true;
}

/* False: whether `rest` begins with a secret is not known before more bytes come. */
static bool match_secrets(struct ar_redact_stream *s, const struct ar_rest *rest)
{
	const struct ar_redactor *r = s->redactor;
	struct ar_found known = { 0 };

	if (r->starts[(unsigned char)*rest->text.p] & AR_STARTS_FORM)
		known = ar_forms_find(r, rest);
	if (known.kind == AR_FOUND_MAYBE)
		return false;
	if (known.kind == AR_FOUND_SECRET)
		cover(s, known.rule, known.len);
	if (r->with_shapes && s->covered == 0 && s->later != 1 && !look_for_shape(s, rest))
		return false;
	if (s->later > 0 && --s->later == 0)
		cover(s, AR_REDACT_URL_PASSWORD, s->later_len);
	return true;
}

static bool is_plain(const struct ar_redact_stream *s, char c)
{
	return !s->redactor->starts[(unsigned char)c] && !s->swallow && !s->later && !s->covered;
}

/* What was passed goes out, then the mask that is due; the byte at `at` is hidden. Gives
 * where the next run begins. */
static size_t hide(struct ar_redact_stream *s, size_t sent, size_t at)
{
	ar_buf_add(&s->out, s->held.p + sent, at - sent);
	if (s->due)
		ar_buf_addf(&s->out, "[redacted:%s]", rule_names[s->due]);
	s->due = AR_REDACT_NONE;
	s->covered--;
	return at + 1;
}

/* Everything that can be decided leaves `held`; the rest stays. */
static void advance(struct ar_redact_stream *s, bool is_last)
{
	const char *p = s->held.p;
	size_t at = 0, sent = 0;

	if (s->held.len == 0)
		return;
	for (; at < s->held.len; at++) {
		struct ar_rest rest = { { p + at, s->held.len - at }, s->before, is_last };

		if (!is_plain(s, p[at])) {
			if (!match_secrets(s, &rest))
				break;
			if (s->covered > 0)
				sent = hide(s, sent, at);
		}
		s->before[1] = s->before[0];
		s->before[0] = (unsigned char)p[at];
	}
	ar_buf_add(&s->out, p + sent, at - sent);
	ar_buf_eat(&s->held, at);
}

struct ar_str ar_redact_feed(struct ar_redact_stream *s, struct ar_str piece)
{
	ar_buf_clear(&s->out);
	ar_buf_adds(&s->held, piece);
	advance(s, false);
	return ar_buf_str(&s->out);
}

struct ar_str ar_redact_end(struct ar_redact_stream *s)
{
	ar_buf_clear(&s->out);
	advance(s, true);
	s->before[0] = s->before[1] = 0;
	s->covered = s->later = 0;
	s->swallow = 0;
	return ar_buf_str(&s->out);
}

void ar_redact_stream_fini(struct ar_redact_stream *s)
{
	ar_buf_fini(&s->held);
	ar_buf_fini(&s->out);
}

/* ---- one text ---- */

static enum ar_redact_rule rule_of(struct ar_str name)
{
	for (size_t i = 1; i < AR_REDACT_RULES; i++) {
		if (ar_str_is(name, rule_names[i]))
			return (enum ar_redact_rule)i;
	}
	return AR_REDACT_NONE;
}

void ar_redact_count_masks(struct ar_str text, struct ar_redact_counts *counts)
{
	struct ar_str before, name;

	while (!ar_str_absent(text = ar_str_split(text, '[', &before))) {
		if (!ar_str_starts(text, AR_STR("redacted:")))
			continue;
		ar_str_split(ar_str_sub(text, strlen("redacted:"), text.len), ']', &name);
		if (rule_of(name))
			counts->by[rule_of(name)]++;
	}
}

static int64_t total(const struct ar_redact_counts *c)
{
	int64_t n = 0;

	for (size_t i = 0; i < AR_REDACT_RULES; i++)
		n += c->by[i];
	return n;
}

/* A text whose secrets go. Until the first is found, what came out is how the text begins: a long text
 * without any is not held a second time. */
struct masking {
	struct ar_str text;
	size_t same; /* bytes that came out as they are */
	struct ar_buf masked; /* from the first secret on: all that came out */
	bool has_secret;
};

static void take_out(struct masking *m, struct ar_str out, const struct ar_redact_counts *counts)
{
	if (!m->has_secret && total(counts) == 0) {
		m->same += out.len;
		return;
	}
	if (!m->has_secret)
		ar_buf_add(&m->masked, m->text.p, m->same);
	m->has_secret = true;
	ar_buf_adds(&m->masked, out);
}

struct ar_str ar_redact(const struct ar_redactor *r, struct ar_str text, struct ar_arena *a,
			struct ar_redact_counts *counts)
{
	struct ar_redact_stream s = { .redactor = r };
	struct masking m = { .text = text };
	struct ar_str masked = text;

	if (!r || ar_str_empty(text))
		return text;
	for (size_t at = 0; at < text.len; at += PIECE)
		take_out(&m, ar_redact_feed(&s, ar_str_sub(text, at, PIECE)), &s.counts);
	take_out(&m, ar_redact_end(&s), &s.counts);
	if (m.has_secret)
		masked = ar_arena_str(a, ar_buf_str(&m.masked));
	for (size_t i = 0; i < AR_REDACT_RULES; i++)
		counts->by[i] += s.counts.by[i];
	ar_buf_fini(&m.masked);
	ar_redact_stream_fini(&s);
	return masked;
}
