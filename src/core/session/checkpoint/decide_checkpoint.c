/* A checkpoint is begun, ends, is dropped or lost. The intent is a fact before anything is done, each end is
 * another. A checkpoint that fails stops no work: it is on record, and the calls begin. Pure. */
#include "artifact/artifact.h"
#include "checkpoint/checkpoints.h"
#include "hook/hooks.h"
#include "quota/quota.h"
#include "tool/calls.h"
#include "workspace/isolation.h"

#define MILLISECOND 1000
#define MESSAGE_MAX 1024

static bool are_kept(const struct ar_decision *d)
{
	return d->session->bound && d->input->policy->checkpoints > 0;
}

/* ---- begun ---- */

/* The state of the files at the start of the turn; absent: none is kept. */
static struct ar_str tree_before(const struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_shape_checkpoint_record *r =
		ar_session_checkpoint_of(d->session, turn->id, AR_CHECKPOINT_RECORD_PHASE_START);

	return r ? r->tree : AR_STR_NONE;
}

static void begin(struct ar_decision *d, const struct ar_turn *turn, int phase)
{
	const struct ar_work_folder p = ar_work_folder_in(d->session, turn->thread);
	struct ar_str id = ar_decide_mint(d, "cp", &d->counters.checkpoint.v);
	struct ar_effect_checkpoint *effect;

	ar_turn_emit(d, turn, AR_EV_CHECKPOINT_STARTED,
		     &(struct ar_ev_checkpoint_started){
			     .checkpoint_id = id, .phase = phase, .workspace_id = p.bound->workspace_id });
	effect = &ar_decide_effect(d, AR_EFFECT_CHECKPOINT)->checkpoint;
	effect->kind = AR_CHECKPOINT_SAVE;
	effect->child = ar_work_folder_child(&p);
	effect->id = id;
	if (phase == AR_CHECKPOINT_STARTED_PHASE_END)
		effect->from = tree_before(d, turn);
	effect->is_waited_for = phase == AR_CHECKPOINT_STARTED_PHASE_START;
	effect->measures = ar_tenant_disk_limit(d) > 0;
	effect->deadline = d->input->now + d->input->policy->tool_ms * MILLISECOND;
}

enum ar_hold ar_checkpoint_before_call(struct ar_decision *d, const struct ar_turn *turn,
				       const struct ar_tool *tool)
{
	const struct ar_work_folder p = ar_work_folder_in(d->session, turn->thread);

	if (tool->works_in_folder && ar_session_restoring(d->session, &p))
		return AR_HELD;
	if (!are_kept(d) || !tool->works_in_folder || tool->is_read_only)
		return AR_GO_ON;
	switch (turn->checkpoint.v) {
	case AR_TURN_CHECKPOINT_CREATED:
	case AR_TURN_CHECKPOINT_FAILED:
	case AR_TURN_CHECKPOINT_ENDING:
	case AR_TURN_CHECKPOINT_ENDED: /* the turn goes on after all */
	case AR_TURN_CHECKPOINT_END_LOST:
		return AR_GO_ON;
	case AR_TURN_CHECKPOINT_PENDING:
		return AR_HELD;
	default:
		begin(d, turn, AR_CHECKPOINT_STARTED_PHASE_START);
		return AR_HELD;
	}
}

/* Its start was kept, and its end is not yet. */
static bool needs_end(const struct ar_decision *d, const struct ar_turn *turn)
{
	return are_kept(d) && (turn->checkpoint.v == AR_TURN_CHECKPOINT_CREATED ||
			       turn->checkpoint.v == AR_TURN_CHECKPOINT_END_LOST);
}

enum ar_hold ar_checkpoint_before_end(struct ar_decision *d, const struct ar_turn *turn)
{
	if (needs_end(d, turn))
		begin(d, turn, AR_CHECKPOINT_STARTED_PHASE_END);
	return turn->checkpoint.v == AR_TURN_CHECKPOINT_ENDING ? AR_HELD : AR_GO_ON;
}

void ar_checkpoint_after_turn(struct ar_decision *d, const struct ar_turn *turn)
{
	if (needs_end(d, turn))
		begin(d, turn, AR_CHECKPOINT_STARTED_PHASE_END);
}

/* ---- ended ---- */

/* Of the turn and the thread that it was begun for; a restore has none. */
static struct ar_ids ids_of(const struct ar_shape_checkpoint_record *r)
{
	struct ar_ids ids = { 0 };

	ids.at[AR_SCOPE_THREAD] = r->thread_id;
	ids.at[AR_SCOPE_TURN] = r->turn_id;
	return ids;
}

struct ar_str ar_checkpoint_message(struct ar_str message)
{
	return ar_str_empty(message) ? AR_STR("the files could not be read or written")
				     : ar_str_utf8_prefix(message, MESSAGE_MAX);
}

static void fail(struct ar_decision *d, const struct ar_shape_checkpoint_record *r,
		 struct ar_ev_checkpoint_failed p)
{
	struct ar_ids ids = ids_of(r);

	p.checkpoint_id = r->checkpoint_id;
	p.phase = r->phase;
	p.message = ar_checkpoint_message(p.message);
	ar_decide_emit(d, AR_EV_CHECKPOINT_FAILED, &ids, &p);
}

void ar_checkpoint_drop(struct ar_decision *d, const struct ar_turn *turn)
{
	for (size_t i = d->session->checkpoints.count; i > 0; i--) {
		const struct ar_shape_checkpoint_record *r = ar_checkpoint_at(d->session, i - 1);

		if (r->status != AR_CHECKPOINT_RECORD_STATUS_PENDING || !ar_str_eq(r->turn_id, turn->id) ||
		    r->phase != AR_CHECKPOINT_RECORD_PHASE_START)
			continue;
		ar_decide_effect(d, AR_EFFECT_CHECKPOINT_CANCEL)->checkpoint_cancel = r->checkpoint_id;
		fail(d, r,
		     (struct ar_ev_checkpoint_failed){
			     .category = AR_STR("cancelled"),
			     .message = AR_STR("the turn ended before the checkpoint was made") });
	}
}

static struct ar_str lost_message(const struct ar_shape_checkpoint_record *r)
{
	if (r->phase == AR_CHECKPOINT_RECORD_PHASE_RESTORE)
		return AR_STR("the runtime stopped while the files were restored, and some of them may be; "
			      "restore again");
	return AR_STR("the runtime stopped while the checkpoint was made");
}

void ar_checkpoints_lost(struct ar_decision *d)
{
	for (size_t i = 0; i < d->session->checkpoints.count; i++) {
		const struct ar_shape_checkpoint_record *r = ar_checkpoint_at(d->session, i);

		if (r->status == AR_CHECKPOINT_RECORD_STATUS_PENDING)
			fail(d, r,
			     (struct ar_ev_checkpoint_failed){ .category = AR_STR(AR_CATEGORY_INTERRUPTED),
							       .message = lost_message(r) });
	}
}

struct ar_str ar_checkpoint_category(enum ar_status status)
{
	switch (status) {
	case AR_E_UNAVAILABLE:
		return AR_STR("unavailable");
	case AR_E_CANCELED:
		return AR_STR("cancelled");
	case AR_E_TIMEOUT:
		return AR_STR("timeout");
	default:
		return AR_STR("error");
	}
}

static struct ar_str keep_changes(struct ar_decision *d, struct ar_str changes)
{
	if (ar_str_empty(changes) || changes.len > AR_CHECKPOINT_CHANGES_MAX)
		return AR_STR_NONE;
	return ar_decide_content(d, changes);
}

static void restored(struct ar_decision *d, const struct ar_shape_checkpoint_record *r,
		     const struct ar_checkpoint_end *end)
{
	struct ar_ids ids = ids_of(r);
	struct ar_str changes = keep_changes(d, end->changes);

	ar_decide_emit(d, AR_EV_CHECKPOINT_RESTORED, &ids,
		       &(struct ar_ev_checkpoint_restored){
			       .checkpoint_id = r->checkpoint_id,
			       .target_id = r->target_id,
			       .before = end->tree,
			       .files = end->files,
			       .changes_ref = changes,
			       .cut = { end->is_cut || ar_str_absent(changes),
					end->is_cut || ar_str_absent(changes) } });
	if (!ar_str_absent(changes))
		ar_decide_masked(d, &ids, changes, &end->masked);
}

/* What commands left in the files; file tools have said what they changed. */
static void observed(struct ar_decision *d, const struct ar_ids *ids, const struct ar_checkpoint_end *end)
{
	size_t listed = end->artifact_count;

	ar_decide_artifacts(d, ids,
			    &(struct ar_changed_files){
				    .at = end->artifacts,
				    .count = listed,
				    .total = end->changed > (int64_t)listed ? (size_t)end->changed : listed,
				    .is_observed = true });
	for (size_t i = 0; i < listed; i++) {
		struct ar_str content = end->artifacts[i].content;

		if (ar_str_absent(content))
			continue;
		ar_decide_masked(d, ids, ar_decide_content(d, content), &end->masked);
		return;
	}
}

/* Absent: it was not measured. */
static struct ar_opt_int used_of(const struct ar_checkpoint_end *end)
{
	return (struct ar_opt_int){ end->used, end->is_measured };
}

static struct ar_opt_bool partly_of(const struct ar_checkpoint_end *end)
{
	bool is_partial = end->is_measured && end->is_partial;

	return (struct ar_opt_bool){ is_partial, is_partial };
}

static void created(struct ar_decision *d, const struct ar_shape_checkpoint_record *r,
		    const struct ar_checkpoint_end *end)
{
	struct ar_ids ids = ids_of(r);

	observed(d, &ids, end);
	ar_decide_emit(d, AR_EV_CHECKPOINT_CREATED, &ids,
		       &(struct ar_ev_checkpoint_created){ .checkpoint_id = r->checkpoint_id,
							   .phase = r->phase,
							   .tree = end->tree,
							   .files = end->files,
							   .bytes = end->bytes,
							   .left_out = end->left_out,
							   .used_bytes = used_of(end),
							   .used_partly = partly_of(end) });
}

static void record_end(struct ar_decision *d, const struct ar_shape_checkpoint_record *r,
		       const struct ar_checkpoint_end *end)
{
	bool is_restore = r->phase == AR_CHECKPOINT_RECORD_PHASE_RESTORE;

	if (end->status != AR_OK || ar_str_empty(end->tree))
		fail(d, r,
		     (struct ar_ev_checkpoint_failed){
			     .category = ar_checkpoint_category(end->status),
			     .message = end->message,
			     .used_bytes = used_of(end),
			     .used_partly = partly_of(end),
			     .tree = is_restore && !ar_str_empty(end->tree) ? end->tree : AR_STR_NONE });
	else if (is_restore)
		restored(d, r, end);
	else
		created(d, r, end);
}

/* A late end finds nothing that waits for it: its turn has ended, or another process has the session. */
enum ar_status ar_decide_checkpoint_done(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_checkpoint_end *end = d->input->checkpoint_done;
	const struct ar_shape_checkpoint_record *r = ar_session_checkpoint(d->session, end->id);
	struct ar_thread *t;
	struct ar_turn *turn;

	(void)err;
	if (end->kind == AR_CHECKPOINT_FILL)
		ar_isolation_filled(d, end);
	if (end->kind == AR_CHECKPOINT_MERGE)
		ar_isolation_merged(d, end);
	if (end->kind == AR_CHECKPOINT_CLEAR)
		ar_isolation_cleared(d, end);
	if (!r || r->status != AR_CHECKPOINT_RECORD_STATUS_PENDING) {
		ar_isolation_release(d);
		return AR_OK;
	}
	record_end(d, r, end);
	if (r->phase == AR_CHECKPOINT_RECORD_PHASE_RESTORE) {
		ar_decide_start_held(d);
	} else {
		turn = ar_session_turn(d->session, r->turn_id, &t);
		if (turn && ar_thread_active(t) == turn && !turn->is_lost)
			ar_decide_resume(d, turn);
	}
	ar_checkpoints_expire(d);
	ar_isolation_release(d);
	return AR_OK;
}
