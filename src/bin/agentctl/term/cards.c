/* See term.h: events as cards. Reads are gathered into one line; a command has its exit, time, profile
 * and first lines; an edit its difference; a failure the sentence that the model reads. */
#include "resolve.h"
#include "term/term.h"

#include <string.h>

#define CONTENT_MAX 262144 /* bytes of a result that are fetched */
#define OUTPUT_LINES 5 /* of a command that are shown */
#define DIFF_LINES 40
#define NAMES_MAX 200 /* bytes of names in a line of reads */

static void set(struct ar_buf *b, struct ar_str value)
{
	ar_buf_clear(b);
	ar_buf_adds(b, value);
}

/* ---- stored content ---- */

bool ar_term_content(struct ar_term *t, struct ar_str ref, struct ar_buf *to)
{
	struct ar_ctl *c = t->chat->ctl;
	struct ar_api_reply reply = { 0 };
	bool is_there = false;

	if (ar_str_absent(ref))
		return false;
	if (ar_api_try(c, "read_output", ar_resolve_output_body(c, ref, 0, CONTENT_MAX), &reply, NULL) ==
		    AR_OK &&
	    ar_str_is(ar_api_str(reply.doc, "encoding"), "utf-8")) {
		ar_buf_adds(to, ar_api_str(reply.doc, "content"));
		is_there = true;
	}
	ar_api_fini(&reply);
	return is_there;
}

/* ---- calls ---- */

static struct ar_term_call *find_call(struct ar_term *t, struct ar_str id)
{
	for (size_t i = 0; i < AR_TERM_CALLS; i++) {
		if (t->calls[i].is_running && ar_str_eq(ar_buf_str(&t->calls[i].id), id))
			return &t->calls[i];
	}
	return NULL;
}

/* A free place, or the oldest. */
static struct ar_term_call *new_call(struct ar_term *t)
{
	struct ar_term_call *oldest = &t->calls[0];

	for (size_t i = 0; i < AR_TERM_CALLS; i++) {
		if (!t->calls[i].is_running)
			return &t->calls[i];
		if (t->calls[i].at < oldest->at)
			oldest = &t->calls[i];
	}
	return oldest;
}

static void on_call(struct ar_term *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload"), args = ar_json_get(payload, "safeArgs");
	struct ar_term_call *call = new_call(t);

	call->is_running = true;
	call->is_read = false;
	call->at = ar_term_now();
	ar_json_bool(ar_json_get(payload, "isReadOnly"), &call->is_read);
	call->is_read = call->is_read && ar_subject_is_look(ar_api_str(payload, "toolName"));
	set(&call->id, ar_api_str(e->doc, "toolCallId"));
	set(&call->name, ar_api_str(payload, "toolName"));
	set(&call->profile, ar_api_str(payload, "sandboxProfile"));
	ar_buf_clear(&call->args);
	if (ar_json_type(args) == AR_JSON_OBJECT)
		ar_json_print(args, &call->args);
	else
		ar_term_content(t, ar_api_str(payload, "inputRef"), &call->args);
	t->chat->turn.tools++;
}

/* ---- reads ---- */

static void add_read(struct ar_term *t, const struct ar_term_call *call, int64_t ms)
{
	struct ar_term_reads *r = &t->reads;
	struct ar_str name = ar_buf_str(&call->name);

	r->ms += ms;
	if (ar_str_is(name, "search_files") || ar_str_is(name, "find_files")) {
		r->searches++;
	} else if (ar_str_is(name, "read_file")) {
		r->files++;
		if (r->names.len > NAMES_MAX)
			return;
		ar_buf_addz(&r->names, r->names.len ? ", " : "");
		ar_subject_member(&r->names, ar_buf_str(&call->args), "path");
	} else {
		r->others++;
	}
}

static void add_count(struct ar_buf *line, int count, const char *one, const char *many)
{
	if (count)
		ar_buf_addf(line, "%s%d %s", line->len > 4 ? ", " : "", count, count == 1 ? one : many);
}

/* Marks of a card. */
static void begin_card(struct ar_buf *line, enum ar_style style, const char *mark)
{
	ar_text_style(line, style);
	ar_buf_addz(line, mark);
	ar_text_style(line, AR_STYLE_PLAIN);
}

void ar_term_flush_reads(struct ar_term *t)
{
	struct ar_term_reads r = t->reads;
	struct ar_buf line = { 0 }, parts = { 0 };

	if (!r.files && !r.searches && !r.others)
		return;
	t->reads = (struct ar_term_reads){ 0 }; /* before anything is printed: that would come back here */
	begin_card(&line, AR_STYLE_GREEN, "• ");
	if (r.files) {
		ar_buf_addz(&line, "Read ");
		ar_text_add(&parts, ar_str_utf8_prefix(ar_buf_str(&r.names), NAMES_MAX));
		if (r.names.len > NAMES_MAX)
			ar_buf_addf(&parts, " … (%d files)", r.files);
	}
	add_count(&parts, r.searches, "search", "searches");
	add_count(&parts, r.others, "look", "looks");
	ar_buf_adds(&line, ar_buf_str(&parts));
	ar_text_style(&line, AR_STYLE_DIM);
	ar_buf_addf(&line, "  %lld.%lld s", (long long)(r.ms / 1000), (long long)(r.ms / 100 % 10));
	ar_tty_print(&t->screen, ar_buf_str(&line), 2);
	t->is_apart = true;
	ar_buf_fini(&line);
	ar_buf_fini(&parts);
	ar_buf_fini(&r.names);
}

/* ---- lines below a card ---- */

/* Colours that a program gave to its output, and the carriage return of a terminal, are nothing to read. */
static void add_output(struct ar_buf *to, struct ar_str row)
{
	struct ar_buf plain = { 0 };

	while (row.len && row.p[row.len - 1] == '\r')
		row.len--;
	for (size_t i = 0; i < row.len; i++) {
		size_t end = i + 2;

		while (end < row.len && (row.p[end] == ';' || (row.p[end] >= '0' && row.p[end] <= '9')))
			end++;
		if (row.p[i] == '\033' && end < row.len && row.p[i + 1] == '[' && row.p[end] == 'm')
			i = end;
		else
			ar_buf_addc(&plain, row.p[i]);
	}
	ar_text_add_code(to, ar_buf_str(&plain));
	ar_buf_fini(&plain);
}

void ar_term_print_first(struct ar_term *t, struct ar_str rows, int most, const char *how)
{
	struct ar_str row;
	int more = 0;

	for (int i = 0; rows.len; i++) {
		struct ar_buf line = { 0 };

		rows = ar_str_split(rows, '\n', &row);
		if (i < most) {
			ar_text_style(&line, AR_STYLE_DIM);
			ar_buf_addz(&line, "  │ ");
			ar_text_style(&line, AR_STYLE_PLAIN);
			add_output(&line, row);
			ar_term_print(t, ar_buf_str(&line), 4);
		}
		more += i >= most;
		ar_buf_fini(&line);
	}
	if (more)
		ar_term_printf(t, AR_STYLE_DIM, "  └ … %d line%s more%s", more, more == 1 ? "" : "s", how);
}

static void print_styled(struct ar_term *t, struct ar_str rows, int most, int indent)
{
	struct ar_str row;
	int more = 0;

	for (int i = 0; rows.len; i++) {
		rows = ar_str_split(rows, '\n', &row);
		if (i < most)
			ar_term_print(t, row, indent);
		more += i >= most;
	}
	if (more)
		ar_term_printf(t, AR_STYLE_DIM, "      … %d line%s more (agentctl diff shows them)", more,
			       more == 1 ? "" : "s");
}

/* ---- commands ---- */

/* "exit code 3, after 0.002 s" and the output behind an empty line. */
static void split_report(struct ar_str text, struct ar_str *ret_exit, struct ar_str *ret_output)
{
	struct ar_str head;

	*ret_output = ar_str_split(text, '\n', &head);
	while (ar_str_starts(*ret_output, AR_STR("\n")))
		*ret_output = ar_str_sub(*ret_output, 1, ret_output->len);
	*ret_exit = head;
}

/* Its process has not ended: "It runs in the background as proc_1." or "proc_1 runs; bytes 0 to 24 ...". */
static bool is_running(struct ar_str report)
{
	return ar_str_starts(report, AR_STR("It runs in the background")) ||
	       (report.len && memmem(report.p, report.len, " runs; ", 7));
}

static void add_exit(struct ar_buf *line, struct ar_str report)
{
	struct ar_str code;

	ar_str_split(ar_str_sub(report, strlen("exit code "), report.len), ',', &code);
	ar_buf_addz(line, "  exit ");
	ar_text_add(line, code);
	ar_buf_addz(line, " ·");
}

static void command_card(struct ar_term *t, const struct ar_term_call *call, struct ar_str text, int64_t ms)
{
	struct ar_buf line = { 0 };
	struct ar_str report, output;
	bool is_good = ar_str_starts(text, AR_STR("exit code 0")), has_exit, goes_on;

	split_report(text, &report, &output);
	has_exit = ar_str_starts(report, AR_STR("exit code "));
	goes_on = is_running(report);
	begin_card(&line, is_good || !has_exit ? AR_STYLE_GREEN : AR_STYLE_RED, "• ");
	ar_subject_title(&line, ar_buf_str(&call->name), ar_buf_str(&call->args), true);
	ar_text_style(&line, AR_STYLE_DIM);
	if (has_exit)
		add_exit(&line, report);
	if (goes_on)
		ar_buf_addz(&line, "  goes on in the background");
	else
		ar_buf_addf(&line, "%s%lld.%lld s", has_exit ? " " : "  ", (long long)(ms / 1000),
			    (long long)(ms / 100 % 10));
	if (call->profile.len) {
		ar_buf_addz(&line, " · ");
		ar_text_add(&line, ar_buf_str(&call->profile));
	}
	ar_term_print(t, ar_buf_str(&line), 2);
	set(&t->output, has_exit || goes_on ? output : text);
	ar_term_print_first(t, ar_buf_str(&t->output), OUTPUT_LINES, " (/output shows all)");
	ar_buf_fini(&line);
}

void ar_term_show_output(struct ar_term *t)
{
	if (!t->output.len)
		ar_term_printf(t, AR_STYLE_DIM, "there is no output of a command yet");
	ar_term_print_first(t, ar_buf_str(&t->output), 1000000, "");
}

/* ---- edits ---- */

/* The number in "Changed a.txt at line 2 (...)"; 0 = none. */
static size_t line_of(struct ar_str text)
{
	const char *at = text.len ? memmem(text.p, text.len, " at line ", 9) : NULL;
	size_t n = 0;

	for (at = at ? at + 9 : text.p + text.len; at < text.p + text.len && *at >= '0' && *at <= '9'; at++)
		n = n * 10 + (size_t)(*at - '0');
	return n;
}

static void edit_card(struct ar_term *t, const struct ar_term_call *call, struct ar_str text,
		      int64_t ms AR_UNUSED)
{
	struct ar_buf line = { 0 }, rows = { 0 }, before = { 0 }, after = { 0 };
	struct ar_str args = ar_buf_str(&call->args);
	bool is_written = ar_str_is(ar_buf_str(&call->name), "write_file");
	struct ar_subject_change change;

	ar_subject_member(&before, args, "oldText");
	ar_subject_member(&after, args, is_written ? "content" : "newText");
	change = ar_subject_diff(&rows, ar_buf_str(&before), ar_buf_str(&after),
				 is_written ? 1 : line_of(text));
	begin_card(&line, AR_STYLE_GREEN, "• ");
	ar_subject_title(&line, ar_buf_str(&call->name), args, true);
	ar_text_style(&line, AR_STYLE_DIM);
	ar_buf_addf(&line, "  +%zu", change.added);
	if (!is_written)
		ar_buf_addf(&line, " -%zu", change.removed);
	ar_term_print(t, ar_buf_str(&line), 2);
	print_styled(t, ar_buf_str(&rows), is_written ? DIFF_LINES / 4 : DIFF_LINES, 8);
	ar_buf_fini(&line);
	ar_buf_fini(&rows);
	ar_buf_fini(&before);
	ar_buf_fini(&after);
}

static void patch_card(struct ar_term *t, const struct ar_term_call *call, struct ar_str text,
		       int64_t ms AR_UNUSED)
{
	struct ar_lexer lexer = ar_lexer(AR_STR("diff"));
	struct ar_buf line = { 0 }, patch = { 0 }, rows = { 0 };
	struct ar_str rest, one;

	begin_card(&line, AR_STYLE_GREEN, "• ");
	ar_str_split(text, '\n', &one);
	ar_text_add(&line, one);
	ar_term_print(t, ar_buf_str(&line), 2);
	ar_subject_member(&patch, ar_buf_str(&call->args), "patch");
	for (rest = ar_buf_str(&patch); rest.len;) {
		rest = ar_str_split(rest, '\n', &one);
		ar_buf_addz(&rows, "    ");
		ar_lexer_line(&lexer, one, &rows);
		ar_buf_addc(&rows, '\n');
	}
	print_styled(t, ar_buf_str(&rows), DIFF_LINES, 8);
	ar_buf_fini(&line);
	ar_buf_fini(&patch);
	ar_buf_fini(&rows);
}

/* ---- the others ---- */

/* What an agent did is told at its end. */
static void agent_card(struct ar_term *t, const struct ar_term_call *call, struct ar_str text AR_UNUSED,
		       int64_t ms AR_UNUSED)
{
	struct ar_buf line = { 0 };

	begin_card(&line, AR_STYLE_GREEN, "• ");
	ar_subject_title(&line, ar_buf_str(&call->name), ar_buf_str(&call->args), true);
	ar_term_print(t, ar_buf_str(&line), 2);
	ar_buf_fini(&line);
}

/* A list of steps, of any tool that keeps one. False: the call has none. */
static bool steps_card(struct ar_term *t, const struct ar_term_call *call)
{
	struct ar_words_steps steps;
	struct ar_buf line = { 0 }, why = { 0 };
	bool has_steps = ar_words_steps(ar_buf_str(&call->args), &steps);

	if (has_steps) {
		begin_card(&line, AR_STYLE_GREEN, "• ");
		ar_text_add(&line, ar_buf_str(&call->name));
		ar_subject_member(&why, ar_buf_str(&call->args), "explanation");
		ar_buf_addz(&line, why.len ? ": " : "");
		ar_text_add(&line, ar_buf_str(&why));
		ar_text_style(&line, AR_STYLE_DIM);
		ar_buf_addf(&line, "  %d of %d done", steps.done, steps.count);
		ar_term_print(t, ar_buf_str(&line), 2);
		print_styled(t, ar_buf_str(&steps.rows), DIFF_LINES, 4);
		ar_buf_clear(&t->plan);
		if (steps.now.len)
			ar_buf_addf(&t->plan, "step %d of %d: ", steps.done + 1, steps.count);
		ar_text_add(&t->plan, ar_buf_str(&steps.now));
	}
	ar_buf_fini(&line);
	ar_buf_fini(&why);
	ar_buf_fini(&steps.rows);
	ar_buf_fini(&steps.now);
	return has_steps;
}

static void other_card(struct ar_term *t, const struct ar_term_call *call, struct ar_str text, int64_t ms)
{
	struct ar_buf line = { 0 };

	if (steps_card(t, call))
		return;
	begin_card(&line, AR_STYLE_GREEN, "• ");
	ar_subject_title(&line, ar_buf_str(&call->name), ar_buf_str(&call->args), true);
	ar_text_style(&line, AR_STYLE_DIM);
	ar_buf_addf(&line, "  %lld.%lld s", (long long)(ms / 1000), (long long)(ms / 100 % 10));
	ar_term_print(t, ar_buf_str(&line), 2);
	ar_buf_clear(&t->output);
	if (!ar_words_result(&t->output, text))
		set(&t->output, text);
	ar_term_print_first(t, ar_buf_str(&t->output), OUTPUT_LINES, " (/output shows all)");
	ar_buf_fini(&line);
}

static const struct {
	const char *tool;
	void (*show)(struct ar_term *t, const struct ar_term_call *call, struct ar_str text, int64_t ms);
} shapes[] = {
	{ "shell", command_card },    { "terminal_open", command_card }, { "edit_file", edit_card },
	{ "write_file", edit_card },  { "apply_patch", patch_card },	 { "spawn_agent", agent_card },
	{ "send_input", agent_card }, { "wait_agents", agent_card },	 { "close_agent", agent_card },
};

static void on_result(struct ar_term *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");
	struct ar_term_call *call = find_call(t, ar_api_str(e->doc, "toolCallId"));
	struct ar_term_call unknown = { 0 };
	int64_t ms = ar_api_int(payload, "durationMs");
	struct ar_buf text = { 0 };
	size_t i = 0;

	call = call ? call : &unknown;
	call->is_running = false;
	ar_term_beside_called(t, ar_api_str(e->doc, "toolCallId"));
	if (call->is_read) {
		add_read(t, call, ms);
		return;
	}
	if (!ar_term_content(t, ar_api_str(payload, "outputRef"), &text))
		set(&text, ar_api_str(payload, "preview"));
	while (i < AR_ARRAY_LEN(shapes) && !ar_str_is(ar_buf_str(&call->name), shapes[i].tool))
		i++;
	(i < AR_ARRAY_LEN(shapes) ? shapes[i].show : other_card)(t, call, ar_buf_str(&text), ms);
	ar_buf_fini(&text);
}

static void on_failed_call(struct ar_term *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");
	struct ar_term_call *call = find_call(t, ar_api_str(e->doc, "toolCallId"));
	struct ar_str sentence = ar_calls_error(t->chat->ctl, payload);
	struct ar_term_call unknown = { 0 };
	struct ar_buf line = { 0 };

	call = call ? call : &unknown;
	call->is_running = false;
	begin_card(&line, AR_STYLE_RED, "✗ ");
	ar_subject_title(&line, ar_buf_str(&call->name), ar_buf_str(&call->args), false);
	ar_text_style(&line, AR_STYLE_RED);
	ar_buf_addz(&line, "  ");
	ar_text_add(&line, ar_api_str(payload, "status"));
	ar_text_style(&line, AR_STYLE_PLAIN);
	ar_term_print(t, ar_buf_str(&line), 2);
	ar_term_print_first(t, ar_str_absent(sentence) ? ar_api_str(payload, "errorCategory") : sentence,
			    OUTPUT_LINES, "");
	ar_buf_fini(&line);
}

void ar_term_turn_failed(struct ar_term *t, struct ar_str message, struct ar_str advice, bool is_cancelled)
{
	struct ar_buf line = { 0 };

	begin_card(&line, AR_STYLE_RED, "✗ ");
	ar_text_style(&line, AR_STYLE_RED);
	ar_buf_addz(&line, is_cancelled ? "the turn was cancelled: " : "the turn failed: ");
	ar_text_add(&line, message);
	ar_term_print(t, ar_buf_str(&line), 2);
	if (!ar_str_empty(advice))
		ar_term_printf(t, AR_STYLE_PLAIN, "  next: %.*s", AR_STR_ARG(advice));
	ar_buf_fini(&line);
}

/* ---- text and turns ---- */

static void on_text(struct ar_term *t, const struct ar_ctl_event *e)
{
	struct ar_str step = ar_api_str(e->doc, "stepId");

	if (!ar_str_eq(ar_buf_str(&t->chat->shown.step), step))
		ar_term_settle(t);
	ar_term_text(t, ar_shown_part(&t->chat->shown, e->doc, false));
}

static void on_reasoning(struct ar_term *t, const struct ar_ctl_event *e)
{
	ar_buf_adds(&t->thought, ar_shown_part(&t->chat->shown, e->doc, true));
}

static void on_context(struct ar_term *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");

	t->tokens = ar_api_int(payload, "tokenEstimate");
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(payload, "policyFacts")); ar_json_next(&it);) {
		if (ar_str_is(ar_api_str(it.value, "fact"), "contextWindow"))
			t->window = ar_api_int(it.value, "tokens");
		else if (ar_str_is(ar_api_str(it.value, "fact"), "permissionMode"))
			set(&t->mode, ar_api_str(it.value, "mode"));
	}
}

/* The working row says that it goes on; its end is a card. */
static void on_compaction(struct ar_term *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");
	struct ar_buf line = { 0 };

	t->is_compacting = ar_str_is(e->type, "context.compaction.started");
	if (t->is_compacting)
		return;
	begin_card(&line, AR_STYLE_GREEN, "• ");
	ar_buf_addf(&line, "Replaced the older part of the conversation by a summary");
	ar_text_style(&line, AR_STYLE_DIM);
	ar_buf_addf(&line, "  %lld tokens became %lld", (long long)ar_api_int(payload, "tokensBefore"),
		    (long long)ar_api_int(payload, "tokensAfter"));
	ar_term_print(t, ar_buf_str(&line), 2);
	set(&t->output, ar_api_str(payload, "summaryPreview"));
	ar_term_print_first(t, ar_buf_str(&t->output), OUTPUT_LINES, " (/output shows all)");
	ar_buf_fini(&line);
}

static void on_model(struct ar_term *t, const struct ar_ctl_event *e)
{
	set(&t->chat->shown_model, ar_api_str(ar_json_get(e->doc, "payload"), "selectedModel"));
}

static const struct {
	const char *type;
	void (*take)(struct ar_term *t, const struct ar_ctl_event *e);
} takers[] = {
	{ "model.delta", on_text },
	{ "reasoning.delta", on_reasoning },
	{ "tool.started", on_call },
	{ "tool.result", on_result },
	{ "tool.failed", on_failed_call },
	{ "context.resolved", on_context },
	{ "routing.single_candidate", on_model },
	{ "context.compaction.started", on_compaction },
	{ "context.compaction.completed", on_compaction },
};

static void on_end(struct ar_term *t)
{
	ar_term_settle(t);
	for (size_t i = 0; i < AR_TERM_CALLS; i++)
		t->calls[i].is_running = false;
	t->turn_at = 0;
	t->is_compacting = false;
	ar_buf_clear(&t->plan);
	ar_place_read(&t->folder, &t->branch);
	ar_term_notify(t, "is done");
}

bool ar_term_event(struct ar_term *t, const struct ar_ctl_event *e)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(takers); i++) {
		if (ar_str_is(e->type, takers[i].type)) {
			takers[i].take(t, e);
			return true;
		}
	}
	if (ar_term_beside_event(t, e))
		return true;
	if (ar_str_is(e->type, "context.compaction.failed"))
		t->is_compacting = false;
	if (ar_str_is(e->type, "turn.started"))
		ar_term_turn_began(t, ar_api_str(e->doc, "turnId"));
	if (ar_str_is(e->type, "turn.completed") || ar_str_is(e->type, "turn.failed"))
		on_end(t);
	return false;
}
