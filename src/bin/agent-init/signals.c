/* The signal in a message; and the clean state that a command starts with, whatever our starter ignored. */
#include "signals.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

int ar_signal_find(const char *json)
{
	const char *value = strstr(json, "\"signal\"");
	size_t len;

	if (!value)
		return 0;
	value += strlen("\"signal\"");
	value += strspn(value, " :\t\n\"");
	len = strcspn(value, "\"");
	if (value[len] == '"' && ar_signal_named(value, len))
		return ar_signal_named(value, len);

	long number = strtol(value, NULL, 10);

	return number > 0 && number < NSIG ? (int)number : 0;
}

void ar_signals_reset(void)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &usual, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}
