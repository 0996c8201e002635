/* Clients may not have all descriptors of the process: a reserve stays for the store and the pipes of tools,
 * and what model calls may take (up to a quarter); who comes when only that is left is turned away. Owner:
 * the loop thread. */
#include "server.h"

#include <limits.h>
#include <sys/resource.h>

#define RESERVE_SHARE 4 /* of the descriptors, */
#define RESERVE_MAX 256 /* but not more */
#define CALLS_SHARE 4 /* of the descriptors, at most, for model calls */
#define KEPT_SHARE 4 /* of the reserve */
#define STRAINED_MS 2000 /* after the last connection that was turned away */

/* What a process has besides clients: the store, model calls, pipes of tools. A quarter of that is for the
 * operator and other nodes when strangers have all the rest. */
static void share_descriptors(struct ar_http_server *s)
{
	struct rlimit limit;
	rlim_t reserve, calls;

	s->max_fd = s->max_kept_fd = INT_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > INT_MAX)
		return;
	reserve = limit.rlim_cur / RESERVE_SHARE < RESERVE_MAX ? limit.rlim_cur / RESERVE_SHARE : RESERVE_MAX;
	calls = limit.rlim_cur / CALLS_SHARE < s->kept_descriptors ? limit.rlim_cur / CALLS_SHARE
								   : s->kept_descriptors;
	s->max_fd = (int)(limit.rlim_cur - reserve - calls);
	s->max_kept_fd = s->max_fd + (int)reserve / KEPT_SHARE;
}

static void tell_strained(struct ar_http_server *s, bool is_strained)
{
	if (s->ops.strained)
		s->ops.strained(s->ops.arg, is_strained);
}

/* The kernel gives the lowest free number, so a high one says that few are left. */
bool ar_server_is_strained(struct ar_http_server *s, int fd, bool is_kept)
{
	if (fd < (is_kept ? s->max_kept_fd : s->max_fd))
		return false;
	if (!s->strained_until)
		tell_strained(s, true);
	s->strained_until = uv_now(s->loop) + STRAINED_MS;
	return true;
}

void ar_server_look_at_descriptors(struct ar_http_server *s)
{
	share_descriptors(s);
	if (!s->strained_until || uv_now(s->loop) < s->strained_until)
		return;
	s->strained_until = 0;
	tell_strained(s, false);
}
