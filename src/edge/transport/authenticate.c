/* See authenticate.h. What a request is shown to the door with: a bearer (Authorization, or the subprotocol of a WebSocket, for browsers cannot
 * set headers there), the subject of a client certificate, the kernel's word about the other end of a unix socket. */
#include "authenticate.h"
#include "base64.h"
#include "exchange.h"
#include "mem.h"
#include "peer/forward.h"
#include "server.h"
#include "sse.h"
#include "trace.h"

#include <stdio.h>
#include <string.h>

/* ---- admissions ---- */

static struct ar_str put_text(char **at, struct ar_str text)
{
	struct ar_str copy = { *at, text.len };

	if (ar_str_absent(text))
		return text;
	memcpy(*at, text.p, text.len);
	*at += text.len;
	return copy;
}

struct ar_http_admission *ar_http_admission_new(struct ar_http_server *s, const struct ar_principal *who)
{
	struct ar_http_admission *v;
	char *text;

	if (ar_principal_is_operator(who) && (!who || ar_str_is(who->person, AR_PERSON_LOCAL)))
		return NULL;
	v = ar_new0(sizeof(*v) + who->tenant.len + who->actor.len + who->person.len + who->token.len);
	text = (char *)(v + 1);
	v->server = s;
	v->who = *who;
	v->who.tenant = put_text(&text, who->tenant);
	v->who.actor = put_text(&text, who->actor);
	v->who.person = put_text(&text, who->person);
	v->who.token = put_text(&text, who->token);
	ar_list_init(&v->node);
	return v;
}

void ar_http_admission_release(struct ar_http_admission *v)
{
	if (!v || !v->is_acquired)
		return;
	v->is_acquired = false;
	ar_list_del(&v->node);
	v->server->auth->v->release(v->server->auth, &v->who, v->slot);
}

void ar_http_admission_free(struct ar_http_admission *v)
{
	if (!v)
		return;
	ar_http_admission_release(v);
	ar_list_del(&v->node);
	ar_free(v);
}

enum ar_status ar_http_admission_acquire(struct ar_http_admission *v, enum ar_auth_slot slot,
					 uint32_t *ret_retry_ms, struct ar_error *err)
{
	enum ar_status st;

	if (!v || v->is_acquired)
		return AR_OK;
	st = v->server->auth->v->acquire(v->server->auth, &v->who, slot, ret_retry_ms, err);
	v->is_acquired = st == AR_OK;
	v->slot = slot;
	return st;
}

void ar_http_admission_watch(struct ar_http_admission *v, void (*expired)(struct ar_http_admission *v),
			     void *owner)
{
	if (!v)
		return;
	v->expired = expired;
	v->owner = owner;
	ar_list_del(&v->node);
	ar_list_push(&v->server->admissions, &v->node);
}

void ar_http_admissions_check(struct ar_http_server *s)
{
	struct ar_list now, *node;

	ar_list_init(&now);
	ar_list_splice(&now, &s->admissions);
	while ((node = ar_list_pop(&now))) {
		struct ar_http_admission *v = AR_CONTAINER_OF(node, struct ar_http_admission, node);

		ar_list_push(&s->admissions, &v->node);
		if (!s->auth->v->is_valid(s->auth, &v->who))
			v->expired(v);
	}
}

/* ---- what is shown ---- */

/* `agentruntime.v1, bearer.<token>`: the one that is a token. */
static struct ar_str bearer_of_protocols(struct ar_str list)
{
	struct ar_str item;

	while (list.len) {
		list = ar_str_split(list, ',', &item);
		while (item.len && item.p[0] == ' ')
			item = ar_str_sub(item, 1, item.len);
		if (ar_str_starts(item, AR_STR("bearer.")))
			return ar_str_sub(item, 7, item.len);
	}
	return AR_STR_NONE;
}

/* Another scheme is shown as it is, so that it is refused and not overlooked. */
static struct ar_str bearer_of(const struct ar_request *r)
{
	struct ar_str scheme, rest;

	if (ar_str_absent(r->authorization))
		return r->is_upgrade ? bearer_of_protocols(r->ws_protocol) : AR_STR_NONE;
	rest = ar_str_split(r->authorization, ' ', &scheme);
	return ar_is_word(scheme, "bearer") && !ar_str_absent(rest) ? rest : r->authorization;
}

bool ar_request_has_bearer(const struct ar_request *r)
{
	return !ar_str_absent(bearer_of(r));
}

/* What another node passed on came from where that node says. */
struct ar_call_origin ar_request_origin(const struct ar_exchange *x)
{
	const struct ar_source *from = x->carrier->source;

	if (from->is_peer)
		return x->told;
	return (struct ar_call_origin){
		.address = from->address[0] ? ar_str_from(from->address) : AR_STR_NONE,
		.request_id = ar_trace_sent(x),
		.via = from->is_unix	  ? "unix"
		       : from->address[0] ? "tcp"
					  : "stdio",
		.has_uid = (from->is_unix || from->is_loopback) && from->uid != AR_NO_USER,
		.uid = from->uid
	};
}

static struct ar_credentials shown_by(const struct ar_exchange *x)
{
	const struct ar_source *from = x->carrier->source;

	return (struct ar_credentials){ .bearer = bearer_of(x->request),
					.certificate = from->certificate,
					.is_loopback = from->is_loopback,
					.is_unix = from->is_unix,
					.is_in_group = from->is_in_group,
					.uid = from->uid,
					.from = ar_request_origin(x) };
}

/* ---- admission ---- */

static void refuse(struct ar_exchange *x, const struct ar_error *err)
{
	x->carrier->server->counters.refused++;
	if (err->code == AR_ERR_AUTH_FAILED)
		ar_reply_add(&x->reply, "WWW-Authenticate", AR_STR("Bearer"));
	ar_exchange_refuse(x, err->code, err->msg, 0);
}

static void let_in(struct ar_exchange *x, const struct ar_principal *who)
{
	struct ar_carrier *c = x->carrier;

	x->is_let_in = true;
	ar_carrier_drop_admission(c);
	c->admission = ar_http_admission_new(c->server, who);
	c->who = c->admission ? &c->admission->who : NULL;
	ar_exchange_admitted(x);
}

static void on_admitted(struct ar_auth_request *e)
{
	struct ar_exchange *x = AR_CONTAINER_OF(e, struct ar_exchange, auth);

	x->is_calling = false;
	if (x->carrier->is_closed)
		x->carrier->v->released(x->carrier);
	else if (e->status == AR_OK)
		let_in(x, &e->who);
	else
		refuse(x, &e->err);
}

static bool read_principal(struct ar_exchange *x, struct ar_principal *ret)
{
	struct ar_str text;
	struct ar_json v;
	int64_t rights;

	*ret = (struct ar_principal){ 0 };
	if (!ar_base64_decode(&x->pool, x->request->principal, &text) ||
	    ar_json_parse(x->carrier->server->parser, text, &v, NULL) != AR_OK ||
	    !ar_json_str(ar_json_get(v, "tenant"), &ret->tenant) ||
	    !ar_json_str(ar_json_get(v, "actor"), &ret->actor) ||
	    !ar_json_i64(ar_json_get(v, "rights"), &rights))
		return false;
	ar_json_str(ar_json_get(v, "person"), &ret->person);
	ar_json_str(ar_json_get(v, "token"), &ret->token);
	x->told = ar_control_read_origin(v, &x->pool);
	ret->rights = (unsigned)rights & AR_RIGHT_ALL;
	return !ar_str_empty(ret->tenant) && !ar_str_empty(ret->actor);
}

/* It is a node of the cluster: what it says of who asked it is believed, but it has to say it. A connection that began with certificates
 * which were replaced since then carries this request and no other. */
static void admit_peer(struct ar_exchange *x)
{
	const struct ar_link *link = AR_CONTAINER_OF(x->carrier->source, struct ar_link, source);
	struct ar_error err = { 0 };
	struct ar_principal who;

	if (!ar_link_is_current(link))
		x->reply.is_close = true;
	if (!ar_str_absent(x->request->principal) && read_principal(x, &who)) {
		let_in(x, &who);
	} else {
		ar_refuse(&err, AR_ERR_AUTH_FAILED, "the node does not say who asks");
		refuse(x, &err);
	}
}

void ar_request_authenticate(struct ar_exchange *x)
{
	struct ar_http_server *s = x->carrier->server;

	if (x->carrier->source->is_peer) {
		admit_peer(x);
	} else if (!s->auth) {
		let_in(x, NULL);
	} else {
		x->auth.credentials = shown_by(x);
		x->auth.arena = &x->pool;
		x->auth.done = on_admitted;
		x->is_calling = true;
		s->auth->v->authenticate(s->auth, &x->auth);
	}
}

/* ---- limits and the end ---- */

static void wait_first(struct ar_exchange *x, const struct ar_error *err, uint32_t retry_ms)
{
	int status;

	snprintf(x->retry_after, sizeof(x->retry_after), "%u", (retry_ms + 999) / 1000);
	x->carrier->server->counters.refused++;
	ar_buf_clear(&x->text);
	status = ar_control_error_later(err->code, err->msg, retry_ms, &x->text);
	ar_exchange_answer(x, status, ar_buf_str(&x->text));
}

static void expire_carrier(struct ar_http_admission *v)
{
	struct ar_error err = { 0 };

	ar_refuse(&err, AR_ERR_AUTH_FAILED, "the token has ended; connect again with another");
	ar_carrier_expire(v->owner, &err);
}

/* What another node passed on was counted and is watched there. */
bool ar_request_acquire(struct ar_exchange *x, enum ar_auth_slot slot)
{
	struct ar_http_admission *v = x->carrier->admission;
	struct ar_error err = { 0 };
	uint32_t retry_ms = 0;

	if (x->carrier->source->is_peer)
		return true;
	if (ar_http_admission_acquire(v, slot, &retry_ms, &err) != AR_OK) {
		wait_first(x, &err, retry_ms);
		return false;
	}
	if (slot == AR_AUTH_STREAM)
		ar_http_admission_watch(v, expire_carrier, x->carrier);
	return true;
}

void ar_carrier_drop_admission(struct ar_carrier *c)
{
	ar_http_admission_free(c->admission);
	c->admission = NULL;
	c->who = NULL;
}

/* ---- between nodes ---- */

void ar_principal_write_header(const struct ar_principal *who, const struct ar_call_origin *from,
			       struct ar_buf *out)
{
	static const struct ar_principal the_operator = {
		.tenant = { AR_TENANT_LOCAL, sizeof AR_TENANT_LOCAL - 1 },
		.actor = { "local", 5 },
		.person = { AR_PERSON_LOCAL, sizeof AR_PERSON_LOCAL - 1 },
		.rights = AR_RIGHT_ALL
	};
	struct ar_arena a = { 0 };
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	who = who ? who : &the_operator;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "tenant", who->tenant);
	ar_jw_mstr(&w, "actor", who->actor);
	ar_jw_mstr(&w, "person", who->person);
	ar_jw_mstr(&w, "token", who->token);
	ar_jw_mint(&w, "rights", who->rights);
	ar_control_write_origin(&w, from);
	ar_jw_close(&w);
	ar_buf_addz(out, AR_PRINCIPAL_HEADER ": ");
	ar_buf_adds(out, ar_base64(&a, ar_buf_str(&text)));
	ar_buf_addz(out, "\r\n");
	ar_buf_fini(&text);
	ar_arena_fini(&a);
}
