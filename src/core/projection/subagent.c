/* Child agents: a page of their list, those of a thread, and `subagentJobSummary` of a session. Pure. */
#include "subagent/subagents.h"
#include "describe.h"
#include "limits/money.h"
#include "thread.h"

static void write_record(const struct ar_shape_subagent_record *r, struct ar_jw *w)
{
	struct ar_shape_subagent_record shown = *r;

	shown.machine_state = (struct ar_opt_int){ 0 };
	ar_struct_encode(&ar_shape_subagent_record_desc, &shown, AR_STR_NONE, w);
}

static bool is_within(const struct ar_session *s, const struct ar_shape_subagent_record *r,
		      const struct ar_subagent_page *page)
{
	const struct ar_shape_subagent_record *above;

	if (ar_str_absent(page->thread))
		return page->is_deep || ar_str_absent(r->parent_id);
	if (ar_str_eq(r->parent_thread_id, page->thread))
		return true;
	above = page->is_deep ? ar_session_subagent_in(s, page->thread) : NULL;
	if (above)
		return ar_subagent_is_under(s, r, above->subagent_id);
	while (page->is_deep && r && !ar_str_absent(r->parent_id)) {
		r = ar_session_subagent(s, r->parent_id);
		if (r && ar_str_eq(r->parent_thread_id, page->thread))
			return true;
	}
	return false;
}

size_t ar_projection_subagent_page(const struct ar_session *s, const struct ar_subagent_page *page,
				   struct ar_jw *w)
{
	size_t written = 0;

	ar_jw_open_array(w);
	for (size_t i = page->from; i < s->subagents.count; i++) {
		const struct ar_shape_subagent_record *r = ar_subagent_whole(s, i);

		if (!is_within(s, r, page) ||
		    (!ar_str_absent(page->status) && !ar_str_eq(r->status, page->status)))
			continue;
		if (written == page->limit) {
			ar_jw_close_array(w);
			return i;
		}
		write_record(r, w);
		written++;
	}
	ar_jw_close_array(w);
	return 0;
}

/* ---- summaries ---- */

static void write_short(const struct ar_shape_subagent_record *r, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "subagentId", r->subagent_id);
	ar_jw_mstr(w, "parentId", r->parent_id);
	ar_jw_mstr(w, "parentThreadId", r->parent_thread_id);
	ar_jw_mstr(w, "parentTurnId", r->parent_turn_id);
	ar_jw_mstr(w, "childThreadId", r->child_thread_id);
	ar_jw_mstr(w, "taskId", r->task_id);
	ar_jw_mstr(w, "nickname", r->nickname);
	ar_jw_mstr(w, "status", r->status);
	ar_jw_mstr(w, "statusReason", r->status_reason);
	ar_jw_mstr(w, "statusDetail", r->status_detail);
	ar_jw_mstr(w, "lastMessageRef", r->last_message_ref);
	ar_jw_mstr(w, "resultRef", r->result_ref);
	ar_jw_close(w);
}

void ar_projection_thread_subagents(const struct ar_thread *t, const struct ar_shown *shown, struct ar_jw *w)
{
	ar_jw_key(w, "subagents");
	ar_jw_open_array(w);
	for (size_t i = 0; i < shown->children.count; i++) {
		const struct ar_shape_subagent_record *r = shown->children.at[i];

		if (ar_str_eq(r->parent_thread_id, t->id))
			write_short(r, w);
	}
	ar_jw_close_array(w);
}

/* Whether it could go on after a restart, and how. */
static const char *recoverability(const struct ar_session *s, const struct ar_shape_subagent_record *r)
{
	const struct ar_thread *t = ar_session_thread(s, r->child_thread_id);
	const struct ar_turn *turn = t ? ar_thread_active(t) : NULL;

	if (ar_subagent_is_closed(r))
		return "not_applicable";
	if (!t)
		return "unavailable";
	if (turn && turn->is_lost)
		return "resume_subagent";
	return ar_subagent_is_over(r) ? "send_subagent_input" : "automatic";
}

static void write_counts(const struct ar_session *s, struct ar_jw *w)
{
	const struct ar_enum_desc *words = &ar_subagent_status_status_desc;
	int64_t n[AR_SUBAGENT_STATUS_STATUS_CLOSED + 1] = { 0 };
	struct ar_str last = AR_STR_NONE;
	int value = 0;

	for (size_t i = 0; i < s->subagents.count; i++) {
		struct ar_str status = ar_subagent_at(s, i)->status;

		if (!ar_str_eq(status, last)) /* mostly one closed child after the other */
			value = ar_enum_find(words, status);
		last = status;
		n[value]++;
	}
	ar_jw_key(w, "counts");
	ar_jw_open(w);
	for (int k = 1; ar_enum_name(words, k); k++)
		ar_jw_mint(w, ar_enum_name(words, k), n[k]);
	ar_jw_close(w);
}

static void write_children(const struct ar_session *s, const struct ar_vec *found, struct ar_jw *w)
{
	ar_jw_key(w, "subagents");
	ar_jw_open_array(w);
	for (size_t i = 0; i < found->count; i++)
		write_short(found->at[i], w);
	ar_jw_close_array(w);
	ar_jw_key(w, "recoverability");
	ar_jw_open(w);
	for (size_t i = 0; i < found->count; i++) {
		const struct ar_shape_subagent_record *r = found->at[i];

		ar_jw_mstr(w, r->subagent_id.p, ar_str_from(recoverability(s, r)));
	}
	ar_jw_close(w);
}

void ar_projection_subagent_summary(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w)
{
	ar_jw_key(w, "subagentJobSummary");
	ar_jw_open(w);
	ar_jw_mstr(w, "state",
		   s->subagents.count || s->jobs.count ? AR_STR("available") : AR_STR("not_applicable"));
	if (s->subagents.count > 0) {
		ar_jw_mstr(w, "command", AR_STR("list_subagents"));
		ar_jw_mint(w, "count", (int64_t)s->subagents.count);
		ar_jw_mbool(w, "truncated", shown->children.count < s->subagents.count);
		write_counts(s, w);
		write_children(s, &shown->children, w);
	}
	if (s->jobs.count > 0) {
		ar_jw_mint(w, "jobCount", (int64_t)s->jobs.count);
		ar_projection_jobs(s, shown, w);
	}
	ar_jw_close(w);
}
