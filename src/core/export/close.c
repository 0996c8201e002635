/* What is written when all facts were seen. */
#include "describe.h"
#include "identity.h"
#include "mem.h"
#include "pack.h"
#include "projection.h"

#include <stdio.h>
#include <string.h>

/* ---- signals ---- */

static void write_signal(struct ar_jw *w, const char *name, bool is_there)
{
	ar_jw_mstr(w, name, is_there ? AR_STR("exported") : AR_STR("not_applicable"));
}

/* Contents are there, or are left out by the caller's policy; single ones that are gone are gaps. */
static struct ar_str contents_word(const struct ar_pack *p)
{
	if (p->seen_count == 0)
		return AR_STR("not_applicable");
	return p->request.leaves_contents ? AR_STR("not_recorded") : AR_STR("exported");
}

/* Calls of models are the request log: each fact about one names its turn, or is said not to be joined. */
static struct ar_str requests_word(const struct ar_pack *p)
{
	if (p->unjoined > 0)
		return AR_STR("missing_correlation");
	return p->counts[ar_pack_signal_of(AR_EV_MODEL_COMPLETED)] > 0 ? AR_STR("exported")
								       : AR_STR("not_applicable");
}

void ar_pack_write_signals(struct ar_pack *p, struct ar_jw *w)
{
	ar_jw_open(w);
	for (size_t i = 0; ar_pack_signal(i); i++)
		write_signal(w, ar_pack_signal(i), p->counts[i] > 0);
	ar_jw_mstr(w, "contents", contents_word(p));
	ar_jw_mstr(w, "requestLog", requests_word(p));
	write_signal(w, "traces", p->traces.count > 0);
	ar_jw_mstr(w, "browser", AR_STR("not_applicable"));
	ar_jw_mstr(w, "metrics", AR_STR("unsupported")); /* they are of the process, not of a scope */
	ar_jw_close(w);
}

static void write_gaps(const struct ar_pack *p, struct ar_jw *w)
{
	struct ar_shape_known_gap_list gaps = { p->gaps, p->gap_count };

	ar_jw_key(w, "knownGaps");
	ar_list_encode(&ar_shape_known_gap_desc, &gaps, w);
}

/* Only ids that exist for the scope. */
static void write_correlation(const struct ar_pack *p, struct ar_jw *w)
{
	const struct ar_shape_evidence_scope *s = &p->request.scope;
	bool is_one_turn = !ar_str_absent(s->turn_id), is_one_task = !ar_str_absent(s->task_id);

	ar_jw_key(w, "runtimeCorrelation");
	ar_jw_open(w);
	ar_jw_mstr(w, "runtimeId", p->runtime_id);
	ar_jw_mstr(w, "sessionId", s->session_id);
	ar_jw_mstr(w, "threadId", is_one_turn && ar_str_absent(s->thread_id) ? p->thread : s->thread_id);
	ar_jw_mstr(w, "turnId", s->turn_id);
	ar_jw_mstr(w, "taskId", s->task_id);
	ar_jw_mstr(w, "jobId", s->job_id);
	ar_jw_mstr(w, "runId", is_one_turn || is_one_task ? p->run : AR_STR_NONE);
	if (p->traces.count == 1)
		ar_jw_mstr(w, "traceId", p->traces.at[0]);
	ar_jw_close(w);
}

static void write_tree(const struct ar_pack *p, struct ar_jw *w)
{
	char hex[AR_HASH_HEX];

	ar_hash_hex(&p->root, hex);
	ar_jw_key(w, "tree");
	ar_jw_open(w);
	ar_jw_mstr(w, "algorithm", AR_STR("rfc6962-sha256"));
	ar_jw_mint(w, "size", (int64_t)p->tree.size);
	ar_jw_mstr(w, "root", (struct ar_str){ hex, sizeof(hex) });
	ar_jw_close(w);
}

void ar_pack_write_scope(const struct ar_pack *p, struct ar_jw *w)
{
	write_correlation(p, w);
	ar_shape_write(w, "scope", &ar_shape_evidence_scope_desc, &p->request.scope);
	ar_jw_mint(w, "sequence", (int64_t)p->tree.size);
	ar_jw_mstr(w, "schemaVersion", AR_STR(AR_SCHEMA_VERSION));
	ar_jw_mstr(w, "runtimeVersion", AR_STR(AR_VERSION));
	ar_jw_key(w, "facts");
	ar_jw_open(w);
	ar_jw_mint(w, "count", (int64_t)p->facts);
	ar_jw_mint(w, "first", (int64_t)p->first);
	ar_jw_mint(w, "last", (int64_t)p->last);
	ar_jw_close(w);
	write_tree(p, w);
	ar_jw_mtexts(w, "traceIds", p->traces);
	ar_jw_mraw(w, "signals", p->signals);
	write_gaps(p, w);
	ar_jw_key(w, "redaction");
	ar_jw_open(w);
	ar_jw_mstr(w, "policy", p->request.leaves_contents ? AR_STR("without_contents") : AR_STR("recorded"));
	ar_jw_close(w);
}

/* ---- files ---- */

static void write_model(struct ar_pack *p, const struct ar_session *s)
{
	bool has_thread =
		!ar_str_absent(p->request.scope.thread_id) || !ar_str_absent(p->request.scope.turn_id);
	struct ar_projection_scope of = { .thread = p->thread };
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	if (!has_thread || !ar_session_thread(s, p->thread))
		of.thread = AR_STR_NONE;
	ar_jw_open(&w);
	ar_projection_session(s, p->runtime_id, &of, &w);
	ar_jw_close(&w);
	ar_pack_file_add(&p->files[AR_PACK_MODEL], ar_buf_str(&text));
	ar_buf_fini(&text);
}

static void write_list(struct ar_jw *w, const char *name, const struct ar_buf *members)
{
	ar_jw_key(w, name);
	ar_jw_open_array(w);
	if (members->len > 0)
		ar_jw_raw(w, ar_buf_str(members));
	ar_jw_close_array(w);
}

static void write_counts(const struct ar_pack *p, struct ar_jw *w)
{
	ar_jw_key(w, "counts");
	ar_jw_open(w);
	for (size_t i = 0; ar_pack_signal(i); i++) {
		if (p->counts[i] > 0)
			ar_jw_mint(w, ar_pack_signal(i), (int64_t)p->counts[i]);
	}
	ar_jw_mint(w, "failedToolCalls", (int64_t)p->failed_calls);
	ar_jw_mint(w, "contents", (int64_t)p->present);
	ar_jw_mint(w, "unjoinedRequests", (int64_t)p->unjoined);
	ar_jw_close(w);
}

static void write_summary(struct ar_pack *p)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "type", AR_STR("agentruntime.evidence/1"));
	ar_pack_write_scope(p, &w);
	write_counts(p, &w);
	write_list(&w, "recorded", &p->outcomes);
	ar_jw_close(&w);
	ar_pack_file_add(&p->files[AR_PACK_SUMMARY], ar_buf_str(&text));
	ar_buf_fini(&text);
}

static void write_sums(struct ar_pack *p)
{
	for (size_t i = 0; i < AR_PACK_SUMS; i++) {
		const struct ar_pack_file *f = &p->files[i];
		char hex[AR_HASH_HEX + 1] = { 0 }, line[AR_HASH_HEX + 64];
		int len;

		if (!f->is_used)
			continue;
		ar_hash_hex(&f->hash, hex);
		len = snprintf(line, sizeof(line), "%s  %s\n", hex, f->name);
		ar_pack_file_add(&p->files[AR_PACK_SUMS], (struct ar_str){ line, (size_t)len });
	}
	ar_pack_file_close(&p->files[AR_PACK_SUMS]);
}

/* ---- the end ---- */

/* A process that runs still writes: what it wrote so far is no content yet. */
static void note_running(struct ar_pack *p, const struct ar_session *s)
{
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *r = s->processes.at[i];

		if (r->status == AR_PROCESS_RUNNING &&
		    (ar_str_absent(p->request.scope.turn_id) || ar_str_eq(p->request.scope.turn_id, r->turn)))
			ar_pack_gap(p, r->id, "the process runs: its output is not complete");
	}
}

static enum ar_status check_found(const struct ar_pack *p, struct ar_error *err)
{
	if (p->facts == 0)
		return ar_refuse(err, AR_ERR_SCOPE_NOT_FOUND, "no fact of the session has these ids");
	if (p->request.kind == AR_PACK_REPLAY && !ar_str_absent(p->lost_input))
		return ar_refuse(err, AR_ERR_INPUT_UNAVAILABLE, "the input %.*s is not stored any more",
				 AR_STR_ARG(p->lost_input));
	if (p->request.kind == AR_PACK_REPLAY && p->case_count == 0)
		return ar_refuse(err, AR_ERR_INPUT_UNAVAILABLE, "no turn was submitted in this scope");
	return AR_OK;
}

/* What the caller must have: contents without a gap, signals with at least one fact. */
static enum ar_status check_included(const struct ar_pack *p, struct ar_error *err)
{
	for (size_t i = 0; i < p->request.include.count; i++) {
		struct ar_str word = p->request.include.at[i];

		if (ar_str_is(word, "contents") && p->gap_count > 0)
			return ar_refuse(err, AR_ERR_UNAVAILABLE_REFS, "%.*s: %.*s",
					 AR_STR_ARG(p->gaps[0].part), AR_STR_ARG(p->gaps[0].reason));
		for (size_t k = 0; ar_pack_signal(k); k++) {
			if (ar_str_is(word, ar_pack_signal(k)) && p->counts[k] == 0)
				return ar_refuse(err, AR_ERR_UNAVAILABLE_REFS, "the scope has no fact of %s",
						 ar_pack_signal(k));
		}
	}
	return AR_OK;
}

static void note_left_out(struct ar_pack *p)
{
	if (p->request.leaves_contents && p->present > 0)
		ar_pack_gap(p, AR_STR("contents"), "left out by redactionPolicy without_contents");
	if (p->request.kind == AR_PACK_REPLAY && p->case_count > AR_PACK_CASES)
		ar_pack_gap(p, AR_STR("cases"), "the scope has more turns than one replay takes");
	if (p->request.kind == AR_PACK_REVIEW_PAGE && p->more_gaps > 0)
		ar_pack_gap(p, AR_STR("facts"), "the page has room for the first ones only");
	else if (p->more_gaps > 0 && p->gap_count == AR_PACK_GAPS)
		p->gaps[p->gap_count++] = (struct ar_shape_known_gap){
			.part = AR_STR("others"),
			.reason = ar_arena_fmt(&p->arena, "%llu more are not named here",
					       (unsigned long long)p->more_gaps)
		};
	else if (p->more_gaps > 0)
		ar_pack_gap(p, AR_STR("contents"), "there are more than one pack takes");
}

static void keep_signals(struct ar_pack *p)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_pack_write_signals(p, &w);
	p->signals = ar_arena_str(&p->arena, ar_buf_str(&text));
	ar_buf_fini(&text);
}

enum ar_status ar_pack_close(struct ar_pack *p, const struct ar_session *s, const struct ar_sign_key *key,
			     struct ar_error *err)
{
	if (check_found(p, err) != AR_OK)
		return AR_E_REFUSED;
	p->root = ar_merkle_root(&p->tree);
	note_running(p, s);
	note_left_out(p);
	if (check_included(p, err) != AR_OK)
		return AR_E_REFUSED;
	keep_signals(p);
	if (p->request.kind == AR_PACK_REVIEW_PAGE)
		return AR_OK;
	if (p->request.kind == AR_PACK_EVIDENCE) {
		write_model(p, s);
		write_summary(p);
	}
	for (size_t i = 0; i < AR_PACK_SUMS; i++)
		ar_pack_file_close(&p->files[i]);
	if (p->request.kind != AR_PACK_EVIDENCE)
		return AR_OK;
	write_sums(p);
	ar_pack_sign(p, key);
	return AR_OK;
}

void ar_pack_document(struct ar_pack *p, const struct ar_sign_key *key, struct ar_buf *out)
{
	bool is_replay = p->request.kind == AR_PACK_REPLAY;
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "type", is_replay ? AR_STR("agentruntime.replay/1") : AR_STR("agentruntime.pack/1"));
	ar_pack_write_scope(p, &w);
	if (is_replay) {
		write_list(&w, "cases", &p->cases);
		ar_jw_mstr(&w, "expected", AR_STR("timeline.ndjson"));
		ar_jw_mraw(&w, "assertions", p->request.assertions);
		ar_jw_mstr(&w, "graderInstructions", p->request.instructions);
	}
	write_list(&w, "recorded", &p->outcomes);
	if (key && !is_replay)
		ar_jw_mstr(&w, "keyFingerprint", ar_sign_fingerprint(&p->arena, key->public));
	ar_jw_key(&w, "files");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < AR_PACK_FILES; i++) {
		if (p->files[i].is_used && !(is_replay && i == AR_PACK_SUMS))
			ar_pack_file_write(&p->files[i], p->session_key, &w);
	}
	ar_jw_close_array(&w);
	ar_jw_close(&w);
}
