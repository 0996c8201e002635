/* Processes on workers. They run there under a supervisor that outlives the worker's program; what is here is
 * the place in their output up to which the owner has everything, so that the next link goes on from there.
 *
 *   launch -> (launch) -> ready -> go -> output..., report... -> end
 *   cut -> (new link) -> launch again, when it was not ready: the first one runs nothing without a go;
 *                        attach with the offsets of the streams, when it was
 *
 * A handle is `<worker>/<handle there>`. Loop thread only. */
#include "set_priv.h"

#include <stdio.h>
#include <string.h>

#define HANDLE_MAX 4096
#define WRITES_MAX 64 /* that wait for an answer */
#define REPORTS_MAX 10000 /* of one process: each may become a fact */
#define STREAMS (AR_PROC_TTY + 1)

struct remote_process {
	struct ar_list node; /* of the worker's processes, or of those that are doomed */
	struct ar_worker_set *set;
	struct ar_remote *remote; /* NULL: with doom */
	struct ar_process *owner;
	char ref[AR_WORKER_REF_TEXT];
	struct ar_wire_writer launch; /* until it is ready */
	char *handle; /* that of the worker; NULL: not ready */
	bool is_attached; /* the owner found it again, instead of launching it */
	bool has_reported; /* on_attached was called */
	bool has_gone; /* go() was called */
	bool is_ending;
	char *end_by, *end_reason; /* with is_ending */
	int64_t end_grace;
	char *signal; /* sent when the worker is back */
	uint16_t rows, columns; /* likewise; 0: as it was */
	uint64_t at[STREAMS]; /* bytes that the owner has */
	uint64_t seq; /* of the last report that it has */
	size_t reports;
	uint64_t writes[WRITES_MAX];
	size_t write_count;
	size_t busy_count; /* of the first of them: the owner is informed in the loop's next turn */
	enum ar_process_outcome doom;
	const char *doom_step, *doom_message;
};

static struct ar_worker_set *set_of(struct ar_process_host *h)
{
	return AR_CONTAINER_OF(h, struct ar_worker_set, processes);
}

/* The key of by_owner: the address, as bytes. */
static struct ar_str key_of(struct ar_process *const *owner)
{
	return (struct ar_str){ (const char *)owner, sizeof(*owner) };
}

static struct remote_process *find_remote(const struct ar_worker_set *s, struct ar_process *owner)
{
	return s->by_owner.count > 0 ? ar_map_get(&s->by_owner, key_of(&owner)) : NULL;
}

/* ---- life ---- */

static struct remote_process *new_process(struct ar_worker_set *s, struct ar_process *owner)
{
	struct remote_process *p = ar_new0(sizeof(*p));
	uint8_t random[16];

	p->set = s;
	p->owner = owner;
	ar_list_init(&p->node);
	ar_hash_draw(random, sizeof(random));
	memcpy(p->ref, "p:", 2);
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(p->ref + 2 + 2 * i, 3, "%02x", random[i]);
	ar_map_put(&s->by_owner, key_of(&p->owner), p);
	return p;
}

static void forget_process(struct remote_process *p)
{
	ar_list_del(&p->node);
	if (p->remote)
		ar_map_del(&p->remote->processes_by_ref, ar_str_from(p->ref));
	p->remote = NULL;
}

static void process_free(struct remote_process *p)
{
	forget_process(p);
	ar_map_del(&p->set->by_owner, key_of(&p->owner));
	ar_wire_writer_fini(&p->launch);
	ar_free(p->handle);
	ar_free(p->end_by);
	ar_free(p->end_reason);
	ar_free(p->signal);
	ar_free(p);
}

static void add_to(struct remote_process *p, struct ar_remote *r)
{
	if (!ar_remote_is_up(r) && r->calls_by_ref.count + r->processes_by_ref.count == 0)
		r->heard_at = ar_worker_set_now(p->set); /* its lease counts from here */
	p->remote = r;
	ar_list_push(&r->processes, &p->node);
	ar_map_put(&r->processes_by_ref, ar_str_from(p->ref), p);
	ar_worker_set_later(p->set);
}

static void doom(struct remote_process *p, enum ar_process_outcome outcome, const char *message)
{
	forget_process(p);
	p->doom = outcome;
	p->doom_step = outcome == AR_PROC_NOT_STARTED ? "worker" : NULL;
	p->doom_message = message;
	ar_list_push(&p->set->doomed_processes, &p->node);
	ar_worker_set_later(p->set);
}

/* The process is its owner's from here on. */
static void end_process(struct remote_process *p, const struct ar_process_end *e)
{
	struct ar_process *owner = p->owner;

	process_free(p);
	owner->v->on_end(owner, e);
}

/* ---- to the worker ---- */

static void send_word(struct remote_process *p, const char *op)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, op, ar_str_from(p->ref));
	ar_remote_send(p->remote, &w);
}

static void send_end(struct remote_process *p)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, "stop", ar_str_from(p->ref));
	ar_wire_add(&w, "by", ar_str_from(p->end_by));
	ar_wire_add(&w, "reason", ar_str_from(p->end_reason));
	ar_jw_mint(&w.w, "graceMs", p->end_grace);
	ar_remote_send(p->remote, &w);
}

static void send_signal(struct remote_process *p)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, "signal", ar_str_from(p->ref));
	ar_wire_add(&w, "name", ar_str_from(p->signal));
	ar_remote_send(p->remote, &w);
	ar_free(p->signal);
	p->signal = NULL;
}

static void send_size(struct remote_process *p)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, "resize", ar_str_from(p->ref));
	ar_jw_mint(&w.w, "rows", p->rows);
	ar_jw_mint(&w.w, "columns", p->columns);
	ar_remote_send(p->remote, &w);
	p->rows = p->columns = 0;
}

static void send_attach(struct remote_process *p)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, "attach", ar_str_from(p->ref));
	ar_wire_add(&w, "handle", ar_str_from(p->handle));
	ar_jw_key(&w.w, "from");
	ar_jw_open_array(&w.w);
	for (int i = AR_PROC_STDOUT; i < STREAMS; i++)
		ar_jw_int(&w.w, (int64_t)p->at[i]);
	ar_jw_close_array(&w.w);
	ar_jw_mint(&w.w, "seq", (int64_t)p->seq);
	ar_remote_send(p->remote, &w);
}

/* What was asked for since it was there last. */
static void send_wishes(struct remote_process *p)
{
	if (p->rows)
		send_size(p);
	if (p->has_gone && !p->is_ending)
		send_word(p, "go");
	if (p->signal)
		send_signal(p);
	if (p->is_ending)
		send_end(p);
}

static void resume(struct remote_process *p)
{
	if (!p->handle && p->is_ending) {
		doom(p, AR_PROC_NOT_STARTED, "it was ended before it was started; nothing of it ran");
		return;
	}
	if (p->handle)
		send_attach(p);
	else
		ar_remote_send_copy(p->remote, &p->launch);
	send_wishes(p);
}

void ar_processes_resume(struct ar_remote *r)
{
	AR_LIST_FOR_SAFE (it, &r->processes)
		resume(AR_CONTAINER_OF(it, struct remote_process, node));
}

/* Whether it was written is not known; the same number is written once, so the owner tries again. */
void ar_processes_cut(struct ar_remote *r)
{
	AR_LIST_FOR (it, &r->processes) {
		struct remote_process *p = AR_CONTAINER_OF(it, struct remote_process, node);

		p->busy_count = p->write_count;
	}
}

void ar_processes_lose(struct ar_remote *r, bool is_final)
{
	AR_LIST_FOR_SAFE (it, &r->processes) {
		struct remote_process *p = AR_CONTAINER_OF(it, struct remote_process, node);

		if (!p->handle)
			doom(p, AR_PROC_NOT_STARTED,
			     "the worker was lost before it was started; nothing of it ran");
		else if (is_final)
			doom(p, AR_PROC_UNAVAILABLE, "its worker is not there any more");
	}
}

/* ---- what ends, or is answered, in the loop's next turn ---- */

static void end_doomed(struct remote_process *p)
{
	end_process(p, &(struct ar_process_end){ .outcome = p->doom,
						 .step = ar_str_from(p->doom_step),
						 .message = ar_str_from(p->doom_message) });
}

static struct remote_process *next_busy(const struct ar_worker_set *s)
{
	size_t cursor = 0;
	struct remote_process *p;

	while ((p = ar_map_next(&s->by_owner, &cursor))) {
		if (p->busy_count > 0)
			return p;
	}
	return NULL;
}

static void answer_first(struct remote_process *p, enum ar_process_write how)
{
	uint64_t number = p->writes[0];

	p->write_count--;
	p->busy_count -= p->busy_count > 0;
	memmove(p->writes, p->writes + 1, p->write_count * sizeof(p->writes[0]));
	p->owner->v->on_written(p->owner, number, how);
}

void ar_processes_end_doomed(struct ar_worker_set *s)
{
	struct remote_process *p;
	struct ar_list *node;

	while (!s->is_closing && (p = next_busy(s)))
		answer_first(p, AR_PROC_BUSY);
	while ((node = ar_list_pop(&s->doomed_processes)))
		end_doomed(AR_CONTAINER_OF(node, struct remote_process, node));
}

/* ---- from the worker ---- */

static void on_ready(struct remote_process *p, struct ar_wire_message *m)
{
	AR_AUTO(ar_buf_fini) struct ar_buf handle = { 0 };
	struct ar_process_ready ready;

	ar_codec_read_ready(m, m->head, &ready);
	m->is_broken |= p->handle || !ar_str_is_text(ready.handle) || ready.handle.len == 0 ||
			ready.handle.len > HANDLE_MAX;
	if (m->is_broken)
		return;
	p->handle = ar_str_dup(ready.handle);
	ar_wire_writer_fini(&p->launch);
	ar_buf_addf(&handle, "%s/%s", p->remote->id, p->handle);
	ready.handle = ar_buf_str(&handle);
	p->owner->v->on_ready(p->owner, &ready);
}

static void on_attached(struct remote_process *p, struct ar_wire_message *m)
{
	int64_t inputs = ar_wire_int(m, m->head, "inputs", 0, INT64_MAX);

	m->is_broken |= !p->handle;
	if (m->is_broken || !p->is_attached || p->has_reported)
		return;
	p->has_reported = true;
	p->owner->v->on_attached(p->owner, (uint64_t)inputs);
}

static void on_output(struct remote_process *p, struct ar_wire_message *m)
{
	enum ar_process_stream stream = ar_codec_read_stream(m);
	int64_t from = ar_wire_int(m, m->head, "from", 0, INT64_MAX / 2);

	m->is_broken |= !p->handle || (!p->has_gone && !p->is_attached) || m->bytes.len == 0 ||
			(uint64_t)from != p->at[stream];
	if (m->is_broken)
		return;
	p->at[stream] += m->bytes.len;
	p->owner->v->on_output(p->owner, stream, m->bytes);
}

/* False: the gap does not begin where the owner is. */
static bool skip_gap(struct remote_process *p, const struct ar_process_report *r)
{
	struct ar_codec_gap gap;

	if (!ar_codec_read_gap(p->set->checker, r->detail, &gap) || gap.from != p->at[gap.stream] ||
	    gap.to > INT64_MAX / 2)
		return false;
	p->at[gap.stream] = gap.to;
	return true;
}

static void on_report(struct remote_process *p, struct ar_wire_message *m)
{
	struct ar_process_report r;

	ar_codec_read_report(m, &r);
	m->is_broken |= !p->handle || (r.seq > 0 && r.seq <= p->seq) ||
			(r.kind == AR_PROC_TRUNCATED && (r.seq == 0 || !skip_gap(p, &r)));
	if (m->is_broken)
		return;
	if (r.seq > 0)
		p->seq = r.seq;
	if (r.kind != AR_PROC_TRUNCATED && p->reports++ >= REPORTS_MAX)
		return;
	p->owner->v->on_report(p->owner, &r);
}

static void on_written(struct remote_process *p, struct ar_wire_message *m)
{
	int64_t number = ar_wire_int(m, m->head, "number", 1, INT64_MAX);
	int64_t how = ar_wire_int(m, m->head, "how", AR_PROC_TOOK, AR_PROC_TOO_LARGE);

	m->is_broken |=
		how == 0 || p->write_count == p->busy_count || p->writes[p->busy_count] != (uint64_t)number;
	if (m->is_broken)
		return;
	p->write_count--;
	memmove(&p->writes[p->busy_count], &p->writes[p->busy_count + 1],
		(p->write_count - p->busy_count) * sizeof(p->writes[0]));
	p->owner->v->on_written(p->owner, (uint64_t)number, (enum ar_process_write)how);
}

static void on_end(struct remote_process *p, struct ar_wire_message *m)
{
	struct ar_process_end e;

	ar_codec_read_end(m, &e);
	if (!m->is_broken)
		end_process(p, &e);
}

static const struct {
	const char *op;
	void (*handle)(struct remote_process *p, struct ar_wire_message *m);
} ops[] = {
	{ "output", on_output },     { "report", on_report },	{ "ready", on_ready },
	{ "attached", on_attached }, { "written", on_written }, { "end", on_end },
};

bool ar_processes_message(struct ar_remote *r, struct ar_wire_message *m)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(ops); i++) {
		struct remote_process *p;

		if (!ar_str_is(m->op, ops[i].op))
			continue;
		p = ar_str_absent(m->ref) ? NULL : ar_map_get(&r->processes_by_ref, m->ref);
		if (p)
			ops[i].handle(p, m);
		else
			ar_remote_stray(r);
		if (m->is_broken)
			ar_remote_break(r, "a message about a process is not what it must be");
		return true;
	}
	return false;
}

/* ---- the front end ---- */

static void launch(struct ar_process_host *h, struct ar_process *owner, const struct ar_process_spec *spec)
{
	struct ar_worker_set *s = set_of(h);
	struct ar_remote *r = ar_str_absent(spec->worker) ? NULL : ar_remote_make(s, spec->worker);
	struct remote_process *p;

	if (!r && s->local.processes) {
		s->local.processes->v->launch(s->local.processes, owner, spec);
		return;
	}
	p = new_process(s, owner);
	if (!r) {
		doom(p, AR_PROC_NOT_STARTED, "this runtime runs no processes");
	} else if (!ar_remote_is_up(r) || r->is_dropped) {
		doom(p, AR_PROC_NOT_STARTED,
		     "the worker that has the workspace is not connected; nothing of it ran");
	} else if (r->is_draining) {
		doom(p, AR_PROC_NOT_STARTED,
		     "the worker that has the workspace takes no new calls; nothing of it ran");
	} else {
		ar_wire_begin(&p->launch, "launch", ar_str_from(p->ref));
		ar_codec_write_spec(&p->launch, spec);
		add_to(p, r);
		ar_remote_send_copy(r, &p->launch);
	}
}

static bool is_remote_handle(struct ar_str handle, struct ar_str *ret_worker, struct ar_str *ret_handle)
{
	if (!ar_str_starts(handle, AR_STR("wk_")))
		return false;
	*ret_handle = ar_str_split(handle, '/', ret_worker);
	return !ar_str_empty(*ret_handle);
}

static void attach(struct ar_process_host *h, struct ar_process *owner, struct ar_str handle)
{
	struct ar_worker_set *s = set_of(h);
	struct ar_str worker, rest;
	struct remote_process *p;
	struct ar_remote *r;

	if (!is_remote_handle(handle, &worker, &rest) && s->local.processes) {
		s->local.processes->v->attach(s->local.processes, owner, handle);
		return;
	}
	p = new_process(s, owner);
	r = is_remote_handle(handle, &worker, &rest) ? ar_remote_make(s, worker) : NULL;
	if (!r || r->is_dropped) {
		doom(p, AR_PROC_UNAVAILABLE, "its worker is not there any more");
		return;
	}
	p->handle = ar_str_dup(rest);
	p->is_attached = true;
	add_to(p, r);
	if (ar_remote_is_up(r))
		resume(p);
}

/* NULL: it is local, or over. */
static struct remote_process *open_remote(struct ar_process_host *h, struct ar_process *owner)
{
	struct remote_process *p = find_remote(set_of(h), owner);

	return p && p->remote ? p : NULL;
}

static bool is_local(struct ar_process_host *h, struct ar_process *owner)
{
	return set_of(h)->local.processes && !find_remote(set_of(h), owner);
}

static void start_command(struct ar_process_host *h, struct ar_process *owner)
{
	struct ar_process_host *local = set_of(h)->local.processes;
	struct remote_process *p = open_remote(h, owner);

	if (is_local(h, owner)) {
		local->v->go(local, owner);
		return;
	}
	if (!p)
		return;
	p->has_gone = true;
	if (ar_remote_is_up(p->remote))
		send_word(p, "go");
}

static void write_input(struct ar_process_host *h, struct ar_process *owner, uint64_t number,
			struct ar_str bytes, bool is_eof)
{
	struct ar_process_host *local = set_of(h)->local.processes;
	struct remote_process *p = open_remote(h, owner);
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	if (is_local(h, owner)) {
		local->v->write(local, owner, number, bytes, is_eof);
		return;
	}
	if (!p)
		return;
	if (p->write_count == WRITES_MAX) {
		owner->v->on_written(owner, number, AR_PROC_BUSY);
		return;
	}
	p->writes[p->write_count++] = number;
	if (!ar_remote_is_up(p->remote)) {
		p->busy_count = p->write_count;
		ar_worker_set_later(p->set);
		return;
	}
	ar_wire_begin(&w, "write", ar_str_from(p->ref));
	ar_jw_mint(&w.w, "number", (int64_t)number);
	ar_jw_mbool(&w.w, "isEof", is_eof);
	ar_wire_add(&w, "input", ar_str_sub(bytes, 0, AR_PROC_INPUT_MAX + 1));
	ar_remote_send(p->remote, &w);
}

static void resize(struct ar_process_host *h, struct ar_process *owner, uint16_t rows, uint16_t columns)
{
	struct ar_process_host *local = set_of(h)->local.processes;
	struct remote_process *p = open_remote(h, owner);

	if (is_local(h, owner)) {
		local->v->resize(local, owner, rows, columns);
		return;
	}
	if (!p)
		return;
	p->rows = rows;
	p->columns = columns;
	if (ar_remote_is_up(p->remote))
		send_size(p);
}

static void signal_process(struct ar_process_host *h, struct ar_process *owner, struct ar_str name)
{
	struct ar_process_host *local = set_of(h)->local.processes;
	struct remote_process *p = open_remote(h, owner);

	if (is_local(h, owner)) {
		local->v->signal(local, owner, name);
		return;
	}
	if (!p)
		return;
	ar_free(p->signal);
	p->signal = ar_str_dup(name);
	if (ar_remote_is_up(p->remote))
		send_signal(p);
}

static void stop_process(struct ar_process_host *h, struct ar_process *owner, struct ar_str by,
			 struct ar_str reason, int64_t grace_ms)
{
	struct ar_process_host *local = set_of(h)->local.processes;
	struct remote_process *p = open_remote(h, owner);

	if (is_local(h, owner)) {
		local->v->end(local, owner, by, reason, grace_ms);
		return;
	}
	if (!p)
		return;
	ar_free(p->end_by);
	ar_free(p->end_reason);
	p->end_by = ar_str_dup(by);
	p->end_reason = ar_str_dup(reason);
	p->end_grace = grace_ms;
	p->is_ending = true;
	if (ar_remote_is_up(p->remote))
		send_end(p);
	else if (!p->handle)
		doom(p, AR_PROC_NOT_STARTED, "it was ended before it was started; nothing of it ran");
}

static void leave_process(struct ar_process_host *h, struct ar_process *owner)
{
	struct ar_process_host *local = set_of(h)->local.processes;
	struct remote_process *p = find_remote(set_of(h), owner);

	if (!p && local) {
		local->v->leave(local, owner);
		return;
	}
	if (!p)
		return;
	if (p->remote && ar_remote_is_up(p->remote))
		send_word(p, "leave");
	if (p->remote)
		ar_remote_expect_strays(p->remote);
	process_free(p);
}

static void forget_handle(struct ar_process_host *h, struct ar_str handle)
{
	struct ar_worker_set *s = set_of(h);
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };
	struct ar_str worker, rest;
	struct ar_remote *r;

	if (!is_remote_handle(handle, &worker, &rest)) {
		if (s->local.processes)
			s->local.processes->v->forget(s->local.processes, handle);
		return;
	}
	/* One that is away keeps it, and removes it after a day like all that nobody asks for. */
	r = ar_remote_find(s, worker);
	if (!r || !ar_remote_is_up(r))
		return;
	ar_wire_begin(&w, "forget", AR_STR_NONE);
	ar_wire_add(&w, "handle", rest);
	ar_remote_send(r, &w);
}

static void close_front(struct ar_process_host *h AR_UNUSED)
{
}

static const struct ar_process_host_vtable vtable = {
	.launch = launch,
	.attach = attach,
	.go = start_command,
	.write = write_input,
	.resize = resize,
	.signal = signal_process,
	.end = stop_process,
	.leave = leave_process,
	.forget = forget_handle,
	.close = close_front,
};

void ar_processes_init(struct ar_worker_set *s)
{
	s->processes = (struct ar_process_host){ .v = &vtable,
						 .sandbox = s->local.processes ? s->local.processes->sandbox
									       : NULL };
	s->front.processes = &s->processes;
}
