/* A session comes back from the store: newest snapshot, the facts after it, and what was
 * saved of open steps. O(window). */
#include "engine_priv.h"
#include "describe.h"
#include "funnel.h"
#include "index_rows.h"
#include "request/messages.h"
#include "quota/usage.h"
#include "storage.h"
#include "verify/damaged.h"

static enum ar_status apply_line(struct ar_live *l, struct ar_str line, struct ar_arena *arena,
				 struct ar_error *err)
{
	struct ar_event event;
	struct ar_json v;

	if (ar_json_parse(l->engine->json, line, &v, err) != AR_OK ||
	    ar_event_decode(v, arena, &event, err) != AR_OK)
		return ar_fail_wrap(err, "stored fact");
	if (event.sequence <= l->state.head)
		return AR_OK; /* the snapshot has it */
	return ar_session_apply(&l->state, &event, err);
}

static enum ar_status apply_rows(struct ar_live *l, struct ar_error *err)
{
	struct ar_arena arena = { 0 };
	enum ar_status rc = AR_OK;

	for (size_t i = 0; i < l->load.row_count && rc == AR_OK; i++) {
		struct ar_str rest = l->load.rows[i].body, line;

		while (rc == AR_OK && !ar_str_empty(rest)) {
			rest = ar_str_split(rest, '\n', &line);
			if (!ar_str_empty(line))
				rc = apply_line(l, line, &arena, err);
			ar_arena_reset(&arena);
		}
	}
	ar_arena_fini(&arena);
	return rc;
}

/* Chunks come ordered by step and position: they become one saved output per step. */
static void keep_saved(struct ar_live *l)
{
	struct ar_arena *a = &l->saved_arena;
	struct ar_step_output *out = NULL;
	struct ar_output whole = { 0 };

	ar_arena_fini(a);
	l->saved = NULL;
	l->saved_count = 0;
	if (l->load.chunk_count == 0)
		return;
	l->saved = ar_arena_alloc(a, (l->load.chunk_count + 1) * sizeof(*l->saved));
	for (size_t i = 0; i <= l->load.chunk_count; i++) {
		const struct ar_store_chunk_row *row = i < l->load.chunk_count ? &l->load.chunks[i] : NULL;

		if (out && (!row || !ar_str_eq(row->step, out->step))) {
			ar_step_output_of(&whole, a, out);
			out->masked = ar_funnel_saved(out, a);
			ar_output_fini(&whole);
			out = NULL;
		}
		if (row && !out) {
			out = &l->saved[l->saved_count++];
			out->step = ar_arena_str(a, row->step);
		}
		if (row && row->pos == whole.pos)
			ar_output_add(&whole, row->kind, row->index, row->bytes);
	}
}

/* What was stored with the last fact names it: a log that ends before lost its end. To go on from there
 * would write over what is left to tell of it. What stands behind it did not come with a commit. */
static enum ar_status check_end(struct ar_live *l, struct ar_error *err)
{
	uint64_t known = ar_index_head(l->engine->json, l->load.shell);

	if (known == 0 || known == l->state.head)
		return AR_OK;
	if (known < l->state.head)
		return ar_fail(err, AR_E_CORRUPT,
			       "the log goes on to fact %llu, but only facts up to %llu were stored",
			       (unsigned long long)l->state.head, (unsigned long long)known);
	return ar_fail(err, AR_E_CORRUPT, "the log ends with fact %llu, but facts up to %llu were stored",
		       (unsigned long long)l->state.head, (unsigned long long)known);
}

static enum ar_status rebuild(struct ar_live *l, struct ar_error *err)
{
	struct ar_json snapshot;

	ar_session_init(&l->state, ar_live_session_key(l), l->engine->member_json);
	l->load_number = ++l->engine->loads;
	if (!ar_str_absent(l->load.snapshot)) {
		if (ar_json_parse(l->engine->json, l->load.snapshot, &snapshot, err) != AR_OK)
			return ar_fail_wrap(err, "snapshot");
		if (ar_session_restore(&l->state, snapshot, err) != AR_OK)
			return AR_E_CORRUPT;
	}
	if (apply_rows(l, err) != AR_OK)
		return AR_E_CORRUPT;
	return check_end(l, err);
}

/* Commands that resume work have a code of their own for a session that cannot be read. */
static uint16_t code_for(const struct ar_engine_request *r, uint16_t code)
{
	const struct ar_command_desc *c =
		r->input.kind == AR_IN_COMMAND ? ar_command_describe(r->input.command.id) : NULL;

	if (!c || code != AR_ERR_STORAGE_CORRUPT)
		return code;
	for (size_t i = 0; i < c->error_count; i++) {
		if (c->errors[i] == AR_ERR_UNRECOVERABLE)
			return AR_ERR_UNRECOVERABLE;
	}
	return code;
}

static void refuse(struct ar_engine_request *r, uint16_t code, const char *message)
{
	ar_request_refuse(r, code_for(r, code), message);
}

void ar_live_refuse(struct ar_live *l, uint16_t code, const char *message)
{
	struct ar_list *node;
	struct ar_error err;

	ar_refuse(&err, code, "%s", message);
	while ((node = ar_list_pop(&l->inbox)))
		refuse(AR_CONTAINER_OF(node, struct ar_engine_request, node), code, message);
	while ((node = ar_list_pop(&l->views))) {
		struct ar_engine_view *v = AR_CONTAINER_OF(node, struct ar_engine_view, node);

		v->done(v, NULL, &err);
	}
}

void ar_live_begin(struct ar_live *l)
{
	ar_session_init(&l->state, ar_live_session_key(l), l->engine->member_json);
	l->load_number = ++l->engine->loads;
	l->is_loaded = l->is_owned = true;
	ar_usage_loaded(l);
}

/* There is no such session: only requests that may create one go on. */
static void not_there(struct ar_live *l)
{
	struct ar_list creators;
	struct ar_list *node;

	ar_list_init(&creators);
	AR_LIST_FOR_SAFE (it, &l->inbox) {
		if (!AR_CONTAINER_OF(it, struct ar_engine_request, node)->may_create)
			continue;
		ar_list_del(it);
		ar_list_push(&creators, it);
	}
	ar_live_refuse(l, AR_ERR_SESSION_NOT_FOUND, AR_NO_SESSION);
	while ((node = ar_list_pop(&creators)))
		ar_list_push(&l->inbox, node);
	if (ar_list_empty(&l->inbox))
		return;
	ar_live_begin(l);
}

/* An outage ends, and a later scan loads it; damage stays. */
static void not_read(struct ar_live *l, enum ar_status status, const char *why)
{
	struct ar_error err;

	l->engine->has_scan_failed |= l->is_scanned && status != AR_E_CORRUPT;
	if (status == AR_E_CORRUPT)
		ar_damaged_unread(l->engine, ar_live_session_key(l));
	ar_storage_refuse(&err, status, why, ar_live_session_key(l));
	ar_live_refuse(l, err.code, err.msg);
}

void ar_live_came_back(struct ar_live *l, bool is_back)
{
	struct ar_engine *e = l->engine;
	struct ar_mark_before before = ar_mark_enter(l);

	l->is_loading = false;
	l->is_loaded |= is_back;
	l->is_pumping = true; /* callbacks below may bring new inputs */
	ar_recovery_loaded(l);
	l->is_pumping = false;
	ar_live_pump(l);
	ar_mark_leave(e, before);
}

static void on_load(struct ar_store_op *op)
{
	struct ar_live *l = AR_CONTAINER_OF(op, struct ar_live, load.op);
	struct ar_engine *e = l->engine;
	struct ar_mark_before before = ar_mark_enter(l);
	struct ar_error err = { 0 };
	bool is_back = false;

	l->is_loading = false;
	l->is_pumping = true; /* callbacks below may bring new inputs */
	if (op->status == AR_E_NOT_FOUND) {
		not_there(l);
	} else if (op->status != AR_OK) {
		not_read(l, op->status, op->err.msg);
	} else if (rebuild(l, &err) != AR_OK) {
		ar_live_forget(l);
		not_read(l, AR_E_CORRUPT, err.msg);
	} else {
		ar_damaged_loaded(e, ar_live_session_key(l));
		ar_usage_loaded(l);
		keep_saved(l);
		is_back = true;
	}
	ar_store_op_fini(op);
	l->is_pumping = false;
	l->is_loading = is_back && !l->is_owned && ar_session_is_active(&l->state);
	if (l->is_loading)
		ar_recovery_prepare(l);
	else
		ar_live_came_back(l, is_back);
	ar_mark_leave(e, before);
}

void ar_live_load(struct ar_live *l)
{
	l->load = (struct ar_store_load){ .op = { .kind = AR_STORE_LOAD, .done = on_load },
					  .session = ar_live_session_key(l) };
	l->is_loading = true;
	ar_store_submit(l->engine->o.store, &l->load.op);
}
