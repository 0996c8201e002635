/* Reads of checkpoints: a page of their list, from the state; and the difference of two states of the files,
 * which the port finds out. Owner: the loop thread. */
#include "checkpoint/checkpoints.h"
#include "control_priv.h"
#include "projection.h"
#include "subagent/subagents.h"
#include "workspace/isolation.h"

#define DIFF_TIME (INT64_C(30) * 1000000)

static struct ar_call *call_of(struct ar_engine_view *v)
{
	return AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
}

static void look_at_session(struct ar_call *c, struct ar_str session_id,
			    void (*done)(struct ar_engine_view *, const struct ar_session *,
					 const struct ar_error *))
{
	struct ar_error err = { 0 };

	if (ar_call_session(session_id, &c->work->view.session, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	c->work->view.done = done;
	ar_call_look(c);
}

/* ---- list_checkpoints ---- */

static void on_list(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = call_of(v);
	const struct ar_cmd_list_checkpoints_in *in = c->input;
	struct ar_checkpoint_page page = { .before = INT64_MAX,
					   .limit = ar_call_limit(in->limit, AR_LIST_DEFAULT, AR_LIST_MAX),
					   .thread = in->thread_id,
					   .turn = in->turn_id };
	struct ar_jw w = ar_jw(&c->reply);
	int64_t last;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if (!ar_str_absent(in->cursor) && (!ar_str_to_i64(in->cursor, &page.before) || page.before < 1)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	ar_jw_open(&w);
	ar_jw_key(&w, "checkpoints");
	last = ar_projection_checkpoint_page(s, &page, &w);
	if (last > 0)
		ar_jw_mstr(&w, "nextCursor", ar_arena_fmt(&c->arena, "%lld", (long long)last));
	ar_jw_mint(&w, "asOfSequence", (int64_t)s->head);
	ar_jw_close(&w);
	ar_call_done(c, 200);
}

void ar_query_list_checkpoints(struct ar_call *c)
{
	look_at_session(c, ((const struct ar_cmd_list_checkpoints_in *)c->input)->session_id, on_list);
}

/* ---- diff_checkpoints ---- */

struct comparison {
	struct ar_call *call;
	struct ar_str files; /* diff_workspace: how the folder stands, as JSON */
	struct ar_checkpoint_run run;
};

/* The list is the port's, and so is read before it is passed on. */
static bool is_list(struct ar_call *c, struct ar_str changes)
{
	struct ar_json v;

	return !ar_str_empty(changes) && ar_json_parse(c->control->json, changes, &v, NULL) == AR_OK &&
	       ar_json_type(v) == AR_JSON_ARRAY;
}

static void answer(struct ar_call *c, const struct ar_checkpoint_run *run,
		   const struct ar_checkpoint_result *r)
{
	const struct ar_engine *e = c->control->engine;
	struct ar_jw w = ar_jw(&c->reply);
	struct ar_str diff = ar_engine_mask(e, r->diff, &c->arena);
	struct ar_str changes = ar_engine_mask(e, r->changes, &c->arena);
	bool has_list = is_list(c, changes);

	ar_jw_open(&w);
	if (c->command == AR_CMD_DIFF_WORKSPACE) {
		ar_jw_mstr(&w, "base", run->from);
		ar_jw_mraw(&w, "files", AR_CONTAINER_OF(run, const struct comparison, run)->files);
	} else {
		ar_jw_mstr(&w, "from", run->from);
		ar_jw_mstr(&w, "to", run->to);
	}
	ar_jw_mraw(&w, "changes", has_list ? changes : AR_STR("[]"));
	ar_jw_mstr(&w, "diff", ar_str_absent(diff) ? AR_STR("") : diff);
	ar_jw_mbool(&w, "cut", r->is_cut || !has_list);
	ar_jw_close(&w);
	ar_call_done(c, 200);
}

static void on_diff(struct ar_checkpoint_run *run, const struct ar_checkpoint_result *r)
{
	struct ar_call *c = AR_CONTAINER_OF(run, struct comparison, run)->call;
	uint16_t code = r->status == AR_E_TIMEOUT ? AR_ERR_TIMEOUT : AR_ERR_UNAVAILABLE;

	if (r->status == AR_OK)
		answer(c, run, r);
	else
		ar_call_refuse(c, code, "the files could not be compared: %.*s",
			       AR_STR_ARG(ar_str_utf8_prefix(
				       ar_engine_mask(c->control->engine, r->message, &c->arena), 200)));
}

/* A checkpoint by its id, or that of a turn. */
static const struct ar_shape_checkpoint_record *find_state(const struct ar_session *s, struct ar_str id,
							   int phase)
{
	const struct ar_shape_checkpoint_record *r = ar_session_checkpoint(s, id);

	if (!r)
		r = ar_session_checkpoint_of(s, id, phase);
	return r && r->status == AR_CHECKPOINT_RECORD_STATUS_AVAILABLE ? r : NULL;
}

static enum ar_status find_states(struct ar_call *c, const struct ar_session *s,
				  struct ar_checkpoint_run *run, struct ar_work_folder *ret,
				  struct ar_error *err)
{
	const struct ar_cmd_diff_checkpoints_in *in = c->input;
	const struct ar_shape_checkpoint_record *from, *to = NULL;

	from = find_state(s, in->from, AR_CHECKPOINT_RECORD_PHASE_START);
	if (!ar_str_absent(in->to))
		to = find_state(s, in->to, AR_CHECKPOINT_RECORD_PHASE_END);
	if (!from || (!to && !ar_str_absent(in->to)))
		return ar_refuse(err, AR_ERR_CHECKPOINT_NOT_FOUND,
				 "'%.*s' is no checkpoint of the session, and no turn with one",
				 AR_STR_ARG(ar_str_utf8_prefix(from ? in->to : in->from, 100)));
	run->from = ar_arena_str(&c->arena, from->tree);
	run->to = to ? ar_arena_str(&c->arena, to->tree) : AR_STR_NONE;
	*ret = ar_work_folder_in(s, from->thread_id);
	if (!to && ret->child && !ar_work_folder_has(ret, AR_SESSION_FILES_STATUS_READY))
		return ar_refuse(err, AR_ERR_CHECKPOINT_NOT_FOUND,
				 "the folder of agent %.*s is gone: name a second checkpoint",
				 AR_STR_ARG(ret->child->subagent_id));
	if (to && ret->child) /* two states of the store: any folder of the workspace does */
		*ret = ar_work_folder_of_session(s);
	return AR_OK;
}

/* What a session or a child agent changed in the folder that it has for itself. */
static enum ar_status find_changes(struct ar_call *c, const struct ar_session *s, struct comparison *cmp,
				   struct ar_work_folder *ret, struct ar_error *err)
{
	const struct ar_cmd_diff_workspace_in *in = c->input;
	const struct ar_shape_subagent_record *r =
		ar_str_absent(in->subagent_id) ? NULL : ar_session_subagent(s, in->subagent_id);
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	if (!r && !ar_str_absent(in->subagent_id))
		return ar_refuse(err, AR_ERR_SUBAGENT_NOT_FOUND, "the session has no subagent '%.*s'",
				 AR_STR_ARG(ar_str_utf8_prefix(in->subagent_id, 100)));
	*ret = r ? ar_work_folder_of_child(r) : ar_work_folder_of_session(s);
	if (!ar_work_folder_is_own(ret))
		return ar_refuse(err, AR_ERR_WORKSPACE_SHARED,
				 "%.*s has no folder of its own: its changes are in the one that it shares",
				 AR_STR_ARG(ar_work_folder_owner(&c->arena, ret)));
	if (!ar_work_folder_has(ret, AR_SESSION_FILES_STATUS_READY) || ar_str_empty(ret->files->base))
		return ar_refuse(err, AR_ERR_CONFLICT,
				 "the folder of %.*s is not filled yet, or gone: nothing is changed in it",
				 AR_STR_ARG(ar_work_folder_owner(&c->arena, ret)));
	ar_struct_encode(&ar_shape_session_files_desc, ret->files, AR_STR_NONE, &w);
	cmp->files = ar_arena_str(&c->arena, ar_buf_str(&text));
	cmp->run.from = ar_arena_str(&c->arena, ret->files->base);
	return AR_OK;
}

static void on_session(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = call_of(v);
	struct ar_checkpoints *port = ar_engine_checkpoints(c->control->engine);
	struct comparison *cmp = ar_arena_alloc(&c->arena, sizeof(*cmp));
	struct ar_error fault = { 0 };
	struct ar_work_folder p;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if ((c->command == AR_CMD_DIFF_WORKSPACE ? find_changes(c, s, cmp, &p, &fault)
						 : find_states(c, s, &cmp->run, &p, &fault)) != AR_OK) {
		ar_call_fail(c, &fault);
		return;
	}
	if (!port) {
		ar_call_refuse(c, AR_ERR_UNAVAILABLE, "this runtime keeps no checkpoints");
		return;
	}
	cmp->call = c;
	cmp->run.kind = AR_CHECKPOINT_DIFF;
	cmp->run.tenant = ar_arena_str(&c->arena, ar_session_tenant(s));
	cmp->run.workspace_id = ar_arena_str(&c->arena, p.bound->workspace_id);
	cmp->run.folder = ar_arena_str(&c->arena, p.bound->folder);
	cmp->run.worker = ar_arena_str(&c->arena, p.bound->worker);
	cmp->run.origin = ar_arena_str(&c->arena, p.bound->origin);
	cmp->run.session_id = ar_arena_str(&c->arena, s->id);
	cmp->run.deadline = ar_engine_now(c->control->engine) + DIFF_TIME;
	cmp->run.on_done = on_diff;
	port->v->start(port, &cmp->run);
}

void ar_query_diff_checkpoints(struct ar_call *c)
{
	look_at_session(c, ((const struct ar_cmd_diff_checkpoints_in *)c->input)->session_id, on_session);
}

void ar_query_diff_workspace(struct ar_call *c)
{
	look_at_session(c, ((const struct ar_cmd_diff_workspace_in *)c->input)->session_id, on_session);
}
