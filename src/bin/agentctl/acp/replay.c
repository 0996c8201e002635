/* See acp.h: a session as its log has it, page by page, told by the same code as what happens now. Turns
 * that were taken back are not part of the conversation any more: which they are is read first. */
#include "acp/acp.h"
#include "map.h"

#define PAGE 500 /* facts */
#define ROLLBACK "history.rollback.completed"

struct replay {
	struct ar_acp_session *s;
	struct ar_str request;
	int64_t until; /* facts behind it come by the stream */
	struct ar_map removed; /* ids of turns, in the arena */
	struct ar_arena arena;
};

typedef void event_fn(struct replay *r, struct ar_json event);

static struct ar_str page_body(struct replay *r, struct ar_str cursor, const char *type)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", ar_buf_str(&r->s->id));
	ar_jw_mint(&w, "limit", PAGE);
	if (type) {
		ar_jw_key(&w, "types");
		ar_jw_open_array(&w);
		ar_jw_str(&w, ar_str_from(type));
		ar_jw_close_array(&w);
	}
	if (cursor.len)
		ar_jw_mstr(&w, "cursor", cursor);
	ar_jw_close(&w);
	return ar_ctl_take_buf(r->s->acp->ctl, &text);
}

static void note_removed(struct replay *r, struct ar_json event)
{
	struct ar_json turns = ar_json_get(ar_json_get(event, "payload"), "removedTurnIds");
	struct ar_str id;

	for (struct ar_json_iter it = ar_json_iter(turns); ar_json_next(&it);) {
		if (ar_json_str(it.value, &id) && !ar_map_get(&r->removed, id))
			ar_map_put(&r->removed, ar_arena_str(&r->arena, id), r);
	}
}

static void tell_fact(struct replay *r, struct ar_json event)
{
	struct ar_str turn = ar_api_str(event, "turnId");

	if (ar_str_absent(turn) || !ar_map_get(&r->removed, turn))
		ar_acp_event(r->s, event);
}

static void read_page(struct replay *r, struct ar_json events, event_fn *fn)
{
	for (struct ar_json_iter it = ar_json_iter(events); ar_json_next(&it);) {
		if (ar_api_int(it.value, "sequence") <= r->until)
			fn(r, it.value);
	}
}

/* All pages, of facts of that type if there is one. */
static bool read_log(struct replay *r, const char *type, event_fn *fn)
{
	struct ar_acp *a = r->s->acp;
	struct ar_buf cursor = { 0 };
	bool is_read = true, is_last = false;

	while (is_read && !is_last && !a->is_over) {
		struct ar_api_reply page;
		struct ar_error err = { 0 };
		enum ar_status st = ar_api_try(a->ctl, "read_events", page_body(r, ar_buf_str(&cursor), type),
					       &page, &err);
		struct ar_str next = ar_api_str(page.doc, "nextCursor");

		is_read = st == AR_OK && page.http.status < 400;
		if (is_read)
			read_page(r, ar_json_get(page.doc, "events"), fn);
		else
			ar_acp_refused(a, r->request, st, &page, &err);
		is_last = ar_str_absent(next);
		ar_buf_clear(&cursor);
		ar_buf_adds(&cursor, next);
		ar_api_fini(&page);
	}
	ar_buf_fini(&cursor);
	return is_read;
}

bool ar_acp_replay(struct ar_acp_session *s, struct ar_str request, int64_t until)
{
	struct replay r = { .s = s, .request = request, .until = until };
	bool is_read = read_log(&r, ROLLBACK, note_removed) && read_log(&r, NULL, tell_fact);

	ar_map_fini(&r.removed);
	ar_arena_fini(&r.arena);
	return is_read;
}
