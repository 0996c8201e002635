/* The schema change that lets things be forgotten: a log in monthly partitions, receipts with an age,
 * references to content. Const text; pg_schema.c runs it.
 *
 * The log's table stays as it is and becomes the partition of everything up to the end of this month: one
 * scan to prove it, nothing is copied but ids that a caller dated later. Ids rise with time, so a range of
 * ids is a range of months, and the primary key goes on to keep two writers apart. Content names the session
 * that put it first, which is nearly always the only one: only others need a row in blob_ref, so most content
 * costs one more index and no more rows. Content from before names nobody: who needs it is not known, so it
 * is never removed. A node of the version before goes on to work: what it leaves out has a default.
 *
 * Large content is in parts (blob_part), or an object elsewhere (pg_object.c). */
#include "postgres.h"

const char ar_pg_migration_retention[] =
	"ALTER TABLE log RENAME TO log_month;"
	"ALTER INDEX log_pkey RENAME TO log_month_pkey;"
	"CREATE TABLE log (session uuid NOT NULL, first_seq int8 NOT NULL, last_seq int8 NOT NULL,"
	" at int8 NOT NULL, epoch int8 NOT NULL, size int4 NOT NULL, body bytea NOT NULL,"
	" PRIMARY KEY (session, first_seq)) PARTITION BY RANGE (session);"
	"CREATE TABLE log_default PARTITION OF log DEFAULT;"
	"DO $$ DECLARE month timestamp := date_trunc('month', now() AT TIME ZONE 'UTC'); ends uuid; BEGIN"
	" ends := (lpad(to_hex((extract(epoch FROM month + interval '1 month') * 1000)::int8), 12, '0')"
	" || repeat('0', 20))::uuid;"
	" WITH late AS (DELETE FROM log_month WHERE session >= ends RETURNING *) INSERT INTO log SELECT * "
	"FROM late;"
	" EXECUTE format('ALTER TABLE log ATTACH PARTITION log_month FOR VALUES FROM (MINVALUE) TO (%L)', "
	"ends);"
	" EXECUTE format('ALTER TABLE log_month RENAME TO %I', 'log_' || to_char(month, 'YYYY_MM'));"
	" EXECUTE format('ALTER INDEX log_month_pkey RENAME TO %I', 'log_' || to_char(month, 'YYYY_MM') || "
	"'_pkey');"
	" END $$;"
	"ALTER TABLE receipt ADD COLUMN created int8 NOT NULL"
	" DEFAULT (extract(epoch FROM now()) * 1000000)::int8;"
	"CREATE INDEX receipt_created ON receipt (created);"
	"ALTER TABLE blob ADD COLUMN at int8, ADD COLUMN session uuid;"
	"CREATE INDEX blob_session ON blob (session);"
	"CREATE TABLE blob_ref (hash bytea NOT NULL REFERENCES blob, session uuid NOT NULL,"
	" PRIMARY KEY (hash, session));"
	"CREATE INDEX blob_ref_session ON blob_ref (session);"
	"CREATE TABLE blob_doomed (hash bytea PRIMARY KEY, since int8 NOT NULL);"
	"CREATE INDEX blob_doomed_since ON blob_doomed (since);"
	"CREATE TABLE object (name bytea PRIMARY KEY, since int8);"
	"CREATE INDEX object_since ON object (since) WHERE since IS NOT NULL;"
	"CREATE TABLE object_gone (name bytea PRIMARY KEY);"
	"ALTER TABLE blob ADD COLUMN parts int8 NOT NULL DEFAULT 0, ADD COLUMN object bytea REFERENCES "
	"object;"
	"CREATE INDEX blob_object ON blob (object) WHERE object IS NOT NULL;"
	"CREATE TABLE blob_part (hash bytea NOT NULL, n int8 NOT NULL, bytes bytea NOT NULL, PRIMARY KEY "
	"(hash, n));"
	"ALTER TABLE blob_part ALTER COLUMN bytes SET STORAGE EXTERNAL;";
