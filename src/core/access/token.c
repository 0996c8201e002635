/* See token.h. The record has only hashes: a reader of the store learns no secret. Any thread. */
#include "token.h"
#include "base32.h"
#include "mem.h"

#include <string.h>

static const struct {
	const char *name;
	unsigned right;
} scopes[] = {
	{ "read", AR_RIGHT_READ },     { "submit", AR_RIGHT_SUBMIT }, { "decide", AR_RIGHT_DECIDE },
	{ "worker", AR_RIGHT_WORKER }, { "admin", AR_RIGHT_ADMIN },
};

unsigned ar_scope_parse(struct ar_str name)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(scopes); i++) {
		if (ar_str_is(name, scopes[i].name))
			return scopes[i].right;
	}
	return 0;
}

void ar_scopes_write(unsigned rights, struct ar_jw *w)
{
	ar_jw_open_array(w);
	for (size_t i = 0; i < AR_ARRAY_LEN(scopes); i++) {
		if (rights & scopes[i].right)
			ar_jw_str(w, ar_str_from(scopes[i].name));
	}
	ar_jw_close_array(w);
}

/* ---- life ---- */

struct ar_token *ar_token_new(struct ar_str tenant, struct ar_str name)
{
	struct ar_token *t = ar_new0(sizeof(*t));

	t->tenant = ar_str_dup(tenant);
	t->name = ar_str_dup(name);
	return t;
}

struct ar_token *ar_token_copy(const struct ar_token *from)
{
	struct ar_token *t = ar_new0(sizeof(*t));

	*t = *from;
	t->is_touching = false;
	t->tenant = ar_str_dup(ar_str_from(from->tenant));
	t->name = ar_str_dup(ar_str_from(from->name));
	t->owner = from->owner ? ar_str_dup(ar_str_from(from->owner)) : NULL;
	t->worker = from->worker ? ar_str_dup(ar_str_from(from->worker)) : NULL;
	return t;
}

void ar_token_free(struct ar_token *t)
{
	if (!t)
		return;
	ar_free(t->tenant);
	ar_free(t->name);
	ar_free(t->owner);
	ar_free(t->worker);
	ar_free(t);
}

void ar_token_give(struct ar_token *t, struct ar_str owner)
{
	ar_free(t->owner);
	t->owner = ar_str_empty(owner) ? NULL : ar_str_dup(owner);
}

/* ---- id and secrets ---- */

static void set_id(struct ar_token *t, const uint8_t bytes[AR_TOKEN_ID * 5 / 8])
{
	memcpy(t->id, "tok_", 4);
	ar_base32_encode(bytes, AR_TOKEN_ID * 5 / 8, t->id + 4);
}

void ar_token_draw_id(struct ar_token *t)
{
	uint8_t bytes[AR_TOKEN_ID * 5 / 8];

	ar_hash_draw(bytes, sizeof(bytes));
	set_id(t, bytes);
}

static void hash_id(struct ar_token *t, struct ar_str kind, struct ar_str key)
{
	struct ar_buf text = { 0 };
	struct ar_hash h;

	ar_buf_add(&text, kind.p, kind.len + 1);
	ar_buf_add(&text, t->tenant, strlen(t->tenant) + 1);
	ar_buf_adds(&text, key);
	h = ar_hash_of(ar_buf_str(&text));
	set_id(t, h.b);
	ar_buf_fini(&text);
}

void ar_token_derive_id(struct ar_token *t, struct ar_str key)
{
	hash_id(t, AR_STR("token"), key);
}

void ar_token_give_worker(struct ar_token *t, struct ar_str worker)
{
	ar_free(t->worker);
	t->worker = ar_str_dup(worker);
	hash_id(t, AR_STR("token of worker"), worker);
}

/* Of those that rotations left: the one that ends first makes room. */
static void make_room(struct ar_token *t)
{
	size_t first = 0;

	if (t->secret_count < AR_TOKEN_SECRETS)
		return;
	for (size_t i = 1; i < t->secret_count; i++) {
		if (t->secrets[i].until < t->secrets[first].until)
			first = i;
	}
	t->secret_count--;
	memmove(&t->secrets[first], &t->secrets[first + 1],
		(t->secret_count - first) * sizeof(t->secrets[0]));
}

void ar_token_renew(struct ar_token *t, ar_usec old_until, char ret[AR_TOKEN_TEXT + 1])
{
	uint8_t bytes[AR_HASH_LEN];
	char *secret = ret + 4 + AR_TOKEN_ID + 1;

	for (size_t i = 0; i < t->secret_count; i++) {
		if (!t->secrets[i].until || t->secrets[i].until > old_until)
			t->secrets[i].until = old_until;
	}
	make_room(t);
	memmove(&t->secrets[1], &t->secrets[0], t->secret_count * sizeof(t->secrets[0]));
	t->secret_count++;
	ar_hash_draw(bytes, sizeof(bytes));
	memcpy(ret, "art_", 4);
	memcpy(ret + 4, t->id + 4, AR_TOKEN_ID);
	ret[4 + AR_TOKEN_ID] = '_';
	ar_base32_encode(bytes, sizeof(bytes), secret);
	ret[AR_TOKEN_TEXT] = '\0';
	t->secrets[0] =
		(struct ar_token_secret){ .hash = ar_hash_of((struct ar_str){ secret, AR_TOKEN_SECRET }) };
	explicit_bzero(bytes, sizeof(bytes));
}

static bool is_base32(struct ar_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')))
			return false;
	}
	return true;
}

bool ar_token_parse(struct ar_str text, struct ar_str *ret_id, struct ar_str *ret_secret)
{
	if (text.len != AR_TOKEN_TEXT || !ar_str_starts(text, AR_STR("art_")) ||
	    text.p[4 + AR_TOKEN_ID] != '_')
		return false;
	*ret_id = ar_str_sub(text, 4, AR_TOKEN_ID);
	*ret_secret = ar_str_sub(text, 4 + AR_TOKEN_ID + 1, AR_TOKEN_SECRET);
	return is_base32(*ret_id) && is_base32(*ret_secret);
}

/* Every slot is compared, filled or not: how long it takes says nothing about which one it was,
 * or whether there is a token. */
const struct ar_token_secret *ar_token_match(const struct ar_token *t, struct ar_str secret, ar_usec now)
{
	static const struct ar_token nobody;
	const struct ar_token_secret *found = NULL;
	struct ar_hash shown = ar_hash_of(secret);

	t = t ? t : &nobody;
	for (size_t i = 0; i < AR_TOKEN_SECRETS; i++) {
		const struct ar_token_secret *s = &t->secrets[i];
		unsigned differs = 0;

		for (size_t k = 0; k < AR_HASH_LEN; k++)
			differs |= (unsigned)(shown.b[k] ^ s->hash.b[k]);
		if (!differs && i < t->secret_count && (!s->until || s->until > now))
			found = s;
	}
	return found;
}

uint64_t ar_token_mark(const struct ar_token_secret *s)
{
	uint64_t mark;

	memcpy(&mark, s->hash.b, sizeof(mark));
	return mark;
}

bool ar_token_is_live(const struct ar_token *t, ar_usec now)
{
	return !t->revoked && (!t->expires || t->expires > now);
}

ar_usec ar_token_ended(const struct ar_token *t, ar_usec now)
{
	if (ar_token_is_live(t, now))
		return 0;
	return t->revoked && (!t->expires || t->revoked < t->expires) ? t->revoked : t->expires;
}

/* ---- record ---- */

static void write_hash(struct ar_jw *w, const char *name, const struct ar_hash *h)
{
	char text[AR_HASH_TEXT];

	ar_hash_text(h, text);
	ar_jw_mstr(w, name, (struct ar_str){ text, sizeof(text) });
}

static void write_secrets(const struct ar_token *t, struct ar_jw *w)
{
	ar_jw_key(w, "secrets");
	ar_jw_open_array(w);
	for (size_t i = 0; i < t->secret_count; i++) {
		ar_jw_open(w);
		write_hash(w, "hash", &t->secrets[i].hash);
		ar_jw_mint(w, "until", t->secrets[i].until);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

void ar_token_write(const struct ar_token *t, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "tenant", ar_str_from(t->tenant));
	ar_jw_mstr(&w, "name", ar_str_from(t->name));
	ar_jw_mstr(&w, "owner", ar_str_from(t->owner));
	ar_jw_mstr(&w, "worker", ar_str_from(t->worker));
	if (t->is_enrolment)
		ar_jw_mbool(&w, "enrolment", true);
	ar_jw_key(&w, "scopes");
	ar_scopes_write(t->rights, &w);
	write_secrets(t, &w);
	ar_jw_mint(&w, "created", t->created);
	ar_jw_mint(&w, "expires", t->expires);
	ar_jw_mint(&w, "revoked", t->revoked);
	ar_jw_mint(&w, "used", t->used);
	write_hash(&w, "input", &t->input);
	ar_jw_close(&w);
}

static bool read_hash(struct ar_json v, const char *name, struct ar_hash *ret)
{
	struct ar_str text;

	return ar_json_str(ar_json_get(v, name), &text) && ar_hash_parse(text, ret);
}

static bool read_secrets(struct ar_json list, struct ar_token *t)
{
	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);) {
		struct ar_token_secret *s = &t->secrets[t->secret_count];

		if (t->secret_count == AR_TOKEN_SECRETS || !read_hash(it.value, "hash", &s->hash) ||
		    !ar_json_i64(ar_json_get(it.value, "until"), &s->until))
			return false;
		t->secret_count++;
	}
	return true;
}

static bool read_times(struct ar_json v, struct ar_token *t)
{
	return ar_json_i64(ar_json_get(v, "created"), &t->created) &&
	       ar_json_i64(ar_json_get(v, "expires"), &t->expires) &&
	       ar_json_i64(ar_json_get(v, "revoked"), &t->revoked) &&
	       ar_json_i64(ar_json_get(v, "used"), &t->used);
}

static unsigned read_rights(struct ar_json list)
{
	unsigned rights = 0;
	struct ar_str name;

	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);) {
		if (ar_json_str(it.value, &name))
			rights |= ar_scope_parse(name);
	}
	return rights;
}

static void read_worker(struct ar_json v, struct ar_token *t)
{
	struct ar_str worker;

	if (!ar_json_str(ar_json_get(v, "worker"), &worker))
		return;
	t->worker = ar_str_dup(worker);
	ar_json_bool(ar_json_get(v, "enrolment"), &t->is_enrolment);
}

struct ar_token *ar_token_read(struct ar_json_parser *parser, struct ar_str id, struct ar_str record)
{
	struct ar_str tenant, name, owner = AR_STR_NONE;
	struct ar_token *t;
	struct ar_json v;

	if (id.len != sizeof(t->id) - 1 || ar_json_parse(parser, record, &v, NULL) != AR_OK ||
	    !ar_json_str(ar_json_get(v, "tenant"), &tenant) || !ar_json_str(ar_json_get(v, "name"), &name))
		return NULL;
	t = ar_token_new(tenant, name);
	ar_json_str(ar_json_get(v, "owner"), &owner);
	ar_token_give(t, owner);
	read_worker(v, t);
	memcpy(t->id, id.p, id.len);
	t->rights = read_rights(ar_json_get(v, "scopes"));
	if (read_times(v, t) && read_secrets(ar_json_get(v, "secrets"), t) &&
	    read_hash(v, "input", &t->input))
		return t;
	ar_token_free(t);
	return NULL;
}
