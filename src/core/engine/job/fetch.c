/* See the header. The row of an item first, since it says what else is needed; then the contents. A content
 * of another session is read for report_turn alone: the answer of the turn, from the session of its item. */
#include "job/fetch.h"
#include "identity.h"
#include "job/job.h"
#include "storage.h"

#define TOGETHER 4 /* contents read at once: a caller chooses how many there are */

struct ar_job_fetch {
	struct ar_live *live;
	struct ar_engine_request *request;
	struct ar_job_needs needs;
	struct ar_job_read read; /* in the arena of the commit, as what it points at */
	struct ar_text *texts;
	struct ar_hash *hashes;
	size_t at, count; /* of the needs: where the running read begins, how many it has */
	size_t bytes; /* read so far */
	struct ar_store_items items;
	struct ar_store_blobs_get blobs;
};

static void next_read(struct ar_job_fetch *f);

/* The input is decided, or refused with what the store said. */
static void over(struct ar_job_fetch *f, const struct ar_store_op *failed)
{
	struct ar_live *l = f->live;
	struct ar_engine *e = l->engine;
	struct ar_engine_request *r = f->request;
	struct ar_mark_before before = ar_mark_enter(l);
	struct ar_job_read *read;

	l->is_in_flight = false;
	if (e->is_stopping || failed) {
		ar_request_refuse(r, failed ? ar_storage_code(failed->status) : AR_ERR_UNAVAILABLE,
				  failed ? failed->err.msg : AR_STOPPING);
		ar_commit_reset(&l->commit);
	} else {
		*(read = ar_arena_alloc(&l->commit.arena, sizeof(*read))) = f->read;
		r->input.read = read;
		ar_live_decide(l, r);
	}
	ar_free(f);
	ar_live_pump(l);
	ar_mark_leave(e, before);
}

static void on_row(struct ar_store_op *op)
{
	struct ar_job_fetch *f = AR_CONTAINER_OF(op, struct ar_job_fetch, items.op);

	if (op->status != AR_OK) {
		over(f, op);
		return;
	}
	f->read.row.is_known = true;
	if (f->items.count > 0)
		f->read.row.record = ar_arena_str(&f->live->commit.arena, f->items.rows[0].record);
	ar_store_op_fini(op);
	next_read(f);
}

static void on_blobs(struct ar_store_op *op)
{
	struct ar_job_fetch *f = AR_CONTAINER_OF(op, struct ar_job_fetch, blobs.op);

	if (op->status != AR_OK) {
		over(f, op);
		return;
	}
	for (size_t i = 0; i < f->count; i++) {
		f->texts[f->at + i].bytes = ar_arena_str(&f->live->commit.arena, f->blobs.bytes[i]);
		f->bytes += f->blobs.bytes[i].len;
	}
	f->at += f->count;
	ar_store_op_fini(op);
	next_read(f);
}

static void read_row(struct ar_job_fetch *f)
{
	f->items = (struct ar_store_items){ .op = { .kind = AR_STORE_ITEMS, .done = on_row },
					    .session = ar_live_session_key(f->live),
					    .list = (uint64_t)f->needs.list,
					    .from = (uint64_t)f->needs.number,
					    .to = (uint64_t)f->needs.number + 1,
					    .limit = 1 };
	ar_store_submit(f->live->engine->o.store, &f->items.op);
}

static bool may_read(const struct ar_job_fetch *f, struct ar_str session_key)
{
	const struct ar_input *in = &f->request->input;

	return ar_str_eq(session_key, ar_live_session_key(f->live)) ||
	       (in->kind == AR_IN_COMMAND && in->command.id == AR_CMD_REPORT_TURN);
}

/* Those from `at` on that one session put: as many as follow each other. False: none is left. */
static bool take_group(struct ar_job_fetch *f, struct ar_str *ret_session)
{
	struct ar_str first = AR_STR_NONE, key;

	while (f->at < f->needs.count &&
	       (!ar_ref_parse(f->needs.refs[f->at], &first, &f->hashes[f->at]) || !may_read(f, first)))
		f->at++; /* it stays absent */
	for (f->count = 0; f->count < TOGETHER && f->at + f->count < f->needs.count; f->count++) {
		size_t i = f->at + f->count;

		if (!ar_ref_parse(f->needs.refs[i], &key, &f->hashes[i]) || !ar_str_eq(key, first))
			break;
	}
	*ret_session = first;
	return f->count > 0;
}

static void set_up_texts(struct ar_job_fetch *f)
{
	struct ar_arena *a = &f->live->commit.arena;

	f->texts = ar_arena_alloc(a, (f->needs.count + 1) * sizeof(*f->texts));
	f->hashes = ar_arena_alloc(a, (f->needs.count + 1) * sizeof(*f->hashes));
	for (size_t i = 0; i < f->needs.count; i++)
		f->texts[i].ref = f->needs.refs[i];
	f->read.texts = f->texts;
	f->read.text_count = f->needs.count;
}

/* The inputs of a new job: the decision refuses one that is over the limit, and needs no more for that. */
static bool is_too_much(const struct ar_job_fetch *f)
{
	const struct ar_input *in = &f->request->input;

	return in->kind == AR_IN_COMMAND && in->command.id == AR_CMD_CREATE_JOB &&
	       f->bytes > AR_JOB_INPUT_BYTES;
}

static void read_contents(struct ar_job_fetch *f)
{
	struct ar_str session;

	if (is_too_much(f) || !take_group(f, &session)) {
		over(f, NULL);
		return;
	}
	f->blobs = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = on_blobs },
						.session = session,
						.hashes = f->hashes + f->at,
						.count = f->count };
	ar_store_submit(f->live->engine->o.store, &f->blobs.op);
}

static bool look_at_needs(struct ar_job_fetch *f)
{
	struct ar_live *l = f->live;

	return ar_job_needs(&l->state, &f->request->input, &f->read.row, l->engine->decide_json,
			    &l->commit.arena, &f->needs);
}

static void next_read(struct ar_job_fetch *f)
{
	if (f->texts) {
		read_contents(f);
		return;
	}
	if (!look_at_needs(f)) {
		over(f, NULL);
		return;
	}
	if (f->needs.has_row && !f->read.row.is_known) {
		read_row(f);
		return;
	}
	set_up_texts(f);
	read_contents(f);
}

bool ar_fetch_hold(struct ar_live *l, struct ar_engine_request *r)
{
	struct ar_job_fetch try = { .live = l, .request = r }, *f;

	if (!look_at_needs(&try))
		return false;
	f = ar_new0(sizeof(*f));
	*f = try;
	l->is_in_flight = true;
	if (f->needs.has_row) {
		read_row(f);
		return true;
	}
	set_up_texts(f);
	read_contents(f);
	return true;
}
