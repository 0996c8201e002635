/* Turns that something in another session started: how one ended goes there as the command report_turn,
 * until the other session has answered. The same command is decided here for what this session started.
 * Pure. */
#ifndef AR_SESSION_REPORT_REPORT_H
#define AR_SESSION_REPORT_REPORT_H

#include "decide.h"

/* Sends the end of the turn, if somebody wants it. */
void ar_turn_report(struct ar_decision *d, const struct ar_turn *turn);

/* After a restart: sends what was not answered. */
void ar_reports_recover(struct ar_decision *d);

/* One for each kind of thing that starts turns elsewhere: what a report changes. A repeat changes nothing. */
typedef enum ar_status ar_report_fn(struct ar_decision *d, const struct ar_cmd_report_turn_in *in,
				    struct ar_error *err);

#endif
