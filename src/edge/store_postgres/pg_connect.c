/* Getting a connection: defaults that notice a dead peer, the settings of a session, and sentences that help
 * when it does not come about. Any thread, before the link is in use. */
#include "pg_link.h"

#include "hash.h"
#include "url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A peer that vanishes without a word is noticed in less than ten seconds, not in two hours. A commit that
 * waits for a slow standby is not cut short by that: the server's kernel answers while it waits. What the
 * connection string says wins, because it comes later. */
static const struct {
	const char *key, *value;
} defaults[] = {
	{ "connect_timeout", "5" },  { "keepalives_idle", "3" },     { "keepalives_interval", "2" },
	{ "keepalives_count", "3" }, { "tcp_user_timeout", "9000" }, { "target_session_attrs", "read-write" },
};

/* Asked for, not needed: a server that does not know one of them works as well. The server's side must notice
 * a dead client too, since its open transaction holds the fence. Small tables must not teach the planner to
 * scan what will be large; and a statement that has to scan after all, so dear on paper, must not be compiled
 * for seconds. */
static const char *const settings[] = {
	"SET tcp_keepalives_idle = 3",	     "SET tcp_keepalives_interval = 2",
	"SET tcp_keepalives_count = 3",	     "SET idle_in_transaction_session_timeout = 30000",
	"SET enable_seqscan = off",	     "SET jit = off",
	"SET client_min_messages = warning",
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
	{ "no password supplied", "give one: store_password, PGPASSWORD or ~/.pgpass" },
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

/* Keys and values for libpq, which takes the last one of a key; `text` is where numbers are written out. */
struct dialing {
	const char *keys[16], *values[16]; /* ended by NULL */
	size_t count;
	char text[3][16];
};

static void add(struct dialing *d, const char *key, const char *value)
{
	AR_ASSERT(d->count + 1 < AR_ARRAY_LEN(d->keys));
	d->keys[d->count] = key;
	d->values[d->count++] = value;
}

static void add_number(struct dialing *d, const char *key, size_t place, uint32_t v)
{
	snprintf(d->text[place], sizeof d->text[place], "%u", v);
	add(d, key, d->text[place]);
}

/* libpq waits that long for each host, and for two seconds at least; several may have to be tried. */
static uint32_t connect_seconds(uint32_t patience_ms)
{
	return patience_ms / 3000 > 2 ? patience_ms / 3000 : 2;
}

static PGconn *open_connection(const struct ar_pg_target *to)
{
	AR_AUTO(ar_buf_fini) struct ar_buf password = { 0 };
	struct dialing d = { 0 };
	PGconn *made;

	for (size_t i = 0; i < AR_ARRAY_LEN(defaults); i++)
		add(&d, defaults[i].key, defaults[i].value);
	add(&d, "dbname", to->conninfo);
	if (to->password.get)
		to->password.get(to->password.arg, &password);
	if (password.len > 0) {
		ar_buf_addc(&password, '\0');
		add(&d, "password", password.p);
	}
	add(&d, "client_encoding", "UTF8");
	add(&d, "application_name", to->application);
	if (to->patience_ms) {
		add_number(&d, "connect_timeout", 0, connect_seconds(to->patience_ms));
		add_number(&d, "tcp_user_timeout", 1, to->patience_ms);
	}
	made = PQconnectdbParams(d.keys, d.values, 1);
	if (password.p)
		explicit_bzero(password.p, password.len);
	return made;
}

/* The server's address is empty where it is reached by a unix socket. */
bool ar_pg_is_in_clear(const struct ar_pg *pg)
{
	const char *address = PQhostaddr(pg->handle);

	return address && *address && !ar_url_is_loopback_address(address) && !PQsslInUse(pg->handle) &&
	       !PQgssEncInUse(pg->handle);
}

/* Of several hosts one that is elsewhere is enough. A path is a unix socket. */
static bool is_elsewhere(const char *hosts)
{
	struct ar_str rest = ar_str_from(hosts), one;

	while (rest.len > 0) {
		AR_AUTO(ar_buf_fini) struct ar_buf host = { 0 };

		rest = ar_str_split(rest, ',', &one);
		ar_buf_addf(&host, "%.*s%c", AR_STR_ARG(one), '\0');
		if (one.len > 0 && *host.p != '/' && *host.p != '@' && strcmp(host.p, "localhost") != 0 &&
		    !ar_url_is_loopback_address(host.p))
			return true;
	}
	return false;
}

static const char *value_of(const PQconninfoOption *options, const char *key)
{
	for (; options->keyword; options++) {
		if (strcmp(options->keyword, key) != 0)
			continue;
		if (options->val)
			return options->val;
		return options->envvar && getenv(options->envvar) ? getenv(options->envvar) : "";
	}
	return "";
}

bool ar_store_postgres_is_unverified(const char *conninfo)
{
	PQconninfoOption *o = PQconninfoParse(conninfo, NULL);
	bool is_open = o && (is_elsewhere(value_of(o, "host")) || is_elsewhere(value_of(o, "hostaddr"))) &&
		       strcmp(value_of(o, "sslmode"), "verify-full") != 0;

	PQconninfoFree(o);
	return is_open;
}

static void ignore_notice(void *arg, const PGresult *r)
{
	(void)arg;
	(void)r;
}

/* With `off` a commit is reported before it is durable; whatever else the operator chose stays. */
static const char durable_commit[] = "SELECT set_config('synchronous_commit', 'on', false)"
				     " WHERE current_setting('synchronous_commit') = 'off'";

static bool set_number(struct ar_pg *pg, const char *setting, uint32_t v)
{
	char text[64];

	snprintf(text, sizeof text, "SET %s = %u", setting, v);
	return ar_pg_execute(pg, text, NULL) == AR_OK;
}

static enum ar_status set_session(struct ar_pg *pg, const struct ar_pg_target *to, struct ar_error *err)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(settings); i++)
		ar_pg_execute(pg, settings[i], NULL);
	if (set_number(pg, "statement_timeout", to->statement_timeout_ms) &&
	    (!to->lock_timeout_ms || set_number(pg, "lock_timeout", to->lock_timeout_ms)) &&
	    ar_pg_execute(pg, durable_commit, NULL) == AR_OK)
		return AR_OK;
	ar_pg_disconnect(pg);
	return ar_pg_fail(pg, err);
}

static ar_usec deadline_after(uint32_t ms)
{
	return ms ? ar_clock_system()->mono(ar_clock_system()) + (ar_usec)ms * 1000 : 0;
}

void ar_pg_application(struct ar_str node, char ret[AR_PG_APPLICATION + 1])
{
	struct ar_hash hash = ar_hash_of(node);
	char tail[AR_HASH_TEXT];

	if (node.len + strlen("agentd ") <= AR_PG_APPLICATION) {
		snprintf(ret, AR_PG_APPLICATION + 1, "agentd %.*s", AR_STR_ARG(node));
		return;
	}
	ar_hash_text(&hash, tail);
	snprintf(ret, AR_PG_APPLICATION + 1, "agentd %.*s~%.*s", 32, node.p, 16, tail);
}

enum ar_status ar_pg_connect(struct ar_pg *pg, const struct ar_pg_target *to, struct ar_error *err)
{
	enum ar_status st = check_conninfo(to->conninfo, err);

	if (st)
		return st;
	pg->fault = AR_PG_FINE;
	pg->handle = open_connection(to);
	if (PQstatus(pg->handle) != CONNECTION_OK)
		return fail_connect(pg, err);
	PQsetNoticeReceiver(pg->handle, ignore_notice, NULL);
	pg->deadline = deadline_after(to->patience_ms);
	return set_session(pg, to, err);
}
