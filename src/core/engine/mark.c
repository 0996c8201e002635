/* Which session this process works on, kept where it can be read when the process is dead. That is all
 * that can be known of a death: the loop handles one session at a time, so a fault in it is that
 * session's; and a death outside of it (the kernel's for want of memory, an operator's) is put down to
 * a session only when there was no other to do something for. */
#include "action/action.h"
#include "engine_priv.h"

#include <string.h>

struct ar_mark_before ar_mark_enter(const struct ar_live *l)
{
	struct ar_engine_mark *mark = l->engine->o.mark;
	struct ar_mark_before before = { 0 };

	if (!mark)
		return before;
	memcpy(before.session_key, mark->working, AR_SESSION_KEY_LEN);
	memcpy(mark->working, l->session_key, AR_SESSION_KEY_LEN);
	return before;
}

void ar_mark_leave(struct ar_engine *e, struct ar_mark_before before)
{
	if (e->o.mark)
		memcpy(e->o.mark->working, before.session_key, AR_SESSION_KEY_LEN);
}

bool ar_mark_is_worked_on(const struct ar_session *s)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_turn *turn = ar_thread_active(s->threads.at[i]);

		if (turn && ar_turn_is_worked_on(s, turn))
			return true;
	}
	return false;
}

void ar_mark_work(struct ar_live *l, bool is_worked_on)
{
	struct ar_engine *e = l->engine;
	struct ar_list *first;

	if (!e->o.mark || is_worked_on != ar_list_empty(&l->working))
		return;
	if (is_worked_on)
		ar_list_push(&e->working, &l->working);
	else
		ar_list_del(&l->working);
	first = e->working.next;
	if (first != &e->working && first->next == &e->working)
		memcpy(e->o.mark->alone, AR_CONTAINER_OF(first, struct ar_live, working)->session_key,
		       AR_SESSION_KEY_LEN);
	else
		memset(e->o.mark->alone, 0, AR_SESSION_KEY_LEN);
}

bool ar_mark_is_bystander(const struct ar_live *l)
{
	const struct ar_engine_options *o = &l->engine->o;
	const char *blamed = o->died.working[0] ? o->died.working : o->died.alone;

	return o->mark && memcmp(blamed, l->session_key, AR_SESSION_KEY_LEN) != 0;
}
