/* See outcome.h. Nothing of an answer is believed that a right one could not say. */
#include "outcome.h"

#include "artifacts.h"

#include <string.h>

#define CHANGES_MAX 10000

static const struct {
	const char *category;
	enum ar_status status;
} statuses[] = {
	{ "unavailable", AR_E_UNAVAILABLE }, { "not_configured", AR_E_UNAVAILABLE },
	{ "too_large", AR_E_LIMIT },	     { "not_found", AR_E_NOT_FOUND },
	{ "timeout", AR_E_TIMEOUT },	     { "invalid_arguments", AR_E_INVALID },
};

static enum ar_status status_of(struct ar_str category)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(statuses); i++) {
		if (ar_str_is(category, statuses[i].category))
			return statuses[i].status;
	}
	return AR_E_IO;
}

static struct ar_str text_member(struct ar_json v, const char *name)
{
	struct ar_str s = AR_STR_NONE;

	ar_json_str(ar_json_get(v, name), &s);
	return s;
}

static bool is_id(struct ar_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!memchr("0123456789abcdef", text.p[i], 16))
			return false;
	}
	return text.len > 0 && text.len <= AR_CHECKPOINT_ID_MAX;
}

static bool read_count(struct ar_json v, const char *name, int64_t *ret)
{
	return ar_json_i64(ar_json_get(v, name), ret) && *ret >= 0;
}

static bool is_change(struct ar_str word)
{
	return ar_str_is(word, "added") || ar_str_is(word, "changed") || ar_str_is(word, "deleted");
}

/* Written again, so that it has no other member. */
static bool read_changes(struct ar_json v, struct ar_arena *a, struct ar_str *ret)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	struct ar_jw j = ar_jw(&out);
	size_t count = 0;

	if (ar_json_type(v) != AR_JSON_ARRAY)
		return false;
	ar_jw_open_array(&j);
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		struct ar_str path = text_member(it.value, "path"), change = text_member(it.value, "change");

		if (ar_str_empty(path) || !is_change(change) || ++count > CHANGES_MAX)
			return false;
		ar_jw_open(&j);
		ar_jw_mstr(&j, "path", path);
		ar_jw_mstr(&j, "change", change);
		ar_jw_close(&j);
	}
	ar_jw_close_array(&j);
	*ret = ar_arena_str(a, ar_buf_str(&out));
	return true;
}

/* Absent: there are none. */
static bool read_conflicts(struct ar_json v, struct ar_arena *a, struct ar_str *ret)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	struct ar_jw j = ar_jw(&out);
	struct ar_str path;
	size_t count = 0;

	if (ar_json_type(v) != AR_JSON_ARRAY)
		return true;
	ar_jw_open_array(&j);
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		if (!ar_json_str(it.value, &path) || path.len == 0 || ++count > CHANGES_MAX)
			return false;
		ar_jw_str(&j, path);
	}
	ar_jw_close_array(&j);
	*ret = ar_arena_str(a, ar_buf_str(&out));
	return count > 0;
}

/* A merge has conflicts, or a state before and a next base. */
static bool read_merge(struct ar_json c, struct ar_arena *a, struct ar_checkpoint_result *r)
{
	r->base = text_member(c, "base");
	return read_conflicts(ar_json_get(c, "conflicts"), a, &r->conflicts) &&
	       (!ar_str_absent(r->conflicts) || (is_id(r->id) && is_id(r->base)));
}

/* What the kind of run must bring; of a restore also when it did not do all. */
static bool read_members(enum ar_checkpoint_kind kind, struct ar_json v, struct ar_arena *a,
			 struct ar_checkpoint_result *r)
{
	struct ar_json c = ar_json_get(v, "checkpoint");
	bool has_id =
		kind == AR_CHECKPOINT_SAVE || kind == AR_CHECKPOINT_RESTORE || kind == AR_CHECKPOINT_FILL;
	bool has_changes =
		kind == AR_CHECKPOINT_RESTORE || kind == AR_CHECKPOINT_DIFF || kind == AR_CHECKPOINT_MERGE;

	r->id = text_member(c, "id");
	r->diff = kind == AR_CHECKPOINT_DIFF ? text_member(c, "diff") : AR_STR_NONE;
	ar_json_bool(ar_json_get(c, "isCut"), &r->is_cut);
	if (kind == AR_CHECKPOINT_SAVE && read_count(c, "changed", &r->changed))
		r->artifacts = ar_contained_artifacts(a, ar_json_get(v, "versions"), &r->artifact_count);
	r->is_shared = ar_str_is(text_member(c, "method"), "reflink");
	return read_count(c, "files", &r->files) && read_count(c, "bytes", &r->bytes) &&
	       read_count(c, "leftOut", &r->left_out) && (!has_id || is_id(r->id)) &&
	       (kind != AR_CHECKPOINT_DIFF ||
		(!ar_str_absent(r->diff) && r->diff.len <= AR_CHECKPOINT_DIFF_MAX)) &&
	       (kind != AR_CHECKPOINT_MERGE || read_merge(c, a, r)) &&
	       (!has_changes || read_changes(ar_json_get(v, "changes"), a, &r->changes));
}

static void fail(struct ar_checkpoint_result *r, enum ar_status status, struct ar_str message)
{
	*r = (struct ar_checkpoint_result){ .status = status, .message = message };
}

static void read_failure(enum ar_checkpoint_kind kind, struct ar_json v, struct ar_arena *a,
			 struct ar_checkpoint_result *r)
{
	struct ar_str message = text_member(v, "message"), advice = text_member(v, "advice");
	enum ar_status status = status_of(text_member(v, "category"));

	if (ar_str_empty(message))
		message = AR_STR("The files could not be saved or restored.");
	if (ar_json_type(ar_json_get(v, "checkpoint")) != AR_JSON_OBJECT || !read_members(kind, v, a, r))
		*r = (struct ar_checkpoint_result){ 0 };
	r->status = status;
	r->message = ar_arena_fmt(a, "%.*s %.*s", AR_STR_ARG(message), AR_STR_ARG(advice));
}

static void read_usage(struct ar_json v, struct ar_checkpoint_result *r)
{
	struct ar_json usage = ar_json_get(v, "usage");

	r->is_measured = read_count(usage, "bytes", &r->used);
	r->used = r->is_measured ? r->used : 0;
	ar_json_bool(ar_json_get(usage, "isPartial"), &r->is_partial);
}

static void read_output(enum ar_checkpoint_kind kind, const struct ar_contained_end *end,
			struct ar_json_parser *parser, struct ar_arena *a, struct ar_checkpoint_result *r)
{
	struct ar_json v = { 0 };
	int64_t outcome = 0;

	if (end->is_cut || ar_json_parse(parser, end->output, &v, NULL) != AR_OK ||
	    !ar_json_i64(ar_json_get(v, "outcome"), &outcome))
		fail(r, AR_E_IO,
		     ar_arena_fmt(a, "It ended without an answer (status %d); how far it came is not known.",
				  end->exit_code));
	else if (outcome != AR_TOOL_OK)
		read_failure(kind, v, a, r);
	else if (!read_members(kind, v, a, r))
		fail(r, AR_E_IO, AR_STR("Its answer cannot be read; how far it came is not known."));
	if (outcome != 0)
		read_usage(v, r);
}

void ar_checkpoint_outcome_read(enum ar_checkpoint_kind kind, const struct ar_contained_end *end,
				struct ar_json_parser *parser, struct ar_arena *a,
				struct ar_checkpoint_result *ret)
{
	*ret = (struct ar_checkpoint_result){ 0 };
	if (end->outcome == AR_CONTAINED_NOT_STARTED)
		fail(ret, end->is_unavailable ? AR_E_UNAVAILABLE : AR_E_IO,
		     ar_arena_fmt(a, "Nothing was done: %.*s.", AR_STR_ARG(end->message)));
	else
		read_output(kind, end, parser, a, ret);
}
