/* See acp.h: permission modes, models and effort as the editor's user chooses them for the next turns. Only
 * what the daemon would accept is offered; the daemon's own choice comes first. */
#include "acp/acp.h"
#include "resolve.h"

#define NONE "daemon" /* the daemon chooses */

/* ---- what there is ---- */

static const struct {
	const char *id, *name, *doc;
	int looseness; /* as docs/permission.md has it */
} modes[] = {
	{ NONE, "As agentd", "The permission mode of the daemon", 0 },
	{ "plan", "Plan", "Reads only; everything else is denied", 1 },
	{ "never", "Never ask", "Reads; what would ask is denied", 2 },
	{ "untrusted", "Untrusted", "Asks for everything but reads of its own tools", 3 },
	{ "default", "Ask", "Asks for everything but reads", 4 },
	{ "on_request", "In the sandbox", "Runs in the sandbox without asking; asks for more", 4 },
	{ "on_failure", "In the sandbox, strict", "The same; more only after a call failed there", 4 },
	{ "auto", "Auto", "Fixed rules decide which calls run", 4 },
	{ "bypass", "Bypass", "Everything runs without asking", 5 },
};

static const char *const efforts[] = { NONE, "low", "medium", "high" };

struct choices {
	struct ar_api_reply settings;
	int loosest; /* mode that the daemon accepts */
	struct ar_json models; /* of the settings; absent: none are listed */
};

static struct ar_json setting(const struct choices *c, const char *key)
{
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(c->settings.doc, "settings"));
	     ar_json_next(&it);) {
		if (ar_str_is(ar_api_str(it.value, "key"), key))
			return ar_json_get(it.value, "value");
	}
	return (struct ar_json){ 0 };
}

/* Settings are for the operator: for others only modes that are stricter than all that a host may have. */
static void read_choices(struct ar_acp *a, struct choices *ret)
{
	struct ar_str mode = AR_STR_NONE;
	bool may_loosen = false;

	*ret = (struct choices){ .loosest = 3 };
	if (ar_api_try(a->ctl, "get_settings", AR_STR("{}"), &ret->settings, NULL) != AR_OK)
		return;
	ar_json_str(setting(ret, "permission.mode"), &mode);
	ar_json_bool(setting(ret, "permission.may_loosen"), &may_loosen);
	ret->models = setting(ret, "models");
	for (size_t i = 0; i < AR_ARRAY_LEN(modes); i++) {
		if (may_loosen || ar_str_is(mode, modes[i].id))
			ret->loosest = modes[i].looseness;
	}
}

static struct ar_str current(const struct ar_buf *b)
{
	return b->len ? ar_buf_str(b) : AR_STR(NONE);
}

/* ---- what the editor shows ---- */

static void add_modes(struct ar_acp_session *s, struct ar_jw *w, const struct choices *c)
{
	ar_jw_key(w, "modes");
	ar_jw_open(w);
	ar_jw_mstr(w, "currentModeId", current(&s->mode));
	ar_jw_key(w, "availableModes");
	ar_jw_open_array(w);
	for (size_t i = 0; i < AR_ARRAY_LEN(modes) && modes[i].looseness <= c->loosest; i++) {
		ar_jw_open(w);
		ar_jw_mstr(w, "id", ar_str_from(modes[i].id));
		ar_jw_mstr(w, "name", ar_str_from(modes[i].name));
		ar_jw_mstr(w, "description", ar_str_from(modes[i].doc));
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
	ar_jw_close(w);
}

struct option {
	const char *id, *name, *category;
};

static void begin_option(struct ar_jw *w, const struct option *o, struct ar_str value)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "id", ar_str_from(o->id));
	ar_jw_mstr(w, "name", ar_str_from(o->name));
	ar_jw_mstr(w, "category", ar_str_from(o->category));
	ar_jw_mstr(w, "type", AR_STR("select"));
	ar_jw_mstr(w, "currentValue", value);
	ar_jw_key(w, "options");
	ar_jw_open_array(w);
}

static void add_value(struct ar_jw *w, struct ar_str value, struct ar_str name)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "value", value);
	ar_jw_mstr(w, "name", name);
	ar_jw_close(w);
}

static void end_option(struct ar_jw *w)
{
	ar_jw_close_array(w);
	ar_jw_close(w);
}

static void add_models(struct ar_acp_session *s, struct ar_jw *w, const struct choices *c)
{
	if (!ar_json_len(c->models))
		return;
	begin_option(w, &(struct option){ "model", "Model", "model" }, current(&s->model));
	add_value(w, AR_STR(NONE), AR_STR("As agentd"));
	for (struct ar_json_iter it = ar_json_iter(c->models); ar_json_next(&it);)
		add_value(w, ar_api_str(it.value, "name"), ar_api_str(it.value, "name"));
	end_option(w);
}

/* Editors that know these do not show `modes`: the mode is here too. */
static void add_config(struct ar_acp_session *s, struct ar_jw *w, const struct choices *c)
{
	ar_jw_key(w, "configOptions");
	ar_jw_open_array(w);
	begin_option(w, &(struct option){ "mode", "Permission", "mode" }, current(&s->mode));
	for (size_t i = 0; i < AR_ARRAY_LEN(modes) && modes[i].looseness <= c->loosest; i++)
		add_value(w, ar_str_from(modes[i].id), ar_str_from(modes[i].name));
	end_option(w);
	add_models(s, w, c);
	begin_option(w, &(struct option){ "effort", "Effort", "thought_level" }, current(&s->effort));
	for (size_t i = 0; i < AR_ARRAY_LEN(efforts); i++)
		add_value(w, ar_str_from(efforts[i]), i ? ar_str_from(efforts[i]) : AR_STR("As agentd"));
	end_option(w);
	ar_jw_close_array(w);
}

void ar_acp_options(struct ar_acp_session *s, struct ar_jw *w)
{
	struct choices c;

	read_choices(s->acp, &c);
	add_modes(s, w, &c);
	add_config(s, w, &c);
	ar_api_fini(&c.settings);
}

/* ---- choosing ---- */

static bool is_mode(const struct choices *c, struct ar_str value)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(modes) && modes[i].looseness <= c->loosest; i++) {
		if (ar_str_is(value, modes[i].id))
			return true;
	}
	return false;
}

static bool is_model(const struct choices *c, struct ar_str value)
{
	for (struct ar_json_iter it = ar_json_iter(c->models); ar_json_next(&it);) {
		if (ar_str_eq(value, ar_api_str(it.value, "name")))
			return true;
	}
	return ar_str_is(value, NONE);
}

static bool is_effort(const struct choices *c AR_UNUSED, struct ar_str value)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(efforts); i++) {
		if (ar_str_is(value, efforts[i]))
			return true;
	}
	return false;
}

/* False: there is no such option, or it has no such value. */
static bool choose(struct ar_acp_session *s, struct ar_str id, struct ar_str value)
{
	const struct {
		const char *id;
		struct ar_buf *at;
		bool (*is_value)(const struct choices *c, struct ar_str value);
	} rows[] = { { "mode", &s->mode, is_mode },
		     { "model", &s->model, is_model },
		     { "effort", &s->effort, is_effort } };
	struct choices c;
	bool is_known = false;

	read_choices(s->acp, &c);
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		if (!ar_str_is(id, rows[i].id) || !rows[i].is_value(&c, value))
			continue;
		ar_buf_clear(rows[i].at);
		if (!ar_str_is(value, NONE))
			ar_buf_adds(rows[i].at, value);
		is_known = true;
	}
	ar_api_fini(&c.settings);
	return is_known;
}

static void show_config(struct ar_acp_session *s, struct ar_jw *w)
{
	struct choices c;

	read_choices(s->acp, &c);
	add_config(s, w, &c);
	ar_api_fini(&c.settings);
}

void ar_acp_set_mode(struct ar_acp *a, const struct ar_acp_request *r)
{
	struct ar_acp_session *s = ar_acp_session_of(a, r);
	struct ar_jw w;

	if (!s)
		return;
	if (!choose(s, AR_STR("mode"), ar_api_str(r->params, "modeId"))) {
		ar_acp_error(a, r->id, AR_ACP_INVALID_PARAMS, "the session has no such mode");
		return;
	}
	ar_acp_result_empty(a, r->id);
	w = ar_acp_update(s, "config_option_update");
	show_config(s, &w);
	ar_acp_end_update(s, &w);
}

void ar_acp_set_option(struct ar_acp *a, const struct ar_acp_request *r)
{
	struct ar_acp_session *s = ar_acp_session_of(a, r);
	struct ar_str id = ar_api_str(r->params, "configId");
	struct ar_jw w;

	if (!s)
		return;
	if (!choose(s, id, ar_api_str(r->params, "value"))) {
		ar_acp_error(a, r->id, AR_ACP_INVALID_PARAMS, "the session has no such option or value");
		return;
	}
	w = ar_acp_result(a, r->id);
	ar_jw_open(&w);
	show_config(s, &w);
	ar_jw_close(&w);
	ar_acp_end(a, &w);
	if (!ar_str_is(id, "mode"))
		return;
	w = ar_acp_update(s, "current_mode_update");
	ar_jw_mstr(&w, "currentModeId", current(&s->mode));
	ar_acp_end_update(s, &w);
}
