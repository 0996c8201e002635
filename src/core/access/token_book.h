/* All tokens, in memory, and the store behind them. What another node of a shared store changes is
 * found by asking for what is newer than what was seen: every second, and at once when a token is shown
 * that is not known. Owner: the loop thread. */
#ifndef AR_ACCESS_TOKEN_BOOK_H
#define AR_ACCESS_TOKEN_BOOK_H

#include "list.h"
#include "map.h"
#include "store_token.h"
#include "token.h"

#define AR_BOOK_REFRESH ((ar_usec)1000000)
#define AR_BOOK_MAX 100000 /* rows, dead ones included, after which none is made any more */

struct ar_token_book {
	struct ar_store *store;
	struct ar_clock *clock;
	struct ar_json_parser *json;
	struct ar_map tokens; /* by id */
	struct ar_store_tokens load;
	uint64_t seen; /* versions up to here are in memory */
	uint64_t newest; /* of the versions that were read or written here */
	ar_usec next; /* monotonic: the next look */
	bool is_shared; /* other nodes write too */
	bool is_loading, is_loaded;
	bool is_fresh; /* the last look went well */
	bool is_wanted; /* someone asked while a look was under way, which may have missed it */
	void (*on_loaded)(struct ar_token_book
				  *b); /* a look that began after it was asked for has ended, well or not */
};

/* One put on its way. The caller owns it and fills `token` (which becomes the book's) and done(). */
struct ar_token_save {
	struct ar_token *token; /* version: the one that it changes; 0: a new one */
	const struct ar_store_audit *audit; /* written with it; lives until done(). NULL: none */
	void (*done)(struct ar_token_save *s, enum ar_status status, const struct ar_error *err);

	struct ar_store_token_put put; /* the book's */
	struct ar_token_book *book;
	struct ar_buf record;
};

void ar_book_init(struct ar_token_book *b, struct ar_store *store, struct ar_clock *clock, bool is_shared);
void ar_book_fini(struct ar_token_book *b); /* when the store is closed: nothing is under way any more */

/* "tok_..." or the bare public part. NULL: not known here. */
struct ar_token *ar_book_find(const struct ar_token_book *b, struct ar_str id);

/* Looks for what is new. One look at a time: asked meanwhile, another follows. */
void ar_book_refresh(struct ar_token_book *b);

/* Writes the token; on AR_OK it is in the book (and `token` is where it was, or gone) before done().
 * AR_E_EXISTS: another was first. On failure the token is freed. */
void ar_book_save(struct ar_token_book *b, struct ar_token_save *s);

/* Forgets tokens that ended before this (wall clock), a bounded number: here, and in the store, where
 * reading the row again reports the same. */
void ar_book_prune(struct ar_token_book *b, ar_usec before);

/* Says that it was used now; written at most every hour. */
void ar_book_touch(struct ar_token_book *b, struct ar_token *t);

#endif
