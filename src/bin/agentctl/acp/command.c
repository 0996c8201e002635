/* See acp.h: the slash commands, as one table; those of `agentctl chat` that an editor has no button for.
 * Every other text, also one that begins with a slash, goes to the model. */
#include "acp/acp.h"

static struct ar_str thread_body(struct ar_acp_session *s, const char *name, struct ar_str value)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", ar_buf_str(&s->id));
	ar_jw_mstr(&w, name, value);
	ar_jw_close(&w);
	return ar_ctl_take_buf(s->acp->ctl, &text);
}

/* Says a text to the editor's user and ends the prompt. */
static void reply(struct ar_acp_session *s, struct ar_acp_prompt *p, struct ar_str text)
{
	struct ar_jw w;

	ar_acp_chunks(s, "agent_message_chunk", AR_STR_NONE, text);
	w = ar_acp_result(s->acp, ar_buf_str(&p->id));
	ar_jw_open(&w);
	ar_jw_mstr(&w, "stopReason", AR_STR("end_turn"));
	ar_jw_close(&w);
	ar_acp_end(s->acp, &w);
	ar_acp_prompt_free(p);
}

static struct ar_str refusal(enum ar_status st, const struct ar_api_reply *r)
{
	struct ar_str message = ar_api_str(ar_json_get(r->doc, "error"), "message");

	return st != AR_OK || ar_str_absent(message) ? AR_STR("agentd does not answer") : message;
}

/* A compaction is a turn of the runtime: the prompt ends with it. */
static void compact(struct ar_acp_session *s, struct ar_acp_prompt *p)
{
	struct ar_api_reply r;
	enum ar_status st = ar_api_try(s->acp->ctl, "compact_thread",
				       thread_body(s, "threadId", ar_buf_str(&s->thread)), &r, NULL);
	struct ar_str turn = ar_api_str(r.doc, "turnId");

	if (!ar_str_absent(turn))
		ar_buf_adds(&p->turn, turn);
	else
		reply(s, p, r.http.status < 400 && st == AR_OK ? AR_STR("done") : refusal(st, &r));
	ar_api_fini(&r);
}

static void explain(struct ar_acp_session *s, struct ar_acp_prompt *p)
{
	struct ar_buf text = { 0 };
	struct ar_api_reply r;
	enum ar_status st =
		ar_api_try(s->acp->ctl, "explain", thread_body(s, "id", ar_buf_str(&s->thread)), &r, NULL);

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(r.doc, "reasons")); ar_json_next(&it);) {
		ar_buf_addz(&text, "- ");
		ar_buf_adds(&text, ar_api_str(it.value, "text"));
		ar_buf_addc(&text, '\n');
	}
	reply(s, p, text.len ? ar_buf_str(&text) : refusal(st, &r));
	ar_buf_fini(&text);
	ar_api_fini(&r);
}

static const struct {
	const char *name, *doc;
	void (*run)(struct ar_acp_session *s, struct ar_acp_prompt *p);
} commands[] = {
	{ "compact", "replace the older part of the conversation by a summary", compact },
	{ "explain", "explain the decisions of the conversation", explain },
};

void ar_acp_commands_update(struct ar_acp_session *s)
{
	struct ar_jw w = ar_acp_update(s, "available_commands_update");

	ar_jw_key(&w, "availableCommands");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < AR_ARRAY_LEN(commands); i++) {
		ar_jw_open(&w);
		ar_jw_mstr(&w, "name", ar_str_from(commands[i].name));
		ar_jw_mstr(&w, "description", ar_str_from(commands[i].doc));
		ar_jw_close(&w);
	}
	ar_jw_close_array(&w);
	ar_acp_end_update(s, &w);
}

bool ar_acp_command(struct ar_acp_session *s, struct ar_acp_prompt *p, struct ar_str text)
{
	struct ar_str name = ar_str_trim(ar_str_sub(text, 1, text.len), " \n");

	for (size_t i = 0; i < AR_ARRAY_LEN(commands); i++) {
		if (ar_str_is(name, commands[i].name)) {
			commands[i].run(s, p);
			return true;
		}
	}
	return false;
}
