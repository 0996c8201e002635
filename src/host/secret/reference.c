/* See reference.h. */
#include "secret/reference.h"
#include "secret/resolve.h"

#include "json.h"
#include "text/suggest.h"
#include "url.h"

#include <stdlib.h>
#include <string.h>

#define ARGS_MAX 64
#define CACHE_FILE_S 60
#define CACHE_ASKED_S 300
#define CACHE_MAX_S (30 * 86400)
#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
#define HEADER_CHARS NAME_CHARS "-"
#define STAND_IN "(pending)"

/* A mapping on its way to be a source. */
struct reading {
	const struct ar_secret_place *place;
	struct ar_arena *arena;
	size_t line;
	bool is_token; /* of a store, which cannot be in a store */
};

static bool refuse(const struct reading *r, const struct ar_yaml *node, const char *sentence)
{
	struct ar_origin at = r->place->origin;

	at.line = node->line;
	ar_problem(r->place->problems, &at, r->place->path, "%s", sentence);
	return false;
}

static const struct ar_yaml *member(const struct ar_yaml *node, const char *name)
{
	const struct ar_yaml *m = node->first;

	while (m && !ar_str_is(m->key, name))
		m = m->next;
	return m;
}

/* The text of a member, "" when it is not there. */
static bool read_text(const struct reading *r, const struct ar_yaml *node, const char *name, const char **ret)
{
	const struct ar_yaml *m = member(node, name);

	*ret = "";
	if (!m)
		return true;
	if (m->kind != AR_YAML_SCALAR || m->text.len == 0)
		return refuse(r, m, ar_arena_fmt(r->arena, "%s needs a text that is not empty", name).p);
	*ret = ar_arena_str(r->arena, m->text).p;
	return true;
}

/* ---- the kinds ---- */

static bool read_path(const struct reading *r, const struct ar_yaml *m, struct ar_secret_source *ret)
{
	size_t len = strlen(ret->name);

	if (ret->name[0] != '/' || ret->name[len - 1] == '/')
		return refuse(r, m, "file needs the absolute path of a file, such as /etc/agentd/key");
	return true;
}

static bool read_credential(const struct reading *r, const struct ar_yaml *m, struct ar_secret_source *ret)
{
	if (strchr(ret->name, '/') || ret->name[0] == '.')
		return refuse(r, m,
			      "credential needs the name that LoadCredential= gives it, without slashes");
	return true;
}

static bool read_variable(const struct reading *r, const struct ar_yaml *m, struct ar_secret_source *ret)
{
	if (ret->name[strspn(ret->name, NAME_CHARS)])
		return refuse(r, m, "env needs the name of a variable: letters, digits and _");
	return true;
}

static bool read_command(const struct reading *r, const struct ar_yaml *m, struct ar_secret_source *ret)
{
	char **argv = ar_arena_alloc(r->arena, (ARGS_MAX + 1) * sizeof(*argv));
	size_t n = 0;

	for (const struct ar_yaml *word = m->first; word; word = word->next) {
		if (word->kind != AR_YAML_SCALAR || n == ARGS_MAX)
			return refuse(r, word, "command needs at most 64 words, each a text");
		argv[n++] = (char *)(uintptr_t)ar_arena_str(r->arena, word->text).p;
	}
	argv[n] = NULL;
	if (m->kind != AR_YAML_SEQUENCE || n == 0 || argv[0][0] != '/')
		return refuse(r, m,
			      "command needs a program with its arguments as a list, the program by its "
			      "absolute path, such as [/usr/bin/pass, show, api]; there is no shell");
	ret->argv = argv;
	return true;
}

static bool read_source(const struct reading *r, const struct ar_yaml *node, struct ar_secret_source *ret);

static bool read_token(const struct reading *r, const struct ar_yaml *m, struct ar_secret_source *store)
{
	struct reading inner = *r;
	struct ar_secret_source *token = ar_arena_alloc(r->arena, sizeof(*token));

	*token = (struct ar_secret_source){ 0 };
	store->token = token;
	inner.is_token = true;
	if (m->kind == AR_YAML_MAPPING)
		return read_source(&inner, m, token);
	return refuse(r, m, "token needs a reference, such as { file: /etc/agentd/token }");
}

static const char *store_fault(const struct ar_secret_source *s)
{
	if (!ar_url_is_safe(s->name))
		return "url needs an address with https:// (http:// on this machine only), without a user "
		       "name";
	if (s->header[strspn(s->header, HEADER_CHARS)])
		return "header needs the name of a header, such as X-Vault-Token";
	if (*s->field && s->field[0] != '/')
		return "field needs a JSON pointer, such as /data/data/api_key";
	if (*s->ca_file && s->ca_file[0] != '/')
		return "ca_file needs an absolute path";
	return NULL;
}

static bool check_members(const struct reading *r, const struct ar_yaml *node, const char *const *names)
{
	for (const struct ar_yaml *m = node->first; m; m = m->next) {
		struct ar_suggestion best = { 0 };
		bool is_known = false;

		for (size_t i = 0; names[i]; i++) {
			is_known = is_known || ar_str_is(m->key, names[i]);
			ar_suggest(&best, m->key, names[i]);
		}
		if (!is_known)
			return refuse(r, m,
				      ar_arena_fmt(r->arena, "a reference has no '%.*s'%s%s%s",
						   AR_STR_ARG(ar_str_utf8_prefix(m->key, 60)),
						   best.word ? "; did you mean '"
							     : "; docs/secrets.md lists the members",
						   best.word ? best.word : "", best.word ? "'?" : "")
					      .p);
		if (member(node, ar_arena_str(r->arena, m->key).p) != m)
			return refuse(r, m, "a part of the reference is given twice; remove one of them");
	}
	return true;
}

static bool read_store(const struct reading *r, const struct ar_yaml *m, struct ar_secret_source *ret)
{
	static const char *const names[] = { "url", "token", "header", "field", "ca_file", NULL };
	const struct ar_yaml *token = member(m, "token");
	const char *fault;

	if (r->is_token)
		return refuse(r, m,
			      "the token of a store cannot be in a store; use file, credential, env or "
			      "command");
	if (m->kind != AR_YAML_MAPPING || !member(m, "url"))
		return refuse(
			r, m,
			"http needs a mapping with url, and token and field if the store requires them");
	if (!check_members(r, m, names) || !read_text(r, m, "url", &ret->name) ||
	    !read_text(r, m, "header", &ret->header) || !read_text(r, m, "field", &ret->field) ||
	    !read_text(r, m, "ca_file", &ret->ca_file) || (token && !read_token(r, token, ret)))
		return false;
	if (!*ret->header)
		ret->header = "X-Vault-Token";
	fault = store_fault(ret);
	return fault ? refuse(r, m, fault) : true;
}

static const struct kind {
	const char *name;
	bool (*read)(const struct reading *r, const struct ar_yaml *m, struct ar_secret_source *ret);
	bool is_text; /* its member is one, which is the name of the source */
	int64_t cache_s;
} kinds[AR_SECRET_KINDS] = {
	[AR_SECRET_FILE] = { "file", read_path, true, CACHE_FILE_S },
	[AR_SECRET_CREDENTIAL] = { "credential", read_credential, true, CACHE_FILE_S },
	[AR_SECRET_ENV] = { "env", read_variable, true, 0 },
	[AR_SECRET_COMMAND] = { "command", read_command, false, CACHE_ASKED_S },
	[AR_SECRET_HTTP] = { "http", read_store, false, CACHE_ASKED_S },
};

static bool read_kind(const struct reading *r, const struct ar_yaml *node, const struct kind *k,
		      struct ar_secret_source *ret)
{
	const struct ar_yaml *m = member(node, k->name);

	ret->kind = (enum ar_secret_kind)(k - kinds);
	if (k->is_text && !read_text(r, node, k->name, &ret->name))
		return false;
	return k->read(r, m, ret);
}

/* Exactly one kind, and nothing else but how it is used. */
static bool read_source(const struct reading *r, const struct ar_yaml *node, struct ar_secret_source *ret)
{
	static const char *const names[] = { "file", "credential", "env",     "command",
					     "http", "prefix",	   "cache_s", NULL };
	const struct kind *found = NULL;

	if (!check_members(r, node, names))
		return false;
	for (size_t i = AR_SECRET_FILE; i < AR_SECRET_KINDS; i++) {
		if (!member(node, kinds[i].name))
			continue;
		if (found)
			return refuse(r, node,
				      "a reference names one place; remove all but one of file, "
				      "credential, env, command and http");
		found = &kinds[i];
	}
	if (!found)
		return refuse(r, node,
			      "a reference names its place; add file, credential, env, command or http");
	if (r->is_token && member(node, "cache_s"))
		return refuse(r, node, "a token is read together with its store; remove its cache_s");
	return read_kind(r, node, found, ret);
}

static bool read_cache(const struct reading *r, const struct ar_yaml *node, struct ar_secret_ref *ref)
{
	const struct ar_yaml *m = member(node, "cache_s");

	ref->cache_s = kinds[ref->source.kind].cache_s;
	if (!m)
		return true;
	if (ref->source.kind == AR_SECRET_ENV)
		return refuse(r, m, "a variable stays as it was at the start; remove cache_s");
	if (m->kind != AR_YAML_SCALAR || !ar_str_to_i64(m->text, &ref->cache_s) || ref->cache_s < 0 ||
	    ref->cache_s > CACHE_MAX_S)
		return refuse(r, m,
			      "cache_s needs whole seconds, 0 to 2592000; 0 reads it again only at SIGHUP");
	return true;
}

/* ---- how it is shown ---- */

static void write_source(struct ar_jw *w, const struct ar_secret_source *s)
{
	ar_jw_key(w, kinds[s->kind].name);
	if (kinds[s->kind].is_text) {
		ar_jw_str(w, ar_str_from(s->name));
		return;
	}
	if (s->kind == AR_SECRET_COMMAND) {
		ar_jw_open_array(w);
		for (char *const *word = s->argv; *word; word++)
			ar_jw_str(w, ar_str_from(*word));
		ar_jw_close_array(w);
		return;
	}
	ar_jw_open(w);
	ar_jw_mstr(w, "url", ar_str_from(s->name));
	if (*s->field)
		ar_jw_mstr(w, "field", ar_str_from(s->field));
	if (*s->ca_file)
		ar_jw_mstr(w, "ca_file", ar_str_from(s->ca_file));
	if (s->token) {
		ar_jw_mstr(w, "header", ar_str_from(s->header));
		ar_jw_key(w, "token");
		ar_jw_open(w);
		write_source(w, s->token);
		ar_jw_close(w);
	}
	ar_jw_close(w);
}

static struct ar_str form_of(const struct ar_secret_ref *ref, struct ar_arena *a)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	write_source(&w, &ref->source);
	if (*ref->prefix)
		ar_jw_mstr(&w, "prefix", ar_str_from(ref->prefix));
	if (ref->source.kind != AR_SECRET_ENV)
		ar_jw_mint(&w, "cache_s", ref->cache_s);
	ar_jw_close(&w);
	return ar_arena_str(a, ar_buf_str(&text));
}

/* ---- together ---- */

static void add_reference(const struct ar_secret_place *p, const struct ar_secret_ref *made)
{
	struct ar_secret_ref *ref = ar_arena_alloc(p->problems->arena, sizeof(*ref));

	if (p->refs->count == AR_SECRET_REFS_MAX) {
		ar_problem(p->problems, &p->origin, p->path,
			   "it is one reference too many; at most %d are "
			   "allowed",
			   AR_SECRET_REFS_MAX);
		return;
	}
	*ref = *made;
	ref->key = p->key;
	ref->path = p->path;
	ref->origin = p->origin;
	ref->at = p->at;
	ref->form = form_of(ref, p->problems->arena);
	*ref->at = ar_arena_fmt(p->problems->arena, "%s" STAND_IN, ref->prefix).p;
	if (!p->refs->end)
		p->refs->end = &p->refs->first;
	*p->refs->end = ref;
	p->refs->end = &ref->next;
	p->refs->count++;
	if (ref->source.kind == AR_SECRET_ENV) /* asks nobody: part of reading */
		ar_secret_resolve_one(p->refs, ref, p->problems);
}

void ar_secret_reference_read(const struct ar_secret_place *p, const struct ar_yaml *node)
{
	struct reading r = { .place = p, .arena = p->problems->arena };
	struct ar_secret_ref ref = { 0 };

	if (read_source(&r, node, &ref.source) && read_text(&r, node, "prefix", &ref.prefix) &&
	    read_cache(&r, node, &ref))
		add_reference(p, &ref);
}

bool ar_secret_reference_variable(const struct ar_secret_place *p, struct ar_str prefix, const char *name)
{
	struct ar_secret_ref ref = { .prefix = ar_arena_str(p->problems->arena, prefix).p };
	size_t before = p->problems->count;

	ref.source = (struct ar_secret_source){ .kind = AR_SECRET_ENV, .name = name };
	add_reference(p, &ref);
	return p->problems->count == before;
}

struct ar_secret_ref *ar_secret_reference_at(const struct ar_secret_refs *refs, const void *at)
{
	struct ar_secret_ref *ref = refs->first;

	while (ref && ref->at != at)
		ref = ref->next;
	return ref;
}

void ar_secret_reference_drop(struct ar_secret_refs *refs, const void *at)
{
	for (struct ar_secret_ref **ref = &refs->first; *ref; ref = &(*ref)->next) {
		if ((*ref)->at != at)
			continue;
		*ref = (*ref)->next;
		refs->count--;
		break;
	}
	refs->end = &refs->first;
	while (*refs->end)
		refs->end = &(*refs->end)->next;
}
