/* See process.h. The stream is joined where the process began; a piece that comes again is cut to what is
 * new. */
#include "process/process.h"
#include "base64.h"

#include <sys/timerfd.h>
#include <unistd.h>

#define QUIET_MS 400 /* after the newest fact, that what a running process wrote before has come */

static const char *const streams[] = { "stdout", "stderr", "pty", "binary" };

static size_t stream_of(struct ar_json payload)
{
	struct ar_str name = ar_api_str(payload, "stream");
	size_t i = 0;

	while (i + 1 < AR_ARRAY_LEN(streams) && !ar_str_is(name, streams[i]))
		i++;
	return i;
}

static void show(struct ar_process_watch *w, struct ar_str bytes)
{
	struct ar_buf clean = { 0 };

	if (!w->is_raw) {
		ar_out_text(&w->ctl->out, bytes);
		return;
	}
	ar_screen_feed(&w->screen, bytes, &clean);
	fwrite(clean.p, 1, clean.len, w->ctl->out.file);
	fflush(w->ctl->out.file);
	ar_buf_fini(&clean);
}

static void show_piece(struct ar_process_watch *w, struct ar_json payload)
{
	struct ar_str text = ar_api_str(payload, "preview");
	int64_t offset = ar_api_int(payload, "offset"), *shown = &w->shown[stream_of(payload)];
	struct ar_arena arena = { 0 };

	if (ar_str_is(ar_api_str(payload, "encoding"), "base64"))
		ar_base64_decode(&arena, text, &text);
	if (offset > *shown)
		ar_ctl_note(w->ctl, "%lld bytes are not shown", (long long)(offset - *shown));
	else if (*shown - offset < (int64_t)text.len)
		text = (struct ar_str){ text.p + (*shown - offset), text.len - (size_t)(*shown - offset) };
	else
		text = AR_STR("");
	if (offset + ar_api_int(payload, "length") > *shown)
		*shown = offset + ar_api_int(payload, "length");
	show(w, text);
	ar_arena_fini(&arena);
}

/* ---- its end ---- */

static void ended(struct ar_process_watch *w, const struct ar_ctl_event *e, struct ar_json payload)
{
	int64_t code = ar_api_int(payload, "exitCode");

	ar_out_break(&w->ctl->out);
	w->exit = AR_EXIT_FAILED;
	if (ar_str_is(e->type, "process.completed")) {
		w->exit = code == 0 ? AR_EXIT_OK : AR_EXIT_FAILED;
		ar_ctl_note(w->ctl, "exit code %lld", (long long)code);
	} else if (ar_str_is(e->type, "process.terminated")) {
		struct ar_str by = ar_api_str(payload, "terminatedBy"), why = ar_api_str(payload, "reason");

		ar_ctl_note(w->ctl, "ended by %.*s: %.*s", AR_STR_ARG(by), AR_STR_ARG(why));
	} else {
		struct ar_str why = ar_api_str(ar_json_get(payload, "error"), "message");

		ar_ctl_note(w->ctl, "failed: %.*s", AR_STR_ARG(why));
	}
}

static bool is_end(struct ar_str type)
{
	return ar_str_is(type, "process.completed") || ar_str_is(type, "process.failed") ||
	       ar_str_is(type, "process.terminated");
}

static void wait_a_while(struct ar_process_watch *w)
{
	const struct itimerspec soon = { .it_value.tv_nsec = QUIET_MS * 1000000L };

	timerfd_settime(w->quiet_fd, 0, &soon, NULL);
}

static bool on_event(void *arg, const struct ar_ctl_event *e)
{
	struct ar_process_watch *w = arg;
	struct ar_json payload = ar_json_get(e->doc, "payload");

	if (ar_str_eq(ar_api_str(e->doc, "processId"), w->process->id)) {
		if (ar_str_is(e->type, "process.output"))
			show_piece(w, payload);
		if (is_end(e->type)) {
			ended(w, e, payload);
			return false;
		}
	}
	if (!w->is_follow && e->sequence >= w->until)
		wait_a_while(w);
	return true;
}

static bool on_interrupt(void *arg AR_UNUSED)
{
	return false;
}

static bool on_rest(void *arg, int *ret_fd)
{
	struct ar_process_watch *w = arg;

	*ret_fd = w->typed ? STDIN_FILENO : w->quiet_fd;
	return true;
}

static bool on_readable(void *arg)
{
	struct ar_process_watch *w = arg;

	if (w->typed)
		return w->typed(w->arg);
	w->is_quiet = true;
	return false;
}

static void note_head(void *arg, struct ar_json process AR_UNUSED, struct ar_json session)
{
	struct ar_process_watch *w = arg;

	w->until = ar_api_int(session, "asOfSequence");
}

enum ar_exit ar_process_watch_run(struct ar_process_watch *w)
{
	struct ar_ctl_follow f = { .ctl = w->ctl,
				   .session = w->process->session,
				   .event = on_event,
				   .interrupted = on_interrupt,
				   .rest = w->typed || !w->is_follow ? on_rest : NULL,
				   .readable = on_readable,
				   .arg = w };
	enum ar_exit exit = AR_EXIT_OK;

	w->quiet_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!w->is_follow)
		exit = ar_process_each(w->ctl, w->process->session, note_head, w);
	if (exit != AR_EXIT_OK)
		return exit;
	ar_buf_addf(&f.cursor, "%lld", (long long)w->process->sequence);
	exit = ar_ctl_follow_run(&f);
	ar_ctl_follow_fini(&f);
	close(w->quiet_fd);
	return exit == AR_EXIT_OK || w->is_quiet ? w->exit : exit;
}
