/* See hook_runner.h: chooses between the two kinds of handlers. Loop thread only. */
#include "hook_runner.h"

#include "command.h"
#include "http.h"
#include "mem.h"

struct runner {
	struct ar_hook_runner base;
	struct ar_hook_commands commands;
	struct ar_transfer_pool *requests;
};

static struct runner *runner_of(struct ar_hook_runner *h)
{
	return AR_CONTAINER_OF(h, struct runner, base);
}

static bool is_command(const struct ar_hook_run *r)
{
	return !ar_str_absent(r->handler->command);
}

static void start(struct ar_hook_runner *h, struct ar_hook_run *r)
{
	if (is_command(r))
		ar_hook_command_start(&runner_of(h)->commands, r);
	else
		ar_hook_http_start(runner_of(h)->requests, r);
}

static void cancel(struct ar_hook_runner *h AR_UNUSED, struct ar_hook_run *r)
{
	if (is_command(r))
		ar_hook_command_cancel(r);
	else
		ar_hook_http_cancel(r);
}

static void close_runner(struct ar_hook_runner *h)
{
	struct runner *r = runner_of(h);

	ar_hook_commands_fini(&r->commands);
	ar_transfer_pool_close(r->requests);
	ar_free(r);
}

static const struct ar_hook_runner_vtable vtable = { start, cancel, close_runner };

struct ar_hook_runner *ar_hook_runner_open(uv_loop_t *loop)
{
	struct runner *r = ar_new0(sizeof(*r));

	r->base.v = &vtable;
	ar_hook_commands_init(&r->commands, loop);
	/* Endpoints may be of both kinds, so none is taken for HTTP/2 by itself. */
	r->requests = ar_transfer_pool_new(loop, &(struct ar_transfer_pool_options){ 0 });
	return &r->base;
}
