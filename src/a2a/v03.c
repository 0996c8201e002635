/* See v03.h. Objects are tables of members, most with the same name on both sides; what differs more has a
 * function of its own. */
#include "v03.h"

#include <string.h>

/* ---- methods and words ---- */

struct pair {
	const char *old, *new;
};

static const struct pair methods[] = {
	{ "message/send", "SendMessage" },
	{ "message/stream", "SendStreamingMessage" },
	{ "tasks/get", "GetTask" },
	{ "tasks/cancel", "CancelTask" },
	{ "tasks/resubscribe", "SubscribeToTask" },
	{ "tasks/pushNotificationConfig/set", "CreateTaskPushNotificationConfig" },
	{ "tasks/pushNotificationConfig/get", "GetTaskPushNotificationConfig" },
	{ "tasks/pushNotificationConfig/list", "ListTaskPushNotificationConfigs" },
	{ "tasks/pushNotificationConfig/delete", "DeleteTaskPushNotificationConfig" },
	{ "agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard" },
};

static const struct pair states[] = {
	{ "submitted", "TASK_STATE_SUBMITTED" },
	{ "working", "TASK_STATE_WORKING" },
	{ "completed", "TASK_STATE_COMPLETED" },
	{ "failed", "TASK_STATE_FAILED" },
	{ "canceled", "TASK_STATE_CANCELED" },
	{ "rejected", "TASK_STATE_REJECTED" },
	{ "input-required", "TASK_STATE_INPUT_REQUIRED" },
	{ "auth-required", "TASK_STATE_AUTH_REQUIRED" },
	{ "unknown", "TASK_STATE_UNSPECIFIED" },
};

static const struct pair roles[] = {
	{ "user", "ROLE_USER" },
	{ "agent", "ROLE_AGENT" },
};

static struct ar_str translate(const struct pair *all, size_t count, struct ar_str text, bool is_new)
{
	for (size_t i = 0; i < count; i++) {
		if (ar_str_is(text, is_new ? all[i].old : all[i].new))
			return ar_str_from(is_new ? all[i].new : all[i].old);
	}
	return AR_STR_NONE;
}

struct ar_str ar_a2a_v03_method(struct ar_str old)
{
	return translate(methods, AR_ARRAY_LEN(methods), old, true);
}

struct ar_str ar_a2a_v03_method_back(struct ar_str method)
{
	return translate(methods, AR_ARRAY_LEN(methods), method, false);
}

enum ar_a2a_version ar_a2a_version_of(struct ar_str text)
{
	if (ar_str_empty(text) || ar_str_is(text, "0.3") || ar_str_is(text, "0.3.0"))
		return AR_A2A_0_3;
	return ar_str_is(text, "1.0") ? AR_A2A_1_0 : AR_A2A_UNKNOWN;
}

/* ---- objects ---- */

enum shape {
	RAW = 0,
	ROLE,
	STATE,
	PART,
	MESSAGE,
	STATUS,
	ARTIFACT,
	TASK,
	STATUS_UPDATE,
	ARTIFACT_UPDATE,
	AUTHENTICATION,
	PUSH, /* what is in a configuration of pushes */
	PUSH_OF_TASK, /* with the task: 0.3 puts one object into another */
	CONFIGURATION,
	SEND,
	TASK_ID, /* requests about one task */
	PUSH_ID, /* about one configuration, or all of a task */
	SHAPES,
};

struct field {
	const char *old, *new;
	enum shape shape;
	bool is_list;
};

#define SAME(name) \
	{ \
		.old = name, .new = name \
	}
#define ONE(name, kind) \
	{ \
		.old = name, .new = name, .shape = kind \
	}
#define MANY(name, kind) \
	{ \
		.old = name, .new = name, .shape = kind, .is_list = true \
	}

/* `kind` is the member of 0.3 that says what an object is. */
static const struct {
	const char *kind;
	struct field fields[9];
} tables[SHAPES] = {
	[MESSAGE] = { "message",
		      { SAME("messageId"), SAME("contextId"), SAME("taskId"), ONE("role", ROLE),
			MANY("parts", PART), SAME("metadata"), SAME("extensions"),
			SAME("referenceTaskIds") } },
	[STATUS] = { NULL, { ONE("state", STATE), ONE("message", MESSAGE), SAME("timestamp") } },
	[ARTIFACT] = { NULL,
		       { SAME("artifactId"), SAME("name"), SAME("description"), MANY("parts", PART),
			 SAME("metadata"), SAME("extensions") } },
	[TASK] = { "task",
		   { SAME("id"), SAME("contextId"), ONE("status", STATUS), MANY("artifacts", ARTIFACT),
		     MANY("history", MESSAGE), SAME("metadata") } },
	[STATUS_UPDATE] = { "status-update",
			    { SAME("taskId"), SAME("contextId"), ONE("status", STATUS), SAME("metadata") } },
	[ARTIFACT_UPDATE] = { "artifact-update",
			      { SAME("taskId"), SAME("contextId"), ONE("artifact", ARTIFACT), SAME("append"),
				SAME("lastChunk"), SAME("metadata") } },
	[PUSH] = { NULL, { SAME("id"), SAME("url"), SAME("token"), ONE("authentication", AUTHENTICATION) } },
	[SEND] = { NULL, { ONE("message", MESSAGE), ONE("configuration", CONFIGURATION), SAME("metadata") } },
	[TASK_ID] = { NULL, { SAME("id"), SAME("historyLength"), SAME("metadata") } },
	[PUSH_ID] = { NULL,
		      { { .old = "id", .new = "taskId" },
			{ .old = "pushNotificationConfigId", .new = "id" } } },
};

struct translation {
	struct ar_jw w;
	bool is_new; /* from 0.3 to 1.0 */
};

static void write_value(struct translation *t, enum shape shape, struct ar_json v);

static bool is_there(struct ar_json v)
{
	return ar_json_type(v) != AR_JSON_NONE && ar_json_type(v) != AR_JSON_NULL;
}

static void write_raw(struct translation *t, struct ar_json v)
{
	if (t->w.comma)
		ar_buf_addc(t->w.out, ',');
	ar_json_print(v, t->w.out);
	t->w.comma = true;
}

static void write_member(struct translation *t, const char *name, struct ar_json v)
{
	if (!is_there(v))
		return;
	ar_jw_key(&t->w, name);
	write_raw(t, v);
}

static void write_list(struct translation *t, enum shape shape, struct ar_json v)
{
	ar_jw_open_array(&t->w);
	if (ar_json_type(v) == AR_JSON_ARRAY) {
		for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);)
			write_value(t, shape, it.value);
	}
	ar_jw_close_array(&t->w);
}

static void write_fields(struct translation *t, enum shape shape, struct ar_json v)
{
	const struct field *f = tables[shape].fields;

	for (size_t i = 0; i < AR_ARRAY_LEN(tables[shape].fields) && f[i].old; i++) {
		struct ar_json member = ar_json_get(v, t->is_new ? f[i].old : f[i].new);

		if (!is_there(member))
			continue;
		ar_jw_key(&t->w, t->is_new ? f[i].new : f[i].old);
		if (f[i].is_list)
			write_list(t, f[i].shape, member);
		else
			write_value(t, f[i].shape, member);
	}
	if (!t->is_new && tables[shape].kind)
		ar_jw_mstr(&t->w, "kind", ar_str_from(tables[shape].kind));
}

static void write_object(struct translation *t, enum shape shape, struct ar_json v)
{
	ar_jw_open(&t->w);
	write_fields(t, shape, v);
	ar_jw_close(&t->w);
}

/* A word that neither knows stays as it is: the reader of 1.0 refuses it, or shows it. */
static void write_word(struct translation *t, const struct pair *all, size_t count, struct ar_json v)
{
	struct ar_str text = AR_STR_NONE, other;

	if (!ar_json_str(v, &text)) {
		write_raw(t, v);
		return;
	}
	other = translate(all, count, text, t->is_new);
	ar_jw_str(&t->w, ar_str_absent(other) ? text : other);
}

/* ---- parts ---- */

static const struct pair file_members[] = {
	{ "bytes", "raw" },
	{ "uri", "url" },
	{ "name", "filename" },
	{ "mimeType", "mediaType" },
};

static void write_part_new(struct translation *t, struct ar_json v)
{
	struct ar_json file = ar_json_get(v, "file");
	struct ar_str kind = AR_STR_NONE;

	ar_json_str(ar_json_get(v, "kind"), &kind);
	ar_jw_open(&t->w);
	if (ar_str_is(kind, "text"))
		write_member(t, "text", ar_json_get(v, "text"));
	if (ar_str_is(kind, "data"))
		write_member(t, "data", ar_json_get(v, "data"));
	for (size_t i = 0; ar_str_is(kind, "file") && i < AR_ARRAY_LEN(file_members); i++)
		write_member(t, file_members[i].new, ar_json_get(file, file_members[i].old));
	write_member(t, "metadata", ar_json_get(v, "metadata"));
	ar_jw_close(&t->w);
}

/* 0.3 has objects as data, nothing else. */
static void write_data_old(struct translation *t, struct ar_json data)
{
	ar_jw_mstr(&t->w, "kind", AR_STR("data"));
	ar_jw_key(&t->w, "data");
	if (ar_json_type(data) == AR_JSON_OBJECT) {
		write_raw(t, data);
		return;
	}
	ar_jw_open(&t->w);
	write_member(t, "value", data);
	ar_jw_close(&t->w);
}

static void write_part_old(struct translation *t, struct ar_json v)
{
	struct ar_json text = ar_json_get(v, "text"), data = ar_json_get(v, "data");

	ar_jw_open(&t->w);
	if (is_there(text)) {
		ar_jw_mstr(&t->w, "kind", AR_STR("text"));
		write_member(t, "text", text);
	} else if (is_there(data)) {
		write_data_old(t, data);
	} else {
		ar_jw_mstr(&t->w, "kind", AR_STR("file"));
		ar_jw_key(&t->w, "file");
		ar_jw_open(&t->w);
		for (size_t i = 0; i < AR_ARRAY_LEN(file_members); i++)
			write_member(t, file_members[i].old, ar_json_get(v, file_members[i].new));
		ar_jw_close(&t->w);
	}
	write_member(t, "metadata", ar_json_get(v, "metadata"));
	ar_jw_close(&t->w);
}

/* ---- pushes and configuration ---- */

static void write_authentication(struct translation *t, struct ar_json v)
{
	struct ar_json scheme = ar_json_get(v, "scheme");

	ar_jw_open(&t->w);
	if (t->is_new) {
		write_member(t, "scheme", ar_json_at(ar_json_get(v, "schemes"), 0));
	} else if (is_there(scheme)) {
		ar_jw_key(&t->w, "schemes");
		ar_jw_open_array(&t->w);
		write_raw(t, scheme);
		ar_jw_close_array(&t->w);
	}
	write_member(t, "credentials", ar_json_get(v, "credentials"));
	ar_jw_close(&t->w);
}

static void write_push_of_task(struct translation *t, struct ar_json v)
{
	ar_jw_open(&t->w);
	write_member(t, "taskId", ar_json_get(v, "taskId"));
	if (t->is_new) {
		write_fields(t, PUSH, ar_json_get(v, "pushNotificationConfig"));
	} else {
		ar_jw_key(&t->w, "pushNotificationConfig");
		write_object(t, PUSH, v);
	}
	ar_jw_close(&t->w);
}

/* Without the word, a configuration of 0.3 waits for nothing. */
static void write_waiting(struct translation *t, struct ar_json v)
{
	bool flag = false;

	ar_json_bool(ar_json_get(v, t->is_new ? "blocking" : "returnImmediately"), &flag);
	ar_jw_mbool(&t->w, t->is_new ? "returnImmediately" : "blocking", !flag);
}

static void write_configuration(struct translation *t, struct ar_json v)
{
	struct ar_json push =
		ar_json_get(v, t->is_new ? "pushNotificationConfig" : "taskPushNotificationConfig");

	ar_jw_open(&t->w);
	write_member(t, "acceptedOutputModes", ar_json_get(v, "acceptedOutputModes"));
	write_member(t, "historyLength", ar_json_get(v, "historyLength"));
	write_waiting(t, v);
	if (is_there(push)) {
		ar_jw_key(&t->w, t->is_new ? "taskPushNotificationConfig" : "pushNotificationConfig");
		write_object(t, PUSH, push);
	}
	ar_jw_close(&t->w);
}

/* ---- all of them ---- */

/* The stream of 0.3 ends with the state in which nothing comes by itself. */
static bool is_final(struct ar_json update)
{
	static const char *const last[] = { "TASK_STATE_COMPLETED", "TASK_STATE_FAILED",
					    "TASK_STATE_CANCELED", "TASK_STATE_REJECTED",
					    "TASK_STATE_INPUT_REQUIRED" };
	struct ar_str state = AR_STR_NONE;

	ar_json_str(ar_json_get(ar_json_get(update, "status"), "state"), &state);
	for (size_t i = 0; i < AR_ARRAY_LEN(last); i++) {
		if (ar_str_is(state, last[i]))
			return true;
	}
	return false;
}

static void write_update(struct translation *t, struct ar_json v)
{
	ar_jw_open(&t->w);
	write_fields(t, STATUS_UPDATE, v);
	if (!t->is_new)
		ar_jw_mbool(&t->w, "final", is_final(v));
	ar_jw_close(&t->w);
}

static void write_value(struct translation *t, enum shape shape, struct ar_json v)
{
	switch (shape) {
	case RAW:
		write_raw(t, v);
		return;
	case ROLE:
		write_word(t, roles, AR_ARRAY_LEN(roles), v);
		return;
	case STATE:
		write_word(t, states, AR_ARRAY_LEN(states), v);
		return;
	case PART:
		t->is_new ? write_part_new(t, v) : write_part_old(t, v);
		return;
	case STATUS_UPDATE:
		write_update(t, v);
		return;
	case AUTHENTICATION:
		write_authentication(t, v);
		return;
	case PUSH_OF_TASK:
		write_push_of_task(t, v);
		return;
	case CONFIGURATION:
		write_configuration(t, v);
		return;
	default:
		write_object(t, shape, v);
	}
}

/* ---- requests ---- */

static enum shape params_of(struct ar_str method)
{
	if (ar_str_is(method, "SendMessage") || ar_str_is(method, "SendStreamingMessage"))
		return SEND;
	if (ar_str_is(method, "CreateTaskPushNotificationConfig"))
		return PUSH_OF_TASK;
	if (ar_str_is(method, "GetTask") || ar_str_is(method, "CancelTask") ||
	    ar_str_is(method, "SubscribeToTask"))
		return TASK_ID;
	if (ar_str_ends(method, AR_STR("TaskPushNotificationConfig")) ||
	    ar_str_is(method, "ListTaskPushNotificationConfigs"))
		return PUSH_ID;
	return RAW;
}

static void write_params(struct ar_str method, struct ar_json params, bool is_new, struct ar_buf *out)
{
	struct translation t = { .w = ar_jw(out), .is_new = is_new };

	if (ar_json_type(params) == AR_JSON_OBJECT)
		write_value(&t, params_of(method), params);
	else
		ar_buf_addz(out, "{}");
}

void ar_a2a_v03_params(struct ar_str method, struct ar_json params, struct ar_buf *out)
{
	write_params(method, params, true, out);
}

void ar_a2a_v03_params_back(struct ar_str method, struct ar_json params, struct ar_buf *out)
{
	write_params(method, params, false, out);
}

/* ---- answers ---- */

/* Members of SendMessageResponse and StreamResponse, and what 0.3 names them. */
static const struct {
	const char *member, *kind;
	enum shape shape;
} events[] = {
	{ "task", "task", TASK },
	{ "message", "message", MESSAGE },
	{ "statusUpdate", "status-update", STATUS_UPDATE },
	{ "artifactUpdate", "artifact-update", ARTIFACT_UPDATE },
};

static void write_event_old(struct translation *t, struct ar_json v)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(events); i++) {
		struct ar_json member = ar_json_get(v, events[i].member);

		if (is_there(member)) {
			write_value(t, events[i].shape, member);
			return;
		}
	}
	ar_buf_addz(t->w.out, "null");
}

static void write_event_new(struct translation *t, struct ar_json v)
{
	struct ar_str kind = AR_STR_NONE;

	ar_json_str(ar_json_get(v, "kind"), &kind);
	ar_jw_open(&t->w);
	for (size_t i = 0; i < AR_ARRAY_LEN(events); i++) {
		if (ar_str_is(kind, events[i].kind)) {
			ar_jw_key(&t->w, events[i].member);
			write_value(t, events[i].shape, v);
		}
	}
	ar_jw_close(&t->w);
}

/* 0.3 answers with the list itself. */
static void write_configs(struct translation *t, struct ar_json v)
{
	if (!t->is_new) {
		write_list(t, PUSH_OF_TASK, ar_json_get(v, "configs"));
		return;
	}
	ar_jw_open(&t->w);
	ar_jw_key(&t->w, "configs");
	write_list(t, PUSH_OF_TASK, v);
	ar_jw_close(&t->w);
}

static bool is_event(struct ar_str method)
{
	return ar_str_is(method, "SendMessage") || ar_str_is(method, "SendStreamingMessage") ||
	       ar_str_is(method, "SubscribeToTask");
}

static void write_result(struct ar_str method, struct ar_json v, bool is_new, struct ar_buf *out)
{
	struct translation t = { .w = ar_jw(out), .is_new = is_new };

	if (is_event(method))
		is_new ? write_event_new(&t, v) : write_event_old(&t, v);
	else if (ar_str_is(method, "GetTask") || ar_str_is(method, "CancelTask"))
		write_value(&t, TASK, v);
	else if (ar_str_is(method, "ListTaskPushNotificationConfigs"))
		write_configs(&t, v);
	else if (ar_str_is(method, "CreateTaskPushNotificationConfig") ||
		 ar_str_is(method, "GetTaskPushNotificationConfig"))
		write_value(&t, PUSH_OF_TASK, v);
	else
		write_raw(&t, v);
}

void ar_a2a_v03_result(struct ar_str method, struct ar_json result, struct ar_buf *out)
{
	write_result(method, result, false, out);
}

void ar_a2a_v03_result_back(struct ar_str method, struct ar_json result, struct ar_buf *out)
{
	write_result(method, result, true, out);
}
