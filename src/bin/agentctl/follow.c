/* See follow.h. Ctrl-C arrives through a descriptor, so it is seen between two pieces of the stream and
 * never inside one. One thread. */
#include "follow.h"
#include "clock.h"
#include "daemon.h"
#include "describe.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define ATTEMPTS 8
#define FIRST_PAUSE_MS 100
#define LONGEST_PAUSE_MS 3000
#define SILENCE_MS 120000 /* the server sends a heartbeat every 15 s */
#define EVENT_MAX ((size_t)16 * 1024 * 1024)
#define LIVED 30000000 /* microseconds; a stream that lasted so long has worked, whatever cut it */

/* ---- events ---- */

static bool on_event(void *arg, struct ar_str name AR_UNUSED, struct ar_str payload)
{
	struct ar_ctl_follow *f = arg;
	struct ar_str id = ar_buf_str(&f->sse.id);
	struct ar_ctl_event e = { .cursor = id, .json = payload };
	const struct ar_event_desc *desc;

	if (ar_json_parse(f->parser, payload, &e.doc, NULL) != AR_OK) {
		f->is_broken = true;
		return false;
	}
	e.type = ar_api_str(e.doc, "type");
	e.sequence = ar_api_int(e.doc, "sequence");
	desc = ar_event_find(e.type);
	e.is_frame = desc && desc->frame;
	f->failures = 0;
	ar_buf_clear(&f->cursor);
	ar_buf_adds(&f->cursor, id);
	if (!e.is_frame && !ar_str_absent(f->session) && e.sequence <= f->last_fact)
		return true;
	if (!e.is_frame)
		f->last_fact = e.sequence;
	f->is_over = !f->event(f->arg, &e);
	return !f->is_over;
}

static bool on_bytes(void *arg, struct ar_str bytes)
{
	struct ar_ctl_follow *f = arg;
	enum ar_status st = ar_sse_feed(&f->sse, bytes);

	f->is_heard = true;
	fflush(f->ctl->out.file);
	if (st == AR_E_LIMIT)
		f->is_broken = true;
	return st == AR_OK;
}

/* ---- signals ---- */

static bool on_signal(void *arg)
{
	struct ar_ctl_follow *f = arg;
	struct signalfd_siginfo got;

	while (!f->has_left && read(f->ctl->signal_fd, &got, sizeof(got)) == (ssize_t)sizeof(got))
		f->has_left = !f->interrupted(f->arg);
	return !f->has_left;
}

/* ---- what the reader does meanwhile ---- */

static bool on_rest(void *arg, int *ret_fd)
{
	struct ar_ctl_follow *f = arg;

	f->has_left = !f->rest(f->arg, ret_fd);
	return !f->has_left;
}

static bool on_readable(void *arg)
{
	struct ar_ctl_follow *f = arg;

	f->has_left = !f->readable(f->arg);
	return !f->has_left;
}

/* ---- the stream ---- */

static enum ar_status read_once(struct ar_ctl_follow *f, struct ar_http_reply *ret, struct ar_error *err)
{
	struct ar_str cursor = ar_buf_str(&f->cursor);
	struct ar_str path =
		ar_str_absent(f->session)
			? ar_arena_fmt(&f->ctl->arena, "/v1/events?after=%.*s", AR_STR_ARG(cursor))
			: ar_arena_fmt(&f->ctl->arena, "/v1/sessions/%.*s/events?after=%.*s%s",
				       AR_STR_ARG(f->session), AR_STR_ARG(cursor),
				       f->is_extended ? "&view=extended" : "");
	struct ar_http_request r = ar_api_request(f->ctl, path.p);

	r.total_ms = 0;
	r.idle_ms = SILENCE_MS;
	r.sink = on_bytes;
	r.interrupted = on_signal;
	r.rest = f->rest ? on_rest : NULL;
	r.readable = on_readable;
	r.arg = f;
	f->is_heard = false;
	ar_sse_fini(&f->sse);
	ar_sse_init(&f->sse, EVENT_MAX, on_event, f);
	return ar_http_run(&r, ret, err);
}

static enum ar_exit refused(struct ar_ctl_follow *f, const struct ar_http_reply *reply)
{
	struct ar_json doc = { 0 };

	if (ar_json_parse(f->parser, ar_buf_str(&reply->body), &doc, NULL) != AR_OK)
		doc = (struct ar_json){ 0 };
	return ar_api_refused(f->ctl, reply->status, doc);
}

/* Pauses, longer each time; false when the attempts are used up or the user leaves. */
static bool pause_before_next(struct ar_ctl_follow *f)
{
	struct pollfd signal = { .fd = f->ctl->signal_fd, .events = POLLIN };
	int ms = FIRST_PAUSE_MS << (f->failures < 5 ? f->failures : 5);

	if (++f->failures > ATTEMPTS)
		return false;
	if (poll(&signal, 1, ms < LONGEST_PAUSE_MS ? ms : LONGEST_PAUSE_MS) == 1)
		on_signal(f);
	return !f->has_left;
}

static enum ar_exit fail_follow(struct ar_ctl_follow *f, const struct ar_error *err)
{
	return ar_ctl_complain(
		f->ctl, AR_EXIT_UNREACHABLE,
		ar_arena_fmt(&f->ctl->arena, "start the daemon (%s), then: agentctl tail %.*s --after %.*s",
			     ar_daemon_how_to_start(f->ctl),
			     AR_STR_ARG(ar_str_absent(f->session) ? AR_STR("all") : f->session),
			     AR_STR_ARG(ar_buf_str(&f->cursor))),
		"the event stream ended: %s", err->msg[0] ? err->msg : "the daemon closed it");
}

/* True when the loop has to end, with its exit. */
static bool finish_follow(struct ar_ctl_follow *f, enum ar_status st, const struct ar_http_reply *reply,
			  enum ar_exit *ret_exit)
{
	bool is_refused = st == AR_OK && reply->status != 200;

	if (f->has_left)
		*ret_exit = AR_EXIT_INTERRUPTED;
	else if (f->is_over)
		*ret_exit = AR_EXIT_OK;
	else if (f->is_broken)
		*ret_exit = ar_ctl_complain(f->ctl, AR_EXIT_FAILED, AR_STR_NONE,
					    "the stream contains data that is not an event");
	else if (is_refused && reply->status < 500)
		*ret_exit = refused(f, reply);
	else
		return false;
	return true;
}

enum ar_exit ar_ctl_follow_run(struct ar_ctl_follow *f)
{
	struct ar_clock *clock = ar_clock_system();
	enum ar_exit exit = AR_EXIT_FAILED;

	f->parser = ar_json_parser_new();
	ar_ctl_hold_interrupts(f->ctl);
	for (;;) {
		struct ar_http_reply reply;
		struct ar_error err = { 0 };
		ar_usec begun = clock->mono(clock);
		enum ar_status st = read_once(f, &reply, &err);
		bool is_settled = finish_follow(f, st, &reply, &exit);

		ar_buf_fini(&reply.body);
		if (is_settled)
			return exit;
		if (f->is_heard && clock->mono(clock) - begun > LIVED)
			f->failures = 0;
		if (!pause_before_next(f))
			return f->has_left ? AR_EXIT_INTERRUPTED : fail_follow(f, &err);
		if (f->failures == 1)
			ar_ctl_note(f->ctl, "the event stream was cut; reconnecting");
	}
}

void ar_ctl_follow_fini(struct ar_ctl_follow *f)
{
	ar_sse_fini(&f->sse);
	ar_buf_fini(&f->cursor);
	if (f->parser)
		ar_json_parser_free(f->parser);
}
