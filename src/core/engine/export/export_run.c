/* See export_run.h.
 *
 *   page -> fold it (verify_fold.c), each fact into the pack -> look for contents -> store full parts -> page
 *   ... -> close the pack -> store the rest -> the request goes back into the inbox
 *
 * Every callback notes what it brought and calls advance(). Owner: the loop thread. */
#include "export/export_run.h"
#include "evidence/evidence.h"
#include "pack.h"
#include "storage.h"
#include "verify/verify_fold.h"

#define PAGE_BYTES ((size_t)256 * 1024)
#define TOGETHER 4 /* contents read at once: others choose how long they are */

struct export_run {
	struct ar_engine *engine;
	struct ar_engine_request *request;
	void (*done)(struct ar_engine_request *r); /* the request's own */
	char session_key[AR_SESSION_KEY_LEN];
	struct ar_fold fold;
	struct ar_pack pack;
	bool is_closed; /* the pack */
	struct ar_store_read read;
	struct ar_store_blobs_get blobs;
	struct ar_hash hashes[TOGETHER];
	size_t looked; /* contents of the pack that were looked for */
	struct ar_engine_request store; /* of one part */
	struct ar_str part;
	struct ar_pack_file *file; /* that it is of */
	struct ar_buf document;
	struct ar_exported exported;
	ar_usec began; /* monotonic */
	struct ar_error err;
};

static void advance(struct export_run *x);

static struct ar_str key_of(const struct export_run *x)
{
	return (struct ar_str){ x->session_key, AR_SESSION_KEY_LEN };
}

/* ---- the end ---- */

static void run_free(struct export_run *x)
{
	x->engine->exports--;
	ar_fold_fini(&x->fold);
	ar_pack_fini(&x->pack);
	ar_store_op_fini(&x->read.op);
	ar_store_op_fini(&x->blobs.op);
	ar_buf_fini(&x->document);
	ar_free(x);
}

static void answered(struct ar_engine_request *r)
{
	struct export_run *x = AR_CONTAINER_OF((struct ar_exported *)(uintptr_t)r->input.exported,
					       struct export_run, exported);

	r->done = x->done;
	r->input.exported = NULL;
	run_free(x); /* the reply is the request's, the refusal a copy */
	r->done(r);
}

static void come_back(struct export_run *x)
{
	struct ar_engine_request *r = x->request;

	x->done = r->done;
	r->done = answered;
	r->input.exported = &x->exported;
	if (x->engine->is_stopping)
		ar_request_refuse(r, AR_ERR_UNAVAILABLE, AR_STOPPING);
	else
		ar_inbox_push(ar_live_get(x->engine, key_of(x)), r);
}

static void fail(struct export_run *x, uint16_t code, const char *why)
{
	ar_refuse(&x->err, code, "%s", why);
	x->exported = (struct ar_exported){ .code = code, .why = x->err.msg };
	come_back(x);
}

static const struct ar_sign_key *signing_key(const struct export_run *x)
{
	const struct ar_engine_options *o = &x->engine->o;

	return o->evidence_key ? o->evidence_key(o->evidence_arg) : NULL;
}

static void finish(struct export_run *x)
{
	struct ar_clock *clock = x->engine->o.clock;
	struct ar_pack *p = &x->pack;
	char root[AR_HASH_HEX];

	if (p->request.kind == AR_PACK_REVIEW_PAGE)
		ar_pack_review(p, &x->fold.state, &x->document);
	else
		ar_pack_document(p, signing_key(x), &x->document);
	ar_hash_hex(&p->root, root);
	x->exported = (struct ar_exported){
		.document = ar_buf_str(&x->document),
		.sequence = p->tree.size,
		.root = ar_arena_str(&p->arena, (struct ar_str){ root, sizeof(root) }),
		.gaps = { p->gaps, p->gap_count },
		.signals = p->signals,
		.traces = p->traces,
		.duration_ms = (clock->mono(clock) - x->began) / 1000,
	};
	come_back(x);
}

/* Whether the store brought what was asked for; else the export is over. */
static bool has_come(struct export_run *x, const struct ar_store_op *op)
{
	if (op->status == AR_OK && !x->engine->is_stopping)
		return true;
	if (x->engine->is_stopping)
		fail(x, AR_ERR_UNAVAILABLE, AR_STOPPING);
	else
		fail(x, ar_storage_code(op->status), op->err.msg);
	return false;
}

/* ---- facts ---- */

static void on_fact(void *arg, const struct ar_event *e, struct ar_str line)
{
	ar_pack_fact(&((struct export_run *)arg)->pack, e, line);
}

static void on_page(struct ar_store_op *op)
{
	struct export_run *x = AR_CONTAINER_OF(op, struct export_run, read.op);
	uint64_t before = x->fold.state.head;
	struct ar_error err = { 0 };

	if (!has_come(x, op))
		return;
	if (ar_fold_rows(&x->fold, x->read.rows, x->read.row_count, &err) != AR_OK)
		fail(x, AR_ERR_STORAGE_CORRUPT, err.msg);
	else if (x->fold.state.head == before)
		fail(x, AR_ERR_STORAGE_CORRUPT, "the log ends before the fact that the export is to cover");
	else
		advance(x);
}

static void read_page(struct export_run *x)
{
	ar_store_op_fini(&x->read.op);
	x->read = (struct ar_store_read){ .op = { .kind = AR_STORE_READ, .done = on_page },
					  .session = key_of(x),
					  .from = x->fold.state.head + 1,
					  .max_bytes = PAGE_BYTES };
	ar_store_submit(x->engine->o.store, &x->read.op);
}

/* ---- contents ---- */

static void on_contents(struct ar_store_op *op)
{
	struct export_run *x = AR_CONTAINER_OF(op, struct export_run, blobs.op);

	if (!has_come(x, op))
		return;
	ar_pack_found(&x->pack, x->looked, x->blobs.bytes, x->blobs.count);
	x->looked += x->blobs.count;
	ar_store_op_fini(op);
	advance(x);
}

static void on_texts(struct ar_store_op *op)
{
	struct export_run *x = AR_CONTAINER_OF(op, struct export_run, blobs.op);

	if (!has_come(x, op))
		return;
	ar_case_bring(x->pack.replay, x->blobs.bytes, x->blobs.count);
	ar_store_op_fini(op);
	advance(x);
}

static void read_contents(struct export_run *x, size_t count, void (*done)(struct ar_store_op *op))
{
	x->blobs = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = done },
						.session = key_of(x),
						.hashes = x->hashes,
						.count = count,
						.is_check = true };
	ar_store_submit(x->engine->o.store, &x->blobs.op);
}

static void look_for_contents(struct export_run *x)
{
	size_t left = x->pack.content_count - x->looked, count = left < TOGETHER ? left : TOGETHER;

	for (size_t i = 0; i < count; i++)
		x->hashes[i] = x->pack.contents[x->looked + i].hash;
	read_contents(x, count, on_contents);
}

/* Whether texts of a case are read now. */
static bool look_for_texts(struct export_run *x)
{
	size_t count = x->pack.replay ? ar_case_wanted(x->pack.replay, x->hashes, TOGETHER) : 0;

	if (count > 0)
		read_contents(x, count, on_texts);
	return count > 0;
}

/* ---- request logs of others ---- */

static void on_log(struct ar_store_op *op)
{
	struct export_run *x = AR_CONTAINER_OF(op, struct export_run, blobs.op);

	if (!has_come(x, op))
		return;
	ar_request_logs_bring(&x->pack, x->blobs.bytes[0]);
	ar_store_op_fini(op);
	advance(x);
}

/* Whether one is read now: when all ids of the session are known. */
static bool look_for_log(struct export_run *x)
{
	bool is_wanted = !x->is_closed && ar_request_logs_wanted(&x->pack, &x->hashes[0]);

	if (is_wanted)
		read_contents(x, 1, on_log);
	return is_wanted;
}

/* ---- parts ---- */

static void on_stored(struct ar_engine_request *r)
{
	struct export_run *x = AR_CONTAINER_OF(r, struct export_run, store);

	if (r->status != AR_OK) {
		fail(x, r->err.code ? r->err.code : AR_ERR_EXPORT_FAILED, r->err.msg);
		return;
	}
	ar_pack_file_drop(x->file, x->part);
	advance(x);
}

static bool find_part(struct export_run *x)
{
	for (size_t i = 0; i < AR_PACK_FILES; i++) {
		x->file = &x->pack.files[i];
		x->part = ar_pack_file_part(x->file, x->is_closed);
		if (!ar_str_absent(x->part))
			return true;
	}
	return false;
}

static void store_part(struct export_run *x)
{
	x->store = (struct ar_engine_request){ .session = key_of(x), .done = on_stored };
	x->store.input = (struct ar_input){ .kind = AR_IN_CONTENTS, .contents = { &x->part, 1 } };
	if (x->engine->is_stopping)
		ar_request_refuse(&x->store, AR_ERR_UNAVAILABLE, AR_STOPPING);
	else
		ar_inbox_push(ar_live_get(x->engine, key_of(x)), &x->store);
}

/* ---- what is next ---- */

static void close_pack(struct export_run *x)
{
	struct ar_error err = { 0 };

	if (ar_pack_close(&x->pack, &x->fold.state, signing_key(x), &err) != AR_OK) {
		fail(x, err.code, err.msg);
		return;
	}
	x->is_closed = true;
	advance(x);
}

static void advance(struct export_run *x)
{
	if (x->looked < x->pack.content_count) {
		look_for_contents(x);
		return;
	}
	ar_pack_forget(&x->pack);
	x->looked = 0;
	if (look_for_texts(x))
		return;
	if (find_part(x))
		store_part(x);
	else if (x->is_closed)
		finish(x);
	else if (x->fold.state.head < x->fold.until)
		read_page(x);
	else if (!look_for_log(x))
		close_pack(x);
}

/* ---- the beginning ---- */

#define SCOPE_OF(in) \
	{ \
		.thread_id = (in)->thread_id, .turn_id = (in)->turn_id, .task_id = (in)->task_id, \
		.job_id = (in)->job_id \
	}

static bool is_policy(struct ar_str word, struct ar_pack_request *q)
{
	q->leaves_contents = ar_str_is(word, "without_contents");
	return ar_str_absent(word) || ar_str_is(word, "recorded") || q->leaves_contents;
}

/* What is asked for; false: the command is no export. *ret_until is 0 where none is named. */
static bool read_request(const struct ar_input_command *c, struct ar_pack_request *q,
			 struct ar_opt_int *ret_until, bool *ret_is_valid)
{
	*ret_is_valid = true;
	if (c->id == AR_CMD_EXPORT_EVIDENCE) {
		const struct ar_cmd_export_evidence_in *in = c->args;

		*q = (struct ar_pack_request){ .kind = AR_PACK_EVIDENCE, .scope = SCOPE_OF(in) };
		q->include = in->include;
		q->references_contents =
			in->copy_or_reference == AR_EXPORT_EVIDENCE_COPY_OR_REFERENCE_REFERENCE;
		*ret_until = in->sequence;
		*ret_is_valid = is_policy(in->redaction_policy, q);
		return true;
	}
	if (c->id == AR_CMD_EXPORT_REPLAY) {
		const struct ar_cmd_export_replay_in *in = c->args;

		*q = (struct ar_pack_request){ .kind = AR_PACK_REPLAY, .scope = SCOPE_OF(in) };
		q->assertions = in->assertions;
		q->instructions = in->grader_instructions;
		*ret_until = in->sequence;
		return true;
	}
	if (c->id == AR_CMD_EXPORT_REVIEW) {
		const struct ar_cmd_export_review_in *in = c->args;

		*q = (struct ar_pack_request){ .kind = AR_PACK_REVIEW_PAGE, .scope = SCOPE_OF(in) };
		*ret_until = in->sequence;
		*ret_is_valid = ar_str_absent(in->template_) || ar_str_is(in->template_, "markdown");
		return true;
	}
	return false;
}

static void begin(struct ar_live *l, struct ar_engine_request *r, const struct ar_pack_request *q,
		  uint64_t until)
{
	struct export_run *x = ar_new0(sizeof(*x));
	struct ar_engine *e = l->engine;

	e->exports++;
	x->engine = e;
	x->request = r;
	x->began = e->o.clock->mono(e->o.clock);
	__builtin_memcpy(x->session_key, l->session_key, AR_SESSION_KEY_LEN);
	ar_fold_init(&x->fold, key_of(x), e->json, e->member_json);
	x->fold.is_bare = true;
	x->fold.until = until;
	x->fold.each = on_fact;
	x->fold.arg = x;
	ar_pack_init(&x->pack, q, key_of(x), ar_str_from(e->o.store->runtime_id));
	read_page(x);
}

bool ar_export_hold(struct ar_live *l, struct ar_engine_request *r)
{
	struct ar_opt_int until = { 0 };
	struct ar_pack_request q;
	bool is_valid;

	if (r->input.kind != AR_IN_COMMAND || r->input.exported || l->state.head == 0 ||
	    !read_request(&r->input.command, &q, &until, &is_valid))
		return false;
	if (!is_valid)
		ar_request_refuse(r, AR_ERR_INVALID_INPUT,
				  "redactionPolicy is recorded or without_contents, template is markdown");
	else if (until.set && (until.v < 1 || (uint64_t)until.v > l->state.head))
		ar_request_refuse(r, AR_ERR_INVALID_INPUT, "sequence is that of a fact of the session");
	else if (ar_pack_check(&q, &r->err) != AR_OK)
		ar_request_finish(r, AR_E_REFUSED);
	else if (l->engine->exports >= AR_EXPORTS_MAX)
		ar_request_refuse(r, AR_ERR_OVERLOADED, "other exports are under way; retry after a moment");
	else
		begin(l, r, &q, until.set ? (uint64_t)until.v : l->state.head);
	return true;
}
