/* `agentctl top`: the words of it; what it does is in top/. */
#include "top/top.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_ONCE, OPT_INTERVAL, OPT_SORT };

#define INTERVAL_DEFAULT 2.0
#define INTERVAL_MIN 0.1
#define INTERVAL_MAX 3600.0

static bool find_sort(const char *name, enum ar_top_sort *ret)
{
	for (enum ar_top_sort i = 0; i < AR_TOP_SORTS; i++) {
		if (strcmp(ar_top_sort_names[i], name) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static enum ar_exit top(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const char *interval = a->values[OPT_INTERVAL], *sort = a->values[OPT_SORT];
	struct ar_top_options o = { .is_once = a->values[OPT_ONCE] };
	char *end = NULL;
	double seconds = interval ? strtod(interval, &end) : INTERVAL_DEFAULT;

	if (interval && (*end || end == interval || !(seconds >= INTERVAL_MIN && seconds <= INTERVAL_MAX)))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE,
				       "--interval must be 0.1 to 3600 seconds");
	if (sort && !find_sort(sort, &o.by))
		return ar_ctl_complain(c, AR_EXIT_USAGE,
				       AR_STR("activity, updated, cost, tokens, turns, waits or title"),
				       "there is no order '%s'", sort);
	o.interval = (ar_usec)(seconds * 1e6);
	return ar_top_run(c, &o);
}

const struct ar_ctl_command ar_cmd_top = {
	.name = "top",
	.synopsis = "",
	.summary = "show sessions, turns, waits, cost, lag and rates",
	.text = "A table that is updated every two seconds: at the top totals and rates; below, the "
		"sessions, those that\n"
		"wait for an answer or run first. Keys: the arrows choose a session, Enter opens it, a "
		"answers "
		"its questions,\n"
		"i interrupts what runs in it after a confirmation, s changes the order, q exits.\n"
		"Totals and rates are those of the daemon that answers, since its start; the sessions are "
		"those of all\n"
		"nodes. A narrow terminal shows fewer columns. ID is the end of the session id; every "
		"command accepts it.",
	.examples = "agentctl top\n"
		    "agentctl top --sort cost\n"
		    "agentctl top --once\n"
		    "agentctl --json top --once | jq .now",
	.options = { [OPT_ONCE] = { "once", NULL, "print it once and exit" },
		     [OPT_INTERVAL] = { "interval", "SECONDS", "time between updates (2)" },
		     [OPT_SORT] = { "sort", "ORDER",
				    "activity, updated, cost, tokens, turns, waits or title" } },
	.run = top,
};
