/* Checkpoints: `checkpointSummary` of a session and of a thread, and a page of their list. Pure. */
#include "checkpoint/checkpoints.h"
#include "describe.h"
#include "thread.h"

#define SHOWN_TURNS 10 /* newest in a summary */

static bool is_of(const struct ar_shape_checkpoint_record *r, struct ar_str thread)
{
	return ar_str_absent(thread) || ar_str_eq(r->thread_id, thread);
}

static void write_short(const struct ar_shape_checkpoint_record *r, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "checkpointId", r->checkpoint_id);
	ar_jw_mstr(w, "turnId", r->turn_id);
	ar_jw_mstr(w, "phase", ar_str_from(ar_enum_name(&ar_checkpoint_record_phase_desc, r->phase)));
	ar_jw_mstr(w, "status", ar_str_from(ar_enum_name(&ar_checkpoint_record_status_desc, r->status)));
	ar_jw_mstr(w, "tree", r->tree);
	if (r->files.set)
		ar_jw_mint(w, "files", r->files.v);
	ar_jw_mtime(w, "createdAt", r->created_at);
	ar_jw_close(w);
}

void ar_projection_checkpoint_summary(const struct ar_session *s, struct ar_str thread, struct ar_jw *w)
{
	size_t count = 0, shown = 0;

	if (s->checkpoints.count == 0)
		return;
	for (size_t i = 0; i < s->checkpoints.count; i++)
		count += is_of(ar_checkpoint_at(s, i), thread);
	ar_jw_key(w, "checkpointSummary");
	ar_jw_open(w);
	ar_jw_mstr(w, "command", AR_STR("list_checkpoints"));
	ar_jw_mint(w, "count", (int64_t)count);
	ar_jw_key(w, "checkpoints");
	ar_jw_open_array(w);
	for (size_t i = s->checkpoints.count; i > 0 && shown < 2 * SHOWN_TURNS; i--) {
		const struct ar_shape_checkpoint_record *r = ar_checkpoint_at(s, i - 1);

		if (!is_of(r, thread))
			continue;
		write_short(r, w);
		shown++;
	}
	ar_jw_close_array(w);
	ar_jw_close(w);
}

static bool is_wanted(const struct ar_shape_checkpoint_record *r, const struct ar_checkpoint_page *page)
{
	return r->sequence < page->before && is_of(r, page->thread) &&
	       (ar_str_absent(page->turn) || ar_str_eq(r->turn_id, page->turn));
}

int64_t ar_projection_checkpoint_page(const struct ar_session *s, const struct ar_checkpoint_page *page,
				      struct ar_jw *w)
{
	size_t shown = 0;
	int64_t last = 0, next = 0;

	ar_jw_open_array(w);
	for (size_t i = s->checkpoints.count; i > 0 && next == 0; i--) {
		const struct ar_shape_checkpoint_record *r = ar_checkpoint_at(s, i - 1);

		if (!is_wanted(r, page))
			continue;
		if (shown == page->limit) {
			next = last;
			continue;
		}
		ar_struct_encode(&ar_shape_checkpoint_record_desc, r, r->extra_, w);
		last = r->sequence;
		shown++;
	}
	ar_jw_close_array(w);
	return next;
}
