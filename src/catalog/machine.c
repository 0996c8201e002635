/* Walks the transition tables. They have a few dozen rows at most, so a scan is as fast as anything. */
#include "machine.h"

bool ar_machine_next(enum ar_machine m, int state, enum ar_event_type event, int *ret_next)
{
	const struct ar_machine_desc *d = &ar_machine_descs[m];

	for (size_t i = 0; i < d->transition_count; i++) {
		const struct ar_transition *t = &d->transitions[i];

		if (t->from != state || t->event != event)
			continue;
		*ret_next = t->to;
		return true;
	}
	return false;
}

bool ar_machine_is_final(enum ar_machine m, int state)
{
	return (ar_machine_descs[m].final >> state & 1) != 0;
}

const char *ar_machine_state_name(enum ar_machine m, int state)
{
	const struct ar_machine_desc *d = &ar_machine_descs[m];

	if (state < 0 || (size_t)state >= d->state_count)
		return NULL;
	return d->states[state];
}
