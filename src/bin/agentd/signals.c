/* See signals.h. A handler may ask the runtime to stop or to reload: both are made for that. */
#include "signals.h"
#include "agentruntime.h"

#include <signal.h>
#include <stdatomic.h>

/* Of the process, as signals are. */
static _Atomic(struct ar_runtime *) served;

static void on_signal(int number)
{
	struct ar_runtime *r = atomic_load(&served);

	if (!r)
		return;
	if (number == SIGHUP)
		ar_runtime_reload(r, "signal:SIGHUP");
	else
		ar_runtime_stop(r, number == SIGINT ? "signal:SIGINT" : "signal:SIGTERM");
}

static void handle(int number)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigaction(number, &action, NULL);
}

/* SIGHUP asks for a reload and never ends a daemon. A handler, for children would inherit that it is
 * ignored. */
void ar_agentd_signals_begin(void)
{
	handle(SIGHUP);
	signal(SIGPIPE, SIG_IGN);
}

void ar_agentd_signals_take(struct ar_runtime *r)
{
	atomic_store(&served, r);
	handle(SIGTERM);
	handle(SIGINT);
}

void ar_agentd_signals_release(void)
{
	atomic_store(&served, NULL);
}
