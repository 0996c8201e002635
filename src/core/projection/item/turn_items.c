/* Member `items` of a turn: its model calls, inputs, summaries of reasoning, tool calls, questions, changed
 * files and incidents as one list in the order in which they began. They are those of the state's windows;
 * what each of them is stands elsewhere in the thread. Pure. */
#include "action/action.h"
#include "artifact/artifact.h"
#include "describe.h"
#include "item/items.h"
#include "machine.h"
#include "thread.h"

#include <stdlib.h>

struct entry {
	struct ar_str id, kind, status, title;
	ar_usec started, ended;
	size_t place; /* among those of the same moment */
};

struct list {
	struct ar_arena arena;
	struct entry *at;
	size_t count;
};

static void add(struct list *l, struct entry e)
{
	e.place = l->count;
	l->at[l->count++] = e;
}

static struct ar_str kind_word(enum ar_item_kind kind)
{
	return ar_str_from(ar_enum_name(&ar_item_kind_desc, (int)kind));
}

static void add_step(struct list *l, const struct ar_step *step)
{
	bool is_model = !ar_str_absent(step->model_request);

	if (!ar_str_absent(step->summary))
		add(l, (struct entry){ .id = ar_arena_fmt(&l->arena, "%.*s.reasoning", AR_STR_ARG(step->id)),
				       .kind = kind_word(AR_ITEM_KIND_REASONING),
				       .status = AR_STR("completed"),
				       .title = AR_STR("summary"),
				       .started = step->started,
				       .ended = step->ended });
	add(l, (struct entry){ .id = step->id,
			       .kind = is_model ? kind_word(AR_ITEM_KIND_AGENT_MESSAGE) : AR_STR("input"),
			       .status = step->status,
			       .title = step->purpose,
			       .started = step->started,
			       .ended = step->ended });
}

static void add_call(struct list *l, const struct ar_invocation *call, ar_usec asked)
{
	bool is_over = call->stage == AR_CALL_ENDED;

	add(l, (struct entry){ .id = call->id,
			       .kind = kind_word(ar_item_kind_of(call->name)),
			       .status = !is_over			 ? AR_STR("open")
					 : ar_str_is(call->status, "ok") ? AR_STR("completed")
									 : call->status,
			       .title = call->name,
			       .started = call->started ? call->started : asked,
			       .ended = call->ended });
}

static void add_actions(struct list *l, const struct ar_session *s, const struct ar_turn *turn)
{
	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *action = s->actions.at[i];

		if (!ar_str_eq(action->turn, turn->id))
			continue;
		add(l, (struct entry){ .id = action->id,
				       .kind = AR_STR("action"),
				       .status = ar_str_from(
					       ar_machine_state_name(AR_MACHINE_ACTION, (int)action->status)),
				       .title = action->tool,
				       .started = action->created,
				       .ended = action->resolved });
	}
}

static void add_artifacts(struct list *l, const struct ar_session *s, const struct ar_turn *turn)
{
	for (size_t i = 0; i < s->artifacts.count; i++) {
		const struct ar_shape_artifact_record *r = ar_artifact_at(&s->artifacts, i);

		if (!ar_str_eq(r->turn_id, turn->id))
			continue;
		add(l, (struct entry){ .id = r->artifact_id,
				       .kind = kind_word(AR_ITEM_KIND_FILE_CHANGE),
				       .status = ar_str_from(
					       ar_enum_name(&ar_artifact_record_change_desc, r->change)),
				       .title = r->path,
				       .started = r->updated_at,
				       .ended = r->updated_at });
	}
}

static void add_incidents(struct list *l, const struct ar_session *s, const struct ar_turn *turn)
{
	const struct ar_thread *t = ar_session_thread(s, turn->thread);

	for (size_t i = 0; t && i < t->incidents.count; i++) {
		const struct ar_incident *incident = t->incidents.at[i];

		if (ar_str_eq(incident->turn, turn->id))
			add(l, (struct entry){ .id = incident->id,
					       .kind = AR_STR("warning"),
					       .status = AR_STR("reported"),
					       .title = incident->code,
					       .started = incident->at,
					       .ended = incident->at });
	}
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->started != y->started)
		return x->started < y->started ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static void write_entry(const struct entry *e, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "itemId", e->id);
	ar_jw_mstr(w, "kind", e->kind);
	ar_jw_mstr(w, "status", e->status);
	ar_jw_mstr(w, "title", e->title);
	ar_jw_mtime(w, "startedAt", e->started);
	ar_jw_mtime(w, "endedAt", e->ended);
	ar_jw_close(w);
}

void ar_projection_turn_items(const struct ar_session *s, const struct ar_turn *turn, struct ar_jw *w)
{
	size_t most = 2 * turn->steps.count + turn->calls.count + s->actions.count +
		      (turn->calls.count > 0 ? s->artifacts.count : 0) + AR_WINDOW_INCIDENTS;
	struct list l = { 0 };

	l.at = ar_arena_alloc(&l.arena, (most + 1) * sizeof(*l.at));
	for (size_t i = 0; i < turn->steps.count; i++)
		add_step(&l, turn->steps.at[i]);
	for (size_t i = 0; i < turn->calls.count; i++) {
		const struct ar_invocation *call = turn->calls.at[i];
		const struct ar_step *step = ar_turn_step(turn, call->step);

		add_call(&l, call, step ? step->ended : turn->started);
	}
	add_actions(&l, s, turn);
	if (turn->calls.count > 0) /* files change by calls alone */
		add_artifacts(&l, s, turn);
	add_incidents(&l, s, turn);
	qsort(l.at, l.count, sizeof(*l.at), by_start);
	ar_jw_key(w, "items");
	ar_jw_open_array(w);
	for (size_t i = 0; i < l.count; i++)
		write_entry(&l.at[i], w);
	ar_jw_close_array(w);
	ar_arena_fini(&l.arena);
}
