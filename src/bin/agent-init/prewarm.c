/* See prewarm.h. The waiting process is still as privileged as its parent; it reads only the one
 * packet, from the socket that only its parent has, and applies all limits of the command after it. */
#include "prewarm.h"

#include "message.h"
#include "packet.h"
#include "streams.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct brought {
	int fds[AR_INIT_PLAN_FDS_MAX];
	size_t count;
};

/* A private copy: reading a plan changes its text. */
int ar_prewarm_read_plan(struct ar_init *in, int fd)
{
	struct stat st;
	const char *wrong;
	char *text;

	if (fstat(fd, &st) < 0)
		return ar_init_fail(in, "plan", NULL);
	errno = EINVAL;
	if (st.st_size <= 0 || (size_t)st.st_size > AR_PLAN_TEXT_MAX)
		return ar_init_fail(in, "plan of no size, or too large", NULL);
	text = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (text == MAP_FAILED)
		return ar_init_fail(in, "plan", NULL);
	errno = EINVAL;
	if (!ar_plan_read(text, (size_t)st.st_size, &in->plan, &wrong))
		return ar_init_fail(in, "plan", wrong);
	return 0;
}

/* False: the other end is closed, or said something else than it may. */
static bool receive_plan(struct brought *ret)
{
	char kind = 0;
	struct ar_packet p = { .parts = { { &kind, 1 } }, .fds = ret->fds, .fd_count = AR_INIT_PLAN_FDS_MAX };
	ssize_t n = ar_packet_receive(AR_INIT_FD, &p, 0);

	ret->count = p.fd_count;
	return n > 0 && kind == AR_INIT_PLAN && !p.is_cut && p.fd_count > 0;
}

/* `made` is the plan that everything so far was made by. */
static int apply_plan(struct ar_init *in, const struct ar_plan *made, const struct brought *b)
{
	size_t first;

	if (ar_prewarm_read_plan(in, b->fds[0]) < 0)
		return -1;
	close(b->fds[0]);
	errno = EINVAL;
	if (in->plan.is_prewarmed || ar_plan_differs(made, &in->plan))
		return ar_init_fail(in, "the plan is not what was made:", ar_plan_differs(made, &in->plan));
	first = in->plan.stdin_is_given ? 2 : 1;
	if (b->count != first + in->plan.given)
		return ar_init_fail(in, "given descriptors", NULL);
	return ar_streams_set_given(in, in->plan.stdin_is_given ? b->fds[1] : -1, b->fds + first,
				    in->plan.given);
}

bool ar_prewarm_wait(struct ar_init *in)
{
	static struct ar_plan made; /* too much for the stack beside the other */
	struct brought b = { 0 };

	if (!in->plan.is_prewarmed)
		return true;
	/* Identity takes it again, for a change of ids forgets it. */
	if (in->namespaces != 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	made = in->plan;
	/* Writing copies the shared pages now and not while the command waits. */
	memset(&in->plan, 0, sizeof(in->plan));
	if (!receive_plan(&b))
		return false;
	if (apply_plan(in, &made, &b) == 0)
		return true;
	ar_message_send_failed(in, "plan");
	return false;
}
