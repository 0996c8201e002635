/* See card.h. The presence rules of section 8.4.1 hold in what is written: required members always, optional
 * ones if they are set, nothing empty. So the text that is signed is the text that is sent. */
#include "card.h"
#include "base64.h"
#include "jcs.h"

struct writing {
	const struct ar_a2a_published *p;
	const struct ar_a2a_card_ask *ask;
	struct ar_arena *a;
	struct ar_jw w;
	bool is_merged; /* with members of 0.3 */
};

static struct ar_str url_of(const struct writing *c, const char *tail)
{
	return ar_arena_fmt(c->a, "%.*s/a2a/%.*s%s", AR_STR_ARG(c->p->url), AR_STR_ARG(c->ask->agent->name),
			    tail);
}

/* ---- interfaces ---- */

static void write_interface(struct writing *c, const char *tail, const char *binding, const char *version)
{
	ar_jw_open(&c->w);
	ar_jw_mstr(&c->w, "url", url_of(c, tail));
	ar_jw_mstr(&c->w, "protocolBinding", ar_str_from(binding));
	ar_jw_mstr(&c->w, "protocolVersion", ar_str_from(version));
	ar_jw_close(&c->w);
}

static void write_interfaces(struct writing *c)
{
	ar_jw_key(&c->w, "supportedInterfaces");
	ar_jw_open_array(&c->w);
	write_interface(c, "/rpc", "JSONRPC", "1.0");
	write_interface(c, "", "HTTP+JSON", "1.0");
	if (c->ask->agent->speaks_v03)
		write_interface(c, "/rpc", "JSONRPC", "0.3");
	ar_jw_close_array(&c->w);
}

static void write_old_interface(struct writing *c)
{
	ar_jw_mstr(&c->w, "protocolVersion", AR_STR("0.3.0"));
	ar_jw_mstr(&c->w, "url", url_of(c, "/rpc"));
	ar_jw_mstr(&c->w, "preferredTransport", AR_STR("JSONRPC"));
	ar_jw_mbool(&c->w, "supportsAuthenticatedExtendedCard", true);
}

static void write_capabilities(struct writing *c)
{
	struct ar_jw *w = &c->w;

	ar_jw_key(w, "capabilities");
	ar_jw_open(w);
	ar_jw_mbool(w, "streaming", c->p->streams);
	ar_jw_mbool(w, "pushNotifications", c->p->pushes);
	if (c->p->extension_count) {
		ar_jw_key(w, "extensions");
		ar_jw_open_array(w);
		for (size_t i = 0; i < c->p->extension_count; i++) {
			ar_jw_open(w);
			ar_jw_mstr(w, "uri", c->p->extensions[i].uri);
			ar_jw_mstr(w, "description", c->p->extensions[i].description);
			ar_jw_close(w);
		}
		ar_jw_close_array(w);
	}
	ar_jw_mbool(w, "extendedAgentCard", true);
	ar_jw_close(w);
}

/* ---- who may ---- */

/* One of our ways to show who one is; `type` and its member are those of 0.3. */
struct scheme {
	const char *name, *kind, *member, *description;
	const char *type;
	struct ar_str value;
	bool has;
};

static void write_scheme(struct writing *c, const struct scheme *s)
{
	struct ar_jw *w = &c->w;

	ar_jw_key(w, s->name);
	ar_jw_open(w);
	ar_jw_key(w, s->kind);
	ar_jw_open(w);
	ar_jw_mstr(w, "description", ar_str_from(s->description));
	if (s->member)
		ar_jw_mstr(w, s->member, s->value);
	ar_jw_close(w);
	if (c->is_merged) {
		ar_jw_mstr(w, "type", ar_str_from(s->type));
		if (s->member)
			ar_jw_mstr(w, s->member, s->value);
	}
	ar_jw_close(w);
}

/* What a caller needs is the scope that starts work. Named, the list is not empty, and a reader that drops
 * what is empty before it verifies the signature keeps it. */
static void write_requirements(struct writing *c, const struct scheme *all, size_t count, bool is_old)
{
	struct ar_jw *w = &c->w;

	ar_jw_key(w, is_old ? "security" : "securityRequirements");
	ar_jw_open_array(w);
	for (size_t i = 0; i < count; i++) {
		if (!all[i].has)
			continue;
		ar_jw_open(w);
		ar_jw_key(w, is_old ? all[i].name : "schemes");
		if (!is_old) {
			ar_jw_open(w);
			ar_jw_key(w, all[i].name);
			ar_jw_open(w);
			ar_jw_key(w, "list");
		}
		ar_jw_texts(w, AR_TEXTS(AR_STR("submit")));
		if (!is_old) {
			ar_jw_close(w);
			ar_jw_close(w);
		}
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

static void write_security(struct writing *c)
{
	const struct ar_a2a_security *s = &c->p->security;
	const struct scheme all[] = {
		{ .name = "bearer",
		  .kind = "httpAuthSecurityScheme",
		  .member = "scheme",
		  .description = "A token of this server, or one that it accepts.",
		  .type = "http",
		  .value = AR_STR("Bearer"),
		  .has = true },
		{ .name = "certificate",
		  .kind = "mtlsSecurityScheme",
		  .description = "A client certificate that this server accepts.",
		  .type = "mutualTLS",
		  .has = s->has_certificates },
		{ .name = "issuer",
		  .kind = "openIdConnectSecurityScheme",
		  .member = "openIdConnectUrl",
		  .description = "A token of this issuer.",
		  .type = "openIdConnect",
		  .value = s->oidc,
		  .has = !ar_str_absent(s->oidc) },
	};

	ar_jw_key(&c->w, "securitySchemes");
	ar_jw_open(&c->w);
	for (size_t i = 0; i < AR_ARRAY_LEN(all); i++) {
		if (all[i].has)
			write_scheme(c, &all[i]);
	}
	ar_jw_close(&c->w);
	if (s->is_open)
		return;
	write_requirements(c, all, AR_ARRAY_LEN(all), false);
	if (c->is_merged)
		write_requirements(c, all, AR_ARRAY_LEN(all), true);
}

/* ---- skills ---- */

static bool is_shown(const struct writing *c, const struct ar_a2a_skill *s)
{
	if (s->is_public)
		return true;
	return !ar_str_absent(c->ask->tenant) &&
	       (ar_texts_have(s->tenants, AR_STR("*")) || ar_texts_have(s->tenants, c->ask->tenant));
}

static void write_skill(struct ar_jw *w, const struct ar_a2a_skill *s)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "id", s->id);
	ar_jw_mstr(w, "name", s->name);
	ar_jw_mstr(w, "description", s->description);
	ar_jw_mtexts(w, "tags", s->tags);
	ar_jw_close(w);
}

/* An agent without definitions can do what its description says. */
static void write_skills(struct writing *c)
{
	const struct ar_a2a_agent *g = c->ask->agent;
	const struct ar_a2a_skill own = { .id = g->name,
					  .name = g->title,
					  .description = g->description,
					  .tags = AR_TEXTS(AR_STR("agent")) };

	ar_jw_key(&c->w, "skills");
	ar_jw_open_array(&c->w);
	write_skill(&c->w, &own);
	for (size_t i = 0; i < g->skill_count; i++) {
		if (is_shown(c, &g->skills[i]))
			write_skill(&c->w, &g->skills[i]);
	}
	ar_jw_close_array(&c->w);
}

/* ---- the card ---- */

/* The last brace is left to the caller: signatures may follow. */
static void write_members(struct writing *c)
{
	const struct ar_a2a_agent *g = c->ask->agent;
	const struct ar_texts modes = AR_TEXTS(AR_STR("text/plain"), AR_STR("application/json"));

	ar_jw_open(&c->w);
	ar_jw_mstr(&c->w, "name", g->title);
	ar_jw_mstr(&c->w, "description", g->description);
	write_interfaces(c);
	ar_jw_mstr(&c->w, "version", g->version);
	write_capabilities(c);
	write_security(c);
	ar_jw_mtexts(&c->w, "defaultInputModes", modes);
	ar_jw_mtexts(&c->w, "defaultOutputModes", modes);
	write_skills(c);
	if (c->is_merged)
		write_old_interface(c);
}

/* ---- signatures ---- */

/* Of the card as it is in `text`, whose last brace is missing. */
static void write_signature(struct ar_str text, const struct ar_es256 *key, struct ar_json_parser *json,
			    struct ar_arena *a, struct ar_jw *w)
{
	struct ar_str whole = ar_arena_fmt(a, "%.*s}", AR_STR_ARG(text)), head, input;
	uint8_t bytes[AR_ES256_SIGNATURE];
	struct ar_buf payload = { 0 };
	struct ar_json v;

	AR_ASSERT(ar_json_parse(json, whole, &v, NULL) == AR_OK); /* we wrote it */
	ar_jcs(v, a, &payload);
	head = ar_base64url(a, ar_arena_fmt(a, "{\"alg\":\"ES256\",\"kid\":\"%.*s\",\"typ\":\"JOSE\"}",
					    AR_STR_ARG(ar_es256_thumbprint(key, a))));
	input = ar_arena_fmt(a, "%.*s.%.*s", AR_STR_ARG(head),
			     AR_STR_ARG(ar_base64url(a, ar_buf_str(&payload))));
	ar_buf_fini(&payload);
	ar_es256_sign(key, input, bytes);
	ar_jw_open(w);
	ar_jw_mstr(w, "protected", head);
	ar_jw_mstr(w, "signature", ar_base64url(a, (struct ar_str){ (const char *)bytes, sizeof bytes }));
	ar_jw_close(w);
}

void ar_a2a_card_write(const struct ar_a2a_published *p, const struct ar_a2a_card_ask *ask,
		       const struct ar_es256 *key, struct ar_json_parser *json, struct ar_arena *a,
		       struct ar_buf *out)
{
	struct ar_buf pure = { 0 }, sent = { 0 };
	struct writing c = { .p = p, .ask = ask, .a = a, .w = ar_jw(&pure) };
	struct ar_jw w;

	write_members(&c);
	c.is_merged = !ask->is_pure && ask->agent->speaks_v03;
	c.w = ar_jw(&sent);
	write_members(&c);
	ar_buf_adds(out, ar_buf_str(&sent));
	w = ar_jw(out);
	w.comma = true;
	if (key) {
		ar_jw_key(&w, "signatures");
		ar_jw_open_array(&w);
		write_signature(ar_buf_str(&pure), key, json, a, &w);
		if (c.is_merged)
			write_signature(ar_buf_str(&sent), key, json, a, &w);
		ar_jw_close_array(&w);
	}
	ar_jw_close(&w);
	ar_buf_fini(&pure);
	ar_buf_fini(&sent);
}
