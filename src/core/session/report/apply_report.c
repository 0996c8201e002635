/* What the facts about reports leave in the state. Pure. */
#include "apply.h"

enum ar_status ar_apply_turn_reported(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	turn->report_to = AR_STR_NONE;
	return AR_OK;
}
