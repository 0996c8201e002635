/* Checkpoints and inspections; see worker_codec.h. */
#include "worker_codec.h"

#define IDS_MAX 4096

/* ---- checkpoints ---- */

void ar_codec_write_checkpoint(struct ar_wire_writer *w, const struct ar_checkpoint_run *r, int64_t left_ms)
{
	ar_jw_mint(&w->w, "what", r->kind);
	ar_wire_add(w, "tenant", r->tenant);
	ar_wire_add(w, "workspaceId", r->workspace_id);
	ar_wire_add(w, "folder", r->folder);
	ar_wire_add(w, "origin", r->origin);
	ar_wire_add(w, "session", r->session_id);
	ar_wire_add(w, "from", r->from);
	ar_wire_add(w, "to", r->to);
	ar_wire_add(w, "label", r->label);
	ar_jw_mint(&w->w, "isolation", r->isolation);
	ar_jw_mint(&w->w, "side", r->side);
	ar_jw_mint(&w->w, "keepDays", r->keep_days);
	ar_jw_mint(&w->w, "leftMs", left_ms);
	ar_jw_key(&w->w, "ids");
	ar_jw_open_array(&w->w);
	for (size_t i = 0; i < r->id_count; i++)
		ar_wire_add_piece(w, r->ids[i]);
	ar_jw_close_array(&w->w);
}

void ar_codec_read_checkpoint(struct ar_wire_message *m, struct ar_arena *a, struct ar_checkpoint_run *ret)
{
	struct ar_json v = m->head, ids = ar_wire_array(m, v, "ids", IDS_MAX);
	struct ar_str *list = ar_arena_alloc(a, (ar_json_len(ids) + 1) * sizeof(*list));

	*ret = (struct ar_checkpoint_run){ .tenant = ar_wire_text(m, v, "tenant"),
					   .workspace_id = ar_wire_text(m, v, "workspaceId"),
					   .folder = ar_wire_text(m, v, "folder"),
					   .origin = ar_wire_text(m, v, "origin"),
					   .session_id = ar_wire_text(m, v, "session"),
					   .from = ar_wire_text(m, v, "from"),
					   .to = ar_wire_text(m, v, "to"),
					   .label = ar_wire_text(m, v, "label"),
					   .keep_days = ar_wire_int(m, v, "keepDays", 0, INT32_MAX),
					   .ids = list };
	ret->isolation = (enum ar_isolation)ar_wire_int(m, v, "isolation", 0, AR_ISOLATION_OVERLAY);
	ret->side = (enum ar_merge_side)ar_wire_int(m, v, "side", 0, AR_MERGE_SIDE_LEFT_OUT);
	ret->kind =
		(enum ar_checkpoint_kind)ar_wire_int(m, v, "what", AR_CHECKPOINT_SAVE, AR_CHECKPOINT_MERGE);
	for (struct ar_json_iter it = ar_json_iter(ids); ar_json_next(&it);)
		list[ret->id_count++] = ar_wire_piece(m, it.value);
	m->is_broken |= ret->kind == 0 || ar_str_absent(ret->folder);
}

void ar_codec_write_checkpoint_result(struct ar_wire_writer *w, const struct ar_checkpoint_result *r)
{
	ar_jw_mint(&w->w, "status", r->status);
	ar_wire_add(w, "message", r->message);
	ar_wire_add(w, "id", r->id);
	ar_jw_mint(&w->w, "files", r->files);
	ar_jw_mint(&w->w, "fileBytes", r->bytes);
	ar_jw_mint(&w->w, "leftOut", r->left_out);
	ar_wire_add(w, "changes", r->changes);
	ar_wire_add(w, "diff", r->diff);
	ar_jw_mbool(&w->w, "isCut", r->is_cut);
	ar_wire_add(w, "base", r->base);
	ar_wire_add(w, "conflicts", r->conflicts);
	ar_jw_mbool(&w->w, "isShared", r->is_shared);
	ar_jw_mint(&w->w, "changed", r->changed);
	ar_codec_write_artifacts(w, r->artifacts, r->artifact_count);
}

void ar_codec_read_checkpoint_result(struct ar_wire_message *m, struct ar_arena *a,
				     struct ar_checkpoint_result *ret)
{
	struct ar_json v = m->head;

	*ret = (struct ar_checkpoint_result){ .status = (enum ar_status)ar_wire_int(m, v, "status", AR_OK,
										    AR_STATUS_COUNT - 1),
					      .message = ar_wire_text(m, v, "message"),
					      .id = ar_wire_text(m, v, "id"),
					      .files = ar_wire_int(m, v, "files", 0, INT64_MAX),
					      .bytes = ar_wire_int(m, v, "fileBytes", 0, INT64_MAX),
					      .left_out = ar_wire_int(m, v, "leftOut", 0, INT64_MAX),
					      .changes = ar_wire_json(m, v, "changes", AR_JSON_ARRAY),
					      .diff = ar_wire_text(m, v, "diff"),
					      .is_cut = ar_wire_bool(m, v, "isCut"),
					      .base = ar_wire_text(m, v, "base"),
					      .conflicts = ar_wire_json(m, v, "conflicts", AR_JSON_ARRAY),
					      .is_shared = ar_wire_bool(m, v, "isShared"),
					      .changed = ar_wire_int(m, v, "changed", 0, INT64_MAX) };
	ret->artifacts = ar_codec_read_artifacts(m, a, &ret->artifact_count);
	m->is_broken |= ar_json_type(ar_json_get(v, "status")) != AR_JSON_INT ||
			ret->id.len > AR_CHECKPOINT_ID_MAX || ret->base.len > AR_CHECKPOINT_ID_MAX ||
			ret->diff.len > AR_CHECKPOINT_DIFF_MAX;
}

/* ---- inspections ---- */

static void write_definition(struct ar_wire_writer *w, const struct ar_definition *of)
{
	ar_jw_open(&w->w);
	ar_jw_mint(&w->w, "kind", of->kind);
	ar_wire_add(w, "name", of->name);
	ar_wire_add(w, "description", of->description);
	ar_wire_add(w, "path", of->path);
	ar_wire_add(w, "text", of->text);
	ar_wire_add(w, "model", of->model);
	ar_wire_add(w, "mode", of->mode);
	ar_wire_add(w, "isolation", of->isolation);
	if (of->tools.at) {
		ar_jw_key(&w->w, "tools");
		ar_jw_open_array(&w->w);
		for (size_t i = 0; i < of->tools.count; i++)
			ar_wire_add_piece(w, of->tools.at[i]);
		ar_jw_close_array(&w->w);
	}
	ar_jw_close(&w->w);
}

void ar_codec_write_inspected(struct ar_wire_writer *w, const struct ar_inspected *found)
{
	ar_wire_add(w, "digest", found->digest);
	ar_wire_add(w, "file", found->file);
	ar_wire_add(w, "instructions", found->instructions);
	ar_wire_add(w, "reason", found->reason);
	ar_jw_key(&w->w, "items");
	ar_jw_open_array(&w->w);
	for (size_t i = 0; i < found->count; i++) {
		ar_jw_open(&w->w);
		ar_jw_mint(&w->w, "kind", found->items[i].kind);
		ar_wire_add(w, "path", found->items[i].path);
		ar_jw_mint(&w->w, "fileBytes", found->items[i].bytes);
		ar_wire_add(w, "digest", found->items[i].digest);
		ar_wire_add(w, "reason", found->items[i].reason);
		ar_jw_close(&w->w);
	}
	ar_jw_close_array(&w->w);
	ar_jw_key(&w->w, "definitions");
	ar_jw_open_array(&w->w);
	for (size_t i = 0; i < found->definition_count; i++)
		write_definition(w, &found->definitions[i]);
	ar_jw_close_array(&w->w);
}

static void read_item(struct ar_wire_message *m, struct ar_json v, struct ar_inspect_item *ret)
{
	*ret = (struct ar_inspect_item){ .kind = (enum ar_inspect_kind)ar_wire_int(m, v, "kind",
										   AR_INSPECT_INSTRUCTIONS,
										   AR_INSPECT_AGENT),
					 .path = ar_wire_text(m, v, "path"),
					 .bytes = ar_wire_int(m, v, "fileBytes", 0, INT64_MAX),
					 .digest = ar_wire_text(m, v, "digest"),
					 .reason = ar_wire_text(m, v, "reason") };
	m->is_broken |= ret->kind == 0 || ar_str_empty(ret->path);
}

static struct ar_texts read_tools(struct ar_wire_message *m, struct ar_json v, struct ar_arena *a)
{
	struct ar_json list = ar_wire_array(m, v, "tools", AR_DEFINITION_TOOLS_MAX);
	size_t count = 0;
	struct ar_str *tools;

	if (ar_json_type(ar_json_get(v, "tools")) != AR_JSON_ARRAY)
		return (struct ar_texts){ 0 };
	tools = ar_arena_alloc(a, (ar_json_len(list) + 1) * sizeof(*tools));
	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it); count++) {
		tools[count] = ar_wire_piece(m, it.value);
		m->is_broken |= !ar_str_is_line(tools[count], AR_DEFINITION_WORD_MAX);
	}
	return (struct ar_texts){ tools, count };
}

/* What the model is to read between other lines has to be one itself. */
static bool is_line_or_absent(struct ar_str s)
{
	return ar_str_absent(s) || ar_str_is_line(s, AR_DEFINITION_WORD_MAX);
}

static void read_definition(struct ar_wire_message *m, struct ar_json v, struct ar_arena *a,
			    struct ar_definition *ret)
{
	*ret = (struct ar_definition){
		.kind = (enum ar_inspect_kind)ar_wire_int(m, v, "kind", AR_INSPECT_SKILL, AR_INSPECT_AGENT),
		.name = ar_wire_text(m, v, "name"),
		.description = ar_wire_text(m, v, "description"),
		.path = ar_wire_text(m, v, "path"),
		.text = ar_wire_text(m, v, "text"),
		.model = ar_wire_text(m, v, "model"),
		.mode = ar_wire_text(m, v, "mode"),
		.isolation = ar_wire_text(m, v, "isolation"),
		.tools = read_tools(m, v, a)
	};
	m->is_broken |= ret->kind == 0 || !ar_tool_is_name(ret->name) ||
			!ar_str_is_line(ret->description, AR_DEFINITION_DESCRIPTION_MAX) ||
			!ar_str_is_line(ret->path, AR_DEFINITION_PATH_MAX) || ar_str_absent(ret->text) ||
			!is_line_or_absent(ret->model) || !is_line_or_absent(ret->mode) ||
			!is_line_or_absent(ret->isolation);
}

static void read_definitions(struct ar_wire_message *m, struct ar_arena *a, struct ar_inspected *ret)
{
	struct ar_json items = ar_wire_array(m, m->head, "definitions", AR_INSPECT_ITEMS_MAX);
	struct ar_definition *list = ar_arena_alloc(a, (ar_json_len(items) + 1) * sizeof(*list));
	size_t bytes = 0;

	for (struct ar_json_iter it = ar_json_iter(items); ar_json_next(&it) && !m->is_broken;) {
		read_definition(m, it.value, a, &list[ret->definition_count]);
		bytes += list[ret->definition_count++].text.len;
	}
	ret->definitions = list;
	m->is_broken |= bytes > 2 * AR_INSPECT_DEFINITIONS_MAX; /* redaction may have made it longer */
}

void ar_codec_read_inspected(struct ar_wire_message *m, struct ar_arena *a, struct ar_inspected *ret)
{
	struct ar_json v = m->head, items = ar_wire_array(m, v, "items", AR_INSPECT_ITEMS_MAX);
	struct ar_inspect_item *list = ar_arena_alloc(a, (ar_json_len(items) + 1) * sizeof(*list));

	*ret = (struct ar_inspected){ .digest = ar_wire_text(m, v, "digest"),
				      .file = ar_wire_text(m, v, "file"),
				      .instructions = ar_wire_text(m, v, "instructions"),
				      .reason = ar_wire_text(m, v, "reason"),
				      .items = list };
	for (struct ar_json_iter it = ar_json_iter(items); ar_json_next(&it);)
		read_item(m, it.value, &list[ret->count++]);
	read_definitions(m, a, ret);
	m->is_broken |= ret->instructions.len > AR_INSPECT_TEXT_MAX + 65536;
}
