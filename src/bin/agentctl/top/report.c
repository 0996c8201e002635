/* See top.h: a look as JSON, for programs. */
#include "top/top.h"

static void write_row(struct ar_jw *w, const struct ar_top_row *r)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "sessionId", r->session);
	ar_jw_mstr(w, "title", r->title);
	ar_jw_mstr(w, "status", r->status);
	ar_jw_mint(w, "turns", r->turns);
	ar_jw_mint(w, "queuedTurns", r->queued);
	ar_jw_mint(w, "pendingActions", r->waits);
	ar_jw_mint(w, "tokens", r->tokens);
	if (r->cost > 0) {
		ar_jw_key(w, "cost");
		ar_jw_num(w, r->cost);
		ar_jw_mstr(w, "currency", r->currency);
	}
	ar_jw_mtime(w, "updatedAt", r->updated);
	ar_jw_close(w);
}

void ar_top_report(struct ar_ctl *c, const struct ar_top *t)
{
	struct ar_buf line = { 0 };
	struct ar_jw w = ar_jw(&line);

	ar_jw_open(&w);
	ar_jw_mtime(&w, "time", t->wall);
	ar_jw_key(&w, "now");
	ar_jw_open(&w);
	for (enum ar_top_metric i = 0; i < AR_TOP_FIRST_RATE; i++) {
		ar_jw_key(&w, ar_top_keys[i]);
		ar_jw_num(&w, t->now.values[i]);
	}
	ar_jw_close(&w);
	ar_jw_key(&w, "perSecond");
	ar_jw_open(&w);
	for (enum ar_top_metric i = AR_TOP_FIRST_RATE; i < AR_TOP_METRICS; i++) {
		ar_jw_key(&w, ar_top_keys[i]);
		ar_jw_num(&w, ar_top_rate(t, i));
	}
	ar_jw_close(&w);
	ar_jw_key(&w, "sessions");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < t->count; i++)
		write_row(&w, &t->rows[i]);
	ar_jw_close_array(&w);
	ar_jw_close(&w);
	ar_buf_addc(&line, '\n');
	ar_out_json(&c->out, ar_buf_str(&line));
	fflush(c->out.file);
	ar_buf_fini(&line);
}
