/* Getting a connection: defaults that notice a dead peer, what a session is told, and sentences that help when it
 * does not come about. Any thread, before the link is in use. */
#include "pg_link.h"

#include <stdio.h>
#include <string.h>

/* A peer that vanishes without a word is noticed in about half a minute, not in two hours. What the connection
 * string says wins, because it comes later. */
static const struct {
	const char *key, *value;
} defaults[] = {
	{ "connect_timeout", "5" },
	{ "keepalives_idle", "10" },
	{ "keepalives_interval", "5" },
	{ "keepalives_count", "3" },
	{ "tcp_user_timeout", "30000" },
	{ "fallback_application_name", "agentd" },
	{ "target_session_attrs", "read-write" },
};

/* Asked for, not needed: a server that does not know one of them works as well. The server's side must notice a
 * dead client too, since its open transaction holds the fence. Small tables must not teach the planner to scan
 * what will be large. */
static const char *const wishes[] = {
	"SET tcp_keepalives_idle = 10", "SET tcp_keepalives_interval = 5",
	"SET tcp_keepalives_count = 3", "SET idle_in_transaction_session_timeout = 30000",
	"SET enable_seqscan = off",	"SET client_min_messages = warning",
};

/* Parts of the sentences of libpq and the server, and what to do about them. */
static const struct {
	const char *part, *advice;
} advices[] = {
	{ "No such file or directory", "check that the server runs and that `host` is its socket folder" },
	{ "Connection refused", "check that the server runs and listens at that host and port" },
	{ "timeout expired", "check the address, and firewalls on the way" },
	{ "could not translate host name", "check the host name" },
	{ "authentication failed", "check user and password" },
	{ "no password supplied", "give a password, in the string, PGPASSWORD or ~/.pgpass" },
	{ "pg_hba.conf", "allow this user, database and address in pg_hba.conf" },
	{ "starting up", "wait until the server has started" },
	{ "role \"", "create that user, or name another" },
	{ "database \"", "create that database, or name another" },
	{ "read-only", "this is a standby: name the primary, or all hosts" },
	{ "too many", "raise max_connections or close other clients" },
};

static const char *advice_for(const char *message)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(advices); i++) {
		if (strstr(message, advices[i].part))
			return advices[i].advice;
	}
	return "check host, port, user, password and database";
}

static enum ar_status fail_connect(struct ar_pg *pg, struct ar_error *err)
{
	const char *message = PQerrorMessage(pg->handle), *advice = advice_for(message);
	struct ar_str line = { message, strcspn(message, "\n") };

	ar_fail(err, AR_E_UNAVAILABLE, "PostgreSQL: %.*s; %s", AR_STR_ARG(ar_str_sub(line, 0, 140)), advice);
	ar_pg_disconnect(pg);
	return AR_E_UNAVAILABLE;
}

static enum ar_status check_conninfo(const char *conninfo, struct ar_error *err)
{
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);

	if (!options) /* libpq's sentence may quote the password */
		return ar_fail(err, AR_E_INVALID,
			       "not a PostgreSQL connection string: "
			       "postgres://user@host:5432/database or 'host=... dbname=...' is needed");
	PQconninfoFree(options);
	return AR_OK;
}

static PGconn *dial(const char *conninfo)
{
	const char *keys[AR_ARRAY_LEN(defaults) + 3] = { 0 }, *values[AR_ARRAY_LEN(defaults) + 3] = { 0 };
	size_t n = 0;

	for (; n < AR_ARRAY_LEN(defaults); n++) {
		keys[n] = defaults[n].key;
		values[n] = defaults[n].value;
	}
	keys[n] = "dbname";
	values[n++] = conninfo;
	keys[n] = "client_encoding";
	values[n] = "UTF8";
	return PQconnectdbParams(keys, values, 1);
}

static void keep_quiet(void *arg, const PGresult *r)
{
	(void)arg;
	(void)r;
}

/* With `off` a commit is reported before it is durable; whatever else the operator chose stays. */
static const char durable_commit[] = "SELECT set_config('synchronous_commit', 'on', false)"
				     " WHERE current_setting('synchronous_commit') = 'off'";

static bool tell(struct ar_pg *pg, const char *text)
{
	PGresult *r = ar_pg_ask(pg, text, NULL);

	PQclear(r);
	return r;
}

static enum ar_status introduce(struct ar_pg *pg, uint32_t statement_timeout_ms, struct ar_error *err)
{
	char timeout[64];

	for (size_t i = 0; i < AR_ARRAY_LEN(wishes); i++)
		tell(pg, wishes[i]);
	snprintf(timeout, sizeof timeout, "SET statement_timeout = %u", statement_timeout_ms);
	if (tell(pg, timeout) && tell(pg, durable_commit))
		return AR_OK;
	ar_pg_disconnect(pg);
	return ar_pg_fail(pg, err);
}

enum ar_status ar_pg_connect(struct ar_pg *pg, const struct ar_pg_target *to, struct ar_error *err)
{
	enum ar_status st = check_conninfo(to->conninfo, err);

	if (st)
		return st;
	pg->fault = AR_PG_FINE;
	pg->handle = dial(to->conninfo);
	if (PQstatus(pg->handle) != CONNECTION_OK)
		return fail_connect(pg, err);
	PQsetNoticeReceiver(pg->handle, keep_quiet, NULL);
	return introduce(pg, to->statement_timeout_ms, err);
}
