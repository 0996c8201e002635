/* What facts of checkpoints leave in the state: their records, and whether the calls of a turn wait. Pure. */
#include "apply.h"
#include "checkpoint/checkpoints.h"
#include "subagent/subagents.h"
#include "workspace/work_folder.h"

_Static_assert((int)AR_CHECKPOINT_STARTED_PHASE_END == (int)AR_CHECKPOINT_RECORD_PHASE_END &&
		       (int)AR_CHECKPOINT_FAILED_PHASE_RESTORE == (int)AR_CHECKPOINT_RECORD_PHASE_RESTORE,
	       "a record has the words of its fact");

static void keep_record(struct ar_session *s, struct ar_checkpoint *c,
			const struct ar_shape_checkpoint_record *r)
{
	c->record = ar_struct_copy(&ar_shape_checkpoint_record_desc, r, AR_COPY_TEXT, &s->arena);
}

static void add_record(struct ar_session *s, const struct ar_event *e, struct ar_shape_checkpoint_record r)
{
	struct ar_checkpoint *c = ar_arena_alloc(&s->arena, sizeof(*c));

	r.status = AR_CHECKPOINT_RECORD_STATUS_PENDING;
	r.thread_id = e->ids[AR_SCOPE_THREAD];
	r.turn_id = e->ids[AR_SCOPE_TURN];
	r.sequence = (int64_t)e->sequence;
	r.created_at = e->time;
	keep_record(s, c, &r);
	ar_vec_push(&s->arena, &s->checkpoints, c);
	if (s->checkpoints.count > AR_WINDOW_CHECKPOINTS)
		ar_vec_remove(&s->checkpoints, 0);
	ar_apply_count(&s->counters.checkpoint.v, r.checkpoint_id);
	s->counters.checkpoint.set = true;
}

/* The checkpoint that the fact ends. */
static struct ar_checkpoint *find_open(struct ar_session *s, struct ar_str id)
{
	for (size_t i = s->checkpoints.count; i > 0; i--) {
		struct ar_checkpoint *c = s->checkpoints.at[i - 1];

		if (ar_str_eq(c->record->checkpoint_id, id))
			return c->record->status == AR_CHECKPOINT_RECORD_STATUS_PENDING ? c : NULL;
	}
	return NULL;
}

/* What the turn is at when the checkpoint with that phase is begun, was made, failed, or is lost with its
 * process. */
enum step { BEGUN, MADE, FAILED, LOST };

static void move_turn(struct ar_session *s, const struct ar_event *e, int phase, enum step step)
{
	static const enum ar_turn_checkpoint start[] = { [BEGUN] = AR_TURN_CHECKPOINT_PENDING,
							 [MADE] = AR_TURN_CHECKPOINT_CREATED,
							 [FAILED] = AR_TURN_CHECKPOINT_FAILED,
							 [LOST] = AR_TURN_CHECKPOINT_LOST },
					     end[] = { [BEGUN] = AR_TURN_CHECKPOINT_ENDING,
						       [MADE] = AR_TURN_CHECKPOINT_ENDED,
						       [FAILED] = AR_TURN_CHECKPOINT_ENDED,
						       [LOST] = AR_TURN_CHECKPOINT_END_LOST };
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);

	if (turn && phase == AR_CHECKPOINT_RECORD_PHASE_START)
		turn->checkpoint = AR_OPT_INT(start[step]);
	else if (turn && phase == AR_CHECKPOINT_RECORD_PHASE_END)
		turn->checkpoint = AR_OPT_INT(end[step]);
}

static void keep_used(struct ar_session *s, const struct ar_event *e, struct ar_opt_int used,
		      struct ar_opt_bool partly)
{
	struct ar_work_folder p = ar_work_folder_in(s, e->ids[AR_SCOPE_THREAD]);
	struct ar_shape_session_files f;

	if (!used.set)
		return;
	if (!p.child) {
		s->disk.used = used;
		s->disk.partly = AR_OPT_BOOL(partly.v);
	} else if (p.files) {
		f = *p.files;
		f.used_bytes = used;
		f.used_partly = AR_OPT_BOOL(partly.v);
		ar_apply_files(s, &p, &f);
	}
}

/* Whether the folder of a child may hold what is neither merged nor discarded. */
static void keep_changed(struct ar_session *s, const struct ar_event *e, bool is_changed)
{
	struct ar_work_folder p = ar_work_folder_in(s, e->ids[AR_SCOPE_THREAD]);
	struct ar_shape_session_files f;

	if (!p.child || !p.files)
		return;
	f = *p.files;
	f.changed = (struct ar_opt_bool){ is_changed, is_changed };
	ar_apply_files(s, &p, &f);
}

/* Whether it is the state that the folder of the thread was filled with, or merged to. */
static bool is_base(const struct ar_session *s, const struct ar_event *e, struct ar_str checkpoint)
{
	struct ar_work_folder p = ar_work_folder_in(s, e->ids[AR_SCOPE_THREAD]);

	return p.files && ar_str_eq(p.files->checkpoint_id, checkpoint);
}

/* A closed child's folder goes as a whole, also if single files in it could not be changed, such as protected
 * ones that it made: the state before is kept. */
static bool is_thrown_away(const struct ar_session *s, const struct ar_event *e,
			   const struct ar_shape_checkpoint_record *r)
{
	struct ar_work_folder p = ar_work_folder_in(s, e->ids[AR_SCOPE_THREAD]);

	return p.child && ar_subagent_is_closed(p.child) && !ar_str_absent(r->tree) &&
	       r->phase == AR_CHECKPOINT_RECORD_PHASE_RESTORE && is_base(s, e, r->target_id);
}

enum ar_status ar_apply_checkpoint_started(struct ar_session *s, const struct ar_event *e,
					   struct ar_error *err)
{
	const struct ar_ev_checkpoint_started *p = PAYLOAD(e, checkpoint_started);

	if (find_open(s, p->checkpoint_id))
		return ar_fail(err, AR_E_CORRUPT, "fact %llu begins a checkpoint a second time",
			       (unsigned long long)e->sequence);
	add_record(s, e,
		   (struct ar_shape_checkpoint_record){ .checkpoint_id = p->checkpoint_id,
							.workspace_id = p->workspace_id,
							.phase = p->phase });
	move_turn(s, e, p->phase, BEGUN);
	if (p->phase == AR_CHECKPOINT_STARTED_PHASE_START)
		keep_changed(s, e, true); /* a call that may write follows */
	return AR_OK;
}

enum ar_status ar_apply_checkpoint_created(struct ar_session *s, const struct ar_event *e,
					   struct ar_error *err)
{
	const struct ar_ev_checkpoint_created *p = PAYLOAD(e, checkpoint_created);
	struct ar_checkpoint *c = find_open(s, p->checkpoint_id);
	struct ar_shape_checkpoint_record r;

	if (!c)
		return ar_apply_unknown(err, e, "checkpoint");
	r = *c->record;
	r.status = AR_CHECKPOINT_RECORD_STATUS_AVAILABLE;
	r.tree = p->tree;
	r.files = AR_OPT_INT(p->files);
	r.bytes = AR_OPT_INT(p->bytes);
	r.left_out = AR_OPT_INT(p->left_out);
	keep_record(s, c, &r);
	keep_used(s, e, p->used_bytes, p->used_partly);
	move_turn(s, e, r.phase, MADE);
	return AR_OK;
}

/* A restore that failed may have kept the state before it: that can be restored. */
enum ar_status ar_apply_checkpoint_failed(struct ar_session *s, const struct ar_event *e,
					  struct ar_error *err)
{
	const struct ar_ev_checkpoint_failed *p = PAYLOAD(e, checkpoint_failed);
	struct ar_checkpoint *c = find_open(s, p->checkpoint_id);
	struct ar_shape_checkpoint_record r;

	if (!c)
		return ar_apply_unknown(err, e, "checkpoint");
	r = *c->record;
	r.status = ar_str_absent(p->tree) ? AR_CHECKPOINT_RECORD_STATUS_FAILED
					  : AR_CHECKPOINT_RECORD_STATUS_AVAILABLE;
	r.tree = p->tree;
	r.message = p->message;
	keep_record(s, c, &r);
	keep_used(s, e, p->used_bytes, p->used_partly);
	move_turn(s, e, r.phase, ar_str_is(p->category, AR_CATEGORY_INTERRUPTED) ? LOST : FAILED);
	if (is_thrown_away(s, e, &r))
		keep_changed(s, e, false);
	return AR_OK;
}

enum ar_status ar_apply_checkpoint_restoring(struct ar_session *s, const struct ar_event *e,
					     struct ar_error *err)
{
	const struct ar_ev_checkpoint_restoring *p = PAYLOAD(e, checkpoint_restoring);

	(void)err;
	add_record(s, e,
		   (struct ar_shape_checkpoint_record){ .checkpoint_id = p->checkpoint_id,
							.workspace_id = p->workspace_id,
							.phase = AR_CHECKPOINT_RECORD_PHASE_RESTORE,
							.target_id = p->target_id });
	keep_changed(s, e, true); /* until it is known that all files are as they were at first */
	return AR_OK;
}

enum ar_status ar_apply_checkpoint_restored(struct ar_session *s, const struct ar_event *e,
					    struct ar_error *err)
{
	const struct ar_ev_checkpoint_restored *p = PAYLOAD(e, checkpoint_restored);
	struct ar_checkpoint *c = find_open(s, p->checkpoint_id);
	struct ar_shape_checkpoint_record r;

	if (!c)
		return ar_apply_unknown(err, e, "checkpoint");
	r = *c->record;
	r.status = AR_CHECKPOINT_RECORD_STATUS_AVAILABLE;
	r.tree = p->before;
	keep_record(s, c, &r);
	keep_changed(s, e, !is_base(s, e, p->target_id));
	return AR_OK;
}

enum ar_status ar_apply_checkpoint_expired(struct ar_session *s, const struct ar_event *e,
					   struct ar_error *err)
{
	const struct ar_ev_checkpoint_expired *p = PAYLOAD(e, checkpoint_expired);

	(void)err;
	for (size_t i = s->checkpoints.count; i > 0; i--) {
		if (ar_texts_have(p->checkpoint_ids, ar_checkpoint_at(s, i - 1)->checkpoint_id))
			ar_vec_remove(&s->checkpoints, i - 1);
	}
	return AR_OK;
}
