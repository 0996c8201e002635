/* See key_source.h. Keys that could not be fetched again go on to be used until they are too old: an
 * issuer that is away for an hour shuts nobody out. */
#include "key_source.h"
#include "mem.h"
#include "url.h"

#include <stdio.h>
#include <string.h>

#define REFETCH_MS 10000 /* for keys that are not known: unknown kids cause one fetch in this time */
#define RETRY_MS 5000 /* after a failure */
#define DOCUMENT_MAX (256 * 1024)

static const char discovery_path[] = "/.well-known/openid-configuration";

static void fetch(struct ar_key_source *s);

static uint64_t now(const struct ar_key_source *s)
{
	return uv_now(s->timer.loop);
}

static void on_timer(uv_timer_t *timer)
{
	struct ar_key_source *s = timer->data;

	if (!s->is_fetching)
		fetch(s);
}

/* ---- one fetch ---- */

static void finish_fetch(struct ar_key_source *s, const char *why)
{
	s->is_fetching = s->is_discovering = false;
	snprintf(s->why, sizeof s->why, "%s", why ? why : "");
	if (!why)
		s->fetched = now(s);
	if (s->is_closing)
		return;
	uv_timer_start(&s->timer, on_timer, why ? RETRY_MS : (uint64_t)s->o.refresh_s * 1000, 0);
	s->on_fetched(s);
}

static bool on_body(struct ar_transfer *t, struct ar_str bytes)
{
	struct ar_key_source *s = AR_CONTAINER_OF(t, struct ar_key_source, transfer);

	ar_buf_adds(&s->body, bytes);
	return !s->body.failed;
}

/* http only on this machine: keys that anybody on the way could change would let anybody in. */
static bool is_safe(struct ar_str url)
{
	char *text = ar_str_dup(url);
	bool is_it = !memchr(url.p, 0, url.len) && ar_url_is_safe(text);

	ar_free(text);
	return is_it;
}

/* The document has to be the issuer's own: another's would bring another's keys. NULL: go on. */
static const char *read_discovery(struct ar_key_source *s)
{
	struct ar_str issuer, url;
	struct ar_json doc;

	if (ar_json_parse(s->json, ar_buf_str(&s->body), &doc, NULL) != AR_OK ||
	    !ar_json_str(ar_json_get(doc, "issuer"), &issuer) || !ar_str_is(issuer, s->o.issuer))
		return "the discovery document is not of this issuer";
	if (!ar_json_str(ar_json_get(doc, "jwks_uri"), &url) || !is_safe(url))
		return "the discovery document has no jwks_uri that is https";
	ar_free(s->found_url);
	s->found_url = ar_str_dup(url);
	return NULL;
}

static void start(struct ar_key_source *s, const char *url);

static void on_end(struct ar_transfer *t, enum ar_transfer_end end, const char *why)
{
	struct ar_key_source *s = AR_CONTAINER_OF(t, struct ar_key_source, transfer);
	const char *bad = NULL, *unusable = NULL;

	if (end != AR_TRANSFER_COMPLETE)
		bad = why && *why ? why : "the request did not complete";
	else if (ar_transfer_status(t) != 200)
		bad = "the status of the answer is not 200";
	else if (s->is_discovering)
		bad = read_discovery(s);
	else if (!ar_jwks_read(&s->keys, s->json, ar_buf_str(&s->body), &unusable))
		bad = unusable;
	ar_buf_clear(&s->body);
	if (!bad && s->is_discovering && !s->is_closing) {
		s->is_discovering = false;
		start(s, s->found_url);
		return;
	}
	finish_fetch(s, bad);
}

static const struct ar_transfer_vtable callbacks = { on_body, on_end };

static void start(struct ar_key_source *s, const char *url)
{
	s->transfer = (struct ar_transfer){ .v = &callbacks,
					    .url = url,
					    .method = "GET",
					    .limits = { .connect_ms = 5000,
							.first_byte_ms = 5000,
							.idle_ms = 5000,
							.total_ms = 10000,
							.response_max = DOCUMENT_MAX } };
	ar_transfer_start(s->pool, &s->transfer);
}

static void fetch(struct ar_key_source *s)
{
	s->is_fetching = true;
	s->has_asked = true;
	s->asked = now(s);
	s->is_discovering = !*s->o.keys_url;
	start(s, s->is_discovering ? s->discovery_url : s->o.keys_url);
}

/* ---- life ---- */

static enum ar_status check(const struct ar_key_source_options *o, struct ar_error *err)
{
	const char *url = *o->keys_url ? o->keys_url : o->issuer;

	if (is_safe(ar_str_from(url)))
		return AR_OK;
	return ar_fail(err, AR_E_INVALID,
		       "keys are not fetched from '%.120s': it must be https, or http on this machine", url);
}

enum ar_status ar_key_source_open(struct ar_key_source *s, uv_loop_t *loop,
				  const struct ar_key_source_options *o, struct ar_error *err)
{
	struct ar_buf url = { 0 };
	struct ar_str issuer = ar_str_from(o->issuer);

	if (check(o, err) != AR_OK)
		return AR_E_INVALID;
	s->o = *o;
	if (ar_str_ends(issuer, AR_STR("/")))
		issuer.len--;
	ar_buf_adds(&url, issuer);
	ar_buf_addz(&url, discovery_path);
	s->discovery_url = ar_str_dup(ar_buf_str(&url));
	ar_buf_fini(&url);
	s->json = ar_json_parser_new();
	s->body.cap = DOCUMENT_MAX;
	s->pool = ar_transfer_pool_new(loop, &(struct ar_transfer_pool_options){
						     .tls = strncmp(*o->keys_url ? o->keys_url : o->issuer,
								    "https:", 6) == 0,
						     .ca_file = *o->ca_file ? o->ca_file : NULL });
	uv_timer_init(loop, &s->timer);
	s->timer.data = s;
	fetch(s);
	return AR_OK;
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct ar_key_source *s = handle->data;

	ar_jwks_fini(&s->keys);
	ar_json_parser_free(s->json);
	ar_buf_fini(&s->body);
	ar_free(s->discovery_url);
	ar_free(s->found_url);
	s->on_closed(s);
}

void ar_key_source_close(struct ar_key_source *s)
{
	s->is_closing = true;
	ar_transfer_pool_close(s->pool);
	uv_close((uv_handle_t *)&s->timer, on_timer_closed);
}

bool ar_key_source_is_good(const struct ar_key_source *s)
{
	return s->keys.count > 0 && now(s) - s->fetched <= (uint64_t)s->o.stale_s * 1000;
}

bool ar_key_source_refetch(struct ar_key_source *s)
{
	if (s->is_fetching)
		return true;
	if (s->has_asked && now(s) - s->asked < REFETCH_MS)
		return false;
	fetch(s);
	return true;
}
