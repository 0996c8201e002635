/* From facts to a task of A2A. A fact that the fold does not know changes nothing. Pure but for the task. */
#include "a2a_task.h"
#include "base64.h"
#include "text/json_depth.h"

#include <string.h>

const struct ar_str ar_a2a_types =
	AR_STR("[\"turn.submitted\",\"task.*\",\"action.required\",\"action.resolved\",\"artifact.changed\","
	       "\"model.completed\",\"run.status\"]");

static struct ar_str text_of(const struct ar_a2a_task *t, struct ar_json object, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(object, name), &text);
	return ar_arena_str(t->arena, text);
}

/* Absent also where the answers that it stands in could not be read. */
static struct ar_str json_in(struct ar_arena *a, struct ar_json v)
{
	struct ar_buf text = { 0 };
	struct ar_str kept;

	if (ar_json_type(v) == AR_JSON_NONE || ar_json_is_deeper(v, AR_JSON_LEVELS))
		return AR_STR_NONE;
	ar_json_print(v, &text);
	kept = ar_arena_str(a, ar_buf_str(&text));
	ar_buf_fini(&text);
	return kept;
}

static struct ar_str json_of(const struct ar_a2a_task *t, struct ar_json v)
{
	return json_in(t->arena, v);
}

/* Ours have microseconds, A2A has milliseconds. */
static struct ar_str time_of(const struct ar_a2a_task *t, struct ar_json fact)
{
	struct ar_str text = text_of(t, fact, "timestamp");

	return text.len > 24 ? ar_arena_fmt(t->arena, "%.23sZ", text.p) : text;
}

static void add_message(struct ar_a2a_task *t, const struct ar_a2a_entry *e)
{
	if (t->history_count == AR_A2A_MESSAGES) {
		memmove(t->history, t->history + 1, (AR_A2A_MESSAGES - 1) * sizeof *t->history);
		t->history_count--;
	}
	t->history[t->history_count++] = *e;
}

/* The note of a status says why; an output is an artifact. */
static unsigned set_state(struct ar_a2a_task *t, struct ar_json fact, enum ar_a2a_state s, struct ar_str note)
{
	t->state = s;
	t->at = time_of(t, fact);
	t->note = note;
	t->note_id = ar_str_absent(note) ? AR_STR_NONE : text_of(t, fact, "eventId");
	return AR_A2A_CHANGED_STATUS;
}

/* ---- where it comes from ---- */

static unsigned on_submitted(struct ar_a2a_task *t, struct ar_json fact, struct ar_json payload)
{
	struct ar_json metadata = ar_json_get(payload, "metadata");
	struct ar_json mine = ar_json_get(metadata, "a2a");

	t->session = text_of(t, fact, "sessionId");
	t->context = text_of(t, mine, "contextId");
	if (ar_str_absent(t->context))
		t->context = t->session;
	ar_json_bool(ar_json_get(mine, "textOnly"), &t->has_no_data);
	t->thread = text_of(t, fact, "threadId");
	t->turn = text_of(t, fact, "turnId");
	t->channel = text_of(t, fact, "channelId");
	t->at = time_of(t, fact);
	t->native = AR_STR("accepted");
	add_message(t, &(struct ar_a2a_entry){ .id = text_of(t, mine, "messageId"),
					       .json = json_of(t, ar_json_get(mine, "parts")),
					       .text = text_of(t, mine, "text"),
					       .is_user = true });
	return 0;
}

static unsigned on_run_status(struct ar_a2a_task *t, struct ar_json fact, struct ar_json payload)
{
	if (ar_str_is(text_of(t, payload, "phase"), "steered"))
		add_message(t, &(struct ar_a2a_entry){ .id = text_of(t, fact, "eventId"),
						       .text = text_of(t, payload, "detail"),
						       .is_user = true });
	return 0;
}

/* ---- questions ---- */

static unsigned on_required(struct ar_a2a_task *t, struct ar_json fact, struct ar_json payload)
{
	struct ar_a2a_question *q;

	if (t->question_count == AR_A2A_ACTIONS)
		return 0;
	q = &t->questions[t->question_count++];
	*q = (struct ar_a2a_question){ .action = text_of(t, fact, "actionId"),
				       .prompt = text_of(t, payload, "prompt"),
				       .decisions = json_of(t, ar_json_get(payload, "decisions")),
				       .schema = json_of(t, ar_json_get(payload, "schema")),
				       .is_credential =
					       ar_str_is(text_of(t, payload, "actionType"), "credential") };
	return 0;
}

static unsigned on_resolved(struct ar_a2a_task *t, struct ar_json fact, struct ar_json payload)
{
	struct ar_str action = text_of(t, fact, "actionId"), said = AR_STR_NONE;

	/* what others say with their answers is not for the client */
	if (ar_str_eq(text_of(t, payload, "channelId"), t->channel))
		said = text_of(t, payload, "comment");
	for (size_t i = 0; i < t->question_count; i++) {
		if (!ar_str_eq(t->questions[i].action, action))
			continue;
		add_message(t, &(struct ar_a2a_entry){
				       .id = text_of(t, fact, "eventId"),
				       .text = ar_str_absent(said) ? text_of(t, payload, "decision") : said,
				       .is_user = true });
		memmove(&t->questions[i], &t->questions[i + 1],
			(t->question_count - i - 1) * sizeof t->questions[0]);
		t->question_count--;
		break;
	}
	return 0;
}

static unsigned on_waiting(struct ar_a2a_task *t, struct ar_json fact, struct ar_json payload)
{
	struct ar_str action = text_of(t, payload, "actionId");
	struct ar_a2a_question *q = NULL;

	t->native = text_of(t, payload, "status");
	for (size_t i = 0; i < t->question_count; i++) {
		if (ar_str_eq(t->questions[i].action, action))
			q = &t->questions[i];
	}
	if (!ar_str_is(t->native, "waiting_permission") && !ar_str_is(t->native, "waiting_input"))
		return set_state(t, fact, AR_A2A_WORKING, text_of(t, payload, "statusReason"));
	if (q) {
		q->is_permission = ar_str_is(t->native, "waiting_permission");
		add_message(t,
			    &(struct ar_a2a_entry){ .id = text_of(t, fact, "eventId"), .text = q->prompt });
	}
	return set_state(t, fact,
			 ar_str_is(t->native, "waiting_input") ? AR_A2A_INPUT_REQUIRED : AR_A2A_AUTH_REQUIRED,
			 q ? q->prompt : text_of(t, payload, "statusReason"));
}

/* ---- output ---- */

static struct ar_a2a_artifact *add_artifact(struct ar_a2a_task *t, struct ar_str id)
{
	for (size_t i = 0; i < t->artifact_count; i++) {
		if (!ar_str_eq(t->artifacts[i].id, id))
			continue;
		t->file_bytes -= t->artifacts[i].bytes;
		ar_arena_fini(&t->artifacts[i].room);
		memmove(&t->artifacts[i], &t->artifacts[i + 1],
			(t->artifact_count - i - 1) * sizeof t->artifacts[0]);
		t->artifact_count--;
		break;
	}
	if (t->artifact_count == AR_A2A_ARTIFACTS)
		return NULL;
	t->artifacts[t->artifact_count] = (struct ar_a2a_artifact){ .id = id };
	return &t->artifacts[t->artifact_count++];
}

/* What a name says of the content; absent: nothing. */
static struct ar_str type_of(struct ar_str path)
{
	static const char *const types[][2] = {
		{ ".txt", "text/plain" },	 { ".log", "text/plain" },
		{ ".md", "text/markdown" },	 { ".csv", "text/csv" },
		{ ".html", "text/html" },	 { ".css", "text/css" },
		{ ".js", "text/javascript" },	 { ".xml", "text/xml" },
		{ ".json", "application/json" }, { ".yaml", "application/yaml" },
		{ ".yml", "application/yaml" },	 { ".pdf", "application/pdf" },
		{ ".zip", "application/zip" },	 { ".gz", "application/gzip" },
		{ ".svg", "image/svg+xml" },	 { ".png", "image/png" },
		{ ".jpg", "image/jpeg" },	 { ".gif", "image/gif" },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(types); i++) {
		if (ar_str_ends(path, ar_str_from(types[i][0])))
			return ar_str_from(types[i][1]);
	}
	return AR_STR_NONE;
}

/* Small ones are shown by their bytes, as far as there is room for them. */
static void place_file(struct ar_a2a_task *t, struct ar_a2a_artifact *f, struct ar_json payload)
{
	int64_t bytes = -1;

	ar_json_i64(ar_json_get(payload, "sizeBytes"), &bytes);
	f->is_link = !ar_str_is(text_of(t, payload, "state"), "available") || bytes < 0 ||
		     bytes > AR_A2A_FILE_BYTES || bytes > AR_A2A_FILES_BYTES - t->file_bytes;
	if (!f->is_link)
		t->file_bytes += f->bytes = bytes;
}

static unsigned on_file(struct ar_a2a_task *t, struct ar_json fact, struct ar_json payload)
{
	struct ar_str change = text_of(t, payload, "change");
	struct ar_a2a_artifact *f;

	if (!ar_str_is(change, "produced") && !ar_str_is(change, "updated"))
		return 0;
	f = add_artifact(t, text_of(t, fact, "artifactId"));
	if (!f)
		return 0;
	f->name = text_of(t, payload, "path");
	f->type = type_of(f->name);
	f->ref = text_of(t, payload, "readRef");
	f->is_file = true;
	place_file(t, f, payload);
	return AR_A2A_CHANGED_ARTIFACT;
}

/* The fact has the beginning of a long answer only. */
static unsigned on_model(struct ar_a2a_task *t, struct ar_json payload)
{
	struct ar_str preview = text_of(t, payload, "preview");
	int64_t bytes = -1;

	ar_json_i64(ar_json_get(payload, "outputBytes"), &bytes);
	t->answer_ref = text_of(t, payload, "outputRef");
	t->answer = (size_t)bytes == preview.len ? preview : AR_STR_NONE;
	return 0;
}

/* An answer that is an object of JSON from its beginning to its end is data. */
static struct ar_str data_of(const struct ar_a2a_task *t, struct ar_a2a_artifact *f, struct ar_str answer)
{
	struct ar_str text = ar_str_trim(answer, " \t\r\n"), data = AR_STR_NONE;
	struct ar_json_parser *parser; /* the facts are in that of the caller */
	struct ar_json v;

	if (t->has_no_data || !ar_str_starts(text, AR_STR("{")) || !ar_str_ends(text, AR_STR("}")))
		return AR_STR_NONE;
	parser = ar_json_parser_new();
	if (ar_json_parse(parser, text, &v, NULL) == AR_OK)
		data = json_in(&f->room, v);
	ar_json_parser_free(parser);
	return data;
}

static void take_answer(struct ar_a2a_task *t, struct ar_a2a_artifact *f, struct ar_str answer)
{
	struct ar_str data = data_of(t, f, answer);

	f->is_data = !ar_str_absent(data);
	f->type = f->is_data ? AR_STR("application/json") : AR_STR("text/plain");
	f->content = f->is_data ? data : ar_arena_str(&f->room, answer);
}

/* The output of the run that ended well is the answer. */
static unsigned on_attempt(struct ar_a2a_task *t, struct ar_json payload)
{
	struct ar_str ref = AR_STR_NONE;
	struct ar_a2a_artifact *f;

	ar_json_str(ar_json_at(ar_json_get(payload, "outputRefs"), 0), &ref);
	if (ar_str_absent(ref))
		return 0;
	f = add_artifact(t, AR_STR("answer"));
	if (!f)
		return 0;
	f->name = AR_STR("answer");
	f->ref = ar_arena_str(t->arena, ref);
	if (ar_str_eq(ref, t->answer_ref) && !ar_str_absent(t->answer))
		take_answer(t, f, t->answer);
	return AR_A2A_CHANGED_ARTIFACT;
}

void ar_a2a_task_fini(struct ar_a2a_task *t)
{
	for (size_t i = 0; i < t->artifact_count; i++)
		ar_arena_fini(&t->artifacts[i].room);
	t->artifact_count = 0;
}

struct ar_a2a_artifact *ar_a2a_unread(struct ar_a2a_task *t)
{
	for (size_t i = 0; i < t->artifact_count; i++) {
		if (!t->artifacts[i].is_link && ar_str_absent(t->artifacts[i].content))
			return &t->artifacts[i];
	}
	return NULL;
}

/* A file of which there is not all, or too much, is shown by its address. */
static void take_file(struct ar_a2a_task *t, struct ar_a2a_artifact *f, struct ar_json output)
{
	struct ar_str content, bytes = AR_STR_NONE;
	struct ar_arena a = { 0 };
	int64_t size = -1;

	if (ar_json_str(ar_json_get(output, "content"), &content)) {
		ar_json_i64(ar_json_get(output, "sizeBytes"), &size);
		if (ar_str_is(text_of(t, output, "encoding"), "base64"))
			ar_base64_decode(&a, content, &bytes);
		else
			bytes = content;
	}
	f->is_link = ar_str_absent(bytes) || (size_t)size != bytes.len || size > AR_A2A_FILE_BYTES;
	if (!f->is_link)
		f->content = ar_base64(&f->room, bytes);
	ar_arena_fini(&a);
}

void ar_a2a_take_output(struct ar_a2a_task *t, struct ar_a2a_artifact *f, struct ar_json output)
{
	struct ar_str content = AR_STR("");

	if (f->is_file) {
		take_file(t, f, output);
		return;
	}
	ar_json_str(ar_json_get(output, "content"), &content);
	take_answer(t, f, content);
}

/* ---- states ---- */

static const struct {
	const char *type;
	enum ar_a2a_state state;
	const char *native;
} states[] = {
	{ "task.created", AR_A2A_SUBMITTED, "accepted" },
	{ "task.accepted", AR_A2A_SUBMITTED, "accepted" },
	{ "task.queued", AR_A2A_SUBMITTED, "queued" },
	{ "task.started", AR_A2A_WORKING, "running" },
	{ "task.resumed", AR_A2A_WORKING, "running" },
	{ "task.paused", AR_A2A_WORKING, "paused" },
	{ "task.retrying", AR_A2A_WORKING, "retrying" },
	{ "task.lost", AR_A2A_WORKING, "lost" },
	{ "task.completed", AR_A2A_COMPLETED, "completed" },
	{ "task.failed", AR_A2A_FAILED, "failed" },
	{ "task.timed_out", AR_A2A_FAILED, "timed_out" },
	{ "task.cancelled", AR_A2A_CANCELED, "cancelled" },
};

/* Why it ended, for those who did not get an output. A hook that blocks it refuses the work. */
static unsigned on_state(struct ar_a2a_task *t, struct ar_json fact, struct ar_json payload, size_t row)
{
	struct ar_str category = text_of(t, payload, "failureCategory"), note = AR_STR_NONE;
	enum ar_a2a_state s = states[row].state;

	if (ar_str_is(category, "blocked_by_hook"))
		s = AR_A2A_REJECTED;
	if (ar_a2a_is_terminal(s)) {
		t->question_count = 0;
		note = text_of(t, ar_json_get(payload, "lastError"), "message");
		if (ar_str_absent(note))
			note = text_of(t, payload, "reason");
	}
	t->native = ar_str_from(states[row].native);
	if (t->state == s && !ar_a2a_is_terminal(s) && ar_str_absent(t->note))
		return 0;
	return set_state(t, fact, s, note);
}

unsigned ar_a2a_fold(struct ar_a2a_task *t, struct ar_json fact)
{
	struct ar_json payload = ar_json_get(fact, "payload");
	struct ar_str type = AR_STR_NONE;
	int64_t sequence = 0;

	ar_json_str(ar_json_get(fact, "type"), &type);
	ar_json_i64(ar_json_get(fact, "sequence"), &sequence);
	if ((uint64_t)sequence > t->sequence)
		t->sequence = (uint64_t)sequence;
	if (ar_str_is(type, "turn.submitted"))
		return on_submitted(t, fact, payload);
	if (ar_str_is(type, "run.status"))
		return on_run_status(t, fact, payload);
	if (ar_str_is(type, "action.required"))
		return on_required(t, fact, payload);
	if (ar_str_is(type, "action.resolved"))
		return on_resolved(t, fact, payload);
	if (ar_str_is(type, "task.waiting"))
		return on_waiting(t, fact, payload);
	if (ar_str_is(type, "artifact.changed"))
		return on_file(t, fact, payload);
	if (ar_str_is(type, "model.completed"))
		return on_model(t, payload);
	if (ar_str_is(type, "task.attempt.completed"))
		return on_attempt(t, payload);
	for (size_t i = 0; i < AR_ARRAY_LEN(states); i++) {
		if (ar_str_is(type, states[i].type))
			return on_state(t, fact, payload, i);
	}
	return 0;
}
