/* See store_fixture.h. */
#include "store_fixture.h"

#include "mem.h"
#include "postgres_fixture.h"

#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define WAIT_MS 20000
#define FINISHED_MAX 8192

static const struct ar_store_op *finished[FINISHED_MAX];
static size_t finished_count;

void fixture_wake(void *arg)
{
	struct fixture *f = arg;
	uint64_t one = 1;

	if (write(f->wake_fd, &one, sizeof one) != (ssize_t)sizeof one)
		abort();
}

struct ar_store_sqlite_options fixture_options(struct fixture *f)
{
	return (struct ar_store_sqlite_options){ .path = f->path, .wake = fixture_wake, .wake_arg = f };
}

static void open_sqlite(struct fixture *f)
{
	struct ar_store_sqlite_options o = fixture_options(f);
	struct ar_error err = { 0 };

	if (ar_store_sqlite_open(&o, &f->store, &err))
		fail_msg("open: %s", err.msg);
}

static void make_dir(struct fixture *f)
{
	const char *base = getenv("TMPDIR");

	snprintf(f->dir, sizeof f->dir, "%s/store-XXXXXX", base ? base : P_tmpdir);
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof f->path, "%s/store.db", f->dir);
}

void fixture_open(struct fixture *f, enum engine engine)
{
	*f = (struct fixture){ .engine = engine, .wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) };
	forget_done();
	make_dir(f);
	if (engine == ENGINE_POSTGRES)
		postgres_create(f);
	if (engine == ENGINE_SQLITE || engine == ENGINE_POSTGRES) {
		fixture_reopen(f);
		return;
	}
	ar_store_memory_open(fixture_wake, f, &f->store);
	if (engine == ENGINE_FAULTY) {
		f->inner = f->store;
		ar_store_faulty_new(f->inner,
				    &(struct ar_store_fault_plan){ .wake = fixture_wake, .wake_arg = f },
				    &f->store);
	}
}

void fixture_reopen(struct fixture *f)
{
	if (f->engine == ENGINE_MEMORY)
		ar_store_memory_crash(f->store, 1);
	if (f->engine == ENGINE_FAULTY)
		ar_store_faulty_crash(f->store, 1);
	if (f->engine == ENGINE_MEMORY || f->engine == ENGINE_FAULTY)
		return;
	ar_store_close(f->store);
	f->store = NULL;
	if (f->engine == ENGINE_POSTGRES)
		postgres_open(f);
	else
		open_sqlite(f);
}

static void remove_files(const struct fixture *f)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", ".lock" };
	char path[340];

	for (size_t i = 0; i < AR_ARRAY_LEN(suffixes); i++) {
		snprintf(path, sizeof path, "%s%s", f->path, suffixes[i]);
		unlink(path);
	}
}

void fixture_close(struct fixture *f)
{
	ar_store_close(f->store);
	f->store = NULL;
	if (f->engine != ENGINE_POSTGRES)
		remove_files(f);
	assert_int_equal(rmdir(f->dir), 0);
	close(f->wake_fd);
}

void fixture_fence(struct fixture *f)
{
	static const char takeover[] = "UPDATE node SET epoch = epoch + 1";

	if (f->engine == ENGINE_SQLITE)
		sql_script(f, takeover);
	else if (f->engine == ENGINE_POSTGRES)
		postgres_script(f, takeover);
	else
		ar_store_memory_fence(f->inner ? f->inner : f->store);
}

enum engine engine_asked(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], "postgres") == 0 ? ENGINE_POSTGRES : ENGINE_SQLITE;
}

int fixture_setup(void **state)
{
	struct fixture *f = *state;

	fixture_open(f, f->engine);
	return 0;
}

int fixture_teardown(void **state)
{
	fixture_close(*state);
	return 0;
}

void note_done(struct ar_store_op *op)
{
	assert_true(finished_count < FINISHED_MAX);
	finished[finished_count++] = op;
	if (op->kind == AR_STORE_APPEND && op->status == AR_OK)
		ar_store_op_fini(op); /* it brings nothing, but may have been packed ahead into its arena */
}

size_t done_count(void)
{
	return finished_count;
}

size_t done_place(const struct ar_store_op *op)
{
	for (size_t i = 0; i < finished_count; i++) {
		if (finished[i] == op)
			return i;
	}
	return SIZE_MAX;
}

void forget_done(void)
{
	finished_count = 0;
}

void give(struct fixture *f, struct ar_store_op *op)
{
	size_t before = finished_count;

	ar_store_submit(f->store, op);
	assert_int_equal(finished_count, before);
}

void wait_for(struct fixture *f, const struct ar_store_op *op)
{
	struct pollfd pfd = { .fd = f->wake_fd, .events = POLLIN };
	uint64_t count;

	while (done_place(op) == SIZE_MAX) {
		if (poll(&pfd, 1, WAIT_MS) != 1)
			fail_msg("the store did not wake its owner");
		if (read(f->wake_fd, &count, sizeof count) != (ssize_t)sizeof count)
			fail_msg("the wake could not be read");
		ar_store_poll(f->store);
	}
}

enum ar_status run(struct fixture *f, struct ar_store_op *op)
{
	forget_done();
	give(f, op);
	wait_for(f, op);
	return op->status;
}

struct ar_str sess(unsigned n)
{
	static char text[1000][AR_SESSION_KEY_LEN];
	uint8_t uuid[16] = { 0x01, 0x9a, 0xbc, 0xde, (uint8_t)(n >> 8), (uint8_t)n, 0x70, 0x01, 0x80 };

	assert_true(n < 1000);
	uuid[15] = (uint8_t)(n * 37);
	if (!text[n][0]) /* the store's threads may be reading it */
		ar_id_encode(uuid, text[n]);
	return (struct ar_str){ text[n], AR_SESSION_KEY_LEN };
}

struct ar_store_append an_append(struct ar_str session, uint64_t first, uint64_t last, const char *body)
{
	return (struct ar_store_append){
		.op = { .kind = AR_STORE_APPEND, .done = note_done },
		.session = session,
		.first_seq = first,
		.last_seq = last,
		.at = (ar_usec)(1000 * first),
		.body = ar_str_from(body),
	};
}

struct ar_store_chunk a_chunk(struct ar_str session, const char *step, uint64_t pos, const char *bytes)
{
	return (struct ar_store_chunk){
		.op = { .kind = AR_STORE_CHUNK, .done = note_done },
		.session = session,
		.step = ar_str_from(step),
		.pos = pos,
		.kind = 1,
		.bytes = ar_str_from(bytes),
	};
}

struct ar_store_load a_load(struct ar_str session)
{
	return (struct ar_store_load){ .op = { .kind = AR_STORE_LOAD, .done = note_done },
				       .session = session };
}

struct ar_store_read a_read(struct ar_str session, uint64_t from, bool backward, size_t max_bytes)
{
	return (struct ar_store_read){
		.op = { .kind = AR_STORE_READ, .done = note_done },
		.session = session,
		.from = from,
		.backward = backward,
		.max_bytes = max_bytes,
	};
}

struct ar_store_upkeep an_upkeep(ar_usec before, size_t limit)
{
	return (struct ar_store_upkeep){ .op = { .kind = AR_STORE_UPKEEP, .done = note_done },
					 .before = before,
					 .doomed_before = INT64_MAX,
					 .limit = limit };
}

size_t keep_up(struct fixture *f, struct ar_store_upkeep u)
{
	struct ar_arena a = { 0 };
	size_t removed = 0;

	do {
		run(f, &u.op);
		assert_status(&u.op, AR_OK);
		assert_true(u.removed <= u.limit);
		removed += u.removed;
		u.after = ar_arena_str(&a, u.next);
		ar_store_op_fini(&u.op);
	} while (u.more);
	ar_arena_fini(&a);
	return removed;
}

void put(struct fixture *f, struct ar_str session, uint64_t first, uint64_t last, const char *body)
{
	struct ar_store_append a = an_append(session, first, last, body);

	run(f, &a.op);
	assert_status(&a.op, AR_OK);
	ar_store_op_fini(&a.op);
}

void assert_str(struct ar_str s, const char *expected)
{
	if (!expected) {
		assert_null(s.p);
		return;
	}
	assert_non_null(s.p);
	assert_int_equal(s.len, strlen(expected));
	assert_memory_equal(s.p, expected, s.len);
}

void assert_status(const struct ar_store_op *op, enum ar_status expected)
{
	if (op->status != expected)
		fail_msg("ended %s (%s), expected %s", ar_status_name(op->status), op->err.msg,
			 ar_status_name(expected));
	if (expected != AR_OK) {
		assert_int_equal(op->err.status, expected);
		assert_true(op->err.msg[0]);
	}
}

static sqlite3 *sql_open(const struct fixture *f)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL),
			 SQLITE_OK);
	sqlite3_busy_timeout(db, 10000);
	return db;
}

void sql_script(const struct fixture *f, const char *script)
{
	sqlite3 *db = sql_open(f);

	if (sqlite3_exec(db, script, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", script, sqlite3_errmsg(db));
	sqlite3_close(db);
}

int64_t sql_int(const struct fixture *f, const char *query)
{
	sqlite3 *db = sql_open(f);
	sqlite3_stmt *stmt;
	int64_t v;

	assert_int_equal(sqlite3_prepare_v2(db, query, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	v = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return v;
}
