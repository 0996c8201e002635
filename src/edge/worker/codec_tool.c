/* Calls of tools and their results; see worker_codec.h. */
#include "worker_codec.h"

#include "hash.h"

#include <string.h>

#define IMAGES_MAX 64
#define ARTIFACTS_MAX 256
#define VIOLATIONS_MAX 64

static size_t at_most(size_t count, size_t max)
{
	return count < max ? count : max;
}

/* ---- calls ---- */

void ar_codec_write_tool(struct ar_wire_writer *w, const struct ar_tool_call *c, int64_t left_ms)
{
	ar_wire_add(w, "tool", c->tool->name);
	ar_wire_add(w, "session", c->session_id);
	ar_wire_add(w, "thread", c->thread_id);
	ar_wire_add(w, "turn", c->turn_id);
	ar_wire_add(w, "call", c->tool_call_id);
	ar_wire_add(w, "operation", c->operation_id);
	ar_wire_add(w, "account", c->account);
	ar_wire_add(w, "workspace", c->workspace);
	ar_jw_mint(&w->w, "profile", c->profile);
	ar_jw_mint(&w->w, "leftMs", left_ms);
	ar_wire_add(w, "args", c->args);
}

void ar_codec_read_tool(struct ar_wire_message *m, struct ar_tool_call *ret, struct ar_str *ret_tool)
{
	struct ar_json v = m->head;

	*ret = (struct ar_tool_call){ .args = ar_wire_json(m, v, "args", AR_JSON_OBJECT),
				      .session_id = ar_wire_text(m, v, "session"),
				      .thread_id = ar_wire_text(m, v, "thread"),
				      .turn_id = ar_wire_text(m, v, "turn"),
				      .tool_call_id = ar_wire_text(m, v, "call"),
				      .operation_id = ar_wire_text(m, v, "operation"),
				      .account = ar_wire_text(m, v, "account"),
				      .workspace = ar_wire_text(m, v, "workspace"),
				      .profile = (enum ar_sandbox_profile)ar_wire_int(m, v, "profile", 0,
										      AR_SANDBOX_COUNT - 1) };
	*ret_tool = ar_wire_text(m, v, "tool");
	m->is_broken |=
		ar_str_absent(ret->args) || ar_str_absent(ret->session_id) || ar_str_absent(*ret_tool);
}

/* ---- results ---- */

static void write_images(struct ar_wire_writer *w, const struct ar_tool_result *r)
{
	ar_jw_key(&w->w, "images");
	ar_jw_open_array(&w->w);
	for (size_t i = 0; i < at_most(r->image_count, IMAGES_MAX); i++) {
		ar_jw_open(&w->w);
		ar_wire_add(w, "mime", r->images[i].mime);
		ar_wire_add(w, "data", r->images[i].data);
		ar_jw_close(&w->w);
	}
	ar_jw_close_array(&w->w);
}

void ar_codec_write_artifacts(struct ar_wire_writer *w, const struct ar_tool_artifact *artifacts,
			      size_t count)
{
	ar_jw_key(&w->w, "artifacts");
	ar_jw_open_array(&w->w);
	for (size_t i = 0; i < at_most(count, ARTIFACTS_MAX); i++) {
		const struct ar_tool_artifact *a = &artifacts[i];

		ar_jw_open(&w->w);
		ar_wire_add(w, "path", a->path);
		ar_jw_mint(&w->w, "change", a->change);
		ar_wire_add(w, "version", a->version);
		ar_wire_add(w, "content", a->content);
		ar_wire_add(w, "diff", a->diff);
		ar_jw_mint(&w->w, "fileSize", a->size);
		ar_jw_close(&w->w);
	}
	ar_jw_close_array(&w->w);
}

static void write_boundary(struct ar_wire_writer *w, const struct ar_tool_result *r)
{
	if (r->boundary) {
		ar_jw_key(&w->w, "boundary");
		ar_jw_open(&w->w);
		ar_codec_write_ready(w, r->boundary);
		ar_jw_close(&w->w);
	}
	ar_jw_mint(&w->w, "profile", r->profile);
	ar_jw_key(&w->w, "violations");
	ar_jw_open_array(&w->w);
	for (size_t i = 0; i < at_most(r->violation_count, VIOLATIONS_MAX); i++)
		ar_wire_add_piece(w, r->violations[i]);
	ar_jw_close_array(&w->w);
}

void ar_codec_write_tool_result(struct ar_wire_writer *w, const struct ar_tool_result *r)
{
	ar_jw_mint(&w->w, "outcome", r->outcome);
	ar_wire_add(w, "text", r->text);
	ar_wire_add(w, "structured", r->structured);
	ar_wire_add(w, "category", r->category);
	ar_wire_add(w, "message", r->message);
	ar_wire_add(w, "advice", r->advice);
	ar_jw_mbool(&w->w, "retryable", r->retryable);
	ar_wire_add(w, "changes", r->changes);
	write_images(w, r);
	ar_codec_write_artifacts(w, r->artifacts, r->artifact_count);
	write_boundary(w, r);
}

static void read_images(struct ar_wire_message *m, struct ar_arena *a, struct ar_tool_result *ret)
{
	struct ar_json array = ar_wire_array(m, m->head, "images", IMAGES_MAX);
	struct ar_tool_image *images = ar_arena_alloc(a, (ar_json_len(array) + 1) * sizeof(*images));

	for (struct ar_json_iter it = ar_json_iter(array); ar_json_next(&it);) {
		struct ar_tool_image *image = &images[ret->image_count++];

		image->mime = ar_wire_text(m, it.value, "mime");
		image->data = ar_wire_text(m, it.value, "data");
		m->is_broken |= ar_str_absent(image->mime) || ar_str_absent(image->data);
	}
	ret->images = images;
}

static bool is_version(struct ar_str text)
{
	if (text.len != AR_HASH_HEX)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!text.p[i] || !strchr("0123456789abcdef", text.p[i]))
			return false;
	}
	return true;
}

static void read_artifact(struct ar_wire_message *m, struct ar_json v, struct ar_tool_artifact *ret)
{
	*ret = (struct ar_tool_artifact){
		.path = ar_wire_text(m, v, "path"),
		.change = (enum ar_tool_change)ar_wire_int(m, v, "change", AR_TOOL_CREATED, AR_TOOL_DELETED),
		.version = ar_wire_text(m, v, "version"),
		.content = ar_wire_bytes(m, v, "content"),
		.diff = ar_wire_text(m, v, "diff"),
		.size = ar_wire_int(m, v, "fileSize", 0, INT64_MAX)
	};
	m->is_broken |= ar_str_empty(ret->path) || ret->change == 0 ||
			(ret->change != AR_TOOL_DELETED && !is_version(ret->version));
}

const struct ar_tool_artifact *ar_codec_read_artifacts(struct ar_wire_message *m, struct ar_arena *a,
						       size_t *ret_count)
{
	struct ar_json array = ar_wire_array(m, m->head, "artifacts", ARTIFACTS_MAX);
	struct ar_tool_artifact *artifacts = ar_arena_alloc(a, (ar_json_len(array) + 1) * sizeof(*artifacts));

	*ret_count = 0;
	for (struct ar_json_iter it = ar_json_iter(array); ar_json_next(&it);)
		read_artifact(m, it.value, &artifacts[(*ret_count)++]);
	return artifacts;
}

static void read_violations(struct ar_wire_message *m, struct ar_arena *a, struct ar_tool_result *ret)
{
	struct ar_json array = ar_wire_array(m, m->head, "violations", VIOLATIONS_MAX);
	struct ar_str *violations = ar_arena_alloc(a, (ar_json_len(array) + 1) * sizeof(*violations));

	for (struct ar_json_iter it = ar_json_iter(array); ar_json_next(&it);) {
		struct ar_str text = ar_wire_piece(m, it.value);

		m->is_broken |= !ar_wire_is_json(m->checker, text, AR_JSON_OBJECT);
		violations[ret->violation_count++] = text;
	}
	ret->violations = violations;
}

static void read_boundary(struct ar_wire_message *m, struct ar_arena *a, struct ar_tool_result *ret)
{
	struct ar_json v = ar_json_get(m->head, "boundary");
	struct ar_process_ready *boundary = ar_arena_alloc(a, sizeof(*boundary));

	if (ar_json_type(v) == AR_JSON_NONE)
		return;
	m->is_broken |= ar_json_type(v) != AR_JSON_OBJECT;
	ar_codec_read_ready(m, v, boundary);
	ret->boundary = boundary;
}

const struct ar_tool_result *ar_codec_read_tool_result(struct ar_wire_message *m, struct ar_arena *a)
{
	struct ar_tool_result *r = ar_arena_alloc(a, sizeof(*r));
	struct ar_json v = m->head;

	*r = (struct ar_tool_result){
		.outcome = (enum ar_tool_outcome)ar_wire_int(m, v, "outcome", AR_TOOL_OK, AR_TOOL_LOST),
		.text = ar_wire_text(m, v, "text"),
		.structured = ar_wire_json(m, v, "structured", AR_JSON_OBJECT),
		.category = ar_wire_text(m, v, "category"),
		.message = ar_wire_text(m, v, "message"),
		.advice = ar_wire_text(m, v, "advice"),
		.retryable = ar_wire_bool(m, v, "retryable"),
		.changes = ar_wire_json(m, v, "changes", AR_JSON_ARRAY),
		.profile = (enum ar_sandbox_profile)ar_wire_int(m, v, "profile", 0, AR_SANDBOX_COUNT - 1)
	};
	m->is_broken |= r->outcome == 0;
	read_images(m, a, r);
	r->artifacts = ar_codec_read_artifacts(m, a, &r->artifact_count);
	read_boundary(m, a, r);
	read_violations(m, a, r);
	return r;
}
