/* See secret_get.h. */
#include "secret_priv.h"

#include "clock.h"

#include <stdlib.h>
#include <string.h>

static ar_usec now(void)
{
	return ar_clock_system()->mono(ar_clock_system());
}

enum ar_status ar_secret_check_time(const struct ar_secret_order *o, struct ar_error *err)
{
	if (o->stop && atomic_load(o->stop))
		return ar_fail(err, AR_E_CANCELED, "agentd stops");
	if (now() >= o->deadline)
		return ar_fail(err, AR_E_TIMEOUT, "no value came within %d seconds", AR_SECRET_MS / 1000);
	return AR_OK;
}

static enum ar_status get_credential(const char *name, struct ar_buf *out, struct ar_error *err)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	AR_AUTO(ar_buf_fini) struct ar_buf path = { 0 };

	if (!folder || folder[0] != '/')
		return ar_fail(
			err, AR_E_NOT_FOUND,
			"CREDENTIALS_DIRECTORY is not set; give it to the unit with LoadCredential=%s:...",
			name);
	ar_buf_addf(&path, "%s/%s%c", folder, name, '\0');
	return ar_secret_read_file(path.p, true, out, err);
}

/* A file that a unit names by its path in there is as well protected as one that it names as a credential. */
static bool is_in_credentials(const char *path)
{
	struct ar_str folder = ar_str_from(getenv("CREDENTIALS_DIRECTORY"));

	return !ar_str_empty(folder) && ar_str_starts(ar_str_from(path), folder) && path[folder.len] == '/' &&
	       !strstr(path, "/../");
}

static enum ar_status get_variable(const char *name, struct ar_buf *out, struct ar_error *err)
{
	const char *value = getenv(name);

	if (!value || !*value)
		return ar_fail(
			err, AR_E_NOT_FOUND,
			"the environment variable %s that it names is not set; set it before agentd starts",
			name);
	ar_buf_addz(out, value);
	return AR_OK;
}

static enum ar_status get_raw(const struct ar_secret_order *o, struct ar_buf *out, struct ar_error *err)
{
	const struct ar_secret_source *s = o->source;

	switch (s->kind) {
	case AR_SECRET_FILE:
		return ar_secret_read_file(s->name, is_in_credentials(s->name), out, err);
	case AR_SECRET_CREDENTIAL:
		return get_credential(s->name, out, err);
	case AR_SECRET_ENV:
		return get_variable(s->name, out, err);
	case AR_SECRET_COMMAND:
		return ar_secret_run(o, out, err);
	case AR_SECRET_HTTP:
		return ar_secret_fetch(o, out, err);
	case AR_SECRET_TEXT:
	case AR_SECRET_KINDS:
		break;
	}
	ar_buf_addz(out, s->name);
	return AR_OK;
}

/* One line end that tools put there is no part of it. */
static enum ar_status check_value(struct ar_buf *value, struct ar_error *err)
{
	if (value->len > 0 && value->p[value->len - 1] == '\n')
		value->len--;
	if (value->len > 0 && value->p[value->len - 1] == '\r')
		value->len--;
	if (value->len == 0)
		return ar_fail(err, AR_E_INVALID, "it is empty; put the secret there");
	if (value->len > AR_SECRET_MAX)
		return ar_fail(err, AR_E_LIMIT, "it has more than %d bytes, which no secret has",
			       AR_SECRET_MAX);
	if (memchr(value->p, 0, value->len))
		return ar_fail(err, AR_E_INVALID, "it contains a NUL byte; use a text");
	ar_buf_addc(value, '\0');
	value->len--;
	return AR_OK;
}

static enum ar_status get(struct ar_secret_order *o, struct ar_buf *out, struct ar_error *err)
{
	enum ar_status st = get_raw(o, out, err);

	return st ? st : check_value(out, err);
}

static void wipe(struct ar_buf *b)
{
	if (b->p)
		explicit_bzero(b->p, b->len);
	ar_buf_fini(b);
}

enum ar_status ar_secret_get(const struct ar_secret_source *s, const atomic_bool *stop,
			     struct ar_secret_got *ret, struct ar_error *err)
{
	struct ar_secret_order order = { s, stop, now() + (ar_usec)AR_SECRET_MS * 1000, AR_STR_NONE };
	struct ar_secret_order first = { s->token, stop, order.deadline, AR_STR_NONE };

	if (s->token && get(&first, &ret->token, err) != AR_OK) {
		wipe(&ret->token);
		return ar_fail_wrap(err, "the token for the store");
	}
	if (s->token)
		order.token = ar_buf_str(&ret->token);
	return get(&order, &ret->value, err);
}

void ar_secret_got_fini(struct ar_secret_got *g)
{
	wipe(&g->value);
	wipe(&g->token);
}
