/* What signals mean to the daemon: SIGTERM and SIGINT stop it, a second one at once; SIGHUP reloads;
 * SIGPIPE is nothing. */
#ifndef AR_BIN_AGENTD_SIGNALS_H
#define AR_BIN_AGENTD_SIGNALS_H

struct ar_runtime;

/* At the start of the process. Until there is a runtime, SIGHUP does nothing and the others end the
 * process. */
void ar_agentd_signals_begin(void);

/* Signals go to this runtime, until the release. */
void ar_agentd_signals_take(struct ar_runtime *r);
void ar_agentd_signals_release(void);

#endif
