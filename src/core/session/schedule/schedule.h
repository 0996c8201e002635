/* Schedules: the log of each is one of its own, under a reserved key (tenant.h). When it is due, it records
 * a run and then sends a turn or a job to a session; how that ended comes back as a report. Its next time is
 * a fact, so replay needs no zone. Nothing is due twice: the run and the time after it are one write.
 * Pure. */
#ifndef AR_SESSION_SCHEDULE_SCHEDULE_H
#define AR_SESSION_SCHEDULE_SCHEDULE_H

#include "cron.h"
#include "decide.h"
#include "report/report.h"

#define AR_SCHEDULE_PREFIX "sched"
#define AR_SCHEDULE_OPEN_MAX 32 /* runs that have not ended; also what is made up for at once */
#define AR_SCHEDULE_KEPT 10 /* newest ended runs */

/* Also of one of another tenant: both answers are the same. */
#define AR_NO_SCHEDULE "there is no such schedule"

/* Why times passed without a run. */
#define AR_MISSED_DOWN "no server ran, or it was too late"
#define AR_MISSED_OVERLAP "the run before had not ended"
#define AR_MISSED_FULL "too many runs have not ended"

/* decide_schedule.c: the times of a schedule; the zone is the one that the input brings. Refuses what cannot
 * be read. */
AR_MUST_USE enum ar_status ar_schedule_clock(const struct ar_decision *d, struct ar_str spec,
					     struct ar_str zone, ar_usec anchor, struct ar_cron_clock *ret,
					     struct ar_error *err);

/* due.c: how much later than its time a run is to begin: the same for each time of a schedule. */
ar_usec ar_schedule_jitter(const struct ar_session *s, ar_usec due);

/* runs.c */
const struct ar_shape_schedule_run *ar_schedule_run(const struct ar_session *s, struct ar_str id);
size_t ar_schedule_open(const struct ar_session *s); /* runs that have not ended; misses are none */
void ar_schedule_begin(struct ar_decision *d, struct ar_shape_schedule_run *run); /* what it starts has ids */
void ar_schedule_change(struct ar_decision *d, const struct ar_shape_schedule_run *run);
void ar_schedule_send(struct ar_decision *d, const struct ar_shape_schedule_run *run); /* what it needs now */
void ar_schedule_cancel_open(struct ar_decision *d); /* all that have not ended */
void ar_schedule_cancel_queued(struct ar_decision *d, struct ar_str reason); /* those that wait */
void ar_schedule_recover(struct ar_decision *d); /* sends what was not answered */
void ar_schedule_sent(struct ar_decision *d); /* the answer came */
ar_report_fn ar_schedule_report_turn;
AR_MUST_USE enum ar_status ar_schedule_report_job(struct ar_decision *d,
						  const struct ar_cmd_report_job_in *in,
						  struct ar_error *err);

#endif
