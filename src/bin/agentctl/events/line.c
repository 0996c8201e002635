/* One event as one line: time, sequence, type, and the members of its payload that say most. */
#include "events/events.h"

#include <time.h>

#define MEMBER_MAX 100 /* bytes of one member that are shown */

/* What is worth a line: members of the payload by event type, dots go down. */
static const struct {
	const char *type;
	const char *members[4];
} rows[] = {
	{ "session.created", { "title" } },
	{ "thread.started", { "reason", "status" } },
	{ "thread.updated", { "status", "statusDetail", "reason" } },
	{ "turn.submitted", { "status", "inputPreview" } },
	{ "turn.completed", { "stopReason", "usage.outputTokens", "durationMs" } },
	{ "turn.failed", { "status", "error.category", "error.message", "error.recoveryAdvice" } },
	{ "queue.changed", { "change", "queuedTurnId" } },
	{ "task.created", { "title" } },
	{ "task.retrying", { "retryReason", "attemptCount" } },
	{ "task.attempt.started", { "trigger", "attemptCount" } },
	{ "task.attempt.failed", { "status", "failureCategory", "nextAttemptPolicy" } },
	{ "task.failed", { "failureCategory" } },
	{ "task.cancelled", { "reason" } },
	{ "task.blocked", { "statusReason" } },
	{ "task.lost", { "reason" } },
	{ "run.status", { "phase", "title", "detail" } },
	{ "model.requested", { "provider", "model", "attempt" } },
	{ "model.delta", { "offset", "delta" } },
	{ "reasoning.delta", { "offset", "delta" } },
	{ "model.completed", { "stopReason", "usage.outputTokens", "ttftMs", "latencyMs" } },
	{ "model.failed", { "outcome", "error.category", "error.message", "attempt" } },
	{ "tool.started", { "toolName" } },
	{ "tool.failed", { "errorCategory" } },
	{ "action.required", { "toolName", "prompt" } },
	{ "runtime.warning", { "code", "message" } },
	{ "runtime.error", { "code", "message" } },
};

static void print_member(struct ar_out *o, struct ar_json payload, const char *path)
{
	struct ar_json v = ar_api_path(payload, path);
	struct ar_buf text = { 0 };
	struct ar_arena a = { 0 };

	if (ar_json_type(v) == AR_JSON_NONE)
		return;
	ar_json_print(v, &text);
	ar_out_printf(o, " %s=", path);
	ar_out_line(o, ar_arena_excerpt(&a, ar_buf_str(&text), MEMBER_MAX));
	ar_arena_fini(&a);
	ar_buf_fini(&text);
}

static void print_time(struct ar_out *o, ar_usec t)
{
	time_t seconds = (time_t)(t / 1000000);
	struct tm local;

	if (!localtime_r(&seconds, &local))
		return;
	ar_out_printf(o, "%02d-%02d %02d:%02d:%02d.%03d", local.tm_mon + 1, local.tm_mday, local.tm_hour,
		      local.tm_min, local.tm_sec, (int)(t / 1000 % 1000));
}

void ar_event_print(struct ar_out *o, struct ar_json event, bool is_frame, bool names_session)
{
	struct ar_json payload = ar_json_get(event, "payload");
	struct ar_str type = ar_api_str(event, "type");

	ar_out_style(o, AR_STYLE_DIM);
	print_time(o, ar_api_time(event, "timestamp"));
	ar_out_style(o, AR_STYLE_PLAIN);
	ar_out_printf(o, " %6lld%c ", (long long)ar_api_int(event, "sequence"), is_frame ? '+' : ' ');
	if (names_session) {
		ar_out_line(o, ar_api_str(event, "sessionId"));
		ar_out_printf(o, " ");
	}
	ar_out_line(o, type);
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		for (size_t k = 0; k < AR_ARRAY_LEN(rows[i].members) && ar_str_is(type, rows[i].type); k++) {
			if (rows[i].members[k])
				print_member(o, payload, rows[i].members[k]);
		}
	}
	ar_out_printf(o, "\n");
}
