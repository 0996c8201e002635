/* `agentctl ps`, `logs`, `attach` and `kill`: the processes of sessions. What they wrote and how they
 * ended are facts; nothing here talks to a process but through the daemon. */
#include "base64.h"
#include "clock.h"
#include "process/process.h"
#include "resolve.h"

#include <errno.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define PROCESSES 1000 /* that a list over all sessions prints, and the rest of its last page */
#define COMMAND_MAX 80
#define AGE_WIDTH 10
#define DETACH 0x1d /* Ctrl-] */
#define PIECE 4096

/* ---- ps ---- */

enum { PS_SESSION, PS_ALL };

struct listing {
	struct ar_ctl *ctl;
	bool is_all;
	size_t count;
	struct ar_jw json;
	struct ar_buf text;
};

static ar_usec now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->wall(clock);
}

static void print_row(struct listing *l, struct ar_json p)
{
	struct ar_out *o = &l->ctl->out;
	struct ar_str status = ar_api_str(p, "status"), profile = ar_api_str(p, "profile");
	bool has_tty = false;

	ar_json_bool(ar_json_get(p, "tty"), &has_tty);
	if (l->count == 0) {
		ar_out_style(o, AR_STYLE_BOLD);
		ar_out_printf(o, "%-33s  %-*s  %-11s  %-3s  %-19s  %s\n", "PROCESS", AGE_WIDTH, "STARTED",
			      "STATUS", "TTY", "SANDBOX", "COMMAND");
		ar_out_style(o, AR_STYLE_PLAIN);
	}
	ar_out_line(o, ar_api_str(p, "processId"));
	ar_out_printf(o, "  ");
	ar_out_age(o, ar_api_time(p, "startedAt"), now(), AGE_WIDTH);
	ar_out_printf(o, "  %-11.*s  %-3s  %-19.*s  ", AR_STR_ARG(status), has_tty ? "yes" : "",
		      AR_STR_ARG(ar_str_absent(profile) ? AR_STR("") : profile));
	ar_out_line(o, ar_str_utf8_prefix(ar_api_str(p, "command"), COMMAND_MAX));
	ar_out_printf(o, "\n");
}

static void list_one(void *arg, struct ar_json p, struct ar_json session AR_UNUSED)
{
	struct listing *l = arg;

	if (!l->is_all && !ar_str_is(ar_api_str(p, "status"), "running"))
		return;
	if (l->ctl->is_json) {
		struct ar_buf one = { 0 };

		ar_json_print(p, &one);
		ar_jw_raw(&l->json, ar_buf_str(&one));
		ar_buf_fini(&one);
	} else {
		print_row(l, p);
	}
	l->count++;
}

/* Of all sessions, by the page. */
static enum ar_exit list_all(struct listing *l)
{
	struct ar_str cursor = AR_STR_NONE;
	enum ar_exit exit = AR_EXIT_OK;

	do {
		struct ar_api_reply reply;
		struct ar_buf body = { 0 };
		struct ar_jw w = ar_jw(&body);

		ar_jw_open(&w);
		ar_jw_mbool(&w, "withEnded", l->is_all);
		ar_jw_mstr(&w, "cursor", cursor);
		ar_jw_close(&w);
		exit = ar_api_call(l->ctl, "find_processes", ar_ctl_take_buf(l->ctl, &body), &reply);
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(reply.doc, "processes"));
		     exit == AR_EXIT_OK && ar_json_next(&it);)
			list_one(l, it.value, reply.doc);
		cursor = exit == AR_EXIT_OK
				 ? ar_arena_str(&l->ctl->arena, ar_api_str(reply.doc, "nextCursor"))
				 : AR_STR_NONE;
		ar_api_fini(&reply);
	} while (!ar_str_absent(cursor) && l->count < PROCESSES);
	if (!ar_str_absent(cursor))
		ar_ctl_note(l->ctl, "there are more; --session SESSION shows those of one");
	return exit;
}

static enum ar_exit ps(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct listing l = { .ctl = c, .is_all = a->values[PS_ALL] != NULL };
	struct ar_str session;
	enum ar_exit exit = AR_EXIT_OK;

	l.json = ar_jw(&l.text);
	ar_jw_open_array(&l.json);
	if (!a->values[PS_SESSION])
		exit = list_all(&l);
	else if ((exit = ar_resolve_session(c, a->values[PS_SESSION], &session)) == AR_EXIT_OK)
		exit = ar_process_each(c, session, list_one, &l);
	ar_jw_close_array(&l.json);
	if (exit == AR_EXIT_OK && c->is_json) {
		ar_out_text(&c->out, ar_buf_str(&l.text));
		ar_out_printf(&c->out, "\n");
	} else if (exit == AR_EXIT_OK && l.count == 0) {
		ar_ctl_note(c, l.is_all ? "no process is known" : "nothing runs; --all shows what has ended");
	}
	ar_buf_fini(&l.text);
	return exit;
}

/* ---- logs ---- */

enum { LOGS_FOLLOW };

static enum ar_exit logs(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_ctl_process p;
	enum ar_exit exit = ar_process_find(c, a->words[0], &p);
	struct ar_process_watch w = { .ctl = c, .process = &p, .is_follow = a->values[LOGS_FOLLOW] != NULL };

	return exit == AR_EXIT_OK ? ar_process_watch_run(&w) : exit;
}

/* ---- attach ---- */

struct attached {
	struct ar_ctl *ctl;
	const struct ar_ctl_process *process;
	bool has_left;
};

static void send(struct attached *t, struct ar_str bytes, bool is_eof)
{
	struct ar_api_reply reply;
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "processId", t->process->id);
	ar_jw_mstr(&w, "input", ar_base64(&t->ctl->arena, bytes));
	ar_jw_mstr(&w, "encoding", AR_STR("base64"));
	if (is_eof)
		ar_jw_mbool(&w, "eof", true);
	ar_jw_close(&w);
	if (ar_api_call(t->ctl, "write_process_stdin", ar_ctl_take_buf(t->ctl, &body), &reply) != AR_EXIT_OK)
		t->has_left = true;
	ar_api_fini(&reply);
}

/* What is typed goes to the process; Ctrl-] leaves it alone again. */
static bool on_typed(void *arg)
{
	struct attached *t = arg;
	char bytes[PIECE];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
	char *leave = n > 0 ? memchr(bytes, DETACH, (size_t)n) : NULL;
	size_t len = leave ? (size_t)(leave - bytes) : n > 0 ? (size_t)n : 0;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (len > 0 || n <= 0)
		send(t, (struct ar_str){ bytes, len }, n <= 0);
	return !leave && n > 0 && !t->has_left;
}

static bool make_raw(struct termios *before)
{
	struct termios raw;

	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, before) != 0)
		return false;
	raw = *before;
	cfmakeraw(&raw);
	raw.c_oflag |= OPOST;
	return tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

static enum ar_exit attach(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_ctl_process p;
	enum ar_exit exit = ar_process_find(c, a->words[0], &p);
	struct attached t = { .ctl = c, .process = &p };
	struct ar_process_watch w = {
		.ctl = c, .process = &p, .is_raw = p.has_tty, .is_follow = true, .typed = on_typed, .arg = &t
	};
	struct termios before;
	bool is_raw;

	if (exit != AR_EXIT_OK)
		return exit;
	if (!p.is_running)
		return ar_ctl_complain(c, AR_EXIT_FAILED,
				       ar_arena_fmt(&c->arena, "agentctl logs %.*s", AR_STR_ARG(p.id)),
				       "it has ended: %.*s", AR_STR_ARG(p.status));
	ar_ctl_note(c, "attached to %.*s; Ctrl-] leaves it running", AR_STR_ARG(p.id));
	is_raw = p.has_tty && make_raw(&before);
	exit = ar_process_watch_run(&w);
	if (is_raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	if (exit == AR_EXIT_INTERRUPTED && !t.has_left) {
		ar_ctl_note(c, "detached; the process keeps running");
		return AR_EXIT_OK;
	}
	return exit;
}

/* ---- kill ---- */

enum { KILL_SIGNAL, KILL_REASON, KILL_GRACE };

static void print_killed(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_str status = ar_api_str(r->doc, "status");

	ar_out_line(&c->out, ar_api_str(r->doc, "processId"));
	ar_out_printf(&c->out, " %.*s\n", AR_STR_ARG(status));
}

static enum ar_exit kill_one(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_ctl_process p;
	enum ar_exit exit = ar_process_find(c, a->words[0], &p);
	const char *reason = a->values[KILL_REASON], *grace = a->values[KILL_GRACE];
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	uint64_t ms;

	if (exit != AR_EXIT_OK)
		return exit;
	if (grace && !ar_str_to_u64(ar_str_from(grace), &ms))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE,
				       "--grace must be a number of milliseconds");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "processId", p.id);
	ar_jw_mstr(&w, "reason", ar_str_from(reason ? reason : "ended from the command line"));
	if (a->values[KILL_SIGNAL])
		ar_jw_mstr(&w, "signal", ar_str_from(a->values[KILL_SIGNAL]));
	if (grace)
		ar_jw_mint(&w, "graceMs", (int64_t)ms);
	ar_jw_close(&w);
	return ar_api_show(c, "terminate_process", &body, print_killed);
}

/* ---- the rows ---- */

const struct ar_ctl_command ar_cmd_ps = {
	.name = "ps",
	.synopsis = "",
	.summary = "list the processes of sessions",
	.text = "One line per process: id, start, status, whether it has a terminal, its sandbox profile, "
		"its command.\n"
		"They belong to the daemon's sessions and keep running when the daemon is stopped or "
		"replaced.",
	.examples = "agentctl ps\n"
		    "agentctl ps --session last --all\n"
		    "agentctl ps --json | jq -r '.[].processId'",
	.options = { [PS_SESSION] = { "session", "SESSION",
				      "only this session: an id, part of one, or last" },
		     [PS_ALL] = { "all", NULL, "also ended ones" } },
	.run = ps,
};

const struct ar_ctl_command ar_cmd_logs = {
	.name = "logs",
	.synopsis = "PROCESS",
	.summary = "print the output of a process",
	.text = "Prints its output from the beginning, both streams in their order. PROCESS is an id from "
		"`agentctl ps`, or\n"
		"last for the newest one. With --follow it continues until the process ends; the exit status "
		"is 1 if the\n"
		"process did not exit with code 0.",
	.examples = "agentctl logs last\n"
		    "agentctl logs --follow last\n"
		    "agentctl logs last > build.log",
	.min = 1,
	.max = 1,
	.options = { [LOGS_FOLLOW] = { "follow", NULL, "continue until the process ends" } },
	.run = logs,
};

const struct ar_ctl_command ar_cmd_attach = {
	.name = "attach",
	.synopsis = "PROCESS",
	.summary = "write to a process and show its output",
	.text = "Shows the output of the process so far, then new output, and sends your input. Ctrl-] "
		"detaches; the process\n"
		"keeps running. Terminal sequences with an effect outside the screen (titles, clipboard, "
		"links) are removed.\n"
		"The session records your input.",
	.examples = "agentctl attach last\n"
		    "echo yes | agentctl attach last",
	.min = 1,
	.max = 1,
	.run = attach,
};

const struct ar_ctl_command ar_cmd_kill = {
	.name = "kill",
	.synopsis = "PROCESS",
	.summary = "end a process and its children",
	.text = "Asks it to end, waits, then kills it with all its descendants. Has no effect on a process "
		"that has ended.",
	.examples = "agentctl kill last\n"
		    "agentctl kill --grace 10000 --reason \"wrong branch\" last",
	.min = 1,
	.max = 1,
	.options = { [KILL_SIGNAL] = { "signal", "NAME", "first signal, such as INT or HUP (INT)" },
		     [KILL_REASON] = { "reason", "TEXT", "reason to record" },
		     [KILL_GRACE] = { "grace", "MS", "pause before the next signal (2000)" } },
	.run = kill_one,
};
