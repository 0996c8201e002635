/* See export.h. Facts come over the event stream, texts by read_output; neither is kept longer than the
 * fact that is at hand, so that the length of a session does not matter. One thread. */
#include "base64.h"
#include "export/export.h"
#include "resolve.h"

#include <stdlib.h>

#define SHOWN_EVERY 500000 /* microseconds between two lines of progress */

struct reading {
	struct ar_facts *facts;
	ar_usec shown; /* when progress was shown last */
};

/* ---- stored texts ---- */

/* A window may end inside a character; then the daemon sends it as bytes. */
static const char *take_content(struct ar_ctl *c, struct ar_json doc, struct ar_stored *ret)
{
	struct ar_str content = ar_api_str(doc, "content");

	if (ar_str_absent(content))
		return "unavailable";
	ret->size = ar_api_int(doc, "sizeBytes");
	if (ar_str_is(ar_api_str(doc, "encoding"), "base64")) {
		if (!ar_base64_decode(&c->arena, content, &content))
			return "unavailable";
		if (ret->size > (int64_t)content.len)
			content = ar_str_utf8_prefix(content, content.len);
		if (!ar_str_is_utf8(content))
			return "binary";
	}
	ar_buf_adds(&ret->text, content);
	return NULL;
}

static const char *read_stored(struct ar_ctl *c, struct ar_str ref, size_t max, struct ar_stored *ret)
{
	struct ar_api_reply reply;
	struct ar_error err = { 0 };
	enum ar_status st =
		ar_api_try(c, "read_output", ar_resolve_output_body(c, ref, 0, max), &reply, &err);
	const char *why = "unavailable";

	if (st == AR_OK && reply.http.status == 200)
		why = take_content(c, reply.doc, ret);
	else if (st == AR_OK && ar_str_is(ar_api_str(ar_json_get(reply.doc, "error"), "code"), "expired"))
		why = "expired";
	ar_api_fini(&reply);
	return why;
}

/* Memory of the invocation is not for each of a million texts. */
bool ar_stored_read(struct ar_ctl *c, struct ar_str ref, size_t max, struct ar_stored *ret)
{
	struct ar_arena own = { 0 };

	*ret = (struct ar_stored){ 0 };
	ar_ctl_swap_arena(c, &own);
	ret->why = read_stored(c, ref, max, ret);
	ar_ctl_swap_arena(c, &own);
	ar_arena_fini(&own);
	return !ret->why;
}

/* ---- facts ---- */

static void show_progress(struct reading *r, int64_t sequence)
{
	struct ar_ctl *c = r->facts->ctl;
	struct ar_clock *clock = ar_clock_system();
	ar_usec now = clock->mono(clock);

	if (!c->err.is_tty || c->is_quiet || c->out.is_tty)
		return;
	if (sequence < r->facts->until && now - r->shown < SHOWN_EVERY)
		return;
	if (r->shown || sequence < r->facts->until)
		ar_out_printf(&c->err, "\r%lld of %lld facts%s", (long long)sequence,
			      (long long)r->facts->until, sequence < r->facts->until ? "" : "\n");
	r->shown = now;
	fflush(c->err.file);
}

static bool on_event(void *arg, const struct ar_ctl_event *e)
{
	struct reading *r = arg;

	if (e->is_frame)
		return true;
	if (e->sequence > r->facts->until || !r->facts->fact(r->facts->arg, e->doc))
		return false;
	show_progress(r, e->sequence);
	return e->sequence < r->facts->until;
}

static bool on_interrupt(void *arg AR_UNUSED)
{
	return false;
}

enum ar_exit ar_facts_read(struct ar_facts *facts)
{
	struct reading r = { .facts = facts };
	struct ar_ctl_follow f = {
		.ctl = facts->ctl,
		.session = facts->session,
		.is_extended = true,
		.event = on_event,
		.interrupted = on_interrupt,
		.arg = &r,
	};
	enum ar_exit exit = AR_EXIT_OK;

	if (facts->until > 0)
		exit = ar_ctl_follow_run(&f);
	ar_ctl_follow_fini(&f);
	return exit;
}
