/* See oidc.h. A token whose key is not known waits for one fetch, if none was made a moment ago; then
 * it is decided from what there is. */
#include "oidc.h"
#include "catalog.h"
#include "key_source.h"
#include "list.h"
#include "mem.h"

#define WAITING_MAX 1024 /* entries that wait for a fetch */

struct ar_oidc {
	struct ar_auth auth;
	struct ar_oidc_options o;
	struct ar_key_source source;
	struct ar_json_parser *json;
	struct ar_list waiting; /* struct waiting */
	size_t waiting_count;
};

/* In the arena of the request. */
struct waiting {
	struct ar_list node;
	struct ar_auth_request *request;
	struct ar_jwt token;
};

static struct ar_oidc *oidc_of(struct ar_auth *auth)
{
	return AR_CONTAINER_OF(auth, struct ar_oidc, auth);
}

static void refuse_request(struct ar_auth_request *r, uint16_t code, const char *why)
{
	r->status = ar_refuse(&r->err, code, "%s", why);
	r->done(r);
}

static void check_claims(struct ar_oidc *o, struct ar_auth_request *r, const struct ar_jwt *t)
{
	ar_usec now = o->o.clock->wall(o->o.clock);
	struct ar_principal who;
	struct ar_json claims;
	const char *why = "the claims of the signed token are no JSON object";

	if (!ar_jwks_verify(&o->source.keys, t)) {
		refuse_request(r, AR_ERR_AUTH_FAILED,
			       "the signature of the token does not match a key of the issuer");
		return;
	}
	if (ar_json_parse(o->json, t->claims, &claims, NULL) != AR_OK ||
	    !ar_claims_check(&o->o.rules, claims, now, r->arena, &who, &why)) {
		refuse_request(r, AR_ERR_AUTH_FAILED, why);
		return;
	}
	r->who = who;
	r->status = AR_OK;
	r->done(r);
}

static void decide_token(struct ar_oidc *o, struct ar_auth_request *r, const struct ar_jwt *t)
{
	if (!ar_key_source_is_good(&o->source))
		refuse_request(r, AR_ERR_OVERLOADED, "the keys of the issuer cannot be read now");
	else
		check_claims(o, r, t);
}

static void on_fetched(struct ar_key_source *s)
{
	struct ar_oidc *o = AR_CONTAINER_OF(s, struct ar_oidc, source);
	struct ar_list now, *node;

	if (s->why[0] && o->o.log)
		o->o.log(o->o.log_arg, s->why);
	ar_list_init(&now);
	ar_list_splice(&now, &o->waiting);
	while ((node = ar_list_pop(&now))) {
		struct waiting *w = AR_CONTAINER_OF(node, struct waiting, node);

		o->waiting_count--;
		decide_token(o, w->request, &w->token);
	}
}

static void wait_for_keys(struct ar_oidc *o, struct ar_auth_request *r, const struct ar_jwt *t)
{
	struct waiting *w = ar_arena_alloc(r->arena, sizeof *w);

	w->request = r;
	w->token = *t;
	ar_list_push(&o->waiting, &w->node);
	o->waiting_count++;
}

static void authenticate(struct ar_auth *auth, struct ar_auth_request *r)
{
	struct ar_oidc *o = oidc_of(auth);
	const char *why = NULL;
	struct ar_jwt t;
	bool is_known;

	if (!ar_jwt_parse(o->json, r->credentials.bearer, r->arena, &t, &why)) {
		r->status =
			ar_refuse(&r->err, AR_ERR_AUTH_FAILED, "the bearer token is not accepted: %s", why);
		r->done(r);
		return;
	}
	is_known = ar_key_source_is_good(&o->source) && ar_jwks_has(&o->source.keys, &t);
	if (!is_known && o->waiting_count < WAITING_MAX && ar_key_source_refetch(&o->source))
		wait_for_keys(o, r, &t);
	else
		decide_token(o, r, &t);
}

static const struct ar_auth_vtable vtable = { .authenticate = authenticate };

enum ar_status ar_oidc_open(uv_loop_t *loop, const struct ar_oidc_options *options, struct ar_oidc **ret,
			    struct ar_error *err)
{
	struct ar_oidc *o = ar_new0(sizeof *o);
	struct ar_key_source_options from = { .issuer = options->issuer,
					      .keys_url = options->keys_url,
					      .ca_file = options->ca_file,
					      .refresh_s = options->refresh_s,
					      .stale_s = options->stale_s };

	o->auth.v = &vtable;
	o->o = *options;
	ar_list_init(&o->waiting);
	o->source.on_fetched = on_fetched;
	if (ar_key_source_open(&o->source, loop, &from, err) != AR_OK) {
		ar_free(o);
		return AR_E_INVALID;
	}
	o->json = ar_json_parser_new();
	*ret = o;
	return AR_OK;
}

static void on_closed(struct ar_key_source *s)
{
	struct ar_oidc *o = AR_CONTAINER_OF(s, struct ar_oidc, source);

	ar_json_parser_free(o->json);
	ar_free(o);
}

void ar_oidc_close(struct ar_oidc *o)
{
	struct ar_list *node;

	while ((node = ar_list_pop(&o->waiting)))
		refuse_request(AR_CONTAINER_OF(node, struct waiting, node)->request, AR_ERR_OVERLOADED,
			       "the server is stopping");
	o->source.on_closed = on_closed;
	ar_key_source_close(&o->source);
}

struct ar_auth *ar_oidc_auth(struct ar_oidc *o)
{
	return &o->auth;
}
