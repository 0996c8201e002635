/* What administrators ask. API tokens: create, list, rotate, revoke, through core/access. They are rows
 * of the store and belong to no session, so any node answers. No receipt holds these replies: a secret
 * is in one reply and nowhere else. */
#include "access.h"
#include "control_priv.h"

#include <string.h>

#define GRACE_SECONDS 3600
#define SECOND ((ar_usec)1000000)

static void write_record(const struct ar_token *t, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "tokenId", ar_str_from(t->id));
	ar_jw_mstr(w, "tenant", ar_str_from(t->tenant));
	ar_jw_mstr(w, "name", ar_str_from(t->name));
	ar_jw_mstr(w, "owner", ar_str_from(t->owner));
	ar_jw_mstr(w, "workerId", ar_str_from(t->worker));
	ar_jw_key(w, "scopes");
	ar_scopes_write(t->rights, w);
	ar_jw_mtime(w, "createdAt", t->created);
	ar_jw_mtime(w, "expiresAt", t->expires);
	ar_jw_mtime(w, "lastUsedAt", t->used);
	ar_jw_mtime(w, "revokedAt", t->revoked);
	ar_jw_close(w);
}

struct change {
	struct ar_token_change base;
	struct ar_call *call;
};

static void changed(struct ar_token_change *base)
{
	struct ar_call *c = AR_CONTAINER_OF(base, struct change, base)->call;
	struct ar_jw w = ar_jw(&c->reply);

	if (base->status != AR_OK) {
		ar_call_fail(c, &base->err);
		return;
	}
	ar_jw_open(&w);
	if (base->act == AR_TOKEN_REVOKE)
		ar_jw_mstr(&w, "result", base->is_repeat ? AR_STR("no_op") : AR_STR("revoked"));
	else if (base->text[0])
		ar_jw_mstr(&w, "token", ar_str_from(base->text));
	ar_jw_key(&w, "record");
	write_record(base->token, &w);
	ar_jw_close(&w);
	explicit_bzero(base->text, sizeof(base->text));
	ar_call_done(c, 200);
}

static struct ar_token_change *begin(struct ar_call *c, enum ar_token_act act)
{
	struct change *change = ar_arena_alloc(&c->arena, sizeof(*change));

	change->call = c;
	c->from.request_id = ar_engine_mask(c->control->engine, c->from.request_id, &c->arena);
	change->base =
		(struct ar_token_change){ .act = act, .who = c->who, .from = &c->from, .done = changed };
	return &change->base;
}

static bool is_served(struct ar_call *c)
{
	if (c->control->access)
		return true;
	ar_call_refuse(c, AR_ERR_UNAVAILABLE, "this server has no tokens");
	return false;
}

/* ---- create ---- */

static enum ar_status read_scopes(struct ar_texts scopes, unsigned *ret, struct ar_error *err)
{
	for (size_t i = 0; i < scopes.count; i++) {
		unsigned right = ar_scope_parse(scopes.at[i]);

		if (!right)
			return ar_refuse(err, AR_ERR_INVALID_INPUT,
					 "scopes are read, submit, decide, worker and admin");
		*ret |= right;
	}
	return AR_OK;
}

void ar_query_create_token(struct ar_call *c)
{
	const struct ar_cmd_create_token_in *in = c->input;
	struct ar_token_change *change = begin(c, AR_TOKEN_CREATE);
	struct ar_error err;

	if (!is_served(c))
		return;
	if (read_scopes(in->scopes, &change->rights, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	change->name = in->name;
	change->tenant = in->tenant;
	change->owner = in->owner;
	change->expires = in->expires_at;
	change->key = in->idempotency_key;
	ar_access_change(c->control->access, change);
}

/* ---- rotate, revoke ---- */

void ar_query_rotate_token(struct ar_call *c)
{
	const struct ar_cmd_rotate_token_in *in = c->input;
	struct ar_token_change *change = begin(c, AR_TOKEN_ROTATE);

	if (!is_served(c))
		return;
	change->id = in->token_id;
	change->grace = (in->grace_seconds.set ? in->grace_seconds.v : GRACE_SECONDS) * SECOND;
	ar_access_change(c->control->access, change);
}

void ar_query_revoke_token(struct ar_call *c)
{
	const struct ar_cmd_revoke_token_in *in = c->input;
	struct ar_token_change *change = begin(c, AR_TOKEN_REVOKE);

	if (!is_served(c))
		return;
	change->id = in->token_id;
	ar_access_change(c->control->access, change);
}

/* ---- list ---- */

void ar_query_list_tokens(struct ar_call *c)
{
	const struct ar_cmd_list_tokens_in *in = c->input;
	struct ar_token_query q = { .who = c->who,
				    .tenant = in->tenant,
				    .after = in->cursor,
				    .with_dead = in->include_ended.set && in->include_ended.v };
	size_t limit = ar_call_limit(in->limit, AR_LIST_DEFAULT, AR_LIST_MAX), count;
	const struct ar_token **found = ar_arena_alloc(&c->arena, (limit + 1) * sizeof(*found));
	struct ar_jw w = ar_jw(&c->reply);

	if (!is_served(c))
		return;
	count = ar_access_list(c->control->access, &q, found, limit + 1);
	ar_jw_open(&w);
	ar_jw_key(&w, "tokens");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < count && i < limit; i++)
		write_record(found[i], &w);
	ar_jw_close_array(&w);
	if (count > limit)
		ar_jw_mstr(&w, "nextCursor", ar_str_from(found[limit - 1]->id));
	ar_jw_close(&w);
	ar_call_done(c, 200);
}

/* ---- settings: the whole server's, so only its operator reads them ---- */

void ar_control_show_settings(struct ar_control *c, ar_control_settings_fn *show, void *arg)
{
	c->show_settings = show;
	c->settings_arg = arg;
}

void ar_query_get_settings(struct ar_call *c)
{
	struct ar_jw w = ar_jw(&c->reply);

	if (!ar_principal_is_operator(c->who)) {
		ar_call_refuse(c, AR_ERR_NOT_AUTHORIZED,
			       "settings are read by the operator, over the server's unix socket");
		return;
	}
	if (!c->control->show_settings) {
		ar_call_refuse(c, AR_ERR_UNAVAILABLE, "this server was not started from settings");
		return;
	}
	ar_jw_open(&w);
	c->control->show_settings(c->control->settings_arg, &w);
	ar_jw_close(&w);
	ar_call_done(c, 200);
}
