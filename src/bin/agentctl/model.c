/* See model.h. One thread. */
#include "model.h"
#include "clock.h"

#include <poll.h>
#include <stdlib.h>

#define ASK_MS 5000L
#define WAIT_USEC 60000000
#define POLL_MS 250

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool ar_model_place(struct ar_ctl *c, struct ar_model_place *ret)
{
	struct ar_str base = ar_str_from(variable("OPENAI_BASE_URL"));

	*ret = (struct ar_model_place){ .key = variable("OPENAI_API_KEY"), .name = variable("AGENTD_MODEL") };
	if (ar_str_absent(base) && !ret->key)
		return false;
	if (ar_str_absent(base))
		base = AR_STR("https://api.openai.com/v1");
	while (ar_str_ends(base, AR_STR("/")))
		base.len--;
	ret->base_url = ar_ctl_keep(c, base);
	return true;
}

enum ar_status ar_model_ask(struct ar_ctl *c, const struct ar_model_place *m, struct ar_http_reply *ret,
			    struct ar_error *err)
{
	struct ar_http_request r = { .url = ar_arena_fmt(&c->arena, "%s/models", m->base_url).p,
				     .bearer = m->key,
				     .total_ms = ASK_MS,
				     .signal_fd = -1 };

	return ar_http_run(&r, ret, err);
}

static bool is_ready(struct ar_ctl *c, const struct ar_model_place *m)
{
	struct ar_http_reply reply;
	bool is_ok = ar_model_ask(c, m, &reply, NULL) == AR_OK && reply.status < 500;

	ar_buf_fini(&reply.body);
	return is_ok;
}

enum ar_exit ar_model_wait(struct ar_ctl *c)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec deadline = clock->mono(clock) + WAIT_USEC;
	struct ar_model_place m;

	if (!ar_model_place(c, &m))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("set OPENAI_BASE_URL"),
				       "there is no model address to wait for");
	if (is_ready(c, &m))
		return AR_EXIT_OK;
	ar_ctl_note(c, "waiting for the model server at %s", m.base_url);
	while (clock->mono(clock) < deadline) {
		poll(NULL, 0, POLL_MS);
		if (is_ready(c, &m))
			return AR_EXIT_OK;
	}
	return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("start it, or correct OPENAI_BASE_URL"),
			       "the model server at %s does not answer", m.base_url);
}
