/* What clients ask, and what an answer promises at the moment it is given: above all, that it is durable. */
#include "sim.h"

static void session_member(struct sim *s, struct ar_jw *w, struct ar_str session_key)
{
	ar_jw_mstr(w, "sessionId", ar_id_root(&s->arena, "sess", session_key));
}

/* ---- submit_turn ---- */

/* A session that takes this turn: one that is known, one that the caller names, or one
 * that the runtime makes. */
static struct ar_str choose_session(struct sim *s, struct ar_str *ret_thread)
{
	const struct sim_submit *known = s->submit_count ? s->submits[sim_below(s, s->submit_count)] : NULL;

	*ret_thread = AR_STR_NONE;
	if (known && !ar_str_absent(known->session_key) &&
	    (s->submit_count >= s->plan.sessions || sim_chance(s, 500))) {
		if (known->was_acked && sim_chance(s, 500))
			*ret_thread = known->thread;
		return known->session_key;
	}
	return sim_chance(s, 600) ? sim_core_new(s) : AR_STR_NONE;
}

static void write_input(struct sim *s, struct ar_jw *w, struct ar_str text, unsigned form)
{
	if (form == 0) {
		ar_jw_mstr(w, "text", text);
		return;
	}
	ar_jw_key(w, "input");
	ar_jw_open_array(w);
	for (unsigned i = 0; i < form; i++) {
		ar_jw_open(w);
		ar_jw_mstr(w, "type", AR_STR("text"));
		ar_jw_mstr(w, "text", i ? AR_STR("and more") : text);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
	(void)s;
}

struct wish {
	struct ar_str session_key, thread, turn, key;
	bool wants_thread, has_options, has_workspace, is_isolated;
	unsigned form, busy;
};

static struct ar_str write_submit(struct sim *s, const struct wish *x, struct ar_str text)
{
	static const char *const busy[] = { NULL, "queue", "queue", "reject", "interrupt", "rollback" };
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_str kept;

	ar_jw_open(&w);
	if (!ar_str_absent(x->session_key))
		session_member(s, &w, x->session_key);
	if (ar_str_absent(x->thread)) {
		ar_jw_key(&w, "createPolicy");
		ar_jw_open(&w);
		ar_jw_mstr(&w, x->wants_thread ? "thread" : "title",
			   x->wants_thread ? AR_STR("new") : AR_STR("A simulated session"));
		ar_jw_mstr(&w, "workspaceId", x->has_workspace ? s->workspace : AR_STR_NONE);
		ar_jw_mstr(&w, "isolation",
			   x->is_isolated && !s->worker.is_used ? AR_STR("copy") : AR_STR_NONE);
		ar_jw_close(&w);
	}
	ar_jw_mstr(&w, "threadId", x->thread);
	write_input(s, &w, text, x->form);
	ar_jw_mstr(&w, "turnId", x->turn);
	ar_jw_mstr(&w, "idempotencyKey", x->key);
	ar_jw_mstr(&w, "busyPolicy", ar_str_from(busy[x->busy]));
	if (x->has_options)
		ar_jw_mraw(&w, "options",
			   s->policy.model_count > 1 ? AR_STR("{\"temperature\":0.5,\"model\":\"sim-2\"}")
						     : AR_STR("{\"temperature\":0.5,\"model\":\"sim-1\"}"));
	ar_jw_close(&w);
	kept = sim_keep(s, ar_buf_str(&body));
	ar_buf_fini(&body);
	return kept;
}

struct sim_submit *sim_submit_new(struct sim *s)
{
	struct sim_submit *t = ar_arena_alloc(&s->arena, sizeof(*t));
	struct wish x = { .form = (unsigned)sim_below(s, 3),
			  .busy = (unsigned)sim_below(s, s->plan.is_patient ? 4 : 6),
			  .wants_thread = sim_chance(s, 150),
			  .has_options = sim_chance(s, 200),
			  .has_workspace = sim_chance(s, 750) };

	x.is_isolated = x.has_workspace && s->policy.checkpoints > 0 && sim_chance(s, 400);
	t->number = (unsigned)s->submit_count + 1;
	x.session_key = choose_session(s, &x.thread);
	if (sim_chance(s, 600))
		x.turn = ar_arena_fmt(&s->arena, "own-%u", t->number);
	else if (sim_chance(s, 650))
		x.key = ar_arena_fmt(&s->arena, "key-%u", t->number);
	if (!ar_str_absent(x.key))
		t->key = ar_arena_fmt(&s->arena, "key:%.*s", AR_STR_ARG(x.key));
	if (!ar_str_absent(x.turn))
		t->key = ar_arena_fmt(&s->arena, "turn:%.*s", AR_STR_ARG(x.turn));
	t->session_key = x.session_key;
	t->text = ar_arena_fmt(&s->arena, "#%u say something na\xc3\xafve", t->number);
	t->body = write_submit(s, &x, t->text);
	t->other = write_submit(s, &x, ar_arena_fmt(&s->arena, "#%u say the opposite", t->number));
	s->submits = ar_grow(s->submits, s->submit_count + 1, sizeof(struct sim_submit *));
	s->submits[s->submit_count++] = t;
	return t;
}

static bool compose_submit(struct sim *s AR_UNUSED, struct sim_submit *about, struct ar_buf *body)
{
	ar_buf_adds(body, about->body);
	return true;
}

static bool compose_repeat(struct sim *s AR_UNUSED, struct sim_submit *about, struct ar_buf *body)
{
	ar_buf_adds(body, about->body);
	return !ar_str_absent(about->key);
}

static bool compose_conflict(struct sim *s AR_UNUSED, struct sim_submit *about, struct ar_buf *body)
{
	ar_buf_adds(body, about->other);
	return !ar_str_absent(about->key);
}

static void check_receipt(struct sim *s, const struct sim_submit *about)
{
	struct ar_store_receipt found;
	struct ar_arena a = { 0 };

	if (!ar_str_absent(about->key) &&
	    ar_memory_receipt_find(sim_memory(s), AR_STR(SIM_ACCOUNT "/submit_turn"), about->key, &a,
				   &found) != AR_OK)
		sim_fail(s, "turn #%u is acknowledged without a stored receipt", about->number);
	ar_arena_fini(&a);
}

static void judge_submit(struct sim *s, struct sim_submit *about, struct ar_json reply, struct ar_str text)
{
	struct ar_str turn = sim_keep(s, sim_text(reply, "turnId"));

	if (about->was_acked && !ar_str_eq(about->reply, text))
		sim_fail(s, "a repeat of turn #%u got another answer", about->number);
	about->reply = sim_keep(s, text);
	about->session_key = sim_keep(s, ar_id_session_key(sim_text(reply, "sessionId")));
	about->thread = sim_keep(s, sim_text(reply, "threadId"));
	about->turn = turn;
	about->was_acked = true;
	if (!sim_log_find(s, about->session_key, AR_EV_TURN_SUBMITTED, AR_SCOPE_TURN, turn))
		sim_fail(s, "turn #%u is acknowledged and not stored", about->number);
	check_receipt(s, about);
}

static void judge_repeat(struct sim *s, struct sim_submit *about, struct ar_json reply AR_UNUSED,
			 struct ar_str text)
{
	if (!ar_str_eq(about->reply, text))
		sim_fail(s, "a repeat of turn #%u got another answer: %.*s", about->number, AR_STR_ARG(text));
	s->counts->repeats++;
}

static void judge_conflict(struct sim *s, struct sim_submit *about, struct ar_json reply AR_UNUSED,
			   struct ar_str text)
{
	sim_fail(s, "turn #%u with another body was accepted: %.*s", about->number, AR_STR_ARG(text));
}

/* ---- create_session ---- */

static bool compose_create(struct sim *s, struct sim_submit *about AR_UNUSED, struct ar_buf *body)
{
	struct ar_jw w = ar_jw(body);

	ar_jw_open(&w);
	if (sim_chance(s, 500))
		session_member(s, &w, sim_core_new(s));
	ar_jw_mstr(&w, "title", AR_STR("Empty"));
	ar_jw_close(&w);
	return true;
}

static void judge_create(struct sim *s, struct sim_submit *about AR_UNUSED, struct ar_json reply,
			 struct ar_str text)
{
	if (!sim_log_of(s, ar_id_session_key(sim_text(reply, "sessionId"))))
		sim_fail(s, "a session is acknowledged and not stored: %.*s", AR_STR_ARG(text));
}

/* ---- interrupt_turn ---- */

static bool compose_interrupt(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	struct ar_jw w = ar_jw(body);

	if (s->plan.is_patient)
		return false;
	ar_jw_open(&w);
	session_member(s, &w, about->session_key);
	ar_jw_mstr(&w, "reason", AR_STR("changed my mind"));
	if (sim_chance(s, 300))
		ar_jw_mstr(&w, "turnId", about->turn);
	else if (sim_chance(s, 700))
		ar_jw_mstr(&w, "threadId", about->thread);
	else
		ar_jw_mbool(&w, "all", sim_chance(s, 700));
	if (sim_chance(s, 250))
		ar_jw_mstr(&w, "queuePolicy", AR_STR("clear"));
	ar_jw_close(&w);
	return true;
}

static void judge_interrupt(struct sim *s, struct sim_submit *about, struct ar_json reply,
			    struct ar_str text AR_UNUSED)
{
	const struct sim_log *log = sim_log_of(s, about->session_key);
	struct ar_str turn = sim_text(reply, "turnId");

	if (!ar_str_is(sim_text(reply, "result"), "accepted"))
		return;
	turn = sim_keep(s, turn);
	ar_map_put(&s->interrupted, turn, s);
	for (size_t i = log->count; i > 0; i--) {
		const struct ar_event *e = &log->facts[i - 1].e;
		const struct ar_ev_thread_updated *p = e->payload;

		if (e->type == AR_EV_THREAD_UPDATED && ar_str_is(p->reason, AR_REASON_INTERRUPT) &&
		    ar_str_eq(e->ids[AR_SCOPE_TURN], turn))
			return;
	}
	sim_fail(s, "the interrupt of %.*s is acknowledged and not stored", AR_STR_ARG(turn));
}

/* ---- steer_turn ---- */

static bool compose_steer(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	struct ar_jw w = ar_jw(body);

	ar_jw_open(&w);
	session_member(s, &w, about->session_key);
	ar_jw_mstr(&w, "threadId", about->thread);
	ar_jw_mstr(&w, "turnId", about->turn);
	write_input(s, &w, ar_arena_fmt(&s->arena, "and mind #%u", about->number), 1 + sim_chance(s, 300));
	ar_jw_close(&w);
	return true;
}

static void judge_steer(struct sim *s, struct sim_submit *about, struct ar_json reply, struct ar_str text)
{
	struct ar_str step = sim_keep(s, sim_text(reply, "appliedAtStep"));

	s->counts->steers++;
	if (!sim_log_find(s, about->session_key, AR_EV_RUN_STATUS, AR_SCOPE_STEP, step))
		sim_fail(s, "an input is acknowledged and not stored: %.*s", AR_STR_ARG(text));
}

/* ---- the queue ---- */

static bool compose_queued(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	struct ar_jw w = ar_jw(body);

	ar_jw_open(&w);
	session_member(s, &w, about->session_key);
	ar_jw_mstr(&w, "queuedTurnId", about->turn);
	ar_jw_close(&w);
	return true;
}

static bool compose_promote(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	struct ar_jw w = ar_jw(body);

	ar_jw_open(&w);
	session_member(s, &w, about->session_key);
	ar_jw_mstr(&w, "queuedTurnId", about->turn);
	if (sim_chance(s, 300))
		ar_jw_mint(&w, "position", (int64_t)sim_below(s, 4) + 1);
	if (!s->plan.is_patient && sim_chance(s, 200))
		ar_jw_mbool(&w, "interruptActive", true);
	ar_jw_close(&w);
	return true;
}

static void judge_remove(struct sim *s, struct sim_submit *about, struct ar_json reply,
			 struct ar_str text AR_UNUSED)
{
	bool removed = false;

	ar_json_bool(ar_json_get(reply, "removed"), &removed);
	if (removed && !sim_log_find(s, about->session_key, AR_EV_TURN_FAILED, AR_SCOPE_TURN, about->turn))
		sim_fail(s, "turn #%u is removed, it says, and its log does not", about->number);
}

/* ---- threads ---- */

static bool compose_thread(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	struct ar_jw w = ar_jw(body);

	ar_jw_open(&w);
	session_member(s, &w, about->session_key);
	ar_jw_mstr(&w, "threadId", about->thread);
	ar_jw_close(&w);
	return true;
}

static bool compose_fork(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	struct ar_jw w = ar_jw(body);

	ar_jw_open(&w);
	session_member(s, &w, about->session_key);
	ar_jw_mstr(&w, "threadId", about->thread);
	if (sim_chance(s, 500))
		ar_jw_mstr(&w, "turnId", about->turn);
	ar_jw_close(&w);
	return true;
}

static bool compose_rollback(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	struct ar_buf target = { 0 };
	struct ar_jw w = ar_jw(body);

	if (sim_chance(s, 700))
		ar_buf_addf(&target, "{\"turnId\":\"%.*s\"}", AR_STR_ARG(about->turn));
	else
		ar_buf_addf(&target, "{\"sequence\":%u}", (unsigned)sim_below(s, 60));
	ar_jw_open(&w);
	session_member(s, &w, about->session_key);
	ar_jw_mstr(&w, "threadId", about->thread);
	ar_jw_mraw(&w, "target", ar_buf_str(&target));
	ar_jw_close(&w);
	ar_buf_fini(&target);
	return !ar_str_absent(about->turn);
}

static void judge_rollback(struct sim *s, struct sim_submit *about AR_UNUSED, struct ar_json reply,
			   struct ar_str text)
{
	struct ar_str ref = sim_keep(s, sim_text(reply, "baselineRef"));

	if (ar_json_len(ar_json_get(reply, "removedTurnIds")) == 0)
		return;
	s->counts->rollbacks++;
	if (ar_str_absent(sim_content(s, ref)))
		sim_fail(s, "what a rollback leaves is not stored: %.*s", AR_STR_ARG(text));
}

/* Who branched works in the branch from then on. */
static void judge_fork(struct sim *s, struct sim_submit *about, struct ar_json reply, struct ar_str text)
{
	about->thread = sim_keep(s, sim_text(reply, "threadId"));
	s->counts->forks++;
	if (!sim_log_find(s, about->session_key, AR_EV_THREAD_STARTED, AR_SCOPE_THREAD, about->thread))
		sim_fail(s, "a branch is acknowledged and not stored: %.*s", AR_STR_ARG(text));
}

static bool compose_session(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	struct ar_jw w = ar_jw(body);

	ar_jw_open(&w);
	session_member(s, &w, about->session_key);
	ar_jw_close(&w);
	return true;
}

static void judge_session(struct sim *s, struct sim_submit *about AR_UNUSED, struct ar_json reply AR_UNUSED,
			  struct ar_str text)
{
	s->counts->reads++;
	sim_check_session(s, text, false);
}

static void judge_read(struct sim *s, struct sim_submit *about AR_UNUSED, struct ar_json reply AR_UNUSED,
		       struct ar_str text AR_UNUSED)
{
	s->counts->reads++;
}

static bool compose_list(struct sim *s, struct sim_submit *about AR_UNUSED, struct ar_buf *body)
{
	ar_buf_addf(body, "{\"limit\":%u}", (unsigned)sim_below(s, 4) + 1);
	return true;
}

/* The newest process of the session, if it is known to run. */
static struct ar_str running_process(struct sim *s, struct ar_str session_key)
{
	const struct sim_log *log = sim_log_of(s, session_key);

	for (size_t i = log ? log->count : 0; i > 0; i--) {
		const struct ar_event *e = &log->facts[i - 1].e;

		if (e->type == AR_EV_PROCESS_STARTED)
			return e->ids[AR_SCOPE_PROCESS];
		if (!ar_str_absent(e->ids[AR_SCOPE_PROCESS]) && e->type != AR_EV_PROCESS_INPUT &&
		    e->type != AR_EV_RUN_STATUS && e->type != AR_EV_SANDBOX_VIOLATION)
			return AR_STR_NONE;
	}
	return AR_STR_NONE;
}

static bool compose_write(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	struct ar_str process = running_process(s, about->session_key);

	ar_buf_addf(body, "{\"processId\":\"%.*s\",\"input\":\"typed %u\\n\"}", AR_STR_ARG(process),
		    (unsigned)sim_below(s, 100));
	return !ar_str_absent(process);
}

static bool compose_terminate(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	struct ar_str process = running_process(s, about->session_key);

	ar_buf_addf(body, "{\"processId\":\"%.*s\",\"reason\":\"enough\"}", AR_STR_ARG(process));
	return !ar_str_absent(process);
}

static bool compose_restore(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	struct ar_str id = sim_some_checkpoint(s, about->session_key);

	ar_buf_addf(body, "{\"sessionId\":\"sess_%.*s\",\"checkpointId\":\"%.*s\"}",
		    AR_STR_ARG(about->session_key), AR_STR_ARG(id));
	return !ar_str_absent(id);
}

static void judge_restore(struct sim *s, struct sim_submit *about, struct ar_json reply,
			  struct ar_str text AR_UNUSED)
{
	const struct sim_log *log;
	int64_t at = 0;

	ar_json_i64(ar_json_get(reply, "sequence"), &at);
	log = sim_log_of(s, about->session_key); /* after it the reply is gone */
	if (at < 1 || (uint64_t)at > log->count || log->facts[at - 1].e.type != AR_EV_CHECKPOINT_RESTORING)
		sim_fail(s, "a restore is acknowledged without its fact");
}

/* Of a session that has worked in a folder of its own. */
static bool compose_session_files(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	const struct sim_log *log = sim_log_of(s, about->session_key);
	bool is_filled = false;

	for (size_t i = 0; log && i < log->count && !is_filled; i++)
		is_filled = log->facts[i].e.type == AR_EV_WORKSPACE_PREPARED;
	ar_buf_addf(body, "{\"sessionId\":\"sess_%.*s\"}", AR_STR_ARG(about->session_key));
	return is_filled;
}

static void judge_apply(struct sim *s, struct sim_submit *about, struct ar_json reply,
			struct ar_str text AR_UNUSED)
{
	const struct sim_log *log;
	int64_t at = 0;

	ar_json_i64(ar_json_get(reply, "sequence"), &at);
	log = sim_log_of(s, about->session_key); /* after it the reply is gone */
	if (at < 1 || (uint64_t)at > log->count || log->facts[at - 1].e.type != AR_EV_WORKSPACE_APPLYING)
		sim_fail(s, "a merge is acknowledged without its fact");
}

static bool compose_diff(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	struct ar_str id = sim_some_checkpoint(s, about->session_key);

	ar_buf_addf(body, "{\"sessionId\":\"sess_%.*s\",\"from\":\"%.*s\"}", AR_STR_ARG(about->session_key),
		    AR_STR_ARG(id));
	return !ar_str_absent(id);
}

/* What is compared is a state that the session was told of. */
static void judge_diff(struct sim *s, struct sim_submit *about, struct ar_json reply,
		       struct ar_str text AR_UNUSED)
{
	struct ar_str from = sim_keep(s, sim_text(reply, "from"));
	const struct sim_log *log = sim_log_of(s, about->session_key); /* after it the reply is gone */

	for (size_t i = 0; i < log->count; i++) {
		const struct ar_event *e = &log->facts[i].e;
		const struct ar_ev_checkpoint_created *created = e->payload;
		const struct ar_ev_checkpoint_restored *restored = e->payload;

		if ((e->type == AR_EV_CHECKPOINT_CREATED && ar_str_eq(created->tree, from)) ||
		    (e->type == AR_EV_CHECKPOINT_RESTORED && ar_str_eq(restored->before, from)))
			return;
	}
	sim_fail(s, "'%.*s' is compared, and no fact has it", AR_STR_ARG(from));
}

static bool compose_checkpoints(struct sim *s, struct sim_submit *about, struct ar_buf *body)
{
	ar_buf_addf(body, "{\"sessionId\":\"sess_%.*s\",\"limit\":%u}", AR_STR_ARG(about->session_key),
		    (unsigned)sim_below(s, 4) + 1);
	return true;
}

/* Newest first, and each was begun by the fact that it names. */
static void judge_checkpoints(struct sim *s, struct sim_submit *about, struct ar_json reply,
			      struct ar_str text)
{
	const struct sim_log *log = sim_log_of(s, about->session_key);
	int64_t before = INT64_MAX;

	if (ar_json_parse(s->json, text, &reply, NULL) != AR_OK) /* reading the log took it away */
		return;

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(reply, "checkpoints")); ar_json_next(&it);) {
		int64_t at = 0;
		const struct ar_event *e;

		ar_json_i64(ar_json_get(it.value, "sequence"), &at);
		if (at < 1 || at >= before || (uint64_t)at > log->count)
			sim_fail(s, "a list of checkpoints in a wrong order: %.*s", AR_STR_ARG(text));
		e = &log->facts[at - 1].e;
		if (e->type != AR_EV_CHECKPOINT_STARTED && e->type != AR_EV_CHECKPOINT_RESTORING)
			sim_fail(s, "fact %lld begins no checkpoint: %.*s", (long long)at, AR_STR_ARG(text));
		before = at;
	}
}

const struct sim_ask sim_asks[] = {
	[SIM_ASK_SUBMIT] = { "submit_turn", AR_CMD_SUBMIT_TURN, compose_submit, judge_submit, 50 },
	[SIM_ASK_REPEAT] = { "repeat", AR_CMD_SUBMIT_TURN, compose_repeat, judge_repeat, 9 },
	[SIM_ASK_CONFLICT] = { "conflict", AR_CMD_SUBMIT_TURN, compose_conflict, judge_conflict, 5 },
	[SIM_ASK_OTHER] = { "create_session", AR_CMD_CREATE_SESSION, compose_create, judge_create, 2 },
	{ "interrupt_turn", AR_CMD_INTERRUPT_TURN, compose_interrupt, judge_interrupt, 12 },
	{ "steer_turn", AR_CMD_STEER_TURN, compose_steer, judge_steer, 10 },
	{ "promote", AR_CMD_PROMOTE_QUEUED_TURN, compose_promote, judge_read, 6 },
	{ "remove", AR_CMD_REMOVE_QUEUED_TURN, compose_queued, judge_remove, 4 },
	{ "fork_thread", AR_CMD_FORK_THREAD, compose_fork, judge_fork, 4 },
	{ "rollback", AR_CMD_ROLLBACK_THREAD, compose_rollback, judge_rollback, 6 },
	{ "resume_thread", AR_CMD_RESUME_THREAD, compose_thread, judge_read, 4 },
	{ "get_session", AR_CMD_GET_SESSION, compose_session, judge_session, 6 },
	{ "get_thread", AR_CMD_GET_THREAD_READ, compose_thread, judge_read, 2 },
	{ "list_sessions", AR_CMD_LIST_SESSIONS, compose_list, judge_read, 2 },
	{ "list_tasks", AR_CMD_LIST_TASKS, compose_session, judge_read, 2 },
	{ "write_stdin", AR_CMD_WRITE_PROCESS_STDIN, compose_write, judge_read, 12 },
	{ "terminate", AR_CMD_TERMINATE_PROCESS, compose_terminate, judge_read, 4 },
	{ "restore", AR_CMD_RESTORE_CHECKPOINT, compose_restore, judge_restore, 8 },
	{ "diff", AR_CMD_DIFF_CHECKPOINTS, compose_diff, judge_diff, 3 },
	{ "apply", AR_CMD_APPLY_WORKSPACE, compose_session_files, judge_apply, 40 },
	{ "discard", AR_CMD_DISCARD_WORKSPACE, compose_session_files, judge_restore, 12 },
	{ "list_checkpoints", AR_CMD_LIST_CHECKPOINTS, compose_checkpoints, judge_checkpoints, 3 },
};
const size_t sim_ask_count = AR_ARRAY_LEN(sim_asks);
