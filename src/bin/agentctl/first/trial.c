/* See trial.h. */
#include "first/trial.h"
#include "api.h"
#include "clock.h"
#include "model.h"

#include <string.h>

#define ANSWER_MS 60000L /* a local server may have to load the model first */
#define DEPTH_MAX 8
#define QUESTION "[{\"role\":\"user\",\"content\":\"Call the tool ping once.\"}]"
#define TOOL \
	"[{\"type\":\"function\",\"function\":{\"name\":\"ping\",\"description\":\"Answers pong.\"," \
	"\"parameters\":{\"type\":\"object\",\"properties\":{}}}}]"

static enum ar_exit refuse(struct ar_ctl *c, const struct ar_model_endpoint *m, long status,
			   const struct ar_error *err)
{
	struct ar_str next =
		ar_arena_fmt(&c->arena, "correct it with agentctl setup, or set %s", m->url_variable);

	if (status == 401 || status == 403)
		return ar_ctl_complain(c, AR_EXIT_FAILED,
				       ar_arena_fmt(&c->arena, "set %s to a key that is valid there",
						    m->key_variable),
				       "%s refuses the key (HTTP %ld)", m->base_url, status);
	if (status)
		return ar_ctl_complain(c, AR_EXIT_FAILED, next, "%s answers HTTP %ld", m->base_url, status);
	return ar_ctl_complain(c, AR_EXIT_FAILED, next, "%s does not answer: %s", m->base_url, err->msg);
}

/* Whether the answer has a call of the tool; where exactly differs from server to server. */
static bool has_call(struct ar_json at, int depth)
{
	if (depth > DEPTH_MAX)
		return false;
	if (ar_str_is(ar_api_str(at, "name"), "ping"))
		return true;
	for (struct ar_json_iter it = ar_json_iter(at); ar_json_next(&it);) {
		if (has_call(it.value, depth + 1))
			return true;
	}
	return false;
}

static bool is_called(struct ar_str body)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json doc = { 0 };
	bool is_there = ar_json_parse(parser, body, &doc, NULL) == AR_OK && has_call(doc, 0);

	ar_json_parser_free(parser);
	return is_there;
}

static enum ar_status ask_model(struct ar_ctl *c, const struct ar_model_endpoint *m,
				struct ar_http_reply *ret, struct ar_error *err)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_http_request r = { .url = ar_arena_fmt(&c->arena, "%s/chat/completions", m->base_url).p,
				     .bearer = m->key,
				     .cacert = c->cacert,
				     .total_ms = ANSWER_MS,
				     .signal_fd = -1 };
	enum ar_status rc;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "model", ar_str_from(m->name));
	ar_jw_mraw(&w, "messages", AR_STR(QUESTION));
	ar_jw_mraw(&w, "tools", AR_STR(TOOL));
	ar_jw_close(&w);
	r.body = ar_buf_str(&body);
	rc = ar_http_run(&r, ret, err);
	ar_buf_fini(&body);
	return rc;
}

static enum ar_exit try_model(struct ar_ctl *c, const struct ar_model_endpoint *m)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec at = clock->mono(clock);
	struct ar_http_reply reply;
	struct ar_error err = { 0 };
	enum ar_exit exit = AR_EXIT_OK;

	ar_ctl_note(c, "trying the model %s", m->name);
	if (ask_model(c, m, &reply, &err) != AR_OK || reply.status != 200)
		exit = refuse(c, m, reply.status, &err);
	else
		ar_ctl_note(c, "it answers in %.1f s; %s", (double)(clock->mono(clock) - at) / 1e6,
			    is_called(ar_buf_str(&reply.body))
				    ? "tools work"
				    : "it did not call the tool that it was asked to: chat only");
	ar_buf_fini(&reply.body);
	return exit;
}

enum ar_exit ar_trial_run(struct ar_ctl *c)
{
	struct ar_model_endpoint m;
	struct ar_http_reply reply;
	struct ar_error err = { 0 };
	enum ar_exit exit = AR_EXIT_OK;
	bool is_listed;

	if (!ar_model_endpoint(c, &m))
		return AR_EXIT_OK;
	/* A server without a list of models is one that cannot be judged by it. */
	is_listed = ar_model_list(c, &m, &reply, &err) == AR_OK;
	if (!is_listed || reply.status == 401 || reply.status == 403)
		exit = refuse(c, &m, reply.status, &err);
	else
		ar_ctl_note(c, "%s answers", m.base_url);
	ar_buf_fini(&reply.body);
	if (exit != AR_EXIT_OK || !m.name || strcmp(m.url_variable, "OPENAI_BASE_URL") != 0)
		return exit;
	return try_model(c, &m);
}
