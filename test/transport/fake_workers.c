/* See fake_workers.h. */
#include "fake_workers.h"
#include "catalog.h"
#include "link.h"
#include "mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLOOD_BYTES ((size_t)256 * 1024)

/* ---- callers ---- */

static char revoked[64];

static void authenticate(struct ar_auth *a AR_UNUSED, struct ar_auth_request *r)
{
	struct ar_str bearer = r->credentials.bearer, kind, id = ar_str_split(bearer, ':', &kind);

	r->status = AR_OK;
	r->who = (struct ar_principal){
		.tenant = AR_STR("acme"), .actor = bearer, .token = bearer, .rights = AR_RIGHT_WORKER
	};
	if (!ar_str_absent(bearer) && ar_str_is(bearer, "user"))
		r->who.rights = AR_RIGHT_ALL;
	else if (!ar_str_absent(id) && (ar_str_is(kind, "worker") || ar_str_is(kind, "enrol")))
		r->who.worker = id;
	else
		r->status = ar_refuse(&r->err, AR_ERR_AUTH_FAILED, "unknown token");
	r->who.is_enrolment = ar_str_is(kind, "enrol");
	r->done(r);
}

static enum ar_status acquire(struct ar_auth *a AR_UNUSED, const struct ar_principal *who AR_UNUSED,
			      enum ar_auth_slot slot AR_UNUSED, uint32_t *ret_retry_ms AR_UNUSED,
			      struct ar_error *err AR_UNUSED)
{
	return AR_OK;
}

static void release(struct ar_auth *a AR_UNUSED, const struct ar_principal *who AR_UNUSED,
		    enum ar_auth_slot slot AR_UNUSED)
{
}

static bool is_valid(struct ar_auth *a AR_UNUSED, const struct ar_principal *who)
{
	return !ar_str_is(who->worker, revoked);
}

static void refused(struct ar_auth *a AR_UNUSED, const struct ar_audit *audit AR_UNUSED)
{
}

struct ar_auth *fake_workers_auth(void)
{
	static const struct ar_auth_vtable v = { authenticate, acquire, release, is_valid, refused };
	static struct ar_auth auth = { &v };

	return &auth;
}

/* ---- links ---- */

struct owned {
	struct ar_link *link;
	char id[64];
};

static void note(const struct owned *o, const char *what, struct ar_str why)
{
	printf("{\"notice\":\"%s %s: %.*s\"}\n", what, o->id, AR_STR_ARG(why));
	fflush(stdout);
}

static void flood(struct owned *o, int count)
{
	char *bytes = ar_new0(FLOOD_BYTES);
	enum ar_status st = AR_OK;

	for (int i = 0; i < count && st == AR_OK; i++)
		st = o->link->v->send(o->link, (struct ar_str){ bytes, FLOOD_BYTES });
	note(o, "flooded", st == AR_OK ? AR_STR("all") : st == AR_E_LIMIT ? AR_STR("limit") : AR_STR("?"));
	ar_free(bytes);
}

static void on_message(void *arg, struct ar_str message)
{
	struct owned *o = arg;

	if (ar_str_is(message, "close")) {
		o->link->v->close(o->link, AR_STR("asked"));
		ar_free(o);
	} else if (ar_str_is(message, "revoke")) {
		snprintf(revoked, sizeof revoked, "%s", o->id);
	} else if (ar_str_starts(message, AR_STR("flood "))) {
		flood(o, atoi(message.p + 6));
	} else if (o->link->v->send(o->link, message) != AR_OK) {
		note(o, "unsent", AR_STR("?"));
	}
}

static void on_close(void *arg, struct ar_str why)
{
	note(arg, "closed", why);
	ar_free(arg);
}

static void take(void *arg AR_UNUSED, const struct ar_http_worker *who, struct ar_link *link)
{
	struct owned *o = ar_new0(sizeof *o);

	o->link = link;
	snprintf(o->id, sizeof o->id, "%.*s", AR_STR_ARG(who->id));
	link->on_message = on_message;
	link->on_close = on_close;
	link->arg = o;
	note(o, "opened", who->tenant);
}

struct ar_http_workers fake_workers(void)
{
	return (struct ar_http_workers){ .take = take };
}
