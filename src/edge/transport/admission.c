/* See admission.h. */
#include "admission.h"
#include "mem.h"
#include "server.h"

struct ar_http_admission *ar_http_admission_new(struct ar_http_server *s, const struct ar_principal *who)
{
	struct ar_http_admission *a;
	char *text;

	if (ar_principal_is_operator(who) &&
	    (!who || (ar_str_is(who->person, AR_PERSON_LOCAL) && !who->is_runtime)))
		return NULL;
	a = ar_new0(sizeof(*a) + who->tenant.len + who->actor.len + who->person.len + who->token.len +
		    who->worker.len);
	text = (char *)(a + 1);
	a->server = s;
	a->who = *who;
	a->who.tenant = ar_str_put(&text, who->tenant);
	a->who.actor = ar_str_put(&text, who->actor);
	a->who.person = ar_str_put(&text, who->person);
	a->who.token = ar_str_put(&text, who->token);
	a->who.worker = ar_str_put(&text, who->worker);
	ar_list_init(&a->node);
	return a;
}

void ar_http_admission_release(struct ar_http_admission *a)
{
	if (!a || !a->is_acquired)
		return;
	a->is_acquired = false;
	ar_list_del(&a->node);
	a->server->auth->v->release(a->server->auth, &a->who, a->slot);
}

void ar_http_admission_free(struct ar_http_admission *a)
{
	if (!a)
		return;
	ar_http_admission_release(a);
	ar_list_del(&a->node);
	ar_free(a);
}

enum ar_status ar_http_admission_acquire(struct ar_http_admission *a, enum ar_auth_slot slot,
					 uint32_t *ret_retry_ms, struct ar_error *err)
{
	enum ar_status st;

	if (!a || a->is_acquired)
		return AR_OK;
	st = a->server->auth->v->acquire(a->server->auth, &a->who, slot, ret_retry_ms, err);
	a->is_acquired = st == AR_OK;
	a->slot = slot;
	return st;
}

void ar_http_admission_watch(struct ar_http_admission *a, void (*expired)(struct ar_http_admission *a),
			     void *owner)
{
	if (!a)
		return;
	a->expired = expired;
	a->owner = owner;
	ar_list_del(&a->node);
	ar_list_push(&a->server->admissions, &a->node);
}

void ar_http_admissions_check(struct ar_http_server *s)
{
	struct ar_list now, *node;

	ar_list_init(&now);
	ar_list_splice(&now, &s->admissions);
	while ((node = ar_list_pop(&now))) {
		struct ar_http_admission *a = AR_CONTAINER_OF(node, struct ar_http_admission, node);

		ar_list_push(&s->admissions, &a->node);
		if (!s->auth->v->is_valid(s->auth, &a->who))
			a->expired(a);
	}
}
