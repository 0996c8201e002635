/* When nothing is left to do: every turn has its end, what is shown is what a replay gives, with and
 * without snapshot, and nothing is left over. */
#include "sim.h"
#include "projection.h"

#include <stdlib.h>
#include <string.h>

#define SIM_STREAMING 64 /* threads of one session */

/* ---- replay ---- */

static void apply_from(struct sim *s, const struct sim_log *log, uint64_t head, struct ar_session *ret)
{
	struct ar_error err;

	for (uint64_t i = ret->head; i < head; i++) {
		if (ar_session_apply(ret, &log->facts[i].e, &err) != AR_OK)
			sim_fail(s, "replay of %.*s: %s", AR_SESSION_KEY_LEN, log->session_key, err.msg);
	}
}

void sim_replay(struct sim *s, const struct sim_log *log, uint64_t head, struct ar_session *ret)
{
	ar_session_init(ret, (struct ar_str){ log->session_key, AR_SESSION_KEY_LEN }, s->member_json);
	apply_from(s, log, head, ret);
}

/* Threads that the answer calls streaming: whether a model is answering is no fact, so a replay is told. */
static struct ar_texts streaming_of(struct ar_json reply, struct ar_str ids[SIM_STREAMING])
{
	struct ar_texts found = { ids, 0 };

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(reply, "threads")); ar_json_next(&it);) {
		if (found.count < SIM_STREAMING && ar_str_is(sim_text(it.value, "statusDetail"), "streaming"))
			ids[found.count++] = sim_text(it.value, "threadId");
	}
	return found;
}

/* As get_session answers. */
static void render(struct sim *s, const struct ar_session *state, struct ar_texts streaming,
		   struct ar_buf *out)
{
	const struct ar_projection_scope of = { .streaming = streaming };
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_projection_session(state, s->policy.runtime_id, &of, &w);
	ar_jw_key(&w, "historyCursor");
	ar_jw_open(&w);
	ar_jw_mint(&w, "before", (int64_t)state->head + 1);
	ar_jw_close(&w);
	ar_jw_close(&w);
}

static void expect_same(struct sim *s, const char *what, struct ar_str got, struct ar_str wanted)
{
	size_t at = 0, from;

	if (ar_str_eq(got, wanted))
		return;
	while (at < got.len && at < wanted.len && got.p[at] == wanted.p[at])
		at++;
	from = at > 60 ? at - 60 : 0;
	sim_fail(s, "%s differs at %zu: '...%.*s' instead of '...%.*s'", what, at,
		 AR_STR_ARG(ar_str_sub(got, from, 160)), AR_STR_ARG(ar_str_sub(wanted, from, 160)));
}

void sim_check_session(struct sim *s, struct ar_str reply, bool is_at_rest)
{
	struct ar_buf wanted = { 0 };
	const struct sim_log *log;
	struct ar_session state;
	struct ar_str ids[SIM_STREAMING];
	struct ar_texts streaming;
	struct ar_json v;
	int64_t head = 0;

	if (ar_json_parse(s->json, reply, &v, NULL) != AR_OK)
		sim_fail(s, "get_session is not JSON: %.*s", AR_STR_ARG(reply));
	ar_json_i64(ar_json_get(v, "asOfSequence"), &head);
	log = sim_log_of(s, ar_id_session_key(sim_text(v, "sessionId")));
	if (!log || head < 1 || (uint64_t)head > log->count || (is_at_rest && (uint64_t)head != log->count))
		sim_fail(s, "get_session shows fact %lld of %zu stored", (long long)head,
			 log ? log->count : 0);
	sim_replay(s, log, (uint64_t)head, &state);
	streaming = streaming_of(v, ids);
	if (is_at_rest && streaming.count)
		sim_fail(s, "a thread says streaming at rest");
	render(s, &state, streaming, &wanted);
	expect_same(s, "get_session", reply, ar_buf_str(&wanted));
	ar_session_fini(&state);
	ar_buf_fini(&wanted);
}

/* Stored snapshot and tail against the whole log. */
static void check_snapshot(struct sim *s, const struct sim_log *log, const struct ar_memory_session *ms)
{
	struct ar_buf a = { 0 }, b = { 0 };
	struct ar_session whole, restored;
	struct ar_error err;
	struct ar_json v;

	if (ar_str_absent(ms->snapshot))
		return;
	sim_replay(s, log, log->count, &whole);
	ar_session_init(&restored, (struct ar_str){ log->session_key, AR_SESSION_KEY_LEN }, s->member_json);
	if (ar_json_parse(s->json, ms->snapshot, &v, &err) != AR_OK ||
	    ar_session_restore(&restored, v, &err) != AR_OK)
		sim_fail(s, "the stored snapshot of %.*s: %s", AR_SESSION_KEY_LEN, log->session_key, err.msg);
	if (restored.head != ms->snapshot_seq)
		sim_fail(s, "the stored snapshot is of %llu and says %llu",
			 (unsigned long long)ms->snapshot_seq, (unsigned long long)restored.head);
	apply_from(s, log, log->count, &restored);
	render(s, &whole, (struct ar_texts){ 0 }, &a);
	render(s, &restored, (struct ar_texts){ 0 }, &b);
	expect_same(s, "snapshot and tail", ar_buf_str(&b), ar_buf_str(&a));
	ar_buf_clear(&a);
	ar_buf_clear(&b);
	ar_session_snapshot(&whole, &a);
	ar_session_snapshot(&restored, &b);
	expect_same(s, "state from snapshot and tail", ar_buf_str(&b), ar_buf_str(&a));
	ar_session_fini(&whole);
	ar_session_fini(&restored);
	ar_buf_fini(&a);
	ar_buf_fini(&b);
}

/* ---- all sessions ---- */

static int by_key(const void *a, const void *b)
{
	const struct ar_memory_session *const *x = a, *const *y = b;

	return memcmp((*x)->key.b, (*y)->key.b, AR_STORE_KEY);
}

typedef void visit_fn(struct sim *s, const struct sim_log *log, const struct ar_memory_session *ms);

static void for_each_session(struct sim *s, visit_fn *visit)
{
	const struct ar_memory *m = sim_memory(s);
	const struct ar_memory_session **all = ar_new0((m->sessions.count + 1) * sizeof(*all)), *ms;
	size_t n = 0;

	for (size_t i = 0; (ms = ar_map_next(&m->sessions, &i));) {
		if (ms->row_count > 0)
			all[n++] = ms;
	}
	qsort(all, n, sizeof(*all), by_key);
	for (size_t i = 0; i < n; i++)
		visit(s, sim_log_of(s, ar_store_key_text(&s->arena, &all[i]->key)), all[i]);
	ar_free(all);
}

/* ---- what rests ---- */

static struct ar_str body_of(struct sim *s, struct ar_str session_key, struct ar_str thread)
{
	if (ar_str_absent(thread))
		return ar_arena_fmt(&s->arena, "{\"sessionId\":\"sess_%.*s\"}", AR_STR_ARG(session_key));
	return ar_arena_fmt(&s->arena, "{\"sessionId\":\"sess_%.*s\",\"threadId\":\"%.*s\"}",
			    AR_STR_ARG(session_key), AR_STR_ARG(thread));
}

/* Work that is open while nothing runs must wait for a person; who then says go on. */
static void resume(struct sim *s, const struct sim_log *log, const struct ar_memory_session *ms AR_UNUSED)
{
	struct ar_str session_key = { log->session_key, AR_SESSION_KEY_LEN };
	struct ar_session state;

	sim_replay(s, log, log->count, &state);
	for (size_t i = 0; i < state.threads.count; i++) {
		const struct ar_thread *t = state.threads.at[i];

		if (ar_str_absent(t->active_turn) && t->queue.count == 0)
			continue;
		if (t->status != AR_THREAD_STATUS_BLOCKED && t->status != AR_THREAD_STATUS_STALE)
			sim_fail(s, "turn %.*s of %.*s is open, and nothing runs or waits for anyone",
				 AR_STR_ARG(t->active_turn), AR_STR_ARG(session_key));
		s->counts->resumes++;
		sim_ask_now(s, AR_CMD_RESUME_THREAD, body_of(s, session_key, sim_keep(s, t->id)));
	}
	ar_session_fini(&state);
}

/* Whatever crashes and faults came between: rows, snapshot and contents are what the log says. */
static void check_stored(struct sim *s, struct ar_str session_key)
{
	struct ar_str reply = sim_verify_now(s, body_of(s, session_key, AR_STR_NONE));
	struct ar_json v;

	if (ar_json_parse(s->json, reply, &v, NULL) != AR_OK ||
	    !ar_str_is(sim_text(ar_json_at(ar_json_get(v, "sessions"), 0), "status"), "ok"))
		sim_fail(s, "verification of %.*s: %.*s", AR_STR_ARG(session_key), AR_STR_ARG(reply));
}

static void check_session(struct sim *s, const struct sim_log *log, const struct ar_memory_session *ms)
{
	struct ar_str session_key = { log->session_key, AR_SESSION_KEY_LEN };

	sim_check_log(s, log);
	sim_check_worker(s, log);
	sim_check_session(s, sim_ask_now(s, AR_CMD_GET_SESSION, body_of(s, session_key, AR_STR_NONE)), true);
	check_snapshot(s, log, ms);
	check_stored(s, session_key);
	if (ms->row.active)
		sim_fail(s, "%.*s is listed as active and rests", AR_STR_ARG(session_key));
	if (ms->chunk_count > 0)
		sim_fail(s, "%.*s keeps %zu chunks of ended steps", AR_STR_ARG(session_key), ms->chunk_count);
}

static void check_submits(struct sim *s)
{
	for (size_t i = 0; i < s->submit_count; i++) {
		const struct sim_submit *t = s->submits[i];

		if (t->facts > 1 || (t->was_acked && t->facts != 1))
			sim_fail(s, "turn #%u was submitted %u times in the log", t->number, t->facts);
		if (!t->was_acked && !t->was_lost && t->facts > 0)
			sim_fail(s, "turn #%u was refused and is in the log", t->number);
	}
}

void sim_check_rest(struct sim *s)
{
	struct ar_engine_counts counts;

	for_each_session(s, resume);
	counts = ar_engine_counts(s->engine);
	if (counts.steps > 0 || counts.commits > 0)
		sim_fail(s, "at rest with %zu steps and %zu commits open", counts.steps, counts.commits);
	for_each_session(s, check_session);
	check_submits(s);
	sim_readers_check(s);
}
