/* See acp.h: a session as its log has it, page by page, told by the same code as what happens now. */
#include "acp/acp.h"

#define PAGE 500 /* facts */

static struct ar_str page_body(struct ar_acp_session *s, struct ar_str cursor)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", ar_buf_str(&s->id));
	ar_jw_mint(&w, "limit", PAGE);
	if (cursor.len)
		ar_jw_mstr(&w, "cursor", cursor);
	ar_jw_close(&w);
	return ar_ctl_take_buf(s->acp->ctl, &text);
}

/* Facts behind `until` come by the stream. */
static void tell_page(struct ar_acp_session *s, struct ar_json events, int64_t until)
{
	for (struct ar_json_iter it = ar_json_iter(events); ar_json_next(&it);) {
		if (ar_api_int(it.value, "sequence") <= until)
			ar_acp_event(s, it.value);
	}
}

bool ar_acp_replay(struct ar_acp_session *s, struct ar_str request, int64_t until)
{
	struct ar_buf cursor = { 0 };
	bool is_read = true, is_last = false;

	while (is_read && !is_last && !s->acp->is_over) {
		struct ar_api_reply page;
		struct ar_error err = { 0 };
		enum ar_status st = ar_api_try(s->acp->ctl, "read_events", page_body(s, ar_buf_str(&cursor)),
					       &page, &err);
		struct ar_str next = ar_api_str(page.doc, "nextCursor");

		is_read = st == AR_OK && page.http.status < 400;
		if (is_read)
			tell_page(s, ar_json_get(page.doc, "events"), until);
		else
			ar_acp_refused(s->acp, request, st, &page, &err);
		is_last = ar_str_absent(next);
		ar_buf_clear(&cursor);
		ar_buf_adds(&cursor, next);
		ar_api_fini(&page);
	}
	ar_buf_fini(&cursor);
	return is_read;
}
