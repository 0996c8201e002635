/* See postgres_fixture.h. */
#include "postgres_fixture.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static PGconn *dial(const char *conninfo)
{
	PGconn *c = PQconnectdb(conninfo);

	if (PQstatus(c) != CONNECTION_OK)
		fail_msg("%s", PQerrorMessage(c));
	return c;
}

/* Runs it over a new connection; `ret` NULL: no result is looked at. */
static void ask(const char *conninfo, const char *text, int64_t *ret)
{
	PGconn *c = dial(conninfo);
	PGresult *r = PQexec(c, text);

	if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
		fail_msg("%s: %s", text, PQresultErrorMessage(r));
	if (ret)
		*ret = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
	PQclear(r);
	PQfinish(c);
}

static void ask_server(const char *text)
{
	char conninfo[300];

	snprintf(conninfo, sizeof conninfo, "%s dbname=postgres", getenv("AR_TEST_POSTGRES"));
	ask(conninfo, text, NULL);
}

void postgres_create(struct fixture *f)
{
	static unsigned count;
	char text[128];

	if (!getenv("AR_TEST_POSTGRES"))
		fail_msg("run this test through test/lib/postgres");
	snprintf(f->database, sizeof f->database, "t%ld_%u", (long)getpid(), ++count);
	snprintf(f->path, sizeof f->path, "%s dbname=%s", getenv("AR_TEST_POSTGRES"), f->database);
	snprintf(text, sizeof text, "CREATE DATABASE %s", f->database);
	ask_server(text);
}

struct ar_store_postgres_options postgres_options(struct fixture *f)
{
	return (struct ar_store_postgres_options){ .conninfo = f->path, .wake = fixture_wake, .wake_arg = f };
}

void postgres_open(struct fixture *f)
{
	struct ar_store_postgres_options o = postgres_options(f);
	struct ar_error err = { 0 };

	if (ar_store_postgres_open(&o, &f->store, &err))
		fail_msg("open: %s", err.msg);
}

void expect_append(struct fixture *f, unsigned session, uint64_t seq, enum ar_status expected)
{
	struct ar_store_append a = an_append(sess(session), seq, seq, "x");

	run(f, &a.op);
	assert_status(&a.op, expected);
	ar_store_op_fini(&a.op);
}

void postgres_script(const struct fixture *f, const char *script)
{
	ask(f->path, script, NULL);
}

int64_t postgres_int(const struct fixture *f, const char *query)
{
	int64_t v = 0;

	ask(f->path, query, &v);
	return v;
}

void postgres_control(const char *word)
{
	char command[300];

	snprintf(command, sizeof command, "'%s' %s", getenv("AR_TEST_POSTGRES_CTL"), word);
	assert_int_equal(system(command), 0);
}
