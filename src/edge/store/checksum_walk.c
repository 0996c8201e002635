/* See the header. */
#include "checksum_walk.h"

#include "store_upkeep.h"

#include <string.h>

#define OVER "over"

static bool read_number(struct ar_str *rest, uint64_t *ret)
{
	struct ar_str word;

	*rest = ar_str_split(*rest, ' ', &word);
	return ar_str_to_u64(word, ret);
}

struct ar_checksum_walk ar_checksum_walk_read(struct ar_str text, ar_usec now)
{
	struct ar_checksum_walk w = { 0 };
	struct ar_str id, rest = ar_str_split(text, ' ', &id);
	uint64_t began = 0;

	if (ar_str_is(text, OVER))
		return (struct ar_checksum_walk){ .is_over = true };
	if (ar_store_key_parse(id, &w.session) && read_number(&rest, &w.first_seq) &&
	    read_number(&rest, &w.added) && read_number(&rest, &began) && began <= INT64_MAX) {
		w.began = (ar_usec)began;
		return w;
	}
	return (struct ar_checksum_walk){ .began = now };
}

struct ar_str ar_checksum_walk_text(const struct ar_checksum_walk *w, struct ar_arena *a)
{
	struct ar_str id = ar_store_key_text(a, &w->session);

	if (w->is_over)
		return AR_STR(OVER);
	return ar_arena_fmt(a, "%.*s %llu %llu %lld", AR_STR_ARG(id), (unsigned long long)w->first_seq,
			    (unsigned long long)w->added, (long long)w->began);
}

static bool is_in_time(const struct ar_checksum_walk *w)
{
	struct ar_store_key old = ar_store_key_at(w->began);

	return memcmp(w->session.b, old.b, sizeof old.b) <= 0;
}

struct ar_store_key ar_checksum_walk_end(const struct ar_checksum_walk *w)
{
	struct ar_store_key all;

	memset(all.b, 0xff, sizeof all.b);
	return is_in_time(w) ? ar_store_key_at(w->began) : all;
}

bool ar_checksum_walk_advance(struct ar_checksum_walk *w, const struct ar_checksum_page *page, ar_usec now)
{
	w->added += page->added;
	if (page->is_full) {
		w->session = page->last;
		w->first_seq = page->last_first_seq;
		return false;
	}
	if (is_in_time(w)) {
		w->session = ar_store_key_at(w->began + AR_STORE_AHEAD);
		w->first_seq = 0;
		return true;
	}
	*w = (struct ar_checksum_walk){ .began = now, .is_over = w->added == 0 };
	return false;
}
