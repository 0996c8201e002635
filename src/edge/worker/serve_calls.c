/* Calls that a daemon asks for, on the local ports.
 *
 *   call -> (its id on disk) -> began -> done -> ack
 *
 * A result is kept until it is acknowledged. On a new link the daemon names the calls that it still waits
 * for; the others are given up. A call that has begun never begins again: asked for once more,
 * it is answered with what is known. Loop thread only. */
#include "serve_priv.h"

#include <stdio.h>
#include <string.h>

#define RUNNING_MAX 1024
#define KEPT_MAX 1024
#define KEPT_BYTES_MAX ((size_t)128 << 20)
#define KEPT_USEC ((ar_usec)3600 * 1000000)

enum kind {
	TOOL = 1,
	CHECKPOINT,
	INSPECT,
	FOLDER,
};

enum stage {
	WAITING = 1, /* for the disk */
	RUNNING,
	DONE,
};

struct served_call {
	struct ar_list node;
	struct ar_worker_serve *serve;
	char ref[AR_WIRE_REF_MAX + 1];
	struct ar_arena arena;
	enum kind kind;
	enum stage stage;
	union {
		struct ar_tool_call tool;
		struct ar_checkpoint_run checkpoint;
		struct ar_inspect_run inspect;
		struct ar_worker_folder folder;
	} of;
	struct ar_begun_wait wait;
	bool is_cancelled;
	bool is_dropped; /* nobody wants its result */
	bool is_open; /* the daemon waits for it, as far as is known on this link */
	struct ar_wire_writer result; /* DONE */
	ar_usec done_at;
};

/* ---- life ---- */

static void call_free(struct served_call *c)
{
	struct ar_worker_serve *s = c->serve;

	if (c->stage == DONE) {
		s->kept--;
		s->kept_bytes -= c->result.bytes.len;
	} else {
		s->running--;
	}
	ar_list_del(&c->node);
	if (ar_map_get(&s->calls_by_ref, ar_str_from(c->ref)) == c)
		ar_map_del(&s->calls_by_ref, ar_str_from(c->ref));
	ar_wire_writer_fini(&c->result);
	ar_arena_fini(&c->arena);
	ar_free(c);
	if (s->is_closing)
		ar_serve_settle(s);
	else
		ar_serve_later(s);
}

static struct served_call *oldest_kept(struct ar_worker_serve *s)
{
	AR_LIST_FOR (it, &s->calls) {
		struct served_call *c = AR_CONTAINER_OF(it, struct served_call, node);

		if (c->stage == DONE)
			return c;
	}
	return NULL;
}

void ar_serve_calls_tick(struct ar_worker_serve *s, ar_usec now)
{
	AR_LIST_FOR_SAFE (it, &s->calls) {
		struct served_call *c = AR_CONTAINER_OF(it, struct served_call, node);

		if (c->stage == DONE && now - c->done_at > KEPT_USEC)
			call_free(c);
	}
}

/* ---- ends ---- */

static void begin_result(struct served_call *c)
{
	ar_wire_begin(&c->result, "done", ar_str_from(c->ref));
}

/* One that cannot be sent would end every link. */
static void limit_result(struct served_call *c)
{
	static const struct ar_tool_result too_large = {
		.outcome = AR_TOOL_LOST,
		.category = { "result_too_large", 16 },
		.message = { "The call ended; its result is too large to be sent.", 51 },
		.advice = { "Ask for less.", 13 },
	};

	if (c->result.bytes.len <= AR_WIRE_BYTES_MAX && c->result.head.len < AR_WIRE_HEAD_MAX - 64)
		return;
	begin_result(c);
	if (c->kind == TOOL)
		ar_codec_write_tool_result(&c->result, &too_large);
	else
		ar_codec_write_checkpoint_result(&c->result, &(struct ar_checkpoint_result){
								     .status = AR_E_LIMIT,
								     .message = too_large.message });
}

/* Its result is written. */
static void keep_result(struct served_call *c)
{
	struct ar_worker_serve *s = c->serve;

	limit_result(c);
	s->running--;
	s->kept++;
	s->kept_bytes += c->result.bytes.len;
	c->stage = DONE;
	c->done_at = ar_serve_now(s);
	ar_arena_fini(&c->arena);
	if (ar_serve_is_up(s))
		ar_serve_send_copy(s, &c->result);
	while (s->kept > KEPT_MAX || s->kept_bytes > KEPT_BYTES_MAX)
		call_free(oldest_kept(s));
}

static bool is_wanted(struct served_call *c)
{
	if (!c->is_dropped && !c->serve->is_closing)
		return true;
	call_free(c);
	return false;
}

static void end_tool(struct served_call *c, const struct ar_tool_result *r)
{
	if (!is_wanted(c))
		return;
	begin_result(c);
	ar_codec_write_tool_result(&c->result, r);
	keep_result(c);
}

static void on_tool_done(struct ar_tool_call *call, const struct ar_tool_result *r)
{
	end_tool(AR_CONTAINER_OF(call, struct served_call, of.tool), r);
}

static void on_tool_progress(struct ar_tool_call *call, const struct ar_tool_progress *p)
{
	struct served_call *c = AR_CONTAINER_OF(call, struct served_call, of.tool);
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	if (c->is_dropped || !ar_serve_is_up(c->serve))
		return;
	ar_wire_begin(&w, "progress", ar_str_from(c->ref));
	ar_wire_add(&w, "text", p->text);
	ar_jw_mint(&w.w, "percent", p->percent < 0 ? -1 : p->percent > 100 ? 100 : (int64_t)p->percent);
	ar_serve_send(c->serve, &w);
}

/* File tools ask nothing and want no process; one that does would wait for ever. */
static void on_tool_question(struct ar_tool_call *call, const struct ar_tool_question *q AR_UNUSED)
{
	const struct served_call *c = AR_CONTAINER_OF(call, struct served_call, of.tool);
	struct ar_tool_source *files = c->serve->local.files;

	files->v->cancel(files, call);
}

static void on_tool_process(struct ar_tool_call *call, const struct ar_process_spec *spec AR_UNUSED)
{
	on_tool_question(call, NULL);
}

static const struct ar_tool_call_vtable tool_callbacks = { .on_progress = on_tool_progress,
							   .on_question = on_tool_question,
							   .on_process = on_tool_process,
							   .on_done = on_tool_done };

static void on_checkpoint_done(struct ar_checkpoint_run *run, const struct ar_checkpoint_result *r)
{
	struct served_call *c = AR_CONTAINER_OF(run, struct served_call, of.checkpoint);

	if (!is_wanted(c))
		return;
	begin_result(c);
	ar_codec_write_checkpoint_result(&c->result, r);
	keep_result(c);
}

static void on_inspected(struct ar_inspect_run *run, const struct ar_inspected *found)
{
	struct served_call *c = AR_CONTAINER_OF(run, struct served_call, of.inspect);

	if (!is_wanted(c))
		return;
	begin_result(c);
	ar_codec_write_inspected(&c->result, found);
	keep_result(c);
}

static void on_folder(struct ar_worker_folder *f)
{
	struct served_call *c = AR_CONTAINER_OF(f, struct served_call, of.folder);

	if (!is_wanted(c))
		return;
	begin_result(c);
	ar_jw_mint(&c->result.w, "status", f->status);
	if (f->status == AR_OK && !ar_str_absent(f->root))
		ar_jw_mbool(&c->result.w, "isOffered", true);
	if (f->status == AR_OK)
		ar_wire_add(&c->result, "folder", f->folder);
	else
		ar_wire_add(&c->result, "message", ar_str_from(f->err.msg));
	keep_result(c);
}

/* ---- beginning ---- */

static void refuse_ref(struct ar_worker_serve *s, struct ar_str ref, const char *why)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, "refused", ref);
	ar_wire_add(&w, "reason", ar_str_from(why));
	ar_serve_send(s, &w);
}

static void refuse_call(struct served_call *c, const char *why)
{
	refuse_ref(c->serve, ar_str_from(c->ref), why);
	call_free(c);
}

static void begin_call(struct served_call *c)
{
	const struct ar_worker_ports *local = &c->serve->local;

	c->stage = RUNNING;
	ar_serve_send_word(c->serve, "began", ar_str_from(c->ref));
	if (c->kind == TOOL)
		local->files->v->start(local->files, &c->of.tool);
	else if (c->kind == CHECKPOINT)
		local->checkpoints->v->start(local->checkpoints, &c->of.checkpoint);
	else if (c->kind == INSPECT)
		local->inspector->v->start(local->inspector, &c->of.inspect);
	else
		local->find_folder(local->folder_arg, &c->of.folder);
}

static void on_durable(struct ar_begun_wait *wait, bool is_durable)
{
	struct served_call *c = AR_CONTAINER_OF(wait, struct served_call, wait);

	if (c->is_dropped || c->serve->is_closing)
		call_free(c);
	else if (!is_durable)
		refuse_call(c, "The worker cannot write its journal; nothing was done.");
	else if (c->is_cancelled)
		refuse_call(c, "It was cancelled before it began.");
	else
		begin_call(c);
}

static bool only_reads(const struct served_call *c)
{
	return c->kind == INSPECT || c->kind == FOLDER || (c->kind == TOOL && c->of.tool.tool->is_read_only);
}

/* What only reads is on the list, too, but does not wait for the disk: after a power cut it may run again. */
static void start_call(struct served_call *c)
{
	struct ar_worker_serve *s = c->serve;
	bool is_listed = c->kind == TOOL || c->kind == CHECKPOINT;

	if (is_listed && ar_begun_add(s->shared->begun, ar_str_from(c->ref)) != AR_OK) {
		refuse_call(c, "The worker cannot write its journal; nothing was done.");
		return;
	}
	if (only_reads(c)) {
		begin_call(c);
		return;
	}
	c->stage = WAITING;
	c->wait.done = on_durable;
	ar_begun_sync(s->shared->begun, &c->wait);
}

/* ---- what is asked for ---- */

/* Of the system's clock, as local ports read it; that of the lease may be another. */
static ar_usec deadline_of(struct ar_wire_message *m)
{
	struct ar_clock *clock = ar_clock_system();
	int64_t left = ar_wire_int(m, m->head, "leftMs", 0, INT64_MAX / 2000);

	return left > 0 ? clock->mono(clock) + left * 1000 : 0;
}

static const struct ar_tool *tool_named(const struct ar_tool_source *files, struct ar_str name)
{
	for (size_t i = 0; files && i < files->tool_count; i++) {
		if (ar_str_eq(files->tools[i].name, name))
			return &files->tools[i];
	}
	return NULL;
}

/* NULL: it can be started. Its texts are its own. */
static const char *read_tool(struct served_call *c, struct ar_wire_message *m)
{
	struct ar_tool_call *t = &c->of.tool;
	struct ar_str name;

	ar_codec_read_tool(m, t, &name);
	t->v = &tool_callbacks;
	t->tool = tool_named(c->serve->local.files, name);
	t->deadline = deadline_of(m);
	t->args = ar_arena_str(&c->arena, t->args);
	t->session_id = ar_arena_str(&c->arena, t->session_id);
	t->thread_id = ar_arena_str(&c->arena, t->thread_id);
	t->turn_id = ar_arena_str(&c->arena, t->turn_id);
	t->tool_call_id = ar_arena_str(&c->arena, t->tool_call_id);
	t->operation_id = ar_arena_str(&c->arena, t->operation_id);
	t->account = ar_arena_str(&c->arena, t->account);
	t->workspace = ar_arena_str(&c->arena, t->workspace);
	if (!t->tool)
		return "The worker has no tool of that name.";
	return ar_serve_may_use(c->serve, t->workspace) ? NULL : "The worker does not have that folder.";
}

static const char *read_checkpoint(struct served_call *c, struct ar_wire_message *m)
{
	struct ar_checkpoint_run *r = &c->of.checkpoint;
	struct ar_texts ids;

	ar_codec_read_checkpoint(m, &c->arena, r);
	r->on_done = on_checkpoint_done;
	r->deadline = deadline_of(m);
	r->tenant = ar_arena_str(&c->arena, r->tenant);
	r->workspace_id = ar_arena_str(&c->arena, r->workspace_id);
	r->folder = ar_arena_str(&c->arena, r->folder);
	r->session_id = ar_arena_str(&c->arena, r->session_id);
	r->from = ar_arena_str(&c->arena, r->from);
	r->to = ar_arena_str(&c->arena, r->to);
	r->origin = ar_arena_str(&c->arena, r->origin);
	r->label = ar_arena_str(&c->arena, r->label);
	ids = ar_arena_texts(&c->arena, (struct ar_texts){ r->ids, r->id_count });
	r->ids = ids.at;
	if (!c->serve->local.checkpoints)
		return "The worker keeps no checkpoints.";
	if (!ar_str_absent(r->origin) && !ar_serve_may_use(c->serve, r->origin))
		return "The worker does not have that folder.";
	return ar_serve_may_use(c->serve, r->folder) ? NULL : "The worker does not have that folder.";
}

static const char *read_inspect(struct served_call *c, struct ar_wire_message *m)
{
	struct ar_inspect_run *r = &c->of.inspect;

	r->folder = ar_arena_str(&c->arena, ar_wire_text(m, m->head, "folder"));
	r->on_done = on_inspected;
	if (!c->serve->local.inspector)
		return "The worker does not inspect folders.";
	return ar_serve_may_use(c->serve, r->folder) ? NULL : "The worker does not have that folder.";
}

static const char *read_folder(struct served_call *c, struct ar_wire_message *m)
{
	struct ar_worker_folder *f = &c->of.folder;

	f->home = ar_arena_str(&c->arena, ar_wire_text(m, m->head, "home"));
	f->key = ar_arena_str(&c->arena, ar_wire_text(m, m->head, "key"));
	f->root = ar_arena_str(&c->arena, ar_wire_text(m, m->head, "root"));
	f->arena = &c->arena;
	f->done = on_folder;
	m->is_broken |= ar_str_empty(f->home) || ar_str_empty(f->key);
	return c->serve->local.find_folder ? NULL : "The worker makes no folders.";
}

static const struct {
	const char *name;
	enum kind kind;
	const char *(*read)(struct served_call *c, struct ar_wire_message *m);
} kinds[] = {
	{ "tool", TOOL, read_tool },
	{ "checkpoint", CHECKPOINT, read_checkpoint },
	{ "inspect", INSPECT, read_inspect },
	{ "folder", FOLDER, read_folder },
};

static size_t kind_of(const struct ar_wire_message *m)
{
	struct ar_str name = AR_STR_NONE;
	size_t i = 0;

	ar_json_str(ar_json_get(m->head, "kind"), &name);
	while (i < AR_ARRAY_LEN(kinds) && !ar_str_is(name, kinds[i].name))
		i++;
	return i;
}

static struct served_call *new_call(struct ar_worker_serve *s, struct ar_str ref, enum kind kind)
{
	struct served_call *c = ar_new0(sizeof(*c));

	c->serve = s;
	c->kind = kind;
	c->is_open = true;
	snprintf(c->ref, sizeof(c->ref), "%.*s", AR_STR_ARG(ref));
	s->running++;
	ar_list_push(&s->calls, &c->node);
	ar_map_put(&s->calls_by_ref, ar_str_from(c->ref), c);
	return c;
}

static void make_call(struct ar_worker_serve *s, struct ar_wire_message *m)
{
	size_t i = kind_of(m);
	struct served_call *c;
	const char *refusal;

	if (i == AR_ARRAY_LEN(kinds)) {
		refuse_ref(s, m->ref, "The worker does not know this kind of call; update it.");
		return;
	}
	if (s->is_draining || s->running >= RUNNING_MAX) {
		refuse_ref(s, m->ref,
			   s->is_draining ? "The worker takes no new calls."
					  : "The worker has too many calls.");
		return;
	}
	c = new_call(s, m->ref, kinds[i].kind);
	refusal = kinds[i].read(c, m);
	if (m->is_broken)
		call_free(c);
	else if (refusal)
		refuse_call(c, refusal);
	else
		start_call(c);
}

/* What became of one that is here, or was. */
static void answer_known(struct ar_worker_serve *s, const struct served_call *c, struct ar_str ref)
{
	if (!c)
		ar_serve_send_word(s, ar_begun_has(s->shared->begun, ref) ? "gone" : "unknown", ref);
	else if (c->is_dropped)
		ar_serve_send_word(s, "gone", ref);
	else if (c->stage == DONE)
		ar_serve_send_copy(s, &c->result);
	else
		ar_serve_send_word(s, "began", ref);
}

static void on_call(struct ar_worker_serve *s, struct served_call *c, struct ar_wire_message *m)
{
	if (c || ar_begun_has(s->shared->begun, m->ref))
		answer_known(s, c, m->ref);
	else
		make_call(s, m);
}

static void on_resume(struct ar_worker_serve *s, struct served_call *c, struct ar_wire_message *m)
{
	if (c)
		c->is_open = true;
	answer_known(s, c, m->ref);
}

/* Inspections and folders take a moment: they are waited for. */
static void cancel_local(struct served_call *c)
{
	const struct ar_worker_ports *local = &c->serve->local;

	if (c->is_cancelled || c->stage == DONE)
		return;
	c->is_cancelled = true;
	if (c->stage == RUNNING && c->kind == TOOL)
		local->files->v->cancel(local->files, &c->of.tool);
	else if (c->stage == RUNNING && c->kind == CHECKPOINT)
		local->checkpoints->v->cancel(local->checkpoints, &c->of.checkpoint);
}

static void on_cancel(struct ar_worker_serve *s AR_UNUSED, struct served_call *c,
		      struct ar_wire_message *m AR_UNUSED)
{
	if (c)
		cancel_local(c);
}

static void on_ack(struct ar_worker_serve *s AR_UNUSED, struct served_call *c,
		   struct ar_wire_message *m AR_UNUSED)
{
	if (c && c->stage == DONE)
		call_free(c);
}

static const struct {
	const char *op;
	void (*handle)(struct ar_worker_serve *s, struct served_call *c, struct ar_wire_message *m);
} ops[] = {
	{ "call", on_call },
	{ "cancel", on_cancel },
	{ "ack", on_ack },
	{ "resume", on_resume },
};

static void give_up(struct served_call *c)
{
	if (c->stage == DONE) {
		call_free(c);
		return;
	}
	c->is_dropped = true;
	cancel_local(c);
}

void ar_serve_calls_greeted(struct ar_worker_serve *s)
{
	AR_LIST_FOR (it, &s->calls)
		AR_CONTAINER_OF(it, struct served_call, node)->is_open = false;
}

/* What the daemon has not asked for, it has given up, or its acknowledgement was lost. */
static void on_resumed(struct ar_worker_serve *s)
{
	AR_LIST_FOR_SAFE (it, &s->calls) {
		struct served_call *c = AR_CONTAINER_OF(it, struct served_call, node);

		if (!c->is_open)
			give_up(c);
	}
}

bool ar_serve_calls_message(struct ar_worker_serve *s, struct ar_wire_message *m)
{
	if (ar_str_is(m->op, "resumed")) {
		on_resumed(s);
		return true;
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(ops); i++) {
		if (!ar_str_is(m->op, ops[i].op))
			continue;
		m->is_broken |= ar_str_absent(m->ref);
		if (!m->is_broken)
			ops[i].handle(s, ar_map_get(&s->calls_by_ref, m->ref), m);
		return true;
	}
	return false;
}

void ar_serve_calls_kill(struct ar_worker_serve *s, bool drops_results)
{
	AR_LIST_FOR_SAFE (it, &s->calls) {
		struct served_call *c = AR_CONTAINER_OF(it, struct served_call, node);

		if (c->stage != DONE || drops_results)
			give_up(c);
	}
}
