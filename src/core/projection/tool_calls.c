/* Tool calls of a thread: those of its turns that state still has, oldest first, with how far each is
 * and where its parts are stored. Pure. */
#include "thread.h"

static const char *const stage_word[] = { "",	     "requested", "waiting_permission", "allowed", "running",
					  "unknown", "" };

static void call(const struct ar_turn *turn, const struct ar_invocation *c, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "toolCallId", c->id);
	ar_jw_mstr(w, "turnId", turn->id);
	ar_jw_mstr(w, "stepId", c->step);
	ar_jw_mstr(w, "toolName", c->name);
	ar_jw_mstr(w, "status", c->stage == AR_CALL_ENDED ? c->status : ar_str_from(stage_word[c->stage]));
	if (c->attempt > 0)
		ar_jw_mint(w, "attempt", c->attempt);
	ar_jw_mstr(w, "inputRef", c->args_ref);
	ar_jw_mstr(w, "outputRef", c->output_ref);
	ar_jw_mstr(w, "preview", c->preview);
	ar_jw_mstr(w, "errorCategory", c->category);
	ar_jw_mstr(w, "permissionRef", c->permission);
	ar_jw_mbool(w, "isDestructive", c->is_destructive);
	ar_jw_mtime(w, "startedAt", c->started);
	ar_jw_mtime(w, "endedAt", c->ended);
	ar_jw_close(w);
}

void ar_projection_tool_calls(const struct ar_thread *t, struct ar_jw *w)
{
	ar_jw_key(w, "toolCalls");
	ar_jw_open_array(w);
	for (size_t i = 0; i < t->turns.count; i++) {
		const struct ar_turn *turn = t->turns.at[i];

		for (size_t k = 0; k < turn->calls.count; k++)
			call(turn, turn->calls.at[k], w);
	}
	ar_jw_close_array(w);
}
