/* See answer.h. agent-files ran behind a boundary on files that others wrote: its answer is read like that of
 * any other peer. */
#include "answer.h"

#include "artifacts.h"

#include <errno.h>
#include <string.h>

#define DENIED_PATH_MAX 1024

static const struct ar_tool_result cancelled = {
	.outcome = AR_TOOL_CANCELLED,
	.category = { "cancelled", 9 },
	.message = { "The call was cancelled.", 23 },
	.advice = { "Call it again if it is still wanted.", 36 },
};

const struct ar_tool_result *ar_files_answer_cancelled(void)
{
	return &cancelled;
}

static struct ar_str text_member(struct ar_json v, const char *name)
{
	struct ar_str s = AR_STR_NONE;

	ar_json_str(ar_json_get(v, name), &s);
	return s;
}

static struct ar_str join_sentences(struct ar_arena *a, struct ar_str message, struct ar_str advice)
{
	struct ar_str parts[] = { message, AR_STR(" "), advice };

	return ar_arena_join(a, parts, 3);
}

static void set_result(struct ar_files_answer *a, enum ar_tool_outcome outcome, const char *category,
		       struct ar_str message, const char *advice)
{
	a->result.outcome = outcome;
	a->result.category = ar_str_from(category);
	a->result.message = message;
	a->result.advice = ar_str_from(advice);
	a->result.text = join_sentences(&a->arena, message, a->result.advice);
}

static void read_success(struct ar_files_answer *a, struct ar_json v)
{
	struct ar_json image = ar_json_get(v, "image"), changes = ar_json_get(v, "changes");

	a->result.outcome = AR_TOOL_OK;
	a->result.text = text_member(v, "text");
	a->image = (struct ar_tool_image){ text_member(image, "mimeType"), text_member(image, "data") };
	a->result.images = &a->image;
	a->result.image_count = !ar_str_absent(a->image.mime) && !ar_str_absent(a->image.data);
	a->result.artifacts =
		ar_contained_artifacts(&a->arena, ar_json_get(v, "versions"), &a->result.artifact_count);
	if (ar_json_type(changes) != AR_JSON_ARRAY)
		return;
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };

	ar_json_print(changes, &text);
	a->result.changes = ar_arena_str(&a->arena, ar_buf_str(&text));
}

/* The kernel refused a path to the tool itself: proof, unlike what a program of others prints. */
static struct ar_str denial_text(struct ar_files_answer *a, struct ar_str path, int64_t code)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_str shown = ar_str_utf8_prefix(path, DENIED_PATH_MAX);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "boundary", code == EXDEV ? AR_STR("path") : AR_STR("filesystem"));
	ar_jw_mstr(&w, "attempted", ar_arena_fmt(&a->arena, "%s %.*s", a->tool, AR_STR_ARG(shown)));
	ar_jw_mstr(&w, "effect", AR_STR("blocked"));
	ar_jw_mstr(&w, "evidence", AR_STR("enforcer"));
	ar_jw_mint(&w, "errno", code);
	ar_jw_mint(&w, "count", 1);
	ar_jw_mbool(&w, "isLast", true);
	ar_jw_close(&w);
	return ar_arena_str(&a->arena, ar_buf_str(&out));
}

static void read_denial(struct ar_files_answer *a, struct ar_json denied)
{
	struct ar_str path = text_member(denied, "path");
	int64_t code = 0;

	if (ar_str_empty(path) || !ar_json_i64(ar_json_get(denied, "errno"), &code) ||
	    (code != EXDEV && code != EROFS && code != EBUSY))
		return;
	a->denial = denial_text(a, path, code);
	a->result.category = AR_STR("sandbox");
}

static void read_failure(struct ar_files_answer *a, struct ar_json v, int64_t outcome)
{
	a->result.outcome = outcome == AR_TOOL_NOT_RUN ? AR_TOOL_NOT_RUN : AR_TOOL_ERROR;
	a->result.category = text_member(v, "category");
	a->result.message = text_member(v, "message");
	a->result.advice = text_member(v, "advice");
	a->result.text = join_sentences(&a->arena, a->result.message, a->result.advice);
	read_denial(a, ar_json_get(v, "denied"));
}

/* It ended without an answer that can be read. */
static void set_lost(struct ar_files_answer *a, const struct ar_contained_end *end)
{
	struct ar_str stderr_text = ar_str_utf8_prefix(end->stderr_text, 300);
	struct ar_str message = ar_arena_fmt(&a->arena, "The tool ended without an answer (status %d). %.*s",
					     end->exit_code, AR_STR_ARG(stderr_text));

	if (a->writes)
		set_result(a, AR_TOOL_LOST, "interrupted", message, "Look at the files before repeating it.");
	else
		set_result(a, AR_TOOL_ERROR, "tool_error", message, "Ask for less, or try again.");
	a->result.retryable = !a->writes;
}

static void read_output(struct ar_files_answer *a, const struct ar_contained_end *end)
{
	struct ar_json v;
	int64_t outcome = 0;

	if (end->is_cut || ar_json_parse(a->parser, end->output, &v, NULL) != AR_OK ||
	    !ar_json_i64(ar_json_get(v, "outcome"), &outcome))
		set_lost(a, end);
	else if (outcome == AR_TOOL_OK)
		read_success(a, v);
	else
		read_failure(a, v, outcome);
}

static void set_not_started(struct ar_files_answer *a, const struct ar_contained_end *end)
{
	struct ar_str why =
		ar_str_empty(end->message) ? AR_STR("the sandbox could not be set up") : end->message;

	set_result(a, AR_TOOL_NOT_RUN, end->is_unavailable ? "sandbox_unavailable" : "sandbox_failed",
		   ar_arena_fmt(&a->arena, "Nothing was done: %.*s.", AR_STR_ARG(why)),
		   "Tell the user; file tools run inside a sandbox only.");
	a->result.retryable = !end->is_unavailable;
}

static void set_violations(struct ar_files_answer *a, const struct ar_contained_end *end)
{
	struct ar_str *all;

	a->result.violations = end->violations;
	a->result.violation_count = end->violation_count;
	if (ar_str_absent(a->denial))
		return;
	all = ar_arena_alloc(&a->arena, (end->violation_count + 1) * sizeof(*all));
	for (size_t i = 0; i < end->violation_count; i++)
		all[i] = end->violations[i];
	all[end->violation_count] = a->denial;
	a->result.violations = all;
	a->result.violation_count++;
}

const struct ar_tool_result *ar_files_answer_read(struct ar_files_answer *a,
						  const struct ar_contained_end *end)
{
	if (end->outcome == AR_CONTAINED_STOPPED)
		return &cancelled;
	if (end->outcome == AR_CONTAINED_NOT_STARTED)
		set_not_started(a, end);
	else if (end->outcome == AR_CONTAINED_LOST)
		set_lost(a, end);
	else
		read_output(a, end);
	a->result.boundary = end->ready;
	set_violations(a, end);
	a->result.profile = a->profile;
	return &a->result;
}
