/* See differences.h. */
#include "checkpoint/differences.h"

#include "json.h"
#include "mem.h"
#include "shown.h"

#include <string.h>

#define RAW_MAX ((size_t)256 << 20)
#define MODE_LEN 6
/* `:100644 100755 <object> <object> M` */
#define HEAD_LEN (1 + 2 * (MODE_LEN + 1) + 2 * (AR_STORE_ID + 1) + 1)

static bool read_mode(const char *text, uint32_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < MODE_LEN; i++) {
		if (text[i] < '0' || text[i] > '7')
			return false;
		*ret = *ret * 8 + (uint32_t)(text[i] - '0');
	}
	return *ret == 0 || *ret == AR_TREE_ENTRY_FILE || *ret == AR_TREE_ENTRY_PROGRAM ||
	       *ret == AR_TREE_ENTRY_LINK;
}

static bool next_text(struct ar_str *rest, struct ar_str *ret)
{
	const char *end = rest->len > 0 ? memchr(rest->p, '\0', rest->len) : NULL;

	if (!end)
		return false;
	*ret = (struct ar_str){ rest->p, (size_t)(end - rest->p) };
	*rest = ar_str_sub(*rest, ret->len + 1, rest->len);
	return true;
}

static bool read_one(struct ar_str *rest, struct ar_difference *ret)
{
	struct ar_str head;

	if (!next_text(rest, &head) || head.len != HEAD_LEN || head.p[0] != ':' ||
	    !next_text(rest, &ret->path))
		return false;
	ret->old_object = ar_str_sub(head, HEAD_LEN - 3 - 2 * AR_STORE_ID, AR_STORE_ID);
	ret->object = ar_str_sub(head, HEAD_LEN - 2 - AR_STORE_ID, AR_STORE_ID);
	return read_mode(head.p + 1, &ret->was) && read_mode(head.p + 1 + MODE_LEN + 1, &ret->is) &&
	       ar_store_is_id(ret->old_object) && ar_store_is_id(ret->object) &&
	       ar_tree_entry_is_path(ret->path);
}

bool ar_differences_parse(struct ar_differences *d)
{
	struct ar_str rest = ar_buf_str(&d->raw);
	struct ar_difference one;

	while (rest.len > 0) {
		if (!read_one(&rest, &one))
			return false;
		if (d->count == d->room) {
			d->room = d->room ? d->room * 2 : 64;
			d->at = ar_grow(d->at, d->room, sizeof(*d->at));
		}
		d->at[d->count++] = one;
	}
	return true;
}

bool ar_differences_read(struct ar_store *s, const char *from, const char *to, struct ar_differences *ret)
{
	const char *args[] = { "diff-tree",	"-r", "-z", "--raw", "--no-renames", "--no-abbrev",
			       "--no-ext-diff", from, to,   NULL };

	*ret = (struct ar_differences){ .raw = { .cap = RAW_MAX } };
	if (!ar_store_git(s, args, AR_STR_NONE, &ret->raw))
		return false;
	if (!ret->raw.failed && ar_differences_parse(ret))
		return true;
	ar_files_fail(s->work, "store", "Tell the operator.",
		      "The difference of two checkpoints cannot be read.");
	return false;
}

void ar_differences_fini(struct ar_differences *d)
{
	ar_buf_fini(&d->raw);
	ar_free(d->at);
	*d = (struct ar_differences){ 0 };
}

static const char *change_of(const struct ar_difference *d)
{
	if (!d->was)
		return "added";
	return d->is ? "changed" : "deleted";
}

struct ar_str ar_differences_list(struct ar_arena *a, const struct ar_differences *d, const bool *is_left,
				  bool *ret_is_cut)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	struct ar_jw j = ar_jw(&out);
	size_t shown = 0, i;

	ar_jw_open_array(&j);
	for (i = 0; i < d->count && shown < AR_DIFFERENCES_SHOWN && out.len < AR_DIFFERENCES_SHOWN_BYTES;
	     i++) {
		if (is_left && is_left[i])
			continue;
		ar_jw_open(&j);
		ar_jw_mstr(&j, "path", ar_shown_path(a, d->at[i].path));
		ar_jw_mstr(&j, "change", ar_str_from(change_of(&d->at[i])));
		ar_jw_close(&j);
		shown++;
	}
	ar_jw_close_array(&j);
	*ret_is_cut = i < d->count;
	return ar_arena_str(a, ar_buf_str(&out));
}
