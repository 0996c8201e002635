/* The way of a verification: page after page of the log, then the session is held for the comparison
 * and, if wanted, the repair. Every callback of the store comes back to on_...(), notes what it brought
 * and calls advance(), which knows what is next. What is compared is in verify_compare.c, the replay in
 * verify_fold.c. Owner: the loop thread. */
#include "verify/verify_priv.h"
#include "storage.h"
#include "verify/damaged.h"

#include <string.h>

#define PAGE_BYTES ((size_t)256 * 1024)
#define ROW_PAGE 200 /* rows of tasks or actions */

static void advance(struct ar_verify *w);

/* ---- the end ---- */

static void release(struct ar_verify *w)
{
	struct ar_live *l = w->held;

	if (!l)
		return;
	w->held = NULL;
	l->is_in_flight = false;
	ar_live_pump(l);
}

static void finish(struct ar_verify *w)
{
	struct ar_engine_verify *v = w->v;

	release(w);
	ar_fold_fini(&w->whole);
	ar_fold_fini(&w->tail);
	ar_fold_fini(&w->again);
	ar_store_op_fini(&w->read.op);
	ar_store_op_fini(&w->blobs.op);
	ar_store_op_fini(&w->index.op);
	ar_store_op_fini(&w->tasks.op);
	ar_store_op_fini(&w->actions.op);
	ar_free(w->absent);
	v->work = NULL;
	ar_free(w);
	v->done(v);
}

static void fail(struct ar_verify *w, uint16_t code, const char *why)
{
	w->v->verdict = AR_VERIFY_FAILED;
	ar_refuse(&w->v->err, code, "%s", why);
	finish(w);
}

static void conclude(struct ar_verify *w)
{
	struct ar_engine_verify *v = w->v;
	size_t left = v->has_more;

	for (size_t i = 0; i < v->finding_count; i++)
		left += !v->findings[i].is_repaired;
	if (w->is_corrupt)
		v->verdict = AR_VERIFY_CORRUPT;
	else if (left > 0)
		v->verdict = AR_VERIFY_DIFFERS;
	else
		v->verdict = v->finding_count > 0 ? AR_VERIFY_REPAIRED : AR_VERIFY_OK;
	if (v->verdict == AR_VERIFY_CORRUPT)
		ar_damaged_log(w->engine, v->session);
	else if (v->verdict != AR_VERIFY_DIFFERS)
		ar_damaged_forget(w->engine, v->session);
	finish(w);
}

/* Whether an operation of the store brought what was asked for; else the verification is over. */
static bool has_come(struct ar_verify *w, const struct ar_store_op *op)
{
	if (w->engine->is_stopping) {
		fail(w, AR_ERR_UNAVAILABLE, "the runtime is stopping");
		return false;
	}
	if (op->status == AR_OK)
		return true;
	fail(w, ar_storage_code(op->status), op->err.msg);
	return false;
}

/* ---- pages of the log ---- */

static void on_page(struct ar_store_op *op);

static struct ar_fold *folding(struct ar_verify *w)
{
	if (w->stage == AR_VERIFY_TAIL)
		return &w->tail;
	return w->stage == AR_VERIFY_AGAIN ? &w->again : &w->whole;
}

static void read_page(struct ar_verify *w)
{
	ar_store_op_fini(&w->read.op);
	w->read = (struct ar_store_read){ .op = { .kind = AR_STORE_READ, .done = on_page },
					  .session = w->v->session,
					  .from = folding(w)->state.head + 1,
					  .max_bytes = w->window };
	ar_store_submit(w->engine->o.store, &w->read.op);
}

/* A fact that cannot be had: of the log itself, or one that only the stored snapshot does not lead to. */
static void page_broken(struct ar_verify *w, const char *why)
{
	if (w->stage != AR_VERIFY_TAIL) {
		ar_verify_absent(w);
		ar_verify_log_broken(w, why);
		conclude(w);
		return;
	}
	ar_verify_snapshot_broken(w, why);
	w->stage = AR_VERIFY_TASKS;
	advance(w);
}

static void on_page(struct ar_store_op *op)
{
	struct ar_verify *w = AR_CONTAINER_OF(op, struct ar_verify, read.op);
	struct ar_error err = { 0 };

	if (op->status == AR_E_CORRUPT && w->window > 1) {
		w->window = 1; /* row by row to the one that cannot be read */
		read_page(w);
		return;
	}
	if (op->status == AR_E_CORRUPT) {
		page_broken(w, op->err.msg);
		return;
	}
	w->at_end = op->status == AR_E_NOT_FOUND || w->read.at_end;
	if (op->status != AR_E_NOT_FOUND && !has_come(w, op))
		return;
	if (ar_fold_rows(folding(w), w->read.rows, w->read.row_count, &err) != AR_OK)
		page_broken(w, err.msg);
	else
		advance(w);
}

/* ---- contents ---- */

static void on_blobs(struct ar_store_op *op)
{
	struct ar_verify *w = AR_CONTAINER_OF(op, struct ar_verify, blobs.op);

	if (!has_come(w, op))
		return;
	ar_verify_contents(w);
	w->refs_seen += w->blobs.count;
	advance(w);
}

/* The next contents that the page names; false when all were looked at. */
static bool check_contents(struct ar_verify *w)
{
	size_t n = 0;

	ar_store_op_fini(&w->blobs.op);
	if (w->refs_seen == w->whole.ref_count) {
		ar_fold_forget_refs(&w->whole);
		w->refs_seen = 0;
		return false;
	}
	while (n < AR_VERIFY_BLOBS && w->refs_seen + n < w->whole.ref_count) {
		w->hashes[n] = w->whole.refs[w->refs_seen + n].hash;
		n++;
	}
	w->blobs = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = on_blobs },
						.hashes = w->hashes,
						.count = n,
						.is_check = true };
	ar_store_submit(w->engine->o.store, &w->blobs.op);
	return true;
}

/* ---- the session waits ---- */

static void on_index(struct ar_store_op *op)
{
	struct ar_verify *w = AR_CONTAINER_OF(op, struct ar_verify, index.op);

	if (has_come(w, op))
		read_page(w);
}

bool ar_verify_hold(struct ar_live *l)
{
	struct ar_list *node = ar_list_pop(&l->verifiers);
	struct ar_verify *w;

	if (!node)
		return false;
	w = AR_CONTAINER_OF(node, struct ar_verify, node);
	w->held = l;
	w->stage = AR_VERIFY_REST;
	w->at_end = false;
	l->is_in_flight = true;
	w->index = (struct ar_store_index){ .op = { .kind = AR_STORE_INDEX, .done = on_index },
					    .session = w->v->session };
	ar_store_submit(l->engine->o.store, &w->index.op);
	return true;
}

static void wait_for_quiet(struct ar_verify *w)
{
	struct ar_live *l;

	if (!ar_partition_has(&w->engine->owned, ar_id_partition(w->v->session))) {
		fail(w, AR_ERR_NOT_OWNER, "the session has moved to another node");
		return;
	}
	l = ar_live_get(w->engine, w->v->session);
	ar_list_push(&l->verifiers, &w->node);
	ar_live_pump(l);
}

/* ---- snapshot ---- */

/* What is wrong with the stored snapshot before a fact is folded behind it; NULL when nothing is. */
static const char *restore_snapshot(struct ar_verify *w, struct ar_error *err)
{
	ar_fold_init(&w->tail, w->v->session, w->engine->json, w->engine->member_json);
	w->tail.is_bare = true;
	if (ar_str_absent(w->index.snapshot))
		return "the snapshot cannot be unpacked, or is not the one that was stored";
	if (ar_fold_restore(&w->tail, w->index.snapshot, err) != AR_OK)
		return err->msg;
	return w->tail.state.head == w->index.snapshot_seq
		       ? NULL
		       : "the snapshot was taken at another fact than its row says";
}

static void begin_tail(struct ar_verify *w)
{
	struct ar_error err = { 0 };
	const char *fault = w->index.has_snapshot ? restore_snapshot(w, &err) : NULL;

	if (fault)
		ar_verify_snapshot_broken(w, fault);
	w->stage = fault || !w->index.has_snapshot ? AR_VERIFY_TASKS : AR_VERIFY_TAIL;
	advance(w);
}

/* All of the log is folded: what is stored beside it can be compared. */
static void log_folded(struct ar_verify *w)
{
	w->v->facts = w->whole.state.head;
	ar_verify_absent(w);
	if (w->whole.state.head == 0 && !w->index.has_row && !w->index.has_snapshot) {
		fail(w, AR_ERR_SESSION_NOT_FOUND, "there is no such session");
		return;
	}
	ar_verify_index(w);
	if (w->is_corrupt) {
		conclude(w);
		return;
	}
	ar_verify_memory(w);
	begin_tail(w);
}

static void tail_folded(struct ar_verify *w)
{
	ar_verify_tail(w);
	w->stage = AR_VERIFY_TASKS;
	advance(w);
}

/* ---- task rows ---- */

static void on_tasks(struct ar_store_op *op)
{
	struct ar_verify *w = AR_CONTAINER_OF(op, struct ar_verify, tasks.op);

	if (!has_come(w, op))
		return;
	ar_verify_tasks(w);
	if (w->tasks.next > 0) {
		advance(w);
		return;
	}
	ar_verify_missing(w, AR_FOLD_TASK);
	w->stage = AR_VERIFY_ACTIONS;
	advance(w);
}

static void read_tasks(struct ar_verify *w)
{
	uint64_t after = w->tasks.next;

	ar_store_op_fini(&w->tasks.op);
	w->tasks = (struct ar_store_tasks){ .op = { .kind = AR_STORE_TASKS, .done = on_tasks },
					    .session = w->v->session,
					    .with_internal = true,
					    .is_check = true,
					    .after = after,
					    .limit = ROW_PAGE };
	ar_store_submit(w->engine->o.store, &w->tasks.op);
}

/* ---- action rows ---- */

static void rows_compared(struct ar_verify *w);

static void on_actions(struct ar_store_op *op)
{
	struct ar_verify *w = AR_CONTAINER_OF(op, struct ar_verify, actions.op);

	if (!has_come(w, op))
		return;
	ar_verify_actions(w);
	if (w->actions.more) {
		advance(w);
		return;
	}
	ar_verify_missing(w, AR_FOLD_ACTION);
	rows_compared(w);
}

static void read_actions(struct ar_verify *w)
{
	const struct ar_store_action_row *last =
		w->actions.count ? &w->actions.rows[w->actions.count - 1] : NULL;
	struct ar_store_actions next = { .op = { .kind = AR_STORE_ACTIONS, .done = on_actions },
					 .session = w->v->session,
					 .is_check = true,
					 .limit = ROW_PAGE };

	if (last) {
		next.after = ar_arena_str(&w->v->arena, last->action);
		next.after_created = last->created;
	}
	ar_store_op_fini(&w->actions.op);
	w->actions = next;
	ar_store_submit(w->engine->o.store, &w->actions.op);
}

/* ---- repair ---- */

static void on_repaired(struct ar_engine_request *r)
{
	struct ar_verify *w = AR_CONTAINER_OF(r, struct ar_verify, request);

	if (r->status != AR_OK) {
		fail(w, r->err.code, r->err.msg);
		return;
	}
	for (size_t i = 0; i < w->v->finding_count; i++)
		w->v->findings[i].is_repaired = w->v->findings[i].is_repairable;
	conclude(w);
}

/* The session decides on the replayed state: the one it has may be what is wrong. */
static void adopt(struct ar_verify *w, struct ar_live *l)
{
	l->is_borrowed = !l->is_loaded && !l->is_owned; /* its open work is still to be taken up, by a load */
	ar_session_fini(&l->state);
	l->state = w->whole.state;
	l->load_number = ++l->engine->loads;
	l->is_loaded = true;
	w->whole.state = (struct ar_session){ 0 };
}

static void add_rows(struct ar_verify *w)
{
	struct ar_engine_request *r = &w->request;
	size_t room = w->again.kept_count + 1;

	w->task_rows = ar_arena_alloc(&w->v->arena, room * sizeof(*w->task_rows));
	w->action_rows = ar_arena_alloc(&w->v->arena, room * sizeof(*w->action_rows));
	for (size_t i = 0; i < w->again.kept_count; i++) {
		if (w->again.kept[i].kind == AR_FOLD_TASK)
			w->task_rows[r->task_count++] = w->again.kept[i].task;
		else
			w->action_rows[r->action_count++] = w->again.kept[i].action;
	}
	r->tasks = w->task_rows;
	r->actions = w->action_rows;
}

static void repair(struct ar_verify *w)
{
	struct ar_live *l = w->held;

	w->repair = ar_verify_repair(w, &w->v->arena);
	w->request = (struct ar_engine_request){ .done = on_repaired, .with_snapshot = true };
	add_rows(w);
	w->request.input = (struct ar_input){ .kind = AR_IN_REPAIR, .repair = &w->repair };
	adopt(w, l);
	ar_list_push(l->inbox.next, &w->request.node); /* first: what waits decides on the repaired session */
	release(w);
}

static void rows_compared(struct ar_verify *w)
{
	bool has_repairable = false;

	for (size_t i = 0; i < w->v->finding_count; i++)
		has_repairable |= w->v->findings[i].is_repairable;
	if (!w->v->repair || !has_repairable) {
		conclude(w);
		return;
	}
	w->stage = AR_VERIFY_AGAIN;
	ar_fold_init(&w->again, w->v->session, w->engine->json, w->engine->member_json);
	w->again.kept = w->bad;
	w->again.kept_count = w->bad_count;
	advance(w);
}

/* ---- the way ---- */

static void advance(struct ar_verify *w)
{
	bool is_whole = w->stage == AR_VERIFY_WHOLE || w->stage == AR_VERIFY_REST;

	if (is_whole && check_contents(w))
		return;
	switch (w->stage) {
	case AR_VERIFY_WHOLE:
		(w->at_end ? wait_for_quiet : read_page)(w);
		return;
	case AR_VERIFY_REST:
		(w->at_end ? log_folded : read_page)(w);
		return;
	case AR_VERIFY_TAIL:
		(w->tail.state.head >= w->whole.state.head ? tail_folded : read_page)(w);
		return;
	case AR_VERIFY_TASKS:
		read_tasks(w);
		return;
	case AR_VERIFY_ACTIONS:
		read_actions(w);
		return;
	case AR_VERIFY_AGAIN:
		(w->bad_count == 0 || w->again.state.head >= w->whole.state.head ? repair : read_page)(w);
		return;
	}
}

void ar_engine_verify(struct ar_engine *e, struct ar_engine_verify *v)
{
	struct ar_verify *w = ar_new0(sizeof(*w));

	w->engine = e;
	w->v = v;
	w->window = PAGE_BYTES;
	v->work = w;
	ar_list_init(&w->node);
	ar_fold_init(&w->whole, v->session, e->json, e->member_json);
	if (e->is_stopping)
		fail(w, AR_ERR_UNAVAILABLE, "the runtime is stopping");
	else
		read_page(w);
}

void ar_engine_verify_fini(struct ar_engine_verify *v)
{
	ar_arena_fini(&v->arena);
	v->findings = NULL;
	v->finding_count = 0;
}
