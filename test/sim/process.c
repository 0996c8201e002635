/* A host of processes that the seed drives, and that outlives the runtime: each has a journal of
 * what it wrote, reported and came to, which is told in pieces to whoever has it in hand, from the
 * first again after attach(). Some cannot be started, give up at their barrier, lose their
 * supervisor, or are nowhere to be found. Laws are checked where a process is let go: its start is
 * durable, and no call runs twice. */
#include "sim.h"

enum stage {
	SETTING_UP,
	AT_BARRIER,
	RUNNING,
	OVER,
};

enum entry_kind {
	WROTE,
	REPORTED,
	ENDED,
};

struct entry {
	enum entry_kind kind;
	enum ar_process_stream stream;
	struct ar_str bytes; /* or detail */
	enum ar_process_report_kind report;
	uint64_t seq;
	struct ar_process_end end;
};

struct sim_proc {
	struct ar_list node;
	struct sim_actor actor;
	struct sim *sim;
	struct ar_process *port; /* who has it in hand; NULL: nobody */
	struct ar_str handle, call, id;
	enum stage stage;
	bool tty, has_run, is_attaching, is_forgotten, is_lost, was_unreachable;
	unsigned left; /* pieces to write */
	ar_usec barrier;
	uint64_t seq, inputs;
	struct entry *journal;
	size_t count, told;
	struct ar_buf wrote[AR_PROC_TTY + 1], all;
};

/* ---- the journal ---- */

static struct entry *append(struct sim_proc *p, enum entry_kind kind)
{
	struct entry *e;

	p->journal = ar_grow(p->journal, p->count + 1, sizeof(*p->journal));
	e = &p->journal[p->count++];
	*e = (struct entry){ .kind = kind, .seq = ++p->seq };
	return e;
}

static void write_some(struct sim_proc *p, struct ar_str bytes)
{
	enum ar_process_stream stream = p->tty			  ? AR_PROC_TTY
					: sim_chance(p->sim, 300) ? AR_PROC_STDERR
								  : AR_PROC_STDOUT;
	struct entry *e = append(p, WROTE);

	e->stream = stream;
	e->bytes = sim_keep(p->sim, bytes);
	ar_buf_adds(&p->wrote[stream], bytes);
	ar_buf_adds(&p->all, bytes);
}

static void come_to(struct sim_proc *p, struct ar_process_end end)
{
	if (p->stage == OVER)
		return;
	p->stage = OVER;
	append(p, ENDED)->end = end;
	sim_actor_by(&p->actor, p->sim->now + (ar_usec)sim_below(p->sim, 3 * SIM_MS));
}

/* ---- telling it ---- */

static void let_loose(struct sim_proc *p)
{
	if (p->port)
		p->port->host_state = NULL;
	p->port = NULL;
}

static void tell_one(struct sim_proc *p)
{
	const struct entry e = p->journal[p->told++];
	struct ar_process *port = p->port;

	if (e.kind == WROTE) {
		port->v->on_output(port, e.stream, e.bytes);
	} else if (e.kind == REPORTED) {
		port->v->on_report(port, &(struct ar_process_report){
						 .kind = e.report, .seq = e.seq, .detail = e.bytes });
	} else {
		struct ar_process_end end = e.end;

		end.seq = e.seq;
		let_loose(p);
		port->v->on_end(port, &end);
	}
}

static void tell(struct sim_proc *p)
{
	uint64_t most = 1 + sim_below(p->sim, 4);

	if (p->port && p->is_attaching && p->stage != OVER) {
		p->is_attaching = false;
		p->port->v->on_attached(p->port, p->inputs);
	}
	while (p->port && p->told < p->count && most-- > 0)
		tell_one(p);
	if (p->port && p->told < p->count)
		sim_actor_by(&p->actor, p->sim->now + (ar_usec)sim_below(p->sim, 12 * SIM_MS) + 1);
}

/* ---- what it does ---- */

static void report_something(struct sim_proc *p)
{
	struct entry *e = append(p, REPORTED);

	e->report = sim_chance(p->sim, 700) ? AR_PROC_VIOLATION : AR_PROC_WAITS_FOR_INPUT;
	e->bytes =
		AR_STR("{\"boundary\":\"filesystem\",\"attempted\":\"write /etc/x\",\"effect\":\"blocked\","
		       "\"evidence\":\"kernel-landlock\",\"errno\":\"EACCES\",\"count\":1}");
}

static void live(struct sim_proc *p)
{
	static const char *const some[] = { "line\n", "na\xc3", "\xafve", "\xff\xfe", "\xe2\x98\x82", "x" };
	struct sim *s = p->sim;

	if (p->left == 0 || (s->is_calm && sim_chance(s, 500))) {
		come_to(p, (struct ar_process_end){ .outcome = AR_PROC_EXITED,
						    .exit_is_known = true,
						    .exit_code = (int)sim_below(s, 3),
						    .duration_ms = 5 });
		return;
	}
	p->left--;
	if (sim_chance(s, 150))
		report_something(p);
	else
		write_some(p, ar_str_from(some[sim_below(s, AR_ARRAY_LEN(some))]));
	if (sim_chance(s, 10))
		come_to(p,
			(struct ar_process_end){ .outcome = AR_PROC_LIMIT_HIT, .message = AR_STR("memory") });
	sim_actor_by(&p->actor, s->now + (ar_usec)sim_below(s, 4 * (uint64_t)s->plan.pace) + 1);
}

static void set_up(struct sim_proc *p)
{
	struct ar_process *port = p->port;

	if (!port || sim_chance(p->sim, 60)) {
		p->stage = OVER;
		let_loose(p);
		if (port)
			port->v->on_end(port, &(struct ar_process_end){ .outcome = AR_PROC_NOT_STARTED,
									.step = AR_STR("mount"),
									.message = AR_STR("no") });
		return;
	}
	p->stage = AT_BARRIER;
	p->barrier = p->sim->now + (ar_usec)sim_below(p->sim, 3000 * SIM_MS) + 100 * SIM_MS;
	sim_actor_by(&p->actor, p->barrier);
	port->v->on_ready(port, &(struct ar_process_ready){ .handle = p->handle,
							    .cwd = AR_STR("/w"),
							    .read_roots = AR_STR("[\"/usr\"]"),
							    .write_roots = AR_STR("[\"/w\"]"),
							    .environment = AR_STR("{\"A\":\"b\"}"),
							    .limits = AR_STR("{}"),
							    .boundary = AR_STR("{\"sim\":true}") });
}

static void proc_step(struct sim *s, struct sim_actor *a)
{
	struct sim_proc *p = AR_CONTAINER_OF(a, struct sim_proc, actor);

	if (p->stage == SETTING_UP) {
		set_up(p);
		return;
	}
	if (p->stage == AT_BARRIER && s->now >= p->barrier)
		come_to(p, (struct ar_process_end){ .outcome = AR_PROC_NOT_STARTED,
						    .step = AR_STR("barrier"),
						    .message = AR_STR("nobody let it go") });
	else if (p->stage == AT_BARRIER)
		sim_actor_by(a, p->barrier);
	else if (p->stage == RUNNING)
		live(p);
	tell(p);
}

/* ---- the port ---- */

static struct sim_proc *proc_of(struct ar_process *port)
{
	return port->host_state;
}

static void launch(struct ar_process_host *h, struct ar_process *port, const struct ar_process_spec *spec)
{
	struct sim *s = AR_CONTAINER_OF(h, struct sim, host);
	struct sim_proc *p = ar_new0(sizeof(*p));

	p->sim = s;
	p->port = port;
	port->host_state = p;
	p->call = sim_keep(s, spec->call_id);
	p->tty = spec->tty;
	p->left = (unsigned)sim_below(s, 40);
	p->handle = ar_arena_fmt(&s->arena, "handle-%llu", (unsigned long long)++s->handles);
	if (ar_map_get(&s->launched, p->call))
		sim_fail(s, "two processes are launched for %.*s", AR_STR_ARG(p->call));
	ar_map_put(&s->launched, p->call, p);
	s->counts->processes++;
	sim_say(s, "process", "%.*s is launched for %.*s", AR_STR_ARG(p->handle), AR_STR_ARG(p->call));
	ar_list_push(&s->procs, &p->node);
	sim_actor_start(s, &p->actor, s->now + (ar_usec)sim_below(s, 10 * SIM_MS) + 1, proc_step);
}

static struct sim_proc *find(struct sim *s, struct ar_str handle)
{
	AR_LIST_FOR (it, &s->procs) {
		struct sim_proc *p = AR_CONTAINER_OF(it, struct sim_proc, node);

		if (ar_str_eq(p->handle, handle))
			return p;
	}
	sim_fail(s, "no process has the handle %.*s", AR_STR_ARG(handle));
}

/* Somebody who is nowhere to be found: told a moment later. */
struct nowhere {
	struct sim_actor actor;
	struct ar_process *port;
};

static void nowhere_step(struct sim *s, struct sim_actor *a)
{
	struct nowhere *n = AR_CONTAINER_OF(a, struct nowhere, actor);
	struct ar_process *port = n->port;

	(void)s;
	ar_list_del(&a->node);
	if (port)
		port->v->on_end(port, &(struct ar_process_end){ .outcome = AR_PROC_UNAVAILABLE,
								.message = AR_STR("it is not here") });
}

static void attach(struct ar_process_host *h, struct ar_process *port, struct ar_str handle)
{
	struct sim *s = AR_CONTAINER_OF(h, struct sim, host);
	struct sim_proc *p = find(s, handle);

	sim_say(s, "process", "%.*s is attached", AR_STR_ARG(handle));
	p->id = sim_keep(s, port->id);
	s->counts->attaches++;
	if (p->port)
		sim_fail(s, "%.*s is attached while it is in hand", AR_STR_ARG(handle));
	if (p->is_forgotten)
		sim_fail(s, "%.*s is attached after it was forgotten", AR_STR_ARG(handle));
	if (p->was_unreachable) {
		struct nowhere *n = ar_arena_alloc(&s->arena, sizeof(*n));

		n->port = port;
		port->host_state = NULL;
		sim_actor_start(s, &n->actor, s->now + 1, nowhere_step);
		return;
	}
	if (p->is_lost)
		come_to(p, (struct ar_process_end){ .outcome = AR_PROC_SUPERVISOR_LOST });
	p->port = port;
	port->host_state = p;
	p->told = 0;
	p->is_attaching = true;
	sim_actor_by(&p->actor, s->now + (ar_usec)sim_below(s, 5 * SIM_MS) + 1);
}

static void go(struct ar_process_host *h, struct ar_process *port)
{
	struct sim *s = AR_CONTAINER_OF(h, struct sim, host);
	struct sim_proc *p = proc_of(port);
	const struct sim_fact *f = sim_log_find(s, ar_id_session_key(port->id), AR_EV_PROCESS_STARTED,
						AR_SCOPE_PROCESS, port->id);
	const struct ar_ev_process_started *started;

	if (!f)
		sim_fail(s, "%.*s is let go and its start is not stored", AR_STR_ARG(port->id));
	started = f->e.payload;
	if (!ar_str_eq(started->handle, p->handle) || !ar_str_eq(f->e.ids[AR_SCOPE_TOOL_CALL], p->call))
		sim_fail(s, "%.*s is let go as another process", AR_STR_ARG(port->id));
	p->id = sim_keep(s, port->id);
	if (p->stage != AT_BARRIER)
		return;
	sim_say(s, "process", "%.*s runs as %.*s", AR_STR_ARG(p->handle), AR_STR_ARG(p->id));
	p->stage = RUNNING;
	p->has_run = true;
	sim_actor_by(&p->actor, s->now + (ar_usec)sim_below(s, 5 * SIM_MS) + 1);
}

static void write(struct ar_process_host *h, struct ar_process *port, uint64_t number, struct ar_str bytes,
		  bool is_eof)
{
	struct sim *s = AR_CONTAINER_OF(h, struct sim, host);
	struct sim_proc *p = proc_of(port);

	(void)is_eof;
	if (number > p->inputs + 1)
		sim_fail(s, "input %llu of %.*s comes after %llu", (unsigned long long)number,
			 AR_STR_ARG(port->id), (unsigned long long)p->inputs);
	if (p->stage == OVER) {
		port->v->on_written(port, number, AR_PROC_CLOSED);
		return;
	}
	if (sim_chance(s, 200)) {
		port->v->on_written(port, number, AR_PROC_BUSY);
		return;
	}
	if (number == p->inputs + 1) {
		p->inputs = number;
		write_some(p, bytes);
		sim_actor_by(&p->actor, s->now + SIM_MS);
	}
	port->v->on_written(port, number, AR_PROC_TOOK);
}

static void resize(struct ar_process_host *h, struct ar_process *port, uint16_t rows, uint16_t columns)
{
	(void)h;
	(void)port;
	(void)rows;
	(void)columns;
}

static void signal_it(struct ar_process_host *h, struct ar_process *port, struct ar_str name)
{
	(void)h;
	(void)port;
	(void)name;
}

static void end(struct ar_process_host *h, struct ar_process *port, struct ar_str by, struct ar_str reason,
		int64_t grace_ms)
{
	struct sim *s = AR_CONTAINER_OF(h, struct sim, host);
	struct sim_proc *p = proc_of(port);

	(void)grace_ms;
	if (!p) /* nowhere to be found, and not told yet */
		return;
	sim_say(s, "process", "%.*s is to end", AR_STR_ARG(p->handle));
	if (p->stage == SETTING_UP)
		append(p, ENDED)->end =
			(struct ar_process_end){ .outcome = AR_PROC_NOT_STARTED, .step = AR_STR("barrier") },
			  p->stage = OVER, sim_actor_by(&p->actor, s->now + 1);
	else
		come_to(p, (struct ar_process_end){ .outcome = AR_PROC_ENDED,
						    .by = sim_keep(s, by),
						    .reason = sim_keep(s, reason) });
}

static void leave(struct ar_process_host *h, struct ar_process *port)
{
	struct sim *s = AR_CONTAINER_OF(h, struct sim, host);

	if (proc_of(port))
		let_loose(proc_of(port));
	AR_LIST_FOR (it, &s->actors) {
		struct sim_actor *a = AR_CONTAINER_OF(it, struct sim_actor, node);

		if (a->step == nowhere_step && AR_CONTAINER_OF(a, struct nowhere, actor)->port == port)
			AR_CONTAINER_OF(a, struct nowhere, actor)->port = NULL;
	}
}

static void forget(struct ar_process_host *h, struct ar_str handle)
{
	find(AR_CONTAINER_OF(h, struct sim, host), handle)->is_forgotten = true;
}

static void host_close(struct ar_process_host *h)
{
	sim_procs_crashed(AR_CONTAINER_OF(h, struct sim, host));
}

static const struct ar_process_host_vtable vtable = { .launch = launch,
						      .attach = attach,
						      .go = go,
						      .write = write,
						      .resize = resize,
						      .signal = signal_it,
						      .end = end,
						      .leave = leave,
						      .forget = forget,
						      .close = host_close };

/* ---- life, and questions of the laws ---- */

void sim_procs_open(struct sim *s)
{
	ar_list_init(&s->procs);
	s->host.v = &vtable;
}

/* Nobody has any of them in hand; some are lost with the runtime. */
void sim_procs_crashed(struct sim *s)
{
	AR_LIST_FOR (it, &s->procs) {
		struct sim_proc *p = AR_CONTAINER_OF(it, struct sim_proc, node);

		if (p->port)
			sim_fail(s, "%.*s was not left", AR_STR_ARG(p->handle));
		if (p->stage == OVER || s->is_calm)
			continue;
		p->is_lost |= sim_chance(s, 100);
		p->was_unreachable |= sim_chance(s, 60);
		if (p->is_lost || p->was_unreachable)
			p->actor.at = SIM_NEVER;
	}
}

void sim_procs_close(struct sim *s)
{
	while (!ar_list_empty(&s->procs)) {
		struct sim_proc *p = AR_CONTAINER_OF(s->procs.next, struct sim_proc, node);

		for (int i = 0; i <= AR_PROC_TTY; i++)
			ar_buf_fini(&p->wrote[i]);
		ar_buf_fini(&p->all);
		ar_free(p->journal);
		ar_list_del(&p->node);
		ar_free(p);
	}
	ar_map_fini(&s->launched);
}

static struct sim_proc *proc_by_id(struct sim *s, struct ar_str id)
{
	AR_LIST_FOR (it, &s->procs) {
		struct sim_proc *p = AR_CONTAINER_OF(it, struct sim_proc, node);

		if (ar_str_eq(p->id, id))
			return p;
	}
	return NULL;
}

struct ar_str sim_wrote(struct sim *s, struct ar_str process, int stream)
{
	const struct sim_proc *p = proc_by_id(s, process);

	return p ? ar_buf_str(&p->wrote[stream]) : AR_STR("");
}

bool sim_has_run(struct sim *s, struct ar_str call)
{
	const struct sim_proc *p = ar_map_get(&s->launched, call);

	return p && p->has_run;
}

bool sim_is_out_of_reach(struct sim *s, struct ar_str process)
{
	const struct sim_proc *p = proc_by_id(s, process);

	return p && p->was_unreachable;
}

void sim_check_told(struct sim *s, const struct ar_process_result *r)
{
	const struct sim_proc *p = proc_by_id(s, r->process_id);
	struct ar_str all = p ? ar_buf_str(&p->all) : AR_STR("");

	if (r->output.len != all.len)
		sim_fail(s, "the call of %.*s is told %zu bytes of %zu", AR_STR_ARG(r->process_id),
			 r->output.len, all.len);
}
