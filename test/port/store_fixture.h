/* A store under test, and short ways to drive it. Waiting relies on the store's wake alone: a store that
 * forgets to wake fails here after a timeout. Single-threaded. */
#ifndef AR_TEST_STORE_FIXTURE_H
#define AR_TEST_STORE_FIXTURE_H

#include "store_open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum engine {
	ENGINE_SQLITE,
	ENGINE_MEMORY,
	ENGINE_FAULTY,
	ENGINE_POSTGRES,
};

struct fixture {
	enum engine engine;
	struct ar_store *store;
	struct ar_store *inner; /* of a faulty one */
	char dir[256];
	char path[300]; /* the file, or the connection string */
	char database[32]; /* of PostgreSQL */
	int wake_fd;
};

void fixture_open(struct fixture *f, enum engine engine);
void fixture_reopen(struct fixture *f); /* as after an orderly stop: a new epoch over the same content */
void fixture_close(struct fixture *f); /* also removes the files */

/* The engine that a test program is asked to use by its first argument; SQLite without one. */
enum engine engine_asked(int argc, char **argv);

/* Another writer takes the store over. */
void fixture_fence(struct fixture *f);

/* For cmocka: *state is a struct fixture whose engine is set. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

void fixture_wake(void *arg); /* arg: struct fixture */
struct ar_store_sqlite_options fixture_options(struct fixture *f);

/* Submits; done() must not come before submit() returns. */
void give(struct fixture *f, struct ar_store_op *op);
void wait_for(struct fixture *f, const struct ar_store_op *op);
enum ar_status run(struct fixture *f, struct ar_store_op *op); /* both */

/* How many operations are done, and which place this one took (SIZE_MAX: not done). */
size_t done_count(void);
size_t done_place(const struct ar_store_op *op);
void forget_done(void);

/* done() of every operation made here; tests may call it from their own. */
void note_done(struct ar_store_op *op);

/* The n-th session (its 26 characters), in rising order; n < 1000. */
struct ar_str sess(unsigned n);

/* Operations ready to submit. `body` NULL: no facts, first is then head + 1. */
struct ar_store_append an_append(struct ar_str session, uint64_t first, uint64_t last, const char *body);
struct ar_store_chunk a_chunk(struct ar_str session, const char *step, uint64_t pos, const char *bytes);
struct ar_store_load a_load(struct ar_str session);
struct ar_store_read a_read(struct ar_str session, uint64_t from, bool backward, size_t max_bytes);

struct ar_store_upkeep an_upkeep(ar_usec before, size_t limit); /* content goes at once */

/* Whole rounds of steps, as a caller does them; how many sessions went. */
size_t keep_up(struct fixture *f, struct ar_store_upkeep u);

/* Appends and forgets the operation; asserts AR_OK. */
void put(struct fixture *f, struct ar_str session, uint64_t first, uint64_t last, const char *body);

void assert_str(struct ar_str s, const char *expected); /* expected NULL: absent */
void assert_status(const struct ar_store_op *op, enum ar_status expected);

/* SQLite: an SQL script over a connection of its own, and one integer from one. */
void sql_script(const struct fixture *f, const char *script);
int64_t sql_int(const struct fixture *f, const char *query);

#endif
