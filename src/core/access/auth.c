/* The door: who shows what, and whether one more is let in. A token of ours is decided from memory; one that is not known waits for a
 * look at the store where other nodes may have made it; other bearers are someone else's to judge. What is wrong with a token is said
 * only to who knows its secret. */
#include "access_priv.h"

#include <stdio.h>

#define LOOK_EVERY ((ar_usec)200000) /* for unknown tokens: a guesser costs no more than this */

static struct ar_access *access_of(struct ar_door *d)
{
	return AR_CONTAINER_OF(d, struct ar_access, door);
}

/* ---- admit ---- */

static void note_refusal(struct ar_access *a, const struct ar_entry *e)
{
	struct ar_audit audit = { .tenant = AR_STR(AR_TENANT_LOCAL),
				  .actor = AR_STR("unknown"),
				  .code = e->err.code,
				  .message = ar_str_from(e->err.msg),
				  .count = 1,
				  .from = e->shown.from };

	if (!ar_str_absent(e->who.tenant)) {
		audit.tenant = e->who.tenant;
		audit.actor = e->who.actor;
		audit.token = e->who.token;
	}
	ar_refusals_add(&a->refusals, &audit, ar_access_mono(a));
}

static void end(struct ar_access *a, struct ar_entry *e)
{
	if (e->status != AR_OK && e->err.code == AR_ERR_AUTH_FAILED)
		note_refusal(a, e);
	e->done(e);
}

static void refuse(struct ar_access *a, struct ar_entry *e, uint16_t code, const char *why)
{
	e->status = ar_refuse(&e->err, code, "%s", why);
	end(a, e);
}

static bool is_own_user(const struct ar_access *a, const struct ar_entry *e)
{
	return e->shown.uid == a->o.uid || e->shown.uid == 0;
}

/* All users who are let in as the operator may do the same, but each is somebody of their own. */
static struct ar_str person_of(const struct ar_access *a, struct ar_entry *e)
{
	if (is_own_user(a, e))
		return AR_STR(AR_PERSON_LOCAL);
	return e->shown.uid == (unsigned)-1 ? AR_STR_NONE : ar_arena_fmt(&e->arena, "uid:%u", e->shown.uid);
}

static void admit_operator(struct ar_access *a, struct ar_entry *e)
{
	e->who = (struct ar_principal){ .tenant = AR_STR(AR_TENANT_LOCAL),
					.actor = AR_STR("local"),
					.person = person_of(a, e),
					.rights = AR_RIGHT_ALL };
	e->status = AR_OK;
	end(a, e);
}

static ar_usec first_end(const struct ar_token *t, const struct ar_token_secret *s)
{
	return s->until && (!t->expires || s->until < t->expires) ? s->until : t->expires;
}

static void fill_principal(struct ar_entry *e, const struct ar_token *t, const struct ar_token_secret *s)
{
	e->who = (struct ar_principal){ .tenant = ar_arena_str(&e->arena, ar_str_from(t->tenant)),
					.actor = ar_arena_fmt(&e->arena, "token:%s", t->id),
					.person = t->owner ? ar_arena_str(&e->arena, ar_str_from(t->owner))
							   : AR_STR_NONE,
					.token = ar_arena_str(&e->arena, ar_str_from(t->id)),
					.rights = t->rights,
					.until = first_end(t, s),
					.mark = ar_token_mark(s) };
}

/* From what is in memory. */
static void decide(struct ar_access *a, struct ar_entry *e)
{
	struct ar_str id = AR_STR_NONE, secret = AR_STR("");
	ar_usec now = ar_access_wall(a);
	struct ar_token *t =
		ar_token_parse(e->shown.bearer, &id, &secret) ? ar_book_find(&a->book, id) : NULL;
	const struct ar_token_secret *s = ar_token_match(t, secret, now);

	if (!s) {
		refuse(a, e, AR_ERR_AUTH_FAILED, "the token is not known here");
		return;
	}
	fill_principal(e, t, s);
	if (!ar_token_is_live(t, now)) {
		refuse(a, e, AR_ERR_AUTH_FAILED,
		       t->revoked ? "the token was revoked" : "the token has expired");
		return;
	}
	ar_book_touch(&a->book, t);
	e->status = AR_OK;
	end(a, e);
}

static bool may_be_new(struct ar_access *a, const struct ar_entry *e)
{
	struct ar_str id, secret;

	return a->o.is_shared && ar_token_parse(e->shown.bearer, &id, &secret) &&
	       !ar_book_find(&a->book, id) && (a->book.is_loading || ar_access_mono(a) >= a->next_look);
}

static void ask(struct ar_access *a, struct ar_entry *e)
{
	struct ar_asking *asking = ar_arena_alloc(&e->arena, sizeof(*asking));

	asking->entry = e;
	e->work = asking;
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
		struct ar_entry *e = AR_CONTAINER_OF(node, struct ar_asking, node)->entry;

		e->work = NULL;
		if (a->book.is_fresh)
			decide(a, e);
		else
			refuse(a, e, AR_ERR_STORAGE_UNAVAILABLE, "the tokens cannot be read now");
	}
}

/* What the other door said, to who asked us. It fills the entry's own members, so nothing is left but the audit. */
struct passed_on {
	struct ar_access *access;
	void (*done)(struct ar_entry *e);
};

static void judged(struct ar_entry *e)
{
	struct passed_on *p = e->work;

	e->done = p->done;
	e->work = NULL;
	end(p->access, e);
}

static void admit_bearer(struct ar_access *a, struct ar_entry *e)
{
	struct passed_on *p;

	if (ar_str_starts(e->shown.bearer, AR_STR("art_"))) {
		if (!a->book.is_loaded)
			refuse(a, e, AR_ERR_STORAGE_UNAVAILABLE, "the tokens are not read yet");
		else if (may_be_new(a, e))
			ask(a, e);
		else
			decide(a, e);
		return;
	}
	if (!a->o.bearers) {
		refuse(a, e, AR_ERR_AUTH_FAILED,
		       "the bearer is no token of this server (art_...), and no issuer of others is set");
		return;
	}
	p = ar_arena_alloc(&e->arena, sizeof(*p));
	*p = (struct passed_on){ .access = a, .done = e->done };
	e->work = p;
	e->done = judged;
	a->o.bearers->v->admit(a->o.bearers, e);
}

static void admit_certificate(struct ar_access *a, struct ar_entry *e)
{
	for (size_t i = 0; i < a->o.certificate_count; i++) {
		const struct ar_access_certificate *c = &a->o.certificates[i];

		if (!ar_str_eq(c->subject, e->shown.certificate))
			continue;
		e->who = (struct ar_principal){ .tenant = c->tenant,
						.actor = ar_arena_fmt(&e->arena, "certificate:%.*s",
								      AR_STR_ARG(c->subject)),
						.rights = c->rights };
		e->who.token = e->who.person = e->who.actor;
		e->status = AR_OK;
		end(a, e);
		return;
	}
	refuse(a, e, AR_ERR_AUTH_FAILED,
	       "the certificate's subject is none that may come in; show a token as well");
}

static void admit_socket_user(struct ar_access *a, struct ar_entry *e)
{
	if (is_own_user(a, e) || a->o.is_socket_open || (a->o.is_group_in && e->shown.is_in_group))
		admit_operator(a, e);
	else
		refuse(a, e, AR_ERR_AUTH_FAILED,
		       "the socket is for the server's own user and root (auth.socket); show a token, which "
		       "they make with `agentctl token create`");
}

/* TCP has no permissions of its own, so every user of the machine gets here. */
static void admit_loopback_user(struct ar_access *a, struct ar_entry *e)
{
	if (is_own_user(a, e)) {
		admit_operator(a, e);
		return;
	}
	refuse(a, e, AR_ERR_AUTH_FAILED,
	       e->shown.uid == (unsigned)-1
		       ? "the kernel does not say which user connects, so show a token: Authorization: "
			 "Bearer "
			 "art_...; the server's own user makes one with `agentctl token create`"
		       : "over TCP only the server's own user and root need no token; show one: "
			 "Authorization: "
			 "Bearer art_...; the server's own user makes one with `agentctl token create`");
}

static void door_admit(struct ar_door *d, struct ar_entry *e)
{
	struct ar_access *a = access_of(d);

	e->who = (struct ar_principal){ 0 };
	if (!ar_str_absent(e->shown.bearer))
		admit_bearer(a, e);
	else if (!ar_str_absent(e->shown.certificate))
		admit_certificate(a, e);
	else if (e->shown.is_unix)
		admit_socket_user(a, e);
	else if (e->shown.is_loopback && !a->o.is_required)
		admit_loopback_user(a, e);
	else
		refuse(a, e, AR_ERR_AUTH_FAILED, "show a token: Authorization: Bearer art_...");
}

static void door_cancel(struct ar_door *d, struct ar_entry *e)
{
	struct ar_access *a = access_of(d);

	if (e->done == judged)
		a->o.bearers->v->cancel(a->o.bearers, e);
	else if (e->work)
		ar_list_del(&((struct ar_asking *)e->work)->node);
	e->work = NULL;
}

/* ---- enter, leave, stands ---- */

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

static enum ar_status door_enter(struct ar_door *d, const struct ar_principal *who, enum ar_pass pass,
				 uint32_t *ret_retry_ms, struct ar_error *err)
{
	struct ar_access *a = access_of(d);
	ar_usec now = ar_access_mono(a);
	enum ar_status st;

	*ret_retry_ms = 0;
	if (!is_limited(who))
		return AR_OK;
	st = ar_gauges_check(&a->by_token, who->token, pass, now, ret_retry_ms, err);
	if (st == AR_OK)
		st = ar_gauges_check(&a->by_tenant, who->tenant, pass, now, ret_retry_ms, err);
	if (st != AR_OK) {
		note_limit(a, who, err);
		return st;
	}
	ar_gauges_take(&a->by_token, who->token, pass);
	ar_gauges_take(&a->by_tenant, who->tenant, pass);
	return AR_OK;
}

static void door_leave(struct ar_door *d, const struct ar_principal *who, enum ar_pass pass)
{
	struct ar_access *a = access_of(d);

	if (!is_limited(who))
		return;
	ar_gauges_give(&a->by_token, who->token, pass);
	ar_gauges_give(&a->by_tenant, who->tenant, pass);
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

static bool door_stands(struct ar_door *d, const struct ar_principal *who)
{
	struct ar_access *a = access_of(d);
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

static void door_refused(struct ar_door *d, const struct ar_audit *audit)
{
	struct ar_access *a = access_of(d);

	ar_refusals_add(&a->refusals, audit, ar_access_mono(a));
}

const struct ar_door_vtable ar_access_door_vtable = {
	.admit = door_admit,
	.cancel = door_cancel,
	.enter = door_enter,
	.leave = door_leave,
	.stands = door_stands,
	.refused = door_refused,
};
