/* The PostgreSQL store as seen from outside: what it consists of, opened and taken down in order. What a
 * batch does is in pg_writer.c and pg_read.c; queues and threads are in store_threaded.c. */
#include "postgres.h"

#include "mem.h"

#define PATIENCE_MS 10000

static void dispose(struct ar_store_threaded *t)
{
	struct ar_postgres *s = AR_CONTAINER_OF(t, struct ar_postgres, base);

	ar_postgres_leave_lane(s);
	ar_pg_disconnect(&s->reader);
	ar_pg_disconnect(&s->writer);
	ar_packer_free(s->reader.packer);
	ar_packer_free(s->writer.packer);
	ar_pg_batch_fini(&s->batch);
	ar_arena_fini(&s->object_arena);
	ar_store_heads_fini(&s->heads);
	ar_blob_cache_fini(&s->blobs);
	ar_pack_dictionaries_free(s->dictionaries);
	ar_free(s->conninfo);
	ar_free(s->node);
	ar_free(s);
}

static struct ar_postgres *postgres_new(const struct ar_store_postgres_options *o)
{
	struct ar_postgres *s = ar_new0(sizeof *s);

	ar_store_threaded_init(&s->base, ar_postgres_write_batch, ar_postgres_read_batch);
	s->base.wake = o->wake;
	s->base.wake_arg = o->wake_arg;
	s->base.dispose = dispose;
	s->conninfo = ar_str_dup(ar_str_from(o->conninfo));
	s->node = ar_str_dup(ar_str_from(o->node ? o->node : "node-1"));
	ar_pg_application(ar_str_from(s->node), s->application);
	s->target = (struct ar_pg_target){ .conninfo = s->conninfo,
					   .password = o->password,
					   .application = s->application,
					   .statement_timeout_ms = o->statement_timeout_ms };
	s->patience = (ar_usec)(o->outage_ms ? o->outage_ms : PATIENCE_MS) * 1000;
	s->objects = o->objects;
	s->object_min = o->object_min_bytes;
	ar_blob_cache_init(&s->blobs);
	s->base.contents = &s->blobs;
	s->dictionaries = ar_pack_dictionaries_new();
	return s;
}

static enum ar_status postgres_start(struct ar_postgres *s, const struct ar_store_postgres_options *o,
				     struct ar_error *err)
{
	enum ar_status st;

	if (!ar_id_acceptable(ar_str_from(s->node)))
		return ar_fail(err, AR_E_INVALID, "a node's id is 1 to %d of A-Z a-z 0-9 . _ : -", AR_ID_MAX);
	st = ar_pg_connect(&s->writer, &s->target, err);
	if (!st)
		st = ar_postgres_set_up(s, o, err);
	if (!st)
		st = ar_pg_prepare(&s->writer, err);
	if (!st)
		st = ar_pg_connect(&s->reader, &s->target, err);
	if (!st)
		st = ar_pg_prepare(&s->reader, err);
	if (st)
		return st;
	s->is_in_clear = ar_pg_is_in_clear(&s->writer);
	ar_postgres_partition_log(s, 0);
	s->writer.packer = ar_packer_new(s->dictionaries);
	s->reader.packer = ar_packer_new(s->dictionaries);
	s->base.ahead.packer = ar_packer_new(s->dictionaries);
	return ar_store_threaded_start(&s->base, err);
}

enum ar_status ar_store_postgres_open(const struct ar_store_postgres_options *o, struct ar_store **ret,
				      struct ar_error *err)
{
	struct ar_postgres *s = postgres_new(o);
	enum ar_status st = postgres_start(s, o, err);

	if (st) {
		ar_store_threaded_free(&s->base);
		return st;
	}
	*ret = &s->base.store;
	return AR_OK;
}

bool ar_store_postgres_is_in_clear(const struct ar_store *s)
{
	return AR_CONTAINER_OF(s, const struct ar_postgres, base.store)->is_in_clear;
}
