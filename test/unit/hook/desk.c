/* See desk.h. */
#include "desk.h"

#define INPUT \
	"{\"hookPoint\":\"stop\",\"sessionId\":\"sess_1\",\"threadId\":\"thread_1\",\"turnId\":\"turn_1\"," \
	"\"toolCallId\":null}"

static int64_t now_ms(void)
{
	return (int64_t)(uv_hrtime() / 1000000);
}

static void on_done(struct ar_hook_run *run, const struct ar_hook_result *result)
{
	struct desk_run *r = AR_CONTAINER_OF(run, struct desk_run, run);

	assert_true(r->has_started);
	assert_false(r->is_done);
	assert_true(result->output.len < sizeof(r->output));
	r->is_done = true;
	r->outcome = result->outcome;
	r->output_len = result->output.len;
	if (result->output.len > 0)
		memcpy(r->output, result->output.p, result->output.len);
	if (result->message.len > 0)
		memcpy(r->message, result->message.p, result->message.len);
	r->took_ms += now_ms();
	r->desk->open--;
}

void desk_init(struct desk *d)
{
	memset(d, 0, sizeof(*d));
	assert_int_equal(uv_loop_init(&d->loop), 0);
	d->runner = ar_hook_runner_open(&d->loop);
}

void desk_fini(struct desk *d)
{
	d->runner->v->close(d->runner);
	assert_int_equal(d->open, 0);
	uv_run(&d->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&d->loop), 0);
}

struct desk_run *desk_start(struct desk *d, const char *command, int64_t timeout_ms)
{
	struct desk_run *r = test_calloc(1, sizeof(*r));
	struct ar_clock *clock = ar_clock_system();

	r->desk = d;
	r->handler.name = AR_STR("probe");
	if (strncmp(command, "http", 4) == 0)
		r->handler.url = ar_str_from(command);
	else
		r->handler.command = ar_str_from(command);
	r->took_ms = -now_ms();
	r->run = (struct ar_hook_run){ .handler = &r->handler,
				       .input = AR_STR(INPUT),
				       .deadline = clock->mono(clock) + timeout_ms * 1000,
				       .on_done = on_done };
	d->open++;
	d->runner->v->start(d->runner, &r->run);
	r->has_started = true;
	return r;
}

void desk_wait(struct desk *d)
{
	while (d->open > 0 && uv_run(&d->loop, UV_RUN_ONCE) != 0)
		;
	assert_int_equal(d->open, 0);
}

struct desk_run *desk_run(struct desk *d, const char *command, int64_t timeout_ms)
{
	struct desk_run *r = desk_start(d, command, timeout_ms);

	desk_wait(d);
	return r;
}
