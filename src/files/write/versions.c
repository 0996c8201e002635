/* See versions.h. */
#include "write/versions.h"

#include "base64.h"
#include "shown.h"
#include "write/diff.h"
#include "write/put.h"
#include "write/record.h"

static void write_content(struct ar_jw *j, struct ar_arena *a, const struct ar_change *f)
{
	bool is_text = ar_str_is_text(f->after);

	if (!f->exists)
		return;
	ar_jw_mstr(j, "content", is_text ? f->after : ar_base64(a, f->after));
	ar_jw_mstr(j, "encoding", is_text ? AR_STR("utf-8") : AR_STR("base64"));
}

static void write_diff(struct ar_jw *j, const struct ar_change *f)
{
	AR_AUTO(ar_buf_fini) struct ar_buf diff = { 0 };

	if (!ar_str_is_text(f->before) || !ar_str_is_text(f->after))
		return;
	if (ar_diff_write(&(struct ar_diff){ .path = f->path,
					     .existed = f->existed,
					     .exists = f->exists,
					     .before = f->existed ? f->before : AR_STR(""),
					     .after = f->exists ? f->after : AR_STR("") },
			  &diff) &&
	    diff.len <= AR_VERSIONS_FILE_MAX)
		ar_jw_mstr(j, "diff", ar_buf_str(&diff));
}

static void write_version(struct ar_jw *j, struct ar_arena *a, const struct ar_change *f, bool with_bytes)
{
	ar_jw_open(j);
	ar_jw_mstr(j, "path", ar_shown_path(a, f->path));
	ar_jw_mstr(j, "kind", ar_str_from(ar_record_kind(f)));
	if (f->exists) {
		ar_jw_mstr(j, "hash", ar_changes_hash(a, f->after));
		ar_jw_mint(j, "size", (int64_t)f->after.len);
	}
	if (with_bytes) {
		write_content(j, a, f);
		write_diff(j, f);
	}
	ar_jw_close(j);
}

static bool is_small(const struct ar_change *f)
{
	return (!f->exists || f->after.len <= AR_VERSIONS_FILE_MAX) &&
	       (!f->existed || f->before.len <= AR_VERSIONS_FILE_MAX);
}

/* With its bytes, unless they do not fit: how long they are as JSON is known when they are written. */
void ar_versions_add(struct ar_jw *j, struct ar_arena *a, const struct ar_change *f)
{
	struct ar_jw before = *j;
	size_t len = j->out->len;

	write_version(j, a, f, is_small(f));
	if (j->out->len <= AR_VERSIONS_BYTES_MAX)
		return;
	j->out->len = len;
	*j = before;
	write_version(j, a, f, false);
}

struct ar_str ar_versions_write(const struct ar_changes *c)
{
	struct ar_arena *a = &c->work->arena;
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	struct ar_jw j = ar_jw(&out);
	size_t written = 0;

	ar_jw_open_array(&j);
	for (size_t i = 0; i < c->count; i++) {
		if (ar_change_is_none(c->at[i]))
			continue;
		ar_versions_add(&j, a, c->at[i]);
		written++;
	}
	ar_jw_close_array(&j);
	return written > 0 ? ar_arena_str(a, ar_buf_str(&out)) : AR_STR_NONE;
}
