/* How a session is listed: its title, its pinned threads, whether it is archived. Nothing else depends on
 * them: an archived session works as before. Pure. */
#include "apply.h"
#include "decide.h"

#define PINNED_MAX 64

static enum ar_status check_pinned(const struct ar_session *s, struct ar_texts pinned, struct ar_error *err)
{
	if (pinned.count > PINNED_MAX)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "%zu threads are pinned, and %d may be",
				 pinned.count, PINNED_MAX);
	for (size_t i = 0; i < pinned.count; i++) {
		if (!ar_session_thread(s, pinned.at[i]))
			return ar_refuse(err, AR_ERR_THREAD_NOT_FOUND, "session %.*s has no thread '%.*s'",
					 AR_STR_ARG(s->id), AR_STR_ARG(ar_str_utf8_prefix(pinned.at[i], 64)));
		if (ar_texts_have((struct ar_texts){ pinned.at, i }, pinned.at[i]))
			return ar_refuse(err, AR_ERR_INVALID_INPUT, "thread %.*s is pinned twice",
					 AR_STR_ARG(pinned.at[i]));
	}
	return AR_OK;
}

static enum ar_status check_update(const struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_update_session_in *in = d->input->command.args;

	if (ar_str_absent(in->title) && !in->pinned_thread_ids.at && !in->archived.set)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "nothing to change: pass a title, pinnedThreadIds or archived");
	if (!ar_str_absent(in->title) && ar_str_empty(in->title))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "the title is empty");
	return check_pinned(d->session, in->pinned_thread_ids, err);
}

/* The members that were named and differ. */
static struct ar_shape_session_changes changes_of(const struct ar_decision *d)
{
	const struct ar_cmd_update_session_in *in = d->input->command.args;
	const struct ar_session *s = d->session;
	struct ar_shape_session_changes changes = { 0 };

	if (!ar_str_absent(in->title) && !ar_str_eq(in->title, s->title))
		changes.title = in->title;
	if (in->pinned_thread_ids.at && !ar_texts_eq(in->pinned_thread_ids, s->pinned))
		changes.pinned_thread_ids = in->pinned_thread_ids;
	if (in->archived.set && in->archived.v != s->archived.v)
		changes.archived = in->archived;
	return changes;
}

enum ar_status ar_decide_update_session(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_ids none = { 0 };
	struct ar_shape_session_changes changes;
	bool is_changed;

	if (check_update(d, err) != AR_OK)
		return AR_E_REFUSED;
	changes = changes_of(d);
	is_changed = !ar_str_absent(changes.title) || changes.pinned_thread_ids.at || changes.archived.set;
	if (is_changed)
		ar_decide_emit(d, AR_EV_SESSION_UPDATED, &none,
			       &(struct ar_ev_session_updated){ .changed = &changes,
								.updated_at = d->input->now,
								.actor = d->input->account });
	ar_decide_reply(d, AR_CMD_UPDATE_SESSION,
			&(struct ar_cmd_update_session_out){
				.session_id = d->session->id,
				.result = is_changed ? AR_UPDATE_SESSION_RESULT_UPDATED
						     : AR_UPDATE_SESSION_RESULT_NO_OP,
				.sequence = (int64_t)d->session->head });
	return AR_OK;
}

enum ar_status ar_apply_session_updated(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_shape_session_changes *changed = KEPT(s, e, session_updated)->changed;

	(void)err;
	if (!changed)
		return AR_OK;
	if (!ar_str_absent(changed->title))
		s->title = changed->title;
	if (changed->pinned_thread_ids.at)
		s->pinned = changed->pinned_thread_ids.count > 0 ? changed->pinned_thread_ids
								 : (struct ar_texts){ 0 };
	if (changed->archived.set)
		s->archived = changed->archived.v ? changed->archived : (struct ar_opt_bool){ 0 };
	return AR_OK;
}
