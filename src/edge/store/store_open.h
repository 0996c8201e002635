/* Constructors of the stores behind port/store.h: SQLite for one machine, PostgreSQL for many, memory
 * for tests and simulation, and a decorator that injects faults. The port is the contract; what
 * follows is only what differs by engine.
 *
 * Every store is driven by one thread (submit, poll, close). SQLite and PostgreSQL work on two threads
 * of their own; the others use the caller's thread only. Each engine is a module of its own
 * (edge/store_<engine>): a program links those it opens. */
#ifndef AR_EDGE_STORE_OPEN_H
#define AR_EDGE_STORE_OPEN_H

#include "buf.h"
#include "member.h"
#include "objects.h"
#include "store.h"

/* A commit failed so that nobody can say whether it is stored: the write-ahead log has it, and may
 * not have reached the disk. Only opening the store again shows which. So this is to end the process
 * before anyone is answered; where it returns, or is NULL, this write and all after it end
 * AR_E_DOUBT. From the writer's thread. */
typedef void ar_store_doubt_fn(void *arg, const char *why);

struct ar_store_sqlite_options {
	const char *path; /* the database; `<path>.lock`, `-wal` and `-shm` stand beside it */
	ar_store_doubt_fn *doubt;
	void *doubt_arg;
	ar_store_wake_fn *wake; /* called from the store's threads; NULL for none */
	void *wake_arg;
	/* zstd, for what is written from now on; empty for none. Kept in the file. */
	struct ar_str dictionary;
};

/* Who knows the password when a connection is made; it may change meanwhile. */
struct ar_store_password {
	void (*get)(void *arg,
		    struct ar_buf *out); /* any thread; adds nothing where there is none. NULL: nobody */
	void *arg;
};

/* A step that brings a schema to `version` begins, on its way to version `last`. */
typedef void ar_store_step_fn(uint64_t version, uint64_t last);

struct ar_store_postgres_options {
	const char *conninfo; /* postgres://... or key=value pairs, as libpq takes them */
	struct ar_store_password password; /* wins over one in conninfo */
	/* whose epoch it is; NULL for "node-1". Two open stores of one node fence each other. */
	const char *node;
	/* distinguishes this process from others of the same id: random, its lowest 63 bits count */
	uint64_t instance;
	bool is_rejoin; /* only if no other instance has taken the id since: AR_E_EXISTS then */
	ar_store_wake_fn *wake; /* called from the store's threads; NULL for none */
	void *wake_arg;
	/* zstd, for what is written from now on; empty for none. Kept in the database. */
	struct ar_str dictionary;
	uint32_t statement_timeout_ms; /* longest that the server may work on one statement; 0 for no limit */
	uint32_t outage_ms; /* how long an operation waits for a server that is away; 0 for 10 s */
	/* borrowed: where content of at least object_min_bytes goes; NULL keeps it all */
	struct ar_objects *objects;
	size_t object_min_bytes;
	ar_store_step_fn *on_step; /* of a migration, which may take long on a large store; NULL for none */
};

struct ar_member_options {
	/* a node without a new heartbeat for so long is lost; no heartbeat takes much longer */
	uint32_t lease_ms;
	ar_store_wake_fn *wake; /* called from the member's thread; NULL for none */
	void *wake_arg;
};

/* What goes wrong in a faulty store. Decided by `seed` alone, so a run can be repeated. A zeroed plan
 * injects nothing. */
struct ar_store_fault_plan {
	uint64_t seed;
	uint32_t fail_permille; /* chance that an append or chunk ends AR_E_IO, with nothing of it written */
	uint64_t fail_nth; /* this append or chunk (from 1, since creation) fails so; 0 = none */
	uint32_t delay_polls; /* an operation waits for up to that many further polls */
	bool reorder; /* operations of different sessions may overtake one another */
	ar_store_wake_fn *wake; /* an operation still waits, poll again; NULL for none */
	void *wake_arg;
};

AR_BEGIN_DECLS

/* Opens or creates the file, takes the next epoch and starts the threads. AR_E_EXISTS: another
 * process has it; AR_E_UNAVAILABLE: a newer version wrote it; AR_E_INVALID: not a store; AR_E_IO: the rest.
 * Reads have a connection of their own and do not wait for writes: a read that is submitted before an
 * append's done() may or may not see that append. */
AR_MUST_USE enum ar_status ar_store_sqlite_open(const struct ar_store_sqlite_options *o,
						struct ar_store **ret, struct ar_error *err);

/* Writes submitted and not yet committed: what the engine bounds its intake by. Any thread. */
size_t ar_store_sqlite_backlog(const struct ar_store *s);

/* Connects twice, brings an empty database to the current schema, takes the node's next epoch and
 * starts the threads. AR_E_UNAVAILABLE: the server cannot be reached (the sentence says what to check)
 * or the schema is older (migrate) or newer than this program; AR_E_INVALID: not a connection string,
 * not a node id, or tables of another program; AR_E_EXISTS: see is_rejoin; AR_E_IO: the rest.
 *
 * A connection that is lost is made again. A write whose commit was under way then ends as the database
 * says: AR_OK when it is stored, otherwise it is written again; only a server that stays away ends it
 * AR_E_IO, or, with a commit under way and not before give_up() or close(), AR_E_DOUBT. One append may
 * have 512 MiB in all. Reads as in SQLite. */
AR_MUST_USE enum ar_status ar_store_postgres_open(const struct ar_store_postgres_options *o,
						  struct ar_store **ret, struct ar_error *err);

/* Whether the server was reached over a network without encryption: what is stored could be
 * read and changed on the way. */
bool ar_store_postgres_is_in_clear(const struct ar_store *s);

/* Whether a connection string leads off this machine without the server being verified: sslmode is not
 * verify-full. False for what is none. */
bool ar_store_postgres_is_unverified(const char *conninfo);

/* The node's part in the cluster that shares the database of `s`, which is a PostgreSQL store and is
 * closed after it. A connection and a thread of its own, so that no heartbeat waits behind a batch; it
 * connects with the first heartbeat. */
AR_MUST_USE enum ar_status ar_store_postgres_member(struct ar_store *s, const struct ar_member_options *o,
						    struct ar_member **ret, struct ar_error *err);

/* Brings a database to the newest schema, in one transaction. Nodes of the version before go on
 * with their work: a migration only adds. *ret_from is the version that was found (0: empty),
 * *ret_to the newest. Statuses as open. */
AR_MUST_USE enum ar_status ar_store_postgres_migrate(const struct ar_store_postgres_options *o,
						     uint64_t *ret_from, uint64_t *ret_to,
						     struct ar_error *err);

/* The same up to version `to`, which must exist: for tests of what an older schema does. */
AR_MUST_USE enum ar_status ar_store_postgres_migrate_to(const struct ar_store_postgres_options *o,
							uint64_t to, uint64_t *ret_from,
							struct ar_error *err);

/* An empty store that does everything in poll(), in the order of submission. wake may be NULL. */
void ar_store_memory_open(ar_store_wake_fn *wake, void *wake_arg, struct ar_store **ret);

/* The process died and came back: of the writes in flight each session keeps a prefix that `seed` chooses,
 * no done() is called for anything in flight (the operations are the caller's again), and the next epoch
 * begins. */
void ar_store_memory_crash(struct ar_store *s, uint64_t seed);

/* Another writer took over: from now on every append and chunk ends AR_E_FENCED, until a crash takes a new
 * epoch. */
void ar_store_memory_fence(struct ar_store *s);

/* A store in front of `inner`, which it owns from here on. `inner` must do its work in poll(), as memory
 * does: that is what keeps the order within a session. */
void ar_store_faulty_new(struct ar_store *inner, const struct ar_store_fault_plan *plan,
			 struct ar_store **ret);

/* ar_store_memory_crash() of the inner memory store; what was held back is lost. The fault plan goes on. */
void ar_store_faulty_crash(struct ar_store *s, uint64_t seed);

AR_END_DECLS

#endif
