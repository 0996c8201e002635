/* See files.h: a request is read, its tool run, the answer written. What the tools do is in their own
 * files. */
#include "files.h"

#include "checkpoint/checkpoint.h"
#include "isolation/isolation.h"
#include "clock.h"
#include "git/repository.h"
#include "write/undo.h"

#define DEFAULT_BYTES ((int64_t)256 << 10)
#define MIN_BYTES ((int64_t)8 << 10) /* a line at its longest */
#define END_BYTES 512 /* the remark behind a result */
#define DEFAULT_MS 15000

static const struct ar_files_kind *const kinds[] = {
	&ar_files_read_file,	&ar_files_list_files, &ar_files_find_files,
	&ar_files_search_files, &ar_files_write_file, &ar_files_edit_file,
	&ar_files_apply_patch,	&ar_files_git_status, &ar_files_git_diff,
};

const struct ar_files_kind *ar_files_kind_at(size_t i)
{
	return i < AR_ARRAY_LEN(kinds) ? kinds[i] : NULL;
}

void ar_files_write_request(const struct ar_files_request *r, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "tool", r->tool);
	ar_jw_mraw(&w, "args", r->args);
	ar_jw_mstr(&w, "workspace", r->workspace);
	ar_jw_mint(&w, "maxBytes", r->max_bytes);
	ar_jw_mint(&w, "maxMs", r->max_ms);
	ar_jw_close(&w);
}

static const struct ar_files_kind *find_kind(struct ar_json request)
{
	struct ar_str name = AR_STR_NONE;

	ar_json_str(ar_json_get(request, "tool"), &name);
	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++) {
		if (ar_str_is(name, kinds[i]->name))
			return kinds[i];
	}
	return NULL;
}

static int64_t number_or(struct ar_json v, int64_t fallback)
{
	int64_t n = 0;

	return ar_json_i64(v, &n) && n > 0 ? n : fallback;
}

static void read_limits(struct ar_files_work *w, struct ar_json request)
{
	struct ar_clock *clock = ar_clock_system();
	int64_t bytes = number_or(ar_json_get(request, "maxBytes"), DEFAULT_BYTES);

	w->max_bytes = (size_t)((bytes > MIN_BYTES ? bytes : MIN_BYTES) - END_BYTES);
	w->until = clock->mono(clock) + number_or(ar_json_get(request, "maxMs"), DEFAULT_MS) * 1000;
}

/* For the owner of the workspace, not for models. */
static const struct owner_tool {
	const char *name;
	void (*run)(struct ar_files_work *w, struct ar_json args);
} owner_tools[] = {
	{ "undo", ar_files_undo },
	{ "repositories", ar_files_repositories },
	{ "quarantine", ar_files_quarantine },
	{ "checkpoint_save", ar_files_checkpoint_save },
	{ "checkpoint_restore", ar_files_checkpoint_restore },
	{ "checkpoint_diff", ar_files_checkpoint_diff },
	{ "checkpoint_forget", ar_files_checkpoint_forget },
	{ "workspace_fill", ar_files_workspace_fill },
	{ "workspace_merge", ar_files_workspace_merge },
	{ "workspace_clear", ar_files_workspace_clear },
};

static const struct owner_tool *find_owner_tool(struct ar_json request)
{
	struct ar_str name = AR_STR_NONE;

	ar_json_str(ar_json_get(request, "tool"), &name);
	for (size_t i = 0; i < AR_ARRAY_LEN(owner_tools); i++) {
		if (ar_str_is(name, owner_tools[i].name))
			return &owner_tools[i];
	}
	return NULL;
}

static void run(struct ar_files_work *w, struct ar_json request)
{
	const struct ar_files_kind *kind = find_kind(request);
	const struct owner_tool *owner = find_owner_tool(request);
	struct ar_str workspace = AR_STR_NONE;

	if (!kind && !owner) {
		ar_files_fail(w, "invalid_arguments", "Call one of the tools that are offered.",
			      "There is no such tool.");
		return;
	}
	ar_json_str(ar_json_get(request, "workspace"), &workspace);
	w->workspace = ar_arena_str(&w->arena, workspace);
	read_limits(w, request);
	if (!kind) {
		owner->run(w, ar_json_get(request, "args"));
		return;
	}
	ar_files_read_args(w, kind, ar_json_get(request, "args"));
	if (!ar_files_failed(w))
		kind->run(w);
}

static void write_failure(struct ar_jw *j, const struct ar_files_work *w)
{
	ar_jw_mstr(j, "category", ar_str_from(w->category));
	ar_jw_mstr(j, "message", w->message);
	ar_jw_mstr(j, "advice", ar_str_from(w->advice));
	if (ar_str_absent(w->denied))
		return;
	ar_jw_key(j, "denied");
	ar_jw_open(j);
	ar_jw_mstr(j, "path", w->denied);
	ar_jw_mint(j, "errno", w->denied_errno);
	ar_jw_close(j);
}

static void write_image(struct ar_jw *j, const struct ar_tool_image *image)
{
	ar_jw_key(j, "image");
	ar_jw_open(j);
	ar_jw_mstr(j, "mimeType", image->mime);
	ar_jw_mstr(j, "data", image->data);
	ar_jw_close(j);
}

static void write_answer(const struct ar_files_work *w, struct ar_buf *out)
{
	struct ar_jw j = ar_jw(out);

	ar_jw_open(&j);
	ar_jw_mint(&j, "outcome", ar_files_failed(w) ? (int64_t)w->outcome : AR_TOOL_OK);
	if (ar_files_failed(w))
		write_failure(&j, w);
	else
		ar_jw_mstr(&j, "text", ar_buf_str(&w->text));
	if (!ar_files_failed(w) && !ar_str_absent(w->image.mime))
		write_image(&j, &w->image);
	ar_jw_mraw(&j, "changes", w->changes);
	ar_jw_mraw(&j, "versions", w->versions);
	ar_jw_mraw(&j, "checkpoint", w->checkpoint);
	ar_jw_mraw(&j, "usage", w->usage);
	ar_jw_close(&j);
}

void ar_files_serve(struct ar_str request, struct ar_buf *out)
{
	struct ar_files_work w = { 0 };
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json v;

	if (request.len <= AR_FILES_REQUEST_MAX && ar_json_parse(parser, request, &v, NULL) == AR_OK)
		run(&w, v);
	else
		ar_files_fail(&w, "invalid_arguments", "Call it again with a JSON object.",
			      "The request is not JSON, or too long.");
	write_answer(&w, out);
	ar_json_parser_free(parser);
	ar_buf_fini(&w.text);
	ar_arena_fini(&w.arena);
}
