/* See desk.h. */
#include "desk.h"

#include "clock.h"
#include "mem.h"

#include <stdio.h>

static void keep(char *out, size_t room, struct ar_str s)
{
	assert_true(s.len < room);
	if (s.len)
		memcpy(out, s.p, s.len);
	out[s.len] = '\0';
}

static void on_done(struct ar_tool_call *call, const struct ar_tool_result *r)
{
	struct desk *d = AR_CONTAINER_OF(call, struct desk, call);

	assert_true(d->has_started);
	assert_false(d->is_done);
	assert_null(call->source_state);
	d->is_done = true;
	d->outcome = r->outcome;
	d->text = ar_str_dup(r->text);
	d->structured = ar_str_dup(r->structured);
	if (r->image_count) {
		d->image = ar_str_dup(r->images[0].data);
		d->mime = ar_str_dup(r->images[0].mime);
	}
	keep(d->category, sizeof(d->category), r->category);
	keep(d->message, sizeof(d->message), r->message);
	keep(d->advice, sizeof(d->advice), r->advice);
	d->retryable = r->retryable;
}

static const struct ar_tool_call_vtable vtable = { .on_done = on_done };

static void on_tick(uv_timer_t *timer AR_UNUSED)
{
}

void desk_init(struct desk *d, enum server_way way, const char *answer)
{
	memset(d, 0, sizeof(*d));
	assert_int_equal(uv_loop_init(&d->loop), 0);
	uv_timer_init(&d->loop, &d->tick);
	uv_timer_start(&d->tick, on_tick, 5, 5);
	server_start(&d->server, &d->loop, way, answer);
}

void desk_open(struct desk *d, struct ar_tool_http tool, const char *path)
{
	static const struct ar_tool_http_options none = { 0 };

	snprintf(d->url, sizeof(d->url), "http://user:pass@127.0.0.1:%d%s", d->server.port, path);
	if (!tool.url)
		tool.url = d->url;
	if (!tool.name)
		tool.name = "probe";
	d->source = ar_tool_http_open(&d->loop, &tool, 1, &none);
	if (d->source->trouble)
		fail_msg("%s", d->source->trouble);
}

void desk_start(struct desk *d, const char *args)
{
	struct ar_clock *clock = ar_clock_system();

	d->call = (struct ar_tool_call){ .v = &vtable,
					 .tool = &d->source->tools[0],
					 .args = ar_str_from(args),
					 .session_id = AR_STR("sess_1"),
					 .turn_id = AR_STR("turn_2"),
					 .tool_call_id = AR_STR("toolu_3"),
					 .operation_id = AR_STR("evt_4"),
					 .deadline = clock->mono(clock) + 20 * 1000 * 1000 };
	d->source->v->start(d->source, &d->call);
	d->has_started = true;
}

void desk_wait(struct desk *d)
{
	while (!d->is_done && uv_run(&d->loop, UV_RUN_ONCE) != 0)
		;
	assert_true(d->is_done);
}

void desk_fini(struct desk *d)
{
	server_stop(&d->server);
	uv_close((uv_handle_t *)&d->tick, NULL);
	if (d->source)
		d->source->v->close(d->source);
	assert_true(d->is_done || !d->has_started);
	uv_run(&d->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&d->loop), 0);
	ar_free(d->text);
	ar_free(d->structured);
	ar_free(d->image);
	ar_free(d->mime);
}

void desk_call(struct desk *d, enum server_way way, const char *answer, struct ar_tool_http tool)
{
	desk_init(d, way, answer);
	desk_open(d, tool, "/do");
	desk_start(d, "{}");
	desk_wait(d);
}
