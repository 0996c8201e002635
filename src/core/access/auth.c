/* The auth port: who the caller is, and whether one more command is admitted. A token of ours is
 * decided from memory; one that is not known waits for a look at the store where other nodes may
 * have made it; other bearers are someone else's to judge. What is wrong with a token is said
 * only to who knows its secret. */
#include "access_priv.h"

#include <stdio.h>

#define LOOK_EVERY ((ar_usec)200000) /* for unknown tokens: a guesser costs no more than this */

static struct ar_access *access_of(struct ar_auth *auth)
{
	return AR_CONTAINER_OF(auth, struct ar_access, auth);
}

/* ---- authentication ---- */

static void note_refusal(struct ar_access *a, const struct ar_auth_request *r)
{
	struct ar_audit audit = { .tenant = AR_STR(AR_TENANT_LOCAL),
				  .actor = AR_STR("unknown"),
				  .code = r->err.code,
				  .message = ar_str_from(r->err.msg),
				  .count = 1,
				  .from = r->credentials.from };

	if (!ar_str_absent(r->who.tenant)) {
		audit.tenant = r->who.tenant;
		audit.actor = r->who.actor;
		audit.token = r->who.token;
	}
	ar_refusals_add(&a->refusals, &audit, ar_access_mono(a));
}

static void finish_request(struct ar_access *a, struct ar_auth_request *r)
{
	if (r->status != AR_OK && r->err.code == AR_ERR_AUTH_FAILED)
		note_refusal(a, r);
	r->done(r);
}

static void refuse_request(struct ar_access *a, struct ar_auth_request *r, uint16_t code, const char *why)
{
	r->status = ar_refuse(&r->err, code, "%s", why);
	finish_request(a, r);
}

static bool is_own_user(const struct ar_access *a, const struct ar_auth_request *r)
{
	return r->credentials.uid == a->o.uid || r->credentials.uid == 0;
}

/* All users who are let in as the operator may do the same, but each is somebody of their own. */
static struct ar_str person_of(const struct ar_access *a, struct ar_auth_request *r)
{
	if (is_own_user(a, r))
		return AR_STR(AR_PERSON_LOCAL);
	return r->credentials.uid == (unsigned)-1 ? AR_STR_NONE
						  : ar_arena_fmt(r->arena, "uid:%u", r->credentials.uid);
}

static void admit_operator(struct ar_access *a, struct ar_auth_request *r)
{
	r->who = (struct ar_principal){ .tenant = AR_STR(AR_TENANT_LOCAL),
					.actor = AR_STR("local"),
					.person = person_of(a, r),
					.rights = AR_RIGHT_ALL };
	r->status = AR_OK;
	finish_request(a, r);
}

static ar_usec first_end(const struct ar_token *t, const struct ar_token_secret *s)
{
	return s->until && (!t->expires || s->until < t->expires) ? s->until : t->expires;
}

static void fill_principal(struct ar_auth_request *r, const struct ar_token *t,
			   const struct ar_token_secret *s)
{
	r->who = (struct ar_principal){
		.tenant = ar_arena_str(r->arena, ar_str_from(t->tenant)),
		.actor = ar_arena_fmt(r->arena, "token:%s", t->id),
		.person = t->owner ? ar_arena_str(r->arena, ar_str_from(t->owner)) : AR_STR_NONE,
		.token = ar_arena_str(r->arena, ar_str_from(t->id)),
		.worker = t->worker ? ar_arena_str(r->arena, ar_str_from(t->worker)) : AR_STR_NONE,
		.is_enrolment = t->is_enrolment,
		.rights = t->rights,
		.until = first_end(t, s),
		.mark = ar_token_mark(s)
	};
}

/* From what is in memory. */
static void decide_token(struct ar_access *a, struct ar_auth_request *r)
{
	struct ar_str id = AR_STR_NONE, secret = AR_STR("");
	ar_usec now = ar_access_wall(a);
	struct ar_token *t =
		ar_token_parse(r->credentials.bearer, &id, &secret) ? ar_book_find(&a->book, id) : NULL;
	const struct ar_token_secret *s = ar_token_match(t, secret, now);

	if (!s) {
		refuse_request(a, r, AR_ERR_AUTH_FAILED, "the token is unknown; create another");
		return;
	}
	fill_principal(r, t, s);
	if (!ar_token_is_live(t, now)) {
		refuse_request(a, r, AR_ERR_AUTH_FAILED,
			       t->revoked ? "the token was revoked; create another"
					  : "the token has expired; create another");
		return;
	}
	ar_book_touch(&a->book, t);
	r->status = AR_OK;
	finish_request(a, r);
}

static bool may_be_new(struct ar_access *a, const struct ar_auth_request *r)
{
	struct ar_str id, secret;

	return a->o.is_shared && ar_token_parse(r->credentials.bearer, &id, &secret) &&
	       !ar_book_find(&a->book, id) && (a->book.is_loading || ar_access_mono(a) >= a->next_look);
}

static void wait_for_tokens(struct ar_access *a, struct ar_auth_request *r)
{
	struct ar_asking *asking = ar_arena_alloc(r->arena, sizeof(*asking));

	asking->request = r;
	ar_list_push(&a->asking, &asking->node);
	a->next_look = ar_access_mono(a) + LOOK_EVERY;
	ar_book_refresh(&a->book);
}

void ar_access_ask_again(struct ar_access *a)
{
	struct ar_list waiting, *node;

	ar_list_init(&waiting);
	ar_list_splice(&waiting, &a->asking);
	while ((node = ar_list_pop(&waiting))) {
		struct ar_auth_request *r = AR_CONTAINER_OF(node, struct ar_asking, node)->request;

		if (a->book.is_fresh)
			decide_token(a, r);
		else
			refuse_request(a, r, AR_ERR_STORAGE_UNAVAILABLE,
				       "the tokens cannot be read now; repeat later");
	}
}

/* What the adapter of other bearers decided. It fills the members of the request itself, so
 * nothing is left but the audit. */
struct delegated {
	struct ar_access *access;
	void (*done)(struct ar_auth_request *r);
};

static void on_delegated(struct ar_auth_request *r)
{
	struct delegated *p = r->work;

	r->done = p->done;
	r->work = NULL;
	finish_request(p->access, r);
}

static void admit_bearer(struct ar_access *a, struct ar_auth_request *r)
{
	struct delegated *p;

	if (ar_str_starts(r->credentials.bearer, AR_STR("art_"))) {
		if (!a->book.is_loaded)
			refuse_request(a, r, AR_ERR_STORAGE_UNAVAILABLE,
				       "the tokens are not loaded yet; repeat in a moment");
		else if (may_be_new(a, r))
			wait_for_tokens(a, r);
		else
			decide_token(a, r);
		return;
	}
	if (!a->o.bearers) {
		refuse_request(a, r, AR_ERR_AUTH_FAILED,
			       "the bearer token is not a token of this server (art_...), and no issuer is "
			       "configured (auth.jwt_issuer)");
		return;
	}
	p = ar_arena_alloc(r->arena, sizeof(*p));
	*p = (struct delegated){ .access = a, .done = r->done };
	r->work = p;
	r->done = on_delegated;
	a->o.bearers->v->authenticate(a->o.bearers, r);
}

static void admit_certificate(struct ar_access *a, struct ar_auth_request *r)
{
	for (size_t i = 0; i < a->o.certificate_count; i++) {
		const struct ar_access_certificate *c = &a->o.certificates[i];

		if (!ar_str_eq(c->subject, r->credentials.certificate))
			continue;
		r->who = (struct ar_principal){ .tenant = c->tenant,
						.actor = ar_arena_fmt(r->arena, "certificate:%.*s",
								      AR_STR_ARG(c->subject)),
						.rights = c->rights };
		r->who.token = r->who.person = r->who.actor;
		r->status = AR_OK;
		finish_request(a, r);
		return;
	}
	refuse_request(
		a, r, AR_ERR_AUTH_FAILED,
		"the subject of the certificate is not in the list certificates; send a token as well");
}

static void admit_socket_user(struct ar_access *a, struct ar_auth_request *r)
{
	if (is_own_user(a, r) || a->o.is_socket_open || (a->o.is_group_in && r->credentials.is_in_group))
		admit_operator(a, r);
	else
		refuse_request(
			a, r, AR_ERR_AUTH_FAILED,
			"the socket is for the server's own user and root (auth.socket); send a token, which "
			"they create with `agentctl token create`");
}

/* TCP has no permissions of its own, so every user of the machine gets here. */
static void admit_loopback_user(struct ar_access *a, struct ar_auth_request *r)
{
	if (is_own_user(a, r)) {
		admit_operator(a, r);
		return;
	}
	refuse_request(
		a, r, AR_ERR_AUTH_FAILED,
		r->credentials.uid == (unsigned)-1
			? "the kernel does not report the user of this connection, so a token is needed: "
			  "Authorization: Bearer art_...; the server's own user creates one with "
			  "`agentctl token create`"
			: "over TCP only the server's own user and root need no token; send one: "
			  "Authorization: Bearer art_...; the server's own user creates one with "
			  "`agentctl token create`");
}

static void authenticate(struct ar_auth *auth, struct ar_auth_request *r)
{
	struct ar_access *a = access_of(auth);

	r->who = (struct ar_principal){ 0 };
	if (!ar_str_absent(r->credentials.bearer))
		admit_bearer(a, r);
	else if (!ar_str_absent(r->credentials.certificate))
		admit_certificate(a, r);
	else if (r->credentials.is_unix)
		admit_socket_user(a, r);
	else if (r->credentials.is_loopback && !a->o.is_required)
		admit_loopback_user(a, r);
	else
		refuse_request(a, r, AR_ERR_AUTH_FAILED, "send a token: Authorization: Bearer art_...");
}

/* ---- limits and validity ---- */

static void note_limit(struct ar_access *a, const struct ar_principal *who, const struct ar_error *err)
{
	struct ar_audit audit = { .tenant = who->tenant,
				  .actor = who->actor,
				  .token = who->token,
				  .code = err->code,
				  .message = ar_str_from(err->msg),
				  .count = 1 };

	ar_refusals_add(&a->refusals, &audit, ar_access_mono(a));
}

static bool is_limited(const struct ar_principal *who)
{
	return who && !ar_str_absent(who->token);
}

static enum ar_status acquire(struct ar_auth *auth, const struct ar_principal *who, enum ar_auth_slot slot,
			      uint32_t *ret_retry_ms, struct ar_error *err)
{
	struct ar_access *a = access_of(auth);
	ar_usec now = ar_access_mono(a);
	enum ar_status st;

	*ret_retry_ms = 0;
	if (!is_limited(who))
		return AR_OK;
	st = ar_gauges_check(&a->by_token, who->token, slot, now, ret_retry_ms, err);
	if (st == AR_OK)
		st = ar_gauges_check(&a->by_tenant, who->tenant, slot, now, ret_retry_ms, err);
	if (st != AR_OK) {
		note_limit(a, who, err);
		return st;
	}
	ar_gauges_acquire(&a->by_token, who->token, slot);
	ar_gauges_acquire(&a->by_tenant, who->tenant, slot);
	return AR_OK;
}

static void release(struct ar_auth *auth, const struct ar_principal *who, enum ar_auth_slot slot)
{
	struct ar_access *a = access_of(auth);

	if (!is_limited(who))
		return;
	ar_gauges_release(&a->by_token, who->token, slot);
	ar_gauges_release(&a->by_tenant, who->tenant, slot);
}

static bool has_mark(const struct ar_token *t, uint64_t mark, ar_usec now)
{
	for (size_t i = 0; i < t->secret_count; i++) {
		const struct ar_token_secret *s = &t->secrets[i];

		if (ar_token_mark(s) == mark && (!s->until || s->until > now))
			return true;
	}
	return false;
}

static bool is_valid(struct ar_auth *auth, const struct ar_principal *who)
{
	struct ar_access *a = access_of(auth);
	ar_usec now = ar_access_wall(a);
	const struct ar_token *t;

	if (!is_limited(who))
		return true;
	if (who->until && who->until <= now)
		return false;
	if (!ar_str_starts(who->token, AR_STR("tok_")))
		return true;
	t = ar_book_find(&a->book, who->token);
	return t && ar_token_is_live(t, now) && has_mark(t, who->mark, now);
}

static void note_refused(struct ar_auth *auth, const struct ar_audit *audit)
{
	struct ar_access *a = access_of(auth);

	ar_refusals_add(&a->refusals, audit, ar_access_mono(a));
}

const struct ar_auth_vtable ar_access_auth_vtable = {
	.authenticate = authenticate,
	.acquire = acquire,
	.release = release,
	.is_valid = is_valid,
	.refused = note_refused,
};
