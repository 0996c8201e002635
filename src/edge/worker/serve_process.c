/* Processes that a daemon asks for, under the local process host. All of this lasts as long as the link: a
 * process is found again by its handle, and its output is sent from the byte that the daemon asks for.
 *
 * The link may be slower than a process. Then the process is parked: left to its supervisor, which keeps what
 * it writes, and attached again when the link has room. Loop thread only. */
#include "serve_priv.h"

#include <stdio.h>
#include <string.h>

#define PROCESSES_MAX 4096
#define BUSY_BYTES ((size_t)2 * 1024 * 1024) /* that wait for the link: no more output is added */
#define STREAMS (AR_PROC_TTY + 1)

struct served_process {
	struct ar_process port;
	struct ar_list node;
	struct ar_worker_serve *serve;
	char ref[AR_WIRE_REF_MAX + 1];
	char *handle; /* NULL: not ready */
	bool is_held; /* the host has it */
	bool is_attached; /* on_attached has come since it was attached; always, of one that was launched */
	bool was_attached; /* the daemon has it from attach, and was informed that it is there */
	bool is_parked; /* what the host brings is ignored */
	bool has_go, is_ending;
	char *end_by, *end_reason;
	int64_t end_grace;
	char *signal; /* to be sent when it is attached */
	uint64_t at[STREAMS]; /* of what the host brings */
	uint64_t sent[STREAMS]; /* bytes that the daemon has, or that are on their way */
	uint64_t seq; /* of the last report that was sent */
};

static struct ar_process_host *host_of(const struct served_process *p)
{
	return p->serve->local.processes;
}

static struct served_process *of_port(struct ar_process *port)
{
	return AR_CONTAINER_OF(port, struct served_process, port);
}

/* ---- life ---- */

static void forget_handle(struct served_process *p)
{
	struct ar_map *all = &p->serve->shared->processes;

	if (p->handle && ar_map_get(all, ar_str_from(p->handle)) == p)
		ar_map_del(all, ar_str_from(p->handle));
}

static void process_free(struct served_process *p)
{
	forget_handle(p);
	ar_list_del(&p->node);
	ar_map_del(&p->serve->processes_by_ref, ar_str_from(p->ref));
	ar_free(p->handle);
	ar_free(p->end_by);
	ar_free(p->end_reason);
	ar_free(p->signal);
	ar_free(p);
}

static void leave_process(struct served_process *p)
{
	if (p->is_held)
		host_of(p)->v->leave(host_of(p), &p->port);
	p->is_held = false;
}

/* From here on it is this one's. Another node that had it does not own the session any more: it is not told,
 * and what it still says of the process finds nothing. */
static void set_handle(struct served_process *p, struct ar_str handle)
{
	struct ar_map *all = &p->serve->shared->processes;
	struct served_process *before = ar_map_get(all, handle);

	if (before) {
		leave_process(before);
		process_free(before);
	}
	p->handle = ar_str_dup(handle);
	ar_map_put(all, ar_str_from(p->handle), p);
}

void ar_serve_processes_leave(struct ar_worker_serve *s)
{
	AR_LIST_FOR_SAFE (it, &s->processes) {
		struct served_process *p = AR_CONTAINER_OF(it, struct served_process, node);

		leave_process(p);
		process_free(p);
	}
}

/* ---- to the daemon ---- */

static void send_end(struct ar_worker_serve *s, struct ar_str ref, const struct ar_process_end *e)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, "end", ref);
	ar_codec_write_end(&w, e);
	ar_serve_send(s, &w);
}

static void send_refusal(struct ar_worker_serve *s, struct ar_str ref, const char *why)
{
	send_end(s, ref,
		 &(struct ar_process_end){ .outcome = AR_PROC_NOT_STARTED,
					   .step = AR_STR("worker"),
					   .message = ar_str_from(why) });
}

static void send_written(struct served_process *p, uint64_t number, enum ar_process_write how)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, "written", ar_str_from(p->ref));
	ar_jw_mint(&w.w, "number", (int64_t)number);
	ar_jw_mint(&w.w, "how", how);
	ar_serve_send(p->serve, &w);
}

static void send_report(struct served_process *p, const struct ar_process_report *r)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, "report", ar_str_from(p->ref));
	ar_codec_write_report(&w, r);
	ar_serve_send(p->serve, &w);
}

/* ---- parking ---- */

static void park(struct served_process *p)
{
	p->is_parked = true;
	ar_serve_later(p->serve);
}

static void unpark(struct served_process *p)
{
	leave_process(p);
	p->is_parked = false;
	p->is_attached = false;
	memset(p->at, 0, sizeof(p->at));
	p->is_held = true;
	host_of(p)->v->attach(host_of(p), &p->port, ar_str_from(p->handle));
}

void ar_serve_processes_later(struct ar_worker_serve *s)
{
	AR_LIST_FOR (it, &s->processes) {
		struct served_process *p = AR_CONTAINER_OF(it, struct served_process, node);

		if (p->is_parked)
			leave_process(p);
	}
	ar_serve_processes_drained(s);
}

void ar_serve_processes_drained(struct ar_worker_serve *s)
{
	AR_LIST_FOR (it, &s->processes) {
		struct served_process *p = AR_CONTAINER_OF(it, struct served_process, node);

		if (ar_wire_out_waiting(&s->out) > BUSY_BYTES / 2)
			return;
		if (p->is_parked)
			unpark(p);
	}
}

/* ---- from the host ---- */

static void on_ready(struct ar_process *port, const struct ar_process_ready *r)
{
	struct served_process *p = of_port(port);
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	set_handle(p, r->handle);
	ar_wire_begin(&w, "ready", ar_str_from(p->ref));
	ar_codec_write_ready(&w, r);
	ar_serve_send(p->serve, &w);
}

/* What was asked for before it was found. */
static void do_wishes(struct served_process *p)
{
	struct ar_process_host *host = host_of(p);

	if (p->has_go)
		host->v->go(host, &p->port);
	if (p->signal && p->is_held)
		host->v->signal(host, &p->port, ar_str_from(p->signal));
	ar_free(p->signal);
	p->signal = NULL;
	if (p->is_ending && p->is_held)
		host->v->end(host, &p->port, ar_str_from(p->end_by), ar_str_from(p->end_reason),
			     p->end_grace);
}

static void on_attached(struct ar_process *port, uint64_t inputs)
{
	struct served_process *p = of_port(port);
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	p->is_attached = true;
	if (!p->was_attached) {
		p->was_attached = true;
		ar_wire_begin(&w, "attached", ar_str_from(p->ref));
		ar_jw_mint(&w.w, "inputs", (int64_t)inputs);
		ar_serve_send(p->serve, &w);
	}
	do_wishes(p);
}

static void on_output(struct ar_process *port, enum ar_process_stream stream, struct ar_str bytes)
{
	struct served_process *p = of_port(port);
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };
	uint64_t known;

	if (p->is_parked)
		return;
	known = p->sent[stream] > p->at[stream] ? p->sent[stream] - p->at[stream] : 0;
	if (known < bytes.len && ar_wire_out_waiting(&p->serve->out) > BUSY_BYTES) {
		park(p);
		return;
	}
	p->at[stream] += bytes.len;
	if (known >= bytes.len)
		return;
	ar_wire_begin(&w, "output", ar_str_from(p->ref));
	ar_jw_mint(&w.w, "stream", stream);
	ar_jw_mint(&w.w, "from", (int64_t)p->sent[stream]);
	ar_buf_adds(&w.bytes, ar_str_sub(bytes, known, SIZE_MAX));
	p->sent[stream] = p->at[stream];
	ar_serve_send(p->serve, &w);
}

static void move_over_gap(struct served_process *p, const struct ar_process_report *r)
{
	struct ar_codec_gap gap;

	if (r->kind != AR_PROC_TRUNCATED || !ar_codec_read_gap(p->serve->checker, r->detail, &gap))
		return;
	p->at[gap.stream] = gap.to;
	if (gap.to > p->sent[gap.stream])
		p->sent[gap.stream] = gap.to;
}

static void on_report(struct ar_process *port, const struct ar_process_report *r)
{
	struct served_process *p = of_port(port);

	if (p->is_parked && r->seq > 0)
		return; /* it comes again */
	move_over_gap(p, r);
	if (r->seq > 0 && r->seq <= p->seq)
		return;
	if (r->seq > 0)
		p->seq = r->seq;
	send_report(p, r);
}

static void on_written(struct ar_process *port, uint64_t number, enum ar_process_write how)
{
	send_written(of_port(port), number, how);
}

/* The end of one that is parked comes again, after the output that is missing. */
static void on_end(struct ar_process *port, const struct ar_process_end *e)
{
	struct served_process *p = of_port(port);

	p->is_held = false;
	if (p->is_parked)
		return;
	send_end(p->serve, ar_str_from(p->ref), e);
	process_free(p);
}

static const struct ar_process_vtable callbacks = { .on_ready = on_ready,
						    .on_attached = on_attached,
						    .on_output = on_output,
						    .on_report = on_report,
						    .on_written = on_written,
						    .on_end = on_end };

/* ---- from the daemon ---- */

static struct served_process *new_process(struct ar_worker_serve *s, struct ar_str ref)
{
	struct served_process *p = ar_new0(sizeof(*p));

	p->serve = s;
	p->port.v = &callbacks;
	snprintf(p->ref, sizeof(p->ref), "%.*s", AR_STR_ARG(ref));
	ar_list_push(&s->processes, &p->node);
	ar_map_put(&s->processes_by_ref, ar_str_from(p->ref), p);
	return p;
}

static const char *refusal_of(const struct ar_worker_serve *s, const struct ar_process_spec *spec)
{
	if (!s->local.processes)
		return "this worker runs no processes";
	if (s->is_draining)
		return "this worker takes no new calls; nothing of it ran";
	if (s->processes_by_ref.count >= PROCESSES_MAX)
		return "this worker has too many processes; nothing of it ran";
	return ar_serve_may_use(s, spec->workspace) ? NULL : "this worker does not have that folder";
}

static void on_launch(struct ar_worker_serve *s, struct ar_wire_message *m)
{
	struct ar_process_spec spec;
	struct ar_arena a = { 0 };
	struct served_process *p;
	const char *refusal;

	ar_codec_read_spec(m, &a, &spec);
	m->is_broken |= ar_map_get(&s->processes_by_ref, m->ref) != NULL;
	refusal = refusal_of(s, &spec);
	if (m->is_broken) {
		ar_arena_fini(&a);
		return;
	}
	if (refusal) {
		send_refusal(s, m->ref, refusal);
	} else {
		p = new_process(s, m->ref);
		p->is_held = p->is_attached = true;
		host_of(p)->v->launch(host_of(p), &p->port, &spec);
	}
	ar_arena_fini(&a);
}

static void read_places(struct ar_wire_message *m, struct served_process *p)
{
	struct ar_json from = ar_wire_array(m, m->head, "from", STREAMS - 1);

	for (int i = AR_PROC_STDOUT; i < STREAMS; i++) {
		int64_t at = -1;

		m->is_broken |= !ar_json_i64(ar_json_at(from, (size_t)i - 1), &at) || at < 0;
		p->sent[i] = at > 0 ? (uint64_t)at : 0;
	}
	p->seq = (uint64_t)ar_wire_int(m, m->head, "seq", 0, INT64_MAX);
}

static void on_attach(struct ar_worker_serve *s, struct ar_wire_message *m)
{
	struct ar_str handle = ar_wire_text(m, m->head, "handle");
	struct served_process *p;

	m->is_broken |= ar_map_get(&s->processes_by_ref, m->ref) || ar_str_empty(handle);
	if (m->is_broken)
		return;
	if (!s->local.processes || s->processes_by_ref.count >= PROCESSES_MAX) {
		send_end(s, m->ref,
			 &(struct ar_process_end){ .outcome = AR_PROC_UNAVAILABLE,
						   .message = AR_STR("this worker cannot reach it") });
		return;
	}
	p = new_process(s, m->ref);
	read_places(m, p);
	if (m->is_broken) {
		process_free(p);
		return;
	}
	set_handle(p, handle);
	p->is_held = true;
	host_of(p)->v->attach(host_of(p), &p->port, ar_str_from(p->handle));
}

static bool is_reached(const struct served_process *p)
{
	return p->is_held && p->is_attached && !p->is_parked;
}

static void on_go(struct served_process *p, struct ar_wire_message *m AR_UNUSED)
{
	p->has_go = true;
	if (is_reached(p))
		host_of(p)->v->go(host_of(p), &p->port);
}

static void on_write(struct served_process *p, struct ar_wire_message *m)
{
	int64_t number = ar_wire_int(m, m->head, "number", 1, INT64_MAX);
	bool is_eof = ar_wire_bool(m, m->head, "isEof");
	struct ar_str input = ar_wire_bytes(m, m->head, "input");

	m->is_broken |= number == 0 || input.len > AR_PROC_INPUT_MAX + 1;
	if (m->is_broken)
		return;
	if (is_reached(p))
		host_of(p)->v->write(host_of(p), &p->port, (uint64_t)number,
				     ar_str_absent(input) ? AR_STR("") : input, is_eof);
	else
		send_written(p, (uint64_t)number, AR_PROC_BUSY);
}

static void on_resize(struct served_process *p, struct ar_wire_message *m)
{
	int64_t rows = ar_wire_int(m, m->head, "rows", 0, UINT16_MAX);
	int64_t columns = ar_wire_int(m, m->head, "columns", 0, UINT16_MAX);

	if (!m->is_broken && p->is_held)
		host_of(p)->v->resize(host_of(p), &p->port, (uint16_t)rows, (uint16_t)columns);
}

static void on_signal(struct served_process *p, struct ar_wire_message *m)
{
	struct ar_str name = ar_wire_text(m, m->head, "name");

	if (m->is_broken || ar_str_absent(name))
		return;
	if (is_reached(p)) {
		host_of(p)->v->signal(host_of(p), &p->port, name);
		return;
	}
	ar_free(p->signal);
	p->signal = ar_str_dup(name);
}

static void on_stop(struct served_process *p, struct ar_wire_message *m)
{
	struct ar_str by = ar_wire_text(m, m->head, "by"), reason = ar_wire_text(m, m->head, "reason");
	int64_t grace = ar_wire_int(m, m->head, "graceMs", INT64_MIN / 2, INT64_MAX / 2000);

	if (m->is_broken)
		return;
	ar_free(p->end_by);
	ar_free(p->end_reason);
	p->end_by = ar_str_dup(by);
	p->end_reason = ar_str_dup(reason);
	p->end_grace = grace;
	p->is_ending = true;
	if (is_reached(p))
		host_of(p)->v->end(host_of(p), &p->port, by, reason, grace);
}

static void on_leave(struct served_process *p, struct ar_wire_message *m AR_UNUSED)
{
	leave_process(p);
	process_free(p);
}

static void on_forget(struct ar_worker_serve *s, struct ar_wire_message *m)
{
	struct ar_str handle = ar_wire_text(m, m->head, "handle");

	if (!m->is_broken && s->local.processes && !ar_str_empty(handle))
		s->local.processes->v->forget(s->local.processes, handle);
}

static const struct {
	const char *op;
	void (*begin)(struct ar_worker_serve *s, struct ar_wire_message *m);
	void (*handle)(struct served_process *p, struct ar_wire_message *m); /* of one that is there */
} ops[] = {
	{ "launch", on_launch, NULL }, { "attach", on_attach, NULL }, { "forget", on_forget, NULL },
	{ "go", NULL, on_go },	       { "write", NULL, on_write },   { "resize", NULL, on_resize },
	{ "signal", NULL, on_signal }, { "stop", NULL, on_stop },     { "leave", NULL, on_leave },
};

/* One that is not there has ended: its end is on its way. */
bool ar_serve_processes_message(struct ar_worker_serve *s, struct ar_wire_message *m)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(ops); i++) {
		struct served_process *p;

		if (!ar_str_is(m->op, ops[i].op))
			continue;
		m->is_broken |= ar_str_absent(m->ref) && ops[i].begin != on_forget;
		if (m->is_broken)
			return true;
		p = ar_str_absent(m->ref) ? NULL : ar_map_get(&s->processes_by_ref, m->ref);
		if (ops[i].begin)
			ops[i].begin(s, m);
		else if (p)
			ops[i].handle(p, m);
		return true;
	}
	return false;
}
