/* Facts as spans and log records. Pure: the same fact and state give the same span, whichever process looks.
 * What is returned borrows from the fact, the session and the arena. */
#ifndef AR_CORE_TELEMETRY_TELEMETRY_H
#define AR_CORE_TELEMETRY_TELEMETRY_H

#include "session.h"
#include "span.h"

/* The span that ends with the fact; `s` is the session with it. False: none does. Prompts, answers, commands
 * and paths only with `with_content`. */
bool ar_telemetry_span(const struct ar_session *s, const struct ar_event *e, bool with_content,
		       struct ar_arena *a, struct ar_span *ret);

/* What a fact that is a warning or a decision says, for the logs. False: it is none. */
bool ar_telemetry_record(const struct ar_session *s, const struct ar_event *e, struct ar_arena *a,
			 struct ar_record *ret);

#endif
