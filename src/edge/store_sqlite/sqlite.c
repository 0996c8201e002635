/* The SQLite store as seen from outside: what it consists of, opened and taken down in order. What a batch
 * does is in sqlite_writer.c and sqlite_read.c; queues and threads are in store_threaded.c. */
#include "sqlite.h"

#include "mem.h"

/* The reader forgets its pages with every commit of the writer; what it reads again is in the kernel's cache.
 * Four MiB hold the inner pages of large tables, and a long read does not fill more. */
#define WRITER_CACHE_KIB 16384
#define READER_CACHE_KIB 4096

static struct ar_sqlite *sqlite_of(const struct ar_store *s)
{
	return AR_CONTAINER_OF(s, struct ar_sqlite, base.store);
}

static void dispose(struct ar_store_threaded *t)
{
	struct ar_sqlite *s = AR_CONTAINER_OF(t, struct ar_sqlite, base);

	ar_db_fini(&s->read_db);
	ar_db_fini(&s->write_db); /* last: the last connection to close folds the WAL in */
	ar_store_heads_fini(&s->heads);
	ar_blob_cache_fini(&s->blobs);
	ar_pack_dictionaries_free(s->dictionaries);
	ar_file_lock_drop(s->lock_fd);
	ar_free(s);
}

static uint64_t cached(struct ar_store_threaded *t)
{
	struct ar_sqlite *s = AR_CONTAINER_OF(t, struct ar_sqlite, base);

	return atomic_load(&s->write_db.cached) + atomic_load(&s->read_db.cached);
}

static struct ar_sqlite *sqlite_new(const struct ar_store_sqlite_options *o)
{
	struct ar_sqlite *s = ar_new0(sizeof *s);

	ar_store_threaded_init(&s->base, ar_sqlite_write_batch, ar_sqlite_read_batch);
	s->base.wake = o->wake;
	s->base.wake_arg = o->wake_arg;
	s->doubt = o->doubt;
	s->doubt_arg = o->doubt_arg;
	s->base.dispose = dispose;
	s->base.cached = cached;
	s->lock_fd = -1;
	ar_blob_cache_init(&s->blobs);
	s->base.contents = &s->blobs;
	s->dictionaries = ar_pack_dictionaries_new();
	return s;
}

static enum ar_status sqlite_start(struct ar_sqlite *s, const struct ar_store_sqlite_options *o,
				   struct ar_error *err)
{
	enum ar_status st = ar_file_lock_acquire(o->path, &s->lock_fd, err);

	if (!st)
		st = ar_sqlite_connect(o->path, WRITER_CACHE_KIB, &s->write_db, err);
	if (!st)
		st = ar_sqlite_set_up(s, o, err);
	if (!st)
		st = ar_sqlite_connect(o->path, READER_CACHE_KIB, &s->read_db, err);
	if (st)
		return st;
	s->write_db.packer = ar_packer_new(s->dictionaries);
	s->read_db.packer = ar_packer_new(s->dictionaries);
	s->base.ahead.packer = ar_packer_new(s->dictionaries);
	return ar_store_threaded_start(&s->base, err);
}

enum ar_status ar_store_sqlite_open(const struct ar_store_sqlite_options *o, struct ar_store **ret,
				    struct ar_error *err)
{
	struct ar_sqlite *s;
	enum ar_status st;

	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* its counters are a lock that both threads meet at */
	s = sqlite_new(o);
	st = sqlite_start(s, o, err);

	if (st) {
		ar_store_threaded_free(&s->base);
		return st;
	}
	*ret = &s->base.store;
	return AR_OK;
}

size_t ar_store_sqlite_backlog(const struct ar_store *s)
{
	return ar_store_threaded_backlog(&sqlite_of(s)->base);
}
