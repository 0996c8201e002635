/* Which threads and child agents of a session are shown. Pure. */
#include "closed/closed_group.h"
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

static void show_children(const struct ar_session *s, bool is_all, struct ar_shown *ret)
{
	size_t ended = 0, own = 0;

	for (size_t i = s->subagents.count; i > 0; i--) {
		bool is_wanted = is_all || ended < ENDED_CHILDREN ||
				 (!ar_str_absent(ret->thread) && own < ENDED_CHILDREN_OF_THREAD);
		const struct ar_shape_subagent_record *r =
			is_wanted ? ar_subagent_whole(s, i - 1) : ar_subagent_at(s, i - 1);
		bool is_own = ar_str_eq(r->parent_thread_id, ret->thread);

		if (is_all || !ar_subagent_is_over(r) ||
		    (is_wanted && (is_own ? own++ < ENDED_CHILDREN_OF_THREAD : ended++ < ENDED_CHILDREN)))
			ar_vec_push(&ret->arena, &ret->children, (void *)(uintptr_t)r);
	}
}

/* Its child may have ended while a process or a question of it has not. */
static bool is_ended(const struct ar_session *s, const struct ar_thread *t)
{
	return t->pack || (is_of_child(t) && !ar_thread_is_at_work(s, t));
}

void ar_projection_show(const struct ar_session *s, const struct ar_projection_scope *of,
			struct ar_shown *ret)
{
	bool is_one = of && !ar_str_absent(of->thread), is_all = of && of->with_ended;

	*ret = (struct ar_shown){ .thread = is_one ? of->thread : AR_STR_NONE };
	if (is_all)
		ar_closed_groups_open_all(s);
	if (is_one)
		ar_closed_groups_seek(s, of->thread);
	if (of)
		ret->streaming = of->streaming;
	for (size_t i = 0; i < s->threads.count; i++) {
		struct ar_thread *t = s->threads.at[i];

		if (t->pack && is_all) /* it could not be read: there is nothing to show of it */
			continue;
		if (is_one ? ar_str_eq(t->id, of->thread) : is_all || !is_ended(s, t))
			ar_vec_push(&ret->arena, &ret->threads, t);
	}
	ar_projection_show_jobs(s, ret);
	show_children(s, is_all, ret);
}
