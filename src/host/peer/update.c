/* An update of a peer about its task: kept, and reported to the session if it is new. See delegate_priv.h. */
#include "peer/delegate_priv.h"

bool ar_work_waits(const struct ar_work *w)
{
	return w->state == AR_PEER_STATE_INPUT_REQUIRED || w->state == AR_PEER_STATE_AUTH_REQUIRED;
}

static struct ar_str text_of_update(const struct ar_peer_update *u, struct ar_arena *a)
{
	return ar_arena_fmt(a, "%.*s\n%.*s\n%.*s\n%lld\n%.*s", AR_STR_ARG(u->task_id),
			    AR_STR_ARG(u->native_status), AR_STR_ARG(u->message_id), (long long)u->time,
			    AR_STR_ARG(u->message));
}

static void keep_update(struct ar_work *w, const struct ar_peer_update *u)
{
	ar_arena_reset(&w->update_arena);
	w->last_update = text_of_update(u, &w->update_arena);
	w->prompt = ar_arena_str(&w->update_arena, u->message);
	w->state = u->state;
}

/* Whether it has something that was not reported to the session. */
static bool is_new(struct ar_work *w, const struct ar_peer_update *u)
{
	struct ar_arena a = { 0 };
	bool is = w->away_since != 0 || !ar_str_eq(text_of_update(u, &a), w->last_update);

	ar_arena_fini(&a);
	return is;
}

static void note_update(struct ar_work *w, const struct ar_peer_update *u)
{
	struct ar_peer_note *n = ar_work_note(w, AR_REPORT_PEER_TASK_EVENT_UPDATE);

	n->task_id = ar_arena_str(&n->arena, w->remote_task);
	n->context_id = ar_arena_str(&n->arena, w->remote_context);
	n->native_status = ar_arena_str(&n->arena, u->native_status);
	n->message = ar_arena_str(&n->arena, u->message);
	n->message_id = ar_arena_str(&n->arena, u->message_id);
}

static void progress(struct ar_work *w, const struct ar_peer_update *u)
{
	const struct ar_tool_progress p = { .text = ar_str_empty(u->message) ? u->native_status : u->message,
					    .percent = -1 };

	w->call->v->on_progress(w->call, &p);
}

/* False: it ends here, for more came than the settings allow. */
bool ar_work_update(struct ar_work *w, const struct ar_peer_update *u)
{
	bool has_state = u->state != AR_PEER_STATE_NONE || ar_str_absent(u->task_id);

	if (ar_str_absent(w->remote_task) && !ar_str_absent(u->task_id))
		w->remote_task = ar_arena_str(&w->arena, u->task_id);
	if (ar_str_absent(w->remote_context) && !ar_str_absent(u->context_id))
		w->remote_context = ar_arena_str(&w->arena, u->context_id);
	progress(w, u);
	if (has_state && is_new(w, u)) {
		keep_update(w, u);
		note_update(w, u);
	}
	w->away_since = 0;
	if (!ar_work_keep(w, u)) {
		ar_work_end(w, (struct ar_tool_result){ .outcome = AR_TOOL_ERROR,
							.category = AR_STR("too_large"),
							.message = AR_STR("its artifacts are larger than "
									  "max_artifact_bytes allows") });
		return false;
	}
	return true;
}
