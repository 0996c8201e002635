/* See report.h. Texts of the process were masked by the runtime before they came here. */
#include "report.h"

#include "arena.h"
#include "json.h"

#include <string.h>

#define HEX_BYTES 256
#define HEX_LINE 16

/* ---- how it ended ---- */

static bool is_timeout(const struct ar_process_end *end)
{
	return end->outcome == AR_PROC_TIMED_OUT ||
	       (end->outcome == AR_PROC_ENDED && ar_str_is(end->by, "policy") &&
		ar_str_is(end->reason, "timeout"));
}

struct ar_exec_ending ar_exec_ending_of(const struct ar_process_end *end)
{
	static const struct ar_exec_ending endings[] = {
		[AR_PROC_EXITED] = { AR_TOOL_OK, "", "" },
		[AR_PROC_NOT_STARTED] = { AR_TOOL_NOT_RUN, "not_started",
					  "Nothing ran. Correct what the message names, or continue without "
					  "it." },
		[AR_PROC_ENDED] = { AR_TOOL_ERROR, "terminated",
				    "It was stopped on purpose; do not run it again unless you are asked "
				    "to." },
		[AR_PROC_TIMED_OUT] = { AR_TOOL_TIMEOUT, "timeout",
					"Give it more time with timeoutMs, run it with background=true, or "
					"do "
					"less at once." },
		[AR_PROC_LIMIT_HIT] = { AR_TOOL_ERROR, "limit", "Use less of what the limit is about." },
		[AR_PROC_SUPERVISOR_LOST] = { AR_TOOL_LOST, "lost",
					      "Look at what it has done before running it again." },
		[AR_PROC_UNAVAILABLE] = { AR_TOOL_LOST, "lost",
					  "Look at what it has done before running it again." },
	};

	if (is_timeout(end))
		return endings[AR_PROC_TIMED_OUT];
	if (end->outcome == AR_PROC_ENDED && ar_str_is(end->by, "parent_cancellation"))
		return (struct ar_exec_ending){ AR_TOOL_CANCELLED, "cancelled",
						"Call it again if it is still wanted." };
	return endings[end->outcome];
}

static void write_seconds(int64_t ms, struct ar_buf *out)
{
	ar_buf_addf(out, "%lld.%03lld s", (long long)(ms / 1000), (long long)(ms % 1000));
}

static void write_exit(const struct ar_process_end *end, struct ar_buf *out)
{
	if (ar_str_empty(end->signal))
		ar_buf_addf(out, "exit code %d, after ", end->exit_code);
	else
		ar_buf_addf(out, "ended by %.*s, after ", AR_STR_ARG(end->signal));
	write_seconds(end->duration_ms, out);
}

static void write_reason(const char *words, struct ar_str reason, struct ar_buf *out)
{
	ar_buf_addz(out, words);
	if (!ar_str_empty(reason))
		ar_buf_addf(out, ": %.*s", AR_STR_ARG(ar_str_utf8_prefix(reason, 1024)));
}

void ar_exec_write_end(const struct ar_process_end *end, struct ar_buf *out)
{
	if (is_timeout(end)) {
		ar_buf_addz(out, "stopped because its time limit passed, after ");
		write_seconds(end->duration_ms, out);
	} else if (end->outcome == AR_PROC_EXITED) {
		write_exit(end, out);
	} else if (end->outcome == AR_PROC_NOT_STARTED) {
		write_reason("not started", end->message, out);
	} else if (end->outcome == AR_PROC_ENDED) {
		write_reason("stopped on purpose", end->reason, out);
	} else if (end->outcome == AR_PROC_LIMIT_HIT) {
		write_reason("killed by a limit", end->message, out);
	} else {
		write_reason("lost; how it ended is not known", end->message, out);
	}
}

/* ---- what it wrote ---- */

static void write_hex(struct ar_str bytes, struct ar_buf *out)
{
	for (size_t at = 0; at < bytes.len; at += HEX_LINE) {
		size_t end = at + HEX_LINE < bytes.len ? at + HEX_LINE : bytes.len;

		ar_buf_addf(out, "%06zx ", at);
		for (size_t i = at; i < end; i++)
			ar_buf_addf(out, " %02x", (unsigned char)bytes.p[i]);
		ar_buf_addz(out, "  ");
		for (size_t i = at; i < end; i++)
			ar_buf_addc(out, bytes.p[i] >= 0x20 && bytes.p[i] < 0x7f ? bytes.p[i] : '.');
		ar_buf_addc(out, '\n');
	}
}

/* The last bytes, from the beginning of a character on. */
static struct ar_str tail_of(struct ar_str text, size_t max)
{
	size_t at = text.len - max;

	while (at < text.len && ((unsigned char)text.p[at] & 0xc0) == 0x80)
		at++;
	return ar_str_sub(text, at, text.len);
}

void ar_exec_write_output(struct ar_str output, bool is_truncated, bool is_binary, struct ar_buf *out)
{
	struct ar_str head, tail;

	if (is_binary) {
		ar_buf_addf(out, "(binary output, %zu bytes kept; the first of them:)\n", output.len);
		write_hex(ar_str_sub(output, 0, HEX_BYTES), out);
		return;
	}
	if (output.len <= AR_EXEC_HEAD + AR_EXEC_TAIL) {
		ar_buf_adds(out, output);
		if (is_truncated)
			ar_buf_addz(out, "\n(more was written than is kept)");
		return;
	}
	head = ar_str_utf8_prefix(output, AR_EXEC_HEAD);
	tail = tail_of(output, AR_EXEC_TAIL);
	ar_buf_adds(out, head);
	ar_buf_addf(out,
		    "\n[... %zu bytes are left out here; process_read shows them from offset %zu on ...]\n",
		    output.len - head.len - tail.len, head.len);
	ar_buf_adds(out, tail);
}

/* ---- what it was kept from ---- */

struct tried {
	struct ar_str what;
	int64_t count;
	bool is_seen; /* not prevented: what became of it was seen afterwards */
};

static struct tried read_tried(struct ar_json_parser *parser, struct ar_str json, struct ar_arena *a)
{
	struct tried t = { AR_STR("something"), 1, false };
	struct ar_str effect = AR_STR_NONE;
	struct ar_json v;

	if (ar_json_parse(parser, json, &v, NULL) != AR_OK)
		return t;
	ar_json_str(ar_json_get(v, "attempted"), &t.what);
	ar_json_i64(ar_json_get(v, "count"), &t.count);
	t.is_seen = ar_json_str(ar_json_get(v, "effect"), &effect) && ar_str_is(effect, "logged");
	t.what = ar_arena_str(a, ar_str_utf8_prefix(t.what, 256));
	return t;
}

/* The same violation is reported when it happens and at the end with its count; the last report counts. */
static bool is_repeated(const struct tried *tried, size_t i, size_t count)
{
	for (size_t later = i + 1; later < count; later++) {
		if (ar_str_eq(tried[later].what, tried[i].what))
			return true;
	}
	return false;
}

/* Those that were prevented, or those that were only seen. False: there is none. */
static bool write_tried(const struct tried *tried, size_t count, bool is_seen, struct ar_buf *out)
{
	const char *before =
		is_seen ? "\nwarning: seen in the workspace afterwards: " : "\nthe sandbox blocked: ";
	bool is_any = false;

	for (size_t i = 0; i < count; i++) {
		if (tried[i].is_seen != is_seen || is_repeated(tried, i, count))
			continue;
		ar_buf_addz(out, before);
		ar_buf_adds(out, tried[i].what);
		if (tried[i].count > 1)
			ar_buf_addf(out, " (%lld times)", (long long)tried[i].count);
		before = ", ";
		is_any = true;
	}
	return is_any;
}

static void write_violations(const struct ar_process_result *r, struct ar_buf *out)
{
	struct ar_json_parser *parser;
	struct ar_arena a = { 0 };
	struct tried *tried;

	if (r->violation_count == 0)
		return;
	parser = ar_json_parser_new();
	tried = ar_arena_alloc(&a, r->violation_count * sizeof(*tried));
	for (size_t i = 0; i < r->violation_count; i++)
		tried[i] = read_tried(parser, r->violations[i], &a);
	if (write_tried(tried, r->violation_count, false, out))
		ar_buf_addz(out, "; if the task needs it, ask for more with sandbox=... and a justification");
	if (write_tried(tried, r->violation_count, true, out))
		ar_buf_addz(out, "; programs outside of the sandbox, such as git, may run what these name. "
				 "Remove what the task does not need, and tell the user about the rest "
				 "(`agentctl sandbox quarantine PATH` disables a planted repository)");
	ar_json_parser_free(parser);
	ar_arena_fini(&a);
}

bool ar_exec_was_denied(const struct ar_process_result *r)
{
	struct ar_json_parser *parser;
	struct ar_arena a = { 0 };
	bool is_denied = false;

	if (r->violation_count == 0 || r->end->outcome != AR_PROC_EXITED ||
	    (r->end->exit_code == 0 && ar_str_empty(r->end->signal)))
		return false;
	parser = ar_json_parser_new();
	for (size_t i = 0; i < r->violation_count && !is_denied; i++)
		is_denied = !read_tried(parser, r->violations[i], &a).is_seen;
	ar_json_parser_free(parser);
	ar_arena_fini(&a);
	return is_denied;
}

/* ---- all together ---- */

void ar_exec_write_result(const struct ar_process_result *r, struct ar_buf *out)
{
	ar_exec_write_end(r->end, out);
	write_violations(r, out);
	if (r->end->outcome == AR_PROC_NOT_STARTED)
		return;
	ar_buf_addz(out, "\n\n");
	if (r->output.len > 0)
		ar_exec_write_output(r->output, r->is_truncated, r->is_binary, out);
	else
		ar_buf_addz(out, "(no output)");
}

void ar_exec_result_json(const struct ar_process_result *r, struct ar_buf *out)
{
	static const char *const words[] = { "",	  "exited",    "not_started",	  "ended",
					     "timed_out", "limit_hit", "supervisor_lost", "unavailable" };
	const struct ar_process_end *end = r->end;
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "processId", r->process_id);
	ar_jw_mstr(&w, "outcome", ar_str_from(words[end->outcome]));
	if (end->outcome == AR_PROC_EXITED || end->exit_is_known)
		ar_jw_mint(&w, "exitCode", end->exit_code);
	ar_jw_mstr(&w, "signal", end->signal);
	ar_jw_mint(&w, "durationMs", end->duration_ms);
	ar_jw_mint(&w, "outputBytes", (int64_t)(end->stdout_bytes + end->stderr_bytes + end->tty_bytes));
	ar_jw_mbool(&w, "isTruncated", r->is_truncated);
	ar_jw_mbool(&w, "isBinary", r->is_binary);
	ar_jw_mint(&w, "violations", (int64_t)r->violation_count);
	ar_jw_close(&w);
}
