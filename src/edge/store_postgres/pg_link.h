/* One connection to PostgreSQL, always in pipeline mode once it is prepared: statements are sent without
 * waiting, ar_pg_sync() ends a round trip, results come in the order of sending. After the first error the
 * server skips what is left of the round trip; the error is kept and comes out of ar_pg_end():
 *
 * 	ar_pg_send(pg, AR_PG_SPAN, &args);
 * 	ar_pg_sync(pg);
 * 	if ((rows = ar_pg_next(pg)))
 * 		...
 * 	PQclear(rows);
 * 	if (ar_pg_end(pg))
 * 		return ar_pg_fail(pg, err);
 *
 * A connection belongs to one thread at a time. */
#ifndef AR_EDGE_STORE_PG_LINK_H
#define AR_EDGE_STORE_PG_LINK_H

#include "clock.h"
#include "pg_args.h"
#include "pg_sql.h"
#include "store_open.h"

enum ar_pg_fault {
	AR_PG_FINE,
	AR_PG_LOST, /* the connection is gone; so is what was not committed */
	AR_PG_CLASH, /* another transaction was first: look again and repeat */
	AR_PG_FENCED, /* the fence statement found another owner */
	AR_PG_FAILED, /* anything else that the server says no to */
};

/* Where to, and what to tell the server there. Borrowed for the life of the link. */
struct ar_pg_target {
	const char *conninfo;
	struct ar_store_password password;
	const char *application; /* what the server calls us, whatever the connection string says */
	uint32_t statement_timeout_ms; /* 0 for none */
	uint32_t lock_timeout_ms; /* 0: what the server says */
	uint32_t patience_ms; /* with a server that does not answer; 0: that of the connection string */
};

#define AR_PG_APPLICATION 63 /* bytes of a name that a server keeps */

/* A zeroed one is not connected. */
struct ar_pg {
	PGconn *handle; /* NULL: not connected */
	struct ar_packer *packer; /* the owner's */
	bool is_synced; /* nothing is on its way */
	enum ar_pg_fault fault; /* the first of this call, */
	struct ar_error error; /* its sentence, */
	char sqlstate[6]; /* and its code; empty when the server did not say it */
	ar_usec deadline; /* ar_pg_query() gives up then (monotonic), and the connection with it; 0: never */
};

AR_BEGIN_DECLS

/* `agentd <node>`: how a node's connections are found on the server. A long id is cut and made unique by its
 * hash. */
void ar_pg_application(struct ar_str node, char ret[AR_PG_APPLICATION + 1]);

/* Connects and applies the settings of a session. AR_E_INVALID: not a connection string; AR_E_UNAVAILABLE
 * with a sentence that says what to check, and never the password. */
AR_MUST_USE enum ar_status ar_pg_connect(struct ar_pg *pg, const struct ar_pg_target *to,
					 struct ar_error *err);

/* Whether the connection leaves this machine and is not encrypted. */
bool ar_pg_is_in_clear(const struct ar_pg *pg);

/* Makes all statements of pg_sql.h known and enters pipeline mode; the tables must be there. */
AR_MUST_USE enum ar_status ar_pg_prepare(struct ar_pg *pg, struct ar_error *err);
void ar_pg_disconnect(struct ar_pg *pg);

/* Before ar_pg_prepare(), for set-up: one statement or script (script: no args), waited for. NULL result: it
 * failed, pg->fault says how. Binary results when there are args. */
PGresult *ar_pg_query(struct ar_pg *pg, const char *text, const struct ar_pg_args *args);

/* The same for what has no result worth looking at: AR_OK, or ar_pg_fail(). */
enum ar_status ar_pg_execute(struct ar_pg *pg, const char *script, struct ar_error *err);

void ar_pg_send(struct ar_pg *pg, enum ar_pg_id id, const struct ar_pg_args *args); /* args may be NULL */
void ar_pg_send_text(struct ar_pg *pg,
		     const char *text); /* a statement that is not in pg_sql.h, without args */
void ar_pg_sync(struct ar_pg *pg);

/* The next result that has rows; NULL when an error came first. The caller clears it. */
PGresult *ar_pg_next(struct ar_pg *pg);

/* Before a call, costs no round trip: notices a connection that the server closed since, while it is still
 * certain that nothing was sent on it. False: it is closed now. */
bool ar_pg_is_alive(struct ar_pg *pg);

/* Takes the rest of the round trip; the transaction goes on. */
enum ar_pg_fault ar_pg_turn(struct ar_pg *pg);

/* The same, and ends the call: what is left of a transaction that failed is rolled back, a lost connection is
 * closed. The fault is forgotten but for its sentence. */
enum ar_pg_fault ar_pg_end(struct ar_pg *pg);

/* AR_E_IO (or AR_E_UNAVAILABLE for a lost one) with the sentence of the last fault. */
enum ar_status ar_pg_fail(const struct ar_pg *pg, struct ar_error *err);

AR_END_DECLS

#endif
