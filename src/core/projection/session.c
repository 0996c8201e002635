/* session_snapshot and the shell that lists show. Pure. */
#include "describe.h"
#include "limits/money.h"
#include "parts/parts.h"
#include "routing.h"

static void threads(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w)
{
	bool is_part = ar_str_absent(shown->thread) && shown->threads.count < s->threads.count;

	ar_jw_key(w, "threads");
	ar_jw_open_array(w);
	for (size_t i = 0; i < shown->threads.count; i++)
		ar_projection_thread(s, shown->threads.at[i], shown, w);
	ar_jw_close_array(w);
	ar_jw_key(w, "threadSummary");
	ar_jw_open(w);
	ar_jw_mint(w, "count", (int64_t)s->threads.count);
	ar_jw_mint(w, "shown", (int64_t)shown->threads.count);
	ar_jw_mbool(w, "truncated", is_part);
	if (is_part) /* it has the ids of the threads of all children; get_thread_read reads each */
		ar_jw_mstr(w, "command", AR_STR("list_subagents"));
	ar_jw_close(w);
}

static void tasks(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w)
{
	ar_jw_key(w, "tasks");
	ar_jw_open_array(w);
	for (size_t i = 0; i < shown->threads.count; i++) {
		const struct ar_thread *t = shown->threads.at[i];

		for (size_t k = 0; k < t->turns.count; k++) {
			const struct ar_turn *turn = t->turns.at[k];

			if (turn->task)
				ar_projection_shown_task(s, turn->task, turn, shown, w);
		}
	}
	for (size_t i = 0; i < s->declared.count; i++) {
		const struct ar_task *task = s->declared.at[i];

		if (ar_str_absent(shown->thread) || ar_str_eq(task->sheet->thread, shown->thread))
			ar_projection_shown_task(s, task, NULL, shown, w);
	}
	ar_jw_close_array(w);
	ar_jw_key(w, "taskSummary");
	if (ar_str_absent(shown->thread))
		ar_projection_shown_summary(s, shown, w);
	else
		ar_projection_task_summary(s, w);
	ar_projection_task_groups(s, shown, w);
}

/* The newest of the threads that are shown. */
static void boundary(const struct ar_shown *shown, struct ar_jw *w)
{
	const struct ar_thread *newest = NULL;
	ar_usec at = -1;

	for (size_t i = 0; i < shown->threads.count; i++) {
		const struct ar_thread *t = shown->threads.at[i];
		const struct ar_boundary *b = ar_thread_boundary(t, INT64_MAX);

		if ((b ? b->at : 0) <= at)
			continue;
		newest = t;
		at = b ? b->at : 0;
	}
	if (!newest)
		return;
	ar_jw_key(w, "contextBoundary");
	ar_projection_boundary(newest, w);
}

static void texts(struct ar_jw *w, const char *name, struct ar_texts list)
{
	ar_jw_key(w, name);
	ar_jw_open_array(w);
	for (size_t i = 0; i < list.count; i++)
		ar_jw_str(w, list.at[i]);
	ar_jw_close_array(w);
}

static void shell_lists(const struct ar_session *s, struct ar_jw *w)
{
	ar_jw_mbool(w, "archived", s->archived.v);
	ar_jw_key(w, "activeThreadIds");
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		if (!ar_str_absent(t->active_turn))
			ar_jw_str(w, t->id);
	}
	ar_jw_close_array(w);
	texts(w, "pinnedThreadIds", s->pinned);
}

void ar_projection_session(const struct ar_session *s, struct ar_str runtime_id,
			   const struct ar_projection_scope *of, struct ar_jw *w)
{
	static const char *const unavailable[] = { "benchmarkSummary" };
	struct ar_shown shown;

	ar_jw_mstr(w, "schemaVersion", AR_STR(AR_SCHEMA_VERSION));
	ar_jw_mstr(w, "runtimeId", runtime_id);
	ar_jw_mstr(w, "sessionId", s->id);
	ar_jw_mstr(w, "title", s->title);
	ar_jw_mstr(w, "workspaceId", s->workspace);
	ar_jw_mstr(w, "accountRef", s->account);
	ar_jw_mstr(w, "status", ar_projection_status(s));
	shell_lists(s, w);
	ar_jw_mtime(w, "createdAt", s->created);
	ar_jw_mtime(w, "updatedAt", s->updated);
	ar_projection_show(s, of, &shown);
	threads(s, &shown, w);
	tasks(s, &shown, w);
	boundary(&shown, w);
	ar_projection_routing_summary(s, shown.thread, w);
	ar_projection_permission(s, NULL, w);
	ar_jw_key(w, "telemetrySummary");
	ar_projection_telemetry(s, &shown.threads, w);
	for (size_t i = 0; i < AR_ARRAY_LEN(unavailable); i++)
		ar_jw_mraw(w, unavailable[i], AR_STR("{\"state\":\"unavailable\"}"));
	ar_projection_subagent_summary(s, &shown, w);
	/* It depends on more than the session: who asks, and what the host has. */
	ar_jw_mraw(w, "toolInventory",
		   AR_STR("{\"state\":\"available\",\"command\":\"get_tool_inventory\"}"));
	ar_projection_artifact_summary(s, shown.thread, w);
	ar_projection_channel_summary(s, w);
	ar_projection_session_parts(s, &shown, w);
	ar_projection_evidence_refs(s, shown.thread, w);
	ar_jw_mint(w, "asOfSequence", (int64_t)s->head);
	ar_arena_fini(&shown.arena);
}

struct ar_str ar_projection_status(const struct ar_session *s)
{
	static const int loudest[] = { AR_THREAD_STATUS_RUNNING, AR_THREAD_STATUS_BLOCKED,
				       AR_THREAD_STATUS_STALE };

	for (size_t k = 0; k < AR_ARRAY_LEN(loudest); k++) {
		for (size_t i = 0; i < s->threads.count; i++) {
			if (((const struct ar_thread *)s->threads.at[i])->status == loudest[k])
				return ar_str_from(ar_enum_name(&ar_thread_status_desc, loudest[k]));
		}
	}
	return AR_STR("idle");
}

/* Of all its turns; an amount only where there is one. */
static void write_spent(const struct ar_session *s, struct ar_jw *w)
{
	struct ar_arena a = { 0 };

	if (s->spent.requests > 0) {
		ar_jw_mint(w, "requests", s->spent.requests);
		ar_jw_mint(w, "tokens", s->spent.input_tokens + s->spent.output_tokens);
	}
	if (s->spent.cost > 0) {
		ar_jw_mraw(w, "cost", ar_money_text(&a, s->spent.cost));
		ar_jw_mstr(w, "currency", s->currency);
	}
	ar_arena_fini(&a);
}

/* What counts for quotas of the tenant; read again after a restart (core/engine/quota). */
static void write_day(const struct ar_session *s, struct ar_jw *w)
{
	if (!s->day.number.set)
		return;
	ar_jw_key(w, "usageDay");
	ar_jw_open(w);
	ar_jw_mint(w, "day", s->day.number.v);
	ar_jw_mint(w, "tokens", s->day.tokens.v);
	ar_jw_mint(w, "costNano", s->day.cost.v);
	ar_jw_close(w);
}

void ar_projection_shell(const struct ar_session *s, struct ar_jw *w)
{
	size_t queued = 0;

	for (size_t i = 0; i < s->threads.count; i++)
		queued += ((const struct ar_thread *)s->threads.at[i])->queue.count;
	ar_jw_open(w);
	ar_jw_mstr(w, "sessionId", s->id);
	ar_jw_mstr(w, "title", s->title);
	ar_jw_mstr(w, "status", ar_projection_status(s));
	ar_jw_mstr(w, "workspaceId", s->workspace);
	ar_jw_mint(w, "threads", (int64_t)s->threads.count);
	ar_jw_mint(w, "queuedTurns", (int64_t)queued);
	ar_jw_mint(w, "turns", s->counters.task - s->declared_count.v);
	if (s->archived.v) /* rows of other sessions stay as older versions wrote them */
		ar_jw_mbool(w, "archived", true);
	if (s->pinned.count > 0)
		texts(w, "pinnedThreadIds", s->pinned);
	write_spent(s, w);
	write_day(s, w);
	ar_jw_mtime(w, "createdAt", s->created);
	ar_jw_mtime(w, "updatedAt", s->updated);
	ar_jw_mint(w, "asOfSequence", (int64_t)s->head);
	ar_jw_close(w);
}
