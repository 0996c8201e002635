/* Which threads and child agents of a session are shown. Pure. */
#include "action/action.h"
#include "process/record.h"
#include "subagent/subagents.h"
#include "thread.h"

#define ENDED_CHILDREN 3 /* newest of them that are listed when a session is read */
#define ENDED_CHILDREN_OF_THREAD 50 /* of its own when one thread is read */

static bool is_of_child(const struct ar_thread *t)
{
	if (ar_str_absent(t->parent_turn))
		return false;
	for (size_t i = 0; i < t->turns.count; i++) {
		if (ar_str_is(((const struct ar_turn *)t->turns.at[i])->source, AR_SOURCE_SUBAGENT))
			return true;
	}
	return false;
}

/* Its child may have ended while a process or a question of it has not. */
static bool is_at_work(const struct ar_session *s, const struct ar_thread *t)
{
	if (ar_thread_active(t) || t->queue.count > 0)
		return true;
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (ar_process_is_running(p) && ar_str_eq(p->thread, t->id))
			return true;
	}
	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (a->status == AR_ACTION_PENDING && ar_str_eq(a->thread, t->id))
			return true;
	}
	return false;
}

static void show_children(const struct ar_session *s, bool is_all, struct ar_shown *ret)
{
	size_t ended = 0, own = 0;

	for (size_t i = s->subagents.count; i > 0; i--) {
		struct ar_subagent *a = s->subagents.at[i - 1];
		bool is_own = ar_str_eq(a->record->parent_thread_id, ret->thread);

		if (is_all || !ar_subagent_is_over(a->record) ||
		    (is_own ? own++ < ENDED_CHILDREN_OF_THREAD : ended++ < ENDED_CHILDREN))
			ar_vec_push(&ret->arena, &ret->children, (void *)a->record);
	}
}

void ar_projection_show(const struct ar_session *s, const struct ar_projection_scope *of,
			struct ar_shown *ret)
{
	bool is_one = of && !ar_str_absent(of->thread), is_all = of && of->with_ended;

	*ret = (struct ar_shown){ .thread = is_one ? of->thread : AR_STR_NONE };
	for (size_t i = 0; i < s->threads.count; i++) {
		struct ar_thread *t = s->threads.at[i];

		if (is_one ? ar_str_eq(t->id, of->thread) : is_all || !is_of_child(t) || is_at_work(s, t))
			ar_vec_push(&ret->arena, &ret->threads, t);
	}
	ar_projection_show_jobs(s, ret);
	show_children(s, is_all, ret);
}
