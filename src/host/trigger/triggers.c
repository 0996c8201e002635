/* See triggers.h. */
#include "trigger/triggers.h"

#include "auth.h"
#include "catalog.h"
#include "clock.h"
#include "hash.h"
#include "id.h"
#include "json.h"
#include "mem.h"
#include "sign.h"
#include "tenant.h"
#include "trigger/template.h"

#include <string.h>

#define NAME_MAX_LEN 48 /* it is in the source of the turn and the actor of its facts */
#define TOKEN_MIN 16
#define DELIVERY_MAX 256
#define MARK_DIGITS 16
#define TOLERANCE_S 300 /* between a sender's clock and ours */
#define SECOND ((ar_usec)1000000)
#define MINUTE (60 * SECOND)

/* Requests that may come now, times a minute: it grows by `rate` per microsecond. */
struct allowance {
	ar_usec at;
	int64_t left;
};

struct ar_host_triggers {
	const struct ar_config *config;
	struct ar_json_parser *json;
	struct allowance *allowances; /* beside the settings */
};

/* ---- settings ---- */

static bool is_object(const char *text)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_json v;
	bool ret = ar_json_parse(json, ar_str_from(text), &v, NULL) == AR_OK &&
		   ar_json_type(v) == AR_JSON_OBJECT;

	ar_json_parser_free(json);
	return ret;
}

static enum ar_status check_job(const struct ar_config_triggers *t, struct ar_error *err)
{
	if (*t->items && !ar_trigger_is_path(ar_str_from(t->items)))
		return ar_fail(err, AR_E_INVALID,
			       "triggers: '%.64s': items '%.100s' is neither body nor the path of a member",
			       t->name, t->items);
	if (*t->output_schema && !*t->items)
		return ar_fail(err, AR_E_INVALID,
			       "triggers: '%.64s': output_schema is for jobs; name the items, too", t->name);
	if (*t->output_schema && !is_object(t->output_schema))
		return ar_fail(err, AR_E_INVALID, "triggers: '%.64s': output_schema is not a JSON object",
			       t->name);
	return AR_OK;
}

static enum ar_status check_one(const struct ar_config_triggers *t, bool has_secrets, struct ar_error *err)
{
	bool has_token = *t->token, has_secret = *t->secret;
	struct ar_str name = ar_str_from(t->name);
	struct ar_error why = { 0 };

	if (name.len > NAME_MAX_LEN || !ar_id_acceptable(name))
		return ar_fail(err, AR_E_INVALID,
			       "triggers: the name '%.64s' is not 1 to %d of A-Z a-z 0-9 . _ : -", t->name,
			       NAME_MAX_LEN);
	if ((has_token && has_secret) || (has_secrets && !has_token && !has_secret))
		return ar_fail(err, AR_E_INVALID,
			       "triggers: '%.64s' needs a token or a secret, and only one of them", t->name);
	if ((has_token && strlen(t->token) < TOKEN_MIN) || (has_secret && strlen(t->secret) < TOKEN_MIN))
		return ar_fail(err, AR_E_INVALID,
			       "triggers: the token or secret of '%.64s' has fewer than %d bytes", t->name,
			       TOKEN_MIN);
	if (*t->workspace && ar_str_absent(ar_workspace_key_in(ar_str_from(t->workspace))))
		return ar_fail(err, AR_E_INVALID,
			       "triggers: '%.64s': workspace '%.100s' is not the id of one (ws_...)", t->name,
			       t->workspace);
	if (ar_trigger_template_check(ar_str_from(t->text), &why) != AR_OK)
		return ar_fail(err, AR_E_INVALID, "triggers: the text of '%.64s': %.200s", t->name, why.msg);
	return check_job(t, err);
}

enum ar_status ar_host_triggers_check(const struct ar_config *c, bool has_secrets, struct ar_error *err)
{
	for (size_t i = 0; i < c->triggers_count; i++) {
		if (check_one(&c->triggers[i], has_secrets, err) != AR_OK)
			return err->status;
	}
	return AR_OK;
}

/* ---- who asks ---- */

static bool has_key(struct ar_str shown, const char *key)
{
	return !ar_str_absent(shown) && ar_hash_is_same(shown, ar_str_from(key));
}

static bool is_fresh(struct ar_str timestamp, int64_t *ret)
{
	int64_t now = ar_clock_system()->wall(ar_clock_system()) / SECOND;

	return !ar_str_absent(timestamp) && ar_str_to_i64(timestamp, ret) && *ret > now - TOLERANCE_S &&
	       *ret < now + TOLERANCE_S;
}

static bool is_signed(const struct ar_http_trigger *t, struct ar_str secret, struct ar_arena *a)
{
	struct ar_str key;
	int64_t timestamp;

	if (ar_str_absent(t->webhook_signature))
		return ar_webhook_is_signed_hex(secret, t->body, t->hub_signature);
	return !ar_str_absent(t->webhook_id) && is_fresh(t->webhook_timestamp, &timestamp) &&
	       ar_webhook_key(secret, a, &key) &&
	       ar_webhook_is_signed(key, t->webhook_id, timestamp, t->body, t->webhook_signature);
}

/* A name that is not there takes as long as one that is. */
static const struct ar_config_triggers *find_trigger(const struct ar_config *c,
						     const struct ar_http_trigger *t, struct ar_arena *a)
{
	static const struct ar_config_triggers nobody = { .token = "",
							  .secret = "no key at all, but a long one" };
	const struct ar_config_triggers *found = NULL, *tried;
	bool is_right;

	for (size_t i = 0; i < c->triggers_count; i++) {
		if (ar_str_is(t->name, c->triggers[i].name))
			found = &c->triggers[i];
	}
	tried = found ? found : &nobody;
	if (*tried->token)
		is_right = has_key(t->bearer, tried->token) || has_key(t->gitlab_token, tried->token);
	else
		is_right = *tried->secret && is_signed(t, ar_str_from(tried->secret), a);
	return is_right ? found : NULL;
}

static bool take_allowance(struct allowance *w, int64_t rate)
{
	ar_usec now = ar_clock_system()->mono(ar_clock_system());

	if (!w->at || now - w->at >= MINUTE)
		w->left = rate * MINUTE;
	else
		w->left += rate * (now - w->at);
	if (w->left > rate * MINUTE)
		w->left = rate * MINUTE;
	w->at = now;
	if (w->left < MINUTE)
		return false;
	w->left -= MINUTE;
	return true;
}

/* ---- what it becomes ---- */

/* What makes a repeat the same turn. With a signature of Standard Webhooks it is what was signed. */
static struct ar_str delivery_of(const struct ar_http_trigger *t)
{
	if (!ar_str_absent(t->webhook_id))
		return t->webhook_id;
	return ar_str_absent(t->idempotency_key) ? t->hub_delivery : t->idempotency_key;
}

static void write_options(const struct ar_config_triggers *c, struct ar_jw *w)
{
	static const char *const modes[] = {
		[AR_CONFIG_TRIGGERS_MODE_UNTRUSTED] = "untrusted",
		[AR_CONFIG_TRIGGERS_MODE_ON_REQUEST] = "on_request",
		[AR_CONFIG_TRIGGERS_MODE_ON_FAILURE] = "on_failure",
		[AR_CONFIG_TRIGGERS_MODE_NEVER] = "never",
		[AR_CONFIG_TRIGGERS_MODE_PLAN] = "plan",
		[AR_CONFIG_TRIGGERS_MODE_AUTO] = "auto",
	};

	ar_jw_key(w, "options");
	ar_jw_open(w);
	if (*c->model)
		ar_jw_mstr(w, "model", ar_str_from(c->model));
	if (c->mode != AR_CONFIG_TRIGGERS_MODE_DEFAULT)
		ar_jw_mstr(w, "mode", ar_str_from(modes[c->mode]));
	ar_jw_close(w);
}

static struct ar_str hash_of(struct ar_arena *a, const struct ar_str *parts, size_t count)
{
	struct ar_buf text = { 0 };
	struct ar_str ret;

	for (size_t i = 0; i < count; i++) {
		ar_buf_addf(&text, "%zu:", parts[i].len);
		ar_buf_adds(&text, parts[i]);
	}
	ret = ar_hash_digits(a, ar_buf_str(&text), AR_HASH_HEX);
	ar_buf_fini(&text);
	return ret;
}

struct made {
	struct ar_str text, items; /* JSON array; absent: it is a turn */
};

/* The members of submit_turn and create_job that differ. */
static void write_work(const struct ar_config_triggers *c, const struct made *m, struct ar_arena *a,
		       struct ar_jw *w)
{
	if (ar_str_absent(m->items)) {
		ar_jw_mstr(w, "text", m->text);
		ar_jw_mstr(w, "source", ar_arena_fmt(a, "trigger:%s", c->name));
		return;
	}
	ar_jw_mstr(w, "instruction", m->text);
	ar_jw_mstr(w, "input", m->items);
	ar_jw_mstr(w, "inputFormat", AR_STR("json"));
	ar_jw_mint(w, "concurrency", c->concurrency);
	ar_jw_mint(w, "maxAttempts", c->max_attempts);
	if (c->max_runtime_ms > 0)
		ar_jw_mint(w, "maxRuntime", c->max_runtime_ms);
	if (*c->output_schema)
		ar_jw_mraw(w, "outputSchema", ar_str_from(c->output_schema));
}

static struct ar_str input_of(const struct ar_config_triggers *c, struct ar_str delivery,
			      const struct made *m, struct ar_arena *a)
{
	struct ar_str id = hash_of(a, &delivery, 1), ret;
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);

	ar_jw_open(&w);
	ar_jw_key(&w, "createPolicy");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "title", ar_str_from(c->name));
	if (*c->workspace)
		ar_jw_mstr(&w, "workspaceId", ar_str_from(c->workspace));
	ar_jw_close(&w);
	write_work(c, m, a, &w);
	write_options(c, &w);
	ar_jw_mstr(&w, "idempotencyKey", ar_arena_fmt(a, "trigger:%s:%.*s", c->name, AR_STR_ARG(id)));
	ar_jw_close(&w);
	ret = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return ret;
}

static const struct ar_principal *principal_of(const struct ar_config_triggers *c, struct ar_arena *a)
{
	struct ar_principal *who = ar_arena_alloc(a, sizeof(*who));
	struct ar_str actor = ar_arena_fmt(a, "trigger:%s", c->name);

	*who = (struct ar_principal){ .tenant = ar_arena_str(a, ar_str_from(c->tenant)),
				      .actor = actor,
				      .person = actor,
				      .token = actor,
				      .rights = AR_RIGHT_SUBMIT };
	return who;
}

static enum ar_status check_request(const struct ar_config_triggers *c, const struct ar_http_trigger *t,
				    struct allowance *allowance, struct ar_error *err)
{
	struct ar_str delivery = delivery_of(t);

	if (!take_allowance(allowance, c->rate))
		return ar_refuse(err, AR_ERR_RATE_LIMITED, "the trigger accepts %lld requests per minute",
				 (long long)c->rate);
	if (t->body.len > (size_t)c->max_body_bytes)
		return ar_refuse(err, AR_ERR_PAYLOAD_TOO_LARGE, "the trigger accepts bodies up to %lld bytes",
				 (long long)c->max_body_bytes);
	if (ar_str_empty(delivery) || delivery.len > DELIVERY_MAX)
		return ar_refuse(
			err, AR_ERR_INVALID_INPUT,
			"send the id of the delivery, up to %d bytes, in webhook-id, Idempotency-Key or "
			"X-GitHub-Delivery: a repeat then starts no second turn",
			DELIVERY_MAX);
	return AR_OK;
}

/* The text, and the items if it is for a job. */
static enum ar_status make_texts(const struct ar_config_triggers *c, const struct ar_trigger_text *text,
				 struct ar_buf *out, struct ar_buf *items, struct ar_error *err)
{
	size_t most = *c->items ? AR_TRIGGER_INSTRUCTION_MAX : AR_TRIGGER_TEXT_MAX;

	if (!ar_trigger_text(text, out) || out->len > most)
		return ar_refuse(err, AR_ERR_PAYLOAD_TOO_LARGE, "the text would be too large");
	return *c->items ? ar_trigger_items(text, ar_str_from(c->items), items, err) : AR_OK;
}

static enum ar_status make_input(const struct ar_config_triggers *c, const struct ar_http_trigger *t,
				 const struct ar_trigger_text *text, struct ar_arena *a,
				 struct ar_http_triggered *ret, struct ar_error *err)
{
	struct ar_buf out = { 0 }, items = { 0 };
	enum ar_status rc = make_texts(c, text, &out, &items, err);
	const struct made m = { ar_buf_str(&out), *c->items ? ar_buf_str(&items) : AR_STR_NONE };

	if (rc == AR_OK)
		*ret = (struct ar_http_triggered){ .who = principal_of(c, a),
						   .command =
							   *c->items ? AR_CMD_CREATE_JOB : AR_CMD_SUBMIT_TURN,
						   .input = input_of(c, delivery_of(t), &m, a) };
	ar_buf_fini(&out);
	ar_buf_fini(&items);
	return rc;
}

enum ar_status ar_host_trigger(struct ar_host_triggers *all, const struct ar_http_trigger *t,
			       struct ar_arena *a, struct ar_http_triggered *ret, struct ar_error *err)
{
	const struct ar_config_triggers *c = find_trigger(all->config, t, a);
	struct ar_trigger_text text;

	if (!c)
		return ar_refuse(err, AR_ERR_AUTH_FAILED,
				 "there is no such trigger, or its token or signature is not right");
	if (check_request(c, t, &all->allowances[c - all->config->triggers], err) != AR_OK)
		return AR_E_REFUSED;
	text = (struct ar_trigger_text){ .template = ar_str_from(c->text),
					 .name = ar_str_from(c->name),
					 .work = *c->items ? "job" : "turn" };
	if (ar_json_parse(all->json, t->body, &text.body, err) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_JSON, "the body is not JSON");
	/* Who wrote a member of the body does not know the key. */
	text.mark = ar_str_sub(hash_of(a,
				       (struct ar_str[]){ ar_str_from(*c->token ? c->token : c->secret),
							  delivery_of(t), t->body },
				       3),
			       0, MARK_DIGITS);
	return make_input(c, t, &text, a, ret, err);
}

/* ---- life ---- */

struct ar_host_triggers *ar_host_triggers_new(const struct ar_config *c)
{
	struct ar_host_triggers *all;

	if (c->triggers_count == 0)
		return NULL;
	all = ar_new0(sizeof(*all));
	all->config = c;
	all->json = ar_json_parser_new();
	all->allowances = ar_new0(c->triggers_count * sizeof(*all->allowances));
	return all;
}

void ar_host_triggers_free(struct ar_host_triggers *all)
{
	if (!all)
		return;
	ar_json_parser_free(all->json);
	ar_free(all->allowances);
	ar_free(all);
}
