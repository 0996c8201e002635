/* See a2a_message.h. Unknown members are ignored, as the standard asks. Pure functions, any thread. */
#include "a2a_message.h"
#include "base64.h"
#include "id.h"
#include "text/json_depth.h"

#define NAME_ROOM 64

struct ar_json ar_a2a_get(struct ar_json object, const char *name)
{
	struct ar_json v = ar_json_get(object, name);
	char room[NAME_ROOM];
	size_t len = 0;

	if (ar_json_type(v) != AR_JSON_NONE)
		return v;
	for (; *name; name++) {
		AR_ASSERT(len + 3 < sizeof room);
		if (*name >= 'A' && *name <= 'Z')
			room[len++] = '_';
		room[len++] = (char)(*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name);
	}
	room[len] = 0;
	return ar_json_get(object, room);
}

bool ar_a2a_text(struct ar_json object, const char *name, struct ar_arena *a, struct ar_str *ret,
		 struct ar_a2a_failure *f)
{
	struct ar_json v = ar_a2a_get(object, name);
	struct ar_str text;

	*ret = AR_STR_NONE;
	if (ar_json_type(v) == AR_JSON_NONE || ar_json_type(v) == AR_JSON_NULL)
		return true;
	if (!ar_json_str(v, &text))
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, name, "%s has to be a string", name);
	if (text.len)
		*ret = ar_arena_str(a, text);
	return true;
}

bool ar_a2a_history(struct ar_json object, int64_t *ret, struct ar_a2a_failure *f)
{
	struct ar_json v = ar_a2a_get(object, "historyLength");

	*ret = -1;
	if (ar_json_type(v) == AR_JSON_NONE || ar_json_type(v) == AR_JSON_NULL)
		return true;
	if (!ar_json_i64(v, ret) || *ret < 0)
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "historyLength",
				   "historyLength has to be a number that is not negative");
	return true;
}

/* What is being made of the parts. */
struct reading {
	struct ar_arena *a;
	struct ar_buf input, text;
	struct ar_jw w;
	struct ar_json data; /* of the newest data part */
	size_t data_count;
	struct ar_a2a_failure *f;
};

static void add_text(struct reading *r, struct ar_str text)
{
	ar_jw_open(&r->w);
	ar_jw_mstr(&r->w, "type", AR_STR("text"));
	ar_jw_mstr(&r->w, "text", text);
	ar_jw_close(&r->w);
	if (r->text.len)
		ar_buf_addc(&r->text, '\n');
	ar_buf_adds(&r->text, text);
}

static bool is_image(struct ar_str type)
{
	return ar_str_starts(type, AR_STR("image/"));
}

static bool add_raw(struct reading *r, struct ar_str raw, struct ar_str type)
{
	struct ar_str bytes;

	if (!ar_base64_decode(r->a, raw, &bytes))
		return ar_a2a_fail(r->f, AR_A2A_INVALID_PARAMS, "message.parts.raw", "raw has to be base64");
	if (is_image(type)) {
		ar_jw_open(&r->w);
		ar_jw_mstr(&r->w, "type", AR_STR("image"));
		ar_jw_mstr(&r->w, "data", raw);
		ar_jw_mstr(&r->w, "mimeType", type);
		ar_jw_close(&r->w);
		return true;
	}
	if (ar_str_is_text(bytes)) { /* whatever its type is called */
		add_text(r, bytes);
		return true;
	}
	return ar_a2a_fail(r->f, AR_A2A_CONTENT_TYPE, NULL,
			   "files of the type '%.*s' are not taken; text and images are",
			   AR_STR_ARG(ar_str_utf8_prefix(type, 80)));
}

static bool add_url(struct reading *r, struct ar_str url, struct ar_str type)
{
	if (!is_image(type)) {
		add_text(r, ar_arena_fmt(r->a, "File: %.*s", AR_STR_ARG(url)));
		return true;
	}
	ar_jw_open(&r->w);
	ar_jw_mstr(&r->w, "type", AR_STR("image"));
	ar_jw_mstr(&r->w, "url", url);
	ar_jw_close(&r->w);
	return true;
}

static void add_data(struct reading *r, struct ar_json data)
{
	struct ar_buf text = { 0 };

	ar_json_print(data, &text);
	add_text(r, ar_buf_str(&text));
	ar_buf_fini(&text);
	r->data = data;
	r->data_count++;
}

/* Exactly one of text, raw, url, data. */
static bool add_part(struct reading *r, struct ar_json part)
{
	struct ar_json data = ar_json_get(part, "data");
	bool has_data = ar_json_type(data) != AR_JSON_NONE;
	struct ar_str text = AR_STR_NONE, raw = AR_STR_NONE, url = AR_STR_NONE, type;

	if (!ar_a2a_text(part, "mediaType", r->a, &type, r->f))
		return false;
	ar_json_str(ar_json_get(part, "text"), &text);
	ar_json_str(ar_json_get(part, "raw"), &raw);
	ar_json_str(ar_json_get(part, "url"), &url);
	if (!ar_str_absent(text) + !ar_str_absent(raw) + !ar_str_absent(url) + has_data != 1)
		return ar_a2a_fail(r->f, AR_A2A_INVALID_PARAMS, "message.parts",
				   "a part has exactly one of text, raw, url and data");
	if (!ar_str_absent(text))
		add_text(r, text);
	else if (!ar_str_absent(raw))
		return add_raw(r, raw, type);
	else if (!ar_str_absent(url))
		return add_url(r, url, type);
	else
		add_data(r, data);
	return true;
}

static bool read_parts(struct reading *r, struct ar_json parts)
{
	size_t count = ar_json_len(parts);

	if (ar_json_type(parts) != AR_JSON_ARRAY || !count)
		return ar_a2a_fail(r->f, AR_A2A_INVALID_PARAMS, "message.parts",
				   "message.parts has to hold at least one part");
	if (count > AR_A2A_PARTS)
		return ar_a2a_fail(r->f, AR_A2A_INVALID_PARAMS, "message.parts",
				   "a message has at most %d parts", AR_A2A_PARTS);
	ar_jw_open_array(&r->w);
	for (struct ar_json_iter it = ar_json_iter(parts); ar_json_next(&it);) {
		if (!add_part(r, it.value))
			return false;
	}
	ar_jw_close_array(&r->w);
	return true;
}

static bool read_message(struct ar_json message, struct ar_arena *a, struct ar_a2a_send *s,
			 struct ar_a2a_failure *f)
{
	struct ar_str role;

	if (ar_json_type(message) != AR_JSON_OBJECT)
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "message", "message has to be an object");
	if (!ar_a2a_text(message, "messageId", a, &s->message_id, f) ||
	    !ar_a2a_text(message, "contextId", a, &s->context, f) ||
	    !ar_a2a_text(message, "taskId", a, &s->task, f) || !ar_a2a_text(message, "role", a, &role, f))
		return false;
	if (ar_str_absent(s->message_id) || s->message_id.len > AR_A2A_ID_BYTES)
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "message.messageId",
				   "message.messageId has to be a text of 1 to %d bytes", AR_A2A_ID_BYTES);
	if (!ar_str_is(role, "ROLE_USER"))
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "message.role",
				   "message.role has to be ROLE_USER");
	if (!ar_str_absent(s->context) && !ar_id_acceptable(s->context))
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "message.contextId",
				   "message.contextId has to have 1 to 128 of A-Z a-z 0-9 . _ : -");
	return true;
}

static bool read_configuration(struct ar_json c, struct ar_arena *a, struct ar_a2a_send *s,
			       struct ar_a2a_failure *f)
{
	struct ar_json modes = ar_a2a_get(c, "acceptedOutputModes");
	struct ar_json push = ar_a2a_get(c, "taskPushNotificationConfig");
	struct ar_str mode;

	ar_json_bool(ar_a2a_get(c, "returnImmediately"), &s->is_immediate);
	s->wants_data = !ar_json_len(modes);
	for (struct ar_json_iter it = ar_json_iter(modes); ar_json_next(&it);) {
		if (ar_json_str(it.value, &mode) &&
		    (ar_str_starts(mode, AR_STR("application/json")) || ar_str_is(mode, "application/*") ||
		     ar_str_starts(mode, AR_STR("*"))))
			s->wants_data = true;
	}
	if (ar_json_type(push) == AR_JSON_OBJECT && !ar_a2a_read_push(push, a, &s->push, f))
		return false;
	return ar_a2a_history(c, &s->history, f);
}

/* The parts as the history shows them later. */
static void keep_parts(struct ar_json parts, struct ar_arena *a, struct ar_a2a_send *s)
{
	struct ar_buf text = { 0 };

	if (ar_json_is_deeper(parts, AR_A2A_KEPT_LEVELS))
		return;
	ar_json_print(parts, &text);
	if (text.len <= AR_A2A_KEPT_BYTES)
		s->kept = ar_arena_str(a, ar_buf_str(&text));
	ar_buf_fini(&text);
}

static void keep_data(const struct reading *r, struct ar_a2a_send *s)
{
	struct ar_buf text = { 0 };

	if (r->data_count != 1 || ar_json_type(r->data) != AR_JSON_OBJECT)
		return;
	ar_json_print(r->data, &text);
	s->data = ar_arena_str(r->a, ar_buf_str(&text));
	ar_buf_fini(&text);
}

bool ar_a2a_read_send(struct ar_json params, struct ar_arena *a, struct ar_a2a_send *ret,
		      struct ar_a2a_failure *f)
{
	struct ar_json message = ar_json_get(params, "message");
	struct reading r = { .a = a, .f = f };
	bool is_good;

	*ret = (struct ar_a2a_send){ .history = -1 };
	if (!read_message(message, a, ret, f) ||
	    !read_configuration(ar_json_get(params, "configuration"), a, ret, f))
		return false;
	r.w = ar_jw(&r.input);
	is_good = read_parts(&r, ar_json_get(message, "parts"));
	if (is_good) {
		ret->input = ar_arena_str(a, ar_buf_str(&r.input));
		ret->text = ar_arena_str(a, ar_buf_str(&r.text));
		keep_data(&r, ret);
		keep_parts(ar_json_get(message, "parts"), a, ret);
	}
	ar_buf_fini(&r.input);
	ar_buf_fini(&r.text);
	return is_good;
}
