/* See violation_listener.h. */
#include "violation_listener.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AT_ONCE 64 /* refused in one turn of the loop */

void ar_violation_listener_init(struct ar_violation_listener *h)
{
	h->listener = h->seen.workspace = -1;
}

/* ---- while it runs ---- */

static void on_request(uv_poll_t *poll, int status AR_UNUSED, int events AR_UNUSED)
{
	struct ar_violation_listener *h = AR_CONTAINER_OF(poll, struct ar_violation_listener, poll);
	enum ar_refused_state standing = ar_refused_poll(h->listener);
	struct ar_refused_kind *first;

	for (int i = 0; i < AT_ONCE && standing == AR_REFUSED_WAITS; i++) {
		if (!ar_refused_answer(&h->refused, h->listener, &first))
			return;
		standing = ar_refused_poll(h->listener);
	}
	if (standing == AR_REFUSED_OVER)
		uv_poll_stop(poll);
}

/* The workspace is the first of what may be written; where nothing may, nothing is made. */
static void remember_missing(struct ar_violation_listener *h, struct ar_json ready, struct ar_arena *a)
{
	struct ar_json list = ar_json_get(ready, "skipped");
	struct ar_str text;

	if (ar_json_len(list) == 0 || !ar_json_str(ar_json_at(ar_json_get(ready, "writeRoots"), 0), &text))
		return;
	ar_observed_open(&h->seen, ar_arena_str(a, text).p);
	h->missing = ar_arena_alloc(a, ar_json_len(list) * sizeof(*h->missing));
	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);) {
		if (ar_json_str(it.value, &text) && text.len < PATH_MAX)
			h->missing[h->missing_count++] = ar_arena_str(a, text).p;
	}
}

bool ar_violation_listener_open(struct ar_violation_listener *h, uv_loop_t *loop, int listener,
				struct ar_json ready, struct ar_arena *a)
{
	remember_missing(h, ready, a);
	h->listener = listener;
	if (listener < 0 || uv_poll_init(loop, &h->poll, listener) != 0)
		return false;
	uv_poll_start(&h->poll, UV_READABLE | UV_DISCONNECT, on_request);
	return true;
}

/* ---- afterwards ---- */

static struct ar_str observed_text(const char *what, const char *path, struct ar_arena *a)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_str text;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "boundary", AR_STR("filesystem"));
	ar_jw_mstr(&w, "attempted", ar_arena_fmt(a, "%s %s", what, path));
	ar_jw_mstr(&w, "effect", AR_STR("logged"));
	ar_jw_mstr(&w, "evidence", AR_STR("observed"));
	ar_jw_mint(&w, "count", 1);
	ar_jw_mbool(&w, "isLast", true);
	ar_jw_close(&w);
	text = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return text;
}

static struct ar_str refused_text(const struct ar_refused *r, const struct ar_refused_kind *k,
				  struct ar_arena *a)
{
	char text[AR_REFUSED_TEXT_MAX];

	ar_refused_text(r, k, true, text);
	return ar_arena_str(a, ar_str_from(text));
}

size_t ar_violation_listener_violations(struct ar_violation_listener *h, struct ar_arena *a,
					const struct ar_str **ret)
{
	struct ar_str *all = ar_arena_alloc(a, (h->refused.count + 1 + h->missing_count) * sizeof(*all));
	size_t count = 0;

	for (size_t i = 0; i < h->refused.count; i++)
		all[count++] = refused_text(&h->refused, &h->refused.kinds[i], a);
	if (h->refused.others > 0)
		all[count++] = refused_text(&h->refused, NULL, a);
	for (size_t i = 0; i < h->missing_count; i++) {
		char path[PATH_MAX];
		const char *what;

		snprintf(path, sizeof(path), "%s", h->missing[i]);
		what = ar_observed_check(&h->seen, path);
		if (what)
			all[count++] = observed_text(what, path, a);
	}
	*ret = all;
	return count;
}

void ar_violation_listener_close(struct ar_violation_listener *h)
{
	if (h->listener >= 0)
		close(h->listener);
	if (h->seen.workspace >= 0)
		close(h->seen.workspace);
	ar_violation_listener_init(h);
}
