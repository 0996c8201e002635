/* See token_book.h. A row that cannot be read is left out: its token does not work, and the others do. */
#include "token_book.h"
#include "mem.h"

#include <string.h>

#define PAGE 500
#define PRUNE_MAX 64
#define TOUCH_EVERY ((ar_usec)3600 * 1000000)

void ar_book_init(struct ar_token_book *b, struct ar_store *store, struct ar_clock *clock, bool is_shared)
{
	*b = (struct ar_token_book){ .store = store, .clock = clock, .is_shared = is_shared };
	b->json = ar_json_parser_new();
}

void ar_book_fini(struct ar_token_book *b)
{
	struct ar_token *t;

	for (size_t i = 0; (t = ar_map_next(&b->tokens, &i));)
		ar_token_free(t);
	ar_map_fini(&b->tokens);
	ar_json_parser_free(b->json);
}

struct ar_token *ar_book_find(const struct ar_token_book *b, struct ar_str id)
{
	char whole[sizeof(((struct ar_token *)0)->id)] = "tok_";

	if (id.len == AR_TOKEN_ID) {
		memcpy(whole + 4, id.p, AR_TOKEN_ID);
		id = ar_str_from(whole);
	}
	return ar_map_get(&b->tokens, id);
}

/* An older version never takes the place of a newer one: a look may have begun before a save of our own. */
static struct ar_token *store_token(struct ar_token_book *b, struct ar_token *t)
{
	struct ar_token *old = ar_map_get(&b->tokens, ar_str_from(t->id));

	if (t->version > b->newest)
		b->newest = t->version;
	if (old && old->version >= t->version) {
		ar_token_free(t);
		return old;
	}
	if (old)
		ar_map_del(&b->tokens, ar_str_from(old->id));
	ar_token_free(old);
	ar_map_put(&b->tokens, ar_str_from(t->id), t);
	return t;
}

/* ---- looks ---- */

static void load_more(struct ar_token_book *b);

static void take_rows(struct ar_token_book *b)
{
	for (size_t i = 0; i < b->load.count; i++) {
		const struct ar_store_token_row *row = &b->load.rows[i];
		struct ar_token *t = ar_token_read(b->json, row->token, row->record);

		b->seen = row->version;
		if (!t)
			continue;
		t->version = row->version;
		store_token(b, t);
	}
}

static void on_loaded(struct ar_store_op *op)
{
	struct ar_token_book *b = AR_CONTAINER_OF(op, struct ar_token_book, load.op);
	bool is_ok = op->status == AR_OK, is_more = is_ok && b->load.more;

	if (is_ok)
		take_rows(b);
	ar_store_op_fini(op);
	b->is_loading = false;
	b->next = b->clock->mono(b->clock) + AR_BOOK_REFRESH;
	if (is_more || (is_ok && b->is_wanted)) {
		b->is_wanted = b->is_wanted && is_more;
		load_more(b);
		return;
	}
	b->is_wanted = false;
	b->is_loaded = b->is_loaded || is_ok;
	b->is_fresh = is_ok;
	b->on_loaded(b);
}

static void load_more(struct ar_token_book *b)
{
	b->is_loading = true;
	b->load = (struct ar_store_tokens){ .op = { .kind = AR_STORE_TOKENS, .done = on_loaded },
					    .after = b->seen,
					    .limit = PAGE };
	ar_store_submit(b->store, &b->load.op);
}

void ar_book_refresh(struct ar_token_book *b)
{
	if (b->is_loading)
		b->is_wanted = true;
	else
		load_more(b);
}

/* ---- saves ---- */

static void on_saved(struct ar_store_op *op)
{
	struct ar_token_save *s = AR_CONTAINER_OF(op, struct ar_token_save, put.op);
	enum ar_status status = op->status;
	struct ar_error err = op->err;

	ar_store_op_fini(op);
	ar_buf_fini(&s->record);
	if (status == AR_OK) {
		s->token->version = s->put.version;
		s->token = store_token(s->book, s->token);
	} else {
		ar_token_free(s->token);
		s->token = NULL;
	}
	s->done(s, status, &err);
}

void ar_book_save(struct ar_token_book *b, struct ar_token_save *s)
{
	s->book = b;
	s->record = (struct ar_buf){ 0 };
	ar_token_write(s->token, &s->record);
	s->put = (struct ar_store_token_put){ .op = { .kind = AR_STORE_TOKEN_PUT, .done = on_saved },
					      .token = ar_str_from(s->token->id),
					      .record = ar_buf_str(&s->record),
					      .expected = s->token->version,
					      .audit = s->audit };
	ar_store_submit(b->store, &s->put.op);
}

/* ---- the dead ---- */

struct removal {
	struct ar_store_token_put put;
	char id[sizeof(((struct ar_token *)0)->id)];
};

/* One that failed is met again when the store is read at the next start; another node may have been first. */
static void on_removed(struct ar_store_op *op)
{
	struct removal *r = AR_CONTAINER_OF(op, struct removal, put.op);

	ar_store_op_fini(op);
	ar_free(r);
}

static void forget_token(struct ar_token_book *b, struct ar_token *t)
{
	struct removal *r = ar_new0(sizeof(*r));

	memcpy(r->id, t->id, sizeof(r->id));
	r->put = (struct ar_store_token_put){ .op = { .kind = AR_STORE_TOKEN_PUT, .done = on_removed },
					      .token = ar_str_from(r->id),
					      .record = AR_STR_NONE,
					      .expected = t->version };
	ar_map_del(&b->tokens, ar_str_from(t->id));
	ar_token_free(t);
	ar_store_submit(b->store, &r->put.op);
}

void ar_book_prune(struct ar_token_book *b, ar_usec before)
{
	struct ar_token *dead[PRUNE_MAX], *t;
	size_t count = 0;

	for (size_t i = 0; count < PRUNE_MAX && (t = ar_map_next(&b->tokens, &i));) {
		ar_usec ended = ar_token_ended(t, b->clock->wall(b->clock));

		if (ended && ended < before && t->version < b->newest && !t->is_touching)
			dead[count++] = t;
	}
	for (size_t i = 0; i < count; i++)
		forget_token(b, dead[i]);
}

/* ---- use ---- */

struct touch {
	struct ar_token_save save;
	char id[sizeof(((struct ar_token *)0)->id)];
};

/* It is for people who look for tokens that nobody uses: lost in an outage or by another's change,
 * it is written the next time. */
static void touched(struct ar_token_save *s, enum ar_status status, const struct ar_error *err)
{
	struct touch *touch = AR_CONTAINER_OF(s, struct touch, save);
	struct ar_token *t = ar_book_find(s->book, ar_str_from(touch->id));

	(void)status;
	(void)err;
	if (t)
		t->is_touching = false;
	ar_free(touch);
}

void ar_book_touch(struct ar_token_book *b, struct ar_token *t)
{
	ar_usec now = b->clock->wall(b->clock);
	struct touch *touch;

	if (t->is_touching || now - t->used < TOUCH_EVERY)
		return;
	t->is_touching = true;
	touch = ar_new0(sizeof(*touch));
	memcpy(touch->id, t->id, sizeof(touch->id));
	touch->save = (struct ar_token_save){ .token = ar_token_copy(t), .done = touched };
	touch->save.token->used = now;
	ar_book_save(b, &touch->save);
}
