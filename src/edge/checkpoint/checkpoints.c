/* See checkpoints.h. Loop thread only.
 *
 *   start -> (runs of the same workspace before it) -> folder of the store -> agent-files -> on_done
 *
 * The timer of a run is its deadline, and what reports an end that came before the loop ran. */
#include "checkpoints.h"

#include "clock.h"
#include "contained.h"
#include "files.h"
#include "list.h"
#include "mem.h"
#include "outcome.h"
#include "store_folder.h"

#define OUTPUT_MAX ((size_t)16 << 20)
#define GRACE_MS 500 /* before the deadline: agent-files ends by itself and says how far it came */

/* owner: loop thread */
struct checkpoints {
	struct ar_checkpoints port;
	uv_loop_t *loop;
	struct ar_sandbox *sandbox;
	struct ar_checkpoints_options options;
	char *dir;
	struct ar_json_parser *parser;
	struct ar_list jobs; /* in the order of start() */
};

struct job {
	struct ar_list node;
	struct checkpoints *owner;
	struct ar_checkpoint_run *run;
	struct ar_contained *contained; /* NULL: not running */
	struct ar_arena arena;
	uv_timer_t timer;
	bool is_over; /* its end is reported when the loop runs */
	struct ar_checkpoint_result end; /* with is_over; and why a process is stopped */
};

static const struct ar_checkpoint_result canceled = {
	.status = AR_E_CANCELED,
	.message = { "It was cancelled; how far it came is not known.", 47 },
};

static const struct ar_checkpoint_result late = {
	.status = AR_E_TIMEOUT,
	.message = { "It took too long; how far it came is not known.", 47 },
};

static void start_waiting(struct checkpoints *c);

static void timer_closed(uv_handle_t *handle)
{
	struct job *j = handle->data;

	ar_arena_fini(&j->arena);
	ar_free(j);
}

/* The run is its owner's from here on. */
static void end_job(struct job *j, const struct ar_checkpoint_result *result)
{
	struct ar_checkpoint_run *run = j->run;

	ar_list_del(&j->node);
	run->adapter_state = NULL;
	uv_timer_stop(&j->timer);
	run->on_done(run, result);
	uv_close((uv_handle_t *)&j->timer, timer_closed);
}

/* What is left of it is empty, and in folders of our own. */
static void remove_folder(struct job *j, struct ar_checkpoint_result *result)
{
	struct ar_error err = { 0 };

	if (ar_own_folder_remove(j->run->folder, &j->arena, &err) == AR_OK)
		return;
	result->status = err.status;
	result->message = ar_arena_str(&j->arena, ar_str_from(err.msg));
}

static void contained_done(void *arg, const struct ar_contained_end *end)
{
	struct job *j = arg;
	struct checkpoints *c = j->owner;
	struct ar_checkpoint_result result = j->end;

	j->contained = NULL;
	if (end->outcome != AR_CONTAINED_STOPPED)
		ar_checkpoint_outcome_read(j->run->kind, end, c->parser, &j->arena, &result);
	if (j->run->kind == AR_CHECKPOINT_CLEAR && result.status == AR_OK)
		remove_folder(j, &result);
	end_job(j, &result);
	start_waiting(c);
}

static void on_timer(uv_timer_t *timer)
{
	struct job *j = timer->data;
	struct checkpoints *c = j->owner;

	if (!j->is_over)
		j->end = late;
	if (j->contained) {
		ar_contained_stop(j->contained);
		return;
	}
	end_job(j, &j->end);
	start_waiting(c);
}

static void end_later(struct job *j, const struct ar_checkpoint_result *result)
{
	j->is_over = true;
	j->end = *result;
	uv_timer_start(&j->timer, on_timer, 0, 0);
}

/* ---- starting ---- */

static int64_t left_ms(const struct ar_checkpoint_run *r)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec left = r->deadline - clock->mono(clock);

	return left > 0 ? left / 1000 : 0;
}

/* The folders of the workspace and of the session. */
static bool is_between_folders(const struct ar_checkpoint_run *r)
{
	return r->kind == AR_CHECKPOINT_FILL || r->kind == AR_CHECKPOINT_MERGE;
}

static void write_list(struct ar_jw *w, const char *name, const struct ar_checkpoint_run *r)
{
	ar_jw_key(w, name);
	ar_jw_open_array(w);
	for (size_t i = 0; i < r->id_count; i++)
		ar_jw_str(w, r->ids[i]);
	ar_jw_close_array(w);
}

static void write_isolation(struct job *j, struct ar_jw *w)
{
	static const char *const kinds[] = { [AR_ISOLATION_COPY] = "copy",
					     [AR_ISOLATION_EMPTY] = "empty",
					     [AR_ISOLATION_WORKTREE] = "worktree",
					     [AR_ISOLATION_OVERLAY] = "overlay" };
	static const char *const sides[] = { [AR_MERGE_SIDE_SESSION] = "session",
					     [AR_MERGE_SIDE_WORKSPACE] = "workspace",
					     [AR_MERGE_SIDE_LEFT_OUT] = "leave_out" };
	const struct ar_checkpoint_run *r = j->run;

	ar_jw_mstr(w, "folder", r->folder);
	if (r->kind == AR_CHECKPOINT_FILL) {
		ar_jw_mstr(w, "kind", ar_str_from(kinds[r->isolation]));
		ar_jw_mstr(w, "branch", r->label);
		return;
	}
	ar_jw_mstr(w, "base", r->from);
	ar_jw_mstr(w, "apply", r->label);
	if (r->side)
		ar_jw_mstr(w, "choice", ar_str_from(sides[r->side]));
	if (r->id_count > 0)
		write_list(w, "paths", r);
	ar_jw_mraw(w, "protected", ar_sandbox_protected_json(j->owner->sandbox, r->origin, &j->arena));
}

static void write_args(struct job *j, struct ar_str store, struct ar_buf *out)
{
	const struct ar_checkpoint_run *r = j->run;
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "store", store);
	ar_jw_mstr(&w, "session", r->session_id);
	ar_jw_mstr(&w, "from", r->from);
	ar_jw_mstr(&w, "to", r->to);
	if (r->kind == AR_CHECKPOINT_SAVE)
		ar_jw_mint(&w, "keepDays", r->keep_days);
	if (r->measures)
		ar_jw_mbool(&w, "measure", true);
	if (is_between_folders(r))
		write_isolation(j, &w);
	else if (r->kind == AR_CHECKPOINT_CLEAR)
		ar_jw_mstr(&w, "folder", r->folder);
	else if (!ar_str_absent(r->origin))
		ar_jw_mbool(&w, "private", true);
	if (r->kind == AR_CHECKPOINT_FORGET)
		write_list(&w, "ids", r);
	ar_jw_close(&w);
}

static void run_files(struct job *j, struct ar_str store)
{
	static const char *const tools[] = {
		[AR_CHECKPOINT_SAVE] = "checkpoint_save",  [AR_CHECKPOINT_RESTORE] = "checkpoint_restore",
		[AR_CHECKPOINT_DIFF] = "checkpoint_diff",  [AR_CHECKPOINT_FORGET] = "checkpoint_forget",
		[AR_CHECKPOINT_FILL] = "workspace_fill",   [AR_CHECKPOINT_MERGE] = "workspace_merge",
		[AR_CHECKPOINT_CLEAR] = "workspace_clear",
	};
	const struct ar_checkpoint_run *r = j->run;
	AR_AUTO(ar_buf_fini) struct ar_buf args = { 0 };
	AR_AUTO(ar_buf_fini) struct ar_buf request = { 0 };
	bool is_between = is_between_folders(r);
	struct ar_str workspace = is_between ? r->origin : r->folder;
	int64_t ms = left_ms(r);

	write_args(j, store, &args);
	ar_files_write_request(&(struct ar_files_request){ .tool = ar_str_from(tools[r->kind]),
							   .args = ar_buf_str(&args),
							   .workspace = workspace,
							   .max_ms = ms > 2 * GRACE_MS ? ms - GRACE_MS
										       : ms / 2 + 1 },
			       &request);
	/* A user id of the workspace's own: all its runs have the same. */
	j->contained = ar_contained_start(j->owner->loop, j->owner->sandbox,
					  &(struct ar_contained_spec){
						  .program = "agent-files",
						  .input = ar_buf_str(&request),
						  .session_id = r->workspace_id,
						  .workspace = workspace,
						  .profile = AR_SANDBOX_WORKSPACE_WRITE,
						  .store = store,
						  .second = is_between ? r->folder : AR_STR_NONE,
						  .reads_workspace = r->kind != AR_CHECKPOINT_RESTORE &&
								     r->kind != AR_CHECKPOINT_MERGE,
						  .output_max = OUTPUT_MAX,
						  .done = contained_done,
						  .arg = j });
}

static void start_job(struct job *j)
{
	const struct checkpoints *c = j->owner;
	char tenant[AR_CHECKPOINTS_NAME_MAX] = "", workspace[AR_CHECKPOINTS_NAME_MAX] = "";
	struct ar_error err = { 0 };
	struct ar_store_folder f;
	struct ar_str store;

	if (j->run->kind == AR_CHECKPOINT_CLEAR) {
		if (ar_own_folder_is_gone(j->run->folder, &j->arena)) /* an earlier run came this far */
			end_later(j, &(struct ar_checkpoint_result){ .status = AR_OK });
		else
			run_files(j, j->run->folder); /* in the place of a store: without protected paths */
		return;
	}
	if (!c->options.name_folders(j->run->tenant, j->run->workspace_id, tenant, workspace)) {
		end_later(j, &(struct ar_checkpoint_result){
				     .status = AR_E_INVALID,
				     .message = AR_STR("It is the id of no workspace.") });
		return;
	}
	f = (struct ar_store_folder){ .dir = c->options.dir,
				      .tenant = tenant,
				      .workspace = workspace,
				      .folder = j->run->kind == AR_CHECKPOINT_FILL ? j->run->origin
										   : j->run->folder };
	if (ar_store_folder_make(&f, &j->arena, &store, &err) == AR_OK &&
	    (j->run->kind != AR_CHECKPOINT_FILL ||
	     ar_own_folder_make(&f, j->run->folder, &j->arena, &err) == AR_OK))
		run_files(j, store);
	else
		end_later(j, &(struct ar_checkpoint_result){
				     .status = err.status,
				     .message = ar_arena_str(&j->arena, ar_str_from(err.msg)) });
}

static bool is_first(const struct checkpoints *c, const struct job *j)
{
	AR_LIST_FOR (it, &c->jobs) {
		const struct job *other = AR_CONTAINER_OF(it, struct job, node);

		if (ar_str_eq(other->run->workspace_id, j->run->workspace_id))
			return other == j;
	}
	return false;
}

static void start_waiting(struct checkpoints *c)
{
	AR_LIST_FOR (it, &c->jobs) {
		struct job *j = AR_CONTAINER_OF(it, struct job, node);

		if (!j->contained && !j->is_over && is_first(c, j))
			start_job(j);
	}
}

static void start_run(struct ar_checkpoints *port, struct ar_checkpoint_run *r)
{
	struct checkpoints *c = AR_CONTAINER_OF(port, struct checkpoints, port);
	struct job *j = ar_new0(sizeof(*j));

	j->owner = c;
	j->run = r;
	r->adapter_state = j;
	uv_timer_init(c->loop, &j->timer);
	j->timer.data = j;
	uv_timer_start(&j->timer, on_timer, (uint64_t)left_ms(r), 0);
	ar_list_push(&c->jobs, &j->node);
	if (is_first(c, j))
		start_job(j);
}

static void cancel_run(struct ar_checkpoints *port AR_UNUSED, struct ar_checkpoint_run *r)
{
	struct job *j = r->adapter_state;

	if (!j || j->is_over)
		return;
	j->end = canceled;
	if (j->contained)
		ar_contained_stop(j->contained);
	else
		end_later(j, &canceled);
}

static void close_checkpoints(struct ar_checkpoints *port)
{
	struct checkpoints *c = AR_CONTAINER_OF(port, struct checkpoints, port);

	AR_LIST_FOR_SAFE (it, &c->jobs) {
		struct job *j = AR_CONTAINER_OF(it, struct job, node);

		if (j->contained)
			ar_contained_drop(j->contained);
		end_job(j, &canceled);
	}
	ar_json_parser_free(c->parser);
	ar_free(c->dir);
	ar_free(c);
}

static const struct ar_checkpoints_vtable vtable = { .start = start_run,
						     .cancel = cancel_run,
						     .close = close_checkpoints };

struct ar_checkpoints *ar_checkpoints_new(uv_loop_t *loop, struct ar_sandbox *sandbox,
					  const struct ar_checkpoints_options *o)
{
	struct checkpoints *c = ar_new0(sizeof(*c));

	c->port.v = &vtable;
	c->loop = loop;
	c->sandbox = sandbox;
	c->options = *o;
	c->dir = ar_str_dup(o->dir);
	c->options.dir = ar_str_from(c->dir);
	c->parser = ar_json_parser_new();
	ar_list_init(&c->jobs);
	return &c->port;
}
