/* What is written when all facts were seen. */
#include "describe.h"
#include "identity.h"
#include "mem.h"
#include "pack.h"
#include "projection.h"

#include <stdio.h>
#include <string.h>

/* ---- signals ---- */

static void write_word(struct ar_jw *w, const char *name, enum ar_signal_word word)
{
	ar_jw_mstr(w, name, ar_str_from(ar_enum_name(&ar_signal_word_desc, (int)word)));
}

static enum ar_signal_word word_for(bool is_there)
{
	return is_there ? AR_SIGNAL_WORD_EXPORTED : AR_SIGNAL_WORD_NOT_APPLICABLE;
}

/* Contents are there, or are left out by the caller's policy; single ones that are gone are gaps. */
static enum ar_signal_word contents_word(const struct ar_pack *p)
{
	if (p->seen.count > 0 && p->request.leaves_contents)
		return AR_SIGNAL_WORD_NOT_RECORDED;
	return word_for(p->seen.count > 0);
}

/* Calls of models are the request log, beside logs that others recorded: what names no turn is not joined. */
static enum ar_signal_word requests_word(const struct ar_pack *p)
{
	if (p->unjoined + p->logs.unjoined > 0)
		return AR_SIGNAL_WORD_MISSING_CORRELATION;
	return word_for(p->logs.joined > 0 || p->counts[ar_pack_signal_of(AR_EV_MODEL_COMPLETED)] > 0);
}

/* Every turn could be traced; one that was not has no trace that could be found. */
static enum ar_signal_word traces_word(const struct ar_pack *p)
{
	if (p->traces.count == 0 && p->counts[ar_pack_signal_of(AR_EV_TURN_STARTED)] > 0)
		return AR_SIGNAL_WORD_NOT_RECORDED;
	return word_for(p->traces.count > 0);
}

void ar_pack_write_signals(struct ar_pack *p, struct ar_jw *w)
{
	ar_jw_open(w);
	for (size_t i = 0; ar_pack_signal(i); i++)
		write_word(w, ar_pack_signal(i), word_for(p->counts[i] > 0));
	write_word(w, "contents", contents_word(p));
	write_word(w, "requestLog", requests_word(p));
	write_word(w, "traces", traces_word(p));
	write_word(w, "browser", AR_SIGNAL_WORD_NOT_APPLICABLE);
	write_word(w, "metrics", AR_SIGNAL_WORD_UNSUPPORTED); /* they are of the process, not of a scope */
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
	ar_jw_mint(w, "joinedLogLines", (int64_t)p->logs.joined);
	ar_jw_mint(w, "unjoinedRequests", (int64_t)(p->unjoined + p->logs.unjoined));
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
	if (p->replay && (p->submitted == 0 || ar_case_is_empty(p->replay)))
		return ar_refuse(err, AR_ERR_INPUT_UNAVAILABLE, "no turn with an input began in this scope");
	if (p->replay && ar_case_is_too_long(p->replay))
		return ar_refuse(err, AR_ERR_EXPORT_FAILED,
				 "a turn of the scope has more than 16 MiB; name others with turnId");
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
	if (p->logs.unjoined > 0)
		ar_pack_gap(p, AR_STR("requestLog"),
			    ar_arena_fmt(&p->arena, "%llu lines name no turn or model request of the session",
					 (unsigned long long)p->logs.unjoined)
				    .p);
	if (p->left_out > 0)
		ar_pack_gap(p, AR_STR("turns"), "the scope has more turns than one case takes");
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

static void write_files(struct ar_pack *p, struct ar_jw *w)
{
	ar_jw_key(w, "files");
	ar_jw_open_array(w);
	for (size_t i = 0; i < AR_PACK_FILES; i++) {
		if (p->files[i].is_used && !(p->replay && i == AR_PACK_SUMS))
			ar_pack_file_write(&p->files[i], p->session_key, w);
	}
	ar_jw_close_array(w);
}

/* What the caller gave, and where the evidence is that the case comes from. */
static void write_case(struct ar_pack *p, struct ar_buf *out)
{
	struct ar_buf members = { 0 };
	struct ar_jw w = ar_jw(&members);

	ar_jw_mraw(&w, "assertions", p->request.assertions);
	ar_jw_mstr(&w, "graderInstructions", p->request.instructions);
	ar_jw_key(&w, "evidence");
	ar_jw_open(&w);
	ar_pack_write_scope(p, &w);
	write_list(&w, "recorded", &p->outcomes);
	write_files(p, &w);
	ar_jw_close(&w);
	ar_case_write(p->replay, ar_buf_str(&members), out);
	ar_buf_fini(&members);
}

void ar_pack_document(struct ar_pack *p, const struct ar_sign_key *key, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);

	if (p->replay) {
		write_case(p, out);
		return;
	}
	ar_jw_open(&w);
	ar_jw_mstr(&w, "type", AR_STR("agentruntime.pack/1"));
	ar_pack_write_scope(p, &w);
	write_list(&w, "recorded", &p->outcomes);
	if (key)
		ar_jw_mstr(&w, "keyFingerprint", ar_sign_fingerprint(&p->arena, key->public));
	write_files(p, &w);
	ar_jw_close(&w);
}
