/* What is done to tokens: made, given a new secret, revoked. A change is built on what is in memory and
 * saved against the version it was built on; if another was first, the store is looked at and the
 * change built anew. The secret leaves in the change alone. */
#include "access_priv.h"
#include "audit_act.h"
#include "id.h"
#include "mem.h"
#include "storage.h"

#include <string.h>

#define TRIES 4
#define TENANT_TOKENS 1000 /* living tokens of one tenant */

static const char *const commands[] = { [AR_TOKEN_CREATE] = "create_token",
					[AR_TOKEN_ROTATE] = "rotate_token",
					[AR_TOKEN_REVOKE] = "revoke_token",
					[AR_TOKEN_ENROL] = "enrol_worker" };
static const char *const deeds[] = { [AR_TOKEN_CREATE] = "made",
				     [AR_TOKEN_ROTATE] = "given a new secret",
				     [AR_TOKEN_REVOKE] = "revoked",
				     [AR_TOKEN_ENROL] = "made the token of its worker" };

static struct ar_str command_of(const struct ar_token_change *c)
{
	if (c->act == AR_TOKEN_CREATE && !ar_str_absent(c->worker))
		return AR_STR("create_worker");
	if (c->act == AR_TOKEN_REVOKE && !ar_str_absent(c->worker))
		return AR_STR("remove_worker");
	return ar_str_from(commands[c->act]);
}

/* ---- ends ---- */

static void finish_change(struct ar_token_change *c, enum ar_status status)
{
	c->status = status;
	c->done(c);
}

static void fail_change(struct ar_token_change *c, enum ar_status status)
{
	explicit_bzero(c->text, sizeof(c->text));
	c->token = NULL;
	finish_change(c, status);
}

/* In the token's own tenant: that is whose facts they are. */
static void note_deed(struct ar_access *a, const struct ar_token_change *c)
{
	struct ar_arena arena = { 0 };
	struct ar_audit audit = { .tenant = ar_str_from(c->token->tenant),
				  .actor = c->who ? c->who->actor : AR_STR("local"),
				  .token = c->who ? c->who->token : AR_STR_NONE,
				  .command = command_of(c),
				  .target = ar_str_from(c->token->id),
				  .count = 1 };

	audit.message =
		ar_arena_fmt(&arena, "token %s ('%s') was %s", c->token->id, c->token->name, deeds[c->act]);
	if (a->o.audit)
		a->o.audit(a->o.audit_arg, &audit);
	ar_arena_fini(&arena);
}

static void answer_repeat(struct ar_token_change *c, const struct ar_token *t)
{
	c->token = t;
	c->is_repeat = true;
	finish_change(c, AR_OK);
}

/* ---- save ---- */

static void start_change(struct ar_access *a, struct ar_token_change *c);

static void look_and_start(struct ar_access *a, struct ar_token_change *c)
{
	ar_list_push(&a->changing, &c->node);
	ar_book_refresh(&a->book);
}

void ar_access_change_again(struct ar_access *a)
{
	struct ar_list waiting, *node;

	ar_list_init(&waiting);
	ar_list_splice(&waiting, &a->changing);
	while ((node = ar_list_pop(&waiting))) {
		struct ar_token_change *c = AR_CONTAINER_OF(node, struct ar_token_change, node);

		if (a->book.is_fresh)
			start_change(a, c);
		else
			fail_change(c, ar_refuse(&c->err, AR_ERR_STORAGE_UNAVAILABLE,
						 "the tokens cannot be read now; repeat later"));
	}
}

struct save {
	struct ar_token_save base;
	struct ar_token_change *change;
	struct ar_store_audit audit;
	struct ar_buf record;
};

static void save_free(struct save *s)
{
	ar_buf_fini(&s->record);
	ar_free(s);
}

/* In the token's own tenant, like the fact about it. */
static void write_audit(struct ar_access *a, struct save *s)
{
	const struct ar_token_change *c = s->change;
	const struct ar_token *t = s->base.token;
	struct ar_jw w = ar_jw(&s->record);
	char digest[AR_HASH_HEX];
	struct ar_hash hash;

	ar_audit_act_open(&w,
			  &(struct ar_audit_act){ .actor = c->who ? c->who->actor : AR_STR(AR_TENANT_LOCAL),
						  .command = command_of(c),
						  .from = c->from });
	ar_jw_key(&w, "target");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "tokenId", ar_str_from(t->id));
	ar_jw_close(&w);
	if (!ar_str_absent(c->key)) {
		hash = ar_hash_of(c->key);
		ar_hash_hex(&hash, digest);
		ar_jw_mstr(&w, "keyDigest", (struct ar_str){ digest, sizeof(digest) });
	}
	ar_jw_close(&w);
	s->audit = (struct ar_store_audit){ .tenant = ar_str_from(t->tenant),
					    .at = ar_access_wall(a),
					    .record = ar_buf_str(&s->record) };
	s->base.audit = &s->audit;
}

static void on_saved(struct ar_token_save *base, enum ar_status status, const struct ar_error *err)
{
	struct save *s = AR_CONTAINER_OF(base, struct save, base);
	struct ar_token_change *c = s->change;
	const struct ar_token *t = base->token;

	save_free(s);
	if (status == AR_OK) {
		c->token = t;
		note_deed(c->access, c);
		finish_change(c, AR_OK);
	} else if (status == AR_E_EXISTS && ++c->tries < TRIES) {
		look_and_start(c->access, c);
	} else {
		fail_change(c, ar_refuse(&c->err, ar_storage_code(status), "%.200s", err->msg));
	}
}

static void save_token(struct ar_access *a, struct ar_token_change *c, struct ar_token *t)
{
	struct save *s = ar_new0(sizeof(*s));

	s->base = (struct ar_token_save){ .token = t, .done = on_saved };
	s->change = c;
	write_audit(a, s);
	ar_book_save(&a->book, &s->base);
}

/* ---- create ---- */

static struct ar_str tenant_of(const struct ar_token_change *c)
{
	if (!ar_str_absent(c->tenant))
		return c->tenant;
	return c->who ? c->who->tenant : AR_STR(AR_TENANT_LOCAL);
}

static bool is_tenant(struct ar_str name)
{
	return name.len <= AR_TENANT_MAX && ar_id_acceptable(name);
}

/* Nobody gives out what outlives what they showed: else a short JWT, or the old secret of a rotated
 * token, would be worth an endless one. 0: no limit. */
static ar_usec latest_end(const struct ar_access *a, const struct ar_token_change *c)
{
	if (!c->who || !c->who->until)
		return 0;
	if (a->o.jwt_token_age && ar_str_starts(c->who->actor, AR_STR("jwt:")))
		return ar_access_wall(a) + a->o.jwt_token_age;
	return c->who->until;
}

static enum ar_status check_end(const struct ar_access *a, struct ar_token_change *c, ar_usec end)
{
	ar_usec latest = latest_end(a, c);

	if (!latest || (end && end <= latest))
		return AR_OK;
	return ar_refuse(&c->err, AR_ERR_NOT_AUTHORIZED,
			 "this token would outlive the caller's token by more than auth.jwt_token_age_s "
			 "allows; use an earlier expiresAt, or ask the operator");
}

/* Who may write the store anyway, and so says which person is which. */
static bool may_name_owners(const struct ar_token_change *c)
{
	return !c->who || (ar_principal_is_operator(c->who) && ar_str_is(c->who->person, AR_PERSON_LOCAL));
}

static struct ar_str person_of(const struct ar_token_change *c)
{
	return c->who ? c->who->person : AR_STR(AR_PERSON_LOCAL);
}

static enum ar_status check_owner(struct ar_token_change *c)
{
	if (ar_str_absent(c->owner))
		return AR_OK;
	if (!may_name_owners(c))
		return ar_refuse(&c->err, AR_ERR_NOT_AUTHORIZED,
				 "only the server's own user can name another owner, over the unix socket; "
				 "leave owner out");
	if (c->owner.len > AR_TOKEN_OWNER_MAX || !ar_id_acceptable(c->owner))
		return ar_refuse(&c->err, AR_ERR_INVALID_INPUT,
				 "an owner is named by 1 to %d of the characters A-Z a-z 0-9 . _ : -",
				 AR_TOKEN_OWNER_MAX);
	return AR_OK;
}

static enum ar_status check_create(const struct ar_access *a, struct ar_token_change *c)
{
	struct ar_str tenant = tenant_of(c);

	if (!is_tenant(tenant))
		return ar_refuse(&c->err, AR_ERR_INVALID_INPUT,
				 "a tenant is named by 1 to %d of the characters A-Z a-z 0-9 . _ : -",
				 AR_TENANT_MAX);
	if (!ar_principal_is_operator(c->who) && !ar_str_eq(tenant, c->who->tenant))
		return ar_refuse(&c->err, AR_ERR_NOT_AUTHORIZED,
				 "only the operator can create tokens of another tenant, over the server's "
				 "unix socket");
	if (!c->rights)
		return ar_refuse(&c->err, AR_ERR_INVALID_INPUT, "a token needs at least one scope");
	if (c->expires && c->expires <= ar_access_wall(a))
		return ar_refuse(&c->err, AR_ERR_INVALID_INPUT, "expiresAt is not in the future");
	if (check_owner(c) != AR_OK)
		return AR_E_REFUSED;
	/* A worker outlives who made it: its token calls nothing. */
	return c->expires && ar_str_absent(c->worker) ? check_end(a, c, c->expires) : AR_OK;
}

static struct ar_hash hash_input(const struct ar_token_change *c)
{
	struct ar_buf text = { 0 };
	struct ar_hash h;

	if (!ar_str_absent(c->worker))
		return ar_hash_of(c->worker); /* when it was asked for does not count */
	ar_buf_addf(&text, "%u %lld %zu ", c->rights, (long long)c->expires, tenant_of(c).len);
	ar_buf_adds(&text, tenant_of(c));
	ar_buf_adds(&text, c->name);
	if (!ar_str_absent(c->owner))
		ar_buf_addf(&text, "\n%.*s", AR_STR_ARG(c->owner));
	h = ar_hash_of(ar_buf_str(&text));
	ar_buf_fini(&text);
	return h;
}

static size_t count_living(const struct ar_access *a, struct ar_str tenant)
{
	const struct ar_token *t;
	size_t count = 0;

	for (size_t i = 0; (t = ar_map_next(&a->book.tokens, &i));)
		count += ar_str_is(tenant, t->tenant) && ar_token_is_live(t, ar_access_wall(a));
	return count;
}

static enum ar_status check_room(const struct ar_access *a, struct ar_token_change *c)
{
	if (a->book.tokens.count < AR_BOOK_MAX && count_living(a, tenant_of(c)) < TENANT_TOKENS)
		return AR_OK;
	return ar_refuse(&c->err, AR_ERR_QUOTA_BLOCKED, "a tenant may have %d tokens; revoke some first",
			 TENANT_TOKENS);
}

static void set_result(const struct ar_token_change *c, struct ar_token *t)
{
	struct ar_arena arena = { 0 };

	ar_token_give(t, ar_str_absent(c->owner) ? person_of(c)
						 : ar_arena_fmt(&arena, "person:%.*s", AR_STR_ARG(c->owner)));
	ar_arena_fini(&arena);
}

static void set_id(struct ar_token *t, const struct ar_token_change *c)
{
	t->is_enrolment = !ar_str_absent(c->worker);
	if (t->is_enrolment)
		ar_token_give_worker(t, c->worker);
	else if (ar_str_absent(c->key))
		ar_token_draw_id(t);
	else
		ar_token_derive_id(t, c->key);
}

static void create(struct ar_access *a, struct ar_token_change *c)
{
	struct ar_token *t = ar_token_new(tenant_of(c), c->name);
	const struct ar_token *there;
	enum ar_status st;

	set_id(t, c);
	there = ar_book_find(&a->book, ar_str_from(t->id));
	st = there ? AR_E_EXISTS : check_room(a, c);
	if (st != AR_OK) {
		ar_token_free(t);
		if (there && memcmp(there->input.b, c->input.b, sizeof(c->input.b)) == 0)
			answer_repeat(c, there);
		else if (there)
			fail_change(c, ar_refuse(&c->err, AR_ERR_ID_CONFLICT,
						 "the key was used before for another token"));
		else
			fail_change(c, st);
		return;
	}
	t->rights = c->rights & AR_RIGHT_ADMIN ? AR_RIGHT_ALL : c->rights;
	t->expires = c->expires;
	t->created = ar_access_wall(a);
	t->input = c->input;
	set_result(c, t);
	ar_token_renew(t, 0, c->text);
	save_token(a, c, t);
}

/* ---- rotate, revoke, enrol ---- */

static const struct ar_token *find_of_worker(const struct ar_access *a, const struct ar_token_change *c)
{
	struct ar_token *like = ar_token_new(tenant_of(c), AR_STR(""));
	const struct ar_token *t;

	ar_token_give_worker(like, c->worker);
	t = ar_book_find(&a->book, ar_str_from(like->id));
	ar_token_free(like);
	return t;
}

static const struct ar_token *find_own(const struct ar_access *a, const struct ar_token_change *c)
{
	const struct ar_token *t = ar_book_find(&a->book, c->id);

	if (!t || ar_principal_is_operator(c->who) || ar_str_is(c->who->tenant, t->tenant))
		return t;
	return NULL;
}

static void rotate(struct ar_access *a, struct ar_token_change *c, const struct ar_token *there)
{
	struct ar_token *t;

	if (!ar_token_is_live(there, ar_access_wall(a))) {
		fail_change(c, ar_refuse(&c->err, AR_ERR_EXPIRED, "the token has ended; create another"));
		return;
	}
	if (there->worker) {
		fail_change(c, ar_refuse(&c->err, AR_ERR_NOT_AUTHORIZED,
					 "the token is a worker's, which alone has its secret; remove the "
					 "worker and create another"));
		return;
	}
	if (check_end(a, c, there->expires) != AR_OK) {
		fail_change(c, AR_E_REFUSED);
		return;
	}
	t = ar_token_copy(there);
	if (!t->owner || !may_name_owners(c))
		ar_token_give(t, person_of(c)); /* who gets its secret could speak as its owner */
	ar_token_renew(t, ar_access_wall(a) + c->grace, c->text);
	save_token(a, c, t);
}

static void revoke(struct ar_access *a, struct ar_token_change *c, const struct ar_token *there)
{
	struct ar_token *t;

	if (there->revoked) {
		answer_repeat(c, there);
		return;
	}
	t = ar_token_copy(there);
	t->revoked = ar_access_wall(a);
	save_token(a, c, t);
}

/* The secret that was shown, and none that another has got since: of two who show it one is first. */
static bool is_shown(const struct ar_access *a, const struct ar_token_change *c, const struct ar_token *t)
{
	return t->worker && t->is_enrolment && ar_token_is_live(t, ar_access_wall(a)) &&
	       ar_token_mark(&t->secrets[0]) == c->who->mark;
}

static void enrol(struct ar_access *a, struct ar_token_change *c)
{
	const struct ar_token *there = ar_book_find(&a->book, c->who->token);
	struct ar_token *t;

	if (!there || !is_shown(a, c, there)) {
		fail_change(c, ar_refuse(&c->err, AR_ERR_NOT_AUTHORIZED,
					 "the enrolment token was used before, or has ended; create another "
					 "worker"));
		return;
	}
	t = ar_token_copy(there);
	t->is_enrolment = false;
	t->expires = 0;
	t->secret_count = 0;
	ar_token_renew(t, 0, c->text);
	save_token(a, c, t);
}

static void revoke_worker(struct ar_access *a, struct ar_token_change *c)
{
	const struct ar_token *there = find_of_worker(a, c);

	if (there)
		revoke(a, c, there);
	else
		answer_repeat(c, NULL);
}

static void start_change(struct ar_access *a, struct ar_token_change *c)
{
	const struct ar_token *there;

	if (c->act == AR_TOKEN_CREATE) {
		create(a, c);
		return;
	}
	if (c->act == AR_TOKEN_ENROL) {
		enrol(a, c);
		return;
	}
	if (c->act == AR_TOKEN_REVOKE && !ar_str_absent(c->worker)) {
		revoke_worker(a, c);
		return;
	}
	there = find_own(a, c);
	if (!there)
		fail_change(c, ar_refuse(&c->err, AR_ERR_TOKEN_NOT_FOUND, "there is no token '%.*s'",
					 AR_STR_ARG(ar_str_utf8_prefix(c->id, 64))));
	else if (c->act == AR_TOKEN_ROTATE)
		rotate(a, c, there);
	else
		revoke(a, c, there);
}

/* On a shared store the newest state is looked at first: a token that another node made a
 * moment ago can be revoked here. */
void ar_access_change(struct ar_access *a, struct ar_token_change *c)
{
	enum ar_status st = AR_OK;

	c->access = a;
	if (c->act == AR_TOKEN_CREATE) {
		st = check_create(a, c);
		c->input = hash_input(c);
		c->expires = c->expires ? c->expires : latest_end(a, c);
	}
	if (st != AR_OK)
		fail_change(c, st);
	else if (a->o.is_shared || !a->book.is_loaded)
		look_and_start(a, c);
	else
		start_change(a, c);
}
