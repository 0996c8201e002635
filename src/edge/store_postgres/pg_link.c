/* See the header. libpq blocks here, on the threads of the store; while it waits to send it also reads, so a
 * long pipeline cannot lock up. */
#include "pg_link.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

static void name_of(enum ar_pg_id id, char ret[8])
{
	snprintf(ret, 8, "s%d", (int)id);
}

static bool is_lost(const struct ar_pg *pg)
{
	return !pg->handle || PQstatus(pg->handle) != CONNECTION_OK;
}

/* The classes of SQLSTATE that mean something to us; a longer prefix comes first. */
static const struct {
	const char *prefix;
	enum ar_pg_fault fault;
} faults[] = {
	{ "22012", AR_PG_FENCED }, /* division_by_zero: see AR_PG_FENCE */
	{ "23505", AR_PG_CLASH }, /* unique_violation */
	{ "23503", AR_PG_CLASH }, /* foreign_key_violation: content was collected under us */
	{ "40", AR_PG_CLASH }, /* serialization failure, deadlock */
	{ "42P07", AR_PG_CLASH }, /* two create the tables at once */
	{ "25006", AR_PG_LOST }, /* read-only: the server became a standby */
	{ "57P", AR_PG_LOST }, /* shutdown, crash of another backend, still starting */
	{ "08", AR_PG_LOST },
};

static enum ar_pg_fault fault_of(const char *sqlstate)
{
	for (size_t i = 0; sqlstate && i < AR_ARRAY_LEN(faults); i++) {
		if (strncmp(sqlstate, faults[i].prefix, strlen(faults[i].prefix)) == 0)
			return faults[i].fault;
	}
	return AR_PG_FAILED;
}

/* libpq's sentences end in a newline and may have more lines; the first says it. */
static struct ar_str first_line(const char *text)
{
	return (struct ar_str){ text, strcspn(text, "\n") };
}

static void note_fault(struct ar_pg *pg, enum ar_pg_fault fault, const char *sqlstate, const char *message)
{
	struct ar_str line = first_line(message && *message ? message : "the connection was lost");
	enum ar_status st = fault == AR_PG_LOST ? AR_E_UNAVAILABLE : AR_E_IO;

	if (fault == AR_PG_LOST) /* whatever came before it: nothing works on this connection any more */
		pg->fault = AR_PG_FINE;
	if (pg->fault)
		return;
	pg->fault = fault;
	snprintf(pg->sqlstate, sizeof pg->sqlstate, "%s", sqlstate ? sqlstate : "");
	ar_fail(&pg->error, st, "store: %.*s (PostgreSQL %s)", AR_STR_ARG(line),
		sqlstate && *sqlstate ? sqlstate : "connection");
}

static void note_lost(struct ar_pg *pg)
{
	note_fault(pg, AR_PG_LOST, NULL, pg->handle ? PQerrorMessage(pg->handle) : NULL);
}

static void note_result(struct ar_pg *pg, const PGresult *r)
{
	const char *sqlstate = PQresultErrorField(r, PG_DIAG_SQLSTATE);
	const char *message = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
	enum ar_pg_fault fault = sqlstate ? fault_of(sqlstate) : AR_PG_LOST;

	note_fault(pg, is_lost(pg) ? AR_PG_LOST : fault, sqlstate,
		   message ? message : PQresultErrorMessage(r));
}

static bool has_input(const struct ar_pg *pg)
{
	struct pollfd pfd = { .fd = PQsocket(pg->handle), .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

bool ar_pg_is_alive(struct ar_pg *pg)
{
	bool alive = !is_lost(pg);

	/* A server that leaves says so first: the words are one read, the end is the next. */
	while (alive && has_input(pg))
		alive = PQconsumeInput(pg->handle) && !is_lost(pg);
	if (!alive)
		ar_pg_disconnect(pg);
	return alive;
}

void ar_pg_disconnect(struct ar_pg *pg)
{
	PQfinish(pg->handle);
	pg->handle = NULL;
}

/* False when the time is over. */
static bool await(const struct ar_pg *pg, short events)
{
	struct pollfd pfd = { .fd = PQsocket(pg->handle), .events = events };
	ar_usec left = pg->deadline - ar_clock_system()->mono(ar_clock_system());

	return left > 0 && poll(&pfd, 1, (int)(left / 1000 + 1)) == 1;
}

static bool flush(struct ar_pg *pg)
{
	int left;

	while ((left = PQflush(pg->handle)) == 1) {
		if (!await(pg, POLLIN | POLLOUT) || !PQconsumeInput(pg->handle))
			return false;
	}
	return left == 0;
}

/* The next result of what was sent; false when it does not come. */
static bool next_result_in_time(struct ar_pg *pg, PGresult **ret)
{
	while (PQisBusy(pg->handle)) {
		if (!await(pg, POLLIN) || !PQconsumeInput(pg->handle))
			return false;
	}
	*ret = PQgetResult(pg->handle);
	return true;
}

/* As PQexec: the last result, or the error that ended the script. */
static bool last_result_in_time(struct ar_pg *pg, PGresult **ret)
{
	PGresult *next = NULL;

	while (next_result_in_time(pg, &next)) {
		if (!next)
			return true;
		PQclear(*ret);
		*ret = next;
	}
	PQclear(*ret);
	*ret = NULL;
	return false;
}

static bool send_text(struct ar_pg *pg, const char *text, const struct ar_pg_args *args)
{
	if (!args)
		return PQsendQuery(pg->handle, text);
	return PQsendQueryParams(pg->handle, text, args->count, NULL, args->value, args->length, args->format,
				 1);
}

/* NULL: nobody knows what the server does with it now, so the connection is no use any more. */
static PGresult *query_in_time(struct ar_pg *pg, const char *text, const struct ar_pg_args *args)
{
	PGresult *r = NULL;

	if (is_lost(pg))
		return NULL;
	PQsetnonblocking(pg->handle, 1);
	if (send_text(pg, text, args) && flush(pg) && last_result_in_time(pg, &r))
		return r;
	if (!is_lost(pg))
		note_fault(pg, AR_PG_LOST, NULL, "the server did not answer in time");
	return NULL;
}

static PGresult *query_without_deadline(struct ar_pg *pg, const char *text, const struct ar_pg_args *args)
{
	if (!args)
		return PQexec(pg->handle, text);
	return PQexecParams(pg->handle, text, args->count, NULL, args->value, args->length, args->format, 1);
}

PGresult *ar_pg_query(struct ar_pg *pg, const char *text, const struct ar_pg_args *args)
{
	PGresult *r;
	ExecStatusType st;

	pg->fault = AR_PG_FINE;
	r = pg->deadline ? query_in_time(pg, text, args) : query_without_deadline(pg, text, args);
	st = PQresultStatus(r);
	if (st == PGRES_TUPLES_OK || st == PGRES_COMMAND_OK)
		return r;
	if (r)
		note_result(pg, r);
	else if (!pg->fault)
		note_lost(pg);
	PQclear(r);
	if (pg->deadline && pg->fault == AR_PG_LOST)
		ar_pg_disconnect(pg);
	return NULL;
}

enum ar_status ar_pg_execute(struct ar_pg *pg, const char *script, struct ar_error *err)
{
	PGresult *r = ar_pg_query(pg, script, NULL);

	PQclear(r);
	return r ? AR_OK : ar_pg_fail(pg, err);
}

void ar_pg_send(struct ar_pg *pg, enum ar_pg_id id, const struct ar_pg_args *args)
{
	static const struct ar_pg_args none;
	char name[8];

	if (pg->fault)
		return;
	name_of(id, name);
	args = args ? args : &none;
	if (!pg->handle ||
	    !PQsendQueryPrepared(pg->handle, name, args->count, args->value, args->length, args->format, 1))
		note_lost(pg);
}

void ar_pg_send_text(struct ar_pg *pg, const char *text)
{
	if (pg->fault)
		return;
	if (!pg->handle || !PQsendQueryParams(pg->handle, text, 0, NULL, NULL, NULL, NULL, 1))
		note_lost(pg);
}

void ar_pg_sync(struct ar_pg *pg)
{
	pg->is_synced = false;
	if (!pg->fault && !PQpipelineSync(pg->handle))
		note_lost(pg);
}

/* The next result of the round trip, whatever it is; NULL when there is none any more. Statements are
 * separated by one NULL, so two in a row are the end of a connection that libpq has given up. */
static PGresult *next_result(struct ar_pg *pg)
{
	PGresult *r = PQgetResult(pg->handle);

	if (!r && !is_lost(pg))
		r = PQgetResult(pg->handle);
	if (r && PQresultStatus(r) == PGRES_FATAL_ERROR)
		note_result(pg, r);
	if (!r || (is_lost(pg) && pg->fault)) {
		note_lost(pg);
		PQclear(r);
		return NULL;
	}
	return r;
}

PGresult *ar_pg_next(struct ar_pg *pg)
{
	while (!pg->fault) {
		PGresult *r = next_result(pg);

		if (r && PQresultStatus(r) == PGRES_TUPLES_OK)
			return r;
		AR_ASSERT(!r || PQresultStatus(r) != PGRES_PIPELINE_SYNC);
		PQclear(r);
	}
	return NULL;
}

enum ar_pg_fault ar_pg_turn(struct ar_pg *pg)
{
	while (!pg->is_synced && pg->fault != AR_PG_LOST) {
		PGresult *r = next_result(pg);

		pg->is_synced = r && PQresultStatus(r) == PGRES_PIPELINE_SYNC;
		PQclear(r);
	}
	return pg->fault;
}

/* A transaction that failed stays open until ROLLBACK. */
static void roll_back(struct ar_pg *pg)
{
	enum ar_pg_fault fault = pg->fault;

	if (PQtransactionStatus(pg->handle) == PQTRANS_IDLE)
		return;
	pg->fault = AR_PG_FINE;
	ar_pg_send(pg, AR_PG_ROLLBACK, NULL);
	ar_pg_sync(pg);
	if (ar_pg_turn(pg))
		ar_pg_disconnect(pg);
	pg->fault = fault;
}

enum ar_pg_fault ar_pg_end(struct ar_pg *pg)
{
	enum ar_pg_fault fault = ar_pg_turn(pg);

	if (fault == AR_PG_LOST)
		ar_pg_disconnect(pg);
	else
		roll_back(pg);
	pg->fault = AR_PG_FINE;
	return fault;
}

enum ar_status ar_pg_fail(const struct ar_pg *pg, struct ar_error *err)
{
	if (err)
		*err = pg->error;
	return pg->error.status;
}

enum ar_status ar_pg_prepare(struct ar_pg *pg, struct ar_error *err)
{
	char name[8];

	pg->fault = AR_PG_FINE;
	if (!PQenterPipelineMode(pg->handle))
		note_lost(pg);
	for (enum ar_pg_id id = 0; !pg->fault && id < AR_PG_SQL_COUNT; id++) {
		name_of(id, name);
		if (!PQsendPrepare(pg->handle, name, ar_pg_sql_text[id], 0, NULL))
			note_lost(pg);
	}
	ar_pg_sync(pg);
	return ar_pg_end(pg) ? ar_pg_fail(pg, err) : AR_OK;
}
