/* See submit.h. One thread. */
#include "submit.h"
#include "daemon.h"
#include "id.h"
#include "resolve.h"

#define ATTEMPTS 3

static void add_options(struct ar_jw *w, const struct ar_submit *what)
{
	if (ar_str_absent(what->model) && ar_str_absent(what->mode) && ar_str_absent(what->sandbox) &&
	    ar_str_absent(what->effort) && ar_str_absent(what->tools))
		return;
	ar_jw_key(w, "options");
	ar_jw_open(w);
	ar_jw_mstr(w, "model", what->model);
	ar_jw_mstr(w, "mode", what->mode);
	ar_jw_mstr(w, "sandbox", what->sandbox);
	ar_jw_mstr(w, "reasoningEffort", what->effort);
	ar_jw_mraw(w, "tools", what->tools);
	ar_jw_close(w);
}

static struct ar_str body_of(struct ar_ctl *c, const struct ar_submit *what)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	char key[AR_SESSION_KEY_LEN];

	ar_id_mint(key);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", what->session);
	if (ar_str_absent(what->session)) {
		ar_jw_key(&w, "createPolicy");
		ar_jw_open(&w);
		ar_jw_mstr(&w, "workspaceId", what->workspace);
		ar_jw_mstr(&w, "isolation", what->isolation);
		ar_jw_close(&w);
	}
	ar_jw_mstr(&w, "threadId", what->thread);
	ar_jw_mraw(&w, "input", what->input);
	ar_jw_mstr(&w, "text", ar_str_absent(what->input) ? what->text : AR_STR_NONE);
	add_options(&w, what);
	ar_jw_mstr(&w, "busyPolicy", AR_STR("queue"));
	ar_jw_mstr(&w, "source", ar_str_absent(what->source) ? AR_STR("agentctl") : what->source);
	ar_jw_mstr(&w, "idempotencyKey", (struct ar_str){ key, sizeof(key) });
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &out);
}

enum ar_exit ar_submit_turn(struct ar_ctl *c, const struct ar_submit *what, struct ar_api_reply *ret)
{
	struct ar_str body = body_of(c, what);
	struct ar_error err = { 0 };
	enum ar_status st = ar_api_try(c, "submit_turn", body, ret, &err);

	for (int i = 1; i < ATTEMPTS && st != AR_OK && st != AR_E_CANCELED; i++) {
		ar_api_fini(ret);
		if (!ar_daemon_returns(c))
			return ar_api_unreachable(c, AR_E_UNAVAILABLE, NULL);
		st = ar_api_try(c, "submit_turn", body, ret, &err);
	}
	return ar_api_explain(c, st, ret, &err);
}

void ar_submit_add_input(struct ar_jw *w, struct ar_str text)
{
	ar_jw_key(w, "input");
	ar_jw_open_array(w);
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("text"));
	ar_jw_mstr(w, "text", text);
	ar_jw_close(w);
	ar_jw_close_array(w);
}
