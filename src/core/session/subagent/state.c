/* Reading the children of a session. Pure. */
#include "closed/closed_group.h"
#include "subagent/subagents.h"

const struct ar_shape_subagent_record *ar_subagent_whole(const struct ar_session *s, size_t i)
{
	const struct ar_subagent *a = s->subagents.at[i];

	if (a->pack)
		ar_closed_group_open(a->pack);
	return a->record;
}

/* By its id, or by that of its thread. */
static const struct ar_shape_subagent_record *find_record(const struct ar_session *s, struct ar_str id,
							  bool is_thread)
{
	for (size_t i = s->subagents.count; i > 0; i--) {
		const struct ar_subagent *a = s->subagents.at[i - 1];

		if (!a->pack &&
		    ar_str_eq(is_thread ? a->record->child_thread_id : a->record->subagent_id, id))
			return a->record;
	}
	return ar_closed_groups_seek(s, id) ? find_record(s, id, is_thread) : NULL;
}

const struct ar_shape_subagent_record *ar_session_subagent(const struct ar_session *s, struct ar_str id)
{
	return find_record(s, id, false);
}

const struct ar_shape_subagent_record *ar_session_subagent_in(const struct ar_session *s,
							      struct ar_str thread)
{
	return find_record(s, thread, true);
}

bool ar_subagent_is_closed(const struct ar_shape_subagent_record *r)
{
	return ar_str_is(r->status, "closed");
}

bool ar_subagent_is_closing(const struct ar_shape_subagent_record *r)
{
	return !ar_subagent_is_closed(r) && ar_str_is(r->status_detail, AR_SUBAGENT_CLOSING);
}

bool ar_subagent_is_over(const struct ar_shape_subagent_record *r)
{
	static const struct ar_str words[] = { AR_STR("closed"), AR_STR("completed"), AR_STR("failed"),
					       AR_STR("cancelled") };

	for (size_t i = 0; i < AR_ARRAY_LEN(words); i++) {
		if (ar_str_eq(r->status, words[i]))
			return true;
	}
	return false;
}

bool ar_subagent_keeps_files(const struct ar_shape_subagent_record *r)
{
	return r->files && r->files->status != AR_SESSION_FILES_STATUS_REMOVED &&
	       r->files->status != AR_SESSION_FILES_STATUS_LEFT;
}

bool ar_subagent_is_under(const struct ar_session *s, const struct ar_shape_subagent_record *r,
			  struct ar_str ancestor)
{
	while (r && !ar_str_absent(r->parent_id)) {
		if (ar_str_eq(r->parent_id, ancestor))
			return true;
		r = ar_session_subagent(s, r->parent_id);
	}
	return false;
}

bool ar_subagents_open_of_turn(const struct ar_session *s, const struct ar_turn *turn)
{
	for (size_t i = 0; i < s->subagents.count; i++) {
		const struct ar_shape_subagent_record *r = ar_subagent_at(s, i);

		if (!ar_subagent_is_closed(r) && ar_str_eq(r->parent_turn_id, turn->id))
			return true;
	}
	return false;
}

size_t ar_session_open_subagents(const struct ar_session *s, struct ar_str task)
{
	size_t n = 0;

	for (size_t i = 0; i < s->subagents.count; i++) {
		const struct ar_shape_subagent_record *r = ar_subagent_at(s, i);

		n += !ar_subagent_is_closed(r) && (ar_str_absent(task) || ar_str_eq(r->task_id, task));
	}
	return n;
}

struct ar_ids ar_ids_subagent(const struct ar_shape_subagent_record *r)
{
	struct ar_ids ids = { 0 };

	ids.at[AR_SCOPE_SUBAGENT] = r->subagent_id;
	ids.at[AR_SCOPE_THREAD] = r->parent_thread_id;
	ids.at[AR_SCOPE_TURN] = r->parent_turn_id;
	return ids;
}

enum ar_status ar_subagent_need(const struct ar_decision *d, struct ar_str id,
				const struct ar_shape_subagent_record **ret, struct ar_error *err)
{
	*ret = ar_session_subagent(d->session, id);
	if (*ret)
		return AR_OK;
	return ar_refuse(err, AR_ERR_SUBAGENT_NOT_FOUND, "session %.*s has no subagent %.*s",
			 AR_STR_ARG(d->session->id), AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
}
