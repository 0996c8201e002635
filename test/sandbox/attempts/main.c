/* escape-attempts --list | NAME...: runs the named attempts, each in a process of its own, and says of each
 * `NAME RESULT`; before it, `> NAME`, so that what is heard outside meanwhile can be told apart. A result is
 * ok, the name of an error, the name of a signal, or timeout. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

#define SECONDS_EACH 10

static const struct attempt_list *const themes[] = {
	&files_attempts,   &links_attempts,   &git_attempts,	 &proc_attempts,    &privilege_attempts,
	&mounts_attempts,  &kernel_attempts,  &devices_attempts, &network_attempts, &sockets_attempts,
	&signals_attempts, &hygiene_attempts, &limits_attempts,
};

static void list_all(void)
{
	for (size_t t = 0; t < sizeof(themes) / sizeof(themes[0]); t++) {
		for (size_t i = 0; i < themes[t]->count; i++) {
			const struct attempt *a = &themes[t]->at[i];

			printf("%s\t%s\t%s\t%s\t%s\n", a->name, a->read_only, a->write, a->danger,
			       a->evidence ? a->evidence : "");
		}
	}
}

static const struct attempt *find(const char *name)
{
	for (size_t t = 0; t < sizeof(themes) / sizeof(themes[0]); t++) {
		for (size_t i = 0; i < themes[t]->count; i++) {
			if (strcmp(themes[t]->at[i].name, name) == 0)
				return &themes[t]->at[i];
		}
	}
	return NULL;
}

/* The child tells its errno; silence is a signal. */
static _Noreturn void run_child(const struct attempt *a, int out)
{
	int said = 0;

	alarm(SECONDS_EACH);
	errno = 0;
	if (a->run(a) != 0)
		said = errno ? errno : ECANCELED;
	if (write(out, &said, sizeof(said)) != (ssize_t)sizeof(said))
		_exit(1);
	_exit(0);
}

static const char *result_of(ssize_t got, int said, int status)
{
	static char name[32];

	if (got == (ssize_t)sizeof(said) && said == 0)
		return "ok";
	if (got == (ssize_t)sizeof(said))
		return strerrorname_np(said) ? strerrorname_np(said) : "unknown";
	if (!WIFSIGNALED(status))
		return "silent";
	if (WTERMSIG(status) == SIGALRM)
		return "timeout";
	snprintf(name, sizeof(name), "SIG%s", sigabbrev_np(WTERMSIG(status)));
	return name;
}

static const char *try_one(const struct attempt *a)
{
	int ends[2], said = 0, status = 0;

	if (pipe(ends) != 0)
		return "nopipe";
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		run_child(a, ends[1]);
	}
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return "nofork";
	}
	ssize_t got = read(ends[0], &said, sizeof(said));
	close(ends[0]);
	waitpid(child, &status, 0);
	return result_of(got, said, status);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		list_all();
		return 0;
	}
	for (int i = 1; i < argc; i++) {
		const struct attempt *a = find(argv[i]);

		printf("> %s\n", argv[i]);
		printf("%s %s\n", argv[i], a ? try_one(a) : "unheard-of");
	}
	printf("done\n");
	return 0;
}
