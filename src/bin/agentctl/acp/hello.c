/* See acp.h: initialize and authenticate. What is promised here is what the other parts do. */
#include "acp/acp.h"
#include "daemon.h"

#define VERSION 1 /* of the protocol */
#define METHOD_AGENTD "agentd"

static bool is_set(struct ar_json params, const char *path)
{
	bool value = false;

	ar_json_bool(ar_api_path(params, path), &value);
	return value;
}

static void add_empty(struct ar_jw *w, const char *name)
{
	ar_jw_key(w, name);
	ar_jw_open(w);
	ar_jw_close(w);
}

static void add_capabilities(struct ar_jw *w)
{
	ar_jw_key(w, "agentCapabilities");
	ar_jw_open(w);
	ar_jw_mbool(w, "loadSession", true);
	ar_jw_key(w, "promptCapabilities");
	ar_jw_open(w);
	ar_jw_mbool(w, "image", true);
	ar_jw_mbool(w, "audio", false);
	ar_jw_mbool(w, "embeddedContext", true);
	ar_jw_close(w);
	ar_jw_key(w, "mcpCapabilities");
	ar_jw_open(w);
	ar_jw_mbool(w, "http", false);
	ar_jw_mbool(w, "sse", false);
	ar_jw_close(w);
	ar_jw_key(w, "sessionCapabilities");
	ar_jw_open(w);
	add_empty(w, "list");
	add_empty(w, "resume");
	add_empty(w, "close");
	ar_jw_close(w);
	ar_jw_close(w);
}

/* The arguments of a terminal method follow those that the editor started us with. */
static void add_terminal_method(struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("terminal"));
	ar_jw_mstr(w, "id", AR_STR("setup"));
	ar_jw_mstr(w, "name", AR_STR("Choose a model"));
	ar_jw_mstr(w, "description", AR_STR("Asks for a key or the address of a model server and keeps it"));
	ar_jw_key(w, "args");
	ar_jw_open_array(w);
	ar_jw_str(w, AR_STR("--setup"));
	ar_jw_close_array(w);
	ar_jw_close(w);
}

static void add_methods(struct ar_acp *a, struct ar_jw *w)
{
	ar_jw_key(w, "authMethods");
	ar_jw_open_array(w);
	if (a->can_terminal_auth)
		add_terminal_method(w);
	ar_jw_open(w);
	ar_jw_mstr(w, "id", AR_STR(METHOD_AGENTD));
	ar_jw_mstr(w, "name", AR_STR("agentd"));
	ar_jw_mstr(w, "description", AR_STR("Uses the models that agentd has; starts agentd if none runs"));
	ar_jw_close(w);
	ar_jw_close_array(w);
}

/* Version 1 is the only one we speak: an editor that wants another decides whether it can do with that. */
void ar_acp_initialize(struct ar_acp *a, const struct ar_acp_request *r)
{
	struct ar_jw w;

	if (ar_json_type(ar_json_get(r->params, "protocolVersion")) != AR_JSON_INT) {
		ar_acp_error(a, r->id, AR_ACP_INVALID_PARAMS, "protocolVersion is missing");
		return;
	}
	a->is_ready = true;
	a->can_read = is_set(r->params, "clientCapabilities.fs.readTextFile");
	a->can_terminal_auth = is_set(r->params, "clientCapabilities.auth.terminal");
	w = ar_acp_result(a, r->id);
	ar_jw_open(&w);
	ar_jw_mint(&w, "protocolVersion", VERSION);
	add_capabilities(&w);
	add_methods(a, &w);
	ar_jw_key(&w, "agentInfo");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "name", AR_STR("agentd"));
	ar_jw_mstr(&w, "title", AR_STR("Agent Runtime for C"));
	ar_jw_mstr(&w, "version", AR_STR(AR_VERSION));
	ar_jw_close(&w);
	ar_jw_close(&w);
	ar_acp_end(a, &w);
}

void ar_acp_authenticate(struct ar_acp *a, const struct ar_acp_request *r)
{
	if (!ar_str_is(ar_api_str(r->params, "methodId"), METHOD_AGENTD))
		ar_acp_error(a, r->id, AR_ACP_INVALID_PARAMS, "methodId is %s", METHOD_AGENTD);
	else if (ar_daemon_ensure(a->ctl) != AR_EXIT_OK)
		ar_acp_error(a, r->id, AR_ACP_AUTH, "no agentd answers; `agentctl doctor` finds the cause");
	else
		ar_acp_result_empty(a, r->id);
}
