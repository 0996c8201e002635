/* Calls over links: tools, checkpoints, inspections, folders. Each is one message there and one result back.
 *
 *   start -> (call) -> began -> progress... -> done -> (ack)
 *   cut -> (new link, resume..., resumed) -> began | done | unknown: the call is sent again | gone: lost
 *
 * A call is sent again only after its worker has said that it never began. Loop thread only. */
#include "set_priv.h"

#include "id.h"

#include <stdio.h>
#include <string.h>

#define FOLDER_MS 10000
#define LATE_MS 2000 /* after a deadline that the worker keeps itself */
#define BACKLOG_MAX ((size_t)64 << 20)

enum kind {
	TOOL = 1,
	CHECKPOINT,
	INSPECT,
	FOLDER,
};

struct remote_call {
	struct ar_list node; /* of the worker's calls, or of those that are doomed */
	struct ar_worker_set *set;
	struct ar_remote *remote; /* NULL: with doom */
	enum kind kind;
	union {
		struct ar_tool_call *tool;
		struct ar_checkpoint_run *checkpoint;
		struct ar_inspect_run *inspect;
		struct ar_worker_folder *folder;
	} of;
	char ref[AR_WORKER_REF_TEXT];
	bool is_cancelled;
	bool is_resumed; /* its worker is asked what became of it */
	bool is_of_other_life; /* it was sent to an earlier life of the worker's program */
	ar_usec give_up_at; /* monotonic; 0: it waits as long as the lease lasts */
	enum ar_doom doom;
	char why[200]; /* with AR_DOOM_REFUSED */
};

/* ---- ends without an answer ---- */

static const struct {
	enum ar_tool_outcome outcome;
	enum ar_status status;
	const char *category, *message, *advice;
	bool retryable;
} dooms[AR_DOOM_COUNT] = {
	[AR_DOOM_AWAY] = { AR_TOOL_NOT_RUN, AR_E_UNAVAILABLE, "worker_away",
			   "The worker that has the workspace is not connected.",
			   "Try again when it is connected.", true },
	[AR_DOOM_DRAINING] = { AR_TOOL_NOT_RUN, AR_E_UNAVAILABLE, "worker_draining",
			       "The worker that has the workspace takes no new calls.",
			       "Try again when it takes calls.", true },
	[AR_DOOM_REFUSED] = { AR_TOOL_NOT_RUN, AR_E_UNAVAILABLE, "worker_refused",
			      "The worker has not started it.", "Tell the user.", false },
	[AR_DOOM_FOREIGN] = { AR_TOOL_NOT_RUN, AR_E_UNAVAILABLE, "worker_away",
			      "The worker that has the workspace is not connected.",
			      "Try again when it is connected.", false },
	[AR_DOOM_NO_PORT] = { AR_TOOL_NOT_RUN, AR_E_UNAVAILABLE, "unavailable",
			      "This machine cannot do that.", "Continue without it.", false },
	[AR_DOOM_LOST] = { AR_TOOL_LOST, AR_E_IO, "worker_lost",
			   "The worker was lost while it ran; how far it came is not known.",
			   "Look at the files before repeating it.", false },
	[AR_DOOM_BROKEN] = { AR_TOOL_LOST, AR_E_IO, "worker_lost",
			     "The answer of the worker cannot be read; how far it came is not known.",
			     "Look at the files before repeating it.", false },
	[AR_DOOM_TIMEOUT] = { AR_TOOL_LOST, AR_E_TIMEOUT, "worker_lost",
			      "The worker did not answer in time; how far it came is not known.",
			      "Look at the files before repeating it.", false },
	[AR_DOOM_CLOSED] = { AR_TOOL_LOST, AR_E_CANCELED, "worker_lost",
			     "The daemon stops; how far it came is not known.",
			     "Look at the files before repeating it.", false },
};

static struct ar_str doom_message(const struct remote_call *c)
{
	return ar_str_from(c->doom == AR_DOOM_REFUSED && c->why[0] ? c->why : dooms[c->doom].message);
}

static void end_tool(struct remote_call *c)
{
	struct ar_arena a = { 0 };
	struct ar_str parts[] = { doom_message(c), AR_STR(" "), ar_str_from(dooms[c->doom].advice) };
	struct ar_tool_call *call = c->of.tool;

	call->source_state = NULL;
	call->v->on_done(call,
			 &(struct ar_tool_result){ .outcome = dooms[c->doom].outcome,
						   .text = ar_arena_join(&a, parts, AR_ARRAY_LEN(parts)),
						   .category = ar_str_from(dooms[c->doom].category),
						   .message = parts[0],
						   .advice = parts[2],
						   .retryable = dooms[c->doom].retryable });
	ar_arena_fini(&a);
}

static void end_checkpoint(struct remote_call *c)
{
	struct ar_checkpoint_run *run = c->of.checkpoint;

	run->adapter_state = NULL;
	run->on_done(run, &(struct ar_checkpoint_result){ .status = dooms[c->doom].status,
							  .message = doom_message(c) });
}

static void end_inspect(struct remote_call *c)
{
	c->of.inspect->on_done(c->of.inspect, &(struct ar_inspected){ .reason = doom_message(c) });
}

static void end_folder(struct remote_call *c)
{
	struct ar_worker_folder *f = c->of.folder;

	f->status = ar_fail(&f->err, dooms[c->doom].status, "%.*s", AR_STR_ARG(doom_message(c)));
	f->done(f);
}

void ar_calls_end_doomed(struct ar_worker_set *s)
{
	static void (*const ends[])(struct remote_call * c) = { [TOOL] = end_tool,
								[CHECKPOINT] = end_checkpoint,
								[INSPECT] = end_inspect,
								[FOLDER] = end_folder };
	struct ar_list *node;

	while ((node = ar_list_pop(&s->doomed_calls))) {
		struct remote_call *c = AR_CONTAINER_OF(node, struct remote_call, node);

		ends[c->kind](c);
		ar_free(c);
	}
}

static void forget_call(struct remote_call *c)
{
	ar_list_del(&c->node);
	if (c->remote)
		ar_map_del(&c->remote->calls_by_ref, ar_str_from(c->ref));
}

static void doom(struct remote_call *c, enum ar_doom why)
{
	forget_call(c);
	if (c->remote)
		ar_remote_expect_strays(c->remote);
	c->doom = why;
	c->remote = NULL;
	ar_list_push(&c->set->doomed_calls, &c->node);
	ar_worker_set_later(c->set);
}

void ar_calls_lose(struct ar_remote *r, enum ar_doom why)
{
	AR_LIST_FOR_SAFE (it, &r->calls)
		doom(AR_CONTAINER_OF(it, struct remote_call, node), why);
}

/* ---- to the worker ---- */

static int64_t left_ms(const struct remote_call *c, ar_usec deadline)
{
	ar_usec left = deadline - ar_worker_set_now(c->set);

	return deadline == 0 ? 0 : left > 1000 ? left / 1000 : 1;
}

static void send_call(struct remote_call *c)
{
	static const char *const names[] = {
		[TOOL] = "tool", [CHECKPOINT] = "checkpoint", [INSPECT] = "inspect", [FOLDER] = "folder"
	};
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, "call", ar_str_from(c->ref));
	ar_jw_mstr(&w.w, "kind", ar_str_from(names[c->kind]));
	if (c->kind == TOOL) {
		ar_codec_write_tool(&w, c->of.tool, left_ms(c, c->of.tool->deadline));
	} else if (c->kind == CHECKPOINT) {
		ar_codec_write_checkpoint(&w, c->of.checkpoint, left_ms(c, c->of.checkpoint->deadline));
	} else if (c->kind == INSPECT) {
		ar_wire_add(&w, "folder", c->of.inspect->folder);
	} else {
		ar_wire_add(&w, "home", c->of.folder->home);
		ar_wire_add(&w, "key", c->of.folder->key);
		ar_wire_add(&w, "root", c->of.folder->root);
	}
	ar_remote_send(c->remote, &w);
}

static void send_word(struct ar_remote *r, const char *op, struct ar_str ref)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, op, ref);
	ar_remote_send(r, &w);
}

static void draw_ref(struct remote_call *c)
{
	uint8_t random[16];

	ar_hash_draw(random, sizeof(random));
	memcpy(c->ref, "r:", 2);
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(c->ref + 2 + 2 * i, 3, "%02x", random[i]);
}

/* That of a tool call is its own id, so that it cannot begin twice under two names. */
static void set_ref(struct remote_call *c)
{
	struct ar_str id = c->kind == TOOL ? c->of.tool->tool_call_id : AR_STR_NONE;

	if (ar_id_acceptable(id))
		snprintf(c->ref, sizeof(c->ref), "t:%.*s", AR_STR_ARG(id));
	if (!c->ref[0] || ar_map_get(&c->remote->calls_by_ref, ar_str_from(c->ref)))
		draw_ref(c);
}

static enum ar_doom refusal_of(const struct remote_call *c)
{
	const struct ar_remote *r = c->remote;
	struct ar_str tenant = c->kind == CHECKPOINT ? c->of.checkpoint->tenant : AR_STR_NONE;

	if (!ar_remote_is_up(r) || r->is_dropped)
		return AR_DOOM_AWAY;
	if (!ar_str_absent(tenant) && r->tenant && !ar_str_is(tenant, r->tenant))
		return AR_DOOM_FOREIGN;
	if (r->is_draining)
		return AR_DOOM_DRAINING;
	return ar_wire_out_waiting(&r->out) > BACKLOG_MAX ? AR_DOOM_REFUSED : AR_DOOM_NONE;
}

static struct remote_call *new_call(struct ar_worker_set *s, enum kind kind)
{
	struct remote_call *c = ar_new0(sizeof(*c));

	c->set = s;
	c->kind = kind;
	ar_list_init(&c->node);
	return c;
}

static void start_call(struct remote_call *c, struct ar_str worker)
{
	enum ar_doom refusal;

	c->remote = ar_str_absent(worker) ? NULL : ar_remote_make(c->set, worker);
	refusal = c->remote ? refusal_of(c) : AR_DOOM_NO_PORT;
	if (refusal) {
		c->remote = NULL;
		doom(c, refusal);
		return;
	}
	set_ref(c);
	ar_list_push(&c->remote->calls, &c->node);
	ar_map_put(&c->remote->calls_by_ref, ar_str_from(c->ref), c);
	send_call(c);
}

/* A worker that answers pings and not this is not waited for longer than one that is silent. */
static void cancel_call(struct remote_call *c)
{
	if (c->doom || c->is_cancelled)
		return;
	c->is_cancelled = true;
	c->give_up_at = ar_worker_set_now(c->set) + c->set->options.lease_ms * 1000;
	if (ar_remote_is_up(c->remote))
		send_word(c->remote, "cancel", ar_str_from(c->ref));
}

void ar_calls_resume(struct ar_remote *r, bool is_same_life)
{
	AR_LIST_FOR (it, &r->calls) {
		struct remote_call *c = AR_CONTAINER_OF(it, struct remote_call, node);

		c->is_resumed = true;
		c->is_of_other_life |= !is_same_life;
		send_word(r, "resume", ar_str_from(c->ref));
		if (c->is_cancelled)
			send_word(r, "cancel", ar_str_from(c->ref));
	}
	send_word(r, "resumed", AR_STR_NONE);
}

void ar_calls_tick(struct ar_remote *r, ar_usec now)
{
	AR_LIST_FOR_SAFE (it, &r->calls) {
		struct remote_call *c = AR_CONTAINER_OF(it, struct remote_call, node);

		if (c->give_up_at == 0 || now < c->give_up_at)
			continue;
		if (!c->is_cancelled && ar_remote_is_up(r))
			send_word(r, "cancel", ar_str_from(c->ref));
		doom(c, AR_DOOM_TIMEOUT);
	}
}

/* ---- from the worker ---- */

/* The call is its owner's from here on. */
static void finish_tool(struct remote_call *c, struct ar_wire_message *m, struct ar_arena *a)
{
	const struct ar_tool_result *result = ar_codec_read_tool_result(m, a);
	struct ar_tool_call *call = c->of.tool;

	if (m->is_broken)
		return;
	call->source_state = NULL;
	call->v->on_done(call, result);
}

static void finish_checkpoint(struct remote_call *c, struct ar_wire_message *m, struct ar_arena *a)
{
	struct ar_checkpoint_run *run = c->of.checkpoint;
	struct ar_checkpoint_result result;

	ar_codec_read_checkpoint_result(m, a, &result);
	if (m->is_broken)
		return;
	run->adapter_state = NULL;
	run->on_done(run, &result);
}

static void finish_inspect(struct remote_call *c, struct ar_wire_message *m, struct ar_arena *a)
{
	struct ar_inspected found;

	ar_codec_read_inspected(m, a, &found);
	if (!m->is_broken)
		c->of.inspect->on_done(c->of.inspect, &found);
}

static void finish_folder(struct remote_call *c, struct ar_wire_message *m, struct ar_arena *a AR_UNUSED)
{
	struct ar_worker_folder *f = c->of.folder;
	enum ar_status status = (enum ar_status)ar_wire_int(m, m->head, "status", AR_OK, AR_STATUS_COUNT - 1);
	struct ar_str folder = ar_wire_text(m, m->head, "folder");
	struct ar_str message = ar_wire_text(m, m->head, "message");

	bool is_offered = ar_wire_bool(m, m->head, "isOffered");

	m->is_broken |= status == AR_OK && !ar_str_is_plain_path(folder);
	if (m->is_broken)
		return;
	if (status == AR_OK && is_offered != !ar_str_absent(f->root)) {
		status = AR_E_UNAVAILABLE; /* an older one makes a folder, whatever it is asked for */
		message = AR_STR("the worker does not offer folders; update it");
	}
	f->status = status;
	if (status == AR_OK)
		f->folder = ar_arena_str(f->arena, folder);
	else
		ar_fail(&f->err, status, "%.*s", AR_STR_ARG(ar_str_utf8_prefix(message, 200)));
	f->done(f);
}

static void on_done(struct remote_call *c, struct ar_wire_message *m)
{
	static void (*const finish[])(struct remote_call * c, struct ar_wire_message * m,
				      struct ar_arena * a) = { [TOOL] = finish_tool,
							       [CHECKPOINT] = finish_checkpoint,
							       [INSPECT] = finish_inspect,
							       [FOLDER] = finish_folder };
	struct ar_remote *r = c->remote;
	struct ar_arena a = { 0 };

	send_word(r, "ack", m->ref);
	forget_call(c);
	finish[c->kind](c, m, &a);
	ar_arena_fini(&a);
	if (m->is_broken) {
		ar_remote_break(r, "a result cannot be read");
		c->remote = NULL;
		doom(c, AR_DOOM_BROKEN);
	} else {
		ar_free(c);
	}
}

static void on_progress(struct remote_call *c, struct ar_wire_message *m)
{
	struct ar_tool_progress p = { .text = ar_wire_text(m, m->head, "text"),
				      .percent = (double)ar_wire_int(m, m->head, "percent", -1, 100) };

	if (m->is_broken)
		ar_remote_break(c->remote, "a progress cannot be read");
	else if (c->kind == TOOL && c->of.tool->v->on_progress)
		c->of.tool->v->on_progress(c->of.tool, &p);
}

static void on_refused(struct remote_call *c, struct ar_wire_message *m)
{
	struct ar_str why = ar_wire_text(m, m->head, "reason");

	snprintf(c->why, sizeof(c->why), "%.*s", AR_STR_ARG(ar_str_utf8_prefix(why, sizeof(c->why) - 1)));
	doom(c, AR_DOOM_REFUSED);
}

/* It never began there, certainly. One that was cancelled meanwhile is sent all the same, with its
 * cancellation behind it: its worker says how it ended. A program that was started again may be a copy on
 * another machine, with the same token: what it does not know may run on the first one. */
static void on_unknown(struct remote_call *c, struct ar_wire_message *m AR_UNUSED)
{
	if (!c->is_resumed) {
		ar_remote_break(c->remote, "a call is unknown that was not asked about");
		return;
	}
	if (c->is_of_other_life) {
		doom(c, AR_DOOM_LOST);
		return;
	}
	c->is_resumed = false;
	send_call(c);
	if (c->is_cancelled)
		send_word(c->remote, "cancel", ar_str_from(c->ref));
}

static void on_gone(struct remote_call *c, struct ar_wire_message *m AR_UNUSED)
{
	doom(c, AR_DOOM_LOST);
}

static void on_began(struct remote_call *c AR_UNUSED, struct ar_wire_message *m AR_UNUSED)
{
}

static const struct {
	const char *op;
	void (*handle)(struct remote_call *c, struct ar_wire_message *m);
} ops[] = {
	{ "done", on_done },	   { "began", on_began },     { "progress", on_progress },
	{ "refused", on_refused }, { "unknown", on_unknown }, { "gone", on_gone },
};

bool ar_calls_message(struct ar_remote *r, struct ar_wire_message *m)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(ops); i++) {
		struct remote_call *c;

		if (!ar_str_is(m->op, ops[i].op))
			continue;
		c = ar_str_absent(m->ref) ? NULL : ar_map_get(&r->calls_by_ref, m->ref);
		if (c) {
			ops[i].handle(c, m);
			return true;
		}
		ar_remote_stray(r);
		if (!ar_str_absent(m->ref) && ops[i].handle == on_done)
			send_word(r, "ack", m->ref);
		return true;
	}
	return false;
}

/* ---- the front ends ---- */

static void start_tool(struct ar_tool_source *source, struct ar_tool_call *call)
{
	struct ar_worker_set *s = AR_CONTAINER_OF(source, struct ar_worker_set, files);
	struct remote_call *c;

	if (ar_str_absent(call->worker) && s->local.files) {
		s->local.files->v->start(s->local.files, call);
		return;
	}
	c = new_call(s, TOOL);
	c->of.tool = call;
	call->source_state = c;
	start_call(c, call->worker);
}

static void cancel_tool(struct ar_tool_source *source, struct ar_tool_call *call)
{
	const struct ar_worker_set *s = AR_CONTAINER_OF(source, struct ar_worker_set, files);

	if (ar_str_absent(call->worker) && s->local.files)
		s->local.files->v->cancel(s->local.files, call);
	else if (call->source_state)
		cancel_call(call->source_state);
}

/* File tools ask nothing; one on a worker that did would be cancelled there. */
static void answer_tool(struct ar_tool_source *source, struct ar_tool_call *call,
			const struct ar_tool_answer *answer)
{
	const struct ar_worker_set *s = AR_CONTAINER_OF(source, struct ar_worker_set, files);

	if (ar_str_absent(call->worker) && s->local.files)
		s->local.files->v->answer(s->local.files, call, answer);
}

static void close_tools(struct ar_tool_source *source AR_UNUSED)
{
}

static const struct ar_tool_source_vtable tools_vtable = {
	.start = start_tool, .cancel = cancel_tool, .answer = answer_tool, .close = close_tools
};

/* The same list: a source finds its tools by their address. */
static void show_tools(struct ar_worker_set *s)
{
	const struct ar_tool_source *local = s->local.files;

	s->files.tools = local->tools;
	s->files.tool_count = local->tool_count;
	s->files.is_ready = local->is_ready;
	s->files.trouble = local->trouble;
}

static void on_tools_changed(void *arg)
{
	struct ar_worker_set *s = arg;

	show_tools(s);
	if (s->files.on_changed)
		s->files.on_changed(s->files.arg);
}

static void start_checkpoint(struct ar_checkpoints *port, struct ar_checkpoint_run *run)
{
	struct ar_worker_set *s = AR_CONTAINER_OF(port, struct ar_worker_set, checkpoints);
	struct remote_call *c;

	if (ar_str_absent(run->worker) && s->local.checkpoints) {
		s->local.checkpoints->v->start(s->local.checkpoints, run);
		return;
	}
	c = new_call(s, CHECKPOINT);
	c->of.checkpoint = run;
	c->give_up_at = run->deadline + (ar_usec)LATE_MS * 1000;
	run->adapter_state = c;
	start_call(c, run->worker);
}

static void cancel_checkpoint(struct ar_checkpoints *port, struct ar_checkpoint_run *run)
{
	const struct ar_worker_set *s = AR_CONTAINER_OF(port, struct ar_worker_set, checkpoints);

	if (ar_str_absent(run->worker) && s->local.checkpoints)
		s->local.checkpoints->v->cancel(s->local.checkpoints, run);
	else if (run->adapter_state)
		cancel_call(run->adapter_state);
}

static void close_checkpoints(struct ar_checkpoints *port AR_UNUSED)
{
}

static const struct ar_checkpoints_vtable checkpoints_vtable = { .start = start_checkpoint,
								 .cancel = cancel_checkpoint,
								 .close = close_checkpoints };

static void start_inspect(struct ar_inspector *port, struct ar_inspect_run *run)
{
	struct ar_worker_set *s = AR_CONTAINER_OF(port, struct ar_worker_set, inspector);
	struct remote_call *c;

	if (ar_str_absent(run->worker) && s->local.inspector) {
		s->local.inspector->v->start(s->local.inspector, run);
		return;
	}
	c = new_call(s, INSPECT);
	c->of.inspect = run;
	c->give_up_at = ar_worker_set_now(s) + (ar_usec)(AR_INSPECT_MS - 300) * 1000;
	start_call(c, run->worker);
}

static void close_inspector(struct ar_inspector *port AR_UNUSED)
{
}

static const struct ar_inspector_vtable inspector_vtable = { .start = start_inspect,
							     .close = close_inspector };

static void find_folder(void *arg, struct ar_worker_folder *f)
{
	struct ar_worker_set *s = arg;
	struct remote_call *c;

	if (ar_str_absent(f->worker) && s->local.find_folder) {
		s->local.find_folder(s->local.folder_arg, f);
		return;
	}
	c = new_call(s, FOLDER);
	c->of.folder = f;
	c->give_up_at = ar_worker_set_now(s) + (ar_usec)FOLDER_MS * 1000;
	start_call(c, f->worker);
}

void ar_calls_init(struct ar_worker_set *s)
{
	struct ar_tool_source *local = s->local.files;

	s->files = (struct ar_tool_source){ .v = &tools_vtable, .name = "files", .is_ready = true };
	if (local) {
		s->files.name = local->name;
		show_tools(s);
		local->on_changed = on_tools_changed;
		local->arg = s;
	}
	s->checkpoints.v = &checkpoints_vtable;
	s->inspector.v = &inspector_vtable;
	s->front.files = &s->files;
	s->front.checkpoints = &s->checkpoints;
	s->front.inspector = &s->inspector;
	s->front.find_folder = find_folder;
	s->front.folder_arg = s;
}
