/* The frame tool.args that goes with a fact: the arguments of a call are complete, or a hook rewrote them.
 * Only for those who read now; the fact has the same refs. Loop thread only. */
#include "publish.h"

/* False: the fact says nothing about arguments. */
static bool args_of(const struct ar_event *fact, struct ar_ev_tool_args *ret)
{
	const struct ar_ev_tool_started *started = fact->payload;
	const struct ar_ev_hook_completed *hook = fact->payload;

	if (fact->type == AR_EV_TOOL_STARTED) {
		ret->input_ref = started->input_ref;
	} else if (fact->type == AR_EV_HOOK_COMPLETED && !ar_str_absent(fact->ids[AR_SCOPE_TOOL_CALL])) {
		ret->input_ref = hook->original_input_ref;
		ret->updated_input_ref = hook->updated_input_ref;
		if (ar_str_absent(ret->updated_input_ref))
			return false;
	}
	return !ar_str_absent(ret->input_ref);
}

void ar_follow_push_args(struct ar_follow *f, struct ar_str session_key, const struct ar_event *fact)
{
	struct ar_ev_tool_args said = { .complete = AR_OPT_BOOL(true) };
	struct ar_event e = *fact;
	struct ar_arena a = { 0 };

	if (!args_of(fact, &said))
		return;
	e.type = AR_EV_TOOL_ARGS;
	e.payload = &said;
	e.payload_extra = AR_STR_NONE;
	e.event_id = ar_arena_fmt(&a, "%.*s.args", AR_STR_ARG(fact->event_id));
	ar_follow_push_frame(f, session_key, &e);
	ar_arena_fini(&a);
}
