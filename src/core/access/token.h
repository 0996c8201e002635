/* One API token: what is known of it, its text as people carry it (art_<id>_<secret>), its record as
 * the store keeps it. Pure functions; the book owns the tokens. */
#ifndef AR_ACCESS_TOKEN_H
#define AR_ACCESS_TOKEN_H

#include "clock.h"
#include "auth.h"
#include "hash.h"
#include "json.h"

#define AR_TOKEN_ID 16 /* characters: 80 bits */
#define AR_TOKEN_SECRET 52 /* characters: 256 bits */
#define AR_TOKEN_TEXT (4 + AR_TOKEN_ID + 1 + AR_TOKEN_SECRET) /* "art_" id "_" secret */
#define AR_TOKEN_SECRETS 4 /* that live at once: the newest, and those that rotations left for a while */
#define AR_TOKEN_NAME_MAX 128
#define AR_TENANT_MAX 64
#define AR_TOKEN_OWNER_MAX 64 /* of a name that is given */

struct ar_token_secret {
	struct ar_hash hash;
	ar_usec until; /* wall clock; 0: as long as the token */
};

struct ar_token {
	char id[4 + AR_TOKEN_ID + 1]; /* "tok_" and the public part */
	char *tenant, *name; /* owned */
	char *owner; /* owned: the person whose it is (principal.person); NULL: from before that was kept */
	char *worker; /* owned: id of the worker that it is of; NULL: of none */
	bool is_enrolment; /* with worker: it is to be replaced by the worker's own secret */
	unsigned rights;
	struct ar_token_secret secrets[AR_TOKEN_SECRETS]; /* the newest first */
	size_t secret_count;
	ar_usec created, expires, revoked, used; /* wall clock; 0: never */
	struct ar_hash input; /* of what it was made from, for a repeated create */
	uint64_t version; /* of the stored row; 0: not stored yet */
	bool is_touching; /* the book's: its last use is being written */
};

/* Scopes by their names; 0 for an unknown one. */
unsigned ar_scope_parse(struct ar_str name);
void ar_scopes_write(unsigned rights, struct ar_jw *w); /* a JSON array */

struct ar_token *ar_token_new(struct ar_str tenant, struct ar_str name);
void ar_token_give(struct ar_token *t, struct ar_str owner); /* absent or empty: to nobody known */
struct ar_token *ar_token_copy(const struct ar_token *t);
void ar_token_free(struct ar_token *t);

/* Draws an id, or makes the one that belongs to a caller's key: the same key of the same
 * tenant names the same token. */
void ar_token_draw_id(struct ar_token *t);
void ar_token_derive_id(struct ar_token *t, struct ar_str key);

/* A worker has one token: makes its id, and says whose it is. */
void ar_token_give_worker(struct ar_token *t, struct ar_str worker);

/* A new secret becomes the newest, those before it live until `old_until` at most; ret gets the whole
 * text, with a NUL. Where there are too many the one goes that would end first. */
void ar_token_renew(struct ar_token *t, ar_usec old_until, char ret[AR_TOKEN_TEXT + 1]);

/* Takes a text apart; false when it cannot be one of ours. */
bool ar_token_parse(struct ar_str text, struct ar_str *ret_id, struct ar_str *ret_secret);

/* The secret of the token that was shown, among those that live now; NULL: none. t may be NULL:
 * takes as long, and gives NULL. */
const struct ar_token_secret *ar_token_match(const struct ar_token *t, struct ar_str secret, ar_usec now);

/* A secret, in 64 bits: what a principal remembers of it. */
uint64_t ar_token_mark(const struct ar_token_secret *s);

/* Whether it is neither revoked nor expired. */
bool ar_token_is_live(const struct ar_token *t, ar_usec now);

/* When it ended, by whichever way came first; 0: it lives. */
ar_usec ar_token_ended(const struct ar_token *t, ar_usec now);

/* As stored. Reading gives NULL for what is no record of ours. */
void ar_token_write(const struct ar_token *t, struct ar_buf *out);
struct ar_token *ar_token_read(struct ar_json_parser *parser, struct ar_str id, struct ar_str record);

#endif
