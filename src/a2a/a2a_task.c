/* A task of A2A as JSON. Pure functions, any thread. */
#include "a2a_task.h"

static const char *const names[AR_A2A_STATE_COUNT] = {
	[AR_A2A_SUBMITTED] = "TASK_STATE_SUBMITTED",
	[AR_A2A_WORKING] = "TASK_STATE_WORKING",
	[AR_A2A_INPUT_REQUIRED] = "TASK_STATE_INPUT_REQUIRED",
	[AR_A2A_AUTH_REQUIRED] = "TASK_STATE_AUTH_REQUIRED",
	[AR_A2A_COMPLETED] = "TASK_STATE_COMPLETED",
	[AR_A2A_FAILED] = "TASK_STATE_FAILED",
	[AR_A2A_CANCELED] = "TASK_STATE_CANCELED",
	[AR_A2A_REJECTED] = "TASK_STATE_REJECTED",
};

struct ar_str ar_a2a_state_name(enum ar_a2a_state s)
{
	return ar_str_from(names[s]);
}

bool ar_a2a_state_of(struct ar_str name, enum ar_a2a_state *ret)
{
	for (int i = 0; i < AR_A2A_STATE_COUNT; i++) {
		if (ar_str_is(name, names[i])) {
			*ret = (enum ar_a2a_state)i;
			return true;
		}
	}
	return false;
}

static void write_text_part(struct ar_jw *w, struct ar_str text, struct ar_str type)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "text", text);
	ar_jw_mstr(w, "mediaType", type);
	ar_jw_close(w);
}

static void write_message(struct ar_jw *w, const struct ar_a2a_task *t, const struct ar_a2a_entry *e)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "messageId", e->id);
	ar_jw_mstr(w, "contextId", t->context);
	ar_jw_mstr(w, "taskId", t->id);
	ar_jw_mstr(w, "role", e->is_user ? AR_STR("ROLE_USER") : AR_STR("ROLE_AGENT"));
	ar_jw_key(w, "parts");
	if (!ar_str_absent(e->json)) {
		ar_jw_raw(w, e->json);
	} else {
		ar_jw_open_array(w);
		write_text_part(w, ar_str_absent(e->text) ? AR_STR("") : e->text, AR_STR_NONE);
		ar_jw_close_array(w);
	}
	ar_jw_close(w);
}

/* What the question is and how it is answered, for programs. */
static void write_question(struct ar_jw *w, const struct ar_a2a_question *q)
{
	ar_jw_open(w);
	ar_jw_key(w, "data");
	ar_jw_open(w);
	ar_jw_mstr(w, "actionId", q->action);
	ar_jw_mraw(w, "decisions", q->decisions);
	ar_jw_mraw(w, "schema", q->schema);
	ar_jw_close(w);
	ar_jw_mstr(w, "mediaType", AR_STR("application/json"));
	ar_jw_close(w);
}

static void write_note(struct ar_jw *w, const struct ar_a2a_task *t)
{
	ar_jw_key(w, "message");
	ar_jw_open(w);
	ar_jw_mstr(w, "messageId", t->note_id);
	ar_jw_mstr(w, "contextId", t->context);
	ar_jw_mstr(w, "taskId", t->id);
	ar_jw_mstr(w, "role", AR_STR("ROLE_AGENT"));
	ar_jw_key(w, "parts");
	ar_jw_open_array(w);
	write_text_part(w, t->note, AR_STR("text/plain"));
	for (size_t i = 0; i < t->question_count && ar_a2a_is_interrupted(t->state); i++)
		write_question(w, &t->questions[i]);
	ar_jw_close_array(w);
	ar_jw_close(w);
}

static void write_status(struct ar_jw *w, const struct ar_a2a_task *t)
{
	ar_jw_key(w, "status");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", ar_a2a_state_name(t->state));
	if (!ar_str_absent(t->note))
		write_note(w, t);
	ar_jw_mstr(w, "timestamp", t->at);
	ar_jw_close(w);
}

static void write_file_part(struct ar_jw *w, const struct ar_a2a_task *t, const struct ar_a2a_artifact *f)
{
	ar_jw_open(w);
	if (f->is_link) {
		ar_jw_key(w, "url");
		ar_buf_addf(w->out, "\"%.*s/v1/outputs/%.*s\"", AR_STR_ARG(t->base), AR_STR_ARG(f->ref));
		w->comma = true;
	} else {
		ar_jw_mstr(w, "raw", f->content);
	}
	ar_jw_mstr(w, "filename", f->name);
	ar_jw_mstr(w, "mediaType", f->type);
	ar_jw_close(w);
}

static void write_data_part(struct ar_jw *w, struct ar_str json)
{
	ar_jw_open(w);
	ar_jw_mraw(w, "data", json);
	ar_jw_mstr(w, "mediaType", AR_STR("application/json"));
	ar_jw_close(w);
}

static void write_artifact(struct ar_jw *w, const struct ar_a2a_task *t, const struct ar_a2a_artifact *f)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "artifactId", f->id);
	ar_jw_mstr(w, "name", f->name);
	ar_jw_key(w, "parts");
	ar_jw_open_array(w);
	if (f->is_file)
		write_file_part(w, t, f);
	else if (f->is_data)
		write_data_part(w, f->content);
	else
		write_text_part(w, ar_str_absent(f->content) ? AR_STR("") : f->content, f->type);
	ar_jw_close_array(w);
	ar_jw_close(w);
}

/* Our own word, and for those who asked the place in the log. */
static void write_metadata(struct ar_jw *w, const struct ar_a2a_task *t, struct ar_str cursor)
{
	ar_jw_key(w, "metadata");
	ar_jw_open(w);
	ar_jw_mstr(w, "nativeStatus", t->native);
	ar_jw_mstr(w, AR_A2A_CURSOR_EXTENSION, cursor);
	ar_jw_close(w);
}

static void write_history(struct ar_jw *w, const struct ar_a2a_task *t, int64_t history)
{
	size_t from = 0;

	if (!history)
		return;
	if (history > 0 && (uint64_t)history < t->history_count)
		from = t->history_count - (size_t)history;
	ar_jw_key(w, "history");
	ar_jw_open_array(w);
	for (size_t i = from; i < t->history_count; i++)
		write_message(w, t, &t->history[i]);
	ar_jw_close_array(w);
}

void ar_a2a_write_task(struct ar_jw *w, const struct ar_a2a_task *t, int64_t history, bool has_artifacts,
		       struct ar_str cursor)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "id", t->id);
	ar_jw_mstr(w, "contextId", t->context);
	write_status(w, t);
	if (has_artifacts) {
		ar_jw_key(w, "artifacts");
		ar_jw_open_array(w);
		for (size_t i = 0; i < t->artifact_count; i++)
			write_artifact(w, t, &t->artifacts[i]);
		ar_jw_close_array(w);
	}
	write_history(w, t, history);
	write_metadata(w, t, cursor);
	ar_jw_close(w);
}

void ar_a2a_write_status_update(struct ar_jw *w, const struct ar_a2a_task *t, struct ar_str cursor)
{
	ar_jw_open(w);
	ar_jw_key(w, "statusUpdate");
	ar_jw_open(w);
	ar_jw_mstr(w, "taskId", t->id);
	ar_jw_mstr(w, "contextId", t->context);
	write_status(w, t);
	write_metadata(w, t, cursor);
	ar_jw_close(w);
	ar_jw_close(w);
}

void ar_a2a_write_artifact_update(struct ar_jw *w, const struct ar_a2a_task *t, struct ar_str cursor)
{
	ar_jw_open(w);
	ar_jw_key(w, "artifactUpdate");
	ar_jw_open(w);
	ar_jw_mstr(w, "taskId", t->id);
	ar_jw_mstr(w, "contextId", t->context);
	ar_jw_key(w, "artifact");
	write_artifact(w, t, &t->artifacts[t->artifact_count - 1]);
	ar_jw_mbool(w, "append", false);
	ar_jw_mbool(w, "lastChunk", true);
	write_metadata(w, t, cursor);
	ar_jw_close(w);
	ar_jw_close(w);
}
