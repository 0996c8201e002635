/* See pack.h: what of each fact goes where. */
#include "pack.h"
#include "describe.h"
#include "identity.h"
#include "mem.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *media_type;
} file_names[AR_PACK_FILES] = {
	[AR_PACK_EVENTS] = { "events.ndjson", "application/x-ndjson" },
	[AR_PACK_LEAVES] = { "leaves.txt", "text/plain" },
	[AR_PACK_TIMELINE] = { "timeline.ndjson", "application/x-ndjson" },
	[AR_PACK_MANIFEST] = { "manifest.ndjson", "application/x-ndjson" },
	[AR_PACK_REQUESTS] = { "requests.ndjson", "application/x-ndjson" },
	[AR_PACK_MODEL] = { "read_model.json", "application/json" },
	[AR_PACK_SUMMARY] = { "summary.json", "application/json" },
	[AR_PACK_SUMS] = { "SHA256SUMS", "text/plain" },
	[AR_PACK_STATEMENT] = { "statement.json", "application/vnd.in-toto+json" },
	[AR_PACK_PAE] = { "statement.pae", "application/octet-stream" },
	[AR_PACK_SIGNATURE] = { "statement.sig", "application/octet-stream" },
	[AR_PACK_DSSE] = { "statement.dsse.json", "application/vnd.dsse.envelope.v1+json" },
	[AR_PACK_KEY] = { "key.pem", "application/x-pem-file" },
};

/* By the beginning of the type; the last one takes the rest. */
static const struct {
	const char *prefix, *signal;
} by_prefix[] = {
	{ "tool.", "tools" },
	{ "artifact.", "artifacts" },
	{ "context.", "context" },
	{ "routing.", "routing" },
	{ "model.", "models" },
	{ "reasoning.", "models" },
	{ "permission.", "permission" },
	{ "action.", "permission" },
	{ "policy.", "permission" },
	{ "sandbox.", "sandbox" },
	{ "hook.", "hooks" },
	{ "process.", "processes" },
	{ "rate_limit.", "limits" },
	{ "quota.", "limits" },
	{ "limit.", "limits" },
	{ "cost.", "costs" },
	{ "channel.", "channels" },
	{ "subagent.", "subagents" },
	{ "task.", "tasks" },
	{ "run.", "tasks" },
	{ "job.", "jobs" },
	{ "checkpoint.", "checkpoints" },
	{ "history.", "history" },
	{ "output.", "outputs" },
	{ "evidence.", "verification" },
	{ "benchmark.", "benchmark" },
	{ "workspace.", "workspace" },
	{ "runtime.", "incidents" },
	{ "turn.", "turns" },
	{ "", "session" },
};

static const char *const signals[] = { "tools",	      "artifacts", "context",	"routing",	"models",
				       "permission",  "sandbox",   "hooks",	"processes",	"limits",
				       "costs",	      "channels",  "subagents", "tasks",	"jobs",
				       "checkpoints", "history",   "outputs",	"verification", "benchmark",
				       "workspace",   "incidents", "turns",	"session" };

_Static_assert(AR_ARRAY_LEN(signals) <= AR_PACK_SIGNALS, "room for the counts");

const char *ar_pack_signal(size_t i)
{
	return i < AR_ARRAY_LEN(signals) ? signals[i] : NULL;
}

size_t ar_pack_signal_of(enum ar_event_type type)
{
	const char *name = ar_event_describe(type)->name;
	size_t i = 0, k = 0;

	while (strncmp(name, by_prefix[i].prefix, strlen(by_prefix[i].prefix)) != 0)
		i++;
	while (strcmp(signals[k], by_prefix[i].signal) != 0)
		k++;
	return k;
}

void ar_pack_init(struct ar_pack *p, const struct ar_pack_request *request, struct ar_str session_key,
		  struct ar_str runtime_id)
{
	*p = (struct ar_pack){ .request = *request, .session_key = session_key, .runtime_id = runtime_id };
	p->request.scope.session_id = ar_id_root(&p->arena, "sess", session_key);
	p->gaps = ar_new0((AR_PACK_GAPS + 1) * sizeof(*p->gaps)); /* one more says how many are not named */
	for (size_t i = 0; i < AR_PACK_FILES; i++) {
		p->files[i].name = file_names[i].name;
		p->files[i].media_type = file_names[i].media_type;
	}
	p->files[AR_PACK_EVENTS].is_used = p->files[AR_PACK_TIMELINE].is_used =
		p->files[AR_PACK_MANIFEST].is_used = true;
	if (request->kind == AR_PACK_REPLAY)
		p->replay = ar_case_new(session_key);
}

void ar_pack_fini(struct ar_pack *p)
{
	for (size_t i = 0; i < AR_PACK_FILES; i++)
		ar_pack_file_fini(&p->files[i]);
	ar_merkle_fini(&p->tree);
	ar_case_free(p->replay);
	ar_buf_fini(&p->outcomes);
	ar_buf_fini(&p->review);
	ar_free(p->contents);
	ar_id_set_fini(&p->seen);
	ar_request_logs_fini(&p->logs);
	ar_free(p->gaps);
	ar_arena_fini(&p->arena);
}

enum ar_status ar_pack_check(const struct ar_pack_request *request, struct ar_error *err)
{
	for (size_t i = 0; i < request->include.count; i++) {
		struct ar_str word = request->include.at[i];
		size_t k = 0;

		while (ar_pack_signal(k) && !ar_str_is(word, ar_pack_signal(k)))
			k++;
		if (!ar_pack_signal(k) && !ar_str_is(word, "contents"))
			return ar_refuse(err, AR_ERR_INVALID_INPUT,
					 "include names '%.*s', which is no signal; see docs/evidence.md",
					 AR_STR_ARG(ar_str_utf8_prefix(word, 64)));
	}
	return AR_OK;
}

static bool is_whole(const struct ar_pack *p)
{
	const struct ar_shape_evidence_scope *s = &p->request.scope;

	return ar_str_absent(s->thread_id) && ar_str_absent(s->turn_id) && ar_str_absent(s->task_id) &&
	       ar_str_absent(s->job_id);
}

static bool fits(struct ar_str wanted, struct ar_str id)
{
	return ar_str_absent(wanted) || ar_str_eq(wanted, id);
}

static bool is_in_scope(const struct ar_pack *p, const struct ar_event *e)
{
	const struct ar_shape_evidence_scope *s = &p->request.scope;

	return fits(s->thread_id, e->ids[AR_SCOPE_THREAD]) && fits(s->turn_id, e->ids[AR_SCOPE_TURN]) &&
	       fits(s->task_id, e->ids[AR_SCOPE_TASK]) && fits(s->job_id, e->ids[AR_SCOPE_JOB]);
}

/* ---- contents that facts name ---- */

/* Whether it was named before. */
static bool was_seen(struct ar_pack *p, const struct ar_hash *h)
{
	enum ar_id_added added = ar_id_set_add(&p->seen, h, AR_PACK_CONTENTS);

	p->more_gaps += added == AR_ID_FULL; /* too many to be named */
	return added != AR_ID_NEW;
}

static void note_content(struct ar_pack *p, struct ar_str ref, uint64_t sequence, bool is_input)
{
	struct ar_str key;
	struct ar_hash hash;

	if (!ar_ref_parse(ref, &key, &hash) || !ar_str_eq(key, p->session_key) || was_seen(p, &hash))
		return;
	if (p->content_count == p->content_room) {
		p->content_room = p->content_room ? p->content_room * 2 : 64;
		p->contents = ar_grow(p->contents, p->content_room, sizeof(*p->contents));
	}
	p->contents[p->content_count++] = (struct ar_pack_content){ hash, sequence, is_input };
}

/* Every text of the fact that is a ref of the session, wherever it stands: refs are in lists and in objects,
 * too. A quote inside a text is written \", so no part of a text is taken for one. */
static void note_contents(struct ar_pack *p, struct ar_str line, uint64_t sequence)
{
	const char *end = line.p + line.len, *at = line.p, *close;

	while ((at = memmem(at, (size_t)(end - at), "\"blob_", 6))) {
		close = memchr(at + 1, '"', (size_t)(end - at - 1));
		if (!close)
			return;
		if (at == line.p || at[-1] != '\\')
			note_content(p, (struct ar_str){ at + 1, (size_t)(close - at - 1) }, sequence, false);
		at = close;
	}
}

void ar_pack_gap(struct ar_pack *p, struct ar_str part, const char *reason)
{
	if (p->gap_count == AR_PACK_GAPS) {
		p->more_gaps++;
		return;
	}
	p->gaps[p->gap_count++] = (struct ar_shape_known_gap){ .part = ar_arena_str(&p->arena, part),
							       .reason = ar_str_from(reason) };
}

static void add_sum(struct ar_pack *p, const char hex[AR_HASH_HEX])
{
	char line[AR_HASH_HEX * 2 + sizeof("  blobs/\n")];
	int len = snprintf(line, sizeof(line), "%.64s  blobs/%.64s\n", hex, hex);

	ar_pack_file_add(&p->files[AR_PACK_SUMS], (struct ar_str){ line, (size_t)len });
}

static void write_content(struct ar_pack *p, const struct ar_pack_content *c, struct ar_str bytes,
			  const char *state)
{
	struct ar_buf line = { 0 };
	struct ar_jw w = ar_jw(&line);
	struct ar_arena a = { 0 };
	char hex[AR_HASH_HEX];

	ar_hash_hex(&c->hash, hex);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "sha256", (struct ar_str){ hex, sizeof(hex) });
	ar_jw_mstr(&w, "ref", ar_ref_make(&a, p->session_key, &c->hash));
	ar_jw_mint(&w, "sequence", (int64_t)c->sequence);
	ar_jw_mstr(&w, "state", ar_str_from(state));
	if (!ar_str_absent(bytes))
		ar_jw_mint(&w, "size", (int64_t)bytes.len);
	ar_jw_close(&w);
	ar_buf_addc(&line, '\n');
	ar_pack_file_add(&p->files[AR_PACK_MANIFEST], ar_buf_str(&line));
	if (strcmp(state, "included") == 0)
		add_sum(p, hex);
	ar_buf_fini(&line);
	ar_arena_fini(&a);
}

void ar_pack_found(struct ar_pack *p, size_t from, const struct ar_str *bytes, size_t count)
{
	struct ar_arena a = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct ar_pack_content *c = &p->contents[from + i];
		struct ar_str ref = ar_ref_make(&a, p->session_key, &c->hash);

		if (!ar_str_absent(bytes[i])) {
			p->present++;
			write_content(p, c, bytes[i],
				      p->request.leaves_contents       ? "withheld"
				      : p->request.references_contents ? "referenced"
								       : "included");
			continue;
		}
		write_content(p, c, AR_STR_NONE, "missing");
		ar_pack_gap(p, ref, "the content is not stored any more");
		if (c->is_input && ar_str_absent(p->lost_input))
			p->lost_input = ar_arena_str(&p->arena, ref);
	}
	ar_arena_fini(&a);
}

void ar_pack_forget(struct ar_pack *p)
{
	p->content_count = 0;
}

/* ---- facts ---- */

static void write_timeline(struct ar_pack *p, const struct ar_event *e)
{
	struct ar_buf line = { 0 };
	struct ar_jw w = ar_jw(&line);

	ar_jw_open(&w);
	ar_jw_mint(&w, "sequence", (int64_t)e->sequence);
	ar_jw_mstr(&w, "eventId", e->event_id);
	ar_jw_mtime(&w, "timestamp", e->time);
	ar_jw_mstr(&w, "type", ar_str_from(ar_event_describe(e->type)->name));
	ar_jw_mstr(&w, "signal", ar_str_from(signals[ar_pack_signal_of(e->type)]));
	ar_jw_mstr(&w, "turnId", e->ids[AR_SCOPE_TURN]);
	ar_jw_mstr(&w, "toolCallId", e->ids[AR_SCOPE_TOOL_CALL]);
	ar_jw_close(&w);
	ar_buf_addc(&line, '\n');
	ar_pack_file_add(&p->files[AR_PACK_TIMELINE], ar_buf_str(&line));
	ar_buf_fini(&line);
}

/* One that a fact carries itself. */
static void note_trace(struct ar_pack *p, struct ar_str trace)
{
	if (!ar_str_absent(trace) && !ar_texts_have(p->traces, trace) && p->traces.count < AR_PACK_TRACES)
		p->traces = ar_arena_texts_add(&p->arena, p->traces, ar_arena_str(&p->arena, trace));
}

/* A turn of a replay: its input must be there. */
static void note_turn(struct ar_pack *p, const struct ar_event *e)
{
	const struct ar_ev_turn_submitted *in = e->payload;

	note_content(p, in->input_ref, e->sequence, true);
	p->submitted++;
	if (p->replay && !ar_case_admit(p->replay, e->ids[AR_SCOPE_TURN]))
		p->left_out++;
}

/* What others said of it, quoted. */
static void note_outcomes(struct ar_pack *p, const struct ar_event *e)
{
	const struct ar_ev_evidence_changed *of = e->payload;
	struct ar_jw w = ar_jw(&p->outcomes);

	if (ar_str_is(of->source, "runtime") || p->outcome_count++ >= AR_PACK_OUTCOMES)
		return;
	w.comma = p->outcomes.len > 0;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "evidenceId", e->ids[AR_SCOPE_EVIDENCE]);
	ar_jw_mstr(&w, "eventId", e->event_id);
	ar_jw_mstr(&w, "source", of->source);
	ar_jw_mstr(&w, "externalRef", of->external_ref);
	ar_jw_mstr(&w, "note", of->note);
	if (of->verification_outcomes.at) {
		ar_jw_key(&w, "verificationOutcomes");
		ar_list_encode(&ar_shape_verification_outcome_desc, &of->verification_outcomes, &w);
	}
	if (of->signals.at) {
		ar_jw_key(&w, "signals");
		ar_list_encode(&ar_shape_signal_status_desc, &of->signals, &w);
	}
	ar_jw_mstr(&w, "requestLogRef", of->request_log_ref);
	ar_jw_close(&w);
}

static void note_fact(struct ar_pack *p, const struct ar_event *e)
{
	p->facts++;
	p->last = e->sequence;
	if (p->first == 0)
		p->first = e->sequence;
	p->counts[ar_pack_signal_of(e->type)]++;
	p->failed_calls += e->type == AR_EV_TOOL_FAILED;
	p->unjoined += !ar_str_absent(e->ids[AR_SCOPE_REQUEST]) && ar_str_absent(e->ids[AR_SCOPE_TURN]);
	if (ar_str_absent(p->thread))
		p->thread = ar_arena_str(&p->arena, e->ids[AR_SCOPE_THREAD]);
	if (ar_str_absent(p->run))
		p->run = ar_arena_str(&p->arena, e->ids[AR_SCOPE_RUN]);
	note_trace(p, e->ids[AR_SCOPE_TRACE]);
	if (e->type == AR_EV_TURN_SUBMITTED)
		note_turn(p, e);
	if (e->type == AR_EV_EVIDENCE_CHANGED)
		note_outcomes(p, e);
}

static void add_leaf(struct ar_pack *p, struct ar_str line)
{
	struct ar_hash leaf = ar_merkle_leaf(&p->tree, line);
	char hex[AR_HASH_HEX + 1];

	ar_merkle_add(&p->tree, &leaf);
	if (is_whole(p))
		return;
	ar_hash_hex(&leaf, hex);
	hex[AR_HASH_HEX] = '\n';
	ar_pack_file_add(&p->files[AR_PACK_LEAVES], (struct ar_str){ hex, sizeof(hex) });
}

void ar_pack_fact(struct ar_pack *p, const struct ar_event *e, struct ar_str line)
{
	bool is_inside = is_in_scope(p, e);

	add_leaf(p, line);
	if (is_inside)
		note_fact(p, e);
	if (p->request.kind == AR_PACK_EVIDENCE)
		ar_request_logs_fact(p, e, is_inside);
	/* What holds for all threads, such as the workspace, is needed to run one of them again. */
	if (p->replay &&
	    (is_inside || ar_str_absent(e->ids[AR_SCOPE_THREAD]) || !ar_str_absent(e->ids[AR_SCOPE_TURN])))
		ar_case_fact(p->replay, e->ids[AR_SCOPE_TURN], line);
	if (!is_inside)
		return;
	if (p->request.kind == AR_PACK_REVIEW_PAGE) {
		ar_pack_review_fact(p, e, line);
		return;
	}
	ar_pack_file_add(&p->files[AR_PACK_EVENTS], line);
	ar_pack_file_add(&p->files[AR_PACK_EVENTS], AR_STR("\n"));
	write_timeline(p, e);
	note_contents(p, line, e->sequence);
}
