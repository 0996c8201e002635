/* See push_target.h. */
#include "webhook/push_target.h"
#include "json.h"
#include "post.h"
#include "seal.h"
#include "sign.h"
#include "url.h"

#include <string.h>

#define URL_MAX 1024
#define HOST_ROOM 256

struct ar_str ar_host_webhook_address(struct ar_str url, struct ar_arena *a)
{
	size_t at = 0;

	while (at + 3 <= url.len && memcmp(url.p + at, "://", 3) != 0)
		at++;
	at += 3;
	while (at < url.len && !strchr("/?#", url.p[at]))
		at++;
	return ar_arena_str(a, ar_str_sub(url, 0, at));
}

/* ---- what the settings allow ---- */

/* The next of words with blanks or commas between; false: there is none. */
static bool next_word(const char **text, struct ar_str *ret)
{
	*text += strspn(*text, " \t\r\n,");
	*ret = (struct ar_str){ *text, strcspn(*text, " \t\r\n,") };
	*text += ret->len;
	return ret->len > 0;
}

static enum ar_status check_word(struct ar_str word, struct ar_error *err)
{
	struct ar_arena a = { 0 };
	const char *text = ar_arena_str(&a, word).p;
	struct ar_url u = { 0 };
	bool is_good = ar_str_is(word, "*") ||
		       (ar_url_is_safe(text) && ar_url_parse(text, &u) && !u.has_path && !u.has_query);

	ar_arena_fini(&a);
	if (is_good)
		return AR_OK;
	return ar_fail(
		err, AR_E_INVALID,
		"'%.*s' is neither * nor an origin such as https://hooks.example.com: https, or http of this "
		"machine, without user, path and query",
		AR_STR_ARG(ar_str_utf8_prefix(word, 200)));
}

enum ar_status ar_host_push_check(const struct ar_config *c, struct ar_error *err)
{
	const char *rest = c->a2a.push_to;
	struct ar_str word;

	while (next_word(&rest, &word)) {
		if (check_word(word, err) != AR_OK)
			return err->status;
	}
	return AR_OK;
}

enum ar_status ar_host_push_key_check(const struct ar_config *c, struct ar_error *err)
{
	struct ar_arena a = { 0 };
	struct ar_str key;
	bool is_key = !*c->a2a.push_key || ar_webhook_key(ar_str_from(c->a2a.push_key), &a, &key);

	ar_arena_fini(&a);
	if (is_key)
		return AR_OK;
	return ar_fail(
		err, AR_E_INVALID,
		"it is neither whsec_ with base64 of at least 16 bytes nor a text of at least 16 bytes");
}

/* Of letters that are the same to every reader, and no longer than what is kept. */
static bool is_plain(struct ar_str url)
{
	for (size_t i = 0; i < url.len; i++) {
		if (url.p[i] <= ' ' || url.p[i] > '~')
			return false;
	}
	return url.len > 0 && url.len <= URL_MAX;
}

/* Names are judged when they were looked up, at each attempt; addresses in figures also here. */
static const char *public_fault(const char *url, const struct ar_url *u)
{
	char host[HOST_ROOM];

	if (!u->is_https)
		return "it has to be https";
	if (u->is_loopback || !ar_url_host(url, host, sizeof host))
		return "it is an address of this machine";
	return ar_webhook_address_fault(host) ? "its address is not a public one" : NULL;
}

static enum ar_push_way way_of(const struct ar_config *c, const char *url, const char **ret_why)
{
	const char *rest = c->a2a.push_to, *fault = "this server does not send to its origin";
	struct ar_arena a = { 0 };
	bool has_any = false, is_named = false;
	struct ar_str word;
	struct ar_url u;

	*ret_why = "it has to be an https address without a user name";
	if (!ar_url_parse(url, &u) || u.has_user)
		return AR_PUSH_NOWHERE;
	while (next_word(&rest, &word)) {
		has_any = has_any || ar_str_is(word, "*");
		is_named = is_named ||
			   (!ar_str_is(word, "*") && ar_url_is_same_origin(url, ar_arena_str(&a, word).p));
	}
	ar_arena_fini(&a);
	if (is_named)
		return AR_PUSH_NAMED;
	if (has_any)
		fault = public_fault(url, &u);
	*ret_why = fault;
	return fault ? AR_PUSH_NOWHERE : AR_PUSH_PUBLIC;
}

enum ar_push_way ar_host_push_way(const struct ar_config *c, struct ar_str url, const char **ret_why)
{
	struct ar_arena a = { 0 };
	const char *why = "it is empty, longer than 1024 bytes, or has other bytes than printable ASCII";
	enum ar_push_way way = is_plain(url) ? way_of(c, ar_arena_str(&a, url).p, &why) : AR_PUSH_NOWHERE;

	ar_arena_fini(&a);
	if (ret_why)
		*ret_why = why;
	return way;
}

/* ---- what is stored ---- */

static bool key_of(const struct ar_config *c, struct ar_arena *a, struct ar_str *ret)
{
	return ar_webhook_key(ar_arena_str(a, ar_str_from(c->a2a.push_key)), a, ret);
}

/* No name of a tenant has a line end in it. */
static struct ar_str place_of(const struct ar_push_target *t, struct ar_arena *a)
{
	return ar_arena_fmt(a, "%.*s\n%.*s\n%.*s", AR_STR_ARG(t->tenant), AR_STR_ARG(t->task),
			    AR_STR_ARG(t->config));
}

enum ar_status ar_host_push_seal(const struct ar_config *c, const struct ar_push_target *t,
				 struct ar_arena *a, struct ar_push_sealed *ret, struct ar_error *err)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);
	const char *why = "";
	struct ar_str key;

	if (ar_host_push_way(c, t->url, &why) == AR_PUSH_NOWHERE)
		return ar_refuse(err, AR_ERR_POLICY_DENIED, "the url of the push configuration: %s", why);
	if (!key_of(c, a, &key))
		return ar_refuse(err, AR_ERR_POLICY_DENIED, "push notifications are not offered");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "url", t->url);
	ar_jw_mstr(&w, "token", t->token);
	ar_jw_mstr(&w, "scheme", t->scheme);
	ar_jw_mstr(&w, "credentials", t->credentials);
	ar_jw_close(&w);
	ret->sealed = ar_webhook_seal(key, place_of(t, a), ar_buf_str(&text), a);
	ret->address = ar_str_sub(ar_host_webhook_address(t->url, a), 0, 512);
	ar_buf_fini(&text);
	return AR_OK;
}

static struct ar_str text_of(struct ar_json v, const char *name, struct ar_arena *a)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(v, name), &text);
	return ar_arena_str(a, text);
}

bool ar_host_push_unseal(const struct ar_config *c, struct ar_str sealed, struct ar_arena *a,
			 struct ar_push_target *t)
{
	struct ar_json_parser *parser;
	struct ar_str key, text;
	struct ar_json v;
	bool is_good;

	if (!key_of(c, a, &key) || !ar_webhook_unseal(key, place_of(t, a), sealed, a, &text))
		return false;
	parser = ar_json_parser_new();
	is_good = ar_json_parse(parser, text, &v, NULL) == AR_OK;
	if (is_good) {
		t->url = text_of(v, "url", a);
		t->token = text_of(v, "token", a);
		t->scheme = text_of(v, "scheme", a);
		t->credentials = text_of(v, "credentials", a);
	}
	ar_json_parser_free(parser);
	return is_good;
}
