/* The daemon, the worker, time, and owners of calls; see rig.h. */
#include "rig.h"

#include "mem.h"
#include "serve_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEARTBEAT_MS 5000

static ar_usec read_now(struct ar_clock *c)
{
	return AR_CONTAINER_OF(c, struct rig, clock)->now;
}

/* ---- time and turns ---- */

void rig_turn(struct rig *r)
{
	for (int i = 0; i < 3; i++)
		uv_run(&r->loop, UV_RUN_NOWAIT);
	while (r->serve && ar_begun_is_syncing(r->serve->shared->begun))
		uv_run(&r->loop, UV_RUN_ONCE);
	uv_run(&r->loop, UV_RUN_NOWAIT);
}

static bool deliver_any(struct rig *r)
{
	bool moved = false;

	AR_LIST_FOR (it, &r->pairs) {
		struct wire_pair *p = AR_CONTAINER_OF(it, struct wire_pair, node);

		moved |= wire_deliver(&p->daemon);
		moved |= wire_deliver(&p->worker);
	}
	return moved;
}

void rig_run(struct rig *r)
{
	bool moved = true;

	while (moved) {
		rig_turn(r);
		moved = fake_step(&r->there) | fake_step(&r->here);
		if (!r->holds_messages)
			moved |= deliver_any(r);
	}
	rig_turn(r);
}

void rig_skip(struct rig *r, int64_t ms)
{
	r->now += ms * 1000;
	ar_worker_serve_tick(r->serve);
	ar_worker_set_tick(r->set);
}

void rig_wait(struct rig *r, int64_t ms)
{
	for (; ms > 0; ms -= HEARTBEAT_MS) {
		rig_skip(r, ms < HEARTBEAT_MS ? ms : HEARTBEAT_MS);
		rig_run(r);
	}
}

/* ---- both ends ---- */

static void on_changed(void *arg, struct ar_str id, enum ar_worker_state state)
{
	struct rig *r = arg;

	assert_true(ar_str_eq(id, WORKER));
	if (r->state_count < AR_ARRAY_LEN(r->states))
		r->states[r->state_count++] = state;
}

static void on_joined(void *arg)
{
	((struct rig *)arg)->joined++;
}

static void on_parted(void *arg, struct ar_str why)
{
	struct rig *r = arg;

	r->parted++;
	snprintf(r->parted_why, sizeof(r->parted_why), "%.*s", AR_STR_ARG(why));
}

static void on_drained(void *arg)
{
	((struct rig *)arg)->drained++;
}

static void open_daemon(struct rig *r)
{
	r->set = ar_worker_set_new(&r->loop, &r->here.ports,
				   &(struct ar_worker_set_options){ .heartbeat_ms = HEARTBEAT_MS,
								    .lease_ms = LEASE_MS,
								    .clock = &r->clock });
	ar_worker_set_workers(r->set)->on_changed = on_changed;
	ar_worker_set_workers(r->set)->arg = r;
}

static void open_worker(struct rig *r)
{
	struct ar_error err = { 0 };

	r->serve = ar_worker_serve_new(&r->loop, &r->there.ports,
				       &(struct ar_worker_serve_options){ .dir = ar_str_from(r->dir),
									  .folders = AR_STR("/files"),
									  .version = AR_STR("1.2"),
									  .labels = AR_STR("{}"),
									  .clock = &r->clock,
									  .on_joined = on_joined,
									  .on_parted = on_parted,
									  .on_drained = on_drained,
									  .arg = r },
				       &err);
	if (!r->serve)
		fail_msg("%s", err.msg);
}

int rig_open(void **state)
{
	struct rig *r = ar_new0(sizeof(*r));

	assert_int_equal(uv_loop_init(&r->loop), 0);
	snprintf(r->dir, sizeof(r->dir), "/tmp/ar-worker-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	r->clock = (struct ar_clock){ read_now, read_now };
	r->now = (ar_usec)1000 * 1000000;
	ar_list_init(&r->pairs);
	fake_ports_init(&r->here);
	fake_ports_init(&r->there);
	open_daemon(r);
	open_worker(r);
	*state = r;
	return 0;
}

/* Until calls that were cancelled are over: a worker is not gone before. */
static void close_worker(struct rig *r)
{
	ar_worker_serve_close(r->serve);
	r->serve = NULL;
	for (int i = 0; i < 3; i++) {
		while (fake_step(&r->there))
			;
		uv_run(&r->loop, UV_RUN_NOWAIT);
	}
}

int rig_close(void **state)
{
	struct rig *r = *state;

	ar_worker_set_close(r->set);
	close_worker(r);
	while (fake_step(&r->here))
		;
	uv_run(&r->loop, UV_RUN_DEFAULT);
	while (!ar_list_empty(&r->pairs))
		wire_pair_free(AR_CONTAINER_OF(r->pairs.next, struct wire_pair, node));
	assert_int_equal(uv_loop_close(&r->loop), 0);
	fake_ports_fini(&r->here);
	fake_ports_fini(&r->there);
	for (int i = 0; i < 2; i++) {
		char path[96];

		snprintf(path, sizeof(path), "%s/%s", r->dir, i ? "begun.old" : "begun");
		unlink(path);
	}
	rmdir(r->dir);
	ar_free(r);
	return 0;
}

void rig_cut(struct rig *r)
{
	if (r->pair)
		wire_cut(r->pair);
	r->pair = NULL;
}

void rig_connect(struct rig *r)
{
	rig_cut(r);
	r->pair = wire_pair_new();
	ar_list_push(&r->pairs, &r->pair->node);
	ar_worker_set_link(r->set, WORKER, AR_STR("tenant"), &r->pair->daemon.link);
	ar_worker_serve_link(r->serve, &r->pair->worker.link);
}

void rig_restart_worker(struct rig *r)
{
	rig_cut(r);
	close_worker(r);
	open_worker(r);
}

void rig_restart_daemon(struct rig *r)
{
	rig_cut(r);
	ar_worker_set_close(r->set);
	open_daemon(r);
}

struct ar_worker_status rig_status(struct rig *r)
{
	struct ar_workers *w = ar_worker_set_workers(r->set);

	return w->v->find(w, WORKER);
}

/* ---- calls ---- */

static void keep_text(char *to, size_t room, struct ar_str text)
{
	snprintf(to, room, "%.*s", ar_str_absent(text) ? 0 : (int)text.len,
		 ar_str_absent(text) ? "" : text.p);
}

static void on_call_done(struct ar_tool_call *c, const struct ar_tool_result *result)
{
	struct probe_call *p = AR_CONTAINER_OF(c, struct probe_call, call);

	p->done++;
	p->outcome = result->outcome;
	p->text_len = result->text.len;
	keep_text(p->text, sizeof(p->text), ar_str_sub(result->text, 0, 200));
	keep_text(p->category, sizeof(p->category), result->category);
	if (result->artifact_count > 0)
		keep_text(p->content, sizeof(p->content), result->artifacts[0].content);
}

static void on_call_progress(struct ar_tool_call *c, const struct ar_tool_progress *progress AR_UNUSED)
{
	AR_CONTAINER_OF(c, struct probe_call, call)->progress++;
}

static const struct ar_tool_call_vtable call_callbacks = { .on_done = on_call_done,
							   .on_progress = on_call_progress };

void probe_start_at(struct rig *r, struct probe_call *p, const char *id, const char *tool,
		    struct ar_str worker)
{
	struct ar_tool_source *files = ar_worker_set_ports(r->set)->files;

	*p = (struct probe_call){ .call = { .v = &call_callbacks,
					    .tool = &files->tools[ar_str_is(ar_str_from(tool), "change")],
					    .args = AR_STR("{\"path\":\"a\"}"),
					    .session_id = AR_STR("sess_1"),
					    .tool_call_id = ar_str_from(id),
					    .workspace = AR_STR("/files/w"),
					    .worker = worker,
					    .profile = AR_SANDBOX_READ_ONLY } };
	files->v->start(files, &p->call);
	assert_int_equal(p->done, 0);
}

void probe_start(struct rig *r, struct probe_call *p, const char *id, const char *tool)
{
	probe_start_at(r, p, id, tool, WORKER);
}

void probe_cancel(struct rig *r, struct probe_call *p)
{
	struct ar_tool_source *files = ar_worker_set_ports(r->set)->files;

	files->v->cancel(files, &p->call);
}

/* ---- processes ---- */

static struct probe_process *probe_of(struct ar_process *port)
{
	return AR_CONTAINER_OF(port, struct probe_process, port);
}

static void on_ready(struct ar_process *port, const struct ar_process_ready *ready)
{
	struct probe_process *p = probe_of(port);

	p->ready++;
	keep_text(p->handle, sizeof(p->handle), ready->handle);
}

static void on_attached(struct ar_process *port, uint64_t inputs)
{
	probe_of(port)->attached++;
	probe_of(port)->inputs = inputs;
}

static void on_output(struct ar_process *port, enum ar_process_stream stream, struct ar_str bytes)
{
	assert_int_equal(probe_of(port)->ended, 0);
	ar_buf_adds(&probe_of(port)->out[stream], bytes);
}

static void on_report(struct ar_process *port, const struct ar_process_report *report)
{
	struct probe_process *p = probe_of(port);

	assert_true(report->seq == p->seq + 1); /* each once, in order */
	p->seq = report->seq;
	if (report->kind == AR_PROC_TRUNCATED) {
		ar_buf_addz(&p->out[AR_PROC_STDOUT], "??????????");
		p->skipped += 10;
	} else {
		p->reports++;
	}
}

static void on_written(struct ar_process *port, uint64_t number AR_UNUSED, enum ar_process_write how)
{
	if (how == AR_PROC_TOOK)
		probe_of(port)->written++;
	else
		probe_of(port)->busy++;
}

static void on_end(struct ar_process *port, const struct ar_process_end *e)
{
	struct probe_process *p = probe_of(port);

	p->ended++;
	p->end = *e;
	keep_text(p->message, sizeof(p->message), e->message);
}

static const struct ar_process_vtable process_callbacks = { .on_ready = on_ready,
							    .on_attached = on_attached,
							    .on_output = on_output,
							    .on_report = on_report,
							    .on_written = on_written,
							    .on_end = on_end };

void probe_launch(struct rig *r, struct probe_process *p)
{
	struct ar_process_host *host = ar_worker_set_ports(r->set)->processes;
	static const struct ar_str argv[] = { { "sh", 2 }, { "-c", 2 }, { "true", 4 } };

	*p = (struct probe_process){ .port = { .v = &process_callbacks } };
	host->v->launch(host, &p->port,
			&(struct ar_process_spec){ .argv = argv,
						   .argc = 3,
						   .profile = AR_SANDBOX_READ_ONLY,
						   .workspace = AR_STR("/files/w"),
						   .worker = WORKER });
	assert_int_equal(p->ended + p->ready, 0);
}

void probe_attach(struct rig *r, struct probe_process *p, const char *handle)
{
	struct ar_process_host *host = ar_worker_set_ports(r->set)->processes;

	*p = (struct probe_process){ .port = { .v = &process_callbacks } };
	host->v->attach(host, &p->port, ar_str_from(handle));
}

void probe_leave(struct rig *r, struct probe_process *p)
{
	struct ar_process_host *host = ar_worker_set_ports(r->set)->processes;

	host->v->leave(host, &p->port);
	probe_process_fini(p);
}

void probe_process_fini(struct probe_process *p)
{
	for (int i = 0; i < 4; i++)
		ar_buf_fini(&p->out[i]);
}
