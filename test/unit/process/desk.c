/* See desk.h. */
#include "desk.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 60000

/* ---- what is told ---- */

static struct desk_process *of(struct ar_process *p)
{
	struct desk_process *d = AR_CONTAINER_OF(p, struct desk_process, process);

	assert_true(d->has_begun);
	assert_false(d->is_done);
	return d;
}

static void keep(char *to, size_t room, struct ar_str s)
{
	snprintf(to, room, "%.*s", ar_str_absent(s) ? 0 : (int)s.len, ar_str_absent(s) ? "" : s.p);
}

#define KEEP(to, s) keep(to, sizeof(to), s)

static void on_ready(struct ar_process *p, const struct ar_process_ready *r)
{
	struct desk_process *d = of(p);

	assert_false(d->is_ready);
	d->is_ready = true;
	KEEP(d->handle, r->handle);
	KEEP(d->boundary, r->boundary);
	assert_true(ar_str_is(r->read_roots, "[\"/\"]") && ar_str_is(r->write_roots, "[]"));
	assert_true(ar_str_is(r->environment, "{\"PATH\":\"/usr/bin:/bin\"}") &&
		    ar_str_starts(r->limits, AR_STR("{\"outputBytes\":")));
	assert_true(ar_str_is(r->cwd, "/"));
	if (d->goes)
		d->desk->host->v->go(d->desk->host, p);
}

static void on_attached(struct ar_process *p, uint64_t inputs)
{
	struct desk_process *d = of(p);

	assert_false(d->is_attached);
	assert_int_equal(d->story.len, 0);
	d->is_attached = true;
	d->inputs = inputs;
}

static void on_output(struct ar_process *p, enum ar_process_stream stream, struct ar_str bytes)
{
	struct desk_process *d = of(p);

	assert_true(stream >= AR_PROC_STDOUT && stream <= AR_PROC_TTY);
	ar_buf_adds(&d->out[stream], bytes);
	if (d->on_output)
		d->on_output(d);
}

static void on_report(struct ar_process *p, const struct ar_process_report *r)
{
	static const char *const kinds[] = {
		"", "input_written", "violation", "truncated", "limit", "waits"
	};

	ar_buf_addf(&of(p)->story, "%s %llu %llu %.*s\n", kinds[r->kind], (unsigned long long)r->seq,
		    (unsigned long long)r->number, AR_STR_ARG(r->detail));
}

static void on_written(struct ar_process *p, uint64_t number, enum ar_process_write how)
{
	static const char *const words[] = { "", "took", "busy", "closed", "too_large" };

	ar_buf_addf(&of(p)->story, "written %llu %s\n", (unsigned long long)number, words[how]);
}

static void on_end(struct ar_process *p, const struct ar_process_end *e)
{
	struct desk_process *d = of(p);

	d->end = *e;
	KEEP(d->message, e->message);
	KEEP(d->step, e->step);
	KEEP(d->by, e->by);
	KEEP(d->reason, e->reason);
	KEEP(d->signal, e->signal);
	d->end.message = d->end.step = d->end.by = d->end.reason = d->end.signal = AR_STR_NONE;
	ar_buf_addf(&d->story, "end %d seq %llu exit %d %d %s %s %s %s %llu %llu %llu\n", (int)e->outcome,
		    (unsigned long long)e->seq, e->exit_is_known, e->exit_code, d->signal, d->by, d->reason,
		    d->step, (unsigned long long)e->stdout_bytes, (unsigned long long)e->stderr_bytes,
		    (unsigned long long)e->tty_bytes);
	d->is_done = true;
	d->desk->open--;
}

static const struct ar_process_vtable vtable = { on_ready,  on_attached, on_output,
						 on_report, on_written,	 on_end };

/* ---- the loop ---- */

#define BEAT_MS 5

static void on_beat(uv_timer_t *timer)
{
	(void)timer;
}

typedef bool (*is_met)(void *context);

static void run_until(struct desk *d, int ms, is_met met, void *context, const char *what)
{
	uv_timer_t timer;
	uint64_t by;

	uv_update_time(&d->loop);
	by = uv_now(&d->loop) + (uint64_t)ms;
	uv_timer_init(&d->loop, &timer);
	/* What was waited for may come before the loop waits for the next event: it must not wait long. */
	uv_timer_start(&timer, on_beat, BEAT_MS, BEAT_MS);
	while (uv_now(&d->loop) < by && !(met && met(context)))
		uv_run(&d->loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(&d->loop, UV_RUN_NOWAIT);
	if (met && !met(context))
		fail_msg("waited for too long for %s", what);
}

void desk_turn(struct desk *d, int ms)
{
	run_until(d, ms, NULL, NULL, "nothing");
}

static bool is_ready(void *context)
{
	struct desk_process *p = context;

	return p->is_ready || p->is_done;
}

void desk_wait_ready(struct desk_process *p)
{
	run_until(p->desk, PATIENCE_MS, is_ready, p, "its start");
	assert_true(p->is_ready);
}

static bool is_done(void *context)
{
	return ((struct desk_process *)context)->is_done;
}

void desk_wait_end(struct desk_process *p)
{
	run_until(p->desk, PATIENCE_MS, is_done, p, "its end");
}

static bool is_empty(void *context)
{
	return ((struct desk *)context)->open == 0;
}

void desk_wait_all(struct desk *d)
{
	run_until(d, PATIENCE_MS, is_empty, d, "the end of all");
}

struct wanted {
	const struct ar_buf *in;
	const char *text;
};

static bool is_there(void *context)
{
	struct wanted *w = context;

	return w->in->len > 0 && memmem(w->in->p, w->in->len, w->text, strlen(w->text));
}

void desk_wait_text(struct desk_process *p, int stream, const char *text)
{
	run_until(p->desk, PATIENCE_MS, is_there, &(struct wanted){ &p->out[stream], text }, text);
}

void desk_wait_story(struct desk_process *p, const char *text)
{
	run_until(p->desk, PATIENCE_MS, is_there, &(struct wanted){ &p->story, text }, text);
}

/* ---- processes ---- */

static struct desk_process *add(struct desk *d)
{
	struct desk_process *p = test_calloc(1, sizeof(*p));

	p->process.v = &vtable;
	p->desk = d;
	d->open++;
	return p;
}

struct desk_process *desk_launch(struct desk *d, const char *script, const struct ar_process_spec *spec)
{
	struct desk_process *p = add(d);
	struct ar_str argv[] = { AR_STR("/bin/sh"), AR_STR("-c"), ar_str_from(script) };
	struct ar_process_spec s = spec ? *spec : (struct ar_process_spec){ 0 };

	s.profile = AR_SANDBOX_DANGER_FULL_ACCESS;
	if (!s.argv) {
		s.argv = argv;
		s.argc = AR_ARRAY_LEN(argv);
	}
	p->goes = script[0] != '#';
	d->host->v->launch(d->host, &p->process, &s);
	p->has_begun = true;
	return p;
}

struct desk_process *desk_attach(struct desk *d, const char *handle)
{
	struct desk_process *p = add(d);

	d->host->v->attach(d->host, &p->process, ar_str_from(handle));
	snprintf(p->handle, sizeof(p->handle), "%s", handle);
	p->has_begun = true;
	return p;
}

void desk_leave(struct desk_process *p)
{
	p->desk->host->v->leave(p->desk->host, &p->process);
	assert_null(p->process.host_state);
	p->desk->open--;
	p->has_begun = false;
}

void desk_free(struct desk_process *p)
{
	for (int i = 0; i < 4; i++)
		ar_buf_fini(&p->out[i]);
	ar_buf_fini(&p->story);
	test_free(p);
}

struct ar_str desk_out(struct desk_process *p, int stream)
{
	return ar_buf_str(&p->out[stream]);
}

static const char *story_of(struct desk_process *p)
{
	ar_buf_addc(&p->story, '\0');
	p->story.len--;
	return p->story.p;
}

void desk_assert_story(struct desk_process *p, const char *expected)
{
	assert_string_equal(story_of(p), expected);
}

void desk_assert_same(struct desk_process *a, struct desk_process *b)
{
	assert_string_equal(story_of(a), story_of(b));
	for (int i = AR_PROC_STDOUT; i <= AR_PROC_TTY; i++)
		assert_true(ar_str_eq(desk_out(a, i), desk_out(b, i)));
}

/* ---- the place ---- */

static void on_listener(void *context, struct ar_str name, int fd)
{
	struct desk *d = context;

	d->listeners++;
	d->listener = fd;
	KEEP(d->listener_name, name);
}

static void on_listener_gone(void *context, struct ar_str name)
{
	struct desk *d = context;

	assert_true(ar_str_is(name, d->listener_name));
	d->listeners--;
}

void desk_open(struct desk *d)
{
	struct ar_error err = { 0 };
	struct ar_processes_options o = {
		.folder = d->folder,
		.shim = d->shim,
		.init = d->init,
		.output_bytes = d->output_bytes,
		.barrier_ms = d->barrier_ms,
		.sandbox = (struct ar_sandbox *)(void *)d,
		.on_listener = on_listener,
		.on_listener_gone = on_listener_gone,
		.context = d,
	};

	d->host = ar_processes_open(&d->loop, &o, &err);
	if (!d->host)
		fail_msg("%s", err.msg);
}

void desk_init(struct desk *d)
{
	char self[400];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	*d = (struct desk){ 0 };
	assert_true(n > 0);
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(d->shim, sizeof(d->shim), "%s/agent-shim", self);
	snprintf(d->init, sizeof(d->init), "%s/agent-init", self);
	snprintf(d->root, sizeof(d->root), "/tmp/ar-process-XXXXXX");
	assert_non_null(mkdtemp(d->root));
	snprintf(d->folder, sizeof(d->folder), "%s/processes", d->root);
	assert_int_equal(uv_loop_init(&d->loop), 0);
	desk_open(d);
}

void desk_close(struct desk *d)
{
	d->host->v->close(d->host);
	d->host = NULL;
	uv_run(&d->loop, UV_RUN_DEFAULT);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

void desk_fini(struct desk *d)
{
	desk_close(d);
	assert_int_equal(uv_loop_close(&d->loop), 0);
	assert_int_equal(nftw(d->root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void desk_folder_of(const char *handle, char out[512])
{
	snprintf(out, 512, "%s", strchr(handle, '/'));
}

bool desk_exists(const char *folder, const char *name)
{
	char path[1024];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return lstat(path, &st) == 0;
}
