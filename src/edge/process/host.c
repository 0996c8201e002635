/* The host: the port's functions over the processes it has. See processes.h. Loop thread only. */
#include "proc.h"

#include "mem.h"

#include <string.h>

#define OUTPUT_BYTES ((uint64_t)64 << 20)
#define BARRIER_MS 30000
#define GRACE_MS 5000

static struct ar_processes *all_of(struct ar_process_host *h)
{
	return AR_CONTAINER_OF(h, struct ar_processes, port);
}

static void launch(struct ar_process_host *h, struct ar_process *owner, const struct ar_process_spec *spec)
{
	ar_proc_launch(ar_proc_new(all_of(h), owner), spec);
}

static void attach(struct ar_process_host *h, struct ar_process *owner, struct ar_str handle)
{
	struct ar_proc *p = ar_proc_new(all_of(h), owner);

	p->handle = ar_str_dup(ar_str_sub(handle, 0, AR_HANDLE_MAX + 1));
	p->begin_at = 1;
	ar_proc_arm(p);
}

static void start_command(struct ar_process_host *h AR_UNUSED, struct ar_process *owner)
{
	struct ar_proc *p = owner->host_state;

	if (p)
		ar_shim_control_go(&p->control);
}

static void write_input(struct ar_process_host *h AR_UNUSED, struct ar_process *owner, uint64_t number,
			struct ar_str bytes, bool is_eof)
{
	if (owner->host_state)
		ar_proc_write(owner->host_state, number, bytes, is_eof);
}

static void resize(struct ar_process_host *h AR_UNUSED, struct ar_process *owner, uint16_t rows,
		   uint16_t columns)
{
	struct ar_proc *p = owner->host_state;

	if (p)
		ar_shim_control_resize(&p->control, rows, columns);
}

static void send_signal(struct ar_process_host *h AR_UNUSED, struct ar_process *owner, struct ar_str name)
{
	struct ar_proc *p = owner->host_state;

	if (p && ar_journal_state_signal(name) > 0)
		ar_shim_control_signal(&p->control, name);
}

static void end_process(struct ar_process_host *h AR_UNUSED, struct ar_process *owner, struct ar_str by,
			struct ar_str reason, int64_t grace_ms)
{
	if (owner->host_state)
		ar_proc_end(owner->host_state, by, reason, grace_ms);
}

static void leave_process(struct ar_process_host *h AR_UNUSED, struct ar_process *owner)
{
	if (owner->host_state)
		ar_proc_leave(owner->host_state);
}

static void forget(struct ar_process_host *h, struct ar_str text)
{
	struct ar_handle handle;

	if (ar_handle_parse(text, &handle) && ar_str_is(handle.machine, all_of(h)->machine.id))
		ar_folder_remove(handle.folder);
}

struct ar_process_prewarmed ar_processes_prewarmed(const struct ar_process_host *h)
{
	const struct ar_prewarm_pool *s = &AR_CONTAINER_OF(h, const struct ar_processes, port)->prewarmed;

	return (struct ar_process_prewarmed){ s->count, s->used, s->unused };
}

/* ---- made and given back ---- */

void ar_processes_closed(struct ar_processes *all)
{
	if (--all->open > 0)
		return;
	if (all->swept)
		closedir(all->swept);
	ar_json_parser_free(all->parser);
	ar_free(all->bytes);
	ar_free(all->folder);
	ar_free(all->shim);
	ar_free(all->init);
	ar_free(all);
}

static void on_awake_closed(uv_handle_t *handle)
{
	ar_processes_closed(handle->data);
}

static void close_host(struct ar_process_host *h)
{
	struct ar_processes *all = all_of(h);

	if (all->is_closing)
		return;
	all->is_closing = true;
	ar_prewarm_close(all); /* first: leaving a process makes none any more */
	AR_LIST_FOR_SAFE (it, &all->all)
		ar_proc_leave(AR_CONTAINER_OF(it, struct ar_proc, node));
	ar_shim_children_close(all);
	ar_audit_close(all->audit);
	uv_close((uv_handle_t *)&all->awake, on_awake_closed);
}

static const struct ar_process_host_vtable vtable = {
	.launch = launch,
	.attach = attach,
	.go = start_command,
	.write = write_input,
	.resize = resize,
	.signal = send_signal,
	.end = end_process,
	.leave = leave_process,
	.forget = forget,
	.close = close_host,
};

struct ar_process_host *ar_processes_open(uv_loop_t *loop, const struct ar_processes_options *o,
					  struct ar_error *err)
{
	struct ar_processes *all;
	char *folder;

	if (ar_folder_prepare(o->folder, &folder, err) != AR_OK)
		return NULL;
	all = ar_new0(sizeof(*all));
	*all = (struct ar_processes){
		.port = { .v = &vtable, .sandbox = ar_sandbox_host_of(o->sandbox) },
		.loop = loop,
		.folder = folder,
		.shim = ar_str_dup(ar_str_from(o->shim)),
		.init = ar_str_dup(ar_str_from(o->init)),
		.output_bytes = o->output_bytes ? o->output_bytes : OUTPUT_BYTES,
		.barrier_ms = o->barrier_ms > 0 ? o->barrier_ms : BARRIER_MS,
		.grace_ms = o->grace_ms > 0 ? o->grace_ms : GRACE_MS,
		.sandbox = o->sandbox,
		.on_listener = o->on_listener,
		.on_listener_gone = o->on_listener_gone,
		.context = o->context,
		.audit = o->audit,
		.parser = ar_json_parser_new(),
		.bytes = ar_new0(AR_PROC_READ_BYTES),
		.open = 1,
	};
	ar_machine_read(&all->machine);
	ar_list_init(&all->all);
	ar_list_init(&all->children);
	ar_list_init(&all->reading);
	ar_prewarm_open(all, o->prewarmed, o->prewarmed_ms * 1000);
	uv_idle_init(loop, &all->awake);
	all->awake.data = all;
	return &all->port;
}
