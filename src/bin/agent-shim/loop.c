/* One round of poll(). A call that finds its descriptor closed by an earlier one of the same round sees that
 * by its own state. */
#include "loop.h"
#include "clock.h"

#include <limits.h>

void ar_loop_watch(struct ar_loop *l, int fd, short events, ar_loop_fn *on, int arg)
{
	if (fd < 0 || l->count == AR_LOOP_MAX)
		return;
	l->fds[l->count] = (struct pollfd){ .fd = fd, .events = events };
	l->calls[l->count].on = on;
	l->calls[l->count].arg = arg;
	l->count++;
}

void ar_loop_until(struct ar_loop *l, uint64_t at)
{
	if (at > 0 && (l->until == 0 || at < l->until))
		l->until = at;
}

static int poll_timeout(const struct ar_loop *l)
{
	uint64_t now = ar_shim_mono(), left;

	if (l->until == 0)
		return -1;
	if (l->until <= now)
		return 0;
	left = (l->until - now + AR_SHIM_MS - 1) / AR_SHIM_MS;
	return left < INT_MAX ? (int)left : INT_MAX;
}

void ar_loop_run_once(struct ar_loop *l, struct ar_shim *s)
{
	int n = poll(l->fds, (nfds_t)l->count, poll_timeout(l));

	for (size_t i = 0; n > 0 && i < l->count; i++) {
		if (l->fds[i].revents)
			l->calls[i].on(s, l->calls[i].arg);
	}
}
