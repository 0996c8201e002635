/* See secrets.h. */
#include "secrets.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define BLANKS " \t\r"

/* A variable whose name ends so holds a secret, as a rule; PGPASSWORD too. */
static const char *const secret_names[] = { "_KEY", "_TOKEN", "_SECRET", "PASSWORD" };

/* Headers whose values are ordinary words; those of all others are taken for secret. */
static const char *const open_headers[] = { "Accept", "Accept-Language", "Content-Type", "User-Agent" };

/* The value of NAME=value when the name says that it is secret; else nothing. */
static struct ar_str secret_of_variable(struct ar_str entry)
{
	struct ar_str name, value = ar_str_split(entry, '=', &name);

	for (size_t i = 0; i < AR_ARRAY_LEN(secret_names); i++) {
		if (ar_str_ends(name, ar_str_from(secret_names[i])))
			return value;
	}
	return AR_STR_NONE;
}

static void add_variable(struct ar_redactor *r, const char *entry)
{
	ar_redactor_add(r, secret_of_variable(ar_str_from(entry)));
}

static void add_environment(struct ar_redactor *r)
{
	for (char **entry = environ; *entry; entry++)
		add_variable(r, *entry);
}

/* Of a connection string only the password is secret: postgres://user:password@host, or
 * password=... among key=value pairs. */
static struct ar_str password_of(const char *store)
{
	static const char key[] = "password=";
	const char *at = strstr(store, key);
	const char *user = strstr(store, "://");
	size_t len;

	if (at) {
		at += sizeof(key) - 1;
		if (*at == '\'')
			return (struct ar_str){ at + 1, strcspn(at + 1, "'") };
		return (struct ar_str){ at, strcspn(at, " &") };
	}
	if (!user)
		return AR_STR_NONE;
	user += 3;
	len = strcspn(user, ":@/?");
	if (user[len] != ':')
		return AR_STR_NONE;
	return (struct ar_str){ user + len + 1, strcspn(user + len + 1, "@/?") };
}

/* Calls `look` with each entry of a text that has commas or line ends between them, until it says true. */
static bool any_entry(struct ar_str text, bool (*look)(void *arg, struct ar_str entry), void *arg)
{
	while (text.len > 0) {
		size_t len = 0;

		while (len < text.len && text.p[len] != ',' && text.p[len] != '\n')
			len++;
		if (look(arg, ar_str_trim(ar_str_sub(text, 0, len), BLANKS)))
			return true;
		text = ar_str_sub(text, len < text.len ? len + 1 : len, text.len);
	}
	return false;
}

static bool add_entry_variable(void *arg, struct ar_str entry)
{
	ar_redactor_add(arg, secret_of_variable(entry));
	return false;
}

static bool is_secret_entry(void *arg AR_UNUSED, struct ar_str entry)
{
	return !ar_str_empty(secret_of_variable(entry));
}

static void add_settings(struct ar_redactor *r, const struct ar_config *c)
{
	for (size_t i = 0; i < ar_config_key_count; i++) {
		const struct ar_config_key *key = &ar_config_keys[i];
		const char *value;

		if (!key->secret || key->kind != AR_CONFIG_STRING)
			continue;
		value = *(const char *const *)(const void *)((const char *)c + key->offset);
		if (value == c->redact.literals)
			continue; /* a list, see below */
		if (value == c->sandbox.env)
			any_entry(ar_str_from(value), add_entry_variable, r);
		ar_redactor_add(r, value == c->store ? password_of(value) : ar_str_from(value));
	}
}

/* Of "Authorization: Bearer x" both "Bearer x" and "x" are secret. */
static void add_header(struct ar_redactor *r, struct ar_str value)
{
	value = ar_str_trim(value, BLANKS);
	ar_redactor_add(r, value);
	for (size_t i = value.len; i > 0; i--) {
		if (value.p[i - 1] == ' ') {
			ar_redactor_add(r, ar_str_sub(value, i, value.len));
			return;
		}
	}
}

static bool is_open_header(struct ar_str name)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(open_headers); i++) {
		if (name.len == strlen(open_headers[i]) &&
		    strncasecmp(name.p, open_headers[i], name.len) == 0)
			return true;
	}
	return false;
}

/* "Name: value", and not NAME=value. */
static bool is_header(struct ar_str entry, struct ar_str *ret_name, struct ar_str *ret_value)
{
	*ret_value = ar_str_split(entry, ':', ret_name);
	return !ar_str_absent(*ret_value) && !memchr(ret_name->p, '=', ret_name->len);
}

static void add_strings(struct ar_redactor *r, const struct ar_config_strings *all)
{
	for (size_t i = 0; i < all->count; i++) {
		struct ar_str name, value;

		if (!is_header(ar_str_from(all->v[i]), &name, &value))
			add_variable(r, all->v[i]);
		else if (!is_open_header(name))
			add_header(r, value);
	}
}

static void add_entry(struct ar_redactor *r, const struct ar_config_list *list, const char *entry)
{
	for (size_t i = 0; i < list->field_count; i++) {
		const struct ar_config_key *key = &list->fields[i];
		const void *at = entry + key->offset;

		if (key->secret && key->kind == AR_CONFIG_STRING)
			ar_redactor_add(r, ar_str_from(*(const char *const *)at));
		if (key->secret && key->kind == AR_CONFIG_STRINGS)
			add_strings(r, at);
	}
}

static void add_lists(struct ar_redactor *r, const struct ar_config *c)
{
	for (size_t i = 0; i < ar_config_list_count; i++) {
		const struct ar_config_list *list = &ar_config_lists[i];
		const void *entries = (const char *)c + list->offset,
			   *count = (const char *)c + list->count_offset;

		for (size_t k = 0; k < *(const size_t *)count; k++)
			add_entry(r, list, *(const char *const *)entries + k * list->entry_size);
	}
}

static enum ar_status add_literals(struct ar_redactor *r, const char *list, struct ar_error *err)
{
	for (const char *at = list; *at; at += *at != '\0') {
		struct ar_str value = ar_str_trim((struct ar_str){ at, strcspn(at, ",\n") }, BLANKS);

		at += strcspn(at, ",\n");
		if (value.len > 0 && value.len < AR_REDACT_MIN)
			return ar_fail(err, AR_E_INVALID,
				       "redact.literals: an entry has %zu bytes; at least %d are needed, "
				       "because shorter ones would redact ordinary words",
				       value.len, AR_REDACT_MIN);
		ar_redactor_add(r, value);
	}
	return AR_OK;
}

void ar_secrets_fill(const struct ar_config *c, struct ar_redactor *r)
{
	add_settings(r, c);
	add_lists(r, c);
	add_environment(r);
	(void)!add_literals(r, c->redact.literals, NULL);
}

enum ar_status ar_secrets_load(const struct ar_config *c, struct ar_redactor **ret, struct ar_error *err)
{
	struct ar_redactor *r = ar_redactor_new(c->redact.patterns);

	ar_secrets_fill(c, r);
	if (add_literals(r, c->redact.literals, err) != AR_OK) {
		ar_redactor_free(r);
		return err->status;
	}
	*ret = r;
	return AR_OK;
}

bool ar_secrets_are_in(const struct ar_config_key *key, struct ar_str text)
{
	struct ar_str name, value;

	if (!key->secret || text.len == 0)
		return false;
	if (strcmp(key->name, "store") == 0)
		return !ar_str_empty(password_of(text.p));
	if (strcmp(key->name, "sandbox.env") == 0)
		return any_entry(text, is_secret_entry, NULL);
	if (key->kind != AR_CONFIG_STRINGS)
		return true;
	if (is_header(text, &name, &value))
		return !is_open_header(name);
	return is_secret_entry(NULL, text);
}

struct ar_str ar_secrets_mask(const struct ar_redactor *r, const char *text, struct ar_arena *a)
{
	struct ar_redact_counts counts = { 0 };

	return ar_arena_str(a, ar_redact(r, ar_str_from(text), a, &counts));
}

void ar_secrets_mask_error(const struct ar_redactor *r, struct ar_error *err)
{
	struct ar_arena a = { 0 };

	snprintf(err->msg, sizeof(err->msg), "%s", ar_secrets_mask(r, err->msg, &a).p);
	ar_arena_fini(&a);
}
