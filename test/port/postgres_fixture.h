/* Databases for the store under test, one per test, on the server that test/lib/postgres started.
 * They are left there: the server goes with them. */
#ifndef AR_TEST_POSTGRES_FIXTURE_H
#define AR_TEST_POSTGRES_FIXTURE_H

#include "store_fixture.h"

void postgres_create(struct fixture *f); /* a database; f->path becomes its connection string */
void postgres_open(struct fixture *f);
struct ar_store_postgres_options postgres_options(struct fixture *f);

/* One fact of one session must end so. */
void expect_append(struct fixture *f, unsigned session, uint64_t seq, enum ar_status expected);

/* A script over a connection of its own, and one integer from a query. */
void postgres_script(const struct fixture *f, const char *script);
int64_t postgres_int(const struct fixture *f, const char *query);

/* test/lib/postgres with one word: crash, start. */
void postgres_control(const char *word);

#endif
