/* See reader.h. Tasks, messages, artifacts, and what a peer reports as an error; cards are in
 * reader_card.c. Pure functions. */
#include "base64.h"
#include "reader.h"
#include "reader_priv.h"
#include "text/harmless.h"

#define WORD_MAX 64 /* bytes of a state */
#define REASON_MAX 300
#define PAGE_MAX 1024

enum ar_peer_error ar_a2a_broken(struct ar_a2a_reading *r, const char *why)
{
	r->why = why;
	return AR_PEER_PROTOCOL;
}

static enum ar_peer_error too_large(struct ar_a2a_reading *r, const char *why)
{
	r->why = why;
	return AR_PEER_TOO_LARGE;
}

/* ---- members ---- */

bool ar_a2a_line(struct ar_a2a_reading *r, struct ar_json v, const char *name, size_t max, struct ar_str *ret)
{
	struct ar_str text;

	if (!ar_json_str(ar_json_get(v, name), &text) || !ar_str_is_line(text, max))
		return false;
	*ret = ar_arena_str(r->arena, text);
	return true;
}

bool ar_a2a_optional_line(struct ar_a2a_reading *r, struct ar_json v, const char *name, size_t max,
			  struct ar_str *ret)
{
	struct ar_json member = ar_json_get(v, name);
	struct ar_str text;

	*ret = AR_STR_NONE;
	if (ar_json_type(member) == AR_JSON_NONE || ar_json_type(member) == AR_JSON_NULL ||
	    (ar_json_str(member, &text) && text.len == 0))
		return true;
	return ar_a2a_line(r, v, name, max, ret);
}

static bool is_true(struct ar_json v, const char *name)
{
	bool is = false;

	return ar_json_bool(ar_json_get(v, name), &is) && is;
}

/* ---- states ---- */

static const struct {
	const char *word, *old;
	enum ar_peer_state state;
} states[] = {
	{ "TASK_STATE_SUBMITTED", "submitted", AR_PEER_STATE_SUBMITTED },
	{ "TASK_STATE_WORKING", "working", AR_PEER_STATE_WORKING },
	{ "TASK_STATE_INPUT_REQUIRED", "input-required", AR_PEER_STATE_INPUT_REQUIRED },
	{ "TASK_STATE_AUTH_REQUIRED", "auth-required", AR_PEER_STATE_AUTH_REQUIRED },
	{ "TASK_STATE_COMPLETED", "completed", AR_PEER_STATE_COMPLETED },
	{ "TASK_STATE_FAILED", "failed", AR_PEER_STATE_FAILED },
	{ "TASK_STATE_CANCELED", "canceled", AR_PEER_STATE_CANCELED },
	{ "TASK_STATE_REJECTED", "rejected", AR_PEER_STATE_REJECTED },
};

enum ar_peer_state ar_a2a_state(struct ar_str word)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(states); i++) {
		if (ar_str_is(word, states[i].word) || ar_str_is(word, states[i].old))
			return states[i].state;
	}
	return AR_PEER_STATE_UNKNOWN;
}

/* ---- parts ---- */

static enum ar_peer_error count_bytes(struct ar_a2a_reading *r, size_t bytes)
{
	if (bytes > r->bytes_max - r->bytes)
		return too_large(r, "its artifacts are larger than the settings allow");
	r->bytes += bytes;
	return AR_PEER_OK;
}

static enum ar_peer_error read_text(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_part *ret)
{
	struct ar_str text;

	if (!ar_json_str(v, &text) || !ar_str_is_text(text))
		return ar_a2a_broken(r, "the text of a part is no text");
	ret->bytes = ar_arena_str(r->arena, text);
	return count_bytes(r, text.len);
}

static enum ar_peer_error read_raw(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_part *ret)
{
	struct ar_str text;

	if (!ar_json_str(v, &text))
		return ar_a2a_broken(r, "the bytes of a part are no text");
	/* Before it is decoded: the text is in memory already, the bytes are not. */
	if (count_bytes(r, text.len / 4 * 3) != AR_PEER_OK)
		return AR_PEER_TOO_LARGE;
	if (!ar_base64_decode(r->arena, text, &ret->bytes) &&
	    !ar_base64url_decode(r->arena, ar_str_trim(text, "="), &ret->bytes))
		return ar_a2a_broken(r, "the bytes of a part are no base64");
	return AR_PEER_OK;
}

static enum ar_peer_error read_url(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_part *ret)
{
	struct ar_str text;

	if (!ar_json_str(v, &text) || !ar_str_is_line(text, 8192))
		return ar_a2a_broken(r, "the address of a part is none");
	ret->bytes = ar_arena_str(r->arena, text);
	return AR_PEER_OK;
}

static enum ar_peer_error read_json(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_part *ret)
{
	struct ar_buf text = { .cap = r->bytes_max - r->bytes + 1 };
	enum ar_peer_error error;

	ar_json_print(v, &text);
	error = text.failed ? too_large(r, "its artifacts are larger than the settings allow")
			    : count_bytes(r, text.len);
	if (error == AR_PEER_OK)
		ret->bytes = ar_arena_str(r->arena, ar_buf_str(&text));
	ar_buf_fini(&text);
	return error;
}

static const struct {
	const char *name;
	enum ar_peer_part_kind kind;
	enum ar_peer_error (*read)(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_part *ret);
} kinds[] = {
	{ "text", AR_PEER_PART_TEXT, read_text },
	{ "raw", AR_PEER_PART_RAW, read_raw },
	{ "url", AR_PEER_PART_URL, read_url },
	{ "data", AR_PEER_PART_DATA, read_json },
};

static enum ar_peer_error read_part(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_part *ret)
{
	enum ar_peer_error error = AR_PEER_OK;

	for (size_t i = 0; i < AR_ARRAY_LEN(kinds) && error == AR_PEER_OK; i++) {
		struct ar_json content = ar_json_get(v, kinds[i].name);

		if (ar_json_type(content) == AR_JSON_NONE)
			continue;
		if (ret->kind)
			return ar_a2a_broken(r, "a part has two contents");
		ret->kind = kinds[i].kind;
		error = kinds[i].read(r, content, ret);
	}
	if (error != AR_PEER_OK)
		return error;
	if (!ret->kind)
		return ar_a2a_broken(r, "a part has no content");
	if (!ar_a2a_optional_line(r, v, "mediaType", AR_A2A_ID_MAX, &ret->media_type) ||
	    !ar_a2a_optional_line(r, v, "filename", AR_A2A_ID_MAX, &ret->name))
		return ar_a2a_broken(r, "the type or name of a part is no line of text");
	return AR_PEER_OK;
}

static enum ar_peer_error read_parts(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_part **ret,
				     size_t *ret_count)
{
	size_t count = ar_json_len(v);
	struct ar_peer_part *parts;
	size_t i = 0;

	if (ar_json_type(v) != AR_JSON_ARRAY)
		return ar_a2a_broken(r, "there is no list of parts");
	if (count > AR_A2A_PARTS_MAX)
		return too_large(r, "there are too many parts");
	parts = ar_arena_alloc(r->arena, (count + 1) * sizeof(*parts));
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it); i++) {
		enum ar_peer_error error = read_part(r, it.value, &parts[i]);

		if (error != AR_PEER_OK)
			return error;
	}
	*ret = parts;
	*ret_count = count;
	return AR_PEER_OK;
}

/* ---- messages ---- */

/* The text parts, with line ends between; other parts of a message are no text to show. Not counted as
 * artifacts: a message is cut instead. */
static struct ar_str join_texts(struct ar_a2a_reading *r, struct ar_json parts)
{
	struct ar_buf all = { 0 };
	struct ar_str text, whole;

	for (struct ar_json_iter it = ar_json_iter(parts); ar_json_next(&it);) {
		if (!ar_json_str(ar_json_get(it.value, "text"), &text) || !ar_str_is_text(text))
			continue;
		if (all.len > 0)
			ar_buf_addc(&all, '\n');
		ar_buf_adds(&all, ar_str_sub(text, 0, AR_A2A_MESSAGE_MAX + 4));
		if (all.len > AR_A2A_MESSAGE_MAX)
			break;
	}
	whole = ar_arena_str(r->arena, ar_str_utf8_prefix(ar_buf_str(&all), AR_A2A_MESSAGE_MAX));
	ar_buf_fini(&all);
	return whole;
}

static enum ar_peer_error read_message(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_update *ret)
{
	struct ar_json parts = ar_json_get(v, "parts");

	if (ar_json_type(v) != AR_JSON_OBJECT)
		return ar_a2a_broken(r, "a message is no object");
	if (ar_json_type(parts) != AR_JSON_ARRAY || ar_json_len(parts) > AR_A2A_PARTS_MAX)
		return ar_a2a_broken(r, "a message has no list of parts, or too many");
	if (!ar_a2a_optional_line(r, v, "messageId", AR_A2A_ID_MAX, &ret->message_id))
		return ar_a2a_broken(r, "the id of a message is no line of text");
	ret->message = join_texts(r, parts);
	return AR_PEER_OK;
}

/* ---- tasks ---- */

static enum ar_peer_error read_status(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_update *ret)
{
	struct ar_json message = ar_json_get(v, "message");
	struct ar_str time;

	if (!ar_a2a_line(r, v, "state", WORD_MAX, &ret->native_status))
		return ar_a2a_broken(r, "a status has no state");
	ret->state = ar_a2a_state(ret->native_status);
	if (ar_json_str(ar_json_get(v, "timestamp"), &time) && !ar_time_parse(time, &ret->time))
		ret->time = 0;
	if (ar_json_type(message) == AR_JSON_NONE || ar_json_type(message) == AR_JSON_NULL)
		return AR_PEER_OK;
	return read_message(r, message, ret);
}

static enum ar_peer_error read_artifact(struct ar_a2a_reading *r, struct ar_json v,
					struct ar_peer_artifact *ret)
{
	struct ar_peer_part *parts = NULL;
	enum ar_peer_error error;

	if (!ar_a2a_line(r, v, "artifactId", AR_A2A_ID_MAX, &ret->id))
		return ar_a2a_broken(r, "an artifact has no id");
	if (!ar_a2a_optional_line(r, v, "name", AR_A2A_ID_MAX, &ret->name))
		return ar_a2a_broken(r, "the name of an artifact is no line of text");
	if (!ar_a2a_optional_line(r, v, "description", 4096, &ret->description))
		ret->description = AR_STR_NONE;
	error = read_parts(r, ar_json_get(v, "parts"), &parts, &ret->part_count);
	ret->parts = parts;
	return error;
}

static bool has_id(const struct ar_peer_artifact *at, size_t count, struct ar_str id)
{
	for (size_t i = 0; i < count; i++) {
		if (ar_str_eq(at[i].id, id))
			return true;
	}
	return false;
}

static enum ar_peer_error read_artifacts(struct ar_a2a_reading *r, struct ar_json v,
					 struct ar_peer_update *ret)
{
	size_t count = ar_json_len(v), i = 0;
	struct ar_peer_artifact *at;

	if (ar_json_type(v) == AR_JSON_NONE || ar_json_type(v) == AR_JSON_NULL)
		return AR_PEER_OK;
	if (ar_json_type(v) != AR_JSON_ARRAY)
		return ar_a2a_broken(r, "the artifacts of a task are no list");
	if (count > AR_A2A_ARTIFACTS_MAX)
		return too_large(r, "a task has too many artifacts");
	at = ar_arena_alloc(r->arena, (count + 1) * sizeof(*at));
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it); i++) {
		enum ar_peer_error error = read_artifact(r, it.value, &at[i]);

		if (error != AR_PEER_OK)
			return error;
		if (has_id(at, i, at[i].id))
			return ar_a2a_broken(r, "two artifacts of a task have one id");
		at[i].is_last = true;
	}
	ret->artifacts = at;
	ret->artifact_count = count;
	return AR_PEER_OK;
}

enum ar_peer_error ar_a2a_read_task(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_update *ret)
{
	struct ar_json artifacts = ar_json_get(v, "artifacts");
	enum ar_peer_error error;

	*ret = (struct ar_peer_update){ .is_whole = true };
	if (!ar_a2a_line(r, v, "id", AR_A2A_ID_MAX, &ret->task_id))
		return ar_a2a_broken(r, "a task has no id");
	if (!ar_a2a_optional_line(r, v, "contextId", AR_A2A_ID_MAX, &ret->context_id))
		return ar_a2a_broken(r, "the context of a task is no line of text");
	error = read_status(r, ar_json_get(v, "status"), ret);
	return error == AR_PEER_OK ? read_artifacts(r, artifacts, ret) : error;
}

/* ---- events ---- */

static bool read_ids(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_update *ret)
{
	return ar_a2a_line(r, v, "taskId", AR_A2A_ID_MAX, &ret->task_id) &&
	       ar_a2a_optional_line(r, v, "contextId", AR_A2A_ID_MAX, &ret->context_id);
}

static enum ar_peer_error read_status_update(struct ar_a2a_reading *r, struct ar_json v,
					     struct ar_peer_update *ret)
{
	if (!read_ids(r, v, ret))
		return ar_a2a_broken(r, "an update names no task");
	return read_status(r, ar_json_get(v, "status"), ret);
}

static enum ar_peer_error read_artifact_update(struct ar_a2a_reading *r, struct ar_json v,
					       struct ar_peer_update *ret)
{
	struct ar_peer_artifact *artifact = ar_arena_alloc(r->arena, sizeof(*artifact));

	if (!read_ids(r, v, ret))
		return ar_a2a_broken(r, "an update names no task");
	artifact->is_append = is_true(v, "append");
	artifact->is_last = is_true(v, "lastChunk");
	ret->artifacts = artifact;
	ret->artifact_count = 1;
	return read_artifact(r, ar_json_get(v, "artifact"), artifact);
}

static enum ar_peer_error read_answer_message(struct ar_a2a_reading *r, struct ar_json v,
					      struct ar_peer_update *ret)
{
	if (!ar_a2a_optional_line(r, v, "taskId", AR_A2A_ID_MAX, &ret->task_id) ||
	    !ar_a2a_optional_line(r, v, "contextId", AR_A2A_ID_MAX, &ret->context_id))
		return ar_a2a_broken(r, "the task of a message is no line of text");
	return read_message(r, v, ret);
}

static const struct {
	const char *name;
	enum ar_peer_error (*read)(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_update *ret);
} events[] = {
	{ "task", ar_a2a_read_task },
	{ "message", read_answer_message },
	{ "statusUpdate", read_status_update },
	{ "artifactUpdate", read_artifact_update },
};

enum ar_peer_error ar_a2a_read_event(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_update *ret)
{
	struct ar_json found = { 0 };
	size_t which = AR_ARRAY_LEN(events);

	for (size_t i = 0; i < AR_ARRAY_LEN(events); i++) {
		struct ar_json member = ar_json_get(v, events[i].name);

		if (ar_json_type(member) == AR_JSON_NONE)
			continue;
		if (which < AR_ARRAY_LEN(events))
			return ar_a2a_broken(r, "an answer is two things at once");
		which = i;
		found = member;
	}
	if (which == AR_ARRAY_LEN(events))
		return ar_a2a_broken(r, "an answer is neither task nor message nor update");
	*ret = (struct ar_peer_update){ 0 };
	return events[which].read(r, found, ret);
}

bool ar_a2a_push_task(struct ar_json v, struct ar_str *ret)
{
	struct ar_json about = v, id;

	*ret = AR_STR_NONE;
	if (ar_json_type(v) != AR_JSON_OBJECT)
		return false;
	for (size_t i = 0; i < AR_ARRAY_LEN(events); i++) {
		if (ar_json_type(ar_json_get(v, events[i].name)) == AR_JSON_OBJECT)
			about = ar_json_get(v, events[i].name);
	}
	id = ar_json_get(about, "taskId");
	if (ar_json_type(id) == AR_JSON_NONE)
		id = ar_json_get(about, "id");
	if (ar_json_type(id) == AR_JSON_NONE)
		return true;
	return ar_json_str(id, ret) && ar_str_is_line(*ret, AR_A2A_ID_MAX);
}

enum ar_peer_error ar_a2a_read_list(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_update **ret,
				    size_t *ret_count, struct ar_str *ret_next)
{
	struct ar_json tasks = ar_json_get(v, "tasks");
	size_t count = ar_json_len(tasks), i = 0;
	struct ar_peer_update *at;

	if (ar_json_type(tasks) != AR_JSON_ARRAY)
		return ar_a2a_broken(r, "there is no list of tasks");
	if (count > AR_A2A_TASKS_MAX)
		return too_large(r, "a page has too many tasks");
	if (!ar_a2a_optional_line(r, v, "nextPageToken", PAGE_MAX, ret_next))
		return ar_a2a_broken(r, "the token of the next page is no line of text");
	at = ar_arena_alloc(r->arena, (count + 1) * sizeof(*at));
	for (struct ar_json_iter it = ar_json_iter(tasks); ar_json_next(&it); i++) {
		enum ar_peer_error error = ar_a2a_read_task(r, it.value, &at[i]);

		if (error != AR_PEER_OK)
			return error;
		/* Lists leave artifacts out. */
		at[i].is_whole = at[i].artifact_count > 0;
	}
	*ret = at;
	*ret_count = count;
	return AR_PEER_OK;
}

/* ---- errors ---- */

#define JSONRPC_METHOD (-32601)
#define TASK_NOT_FOUND (-32001)

static enum ar_peer_error error_of_code(int64_t code)
{
	static const struct {
		int32_t code;
		enum ar_peer_error error;
	} known[] = {
		{ TASK_NOT_FOUND, AR_PEER_NOT_FOUND },
		{ -32003, AR_PEER_UNSUPPORTED }, /* PushNotificationNotSupported */
		{ -32004, AR_PEER_UNSUPPORTED }, /* UnsupportedOperation */
		{ -32006, AR_PEER_PROTOCOL }, /* InvalidAgentResponse */
		{ -32008, AR_PEER_UNSUPPORTED }, /* ExtensionSupportRequired */
		{ -32009, AR_PEER_UNSUPPORTED }, /* VersionNotSupported */
		{ JSONRPC_METHOD, AR_PEER_UNSUPPORTED },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(known); i++) {
		if (known[i].code == code)
			return known[i].error;
	}
	return AR_PEER_REFUSED;
}

static struct ar_str sentence(struct ar_a2a_reading *r, struct ar_json v)
{
	struct ar_buf text = { 0 };
	struct ar_str said;

	if (!ar_json_str(v, &said))
		return AR_STR_NONE;
	ar_harmless_add(&text, ar_str_utf8_prefix(said, REASON_MAX), AR_HARMLESS_LINE);
	said = ar_arena_str(r->arena, ar_buf_str(&text));
	ar_buf_fini(&text);
	return said;
}

static enum ar_peer_error read_fault(struct ar_a2a_reading *r, struct ar_json error, struct ar_a2a_fault *ret)
{
	int64_t code = 0;

	if (!ar_json_i64(ar_json_get(error, "code"), &code) || code < INT32_MIN || code > INT32_MAX)
		return ar_a2a_broken(r, "an error has no code");
	*ret = (struct ar_a2a_fault){ (int32_t)code, sentence(r, ar_json_get(error, "message")) };
	r->why = "the peer reports an error";
	return error_of_code(code);
}

enum ar_peer_error ar_a2a_read_rpc(struct ar_a2a_reading *r, struct ar_json doc, int64_t id,
				   struct ar_json *ret_result, struct ar_a2a_fault *ret_fault)
{
	struct ar_json result = ar_json_get(doc, "result"), error = ar_json_get(doc, "error");
	struct ar_str version;
	int64_t seen = 0;

	if (!ar_json_str(ar_json_get(doc, "jsonrpc"), &version) || !ar_str_is(version, "2.0"))
		return ar_a2a_broken(r, "an answer is no JSON-RPC 2.0");
	if (ar_json_type(error) != AR_JSON_NONE && ar_json_type(result) != AR_JSON_NONE)
		return ar_a2a_broken(r, "an answer is a result and an error");
	/* An error that could not be tied to a request has no id. */
	if (ar_json_type(ar_json_get(doc, "id")) == AR_JSON_NULL && ar_json_type(error) == AR_JSON_OBJECT)
		return read_fault(r, error, ret_fault);
	if (!ar_json_i64(ar_json_get(doc, "id"), &seen) || seen != id)
		return ar_a2a_broken(r, "an answer is to another request");
	if (ar_json_type(error) == AR_JSON_OBJECT)
		return read_fault(r, error, ret_fault);
	if (ar_json_type(result) != AR_JSON_OBJECT)
		return ar_a2a_broken(r, "an answer has no result");
	*ret_result = result;
	return AR_PEER_OK;
}

/* The word that google.rpc.ErrorInfo has for an error, as the code that JSON-RPC has. */
static int32_t code_of_details(struct ar_json error)
{
	static const struct {
		const char *reason;
		int32_t code;
	} reasons[] = {
		{ "TASK_NOT_FOUND", TASK_NOT_FOUND },
		{ "TASK_NOT_CANCELABLE", -32002 },
		{ "PUSH_NOTIFICATION_NOT_SUPPORTED", -32003 },
		{ "UNSUPPORTED_OPERATION", -32004 },
		{ "CONTENT_TYPE_NOT_SUPPORTED", -32005 },
		{ "INVALID_AGENT_RESPONSE", -32006 },
		{ "EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007 },
		{ "EXTENSION_SUPPORT_REQUIRED", -32008 },
		{ "VERSION_NOT_SUPPORTED", -32009 },
	};
	struct ar_json details = ar_json_get(error, "details");
	struct ar_str reason;

	for (struct ar_json_iter it = ar_json_iter(details); ar_json_next(&it);) {
		if (!ar_json_str(ar_json_get(it.value, "reason"), &reason))
			continue;
		for (size_t i = 0; i < AR_ARRAY_LEN(reasons); i++) {
			if (ar_str_is(reason, reasons[i].reason))
				return reasons[i].code;
		}
	}
	return 0;
}

enum ar_peer_error ar_a2a_read_http_error(struct ar_a2a_reading *r, int status, struct ar_json doc,
					  struct ar_a2a_fault *ret_fault)
{
	struct ar_json error = ar_json_get(doc, "error");

	*ret_fault = (struct ar_a2a_fault){ .code = code_of_details(error),
					    .reason = sentence(r, ar_json_get(error, "message")) };
	r->why = "the peer answered with an error";
	if (status == 401 || status == 403)
		return AR_PEER_AUTH;
	if (ret_fault->code)
		return error_of_code(ret_fault->code);
	if (status >= 300 && status < 400)
		return ar_a2a_broken(r, "the peer points elsewhere; redirects are not followed");
	if (status == 405 || status == 501)
		return AR_PEER_UNSUPPORTED;
	return AR_PEER_REFUSED;
}
