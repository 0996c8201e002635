/* agent-proxy: what a process in a sandbox with the profile allowlisted_network reaches the world through. It
 * reads bytes that nobody vouches for, so it is a process of its own without any right; started and told by
 * agentd (egress/gate_wire.h), it ends with it. */
#include "confine.h"
#include "gate.h"
#include "gate_wire.h"

#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define NOBODY 65534

#ifdef __SANITIZE_ADDRESS__
/* The search for leaks needs a child that traces us. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

/* Everything that a right could be used for is given up before the first foreign byte. */
static bool drop_rights(void)
{
	const struct rlimit none = { 0, 0 };

	if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
			       setresuid(NOBODY, NOBODY, NOBODY) != 0))
		return false;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
	       setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0;
}

int main(int argc, char **argv)
{
	bool was_root = geteuid() == 0, is_probe = argc == 2 && strcmp(argv[1], "--probe") == 0;
	struct ar_gate gate;
	uv_loop_t loop;

	if (argc > 1 && !is_probe) {
		printf("agent-proxy %s: started by agentd, not by hand\n", AR_VERSION);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	if (!drop_rights() || !ar_confine(was_root))
		return 1;
	if (is_probe)
		return ar_confine_probe();
	if (uv_loop_init(&loop) != 0)
		return 1;
	ar_gate_open(&gate, &loop, AR_GATE_FD);
	return uv_run(&loop, UV_RUN_DEFAULT);
}
