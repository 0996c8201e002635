/* See record.h. */
#include "write/record.h"

#include "base64.h"
#include "hash.h"
#include "shown.h"
#include "write/put.h"

#include <stdio.h>

struct ar_str ar_changes_hash(struct ar_arena *a, struct ar_str bytes)
{
	struct ar_hash h = ar_hash_of(bytes);
	char *text = ar_arena_alloc(a, 2 * AR_HASH_LEN + 1);

	for (size_t i = 0; i < AR_HASH_LEN; i++)
		snprintf(text + 2 * i, 3, "%02x", h.b[i]);
	return (struct ar_str){ text, 2 * AR_HASH_LEN };
}

const char *ar_record_kind(const struct ar_change *f)
{
	if (!f->existed)
		return "created";
	return f->exists ? "modified" : "deleted";
}

static void write_before(struct ar_jw *j, struct ar_arena *a, const struct ar_change *f)
{
	bool is_plain = ar_str_is_text(f->before);

	ar_jw_mstr(j, "before", is_plain ? f->before : ar_base64(a, f->before));
	ar_jw_mstr(j, "encoding", is_plain ? AR_STR("utf-8") : AR_STR("base64"));
	ar_jw_mstr(j, "beforeHash", ar_changes_hash(a, f->before));
	ar_jw_mint(j, "mode", (int64_t)(f->seen.st_mode & 0777));
}

static void write_change(struct ar_jw *j, struct ar_arena *a, const struct ar_change *f)
{
	ar_jw_open(j);
	ar_jw_mstr(j, "path", ar_shown_path(a, f->path));
	ar_jw_mstr(j, "kind", ar_str_from(ar_record_kind(f)));
	if (f->existed)
		write_before(j, a, f);
	if (f->exists)
		ar_jw_mstr(j, "afterHash", ar_changes_hash(a, f->after));
	ar_jw_close(j);
}

struct ar_str ar_record_write(const struct ar_changes *c)
{
	struct ar_arena *a = &c->work->arena;
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	struct ar_jw j = ar_jw(&out);
	size_t written = 0;

	ar_jw_open_array(&j);
	for (size_t i = 0; i < c->count; i++) {
		if (ar_change_is_none(c->at[i]))
			continue;
		write_change(&j, a, c->at[i]);
		written++;
	}
	ar_jw_close_array(&j);
	return written > 0 ? ar_arena_str(a, ar_buf_str(&out)) : AR_STR_NONE;
}
