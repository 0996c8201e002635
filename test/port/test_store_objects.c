/* Large content of the PostgreSQL store: in parts in the database, or as objects beside it. The object
 * storage is a fake whose weather is the test's; the real one is in test/api/objects.test.mjs. */
#include "postgres_fixture.h"

#include "map.h"
#include "mem.h"
#include "objects.h"
#include "store_op.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MIN 4096

/* ---- a storage ---- */

struct thing {
	char *name;
	struct ar_str bytes;
};

struct storage {
	struct ar_objects objects;
	pthread_mutex_t lock;
	struct ar_map things;
	bool is_away, keeps_all; /* puts and removals fail; removals fail */
	bool is_damaged; /* what is read has another byte */
	unsigned puts;
	int64_t rows_at_put; /* of blob, when the last one was put */
	struct fixture *f;
};

static struct storage *storage_of(struct ar_objects *o)
{
	return AR_CONTAINER_OF(o, struct storage, objects);
}

static enum ar_status fake_put(struct ar_objects *o, struct ar_str name, struct ar_str bytes,
			       struct ar_error *err)
{
	struct storage *s = storage_of(o);
	struct thing *t;

	s->puts++;
	if (s->is_away)
		return ar_fail(err, AR_E_IO, "object storage: away");
	s->rows_at_put = postgres_int(s->f, "SELECT count(*) FROM blob");
	pthread_mutex_lock(&s->lock);
	assert_null(ar_map_get(&s->things, name)); /* no name is used twice */
	t = ar_new0(sizeof *t);
	t->name = ar_str_dup(name);
	t->bytes = (struct ar_str){ ar_str_dup(bytes), bytes.len };
	ar_map_put(&s->things, ar_str_from(t->name), t);
	pthread_mutex_unlock(&s->lock);
	return AR_OK;
}

static enum ar_status fake_get(struct ar_objects *o, struct ar_str name, size_t max, struct ar_arena *a,
			       struct ar_str *ret, struct ar_error *err)
{
	struct storage *s = storage_of(o);
	struct thing *t;

	(void)max;
	if (s->is_away)
		return ar_fail(err, AR_E_IO, "object storage: away");
	pthread_mutex_lock(&s->lock);
	t = ar_map_get(&s->things, name);
	*ret = t ? ar_arena_str(a, t->bytes) : AR_STR_NONE;
	pthread_mutex_unlock(&s->lock);
	if (t && s->is_damaged)
		((char *)ret->p)[t->bytes.len - 1] ^= 1;
	return t ? AR_OK : ar_fail(err, AR_E_NOT_FOUND, "object storage: not there");
}

static void thing_free(struct thing *t)
{
	ar_free(t->name);
	ar_free((void *)t->bytes.p);
	ar_free(t);
}

static enum ar_status fake_remove(struct ar_objects *o, struct ar_str name, struct ar_error *err)
{
	struct storage *s = storage_of(o);
	struct thing *t;

	if (s->is_away || s->keeps_all)
		return ar_fail(err, AR_E_IO, "object storage: away");
	pthread_mutex_lock(&s->lock);
	t = ar_map_del(&s->things, name);
	pthread_mutex_unlock(&s->lock);
	if (t)
		thing_free(t);
	return AR_OK;
}

static const struct ar_objects_vtable fake_vtable = { fake_put, fake_get, fake_remove, NULL };

/* ---- the store over it ---- */

static struct storage storage;

static void reopen(struct fixture *f)
{
	struct ar_store_postgres_options o = postgres_options(f);
	struct ar_error err = { 0 };

	ar_store_close(f->store);
	o.objects = &storage.objects;
	o.object_min_bytes = MIN;
	if (ar_store_postgres_open(&o, &f->store, &err))
		fail_msg("%s", err.msg);
}

static int set_up(void **state)
{
	fixture_setup(state);
	storage = (struct storage){ .objects = { &fake_vtable }, .f = *state };
	pthread_mutex_init(&storage.lock, NULL);
	reopen(*state);
	return 0;
}

static int tear_down(void **state)
{
	struct thing *t;

	fixture_teardown(state);
	for (size_t i = 0; (t = ar_map_next(&storage.things, &i));)
		thing_free(t);
	ar_map_fini(&storage.things);
	return 0;
}

/* Text that does not pack. */
static char *noise(size_t len, uint64_t seed)
{
	char *text = ar_new0(len + 1);

	for (size_t i = 0; i < len; i++)
		text[i] = (char)ar_store_random(&seed);
	return text;
}

static enum ar_status put_blob(struct fixture *f, unsigned session, struct ar_str bytes)
{
	struct ar_store_blob blob = { ar_hash_of(bytes), bytes };
	struct ar_store_session_row row = { .updated = 1 };
	struct ar_store_append a = an_append(sess(session), 1, 1, "fact");

	a.row = &row;
	a.blobs = &blob;
	a.blob_count = 1;
	run(f, &a.op);
	ar_store_op_fini(&a.op);
	return a.op.status;
}

static void expect_get(struct fixture *f, struct ar_str bytes, enum ar_status expected, bool is_there)
{
	struct ar_hash hash = ar_hash_of(bytes);
	struct ar_store_blobs_get g = { .op = { .kind = AR_STORE_BLOBS, .done = note_done },
					.hashes = &hash,
					.count = 1 };

	run(f, &g.op);
	assert_status(&g.op, expected);
	if (!expected) {
		assert_int_equal(g.bytes[0].p != NULL, is_there);
		assert_int_equal(g.bytes[0].len, is_there ? bytes.len : 0);
		if (is_there)
			assert_memory_equal(g.bytes[0].p, bytes.p, bytes.len);
	}
	ar_store_op_fini(&g.op);
}

static void large_content_is_an_object_before_its_row_is_there(void **state)
{
	struct fixture *f = *state;
	char *text = noise(100000, 1);
	struct ar_str large = { text, 100000 }, small = { text, MIN - 1 };

	assert_int_equal(put_blob(f, 1, large), AR_OK);
	assert_int_equal(storage.things.count, 1);
	assert_int_equal(storage.rows_at_put, 0);
	assert_int_equal(put_blob(f, 2, small), AR_OK);
	assert_int_equal(storage.puts, 1);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM blob WHERE object IS NOT NULL AND body = ''"),
			 1);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM object WHERE since IS NULL"), 1);
	reopen(f); /* without what is in memory */
	expect_get(f, large, AR_OK, true);
	expect_get(f, small, AR_OK, true);
	ar_free(text);
}

/* Nothing of an append whose content could not be put is stored, and its neighbours are not touched. */
static void failed_put_fails_its_append_alone(void **state)
{
	struct fixture *f = *state;
	char *text = noise(100000, 2);
	struct ar_store_blob blob = { ar_hash_of((struct ar_str){ text, 100000 }), { text, 100000 } };
	struct ar_store_append a = an_append(sess(1), 1, 1, "a"), b = an_append(sess(2), 1, 1, "b");

	storage.is_away = true;
	a.blobs = &blob;
	a.blob_count = 1;
	forget_done();
	give(f, &a.op);
	give(f, &b.op);
	wait_for(f, &a.op);
	wait_for(f, &b.op);
	assert_status(&a.op, AR_E_IO);
	assert_non_null(strstr(a.op.err.msg, "object storage"));
	assert_status(&b.op, AR_OK);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log"), 1);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM blob"), 0);
	storage.is_away = false;
	run(f, &a.op);
	assert_status(&a.op, AR_OK);
	expect_get(f, blob.bytes, AR_OK, true);
	ar_store_op_fini(&a.op);
	ar_store_op_fini(&b.op);
	ar_free(text);
}

static void damaged_and_missing_objects_are_errors(void **state)
{
	struct fixture *f = *state;
	char *text = noise(100000, 3);
	struct ar_str large = { text, 100000 };

	assert_int_equal(put_blob(f, 1, large), AR_OK);
	storage.is_damaged = true;
	expect_get(f, large, AR_E_CORRUPT, false);
	storage.is_damaged = false;
	storage.is_away = true;
	expect_get(f, large, AR_E_IO, false);
	storage.is_away = false;
	expect_get(f, large, AR_OK, true);
	postgres_script(f, "ALTER TABLE blob DISABLE TRIGGER ALL; UPDATE blob SET object = 'none'");
	expect_get(f, large, AR_E_CORRUPT, false);
	ar_free(text);
}

static void objects_go_with_their_content(void **state)
{
	struct fixture *f = *state;
	char *text = noise(100000, 4);
	struct ar_str large = { text, 100000 };

	assert_int_equal(put_blob(f, 1, large), AR_OK);
	assert_int_equal(put_blob(f, 2, large), AR_OK); /* put again: an object that nothing names */
	assert_int_equal(storage.things.count, 2);
	storage.keeps_all = true;
	assert_int_equal(keep_up(f, an_upkeep((ar_usec)4e15, 10)), 2);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM blob"), 0);
	assert_int_equal(storage.things.count, 2);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM object_gone"), 2); /* not forgotten */
	storage.keeps_all = false;
	reopen(f);
	keep_up(f, an_upkeep((ar_usec)4e15, 10));
	assert_int_equal(storage.things.count, 0);
	assert_int_equal(
		postgres_int(f, "SELECT (SELECT count(*) FROM object) + (SELECT count(*) FROM object_gone)"),
		0);
	ar_free(text);
}

/* The row says that it may be there, and is old by the time the process is back: as after a crash. */
static void object_of_a_crashed_append_is_removed(void **state)
{
	struct fixture *f = *state;
	struct ar_error err;

	assert_int_equal(storage.objects.v->put(&storage.objects, AR_STR("orphan"), AR_STR("x"), &err),
			 AR_OK);
	postgres_script(f, "INSERT INTO object (name, since) VALUES ('orphan', 5)");
	keep_up(f, an_upkeep(1, 10));
	assert_int_equal(storage.things.count, 0);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM object"), 0);
}

/* The object was removed as abandoned while its append was on the way: that append must not commit. */
static void append_cannot_name_an_object_that_is_gone(void **state)
{
	struct fixture *f = *state;
	char *text = noise(100000, 5);

	postgres_script(
		f, "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM object;"
		   " RETURN NEW; END $$;"
		   "CREATE TRIGGER lose BEFORE INSERT ON blob FOR EACH ROW EXECUTE FUNCTION lose()");
	assert_int_equal(put_blob(f, 1, (struct ar_str){ text, 100000 }), AR_E_IO);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log"), 0);
	ar_free(text);
}

/* Content in the database is in parts of a mebibyte, and comes back whole. */
static void large_content_in_the_database_is_in_parts(void **state)
{
	enum { SIZE = (5 << 20) + 77 };
	struct fixture *f = *state;
	char *text = noise(SIZE, 6);
	struct ar_str large = { text, SIZE };

	storage.f = f;
	ar_store_close(f->store);
	f->store = NULL;
	fixture_reopen(f); /* without objects */
	assert_int_equal(put_blob(f, 1, large), AR_OK);
	assert_int_equal(put_blob(f, 2, large), AR_OK);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM blob_part"), 6);
	assert_int_equal(postgres_int(f, "SELECT max(length(bytes)) FROM blob_part"), 1 << 20);
	assert_int_equal(postgres_int(f, "SELECT length(body) FROM blob"), 0);
	expect_get(f, large, AR_OK, true);
	assert_int_equal(keep_up(f, an_upkeep((ar_usec)4e15, 10)), 2);
	expect_get(f, large, AR_OK, false);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM blob_part"), 0);
	ar_free(text);
}

#define T(fn) cmocka_unit_test_prestate_setup_teardown(fn, set_up, tear_down, &f)

int main(void)
{
	static struct fixture f = { .engine = ENGINE_POSTGRES };
	const struct CMUnitTest tests[] = {
		T(large_content_is_an_object_before_its_row_is_there),
		T(failed_put_fails_its_append_alone),
		T(damaged_and_missing_objects_are_errors),
		T(objects_go_with_their_content),
		T(object_of_a_crashed_append_is_removed),
		T(append_cannot_name_an_object_that_is_gone),
		T(large_content_in_the_database_is_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
