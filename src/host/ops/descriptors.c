/* See descriptors.h. */
#include "ops/descriptors.h"
#include "host_priv.h"

#include <sys/resource.h>

#define LEAST \
	96 /* a store and its threads have some forty of them; below that hardly a client or a call fits in */
#define CALLS_SHARE 8 /* a call has up to three while its server's name is looked up */
#define CALLS_MAX 16384

enum ar_status ar_descriptors_begin(struct ar_error *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return AR_OK;
	if (limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit) || getrlimit(RLIMIT_NOFILE, &limit))
			return AR_OK; /* it stays as it was */
	}
	if (limit.rlim_cur >= LEAST)
		return AR_OK;
	return ar_fail(err, AR_E_LIMIT,
		       "this process may have %llu file descriptors, and needs at least %d; raise the limit "
		       "(LimitNOFILE, ulimit -n)",
		       (unsigned long long)limit.rlim_cur, LEAST);
}

size_t ar_descriptors_for_calls(const struct ar_config *c)
{
	struct rlimit limit;
	size_t share;

	if (c->model.max_calls > 0)
		return (size_t)c->model.max_calls;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / CALLS_SHARE > CALLS_MAX)
		return CALLS_MAX;
	share = (size_t)limit.rlim_cur / CALLS_SHARE;
	return share ? share : 1;
}

void ar_descriptors_strained(void *arg, bool is_strained)
{
	const struct ar_host *r = arg;

	if (is_strained)
		ar_log_line(&r->start->log, "warning",
			    "few file descriptors are left: new connections are refused",
			    "raise the limit (LimitNOFILE, ulimit -n) or lower limits.max_connections");
	else
		ar_log_line(&r->start->log, "info", "new connections are accepted again", NULL);
}
