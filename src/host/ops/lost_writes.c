/* See lost_writes.h. */
#include "ops/lost_writes.h"

#include "log.h"

#include <stdio.h>

#define LINE_EVERY ((ar_usec)60 * 1000 * 1000)

void ar_lost_writes_say(struct ar_lost_writes *l, struct ar_str session, struct ar_str what, ar_usec now)
{
	char text[512];

	if (l->said > 0 && now - l->said < LINE_EVERY) {
		l->unsaid++;
		return;
	}
	snprintf(text, sizeof text, "%.*s: %.*s; %llu more since the last such line", AR_STR_ARG(session),
		 AR_STR_ARG(what), (unsigned long long)l->unsaid);
	*l = (struct ar_lost_writes){ .log = l->log, .said = now };
	ar_log_line(l->log, "warning", "a write may have happened and nobody is asked about it", text);
}
