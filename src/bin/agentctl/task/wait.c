/* `agentctl task wait`: until a task has ended, with its end as the exit. */
#include "clock.h"
#include "resolve.h"
#include "task/task.h"

#include <string.h>
#include <time.h>

#define LOOK_MS 500
#define STATUS_MAX 64

static ar_usec mono(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->mono(clock);
}

static bool is_over(struct ar_str status)
{
	static const char *const words[] = { "completed", "failed",   "timed_out",
					     "cancelled", "archived", "lost" };

	for (size_t i = 0; i < AR_ARRAY_LEN(words); i++) {
		if (ar_str_is(status, words[i]))
			return true;
	}
	return false;
}

/* Each status once, with what it waits for: somebody may have to answer. */
static void note(struct ar_ctl *c, struct ar_json task, char shown[STATUS_MAX])
{
	struct ar_str status = ar_api_str(task, "status"), reason = ar_api_str(task, "statusReason");

	if (ar_str_is(status, shown) || status.len >= STATUS_MAX || is_over(status))
		return;
	memcpy(shown, status.p, status.len);
	shown[status.len] = '\0';
	ar_ctl_note(c, "%.*s%s%.*s", AR_STR_ARG(status), ar_str_empty(reason) ? "" : ": ",
		    AR_STR_ARG(ar_str_absent(reason) ? AR_STR("") : reason));
}

static enum ar_exit finish(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_task_print_status(c, r);
	return ar_str_is(ar_api_str(r->doc, "status"), "completed") ? AR_EXIT_OK : AR_EXIT_FAILED;
}

/* One look; true: *ret is the exit. */
static bool look_at_task(struct ar_ctl *c, struct ar_str body, char shown[STATUS_MAX], enum ar_exit *ret)
{
	struct ar_api_reply reply;
	bool is_end;

	*ret = ar_api_call(c, "get_task", body, &reply);
	is_end = *ret != AR_EXIT_OK || is_over(ar_api_str(reply.doc, "status"));
	if (*ret == AR_EXIT_OK && is_end)
		*ret = finish(c, &reply);
	else if (*ret == AR_EXIT_OK)
		note(c, reply.doc, shown);
	ar_api_fini(&reply);
	return is_end;
}

enum ar_exit ar_task_wait(struct ar_ctl *c, struct ar_str task, const char *timeout)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	struct ar_str body = ar_resolve_body(c, "taskId", task);
	char shown[STATUS_MAX] = "";
	ar_usec most = 0, began = mono();
	enum ar_exit exit;

	if (timeout && !ar_ctl_parse_span(ar_str_from(timeout), &most))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("such as --timeout 10m"),
				       "--timeout needs a span of time");
	while (!look_at_task(c, body, shown, &exit)) {
		if (timeout && mono() - began >= most)
			return ar_ctl_complain(c, AR_EXIT_TIMEOUT, AR_STR_NONE, "the task has not ended: %s",
					       shown);
		nanosleep(&pause, NULL);
	}
	return exit;
}
