/* The rows that are written when a store is opened: the node's epoch, the ids that are kept for ever,
 * the dictionary. One transaction with the schema; when two nodes open an empty database at once, one
 * of them clashes and looks again. Runs on the opening thread before the store's threads exist. */
#include "postgres.h"

#include <string.h>
#include <sys/random.h>

#define SET_UP_TRIES 10

static const struct ar_pg_args no_args;

/* Comes back as a new epoch of the same node. A process that was declared lost may do so while no other
 * one took its id: the row then names no process, or still this one. */
static enum ar_status acquire_epoch(struct ar_postgres *s, const struct ar_store_postgres_options *o,
				    struct ar_error *err)
{
	struct ar_pg_args args = { 0 };
	enum ar_status st = AR_OK;
	PGresult *r;

	ar_pg_arg_bytes(&args, ar_str_from(s->node));
	ar_pg_arg_u64(&args, o->instance & INT64_MAX);
	ar_pg_arg_bool(&args, o->is_rejoin);
	r = ar_pg_query(
		&s->writer,
		"INSERT INTO node (id, epoch, connection, instance) VALUES ($1, 1, 1, $2)"
		" ON CONFLICT (id) DO UPDATE SET epoch = node.epoch + 1, connection = node.connection + 1,"
		" instance = excluded.instance"
		" WHERE NOT $3::bool OR node.instance = 0 OR node.instance = excluded.instance"
		" RETURNING epoch, connection",
		&args);
	if (!r)
		return ar_pg_fail(&s->writer, err);
	if (PQntuples(r) == 0)
		st = ar_fail(err, AR_E_EXISTS,
			     "another process runs as node %s; give each node its own node.id", s->node);
	s->base.store.epoch = st ? 0 : ar_pg_col_u64(r, 0, 0);
	s->connection = st ? 0 : ar_pg_col_u64(r, 0, 1);
	PQclear(r);
	return st;
}

/* Offers a value that only the first open of all will keep; ret gets the one that is kept,
 * which has the same length. */
static enum ar_status store_if_absent(struct ar_pg *pg, const char *key, struct ar_str offered, char *ret,
				      struct ar_error *err)
{
	struct ar_pg_args args = { 0 };
	enum ar_status st = AR_OK;
	struct ar_str kept;
	PGresult *r;

	ar_pg_arg_bytes(&args, ar_str_from(key));
	ar_pg_arg_bytes(&args, offered);
	r = ar_pg_query(pg,
			"INSERT INTO meta (key, value) VALUES ($1, $2)"
			" ON CONFLICT (key) DO UPDATE SET value = meta.value RETURNING value",
			&args);
	if (!r)
		return ar_pg_fail(pg, err);
	kept = ar_pg_col_bytes(r, 0, 0);
	if (kept.len == offered.len)
		memcpy(ret, kept.p, kept.len);
	else
		st = ar_fail(err, AR_E_CORRUPT, "the stored %s is not valid; restore a backup", key);
	PQclear(r);
	return st;
}

static enum ar_status name_runtime(struct ar_postgres *s, struct ar_error *err)
{
	char minted[3 + AR_SESSION_KEY_LEN] = "rt_";

	ar_id_mint(minted + 3);
	return store_if_absent(&s->writer, "runtime_id", (struct ar_str){ minted, sizeof minted },
			       s->base.store.runtime_id, err);
}

static enum ar_status share_key(struct ar_postgres *s, struct ar_error *err)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t random[AR_MEMBER_KEY / 2];
	char key[AR_MEMBER_KEY];

	AR_ASSERT(getrandom(random, sizeof random, 0) == (ssize_t)sizeof random);
	for (size_t i = 0; i < sizeof key; i++)
		key[i] = digits[i % 2 ? random[i / 2] & 15 : random[i / 2] >> 4];
	return store_if_absent(&s->writer, "cluster_key", (struct ar_str){ key, sizeof key }, s->cluster_key,
			       err);
}

/* Loads all dictionaries; *ret is the number of the one that `wanted` is, 0 when it is new; *ret_last the
 * highest. */
static enum ar_status load_dictionaries(struct ar_postgres *s, struct ar_str wanted, uint64_t *ret,
					uint64_t *ret_last, struct ar_error *err)
{
	PGresult *r =
		ar_pg_query(&s->writer, "SELECT number, content FROM dictionary ORDER BY number", &no_args);
	enum ar_status st = AR_OK;

	if (!r)
		return ar_pg_fail(&s->writer, err);
	for (int i = 0; !st && i < PQntuples(r); i++) {
		struct ar_str content = ar_pg_col_bytes(r, i, 1);

		*ret_last = ar_pg_col_u64(r, i, 0);
		if (ar_str_eq(content, wanted))
			*ret = *ret_last;
		st = ar_pack_dictionaries_add(s->dictionaries, *ret_last, content, err);
	}
	PQclear(r);
	return st;
}

static enum ar_status store_dictionary(struct ar_postgres *s, uint64_t number, struct ar_str content,
				       struct ar_error *err)
{
	struct ar_pg_args args = { 0 };
	enum ar_status st = ar_pack_dictionaries_add(s->dictionaries, number, content, err);
	PGresult *r;

	if (st)
		return st;
	ar_pg_arg_u64(&args, number);
	ar_pg_arg_bytes(&args, content);
	r = ar_pg_query(&s->writer, "INSERT INTO dictionary (number, content) VALUES ($1, $2)", &args);
	PQclear(r);
	return r ? AR_OK : ar_pg_fail(&s->writer, err);
}

/* Values name the dictionary that packed them by number, so each one that was ever used stays. */
static enum ar_status set_up_dictionaries(struct ar_postgres *s, struct ar_str wanted, struct ar_error *err)
{
	uint64_t number = 0, last = 0;
	enum ar_status st;

	ar_pack_dictionaries_free(s->dictionaries); /* an earlier try may have left some */
	s->dictionaries = ar_pack_dictionaries_new();
	st = load_dictionaries(s, wanted, &number, &last, err);
	if (st || ar_str_empty(wanted))
		return st;
	if (!number) {
		number = last + 1;
		st = store_dictionary(s, number, wanted, err);
	}
	return st ? st : ar_pack_dictionaries_use(s->dictionaries, number, wanted, err);
}

static enum ar_status set_up_once(struct ar_postgres *s, const struct ar_store_postgres_options *o,
				  struct ar_error *err)
{
	enum ar_status st = ar_pg_execute(&s->writer, "BEGIN", err);

	if (!st)
		st = ar_postgres_ensure_schema(&s->writer, err);
	if (!st)
		st = name_runtime(s, err);
	if (!st)
		st = share_key(s, err);
	if (!st)
		st = set_up_dictionaries(s, o->dictionary, err);
	if (!st)
		st = acquire_epoch(s, o, err);
	if (!st)
		st = ar_postgres_acquire_lane(s, err);
	return st ? st : ar_pg_execute(&s->writer, "COMMIT", err);
}

enum ar_status ar_postgres_set_up(struct ar_postgres *s, const struct ar_store_postgres_options *o,
				  struct ar_error *err)
{
	enum ar_status st = AR_E_IO;
	bool clashed = true;

	for (unsigned tries = 0; clashed && tries < SET_UP_TRIES; tries++) {
		st = set_up_once(s, o, err);
		clashed = st && s->writer.fault == AR_PG_CLASH;
		if (st)
			ar_pg_execute(&s->writer, "ROLLBACK", NULL);
	}
	return st;
}
