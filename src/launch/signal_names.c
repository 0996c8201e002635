/* See signal_names.h. One table, read both ways: sys_siglist and its successors are translated texts, not
 * these names. */
#include "signal_names.h"

#include <signal.h>
#include <string.h>

static const struct {
	int number;
	const char *name;
} signals[] = {
	{ SIGHUP, "SIGHUP" },	    { SIGINT, "SIGINT" },	{ SIGQUIT, "SIGQUIT" },
	{ SIGILL, "SIGILL" },	    { SIGTRAP, "SIGTRAP" },	{ SIGABRT, "SIGABRT" },
	{ SIGBUS, "SIGBUS" },	    { SIGFPE, "SIGFPE" },	{ SIGKILL, "SIGKILL" },
	{ SIGUSR1, "SIGUSR1" },	    { SIGSEGV, "SIGSEGV" },	{ SIGUSR2, "SIGUSR2" },
	{ SIGPIPE, "SIGPIPE" },	    { SIGALRM, "SIGALRM" },	{ SIGTERM, "SIGTERM" },
	{ SIGSTKFLT, "SIGSTKFLT" }, { SIGCHLD, "SIGCHLD" },	{ SIGCONT, "SIGCONT" },
	{ SIGSTOP, "SIGSTOP" },	    { SIGTSTP, "SIGTSTP" },	{ SIGTTIN, "SIGTTIN" },
	{ SIGTTOU, "SIGTTOU" },	    { SIGURG, "SIGURG" },	{ SIGXCPU, "SIGXCPU" },
	{ SIGXFSZ, "SIGXFSZ" },	    { SIGVTALRM, "SIGVTALRM" }, { SIGPROF, "SIGPROF" },
	{ SIGWINCH, "SIGWINCH" },   { SIGIO, "SIGIO" },		{ SIGPWR, "SIGPWR" },
	{ SIGSYS, "SIGSYS" },
};

#define COUNT (sizeof(signals) / sizeof(signals[0]))

const char *ar_signal_name(int number)
{
	for (size_t i = 0; i < COUNT; i++) {
		if (signals[i].number == number)
			return signals[i].name;
	}
	return "SIGRT";
}

int ar_signal_named(const char *name, size_t len)
{
	for (size_t i = 0; i < COUNT; i++) {
		if (strlen(signals[i].name) == len && memcmp(signals[i].name, name, len) == 0)
			return signals[i].number;
	}
	return 0;
}
