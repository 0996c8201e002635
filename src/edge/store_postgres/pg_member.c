/* The membership port on PostgreSQL: what it consists of, opened and taken down. What a heartbeat does is in
 * pg_heartbeat.c; queue and thread are in member_threaded.c. */
#include "pg_member.h"

#include "mem.h"
#include "postgres.h"

#include <string.h>

static struct ar_pg_member *member_of(struct ar_member_threaded *t)
{
	return AR_CONTAINER_OF(t, struct ar_pg_member, base);
}

static void serve(struct ar_member_threaded *t, struct ar_member_beat *b)
{
	ar_pg_heartbeat(member_of(t), b);
}

static void dispose(struct ar_member_threaded *t)
{
	struct ar_pg_member *m = member_of(t);

	ar_pg_disconnect(&m->link);
	for (size_t i = 0; i < AR_ARRAY_LEN(m->columns); i++)
		ar_pg_array_fini(&m->columns[i]);
	ar_free(m);
}

static struct ar_pg_member *member_new(const struct ar_postgres *s, const struct ar_member_options *o)
{
	struct ar_pg_member *m = ar_new0(sizeof *m);

	ar_member_threaded_init(&m->base);
	m->base.serve = serve;
	m->base.dispose = dispose;
	m->base.wake = o->wake;
	m->base.wake_arg = o->wake_arg;
	m->base.member.epoch = s->base.store.epoch;
	memcpy(m->base.member.id, s->node, strlen(s->node) + 1);
	memcpy(m->base.member.key, s->cluster_key, sizeof m->base.member.key);
	m->lease = (ar_usec)o->lease_ms * 1000;
	m->target = (struct ar_pg_target){ .conninfo = s->conninfo,
					   .password = s->target.password,
					   .application = s->application,
					   .statement_timeout_ms = o->lease_ms,
					   .lock_timeout_ms = o->lease_ms / 5,
					   .patience_ms = o->lease_ms };
	return m;
}

enum ar_status ar_store_postgres_member(struct ar_store *s, const struct ar_member_options *o,
					struct ar_member **ret, struct ar_error *err)
{
	struct ar_pg_member *m;
	enum ar_status st;

	if (o->lease_ms < 2)
		return ar_fail(err, AR_E_INVALID, "a lease of %u ms is none", o->lease_ms);
	m = member_new(AR_CONTAINER_OF(s, struct ar_postgres, base.store), o);
	st = ar_member_threaded_start(&m->base, err);
	if (st)
		ar_member_threaded_free(&m->base);
	else
		*ret = &m->base.member;
	return st;
}
