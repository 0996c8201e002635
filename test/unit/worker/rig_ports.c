/* Ports that do what the test says; see rig.h. Nothing is called back before fake_step(). */
#include "rig.h"

#include "mem.h"

#include <stdio.h>
#include <string.h>

/* ---- tools and checkpoints ---- */

static void count_begin(struct fake_ports *f, struct ar_str id)
{
	size_t *count = ar_map_get(&f->begins, id);

	if (!count) {
		count = ar_arena_alloc(&f->arena, sizeof(*count));
		ar_map_put(&f->begins, ar_arena_str(&f->arena, id), count);
	}
	(*count)++;
	f->begun++;
}

size_t fake_begins(struct fake_ports *f, const char *id)
{
	const size_t *count = ar_map_get(&f->begins, ar_str_from(id));

	return count ? *count : 0;
}

static void start_tool(struct ar_tool_source *s, struct ar_tool_call *call)
{
	struct fake_ports *f = AR_CONTAINER_OF(s, struct fake_ports, files);
	struct fake_call *c = ar_new0(sizeof(*c));

	c->tool = call;
	call->source_state = c;
	ar_list_push(&f->calls, &c->node);
	count_begin(f, call->tool_call_id);
}

static void cancel_tool(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *call)
{
	((struct fake_call *)call->source_state)->is_cancelled = true;
}

static void answer_tool(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *c AR_UNUSED,
			const struct ar_tool_answer *a AR_UNUSED)
{
}

static const struct ar_tool_source_vtable tools_vtable = { .start = start_tool,
							   .cancel = cancel_tool,
							   .answer = answer_tool };

static void start_run(struct ar_checkpoints *port, struct ar_checkpoint_run *run)
{
	struct fake_ports *f = AR_CONTAINER_OF(port, struct fake_ports, checkpoints);
	struct fake_call *c = ar_new0(sizeof(*c));

	c->run = run;
	run->adapter_state = c;
	ar_list_push(&f->calls, &c->node);
	count_begin(f, run->workspace_id);
}

static void cancel_run(struct ar_checkpoints *port AR_UNUSED, struct ar_checkpoint_run *run)
{
	((struct fake_call *)run->adapter_state)->is_cancelled = true;
}

static const struct ar_checkpoints_vtable checkpoints_vtable = { .start = start_run, .cancel = cancel_run };

static void start_inspect(struct ar_inspector *port, struct ar_inspect_run *run)
{
	AR_CONTAINER_OF(port, struct fake_ports, inspector)->inspecting = run;
}

static const struct ar_inspector_vtable inspector_vtable = { .start = start_inspect };

static void find_folder(void *arg AR_UNUSED, struct ar_worker_folder *f)
{
	f->status = AR_OK;
	f->folder = ar_arena_fmt(f->arena, "/files/%.*s/%.*s", AR_STR_ARG(f->home), AR_STR_ARG(f->key));
	f->done(f);
}

static const struct ar_tool_artifact artifact = { .path = { "a", 1 }, .change = AR_TOOL_DELETED, .size = 7 };

static void end_call(struct fake_call *c, const struct ar_tool_result *r)
{
	struct ar_tool_call *tool = c->tool;
	struct ar_checkpoint_run *run = c->run;

	ar_list_del(&c->node);
	ar_free(c);
	if (tool)
		tool->v->on_done(tool, r);
	else
		run->on_done(run, &(struct ar_checkpoint_result){
					  .status = r->outcome == AR_TOOL_OK ? AR_OK : AR_E_CANCELED,
					  .message = r->message,
					  .id = AR_STR("abc"),
					  .files = 3,
					  .changes = AR_STR("[{\"path\":\"a\"}]"),
					  .base = run->label,
					  .conflicts = AR_STR("[\"a\"]"),
					  .is_shared = run->side == AR_MERGE_SIDE_SESSION,
					  .changed = run->keep_days,
					  .artifacts = &artifact,
					  .artifact_count = ar_str_is(run->origin, "/files/o") });
}

void fake_finish(struct fake_ports *f, const char *id, const struct ar_tool_result *r)
{
	AR_LIST_FOR (it, &f->calls) {
		struct fake_call *c = AR_CONTAINER_OF(it, struct fake_call, node);

		if (ar_str_is(c->tool ? c->tool->tool_call_id : c->run->workspace_id, id)) {
			end_call(c, r);
			return;
		}
	}
	fail_msg("%s does not run", id);
}

void fake_finish_first(struct fake_ports *f)
{
	if (!ar_list_empty(&f->calls))
		end_call(AR_CONTAINER_OF(f->calls.next, struct fake_call, node),
			 &(struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = AR_STR("ok") });
}

static bool step_calls(struct fake_ports *f)
{
	AR_LIST_FOR (it, &f->calls) {
		struct fake_call *c = AR_CONTAINER_OF(it, struct fake_call, node);

		if (c->is_cancelled) {
			end_call(c, &(struct ar_tool_result){ .outcome = AR_TOOL_CANCELLED,
							      .message = AR_STR("cancelled") });
			return true;
		}
	}
	return false;
}

/* ---- processes: their journal outlives whoever has them ---- */

static struct fake_ports *of_host(struct ar_process_host *h)
{
	return AR_CONTAINER_OF(h, struct fake_ports, host);
}

static struct fake_proc *proc_of(struct ar_process_host *h, const struct ar_process *owner)
{
	AR_LIST_FOR (it, &of_host(h)->procs) {
		struct fake_proc *p = AR_CONTAINER_OF(it, struct fake_proc, node);

		if (p->owner == owner)
			return p;
	}
	return NULL;
}

static void launch(struct ar_process_host *h, struct ar_process *owner, const struct ar_process_spec *spec)
{
	struct fake_ports *f = of_host(h);
	struct fake_proc *p = ar_new0(sizeof(*p));

	assert_true(spec->argc > 0);
	snprintf(p->handle, sizeof(p->handle), "shim/%zu", ++f->launched);
	p->owner = owner;
	p->owes_ready = true;
	ar_list_push(&f->procs, &p->node);
}

static void attach(struct ar_process_host *h, struct ar_process *owner, struct ar_str handle)
{
	AR_LIST_FOR (it, &of_host(h)->procs) {
		struct fake_proc *p = AR_CONTAINER_OF(it, struct fake_proc, node);

		if (!ar_str_is(handle, p->handle))
			continue;
		assert_null(p->owner); /* nobody else has it */
		p->owner = owner;
		p->told = 0;
		p->seq = 0;
		memset(p->told_of, 0, sizeof(p->told_of));
		p->owes_attached = true;
		p->owes_end = p->has_ended;
		return;
	}
	fail_msg("nobody knows the handle %.*s", AR_STR_ARG(handle));
}

static void go(struct ar_process_host *h, struct ar_process *owner)
{
	struct fake_proc *p = proc_of(h, owner);

	assert_non_null(p);
	p->goes += !p->is_released;
	p->is_released = true;
}

static void write_to(struct ar_process_host *h, struct ar_process *owner, uint64_t number,
		     struct ar_str bytes, bool is_eof AR_UNUSED)
{
	struct fake_proc *p = proc_of(h, owner);

	assert_non_null(p);
	if (number > p->inputs) {
		strncat(p->input, bytes.p, bytes.len);
		p->inputs = number;
	}
	owner->v->on_written(owner, number, AR_PROC_TOOK);
}

static void resize(struct ar_process_host *h AR_UNUSED, struct ar_process *o AR_UNUSED, uint16_t r AR_UNUSED,
		   uint16_t c AR_UNUSED)
{
}

static void send_signal(struct ar_process_host *h AR_UNUSED, struct ar_process *o AR_UNUSED,
			struct ar_str n AR_UNUSED)
{
}

static void end(struct ar_process_host *h, struct ar_process *owner, struct ar_str by AR_UNUSED,
		struct ar_str reason AR_UNUSED, int64_t grace AR_UNUSED)
{
	struct fake_proc *p = proc_of(h, owner);

	assert_non_null(p);
	p->is_asked_to_end = true;
	fake_end(p);
}

static void leave(struct ar_process_host *h, struct ar_process *owner)
{
	struct fake_proc *p = proc_of(h, owner);

	assert_non_null(p);
	p->owner = NULL;
	p->owes_ready = p->owes_attached = p->owes_end = false;
}

static void forget(struct ar_process_host *h, struct ar_str handle AR_UNUSED)
{
	of_host(h)->forgotten++;
}

static void close_host(struct ar_process_host *h AR_UNUSED)
{
}

static const struct ar_process_host_vtable host_vtable = { .launch = launch,
							   .attach = attach,
							   .go = go,
							   .write = write_to,
							   .resize = resize,
							   .signal = send_signal,
							   .end = end,
							   .leave = leave,
							   .forget = forget,
							   .close = close_host };

struct fake_proc *fake_proc_at(struct fake_ports *f, size_t i)
{
	AR_LIST_FOR (it, &f->procs) {
		if (i-- == 0)
			return AR_CONTAINER_OF(it, struct fake_proc, node);
	}
	return NULL;
}

void fake_write(struct fake_proc *p, enum ar_process_stream stream, struct ar_str bytes)
{
	ar_buf_adds(&p->journal[stream], bytes);
	for (size_t i = 0; i < bytes.len; i++)
		ar_buf_addc(&p->order, (char)stream);
}

void fake_gap(struct fake_proc *p)
{
	ar_buf_addz(&p->journal[AR_PROC_STDOUT], "??????????");
	ar_buf_addc(&p->order, 'G');
}

void fake_report(struct fake_proc *p)
{
	ar_buf_addc(&p->order, 'R');
	p->reports++;
}

void fake_end(struct fake_proc *p)
{
	p->has_ended = true;
	p->owes_end = p->owner != NULL;
}

static void tell_report(struct fake_proc *p, enum ar_process_report_kind kind, struct ar_str detail)
{
	p->told++;
	p->owner->v->on_report(p->owner, &(struct ar_process_report){
						 .kind = kind, .seq = ++p->seq, .detail = detail });
}

static void tell_gap(struct fake_proc *p)
{
	char detail[96];
	size_t from = p->told_of[AR_PROC_STDOUT];

	snprintf(detail, sizeof(detail), "{\"stream\":\"stdout\",\"from\":%zu,\"to\":%zu}", from, from + 10);
	p->told_of[AR_PROC_STDOUT] += 10;
	tell_report(p, AR_PROC_TRUNCATED, ar_str_from(detail));
}

/* A piece of one stream, of any length up to where another one begins. */
static void tell_output(struct fake_proc *p)
{
	char stream = p->order.p[p->told];
	size_t len = 0, from = p->told_of[(int)stream];

	while (p->told + len < p->order.len && p->order.p[p->told + len] == stream && len < 60000)
		len++;
	p->told += len;
	p->told_of[(int)stream] += len;
	p->owner->v->on_output(p->owner, (enum ar_process_stream)stream,
			       ar_str_sub(ar_buf_str(&p->journal[(int)stream]), from, len));
}

static void tell_end(struct fake_proc *p)
{
	struct ar_process *owner = p->owner;

	p->owner = NULL;
	p->owes_end = false;
	owner->v->on_end(owner, &(struct ar_process_end){ .outcome = p->is_released ? AR_PROC_EXITED
										    : AR_PROC_NOT_STARTED,
							  .exit_is_known = p->is_released,
							  .stdout_bytes = p->journal[AR_PROC_STDOUT].len });
}

static bool step_proc(struct fake_proc *p)
{
	if (!p->owner)
		return false;
	if (p->owes_ready) {
		p->owes_ready = false;
		p->owner->v->on_ready(p->owner,
				      &(struct ar_process_ready){ .handle = ar_str_from(p->handle),
								  .cwd = AR_STR("/files/w"),
								  .boundary = AR_STR("{\"a\":1}") });
	} else if (p->owes_attached) {
		p->owes_attached = false;
		p->owner->v->on_attached(p->owner, p->inputs);
	} else if (p->told < p->order.len && p->order.p[p->told] == 'R') {
		tell_report(p, AR_PROC_LIMIT, AR_STR("{\"kind\":\"memory\",\"count\":1}"));
	} else if (p->told < p->order.len && p->order.p[p->told] == 'G') {
		tell_gap(p);
	} else if (p->told < p->order.len) {
		tell_output(p);
	} else if (p->owes_end) {
		tell_end(p);
	} else {
		return false;
	}
	return true;
}

bool fake_step(struct fake_ports *f)
{
	struct ar_inspect_run *run = f->inspecting;

	AR_LIST_FOR (it, &f->procs) {
		if (step_proc(AR_CONTAINER_OF(it, struct fake_proc, node)))
			return true;
	}
	if (run) {
		f->inspecting = NULL;
		run->on_done(run, &(struct ar_inspected){ .file = AR_STR("AGENTS.md"),
							  .digest = AR_STR("sha256:0"),
							  .instructions = AR_STR("be kind"),
							  .definitions = f->definitions,
							  .definition_count = f->definition_count });
		return true;
	}
	return step_calls(f);
}

/* ---- life ---- */

void fake_ports_init(struct fake_ports *f)
{
	ar_list_init(&f->calls);
	ar_list_init(&f->procs);
	f->tools[0] = (struct ar_tool){ .name = AR_STR("look"), .is_read_only = true };
	f->tools[1] = (struct ar_tool){ .name = AR_STR("change") };
	f->files = (struct ar_tool_source){
		.v = &tools_vtable, .name = "files", .tools = f->tools, .tool_count = 2
	};
	f->checkpoints.v = &checkpoints_vtable;
	f->inspector.v = &inspector_vtable;
	f->sandbox.profiles[AR_SANDBOX_READ_ONLY].is_available = true;
	f->host = (struct ar_process_host){ .v = &host_vtable, .sandbox = &f->sandbox };
	f->ports = (struct ar_worker_ports){ .processes = &f->host,
					     .files = &f->files,
					     .checkpoints = &f->checkpoints,
					     .inspector = &f->inspector,
					     .find_folder = find_folder,
					     .folder_arg = f };
}

void fake_ports_fini(struct fake_ports *f)
{
	struct ar_list *node;

	assert_true(ar_list_empty(&f->calls));
	while ((node = ar_list_pop(&f->procs))) {
		struct fake_proc *p = AR_CONTAINER_OF(node, struct fake_proc, node);

		for (int i = 0; i < 4; i++)
			ar_buf_fini(&p->journal[i]);
		ar_buf_fini(&p->order);
		ar_free(p);
	}
	ar_map_fini(&f->begins);
	ar_arena_fini(&f->arena);
}
