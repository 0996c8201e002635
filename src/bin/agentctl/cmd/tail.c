/* `agentctl tail`: the events of a session, or the facts of all, as they were and as they come. */
#include "events/events.h"
#include "follow.h"
#include "resolve.h"

enum { OPT_AFTER, OPT_NO_FOLLOW };

struct tail {
	struct ar_ctl *ctl;
	int64_t until; /* ends with the fact of this sequence; 0 = never */
	bool is_of_all;
};

static bool on_event(void *arg, const struct ar_ctl_event *e)
{
	struct tail *t = arg;

	if (t->ctl->is_json) {
		ar_out_json(&t->ctl->out, e->json);
		ar_out_printf(&t->ctl->out, "\n");
	} else {
		ar_event_print(&t->ctl->out, e->doc, e->is_frame, t->is_of_all);
	}
	return !t->until || e->is_frame || e->sequence < t->until;
}

static bool on_interrupt(void *arg AR_UNUSED)
{
	return false;
}

/* The facts up to a cursor are its number before the first dot. */
static bool cursor_sequence(struct ar_str cursor, int64_t *ret)
{
	struct ar_str number;

	ar_str_split(cursor, '.', &number);
	return ar_str_to_i64(number, ret) && *ret >= 0;
}

static enum ar_exit follow(struct ar_ctl *c, struct ar_str session, struct ar_str after, int64_t until)
{
	struct tail t = { .ctl = c, .until = until, .is_of_all = ar_str_absent(session) };
	struct ar_ctl_follow f = {
		.ctl = c, .session = session, .event = on_event, .interrupted = on_interrupt, .arg = &t
	};
	enum ar_exit exit;

	ar_buf_adds(&f.cursor, after);
	exit = ar_ctl_follow_run(&f);
	if (exit == AR_EXIT_INTERRUPTED)
		ar_ctl_note(c, "stopped; continue with: agentctl tail %.*s --after %.*s",
			    AR_STR_ARG(t.is_of_all ? AR_STR("all") : session),
			    AR_STR_ARG(ar_buf_str(&f.cursor)));
	ar_ctl_follow_fini(&f);
	return exit;
}

/* Their cursors begin with a letter, and the server knows the rest; there is no newest fact of all. */
static enum ar_exit tail_all(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_str after = ar_str_from(a->values[OPT_AFTER]);

	if (a->values[OPT_NO_FOLLOW])
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("name a session, or omit --no-follow"),
				       "all sessions together have no newest fact");
	if (ar_str_absent(after) || ar_str_is(after, "0"))
		return follow(c, AR_STR_NONE, AR_STR(""), 0);
	if (!ar_str_is(after, "now") && after.p[0] != 't')
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("0 is the beginning, now is the end"),
				       "'%s' is not a cursor of all sessions", after.p);
	return follow(c, AR_STR_NONE, after, 0);
}

static enum ar_exit tail(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_str after = a->values[OPT_AFTER] ? ar_str_from(a->values[OPT_AFTER]) : AR_STR("0"), session;
	struct ar_api_reply reply;
	int64_t from = 0, until = 0;
	enum ar_exit exit;

	if (ar_str_is(ar_str_from(a->words[0]), "all"))
		return tail_all(c, a);
	if (!ar_str_is(after, "now") && !cursor_sequence(after, &from))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("0 is the beginning, now is the end"),
				       "'%s' is not a cursor", after.p);
	if (!a->values[OPT_NO_FOLLOW]) {
		exit = ar_resolve_session(c, a->words[0], &session);
		return exit == AR_EXIT_OK ? follow(c, session, after, 0) : exit;
	}
	exit = ar_resolve_read(c, a->words[0], &reply);
	session = ar_arena_str(&c->arena, ar_api_str(reply.doc, "sessionId"));
	until = ar_api_int(reply.doc, "asOfSequence");
	ar_api_fini(&reply);
	if (exit != AR_EXIT_OK || ar_str_is(after, "now") || from >= until)
		return exit;
	return follow(c, session, after, until);
}

const struct ar_ctl_command ar_cmd_tail = {
	.name = "tail",
	.synopsis = "SESSION|all",
	.summary = "follow the events of a session, or the facts of all sessions",
	.text = "Prints every event of the session from its beginning, one per line: time, sequence, type, "
		"content.\n"
		"A + after the sequence marks a frame, which has no sequence. Continues until Ctrl-C; a "
		"dropped\n"
		"connection resumes from the last event received. --json prints the events as JSON. all: the "
		"facts\n"
		"of all sessions, including new ones, each with its session.",
	.examples = "agentctl tail last\n"
		    "agentctl tail last --after now\n"
		    "agentctl tail all --after now\n"
		    "agentctl tail last --no-follow --json > events.ndjson",
	.min = 1,
	.max = 1,
	.options = { [OPT_AFTER] = { "after", "CURSOR", "begin after this cursor (0); now: only new events" },
		     [OPT_NO_FOLLOW] = { "no-follow", NULL, "end after the newest fact" } },
	.run = tail,
};
