/* What happens to a question before it is answered: somebody has seen it, or nobody answered and another audience is told. Neither changes
 * what the question is, so both are state lines (run.status) that carry its id. Pure. */
#include "action/action.h"
#include "task/task.h"

static void say(struct ar_decision *d, const struct ar_turn *turn, const struct ar_action *a,
		const struct ar_ev_run_status *line)
{
	struct ar_ids ids = ar_ids_turn(d, turn);

	ids.at[AR_SCOPE_ACTION] = a->id;
	ar_decide_emit(d, AR_EV_RUN_STATUS, &ids, line);
}

/* ---- escalation ---- */

bool ar_decide_escalate(struct ar_decision *d, const struct ar_turn *turn, const struct ar_action *a)
{
	struct ar_jw j;

	if (!a->escalates || a->escalated || a->escalates > d->input->now)
		return false;
	j = ar_decide_json(d);
	ar_jw_open(&j);
	ar_jw_mstr(&j, "actionId", a->id);
	ar_jw_mstr(&j, "audience", a->audience);
	ar_jw_mint(&j, "waitedMs", ar_decide_since(d, a->created) / 1000);
	ar_jw_close(&j);
	say(d, turn, a,
	    &(struct ar_ev_run_status){ .phase = AR_STR(AR_PHASE_ESCALATED),
					.title = AR_STR("Nobody answered: another audience is told"),
					.detail = a->audience,
					.checkpoints = AR_STR("[]"),
					.metadata = ar_decide_json_end(d) });
	ar_decide_wake_for(d, a);
	return true;
}

/* ---- seen ---- */

/* The one name by which an actor is known again. */
static struct ar_str name_of(struct ar_decision *d, struct ar_str actor)
{
	static const char *const members[] = { "id", "name", "accountRef" };

	for (size_t i = 0; i < AR_ARRAY_LEN(members); i++) {
		struct ar_str name = ar_text_member(d->json, d->arena, actor, members[i], true);

		if (!ar_str_empty(name))
			return name;
	}
	return AR_STR_NONE;
}

static bool has_seen(const struct ar_decision *d, const struct ar_action *a, struct ar_str name)
{
	static const char *const members[] = { "id", "name", "accountRef" };
	struct ar_json seen;
	struct ar_str one;

	if (ar_str_absent(a->seen) || ar_json_parse(d->json, a->seen, &seen, NULL) != AR_OK)
		return false;
	for (struct ar_json_iter it = ar_json_iter(seen); ar_json_next(&it);) {
		struct ar_json actor = ar_json_get(it.value, "actor");

		for (size_t i = 0; i < AR_ARRAY_LEN(members); i++) {
			if (ar_json_str(ar_json_get(actor, members[i]), &one) && ar_str_eq(one, name))
				return true;
		}
	}
	return false;
}

static struct ar_str sight(struct ar_decision *d, struct ar_str actor)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open_array(&w);
	ar_jw_open(&w);
	ar_jw_mraw(&w, "actor", actor);
	ar_jw_mtime(&w, "at", d->input->now);
	ar_jw_close(&w);
	ar_jw_close_array(&w);
	return ar_decide_json_end(d);
}

static void say_seen(struct ar_decision *d, const struct ar_turn *turn, const struct ar_action *a,
		     struct ar_str name, struct ar_str seen)
{
	say(d, turn, a,
	    &(struct ar_ev_run_status){ .phase = AR_STR(AR_PHASE_SEEN),
					.title = AR_STR("Somebody has seen the question"),
					.detail = ar_str_utf8_prefix(name, 128),
					.checkpoints = AR_STR("[]"),
					.metadata = ar_arena_fmt(d->arena,
								 "{\"actionId\":\"%.*s\",\"seen\":%.*s}",
								 AR_STR_ARG(a->id), AR_STR_ARG(seen)) });
}

enum ar_status ar_decide_see_action(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_see_action_in *in = d->input->command.args;
	const struct ar_action *a = ar_session_action(d->session, in->action_id);
	struct ar_cmd_see_action_out out = { .action_id = in->action_id };
	struct ar_str actor = in->actor, name, seen;
	struct ar_thread *t;
	struct ar_turn *turn = a ? ar_session_turn(d->session, a->turn, &t) : NULL;

	if (!turn)
		return ar_refuse(err, AR_ERR_ACTION_NOT_FOUND, "session %.*s has no open action %.*s",
				 AR_STR_ARG(d->session->id),
				 AR_STR_ARG(ar_str_utf8_prefix(in->action_id, 64)));
	if (a->status != AR_ACTION_PENDING)
		return ar_refuse(err, AR_ERR_ALREADY_RESOLVED, "action %.*s was settled as '%.*s'",
				 AR_STR_ARG(a->id), AR_STR_ARG(a->decision));
	if (ar_str_absent(actor))
		actor = ar_task_asker(d, AR_STR_NONE);
	name = name_of(d, actor);
	if (ar_str_empty(name))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "actor has an id or a name");
	seen = ar_str_absent(a->seen) ? AR_STR("[]") : a->seen;
	out.recorded = !has_seen(d, a, name);
	if (out.recorded) {
		struct ar_str first = sight(d, actor);

		say_seen(d, turn, a, name, first);
		seen = ar_text_joined(d->json, d->arena, seen, first, AR_SEEN_MAX);
	}
	out.seen_by = seen;
	ar_decide_reply(d, AR_CMD_SEE_ACTION, &out);
	return AR_OK;
}
